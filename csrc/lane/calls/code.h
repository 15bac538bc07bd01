/* code.h - function objects of code that knows nothing of the ABI's objects. Private. */
#ifndef FNABI_LANE_CALLS_CODE_H
#define FNABI_LANE_CALLS_CODE_H

#include "lane/runtime/python.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/object.h"

/* The function object of a symbol, which is called with `handle`, and keeps `keep`
 * alive; NULL when there is no memory. */
fnabi_object* lane_code_symbol(fnabi_call call, void* handle, PyObject* keep);
/* Whether a function object is such a one; then what it was made of, borrowed. */
bool lane_code_is_symbol(const fnabi_object* object, fnabi_call* call,
                         void** handle, PyObject** keep);
/* That of code that gets the addresses of the arguments, and of the status, as
 * MLIR packs an interface. */
fnabi_object* lane_code_packed(void* address, PyObject* keep);

#endif /* FNABI_LANE_CALLS_CODE_H */
