/* Functions of libtvm_ffi for libraries that import them where it is not
 * installed: those that compilers such as TVM's write into kernels.
 *
 * They are no symbols of any library that other code could find: the loader
 * gets their addresses for one library at a time (python/fnabi/calls/_stand_in.py), so
 * nothing clashes when libtvm_ffi is loaded later. From then on they work on its
 * errors, streams, allocators and global functions: each asks when it is called.
 *
 * All may be called on any thread, with or without the GIL. Their arguments come
 * from foreign code: pointers that may be NULL are checked, others are trusted.
 */
#include "lane/calls/context.h"
#include "lane/calls/dialect.h"
#include "lane/calls/error.h"
#include "lane/calls/function.h"
#include "lane/calls/init.h"
#include "lane/runtime/error_slot.h"
#include "lane/runtime/hooks.h"
#include "lane/runtime/loader.h"
#include "lane/runtime/parallel.h"
#include "lane/runtime/shutdown.h"
#include "lane/runtime/streams.h"
#include "lane/runtime/text.h"
#include "lane/runtime/threads.h"
#include "lane/runtime/tvm_ffi.h"

static int fail(const char* kind, const char* text) {
  lane_error_put_text(kind, &text, 1);
  return -1;
}

static int no_memory(void) { return fail("MemoryError", "out of memory"); }

/* ------------------------------------------------------------------- errors */

static void error_set(void* error) {
  lane_error_find();
  fnabi_error_object* old = lane_error_take();
  if (old != NULL) fnabi_object_release(old);
  if (error == NULL || ((fnabi_object*)error)->type_index != FNABI_INDEX_ERROR)
    return;
  fnabi_object_retain(error);
  lane_error_put(error);
}

static void error_set_parts(const char* kind, const char** parts,
                            int32_t count) {
  lane_error_put_text(kind, (const char* const*)parts, count);
}

static void error_set_text(const char* kind, const char* message) {
  lane_error_put_text(kind, &message, 1);
}

static void error_move(void** out) {
  lane_error_find();
  void* error = lane_error_take();
  if (out != NULL)
    *out = error;
  else if (error != NULL)
    fnabi_object_release(error);
}

static int error_create_caused(const fnabi_byte_array* kind,
                               const fnabi_byte_array* message,
                               const fnabi_byte_array* backtrace, void* cause,
                               void* context, void** out) {
  if (!lane_text_is_good(kind) || !lane_text_is_good(message) ||
      !lane_text_is_good(backtrace))
    return fail("ValueError", "a text of the error cannot be read");
  fnabi_error_object* error =
      fnabi_error_object_new(kind, message, backtrace, 0, NULL);
  if (error == NULL) return no_memory();
  if (cause != NULL) fnabi_object_retain(cause);
  if (context != NULL) fnabi_object_retain(context);
  error->cause = cause;
  error->context = context;
  *out = error;
  return 0;
}

static int error_create(const fnabi_byte_array* kind,
                        const fnabi_byte_array* message,
                        const fnabi_byte_array* backtrace, void** out) {
  return error_create_caused(kind, message, backtrace, NULL, NULL, out);
}

/* --------------------------------------------------------- values, objects */

static int object_retain(void* object) {
  if (object != NULL) fnabi_object_retain(object);
  return 0;
}

static int object_release(void* object) {
  if (object != NULL) fnabi_object_release(object);
  return 0;
}

static int any_own(const fnabi_any* view, fnabi_any* out) {
  fnabi_code code = fnabi_any_own(view, out);
  if (code == FNABI_OK) return 0;
  return code == FNABI_MEMORY
             ? no_memory()
             : fail("TypeError", "the value cannot be kept after the call");
}

static int string_create(const fnabi_byte_array* text, fnabi_any* out) {
  if (!lane_text_is_good(text))
    return fail("ValueError", "the text cannot be read");
  return fnabi_string_new(text->data, text->size, out) ? 0 : no_memory();
}

static int bytes_create(const fnabi_byte_array* text, fnabi_any* out) {
  if (!lane_text_is_good(text))
    return fail("ValueError", "the bytes cannot be read");
  return fnabi_bytes_new(text->data, text->size, out) ? 0 : no_memory();
}

/* ---------------------------------------------------------------- functions */

