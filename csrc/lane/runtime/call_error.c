/* Raises CallError and its subclasses, for what callers get wrong. */
#include "lane/runtime/call_error.h"

#include <stdarg.h>

PyObject* lane_error_class(lane_name name) {
  return lane_clear() ? lane_get(name) : NULL;
}

static void raise_named(lane_name name, const char* format, va_list list) {
  PyObject* type = lane_error_class(name);
  if (type != NULL) PyErr_FormatV(type, format, list);
}

int lane_call_error(const char* format, ...) {
  va_list list;
  va_start(list, format);
  raise_named(LANE_CALL_ERROR, format, list);
  va_end(list);
  return -1;
}

int lane_type_error(const char* format, ...) {
  va_list list;
  va_start(list, format);
  raise_named(LANE_TYPE_ERROR, format, list);
  va_end(list);
  return -1;
}

int lane_value_error(const char* format, ...) {
  va_list list;
  va_start(list, format);
  raise_named(LANE_VALUE_ERROR, format, list);
  va_end(list);
  return -1;
}

bool lane_call_error_take(PyObject** type, PyObject** problem) {
  PyObject* traceback;
  PyErr_Fetch(type, problem, &traceback); /* lane_get may import */
  PyObject* class = lane_get(LANE_CALL_ERROR);
  if (class == NULL || !PyErr_GivenExceptionMatches(*type, class)) {
    PyErr_Restore(*type, *problem, traceback);
    return false;
  }
  PyErr_NormalizeException(type, problem, &traceback);
  Py_XDECREF(traceback);
  return true;
}

int lane_type_error_got(PyObject* got, const char* format, ...) {
  va_list list;
  if (!lane_clear()) return -1;
  va_start(list, format);
  PyObject* text = PyUnicode_FromFormatV(format, list);
  va_end(list);
  PyObject* name = text != NULL ? PyType_GetName(Py_TYPE(got)) : NULL;
  if (name != NULL) lane_type_error("%U, got %U", text, name);
  Py_XDECREF(text);
  Py_XDECREF(name);
  return -1;
}

PyObject* lane_refuse_reduce(PyObject* self, PyObject* unused) {
  PyObject* name = PyType_GetName(Py_TYPE(self));
  (void)unused;
  if (name != NULL)
    lane_type_error(
        "%U: cannot be pickled or copied: it is only valid in this process",
        name);
  Py_XDECREF(name);
  return NULL;
}
