/* Functions, by name and by object. Global ones are where Python finds them:
 * in fnabi's registry, or in that of libtvm_ffi once it is loaded. */
#include "lane/calls/context.h"
#include "lane/calls/dialect.h"
#include "lane/calls/error.h"
#include "lane/calls/function.h"
#include "lane/runtime/both_tables.h"
#include "lane/runtime/hooks.h"
#include "lane/runtime/loader.h"
#include "lane/runtime/shutdown.h"
#include "lane/runtime/text.h"
#include "lane/runtime/tvm_ffi.h"
#include "lane/stand_in/stand_in.h"

int stand_in_function_call(void* object, const fnabi_any* args, int32_t n,
                           fnabi_any* result) {
  fnabi_function_object* function = object;
  if (function == NULL || function->object.type_index != FNABI_INDEX_FUNCTION ||
      function->call == NULL)
    return stand_in_fail("TypeError",
                         "the object that is called is no ffi.Function");
  return function->call(function, args, n, result);
}

static PyObject* text_of(const fnabi_byte_array* text) {
  return PyUnicode_DecodeUTF8(text->size != 0 ? text->data : "",
                              (Py_ssize_t)text->size, "surrogateescape");
}

/* Gets a global function from the registry that Python uses: fnabi's own, or
 * that of libtvm_ffi. *out is NULL if there is none of the name. With `keep`,
 * Python holds the function for ever, and *out is borrowed. */
static int find_function(const fnabi_byte_array* name, bool keep, void** out) {
  *out = NULL;
  if (!lane_text_is_good(name))
    return stand_in_fail("ValueError",
                         "the name of the function cannot be read");
  if (lane_finished)
    return stand_in_fail("RuntimeError",
                         "the Python interpreter is shutting down");
  PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *type, *problem, *traceback;
  PyErr_Fetch(&type, &problem, &traceback);
  PyObject* find = lane_get(keep ? LANE_PIN_FUNCTION : LANE_FIND_FUNCTION);
  PyObject* text = text_of(name);
  PyObject* found = find != NULL && text != NULL
                        ? PyObject_CallFunctionObjArgs(find, text, NULL)
                        : NULL;
  fnabi_object* object = NULL;
  if (found != NULL && found != Py_None) object = lane_function_object(found);
  int status = PyErr_Occurred() != NULL ? -1 : 0;
  if (status < 0) Py_XDECREF(lane_error_report());
  if (object != NULL && !keep) fnabi_object_retain(object);
  *out = object;
  Py_XDECREF(found);
  Py_XDECREF(text);
  PyErr_Restore(type, problem, traceback);
  PyGILState_Release(gil);
  return status;
}

int stand_in_function_get_global(const fnabi_byte_array* name, void** out) {
  int status = find_function(name, false, out);
  if (status != 0 || *out == NULL || !lane_both_tables) return status;
  *out = lane_tables_guard(*out);
  return *out != NULL ? 0 : stand_in_no_memory();
}

/* Registers a function where Python finds it. The texts may be NULL. */
static int register_function(const fnabi_byte_array* name, void* function,
                             const fnabi_byte_array* metadata, int override) {
  const fnabi_byte_array none = {"", 0};
  if (metadata == NULL) metadata = &none;
  if (name == NULL || !lane_text_is_good(name) || !lane_text_is_good(metadata))
    return stand_in_fail("ValueError",
                         "the name of the function cannot be read");
  if (function == NULL ||
      ((fnabi_object*)function)->type_index != FNABI_INDEX_FUNCTION)
    return stand_in_fail("TypeError",
                         "the object to register is no ffi.Function");
  if (lane_finished)
    return stand_in_fail("RuntimeError",
                         "the Python interpreter is shutting down");
  PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *type, *problem, *traceback;
  PyErr_Fetch(&type, &problem, &traceback);
  const lane_dialect* outer = lane_current_dialect;
  lane_current_dialect = NULL;
  fnabi_object_retain(function);
  PyObject *accept = lane_get(LANE_ACCEPT_FUNCTION),
           *object = lane_function_of_object(function);
  PyObject* done =
      accept != NULL && object != NULL
          ? PyObject_CallFunction(accept, "NOiN", text_of(name), object,
                                  override, text_of(metadata))
          : NULL;
  int status = done != NULL ? 0 : -1;
  if (status < 0) Py_XDECREF(lane_error_report());
  Py_XDECREF(done);
  Py_XDECREF(object);
  lane_current_dialect = outer;
  PyErr_Restore(type, problem, traceback);
  PyGILState_Release(gil);
  return status;
}

int stand_in_function_set_global(const fnabi_byte_array* name, void* function,
                                 int override) {
  return register_function(name, function, NULL, override);
}

int stand_in_function_set_described(const fnabi_method_info* info,
                                    int override) {
  if (info == NULL)
    return stand_in_fail("ValueError", "the function is not described");
  bool is_object = fnabi_any_is_object(&info->method);
  return register_function(&info->name,
                           is_object ? info->method.v_object : NULL,
                           &info->metadata, override);
}

/* A library that was loaded before libtvm_ffi has no module object: `context` is
 * then NULL, and there are no imports to search. */
int stand_in_module_look_up(void* context, const char* name, void** out) {
  if (context != NULL) {
    void* library = lane_loader_find(LANE_LIBRARY("tvm_ffi"));
    void* found =
        library == NULL
            ? NULL
            : lane_loader_symbol(library, "TVMFFIEnvModLookupFromImports");
    int (*look_up)(void*, const char*, void**);
    if (library != NULL)
      lane_loader_close(library); /* it stays, as it is in use */
    if (found != NULL) {
      memcpy(&look_up, &found, sizeof look_up);
      return look_up(context, name, out);
    }
  }
  const fnabi_byte_array text = {name, name != NULL ? strlen(name) : 0};
  if (find_function(&text, true, out) != 0) return -1;
  if (*out != NULL) return 0;
  const char* const parts[] = {"the library calls the global function ", name,
                               ", which is not registered"};
  lane_error_put_text("ValueError", parts, 3);
  return -1;
}
