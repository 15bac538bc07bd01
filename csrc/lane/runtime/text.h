/* text.h - texts between Python and the ABI. Private. */
#ifndef FNABI_LANE_RUNTIME_TEXT_H
#define FNABI_LANE_RUNTIME_TEXT_H

#include "lane/runtime/python.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/any.h"

/* The bytes of a str, which live as long as it does; surrogate escapes become
 * the bytes they represent. *keep is a new reference, or NULL. */
int lane_utf8(PyObject* str, fnabi_byte_array* text, PyObject** keep);

/* The most bytes of a text. Bytes may have more. */
#define LANE_TEXT_MAX UINT32_MAX

/* Whether a library's text can be read: its data is an address, its size that
 * of a text. */
static inline bool lane_text_is_good(const fnabi_byte_array* text) {
  return text->size <= LANE_TEXT_MAX &&
         (fnabi_is_address(text->data) || text->size == 0);
}
/* Return NULL and raise CallError for a text or bytes that cannot be read. */
PyObject* lane_text(const fnabi_byte_array* text);

PyObject* lane_bytes(const fnabi_byte_array* text);

#endif /* FNABI_LANE_RUNTIME_TEXT_H */
