/* raw.h - the raw ABI for the rooms above. Private. */
#ifndef FNABI_RAW_H
#define FNABI_RAW_H

#include "base/message.h"

/* As fnabi_raw_decode, but appends to a message. Returns false on failure; the
 * caller then resets w->size to drop what was written. */
bool fnabi_raw_write(const char* data, size_t size, fnabi_writer* w,
                     fnabi_error* error);

#endif /* FNABI_RAW_H */
