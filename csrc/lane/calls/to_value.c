/* Python objects as values of the ABI. */
#include "lane/calls/to_value.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/array.h"
#include "lane/calls/any.h"
#include "lane/calls/any_array.h"
#include "lane/calls/array.h"
#include "lane/calls/big_int.h"
#include "lane/calls/callback.h"
#include "lane/calls/context.h"
#include "lane/calls/dtype.h"
#include "lane/calls/error.h"
#include "lane/calls/function.h"
#include "lane/calls/level.h"
#include "lane/calls/map.h"
#include "lane/calls/moved.h"
#include "lane/calls/tensor_import.h"
#include "lane/calls/tensor_view.h"
#include "lane/runtime/call_error.h"
#include "lane/runtime/hooks.h"
#include "lane/runtime/shutdown.h"
#include "lane/runtime/text.h"

/* The kind of a Python type is determined once and kept in a small cache. The
 * cache holds a reference to each type, so that no other type can get its
 * address. */
typedef enum kind {
  KIND_UNKNOWN, /* could not be determined */
  KIND_INT,
  KIND_FLOAT,
  KIND_BOOL,
  KIND_STR,
  KIND_BYTES,
  KIND_BYTEARRAY,
  KIND_SEQUENCE,
  KIND_DICT,
  KIND_NUMPY,
  KIND_ANY,
  KIND_ANY_ARRAY,
  KIND_TENSOR,
  KIND_OBJECT,
  KIND_FUNCTION,
  KIND_SHAPE,
  KIND_MOVED,
  KIND_EXCEPTION,
  KIND_EXCHANGE,
  KIND_STREAM, /* __cuda_stream__() */
  KIND_DLPACK,
  KIND_BUFFER,
  KIND_POINTER,
  KIND_DTYPE,
  KIND_DTYPE_LIKE,  /* determined for each object */
  KIND_DEVICE,      /* __dlpack_device__() */
  KIND_DEVICE_LIKE, /* of another package */
  KIND_ITEM,        /* a NumPy scalar */
  KIND_COMPLEX,     /* one that Python has no complex number for */
  KIND_INTEGRAL,    /* int() of it */
  KIND_REAL,        /* float() of it */
  KIND_PEER,        /* an object of tvm_ffi */
  KIND_PROTOCOL,    /* __tvm_ffi_object__(), then the same for the others */
  KIND_PROTOCOL_VALUE,
  KIND_PROTOCOL_INT,
  KIND_PROTOCOL_FLOAT,
  KIND_PROTOCOL_POINTER,
  KIND_CALLABLE,
  KIND_OPAQUE,
} kind;

/* A type whose kind is being determined. Once memory has run out, or the program
 * is to end, every further check returns false. */
typedef struct asked {
  PyTypeObject* type;
  bool failed;
} asked;

static bool answered(asked* of, int answer) {
  if (answer < 0 && !lane_clear()) of->failed = true;
  return answer > 0;
}

static bool has(asked* of, const char* name) {
  return !of->failed && answered(of, lane_has((PyObject*)of->type, name));
}

/* Whether the type derives from a class; takes the reference over. */
static bool derives_from(asked* of, PyObject* base) {
  int answer = base != NULL ? PyObject_IsSubclass((PyObject*)of->type, base)
                            : -(PyErr_Occurred() != NULL);
  Py_XDECREF(base);
  return answered(of, answer);
}

/* The same for a class of a module that may be imported. */
static bool derives(asked* of, const char* module, const char* name) {
  return !of->failed && derives_from(of, lane_imported(module, name));
}

static bool derives_from_abstract(asked* of, lane_name name) {
  return !of->failed && derives_from(of, Py_XNewRef(lane_get(name)));
}

/* The same for a class of fnabi whose module may be imported. */
static bool derives_from_ours(asked* of, lane_name name) {
  return !of->failed && derives_from(of, lane_loaded(name));
}

