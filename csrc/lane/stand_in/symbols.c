/* The table of the functions, by the names under which libraries import them,
 * and its use from Python. */
#include "lane/calls/error.h"
#include "lane/calls/function.h"
#include "lane/calls/wrap.h"
#include "lane/runtime/both_tables.h"
#include "lane/runtime/call_error.h"
#include "lane/runtime/loader.h"
#include "lane/runtime/made_function.h"
#include "lane/runtime/parallel.h"
#include "lane/runtime/type_calls.h"
#include "lane/runtime/type_table.h"
#include "lane/stand_in/stand_in.h"

typedef void (*any_function)(void);

static const struct {
  const char* name;
  any_function function;
} symbols[] = {
#define SYMBOL(name, function) {name, (any_function)function}
    SYMBOL("TVMFFIGetVersion", stand_in_get_version),
    SYMBOL("TVMFFIErrorSetRaised", stand_in_error_set),
    SYMBOL("TVMFFIErrorSetRaisedFromCStr", stand_in_error_set_text),
    SYMBOL("TVMFFIErrorSetRaisedFromCStrParts", stand_in_error_set_parts),
    SYMBOL("TVMFFIErrorMoveFromRaised", stand_in_error_move),
    SYMBOL("TVMFFIErrorCreate", stand_in_error_create),
    SYMBOL("TVMFFIErrorCreateWithCauseAndExtraContext",
           stand_in_error_create_caused),
    SYMBOL("TVMFFIBacktrace", stand_in_backtrace),
    SYMBOL("TVMFFIObjectIncRef", stand_in_object_retain),
    SYMBOL("TVMFFIObjectDecRef", stand_in_object_release),
    SYMBOL("TVMFFIAnyViewToOwnedAny", stand_in_any_own),
    SYMBOL("TVMFFIStringFromByteArray", stand_in_string_create),
    SYMBOL("TVMFFIBytesFromByteArray", stand_in_bytes_create),
    SYMBOL("TVMFFIObjectCreateOpaque", stand_in_object_create_opaque),
    SYMBOL("TVMFFIBigIntFromByteArray", stand_in_big_int_create),
    SYMBOL("TVMFFIBigIntGetContentByteArray", stand_in_big_int_words),
    SYMBOL("TVMFFIGetCustomAllocator", stand_in_get_allocator),
    SYMBOL("TVMFFISetCustomAllocator", stand_in_set_allocator),
    SYMBOL("TVMFFIDataTypeFromString", stand_in_dtype_read),
    SYMBOL("TVMFFIDataTypeToString", stand_in_dtype_write),
    SYMBOL("TVMFFITypeGetOrAllocIndex", lane_type_call_index),
    SYMBOL("TVMFFITypeKeyToIndex", lane_type_call_of_key),
    SYMBOL("TVMFFIGetTypeInfo", lane_type_call_info),
    SYMBOL("TVMFFITypeRegisterField", lane_type_call_field),
    SYMBOL("TVMFFITypeRegisterMethod", lane_type_call_method),
    SYMBOL("TVMFFITypeRegisterMetadata", lane_type_call_metadata),
    SYMBOL("TVMFFITypeRegisterAttr", lane_type_call_attribute),
    SYMBOL("TVMFFIGetTypeAttrColumn", lane_type_call_column),
    SYMBOL("TVMFFIFunctionCall", stand_in_function_call),
    SYMBOL("TVMFFIFunctionCreate", lane_made_function),
    SYMBOL("TVMFFIFunctionGetGlobal", stand_in_function_get_global),
    SYMBOL("TVMFFIFunctionSetGlobal", stand_in_function_set_global),
    SYMBOL("TVMFFIFunctionSetGlobalFromMethodInfo",
           stand_in_function_set_described),
    SYMBOL("TVMFFIEnvModLookupFromImports", stand_in_module_look_up),
    SYMBOL("TVMFFIHandleInitOnce", stand_in_handle_init),
    SYMBOL("TVMFFIHandleDeinitOnce", stand_in_handle_deinit),
    SYMBOL("TVMFFITensorFromDLPack", stand_in_tensor_of_managed),
    SYMBOL("TVMFFITensorFromDLPackVersioned", stand_in_tensor_of_versioned),
    SYMBOL("TVMFFITensorToDLPack", stand_in_tensor_to_managed),
    SYMBOL("TVMFFITensorToDLPackVersioned", stand_in_tensor_to_versioned),
    SYMBOL("TVMFFITensorCreateUnsafeView", stand_in_tensor_view),
    SYMBOL("TVMFFIEnvSetStream", stand_in_stream_set),
    SYMBOL("TVMFFIEnvGetStream", stand_in_stream_get),
    SYMBOL("TVMFFIEnvSetDLPackManagedTensorAllocator", stand_in_allocator_set),
    SYMBOL("TVMFFIEnvGetDLPackManagedTensorAllocator", stand_in_allocator_get),
    SYMBOL("TVMFFIEnvTensorAlloc", stand_in_tensor_allocate),
    SYMBOL("TVMFFIEnvCheckSignals", stand_in_check_signals),
    SYMBOL("TVMFFIEnvRegisterCAPI", stand_in_register_python),
    SYMBOL("TVMFFIEnvModRegisterContextSymbol", stand_in_context_symbol),
    SYMBOL("TVMFFIEnvModRegisterSystemLibSymbol", stand_in_system_symbol),
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

typedef struct filled {
  void* library;
  long count;
} filled;

static void fill_symbol(void* data, const char* name, void* value) {
  filled* to = data;
  void** variable = lane_loader_symbol(to->library, name);
  if (variable == NULL || !lane_loader_is_variable(variable) ||
      *variable != NULL)
    return;
  fnabi_atomic_store(variable, value, RELEASE);
  to->count++;
}

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
  filled by_name = {handle, count};
  stand_in_each_symbol(true, fill_symbol, &by_name);
  return PyLong_FromLong(by_name.count);
}

