/* attributes.h - Python objects whose class gives them attributes. Private. */
#ifndef FNABI_LANE_CALLS_ATTRIBUTES_H
#define FNABI_LANE_CALLS_ATTRIBUTES_H

#include "lane/calls/types.h"

extern size_t lane_attribute_classes; /* how many classes give attributes */
bool lane_attributes_find(PyTypeObject* type);

/* Whether instances of a class have attributes of their own. */
static inline bool lane_has_attributes(PyTypeObject* type) {
  return lane_attribute_classes != 0 && lane_attributes_find(type);
}

/* Returns the Python object around `object` with this class, which has
 * attributes, or a new one. Takes over the reference, also on failure. */
PyObject* lane_attributes_wrap(PyTypeObject* type, fnabi_object* object);

/* A Python object has another object instead of `old`, which is not read: none,
 * or one that it may share with another Python object. */
void lane_attributes_moved(PyObject* self, const fnabi_object* old,
                           bool shared);

/* A Python object is about to be freed. */
void lane_attributes_freed(PyObject* self);

#endif /* FNABI_LANE_CALLS_ATTRIBUTES_H */
