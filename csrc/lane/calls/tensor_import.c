/* Tensors over the memory of arrays: of NumPy, with the exchange API of DLPack,
 * with its capsules, or with a buffer. */
#include "lane/calls/tensor_import.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/array.h"
#include "calls/map.h"
#include "calls/tensor.h"
#include "lane/calls/context.h"
#include "lane/calls/dtype.h"
#include "lane/calls/tensor_numpy.h"
#include "lane/runtime/call_error.h"
#include "lane/runtime/shutdown.h"

/* ------------------------------------------------------------------- dtypes */

static int dtype_of(PyObject* dtype, fnabi_dl_dtype* out) {
  if (lane_dtype(dtype, out) < 0) return -1;
  if (fnabi_dl_item_size(*out) != 0) return 0;
  return lane_type_error(
      "each element of %S is stored in its own byte, but DLPack packs them; "
      "pass .view(\"uint8\")",
      dtype);
}

/* The dtype of a buffer's format: one letter after a byte order. */
static bool dtype_of_format(const char* format, Py_ssize_t itemsize,
                            fnabi_dl_dtype* dtype) {
  const uint16_t one = 1;
  bool little = *(const char*)&one;
  if (format == NULL) format = "B";
  if (*format == '>' || *format == '!' || *format == '<') {
    if ((*format == '<') != little && itemsize > 1) return false;
    format++;
  } else if (*format == '@' || *format == '=' || *format == '|') {
    format++;
  }
  size_t parts = *format == 'Z' ? 2 : 1;
  if (strlen(format) != parts || itemsize < 1 || itemsize > 16) return false;
  if (parts == 2 && strchr("fd", format[1]) == NULL) return false;
  if (strchr("bhilqn", *format) != NULL)
    dtype->code = FNABI_DL_INT;
  else if (strchr("BHILQNc", *format) != NULL)
    dtype->code = FNABI_DL_UINT;
  else if (strchr("efd", *format) != NULL)
    dtype->code = FNABI_DL_FLOAT;
  else if (strchr("ZFD", *format) != NULL)
    dtype->code = FNABI_DL_COMPLEX;
  else if (*format == '?')
    dtype->code = FNABI_DL_BOOL;
  else
    return false;
  dtype->bits = (uint8_t)(itemsize * 8);
  dtype->lanes = 1;
  return true;
}

FNABI_FAST_THREAD lane_arguments* lane_converting;

int lane_tensor_refuse(const char* problem) {
  if (problem == NULL) return lane_no_memory();
  return lane_call_error("the tensor is invalid: %s", problem);
}

int lane_tensor_check_writable(bool read_only) {
  if (!read_only || (lane_converting != NULL && lane_converting->read_only))
    return 0;
  return lane_value_error(
      "expected memory that may be written to, got a read-only array; pass a "
      "copy, or set allow_read_only of a function that only reads");
}

/* -------------------------------------------------------------- from Python */

static void let_go(void* owner) { lane_drop(owner); }

/* Tensors of calls that have ended, kept for later ones: one allocation less
 * for each array. The GIL guards them. */
#ifdef Py_GIL_DISABLED
static bool keep_spare(fnabi_held_tensor* held) {
  (void)held;
  return false;
}

static fnabi_held_tensor* take_spare(const fnabi_dl_tensor* view) {
  (void)view;
  return NULL;
}
#else
enum { SPARES = 8 };
static fnabi_held_tensor* spares[SPARES];
static int spare_count;

static bool keep_spare(fnabi_held_tensor* held) {
  if (spare_count == SPARES) return false;
  spares[spare_count++] = held;
  return true;
}

static fnabi_held_tensor* take_spare(const fnabi_dl_tensor* view) {
  if (spare_count == 0 || view->ndim > FNABI_TENSOR_DIMS) return NULL;
  return spares[--spare_count];
}
#endif

