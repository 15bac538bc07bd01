/* Exported Arrow data in the types that a consumer requests: the same values in
 * another layout. An array is changed in place, and must be one that fnabi has
 * exported, which begins at offset 0. */
#include <stdlib.h>

#include "base/error.h"
#include "many/arrow_values.h"

/* --------------------------------------------------------------------- types */

typedef enum type_class {
  NUMBERS,
  TEXTS,
  LISTS,
  STRUCTS,
  BOOLS,
  NO_CLASS /* what fnabi has no values for */
} type_class;

/* What a format means. Formats are static texts of one letter for the layout. */
typedef struct type {
  type_class class;
  const char* format; /* NULL: a layout that fnabi does not make */
  uint8_t width;      /* of numbers, offsets and sizes, in bytes */
  bool is_signed, view, binary;
} type;

static type type_of(const char* format) {
  static const type types[] = {
      {NUMBERS, "c", 1, true, false, false},
      {NUMBERS, "C", 1, false, false, false},
      {NUMBERS, "s", 2, true, false, false},
      {NUMBERS, "S", 2, false, false, false},
      {NUMBERS, "i", 4, true, false, false},
      {NUMBERS, "I", 4, false, false, false},
      {NUMBERS, "l", 8, true, false, false},
      {NUMBERS, "L", 8, false, false, false},
      {TEXTS, "u", 4, true, false, false},
      {TEXTS, "z", 4, true, false, true},
      {TEXTS, "U", 8, true, false, false},
      {TEXTS, "Z", 8, true, false, true},
      {TEXTS, "vu", 4, true, true, false},
      {TEXTS, "vz", 4, true, true, true},
      {LISTS, "+l", 4, true, false, false},
      {LISTS, "+L", 8, true, false, false},
      {LISTS, "+vl", 4, true, true, false},
      {LISTS, "+vL", 8, true, true, false},
      {STRUCTS, "+s", 0, false, false, false},
      {BOOLS, "b", 0, false, false, false},
  };
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (fnabi_arrow_is(format, types[i].format)) return types[i];
  type other = {.class = NO_CLASS};
  if (format[0] == 'e' || format[0] == 'f' || format[0] == 'g' ||
      format[0] == 'd')
    other.class = NUMBERS;
  else if (format[0] == 'w')
    other.class = TEXTS;
  else if (format[0] == '+' && format[1] == 'w')
    other.class = LISTS;
  return other;
}

/* The schema of the values: without dictionaries and runs. */
static const struct ArrowSchema* plain_schema(const struct ArrowSchema* s) {
  for (;;) {
    if (s->dictionary != NULL)
      s = s->dictionary;
    else if (fnabi_arrow_is(s->format, "+r") && s->n_children == 2)
      s = s->children[1];
    else
      return s;
  }
}

/* Whether every number of one type is one of another. */
static bool includes(type to, type from) {
  return to.is_signed == from.is_signed ? to.width >= from.width
                                        : to.is_signed && to.width > from.width;
}

static fnabi_arrow_fit least(fnabi_arrow_fit a, fnabi_arrow_fit b) {
  return a < b ? a : b;
}

static fnabi_arrow_fit fit_numbers(const char* from, const char* to) {
  type a = type_of(from), b = type_of(to);
  if (b.format == NULL) return FNABI_ARROW_NEVER;
  return includes(b, a) ? FNABI_ARROW_ALWAYS : FNABI_ARROW_SOME;
}

static fnabi_arrow_fit fit_texts(const char* from, const char* to) {
  type a = type_of(from), b = type_of(to);
  if (b.format == NULL || (a.binary && !b.binary) || b.width < a.width)
    return FNABI_ARROW_NEVER;
  return FNABI_ARROW_ALWAYS;
}

static int64_t refuse(fnabi_error* error, const char* expected) {
  return fnabi_fail(error, FNABI_UNSUPPORTED, 0, expected);
}

