/* Values of the ABI as Python objects. */
#include "lane/calls/from_value.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/array.h"
#include "calls/map.h"
#include "lane/calls/any.h"
#include "lane/calls/array.h"
#include "lane/calls/big_int.h"
#include "lane/calls/context.h"
#include "lane/calls/dialect.h"
#include "lane/calls/error.h"
#include "lane/calls/function.h"
#include "lane/calls/map.h"
#include "lane/calls/tensor_import.h"
#include "lane/calls/wrap.h"
#include "lane/runtime/call_error.h"
#include "lane/runtime/hooks.h"
#include "lane/runtime/text.h"

static PyObject* from_shape(fnabi_shape_object* shape) {
  PyObject* type = lane_get(LANE_SHAPE);
  if (type == NULL) return NULL;
  if (shape->ndim > PY_SSIZE_T_MAX / 8 ||
      (!fnabi_is_address(shape->dims) && shape->ndim != 0)) {
    lane_call_error("invalid shape from a library: pointer %p, %zu dims",
                    (void*)shape->dims, shape->ndim);
    return NULL;
  }
  PyObject* dims = lane_int_tuple(shape->dims, (Py_ssize_t)shape->ndim);
  if (dims == NULL) return NULL;
  if (lane_current_dialect != NULL && lane_current_dialect->shape != NULL)
    return lane_dialect_made(lane_current_dialect->shape, dims, &shape->object);
  /* The dims are valid, so the checks of the class are skipped. */
  newfunc make = (newfunc)PyType_GetSlot(&PyTuple_Type, Py_tp_new);
  PyObject *args = PyTuple_Pack(1, dims),
           *value = args ? make((PyTypeObject*)type, args, NULL) : NULL;
  Py_XDECREF(args);
  Py_DECREF(dims);
  return value;
}

/* What is wrong with a container that a library has made; NULL: nothing. */
static const char* container_problem(const fnabi_object* object) {
  switch (object->type_index) {
    case FNABI_INDEX_ARRAY:
    case FNABI_INDEX_LIST:
      return fnabi_seq_problem((const fnabi_seq_object*)object);
    case FNABI_INDEX_MAP:
    case FNABI_INDEX_DICT:
      return fnabi_map_problem((const fnabi_map_object*)object);
    default:
      return NULL;
  }
}

/* The text of an object, or its bytes. */
static PyObject* from_text(fnabi_object* object, bool bytes) {
  const fnabi_byte_array* text = &((fnabi_bytes_object*)object)->text;
  PyObject* value = bytes ? lane_bytes(text) : lane_text(text);
  if (lane_current_dialect == NULL || value == NULL) return value;
  PyObject* make =
      bytes ? lane_current_dialect->bytes : lane_current_dialect->string;
  return make ? lane_dialect_made(make, value, object) : value;
}

static PyObject* from_object(fnabi_object* object, bool plain) {
  const char* problem = container_problem(object);
  if (problem != NULL) {
    lane_call_error("invalid container from a library: %s", problem);
    return NULL;
  }
  switch (object->type_index) {
    case FNABI_INDEX_STR:
    case FNABI_INDEX_BYTES:
      return from_text(object, object->type_index == FNABI_INDEX_BYTES);
    case FNABI_INDEX_SHAPE:
      return from_shape((fnabi_shape_object*)object);
    case FNABI_INDEX_BIG_INT:
      return lane_big_int_from((fnabi_big_int_object*)object);
    case FNABI_INDEX_ERROR:
      if (lane_current_dialect != NULL && lane_current_dialect->error != NULL)
        break;
      return lane_error_exception((fnabi_error_object*)object);
    case FNABI_INDEX_OPAQUE_PY: {
      PyObject* value = (PyObject*)((fnabi_opaque_object*)object)->handle;
      if (value == NULL) break;
      Py_INCREF(value);
      return value;
    }
    case FNABI_INDEX_FUNCTION:
      fnabi_object_retain(object);
      return lane_function_of_object(object);
    case FNABI_INDEX_ARRAY:
    case FNABI_INDEX_LIST:
      if (plain) return lane_array_list((fnabi_seq_object*)object, true);
      break;
    case FNABI_INDEX_TENSOR:
      if (lane_exchange == NULL) break;
      fnabi_object_retain(object);
      return lane_tensor_into_framework(object);
    case FNABI_INDEX_MAP:
    case FNABI_INDEX_DICT:
      if (plain) return lane_map_dict((fnabi_map_object*)object, true);
      break;
  }
  fnabi_object_retain(object);
  return lane_wrap_known(object);
}

