#include "array.h"
#include "pycall.h"

int lane_array_own(PyObject* sequence, fnabi_any* out) {
  bool list = PyList_Check(sequence);
  Py_ssize_t size = list ? PyList_Size(sequence) : PyTuple_Size(sequence);
  fnabi_seq_object* array = fnabi_array_new(size);
  if (array == NULL) {
    PyErr_NoMemory();
    return -1;
  }
  fnabi_any_set_object(out, array);
  if (Py_EnterRecursiveCall(" while a list is converted")) {
    fnabi_any_release(out);
    return -1;
  }
  int status = 0;
  for (Py_ssize_t i = 0; i < size && status == 0; i++) {
    /* converting an element may run Python, which may change the list */
    if (list && PyList_Size(sequence) != size) {
      status = lane_call_error("the list changed while it was converted");
      break;
    }
    PyObject* item =
        list ? PyList_GetItem(sequence, i) : PyTuple_GetItem(sequence, i);
    Py_INCREF(item);
    status = lane_own(item, array->data + i);
    Py_DECREF(item);
  }
  Py_LeaveRecursiveCall();
  if (status < 0) fnabi_any_release(out);
  return status;
}

PyObject* lane_array_list(fnabi_seq_object* array, bool plain) {
  if (Py_EnterRecursiveCall(" while an array is converted")) return NULL;
  PyObject* list = PyList_New((Py_ssize_t)array->size);
  for (Py_ssize_t i = 0; list != NULL && i < array->size; i++) {
    PyObject* item = lane_from(array->data + i, plain);
    if (item == NULL || PyList_SetItem(list, i, item) < 0) Py_CLEAR(list);
  }
  Py_LeaveRecursiveCall();
  return list;
}

static fnabi_seq_object* seq_of(PyObject* self) {
  return (fnabi_seq_object*)((lane_object*)self)->object;
}

static PyObject* array_tolist(PyObject* self, PyObject* unused) {
  (void)unused;
  return lane_array_list(seq_of(self), true);
}

static Py_ssize_t array_length(PyObject* self) {
  return (Py_ssize_t)seq_of(self)->size;
}

static PyObject* array_item(PyObject* self, Py_ssize_t i) {
  fnabi_seq_object* array = seq_of(self);
  if (i >= 0 && i < array->size) return lane_from(array->data + i, false);
  PyErr_SetString(PyExc_IndexError, "index out of range");
  return NULL;
}

static PyMethodDef array_methods[] = {
    {"tolist", array_tolist, METH_NOARGS,
     "tolist($self, /)\n--\n\n"
     "All values as Python objects, containers in it as list and dict."},
    {0}};

static PyType_Slot array_slots[] = {
    {Py_tp_doc, "An array of values, which does not change."},
    {Py_tp_methods, array_methods},
    {Py_sq_length, array_length},
    {Py_sq_item, array_item},
    {0}};

static PyType_Spec array_spec = {"fnabi.Array", sizeof(lane_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                                 array_slots};

static PyType_Slot list_slots[] = {
    {Py_tp_doc, "A list of values, which its holders share."},
    {Py_tp_methods, array_methods},
    {Py_sq_length, array_length},
    {Py_sq_item, array_item},
    {0}};

static PyType_Spec list_spec = {"fnabi.List", sizeof(lane_object), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                                list_slots};

int lane_array_init(PyObject* module) {
  lane.array = lane_add_type(module, &array_spec, lane.object);
  lane.list = lane_add_type(module, &list_spec, lane.object);
  return lane.array && lane.list ? 0 : -1;
}