/* The order matters: a dtype of tvm_ffi is a str, an array is a number. */
static kind find_kind(asked* of) {
#define IS(base) PyType_IsSubtype(of->type, base)
  if (IS(&PyBool_Type)) return KIND_BOOL;
  if (IS(lane.tensor)) return KIND_TENSOR;
  if (IS(lane.object)) return KIND_OBJECT;
  if (IS(lane.any)) return KIND_ANY;
  if (IS(lane.any_array)) return KIND_ANY_ARRAY;
  if (IS(lane.function)) return KIND_FUNCTION;
  if (IS(lane.moved)) return KIND_MOVED;
  if (derives_from_ours(of, LANE_SHAPE)) return KIND_SHAPE;
  /* a text that is the name of a dtype */
  if (IS(&PyUnicode_Type) && has(of, "__dlpack_data_type__")) return KIND_DTYPE;
  if (derives_from_ours(of, LANE_DTYPE) || derives(of, "tvm_ffi", "dtype") ||
      derives(of, "numpy", "dtype") || derives(of, "torch", "dtype"))
    return KIND_DTYPE;
  if (derives_from_ours(of, LANE_DEVICE)) return KIND_DEVICE;
  if (derives(of, "tvm_ffi", "Device") || derives(of, "torch", "device"))
    return KIND_DEVICE_LIKE;
  if (derives(of, "tvm_ffi", "Shape") && !has(of, "__tvm_ffi_object__"))
    return KIND_SHAPE;
  if (derives(of, "tvm_ffi.core", "CObject")) return KIND_PEER;
  if (has(of, "__tvm_ffi_object__")) return KIND_PROTOCOL;
  if (IS(&PyLong_Type)) return KIND_INT;
  if (IS(&PyFloat_Type)) return KIND_FLOAT;
  if (IS(&PyUnicode_Type)) return KIND_STR;
  if (IS(&PyBytes_Type)) return KIND_BYTES;
  /* times and records, whose item() is another value for each unit */
  if (derives(of, "numpy", "datetime64") ||
      derives(of, "numpy", "timedelta64") || derives(of, "numpy", "void"))
    return KIND_OPAQUE;
  if (derives(of, "numpy", "clongdouble")) return KIND_COMPLEX;
  if (derives(of, "numpy", "generic")) return KIND_ITEM;
  if (IS(&PyByteArray_Type)) return KIND_BYTEARRAY;
  if (IS(&PyTuple_Type) || IS(&PyList_Type)) return KIND_SEQUENCE;
  if (IS(&PyDict_Type)) return KIND_DICT;
  if (derives(of, "numpy", "ndarray")) return KIND_NUMPY;
  if (has(of, "__dlpack_c_exchange_api__")) return KIND_EXCHANGE;
  if (has(of, "__cuda_stream__")) return KIND_STREAM;
  if (has(of, "__dlpack__")) return KIND_DLPACK;
  if (has(of, "__tvm_ffi_opaque_ptr__")) return KIND_PROTOCOL_POINTER;
  if (has(of, "__dlpack_data_type__")) return KIND_DTYPE_LIKE;
  if (has(of, "__dlpack_device__")) return KIND_DEVICE;
  if (has(of, "__tvm_ffi_int__")) return KIND_PROTOCOL_INT;
  if (has(of, "__tvm_ffi_float__")) return KIND_PROTOCOL_FLOAT;
  if (has(of, "__tvm_ffi_value__")) return KIND_PROTOCOL_VALUE;
  if (derives(of, "ctypes", "c_void_p")) return KIND_POINTER;
  if (IS((PyTypeObject*)PyExc_BaseException)) return KIND_EXCEPTION;
  if (derives_from_abstract(of, LANE_INTEGRAL)) return KIND_INTEGRAL;
  if (derives_from_abstract(of, LANE_REAL)) return KIND_REAL;
  if (IS(&PyMemoryView_Type) || derives(of, "array", "array"))
    return KIND_BUFFER;
  /* the slot of the type itself, because the class of a type has one too */
  if (PyType_GetSlot(of->type, Py_tp_call) != NULL) return KIND_CALLABLE;
  return KIND_OPAQUE;
#undef IS
}

enum { KNOWN_TYPES = 128 };

