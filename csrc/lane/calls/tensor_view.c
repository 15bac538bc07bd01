/* Tensors that are lent for one call, and the values of Tensors. */
#include "lane/calls/tensor_view.h"

#include "lane/calls/tensor_import.h"
#include "lane/calls/to_value.h"
#include "lane/calls/wrap.h"
#include "lane/runtime/call_error.h"

PyObject* lane_tensor_of_view(const fnabi_dl_tensor* view) {
  const char* problem = view == NULL ? "it is NULL" : fnabi_dl_problem(view);
  fnabi_held_tensor* held =
      problem ? NULL
              : fnabi_tensor_new(view, NULL, NULL, FNABI_TENSOR_BORROWED);
  if (held != NULL)
    return lane_wrap(lane_type_of(FNABI_INDEX_TENSOR), &held->tensor.object);
  lane_tensor_refuse(problem);
  return NULL;
}

void lane_tensor_expire(PyObject* tensor) {
  fnabi_held_tensor* held = fnabi_tensor_held(((lane_object*)tensor)->object);
  held->flags |= FNABI_TENSOR_EXPIRED;
  /* other references to the object must not read freed memory */
  held->tensor.tensor.data = NULL;
  held->tensor.tensor.byte_offset = 0;
}

fnabi_dl_tensor* lane_tensor_in(PyObject* self) {
  fnabi_object* object = ((lane_object*)self)->object;
  fnabi_held_tensor* held = fnabi_tensor_held(object);
  const char* problem;
  if (held != NULL && held->flags & FNABI_TENSOR_EXPIRED) {
    lane_value_error(
        "Tensor: it was only valid during a callback that has returned; make a "
        "copy inside the callback");
    return NULL;
  }
  fnabi_dl_tensor* tensor = &((fnabi_tensor_object*)object)->tensor;
  if (held == NULL && (problem = fnabi_dl_problem(tensor)) != NULL) {
    lane_call_error("Tensor: the tensor is invalid: %s", problem);
    return NULL;
  }
  return tensor;
}

int lane_tensor_view(PyObject* self, fnabi_any* out) {
  fnabi_dl_tensor* tensor = lane_tensor_in(self);
  if (tensor == NULL) return -1;
  fnabi_object* object = ((lane_object*)self)->object;
  fnabi_held_tensor* held = fnabi_tensor_held(object);
  if (held != NULL &&
      lane_tensor_check_writable(held->flags & FNABI_DL_READ_ONLY) < 0)
    return -1;
  if (held != NULL && held->flags & FNABI_TENSOR_BORROWED) {
    fnabi_any_set(out, FNABI_INDEX_DLTENSOR, 0);
    out->v_pointer = tensor;
  } else {
    fnabi_any_set_object(out, object);
  }
  return LANE_BORROWED;
}
