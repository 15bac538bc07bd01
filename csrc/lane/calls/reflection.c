/* Types that libraries have registered with libtvm_ffi: their classes, fields
 * and methods. What a library wrote into the table of types is checked here
 * once, when a class is made. */
#include "lane/calls/attributes.h"
#include "lane/calls/context.h"
#include "lane/calls/dialect.h"
#include "lane/calls/error.h"
#include "lane/calls/from_value.h"
#include "lane/calls/function.h"
#include "lane/calls/init.h"
#include "lane/calls/known_types.h"
#include "lane/calls/result.h"
#include "lane/calls/to_value.h"
#include "lane/calls/wrap.h"
#include "lane/runtime/call_error.h"
#include "lane/runtime/error_slot.h"
#include "lane/runtime/hooks.h"
#include "lane/runtime/text.h"
#include "lane/runtime/types.h"

static int check_layout(PyTypeObject* class) {
  if ((lane_has_our_layout(class) || lane_has_attributes(class)) &&
      lane_kind_of(class) == lane.object)
    return 0;
  PyObject* name = PyType_GetName(class);
  if (name != NULL)
    lane_type_error(
        "%U: expected a class without attributes of its own and without bases "
        "that have some: objects hold their fields in memory of the library",
        name);
  Py_XDECREF(name);
  return -1;
}

/* As lane_type_info. */
static const fnabi_type_info* find_info(const char* function,
                                        int32_t type_index) {
  const fnabi_type_info* info = lane_type_info(type_index);
  if (info != NULL && info->depth >= 0 &&
      (info->depth == 0 || info->ancestors != NULL))
    return info;
  lane_call_error("%s: type index %d: the library has no valid record of it",
                  function, (int)type_index);
  return NULL;
}

static PyObject* set_class(PyObject* module, PyObject* args) {
  int type_index;
  PyObject *class, *dialect = Py_None;
  (void)module;
  if (!PyArg_ParseTuple(args, "iO!|O:set_class", &type_index, &PyType_Type,
                        &class, &dialect) ||
      check_layout((PyTypeObject*)class) < 0)
    return NULL;
  const fnabi_type_info* info = find_info("set_class", type_index);
  if (info == NULL) return NULL;
  if (!lane_known_describe(type_index, info)) return PyErr_NoMemory();
  if (dialect != Py_None) {
    if (lane_dialect_set(dialect, type_index, (PyTypeObject*)class) < 0)
      return NULL;
    Py_RETURN_NONE;
  }
  lane_known_class(type_index, (PyTypeObject*)class);
  Py_RETURN_NONE;
}

static PyObject* as_class(PyObject* module, PyObject* args) {
  PyObject *object, *class;
  (void)module;
  if (!PyArg_ParseTuple(args, "O!O!:as_class", lane.object, &object,
                        &PyType_Type, &class) ||
      check_layout((PyTypeObject*)class) < 0)
    return NULL;
  fnabi_object* held = ((lane_object*)object)->object;
  fnabi_object_retain(held);
  return lane_wrap((PyTypeObject*)class, held);
}

/* ------------------------------------------------- what fields and methods share */

typedef struct member {
  PyObject_HEAD lane_vectorcall vectorcall; /* of methods */
  int32_t owner_index, owner_depth;
  int64_t flags;
  PyObject *owner, *name, *doc, *metadata; /* each a str; doc may be None */
} member;

static void member_clear(member* self) {
  Py_XDECREF(self->owner);
  Py_XDECREF(self->name);
  Py_XDECREF(self->doc);
  Py_XDECREF(self->metadata);
}

