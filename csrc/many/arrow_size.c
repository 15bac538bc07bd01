/* The size of the values of Arrow data: as they are stored, and when each is
 * written out. Dictionaries, runs and views let a few bytes stand for many. */
#include "many/arrow_values.h"

enum { VALUE = 8 }; /* bytes of a value besides those of its text */

/* A sum of bytes; above `most` it is most + 1, and nothing more is added. */
typedef struct sum {
  uint64_t size, most;
} sum;

/* Returns whether the sum is still at most `most`. */
static bool add(sum* s, uint64_t a, uint64_t b) {
  if (s->size > s->most) return false;
  if (a != 0 && b > (s->most - s->size) / a) {
    s->size = s->most + 1;
    return false;
  }
  s->size += a * b;
  return true;
}

/* Values `first` to first + count of an array. */
typedef struct part {
  const struct ArrowSchema* schema;
  const struct ArrowArray* array;
  uint64_t first, count;
  int depth;
} part;

static part child_of(const part* p, int64_t child, uint64_t first,
                     uint64_t count) {
  return (part){p->schema->children[child], p->array->children[child], first,
                count, p->depth + 1};
}

static part dictionary_of(const part* p, uint64_t first, uint64_t count) {
  return (part){p->schema->dictionary, p->array->dictionary, first, count,
                p->depth + 1};
}

/* Where the part begins in the buffers. */
static uint64_t start_of(const part* p) {
  return p->first + (uint64_t)p->array->offset;
}

static bool is_valid(const struct ArrowArray* array, uint64_t at) {
  const uint8_t* bits = array->null_count != 0 ? array->buffers[0] : NULL;
  return bits == NULL || (bits[at / 8] >> at % 8 & 1) != 0;
}

/* Element `at` of a buffer of offsets or sizes. */
static uint64_t offset_at(const part* p, int buffer, bool wide, uint64_t at) {
  const void* data = p->array->buffers[buffer];
  return wide ? (uint64_t)fnabi_arrow_int64(data, at)
              : (uint64_t)fnabi_arrow_int32(data, at);
}

static bool is_wide(const char* format) {
  size_t size = strlen(format);
  char letter = size > 0 ? format[size - 1] : 0;
  return letter == 'U' || letter == 'Z' || letter == 'L';
}

static bool is_letter_of(const char* letters, const char* format) {
  return format[0] != 0 && format[1] == 0 && strchr(letters, format[0]) != NULL;
}

/* Whether a nested part has the children that its kind has. What has not, or is
 * of no known kind, counts as nothing: it is refused where it is opened. */
static bool has_children(const part* p) {
  int64_t least = 1;
  switch (p->schema->format[1]) {
    case 's':
    case 'u':
      least = 0;
      break;
    case 'r':
      least = 2;
      break;
    case 'l':
    case 'L':
    case 'm':
    case 'v':
    case 'w':
      break;
    default:
      return false;
  }
  return p->schema->n_children >= least &&
         p->schema->n_children == p->array->n_children &&
         (least < 2 || is_letter_of("sil", p->schema->children[0]->format));
}

/* The same of a part with a dictionary, whose indexes are integers. */
static bool has_indexes(const part* p) {
  return p->array->dictionary != NULL &&
         is_letter_of("cCsSiIlL", p->schema->format);
}

/* Bytes of `count` texts that have offsets. */
static uint64_t text_size(const part* p, bool wide, uint64_t at,
                          uint64_t count) {
  return offset_at(p, 1, wide, at + count) - offset_at(p, 1, wide, at);
}

/* The size of an index or the end of a run, by its format. */
static uint64_t index_width(char format) {
  return format == 'c' || format == 'C'   ? 1
         : format == 's' || format == 'S' ? 2
         : format == 'i' || format == 'I' ? 4
                                          : 8;
}

