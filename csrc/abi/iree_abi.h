/* iree_abi.h - the IREE ABI for the other parts of the core. Private. */
#ifndef FNABI_IREE_ABI_H
#define FNABI_IREE_ABI_H

#include "base/message.h"

/* fnabi_iree_abi_decode into a message that is being written. On failure
 * answers false, and what it wrote is to be dropped by resetting w->size. */
bool fnabi_iree_abi_write(const char* data, size_t size, fnabi_writer* w,
                          fnabi_error* error);

#endif /* FNABI_IREE_ABI_H */
