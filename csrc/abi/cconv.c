/* The VM calling convention, version 0:
 *
 *   convention ::= '' | '0' arguments ('_' results)?
 *   arguments  ::= 'v' | (register | span)*
 *   results    ::= 'v' | register*
 *   span       ::= 'C' register* 'D'
 *   register   ::= 'i' | 'I' | 'f' | 'F' | 'r'
 *
 * An empty side may be left out or be 'v'. Compilers write 'v', and so does
 * the encoder: "0v_v" has no arguments and no results. */
#include "abi/cconv.h"

#include "base/dtype.h"
#include "base/poll.h"

typedef struct register_type {
  char letter;
  uint8_t size; /* in bytes; a ref is a pointer, a type and their padding */
  const char* name;
} register_type;

static const register_type register_types[] = {
    {'i', 4, "i32"}, {'I', 8, "i64"},  {'f', 4, "f32"},
    {'F', 8, "f64"}, {'r', 16, "ref"},
};

#define REGISTER_TYPE_COUNT (sizeof register_types / sizeof *register_types)

/* A byte that is no register has the size 0. */
static const register_type* type_of(char letter) {
  static const register_type none = {0, 0, ""};
  switch (letter) {
    case 'i':
      return &register_types[0];
    case 'I':
      return &register_types[1];
    case 'f':
      return &register_types[2];
    case 'F':
      return &register_types[3];
    case 'r':
      return &register_types[4];
    default:
      return &none;
  }
}

typedef fnabi_cconv_side side;

enum { ARGUMENTS, RESULTS };

static const char* const SIDE_NAMES[] = {"arguments", "results"};

/* ------------------------------------------------------------------ reading */

static const char* const EXPECT_ARGUMENT =
    "'i', 'I', 'f', 'F', 'r', 'C' or '_'";
static const char* const EXPECT_ELEMENT = "'i', 'I', 'f', 'F', 'r' or 'D'";
static const char* const EXPECT_RESULT = "'i', 'I', 'f', 'F' or 'r'";

/* The position of a byte in its side. */
typedef struct place {
  size_t item;
  bool span; /* within a span, at this element of it */
  size_t element;
} place;

static bool side_fail(fnabi_error* error, int32_t code, size_t at,
                      const char* expected, int which, const place* in) {
  fnabi_fail(error, code, at, expected);
  if (in->span) {
    fnabi_path_index(error, in->element);
    fnabi_path_field(error, ".items");
  }
  fnabi_path_index(error, in->item);
  fnabi_path_field(error, SIDE_NAMES[which]);
  return false;
}

static inline bool is_register(char letter) {
#define BIT(letter) (UINT64_C(1) << ((letter) - '@'))
  const uint64_t registers =
      BIT('i') | BIT('I') | BIT('f') | BIT('F') | BIT('r');
#undef BIT
  unsigned index = (unsigned char)letter - (unsigned)'@';
  return index < 64 && (registers >> index & 1) != 0;
}

static inline bool is_end(const char* data, size_t size, size_t at, int which) {
  return at == size || (which == ARGUMENTS && data[at] == '_');
}

/* Reads the rest of a side, from the first byte that is no register on. */
static bool read_rest(const char* data, size_t size, size_t at, int which,
                      side* s, fnabi_error* error) {
  place in = {at - s->begin, false, 0};
  for (;; at++) {
    bool end = is_end(data, size, at, which);
    if (end && !in.span) break;
    if (end) {
      in.span = false; /* the path is that of the incomplete span */
      return side_fail(error, FNABI_CCONV_SPAN_END, at, "'D'", which, &in);
    }
    char letter = data[at];
    if (type_of(letter)->size != 0) {
      if (in.span)
        in.element++;
      else
        in.item++;
    } else if (letter == 'C' && which == ARGUMENTS && !in.span) {
      in.span = true;
      in.element = 0;
    } else if (letter == 'D' && in.span) {
      in.span = false;
      in.item++;
    } else if (letter == 'v' && at == s->begin) {
      at++;
      if (at < size && (which == RESULTS || data[at] != '_'))
        return side_fail(error, FNABI_CCONV_VOID, at,
                         which == ARGUMENTS ? "'_' or the end" : "the end",
                         which, &in);
      s->begin = at;
      break;
    } else {
      return side_fail(error,
                       letter == 'C'   ? FNABI_CCONV_SPAN
                       : letter == 'v' ? FNABI_CCONV_VOID
                                       : FNABI_CCONV_REGISTER,
                       at,
                       in.span              ? EXPECT_ELEMENT
                       : which == ARGUMENTS ? EXPECT_ARGUMENT
                                            : EXPECT_RESULT,
                       which, &in);
    }
  }
  s->end = at;
  return true;
}

