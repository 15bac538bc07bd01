/* bytecode_reach.h - which reference a register of a function holds, where the
 * code tells. Private.
 *
 * A register is followed back over the instructions of its block, and from the
 * block's start over all branches that lead to it, until each way has come to
 * the instruction that wrote it. Where all of them wrote the same, that is what
 * it holds. */
#ifndef FNABI_MODULE_BYTECODE_REACH_H
#define FNABI_MODULE_BYTECODE_REACH_H

#include "base/vector.h"
#include "module/bytecode.h"

typedef enum fnabi_reference_kind {
  FNABI_REFERENCE_UNKNOWN,
  FNABI_REFERENCE_NULL,
  FNABI_REFERENCE_RODATA, /* number: of the segment */
  FNABI_REFERENCE_GLOBAL, /* number: of the ref global that was loaded */
  FNABI_REFERENCE_CALL    /* number: index of the call that gave it first */
} fnabi_reference_kind;

typedef struct fnabi_reference {
  uint32_t kind; /* fnabi_reference_kind */
  uint32_t number;
} fnabi_reference;

/* A function whose registers are asked for. All members are private. */
typedef struct fnabi_reach {
  const fnabi_bytecode* module;
  const fnabi_function* function;
  bool regular;   /* blocks end as they should, and branches lead to blocks */
  uint64_t* work; /* what may still be spent */
  fnabi_vector starts;   /* u32: offset of each instruction */
  fnabi_vector blocks;   /* u32: index of each block's marker */
  fnabi_vector edges;    /* by target */
  fnabi_vector incoming; /* u32: where the edges to each block begin */
  fnabi_vector writes;   /* by register, then in the order of the code */
  fnabi_vector first;    /* u32: where the writes of each register begin */
  fnabi_vector known;    /* a hash table of what blocks begin with */
  fnabi_vector pending;
  uint32_t known_count, query;
} fnabi_reach;

/* Begins with a function of a module; `work` counts steps down, over all
 * functions. Fails with FNABI_MEMORY, FNABI_WORK, and as
 * fnabi_bytecode_decode does. Close it also then; one may be opened again and
 * again before it is closed. */
bool fnabi_reach_open(fnabi_reach* r, const fnabi_bytecode* module,
                      const fnabi_function* function, uint64_t* work,
                      fnabi_error* error);
void fnabi_reach_close(fnabi_reach* r);

/* What the ref register (its number without bits) holds before the instruction
 * of that index. Fails with FNABI_MEMORY and FNABI_WORK. */
bool fnabi_reach_find(fnabi_reach* r, uint32_t instruction, uint32_t reg,
                      fnabi_reference* found, fnabi_error* error);

#endif /* FNABI_MODULE_BYTECODE_REACH_H */
