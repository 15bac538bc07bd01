#include "lane/calls/function.h"

#include "lane/runtime/loader.h"

/* ----------------------------------------------------------------- Function */
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
int lane_function_error(lane_function* self, const char* format, ...) {
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

/* Raises a CallError about an argument, with the parameter's name if known. */
static void argument_error(lane_function* self, Py_ssize_t i, PyObject* text) {
  PyObject* name = NULL;
  if (self->names != NULL && i < PyTuple_Size(self->names))
    name = Py_NewRef(PyTuple_GetItem(self->names, i));
  if (name != NULL)
    lane_function_error(self, "argument %zd (%U): %S", i, name, text);
  else
    lane_function_error(self, "argument %zd: %S", i, text);
  Py_XDECREF(name);
}

void lane_function_name_argument(lane_function* self, Py_ssize_t i) {
  PyObject *type, *problem, *traceback;
  PyErr_Fetch(&type, &problem, &traceback); /* the class may need an import */
  PyObject* class = lane_get(LANE_CALL_ERROR);
  if (class == NULL || !PyErr_GivenExceptionMatches(type, class)) {
    PyErr_Restore(type, problem, traceback);
    return;
  }
  PyErr_NormalizeException(&type, &problem, &traceback);
  argument_error(self, i, problem);
  Py_XDECREF(type);
  Py_XDECREF(problem);
  Py_XDECREF(traceback);
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
  if (text != NULL) argument_error(self, i, text);
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

void lane_function_raise(lane_function* self, int status, const fnabi_any* args,
                         Py_ssize_t count, uint64_t failures) {
  PyObject* name = Py_XNewRef(self->name); /* which may change meanwhile */
  PyObject* exception;
  if (lane_error_fetch(name))
    explain_big_int(self, args, count);
  else if ((exception = lane_callback_failure(args, count, failures)) != NULL)
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

bool lane_function_settle(fnabi_any* result, fnabi_any* refused) {
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
      good = true;
      break;
    case FNABI_INDEX_SMALL_STR:
    case FNABI_INDEX_SMALL_BYTES:
      good = result->small_size <= FNABI_SMALL_MAX;
      break;
    default:
      good = fnabi_any_object(result) != NULL;
  }
  fnabi_any_normalize(result);
  if (!good) {
    *refused = *result;
    fnabi_any_set(result, FNABI_INDEX_NONE, 0);
  }
  return good;
}

/* Releases a result whose type index is not that of its object, if that is an
 * object beyond doubt: a library that is wrong about one of both may have put
 * anything there, and to release what is no object is worse than to leak one. */
static void release_refused(const fnabi_any* refused) {
  const fnabi_object* object = refused->v_object;
  if (!fnabi_any_is_object(refused) || object == NULL) return;
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
    lane_function_error(self,
                        "the function returned the value that is reserved for "
                        "\"unchanged\" (type index %d)",
                        (int)refused->type_index);
    return;
  }
  if (fnabi_any_is_object(refused) && refused->v_object != NULL) {
    lane_function_error(
        self,
        "the function returned type index %d with an object of type index %d",
        (int)refused->type_index, (int)refused->v_object->type_index);
    return;
  }
  lane_function_error(
      self,
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
  PyObject *type, *problem, *traceback;
  PyErr_Fetch(&type, &problem, &traceback); /* lane_get may import */
  PyObject* class = lane_get(LANE_CALL_ERROR);
  if (class == NULL || !PyErr_GivenExceptionMatches(type, class)) {
    PyErr_Restore(type, problem, traceback);
    return;
  }
  PyErr_NormalizeException(&type, &problem, &traceback);
  lane_function_error(self, "result: %S", problem);
  Py_XDECREF(type);
  Py_XDECREF(problem);
  Py_XDECREF(traceback);
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
    case FNABI_INDEX_DLTENSOR: /* lane_from has the better error */
      if (result->v_pointer != NULL) return lane_from(result, self->plain);
  }
  fnabi_any refused;
  if (lane_function_settle(result, &refused)) {
    PyObject* value = lane_take(result, self->plain);
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
  int status = self->call(self->handle, args, n, result);
  FNABI_OPAQUE(status);
  return status;
}

PyObject* lane_function_run(lane_function* self, fnabi_any* args,
                            Py_ssize_t count, const uint64_t* made,
                            const lane_arguments* seen) {
  fnabi_any result = {0}, refused;
  int status;
  lane_environment environment;
  bool entered =
      seen->exchange != NULL || lane_exchange != NULL || lane_chosen.made;
  if (entered && lane_environment_enter(seen, &environment) < 0) {
    if (made != NULL) release_made(args, made, count);
    return NULL;
  }
  uint64_t failures = lane_foreign_failures;
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
    lane_function_raise(self, status, args, count, failures);
    /* Some functions write a result even if they fail. */
    if (lane_function_settle(&result, &refused))
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
        self,
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
          self, "argument '%U': %s", name,
          i < 0 ? "no parameter has this name" : "also given by position");
    }
  }
  for (Py_ssize_t i = count; good && i < count + named; i++) {
    good = all[i] != NULL;
    if (!good)
      lane_function_error(self, "argument '%S' is missing",
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
    lane_function_error(self, "more than %d arguments", INT32_MAX);
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
  uint64_t few_made = 0;
  fnabi_any* values = few;
  uint64_t* made = &few_made;
  if (count > FEW) {
    if (count > INT32_MAX) {
      lane_function_error(self, "more than %d arguments", INT32_MAX);
      return NULL;
    }
    size_t words = (size_t)(count + 63) / 64;
    values = PyMem_Calloc((size_t)count * 2 + words, 8);
    if (values == NULL) return PyErr_NoMemory();
    made = (uint64_t*)(values + count);
  }
  Py_ssize_t i = 0;
  lane_arguments* outer = lane_converting;
  lane_arguments seen = {.read_only = self->allow_read_only};
  const lane_dialect* outer_dialect = lane_spoken;
  lane_converting = &seen;
  lane_spoken = self->dialect;
  for (; i < count; i++) {
    int status = lane_view(args[i], values + i);
    if (status < 0) {
      lane_function_name_argument(self, i);
      break;
    }
    if (status == LANE_MADE) made[i / 64] |= (uint64_t)1 << i % 64;
  }
  lane_converting = outer;
  if (i == count)
    answer = lane_function_run(self, values, count, made, &seen);
  else
    release_made(values, made, i);
  lane_spoken = outer_dialect;
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
    answer = lane_function_vectorcall(self, all, (size_t)count, names);
  }
  Py_XDECREF(names);
  PyMem_Free(all);
  return answer;
}

