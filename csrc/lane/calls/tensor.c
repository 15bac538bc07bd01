/* The Python type Tensor: its attributes, and NumPy's and DLPack's protocols. */
#include "lane/calls/types.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/tensor.h"
#include "lane/calls/context.h"
#include "lane/calls/dtype.h"
#include "lane/calls/from_value.h"
#include "lane/calls/init.h"
#include "lane/calls/level.h"
#include "lane/calls/peer.h"
#include "lane/calls/tensor_import.h"
#include "lane/calls/tensor_numpy.h"
#include "lane/calls/tensor_view.h"
#include "lane/calls/to_value.h"
#include "lane/calls/wrap.h"
#include "lane/runtime/call_error.h"
#include "lane/runtime/hooks.h"

/* The struct module's letter for a dtype; NULL when it has none. */
static const char* format_of(fnabi_dl_dtype dtype) {
  static const struct {
    uint8_t code;
    uint8_t bits;
    const char* format;
  } formats[] = {
      {FNABI_DL_FLOAT, 32, "f"},    {FNABI_DL_FLOAT, 64, "d"},
      {FNABI_DL_FLOAT, 16, "e"},    {FNABI_DL_INT, 8, "b"},
      {FNABI_DL_INT, 16, "h"},      {FNABI_DL_INT, 32, "i"},
      {FNABI_DL_INT, 64, "q"},      {FNABI_DL_UINT, 8, "B"},
      {FNABI_DL_UINT, 16, "H"},     {FNABI_DL_UINT, 32, "I"},
      {FNABI_DL_UINT, 64, "Q"},     {FNABI_DL_BOOL, 8, "?"},
      {FNABI_DL_COMPLEX, 64, "Zf"}, {FNABI_DL_COMPLEX, 128, "Zd"},
  };
  if (dtype.lanes != 1) return NULL;
  if (sizeof(long) == 8 && dtype.bits == 64 && dtype.code <= FNABI_DL_UINT)
    return dtype.code == FNABI_DL_INT ? "l" : "L"; /* NumPy's int64 */
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
    if (formats[i].code == dtype.code && formats[i].bits == dtype.bits)
      return formats[i].format;
  return NULL;
}

static bool is_lent(PyObject* self) {
  fnabi_held_tensor* held = fnabi_tensor_held(((lane_object*)self)->object);
  return held != NULL && held->flags & FNABI_TENSOR_BORROWED;
}

/* A copy of a tensor's elements, or BufferError where the CPU cannot make one.
 */
static fnabi_held_tensor* copy_of(const fnabi_dl_tensor* tensor) {
  const char* problem = NULL;
  if (!fnabi_dl_on_host(tensor->device))
    problem = "its memory is not the CPU's, which cannot copy it";
  else if (fnabi_dl_item_size(tensor->dtype) == 0 &&
           !fnabi_dl_compact(tensor, 'C'))
    problem =
        "the tensor is not compact; elements of less than a byte can be copied "
        "only if it is";
  if (problem != NULL) {
    PyErr_Format(PyExc_BufferError, "Tensor: %s", problem);
    return NULL;
  }
  fnabi_held_tensor* made = fnabi_tensor_copy(tensor);
  if (made == NULL) PyErr_NoMemory();
  return made;
}

/* A Tensor over a copy of the elements of a lent one, which outlives the call.
 * It is read-only, so that a write to it is an error and not lost. */
static PyObject* copy_of_lent(PyObject* self) {
  const fnabi_dl_tensor* tensor = lane_tensor_in(self);
  fnabi_held_tensor* made = tensor ? copy_of(tensor) : NULL;
  if (made == NULL) return NULL;
  made->flags |= FNABI_DL_READ_ONLY;
  return lane_wrap(lane.tensor, &made->tensor.object);
}

static uint64_t flags_of(PyObject* self) {
  fnabi_held_tensor* held = fnabi_tensor_held(((lane_object*)self)->object);
  return held == NULL ? 0 : held->flags & FNABI_DL_READ_ONLY;
}

/* ------------------------------------------------------------------- Tensor */

