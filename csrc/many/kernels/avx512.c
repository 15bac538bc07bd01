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

static inline size_t pick_dtypes(uint8_t* out, const fnabi_block* b,
                                 const uint8_t* table, const uint64_t* typed,
                                 const uint64_t* marks, size_t words) {
  size_t count = 0;
  for (size_t i = 0; i < words; i++) {
    __m512i v = _mm512_permutexvar_epi8(load(b->tags + 64 * i), load(table));
    v = _mm512_mask_mov_epi8(v, typed[i], load(b->pairs + 64 * i + 1));
    store(out + count, _mm512_maskz_compress_epi8(marks[i], v));
    count += count_bits(marks[i]);
  }
  return count;
}

static inline size_t pick32(int32_t* out, const int32_t* from,
                            const uint64_t* kept, int32_t other,
                            const uint64_t* marks, size_t words) {
  size_t count = 0;
  for (size_t i = 0; i < 64 * words; i += 16) {
    __mmask16 some = (__mmask16)(marks[i / 64] >> i % 64);
    __mmask16 here = (__mmask16)(kept[i / 64] >> i % 64);
    __m512i v =
        _mm512_mask_mov_epi32(_mm512_set1_epi32(other), here, load(from + i));
    store(out + count, _mm512_maskz_compress_epi32(some, v));
    count += count_bits(some);
  }
  return count;
}

static inline size_t pick64(int64_t* out, const int32_t* from,
                            const uint64_t* marks, size_t words) {
  size_t count = 0;
  for (size_t i = 0; i < 64 * words; i += 16) {
    __mmask16 some = (__mmask16)(marks[i / 64] >> i % 64);
    __m512i v = _mm512_maskz_compress_epi32(some, load(from + i));
    store(out + count, _mm512_cvtepi32_epi64(low(v)));
    store(out + count + 8, _mm512_cvtepi32_epi64(high(v)));
    count += count_bits(some);
  }
  return count;
}

/* Bits of bytes of 128 and more. */
static inline uint64_t deep_of(chunk c) { return _mm512_movepi8_mask(c); }

/* A prefix sum over the bytes of a register, in parts of 16. */
static inline uint8_t put_depths(uint8_t* out, uint64_t opens,
                                 const uint8_t* closes, uint8_t depth) {
  __m512i change = _mm512_sub_epi8(
      _mm512_maskz_mov_epi8(opens, _mm512_set1_epi8(1)), load(closes));
  __m512i sum = _mm512_add_epi8(change, _mm512_bslli_epi128(change, 1));
  sum = _mm512_add_epi8(sum, _mm512_bslli_epi128(sum, 2));
  sum = _mm512_add_epi8(sum, _mm512_bslli_epi128(sum, 4));
  sum = _mm512_add_epi8(sum, _mm512_bslli_epi128(sum, 8));
  /* the sums of all parts before each */
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
  sum = _mm512_add_epi8(sum, ends);
  store(out, _mm512_add_epi8(_mm512_sub_epi8(sum, change),
                             _mm512_set1_epi8((char)depth)));
  return (uint8_t)(depth + (uint8_t)_mm_extract_epi8(
                               _mm512_extracti32x4_epi32(sum, 3), 15));
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

static inline __m512i join_fours(__m256i ones, __m256i more, int longest) {
  if (longest == 4) return _mm512_cvtepi16_epi32(ones);
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
    int32_t* out = b->numbers + n + i;
    store(out, join_fours(low(four[0]), low(four[1]), longest));
    store(out + 16, join_fours(high(four[0]), high(four[1]), longest));
  }
  return put_bytes(b->marks + n, at, ends);
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
