#include "allocations.h"
#include "calls/map.h"
#include "calls/map_layout.h"
#include "calls/values.h"

#define PHI UINT64_C(11400714819323198485)

/* The integer key whose hash times PHI is `home`: the upper bits of `home` are
 * its home slot in a table of any size. */
static fnabi_any key_at(uint64_t home) {
  uint64_t inverse = PHI; /* Newton's method: doubles the correct bits */
  for (int i = 0; i < 6; i++) inverse *= 2 - PHI * inverse;
  uint64_t hash = home * inverse;
  fnabi_any key =
      int_value((int64_t)((hash ^ 1) - (UINT64_C(0x9E3779B9) + (1 << 6))));
  CHECK(fnabi_any_hash(&key) == hash);
  return key;
}

static fnabi_map_object* dict_new(void) {
  fnabi_map_object* map = fnabi_map_new(NULL, 0, FNABI_INDEX_DICT);
  CHECK(map != NULL && map->size == 0);
  return map;
}

static void put(fnabi_map_object* map, fnabi_any key, int64_t value) {
  fnabi_any any = int_value(value);
  CHECK(fnabi_map_set(map, &key, &any));
}

static int64_t get(const fnabi_map_object* map, fnabi_any key) {
  const fnabi_any* value = fnabi_map_find(map, &key);
  return value == NULL ? -1 : value->v_int;
}

/* ----------------------------------------------------------------- creation */

static void test_new(void) {
  static const uint64_t slots[] = {16, 16, 16, 16, 32};
  for (size_t count = 0; count < 10; count++) {
    for (int32_t index = FNABI_INDEX_MAP; index <= FNABI_INDEX_DICT;
         index += FNABI_INDEX_DICT - FNABI_INDEX_MAP) {
      fnabi_any pairs[20];
      for (size_t i = 0; i < count; i++) {
        pairs[2 * i] = string_value("a key that is an object 0");
        ((char*)((fnabi_bytes_object*)pairs[2 * i].v_object)->text.data)[24] =
            (char)('0' + i);
        pairs[2 * i + 1] = int_value((int64_t)i);
      }
      fnabi_map_object* map = fnabi_map_new(pairs, count, index);
      CHECK(map->object.type_index == index && map->size == count);
      CHECK(is_dense(map) == (count > 4));
      if (is_dense(map)) {
        CHECK(map->slots == slots[count - 5] || count < 9);
      } else {
        CHECK(map->data == map + 1 && map->data_deleter == NULL);
        CHECK((map->slots & ~((uint64_t)1 << 63)) >= count);
      }
      check_layout(map);
      uint64_t cursor = FNABI_MAP_BEGIN;
      const fnabi_any *key, *value;
      for (size_t i = 0; i < count; i++) {
        CHECK(fnabi_map_next(map, &cursor, &key, &value));
        CHECK(value->v_int == (int64_t)i &&
              key->v_object == pairs[2 * i].v_object);
        CHECK(fnabi_map_find(map, key) == value);
      }
      CHECK(!fnabi_map_next(map, &cursor, &key, &value));
      CHECK(get(map, string_value("none")) == -1);
      fnabi_object_release(map);
    }
  }
  CHECK(fnabi_map_new(NULL, SIZE_MAX, FNABI_INDEX_MAP) == NULL);
}

/* A key is removed and another one added after `seen` pairs were returned. */
static void test_changes_at_equal_size(void) {
  for (int64_t size = 1; size < 12; size++)
    for (int64_t seen = 0; seen <= size; seen++)
      for (int64_t gone = 0; gone < size; gone++) {
        fnabi_map_object* map = dict_new();
        for (int64_t i = 0; i < size; i++) put(map, int_value(i), i);
        uint64_t cursor = FNABI_MAP_BEGIN, slots = map->slots;
        const fnabi_any *key = NULL, *value;
        CHECK(!fnabi_map_at_end(map, cursor));
        for (int64_t i = 0; i < seen; i++)
          CHECK(fnabi_map_next(map, &cursor, &key, &value));
        CHECK(fnabi_map_at_end(map, cursor) == (seen == size));
        fnabi_any last = seen > 0 ? *key : int_value(-1);
        CHECK(seen == 0 || fnabi_map_holds(map, cursor, &last));
        fnabi_any out = int_value(gone);
        CHECK(fnabi_map_erase(map, &out));
        put(map, int_value(size), size);
        bool holds = seen == 0 || fnabi_map_holds(map, cursor, &last);
        CHECK(holds == (is_dense(map) || gone >= seen));
        while (fnabi_map_next(map, &cursor, &key, &value)) continue;
        bool whole = fnabi_map_at_end(map, cursor) && map->slots == slots;
        CHECK(!holds || !whole || gone >= seen || seen == size);
        fnabi_object_release(map);
      }
  fnabi_map_object* none = dict_new();
  CHECK(fnabi_map_at_end(none, FNABI_MAP_BEGIN));
  fnabi_any zero = int_value(0);
  CHECK(!fnabi_map_holds(none, 0, &zero) && !fnabi_map_holds(none, 1, &zero));
  fnabi_object_release(none);
}

