/* callback.h - functions of the ABI that call Python. Private. */
#ifndef FNABI_LANE_CALLS_CALLBACK_H
#define FNABI_LANE_CALLS_CALLBACK_H

#include "lane/runtime/python.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/any.h"

/* A function of the ABI that calls a Python callable. Its arguments are those
 * of the current dialect. */
int lane_callback_own(PyObject* callable, fnabi_any* out);
/* The number of callbacks that have failed on threads that Python did not
 * start; the GIL guards it. */
extern uint64_t lane_foreign_failures;
/* Returns the exception of a callback among the arguments that has failed on
 * such a thread since lane_foreign_failures was `failures`; NULL, without an
 * exception, when none has. */
PyObject* lane_callback_failure(const fnabi_any* args, Py_ssize_t count,
                                uint64_t failures);

#endif /* FNABI_LANE_CALLS_CALLBACK_H */
