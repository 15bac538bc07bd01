/* Tensors, from and to DLPack. */
#include "lane/stand_in/stand_in.h"

/* Gives a tensor that was made from DLPack, or its error. */
static int give(fnabi_held_tensor* held, const char* problem, int32_t alignment,
                int32_t contiguous, void** out) {
  *out = NULL;
  if (held == NULL)
    return problem != NULL ? stand_in_fail("ValueError", problem)
                           : stand_in_no_memory();
  const fnabi_dl_tensor* tensor = &held->tensor.tensor;
  if (alignment > 0 && (uintptr_t)fnabi_dl_data(tensor) % (uintptr_t)alignment)
    problem = "the memory of the tensor is not aligned";
  else if (contiguous && !fnabi_dl_compact(tensor, 'C'))
    problem = "the tensor is not contiguous";
  else
    *out = held;
  if (*out != NULL) return 0;
  fnabi_object_release(held);
  return stand_in_fail("ValueError", problem);
}

int stand_in_tensor_of_managed(fnabi_dl_managed* from, int32_t alignment,
                               int32_t contiguous, void** out) {
  const char* problem = NULL;
  return give(fnabi_tensor_of_managed(from, &problem), problem, alignment,
              contiguous, out);
}

int stand_in_tensor_of_versioned(fnabi_dl_versioned* from, int32_t alignment,
                                 int32_t contiguous, void** out) {
  const char* problem = NULL;
  return give(fnabi_tensor_of_versioned(from, &problem), problem, alignment,
              contiguous, out);
}

static bool is_tensor(const fnabi_tensor_object* from) {
  return from != NULL && from->object.type_index == FNABI_INDEX_TENSOR &&
         fnabi_dl_problem(&from->tensor) == NULL;
}

int stand_in_tensor_to_managed(void* from, fnabi_dl_managed** out) {
  if (!is_tensor(from))
    return stand_in_fail("TypeError", "expected ffi.Tensor");
  *out = fnabi_tensor_to_managed(from);
  return *out != NULL ? 0 : stand_in_no_memory();
}

int stand_in_tensor_to_versioned(void* from, fnabi_dl_versioned** out) {
  if (!is_tensor(from))
    return stand_in_fail("TypeError", "expected ffi.Tensor");
  const fnabi_held_tensor* held = fnabi_tensor_held(from);
  *out = fnabi_tensor_to_versioned(
      from, held != NULL ? held->flags & FNABI_DL_READ_ONLY : 0);
  return *out != NULL ? 0 : stand_in_no_memory();
}

static void let_go(void* source) { fnabi_object_release(source); }

int stand_in_tensor_view(void* source, const fnabi_dl_tensor* like,
                         void** out) {
  if (!is_tensor(source))
    return stand_in_fail("TypeError", "expected ffi.Tensor");
  const char* problem = fnabi_dl_problem(like);
  if (problem != NULL) return stand_in_fail("ValueError", problem);
  fnabi_object_retain(source);
  *out = fnabi_tensor_new(like, source, let_go, 0);
  if (*out != NULL) return 0;
  fnabi_object_release(source);
  return stand_in_no_memory();
}