static PyObject* get_shape(PyObject* self, void* unused) {
  (void)unused;
  const fnabi_dl_tensor* tensor = lane_tensor_in(self);
  return tensor ? lane_int_tuple(tensor->shape, tensor->ndim) : NULL;
}

static PyObject* get_strides(PyObject* self, void* unused) {
  (void)unused;
  const fnabi_dl_tensor* tensor = lane_tensor_in(self);
  if (tensor == NULL) return NULL;
  if (tensor->strides != NULL || tensor->ndim == 0)
    return lane_int_tuple(tensor->strides, tensor->ndim);
  /* NULL in a foreign tensor means compact strides */
  fnabi_held_tensor* held = fnabi_tensor_new(tensor, NULL, NULL, 0);
  if (held == NULL) return PyErr_NoMemory();
  PyObject* tuple = lane_int_tuple(held->tensor.tensor.strides, tensor->ndim);
  fnabi_object_release(held);
  return tuple;
}

static PyObject* get_ndim(PyObject* self, void* unused) {
  (void)unused;
  const fnabi_dl_tensor* tensor = lane_tensor_in(self);
  return tensor ? PyLong_FromLong(tensor->ndim) : NULL;
}

static PyObject* get_size(PyObject* self, void* unused) {
  (void)unused;
  const fnabi_dl_tensor* tensor = lane_tensor_in(self);
  return tensor ? PyLong_FromLongLong(fnabi_dl_count(tensor)) : NULL;
}

static PyObject* get_nbytes(PyObject* self, void* unused) {
  (void)unused;
  const fnabi_dl_tensor* tensor = lane_tensor_in(self);
  return tensor ? PyLong_FromLongLong(fnabi_dl_bytes(tensor)) : NULL;
}

static PyObject* get_data_ptr(PyObject* self, void* unused) {
  (void)unused;
  const fnabi_dl_tensor* tensor = lane_tensor_in(self);
  return tensor ? PyLong_FromVoidPtr(fnabi_dl_data(tensor)) : NULL;
}

static PyObject* get_read_only(PyObject* self, void* unused) {
  (void)unused;
  return lane_tensor_in(self) ? PyBool_FromLong(flags_of(self) != 0) : NULL;
}

static PyObject* from_tensor(PyObject* self, const fnabi_any* any) {
  lane_context outer = lane_enter(self);
  PyObject* value = lane_from(any, false);
  lane_leave(outer);
  return value;
}

static PyObject* get_dtype(PyObject* self, void* unused) {
  (void)unused;
  const fnabi_dl_tensor* tensor = lane_tensor_in(self);
  if (tensor == NULL) return NULL;
  fnabi_any any;
  fnabi_any_set(&any, FNABI_INDEX_DTYPE, 0);
  any.v_dtype = tensor->dtype;
  return from_tensor(self, &any);
}

static PyObject* get_device(PyObject* self, void* unused) {
  (void)unused;
  const fnabi_dl_tensor* tensor = lane_tensor_in(self);
  if (tensor == NULL) return NULL;
  fnabi_any any;
  fnabi_any_set(&any, FNABI_INDEX_DEVICE, 0);
  any.v_device = tensor->device;
  return from_tensor(self, &any);
}

static PyObject* tensor_dlpack_device(PyObject* self, PyObject* unused) {
  (void)unused;
  const fnabi_dl_tensor* tensor = lane_tensor_in(self);
  return tensor ? Py_BuildValue("(ii)", tensor->device.type, tensor->device.id)
                : NULL;
}

/* Frees the tensor of a capsule that was not consumed. */
static void drop_managed(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor")) return;
  fnabi_dl_managed* managed = PyCapsule_GetPointer(capsule, "dltensor");
  managed->deleter(managed);
}

static void drop_versioned(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor_versioned")) return;
  fnabi_dl_versioned* managed =
      PyCapsule_GetPointer(capsule, "dltensor_versioned");
  managed->deleter(managed);
}

