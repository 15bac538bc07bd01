/* What Array, List, Map and Dict share: equality, copies and reprs. */
#include "lane/calls/container.h"

#include "lane/calls/array.h"
#include "lane/calls/dialect.h"
#include "lane/calls/from_value.h"
#include "lane/calls/map.h"
#include "lane/runtime/call_error.h"
#include "lane/runtime/hooks.h"

typedef enum sort { OTHER, NUMBER, TEXT, SEQUENCE, MAPPING } sort;

static sort sort_of(const fnabi_any* value) {
  if (fnabi_any_is_object(value) && fnabi_any_object(value) == NULL)
    return OTHER;
  switch (value->type_index) {
    case FNABI_INDEX_INT:
    case FNABI_INDEX_BOOL:
    case FNABI_INDEX_FLOAT:
    case FNABI_INDEX_BIG_INT:
      return NUMBER;
    case FNABI_INDEX_NONE:
    case FNABI_INDEX_RAW_STR:
    case FNABI_INDEX_BYTE_ARRAY:
    case FNABI_INDEX_SMALL_STR:
    case FNABI_INDEX_SMALL_BYTES:
    case FNABI_INDEX_STR:
    case FNABI_INDEX_BYTES:
      return TEXT;
    case FNABI_INDEX_ARRAY:
    case FNABI_INDEX_LIST:
      return SEQUENCE;
    case FNABI_INDEX_MAP:
    case FNABI_INDEX_DICT:
      return MAPPING;
    default:
      return OTHER;
  }
}

static int equal_in_python(const fnabi_any* a, const fnabi_any* b) {
  PyObject *left = lane_from(a, false),
           *right = left ? lane_from(b, false) : NULL;
  int equal = right ? PyObject_RichCompareBool(left, right, Py_EQ) : -1;
  Py_XDECREF(left);
  Py_XDECREF(right);
  return equal;
}

int lane_equal(const fnabi_any* a, const fnabi_any* b) {
  if (memcmp(a, b, sizeof *a) == 0) return 1;
  sort sort = sort_of(a);
  if (sort != sort_of(b)) return 0;
  switch (sort) {
    case TEXT:
      return fnabi_any_equal(a, b);
    case SEQUENCE:
      return lane_array_equal((fnabi_seq_object*)a->v_object,
                              (fnabi_seq_object*)b->v_object);
    case MAPPING:
      return lane_map_equal((fnabi_map_object*)a->v_object,
                            (fnabi_map_object*)b->v_object);
    case NUMBER:
      if (a->type_index == FNABI_INDEX_INT && b->type_index == FNABI_INDEX_INT)
        return a->v_int == b->v_int;
      break;
    case OTHER:
      break;
  }
  return equal_in_python(a, b);
}

/* -------------------------------------------------------------------- copies */

/* Whether the class may have attributes and a __new__ of its own. Dialects have
 * copies of their own. */
static bool is_derived(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  return (PyType_GetFlags(type) & Py_TPFLAGS_HAVE_GC) != 0 &&
         lane_dialect_of(type) == NULL;
}

/* The attributes that a class of Python adds, or None. */
static PyObject* state_of(PyObject* self) {
  return is_derived(self) ? PyObject_CallMethod(self, "__getstate__", NULL)
                          : Py_NewRef(Py_None);
}

PyObject* lane_reduce(PyObject* self, PyObject* values) {
  PyObject *state = values ? state_of(self) : NULL, *answer = NULL;
  if (state != NULL && is_derived(self)) {
    PyObject *remake = lane_get(LANE_REMAKE), *parts_of = lane_get(LANE_PARTS),
             *parts = remake && parts_of ? PyObject_CallFunctionObjArgs(
                                               parts_of, self, values, NULL)
                                         : NULL;
    if (parts != NULL) answer = Py_BuildValue("OOO", remake, parts, state);
    Py_XDECREF(parts);
  } else if (state != NULL) {
    answer = Py_BuildValue("O(O)O", (PyObject*)Py_TYPE(self), values, state);
  }
  Py_XDECREF(values);
  Py_XDECREF(state);
  return answer;
}

static int copy_state(PyObject* made, PyObject* self, PyObject* deep,
                      PyObject* memo) {
  PyObject *state = state_of(self), *copy = NULL, *done = NULL;
  if (state == Py_None)
    done = Py_NewRef(Py_None);
  else if (state != NULL)
    copy = PyObject_CallFunctionObjArgs(deep, state, memo, NULL);
  PyObject* set = copy ? lane_get(LANE_SET_STATE) : NULL;
  if (set != NULL) done = PyObject_CallFunctionObjArgs(set, made, copy, NULL);
  Py_XDECREF(state);
  Py_XDECREF(copy);
  Py_XDECREF(done);
  return done ? 0 : -1;
}

/* Copies the values of a list or dict into an empty one. */
static int fill_copy(PyObject* made, PyObject* self, bool seq, PyObject* deep,
                     PyObject* memo) {
  PyObject* items = seq ? PySequence_List(self) : PyMapping_Items(self);
  if (items == NULL) return -1;
  int status = 0;
  for (Py_ssize_t i = 0; status == 0 && i < PyList_Size(items); i++) {
    PyObject* copy = PyObject_CallFunctionObjArgs(
        deep, PyList_GetItem(items, i), memo, NULL);
    PyObject* done = NULL;
    if (copy != NULL && seq)
      done = PyObject_CallMethod(made, "append", "O", copy);
    else if (copy != NULL && PyObject_SetItem(made, PyTuple_GetItem(copy, 0),
                                              PyTuple_GetItem(copy, 1)) == 0)
      done = Py_NewRef(Py_None);
    if (done == NULL) status = -1;
    Py_XDECREF(done);
    Py_XDECREF(copy);
  }
  Py_DECREF(items);
  return status;
}

