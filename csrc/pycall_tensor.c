#include <stdlib.h>

#include "pycall.h"

/* A tensor over the memory of a Python object, which lends it as a buffer.
 * Small shapes stand in the object itself. */
enum { SMALL_RANK = 6 };

typedef struct lent {
  fnabi_tensor_object tensor;
  Py_buffer buffer;
  int64_t dims[2 * SMALL_RANK]; /* shape, then strides */
} lent;

static void delete_lent(void* self, int flags) {
  lent* tensor = self;
  if (flags & FNABI_DELETER_STRONG) {
    if (tensor->tensor.tensor.shape != tensor->dims)
      free(tensor->tensor.tensor.shape);
    if (!lane_finished) {
      PyGILState_STATE gil = PyGILState_Ensure();
      PyBuffer_Release(&tensor->buffer);
      PyGILState_Release(gil);
    }
  }
  if (flags & FNABI_DELETER_WEAK) fnabi_object_free(self);
}

/* The dtype of a buffer's format, of one character behind a mark of native or
 * little byte order. */
static bool dtype_of_format(const char* format, Py_ssize_t itemsize,
                            fnabi_dl_dtype* dtype) {
  enum { INT = 0, UINT = 1, FLOAT = 2, COMPLEX = 5, BOOL = 6 };
  if (format == NULL) format = "B";
  if (*format == '@' || *format == '=' || *format == '<' || *format == '|')
    format++;
  switch (*format) {
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
      dtype->code = INT;
      break;
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'c':
      dtype->code = UINT;
      break;
    case 'e':
    case 'f':
    case 'd':
      dtype->code = FLOAT;
      break;
    case 'Z':
      dtype->code = COMPLEX;
      format++;
      if (*format != 'f' && *format != 'd') return false;
      break;
    case '?':
      dtype->code = BOOL;
      break;
    default:
      return false;
  }
  if (format[1] != 0 || itemsize > 16) return false;
  dtype->bits = (uint8_t)(itemsize * 8);
  dtype->lanes = 1;
  return true;
}

int lane_tensor_of_buffer(PyObject* array, fnabi_any* out) {
  lent* self = fnabi_object_new(sizeof *self, FNABI_INDEX_TENSOR, delete_lent);
  if (self == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  fnabi_dl_tensor* tensor = &self->tensor.tensor;
  tensor->shape = self->dims;
  Py_buffer* view = &self->buffer;
  if (PyObject_GetBuffer(array, view, PyBUF_RECORDS_RO) < 0) {
    view->obj = NULL;
    fnabi_object_release(self);
    return -1;
  }
  if (view->ndim > SMALL_RANK) {
    tensor->shape = malloc((size_t)view->ndim * 2 * sizeof(int64_t));
    if (tensor->shape == NULL) {
      tensor->shape = self->dims;
      fnabi_object_release(self);
      PyErr_NoMemory();
      return -1;
    }
  }
  tensor->strides = tensor->shape + view->ndim;
  tensor->data = view->buf;
  tensor->device.type = 1;
  tensor->ndim = view->ndim;
  bool good = dtype_of_format(view->format, view->itemsize, &tensor->dtype);
  for (int i = 0; i < view->ndim; i++) {
    tensor->shape[i] = view->shape[i];
    tensor->strides[i] = view->strides[i] / view->itemsize;
    good = good && view->strides[i] % view->itemsize == 0;
  }
  if (!good) {
    lane_call_error(
        "expected elements of a DLPack dtype, whole elements apart, got a "
        "buffer of format '%s'",
        view->format ? view->format : "B");
    fnabi_object_release(self);
    return -1;
  }
  fnabi_any_set_object(out, self);
  return 0;
}

int lane_tensor_of_numpy(PyObject* array, fnabi_any* out) {
  return lane_tensor_of_buffer(array, out);
}

int lane_tensor_of_dlpack(PyObject* array, fnabi_any* out) {
  return lane_tensor_of_buffer(array, out);
}

int lane_tensor_of_exchange(PyObject* array, fnabi_any* out) {
  return lane_tensor_of_buffer(array, out);
}

PyObject* lane_tensor_of_view(const fnabi_dl_tensor* view) {
  (void)view;
  lane_call_error("a DLTensor* is good for one call only");
  return NULL;
}

static PyType_Slot tensor_slots[] = {{Py_tp_doc, "A tensor."}, {0}};

static PyType_Spec tensor_spec = {"fnabi.Tensor", sizeof(lane_object), 0,
                                  Py_TPFLAGS_DEFAULT |
                                      Py_TPFLAGS_IMMUTABLETYPE |
                                      Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  tensor_slots};

int lane_tensor_init(PyObject* module) {
  lane.tensor = lane_add_type(module, &tensor_spec, lane.object);
  return lane.tensor ? 0 : -1;
}
