/* cconv.h - the VM calling convention for the rooms above. Private. */
#ifndef FNABI_CCONV_H
#define FNABI_CCONV_H

#include "base/message.h"

/* Appends the registers of a calling convention as the message of a signature:
 * SCALAR, with signless integers; REF; for a span a HOMOGENEOUS_LIST of TUPLEs.
 * Fails as fnabi_cconv_decode; then returns false and writes nothing. */
bool fnabi_cconv_write_signature(const char* data, size_t size, fnabi_writer* w,
                                 fnabi_error* error);

/* Appends the type of a register. */
void fnabi_cconv_write_type(char letter, fnabi_writer* w);

/* The text of one side of a calling convention, without the 'v'. */
typedef struct fnabi_cconv_side {
  size_t begin;
  size_t end;
} fnabi_cconv_side;

/* Checks the whole text and finds the arguments and the results. What reads the
 * sides afterwards cannot fail, and stays inside them even where the text has
 * changed meanwhile. On failure, as fnabi_cconv_decode, returns false. */
bool fnabi_cconv_sides(const char* data, size_t size, fnabi_cconv_side sides[2],
                       fnabi_error* error);

#endif /* FNABI_CCONV_H */