bool lane_tensor_dispose(fnabi_object* object) {
  fnabi_held_tensor* held = fnabi_tensor_held(object);
  if (held == NULL || held->let_go != let_go ||
      fnabi_atomic_load(&object->counts, ACQUIRE) != (FNABI_WEAK_ONE | 1))
    return false;
  PyObject* owner = held->owner;
  if (!keep_spare(held)) fnabi_object_free(held);
  Py_DECREF(owner);
  return true;
}

/* Creates a tensor over the memory of `owner`, and adds a reference to it. */
FNABI_INLINE int lend(const fnabi_dl_tensor* view, PyObject* owner,
                      bool read_only, fnabi_any* out) {
  if (read_only && lane_tensor_check_writable(true) < 0) return -1;
  fnabi_held_tensor* held = take_spare(view);
  uint64_t flags = read_only ? FNABI_DL_READ_ONLY : 0;
  if (held != NULL)
    fnabi_tensor_renew(held, view, owner, let_go, flags);
  else
    held = fnabi_tensor_new(view, owner, let_go, flags);
  if (held == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  Py_INCREF(owner);
  out->type_index = FNABI_INDEX_TENSOR;
  out->small_size = 0;
  out->v_object = &held->tensor.object;
  return 0;
}

/* The same with Python's dims, whose strides are in bytes. A stride that is
 * never used may have any value. */
static int lend_dims(fnabi_dl_tensor* view, const Py_ssize_t* shape,
                     const Py_ssize_t* strides, PyObject* owner, bool read_only,
                     fnabi_any* out) {
  enum { FEW = 8 };
  int64_t few[2 * FEW];
  int64_t* dims = few;
  int32_t ndim = view->ndim;
  if (ndim > FEW) {
    dims = PyMem_Malloc((size_t)ndim * 2 * sizeof *dims);
    if (dims == NULL) {
      PyErr_NoMemory();
      return -1;
    }
  }
  const int64_t size = (int64_t)fnabi_dl_item_size(view->dtype);
  /* a division would dominate the cost */
  const int shift = size > 0 && (size & (size - 1)) == 0
                        ? (int)fnabi_trailing_zeros((uint64_t)size)
                        : -1;
  int status = 0;
  view->shape = dims;
  view->strides = ndim > 0 ? dims + ndim : NULL;
  for (int32_t i = 0; i < ndim; i++) {
    int64_t stride = strides[i];
    int64_t elements = shift >= 0 ? stride >> shift : stride / size;
    dims[i] = shape[i];
    dims[ndim + i] = elements;
    if (elements * size != stride && shape[i] > 1) status = -1;
  }
  if (status < 0 && fnabi_dl_count(view) == 0) status = 0;
  if (status < 0)
    lane_value_error(
        "the strides are not multiples of the element size of %d bytes, which "
        "DLPack requires; pass a copy",
        (int)size);
  else
    status = lend(view, owner, read_only, out);
  if (dims != few) PyMem_Free(dims);
  return status;
}

int lane_tensor_of_buffer(PyObject* array, fnabi_any* out) {
  /* Nobody else can release our own memoryview. */
  PyObject* keep = PyMemoryView_FromObject(array);
  if (keep == NULL)
    return PyMemoryView_Check(array) && lane_clear()
               ? lane_value_error("the memoryview was released")
               : -1;
  Py_buffer buffer;
  int status = PyObject_GetBuffer(keep, &buffer, PyBUF_RECORDS_RO);
  if (status == 0) {
    fnabi_dl_tensor view = {
        .data = buffer.buf, .device = {FNABI_DL_CPU, 0}, .ndim = buffer.ndim};
    if (dtype_of_format(buffer.format, buffer.itemsize, &view.dtype))
      status = lend_dims(&view, buffer.shape, buffer.strides, keep,
                         buffer.readonly, out);
    else
      status = lane_type_error(
          "DLPack has no dtype for a buffer of format '%s'; expected a number "
          "in the byte order of this machine",
          buffer.format ? buffer.format : "B");
    PyBuffer_Release(&buffer);
  }
  Py_DECREF(keep);
  return status;
}

/* -------------------------------------------------------------------- NumPy */

/* The beginning of an array is part of the ABI that NumPy gives to extension
 * modules: PyArray_DATA and its like, which read it, are compiled into each of
 * them. It has been the same in both versions of that ABI. */
typedef struct numpy_array {
  PyObject_HEAD char* data;
  int ndim;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  PyObject* base;
  PyObject* dtype;
  int flags;
} numpy_array;

enum { NUMPY_WRITEABLE = 0x400 };

typedef enum numpy_way {
  NUMPY_UNKNOWN,
  NUMPY_FIELDS,
  NUMPY_BUFFER /* unknown ABI: uses the buffer protocol */
} numpy_way;

static bool same_fields(PyObject* array) {
  const numpy_array* a = (const numpy_array*)array;
  Py_buffer buffer;
  if (PyObject_GetBuffer(array, &buffer, PyBUF_STRIDED_RO) < 0) return false;
  PyObject* dtype = PyObject_GetAttrString(array, "dtype");
  bool same = dtype == a->dtype && buffer.buf == a->data &&
              buffer.ndim == a->ndim && buffer.ndim == 2 &&
              buffer.readonly == !(a->flags & NUMPY_WRITEABLE);
  for (int i = 0; same && i < 2; i++)
    same = buffer.shape[i] == a->shape[i] && buffer.strides[i] == a->strides[i];
  Py_XDECREF(dtype);
  PyBuffer_Release(&buffer);
  return same;
}

/* Compares the fields with the buffer protocol on a new array, even if the
 * version of the ABI is known. If memory runs out, the way stays unknown. */
static numpy_way find_numpy_way(void) {
  void** numpy = lane_numpy();
  if (numpy == NULL) return lane_clear() ? NUMPY_BUFFER : NUMPY_UNKNOWN;
  PyObject* probe = PyObject_CallFunction(lane_numpy_array_type(numpy), "(nn)s",
                                          (Py_ssize_t)3, (Py_ssize_t)5, "u2");
  PyObject* part = probe ? PyObject_GetAttrString(probe, "T") : NULL;
  bool same = part && same_fields(probe) && same_fields(part);
  Py_XDECREF(part);
  Py_XDECREF(probe);
  if (!lane_clear()) return NUMPY_UNKNOWN;
  return same ? NUMPY_FIELDS : NUMPY_BUFFER;
}

static int numpy_by_buffer(PyObject* array, fnabi_any* out) {
  fnabi_dl_tensor view = {.device = {FNABI_DL_CPU, 0}};
  PyObject* dtype = PyObject_GetAttrString(array, "dtype");
  int status = dtype ? dtype_of(dtype, &view.dtype) : -1;
  Py_XDECREF(dtype);
  Py_buffer buffer;
  if (status < 0 || PyObject_GetBuffer(array, &buffer, PyBUF_STRIDED_RO) < 0)
    return -1;
  view.data = buffer.buf;
  view.ndim = buffer.ndim;
  status = lend_dims(&view, buffer.shape, buffer.strides, array,
                     buffer.readonly, out);
  PyBuffer_Release(&buffer);
  return status;
}

/* Rejects masked arrays, whose mask would be lost. */
static int check_mask(PyObject* array) {
  PyObject* masked = lane_imported("numpy.ma", "MaskedArray");
  int answer =
      masked ? PyObject_IsInstance(array, masked) : -(PyErr_Occurred() != NULL);
  Py_XDECREF(masked);
  if (answer > 0)
    lane_value_error(
        "the array has a mask, which DLPack does not support; pass "
        ".filled(value) or .data");
  return answer == 0 ? 0 : -1;
}

int lane_tensor_of_numpy(PyObject* array, fnabi_any* out) {
  static numpy_way way;
  static PyTypeObject* plain; /* the last type that was not a masked array */
  if (way == NUMPY_UNKNOWN) way = find_numpy_way();
  if (way == NUMPY_UNKNOWN) return -1;
  if (Py_TYPE(array) != plain) {
    if (check_mask(array) < 0) return -1;
    PyObject* old = (PyObject*)plain;
    plain = Py_TYPE(array);
    Py_INCREF((PyObject*)plain);
    Py_XDECREF(old);
  }
  if (way == NUMPY_BUFFER) return numpy_by_buffer(array, out);
  const numpy_array* a = (const numpy_array*)array;
  fnabi_dl_tensor view = {
      .data = a->data, .device = {FNABI_DL_CPU, 0}, .ndim = a->ndim};
  if (dtype_of(a->dtype, &view.dtype) < 0) return -1;
  return lend_dims(&view, a->shape, a->strides, array,
                   !(a->flags & NUMPY_WRITEABLE), out);
}

/* ------------------------------------------------------------------- DLPack */

/* The value of a tensor made from a DLPack struct. */
static int own_tensor(fnabi_held_tensor* held, const char* problem,
                      fnabi_any* out) {
  if (held == NULL) return lane_tensor_refuse(problem);
  if (lane_tensor_check_writable(held->flags & FNABI_DL_READ_ONLY) < 0) {
    lane_release(&held->tensor.object);
    return -1;
  }
  fnabi_any_set_object(out, held);
  return 0;
}

static PyObject* dlpack_of(PyObject* array) {
  PyObject *method = PyObject_GetAttrString(array, "__dlpack__"),
           *none = PyTuple_New(0),
           *version = Py_BuildValue("{s:(ii)}", "max_version", FNABI_DL_MAJOR,
                                    FNABI_DL_MINOR),
           *capsule = NULL;
  if (method && none && version) {
    capsule = PyObject_Call(method, none, version);
    /* older versions of the protocol lack the argument */
    if (capsule == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
      PyErr_Clear();
      capsule = PyObject_Call(method, none, NULL);
    }
  }
  Py_XDECREF(method);
  Py_XDECREF(none);
  Py_XDECREF(version);
  return capsule;
}

int lane_tensor_of_dlpack(PyObject* array, fnabi_any* out) {
  PyObject* capsule = dlpack_of(array);
  if (capsule == NULL) return -1;
  const char* problem = NULL;
  int status = -1;
  /* the new name marks the capsule as consumed */
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    void* managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    if (PyCapsule_SetName(capsule, "used_dltensor_versioned") == 0) {
      fnabi_held_tensor* held = fnabi_tensor_of_versioned(managed, &problem);
      status = own_tensor(held, problem, out);
    }
  } else if (PyCapsule_IsValid(capsule, "dltensor")) {
    void* managed = PyCapsule_GetPointer(capsule, "dltensor");
    if (PyCapsule_SetName(capsule, "used_dltensor") == 0) {
      fnabi_held_tensor* held = fnabi_tensor_of_managed(managed, &problem);
      status = own_tensor(held, problem, out);
    }
  } else {
    lane_type_error("expected a DLPack capsule from __dlpack__(), got %R",
                    capsule);
  }
  Py_DECREF(capsule);
  return status;
}

