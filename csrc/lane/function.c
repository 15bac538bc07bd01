#include "lane/lane.h"

/* ---------------------------------------------------------------------
 * callback
 *
 * A function of the ABI that calls a Python object, on whatever thread. An
 * error that it reports waits on that thread; a library that calls it on one of
 * its own and joins that may fail without taking the error along. So the
 * callback remembers the exception for the call that it was an argument of. */
typedef struct callback {
  fnabi_function_object function;
  PyObject* callable;
  PyObject* failed;   /* an exception, or NULL */
  uint64_t failed_as; /* which of the failures on foreign threads it was */
} callback;

static uint64_t foreign_failures; /* the GIL guards it */

static void delete_callback(void* self, int flags) {
  if (flags & FNABI_DELETER_STRONG) {
    lane_drop(((callback*)self)->callable);
    lane_drop(((callback*)self)->failed);
  }
  if (flags & FNABI_DELETER_WEAK) fnabi_object_free(self);
}

/* A DLTensor* is good until the callback returns: what it was made of here is
 * then made unusable, whoever has got hold of it. */
static PyObject* from_argument(const fnabi_any* arg) {
  if (arg->type_index != FNABI_INDEX_DLTENSOR) return lane_from(arg, false);
  return lane_tensor_of_view((const fnabi_dl_tensor*)arg->v_pointer);
}

static void end_argument(const fnabi_any* arg, PyObject* value) {
  if (arg->type_index == FNABI_INDEX_DLTENSOR) lane_tensor_expire(value);
}

static PyObject* call_python(PyObject* callable, const fnabi_any* args,
                             int32_t n) {
  enum { DIRECT = 4 };
  PyObject* a[DIRECT] = {NULL};
  PyObject* answer = NULL;
  if (n > DIRECT) {
    PyObject* tuple = PyTuple_New(n);
    if (tuple == NULL) return NULL;
    for (int32_t i = 0; i < n; i++) {
      PyObject* value = from_argument(args + i);
      if (value == NULL || PyTuple_SetItem(tuple, i, value) < 0) {
        Py_DECREF(tuple);
        return NULL;
      }
    }
    answer = PyObject_CallObject(callable, tuple);
    for (int32_t i = 0; i < n; i++)
      end_argument(args + i, PyTuple_GetItem(tuple, i));
    Py_DECREF(tuple);
    return answer;
  }
  int32_t i = 0;
  while (i < n && (a[i] = from_argument(args + i)) != NULL) i++;
  if (i == n) /* the first NULL ends the list */
    answer =
        PyObject_CallFunctionObjArgs(callable, a[0], a[1], a[2], a[3], NULL);
  while (i-- > 0) {
    end_argument(args + i, a[i]);
    Py_DECREF(a[i]);
  }
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
  self->failed_as = ++foreign_failures;
  Py_XDECREF(old);
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
  /* The callback may let go of itself. What is raised already, where a deleter
   * calls back while an exception is on its way, stays so. */
  PyObject* callable = self->callable;
  Py_INCREF(callable);
  if (foreign) fnabi_object_retain(self);
  PyObject *type = NULL, *problem = NULL, *traceback = NULL;
  bool raised = PyErr_Occurred() != NULL;
  if (raised) PyErr_Fetch(&type, &problem, &traceback);
  int status = -1;
  if (Py_EnterRecursiveCall(" in a callback") == 0) {
    lane_callbacks++;
    PyObject* answer = call_python(callable, args, n);
    if (answer != NULL) status = lane_own(answer, result);
    Py_XDECREF(answer);
    lane_callbacks--;
    Py_LeaveRecursiveCall();
  }
  if (status < 0) report(self, foreign);
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
  fnabi_any_set_object(out, self);
  return 0;
}

/* ---------------------------------------------------------------------
 * Function
 */
typedef struct lane_function {
  PyObject_HEAD lane_vectorcall vectorcall;
  fnabi_call call;
  void* handle;
  fnabi_object* object; /* owned; of a symbol NULL until it is asked for */
  PyObject* keep;       /* what must live for `call` to be there, or NULL */
  PyObject* name;       /* a str, or NULL */
  PyObject* names;      /* of the parameters, a tuple, or NULL */
  PyObject* dict;
  PyObject* weak;
  char release_gil;
  char plain;
} lane_function;

/* The function object of a symbol, which is called without a handle. */
typedef struct symbol {
  fnabi_function_object function;
  fnabi_call call;
  void* handle;
  PyObject* keep;
} symbol;

static void delete_symbol(void* self, int flags) {
  if (flags & FNABI_DELETER_STRONG) lane_drop(((symbol*)self)->keep);
  if (flags & FNABI_DELETER_WEAK) fnabi_object_free(self);
}

static int run_symbol(void* self, const fnabi_any* args, int32_t n,
                      fnabi_any* result) {
  return ((symbol*)self)->call(((symbol*)self)->handle, args, n, result);
}

fnabi_object* lane_function_object(PyObject* function) {
  lane_function* self = (lane_function*)function;
  if (self->object == NULL) {
    symbol* made = (symbol*)fnabi_function_new(
        run_symbol, sizeof *made - sizeof made->function, delete_symbol);
    if (made == NULL) {
      PyErr_NoMemory();
      return NULL;
    }
    made->call = self->call;
    made->handle = self->handle;
    made->keep = self->keep;
    Py_XINCREF(self->keep);
    self->object = &made->function.object;
  }
  return self->object;
}

