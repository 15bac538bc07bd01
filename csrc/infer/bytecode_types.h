/* bytecode_types.h - types of arguments and results that bytecode proves.
 * Private. */
#ifndef FNABI_INFER_BYTECODE_TYPES_H
#define FNABI_INFER_BYTECODE_TYPES_H

#include "infer/bytecode_flow.h"

/* The state for queries about one module. Initialize it with zeros. */
typedef struct fnabi_bytecode_types {
  bool opened, readable;
  fnabi_bytecode module;
  fnabi_flow flow;
  fnabi_vector symbols; /* by term: its use as a dim */
} fnabi_bytecode_types;

/* Reads the module at the first call. Unreadable bytecode is not a failure:
 * then nothing is known. Fails only with FNABI_MEMORY. The caller must close
 * `types` even after a failure. */
bool fnabi_bytecode_types_open(fnabi_bytecode_types* types, const char* data,
                               size_t size, fnabi_error* error);
void fnabi_bytecode_types_close(fnabi_bytecode_types* types);

/* Whether anything is known about the function `ordinal`, which may be out of
 * range, and whether it is more than its calling convention states. Fails with
 * FNABI_MEMORY. */
typedef enum fnabi_bytecode_found {
  FNABI_BYTECODE_FAILED,
  FNABI_BYTECODE_UNKNOWN,
  FNABI_BYTECODE_CONVENTION,
  FNABI_BYTECODE_TYPED
} fnabi_bytecode_found;
fnabi_bytecode_found fnabi_bytecode_types_of(fnabi_bytecode_types* types,
                                             size_t ordinal);

/* Writes the signature of a function about which something is known, as in the
 * message of fnabi_bytecode_signatures. */
void fnabi_bytecode_types_signature(fnabi_bytecode_types* types, size_t ordinal,
                                    fnabi_writer* w);

/* Whether the last two arguments of such a function are fences: the code signals
 * the last one, and does nothing else with the one before it than wait. */
bool fnabi_bytecode_types_is_async(fnabi_bytecode_types* types, size_t ordinal);

#endif /* FNABI_INFER_BYTECODE_TYPES_H */
