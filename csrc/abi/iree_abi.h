/* iree_abi.h - the IREE ABI for the rooms above. Private. */
#ifndef FNABI_IREE_ABI_H
#define FNABI_IREE_ABI_H

#include "base/message.h"

/* As fnabi_iree_abi_decode, but appends to a message. Returns false on failure;
 * the caller then resets w->size to drop what was written. */
bool fnabi_iree_abi_write(const char* data, size_t size, fnabi_writer* w,
                          fnabi_error* error);

#endif /* FNABI_IREE_ABI_H */
