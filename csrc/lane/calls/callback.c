/* A function of the ABI that calls a Python object, on any thread. The ABI
 * stores an error per thread. A library that calls the callback on its own
 * thread and joins it may lose the error. So the callback remembers the
 * exception for the call that it was an argument of. */
#include "lane/calls/callback.h"

#include "lane/calls/context.h"
#include "lane/calls/error.h"
#include "lane/calls/from_value.h"
#include "lane/calls/function.h"
#include "lane/calls/init.h"
#include "lane/calls/tensor_view.h"
#include "lane/calls/to_value.h"
#include "lane/runtime/both_tables.h"
#include "lane/runtime/call_error.h"
#include "lane/runtime/error_slot.h"
#include "lane/runtime/loader.h"
#include "lane/runtime/shutdown.h"
#include "lane/runtime/text.h"

typedef struct callback {
  fnabi_function_object function;
  PyObject* callable;
  const lane_dialect* dialect; /* of its arguments, or NULL */
  PyObject* failed;            /* an exception, or NULL */
  uint64_t failed_as; /* its number among the failures on foreign threads */
} callback;

uint64_t lane_foreign_failures;

static void delete_callback(void* self, int flags) {
  if (flags & FNABI_DELETER_STRONG) {
    lane_drop(((callback*)self)->callable);
    lane_drop(((callback*)self)->failed);
  }
  if (flags & FNABI_DELETER_WEAK) fnabi_object_free(self);
}

/* A DLTensor* is valid until the callback returns. The Tensor made from it is
 * then expired, even if Python still holds it. */
static PyObject* from_argument(const fnabi_any* arg) {
  if (arg->type_index != FNABI_INDEX_DLTENSOR) return lane_from_argument(arg);
  return lane_tensor_of_view((const fnabi_dl_tensor*)arg->v_pointer);
}

static void end_argument(const fnabi_any* arg, PyObject* value) {
  if (arg->type_index == FNABI_INDEX_DLTENSOR) lane_tensor_expire(value);
}

/* PyObject_Vectorcall, which is in the stable ABI from Python 3.12 on and is
 * found by name in earlier ones; NULL where it is not. */
static PyObject* (*vectorcall)(PyObject* callable, PyObject* const* args,
                               size_t count, PyObject* names);

enum { FEW = 4 }; /* arguments that are passed without a tuple */

/* The callable runs in no dialect; its arguments and its answer are of `own`. */
static PyObject* call_with_few(PyObject* callable, const fnabi_any* args,
                               int32_t n, const lane_dialect* own) {
  const size_t first_is_free = (size_t)1 << (8 * sizeof(size_t) - 1);
  PyObject* values[1 + FEW]; /* the first is for the callee's use */
  PyObject* answer = NULL;
  int32_t made = 0;
  bool has_view = false;
  for (; made < n; made++) {
    has_view |= args[made].type_index == FNABI_INDEX_DLTENSOR;
    PyObject* value = from_argument(args + made);
    if (value == NULL) break;
    values[1 + made] = value;
  }
  if (made == n) {
    lane_current_dialect = NULL;
    answer = vectorcall(callable, values + 1, (size_t)n | first_is_free, NULL);
    lane_current_dialect = own;
  }
  for (int32_t i = 0; i < made; i++) {
    if (has_view) end_argument(args + i, values[1 + i]);
    Py_DECREF(values[1 + i]);
  }
  return answer;
}

static PyObject* call_with_tuple(PyObject* callable, const fnabi_any* args,
                                 int32_t n, const lane_dialect* own) {
  PyObject* tuple = PyTuple_New(n);
  if (tuple == NULL) return NULL;
  for (int32_t i = 0; i < n; i++) {
    PyObject* value = from_argument(args + i);
    if (value == NULL || PyTuple_SetItem(tuple, i, value) < 0) {
      Py_DECREF(tuple);
      return NULL;
    }
  }
  lane_current_dialect = NULL;
  PyObject* answer = PyObject_CallObject(callable, tuple);
  lane_current_dialect = own;
  for (int32_t i = 0; i < n; i++)
    end_argument(args + i, PyTuple_GetItem(tuple, i));
  Py_DECREF(tuple);
  return answer;
}

static void report(callback* self, bool foreign) {
  PyObject* exception = lane_error_report();
  if (!foreign || exception == NULL) {
    Py_XDECREF(exception);
    return;
  }
  PyObject* old = self->failed;
  self->failed = exception;
  self->failed_as = ++lane_foreign_failures;
  Py_XDECREF(old);
}

