/* The Python type Function. */
#include "lane/calls/callback.h"
#include "lane/calls/code.h"
#include "lane/calls/function.h"
#include "lane/calls/function_methods.h"
#include "lane/calls/init.h"
#include "lane/calls/peer.h"
#include "lane/runtime/call_error.h"

/* tp_call, for callers that pass a tuple and a dict. */
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

static PyObject* function_new(PyTypeObject* type, PyObject* args,
                              PyObject* named) {
  static char* keywords[] = {"callable", NULL};
  PyObject* callable;
  (void)type;
  if (!PyArg_ParseTupleAndKeywords(args, named, "O:Function", keywords,
                                   &callable))
    return NULL;
  if (!PyCallable_Check(callable)) {
    lane_type_error_got(callable, "Function: callable: expected a callable");
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
  size_t place = PyLong_Check(number) ? PyLong_AsSize_t(number) : 0;
  if (place == 0 || PyErr_Occurred()) {
    PyObject* class;
    static const char expected[] =
        "Function.from_address: address: expected the address of a function";
    if (!PyLong_Check(number))
      lane_type_error_got(number, "%s", expected);
    else if (place == 0)
      lane_value_error("%s, got 0", expected);
    else if ((class = lane_error_class(LANE_RANGE_ERROR)) != NULL)
      PyErr_Format(class, "%s, got an int that does not fit in size_t",
                   expected);
    return NULL;
  }
  void* address = (void*)place;
  if (is_packed) {
    fnabi_object* code = lane_code_packed(address, keep);
    return code ? lane_function_of_object(code) : NULL;
  }
  fnabi_call call;
  memcpy(&call, &address, sizeof call);
  return lane_function_new(call, NULL, NULL, keep);
}

static int function_traverse(PyObject* function, visitproc visit, void* arg) {
  lane_function* self = (lane_function*)function;
  Py_VISIT(Py_TYPE(function));
  Py_VISIT(self->keep);
  Py_VISIT(self->schema);
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
  Py_XDECREF(self->schema);
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
    return lane_type_error_got(name, "Function.__name__: expected str");
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
    if (good && (tuple = PySequence_Tuple(names)) == NULL) {
      if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
      good = false;
    }
    for (Py_ssize_t i = 0; good && i < PyTuple_Size(tuple); i++)
      good = PyUnicode_Check(PyTuple_GetItem(tuple, i));
    if (!good) {
      Py_XDECREF(tuple);
      return lane_type_error_got(
          names, "Function.names: expected a sequence of str or None");
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

static PyObject* function_html(PyObject* self, PyObject* Py_UNUSED(none)) {
  PyObject* view = lane_get(LANE_FUNCTION_VIEW);
  return view ? PyObject_CallFunctionObjArgs(view, self, NULL) : NULL;
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
    {"_repr_html_", function_html, METH_NOARGS,
     "Return the function's view for notebooks."},
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
    {"schema", T_OBJECT, offsetof(lane_function, schema), 0,
     "Its type, a fnabi.schema.Schema, or None where no library describes it."},
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
     "Python\nexception that its kind names.\n\n"
     "Libraries may keep a Function, so the garbage collector does not look\n"
     "into it. A callable that refers to its own Function, such as a method\n"
     "of the object that has the Function as an attribute, is not freed\n"
     "before one of the two references is deleted.\n\n"
     "Example:\n"
     "    >>> import fnabi\n"
     "    >>> add = fnabi.Function(lambda x, y: x + y)\n"
     "    >>> add(1, 2)\n"
     "    3\n"
     "    >>> add.map([1, 2], [10, 20]).tolist()\n"
     "    [11, 22]\n"},
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
  return lane.function ? 0 : -1;
}
