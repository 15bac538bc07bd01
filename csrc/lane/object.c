#include "lane/lane.h"

static void object_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  fnabi_object* object = ((lane_object*)self)->object;
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

static PyObject* object_address(PyObject* self, void* unused) {
  (void)unused;
  return PyLong_FromVoidPtr(((lane_object*)self)->object);
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

/* ---------------------------------------------------------------- containers
 */

int lane_register(const char* base, PyTypeObject* type) {
  PyObject *module = PyImport_ImportModule("collections.abc"),
           *class = module ? PyObject_GetAttrString(module, base) : NULL,
           *done =
               class ? PyObject_CallMethod(class, "register", "O", type) : NULL;
  Py_XDECREF(module);
  Py_XDECREF(class);
  Py_XDECREF(done);
  return done ? 0 : -1;
}

typedef enum sort { OTHER, NUMBER, TEXT, SEQUENCE, MAPPING } sort;

static sort sort_of(const fnabi_any* value) {
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
      return lane_array_equal((const fnabi_seq_object*)a->v_object,
                              (const fnabi_seq_object*)b->v_object);
    case MAPPING:
      return lane_map_equal((const fnabi_map_object*)a->v_object,
                            (const fnabi_map_object*)b->v_object);
    case NUMBER:
      if (a->type_index == FNABI_INDEX_INT && b->type_index == FNABI_INDEX_INT)
        return a->v_int == b->v_int;
      break;
    case OTHER:
      break;
  }
  return equal_in_python(a, b);
}

enum { REPR_DEPTH = 50 };

static PyObject* repr_container(const fnabi_object* object,
                                const lane_nest* outer, bool plain) {
  bool seq = object->type_index == FNABI_INDEX_ARRAY ||
             object->type_index == FNABI_INDEX_LIST;
  lane_nest nest = {outer, object, outer ? outer->depth + 1 : 0};
  bool within = nest.depth >= REPR_DEPTH;
  for (; outer != NULL && !within; outer = outer->outer)
    within = outer->object == object;
  if (within) return PyUnicode_FromString(seq ? "[...]" : "{...}");
  PyObject *parts = PyList_New(0), *comma = NULL, *text = NULL, *answer = NULL;
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

/* ------------------------------------------------------ to the package tvm_ffi
 *
 * It makes a wrapper of whatever a function of its own answers, so it is given
 * one that answers the object whose address it gets. */
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

static PyMethodDef object_methods[] = {
    {"__tvm_ffi_object__", object_peer, METH_NOARGS,
     "The same object as the package tvm_ffi wraps it."},
    {0}};

static PyGetSetDef object_getset[] = {
    {"type_index", object_type_index, NULL,
     "What the object is; from 128 on a type that some library registered.",
     NULL},
    {"address", object_address, NULL, "Where the object is in memory.", NULL},
    {0}};

static PyType_Slot object_slots[] = {
    {Py_tp_doc,
     "A counted object of TVM-FFI's stable C ABI, of a type that has no class "
     "here.\n\nIt can be kept and passed on. Equal to another one that stands "
     "for the same object.\n"},
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