static int check_table(fnabi_any* result) {
  const fnabi_byte_array* refused = lane_tables_refused(result);
  if (refused == NULL) return 0;
  PyObject* key = lane_text(refused);
  if (key != NULL)
    lane_type_error(
        "the callback returned an object of %R in fnabi's own table of types; "
        "who called it belongs to libtvm_ffi, which has another table",
        key);
  Py_XDECREF(key);
  fnabi_any_release(result);
  return -1;
}

static int run_callback(void* handle, const fnabi_any* args, int32_t n,
                        fnabi_any* result) {
  if (lane_finished) {
    lane_error_report_end();
    return -1;
  }
  bool foreign = PyGILState_GetThisThreadState() == NULL;
  PyGILState_STATE gil = PyGILState_Ensure();
  callback* self = handle;
  /* The callback may release itself. An exception that is already raised is
   * kept: a deleter may call back while it is propagated. */
  PyObject* callable = self->callable;
  Py_INCREF(callable);
  if (foreign) fnabi_object_retain(self);
  PyObject *type = NULL, *problem = NULL, *traceback = NULL;
  bool raised = PyErr_Occurred() != NULL;
  if (raised) PyErr_Fetch(&type, &problem, &traceback);
  int status = -1;
  bool framed = n >= 0 && (n == 0 || args != NULL) && result != NULL;
  const lane_dialect* outer = lane_current_dialect;
  lane_current_dialect = self->dialect;
  if (framed && Py_EnterRecursiveCall(" in a callback") == 0) {
    lane_error_callbacks++;
    PyObject* answer =
        (n <= FEW && vectorcall != NULL ? call_with_few : call_with_tuple)(
            callable, args, n, self->dialect);
    if (answer != NULL) status = lane_own(answer, result);
    if (status == 0 && lane_both_tables) status = check_table(result);
    Py_XDECREF(answer);
    lane_error_callbacks--;
    Py_LeaveRecursiveCall();
  }
  if (!framed && !PyErr_Occurred())
    lane_call_error(
        "the callback %R was called with %d arguments at %p and a result at %p",
        callable, (int)n, (const void*)args, (const void*)result);
  if (status < 0) report(self, foreign);
  lane_current_dialect = outer;
  if (foreign) fnabi_object_release(self);
  Py_DECREF(callable);
  if (raised) PyErr_Restore(type, problem, traceback);
  PyGILState_Release(gil);
  return status;
}

int lane_callback_own(PyObject* callable, fnabi_any* out) {
  callback* self = (callback*)fnabi_function_new(
      run_callback, sizeof *self - sizeof self->function, delete_callback);
  if (self == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  Py_INCREF(callable);
  self->callable = callable;
  self->dialect = lane_current_dialect;
  fnabi_any_set_object(out, self);
  return 0;
}

PyObject* lane_callback_failure(const fnabi_any* args, Py_ssize_t count,
                                uint64_t failures) {
  for (Py_ssize_t i = 0; failures != lane_foreign_failures && i < count; i++) {
    if (args[i].type_index != FNABI_INDEX_FUNCTION) continue;
    callback* self = (callback*)args[i].v_object;
    if (self->function.call != run_callback || self->failed == NULL ||
        self->failed_as <= failures)
      continue;
    PyObject* exception = self->failed;
    self->failed = NULL;
    return exception;
  }
  return NULL;
}

static PyObject* callable_of(PyObject* module, PyObject* function) {
  (void)module;
  if (!lane_is(function, lane.function)) {
    lane_type_error_got(function, "callable_of: function: expected Function");
    return NULL;
  }
  const fnabi_object* object = ((lane_function*)function)->object;
  PyObject* callable = Py_None;
  if (object != NULL && ((fnabi_function_object*)object)->call == run_callback)
    callable = ((callback*)object)->callable;
  return Py_NewRef(callable);
}

static PyMethodDef callback_methods[] = {
    {"callable_of", callable_of, METH_O,
     "callable_of(function, /)\n--\n\n"
     "The Python callable that a Function was made from, or None."},
    {0}};

int lane_callback_init(PyObject* module) {
  void* symbol = lane_loader_symbol(NULL, "PyObject_Vectorcall");
  memcpy(&vectorcall, &symbol, sizeof symbol);
  return PyModule_AddFunctions(module, callback_methods);
}
