/* The IREE ABI, version 1: JSON (RFC 8259), of which these are the parts that
 * have a meaning. Keys may be in any order; other keys may have any value.
 *
 *   signature ::= {"a": [argument...], "r": [record...], key: value, ...}
 *   argument  ::= record | ["named", name, record]
 *   record    ::= primitive | null | "unknown"
 *               | ["ndarray", record, rank, dim...]
 *               | ["slist", record...] | ["stuple", record...]
 *               | ["sdict", [key, record]...]
 *               | ["py_homogeneous_list", record]
 *   primitive ::= "iN" | "fN" | "bf16" | "complex<fN>"
 *                                           N: 1 to 16777215, no leading 0
 *   rank      ::= null | integer            null: no dims; else as many
 *   dim       ::= null | integer            null: any
 *
 * "complex<f32>" is not in the published grammar, but in what IREE's runtime
 * reads. N of a complex number is of one part, 8388607 at most.
 *
 * An integer has no sign, fraction or exponent. The published grammar lets
 * every number of bits be written with leading zeros and be 0; no type is. */
#include "abi/iree_abi.h"

#include "abi/json.h"
#include "abi/signature.h"
#include "base/dtype.h"
#include "base/error.h"

/* ------------------------------------------------------------------ reading */

/* Every function takes the position where its part begins and returns where it
 * ends; NULL when it has failed. */
typedef struct decoder {
  fnabi_json json;
  fnabi_writer* w;
} decoder;

/* On the way out of element `index` of an array. */
static const char* within(decoder* d, size_t index) {
  fnabi_path_index(d->json.error, index);
  return NULL;
}

static const char* const EXPECT_RECORD = "a type record";

static const char* const side_names[] = {"a", "r"};

static const char* read_record(decoder* d, const char* p, unsigned depth,
                               bool argument);

/* Goes on to field `index` of a compound type, which must be there. */
static const char* read_field(decoder* d, const char* p, size_t index,
                              const char* expected) {
  bool more;
  p = fnabi_json_next(&d->json, p, index, ']', &more);
  if (p == NULL || more) return p;
  return fnabi_json_fail(&d->json, FNABI_IREE_ABI_FIELD, p - 1, expected);
}

static const char* read_end(decoder* d, const char* p, size_t index) {
  bool more;
  p = fnabi_json_next(&d->json, p, index, ']', &more);
  if (p == NULL || !more) return p;
  fnabi_json_refuse(&d->json, FNABI_IREE_ABI_FIELD, p, "']'");
  return within(d, index);
}

static const char* read_record_field(decoder* d, const char* p, size_t index,
                                     unsigned depth) {
  if ((p = read_field(d, p, index, EXPECT_RECORD)) == NULL) return NULL;
  p = read_record(d, p, depth, false);
  return p != NULL ? p : within(d, index);
}

/* A name or key, field `index` of its array. */
static const char* read_name(decoder* d, const char* p, size_t index) {
  fnabi_json_text t;
  if ((p = read_field(d, p, index, "a string")) == NULL) return NULL;
  p = fnabi_json_peek(&d->json, p) == '"'
          ? fnabi_json_string(&d->json, p, &t)
          : fnabi_json_refuse(&d->json, FNABI_IREE_ABI_NAME, p, "a string");
  if (p == NULL) return within(d, index);
  fnabi_json_pack_text(d->w, &t);
  return p;
}

static bool parse_number(fnabi_text w, fnabi_dtype* dtype) {
  if (w.size < 2 || w.size > 9 || (w.data[0] != 'i' && w.data[0] != 'f') ||
      w.data[1] == '0')
    return false;
  uint32_t bits = 0;
  for (size_t i = 1; i < w.size; i++) {
    if (!fnabi_json_is_digit(w.data[i])) return false;
    bits = bits * 10 + (uint32_t)(w.data[i] - '0');
  }
  dtype->kind = w.data[0] == 'f' ? FNABI_DTYPE_FLOAT
                : bits == 1      ? FNABI_DTYPE_BOOL
                                 : FNABI_DTYPE_SIGNLESS;
  dtype->bits = bits;
  return bits <= FNABI_DTYPE_BITS_MAX;
}

#define COMPLEX "complex<"
enum { COMPLEX_SIZE = sizeof COMPLEX - 1 };

