/* signature.h - reading and writing components. Private. */
#ifndef FNABI_SIGNATURE_H
#define FNABI_SIGNATURE_H

#include "base/message.h"

/* Writes a tag and a decimal integer. */
void fnabi_put_integer(fnabi_writer* w, char tag, int64_t value);

/* A span whose size is known only at its end: `open` writes the tag, `close`
 * moves the contents and writes the length before them. False where the length
 * is outside int32. */
static inline size_t fnabi_span_open(fnabi_writer* w, char tag) {
  fnabi_put_byte(w, (uint8_t)tag);
  return w->size;
}
bool fnabi_span_close(fnabi_writer* w, size_t place);

/* Writes the message of the span of one side. The path of its error is relative
 * to the side. */
typedef bool fnabi_side_writer(const char* data, const fnabi_component* side,
                               fnabi_writer* w, fnabi_error* error);

/* Writes [inputs, results] of a text that is an I span and an R span. Fails
 * with `no_inputs` or `no_results` where the span has another tag. */
bool fnabi_write_sides(const char* data, size_t size, int32_t no_inputs,
                       int32_t no_results, fnabi_side_writer* write,
                       fnabi_writer* w, fnabi_error* error);

#endif /* FNABI_SIGNATURE_H */