/* If keys are equal, the first key and the last value are kept. */
static void check_duplicates(int64_t count, int64_t different) {
  int logs[100] = {0};
  fnabi_any pairs[200] = {0};
  for (int64_t i = 0; i < count; i++) {
    char text[32];
    sprintf(text, "the key with number %d", (int)(i % different));
    pairs[2 * i] = string_value(text);
    pairs[2 * i + 1] = witness_value(&logs[i]);
  }
  fnabi_map_object* map = fnabi_map_new(pairs, (size_t)count, FNABI_INDEX_MAP);
  CHECK(map->size == (uint64_t)different);
  for (int64_t i = 0; i < count; i++)
    CHECK(logs[i] == (i + different < count ? GONE : 0));
  uint64_t cursor = FNABI_MAP_BEGIN;
  const fnabi_any *key, *value;
  for (int64_t i = 0; i < different; i++) {
    CHECK(fnabi_map_next(map, &cursor, &key, &value));
    CHECK(key->v_object == pairs[2 * i].v_object && strong_of(key) == 1);
    int64_t kept = i;
    while (kept + different < count) kept += different;
    CHECK(value->v_object == pairs[2 * kept + 1].v_object);
  }
  check_layout(map);
  fnabi_object_release(map);
  for (int64_t i = 0; i < count; i++) CHECK(logs[i] == GONE);
}

static void test_duplicates(void) {
  check_duplicates(2, 1);
  check_duplicates(4, 2);
  check_duplicates(4, 4);
  check_duplicates(5, 1);
  check_duplicates(7, 3);
  check_duplicates(100, 9);
  check_duplicates(9, 9);
}

/* ------------------------------------------------------------------ changes */

static void test_counts(void) {
  for (int before = 0; before < 20; before += 9) { /* small and dense maps */
    int keys = 0, first = 0, second = 0;
    fnabi_map_object* map = dict_new();
    for (int i = 0; i < before; i++) put(map, int_value(i), i);
    fnabi_any key = witness_value(&keys), value = witness_value(&first);
    CHECK(fnabi_map_set(map, &key, &value));
    CHECK(strong_of(&key) == 1 && strong_of(&value) == 1);
    fnabi_any_retain(&key);
    value = witness_value(&second);
    CHECK(fnabi_map_set(map, &key, &value));
    CHECK(strong_of(&key) == 1 && first == GONE && second == 0 && keys == 0);
    CHECK(map->size == (uint64_t)before + 1);
    CHECK(fnabi_map_find(map, &key)->v_object == value.v_object);
    CHECK(strong_of(&value) == 1);
    fnabi_any copy = key; /* erasing releases the map's own reference */
    CHECK(fnabi_map_erase(map, &copy));
    CHECK(second == GONE && keys == GONE);
    key = int_value(1000);
    CHECK(!fnabi_map_erase(map, &key));
    check_layout(map);

    first = 0;
    put(map, witness_value(&first), 1);
    fnabi_map_clear(map);
    CHECK(first == GONE && map->size == 0);
    check_layout(map);
    put(map, int_value(3), 4);
    CHECK(get(map, int_value(3)) == 4);
    fnabi_object_release(map);
  }
}

/* The last owner of a map may give it up while it is cleared. */
static void test_given_up(void) {
  for (int size = 1; size < 20; size += 9) {
    fnabi_map_object* map = dict_new();
    for (int i = 0; i < size; i++) put(map, int_value(i), i);
    fnabi_any key = int_value(0), value = giver_value(map);
    CHECK(fnabi_map_set(map, &key, &value));
    fnabi_map_clear(map);
  }
}

