/* tensor_numpy.h - NumPy, by the table that it gives to extension modules.
 * Private. */
#ifndef FNABI_LANE_CALLS_TENSOR_NUMPY_H
#define FNABI_LANE_CALLS_TENSOR_NUMPY_H

#include "lane/calls/types.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/tensor.h"

/* The functions and types by their number in NumPy's ABI. Borrowed; valid while
 * NumPy is loaded. NULL when NumPy is not imported or its ABI is unknown, with
 * an exception only if memory runs out. */
void** lane_numpy(void);
/* The type of arrays, in the table. */
PyObject* lane_numpy_array_type(void** numpy);

/* Stores a new array over the memory of `tensor`, which is that of `object` and
 * on the host. The array holds a reference to `object`. Stores NULL and raises
 * an exception if NumPy makes none. Returns false, and stores nothing, for a
 * tensor whose dtype or rank has to be left to NumPy's own functions, or when
 * there is no table. */
bool lane_numpy_of(fnabi_object* object, const fnabi_dl_tensor* tensor,
                   bool writable, PyObject** array);

#endif /* FNABI_LANE_CALLS_TENSOR_NUMPY_H */
