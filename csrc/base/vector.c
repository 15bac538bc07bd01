/* Memory that grows. */
#if defined(__linux__)
#define _DEFAULT_SOURCE /* madvise */
#include <sys/mman.h>
#endif

#include "base/vector.h"

/* Touching new memory takes as long as decoding into it; with huge pages, a
 * third of that. They are requested for arrays that fill at least half of one.
 * Large arrays are not copied: realloc keeps each in a mapping of its own and
 * moves that. */
static uint8_t* resize(fnabi_vector* v, size_t* capacity) {
#if defined(MADV_HUGEPAGE)
  enum { HUGE = 1 << 21, MAPPED = 1 << 26 };
  if (*capacity >= HUGE / 2 && *capacity <= SIZE_MAX - HUGE) {
    bool moved = v->capacity >= MAPPED;
    size_t size = (*capacity + HUGE - 1) & ~(size_t)(HUGE - 1);
    uint8_t* data = moved ? realloc(v->data, size) : aligned_alloc(HUGE, size);
    if (data == NULL) return NULL;
    /* if it fails, pages are small */
    size_t first = (HUGE - (uintptr_t)data % HUGE) % HUGE;
    madvise(data + first, size - first, MADV_HUGEPAGE);
    if (!moved) {
      if (v->size != 0) memcpy(data, v->data, v->size);
      free(v->data);
    }
    *capacity = size;
    return data;
  }
#endif
  return realloc(v->data, *capacity);
}

bool fnabi_vector_grow(fnabi_vector* v, size_t more) {
  if (more > SIZE_MAX / 2 - v->size) return false;
  size_t capacity = v->size + more;
  if (capacity < 2 * v->capacity) capacity = 2 * v->capacity;
  uint8_t* data = resize(v, &capacity);
  if (data == NULL) return false;
  v->data = data;
  v->capacity = capacity;
  return true;
}
