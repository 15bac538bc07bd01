/* sip.h - the SIP ABI for the rooms above. Private. */
#ifndef FNABI_SIP_H
#define FNABI_SIP_H

#include "base/message.h"

/* As fnabi_sip_decode, but appends to a message. Returns false on failure; the
 * caller then resets w->size to drop what was written. */
bool fnabi_sip_write(const char* data, size_t size, fnabi_writer* w,
                     fnabi_error* error);

#endif /* FNABI_SIP_H */