/* The number at the start of a text, such as that of "w:16" after its colon. */
static uint64_t number_in(const char* digits) {
  uint64_t number = 0;
  for (; *digits >= '0' && *digits <= '9' && number <= INT32_MAX; digits++)
    number = number * 10 + (uint64_t)(*digits - '0');
  return number;
}

/* The elements of a list array that are next to each other. */
static part elements_of(const part* p) {
  uint64_t at = start_of(p);
  if (p->schema->format[1] == 'w') {
    uint64_t width = number_in(p->schema->format + 3);
    return child_of(p, 0, at * width, p->count * width);
  }
  bool wide = is_wide(p->schema->format);
  uint64_t begin = offset_at(p, 1, wide, at);
  return child_of(p, 0, begin, offset_at(p, 1, wide, at + p->count) - begin);
}

/* The end of a run, and the first run that ends after `at`. */
static uint64_t run_end(const part* p, uint64_t run) {
  const struct ArrowArray* ends = p->array->children[0];
  return (uint64_t)fnabi_arrow_number(p->schema->children[0]->format[0],
                                      ends->buffers[1],
                                      (size_t)(run + (uint64_t)ends->offset));
}

static uint64_t find_run(const part* p, uint64_t at) {
  uint64_t low = 0, high = (uint64_t)p->array->children[0]->length;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (run_end(p, middle) <= at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* -------------------------------------------------------------- written out */

static bool write_out(sum* s, const part* p);

/* One value, `times` times. */
static bool write_times(sum* s, const part* value, uint64_t times) {
  sum one = {0, s->most};
  write_out(&one, value);
  return add(s, one.size, times);
}

/* The texts of a dictionary that some indexes refer to, without their VALUE. */
static uint64_t indexed_texts(const part* p, uint64_t at, uint64_t end) {
  const struct ArrowArray* of = p->array->dictionary;
  const uint8_t* bits = p->array->null_count != 0 ? p->array->buffers[0] : NULL;
  bool wide = is_wide(p->schema->dictionary->format);
  uint64_t length = (uint64_t)of->length, first = (uint64_t)of->offset;
  const void* offsets = of->buffers[1];
  const void* indexes = p->array->buffers[1];
  uint64_t size = 0;
#define ADD(format, type)                                                     \
  case format:                                                                \
    for (; at < end; at++) {                                                  \
      uint64_t i = (uint64_t)fnabi_arrow_##type(indexes, at);                 \
      if (i >= length || (bits != NULL && (bits[at / 8] >> at % 8 & 1) == 0)) \
        continue;                                                             \
      i += first;                                                             \
      size += wide ? (uint64_t)(fnabi_arrow_int64(offsets, i + 1) -           \
                                fnabi_arrow_int64(offsets, i))                \
                   : (uint64_t)(fnabi_arrow_int32(offsets, i + 1) -           \
                                fnabi_arrow_int32(offsets, i));               \
    }                                                                         \
    break;
  switch (p->schema->format[0]) {
    ADD('c', int8)
    ADD('C', uint8)
    ADD('s', int16)
    ADD('S', uint16)
    ADD('i', int32)
    ADD('I', uint32)
    default:
      ADD('l', int64)
  }
#undef ADD
  return size;
}

static bool write_indexes(sum* s, const part* p) {
  enum { BATCH = 4096 };
  uint64_t at = start_of(p), end = at + p->count;
  if (strchr("uzUZ", *p->schema->dictionary->format) != NULL) {
    for (; at < end; at += BATCH) {
      uint64_t next = end - at < BATCH ? end : at + BATCH;
      if (!add(s, VALUE, next - at) || !add(s, 1, indexed_texts(p, at, next)))
        return false;
    }
    return true;
  }
  for (; at < end; at++) {
    if (!add(s, VALUE, 1)) return false;
    if (!is_valid(p->array, at)) continue;
    uint64_t i = (uint64_t)fnabi_arrow_number(p->schema->format[0],
                                              p->array->buffers[1], (size_t)at);
    part value = dictionary_of(p, i, 1);
    if (i < (uint64_t)p->array->dictionary->length && !write_out(s, &value))
      return false;
  }
  return true;
}

static bool write_views(sum* s, const part* p) {
  uint64_t at = start_of(p), end = at + p->count;
  for (; at < end; at++) {
    int32_t size = 0;
    if (is_valid(p->array, at))
      memcpy(&size, (const char*)p->array->buffers[1] + 16 * at, sizeof size);
    if (!add(s, VALUE + (uint64_t)size, 1)) return false;
  }
  return true;
}

static bool write_list_views(sum* s, const part* p) {
  bool wide = is_wide(p->schema->format);
  uint64_t at = start_of(p), end = at + p->count;
  for (; at < end; at++) {
    if (!add(s, VALUE, 1)) return false;
    if (!is_valid(p->array, at)) continue;
    part list =
        child_of(p, 0, offset_at(p, 1, wide, at), offset_at(p, 2, wide, at));
    if (!write_out(s, &list)) return false;
  }
  return true;
}

static bool write_runs(sum* s, const part* p) {
  uint64_t at = start_of(p), end = at + p->count;
  uint64_t runs = (uint64_t)p->array->children[0]->length;
  for (uint64_t run = find_run(p, at); at < end && run < runs; run++) {
    uint64_t next = run_end(p, run) < end ? run_end(p, run) : end;
    part value = child_of(p, 1, run, 1);
    if (!write_times(s, &value, next - at)) return false;
    at = next;
  }
  return true;
}

static bool write_union(sum* s, const part* p) {
  const char* ids = p->schema->format + strlen("+ud:");
  uint64_t at = start_of(p), end = at + p->count;
  for (; at < end; at++) {
    int8_t type = ((const int8_t*)p->array->buffers[0])[at];
    const char* id = ids;
    int64_t child = 0;
    while (child < p->schema->n_children && number_in(id) != (uint64_t)type) {
      child++;
      id += strcspn(id, ",");
      if (*id != 0) id++;
    }
    if (!add(s, VALUE, 1)) return false;
    if (child == p->schema->n_children) continue;
    part value = child_of(p, child, offset_at(p, 1, false, at), 1);
    if (!write_out(s, &value)) return false;
  }
  return true;
}

static bool write_children(sum* s, const part* p) {
  for (int64_t i = 0; i < p->schema->n_children; i++) {
    part child = child_of(p, i, start_of(p), p->count);
    if (!write_out(s, &child)) return false;
  }
  return add(s, VALUE, p->count);
}

static bool write_texts(sum* s, const part* p) {
  bool wide = is_wide(p->schema->format);
  uint64_t at = start_of(p);
  return add(s, VALUE, p->count) && add(s, 1, text_size(p, wide, at, p->count));
}

static bool write_nested(sum* s, const part* p) {
  part elements;
  switch (p->schema->format[1]) {
    case 'v':
      return write_list_views(s, p);
    case 's':
      return write_children(s, p);
    case 'u':
      return p->schema->format[2] == 'd' ? write_union(s, p)
                                         : write_children(s, p);
    case 'r':
      return write_runs(s, p);
    default: /* lists and maps */
      elements = elements_of(p);
      return add(s, VALUE, p->count) && write_out(s, &elements);
  }
}

/* Adds the size of a part when it is written out. */
static bool write_out(sum* s, const part* p) {
  if (p->count == 0) return true;
  if (p->depth > FNABI_DEPTH_MAX) return add(s, UINT64_MAX, UINT64_MAX);
  if (p->schema->dictionary != NULL)
    return !has_indexes(p) || write_indexes(s, p);
  switch (p->schema->format[0]) {
    case 'u':
    case 'z':
    case 'U':
    case 'Z':
      return write_texts(s, p);
    case 'v':
      return write_views(s, p);
    case 'w':
      return add(s, VALUE + number_in(p->schema->format + 2), p->count);
    case '+':
      return !has_children(p) || write_nested(s, p);
    default:
      return add(s, VALUE, p->count);
  }
}

/* ------------------------------------------------------------------- stored */

/* Bytes that the buffers of views have besides the views. */
static uint64_t view_bytes(const struct ArrowArray* array) {
  int64_t last = array->n_buffers - 1;
  uint64_t bytes = 0;
  for (int64_t i = 2; i < last; i++)
    bytes += (uint64_t)fnabi_arrow_int64(array->buffers[last], (size_t)i - 2);
  return bytes;
}

/* Adds the size of a part as it is stored, `weight` times; that of what others
 * may share, once. An element of numbers is counted as a bit. */
static void hold(sum* s, const part* p, uint64_t weight) {
  const char* format = p->schema->format;
  part inner;
  if (p->count == 0 || p->depth > FNABI_DEPTH_MAX) return;
  if (p->schema->dictionary != NULL) {
    if (!has_indexes(p)) return;
    inner = dictionary_of(p, 0, (uint64_t)p->array->dictionary->length);
    add(s, weight * index_width(*format), p->count);
    hold(s, &inner, 1);
    return;
  }
  bool wide = is_wide(format);
  switch (*format) {
    case 'u':
    case 'z':
    case 'U':
    case 'Z':
      add(s, weight * (wide ? 8 : 4), p->count);
      add(s, weight, text_size(p, wide, start_of(p), p->count));
      return;
    case 'v':
      add(s, weight * 16, p->count);
      add(s, 1, view_bytes(p->array));
      return;
    case 'w':
      add(s, weight * number_in(format + 2), p->count);
      return;
    case '+':
      if (!has_children(p)) return;
      break;
    case 'n': /* stores nothing */
      return;
    default:
      add(s, weight, p->count / 8);
      return;
  }
  switch (format[1]) {
    case 'v': /* several lists may have the same elements */
      add(s, weight * 2 * (wide ? 8 : 4), p->count);
      inner = child_of(p, 0, 0, (uint64_t)p->array->children[0]->length);
      hold(s, &inner, 1);
      return;
    case 'r': {
      uint64_t first = find_run(p, start_of(p)),
               last = find_run(p, start_of(p) + p->count - 1);
      uint64_t runs = (uint64_t)p->array->children[1]->length;
      if (last >= runs) return;
      add(s, weight * index_width(*p->schema->children[0]->format),
          last + 1 - first);
      inner = child_of(p, 1, first, last + 1 - first);
      hold(s, &inner, 1);
      return;
    }
    case 'u':
      add(s, weight, p->count);
      if (format[2] != 'd') break;
      add(s, weight * 4, p->count);
      for (int64_t i = 0; i < p->schema->n_children; i++) {
        inner = child_of(p, i, 0, (uint64_t)p->array->children[i]->length);
        hold(s, &inner, 1);
      }
      return;
    case 's':
      break;
    default:
      if (format[1] != 'w') add(s, weight * (wide ? 8 : 4), p->count);
      inner = elements_of(p);
      hold(s, &inner, weight);
      return;
  }
  for (int64_t i = 0; i < p->schema->n_children; i++) {
    inner = child_of(p, i, start_of(p), p->count);
    hold(s, &inner, weight);
  }
}

/* ------------------------------------------------------------------ contract */

static part whole_of(const struct ArrowSchema* schema,
                     const struct ArrowArray* array, int64_t column) {
  part p = {schema, array, 0, (uint64_t)array->length, 0};
  return column < 0 ? p : child_of(&p, column, start_of(&p), p.count);
}

int64_t fnabi_arrow_excess(const struct ArrowSchema* schema,
                           const struct ArrowArray* array, int64_t column,
                           int64_t most) {
  part p = whole_of(schema, array, column);
  sum held = {0, INT64_MAX / 2};
  hold(&held, &p, FNABI_ARROW_GROWTH);
  sum written = {0, held.size + (uint64_t)most};
  write_out(&written, &p);
  return written.size > held.size ? (int64_t)(written.size - held.size) : 0;
}
