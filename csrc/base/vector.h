/* vector.h - memory that grows. Private. */
#ifndef FNABI_VECTOR_H
#define FNABI_VECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A growing array; size and capacity in bytes. All zero at first. */
typedef struct fnabi_vector {
  uint8_t* data;
  size_t size, capacity;
} fnabi_vector;

/* Moves the array to memory with a capacity for `more` bytes after it. */
bool fnabi_vector_grow(fnabi_vector* v, size_t more);

/* Ensures a capacity for `more` bytes after the array; false if out of memory.
 */
static inline bool fnabi_vector_reserve(fnabi_vector* v, size_t more) {
  return more <= v->capacity - v->size || fnabi_vector_grow(v, more);
}

static inline bool fnabi_vector_append(fnabi_vector* v, const void* bytes,
                                       size_t size) {
  if (!fnabi_vector_reserve(v, size)) return false;
  if (size != 0) memcpy(v->data + v->size, bytes, size);
  v->size += size;
  return true;
}

/* Frees the memory of an array unless its capacity is at most `kept` bytes. */
static inline void fnabi_vector_shrink(fnabi_vector* v, size_t kept) {
  if (v->capacity <= kept) return;
  free(v->data);
  *v = (fnabi_vector){NULL, 0, 0};
}

/* Element `i` of an array of int32 or int64. */
static inline int32_t fnabi_vector_int32(const fnabi_vector* v, size_t i) {
  int32_t number;
  memcpy(&number, v->data + i * sizeof number, sizeof number);
  return number;
}

static inline int64_t fnabi_vector_int64(const fnabi_vector* v, size_t i) {
  int64_t number;
  memcpy(&number, v->data + i * sizeof number, sizeof number);
  return number;
}

#endif /* FNABI_VECTOR_H */