/* Adds references to all arguments except `object`, of which it takes ownership
 * even on failure. */
static PyObject* new_function(fnabi_call call, void* handle,
                              fnabi_object* object, PyObject* keep) {
  lane_error_find();
  PyTypeObject* type = lane_spoken != NULL && lane_spoken->function != NULL
                           ? lane_spoken->function
                           : lane.function;
  lane_function* self = PyObject_GC_New(lane_function, type);
  if (self == NULL) {
    if (object != NULL) fnabi_object_release(object);
    return NULL;
  }
  self->dialect = lane_spoken;
  self->vectorcall = lane_function_vectorcall;
  self->call = call;
  self->handle = handle;
  self->object = object;
  Py_XINCREF(keep);
  self->keep = keep;
  self->name = self->names = self->dict = self->weak = NULL;
  self->release_gil = 1;
  self->plain = 0;
  self->allow_read_only = 0;
  PyObject_GC_Track(self);
  return (PyObject*)self;
}

PyObject* lane_function_of_object(fnabi_object* object) {
  fnabi_call call = ((fnabi_function_object*)object)->call;
  if (call == run_symbol) { /* unwrap the symbol */
    symbol* known = (symbol*)object;
    return new_function(known->call, known->handle, object, known->keep);
  }
  if (call != NULL) return new_function(call, object, object, NULL);
  fnabi_object_release(object);
  lane_call_error("the function object has no code to call");
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
    lane_call_error_got(callable, "Function: callable: expected a callable");
    return NULL;
  }
  fnabi_any any;
  if (lane_callback_own(callable, &any) < 0) return NULL;
  return lane_function_of_object(any.v_object);
}

