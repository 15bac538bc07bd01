/* vector.h - memory that grows. Private. */
#ifndef FNABI_VECTOR_H
#define FNABI_VECTOR_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A growing array; sizes in bytes. */
typedef struct fnabi_vector {
  uint8_t* data;
  size_t size, room;
} fnabi_vector;

/* Room for that many bytes more; false when there is no memory. */
static inline bool fnabi_vector_reserve(fnabi_vector* v, size_t more) {
  if (more <= v->room - v->size) return true;
  if (more > SIZE_MAX / 2 - v->size) return false;
  size_t room = v->size + more;
  if (room < 2 * v->room) room = 2 * v->room;
  uint8_t* data = realloc(v->data, room);
  if (data == NULL) return false;
  v->data = data;
  v->room = room;
  return true;
}

static inline bool fnabi_vector_append(fnabi_vector* v, const void* bytes,
                                       size_t size) {
  if (!fnabi_vector_reserve(v, size)) return false;
  if (size != 0) memcpy(v->data + v->size, bytes, size);
  v->size += size;
  return true;
}

#endif /* FNABI_VECTOR_H */
