/* sides.h - the columns of inputs and of results as raw arrays, which the
 * scalar decoders and the kernels fill. Private. */
#ifndef FNABI_KERNELS_SIDES_H
#define FNABI_KERNELS_SIDES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/platform.h"

/* Texts of at most FNABI_BLOCK_SIZE bytes in all are decoded at a time. Before
 * and after them FNABI_BLOCK_PAD bytes may be read. The arrays have the
 * capacity for whatever such texts can become, and FNABI_BLOCK_PAD elements. */
#define FNABI_BLOCK_SIZE 4096
#define FNABI_BLOCK_PAD 64

/* The columns of one side, and how many elements of them are filled. */
typedef struct fnabi_side_columns {
  int8_t* kinds;
  int8_t* dtypes;
  int32_t* shape_offsets;
  int64_t* dims;
  uint8_t* depths;
  int32_t* name_offsets;
  uint8_t* names;
  int32_t* indexes;
  int32_t* positions;
  size_t nodes, dim_count, name_size;
} fnabi_side_columns;

/* Fast paths of fnabi_raw_write and fnabi_sip_write for one text. They accept
 * well-formed texts only, and may reject some of these: then they return false,
 * and the caller drops what they wrote by resetting the three sizes. */
bool fnabi_raw_row(const uint8_t* text, size_t size,
                   fnabi_side_columns sides[2]);
bool fnabi_sip_row(const uint8_t* text, size_t size,
                   fnabi_side_columns sides[2]);

/* Eight bytes as a number, the first one lowest. */
static inline uint64_t fnabi_load64(const uint8_t* bytes) {
  uint64_t word;
  memcpy(&word, bytes, sizeof word);
  if (FNABI_BIG_ENDIAN) word = fnabi_swap_bytes(word);
  return word;
}

/* The index of the lowest bit that is set. The mask is not 0. */
static inline unsigned fnabi_lowest(uint64_t mask) {
  return fnabi_trailing_zeros(mask);
}

/* The number of eight digits 0 to 9, the first digit in the lowest byte. */
static inline uint32_t fnabi_sum_digits(uint64_t digits) {
  digits = digits * 10 + (digits >> 8); /* pairs of them */
  return (uint32_t)((((digits & UINT64_C(0x000000FF000000FF)) *
                      UINT64_C(0x000F424000000064)) +
                     (((digits >> 16) & UINT64_C(0x000000FF000000FF)) *
                      UINT64_C(0x0000271000000001))) >>
                    32);
}

#endif /* FNABI_KERNELS_SIDES_H */