static PyObject* function_from_address(PyObject* type, PyObject* args,
                                       PyObject* named) {
  static char* keywords[] = {"address", "keep", "packed", NULL};
  PyObject *number, *keep = NULL;
  int is_packed = 0;
  (void)type;
  if (!PyArg_ParseTupleAndKeywords(args, named, "O|O$p:from_address", keywords,
                                   &number, &keep, &is_packed))
    return NULL;
  void* address = PyLong_Check(number) ? PyLong_AsVoidPtr(number) : NULL;
  if (address == NULL) {
    lane_call_error(
        "Function.from_address: address: expected the address of a function, "
        "got %R",
        number);
    return NULL;
  }
  if (is_packed) return lane_function_of_packed(address, keep);
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

/* Functions are equal if they have the same code and the same state. */
static PyObject* function_compare(PyObject* a, PyObject* b, int operation) {
  if ((operation != Py_EQ && operation != Py_NE) || !lane_is(b, lane.function))
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
    return lane_call_error_got(name, "Function.__name__: expected str");
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
          "Function.names: expected a sequence of str or None, got %R", names);
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

static PyMethodDef function_methods[] = {
    {"from_address", (PyCFunction)(void (*)(void))function_from_address,
     METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "from_address($type, /, address, keep=None, *, packed=False)\n--\n\n"
     "Create a function from the address of its code, which is called without "
     "a handle.\n\nArgs:\n    address: The address of the code, an int.\n    "
     "keep: An object that the function keeps alive.\n    packed: Whether "
     "MLIR has packed its interface (``llvm.emit_c_interface``\n        with "
     "``mlir::ExecutionEngine``): it gets the addresses of the arguments.\n\n"
     "Raises:\n    "
     "CallError: If the address is not an int, or is 0.\n"},
    {"bind", (PyCFunction)(void (*)(void))lane_function_bind,
     METH_FASTCALL | METH_KEYWORDS,
     "bind($self, /, *args, **named)\n--\n\n"
     "Convert the arguments and return a `Call` that keeps them.\n\n"
     "Raises:\n    CallError: If an argument cannot be converted.\n"},
    {"map", (PyCFunction)(void (*)(void))lane_function_map,
     METH_FASTCALL | METH_KEYWORDS,
     "map($self, /, *columns, **named)\n--\n\n"
     "Call the function once per row and return the results as an `AnyArray`."
     "\n\nA column is a list, a tuple, a range, an AnyArray or an array of one "
     "dim with the\nbuffer protocol. All columns have the same length. Any "
     "other argument is passed to\nevery call. The calls are made in C, "
     "without the GIL if `release_gil` is set. The\nfirst failure ends them; "
     "its exception has the index of the row as `row`.\n\nRaises:\n    "
     "CallError: If no argument is a column, or the lengths differ.\n"},
    LANE_NOT_PICKLED,
    {"__tvm_ffi_object__", function_peer, METH_NOARGS,
     "Return the function as an object of the package tvm_ffi."},
    {0}};

static PyGetSetDef function_getset[] = {
    {"names", get_names, set_names,
     "The names of the parameters, for arguments by name; None if unknown.",
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
     "Whether calls release the GIL. False is faster, for functions that are "
     "short and wait\nfor no other thread."},
    {"plain", T_BOOL, offsetof(lane_function, plain), 0,
     "Whether results are converted to list and dict at every depth."},
    {"allow_read_only", T_BOOL, offsetof(lane_function, allow_read_only), 0,
     "Whether read-only arrays are passed. The ABI has no way to say that "
     "memory must not\nbe written to, so they are refused unless the function "
     "is known only to read."},
    {0}};

static PyType_Slot function_slots[] = {
    {Py_tp_doc,
     "Function(callable)\n--\n\n"
     "A function of TVM-FFI's universal calling convention.\n\nA Function "
     "made from a Python callable can be passed to libraries. A call converts\n"
     "the arguments and the result. An error of the function is raised as the "
     "Python\nexception that its kind names.\n"},
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

static PyType_Spec function_spec = {
    "fnabi.Function", sizeof(lane_function), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE |
        Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_VECTORCALL,
    function_slots};

int lane_function_init(PyObject* module) {
  lane.function = lane_add_type(module, &function_spec, NULL);
  return lane.function && lane_function_class_init(module) == 0 ? 0 : -1;
}
