/* map_layout.h - checks the layout of a map against the ABI. Written
 * independently of map.c. */
#ifndef MAP_LAYOUT_H
#define MAP_LAYOUT_H

#include "calls/map.h"
#include "check.h"

/* A field of the map; every field has 8 bytes. */
static inline uint64_t field_at(const fnabi_map_object* map, size_t offset) {
  uint64_t value;
  memcpy(&value, (const char*)map + offset, sizeof value);
  return value;
}

static inline unsigned shift_of(const fnabi_map_object* map) {
  return (uint32_t)field_at(map, 56);
}

static inline uint8_t* meta_byte(const fnabi_map_object* map, uint64_t slot) {
  return (uint8_t*)map->data + slot / 16 * 784 + slot % 16;
}

static inline char* item_bytes(const fnabi_map_object* map, uint64_t slot) {
  return (char*)map->data + slot / 16 * 784 + 16 + slot % 16 * 48;
}

static inline uint64_t item_field(const fnabi_map_object* map, uint64_t slot,
                                  size_t offset) {
  uint64_t value;
  memcpy(&value, item_bytes(map, slot) + offset, sizeof value);
  return value;
}

static inline uint64_t home_slot(const fnabi_map_object* map,
                                 const fnabi_any* key) {
  return UINT64_C(11400714819323198485) * fnabi_any_hash(key) >> shift_of(map);
}

static inline bool is_dense(const fnabi_map_object* map) {
  return map->slots >> 63 == 0;
}

enum { DISTANCES = 126 };

/* From number 16 on, distances are triangular numbers root (root + 1) / 2,
 * first with consecutive roots, then with roots that grow by half. */
static inline uint64_t distance_of(unsigned number) {
  static const uint64_t far[] = {
      130,       195,       292,       438,       657,        986,
      1478,      2217,      3326,      4988,      7482,       11223,
      16835,     25252,     37877,     56816,     85223,      127835,
      191752,    287627,    431440,    647160,    970740,     1456110,
      2184165,   3276247,   4914370,   7371555,   11057333,   16585999,
      24878998,  37318497,  55977745,  83966618,  125949926,  188924889,
      283387334, 425081001, 637621501, 956432251, 1434648376, 2151972564,
      3227958845};
  CHECK(number < DISTANCES);
  if (number < 16) return number;
  uint64_t root = number < 83 ? number - 10 : far[number - 83];
  return root * (root + 1) / 2;
}

static inline void check_layout(const fnabi_map_object* map) {
  if (!is_dense(map)) {
    CHECK((map->slots & 0xFF) >= map->size && (map->slots & 0xFF) >= 2);
    CHECK(map->data != NULL);
    return;
  }
  CHECK((map->slots & (map->slots - 1)) == 0 && map->data_deleter != NULL);
  CHECK((uint64_t)1 << (64 - shift_of(map)) == map->slots);
  /* The list, in both directions. */
  uint64_t last = UINT64_MAX, slot = field_at(map, 64);
  for (uint64_t i = 0; i < map->size; i++) {
    CHECK(slot < map->slots && *meta_byte(map, slot) < 0xFE);
    CHECK(item_field(map, slot, 32) == last);
    last = slot;
    slot = item_field(map, slot, 40);
  }
  CHECK(slot == UINT64_MAX && field_at(map, 72) == last);
  /* The chains begin at the home slots and contain every pair. */
  uint64_t taken = 0, chained = 0;
  for (slot = 0; slot < map->slots; slot++) {
    uint8_t meta = *meta_byte(map, slot);
    CHECK(meta != 0xFE);
    if (meta == 0xFF) continue;
    taken++;
    if (meta & 0x80) continue;
    for (uint64_t at = slot;;
         at = (at + distance_of(meta & 0x7F)) % map->slots) {
      meta = *meta_byte(map, at);
      CHECK(meta < 0xFE && (at == slot) == ((meta & 0x80) == 0));
      CHECK(home_slot(map, (fnabi_any*)item_bytes(map, at)) == slot);
      CHECK(++chained <= map->size);
      if ((meta & 0x7F) == 0) break;
    }
  }
  CHECK(taken == map->size && chained == map->size);
}

#endif /* MAP_LAYOUT_H */