/* Raises a CallError that names the function. */
static int function_error(lane_function* self, const char* format, ...) {
  va_list list;
  va_start(list, format);
  PyObject* text = PyUnicode_FromFormatV(format, list);
  va_end(list);
  if (text == NULL) return -1;
  PyObject* name = self->name; /* which may change in between */
  Py_XINCREF(name);
  lane_call_error("%V: %U", name, "function", text);
  Py_XDECREF(name);
  Py_DECREF(text);
  return -1;
}

/* Puts the function and the argument before the text of a CallError; other
 * exceptions are the caller's own. */
static void name_argument(lane_function* self, Py_ssize_t i) {
  PyObject *type, *problem, *traceback;
  PyErr_Fetch(&type, &problem, &traceback); /* the class may need an import */
  PyObject* class = lane_get(LANE_CALL_ERROR);
  if (class == NULL || !PyErr_GivenExceptionMatches(type, class)) {
    PyErr_Clear();
    PyErr_Restore(type, problem, traceback);
    return;
  }
  PyErr_NormalizeException(&type, &problem, &traceback);
  function_error(self, "argument %zd: %S", i, problem);
  Py_XDECREF(type);
  Py_XDECREF(problem);
  Py_XDECREF(traceback);
}

/* Raises what made a call fail. `failures` is how many callbacks had failed on
 * foreign threads before it. */
static void raise_failure(lane_function* self, int status,
                          const fnabi_any* args, Py_ssize_t count,
                          uint64_t failures) {
  if (lane_error_fetch()) return;
  for (Py_ssize_t i = 0; failures != foreign_failures && i < count; i++) {
    if (args[i].type_index != FNABI_INDEX_FUNCTION) continue;
    callback* function = (callback*)args[i].v_object;
    if (function->function.call != run_callback || function->failed == NULL ||
        function->failed_as <= failures)
      continue;
    PyObject* exception = function->failed;
    function->failed = NULL;
    lane_raise(exception);
    return;
  }
  PyObject* name = self->name;
  Py_XINCREF(name);
  lane_error_raise(name, status);
  Py_XDECREF(name);
}

/* Releases the values whose bits are set. */
static void release_made(fnabi_any* args, const uint64_t* made,
                         Py_ssize_t count) {
  for (Py_ssize_t at = 0; at < count; at += 64, made++)
    for (uint64_t left = *made; left != 0; left &= left - 1) {
      const fnabi_any* value = args + at + __builtin_ctzll(left);
      if (fnabi_any_is_object(value) &&
          !(value->type_index == FNABI_INDEX_TENSOR &&
            lane_tensor_dispose(value->v_object)))
        lane_release(value->v_object);
    }
}

/* Makes a result a value that may be kept, with the padding that it should
 * have. False, and None, for what is no value, and for a view of what may be
 * gone already. */
static bool settle(fnabi_any* result, fnabi_any* refused) {
  bool good;
  switch (result->type_index) {
    case FNABI_INDEX_INT:
    case FNABI_INDEX_FLOAT:
      result->small_size = 0;
      return true;
    case FNABI_INDEX_NONE:
    case FNABI_INDEX_BOOL:
    case FNABI_INDEX_POINTER:
    case FNABI_INDEX_DTYPE:
    case FNABI_INDEX_DEVICE:
    case FNABI_INDEX_UNCHANGED:
      good = true;
      break;
    case FNABI_INDEX_SMALL_STR:
    case FNABI_INDEX_SMALL_BYTES:
      good = result->small_size <= FNABI_SMALL_MAX;
      break;
    default:
      good = fnabi_any_is_object(result) && result->v_object != NULL;
  }
  fnabi_any_normalize(result);
  if (!good) {
    *refused = *result;
    fnabi_any_set(result, FNABI_INDEX_NONE, 0);
  }
  return good;
}

static void refuse_result(lane_function* self, const fnabi_any* refused) {
  function_error(
      self,
      "the function answered with type index %d and payload %p, which is "
      "no result of the ABI; the library may be built for another version of "
      "it",
      (int)refused->type_index, (void*)(uintptr_t)refused->v_bits);
}

static PyObject* from_result(lane_function* self, fnabi_any* result) {
  switch (result->type_index) { /* the most frequent ones at once */
    case FNABI_INDEX_NONE:
      Py_INCREF(Py_None);
      return Py_None;
    case FNABI_INDEX_INT:
      return PyLong_FromLongLong(result->v_int);
    case FNABI_INDEX_FLOAT:
      return PyFloat_FromDouble(result->v_float);
    case FNABI_INDEX_DLTENSOR: /* the caller's to know how long it is good */
      if (result->v_pointer != NULL) return lane_from(result, self->plain);
  }
  fnabi_any refused;
  if (settle(result, &refused)) return lane_take(result, self->plain);
  refuse_result(self, &refused);
  return NULL;
}

/* The call itself. With each error libtvm_ffi records the C stack, up to a
 * function whose name begins with "TVMFFIFunctionCall": beyond this one there
 * is nothing but the interpreter, and looking that up takes longer than all the
 * rest of an error. So there has to be a frame, and no jump. */
__attribute__((noinline)) static int TVMFFIFunctionCall_lane(
    const lane_function* self, const fnabi_any* args, int32_t n,
    fnabi_any* result) {
  int status = self->call(self->handle, args, n, result);
  __asm__ volatile("" : "+r"(status));
  return status;
}

