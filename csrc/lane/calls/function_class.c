/* Classes of functions, for dialects. */
#include "lane/calls/dialect.h"
#include "lane/calls/function.h"
#include "lane/calls/init.h"
#include "lane/calls/moved.h"
#include "lane/runtime/call_error.h"

static int call_nothing(void* handle, const fnabi_any* args, int32_t n,
                        fnabi_any* result) {
  (void)handle;
  (void)args;
  (void)n;
  (void)result;
  return -1;
}

/* A function without code, until one is moved into it. */
static PyObject* empty_function(PyTypeObject* type, PyObject* args,
                                PyObject* named) {
  (void)args;
  (void)named;
  lane_function* self = (lane_function*)PyType_GenericAlloc(type, 0);
  if (self == NULL) return NULL;
  self->vectorcall = lane_function_vectorcall;
  self->call = call_nothing;
  self->dialect = lane_dialect_of(type);
  self->release_gil = 1;
  return (PyObject*)self;
}

static PyObject* move_function(PyObject* module, PyObject* args) {
  PyObject *to, *from;
  (void)module;
  if (!PyArg_ParseTuple(args, "O!O!:move_function", lane.function, &to,
                        lane.function, &from))
    return NULL;
  lane_function *target = (lane_function*)to, *source = (lane_function*)from;
  if (target->call != call_nothing) {
    lane_value_error("move_function: to: expected one without code");
    return NULL;
  }
  if (lane_check_not_lent(from) < 0) return NULL;
  target->call = source->call;
  target->handle = source->handle;
  target->object = source->object;
  target->keep = source->keep;
  source->call = call_nothing;
  source->handle = NULL;
  source->object = NULL;
  source->keep = NULL;
  Py_RETURN_NONE;
}

/* Derives a class from Function in C: CPython calls instances of one derived in
 * Python more slowly. */
static PyObject* function_class(PyObject* module, PyObject* arg) {
  (void)module;
  const char* name = PyUnicode_AsUTF8AndSize(arg, NULL);
  if (name == NULL) return NULL;
  PyType_Slot slots[] = {{Py_tp_new, empty_function}, {0}};
  PyType_Spec spec = {
      name, sizeof(lane_function), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL,
      slots};
  PyObject* bases = PyTuple_Pack(1, lane.function);
  PyObject* made = bases ? PyType_FromSpecWithBases(&spec, bases) : NULL;
  Py_XDECREF(bases);
  return made;
}

static PyMethodDef module_functions[] = {
    {"function_class", function_class, METH_O,
     "function_class(name, /)\n--\n\n"
     "Make a class derived from Function, for a dialect."},
    {"move_function", move_function, METH_VARARGS,
     "move_function(to, from, /)\n--\n\n"
     "Move the code of a function into one that has none."},
    {0}};

int lane_function_class_init(PyObject* module) {
  return PyModule_AddFunctions(module, module_functions);
}