static fnabi_arrow_fit fit_values(const struct ArrowSchema* schema,
                                  const struct ArrowSchema* requested, type a) {
  const struct ArrowSchema *from = plain_schema(schema),
                           *to = plain_schema(requested);
  fnabi_arrow_fit all =
      (a.class == NUMBERS ? fit_numbers : fit_texts)(from->format, to->format);
  if (requested == to) return all;
  /* only what is a dictionary can be given as one, and nothing as runs */
  if (schema->dictionary == NULL || requested->dictionary != to)
    return FNABI_ARROW_NEVER;
  return least(all, fit_numbers(schema->format, requested->format));
}

static int64_t fit(const struct ArrowSchema* schema,
                   const struct ArrowSchema* requested, fnabi_error* error) {
  static const char* const classes[] = {"numbers", "strings", "a list",
                                        "a struct", "booleans"};
  const struct ArrowSchema* to = plain_schema(requested);
  type a = type_of(plain_schema(schema)->format), b = type_of(to->format);
  if (a.class != b.class || a.class == NO_CLASS)
    return refuse(error,
                  a.class == NO_CLASS ? "data of fnabi" : classes[a.class]);
  if (a.class == NUMBERS || a.class == TEXTS)
    return fit_values(schema, requested, a);
  if (schema->n_children != to->n_children)
    return refuse(error, "as many fields");
  fnabi_arrow_fit all = b.format == NULL || to != requested || b.width < a.width
                            ? FNABI_ARROW_NEVER
                            : FNABI_ARROW_ALWAYS;
  for (int64_t i = 0; i < schema->n_children; i++) {
    const struct ArrowSchema *child = schema->children[i],
                             *wanted = to->children[i];
    bool same = a.class == LISTS || (wanted->name != NULL &&
                                     strcmp(child->name, wanted->name) == 0);
    int64_t found = same ? fit(child, wanted, error)
                         : refuse(error, "a field of this name");
    if (found < 0) {
      fnabi_path_field(error, child->name);
      fnabi_path_field(error, ".");
      return -1;
    }
    all = least(all, (fnabi_arrow_fit)found);
  }
  return all;
}

int64_t fnabi_arrow_fits(const struct ArrowSchema* schema,
                         const struct ArrowSchema* requested,
                         fnabi_error* error) {
  return fit(schema, requested, error);
}

/* ------------------------------------------------------------------- schemas */

static void drop_dictionary(struct ArrowSchema* schema) {
  if (schema->dictionary->release != NULL)
    schema->dictionary->release(schema->dictionary);
  free(schema->dictionary);
  schema->dictionary = NULL;
}

void fnabi_arrow_cast_schema(struct ArrowSchema* schema,
                             const struct ArrowSchema* requested) {
  if (schema->dictionary != NULL && requested->dictionary == NULL)
    drop_dictionary(schema);
  schema->format = type_of(requested->format).format;
  if (schema->dictionary != NULL)
    fnabi_arrow_cast_schema(schema->dictionary, requested->dictionary);
  for (int64_t i = 0; i < schema->n_children; i++)
    fnabi_arrow_cast_schema(schema->children[i], requested->children[i]);
}

void fnabi_arrow_plain_schema(struct ArrowSchema* schema) {
  if (schema->dictionary != NULL) {
    schema->format = type_of(schema->dictionary->format).format;
    drop_dictionary(schema);
  }
  type t = type_of(schema->format);
  if (t.class == NUMBERS && !t.is_signed && t.width < 8)
    schema->format = t.width == 1 ? "s" : t.width == 2 ? "i" : "l";
  for (int64_t i = 0; i < schema->n_children; i++)
    fnabi_arrow_plain_schema(schema->children[i]);
}

/* -------------------------------------------------------------------- arrays */

/* Each returns 1, 0 where a value does not fit, -1 when out of memory. */

static bool is_valid(const struct ArrowArray* array, size_t i) {
  const uint8_t* bits = array->buffers[0];
  return bits == NULL || (bits[i / 8] >> i % 8 & 1) != 0;
}

static bool number_fits(type to, int64_t number) {
  if (to.width == 8) return to.is_signed || number >= 0;
  int64_t limit = INT64_C(1) << (8 * to.width - (to.is_signed ? 1 : 0));
  return number < limit && number >= (to.is_signed ? -limit : 0);
}

