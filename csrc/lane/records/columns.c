/* Columns of a list of texts, read in place. */
#include "lane/records/init.h"
#include "lane/runtime/call_error.h"
#include "lane/runtime/interrupt.h"
#include "many/rows.h"

/* -------------------------------------------------------------------- lists */

/* Returns the bytes of a text without a copy, NULL for None and NaN, or false if
 * it needs a copy or is not a text. */
static bool text_of(PyObject* item, fnabi_text* text) {
  if (PyBytes_Check(item)) {
    text->data = PyBytes_AsString(item);
    text->size = (size_t)PyBytes_Size(item);
    return true;
  }
  if (PyUnicode_Check(item)) {
    Py_ssize_t size;
    text->data = PyUnicode_AsUTF8AndSize(item, &size);
    text->size = (size_t)size;
    if (text->data == NULL) PyErr_Clear(); /* a surrogate */
    return text->data != NULL;
  }
  *text = (fnabi_text){NULL, 0};
  if (item == Py_None || !PyFloat_Check(item)) return item == Py_None;
  double number = PyFloat_AsDouble(item);
  return number != number;
}

/* The slice keeps the texts while the GIL is released: a list may change. */
static PyObject* add_slice(fnabi_columns* columns, PyObject* slice,
                           Py_ssize_t count) {
  bool list = PyList_Check(slice);
  fnabi_text* texts = PyMem_Malloc((size_t)count * sizeof *texts + 1);
  if (texts == NULL) return PyErr_NoMemory();
  Py_ssize_t good = 0;
  while (good < count && text_of(list ? PyList_GetItem(slice, good)
                                      : PyTuple_GetItem(slice, good),
                                 &texts[good]))
    good++;
  fnabi_error error;
  PyThreadState* state = PyEval_SaveThread();
  int64_t rows =
      fnabi_columns_decode_texts(columns, texts, (size_t)good, &error);
  PyEval_RestoreThread(state);
  PyMem_Free(texts);
  if (rows < 0 && error.code == FNABI_INTERRUPTED) {
    lane_interrupted();
    return NULL;
  }
  return PyLong_FromLongLong(rows);
}

static PyObject* columns_add(PyObject* module, PyObject* args) {
  PyObject *number, *strings;
  Py_ssize_t begin, end;
  (void)module;
  if (!PyArg_ParseTuple(args, "OOnn:columns_add", &number, &strings, &begin,
                        &end))
    return NULL;
  fnabi_columns* columns = PyLong_AsVoidPtr(number);
  if (columns == NULL && PyErr_Occurred()) return NULL;
  bool list = PyList_Check(strings);
  if (columns == NULL || !(list || PyTuple_Check(strings))) {
    lane_type_error("columns_add: expected columns, and a list or tuple");
    return NULL;
  }
  PyObject* slice = list ? PyList_GetSlice(strings, begin, end)
                         : PyTuple_GetSlice(strings, begin, end);
  if (slice == NULL) return NULL;
  PyObject* added = add_slice(columns, slice, PySequence_Size(slice));
  Py_DECREF(slice);
  return added;
}

static PyMethodDef columns_methods[] = {
    {"columns_add", columns_add, METH_VARARGS,
     "columns_add(columns, strings, begin, end, /)\n--\n\n"
     "Add rows for strings[begin:end] of a list or tuple, up to the first one "
     "that is\nneither bytes, None, NaN nor a str without surrogates. "
     "`columns` "
     "is the address of an\nfnabi_columns. Return the number of rows added, or "
     "-1 if memory is exhausted or a side\nis too large.\n"},
    {0}};

int lane_columns_init(PyObject* module) {
  return PyModule_AddFunctions(module, columns_methods);
}
