/* Texts between Python and the ABI. */
#include "lane/runtime/text.h"

#include "lane/runtime/call_error.h"

/* The bytes that a process can address: half of what 48 bits number. */
static const uint64_t most_bytes = UINT64_C(1) << 47;

/* Checks the pointer and the size of a text from a library. */
static bool check_text(const fnabi_byte_array* text, bool good) {
  if (good) return true;
  lane_call_error("invalid text from a library: pointer %p, size %zu",
                  (void*)text->data, text->size);
  return false;
}

PyObject* lane_text(const fnabi_byte_array* text) {
  if (!check_text(text, lane_text_is_good(text))) return NULL;
  if (text->size == 0) return PyUnicode_FromStringAndSize("", 0);
  PyObject* str =
      PyUnicode_DecodeUTF8(text->data, (Py_ssize_t)text->size, NULL);
  if (str == NULL && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) {
    PyErr_Clear();
    str = PyUnicode_DecodeUTF8(text->data, (Py_ssize_t)text->size,
                               "surrogateescape");
  }
  return str;
}

PyObject* lane_bytes(const fnabi_byte_array* text) {
  bool good = text->size <= most_bytes &&
              (fnabi_is_address(text->data) || text->size == 0);
  if (!check_text(text, good)) return NULL;
  return PyBytes_FromStringAndSize(text->size ? text->data : "",
                                   (Py_ssize_t)text->size);
}

int lane_utf8(PyObject* str, fnabi_byte_array* text, PyObject** keep) {
  PyObject *type, *problem, *traceback;
  Py_ssize_t size;
  *keep = NULL;
  text->data = PyUnicode_AsUTF8AndSize(str, &size);
  if (text->data == NULL) {
    if (PyErr_ExceptionMatches(PyExc_MemoryError)) return -1;
    /* surrogate escapes are bytes that were not UTF-8; else the first error is
     * raised */
    PyErr_Fetch(&type, &problem, &traceback);
    *keep = PyUnicode_AsEncodedString(str, "utf-8", "surrogateescape");
    if (*keep == NULL && lane_clear()) {
      PyErr_Restore(type, problem, traceback);
      return -1;
    }
    Py_XDECREF(type);
    Py_XDECREF(problem);
    Py_XDECREF(traceback);
    if (*keep == NULL) return -1;
    text->data = PyBytes_AsString(*keep);
    size = PyBytes_Size(*keep);
  }
  text->size = (size_t)size;
  return 0;
}
