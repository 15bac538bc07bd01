/* function_methods.h - methods of Function in files of their own. Private. */
#ifndef FNABI_LANE_CALLS_FUNCTION_METHODS_H
#define FNABI_LANE_CALLS_FUNCTION_METHODS_H

#include "lane/runtime/python.h"

PyObject* lane_function_bind(PyObject* function, PyObject* const* args,
                             Py_ssize_t count, PyObject* keywords);
PyObject* lane_function_map(PyObject* function, PyObject* const* args,
                            Py_ssize_t count, PyObject* keywords);

#endif /* FNABI_LANE_CALLS_FUNCTION_METHODS_H */
