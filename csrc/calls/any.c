/* Values of TVM-FFI's stable C ABI. */
#include "calls/any.h"

#include "calls/object.h"

/* Returns the text of an object whose type index is that of a text. */
static bool object_text(const fnabi_any* any, fnabi_byte_array* text) {
  const fnabi_object* object = fnabi_any_object(any);
  if (object == NULL) return false;
  *text = ((const fnabi_bytes_object*)object)->text;
  return fnabi_is_address(text->data) || text->size == 0;
}

bool fnabi_any_string(const fnabi_any* any, fnabi_byte_array* text) {
  switch (any->type_index) {
    case FNABI_INDEX_STR:
      return object_text(any, text);
    case FNABI_INDEX_SMALL_STR:
      *text = (fnabi_byte_array){any->v_small, any->small_size};
      return any->small_size <= FNABI_SMALL_MAX;
    case FNABI_INDEX_RAW_STR:
      if (!fnabi_is_address(any->v_str)) return false;
      *text = (fnabi_byte_array){any->v_str, strlen(any->v_str)};
      return true;
    default:
      return false;
  }
}

bool fnabi_any_bytes(const fnabi_any* any, fnabi_byte_array* text) {
  switch (any->type_index) {
    case FNABI_INDEX_BYTES:
      return object_text(any, text);
    case FNABI_INDEX_SMALL_BYTES:
      *text = (fnabi_byte_array){any->v_small, any->small_size};
      return any->small_size <= FNABI_SMALL_MAX;
    case FNABI_INDEX_BYTE_ARRAY:
      if (!fnabi_is_address(any->v_pointer)) return false;
      *text = *(const fnabi_byte_array*)any->v_pointer;
      return true;
    default:
      return false;
  }
}

void fnabi_any_normalize(fnabi_any* any) {
  uint32_t size = any->small_size;
  any->small_size = 0;
  switch (any->type_index) {
    case FNABI_INDEX_NONE:
      any->v_bits = 0;
      break;
    case FNABI_INDEX_BOOL:
      any->v_int = any->v_int != 0;
      break;
    case FNABI_INDEX_DTYPE:
      memset(any->v_small + sizeof any->v_dtype, 0,
             sizeof any->v_small - sizeof any->v_dtype);
      break;
    case FNABI_INDEX_SMALL_STR:
    case FNABI_INDEX_SMALL_BYTES:
      /* An invalid size is kept, so that later checks detect it. */
      any->small_size = size;
      if (size <= FNABI_SMALL_MAX)
        memset(any->v_small + size, 0, sizeof any->v_small - size);
      break;
    default:
      break;
  }
}

fnabi_code fnabi_any_own(const fnabi_any* view, fnabi_any* out) {
  fnabi_byte_array text;
  fnabi_any value = *view;
  fnabi_any_set(out, FNABI_INDEX_NONE, 0);
  switch (value.type_index) {
    case FNABI_INDEX_DLTENSOR:
      return FNABI_UNSUPPORTED;
    case FNABI_INDEX_RAW_STR:
      if (!fnabi_any_string(&value, &text)) return FNABI_UNSUPPORTED;
      return fnabi_string_new(text.data, text.size, out) ? FNABI_OK
                                                         : FNABI_MEMORY;
    case FNABI_INDEX_BYTE_ARRAY:
      if (!fnabi_any_bytes(&value, &text)) return FNABI_UNSUPPORTED;
      return fnabi_bytes_new(text.data, text.size, out) ? FNABI_OK
                                                        : FNABI_MEMORY;
    case FNABI_INDEX_SMALL_STR:
    case FNABI_INDEX_SMALL_BYTES:
      if (value.small_size > FNABI_SMALL_MAX) return FNABI_UNSUPPORTED;
      break;
    case FNABI_INDEX_RVALUE: {
      fnabi_object** slot = (fnabi_object**)value.v_pointer;
      if (slot == NULL || *slot == NULL) return FNABI_OK;
      fnabi_any_set_object(out, *slot);
      *slot = NULL;
      return FNABI_OK;
    }
    default:
      break;
  }
  fnabi_any_normalize(&value);
  fnabi_any_retain(&value);
  *out = value;
  return FNABI_OK;
}

/* --------------------------------------------------------------------- keys */

