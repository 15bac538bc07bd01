/* vmfb.h - VM bytecode modules: the schema's tables, which are reached from the
 * root, and where a walk begins. Private. */
#ifndef FNABI_VMFB_H
#define FNABI_VMFB_H

#include "vmfb/flatbuffer.h"

/* The fields of each table, by their index. All fields of the root are listed
 * in the order of their ids, so that an id is also an index. */
enum { ATTR_KEY, ATTR_VALUE };
enum { TYPE_NAME };
enum { SIGNATURE_CCONV, SIGNATURE_ATTRS };
enum { DEPENDENCY_NAME, DEPENDENCY_VERSION, DEPENDENCY_FLAGS };
enum { IMPORT_NAME, IMPORT_SIGNATURE, IMPORT_FLAGS };
enum { FLAG_REQUIRED = 1, FLAG_OPTIONAL = 2 }; /* of both */
enum { EXPORT_NAME, EXPORT_ORDINAL };
enum { RODATA_COMPRESSION, RODATA_EMBEDDED, RODATA_OFFSET, RODATA_LENGTH };
enum { RWDATA_SIZE };
enum { STATE_BYTES, STATE_REFS };
enum { CALL_SITE_CALLEE, CALL_SITE_CALLER };
enum { FUSED_METADATA, FUSED_LOCATIONS };
enum { NAME_LOC_NAME, NAME_LOC_CHILD };
enum { SOURCE_MAP_NAME, SOURCE_MAP_LOCATIONS };
enum { DEBUG_LOCATIONS, DEBUG_FUNCTIONS };
enum {
  MODULE_NAME,
  MODULE_VERSION,
  MODULE_REQUIREMENTS,
  MODULE_ATTRS,
  MODULE_TYPES,
  MODULE_DEPENDENCIES,
  MODULE_IMPORTS,
  MODULE_EXPORTS,
  MODULE_SIGNATURES,
  MODULE_RODATA,
  MODULE_RWDATA,
  MODULE_STATE,
  MODULE_FUNCTIONS,
  MODULE_BYTECODE_VERSION,
  MODULE_BYTECODE,
  MODULE_DEBUG
};

/* Members of the unions and of the struct FunctionDescriptor. */
enum { LOCATION_CALL_SITE = 1, LOCATION_FILE, LOCATION_FUSED, LOCATION_NAME };
enum {
  FUNCTION_OFFSET,
  FUNCTION_LENGTH,
  FUNCTION_REQUIREMENTS,
  FUNCTION_RESERVED,
  FUNCTION_BLOCKS,
  FUNCTION_I32_REGISTERS,
  FUNCTION_REF_REGISTERS
};

/* The root, and the tables that are entered without a walk from it. */
extern const fnabi_fb_table fnabi_vmfb_table, fnabi_vmfb_attr,
    fnabi_vmfb_signature, fnabi_vmfb_export;

/* What a file is that is not a module, by its first bytes: static, such as "a
 * ZIP archive". NULL where that is not known. */
const char* fnabi_file_kind(const char* data, size_t size);

/* The offset in the file to which those of external read-only data are
 * relative. */
uint64_t fnabi_vmfb_rodata_base(const fnabi_fb* fb);

/* Verifies a module as fnabi_vmfb_verify does. After a success `fb` knows the
 * vtables of the module, for fnabi_vmfb_begin. */
bool fnabi_vmfb_walk(const char* data, size_t size, bool lenient, fnabi_fb* fb,
                     fnabi_error* error);

/* Finds the FlatBuffer and begins a walk at the root. The walk is lenient: it
 * accepts what fnabi_vmfb_verify accepts. `known` is NULL, or an earlier walk of
 * the same bytes, which is copied so that no vtable is loaded again. */
bool fnabi_vmfb_begin(const char* data, size_t size, const fnabi_fb* known,
                      fnabi_fb* fb, fnabi_fb_view* root, fnabi_writer* w,
                      fnabi_error* error);

#endif /* FNABI_VMFB_H */
