/* bits.h - what tokens.h requires but dtypes_fit, for a kernel without an
 * instruction that compresses bytes by a mask: eight at a time by a table, or
 * one by one where few bits are set. The kernel has defined count_bits and
 *
 *   put_word(out, from, places) writes the bytes at these indexes, of eight
 *   put_sums(out, base, bytes)  writes eight bytes, `base` added to each
 *   look_up(out, from, table)   writes the entries of a table of 64 for the low
 *                               bits of 64 bytes, by four of these bits: no
 *                               two entries other than 0 have the same four
 *   put_low_bytes(out, from, word)
 *                               writes the low bytes of those of 64 int16
 *                               whose bits are set
 *   put_stops(out, nexts, numbers, places)
 *                               writes eight sums of two int16 at these
 *                               indexes, each less 1
 *   same(a, b, count)           whether these int16 are the same
 *   put_wide(out, from, places) writes eight int32 at these indexes as int64
 *   put_wide_fours(out, from, places)
 *                               the same of int16
 *   take_fours(fours, text, longest)
 *                               fours[0][i] is the number of the last four
 *                               digits before text[i], or "-1"; if `longest` is
 *                               8, fours[1][i] that of the four before these; 0
 *                               if there are none
 *   put_fours(shorts, fours, places)
 *                               writes eight int16 at these indexes
 *   put_eights(shorts, numbers, fours, before, places)
 *                               writes eight numbers that are in two parts as
 *                               shorts and as numbers of a block
 */
#ifndef FNABI_KERNELS_BITS_H
#define FNABI_KERNELS_BITS_H

/* By the value of eight bits: the indexes of those that are set. */
#define BIT(b, i) ((b) >> (i) & 1)
#define BELOW2(b) (BIT(b, 0) + BIT(b, 1))
#define BELOW4(b) (BELOW2(b) + BELOW2((b) >> 2))
#define PLACE(b, i, below) (BIT(b, i) * UINT64_C(i) << 8 * (below))
#define PLACES(b)                                                \
  (PLACE(b, 1, BIT(b, 0)) | PLACE(b, 2, BELOW2(b)) |             \
   PLACE(b, 3, BELOW2(b) + BIT(b, 2)) | PLACE(b, 4, BELOW4(b)) | \
   PLACE(b, 5, BELOW4(b) + BIT(b, 4)) |                          \
   PLACE(b, 6, BELOW4(b) + BELOW2((b) >> 4)) |                   \
   PLACE(b, 7, BELOW4(b) + BELOW2((b) >> 4) + BIT(b, 6)))
#define EACH2(b) PLACES(b), PLACES((b) + 1)
#define EACH8(b) EACH2(b), EACH2((b) + 2), EACH2((b) + 4), EACH2((b) + 6)
#define EACH32(b) EACH8(b), EACH8((b) + 8), EACH8((b) + 16), EACH8((b) + 24)
#define EACH128(b) \
  EACH32(b), EACH32((b) + 32), EACH32((b) + 64), EACH32((b) + 96)
static const uint64_t places_of[256] = {EACH128(0), EACH128(128)};

/* Four at a time, for there are hardly ever more. */
static inline size_t put_places(uint16_t* out, size_t base, uint64_t word) {
  size_t count = count_bits(word), done = 0;
  do {
    for (size_t k = 0; k < 4; k++, word &= word - 1)
      out[done + k] = (uint16_t)(base + fnabi_lowest(word | UINT64_C(1) << 63));
    done += 4;
  } while (done < count);
  return count;
}

static inline size_t put_tags(fnabi_block* b, size_t n, size_t i,
                              uint64_t tags) {
  const uint8_t* at = b->bytes + FNABI_BLOCK_PAD + 64 * i;
  size_t count = 0;
  for (size_t k = 0; k < 64; k += 8) {
    uint8_t some = (uint8_t)(tags >> k);
    put_word(b->tags + n + count, at + k, places_of[some]);
    put_sums(b->places + n + count, (uint16_t)(64 * i + k), places_of[some]);
    count += count_bits(some);
  }
  return count;
}

