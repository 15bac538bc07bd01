/* The raw function ABI, version 1:
 *
 *   signature   ::= 'I' length-prefixed(value*) 'R' length-prefixed(value*)
 *   value       ::= buffer | scalar | ref | unknown
 *   buffer      ::= 'B' length-prefixed(scalar-type? dim*)
 *   scalar      ::= 'S' length-prefixed(scalar-type?)
 *   ref         ::= 'O' length-prefixed()
 *   unknown     ::= 'U' length-prefixed()
 *   scalar-type ::= 't' ('0' | '1' | ... | '11')     absent: 0, float32
 *   dim         ::= 'd' integer                      -1: dynamic
 *
 * 'S' and 'U' are not in the published grammar, but the mangler writes them. */
#include "abi/raw.h"

#include "abi/signature.h"
#include "base/dtype.h"
#include "base/poll.h"

typedef struct scalar_type {
  const char* name;
  fnabi_dtype dtype;
} scalar_type;

static const scalar_type scalar_types[FNABI_SCALAR_TYPE_COUNT] = {
    {"float32", {FNABI_DTYPE_FLOAT, 32, "", 0}},
    {"float16", {FNABI_DTYPE_FLOAT, 16, "", 0}},
    {"float64", {FNABI_DTYPE_FLOAT, 64, "", 0}},
    {"bfloat16", {FNABI_DTYPE_BFLOAT, 16, "", 0}},
    {"sint8", {FNABI_DTYPE_SIGNED, 8, "", 0}},
    {"sint16", {FNABI_DTYPE_SIGNED, 16, "", 0}},
    {"sint32", {FNABI_DTYPE_SIGNED, 32, "", 0}},
    {"sint64", {FNABI_DTYPE_SIGNED, 64, "", 0}},
    {"uint8", {FNABI_DTYPE_UNSIGNED, 8, "", 0}},
    {"uint16", {FNABI_DTYPE_UNSIGNED, 16, "", 0}},
    {"uint32", {FNABI_DTYPE_UNSIGNED, 32, "", 0}},
    {"uint64", {FNABI_DTYPE_UNSIGNED, 64, "", 0}},
};

static bool is_scalar_type(int64_t number) {
  return number >= 0 && number < FNABI_SCALAR_TYPE_COUNT;
}

const char* fnabi_raw_scalar_name(int32_t number) {
  return is_scalar_type(number) ? scalar_types[number].name : NULL;
}

size_t fnabi_raw_scalar_size(int32_t number) {
  return is_scalar_type(number) ? scalar_types[number].dtype.bits / 8u : 0;
}

int64_t fnabi_raw_scalar_dtype(int32_t number, uint8_t* out, size_t capacity) {
  if (!is_scalar_type(number)) return -1;
  fnabi_writer w = {out, capacity, 0};
  fnabi_pack_dtype(&w, &scalar_types[number].dtype);
  return (int64_t)w.size;
}

/* The number of elements of a type's record, its tag included; 0 where the raw
 * ABI has no such type. */
static unsigned elements(int64_t type) {
  switch (type) {
    case FNABI_TYPE_BUFFER:
      return 3;
    case FNABI_TYPE_SCALAR:
    case FNABI_TYPE_REF:
      return 2;
    case FNABI_TYPE_UNKNOWN:
      return 1;
    default:
      return 0;
  }
}

/* ------------------------------------------------------------------ reading */

static const char* const EXPECT_VALUE = "'B', 'S', 'O' or 'U'";

/* buffer ::= scalar-type? dim*     scalar ::= scalar-type?
 *
 * Exactly so when `strict`, or else by the rules of the drop-in parser. Writes
 * the dims as an array; when strict, after the dtype. */