/* NULL also for an API of an unknown version. The cache holds a reference to
 * each type. */
const fnabi_dl_exchange* lane_exchange_of(PyTypeObject* type) {
  enum { KNOWN = 16 };
  static struct {
    PyTypeObject* type;
    const fnabi_dl_exchange* exchange;
  } known[KNOWN];
  size_t slot = ((uintptr_t)type >> 4) * 0x9E3779B1u / 64 % KNOWN;
  if (known[slot].type == type) return known[slot].exchange;
  PyObject* given =
      PyObject_GetAttrString((PyObject*)type, "__dlpack_c_exchange_api__");
  const fnabi_dl_exchange* exchange = NULL;
  if (given != NULL && PyCapsule_IsValid(given, "dlpack_exchange_api"))
    exchange = PyCapsule_GetPointer(given, "dlpack_exchange_api");
  else if (given != NULL && PyLong_Check(given))
    exchange = PyLong_AsVoidPtr(given);
  Py_XDECREF(given);
  if (!lane_clear()) return NULL;
  while (exchange != NULL && exchange->major != FNABI_DL_MAJOR)
    exchange = exchange->older;
  PyObject* old = (PyObject*)known[slot].type;
  Py_INCREF((PyObject*)type);
  known[slot].type = type;
  known[slot].exchange = exchange;
  Py_XDECREF(old);
  return exchange;
}

