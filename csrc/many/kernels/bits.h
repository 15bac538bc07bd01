/* bits.h - what tokens.h requires, for a kernel without an instruction that
 * compresses bytes by a mask: eight at a time by a table, or else one by one.
 * The kernel has defined count_bits and
 *
 *   put_word(out, from, places) writes the bytes at these indexes, of eight
 *   put_sums(out, base, bytes)  writes eight bytes, `base` added to each
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

static inline size_t put_places(uint16_t* out, size_t base, uint64_t word) {
  size_t count = 0;
  for (size_t i = 0; i < 64; i += 8) {
    uint8_t some = (uint8_t)(word >> i);
    put_sums(out + count, (uint16_t)(base + i), places_of[some]);
    count += count_bits(some);
  }
  return count;
}

static inline size_t put_bytes(uint8_t* out, const uint8_t* from,
                               uint64_t word) {
  size_t count = 0;
  for (size_t i = 0; i < 64; i += 8) {
    uint8_t some = (uint8_t)(word >> i);
    put_word(out + count, from + i, places_of[some]);
    count += count_bits(some);
  }
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

static inline size_t pick8(uint8_t* out, const uint8_t* from,
                           const uint8_t* table, const uint64_t* marks,
                           size_t words) {
  size_t total = 0;
  for (size_t i = 0; i < words; i++)
    total += put_bytes(out + total, from + 64 * i, marks[i]);
  for (size_t k = 0; k < total; k++) out[k] = table[out[k] & 63];
  return total;
}

static inline size_t pick_dtypes(uint8_t* out, const fnabi_block* b,
                                 const uint8_t* table, const uint64_t* typed,
                                 const uint64_t* marks, size_t words) {
  size_t total = 0;
  for (size_t i = 0; i < words; i++)
    for (uint64_t word = marks[i]; word != 0; word &= word - 1) {
      unsigned place = fnabi_lowest(word);
      size_t k = 64 * i + place;
      uint8_t named = (uint8_t)(0 - (typed[i] >> place & 1));
      uint8_t number = (uint8_t)b->shorts[k + 1], own = table[b->tags[k] & 63];
      out[total++] = (uint8_t)((number & named) | (own & ~named));
    }
  return total;
}

static inline size_t pick64(int64_t* out, const fnabi_block* b,
                            const uint64_t* marks, size_t words) {
  size_t total = 0;
  for (size_t i = 0; i < 64 * words; i += 8) {
    uint8_t some = (uint8_t)(marks[i / 64] >> i % 64);
    if (b->has_numbers)
      put_wide(out + total, b->numbers + i, places_of[some]);
    else
      put_wide_fours(out + total, b->shorts + i, places_of[some]);
    total += count_bits(some);
  }
  return total;
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

static inline bool values_end(fnabi_block* b, const uint64_t* values,
                              const uint64_t* starts, size_t words) {
  uint32_t bad = 0;
  size_t count = 0;
  for (size_t i = 0; i < words; i++)
    count += put_places(b->list + count, 64 * i, starts[i]);
  for (size_t j = 0; j + 1 < count; j++) {
    size_t k = b->list[j], next = b->list[j + 1];
    uint32_t value = values[k / 64] >> k % 64 & 1;
    bad |= (0 - value) & (fnabi_stop_of(b, k) ^ b->places[next]);
  }
  return bad == 0;
}

static inline bool dtypes_fit(const fnabi_block* b, const uint64_t* dtypes,
                              size_t words) {
  uint32_t bad = 0;
  for (size_t i = 0; i < words; i++)
    for (uint64_t rest = dtypes[i]; rest != 0; rest &= rest - 1) {
      size_t k = 64 * i + fnabi_lowest(rest);
      uint32_t number = b->shorts[k],
               size = (uint32_t)(b->places[k + 1] - b->places[k]);
      bad |= (uint32_t)(number >= FNABI_SCALAR_TYPE_COUNT) |
             (size - 2 - (number > 9));
    }
  return bad == 0;
}

#endif /* FNABI_KERNELS_BITS_H */
