/* The Python objects that the lane uses, imported when first needed. */
#include "lane/runtime/hooks.h"

#define MODULE "fnabi.calls._hooks"

static const char* const names[LANE_NAME_COUNT] = {
    [LANE_CALL_ERROR] = "CallError",
    [LANE_TYPE_ERROR] = "ArgumentTypeError",
    [LANE_VALUE_ERROR] = "ArgumentValueError",
    [LANE_RANGE_ERROR] = "RangeError",
    [LANE_LIBRARY_ERROR] = "LibraryError",
    [LANE_DTYPE] = "DType",
    [LANE_SHAPE] = "Shape",
    [LANE_MAP_KEYS] = "Keys",
    [LANE_MAP_VALUES] = "Values",
    [LANE_MAP_ITEMS] = "Items",
    [LANE_DEVICE] = "Device",
    [LANE_DTYPE_OF] = "dtype_of",
    [LANE_DLPACK_DTYPE] = "dlpack_dtype",
    [LANE_DLPACK_DEVICE] = "dlpack_device",
    [LANE_TO_NUMPY] = "to_numpy",
    [LANE_READ_NUMPY] = "read_numpy",
    [LANE_TENSOR_VIEW] = "tensor_view",
    [LANE_CLASS_OF] = "class_of",
    [LANE_MEMBER_SCHEMA] = "member_schema",
    [LANE_METHOD_SIGNATURE] = "method_signature",
    [LANE_FIND_FUNCTION] = "find_function",
    [LANE_FUNCTION_VIEW] = "function_view",
    [LANE_PIN_FUNCTION] = "pin_function",
    [LANE_ACCEPT_FUNCTION] = "accept_function",
    [LANE_METHOD_TYPE] = "MethodType",
    [LANE_VOID_P] = "c_void_p",
    [LANE_INTEGRAL] = "Integral",
    [LANE_REAL] = "Real",
    [LANE_DEEPCOPY] = "deepcopy",
    [LANE_SET_STATE] = "set_state",
    [LANE_PARTS] = "parts_of",
    [LANE_REMAKE] = "remake",
};
static PyObject* found[LANE_NAME_COUNT];

PyObject* lane_get(lane_name name) {
  if (found[name] == NULL) {
    PyObject* module = PyImport_ImportModule(MODULE);
    if (module == NULL) return NULL;
    found[name] = PyObject_GetAttrString(module, names[name]);
    Py_DECREF(module);
  }
  return found[name];
}

PyObject* lane_loaded(lane_name name) {
  if (found[name] == NULL) {
    PyObject *module = PyImport_ImportModule(MODULE), *object = NULL;
    if (module != NULL)
      object = PyObject_CallMethod(module, "loaded", "s", names[name]);
    Py_XDECREF(module);
    if (object == NULL) lane_clear();
    if (object == Py_None)
      Py_DECREF(object);
    else
      found[name] = object;
  }
  return Py_XNewRef(found[name]);
}
