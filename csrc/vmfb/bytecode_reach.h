/* bytecode_reach.h - reaching definitions: which reference a register holds.
 * Private.
 *
 * A register is followed backwards through the instructions of its block, and
 * from the start of the block through all branches to it, until each path has
 * reached an instruction that writes the register. If all of them write the
 * same reference, the register holds it. */
#ifndef FNABI_MODULE_BYTECODE_REACH_H
#define FNABI_MODULE_BYTECODE_REACH_H

#include "base/vector.h"
#include "vmfb/bytecode.h"

typedef enum fnabi_reference_kind {
  FNABI_REFERENCE_UNKNOWN,
  FNABI_REFERENCE_NULL,
  FNABI_REFERENCE_RODATA, /* number: index of the segment */
  FNABI_REFERENCE_GLOBAL, /* number: ordinal of the loaded ref global */
  FNABI_REFERENCE_CALL    /* number: index of the call that returned it */
} fnabi_reference_kind;

typedef struct fnabi_reference {
  uint32_t kind; /* fnabi_reference_kind */
  uint32_t number;
} fnabi_reference;

/* The state for queries about one function. All members are private. */
typedef struct fnabi_reach {
  const fnabi_function* function;
  bool regular;   /* blocks end with a terminator, branches lead to blocks */
  uint64_t* work; /* steps that are left */
  fnabi_vector starts;   /* u32: offset of each instruction */
  fnabi_vector blocks;   /* u32: index of each block's marker */
  fnabi_vector edges;    /* by target */
  fnabi_vector incoming; /* u32: index of the first edge to each block */
  fnabi_vector writes;   /* by register, then in the order of the code */
  fnabi_vector first;    /* u32: index of the first write of each register */
  fnabi_vector known;    /* a hash table: registers at the start of blocks */
  fnabi_vector pending;
  uint32_t known_count, query;
} fnabi_reach;

/* Opens a function. *work is the number of steps left for all
 * functions together. Fails with FNABI_MEMORY, FNABI_WORK, and as
 * fnabi_bytecode_decode does. The caller must close `r` even after a failure.
 * It may open other functions before that. */
bool fnabi_reach_open(fnabi_reach* r, const fnabi_function* function,
                      uint64_t* work, fnabi_error* error);
void fnabi_reach_close(fnabi_reach* r);

/* Finds the content of the ref register `reg` (without its bits) before the
 * instruction with this index. Fails with FNABI_MEMORY and FNABI_WORK. */
bool fnabi_reach_find(fnabi_reach* r, uint32_t instruction, uint32_t reg,
                      fnabi_reference* found, fnabi_error* error);

/* Finds the segments in, or the nulls of, some ref registers before the
 * instruction at `offset`, if instructions between the marker of its block, at
 * `block`, and it load them. Others, and all if the two are far from each other,
 * are unknown. Needs no open function. */
void fnabi_reach_loaded(const fnabi_function* function, uint32_t block,
                        uint32_t offset, const uint32_t* regs, unsigned count,
                        fnabi_reference* found);

#endif /* FNABI_MODULE_BYTECODE_REACH_H */
