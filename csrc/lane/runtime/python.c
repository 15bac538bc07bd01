/* What many files do with Python's stable C API. */
#include "lane/runtime/python.h"

PyObject* lane_imported(const char* module, const char* name) {
  PyObject* key = PyUnicode_FromString(module);
  PyObject* found =
      key ? PyDict_GetItemWithError(PyImport_GetModuleDict(), key) : NULL;
  Py_XDECREF(key);
  if (found == NULL) return NULL;
  PyObject* value = PyObject_GetAttrString(found, name);
  if (value == NULL) lane_clear(); /* the import may not be complete */
  return value;
}

int lane_has(PyObject* object, const char* name) {
  PyObject* value = PyObject_GetAttrString(object, name);
  if (value == NULL) return lane_clear() ? 0 : -1;
  Py_DECREF(value);
  return 1;
}

Py_ssize_t lane_class_number(PyTypeObject* class, const char* name) {
  PyObject* number = PyObject_GetAttrString((PyObject*)class, name);
  Py_ssize_t value = number != NULL ? PyLong_AsSsize_t(number) : -1;
  Py_XDECREF(number);
  if (value == -1) lane_clear();
  return value;
}

PyObject* lane_int_tuple(const int64_t* numbers, Py_ssize_t count) {
  PyObject* tuple = PyTuple_New(count);
  for (Py_ssize_t i = 0; tuple != NULL && i < count; i++) {
    PyObject* number = PyLong_FromLongLong(numbers[i]);
    if (number == NULL || PyTuple_SetItem(tuple, i, number) < 0)
      Py_CLEAR(tuple);
  }
  return tuple;
}

PyTypeObject* lane_add_type(PyObject* module, PyType_Spec* spec,
                            PyTypeObject* base) {
  PyObject* bases = NULL;
  if (base != NULL && (bases = PyTuple_Pack(1, base)) == NULL) return NULL;
  PyObject* type = PyType_FromSpecWithBases(spec, bases);
  Py_XDECREF(bases);
  if (type == NULL || PyModule_AddType(module, (PyTypeObject*)type) < 0)
    return NULL;
  return (PyTypeObject*)type; /* never released */
}
