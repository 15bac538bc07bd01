/* take.h - reading the messages that the core itself has written. Private.
 *
 * Such a message is whole, and each value is of the kind that its writer gives
 * it, so there is no failure to report. A value of another kind would be 0, or
 * a text without data. */
#ifndef FNABI_TAKE_H
#define FNABI_TAKE_H

#include "base/message.h"

static inline size_t fnabi_take_count(fnabi_reader* r) {
  size_t count = 0;
  fnabi_unpack_array(r, &count);
  return count;
}

static inline int64_t fnabi_take_int(fnabi_reader* r) {
  int64_t value = 0;
  fnabi_unpack_int(r, &value);
  return value;
}

static inline bool fnabi_take_bool(fnabi_reader* r) {
  bool value = false;
  fnabi_unpack_bool(r, &value);
  return value;
}

/* A text, or nil, which is one without data. */
static inline fnabi_text fnabi_take_text(fnabi_reader* r) {
  fnabi_text text = {NULL, 0};
  if (!fnabi_unpack_nil(r)) fnabi_unpack_text(r, &text.data, &text.size);
  return text;
}

#endif /* FNABI_TAKE_H */
