/* Global functions of libtvm_ffi. */
#include "lane/calls/error.h"
#include "lane/calls/function.h"
#include "lane/calls/init.h"
#include "lane/runtime/call_error.h"
#include "lane/runtime/error_slot.h"
#include "lane/runtime/text.h"
#include "lane/runtime/tvm_ffi.h"

static const lane_runtime* need_runtime(const char* function) {
  const lane_runtime* runtime = lane_runtime_find();
  if (runtime == NULL)
    lane_call_error("%s: libtvm_ffi is not loaded", function);
  return runtime;
}

/* --------------------------------------------------------- global functions */

static PyObject* registry_loaded(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  return PyBool_FromLong(lane_runtime_find() != NULL);
}

static PyObject* registry_get(PyObject* module, PyObject* name) {
  fnabi_byte_array text;
  PyObject* keep;
  (void)module;
  if (!PyUnicode_Check(name)) {
    lane_type_error_got(name, "get_global_func: name: expected str");
    return NULL;
  }
  const lane_runtime* runtime = lane_runtime_find();
  if (runtime == NULL) Py_RETURN_NONE;
  if (lane_utf8(name, &text, &keep) < 0) return NULL;
  void* function = NULL;
  fnabi_error_object* left = lane_error_begin();
  int status = runtime->get_function(&text, &function);
  Py_XDECREF(keep);
  if (status != 0) lane_error_raise(name, status);
  lane_error_end(left, status == 0);
  if (status != 0) return NULL;
  if (function == NULL) Py_RETURN_NONE;
  return lane_function_of_object(function);
}

static PyObject* registry_set(PyObject* module, PyObject* args) {
  PyObject *name, *function, *metadata = NULL, *keep, *keep_metadata = NULL;
  int override;
  fnabi_byte_array text;
  fnabi_method_info info = {0};
  (void)module;
  if (!PyArg_ParseTuple(args, "UO!p|U:set_global_function", &name,
                        lane.function, &function, &override, &metadata))
    return NULL;
  const lane_runtime* runtime = need_runtime("set_global_function");
  fnabi_object* object = runtime ? lane_function_object(function) : NULL;
  if (object == NULL || lane_utf8(name, &text, &keep) < 0) return NULL;
  if (metadata != NULL &&
      lane_utf8(metadata, &info.metadata, &keep_metadata) < 0) {
    Py_XDECREF(keep);
    return NULL;
  }
  info.name = text;
  fnabi_any_set_object(&info.method, object);
  fnabi_error_object* left = lane_error_begin();
  /* may release a function that was registered before: no exception is set */
  int status = info.metadata.size != 0 && runtime->set_described != NULL
                   ? runtime->set_described(&info, override)
                   : runtime->set_function(&text, object, override);
  Py_XDECREF(keep);
  Py_XDECREF(keep_metadata);
  if (status != 0) lane_error_raise(name, status);
  lane_error_end(left, status == 0);
  if (status != 0) return NULL;
  Py_RETURN_NONE;
}

static PyMethodDef registry_methods[] = {
    {"runtime_loaded", registry_loaded, METH_NOARGS,
     "runtime_loaded()\n--\n\n"
     "Whether libtvm_ffi is loaded, whoever loaded it."},
    {"global_function", registry_get, METH_O,
     "global_function(name, /)\n--\n\n"
     "Return a function from the registry of libtvm_ffi, or None if it has "
     "none of this name\nor is not loaded."},
    {"set_global_function", registry_set, METH_VARARGS,
     "set_global_function(name, function, override, metadata='', /)\n--\n\n"
     "Register a function with libtvm_ffi, which must be loaded.\n\nRaises:\n"
     "    RuntimeError: If the name is registered and override is false.\n"},
    {0}};

int lane_registry_init(PyObject* module) {
  return PyModule_AddFunctions(module, registry_methods);
}
