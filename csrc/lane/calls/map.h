/* map.h - Map and Dict, of Python and of the ABI. Private. */
#ifndef FNABI_LANE_CALLS_MAP_H
#define FNABI_LANE_CALLS_MAP_H

#include "lane/calls/container.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/map.h"

int lane_map_own(PyObject* dict, fnabi_any* out);
PyObject* lane_map_dict(fnabi_map_object* map, bool plain);
int lane_map_equal(fnabi_map_object* a, fnabi_map_object* b);
/* Appends the reprs of the pairs to a list. */
int lane_map_repr(const fnabi_map_object* map, const lane_nest* nest,
                  PyObject* parts);

#endif /* FNABI_LANE_CALLS_MAP_H */