/* torch leaves it to the consumer to negate or conjugate some tensors, and the
 * exchange API does not report which. Only a complex tensor, or the imaginary
 * part of one, whose strides are even, can be such a tensor. */
static int check_pending(PyObject* array, const fnabi_dl_tensor* view) {
  bool complex = view->dtype.code == FNABI_DL_COMPLEX, odd = false;
  for (int32_t i = 0; i < view->ndim && view->strides; i++)
    odd = odd || view->strides[i] & 1;
  if (!complex && (odd || view->strides == NULL)) return 0;
  static const char* const questions[] = {"is_conj", "is_neg"};
  for (size_t i = 0; i < 2; i++) {
    PyObject* answer = PyObject_CallMethod(array, questions[i], NULL);
    if (answer == Py_True)
      lane_value_error(
          "the tensor's values differ from its memory, because %s() is true; "
          "pass .resolve_conj().resolve_neg()",
          questions[i]);
    /* only a tensor of torch has the methods */
    bool refused = answer == Py_True || (answer == NULL && !lane_clear());
    Py_XDECREF(answer);
    if (refused) return -1;
  }
  return 0;
}

/* Remembers the framework and the device of a tensor for the environment of the
 * call whose arguments are being converted. */
static void note_exchange(const fnabi_dl_exchange* exchange,
                          const fnabi_dl_tensor* tensor) {
  lane_arguments* call = lane_converting;
  if (call == NULL) return;
  call->exchange = exchange;
  if (tensor->device.type == FNABI_DL_CPU || call->device_exchange != NULL)
    return;
  call->device_exchange = exchange;
  call->device = tensor->device;
}

