/* Keys of maps of types with a hash of their own, which libtvm_ffi calls. */
#include "lane/calls/keys.h"

#include "lane/calls/error.h"
#include "lane/calls/result.h"
#include "lane/runtime/call_error.h"
#include "lane/runtime/error_slot.h"
#include "lane/runtime/tvm_ffi.h"
#include "lane/runtime/types.h"

/* A column stays where it is, but built-in types have another one once
 * libtvm_ffi is loaded. */
static bool has_attribute(const char* name, const fnabi_type_column** known,
                          int32_t type_index) {
  const fnabi_type_column* column = *known;
  if (column == NULL) {
    column = lane_type_column(name, type_index);
    if (lane_table_is_own(type_index) || lane_runtime_find() != NULL)
      *known = column;
  }
  return lane_type_attribute(column, type_index) != NULL;
}

bool lane_key_is_custom(const fnabi_any* key) {
  static const fnabi_type_column *hashes[2],
      *equals[2]; /* by table; the GIL guards them */
  bool is_own = lane_table_is_own(key->type_index);
  return has_attribute("__any_hash__", &hashes[is_own], key->type_index) ||
         has_attribute("__any_equal__", &equals[is_own], key->type_index);
}

bool lane_keys_are_custom(const fnabi_any* pairs, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i++)
    if (lane_key_may_be_custom(pairs + 2 * i) &&
        lane_key_is_custom(pairs + 2 * i))
      return true;
  return false;
}

static bool map_is_custom(const fnabi_map_object* map) {
  uint64_t cursor = FNABI_MAP_BEGIN;
  const fnabi_any *key, *value;
  while (fnabi_map_next(map, &cursor, &key, &value))
    if (lane_key_may_be_custom(key) && lane_key_is_custom(key)) return true;
  return false;
}

/* Functions of libtvm_ffi. */
typedef enum keys_function {
  MAP,
  DICT,
  MAP_GET,
  DICT_GET,
  DICT_SET,
  DICT_ERASE,
  MISSING,
  FUNCTIONS
} keys_function;

static fnabi_function_object* find_function(keys_function which) {
  static const char* const names[FUNCTIONS] = {"ffi.Map",
                                               "ffi.Dict",
                                               "ffi.MapGetItemOrMissing",
                                               "ffi.DictGetItemOrMissing",
                                               "ffi.DictSetItem",
                                               "ffi.DictErase",
                                               "ffi.GetInvalidObject"};
  static fnabi_function_object* functions[FUNCTIONS]; /* the GIL guards them */
  if (functions[which] != NULL) return functions[which];
  const fnabi_byte_array name = {names[which], strlen(names[which])};
  const lane_runtime* runtime = lane_runtime_find();
  void* found = NULL;
  fnabi_error_object* left = lane_error_begin();
  int status = runtime ? runtime->get_function(&name, &found) : 0;
  if (status != 0) lane_error_raise(NULL, status);
  lane_error_end(left, status == 0);
  if (status == 0 && found == NULL)
    lane_call_error("%s: libtvm_ffi has no such function", names[which]);
  if (status != 0) return NULL;
  return functions[which] = found;
}

static int call(keys_function which, const fnabi_any* args, int32_t count,
                fnabi_any* result) {
  fnabi_function_object* function = find_function(which);
  fnabi_any refused;
  *result = (fnabi_any){0};
  if (function == NULL) return -1;
  fnabi_error_object* left = lane_error_begin();
  int status = function->call(function, args, count, result);
  if (status != 0) lane_error_raise(NULL, status);
  lane_error_end(left, status == 0);
  if (!lane_result_settle(result, &refused))
    fnabi_any_set(result, FNABI_INDEX_NONE, 0);
  if (status != 0) fnabi_any_release(result);
  return status != 0 ? -1 : 0;
}

fnabi_map_object* lane_keys_map(const fnabi_any* pairs, Py_ssize_t count,
                                int32_t type_index) {
  fnabi_any result;
  if (count > INT32_MAX / 2) {
    PyErr_NoMemory();
    return NULL;
  }
  keys_function make = type_index == FNABI_INDEX_MAP ? MAP : DICT;
  if (call(make, pairs, 2 * (int32_t)count, &result) < 0) return NULL;
  if (result.type_index == type_index)
    return (fnabi_map_object*)result.v_object;
  fnabi_any_release(&result);
  lane_call_error("Map: libtvm_ffi made no map");
  return NULL;
}

/* A comparison in Python may move the map to a callee, so it is held. */
static fnabi_any hold(fnabi_map_object* map) {
  fnabi_any any;
  fnabi_any_set_object(&any, map);
  fnabi_any_retain(&any);
  return any;
}

int lane_keys_find(fnabi_map_object* map, const fnabi_any* key,
                   fnabi_any* value) {
  static fnabi_object* missing; /* the GIL guards it */
  if (missing == NULL) {
    fnabi_any made;
    if (call(MISSING, NULL, 0, &made) < 0) return -1;
    missing = made.v_object;
  }
  const fnabi_any args[] = {hold(map), *key};
  bool is_map = map->object.type_index == FNABI_INDEX_MAP;
  int status = call(is_map ? MAP_GET : DICT_GET, args, 2, value);
  lane_release(&map->object);
  if (status < 0) return -1;
  if (!fnabi_any_is_object(value) || value->v_object != missing) return 1;
  fnabi_any_release(value);
  return 0;
}

int lane_keys_set(fnabi_map_object* map, const fnabi_any* key,
                  const fnabi_any* value) {
  bool custom = lane_key_may_be_custom(key) && lane_key_is_custom(key);
  if (!custom && fnabi_map_set(map, key, value)) return 0;
  if (!custom && !map_is_custom(map)) return lane_no_memory();
  /* only libtvm_ffi can give the keys new slots when the map grows */
  const fnabi_any args[] = {hold(map), *key, *value};
  fnabi_any result;
  fnabi_any taken[] = {*key, *value};
  int status = call(DICT_SET, args, 3, &result);
  lane_release(&map->object);
  if (status < 0) return -1;
  fnabi_any_release(&taken[0]);
  fnabi_any_release(&taken[1]);
  return 0;
}

int lane_keys_erase(fnabi_map_object* map, const fnabi_any* key) {
  if (!lane_key_may_be_custom(key) || !lane_key_is_custom(key))
    return fnabi_map_erase(map, key);
  uint64_t size = map->size;
  const fnabi_any args[] = {hold(map), *key};
  fnabi_any result;
  int status = call(DICT_ERASE, args, 2, &result);
  if (status == 0) status = map->size != size;
  lane_release(&map->object);
  return status;
}
