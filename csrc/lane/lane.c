#include "lane/lane.h"

#include <stdarg.h>

lane_types lane;

static const struct {
  const char* module;
  const char* name;
} names[LANE_NAME_COUNT] = {
    [LANE_CALL_ERROR] = {"fnabi.errors", "CallError"},
    [LANE_LIBRARY_ERROR] = {"fnabi.errors", "LibraryError"},
    [LANE_SHAPE] = {"fnabi.calls._object", "Shape"},
    [LANE_MAP_KEYS] = {"fnabi.calls._map", "Keys"},
    [LANE_MAP_VALUES] = {"fnabi.calls._map", "Values"},
    [LANE_MAP_ITEMS] = {"fnabi.calls._map", "Items"},
    [LANE_DEVICE] = {"fnabi.calls.tensor", "Device"},
    [LANE_DTYPE_OF] = {"fnabi.calls.tensor", "dtype_of"},
    [LANE_DTYPE_PARTS] = {"fnabi.calls.tensor", "dtype_parts"},
    [LANE_DEVICE_PARTS] = {"fnabi.calls.tensor", "device_parts"},
    [LANE_TO_NUMPY] = {"fnabi.calls.tensor", "to_numpy"},
    [LANE_READ_NUMPY] = {"fnabi.calls.tensor", "read_numpy"},
    [LANE_VOID_P] = {"ctypes", "c_void_p"},
    [LANE_CLASS_OF] = {"fnabi.calls.reflection", "class_of"},
    [LANE_MEMBER_SCHEMA] = {"fnabi.calls.reflection", "member_schema"},
    [LANE_METHOD_SIGNATURE] = {"fnabi.calls.reflection", "method_signature"},
    [LANE_METHOD_TYPE] = {"types", "MethodType"},
    [LANE_FIND_FUNCTION] = {"fnabi.calls.registry", "find_function"},
    [LANE_LEND_FUNCTION] = {"fnabi.calls.registry", "lend_function"},
    [LANE_ACCEPT_FUNCTION] = {"fnabi.calls.registry", "accept_function"},
    [LANE_INTEGRAL] = {"numbers", "Integral"},
    [LANE_REAL] = {"numbers", "Real"},
};

PyObject* lane_get(lane_name name) {
  static PyObject* found[LANE_NAME_COUNT];
  if (found[name] == NULL) {
    PyObject* module = PyImport_ImportModule(names[name].module);
    if (module == NULL) return NULL;
    found[name] = PyObject_GetAttrString(module, names[name].name);
    Py_DECREF(module);
  }
  return found[name];
}

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

/* ------------------------------------------------------------ shutting down */

/* Libraries may keep and call Python objects after the interpreter has shut
 * down. */
bool lane_finished;

void lane_drop(PyObject* object) {
  if (object == NULL || lane_finished) return;
  PyGILState_STATE gil = PyGILState_Ensure();
  Py_DECREF(object);
  PyGILState_Release(gil);
}

static PyObject* finish(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  lane_finished = true;
  Py_RETURN_NONE;
}

static PyMethodDef finish_method = {"finish", finish, METH_NOARGS, NULL};

static int finish_at_exit(void) {
  PyObject *exit = PyImport_ImportModule("atexit"),
           *last = PyCFunction_NewEx(&finish_method, NULL, NULL), *done = NULL;
  if (exit && last) done = PyObject_CallMethod(exit, "register", "O", last);
  Py_XDECREF(exit);
  Py_XDECREF(last);
  Py_XDECREF(done);
  return done ? 0 : -1;
}

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "fnabi._base.lane",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit_lane(void);
PyMODINIT_FUNC PyInit_lane(void) {
  PyObject* module = PyModule_Create(&definition);
  if (module != NULL &&
      (lane_object_init(module) < 0 || lane_moved_init(module) < 0 ||
       lane_dialect_init(module) < 0 || lane_any_init(module) < 0 ||
       lane_any_array_init(module) < 0 || lane_array_init(module) < 0 ||
       lane_map_init(module) < 0 || lane_error_init(module) < 0 ||
       lane_tensor_init(module) < 0 || lane_function_init(module) < 0 ||
       lane_call_init(module) < 0 || lane_callback_init(module) < 0 ||
       lane_library_init(module) < 0 || lane_environment_init(module) < 0 ||
       lane_registry_init(module) < 0 || lane_stand_in_init(module) < 0 ||
       lane_reflection_init(module) < 0 || lane_definition_init(module) < 0 ||
       lane_columns_init(module) < 0 || lane_arrow_init(module) < 0 ||
       lane_record_init(module) < 0 || lane_record_decode_init(module) < 0 ||
       lane_signature_init(module) < 0 || finish_at_exit() < 0))
    Py_CLEAR(module);
  return module;
}