FNABI_INLINE size_t put_numbers(fnabi_block* b, size_t n, size_t i,
                                uint64_t ends, int longest) {
  int16_t fours[2][64];
  take_fours(fours, b->bytes + FNABI_BLOCK_PAD + 64 * i, longest);
  size_t count = 0;
  for (size_t k = 0; k < 64; k += 8) {
    uint8_t some = (uint8_t)(ends >> k);
    uint16_t* shorts = b->shorts + n + count;
    if (longest == 4)
      put_fours(shorts, fours[0] + k, places_of[some]);
    else
      put_eights(shorts, b->numbers + n + count, fours[0] + k, fours[1] + k,
                 places_of[some]);
    count += count_bits(some);
  }
  return count;
}

static inline size_t pick_values(uint8_t* kinds, uint8_t* dtypes,
                                 const fnabi_block* b, const uint8_t* kind_of,
                                 const uint8_t* dtype_of, const uint64_t* typed,
                                 const uint64_t* marks, size_t words) {
  size_t count = 0;
  uint8_t kind[64], dtype[64];
  for (size_t i = 0; i < words; i++) {
    look_up(kind, b->tags + 64 * i, kind_of);
    look_up(dtype, b->tags + 64 * i, dtype_of);
    put_low_bytes(dtype, b->shorts + 64 * i + 1, typed[i]);
    for (size_t k = 0; k < 64; k += 8) {
      uint8_t some = (uint8_t)(marks[i] >> k);
      put_word(kinds + count, kind + k, places_of[some]);
      put_word(dtypes + count, dtype + k, places_of[some]);
      count += count_bits(some);
    }
  }
  return count;
}

FNABI_INLINE size_t pick_wide(int64_t* out, const fnabi_block* b,
                              const uint64_t* marks, size_t words, bool eight) {
  size_t total = 0;
  for (size_t i = 0; i < words; i++)
    for (size_t k = 0; k < 64; k += 8) {
      uint8_t some = (uint8_t)(marks[i] >> k);
      if (eight)
        put_wide(out + total, b->numbers + 64 * i + k, places_of[some]);
      else
        put_wide_fours(out + total, b->shorts + 64 * i + k, places_of[some]);
      total += count_bits(some);
    }
  return total;
}

static inline size_t pick64(int64_t* out, const fnabi_block* b,
                            const uint64_t* marks, size_t words) {
  return b->has_numbers ? pick_wide(out, b, marks, words, true)
                        : pick_wide(out, b, marks, words, false);
}

static inline size_t put_ranks(int32_t* out, size_t first, const uint64_t* dims,
                               const uint64_t* nodes, size_t words) {
  size_t count = 0;
  for (size_t i = 0; i < words; i++) {
    for (uint64_t rest = nodes[i]; rest != 0; rest &= rest - 1) {
      uint64_t below = (rest & (0 - rest)) - 1;
      out[count++] = (int32_t)(first + count_bits(dims[i] & below));
    }
    first += count_bits(dims[i]);
  }
  return count;
}

/* An addition moves the bit after each value to the next start: its carry runs
 * through the dtype and the dims of the value. */
static inline bool values_end(fnabi_block* b, const uint64_t* values,
                              const uint64_t* starts, size_t words) {
  uint16_t *begins = b->list, *stops = b->level;
  size_t begun = 0, stopped = 0;
  uint64_t carry = 0, last = 0;
  for (size_t i = 0; i < words; i++) {
    uint64_t others = ~starts[i], after = values[i] << 1 | last >> 63;
    uint64_t sum = others + after, more = sum + carry;
    carry = (sum < others) | (more < sum);
    last = values[i];
    uint64_t next = more & starts[i];
    for (size_t k = 0; k < 64; k += 8) {
      uint8_t value = (uint8_t)(values[i] >> k), some = (uint8_t)(next >> k);
      put_fours(begins + begun, (const void*)(b->places + 64 * i + k),
                places_of[some]);
      put_stops(stops + stopped, b->places + 64 * i + k + 1,
                b->shorts + 64 * i + k, places_of[value]);
      begun += count_bits(some);
      stopped += count_bits(value);
    }
  }
  return same(stops, begins, stopped);
}

#endif /* FNABI_KERNELS_BITS_H */
