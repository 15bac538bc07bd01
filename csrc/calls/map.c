/* MAP, which is immutable once it is shared, and DICT, which is mutable. */
#include "calls/map.h"

#include <stdlib.h>

#include "base/poll.h"

/* The layouts
 * -----------
 * Both layouts are those of the ABI's first implementation, byte for byte,
 * because each library reads and changes the other's maps in place.
 *
 * Small: bit 63 of `slots` is set; the other bits are the capacity in pairs.
 * `data` points to `size` pairs of key and value in insertion order. They
 * follow the map in the same block unless there is a data_deleter. A small map
 * has at most 4 pairs. It becomes dense in place when a pair is added, so its
 * block has space for at least two pairs after the header.
 *
 * Dense: a hash table; `slots` is a power of two. `data` points to blocks of 16
 * slots: 16 metadata bytes, then 16 items. A linked list through the items
 * keeps the insertion order. The home slot of a key is given by the upper bits
 * of its hash times 2^64 / phi. Keys with the same home slot form a chain,
 * which always begins at the home slot: an item of another chain in that slot
 * is moved away. The metadata byte is EMPTY, or has the bit BODY if no chain
 * begins in the slot. Its lower bits are an index into `distances`: the
 * distance to the next slot of the chain, or 0 at the end of the chain. */
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
/* A larger table would need more than 200 GB. */
#define SLOTS_MAX ((uint64_t)1 << 32)
#define NOWHERE UINT64_MAX

enum {
  SMALL_MAX = 4,
  FOREIGN_SMALL_MAX = 1024, /* some libraries write more */
  BLOCK_SLOTS = 16,
  BLOCK_SIZE = BLOCK_SLOTS * (1 + sizeof(item)),
  EMPTY = 0xFF,
  RESERVED = 0xFE, /* empty while a foreign library moves a chain */
  BODY = 0x80,
  JUMP = 0x7F,
  SPARSE = 64 /* the maximum number of slots per pair */
};

