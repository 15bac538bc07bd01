/* any.h - values of TVM-FFI's stable C ABI. Private; the layouts stand in
 * fnabi.h.
 *
 * Foreign values are trusted as far as the ABI obliges their makers to keep to
 * it: an object's payload is an object. Type indexes, padding and sizes that a
 * value carries itself are checked. */
#ifndef FNABI_ANY_H
#define FNABI_ANY_H

#include <string.h>

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

/* The text of a string (STR, SMALL_STR, RAW_STR) or of bytes (BYTES,
 * SMALL_BYTES, BYTE_ARRAY), which lives as long as the value stays where it is;
 * false for any other value, for a small text of impossible size, and for a
 * NULL. */
bool fnabi_any_string(const fnabi_any* any, fnabi_byte_array* text);
bool fnabi_any_bytes(const fnabi_any* any, fnabi_byte_array* text);

/* Clears the padding and the payload bytes that the type does not use, and
 * makes a BOOL 0 or 1, so that equal values have equal bytes. */
void fnabi_any_normalize(fnabi_any* any);

/* Makes an owned value of a view: texts are copied, a RVALUE's object is taken,
 * objects get one more reference. FNABI_MEMORY; or FNABI_UNSUPPORTED for a
 * DLTENSOR, whose life is not known, and for what is to be a text and is none,
 * by its size or a NULL; *out is then None. A RVALUE that was taken is None. */
fnabi_code fnabi_any_own(const fnabi_any* view, fnabi_any* out);

/* As keys of a map compare: the same 16 bytes, or the same text as a string, or
 * as bytes, in whatever form. Equal values have equal hashes; of an object
 * other than a text or a big int the pointer counts. */
bool fnabi_any_equal(const fnabi_any* a, const fnabi_any* b);
uint64_t fnabi_any_hash(const fnabi_any* any);

/* The key of a type index ("ffi.String"), static; NULL for one that is not in
 * fnabi_type_index. */
const char* fnabi_type_key(int32_t type_index);

#endif
