/* tensor.h - tensor objects of TVM-FFI's stable C ABI, and DLPack's ways to
 * hand tensors over. Private; the layouts are DLPack's of version 1.
 *
 * Foreign tensors are trusted as far as C makes it necessary: their pointers
 * lead to what they are said to lead to. Their numbers are checked. */
#ifndef FNABI_TENSOR_H
#define FNABI_TENSOR_H

#include "value/object.h"

enum { FNABI_DL_MAJOR = 1, FNABI_DL_MINOR = 3 };

typedef enum fnabi_dl_code {
  FNABI_DL_INT,
  FNABI_DL_UINT,
  FNABI_DL_FLOAT,
  FNABI_DL_HANDLE,
  FNABI_DL_BFLOAT,
  FNABI_DL_COMPLEX,
  FNABI_DL_BOOL,
} fnabi_dl_code; /* from 7 on floats of 8, 6 and 4 bits */

/* Devices whose memory the CPU reaches. */
enum {
  FNABI_DL_CPU = 1,
  FNABI_DL_CUDA_HOST = 3,
  FNABI_DL_ROCM_HOST = 11,
  FNABI_DL_CUDA_MANAGED = 13
};

enum { FNABI_DL_READ_ONLY = 1, FNABI_DL_COPIED = 2, FNABI_DL_PADDED = 4 };

typedef struct fnabi_dl_managed {
  fnabi_dl_tensor tensor;
  void* context;
  void (*deleter)(struct fnabi_dl_managed* self); /* may be NULL */
} fnabi_dl_managed;

typedef struct fnabi_dl_versioned {
  uint32_t major; /* of another one only the deleter is where it stands here */
  uint32_t minor;
  void* context;
  void (*deleter)(struct fnabi_dl_versioned* self); /* may be NULL */
  uint64_t flags;
  fnabi_dl_tensor tensor;
} fnabi_dl_versioned;

/* What a type that can hand over its tensors in C has as
 * `__dlpack_c_exchange_api__`. Functions answer 0, or -1 with a Python
 * exception set. */
typedef struct fnabi_dl_exchange {
  uint32_t major;
  uint32_t minor;
  const struct fnabi_dl_exchange* older; /* or NULL */
  int (*allocate)(fnabi_dl_tensor* like, fnabi_dl_versioned** out,
                  void* context,
                  void (*fail)(void* context, const char* kind,
                               const char* message));
  int (*managed_of)(void* object, fnabi_dl_versioned** out);
  int (*object_of)(fnabi_dl_versioned* tensor, void** out);
  int (*view_of)(void* object, fnabi_dl_tensor* out); /* or NULL */
  int (*stream_of)(int32_t device_type, int32_t device_id, void** out);
} fnabi_dl_exchange;

/* What is wrong with the numbers of a tensor, static; NULL: nothing. One
 * without fault has fewer than 2^62 bits. */
const char* fnabi_dl_problem(const fnabi_dl_tensor* tensor);

/* Bytes of an element, lanes and all; 0 when it is no number of bytes. */
static inline size_t fnabi_dl_item_size(fnabi_dl_dtype dtype) {
  unsigned bits = (unsigned)dtype.bits * dtype.lanes;
  return bits % 8 == 0 ? bits / 8 : 0;
}

/* Of a tensor without fault: elements, and the bytes that they take when they
 * are compact. */
int64_t fnabi_dl_count(const fnabi_dl_tensor* tensor);
int64_t fnabi_dl_bytes(const fnabi_dl_tensor* tensor);

/* Whether the elements stand one after the other, the last dim ('C') or the
 * first ('F') running fastest. */
bool fnabi_dl_compact(const fnabi_dl_tensor* tensor, char order);

static inline void* fnabi_dl_data(const fnabi_dl_tensor* tensor) {
  return (char*)tensor->data + tensor->byte_offset;
}

static inline bool fnabi_dl_on_host(fnabi_dl_device device) {
  return device.type == FNABI_DL_CPU || device.type == FNABI_DL_CUDA_HOST ||
         device.type == FNABI_DL_ROCM_HOST ||
         device.type == FNABI_DL_CUDA_MANAGED;
}

/* A tensor object made here: over memory that somebody owns, with shape and
 * strides of its own. */
typedef struct fnabi_held_tensor {
  fnabi_tensor_object tensor;
  void (*let_go)(void* owner); /* on any thread; NULL: nothing to do */
  void* owner;
  uint64_t flags; /* of DLPack, and below */
  int64_t dims[]; /* shape, then strides */
} fnabi_held_tensor;

enum {
  FNABI_TENSOR_BORROWED = 1 << 8, /* good until somebody says otherwise */
  FNABI_TENSOR_EXPIRED = 1 << 9,
};

/* Takes the owner over, but not when it returns NULL: out of memory. The tensor
 * is without fault; of no strides compact ones are made. */
fnabi_held_tensor* fnabi_tensor_new(const fnabi_dl_tensor* like, void* owner,
                                    void (*let_go)(void* owner),
                                    uint64_t flags);
void fnabi_tensor_delete(void* self, int flags);

/* The object as one that was made here; NULL when it was not. */
static inline fnabi_held_tensor* fnabi_tensor_held(const void* object) {
  return ((const fnabi_object*)object)->deleter == fnabi_tensor_delete
             ? (fnabi_held_tensor*)object
             : NULL;
}

/* Of what was handed over by DLPack, which is given back, also at failure:
 * NULL, with the reason in *problem, or NULL there when memory ran out. */
fnabi_held_tensor* fnabi_tensor_of_managed(fnabi_dl_managed* managed,
                                           const char** problem);
fnabi_held_tensor* fnabi_tensor_of_versioned(fnabi_dl_versioned* managed,
                                             const char** problem);

/* Hands a tensor over, with a reference of its own to the object. NULL: out of
 * memory. The tensor is without fault. */
fnabi_dl_managed* fnabi_tensor_to_managed(fnabi_tensor_object* tensor);
fnabi_dl_versioned* fnabi_tensor_to_versioned(fnabi_tensor_object* tensor,
                                              uint64_t flags);

/* A compact copy of a tensor without fault that the CPU reaches, whose elements
 * are bytes or compact. NULL: out of memory. */
fnabi_held_tensor* fnabi_tensor_copy(const fnabi_dl_tensor* tensor);

#endif