/* A long chain with items in the home slots of other keys. */
static void test_chains(void) {
  enum { LONG = 300 };
  fnabi_map_object* map = dict_new();
  for (uint64_t i = 0; i < LONG; i++) {
    put(map, key_at(i), (int64_t)i);
    check_layout(map);
  }
  uint64_t unit = (uint64_t)1 << shift_of(map);
  for (uint64_t i = 1; i < 5; i++) {
    CHECK(*meta_byte(map, i) & 0x80);
    put(map, key_at(i * unit), (int64_t)(1000 + i));
    check_layout(map);
  }
  for (uint64_t i = 0; i < LONG; i++) CHECK(get(map, key_at(i)) == (int64_t)i);
  for (uint64_t i = 1; i < 5; i++)
    CHECK(get(map, key_at(i * unit)) == (int64_t)(1000 + i));
  /* Erases from the middle, the end and the beginning. */
  for (uint64_t i = 0; i < LONG; i++) {
    fnabi_any key = key_at((i * 7 + 150) % LONG);
    CHECK(fnabi_map_erase(map, &key) && !fnabi_map_erase(map, &key));
    check_layout(map);
  }
  CHECK(map->size == 4);
  fnabi_object_release(map);

  /* If memory for the plan is exhausted, nothing moves. */
  map = dict_new();
  for (uint64_t i = 0; i < 100; i++) put(map, key_at(i), (int64_t)i);
  fnabi_any key = key_at((uint64_t)1 << shift_of(map)), value = int_value(1);
  refused_from = allocations = 0;
  CHECK(!fnabi_map_set(map, &key, &value) && map->size == 100);
  refused_from = SIZE_MAX;
  check_layout(map);
  CHECK(fnabi_map_set(map, &key, &value));
  check_layout(map);
  fnabi_object_release(map);
}

/* --------------------------------------------------------- no slot in reach */

/* A table with many free slots, but none at any of the distances from a slot.
 */

enum { CROWDED = 8192, SHIFT = 51 };

/* Fills every slot at the distances `from` to `until` - 1 from a slot. */
static void crowd(fnabi_map_object* map, uint64_t slot, unsigned from,
                  unsigned until) {
  for (unsigned i = from; i < until; i++) {
    uint64_t at = (slot + distance_of(i)) % CROWDED;
    if (*meta_byte(map, at) == 0xFF) put(map, key_at(at << SHIFT), 1);
  }
}

/* An empty table of 8192 slots. */
static fnabi_map_object* crowded(void) {
  fnabi_any* pairs = calloc(2 * CROWDED, sizeof *pairs);
  for (uint64_t i = 0; i < CROWDED / 2; i++) pairs[2 * i] = key_at(i << SHIFT);
  fnabi_map_object* map = fnabi_map_new(pairs, CROWDED / 2, FNABI_INDEX_DICT);
  CHECK(map->slots == CROWDED && shift_of(map) == SHIFT);
  fnabi_map_clear(map);
  CHECK(map->slots == CROWDED);
  free(pairs);
  return map;
}

/* Setting the key moves all pairs to another table. If memory is exhausted, it
 * fails and changes nothing. */
static void check_way_out(fnabi_map_object* map, fnabi_any key) {
  fnabi_any value = int_value(77);
  size_t bytes = CROWDED / 16 * 784;
  uint64_t size = map->size;
  char* before = exact(map->data, bytes);
  CHECK(get(map, key) == -1);
  refused_from = allocations = 0;
  CHECK(!fnabi_map_set(map, &key, &value));
  refused_from = SIZE_MAX;
  for (uint64_t slot = 0; slot < CROWDED; slot++) {
    size_t at = (size_t)((char*)meta_byte(map, slot) - (char*)map->data);
    CHECK(before[at] == ((char*)map->data)[at]);
    if (*meta_byte(map, slot) == 0xFF) continue;
    at = (size_t)(item_bytes(map, slot) - (char*)map->data);
    CHECK(memcmp(before + at, item_bytes(map, slot), 48) == 0);
  }
  release(before);
  CHECK(map->size == size && map->slots == CROWDED);
  CHECK(fnabi_map_set(map, &key, &value));
  CHECK(map->size == size + 1 && map->slots < CROWDED);
  check_layout(map);
  CHECK(get(map, key) == 77);
  fnabi_object_release(map);
}

