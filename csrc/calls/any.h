/* any.h - values of TVM-FFI's stable C ABI. Private; fnabi.h defines the
 * layouts.
 *
 * Values from other libraries are trusted where they cannot be checked: the
 * payload of an object must point to an object. Type indexes, padding and the
 * sizes stored in the value are checked. */
#ifndef FNABI_ANY_H
#define FNABI_ANY_H

#include <string.h>

#include "base/platform.h"
#include "fnabi.h"

static inline bool fnabi_any_is_object(const fnabi_any* any) {
  return any->type_index >= FNABI_INDEX_OBJECT;
}

static inline void fnabi_any_set(fnabi_any* any, int32_t type_index,
                                 int64_t payload) {
  any->type_index = type_index;
  any->small_size = 0;
  any->v_int = payload;
}

static inline void fnabi_any_set_float(fnabi_any* any, double value) {
  any->type_index = FNABI_INDEX_FLOAT;
  any->small_size = 0;
  any->v_float = value;
}

/* Takes over one strong reference. */
static inline void fnabi_any_set_object(fnabi_any* any, void* object) {
  any->type_index = ((fnabi_object*)object)->type_index;
  any->small_size = 0;
  any->v_bits = 0;
  any->v_object = (fnabi_object*)object;
}

/* Returns the text of a string (STR, SMALL_STR, RAW_STR) or of bytes (BYTES,
 * SMALL_BYTES, BYTE_ARRAY). It may point into *any, so it is valid as long as
 * *any is neither moved nor changed. False for any other value, for a small
 * text whose size exceeds FNABI_SMALL_MAX, and for a NULL pointer. */
bool fnabi_any_string(const fnabi_any* any, fnabi_byte_array* text);
bool fnabi_any_bytes(const fnabi_any* any, fnabi_byte_array* text);

/* Returns the object of a value, or NULL if the value is not an object, its
 * payload is no address, or its type index differs from that in the object's header. Code that casts the
 * payload of a foreign value must call this first. */
static inline fnabi_object* fnabi_any_object(const fnabi_any* any) {
  if (!fnabi_any_is_object(any) || !fnabi_is_address(any->v_object) ||
      any->v_object->type_index != any->type_index)
    return NULL;
  return any->v_object;
}

/* Clears the padding and the payload bytes that the type does not use, and
 * makes a BOOL 0 or 1, so that equal values have equal bytes. */
void fnabi_any_normalize(fnabi_any* any);

/* Makes an owned value from a view: copies texts, moves the object of an
 * RVALUE, and adds a reference to any other object. An RVALUE that was already
 * moved becomes None. Returns FNABI_MEMORY, or FNABI_UNSUPPORTED for a
 * DLTENSOR, because its lifetime is unknown, and for a text with an invalid
 * size or a NULL pointer. On failure *out is None. */
fnabi_code fnabi_any_own(const fnabi_any* view, fnabi_any* out);

/* Compare and hash values as keys of a map. Two values are equal if their 16
 * bytes are equal, if both are strings or both are bytes and their contents are
 * equal, or if both are big ints with equal words. Other objects are equal only
 * if they are the same object. Equal values have equal hashes. */
bool fnabi_any_equal(const fnabi_any* a, const fnabi_any* b);
uint64_t fnabi_any_hash(const fnabi_any* any);

/* Returns the type key of a type index ("ffi.String"), a static string, or NULL
 * if fnabi_type_index does not list it. */
const char* fnabi_type_key(int32_t type_index);

#endif
