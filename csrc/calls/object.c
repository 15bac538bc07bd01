/* The reference-counted objects of TVM-FFI's stable C ABI. */
#include "calls/object.h"

#include <stdlib.h>

#include "calls/map.h"

/* The layouts are part of the ABI: every library was compiled with them. */
#define AT(type, field, offset) \
  _Static_assert(offsetof(type, field) == (offset), "layout of the ABI")
#define SIZE(type, size) \
  _Static_assert(sizeof(type) == (size), "layout of the ABI")

SIZE(fnabi_any, 16);
AT(fnabi_any, small_size, 4);
AT(fnabi_any, v_int, 8);
SIZE(fnabi_dl_dtype, 4);
SIZE(fnabi_dl_device, 8);
SIZE(fnabi_dl_tensor, 48);
AT(fnabi_dl_tensor, device, 8);
AT(fnabi_dl_tensor, ndim, 16);
AT(fnabi_dl_tensor, dtype, 20);
AT(fnabi_dl_tensor, shape, 24);
AT(fnabi_dl_tensor, strides, 32);
AT(fnabi_dl_tensor, byte_offset, 40);
SIZE(fnabi_object, 24);
AT(fnabi_object, type_index, 8);
AT(fnabi_object, deleter, 16);
AT(fnabi_bytes_object, text, 24);
AT(fnabi_shape_object, ndim, 32);
SIZE(fnabi_error_object, 24 + 72);
AT(fnabi_error_object, update_backtrace, 72);
AT(fnabi_error_object, cause, 80);
AT(fnabi_function_object, call, 24);
AT(fnabi_tensor_object, tensor, 24);
SIZE(fnabi_seq_object, 56);
AT(fnabi_seq_object, size, 32);
AT(fnabi_seq_object, capacity, 40);
AT(fnabi_seq_object, data_deleter, 48);
SIZE(fnabi_map_object, 56);
AT(fnabi_map_object, slots, 40);
AT(fnabi_opaque_object, handle, 24);
AT(fnabi_big_int_object, words, 24);

/* Precedes every object. `link` connects objects that are being destroyed; at
 * all other times it is NULL, because newer versions of the ABI give it a
 * meaning. `delete_space` frees the memory. */
typedef struct prefix {
  void* link;
  void (*delete_space)(void* body);
} prefix;

static prefix* prefix_of(void* object) { return (prefix*)object - 1; }

/* ------------------------------------------------------------------- memory */

static void* allocate(size_t size, int32_t type_index,
                      void (*deleter)(void* self, int flags), bool clear) {
  if (size > SIZE_MAX - sizeof(prefix)) return NULL;
  prefix* block =
      clear ? calloc(1, sizeof(prefix) + size) : malloc(sizeof(prefix) + size);
  if (block == NULL) return NULL;
  *block = (prefix){NULL, fnabi_object_free};
  fnabi_object* object = (fnabi_object*)(block + 1);
  *object = (fnabi_object){FNABI_WEAK_ONE | 1, type_index, 0,
                           deleter == NULL ? fnabi_object_delete : deleter};
  return object;
}

void* fnabi_object_new(size_t size, int32_t type_index,
                       void (*deleter)(void* self, int flags)) {
  return allocate(size, type_index, deleter, true);
}

void* fnabi_object_new_raw(size_t size, int32_t type_index,
                           void (*deleter)(void* self, int flags)) {
  return allocate(size, type_index, deleter, false);
}

void fnabi_object_free(void* object) { free(prefix_of(object)); }

/* ------------------------------------------------------------------- counts */

/* All strong references together own one weak reference. So the memory is freed
 * when the last weak reference is released. */

/* Makes visible what other threads did before they released their references.
 * An acquire fence would suffice, but the thread sanitizer ignores fences. */
static void acquire(fnabi_object* object) {
  (void)fnabi_atomic_load(&object->counts, ACQUIRE);
}

void fnabi_object_release_weak(void* object) {
  fnabi_object* o = object;
  uint64_t before = fnabi_atomic_subtract(&o->counts, FNABI_WEAK_ONE, RELEASE);
  if (before != FNABI_WEAK_ONE) return;
  acquire(o);
  if (o->deleter != NULL) o->deleter(o, FNABI_DELETER_WEAK);
}

void fnabi_object_last(fnabi_object* object, uint64_t before) {
  acquire(object);
  if (before == (FNABI_WEAK_ONE | 1)) {
    if (object->deleter != NULL)
      object->deleter(object, FNABI_DELETER_STRONG | FNABI_DELETER_WEAK);
    return;
  }
  if (object->deleter != NULL) object->deleter(object, FNABI_DELETER_STRONG);
  fnabi_object_release_weak(object);
}