static int function_call(void* object, const fnabi_any* args, int32_t n,
                         fnabi_any* result) {
  fnabi_function_object* function = object;
  if (function == NULL || function->object.type_index != FNABI_INDEX_FUNCTION ||
      function->call == NULL)
    return fail("TypeError", "the object that is called is no ffi.Function");
  return function->call(function, args, n, result);
}

typedef struct made_function {
  fnabi_function_object function;
  void* self;
  fnabi_call call;
  void (*deleter)(void* self); /* or NULL */
} made_function;

static int run_made(void* object, const fnabi_any* args, int32_t n,
                    fnabi_any* result) {
  made_function* made = object;
  return made->call(made->self, args, n, result);
}

static void delete_made(void* object, int flags) {
  made_function* made = object;
  if ((flags & FNABI_DELETER_STRONG) && made->deleter != NULL)
    made->deleter(made->self);
  if (flags & FNABI_DELETER_WEAK) fnabi_object_free(object);
}

static int function_create(void* self, fnabi_call call,
                           void (*deleter)(void* self), void** out) {
  made_function* made = (made_function*)fnabi_function_new(
      run_made, sizeof *made - sizeof made->function, delete_made);
  if (made == NULL) return no_memory();
  made->self = self;
  made->call = call;
  made->deleter = deleter;
  *out = made;
  return 0;
}

static PyObject* text_of(const fnabi_byte_array* text) {
  return PyUnicode_DecodeUTF8(text->size != 0 ? text->data : "",
                              (Py_ssize_t)text->size, "surrogateescape");
}

/* Gets a global function from the registry that Python uses: fnabi's own, or
 * that of libtvm_ffi. *out is NULL if there is none of the name. With `keep`,
 * Python holds the function for ever, and *out is borrowed. */
static int find_function(const fnabi_byte_array* name, bool keep, void** out) {
  *out = NULL;
  if (!lane_text_is_good(name))
    return fail("ValueError", "the name of the function cannot be read");
  if (lane_finished)
    return fail("RuntimeError", "the Python interpreter is shutting down");
  PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *type, *problem, *traceback;
  PyErr_Fetch(&type, &problem, &traceback);
  PyObject* find = lane_get(keep ? LANE_PIN_FUNCTION : LANE_FIND_FUNCTION);
  PyObject* text = text_of(name);
  PyObject* found = find != NULL && text != NULL
                        ? PyObject_CallFunctionObjArgs(find, text, NULL)
                        : NULL;
  fnabi_object* object = NULL;
  if (found != NULL && found != Py_None) object = lane_function_object(found);
  int status = PyErr_Occurred() != NULL ? -1 : 0;
  if (status < 0) Py_XDECREF(lane_error_report());
  if (object != NULL && !keep) fnabi_object_retain(object);
  *out = object;
  Py_XDECREF(found);
  Py_XDECREF(text);
  PyErr_Restore(type, problem, traceback);
  PyGILState_Release(gil);
  return status;
}

static int function_get_global(const fnabi_byte_array* name, void** out) {
  return find_function(name, false, out);
}

/* Registers a function where Python finds it. The texts may be NULL. */
static int register_function(const fnabi_byte_array* name, void* function,
                             const fnabi_byte_array* metadata, int override) {
  const fnabi_byte_array none = {"", 0};
  if (metadata == NULL) metadata = &none;
  if (name == NULL || !lane_text_is_good(name) || !lane_text_is_good(metadata))
    return fail("ValueError", "the name of the function cannot be read");
  if (function == NULL ||
      ((fnabi_object*)function)->type_index != FNABI_INDEX_FUNCTION)
    return fail("TypeError", "the object to register is no ffi.Function");
  if (lane_finished)
    return fail("RuntimeError", "the Python interpreter is shutting down");
  PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *type, *problem, *traceback;
  PyErr_Fetch(&type, &problem, &traceback);
  const lane_dialect* outer = lane_current_dialect;
  lane_current_dialect = NULL;
  fnabi_object_retain(function);
  PyObject *accept = lane_get(LANE_ACCEPT_FUNCTION),
           *object = lane_function_of_object(function);
  PyObject* done =
      accept != NULL && object != NULL
          ? PyObject_CallFunction(accept, "NOiN", text_of(name), object,
                                  override, text_of(metadata))
          : NULL;
  int status = done != NULL ? 0 : -1;
  if (status < 0) Py_XDECREF(lane_error_report());
  Py_XDECREF(done);
  Py_XDECREF(object);
  lane_current_dialect = outer;
  PyErr_Restore(type, problem, traceback);
  PyGILState_Release(gil);
  return status;
}

