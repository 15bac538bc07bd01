/* check.h - the helpers of all C tests. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fnabi.h"

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                        \
    }                                                                 \
  } while (0)

/* A literal and its size. */
#define TEXT(text) text, sizeof(text) - 1

/* A copy that ends where its memory ends, so that the sanitizer reports a read
 * or a write after it, also where it is empty. `release` frees it. */
static inline void* exact(const void* data, size_t size) {
  char* block = malloc(size + 1);
  CHECK(block != NULL);
  if (size != 0 && data != NULL) memcpy(block + 1, data, size);
  return block + 1;
}

static inline void release(void* copy) { free((char*)copy - 1); }

/* The bytes of a file, for `release`. */
static inline char* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  CHECK(file != NULL);
  CHECK(fseek(file, 0, SEEK_END) == 0);
  *size = (size_t)ftell(file);
  rewind(file);
  char* data = exact(NULL, *size);
  CHECK(fread(data, 1, *size, file) == *size);
  fclose(file);
  return data;
}

static inline uint32_t next_random(uint32_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

/* An error has a code, an offset inside the input, and a path. */
static inline void check_error(const fnabi_error* error, uint64_t size) {
  CHECK(error->code > FNABI_OK && error->code < FNABI_CODE_COUNT);
  CHECK(error->offset <= size);
  CHECK(memchr(error->path, 0, sizeof error->path) != NULL);
}

/* The error is exactly this one. */
static inline void check_error_is(const fnabi_error* error, int32_t code,
                                  uint64_t offset, const char* path) {
  CHECK(error->code == code && error->offset == offset);
  CHECK(strcmp(error->path, path) == 0);
}

/* A malformed text and its error. */
typedef struct bad_text {
  const char* text;
  size_t size;
  int32_t code;
  uint64_t offset;
  const char* path;
} bad_text;

/* A malformed message, as MessagePack bytes, and its error. */
typedef struct bad_message {
  const char* message;
  size_t size;
  int32_t code;
  const char* path;
} bad_message;

struct call;
typedef int64_t writer(const struct call* call, uint8_t* out, size_t capacity,
                       fnabi_error* error);

/* A call of a function that writes, with its arguments. */
typedef struct call {
  writer* run;
  const void* data;
  size_t size;
  int64_t number;
  int32_t tag;
} call;

/* Defines a writer whose arguments are data and their size. */
#define DEFINE_WRITER(name, function)                               \
  static int64_t name(const call* c, uint8_t* out, size_t capacity, \
                      fnabi_error* error) {                         \
    return function(c->data, c->size, out, capacity, error);        \
  }

/* What a call writes, in memory of exactly that size; NULL when it fails. An
 * error is as it was where it succeeds. */
static inline uint8_t* output_of(const call* c, size_t* size,
                                 fnabi_error* error) {
  fnabi_error before, kept;
  memset(&before, 0x5A, sizeof before);
  memcpy(&kept, &before, sizeof kept);
  int64_t needed = c->run(c, NULL, 0, &kept);
  if (needed < 0) {
    *error = kept;
    return NULL;
  }
  uint8_t* out = exact(NULL, (size_t)needed);
  CHECK(c->run(c, out, (size_t)needed, &kept) == needed);
  CHECK(memcmp(&kept, &before, sizeof kept) == 0);
  *size = (size_t)needed;
  return out;
}

/* The call returns the same size for any capacity, writes nothing outside it,
 * and writes the same bytes for every capacity that is sufficient. */
static inline void check_capacities(const call* c) {
  size_t size;
  fnabi_error error = {0};
  uint8_t* whole = output_of(c, &size, &error);
  CHECK(whole != NULL);
  CHECK(error.code == FNABI_OK); /* unchanged on success */
  for (size_t capacity = 0; capacity <= size + 2; capacity++) {
    uint8_t* out = exact(NULL, capacity);
    CHECK(c->run(c, out, capacity, &error) == (int64_t)size);
    CHECK(capacity < size || memcmp(out, whole, size) == 0);
    release(out);
  }
  release(whole);
}

/* The same, for a call that writes these bytes. */
static inline void check_answer(const call* c, const void* bytes, size_t size) {
  fnabi_error error;
  size_t written;
  check_capacities(c);
  uint8_t* out = output_of(c, &written, &error);
  CHECK(out != NULL);
  CHECK(written == size && (size == 0 || memcmp(out, bytes, size) == 0));
  release(out);
}

/* Writes a span and returns its size. */
static inline size_t put_span(char* out, char tag, const void* contents,
                              size_t size) {
  int head = sprintf(out, "%c%zu!", tag, size + 1);
  if (size != 0) memcpy(out + head, contents, size);
  return (size_t)head + size;
}

#endif /* CHECK_H */
