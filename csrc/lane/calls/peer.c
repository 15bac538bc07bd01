/* Hands objects over to the package tvm_ffi. */
#include "lane/calls/peer.h"

#include "lane/runtime/both_tables.h"
#include "lane/runtime/call_error.h"
#include "lane/runtime/text.h"

/* tvm_ffi wraps whatever a function returns. So it gets a function that returns
 * the object at a given address. */
static int hand_over(void* handle, const fnabi_any* args, int32_t n,
                     fnabi_any* result) {
  (void)handle;
  if (n != 1 || args->type_index != FNABI_INDEX_INT) return -1;
  fnabi_object* object = (fnabi_object*)(uintptr_t)args->v_int;
  fnabi_object_retain(object);
  fnabi_any_set_object(result, object);
  return 0;
}

PyObject* lane_object_peer(fnabi_object* object) {
  static PyObject* give;
  if (lane_both_tables) {
    fnabi_any value;
    fnabi_any_set_object(&value, object);
    const fnabi_byte_array* own = lane_tables_own_in(&value);
    PyObject* key = own != NULL ? lane_text(own) : NULL;
    if (key != NULL)
      lane_type_error(
          "__tvm_ffi_object__: %R is in fnabi's own table of types; "
          "libtvm_ffi, "
          "which was loaded later, has another table",
          key);
    Py_XDECREF(key);
    if (own != NULL) return NULL;
  }
  if (give == NULL) {
    PyObject* type = lane_imported("tvm_ffi", "Function");
    if (type == NULL) {
      lane_call_error("__tvm_ffi_object__: tvm_ffi is not imported");
      return NULL;
    }
    give = PyObject_CallMethod(type, "__from_extern_c__", "K",
                               (unsigned long long)(uintptr_t)hand_over);
    Py_DECREF(type);
    if (give == NULL) return NULL;
  }
  return PyObject_CallFunction(give, "K",
                               (unsigned long long)(uintptr_t)object);
}
