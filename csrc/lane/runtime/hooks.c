/* The Python objects that the lane uses, imported when first needed. */
#include "lane/runtime/hooks.h"

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
