/* Releases Python objects on any thread, until the interpreter shuts down. */
#include "lane/runtime/shutdown.h"
/* after Python.h, which settles what the system headers offer */
#include "base/platform.h"

/* Libraries may keep and call Python objects after the interpreter has shut
 * down. */
bool lane_finished;

/* A Python object that is dropped may drop another one, such as a function made
 * of a function. Those beyond DEPTH wait in `later`, so that a long chain needs
 * no more of the stack. */
enum { DEPTH = 100 };
static FNABI_FAST_THREAD int depth;
static FNABI_FAST_THREAD PyObject* later; /* a list, or NULL */

static void put_off(PyObject* object) {
  PyObject *type, *problem, *traceback;
  PyErr_Fetch(&type, &problem, &traceback);
  if (later == NULL) later = PyList_New(0);
  if (later != NULL) PyList_Append(later, object);
  PyErr_Restore(type, problem, traceback);
}

static void drop_last(PyObject* object) {
  depth++;
  do {
    Py_DECREF(object);
    object = depth == 1 ? later : NULL;
    if (object != NULL) later = NULL;
  } while (object != NULL);
  depth--;
}

void lane_drop(PyObject* object) {
  if (object == NULL || lane_finished) return;
  PyGILState_STATE gil = PyGILState_Ensure();
  if (Py_REFCNT(object) == 1 && depth < DEPTH) {
    drop_last(object);
  } else {
    if (depth == DEPTH) put_off(object);
    Py_DECREF(object);
  }
  PyGILState_Release(gil);
}

static PyObject* finish(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  lane_finished = true;
  Py_RETURN_NONE;
}

int lane_check_interpreter(void) {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) return 0;
  PyErr_SetString(PyExc_ImportError,
                  "fnabi can be used in the main interpreter alone, not in a "
                  "subinterpreter");
  return -1;
}

/* Python does not run the initialiser of a module that another interpreter has
 * imported. */
static PyObject* check_interpreter(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  if (lane_check_interpreter() < 0) return NULL;
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"_finish", finish, METH_NOARGS,
     "_finish()\n--\n\n"
     "Run no Python code from now on: the interpreter is shutting down."},
    {"_check_interpreter", check_interpreter, METH_NOARGS,
     "_check_interpreter()\n--\n\nRaise ImportError in a subinterpreter."},
    {0}};

int lane_shutdown_init(PyObject* module) {
  return PyModule_AddFunctions(module, functions);
}
