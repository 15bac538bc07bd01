/* The kernel for processors with AVX-512 up to VBMI2: 64 bytes are a register,
 * and one instruction compresses them by a mask. */
#include "many/kernels/block.h"

#if defined(FNABI_X86)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(                                              \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi," \
                          "avx512vbmi2,popcnt,bmi,bmi2"))),                \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target( \
    "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,popcnt,bmi,bmi2")
#endif

typedef __m512i chunk;

static inline unsigned count_bits(uint64_t word) {
  return fnabi_count_bits(word);
}

static inline chunk load(const void* bytes) {
  return _mm512_loadu_si512(bytes);
}

static inline void store(void* bytes, __m512i v) {
  _mm512_storeu_si512(bytes, v);
}

static inline uint64_t equal(chunk c, char byte) {
  return _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8(byte));
}

static inline uint64_t tags_of(chunk c) {
  return _mm512_test_epi8_mask(c, _mm512_set1_epi8((char)0xC0));
}

static inline uint64_t digits_of(chunk c) {
  return _mm512_cmple_epu8_mask(_mm512_sub_epi8(c, _mm512_set1_epi8('0')),
                                _mm512_set1_epi8(9));
}

static inline __m256i low(__m512i v) { return _mm512_castsi512_si256(v); }
static inline __m256i high(__m512i v) {
  return _mm512_extracti64x4_epi64(v, 1);
}

static inline size_t put_bytes(uint8_t* out, const uint8_t* from,
                               uint64_t bits) {
  store(out, _mm512_maskz_compress_epi8(bits, load(from)));
  return count_bits(bits);
}

static inline size_t put_places(uint16_t* out, size_t base, uint64_t bits) {
  const __m512i each = _mm512_set_epi64(0x3F3E3D3C3B3A3938, 0x3736353433323130,
                                        0x2F2E2D2C2B2A2928, 0x2726252423222120,
                                        0x1F1E1D1C1B1A1918, 0x1716151413121110,
                                        0x0F0E0D0C0B0A0908, 0x0706050403020100);
  __m512i places = _mm512_maskz_compress_epi8(bits, each);
  __m512i from = _mm512_set1_epi16((short)base);
  size_t count = count_bits(bits);
  store(out, _mm512_add_epi16(from, _mm512_cvtepu8_epi16(low(places))));
  if (count > 32)
    store(out + 32, _mm512_add_epi16(from, _mm512_cvtepu8_epi16(high(places))));
  return count;
}

static inline size_t pick8(uint8_t* out, const uint8_t* from,
                           const uint8_t* table, const uint64_t* marks,
                           size_t words) {
  size_t count = 0;
  for (size_t i = 0; i < words; i++) {
    __m512i v = load(from + 64 * i);
    if (table != NULL) v = _mm512_permutexvar_epi8(v, load(table));
    store(out + count, _mm512_maskz_compress_epi8(marks[i], v));
    count += count_bits(marks[i]);
  }
  return count;
}

static inline size_t pick_values(uint8_t* kinds, uint8_t* dtypes,
                                 const fnabi_block* b, const uint8_t* kind_of,
                                 const uint8_t* dtype_of, const uint64_t* typed,
                                 const uint64_t* marks, size_t words) {
  size_t count = 0;
  pick8(kinds, b->tags, kind_of, marks, words);
  for (size_t i = 0; i < words; i++) {
    __m512i v = _mm512_permutexvar_epi8(load(b->tags + 64 * i), load(dtype_of));
    v = _mm512_mask_mov_epi8(v, typed[i], load(b->pairs + 64 * i + 1));
    store(dtypes + count, _mm512_maskz_compress_epi8(marks[i], v));
    count += count_bits(marks[i]);
  }
  return count;
}

