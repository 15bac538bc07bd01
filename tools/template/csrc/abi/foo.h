/* foo.h - the foo ABI for the rooms above. Private. */
#ifndef FNABI_FOO_H
#define FNABI_FOO_H

#include "base/message.h"

/* Appends the message of a signature. Fails as fnabi_foo_decode; then returns
 * false and writes nothing. */
bool fnabi_foo_write(const char* data, size_t size, fnabi_writer* w,
                     fnabi_error* error);

#endif /* FNABI_FOO_H */
