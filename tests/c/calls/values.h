/* values.h - helpers of the C tests of values and objects. */
#ifndef VALUES_H
#define VALUES_H

#include "calls/object.h"
#include "check.h"

static inline fnabi_any none_value(void) {
  fnabi_any any;
  fnabi_any_set(&any, FNABI_INDEX_NONE, 0);
  return any;
}

static inline fnabi_any int_value(int64_t value) {
  fnabi_any any;
  fnabi_any_set(&any, FNABI_INDEX_INT, value);
  return any;
}

static inline fnabi_any object_value(void* object) {
  fnabi_any any;
  CHECK(object != NULL);
  fnabi_any_set_object(&any, object);
  return any;
}

static inline fnabi_any string_value(const char* text) {
  fnabi_any any;
  CHECK(fnabi_string_new(text, strlen(text), &any));
  return any;
}

static inline fnabi_any bytes_value(const char* text) {
  fnabi_any any;
  CHECK(fnabi_bytes_new(text, strlen(text), &any));
  return any;
}

/* A string object of any size. Other libraries may use one even if the text
 * would fit in the value. */
static inline fnabi_any large_string(const char* text) {
  size_t size = strlen(text);
  fnabi_bytes_object* object =
      fnabi_object_new(sizeof *object + size + 1, FNABI_INDEX_STR, NULL);
  CHECK(object != NULL);
  memcpy(object + 1, text, size);
  object->text = (fnabi_byte_array){(char*)(object + 1), size};
  return object_value(object);
}

/* An object whose deleter appends its flags to a log, one digit per call. */
typedef struct witness {
  fnabi_object object;
  int* log;
} witness;

static inline void witness_delete(void* self, int flags) {
  witness* w = self;
  *w->log = *w->log * 10 + flags;
  if (flags & FNABI_DELETER_WEAK) fnabi_object_free(w);
}

static inline fnabi_any witness_value(int* log) {
  witness* w = fnabi_object_new(sizeof *w, FNABI_INDEX_DYNAMIC, witness_delete);
  CHECK(w != NULL);
  w->log = log;
  return object_value(w);
}

/* The log of an object without weak references: one call of the deleter, which
 * destroys and frees. */
enum { GONE = 3 };

/* An object whose deleter gives up another one, which may be what it was in. */
typedef struct giver {
  fnabi_object object;
  void* given;
} giver;

static inline void giver_delete(void* self, int flags) {
  fnabi_object_release(((giver*)self)->given);
  if (flags & FNABI_DELETER_WEAK) fnabi_object_free(self);
}

static inline fnabi_any giver_value(void* given) {
  giver* g = fnabi_object_new(sizeof *g, FNABI_INDEX_DYNAMIC, giver_delete);
  CHECK(g != NULL);
  g->given = given;
  return object_value(g);
}

static inline uint32_t strong_of(const fnabi_any* any) {
  return (uint32_t)any->v_object->counts;
}

#endif /* VALUES_H */