static inline size_t pick64(int64_t* out, const fnabi_block* b,
                            const uint64_t* marks, size_t words) {
  size_t count = 0;
  for (size_t i = 0; i < 64 * words; i += 16) {
    __mmask16 some = (__mmask16)(marks[i / 64] >> i % 64);
    __m512i v = b->has_numbers
                    ? load(b->numbers + i)
                    : _mm512_cvtepi16_epi32(low(load(b->shorts + i)));
    v = _mm512_maskz_compress_epi32(some, v);
    store(out + count, _mm512_cvtepi32_epi64(low(v)));
    store(out + count + 8, _mm512_cvtepi32_epi64(high(v)));
    count += count_bits(some);
  }
  return count;
}

/* Bits of bytes of 128 and more. */
static inline uint64_t deep_of(chunk c) { return _mm512_movepi8_mask(c); }

/* The sums of all bytes before each. */
static inline __m512i prefix_of(__m512i change) {
  __m512i sum = _mm512_add_epi8(change, _mm512_bslli_epi128(change, 1));
  sum = _mm512_add_epi8(sum, _mm512_bslli_epi128(sum, 2));
  sum = _mm512_add_epi8(sum, _mm512_bslli_epi128(sum, 4));
  sum = _mm512_add_epi8(sum, _mm512_bslli_epi128(sum, 8));
  /* the sums of all parts of 16 before each */
  __m512i ends = _mm512_permutexvar_epi8(
      _mm512_set_epi64(0x2F2F2F2F2F2F2F2F, 0x2F2F2F2F2F2F2F2F,
                       0x1F1F1F1F1F1F1F1F, 0x1F1F1F1F1F1F1F1F,
                       0x0F0F0F0F0F0F0F0F, 0x0F0F0F0F0F0F0F0F, 0, 0),
      sum);
  ends = _mm512_maskz_mov_epi64(0xFC, ends);
  ends =
      _mm512_add_epi8(ends, _mm512_maskz_shuffle_i64x2(0xFC, ends, ends, 0x90));
  ends =
      _mm512_add_epi8(ends, _mm512_maskz_shuffle_i64x2(0xF0, ends, ends, 0x40));
  return _mm512_add_epi8(_mm512_sub_epi8(sum, change), ends);
}

static inline uint8_t put_depths(uint8_t* out, uint64_t opens,
                                 const uint8_t* closes, uint8_t depth) {
  __m512i change = _mm512_sub_epi8(
      _mm512_maskz_mov_epi8(opens, _mm512_set1_epi8(1)), load(closes));
  __m512i before = prefix_of(change);
  store(out, _mm512_add_epi8(before, _mm512_set1_epi8((char)depth)));
  __m512i all = _mm512_add_epi8(before, change);
  return (uint8_t)(depth + (uint8_t)_mm_extract_epi8(
                               _mm512_extracti32x4_epi32(all, 3), 15));
}

/* Digits as numbers; 0 for other bytes, and for digits that are not in a run up
 * to the end of the number: `run` has the bits of those that are. */
static inline __m512i take_digits(const uint8_t* text, uint64_t* run) {
  __m512i v = _mm512_sub_epi8(load(text), _mm512_set1_epi8('0'));
  *run &= _mm512_cmple_epu8_mask(v, _mm512_set1_epi8(9));
  return _mm512_maskz_mov_epi8(*run, v);
}

/* The numbers of the two digits that end before each byte. */
static inline __m512i take_pairs(const uint8_t* text, uint64_t* run) {
  __m512i ones = take_digits(text - 1, run);
  __m512i tens = take_digits(text - 2, run);
  __m512i twice = _mm512_add_epi8(tens, tens);
  return _mm512_add_epi8(_mm512_add_epi8(ones, twice),
                         _mm512_slli_epi16(tens, 3));
}

static inline __m512i join_pairs(__m256i ones, __m256i hundreds) {
  return _mm512_add_epi16(_mm512_cvtepu8_epi16(ones),
                          _mm512_mullo_epi16(_mm512_cvtepu8_epi16(hundreds),
                                             _mm512_set1_epi16(100)));
}

