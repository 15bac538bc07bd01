/* hooks.h - the Python objects that the lane uses. Private. */
#ifndef FNABI_LANE_RUNTIME_HOOKS_H
#define FNABI_LANE_RUNTIME_HOOKS_H

#include "lane/runtime/python.h"

/* Python objects that are imported when they are first needed. */
typedef enum lane_name {
  LANE_CALL_ERROR,
  LANE_LIBRARY_ERROR,
  LANE_SHAPE,    /* fnabi.calls._object.Shape, a tuple */
  LANE_MAP_KEYS, /* fnabi.calls._map.Keys(map), a view; so are the next two */
  LANE_MAP_VALUES,
  LANE_MAP_ITEMS,
  LANE_DEVICE,        /* fnabi.tensor.Device(type, id) */
  LANE_DTYPE_OF,      /* fnabi.tensor.dtype_of(code, bits, lanes) -> DType */
  LANE_DTYPE_PARTS,   /* fnabi.tensor.dtype_parts(x) -> (code, bits, lanes) */
  LANE_DEVICE_PARTS,  /* fnabi.tensor.device_parts(x) -> (type, id) */
  LANE_TO_NUMPY,      /* fnabi.tensor.to_numpy(tensor) -> ndarray */
  LANE_READ_NUMPY,    /* the same of elements that NumPy itself can read */
  LANE_VOID_P,        /* ctypes.c_void_p */
  LANE_CLASS_OF,      /* fnabi.reflection.class_of(type_index) */
  LANE_MEMBER_SCHEMA, /* fnabi.reflection.member_schema(metadata) */
  LANE_METHOD_SIGNATURE, /* fnabi.reflection.method_signature(method) */
  LANE_METHOD_TYPE,      /* types.MethodType */
  LANE_FIND_FUNCTION,    /* fnabi.registry.find_function(name) */
  LANE_LEND_FUNCTION,    /* fnabi.registry.lend_function(name) */
  /* fnabi.registry.accept_function(name, function, override, metadata) */
  LANE_ACCEPT_FUNCTION,
  LANE_INTEGRAL,
  LANE_REAL,
  LANE_NAME_COUNT
} lane_name;
/* Returns a borrowed reference. */
PyObject* lane_get(lane_name name);

#endif /* FNABI_LANE_RUNTIME_HOOKS_H */
