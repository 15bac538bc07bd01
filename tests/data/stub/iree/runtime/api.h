/* Replacement for IREE's header of this name: what generated headers use of it, declared alone.
 * Names and types are those of IREE 3.13; the contents of the structures are not. */
#ifndef IREE_RUNTIME_API_H_
#define IREE_RUNTIME_API_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct iree_status_handle_t* iree_status_t;
typedef struct iree_runtime_session_t iree_runtime_session_t;
typedef struct iree_hal_buffer_view_t iree_hal_buffer_view_t;
typedef struct iree_hal_fence_t iree_hal_fence_t;
typedef struct iree_vm_list_t iree_vm_list_t;
typedef struct iree_string_view_t {
  const char* data;
  size_t size;
} iree_string_view_t;
typedef struct iree_vm_ref_t {
  void* ptr;
  uintptr_t type;
} iree_vm_ref_t;
typedef struct iree_runtime_call_t {
  iree_runtime_session_t* session;
} iree_runtime_call_t;
typedef enum iree_vm_value_type_e {
  IREE_VM_VALUE_TYPE_I32 = 3,
  IREE_VM_VALUE_TYPE_I64 = 4,
  IREE_VM_VALUE_TYPE_F32 = 5,
  IREE_VM_VALUE_TYPE_F64 = 6
} iree_vm_value_type_t;
typedef struct iree_vm_value_t {
  iree_vm_value_type_t type;
  union {
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
  };
} iree_vm_value_t;

#define IREE_STATUS_INTERNAL 13
iree_status_t iree_make_status(int code, const char* text);
bool iree_status_is_ok(iree_status_t status);
iree_status_t iree_ok_status(void);
iree_string_view_t iree_make_string_view(const char* data, size_t size);
iree_vm_ref_t iree_vm_ref_null(void);
void iree_vm_ref_release(iree_vm_ref_t* ref);
iree_vm_value_t iree_vm_value_make_none(void);
iree_vm_value_t iree_vm_value_make_i32(int32_t value);
iree_vm_value_t iree_vm_value_make_i64(int64_t value);
iree_vm_value_t iree_vm_value_make_f32(float value);
iree_vm_value_t iree_vm_value_make_f64(double value);
iree_status_t iree_vm_list_push_value(iree_vm_list_t* list,
                                      const iree_vm_value_t* value);
iree_status_t iree_vm_list_push_ref_retain(iree_vm_list_t* list,
                                           const iree_vm_ref_t* value);
iree_status_t iree_vm_list_get_value_as(const iree_vm_list_t* list,
                                        size_t index, iree_vm_value_type_t type,
                                        iree_vm_value_t* value);
iree_status_t iree_vm_list_get_ref_retain(const iree_vm_list_t* list,
                                          size_t index, iree_vm_ref_t* value);
iree_status_t iree_runtime_call_initialize_by_name(
    iree_runtime_session_t* session, iree_string_view_t name,
    iree_runtime_call_t* call);
void iree_runtime_call_deinitialize(iree_runtime_call_t* call);
iree_vm_list_t* iree_runtime_call_inputs(const iree_runtime_call_t* call);
iree_vm_list_t* iree_runtime_call_outputs(const iree_runtime_call_t* call);
iree_status_t iree_runtime_call_invoke(iree_runtime_call_t* call,
                                       uint32_t flags);
iree_status_t iree_runtime_call_inputs_push_back_buffer_view(
    iree_runtime_call_t* call, iree_hal_buffer_view_t* view);

#ifdef __cplusplus
}
#endif

#endif