static bool parse_primitive(fnabi_text w, fnabi_dtype* dtype) {
  *dtype = (fnabi_dtype){FNABI_DTYPE_BFLOAT, 16, "", 0};
  if (FNABI_TEXT_IS(w, "bf16")) return true;
  if (w.size > COMPLEX_SIZE + 2 && w.data[w.size - 1] == '>' &&
      memcmp(w.data, COMPLEX "f", COMPLEX_SIZE + 1) == 0) {
    w.data += COMPLEX_SIZE;
    w.size -= COMPLEX_SIZE + 1;
    if (!parse_number(w, dtype) || dtype->bits > FNABI_DTYPE_BITS_MAX / 2)
      return false;
    dtype->kind = FNABI_DTYPE_COMPLEX;
    dtype->bits *= 2;
    return true;
  }
  return parse_number(w, dtype);
}

/* A string: a primitive type, or *unknown. */
static const char* read_type_name(decoder* d, const char* p, fnabi_dtype* dtype,
                                  bool* unknown) {
  fnabi_json_text t;
  char memory[FNABI_JSON_NAME_SIZE];
  const char* end = fnabi_json_string(&d->json, p, &t);
  if (end == NULL) return NULL;
  fnabi_text w = fnabi_json_name(&t, memory);
  *unknown = FNABI_TEXT_IS(w, "unknown");
  if (*unknown || parse_primitive(w, dtype)) return end;
  return fnabi_json_fail(&d->json, FNABI_IREE_ABI_PRIMITIVE, p,
                         "\"i32\", \"f32\", \"bf16\", \"unknown\" or the like");
}

static const char* read_dim(decoder* d, const char* p) {
  static const char* const expected = "null, or 0 to 9223372036854775807";
  int c = fnabi_json_peek(&d->json, p);
  if (c == 'n') {
    fnabi_pack_nil(d->w);
    return fnabi_json_word(&d->json, p, "null");
  }
  if (c != '-' && !fnabi_json_is_digit(c))
    return fnabi_json_refuse(&d->json, FNABI_IREE_ABI_DIM, p, expected);
  uint64_t dim;
  bool natural;
  const char* end = fnabi_json_number(&d->json, p, &dim, &natural);
  if (end == NULL) return NULL;
  if (!natural || dim > INT64_MAX)
    return fnabi_json_fail(&d->json, FNABI_IREE_ABI_DIM, p, expected);
  fnabi_pack_uint(d->w, dim);
  return end;
}

static const char* read_rank(decoder* d, const char* p, bool* known,
                             uint64_t* rank) {
  static const char* const expected = "null, or 0 or more";
  int c = fnabi_json_peek(&d->json, p);
  *rank = 0;
  *known = c != 'n';
  if (!*known) return fnabi_json_word(&d->json, p, "null");
  if (c != '-' && !fnabi_json_is_digit(c))
    return fnabi_json_refuse(&d->json, FNABI_IREE_ABI_RANK, p, expected);
  bool natural;
  const char* end = fnabi_json_number(&d->json, p, rank, &natural);
  if (end == NULL || natural) return end;
  return fnabi_json_fail(&d->json, FNABI_IREE_ABI_RANK, p, expected);
}

/* rank, dim...: from field 2 of the record to its end. */
static const char* read_shape(decoder* d, const char* p) {
  bool known, more;
  uint64_t rank;
  if ((p = read_field(d, p, 2, "a rank")) == NULL) return NULL;
  if ((p = read_rank(d, p, &known, &rank)) == NULL) return within(d, 2);
  size_t place = d->w->size, i = 0;
  if (known)
    fnabi_pack_open(d->w);
  else
    fnabi_pack_nil(d->w);
  for (;; i++) {
    if ((p = fnabi_json_next(&d->json, p, 3 + i, ']', &more)) == NULL)
      return NULL;
    if (!more) break;
    p = i == rank ? fnabi_json_refuse(&d->json, FNABI_IREE_ABI_DIMS, p, "']'")
                  : read_dim(d, p);
    if (p == NULL) return within(d, 3 + i);
  }
  if (i != rank)
    return fnabi_json_fail(&d->json, FNABI_IREE_ABI_DIMS, p - 1, "a dim");
  if (known) fnabi_pack_close(d->w, place, i);
  return p;
}

/* The element type of an ndarray, and the head of the message of the ndarray.
 */
