/* ARRAY, which is immutable once it is shared, and LIST, which is mutable. */
#include "calls/array.h"

#include <stdlib.h>

/* Keeps sizes in bytes below half of PTRDIFF_MAX, so that doubling a capacity
 * cannot overflow. */
#define SIZE_LIMIT ((int64_t)(PTRDIFF_MAX / sizeof(fnabi_any) / 2))

fnabi_seq_object* fnabi_array_new(int64_t size) {
  if (size < 0 || size > SIZE_LIMIT) return NULL;
  fnabi_seq_object* array =
      fnabi_object_new(sizeof *array + (size_t)size * sizeof *array->data,
                       FNABI_INDEX_ARRAY, NULL);
  if (array == NULL) return NULL;
  array->data = (fnabi_any*)(array + 1);
  array->size = array->capacity = size;
  return array;
}

fnabi_seq_object* fnabi_list_new(int64_t size) {
  if (size < 0 || size > SIZE_LIMIT) return NULL;
  fnabi_seq_object* list =
      fnabi_object_new(sizeof *list, FNABI_INDEX_LIST, NULL);
  if (list == NULL) return NULL;
  /* Other libraries call the deleter when they grow a list, even if it has no
   * buffer yet. */
  list->data_deleter = free;
  if (size == 0) return list;
  list->data = calloc((size_t)size, sizeof *list->data);
  if (list->data == NULL) {
    fnabi_object_free(list);
    return NULL;
  }
  list->size = list->capacity = size;
  return list;
}

const char* fnabi_seq_problem(const fnabi_seq_object* seq) {
  if (seq->size < 0) return "its size is negative";
  if (seq->size > SIZE_LIMIT) return "its size is larger than memory";
  if (seq->size > 0 && !fnabi_is_address(seq->data))
    return "it has no values at all";
  return NULL;
}

/* Another library may own the old buffer, so its deleter frees it. */
static bool grow(fnabi_seq_object* list) {
  if (list->capacity > SIZE_LIMIT / 2) return false;
  int64_t capacity = list->capacity < 2 ? 4 : 2 * list->capacity;
  fnabi_any* data = malloc((size_t)capacity * sizeof *data);
  if (data == NULL) return false;
  if (list->size > 0)
    memcpy(data, list->data, (size_t)list->size * sizeof *data);
  if (list->data_deleter != NULL) list->data_deleter(list->data);
  list->data = data;
  list->capacity = capacity;
  list->data_deleter = free;
  return true;
}

bool fnabi_list_insert(fnabi_seq_object* list, int64_t index,
                       const fnabi_any* value) {
  fnabi_any taken = *value; /* *value may be an element of this list */
  if (list->size >= list->capacity && !grow(list)) return false;
  fnabi_any* at = list->data + index;
  memmove(at + 1, at, (size_t)(list->size - index) * sizeof *at);
  *at = taken;
  list->size++;
  return true;
}

/* Releasing a value may run arbitrary code, and that may change the list or give
 * it up. So the list is held, and values are removed from it before they are
 * released: all at once, or in groups of 32 if memory is exhausted. */
void fnabi_list_erase(fnabi_seq_object* list, int64_t index, int64_t count) {
  fnabi_any few[32];
  const int64_t capacity = (int64_t)(sizeof few / sizeof *few);
  fnabi_object_retain(list);
  while (count > 0 && index < list->size) {
    if (count > list->size - index) count = list->size - index;
    int64_t group = count;
    fnabi_any* values = few;
    if (count > capacity) {
      values = malloc((size_t)count * sizeof *values);
      if (values == NULL) {
        values = few;
        group = capacity;
      }
    }
    fnabi_any* at = list->data + index;
    memcpy(values, at, (size_t)group * sizeof *at);
    memmove(at, at + group, (size_t)(list->size - index - group) * sizeof *at);
    list->size -= group;
    count -= group;
    for (int64_t i = 0; i < group; i++) fnabi_any_release(&values[i]);
    if (values != few) free(values);
  }
  fnabi_object_release(list);
}
