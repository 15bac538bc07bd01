/* The Python type Any: a value of the ABI. */
#include "lane/calls/any.h"

#include "lane/calls/from_value.h"
#include "lane/calls/init.h"
#include "lane/calls/level.h"
#include "lane/calls/to_value.h"
#include "lane/runtime/call_error.h"

static PyObject* any_new(PyTypeObject* type, PyObject* args, PyObject* names) {
  static char* keywords[] = {"value", NULL};
  PyObject* value = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, names, "|O:Any", keywords, &value))
    return NULL;
  (void)type;
  fnabi_any any;
  if (lane_own(value, &any) < 0) {
    lane_name_value("Any: value");
    return NULL;
  }
  PyObject* self = lane_any_new(&any);
  fnabi_any_release(&any);
  return self;
}

static void any_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  fnabi_any_release(&((lane_any*)self)->any);
  PyObject_Free(self);
  Py_DECREF(type);
}

static PyObject* any_type_index(PyObject* self, void* unused) {
  (void)unused;
  return PyLong_FromLong(((lane_any*)self)->any.type_index);
}

static PyObject* any_get(PyObject* self, void* unused) {
  (void)unused;
  return lane_from(&((lane_any*)self)->any, false);
}

static PyObject* any_bytes(PyObject* self, PyObject* unused) {
  (void)unused;
  return PyBytes_FromStringAndSize((const char*)&((lane_any*)self)->any,
                                   sizeof(fnabi_any));
}

static PyObject* any_compare(PyObject* self, PyObject* other, int operation) {
  if ((operation != Py_EQ && operation != Py_NE) || Py_TYPE(other) != lane.any)
    Py_RETURN_NOTIMPLEMENTED;
  bool equal =
      fnabi_any_equal(&((lane_any*)self)->any, &((lane_any*)other)->any);
  return PyBool_FromLong(equal == (operation == Py_EQ));
}

static Py_hash_t any_hash(PyObject* self) {
  Py_hash_t hash = (Py_hash_t)fnabi_any_hash(&((lane_any*)self)->any);
  return hash == -1 ? -2 : hash;
}

static PyObject* any_repr(PyObject* self) {
  PyObject* value = any_get(self, NULL);
  if (value == NULL) return NULL;
  /* "unchanged" has no value of Python but another Any */
  PyObject* text = Py_TYPE(value) == lane.any
                       ? PyUnicode_FromString("Any(unchanged)")
                       : PyUnicode_FromFormat("Any(%R)", value);
  Py_DECREF(value);
  return text;
}

static PyGetSetDef any_getset[] = {
    {"type_index", any_type_index, NULL, "What the value is, a number.", NULL},
    {"value", any_get, NULL,
     "The value as a Python object.\n\nRaises:\n    CallError: If the type "
     "index is not that of a value.\n",
     NULL},
    {0}};

static PyMethodDef any_methods[] = {
    {"__bytes__", any_bytes, METH_NOARGS, "The 16 bytes, as they are passed."},
    LANE_NOT_PICKLED,
    {0}};

static PyType_Slot any_slots[] = {
    {Py_tp_doc,
     "Any(value=None)\n--\n\n"
     "A value of TVM-FFI's stable C ABI, 16 bytes.\n\n"
     "A type index, the size of a short text or zero, and 64 bits of payload. "
     "Two values\nare equal if their bytes or their texts are equal, as keys "
     "of the ABI's maps are.\n\n"
     "Example:\n"
     "    >>> import fnabi\n"
     "    >>> value = fnabi.Any(3.5)\n"
     "    >>> value.type_index, value.value\n"
     "    (3, 3.5)\n"
     "    >>> bytes(fnabi.Any(1)).hex(\" \", 8)\n"
     "    '0100000000000000 0100000000000000'\n"},
    {Py_tp_new, any_new},
    {Py_tp_dealloc, any_dealloc},
    {Py_tp_getset, any_getset},
    {Py_tp_methods, any_methods},
    {Py_tp_richcompare, any_compare},
    {Py_tp_hash, any_hash},
    {Py_tp_repr, any_repr},
    {0}};

static PyType_Spec any_spec = {"fnabi.Any", sizeof(lane_any), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                               any_slots};

int lane_any_init(PyObject* module) {
  lane.any = lane_add_type(module, &any_spec, NULL);
  return lane.any ? 0 : -1;
}
