/* arrow_values.h - the values of an Arrow array of any layout, one at a time.
 * Private.
 *
 * The structure of Arrow data is trusted: that buffers are there and are as
 * large as lengths and offsets require. */
#ifndef FNABI_ARROW_VALUES_H
#define FNABI_ARROW_VALUES_H

#include "base/text.h"
#include "many/arrow.h"

typedef enum fnabi_arrow_layout {
  FNABI_ARROW_NULL,
  FNABI_ARROW_INT,
  FNABI_ARROW_FLOAT,
  FNABI_ARROW_TEXT, /* offsets of 4 bytes */
  FNABI_ARROW_LARGE_TEXT,
  FNABI_ARROW_TEXT_VIEW,
  FNABI_ARROW_FIXED_TEXT,
  FNABI_ARROW_LIST,
  FNABI_ARROW_LARGE_LIST,
  FNABI_ARROW_LIST_VIEW,
  FNABI_ARROW_LARGE_LIST_VIEW,
  FNABI_ARROW_FIXED_LIST,
  FNABI_ARROW_STRUCT,
  FNABI_ARROW_DICTIONARY,
  FNABI_ARROW_RUNS
} fnabi_arrow_layout;

/* An array, ready to be read. One thread may use it at a time. */
typedef struct fnabi_arrow_values fnabi_arrow_values;
struct fnabi_arrow_values {
  fnabi_arrow_layout layout;
  char number;             /* the format of numbers, indexes and run ends */
  size_t width;            /* of fixed-size text and lists */
  const uint8_t* validity; /* NULL: all are valid */
  const void *data, *more; /* the buffers after it */
  const void* const* buffers;
  size_t offset, length;
  size_t run; /* the run of the last value found */
  const struct ArrowSchema* schema;
  const struct ArrowArray* array;
  fnabi_arrow_values* of; /* the values of lists, dictionaries and runs */
};

/* The memory of opened arrays: more than fnabi reads at once. Zero at first. */
enum { FNABI_ARROW_POOL = 64 };
typedef struct fnabi_arrow_pool {
  int used;
  fnabi_arrow_values values[FNABI_ARROW_POOL];
} fnabi_arrow_pool;

/* Opens an array, with the values of its lists, dictionaries and runs. Returns
 * NULL for one of a type that fnabi does not read. */
fnabi_arrow_values* fnabi_arrow_open_values(fnabi_arrow_pool* pool,
                                            const struct ArrowSchema* schema,
                                            const struct ArrowArray* array);

/* The array without its dictionaries and runs. */
fnabi_arrow_values* fnabi_arrow_plain_values(fnabi_arrow_values* v);

/* Opens the field of that name of a struct; NULL where there is none, or it is
 * of a type that fnabi does not read. */
fnabi_arrow_values* fnabi_arrow_open_field(fnabi_arrow_pool* pool,
                                           const fnabi_arrow_values* v,
                                           const char* name);

/* Define functions that return element `i` of a buffer, which need not be
 * aligned. */
#define FNABI_ARROW_ELEMENT(name, type)                                       \
  static inline type fnabi_arrow_##name(const void* data, size_t i) {         \
    type element;                                                             \
    memcpy(&element, (const char*)data + i * sizeof element, sizeof element); \
    return element;                                                           \
  }
FNABI_ARROW_ELEMENT(int8, int8_t)
FNABI_ARROW_ELEMENT(uint8, uint8_t)
FNABI_ARROW_ELEMENT(int16, int16_t)
FNABI_ARROW_ELEMENT(uint16, uint16_t)
FNABI_ARROW_ELEMENT(int32, int32_t)
FNABI_ARROW_ELEMENT(uint32, uint32_t)
FNABI_ARROW_ELEMENT(int64, int64_t)
FNABI_ARROW_ELEMENT(float32, float)
FNABI_ARROW_ELEMENT(float64, double)
#undef FNABI_ARROW_ELEMENT