bool fnabi_object_promote(void* object) {
  uint64_t* counts = &((fnabi_object*)object)->counts;
  uint64_t now = fnabi_atomic_load(counts, RELAXED);
  while ((uint32_t)now != 0) {
    if (fnabi_atomic_try_replace(counts, &now, now + 1)) return true;
  }
  return false;
}

/* -------------------------------------------------------------- destruction */

/* Destruction does not recurse, so values may nest as deeply as memory allows.
 * An object that loses its last reference while its owner is destroyed is added
 * to a list, linked through the prefixes of the objects. */

/* Releases one strong reference. */
static void drop(fnabi_object* object, fnabi_object** dying) {
  if (object == NULL) return;
  uint64_t before = fnabi_atomic_subtract(&object->counts, 1, RELEASE);
  if ((uint32_t)before != 1) return;
  if (object->deleter != fnabi_object_delete) {
    fnabi_object_last(object, before);
    return;
  }
  acquire(object);
  prefix_of(object)->link = *dying;
  *dying = object;
}

static void drop_value(const fnabi_any* value, fnabi_object** dying) {
  if (fnabi_any_is_object(value)) drop(value->v_object, dying);
}

static const char no_text[] = "";

/* Releases everything that an object holds. */
static void destroy(fnabi_object* object, fnabi_object** dying) {
  switch (object->type_index) {
    case FNABI_INDEX_ARRAY:
    case FNABI_INDEX_LIST: {
      fnabi_seq_object* seq = (fnabi_seq_object*)object;
      for (int64_t i = 0; i < seq->size; i++) drop_value(&seq->data[i], dying);
      if (seq->data_deleter != NULL) seq->data_deleter(seq->data);
      break;
    }
    case FNABI_INDEX_MAP:
    case FNABI_INDEX_DICT: {
      fnabi_map_object* map = (fnabi_map_object*)object;
      uint64_t cursor = FNABI_MAP_BEGIN;
      const fnabi_any *key, *value;
      while (fnabi_map_next(map, &cursor, &key, &value)) {
        drop_value(key, dying);
        drop_value(value, dying);
      }
      if (map->data_deleter != NULL) map->data_deleter(map->data);
      break;
    }
    case FNABI_INDEX_ERROR: {
      fnabi_error_object* error = (fnabi_error_object*)object;
      drop(error->cause, dying);
      drop(error->context, dying);
      if (error->backtrace.data != no_text) free((char*)error->backtrace.data);
      break;
    }
    default:
      break;
  }
}

void fnabi_object_delete(void* self, int flags) {
  fnabi_object* dying = NULL;
  if (flags & FNABI_DELETER_STRONG) destroy(self, &dying);
  while (dying != NULL) {
    fnabi_object* object = dying;
    dying = prefix_of(object)->link;
    prefix_of(object)->link = NULL;
    destroy(object, &dying);
    fnabi_object_release_weak(object);
  }
  if (flags & FNABI_DELETER_WEAK) fnabi_object_free(self);
}

/* -------------------------------------------------------------------- texts */

/* Copies a text into the block of an object. It ends with a NUL by convention.
 */
static void put_text(fnabi_byte_array* out, char* at, const char* data,
                     size_t size) {
  if (size != 0) memcpy(at, data, size);
  at[size] = 0;
  *out = (fnabi_byte_array){at, size};
}

static bool text_new(const char* data, size_t size, int32_t small,
                     int32_t large, fnabi_any* out) {
  fnabi_any_set(out, FNABI_INDEX_NONE, 0);
  if (size <= FNABI_SMALL_MAX) {
    out->type_index = small;
    out->small_size = (uint32_t)size;
    if (size != 0) memcpy(out->v_small, data, size);
    return true;
  }
  if (size > SIZE_MAX - sizeof(fnabi_bytes_object) - 1) return false;
  fnabi_bytes_object* object =
      allocate(sizeof *object + size + 1, large, NULL, false);
  if (object == NULL) return false;
  put_text(&object->text, (char*)(object + 1), data, size);
  fnabi_any_set_object(out, object);
  return true;
}

bool fnabi_string_new(const char* data, size_t size, fnabi_any* out) {
  return text_new(data, size, FNABI_INDEX_SMALL_STR, FNABI_INDEX_STR, out);
}

bool fnabi_bytes_new(const char* data, size_t size, fnabi_any* out) {
  return text_new(data, size, FNABI_INDEX_SMALL_BYTES, FNABI_INDEX_BYTES, out);
}

