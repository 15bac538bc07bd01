#include "base/message.h"

static void pack_head(fnabi_writer* w, bool string, size_t size) {
  if (size < 256)
    fnabi_pack_wide(w, string ? 0xD9 : 0xC4, size, 1);
  else
    fnabi_pack_wide(w, string ? 0xDB : 0xC6, size, 4);
}

void fnabi_pack_ascii(fnabi_writer* w, const char* text) {
  size_t size = strlen(text);
  fnabi_pack_string(w, size);
  fnabi_put(w, text, size);
}

void fnabi_pack_long_string(fnabi_writer* w, size_t size) {
  pack_head(w, true, size);
}

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

#define WIDE 32

static inline uint64_t bits_of(const char* data) {
  uint64_t words[WIDE / 8];
  memcpy(words, data, sizeof words);
  return (words[0] | words[1]) | (words[2] | words[3]);
}

/* The last words overlap those before them. */
static inline bool is_ascii(const char* data, size_t size) {
  uint64_t word, all = 0;
  if (size >= WIDE) {
    const char* last = data + size - WIDE;
    for (; data < last; data += WIDE) all |= bits_of(data);
    all |= bits_of(last);
  } else if (size >= sizeof word) {
    const char* last = data + size - sizeof word;
    for (; data < last; data += sizeof word) {
      memcpy(&word, data, sizeof word);
      all |= word;
    }
    memcpy(&word, last, sizeof word);
    all |= word;
  } else {
    for (; size > 0; data++, size--) all |= (uint8_t)*data;
  }
  return (all & UINT64_C(0x8080808080808080)) == 0;
}

bool fnabi_is_ascii(const char* data, size_t size) {
  return is_ascii(data, size);
}

/* Nearly all text is ASCII; in other text it is passed over by eight. */
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

void fnabi_pack_text(fnabi_writer* w, const char* data, size_t size) {
  if (is_ascii(data, size) || fnabi_is_utf8((const uint8_t*)data, size))
    fnabi_pack_string(w, size);
  else
    pack_head(w, false, size);
  fnabi_put(w, data, size);
}

/* Big-endian number of `bytes` bytes behind the head at r->at. */
static bool unpack_wide(fnabi_reader* r, unsigned bytes, uint64_t* value) {
  if (r->size - r->at <= bytes) return false;
  uint64_t number = 0;
  for (unsigned i = 1; i <= bytes; i++)
    number = number << 8 | r->data[r->at + i];
  *value = number;
  return true;
}

bool fnabi_unpack_array(fnabi_reader* r, size_t* count) {
  if (r->at >= r->size) return false;
  uint8_t head = r->data[r->at];
  uint64_t number = head & 0x0F;
  unsigned bytes = 0;
  if (head == 0xDC || head == 0xDD) {
    bytes = head == 0xDC ? 2 : 4;
    if (!unpack_wide(r, bytes, &number)) return false;
  } else if ((head & 0xF0) != 0x90) {
    return false;
  }
  r->at += 1 + (size_t)bytes;
  *count = (size_t)number;
  return true;
}

bool fnabi_unpack_nil(fnabi_reader* r) {
  if (r->at >= r->size || r->data[r->at] != 0xC0) return false;
  r->at++;
  return true;
}

bool fnabi_unpack_integer(fnabi_reader* r, int64_t* value, bool* fits) {
  if (r->at >= r->size) return false;
  uint8_t head = r->data[r->at];
  uint64_t number = head;
  unsigned bytes = 0;
  bool negative = false;
  if (head >= 0xE0) {
    number = (uint64_t)(int64_t)(int8_t)head;
    negative = true;
  } else if (head >= 0xCC && head <= 0xD3) {
    bytes = 1u << (head & 3);
    if (!unpack_wide(r, bytes, &number)) return false;
    if (head >= 0xD0) {
      unsigned shift = 64 - 8 * bytes; /* extends the sign */
      number = (uint64_t)((int64_t)(number << shift) >> shift);
      negative = (int64_t)number < 0;
    }
  } else if (head >= 0x80) {
    return false;
  }
  r->at += 1 + (size_t)bytes;
  *fits = negative || number <= INT64_MAX;
  *value = *fits ? (int64_t)number : INT64_MAX;
  return true;
}

bool fnabi_unpack_int(fnabi_reader* r, int64_t* value) {
  size_t at = r->at;
  bool fits;
  if (fnabi_unpack_integer(r, value, &fits) && fits) return true;
  r->at = at;
  return false;
}

bool fnabi_unpack_text(fnabi_reader* r, const char** data, size_t* size) {
  if (r->at >= r->size) return false;
  uint8_t head = r->data[r->at];
  uint64_t number = head & 0x1F;
  unsigned bytes = 0;
  if ((head >= 0xD9 && head <= 0xDB) || (head >= 0xC4 && head <= 0xC6)) {
    bytes = 1u << (head >= 0xD9 ? head - 0xD9 : head - 0xC4);
    if (!unpack_wide(r, bytes, &number)) return false;
  } else if ((head & 0xE0) != 0xA0) {
    return false;
  }
  size_t start = r->at + 1 + bytes;
  if (number > r->size - start) return false;
  r->at = start + (size_t)number;
  *data = (const char*)r->data + start;
  *size = (size_t)number;
  return true;
}

bool fnabi_unpack_skip(fnabi_reader* r) {
  for (size_t left = 1; left > 0; left--) {
    size_t count, size;
    int64_t number;
    const char* text;
    if (fnabi_unpack_array(r, &count))
      left += count;
    else if (!fnabi_unpack_nil(r) && !fnabi_unpack_int(r, &number) &&
             !fnabi_unpack_text(r, &text, &size))
      return false;
  }
  return true;
}
