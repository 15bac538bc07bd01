/* The foo ABI:
 *
 *   signature ::= value* '>' value*        inputs, results
 *   value     ::= 'i' | 'f'                i32, float32 */
#include "abi/foo.h"

#include "base/dtype.h"
#include "base/error.h"

enum { INPUTS, RESULTS };

static const char* const SIDES[] = {"inputs", "results"};

/* ------------------------------------------------------------------ reading */

/* Checks the whole text and finds the '>'. */
static bool check(const char* data, size_t size, size_t* arrow,
                  fnabi_error* error) {
  if (size > UINT32_MAX) {
    fnabi_fail(error, FNABI_FOO_SIZE, 0, "less than 4 GiB");
    return false;
  }
  int side = INPUTS;
  size_t item = 0;
  for (size_t at = 0; at < size; at++) {
    if (data[at] == 'i' || data[at] == 'f') {
      item++;
    } else if (data[at] == '>' && side == INPUTS) {
      *arrow = at;
      side = RESULTS;
      item = 0;
    } else {
      fnabi_fail(error, FNABI_FOO_VALUE, at,
                 side == INPUTS ? "'i', 'f' or '>'" : "'i' or 'f'");
      fnabi_path_index(error, item);
      fnabi_path_field(error, SIDES[side]);
      return false;
    }
  }
  if (side == INPUTS) fnabi_fail(error, FNABI_MISSING, size, "'>'");
  return side == RESULTS;
}

static void write_side(const char* data, size_t begin, size_t end,
                       fnabi_writer* w) {
  fnabi_pack_count(w, end - begin);
  for (size_t at = begin; at < end; at++) {
    fnabi_dtype dtype = {
        data[at] == 'i' ? FNABI_DTYPE_SIGNLESS : FNABI_DTYPE_FLOAT, 32, "", 0};
    fnabi_pack_array(w, 2);
    fnabi_pack_int(w, FNABI_TYPE_SCALAR);
    fnabi_pack_dtype(w, &dtype);
  }
}

bool fnabi_foo_write(const char* data, size_t size, fnabi_writer* w,
                     fnabi_error* error) {
  size_t arrow;
  if (!check(data, size, &arrow, error)) return false;
  fnabi_pack_array(w, 2);
  write_side(data, 0, arrow, w);
  write_side(data, arrow + 1, size, w);
  return true;
}

int64_t fnabi_foo_decode(const char* data, size_t size, uint8_t* out,
                         size_t capacity, fnabi_error* error) {
  fnabi_writer w = {out, capacity, 0};
  return fnabi_foo_write(data, size, &w, error) ? (int64_t)w.size : -1;
}

/* ------------------------------------------------------------------ writing */

static const char* const EXPECT_VALUE = "a Scalar of i32 or float32";

static bool encode_value(fnabi_reader* r, fnabi_writer* w, fnabi_error* error) {
  size_t fields;
  int64_t tag;
  fnabi_dtype dtype;
  if (!fnabi_unpack_array(r, &fields) || fields == 0 ||
      !fnabi_unpack_int(r, &tag)) {
    fnabi_fail(error, FNABI_MESSAGE, 0, "a type");
    return false;
  }
  if (tag != FNABI_TYPE_SCALAR || fields != 2) {
    fnabi_fail(error, FNABI_UNSUPPORTED, 0, EXPECT_VALUE);
    return false;
  }
  if (!fnabi_unpack_dtype(r, &dtype, error)) return false;
  bool integer = dtype.kind == FNABI_DTYPE_SIGNLESS;
  if (dtype.bits != 32 || dtype.format_size != 0 ||
      (!integer && dtype.kind != FNABI_DTYPE_FLOAT)) {
    fnabi_fail(error, FNABI_UNSUPPORTED, 0, EXPECT_VALUE);
    fnabi_path_field(error, ".dtype");
    return false;
  }
  fnabi_put_byte(w, integer ? 'i' : 'f');
  return true;
}

static bool encode_side(fnabi_reader* r, fnabi_writer* w, int side,
                        fnabi_error* error) {
  size_t count, i = 0;
  if (!fnabi_unpack_array(r, &count)) {
    fnabi_fail(error, FNABI_MESSAGE, 0, "a tuple of types");
  } else {
    while (i < count && encode_value(r, w, error)) i++;
    if (i == count) return true;
    fnabi_path_index(error, i);
  }
  fnabi_path_field(error, SIDES[side]);
  return false;
}

int64_t fnabi_foo_encode(const uint8_t* message, size_t size, uint8_t* out,
                         size_t capacity, fnabi_error* error) {
  fnabi_reader r = {message, size, 0};
  fnabi_writer w = {out, capacity, 0};
  size_t count;
  if (!fnabi_unpack_array(&r, &count) || count != 2)
    return fnabi_fail(error, FNABI_MESSAGE, 0, "a Signature");
  if (!encode_side(&r, &w, INPUTS, error)) return -1;
  fnabi_put_byte(&w, '>');
  if (!encode_side(&r, &w, RESULTS, error)) return -1;
  if (r.at != size) return fnabi_fail(error, FNABI_MESSAGE, 0, "a Signature");
  return (int64_t)w.size;
}
