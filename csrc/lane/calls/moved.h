/* moved.h - an object that the callee may take. Private. */
#ifndef FNABI_LANE_CALLS_MOVED_H
#define FNABI_LANE_CALLS_MOVED_H

#include "lane/calls/types.h"

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

#endif /* FNABI_LANE_CALLS_MOVED_H */
