/* The fast path of the signature builder: appends valid components to its
 * bytearray in place. The plain path handles the others and raises errors. */
#include "lane/records/init.h"
/* after Python.h, which settles what the system headers offer */
#include "abi/signature.h"

#define INTEGER_MAX 12 /* bytes: the tag, a sign and ten digits */
#define SPAN_HEAD 12   /* the tag, ten digits and the '!' */

/* The tag of one byte; -1 for another object. */
static int32_t tag_of(PyObject* object) {
  Py_ssize_t size;
  if (!PyUnicode_Check(object)) return -1;
  const char* text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text == NULL) PyErr_Clear(); /* a surrogate */
  return text != NULL && size == 1 ? (uint8_t)*text : -1;
}

/* The bytes of an immutable text that needs no copy. */
static bool contents_of(PyObject* object, const char** data, size_t* size) {
  Py_ssize_t count;
  if (PyBytes_Check(object)) {
    *data = PyBytes_AsString(object);
    count = PyBytes_Size(object);
  } else if (PyUnicode_Check(object)) {
    *data = PyUnicode_AsUTF8AndSize(object, &count);
    if (*data == NULL) PyErr_Clear(); /* a surrogate */
  } else {
    return false;
  }
  *size = (size_t)count;
  return *data != NULL;
}

/* Adds a capacity of `most` bytes at the end; NULL when out of memory. */
static uint8_t* reserve(PyObject* encoded, Py_ssize_t* size, size_t most) {
  *size = PyByteArray_Size(encoded);
  if (most > (size_t)(PY_SSIZE_T_MAX - *size)) {
    PyErr_NoMemory();
    return NULL;
  }
  if (PyByteArray_Resize(encoded, *size + (Py_ssize_t)most) < 0) return NULL;
  return (uint8_t*)PyByteArray_AsString(encoded) + *size;
}

/* Keeps `written` bytes, or none if it is negative. */
static PyObject* leave(PyObject* encoded, Py_ssize_t size, int64_t written) {
  bool good = written >= 0;
  if (PyByteArray_Resize(encoded, size + (good ? (Py_ssize_t)written : 0)) < 0)
    return NULL;
  return PyBool_FromLong(good);
}

static bool are_three(PyObject* const* args, Py_ssize_t count) {
  if (count == 3 && PyByteArray_Check(args[0])) return true;
  PyErr_SetString(PyExc_TypeError, "expected a bytearray and two arguments");
  return false;
}

static PyObject* signature_integer(PyObject* module, PyObject* const* args,
                                   Py_ssize_t count) {
  (void)module;
  if (!are_three(args, count)) return NULL;
  int overflow;
  int32_t tag = tag_of(args[2]);
  if (tag < 0 || !PyLong_Check(args[1])) Py_RETURN_FALSE;
  long long value = PyLong_AsLongLongAndOverflow(args[1], &overflow);
  if (overflow != 0 || value < INT32_MIN || value > INT32_MAX) Py_RETURN_FALSE;
  Py_ssize_t size;
  fnabi_error error;
  uint8_t* out = reserve(args[0], &size, INTEGER_MAX);
  if (out == NULL) return NULL;
  return leave(
      args[0], size,
      fnabi_signature_integer((int32_t)value, tag, out, INTEGER_MAX, &error));
}

static PyObject* signature_span(PyObject* module, PyObject* const* args,
                                Py_ssize_t count) {
  (void)module;
  if (!are_three(args, count)) return NULL;
  const char* data;
  size_t data_size;
  int32_t tag = tag_of(args[2]);
  if (tag < 0 || !contents_of(args[1], &data, &data_size) ||
      data_size >= INT32_MAX)
    Py_RETURN_FALSE;
  Py_ssize_t size;
  fnabi_error error;
  size_t most = SPAN_HEAD + data_size;
  uint8_t* out = reserve(args[0], &size, most);
  if (out == NULL) return NULL;
  return leave(args[0], size,
               fnabi_signature_span(data, data_size, tag, out, most, &error));
}

/* The cast goes through void (*)(void), because METH_FASTCALL functions have
 * another type than PyCFunction. */
#define FUNCTION(name, text) \
  {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, #name text}
static PyMethodDef functions[] = {
    FUNCTION(
        signature_integer,
        "(encoded, value, tag, /)\n--\n\n"
        "Append an integer to a bytearray. Return False if it is invalid.\n"),
    FUNCTION(signature_span,
             "(encoded, contents, tag, /)\n--\n\n"
             "Append a span to a bytearray. Return False if it is invalid, or "
             "its contents are\nneither bytes nor a str without surrogates.\n"),
    {NULL, NULL, 0, NULL}};

int lane_signature_init(PyObject* module) {
  return PyModule_AddFunctions(module, functions);
}