/* One call. The arguments are released; the GIL is let go of while it lasts
 * where the function says so. */
static PyObject* run(lane_function* self, fnabi_any* args, Py_ssize_t count,
                     const uint64_t* made) {
  fnabi_any result = {0}, refused;
  int status;
  uint64_t failures = foreign_failures;
  fnabi_error_object* left = lane_error_begin();
  if (self->release_gil) {
    PyThreadState* state = PyEval_SaveThread();
    status = TVMFFIFunctionCall_lane(self, args, (int32_t)count, &result);
    PyEval_RestoreThread(state);
  } else {
    status = TVMFFIFunctionCall_lane(self, args, (int32_t)count, &result);
  }
  PyObject* answer = NULL;
  if (status != 0) {
    raise_failure(self, status, args, count, failures);
    /* Some write a result all the same. */
    if (settle(&result, &refused)) fnabi_any_release(&result);
  } else {
    answer = from_result(self, &result);
  }
  lane_error_end(left, status == 0);
  if (made != NULL) release_made(args, made, count);
  return answer;
}

/* Arguments by name, put behind those by position: `count` + `named` objects,
 * borrowed, in memory to be freed. */
static PyObject** arrange(lane_function* self, PyObject* const* args,
                          Py_ssize_t count, PyObject* keywords) {
  Py_ssize_t named = PyTuple_Size(keywords);
  PyObject* names = self->names; /* comparing them may run Python */
  if (names == NULL) {
    function_error(self,
                   "argument '%U': the names of its parameters are not known; "
                   "pass it by position",
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
      PyErr_Clear();
      function_error(
          self, "argument '%U': %s", name,
          i < 0 ? "no parameter has this name" : "given by position too");
    }
  }
  for (Py_ssize_t i = count; good && i < count + named; i++) {
    good = all[i] != NULL;
    if (!good)
      function_error(self, "argument '%S' is missing",
                     PyTuple_GetItem(names, i));
  }
  Py_DECREF(names);
  if (good) return all;
  PyMem_Free(all);
  return NULL;
}

static PyObject* function_vectorcall(PyObject* function, PyObject* const* args,
                                     size_t flagged_count, PyObject* keywords) {
  enum { FEW = 8 };
  lane_function* self = (lane_function*)function;
  Py_ssize_t count = (Py_ssize_t)(flagged_count & ~LANE_VECTORCALL_OFFSET);
  PyObject* answer = NULL;
  if (keywords != NULL && PyTuple_Size(keywords) != 0) {
    PyObject** all = arrange(self, args, count, keywords);
    if (all == NULL) return NULL;
    answer = function_vectorcall(
        function, all, (size_t)(count + PyTuple_Size(keywords)), NULL);
    PyMem_Free(all);
    return answer;
  }
  fnabi_any few[FEW];
  uint64_t few_made = 0;
  fnabi_any* values = few;
  uint64_t* made = &few_made;
  if (count > FEW) {
    if (count > INT32_MAX) {
      function_error(self, "more than %d arguments", INT32_MAX);
      return NULL;
    }
    size_t words = (size_t)(count + 63) / 64;
    values = PyMem_Calloc((size_t)count * 2 + words, 8);
    if (values == NULL) return PyErr_NoMemory();
    made = (uint64_t*)(values + count);
  }
  Py_ssize_t i = 0;
  for (; i < count; i++) {
    int status = lane_view(args[i], values + i);
    if (status < 0) {
      name_argument(self, i);
      break;
    }
    if (status == LANE_MADE) made[i / 64] |= (uint64_t)1 << i % 64;
  }
  if (i == count)
    answer = run(self, values, count, made);
  else
    release_made(values, made, i);
  if (values != few) PyMem_Free(values);
  return answer;
}

/* The same for callers that have a tuple and a dict. */
static PyObject* function_call(PyObject* self, PyObject* args,
                               PyObject* named) {
  Py_ssize_t count = PyTuple_Size(args);
  Py_ssize_t extra = named ? PyDict_Size(named) : 0;
  PyObject** all = PyMem_Calloc((size_t)(count + extra + 1), sizeof *all);
  PyObject* names = extra ? PyTuple_New(extra) : NULL;
  PyObject* answer = NULL;
  if (all == NULL || (extra && names == NULL)) {
    PyErr_NoMemory();
  } else {
    for (Py_ssize_t i = 0; i < count; i++) all[i] = PyTuple_GetItem(args, i);
    Py_ssize_t at = 0;
    PyObject *key, *value;
    for (Py_ssize_t i = 0; i < extra && PyDict_Next(named, &at, &key, &value);
         i++) {
      Py_INCREF(key);
      PyTuple_SetItem(names, i, key);
      all[count + i] = value;
    }
    answer = function_vectorcall(self, all, (size_t)count, names);
  }
  Py_XDECREF(names);
  PyMem_Free(all);
  return answer;
}

/* Gets references of its own, but takes `object` over, also on failure. */
static PyObject* new_function(fnabi_call call, void* handle,
                              fnabi_object* object, PyObject* keep) {
  lane_error_find();
  lane_function* self = PyObject_GC_New(lane_function, lane.function);
  if (self == NULL) {
    if (object != NULL) fnabi_object_release(object);
    return NULL;
  }
  self->vectorcall = function_vectorcall;
  self->call = call;
  self->handle = handle;
  self->object = object;
  Py_XINCREF(keep);
  self->keep = keep;
  self->name = self->names = self->dict = self->weak = NULL;
  self->release_gil = 1;
  self->plain = 0;
  PyObject_GC_Track(self);
  return (PyObject*)self;
}