static PyObject* export(fnabi_tensor_object* tensor, bool versioned,
                        uint64_t flags) {
  PyObject* capsule;
  if (versioned) {
    fnabi_dl_versioned* managed = fnabi_tensor_to_versioned(tensor, flags);
    if (managed == NULL) return PyErr_NoMemory();
    capsule = PyCapsule_New(managed, "dltensor_versioned", drop_versioned);
    if (capsule == NULL) managed->deleter(managed);
  } else {
    fnabi_dl_managed* managed = fnabi_tensor_to_managed(tensor);
    if (managed == NULL) return PyErr_NoMemory();
    capsule = PyCapsule_New(managed, "dltensor", drop_managed);
    if (capsule == NULL) managed->deleter(managed);
  }
  return capsule;
}

enum { STREAM, MAX_VERSION, DL_DEVICE, COPY, DLPACK_KEYWORDS };

static PyObject* dlpack_names[DLPACK_KEYWORDS]; /* interned */

static bool dlpack_names_init(void) {
  static const char* const names[] = {"stream", "max_version", "dl_device",
                                      "copy"};
  bool good = true;
  for (int k = 0; k < DLPACK_KEYWORDS; k++) {
    dlpack_names[k] = PyUnicode_InternFromString(names[k]);
    good = good && dlpack_names[k] != NULL;
  }
  return good;
}

/* The index of a keyword; DLPACK_KEYWORDS for an unknown one. Callers mostly
 * have the same interned text. */
static int dlpack_keyword(PyObject* name) {
  int k = 0;
  while (k < DLPACK_KEYWORDS && name != dlpack_names[k]) k++;
  if (k < DLPACK_KEYWORDS) return k;
  for (k = 0; k < DLPACK_KEYWORDS; k++)
    if (PyUnicode_Compare(name, dlpack_names[k]) == 0) break;
  return k;
}

/* NumPy always passes three keywords, and the general argument parser would
 * dominate the cost of the call. */
static bool dlpack_keywords(PyObject* const* args, Py_ssize_t count,
                            PyObject* names, PyObject** values) {
  if (count != 0) {
    PyErr_Format(PyExc_TypeError,
                 "__dlpack__() takes 0 positional arguments (%zd given)",
                 count);
    return false;
  }
  for (int k = 0; k < DLPACK_KEYWORDS; k++) values[k] = Py_None;
  for (Py_ssize_t i = 0; names != NULL && i < PyTuple_Size(names); i++) {
    PyObject* name = PyTuple_GetItem(names, i);
    int k = dlpack_keyword(name);
    if (k == DLPACK_KEYWORDS) {
      PyErr_Format(PyExc_TypeError,
                   "%R is an invalid keyword argument for __dlpack__()", name);
      return false;
    }
    values[k] = args[i];
  }
  return true;
}

static PyObject* tensor_dlpack(PyObject* self, PyObject* const* args,
                               Py_ssize_t count, PyObject* names) {
  PyObject* values[DLPACK_KEYWORDS];
  if (!dlpack_keywords(args, count, names, values)) return NULL;
  PyObject *stream = values[STREAM], *version = values[MAX_VERSION],
           *wanted = values[DL_DEVICE], *copy = values[COPY];
  fnabi_dl_tensor* tensor = lane_tensor_in(self);
  if (tensor == NULL) return NULL;
  int major = 0, minor, type = tensor->device.type, id = tensor->device.id;
  if (version != Py_None && !lane_pair(version, &major, &minor)) {
    lane_type_error_got(
        version,
        "Tensor.__dlpack__: max_version: expected a tuple of two ints");
    return NULL;
  }
  if (wanted != Py_None && !lane_pair(wanted, &type, &id)) {
    lane_type_error_got(
        wanted, "Tensor.__dlpack__: dl_device: expected a tuple of two ints");
    return NULL;
  }
  if (stream != Py_None && tensor->device.type == FNABI_DL_CPU) {
    lane_value_error(
        "Tensor.__dlpack__: stream: a CPU tensor has no stream; expected None");
    return NULL;
  }
  bool same = type == tensor->device.type && id == tensor->device.id;
  bool host = type == FNABI_DL_CPU && fnabi_dl_on_host(tensor->device);
  bool lent = is_lent(self); /* what takes the capsule may keep it */
  if (lent && copy == Py_False) {
    PyErr_SetString(
        PyExc_BufferError,
        "Tensor.__dlpack__: the tensor is only valid during one call; "
        "expected copy=None or True");
    return NULL;
  }
  bool copied = lent || copy == Py_True || (copy == Py_None && !same);
  if (copied ? !host : !same) {
    PyErr_Format(
        PyExc_BufferError,
        "Tensor.__dlpack__: memory of device %d:%d cannot be %s device "
        "%d:%d",
        (int)tensor->device.type, (int)tensor->device.id,
        copied ? "copied to" : "exported as that of", type, id);
    return NULL;
  }
  if (copied) {
    fnabi_held_tensor* made = copy_of(tensor);
    if (made == NULL) return NULL;
    uint64_t read_only = lent && major >= 1 ? FNABI_DL_READ_ONLY : 0;
    PyObject* capsule =
        export(&made->tensor, major >= 1, FNABI_DL_COPIED | read_only);
    fnabi_object_release(made);
    return capsule;
  }
  uint64_t flags = flags_of(self);
  if (flags & FNABI_DL_READ_ONLY && major < 1) {
    PyErr_SetString(PyExc_BufferError,
                    "Tensor.__dlpack__: the memory is read-only; expected "
                    "max_version=(1, 0) or newer, which can express it");
    return NULL;
  }
  return export((fnabi_tensor_object*)((lane_object*)self)->object, major >= 1,
                flags);
}