static int function_set_global(const fnabi_byte_array* name, void* function,
                               int override) {
  return register_function(name, function, NULL, override);
}

static int function_set_described(const fnabi_method_info* info, int override) {
  if (info == NULL) return fail("ValueError", "the function is not described");
  bool is_object = fnabi_any_is_object(&info->method);
  return register_function(&info->name,
                           is_object ? info->method.v_object : NULL,
                           &info->metadata, override);
}

/* A library that was loaded before libtvm_ffi has no module object: `context` is
 * then NULL, and there are no imports to search. */
static int module_look_up(void* context, const char* name, void** out) {
  if (context != NULL) {
    void* library = lane_loader_find(LANE_LIBRARY("tvm_ffi"));
    void* found =
        library == NULL
            ? NULL
            : lane_loader_symbol(library, "TVMFFIEnvModLookupFromImports");
    int (*look_up)(void*, const char*, void**);
    if (library != NULL)
      lane_loader_close(library); /* it stays, as it is in use */
    if (found != NULL) {
      memcpy(&look_up, &found, sizeof look_up);
      return look_up(context, name, out);
    }
  }
  const fnabi_byte_array text = {name, name != NULL ? strlen(name) : 0};
  if (find_function(&text, true, out) != 0) return -1;
  if (*out != NULL) return 0;
  const char* const parts[] = {"the library calls the global function ", name,
                               ", which is not registered"};
  lane_error_put_text("ValueError", parts, 3);
  return -1;
}

/* ------------------------------------------------------------------ handles */

static lane_mutex handles = LANE_MUTEX;

/* Whoever has the lock may wait for the GIL; so a thread that waits for the lock
 * must not hold it. */
static void lock_handles(void) {
  if (lane_mutex_try(&handles)) return;
  if (lane_finished) {
    lane_mutex_lock(&handles);
    return;
  }
  PyGILState_STATE gil = PyGILState_Ensure();
  PyThreadState* state = PyEval_SaveThread();
  lane_mutex_lock(&handles);
  PyEval_RestoreThread(state);
  PyGILState_Release(gil);
}

static FNABI_FAST_THREAD int
    handles_held; /* one function may need another handle */

static void enter_handles(void) {
  if (handles_held++ == 0) lock_handles();
}

static void leave_handles(void) {
  if (--handles_held == 0) lane_mutex_unlock(&handles);
}

static int handle_init(void** handle, int (*init)(void** result)) {
  if (fnabi_atomic_load(handle, ACQUIRE) != NULL) return 0;
  int status = 0;
  enter_handles();
  if (fnabi_atomic_load(handle, RELAXED) == NULL) {
    void* made = NULL;
    status = init(&made);
    if (status == 0) fnabi_atomic_store(handle, made, RELEASE);
  }
  leave_handles();
  return status;
}

static int handle_deinit(void** handle, int (*deinit)(void* handle)) {
  int status = 0;
  enter_handles();
  void* old = fnabi_atomic_exchange(handle, NULL, ACQ_REL);
  if (old != NULL) status = deinit(old);
  leave_handles();
  return status;
}

/* ------------------------------------------------------------------ tensors */

/* Gives a tensor that was made from DLPack, or its error. */
static int give(fnabi_held_tensor* held, const char* problem, int32_t alignment,
                int32_t contiguous, void** out) {
  *out = NULL;
  if (held == NULL)
    return problem != NULL ? fail("ValueError", problem) : no_memory();
  const fnabi_dl_tensor* tensor = &held->tensor.tensor;
  if (alignment > 0 && (uintptr_t)fnabi_dl_data(tensor) % (uintptr_t)alignment)
    problem = "the memory of the tensor is not aligned";
  else if (contiguous && !fnabi_dl_compact(tensor, 'C'))
    problem = "the tensor is not contiguous";
  else
    *out = held;
  if (*out != NULL) return 0;
  fnabi_object_release(held);
  return fail("ValueError", problem);
}

