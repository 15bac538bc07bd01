/* tensor.h - tensor objects of TVM-FFI's stable C ABI, and their exchange by
 * DLPack. Private; the layouts are those of DLPack 1.
 *
 * The pointers of foreign tensors are trusted, because C cannot check them.
 * Their numbers are checked. */
#ifndef FNABI_TENSOR_H
#define FNABI_TENSOR_H

#include "calls/object.h"

enum { FNABI_DL_MAJOR = 1, FNABI_DL_MINOR = 3 };

typedef enum fnabi_dl_code {
  FNABI_DL_INT,
  FNABI_DL_UINT,
  FNABI_DL_FLOAT,
  FNABI_DL_HANDLE,
  FNABI_DL_BFLOAT,
  FNABI_DL_COMPLEX,
  FNABI_DL_BOOL,
} fnabi_dl_code; /* codes from 7 on are floats of 8, 6 and 4 bits */

/* Devices whose memory the CPU can access. */
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
  uint32_t major; /* if it is not 1, only the offset of the deleter is known */
  uint32_t minor;
  void* context;
  void (*deleter)(struct fnabi_dl_versioned* self); /* may be NULL */
  uint64_t flags;
  fnabi_dl_tensor tensor;
} fnabi_dl_versioned;

/* The content of the attribute `__dlpack_c_exchange_api__`, which a Python type
 * has if its tensors can be exchanged in C. The functions return 0, or -1 with
 * a Python exception set. */
typedef int fnabi_dl_allocate(fnabi_dl_tensor* like, fnabi_dl_versioned** out,
                              void* context,
                              void (*fail)(void* context, const char* kind,
                                           const char* message));

typedef struct fnabi_dl_exchange {
  uint32_t major;
  uint32_t minor;
  const struct fnabi_dl_exchange* older; /* or NULL */
  fnabi_dl_allocate* allocate;           /* or NULL */
  int (*managed_of)(void* object, fnabi_dl_versioned** out);
  int (*object_of)(fnabi_dl_versioned* tensor, void** out);
  int (*view_of)(void* object, fnabi_dl_tensor* out); /* or NULL */
  int (*stream_of)(int32_t device_type, int32_t device_id, void** out);
} fnabi_dl_exchange;

/* The most dims of a tensor: those of Python's buffers and of NumPy. */
enum { FNABI_DL_DIMS = 64 };

/* Returns what is wrong with the numbers of a tensor, as a static text, or NULL
 * if the tensor is valid. A valid tensor has fewer than 2^62 bits. From the
 * first byte of its memory, its elements are at most 128 TiB away in either
 * direction, and none of their addresses overflows. */
const char* fnabi_dl_problem(const fnabi_dl_tensor* tensor);

/* Returns the size of an element including all lanes in bytes, or 0 if it is
 * not a whole number of bytes. */
static inline size_t fnabi_dl_item_size(fnabi_dl_dtype dtype) {
  unsigned bits = (unsigned)dtype.bits * dtype.lanes;
  return bits % 8 == 0 ? bits / 8 : 0;
}

/* The number of elements of a valid tensor, and its size in bytes if compact.
 */
int64_t fnabi_dl_count(const fnabi_dl_tensor* tensor);
int64_t fnabi_dl_bytes(const fnabi_dl_tensor* tensor);

/* Whether a valid tensor is contiguous in row-major ('C') or column-major ('F')
 * order. */
bool fnabi_dl_compact(const fnabi_dl_tensor* tensor, char order);

static inline void* fnabi_dl_data(const fnabi_dl_tensor* tensor) {
  return (char*)tensor->data + tensor->byte_offset;
}

static inline bool fnabi_dl_on_host(fnabi_dl_device device) {
  return device.type == FNABI_DL_CPU || device.type == FNABI_DL_CUDA_HOST ||
         device.type == FNABI_DL_ROCM_HOST ||
         device.type == FNABI_DL_CUDA_MANAGED;
}

/* A tensor object that fnabi created. It has its own copy of shape and strides;
 * `owner` keeps the memory of the elements alive. */
typedef struct fnabi_held_tensor {
  fnabi_tensor_object tensor;
  void (*let_go)(void* owner); /* releases the owner, on any thread; or NULL */
  void* owner;
  uint64_t flags; /* those of DLPack, and those below */
  int64_t dims[]; /* shape, then strides */
} fnabi_held_tensor;

enum {
  FNABI_TENSOR_BORROWED = 1 << 8, /* valid until EXPIRED is set */
  FNABI_TENSOR_EXPIRED = 1 << 9,
};

/* Creates a tensor object from a valid tensor; NULL strides become row-major
 * ones. Takes ownership of `owner`. Returns NULL, and does not take ownership,
 * if memory is exhausted. */
fnabi_held_tensor* fnabi_tensor_new(const fnabi_dl_tensor* like, void* owner,
                                    void (*let_go)(void* owner),
                                    uint64_t flags);
void fnabi_tensor_delete(void* self, int flags);
/* Makes a tensor of at most FNABI_TENSOR_DIMS dims of another one, which nobody
 * has a reference to. */
enum { FNABI_TENSOR_DIMS = 4 };
void fnabi_tensor_renew(fnabi_held_tensor* held, const fnabi_dl_tensor* like,
                        void* owner, void (*let_go)(void* owner),
                        uint64_t flags);

/* Returns the object, or NULL if fnabi did not create it. */
static inline fnabi_held_tensor* fnabi_tensor_held(const void* object) {
  return ((const fnabi_object*)object)->deleter == fnabi_tensor_delete
             ? (fnabi_held_tensor*)object
             : NULL;
}

/* Create a tensor object from one of DLPack's structs, and take ownership of
 * the struct even on failure: its deleter is then called. Return NULL on
 * failure; *problem is the reason, or NULL if memory is exhausted. */
fnabi_held_tensor* fnabi_tensor_of_managed(fnabi_dl_managed* managed,
                                           const char** problem);
fnabi_held_tensor* fnabi_tensor_of_versioned(fnabi_dl_versioned* managed,
                                             const char** problem);

/* Export a valid tensor as one of DLPack's structs, which holds a reference to
 * the object. Return NULL if memory is exhausted. */
fnabi_dl_managed* fnabi_tensor_to_managed(fnabi_tensor_object* tensor);
fnabi_dl_versioned* fnabi_tensor_to_versioned(fnabi_tensor_object* tensor,
                                              uint64_t flags);
/* The same, which takes over a reference of the caller unless it fails. */
fnabi_dl_versioned* fnabi_tensor_into_versioned(fnabi_tensor_object* tensor,
                                                uint64_t flags);

/* Returns a compact copy of a valid tensor in memory that the CPU can access.
 * If the elements are not whole bytes, the tensor must be compact. Returns NULL
 * if memory is exhausted. */
fnabi_held_tensor* fnabi_tensor_copy(const fnabi_dl_tensor* tensor);

/* A tensor of the CPU with the shape and dtype of another, in new memory that is
 * not written. NULL: out of memory, or the reason in *problem. */
fnabi_held_tensor* fnabi_tensor_allocate(const fnabi_dl_tensor* like,
                                         const char** problem);

#endif
