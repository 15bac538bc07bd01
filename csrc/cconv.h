/* cconv.h - the VM calling convention for the other parts of the core.
 * Private. */
#ifndef FNABI_CCONV_H
#define FNABI_CCONV_H

#include "message.h"

/* fnabi_cconv_decode into a message that is being written. On failure answers
 * false and has written nothing. */
bool fnabi_cconv_write(const char* data, size_t size, fnabi_writer* w,
                       fnabi_error* error);

#endif /* FNABI_CCONV_H */
