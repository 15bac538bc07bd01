/* columns.h - columns as the decoders fill them. Private. */
#ifndef FNABI_COLUMNS_H
#define FNABI_COLUMNS_H

#include <stdatomic.h>

#include "base/dtype.h"
#include "base/message.h"
#include "base/vector.h"

/* An element type of the dictionary, its format a part of `formats`. */
typedef struct fnabi_dtype_entry {
  fnabi_dtype_kind kind;
  uint32_t bits;
  size_t format, format_size;
} fnabi_dtype_entry;

struct fnabi_columns {
  atomic_size_t owners;
  int32_t abi;
  fnabi_decoder decoder;
  size_t rows;
  fnabi_vector vectors[FNABI_COLUMN_COUNT];
  fnabi_vector dtypes;  /* fnabi_dtype_entry */
  fnabi_vector formats; /* bytes */
  fnabi_vector slots;   /* int32_t: a hash table of dtypes; -1: free */
  fnabi_vector scratch; /* the message of one row */
};

/* Adds rows for texts; false when there is no memory, with the rows before.
 * Texts that are `together` stand in one buffer. */
bool fnabi_columns_add(fnabi_columns* columns, const fnabi_text* texts,
                       size_t count, bool together);

/* Adds rows as fnabi_columns_decode does, of texts that may stand anywhere, but
 * do not change; their sizes together fit a size_t. */
int64_t fnabi_columns_decode_texts(fnabi_columns* columns,
                                   const fnabi_text* texts, size_t count,
                                   fnabi_error* error);

/* Adds a row from the message of a signature that a decoder wrote, of which the
 * first two elements are read and the others passed over; a row without a text
 * from nil. False when there is no memory, without a row. */
bool fnabi_columns_add_signature(fnabi_columns* columns, fnabi_reader* r);

static inline bool fnabi_columns_keeps(const fnabi_columns* columns) {
  return columns->abi != FNABI_ABI_RAW && columns->abi != FNABI_ABI_SIP;
}

/* The name of a dtype in the type model, such as "float8_e4m3fn". */
void fnabi_dtype_write_name(fnabi_writer* w, const fnabi_columns* columns,
                            size_t dtype);

static inline size_t fnabi_dtype_count(const fnabi_columns* columns) {
  return columns->dtypes.size / sizeof(fnabi_dtype_entry);
}

static inline fnabi_dtype fnabi_dtype_at(const fnabi_columns* columns,
                                         size_t i) {
  const fnabi_dtype_entry* e =
      (const fnabi_dtype_entry*)(const void*)columns->dtypes.data + i;
  const char* formats = (const char*)columns->formats.data;
  return (fnabi_dtype){e->kind, e->bits,
                       e->format_size == 0 ? "" : formats + e->format,
                       e->format_size};
}

/* --------------------------------------------------------------- fast decoders
 *
 * They read texts that have at most FNABI_BLOCK_SIZE bytes together, before and
 * behind which they may read FNABI_BLOCK_PAD bytes, and write into arrays that
 * have room for whatever such texts can hold, and FNABI_BLOCK_PAD elements. */
#define FNABI_BLOCK_SIZE 4096
#define FNABI_BLOCK_PAD 64

/* The columns of one side, and how much of them is filled. */
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

/* Twins of fnabi_raw_write and fnabi_sip_write. They take well-formed texts
 * only, and may leave some of these: the answer is then false, and what they
 * wrote is to be dropped by resetting the sizes. */
bool fnabi_raw_row(const uint8_t* text, size_t size,
                   fnabi_side_columns sides[2]);
bool fnabi_sip_row(const uint8_t* text, size_t size,
                   fnabi_side_columns sides[2]);

/* Eight bytes with the first one lowest. */
static inline uint64_t fnabi_load64(const uint8_t* bytes) {
  uint64_t word;
  memcpy(&word, bytes, sizeof word);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

/* The place of the lowest bit that is set; there is one. */
static inline unsigned fnabi_lowest(uint64_t mask) {
#if defined(__GNUC__)
  return (unsigned)__builtin_ctzll(mask);
#else
  unsigned place = 0;
  for (; (mask & 1) == 0; mask >>= 1) place++;
  return place;
#endif
}

/* The number of eight digits 0 to 9, the first one lowest in the word. */
static inline uint32_t fnabi_sum_digits(uint64_t digits) {
  digits = digits * 10 + (digits >> 8); /* pairs of them */
  return (uint32_t)((((digits & UINT64_C(0x000000FF000000FF)) *
                      UINT64_C(0x000F424000000064)) +
                     (((digits >> 16) & UINT64_C(0x000000FF000000FF)) *
                      UINT64_C(0x0000271000000001))) >>
                    32);
}

#endif /* FNABI_COLUMNS_H */
