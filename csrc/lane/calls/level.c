/* Levels of Python values that are converted, and errors about them. */
#include "lane/calls/level.h"

#include <stdarg.h>

#include "base/platform.h"
#include "lane/runtime/call_error.h"

/* A RecursionError after fewer levels is due to how deep the caller is. */
enum { LEVELS_OF_VALUE = 64 };
static FNABI_FAST_THREAD int levels;
static FNABI_FAST_THREAD bool too_deep;

int lane_level_enter(const char* where) {
  if (Py_EnterRecursiveCall(where)) return -1;
  levels++;
  return 0;
}

void lane_level_leave(void) {
  Py_LeaveRecursiveCall();
  if (levels > LEVELS_OF_VALUE && PyErr_ExceptionMatches(PyExc_RecursionError))
    too_deep = true;
  if (--levels != 0 || !too_deep) return;
  too_deep = false; /* raised here, because further in there is no stack */
  if (PyErr_ExceptionMatches(PyExc_RecursionError))
    lane_value_error("nested too deeply, or contains itself");
}

void lane_name_value(const char* format, ...) {
  va_list list;
  PyObject *type, *problem;
  if (!lane_call_error_take(&type, &problem)) return;
  va_start(list, format);
  PyObject* name = PyUnicode_FromFormatV(format, list);
  va_end(list);
  if (name != NULL) PyErr_Format(type, "%U: %S", name, problem);
  Py_XDECREF(name);
  Py_XDECREF(type);
  Py_XDECREF(problem);
}

bool lane_no_value(void) {
  if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return false;
  PyErr_Clear();
  return true;
}
