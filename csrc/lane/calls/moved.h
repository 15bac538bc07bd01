/* moved.h - objects that the callee may take, and those that it may not.
 * Private. */
#ifndef FNABI_LANE_CALLS_MOVED_H
#define FNABI_LANE_CALLS_MOVED_H

#include "lane/calls/function.h"

/* It owns the object alone, so that a callee can take it: its value is one of
 * the ABI's rvalues, the address of this pointer. */
typedef struct lane_moved {
  PyObject_HEAD fnabi_object* object; /* NULL: it was taken */
} lane_moved;

/* The value of a moved object: a reference that the callee may take. */
static inline void lane_moved_view(PyObject* moved, fnabi_any* out) {
  fnabi_any_set(out, FNABI_INDEX_RVALUE, 0);
  out->v_pointer = &((lane_moved*)moved)->object;
}

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