static void put_number(void* out, type to, size_t i, int64_t number) {
  switch (to.width) {
    case 1:
      ((uint8_t*)out)[i] = (uint8_t)number;
      break;
    case 2:
      ((uint16_t*)out)[i] = (uint16_t)number;
      break;
    case 4:
      ((uint32_t*)out)[i] = (uint32_t)number;
      break;
    default:
      ((int64_t*)out)[i] = number;
  }
}

static int64_t cast_numbers(struct ArrowArray* array, const char* from,
                            const char* format) {
  type to = type_of(format);
  if (fnabi_arrow_is(from, format)) return 1;
  size_t count = (size_t)array->length;
  void* made = malloc(count * to.width + 1);
  if (made == NULL) return -1;
  for (size_t i = 0; i < count; i++) {
    int64_t number = is_valid(array, i)
                         ? fnabi_arrow_number(*from, array->buffers[1], i)
                         : 0;
    if (!number_fits(to, number)) {
      free(made);
      return 0;
    }
    put_number(made, to, i, number);
  }
  fnabi_arrow_replace_buffer(array, 1, made);
  return 1;
}

/* Widens offsets of 4 bytes, one more than there are elements. */
static int64_t widen_offsets(struct ArrowArray* array) {
  size_t count = (size_t)array->length + 1;
  const int32_t* offsets = array->buffers[1];
  int64_t* made = malloc(count * sizeof *made);
  if (made == NULL) return -1;
  for (size_t i = 0; i < count; i++) made[i] = offsets[i];
  fnabi_arrow_replace_buffer(array, 1, made);
  return 1;
}

/* A view: a size, and then the text, or its beginning, its buffer and its
 * offset there. */
static void put_view(char* out, const char* text, int32_t begin, int32_t end) {
  int32_t size = end - begin;
  memcpy(out, &size, sizeof size);
  if (size == 0) return;
  memcpy(out + 4, text + begin, size <= 12 ? (size_t)size : 4);
  if (size > 12) memcpy(out + 12, &begin, sizeof begin);
}

/* Completes an array of views, whose texts are in one buffer. */
static int64_t set_views(struct ArrowArray* array, char* views,
                         int64_t text_size) {
  int64_t* sizes = fnabi_arrow_make_buffer(array, 3, sizeof *sizes);
  if (sizes == NULL) {
    free(views);
    return -1;
  }
  *sizes = text_size;
  fnabi_arrow_replace_buffer(array, 1, views);
  array->n_buffers = 4;
  return 1;
}

/* Texts with offsets of 4 bytes, in another layout. */
static int64_t cast_texts(struct ArrowArray* array, const char* format) {
  type to = type_of(format);
  size_t count = (size_t)array->length;
  const int32_t* offsets = array->buffers[1];
  if (!to.view) return to.width == 4 ? 1 : widen_offsets(array);
  char* views = calloc(count + 1, 16);
  if (views == NULL) return -1;
  for (size_t i = 0; i < count; i++)
    if (is_valid(array, i))
      put_view(views + 16 * i, array->buffers[2], offsets[i], offsets[i + 1]);
  return set_views(array, views, offsets[count]);
}

static void drop_dictionary_array(struct ArrowArray* array) {
  array->dictionary->release(array->dictionary);
  free(array->dictionary);
  array->dictionary = NULL;
}

/* Codes, and the dictionary with offsets of 4 bytes that has their texts. */
typedef struct codes {
  const void* numbers;
  const uint8_t* validity; /* NULL: all are valid */
  const int32_t* ends;
  const char* texts;
  size_t count, entries;
} codes;

static codes codes_of(const struct ArrowArray* array) {
  const struct ArrowArray* dictionary = array->dictionary;
  return (codes){.numbers = array->buffers[1],
                 .validity = array->buffers[0],
                 .ends = dictionary->buffers[1],
                 .texts = dictionary->buffers[2],
                 .count = (size_t)array->length,
                 .entries = (size_t)dictionary->length};
}

/* The entry of a code; false where that has none. */
FNABI_INLINE bool entry_of(const codes* c, char number, size_t i,
                           size_t* entry) {
  *entry = (size_t)fnabi_arrow_number(number, c->numbers, i);
  return *entry < c->entries &&
         (c->validity == NULL || (c->validity[i / 8] >> i % 8 & 1) != 0);
}

