#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT */
#endif
#include <dlfcn.h>

#include "lane/lane.h"
/* after Python.h, which settles what the system headers offer */
#include "value/tensor.h"

/* What libtvm_ffi keeps for each thread: the current stream of each device, and
 * the allocator of TVMFFIEnvTensorAlloc. Both are set for the time of a call,
 * and set back afterwards, however it ends. */

typedef int (*set_stream)(int32_t type, int32_t id, void* stream, void** old);
typedef int (*set_allocator)(fnabi_dl_allocate* allocate, int global,
                             fnabi_dl_allocate** old);
typedef fnabi_dl_allocate* (*get_allocator)(void);

static struct {
  set_stream stream;
  set_allocator allocator;
} runtime;

LANE_THREAD lane_arguments* lane_converting;
LANE_THREAD const struct fnabi_dl_exchange* lane_exchange;
LANE_THREAD lane_choice lane_chosen;

/* The allocator where no other is set: memory of the CPU. May run on any thread
 * without the GIL. */
static int allocate(fnabi_dl_tensor* like, fnabi_dl_versioned** out,
                    void* context,
                    void (*fail)(void* context, const char* kind,
                                 const char* message)) {
  const char* problem = NULL;
  fnabi_held_tensor* held = fnabi_tensor_allocate(like, &problem);
  *out = held != NULL ? fnabi_tensor_to_versioned(&held->tensor, 0) : NULL;
  if (held != NULL) fnabi_object_release(held);
  if (*out != NULL) return 0;
  fail(context, problem != NULL ? "RuntimeError" : "MemoryError",
       problem != NULL ? problem : "out of memory");
  return -1;
}

void lane_environment_find(void* library) {
  void *stream = dlsym(library, "TVMFFIEnvSetStream"),
       *set = dlsym(library, "TVMFFIEnvSetDLPackManagedTensorAllocator"),
       *get = dlsym(library, "TVMFFIEnvGetDLPackManagedTensorAllocator");
  if (stream == NULL || set == NULL || get == NULL) return;
  memcpy(&runtime.stream, &stream, sizeof stream);
  memcpy(&runtime.allocator, &set, sizeof set);
  get_allocator current;
  memcpy(&current, &get, sizeof get);
  if (current() == NULL) runtime.allocator(allocate, 1, NULL);
}

int lane_environment_enter(const lane_arguments* arguments,
                           lane_environment* environment) {
  const fnabi_dl_exchange *of = arguments->exchange,
                          *device_of = arguments->device_exchange;
  *environment = (lane_environment){0};
  if (lane_chosen.made) of = lane_chosen.exchange;
  if (device_of != NULL && device_of->stream_of != NULL &&
      runtime.stream != NULL && arguments->device.type >= 0 &&
      arguments->device.id >= 0) {
    void* stream = NULL;
    environment->device = arguments->device;
    if (device_of->stream_of(environment->device.type, environment->device.id,
                             &stream) != 0) {
      if (!PyErr_Occurred())
        lane_call_error("the exchange API did not say which stream is current");
      return -1;
    }
    environment->has_stream =
        runtime.stream(environment->device.type, environment->device.id, stream,
                       &environment->stream) == 0;
  }
  if (of != NULL && of->allocate != NULL && runtime.allocator != NULL)
    environment->has_allocator =
        runtime.allocator(of->allocate, 0, &environment->allocator) == 0;
  environment->exchange = lane_exchange;
  lane_exchange = of != NULL && of->object_of != NULL ? of : NULL;
  return 0;
}

void lane_environment_leave(const lane_environment* environment) {
  if (environment->has_stream)
    runtime.stream(environment->device.type, environment->device.id,
                   environment->stream, NULL);
  if (environment->has_allocator)
    runtime.allocator(environment->allocator, 0, NULL);
  lane_exchange = environment->exchange;
}

/* ------------------------------------------------------------ set by Python */

static PyObject* environment_stream(PyObject* module, PyObject* args) {
  int type, id;
  PyObject* number;
  (void)module;
  if (!PyArg_ParseTuple(args, "iiO:set_stream", &type, &id, &number))
    return NULL;
  void* stream = PyLong_AsVoidPtr(number);
  if (stream == NULL && PyErr_Occurred()) return NULL;
  void* old = NULL;
  lane_error_find();
  if (runtime.stream == NULL || type < 0 || id < 0) Py_RETURN_NONE;
  if (runtime.stream(type, id, stream, &old) != 0) {
    lane_error_raise(NULL, -1);
    return NULL;
  }
  return PyLong_FromVoidPtr(old);
}

static PyObject* environment_tensors(PyObject* module, PyObject* choice) {
  (void)module;
  lane_choice old = lane_chosen, new = {true, NULL};
  if (PyTuple_Check(choice)) { /* what an earlier call has returned */
    int made;
    PyObject* number;
    if (!PyArg_ParseTuple(choice, "pO", &made, &number)) return NULL;
    new.made = made != 0;
    new.exchange = PyLong_AsVoidPtr(number);
    if (PyErr_Occurred()) return NULL;
  } else if (choice != (PyObject*)lane.tensor) {
    new.exchange =
        PyType_Check(choice) ? lane_exchange_of((PyTypeObject*)choice) : NULL;
    if (new.exchange == NULL || new.exchange->object_of == NULL) {
      lane_call_error(
          "use_tensors: type: expected fnabi.Tensor or a type with a DLPack "
          "exchange API, got %R",
          choice);
      return NULL;
    }
  }
  lane_chosen = new;
  return Py_BuildValue("(iN)", (int)old.made,
                       PyLong_FromVoidPtr((void*)old.exchange));
}

static PyMethodDef environment_methods[] = {
    {"set_stream", environment_stream, METH_VARARGS,
     "set_stream(type, id, stream, /)\n--\n\n"
     "Set the current stream of a device for this thread, and return the "
     "former one;\nNone if libtvm_ffi is not loaded."},
    {"set_tensors", environment_tensors, METH_O,
     "set_tensors(type, /)\n--\n\n"
     "Choose the type of tensors for this thread, and return the former "
     "choice."},
    {0}};

int lane_environment_init(PyObject* module) {
  return PyModule_AddFunctions(module, environment_methods);
}
