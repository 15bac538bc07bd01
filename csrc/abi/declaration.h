/* declaration.h - declarations for the other parts of the core. Private. */
#ifndef FNABI_DECLARATION_H
#define FNABI_DECLARATION_H

#include "base/message.h"

/* What the calling convention says of the arguments or of the results. */
typedef struct fnabi_known {
  int64_t count;       /* how many; negative: not known */
  const char* letters; /* `count` of them; NULL: not known */
} fnabi_known;

/* The signature of a declaration into a message that is being written: its
 * values as NAMED types. *doubt is as fnabi_declaration_decode has it, static,
 * or NULL. On failure answers false, and what it wrote is to be dropped by
 * resetting w->size. */
bool fnabi_declaration_write(const char* data, size_t size, fnabi_known inputs,
                             fnabi_known results, fnabi_writer* w,
                             const char** doubt, fnabi_error* error);

#endif /* FNABI_DECLARATION_H */
