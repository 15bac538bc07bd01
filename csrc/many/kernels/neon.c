/* The kernel for 64-bit Arm processors: 64 bytes are four registers. A raw text
 * of 64 bytes takes 1,690 instructions, one of the scalar decoder 1,800: to
 * compare 64 bytes and join the bits takes thirteen. */
#include "many/kernels/block.h"

#if defined(FNABI_NEON)
#include <arm_neon.h>

typedef struct chunk {
  uint8x16_t part[4];
} chunk;

static inline unsigned count_bits(uint64_t word) {
  return fnabi_count_bits(word);
}

static inline chunk load(const uint8_t* bytes) {
  return (chunk){{vld1q_u8(bytes), vld1q_u8(bytes + 16), vld1q_u8(bytes + 32),
                  vld1q_u8(bytes + 48)}};
}

/* The bit of each byte of eight. */
static const uint8_t each_bit[16] = {1, 2, 4, 8, 16, 32, 64, 128,
                                     1, 2, 4, 8, 16, 32, 64, 128};

/* A bit for each byte, all of whose bits are set or none: each byte keeps the bit
 * of its index modulo 8, and eight bytes at a time are added up. */
static inline uint64_t bits_of(const uint8x16_t part[4]) {
  uint8x16_t each = vld1q_u8(each_bit);
  uint8x16_t low = vpaddq_u8(vandq_u8(part[0], each), vandq_u8(part[1], each));
  uint8x16_t high = vpaddq_u8(vandq_u8(part[2], each), vandq_u8(part[3], each));
  low = vpaddq_u8(low, high);
  return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(low, low)), 0);
}

#define BITS_WHERE(c, v, condition) \
  uint8x16_t found[4];              \
  for (int i = 0; i < 4; i++) {     \
    uint8x16_t v = (c).part[i];     \
    found[i] = condition;           \
  }                                 \
  return bits_of(found)

static inline uint64_t equal(chunk c, char byte) {
  BITS_WHERE(c, v, vceqq_u8(v, vdupq_n_u8((uint8_t)byte)));
}

static inline uint64_t tags_of(chunk c) {
  BITS_WHERE(c, v, vcgeq_u8(v, vdupq_n_u8(0x40)));
}

static inline uint8x16_t are_digits(uint8x16_t values) {
  return vcleq_u8(values, vdupq_n_u8(9));
}

static inline uint64_t digits_of(chunk c) {
  BITS_WHERE(c, v, are_digits(vsubq_u8(v, vdupq_n_u8('0'))));
}

static inline void put_word(uint8_t* out, const uint8_t* from,
                            uint64_t places) {
  vst1_u8(out, vtbl1_u8(vld1_u8(from), vcreate_u8(places)));
}

static inline void put_sums(uint16_t* out, uint16_t base, uint64_t bytes) {
  vst1q_u16(out, vaddw_u8(vdupq_n_u16(base), vcreate_u8(bytes)));
}

/* Eight int16 at these indexes. */
static inline uint8x16_t pick_shorts(uint8x16_t from, uint64_t places) {
  uint8x8_t low = vshl_n_u8(vcreate_u8(places), 1);
  uint8x8x2_t both = vzip_u8(low, vadd_u8(low, vdup_n_u8(1)));
  return vqtbl1q_u8(from, vcombine_u8(both.val[0], both.val[1]));
}

static inline int16x8_t shorts_at(const void* from, uint64_t places) {
  return vreinterpretq_s16_u8(pick_shorts(vld1q_u8(from), places));
}

static inline void put_fours(uint16_t* shorts, const int16_t* fours,
                             uint64_t places) {
  vst1q_u16(shorts, vreinterpretq_u16_s16(shorts_at(fours, places)));
}

static inline void put_eights(uint16_t* shorts, int32_t* numbers,
                              const int16_t* fours, const int16_t* before,
                              uint64_t places) {
  int16x8_t low = shorts_at(fours, places), high = shorts_at(before, places);
  uint16x8_t more = vcgtq_s16(high, vdupq_n_s16(0));
  vst1q_u16(shorts,
            vorrq_u16(vreinterpretq_u16_s16(low), vshrq_n_u16(more, 1)));
  vst1q_s32(numbers, vmlal_n_s16(vmovl_s16(vget_low_s16(low)),
                                 vget_low_s16(high), 10000));
  vst1q_s32(numbers + 4, vmlal_n_s16(vmovl_s16(vget_high_s16(low)),
                                     vget_high_s16(high), 10000));
}

static inline void put_wide(int64_t* out, const int32_t* from,
                            uint64_t places) {
  uint8_t at[8];
  memcpy(at, &places, sizeof at);
  for (int i = 0; i < 8; i++) out[i] = from[at[i]];
}

static inline void put_wide_fours(int64_t* out, const uint16_t* from,
                                  uint64_t places) {
  int16x8_t some = shorts_at(from, places);
  int32x4_t low = vmovl_s16(vget_low_s16(some));
  int32x4_t high = vmovl_s16(vget_high_s16(some));
  vst1q_s64(out, vmovl_s32(vget_low_s32(low)));
  vst1q_s64(out + 2, vmovl_s32(vget_high_s32(low)));
  vst1q_s64(out + 4, vmovl_s32(vget_low_s32(high)));
  vst1q_s64(out + 6, vmovl_s32(vget_high_s32(high)));
}

