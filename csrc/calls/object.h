/* object.h - the reference-counted objects of TVM-FFI's stable C ABI. Private.
 *
 * Other threads may change a count at any time. The functions that create an
 * object return it with one strong reference, which the caller owns, or NULL if
 * memory is exhausted. */
#ifndef FNABI_OBJECT_H
#define FNABI_OBJECT_H

#include "base/platform.h"
#include "calls/any.h"

enum { FNABI_DELETER_STRONG = 1, FNABI_DELETER_WEAK = 2 };
#define FNABI_WEAK_ONE ((uint64_t)1 << 32)

static inline void fnabi_object_retain(void* object) {
  fnabi_atomic_add(&((fnabi_object*)object)->counts, 1, RELAXED);
}

/* Runs the deleter of an object that has lost its last strong reference. */
void fnabi_object_last(fnabi_object* object, uint64_t before);

static inline void fnabi_object_release(void* object) {
  fnabi_object* o = (fnabi_object*)object;
  uint64_t before = fnabi_atomic_subtract(&o->counts, 1, RELEASE);
  if ((uint32_t)before == 1) fnabi_object_last(o, before);
}

static inline void fnabi_any_retain(const fnabi_any* any) {
  if (fnabi_any_is_object(any)) fnabi_object_retain(any->v_object);
}

/* Sets the value to None. */
static inline void fnabi_any_release(fnabi_any* any) {
  fnabi_any old = *any;
  fnabi_any_set(any, FNABI_INDEX_NONE, 0);
  if (fnabi_any_is_object(&old)) fnabi_object_release(old.v_object);
}

static inline void fnabi_object_retain_weak(void* object) {
  fnabi_atomic_add(&((fnabi_object*)object)->counts, FNABI_WEAK_ONE, RELAXED);
}
void fnabi_object_release_weak(void* object);
/* Adds a strong reference; the caller has a weak one. Returns false if the
 * object is already destroyed. */
bool fnabi_object_promote(void* object);

/* Creates an object of `size` bytes including the header; the bytes after the
 * header are zero. If its flags contain FNABI_DELETER_WEAK, the deleter must
 * end with fnabi_object_free. A NULL deleter means fnabi_object_delete. */
void* fnabi_object_new(size_t size, int32_t type_index,
                       void (*deleter)(void* self, int flags));
/* The same, but leaves the bytes after the header uninitialized. */
void* fnabi_object_new_raw(size_t size, int32_t type_index,
                           void (*deleter)(void* self, int flags));
void fnabi_object_free(void* object);

/* Releases what an ARRAY, LIST, MAP, DICT or ERROR holds, and frees the object,
 * depending on the flags. Other types hold nothing. Nested objects with this
 * deleter are destroyed without recursion. */
void fnabi_object_delete(void* self, int flags);

/* Create a string or bytes, stored in the value itself if it fits. The caller
 * checks that a string is UTF-8. Return false if memory is exhausted; *out is
 * then None. */
bool fnabi_string_new(const char* data, size_t size, fnabi_any* out);
bool fnabi_bytes_new(const char* data, size_t size, fnabi_any* out);

fnabi_shape_object* fnabi_shape_new(const int64_t* dims, size_t ndim);

/* Copies the texts. `extra` zero bytes follow the object, for the caller's own
 * use. If they hold something to release, the caller passes a `deleter`, which
 * must end with fnabi_error_object_delete; otherwise it passes NULL. */
fnabi_error_object* fnabi_error_object_new(const fnabi_byte_array* kind,
                                           const fnabi_byte_array* message,
                                           const fnabi_byte_array* backtrace,
                                           size_t extra,
                                           void (*deleter)(void*, int));
static inline void fnabi_error_object_delete(void* error, int flags) {
  fnabi_object_delete(error, flags);
}

/* Creates a function. Its state is the `extra` bytes that follow the object. */
fnabi_function_object* fnabi_function_new(fnabi_call call, size_t extra,
                                          void (*deleter)(void*, int));

/* Creates an integer from at least one two's complement word, least significant
 * first. The result is an INT if the number fits in 64 bits, otherwise a
 * BIG_INT without redundant words. */
bool fnabi_int_new(const uint64_t* words, size_t count, fnabi_any* out);

#endif