PyObject* lane_function_of_object(fnabi_object* object) {
  fnabi_call call = ((fnabi_function_object*)object)->call;
  if (call == run_symbol) { /* straight to what it stands for */
    symbol* known = (symbol*)object;
    return new_function(known->call, known->handle, object, known->keep);
  }
  if (call != NULL) return new_function(call, object, object, NULL);
  fnabi_object_release(object);
  lane_call_error(
      "expected a function object that can be called, got one "
      "without code");
  return NULL;
}

static PyObject* function_new(PyTypeObject* type, PyObject* args,
                              PyObject* named) {
  static char* keywords[] = {"callable", NULL};
  PyObject* callable;
  (void)type;
  if (!PyArg_ParseTupleAndKeywords(args, named, "O:Function", keywords,
                                   &callable))
    return NULL;
  if (!PyCallable_Check(callable)) {
    lane_call_error("Function: callable: expected a callable, got %R",
                    (PyObject*)Py_TYPE(callable));
    return NULL;
  }
  fnabi_any any;
  if (lane_callback_own(callable, &any) < 0) return NULL;
  return lane_function_of_object(any.v_object);
}

static PyObject* function_from_address(PyObject* type, PyObject* args,
                                       PyObject* named) {
  static char* keywords[] = {"address", "keep", NULL};
  PyObject *number, *keep = NULL;
  (void)type;
  if (!PyArg_ParseTupleAndKeywords(args, named, "O|O:from_address", keywords,
                                   &number, &keep))
    return NULL;
  void* address = PyLong_Check(number) ? PyLong_AsVoidPtr(number) : NULL;
  if (address == NULL) {
    PyErr_Clear();
    lane_call_error(
        "Function.from_address: address: expected the address of a function, "
        "got %R",
        number);
    return NULL;
  }
  fnabi_call call;
  memcpy(&call, &address, sizeof call);
  return new_function(call, NULL, NULL, keep);
}

static int function_traverse(PyObject* function, visitproc visit, void* arg) {
  lane_function* self = (lane_function*)function;
  Py_VISIT(Py_TYPE(function));
  Py_VISIT(self->keep);
  Py_VISIT(self->dict);
  return 0;
}

static void function_dealloc(PyObject* function) {
  lane_function* self = (lane_function*)function;
  PyTypeObject* type = Py_TYPE(function);
  PyObject_GC_UnTrack(function);
  if (self->weak != NULL) PyObject_ClearWeakRefs(function);
  if (self->object != NULL) fnabi_object_release(self->object);
  Py_XDECREF(self->keep);
  Py_XDECREF(self->name);
  Py_XDECREF(self->names);
  Py_XDECREF(self->dict);
  PyObject_GC_Del(function);
  Py_DECREF(type);
}

static PyObject* function_repr(PyObject* function) {
  lane_function* self = (lane_function*)function;
  if (self->name != NULL)
    return PyUnicode_FromFormat("<fnabi.Function %U>", self->name);
  void* address = self->handle;
  if (address == NULL) memcpy(&address, &self->call, sizeof address);
  return PyUnicode_FromFormat("<fnabi.Function at %p>", address);
}

/* The same code with the same state. */
static PyObject* function_compare(PyObject* a, PyObject* b, int operation) {
  if ((operation != Py_EQ && operation != Py_NE) || Py_TYPE(b) != lane.function)
    Py_RETURN_NOTIMPLEMENTED;
  lane_function *left = (lane_function*)a, *right = (lane_function*)b;
  bool same = left->call == right->call && left->handle == right->handle;
  return PyBool_FromLong(same == (operation == Py_EQ));
}

static Py_hash_t function_hash(PyObject* function) {
  lane_function* self = (lane_function*)function;
  uintptr_t address = (uintptr_t)self->handle;
  if (address == 0) memcpy(&address, &self->call, sizeof address);
  return (Py_hash_t)(address >> 4);
}

static PyObject* get_name(PyObject* function, void* unused) {
  (void)unused;
  PyObject* name = ((lane_function*)function)->name;
  if (name == NULL)
    PyErr_SetString(PyExc_AttributeError, "the function has no name");
  Py_XINCREF(name);
  return name;
}

static int set_name(PyObject* function, PyObject* name, void* unused) {
  (void)unused;
  lane_function* self = (lane_function*)function;
  if (name != NULL && !PyUnicode_Check(name))
    return lane_call_error("Function.__name__: expected a str, got %R", name);
  PyObject* old = self->name;
  Py_XINCREF(name);
  self->name = name;
  Py_XDECREF(old);
  return 0;
}

static PyObject* get_names(PyObject* function, void* unused) {
  (void)unused;
  PyObject* names = ((lane_function*)function)->names;
  if (names == NULL) names = Py_None;
  Py_INCREF(names);
  return names;
}

static int set_names(PyObject* function, PyObject* names, void* unused) {
  (void)unused;
  lane_function* self = (lane_function*)function;
  PyObject* tuple = NULL;
  if (names != NULL && names != Py_None) {
    bool good = !PyUnicode_Check(names);
    if (good && (tuple = PySequence_Tuple(names)) == NULL) return -1;
    for (Py_ssize_t i = 0; good && i < PyTuple_Size(tuple); i++)
      good = PyUnicode_Check(PyTuple_GetItem(tuple, i));
    if (!good) {
      Py_XDECREF(tuple);
      return lane_call_error(
          "Function.names: expected a sequence of str, or None, got %R", names);
    }
  }
  PyObject* old = self->names;
  self->names = tuple;
  Py_XDECREF(old);
  return 0;
}

