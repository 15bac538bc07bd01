/* What Python sets for the calls of a thread: streams, and the type of tensors.
 */
#include "lane/calls/environment.h"
#include "lane/calls/error.h"
#include "lane/calls/init.h"
#include "lane/calls/tensor_import.h"
#include "lane/runtime/call_error.h"
#include "lane/runtime/streams.h"
#include "lane/runtime/tvm_ffi.h"

static PyObject* environment_stream(PyObject* module, PyObject* args) {
  int type, id;
  PyObject* number;
  (void)module;
  if (!PyArg_ParseTuple(args, "iiO:set_stream", &type, &id, &number))
    return NULL;
  void* stream = PyLong_AsVoidPtr(number);
  if (stream == NULL && PyErr_Occurred()) return NULL;
  void* old = NULL;
  lane_error_find();
  if (lane_stream_set(type, id, stream, &old) != 0) {
    lane_error_raise(NULL, -1);
    return NULL;
  }
  return PyLong_FromVoidPtr(old);
}

static PyObject* environment_current(PyObject* module, PyObject* args) {
  int type, id;
  (void)module;
  if (!PyArg_ParseTuple(args, "ii:get_stream", &type, &id)) return NULL;
  lane_error_find();
  return PyLong_FromVoidPtr(lane_stream_get(type, id));
}

static PyObject* environment_tensors(PyObject* module, PyObject* choice) {
  (void)module;
  lane_choice old = lane_chosen, new = {true, NULL};
  if (PyTuple_Check(choice)) { /* what an earlier call has returned */
    int made;
    PyObject* number;
    if (!PyArg_ParseTuple(choice, "pO", &made, &number)) return NULL;
    new.made = made != 0;
    new.exchange = PyLong_AsVoidPtr(number);
    if (PyErr_Occurred()) return NULL;
  } else if (choice != (PyObject*)lane.tensor) {
    new.exchange =
        PyType_Check(choice) ? lane_exchange_of((PyTypeObject*)choice) : NULL;
    if (new.exchange == NULL || new.exchange->object_of == NULL) {
      static const char expected[] =
          "use_tensors: type: expected fnabi.Tensor or a type with a DLPack "
          "exchange API";
      if (PyType_Check(choice))
        lane_type_error("%s, got %R", expected, choice);
      else
        lane_type_error_got(choice, "%s", expected);
      return NULL;
    }
  }
  lane_chosen = new;
  return Py_BuildValue("(iN)", (int)old.made,
                       PyLong_FromVoidPtr((void*)old.exchange));
}

static PyMethodDef environment_methods[] = {
    {"set_stream", environment_stream, METH_VARARGS,
     "set_stream(type, id, stream, /)\n--\n\n"
     "Set the current stream of a device for this thread, and return the "
     "former one."},
    {"get_stream", environment_current, METH_VARARGS,
     "get_stream(type, id, /)\n--\n\n"
     "The current stream of a device for this thread."},
    {"set_tensors", environment_tensors, METH_O,
     "set_tensors(type, /)\n--\n\n"
     "Choose the type of tensors for this thread, and return the former "
     "choice."},
    {0}};

int lane_stream_init(PyObject* module) {
  return PyModule_AddFunctions(module, environment_methods);
}