/* KIND_UNKNOWN, with an exception, if memory runs out. */
static kind kind_of(PyTypeObject* type) {
  static struct {
    PyTypeObject* type;
    kind kind;
  } known[KNOWN_TYPES];
  size_t slot = ((uintptr_t)type >> 4) * 0x9E3779B1u / 16 % KNOWN_TYPES;
  if (known[slot].type == type) return known[slot].kind;
  asked of = {type, false};
  kind found = find_kind(&of);
  if (of.failed) return KIND_UNKNOWN;
  PyObject* old = (PyObject*)known[slot].type;
  Py_INCREF((PyObject*)type);
  known[slot].type = type;
  known[slot].kind = found;
  Py_XDECREF(old);
  return found;
}

static inline int view_int(PyObject* value, fnabi_any* out) {
  int overflow;
  long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0) return lane_big_int_view(value, out);
  if (number == -1 && PyErr_Occurred()) return -1;
  fnabi_any_set(out, FNABI_INDEX_INT, number);
  return LANE_BORROWED;
}

static inline int view_float(PyObject* value, fnabi_any* out) {
  double number = PyFloat_AsDouble(value);
  if (number == -1 && PyErr_Occurred()) return -1;
  fnabi_any_set_float(out, number);
  return LANE_BORROWED;
}

static int made(bool good) {
  if (good) return LANE_MADE;
  PyErr_NoMemory();
  return -1;
}

static inline int view_text(const char* data, size_t size, bool bytes,
                            fnabi_any* out) {
  if (size <= FNABI_SMALL_MAX) {
    out->type_index = bytes ? FNABI_INDEX_SMALL_BYTES : FNABI_INDEX_SMALL_STR;
    out->small_size = (uint32_t)size;
    out->v_bits = 0;
    memcpy(out->v_small, data, size);
    return LANE_BORROWED;
  }
  return made(bytes ? fnabi_bytes_new(data, size, out)
                    : fnabi_string_new(data, size, out));
}

static int view_str(PyObject* value, fnabi_any* out) {
  fnabi_byte_array text;
  PyObject* keep;
  if (lane_utf8(value, &text, &keep) < 0) return -1;
  int answer = view_text(text.data, text.size, false, out);
  Py_XDECREF(keep);
  return answer;
}

static int view_dtype(PyObject* value, bool fixed, fnabi_any* out) {
  fnabi_dl_dtype dtype;
  if ((fixed ? lane_dtype : lane_dtype_ask)(value, &dtype) < 0) return -1;
  fnabi_any_set(out, FNABI_INDEX_DTYPE, 0);
  out->v_dtype = dtype;
  return LANE_BORROWED;
}

static int view_device(PyObject* value, bool has_method, fnabi_any* out) {
  fnabi_dl_device device;
  if ((has_method ? lane_device : lane_device_ask)(value, &device) < 0)
    return -1;
  fnabi_any_set(out, FNABI_INDEX_DEVICE, 0);
  out->v_device = device;
  return LANE_BORROWED;
}

static int view_shape(PyObject* value, fnabi_any* out) {
  Py_ssize_t ndim = PyTuple_Size(value);
  int64_t stack[16];
  int64_t* dims = ndim <= 16 ? stack : PyMem_Malloc((size_t)ndim * 8);
  if (dims == NULL) return made(false);
  fnabi_shape_object* shape = NULL;
  Py_ssize_t i = 0;
  while (i < ndim) {
    dims[i] = PyLong_AsLongLong(PyTuple_GetItem(value, i));
    if (dims[i] == -1 && PyErr_Occurred()) break;
    i++;
  }
  if (i == ndim) {
    shape = fnabi_shape_new(dims, (size_t)ndim);
    if (shape == NULL) PyErr_NoMemory();
  }
  if (dims != stack) PyMem_Free(dims);
  if (shape == NULL) return -1;
  fnabi_any_set_object(out, shape);
  return LANE_MADE;
}

static bool is_itself(PyObject* value, PyObject* answer) {
  if (answer != value) return false;
  lane_type_error("%R cannot be converted: its conversion returned itself",
                  value);
  return true;
}

/* The owned value of the result of a conversion method. Takes ownership of
 * `answer`. */
