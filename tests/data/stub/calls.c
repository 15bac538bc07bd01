/* Runs the functions of generated headers against a runtime that records what
 * it is given, and returns what `outputs` has. */
#include <stdio.h>
#include <string.h>

#include "iree/runtime/api.h"
/* after the runtime */
#include "asynchronous.h"
#include "registers.h"

struct iree_vm_list_t {
  int size;
  struct {
    int type; /* 0 for a reference */
    iree_vm_value_t value;
    iree_vm_ref_t ref;
  } items[16];
};

static iree_vm_list_t inputs, outputs;
static int open_calls, live_refs, fails;

static iree_status_t failed(bool is) {
  static int failure;
  return is ? (iree_status_t)(void*)&failure : NULL;
}

iree_status_t iree_make_status(int code, const char* text) {
  printf("status %d: %s\n", code, text);
  return failed(true);
}
bool iree_status_is_ok(iree_status_t status) { return status == NULL; }
iree_status_t iree_ok_status(void) { return NULL; }
iree_string_view_t iree_make_string_view(const char* data, size_t size) {
  iree_string_view_t view = {data, size};
  return view;
}
iree_vm_ref_t iree_vm_ref_null(void) {
  iree_vm_ref_t ref = {NULL, 0};
  return ref;
}
void iree_vm_ref_release(iree_vm_ref_t* ref) {
  live_refs -= ref->ptr != NULL;
  *ref = iree_vm_ref_null();
}

#define MAKE(name, ctype, TYPE)                        \
  iree_vm_value_t iree_vm_value_make_##name(ctype v) { \
    iree_vm_value_t value;                             \
    value.type = IREE_VM_VALUE_TYPE_##TYPE;            \
    value.name = v;                                    \
    return value;                                      \
  }
MAKE(i32, int32_t, I32)
MAKE(i64, int64_t, I64)
MAKE(f32, float, F32)
MAKE(f64, double, F64)
iree_vm_value_t iree_vm_value_make_none(void) {
  return iree_vm_value_make_i32(0);
}

iree_status_t iree_vm_list_push_value(iree_vm_list_t* list,
                                      const iree_vm_value_t* value) {
  list->items[list->size].type = value->type;
  list->items[list->size++].value = *value;
  return NULL;
}
iree_status_t iree_vm_list_push_ref_retain(iree_vm_list_t* list,
                                           const iree_vm_ref_t* value) {
  list->items[list->size].type = 0;
  list->items[list->size++].ref = *value;
  return NULL;
}
iree_status_t iree_vm_list_get_value_as(const iree_vm_list_t* list,
                                        size_t index, iree_vm_value_type_t type,
                                        iree_vm_value_t* value) {
  *value = list->items[index].value;
  return failed((int)index >= list->size ||
                list->items[index].type != (int)type);
}
iree_status_t iree_vm_list_get_ref_retain(const iree_vm_list_t* list,
                                          size_t index, iree_vm_ref_t* value) {
  *value = list->items[index].ref;
  live_refs += value->ptr != NULL;
  return failed((int)index >= list->size || list->items[index].type != 0);
}
iree_hal_buffer_view_t* iree_vm_list_get_buffer_view_retain(
    const iree_vm_list_t* list, size_t index) {
  live_refs++;
  return (iree_hal_buffer_view_t*)list->items[index].ref.ptr;
}
iree_vm_ref_t iree_hal_fence_retain_ref(iree_hal_fence_t* fence) {
  iree_vm_ref_t ref = {fence, 2};
  live_refs++;
  return ref;
}
iree_status_t iree_runtime_call_initialize_by_name(
    iree_runtime_session_t* session, iree_string_view_t name,
    iree_runtime_call_t* call) {
  printf("%.*s", (int)name.size, name.data);
  call->session = session;
  open_calls++;
  inputs.size = 0;
  return NULL;
}
void iree_runtime_call_deinitialize(iree_runtime_call_t* call) {
  call->session = NULL;
  open_calls--;
}
iree_vm_list_t* iree_runtime_call_inputs(const iree_runtime_call_t* call) {
  (void)call;
  return &inputs;
}
iree_vm_list_t* iree_runtime_call_outputs(const iree_runtime_call_t* call) {
  (void)call;
  return &outputs;
}
iree_status_t iree_runtime_call_inputs_push_back_buffer_view(
    iree_runtime_call_t* call, iree_hal_buffer_view_t* view) {
  iree_vm_ref_t ref = {view, 1};
  (void)call;
  return iree_vm_list_push_ref_retain(&inputs, &ref);
}
iree_status_t iree_runtime_call_invoke(iree_runtime_call_t* call,
                                       uint32_t flags) {
  (void)call;
  (void)flags;
  for (int i = 0; i < inputs.size; i++) {
    iree_vm_value_t* value = &inputs.items[i].value;
    switch (inputs.items[i].type) {
      case 0:
        printf(" %s", (char*)inputs.items[i].ref.ptr);
        break;
      case IREE_VM_VALUE_TYPE_I32:
        printf(" i32:%d", (int)value->i32);
        break;
      case IREE_VM_VALUE_TYPE_I64:
        printf(" i64:%lld", (long long)value->i64);
        break;
      case IREE_VM_VALUE_TYPE_F32:
        printf(" f32:%g", (double)value->f32);
        break;
      case IREE_VM_VALUE_TYPE_F64:
        printf(" f64:%g", value->f64);
        break;
    }
  }
  puts("");
  return failed(fails);
}

