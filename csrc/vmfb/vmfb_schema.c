/* The schema of IREE's bytecode module, with ids and defaults as they have been
 * since compiler 3.2. */
#include "vmfb/vmfb.h"

enum {
  ATTR,
  TYPE,
  SIGNATURE,
  DEPENDENCY,
  IMPORT,
  EXPORT,
  UNCOMPRESSED,
  RODATA,
  RWDATA,
  STATE,
  CALL_SITE,
  FILE_LINE_COL,
  FUSED,
  NAME_LOC,
  SOURCE_MAP,
  DEBUG,
  MODULE,
  SLOTS
};
_Static_assert(SLOTS <= FNABI_FB_SLOTS, "a slot for each table");

#define STRING(id, name) {name, id, .kind = FNABI_FB_STRING}
#define SCALAR(id, name, type, value) \
  {name, id, .kind = FNABI_FB_SCALAR, .scalar = type, .fallback = value}
#define TABLE(id, name, of) {name, id, .kind = FNABI_FB_TABLE, .table = &of}
#define TABLES(id, name, of) {name, id, .kind = FNABI_FB_TABLES, .table = &of}
#define ATTRS(id, name)                                 \
  {name, id, .kind = FNABI_FB_TABLES, .nullable = true, \
   .table = &fnabi_vmfb_attr}
#define STRUCTS(id, name, of) \
  {name, id, .kind = FNABI_FB_STRUCTS, .structure = &of}
#define BYTES(id, name) {name, id, .kind = FNABI_FB_BYTES, .optional = true}
#define COUNT(array) (sizeof(array) / sizeof *(array))
#define DEFINE(table, slot, fields) \
  static const fnabi_fb_table table = {slot, COUNT(fields), fields}

static const fnabi_fb_field attr_fields[] = {
    STRING(0, "key"),
    STRING(1, "value"),
};
const fnabi_fb_table fnabi_vmfb_attr = {ATTR, COUNT(attr_fields), attr_fields};

static const fnabi_fb_field type_fields[] = {STRING(0, "full_name")};
DEFINE(type, TYPE, type_fields);

static const fnabi_fb_field signature_fields[] = {
    STRING(0, "calling_convention"),
    ATTRS(1, "attrs"),
};
const fnabi_fb_table fnabi_vmfb_signature = {SIGNATURE, COUNT(signature_fields),
                                             signature_fields};

static const fnabi_fb_field dependency_fields[] = {
    STRING(0, "name"),
    SCALAR(1, "minimum_version", FNABI_FB_U32, 0),
    SCALAR(2, "flags", FNABI_FB_U32, FLAG_REQUIRED),
};
DEFINE(dependency, DEPENDENCY, dependency_fields);

static const fnabi_fb_field import_fields[] = {
    STRING(0, "full_name"),
    TABLE(1, "signature", fnabi_vmfb_signature),
    SCALAR(2, "flags", FNABI_FB_U32, FLAG_REQUIRED),
};
DEFINE(import, IMPORT, import_fields);

static const fnabi_fb_field export_fields[] = {
    STRING(0, "local_name"),
    SCALAR(1, "internal_ordinal", FNABI_FB_I32, 0),
};
const fnabi_fb_table fnabi_vmfb_export = {EXPORT, COUNT(export_fields),
                                          export_fields};

static const fnabi_fb_table uncompressed = {UNCOMPRESSED, 0, NULL};
static const fnabi_fb_table* const compression_members[] = {&uncompressed};
static const fnabi_fb_union compression = {COUNT(compression_members),
                                           compression_members};

static const fnabi_fb_field rodata_fields[] = {
    {"compression_type", 1, .kind = FNABI_FB_UNION, .members = &compression},
    BYTES(2, "embedded_data"),
    SCALAR(3, "external_data_offset", FNABI_FB_U64, 0),
    SCALAR(4, "external_data_length", FNABI_FB_U64, 0),
};
DEFINE(rodata, RODATA, rodata_fields);

