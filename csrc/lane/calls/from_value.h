/* from_value.h - values of the ABI as Python objects. Private. */
#ifndef FNABI_LANE_CALLS_FROM_VALUE_H
#define FNABI_LANE_CALLS_FROM_VALUE_H

#include "lane/calls/types.h"

/* Returns the Python object of a value. `lane_take` also releases the value,
 * even when it fails. With `plain`, containers become list and dict at every
 * depth. */
PyObject* lane_from(const fnabi_any* any, bool plain);
PyObject* lane_take(fnabi_any* any, bool plain);

/* Makes the most frequent values at once: None, an int, a float; NULL when out
 * of memory. Returns false for the others. */
static inline bool lane_from_frequent(const fnabi_any* any, PyObject** value) {
  switch (any->type_index) {
    case FNABI_INDEX_NONE:
      *value = Py_NewRef(Py_None);
      return true;
    case FNABI_INDEX_INT:
      *value = PyLong_FromLongLong(any->v_int);
      return true;
    case FNABI_INDEX_FLOAT:
      *value = PyFloat_FromDouble(any->v_float);
      return true;
  }
  return false;
}

/* Returns an argument that Python gets; takes an object that may be taken. */
PyObject* lane_from_argument(const fnabi_any* arg);

#endif /* FNABI_LANE_CALLS_FROM_VALUE_H */
