#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT */
#endif
#include <dlfcn.h>

#include "pycall.h"

/* ------------------------------------------------------------ where errors
 * wait
 *
 * A function that fails leaves its error in a slot of its thread. The slot is
 * libtvm_ffi's where that library is loaded. Where it is not, an exception of a
 * callback waits in a slot of our own. */
static struct {
  void (*set)(void* error);   /* gets its own reference */
  void (*take)(void** error); /* gives its reference away; NULL: none */
} slot;

static _Thread_local PyObject* waiting;
static Py_ssize_t waiting_count; /* on all threads; the GIL guards it */

static PyObject* take_waiting(void) {
  if (waiting_count == 0) return NULL;
  PyObject* exception = waiting;
  waiting = NULL;
  waiting_count -= exception != NULL;
  return exception;
}

static bool slot_find(void) {
  if (slot.take != NULL) return true;
  void* library = dlopen("libtvm_ffi.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL) library = RTLD_DEFAULT;
  void *set = dlsym(library, "TVMFFIErrorSetRaised"),
       *take = dlsym(library, "TVMFFIErrorMoveFromRaised");
  if (set == NULL || take == NULL) return false;
  memcpy(&slot.set, &set, sizeof set);
  memcpy(&slot.take, &take, sizeof take);
  return true;
}

void lane_error_forget(void) {
  if (slot.take != NULL) {
    void* stale = NULL;
    slot.take(&stale);
    if (stale != NULL) fnabi_object_release(stale);
  }
  fnabi_byte_array kind, message;
  lane_library_error(&kind, &message);
  if (waiting_count != 0) {
    PyObject* stale = take_waiting();
    Py_XDECREF(stale);
  }
}

/* ------------------------------------------------- a Python exception as an
 * error
 */
typedef struct raised {
  fnabi_error_object error;
  PyObject* exception;
} raised;

static void delete_raised(void* self, int flags) {
  if (flags & FNABI_DELETER_STRONG) lane_drop(((raised*)self)->exception);
  fnabi_error_object_delete(self, flags);
}

/* The name of the first class that everybody knows; others than that are
 * RuntimeErrors to a library. */
static PyObject* kind_of_exception(PyObject* exception) {
  PyObject* builtins = PyEval_GetBuiltins();
  PyObject* mro =
      PyObject_GetAttrString((PyObject*)Py_TYPE(exception), "__mro__");
  if (mro == NULL) return NULL;
  PyObject* kind = NULL;
  for (Py_ssize_t i = 0; kind == NULL && i < PyTuple_Size(mro); i++) {
    PyObject* class = PyTuple_GetItem(mro, i);
    if (class == PyExc_Exception || class == PyExc_BaseException) break;
    kind = PyObject_GetAttrString(class, "__name__");
    if (kind == NULL) break;
    if (PyDict_GetItem(builtins, kind) != class) Py_CLEAR(kind);
  }
  Py_DECREF(mro);
  if (kind == NULL && !PyErr_Occurred())
    kind = PyUnicode_FromString("RuntimeError");
  return kind;
}

/* str() of it, but of a KeyError the key and not its repr. */
static PyObject* message_of_exception(PyObject* exception) {
  if (PyErr_GivenExceptionMatches(exception, PyExc_KeyError)) {
    PyObject* args = PyObject_GetAttrString(exception, "args");
    PyObject* key = args && PyTuple_Check(args) && PyTuple_Size(args) == 1
                        ? PyTuple_GetItem(args, 0)
                        : NULL;
    bool text = key != NULL && PyUnicode_Check(key);
    if (text) Py_INCREF(key);
    Py_XDECREF(args);
    if (text) return key;
    PyErr_Clear();
  }
  return PyObject_Str(exception);
}

int lane_error_own(PyObject* exception, fnabi_any* out) {
  fnabi_byte_array texts[3] = {{"", 0}, {"", 0}, {"", 0}};
  PyObject *objects[2] = {NULL, NULL}, *keep[2] = {NULL, NULL};
  raised* self = NULL;
  PyObject* made_from = PyObject_GetAttrString(exception, "ffi_error");
  if (made_from != NULL && Py_TYPE(made_from) == lane.error) {
    const fnabi_error_object* old =
        (fnabi_error_object*)((lane_object*)made_from)->object;
    texts[0] = old->kind;
    texts[1] = old->message;
    texts[2] = old->backtrace;
  } else {
    PyErr_Clear();
    objects[0] = kind_of_exception(exception);
    if (objects[0] == NULL || lane_utf8(objects[0], &texts[0], &keep[0]) < 0)
      goto end;
    objects[1] = message_of_exception(exception);
    if (objects[1] == NULL || lane_utf8(objects[1], &texts[1], &keep[1]) < 0) {
      PyErr_Clear(); /* an exception that cannot be printed is still one */
      texts[1].data = "";
      texts[1].size = 0;
    }
  }
  self = (raised*)fnabi_error_object_new(&texts[0], &texts[1], &texts[2],
                                         sizeof(raised) - sizeof self->error,
                                         delete_raised);
  if (self == NULL) {
    PyErr_NoMemory();
  } else {
    Py_INCREF(exception);
    self->exception = exception;
    fnabi_any_set_object(out, self);
  }
end:
  for (int i = 0; i < 2; i++) {
    Py_XDECREF(objects[i]);
    Py_XDECREF(keep[i]);
  }
  Py_XDECREF(made_from);
  return self ? 0 : -1;
}

/* ------------------------------------------------- an error as a Python
 * exception
 */

/* The builtin class that a kind names. Borrowed. */
static PyObject* class_of_kind(PyObject* kind) {
  PyObject* class = PyDict_GetItem(PyEval_GetBuiltins(), kind);
  return class && PyExceptionClass_Check(class) ? class : PyExc_RuntimeError;
}

/* An exception of a class, or of the first of its bases that can be made of a
 * message: a UnicodeDecodeError cannot. */
static PyObject* make_exception(PyObject* class, PyObject* message) {
  Py_INCREF(class);
  for (;;) {
    PyObject* exception = PyObject_CallFunctionObjArgs(class, message, NULL);
    if (exception != NULL || class == PyExc_BaseException) {
      Py_DECREF(class);
      return exception;
    }
    PyErr_Clear();
    PyObject* base = PyObject_GetAttrString(class, "__base__");
    Py_DECREF(class);
    if (base == NULL) return NULL;
    class = base;
  }
}

static PyObject* exception_of(const fnabi_byte_array* kind,
                              const fnabi_byte_array* message) {
  PyObject *name = lane_text(kind), *text = NULL, *exception = NULL;
  if (name != NULL && (text = lane_text(message)) != NULL)
    exception = make_exception(class_of_kind(name), text);
  Py_XDECREF(name);
  Py_XDECREF(text);
  return exception;
}

PyObject* lane_error_exception(fnabi_error_object* error) {
  if (error->object.deleter == delete_raised) {
    PyObject* exception = ((raised*)error)->exception;
    Py_INCREF(exception);
    return exception;
  }
  PyObject* exception = exception_of(&error->kind, &error->message);
  if (exception != NULL) {
    fnabi_object_retain(error);
    PyObject* wrapper = lane_wrap(lane.error, &error->object);
    if (wrapper == NULL ||
        PyObject_SetAttrString(exception, "ffi_error", wrapper) < 0)
      Py_CLEAR(exception);
    Py_XDECREF(wrapper);
  }
  return exception;
}

/* Raises an exception with the traceback that it has. Takes it over. */
static void raise_again(PyObject* exception) {
  PyObject* type = (PyObject*)Py_TYPE(exception);
  Py_INCREF(type);
  PyErr_Restore(type, exception, PyException_GetTraceback(exception));
}

void lane_error_raise(PyObject* name, int status) {
  if (PyErr_Occurred()) return; /* an old way to fail: -2, and Python knows */
  fnabi_byte_array kind, message;
  void* error = NULL;
  if (slot_find()) slot.take(&error);
  PyObject* mine = take_waiting();
  if (error != NULL) {
    PyObject* exception = lane_error_exception(error);
    fnabi_object_release(error);
    Py_XDECREF(mine);
    if (exception != NULL) raise_again(exception);
  } else if (lane_library_error(&kind, &message)) {
    Py_XDECREF(mine);
    PyObject* exception = exception_of(&kind, &message);
    if (exception != NULL) raise_again(exception);
  } else if (mine != NULL) {
    raise_again(mine);
  } else {
    lane_call_error(
        "%V: the function failed with status %d and left no error; see its "
        "documentation for the arguments it takes",
        name, "function", status);
  }
}

void lane_error_report(void) {
  PyObject *type, *exception, *traceback;
  PyErr_Fetch(&type, &exception, &traceback);
  PyErr_NormalizeException(&type, &exception, &traceback);
  if (traceback != NULL) PyException_SetTraceback(exception, traceback);
  fnabi_any error;
  if (slot_find() && lane_error_own(exception, &error) == 0) {
    slot.set(error.v_object);
    fnabi_any_release(&error);
  } else {
    PyErr_Clear();
    PyObject* old = take_waiting();
    waiting = exception;
    waiting_count++;
    Py_INCREF(exception);
    Py_XDECREF(old);
  }
  Py_XDECREF(type);
  Py_XDECREF(exception);
  Py_XDECREF(traceback);
}

/* ----------------------------------------------------------------------- Error
 */

static PyObject* error_text(PyObject* self, void* offset) {
  const char* error = (const char*)((lane_object*)self)->object;
  return lane_text((const fnabi_byte_array*)(error + (size_t)offset));
}

static PyGetSetDef error_getset[] = {
    {"kind", error_text, NULL, "The name of its class, as the library gave it.",
     (void*)offsetof(fnabi_error_object, kind)},
    {"message", error_text, NULL, "What went wrong.",
     (void*)offsetof(fnabi_error_object, message)},
    {"backtrace", error_text, NULL,
     "Where, a line a call, the most recent call first; empty where the "
     "library\nrecorded none.",
     (void*)offsetof(fnabi_error_object, backtrace)},
    {0}};

static PyType_Slot error_slots[] = {
    {Py_tp_doc,
     "An error as a library made it: attribute `ffi_error` of the exception "
     "that is\nraised for it."},
    {Py_tp_getset, error_getset},
    {0}};

static PyType_Spec error_spec = {"fnabi.Error", sizeof(lane_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE |
                                     Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 error_slots};

int lane_error_init(PyObject* module) {
  lane.error = lane_add_type(module, &error_spec, lane.object);
  return lane.error ? 0 : -1;
}
