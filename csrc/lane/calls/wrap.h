/* wrap.h - Python objects around objects of the ABI. Private. */
#ifndef FNABI_LANE_CALLS_WRAP_H
#define FNABI_LANE_CALLS_WRAP_H

#include "lane/calls/types.h"

/* Returns a Python object that owns `object`, whose reference it takes over,
 * also on failure. The type has the layout of lane.object, or attributes: then
 * it is the one that the object has already, if there is one. */
PyObject* lane_wrap(PyTypeObject* type, fnabi_object* object);
/* The same for constructors, whose type may be any class derived in Python. */
PyObject* lane_construct(PyTypeObject* type, fnabi_object* object);
/* The same with the type for the object's type index. */
PyObject* lane_wrap_known(fnabi_object* object);
/* The wrapper type of a type index; borrowed. */
PyTypeObject* lane_type_of(int32_t type_index);

/* Calls one of the functions of a dialect with the Python value of an object
 * and the object. Takes ownership of the value. */
PyObject* lane_dialect_made(PyObject* make, PyObject* value,
                            fnabi_object* object);

#endif /* FNABI_LANE_CALLS_WRAP_H */
