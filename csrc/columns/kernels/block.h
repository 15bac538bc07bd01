/* columns_block.h - short texts by the block, decoded together. Private.
 *
 * What a processor cannot foresee in a signature is where a number ends, what
 * comes next and how deep it is, and a decoder that asks is misled every few
 * bytes. This one does not ask: the texts of a block are cut into tokens, the
 * tokens are checked and the columns are filled, 64 at a time, by steps that
 * are the same for all of them; in the end it says whether all texts were
 * well-formed. The steps need instructions for many bytes at once, and so
 * columns_block_NAME.c compiles them for the processors that have NAME:
 * columns_block_tokens.h, and of each ABI that gets faster by it
 * columns_block_raw.h or columns_block_sip.h. */
#ifndef FNABI_COLUMNS_BLOCK_H
#define FNABI_COLUMNS_BLOCK_H

#include "fnabi.h"
#include "columns/kernels/sides.h"

enum {
  FNABI_BLOCK_ROWS = 1024,
  FNABI_BLOCK_NAMES = FNABI_BLOCK_SIZE / 4, /* "K2!a" */
  FNABI_BLOCK_WORDS = FNABI_BLOCK_SIZE / 64 + 2,
  FNABI_BLOCK_ROOM = FNABI_BLOCK_SIZE + 2 * FNABI_BLOCK_PAD
};

/* Stands behind the last text, and between two that do not touch. */
#define FNABI_BLOCK_BETWEEN '@'

/* A token is a byte of 0x40 or more that is not in a name: a tag, or
 * FNABI_BLOCK_BETWEEN. */
typedef struct fnabi_block {
  size_t size, rows;
  uint8_t bytes[FNABI_BLOCK_ROOM]; /* texts from FNABI_BLOCK_PAD on, then 0 */
  uint16_t begins[FNABI_BLOCK_ROWS], ends[FNABI_BLOCK_ROWS]; /* by row */

  /* All that follows is scratch. By token: its byte and where that is, the
   * number behind it, its two last digits where the kernel wants them, and the
   * byte behind it. */
  size_t tokens;
  uint8_t tags[FNABI_BLOCK_ROOM];
  uint16_t places[FNABI_BLOCK_ROOM];
  int32_t numbers[FNABI_BLOCK_ROOM];
  uint8_t pairs[FNABI_BLOCK_ROOM], marks[FNABI_BLOCK_ROOM];

  /* Bits of the bytes of names, and of those that are tags; by name: where it
   * is, its size, and a number that orders as its first eight bytes do. */
  uint64_t in_names[FNABI_BLOCK_WORDS], in_tags[FNABI_BLOCK_WORDS];
  size_t names;
  uint16_t name_places[FNABI_BLOCK_NAMES + 1],
      name_sizes[FNABI_BLOCK_NAMES + 1];
  uint64_t name_orders[FNABI_BLOCK_NAMES + 1];

  uint8_t depths[FNABI_BLOCK_ROOM];  /* of the nodes among the tokens */
  uint8_t closing[FNABI_BLOCK_ROOM]; /* how many structures end at a byte */
  uint16_t list[FNABI_BLOCK_ROOM], heads[2][FNABI_BLOCK_ROWS + FNABI_BLOCK_PAD];
} fnabi_block;

/* Adds the nodes of all rows to both sides, and stores where those of each row
 * end. False where a row is malformed, or well-formed but unlike most: what was
 * written is then to be dropped. */
typedef bool fnabi_block_decode(fnabi_block* block, fnabi_side_columns sides[2],
                                int32_t* const offsets[2]);

typedef struct fnabi_kernel {
  fnabi_block_decode *raw, *sip;
} fnabi_kernel;

/* The kernel of a decoder; NULL where this processor cannot run it. */
const fnabi_kernel* fnabi_kernel_of(fnabi_decoder decoder);

#if defined(__x86_64__) && defined(__GNUC__)
#define FNABI_X86 1
extern const fnabi_kernel fnabi_kernel_avx2, fnabi_kernel_avx512;
#elif defined(__aarch64__) && defined(__GNUC__) && \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FNABI_NEON 1
extern const fnabi_kernel fnabi_kernel_neon;
#endif

#endif /* FNABI_COLUMNS_BLOCK_H */
