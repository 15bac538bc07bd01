/* decimal.h - numbers as decimal digits. Private. */
#ifndef FNABI_DECIMAL_H
#define FNABI_DECIMAL_H

#include <stdint.h>
#include <string.h>

/* The capacity for any number and the bytes overwritten before it. */
#define FNABI_DECIMAL_CAPACITY 24

/* The four digits of a number below 10000. */
static inline void fnabi_decimal_four(uint8_t* out, uint32_t number) {
  static const char pairs[] =
      "00010203040506070809101112131415161718192021222324252627282930313233"
      "34353637383940414243444546474849505152535455565758596061626364656667"
      "6869707172737475767778798081828384858687888990919293949596979899";
  memcpy(out, pairs + number / 100 * 2, 2);
  memcpy(out + 2, pairs + number % 100 * 2, 2);
}

/* Writes the digits so that they end before `end`, and returns where they
 * begin. Overwrites up to three bytes before that: the digits are counted
 * without a branch, which a processor could not predict. */
static inline uint8_t* fnabi_decimal(uint8_t* end, uint64_t number) {
  for (; number > 9999; number /= 10000, end -= 4)
    fnabi_decimal_four(end - 4, (uint32_t)(number % 10000));
  fnabi_decimal_four(end - 4, (uint32_t)number);
  return end - 1 - (number > 9) - (number > 99) - (number > 999);
}

/* The same, with a '-' before a negative number. */
static inline uint8_t* fnabi_decimal_signed(uint8_t* end, int64_t number) {
  uint64_t size = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  uint8_t* begin = fnabi_decimal(end, size) - 1;
  *begin = '-';
  return begin + (number >= 0);
}

#endif /* FNABI_DECIMAL_H */
