/* Whether files are regular, and the contents of small ones: a call of Python for
 * each call of the system takes longer than the system does. */
#include "lane/runtime/file.h"

#include "base/file.h"

/* Reads all bytes of an open file, which it closes; NULL without an exception
 * where it has fewer by now, or cannot be read. */
static PyObject* read_all(int file, size_t size) {
  PyObject* bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
  char* data = bytes == NULL ? NULL : PyBytes_AsString(bytes);
  size_t got = 0;
  PyThreadState* state = PyEval_SaveThread();
  bool good = data != NULL && fnabi_file_read(file, data, size, &got) == 0;
  fnabi_file_close(file);
  PyEval_RestoreThread(state);
  if (!good || got != size) Py_CLEAR(bytes);
  return bytes;
}

/* Stores the bytes of a path, which the caller releases; NULL for one that no file
 * has: a NUL, or surrogates that are no bytes. Returns false with an exception. */
static bool encode(PyObject* path, PyObject** encoded) {
  if (PyUnicode_FSConverter(path, encoded)) return true;
  *encoded = NULL;
  if (!PyErr_ExceptionMatches(PyExc_ValueError)) return false;
  PyErr_Clear();
  return true;
}

static PyObject* is_regular(PyObject* module, PyObject* path) {
  PyObject* encoded;
  bool found = false;
  (void)module;
  if (!encode(path, &encoded)) return NULL;
  if (encoded != NULL) {
    const char* text = PyBytes_AsString(encoded);
    PyThreadState* state = PyEval_SaveThread();
    found = fnabi_file_is_regular(text);
    PyEval_RestoreThread(state);
    Py_DECREF(encoded);
  }
  return PyBool_FromLong(found);
}

static PyObject* read_small(PyObject* module, PyObject* args) {
  PyObject *path, *encoded, *found = NULL;
  unsigned long long most;
  size_t size = 0;
  (void)module;
  if (!PyArg_ParseTuple(args, "UK", &path, &most)) return NULL;
  if (!encode(path, &encoded)) return NULL;
  if (encoded != NULL) {
    const char* text = PyBytes_AsString(encoded);
    PyThreadState* state = PyEval_SaveThread();
    int file = fnabi_file_open_small(text, most, &size);
    PyEval_RestoreThread(state);
    Py_DECREF(encoded);
    if (file >= 0) found = read_all(file, size);
  }
  if (found != NULL || PyErr_Occurred() != NULL) return found;
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"is_regular", is_regular, METH_O,
     "is_regular(path, /)\n--\n\n"
     "Return whether a path leads to a regular file, which is not opened.\n\n"
     "False where the system does not say, and on Windows."},
    {"read_small", read_small, METH_VARARGS,
     "read_small(path, most, /)\n--\n\n"
     "Return the contents of a regular file of 1 to `most` bytes.\n\nNone for "
     "all others, and where it cannot be opened or read."},
    {0}};

int lane_file_init(PyObject* module) {
  return PyModule_AddFunctions(module, functions);
}