static void test_far_away(void) {
  for (unsigned number = 1; number < DISTANCES; number++) {
    fnabi_map_object* map = crowded();
    put(map, key_at((uint64_t)100 << SHIFT), 1);
    crowd(map, 100, 1, number);
    if (*meta_byte(map, (100 + distance_of(number)) % CROWDED) == 0xFF) {
      put(map, key_at(((uint64_t)100 << SHIFT) + 1), 2);
      CHECK(*meta_byte(map, 100) == number);
      CHECK(get(map, key_at(((uint64_t)100 << SHIFT) + 1)) == 2);
    }
    check_layout(map);
    fnabi_object_release(map);
  }
}

static void test_no_way_out(void) {
  /* A chain cannot be extended. */
  fnabi_map_object* map = crowded();
  put(map, key_at((uint64_t)100 << SHIFT), 1);
  crowd(map, 100, 1, DISTANCES);
  check_way_out(map, key_at(((uint64_t)100 << SHIFT) + 1));

  /* A chain cannot move: no slot for its first item, or for its second one
   * after a slot was found for the first. */
  for (unsigned second = 0; second < 2; second++) {
    map = crowded();
    for (uint64_t i = 0; i < 3; i++)
      put(map, key_at(((uint64_t)100 << SHIFT) + i), 1);
    CHECK(*meta_byte(map, 101) == 0x81 && *meta_byte(map, 102) == 0x80);
    crowd(map, 100, 3 + second, DISTANCES);
    if (second) crowd(map, 103, 1, DISTANCES);
    check_way_out(map, key_at((uint64_t)101 << SHIFT));
  }
}

/* The same during creation. The last pair repeats the key of the first. */
static void test_new_without_way(void) {
  enum { COUNT = CROWDED / 2 };
  fnabi_any* pairs = calloc(2 * COUNT, sizeof *pairs);
  CHECK(pairs != NULL);
  for (uint64_t i = 0; i < COUNT; i++) {
    uint64_t home =
        (100 + (i < DISTANCES ? distance_of((unsigned)i) : i)) % CROWDED;
    /* Several distances may lead to one slot; such keys form a chain there. */
    pairs[2 * i] = key_at((home << SHIFT) + (i == DISTANCES ? 0 : i));
    pairs[2 * i + 1] = int_value((int64_t)i);
  }
  pairs[2 * DISTANCES] = key_at(((uint64_t)100 << SHIFT) + COUNT);
  pairs[2 * COUNT - 2] = pairs[0];
  fnabi_map_object* map = fnabi_map_new(pairs, COUNT, FNABI_INDEX_MAP);
  CHECK(map->size == COUNT - 1);
  for (int64_t i = 1; i < COUNT - 1; i++) CHECK(get(map, pairs[2 * i]) == i);
  CHECK(get(map, pairs[0]) == COUNT - 1);
  check_layout(map);
  fnabi_object_release(map);
  for (int again = 0; again < 2; again++) {
    for (size_t refuse = 0; refuse < 5; refuse++) {
      allocations = 0;
      refused_from = refuse;
      map = fnabi_map_new(pairs, COUNT, FNABI_INDEX_MAP);
      refused_from = SIZE_MAX;
      CHECK((map == NULL) == (allocations > refuse));
      if (map != NULL) fnabi_object_release(map);
    }
    /* Now the first pair is repeated before the table grows. */
    memmove(pairs + 4, pairs + 2, (COUNT - 2) * 2 * sizeof *pairs);
    pairs[2] = pairs[0];
  }
  free(pairs);
}

/* ------------------------------------------------------------------ foreign */

static int foreign_frees;

static void foreign_free(void* data) {
  foreign_frees++;
  free(data);
}

/* Dicts as other libraries create them: two pairs in place, then more pairs in
 * memory that belongs to another object. */