/* A new container of the class, made of copies of values. Takes ownership of
 * these, or returns NULL if they are NULL. */
static PyObject* make_copy(PyObject* self, PyObject* values, PyObject* deep,
                           PyObject* memo) {
  PyObject *make = (PyObject*)Py_TYPE(self), *parts = NULL, *made = NULL;
  if (values == NULL) return NULL;
  if (!is_derived(self)) {
    parts = Py_BuildValue("(O)", values);
  } else {
    PyObject* parts_of = lane_get(LANE_PARTS);
    make = lane_get(LANE_REMAKE);
    if (parts_of != NULL && make != NULL)
      parts = PyObject_CallFunctionObjArgs(parts_of, self, values, NULL);
  }
  PyObject* copies =
      parts ? PyObject_CallFunctionObjArgs(deep, parts, memo, NULL) : NULL;
  if (copies != NULL) made = PyObject_CallObject(make, copies);
  Py_XDECREF(copies);
  Py_XDECREF(parts);
  Py_DECREF(values);
  return made;
}

/* Two wrappers of one object are two Python objects: the memo has the address
 * of the object. */
PyObject* lane_deepcopy(PyObject* self, PyObject* memo) {
  bool changes = lane_is(self, lane.list) || lane_is(self, lane.dict);
  bool seq = lane_is(self, lane.array) || lane_is(self, lane.list);
  PyObject *deep = lane_get(LANE_DEEPCOPY),
           *key = deep ? Py_BuildValue(
                             "(sN)", "fnabi",
                             PyLong_FromVoidPtr(((lane_object*)self)->object))
                       : NULL,
           *made = NULL;
  if (key != NULL && !PyDict_Check(memo))
    lane_type_error_got(memo, "__deepcopy__: memo: expected dict");
  else if (key != NULL)
    made = Py_XNewRef(PyDict_GetItemWithError(memo, key));
  if (key != NULL && made == NULL && !PyErr_Occurred()) {
    made = make_copy(self,
                     changes ? PyList_New(0)
                     : seq   ? PySequence_List(self)
                             : PyMapping_Items(self),
                     deep, memo);
    if (made != NULL && (PyDict_SetItem(memo, key, made) < 0 ||
                         (changes && PyObject_Size(made) == 0 &&
                          fill_copy(made, self, seq, deep, memo) < 0)))
      Py_CLEAR(made);
    if (made != NULL && copy_state(made, self, deep, memo) < 0) Py_CLEAR(made);
  }
  Py_XDECREF(key);
  return made;
}

enum { REPR_DEPTH = 50 };

static PyObject* repr_container(fnabi_object* object, const lane_nest* outer,
                                bool plain) {
  bool seq = object->type_index == FNABI_INDEX_ARRAY ||
             object->type_index == FNABI_INDEX_LIST;
  lane_nest nest = {outer, object, outer ? outer->depth + 1 : 0};
  bool within = nest.depth >= REPR_DEPTH;
  for (; outer != NULL && !within; outer = outer->outer)
    within = outer->object == object;
  if (within) return PyUnicode_FromString(seq ? "[...]" : "{...}");
  PyObject *parts = PyList_New(0), *comma = NULL, *text = NULL, *answer = NULL;
  fnabi_object_retain(object); /* Python code may move it to a callee */
  if (parts != NULL &&
      (seq ? lane_array_repr((const fnabi_seq_object*)object, &nest, parts)
           : lane_map_repr((const fnabi_map_object*)object, &nest, parts)) == 0)
    comma = PyUnicode_FromString(", ");
  if (comma != NULL) text = PyUnicode_Join(comma, parts);
  if (text != NULL) {
    switch (object->type_index) {
      case FNABI_INDEX_ARRAY:
        answer = PyUnicode_FromFormat(plain ? "[%U]" : "Array([%U])", text);
        break;
      case FNABI_INDEX_LIST:
        answer = PyUnicode_FromFormat("List([%U])", text);
        break;
      case FNABI_INDEX_MAP:
        answer = PyUnicode_FromFormat(plain ? "{%U}" : "Map({%U})", text);
        break;
      default:
        answer = PyUnicode_FromFormat("Dict({%U})", text);
    }
  }
  Py_XDECREF(parts);
  Py_XDECREF(comma);
  Py_XDECREF(text);
  lane_release(object);
  return answer;
}

PyObject* lane_repr(const fnabi_any* value, const lane_nest* nest, bool plain) {
  sort sort = sort_of(value);
  if (sort == SEQUENCE || sort == MAPPING)
    return repr_container(value->v_object, nest, plain);
  PyObject *object = lane_from(value, false),
           *text = object ? PyObject_Repr(object) : NULL;
  Py_XDECREF(object);
  return text;
}

PyObject* lane_object_repr(PyObject* self) {
  fnabi_object* object = ((lane_object*)self)->object;
  fnabi_any any;
  fnabi_any_set_object(&any, object);
  sort sort = sort_of(&any);
  if (sort == SEQUENCE || sort == MAPPING)
    return repr_container(object, NULL, false);
  const char* key = fnabi_type_key(object->type_index);
  if (key != NULL) return PyUnicode_FromFormat("<%s at %p>", key, object);
  return PyUnicode_FromFormat("<object of type index %d at %p>",
                              (int)object->type_index, object);
}
