/* The Python type Call: a function bound to its arguments. */
#include "lane/calls/any_array.h"
#include "lane/calls/dialect.h"
#include "lane/calls/function.h"
#include "lane/calls/function_methods.h"
#include "lane/calls/init.h"
#include "lane/calls/to_value.h"
#include "lane/runtime/call_error.h"

typedef struct lane_call {
  PyObject_HEAD lane_vectorcall vectorcall;
  PyObject* function;
  PyObject* args;   /* the tuple of the Python arguments */
  PyObject* values; /* an AnyArray */
  lane_arguments seen;
} lane_call;

static PyObject* call_vectorcall(PyObject* self, PyObject* const* args,
                                 size_t flagged_count, PyObject* keywords) {
  lane_call* call = (lane_call*)self;
  (void)args;
  if ((flagged_count & ~LANE_VECTORCALL_OFFSET) != 0 || keywords != NULL) {
    lane_function_error((lane_function*)call->function,
                        lane_error_class(LANE_TYPE_ERROR),
                        "the call is bound to its arguments and takes no more");
    return NULL;
  }
  const lane_dialect* outer = lane_current_dialect;
  lane_current_dialect = ((lane_function*)call->function)->dialect;
  PyObject* answer = lane_function_run(
      (lane_function*)call->function, lane_any_array_data(call->values),
      lane_any_array_size(call->values), NULL, &call->seen);
  lane_current_dialect = outer;
  return answer;
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
     "A function bound to arguments, which are converted once. Calling it "
     "repeats the call.\n\nTensors are not copied: each call uses their "
     "current "
     "contents.\n\n"
     "Example:\n"
     "    >>> import fnabi\n"
     "    >>> add = fnabi.Function(lambda x, y: x + y)\n"
     "    >>> call = add.bind(1, 2)\n"
     "    >>> call(), call()\n"
     "    (3, 3)\n"},
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
  lane_arguments* outer = lane_converting;
  lane_arguments seen = {.read_only = self->allow_read_only};
  const lane_dialect* outer_dialect = lane_current_dialect;
  lane_converting = &seen;
  lane_current_dialect = self->dialect;
  for (Py_ssize_t i = 0; tuple != NULL && i < count; i++) {
    Py_INCREF(args[i]);
    PyTuple_SetItem(tuple, i, args[i]);
    if (lane_own(args[i], lane_any_array_data(values) + i) < 0) {
      lane_function_name_argument(self, i);
      Py_CLEAR(tuple);
    }
  }
  lane_converting = outer;
  lane_current_dialect = outer_dialect;
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
  call->seen = seen;
  Py_INCREF(call->function);
  PyObject_GC_Track(call);
  return (PyObject*)call;
}

PyObject* lane_function_bind(PyObject* function, PyObject* const* args,
                             Py_ssize_t count, PyObject* keywords) {
  return lane_function_with(function, args, count, keywords, bind);
}

int lane_call_init(PyObject* module) {
  lane.call = lane_add_type(module, &call_spec, NULL);
  return lane.call ? 0 : -1;
}
