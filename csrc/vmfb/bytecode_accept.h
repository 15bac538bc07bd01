/* bytecode_accept.h - the fast path of the check of bytecode. Private. */
#ifndef FNABI_VMFB_BYTECODE_ACCEPT_H
#define FNABI_VMFB_BYTECODE_ACCEPT_H

#include "vmfb/bytecode.h"

#define FNABI_BLOCK_LIMIT \
  UINT32_C(0x00FFFFFF) /* block markers come before it */
#define FNABI_REQUIRES_YIELD (1u << 2)

/* The bounds of a kind of register. It is valid if it has none of the bits in
 * `odd` and, after flipping the bits in `flip` and clearing those in `drop`, is
 * below `limit`. */
typedef struct fnabi_bounds {
  uint32_t odd, flip, drop, limit;
} fnabi_bounds;

enum { FNABI_REGISTER_KINDS = 5 };

/* What to check in an instruction that has only registers and immediates, as
 * most do: up to FNABI_SHAPE_SLOTS registers, with their offsets in the instruction and
 * their kinds. An unused slot repeats the first one. */
enum { FNABI_SHAPE_SLOTS = 4, FNABI_SHAPES = 0x90 /* more than a page has */ };
typedef struct fnabi_shape {
  uint8_t size;
  uint8_t at[FNABI_SHAPE_SLOTS], kind[FNABI_SHAPE_SLOTS];
} fnabi_shape;

typedef struct fnabi_acceptor {
  fnabi_bytecode* b;
  const fnabi_function* f;
  uint8_t* targets;
  fnabi_bounds of[FNABI_REGISTER_KINDS];
  uint8_t states[3][FNABI_SHAPES]; /* by page; 0: the shape is not known yet */
  fnabi_shape shapes[3][FNABI_SHAPES];
} fnabi_acceptor;

void fnabi_bytecode_accept_open(fnabi_acceptor* a, fnabi_bytecode* b);

/* Begins with a function; `targets` has a bit for each byte of it. */
void fnabi_bytecode_accept_from(fnabi_acceptor* a, const fnabi_function* f,
                                uint8_t* targets);

/* Accepts instructions from `offset` on, inside of a block, up to its end or to
 * one with something to report, or a branch table. Marks the targets of branches,
 * spends what the check of calls spends, and sets *ends to whether the block
 * ended. Returns the offset after the accepted ones. */
uint32_t fnabi_bytecode_accept(fnabi_acceptor* a, uint32_t offset, bool* ends);

/* What is wrong with the segment sizes of a call, which the runtime ignores:
 * there is one for each item of the convention, FNABI_SEGMENT_SINGLE for those
 * that are not spans. Sets *offset to that of the fault; returns NULL if there
 * is none. */
const char* fnabi_segment_misfit(const fnabi_operand* segments, fnabi_text side,
                                 uint32_t* offset);

static inline void fnabi_mark(uint8_t* bits, uint32_t offset) {
  bits[offset / 8] = (uint8_t)(bits[offset / 8] | 1u << offset % 8);
}

#endif
