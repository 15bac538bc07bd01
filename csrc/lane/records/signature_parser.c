/* The Python type SignatureParser, which is at one component: it reads that when
 * it gets there. */
#include "lane/records/init.h"
/* after Python.h, which settles what the system headers offer */
#include "abi/signature.h"

typedef struct parser {
  PyObject_HEAD PyObject* data; /* bytes, or NULL before the first call */
  const char* text;
  size_t size; /* of what is read */
  fnabi_component at;
} parser;

typedef struct iterator {
  PyObject_HEAD PyObject* parser;
  bool began;
} iterator;

static PyTypeObject* iterator_type;
/* What `signature_classes` gave; never released. */
static PyObject *kinds[4], *component_class, *parser_class;

static bool is_stop(const fnabi_component* c) {
  return c->type == FNABI_COMPONENT_END || c->type == FNABI_COMPONENT_ERROR;
}

static void go(parser* self, size_t offset) {
  fnabi_signature_read(self->text, self->size, offset, &self->at);
}

/* Takes over the reference to `data`. */
static void stand(parser* self, PyObject* data, size_t offset, size_t size) {
  PyObject* old = self->data;
  self->data = data;
  self->text = PyBytes_AsString(data);
  self->size = size;
  go(self, offset);
  Py_XDECREF(old);
}

static int init(PyObject* self, PyObject* args, PyObject* names) {
  static char* keywords[] = {"data", NULL};
  PyObject* data;
  if (names == NULL && PyTuple_Size(args) == 1)
    data = PyTuple_GetItem(args, 0);
  else if (!PyArg_ParseTupleAndKeywords(args, names, "O:SignatureParser",
                                        keywords, &data))
    return -1;
  data = PyBytes_Check(data) ? Py_NewRef(data)
                             : PyObject_CallMethod(self, "_bytes", "O", data);
  if (data == NULL || !PyBytes_Check(data)) {
    if (data != NULL) PyErr_SetString(PyExc_TypeError, "expected bytes");
    Py_XDECREF(data);
    return -1;
  }
  stand((parser*)self, data, 0, (size_t)PyBytes_Size(data));
  return 0;
}

static PyObject* kind_of(const fnabi_component* c) {
  if (kinds[c->type] != NULL) return Py_NewRef(kinds[c->type]);
  PyErr_SetString(PyExc_RuntimeError, "fnabi.abi.signature is not imported");
  return NULL;
}

static PyObject* tag_of(const fnabi_component* c) {
  return PyUnicode_FromOrdinal(c->tag);
}

static PyObject* contents_of(const parser* self) {
  const fnabi_component* c = &self->at;
  if (c->type != FNABI_COMPONENT_SPAN)
    return PyBytes_FromStringAndSize(NULL, 0);
  return PyBytes_FromStringAndSize(self->text + c->begin,
                                   (Py_ssize_t)(c->end - c->begin));
}

static PyObject* get_type(PyObject* self, void* unused) {
  (void)unused;
  return kind_of(&((parser*)self)->at);
}

static PyObject* get_tag(PyObject* self, void* unused) {
  (void)unused;
  return tag_of(&((parser*)self)->at);
}

static PyObject* get_ival(PyObject* self, void* unused) {
  (void)unused;
  return PyLong_FromLong(((parser*)self)->at.ival);
}

static PyObject* get_sval(PyObject* self, void* unused) {
  (void)unused;
  return contents_of((parser*)self);
}

static PyObject* get_offset(PyObject* self, void* unused) {
  (void)unused;
  return PyLong_FromUnsignedLongLong(((parser*)self)->at.offset);
}

static PyObject* get_end_or_error(PyObject* self, void* unused) {
  (void)unused;
  return PyBool_FromLong(is_stop(&((parser*)self)->at));
}

static PyObject* get_error(PyObject* self, void* unused) {
  (void)unused;
  const parser* p = (parser*)self;
  return Py_BuildValue("(iKO)", (int)p->at.code, (unsigned long long)p->at.end,
                       p->data ? p->data : Py_None);
}

