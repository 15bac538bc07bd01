/* json.h - JSON (RFC 8259), a token at a time. Private.
 *
 * A reading function accepts the position where its part begins and returns
 * the position where that ends, or NULL after filling in the error. It reads
 * nothing outside [data, end), also where the text changes meanwhile. */
#ifndef FNABI_JSON_H
#define FNABI_JSON_H

#include "base/message.h"
#include "base/poll.h"

/* A JSON text. `data` is never NULL. */
typedef struct fnabi_json {
  const char *data, *end;
  fnabi_error* error;
} fnabi_json;

/* A string that was read: what is between its quotes, and its size in bytes
 * after unescaping. */
typedef struct fnabi_json_text {
  const char* data;
  size_t raw_size, size;
} fnabi_json_text;

/* Both return NULL. `refuse` fails with `code` where another kind of value
 * begins at `p`, and with FNABI_JSON where no value does. */
const char* fnabi_json_fail(const fnabi_json* j, int32_t code, const char* p,
                            const char* expected);
const char* fnabi_json_refuse(const fnabi_json* j, int32_t code, const char* p,
                              const char* expected);

/* The byte at `p`; -1 at the end. */
static inline int fnabi_json_peek(const fnabi_json* j, const char* p) {
  return p < j->end ? (uint8_t)*p : -1;
}

static inline bool fnabi_json_is_digit(int c) { return c >= '0' && c <= '9'; }

/* space ::= [ \n\r\t]* */
static inline const char* fnabi_json_space(const fnabi_json* j, const char* p) {
  while (p < j->end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
    p++;
  return p;
}

/* Whether reading must end, after some elements; then it has failed. */
static inline bool fnabi_json_stop(const fnabi_json* j, const char* p,
                                   size_t elements) {
  return fnabi_poll(2 * elements) &&
         fnabi_json_fail(j, FNABI_INTERRUPTED, p, NULL) == NULL;
}

/* Elements: a power of two, and a number that is not worth counting. */
enum { FNABI_JSON_POLL = 256, FNABI_JSON_FEW = 8 };

/* Goes on to element `index` of an array or an object. *more: the element
 * begins at the position returned, which is still unchecked. Otherwise the
 * position is after the closing bracket. */
static inline const char* fnabi_json_next(const fnabi_json* j, const char* p,
                                          size_t index, char closing,
                                          bool* more) {
  p = fnabi_json_space(j, p);
  int c = fnabi_json_peek(j, p);
  *more = c != closing;
  if (!*more)
    return index % FNABI_JSON_POLL > FNABI_JSON_FEW &&
                   fnabi_json_stop(j, p, index % FNABI_JSON_POLL)
               ? NULL
               : p + 1;
  if (index == 0) return p;
  if (index % FNABI_JSON_POLL == 0 && fnabi_json_stop(j, p, FNABI_JSON_POLL))
    return NULL;
  if (c == ',') return fnabi_json_space(j, p + 1);
  return fnabi_json_fail(j, FNABI_JSON, p,
                         closing == ']' ? "',' or ']'" : "',' or '}'");
}

/* One of the words true, false and null. */
const char* fnabi_json_word(const fnabi_json* j, const char* p,
                            const char* word);

/* A number. *value saturates. *natural: it has no sign, fraction or exponent,
 * so that *value is all of it. */
const char* fnabi_json_number(const fnabi_json* j, const char* p,
                              uint64_t* value, bool* natural);

/* The string whose first quote is at `p`. */
const char* fnabi_json_string(const fnabi_json* j, const char* p,
                              fnabi_json_text* t);

/* A key and its ':', up to the value. */
const char* fnabi_json_key(const fnabi_json* j, const char* p,
                           fnabi_json_text* key);

/* Any value, inside `depth` arrays and objects. Recursion is limited by
 * FNABI_DEPTH_MAX. */
const char* fnabi_json_skip(const fnabi_json* j, const char* p, unsigned depth);

/* Writes a string that was read, unescaped. */
void fnabi_json_put_text(fnabi_writer* w, const fnabi_json_text* t);

/* The same as a string of a message. */
static inline void fnabi_json_pack_text(fnabi_writer* w,
                                        const fnabi_json_text* t) {
  fnabi_pack_string(w, t->size);
  fnabi_json_put_text(w, t);
}

#define FNABI_JSON_NAME_SIZE 24

/* A string that was read, unescaped into `memory` where it has escapes. Empty
 * where it is then longer than that: compare it with shorter names alone. */
static inline fnabi_text fnabi_json_name(const fnabi_json_text* t,
                                         char memory[FNABI_JSON_NAME_SIZE]) {
  if (t->size == t->raw_size) return (fnabi_text){t->data, t->size};
  fnabi_writer w = {(uint8_t*)memory, FNABI_JSON_NAME_SIZE, 0};
  fnabi_json_put_text(&w, t);
  return (fnabi_text){memory, w.size <= FNABI_JSON_NAME_SIZE ? w.size : 0};
}

/* Writes text as a string in quotes with the fewest escapes. False where it is
 * not UTF-8. */
bool fnabi_json_put_string(fnabi_writer* w, const char* data, size_t size);

#endif /* FNABI_JSON_H */
