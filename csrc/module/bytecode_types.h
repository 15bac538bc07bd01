/* bytecode_types.h - types of arguments and results that bytecode proves, for
 * the other parts of the core. Private. */
#ifndef FNABI_MODULE_BYTECODE_TYPES_H
#define FNABI_MODULE_BYTECODE_TYPES_H

#include "module/bytecode_flow.h"

/* A module whose functions are asked for their types. Begin with zeros. */
typedef struct fnabi_bytecode_types {
  bool opened, readable;
  bool views; /* the module has something to do with buffer views */
  fnabi_bytecode module;
  fnabi_flow flow;
  fnabi_vector symbols; /* for each term what is known of it as a dim */
} fnabi_bytecode_types;

/* Reads the module, the first time. Of bytecode that cannot be read nothing is
 * known; only FNABI_MEMORY fails. Close it also then. */
bool fnabi_bytecode_types_open(fnabi_bytecode_types* types, const char* data,
                               size_t size, fnabi_error* error);
void fnabi_bytecode_types_close(fnabi_bytecode_types* types);

/* Whether anything is known of the function `ordinal`, which need not be there,
 * and whether that is more than its calling convention states. Fails with
 * FNABI_MEMORY. */
typedef enum fnabi_bytecode_found {
  FNABI_BYTECODE_FAILED,
  FNABI_BYTECODE_UNKNOWN,
  FNABI_BYTECODE_CONVENTION,
  FNABI_BYTECODE_TYPED
} fnabi_bytecode_found;
fnabi_bytecode_found fnabi_bytecode_types_of(fnabi_bytecode_types* types,
                                             size_t ordinal);

/* The parts of what fnabi_bytecode_types has of a function of which something
 * is known: the signature, and [dims, aliases, fences], which is false without
 * memory. */
void fnabi_bytecode_types_signature(fnabi_bytecode_types* types, size_t ordinal,
                                    fnabi_writer* w);
bool fnabi_bytecode_types_proofs(fnabi_bytecode_types* types, size_t ordinal,
                                 fnabi_writer* w);

#endif /* FNABI_MODULE_BYTECODE_TYPES_H */