/* Element `i` of an array of integers. */
static inline int64_t fnabi_arrow_number(char format, const void* data,
                                         size_t i) {
  switch (format) {
    case 'c':
      return fnabi_arrow_int8(data, i);
    case 'C':
      return fnabi_arrow_uint8(data, i);
    case 's':
      return fnabi_arrow_int16(data, i);
    case 'S':
      return fnabi_arrow_uint16(data, i);
    case 'i':
      return fnabi_arrow_int32(data, i);
    case 'I':
      return fnabi_arrow_uint32(data, i);
    default: /* above INT64_MAX it is negative */
      return fnabi_arrow_int64(data, i);
  }
}

static inline double fnabi_arrow_float(const fnabi_arrow_values* v, size_t i) {
  return v->number == 'f' ? (double)fnabi_arrow_float32(v->data, i)
                          : fnabi_arrow_float64(v->data, i);
}

size_t fnabi_arrow_find_run(fnabi_arrow_values* v, size_t at);

/* Finds value *i, through dictionaries and runs: the array that has it, and its
 * index in the buffers. Returns false where it is null, or NaN. */
static inline bool fnabi_arrow_find(fnabi_arrow_values** v, size_t* i) {
  for (;;) {
    fnabi_arrow_values* s = *v;
    size_t at = *i + s->offset;
    if (s->validity != NULL && (s->validity[at / 8] >> at % 8 & 1) == 0)
      return false;
    if (s->layout == FNABI_ARROW_DICTIONARY) {
      uint64_t index = (uint64_t)fnabi_arrow_number(s->number, s->data, at);
      if (index >= s->of->length) return false;
      at = (size_t)index;
    } else if (s->layout == FNABI_ARROW_RUNS) {
      at = fnabi_arrow_find_run(s, at);
    } else {
      *i = at;
      if (s->layout == FNABI_ARROW_FLOAT) {
        double number = fnabi_arrow_float(s, at);
        return number == number;
      }
      return s->layout != FNABI_ARROW_NULL;
    }
    *i = at;
    *v = s->of;
  }
}

/* The text, list or integer at an index that fnabi_arrow_find has returned.
 * False where the array has no such values, or the number is no integer. */
static inline bool fnabi_arrow_text(const fnabi_arrow_values* v, size_t i,
                                    fnabi_text* out) {
  const char* text = v->more != NULL ? v->more : "";
  int64_t begin, end;
  switch (v->layout) {
    case FNABI_ARROW_TEXT:
      begin = fnabi_arrow_int32(v->data, i);
      end = fnabi_arrow_int32(v->data, i + 1);
      break;
    case FNABI_ARROW_LARGE_TEXT:
      begin = fnabi_arrow_int64(v->data, i);
      end = fnabi_arrow_int64(v->data, i + 1);
      break;
    case FNABI_ARROW_TEXT_VIEW: { /* a size; the text, or its buffer and offset
                                   */
      int32_t view[4];
      memcpy(view, (const char*)v->data + 16 * i, sizeof view);
      text = view[0] > 12 ? (const char*)v->buffers[2 + view[2]] + view[3]
                          : (const char*)v->data + 16 * i + 4;
      *out = (fnabi_text){text, (size_t)view[0]};
      return true;
    }
    case FNABI_ARROW_FIXED_TEXT:
      *out = (fnabi_text){
          v->data != NULL ? (const char*)v->data + i * v->width : "", v->width};
      return true;
    default:
      return false;
  }
  *out = (fnabi_text){text + begin, (size_t)(end - begin)};
  return true;
}

bool fnabi_arrow_list(const fnabi_arrow_values* v, size_t i, size_t* begin,
                      size_t* end);
bool fnabi_arrow_int(const fnabi_arrow_values* v, size_t i, int64_t* out);

#endif /* FNABI_ARROW_VALUES_H */
