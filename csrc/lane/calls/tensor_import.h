/* tensor_import.h - tensors over the memory of arrays. Private. */
#ifndef FNABI_LANE_CALLS_TENSOR_IMPORT_H
#define FNABI_LANE_CALLS_TENSOR_IMPORT_H

#include "lane/calls/types.h"

/* What is decided once for all the arguments of a call, while they are
 * converted. */
typedef struct lane_arguments {
  bool read_only; /* memory that must not be written to is let through */
  /* of the last argument that is a tensor with an exchange API, or NULL */
  const struct fnabi_dl_exchange* exchange;
  /* the same of the first one that is not the CPU's, and its device */
  const struct fnabi_dl_exchange* device_exchange;
  fnabi_dl_device device;
} lane_arguments;
/* Those of the call whose arguments are converted on this thread, or NULL. */
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
/* Remembers for the call whose arguments are converted that a container is among
 * them whose tensors come as those of a framework. */
void lane_note_container(PyObject* container);
/* A tensor as the framework of lane_exchange has it. Takes a reference over,
 * also on failure. */
PyObject* lane_tensor_into_framework(fnabi_object* object);

/* Raises CallError unless read-only memory is let through; returns -1 then. */
int lane_tensor_check_writable(bool read_only);
/* Raises CallError for a tensor that cannot be read; without a `problem`
 * MemoryError. Returns -1. */
int lane_tensor_refuse(const char* problem);

#endif /* FNABI_LANE_CALLS_TENSOR_IMPORT_H */
