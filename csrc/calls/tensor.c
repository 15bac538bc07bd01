/* Tensor objects of TVM-FFI's stable C ABI, and their exchange by DLPack. */
#include "calls/tensor.h"

#include <stdlib.h>

/* Bits in the addresses that a process has: half of what 48 bits number. */
static const int64_t most_bits = INT64_C(8) << 47;

/* Adds the bits between the first element of a dim and its last one to the reach
 * before (`to[0]`) or after (`to[1]`) the first element of the tensor. Returns
 * false if that exceeds the address space. */
static bool add_reach(int64_t* to, int64_t dim, int64_t stride, int64_t bits) {
  bool after = stride >= 0;
  int64_t reach;
  if (stride == INT64_MIN || fnabi_mul_overflows(dim - 1, bits, &reach) ||
      fnabi_mul_overflows(reach, after ? stride : -stride, &reach) ||
      reach > most_bits)
    return false;
  to[after] += reach; /* of at most FNABI_DL_DIMS dims: no overflow */
  return to[after] <= most_bits;
}

const char* fnabi_dl_problem(const fnabi_dl_tensor* tensor) {
  if (tensor->ndim < 0) return "its number of dims is negative";
  if (tensor->ndim > FNABI_DL_DIMS) return "it has more than 64 dims";
  if (tensor->ndim > 0 && !fnabi_is_address(tensor->shape))
    return "it has no shape";
  const int64_t bits = (int64_t)tensor->dtype.bits * tensor->dtype.lanes;
  int64_t all = bits > 0 ? bits : 1; /* 0 from a dim of 0 on */
  for (int32_t i = 0; i < tensor->ndim; i++) {
    int64_t dim = tensor->shape[i];
    if (dim < 0) return "a dim is negative";
    if (fnabi_mul_overflows(all, dim, &all) || all > INT64_MAX / 2)
      return "it is larger than memory";
  }
  if (tensor->ndim > 0 && tensor->strides != NULL &&
      !fnabi_is_address(tensor->strides))
    return "it has no strides";
  if (all == 0 || bits == 0) return NULL;
  int64_t reach[2] = {0, tensor->strides == NULL ? all : bits};
  if (reach[1] > most_bits) return "it is larger than memory";
  for (int32_t i = 0; tensor->strides != NULL && i < tensor->ndim; i++)
    if (tensor->shape[i] > 1 &&
        !add_reach(reach, tensor->shape[i], tensor->strides[i], bits))
      return "its strides lead outside of the address space";
  if (tensor->byte_offset > (uint64_t)(most_bits / 8))
    return "its byte offset leads outside of the address space";
  if (!fnabi_dl_on_host(tensor->device)) return NULL;
  if (!fnabi_is_address(tensor->data)) return "it has no memory";
  const uint64_t most = UINTPTR_MAX;
  uint64_t first = (uintptr_t)tensor->data;
  if (tensor->byte_offset > most - first)
    return "its byte offset leads outside of the address space";
  first += tensor->byte_offset;
  if (first < (uint64_t)reach[0] / 8 || (uint64_t)reach[1] / 8 > most - first)
    return "its elements lead outside of the address space";
  return NULL;
}

int64_t fnabi_dl_count(const fnabi_dl_tensor* tensor) {
  int64_t count = 1;
  for (int32_t i = 0; i < tensor->ndim; i++)
    if (tensor->shape[i] == 0) return 0;
  for (int32_t i = 0; i < tensor->ndim; i++) count *= tensor->shape[i];
  return count;
}

int64_t fnabi_dl_bytes(const fnabi_dl_tensor* tensor) {
  int64_t bits = (int64_t)tensor->dtype.bits * tensor->dtype.lanes;
  return bits == 0 ? 0 : (fnabi_dl_count(tensor) * bits + 7) / 8;
}

bool fnabi_dl_compact(const fnabi_dl_tensor* tensor, char order) {
  bool last_first = order == 'C';
  if (tensor->strides == NULL && last_first) return true;
  if (fnabi_dl_count(tensor) == 0) return true;
  int64_t compact = 1;
  for (int32_t k = 0; k < tensor->ndim; k++) {
    int32_t i = last_first ? tensor->ndim - 1 - k : k;
    if (tensor->shape[i] == 1) continue;
    if (tensor->strides == NULL || tensor->strides[i] != compact) return false;
    compact *= tensor->shape[i];
  }
  return true;
}

/* Sets row-major strides. An empty tensor may have any strides; here a dim of 0
 * counts as 1, so the product cannot overflow. */
