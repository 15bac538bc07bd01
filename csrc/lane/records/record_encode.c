/* Encoders of the core, from a Python value to its text in one call.
 *
 * msgspec writes the message, and the core the text from it. Each method returns
 * None where the plain equivalent has to answer: it makes the errors. */
#include "lane/records/init.h"
/* after Python.h, which settles what the system headers offer */
#include "fnabi.h"
#include "lane/runtime/interrupt.h"

#define TEXT_SIZE 1024         /* bytes of a text that needs no second call */
#define MESSAGE_KEPT (1 << 20) /* bytes of memory kept for the next message */

typedef struct encoder {
  PyObject_HEAD PyObject* write; /* encode_into of an encoder of msgspec */
  PyObject* message; /* a bytearray; NULL while a call uses it, or at first */
} encoder;

typedef int64_t encode(const uint8_t* message, size_t size, uint8_t* out,
                       size_t capacity, fnabi_error* error);

/* The bytearray with the message of a value; NULL, maybe with an exception, when
 * there is none. */
static PyObject* message_of(encoder* self, PyObject* value) {
  PyObject* message = self->message;
  self->message = NULL; /* a finalizer may encode another value meanwhile */
  if (message == NULL) message = PyByteArray_FromStringAndSize(NULL, 0);
  PyObject* written = message != NULL ? PyObject_CallFunctionObjArgs(
                                            self->write, value, message, NULL)
                                      : NULL;
  Py_XDECREF(written);
  if (written != NULL) return message;
  lane_clear();
  Py_XDECREF(message);
  return NULL;
}

static void give_back(encoder* self, PyObject* message) {
  if (self->message == NULL && PyByteArray_Size(message) <= MESSAGE_KEPT)
    self->message = message;
  else
    Py_DECREF(message);
}

/* The text of a message; NULL, maybe with an exception, when there is none. */
static PyObject* text_of(PyObject* message, encode* write) {
  uint8_t text[TEXT_SIZE];
  fnabi_error error;
  const uint8_t* bytes = (const uint8_t*)PyByteArray_AsString(message);
  size_t count = (size_t)PyByteArray_Size(message);
  int64_t size = write(bytes, count, text, sizeof text, &error);
  PyObject* result = NULL;
  if (size >= 0) {
    bool fits = (size_t)size <= sizeof text;
    result = PyBytes_FromStringAndSize(fits ? (const char*)text : NULL,
                                       (Py_ssize_t)size);
    if (result == NULL || fits) return result;
    uint8_t* out = (uint8_t*)PyBytes_AsString(result);
    size = write(bytes, count, out, (size_t)size, &error);
  }
  if (size >= 0) return result;
  if (error.code == FNABI_INTERRUPTED) lane_interrupted();
  Py_XDECREF(result);
  return NULL;
}

static PyObject* encoded(encoder* self, PyObject* value, encode* write) {
  PyObject* result = NULL;
  PyObject* message = message_of(self, value);
  if (message != NULL) {
    result = text_of(message, write);
    give_back(self, message);
  }
  if (result != NULL || PyErr_Occurred() != NULL) return result;
  Py_RETURN_NONE;
}

static PyObject* encoder_raw(encoder* self, PyObject* value) {
  return encoded(self, value, fnabi_raw_encode);
}

static PyObject* encoder_sip(encoder* self, PyObject* value) {
  return encoded(self, value, fnabi_sip_encode);
}

static PyObject* encoder_iree_abi(encoder* self, PyObject* value) {
  return encoded(self, value, fnabi_iree_abi_encode);
}

static PyObject* encoder_cconv(encoder* self, PyObject* value) {
  return encoded(self, value, fnabi_cconv_encode);
}

static PyObject* encoder_new(PyTypeObject* type, PyObject* args,
                             PyObject* kwargs) {
  PyObject* write;
  if (kwargs != NULL && PyDict_Size(kwargs) != 0) {
    PyErr_SetString(PyExc_TypeError,
                    "RecordEncoder() takes no keyword arguments");
    return NULL;
  }
  if (!PyArg_ParseTuple(args, "O", &write)) return NULL;
  encoder* self = (encoder*)PyType_GenericAlloc(type, 0);
  if (self != NULL) self->write = Py_NewRef(write);
  return (PyObject*)self;
}

static int encoder_traverse(encoder* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE((PyObject*)self));
  Py_VISIT(self->write);
  Py_VISIT(self->message);
  return 0;
}

static int encoder_clear(encoder* self) {
  Py_CLEAR(self->write);
  Py_CLEAR(self->message);
  return 0;
}

static void encoder_dealloc(encoder* self) {
  PyTypeObject* type = Py_TYPE((PyObject*)self);
  PyObject_GC_UnTrack(self);
  encoder_clear(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

#define METHOD(name) {#name, (PyCFunction)encoder_##name, METH_O, NULL}
static PyMethodDef methods[] = {METHOD(raw),
                                METHOD(sip),
                                METHOD(iree_abi),
                                METHOD(cconv),
                                {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_new, encoder_new},           {Py_tp_dealloc, encoder_dealloc},
    {Py_tp_traverse, encoder_traverse}, {Py_tp_clear, encoder_clear},
    {Py_tp_methods, methods},           {0, NULL}};

static PyType_Spec spec = {
    .name = "fnabi._base.lane.RecordEncoder",
    .basicsize = sizeof(encoder),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};

int lane_record_encode_init(PyObject* module) {
  return lane_add_type(module, &spec, NULL) ? 0 : -1;
}
