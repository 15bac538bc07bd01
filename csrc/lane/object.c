#include "lane/lane.h"
/* after Python.h, which settles what the system headers offer */
#include "value/array.h"
#include "value/map.h"

static void object_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  fnabi_object* object = ((lane_object*)self)->object;
  if (PyType_GetFlags(type) & Py_TPFLAGS_HAVE_GC)
    PyObject_GC_Del(self);
  else
    PyObject_Free(self);
  Py_DECREF(type);
  lane_release(object);
}

void lane_release(fnabi_object* object) {
  PyObject *kind, *problem, *traceback;
  PyErr_Fetch(&kind, &problem, &traceback);
  fnabi_object_release(object);
  PyErr_Restore(kind, problem, traceback);
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

PyTypeObject* lane_kind_of(PyTypeObject* class) {
  PyTypeObject* kinds[] = {lane.array, lane.list,  lane.map,
                           lane.dict,  lane.error, lane.tensor};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (PyType_IsSubtype(class, kinds[i])) return kinds[i];
  return lane.object;
}

static PyObject* get_class(PyObject* self, void* unused) {
  (void)unused;
  return Py_NewRef((PyObject*)Py_TYPE(self));
}

/* As for other objects, but an Array would be read where there is none. */
static int set_class(PyObject* self, PyObject* class, void* unused) {
  (void)unused;
  if (class == NULL || !PyType_Check(class) ||
      lane_kind_of((PyTypeObject*)class) != lane_kind_of(Py_TYPE(self))) {
    PyErr_Format(PyExc_TypeError, "__class__: %R has objects of another type",
                 class != NULL ? class : Py_None);
    return -1;
  }
  PyObject *all =
               PyObject_GetAttrString((PyObject*)&PyBaseObject_Type, "__dict__"),
           *attribute = all ? PyMapping_GetItemString(all, "__class__") : NULL,
           *done = attribute ? PyObject_CallMethod(attribute, "__set__", "OO",
                                                   self, class)
                             : NULL;
  Py_XDECREF(all);
  Py_XDECREF(attribute);
  Py_XDECREF(done);
  return done ? 0 : -1;
}

/* --------------------------------------------------- to the package tvm_ffi */

/* tvm_ffi wraps whatever a function returns. So it gets a function that returns
 * the object at a given address. */
static int hand_over(void* handle, const fnabi_any* args, int32_t n,
                     fnabi_any* result) {
  (void)handle;
  if (n != 1 || args->type_index != FNABI_INDEX_INT) return -1;
  fnabi_object* object = (fnabi_object*)(uintptr_t)args->v_int;
  fnabi_object_retain(object);
  fnabi_any_set_object(result, object);
  return 0;
}

PyObject* lane_object_peer(fnabi_object* object) {
  static PyObject* give;
  if (give == NULL) {
    PyObject* type = lane_imported("tvm_ffi", "Function");
    if (type == NULL) {
      lane_call_error("__tvm_ffi_object__: tvm_ffi is not imported");
      return NULL;
    }
    give = PyObject_CallMethod(type, "__from_extern_c__", "K",
                               (unsigned long long)(uintptr_t)hand_over);
    Py_DECREF(type);
    if (give == NULL) return NULL;
  }
  return PyObject_CallFunction(give, "K",
                               (unsigned long long)(uintptr_t)object);
}

static PyObject* object_peer(PyObject* self, PyObject* unused) {
  (void)unused;
  return lane_object_peer(((lane_object*)self)->object);
}

/* ------------------------------------------------------ objects that move */

/* What a Python object has that lost its object, or has none yet: an object of
 * no type, which nobody frees. */
static fnabi_object nothing = {
    .counts = FNABI_WEAK_ONE + 1,
    .type_index = FNABI_INDEX_OBJECT,
};

/* What is left where an object was taken: containers stay containers. */
static fnabi_object* nothing_like(const fnabi_object* object) {
  void* made;
  switch (object->type_index) {
    case FNABI_INDEX_ARRAY:
      made = fnabi_array_new(0);
      break;
    case FNABI_INDEX_LIST:
      made = fnabi_list_new(0);
      break;
    case FNABI_INDEX_MAP:
    case FNABI_INDEX_DICT:
      made = fnabi_map_new(NULL, 0, object->type_index);
      break;
    case FNABI_INDEX_ERROR:
    case FNABI_INDEX_TENSOR:
      lane_call_error("an object of type %s cannot be moved",
                      fnabi_type_key(object->type_index));
      return NULL;
    default:
      fnabi_object_retain(&nothing);
      return &nothing;
  }
  if (made == NULL) lane_no_memory();
  return made;
}

/* Takes the object out of a Python object. */
static fnabi_object* take_out(PyObject* from) {
  lane_object* self = (lane_object*)from;
  fnabi_object *object = self->object, *left = nothing_like(object);
  if (left == NULL) return NULL;
  self->object = left;
  self->empty = true;
  return object;
}

static PyObject* object_empty(PyObject* self, void* unused) {
  (void)unused;
  return PyBool_FromLong(((lane_object*)self)->empty);
}

static PyObject* empty_object(PyObject* module, PyObject* class) {
  (void)module;
  if (!PyType_Check(class) ||
      !PyType_IsSubtype((PyTypeObject*)class, lane.object) ||
      (PyType_GetFlags((PyTypeObject*)class) & Py_TPFLAGS_HAVE_GC) == 0 ||
      lane_kind_of((PyTypeObject*)class) != lane.object) {
    lane_call_error("empty_object: class: expected a class of Python, got %R",
                    class);
    return NULL;
  }
  fnabi_object_retain(&nothing);
  PyObject* made = lane_construct((PyTypeObject*)class, &nothing);
  if (made != NULL) ((lane_object*)made)->empty = true;
  return made;
}

static PyObject* move_object(PyObject* module, PyObject* args) {
  PyObject *to, *from;
  (void)module;
  if (!PyArg_ParseTuple(args, "O!O!:move_object", lane.object, &to, lane.object,
                        &from))
    return NULL;
  lane_object* target = (lane_object*)to;
  if (!target->empty || target->object != &nothing) {
    lane_call_error("move_object: to: expected one without an object");
    return NULL;
  }
  fnabi_object* object = take_out(from);
  if (object == NULL) return NULL;
  target->object = object;
  target->exchange = ((lane_object*)from)->exchange;
  target->empty = false;
  fnabi_object_release(&nothing);
  Py_RETURN_NONE;
}

/* The value is its own, and so can be taken, as the ABI's rvalues are. */
typedef struct lane_moved {
  PyObject_HEAD fnabi_object* object; /* NULL: it was taken */
} lane_moved;

static PyObject* moved_new(PyTypeObject* type, PyObject* args,
                           PyObject* named) {
  static char* keywords[] = {"object", NULL};
  PyObject* from;
  if (!PyArg_ParseTupleAndKeywords(args, named, "O!:Moved", keywords,
                                   lane.object, &from))
    return NULL;
  lane_moved* self = PyObject_New(lane_moved, type);
  if (self == NULL) return NULL;
  self->object = take_out(from);
  if (self->object == NULL) Py_CLEAR(self);
  return (PyObject*)self;
}

static void moved_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  fnabi_object* object = ((lane_moved*)self)->object;
  PyObject_Free(self);
  Py_DECREF(type);
  if (object != NULL) lane_release(object);
}

