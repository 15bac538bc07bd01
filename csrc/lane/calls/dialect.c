/* A dialect is the set of classes of a package with the names of another one:
 * Python gets values of these classes from its functions, containers and
 * objects. They derive from those of fnabi, so that a value of either can be
 * passed to both. */
#include "lane/calls/dialect.h"

#include "lane/calls/context.h"
#include "lane/calls/function.h"
#include "lane/calls/init.h"
#include "lane/runtime/call_error.h"

static PyTypeObject* dialect_type;
static PyObject* mark; /* "__fnabi_dialect__", interned */

const lane_dialect* lane_dialect_of(PyTypeObject* type) {
  if (!(PyType_GetFlags(type) & Py_TPFLAGS_HAVE_GC)) return NULL;
  PyObject* found = PyObject_GetAttr((PyObject*)type, mark);
  const lane_dialect* dialect = NULL;
  if (found == NULL)
    PyErr_Clear();
  else if (Py_TYPE(found) == dialect_type)
    dialect = (const lane_dialect*)found; /* none is ever freed */
  Py_XDECREF(found);
  return dialect;
}

int lane_dialect_set(PyObject* dialect, int32_t type_index,
                     PyTypeObject* class) {
  if (Py_TYPE(dialect) != dialect_type)
    return lane_type_error_got(dialect, "dialect: expected Dialect");
  lane_dialect* self = (lane_dialect*)dialect;
  if (type_index >= self->class_count) {
    int32_t count = type_index + 64;
    PyTypeObject** more =
        PyMem_Realloc(self->classes, (size_t)count * sizeof *more);
    if (more == NULL) return lane_no_memory();
    memset(more + self->class_count, 0,
           (size_t)(count - self->class_count) * sizeof *more);
    self->classes = more;
    self->class_count = count;
  }
  PyObject* old = (PyObject*)self->classes[type_index];
  self->classes[type_index] = (PyTypeObject*)Py_NewRef((PyObject*)class);
  Py_XDECREF(old);
  return 0;
}

/* ------------------------------------------------------------------- values */

/* Programs use few distinct dtypes and devices, so each is created once. */
PyObject* lane_dialect_parts(const lane_dialect* self, PyObject* make,
                             PyObject* key) {
  enum { KEPT = 1024 };
  PyObject* value = PyDict_GetItemWithError(self->parts, key);
  Py_XINCREF(value);
  if (value == NULL && !PyErr_Occurred()) {
    value = PyObject_CallObject(make, key);
    if (value != NULL && PyDict_Size(self->parts) < KEPT &&
        PyDict_SetItem(self->parts, key, value) < 0)
      Py_CLEAR(value);
  }
  Py_DECREF(key);
  return value;
}

/* ------------------------------------------------------------------ Dialect */

static PyObject* dialect_new(PyTypeObject* type, PyObject* args,
                             PyObject* named) {
  if (!PyArg_ParseTuple(args, ":Dialect")) return NULL;
  if (named != NULL && PyDict_Size(named) != 0) {
    lane_type_error("Dialect: expected no arguments");
    return NULL;
  }
  /* Values of any thread refer to a dialect: none is ever freed. */
  static PyObject* all;
  if (all == NULL && (all = PyList_New(0)) == NULL) return NULL;
  lane_dialect* self = (lane_dialect*)PyType_GenericAlloc(type, 0);
  if (self == NULL) return NULL;
  self->parts = PyDict_New();
  if (self->parts == NULL || PyList_Append(all, (PyObject*)self) < 0)
    Py_CLEAR(self);
  return (PyObject*)self;
}

/* Whether a class derived from Function adds no attributes to its instances. */
static bool is_plain_function(PyTypeObject* class) {
  return lane_class_number(class, "__basicsize__") ==
         (Py_ssize_t)sizeof(lane_function);
}

/* Sets a class, which derives from that of fnabi and adds no attributes. */
static int set_type(PyObject* self, PyObject* value, PyTypeObject* base,
                    size_t offset) {
  PyTypeObject** slot = (PyTypeObject**)(void*)((char*)self + offset);
  if (value == NULL || !PyType_Check(value) ||
      !PyType_IsSubtype((PyTypeObject*)value, base) ||
      !(base == lane.function ? is_plain_function((PyTypeObject*)value)
                              : lane_has_our_layout((PyTypeObject*)value)))
    return lane_type_error(
        "Dialect: expected a class derived from %R without attributes of its "
        "own, got %R",
        base, value != NULL ? value : Py_None);
  PyObject* old = (PyObject*)*slot;
  *slot = (PyTypeObject*)Py_NewRef(value);
  Py_XDECREF(old);
  return 0;
}

