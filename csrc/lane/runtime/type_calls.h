/* type_calls.h - fnabi's own table of types by functions such as libtvm_ffi has,
 * for libraries that are bound to it and for definitions in Python. Private.
 *
 * No function needs the GIL. Those that return an int return 0, or -1 with an
 * error that waits on this thread. */
#ifndef FNABI_LANE_RUNTIME_TYPE_CALLS_H
#define FNABI_LANE_RUNTIME_TYPE_CALLS_H

#include "lane/runtime/python.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/object.h"

/* Returns an index, or -1 with an error that waits. A parent of -2 only asks for
 * the key: the answer is -2 where no type has it. */
int32_t lane_type_call_index(const fnabi_byte_array* key, int32_t static_index,
                             int32_t depth, int32_t slots, int32_t overflow,
                             int32_t parent);
int lane_type_call_of_key(const fnabi_byte_array* key, int32_t* out);
/* Never NULL: for a type of libtvm_ffi, and for an index of no type, there is a
 * record of depth 0, whose key says so. */
const fnabi_type_info* lane_type_call_info(int32_t type_index);
int lane_type_call_field(int32_t type_index, const fnabi_field_info* info);
int lane_type_call_method(int32_t type_index, const fnabi_method_info* info);
int lane_type_call_metadata(int32_t type_index,
                            const fnabi_type_metadata* metadata);
int lane_type_call_attribute(int32_t type_index, const fnabi_byte_array* name,
                             const fnabi_any* value);
const fnabi_type_column* lane_type_call_column(const fnabi_byte_array* name);

#endif /* FNABI_LANE_RUNTIME_TYPE_CALLS_H */
