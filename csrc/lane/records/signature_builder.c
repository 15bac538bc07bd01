/* The Python type SignatureBuilder: appends valid components in place. A method
 * of its subclass writes the others, or raises. */
#include "lane/records/init.h"
/* after Python.h, which settles what the system headers offer */
#include "abi/signature.h"

#define INTEGER_MAX 12 /* bytes: the tag, a sign and ten digits */
#define SPAN_HEAD 12   /* the tag, ten digits and the '!' */

typedef struct builder {
  PyObject_HEAD uint8_t* encoded;
  size_t size, capacity;
} builder;

/* The bytes of an immutable text that needs no copy. */
static bool contents_of(PyObject* object, const char** data, size_t* size) {
  Py_ssize_t count;
  if (PyBytes_Check(object)) {
    *data = PyBytes_AsString(object);
    count = PyBytes_Size(object);
  } else if (PyUnicode_Check(object)) {
    *data = PyUnicode_AsUTF8AndSize(object, &count);
    if (*data == NULL) PyErr_Clear(); /* a surrogate */
  } else {
    return false;
  }
  *size = (size_t)count;
  return *data != NULL;
}

/* The tag of one byte; -1 for another object. */
static int32_t tag_of(PyObject* object) {
  const char* text;
  size_t size;
  bool one =
      PyUnicode_Check(object) && contents_of(object, &text, &size) && size == 1;
  return one ? (int32_t)(uint8_t)*text : -1;
}

/* Returns the place for `most` more bytes; NULL when out of memory. */
static uint8_t* reserve(builder* self, size_t most) {
  if (self->encoded == NULL || most > self->capacity - self->size) {
    size_t capacity = self->size + most + SPAN_HEAD;
    if (most > (size_t)PY_SSIZE_T_MAX / 2 - self->size) capacity = SIZE_MAX;
    if (capacity < 2 * self->capacity) capacity = 2 * self->capacity;
    uint8_t* moved = PyMem_Realloc(self->encoded, capacity);
    if (moved == NULL) {
      PyErr_NoMemory();
      return NULL;
    }
    self->encoded = moved;
    self->capacity = capacity;
  }
  return self->encoded + self->size;
}

/* Takes arguments that are not just two by position. */
static bool take_named(const char* function, const char* const names[2],
                       PyObject* values[2], PyObject* const* args,
                       Py_ssize_t count, PyObject* given) {
  if (count > 2) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most 2 arguments (%zd given)",
                 function, count);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; i++) values[i] = args[i];
  for (Py_ssize_t i = 0; given != NULL && i < PyTuple_Size(given); i++) {
    PyObject* name = PyTuple_GetItem(given, i);
    int which = 0;
    while (which < 2 &&
           PyUnicode_CompareWithASCIIString(name, names[which]) != 0)
      which++;
    if (which == 2 || which < count) {
      PyErr_Format(PyExc_TypeError,
                   which == 2 ? "%s() got an unexpected keyword argument %R"
                              : "%s() got multiple values for argument %R",
                   function, name);
      return false;
    }
    values[which] = args[count + i];
  }
  return true;
}

/* Takes two arguments by position or by name; those that are missing stay as they
 * are. The general argument parser would dominate the cost of a component. */
static inline bool take(const char* function, const char* const names[2],
                        PyObject* values[2], PyObject* const* args,
                        Py_ssize_t count, PyObject* given) {
  if (count != 2 || given != NULL)
    return take_named(function, names, values, args, count, given);
  values[0] = args[0];
  values[1] = args[1];
  return true;
}

static bool is_missing(const char* function, const char* name,
                       PyObject* value) {
  if (value != NULL) return false;
  PyErr_Format(PyExc_TypeError, "%s() missing required argument '%s'", function,
               name);
  return true;
}

static PyObject* integer(PyObject* self, PyObject* const* args,
                         Py_ssize_t count, PyObject* given) {
  static const char* const names[] = {"value", "tag"};
  PyObject* values[2] = {NULL, NULL};
  if (!take("integer", names, values, args, count, given) ||
      is_missing("integer", "value", values[0]))
    return NULL;
  int overflow = 0;
  int32_t tag = values[1] == NULL ? '_' : tag_of(values[1]);
  long long value = 0;
  bool good = tag >= 0 && PyLong_Check(values[0]);
  if (good) value = PyLong_AsLongLongAndOverflow(values[0], &overflow);
  if (good && overflow == 0 && value >= INT32_MIN && value <= INT32_MAX) {
    builder* b = (builder*)self;
    uint8_t* out = reserve(b, INTEGER_MAX);
    if (out == NULL) return NULL;
    fnabi_error error;
    int64_t written =
        fnabi_signature_integer((int32_t)value, tag, out, INTEGER_MAX, &error);
    if (written > 0) {
      b->size += (size_t)written;
      return Py_NewRef(self);
    }
  }
  return values[1] == NULL
             ? PyObject_CallMethod(self, "_integer", "Os", values[0], "_")
             : PyObject_CallMethod(self, "_integer", "OO", values[0],
                                   values[1]);
}