static const char* read_element(decoder* d, const char* p, unsigned depth) {
  fnabi_dtype dtype;
  bool unknown;
  fnabi_pack_array(d->w, 3);
  if (fnabi_json_peek(&d->json, p) != '"') {
    fnabi_pack_int(d->w, FNABI_TYPE_REF_ARRAY);
    return read_record(d, p, depth, false);
  }
  if ((p = read_type_name(d, p, &dtype, &unknown)) == NULL) return NULL;
  if (unknown) {
    fnabi_pack_int(d->w, FNABI_TYPE_REF_ARRAY);
    fnabi_pack_array(d->w, 1);
    fnabi_pack_int(d->w, FNABI_TYPE_UNKNOWN);
  } else {
    fnabi_pack_int(d->w, FNABI_TYPE_BUFFER);
    fnabi_pack_dtype(d->w, &dtype);
  }
  return p;
}

static const char* read_ndarray(decoder* d, const char* p, unsigned depth) {
  if ((p = read_field(d, p, 1, EXPECT_RECORD)) == NULL) return NULL;
  if ((p = read_element(d, p, depth)) == NULL) return within(d, 1);
  return read_shape(d, p);
}

static const char* read_named(decoder* d, const char* p, unsigned depth) {
  if ((p = read_name(d, p, 1)) == NULL) return NULL;
  if ((p = read_record_field(d, p, 2, depth)) == NULL) return NULL;
  return read_end(d, p, 3);
}

/* [key, record] */
static const char* read_slot(decoder* d, const char* p, unsigned depth) {
  if (fnabi_json_peek(&d->json, p) != '[')
    return fnabi_json_refuse(&d->json, FNABI_IREE_ABI_SLOT, p, "'['");
  if (depth == FNABI_DEPTH_MAX)
    return fnabi_json_fail(&d->json, FNABI_DEPTH, p, FNABI_DEPTH_EXPECTED);
  fnabi_pack_array(d->w, 2);
  if ((p = read_name(d, p + 1, 0)) == NULL) return NULL;
  if ((p = read_record_field(d, p, 1, depth + 1)) == NULL) return NULL;
  return read_end(d, p, 2);
}

