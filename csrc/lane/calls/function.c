/* Calls of functions: arguments in, the result or the error out. */
#include "lane/calls/function.h"

#include "lane/calls/big_int.h"
#include "lane/calls/callback.h"
#include "lane/calls/code.h"
#include "lane/calls/context.h"
#include "lane/calls/dialect.h"
#include "lane/calls/environment.h"
#include "lane/calls/error.h"
#include "lane/calls/from_value.h"
#include "lane/calls/moved.h"
#include "lane/calls/result.h"
#include "lane/calls/to_value.h"
#include "lane/runtime/both_tables.h"
#include "lane/runtime/call_error.h"
#include "lane/runtime/error_slot.h"
#include "lane/runtime/hooks.h"
#include "lane/runtime/loader.h"
#include "lane/runtime/tvm_ffi.h"

fnabi_object* lane_function_object(PyObject* function) {
  lane_function* self = (lane_function*)function;
  if (self->object == NULL)
    self->object = lane_code_symbol(self->call, self->handle, self->keep);
  return self->object;
}

/* Raises a CallError that names the function. */
int lane_function_error(lane_function* self, PyObject* class,
                        const char* format, ...) {
  va_list list;
  if (class == NULL) return -1;
  va_start(list, format);
  PyObject* text = PyUnicode_FromFormatV(format, list);
  va_end(list);
  if (text == NULL) return -1;
  PyObject* name = self->name; /* Python code may set another one meanwhile */
  Py_XINCREF(name);
  if (lane_clear()) PyErr_Format(class, "%V: %U", name, "function", text);
  Py_XDECREF(name);
  Py_DECREF(text);
  return -1;
}

/* Raises a CallError about an argument, with the parameter's name if known. */
static void argument_error(lane_function* self, PyObject* class, Py_ssize_t i,
                           PyObject* text) {
  PyObject* name = NULL;
  if (self->names != NULL && i < PyTuple_Size(self->names))
    name = Py_NewRef(PyTuple_GetItem(self->names, i));
  if (name != NULL)
    lane_function_error(self, class, "argument %zd (%U): %S", i, name, text);
  else
    lane_function_error(self, class, "argument %zd: %S", i, text);
  Py_XDECREF(name);
}

void lane_function_name_argument(lane_function* self, Py_ssize_t i) {
  PyObject *type, *problem;
  if (!lane_call_error_take(&type, &problem)) return;
  argument_error(self, type, i, problem);
  Py_XDECREF(type);
  Py_XDECREF(problem);
}

/* Whether the text of an exception mentions an argument by its index; -1 only
 * if memory runs out. */
static int mentions(PyObject* exception, Py_ssize_t i) {
  int found = 0;
  PyObject* text = PyObject_Str(exception);
  for (int sign = 0; text != NULL && sign < 2 && found == 0; sign++) {
    PyObject* part =
        PyUnicode_FromFormat(sign ? "argument #%zd " : "argument %zd ", i);
    found = part != NULL ? PyUnicode_Contains(text, part) : -1;
    Py_XDECREF(part);
  }
  if ((text == NULL || found < 0) && lane_clear()) found = 0;
  Py_XDECREF(text);
  return PyErr_Occurred() != NULL ? -1 : found;
}

static void big_int_error(lane_function* self, Py_ssize_t i,
                          const fnabi_any* arg) {
  PyObject* number = lane_big_int_from((fnabi_big_int_object*)arg->v_object);
  PyObject* digits = number != NULL ? PyObject_Str(number) : NULL;
  /* Python writes no numbers of many thousand digits */
  PyObject* text = lane_clear()
                       ? PyUnicode_FromFormat("%V does not fit in int64",
                                              digits, "the number")
                       : NULL;
  if (text != NULL)
    argument_error(self, lane_error_class(LANE_RANGE_ERROR), i, text);
  Py_XDECREF(number);
  Py_XDECREF(digits);
  Py_XDECREF(text);
}

/* An int outside int64 is passed as an object, and a function that expects an
 * int rejects the object. The caller needs to know that the int does not fit.
 */
