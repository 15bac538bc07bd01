/* result.h - what a function has returned. Private. */
#ifndef FNABI_LANE_CALLS_RESULT_H
#define FNABI_LANE_CALLS_RESULT_H

#include "lane/runtime/python.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/any.h"

/* Makes a result a value that may be kept, with its padding zero. Returns false
 * for a type index that is no value, or a view whose memory may be gone: then
 * the result becomes None, and *refused what it was. Does not need the GIL. */
bool lane_result_settle(fnabi_any* result, fnabi_any* refused);

#endif /* FNABI_LANE_CALLS_RESULT_H */