static inline __m512i join_fours(__m256i ones, __m256i more) {
  __m512i both =
      _mm512_or_si512(_mm512_cvtepu16_epi32(ones),
                      _mm512_slli_epi32(_mm512_cvtepu16_epi32(more), 16));
  return _mm512_madd_epi16(both, _mm512_set1_epi32(1 | 10000 << 16));
}

static inline size_t put_tags(fnabi_block* b, size_t n, size_t i,
                              uint64_t tags) {
  put_bytes(b->tags + n, b->bytes + FNABI_BLOCK_PAD + 64 * i, tags);
  return put_places(b->places + n, 64 * i, tags);
}

FNABI_INLINE size_t put_numbers(fnabi_block* b, size_t n, size_t chunk_index,
                                uint64_t ends, int longest) {
  const uint8_t* at = b->bytes + FNABI_BLOCK_PAD + 64 * chunk_index;
  uint64_t run = ends, minus = ends & equal(load(at - 2), '-');
  size_t count = count_bits(ends);
  __m512i pairs[4], four[2] = {0};
  for (int i = 0; i < longest / 2; i++) {
    pairs[i] = take_pairs(at - 2 * i, &run);
    if (i == 0) /* "-1" is the only number with a sign */
      pairs[i] = _mm512_mask_mov_epi8(pairs[i], minus, _mm512_set1_epi8(-1));
    pairs[i] = _mm512_maskz_compress_epi8(ends, pairs[i]);
  }
  store(b->pairs + n, pairs[0]);
  minus = (uint64_t)_mm512_movepi8_mask(pairs[0]);
  for (size_t i = 0; i < count; i += 32) {
    for (int k = 0; k < longest / 4; k++)
      four[k] = i == 0 ? join_pairs(low(pairs[2 * k]), low(pairs[2 * k + 1]))
                       : join_pairs(high(pairs[2 * k]), high(pairs[2 * k + 1]));
    four[0] = _mm512_mask_mov_epi16(four[0], (__mmask32)(minus >> i),
                                    _mm512_set1_epi16(-1));
    __m512i shorts = four[0];
    if (longest == 8)
      shorts = _mm512_mask_mov_epi16(shorts,
                                     _mm512_test_epi16_mask(four[1], four[1]),
                                     _mm512_set1_epi16(0x7FFF));
    store(b->shorts + n + i, shorts);
    if (longest == 4) continue;
    int32_t* out = b->numbers + n + i;
    store(out, join_fours(low(four[0]), low(four[1])));
    store(out + 16, join_fours(high(four[0]), high(four[1])));
  }
  return count;
}

/* ---------------------------------------------------------------------- raw */

static inline size_t put_ranks(int32_t* out, size_t first, const uint64_t* dims,
                               const uint64_t* nodes, size_t words) {
  size_t count = 0;
  for (size_t i = 0; i < words; i++) {
    __m512i base = _mm512_set1_epi32((int)first);
    __m512i ranks = prefix_of(_mm512_maskz_set1_epi8(dims[i], 1));
    ranks = _mm512_maskz_compress_epi8(nodes[i], ranks);
    size_t some = count_bits(nodes[i]);
    for (size_t k = 0; k < some; k += 16) {
      __m128i next = _mm512_castsi512_si128(ranks);
      store(out + count + k,
            _mm512_add_epi32(base, _mm512_cvtepu8_epi32(next)));
      ranks = _mm512_alignr_epi64(ranks, ranks, 2);
    }
    count += some;
    first += count_bits(dims[i]);
  }
  return count;
}

