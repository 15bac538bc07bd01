/* function.h - what a function's calls share: by arguments, bound, by rows. */
#ifndef FNABI_LANE_FUNCTION_H
#define FNABI_LANE_FUNCTION_H

#include "lane/lane.h"

typedef struct lane_function {
  PyObject_HEAD lane_vectorcall vectorcall;
  fnabi_call call;
  void* handle;
  fnabi_object* object; /* owned; NULL for a symbol whose object is not made */
  PyObject* keep;       /* keeps the code of `call` loaded, or NULL */
  PyObject* name;       /* a str, or NULL */
  PyObject* names;      /* of the parameters, a tuple, or NULL */
  const lane_dialect* dialect; /* of its results, or NULL */
  PyObject* dict;
  PyObject* weak;
  char release_gil;
  char plain;
  char allow_read_only;
} lane_function;

PyObject* lane_function_vectorcall(PyObject* function, PyObject* const* args,
                                   size_t flagged_count, PyObject* keywords);

/* --------------------------------------------------------- function_class.c */

int lane_function_class_init(PyObject* module);
/* Whether instances of a class have no more than those of Function. */
bool lane_function_is_plain(PyTypeObject* class);
/* A Function of code that gets the addresses of the arguments. */
PyObject* lane_function_of_packed(void* address, PyObject* keep);

/* ---------------------------------------------------------------- arguments */

/* Raises a CallError that names the function; returns -1. */
int lane_function_error(lane_function* self, const char* format, ...);

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

/* Calls the function's code. With each error libtvm_ffi records the C stack, up
 * to a function whose name begins with "TVMFFIFunctionCall". Beyond this one is
 * only the interpreter, and recording that takes longer than the rest of an
 * error: so there has to be a frame, and no jump. */
int TVMFFIFunctionCall_lane(const lane_function* self, const fnabi_any* args,
                            int32_t count, fnabi_any* result);

/* One call. Releases the arguments whose bits are set in `made`, which may be
 * NULL; releases the GIL during the call when the function says so. */
PyObject* lane_function_run(lane_function* self, fnabi_any* args,
                            Py_ssize_t count, const uint64_t* made,
                            const lane_arguments* seen);

/* Makes a result a value that may be kept, with its padding zero. Returns false
 * for a type index that is no value, or a view whose memory may be gone: then
 * the result becomes None, and *refused what it was. Does not need the GIL. */
bool lane_function_settle(fnabi_any* result, fnabi_any* refused);
/* Raises CallError for such a result, and releases what is an object for sure.
 */
void lane_function_refuse(lane_function* self, const fnabi_any* refused);

/* Raises the reason why a call failed. `failures` is lane_foreign_failures
 * before the call. */
void lane_function_raise(lane_function* self, int status, const fnabi_any* args,
                         Py_ssize_t count, uint64_t failures);

/* How many callbacks have failed on threads that Python did not start, in all;
 * the GIL guards it. */
extern uint64_t lane_foreign_failures;
/* Returns the exception of a callback among the arguments that has failed on
 * such a thread since there were `failures` of them; NULL without an exception
 * when none has. */
PyObject* lane_callback_failure(const fnabi_any* args, Py_ssize_t count,
                                uint64_t failures);

/* ---------------------------------------------------- methods of a Function */

PyObject* lane_function_bind(PyObject* function, PyObject* const* args,
                             Py_ssize_t count, PyObject* keywords);
PyObject* lane_function_map(PyObject* function, PyObject* const* args,
                            Py_ssize_t count, PyObject* keywords);

#endif
