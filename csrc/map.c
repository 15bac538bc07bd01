#include "map.h"

#include <stdlib.h>

/* The layouts
 * -----------
 * Both are those that the first implementation of the ABI uses, byte for byte,
 * because each side reads and changes the other's maps in place.
 *
 * Small: bit 63 of `slots` is set, the other bits say how many pairs there is
 * room for. `data` points to `size` pairs of key and value in order of
 * insertion, right behind the map or, where there is a data_deleter, elsewhere.
 * No more than 4: a pair more and the map becomes dense, in place, for which it
 * has at least the room of two pairs.
 *
 * Dense: `slots` is a power of two. `data` points to blocks of 16 slots: 16
 * bytes that say what is in them, then 16 items. Order of insertion is a list
 * through the items. A key's home is the upper bits of its hash times
 * 2^64 / phi. All keys of one home are one chain, and a chain begins at its
 * home or does not exist: an item of another chain that stands there is moved.
 * The byte of a slot is EMPTY, or BODY when no chain begins there, and the
 * number of a distance to the next slot of the chain, 0 at its end. */
typedef struct pair {
  fnabi_any key;
  fnabi_any value;
} pair;

typedef struct item {
  pair pair;
  uint64_t before;
  uint64_t after;
} item;

typedef struct dense_map {
  fnabi_map_object map;
  uint32_t shift; /* 64 - log2(slots) */
  uint32_t unused;
  uint64_t head;
  uint64_t tail;
} dense_map;

#define SMALL ((uint64_t)1 << 63)
#define NOWHERE UINT64_MAX

enum {
  SMALL_MAX = 4,
  SMALL_MIN = 2, /* so that a dense_map fits */
  BLOCK_SLOTS = 16,
  BLOCK_SIZE = BLOCK_SLOTS * (1 + sizeof(item)),
  EMPTY = 0xFF,
  RESERVED = 0xFE, /* empty while a foreign library moves a chain */
  BODY = 0x80,
  JUMP = 0x7F
};

_Static_assert(sizeof(pair) == 32 && sizeof(item) == 48, "layout of the ABI");
_Static_assert(sizeof(dense_map) == 80, "layout of the ABI");
_Static_assert(sizeof(dense_map) <=
                   sizeof(fnabi_map_object) + SMALL_MIN * sizeof(pair),
               "a small map can become dense");

/* A dense map's table. */
typedef struct table {
  uint8_t* data;
  uint64_t slots;
  uint64_t size;
  uint64_t head;
  uint64_t tail;
  uint32_t shift;
} table;

static bool is_small(const fnabi_map_object* map) {
  return (map->slots & SMALL) != 0;
}

static pair* small_pairs(const fnabi_map_object* map) { return map->data; }

/* A size that a damaged map has does not lead outside. */
static uint64_t small_size(const fnabi_map_object* map) {
  uint64_t slots = map->slots & ~SMALL;
  return map->size < slots ? map->size : slots;
}

static table table_of(const fnabi_map_object* map) {
  const dense_map* dense = (const dense_map*)map;
  return (table){map->data,   map->slots,  map->size,
                 dense->head, dense->tail, dense->shift};
}

static uint8_t* meta_at(const table* t, uint64_t at) {
  return t->data + at / BLOCK_SLOTS * BLOCK_SIZE + at % BLOCK_SLOTS;
}

static item* item_at(const table* t, uint64_t at) {
  return (item*)(t->data + at / BLOCK_SLOTS * BLOCK_SIZE + BLOCK_SLOTS) +
         at % BLOCK_SLOTS;
}

static bool is_taken(const table* t, uint64_t at) {
  return at < t->slots && *meta_at(t, at) < RESERVED;
}

/* ------------------------------------------------------------------- walking
 *
 * The cursor of a dense map is its next slot, and above it how many pairs went
 * before. */

bool fnabi_map_next(const fnabi_map_object* map, uint64_t* cursor,
                    const fnabi_any** key, const fnabi_any** value) {
  if (is_small(map)) {
    uint64_t i = *cursor == FNABI_MAP_BEGIN ? 0 : *cursor;
    if (i >= small_size(map)) return false;
    *key = &small_pairs(map)[i].key;
    *value = &small_pairs(map)[i].value;
    *cursor = i + 1;
    return true;
  }
  table t = table_of(map);
  bool first = *cursor == FNABI_MAP_BEGIN;
  uint64_t count = first ? 0 : *cursor >> 32;
  uint64_t at = first ? t.head : (uint32_t)*cursor;
  if (count >= t.size || !is_taken(&t, at)) return false;
  const item* item = item_at(&t, at);
  *key = &item->pair.key;
  *value = &item->pair.value;
  *cursor = (count + 1) << 32 | (uint32_t)item->after;
  return true;
}
