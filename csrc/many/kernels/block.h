/* block.h - blocks of short texts, and the kernels that decode them. Private.
 *
 * A processor cannot predict where a number of a signature ends, what follows
 * and how deep it nests, so a decoder with a branch for each of these is
 * mispredicted every few bytes. A kernel has no such branches: it cuts the
 * texts of a block into tokens, checks the tokens and fills the columns, 64 at
 * a time, by steps that are the same for all of them; in the end it returns
 * whether all texts were well-formed. The steps need SIMD instructions.
 * avx2.c, avx512.c and neon.c define these for their processors, and then
 * include tokens.h, and raw.h or sip.h if they make that ABI faster.
 * scalar_raw.c and scalar_sip.c run on any processor. dispatch.c selects. */
#ifndef FNABI_KERNELS_BLOCK_H
#define FNABI_KERNELS_BLOCK_H

#include "fnabi.h"
#include "many/kernels/sides.h"

enum {
  FNABI_BLOCK_ROWS = 1024,
  FNABI_BLOCK_NAMES = FNABI_BLOCK_SIZE / 4, /* "K2!a" */
  FNABI_BLOCK_WORDS = FNABI_BLOCK_SIZE / 64 + 2,
  FNABI_BLOCK_ROOM = FNABI_BLOCK_SIZE + 2 * FNABI_BLOCK_PAD
};

/* The byte after the last text, and between texts that are not adjacent. */
#define FNABI_BLOCK_BETWEEN '@'

/* A token is a byte of 0x40 or more that is not in a name: a tag, or
 * FNABI_BLOCK_BETWEEN. */
typedef struct fnabi_block {
  size_t size, rows;
  uint8_t bytes[FNABI_BLOCK_ROOM]; /* texts from FNABI_BLOCK_PAD on, then 0 */
  uint16_t begins[FNABI_BLOCK_ROWS], ends[FNABI_BLOCK_ROWS]; /* by row */

  /* All that follows is scratch. By token: its byte and the offset of that, the
   * number after it, or 0x7FFF if that has more than four digits, the whole of
   * it if any of them is that long, and its last two digits where the kernel
   * needs them. */
  size_t tokens;
  struct {
    uint64_t carry;
    uint16_t tokens, numbers;
  } marks[FNABI_BLOCK_WORDS]; /* what find_tokens had before each 64 bytes */
  uint8_t tags[FNABI_BLOCK_ROOM];
  uint16_t places[FNABI_BLOCK_ROOM];
  uint16_t shorts[FNABI_BLOCK_ROOM];
  bool has_numbers;
  int32_t numbers[FNABI_BLOCK_ROOM];
  uint8_t pairs[FNABI_BLOCK_ROOM];

  /* Bits: which bytes are in names, and which are tags. By name: its offset, its
   * size, and a number with the order of its first eight bytes. */
  uint64_t in_names[FNABI_BLOCK_WORDS], in_tags[FNABI_BLOCK_WORDS];
  size_t names;
  uint16_t name_places[FNABI_BLOCK_NAMES + 1],
      name_sizes[FNABI_BLOCK_NAMES + 1];
  uint64_t name_orders[FNABI_BLOCK_NAMES + 8];
  uint8_t name_depths[FNABI_BLOCK_NAMES + 64]; /* and 0x80 for a first key */

  /* The keys of one depth, from the second element on: positions, and what is
   * above of names. In raw texts, where values end. */
  uint16_t level[FNABI_BLOCK_ROOM];
  uint64_t level_orders[FNABI_BLOCK_NAMES + 16];
  uint8_t level_depths[FNABI_BLOCK_NAMES + 64];

  uint8_t depths[FNABI_BLOCK_ROOM]; /* of the nodes among the tokens */
  /* how many structures end at a byte, and at a token */
  uint8_t closing[FNABI_BLOCK_ROOM], closes[FNABI_BLOCK_ROOM];
  uint16_t list[FNABI_BLOCK_ROOM], heads[2][FNABI_BLOCK_ROWS + FNABI_BLOCK_PAD];
} fnabi_block;

/* The offset where the span ends whose tag is a token. */
static inline uint32_t fnabi_stop_of(const fnabi_block* b, size_t k) {
  return (uint32_t)b->places[k + 1] - 1 + b->shorts[k];
}

/* Adds the nodes of all rows to both sides, and stores in `offsets` where those
 * of each row end. Returns false when a text is malformed, or well-formed but
 * unusual; the caller then drops what was written. In either case the block may
 * have lost rows at its end: the first of them is such a text. */
typedef bool fnabi_block_decode(fnabi_block* block, fnabi_side_columns sides[2],
                                int32_t* const offsets[2]);

typedef struct fnabi_kernel {
  fnabi_block_decode *raw, *sip;
} fnabi_kernel;

/* The kernel of a decoder; NULL where this processor cannot run it, or the
 * decoder has none. */
const fnabi_kernel* fnabi_kernel_of(fnabi_decoder decoder);

#if defined(__x86_64__) && defined(__GNUC__)
#define FNABI_X86 1
extern const fnabi_kernel fnabi_kernel_avx2, fnabi_kernel_avx512;
#elif defined(__aarch64__) && defined(__GNUC__) && !FNABI_BIG_ENDIAN
#define FNABI_NEON 1
extern const fnabi_kernel fnabi_kernel_neon;
#endif

#endif /* FNABI_KERNELS_BLOCK_H */
