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
#include "iree_abi.h"

#include "dtype.h"
#include "error.h"
#include "signature.h"

static const char* const EXPECT_DEPTH = "at most 128 levels";

/* ---------------------------------------------------------------------- JSON
 */

typedef struct json {
  const char* data;
  size_t size, at;
  fnabi_writer* w;
  fnabi_error* error;
} json;

static bool fail(json* j, int32_t code, size_t offset, const char* expected) {
  fnabi_fail(j->error, code, offset, expected);
  return false;
}

/* On the way out of element `index` of an array. */
static bool within(json* j, size_t index) {
  fnabi_path_index(j->error, index);
  return false;
}

/* The next byte; -1 at the end. */
static int peek(const json* j) {
  return j->at < j->size ? (uint8_t)j->data[j->at] : -1;
}

static bool is_digit(int c) { return c >= '0' && c <= '9'; }

/* Refuses what stands here: JSON of another kind, or no JSON at all. */
static bool refuse(json* j, int32_t code, const char* expected) {
  int c = peek(j);
  bool value = c == '"' || c == '[' || c == '{' || c == '-' || c == 't' ||
               c == 'f' || c == 'n' || is_digit(c);
  return fail(j, value ? code : (int32_t)FNABI_JSON, j->at, expected);
}

static void skip_space(json* j) {
  for (; j->at < j->size; j->at++) {
    char c = j->data[j->at];
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return;
  }
}

static bool read_word(json* j, const char* word) {
  for (const char* c = word; *c != 0; c++, j->at++)
    if (peek(j) != *c) return fail(j, FNABI_JSON, j->at, word);
  return true;
}

/* number ::= '-'? ('0' | [1-9][0-9]*) ('.' [0-9]+)? ([eE] [+-]? [0-9]+)?
 *
 * *value saturates. *natural: without sign, fraction and exponent. */
static bool read_digits(json* j) {
  if (!is_digit(peek(j))) return fail(j, FNABI_JSON_NUMBER, j->at, "a digit");
  while (is_digit(peek(j))) j->at++;
  return true;
}