static void put_strides(int64_t* strides, const fnabi_dl_tensor* tensor) {
  uint64_t stride = 1;
  for (int32_t i = tensor->ndim; i-- > 0;) {
    strides[i] = (int64_t)stride;
    if (tensor->shape[i] > 1) stride *= (uint64_t)tensor->shape[i];
  }
}

/* Copies shape and strides to `dims`, and lets `tensor` point to the copies. */
static void put_dims(fnabi_dl_tensor* tensor, int64_t* dims) {
  fnabi_dl_tensor from = *tensor;
  tensor->shape = dims;
  tensor->strides = from.ndim > 0 ? dims + from.ndim : NULL;
  for (int32_t i = 0; i < from.ndim; i++) dims[i] = from.shape[i];
  if (from.strides == NULL)
    put_strides(tensor->strides, &from);
  else
    for (int32_t i = 0; i < from.ndim; i++)
      tensor->strides[i] = from.strides[i];
}

static size_t dims_size(int32_t ndim) {
  return (size_t)ndim * 2 * sizeof(int64_t);
}

/* ------------------------------------------------------------------ objects */

void fnabi_tensor_delete(void* self, int flags) {
  fnabi_held_tensor* held = self;
  if (flags & FNABI_DELETER_STRONG && held->let_go != NULL)
    held->let_go(held->owner);
  if (flags & FNABI_DELETER_WEAK) fnabi_object_free(self);
}

void fnabi_tensor_renew(fnabi_held_tensor* held, const fnabi_dl_tensor* like,
                        void* owner, void (*let_go)(void* owner),
                        uint64_t flags) {
  held->tensor.object.type_index = FNABI_INDEX_TENSOR;
  held->tensor.tensor = *like;
  held->let_go = let_go;
  held->owner = owner;
  held->flags = flags;
  put_dims(&held->tensor.tensor, held->dims);
}

fnabi_held_tensor* fnabi_tensor_new(const fnabi_dl_tensor* like, void* owner,
                                    void (*let_go)(void* owner),
                                    uint64_t flags) {
  int32_t ndim =
      like->ndim > FNABI_TENSOR_DIMS ? like->ndim : FNABI_TENSOR_DIMS;
  fnabi_held_tensor* held = fnabi_object_new_raw(
      sizeof *held + dims_size(ndim), FNABI_INDEX_TENSOR, fnabi_tensor_delete);
  if (held != NULL) fnabi_tensor_renew(held, like, owner, let_go, flags);
  return held;
}

static void give_back_managed(void* owner) {
  fnabi_dl_managed* managed = owner;
  if (managed->deleter != NULL) managed->deleter(managed);
}

static void give_back_versioned(void* owner) {
  fnabi_dl_versioned* managed = owner;
  if (managed->deleter != NULL) managed->deleter(managed);
}

static fnabi_held_tensor* take(const fnabi_dl_tensor* tensor, void* owner,
                               void (*let_go)(void* owner), uint64_t flags,
                               const char** problem) {
  *problem = fnabi_dl_problem(tensor);
  fnabi_held_tensor* held =
      *problem ? NULL : fnabi_tensor_new(tensor, owner, let_go, flags);
  if (held == NULL) let_go(owner);
  return held;
}

fnabi_held_tensor* fnabi_tensor_of_managed(fnabi_dl_managed* managed,
                                           const char** problem) {
  return take(&managed->tensor, managed, give_back_managed, 0, problem);
}

fnabi_held_tensor* fnabi_tensor_of_versioned(fnabi_dl_versioned* managed,
                                             const char** problem) {
  if (managed->major != FNABI_DL_MAJOR)
    *problem = "its major version of DLPack is not 1";
  else if (managed->flags & FNABI_DL_PADDED)
    *problem = "its elements of less than a byte are not packed";
  else
    return take(&managed->tensor, managed, give_back_versioned,
                managed->flags & FNABI_DL_READ_ONLY, problem);
  give_back_versioned(managed);
  return NULL;
}

/* --------------------------------------------------------- DLPack's structs */

static void delete_managed(fnabi_dl_managed* managed) {
  fnabi_object_release(managed->context);
  free(managed);
}

static void delete_versioned(fnabi_dl_versioned* managed) {
  fnabi_object_release(managed->context);
  free(managed);
}

/* The size of what put_tensor writes after a struct. */
static size_t exported_size(const fnabi_dl_tensor* tensor) {
  return tensor->strides != NULL ? 0 : dims_size(tensor->ndim);
}

/* The struct keeps the object alive, and that its shape and strides. Strides
 * are written even if they are row-major: newer DLPack versions need them. */
static void put_tensor(fnabi_dl_tensor* out, const fnabi_dl_tensor* tensor,
                       int64_t* dims) {
  *out = *tensor;
  if (tensor->strides == NULL) put_dims(out, dims);
}