static inline bool values_end(fnabi_block* b, const uint64_t* values,
                              const uint64_t* starts, size_t words) {
  const __m512i none = _mm512_set1_epi16(-1); /* no offset is that large */
  uint16_t *begins = b->list, *ends = b->level;
  size_t count = 0;
  for (size_t i = 0; i < 64 * words; i += 32) {
    __mmask32 some = (__mmask32)(starts[i / 64] >> i % 64);
    __mmask32 here = (__mmask32)(values[i / 64] >> i % 64);
    __m512i begin = load(b->places + i), end = load(b->places + i + 1);
    end = _mm512_add_epi16(_mm512_add_epi16(end, none), load(b->shorts + i));
    end = _mm512_mask_mov_epi16(none, here, end);
    store(begins + count, _mm512_maskz_compress_epi16(some, begin));
    store(ends + count, _mm512_maskz_compress_epi16(some, end));
    count += count_bits(some);
  }
  store(ends + count, none);
  __mmask32 bad = 0;
  for (size_t i = 0; i < count; i += 32) {
    __m512i end = load(ends + i);
    __mmask32 some = _mm512_cmpneq_epi16_mask(end, none);
    bad |= _mm512_mask_cmpneq_epi16_mask(some, end, load(begins + i + 1));
  }
  return bad == 0;
}

static inline bool dtypes_fit(const fnabi_block* b, const uint64_t* dtypes,
                              size_t words) {
  const __m512i limit = _mm512_set1_epi16(FNABI_SCALAR_TYPE_COUNT);
  const __m512i two = _mm512_set1_epi16(2), nine = _mm512_set1_epi16(9);
  __mmask32 bad = 0;
  for (size_t i = 0; i < 64 * words; i += 32) {
    __mmask32 some = (__mmask32)(dtypes[i / 64] >> i % 64);
    __m512i number = load(b->shorts + i), next = load(b->places + i + 1);
    __m512i size = _mm512_sub_epi16(next, load(b->places + i));
    __mmask32 wide = _mm512_cmpgt_epu16_mask(number, nine);
    size = _mm512_mask_add_epi16(size, wide, size, _mm512_set1_epi16(-1));
    bad |= some & (_mm512_cmpge_epu16_mask(number, limit) |
                   _mm512_cmpneq_epi16_mask(size, two));
  }
  return bad == 0;
}

/* ---------------------------------------------------------------------- SIP */

static inline size_t pick16(int32_t* out, const uint16_t* from,
                            const uint64_t* kept, const uint64_t* marks,
                            size_t words) {
  const __m512i other = _mm512_set1_epi16(-1);
  size_t count = 0;
  for (size_t i = 0; i < 64 * words; i += 32) {
    __mmask32 some = (__mmask32)(marks[i / 64] >> i % 64);
    __mmask32 here = (__mmask32)(kept[i / 64] >> i % 64);
    __m512i v = _mm512_mask_mov_epi16(other, here, load(from + i));
    v = _mm512_maskz_compress_epi16(some, v);
    store(out + count, _mm512_cvtepi16_epi32(low(v)));
    count += count_bits(some);
  }
  return count;
}

/* A prefix sum over 16 numbers. */
static inline __m256i sums_of(__m256i v) {
  v = _mm256_add_epi16(v, _mm256_bslli_epi128(v, 2));
  v = _mm256_add_epi16(v, _mm256_bslli_epi128(v, 4));
  v = _mm256_add_epi16(v, _mm256_bslli_epi128(v, 8));
  /* the last sum of the lower half, for the upper one */
  __m256i last = _mm256_shuffle_epi8(v, _mm256_set1_epi16(0x0F0E));
  return _mm256_add_epi16(v, _mm256_permute2x128_si256(last, last, 0x08));
}