/* Reads the side that begins at `at`, up to the '_' or the end. */
FNABI_INLINE bool read_side(const char* data, size_t size, size_t at, int which,
                            side* s, fnabi_error* error) {
  s->begin = at;
  while (at < size && is_register(data[at])) at++;
  s->end = at;
  return is_end(data, size, at, which) ||
         read_rest(data, size, at, which, s, error);
}

bool fnabi_cconv_sides(const char* data, size_t size, side sides[2],
                       fnabi_error* error) {
  sides[ARGUMENTS] = sides[RESULTS] = (side){size, size};
  if (size > UINT32_MAX) {
    fnabi_fail(error, FNABI_CCONV_SIZE, 0, "less than 4 GiB");
    return false;
  }
  if (size == 0) return true;
  if (data[0] != '0') {
    fnabi_fail(error, FNABI_VERSION, 0, "'0'");
    return false;
  }
  if (!read_side(data, size, 1, ARGUMENTS, &sides[ARGUMENTS], error))
    return false;
  size_t end = sides[ARGUMENTS].end;
  return end == size ||
         read_side(data, size, end + 1, RESULTS, &sides[RESULTS], error);
}

/* The elements of the span whose 'C' is at `at`. */
static side read_span(const char* data, size_t at, side s) {
  side span = {at + 1, at + 1};
  while (span.end < s.end && data[span.end] != 'D') span.end++;
  return span;
}

/* Writes a register to the message: its name, or its type. */
typedef void write_register(char letter, fnabi_writer* w);

static void write_name(char letter, fnabi_writer* w) {
  fnabi_pack_ascii(w, type_of(letter)->name);
}

void fnabi_cconv_write_type(char letter, fnabi_writer* w) {
  bool integer = letter == 'i' || letter == 'I';
  fnabi_dtype dtype = {integer ? FNABI_DTYPE_SIGNLESS : FNABI_DTYPE_FLOAT,
                       8u * type_of(letter)->size, "", 0};
  fnabi_pack_array(w, 2);
  if (letter == 'r') {
    fnabi_pack_int(w, FNABI_TYPE_REF);
    fnabi_pack_nil(w);
  } else {
    fnabi_pack_int(w, FNABI_TYPE_SCALAR);
    fnabi_pack_dtype(w, &dtype);
  }
}

static bool write_registers(const char* data, side s, fnabi_writer* w,
                            write_register* write, fnabi_error* error) {
  size_t head = fnabi_pack_open(w);
  for (size_t at = s.begin; at < s.end; at++) {
    if (fnabi_stop_at(at, 1, at, error)) return false;
    write(data[at], w);
  }
  fnabi_pack_close(w, head, s.end - s.begin);
  return true;
}

static bool write_arguments(const char* data, side s, fnabi_writer* w,
                            write_register* write, fnabi_error* error) {
  size_t head = fnabi_pack_open(w), count = 0;
  for (size_t at = s.begin; at < s.end; at++, count++) {
    if (fnabi_stop_at(count, 1, at, error)) return false;
    if (data[at] != 'C') {
      write(data[at], w);
      continue;
    }
    side span = read_span(data, at, s);
    if (write == fnabi_cconv_write_type) {
      fnabi_pack_array(w, 2);
      fnabi_pack_int(w, FNABI_TYPE_HOMOGENEOUS_LIST);
      fnabi_pack_array(w, 2);
      fnabi_pack_int(w, FNABI_TYPE_TUPLE);
    } else {
      fnabi_pack_array(w, 1);
    }
    if (!write_registers(data, span, w, write, error)) return false;
    at = span.end;
  }
  fnabi_pack_close(w, head, count);
  return true;
}

/* Writes both sides, and before them the head of an array of some elements. */
static bool write_sides(const char* data, size_t size, unsigned elements,
                        fnabi_writer* w, write_register* write,
                        fnabi_error* error) {
  side sides[2];
  if (!fnabi_cconv_sides(data, size, sides, error)) return false;
  fnabi_pack_array(w, elements);
  return write_arguments(data, sides[ARGUMENTS], w, write, error) &&
         write_registers(data, sides[RESULTS], w, write, error);
}

bool fnabi_cconv_write_signature(const char* data, size_t size, fnabi_writer* w,
                                 fnabi_error* error) {
  return write_sides(data, size, 2, w, fnabi_cconv_write_type, error);
}

