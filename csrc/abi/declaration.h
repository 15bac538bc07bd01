/* declaration.h - declarations for the rooms above. Private. */
#ifndef FNABI_DECLARATION_H
#define FNABI_DECLARATION_H

#include "base/message.h"

/* The arguments or the results of the calling convention. */
typedef struct fnabi_known {
  int64_t count;       /* of registers; negative: not known */
  const char* letters; /* `count` of them; NULL: not known */
} fnabi_known;

/* Appends the signature of a declaration to a message, with its values as NAMED
 * types. *ambiguity is that of fnabi_declaration_decode, static, or NULL.
 * Returns false on failure; the caller then resets w->size to drop what was
 * written. */
bool fnabi_declaration_write(const char* data, size_t size, fnabi_known inputs,
                             fnabi_known results, fnabi_writer* w,
                             const char** ambiguity, fnabi_error* error);

#endif /* FNABI_DECLARATION_H */
