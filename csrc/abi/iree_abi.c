/* The IREE ABI, version 1: JSON (RFC 8259), of which these are the parts that
 * have a meaning. Keys may stand in any order; other keys may have any value.
 *
 *   signature ::= {"a": [argument...], "r": [record...], key: value, ...}
 *   argument  ::= record | ["named", name, record]
 *   record    ::= primitive | null | "unknown"
 *               | ["ndarray", record, rank, dim...]
 *               | ["slist", record...] | ["stuple", record...]
 *               | ["sdict", [key, record]...]
 *               | ["py_homogeneous_list", record]
 *   primitive ::= "iN" | "fN" | "bf16"      N: 1 to 16777215, no leading 0
 *   rank      ::= null | integer            null: no dims; else as many
 *   dim       ::= null | integer            null: any
 *
 * An integer has no sign, fraction or exponent. The published grammar lets
 * every number of bits be written with leading zeros and be 0; no type is. */
#include "abi/iree_abi.h"

#include "abi/signature.h"
#include "base/dtype.h"
#include "base/error.h"

static const char* const EXPECT_DEPTH = "at most 128 levels";

/* --------------------------------------------------------------------- JSON */

/* Each reader takes the place where it begins and answers where it ends; NULL
 * when it has failed. */

typedef struct json {
  const char *data, *end;
  fnabi_writer* w;
  fnabi_error* error;
} json;

static const char* fail(json* j, int32_t code, const char* p,
                        const char* expected) {
  fnabi_fail(j->error, code, (uint64_t)(p - j->data), expected);
  return NULL;
}

/* On the way out of element `index` of an array. */
static const char* within(json* j, size_t index) {
  fnabi_path_index(j->error, index);
  return NULL;
}

/* The byte at p; -1 at the end. */
static inline int peek(const json* j, const char* p) {
  return p < j->end ? (uint8_t)*p : -1;
}

static inline bool is_digit(int c) { return c >= '0' && c <= '9'; }

/* Refuses what stands at p: JSON of another kind, or no JSON at all. */
static const char* refuse(json* j, int32_t code, const char* p,
                          const char* expected) {
  int c = peek(j, p);
  bool value = c == '"' || c == '[' || c == '{' || c == '-' || c == 't' ||
               c == 'f' || c == 'n' || is_digit(c);
  return fail(j, value ? code : (int32_t)FNABI_JSON, p, expected);
}