static int member_fill(member* self, const fnabi_type_info* info,
                       PyObject* owner, const fnabi_byte_array* name,
                       const fnabi_byte_array* doc,
                       const fnabi_byte_array* metadata, int64_t flags) {
  self->vectorcall = NULL;
  self->owner_index = info->type_index;
  self->owner_depth = info->depth;
  self->flags = flags;
  self->owner = Py_NewRef(owner);
  self->doc = self->metadata = NULL;
  self->name = lane_text(name);
  if (self->name != NULL)
    self->doc = doc->size == 0 ? Py_NewRef(Py_None) : lane_text(doc);
  if (self->doc != NULL) self->metadata = lane_text(metadata);
  return self->metadata != NULL ? 0 : -1;
}

/* The object of an instance of the type that has the member. The class of a
 * Python object may have been changed, so the type of its object counts. */
static fnabi_object* member_object(const member* self, PyObject* instance) {
  if (PyObject_TypeCheck(instance, lane.object)) {
    fnabi_object* object = ((lane_object*)instance)->object;
    if (lane_known_derives(object->type_index, self->owner_index,
                           self->owner_depth))
      return object;
    if (((lane_object*)instance)->empty) {
      lane_type_error(
          "%U.%U: expected an object of type %U, got none: it was moved, or "
          "never made",
          self->owner, self->name, self->owner);
      return NULL;
    }
  }
  lane_type_error_got(instance, "%U.%U: expected an object of type %U",
                      self->owner, self->name, self->owner);
  return NULL;
}

static PyObject* member_schema(PyObject* self, void* unused) {
  (void)unused;
  PyObject* find = lane_get(LANE_MEMBER_SCHEMA);
  if (find == NULL) return NULL;
  return PyObject_CallFunctionObjArgs(find, ((member*)self)->metadata, NULL);
}

static PyObject* member_flag(PyObject* self, void* flag) {
  return PyBool_FromLong((((member*)self)->flags & (int64_t)(intptr_t)flag) !=
                         0);
}

static PyObject* member_repr(PyObject* object) {
  member* self = (member*)object;
  return PyUnicode_FromFormat("<%s %U of %U>",
                              self->vectorcall ? "method" : "field", self->name,
                              self->owner);
}

#define MEMBERS                                                       \
  {"name", T_OBJECT, offsetof(member, name), READONLY, "Its name."},  \
      {"__name__", T_OBJECT, offsetof(member, name), READONLY, NULL}, \
      {"owner", T_OBJECT, offsetof(member, owner), READONLY,          \
       "The key of the type that has it."},                           \
      {"__doc__", T_OBJECT, offsetof(member, doc), READONLY, NULL},   \
      {"metadata", T_OBJECT, offsetof(member, metadata), READONLY,    \
       "What the library says of it, a JSON text; may be empty."},    \
      {"flags", T_LONGLONG, offsetof(member, flags), READONLY,        \
       "The bits that the library has set for it."}

/* -------------------------------------------------------------------- Field */

/* A descriptor. It has the doc of the field, and so its type has none. */

typedef struct lane_field {
  member member;
  int64_t offset, size, alignment;
  int (*getter)(void* field, fnabi_any* result);
  void* setter;
  fnabi_any default_value; /* owned */
} lane_field;

static PyTypeObject* field_type;

static void field_dealloc(PyObject* object) {
  lane_field* self = (lane_field*)object;
  PyTypeObject* type = Py_TYPE(object);
  member_clear(&self->member);
  fnabi_any_release(&self->default_value);
  PyObject_Free(object);
  Py_DECREF(type);
}

/* Adds the field to the text of the exception that is set, where a library or
 * a conversion raised it. */