static int tensor_of_managed(fnabi_dl_managed* from, int32_t alignment,
                             int32_t contiguous, void** out) {
  const char* problem = NULL;
  return give(fnabi_tensor_of_managed(from, &problem), problem, alignment,
              contiguous, out);
}

static int tensor_of_versioned(fnabi_dl_versioned* from, int32_t alignment,
                               int32_t contiguous, void** out) {
  const char* problem = NULL;
  return give(fnabi_tensor_of_versioned(from, &problem), problem, alignment,
              contiguous, out);
}

static bool is_tensor(const fnabi_tensor_object* from) {
  return from != NULL && from->object.type_index == FNABI_INDEX_TENSOR &&
         fnabi_dl_problem(&from->tensor) == NULL;
}

static int tensor_to_managed(void* from, fnabi_dl_managed** out) {
  if (!is_tensor(from)) return fail("TypeError", "expected ffi.Tensor");
  *out = fnabi_tensor_to_managed(from);
  return *out != NULL ? 0 : no_memory();
}

static int tensor_to_versioned(void* from, fnabi_dl_versioned** out) {
  if (!is_tensor(from)) return fail("TypeError", "expected ffi.Tensor");
  const fnabi_held_tensor* held = fnabi_tensor_held(from);
  *out = fnabi_tensor_to_versioned(
      from, held != NULL ? held->flags & FNABI_DL_READ_ONLY : 0);
  return *out != NULL ? 0 : no_memory();
}

/* -------------------------------------------------------------- environment */

static int stream_set(int32_t type, int32_t id, void* stream, void** old) {
  lane_error_find();
  return lane_stream_set(type, id, stream, old);
}

static void* stream_get(int32_t type, int32_t id) {
  lane_error_find();
  return lane_stream_get(type, id);
}

static int allocator_set(fnabi_dl_allocate* to, int global,
                         fnabi_dl_allocate** old) {
  lane_error_find();
  return lane_allocator_set(to, global, old);
}

static fnabi_dl_allocate* allocator_get(void) {
  lane_error_find();
  return lane_allocator_get();
}

static int tensor_allocate(fnabi_dl_tensor* like, void** out) {
  lane_error_find();
  return lane_tensor_allocate(like, out);
}

/* Returns -1 with a Python exception set, as libtvm_ffi does. */
static int check_signals(void) {
  if (lane_finished) return 0;
  PyGILState_STATE gil = PyGILState_Ensure();
  int status = PyErr_CheckSignals();
  PyGILState_Release(gil);
  return status;
}

/* ---------------------------------------------------------------- the table */

typedef void (*any_function)(void);

static const struct {
  const char* name;
  any_function function;
} symbols[] = {
#define SYMBOL(name, function) {name, (any_function)function}
    SYMBOL("TVMFFIErrorSetRaised", error_set),
    SYMBOL("TVMFFIErrorSetRaisedFromCStr", error_set_text),
    SYMBOL("TVMFFIErrorSetRaisedFromCStrParts", error_set_parts),
    SYMBOL("TVMFFIErrorMoveFromRaised", error_move),
    SYMBOL("TVMFFIErrorCreate", error_create),
    SYMBOL("TVMFFIErrorCreateWithCauseAndExtraContext", error_create_caused),
    SYMBOL("TVMFFIObjectIncRef", object_retain),
    SYMBOL("TVMFFIObjectDecRef", object_release),
    SYMBOL("TVMFFIAnyViewToOwnedAny", any_own),
    SYMBOL("TVMFFIStringFromByteArray", string_create),
    SYMBOL("TVMFFIBytesFromByteArray", bytes_create),
    SYMBOL("TVMFFIFunctionCall", function_call),
    SYMBOL("TVMFFIFunctionCreate", function_create),
    SYMBOL("TVMFFIFunctionGetGlobal", function_get_global),
    SYMBOL("TVMFFIFunctionSetGlobal", function_set_global),
    SYMBOL("TVMFFIFunctionSetGlobalFromMethodInfo", function_set_described),
    SYMBOL("TVMFFIEnvModLookupFromImports", module_look_up),
    SYMBOL("TVMFFIHandleInitOnce", handle_init),
    SYMBOL("TVMFFIHandleDeinitOnce", handle_deinit),
    SYMBOL("TVMFFITensorFromDLPack", tensor_of_managed),
    SYMBOL("TVMFFITensorFromDLPackVersioned", tensor_of_versioned),
    SYMBOL("TVMFFITensorToDLPack", tensor_to_managed),
    SYMBOL("TVMFFITensorToDLPackVersioned", tensor_to_versioned),
    SYMBOL("TVMFFIEnvSetStream", stream_set),
    SYMBOL("TVMFFIEnvGetStream", stream_get),
    SYMBOL("TVMFFIEnvSetDLPackManagedTensorAllocator", allocator_set),
    SYMBOL("TVMFFIEnvGetDLPackManagedTensorAllocator", allocator_get),
    SYMBOL("TVMFFIEnvTensorAlloc", tensor_allocate),
    SYMBOL("TVMFFIEnvCheckSignals", check_signals),
    SYMBOL("TVMBackendAllocWorkspace", lane_workspace_allocate),
    SYMBOL("TVMBackendFreeWorkspace", lane_workspace_free),
    SYMBOL("TVMBackendParallelLaunch", lane_parallel_launch),
    SYMBOL("TVMBackendParallelBarrier", lane_parallel_barrier),
#undef SYMBOL
};
enum { SYMBOLS = sizeof symbols / sizeof *symbols };

