/* Ints outside int64, as objects of the ABI. */
#include "lane/calls/big_int.h"

#include "lane/calls/to_value.h"
#include "lane/runtime/call_error.h"
#include "lane/runtime/types.h"

/* Calls a method of int itself, even if a subclass overrides it. Takes
 * ownership of the arguments; returns NULL if they are NULL. */
static PyObject* call_int(const char* name, PyObject* args, PyObject* named) {
  if (args == NULL) return NULL;
  PyObject* method = PyObject_GetAttrString((PyObject*)&PyLong_Type, name);
  PyObject* answer = method ? PyObject_Call(method, args, named) : NULL;
  Py_XDECREF(method);
  Py_DECREF(args);
  return answer;
}

static PyObject* as_signed(void) {
  static PyObject* named;
  if (named == NULL) named = Py_BuildValue("{s:O}", "signed", Py_True);
  return named;
}

/* An earlier libtvm_ffi ends the process where it gets one. */
static int check_release(void) {
  const char* name = fnabi_type_key(FNABI_INDEX_BIG_INT);
  const fnabi_byte_array key = {name, strlen(name)};
  int32_t index;
  if (lane_type_of_key(&key, &index)) return 0;
  PyObject* class = lane_error_class(LANE_RANGE_ERROR);
  if (class != NULL)
    PyErr_SetString(class,
                    "an int that does not fit in int64, expected a libtvm_ffi "
                    "of release 0.1.15 or newer");
  return -1;
}

int lane_big_int_view(PyObject* value, fnabi_any* out) {
  if (check_release() < 0) return -1;
  /* ceil((bits + 1) / 64) words */
  PyObject* bits = call_int("bit_length", PyTuple_Pack(1, value), NULL);
  if (bits == NULL) return -1;
  Py_ssize_t words = PyLong_AsSsize_t(bits) / 64 + 1;
  Py_DECREF(bits);
  PyObject* named = as_signed();
  PyObject* bytes =
      named
          ? call_int("to_bytes",
                     Py_BuildValue("(Ons)", value, words * 8, "little"), named)
          : NULL;
  if (bytes == NULL) return -1;
  bool good = fnabi_int_new((const uint64_t*)PyBytes_AsString(bytes),
                            (size_t)words, out);
  Py_DECREF(bytes);
  if (!good) PyErr_NoMemory();
  return good ? LANE_MADE : -1;
}

PyObject* lane_big_int_from(const fnabi_big_int_object* big) {
  if (big->words > PY_SSIZE_T_MAX / 8) return PyErr_NoMemory();
  PyObject* named = as_signed();
  if (named == NULL) return NULL;
  return call_int("from_bytes",
                  Py_BuildValue("(y#s)", (const char*)(big + 1),
                                (Py_ssize_t)big->words * 8, "little"),
                  named);
}