static void name_field(const member* self) {
  PyObject *type, *problem, *traceback;
  PyErr_Fetch(&type, &problem, &traceback); /* lane_get may import */
  PyObject* class = lane_get(LANE_CALL_ERROR);
  if (class == NULL ||
      (!PyErr_GivenExceptionMatches(type, class) &&
       !PyErr_GivenExceptionMatches(type, PyExc_TypeError) &&
       !PyErr_GivenExceptionMatches(type, PyExc_ValueError) &&
       !PyErr_GivenExceptionMatches(type, PyExc_RuntimeError))) {
    PyErr_Restore(type, problem, traceback);
    return;
  }
  PyErr_NormalizeException(&type, &problem, &traceback);
  PyObject* text =
      PyUnicode_FromFormat("%U.%U: %S", self->owner, self->name, problem);
  PyObject* named =
      text ? PyObject_CallFunctionObjArgs(type, text, NULL) : NULL;
  if (named != NULL && PyExceptionInstance_Check(named)) {
    PyObject* error = PyObject_GetAttrString(problem, "ffi_error");
    if (error == NULL || PyObject_SetAttrString(named, "ffi_error", error) < 0)
      lane_clear();
    Py_XDECREF(error);
    Py_DECREF(problem);
    problem = Py_NewRef(named);
  }
  Py_XDECREF(text);
  Py_XDECREF(named);
  /* an exception whose class cannot be made of a text keeps its text */
  if (lane_clear()) {
    PyErr_Restore(type, problem, traceback);
    return;
  }
  Py_XDECREF(type);
  Py_XDECREF(problem);
  Py_XDECREF(traceback);
}

static PyObject* field_get(PyObject* object, PyObject* instance,
                           PyObject* type) {
  lane_field* self = (lane_field*)object;
  (void)type;
  if (instance == NULL || instance == Py_None) return Py_NewRef(object);
  fnabi_object* held = member_object(&self->member, instance);
  if (held == NULL) return NULL;
  fnabi_any result = {0}, refused = {0};
  PyObject* answer = NULL;
  lane_context outer = lane_enter(instance);
  fnabi_error_object* left = lane_error_begin_replaced();
  int status = self->getter((char*)held + self->offset, &result);
  if (status != 0) {
    lane_error_raise(self->member.name, status);
    name_field(&self->member);
    if (lane_result_settle(&result, &refused)) fnabi_any_release(&result);
  } else if (lane_from_frequent(&result, &answer)) {
    /* nothing to release */
  } else if (lane_result_settle(&result, &refused)) {
    answer = lane_take(&result, false);
  } else {
    lane_call_error(
        "%U.%U: the getter returned type index %d with payload %p, which is no "
        "value of the ABI",
        self->member.owner, self->member.name, (int)refused.type_index,
        (void*)(uintptr_t)refused.v_bits);
  }
  lane_error_end(left, status == 0);
  lane_leave(outer);
  return answer;
}

static int set_with(const lane_field* self, void* field,
                    const fnabi_any* value) {
  if (self->member.flags & FNABI_FIELD_SETTER_OBJECT) {
    fnabi_function_object* function = (fnabi_function_object*)self->setter;
    fnabi_any args[2] = {{0}, *value}, result = {0}, refused;
    fnabi_any_set(&args[0], FNABI_INDEX_POINTER, 0);
    args[0].v_pointer = field;
    int status = function->call(function, args, 2, &result);
    if (lane_result_settle(&result, &refused)) fnabi_any_release(&result);
    return status;
  }
  int (*setter)(void*, const fnabi_any*);
  memcpy(&setter, &self->setter, sizeof setter);
  return setter(field, value);
}

static int set_value(lane_field* self, PyObject* instance, PyObject* value,
                     bool writable) {
  fnabi_object* held = member_object(&self->member, instance);
  if (held == NULL) return -1;
  if (value == NULL || !writable || self->setter == NULL) {
    PyErr_Format(PyExc_AttributeError, "%U.%U: the field %s",
                 self->member.owner, self->member.name,
                 value ? "is read-only" : "cannot be deleted");
    return -1;
  }
  fnabi_any any;
  /* the conversion or the setter may run code that releases it */
  fnabi_object_retain(held);
  lane_context outer = lane_enter(instance);
  int made = lane_view(value, &any), status = -1;
  if (made < 0) {
    name_field(&self->member);
  } else {
    fnabi_error_object* left = lane_error_begin();
    status = set_with(self, (char*)held + self->offset, &any);
    if (status != 0) {
      lane_error_raise(self->member.name, status);
      name_field(&self->member);
    }
    lane_error_end(left, status == 0);
  }
  lane_leave(outer);
  if (made == LANE_MADE && fnabi_any_is_object(&any))
    lane_release(any.v_object);
  lane_release(held);
  return status == 0 ? 0 : -1;
}

