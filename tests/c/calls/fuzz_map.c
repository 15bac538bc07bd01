/* Applies the same changes to a dict and to a plain array of pairs, and expects
 * the same pairs in the same order. Every key must be found, the chains, the
 * table and the list must have the layout of the ABI, and in the end nothing
 * owns a key. Four bytes of the input are one step: operation, key, value. */
#include "calls/map.h"
#include "calls/map_layout.h"
#include "calls/values.h"
#include "fuzz.h"

enum { KEYS = 512, STEP = 4, STEPS_BETWEEN_CHECKS = 64 };

/* The pairs of the dict, by key; and the keys in their order. */
typedef struct model {
  int64_t values[KEYS];
  bool has[KEYS];
  unsigned order[KEYS];
  size_t count;
} model;

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

/* Keys are made once: one to be stored, and an equal one to look for, which is
 * another object where contents are compared. */
static fnabi_any stored[KEYS], asked[KEYS];

static fnabi_any new_key(unsigned key) {
  if (stored[0].type_index == FNABI_INDEX_NONE)
    for (unsigned i = 0; i < KEYS; i++) {
      stored[i] = key_of(i);
      asked[i] = key_of(i);
    }
  fnabi_any_retain(&stored[key]);
  return stored[key];
}

static void check_no_owner(void) {
  for (unsigned i = 0; i < KEYS; i++) {
    if (!fnabi_any_is_object(&stored[i])) continue;
    CHECK(strong_of(&stored[i]) == (i % 5 == 4 ? 1000 : 1));
    CHECK(strong_of(&asked[i]) == strong_of(&stored[i]));
  }
}

static void set(model* m, unsigned key, int64_t value) {
  if (!m->has[key]) m->order[m->count++] = key;
  m->has[key] = true;
  m->values[key] = value;
}

static void erase(model* m, unsigned key) {
  size_t at = 0;
  if (!m->has[key]) return;
  while (m->order[at] != key) at++;
  m->count--;
  memmove(m->order + at, m->order + at + 1, (m->count - at) * sizeof *m->order);
  m->has[key] = false;
}

static void check_all(const fnabi_map_object* map, const model* m) {
  uint64_t cursor = FNABI_MAP_BEGIN;
  const fnabi_any *key, *value;
  CHECK(map->size == m->count);
  for (size_t i = 0; i < m->count; i++) {
    CHECK(fnabi_map_next(map, &cursor, &key, &value));
    CHECK(fnabi_any_equal(key, &asked[m->order[i]]));
    CHECK(value->v_int == m->values[m->order[i]]);
    CHECK(fnabi_map_find(map, &asked[m->order[i]]) == value);
  }
  CHECK(!fnabi_map_next(map, &cursor, &key, &value));
  CHECK(fnabi_map_problem(map) == NULL);
  check_layout(map);
}

static fnabi_map_object* start(model* m, unsigned pairs, unsigned step) {
  fnabi_any values[2 * 32];
  for (unsigned i = 0; i < pairs; i++) {
    unsigned key = i * step % KEYS;
    values[2 * i] = new_key(key);
    values[2 * i + 1] = int_value(i);
    set(m, key, i);
  }
  fnabi_map_object* map = fnabi_map_new(values, pairs, FNABI_INDEX_DICT);
  CHECK(map != NULL);
  return map;
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static model m;
  if (size < 2) return 0;
  memset(&m, 0, sizeof m);
  fnabi_map_object* map = start(&m, bytes[0] % 32, bytes[1]);
  for (size_t i = 2; i + STEP <= size; i += STEP) {
    unsigned key = (bytes[i + 1] | (unsigned)bytes[i + 2] << 8) % KEYS;
    if (i / STEP % STEPS_BETWEEN_CHECKS == 0) check_all(map, &m);
    fnabi_any any = new_key(key);
    const fnabi_any* found = fnabi_map_find(map, &asked[key]);
    CHECK((found != NULL) == m.has[key]);
    CHECK(found == NULL || found->v_int == m.values[key]);
    if (bytes[i] != 0xFF && bytes[i] % 8 >= 3) {
      fnabi_any value = int_value(bytes[i + 3]);
      CHECK(fnabi_map_set(map, &any, &value)); /* owns the key */
      set(&m, key, bytes[i + 3]);
      continue;
    }
    if (bytes[i] == 0xFF) {
      fnabi_map_clear(map);
      memset(&m, 0, sizeof m);
    } else {
      CHECK(fnabi_map_erase(map, &asked[key]) == m.has[key]);
      erase(&m, key);
    }
    fnabi_any_release(&any);
  }
  check_all(map, &m);
  fnabi_object_release(map);
  check_no_owner();
  return 0;
}