/* Whether a tensor without elements has dims that would be too many bytes, which
 * NumPy refuses. `__array__`, which it asks next, says so. */
static bool is_too_large(const fnabi_dl_tensor* tensor) {
  if (fnabi_dl_bytes(tensor) != 0) return false;
  int64_t left = PY_SSIZE_T_MAX / (int64_t)fnabi_dl_item_size(tensor->dtype);
  for (int32_t i = 0; i < tensor->ndim; i++)
    if (tensor->shape[i] > 0) left /= tensor->shape[i];
  return left == 0;
}

static int tensor_buffer(PyObject* self, Py_buffer* out, int flags) {
  out->obj = NULL;
  if (is_lent(self)) {
    PyObject* copy = copy_of_lent(self);
    int status = copy != NULL ? PyObject_GetBuffer(copy, out, flags) : -1;
    Py_XDECREF(copy);
    return status;
  }
  const fnabi_dl_tensor* tensor = lane_tensor_in(self);
  if (tensor == NULL) return -1;
  const char* format = format_of(tensor->dtype);
  bool read_only = flags_of(self) != 0;
  const char* problem = NULL;
  if (!fnabi_dl_on_host(tensor->device))
    problem = "its memory is not the CPU's";
  else if (format == NULL)
    problem = "its dtype has no buffer format; use numpy()";
  else if (is_too_large(tensor))
    problem = "its dims are larger than memory";
  else if (flags & PyBUF_WRITABLE && read_only)
    problem = "its memory is read-only";
  else if (((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS ||
            (flags & PyBUF_STRIDES) != PyBUF_STRIDES) &&
           !fnabi_dl_compact(tensor, 'C'))
    problem = "its elements are not compact";
  else if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS &&
           !fnabi_dl_compact(tensor, 'F'))
    problem = "its elements are not compact in column-major order";
  else if ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS &&
           !fnabi_dl_compact(tensor, 'C') && !fnabi_dl_compact(tensor, 'F'))
    problem = "its elements are not compact";
  if (problem != NULL) {
    PyErr_Format(PyExc_BufferError, "Tensor: %s", problem);
    return -1;
  }
  int32_t ndim = tensor->ndim;
  Py_ssize_t size = (Py_ssize_t)fnabi_dl_item_size(tensor->dtype);
  Py_ssize_t* dims = PyMem_Malloc((size_t)ndim * 2 * sizeof *dims + 1);
  fnabi_held_tensor* whole = fnabi_tensor_new(tensor, NULL, NULL, 0);
  if (dims == NULL || whole == NULL) {
    PyMem_Free(dims);
    if (whole != NULL) fnabi_object_release(whole);
    PyErr_NoMemory();
    return -1;
  }
  for (int32_t i = 0; i < ndim; i++) {
    dims[i] = (Py_ssize_t)whole->dims[i];
    dims[ndim + i] = (Py_ssize_t)whole->dims[ndim + i] * size;
  }
  fnabi_object_release(whole);
  *out = (Py_buffer){
      .buf = fnabi_dl_data(tensor),
      .obj = self,
      .len = (Py_ssize_t)fnabi_dl_bytes(tensor),
      .itemsize = size,
      .readonly = read_only,
      .ndim = ndim,
      .format = flags & PyBUF_FORMAT ? (char*)format : NULL,
      .shape = flags & PyBUF_ND ? dims : NULL,
      .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? dims + ndim : NULL,
      .internal = dims};
  if (!(flags & PyBUF_ND)) out->ndim = 1; /* as bytes */
  Py_INCREF(self);
  return 0;
}

