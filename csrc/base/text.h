/* text.h - views of text, and what its bytes are: ASCII, UTF-8. Private. */
#ifndef FNABI_TEXT_H
#define FNABI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A view of text that is owned elsewhere and not NUL-terminated. `data` is NULL
 * if there is no text, which differs from an empty text. */
typedef struct fnabi_text {
  const char* data;
  size_t size;
} fnabi_text;

/* A string literal as a view. */
#define FNABI_TEXT(literal) {literal, sizeof(literal) - 1}

static inline bool fnabi_text_equal(fnabi_text a, fnabi_text b) {
  return a.size == b.size &&
         (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Whether a view is that string literal. */
#define FNABI_TEXT_IS(text, literal)     \
  ((text).size == sizeof(literal) - 1 && \
   memcmp((text).data, literal, sizeof(literal) - 1) == 0)

/* The bits of 32 bytes, combined by "or". */
static inline uint64_t fnabi_text_bits(const char* data) {
  uint64_t words[4];
  memcpy(words, data, sizeof words);
  return (words[0] | words[1]) | (words[2] | words[3]);
}

/* Whether all bytes are below 128. The last words read overlap those before
 * them, so that no byte is read singly. */
static inline bool fnabi_is_ascii(const char* data, size_t size) {
  enum { WIDE = 32 };
  uint64_t word, all = 0;
  if (size >= WIDE) {
    const char* last = data + size - WIDE;
    for (; data < last; data += WIDE) all |= fnabi_text_bits(data);
    all |= fnabi_text_bits(last);
  } else if (size >= sizeof word) {
    const char* last = data + size - sizeof word;
    for (; data < last; data += sizeof word) {
      memcpy(&word, data, sizeof word);
      all |= word;
    }
    memcpy(&word, last, sizeof word);
    all |= word;
  } else {
    for (; size > 0; data++, size--) all |= (uint8_t)*data;
  }
  return (all & UINT64_C(0x8080808080808080)) == 0;
}

/* The size of the character at `s`, of `n` > 0 bytes; 0 where it is not
 * well-formed UTF-8 (RFC 3629): the shortest form, no surrogates, at most
 * U+10FFFF. */
size_t fnabi_utf8_size(const uint8_t* s, size_t n);

bool fnabi_is_utf8(const uint8_t* s, size_t n);

#endif /* FNABI_TEXT_H */
