/* made_function.h - functions that libraries make of code and a state. Private.
 *
 * No function needs the GIL. */
#ifndef FNABI_LANE_RUNTIME_MADE_FUNCTION_H
#define FNABI_LANE_RUNTIME_MADE_FUNCTION_H

#include "lane/runtime/python.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/object.h"

/* Makes a function, as TVMFFIFunctionCreate does: returns 0, or -1 with an error
 * that waits. The deleter may be NULL. */
int lane_made_function(void* self, fnabi_call call, void (*deleter)(void* self),
                       void** out);
/* The code that a function runs that was made so; NULL for others. */
fnabi_call lane_made_call(fnabi_call call, void* handle);

#endif /* FNABI_LANE_RUNTIME_MADE_FUNCTION_H */
