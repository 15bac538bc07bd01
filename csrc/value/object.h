/* object.h - the counted objects of TVM-FFI's stable C ABI. Private.
 *
 * A count may change on any thread at any time. What is made here is owned by
 * whoever called: one strong reference. NULL: out of memory. */
#ifndef FNABI_OBJECT_H
#define FNABI_OBJECT_H

#include "value/any.h"

enum { FNABI_DELETER_STRONG = 1, FNABI_DELETER_WEAK = 2 };
#define FNABI_WEAK_ONE ((uint64_t)1 << 32)

static inline void fnabi_object_retain(void* object) {
  __atomic_fetch_add(&((fnabi_object*)object)->counts, 1, __ATOMIC_RELAXED);
}

/* Runs the deleter of an object that has lost its last strong reference. */
void fnabi_object_last(fnabi_object* object, uint64_t before);

static inline void fnabi_object_release(void* object) {
  fnabi_object* o = (fnabi_object*)object;
  uint64_t before = __atomic_fetch_sub(&o->counts, 1, __ATOMIC_RELEASE);
  if ((uint32_t)before == 1) fnabi_object_last(o, before);
}

static inline void fnabi_any_retain(const fnabi_any* any) {
  if (fnabi_any_is_object(any)) fnabi_object_retain(any->v_object);
}

/* The value becomes None. */
static inline void fnabi_any_release(fnabi_any* any) {
  fnabi_any old = *any;
  fnabi_any_set(any, FNABI_INDEX_NONE, 0);
  if (fnabi_any_is_object(&old)) fnabi_object_release(old.v_object);
}

static inline void fnabi_object_retain_weak(void* object) {
  __atomic_fetch_add(&((fnabi_object*)object)->counts, FNABI_WEAK_ONE,
                     __ATOMIC_RELAXED);
}
void fnabi_object_release_weak(void* object);
/* A strong reference beside a weak one; false when the object is destroyed. */
bool fnabi_object_promote(void* object);

/* `size` bytes, header included, all zero but the header. The deleter ends with
 * fnabi_object_free when its flags have FNABI_DELETER_WEAK. A NULL deleter
 * stands for fnabi_object_delete. */
void* fnabi_object_new(size_t size, int32_t type_index,
                       void (*deleter)(void* self, int flags));
/* The same, of which only the header is written. */
void* fnabi_object_new_raw(size_t size, int32_t type_index,
                           void (*deleter)(void* self, int flags));
void fnabi_object_free(void* object);

/* Gives back what an ARRAY, LIST, MAP, DICT or ERROR holds, nothing of any
 * other; then frees it, as the flags say. Needs no stack for objects inside
 * objects, however deep, where this is their deleter. */
void fnabi_object_delete(void* self, int flags);

/* A string (UTF-8, which is the caller's to check) or bytes, small where it
 * fits; false: out of memory, and *out is None. */
bool fnabi_string_new(const char* data, size_t size, fnabi_any* out);
bool fnabi_bytes_new(const char* data, size_t size, fnabi_any* out);

fnabi_shape_object* fnabi_shape_new(const int64_t* dims, size_t ndim);

/* The texts are copied. `extra` zero bytes follow the object for whoever made
 * it; `deleter` is then his, and calls fnabi_error_object_delete at its end. It
 * is NULL where there is nothing else to give back. */
fnabi_error_object* fnabi_error_object_new(const fnabi_byte_array* kind,
                                           const fnabi_byte_array* message,
                                           const fnabi_byte_array* backtrace,
                                           size_t extra,
                                           void (*deleter)(void*, int));
static inline void fnabi_error_object_delete(void* error, int flags) {
  fnabi_object_delete(error, flags);
}

/* A function whose state is the `extra` bytes that follow it. */
fnabi_function_object* fnabi_function_new(fnabi_call call, size_t extra,
                                          void (*deleter)(void*, int));

/* Two's complement words, least significant first, at least one, as few as will
 * do or not; an INT where they fit one. */
bool fnabi_int_new(const uint64_t* words, size_t count, fnabi_any* out);

#endif
