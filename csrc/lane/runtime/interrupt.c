/* Ctrl-C during long work. */
#include "lane/runtime/interrupt.h"

#include "lane/runtime/shutdown.h"
#include "lane/runtime/threads.h"

enum { LANE_PATIENCE = 50 * 1000 * 1000 }; /* nanoseconds */

static FNABI_THREAD struct {
  int64_t asked;                      /* when Python last ran handlers */
  PyObject *type, *value, *traceback; /* of the exception that waits */
} state;

/* Whether an exception waits. The GIL is not held, or it is. */
static bool poll(void* unused) {
  (void)unused;
  if (state.type != NULL) return true;
  int64_t now = lane_clock();
  if (now - state.asked < LANE_PATIENCE || lane_finished) return false;
  state.asked = now;
  fnabi_set_poll(poll, NULL); /* long work of handlers asks too */
  PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *type, *value, *traceback; /* of an exception that is set already */
  PyErr_Fetch(&type, &value, &traceback);
  if (PyErr_CheckSignals() < 0)
    PyErr_Fetch(&state.type, &state.value, &state.traceback);
  PyErr_Restore(type, value, traceback);
  PyGILState_Release(gil);
  return state.type != NULL;
}

int lane_interrupted(void) {
  if (state.type != NULL)
    PyErr_Restore(state.type, state.value, state.traceback);
  else /* another thread, which has an exception, ended this one's work */
    PyErr_SetNone(PyExc_KeyboardInterrupt);
  state.type = state.value = state.traceback = NULL;
  fnabi_steps = 0;
  return -1;
}

PyObject* lane_iterator(PyObject* values) {
  PyObject* iterator = PyObject_GetIter(values);
  /* CPython gives that of a released memoryview together with an exception */
  if (iterator != NULL && PyErr_Occurred()) Py_CLEAR(iterator);
  return iterator;
}

PyObject* lane_list(PyObject* iterator) {
  PyObject *list = PyList_New(0), *item;
  while (list != NULL && (item = PyIter_Next(iterator)) != NULL) {
    if (lane_work(1) < 0 || PyList_Append(list, item) < 0) Py_CLEAR(list);
    Py_DECREF(item);
  }
  if (PyErr_Occurred()) Py_CLEAR(list);
  return list;
}

static PyObject* raise_interrupt(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  lane_interrupted();
  return NULL;
}

static int begin(void* unused) {
  (void)unused;
  fnabi_set_poll(poll, NULL);
  return 0;
}

static PyObject* poll_signals(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  begin(NULL);
  Py_RETURN_NONE;
}

static bool poll_flag(void* flag) {
  return fnabi_atomic_load((int32_t*)flag, RELAXED) != 0;
}

static PyObject* stop_at(PyObject* module, PyObject* number) {
  (void)module;
  void* flag = PyLong_AsVoidPtr(number);
  if (flag == NULL && PyErr_Occurred()) return NULL;
  fnabi_set_poll(flag != NULL ? poll_flag : NULL, flag);
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"_poll_signals", poll_signals, METH_NOARGS,
     "_poll_signals()\n--\n\n"
     "Run the handlers of signals during long work of this thread, which has\n"
     "become the main one."},
    {"_stop_at", stop_at, METH_O,
     "_stop_at(address, /)\n--\n\n"
     "End long work of this thread when the int32 at an address is not 0; an\n"
     "address of 0 for none. For threads that another one waits for."},
    {"_raise_interrupt", raise_interrupt, METH_NOARGS,
     "_raise_interrupt()\n--\n\n"
     "Raise the exception with which work of the core was interrupted."},
    {0}};

int lane_interrupt_init(PyObject* module) {
  /* runs on the main thread, which need not be the one that imports */
  if (Py_AddPendingCall(begin, NULL) < 0) PyErr_Clear(); /* the queue is full */
  return PyModule_AddFunctions(module, functions);
}
