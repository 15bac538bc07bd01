/* error.h - errors of the ABI as exceptions, and the other way round. Private. */
#ifndef FNABI_LANE_CALLS_ERROR_H
#define FNABI_LANE_CALLS_ERROR_H

#include "lane/calls/types.h"

/* The error of an exception. */
int lane_error_own(PyObject* exception, fnabi_any* out);
/* Returns the exception of an error: the same one that it was made from, or a
 * new one of the type that its kind names. */
PyObject* lane_error_exception(fnabi_error_object* error);
/* Raises an exception with its own traceback, and takes its reference over. */
void lane_raise(PyObject* exception);
/* Raises the error that waits on this thread. Returns false, without an
 * exception, when none does. `name` is that of the function, a str or NULL. */
bool lane_error_fetch(PyObject* name);
/* The same; raises CallError when no error waits. */
void lane_error_raise(PyObject* name, int status);
/* Reports the current Python exception to the C caller of a callback, clears
 * it, and returns a new reference to it. */
PyObject* lane_error_report(void);
/* Reports that the interpreter is shutting down. Does not need the GIL. */
void lane_error_report_end(void);

#endif /* FNABI_LANE_CALLS_ERROR_H */
