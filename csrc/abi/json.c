/* JSON (RFC 8259), a token at a time. */
#include "abi/json.h"

#include "base/error.h"

const char* fnabi_json_fail(const fnabi_json* j, int32_t code, const char* p,
                            const char* expected) {
  fnabi_fail(j->error, code, (uint64_t)(p - j->data), expected);
  return NULL;
}

const char* fnabi_json_refuse(const fnabi_json* j, int32_t code, const char* p,
                              const char* expected) {
  int c = fnabi_json_peek(j, p);
  bool value = c == '"' || c == '[' || c == '{' || c == '-' || c == 't' ||
               c == 'f' || c == 'n' || fnabi_json_is_digit(c);
  return fnabi_json_fail(j, value ? code : (int32_t)FNABI_JSON, p, expected);
}

const char* fnabi_json_word(const fnabi_json* j, const char* p,
                            const char* word) {
  for (const char* c = word; *c != 0; c++, p++)
    if (fnabi_json_peek(j, p) != *c)
      return fnabi_json_fail(j, FNABI_JSON, p, word);
  return p;
}

static const char* read_digits(const fnabi_json* j, const char* p) {
  if (!fnabi_json_is_digit(fnabi_json_peek(j, p)))
    return fnabi_json_fail(j, FNABI_JSON_NUMBER, p, "a digit");
  while (fnabi_json_is_digit(fnabi_json_peek(j, p))) p++;
  return p;
}

/* number ::= '-'? ('0' | [1-9][0-9]*) ('.' [0-9]+)? ([eE] [+-]? [0-9]+)?
 */
const char* fnabi_json_number(const fnabi_json* j, const char* p,
                              uint64_t* value, bool* natural) {
  *natural = fnabi_json_peek(j, p) != '-';
  if (!*natural) p++;
  int c = fnabi_json_peek(j, p);
  if (!fnabi_json_is_digit(c))
    return fnabi_json_fail(j, FNABI_JSON_NUMBER, p, "a digit");
  uint64_t number = (unsigned)c - '0';
  c = fnabi_json_peek(j, ++p);
  for (; number != 0 && fnabi_json_is_digit(c); c = fnabi_json_peek(j, ++p)) {
    unsigned digit = (unsigned)c - '0';
    number =
        number > (UINT64_MAX - digit) / 10 ? UINT64_MAX : number * 10 + digit;
  }
  *value = number;
  if (c == '.') {
    *natural = false;
    if ((p = read_digits(j, p + 1)) == NULL) return NULL;
    c = fnabi_json_peek(j, p);
  }
  if (c == 'e' || c == 'E') {
    *natural = false;
    p++;
    if (fnabi_json_peek(j, p) == '+' || fnabi_json_peek(j, p) == '-') p++;
    p = read_digits(j, p);
  }
  return p;
}

/* Four hexadecimal digits at s[at]. Where one is missing, false, and *bad is
 * its position. */
static bool read_unit(const char* s, size_t n, size_t at, uint32_t* unit,
                      size_t* bad) {
  *unit = 0;
  for (size_t i = at; i < at + 4; i++) {
    *bad = i;
    if (i >= n) return false;
    char c = s[i], lower = (char)(c | 0x20);
    if (fnabi_json_is_digit(c))
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
 * The escape at `s`, which has at most `n` > 0 bytes. Returns how many bytes of
 * UTF-8 it makes; *end is its size. Returns 0 for a faulty one; *end is then
 * the position of the fault, 0 for half of a surrogate pair. */
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

static inline bool is_plain(char c) {
  return c >= ' ' && c < 0x7F && c != '"' && c != '\\';
}

/* string ::= '"' (plain | escape | UTF-8 of two bytes and more)* '"' */
const char* fnabi_json_string(const fnabi_json* j, const char* p,
                              fnabi_json_text* t) {
  const char* begin = ++p;
  size_t saved = 0;
  for (;;) {
    while (p < j->end && is_plain(*p)) p++;
    if (p >= j->end)
      return fnabi_json_fail(j, FNABI_JSON_STRING, j->end, "'\"'");
    uint8_t c = (uint8_t)*p;
    if (c == '"') break;
    if (c == '\\') {
      char utf8[4];
      size_t end, made = unescape(p, (size_t)(j->end - p), utf8, &end);
      if (made == 0)
        return fnabi_json_fail(
            j, end == 0 ? FNABI_JSON_SURROGATE : FNABI_JSON_ESCAPE, p + end,
            NULL);
      p += end;
      saved += end - made;
    } else if (c < ' ') {
      return fnabi_json_fail(j, FNABI_JSON_CONTROL, p, "an escape");
    } else {
      size_t n = fnabi_utf8_size((const uint8_t*)p, (size_t)(j->end - p));
      if (n == 0) return fnabi_json_fail(j, FNABI_JSON_UTF8, p, NULL);
      p += n;
    }
  }
  *t = (fnabi_json_text){begin, (size_t)(p - begin),
                         (size_t)(p - begin) - saved};
  return p + 1;
}

void fnabi_json_put_text(fnabi_writer* w, const fnabi_json_text* t) {
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
    if (made == 0) return; /* the text changed after it was read */
    fnabi_put(w, utf8, made);
    s = escape + used;
  }
}

const char* fnabi_json_key(const fnabi_json* j, const char* p,
                           fnabi_json_text* key) {
  if (fnabi_json_peek(j, p) != '"')
    return fnabi_json_fail(j, FNABI_JSON, p, "a key");
  if ((p = fnabi_json_string(j, p, key)) == NULL) return NULL;
  p = fnabi_json_space(j, p);
  if (fnabi_json_peek(j, p) != ':')
    return fnabi_json_fail(j, FNABI_JSON, p, "':'");
  return fnabi_json_space(j, p + 1);
}

/* value  ::= string | number | 'true' | 'false' | 'null' | array | object
 * array  ::= '[' (value (',' value)*)? ']'
 * object ::= '{' (string ':' value (',' string ':' value)*)? '}' */
const char* fnabi_json_skip(const fnabi_json* j, const char* p,
                            unsigned depth) {
  fnabi_json_text t;
  uint64_t number;
  bool natural, more;
  int c = fnabi_json_peek(j, p);
  switch (c) {
    case '"':
      return fnabi_json_string(j, p, &t);
    case 't':
      return fnabi_json_word(j, p, "true");
    case 'f':
      return fnabi_json_word(j, p, "false");
    case 'n':
      return fnabi_json_word(j, p, "null");
    case '[':
    case '{':
      break;
    default:
      if (c != '-' && !fnabi_json_is_digit(c))
        return fnabi_json_fail(j, FNABI_JSON, p, "a value");
      return fnabi_json_number(j, p, &number, &natural);
  }
  if (depth == FNABI_DEPTH_MAX)
    return fnabi_json_fail(j, FNABI_DEPTH, p, FNABI_DEPTH_EXPECTED);
  p++;
  for (size_t i = 0;; i++) {
    p = fnabi_json_next(j, p, i, c == '[' ? ']' : '}', &more);
    if (p == NULL || !more) return p;
    if (c == '{' && (p = fnabi_json_key(j, p, &t)) == NULL) return NULL;
    if ((p = fnabi_json_skip(j, p, depth + 1)) == NULL) return NULL;
  }
}

bool fnabi_json_put_string(fnabi_writer* w, const char* data, size_t size) {
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