static inline void put_stops(uint16_t* out, const uint16_t* nexts,
                             const uint16_t* numbers, uint64_t places) {
  uint16x8_t sum = vaddq_u16(vld1q_u16(nexts), vld1q_u16(numbers));
  uint8x16_t stop = vreinterpretq_u8_u16(vsubq_u16(sum, vdupq_n_u16(1)));
  vst1q_u8((void*)out, pick_shorts(stop, places));
}

/* All ones in each of eight int16 before the end. */
static inline uint16x8_t before_end(size_t count) {
  static const uint16_t each[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  return vcltq_u16(vld1q_u16(each), vdupq_n_u16((uint16_t)count));
}

static inline bool same(const uint16_t* a, const uint16_t* b, size_t count) {
  uint16x8_t bad = vdupq_n_u16(0);
  for (size_t i = 0; i < count; i += 8) {
    uint16x8_t differ = veorq_u16(vld1q_u16(a + i), vld1q_u16(b + i));
    bad = vorrq_u16(bad, vandq_u16(differ, before_end(count - i)));
  }
  return vmaxvq_u16(bad) == 0;
}

static inline void look_up(uint8_t* out, const uint8_t* from,
                           const uint8_t* table) {
  uint8x16_t entries =
      vorrq_u8(vorrq_u8(vld1q_u8(table), vld1q_u8(table + 16)),
               vorrq_u8(vld1q_u8(table + 32), vld1q_u8(table + 48)));
  for (int i = 0; i < 64; i += 16) {
    uint8x16_t low = vandq_u8(vld1q_u8(from + i), vdupq_n_u8(15));
    vst1q_u8(out + i, vqtbl1q_u8(entries, low));
  }
}

static inline void put_low_bytes(uint8_t* out, const uint16_t* from,
                                 uint64_t word) {
  for (int i = 0; i < 64; i += 8) {
    uint8x8_t bits = vdup_n_u8((uint8_t)(word >> i));
    uint8x8_t some = vtst_u8(bits, vld1_u8(each_bit));
    uint8x8_t low = vmovn_u16(vld1q_u16(from + i));
    vst1_u8(out + i, vbsl_u8(some, low, vld1_u8(out + i)));
  }
}

static inline bool dtypes_fit(const fnabi_block* b, const uint64_t* dtypes,
                              size_t words) {
  uint16x8_t bad = vdupq_n_u16(0);
  for (size_t i = 0; i < 64 * words; i += 8) {
    uint8x8_t bits = vdup_n_u8((uint8_t)(dtypes[i / 64] >> i % 64));
    uint8x8_t some = vtst_u8(bits, vld1_u8(each_bit));
    uint16x8_t number = vld1q_u16(b->shorts + i);
    uint16x8_t size =
        vsubq_u16(vld1q_u16(b->places + i + 1), vld1q_u16(b->places + i));
    size = vaddq_u16(size, vcgtq_u16(number, vdupq_n_u16(9))); /* less 1 */
    uint16x8_t wrong =
        vorrq_u16(vcgeq_u16(number, vdupq_n_u16(FNABI_SCALAR_TYPE_COUNT)),
                  veorq_u16(size, vdupq_n_u16(2)));
    uint16x8_t here = vreinterpretq_u16_s16(vmovl_s8(vreinterpret_s8_u8(some)));
    bad = vorrq_u16(bad, vandq_u16(wrong, here));
  }
  return vmaxvq_u16(bad) == 0;
}

/* The digit before each byte, or 0 where the run of digits has ended. */
static inline uint8x16_t take_digits(const uint8_t* text, uint8x16_t* run) {
  uint8x16_t v = vsubq_u8(vld1q_u8(text - 1), vdupq_n_u8('0'));
  *run = vandq_u8(*run, are_digits(v));
  return vandq_u8(v, *run);
}

static inline uint8x16_t take_pairs(const uint8_t* text, uint8x16_t* run) {
  uint8x16_t ones = take_digits(text, run), tens = take_digits(text - 1, run);
  return vmlaq_u8(ones, tens, vdupq_n_u8(10));
}

FNABI_INLINE void take_fours(int16_t fours[2][64], const uint8_t* text,
                             int longest) {
  for (int i = 0; i < 64; i += 16) {
    uint8x16_t run = vdupq_n_u8(0xFF);
    for (int k = 0; k < longest / 4; k++) {
      const uint8_t* at = text + i - 4 * k;
      uint8x16_t ones = take_pairs(at, &run);
      uint8x16_t hundreds = take_pairs(at - 2, &run);
      uint8x16_t minus = vceqq_u8(vld1q_u8(at - 2), vdupq_n_u8('-'));
      if (k != 0) minus = vdupq_n_u8(0);
      for (int j = 0; j < 2; j++) {
        uint8x8_t low = j == 0 ? vget_low_u8(ones) : vget_high_u8(ones);
        uint8x8_t high =
            j == 0 ? vget_low_u8(hundreds) : vget_high_u8(hundreds);
        uint8x8_t sign = j == 0 ? vget_low_u8(minus) : vget_high_u8(minus);
        uint16x8_t sum = vmlal_u8(vmovl_u8(low), high, vdup_n_u8(100));
        int16x8_t signs = vmovl_s8(vreinterpret_s8_u8(sign));
        vst1q_s16(fours[k] + i + 8 * j,
                  vorrq_s16(vreinterpretq_s16_u16(sum), signs));
      }
    }
  }
}

#include "many/kernels/bits.h"
#include "many/kernels/raw.h"
const fnabi_kernel fnabi_kernel_neon = {decode_raw, NULL};
#else
typedef int fnabi_no_neon; /* ISO C forbids an empty file */
#endif
