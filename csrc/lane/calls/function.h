/* function.h - a Function, and what its calls share: by arguments, bound, by
 * rows. Private. */
#ifndef FNABI_LANE_CALLS_FUNCTION_H
#define FNABI_LANE_CALLS_FUNCTION_H

#include "lane/calls/tensor_import.h"

typedef struct lane_function {
  PyObject_HEAD lane_vectorcall vectorcall;
  fnabi_call call;
  void* handle;
  fnabi_object* object; /* owned; NULL for a symbol whose object is not made */
  PyObject* keep;       /* keeps the code of `call` loaded, or NULL */
  PyObject* name;       /* a str, or NULL */
  PyObject* names;      /* of the parameters, a tuple, or NULL */
  PyObject* schema;     /* its type, or NULL */
  const struct lane_dialect* dialect; /* of its results, or NULL */
  PyObject* dict;
  PyObject* weak;
  char release_gil;
  char plain;
  char allow_read_only;
  uint32_t lent; /* the number of calls that run it or borrow it */
} lane_function;

PyObject* lane_function_vectorcall(PyObject* function, PyObject* const* args,
                                   size_t flagged_count, PyObject* keywords);

/* Returns a Function that owns `function`, also on failure. */
PyObject* lane_function_of_object(fnabi_object* function);
/* Returns a function's object, made at first use; borrowed. */
fnabi_object* lane_function_object(PyObject* function);

/* A Function of code. Adds references to all arguments except `object`, of which
 * it takes ownership even on failure. */
PyObject* lane_function_new(fnabi_call call, void* handle, fnabi_object* object,
                            PyObject* keep);

/* ---------------------------------------------------------------- arguments */

/* Raises an error that names the function; returns -1. The class is CallError
 * or derived from it, or NULL if an exception is set already. */
int lane_function_error(lane_function* self, PyObject* class,
                        const char* format, ...);

/* Adds the function and the argument to the text of a CallError. Other
 * exceptions are the caller's own and stay as they are. */
void lane_function_name_argument(lane_function* self, Py_ssize_t i);

/* Runs a method that takes arguments as the function does: those by name are
 * put in order first. */
typedef PyObject* lane_function_method(lane_function* self,
                                       PyObject* const* args, Py_ssize_t count);
PyObject* lane_function_with(PyObject* function, PyObject* const* args,
                             Py_ssize_t count, PyObject* keywords,
                             lane_function_method* method);

/* -------------------------------------------------------------------- calls */

/* Calls the function's code. With each error libtvm_ffi records the C stack up
 * to a function whose name begins with "TVMFFIFunctionCall". The frames above
 * this function are the interpreter's, and to record them takes longer than the
 * rest of an error. So this function must have a frame: no tail call. */
int TVMFFIFunctionCall_lane(const lane_function* self, const fnabi_any* args,
                            int32_t count, fnabi_any* result);

/* One call, during which the function is lent. Releases the arguments whose bits are set in `made`, which may be
 * NULL; releases the GIL during the call when the function says so. */
PyObject* lane_function_run(lane_function* self, fnabi_any* args,
                            Py_ssize_t count, const uint64_t* made,
                            const lane_arguments* seen);

/* Raises CallError for a result that is refused, and releases it if it
 * certainly is an object. */
void lane_function_refuse(lane_function* self, const fnabi_any* refused);

/* Raises the reason why a call failed. `failures` is lane_foreign_failures
 * before the call. */
void lane_function_raise(lane_function* self, int status, const fnabi_any* args,
                         Py_ssize_t count, uint64_t failures);

#endif /* FNABI_LANE_CALLS_FUNCTION_H */
