/* interrupt.h - Ctrl-C during long work. Private.
 *
 * While C runs, Python only notes a signal. So the main thread lets Python run
 * the handlers of signals that wait every LANE_PATIENCE of long work. Where a
 * handler raises an exception, as that of SIGINT does, the work ends with it. */
#ifndef FNABI_LANE_RUNTIME_INTERRUPT_H
#define FNABI_LANE_RUNTIME_INTERRUPT_H

#include "base/poll.h"
#include "lane/runtime/python.h"

/* Sets the exception with which work was interrupted, if it was. Returns -1. */
int lane_interrupted(void);

/* Counts steps of work in the lane, each some ten nanoseconds. -1 if it must
 * end. Handlers are Python code, which may change everything. */
static inline int lane_work(Py_ssize_t steps) {
  return fnabi_poll((size_t)steps) ? lane_interrupted() : 0;
}

/* The end of the next part of a loop over `size` elements, `i` of which are
 * done; -1 if it must end. Loops of parts take no longer than plain ones. */
static inline Py_ssize_t lane_part(Py_ssize_t i, Py_ssize_t size) {
  enum { PART = 4096 };
  Py_ssize_t count = size - i < PART ? size - i : PART;
  return lane_work(count) < 0 ? -1 : i + count;
}

/* What is left of an iterator, as a list. */
PyObject* lane_list(PyObject* iterator);

int lane_interrupt_init(PyObject* module);

#endif /* FNABI_LANE_RUNTIME_INTERRUPT_H */