static PyObject* next(PyObject* self, PyObject* unused) {
  (void)unused;
  parser* p = (parser*)self;
  if (!is_stop(&p->at)) go(p, (size_t)p->at.end);
  return kind_of(&p->at);
}

static PyObject* seek(PyObject* self, PyObject* tag) {
  parser* p = (parser*)self;
  long byte = PyLong_AsLong(tag);
  if (byte == -1 && PyErr_Occurred()) return NULL;
  return PyBool_FromLong(fnabi_signature_seek(
      p->text, p->size, (size_t)p->at.offset, (int32_t)byte, &p->at));
}

static PyObject* nested(PyObject* self, PyObject* unused) {
  (void)unused;
  const parser* p = (parser*)self;
  const fnabi_component* c = &p->at;
  size_t end = (size_t)c->end,
         begin = c->type == FNABI_COMPONENT_SPAN ? (size_t)c->begin : end;
  if (parser_class == NULL) return kind_of(c); /* which raises */
  allocfunc alloc =
      (allocfunc)PyType_GetSlot((PyTypeObject*)parser_class, Py_tp_alloc);
  PyObject* made = alloc((PyTypeObject*)parser_class, 0);
  if (made != NULL && p->data != NULL)
    stand((parser*)made, Py_NewRef(p->data), begin, end);
  return made;
}

static PyObject* iter(PyObject* self) {
  allocfunc alloc = (allocfunc)PyType_GetSlot(iterator_type, Py_tp_alloc);
  iterator* made = (iterator*)alloc(iterator_type, 0);
  if (made != NULL) made->parser = Py_NewRef(self);
  return (PyObject*)made;
}

static PyObject* reduce(PyObject* self, PyObject* unused) {
  (void)unused;
  const parser* p = (parser*)self;
  PyObject* data = p->data ? Py_NewRef(p->data) : Py_BuildValue("y", "");
  return Py_BuildValue("(O(N)(KK))", Py_TYPE(self), data,
                       (unsigned long long)p->at.offset,
                       (unsigned long long)p->size);
}

static PyObject* set_state(PyObject* self, PyObject* state) {
  parser* p = (parser*)self;
  Py_ssize_t offset, size, whole = p->data ? PyBytes_Size(p->data) : 0;
  if (!PyTuple_Check(state)) {
    PyErr_SetString(PyExc_TypeError, "expected a tuple");
    return NULL;
  }
  if (!PyArg_ParseTuple(state, "nn", &offset, &size)) return NULL;
  if (offset < 0 || offset > size || size > whole) {
    PyErr_SetString(PyExc_ValueError, "expected places inside the data");
    return NULL;
  }
  p->size = (size_t)size;
  go(p, (size_t)offset);
  Py_RETURN_NONE;
}

static void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(((parser*)self)->data);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyGetSetDef getset[] = {
    {"type", get_type, NULL, "The kind of the current component.", NULL},
    {"tag", get_tag, NULL,
     "The tag, one character; the byte found at an error, and NUL at the end.",
     NULL},
    {"ival", get_ival, NULL,
     "The value of an integer, or the size in bytes of the contents of a span.",
     NULL},
    {"sval", get_sval, NULL,
     "The contents of a span; empty for any other component.", NULL},
    {"offset", get_offset, NULL,
     "The position of the component, in bytes from the start of the data.",
     NULL},
    {"end_or_error", get_end_or_error, NULL,
     "Whether the parser is at the end or at an error.", NULL},
    {"_error", get_error, NULL, NULL, NULL},
    {0}};

static PyMethodDef methods[] = {
    {"next", next, METH_NOARGS,
     "next($self, /)\n--\n\nGo to the next component and return its type.\n"},
    {"nested", nested, METH_NOARGS,
     "nested($self, /)\n--\n\nReturn a parser of the current span's contents, "
     "or of nothing when it is not a span.\n"},
    {"_seek", seek, METH_O, NULL},
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {"__setstate__", set_state, METH_O, NULL},
    {0}};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "The base of SignatureParser, which has `_bytes` for what is "
     "not bytes, and `_raise`."},
    {Py_tp_init, init},
    {Py_tp_dealloc, dealloc},
    {Py_tp_getset, getset},
    {Py_tp_methods, methods},
    {Py_tp_iter, iter},
    {0}};