/* The first tensor in a container that is not in memory of the CPU, or NULL. */
static const fnabi_dl_tensor* device_tensor(const fnabi_any* any, int depth) {
  enum { DEPTH = 32 };
  const fnabi_object* object = fnabi_any_object(any);
  const fnabi_dl_tensor* found = NULL;
  if (object == NULL || depth > DEPTH) return NULL;
  switch (object->type_index) {
    case FNABI_INDEX_TENSOR:
      found = &((const fnabi_tensor_object*)object)->tensor;
      return found->device.type == FNABI_DL_CPU ? NULL : found;
    case FNABI_INDEX_ARRAY:
    case FNABI_INDEX_LIST: {
      const fnabi_seq_object* seq = (const fnabi_seq_object*)object;
      if (fnabi_seq_problem(seq) != NULL) return NULL;
      for (int64_t i = 0; found == NULL && i < seq->size; i++)
        found = device_tensor(seq->data + i, depth + 1);
      return found;
    }
    case FNABI_INDEX_MAP:
    case FNABI_INDEX_DICT: {
      const fnabi_map_object* map = (const fnabi_map_object*)object;
      uint64_t cursor = FNABI_MAP_BEGIN;
      const fnabi_any *key, *value;
      if (fnabi_map_problem(map) != NULL) return NULL;
      while (found == NULL && fnabi_map_next(map, &cursor, &key, &value))
        found = device_tensor(value, depth + 1);
      return found;
    }
    default:
      return NULL;
  }
}