static inline const char* skip_space(const json* j, const char* p) {
  while (p < j->end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
    p++;
  return p;
}

static const char* read_word(json* j, const char* p, const char* word) {
  for (const char* c = word; *c != 0; c++, p++)
    if (peek(j, p) != *c) return fail(j, FNABI_JSON, p, word);
  return p;
}

static const char* read_digits(json* j, const char* p) {
  if (!is_digit(peek(j, p))) return fail(j, FNABI_JSON_NUMBER, p, "a digit");
  while (is_digit(peek(j, p))) p++;
  return p;
}

/* number ::= '-'? ('0' | [1-9][0-9]*) ('.' [0-9]+)? ([eE] [+-]? [0-9]+)?
 *
 * *value saturates. *natural: without sign, fraction and exponent. */
static const char* read_number(json* j, const char* p, uint64_t* value,
                               bool* natural) {
  *natural = peek(j, p) != '-';
  if (!*natural) p++;
  int c = peek(j, p);
  if (!is_digit(c)) return fail(j, FNABI_JSON_NUMBER, p, "a digit");
  uint64_t number = (unsigned)c - '0';
  c = peek(j, ++p);
  for (; number != 0 && is_digit(c); c = peek(j, ++p)) {
    unsigned digit = (unsigned)c - '0';
    number =
        number > (UINT64_MAX - digit) / 10 ? UINT64_MAX : number * 10 + digit;
  }
  *value = number;
  if (c == '.') {
    *natural = false;
    if ((p = read_digits(j, p + 1)) == NULL) return NULL;
    c = peek(j, p);
  }
  if (c == 'e' || c == 'E') {
    *natural = false;
    p++;
    if (peek(j, p) == '+' || peek(j, p) == '-') p++;
    p = read_digits(j, p);
  }
  return p;
}

/* Four hex digits at s[at]; false, with *bad where one is missing. */
static bool read_unit(const char* s, size_t n, size_t at, uint32_t* unit,
                      size_t* bad) {
  *unit = 0;
  for (size_t i = at; i < at + 4; i++) {
    *bad = i;
    if (i >= n) return false;
    char c = s[i], lower = (char)(c | 0x20);
    if (is_digit(c))
      *unit = *unit << 4 | (uint32_t)(c - '0');
    else if (lower >= 'a' && lower <= 'f')
      *unit = *unit << 4 | (uint32_t)(lower - 'a' + 10);
    else
      return false;
  }
  return true;
}

static size_t put_utf8(uint32_t c, char utf8[4]) {
  if (c < 0x80) {
    utf8[0] = (char)c;
    return 1;
  }
  size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static const uint8_t leads[] = {0, 0xC0, 0xE0, 0xF0};
  for (size_t i = more; i > 0; i--, c >>= 6)
    utf8[i] = (char)(0x80 | (c & 0x3F));
  utf8[0] = (char)(leads[more] | c);
  return more + 1;
}

/* escape ::= '\' (["\/bfnrt] | 'u' hex{4} | 'u' high '\' 'u' low)
 *
 * The escape of up to n > 0 bytes at s makes as many bytes of UTF-8 as are
 * answered, and has *end bytes; where it makes 0, the fault is at *end: 0 for
 * half a surrogate pair. */
static size_t unescape(const char* s, size_t n, char utf8[4], size_t* end) {
  static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
  *end = 1;
  if (n < 2) return 0;
  const char* letter = memchr(letters, s[1], sizeof letters - 1);
  if (letter != NULL) {
    *end = 2;
    utf8[0] = bytes[letter - letters];
    return 1;
  }
  uint32_t unit, low;
  if (s[1] != 'u' || !read_unit(s, n, 2, &unit, end)) return 0;
  *end = 6;
  if (unit >= 0xD800 && unit <= 0xDFFF) {
    bool pair = unit <= 0xDBFF && n >= 8 && s[6] == '\\' && s[7] == 'u';
    if (pair && !read_unit(s, n, 8, &low, end)) return 0;
    if (!pair || low < 0xDC00 || low > 0xDFFF) {
      *end = 0;
      return 0;
    }
    *end = 12;
    unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
  }
  return put_utf8(unit, utf8);
}

/* A string that has been read: what is between its quotes, and its size when
 * it is unescaped. */
typedef struct text {
  const char* data;
  size_t raw_size, size;
} text;

static inline bool is_plain(char c) {
  return c >= ' ' && c < 0x7F && c != '"' && c != '\\';
}

static const char* read_string(json* j, const char* p, text* t) {
  const char* begin = ++p;
  size_t saved = 0;
  for (;;) {
    while (p < j->end && is_plain(*p)) p++;
    if (p >= j->end) return fail(j, FNABI_JSON_STRING, j->end, "'\"'");
    uint8_t c = (uint8_t)*p;
    if (c == '"') break;
    if (c == '\\') {
      char utf8[4];
      size_t end, made = unescape(p, (size_t)(j->end - p), utf8, &end);
      if (made == 0)
        return fail(j, end == 0 ? FNABI_JSON_SURROGATE : FNABI_JSON_ESCAPE,
                    p + end, NULL);
      p += end;
      saved += end - made;
    } else if (c < ' ') {
      return fail(j, FNABI_JSON_CONTROL, p, "an escape");
    } else {
      size_t n = fnabi_utf8_size((const uint8_t*)p, (size_t)(j->end - p));
      if (n == 0) return fail(j, FNABI_JSON_UTF8, p, NULL);
      p += n;
    }
  }
  *t = (text){begin, (size_t)(p - begin), (size_t)(p - begin) - saved};
  return p + 1;
}

static void put_unescaped(fnabi_writer* w, const text* t) {
  const char *s = t->data, *end = s + t->raw_size;
  for (;;) {
    size_t n = (size_t)(end - s);
    const char* escape = t->size < t->raw_size ? memchr(s, '\\', n) : NULL;
    if (escape == NULL) {
      fnabi_put(w, s, n);
      return;
    }
    fnabi_put(w, s, (size_t)(escape - s));
    char utf8[4];
    size_t used;
    size_t made = unescape(escape, (size_t)(end - escape), utf8, &used);
    if (made == 0) return; /* changed while read */
    fnabi_put(w, utf8, made);
    s = escape + used;
  }
}

static void pack_text(json* j, const text* t) {
  fnabi_pack_string(j->w, t->size);
  put_unescaped(j->w, t);
}

/* What a string says that is one of our words: those are short. */
#define WORD_SIZE 24

static inline fnabi_text word_of(const text* t, char memory[WORD_SIZE]) {
  if (t->size == t->raw_size) return (fnabi_text){t->data, t->size};
  fnabi_writer w = {(uint8_t*)memory, WORD_SIZE, 0};
  put_unescaped(&w, t);
  return (fnabi_text){memory, w.size <= WORD_SIZE ? w.size : 0};
}

/* Steps on to element `index` of an array or object: *more, and it is still to
 * be looked at; or else past the closing bracket. */
static inline const char* next(json* j, const char* p, size_t index,
                               char closing, bool* more) {
  p = skip_space(j, p);
  int c = peek(j, p);
  *more = c != closing;
  if (!*more) return p + 1;
  if (index == 0) return p;
  if (c == ',') return skip_space(j, p + 1);
  return fail(j, FNABI_JSON, p, closing == ']' ? "',' or ']'" : "',' or '}'");
}

/* A key and its ':', up to the value. */
static const char* read_key(json* j, const char* p, text* key) {
  if (peek(j, p) != '"') return fail(j, FNABI_JSON, p, "a key");
  if ((p = read_string(j, p, key)) == NULL) return NULL;
  p = skip_space(j, p);
  if (peek(j, p) != ':') return fail(j, FNABI_JSON, p, "':'");
  return skip_space(j, p + 1);
}

/* Any value inside `depth` arrays and objects. */
static const char* skip_value(json* j, const char* p, unsigned depth) {
  text t;
  uint64_t number;
  bool natural, more;
  int c = peek(j, p);
  switch (c) {
    case '"':
      return read_string(j, p, &t);
    case 't':
      return read_word(j, p, "true");
    case 'f':
      return read_word(j, p, "false");
    case 'n':
      return read_word(j, p, "null");
    case '[':
    case '{':
      break;
    default:
      if (c != '-' && !is_digit(c)) return fail(j, FNABI_JSON, p, "a value");
      return read_number(j, p, &number, &natural);
  }
  if (depth == FNABI_DEPTH_MAX) return fail(j, FNABI_DEPTH, p, EXPECT_DEPTH);
  p++;
  for (size_t i = 0;; i++) {
    p = next(j, p, i, c == '[' ? ']' : '}', &more);
    if (p == NULL || !more) return p;
    if (c == '{' && (p = read_key(j, p, &t)) == NULL) return NULL;
    if ((p = skip_value(j, p, depth + 1)) == NULL) return NULL;
  }
}

/* ------------------------------------------------------------------ reading */

static const char* const EXPECT_RECORD = "a type record";

static const char* const side_names[] = {"a", "r"};

static const char* read_record(json* j, const char* p, unsigned depth,
                               bool argument);

/* Up to a field of a compound type, which must be there; past their end. */
static const char* read_field(json* j, const char* p, size_t index,
                              const char* expected) {
  bool more;
  p = next(j, p, index, ']', &more);
  if (p == NULL || more) return p;
  return fail(j, FNABI_IREE_ABI_FIELD, p - 1, expected);
}

static const char* read_end(json* j, const char* p, size_t index) {
  bool more;
  p = next(j, p, index, ']', &more);
  if (p == NULL || !more) return p;
  refuse(j, FNABI_IREE_ABI_FIELD, p, "']'");
  return within(j, index);
}

static const char* read_record_field(json* j, const char* p, size_t index,
                                     unsigned depth) {
  if ((p = read_field(j, p, index, EXPECT_RECORD)) == NULL) return NULL;
  p = read_record(j, p, depth, false);
  return p != NULL ? p : within(j, index);
}

/* A name or key, field `index` of its array. */
static const char* read_name(json* j, const char* p, size_t index) {
  text t;
  if ((p = read_field(j, p, index, "a string")) == NULL) return NULL;
  p = peek(j, p) == '"' ? read_string(j, p, &t)
                        : refuse(j, FNABI_IREE_ABI_NAME, p, "a string");
  if (p == NULL) return within(j, index);
  pack_text(j, &t);
  return p;
}

static bool parse_primitive(fnabi_text w, fnabi_dtype* dtype) {
  *dtype = (fnabi_dtype){FNABI_DTYPE_BFLOAT, 16, "", 0};
  if (FNABI_TEXT_IS(w, "bf16")) return true;
  if (w.size < 2 || w.size > 9 || (w.data[0] != 'i' && w.data[0] != 'f') ||
      w.data[1] == '0')
    return false;
  uint32_t bits = 0;
  for (size_t i = 1; i < w.size; i++) {
    if (!is_digit(w.data[i])) return false;
    bits = bits * 10 + (uint32_t)(w.data[i] - '0');
  }
  dtype->kind = w.data[0] == 'f' ? FNABI_DTYPE_FLOAT
                : bits == 1      ? FNABI_DTYPE_BOOL
                                 : FNABI_DTYPE_SIGNLESS;
  dtype->bits = bits;
  return bits <= FNABI_DTYPE_BITS_MAX;
}

/* A string: a primitive type, or *unknown. */
static const char* read_type_name(json* j, const char* p, fnabi_dtype* dtype,
                                  bool* unknown) {
  text t;
  char memory[WORD_SIZE];
  const char* end = read_string(j, p, &t);
  if (end == NULL) return NULL;
  fnabi_text w = word_of(&t, memory);
  *unknown = FNABI_TEXT_IS(w, "unknown");
  if (*unknown || parse_primitive(w, dtype)) return end;
  return fail(j, FNABI_IREE_ABI_PRIMITIVE, p,
              "\"i32\", \"f32\", \"bf16\", \"unknown\" or the like");
}

static const char* read_dim(json* j, const char* p) {
  static const char* const expected = "null, or 0 to 9223372036854775807";
  int c = peek(j, p);
  if (c == 'n') {
    fnabi_pack_nil(j->w);
    return read_word(j, p, "null");
  }
  if (c != '-' && !is_digit(c))
    return refuse(j, FNABI_IREE_ABI_DIM, p, expected);
  uint64_t dim;
  bool natural;
  const char* end = read_number(j, p, &dim, &natural);
  if (end == NULL) return NULL;
  if (!natural || dim > INT64_MAX)
    return fail(j, FNABI_IREE_ABI_DIM, p, expected);
  fnabi_pack_uint(j->w, dim);
  return end;
}

static const char* read_rank(json* j, const char* p, bool* known,
                             uint64_t* rank) {
  static const char* const expected = "null, or 0 or more";
  int c = peek(j, p);
  *rank = 0;
  *known = c != 'n';
  if (!*known) return read_word(j, p, "null");
  if (c != '-' && !is_digit(c))
    return refuse(j, FNABI_IREE_ABI_RANK, p, expected);
  bool natural;
  const char* end = read_number(j, p, rank, &natural);
  if (end == NULL || natural) return end;
  return fail(j, FNABI_IREE_ABI_RANK, p, expected);
}

/* The rank and the dims, from field 2 of the record to its end. */
static const char* read_shape(json* j, const char* p) {
  bool known, more;
  uint64_t rank;
  if ((p = read_field(j, p, 2, "a rank")) == NULL) return NULL;
  if ((p = read_rank(j, p, &known, &rank)) == NULL) return within(j, 2);
  size_t place = j->w->size, i = 0;
  if (known)
    fnabi_pack_open(j->w);
  else
    fnabi_pack_nil(j->w);
  for (;; i++) {
    if ((p = next(j, p, 3 + i, ']', &more)) == NULL) return NULL;
    if (!more) break;
    p = i == rank ? refuse(j, FNABI_IREE_ABI_DIMS, p, "']'") : read_dim(j, p);
    if (p == NULL) return within(j, 3 + i);
  }
  if (i != rank) return fail(j, FNABI_IREE_ABI_DIMS, p - 1, "a dim");
  if (known) fnabi_pack_close(j->w, place, i);
  return p;
}

/* The element type of an ndarray, with the head of its message. */
static const char* read_element(json* j, const char* p, unsigned depth) {
  fnabi_dtype dtype;
  bool unknown;
  fnabi_pack_array(j->w, 3);
  if (peek(j, p) != '"') {
    fnabi_pack_int(j->w, FNABI_TYPE_REF_ARRAY);
    return read_record(j, p, depth, false);
  }
  if ((p = read_type_name(j, p, &dtype, &unknown)) == NULL) return NULL;
  if (unknown) {
    fnabi_pack_int(j->w, FNABI_TYPE_REF_ARRAY);
    fnabi_pack_array(j->w, 1);
    fnabi_pack_int(j->w, FNABI_TYPE_UNKNOWN);
  } else {
    fnabi_pack_int(j->w, FNABI_TYPE_BUFFER);
    fnabi_pack_dtype(j->w, &dtype);
  }
  return p;
}

static const char* read_ndarray(json* j, const char* p, unsigned depth) {
  if ((p = read_field(j, p, 1, EXPECT_RECORD)) == NULL) return NULL;
  if ((p = read_element(j, p, depth)) == NULL) return within(j, 1);
  return read_shape(j, p);
}

static const char* read_named(json* j, const char* p, unsigned depth) {
  if ((p = read_name(j, p, 1)) == NULL) return NULL;
  if ((p = read_record_field(j, p, 2, depth)) == NULL) return NULL;
  return read_end(j, p, 3);
}

/* [key, record] */
static const char* read_slot(json* j, const char* p, unsigned depth) {
  if (peek(j, p) != '[') return refuse(j, FNABI_IREE_ABI_SLOT, p, "'['");
  if (depth == FNABI_DEPTH_MAX) return fail(j, FNABI_DEPTH, p, EXPECT_DEPTH);
  fnabi_pack_array(j->w, 2);
  if ((p = read_name(j, p + 1, 0)) == NULL) return NULL;
  if ((p = read_record_field(j, p, 1, depth + 1)) == NULL) return NULL;
  return read_end(j, p, 2);
}

/* The slots, from field 1 of the record to its end. */
static const char* read_slots(json* j, const char* p, bool keys,
                              unsigned depth) {
  size_t place = fnabi_pack_open(j->w);
  for (size_t i = 1;; i++) {
    bool more;
    if ((p = next(j, p, i, ']', &more)) == NULL) return NULL;
    if (!more) {
      fnabi_pack_close(j->w, place, i - 1);
      return p;
    }
    p = keys ? read_slot(j, p, depth) : read_record(j, p, depth, false);
    if (p == NULL) return within(j, i);
  }
}

/* 0: no compound type. */
static int64_t compound_type(fnabi_text w) {
  if (FNABI_TEXT_IS(w, "ndarray")) return FNABI_TYPE_BUFFER;
  if (FNABI_TEXT_IS(w, "named")) return FNABI_TYPE_NAMED;
  if (FNABI_TEXT_IS(w, "slist")) return FNABI_TYPE_LIST;
  if (FNABI_TEXT_IS(w, "stuple")) return FNABI_TYPE_TUPLE;
  if (FNABI_TEXT_IS(w, "sdict")) return FNABI_TYPE_DICT;
  if (FNABI_TEXT_IS(w, "py_homogeneous_list"))
    return FNABI_TYPE_HOMOGENEOUS_LIST;
  return 0;
}

static const char* read_compound_name(json* j, const char* p, int64_t* type) {
  static const char* const expected = "\"ndarray\", \"slist\" or the like";
  text t;
  char memory[WORD_SIZE];
  /* most records have this name, hardly one escapes a letter of it */
  static const char ndarray[] = "\"ndarray\"";
  size_t n = sizeof ndarray - 1;
  if ((size_t)(j->end - p) >= n && memcmp(p, ndarray, n) == 0) {
    *type = FNABI_TYPE_BUFFER;
    return p + n;
  }
  if (peek(j, p) != '"') return refuse(j, FNABI_IREE_ABI_COMPOUND, p, expected);
  const char* end = read_string(j, p, &t);
  if (end == NULL) return NULL;
  *type = compound_type(word_of(&t, memory));
  return *type != 0 ? end : fail(j, FNABI_IREE_ABI_COMPOUND, p, expected);
}

/* An array, inside `depth` others. */
static const char* read_compound(json* j, const char* p, unsigned depth,
                                 bool argument) {
  const char* begin = p;
  int64_t type = 0;
  if (depth == FNABI_DEPTH_MAX) return fail(j, FNABI_DEPTH, p, EXPECT_DEPTH);
  depth++;
  p = read_field(j, p + 1, 0, "the name of a compound type");
  if (p == NULL) return NULL;
  if ((p = read_compound_name(j, p, &type)) == NULL) return within(j, 0);
  if (type == FNABI_TYPE_BUFFER) return read_ndarray(j, p, depth);
  if (type == FNABI_TYPE_NAMED && !argument)
    return fail(j, FNABI_IREE_ABI_NAMED, begin, NULL);
  fnabi_pack_array(j->w, type == FNABI_TYPE_NAMED ? 3 : 2);
  fnabi_pack_int(j->w, type);
  if (type == FNABI_TYPE_NAMED) return read_named(j, p, depth);
  if (type != FNABI_TYPE_HOMOGENEOUS_LIST)
    return read_slots(j, p, type == FNABI_TYPE_DICT, depth);
  p = read_record_field(j, p, 1, depth);
  return p == NULL ? NULL : read_end(j, p, 2);
}

static const char* read_record(json* j, const char* p, unsigned depth,
                               bool argument) {
  fnabi_dtype dtype;
  bool unknown;
  switch (peek(j, p)) {
    case '[':
      return read_compound(j, p, depth, argument);
    case 'n':
      fnabi_pack_array(j->w, 1);
      fnabi_pack_int(j->w, FNABI_TYPE_NULL);
      return read_word(j, p, "null");
    case '"':
      if ((p = read_type_name(j, p, &dtype, &unknown)) == NULL) return NULL;
      fnabi_pack_array(j->w, unknown ? 1 : 2);
      fnabi_pack_int(j->w, unknown ? FNABI_TYPE_UNKNOWN : FNABI_TYPE_SCALAR);
      if (!unknown) fnabi_pack_dtype(j->w, &dtype);
      return p;
    default:
      return refuse(j, FNABI_IREE_ABI_RECORD, p, EXPECT_RECORD);
  }
}

static const char* read_records(json* j, const char* p, bool arguments) {
  if (peek(j, p) != '[') return refuse(j, FNABI_IREE_ABI_SIDE, p, "'['");
  size_t place = fnabi_pack_open(j->w);
  p++;
  for (size_t i = 0;; i++) {
    bool more;
    if ((p = next(j, p, i, ']', &more)) == NULL) return NULL;
    if (!more) {
      fnabi_pack_close(j->w, place, i);
      return p;
    }
    if ((p = read_record(j, p, 2, arguments)) == NULL) return within(j, i);
  }
}

static const char* read_side(json* j, const char* p, unsigned side) {
  p = read_records(j, p, side == 0);
  if (p == NULL) fnabi_path_field(j->error, side_names[side]);
  return p;
}

/* Which side a key means; 2: none. */
static unsigned side_of(const text* key) {
  char memory[WORD_SIZE];
  fnabi_text w = word_of(key, memory);
  return FNABI_TEXT_IS(w, "a") ? 0 : FNABI_TEXT_IS(w, "r") ? 1 : 2;
}

/* The members from p on that are no sides. All members are known to be sound.
 */
static void pack_others(json* j, const char* p) {
  text key;
  for (size_t i = 0;; i++) {
    bool more;
    const char* value;
    if ((p = next(j, p, i, '}', &more)) == NULL || !more ||
        (value = read_key(j, p, &key)) == NULL ||
        (p = skip_value(j, value, 1)) == NULL)
      return; /* the end, or changed while read */
    if (side_of(&key) < 2) continue;
    fnabi_pack_array(j->w, 2);
    pack_text(j, &key);
    fnabi_pack_string(j->w, (size_t)(p - value));
    fnabi_put(j->w, value, (size_t)(p - value));
  }
}

/* The members of the object from p on. "r" before "a" is read at once for its
 * errors, and read again to be written behind "a". Where there are `others`
 * is looked at once more too. */
static const char* read_members(json* j, const char* p) {
  const char* members = p;
  const char* sides[2] = {NULL, NULL}; /* where their values stand */
  fnabi_writer* w = j->w;
  unsigned written = 0;
  size_t others = 0;
  for (size_t i = 0;; i++) {
    bool more;
    text key;
    if ((p = next(j, p, i, '}', &more)) == NULL) return NULL;
    if (!more) break;
    const char* begin = p;
    if ((p = read_key(j, p, &key)) == NULL) return NULL;
    unsigned side = side_of(&key);
    if (side == 2) {
      others++;
      p = skip_value(j, p, 1);
    } else if (sides[side] != NULL) {
      return fail(j, FNABI_IREE_ABI_DUPLICATE, begin, NULL);
    } else {
      fnabi_writer nowhere = {NULL, 0, 0};
      sides[side] = p;
      if (side == written)
        written++;
      else
        j->w = &nowhere;
      p = read_side(j, p, side);
      j->w = w;
    }
    if (p == NULL) return NULL;
  }
  for (unsigned side = 0; side < 2; side++)
    if (sides[side] == NULL)
      return fail(j, FNABI_IREE_ABI_MISSING, p - 1,
                  side == 0 ? "\"a\"" : "\"r\"");
  if (written == 1 && read_side(j, sides[1], 1) == NULL) return NULL;
  size_t place = fnabi_pack_open(w);
  if (others > 0) pack_others(j, members);
  fnabi_pack_close(w, place, others);
  return p;
}

bool fnabi_iree_abi_write(const char* data, size_t size, fnabi_writer* w,
                          fnabi_error* error) {
  if (size == 0) data = ""; /* not NULL, which is failure */
  json j = {data, data + size, w, error};
  if ((uint64_t)size > UINT32_MAX)
    return fail(&j, FNABI_JSON_SIZE, data, "less than 4 GiB") != NULL;
  fnabi_pack_array(w, 3);
  const char* p = skip_space(&j, data);
  p = peek(&j, p) == '{' ? read_members(&j, p + 1)
                         : refuse(&j, FNABI_IREE_ABI_OBJECT, p, "'{'");
  if (p == NULL) return false;
  p = skip_space(&j, p);
  return p == j.end || fail(&j, FNABI_JSON, p, "the end") != NULL;
}

int64_t fnabi_iree_abi_decode(const char* data, size_t size, uint8_t* out,
                              size_t capacity, fnabi_error* error) {
  fnabi_writer w = {out, capacity, 0};
  return fnabi_iree_abi_write(data, size, &w, error) ? (int64_t)w.size : -1;
}

/* ------------------------------------------------------------------ writing */

static bool refuse_part(fnabi_error* error, int32_t code, const char* expected,
                        const char* field) {
  fnabi_fail(error, code, 0, expected);
  if (field != NULL) fnabi_path_field(error, field);
  return false;
}

static void put_ascii(fnabi_writer* w, const char* ascii) {
  fnabi_put(w, ascii, strlen(ascii));
}

/* A string with as few escapes as can be. False when it is not UTF-8. */
static bool put_string(fnabi_writer* w, const char* data, size_t size) {
  static const char letters[] = "\b\f\n\r\t\"\\", names[] = "bfnrt\"\\";
  static const char hex[] = "0123456789abcdef";
  fnabi_put_byte(w, '"');
  for (size_t i = 0, n; i < size; i += n) {
    n = fnabi_utf8_size((const uint8_t*)data + i, size - i);
    if (n == 0) return false;
    char c = data[i];
    const char* letter = memchr(letters, c, sizeof letters - 1);
    if (letter != NULL) {
      char escape[] = {'\\', names[letter - letters]};
      fnabi_put(w, escape, sizeof escape);
    } else if (n == 1 && c < ' ') {
      char escape[] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
      fnabi_put(w, escape, sizeof escape);
    } else {
      fnabi_put(w, data + i, n);
    }
  }
  fnabi_put_byte(w, '"');
  return true;
}

static bool encode_text(fnabi_reader* r, fnabi_writer* w, fnabi_error* error) {
  const char* data;
  size_t size;
  if (!fnabi_unpack_text(r, &data, &size))
    return refuse_part(error, FNABI_MESSAGE, "a str", NULL);
  return put_string(w, data, size) ||
         refuse_part(error, FNABI_JSON_UTF8, NULL, NULL);
}

static bool encode_dtype(fnabi_reader* r, fnabi_writer* w, fnabi_error* error) {
  fnabi_dtype dtype;
  if (!fnabi_unpack_dtype(r, &dtype, error)) return false;
  char letter = 'i';
  bool good = dtype.format_size == 0;
  switch (dtype.kind) {
    case FNABI_DTYPE_BOOL:
      good = good && dtype.bits == 1;
      break;
    case FNABI_DTYPE_SIGNLESS: /* "i1" is bool */
      good = good && dtype.bits > 1;
      break;
    case FNABI_DTYPE_FLOAT:
      letter = 'f';
      break;
    case FNABI_DTYPE_BFLOAT:
      letter = 'f';
      good = good && dtype.bits == 16;
      break;
    default:
      good = false;
  }
  if (!good)
    return refuse_part(
        error, FNABI_UNSUPPORTED,
        "bool of 1 bit, signless of 2 or more, float or bfloat16", ".dtype");
  put_ascii(w, dtype.kind == FNABI_DTYPE_BFLOAT ? "\"b" : "\"");
  fnabi_put_integer(w, letter, dtype.bits);
  fnabi_put_byte(w, '"');
  return true;
}

static void put_size(fnabi_writer* w, uint64_t value) {
  fnabi_put_integer(w, ',', (int64_t)value);
}

static bool encode_dim(fnabi_reader* r, fnabi_writer* w, fnabi_error* error) {
  int64_t dim;
  bool fits;
  if (fnabi_unpack_nil(r)) {
    put_ascii(w, ",null");
    return true;
  }
  if (!fnabi_unpack_integer(r, &dim, &fits))
    return refuse_part(error, FNABI_MESSAGE, "an int or None", NULL);
  if (dim < 0 || !fits)
    return refuse_part(error, FNABI_IREE_ABI_DIM,
                       "None, or 0 to 9223372036854775807", NULL);
  put_size(w, (uint64_t)dim);
  return true;
}

static bool encode_shape(fnabi_reader* r, fnabi_writer* w, fnabi_error* error) {
  size_t rank;
  if (fnabi_unpack_nil(r)) {
    put_ascii(w, ",null");
    return true;
  }
  if (!fnabi_unpack_array(r, &rank))
    return refuse_part(error, FNABI_MESSAGE, "a tuple of dims", ".shape");
  put_size(w, rank);
  for (size_t i = 0; i < rank; i++)
    if (!encode_dim(r, w, error)) {
      fnabi_path_index(error, i);
      fnabi_path_field(error, ".shape");
      return false;
    }
  return true;
}

static bool encode_type(fnabi_reader* r, fnabi_writer* w, unsigned depth,
                        bool argument, fnabi_error* error);

static bool encode_inner(fnabi_reader* r, fnabi_writer* w, unsigned depth,
                         const char* field, fnabi_error* error) {
  fnabi_put_byte(w, ',');
  if (encode_type(r, w, depth, false, error)) return true;
  fnabi_path_field(error, field);
  return false;
}

static bool encode_slot(fnabi_reader* r, fnabi_writer* w, unsigned depth,
                        fnabi_error* error) {
  size_t count;
  if (depth == FNABI_DEPTH_MAX)
    return refuse_part(error, FNABI_DEPTH, EXPECT_DEPTH, NULL);
  if (!fnabi_unpack_array(r, &count) || count != 2)
    return refuse_part(error, FNABI_MESSAGE, "a pair of key and type", NULL);
  fnabi_put_byte(w, '[');
  if (!encode_text(r, w, error)) {
    fnabi_path_index(error, 0);
    return false;
  }
  if (!encode_inner(r, w, depth + 1, "[1]", error)) return false;
  fnabi_put_byte(w, ']');
  return true;
}

static bool encode_slots(fnabi_reader* r, fnabi_writer* w, bool keys,
                         unsigned depth, fnabi_error* error) {
  size_t count, i = 0;
  if (!fnabi_unpack_array(r, &count))
    return refuse_part(error, FNABI_MESSAGE,
                       keys ? "a tuple of pairs" : "a tuple of types",
                       ".items");
  for (; i < count; i++) {
    fnabi_put_byte(w, ',');
    if (!(keys ? encode_slot(r, w, depth, error)
               : encode_type(r, w, depth, false, error)))
      break;
  }
  if (i == count) return true;
  fnabi_path_index(error, i);
  fnabi_path_field(error, ".items");
  return false;
}

/* How many elements the record of a type has, its tag included; 0: no type of
 * the IREE ABI. */
static unsigned elements(int64_t type) {
  switch (type) {
    case FNABI_TYPE_BUFFER:
    case FNABI_TYPE_REF_ARRAY:
    case FNABI_TYPE_NAMED:
      return 3;
    case FNABI_TYPE_SCALAR:
    case FNABI_TYPE_LIST:
    case FNABI_TYPE_TUPLE:
    case FNABI_TYPE_DICT:
    case FNABI_TYPE_HOMOGENEOUS_LIST:
      return 2;
    case FNABI_TYPE_NULL:
    case FNABI_TYPE_UNKNOWN:
      return 1;
    default:
      return 0;
  }
}

/* Whether a Scalar stands next. */
static bool is_scalar(fnabi_reader r) {
  size_t count;
  int64_t type;
  return fnabi_unpack_array(&r, &count) && fnabi_unpack_int(&r, &type) &&
         type == FNABI_TYPE_SCALAR;
}

static bool encode_fields(fnabi_reader* r, fnabi_writer* w, int64_t type,
                          unsigned depth, fnabi_error* error) {
  switch (type) {
    case FNABI_TYPE_BUFFER:
      put_ascii(w, "[\"ndarray\",");
      return encode_dtype(r, w, error) && encode_shape(r, w, error);
    case FNABI_TYPE_REF_ARRAY:
      put_ascii(w, "[\"ndarray\"");
      if (is_scalar(*r)) /* would be read as a Buffer */
        return refuse_part(error, FNABI_UNSUPPORTED, "a type of references",
                           ".element");
      return encode_inner(r, w, depth, ".element", error) &&
             encode_shape(r, w, error);
    case FNABI_TYPE_NAMED:
      put_ascii(w, "[\"named\",");
      if (encode_text(r, w, error))
        return encode_inner(r, w, depth, ".type", error);
      fnabi_path_field(error, ".name");
      return false;
    case FNABI_TYPE_HOMOGENEOUS_LIST:
      put_ascii(w, "[\"py_homogeneous_list\"");
      return encode_inner(r, w, depth, ".element", error);
    default:
      put_ascii(w, type == FNABI_TYPE_LIST    ? "[\"slist\""
                   : type == FNABI_TYPE_TUPLE ? "[\"stuple\""
                                              : "[\"sdict\"");
      return encode_slots(r, w, type == FNABI_TYPE_DICT, depth, error);
  }
}

static bool encode_type(fnabi_reader* r, fnabi_writer* w, unsigned depth,
                        bool argument, fnabi_error* error) {
  size_t count;
  int64_t type;
  if (!fnabi_unpack_array(r, &count) || count == 0 ||
      !fnabi_unpack_int(r, &type) ||
      (elements(type) != 0 && count != elements(type)))
    return refuse_part(error, FNABI_MESSAGE, "a type of fnabi.types", NULL);
  switch (type) {
    case FNABI_TYPE_SCALAR:
      return encode_dtype(r, w, error);
    case FNABI_TYPE_NULL:
      put_ascii(w, "null");
      return true;
    case FNABI_TYPE_UNKNOWN:
      put_ascii(w, "\"unknown\"");
      return true;
    case FNABI_TYPE_NAMED:
      if (!argument)
        return refuse_part(error, FNABI_IREE_ABI_NAMED, NULL, NULL);
  }
  if (elements(type) == 0)
    return refuse_part(error, FNABI_UNSUPPORTED, "any type but Ref", NULL);
  if (depth == FNABI_DEPTH_MAX)
    return refuse_part(error, FNABI_DEPTH, EXPECT_DEPTH, NULL);
  if (!encode_fields(r, w, type, depth + 1, error)) return false;
  fnabi_put_byte(w, ']');
  return true;
}

static bool encode_side(fnabi_reader* r, fnabi_writer* w, unsigned side,
                        fnabi_error* error) {
  const char* field = side == 0 ? "inputs" : "results";
  size_t count;
  if (!fnabi_unpack_array(r, &count))
    return refuse_part(error, FNABI_MESSAGE, "a tuple of types", field);
  put_ascii(w, side == 0 ? "{\"a\":[" : ",\"r\":[");
  for (size_t i = 0; i < count; i++) {
    if (i > 0) fnabi_put_byte(w, ',');
    if (!encode_type(r, w, 2, side == 0, error)) {
      fnabi_path_index(error, i);
      fnabi_path_field(error, field);
      return false;
    }
  }
  fnabi_put_byte(w, ']');
  return true;
}

/* A key with the text of its value. */
static bool encode_other(fnabi_reader* r, fnabi_writer* w, fnabi_error* error) {
  size_t count, size;
  fnabi_reader key = *r;
  text t;
  if (!fnabi_unpack_array(r, &count) || count != 2)
    return refuse_part(error, FNABI_MESSAGE, "a pair of key and JSON", NULL);
  key.at = r->at;
  fnabi_put_byte(w, ',');
  if (!encode_text(r, w, error)) {
    fnabi_path_index(error, 0);
    return false;
  }
  fnabi_unpack_text(&key, &t.data, &t.size);
  t.raw_size = t.size;
  if (side_of(&t) < 2)
    return refuse_part(error, FNABI_IREE_ABI_DUPLICATE,
                       "a key other than \"a\" and \"r\"", "[0]");

  const char* data;
  if (!fnabi_unpack_text(r, &data, &size))
    return refuse_part(error, FNABI_MESSAGE, "a str of JSON", "[1]");
  json j = {data, data + size, w, error};
  const char* end = skip_value(&j, data, 1);
  if (end != NULL && end != j.end) end = fail(&j, FNABI_JSON, end, "the end");
  if (end == NULL) {
    error->offset = 0;
    fnabi_path_index(error, 1);
    return false;
  }
  fnabi_put_byte(w, ':');
  fnabi_put(w, data, size);
  return true;
}

static bool encode_others(fnabi_reader* r, fnabi_writer* w,
                          fnabi_error* error) {
  size_t count;
  if (!fnabi_unpack_array(r, &count))
    return refuse_part(error, FNABI_MESSAGE, "a tuple of pairs", "extra");
  for (size_t i = 0; i < count; i++)
    if (!encode_other(r, w, error)) {
      fnabi_path_index(error, i);
      fnabi_path_field(error, "extra");
      return false;
    }
  return true;
}

int64_t fnabi_iree_abi_encode(const uint8_t* message, size_t size, uint8_t* out,
                              size_t capacity, fnabi_error* error) {
  fnabi_reader r = {message, size, 0};
  fnabi_writer w = {out, capacity, 0};
  size_t count;
  if (!fnabi_unpack_array(&r, &count) || (count != 2 && count != 3))
    return fnabi_fail(error, FNABI_MESSAGE, 0, "a Signature");
  if (!encode_side(&r, &w, 0, error) || !encode_side(&r, &w, 1, error) ||
      (count == 3 && !encode_others(&r, &w, error)))
    return -1;
  if (r.at != size) return fnabi_fail(error, FNABI_MESSAGE, 0, "a Signature");
  fnabi_put_byte(&w, '}');
  return (int64_t)w.size;
}
