/* arguments.h - functions that get other values from some runtimes than those
 * that they are called with. Private. */
#ifndef FNABI_VMFB_ARGUMENTS_H
#define FNABI_VMFB_ARGUMENTS_H

#include "base/vector.h"
#include "vmfb/bytecode.h"

/* Bits: how a function may get wrong values.
 *
 * A runtime puts the arguments of a call from outside into registers of four
 * bytes. FNABI_PASSED_PACKED: wrong if it puts them one after the other,
 * FNABI_PASSED_ALIGNED: if it leaves out a register before one of 64 bits where
 * its number would be odd. FNABI_PASSED_INSIDE: the module itself calls the
 * function with 64-bit arguments or results, of which a runtime may copy one
 * register each. */
enum {
  FNABI_PASSED_PACKED = 1,
  FNABI_PASSED_ALIGNED = 2,
  FNABI_PASSED_INSIDE = 4
};

/* Whether a function has arguments or results of 64 bits. */
bool fnabi_arguments_wide(const fnabi_callee* callee);

/* Sets FNABI_PASSED_PACKED and FNABI_PASSED_ALIGNED in `passed`, one byte for
 * each function, for those that are exported. A wrong argument counts if the
 * code reads it. Fails with FNABI_MEMORY. The version must be known. */
bool fnabi_arguments_exported(const fnabi_bytecode* b, uint8_t* passed);

#endif /* FNABI_VMFB_ARGUMENTS_H */
