/* text.h - texts between Python and the ABI. Private. */
#ifndef FNABI_LANE_RUNTIME_TEXT_H
#define FNABI_LANE_RUNTIME_TEXT_H

#include "lane/runtime/python.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/any.h"

/* The bytes of a str, which live as long as it does; surrogate escapes become
 * the bytes they represent. *keep is a new reference, or NULL. */
int lane_utf8(PyObject* str, fnabi_byte_array* text, PyObject** keep);

/* Whether a library's text can be read: its data is not NULL, its size one. */
static inline bool lane_text_is_good(const fnabi_byte_array* text) {
  return text->size <= PTRDIFF_MAX && (text->data != NULL || text->size == 0);
}
/* Return NULL and raise CallError for a text whose data is NULL, or whose
 * size is no size. */
PyObject* lane_text(const fnabi_byte_array* text);

PyObject* lane_bytes(const fnabi_byte_array* text);

#endif /* FNABI_LANE_RUNTIME_TEXT_H */
