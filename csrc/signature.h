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

/* The span with `tag` ('I' or 'R') that must stand at `at`; fails with the code
 * `missing` where something else stands. And the end that must follow. */
bool fnabi_read_side(const char* data, size_t size, size_t at, int32_t tag,
                     int32_t missing, fnabi_component* side,
                     fnabi_error* error);
bool fnabi_read_end(size_t size, size_t at, fnabi_error* error);

#endif /* FNABI_SIGNATURE_H */