static PyObject* function_peer(PyObject* self, PyObject* unused) {
  (void)unused;
  fnabi_object* object = lane_function_object(self);
  return object ? lane_object_peer(object) : NULL;
}

/* -------------------------------------------------------------------------
 * Call
 */
typedef struct lane_call {
  PyObject_HEAD lane_vectorcall vectorcall;
  PyObject* function;
  PyObject* args;   /* the tuple that they came in */
  PyObject* values; /* an AnyArray */
} lane_call;

static PyObject* call_vectorcall(PyObject* self, PyObject* const* args,
                                 size_t flagged_count, PyObject* keywords) {
  lane_call* call = (lane_call*)self;
  (void)args;
  if ((flagged_count & ~LANE_VECTORCALL_OFFSET) != 0 || keywords != NULL) {
    function_error((lane_function*)call->function,
                   "the call is bound to its arguments and takes no more");
    return NULL;
  }
  return run((lane_function*)call->function, lane_any_array_data(call->values),
             lane_any_array_size(call->values), NULL);
}

static PyObject* call_call(PyObject* self, PyObject* args, PyObject* named) {
  Py_ssize_t count = PyTuple_Size(args) + (named ? PyDict_Size(named) : 0);
  return call_vectorcall(self, NULL, (size_t)count, NULL);
}

static int call_traverse(PyObject* self, visitproc visit, void* arg) {
  lane_call* call = (lane_call*)self;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(call->function);
  Py_VISIT(call->args);
  return 0;
}

static void call_dealloc(PyObject* self) {
  lane_call* call = (lane_call*)self;
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Py_DECREF(call->function);
  Py_DECREF(call->args);
  Py_DECREF(call->values);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

static PyObject* call_repr(PyObject* self) {
  lane_call* call = (lane_call*)self;
  return PyUnicode_FromFormat("<call of %R with %R>", call->function,
                              call->args);
}

static PyMemberDef call_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(lane_call, vectorcall),
     READONLY, NULL},
    {"function", T_OBJECT, offsetof(lane_call, function), READONLY,
     "What is called."},
    {"args", T_OBJECT, offsetof(lane_call, args), READONLY,
     "The arguments, as they were given."},
    {0}};

static PyMethodDef call_methods[] = {LANE_NOT_PICKLED, {0}};

static PyType_Slot call_slots[] = {
    {Py_tp_doc,
     "A function with its arguments, converted once; calling it repeats the "
     "call.\n\nTensors are passed in place: what is in them counts when the "
     "call is made.\n"},
    {Py_tp_call, call_call},
    {Py_tp_dealloc, call_dealloc},
    {Py_tp_traverse, call_traverse},
    {Py_tp_methods, call_methods},
    {Py_tp_members, call_members},
    {Py_tp_repr, call_repr},
    {0}};

static PyType_Spec call_spec = {
    "fnabi.Call", sizeof(lane_call), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
        Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    call_slots};

static PyObject* bind(lane_function* self, PyObject* const* args,
                      Py_ssize_t count) {
  PyObject* values = lane_any_array_new(count);
  PyObject* tuple = values ? PyTuple_New(count) : NULL;
  for (Py_ssize_t i = 0; tuple != NULL && i < count; i++) {
    Py_INCREF(args[i]);
    PyTuple_SetItem(tuple, i, args[i]);
    if (lane_own(args[i], lane_any_array_data(values) + i) < 0) {
      name_argument(self, i);
      Py_CLEAR(tuple);
    }
  }
  lane_call* call = tuple ? PyObject_GC_New(lane_call, lane.call) : NULL;
  if (call == NULL) {
    Py_XDECREF(values);
    Py_XDECREF(tuple);
    return NULL;
  }
  call->vectorcall = call_vectorcall;
  call->function = (PyObject*)self;
  call->args = tuple;
  call->values = values;
  Py_INCREF(call->function);
  PyObject_GC_Track(call);
  return (PyObject*)call;
}

/* A method that takes arguments as the function does. */
static PyObject* with_arguments(PyObject* function, PyObject* const* args,
                                Py_ssize_t count, PyObject* keywords,
                                PyObject* (*method)(lane_function*,
                                                    PyObject* const*,
                                                    Py_ssize_t)) {
  lane_function* self = (lane_function*)function;
  Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0;
  if (count > INT32_MAX - named) {
    function_error(self, "more than %d arguments", INT32_MAX);
    return NULL;
  }
  if (named == 0) return method(self, args, count);
  PyObject** all = arrange(self, args, count, keywords);
  if (all == NULL) return NULL;
  PyObject* answer = method(self, all, count + named);
  PyMem_Free(all);
  return answer;
}

static PyObject* function_bind(PyObject* function, PyObject* const* args,
                               Py_ssize_t count, PyObject* keywords) {
  return with_arguments(function, args, count, keywords, bind);
}

/* --------------------------------------------------------------------------
 * map
 *
 * Rows are converted a block at a time, so that memory for arguments does not
 * grow with their number, and a block is called through without the GIL. */
enum { BLOCK = 4096, BLOCK_VALUES = 8 * BLOCK };

