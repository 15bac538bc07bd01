/* Attributes that Python sets beside what a library keeps in an object.
 *
 * They belong to the Python object. So that they are there as long as the object
 * is, an object of a class with attributes has one Python object at a time, and
 * that one stays when Python has dropped it while a library still has the
 * object. The garbage collector frees it after the library has dropped the
 * object too. The GIL guards the tables. */
#include "lane/calls/attributes.h"

#include "lane/calls/init.h"
#include "lane/calls/wrap.h"
#include "lane/runtime/call_error.h"
#include "lane/runtime/shutdown.h"

/* ------------------------------------------------------------ tables of pointers */

typedef struct entry {
  const void* key; /* NULL: free */
  PyObject* value;
} entry;

/* Open addressing with linear probes; at most half full. */
typedef struct table {
  entry* entries;
  size_t room, count; /* the room is a power of two, or 0 */
} table;

static size_t home_of(const table* t, const void* key) {
  return (size_t)(((uint64_t)(uintptr_t)key >> 4) *
                      UINT64_C(0x9e3779b97f4a7c15) >>
                  32) &
         (t->room - 1);
}

/* The entry of a key, or the free one where it would be. */
static entry* place_of(const table* t, const void* key) {
  size_t at = home_of(t, key);
  while (t->entries[at].key != NULL && t->entries[at].key != key)
    at = (at + 1) & (t->room - 1);
  return &t->entries[at];
}

static PyObject* find(const table* t, const void* key) {
  return t->count == 0 ? NULL : place_of(t, key)->value;
}

static bool put(table* t, const void* key, PyObject* value) {
  if (2 * (t->count + 1) > t->room) {
    table more = {NULL, t->room == 0 ? 64 : 2 * t->room, t->count};
    more.entries = PyMem_Calloc(more.room, sizeof *more.entries);
    if (more.entries == NULL) return false;
    for (size_t i = 0; i < t->room; i++)
      if (t->entries[i].key != NULL)
        *place_of(&more, t->entries[i].key) = t->entries[i];
    PyMem_Free(t->entries);
    *t = more;
  }
  entry* to = place_of(t, key);
  if (to->key == NULL) t->count++;
  *to = (entry){key, value};
  return true;
}

/* The key is in the table. */
static void take_away(table* t, const void* key) {
  entry* hole = place_of(t, key);
  size_t mask = t->room - 1, free_at = (size_t)(hole - t->entries);
  for (size_t at = (free_at + 1) & mask; t->entries[at].key != NULL;
       at = (at + 1) & mask) {
    size_t home = home_of(t, t->entries[at].key);
    if (((at - home) & mask) < ((at - free_at) & mask)) continue;
    t->entries[free_at] = t->entries[at];
    free_at = at;
  }
  t->entries[free_at] = (entry){NULL, NULL};
  t->count--;
}

/* ----------------------------------------------------------------------- classes */

size_t lane_attribute_classes;
static table classes; /* of a class: None, or True if it has slots too */

bool lane_attributes_find(PyTypeObject* type) {
  return find(&classes, type) != NULL;
}

