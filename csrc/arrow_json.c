/* Arrow data as lines of JSON. */
#include "arrow.h"
#include "error.h"

/* A column and its children; `null` where all is null. */
typedef struct column {
  const struct ArrowSchema* schema;
  const struct ArrowArray* array;
} column;

static bool is_valid(const struct ArrowArray* array, size_t i) {
  const uint8_t* bits = array->n_buffers > 0 ? array->buffers[0] : NULL;
  return bits == NULL || (bits[i / 8] >> i % 8 & 1) != 0;
}

static void put_ascii(fnabi_writer* w, const char* text) {
  fnabi_put(w, text, strlen(text));
}

static void put_number(fnabi_writer* w, int64_t number) {
  char digits[20];
  size_t at = sizeof digits;
  uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  do {
    digits[--at] = (char)('0' + left % 10);
    left /= 10;
  } while (left != 0);
  if (number < 0) digits[--at] = '-';
  fnabi_put(w, digits + at, sizeof digits - at);
}

static const char hex[] = "0123456789abcdef";

/* UTF-8 between quotes: what must be escaped is. */
static void put_text(fnabi_writer* w, const uint8_t* text, size_t size) {
  size_t from = 0;
  fnabi_put_byte(w, '"');
  for (size_t i = 0; i < size; i++) {
    if (text[i] >= 0x20 && text[i] != '"' && text[i] != '\\') continue;
    fnabi_put(w, text + from, i - from);
    from = i + 1;
    char escape[6] = {
        '\\', 'u', '0', '0', hex[text[i] >> 4], hex[text[i] & 15]};
    if (text[i] < 0x20) {
      fnabi_put(w, escape, sizeof escape);
    } else {
      escape[1] = (char)text[i];
      fnabi_put(w, escape, 2);
    }
  }
  fnabi_put(w, text + from, size - from);
  fnabi_put_byte(w, '"');
}

static void put_hex(fnabi_writer* w, const uint8_t* bytes, size_t size) {
  fnabi_put_byte(w, '"');
  for (size_t i = 0; i < size; i++) {
    char pair[2] = {hex[bytes[i] >> 4], hex[bytes[i] & 15]};
    fnabi_put(w, pair, 2);
  }
  fnabi_put_byte(w, '"');
}

static int64_t number_at(char format, const void* data, size_t i) {
  switch (format) {
    case 'c':
      return ((const int8_t*)data)[i];
    case 'C':
      return ((const uint8_t*)data)[i];
    case 'i':
      return ((const int32_t*)data)[i];
    default:
      return ((const int64_t*)data)[i];
  }
}

/* The element i of an array. Schemas nest as fnabi made them; false for a
 * format that it does not make. */
static bool put_value(fnabi_writer* w, column c, size_t i) {
  const struct ArrowArray* a = c.array;
  i += (size_t)a->offset;
  if (!is_valid(a, i)) {
    put_ascii(w, "null");
    return true;
  }
  const char* format = c.schema->format;
  if (c.schema->dictionary != NULL) {
    column values = {c.schema->dictionary, a->dictionary};
    return put_value(w, values, (size_t)number_at(*format, a->buffers[1], i));
  }
  switch (*format) {
    case 'c':
    case 'C':
    case 'i':
    case 'l':
      put_number(w, number_at(*format, a->buffers[1], i));
      return true;
    case 'u':
    case 'z': {
      const int32_t* offsets = a->buffers[1];
      const uint8_t* text = (const uint8_t*)a->buffers[2] + offsets[i];
      (*format == 'u' ? put_text : put_hex)(
          w, text, (size_t)(offsets[i + 1] - offsets[i]));
      return true;
    }
    default:
      break;
  }
  if (fnabi_arrow_is(format, "+l")) {
    const int32_t* offsets = a->buffers[1];
    column items = {c.schema->children[0], a->children[0]};
    fnabi_put_byte(w, '[');
    for (int32_t k = offsets[i]; k < offsets[i + 1]; k++) {
      if (k != offsets[i]) fnabi_put_byte(w, ',');
      if (!put_value(w, items, (size_t)k)) return false;
    }
    fnabi_put_byte(w, ']');
    return true;
  }
  if (!fnabi_arrow_is(format, "+s")) return false;
  for (int64_t k = 0; k < c.schema->n_children; k++) {
    column child = {c.schema->children[k], a->children[k]};
    fnabi_put(w, k == 0 ? "{\"" : ",\"", 2);
    put_ascii(w, child.schema->name);
    fnabi_put(w, "\":", 2);
    if (!put_value(w, child, i)) return false;
  }
  fnabi_put_byte(w, '}');
  return true;
}

int64_t fnabi_arrow_json(const struct ArrowSchema* schema,
                         const struct ArrowArray* array, size_t first,
                         size_t count, uint8_t* out, size_t capacity,
                         fnabi_error* error) {
  fnabi_writer w = {out, capacity, 0};
  column rows = {schema, array};
  for (size_t i = first; i < first + count; i++) {
    if (!put_value(&w, rows, i))
      return fnabi_fail(error, FNABI_UNSUPPORTED, 0, "Arrow data of fnabi");
    fnabi_put_byte(&w, '\n');
  }
  return (int64_t)w.size;
}
