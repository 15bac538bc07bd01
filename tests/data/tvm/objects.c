/* The objects of the core behind the universal calling convention, so that
 * another implementation of the ABI and this one work on the same objects.
 * Arguments are trusted. */
#include <stdlib.h>

#include "calls/array.h"
#include "calls/map.h"

#define EXPORT(name)                                           \
  __attribute__((visibility("default"))) int __tvm_ffi_##name( \
      void* handle, const fnabi_any* args, int32_t n, fnabi_any* result)

#define BEGIN (void)handle, (void)n, (void)args

static fnabi_any* owned(const fnabi_any* args, int32_t n) {
  fnabi_any* values = calloc((size_t)n + 1, sizeof *values);
  if (values == NULL) abort();
  for (int32_t i = 0; i < n; i++)
    if (fnabi_any_own(&args[i], &values[i]) != FNABI_OK) abort();
  return values;
}

static int give(fnabi_any* result, void* object) {
  if (object == NULL) return -1;
  fnabi_any_set_object(result, object);
  return 0;
}

static int give_int(fnabi_any* result, int64_t value) {
  fnabi_any_set(result, FNABI_INDEX_INT, value);
  return 0;
}

static fnabi_map_object* map_of(const fnabi_any* any) {
  return (fnabi_map_object*)any->v_object;
}

static fnabi_seq_object* seq_of(const fnabi_any* any) {
  return (fnabi_seq_object*)any->v_object;
}

/* (type index, key, value, ...) */
EXPORT(map_new) {
  BEGIN;
  fnabi_any* values = owned(args + 1, n - 1);
  fnabi_map_object* map =
      fnabi_map_new(values, (size_t)(n - 1) / 2, (int32_t)args[0].v_int);
  free(values);
  return give(result, map);
}

EXPORT(map_set) {
  BEGIN;
  (void)result;
  fnabi_any* pair = owned(args + 1, 2);
  bool done = fnabi_map_set(map_of(args), &pair[0], &pair[1]);
  free(pair);
  return done ? 0 : -1;
}

EXPORT(map_erase) {
  BEGIN;
  fnabi_any_set(result, FNABI_INDEX_BOOL,
                fnabi_map_erase(map_of(args), &args[1]));
  return 0;
}

EXPORT(map_clear) {
  BEGIN;
  (void)result;
  fnabi_map_clear(map_of(args));
  return 0;
}

/* (map, key, what there is if not) */
EXPORT(map_find) {
  BEGIN;
  const fnabi_any* value = fnabi_map_find(map_of(args), &args[1]);
  return fnabi_any_own(value == NULL ? &args[2] : value, result);
}

/* Keys and values in turn. */
EXPORT(map_items) {
  BEGIN;
  const fnabi_any *key, *value;
  uint64_t cursor = FNABI_MAP_BEGIN;
  fnabi_seq_object* items = fnabi_array_new(2 * (int64_t)map_of(args)->size);
  if (items == NULL) return -1;
  for (int64_t i = 0; fnabi_map_next(map_of(args), &cursor, &key, &value);
       i += 2)
    if (fnabi_any_own(key, &items->data[i]) != FNABI_OK ||
        fnabi_any_own(value, &items->data[i + 1]) != FNABI_OK)
      abort();
  return give(result, items);
}

EXPORT(map_slots) {
  BEGIN;
  return give_int(result, (int64_t)map_of(args)->slots);
}

EXPORT(array_new) {
  BEGIN;
  fnabi_seq_object* array = fnabi_array_new(n);
  fnabi_any* values = owned(args, n);
  if (array != NULL && n > 0)
    memcpy(array->data, values, (size_t)n * sizeof *values);
  free(values);
  return give(result, array);
}

EXPORT(list_new) {
  BEGIN;
  fnabi_seq_object* list = fnabi_list_new(n);
  fnabi_any* values = owned(args, n);
  if (list != NULL && n > 0)
    memcpy(list->data, values, (size_t)n * sizeof *values);
  free(values);
  return give(result, list);
}

