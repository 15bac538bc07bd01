/* Calls between libraries of both tables of types: what must not cross is found
 * in the arguments and refused. */
#include "lane/runtime/both_tables.h"

#include <stdio.h>

#include "calls/map.h"
#include "lane/runtime/loader.h"
#include "lane/runtime/made_function.h"
#include "lane/runtime/threads.h"
#include "lane/runtime/tvm_ffi.h"

enum { DEEP = 32 };

typedef struct bound {
  struct bound* next;
  void* library;
} bound;

static bound* all_bound; /* newest first; libraries stay loaded */
static lane_mutex adding = LANE_MUTEX;

void lane_tables_own(void* library) {
  bound* made = malloc(sizeof *made);
  if (made == NULL) return;
  made->library = library;
  lane_mutex_lock(&adding);
  made->next = all_bound;
  fnabi_atomic_store((void**)&all_bound, made, RELEASE);
  lane_mutex_unlock(&adding);
  lane_table_met_library();
}

static const void* address_of(fnabi_call call) {
  const void* address;
  memcpy(&address, &call, sizeof address);
  return address;
}

bool lane_tables_code_is_own(fnabi_call call) {
  const void* library = lane_loader_of(address_of(call));
  const bound* at = fnabi_atomic_load((void**)&all_bound, ACQUIRE);
  while (at != NULL && at->library != library) at = at->next;
  return at != NULL && library != NULL;
}

static bool function_is_own(const fnabi_function_object* function) {
  fnabi_call made = lane_made_call(function->call, (void*)(uintptr_t)function);
  return lane_tables_code_is_own(made != NULL ? made : function->call);
}

static const fnabi_byte_array* own_in(const fnabi_any* value, int depth) {
  if (!fnabi_any_is_object(value) || value->v_object == NULL) return NULL;
  const fnabi_type_info* info = lane_table_is_own(value->type_index)
                                    ? lane_table_info(value->type_index)
                                    : NULL;
  if (info != NULL) return &info->key;
  if (value->type_index == FNABI_INDEX_FUNCTION) {
    /* it may return such objects */
    static const fnabi_byte_array function = {"ffi.Function", 12};
    return function_is_own((const fnabi_function_object*)value->v_object)
               ? &function
               : NULL;
  }
  if (depth == DEEP) return NULL;
  const fnabi_byte_array* found = NULL;
  if (value->type_index == FNABI_INDEX_ARRAY ||
      value->type_index == FNABI_INDEX_LIST) {
    const fnabi_seq_object* seq = (const fnabi_seq_object*)value->v_object;
    for (int64_t i = 0; i < seq->size && found == NULL; i++)
      found = own_in(&seq->data[i], depth + 1);
  } else if (value->type_index == FNABI_INDEX_MAP ||
             value->type_index == FNABI_INDEX_DICT) {
    const fnabi_map_object* map = (const fnabi_map_object*)value->v_object;
    uint64_t cursor = FNABI_MAP_BEGIN;
    const fnabi_any *key, *item;
    while (found == NULL && fnabi_map_next(map, &cursor, &key, &item)) {
      found = own_in(key, depth + 1);
      if (found == NULL) found = own_in(item, depth + 1);
    }
  }
  return found;
}

static FNABI_FAST_THREAD bool calls_theirs;

static bool is_theirs(fnabi_call call, void* handle) {
  const void* library = lane_loader_of(address_of(call));
  bool is_fnabi = library == lane_loader_of(&lane_both_tables);
  fnabi_call made = is_fnabi ? lane_made_call(call, handle) : call;
  return made != NULL && !lane_tables_code_is_own(made);
}

/* A function that is called with a look at its arguments. */
typedef struct guarded {
  fnabi_function_object function;
  fnabi_function_object* of; /* owned */
} guarded;

static int run_guarded(void* object, const fnabi_any* args, int32_t n,
                       fnabi_any* result) {
  fnabi_function_object* of = ((guarded*)object)->of;
  return lane_tables_call(of->call, of, args, n, result);
}

static void delete_guarded(void* object, int flags) {
  if (flags & FNABI_DELETER_STRONG)
    fnabi_object_release(((guarded*)object)->of);
  if (flags & FNABI_DELETER_WEAK) fnabi_object_free(object);
}

fnabi_object* lane_tables_guard(fnabi_object* function) {
  guarded* made = (guarded*)fnabi_function_new(
      run_guarded, sizeof *made - sizeof made->function, delete_guarded);
  if (made != NULL)
    made->of = (fnabi_function_object*)function;
  else
    fnabi_object_release(function);
  return (fnabi_object*)made;
}

static int refuse(const fnabi_byte_array* key) {
  char text[256];
  snprintf(text, sizeof text, "%.*s", (int)key->size, key->data);
  const char* const parts[] = {
      "an argument is an object of '", text,
      "' in fnabi's own table of types; the function belongs to a library of "
      "libtvm_ffi, which was loaded later and has another table"};
  lane_error_put_text("TypeError", parts, 3);
  return -1;
}

/* Calls a library of fnabi's table, which may call the functions that it gets. */
static int call_own(fnabi_call call, void* handle, const fnabi_any* args,
                    int32_t n, fnabi_any* result) {
  static const char* const no_memory = "out of memory";
  fnabi_any* changed = NULL;
  for (int32_t i = 0; i < n; i++) {
    fnabi_function_object* function = (void*)args[i].v_object;
    if (args[i].type_index != FNABI_INDEX_FUNCTION ||
        !is_theirs(function->call, function))
      continue;
    if (changed == NULL) {
      changed = malloc((size_t)n * sizeof *changed);
      if (changed == NULL) {
        lane_error_put_text("MemoryError", &no_memory, 1);
        return -1;
      }
      memcpy(changed, args, (size_t)n * sizeof *changed);
      for (int32_t k = 0; k < n; k++) fnabi_any_retain(&changed[k]);
    }
    fnabi_object* guard = lane_tables_guard(&function->object);
    if (guard != NULL)
      changed[i].v_object = guard;
    else
      fnabi_any_set(&changed[i], FNABI_INDEX_NONE, 0); /* no memory */
  }
  int status = call(handle, changed != NULL ? changed : args, n, result);
  for (int32_t i = 0; changed != NULL && i < n; i++)
    fnabi_any_release(&changed[i]);
  free(changed);
  return status;
}

int lane_tables_call(fnabi_call call, void* handle, const fnabi_any* args,
                     int32_t n, fnabi_any* result) {
  bool theirs = is_theirs(call, handle), outer = calls_theirs;
  const fnabi_byte_array* key = NULL;
  for (int32_t i = 0; theirs && i < n && key == NULL; i++)
    key = own_in(&args[i], 0);
  if (key != NULL) return refuse(key);
  calls_theirs = theirs;
  int status = theirs ? call(handle, args, n, result)
                      : call_own(call, handle, args, n, result);
  calls_theirs = outer;
  return status;
}

const fnabi_byte_array* lane_tables_own_in(const fnabi_any* value) {
  return own_in(value, 0);
}

const fnabi_byte_array* lane_tables_refused(const fnabi_any* value) {
  return calls_theirs ? own_in(value, 0) : NULL;
}