int64_t fnabi_cconv_decode(const char* data, size_t size, uint8_t* out,
                           size_t capacity, fnabi_error* error) {
  fnabi_writer w = {out, capacity, 0};
  if (!write_sides(data, size, 3, &w, write_name, error)) return -1;
  fnabi_pack_int(&w, 0);
  return (int64_t)w.size;
}

/* ------------------------------------------------------------------ writing */

static const char* const EXPECT_NAME = "i32, i64, f32, f64 or ref";

/* Writes the letter of the register type that the message names next. */
static bool encode_register(fnabi_reader* r, fnabi_writer* w,
                            const char* expected, fnabi_error* error) {
  const char* name;
  size_t size;
  if (!fnabi_unpack_text(r, &name, &size)) {
    fnabi_fail(error, FNABI_MESSAGE, 0, expected);
    return false;
  }
  for (size_t i = 0; i < REGISTER_TYPE_COUNT; i++) {
    const register_type* type = &register_types[i];
    if (strlen(type->name) == size && memcmp(type->name, name, size) == 0) {
      fnabi_put_byte(w, (uint8_t)type->letter);
      return true;
    }
  }
  fnabi_fail(error, FNABI_CCONV_REGISTER, 0, EXPECT_NAME);
  return false;
}

static bool encode_items(fnabi_reader* r, fnabi_writer* w, int which, bool span,
                         fnabi_error* error);

/* A register, or a span, which is an array of one field. */
static bool encode_item(fnabi_reader* r, fnabi_writer* w, int which, bool span,
                        fnabi_error* error) {
  size_t fields;
  if (!fnabi_unpack_array(r, &fields))
    return encode_register(
        r, w, which == RESULTS || span ? EXPECT_NAME : "a register or a Span",
        error);
  if (which == RESULTS || span) {
    fnabi_fail(error, FNABI_CCONV_SPAN, 0, EXPECT_NAME);
    return false;
  }
  if (fields != 1) {
    fnabi_fail(error, FNABI_MESSAGE, 0, "a Span");
    return false;
  }
  fnabi_put_byte(w, 'C');
  if (!encode_items(r, w, which, true, error)) return false;
  fnabi_put_byte(w, 'D');
  return true;
}

/* Goes one level deep: a span has no spans. */
static bool encode_items(fnabi_reader* r, fnabi_writer* w, int which, bool span,
                         fnabi_error* error) {
  size_t count, i = 0;
  if (!fnabi_unpack_array(r, &count)) {
    fnabi_fail(error, FNABI_MESSAGE, 0, "a tuple of registers");
  } else {
    if (count == 0 && !span) fnabi_put_byte(w, 'v');
    while (i < count && !fnabi_stop_at(i, 1, 0, error) &&
           encode_item(r, w, which, span, error))
      i++;
    if (i == count) return true;
    fnabi_path_index(error, i);
  }
  fnabi_path_field(error, span ? ".items" : SIDE_NAMES[which]);
  return false;
}

int64_t fnabi_cconv_encode(const uint8_t* message, size_t size, uint8_t* out,
                           size_t capacity, fnabi_error* error) {
  fnabi_reader r = {message, size, 0};
  fnabi_writer w = {out, capacity, 0};
  size_t count;
  int64_t version;
  if (!fnabi_unpack_array(&r, &count) || count != 3)
    return fnabi_fail(error, FNABI_MESSAGE, 0, "a CallingConvention");
  fnabi_put_byte(&w, '0');
  if (!encode_items(&r, &w, ARGUMENTS, false, error)) return -1;
  fnabi_put_byte(&w, '_');
  if (!encode_items(&r, &w, RESULTS, false, error)) return -1;
  if (!fnabi_unpack_int(&r, &version) || version != 0) {
    fnabi_fail(error, FNABI_VERSION, 0, "0");
    fnabi_path_field(error, "version");
    return -1;
  }
  if (r.at != size)
    return fnabi_fail(error, FNABI_MESSAGE, 0, "a CallingConvention");
  return (int64_t)w.size;
}

/* ------------------------------------------------------------------ buffers */

/* A buffer that is laid out. `at` exceeds INT64_MAX by at most what one pass
 * over the text adds, below 2^37. */
typedef struct layout {
  uint64_t wide;      /* the alignment of larger registers: 8, or 4 if packed */
  uint64_t alignment; /* the largest one so far */
  uint64_t at;
  int64_t* offsets;
  uint64_t capacity;
  uint64_t count; /* of offsets */
} layout;

static void lay_offset(layout* l) {
  if (l->count < l->capacity) l->offsets[l->count] = (int64_t)l->at;
  l->count++;
}

static void lay_align(layout* l, uint64_t alignment) {
  if (l->alignment < alignment) l->alignment = alignment;
  l->at = (l->at + alignment - 1) & ~(alignment - 1);
}

