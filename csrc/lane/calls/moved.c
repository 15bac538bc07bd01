/* Objects that move from one Python object to another, or to a callee. */
#include "lane/calls/moved.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/array.h"
#include "calls/map.h"
#include "lane/calls/attributes.h"
#include "lane/calls/init.h"
#include "lane/calls/to_value.h"
#include "lane/calls/wrap.h"
#include "lane/runtime/call_error.h"

int lane_check_not_lent(PyObject* value) {
  const uint32_t* lent = lane_lent(value);
  if (lent == NULL || *lent == 0) return 0;
  return lane_value_error(
      PyObject_TypeCheck(value, lane.function)
          ? "a function cannot be moved while a call runs or borrows it"
          : "an argument cannot be moved before its call ends");
}

/* The placeholder in a Python object whose object was taken, or not made yet.
 * It has no type and is never freed. */
static fnabi_object nothing = {
    .counts = FNABI_WEAK_ONE + 1,
    .type_index = FNABI_INDEX_OBJECT,
};

/* Whether an object may be moved; raises ValueError if not. */
static bool is_movable(PyObject* from) {
  int32_t index = ((lane_object*)from)->object->type_index;
  return (index != FNABI_INDEX_ERROR && index != FNABI_INDEX_TENSOR) ||
         lane_value_error("an object of type %s cannot be moved",
                          fnabi_type_key(index)) == 0;
}

/* The object that replaces one that is taken: an empty container for a
 * container, so that its methods still work, else the placeholder. */
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
  if (lane_check_not_lent(from) < 0 || !is_movable(from)) return NULL;
  fnabi_object *object = self->object, *left = nothing_like(object);
  if (left == NULL) return NULL;
  self->object = left;
  self->empty = true;
  lane_attributes_moved(from, object, false);
  return object;
}

static PyObject* empty_object(PyObject* module, PyObject* class) {
  (void)module;
  if (!PyType_Check(class) ||
      !PyType_IsSubtype((PyTypeObject*)class, lane.object) ||
      (PyType_GetFlags((PyTypeObject*)class) & Py_TPFLAGS_HAVE_GC) == 0 ||
      lane_kind_of((PyTypeObject*)class) != lane.object) {
    lane_type_error("empty_object: class: expected a class of Python, got %R",
                    class);
    return NULL;
  }
  fnabi_object_retain(&nothing);
  PyObject* made = lane_construct((PyTypeObject*)class, &nothing);
  if (made != NULL) ((lane_object*)made)->empty = true;
  return made;
}

static bool is_container(const PyTypeObject* kind) {
  return kind == lane.array || kind == lane.list || kind == lane.map ||
         kind == lane.dict;
}

/* A container takes over one of its kind alone, as its methods read it. */
static int check_target(PyObject* to, PyObject* from) {
  if (lane_check_not_lent(to) < 0) return -1;
  PyTypeObject* kind = lane_kind_of(Py_TYPE(to));
  if (kind == lane.object ||
      (is_container(kind) && kind == lane_kind_of(Py_TYPE(from))))
    return 0;
  lane_type_error_got(to, "move_object: to: expected an object with fields");
  return -1;
}

/* Makes an object that the caller owns that of a Python object. */
static void give(PyObject* to, PyObject* from, fnabi_object* object,
                 bool shared) {
  lane_object* target = (lane_object*)to;
  fnabi_object* old = target->object;
  target->object = object;
  target->exchange = ((lane_object*)from)->exchange;
  target->empty = false;
  lane_attributes_moved(to, old, shared);
  lane_release(old);
}

static PyObject* move_object(PyObject* module, PyObject* args) {
  PyObject *to, *from;
  (void)module;
  if (!PyArg_ParseTuple(args, "O!O!:move_object", lane.object, &to, lane.object,
                        &from))
    return NULL;
  if (to == from) Py_RETURN_NONE;
  if (check_target(to, from) < 0) return NULL;
  fnabi_object* object = take_out(from);
  if (object == NULL) return NULL;
  give(to, from, object, false);
  Py_RETURN_NONE;
}

/* What a function returns is a Python object that others may have, where the
 * library has one object for equal values. */
static PyObject* take_object(PyObject* module, PyObject* const* args,
                             Py_ssize_t count) {
  (void)module;
  if (count != 2 || !PyObject_TypeCheck(args[0], lane.object) ||
      !PyObject_TypeCheck(args[1], lane.object)) {
    lane_type_error("take_object: expected two instances of Object");
    return NULL;
  }
  PyObject *to = args[0], *from = args[1];
  if (to == from) Py_RETURN_NONE;
  if (check_target(to, from) < 0) return NULL;
  bool shared = Py_REFCNT(from) > 1;
  fnabi_object* object = ((lane_object*)from)->object;
  if (shared)
    fnabi_object_retain(object);
  else
    object = take_out(from);
  if (object == NULL) return NULL;
  give(to, from, object, shared);
  Py_RETURN_NONE;
}