static int field_set(PyObject* object, PyObject* instance, PyObject* value) {
  lane_field* self = (lane_field*)object;
  return set_value(self, instance, value,
                   (self->member.flags & FNABI_FIELD_WRITABLE) != 0);
}

static PyObject* field_force(PyObject* object, PyObject* args) {
  PyObject *instance, *value;
  if (!PyArg_ParseTuple(args, "OO:set", &instance, &value) ||
      set_value((lane_field*)object, instance, value, true) < 0)
    return NULL;
  Py_RETURN_NONE;
}

static PyMethodDef field_methods[] = {
    {"set", field_force, METH_VARARGS,
     "set($self, instance, value, /)\n--\n\n"
     "Set the field of an object, even if it is read-only: for objects that "
     "nobody else has\nyet, such as a copy."},
    {0}};

static PyObject* field_default(PyObject* object, void* unused) {
  (void)unused;
  return lane_from(&((lane_field*)object)->default_value, false);
}

static PyMemberDef field_members[] = {
    MEMBERS,
    {"offset", T_LONGLONG, offsetof(lane_field, offset), READONLY,
     "Where it is, in bytes from the start of the object."},
    {"size", T_LONGLONG, offsetof(lane_field, size), READONLY,
     "Its size in bytes."},
    {"alignment", T_LONGLONG, offsetof(lane_field, alignment), READONLY,
     "Its alignment in bytes."},
    {0}};

static PyGetSetDef field_getset[] = {
    {"schema", member_schema, NULL,
     "Its type as the library has it; None: not known.", NULL},
    {"writable", member_flag, NULL, "Whether it can be set.",
     (void*)FNABI_FIELD_WRITABLE},
    {"has_default", member_flag, NULL,
     "Whether an initialiser does without a value for it.",
     (void*)FNABI_FIELD_DEFAULT},
    {"hidden", member_flag, NULL, "Whether a repr leaves it out.",
     (void*)FNABI_FIELD_NO_REPR},
    {"default", field_default, NULL,
     "The value where none is given; None where there is no such, or where a "
     "function\nmakes it.",
     NULL},
    {0}};

static PyType_Slot field_slots[] = {
    {Py_tp_dealloc, field_dealloc}, {Py_tp_descr_get, field_get},
    {Py_tp_descr_set, field_set},   {Py_tp_members, field_members},
    {Py_tp_methods, field_methods}, {Py_tp_getset, field_getset},
    {Py_tp_repr, member_repr},      {0}};

static PyType_Spec field_spec = {"fnabi.Field", sizeof(lane_field), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE |
                                     Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 field_slots};

static PyObject* field_new(const fnabi_type_info* info, PyObject* owner,
                           const fnabi_field_info* from) {
  lane_field* self = PyObject_New(lane_field, field_type);
  if (self == NULL) return NULL;
  self->offset = from->offset;
  self->size = from->size;
  self->alignment = from->alignment;
  self->getter = from->getter;
  self->setter = from->setter;
  fnabi_any_set(&self->default_value, FNABI_INDEX_NONE, 0);
  if (member_fill(&self->member, info, owner, &from->name, &from->doc,
                  &from->metadata, from->flags) < 0)
    goto fail;
  /* An offset may be negative, in a C++ class with other bases than Object. */
  if (from->getter == NULL) {
    lane_call_error("%U.%U: the library registered no valid getter", owner,
                    self->member.name);
    goto fail;
  }
  if ((from->flags & FNABI_FIELD_SETTER_OBJECT) != 0 && from->setter != NULL &&
      ((fnabi_object*)from->setter)->type_index != FNABI_INDEX_FUNCTION) {
    lane_call_error("%U.%U: the library registered no valid setter", owner,
                    self->member.name);
    goto fail;
  }
  if ((from->flags & (FNABI_FIELD_DEFAULT | FNABI_FIELD_FACTORY)) ==
      FNABI_FIELD_DEFAULT)
    fnabi_any_own(&from->default_value, &self->default_value);
  return (PyObject*)self;
fail:
  Py_DECREF(self);
  return NULL;
}