_Static_assert(sizeof(pair) == 32 && sizeof(item) == 48, "layout of the ABI");
_Static_assert(sizeof(dense_map) == 80, "layout of the ABI");
_Static_assert(sizeof(dense_map) <= sizeof(fnabi_map_object) + 2 * sizeof(pair),
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

/* Limited to the capacity, in case the map is damaged. */
static uint64_t small_size(const fnabi_map_object* map) {
  uint64_t slots = map->slots & ~SMALL;
  if (slots > FOREIGN_SMALL_MAX || map->data == NULL) return 0;
  return map->size < slots ? map->size : slots;
}

static table table_of(const fnabi_map_object* map) {
  const dense_map* dense = (const dense_map*)map;
  uint64_t slots = map->data != NULL ? map->slots : 0;
  return (table){map->data,   slots,       map->size,
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

const char* fnabi_map_problem(const fnabi_map_object* map) {
  if (is_small(map)) {
    uint64_t slots = map->slots & ~SMALL;
    if (slots > FOREIGN_SMALL_MAX) return "it is small and has too many slots";
    if (map->size > slots) return "it has more pairs than slots";
  } else {
    if ((map->slots & (map->slots - 1)) != 0)
      return "its slots are no power of two";
    if (map->slots > SLOTS_MAX) return "it is larger than memory";
    if (map->size > map->slots) return "it has more pairs than slots";
  }
  if (map->size > 0 && !fnabi_is_address(map->data))
    return "it has no pairs at all";
  return NULL;
}

/* ---------------------------------------------------------------- iteration */

/* The cursor of a dense map: the next slot in the lower 32 bits, the number of
 * pairs already returned in the upper. */

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
  if (count >= t.size || count >= t.slots || !is_taken(&t, at)) return false;
  const item* item = item_at(&t, at);
  *key = &item->pair.key;
  *value = &item->pair.value;
  *cursor = (count + 1) << 32 | (uint32_t)item->after;
  return true;
}

bool fnabi_map_at_end(const fnabi_map_object* map, uint64_t cursor) {
  if (cursor == FNABI_MAP_BEGIN) return map->size == 0;
  if (is_small(map)) return cursor == map->size;
  return cursor == (map->size << 32 | (uint32_t)NOWHERE);
}

bool fnabi_map_holds(const fnabi_map_object* map, uint64_t cursor,
                     const fnabi_any* key) {
  if (!is_small(map)) return true;
  if (cursor == 0 || cursor > small_size(map)) return false;
  const fnabi_any* at = &small_pairs(map)[cursor - 1].key;
  return at->type_index == key->type_index && at->v_bits == key->v_bits;
}

/* ------------------------------------------------------------------- tables */

/* Distances from a slot to the next one of its chain, indexed by the lower 7
 * bits of its metadata byte: 0 to 15, then triangular numbers n (n + 1) / 2,
 * first for consecutive n, then for n that grow by a factor of 1.5. */
static const uint64_t distances[] = {0,
                                     1,
                                     2,
                                     3,
                                     4,
                                     5,
                                     6,
                                     7,
                                     8,
                                     9,
                                     10,
                                     11,
                                     12,
                                     13,
                                     14,
                                     15,
                                     21,
                                     28,
                                     36,
                                     45,
                                     55,
                                     66,
                                     78,
                                     91,
                                     105,
                                     120,
                                     136,
                                     153,
                                     171,
                                     190,
                                     210,
                                     231,
                                     253,
                                     276,
                                     300,
                                     325,
                                     351,
                                     378,
                                     406,
                                     435,
                                     465,
                                     496,
                                     528,
                                     561,
                                     595,
                                     630,
                                     666,
                                     703,
                                     741,
                                     780,
                                     820,
                                     861,
                                     903,
                                     946,
                                     990,
                                     1035,
                                     1081,
                                     1128,
                                     1176,
                                     1225,
                                     1275,
                                     1326,
                                     1378,
                                     1431,
                                     1485,
                                     1540,
                                     1596,
                                     1653,
                                     1711,
                                     1770,
                                     1830,
                                     1891,
                                     1953,
                                     2016,
                                     2080,
                                     2145,
                                     2211,
                                     2278,
                                     2346,
                                     2415,
                                     2485,
                                     2556,
                                     2628,
                                     8515,
                                     19110,
                                     42778,
                                     96141,
                                     216153,
                                     486591,
                                     1092981,
                                     2458653,
                                     5532801,
                                     12442566,
                                     27993903,
                                     62983476,
                                     141717030,
                                     318844378,
                                     717352503,
                                     1614057336,
                                     3631522476,
                                     8170957530,
                                     18384510628,
                                     41364789378,
                                     93070452520,
                                     209408356380,
                                     471168559170,
                                     1060128894105,
                                     2385289465695,
                                     5366898840628,
                                     12075518705635,
                                     27169915244790,
                                     61132312065111,
                                     137547689707000,
                                     309482283181501,
                                     696335127828753,
                                     1566753995631385,
                                     3525196511162271,
                                     7931691992677701,
                                     17846306936293605,
                                     40154190677507445,
                                     90346928918121501,
                                     203280589587557251,
                                     457381325854679626,
                                     1029107982097042876,
                                     2315492959180353330,
                                     5209859154120846435};

_Static_assert(sizeof distances / sizeof *distances == 126,
               "layout of the ABI");

enum { DISTANCES = sizeof distances / sizeof *distances };

static bool table_new(table* t, uint64_t slots) {
  if (slots > SLOTS_MAX) return false;
  uint64_t blocks = (slots + BLOCK_SLOTS - 1) / BLOCK_SLOTS;
  *t = (table){malloc(blocks * BLOCK_SIZE), slots, 0, NOWHERE, NOWHERE, 64};
  if (t->data == NULL) return false;
  for (uint64_t n = slots; n > 1; n >>= 1) t->shift--;
  for (uint64_t i = 0; i < blocks; i++)
    memset(t->data + i * BLOCK_SIZE, EMPTY, BLOCK_SLOTS);
  return true;
}

/* The number of slots for that many pairs: a power of two, at least twice as
 * many. */
static uint64_t slots_for(uint64_t pairs) {
  uint64_t slots = 2;
  while (slots < 2 * pairs && slots <= SLOTS_MAX) slots *= 2;
  return slots;
}

static uint64_t home_of(const table* t, uint64_t hash) {
  if (t->shift >= 64) return NOWHERE;
  uint64_t at = hash * UINT64_C(11400714819323198485) >> t->shift;
  return at < t->slots ? at : NOWHERE;
}

static uint64_t jump(const table* t, uint64_t at, unsigned distance) {
  return (at + distances[distance]) & (t->slots - 1);
}

/* The next slot of a chain. */
static uint64_t next_of(const table* t, uint64_t at) {
  unsigned distance = *meta_at(t, at) & JUMP;
  if (distance == 0 || distance >= DISTANCES) return NOWHERE;
  uint64_t next = jump(t, at, distance);
  return is_taken(t, next) ? next : NOWHERE;
}

static void set_distance(const table* t, uint64_t at, unsigned distance) {
  uint8_t* meta = meta_at(t, at);
  *meta = (uint8_t)((*meta & BODY) | distance);
}

static bool is_head(const table* t, uint64_t at) {
  return (*meta_at(t, at) & BODY) == 0;
}

static uint64_t find_in(const table* t, const fnabi_any* key, uint64_t hash) {
  uint64_t at = home_of(t, hash);
  if (at == NOWHERE || !is_head(t, at)) return NOWHERE;
  for (uint64_t left = t->slots; left > 0 && at != NOWHERE; left--) {
    if (fnabi_any_equal(&item_at(t, at)->pair.key, key)) return at;
    at = next_of(t, at);
  }
  return NOWHERE;
}

/* Finds the slot before this one in its chain. If the chain of the computed
 * hash does not contain it, searches all slots: only another library may know
 * the hash of the key. */
static uint64_t chain_before(const table* t, uint64_t at) {
  uint64_t before = home_of(t, fnabi_any_hash(&item_at(t, at)->pair.key));
  if (before != NOWHERE && is_taken(t, before)) {
    for (uint64_t left = t->slots; left > 0 && before != NOWHERE; left--) {
      uint64_t next = next_of(t, before);
      if (next == at) return before;
      before = next;
    }
  }
  for (before = 0; before < t->slots; before++)
    if (is_taken(t, before) && next_of(t, before) == at) return before;
  return NOWHERE;
}

static void set_after(table* t, uint64_t at, uint64_t after) {
  if (at == NOWHERE)
    t->head = after;
  else if (at < t->slots)
    item_at(t, at)->after = after;
}

static void set_before(table* t, uint64_t at, uint64_t before) {
  if (at == NOWHERE)
    t->tail = before;
  else if (at < t->slots)
    item_at(t, at)->before = before;
}

/* Moves an item to another slot and keeps its position in the list. */
static void move_item(table* t, uint64_t from, uint64_t to) {
  item* item = item_at(t, to);
  *item = *item_at(t, from);
  set_after(t, item->before, to);
  set_before(t, item->after, to);
}

/* ---------------------------------------------------------------- insertion */

/* The move of one item of a chain. */
typedef struct move {
  uint64_t from;
  uint64_t to;
  uint8_t distance; /* to `to` */
  uint8_t meta;     /* of `from`, as it was */
} move;

/* Plans new slots for the items of a chain from `at` on, after `last`. The old
 * slots may be reused except the first one. The metadata bytes of old and new
 * slots are changed meanwhile. Returns the number of items that got a slot. */
static size_t plan_moves(table* t, uint64_t at, uint64_t last, move* moves,
                         size_t count) {
  for (size_t i = 0; i < count; i++) {
    unsigned distance = 1;
    while (distance < DISTANCES &&
           *meta_at(t, jump(t, last, distance)) != EMPTY)
      distance++;
    if (distance == DISTANCES) return i;
    last = jump(t, last, distance);
    moves[i] = (move){at, last, (uint8_t)distance, *meta_at(t, at)};
    at = next_of(t, at);
    *meta_at(t, last) = RESERVED;
    *meta_at(t, moves[i].from) = i == 0 ? RESERVED : EMPTY;
  }
  return count;
}

/* Frees a slot in the middle of a chain by moving the rest of the chain.
 * Returns false, without any change, if not enough slots are free in reach. */
static bool move_chain(table* t, uint64_t first) {
  move few[32], *moves = few;
  uint64_t before = chain_before(t, first);
  if (before == NOWHERE) return false;
  size_t count = 0;
  for (uint64_t at = first; at != NOWHERE; at = next_of(t, at))
    if (++count > t->slots) return false;
  if (count > sizeof few / sizeof *few) {
    moves = malloc(count * sizeof *moves);
    if (moves == NULL) return false;
  }
  size_t planned = plan_moves(t, first, before, moves, count);
  if (planned == count) {
    for (size_t i = 0; i < count; i++) {
      move_item(t, moves[i].from, moves[i].to);
      *meta_at(t, moves[i].from) = EMPTY;
      *meta_at(t, moves[i].to) = BODY;
      set_distance(t, before, moves[i].distance);
      before = moves[i].to;
    }
  } else {
    for (size_t i = 0; i < planned; i++) *meta_at(t, moves[i].to) = EMPTY;
    for (size_t i = 0; i < planned; i++)
      *meta_at(t, moves[i].from) = moves[i].meta;
  }
  if (moves != few) free(moves);
  return planned == count;
}

/* The maximum load is 0.99, computed in floating point like the ABI's first
 * implementation. */
static bool is_full(const table* t) {
  return (double)(t->size + 1) > (double)t->slots * 0.99;
}

typedef enum outcome { FOUND, ADDED, FULL } outcome;

/* Finds the slot of a key, or adds one, which the caller fills with `append`.
 */
static outcome place(table* t, const fnabi_any* key, uint64_t hash,
                     uint64_t* slot) {
  uint64_t at = home_of(t, hash);
  if (at == NOWHERE || *meta_at(t, at) == RESERVED) return FULL;
  *slot = at;
  if (*meta_at(t, at) == EMPTY) {
    *meta_at(t, at) = 0;
    return ADDED;
  }
  if (!is_head(t, at)) {
    if (is_full(t) || !move_chain(t, at)) return FULL;
    *meta_at(t, at) = 0;
    return ADDED;
  }
  uint64_t last = at;
  for (uint64_t left = t->slots; at != NOWHERE; at = next_of(t, at)) {
    if (left-- == 0) return FULL;
    if (fnabi_any_equal(&item_at(t, at)->pair.key, key)) {
      *slot = at;
      return FOUND;
    }
    last = at;
  }
  if (is_full(t)) return FULL;
  for (unsigned distance = 1; distance < DISTANCES; distance++) {
    at = jump(t, last, distance);
    if (*meta_at(t, at) != EMPTY) continue;
    *meta_at(t, at) = BODY;
    set_distance(t, last, distance);
    *slot = at;
    return ADDED;
  }
  return FULL;
}

static void append(table* t, uint64_t at, const fnabi_any* key,
                   const fnabi_any* value) {
  *item_at(t, at) = (item){{*key, *value}, t->tail, NOWHERE};
  set_after(t, t->tail, at);
  t->tail = at;
  t->size++;
}

/* Creates a table with the same pairs and at least `slots` slots. It grows
 * until all pairs fit, up to SPARSE slots per pair, because hostile keys may
 * not fit in any size. Returns false if memory is exhausted, if only another
 * library knows the hash of a key, or if the map is damaged. */
static bool rebuild(const fnabi_map_object* map, uint64_t slots, table* out) {
  if (map->size > (map->slots & ~SMALL)) return false;
  for (;; slots *= 2) {
    if (slots / SPARSE > map->size + BLOCK_SLOTS) return false;
    const fnabi_any *key, *value;
    uint64_t cursor = FNABI_MAP_BEGIN, at;
    bool fits = true;
    if (!table_new(out, slots)) return false;
    while (fits && fnabi_map_next(map, &cursor, &key, &value)) {
      uint64_t hash = fnabi_any_hash(key);
      if (!is_small(map) && key->type_index >= FNABI_INDEX_DYNAMIC) {
        table old = table_of(map);
        if (find_in(&old, key, hash) == NOWHERE) break;
      }
      outcome outcome = place(out, key, hash, &at);
      if (outcome == FOUND) break;
      fits = outcome == ADDED;
      if (fits) append(out, at, key, value);
    }
    if (fits && out->size == map->size) return true;
    free(out->data);
    if (fits) return false;
  }
}

/* --------------------------------------------------------------------- maps */

static void store(fnabi_map_object* map, const table* t) {
  dense_map* dense = (dense_map*)map;
  map->data = t->data;
  map->slots = t->slots;
  map->size = t->size;
  dense->head = t->head;
  dense->tail = t->tail;
  dense->shift = t->shift;
}

/* Another library may own the old memory, so its deleter frees it. */
static void replace(fnabi_map_object* map, const table* t) {
  void* old = map->data;
  void (*deleter)(void* data) = map->data_deleter;
  store(map, t);
  map->data_deleter = free;
  if (deleter != NULL) deleter(old);
}

static pair* small_find(const fnabi_map_object* map, const fnabi_any* key) {
  pair* at = small_pairs(map);
  for (uint64_t left = small_size(map); left > 0; left--, at++)
    if (fnabi_any_equal(&at->key, key)) return at;
  return NULL;
}

/* Finds the slot of a key. A type registered at run time may have its own hash;
 * a key of such a type is searched in all slots. */
static uint64_t dense_find(const table* t, const fnabi_any* key) {
  if (t->size == 0) return NOWHERE;
  uint64_t at = find_in(t, key, fnabi_any_hash(key));
  if (at != NOWHERE || key->type_index < FNABI_INDEX_DYNAMIC) return at;
  for (at = 0; at < t->slots; at++)
    if (is_taken(t, at) && fnabi_any_equal(&item_at(t, at)->pair.key, key))
      return at;
  return NOWHERE;
}

const fnabi_any* fnabi_map_find(const fnabi_map_object* map,
                                const fnabi_any* key) {
  if (is_small(map)) {
    const pair* at = small_find(map, key);
    return at == NULL ? NULL : &at->value;
  }
  table t = table_of(map);
  uint64_t at = dense_find(&t, key);
  return at == NOWHERE ? NULL : &item_at(&t, at)->pair.value;
}

static void release_pair(pair* p) {
  fnabi_any_release(&p->key);
  fnabi_any_release(&p->value);
}

/* Sets the value of an existing key. Releases the new key and the old value. */
static void exchange(pair* at, const fnabi_any* key, const fnabi_any* value) {
  pair old = {*key, at->value};
  at->value = *value;
  release_pair(&old);
}

bool fnabi_map_set(fnabi_map_object* map, const fnabi_any* key,
                   const fnabi_any* value) {
  table t;
  uint64_t at, hash = fnabi_any_hash(key);
  if (is_small(map)) {
    pair* found = small_find(map, key);
    if (found != NULL) {
      exchange(found, key, value);
      return true;
    }
    if (map->size < (map->slots & ~SMALL)) {
      small_pairs(map)[map->size] = (pair){*key, *value};
      map->size++;
      return true;
    }
  } else {
    t = table_of(map);
    at = key->type_index < FNABI_INDEX_DYNAMIC ? NOWHERE : dense_find(&t, key);
    outcome outcome = at == NOWHERE ? place(&t, key, hash, &at) : FOUND;
    if (outcome == FOUND) {
      exchange(&item_at(&t, at)->pair, key, value);
      return true;
    }
    if (outcome == ADDED) {
      append(&t, at, key, value);
      store(map, &t);
      return true;
    }
  }
  for (uint64_t slots = slots_for(map->size + 1);; slots = 2 * t.slots) {
    if (!rebuild(map, slots, &t)) return false;
    if (place(&t, key, hash, &at) == ADDED) break;
    free(t.data);
  }
  append(&t, at, key, value);
  replace(map, &t);
  return true;
}

static pair dense_take(table* t, uint64_t at) {
  item* item = item_at(t, at);
  pair taken = item->pair;
  set_after(t, item->before, item->after);
  set_before(t, item->after, item->before);
  t->size--;
  uint64_t last = next_of(t, at);
  if (last == NOWHERE) {
    uint64_t before = is_head(t, at) ? NOWHERE : chain_before(t, at);
    if (before != NOWHERE) set_distance(t, before, 0);
    *meta_at(t, at) = EMPTY;
    return taken;
  }
  /* The last item of the chain fills the gap, so that the chain stays linked.
   */
  uint64_t before = at;
  for (uint64_t left = t->slots; left > 0; left--) {
    uint64_t next = next_of(t, last);
    if (next == NOWHERE) break;
    before = last;
    last = next;
  }
  move_item(t, last, at);
  *meta_at(t, last) = EMPTY;
  set_distance(t, before, 0);
  return taken;
}

static pair small_take(fnabi_map_object* map, pair* at) {
  pair taken = *at;
  pair* end = small_pairs(map) + small_size(map);
  map->size = small_size(map) - 1;
  memmove(at, at + 1, (size_t)((char*)end - (char*)(at + 1)));
  return taken;
}

bool fnabi_map_erase(fnabi_map_object* map, const fnabi_any* key) {
  pair taken;
  if (is_small(map)) {
    pair* at = small_find(map, key);
    if (at == NULL) return false;
    taken = small_take(map, at);
  } else {
    table t = table_of(map);
    uint64_t at = dense_find(&t, key);
    if (at == NOWHERE) return false;
    taken = dense_take(&t, at);
    store(map, &t);
  }
  release_pair(&taken);
  return true;
}

/* Releasing a pair may run arbitrary code, and that may change the map or give
 * it up. So the map is held, and pairs are removed one by one, each before it is
 * released. */
void fnabi_map_clear(fnabi_map_object* map) {
  fnabi_object_retain(map);
  while (map->size > 0) {
    pair taken;
    if (is_small(map)) {
      if (small_size(map) == 0) break;
      taken = small_take(map, small_pairs(map) + small_size(map) - 1);
    } else {
      table t = table_of(map);
      if (!is_taken(&t, t.head)) break;
      taken = dense_take(&t, t.head);
      store(map, &t);
    }
    release_pair(&taken);
  }
  fnabi_object_release(map);
}

/* ----------------------------------------------------------------- creation */

/* Keys and values to release because a key was duplicated: at most all pairs
 * but one. */
typedef struct leftover {
  pair* pairs;
  size_t count;
} leftover;

/* Returns false if memory is exhausted. */
static bool leave(leftover* left, pair* at, const pair* again, size_t most) {
  if (left->pairs == NULL) left->pairs = malloc(most * sizeof *left->pairs);
  if (left->pairs == NULL) return false;
  left->pairs[left->count++] = (pair){again->key, at->value};
  at->value = again->value;
  return true;
}

static bool fill_small(fnabi_map_object* map, const pair* pairs, size_t count,
                       leftover* left) {
  map->data = map + 1;
  map->slots = SMALL | SMALL_MAX;
  for (size_t i = 0; i < count; i++) {
    pair* at = small_find(map, &pairs[i].key);
    if (at == NULL)
      small_pairs(map)[map->size++] = pairs[i];
    else if (!leave(left, at, &pairs[i], count))
      return false;
  }
  return true;
}

enum { POLL = 256 }; /* pairs; a power of two */

static bool fill_dense(fnabi_map_object* map, const pair* pairs, size_t count,
                       leftover* left) {
  table t;
  uint64_t at;
  map->data_deleter = free;
  if (!table_new(&t, slots_for(count))) return false;
  store(map, &t);
  for (size_t i = 0; i < count; i++) {
    const pair* p = &pairs[i];
    if (i % POLL == POLL - 1 && fnabi_poll(8 * POLL)) return false;
    outcome outcome = place(&t, &p->key, fnabi_any_hash(&p->key), &at);
    if (outcome == ADDED) {
      append(&t, at, &p->key, &p->value);
      store(map, &t);
    } else if (outcome == FULL) {
      if (!fnabi_map_set(map, &p->key, &p->value)) return false;
      t = table_of(map);
    } else if (!leave(left, &item_at(&t, at)->pair, p, count)) {
      return false;
    }
  }
  return true;
}

fnabi_map_object* fnabi_map_new(const fnabi_any* pairs, size_t count,
                                int32_t type_index) {
  leftover left = {NULL, 0};
  bool small = count <= SMALL_MAX;
  if (count > SLOTS_MAX) return NULL;
  fnabi_map_object* map = fnabi_object_new(
      small ? sizeof *map + SMALL_MAX * sizeof(pair) : sizeof(dense_map),
      type_index, NULL);
  if (map == NULL) return NULL;
  if (small ? fill_small(map, (const pair*)pairs, count, &left)
            : fill_dense(map, (const pair*)pairs, count, &left)) {
    for (size_t i = 0; i < left.count; i++) release_pair(&left.pairs[i]);
    free(left.pairs);
    return map;
  }
  /* The caller still owns the pairs. */
  if (map->data_deleter != NULL) map->data_deleter(map->data);
  free(left.pairs);
  fnabi_object_free(map);
  return NULL;
}