static void tensor_buffer_release(PyObject* self, Py_buffer* buffer) {
  (void)self;
  PyMem_Free(buffer->internal);
}

static PyObject* tensor_numpy(PyObject* self, PyObject* unused) {
  (void)unused;
  if (is_lent(self)) {
    PyObject* copy = copy_of_lent(self);
    PyObject* array = copy != NULL ? tensor_numpy(copy, NULL) : NULL;
    Py_XDECREF(copy);
    return array;
  }
  const fnabi_dl_tensor* tensor = lane_tensor_in(self);
  if (tensor == NULL) return NULL;
  PyObject* array = NULL;
  bool on_host = fnabi_dl_on_host(tensor->device);
  bool tried = on_host && lane_numpy_of(((lane_object*)self)->object, tensor,
                                        flags_of(self) == 0, &array);
  if (!tried && on_host && format_of(tensor->dtype) != NULL) {
    PyObject* read = lane_get(LANE_READ_NUMPY);
    array = read ? PyObject_CallFunctionObjArgs(read, self, NULL) : NULL;
    tried = true;
  }
  if (tried && (array != NULL || !PyErr_ExceptionMatches(PyExc_ValueError)))
    return array;
  PyErr_Clear(); /* what makes the array next says what NumPy lacks */
  PyObject* make = lane_get(LANE_TO_NUMPY);
  return make ? PyObject_CallFunctionObjArgs(make, self, NULL) : NULL;
}

static PyObject* tensor_array(PyObject* self, PyObject* args, PyObject* named) {
  static char* keywords[] = {"dtype", "copy", NULL};
  PyObject *dtype = Py_None, *copy = Py_None, *result = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, named, "|OO:__array__", keywords,
                                   &dtype, &copy))
    return NULL;
  PyObject* array = tensor_numpy(self, NULL);
  if (array == NULL || (dtype == Py_None && copy != Py_True)) return array;
  if (dtype == Py_None) {
    result = PyObject_CallMethod(array, "copy", NULL);
  } else {
    PyObject *method = PyObject_GetAttrString(array, "astype"),
             *arguments = PyTuple_Pack(1, dtype),
             *flags = Py_BuildValue("{s:O}", "copy",
                                    copy == Py_True ? Py_True : Py_False);
    if (method && arguments && flags)
      result = PyObject_Call(method, arguments, flags);
    Py_XDECREF(method);
    Py_XDECREF(arguments);
    Py_XDECREF(flags);
    if (result != NULL && copy == Py_False && result != array) {
      Py_CLEAR(result);
      PyErr_SetString(PyExc_ValueError,
                      "Tensor.__array__: copy: another dtype needs a copy");
    }
  }
  Py_DECREF(array);
  return result;
}

/* Whether a conversion failed because its source is a text that has no UTF-8;
 * it clears the exception. Such a text is no array, as any other. */
static bool is_no_text(PyObject* source, int status) {
  return status < 0 && PyUnicode_Check(source) && lane_no_value();
}

/* Writes the elements of an array into the memory of a tensor. A callback
 * returns results this way in a tensor that its caller passed. */