/* ------------------------------------------------------------------- Method */

typedef struct lane_method {
  member member;
  PyObject* function;
} lane_method;

static PyTypeObject* method_type;

static void method_dealloc(PyObject* object) {
  lane_method* self = (lane_method*)object;
  PyTypeObject* type = Py_TYPE(object);
  member_clear(&self->member);
  Py_XDECREF(self->function);
  PyObject_Free(object);
  Py_DECREF(type);
}

static bool method_accepts(const lane_method* self, PyObject* first) {
  if (self->member.flags & FNABI_FIELD_STATIC) return true;
  if (first != NULL) return member_object(&self->member, first) != NULL;
  lane_type_error("%U.%U: argument 0: expected an object of type %U, got none",
                  self->member.owner, self->member.name, self->member.owner);
  return false;
}

static PyObject* method_vectorcall(PyObject* object, PyObject* const* args,
                                   size_t flagged_count, PyObject* names) {
  lane_method* self = (lane_method*)object;
  bool any = (flagged_count & ~LANE_VECTORCALL_OFFSET) != 0;
  if (!method_accepts(self, any ? args[0] : NULL)) return NULL;
  return ((lane_function*)self->function)
      ->vectorcall(self->function, args, flagged_count, names);
}

static PyObject* method_call(PyObject* object, PyObject* args,
                             PyObject* named) {
  lane_method* self = (lane_method*)object;
  PyObject* first = PyTuple_Size(args) > 0 ? PyTuple_GetItem(args, 0) : NULL;
  if (!method_accepts(self, first)) return NULL;
  return PyObject_Call(self->function, args, named);
}

static PyObject* method_get(PyObject* object, PyObject* instance,
                            PyObject* type) {
  (void)type;
  if (instance == NULL) return Py_NewRef(object);
  PyObject* bound = lane_get(LANE_METHOD_TYPE);
  if (bound == NULL) return NULL;
  return PyObject_CallFunctionObjArgs(bound, object, instance, NULL);
}

static PyObject* method_signature(PyObject* object, void* unused) {
  (void)unused;
  PyObject* find = lane_get(LANE_METHOD_SIGNATURE);
  if (find == NULL) return NULL;
  return PyObject_CallFunctionObjArgs(find, object, NULL);
}

static PyMemberDef method_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(member, vectorcall), READONLY,
     NULL},
    MEMBERS,
    {"function", T_OBJECT, offsetof(lane_method, function), READONLY,
     "The function; unless it is static, its first argument is the object."},
    {0}};

static PyGetSetDef method_getset[] = {
    {"schema", member_schema, NULL,
     "Its type as the library has it, the object included; None: not known.",
     NULL},
    {"static", member_flag, NULL, "Whether it does without an object.",
     (void*)FNABI_FIELD_STATIC},
    {"__signature__", method_signature, NULL, NULL, NULL},
    {0}};

static PyType_Slot method_slots[] = {{Py_tp_dealloc, method_dealloc},
                                     {Py_tp_call, method_call},
                                     {Py_tp_descr_get, method_get},
                                     {Py_tp_members, method_members},
                                     {Py_tp_getset, method_getset},
                                     {Py_tp_repr, member_repr},
                                     {0}};

static PyType_Spec method_spec = {
    "fnabi.Method", sizeof(lane_method), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_VECTORCALL |
        Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    method_slots};