static bool read_number(json* j, uint64_t* value, bool* natural) {
  *natural = peek(j) != '-';
  if (!*natural) j->at++;
  size_t begin = j->at;
  *value = 0;
  if (peek(j) == '0')
    j->at++;
  else if (!read_digits(j))
    return false;
  for (size_t i = begin; i < j->at; i++) {
    unsigned digit = (uint8_t)j->data[i] - (unsigned)'0';
    if (*value > (UINT64_MAX - digit) / 10) {
      *value = UINT64_MAX;
      break;
    }
    *value = *value * 10 + digit;
  }
  if (peek(j) == '.') {
    *natural = false;
    j->at++;
    if (!read_digits(j)) return false;
  }
  if (peek(j) == 'e' || peek(j) == 'E') {
    *natural = false;
    j->at++;
    if (peek(j) == '+' || peek(j) == '-') j->at++;
    if (!read_digits(j)) return false;
  }
  return true;
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

static bool read_string(json* j, text* t) {
  size_t begin = j->at + 1, i = begin, saved = 0;
  for (;;) {
    if (i >= j->size) return fail(j, FNABI_JSON_STRING, j->size, "'\"'");
    uint8_t c = (uint8_t)j->data[i];
    if (c == '"') break;
    if (c == '\\') {
      char utf8[4];
      size_t end, made = unescape(j->data + i, j->size - i, utf8, &end);
      if (made == 0)
        return fail(j, end == 0 ? FNABI_JSON_SURROGATE : FNABI_JSON_ESCAPE,
                    i + end, NULL);
      i += end;
      saved += end - made;
    } else if (c < ' ') {
      return fail(j, FNABI_JSON_CONTROL, i, "an escape");
    } else {
      size_t n = fnabi_utf8_size((const uint8_t*)j->data + i, j->size - i);
      if (n == 0) return fail(j, FNABI_JSON_UTF8, i, NULL);
      i += n;
    }
  }
  *t = (text){j->data + begin, i - begin, i - begin - saved};
  j->at = i + 1;
  return true;
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

typedef struct word {
  const char* data;
  size_t size;
} word;

static word word_of(const text* t, char memory[WORD_SIZE]) {
  if (t->size == t->raw_size) return (word){t->data, t->size};
  fnabi_writer w = {(uint8_t*)memory, WORD_SIZE, 0};
  put_unescaped(&w, t);
  return (word){memory, w.size <= WORD_SIZE ? w.size : 0};
}

static bool is_word(word w, const char* name) {
  return w.size == strlen(name) && memcmp(w.data, name, w.size) == 0;
}

/* Steps to the next element of an array or object. It stands then at the
 * element, which is still to be looked at, or behind the closing bracket. */
typedef enum step { ELEMENT, CLOSED, BROKEN } step;

static step next(json* j, size_t index, char closing) {
  skip_space(j);
  int c = peek(j);
  if (c == closing) {
    j->at++;
    return CLOSED;
  }
  if (index == 0) return ELEMENT;
  if (c != ',') {
    fail(j, FNABI_JSON, j->at, closing == ']' ? "',' or ']'" : "',' or '}'");
    return BROKEN;
  }
  j->at++;
  skip_space(j);
  return ELEMENT;
}

/* A key and its ':', up to the value. */
static bool read_key(json* j, text* key) {
  if (peek(j) != '"') return fail(j, FNABI_JSON, j->at, "a key");
  if (!read_string(j, key)) return false;
  skip_space(j);
  if (peek(j) != ':') return fail(j, FNABI_JSON, j->at, "':'");
  j->at++;
  skip_space(j);
  return true;
}

/* Any value inside `depth` arrays and objects. */
static bool skip_value(json* j, unsigned depth) {
  text t;
  uint64_t number;
  bool natural;
  int c = peek(j);
  switch (c) {
    case '"':
      return read_string(j, &t);
    case 't':
      return read_word(j, "true");
    case 'f':
      return read_word(j, "false");
    case 'n':
      return read_word(j, "null");
    case '[':
    case '{':
      break;
    default:
      if (c != '-' && !is_digit(c))
        return fail(j, FNABI_JSON, j->at, "a value");
      return read_number(j, &number, &natural);
  }
  if (depth == FNABI_DEPTH_MAX)
    return fail(j, FNABI_DEPTH, j->at, EXPECT_DEPTH);
  j->at++;
  for (size_t i = 0;; i++) {
    step s = next(j, i, c == '[' ? ']' : '}');
    if (s != ELEMENT) return s == CLOSED;
    if ((c == '{' && !read_key(j, &t)) || !skip_value(j, depth + 1))
      return false;
  }
}

/* ------------------------------------------------------------------- reading
 */

static const char* const EXPECT_RECORD = "a type record";

static const char* const side_names[] = {"a", "r"};

static bool read_record(json* j, unsigned depth, bool argument);

/* A field of a compound type that must be there; and their end. */
static bool read_field(json* j, size_t index, const char* expected) {
  step s = next(j, index, ']');
  if (s == CLOSED) return fail(j, FNABI_IREE_ABI_FIELD, j->at - 1, expected);
  return s == ELEMENT;
}

static bool read_end(json* j, size_t index) {
  step s = next(j, index, ']');
  if (s != ELEMENT) return s == CLOSED;
  refuse(j, FNABI_IREE_ABI_FIELD, "']'");
  return within(j, index);
}

static bool read_record_field(json* j, size_t index, unsigned depth) {
  return read_field(j, index, EXPECT_RECORD) &&
         (read_record(j, depth, false) || within(j, index));
}

/* A name or key, field `index` of its array. */
static bool read_name(json* j, size_t index) {
  text t;
  if (!read_field(j, index, "a string")) return false;
  if (peek(j) != '"')
    refuse(j, FNABI_IREE_ABI_NAME, "a string");
  else if (read_string(j, &t)) {
    pack_text(j, &t);
    return true;
  }
  return within(j, index);
}

static bool parse_primitive(word w, fnabi_dtype* dtype) {
  *dtype = (fnabi_dtype){FNABI_DTYPE_BFLOAT, 16, "", 0};
  if (is_word(w, "bf16")) return true;
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

/* The string that stands here: a primitive type, or *unknown. */
static bool read_type_name(json* j, fnabi_dtype* dtype, bool* unknown) {
  size_t at = j->at;
  text t;
  char memory[WORD_SIZE];
  if (!read_string(j, &t)) return false;
  word w = word_of(&t, memory);
  *unknown = is_word(w, "unknown");
  return *unknown || parse_primitive(w, dtype) ||
         fail(j, FNABI_IREE_ABI_PRIMITIVE, at,
              "\"i32\", \"f32\", \"bf16\", \"unknown\" or the like");
}

static bool read_dim(json* j) {
  int c = peek(j);
  if (c == 'n') {
    fnabi_pack_nil(j->w);
    return read_word(j, "null");
  }
  static const char* const expected = "null, or 0 to 9223372036854775807";
  if (c != '-' && !is_digit(c)) return refuse(j, FNABI_IREE_ABI_DIM, expected);
  size_t at = j->at;
  uint64_t dim;
  bool natural;
  if (!read_number(j, &dim, &natural)) return false;
  if (!natural || dim > INT64_MAX)
    return fail(j, FNABI_IREE_ABI_DIM, at, expected);
  fnabi_pack_uint(j->w, dim);
  return true;
}

/* The rank and the dims, from field 2 of the record on. */
static bool read_rank(json* j, bool* known, uint64_t* rank) {
  static const char* const expected = "null, or 0 or more";
  int c = peek(j);
  *rank = 0;
  *known = c != 'n';
  if (!*known) return read_word(j, "null");
  if (c != '-' && !is_digit(c)) return refuse(j, FNABI_IREE_ABI_RANK, expected);
  size_t at = j->at;
  bool natural;
  return read_number(j, rank, &natural) &&
         (natural || fail(j, FNABI_IREE_ABI_RANK, at, expected));
}

static bool read_shape(json* j) {
  bool known;
  uint64_t rank;
  if (!read_field(j, 2, "a rank")) return false;
  if (!read_rank(j, &known, &rank)) return within(j, 2);
  size_t place = j->w->size, i = 0;
  if (known)
    fnabi_pack_open(j->w);
  else
    fnabi_pack_nil(j->w);
  for (;; i++) {
    step s = next(j, 3 + i, ']');
    if (s == BROKEN) return false;
    if (s == CLOSED) break;
    if (i == rank) {
      refuse(j, FNABI_IREE_ABI_DIMS, "']'");
      return within(j, 3 + i);
    }
    if (!read_dim(j)) return within(j, 3 + i);
  }
  if (i != rank) return fail(j, FNABI_IREE_ABI_DIMS, j->at - 1, "a dim");
  if (known) fnabi_pack_close(j->w, place, i);
  return true;
}

static bool read_element(json* j, unsigned depth) {
  fnabi_dtype dtype;
  bool unknown;
  fnabi_pack_array(j->w, 3);
  if (peek(j) != '"') {
    fnabi_pack_int(j->w, FNABI_TYPE_REF_ARRAY);
    return read_record(j, depth, false);
  }
  if (!read_type_name(j, &dtype, &unknown)) return false;
  if (unknown) {
    fnabi_pack_int(j->w, FNABI_TYPE_REF_ARRAY);
    fnabi_pack_array(j->w, 1);
    fnabi_pack_int(j->w, FNABI_TYPE_UNKNOWN);
  } else {
    fnabi_pack_int(j->w, FNABI_TYPE_BUFFER);
    fnabi_pack_dtype(j->w, &dtype);
  }
  return true;
}

/* [key, record] */
static bool read_slot(json* j, unsigned depth) {
  if (peek(j) != '[') return refuse(j, FNABI_IREE_ABI_SLOT, "'['");
  if (depth == FNABI_DEPTH_MAX)
    return fail(j, FNABI_DEPTH, j->at, EXPECT_DEPTH);
  j->at++;
  fnabi_pack_array(j->w, 2);
  return read_name(j, 0) && read_record_field(j, 1, depth + 1) &&
         read_end(j, 2);
}

/* The slots from field 1 of the record on. */
static bool read_slots(json* j, bool keys, unsigned depth) {
  size_t place = fnabi_pack_open(j->w);
  for (size_t i = 1;; i++) {
    step s = next(j, i, ']');
    if (s == BROKEN) return false;
    if (s == CLOSED) {
      fnabi_pack_close(j->w, place, i - 1);
      return true;
    }
    if (!(keys ? read_slot(j, depth) : read_record(j, depth, false)))
      return within(j, i);
  }
}

typedef struct compound {
  const char* name;
  fnabi_type type;
} compound;

static const compound compounds[] = {
    {"ndarray", FNABI_TYPE_BUFFER},
    {"named", FNABI_TYPE_NAMED},
    {"slist", FNABI_TYPE_LIST},
    {"stuple", FNABI_TYPE_TUPLE},
    {"sdict", FNABI_TYPE_DICT},
    {"py_homogeneous_list", FNABI_TYPE_HOMOGENEOUS_LIST},
};
#define COMPOUND_COUNT (sizeof compounds / sizeof compounds[0])

/* NULL when it fails. */
static const compound* read_compound_name(json* j) {
  static const char* const expected = "\"ndarray\", \"slist\" or the like";
  size_t at = j->at;
  text t;
  char memory[WORD_SIZE];
  if (peek(j) != '"') {
    refuse(j, FNABI_IREE_ABI_COMPOUND, expected);
    return NULL;
  }
  if (!read_string(j, &t)) return NULL;
  word w = word_of(&t, memory);
  for (size_t i = 0; i < COMPOUND_COUNT; i++)
    if (is_word(w, compounds[i].name)) return &compounds[i];
  fail(j, FNABI_IREE_ABI_COMPOUND, at, expected);
  return NULL;
}

/* An array, inside `depth` others. */
static bool read_compound(json* j, unsigned depth, bool argument) {
  size_t at = j->at;
  if (depth == FNABI_DEPTH_MAX) return fail(j, FNABI_DEPTH, at, EXPECT_DEPTH);
  j->at++;
  depth++;
  if (!read_field(j, 0, "the name of a compound type")) return false;
  const compound* found = read_compound_name(j);
  if (found == NULL) return within(j, 0);
  if (found->type == FNABI_TYPE_BUFFER)
    return read_field(j, 1, EXPECT_RECORD) &&
           (read_element(j, depth) || within(j, 1)) && read_shape(j);
  fnabi_pack_array(j->w, found->type == FNABI_TYPE_NAMED ? 3 : 2);
  fnabi_pack_int(j->w, found->type);
  switch (found->type) {
    case FNABI_TYPE_NAMED:
      if (!argument) return fail(j, FNABI_IREE_ABI_NAMED, at, NULL);
      return read_name(j, 1) && read_record_field(j, 2, depth) &&
             read_end(j, 3);
    case FNABI_TYPE_HOMOGENEOUS_LIST:
      return read_record_field(j, 1, depth) && read_end(j, 2);
    default:
      return read_slots(j, found->type == FNABI_TYPE_DICT, depth);
  }
}

static bool read_record(json* j, unsigned depth, bool argument) {
  fnabi_dtype dtype;
  bool unknown;
  switch (peek(j)) {
    case '[':
      return read_compound(j, depth, argument);
    case 'n':
      fnabi_pack_array(j->w, 1);
      fnabi_pack_int(j->w, FNABI_TYPE_NULL);
      return read_word(j, "null");
    case '"':
      if (!read_type_name(j, &dtype, &unknown)) return false;
      fnabi_pack_array(j->w, unknown ? 1 : 2);
      fnabi_pack_int(j->w, unknown ? FNABI_TYPE_UNKNOWN : FNABI_TYPE_SCALAR);
      if (!unknown) fnabi_pack_dtype(j->w, &dtype);
      return true;
    default:
      return refuse(j, FNABI_IREE_ABI_RECORD, EXPECT_RECORD);
  }
}

static bool read_side(json* j, unsigned side) {
  size_t place = fnabi_pack_open(j->w), i = 0;
  step s = BROKEN;
  if (peek(j) != '[') {
    refuse(j, FNABI_IREE_ABI_SIDE, "'['");
  } else {
    j->at++;
    while ((s = next(j, i, ']')) == ELEMENT && read_record(j, 2, side == 0))
      i++;
    fnabi_pack_close(j->w, place, i);
    if (s == CLOSED) return true;
    if (s == ELEMENT) within(j, i);
  }
  fnabi_path_field(j->error, side_names[side]);
  return false;
}

/* Which side a key means; 2: none. */
static unsigned side_of(const text* key) {
  char memory[WORD_SIZE];
  word w = word_of(key, memory);
  return is_word(w, "a") ? 0 : is_word(w, "r") ? 1 : 2;
}

/* The members of the object, of which `sides` are known: all are sound. */
static void pack_others(json* j) {
  text key;
  for (size_t i = 0; next(j, i, '}') == ELEMENT; i++) {
    if (!read_key(j, &key)) return; /* changed while read */
    size_t value = j->at;
    if (!skip_value(j, 1)) return;
    if (side_of(&key) < 2) continue;
    fnabi_pack_array(j->w, 2);
    pack_text(j, &key);
    fnabi_pack_string(j->w, j->at - value);
    fnabi_put(j->w, j->data + value, j->at - value);
  }
}

bool fnabi_iree_abi_write(const char* data, size_t size, fnabi_writer* w,
                          fnabi_error* error) {
  json j = {data, size, 0, w, error};
  if ((uint64_t)size > UINT32_MAX) return fail(&j, FNABI_JSON_SIZE, 0, NULL);
  fnabi_pack_array(w, 3);
  skip_space(&j);
  if (peek(&j) != '{') return refuse(&j, FNABI_IREE_ABI_OBJECT, "'{'");
  size_t members = ++j.at;

  size_t sides[2] = {0, 0}; /* where they stand */
  unsigned written = 0;
  size_t others = 0;
  step s;
  for (size_t i = 0; (s = next(&j, i, '}')) == ELEMENT; i++) {
    size_t at = j.at;
    text key;
    if (!read_key(&j, &key)) return false;
    unsigned side = side_of(&key);
    if (side == 2) {
      others++;
      if (!skip_value(&j, 1)) return false;
      continue;
    }
    if (sides[side] != 0)
      return fail(&j, FNABI_IREE_ABI_DUPLICATE, at, "another key");
    sides[side] = j.at;
    /* "r" before "a" is read now for its errors, and later to be written */
    fnabi_writer nowhere = {NULL, 0, 0};
    bool in_order = side == written;
    j.w = in_order ? w : &nowhere;
    written += in_order;
    if (!read_side(&j, side)) return false;
  }
  if (s == BROKEN) return false;
  for (unsigned side = 0; side < 2; side++)
    if (sides[side] == 0)
      return fail(&j, FNABI_IREE_ABI_MISSING, j.at - 1,
                  side == 0 ? "\"a\"" : "\"r\"");
  skip_space(&j);
  if (j.at != size) return fail(&j, FNABI_JSON, j.at, "the end");

  j.w = w;
  j.at = sides[1];
  if (written == 1 && !read_side(&j, 1)) return false;
  size_t place = fnabi_pack_open(w);
  j.at = members;
  if (others > 0) pack_others(&j);
  fnabi_pack_close(w, place, others);
  return true;
}

int64_t fnabi_iree_abi_decode(const char* data, size_t size, uint8_t* out,
                              size_t capacity, fnabi_error* error) {
  fnabi_writer w = {out, capacity, 0};
  return fnabi_iree_abi_write(data, size, &w, error) ? (int64_t)w.size : -1;
}

/* ------------------------------------------------------------------- writing
 */

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
  if (!fnabi_unpack_dtype(r, &dtype))
    return refuse_part(error, FNABI_MESSAGE, "a DType", ".dtype");
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

static bool encode_fields(fnabi_reader* r, fnabi_writer* w, int64_t type,
                          unsigned depth, fnabi_error* error) {
  switch (type) {
    case FNABI_TYPE_BUFFER:
      put_ascii(w, "[\"ndarray\",");
      return encode_dtype(r, w, error) && encode_shape(r, w, error);
    case FNABI_TYPE_REF_ARRAY:
      put_ascii(w, "[\"ndarray\"");
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
    return refuse_part(error, FNABI_IREE_ABI_DUPLICATE, "another key", "[0]");

  json j = {NULL, 0, 0, w, error};
  if (!fnabi_unpack_text(r, &j.data, &size))
    return refuse_part(error, FNABI_MESSAGE, "a str of JSON", "[1]");
  j.size = size;
  if (!skip_value(&j, 1) ||
      (j.at != size && !fail(&j, FNABI_JSON, j.at, "the end"))) {
    error->offset = 0;
    fnabi_path_index(error, 1);
    return false;
  }
  fnabi_put_byte(w, ':');
  fnabi_put(w, j.data, size);
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
