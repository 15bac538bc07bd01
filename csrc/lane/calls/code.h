/* code.h - function objects for plain C functions, which have no object of
 * their own. Private. */
#ifndef FNABI_LANE_CALLS_CODE_H
#define FNABI_LANE_CALLS_CODE_H

#include "lane/runtime/python.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/object.h"

/* Returns a function object that calls a symbol with `handle` and keeps `keep`
 * alive; NULL with an exception if memory runs out. */
fnabi_object* lane_code_symbol(fnabi_call call, void* handle, PyObject* keep);
/* Whether lane_code_symbol made a function object; if so, sets what it was made
 * of, borrowed. */
bool lane_code_is_symbol(const fnabi_object* object, fnabi_call* call,
                         void** handle, PyObject** keep);
/* The same for a function with the packed C interface of MLIR: one array with
 * the addresses of the arguments and of the status. */
fnabi_object* lane_code_packed(void* address, PyObject* keep);

#endif /* FNABI_LANE_CALLS_CODE_H */
