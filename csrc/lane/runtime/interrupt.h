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

enum { LANE_PART = 4096 }; /* a power of two */

/* The end of the next part of a loop over `size` elements, `i` of which are
 * done; -1 if it must end. Loops of parts take no longer than plain ones. */
static inline Py_ssize_t lane_part(Py_ssize_t i, Py_ssize_t size) {
  Py_ssize_t count = size - i < LANE_PART ? size - i : LANE_PART;
  return lane_work(count) < 0 ? -1 : i + count;
}

/* Counts steps for element `i` of an iteration whose loop is Python's. -1 if it
 * must end. */
static inline int lane_step(Py_ssize_t i) {
  return i % LANE_PART == LANE_PART - 1 ? lane_work(4 * LANE_PART) : 0;
}

/* An iterator of any iterable. */
PyObject* lane_iterator(PyObject* values);

/* What is left of an iterator, as a list. */
PyObject* lane_list(PyObject* iterator);

int lane_interrupt_init(PyObject* module);

#endif /* FNABI_LANE_RUNTIME_INTERRUPT_H */