static int own_answer(PyObject* value, PyObject* answer, fnabi_any* out) {
  if (answer == NULL) return -1;
  int status = -1;
  if (!is_itself(value, answer) &&
      lane_level_enter(" while a value is converted") == 0) {
    status = lane_own(answer, out);
    lane_level_leave();
  }
  Py_DECREF(answer);
  return status < 0 ? -1 : LANE_MADE;
}

/* A NumPy scalar becomes the value of its item(). For types that Python lacks,
 * such as long double and int4, item() is a NumPy scalar again. */
static int view_item(PyObject* value, fnabi_any* out) {
  PyObject* item = PyObject_CallMethod(value, "item", NULL);
  if (item == NULL || Py_TYPE(item) != Py_TYPE(value))
    return own_answer(value, item, out);
  Py_DECREF(item);
  if (PyIndex_Check(value))
    return own_answer(value, PyNumber_Index(value), out);
  return view_float(value, out);
}

static int view_method(PyObject* value, const char* method, fnabi_any* out) {
  return own_answer(value, PyObject_CallMethod(value, method, NULL), out);
}

/* The error of a conversion that Python refuses becomes one of the argument,
 * unless the answer has a conversion of its own, which may have failed. */
static int refuse_answer(const char* method, const char* expected,
                         PyObject* answer) {
  if (PyNumber_Check(answer) && !PyLong_Check(answer)) return -1;
  lane_name name = PyErr_ExceptionMatches(PyExc_OverflowError)
                       ? LANE_RANGE_ERROR
                   : PyErr_ExceptionMatches(PyExc_ValueError) ? LANE_VALUE_ERROR
                   : PyErr_ExceptionMatches(PyExc_TypeError)  ? LANE_TYPE_ERROR
                                                              : LANE_NAME_COUNT;
  if (name == LANE_NAME_COUNT) return -1;
  PyErr_Clear();
  PyObject* class = lane_error_class(name);
  if (class != NULL && name == LANE_RANGE_ERROR)
    PyErr_Format(class, "%s(): expected %s, got an int that is too large",
                 method, expected);
  else if (class != NULL)
    PyErr_Format(class, "%s(): expected %s, got %.100R", method, expected,
                 answer);
  return -1;
}

/* The answer becomes an int, as by int(). */
static int view_int_method(PyObject* value, fnabi_any* out) {
  const char* method = "__tvm_ffi_int__";
  PyObject *answer = PyObject_CallMethod(value, method, NULL), *number = NULL;
  if (answer != NULL && !is_itself(value, answer)) {
    number = PyNumber_Long(answer);
    if (number == NULL) refuse_answer(method, "a number", answer);
  }
  Py_XDECREF(answer);
  return own_answer(value, number, out);
}

/* The answer becomes a float, whatever number it is. */
static int view_float_method(PyObject* value, fnabi_any* out) {
  const char* method = "__tvm_ffi_float__";
  PyObject* answer = PyObject_CallMethod(value, method, NULL);
  if (answer == NULL) return -1;
  int status = -1;
  if (!is_itself(value, answer)) {
    status = view_float(answer, out);
    if (status < 0) refuse_answer(method, "a number", answer);
  }
  Py_DECREF(answer);
  return status;
}

/* The address that a method, which is named in errors, has answered. */
static int view_pointer(const char* method, PyObject* number, fnabi_any* out) {
  if (number == NULL) return -1;
  void* pointer = number == Py_None ? NULL : PyLong_AsVoidPtr(number);
  bool good = pointer != NULL || !PyErr_Occurred();
  if (!good) refuse_answer(method, "an address", number);
  Py_DECREF(number);
  if (!good) return -1;
  fnabi_any_set(out, FNABI_INDEX_POINTER, 0);
  out->v_pointer = pointer;
  return LANE_BORROWED;
}

static int view_pointer_method(PyObject* value, fnabi_any* out) {
  const char* method = "__tvm_ffi_opaque_ptr__";
  PyObject* answer = PyObject_CallMethod(value, method, NULL);
  if (answer != Py_None) return view_pointer(method, answer, out);
  Py_DECREF(answer);
  lane_type_error("__tvm_ffi_opaque_ptr__(): expected an address, got None");
  return -1;
}