fnabi_dl_managed* fnabi_tensor_to_managed(fnabi_tensor_object* tensor) {
  fnabi_dl_managed* managed =
      malloc(sizeof *managed + exported_size(&tensor->tensor));
  if (managed == NULL) return NULL;
  put_tensor(&managed->tensor, &tensor->tensor, (int64_t*)(managed + 1));
  managed->context = tensor;
  managed->deleter = delete_managed;
  fnabi_object_retain(tensor);
  return managed;
}

fnabi_dl_versioned* fnabi_tensor_into_versioned(fnabi_tensor_object* tensor,
                                                uint64_t flags) {
  fnabi_dl_versioned* managed =
      malloc(sizeof *managed + exported_size(&tensor->tensor));
  if (managed == NULL) return NULL;
  put_tensor(&managed->tensor, &tensor->tensor, (int64_t*)(managed + 1));
  managed->major = FNABI_DL_MAJOR;
  managed->minor = FNABI_DL_MINOR;
  managed->context = tensor;
  managed->deleter = delete_versioned;
  managed->flags = flags;
  return managed;
}

fnabi_dl_versioned* fnabi_tensor_to_versioned(fnabi_tensor_object* tensor,
                                              uint64_t flags) {
  fnabi_dl_versioned* managed = fnabi_tensor_into_versioned(tensor, flags);
  if (managed != NULL) fnabi_object_retain(tensor);
  return managed;
}

/* ------------------------------------------------------------------ copying */

/* Copies `count` > 0 elements in row-major order. The innermost dim has its own
 * loop; `index` counts through the others. */
static void gather(char* to, const fnabi_dl_tensor* from, int64_t count,
                   size_t size, int64_t* index) {
  int32_t last = from->ndim - 1;
  const char* at = fnabi_dl_data(from);
  ptrdiff_t step = (ptrdiff_t)(from->strides[last] * (int64_t)size);
  memset(index, 0, (size_t)from->ndim * sizeof *index);
  for (int64_t done = 0; done < count; done += from->shape[last]) {
    const char* item = at;
    for (int64_t i = 0; i < from->shape[last]; i++, to += size, item += step)
      memcpy(to, item, size);
    for (int32_t k = last; k-- > 0;) {
      int64_t stride = from->strides[k] * (int64_t)size;
      at += stride;
      if (++index[k] < from->shape[k]) break;
      at -= stride * from->shape[k];
      index[k] = 0;
    }
  }
}

static fnabi_held_tensor* allocate(const fnabi_dl_tensor* tensor) {
  enum { ALIGNMENT = 256 }; /* what DLPack recommends */
  size_t bytes = (size_t)fnabi_dl_bytes(tensor);
  void* memory = fnabi_aligned_alloc(
      ALIGNMENT, (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT);
  if (memory == NULL) return NULL;
  fnabi_dl_tensor like = *tensor;
  like.data = memory;
  like.strides = NULL;
  like.byte_offset = 0;
  like.device = (fnabi_dl_device){FNABI_DL_CPU, 0};
  fnabi_held_tensor* held =
      fnabi_tensor_new(&like, memory, fnabi_aligned_free, 0);
  if (held == NULL) fnabi_aligned_free(memory);
  return held;
}

fnabi_held_tensor* fnabi_tensor_allocate(const fnabi_dl_tensor* like,
                                         const char** problem) {
  static char memory;
  fnabi_dl_tensor asked = *like;
  asked.data = &memory; /* a prototype has none */
  *problem = fnabi_dl_problem(&asked);
  if (*problem == NULL && like->device.type != FNABI_DL_CPU)
    *problem = "only memory of the CPU is allocated without a framework";
  return *problem == NULL ? allocate(&asked) : NULL;
}

fnabi_held_tensor* fnabi_tensor_copy(const fnabi_dl_tensor* tensor) {
  size_t bytes = (size_t)fnabi_dl_bytes(tensor);
  fnabi_held_tensor* held = allocate(tensor);
  if (held == NULL) return NULL;
  void* memory = held->tensor.tensor.data;
  if (bytes != 0 && fnabi_dl_compact(tensor, 'C')) {
    memcpy(memory, fnabi_dl_data(tensor), bytes);
  } else if (bytes != 0) {
    int64_t* index = malloc(dims_size(tensor->ndim));
    if (index == NULL) {
      fnabi_object_release(held);
      return NULL;
    }
    gather(memory, tensor, fnabi_dl_count(tensor),
           fnabi_dl_item_size(tensor->dtype), index);
    free(index);
  }
  return held;
}
