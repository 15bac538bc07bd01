/* Dtypes and devices as Python objects: of fnabi, NumPy, torch and tvm_ffi. */
#include "lane/calls/dtype.h"

#include "lane/runtime/hooks.h"

static int read_parts(PyObject* value, lane_name parts, const char* format,
                      int* a, int* b, int* c) {
  PyObject* function = lane_get(parts);
  if (function == NULL) return -1;
  PyObject* tuple = PyObject_CallFunctionObjArgs(function, value, NULL);
  if (tuple == NULL) return -1;
  int good = PyArg_ParseTuple(tuple, format, a, b, c);
  Py_DECREF(tuple);
  return good ? 0 : -1;
}

int lane_dtype_ask(PyObject* value, fnabi_dl_dtype* out) {
  int code, bits, lanes;
  if (read_parts(value, LANE_DLPACK_DTYPE, "iii", &code, &bits, &lanes) < 0)
    return -1;
  *out = (fnabi_dl_dtype){(uint8_t)code, (uint8_t)bits, (uint16_t)lanes};
  return 0;
}

/* Arrays share their dtype objects, so each is converted once. The cache holds
 * a reference to each, so that no other object can get its address. The first
 * entry of a row is the newest. */
int lane_dtype(PyObject* dtype, fnabi_dl_dtype* out) {
  enum { ROWS = 64, ROW = 4 };
  typedef struct known_dtype {
    PyObject* object;
    fnabi_dl_dtype dtype;
  } known_dtype;
  static known_dtype known[ROWS][ROW];
  known_dtype* row = known[((uintptr_t)dtype >> 4) * 0x9E3779B1u / 64 % ROWS];
  for (size_t i = 0; i < ROW; i++) {
    if (row[i].object != dtype) continue;
    *out = row[i].dtype;
    return 0;
  }
  if (lane_dtype_ask(dtype, out) < 0) return -1;
  PyObject* last = row[ROW - 1].object;
  memmove(row + 1, row, (ROW - 1) * sizeof *row);
  Py_INCREF(dtype);
  row[0] = (known_dtype){dtype, *out};
  Py_XDECREF(last);
  return 0;
}

bool lane_pair(PyObject* tuple, int* first, int* second) {
  int* out[] = {first, second};
  if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != 2) return false;
  for (Py_ssize_t i = 0; i < 2; i++) {
    int overflow;
    long value = PyLong_AsLongAndOverflow(PyTuple_GetItem(tuple, i), &overflow);
    if (value == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      return false;
    }
    if (overflow != 0 || value < INT_MIN || value > INT_MAX) return false;
    *out[i] = (int)value;
  }
  return true;
}

int lane_device_ask(PyObject* value, fnabi_dl_device* out) {
  int type, id;
  if (read_parts(value, LANE_DLPACK_DEVICE, "ii", &type, &id, NULL) < 0)
    return -1;
  *out = (fnabi_dl_device){type, id};
  return 0;
}

int lane_device(PyObject* value, fnabi_dl_device* out) {
  static PyObject* name; /* interned */
  if (name == NULL) name = PyUnicode_InternFromString("__dlpack_device__");
  if (name == NULL) return -1;
  PyObject* pair = PyObject_CallMethodObjArgs(value, name, NULL);
  if (pair == NULL) return -1;
  int type, id;
  bool good = lane_pair(pair, &type, &id);
  Py_DECREF(pair);
  if (!good) return lane_device_ask(value, out); /* which says what is wrong */
  *out = (fnabi_dl_device){type, id};
  return 0;
}
