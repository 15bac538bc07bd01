/* Releases Python objects on any thread, until the interpreter shuts down. */
#include "lane/runtime/shutdown.h"

/* Libraries may keep and call Python objects after the interpreter has shut
 * down. */
bool lane_finished;

void lane_drop(PyObject* object) {
  if (object == NULL || lane_finished) return;
  PyGILState_STATE gil = PyGILState_Ensure();
  Py_DECREF(object);
  PyGILState_Release(gil);
}

static PyObject* finish(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  lane_finished = true;
  Py_RETURN_NONE;
}

static PyMethodDef finish_method = {"finish", finish, METH_NOARGS, NULL};

int lane_shutdown_init(void) {
  PyObject *exit = PyImport_ImportModule("atexit"),
           *last = PyCFunction_NewEx(&finish_method, NULL, NULL), *done = NULL;
  if (exit && last) done = PyObject_CallMethod(exit, "register", "O", last);
  Py_XDECREF(exit);
  Py_XDECREF(last);
  Py_XDECREF(done);
  return done ? 0 : -1;
}