EXPORT(list_insert) {
  BEGIN;
  (void)result;
  fnabi_any* value = owned(args + 2, 1);
  bool done = fnabi_list_insert(seq_of(args), args[1].v_int, value);
  free(value);
  return done ? 0 : -1;
}

EXPORT(list_erase) {
  BEGIN;
  (void)result;
  fnabi_list_erase(seq_of(args), args[1].v_int, args[2].v_int);
  return 0;
}

EXPORT(list_items) {
  BEGIN;
  const fnabi_seq_object* list = seq_of(args);
  fnabi_seq_object* items = fnabi_array_new(list->size);
  if (items == NULL) return -1;
  for (int64_t i = 0; i < list->size; i++)
    if (fnabi_any_own(&list->data[i], &items->data[i]) != FNABI_OK) abort();
  return give(result, items);
}

/* Always a large one. */
EXPORT(string_new) {
  BEGIN;
  fnabi_byte_array text;
  if (!fnabi_any_string(args, &text)) return -1;
  return fnabi_string_new(text.data, text.size, result) ? 0 : -1;
}

EXPORT(bytes_new) {
  BEGIN;
  fnabi_byte_array text;
  if (!fnabi_any_bytes(args, &text)) return -1;
  return fnabi_bytes_new(text.data, text.size, result) ? 0 : -1;
}

EXPORT(shape_new) {
  BEGIN;
  int64_t dims[8];
  for (int32_t i = 0; i < n; i++) dims[i] = args[i].v_int;
  return give(result, fnabi_shape_new(dims, (size_t)n));
}

/* (words as bytes) */
EXPORT(int_new) {
  BEGIN;
  fnabi_byte_array text;
  uint64_t words[64];
  if (!fnabi_any_bytes(args, &text) || text.size > sizeof words) return -1;
  memcpy(words, text.data, text.size);
  return fnabi_int_new(words, text.size / sizeof *words, result) ? 0 : -1;
}

/* (kind, message, backtrace) */
EXPORT(error_new) {
  BEGIN;
  fnabi_byte_array texts[3];
  for (int i = 0; i < 3; i++)
    if (!fnabi_any_string(&args[i], &texts[i])) return -1;
  return give(result,
              fnabi_error_object_new(&texts[0], &texts[1], &texts[2], 0, NULL));
}

typedef struct adder {
  fnabi_function_object function;
  int64_t sum;
} adder;

static int add(void* handle, const fnabi_any* args, int32_t n,
               fnabi_any* result) {
  adder* self = handle;
  for (int32_t i = 0; i < n; i++) self->sum += args[i].v_int;
  return give_int(result, self->sum);
}

/* A function that adds up all that it was ever called with. */
EXPORT(function_new) {
  BEGIN;
  return give(result,
              fnabi_function_new(
                  add, sizeof(adder) - sizeof(fnabi_function_object), NULL));
}

EXPORT(hash) {
  BEGIN;
  return give_int(result, (int64_t)fnabi_any_hash(args));
}

EXPORT(equal) {
  BEGIN;
  fnabi_any_set(result, FNABI_INDEX_BOOL, fnabi_any_equal(&args[0], &args[1]));
  return 0;
}

EXPORT(own) {
  BEGIN;
  return fnabi_any_own(args, result) == FNABI_OK ? 0 : -1;
}

/* Strong and weak, less the ones that this call needs. */
EXPORT(counts) {
  BEGIN;
  uint64_t counts = args[0].v_object->counts;
  return give_int(result, (int64_t)counts);
}

EXPORT(type_key) {
  BEGIN;
  const char* key = fnabi_type_key((int32_t)args[0].v_int);
  return key == NULL || fnabi_string_new(key, strlen(key), result) ? 0 : -1;
}