void lane_note_container(PyObject* container) {
  const lane_object* self = (const lane_object*)container;
  lane_arguments* call = lane_converting;
  if (call == NULL) return;
  switch (self->object->type_index) {
    case FNABI_INDEX_ARRAY:
    case FNABI_INDEX_LIST:
    case FNABI_INDEX_MAP:
    case FNABI_INDEX_DICT:
      break;
    default:
      return;
  }
  if (call->exchange == NULL) call->exchange = self->exchange;
  if (call->device_exchange != NULL) return;
  fnabi_any any;
  fnabi_any_set_object(&any, self->object);
  const fnabi_dl_tensor* tensor = device_tensor(&any, 0);
  if (tensor == NULL) return;
  call->device_exchange = self->exchange;
  call->device = tensor->device;
}

/* Raises an exception for a tensor that no framework can be given: an invalid
 * one, and one with elements before the first, for which torch ends the
 * process. */
static bool check_for_framework(const fnabi_dl_tensor* tensor) {
  const char* problem = fnabi_dl_problem(tensor);
  bool empty = false, back = false;
  for (int32_t i = 0; problem == NULL && i < tensor->ndim; i++) {
    empty |= tensor->shape[i] == 0;
    if (tensor->strides != NULL && tensor->shape[i] > 1)
      back |= tensor->strides[i] < 0;
  }
  if (problem != NULL)
    lane_tensor_refuse(problem);
  else if (back && !empty)
    lane_value_error(
        "expected a tensor whose strides are not negative, as those of "
        "frameworks are; pass or return a copy");
  return problem == NULL && (empty || !back);
}

PyObject* lane_tensor_into_framework(fnabi_object* object) {
  const fnabi_dl_exchange* exchange = lane_exchange;
  fnabi_tensor_object* tensor = (fnabi_tensor_object*)object;
  if (!check_for_framework(&tensor->tensor)) {
    lane_release(object);
    return NULL;
  }
  const fnabi_held_tensor* held = fnabi_tensor_held(object);
  /* a tensor over an array of the framework becomes that array again; in a
   * dialect a new one, as in the original: without a gradient, of no subclass
   */
  if (held != NULL && held->let_go == let_go && lane_current_dialect == NULL) {
    const fnabi_dl_exchange* lent =
        lane_exchange_of(Py_TYPE((PyObject*)held->owner));
    bool failed = lent == NULL && PyErr_Occurred() != NULL;
    PyObject* owner =
        lent == exchange ? Py_NewRef((PyObject*)held->owner) : NULL;
    if (failed || owner != NULL) {
      lane_release(object);
      return owner;
    }
  }
  fnabi_dl_versioned* managed = fnabi_tensor_into_versioned(
      tensor, held != NULL ? held->flags & FNABI_DL_READ_ONLY : 0);
  if (managed == NULL) {
    lane_release(object);
    return PyErr_NoMemory();
  }
  void* made = NULL;
  if (exchange->object_of(managed, &made) == 0 && made != NULL) return made;
  if (!PyErr_Occurred())
    lane_call_error(
        "the exchange API failed to make a tensor and set no error");
  return NULL;
}

int lane_tensor_of_exchange(PyObject* array, fnabi_any* out) {
  const fnabi_dl_exchange* exchange = lane_exchange_of(Py_TYPE(array));
  if (exchange == NULL)
    return PyErr_Occurred() ? -1 : lane_tensor_of_dlpack(array, out);
  if (exchange->view_of != NULL) {
    fnabi_dl_tensor view;
    if (exchange->view_of(array, &view) != 0) goto failed;
    const char* problem = fnabi_dl_problem(&view);
    if (problem != NULL) return lane_tensor_refuse(problem);
    if (check_pending(array, &view) < 0) return -1;
    note_exchange(exchange, &view);
    return lend(&view, array, false, out);
  }
  fnabi_dl_versioned* managed = NULL;
  if (exchange->managed_of(array, &managed) == 0 && managed != NULL) {
    const char* problem;
    fnabi_held_tensor* held = fnabi_tensor_of_versioned(managed, &problem);
    if (held != NULL) note_exchange(exchange, &held->tensor.tensor);
    return own_tensor(held, problem, out);
  }
failed:
  if (!PyErr_Occurred())
    lane_call_error("its DLPack exchange API failed without an exception");
  return -1;
}
