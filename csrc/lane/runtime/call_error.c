/* Raises CallError, the exception for what callers get wrong. */
#include "lane/runtime/call_error.h"

#include <stdarg.h>

#include "lane/runtime/hooks.h"

int lane_call_error(const char* format, ...) {
  if (!lane_clear()) return -1;
  PyObject* type = lane_get(LANE_CALL_ERROR);
  if (type == NULL) return -1;
  va_list list;
  va_start(list, format);
  PyErr_FormatV(type, format, list);
  va_end(list);
  return -1;
}

int lane_call_error_got(PyObject* got, const char* format, ...) {
  va_list list;
  if (!lane_clear()) return -1;
  va_start(list, format);
  PyObject* text = PyUnicode_FromFormatV(format, list);
  va_end(list);
  PyObject* name = text != NULL ? PyType_GetName(Py_TYPE(got)) : NULL;
  if (name != NULL) lane_call_error("%U, got %U", text, name);
  Py_XDECREF(text);
  Py_XDECREF(name);
  return -1;
}

PyObject* lane_refuse_reduce(PyObject* self, PyObject* unused) {
  PyObject* name = PyType_GetName(Py_TYPE(self));
  (void)unused;
  if (name != NULL)
    lane_call_error(
        "%U: cannot be pickled or copied: it is only valid in this process",
        name);
  Py_XDECREF(name);
  return NULL;
}