static inline void put_ends(int32_t* out, size_t end, const uint16_t* from,
                            const uint64_t* kept, const uint64_t* marks,
                            size_t words) {
  const __m512i last = _mm512_set1_epi32(15);
  __m512i base = _mm512_set1_epi32((int)end);
  size_t count = 0;
  for (size_t i = 0; i < 64 * words; i += 32) {
    __mmask32 some = (__mmask32)(marks[i / 64] >> i % 64);
    __mmask32 here = (__mmask32)(kept[i / 64] >> i % 64);
    __m512i v =
        _mm512_maskz_sub_epi16(here, load(from + i), _mm512_set1_epi16(1));
    v = _mm512_maskz_compress_epi16(some, v);
    v = _mm512_add_epi32(base, _mm512_cvtepu16_epi32(sums_of(low(v))));
    store(out + count, v);
    base = _mm512_permutexvar_epi32(last, v);
    count += count_bits(some);
  }
}

static inline void put_keys(uint16_t* keys, const uint16_t* from,
                            uint64_t firsts) {
  for (int i = 0; i < 64; i += 32) {
    __m512i marks =
        _mm512_maskz_set1_epi16((__mmask32)(firsts >> i), (short)0x8000);
    store(keys + i, _mm512_or_si512(load(from + i), marks));
  }
}

static inline size_t put_level(uint16_t* out, const uint16_t* keys,
                               uint64_t word) {
  __mmask32 first = (__mmask32)word, second = (__mmask32)(word >> 32);
  size_t count = count_bits(first);
  store(out, _mm512_maskz_compress_epi16(first, load(keys)));
  store(out + count, _mm512_maskz_compress_epi16(second, load(keys + 32)));
  return count + count_bits(second);
}

/* A key with its mark is greater than any without. */
static inline bool level_ascends(const uint16_t* level, size_t count) {
  const __m512i unmarked = _mm512_set1_epi16(0x7FFF);
  __mmask32 bad = 0;
  for (size_t i = 0; i < count; i += 32) {
    __mmask32 some = ~(__mmask32)0 >> (count - i < 32 ? 32 - (count - i) : 0);
    __m512i before = _mm512_and_si512(load(level + i - 1), unmarked);
    bad |= _mm512_mask_cmple_epu16_mask(some, load(level + i), before);
  }
  return bad == 0;
}

static inline void put_name_depths(uint8_t* out, const uint8_t* depths,
                                   uint64_t firsts, uint64_t word) {
  __m512i marks = _mm512_maskz_set1_epi8(firsts, (char)0x80);
  __m512i v = _mm512_or_si512(load(depths), marks);
  store(out, _mm512_maskz_compress_epi8(word, v));
}

static inline size_t put_name_level(uint64_t* orders, uint8_t* depths,
                                    const fnabi_block* b, char depth) {
  size_t count = 0;
  for (size_t i = 0; i < b->names; i += 64) {
    __m512i v = load(b->name_depths + i);
    uint64_t some = equal(_mm512_and_si512(v, _mm512_set1_epi8(0x7F)), depth);
    store(depths + count, _mm512_maskz_compress_epi8(some, v));
    for (size_t k = i; k < i + 64 && k < b->names; k += 8, some >>= 8) {
      __mmask8 these = (__mmask8)some;
      store(orders + count,
            _mm512_maskz_compress_epi64(these, load(b->name_orders + k)));
      count += count_bits(these);
    }
  }
  return count;
}

static inline bool name_level_ascends(const uint64_t* orders,
                                      const uint8_t* depths, size_t count) {
  __mmask8 bad = 0;
  for (size_t i = 0; i < count; i += 8) {
    unsigned some = 0xFFu >> (count - i < 8 ? 8 - (count - i) : 0);
    __m128i v = _mm_loadl_epi64((const void*)(depths + i));
    some &= ~(unsigned)_mm_movemask_epi8(v);
    bad |= _mm512_mask_cmple_epu64_mask((__mmask8)some, load(orders + i),
                                        load(orders + i - 1));
  }
  return bad == 0;
}

#include "many/kernels/raw.h"
#include "many/kernels/sip.h"
const fnabi_kernel fnabi_kernel_avx512 = {decode_raw, decode_sip};

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int fnabi_no_avx512; /* ISO C forbids an empty file */
#endif
