/* What crosses to columns and from them as Python objects: lists of texts,
 * which the decoder reads where they are, and capsules of Arrow data. */
#include "columns/arrow.h"
#include "columns/rows.h"
#include "lane/lane.h"

/* --------------------------------------------------------------------- lists
 */

/* The bytes of a text; false where it is none of those that need no copy. */
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
  return item == Py_None;
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
  if (PyErr_Occurred()) return NULL; /* of PyList_GetItem */
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
  PyObject* slice = PySequence_GetSlice(strings, begin, end);
  if (slice == NULL) return NULL;
  PyObject* added = NULL;
  if (columns == NULL || !(PyList_Check(slice) || PyTuple_Check(slice)))
    lane_call_error("columns_add: expected columns, and a list or tuple");
  else
    added = add_slice(columns, slice, PySequence_Size(slice));
  Py_DECREF(slice);
  return added;
}

/* ------------------------------------------------------------------- capsules
 *
 * The name of a capsule is what it holds; it keeps the pointer to it. */

static const char* kind_of(PyObject* name) {
  static const char* const kinds[] = {"arrow_schema", "arrow_array",
                                      "arrow_array_stream"};
  for (int i = 0; i < 3; i++)
    if (PyUnicode_Check(name) &&
        PyUnicode_CompareWithASCIIString(name, kinds[i]) == 0)
      return kinds[i];
  lane_call_error("arrow: expected the name of a structure, not %R", name);
  return NULL;
}

/* What is released may be Python's, and must not see the exception that lets
 * go of the capsule. */
static void free_capsule(PyObject* capsule) {
  PyObject *type, *problem, *traceback;
  const char* kind = PyCapsule_GetName(capsule);
  PyErr_Fetch(&type, &problem, &traceback);
  fnabi_arrow_free(kind, PyCapsule_GetPointer(capsule, kind));
  PyErr_Restore(type, problem, traceback);
}

static PyObject* arrow_capsule(PyObject* module, PyObject* name) {
  (void)module;
  const char* kind = kind_of(name);
  if (kind == NULL) return NULL;
  void* structure = fnabi_arrow_new(kind);
  if (structure == NULL) return PyErr_NoMemory();
  PyObject* capsule = PyCapsule_New(structure, kind, free_capsule);
  if (capsule == NULL) {
    fnabi_arrow_free(kind, structure);
    return NULL;
  }
  return Py_BuildValue("NN", capsule, PyLong_FromVoidPtr(structure));
}

static PyObject* arrow_take(PyObject* module, PyObject* args) {
  PyObject *capsule, *name, *number;
  (void)module;
  if (!PyArg_ParseTuple(args, "OOO:arrow_take", &capsule, &name, &number))
    return NULL;
  const char* kind = kind_of(name);
  if (kind == NULL) return NULL;
  void* structure = PyLong_AsVoidPtr(number);
  if (structure == NULL) {
    if (!PyErr_Occurred()) lane_call_error("arrow_take: expected a structure");
    return NULL;
  }
  if (!PyCapsule_IsValid(capsule, kind))
    return PyUnicode_FromFormat("expected a capsule named \"%s\", not %R", kind,
                                capsule);
  if (!fnabi_arrow_move(kind, PyCapsule_GetPointer(capsule, kind), structure))
    return PyUnicode_FromFormat("the capsule \"%s\" has been consumed", kind);
  Py_RETURN_NONE;
}

static PyMethodDef columns_methods[] = {
    {"columns_add", columns_add, METH_VARARGS,
     "columns_add(columns, strings, begin, end, /)\n--\n\n"
     "Add rows for strings[begin:end] of a list or tuple, up to the first that "
     "is\nneither bytes nor None nor a str without surrogates; `columns` is an "
     "address of\nfnabi_columns. Give how many there are; -1 when there is no "
     "memory, or too much in\none side.\n"},
    {"arrow_capsule", arrow_capsule, METH_O,
     "arrow_capsule(kind, /)\n--\n\n"
     "Give a capsule of that name, and the address of the empty structure that "
     "it owns.\n"},
    {"arrow_take", arrow_take, METH_VARARGS,
     "arrow_take(capsule, kind, structure, /)\n--\n\n"
     "Move what a capsule holds to the empty structure at that address. Give "
     "None, or\nwhat is wrong with the capsule.\n"},
    {0}};

int lane_columns_init(PyObject* module) {
  return PyModule_AddFunctions(module, columns_methods);
}
