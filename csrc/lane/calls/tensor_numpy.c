/* NumPy's arrays over the memory of tensors. */
#include "lane/calls/tensor_numpy.h"

#include "lane/runtime/call_error.h"

/* Places in the table, which no release of NumPy has changed. */
enum {
  VERSION = 0,
  ARRAY_TYPE = 2,
  DESCR_FROM_TYPE = 45,
  NEW_FROM_DESCR = 94,
  SET_BASE_OBJECT = 282
};

typedef unsigned version_function(void);
typedef PyObject* descr_function(int number);
typedef PyObject* array_function(PyObject* type, PyObject* descr, int ndim,
                                 const Py_ssize_t* shape,
                                 const Py_ssize_t* strides, void* data,
                                 int flags, PyObject* of);
typedef int base_function(PyObject* array, PyObject* base);

/* C has no cast from a pointer to data to one to a function. */
#define FUNCTION(variable, table, place) \
  memcpy(&(variable), &(table)[place], sizeof(variable))

static bool is_known(void** table) {
  enum { ABI_1 = 0x01000009, ABI_2 = 0x02000000 };
  version_function* version;
  FUNCTION(version, table, VERSION);
  unsigned abi = version();
  return abi == ABI_1 || abi == ABI_2;
}

void** lane_numpy(void) {
  static const char* const modules[] = {"numpy._core._multiarray_umath",
                                        "numpy.core._multiarray_umath"};
  static void** kept;
  for (size_t i = 0; i < 2 && kept == NULL; i++) {
    PyObject* capsule = lane_imported(modules[i], "_ARRAY_API");
    void** table = capsule && PyCapsule_CheckExact(capsule)
                       ? PyCapsule_GetPointer(capsule, NULL)
                       : NULL;
    Py_XDECREF(capsule);
    if (table != NULL && is_known(table)) kept = table;
    if (!lane_clear()) return NULL;
  }
  return kept;
}

PyObject* lane_numpy_array_type(void** numpy) { return numpy[ARRAY_TYPE]; }

/* The number of NumPy's type of the elements; -1 for those that it lacks. Of
 * int, long and long long with one width, NumPy has the one that is `long` as
 * its type of that width. */
static int number_of(fnabi_dl_dtype dtype) {
  enum { INTEGERS = 1, LONG = 7, HALF = 23, FLOAT = 11, COMPLEX = 14 };
  if (dtype.lanes != 1 || dtype.bits < 8 || dtype.bits > 128 ||
      (dtype.bits & (dtype.bits - 1)) != 0)
    return -1;
  int width = (int)fnabi_trailing_zeros(dtype.bits) - 3; /* 0: 8 bits */
  switch (dtype.code) {
    case FNABI_DL_BOOL:
      return width == 0 ? 0 : -1;
    case FNABI_DL_INT:
    case FNABI_DL_UINT: {
      int number = dtype.bits == 8 * sizeof(long) ? LONG
                   : width == 3                   ? LONG + 2
                                                  : INTEGERS + 2 * width;
      return width <= 3 ? number + (dtype.code == FNABI_DL_UINT) : -1;
    }
    case FNABI_DL_FLOAT:
      if (width == 1) return HALF;
      return width == 2 || width == 3 ? FLOAT + width - 2 : -1;
    case FNABI_DL_COMPLEX:
      return width == 3 || width == 4 ? COMPLEX + width - 3 : -1;
    default:
      return -1;
  }
}

#define HELD "fnabi.tensor"

static void let_go(PyObject* capsule) {
  lane_release(PyCapsule_GetPointer(capsule, HELD));
}

bool lane_numpy_of(fnabi_object* object, const fnabi_dl_tensor* tensor,
                   bool writable, PyObject** array) {
  enum { WRITEABLE = 0x400, NDIM_MOST = 32 /* of every release */ };
  Py_ssize_t shape[NDIM_MOST], strides[NDIM_MOST];
  int number = number_of(tensor->dtype);
  void* data = fnabi_dl_data(tensor);
  if (number < 0 || tensor->ndim > NDIM_MOST || data == NULL) return false;
  void** numpy = lane_numpy();
  *array = NULL;
  if (numpy == NULL) return !lane_clear();
  for (int i = 0; i < tensor->ndim; i++) {
    /* Only strides that lead nowhere, of dims of 1, can overflow. */
    shape[i] = (Py_ssize_t)tensor->shape[i];
    if (tensor->strides != NULL)
      strides[i] =
          (Py_ssize_t)((uint64_t)tensor->strides[i] * (tensor->dtype.bits / 8));
  }
  descr_function* descr_from_type;
  array_function* new_from_descr;
  base_function* set_base;
  FUNCTION(descr_from_type, numpy, DESCR_FROM_TYPE);
  FUNCTION(new_from_descr, numpy, NEW_FROM_DESCR);
  FUNCTION(set_base, numpy, SET_BASE_OBJECT);
  PyObject* held = PyCapsule_New(object, HELD, let_go);
  if (held == NULL) return true;
  fnabi_object_retain(object);
  PyObject* descr = descr_from_type(number);
  PyObject* made =
      descr == NULL
          ? NULL /* which takes over the reference to `descr` */
          : new_from_descr(lane_numpy_array_type(numpy), descr, tensor->ndim,
                           shape, tensor->strides != NULL ? strides : NULL,
                           data, writable ? WRITEABLE : 0, NULL);
  if (made == NULL) {
    Py_DECREF(held);
  } else if (set_base(made, held) < 0) { /* takes over `held` in any case */
    Py_CLEAR(made);
  }
  *array = made;
  return true;
}
