/* The Python type Object: an object of the ABI without a class of its own. */
#include "lane/calls/attributes.h"
#include "lane/calls/container.h"
#include "lane/calls/init.h"
#include "lane/calls/known_types.h"
#include "lane/calls/peer.h"
#include "lane/calls/types.h"

static void object_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  fnabi_object* object = ((lane_object*)self)->object;
  if (lane_has_attributes(type)) lane_attributes_freed(self);
  if (PyType_GetFlags(type) & Py_TPFLAGS_HAVE_GC)
    PyObject_GC_Del(self);
  else
    PyObject_Free(self);
  Py_DECREF(type);
  lane_release(object);
}

static PyObject* object_type_index(PyObject* self, void* unused) {
  (void)unused;
  return PyLong_FromLong(((lane_object*)self)->object->type_index);
}

static PyObject* object_type_key(PyObject* self, void* unused) {
  (void)unused;
  return lane_type_key(((lane_object*)self)->object->type_index);
}

static PyObject* object_address(PyObject* self, void* unused) {
  (void)unused;
  lane_object* of = (lane_object*)self;
  return PyLong_FromVoidPtr(of->empty ? NULL : of->object);
}

static PyObject* object_compare(PyObject* self, PyObject* other,
                                int operation) {
  if ((operation != Py_EQ && operation != Py_NE) ||
      !PyObject_TypeCheck(other, lane.object))
    Py_RETURN_NOTIMPLEMENTED;
  bool same = ((lane_object*)self)->object == ((lane_object*)other)->object;
  return PyBool_FromLong(same == (operation == Py_EQ));
}

static Py_hash_t object_hash(PyObject* self) {
  return (Py_hash_t)((uintptr_t)((lane_object*)self)->object >> 4);
}

static PyObject* get_class(PyObject* self, void* unused) {
  (void)unused;
  return Py_NewRef((PyObject*)Py_TYPE(self));
}

/* As for other Python objects, but only among classes for the same objects: the
 * methods of Array must not read anything else. */
static int set_class(PyObject* self, PyObject* class, void* unused) {
  (void)unused;
  if (class == NULL || !PyType_Check(class) ||
      lane_kind_of((PyTypeObject*)class) != lane_kind_of(Py_TYPE(self))) {
    PyErr_Format(PyExc_TypeError, "__class__: %R has objects of another type",
                 class != NULL ? class : Py_None);
    return -1;
  }
  PyObject *all = PyObject_GetAttrString((PyObject*)&PyBaseObject_Type,
                                         "__dict__"),
           *attribute = all ? PyMapping_GetItemString(all, "__class__") : NULL,
           *done = attribute ? PyObject_CallMethod(attribute, "__set__", "OO",
                                                   self, class)
                             : NULL;
  Py_XDECREF(all);
  Py_XDECREF(attribute);
  Py_XDECREF(done);
  return done ? 0 : -1;
}

static PyObject* object_peer(PyObject* self, PyObject* unused) {
  (void)unused;
  return lane_object_peer(((lane_object*)self)->object);
}

/* Functions are no Objects, but have the method __chandle__. */
static PyObject* object_same(PyObject* self, PyObject* other) {
  const lane_object* of = (const lane_object*)self;
  const void* object = of->empty ? NULL : of->object;
  if (PyObject_TypeCheck(other, lane.object)) {
    of = (const lane_object*)other;
    return PyBool_FromLong(object == (of->empty ? NULL : of->object));
  }
  int known = lane_has(other, "__chandle__");
  if (known <= 0) return known == 0 ? PyBool_FromLong(false) : NULL;
  PyObject *theirs = PyObject_CallMethod(other, "__chandle__", NULL),
           *ours = theirs ? PyLong_FromVoidPtr((void*)object) : NULL,
           *same = ours ? PyObject_RichCompare(ours, theirs, Py_EQ) : NULL;
  Py_XDECREF(theirs);
  Py_XDECREF(ours);
  return same;
}

static PyMethodDef object_methods[] = {
    {"__tvm_ffi_object__", object_peer, METH_NOARGS,
     "Return the object as an object of the package tvm_ffi."},
    {"_same_as", object_same, METH_O,
     "Return whether another one refers to the same object."},
    {0}};

static PyGetSetDef object_getset[] = {
    {"type_index", object_type_index, NULL,
     "The type index; from 128 on it is a type that a library registered.",
     NULL},
    {"type_key", object_type_key, NULL,
     "The name of its type, such as \"ffi.Array\"; None where it is not known.",
     NULL},
    {"address", object_address, NULL,
     "Where the object is in memory; 0: it has none.", NULL},
    {"__class__", get_class, set_class, NULL, NULL},
    {0}};

static PyType_Slot object_slots[] = {
    {Py_tp_doc,
     "A reference-counted object of TVM-FFI's stable C ABI, of a type without "
     "its own class.\n\nIt can be kept and passed to functions. Two are equal "
     "if they refer to the same object.\n\n"
     "Example:\n"
     "    >>> import fnabi\n"
     "    >>> array = fnabi.Array([1, 2])\n"
     "    >>> isinstance(array, fnabi.Object), array.type_key\n"
     "    (True, 'ffi.Array')\n"},
    {Py_tp_dealloc, object_dealloc},
    {Py_tp_getset, object_getset},
    {Py_tp_methods, object_methods},
    {Py_tp_richcompare, object_compare},
    {Py_tp_hash, object_hash},
    {Py_tp_repr, lane_object_repr},
    {0}};

static PyType_Spec object_spec = {"fnabi.Object", sizeof(lane_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                                      Py_TPFLAGS_IMMUTABLETYPE |
                                      Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  object_slots};

int lane_object_init(PyObject* module) {
  lane.object = lane_add_type(module, &object_spec, NULL);
  return lane.object ? 0 : -1;
}
