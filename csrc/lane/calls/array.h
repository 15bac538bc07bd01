/* array.h - Array and List, of Python and of the ABI. Private. */
#ifndef FNABI_LANE_CALLS_ARRAY_H
#define FNABI_LANE_CALLS_ARRAY_H

#include "lane/calls/container.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/array.h"

int lane_array_own(PyObject* sequence, fnabi_any* out); /* list, tuple */
PyObject* lane_array_list(fnabi_seq_object* array, bool plain);
int lane_array_equal(fnabi_seq_object* a, fnabi_seq_object* b);
/* Appends the reprs of the values to a list. */
int lane_array_repr(const fnabi_seq_object* array, const lane_nest* nest,
                    PyObject* parts);

#endif /* FNABI_LANE_CALLS_ARRAY_H */