static PyObject* tensor_copy_from(PyObject* self, PyObject* source) {
  fnabi_any any;
  lane_arguments* outer = lane_converting;
  lane_arguments reading = {.read_only = true};
  lane_converting = &reading;
  int status = lane_view(source, &any);
  lane_converting = outer;
  if (is_no_text(source, status)) {
    status = 0;
    fnabi_any_set(&any, FNABI_INDEX_NONE, 0);
  }
  if (status < 0) {
    lane_name_value("Tensor.copy_from: x");
    return NULL;
  }
  const fnabi_dl_tensor *to = lane_tensor_in(self), *from = NULL;
  if (any.type_index == FNABI_INDEX_TENSOR)
    from = &((fnabi_tensor_object*)any.v_object)->tensor;
  else if (any.type_index == FNABI_INDEX_DLTENSOR)
    from = (const fnabi_dl_tensor*)any.v_pointer;
  const char* problem = NULL;
  if (from == NULL)
    problem = "expected an array";
  else if (to == NULL)
    problem = "";
  else if (flags_of(self) != 0)
    problem = "the tensor is read-only";
  else if (!fnabi_dl_on_host(to->device) || !fnabi_dl_on_host(from->device))
    problem = "expected memory that the CPU reaches";
  else if (memcmp(&to->dtype, &from->dtype, sizeof to->dtype) != 0)
    problem = "expected an array of the same dtype";
  else if (to->ndim != from->ndim ||
           (to->ndim > 0 && memcmp(to->shape, from->shape,
                                   (size_t)to->ndim * sizeof *to->shape) != 0))
    problem = "expected an array of the same shape";
  else if (fnabi_dl_item_size(to->dtype) == 0 || !fnabi_dl_compact(to, 'C'))
    problem = "expected a tensor whose elements are compact";
  fnabi_held_tensor* copy = NULL;
  if (problem == NULL && (copy = fnabi_tensor_copy(from)) == NULL)
    PyErr_NoMemory();
  else if (problem == NULL)
    memcpy(fnabi_dl_data(to), copy->tensor.tensor.data,
           (size_t)fnabi_dl_bytes(to));
  else if (*problem != 0)
    lane_type_error_got(source, "Tensor.copy_from: x: %s", problem);
  bool good = copy != NULL;
  if (copy != NULL) fnabi_object_release(copy);
  if (status == LANE_MADE) fnabi_any_release(&any);
  if (!good) return NULL;
  Py_RETURN_NONE;
}

static PyObject* tensor_repr(PyObject* self) {
  fnabi_held_tensor* held = fnabi_tensor_held(((lane_object*)self)->object);
  if (held != NULL && held->flags & FNABI_TENSOR_EXPIRED)
    return PyUnicode_FromString("<fnabi.Tensor (expired)>");
  PyObject *shape = get_shape(self, NULL), *dtype = NULL, *device = NULL,
           *text = NULL;
  if (shape != NULL) dtype = get_dtype(self, NULL);
  if (dtype != NULL) device = get_device(self, NULL);
  if (device != NULL)
    text = PyUnicode_FromFormat("<fnabi.Tensor of shape %S, %S on %S>", shape,
                                dtype, device);
  Py_XDECREF(shape);
  Py_XDECREF(dtype);
  Py_XDECREF(device);
  return text;
}

static PyObject* tensor_peer(PyObject* self, PyObject* unused) {
  (void)unused;
  fnabi_any any;
  if (lane_tensor_view(self, &any) < 0) return NULL;
  if (any.type_index == FNABI_INDEX_TENSOR)
    return lane_object_peer(any.v_object);
  lane_value_error(
      "Tensor.__tvm_ffi_object__: a Tensor that is only valid during one call "
      "is not an object; pass .numpy()");
  return NULL;
}