static void lay_register(layout* l, char letter) {
  uint64_t size = type_of(letter)->size;
  lay_align(l, size == 4 ? 4 : l->wide);
  lay_offset(l);
  l->at += size;
}

static void lay_element(layout* l, const char* data, side span) {
  for (size_t at = span.begin; at < span.end; at++) lay_register(l, data[at]);
}

/* The elements of a span: the first is aligned for all of its registers, the
 * others follow without padding of their own; each register is aligned. Returns
 * FNABI_OK, or FNABI_CCONV_SIZE where the end is outside int64. */
static int32_t lay_elements(layout* l, const char* data, side span,
                            uint64_t count) {
  /* The size of an element depends on where it begins: at a multiple of 8, as
   * the first one does, or 4 bytes after one. The size differs only if the
   * element has a register to align, and after that register both cases are
   * equal. So all elements end, and all but the first begin, at the end of the
   * first one, modulo 8. */
  layout first = {.wide = l->wide, .alignment = 4};
  lay_element(&first, data, span);
  uint64_t stride = first.at, phase = first.at % 8;
  if (phase != 0) {
    layout next = {.wide = l->wide, .alignment = 4, .at = phase};
    lay_element(&next, data, span);
    stride = next.at - phase;
  }
  if (count == 0) {
    if (l->alignment < first.alignment) l->alignment = first.alignment;
    return FNABI_OK;
  }
  lay_align(l, first.alignment);
  uint64_t width = span.end - span.begin;
  uint64_t left = l->capacity > l->count ? l->capacity - l->count : 0;
  if (width != 0 && count <= left / width) {
    for (; count > 0; count--) {
      if (fnabi_poll((size_t)width)) return FNABI_INTERRUPTED;
      lay_element(l, data, span);
    }
    return FNABI_OK;
  }
  l->count += width * count;
  l->at += first.at;
  if (l->at > INT64_MAX ||
      (stride != 0 && count - 1 > (INT64_MAX - l->at) / stride))
    return FNABI_CCONV_SIZE;
  l->at += stride * (count - 1);
  return FNABI_OK;
}

static bool span_fail(fnabi_error* error, int32_t code, size_t at,
                      const char* expected, size_t span) {
  fnabi_fail(error, code, at, expected);
  fnabi_path_index(error, span);
  fnabi_path_field(error, "span_counts");
  return false;
}

static bool lay_out(const char* data, size_t size, int32_t buffer,
                    const int32_t* span_counts, size_t spans, layout* l,
                    fnabi_error* error) {
  side sides[2];
  if (!fnabi_cconv_sides(data, size, sides, error)) return false;
  side s = sides[buffer & FNABI_CCONV_RESULTS ? RESULTS : ARGUMENTS];
  l->wide = buffer & FNABI_CCONV_PACKED ? 4 : 8;
  l->alignment = 4;
  size_t span = 0;
  for (size_t at = s.begin; at < s.end; at++) {
    if (data[at] != 'C') {
      lay_register(l, data[at]);
      continue;
    }
    if (span == spans)
      return span_fail(error, FNABI_CCONV_COUNT, at, "a count", span);
    if (span_counts[span] < 0)
      return span_fail(error, FNABI_CCONV_COUNT, at, "0 or more", span);
    side elements = read_span(data, at, s);
    lay_register(l, 'i');
    int32_t code = lay_elements(l, data, elements, (uint64_t)span_counts[span]);
    if (code != FNABI_OK)
      return span_fail(error, code, at, "a smaller count", span);
    span++;
    at = elements.end;
  }
  if (span < spans)
    return span_fail(error, FNABI_CCONV_COUNT, s.end, "no more counts", span);
  lay_align(l, l->alignment);
  if (l->at <= INT64_MAX) return true;
  fnabi_fail(error, FNABI_CCONV_SIZE, s.end, "fewer registers");
  return false;
}

int64_t fnabi_cconv_size(const char* data, size_t size, int32_t buffer,
                         const int32_t* span_counts, size_t spans,
                         fnabi_error* error) {
  layout l = {0};
  return lay_out(data, size, buffer, span_counts, spans, &l, error)
             ? (int64_t)l.at
             : -1;
}

int64_t fnabi_cconv_offsets(const char* data, size_t size, int32_t buffer,
                            const int32_t* span_counts, size_t spans,
                            int64_t* offsets, size_t capacity,
                            fnabi_error* error) {
  layout l = {.offsets = offsets, .capacity = capacity};
  return lay_out(data, size, buffer, span_counts, spans, &l, error)
             ? (int64_t)l.count
             : -1;
}