static bool same_text(const fnabi_byte_array* a, const fnabi_byte_array* b) {
  return a->size == b->size &&
         (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static fnabi_byte_array big_int_text(const fnabi_any* any) {
  const fnabi_big_int_object* big = (const fnabi_big_int_object*)any->v_object;
  return (fnabi_byte_array){(const char*)(big + 1),
                            big->words * sizeof(uint64_t)};
}

bool fnabi_any_equal(const fnabi_any* a, const fnabi_any* b) {
  fnabi_byte_array left, right;
  if (memcmp(a, b, sizeof *a) == 0) return true;
  if (fnabi_any_string(a, &left))
    return fnabi_any_string(b, &right) && same_text(&left, &right);
  if (fnabi_any_bytes(a, &left))
    return fnabi_any_bytes(b, &right) && same_text(&left, &right);
  if (a->type_index == FNABI_INDEX_BIG_INT && b->type_index == a->type_index) {
    left = big_int_text(a);
    right = big_int_text(b);
    return same_text(&left, &right);
  }
  return false;
}

/* The hashes are part of the ABI: every library finds keys of a map by them. */

static uint64_t combine(uint64_t index, uint64_t hash) {
  return index ^ (hash + 0x9E3779B9u + (index << 6) + (index >> 2));
}

static uint64_t add_word(uint64_t hash, const char* at, size_t size) {
  uint64_t word = 0;
  memcpy(&word, at, size);
  if (FNABI_BIG_ENDIAN) word = fnabi_swap_bytes(word);
  return (hash * UINT64_C(1099511628211) + word) % 2147483647u;
}

/* Hashes little-endian words of 8 bytes; the last one is padded with zeros. */
static uint64_t hash_text(const fnabi_byte_array* text) {
  const char* at = text->data;
  size_t left = text->size;
  uint64_t hash = 0;
  for (; left >= 8; at += 8, left -= 8) hash = add_word(hash, at, 8);
  return left > 0 ? add_word(hash, at, left) : hash;
}

uint64_t fnabi_any_hash(const fnabi_any* any) {
  fnabi_byte_array text;
  if (fnabi_any_string(any, &text))
    return combine(FNABI_INDEX_STR, hash_text(&text));
  if (fnabi_any_bytes(any, &text))
    return combine(FNABI_INDEX_BYTES, hash_text(&text));
  if (any->type_index == FNABI_INDEX_BIG_INT) {
    text = big_int_text(any);
    return combine(FNABI_INDEX_BIG_INT, hash_text(&text));
  }
  return combine((uint64_t)(int64_t)any->type_index, any->v_bits);
}

const char* fnabi_type_key(int32_t type_index) {
  switch (type_index) {
    case FNABI_INDEX_ANY:
      return "Any";
    case FNABI_INDEX_NONE:
      return "None";
    case FNABI_INDEX_INT:
      return "int";
    case FNABI_INDEX_BOOL:
      return "bool";
    case FNABI_INDEX_FLOAT:
      return "float";
    case FNABI_INDEX_POINTER:
      return "void*";
    case FNABI_INDEX_DTYPE:
      return "DataType";
    case FNABI_INDEX_DEVICE:
      return "Device";
    case FNABI_INDEX_DLTENSOR:
      return "DLTensor*";
    case FNABI_INDEX_RAW_STR:
      return "const char*";
    case FNABI_INDEX_BYTE_ARRAY:
      return "TVMFFIByteArray*";
    case FNABI_INDEX_RVALUE:
      return "ObjectRValueRef";
    case FNABI_INDEX_SMALL_STR:
      return "ffi.SmallStr";
    case FNABI_INDEX_SMALL_BYTES:
      return "ffi.SmallBytes";
    case FNABI_INDEX_UNCHANGED:
      return "ffi.Unchanged";
    case FNABI_INDEX_OBJECT:
      return "ffi.Object";
    case FNABI_INDEX_STR:
      return "ffi.String";
    case FNABI_INDEX_BYTES:
      return "ffi.Bytes";
    case FNABI_INDEX_ERROR:
      return "ffi.Error";
    case FNABI_INDEX_FUNCTION:
      return "ffi.Function";
    case FNABI_INDEX_SHAPE:
      return "ffi.Shape";
    case FNABI_INDEX_TENSOR:
      return "ffi.Tensor";
    case FNABI_INDEX_ARRAY:
      return "ffi.Array";
    case FNABI_INDEX_MAP:
      return "ffi.Map";
    case FNABI_INDEX_MODULE:
      return "ffi.Module";
    case FNABI_INDEX_OPAQUE_PY:
      return "ffi.OpaquePyObject";
    case FNABI_INDEX_LIST:
      return "ffi.List";
    case FNABI_INDEX_DICT:
      return "ffi.Dict";
    case FNABI_INDEX_VISIT_INTERRUPT:
      return "ffi.VisitInterrupt";
    case FNABI_INDEX_BIG_INT:
      return "ffi.BigInt";
    default:
      return NULL;
  }
}