#define TYPE(name)                                                         \
  static PyObject* get_##name(PyObject* self, void* unused) {              \
    PyObject* class = (PyObject*)((lane_dialect*)self)->name;              \
    (void)unused;                                                          \
    return Py_NewRef(class ? class : Py_None);                             \
  }                                                                        \
  static int set_##name(PyObject* self, PyObject* value, void* unused) {   \
    (void)unused;                                                          \
    return set_type(self, value, lane.name, offsetof(lane_dialect, name)); \
  }
TYPE(array)
TYPE(list)
TYPE(map)
TYPE(dict)
TYPE(error)
TYPE(tensor)
TYPE(function)
#undef TYPE

static PyGetSetDef dialect_getset[] = {
#define TYPE(name) {#name, get_##name, set_##name, NULL, NULL}
    TYPE(array), TYPE(list),   TYPE(map),      TYPE(dict),
    TYPE(error), TYPE(tensor), TYPE(function), {0}};
#undef TYPE

static PyMemberDef dialect_members[] = {
#define VALUE(name, doc) {#name, T_OBJECT, offsetof(lane_dialect, name), 0, doc}
    VALUE(dtype, "Makes a dtype of its code, bits and lanes."),
    VALUE(device, "Makes a device of its type and index."),
    VALUE(shape, "Makes a shape of its dims and its object."),
    VALUE(string, "Makes the text of an object of the text and the object."),
    VALUE(bytes, "Makes the bytes of an object of the bytes and the object."),
    VALUE(class_of, "Returns the class for a type index."),
    VALUE(backtrace, "Returns the backtrace of an exception's error."),
    VALUE(errors, "A dict of kinds of errors and classes of exceptions."),
    VALUE(attribute, "The attribute of an exception that has its error."),
    {"loose_sequences", T_BOOL, offsetof(lane_dialect, loose_sequences), 0,
     "Whether slices of sequences are lists, and + takes any iterable."},
    {"parts", T_OBJECT, offsetof(lane_dialect, parts), READONLY,
     "The dtypes and devices that were made."},
#undef VALUE
    {0}};

/* Calls a function in the dialect: the values that it gets from the lane have
 * the classes of the dialect. */
static PyObject* dialect_call(PyObject* self, PyObject* args, PyObject* named) {
  if (PyTuple_Size(args) == 0) {
    lane_type_error("Dialect: expected a callable");
    return NULL;
  }
  PyObject *rest = PyTuple_GetSlice(args, 1, PyTuple_Size(args)),
           *answer = NULL;
  const lane_dialect* outer = lane_current_dialect;
  lane_current_dialect = (const lane_dialect*)self;
  if (rest != NULL)
    answer = PyObject_Call(PyTuple_GetItem(args, 0), rest, named);
  lane_current_dialect = outer;
  Py_XDECREF(rest);
  return answer;
}

/* Calls a function in no dialect: with the classes of fnabi. */
static PyObject* without_dialect(PyObject* module, PyObject* args) {
  (void)module;
  if (PyTuple_Size(args) == 0) {
    lane_type_error("without_dialect: expected a callable");
    return NULL;
  }
  PyObject *rest = PyTuple_GetSlice(args, 1, PyTuple_Size(args)),
           *answer = NULL;
  const lane_dialect* outer = lane_current_dialect;
  lane_current_dialect = NULL;
  if (rest != NULL)
    answer = PyObject_Call(PyTuple_GetItem(args, 0), rest, NULL);
  lane_current_dialect = outer;
  Py_XDECREF(rest);
  return answer;
}

static PyMethodDef dialect_functions[] = {
    {"without_dialect", without_dialect, METH_VARARGS,
     "without_dialect(function, /, *args)\n--\n\n"
     "Call a function, which gives values in the classes of fnabi."},
    {0}};

static PyType_Slot dialect_slots[] = {
    {Py_tp_doc,
     "Dialect()\n--\n\n"
     "The classes that a package with the names of another one has for "
     "values.\n\nCalled with a callable and its arguments, it calls that, "
     "which gives values in the\ndialect."},
    {Py_tp_new, dialect_new},
    {Py_tp_call, dialect_call},
    {Py_tp_members, dialect_members},
    {Py_tp_getset, dialect_getset},
    {0}};

static PyType_Spec dialect_spec = {
    "fnabi._base.lane.Dialect", sizeof(lane_dialect), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, dialect_slots};

int lane_dialect_init(PyObject* module) {
  dialect_type = lane_add_type(module, &dialect_spec, NULL);
  mark = PyUnicode_InternFromString("__fnabi_dialect__");
  if (dialect_type == NULL || mark == NULL) return -1;
  return PyModule_AddFunctions(module, dialect_functions);
}
