/* The kernel for processors with AVX2: 64 bytes are two registers. The number of
 * instructions bounds it: a raw text of 64 bytes takes 1,230 of them, half of
 * these to find its tokens. The scalar decoder has SIP texts: where tables
 * compress nodes, a text of 67 bytes takes 1,470 instructions instead of 1,220,
 * and as long. */
#include "many/kernels/block.h"

#if defined(FNABI_X86)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,popcnt,bmi,bmi2"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,popcnt,bmi,bmi2")
#endif

typedef struct chunk {
  __m256i low, high;
} chunk;

static inline unsigned count_bits(uint64_t word) {
  return fnabi_count_bits(word);
}

static inline __m256i load32(const void* bytes) {
  return _mm256_loadu_si256(bytes);
}

static inline chunk load(const uint8_t* bytes) {
  return (chunk){load32(bytes), load32(bytes + 32)};
}

/* The high bits of 64 bytes. */
static inline uint64_t high_bits(__m256i low, __m256i high) {
  return (uint32_t)_mm256_movemask_epi8(low) |
         (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

static inline uint64_t equal(chunk c, char byte) {
  __m256i each = _mm256_set1_epi8(byte);
  return high_bits(_mm256_cmpeq_epi8(c.low, each),
                   _mm256_cmpeq_epi8(c.high, each));
}

static inline uint64_t tags_of(chunk c) {
  return high_bits(_mm256_or_si256(c.low, _mm256_slli_epi16(c.low, 1)),
                   _mm256_or_si256(c.high, _mm256_slli_epi16(c.high, 1)));
}

/* All ones for values from 0 to 9. */
static inline __m256i are_digits(__m256i values) {
  return _mm256_cmpeq_epi8(_mm256_min_epu8(values, _mm256_set1_epi8(9)),
                           values);
}

static inline uint64_t digits_of(chunk c) {
  __m256i zero = _mm256_set1_epi8('0');
  return high_bits(are_digits(_mm256_sub_epi8(c.low, zero)),
                   are_digits(_mm256_sub_epi8(c.high, zero)));
}

static inline __m128i load16(const void* bytes) {
  return _mm_loadu_si128(bytes);
}

static inline __m128i load8(const void* bytes) {
  return _mm_loadl_epi64(bytes);
}

static inline void put_word(uint8_t* out, const uint8_t* from,
                            uint64_t places) {
  __m128i some = _mm_shuffle_epi8(load8(from), load8(&places));
  _mm_storel_epi64((__m128i*)(void*)out, some);
}

static inline void put_sums(uint16_t* out, uint16_t base, uint64_t bytes) {
  __m128i wide = _mm_cvtepu8_epi16(load8(&bytes));
  _mm_storeu_si128((__m128i*)(void*)out,
                   _mm_add_epi16(wide, _mm_set1_epi16((short)base)));
}

/* Eight int16 at these indexes. */
static inline __m128i pick_shorts(__m128i from, uint64_t places) {
  __m128i low = _mm_add_epi8(load8(&places), load8(&places));
  __m128i both = _mm_unpacklo_epi8(low, _mm_add_epi8(low, _mm_set1_epi8(1)));
  return _mm_shuffle_epi8(from, both);
}

static inline __m128i shorts_at(const void* from, uint64_t places) {
  return pick_shorts(load16(from), places);
}

static inline void put_fours(uint16_t* shorts, const int16_t* fours,
                             uint64_t places) {
  _mm_storeu_si128((void*)shorts, shorts_at(fours, places));
}

static inline void put_eights(uint16_t* shorts, int32_t* numbers,
                              const int16_t* fours, const int16_t* before,
                              uint64_t places) {
  const __m128i weights = _mm_set1_epi32(1 | 10000 << 16);
  __m128i low = shorts_at(fours, places), high = shorts_at(before, places);
  __m128i more = _mm_cmpgt_epi16(high, _mm_setzero_si128());
  _mm_storeu_si128((void*)shorts, _mm_or_si128(low, _mm_srli_epi16(more, 1)));
  _mm_storeu_si128((void*)numbers,
                   _mm_madd_epi16(_mm_unpacklo_epi16(low, high), weights));
  _mm_storeu_si128((void*)(numbers + 4),
                   _mm_madd_epi16(_mm_unpackhi_epi16(low, high), weights));
}

static inline void put_wide(int64_t* out, const int32_t* from,
                            uint64_t places) {
  __m256i index = _mm256_cvtepu8_epi32(load8(&places));
  __m256i some = _mm256_permutevar8x32_epi32(load32(from), index);
  _mm256_storeu_si256((__m256i*)(void*)out,
                      _mm256_cvtepi32_epi64(_mm256_castsi256_si128(some)));
  _mm256_storeu_si256((__m256i*)(void*)(out + 4),
                      _mm256_cvtepi32_epi64(_mm256_extracti128_si256(some, 1)));
}

static inline void put_wide_fours(int64_t* out, const uint16_t* from,
                                  uint64_t places) {
  __m128i some = shorts_at(from, places);
  _mm256_storeu_si256((void*)out, _mm256_cvtepi16_epi64(some));
  _mm256_storeu_si256((void*)(out + 4),
                      _mm256_cvtepi16_epi64(_mm_srli_si128(some, 8)));
}

static inline void put_stops(uint16_t* out, const uint16_t* nexts,
                             const uint16_t* numbers, uint64_t places) {
  __m128i sum = _mm_add_epi16(load16(nexts), load16(numbers));
  sum = _mm_add_epi16(sum, _mm_set1_epi16(-1));
  _mm_storeu_si128((void*)out, pick_shorts(sum, places));
}

static inline bool same(const uint16_t* a, const uint16_t* b, size_t count) {
  const __m256i each =
      _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m256i bad = _mm256_setzero_si256();
  for (size_t i = 0; i < count; i += 16) {
    __m256i rest = _mm256_set1_epi16((short)(count - i));
    __m256i here = _mm256_cmpgt_epi16(rest, each);
    __m256i agree = _mm256_cmpeq_epi16(load32(a + i), load32(b + i));
    bad = _mm256_or_si256(bad, _mm256_andnot_si256(agree, here));
  }
  return _mm256_testz_si256(bad, bad) != 0;
}

static inline void look_up(uint8_t* out, const uint8_t* from,
                           const uint8_t* table) {
  __m128i all = _mm_or_si128(load16(table), load16(table + 16));
  all = _mm_or_si128(all, load16(table + 32));
  all = _mm_or_si128(all, load16(table + 48));
  __m256i entries = _mm256_broadcastsi128_si256(all);
  for (int i = 0; i < 64; i += 32)
    _mm256_storeu_si256((void*)(out + i),
                        _mm256_shuffle_epi8(entries, load32(from + i)));
}

/* All ones in each of 32 bytes whose bit is set. */
static inline __m256i bytes_of(uint32_t bits) {
  const __m256i spread =
      _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2,
                       2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
  const __m256i each = _mm256_set1_epi64x((long long)0x8040201008040201);
  __m256i v = _mm256_shuffle_epi8(_mm256_set1_epi32((int)bits), spread);
  return _mm256_cmpeq_epi8(_mm256_and_si256(v, each), each);
}

static inline void put_low_bytes(uint8_t* out, const uint16_t* from,
                                 uint64_t bits) {
  const __m256i low = _mm256_set1_epi16(0xFF);
  for (int i = 0; i < 64; i += 32, bits >>= 32) {
    __m256i v =
        _mm256_packus_epi16(_mm256_and_si256(load32(from + i), low),
                            _mm256_and_si256(load32(from + i + 16), low));
    v = _mm256_permute4x64_epi64(v, 0xD8);
    _mm256_storeu_si256(
        (void*)(out + i),
        _mm256_blendv_epi8(load32(out + i), v, bytes_of((uint32_t)bits)));
  }
}

static inline bool dtypes_fit(const fnabi_block* b, const uint64_t* dtypes,
                              size_t words) {
  const __m256i each =
      _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096,
                        8192, 16384, (short)0x8000);
  const __m256i most = _mm256_set1_epi16(FNABI_SCALAR_TYPE_COUNT - 1);
  const __m256i two = _mm256_set1_epi16(2), nine = _mm256_set1_epi16(9);
  __m256i bad = _mm256_setzero_si256();
  for (size_t i = 0; i < 64 * words; i += 16) {
    __m256i bits = _mm256_set1_epi16((short)(dtypes[i / 64] >> i % 64));
    __m256i some = _mm256_cmpeq_epi16(_mm256_and_si256(bits, each), each);
    __m256i number = load32(b->shorts + i);
    __m256i size =
        _mm256_sub_epi16(load32(b->places + i + 1), load32(b->places + i));
    size = _mm256_add_epi16(size, _mm256_cmpgt_epi16(number, nine));
    __m256i fits = _mm256_andnot_si256(_mm256_cmpgt_epi16(number, most),
                                       _mm256_cmpeq_epi16(size, two));
    bad = _mm256_or_si256(bad, _mm256_andnot_si256(fits, some));
  }
  return _mm256_testz_si256(bad, bad);
}

/* The digit before each byte, or 0 where the run of digits has ended. */
static inline __m256i take_digits(const uint8_t* text, __m256i* run) {
  __m256i v = _mm256_sub_epi8(load32(text - 1), _mm256_set1_epi8('0'));
  *run = _mm256_and_si256(*run, are_digits(v));
  return _mm256_and_si256(v, *run);
}

static inline __m256i take_pairs(const uint8_t* text, __m256i* run) {
  __m256i ones = take_digits(text, run), tens = take_digits(text - 1, run);
  return _mm256_add_epi8(_mm256_add_epi8(ones, _mm256_slli_epi16(tens, 3)),
                         _mm256_add_epi8(tens, tens));
}

FNABI_INLINE void take_fours(int16_t fours[2][64], const uint8_t* text,
                             int longest) {
  const __m256i weights = _mm256_set1_epi16(1 | 100 << 8);
  for (int i = 0; i < 64; i += 32) {
    __m256i run = _mm256_set1_epi8(-1);
    for (int k = 0; k < longest / 4; k++) {
      const uint8_t* at = text + i - 4 * k;
      __m256i ones = take_pairs(at, &run), hundreds = take_pairs(at - 2, &run);
      /* of bytes 0 to 7 and 16 to 23, and of the others */
      __m256i even =
          _mm256_maddubs_epi16(_mm256_unpacklo_epi8(ones, hundreds), weights);
      __m256i odd =
          _mm256_maddubs_epi16(_mm256_unpackhi_epi8(ones, hundreds), weights);
      if (k == 0) {
        __m256i minus =
            _mm256_cmpeq_epi8(load32(at - 2), _mm256_set1_epi8('-'));
        even = _mm256_or_si256(even, _mm256_unpacklo_epi8(minus, minus));
        odd = _mm256_or_si256(odd, _mm256_unpackhi_epi8(minus, minus));
      }
      __m128i* out = (void*)(fours[k] + i);
      _mm_storeu_si128(out, _mm256_castsi256_si128(even));
      _mm_storeu_si128(out + 1, _mm256_castsi256_si128(odd));
      _mm_storeu_si128(out + 2, _mm256_extracti128_si256(even, 1));
      _mm_storeu_si128(out + 3, _mm256_extracti128_si256(odd, 1));
    }
  }
}

#include "many/kernels/bits.h"
#include "many/kernels/raw.h"
const fnabi_kernel fnabi_kernel_avx2 = {decode_raw, NULL};

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
typedef int fnabi_no_avx2; /* ISO C forbids an empty file */
#endif
