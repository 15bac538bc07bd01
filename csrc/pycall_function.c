#include "pycall.h"

/* ---------------------------------------------------------------------
 * callback
 *
 * A function of the ABI that calls a Python object, on whatever thread. */
typedef struct callback {
  fnabi_function_object function;
  PyObject* callable;
} callback;

static void delete_callback(void* self, int flags) {
  if (flags & FNABI_DELETER_STRONG) lane_drop(((callback*)self)->callable);
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

static int run_callback(void* handle, const fnabi_any* args, int32_t n,
                        fnabi_any* result) {
  if (lane_finished) return -1;
  PyGILState_STATE gil = PyGILState_Ensure();
  PyObject* callable = ((callback*)handle)->callable;
  Py_INCREF(callable); /* it may let go of itself */
  PyObject* answer = call_python(callable, args, n);
  Py_DECREF(callable);
  int status = answer == NULL ? -1 : lane_own(answer, result);
  Py_XDECREF(answer);
  if (status < 0) lane_error_report();
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

static PyObject* name_of(lane_function* self) {
  PyObject* name =
      self->dict ? PyDict_GetItemString(self->dict, "__name__") : NULL;
  return name && PyUnicode_Check(name) ? name : NULL;
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
  lane_call_error("%V: argument %zd: %S", name_of(self), "function", i,
                  problem);
  Py_XDECREF(type);
  Py_XDECREF(problem);
  Py_XDECREF(traceback);
}

static void release_made(fnabi_any* args, const uint64_t* made,
                         Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i++)
    if (made[i / 64] >> i % 64 & 1 &&
        !(args[i].type_index == FNABI_INDEX_TENSOR &&
          lane_tensor_dispose(args[i].v_object)) &&
        fnabi_any_is_object(args + i))
      lane_release(args[i].v_object);
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
  }
  PyObject* value;
  if (result->type_index == FNABI_INDEX_OBJECT - 1 ||
      (!fnabi_any_is_object(result) &&
       fnabi_type_key(result->type_index) == NULL)) {
    lane_call_error(
        "%V: the function answered with type index %d, which is none of the "
        "ABI; the library may be built for another version",
        name_of(self), "function", (int)result->type_index);
    return NULL;
  }
  value = lane_from(result, self->plain);
  fnabi_any_release(result);
  return value;
}

/* One call. The arguments are released; the GIL is let go of while it lasts
 * where the function says so. */
static PyObject* run(lane_function* self, fnabi_any* args, Py_ssize_t count,
                     const uint64_t* made) {
  fnabi_any result = {0};
  int status;
  lane_error_forget();
  if (self->release_gil) {
    PyThreadState* state = PyEval_SaveThread();
    status = self->call(self->handle, args, (int32_t)count, &result);
    PyEval_RestoreThread(state);
  } else {
    status = self->call(self->handle, args, (int32_t)count, &result);
  }
  PyObject* answer = NULL;
  if (status != 0) {
    lane_error_raise(name_of(self), status);
    fnabi_any_release(&result); /* some write one all the same */
  } else {
    answer = from_result(self, &result);
  }
  if (made != NULL) release_made(args, made, count);
  return answer;
}

/* Arguments by name, put behind those by position. */
static PyObject* run_named(lane_function* self, PyObject* const* args,
                           Py_ssize_t count, PyObject* keywords);