static void add_symbol(void* data, const char* name, void* value) {
  PyObject* number = PyLong_FromVoidPtr(value);
  PyObject* key =
      PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
  if (number != NULL && key != NULL && !PyDict_Contains(data, key))
    PyDict_SetItem(data, key, number); /* the newest comes first */
  Py_XDECREF(number);
  Py_XDECREF(key);
}

static PyObject* stand_in_system_symbols(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  PyObject* all = PyDict_New();
  if (all != NULL) stand_in_each_symbol(false, add_symbol, all);
  if (PyErr_Occurred()) Py_CLEAR(all);
  return all;
}

static PyObject* stand_in_marker_object(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  fnabi_object* marker = stand_in_marker();
  if (marker == NULL) return PyErr_NoMemory();
  fnabi_object_retain(marker);
  return lane_wrap(lane.object, marker);
}

static PyObject* stand_in_bare_object(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  fnabi_object* made =
      fnabi_object_new(sizeof *made, FNABI_INDEX_OBJECT, fnabi_object_delete);
  return made != NULL ? lane_wrap(lane.object, made) : PyErr_NoMemory();
}

/* Registers the initialiser of a type, once. */
static PyObject* stand_in_add_initialiser(PyObject* module, PyObject* number) {
  static const char NAME[] = "__ffi_init__";
  const fnabi_byte_array name = {NAME, sizeof NAME - 1};
  (void)module;
  long type_index = PyLong_AsLong(number);
  if (type_index == -1 && PyErr_Occurred()) return NULL;
  const fnabi_type_info* info = lane_table_is_own((int32_t)type_index)
                                    ? lane_table_info((int32_t)type_index)
                                    : NULL;
  if (info == NULL) {
    lane_value_error(
        "add_initialiser: no type of fnabi's table has the index %ld",
        type_index);
    return NULL;
  }
  fnabi_object* made = stand_in_initialiser(info);
  if (made == NULL) return PyErr_NoMemory();
  fnabi_any value;
  fnabi_any_set_object(&value, made);
  const char* problem =
      lane_table_add_attribute((int32_t)type_index, &name, &value);
  fnabi_object_release(made);
  if (problem == NULL) Py_RETURN_NONE;
  lane_value_error("add_initialiser: %s", problem);
  return NULL;
}

static PyObject* stand_in_bind(PyObject* module, PyObject* number) {
  (void)module;
  void* handle = PyLong_AsVoidPtr(number);
  if (handle == NULL && PyErr_Occurred()) return NULL;
  lane_tables_own(handle);
  Py_RETURN_NONE;
}

static PyObject* stand_in_is_bound(PyObject* module, PyObject* function) {
  (void)module;
  if (!lane_is(function, lane.function)) {
    lane_type_error_got(function, "is_bound: function: expected Function");
    return NULL;
  }
  lane_function* self = (lane_function*)function;
  fnabi_call call = lane_made_call(self->call, self->handle);
  return PyBool_FromLong(
      lane_tables_code_is_own(call != NULL ? call : self->call));
}

static PyMethodDef stand_in_methods[] = {
    {"bind", stand_in_bind, METH_O,
     "bind(handle, /)\n--\n\n"
     "Say that a library has its types in fnabi's own table."},
    {"is_bound", stand_in_is_bound, METH_O,
     "is_bound(function, /)\n--\n\n"
     "Whether the code of a function is of such a library."},
    {"system_symbols", stand_in_system_symbols, METH_NOARGS,
     "system_symbols()\n--\n\n"
     "Return the addresses that libraries registered for the system library, "
     "by name."},
    {"initialiser_marker", stand_in_marker_object, METH_NOARGS,
     "initialiser_marker()\n--\n\n"
     "The object after which arguments of an initialiser are pairs of name and "
     "value."},
    {"bare_object", stand_in_bare_object, METH_NOARGS,
     "bare_object()\n--\n\n"
     "A new object of the type ffi.Object, which has nothing but its "
     "identity."},
    {"add_initialiser", stand_in_add_initialiser, METH_O,
     "add_initialiser(index, /)\n--\n\n"
     "Register an initialiser by fields for a type of fnabi's own table."},
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
