/* map.h - MAP, which does not change once it is shared, and DICT, which does.
 * Private. Both keep the order of insertion. */
#ifndef FNABI_MAP_H
#define FNABI_MAP_H

#include "value/object.h"

/* A MAP or DICT of `count` pairs of key and value, which are taken over on
 * success; of equal keys the last value stays in the first one's place. NULL
 * when memory runs out. */
fnabi_map_object* fnabi_map_new(const fnabi_any* pairs, size_t count,
                                int32_t type_index);

/* Walks over the pairs: *cursor is FNABI_MAP_BEGIN at first. False at the end.
 * A foreign map that is damaged ends the walk after `size` pairs at the latest.
 */
#define FNABI_MAP_BEGIN UINT64_MAX
bool fnabi_map_next(const fnabi_map_object* map, uint64_t* cursor,
                    const fnabi_any** key, const fnabi_any** value);

/* The value of a key, in place, or NULL. */
const fnabi_any* fnabi_map_find(const fnabi_map_object* map,
                                const fnabi_any* key);

/* Changes to a DICT, also one that a foreign library made. `key` and `value`
 * are taken over on success; a key that is there keeps its place, and the new
 * one is released. False, and nothing has changed: out of memory; or the map
 * cannot grow, because it is damaged or has a key of a type that is given out
 * at run time and has a hash of its own, which only its library knows. */
bool fnabi_map_set(fnabi_map_object* map, const fnabi_any* key,
                   const fnabi_any* value);
/* False: no such key. */
bool fnabi_map_erase(fnabi_map_object* map, const fnabi_any* key);
void fnabi_map_clear(fnabi_map_object* map);

#endif