void lane_moved_view(PyObject* moved, fnabi_any* out) {
  fnabi_any_set(out, FNABI_INDEX_RVALUE, 0);
  out->v_pointer = &((lane_moved*)moved)->object;
}

static PyType_Slot moved_slots[] = {
    {Py_tp_doc,
     "Moved(object)\n--\n\n"
     "The object of a Python object, which has none afterwards: the callee may "
     "take it."},
    {Py_tp_new, moved_new},
    {Py_tp_dealloc, moved_dealloc},
    {0}};

static PyType_Spec moved_spec = {"fnabi._call.Moved", sizeof(lane_moved), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                                 moved_slots};

/* Whatever Python value an object has, such as a text or a tuple. */
static PyObject* object_of(PyObject* module, PyObject* value) {
  fnabi_any any;
  (void)module;
  if (lane_own(value, &any) < 0) return NULL;
  fnabi_object* object = fnabi_any_object(&any);
  PyTypeObject* type = object ? lane_type_of(object->type_index) : NULL;
  if (type != NULL) return lane_wrap(type, object);
  fnabi_any_release(&any);
  if (!PyErr_Occurred())
    lane_call_error_got(value, "object_of: expected a value that is an object");
  return NULL;
}

static PyMethodDef object_functions[] = {
    {"empty_object", empty_object, METH_O,
     "empty_object(class, /)\n--\n\n"
     "Make an instance of a class derived from Object that has no object yet."},
    {"move_object", move_object, METH_VARARGS,
     "move_object(to, from, /)\n--\n\n"
     "Move the object of an instance into one that has none."},
    {"object_of", object_of, METH_O,
     "object_of(value, /)\n--\n\n"
     "The object that a value is passed as, in a wrapper."},
    {0}};

static PyMethodDef object_methods[] = {
    {"__tvm_ffi_object__", object_peer, METH_NOARGS,
     "Return the object as an object of the package tvm_ffi."},
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
    {"_empty", object_empty, NULL, "Whether it has no object.", NULL},
    {0}};

static PyType_Slot object_slots[] = {
    {Py_tp_doc,
     "A reference-counted object of TVM-FFI's stable C ABI, of a type without "
     "its own class.\n\nIt can be kept and passed to functions. Two are equal "
     "if they refer to the same object.\n"},
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
  lane.moved = lane_add_type(module, &moved_spec, NULL);
  if (lane.object == NULL || lane.moved == NULL) return -1;
  return PyModule_AddFunctions(module, object_functions);
}