static void test_foreign_small(void) {
  for (uint64_t slots = 2; slots <= 9; slots += 7) {
    fnabi_map_object* map =
        fnabi_object_new(sizeof *map + 64, FNABI_INDEX_DICT, NULL);
    map->slots = (uint64_t)1 << 63 | slots;
    map->data = slots == 2 ? (void*)(map + 1) : calloc(slots, 32);
    map->data_deleter = slots == 2 ? NULL : foreign_free;
    foreign_frees = 0;
    for (uint64_t i = 0; i < slots; i++) {
      put(map, int_value((int64_t)i), (int64_t)i);
      CHECK(!is_dense(map));
    }
    fnabi_any key = int_value(50), value = int_value(1);
    refused_from = allocations = 0;
    CHECK(!fnabi_map_set(map, &key, &value) && map->size == slots);
    refused_from = SIZE_MAX;
    put(map, int_value((int64_t)slots), 99);
    CHECK(is_dense(map) && foreign_frees == (slots == 9));
    check_layout(map);
    for (uint64_t i = 0; i < slots; i++)
      CHECK(get(map, int_value((int64_t)i)) == (int64_t)i);
    CHECK(get(map, int_value((int64_t)slots)) == 99);
    /* A map of ours with a buffer of another library. */
    char* copy = malloc(map->slots / 16 * 784 + 784);
    memcpy(copy, map->data, (map->slots + 15) / 16 * 784);
    map->data_deleter(map->data);
    map->data = copy;
    map->data_deleter = foreign_free;
    foreign_frees = 0;
    for (int i = 10; i < 100; i++) put(map, int_value(i), i);
    CHECK(foreign_frees == 1);
    fnabi_object_release(map);
    CHECK(foreign_frees == 1);
  }
}

/* The empty map that remains after another library has moved its table away. */
static void test_moved_away(void) {
  fnabi_map_object* map = dict_new();
  for (int i = 0; i < 10; i++) put(map, int_value(i), i);
  map->data_deleter(map->data);
  map->data = NULL;
  map->data_deleter = NULL;
  map->size = map->slots = 0;
  uint64_t cursor = FNABI_MAP_BEGIN;
  const fnabi_any *key, *value;
  CHECK(!fnabi_map_next(map, &cursor, &key, &value));
  CHECK(get(map, int_value(1)) == -1);
  fnabi_any one = int_value(1);
  CHECK(!fnabi_map_erase(map, &one));
  fnabi_map_clear(map);
  put(map, one, 5);
  CHECK(get(map, one) == 5);
  check_layout(map);
  fnabi_object_release(map);
}

/* Only another library knows the hash of a key. The key can be found and
 * erased, but the map cannot grow, because the key could not be placed. */
static void test_foreign_hashes(void) {
  fnabi_object objects[12];
  fnabi_map_object* map = dict_new();
  for (int i = 0; i < 12; i++) {
    objects[i] =
        (fnabi_object){FNABI_WEAK_ONE | 9, FNABI_INDEX_DYNAMIC + 5, 0, NULL};
    if (i < 6) put(map, object_value(&objects[i]), i);
  }
  CHECK(is_dense(map) && map->slots == 16);
  for (uint64_t slot = 0; slot < 16; slot++) {
    if (*meta_byte(map, slot) == 0xFF) continue;
    fnabi_any* key = (fnabi_any*)item_bytes(map, slot);
    *key = object_value((fnabi_object*)key->v_object + 6);
  }
  for (int i = 6; i < 12; i++)
    CHECK(get(map, object_value(&objects[i])) == i - 6);
  for (int i = 0; i < 6; i++) CHECK(get(map, object_value(&objects[i])) == -1);
  put(map, object_value(&objects[11]), 50);
  CHECK(map->size == 6 && get(map, object_value(&objects[11])) == 50);
  fnabi_any value = int_value(0);
  uint64_t added = 0;
  for (int i = 0; i < 20; i++) {
    fnabi_any key = int_value(i);
    added += fnabi_map_set(map, &key, &value);
  }
  CHECK(map->slots == 16 && map->size == 6 + added && added <= 10);
  for (int i = 6; i < 12; i++) {
    fnabi_any key = object_value(&objects[i]);
    CHECK(fnabi_map_erase(map, &key) && !fnabi_map_erase(map, &key));
  }
  CHECK(map->size == added);
  fnabi_object_release(map);
}

/* ------------------------------------------------------------------ damaged */

/* No function reads outside the table or runs forever. */

static void use(fnabi_map_object* map) {
  uint64_t cursor = FNABI_MAP_BEGIN, steps = 0;
  const fnabi_any *key, *value;
  while (fnabi_map_next(map, &cursor, &key, &value)) steps++;
  CHECK(steps <= map->size);
  for (int i = 0; i < 12; i++) {
    fnabi_any number = int_value(i), one = int_value(1);
    fnabi_map_find(map, &number);
    fnabi_map_erase(map, &number);
    fnabi_map_set(map, &number, &one);
  }
  fnabi_map_clear(map);
}