static const fnabi_fb_field rwdata_fields[] = {
    SCALAR(0, "byte_size", FNABI_FB_I32, 0),
};
DEFINE(rwdata, RWDATA, rwdata_fields);

static const fnabi_fb_field state_fields[] = {
    SCALAR(0, "global_bytes_capacity", FNABI_FB_I32, 0),
    SCALAR(1, "global_ref_count", FNABI_FB_I32, 0),
};
DEFINE(state, STATE, state_fields);

static const uint8_t descriptor_members[] = {
    FNABI_FB_I32, FNABI_FB_I32, FNABI_FB_U32, FNABI_FB_I16,
    FNABI_FB_I16, FNABI_FB_I16, FNABI_FB_I16};
static const fnabi_fb_struct descriptor = {20, 4, COUNT(descriptor_members),
                                           descriptor_members};

static const fnabi_fb_field call_site_fields[] = {
    SCALAR(0, "callee", FNABI_FB_I32, 0),
    SCALAR(1, "caller", FNABI_FB_I32, 0),
};
DEFINE(call_site, CALL_SITE, call_site_fields);

static const fnabi_fb_field file_line_col_fields[] = {
    STRING(0, "filename"),
    SCALAR(1, "line", FNABI_FB_I32, 0),
    SCALAR(2, "column", FNABI_FB_I32, 0),
};
DEFINE(file_line_col, FILE_LINE_COL, file_line_col_fields);

static const fnabi_fb_field fused_fields[] = {
    {"metadata", 0, .kind = FNABI_FB_STRING, .optional = true},
    {"locations", 1, .kind = FNABI_FB_SCALARS, .scalar = FNABI_FB_I32},
};
DEFINE(fused, FUSED, fused_fields);

static const fnabi_fb_field name_loc_fields[] = {
    STRING(0, "name"),
    SCALAR(1, "child_location", FNABI_FB_I32, 0),
};
DEFINE(name_loc, NAME_LOC, name_loc_fields);

static const fnabi_fb_table* const location_members[] = {
    &call_site, &file_line_col, &fused, &name_loc};
static const fnabi_fb_union location = {COUNT(location_members),
                                        location_members};

static const uint8_t op_location_members[] = {FNABI_FB_I32, FNABI_FB_I32};
static const fnabi_fb_struct op_location = {8, 4, COUNT(op_location_members),
                                            op_location_members};

static const fnabi_fb_field source_map_fields[] = {
    STRING(0, "local_name"),
    STRUCTS(1, "locations", op_location),
};
DEFINE(source_map, SOURCE_MAP, source_map_fields);

static const fnabi_fb_field debug_fields[] = {
    {"location_table", 1, .kind = FNABI_FB_UNIONS, .members = &location},
    TABLES(2, "functions", source_map),
};
DEFINE(debug, DEBUG, debug_fields);

static const fnabi_fb_field module_fields[] = {
    {"name", 0, .kind = FNABI_FB_STRING, .required = true},
    SCALAR(1, "version", FNABI_FB_U32, 0),
    SCALAR(2, "requirements", FNABI_FB_U32, 0),
    ATTRS(3, "attrs"),
    TABLES(4, "types", type),
    TABLES(5, "dependencies", dependency),
    TABLES(6, "imported_functions", import),
    TABLES(7, "exported_functions", fnabi_vmfb_export),
    TABLES(8, "function_signatures", fnabi_vmfb_signature),
    TABLES(9, "rodata_segments", rodata),
    TABLES(10, "rwdata_segments", rwdata),
    TABLE(11, "module_state", state),
    STRUCTS(12, "function_descriptors", descriptor),
    SCALAR(13, "bytecode_version", FNABI_FB_U32, 0),
    BYTES(14, "bytecode_data"),
    TABLE(15, "debug_database", debug),
};
const fnabi_fb_table fnabi_vmfb_table = {MODULE, COUNT(module_fields),
                                         module_fields};
_Static_assert(COUNT(module_fields) <= FNABI_FB_IDS, "the root has most ids");