static PyObject* moved_new(PyTypeObject* type, PyObject* args,
                           PyObject* named) {
  static char* keywords[] = {"object", NULL};
  PyObject* from;
  if (!PyArg_ParseTupleAndKeywords(args, named, "O!:Moved", keywords,
                                   lane.object, &from))
    return NULL;
  if (lane_check_not_lent(from) < 0 || !is_movable(from)) return NULL;
  lane_moved* self = PyObject_New(lane_moved, type);
  if (self == NULL) return NULL;
  self->from = Py_NewRef(from);
  self->seen = ((lane_object*)from)->object;
  self->object = NULL;
  return (PyObject*)self;
}

int lane_moved_view(PyObject* moved, fnabi_any* out) {
  lane_moved* self = (lane_moved*)moved;
  if (self->from != NULL) {
    lane_object* from = (lane_object*)self->from;
    if (from->empty || from->object != self->seen)
      return lane_value_error("the object was already moved");
    if (from->lent != 0) {
      self->object = from->object;
      fnabi_object_retain(self->object);
    } else if ((self->object = take_out(self->from)) == NULL) {
      return -1;
    }
    Py_CLEAR(self->from);
  }
  if (self->object == NULL)
    return lane_value_error("the object was already moved");
  fnabi_any_set(out, FNABI_INDEX_RVALUE, 0);
  out->v_pointer = &self->object;
  return 0;
}

static void moved_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  fnabi_object* object = ((lane_moved*)self)->object;
  Py_XDECREF(((lane_moved*)self)->from);
  PyObject_Free(self);
  Py_DECREF(type);
  if (object != NULL) lane_release(object);
}

static PyType_Slot moved_slots[] = {
    {Py_tp_doc,
     "Moved(object)\n--\n\n"
     "The object of a Python object for a callee that may take it; the Python "
     "object has none\nafterwards."},
    {Py_tp_new, moved_new},
    {Py_tp_dealloc, moved_dealloc},
    {0}};

static PyType_Spec moved_spec = {
    "fnabi._base.lane.Moved", sizeof(lane_moved), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, moved_slots};

/* Returns the wrapper of the object that a Python value becomes, also of those
 * that have values of Python, such as str and tuple. */
static PyObject* object_of(PyObject* module, PyObject* value) {
  fnabi_any any;
  (void)module;
  if (lane_own(value, &any) < 0) return NULL;
  fnabi_object* object = fnabi_any_object(&any);
  PyTypeObject* type = object ? lane_type_of(object->type_index) : NULL;
  if (type != NULL) return lane_wrap(type, object);
  fnabi_any_release(&any);
  if (!PyErr_Occurred())
    lane_type_error_got(value, "object_of: expected a value that is an object");
  return NULL;
}

static PyObject* address_of(PyObject* module, PyObject* value) {
  if (PyObject_TypeCheck(value, lane.object)) {
    const lane_object* of = (const lane_object*)value;
    return PyLong_FromVoidPtr(of->empty ? NULL : of->object);
  }
  PyObject* object = object_of(module, value);
  PyObject* address = object ? address_of(module, object) : NULL;
  Py_XDECREF(object);
  return address;
}

static PyObject* is_empty(PyObject* module, PyObject* value) {
  (void)module;
  if (!PyObject_TypeCheck(value, lane.object)) {
    lane_type_error_got(value, "is_empty: expected an Object");
    return NULL;
  }
  return PyBool_FromLong(((lane_object*)value)->empty);
}

/* The cast goes through void (*)(void), because METH_FASTCALL functions have
 * other parameters. */
static PyMethodDef functions[] = {
    {"empty_object", empty_object, METH_O,
     "empty_object(class, /)\n--\n\n"
     "Make an instance of a class derived from Object that has no object yet."},
    {"move_object", move_object, METH_VARARGS,
     "move_object(to, from, /)\n--\n\n"
     "Move the object of an instance into another one, whose own is released."},
    {"take_object", (PyCFunction)(void (*)(void))take_object, METH_FASTCALL,
     "take_object(to, from, /)\n--\n\n"
     "Give an instance the object of one that a function has just returned: it "
     "is moved, or\nshared where others have that instance, too."},
    {"object_of", object_of, METH_O,
     "object_of(value, /)\n--\n\n"
     "The object that a value is passed as, in a wrapper."},
    {"address_of", address_of, METH_O,
     "address_of(value, /)\n--\n\n"
     "Where the object that a value is passed as is in memory; 0: it has none. "
     "A field of the\nname ``address`` does not hide it."},
    {"is_empty", is_empty, METH_O,
     "is_empty(object, /)\n--\n\n"
     "Whether an instance has no object."},
    {0}};

int lane_moved_init(PyObject* module) {
  lane.moved = lane_add_type(module, &moved_spec, NULL);
  return lane.moved ? PyModule_AddFunctions(module, functions) : -1;
}