static void test_damaged(void) {
  uint32_t random = 99;
  for (int round = 0; round < 3000; round++) {
    fnabi_map_object* map = dict_new();
    unsigned size = 1 + next_random(&random) % 12;
    for (unsigned i = 0; i < size; i++) put(map, int_value(i), i);
    uint64_t rows = is_dense(map) ? map->slots : 0;
    void* data = map->data;
    for (unsigned left = 1 + next_random(&random) % 3; left > 0; left--) {
      uint64_t wild = next_random(&random) % 3 == 0
                          ? next_random(&random) % 20
                          : UINT64_MAX >> next_random(&random) % 64;
      switch (next_random(&random) % 5) {
        case 0: /* the size */
          memcpy((char*)map + 32, &wild, 8);
          break;
        case 1: /* the shift, the head and tail of the list */
          if (rows != 0)
            memcpy((char*)map + 56 + next_random(&random) % 3 * 8, &wild, 8);
          break;
        case 2: /* the metadata byte of a used slot */
        case 3:
          if (rows != 0) {
            uint8_t* meta = meta_byte(map, next_random(&random) % rows);
            if (*meta != 0xFF) *meta = (uint8_t)wild;
          }
          break;
        default: /* the list */
          if (rows != 0)
            memcpy(item_bytes(map, next_random(&random) % rows) + 32 +
                       next_random(&random) % 2 * 8,
                   &wild, 8);
      }
    }
    use(map);
    /* The damaged map can still be changed and freed. */
    if (map->data != data || rows == 0) map->size = 0;
    fnabi_object_release(map);
  }
}

/* Chains of another library that never end: in turn, each slot is its own next
 * one, at a distance of 31 times the 16 slots; or it is reserved. */
static void test_cycles(void) {
  enum { OWN = 41, PAIRS = 10, KEYS = 60 };
  for (uint64_t round = 0; round < 32; round++) {
    fnabi_map_object* map = dict_new();
    for (int i = 0; i < PAIRS; i++) put(map, int_value(i), i);
    CHECK(map->slots == 32 || map->slots == 16);
    uint8_t* meta = meta_byte(map, round % 16);
    if (*meta < 0xFE)
      *meta = round < 16 ? (uint8_t)((*meta & 0x80) | OWN) : 0xFE;
    for (int i = PAIRS; i < 4 * KEYS; i++) {
      const fnabi_any key = int_value(i);
      CHECK(fnabi_map_find(map, &key) == NULL);
    }
    for (int i = 0; i < KEYS; i++) {
      const fnabi_any key = int_value(i);
      uint64_t before = map->size;
      bool set = fnabi_map_set(map, &key, &key);
      CHECK(map->size == before + (set && i >= PAIRS) || map->size == before);
    }
    for (int i = 0; i < KEYS; i++) {
      const fnabi_any key = int_value(i);
      fnabi_map_erase(map, &key);
    }
    fnabi_map_clear(map);
    fnabi_object_release(map);
  }
}

/* -------------------------------------------------------------- allocations */

