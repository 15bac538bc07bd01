/* moved.h - objects that the callee may take, and those that it may not.
 * Private. */
#ifndef FNABI_LANE_CALLS_MOVED_H
#define FNABI_LANE_CALLS_MOVED_H

#include "lane/calls/function.h"

/* When it becomes a value, the Python object has none any more, and this owns
 * the object alone, so that a callee can take it: the value is one of the ABI's
 * rvalues, the address of `object`. A Python object that a call borrows keeps
 * its object, which both then have. */
typedef struct lane_moved {
  PyObject_HEAD PyObject* from; /* NULL: it was a value */
  fnabi_object* seen;           /* what `from` had when this was made */
  fnabi_object* object;         /* NULL: it was taken */
} lane_moved;

/* The value of a moved object: a reference that the callee may take. Raises
 * ValueError and returns -1 for one that was taken. */
int lane_moved_view(PyObject* moved, fnabi_any* out);

/* The number of calls that borrow the object of a Python object, which stays
 * its own until they end; NULL if the object cannot be moved. A count, which no
 * order of ends disturbs: a greenlet or a forked child may not come to them. */
static inline uint32_t* lane_lent(PyObject* value) {
  if (PyObject_TypeCheck(value, lane.object))
    return &((lane_object*)value)->lent;
  if (PyObject_TypeCheck(value, lane.function))
    return &((lane_function*)value)->lent;
  return NULL;
}

/* Raises ValueError and returns -1 if a call borrows what a Python object has. */
int lane_check_not_lent(PyObject* value);

#endif /* FNABI_LANE_CALLS_MOVED_H */