static void give(int type, iree_vm_value_t value, const char* text) {
  outputs.items[outputs.size].type = type;
  outputs.items[outputs.size].value = value;
  outputs.items[outputs.size].ref.ptr = (void*)(uintptr_t)text;
  outputs.size++;
}

int main(void) {
  iree_vm_ref_t ref = {(void*)(uintptr_t)"ref", 3}, last;
  double f64;
  float f32;
  int64_t i64;
  int32_t i32;
  iree_vm_value_t none = iree_vm_value_make_none();
  give(IREE_VM_VALUE_TYPE_F64, iree_vm_value_make_f64(0.5), NULL);
  give(IREE_VM_VALUE_TYPE_F32, iree_vm_value_make_f32(1.5), NULL);
  give(IREE_VM_VALUE_TYPE_I64, iree_vm_value_make_i64(-7), NULL);
  give(IREE_VM_VALUE_TYPE_I32, iree_vm_value_make_i32(8), NULL);
  give(0, none, "out");
  iree_status_t status =
      sigs_a_all(NULL, 1, 2, 3.5f, 4.5, &ref, 6, &f64, &f32, &i64, &i32, &last);
  printf("%d %g %g %lld %d %s\n", status == NULL, f64, (double)f32,
         (long long)i64, (int)i32, (char*)last.ptr);
  iree_vm_ref_release(&last);

  outputs.items[1].type = IREE_VM_VALUE_TYPE_I32; /* not what is expected */
  status =
      sigs_a_all(NULL, 1, 2, 3.5f, 4.5, &ref, 6, &f64, &f32, &i64, &i32, &last);
  printf("%d %g %d %d\n", status == NULL, f64, (int)i32, last.ptr == NULL);

  iree_hal_buffer_view_t* views[2] = {
      (iree_hal_buffer_view_t*)(uintptr_t)"view0",
      (iree_hal_buffer_view_t*)(uintptr_t)"view1"};
  iree_hal_fence_t* fence = (iree_hal_fence_t*)(uintptr_t)"fence";
  iree_hal_buffer_view_t* sum;
  outputs.size = 0;
  give(0, none, "sum");
  status = module_plus(NULL, views[0], views[1], fence, fence, &sum);
  printf("%d %s\n", status == NULL, (char*)sum);
  live_refs -= 1; /* of the sum */
  fails = 1;
  status = module_plus(NULL, views[0], views[1], fence, fence, &sum);
  printf("%d %d\n", status == NULL, sum == NULL);
  printf("%d open, %d live\n", open_calls, live_refs);
  return 0;
}