static int64_t codes_to_views(struct ArrowArray* array, char number) {
  codes c = codes_of(array);
  int64_t size = c.ends[c.entries];
  char* views = calloc(c.count + 1, 16);
  char* text = fnabi_arrow_make_buffer(array, 2, (size_t)size);
  if (views == NULL || text == NULL) {
    free(views);
    return -1;
  }
  for (size_t i = 0, entry; i < c.count; i++)
    if (entry_of(&c, number, i, &entry))
      put_view(views + 16 * i, c.texts, c.ends[entry], c.ends[entry + 1]);
  memcpy(text, c.texts, (size_t)size);
  drop_dictionary_array(array);
  return set_views(array, views, size);
}

/* Copies FNABI_ARROW_PAD bytes at once, for most texts are shorter. */
FNABI_INLINE int64_t codes_to_texts(struct ArrowArray* array, char number,
                                    uint8_t width) {
  codes c = codes_of(array);
  type to = {.width = width};
  uint64_t size = 0;
  for (size_t i = 0, entry; i < c.count; i++)
    if (entry_of(&c, number, i, &entry))
      size += (uint64_t)(c.ends[entry + 1] - c.ends[entry]);
  if (width == 4 && size > INT32_MAX) return 0;
  char* text = malloc((size_t)size + FNABI_ARROW_PAD);
  void* offsets = malloc((c.count + 1) * width);
  if (text == NULL || offsets == NULL) {
    free(text);
    free(offsets);
    return -1;
  }
  size_t at = 0;
  put_number(offsets, to, 0, 0);
  for (size_t i = 0, entry; i < c.count; i++) {
    if (entry_of(&c, number, i, &entry)) {
      const char* from = c.texts + c.ends[entry];
      size_t length = (size_t)(c.ends[entry + 1] - c.ends[entry]);
      memcpy(text + at, from, FNABI_ARROW_PAD);
      if (length > FNABI_ARROW_PAD) memcpy(text + at, from, length);
      at += length;
    }
    put_number(offsets, to, i + 1, (int64_t)at);
  }
  fnabi_arrow_replace_buffer(array, 1, offsets);
  fnabi_arrow_replace_buffer(array, 2, text);
  array->n_buffers = 3;
  drop_dictionary_array(array);
  return 1;
}

/* The text of each code. */
static int64_t cast_codes(struct ArrowArray* array, char number,
                          const char* format) {
  type to = type_of(format);
  if (to.view) return codes_to_views(array, number);
  if (number == 'c' && to.width == 4) /* as fnabi exports most of them */
    return codes_to_texts(array, 'c', 4);
  return codes_to_texts(array, number, to.width);
}

/* Lists with offsets of 4 bytes, in another layout. */
static int64_t cast_lists(struct ArrowArray* array, const char* format) {
  type to = type_of(format);
  if (to.view) {
    size_t count = (size_t)array->length;
    const int32_t* offsets = array->buffers[1];
    void* sizes = malloc(count * to.width + 1);
    if (sizes == NULL) return -1;
    for (size_t i = 0; i < count; i++)
      put_number(sizes, to, i, offsets[i + 1] - offsets[i]);
    fnabi_arrow_replace_buffer(array, 2, sizes);
    array->n_buffers = 3;
  }
  return to.width == 4 ? 1 : widen_offsets(array);
}

int64_t fnabi_arrow_cast(struct ArrowArray* array,
                         const struct ArrowSchema* schema,
                         const struct ArrowSchema* requested) {
  type a = type_of(schema->format);
  int64_t done = 1;
  if (schema->dictionary != NULL && requested->dictionary == NULL)
    return cast_codes(array, schema->format[0], requested->format);
  if (a.class == NUMBERS)
    done = cast_numbers(array, schema->format, requested->format);
  else if (a.class == TEXTS)
    done = cast_texts(array, requested->format);
  else if (a.class == LISTS)
    done = cast_lists(array, requested->format);
  if (done == 1 && schema->dictionary != NULL)
    done = fnabi_arrow_cast(array->dictionary, schema->dictionary,
                            requested->dictionary);
  for (int64_t i = 0; i < schema->n_children && done == 1; i++)
    done = fnabi_arrow_cast(array->children[i], schema->children[i],
                            requested->children[i]);
  return done;
}
