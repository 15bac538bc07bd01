/* message.h - writing and reading the MessagePack of messages. Private.
 *
 * A writer never fails. After the end of its memory it writes nothing, but
 * still counts, so that w->size is the capacity that a second run needs. */
#ifndef FNABI_MESSAGE_H
#define FNABI_MESSAGE_H

#include <string.h>

#include "base/text.h"
#include "fnabi.h"

typedef struct fnabi_writer {
  uint8_t* out;
  size_t capacity;
  size_t size;
} fnabi_writer;

static inline void fnabi_put(fnabi_writer* w, const void* bytes, size_t n) {
  if (n <= w->capacity && w->size <= w->capacity - n && n != 0)
    memcpy(w->out + w->size, bytes, n);
  w->size += n;
}

#define FNABI_CHUNK 32

/* The same for `n` bytes of `left` >= n readable ones. Where possible, copies
 * FNABI_CHUNK bytes, enough for most texts: a copy of constant size takes less
 * time than one of `n` bytes. */
static inline void fnabi_put_some(fnabi_writer* w, const void* bytes, size_t n,
                                  size_t left) {
  if (n <= FNABI_CHUNK && left >= FNABI_CHUNK && w->capacity >= FNABI_CHUNK &&
      w->size <= w->capacity - FNABI_CHUNK) {
    memcpy(w->out + w->size, bytes, FNABI_CHUNK);
    w->size += n;
  } else {
    fnabi_put(w, bytes, n);
  }
}

static inline void fnabi_put_byte(fnabi_writer* w, uint8_t byte) {
  if (w->size < w->capacity) w->out[w->size] = byte;
  w->size++;
}

static inline void fnabi_pack_nil(fnabi_writer* w) { fnabi_put_byte(w, 0xC0); }

static inline void fnabi_pack_bool(fnabi_writer* w, bool value) {
  fnabi_put_byte(w, value ? 0xC3 : 0xC2);
}

/* The head of an array of less than 16 elements. */
static inline void fnabi_pack_array(fnabi_writer* w, unsigned count) {
  fnabi_put_byte(w, (uint8_t)(0x90 | count));
}

/* A head and then a big-endian number of `bytes` bytes. */
static inline void fnabi_pack_wide(fnabi_writer* w, uint8_t head,
                                   uint64_t value, unsigned bytes) {
  uint64_t v = value << (64 - 8 * bytes);
  uint8_t text[9] = {head,
                     (uint8_t)(v >> 56),
                     (uint8_t)(v >> 48),
                     (uint8_t)(v >> 40),
                     (uint8_t)(v >> 32),
                     (uint8_t)(v >> 24),
                     (uint8_t)(v >> 16),
                     (uint8_t)(v >> 8),
                     (uint8_t)v};
  fnabi_put(w, text, 1 + (size_t)bytes);
}

/* The head of an array of any number of elements below 2^32. */
static inline void fnabi_pack_count(fnabi_writer* w, size_t count) {
  if (count < 16)
    fnabi_pack_array(w, (unsigned)count);
  else
    fnabi_pack_wide(w, 0xDD, count, 4);
}

static inline void fnabi_pack_uint(fnabi_writer* w, uint64_t value) {
  if (value < 128)
    fnabi_put_byte(w, (uint8_t)value);
  else if (value <= UINT32_MAX)
    fnabi_pack_wide(w, 0xCE, value, 4);
  else
    fnabi_pack_wide(w, 0xCF, value, 8);
}

static inline void fnabi_pack_int(fnabi_writer* w, int64_t value) {
  if (value >= 0)
    fnabi_pack_uint(w, (uint64_t)value);
  else if (value >= -32)
    fnabi_put_byte(w, (uint8_t)value);
  else
    fnabi_pack_wide(w, 0xD3, (uint64_t)value, 8);
}

/* An array whose count is known only at its end: `open` writes a head without a
 * count and returns its offset, `close` fills in the count. */
static inline size_t fnabi_pack_open(fnabi_writer* w) {
  size_t place = w->size;
  fnabi_pack_wide(w, 0xDD, 0, 4);
  return place;
}

static inline void fnabi_pack_close(fnabi_writer* w, size_t place,
                                    size_t count) {
  fnabi_writer head = {w->out, w->capacity, place};
  fnabi_pack_wide(&head, 0xDD, count, 4);
}

/* The head of a string; the caller then writes its `size` bytes of UTF-8. */
void fnabi_pack_long_string(fnabi_writer* w, size_t size);
static inline void fnabi_pack_string(fnabi_writer* w, size_t size) {
  if (size < 32)
    fnabi_put_byte(w, (uint8_t)(0xA0 | size));
  else
    fnabi_pack_long_string(w, size);
}

/* A NUL-terminated ASCII constant. */
void fnabi_pack_ascii(fnabi_writer* w, const char* text);

/* Text of the input: a string where it is UTF-8, otherwise a binary. */
void fnabi_pack_text(fnabi_writer* w, const char* data, size_t size);

/* A position in a message. Each `unpack` function reads the next value; where
 * that is of another kind or incomplete, it returns false and reads nothing. */
typedef struct fnabi_reader {
  const uint8_t* data;
  size_t size;
  size_t at;
} fnabi_reader;

bool fnabi_unpack_array(fnabi_reader* r, size_t* count);
bool fnabi_unpack_nil(fnabi_reader* r);
bool fnabi_unpack_bool(fnabi_reader* r, bool* value);
bool fnabi_unpack_int(fnabi_reader* r, int64_t* value);
/* An integer of any size; *fits is false where it is outside int64. */
bool fnabi_unpack_integer(fnabi_reader* r, int64_t* value, bool* fits);
/* A string or a binary; *data points into the message. */
bool fnabi_unpack_text(fnabi_reader* r, const char** data, size_t* size);
/* Skips a value made of arrays, nils, integers and text. */
bool fnabi_unpack_skip(fnabi_reader* r);

/* Read the next value of a message that the core itself wrote, which is of this
 * kind: otherwise they return 0, or no text. */
size_t fnabi_read_array(fnabi_reader* r);
int64_t fnabi_read_int(fnabi_reader* r);
fnabi_text fnabi_read_text(fnabi_reader* r); /* no text for nil */
void fnabi_read_past(fnabi_reader* r, size_t values);

#endif /* FNABI_MESSAGE_H */