static bool read_fields(const char* data, const fnabi_component* value,
                        bool strict, fnabi_writer* w, int32_t* scalar_type,
                        fnabi_error* error) {
  bool buffer = value->tag == 'B';
  int32_t type = 0;
  size_t rank = 0, place = 0;
  fnabi_component c;
  size_t at = (size_t)value->begin, end = (size_t)value->end;
  fnabi_signature_read(data, end, at, &c);

  if (strict) {
    if (c.type == FNABI_COMPONENT_INTEGER && c.tag == 't') {
      type = c.ival;
      /* the grammar lists the numbers: they have no sign and no leading 0 */
      if (!is_scalar_type(type) || c.end - c.begin != (type < 10 ? 1u : 2u)) {
        fnabi_fail(error, FNABI_RAW_SCALAR_TYPE, c.begin, "0 to 11");
        fnabi_path_field(error, ".dtype");
        return false;
      }
      fnabi_signature_read(data, end, (size_t)c.end, &c);
    }
    fnabi_pack_dtype(w, &scalar_types[type].dtype);
  }
  if (buffer || !strict) place = fnabi_pack_open(w);
  while (c.type != FNABI_COMPONENT_END) {
    if (c.type == FNABI_COMPONENT_ERROR) {
      fnabi_fail(error, c.code, c.end, NULL);
      return false;
    }
    if (buffer && c.tag == 'd') {
      if (strict && c.ival < -1) {
        fnabi_fail(error, FNABI_RAW_DIM, c.begin, NULL);
        fnabi_path_index(error, rank);
        fnabi_path_field(error, ".shape");
        return false;
      }
      if (strict && c.ival == -1)
        fnabi_pack_nil(w);
      else
        fnabi_pack_int(w, c.ival);
      if (fnabi_stop_at(rank++, 1, c.end, error)) return false;
    } else if (!strict && c.tag == 't') {
      if (!is_scalar_type(c.ival)) {
        fnabi_fail(error, FNABI_RAW_SCALAR_TYPE, c.begin, "0 to 11");
        return false;
      }
      type = c.ival;
    } else {
      fnabi_fail(error,
                 buffer ? FNABI_RAW_BUFFER_FIELD : FNABI_RAW_SCALAR_FIELD,
                 c.offset, buffer ? "'d'" : "the end of the scalar");
      return false;
    }
    fnabi_signature_read(data, end, (size_t)c.end, &c);
  }
  if (buffer || !strict) fnabi_pack_close(w, place, rank);
  *scalar_type = type;
  return true;
}

/* A ref or an unknown has no fields. */
static bool read_nothing(const char* data, const fnabi_component* value,
                         fnabi_error* error) {
  fnabi_component c;
  fnabi_signature_read(data, (size_t)value->end, (size_t)value->begin, &c);
  if (c.type == FNABI_COMPONENT_END) return true;
  if (c.type == FNABI_COMPONENT_ERROR)
    fnabi_fail(error, c.code, c.end, NULL);
  else
    fnabi_fail(error,
               value->tag == 'O' ? FNABI_RAW_REF_FIELD : FNABI_UNEXPECTED,
               c.offset, "the end of the span");
  return false;
}

static int64_t type_of_tag(const fnabi_component* c) {
  if (c->type != FNABI_COMPONENT_SPAN) return -1;
  switch (c->tag) {
    case 'B':
      return FNABI_TYPE_BUFFER;
    case 'S':
      return FNABI_TYPE_SCALAR;
    case 'O':
      return FNABI_TYPE_REF;
    case 'U':
      return FNABI_TYPE_UNKNOWN;
    default:
      return -1;
  }
}

/* value*
 *
 * Returns 0, or -1 on failure; *count is the number of whole values, *good the
 * size of the message with them. */
static int64_t read_values(const char* data, const fnabi_component* side,
                           bool strict, fnabi_writer* w, size_t* good,
                           size_t* count, fnabi_error* error) {
  size_t at = (size_t)side->begin;
  fnabi_component c;
  for (*count = 0;; ++*count, at = (size_t)c.end) {
    *good = w->size;
    if (fnabi_stop_at(*count, 4, at, error)) return -1;
    fnabi_signature_read(data, (size_t)side->end, at, &c);
    if (c.type == FNABI_COMPONENT_END) return 0;
    if (c.type == FNABI_COMPONENT_ERROR)
      return fnabi_fail(error, c.code, c.end, NULL);
    int64_t type = type_of_tag(&c);
    if (type < 0)
      return fnabi_fail(error, FNABI_RAW_TAG, c.offset, EXPECT_VALUE);
    bool fields = type == FNABI_TYPE_BUFFER || type == FNABI_TYPE_SCALAR;
    int32_t scalar_type = 0;
    if (strict) {
      fnabi_pack_array(w, elements(type));
      fnabi_pack_int(w, type);
      if (type == FNABI_TYPE_REF) fnabi_pack_nil(w);
    } else {
      fnabi_pack_array(w, 3);
      fnabi_pack_int(w, type);
      if (!fields) fnabi_pack_array(w, 0);
    }
    if (fields ? !read_fields(data, &c, strict, w, &scalar_type, error)
               : !read_nothing(data, &c, error))
      return -1;
    if (!strict) fnabi_pack_int(w, scalar_type);
  }
}