static PyObject* method_new(const fnabi_type_info* info, PyObject* owner,
                            const fnabi_method_info* from) {
  lane_method* self = PyObject_New(lane_method, method_type);
  if (self == NULL) return NULL;
  self->function = NULL;
  if (member_fill(&self->member, info, owner, &from->name, &from->doc,
                  &from->metadata, from->flags) < 0)
    goto fail;
  self->member.vectorcall = method_vectorcall;
  if (from->method.type_index != FNABI_INDEX_FUNCTION ||
      from->method.v_object == NULL) {
    lane_call_error("%U.%U: expected a function, got type index %d", owner,
                    self->member.name, (int)from->method.type_index);
    goto fail;
  }
  self->function = lane_from(&from->method, false);
  PyObject* name = self->function
                       ? PyUnicode_FromFormat("%U.%U", owner, self->member.name)
                       : NULL;
  if (name == NULL ||
      PyObject_SetAttrString(self->function, "__name__", name) < 0) {
    Py_XDECREF(name);
    goto fail;
  }
  Py_DECREF(name);
  return (PyObject*)self;
fail:
  Py_DECREF(self);
  return NULL;
}

/* ----------------------------------------------------------- the type table */

static PyObject* type_index_of(PyObject* module, PyObject* key) {
  fnabi_byte_array text;
  PyObject* keep;
  int32_t type_index = -1;
  (void)module;
  if (!PyUnicode_Check(key)) {
    lane_type_error_got(key, "type_index_of: key: expected str");
    return NULL;
  }
  if (lane_utf8(key, &text, &keep) < 0) return NULL;
  bool found = lane_type_of_key(&text, &type_index);
  Py_XDECREF(keep);
  if (!found) Py_RETURN_NONE;
  return PyLong_FromLong(type_index);
}

static PyObject* ancestors_of(const fnabi_type_info* info) {
  PyObject* indexes = PyTuple_New(info->depth);
  for (int32_t i = 0; indexes != NULL && i < info->depth; i++) {
    const fnabi_type_info* ancestor = info->ancestors[i];
    PyObject* index = ancestor ? PyLong_FromLong(ancestor->type_index) : NULL;
    if (index == NULL) {
      if (!PyErr_Occurred())
        lane_call_error("type_info: type index %d: ancestor %d is NULL",
                        (int)info->type_index, (int)i);
      Py_CLEAR(indexes);
    } else {
      PyTuple_SetItem(indexes, i, index);
    }
  }
  return indexes;
}

static PyObject* members_of(const fnabi_type_info* info, PyObject* key,
                            bool fields) {
  int32_t count = fields ? info->field_count : info->method_count;
  const void* from =
      fields ? (const void*)info->fields : (const void*)info->methods;
  if (count < 0 || (count > 0 && from == NULL)) {
    lane_call_error("type %U: the library registered %d %s at %p", key,
                    (int)count, fields ? "fields" : "methods", from);
    return NULL;
  }
  PyObject* members = PyTuple_New(count);
  for (int32_t i = 0; members != NULL && i < count; i++) {
    PyObject* made = fields ? field_new(info, key, &info->fields[i])
                            : method_new(info, key, &info->methods[i]);
    if (made == NULL)
      Py_CLEAR(members);
    else
      PyTuple_SetItem(members, i, made);
  }
  return members;
}

static PyObject* type_info(PyObject* module, PyObject* number) {
  (void)module;
  long type_index = PyLong_AsLong(number);
  if (type_index == -1 && PyErr_Occurred()) return NULL;
  const fnabi_type_info* info = find_info("type_info", (int32_t)type_index);
  if (info == NULL) return NULL;
  const fnabi_type_metadata* metadata = info->metadata;
  PyObject *key = lane_text(&info->key), *ancestors = NULL, *fields = NULL,
           *methods = NULL, *doc = NULL, *answer = NULL;
  if (key != NULL && (ancestors = ancestors_of(info)) != NULL &&
      (fields = members_of(info, key, true)) != NULL &&
      (methods = members_of(info, key, false)) != NULL &&
      (doc = metadata && metadata->doc.size != 0 ? lane_text(&metadata->doc)
                                                 : Py_NewRef(Py_None)) != NULL)
    answer = Py_BuildValue("(OOOiOOi)", key, ancestors, doc,
                           metadata ? metadata->equality : 0, fields, methods,
                           metadata ? metadata->total_size : 0);
  Py_XDECREF(key);
  Py_XDECREF(ancestors);
  Py_XDECREF(fields);
  Py_XDECREF(methods);
  Py_XDECREF(doc);
  return answer;
}

