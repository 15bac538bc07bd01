/* The declaration of a function (attribute `iree.abi.declaration`), as the
 * compilers print it:
 *
 *   declaration ::= ('sync ' | 'async ')? 'func @' name
 *                   '(' values? ') -> (' values? ')'
 *   values      ::= value (', ' value)*
 *   value       ::= '%' name ': ' type (' ' attributes)?
 *   attributes  ::= '{' (attribute (',' ' '? attribute)*)? '}'
 *   attribute   ::= text (' = ' text)?
 *   type        ::= '!'? [A-Za-z] [A-Za-z0-9_$.-]* ('<' text '>')?
 *                 | '(' text ')' ' -> ' type-or-'(' text ')'
 *   text        ::= any bytes, or none, with brackets and quotes that match;
 *                   '->' and '>=' are no brackets
 *   name        ::= any bytes
 *
 * Names are not escaped, so a text may have several readings. The decoder takes
 * the one that ends every name as early as possible. If each ", %" and "(%"
 * after the function's name begins a value in it, no other reading has as many
 * values: it would have to begin them at other offsets. In the readings with
 * fewer values, some values and the commas after them are part of the name of
 * the next one.
 *
 * Time: a type that is tried inside another is one bracket deeper, and at most
 * FNABI_DEPTH_MAX are nested, so a byte is read no more often than that (twice
 * that with quotes). Each list is tried at most once from its first value: a
 * list that cannot be read from there cannot be read from a later offset. */
#include "abi/declaration.h"

#include "base/dtype.h"
#include "base/poll.h"

enum { INPUTS, RESULTS };

/* The references after the arguments of an async function, which its
 * declaration does not contain. */
enum { FENCES = 2 };

static const char* const EXPECT_VALUE = "'%' name ': ' type";

typedef struct reading {
  const char* data;
  size_t size;
  fnabi_writer* w;
  const fnabi_known* told;  /* of both sides */
  const fnabi_known* known; /* the same; NULL: accept every value */
  size_t count[2];          /* values */
  size_t starts;            /* ", %" and "(%" that begin a value or could */
  size_t lists;             /* where the function's name ends */
  bool named[2];   /* a value but the first has a name that the compiler did
                      not generate; checked where the count is not known */
  bool several;    /* another choice of values is as good */
  bool odd_type;   /* an unknown word is in the position of a type */
  bool types_only; /* the signature alone is written */
  bool results_tried;
  bool ascii;   /* the whole text */
  int32_t code; /* what ends reading at `stuck`: FNABI_DEPTH or
                   FNABI_INTERRUPTED; or FNABI_OK */
  size_t stuck; /* the last value that could not be read */
  size_t stuck_index;
  int stuck_side;
} reading;

/* Whether reading must end, at `at`. */
static bool is_stopped(reading* r, size_t at) {
  if (!fnabi_poll(8)) return false;
  r->code = FNABI_INTERRUPTED;
  r->stuck = at;
  return true;
}

/* ----------------------------------------------------------------- scanning */

static bool stands_at(const reading* r, size_t at, const char* text,
                      size_t size) {
  return at <= r->size && size <= r->size - at &&
         memcmp(r->data + at, text, size) == 0;
}
#define AT(r, at, text) stands_at(r, at, text, sizeof(text) - 1)

#define IS(data, size, text) \
  ((size) == sizeof(text) - 1 && memcmp(data, text, sizeof(text) - 1) == 0)
/* `text` and more. */
#define BEGINS(data, size, text) \
  ((size) > sizeof(text) - 1 && memcmp(data, text, sizeof(text) - 1) == 0)

/* The first `byte` in [at, end), or `end`. */
static size_t find(const reading* r, size_t at, size_t end, char byte) {
  const char* found = at < end ? memchr(r->data + at, byte, end - at) : NULL;
  return found == NULL ? end : (size_t)(found - r->data);
}

/* The role of a byte among brackets; of an opening one, its closing one. */
enum { PLAIN, QUOTE, CLOSING };
static const uint8_t bracket[256] = {
    ['"'] = QUOTE,   [')'] = CLOSING, [']'] = CLOSING,
    ['}'] = CLOSING, ['>'] = CLOSING, ['('] = ')',
    ['['] = ']',     ['{'] = '}',     ['<'] = '>',
};