static PyObject* function_vectorcall(PyObject* function, PyObject* const* args,
                                     size_t flagged_count, PyObject* keywords) {
  enum { FEW = 8 };
  lane_function* self = (lane_function*)function;
  Py_ssize_t count = (Py_ssize_t)(flagged_count & ~LANE_VECTORCALL_OFFSET);
  if (keywords != NULL && PyTuple_Size(keywords) != 0)
    return run_named(self, args, count, keywords);
  fnabi_any few[FEW];
  uint64_t few_made = 0;
  fnabi_any* values = few;
  uint64_t* made = &few_made;
  if (count > FEW) {
    if (count > INT32_MAX) {
      lane_call_error("%V: more than %d arguments", name_of(self), "function",
                      INT32_MAX);
      return NULL;
    }
    size_t words = (size_t)(count + 63) / 64;
    values = PyMem_Calloc((size_t)count * 2 + words, 8);
    if (values == NULL) return PyErr_NoMemory();
    made = (uint64_t*)(values + count);
  }
  PyObject* answer = NULL;
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

static PyObject* run_named(lane_function* self, PyObject* const* args,
                           Py_ssize_t count, PyObject* keywords) {
  Py_ssize_t named = PyTuple_Size(keywords);
  if (self->names == NULL) {
    lane_call_error(
        "%V: argument '%U': the names of its parameters are not "
        "known; pass it by position",
        name_of(self), "function", PyTuple_GetItem(keywords, 0));
    return NULL;
  }
  Py_ssize_t known = PyTuple_Size(self->names);
  PyObject** all = PyMem_Calloc((size_t)(known + count + 1), sizeof *all);
  if (all == NULL) return PyErr_NoMemory();
  PyObject* answer = NULL;
  for (Py_ssize_t i = 0; i < count; i++) all[i] = args[i];
  for (Py_ssize_t k = 0; k < named; k++) {
    PyObject* name = PyTuple_GetItem(keywords, k);
    Py_ssize_t i = PySequence_Index(self->names, name);
    if (i < 0 || all[i] != NULL) {
      PyErr_Clear();
      lane_call_error(
          "%V: argument '%U': %s", name_of(self), "function", name,
          i < 0 ? "no parameter has this name" : "given by position too");
      goto end;
    }
    all[i] = args[count + k];
  }
  for (Py_ssize_t i = 0; i < count + named; i++) {
    if (all[i] != NULL) continue;
    lane_call_error("%V: argument '%S' is missing", name_of(self), "function",
                    PyTuple_GetItem(self->names, i));
    goto end;
  }
  answer =
      function_vectorcall((PyObject*)self, all, (size_t)(count + named), NULL);
end:
  PyMem_Free(all);
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
    for (Py_ssize_t i = 0; extra && PyDict_Next(named, &at, &key, &value);
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

static PyObject* new_function(fnabi_call call, void* handle,
                              fnabi_object* object, PyObject* keep) {
  lane_function* self = PyObject_New(lane_function, lane.function);
  if (self == NULL) return NULL;
  self->vectorcall = function_vectorcall;
  self->call = call;
  self->handle = handle;
  self->object = object;
  Py_XINCREF(keep);
  self->keep = keep;
  self->names = self->dict = self->weak = NULL;
  self->release_gil = 1;
  self->plain = 0;
  return (PyObject*)self;
}

PyObject* lane_function_of_object(fnabi_object* object) {
  PyObject* self = new_function(((fnabi_function_object*)object)->call, object,
                                object, NULL);
  if (self == NULL) fnabi_object_release(object);
  return self;
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

static void function_dealloc(PyObject* function) {
  lane_function* self = (lane_function*)function;
  PyTypeObject* type = Py_TYPE(function);
  if (self->weak != NULL) PyObject_ClearWeakRefs(function);
  if (self->object != NULL) fnabi_object_release(self->object);
  Py_XDECREF(self->keep);
  Py_XDECREF(self->names);
  Py_XDECREF(self->dict);
  PyObject_Free(function);
  Py_DECREF(type);
}

static PyObject* function_repr(PyObject* function) {
  lane_function* self = (lane_function*)function;
  PyObject* name = name_of(self);
  void* address = self->object ? (void*)self->object : (void*)self->handle;
  if (name != NULL) return PyUnicode_FromFormat("<fnabi.Function %U>", name);
  if (address == NULL) memcpy(&address, &self->call, sizeof address);
  return PyUnicode_FromFormat("<fnabi.Function at %p>", address);
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
  if (names != NULL && names != Py_None &&
      (tuple = PySequence_Tuple(names)) == NULL)
    return -1;
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
    lane_call_error("%V: the call is bound to its arguments and takes no more",
                    name_of((lane_function*)call->function), "function");
    return NULL;
  }
  return run((lane_function*)call->function, lane_any_array_data(call->values),
             lane_any_array_size(call->values), NULL);
}

static PyObject* call_call(PyObject* self, PyObject* args, PyObject* named) {
  Py_ssize_t count = PyTuple_Size(args) + (named ? PyDict_Size(named) : 0);
  return call_vectorcall(self, NULL, (size_t)count, NULL);
}

static void call_dealloc(PyObject* self) {
  lane_call* call = (lane_call*)self;
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(call->function);
  Py_XDECREF(call->args);
  Py_XDECREF(call->values);
  PyObject_Free(self);
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

static PyType_Slot call_slots[] = {
    {Py_tp_doc,
     "A function with its arguments, converted once; calling it repeats the "
     "call.\n\nTensors are passed in place: what is in them counts when the "
     "call is made.\n"},
    {Py_tp_call, call_call},
    {Py_tp_dealloc, call_dealloc},
    {Py_tp_members, call_members},
    {Py_tp_repr, call_repr},
    {0}};

static PyType_Spec call_spec = {"fnabi.Call", sizeof(lane_call), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE |
                                    Py_TPFLAGS_HAVE_VECTORCALL |
                                    Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                call_slots};

static PyObject* function_bind(PyObject* function, PyObject* args) {
  Py_ssize_t count = PyTuple_Size(args);
  PyObject* values = lane_any_array_new(count);
  if (values == NULL) return NULL;
  for (Py_ssize_t i = 0; i < count; i++) {
    if (lane_own(PyTuple_GetItem(args, i), lane_any_array_data(values) + i) <
        0) {
      name_argument((lane_function*)function, i);
      Py_DECREF(values);
      return NULL;
    }
  }
  lane_call* call = PyObject_New(lane_call, lane.call);
  if (call == NULL) {
    Py_DECREF(values);
    return NULL;
  }
  call->vectorcall = call_vectorcall;
  call->function = function;
  call->args = args;
  call->values = values;
  Py_INCREF(function);
  Py_INCREF(args);
  return (PyObject*)call;
}

/* --------------------------------------------------------------------------
 * map
 *
 * Rows are converted a block at a time, so that memory does not grow with their
 * number, and a block is called through without the GIL. */
enum { BLOCK = 4096 };

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
  Py_buffer buffer;
  char format;
} column;

static void close_column(column* c) {
  if (c->kind == COLUMN_SCALAR) fnabi_any_release(&c->value);
  if (c->kind == COLUMN_BUFFER) PyBuffer_Release(&c->buffer);
}

static int open_column(PyObject* object, column* c) {
  c->object = object;
  c->size = -1;
  if (Py_TYPE(object) == lane.any_array) {
    c->kind = COLUMN_VALUES;
    c->size = lane_any_array_size(object);
    return 0;
  }
  if (PyUnicode_Check(object) || PyBytes_Check(object) ||
      PyByteArray_Check(object) || PyDict_Check(object) ||
      !PySequence_Check(object) || PyObject_TypeCheck(object, lane.object)) {
    c->kind = COLUMN_SCALAR;
    return lane_own(object, &c->value);
  }
  if (PyObject_CheckBuffer(object)) {
    if (PyObject_GetBuffer(object, &c->buffer,
                           PyBUF_STRIDED_RO | PyBUF_FORMAT) == 0) {
      const char* format = c->buffer.format ? c->buffer.format : "B";
      if (*format == '@' || *format == '=' || *format == '<') format++;
      if (c->buffer.ndim == 1 && format[0] != 0 && format[1] == 0 &&
          strchr("bBhHiIlLqQfd?", format[0]) != NULL) {
        c->kind = COLUMN_BUFFER;
        c->format = format[0];
        c->size = c->buffer.shape[0];
        return 0;
      }
      PyBuffer_Release(&c->buffer);
    }
    PyErr_Clear();
  }
  c->size = PySequence_Size(object);
  if (c->size < 0) { /* an array without dims */
    PyErr_Clear();
    c->kind = COLUMN_SCALAR;
    return lane_own(object, &c->value);
  }
  c->kind = COLUMN_ITEMS;
  return 0;
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
    for (Py_ssize_t i = begin; i < end; i++, out += stride) {
      PyObject* item = PySequence_GetItem(c->object, i);
      int status = item ? lane_own(item, out) : -1;
      Py_XDECREF(item);
      if (status < 0) return i - begin;
    }
    return end - begin;
  }
  Py_ssize_t step = c->buffer.strides[0];
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
  switch (c->format) {
    case 'b':
      FILL(signed char, INTEGER);
    case 'B':
      FILL(unsigned char, INTEGER);
    case 'h':
      FILL(short, INTEGER);
    case 'H':
      FILL(unsigned short, INTEGER);
    case 'i':
      FILL(int, INTEGER);
    case 'I':
      FILL(unsigned, INTEGER);
    case 'l':
      FILL(long, INTEGER);
    case 'q':
      FILL(long long, INTEGER);
    case 'L':
    case 'Q':
      for (Py_ssize_t i = begin; i < end; i++, out += stride, at += step) {
        uint64_t x = 0;
        memcpy(&x, at, (size_t)c->buffer.itemsize);
        if (x > INT64_MAX) {
          PyObject* big = PyLong_FromUnsignedLongLong(x);
          int status = big ? lane_own(big, out) : -1;
          Py_XDECREF(big);
          if (status < 0) return i - begin;
        } else {
          INTEGER;
        }
      }
      break;
    case 'f':
      FILL(float, REAL);
    case 'd':
      FILL(double, REAL);
    case '?':
      FILL(unsigned char, fnabi_any_set(out, FNABI_INDEX_BOOL, x != 0));
  }
#undef FILL
#undef INTEGER
#undef REAL
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

static int map_block(lane_function* self, column* columns, Py_ssize_t width,
                     Py_ssize_t begin, Py_ssize_t end, fnabi_any* args,
                     fnabi_any* results) {
  Py_ssize_t rows = end - begin, good = rows;
  memset(args, 0, (size_t)(rows * width) * sizeof *args);
  for (Py_ssize_t k = 0; k < width && !PyErr_Occurred(); k++) {
    Py_ssize_t filled = fill_column(&columns[k], begin, end, args + k, width);
    if (filled < good) good = filled;
  }
  int status = 0;
  Py_ssize_t row = good;
  if (good == rows) {
    PyThreadState* state = self->release_gil ? PyEval_SaveThread() : NULL;
    for (row = 0; row < rows; row++) {
      status = self->call(self->handle, args + row * width, (int32_t)width,
                          results + row);
      if (status != 0) break;
    }
    if (state != NULL) PyEval_RestoreThread(state);
    if (status != 0) {
      lane_error_raise(name_of(self), status);
      fnabi_any_release(results + row);
    }
  }
  for (Py_ssize_t i = 0; i < rows * width; i++) fnabi_any_release(args + i);
  if (row == rows) return 0;
  name_row(begin + row);
  return -1;
}

static PyObject* function_map(PyObject* function, PyObject* args) {
  lane_function* self = (lane_function*)function;
  Py_ssize_t width = PyTuple_Size(args), rows = -1, opened = 0;
  PyObject* results = NULL;
  fnabi_any* block = NULL;
  column* columns = PyMem_Calloc((size_t)width + 1, sizeof *columns);
  if (columns == NULL) return PyErr_NoMemory();
  for (; opened < width; opened++) {
    column* c = &columns[opened];
    if (open_column(PyTuple_GetItem(args, opened), c) < 0) {
      name_argument(self, opened);
      goto end;
    }
    if (c->kind == COLUMN_SCALAR) continue;
    if (rows >= 0 && c->size != rows) {
      lane_call_error(
          "%V: argument %zd: expected a column of %zd rows, got %zd",
          name_of(self), "function", opened, rows, c->size);
      opened++;
      goto end;
    }
    rows = c->size;
  }
  if (rows < 0) {
    lane_call_error("%V: map: expected at least one column", name_of(self),
                    "function");
    goto end;
  }
  results = lane_any_array_new(rows);
  block = PyMem_Calloc(
      (size_t)(rows < BLOCK ? rows : BLOCK) * (size_t)width + 1, sizeof *block);
  if (results != NULL && block == NULL) PyErr_NoMemory();
  if (results == NULL || block == NULL) {
    Py_CLEAR(results);
    goto end;
  }
  lane_error_forget();
  for (Py_ssize_t begin = 0; begin < rows; begin += BLOCK) {
    Py_ssize_t last = rows - begin < BLOCK ? rows : begin + BLOCK;
    if (PyErr_CheckSignals() < 0 ||
        map_block(self, columns, width, begin, last, block,
                  lane_any_array_data(results) + begin) < 0) {
      Py_CLEAR(results);
      break;
    }
  }
end:
  while (opened-- > 0) close_column(&columns[opened]);
  PyMem_Free(columns);
  PyMem_Free(block);
  return results;
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
    {"bind", function_bind, METH_VARARGS,
     "bind($self, /, *args)\n--\n\n"
     "The call with these arguments, which are converted now and kept."},
    {"map", function_map, METH_VARARGS,
     "map($self, /, *columns)\n--\n\n"
     "Call once a row, and give the results as an `AnyArray`.\n\nA column is a "
     "list, a tuple, an AnyArray or an array of one dim; all have the\nsame "
     "length. Anything else is passed to each call. The calls are made in C, "
     "the\nGIL released; the first failure ends them, and its exception has "
     "the row as\n`row`.\n"},
    {"__tvm_ffi_object__", function_peer, METH_NOARGS,
     "The same function as the package tvm_ffi wraps it."},
    {0}};

static PyGetSetDef function_getset[] = {
    {"names", get_names, set_names,
     "The names of the parameters, by which arguments may be given; None: not "
     "known.",
     NULL},
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
     "functions\nthat are short."},
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
    {Py_tp_repr, function_repr},
    {Py_tp_methods, function_methods},
    {Py_tp_getset, function_getset},
    {Py_tp_members, function_members},
    {0}};

static PyType_Spec function_spec = {
    "fnabi.Function", sizeof(lane_function), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_VECTORCALL,
    function_slots};

int lane_function_init(PyObject* module) {
  lane.function = lane_add_type(module, &function_spec, NULL);
  lane.call = lane_add_type(module, &call_spec, NULL);
  return lane.function && lane.call ? 0 : -1;
}