static PyObject* give_attributes(PyObject* module, PyObject* args) {
  PyObject* class;
  int has_slots;
  (void)module;
  if (!PyArg_ParseTuple(args, "O!p:give_attributes", &PyType_Type, &class,
                        &has_slots))
    return NULL;
  /* A class that is freed may leave its place to one without attributes, whose
   * objects are then made as if it had some. */
  if (!put(&classes, class, has_slots ? Py_True : Py_None))
    return PyErr_NoMemory();
  lane_attribute_classes = classes.count;
  Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- Python objects */

static table current; /* the Python object of an object; borrowed */
static table kept;    /* those that only a library's object keeps; owned */
static size_t kept_before;

static uint32_t owners_of(const fnabi_object* object) {
  return (uint32_t)fnabi_atomic_load(&object->counts, RELAXED);
}

PyObject* lane_attributes_wrap(PyTypeObject* type, fnabi_object* object) {
  PyObject* known = find(&current, object);
  /* One that is being freed has no references. */
  if (known == NULL || Py_REFCNT(known) == 0) known = find(&kept, object);
  if (known != NULL && Py_TYPE(known) == type) {
    fnabi_object_release(object); /* not the last reference */
    return Py_NewRef(known);
  }
  lane_object* made = (lane_object*)PyType_GenericAlloc(type, 0);
  if (made == NULL || !put(&current, object, (PyObject*)made)) {
    if (made != NULL) {
      made->object = object;
      Py_DECREF((PyObject*)made);
    } else {
      lane_release(object);
    }
    return PyErr_NoMemory();
  }
  made->object = object;
  return (PyObject*)made;
}

void lane_attributes_freed(PyObject* self) {
  const fnabi_object* object = ((lane_object*)self)->object;
  if (find(&current, object) == self) take_away(&current, object);
}

void lane_attributes_moved(PyObject* self, const fnabi_object* old,
                           bool shared) {
  if (!lane_has_attributes(Py_TYPE(self))) return;
  lane_object* of = (lane_object*)self;
  if (find(&current, old) == self) take_away(&current, old);
  if (find(&kept, old) == self) {
    take_away(&kept, old);
    Py_DECREF(self); /* not the last reference */
  }
  if (!of->empty && !shared) put(&current, of->object, self);
}

static bool has_some(PyObject* self) {
  if (find(&classes, Py_TYPE(self)) == Py_True) return true;
  PyObject* attributes = PyObject_GenericGetDict(self, NULL);
  if (attributes == NULL) PyErr_Clear();
  bool some = attributes != NULL && PyDict_Size(attributes) != 0;
  Py_XDECREF(attributes);
  return some;
}

/* Drops the Python objects whose object no library has any more. Making a list
 * may collect garbage, and what is freed may run any code: no entry is read
 * after either. */
static void sweep(void) {
  PyObject* dropped = PyList_New(0);
  for (size_t i = 0; dropped != NULL && i < kept.room; i++) {
    const entry* each = &kept.entries[i];
    if (each->key != NULL && owners_of(each->key) == 1 &&
        PyList_Append(dropped, each->value) < 0)
      break;
  }
  PyErr_Clear();
  if (dropped == NULL) return;
  for (Py_ssize_t i = PyList_Size(dropped); i-- > 0;) {
    PyObject* self = PyList_GetItem(dropped, i);
    take_away(&kept, ((lane_object*)self)->object);
    Py_DECREF(self);
  }
  Py_DECREF(dropped);
}

static PyObject* sweep_kept(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  if (kept.count != 0 && !lane_finished) sweep();
  Py_RETURN_NONE;
}

/* The finalizer of classes with attributes. */
static PyObject* outlive(PyObject* module, PyObject* self) {
  (void)module;
  if (!PyObject_TypeCheck(self, lane.object))
    return lane_type_error_got(self, "outlive: expected Object"), NULL;
  lane_object* of = (lane_object*)self;
  if (kept.count > 2 * kept_before + 1000) {
    sweep();
    kept_before = kept.count;
  }
  if (lane_finished || of->empty || owners_of(of->object) < 2 ||
      !has_some(self) || find(&kept, of->object) != NULL)
    Py_RETURN_NONE;
  if (put(&kept, of->object, self)) Py_INCREF(self);
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"give_attributes", give_attributes, METH_VARARGS,
     "give_attributes(class, has_slots, /)\n--\n\n"
     "Note that instances of a class have attributes of their own."},
    {"outlive", outlive, METH_O,
     "outlive(object, /)\n--\n\n"
     "Keep a Python object that has attributes while a library has its "
     "object."},
    {"sweep_kept", sweep_kept, METH_NOARGS,
     "sweep_kept()\n--\n\n"
     "Drop the kept Python objects whose object no library has any more."},
    {0}};

int lane_attributes_init(PyObject* module) {
  return PyModule_AddFunctions(module, functions);
}