static bool write_side(const char* data, const fnabi_component* side,
                       fnabi_writer* w, fnabi_error* error) {
  size_t place = fnabi_pack_open(w), good, count;
  if (read_values(data, side, true, w, &good, &count, error) < 0) {
    fnabi_path_index(error, count);
    return false;
  }
  fnabi_pack_close(w, place, count);
  return true;
}

bool fnabi_raw_write(const char* data, size_t size, fnabi_writer* w,
                     fnabi_error* error) {
  return fnabi_write_sides(data, size, FNABI_RAW_INPUTS, FNABI_RAW_RESULTS,
                           write_side, w, error);
}

int64_t fnabi_raw_decode(const char* data, size_t size, uint8_t* out,
                         size_t capacity, fnabi_error* error) {
  fnabi_writer w = {out, capacity, 0};
  return fnabi_raw_write(data, size, &w, error) ? (int64_t)w.size : -1;
}

int64_t fnabi_raw_visit(const char* data, size_t size, int32_t side,
                        uint8_t* out, size_t capacity) {
  fnabi_writer w = {out, capacity, 0};
  fnabi_error error;
  fnabi_component c;
  int32_t code = FNABI_OK;
  fnabi_pack_array(&w, 2);
  size_t place = fnabi_pack_open(&w), good = w.size, count = 0;
  if (!fnabi_signature_seek(data, size, 0, side, &c) ||
      c.type != FNABI_COMPONENT_SPAN) {
    code = side == 'I' ? FNABI_RAW_INPUTS : FNABI_RAW_RESULTS;
  } else if (read_values(data, &c, false, &w, &good, &count, &error) < 0) {
    /* the drop-in parser has one code for all faults of a component */
    bool own = error.code >= FNABI_SYNTAX || error.code == FNABI_INTERRUPTED;
    code = own ? error.code : (int32_t)FNABI_SYNTAX;
  }
  w.size = good;
  fnabi_pack_close(&w, place, count);
  fnabi_pack_int(&w, code);
  return (int64_t)w.size;
}

/* ------------------------------------------------------------------ writing */

int64_t fnabi_raw_buffer(int32_t scalar_type, const int32_t* dims, size_t rank,
                         uint8_t* out, size_t capacity, fnabi_error* error) {
  if (!is_scalar_type(scalar_type))
    return fnabi_fail(error, FNABI_RAW_SCALAR_TYPE, 0, "0 to 11");
  fnabi_writer w = {out, capacity, 0};
  size_t place = fnabi_span_open(&w, 'B');
  if (scalar_type != 0) fnabi_put_integer(&w, 't', scalar_type);
  for (size_t i = 0; i < rank; i++) fnabi_put_integer(&w, 'd', dims[i]);
  if (!fnabi_span_close(&w, place))
    return fnabi_fail(error, FNABI_INT32, 0, "fewer dims");
  return (int64_t)w.size;
}

int64_t fnabi_raw_scalar(int32_t scalar_type, uint8_t* out, size_t capacity,
                         fnabi_error* error) {
  if (!is_scalar_type(scalar_type))
    return fnabi_fail(error, FNABI_RAW_SCALAR_TYPE, 0, "0 to 11");
  fnabi_writer w = {out, capacity, 0};
  size_t place = fnabi_span_open(&w, 'S');
  if (scalar_type != 0) fnabi_put_integer(&w, 't', scalar_type);
  fnabi_span_close(&w, place);
  return (int64_t)w.size;
}

/* The next dtype of the message, as a scalar type. */
static bool encode_dtype(fnabi_reader* r, fnabi_writer* w, fnabi_error* error) {
  fnabi_dtype dtype;
  if (!fnabi_unpack_dtype(r, &dtype, error)) return false;
  for (int32_t i = 0; i < FNABI_SCALAR_TYPE_COUNT; i++) {
    const fnabi_dtype* known = &scalar_types[i].dtype;
    if (dtype.kind == known->kind && dtype.bits == known->bits &&
        dtype.format_size == 0) {
      if (i != 0) fnabi_put_integer(w, 't', i);
      return true;
    }
  }
  fnabi_fail(error, FNABI_UNSUPPORTED, 0, "one of the 12 scalar types");
  fnabi_path_field(error, ".dtype");
  return false;
}

