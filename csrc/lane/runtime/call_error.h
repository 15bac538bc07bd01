/* call_error.h - raises CallError, the exception for what callers get wrong. Private. */
#ifndef FNABI_LANE_RUNTIME_CALL_ERROR_H
#define FNABI_LANE_RUNTIME_CALL_ERROR_H

#include "lane/runtime/hooks.h"

/* Raises CallError in place of the current exception, except that a MemoryError
 * stays; returns -1. */
int lane_call_error(const char* format, ...);
/* The same for ArgumentTypeError, a TypeError, and ArgumentValueError, a
 * ValueError. */
int lane_type_error(const char* format, ...);
int lane_value_error(const char* format, ...);
/* The class of an error that is raised in place of the current exception, which
 * is cleared; borrowed. NULL with an exception if memory runs out. */
PyObject* lane_error_class(lane_name name);
/* Raises ArgumentTypeError with ", got " and the name of an object's type after the
 * text; returns -1. */
int lane_type_error_got(PyObject* got, const char* format, ...);
/* Takes the current exception, of a class `type`, if it is a CallError, to raise
 * it again with more text: returns true, and the caller owns both. */
bool lane_call_error_take(PyObject** type, PyObject** problem);
/* __reduce__ of types whose instances are only valid in this process. */
PyObject* lane_refuse_reduce(PyObject* self, PyObject* unused);
#define LANE_NOT_PICKLED {"__reduce__", lane_refuse_reduce, METH_NOARGS, NULL}

#endif /* FNABI_LANE_RUNTIME_CALL_ERROR_H */
