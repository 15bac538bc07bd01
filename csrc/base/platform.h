/* platform.h - what compilers name differently. Private.
 *
 * The only file that names a builtin or an attribute of a compiler; the kernels
 * of csrc/many/kernels are for the compilers that have their instructions.
 * GCC and Clang get macros, so that nothing is added to what they compile. For
 * MSVC, functions do the same; it needs version 19.39 or newer. */
#ifndef FNABI_PLATFORM_H
#define FNABI_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__GNUC__)

#define FNABI_INLINE static inline __attribute__((always_inline))
#define FNABI_COLD static __attribute__((noinline, cold))
#define FNABI_NO_INLINE __attribute__((noinline))
/* The compiler has to assume that the variable was changed. */
#define FNABI_OPAQUE(variable) __asm__ volatile("" : "+r"(variable))

/* The index of the lowest bit that is set; the mask is not 0. */
#define fnabi_trailing_zeros(mask) ((unsigned)__builtin_ctzll(mask))
#define fnabi_count_bits(word) ((unsigned)__builtin_popcountll(word))
#define fnabi_swap_bytes(word) __builtin_bswap64(word)

/* Whether the sum or product does not fit; it is stored if it does. */
#define fnabi_add_overflows(a, b, sum) __builtin_add_overflow(a, b, sum)
#define fnabi_mul_overflows(a, b, product) __builtin_mul_overflow(a, b, product)

