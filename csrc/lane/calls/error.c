/* Errors of the ABI as exceptions, and the other way round. */
#include "lane/calls/error.h"

#include "lane/calls/context.h"
#include "lane/calls/dialect.h"
#include "lane/calls/init.h"
#include "lane/calls/peer.h"
#include "lane/calls/wrap.h"
#include "lane/runtime/call_error.h"
#include "lane/runtime/error_slot.h"
#include "lane/runtime/hooks.h"
#include "lane/runtime/shutdown.h"
#include "lane/runtime/text.h"
#include "lane/runtime/tvm_ffi.h"

static PyObject* attribute; /* "ffi_error", interned */

/* ------------------------------------------- a Python exception as an error */
typedef struct raised {
  fnabi_error_object error;
  PyObject* exception;
} raised;

static void delete_raised(void* self, int flags) {
  if (flags & FNABI_DELETER_STRONG) lane_drop(((raised*)self)->exception);
  fnabi_error_object_delete(self, flags);
}

/* The kind of errors that a dialect has for a class of exceptions; NULL,
 * without an exception, where it has none. */
static PyObject* kind_in_dialect(PyObject* class) {
  PyObject *kind, *known;
  Py_ssize_t at = 0;
  if (lane_current_dialect == NULL || lane_current_dialect->errors == NULL)
    return NULL;
  while (PyDict_Next(lane_current_dialect->errors, &at, &kind, &known))
    if (known == class) return Py_NewRef(kind);
  return NULL;
}

/* The name of a class if it is a builtin exception that every library knows;
 * otherwise NULL, without an exception. */
static PyObject* known_name(PyObject* class) {
  PyObject* kind = kind_in_dialect(class);
  if (kind != NULL) return kind;
  PyObject* name = PyType_GetName((PyTypeObject*)class);
  if (name != NULL && PyDict_GetItem(PyEval_GetBuiltins(), name) != class)
    Py_CLEAR(name);
  return name;
}

/* The name of the exception's class or of its first base class that libraries
 * know; "RuntimeError" if there is none. */
static PyObject* kind_of_exception(PyObject* exception) {
  PyObject *class = (PyObject*)Py_TYPE(exception), *mro = NULL, *kind = NULL;
  for (Py_ssize_t i = 1;; i++) {
    if (class == PyExc_Exception || class == PyExc_BaseException) break;
    kind = known_name(class);
    if (kind != NULL || PyErr_Occurred()) break;
    if (mro == NULL) mro = PyObject_GetAttrString(class, "__mro__");
    if (mro == NULL || i >= PyTuple_Size(mro)) break;
    class = PyTuple_GetItem(mro, i);
  }
  Py_XDECREF(mro);
  if (kind == NULL && !PyErr_Occurred())
    kind = PyUnicode_FromString("RuntimeError");
  return kind;
}

/* str() of the exception, except that a KeyError gives the key, not its repr.
 */
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
    if (!lane_clear()) return NULL;
  }
  return PyObject_Str(exception);
}

/* The error that an exception was made from, or NULL. Few exceptions have one,
 * and raising an AttributeError for the others would dominate the cost. */
static PyObject* origin_of_exception(PyObject* exception) {
  PyObject* dict = PyObject_GenericGetDict(exception, NULL);
  PyObject* origin = dict ? PyDict_GetItemWithError(dict, attribute) : NULL;
  if (origin != NULL && lane_is(origin, lane.error))
    Py_INCREF(origin);
  else
    origin = NULL;
  Py_XDECREF(dict);
  PyErr_Clear();
  return origin;
}

/* The backtrace that a dialect gives the error of an exception, a str; NULL
 * without one, with an exception if the program is to end. */
