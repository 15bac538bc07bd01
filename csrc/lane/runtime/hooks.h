/* hooks.h - the Python objects that the lane uses: attributes of
 * `fnabi.calls._hooks`, the only module that it imports. Private. */
#ifndef FNABI_LANE_RUNTIME_HOOKS_H
#define FNABI_LANE_RUNTIME_HOOKS_H

#include "lane/runtime/python.h"

typedef enum lane_name {
  LANE_CALL_ERROR,
  LANE_TYPE_ERROR,
  LANE_VALUE_ERROR,
  LANE_RANGE_ERROR,
  LANE_LIBRARY_ERROR,
  LANE_DTYPE,
  LANE_SHAPE,    /* a tuple */
  LANE_MAP_KEYS, /* Keys(map), a view; so are the next two */
  LANE_MAP_VALUES,
  LANE_MAP_ITEMS,
  LANE_DEVICE,           /* Device(type, id) */
  LANE_DTYPE_OF,         /* dtype_of(code, bits, lanes) -> DType */
  LANE_DLPACK_DTYPE,     /* dlpack_dtype(x) -> (code, bits, lanes) */
  LANE_DLPACK_DEVICE,    /* dlpack_device(x) -> (type, id) */
  LANE_TO_NUMPY,         /* to_numpy(tensor) -> ndarray */
  LANE_READ_NUMPY,       /* the same of elements that NumPy itself can read */
  LANE_TENSOR_VIEW,      /* tensor_view(tensor) -> str, HTML */
  LANE_CLASS_OF,         /* class_of(type_index) */
  LANE_MEMBER_SCHEMA,    /* member_schema(metadata) */
  LANE_METHOD_SIGNATURE, /* method_signature(method) */
  LANE_FIND_FUNCTION,    /* find_function(name) */
  LANE_FUNCTION_VIEW,    /* function_view(function) -> str, HTML */
  LANE_PIN_FUNCTION,     /* pin_function(name) */
  LANE_ACCEPT_FUNCTION, /* accept_function(name, function, override, metadata) */
  LANE_METHOD_TYPE,
  LANE_VOID_P,
  LANE_INTEGRAL,
  LANE_REAL,
  LANE_DEEPCOPY,
  LANE_SET_STATE, /* set_state(object, state) */
  LANE_PARTS,     /* parts_of(container, values) -> the arguments of the next */
  LANE_REMAKE,    /* remake(class, arguments, keywords, values) */
  LANE_NAME_COUNT
} lane_name;

/* Imports what is not imported yet. Returns a borrowed reference. */
PyObject* lane_get(lane_name name);
/* Returns a new reference, or NULL where it is not imported yet, with an
 * exception only if memory runs out. */
PyObject* lane_loaded(lane_name name);

#endif /* FNABI_LANE_RUNTIME_HOOKS_H */