/* from_dlpack(x): a module's function */
static PyObject* from_dlpack(PyObject* module, PyObject* array) {
  (void)module;
  fnabi_any any;
  PyTypeObject* type = lane_type_of(FNABI_INDEX_TENSOR);
  if (type == NULL) return NULL;
  if (lane_is(array, lane.tensor)) {
    if (lane_tensor_in(array) == NULL) return NULL;
    if (!is_lent(array) && lane_is(array, type)) return Py_NewRef(array);
  }
  lane_arguments* outer = lane_converting;
  lane_arguments reading = {.read_only = true};
  lane_converting = &reading;
  int status = lane_own(array, &any);
  lane_converting = outer;
  if (is_no_text(array, status)) {
    status = 0;
    fnabi_any_set(&any, FNABI_INDEX_NONE, 0);
  }
  if (status < 0) {
    PyObject *kind, *problem;
    if (!lane_call_error_take(&kind, &problem)) return NULL;
    PyErr_Format(kind, "from_dlpack: x: %S", problem);
    Py_XDECREF(kind);
    Py_XDECREF(problem);
    return NULL;
  }
  if (any.type_index == FNABI_INDEX_TENSOR)
    return lane_wrap(type, any.v_object);
  fnabi_any_release(&any);
  lane_type_error_got(
      array, "from_dlpack: x: expected an array with __dlpack__ or a buffer");
  return NULL;
}

static PyMethodDef from_dlpack_method = {
    "from_dlpack", from_dlpack, METH_O,
    "from_dlpack(x, /)\n--\n\n"
    "Return a Tensor that shares the memory of an array and keeps the array "
    "alive.\n\nArgs:\n    x: A NumPy array, including dtypes of ml_dtypes, any "
    "object with `__dlpack__` or\n        `__dlpack_c_exchange_api__`, a "
    "tensor "
    "of the package tvm_ffi, a memoryview or\n        an array.array.\n\n"
    "Raises:\n    CallError: If `x` is none of these, or DLPack cannot "
    "describe it without a copy:\n        another byte order, strides that are "
    "not multiples of the element size,\n        elements of less than a byte "
    "that are not packed.\n\n"
    "An exception of `__dlpack__` is raised as it is, such as that of torch "
    "for a sparse tensor.\n\n"
    "Example:\n"
    "    >>> import fnabi, numpy as np\n"
    "    >>> array = np.zeros(3, np.float32)\n"
    "    >>> tensor = fnabi.from_dlpack(array)\n"
    "    >>> array[0] = 7\n"
    "    >>> np.from_dlpack(tensor)\n"
    "    array([7., 0., 0.], dtype=float32)\n"};

static PyObject* tensor_html(PyObject* self, PyObject* Py_UNUSED(none)) {
  PyObject* view = lane_get(LANE_TENSOR_VIEW);
  return view ? PyObject_CallFunctionObjArgs(view, self, NULL) : NULL;
}

static PyObject* tensor_is_compact(PyObject* self, PyObject* Py_UNUSED(none)) {
  const fnabi_dl_tensor* tensor = lane_tensor_in(self);
  return tensor ? PyBool_FromLong(fnabi_dl_compact(tensor, 'C')) : NULL;
}

static PyMethodDef tensor_methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))tensor_dlpack,
     METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, "
     "copy=None)\n--\n\n"
     "Return a DLPack capsule, as the Python array API standard defines it."
     "\n\nArgs:\n    stream: None for a CPU tensor. Ignored for other devices: "
     "nothing is synchronised.\n    max_version: From (1, 0) on the capsule is "
     "versioned.\n    dl_device: The tensor's own device as (type, index), or "
     "(1, 0) for a copy of memory\n        that the CPU can access.\n    "
     "copy: True for a copy, which requires such memory.\n\nRaises:\n"
     "    BufferError: If the export is impossible, or the memory is read-only "
     "and the capsule\n        is not versioned.\n    CallError: If an "
     "argument "
     "is invalid, or the tensor is expired.\n"},
    {"__dlpack_device__", tensor_dlpack_device, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\nReturn type and index of the device."},
    {"numpy", tensor_numpy, METH_NOARGS,
     "numpy($self, /)\n--\n\n"
     "Return a NumPy array that shares the memory and keeps the tensor "
     "alive.\n\nbfloat16 and 8-bit floats have dtypes of ml_dtypes; lanes "
     "become a last dim.\n\nRaises:\n    CallError: If there is no such dtype, "
     "its package is not installed, or the CPU\n        cannot access the "
     "memory.\n    RangeError: If NumPy has no arrays of the tensor's "
     "shape.\n"},
    {"copy_from", tensor_copy_from, METH_O,
     "copy_from($self, x, /)\n--\n\n"
     "Copy the elements of an array into the memory of the tensor.\n\nArgs:\n"
     "    x: Any array of the same shape and dtype.\n\nRaises:\n"
     "    CallError: when it is not, when the tensor is read-only or not "
     "compact, or when\n        the CPU does not reach the memory.\n"},
    {"__array__", (PyCFunction)(void (*)(void))tensor_array,
     METH_VARARGS | METH_KEYWORDS,
     "__array__($self, /, dtype=None, copy=None)\n--\n\n"
     "Implement NumPy's array protocol; see `numpy`."},
    {"_is_compact", tensor_is_compact, METH_NOARGS,
     "Return whether the elements are adjacent, the last dim first."},
    {"_repr_html_", tensor_html, METH_NOARGS,
     "Return the tensor's view for notebooks, without its elements."},
    {"__tvm_ffi_object__", tensor_peer, METH_NOARGS,
     "Return the tensor as an object of the package tvm_ffi."},
    LANE_NOT_PICKLED,
    {0}};

