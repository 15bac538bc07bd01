/* Writing and reading the MessagePack of messages. */
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

void fnabi_pack_text(fnabi_writer* w, const char* data, size_t size) {
  if (fnabi_is_ascii(data, size) || fnabi_is_utf8((const uint8_t*)data, size))
    fnabi_pack_string(w, size);
  else
    pack_head(w, false, size);
  fnabi_put(w, data, size);
}

/* The big-endian number of `bytes` bytes after the head at r->at. */
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

bool fnabi_unpack_bool(fnabi_reader* r, bool* value) {
  if (r->at >= r->size || (r->data[r->at] & 0xFE) != 0xC2) return false;
  *value = (r->data[r->at++] & 1) != 0;
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

size_t fnabi_read_array(fnabi_reader* r) {
  size_t count = 0;
  fnabi_unpack_array(r, &count);
  return count;
}

int64_t fnabi_read_int(fnabi_reader* r) {
  int64_t number = 0;
  fnabi_unpack_int(r, &number);
  return number;
}

fnabi_text fnabi_read_text(fnabi_reader* r) {
  fnabi_text text = {NULL, 0};
  if (!fnabi_unpack_nil(r)) fnabi_unpack_text(r, &text.data, &text.size);
  return text;
}

void fnabi_read_past(fnabi_reader* r, size_t values) {
  for (; values > 0; values--) fnabi_unpack_skip(r);
}