/* ------------------------------------------------------------------- shapes */

fnabi_shape_object* fnabi_shape_new(const int64_t* dims, size_t ndim) {
  if (ndim > (SIZE_MAX - sizeof(fnabi_shape_object)) / sizeof *dims)
    return NULL;
  fnabi_shape_object* shape = allocate(sizeof *shape + ndim * sizeof *dims,
                                       FNABI_INDEX_SHAPE, NULL, false);
  if (shape == NULL) return NULL;
  if (ndim != 0) memcpy(shape + 1, dims, ndim * sizeof *dims);
  shape->dims = (const int64_t*)(shape + 1);
  shape->ndim = ndim;
  return shape;
}

/* ------------------------------------------------------------------- errors */

/* Kind and message never change, so they are stored in the object's block. The
 * backtrace grows with each frame, so it has its own block. */

/* Returns the concatenation of two texts, or NULL if memory is exhausted. */
static char* join(const fnabi_byte_array* a, const fnabi_byte_array* b) {
  if (a->size >= SIZE_MAX - b->size) return NULL;
  char* text = malloc(a->size + b->size + 1);
  if (text == NULL) return NULL;
  if (a->size != 0) memcpy(text, a->data, a->size);
  if (b->size != 0) memcpy(text + a->size, b->data, b->size);
  text[a->size + b->size] = 0;
  return text;
}

/* The ABI gives this function no way to fail: if memory is exhausted, the
 * backtrace stays unchanged. */
static void update_backtrace(void* self, const fnabi_byte_array* text,
                             int mode) {
  fnabi_error_object* error = self;
  fnabi_byte_array old = error->backtrace;
  fnabi_byte_array kept = {no_text, 0};
  if (mode == 1) kept = old;
  char* joined = join(&kept, text);
  if (joined == NULL) return;
  error->backtrace = (fnabi_byte_array){joined, kept.size + text->size};
  if (old.data != no_text) free((char*)old.data);
}

fnabi_error_object* fnabi_error_object_new(const fnabi_byte_array* kind,
                                           const fnabi_byte_array* message,
                                           const fnabi_byte_array* backtrace,
                                           size_t extra,
                                           void (*deleter)(void*, int)) {
  size_t size = sizeof(fnabi_error_object) + 2;
  const size_t parts[] = {extra, kind->size, message->size};
  for (size_t i = 0; i < 3; i++) {
    if (parts[i] > SIZE_MAX - size) return NULL;
    size += parts[i];
  }
  fnabi_error_object* error = allocate(size, FNABI_INDEX_ERROR, deleter, true);
  if (error == NULL) return NULL;
  char* texts = (char*)(error + 1) + extra;
  put_text(&error->kind, texts, kind->data, kind->size);
  put_text(&error->message, texts + kind->size + 1, message->data,
           message->size);
  error->backtrace = (fnabi_byte_array){no_text, 0};
  error->update_backtrace = update_backtrace;
  if (backtrace->size != 0) {
    update_backtrace(error, backtrace, 0);
    if (error->backtrace.size == 0) {
      fnabi_object_free(error);
      return NULL;
    }
  }
  return error;
}

/* ---------------------------------------------------------------- functions */

fnabi_function_object* fnabi_function_new(fnabi_call call, size_t extra,
                                          void (*deleter)(void*, int)) {
  if (extra > SIZE_MAX - sizeof(fnabi_function_object)) return NULL;
  fnabi_function_object* function =
      fnabi_object_new(sizeof *function + extra, FNABI_INDEX_FUNCTION, deleter);
  if (function != NULL) function->call = call;
  return function;
}

/* -------------------------------------------------------------- big numbers */

bool fnabi_int_new(const uint64_t* words, size_t count, fnabi_any* out) {
  /* The highest word is redundant if it only repeats the sign bit below it. */
  while (count > 1 && words[count - 1] == 0 - (words[count - 2] >> 63)) count--;
  fnabi_any_set(out, FNABI_INDEX_NONE, 0);
  if (count == 1) {
    fnabi_any_set(out, FNABI_INDEX_INT, (int64_t)words[0]);
    return true;
  }
  fnabi_big_int_object* big = allocate(sizeof *big + count * sizeof *words,
                                       FNABI_INDEX_BIG_INT, NULL, false);
  if (big == NULL) return false;
  big->words = count;
  memcpy(big + 1, words, count * sizeof *words);
  fnabi_any_set_object(out, big);
  return true;
}