static PyObject* stand_in_symbols(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  PyObject* all = PyDict_New();
  for (size_t i = 0; all != NULL && i < SYMBOLS; i++) {
    void* address;
    memcpy(&address, &symbols[i].function, sizeof address);
    PyObject* number = PyLong_FromVoidPtr(address);
    if (number == NULL ||
        PyDict_SetItemString(all, symbols[i].name, number) < 0)
      Py_CLEAR(all);
    Py_XDECREF(number);
  }
  return all;
}

/* ---------------------------------------------------------------- variables */

/* Kernels of TVM also call these functions through variables of their own,
 * "__" and the name, which their loader sets: a call through one that is not
 * set ends the process. */

static PyObject* stand_in_fill(PyObject* module, PyObject* number) {
  static const char* const libraries[] = {LANE_LIBRARY("tvm_ffi"),
                                          LANE_LIBRARY("tvm_runtime")};
  void *handle = PyLong_AsVoidPtr(number), *loaded[2];
  (void)module;
  if (handle == NULL && PyErr_Occurred()) return NULL;
  for (int i = 0; i < 2; i++) loaded[i] = lane_loader_find(libraries[i]);
  long count = 0;
  for (size_t i = 0; i < SYMBOLS; i++) {
    char name[64] = "__";
    strncat(name, symbols[i].name, sizeof name - 3);
    void *variable = lane_loader_symbol(handle, name), *function = NULL;
    if (variable == NULL || !lane_loader_is_variable(variable) ||
        *(void**)variable != NULL)
      continue;
    for (int k = 0; k < 2 && function == NULL; k++)
      if (loaded[k] != NULL)
        function = lane_loader_symbol(loaded[k], symbols[i].name);
    if (function == NULL)
      memcpy(&function, &symbols[i].function, sizeof function);
    fnabi_atomic_store((void**)variable, function, RELEASE);
    count++;
  }
  for (int i = 0; i < 2; i++)
    if (loaded[i] != NULL)
      lane_loader_close(loaded[i]); /* they stay, as before */
  return PyLong_FromLong(count);
}

static PyMethodDef stand_in_methods[] = {
    {"stand_in_symbols", stand_in_symbols, METH_NOARGS,
     "stand_in_symbols()\n--\n\n"
     "Return the addresses of the functions that replace those of "
     "libtvm_ffi, by name."},
    {"stand_in_fill", stand_in_fill, METH_O,
     "stand_in_fill(handle, /)\n--\n\n"
     "Set the variables through which a library calls such functions, where "
     "they are not set:\nto those of libtvm_ffi and libtvm_runtime if they are "
     "loaded. Return how many it set."},
    {0}};

int lane_stand_in_init(PyObject* module) {
  return PyModule_AddFunctions(module, stand_in_methods);
}
