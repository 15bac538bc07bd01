/* Values, objects and texts. */
#include "lane/runtime/text.h"
#include "lane/stand_in/stand_in.h"

int stand_in_object_retain(void* object) {
  if (object != NULL) fnabi_object_retain(object);
  return 0;
}

int stand_in_object_release(void* object) {
  if (object != NULL) fnabi_object_release(object);
  return 0;
}

int stand_in_any_own(const fnabi_any* view, fnabi_any* out) {
  fnabi_code code = fnabi_any_own(view, out);
  if (code == FNABI_OK) return 0;
  return code == FNABI_MEMORY
             ? stand_in_no_memory()
             : stand_in_fail("TypeError",
                             "the value cannot be kept after the call");
}

int stand_in_string_create(const fnabi_byte_array* text, fnabi_any* out) {
  if (!lane_text_is_good(text))
    return stand_in_fail("ValueError", "the text cannot be read");
  return fnabi_string_new(text->data, text->size, out) ? 0
                                                       : stand_in_no_memory();
}

int stand_in_bytes_create(const fnabi_byte_array* text, fnabi_any* out) {
  if (!lane_text_is_good(text))
    return stand_in_fail("ValueError", "the bytes cannot be read");
  return fnabi_bytes_new(text->data, text->size, out) ? 0
                                                      : stand_in_no_memory();
}

typedef struct opaque {
  fnabi_opaque_object object;
  void (*deleter)(void* handle); /* or NULL */
} opaque;

static void delete_opaque(void* object, int flags) {
  opaque* self = object;
  if ((flags & FNABI_DELETER_STRONG) && self->deleter != NULL)
    self->deleter(self->object.handle);
  if (flags & FNABI_DELETER_WEAK) fnabi_object_free(object);
}

int stand_in_object_create_opaque(void* handle, int32_t type_index,
                                  void (*deleter)(void* handle), void** out) {
  if (type_index != FNABI_INDEX_OPAQUE_PY)
    return stand_in_fail("RuntimeError",
                         "an opaque object has the type ffi.OpaquePyObject");
  opaque* made = fnabi_object_new(sizeof *made, type_index, delete_opaque);
  if (made == NULL) return stand_in_no_memory();
  made->object.handle = handle;
  made->deleter = deleter;
  *out = made;
  return 0;
}

int stand_in_big_int_create(const fnabi_byte_array* words, fnabi_any* out) {
  *out = (fnabi_any){0};
  if (words->size % sizeof(uint64_t) != 0)
    return stand_in_fail("ValueError",
                         "the bytes of an integer are no whole 64-bit words");
  if (words->size == 0) {
    fnabi_any_set(out, FNABI_INDEX_INT, 0);
    return 0;
  }
  uint64_t* copy = malloc(words->size); /* the text may be anywhere */
  if (copy == NULL) return stand_in_no_memory();
  memcpy(copy, words->data, words->size);
  bool good = fnabi_int_new(copy, words->size / sizeof *copy, out);
  free(copy);
  return good ? 0 : stand_in_no_memory();
}

fnabi_byte_array stand_in_big_int_words(const fnabi_any* value) {
  if (value->type_index != FNABI_INDEX_BIG_INT)
    return (fnabi_byte_array){(const char*)&value->v_int, sizeof value->v_int};
  const fnabi_big_int_object* big =
      (const fnabi_big_int_object*)value->v_object;
  return (fnabi_byte_array){(const char*)(big + 1),
                            big->words * sizeof(uint64_t)};
}

/* That of the C ABI which these functions are written for. */
void stand_in_get_version(stand_in_version* out) {
  *out = (stand_in_version){0, 1, 16};
}

/* In front of an object is what frees it, and a word for the allocator. */
typedef struct prefix {
  void* private_word;
  void (*delete_space)(void* object);
} prefix;

static void delete_space(void* object) { fnabi_object_free(object); }

static void* allocate(size_t size, size_t alignment, int32_t type_index,
                      void* context) {
  (void)context;
  if (alignment > 16 || size < sizeof(fnabi_object)) return NULL;
  void* object = fnabi_object_new_raw(size, type_index, NULL);
  if (object != NULL) ((prefix*)object)[-1].delete_space = delete_space;
  return object;
}

static stand_in_allocator builtin = {allocate, NULL};
static stand_in_allocator* current; /* NULL: the builtin one */

stand_in_allocator* stand_in_get_allocator(void) {
  stand_in_allocator* found = fnabi_atomic_load((void**)&current, ACQUIRE);
  return found != NULL ? found : &builtin;
}

int stand_in_set_allocator(stand_in_allocator* allocator) {
  fnabi_atomic_store((void**)&current, allocator, RELEASE);
  return 0;
}
