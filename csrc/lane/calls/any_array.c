/* The Python type AnyArray: values in the layout of the arguments of a call. */
#include "lane/calls/any_array.h"

#include "lane/calls/from_value.h"
#include "lane/calls/init.h"
#include "lane/calls/level.h"
#include "lane/calls/to_value.h"
#include "lane/runtime/call_error.h"
#include "lane/runtime/interrupt.h"

PyObject* lane_any_array_new(Py_ssize_t size) {
  lane_any_array* self = PyObject_New(lane_any_array, lane.any_array);
  if (self == NULL) return NULL;
  self->size = 0;
  self->exchange = NULL;
  self->data = (size_t)size > PY_SSIZE_T_MAX / sizeof(fnabi_any)
                   ? NULL
                   : PyMem_Calloc((size_t)size + 1, sizeof(fnabi_any));
  if (self->data == NULL) {
    Py_DECREF(self);
    return PyErr_NoMemory();
  }
  self->size = size; /* all None */
  return (PyObject*)self;
}

static PyObject* array_new(PyTypeObject* type, PyObject* args,
                           PyObject* names) {
  static char* keywords[] = {"values", NULL};
  PyObject* values;
  if (!PyArg_ParseTupleAndKeywords(args, names, "O:AnyArray", keywords,
                                   &values))
    return NULL;
  (void)type;
  PyObject* each = lane_iterator(values);
  if (each == NULL &&
      (PyErr_ExceptionMatches(PyExc_TypeError) || PyMemoryView_Check(values)))
    lane_type_error_got(values, "AnyArray: values: expected an iterable");
  PyObject* fast = each != NULL ? lane_list(each) : NULL;
  Py_XDECREF(each);
  if (fast == NULL) return NULL;
  Py_ssize_t size = PyList_Size(fast);
  PyObject* self = lane_any_array_new(size);
  for (Py_ssize_t i = 0, end; self != NULL && i < size;) {
    bool good = (end = lane_part(i, size)) >= 0;
    for (; good && i < end; i++)
      good =
          lane_own(PyList_GetItem(fast, i), lane_any_array_data(self) + i) == 0;
    if (good) continue;
    lane_name_value("AnyArray: values");
    ((lane_any_array*)self)->size = i; /* the others take no time to release */
    Py_CLEAR(self);
  }
  Py_DECREF(fast);
  return self;
}

static void array_dealloc(PyObject* self) {
  lane_any_array* array = (lane_any_array*)self;
  PyTypeObject* type = Py_TYPE(self);
  for (Py_ssize_t i = 0; i < array->size; i++)
    fnabi_any_release(array->data + i);
  PyMem_Free(array->data);
  PyObject_Free(self);
  Py_DECREF(type);
}

static Py_ssize_t array_length(PyObject* self) {
  return lane_any_array_size(self);
}

static PyObject* array_item(PyObject* self, Py_ssize_t i) {
  lane_any_array* array = (lane_any_array*)self;
  if (lane_step(i) < 0) return NULL;
  if (i < 0 || i >= array->size) {
    PyErr_SetString(PyExc_IndexError, "AnyArray index out of range");
    return NULL;
  }
  const struct fnabi_dl_exchange* outer = lane_exchange;
  lane_exchange = array->exchange;
  PyObject* value = lane_from(array->data + i, false);
  lane_exchange = outer;
  return value;
}

static PyObject* array_subscript(PyObject* self, PyObject* key) {
  lane_any_array* array = (lane_any_array*)self;
  Py_ssize_t begin, end, step;
  if (!PySlice_Check(key)) {
    if (!PyIndex_Check(key)) {
      lane_type_error_got(key, "AnyArray: index: expected int or slice");
      return NULL;
    }
    begin = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (begin == -1 && PyErr_Occurred()) return NULL;
    return array_item(self, begin < 0 ? begin + array->size : begin);
  }
  if (PySlice_Unpack(key, &begin, &end, &step) < 0) return NULL;
  Py_ssize_t size = PySlice_AdjustIndices(array->size, &begin, &end, step);
  PyObject* part = lane_any_array_new(size);
  if (part == NULL) return NULL;
  fnabi_any* out = lane_any_array_data(part);
  ((lane_any_array*)part)->exchange = array->exchange;
  for (Py_ssize_t i = 0; i < size; i++) {
    out[i] = array->data[begin + i * step];
    fnabi_any_retain(out + i);
  }
  return part;
}