static PyType_Spec spec = {
    "fnabi.SignatureParser", sizeof(parser), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE, slots};

/* ---------------------------------------------------------------- iteration */

/* A named tuple is made by `tuple.__new__`, without its own in Python. */
static PyObject* component_of(const parser* self) {
  const fnabi_component* c = &self->at;
  PyObject *parts = PyTuple_New(4), *args = PyTuple_New(1), *made = NULL;
  bool whole = parts != NULL && args != NULL;
  if (whole) {
    PyObject* values[] = {kind_of(c), tag_of(c), PyLong_FromLong(c->ival),
                          contents_of(self)};
    for (int i = 0; i < 4; i++) {
      whole &= values[i] != NULL;
      PyTuple_SetItem(parts, i, values[i]);
    }
  }
  if (whole && PyTuple_SetItem(args, 0, Py_NewRef(parts)) == 0) {
    newfunc make = (newfunc)PyType_GetSlot(&PyTuple_Type, Py_tp_new);
    made = make((PyTypeObject*)component_class, args, NULL);
  }
  Py_XDECREF(parts);
  Py_XDECREF(args);
  return made;
}

static PyObject* iterator_next(PyObject* object) {
  iterator* self = (iterator*)object;
  parser* p = (parser*)self->parser;
  if (self->began && !is_stop(&p->at)) go(p, (size_t)p->at.end);
  self->began = true;
  if (!is_stop(&p->at)) return component_of(p);
  if (p->at.type == FNABI_COMPONENT_ERROR)
    Py_XDECREF(PyObject_CallMethod(self->parser, "_raise", NULL));
  return NULL;
}

/* A cycle goes through the parser, whose attributes Python clears. */
static int iterator_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(((iterator*)self)->parser);
  return 0;
}

static void iterator_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Py_XDECREF(((iterator*)self)->parser);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

static PyType_Slot iterator_slots[] = {{Py_tp_dealloc, iterator_dealloc},
                                       {Py_tp_traverse, iterator_traverse},
                                       {Py_tp_iter, PyObject_SelfIter},
                                       {Py_tp_iternext, iterator_next},
                                       {0}};

static PyType_Spec iterator_spec = {
    "fnabi.SignatureIterator", sizeof(iterator), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
        Py_TPFLAGS_DISALLOW_INSTANTIATION,
    iterator_slots};

/* ----------------------------------------------------------------- the module */

static PyObject* signature_classes(PyObject* module, PyObject* args) {
  (void)module;
  PyObject *types, *component, *class;
  if (!PyArg_ParseTuple(args, "O!O!O!:signature_classes", &PyTuple_Type, &types,
                        &PyType_Type, &component, &PyType_Type, &class))
    return NULL;
  if (PyTuple_Size(types) != 4) {
    PyErr_SetString(PyExc_TypeError, "expected four types");
    return NULL;
  }
  for (int i = 0; i < 4; i++) kinds[i] = Py_NewRef(PyTuple_GetItem(types, i));
  component_class = Py_NewRef(component);
  parser_class = Py_NewRef(class);
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"signature_classes", signature_classes, METH_VARARGS,
     "signature_classes(types, component, parser, /)\n--\n\n"
     "Set what parsers give: the four types by their numbers, the tuple of a "
     "component,\nand the class of nested parsers, derived from this one.\n"},
    {0}};

int lane_signature_parser_init(PyObject* module) {
  iterator_type = (PyTypeObject*)PyType_FromSpecWithBases(&iterator_spec, NULL);
  if (iterator_type == NULL || lane_add_type(module, &spec, NULL) == NULL)
    return -1;
  return PyModule_AddFunctions(module, functions);
}
