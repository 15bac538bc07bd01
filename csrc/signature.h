/* signature.h - reading and writing components. Private. */
#ifndef FNABI_SIGNATURE_H
#define FNABI_SIGNATURE_H

#include "message.h"

/* Writes a tag and a decimal integer. */
void fnabi_put_integer(fnabi_writer* w, char tag, int64_t value);

/* A span whose size is known only at its end: `open` writes the tag, `close`
 * moves the contents up to make room for the length. False when the length is
 * outside int32. */
static inline size_t fnabi_span_open(fnabi_writer* w, char tag) {
  fnabi_put_byte(w, (uint8_t)tag);
  return w->size;
}
bool fnabi_span_close(fnabi_writer* w, size_t place);

#endif /* FNABI_SIGNATURE_H */
