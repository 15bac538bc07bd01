/* keys.h - keys of maps of types with a hash of their own. Private. */
#ifndef FNABI_LANE_CALLS_KEYS_H
#define FNABI_LANE_CALLS_KEYS_H

#include "lane/calls/types.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/map.h"

/* Types may have a hash and a comparison of their own for keys of maps, which
 * libtvm_ffi calls. Maps with such keys are made, searched and changed there;
 * the core compares objects by identity. */

/* Whether a key may be of such a type. */
static inline bool lane_key_may_be_custom(const fnabi_any* key) {
  return key->type_index >= FNABI_INDEX_DYNAMIC;
}
/* Whether a key is of such a type, and whether one of `count` pairs has one. */
bool lane_key_is_custom(const fnabi_any* key);
bool lane_keys_are_custom(const fnabi_any* pairs, Py_ssize_t count);
/* For custom keys: make a map of pairs, which stay the caller's, and find the
 * value of a key. lane_keys_find returns 1 and the owned value, or 0. */
fnabi_map_object* lane_keys_map(const fnabi_any* pairs, Py_ssize_t count,
                                int32_t type_index);
int lane_keys_find(fnabi_map_object* map, const fnabi_any* key,
                   fnabi_any* value);
/* Change a DICT, for any keys. lane_keys_set takes key and value over when it
 * succeeds. lane_keys_erase returns 1, or 0 if the key does not exist. */
int lane_keys_set(fnabi_map_object* map, const fnabi_any* key,
                  const fnabi_any* value);
int lane_keys_erase(fnabi_map_object* map, const fnabi_any* key);

#endif /* FNABI_LANE_CALLS_KEYS_H */