static PyObject* backtrace_in_dialect(PyObject* exception,
                                      const fnabi_byte_array* known) {
  if (lane_current_dialect == NULL || lane_current_dialect->backtrace == NULL)
    return NULL;
  const lane_dialect* dialect = lane_current_dialect;
  PyObject *text = lane_text(known), *made = NULL;
  if (text != NULL)
    made =
        PyObject_CallFunctionObjArgs(dialect->backtrace, exception, text, NULL);
  Py_XDECREF(text);
  if (made != NULL && !PyUnicode_Check(made)) Py_CLEAR(made);
  /* the backtrace is optional */
  if (made == NULL && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear();
  return made;
}

int lane_error_own(PyObject* exception, fnabi_any* out) {
  fnabi_byte_array texts[3] = {{"", 0}, {"", 0}, {"", 0}};
  PyObject *objects[3] = {NULL, NULL, NULL}, *keep[3] = {NULL, NULL, NULL};
  raised* self = NULL;
  PyObject* origin = origin_of_exception(exception);
  if (origin != NULL) {
    const fnabi_error_object* old =
        (fnabi_error_object*)((lane_object*)origin)->object;
    texts[0] = old->kind;
    texts[1] = old->message;
    texts[2] = old->backtrace;
    for (int i = 0; i < 3; i++)
      if (!lane_text_is_good(&texts[i])) texts[i] = (fnabi_byte_array){"", 0};
  } else {
    objects[0] = kind_of_exception(exception);
    if (objects[0] == NULL || lane_utf8(objects[0], &texts[0], &keep[0]) < 0)
      goto end;
    objects[1] = message_of_exception(exception);
    if (objects[1] == NULL || lane_utf8(objects[1], &texts[1], &keep[1]) < 0) {
      /* an exception whose text cannot be made is reported all the same */
      if (!lane_clear()) goto end;
      texts[1].data = "";
      texts[1].size = 0;
    }
  }
  objects[2] = backtrace_in_dialect(exception, &texts[2]);
  if (objects[2] == NULL && PyErr_Occurred()) goto end;
  if (objects[2] != NULL && lane_utf8(objects[2], &texts[2], &keep[2]) < 0) {
    PyErr_Clear();
    texts[2] = (fnabi_byte_array){"", 0};
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
  for (int i = 0; i < 3; i++) {
    Py_XDECREF(objects[i]);
    Py_XDECREF(keep[i]);
  }
  Py_XDECREF(origin);
  return self ? 0 : -1;
}

/* ------------------------------------------- an error as a Python exception */

/* Whether `except Exception` catches the exceptions of a class: a callee must
 * not end the program with a SystemExit. */
static bool is_caught(PyObject* class) {
  return PyExceptionClass_Check(class) &&
         PyType_IsSubtype((PyTypeObject*)class, (PyTypeObject*)PyExc_Exception);
}

/* The class that is registered for a kind, or the builtin one of that name.
 * Borrowed. */
static PyObject* class_of_kind(PyObject* kind) {
  /* the function should have set a Python error */
  if (PyUnicode_CompareWithASCIIString(kind, "EnvErrorAlreadySet") == 0)
    return PyExc_SystemError;
  PyObject* class = NULL;
  if (lane_current_dialect != NULL && lane_current_dialect->errors != NULL)
    class = PyDict_GetItem(lane_current_dialect->errors, kind);
  if (class != NULL && PyExceptionClass_Check(class)) return class;
  class = PyDict_GetItem(PyEval_GetBuiltins(), kind);
  return class && is_caught(class) ? class : PyExc_RuntimeError;
}

/* Creates an exception of a class. If the class cannot be created from a
 * message alone, as UnicodeDecodeError, tries its base classes. */
static PyObject* make_exception(PyObject* class, PyObject* message) {
  PyObject* exception = PyObject_CallFunctionObjArgs(class, message, NULL);
  if (exception != NULL || !lane_clear()) return exception;
  PyObject* mro = PyObject_GetAttrString(class, "__mro__");
  if (mro == NULL) return NULL;
  for (Py_ssize_t i = 1;
       exception == NULL && i < PyTuple_Size(mro) && lane_clear(); i++)
    exception =
        PyObject_CallFunctionObjArgs(PyTuple_GetItem(mro, i), message, NULL);
  Py_DECREF(mro);
  return exception;
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

/* The error in the class of the package that the dialect is of, if that is
 * imported too: it trusts the attribute of exceptions to be of its own class.
 * Else the error itself. NULL with an exception on failure. */
static PyObject* error_in_dialect(PyObject* wrapper) {
  PyObject* function = lane_imported("tvm_ffi", "Function");
  bool other = function != NULL && PyType_Check(function) &&
               !PyType_IsSubtype((PyTypeObject*)function, lane.function);
  Py_XDECREF(function);
  return other ? lane_object_peer(((lane_object*)wrapper)->object)
               : Py_NewRef(wrapper);
}

/* Gives an exception its error under the name that the dialect has for it. */
static int name_in_dialect(PyObject* exception, PyObject* wrapper) {
  if (lane_current_dialect == NULL || lane_current_dialect->attribute == NULL)
    return 0;
  PyObject* named = error_in_dialect(wrapper);
  int status = named ? PyObject_SetAttr(exception,
                                        lane_current_dialect->attribute, named)
                     : -1;
  Py_XDECREF(named);
  return status;
}

/* The same for an exception of Python, which has not got one yet: a copy of its
 * error, because the error itself holds the exception. */
static void name_copy_in_dialect(PyObject* exception,
                                 const fnabi_error_object* error) {
  if (lane_current_dialect == NULL || lane_current_dialect->attribute == NULL ||
      PyObject_HasAttr(exception, lane_current_dialect->attribute))
    return;
  fnabi_error_object* copy = fnabi_error_object_new(
      &error->kind, &error->message, &error->backtrace, 0, NULL);
  PyObject* wrapper =
      copy ? lane_wrap(lane_type_of(FNABI_INDEX_ERROR), &copy->object) : NULL;
  if (wrapper == NULL || name_in_dialect(exception, wrapper) < 0)
    PyErr_Clear(); /* an exception without attributes of its own */
  Py_XDECREF(wrapper);
}

PyObject* lane_error_exception(fnabi_error_object* error) {
  if (error->object.deleter == delete_raised) {
    PyObject* exception = ((raised*)error)->exception;
    Py_INCREF(exception);
    name_copy_in_dialect(exception, error);
    return exception;
  }
  PyObject* exception = exception_of(&error->kind, &error->message);
  if (exception != NULL) {
    fnabi_object_retain(error);
    PyObject* wrapper =
        lane_wrap(lane_type_of(FNABI_INDEX_ERROR), &error->object);
    if (wrapper == NULL ||
        PyObject_SetAttr(exception, attribute, wrapper) < 0 ||
        name_in_dialect(exception, wrapper) < 0)
      Py_CLEAR(exception);
    Py_XDECREF(wrapper);
  }
  return exception;
}

void lane_raise(PyObject* exception) {
  PyObject* type = (PyObject*)Py_TYPE(exception);
  Py_INCREF(type);
  PyErr_Restore(type, exception, PyException_GetTraceback(exception));
}

/* Adds to a CallError which function left the error that cannot be read. */
static void name_unreadable(PyObject* name) {
  PyObject *type, *problem;
  if (!lane_call_error_take(&type, &problem)) return;
  PyErr_Format(type,
               "%V: the function failed, and its error cannot be read: %S",
               name, "function", problem);
  Py_XDECREF(type);
  Py_XDECREF(problem);
}

bool lane_error_fetch(PyObject* name) {
  fnabi_error_object* error = lane_error_take();
  /* Status -2 is an older convention: the Python exception is already set. */
  bool known = PyErr_Occurred() != NULL;
  if (error == NULL) return known;
  PyObject* exception = known ? NULL : lane_error_exception(error);
  if (exception != NULL)
    lane_raise(exception);
  else if (!known)
    name_unreadable(name);
  lane_release(&error->object);
  return true;
}

void lane_error_raise(PyObject* name, int status) {
  if (!lane_error_fetch(name))
    lane_call_error(
        "%V: the function failed with status %d and left no error; see its "
        "documentation for the arguments it takes",
        name, "function", status);
}

/* Takes the current exception. */
static PyObject* fetched(void) {
  PyObject *type, *exception, *traceback;
  PyErr_Fetch(&type, &exception, &traceback);
  PyErr_NormalizeException(&type, &exception, &traceback);
  if (traceback != NULL) PyException_SetTraceback(exception, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return exception;
}

PyObject* lane_error_report(void) {
  PyObject* exception = fetched();
  fnabi_any error;
  lane_error_find();
  int status = lane_error_own(exception, &error);
  if (status < 0 && !PyErr_ExceptionMatches(PyExc_Exception)) {
    /* such as Ctrl-C while Python made the text of the exception */
    Py_XDECREF(exception);
    exception = fetched();
    status = lane_error_own(exception, &error);
  }
  if (status == 0) {
    lane_error_put((fnabi_error_object*)error.v_object);
  } else {
    PyErr_Clear();
    lane_error_put_text("MemoryError", (const char* const[]){"out of memory"},
                        1);
  }
  return exception;
}

void lane_error_report_end(void) {
  static const fnabi_byte_array kind = {"RuntimeError", 12},
                                backtrace = {"", 0};
  static const char text[] =
      "the Python interpreter is shutting down and runs no callbacks";
  const fnabi_byte_array message = {text, sizeof text - 1};
  fnabi_error_object* error =
      fnabi_error_object_new(&kind, &message, &backtrace, 0, NULL);
  if (error != NULL) lane_error_put(error);
}

/* -------------------------------------------------------------------- Error */

static PyObject* error_text(PyObject* self, void* offset) {
  const char* error = (const char*)((lane_object*)self)->object;
  return lane_text((const fnabi_byte_array*)(error + (size_t)offset));
}

static PyGetSetDef error_getset[] = {
    {"kind", error_text, NULL,
     "The name of the exception's class, from the library.",
     (void*)offsetof(fnabi_error_object, kind)},
    {"message", error_text, NULL, "The message of the error.",
     (void*)offsetof(fnabi_error_object, message)},
    {"backtrace", error_text, NULL,
     "One line per call, the most recent call first; empty if the library\n"
     "recorded none.",
     (void*)offsetof(fnabi_error_object, backtrace)},
    {0}};

static bool read_text(PyObject* str, fnabi_byte_array* text, PyObject** keep) {
  *keep = NULL;
  return lane_utf8(str, text, keep) == 0;
}

static PyObject* error_new(PyTypeObject* type, PyObject* args,
                           PyObject* named) {
  static char* keywords[] = {"kind", "message", "backtrace", NULL};
  PyObject *objects[3] = {NULL, NULL, NULL}, *keep[3] = {NULL, NULL, NULL};
  fnabi_byte_array texts[3] = {{"", 0}, {"", 0}, {"", 0}};
  if (!PyArg_ParseTupleAndKeywords(args, named, "OO|O:Error", keywords,
                                   &objects[0], &objects[1], &objects[2]))
    return NULL;
  for (int i = 0; i < 3 && objects[i] != NULL; i++)
    if (!PyUnicode_Check(objects[i])) {
      lane_type_error_got(objects[i], "Error: %s: expected str", keywords[i]);
      return NULL;
    }
  bool good = true;
  for (int i = 0; good && i < 3 && objects[i] != NULL; i++)
    good = read_text(objects[i], &texts[i], &keep[i]);
  fnabi_error_object* error =
      good ? fnabi_error_object_new(&texts[0], &texts[1], &texts[2], 0, NULL)
           : NULL;
  for (int i = 0; i < 3; i++) Py_XDECREF(keep[i]);
  if (error != NULL) return lane_construct(type, &error->object);
  return good ? PyErr_NoMemory() : NULL;
}

static PyObject* error_reduce(PyObject* self, PyObject* unused) {
  const fnabi_error_object* error =
      (fnabi_error_object*)((lane_object*)self)->object;
  (void)unused;
  PyObject *kind = lane_text(&error->kind),
           *message = kind ? lane_text(&error->message) : NULL,
           *backtrace = message ? lane_text(&error->backtrace) : NULL,
           *reduced = NULL;
  if (backtrace != NULL)
    reduced = Py_BuildValue("O(OOO)", (PyObject*)Py_TYPE(self), kind, message,
                            backtrace);
  Py_XDECREF(kind);
  Py_XDECREF(message);
  Py_XDECREF(backtrace);
  return reduced;
}

/* The backtrace, which may have many lines, is left out. */
static PyObject* error_repr(PyObject* self) {
  const fnabi_error_object* error =
      (fnabi_error_object*)((lane_object*)self)->object;
  PyObject *kind = lane_text(&error->kind),
           *message = kind ? lane_text(&error->message) : NULL,
           *text = message
                       ? PyUnicode_FromFormat("Error(%R, %R)", kind, message)
                       : NULL;
  Py_XDECREF(kind);
  Py_XDECREF(message);
  return text;
}

static PyMethodDef error_methods[] = {
    {"__reduce__", error_reduce, METH_NOARGS, "For copies and pickles."}, {0}};

static PyType_Slot error_slots[] = {
    {Py_tp_doc,
     "Error(kind, message, backtrace=\"\")\n--\n\n"
     "An error that a library raised: the attribute `ffi_error` of the "
     "exception.\nCopies and pickles have the same texts.\n\n"
     "Example:\n"
     "    >>> import fnabi\n"
     "    >>> try:\n"
     "    ...     fnabi.load_module(\"build/kernels.so\").norm(1)\n"
     "    ... except TypeError as problem:\n"
     "    ...     problem.ffi_error.kind, problem.ffi_error.message\n"
     "    ('TypeError', 'norm() argument 0 must be ffi.Tensor, not int')\n"},
    {Py_tp_new, error_new},
    {Py_tp_methods, error_methods},
    {Py_tp_getset, error_getset},
    {Py_tp_repr, error_repr},
    {0}};

static PyType_Spec error_spec = {
    "fnabi.Error", sizeof(lane_object), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE,
    error_slots};

int lane_error_init(PyObject* module) {
  lane_error_find();
  attribute = PyUnicode_InternFromString("ffi_error");
  if (attribute == NULL) return -1;
  lane.error = lane_add_type(module, &error_spec, lane.object);
  return lane.error ? 0 : -1;
}