/* Programs use few distinct DTypes and Devices, so each is created once. */
static PyObject* from_parts(const fnabi_any* any) {
  static PyObject* known;
  if (known == NULL && (known = PyDict_New()) == NULL) return NULL;
  bool dtype = any->type_index == FNABI_INDEX_DTYPE;
  const lane_dialect* dialect = lane_current_dialect;
  PyObject* key =
      dtype ? Py_BuildValue("(iii)", any->v_dtype.code, any->v_dtype.bits,
                            any->v_dtype.lanes)
            : Py_BuildValue("(ii)", any->v_device.type, any->v_device.id);
  if (key == NULL) return NULL;
  if (dialect != NULL && (dtype ? dialect->dtype : dialect->device) != NULL)
    return lane_dialect_parts(dialect, dtype ? dialect->dtype : dialect->device,
                              key);
  PyObject* value = PyDict_GetItemWithError(known, key);
  Py_XINCREF(value);
  if (value == NULL && !PyErr_Occurred()) {
    PyObject* make = lane_get(dtype ? LANE_DTYPE_OF : LANE_DEVICE);
    if (make != NULL) value = PyObject_CallObject(make, key);
    if (value != NULL && PyDict_Size(known) < 1024 &&
        PyDict_SetItem(known, key, value) < 0)
      Py_CLEAR(value);
  }
  Py_DECREF(key);
  return value;
}

PyObject* lane_from(const fnabi_any* any, bool plain) {
  fnabi_byte_array text;
  switch (any->type_index) {
    case FNABI_INDEX_NONE:
      Py_INCREF(Py_None);
      return Py_None;
    case FNABI_INDEX_INT:
      return PyLong_FromLongLong(any->v_int);
    case FNABI_INDEX_BOOL:
      return PyBool_FromLong(any->v_int != 0);
    case FNABI_INDEX_FLOAT:
      return PyFloat_FromDouble(any->v_float);
    case FNABI_INDEX_POINTER: {
      PyObject *type = lane_get(LANE_VOID_P),
               *address = PyLong_FromVoidPtr(any->v_pointer), *value = NULL;
      if (type && address)
        value = PyObject_CallFunctionObjArgs(type, address, NULL);
      Py_XDECREF(address);
      return value;
    }
    case FNABI_INDEX_DTYPE:
    case FNABI_INDEX_DEVICE:
      return from_parts(any);
    case FNABI_INDEX_DLTENSOR:
      /* from_argument converts those that callbacks receive */
      lane_call_error(
          "a DLTensor* cannot be kept after the call; expected the library to "
          "return a Tensor");
      return NULL;
    case FNABI_INDEX_RAW_STR:
    case FNABI_INDEX_SMALL_STR:
      if (fnabi_any_string(any, &text)) return lane_text(&text);
      break;
    case FNABI_INDEX_BYTE_ARRAY:
    case FNABI_INDEX_SMALL_BYTES:
      if (fnabi_any_bytes(any, &text)) return lane_bytes(&text);
      break;
    case FNABI_INDEX_RVALUE: {
      fnabi_object** place = (fnabi_object**)any->v_pointer;
      if (place == NULL) break;
      if (*place != NULL) return from_object(*place, plain);
      lane_value_error("the object was already moved");
      return NULL;
    }
    case FNABI_INDEX_UNCHANGED:
      return lane_any_new(any);
    default:
      if (fnabi_any_object(any) != NULL)
        return from_object(any->v_object, plain);
      if (fnabi_any_is_object(any) && any->v_object != NULL) {
        lane_call_error(
            "expected a value of TVM-FFI, got type index %d with an object of "
            "type index %d",
            (int)any->type_index, (int)any->v_object->type_index);
        return NULL;
      }
  }
  lane_call_error("invalid value from a library: type index %d, payload %p",
                  (int)any->type_index, (void*)(uintptr_t)any->v_bits);
  return NULL;
}

/* Whether Python gets a wrapper of an object, or a tensor of a framework. */
static bool is_wrapped(const fnabi_object* object, bool plain) {
  switch (object->type_index) {
    case FNABI_INDEX_TENSOR:
      return true;
    case FNABI_INDEX_ARRAY:
    case FNABI_INDEX_LIST:
    case FNABI_INDEX_MAP:
    case FNABI_INDEX_DICT:
      return !plain && container_problem(object) == NULL;
    default:
      return false;
  }
}

/* The reference to an object moves into its wrapper: to add one there and to
 * release this one would take longer than the rest. */
PyObject* lane_take(fnabi_any* any, bool plain) {
  fnabi_object* object = fnabi_any_object(any);
  if (object != NULL && is_wrapped(object, plain)) {
    fnabi_any_set(any, FNABI_INDEX_NONE, 0);
    if (object->type_index == FNABI_INDEX_TENSOR && lane_exchange != NULL)
      return lane_tensor_into_framework(object);
    return lane_wrap_known(object);
  }
  PyObject* value = lane_from(any, plain);
  if (fnabi_any_is_object(any) && any->v_object != NULL)
    lane_release(any->v_object);
  fnabi_any_set(any, FNABI_INDEX_NONE, 0);
  return value;
}

PyObject* lane_from_argument(const fnabi_any* arg) {
  if (arg->type_index == FNABI_INDEX_RVALUE && arg->v_pointer != NULL) {
    fnabi_object** place = arg->v_pointer; /* the callee may take the object */
    fnabi_any taken;
    if (*place != NULL) {
      fnabi_any_set_object(&taken, *place);
      *place = NULL;
      return lane_take(&taken, false);
    }
  }
  return lane_from(arg, false);
}