static PyObject* span(PyObject* self, PyObject* const* args, Py_ssize_t count,
                      PyObject* given) {
  static const char* const names[] = {"contents", "tag"};
  PyObject* values[2] = {NULL, NULL};
  if (!take("span", names, values, args, count, given) ||
      is_missing("span", "contents", values[0]) ||
      is_missing("span", "tag", values[1]))
    return NULL;
  const char* data;
  size_t size;
  int32_t tag = tag_of(values[1]);
  if (tag >= 0 && contents_of(values[0], &data, &size) && size < INT32_MAX) {
    builder* b = (builder*)self;
    uint8_t* out = reserve(b, SPAN_HEAD + size);
    if (out == NULL) return NULL;
    fnabi_error error;
    int64_t written =
        fnabi_signature_span(data, size, tag, out, SPAN_HEAD + size, &error);
    if (written > 0) {
      b->size += (size_t)written;
      return Py_NewRef(self);
    }
  }
  return PyObject_CallMethod(self, "_span", "OO", values[0], values[1]);
}

static PyObject* append(PyObject* self, PyObject* encoded) {
  if (!PyBytes_Check(encoded)) {
    PyErr_SetString(PyExc_TypeError, "expected bytes");
    return NULL;
  }
  size_t size = (size_t)PyBytes_Size(encoded);
  uint8_t* out = reserve((builder*)self, size);
  if (out == NULL) return NULL;
  memcpy(out, PyBytes_AsString(encoded), size);
  ((builder*)self)->size += size;
  return Py_NewRef(self);
}

static PyObject* get_encoded(PyObject* self, void* unused) {
  (void)unused;
  builder* b = (builder*)self;
  return PyBytes_FromStringAndSize((const char*)b->encoded,
                                   (Py_ssize_t)b->size);
}

static PyObject* reduce(PyObject* self, PyObject* unused) {
  (void)unused;
  return Py_BuildValue("(O()N)", Py_TYPE(self), get_encoded(self, NULL));
}

static void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyMem_Free(((builder*)self)->encoded);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

/* The cast goes through void (*)(void), because METH_FASTCALL functions have
 * another type than PyCFunction. */
static PyMethodDef methods[] = {
    {"integer", (PyCFunction)(void (*)(void))integer,
     METH_FASTCALL | METH_KEYWORDS,
     "integer($self, /, value, tag='_')\n--\n\n"
     "Append an integer.\n\n"
     "Args:\n    value: An int32.\n    tag: ``_`` or ``a`` to ``z``.\n\n"
     "Returns:\n    The builder itself.\n\n"
     "Raises:\n    RangeError: (an `OverflowError`) when `value` does not fit "
     "in int32.\n    CallError: when `tag` is not an integer tag.\n"},
    {"span", (PyCFunction)(void (*)(void))span, METH_FASTCALL | METH_KEYWORDS,
     "span($self, /, contents, tag)\n--\n\n"
     "Append a span.\n\n"
     "Args:\n    contents: Any bytes, fewer than 2**31 - 1; a str is written "
     "as UTF-8.\n    tag: ``A`` to ``Z``.\n\n"
     "Returns:\n    The builder itself.\n\n"
     "Raises:\n    RangeError: (an `OverflowError`) when the length of "
     "`contents` does not fit in int32.\n    CallError: when `tag` is not a "
     "span tag, or `contents` has another type.\n"},
    {"_append", append, METH_O, NULL},
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {"__setstate__", append, METH_O, NULL},
    {0}};

static PyGetSetDef getset[] = {
    {"encoded", get_encoded, NULL, "The signature built so far.", NULL}, {0}};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "The base of SignatureBuilder, which has `_integer` and "
     "`_span` for what is invalid."},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {0}};

static PyType_Spec spec = {
    "fnabi.SignatureBuilder", sizeof(builder), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE, slots};

int lane_signature_builder_init(PyObject* module) {
  return lane_add_type(module, &spec, NULL) ? 0 : -1;
}
