/* tensor_import.h - tensors over the memory of arrays. Private. */
#ifndef FNABI_LANE_CALLS_TENSOR_IMPORT_H
#define FNABI_LANE_CALLS_TENSOR_IMPORT_H

#include "lane/calls/types.h"

/* What is decided once for all the arguments of a call, while they are
 * converted. */
typedef struct lane_arguments {
  bool read_only; /* read-only memory is accepted */
  /* the exchange API of the last argument that is a tensor with one, or NULL */
  const struct fnabi_dl_exchange* exchange;
  /* the same of the first tensor that is not in memory of the CPU, and its
   * device */
  const struct fnabi_dl_exchange* device_exchange;
  fnabi_dl_device device;
} lane_arguments;
/* Those of the call whose arguments are being converted on this thread, or
 * NULL. */
extern FNABI_FAST_THREAD lane_arguments* lane_converting;

/* A tensor over the memory of an array, which it keeps alive: an array of
 * NumPy, one with the exchange API or `__dlpack__`, one with a buffer. */
int lane_tensor_of_numpy(PyObject* array, fnabi_any* out);
int lane_tensor_of_exchange(PyObject* array, fnabi_any* out);
int lane_tensor_of_dlpack(PyObject* array, fnabi_any* out);
int lane_tensor_of_buffer(PyObject* array, fnabi_any* out);
/* Frees a tensor over an array when it has no other reference, at less cost
 * than its deleter. Returns false when it is no such tensor; then it has done
 * nothing. */
bool lane_tensor_dispose(fnabi_object* object);
/* The exchange API of a type, borrowed, or NULL, with an exception only if
 * memory runs out. */
const struct fnabi_dl_exchange* lane_exchange_of(PyTypeObject* type);
/* Remembers that an argument of the call is a container whose tensors Python
 * gets as those of a framework. */
void lane_note_container(PyObject* container);
/* Returns a tensor as one of the framework of lane_exchange. Takes ownership of
 * a reference, also on failure. */
PyObject* lane_tensor_into_framework(fnabi_object* object);

/* Returns 0 if read-only memory is accepted; otherwise raises CallError and
 * returns -1. */
int lane_tensor_check_writable(bool read_only);
/* Raises CallError for a tensor that cannot be read; without a `problem`
 * MemoryError. Returns -1. */
int lane_tensor_refuse(const char* problem);

#endif /* FNABI_LANE_CALLS_TENSOR_IMPORT_H */