/* The order is RELAXED, ACQUIRE, RELEASE or ACQ_REL. */
#define fnabi_atomic_load(from, order) __atomic_load_n(from, __ATOMIC_##order)
#define fnabi_atomic_store(to, value, order) \
  __atomic_store_n(to, value, __ATOMIC_##order)
#define fnabi_atomic_exchange(to, value, order) \
  __atomic_exchange_n(to, value, __ATOMIC_##order)
#define fnabi_atomic_add(to, value, order) \
  __atomic_fetch_add(to, value, __ATOMIC_##order)
#define fnabi_atomic_subtract(to, value, order) \
  __atomic_fetch_sub(to, value, __ATOMIC_##order)
/* Stores `value` if `to` is equal to `expected`, or else what it is there. */
#define fnabi_atomic_replace(to, expected, value)                           \
  __atomic_compare_exchange_n(to, expected, value, false, __ATOMIC_ACQ_REL, \
                              __ATOMIC_ACQUIRE)
/* The same, in a loop: it may fail without a reason, and then acquires nothing.
 */
#define fnabi_atomic_try_replace(to, expected, value)                      \
  __atomic_compare_exchange_n(to, expected, value, true, __ATOMIC_ACQ_REL, \
                              __ATOMIC_RELAXED)

#define FNABI_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

/* Whether this processor has a feature, which is a literal. */
#define fnabi_processor_has(feature) __builtin_cpu_supports(feature)

#else /* MSVC, whose processors are little-endian and have words of 64 bits */

#include <intrin.h>

#define FNABI_INLINE static __forceinline
#define FNABI_COLD static __declspec(noinline)
#define FNABI_NO_INLINE __declspec(noinline)
#define FNABI_OPAQUE(variable) ((void)(*(volatile int*)&(variable)))

static __forceinline unsigned fnabi_trailing_zeros(uint64_t mask) {
  unsigned long index = 0;
  _BitScanForward64(&index, mask);
  return index;
}

static __forceinline unsigned fnabi_count_bits(uint64_t word) {
  unsigned count = 0;
  for (; word != 0; word &= word - 1) count++;
  return count;
}

#define fnabi_swap_bytes(word) _byteswap_uint64(word)

static __forceinline bool fnabi_add_overflows(size_t a, size_t b, size_t* sum) {
  if (b > SIZE_MAX - a) return true;
  *sum = a + b;
  return false;
}

/* Neither factor is negative. */
static __forceinline bool fnabi_mul_overflows(int64_t a, int64_t b,
                                              int64_t* product) {
  if (b != 0 && a > INT64_MAX / b) return true;
  *product = a * b;
  return false;
}

/* Each of these is sequentially consistent, which is more than any order. The
 * objects have 32 or 64 bits. */
#define FNABI_ATOMIC(object, function, ...)                          \
  ((__typeof__(*(object)))(sizeof *(object) == 8                     \
                               ? (uint64_t)function##64(__VA_ARGS__) \
                               : (uint64_t)function##32(__VA_ARGS__)))

static __forceinline uint64_t fnabi_add_64(volatile void* to, uint64_t value) {
  return (uint64_t)_InterlockedExchangeAdd64((volatile __int64*)to,
                                             (__int64)value);
}

static __forceinline uint64_t fnabi_add_32(volatile void* to, uint64_t value) {
  return (uint32_t)_InterlockedExchangeAdd((volatile long*)to, (long)value);
}

static __forceinline uint64_t fnabi_exchange_64(volatile void* to,
                                                uint64_t value) {
  return (uint64_t)_InterlockedExchange64((volatile __int64*)to,
                                          (__int64)value);
}

static __forceinline uint64_t fnabi_exchange_32(volatile void* to,
                                                uint64_t value) {
  return (uint32_t)_InterlockedExchange((volatile long*)to, (long)value);
}

static __forceinline bool fnabi_replace(volatile void* to, void* expected,
                                        uint64_t value, size_t size) {
  if (size == 8) {
    __int64 was = *(__int64*)expected;
    __int64 is = _InterlockedCompareExchange64((volatile __int64*)to,
                                               (__int64)value, was);
    *(__int64*)expected = is;
    return is == was;
  }
  long was = *(long*)expected;
  long is = _InterlockedCompareExchange((volatile long*)to, (long)value, was);
  *(long*)expected = is;
  return is == was;
}

#define fnabi_atomic_load(from, order) \
  FNABI_ATOMIC(from, fnabi_add_, (volatile void*)(from), 0)
#define fnabi_atomic_store(to, value, order) \
  ((void)fnabi_atomic_exchange(to, value, order))
#define fnabi_atomic_exchange(to, value, order) \
  FNABI_ATOMIC(to, fnabi_exchange_, (volatile void*)(to), (uint64_t)(value))
#define fnabi_atomic_add(to, value, order) \
  FNABI_ATOMIC(to, fnabi_add_, (volatile void*)(to), (uint64_t)(value))
#define fnabi_atomic_subtract(to, value, order) \
  FNABI_ATOMIC(to, fnabi_add_, (volatile void*)(to), 0 - (uint64_t)(value))
#define fnabi_atomic_replace(to, expected, value) \
  fnabi_replace(to, expected, (uint64_t)(value), sizeof *(to))
#define fnabi_atomic_try_replace fnabi_atomic_replace

#define FNABI_BIG_ENDIAN 0
#define fnabi_processor_has(feature) false

#endif

/* Variables of a thread. Those that every call reads are at a fixed offset where
 * the format has such, which takes no function call. */
#if defined(_MSC_VER)
#define FNABI_THREAD __declspec(thread)
#else
#define FNABI_THREAD _Thread_local
#endif
#if defined(__ELF__)
#define FNABI_FAST_THREAD \
  __attribute__((tls_model("initial-exec"))) FNABI_THREAD
#else
#define FNABI_FAST_THREAD FNABI_THREAD
#endif

/* Whether a pointer can be of memory: systems keep the first page free, so that
 * NULL and small numbers are none. */
static inline bool fnabi_is_address(const void* pointer) {
  return (uintptr_t)pointer >= 4096;
}

/* Memory at a multiple of the alignment, a power of two; so is the size. NULL if
 * out of memory. */
#if defined(_WIN32)
#include <malloc.h>
#define fnabi_aligned_alloc(alignment, size) _aligned_malloc(size, alignment)
#define fnabi_aligned_free _aligned_free
#else
#define fnabi_aligned_alloc(alignment, size) aligned_alloc(alignment, size)
#define fnabi_aligned_free free
#endif

#endif /* FNABI_PLATFORM_H */