typedef enum column_kind {
  COLUMN_SCALAR, /* the same value in each row */
  COLUMN_ITEMS,  /* a sequence */
  COLUMN_VALUES, /* an AnyArray */
  COLUMN_BUFFER, /* numbers in memory */
} column_kind;

typedef struct column {
  column_kind kind;
  PyObject* object; /* borrowed */
  fnabi_any value;  /* SCALAR: owned */
  Py_ssize_t size;
  Py_ssize_t filled; /* rows of the block that are good */
  Py_buffer buffer;
  char format; /* BUFFER: i u f b */
} column;

static void close_column(column* c) {
  if (c->kind == COLUMN_SCALAR) fnabi_any_release(&c->value);
  if (c->kind == COLUMN_BUFFER) PyBuffer_Release(&c->buffer);
}

/* What a buffer's elements are, whose size counts and not the letter: where
 * that has a standard size some write it and mean their machine's. */
static char buffer_format(const Py_buffer* buffer) {
  const char* format = buffer->format ? buffer->format : "B";
  const char order = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? '>' : '<';
  if (*format == '@' || *format == '=' || *format == order) format++;
  if (format[0] == 0 || format[1] != 0) return 0;
  Py_ssize_t size = buffer->itemsize;
  bool integer = size == 1 || size == 2 || size == 4 || size == 8;
  if (strchr("bhilqn", format[0])) return integer ? 'i' : 0;
  if (strchr("BHILQN", format[0])) return integer ? 'u' : 0;
  if (strchr("fd", format[0])) return size == 4 || size == 8 ? 'f' : 0;
  return format[0] == '?' && size == 1 ? 'b' : 0;
}

static int open_column(PyObject* object, column* c) {
  c->object = object;
  c->size = -1;
  if (Py_TYPE(object) == lane.any_array) {
    c->kind = COLUMN_VALUES;
    c->size = lane_any_array_size(object);
    return 0;
  }
  c->kind = COLUMN_SCALAR;
  if (PyUnicode_Check(object) || PyBytes_Check(object) ||
      PyByteArray_Check(object))
    return lane_own(object, &c->value);
  bool sequence = lane_is_sequence(object);
  if (!sequence && PyObject_CheckBuffer(object)) {
    if (PyObject_GetBuffer(object, &c->buffer,
                           PyBUF_STRIDED_RO | PyBUF_FORMAT) == 0) {
      if (c->buffer.ndim == 1 && (c->format = buffer_format(&c->buffer)) != 0) {
        c->kind = COLUMN_BUFFER;
        c->size = c->buffer.shape[0];
        return 0;
      }
      sequence = c->buffer.ndim == 1; /* of something else */
      PyBuffer_Release(&c->buffer);
    } else { /* an array of what no buffer can hold */
      PyErr_Clear();
      PyObject* ndim = PyObject_GetAttrString(object, "ndim");
      sequence = ndim != NULL && PyLong_Check(ndim) && PyLong_AsLong(ndim) == 1;
      Py_XDECREF(ndim);
      PyErr_Clear();
    }
  }
  if (!sequence) return lane_own(object, &c->value);
  c->size = PySequence_Size(object);
  if (c->size < 0) return -1;
  c->kind = COLUMN_ITEMS;
  return 0;
}

static int own_item(PyObject* sequence, Py_ssize_t i, fnabi_any* out) {
  PyObject* item;
  if (PyList_CheckExact(sequence)) { /* which may get shorter meanwhile */
    item = PyList_GetItem(sequence, i);
    if (item == NULL) return -1;
    /* a number is converted without running Python, and refers to nothing */
    if (Py_TYPE(item) == &PyLong_Type) {
      int large;
      long long number = PyLong_AsLongLongAndOverflow(item, &large);
      if (large) return lane_own(item, out);
      fnabi_any_set(out, FNABI_INDEX_INT, number);
      return 0;
    }
    if (Py_TYPE(item) == &PyFloat_Type) return lane_own(item, out);
    Py_INCREF(item);
  } else {
    item = PySequence_GetItem(sequence, i);
    if (item == NULL) return -1;
  }
  int status = lane_own(item, out);
  Py_DECREF(item);
  return status;
}

/* Rows [begin, end) of a column, `stride` values apart. Answers how many rows
 * are good. */