static PyObject* type_size(PyObject* module, PyObject* number) {
  (void)module;
  long type_index = PyLong_AsLong(number);
  if (type_index == -1 && PyErr_Occurred()) return NULL;
  const fnabi_type_info* info = find_info("type_size", (int32_t)type_index);
  if (info == NULL) return NULL;
  return Py_BuildValue("(ii)", (int)info->field_count, (int)info->method_count);
}

static PyObject* type_attribute(PyObject* module, PyObject* args) {
  int type_index;
  const char* name;
  (void)module;
  if (!PyArg_ParseTuple(args, "is:type_attribute", &type_index, &name))
    return NULL;
  const fnabi_any* value =
      lane_type_attribute(lane_type_column(name, type_index), type_index);
  /* A pointer is the address of a C++ function, which cannot be called here. */
  if (value == NULL || value->type_index == FNABI_INDEX_POINTER) Py_RETURN_NONE;
  return lane_from(value, false);
}

static PyObject* own_type_keys(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  PyObject* keys = PyList_New(0);
  for (int32_t i = 0; keys != NULL && i < LANE_OWN_TYPES_END; i++) {
    if (i == LANE_STATIC_TYPES) i = LANE_OWN_TYPES;
    const fnabi_type_info* info = lane_table_info(i);
    PyObject* key = info != NULL ? lane_text(&info->key) : Py_NewRef(Py_None);
    if (key == NULL || (info != NULL && PyList_Append(keys, key) < 0))
      Py_CLEAR(keys);
    Py_XDECREF(key);
  }
  return keys;
}

static PyMethodDef reflection_methods[] = {
    {"own_type_keys", own_type_keys, METH_NOARGS,
     "own_type_keys()\n--\n\n"
     "The keys of the types in fnabi's own table, in the order of their "
     "indexes."},
    {"type_index_of", type_index_of, METH_O,
     "type_index_of(key, /)\n--\n\n"
     "The index of a type by its key, in the table of libtvm_ffi or in fnabi's "
     "own. None when no\ntype has it."},
    {"type_info", type_info, METH_O,
     "type_info(index, /)\n--\n\n"
     "The key, ancestors, doc, kind of equality, fields, methods and size of a "
     "type that is\nregistered with libtvm_ffi, which ends the process for any "
     "other."},
    {"type_size", type_size, METH_O,
     "type_size(index, /)\n--\n\n"
     "The number of fields and of methods of such a type."},
    {"type_attribute", type_attribute, METH_VARARGS,
     "type_attribute(index, name, /)\n--\n\n"
     "What a library has registered for a type under a name, or None."},
    {"set_class", set_class, METH_VARARGS,
     "set_class(index, class, dialect=None, /)\n--\n\n"
     "The class that objects of a registered type get from now on."},
    {"as_class", as_class, METH_VARARGS,
     "as_class(object, class, /)\n--\n\n"
     "The same object as an instance of another class for its type."},
    {0}};

int lane_reflection_init(PyObject* module) {
  field_type = lane_add_type(module, &field_spec, NULL);
  method_type = lane_add_type(module, &method_spec, NULL);
  if (field_type == NULL || method_type == NULL) return -1;
  if (PyModule_AddIntConstant(module, "OWN_TYPES", LANE_OWN_TYPES) < 0)
    return -1;
  return PyModule_AddFunctions(module, reflection_methods);
}
