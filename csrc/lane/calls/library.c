/* Shared libraries, by their handles, and attributes that are found when first
 * used. */
#include "lane/calls/init.h"
#include "lane/runtime/error_slot.h"
#include "lane/runtime/hooks.h"
#include "lane/runtime/loader.h"
#include "lane/runtime/text.h"

/* Libraries are never unloaded, because their objects and functions may still
 * be referenced from anywhere. */

static PyObject* library_open(PyObject* module, PyObject* args) {
  PyObject* path;
  int everywhere;
  (void)module;
  if (!PyArg_ParseTuple(args, "O&p:open_library", PyUnicode_FSConverter, &path,
                        &everywhere))
    return NULL;
  const char* name = PyBytes_AsString(path);
  const char* problem = NULL;
  void* handle;
  Py_BEGIN_ALLOW_THREADS handle = lane_loader_open(name, everywhere, &problem);
  Py_END_ALLOW_THREADS Py_DECREF(path);
  if (handle != NULL) return PyLong_FromVoidPtr(handle);
  PyObject* error = lane_get(LANE_LIBRARY_ERROR);
  if (error != NULL)
    PyErr_SetString(error, problem ? problem : "the library cannot be loaded");
  return NULL;
}

static PyObject* library_loaded(PyObject* module, PyObject* args) {
  PyObject* path;
  (void)module;
  if (!PyArg_ParseTuple(args, "O&:loaded_library", PyUnicode_FSConverter,
                        &path))
    return NULL;
  void* handle = lane_loader_find(PyBytes_AsString(path));
  Py_DECREF(path);
  if (handle != NULL) return PyLong_FromVoidPtr(handle);
  Py_RETURN_NONE;
}

static PyObject* library_symbol(PyObject* module, PyObject* args) {
  PyObject *number, *name, *keep;
  fnabi_byte_array text;
  (void)module;
  if (!PyArg_ParseTuple(args, "OU:library_symbol", &number, &name)) return NULL;
  void* handle = PyLong_AsVoidPtr(number);
  if (handle == NULL && PyErr_Occurred()) return NULL;
  if (lane_utf8(name, &text, &keep) < 0) return NULL;
  void* address = strlen(text.data) == text.size /* no symbol has a NUL */
                      ? lane_loader_symbol(handle, text.data)
                      : NULL;
  Py_XDECREF(keep);
  if (address != NULL) return PyLong_FromVoidPtr(address);
  Py_RETURN_NONE;
}

static PyObject* library_add_error_slot(PyObject* module, PyObject* number) {
  (void)module;
  void* address = PyLong_AsVoidPtr(number);
  if (address == NULL && PyErr_Occurred()) return NULL;
  if (!lane_error_slot_add(address)) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

/* ------------------------------------------------------------------- Lookup */

/* CPython calls __getattr__ only after all other lookups have failed. This type
 * looks first among the attributes that it has found before. */
typedef struct lookup {
  PyObject_HEAD PyObject* found; /* a dict */
} lookup;

static PyObject* lookup_new(PyTypeObject* type, PyObject* args,
                            PyObject* named) {
  (void)args;
  (void)named;
  allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  lookup* self = (lookup*)alloc(type, 0);
  if (self != NULL && (self->found = PyDict_New()) == NULL) Py_CLEAR(self);
  return (PyObject*)self;
}

static PyObject* lookup_get(PyObject* object, PyObject* name) {
  lookup* self = (lookup*)object;
  PyObject* found = PyDict_GetItemWithError(self->found, name);
  if (found != NULL) return Py_NewRef(found);
  if (PyErr_Occurred()) return NULL;
  found = PyObject_GenericGetAttr(object, name);
  if (found != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError))
    return found;
  PyErr_Clear();
  found = PyObject_CallMethod(object, "_missing", "O", name);
  if (found != NULL && PyDict_SetItem(self->found, name, found) < 0)
    Py_CLEAR(found);
  return found;
}

static int lookup_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(((lookup*)self)->found);
  return 0;
}

static int lookup_clear(PyObject* self) {
  PyObject* found = ((lookup*)self)->found;
  if (found != NULL) PyDict_Clear(found);
  return 0;
}

static void lookup_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Py_XDECREF(((lookup*)self)->found);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static PyType_Slot lookup_slots[] = {
    {Py_tp_doc,
     "The base of classes with attributes that are found when first used: by "
     "`_missing(name)`,\nwhich gives one or raises AttributeError."},
    {Py_tp_new, lookup_new},
    {Py_tp_getattro, lookup_get},
    {Py_tp_traverse, lookup_traverse},
    {Py_tp_clear, lookup_clear},
    {Py_tp_dealloc, lookup_dealloc},
    {0}};

static PyType_Spec lookup_spec = {
    "fnabi._base.lane.Lookup", sizeof(lookup), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    lookup_slots};

static PyMethodDef library_methods[] = {
    {"open_library", library_open, METH_VARARGS,
     "open_library(path, everywhere, /)\n--\n\n"
     "Load a library, resolve all its symbols, and return its handle. It is "
     "never unloaded.\n\nRaises:\n    LibraryError: With the loader's "
     "message.\n"},
    {"loaded_library", library_loaded, METH_VARARGS,
     "loaded_library(name, /)\n--\n\n"
     "Return the handle of a library that is already loaded, or None."},
    {"library_symbol", library_symbol, METH_VARARGS,
     "library_symbol(handle, name, /)\n--\n\n"
     "Return the address of a symbol, or None."},
    {"add_error_slot", library_add_error_slot, METH_O,
     "add_error_slot(address, /)\n--\n\n"
     "Read errors from the slot of a library, which fnabi/callee.h describes."},
    {0}};

int lane_library_init(PyObject* module) {
  if (lane_add_type(module, &lookup_spec, NULL) == NULL) return -1;
  return PyModule_AddFunctions(module, library_methods);
}
