/* raw.h - the raw ABI for the other parts of the core. Private. */
#ifndef FNABI_RAW_H
#define FNABI_RAW_H

#include "base/message.h"

/* fnabi_raw_decode into a message that is being written. On failure answers
 * false, and what it wrote is to be dropped by resetting w->size. */
bool fnabi_raw_write(const char* data, size_t size, fnabi_writer* w,
                     fnabi_error* error);

#endif /* FNABI_RAW_H */