static bool encode_dim(fnabi_reader* r, fnabi_writer* w, fnabi_error* error) {
  int64_t dim = -1;
  bool fits = true;
  if (!fnabi_unpack_nil(r)) {
    if (!fnabi_unpack_integer(r, &dim, &fits)) {
      fnabi_fail(error, FNABI_MESSAGE, 0, "an int or None");
      return false;
    }
    if (dim < 0) {
      fnabi_fail(error, FNABI_MESSAGE, 0, "a dim of 0 or more, or None");
      return false;
    }
    if (dim > INT32_MAX) {
      fnabi_fail(error, FNABI_INT32, 0, "at most 2147483647");
      return false;
    }
  }
  fnabi_put_integer(w, 'd', dim);
  return true;
}

static bool encode_shape(fnabi_reader* r, fnabi_writer* w, fnabi_error* error) {
  size_t rank, i = 0;
  if (fnabi_unpack_nil(r)) {
    fnabi_fail(error, FNABI_UNSUPPORTED, 0, "a known rank");
  } else if (!fnabi_unpack_array(r, &rank)) {
    fnabi_fail(error, FNABI_MESSAGE, 0, "a tuple of dims");
  } else {
    while (i < rank && !fnabi_stop_at(i, 1, 0, error) &&
           encode_dim(r, w, error))
      i++;
    if (i == rank) return true;
    fnabi_path_index(error, i);
  }
  fnabi_path_field(error, ".shape");
  return false;
}

static bool encode_value(fnabi_reader* r, fnabi_writer* w, fnabi_error* error) {
  size_t count;
  int64_t type;
  if (!fnabi_unpack_array(r, &count) || count == 0 ||
      !fnabi_unpack_int(r, &type) || type < FNABI_TYPE_SCALAR ||
      type > FNABI_TYPE_REF_ARRAY ||
      (elements(type) != 0 && count != elements(type))) {
    fnabi_fail(error, FNABI_MESSAGE, 0, "a type of fnabi.types");
    return false;
  }
  size_t place;
  switch (type) {
    case FNABI_TYPE_BUFFER:
      place = fnabi_span_open(w, 'B');
      if (!encode_dtype(r, w, error) || !encode_shape(r, w, error))
        return false;
      break;
    case FNABI_TYPE_SCALAR:
      place = fnabi_span_open(w, 'S');
      if (!encode_dtype(r, w, error)) return false;
      break;
    case FNABI_TYPE_REF:
      place = fnabi_span_open(w, 'O');
      if (!fnabi_unpack_nil(r)) {
        fnabi_fail(error, FNABI_UNSUPPORTED, 0, "None");
        fnabi_path_field(error, ".name");
        return false;
      }
      break;
    case FNABI_TYPE_UNKNOWN:
      place = fnabi_span_open(w, 'U');
      break;
    default:
      fnabi_fail(error, FNABI_UNSUPPORTED, 0, "Buffer, Scalar, Ref or Unknown");
      return false;
  }
  if (fnabi_span_close(w, place)) return true;
  fnabi_fail(error, FNABI_INT32, 0, "fewer dims");
  return false;
}

static bool encode_side(fnabi_reader* r, fnabi_writer* w, char tag,
                        fnabi_error* error) {
  size_t place = fnabi_span_open(w, tag);
  size_t count, i = 0;
  if (!fnabi_unpack_array(r, &count)) {
    fnabi_fail(error, FNABI_MESSAGE, 0, "a tuple of types");
  } else {
    while (i < count && !fnabi_stop_at(i, 4, 0, error) &&
           encode_value(r, w, error))
      i++;
    if (i != count)
      fnabi_path_index(error, i);
    else if (!fnabi_span_close(w, place))
      fnabi_fail(error, FNABI_INT32, 0, "fewer values");
    else
      return true;
  }
  fnabi_path_field(error, tag == 'I' ? "inputs" : "results");
  return false;
}

int64_t fnabi_raw_encode(const uint8_t* message, size_t size, uint8_t* out,
                         size_t capacity, fnabi_error* error) {
  fnabi_reader r = {message, size, 0};
  fnabi_writer w = {out, capacity, 0};
  size_t count, extra;
  if (!fnabi_unpack_array(&r, &count) || (count != 2 && count != 3))
    return fnabi_fail(error, FNABI_MESSAGE, 0, "a Signature");
  if (!encode_side(&r, &w, 'I', error) || !encode_side(&r, &w, 'R', error))
    return -1;
  if (count == 3 && fnabi_unpack_array(&r, &extra) && extra != 0) {
    fnabi_fail(error, FNABI_UNSUPPORTED, 0, "no extra keys");
    fnabi_path_field(error, "extra");
    return -1;
  }
  if (r.at != size) return fnabi_fail(error, FNABI_MESSAGE, 0, "a Signature");
  return (int64_t)w.size;
}