static Py_ssize_t fill_column(column* c, Py_ssize_t begin, Py_ssize_t end,
                              fnabi_any* out, Py_ssize_t stride) {
  if (c->kind == COLUMN_SCALAR || c->kind == COLUMN_VALUES) {
    const fnabi_any* from = c->kind == COLUMN_VALUES
                                ? lane_any_array_data(c->object) + begin
                                : &c->value;
    for (Py_ssize_t i = begin; i < end; i++, out += stride) {
      *out = *from;
      fnabi_any_retain(out);
      from += c->kind == COLUMN_VALUES;
    }
    return end - begin;
  }
  if (c->kind == COLUMN_ITEMS) {
    for (Py_ssize_t i = begin; i < end; i++, out += stride)
      if (own_item(c->object, i, out) < 0) return i - begin;
    return end - begin;
  }
  Py_ssize_t step = c->buffer.strides != NULL /* ctypes has none */
                        ? c->buffer.strides[0]
                        : c->buffer.itemsize;
  const char* at = (const char*)c->buffer.buf + begin * step;
#define FILL(type, set)                                                 \
  for (Py_ssize_t i = begin; i < end; i++, out += stride, at += step) { \
    type x;                                                             \
    memcpy(&x, at, sizeof x);                                           \
    set;                                                                \
  }                                                                     \
  break
#define INTEGER fnabi_any_set(out, FNABI_INDEX_INT, (int64_t)x)
#define REAL fnabi_any_set_float(out, (double)x)
#define CASE(format, size) ((format) * 16 + (size))
  switch (CASE(c->format, c->buffer.itemsize)) {
    case CASE('i', 1):
      FILL(int8_t, INTEGER);
    case CASE('i', 2):
      FILL(int16_t, INTEGER);
    case CASE('i', 4):
      FILL(int32_t, INTEGER);
    case CASE('i', 8):
      FILL(int64_t, INTEGER);
    case CASE('u', 1):
      FILL(uint8_t, INTEGER);
    case CASE('u', 2):
      FILL(uint16_t, INTEGER);
    case CASE('u', 4):
      FILL(uint32_t, INTEGER);
    case CASE('u', 8):
      for (Py_ssize_t i = begin; i < end; i++, out += stride, at += step) {
        uint64_t words[2] = {0, 0};
        memcpy(words, at, sizeof *words);
        if (!fnabi_int_new(words, 2, out)) {
          PyErr_NoMemory();
          return i - begin;
        }
      }
      break;
    case CASE('f', 4):
      FILL(float, REAL);
    case CASE('f', 8):
      FILL(double, REAL);
    case CASE('b', 1):
      FILL(uint8_t, fnabi_any_set(out, FNABI_INDEX_BOOL, x != 0));
  }
#undef FILL
#undef INTEGER
#undef REAL
#undef CASE
  return end - begin;
}

/* Says which row it was, and keeps the exception as it is. */
static void name_row(Py_ssize_t row) {
  PyObject *type, *problem, *traceback;
  PyErr_Fetch(&type, &problem, &traceback);
  PyErr_NormalizeException(&type, &problem, &traceback);
  PyObject* number = PyLong_FromSsize_t(row);
  PyObject* done = NULL;
  if (number != NULL && PyObject_SetAttrString(problem, "row", number) == 0) {
    PyObject* note = PyUnicode_FromFormat("in row %zd", row);
    if (note != NULL)
      done = PyObject_CallMethod(problem, "add_note", "O", note);
    Py_XDECREF(note);
  }
  Py_XDECREF(number);
  Py_XDECREF(done);
  PyErr_Clear();
  PyErr_Restore(type, problem, traceback);
}

/* Calls for each row until one fails. Answers how many did not. */
static Py_ssize_t call_rows(lane_function* self, const fnabi_any* args,
                            Py_ssize_t width, Py_ssize_t rows,
                            fnabi_any* results) {
  uint64_t failures = foreign_failures;
  fnabi_any refused = {0};
  int status = 0;
  bool good = true;
  Py_ssize_t row = 0;
  PyThreadState* state = self->release_gil ? PyEval_SaveThread() : NULL;
  for (; row < rows; row++) {
    fnabi_any* result = results + row;
    if (row > 0) {
      fnabi_error_object* left = lane_error_begin();
      if (left != NULL) fnabi_object_release(left);
    }
    status = TVMFFIFunctionCall_lane(self, args + row * width, (int32_t)width,
                                     result);
    if (status != 0) break;
    good = settle(result, &refused);
    if (!good) break;
  }
  if (state != NULL) PyEval_RestoreThread(state);
  if (status != 0) {
    raise_failure(self, status, args + row * width, width, failures);
    if (settle(results + row, &refused)) fnabi_any_release(results + row);
  } else if (!good) {
    refuse_result(self, &refused);
  }
  return row;
}

/* A row that cannot be converted fails after those before it are called, as it
 * would in a loop. */
static int map_block(lane_function* self, column* columns, Py_ssize_t width,
                     Py_ssize_t begin, Py_ssize_t end, fnabi_any* args,
                     fnabi_any* results) {
  Py_ssize_t good = end - begin;
  PyObject *type = NULL, *problem = NULL, *traceback = NULL;
  for (Py_ssize_t k = 0; k < width; k++) {
    columns[k].filled =
        fill_column(&columns[k], begin, begin + good, args + k, width);
    if (columns[k].filled == good) continue;
    good = columns[k].filled;
    name_argument(self, k);
    Py_XDECREF(type);
    Py_XDECREF(problem);
    Py_XDECREF(traceback);
    PyErr_Fetch(&type, &problem, &traceback);
  }
  Py_ssize_t row = call_rows(self, args, width, good, results);
  for (Py_ssize_t k = 0; k < width; k++)
    for (Py_ssize_t i = 0; i < columns[k].filled; i++)
      fnabi_any_release(args + i * width + k);
  if (row < good) {
    Py_XDECREF(type);
    Py_XDECREF(problem);
    Py_XDECREF(traceback);
  } else if (type != NULL) {
    PyErr_Restore(type, problem, traceback);
  } else {
    return 0;
  }
  name_row(begin + row);
  return -1;
}

