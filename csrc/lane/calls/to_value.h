/* to_value.h - Python objects as values of the ABI. Private. */
#ifndef FNABI_LANE_CALLS_TO_VALUE_H
#define FNABI_LANE_CALLS_TO_VALUE_H

#include "lane/calls/types.h"

/* The value of a Python object: LANE_MADE when *out is owned, LANE_BORROWED
 * when it is a view, valid as long as the Python object does not change. */
enum { LANE_BORROWED = 0, LANE_MADE = 1 };
int lane_view(PyObject* value, fnabi_any* out);
/* The same, always owned. */
int lane_own(PyObject* value, fnabi_any* out);

/* Whether an object is a column of values: a list, a tuple that is no shape, a
 * range; -1 if memory runs out. */
int lane_is_sequence(PyObject* object);

#endif /* FNABI_LANE_CALLS_TO_VALUE_H */
