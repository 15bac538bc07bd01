/* The structures of the Arrow C data interface in capsules of Python. */
#include "many/arrow.h"

#include "lane/records/init.h"
#include "lane/runtime/call_error.h"

/* ----------------------------------------------------------------- capsules */

/* The name of a capsule is the name of the structure that it holds. The capsule
 * keeps the pointer to the name. */

static const char* kind_of(PyObject* name) {
  static const char* const kinds[] = {"arrow_schema", "arrow_array",
                                      "arrow_array_stream"};
  for (int i = 0; i < 3; i++)
    if (PyUnicode_Check(name) &&
        PyUnicode_CompareWithASCIIString(name, kinds[i]) == 0)
      return kinds[i];
  lane_value_error("arrow: unknown structure %R", name);
  return NULL;
}

/* Releasing the structure may run Python code, which must not see the current
 * exception. */
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

/* What is given instead of a capsule of a kind, as text. */
static PyObject* not_a(const char* kind, PyObject* given) {
  static const char expected[] = "expected a capsule named";
  if (PyCapsule_CheckExact(given)) {
    const char* name = PyCapsule_GetName(given);
    if (name == NULL && PyErr_Occurred()) return NULL;
    return PyUnicode_FromFormat("%s \"%s\", got one named \"%s\"", expected,
                                kind, name != NULL ? name : "");
  }
  PyObject *type = PyType_GetName(Py_TYPE(given)), *text = NULL;
  if (type != NULL)
    text = PyUnicode_FromFormat("%s \"%s\", got %U", expected, kind, type);
  Py_XDECREF(type);
  return text;
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
    if (!PyErr_Occurred()) lane_type_error("arrow_take: expected a structure");
    return NULL;
  }
  if (!PyCapsule_IsValid(capsule, kind)) return not_a(kind, capsule);
  if (!fnabi_arrow_move(kind, PyCapsule_GetPointer(capsule, kind), structure))
    return PyUnicode_FromFormat("the capsule \"%s\" has been consumed", kind);
  Py_RETURN_NONE;
}

static PyMethodDef arrow_methods[] = {
    {"arrow_capsule", arrow_capsule, METH_O,
     "arrow_capsule(kind, /)\n--\n\n"
     "Return a capsule of that name, and the address of the empty structure "
     "that it owns.\n"},
    {"arrow_take", arrow_take, METH_VARARGS,
     "arrow_take(capsule, kind, structure, /)\n--\n\n"
     "Move the structure of a capsule to the empty structure at an address. "
     "Return None,\nor what is wrong with the capsule.\n"},
    {0}};

int lane_arrow_init(PyObject* module) {
  return PyModule_AddFunctions(module, arrow_methods);
}
