#include "map.h"
#include "pycall.h"

int lane_map_own(PyObject* dict, fnabi_any* out) {
  Py_ssize_t size = PyDict_Size(dict), count = 0, at = 0;
  fnabi_any* pairs = PyMem_Calloc((size_t)size * 2 + 1, sizeof *pairs);
  if (pairs == NULL || Py_EnterRecursiveCall(" while a dict is converted")) {
    if (pairs == NULL) PyErr_NoMemory();
    PyMem_Free(pairs);
    return -1;
  }
  PyObject *key, *value;
  int status = 0;
  while (status == 0 && PyDict_Next(dict, &at, &key, &value)) {
    /* converting may run Python, which may change the dict */
    if (PyDict_Size(dict) != size || count == size) {
      status = lane_call_error("the dict changed while it was converted");
      break;
    }
    Py_INCREF(key);
    Py_INCREF(value);
    status = lane_own(key, pairs + 2 * count);
    if (status == 0) status = lane_own(value, pairs + 2 * count + 1);
    Py_DECREF(key);
    Py_DECREF(value);
    count++;
  }
  Py_LeaveRecursiveCall();
  fnabi_map_object* map = NULL;
  if (status == 0) {
    map = fnabi_map_new(pairs, (size_t)count, FNABI_INDEX_MAP);
    if (map == NULL) PyErr_NoMemory();
  }
  if (map != NULL)
    fnabi_any_set_object(out, map);
  else
    for (Py_ssize_t i = 0; i < 2 * count; i++) fnabi_any_release(pairs + i);
  PyMem_Free(pairs);
  return map ? 0 : -1;
}

PyObject* lane_map_dict(fnabi_map_object* map, bool plain) {
  if (Py_EnterRecursiveCall(" while a map is converted")) return NULL;
  PyObject* dict = PyDict_New();
  uint64_t cursor = FNABI_MAP_BEGIN;
  const fnabi_any *key, *value;
  while (dict != NULL && fnabi_map_next(map, &cursor, &key, &value)) {
    PyObject *k = lane_from(key, false),
             *v = k ? lane_from(value, plain) : NULL;
    if (v == NULL || PyDict_SetItem(dict, k, v) < 0) Py_CLEAR(dict);
    Py_XDECREF(k);
    Py_XDECREF(v);
  }
  Py_LeaveRecursiveCall();
  return dict;
}

static fnabi_map_object* map_of(PyObject* self) {
  return (fnabi_map_object*)((lane_object*)self)->object;
}

static PyObject* map_todict(PyObject* self, PyObject* unused) {
  (void)unused;
  return lane_map_dict(map_of(self), true);
}

static Py_ssize_t map_length(PyObject* self) {
  return (Py_ssize_t)map_of(self)->size;
}

static PyObject* map_item(PyObject* self, PyObject* key) {
  fnabi_any any;
  if (lane_own(key, &any) < 0) return NULL;
  const fnabi_any* value = fnabi_map_find(map_of(self), &any);
  fnabi_any_release(&any);
  if (value != NULL) return lane_from(value, false);
  PyErr_SetObject(PyExc_KeyError, key);
  return NULL;
}

static PyMethodDef map_methods[] = {
    {"todict", map_todict, METH_NOARGS,
     "todict($self, /)\n--\n\n"
     "All keys and values as Python objects, containers in it as list and "
     "dict."},
    {0}};

static PyType_Slot map_slots[] = {
    {Py_tp_doc,
     "A map of values in the order of insertion, which does not change."},
    {Py_tp_methods, map_methods},
    {Py_mp_length, map_length},
    {Py_mp_subscript, map_item},
    {0}};

static PyType_Spec map_spec = {"fnabi.Map", sizeof(lane_object), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                               map_slots};

static PyType_Slot dict_slots[] = {
    {Py_tp_doc,
     "A map of values in the order of insertion, which its holders share."},
    {Py_tp_methods, map_methods},
    {Py_mp_length, map_length},
    {Py_mp_subscript, map_item},
    {0}};

static PyType_Spec dict_spec = {"fnabi.Dict", sizeof(lane_object), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                                dict_slots};

int lane_map_init(PyObject* module) {
  lane.map = lane_add_type(module, &map_spec, lane.object);
  lane.dict = lane_add_type(module, &dict_spec, lane.object);
  return lane.map && lane.dict ? 0 : -1;
}