/* A stream is passed as its handle. */
static int view_stream(PyObject* value, fnabi_any* out) {
  PyObject* pair = PyObject_CallMethod(value, "__cuda_stream__", NULL);
  if (pair == NULL) return -1;
  int status = -1;
  bool good = PyTuple_Check(pair) && PyTuple_Size(pair) == 2;
  PyObject* version = good ? PyTuple_GetItem(pair, 0) : NULL;
  if (good && lane_current_dialect == NULL) /* dialects ignore the version */
    good = PyLong_Check(version);
  if (!good)
    lane_type_error(
        "__cuda_stream__(): expected a version and a handle, got %R", pair);
  else if (lane_current_dialect == NULL && PyLong_AsLong(version) != 0)
    lane_value_error("__cuda_stream__(): expected version 0, got %R", version);
  else
    status = view_pointer("__cuda_stream__",
                          Py_NewRef(PyTuple_GetItem(pair, 1)), out);
  Py_DECREF(pair);
  return status;
}

/* An object of the package tvm_ffi. Adds a reference, because tvm_ffi may
 * release its own during a call. */
static int view_peer(PyObject* value, fnabi_any* out) {
  const char* method = "__chandle__";
  if (view_pointer(method, PyObject_CallMethod(value, method, NULL), out) < 0)
    return -1;
  fnabi_object* object = out->v_pointer;
  if (object == NULL) {
    fnabi_any_set(out, FNABI_INDEX_NONE, 0);
    return LANE_BORROWED;
  }
  fnabi_object_retain(object);
  fnabi_any_set_object(out, object);
  return LANE_MADE;
}

static void delete_opaque(void* self, int flags) {
  if (flags & FNABI_DELETER_STRONG)
    lane_drop(((fnabi_opaque_object*)self)->handle);
  if (flags & FNABI_DELETER_WEAK) fnabi_object_free(self);
}

static int make_opaque(PyObject* value, fnabi_any* out) {
  fnabi_opaque_object* opaque =
      fnabi_object_new(sizeof *opaque, FNABI_INDEX_OPAQUE_PY, delete_opaque);
  if (opaque == NULL) return made(false);
  Py_INCREF(value);
  opaque->handle = value;
  fnabi_any_set_object(out, opaque);
  return LANE_MADE;
}

static int make_array(PyObject* values, fnabi_any* out) {
  Py_ssize_t size = lane_any_array_size(values);
  const fnabi_any* from = lane_any_array_data(values);
  fnabi_seq_object* array = fnabi_array_new(size);
  if (array == NULL) return made(false);
  for (Py_ssize_t i = 0; i < size; i++) {
    fnabi_any_retain(from + i);
    array->data[i] = from[i];
  }
  fnabi_any_set_object(out, array);
  return LANE_MADE;
}

