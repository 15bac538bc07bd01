/* known_types.h - the classes of types that libraries have registered. Private. */
#ifndef FNABI_LANE_CALLS_KNOWN_TYPES_H
#define FNABI_LANE_CALLS_KNOWN_TYPES_H

#include "lane/runtime/python.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/object.h"

/* The class of objects of a type that a library may have registered; borrowed.
 * lane.object where none is known. */
PyTypeObject* lane_class_of(int32_t type_index);
/* The key of a type, or None. */
PyObject* lane_type_key(int32_t type_index);

/* Remembers what libtvm_ffi records of a type; false when there is no memory, or
 * no type can have the index. Then lane_known_class may set its class. */
bool lane_known_describe(int32_t type_index, const fnabi_type_info* info);
void lane_known_class(int32_t type_index, PyTypeObject* class);
/* Whether objects of a type are objects of another one, of a given depth. */
bool lane_known_derives(int32_t type_index, int32_t base, int32_t depth);

#endif /* FNABI_LANE_CALLS_KNOWN_TYPES_H */
