/* tvm_ffi.h - finds libtvm_ffi in the process, and its functions. Private. */
#ifndef FNABI_LANE_RUNTIME_TVM_FFI_H
#define FNABI_LANE_RUNTIME_TVM_FFI_H

#include "lane/runtime/python.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/object.h"

/* Looks for the slot of libtvm_ffi, unless it is known or nothing has been
 * loaded since the last time. To be called before any function that may use
 * the slot. */
void lane_error_find(void);
/* Makes an error of a kind and the parts of a message wait on this thread; see
 * lane_error_of_text. Needs no GIL. */
void lane_error_put_text(const char* kind, const char* const* parts,
                         int32_t count);

/* The functions of libtvm_ffi that the registries need. */
typedef struct lane_runtime {
  int (*get_function)(const fnabi_byte_array* name, void** function);
  int (*set_function)(const fnabi_byte_array* name, void* function,
                      int override);
  /* With the metadata of a function; NULL in an old libtvm_ffi. */
  int (*set_described)(const fnabi_method_info* info, int override);
  int (*type_of_key)(const fnabi_byte_array* key, int32_t* type_index);
  /* Ends the process for an index that no type has. */
  const fnabi_type_info* (*type_info)(int32_t type_index);
  const fnabi_type_column* (*type_column)(const fnabi_byte_array* name);
} lane_runtime;
/* Returns NULL, without an exception, when libtvm_ffi is not loaded. */
const lane_runtime* lane_runtime_find(void);

#endif /* FNABI_LANE_RUNTIME_TVM_FFI_H */