/* The '>' of '->' and '>=' is no bracket. */
static bool is_operator(const reading* r, size_t at) {
  return r->data[at] == '>' && (r->data[at - 1] == '-' ||
                                (at + 1 < r->size && r->data[at + 1] == '='));
}

/* The offset after the bracket that closes the one at `at`; 0 where there is
 * none. Quotes in quoted text are printed as \22. */
static size_t skip_brackets(reading* r, size_t at) {
  uint8_t open[FNABI_DEPTH_MAX];
  unsigned depth = 0;
  for (; at < r->size; at++) {
    uint8_t kind = bracket[(uint8_t)r->data[at]];
    if (kind == PLAIN) continue;
    if (kind == QUOTE) {
      at = find(r, at + 1, r->size, '"');
    } else if (kind == CLOSING) {
      if (is_operator(r, at)) continue;
      if (depth == 0 || (uint8_t)r->data[at] != open[depth - 1]) return 0;
      if (--depth == 0) return at + 1;
    } else if (depth == FNABI_DEPTH_MAX) {
      r->code = FNABI_DEPTH;
      r->stuck = at;
      return 0;
    } else {
      open[depth++] = kind;
    }
  }
  return 0;
}

static bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

static bool is_letter(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

/* [A-Za-z0-9_$.-], a bit a byte. */
static const uint64_t words[4] = {UINT64_C(0x03FF601000000000),
                                  UINT64_C(0x07FFFFFE87FFFFFE), 0, 0};

static bool is_word(char byte) {
  uint8_t place = (uint8_t)byte;
  return (words[place / 64] >> (place % 64) & 1) != 0;
}

/* '!'? [A-Za-z] [A-Za-z0-9_$.-]* ('<' text '>')? */
static size_t skip_named_type(reading* r, size_t at) {
  if (at < r->size && r->data[at] == '!') at++;
  if (at >= r->size || !is_letter(r->data[at])) return 0;
  do at++;
  while (at < r->size && is_word(r->data[at]));
  return at < r->size && r->data[at] == '<' ? skip_brackets(r, at) : at;
}

/* The offset after the type at `at`; 0 where there is none. */
static size_t skip_type(reading* r, size_t at) {
  if (!AT(r, at, "(")) return skip_named_type(r, at);
  at = skip_brackets(r, at);
  if (at == 0 || !AT(r, at, " -> ")) return 0;
  at += 4;
  return AT(r, at, "(") ? skip_brackets(r, at) : skip_named_type(r, at);
}

/* -------------------------------------------------------------------- types */

static void write_text(reading* r, size_t at, size_t end) {
  if (r->ascii) {
    fnabi_pack_string(r->w, end - at);
    fnabi_put_some(r->w, r->data + at, end - at, r->size - at);
  } else {
    fnabi_pack_text(r->w, r->data + at, end - at);
  }
}

static int64_t write_unknown(fnabi_writer* w) {
  fnabi_pack_array(w, 1);
  fnabi_pack_int(w, FNABI_TYPE_UNKNOWN);
  return FNABI_TYPE_UNKNOWN;
}

/* (('?' | [0-9]+) 'x')* in exactly [at, end), as an array of `rank` dims. */
static bool write_dims(const reading* r, size_t at, size_t end, size_t rank) {
  fnabi_pack_count(r->w, rank);
  for (; at < end; at++) {
    if (r->data[at] == '?') {
      fnabi_pack_nil(r->w);
      at++;
    } else {
      size_t start = at;
      int64_t dim = 0;
      for (; at < end && is_digit(r->data[at]); at++) {
        int64_t digit = r->data[at] - '0';
        if (dim > (INT64_MAX - digit) / 10) return false;
        dim = 10 * dim + digit;
      }
      if (at == start) return false;
      fnabi_pack_int(r->w, dim);
    }
    if (at == end || r->data[at] != 'x') return false;
    rank--;
  }
  return rank == 0;
}

/* tensor ::= 'tensor<' ('*x' | dim*) element (', ' encoding)? '>'
 * [at, end) is the text between the angle brackets. */
static int64_t write_tensor(reading* r, size_t at, size_t end) {
  fnabi_dtype dtype;
  size_t start = r->w->size, element = at, rank = 0;
  for (; element < end; element++) {
    char byte = r->data[element];
    if (byte == 'x')
      rank++;
    else if (!is_digit(byte) && byte != '?' && byte != '*')
      break;
  }
  size_t comma = find(r, element, end, ',');
  if (fnabi_read_dtype(r->data + element, comma - element, &dtype)) {
    fnabi_pack_array(r->w, 3);
    fnabi_pack_int(r->w, FNABI_TYPE_BUFFER);
    fnabi_pack_dtype(r->w, &dtype);
    if (IS(r->data + at, element - at, "*x")) {
      fnabi_pack_nil(r->w);
      return FNABI_TYPE_BUFFER;
    }
    if (write_dims(r, at, element, rank)) return FNABI_TYPE_BUFFER;
    r->w->size = start;
  }
  return write_unknown(r->w);
}

#define PLAIN_RANK 8

/* A common type, read in one pass: an element type, or a tensor of known rank
 * without an encoding. */
typedef struct plain_type {
  size_t end; /* 0: another type, or one with more or longer dims */
  bool tensor;
  unsigned rank;
  int64_t dims[PLAIN_RANK]; /* negative: any */
  fnabi_dtype dtype;
} plain_type;

/* The position is kept in local variables: a compiler then knows that writing
 * to *p does not change it. */
static void scan_plain_type(const reading* r, size_t at, plain_type* p) {
  enum { DIGITS = 18 }; /* always fit in int64 */
  const char *s = r->data + at, *end = r->data + r->size;
  bool tensor = AT(r, at, "tensor<");
  unsigned rank = 0;
  p->end = 0;
  p->tensor = tensor;
  if (tensor) {
    for (s += 7; s < end; s++) {
      const char* start = s;
      int64_t dim = 0;
      if (*s == '?') {
        dim = -1;
        s++;
      } else {
        for (; s < end && is_digit(*s); s++)
          if (s - start < DIGITS) dim = 10 * dim + (*s - '0');
      }
      if (s == start) break;
      if (s == end || *s != 'x' || s - start > DIGITS || rank == PLAIN_RANK)
        return;
      p->dims[rank++] = dim;
    }
  }
  p->rank = rank;
  const char* element = s;
  while (s < end && is_word(*s)) s++;
  if (s == end || (tensor ? *s != '>' : *s == '<') ||
      !fnabi_read_dtype(element, (size_t)(s - element), &p->dtype))
    return;
  p->end = (size_t)(s - r->data) + tensor;
}

static int64_t write_plain_type(fnabi_writer* w, const plain_type* p) {
  fnabi_pack_array(w, p->tensor ? 3 : 2);
  fnabi_pack_int(w, p->tensor ? FNABI_TYPE_BUFFER : FNABI_TYPE_SCALAR);
  fnabi_pack_dtype(w, &p->dtype);
  if (!p->tensor) return FNABI_TYPE_SCALAR;
  fnabi_pack_array(w, p->rank);
  for (unsigned i = 0; i < p->rank; i++)
    if (p->dims[i] < 0)
      fnabi_pack_nil(w);
    else
      fnabi_pack_int(w, p->dims[i]);
  return FNABI_TYPE_BUFFER;
}

/* Writes the type [at, end) and returns its fnabi_type. Recurs once per level
 * of brackets, at most FNABI_DEPTH_MAX times. */
static int64_t write_type(reading* r, size_t at, size_t end) {
  const char* text = r->data + at;
  size_t size = end - at;
  fnabi_dtype dtype;
  if (BEGINS(text, size, "tensor<")) return write_tensor(r, at + 7, end - 1);
  if (fnabi_read_dtype(text, size, &dtype)) {
    fnabi_pack_array(r->w, 2);
    fnabi_pack_int(r->w, FNABI_TYPE_SCALAR);
    fnabi_pack_dtype(r->w, &dtype);
    return FNABI_TYPE_SCALAR;
  }
  if (*text != '!') return write_unknown(r->w);
  fnabi_pack_array(r->w, 2);
  if (BEGINS(text, size, "!util.list<")) {
    size_t element = at + 11;
    bool any = IS(r->data + element, end - 1 - element, "?");
    if (any || skip_type(r, element) == end - 1) {
      fnabi_pack_int(r->w, FNABI_TYPE_HOMOGENEOUS_LIST);
      if (any)
        write_unknown(r->w);
      else
        write_type(r, element, end - 1);
      return FNABI_TYPE_HOMOGENEOUS_LIST;
    }
  }
  fnabi_pack_int(r->w, FNABI_TYPE_REF);
  if (IS(text, size, "!vm.ref<?>"))
    fnabi_pack_nil(r->w);
  else
    write_text(r, at, end);
  return FNABI_TYPE_REF;
}

/* The calling convention's letter for a type; 0: not known. */
static char letter_of(const reading* r, size_t at, size_t end) {
  const char* text = r->data + at;
  fnabi_dtype dtype;
  if (*text == '!' || BEGINS(text, end - at, "tensor<")) return 'r';
  if (!fnabi_read_dtype(text, end - at, &dtype)) return 0;
  if (dtype.kind == FNABI_DTYPE_COMPLEX || dtype.bits > 64) return 0;
  if (dtype.kind == FNABI_DTYPE_FLOAT && dtype.bits >= 32)
    return dtype.bits == 32 ? 'f' : 'F';
  return dtype.bits <= 32 ? 'i' : 'I'; /* narrow floats too */
}

/* ------------------------------------------------------------------- values */

typedef struct value {
  size_t begin; /* of the '%' */
  size_t colon, type, type_end;
  plain_type plain;
  size_t attributes; /* of the '{'; 0: none */
  size_t end;
} value;

/* type (' ' attributes)? after the ": " at v->colon. */
static bool scan_value(reading* r, value* v) {
  v->type = v->colon + 2;
  scan_plain_type(r, v->type, &v->plain);
  v->end = v->plain.end != 0 ? v->plain.end : skip_type(r, v->type);
  v->type_end = v->end;
  v->attributes = 0;
  if (v->end != 0 && AT(r, v->end, " {")) {
    v->attributes = v->end + 1;
    v->end = skip_brackets(r, v->attributes);
  }
  return v->end != 0;
}

/* The end of the attribute at `at`: a comma outside brackets, or `end`. */
static size_t skip_attribute(reading* r, size_t at, size_t end) {
  while (at < end && r->data[at] != ',') {
    uint8_t kind = bracket[(uint8_t)r->data[at]];
    if (kind == QUOTE)
      at = find(r, at + 1, end, '"') + 1;
    else if (kind > CLOSING)
      at = skip_brackets(r, at);
    else
      at++;
    if (at == 0) return end;
  }
  return at < end ? at : end;
}

typedef struct attribute {
  size_t key, key_end, text, end;
} attribute;

/* The attribute at `at` of those that end at `end`, whose text is empty when
 * it has no ' = '. Returns the offset of the next one. */
static size_t next_attribute(reading* r, size_t at, size_t end, attribute* a) {
  a->key = at;
  a->key_end = a->text = a->end = skip_attribute(r, at, end);
  size_t equals = find(r, at, a->end, '=');
  while (equals < a->end && (equals == at || !AT(r, equals - 1, " = ")))
    equals = find(r, equals + 1, a->end, '=');
  if (equals + 1 < a->end) {
    a->key_end = equals - 1;
    a->text = equals + 2;
  }
  return a->end + (AT(r, a->end, ", ") ? 2 : 1);
}

/* The attribute that names the type with which the value is passed. */
static bool find_encoding(reading* r, const value* v, attribute* encoding) {
  size_t at = v->attributes + 1, end = v->end - 1;
  while (at < end) {
    at = next_attribute(r, at, end, encoding);
    if (IS(r->data + encoding->key, encoding->key_end - encoding->key,
           "iree.abi.encoding"))
      return skip_type(r, encoding->text) == encoding->end;
  }
  return false;
}

static void write_attributes(reading* r, const value* v) {
  attribute a;
  size_t place = fnabi_pack_open(r->w), count = 0;
  size_t at = v->attributes + 1, end = v->end - 1;
  for (; at < end && !is_stopped(r, at); count++) {
    at = next_attribute(r, at, end, &a);
    fnabi_pack_array(r->w, 2);
    write_text(r, a.key, a.key_end);
    write_text(r, a.text, a.end);
  }
  fnabi_pack_close(r->w, place, count);
}

static int64_t write_value_type(reading* r, const value* v) {
  if (v->plain.end != 0) return write_plain_type(r->w, &v->plain);
  return write_type(r, v->type, v->type_end);
}

/* A word that is a type of MLIR, or no type at all. */
static bool is_odd_type(const reading* r, const value* v, int64_t type) {
  const char* text = r->data + v->type;
  size_t size = v->type_end - v->type;
  return type == FNABI_TYPE_UNKNOWN && *text != '(' && text[size - 1] != '>' &&
         !IS(text, size, "none");
}

/* [name, type, attributes, text, declared], or of that a NAMED type */
static void write_value(reading* r, const value* v) {
  attribute encoding;
  fnabi_pack_array(r->w, r->types_only ? 3 : 5);
  if (r->types_only) fnabi_pack_int(r->w, FNABI_TYPE_NAMED);
  write_text(r, v->begin + 1, v->colon);
  size_t place = r->w->size;
  int64_t type = write_value_type(r, v);
  if (is_odd_type(r, v, type)) r->odd_type = true;
  bool encoded = false;
  if (v->attributes != 0 &&
      (type == FNABI_TYPE_BUFFER || type == FNABI_TYPE_SCALAR) &&
      find_encoding(r, v, &encoding)) {
    r->w->size = place;
    encoded = write_type(r, encoding.text, encoding.end) == type;
    if (!encoded) {
      r->w->size = place;
      write_value_type(r, v);
    }
  }
  if (r->types_only) return;
  if (v->attributes == 0)
    fnabi_pack_array(r->w, 0);
  else
    write_attributes(r, v);
  write_text(r, v->begin, v->end);
  if (encoded)
    write_value_type(r, v);
  else
    fnabi_pack_nil(r->w);
}

/* Whether the value has the name that the compiler generates for its index. */
static bool is_numbered(const reading* r, const value* v, int side,
                        size_t index) {
  const char* name = r->data + v->begin + 1;
  size_t size = v->colon - v->begin - 1, n = side == INPUTS ? 5 : 6;
  if (side == INPUTS ? !BEGINS(name, size, "input")
                     : !BEGINS(name, size, "output"))
    return false;
  do {
    if (name[--size] != (char)('0' + index % 10)) return false;
    index /= 10;
  } while (index != 0 && size > n);
  return index == 0 && size == n;
}

/* -------------------------------------------------------------------- lists */

typedef enum separator { NOTHING, COMMA, CLOSE } separator;

/* What follows a value: the next one, the end of its list, or neither. */
static separator separator_at(const reading* r, int side, size_t at) {
  if (AT(r, at, ", %")) return COMMA;
  if (side == RESULTS)
    return at + 1 == r->size && AT(r, at, ")") ? CLOSE : NOTHING;
  if (!AT(r, at, ") -> (")) return NOTHING;
  if (AT(r, at + 6, "%")) return r->results_tried ? NOTHING : CLOSE;
  return at + 7 == r->size && AT(r, at + 6, ")") ? CLOSE : NOTHING;
}

/* The number of values that the list must have; negative: any. */
static int64_t known_count(const reading* r, int side) {
  return r->known == NULL ? -1 : r->known[side].count;
}

/* Whether value number `index` may end at v->end. If not, the text up to there
 * is part of its name. Among several ways to divide the text into values, this
 * one ends each as early as possible. It is the only one if no value could end
 * at a later offset before the end of the next one. */
static bool may_end(reading* r, int side, const value* v, size_t index,
                    separator behind) {
  int64_t count = known_count(r, side);
  if (count < 0) return true;
  const char* letters = r->known[side].letters;
  char letter = letters == NULL ? 0 : letter_of(r, v->type, v->type_end);
  bool last = index + 1 == (uint64_t)count;
  if (last == (behind == CLOSE) && index < (uint64_t)count &&
      (letter == 0 || letter == letters[index]))
    return true;
  if (behind == COMMA && index > 0 &&
      (letter == 0 || letter == letters[index - 1]))
    r->several = true;
  return false;
}

static void note_stuck(reading* r, int side, const value* v, size_t index) {
  if (v->begin <= r->stuck) return;
  r->stuck = v->begin;
  r->stuck_side = side;
  r->stuck_index = index;
}

/* The list whose first value, or whose ')', is at `at`; after the list of
 * arguments also the list of results. */
static bool read_list(reading* r, int side, size_t at) {
  size_t place = fnabi_pack_open(r->w), index = 0;
  value v;
  v.begin = v.colon = at;
  r->count[side] = 0;
  r->named[side] = false;
  if (AT(r, at, ")")) {
    if (known_count(r, side) > 0) return false;
    return side == RESULTS || read_list(r, RESULTS, at + 6);
  }
  if (side == RESULTS) r->results_tried = true;
  r->starts++;
  for (;;) {
    if (is_stopped(r, v.colon)) return false;
    v.colon = find(r, v.colon + 1, r->size, ':');
    if (v.colon == r->size) {
      note_stuck(r, side, &v, index);
      return false;
    }
    if (!AT(r, v.colon, ": ")) continue;
    if (!scan_value(r, &v)) {
      if (r->code != FNABI_OK) return false;
      continue;
    }
    separator behind = separator_at(r, side, v.end);
    if (behind == NOTHING) continue;
    if (behind == COMMA) r->starts++;
    if (!may_end(r, side, &v, index, behind)) {
      v.colon = v.end;
      continue;
    }
    size_t before = r->w->size, starts = r->starts;
    write_value(r, &v);
    if (r->code == FNABI_INTERRUPTED) return false;
    if (r->told[side].count < 0 && index > 0 &&
        !is_numbered(r, &v, side, index))
      r->named[side] = true;
    if (behind == COMMA) {
      v.begin = v.colon = v.end + 2;
      index++;
      continue;
    }
    fnabi_pack_close(r->w, place, index + 1);
    r->count[side] = index + 1;
    if (side == RESULTS || read_list(r, RESULTS, v.end + 6)) return true;
    if (r->code != FNABI_OK) return false;
    r->w->size = before; /* the ')' was part of the name */
    r->starts = starts;
    v.colon = v.end;
  }
}

/* Everything but the end of the message, from the function's name on. The name
 * ends before the first '(' from which the lists can be read. */
static bool read_function(reading* r, size_t name, const char* model) {
  size_t start = r->w->size;
  bool tried = false;
  r->results_tried = false;
  r->code = FNABI_OK;
  for (size_t at = name;; at++) {
    at = find(r, at, r->size, '(');
    if (at == r->size) return false;
    if (AT(r, at + 1, "%")) {
      if (tried) continue;
      tried = true;
    } else if (known_count(r, INPUTS) > 0 ||
               separator_at(r, INPUTS, at + 1) != CLOSE) {
      continue;
    }
    r->w->size = start;
    r->lists = at;
    r->starts = 0;
    r->several = r->odd_type = false;
    fnabi_pack_array(r->w, r->types_only ? 2 : 6);
    if (!r->types_only) {
      write_text(r, name, at);
      if (model == NULL)
        fnabi_pack_nil(r->w);
      else
        fnabi_pack_ascii(r->w, model);
    }
    if (read_list(r, INPUTS, at + 1)) return true;
    if (r->code != FNABI_OK) return false;
  }
}

static bool has_counts(const reading* r, const fnabi_known known[2]) {
  for (int side = INPUTS; side <= RESULTS; side++)
    if (known[side].count >= 0 && r->count[side] != (uint64_t)known[side].count)
      return false;
  return true;
}

/* The number of ", %" and "(%" after the function's name, in which none can begin
 * a value: no lists can be read from an earlier '('. */
static size_t count_starts(const reading* r) {
  size_t count = 0, at = r->lists;
  for (; (at = find(r, at, r->size, '%')) < r->size; at++)
    count += r->data[at - 1] == '(' ||
             (r->data[at - 1] == ' ' && r->data[at - 2] == ',');
  return count;
}

/* Why the text is ambiguous; NULL where it is not. */
static const char* ambiguity_of(const reading* r) {
  if (r->several || r->starts != count_starts(r)) return "names";
  if (r->named[INPUTS] || r->named[RESULTS]) return "names";
  return r->odd_type ? "type" : NULL;
}

static bool refuse(const reading* r, fnabi_error* error) {
  if (r->code == FNABI_INTERRUPTED) {
    fnabi_fail(error, FNABI_INTERRUPTED, r->stuck, NULL);
  } else if (r->code == FNABI_DEPTH) {
    fnabi_fail(error, FNABI_DEPTH, r->stuck, FNABI_DEPTH_EXPECTED);
  } else if (r->stuck == 0) {
    fnabi_fail(error, FNABI_DECLARATION_LISTS, r->size, "'(...) -> (...)'");
  } else {
    fnabi_fail(error, FNABI_DECLARATION_VALUE, r->stuck, EXPECT_VALUE);
    fnabi_path_index(error, r->stuck_index);
    fnabi_path_field(error, r->stuck_side == INPUTS ? "inputs" : "results");
  }
  return false;
}

/* Writes the message up to the text, or the signature alone if `types_only`. */
static bool read_declaration(const char* data, size_t size, fnabi_known inputs,
                             fnabi_known results, bool types_only,
                             fnabi_writer* w, const char** ambiguity,
                             fnabi_error* error) {
  if (size > UINT32_MAX) {
    fnabi_fail(error, FNABI_DECLARATION_SIZE, 0, "less than 4 GiB");
    return false;
  }
  const fnabi_known told[] = {inputs, results};
  reading r = {.data = data,
               .size = size,
               .w = w,
               .told = told,
               .ascii = fnabi_is_ascii(data, size),
               .types_only = types_only};
  fnabi_known known[] = {inputs, results};
  const char* model = NULL;
  size_t name = 0, start = w->size;
  if (AT(&r, 0, "sync "))
    model = "sync";
  else if (AT(&r, 0, "async "))
    model = "async";
  if (model != NULL) name = strlen(model) + 1;
  if (!AT(&r, name, "func @")) {
    fnabi_fail(error, FNABI_DECLARATION_HEAD, name,
               model == NULL ? "'sync func @' or 'async func @'" : "'func @'");
    return false;
  }
  name += 6;
  if (!read_function(&r, name, model)) return refuse(&r, error);

  bool possible = true;
  if (model != NULL && *model == 'a' && inputs.count >= 0) {
    possible = inputs.count >= FENCES;
    known[INPUTS].count -= FENCES;
  }
  bool fits = possible && has_counts(&r, known);
  if (possible && !fits) {
    r.known = known;
    w->size = start;
    fits = read_function(&r, name, model);
    if (!fits) {
      r.known = NULL;
      w->size = start;
      if (!read_function(&r, name, model)) return refuse(&r, error);
    }
  }
  *ambiguity = fits ? ambiguity_of(&r) : "arity";
  return true;
}

bool fnabi_declaration_write(const char* data, size_t size, fnabi_known inputs,
                             fnabi_known results, fnabi_writer* w,
                             const char** ambiguity, fnabi_error* error) {
  return read_declaration(data, size, inputs, results, true, w, ambiguity,
                          error);
}

int64_t fnabi_declaration_decode(const char* data, size_t size, int64_t inputs,
                                 const char* input_letters, int64_t results,
                                 const char* result_letters, uint8_t* out,
                                 size_t capacity, fnabi_error* error) {
  fnabi_writer w = {out, capacity, 0};
  fnabi_known arguments = {inputs, input_letters};
  fnabi_known others = {results, result_letters};
  const char* ambiguity;
  if (!read_declaration(data, size, arguments, others, false, &w, &ambiguity,
                        error))
    return -1;
  fnabi_pack_text(&w, data, size);
  if (ambiguity == NULL)
    fnabi_pack_nil(&w);
  else
    fnabi_pack_ascii(&w, ambiguity);
  return (int64_t)w.size;
}
