/* big_int.h - ints outside int64. Private. */
#ifndef FNABI_LANE_CALLS_BIG_INT_H
#define FNABI_LANE_CALLS_BIG_INT_H

#include "lane/runtime/python.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/object.h"

/* An int outside int64, as an object of the ABI; LANE_MADE. */
int lane_big_int_view(PyObject* value, fnabi_any* out);
PyObject* lane_big_int_from(const fnabi_big_int_object* big);

#endif /* FNABI_LANE_CALLS_BIG_INT_H */