static void test_allocations(void) {
  fnabi_any pairs[24];
  for (int i = 0; i < 12; i++) {
    pairs[2 * i] = string_value(i == 11 ? "the first key" : "the first key!");
    ((char*)((fnabi_bytes_object*)pairs[2 * i].v_object)->text.data)[0] =
        (char)(i % 11);
    pairs[2 * i + 1] = int_value(i);
  }
  for (size_t count = 1; count <= 12; count += count == 1 ? 1 : 5) {
    allocations = 0;
    fnabi_any copy[24];
    memcpy(copy, pairs, sizeof copy);
    for (size_t i = 0; i < 2 * count; i++) fnabi_any_retain(&copy[i]);
    fnabi_map_object* map = fnabi_map_new(copy, count, FNABI_INDEX_MAP);
    size_t needed = allocations;
    CHECK(needed == 1 + (count > 4));
    fnabi_object_release(map);
    for (size_t refuse = 0; refuse < needed; refuse++) {
      allocations = 0;
      refused_from = refuse;
      CHECK(fnabi_map_new(pairs, count, FNABI_INDEX_MAP) == NULL);
      refused_from = SIZE_MAX;
    }
  }
  /* A duplicate key needs memory, because it is released only on success. */
  fnabi_any twice[4] = {pairs[0], int_value(1), pairs[0], int_value(2)};
  refused_from = 1;
  allocations = 0;
  CHECK(fnabi_map_new(twice, 2, FNABI_INDEX_MAP) == NULL);
  refused_from = SIZE_MAX;
  CHECK(strong_of(&pairs[0]) == 1);
  for (int i = 0; i < 12; i++) fnabi_any_release(&pairs[2 * i]);

  /* A dict that cannot grow is unchanged, at every size. */
  fnabi_map_object* map = dict_new();
  for (int i = 0; i < 300; i++) {
    fnabi_any key = int_value(i), value = int_value(-i);
    refused_from = allocations = 0;
    bool done = fnabi_map_set(map, &key, &value);
    refused_from = SIZE_MAX;
    CHECK(done == (allocations == 0));
    CHECK(map->size == (uint64_t)i + done);
    if (!done) {
      check_layout(map);
      for (int k = 0; k < i; k++) CHECK(get(map, int_value(k)) == -k);
      CHECK(fnabi_map_set(map, &key, &value));
    }
  }
  fnabi_object_release(map);
}

/* What is wrong with maps of other libraries; and one with more pairs than
 * slots, whose last pair comes before its first, ends. */
static void test_problems(void) {
  static const uint64_t small = (uint64_t)1 << 63;
  const struct {
    uint64_t size, slots;
    bool has_data;
    const char* problem;
  } cases[] = {
      {10, 16, true, NULL},
      {16, 16, true, NULL},
      {17, 16, true, "it has more pairs than slots"},
      {10, 17, true, "its slots are no power of two"},
      {10, small - 1 - (small - 1) / 2, true, "it is larger than memory"},
      {10, 16, false, "it has no pairs at all"},
      {0, 16, false, NULL},
      {10, small | 10, true, NULL},
      {11, small | 10, true, "it has more pairs than slots"},
      {0, small | 1024, true, NULL},
      {0, small | 1025, true, "it is small and has too many slots"},
      {10, small | 10, false, "it has no pairs at all"},
  };
  fnabi_map_object* map = dict_new();
  for (int i = 0; i < 10; i++) put(map, int_value(i), i);
  fnabi_map_object kept = *map;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    map->size = cases[i].size;
    map->slots = cases[i].slots;
    if (!cases[i].has_data) map->data = NULL;
    const char* problem = fnabi_map_problem(map);
    CHECK((problem == NULL) == (cases[i].problem == NULL));
    CHECK(problem == NULL || strcmp(problem, cases[i].problem) == 0);
    if (map->slots > (small | 1024) || (!is_dense(map) && map->data == NULL)) {
      const fnabi_any one = int_value(1);
      map->size = 10; /* of which none can be used */
      CHECK(fnabi_map_find(map, &one) == NULL && !fnabi_map_erase(map, &one));
      fnabi_map_clear(map);
    }
    *map = kept;
  }

  uint64_t first = 0, last = 0;
  for (uint64_t slot = 0; slot < map->slots; slot++) {
    if (*meta_byte(map, slot) >= 0xFE) continue;
    if (item_field(map, slot, 32) == UINT64_MAX) first = slot;
    if (item_field(map, slot, 40) == UINT64_MAX) last = slot;
  }
  CHECK(first != last);
  memcpy(item_bytes(map, last) + 40, &first, sizeof first);
  map->size = 1000;
  uint64_t cursor = FNABI_MAP_BEGIN, pairs = 0;
  const fnabi_any *key, *value;
  while (fnabi_map_next(map, &cursor, &key, &value))
    CHECK(value->v_int == (int64_t)(pairs++ % 10));
  CHECK(pairs == map->slots);
  memset(item_bytes(map, last) + 40, 0xFF, sizeof last);
  map->size = kept.size;
  fnabi_object_release(map);
}

int main(void) {
  test_new();
  test_changes_at_equal_size();
  test_problems();
  test_duplicates();
  test_counts();
  test_given_up();
  test_chains();
  test_far_away();
  test_no_way_out();
  test_new_without_way();
  test_foreign_small();
  test_moved_away();
  test_foreign_hashes();
  test_damaged();
  test_cycles();
  test_allocations();
  return 0;
}
