/* Rows of Arrow data as lines of JSON. */
#include "base/decimal.h"
#include "base/error.h"
#include "base/poll.h"
#include "many/arrow.h"

/* How the values of a column are written, followed by the plans of its
 * children: everything that is the same for all rows is looked up once. */
typedef struct plan {
  const uint8_t* validity; /* NULL: all are valid */
  const void* data;        /* numbers, offsets */
  const uint8_t* text;
  size_t offset;
  char format;     /* of Arrow; 'L' for lists, 'S' for structs */
  bool dictionary; /* the next plan is that of the values */
  uint8_t head_size;
  size_t size;   /* the number of plans, this one and its children's */
  char head[32]; /* the JSON before a field of a struct */
} plan;

/* More than any export of fnabi has. */
enum { PLANS = 64 };

/* Makes the plans of a column. Returns false for a column of a type that fnabi
 * does not export. The number of plans limits how deep schemas nest. */
static bool make_plan(const struct ArrowSchema* schema,
                      const struct ArrowArray* array, plan** next,
                      const plan* end) {
  plan* p = (*next)++;
  if (p == end) return false;
  const char* format = schema->format;
  bool list = fnabi_arrow_is(format, "+l");
  bool row = fnabi_arrow_is(format, "+s");
  bool plain = *format != 0 && format[1] == 0 && strchr("bcCiluz", *format);
  if (!list && !row && !plain) return false;
  if ((list && schema->n_children != 1) || (row && schema->n_children == 0))
    return false;
  *p = (plan){
      .validity = array->n_buffers > 0 ? array->buffers[0] : NULL,
      .data = array->n_buffers > 1 ? array->buffers[1] : NULL,
      .text = array->n_buffers > 2 ? array->buffers[2] : NULL,
      .offset = (size_t)array->offset,
      .format = list  ? 'L'
                : row ? 'S'
                      : *format,
      .dictionary = schema->dictionary != NULL,
  };
  if (p->dictionary &&
      !make_plan(schema->dictionary, array->dictionary, next, end))
    return false;
  for (int64_t i = 0; i < schema->n_children; i++) {
    plan* child = *next;
    if (!make_plan(schema->children[i], array->children[i], next, end))
      return false;
    if (list) continue;
    fnabi_writer w = {(uint8_t*)child->head, sizeof child->head, 0};
    const char* name = schema->children[i]->name;
    fnabi_put(&w, i == 0 ? "{\"" : ",\"", 2);
    fnabi_put(&w, name, strlen(name));
    fnabi_put(&w, "\":", 2);
    if (w.size > sizeof child->head) return false;
    child->head_size = (uint8_t)w.size;
  }
  p->size = (size_t)(*next - p);
  return true;
}

/* Writes `size` bytes, of which 32 may be read: a copy of a fixed size is no
 * call. */
static inline void put_short(fnabi_writer* w, const void* bytes, size_t size) {
  if (w->size <= w->capacity && w->capacity - w->size >= 32) {
    memcpy(w->out + w->size, bytes, 32);
    w->size += size;
  } else {
    fnabi_put(w, bytes, size);
  }
}

static void put_number(fnabi_writer* w, int64_t number) {
  uint8_t digits[FNABI_DECIMAL_CAPACITY + 32],
      *end = digits + FNABI_DECIMAL_CAPACITY;
  memset(end, 0, 32);
  const uint8_t* begin = fnabi_decimal_signed(end, number);
  put_short(w, begin, (size_t)(end - begin));
}

static const char hex[] = "0123456789abcdef";

static inline bool is_plain(uint8_t byte) {
  return byte >= 0x20 && byte != '"' && byte != '\\';
}

/* Writes UTF-8 between quotes, with the escapes that JSON requires. */
static void put_text(fnabi_writer* w, const uint8_t* text, size_t size) {
  size_t from = 0;
  if (size <= 16 && w->size <= w->capacity && w->capacity - w->size >= 18) {
    uint8_t* out = w->out + w->size;
    bool plain = true;
    *out++ = '"';
    for (size_t i = 0; i < size; i++) {
      plain &= is_plain(text[i]);
      out[i] = text[i];
    }
    out[size] = '"';
    w->size += plain ? size + 2 : 0;
    if (plain) return;
  }
  fnabi_put_byte(w, '"');
  for (size_t i = 0; i < size; i++) {
    if (is_plain(text[i])) continue;
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

static void put_value(fnabi_writer* w, const plan* p, size_t i) {
  i += p->offset;
  if (p->validity != NULL && (p->validity[i / 8] >> i % 8 & 1) == 0) {
    fnabi_put(w, "null", 4);
    return;
  }
  if (p->dictionary) {
    put_value(w, p + 1, (size_t)number_at(p->format, p->data, i));
    return;
  }
  const int32_t* offsets = p->data;
  switch (p->format) {
    case 'b':
      if (((const uint8_t*)p->data)[i / 8] >> i % 8 & 1)
        fnabi_put(w, "true", 4);
      else
        fnabi_put(w, "false", 5);
      break;
    case 'u':
    case 'z':
      (p->format == 'u' ? put_text : put_hex)(
          w, p->text + offsets[i], (size_t)(offsets[i + 1] - offsets[i]));
      break;
    case 'L':
      fnabi_put_byte(w, '[');
      for (int32_t k = offsets[i]; k < offsets[i + 1]; k++) {
        if (k != offsets[i]) fnabi_put_byte(w, ',');
        put_value(w, p + 1, (size_t)k);
      }
      fnabi_put_byte(w, ']');
      break;
    case 'S':
      for (const plan* child = p + 1; child < p + p->size;
           child += child->size) {
        put_short(w, child->head, child->head_size);
        put_value(w, child, i);
      }
      fnabi_put_byte(w, '}');
      break;
    default:
      put_number(w, number_at(p->format, p->data, i));
  }
}

int64_t fnabi_arrow_json(const struct ArrowSchema* schema,
                         const struct ArrowArray* array, size_t first,
                         size_t count, uint8_t* out, size_t capacity,
                         fnabi_error* error) {
  plan plans[PLANS], *next = plans;
  if (!make_plan(schema, array, &next, plans + PLANS))
    return fnabi_fail(error, FNABI_UNSUPPORTED, 0, "Arrow data of fnabi");
  fnabi_writer w = {out, capacity, 0};
  for (size_t i = first; i < first + count; i++) {
    if (fnabi_poll(16)) return fnabi_fail(error, FNABI_INTERRUPTED, i, NULL);
    put_value(&w, plans, i);
    fnabi_put_byte(&w, '\n');
  }
  return (int64_t)w.size;
}