/* The slots, from field 1 of the record to its end. */
static const char* read_slots(decoder* d, const char* p, bool keys,
                              unsigned depth) {
  size_t place = fnabi_pack_open(d->w);
  for (size_t i = 1;; i++) {
    bool more;
    if ((p = fnabi_json_next(&d->json, p, i, ']', &more)) == NULL) return NULL;
    if (!more) {
      fnabi_pack_close(d->w, place, i - 1);
      return p;
    }
    p = keys ? read_slot(d, p, depth) : read_record(d, p, depth, false);
    if (p == NULL) return within(d, i);
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

static const char* read_compound_name(decoder* d, const char* p,
                                      int64_t* type) {
  static const char* const expected = "\"ndarray\", \"slist\" or the like";
  fnabi_json_text t;
  char memory[FNABI_JSON_NAME_SIZE];
  /* most records have this name, and hardly any escapes a letter of it */
  static const char ndarray[] = "\"ndarray\"";
  size_t n = sizeof ndarray - 1;
  if ((size_t)(d->json.end - p) >= n && memcmp(p, ndarray, n) == 0) {
    *type = FNABI_TYPE_BUFFER;
    return p + n;
  }
  if (fnabi_json_peek(&d->json, p) != '"')
    return fnabi_json_refuse(&d->json, FNABI_IREE_ABI_COMPOUND, p, expected);
  const char* end = fnabi_json_string(&d->json, p, &t);
  if (end == NULL) return NULL;
  *type = compound_type(fnabi_json_name(&t, memory));
  return *type != 0
             ? end
             : fnabi_json_fail(&d->json, FNABI_IREE_ABI_COMPOUND, p, expected);
}

/* A compound type, inside `depth` arrays and objects. */
static const char* read_compound(decoder* d, const char* p, unsigned depth,
                                 bool argument) {
  const char* begin = p;
  int64_t type = 0;
  if (depth == FNABI_DEPTH_MAX)
    return fnabi_json_fail(&d->json, FNABI_DEPTH, p, FNABI_DEPTH_EXPECTED);
  depth++;
  p = read_field(d, p + 1, 0, "the name of a compound type");
  if (p == NULL) return NULL;
  if ((p = read_compound_name(d, p, &type)) == NULL) return within(d, 0);
  if (type == FNABI_TYPE_BUFFER) return read_ndarray(d, p, depth);
  if (type == FNABI_TYPE_NAMED && !argument)
    return fnabi_json_fail(&d->json, FNABI_IREE_ABI_NAMED, begin, NULL);
  fnabi_pack_array(d->w, type == FNABI_TYPE_NAMED ? 3 : 2);
  fnabi_pack_int(d->w, type);
  if (type == FNABI_TYPE_NAMED) return read_named(d, p, depth);
  if (type != FNABI_TYPE_HOMOGENEOUS_LIST)
    return read_slots(d, p, type == FNABI_TYPE_DICT, depth);
  p = read_record_field(d, p, 1, depth);
  return p == NULL ? NULL : read_end(d, p, 2);
}

static const char* read_record(decoder* d, const char* p, unsigned depth,
                               bool argument) {
  fnabi_dtype dtype;
  bool unknown;
  switch (fnabi_json_peek(&d->json, p)) {
    case '[':
      return read_compound(d, p, depth, argument);
    case 'n':
      fnabi_pack_array(d->w, 1);
      fnabi_pack_int(d->w, FNABI_TYPE_NULL);
      return fnabi_json_word(&d->json, p, "null");
    case '"':
      if ((p = read_type_name(d, p, &dtype, &unknown)) == NULL) return NULL;
      fnabi_pack_array(d->w, unknown ? 1 : 2);
      fnabi_pack_int(d->w, unknown ? FNABI_TYPE_UNKNOWN : FNABI_TYPE_SCALAR);
      if (!unknown) fnabi_pack_dtype(d->w, &dtype);
      return p;
    default:
      return fnabi_json_refuse(&d->json, FNABI_IREE_ABI_RECORD, p,
                               EXPECT_RECORD);
  }
}

static const char* read_records(decoder* d, const char* p, bool arguments) {
  if (fnabi_json_peek(&d->json, p) != '[')
    return fnabi_json_refuse(&d->json, FNABI_IREE_ABI_SIDE, p, "'['");
  size_t place = fnabi_pack_open(d->w);
  p++;
  for (size_t i = 0;; i++) {
    bool more;
    if ((p = fnabi_json_next(&d->json, p, i, ']', &more)) == NULL) return NULL;
    if (!more) {
      fnabi_pack_close(d->w, place, i);
      return p;
    }
    if ((p = read_record(d, p, 2, arguments)) == NULL) return within(d, i);
  }
}

static const char* read_side(decoder* d, const char* p, unsigned side) {
  p = read_records(d, p, side == 0);
  if (p == NULL) fnabi_path_field(d->json.error, side_names[side]);
  return p;
}

/* The side that a key names; 2: none. */
static unsigned side_of(const fnabi_json_text* key) {
  char memory[FNABI_JSON_NAME_SIZE];
  fnabi_text w = fnabi_json_name(key, memory);
  return FNABI_TEXT_IS(w, "a") ? 0 : FNABI_TEXT_IS(w, "r") ? 1 : 2;
}

/* Writes the members from `p` on whose keys name no side. Returns false where
 * the work is interrupted, or the text has changed after it was read. */
static bool pack_others(decoder* d, const char* p) {
  size_t place = fnabi_pack_open(d->w), others = 0;
  fnabi_json_text key;
  for (size_t i = 0;; i++) {
    bool more;
    const char* value;
    if ((p = fnabi_json_next(&d->json, p, i, '}', &more)) == NULL) return false;
    if (!more) break;
    if ((value = fnabi_json_key(&d->json, p, &key)) == NULL ||
        (p = fnabi_json_skip(&d->json, value, 1)) == NULL)
      return false;
    if (side_of(&key) < 2) continue;
    fnabi_pack_array(d->w, 2);
    fnabi_json_pack_text(d->w, &key);
    fnabi_pack_string(d->w, (size_t)(p - value));
    fnabi_put(d->w, value, (size_t)(p - value));
    others++;
  }
  fnabi_pack_close(d->w, place, others);
  return true;
}

/* The members of the object, from `p` on. An "r" before "a" is first read for
 * its errors only, and read again after "a" to be written. Other members are
 * then read a second time to be written. */
static const char* read_members(decoder* d, const char* p) {
  const char* members = p;
  const char* sides[2] = {NULL, NULL}; /* where their values begin */
  fnabi_writer* w = d->w;
  unsigned written = 0;
  bool has_others = false;
  for (size_t i = 0;; i++) {
    bool more;
    fnabi_json_text key;
    if ((p = fnabi_json_next(&d->json, p, i, '}', &more)) == NULL) return NULL;
    if (!more) break;
    const char* begin = p;
    if ((p = fnabi_json_key(&d->json, p, &key)) == NULL) return NULL;
    unsigned side = side_of(&key);
    if (side == 2) {
      has_others = true;
      p = fnabi_json_skip(&d->json, p, 1);
    } else if (sides[side] != NULL) {
      return fnabi_json_fail(&d->json, FNABI_IREE_ABI_DUPLICATE, begin, NULL);
    } else {
      fnabi_writer nowhere = {NULL, 0, 0};
      sides[side] = p;
      if (side == written)
        written++;
      else
        d->w = &nowhere;
      p = read_side(d, p, side);
      d->w = w;
    }
    if (p == NULL) return NULL;
  }
  for (unsigned side = 0; side < 2; side++)
    if (sides[side] == NULL)
      return fnabi_json_fail(&d->json, FNABI_IREE_ABI_MISSING, p - 1,
                             side == 0 ? "\"a\"" : "\"r\"");
  if (written == 1 && read_side(d, sides[1], 1) == NULL) return NULL;
  if (has_others) return pack_others(d, members) ? p : NULL;
  fnabi_pack_close(w, fnabi_pack_open(w), 0);
  return p;
}

bool fnabi_iree_abi_write(const char* data, size_t size, fnabi_writer* w,
                          fnabi_error* error) {
  if (size == 0) data = ""; /* not NULL, which means failure */
  decoder d = {{data, data + size, error}, w};
  const fnabi_json* j = &d.json;
  if ((uint64_t)size > UINT32_MAX) {
    fnabi_json_fail(j, FNABI_JSON_SIZE, data, "less than 4 GiB");
    return false;
  }
  fnabi_pack_array(w, 3);
  const char* p = fnabi_json_space(j, data);
  p = fnabi_json_peek(j, p) == '{'
          ? read_members(&d, p + 1)
          : fnabi_json_refuse(j, FNABI_IREE_ABI_OBJECT, p, "'{'");
  if (p == NULL) return false;
  p = fnabi_json_space(j, p);
  if (p == j->end) return true;
  fnabi_json_fail(j, FNABI_JSON, p, "the end");
  return false;
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

static bool encode_text(fnabi_reader* r, fnabi_writer* w, fnabi_error* error) {
  const char* data;
  size_t size;
  if (!fnabi_unpack_text(r, &data, &size))
    return refuse_part(error, FNABI_MESSAGE, "a str", NULL);
  return fnabi_json_put_string(w, data, size) ||
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
    case FNABI_DTYPE_COMPLEX:
      letter = 'f';
      good = good && dtype.bits % 2 == 0;
      break;
    default:
      good = false;
  }
  if (!good)
    return refuse_part(
        error, FNABI_UNSUPPORTED,
        "bool of 1 bit, signless of 2 or more, float, bfloat16 or complex",
        ".dtype");
  bool complex = dtype.kind == FNABI_DTYPE_COMPLEX;
  put_ascii(w, dtype.kind == FNABI_DTYPE_BFLOAT ? "\"b"
               : complex                        ? "\"" COMPLEX
                                                : "\"");
  fnabi_put_integer(w, letter, complex ? dtype.bits / 2 : dtype.bits);
  put_ascii(w, complex ? ">\"" : "\"");
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
    if (fnabi_stop_at(i, 1, 0, error) || !encode_dim(r, w, error)) {
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
    return refuse_part(error, FNABI_DEPTH, FNABI_DEPTH_EXPECTED, NULL);
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
    if (fnabi_stop_at(i, 2, 0, error) ||
        !(keys ? encode_slot(r, w, depth, error)
               : encode_type(r, w, depth, false, error)))
      break;
  }
  if (i == count) return true;
  fnabi_path_index(error, i);
  fnabi_path_field(error, ".items");
  return false;
}

/* The number of elements of a type's record, its tag included; 0 where the IREE
 * ABI has no such type. */
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

/* Whether the next value is a Scalar. */
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
      if (is_scalar(*r)) /* would be decoded as a Buffer */
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
      !fnabi_unpack_int(r, &type) || type < FNABI_TYPE_SCALAR ||
      type > FNABI_TYPE_REF_ARRAY ||
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
    return refuse_part(error, FNABI_DEPTH, FNABI_DEPTH_EXPECTED, NULL);
  if (fnabi_stop(2, 0, error) || !encode_fields(r, w, type, depth + 1, error))
    return false;
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
    if (fnabi_stop_at(i, 2, 0, error) ||
        !encode_type(r, w, 2, side == 0, error)) {
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
  fnabi_json_text t;
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
  fnabi_json j = {data, data + size, error};
  const char* end = fnabi_json_skip(&j, data, 1);
  if (end != NULL && end != j.end)
    end = fnabi_json_fail(&j, FNABI_JSON, end, "the end");
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
    if (fnabi_stop_at(i, 4, 0, error) || !encode_other(r, w, error)) {
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
