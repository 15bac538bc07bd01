/* codec.h - properties of any format whose texts decode to messages, and whose
 * messages encode to texts. */
#ifndef CODEC_H
#define CODEC_H

#include "check.h"

typedef struct codec {
  writer* decode;
  writer* encode;
  size_t longer; /* how much longer the encoded text may be than the input */
  void (*check)(const char* text, size_t size); /* for texts that decode */
} codec;

/* Whether bytes are accepted; if not, the error is filled in. */
typedef bool taker(const codec* f, const void* bytes, size_t size,
                   fnabi_error* error);

/* Text to message to text to message. False, with an error inside the text, if
 * it is malformed. */
static inline bool round_trip(const codec* f, const void* bytes, size_t size,
                              fnabi_error* error) {
  char* text = exact(bytes, size);
  size_t message_size, canonical_size, again_size;
  call first = {f->decode, text, size, 0, 0};
  uint8_t* message = output_of(&first, &message_size, error);
  if (message != NULL && f->check != NULL) f->check(text, size);
  release(text);
  if (message == NULL) {
    check_error(error, size);
    return false;
  }
  call second = {f->encode, message, message_size, 0, 0};
  uint8_t* canonical = output_of(&second, &canonical_size, error);
  CHECK(canonical != NULL && canonical_size <= size + f->longer);
  call third = {f->decode, canonical, canonical_size, 0, 0};
  uint8_t* again = output_of(&third, &again_size, error);
  CHECK(again != NULL && again_size == message_size);
  CHECK(memcmp(again, message, message_size) == 0);
  release(again);
  release(canonical);
  release(message);
  return true;
}

/* The text that `write` makes of a message; NULL, with an error, if that is
 * malformed. */
static inline uint8_t* write_message(writer* write, const void* bytes,
                                     size_t size, size_t* written,
                                     fnabi_error* error) {
  uint8_t* message = exact(bytes, size);
  call c = {write, message, size, 0, 0};
  uint8_t* text = output_of(&c, written, error);
  release(message);
  if (text == NULL) check_error(error, 0);
  return text;
}

/* Whether a message is accepted. If so, its text makes the round trip. */
static inline bool takes_message(const codec* f, const void* bytes, size_t size,
                                 fnabi_error* error) {
  size_t text_size;
  uint8_t* text = write_message(f->encode, bytes, size, &text_size, error);
  if (text == NULL) return false;
  CHECK(round_trip(f, text, text_size, error));
  release(text);
  return true;
}

/* Passes valid bytes to `takes`: whole, cut at every offset, and with every
 * byte set to every value. Cut ones are accepted from `least` bytes on. */
static inline void check_damage(taker* takes, const codec* f, const void* bytes,
                                size_t size, size_t least) {
  fnabi_error error;
  size_t taken = 0;
  CHECK(takes(f, bytes, size, &error));
  for (size_t cut = 0; cut < size; cut++)
    CHECK(takes(f, bytes, cut, &error) == (cut >= least));
  uint8_t* changed = exact(bytes, size);
  for (size_t at = 0; at < size; at++) {
    uint8_t kept = changed[at];
    for (unsigned byte = 0; byte < 256; byte++) {
      changed[at] = (uint8_t)byte;
      taken += takes(f, changed, size, &error);
    }
    changed[at] = kept;
  }
  CHECK(taken > size); /* the unchanged bytes are among them */
  release(changed);
}

/* The same, for the message of a valid text. */
static inline void check_damaged_message(const codec* f, const char* text,
                                         size_t size) {
  fnabi_error error;
  size_t message_size;
  call c = {f->decode, text, size, 0, 0};
  uint8_t* message = output_of(&c, &message_size, &error);
  CHECK(message != NULL);
  check_damage(takes_message, f, message, message_size, message_size);
  release(message);
}

#endif /* CODEC_H */