static void explain_big_int(lane_function* self, const fnabi_any* args,
                            Py_ssize_t count) {
  PyObject *type, *problem, *traceback;
  Py_ssize_t i = 0;
  while (i < count && args[i].type_index != FNABI_INDEX_BIG_INT) i++;
  if (i == count || !PyErr_ExceptionMatches(PyExc_TypeError)) return;
  PyErr_Fetch(&type, &problem, &traceback);
  PyErr_NormalizeException(&type, &problem, &traceback);
  int found = 0;
  for (; i < count; i++)
    if (args[i].type_index == FNABI_INDEX_BIG_INT &&
        (found = mentions(problem, i)) != 0)
      break;
  if (i == count) {
    PyErr_Restore(type, problem, traceback);
    return;
  }
  if (found > 0) big_int_error(self, i, &args[i]);
  PyObject *new_type, *raised, *new_traceback;
  PyErr_Fetch(&new_type, &raised, &new_traceback);
  PyErr_NormalizeException(&new_type, &raised, &new_traceback);
  PyException_SetCause(raised, problem); /* takes it over */
  PyErr_Restore(new_type, raised, new_traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
}

/* Whether the text of an exception has a word; no error is raised. */
static bool has_word(PyObject* exception, const char* word) {
  PyObject* text = PyObject_Str(exception);
  PyObject* part = text != NULL ? PyUnicode_FromString(word) : NULL;
  bool found = part != NULL && PyUnicode_Contains(text, part) > 0;
  Py_XDECREF(text);
  Py_XDECREF(part);
  PyErr_Clear();
  return found;
}

/* A list is passed as an array of objects, and a function that expects a tensor
 * rejects that by the name of its type. The caller needs to know that it was
 * the list. */
static void explain_list(const fnabi_any* args, Py_ssize_t count) {
  PyObject *type, *problem, *traceback, *done = NULL;
  Py_ssize_t i = 0;
  while (i < count && args[i].type_index != FNABI_INDEX_ARRAY) i++;
  if (i == count || !PyErr_ExceptionMatches(PyExc_TypeError)) return;
  PyErr_Fetch(&type, &problem, &traceback);
  PyErr_NormalizeException(&type, &problem, &traceback);
  for (; i < count && done == NULL && has_word(problem, "Tensor"); i++)
    if (args[i].type_index == FNABI_INDEX_ARRAY && mentions(problem, i) > 0) {
      PyObject* note = PyUnicode_FromFormat(
          "argument %zd is an ffi.Array, as lists and tuples are passed; pass "
          "an array of the dtype that the function expects, such as "
          "numpy.array(x, dtype=\"float32\")",
          i);
      if (note != NULL)
        done = PyObject_CallMethod(problem, "add_note", "O", note);
      Py_XDECREF(note);
    }
  Py_XDECREF(done);
  PyErr_Clear();
  PyErr_Restore(type, problem, traceback);
}

void lane_function_raise(lane_function* self, int status, const fnabi_any* args,
                         Py_ssize_t count, uint64_t failures) {
  PyObject* name = Py_XNewRef(self->name); /* Python code may replace it */
  PyObject* exception;
  if (lane_error_fetch(name)) {
    if (self->dialect == NULL) { /* which keeps the library's own error */
      explain_big_int(self, args, count);
      explain_list(args, count);
    }
  } else if ((exception = lane_callback_failure(args, count, failures)) != NULL)
    lane_raise(exception);
  else
    lane_error_raise(name, status);
  Py_XDECREF(name);
}

/* Releases the values whose bits are set. */
static void release_made(fnabi_any* args, const uint64_t* made,
                         Py_ssize_t count) {
  for (Py_ssize_t at = 0; at < count; at += 64, made++)
    for (uint64_t left = *made; left != 0; left &= left - 1) {
      const fnabi_any* value = args + at + fnabi_trailing_zeros(left);
      if (fnabi_any_is_object(value) &&
          !(value->type_index == FNABI_INDEX_TENSOR &&
            lane_tensor_dispose(value->v_object)))
        lane_release(value->v_object);
    }
}

/* Counts an argument that a call borrows, and sets its bit. */
static FNABI_NO_INLINE bool lend(PyObject* value, uint64_t* bits, int bit) {
  uint32_t* lent = lane_lent(value);
  if (lent == NULL) return false;
  ++*lent;
  *bits |= (uint64_t)1 << bit;
  return true;
}

/* Ends what a call borrowed: the arguments whose bits are set. */
static FNABI_NO_INLINE void end_loans(PyObject* const* args,
                                      const uint64_t* lent, Py_ssize_t count) {
  for (Py_ssize_t at = 0; at < count; at += 64, lent++)
    for (uint64_t left = *lent; left != 0; left &= left - 1)
      --*lane_lent(args[at + fnabi_trailing_zeros(left)]);
}

/* Releases a result whose type index differs from that of its object, but only
 * if it certainly is an object. A library that got one of the two wrong may
 * have stored anything there, and releasing something else is worse than
 * leaking an object. */
static void release_refused(const fnabi_any* refused) {
  const fnabi_object* object = refused->v_object;
  if (!fnabi_any_is_object(refused) || !fnabi_is_address(object)) return;
  uint64_t strong = object->counts & UINT32_MAX, weak = object->counts >> 32;
  void* deleter;
  memcpy(&deleter, &object->deleter, sizeof deleter);
  if (object->type_index < FNABI_INDEX_OBJECT || object->padding != 0 ||
      strong == 0 || strong > INT32_MAX || weak == 0 || weak > INT32_MAX ||
      (deleter != NULL && !lane_loader_owns(deleter)))
    return;
  lane_release(refused->v_object);
}

static void raise_refused(lane_function* self, const fnabi_any* refused) {
  if (refused->type_index == FNABI_INDEX_UNCHANGED) {
    lane_function_error(self, lane_error_class(LANE_CALL_ERROR),
                        "the function returned the value that is reserved for "
                        "\"unchanged\" (type index %d)",
                        (int)refused->type_index);
    return;
  }
  if (fnabi_any_is_object(refused) && fnabi_is_address(refused->v_object)) {
    lane_function_error(
        self, lane_error_class(LANE_CALL_ERROR),
        "the function returned type index %d with an object of type index %d",
        (int)refused->type_index, (int)refused->v_object->type_index);
    return;
  }
  lane_function_error(
      self, lane_error_class(LANE_CALL_ERROR),
      "the function returned type index %d with payload %p, which is no value "
      "of the ABI; the library may be built for another version of it",
      (int)refused->type_index, (void*)(uintptr_t)refused->v_bits);
}

void lane_function_refuse(lane_function* self, const fnabi_any* refused) {
  raise_refused(self, refused);
  release_refused(refused);
}

/* Adds the function to the text of a CallError about its result. */
static void name_result(lane_function* self) {
  PyObject *type, *problem;
  if (!lane_call_error_take(&type, &problem)) return;
  lane_function_error(self, type, "result: %S", problem);
  Py_XDECREF(type);
  Py_XDECREF(problem);
}

static PyObject* from_result(lane_function* self, fnabi_any* result) {
  PyObject* value;
  if (lane_from_frequent(result, &value)) return value;
  /* lane_from raises the better error */
  if (result->type_index == FNABI_INDEX_DLTENSOR && result->v_pointer != NULL)
    return lane_from(result, self->plain);
  fnabi_any refused;
  if (lane_result_settle(result, &refused)) {
    value = lane_take(result, self->plain);
    if (value == NULL) name_result(self);
    return value;
  }
  lane_function_refuse(self, &refused);
  return NULL;
}

/* The empty assembly prevents a tail call, which would have no frame. */
FNABI_NO_INLINE int TVMFFIFunctionCall_lane(const lane_function* self,
                                            const fnabi_any* args, int32_t n,
                                            fnabi_any* result) {
  int status = lane_both_tables
                   ? lane_tables_call(self->call, self->handle, args, n, result)
                   : self->call(self->handle, args, n, result);
  FNABI_OPAQUE(status);
  return status;
}

PyObject* lane_function_run(lane_function* self, fnabi_any* args,
                            Py_ssize_t count, const uint64_t* made,
                            const lane_arguments* seen) {
  fnabi_any result = {0}, refused;
  int status;
  lane_environment environment;
  bool entered = lane_environment_is_set(seen);
  if (entered && lane_environment_enter(seen, &environment) < 0) {
    if (made != NULL) release_made(args, made, count);
    return NULL;
  }
  uint64_t failures = lane_foreign_failures;
  fnabi_error_object* left = lane_error_begin();
  self->lent++;
  if (self->release_gil) {
    PyThreadState* state = PyEval_SaveThread();
    status = TVMFFIFunctionCall_lane(self, args, (int32_t)count, &result);
    PyEval_RestoreThread(state);
  } else {
    status = TVMFFIFunctionCall_lane(self, args, (int32_t)count, &result);
  }
  self->lent--;
  PyObject* answer = NULL;
  if (status != 0) {
    lane_function_raise(self, status, args, count, failures);
    /* Some functions write a result even if they fail. */
    if (lane_result_settle(&result, &refused))
      fnabi_any_release(&result);
    else
      release_refused(&refused);
  } else {
    answer = from_result(self, &result);
  }
  if (entered) lane_environment_leave(&environment);
  lane_error_end(left, status == 0);
  if (made != NULL) release_made(args, made, count);
  return answer;
}

/* Puts arguments by name after those by position. Returns `count` + `named`
 * borrowed objects in memory that the caller frees. */
static PyObject** arrange(lane_function* self, PyObject* const* args,
                          Py_ssize_t count, PyObject* keywords) {
  Py_ssize_t named = PyTuple_Size(keywords);
  PyObject* names = self->names; /* comparing them may run Python code */
  if (names == NULL) {
    lane_function_error(
        self, lane_error_class(LANE_TYPE_ERROR),
        "argument '%U': the function's parameter names are unknown; pass it by "
        "position",
        PyTuple_GetItem(keywords, 0));
    return NULL;
  }
  Py_INCREF(names);
  Py_ssize_t known = PyTuple_Size(names);
  PyObject** all = PyMem_Calloc((size_t)known + (size_t)count + 1, sizeof *all);
  bool good = all != NULL;
  if (!good) PyErr_NoMemory();
  for (Py_ssize_t i = 0; good && i < count; i++) all[i] = args[i];
  for (Py_ssize_t k = 0; good && k < named; k++) {
    PyObject* name = PyTuple_GetItem(keywords, k);
    Py_ssize_t i = PySequence_Index(names, name);
    good = i >= 0 && all[i] == NULL;
    if (good) {
      all[i] = args[count + k];
    } else {
      lane_function_error(
          self, lane_error_class(LANE_TYPE_ERROR), "argument '%U': %s", name,
          i < 0 ? "no parameter has this name" : "also given by position");
    }
  }
  for (Py_ssize_t i = count; good && i < count + named; i++) {
    good = all[i] != NULL;
    if (!good)
      lane_function_error(self, lane_error_class(LANE_TYPE_ERROR),
                          "argument '%S' is missing",
                          PyTuple_GetItem(names, i));
  }
  Py_DECREF(names);
  if (good) return all;
  PyMem_Free(all);
  return NULL;
}

PyObject* lane_function_with(PyObject* function, PyObject* const* args,
                             Py_ssize_t count, PyObject* keywords,
                             lane_function_method* method) {
  lane_function* self = (lane_function*)function;
  Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0;
  if (count > INT32_MAX - named) {
    lane_function_error(self, lane_error_class(LANE_VALUE_ERROR),
                        "more than %d arguments", INT32_MAX);
    return NULL;
  }
  if (named == 0) return method(self, args, count);
  PyObject** all = arrange(self, args, count, keywords);
  if (all == NULL) return NULL;
  PyObject* result = method(self, all, count + named);
  PyMem_Free(all);
  return result;
}

PyObject* lane_function_vectorcall(PyObject* function, PyObject* const* args,
                                   size_t flagged_count, PyObject* keywords) {
  enum { FEW = 8 };
  lane_function* self = (lane_function*)function;
  Py_ssize_t count = (Py_ssize_t)(flagged_count & ~LANE_VECTORCALL_OFFSET);
  PyObject* answer = NULL;
  if (keywords != NULL && PyTuple_Size(keywords) != 0) {
    PyObject** all = arrange(self, args, count, keywords);
    if (all == NULL) return NULL;
    answer = lane_function_vectorcall(
        function, all, (size_t)(count + PyTuple_Size(keywords)), NULL);
    PyMem_Free(all);
    return answer;
  }
  fnabi_any few[FEW];
  uint64_t few_made = 0, few_lent = 0;
  fnabi_any* values = few;
  uint64_t *made = &few_made, *lent = &few_lent;
  bool lends = false;
  if (count > FEW) {
    if (count > INT32_MAX) {
      lane_function_error(self, lane_error_class(LANE_VALUE_ERROR),
                          "more than %d arguments", INT32_MAX);
      return NULL;
    }
    size_t words = (size_t)(count + 63) / 64;
    values = PyMem_Calloc((size_t)count * 2 + words * 2, 8);
    if (values == NULL) return PyErr_NoMemory();
    made = (uint64_t*)(values + count);
    lent = made + words;
  }
  Py_ssize_t i = 0;
  lane_arguments* outer = lane_converting;
  lane_arguments seen = {.read_only = self->allow_read_only};
  const lane_dialect* outer_dialect = lane_current_dialect;
  lane_converting = &seen;
  lane_current_dialect = self->dialect;
  for (; i < count; i++) {
    int status = lane_view(args[i], values + i);
    if (status < 0) {
      lane_function_name_argument(self, i);
      break;
    }
    if (status == LANE_MADE) {
      made[i / 64] |= (uint64_t)1 << i % 64;
    } else if (fnabi_any_is_object(values + i) &&
               values[i].type_index != FNABI_INDEX_TENSOR) {
      lends |= lend(args[i], lent + i / 64, (int)(i % 64));
    }
  }
  lane_converting = outer;
  /* Code that reads one argument more than it is given finds None there. */
  if (count < FEW) values[count] = (fnabi_any){0};
  if (i == count)
    answer = lane_function_run(self, values, count, made, &seen);
  else
    release_made(values, made, i);
  if (lends) end_loans(args, lent, i);
  lane_current_dialect = outer_dialect;
  if (values != few) PyMem_Free(values);
  return answer;
}

PyObject* lane_function_new(fnabi_call call, void* handle, fnabi_object* object,
                            PyObject* keep) {
  lane_error_find();
  PyTypeObject* type =
      lane_current_dialect != NULL && lane_current_dialect->function != NULL
          ? lane_current_dialect->function
          : lane.function;
  lane_function* self = PyObject_GC_New(lane_function, type);
  if (self == NULL) {
    if (object != NULL) fnabi_object_release(object);
    return NULL;
  }
  self->dialect = lane_current_dialect;
  self->vectorcall = lane_function_vectorcall;
  self->call = call;
  self->handle = handle;
  self->object = object;
  Py_XINCREF(keep);
  self->keep = keep;
  self->name = self->names = self->schema = NULL;
  self->dict = self->weak = NULL;
  self->release_gil = 1;
  self->plain = 0;
  self->allow_read_only = 0;
  self->lent = 0;
  PyObject_GC_Track(self);
  return (PyObject*)self;
}

PyObject* lane_function_of_object(fnabi_object* object) {
  fnabi_call call = ((fnabi_function_object*)object)->call;
  void* handle;
  PyObject* keep;
  if (lane_code_is_symbol(object, &call, &handle, &keep))
    return lane_function_new(call, handle, object, keep);
  if (call != NULL) return lane_function_new(call, object, object, NULL);
  fnabi_object_release(object);
  lane_call_error("the function object has no code to call");
  return NULL;
}
