/* Reading and writing the components of a signature. */
#include "abi/signature.h"

#include "base/decimal.h"
#include "base/error.h"

static bool is_integer_tag(int32_t tag) {
  return tag == '_' || (tag >= 'a' && tag <= 'z');
}

static bool is_span_tag(int32_t tag) { return tag >= 'A' && tag <= 'Z'; }

typedef struct number {
  int32_t value; /* saturated */
  bool digits, fits;
} number;

/* '-'? [0-9]+ from *at on. Stops where the value leaves int32: other digits do
 * not matter then. */
static number read_number(const char* data, size_t size, size_t* at) {
  number n = {0, false, true};
  size_t i = *at;
  bool negative = i < size && data[i] == '-';
  if (negative) i++;
  int64_t value = 0;
  int64_t limit = negative ? -(int64_t)INT32_MIN : INT32_MAX;
  for (; i < size; i++) {
    unsigned digit = (unsigned)(unsigned char)data[i] - '0';
    if (digit > 9) break;
    n.digits = true;
    value = value * 10 + (int64_t)digit;
    if (value > limit) {
      value = limit;
      n.fits = false;
      break;
    }
  }
  n.value = (int32_t)(negative ? -value : value);
  *at = i;
  return n;
}

void fnabi_signature_read(const char* data, size_t size, size_t offset,
                          fnabi_component* c) {
  c->ival = 0;
  c->code = FNABI_OK;
  c->offset = c->begin = c->end = offset;
  if (offset >= size) {
    c->type = FNABI_COMPONENT_END;
    c->tag = 0;
    return;
  }
  c->tag = (unsigned char)data[offset];
  c->begin = offset + 1;
  size_t at = offset + 1;
  number n = read_number(data, size, &at);
  c->ival = n.value;
  c->end = at;

  c->type = FNABI_COMPONENT_ERROR;
  bool span = is_span_tag(c->tag);
  if (!span && !is_integer_tag(c->tag)) {
    c->code = FNABI_TAG;
    c->end = offset;
  } else if (!n.digits) {
    c->code = FNABI_INTEGER;
  } else if (!n.fits) {
    c->code = FNABI_INT32;
    c->end = c->begin;
  } else if (!span) {
    c->type = FNABI_COMPONENT_INTEGER;
  } else if (n.value < 1) {
    c->code = FNABI_LENGTH;
    c->end = c->begin;
  } else if (at >= size || data[at] != '!') {
    c->code = FNABI_SPAN_MARK;
  } else if ((size_t)n.value > size - at) {
    c->code = FNABI_SPAN_END;
    c->end = c->begin;
  } else {
    c->type = FNABI_COMPONENT_SPAN;
    c->ival = n.value - 1;
    c->begin = at + 1;
    c->end = at + (size_t)n.value;
  }
}

static bool read_side(const char* data, size_t size, size_t at, int32_t tag,
                      int32_t missing, fnabi_component* side,
                      fnabi_error* error) {
  fnabi_signature_read(data, size, at, side);
  if (side->tag != tag)
    fnabi_fail(error, missing, side->offset, tag == 'I' ? "'I'" : "'R'");
  else if (side->type == FNABI_COMPONENT_ERROR)
    fnabi_fail(error, side->code, side->end, NULL);
  else
    return true;
  return false;
}

bool fnabi_write_sides(const char* data, size_t size, int32_t no_inputs,
                       int32_t no_results, fnabi_side_writer* write,
                       fnabi_writer* w, fnabi_error* error) {
  size_t at = 0;
  fnabi_pack_array(w, 2);
  for (int i = 0; i < 2; i++) {
    fnabi_component side;
    if (!read_side(data, size, at, "IR"[i], i == 0 ? no_inputs : no_results,
                   &side, error))
      return false;
    if (!write(data, &side, w, error)) {
      fnabi_path_field(error, i == 0 ? "inputs" : "results");
      return false;
    }
    at = (size_t)side.end;
  }
  if (at == size) return true;
  fnabi_fail(error, FNABI_UNEXPECTED, at, "the end");
  return false;
}

bool fnabi_signature_seek(const char* data, size_t size, size_t offset,
                          int32_t tag, fnabi_component* c) {
  for (;; offset = (size_t)c->end) {
    fnabi_signature_read(data, size, offset, c);
    if (c->type == FNABI_COMPONENT_END || c->type == FNABI_COMPONENT_ERROR)
      return false;
    if (c->tag == tag) return true;
  }
}

void fnabi_put_integer(fnabi_writer* w, char tag, int64_t value) {
  if (value >= 0 && value <= 9) { /* as most codes, lengths and indices */
    fnabi_put_byte(w, (uint8_t)tag);
    fnabi_put_byte(w, (uint8_t)('0' + value));
    return;
  }
  uint8_t text[FNABI_DECIMAL_CAPACITY + 1], *end = text + sizeof text;
  uint8_t* begin = fnabi_decimal_signed(end, value);
  *--begin = (uint8_t)tag;
  fnabi_put(w, begin, (size_t)(end - begin));
}

bool fnabi_span_close(fnabi_writer* w, size_t place) {
  size_t contents = w->size - place;
  if (contents >= INT32_MAX) return false;
  uint8_t text[FNABI_DECIMAL_CAPACITY + 1], *end = text + sizeof text - 1;
  const uint8_t* begin = fnabi_decimal(end, contents + 1);
  *end = '!';
  size_t head = (size_t)(end + 1 - begin);
  w->size += head;
  if (w->size <= w->capacity) {
    memmove(w->out + place + head, w->out + place, contents);
    memcpy(w->out + place, begin, head);
  }
  return true;
}

int64_t fnabi_signature_integer(int32_t value, int32_t tag, uint8_t* out,
                                size_t capacity, fnabi_error* error) {
  if (!is_integer_tag(tag))
    return fnabi_fail(error, FNABI_TAG, 0, "'_' or 'a' to 'z'");
  fnabi_writer w = {out, capacity, 0};
  fnabi_put_integer(&w, (char)tag, value);
  return (int64_t)w.size;
}

int64_t fnabi_signature_span(const char* data, size_t size, int32_t tag,
                             uint8_t* out, size_t capacity,
                             fnabi_error* error) {
  if (!is_span_tag(tag)) return fnabi_fail(error, FNABI_TAG, 0, "'A' to 'Z'");
  if (size >= INT32_MAX)
    return fnabi_fail(error, FNABI_INT32, 0, "less than 2147483647 bytes");
  fnabi_writer w = {out, capacity, 0};
  fnabi_put_integer(&w, (char)tag, (int64_t)size + 1);
  fnabi_put_byte(&w, '!');
  fnabi_put(&w, data, size);
  return (int64_t)w.size;
}