static int view_kind(PyObject* value, kind kind, fnabi_any* out) {
  switch (kind) {
    case KIND_UNKNOWN:
      return -1;
    case KIND_INT:
      return view_int(value, out);
    case KIND_FLOAT:
    case KIND_REAL:
      return view_float(value, out);
    case KIND_BOOL:
      fnabi_any_set(out, FNABI_INDEX_BOOL, value == Py_True);
      return LANE_BORROWED;
    case KIND_STR:
      return view_str(value, out);
    case KIND_BYTES:
      return view_text(PyBytes_AsString(value), (size_t)PyBytes_Size(value),
                       true, out);
    case KIND_BYTEARRAY:
      return view_text(PyByteArray_AsString(value),
                       (size_t)PyByteArray_Size(value), true, out);
    case KIND_SEQUENCE:
      return lane_array_own(value, out) < 0 ? -1 : LANE_MADE;
    case KIND_DICT:
      return lane_map_own(value, out) < 0 ? -1 : LANE_MADE;
    case KIND_NUMPY:
      return lane_tensor_of_numpy(value, out) < 0 ? -1 : LANE_MADE;
    case KIND_ANY:
      *out = lane_any_value(value);
      return LANE_BORROWED;
    case KIND_ANY_ARRAY:
      return make_array(value, out);
    case KIND_TENSOR:
      return lane_tensor_view(value, out);
    case KIND_OBJECT:
      if (((lane_object*)value)->exchange != NULL) lane_note_container(value);
      fnabi_any_set_object(out, ((lane_object*)value)->object);
      return LANE_BORROWED;
    case KIND_FUNCTION: {
      fnabi_object* function = lane_function_object(value);
      if (function == NULL) return -1;
      fnabi_any_set_object(out, function);
      return LANE_BORROWED;
    }
    case KIND_SHAPE:
      return view_shape(value, out);
    case KIND_MOVED:
      return lane_moved_view(value, out) < 0 ? -1 : LANE_BORROWED;
    case KIND_EXCEPTION:
      return lane_error_own(value, out) < 0 ? -1 : LANE_MADE;
    case KIND_EXCHANGE:
      return lane_tensor_of_exchange(value, out) < 0 ? -1 : LANE_MADE;
    case KIND_STREAM:
      return view_stream(value, out);
    case KIND_DLPACK:
      return lane_tensor_of_dlpack(value, out) < 0 ? -1 : LANE_MADE;
    case KIND_BUFFER:
      return lane_tensor_of_buffer(value, out) < 0 ? -1 : LANE_MADE;
    case KIND_POINTER:
      return view_pointer("value", PyObject_GetAttrString(value, "value"), out);
    case KIND_DTYPE:
      return view_dtype(value, true, out);
    case KIND_DTYPE_LIKE:
      return view_dtype(value, false, out);
    case KIND_DEVICE:
      return view_device(value, true, out);
    case KIND_DEVICE_LIKE:
      return view_device(value, false, out);
    case KIND_ITEM:
      return view_item(value, out);
    case KIND_COMPLEX:
      return own_answer(
          value,
          PyObject_CallFunctionObjArgs((PyObject*)&PyComplex_Type, value, NULL),
          out);
    case KIND_INTEGRAL:
      return own_answer(value, PyNumber_Long(value), out);
    case KIND_PEER:
      return view_peer(value, out);
    case KIND_PROTOCOL:
      return view_method(value, "__tvm_ffi_object__", out);
    case KIND_PROTOCOL_VALUE:
      return view_method(value, "__tvm_ffi_value__", out);
    case KIND_PROTOCOL_INT:
      return view_int_method(value, out);
    case KIND_PROTOCOL_FLOAT:
      return view_float_method(value, out);
    case KIND_PROTOCOL_POINTER:
      return view_pointer_method(value, out);
    case KIND_CALLABLE:
      return lane_callback_own(value, out) < 0 ? -1 : LANE_MADE;
    case KIND_OPAQUE:
      return make_opaque(value, out);
  }
  Py_UNREACHABLE();
}

int lane_view(PyObject* value, fnabi_any* out) {
  if (value == Py_None) {
    fnabi_any_set(out, FNABI_INDEX_NONE, 0);
    return LANE_BORROWED;
  }
  PyTypeObject* type = Py_TYPE(value);
  if (type == &PyLong_Type) return view_int(value, out);
  if (type == &PyUnicode_Type) return view_str(value, out);
  if (type == &PyFloat_Type) return view_float(value, out);
  kind kind = kind_of(type);
  if (kind == KIND_EXCHANGE)
    return lane_tensor_of_exchange(value, out) < 0 ? -1 : LANE_MADE;
  return view_kind(value, kind, out);
}

int lane_is_sequence(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (type == &PyRange_Type) return 1;
  kind kind = kind_of(type);
  return kind == KIND_UNKNOWN ? -1 : kind == KIND_SEQUENCE;
}

int lane_own(PyObject* value, fnabi_any* out) {
  int status = lane_view(value, out);
  if (status == LANE_BORROWED && out->type_index == FNABI_INDEX_RVALUE) {
    fnabi_object** place = out->v_pointer; /* an rvalue is not kept: take it */
    fnabi_any_set_object(out, *place);
    *place = NULL;
    return 0;
  }
  if (status == LANE_BORROWED) fnabi_any_retain(out);
  if (status == LANE_BORROWED && out->type_index == FNABI_INDEX_DLTENSOR)
    status = lane_value_error(
        "a Tensor that is only valid during one call cannot be kept; make a "
        "copy");
  if (status < 0) fnabi_any_set(out, FNABI_INDEX_NONE, 0);
  return status < 0 ? -1 : 0;
}
