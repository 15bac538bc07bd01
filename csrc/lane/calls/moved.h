/* moved.h - objects that the callee may take, and those that it may not. Private. */
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

/* Python objects whose objects a call borrows, which stay theirs until it ends.
 * The lock of Python guards the list. */
typedef struct lane_loan {
  PyObject* const* values;
  Py_ssize_t count;
  struct lane_loan *next, **place;
} lane_loan;
extern lane_loan* lane_loans;

static inline void lane_loan_begin(lane_loan* loan, PyObject* const* values,
                                   Py_ssize_t count) {
  *loan = (lane_loan){values, count, lane_loans, &lane_loans};
  if (lane_loans != NULL) lane_loans->place = &loan->next;
  lane_loans = loan;
}

static inline void lane_loan_end(const lane_loan* loan) {
  *loan->place = loan->next;
  if (loan->next != NULL) loan->next->place = loan->place;
}

/* Raises ValueError and returns -1 if a call borrows what a Python object has. */
int lane_check_not_lent(PyObject* value);

#endif /* FNABI_LANE_CALLS_MOVED_H */
