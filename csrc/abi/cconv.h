/* cconv.h - the VM calling convention for the other parts of the core.
 * Private. */
#ifndef FNABI_CCONV_H
#define FNABI_CCONV_H

#include "base/message.h"

/* The registers of a calling convention as the message of a signature: SCALAR,
 * with signless integers; REF; and for a span a HOMOGENEOUS_LIST of TUPLEs. On
 * failure, as fnabi_cconv_decode, answers false and has written nothing. */
bool fnabi_cconv_write_signature(const char* data, size_t size, fnabi_writer* w,
                                 fnabi_error* error);

#endif /* FNABI_CCONV_H */