static PyObject* array_iterate(PyObject* self) { return PySeqIter_New(self); }

static PyObject* array_compare(PyObject* self, PyObject* other, int operation) {
  if ((operation != Py_EQ && operation != Py_NE) ||
      Py_TYPE(other) != lane.any_array)
    Py_RETURN_NOTIMPLEMENTED;
  lane_any_array *left = (lane_any_array*)self, *right = (lane_any_array*)other;
  bool equal = left->size == right->size;
  for (Py_ssize_t i = 0, end; equal && i < left->size;) {
    if ((end = lane_part(i, left->size)) < 0) return NULL;
    for (; equal && i < end; i++)
      equal = fnabi_any_equal(left->data + i, right->data + i);
  }
  return PyBool_FromLong(equal == (operation == Py_EQ));
}

static PyObject* array_tolist(PyObject* self, PyObject* unused) {
  (void)unused;
  lane_any_array* array = (lane_any_array*)self;
  PyObject* list = PyList_New(array->size);
  const struct fnabi_dl_exchange* outer = lane_exchange;
  lane_exchange = array->exchange;
  for (Py_ssize_t i = 0, end; list != NULL && i < array->size;) {
    if ((end = lane_part(i, array->size)) < 0) Py_CLEAR(list);
    for (; list != NULL && i < end; i++) {
      PyObject* value = lane_from(array->data + i, false);
      if (value == NULL || PyList_SetItem(list, i, value) < 0) Py_CLEAR(list);
    }
  }
  lane_exchange = outer;
  return list;
}

static PyObject* array_repr(PyObject* self) {
  PyObject* list = array_tolist(self, NULL);
  if (list == NULL) return NULL;
  PyObject* text = PyUnicode_FromFormat("AnyArray(%R)", list);
  Py_DECREF(list);
  return text;
}

static int array_buffer(PyObject* self, Py_buffer* view, int flags) {
  lane_any_array* array = (lane_any_array*)self;
  return PyBuffer_FillInfo(view, self, array->data,
                           array->size * (Py_ssize_t)sizeof(fnabi_any), 1,
                           flags);
}

static PyMethodDef array_methods[] = {
    {"tolist", array_tolist, METH_NOARGS,
     "tolist($self, /)\n--\n\nAll values as Python objects."},
    LANE_NOT_PICKLED,
    {0}};

static PyType_Slot array_slots[] = {
    {Py_tp_doc,
     "AnyArray(values)\n--\n\n"
     "Contiguous values of 16 bytes each, in the layout of the arguments of a "
     "call.\n\nA slice is an AnyArray too. The buffer protocol gives read-only "
     "access to the\nbytes. Two AnyArrays are equal if their values are, as "
     "for `Any`.\n\n"
     "Example:\n"
     "    >>> import fnabi\n"
     "    >>> values = fnabi.AnyArray([1, 2.5, None])\n"
     "    >>> len(values), values[1], values.tolist()\n"
     "    (3, 2.5, [1, 2.5, None])\n"
     "    >>> memoryview(values).nbytes\n"
     "    48\n"},
    {Py_tp_new, array_new},
    {Py_tp_dealloc, array_dealloc},
    {Py_tp_methods, array_methods},
    {Py_tp_repr, array_repr},
    {Py_sq_length, array_length},
    {Py_sq_item, array_item},
    {Py_mp_length, array_length},
    {Py_mp_subscript, array_subscript},
    {Py_tp_iter, array_iterate},
    {Py_tp_richcompare, array_compare},
    {Py_tp_hash, PyObject_HashNotImplemented},
    {Py_bf_getbuffer, array_buffer},
    {0}};

static PyType_Spec array_spec = {"fnabi.AnyArray", sizeof(lane_any_array), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                                 array_slots};

int lane_any_array_init(PyObject* module) {
  lane.any_array = lane_add_type(module, &array_spec, NULL);
  return lane.any_array ? 0 : -1;
}
