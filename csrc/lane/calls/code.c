/* Function objects for plain C functions, which have no object of their own. */
#include "lane/calls/code.h"

#include "lane/runtime/shutdown.h"

/* The function object of a symbol, which is called without a handle. */
typedef struct symbol {
  fnabi_function_object function;
  fnabi_call call;
  void* handle;
  PyObject* keep;
} symbol;

static void delete_symbol(void* self, int flags) {
  if (flags & FNABI_DELETER_STRONG) lane_drop(((symbol*)self)->keep);
  if (flags & FNABI_DELETER_WEAK) fnabi_object_free(self);
}

static int run_symbol(void* self, const fnabi_any* args, int32_t n,
                      fnabi_any* result) {
  return ((symbol*)self)->call(((symbol*)self)->handle, args, n, result);
}

fnabi_object* lane_code_symbol(fnabi_call call, void* handle, PyObject* keep) {
  symbol* made = (symbol*)fnabi_function_new(
      run_symbol, sizeof *made - sizeof made->function, delete_symbol);
  if (made == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  made->call = call;
  made->handle = handle;
  made->keep = Py_XNewRef(keep);
  return &made->function.object;
}

bool lane_code_is_symbol(const fnabi_object* object, fnabi_call* call,
                         void** handle, PyObject** keep) {
  const symbol* known = (const symbol*)object;
  if (known->function.call != run_symbol) return false;
  *call = known->call;
  *handle = known->handle;
  *keep = known->keep;
  return true;
}

/* A function with the packed C interface of MLIR: one array with the addresses
 * of the arguments and of the status. */
typedef struct packed {
  fnabi_function_object function;
  void (*call)(void** addresses);
  PyObject* keep;
} packed;

static void delete_packed(void* self, int flags) {
  if (flags & FNABI_DELETER_STRONG) lane_drop(((packed*)self)->keep);
  if (flags & FNABI_DELETER_WEAK) fnabi_object_free(self);
}

static int run_packed(void* self, const fnabi_any* args, int32_t n,
                      fnabi_any* result) {
  int status = 0;
  void* handle = NULL;
  void* addresses[] = {&handle, &args, &n, &result, &status};
  ((packed*)self)->call(addresses);
  return status;
}

fnabi_object* lane_code_packed(void* address, PyObject* keep) {
  packed* made = (packed*)fnabi_function_new(
      run_packed, sizeof *made - sizeof made->function, delete_packed);
  if (made == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  memcpy(&made->call, &address, sizeof made->call);
  made->keep = Py_XNewRef(keep);
  return &made->function.object;
}
