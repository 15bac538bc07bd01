/* dtype.h - dtypes and devices as Python objects. Private. */
#ifndef FNABI_LANE_CALLS_DTYPE_H
#define FNABI_LANE_CALLS_DTYPE_H

#include "lane/runtime/python.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/any.h"

/* The DLPack dtype of an immutable dtype: a DType, one of NumPy, torch or
 * tvm_ffi. */
int lane_dtype(PyObject* dtype, fnabi_dl_dtype* out);

/* The same of any object with one. */
int lane_dtype_ask(PyObject* value, fnabi_dl_dtype* out);

/* The device of an object with `__dlpack_device__`, and of any that has one. */
int lane_device(PyObject* value, fnabi_dl_device* out);
int lane_device_ask(PyObject* value, fnabi_dl_device* out);

/* Reads a tuple of two ints; raises nothing. */
bool lane_pair(PyObject* tuple, int* first, int* second);

#endif /* FNABI_LANE_CALLS_DTYPE_H */
