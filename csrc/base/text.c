/* What the bytes of a text are: ASCII, UTF-8. */
#include "base/text.h"

size_t fnabi_utf8_size(const uint8_t* s, size_t n) {
  uint8_t lead = s[0];
  if (lead < 0x80) return 1;
  size_t more = lead >= 0xC2 && lead <= 0xDF   ? 1
                : (lead & 0xF0) == 0xE0        ? 2
                : lead >= 0xF0 && lead <= 0xF4 ? 3
                                               : 0;
  if (more == 0 || n <= more) return 0;
  uint8_t low = 0x80, high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  if (s[1] < low || s[1] > high) return 0;
  for (size_t k = 2; k <= more; k++)
    if ((s[k] & 0xC0) != 0x80) return 0;
  return more + 1;
}

/* Nearly all text is ASCII. In other text, eight ASCII bytes are skipped at
 * once. */
bool fnabi_is_utf8(const uint8_t* s, size_t n) {
  if (fnabi_is_ascii((const char*)s, n)) return true;
  size_t i = 0;
  while (i < n) {
    uint64_t word;
    if (n - i >= 8) {
      memcpy(&word, s + i, 8);
      if ((word & UINT64_C(0x8080808080808080)) == 0) {
        i += 8;
        continue;
      }
    }
    size_t size = fnabi_utf8_size(s + i, n - i);
    if (size == 0) return false;
    i += size;
  }
  return true;
}