static PyObject* map(lane_function* self, PyObject* const* args,
                     Py_ssize_t width) {
  Py_ssize_t rows = -1, opened = 0;
  PyObject* results = NULL;
  fnabi_any* block = NULL;
  column* columns = PyMem_Calloc((size_t)width + 1, sizeof *columns);
  if (columns == NULL) return PyErr_NoMemory();
  for (; opened < width; opened++) {
    column* c = &columns[opened];
    if (open_column(args[opened], c) < 0) {
      name_argument(self, opened);
      goto end;
    }
    if (c->kind == COLUMN_SCALAR) continue;
    if (rows >= 0 && c->size != rows) {
      function_error(self,
                     "argument %zd: expected a column of %zd rows, got %zd",
                     opened, rows, c->size);
      opened++;
      goto end;
    }
    rows = c->size;
  }
  if (rows < 0) {
    function_error(self, "map: expected at least one column");
    goto end;
  }
  Py_ssize_t most = BLOCK_VALUES / width;
  if (most > BLOCK) most = BLOCK;
  if (most < 1) most = 1;
  if (most > rows) most = rows;
  results = lane_any_array_new(rows);
  block = PyMem_Calloc((size_t)most * (size_t)width + 1, sizeof *block);
  if (results != NULL && block == NULL) PyErr_NoMemory();
  if (results == NULL || block == NULL) {
    Py_CLEAR(results);
    goto end;
  }
  fnabi_error_object* left = lane_error_begin();
  for (Py_ssize_t begin = 0; results != NULL && begin < rows; begin += most) {
    Py_ssize_t last = rows - begin < most ? rows : begin + most;
    if (PyErr_CheckSignals() < 0 ||
        map_block(self, columns, width, begin, last, block,
                  lane_any_array_data(results) + begin) < 0)
      Py_CLEAR(results);
  }
  lane_error_end(left, results != NULL);
end:
  while (opened-- > 0) close_column(&columns[opened]);
  PyMem_Free(columns);
  PyMem_Free(block);
  return results;
}

static PyObject* function_map(PyObject* function, PyObject* const* args,
                              Py_ssize_t count, PyObject* keywords) {
  return with_arguments(function, args, count, keywords, map);
}

static PyMethodDef function_methods[] = {
    {"from_address", (PyCFunction)(void (*)(void))function_from_address,
     METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "from_address($type, /, address, keep=None)\n--\n\n"
     "A function of the universal calling convention at an address, called "
     "without a\nhandle.\n\nArgs:\n    address: Of the code, an int.\n    "
     "keep: "
     "An object that lives as long as the function does.\n\nRaises:\n    "
     "CallError: when the address is no int, or 0.\n"},
    {"bind", (PyCFunction)(void (*)(void))function_bind,
     METH_FASTCALL | METH_KEYWORDS,
     "bind($self, /, *args, **named)\n--\n\n"
     "The call with these arguments, which are converted now and kept.\n\n"
     "Raises:\n    CallError: when one of them is none that a call takes.\n"},
    {"map", (PyCFunction)(void (*)(void))function_map,
     METH_FASTCALL | METH_KEYWORDS,
     "map($self, /, *columns, **named)\n--\n\n"
     "Call once a row, and give the results as an `AnyArray`.\n\nA column is a "
     "list, a tuple, a range, an AnyArray or an array of one dim with\nthe "
     "buffer protocol; all have the same length. Anything else is passed to "
     "each\ncall. The calls are made in C, the GIL released where "
     "`release_gil` says so; the\nfirst failure ends them, and its exception "
     "has the row as `row`.\n\nRaises:\n    CallError: when there is no "
     "column, or one of another length.\n"},
    LANE_NOT_PICKLED,
    {"__tvm_ffi_object__", function_peer, METH_NOARGS,
     "The same function as the package tvm_ffi wraps it."},
    {0}};

static PyGetSetDef function_getset[] = {
    {"names", get_names, set_names,
     "The names of the parameters, by which arguments may be given; None: not "
     "known.",
     NULL},
    {"__name__", get_name, set_name, "How messages call the function.", NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {0}};

static PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(lane_function, vectorcall),
     READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(lane_function, dict), READONLY,
     NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(lane_function, weak), READONLY,
     NULL},
    {"release_gil", T_BOOL, offsetof(lane_function, release_gil), 0,
     "Whether other threads may run during a call. False is faster, for "
     "functions\nthat are short and wait for no other thread."},
    {"plain", T_BOOL, offsetof(lane_function, plain), 0,
     "Whether containers come back as list and dict, all the way down."},
    {0}};

static PyType_Slot function_slots[] = {
    {Py_tp_doc,
     "Function(callable)\n--\n\n"
     "A function of TVM-FFI's universal calling convention.\n\nMade of a "
     "Python "
     "callable it can be handed to other libraries. Called, it converts\nits "
     "arguments, calls, and converts the result; an error of the function is "
     "raised\nas the Python exception of its kind.\n"},
    {Py_tp_new, function_new},
    {Py_tp_call, function_call},
    {Py_tp_dealloc, function_dealloc},
    {Py_tp_traverse, function_traverse},
    {Py_tp_richcompare, function_compare},
    {Py_tp_hash, function_hash},
    {Py_tp_repr, function_repr},
    {Py_tp_methods, function_methods},
    {Py_tp_getset, function_getset},
    {Py_tp_members, function_members},
    {0}};

static PyType_Spec function_spec = {"fnabi.Function", sizeof(lane_function), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                        Py_TPFLAGS_IMMUTABLETYPE |
                                        Py_TPFLAGS_HAVE_VECTORCALL,
                                    function_slots};

int lane_function_init(PyObject* module) {
  lane.function = lane_add_type(module, &function_spec, NULL);
  lane.call = lane_add_type(module, &call_spec, NULL);
  return lane.function && lane.call ? 0 : -1;
}
