/* any_array.h - values in memory, as a Python object. Private. */
#ifndef FNABI_LANE_CALLS_ANY_ARRAY_H
#define FNABI_LANE_CALLS_ANY_ARRAY_H

#include "lane/calls/context.h"

/* Contiguous values, in the layout of the arguments of a call. */
typedef struct lane_any_array {
  PyObject_HEAD fnabi_any* data; /* owned values */
  Py_ssize_t size;
  const struct fnabi_dl_exchange* exchange; /* see lane_exchange */
} lane_any_array;

/* Returns an AnyArray of `size` times None, to be filled. */
PyObject* lane_any_array_new(Py_ssize_t size);
static inline fnabi_any* lane_any_array_data(PyObject* array) {
  return ((lane_any_array*)array)->data;
}
static inline Py_ssize_t lane_any_array_size(PyObject* array) {
  return ((lane_any_array*)array)->size;
}
/* Keeps lane_exchange in the array: Python gets its tensors as those of that
 * framework. */
static inline void lane_any_array_keep_exchange(PyObject* array) {
  ((lane_any_array*)array)->exchange = lane_exchange;
}

#endif /* FNABI_LANE_CALLS_ANY_ARRAY_H */
