/* container.h - what Array, List, Map and Dict share. Private. */
#ifndef FNABI_LANE_CALLS_CONTAINER_H
#define FNABI_LANE_CALLS_CONTAINER_H

#include "lane/calls/types.h"

/* Returns 1 for values that Python would call equal: numbers of any type by
 * value, containers by their contents, keys of maps by the rules of the ABI. It
 * may run Python: the caller keeps both values alive. */
int lane_equal(const fnabi_any* a, const fnabi_any* b);

/* The containers around a value whose repr is being made. A container that is
 * among them contains itself. */
typedef struct lane_nest {
  const struct lane_nest* outer;
  const fnabi_object* object;
  int depth;
} lane_nest;
/* The repr of a value. With `plain`, arrays and maps are written as lists and
 * dicts. */
PyObject* lane_repr(const fnabi_any* value, const lane_nest* nest, bool plain);
PyObject* lane_object_repr(PyObject* object);

/* What `__reduce__` returns for a container: its class, its values, and the
 * attributes that a class of Python adds. Takes ownership of `values`, which are
 * NULL after an exception. */
PyObject* lane_reduce(PyObject* self, PyObject* values);

/* `copy.deepcopy` of a container; one that contains itself is copied as such. */
PyObject* lane_deepcopy(PyObject* self, PyObject* memo);

#endif /* FNABI_LANE_CALLS_CONTAINER_H */
