/* map.h - MAP, which is immutable once it is shared, and DICT, which is
 * mutable. Private. Both keep the insertion order. */
#ifndef FNABI_MAP_H
#define FNABI_MAP_H

#include "calls/object.h"

/* Creates a MAP or DICT from `count` pairs of key and value, and takes
 * ownership of them on success. If keys are equal, the last value wins and the
 * first position is kept. Returns NULL if memory is exhausted, or if it is
 * interrupted. */
fnabi_map_object* fnabi_map_new(const fnabi_any* pairs, size_t count,
                                int32_t type_index);

/* What is wrong with a map of a foreign library, static; NULL: nothing. */
const char* fnabi_map_problem(const fnabi_map_object* map);

/* Iterates over the pairs. The caller sets *cursor to FNABI_MAP_BEGIN before
 * the first call. Returns false at the end. Iteration over a damaged map of
 * another library ends after at most `size` pairs. */
#define FNABI_MAP_BEGIN UINT64_MAX
bool fnabi_map_next(const fnabi_map_object* map, uint64_t* cursor,
                    const fnabi_any** key, const fnabi_any** value);
/* Whether `size` pairs were returned and no pair is after them. That may be
 * false at the end of an iteration during which a DICT changed. */
bool fnabi_map_at_end(const fnabi_map_object* map, uint64_t cursor);
/* Whether the pair that was returned last is where it was. `key` has its bits,
 * whether it is alive or not. Always true in a map that is not small. */
bool fnabi_map_holds(const fnabi_map_object* map, uint64_t cursor,
                     const fnabi_any* key);

/* Returns a pointer to the value of a key inside the map, or NULL. */
const fnabi_any* fnabi_map_find(const fnabi_map_object* map,
                                const fnabi_any* key);

/* Change a DICT, including one that another library created. fnabi_map_set
 * takes ownership of `key` and `value` on success; if the key exists, it keeps
 * its position and the new key is released. Returns false, without any change,
 * if memory is exhausted or the map cannot grow. It cannot grow if it is
 * damaged, or if the type of a key was registered at run time and has its own
 * hash, which only the registering library can compute. */
bool fnabi_map_set(fnabi_map_object* map, const fnabi_any* key,
                   const fnabi_any* value);
/* Returns false if the key does not exist. */
bool fnabi_map_erase(fnabi_map_object* map, const fnabi_any* key);
void fnabi_map_clear(fnabi_map_object* map);

#endif