static PyGetSetDef tensor_getset[] = {
    {"shape", get_shape, NULL, "The dims, a tuple.", NULL},
    {"strides", get_strides, NULL, "A tuple, in elements.", NULL},
    {"ndim", get_ndim, NULL, "How many dims it has.", NULL},
    {"size", get_size, NULL, "How many elements it has.", NULL},
    {"nbytes", get_nbytes, NULL,
     "The size of the elements in bytes, without gaps between them.", NULL},
    {"dtype", get_dtype, NULL, "Of its elements, a fnabi.types.DType.", NULL},
    {"device", get_device, NULL, "Where its memory is, a fnabi.Device.", NULL},
    {"data_ptr", get_data_ptr, NULL,
     "The address of the first element, an int; on other devices a handle.",
     NULL},
    {"read_only", get_read_only, NULL,
     "Whether the memory is known to be read-only.\n\nThe ABI has no way to "
     "tell a function: see `Function.allow_read_only`.",
     NULL},
    {0}};

static PyType_Slot tensor_slots[] = {
    {Py_tp_doc,
     "An N-dimensional array of TVM-FFI's stable C ABI: a reference-counted "
     "DLPack tensor.\n\nCreated by `from_dlpack`, and returned by functions. "
     "It "
     "keeps the memory alive, which\nbelongs to the array it was made from or "
     "to a library.\n\nA callback may receive a tensor that is only valid "
     "until "
     "the callback returns (a\n`DLTensor*`). It cannot be returned, and later "
     "uses raise CallError. Arrays,\nbuffers and capsules made from it "
     "are read-only copies; `copy_from` writes to its memory.\n\n"
     "Example:\n"
     "    >>> import fnabi, numpy as np\n"
     "    >>> tensor = fnabi.from_dlpack(np.ones((2, 3), np.float32))\n"
     "    >>> tensor.shape, tensor.dtype, tensor.device\n"
     "    ((2, 3), DType(kind='float', bits=32), Device('cpu', 0))\n"
     "    >>> np.from_dlpack(tensor).sum()\n"
     "    np.float32(6.0)\n"},
    {Py_tp_methods, tensor_methods},
    {Py_tp_getset, tensor_getset},
    {Py_tp_repr, tensor_repr},
    {Py_bf_getbuffer, tensor_buffer},
    {Py_bf_releasebuffer, tensor_buffer_release},
    {0}};

static PyType_Spec tensor_spec = {"fnabi.Tensor", sizeof(lane_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                                      Py_TPFLAGS_IMMUTABLETYPE |
                                      Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  tensor_slots};

int lane_tensor_init(PyObject* module) {
  if (!dlpack_names_init()) return -1;
  lane.tensor = lane_add_type(module, &tensor_spec, lane.object);
  PyObject* function = PyCFunction_NewEx(&from_dlpack_method, NULL, NULL);
  int status = lane.tensor && function
                   ? PyModule_AddObjectRef(module, "from_dlpack", function)
                   : -1;
  Py_XDECREF(function);
  return status;
}
