/* Applies the same changes to a dict and to a plain array of pairs, and expects
 * the same pairs in the same order. Every key must be found, and the chains,
 * the table and the list must have the layout of the ABI. Four bytes of the
 * input are one step: operation, key, value. */
#include "calls/map.h"
#include "calls/map_layout.h"
#include "calls/values.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

enum { KEYS = 512 };

typedef struct entry {
  unsigned key;
  int64_t value;
} entry;

/* Keys: integers, small and large strings and bytes, and pointers. */
static fnabi_any key_of(unsigned n) {
  static fnabi_object objects[KEYS];
  char text[40];
  fnabi_any any;
  sprintf(text, n % 2 ? "key %u" : "a key in an object, %u", n);
  switch (n % 5) {
    case 0:
      return int_value(n);
    case 1:
      return string_value(text);
    case 2:
      return bytes_value(text);
    case 3:
      fnabi_any_set_float(&any, n);
      return any;
    default:
      objects[n] = (fnabi_object){
          FNABI_WEAK_ONE | 1000,
          n % 4 ? FNABI_INDEX_OBJECT : FNABI_INDEX_DYNAMIC, 0, NULL};
      return object_value(&objects[n]);
  }
}

static size_t find(const entry* model, size_t count, unsigned key) {
  size_t i = 0;
  while (i < count && model[i].key != key) i++;
  return i;
}

static void check_all(const fnabi_map_object* map, const entry* model,
                      size_t count) {
  uint64_t cursor = FNABI_MAP_BEGIN;
  const fnabi_any *key, *value;
  CHECK(map->size == count);
  for (size_t i = 0; i < count; i++) {
    CHECK(fnabi_map_next(map, &cursor, &key, &value));
    fnabi_any expected = key_of(model[i].key);
    CHECK(fnabi_any_equal(key, &expected));
    CHECK(value->v_int == model[i].value);
    CHECK(fnabi_map_find(map, &expected) == value);
    fnabi_any_release(&expected);
  }
  CHECK(!fnabi_map_next(map, &cursor, &key, &value));
  check_layout(map);
}

static fnabi_map_object* start(entry* model, size_t* count, unsigned pairs,
                               unsigned step) {
  fnabi_any values[2 * 32];
  *count = 0;
  for (unsigned i = 0; i < pairs; i++) {
    unsigned key = i * step % KEYS;
    values[2 * i] = key_of(key);
    values[2 * i + 1] = int_value(i);
    size_t at = find(model, *count, key);
    model[at] = (entry){key, i};
    if (at == *count) ++*count;
  }
  fnabi_map_object* map = fnabi_map_new(values, pairs, FNABI_INDEX_DICT);
  CHECK(map != NULL);
  return map;
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  entry model[KEYS];
  size_t count;
  if (size < 2) return 0;
  fnabi_map_object* map = start(model, &count, bytes[0] % 32, bytes[1]);
  check_all(map, model, count);
  for (size_t i = 2; i + 4 <= size; i += 4) {
    unsigned key = (bytes[i + 1] | (unsigned)bytes[i + 2] << 8) % KEYS;
    fnabi_any any = key_of(key);
    size_t at = find(model, count, key);
    const fnabi_any* found = fnabi_map_find(map, &any);
    CHECK((found != NULL) == (at < count));
    CHECK(found == NULL || found->v_int == model[at].value);
    if (bytes[i] == 0xFF) {
      fnabi_map_clear(map);
      fnabi_any_release(&any);
      count = 0;
    } else if (bytes[i] % 8 < 3) {
      CHECK(fnabi_map_erase(map, &any) == (at < count));
      fnabi_any_release(&any);
      if (at < count) {
        count--;
        memmove(model + at, model + at + 1, (count - at) * sizeof *model);
      }
    } else {
      fnabi_any value = int_value(bytes[i + 3]);
      CHECK(fnabi_map_set(map, &any, &value));
      model[at] = (entry){key, bytes[i + 3]};
      if (at == count) count++;
    }
    if (i % 64 == 2) check_all(map, model, count);
  }
  check_all(map, model, count);
  fnabi_object_release(map);
  return 0;
}
