/* any_bytecode_types.h - what holds for the types of any bytecode. */
#ifndef ANY_BYTECODE_TYPES_H
#define ANY_BYTECODE_TYPES_H

#include "check.h"
#include "vmfb/bytecode.h"

DEFINE_WRITER(bytecode_signatures, fnabi_bytecode_signatures)

static void check_value(fnabi_reader* r, size_t symbols_at) {
  fnabi_reader symbols = {r->data, r->size, symbols_at};
  size_t fields, rank, count;
  int64_t tag;
  CHECK(fnabi_unpack_array(r, &fields) && fnabi_unpack_int(r, &tag));
  CHECK(tag == FNABI_TYPE_SCALAR || tag == FNABI_TYPE_BUFFER ||
        tag == FNABI_TYPE_REF);
  CHECK(fnabi_unpack_skip(r)); /* dtype or name */
  bool ranked = false;
  if (tag == FNABI_TYPE_BUFFER && !fnabi_unpack_nil(r)) {
    fnabi_reader dims = *r;
    ranked = fnabi_unpack_array(&dims, &rank);
    CHECK(ranked && rank <= 128);
    for (size_t i = 0; i < rank; i++) {
      int64_t dim;
      CHECK(fnabi_unpack_nil(&dims) ||
            (fnabi_unpack_int(&dims, &dim) && dim >= 0));
    }
    CHECK(fnabi_unpack_skip(r));
  }
  if (fnabi_unpack_nil(&symbols)) return;
  CHECK(fnabi_unpack_array(&symbols, &count) && ranked && count == rank);
}

/* One side of a signature, with the symbols of its dims. */
static void check_side(fnabi_reader* types, fnabi_reader* dims, size_t* count) {
  size_t symbols;
  CHECK(fnabi_unpack_array(types, count));
  CHECK(fnabi_unpack_array(dims, &symbols) && symbols == *count);
  for (size_t i = 0; i < *count; i++) {
    check_value(types, dims->at);
    CHECK(fnabi_unpack_skip(dims));
  }
}

static void check_fence(fnabi_reader* r, size_t arguments) {
  int64_t index;
  CHECK(fnabi_unpack_nil(r) || (fnabi_unpack_int(r, &index) && index >= 0 &&
                                (size_t)index < arguments));
}

static void check_function(fnabi_reader* r, size_t ordinal) {
  size_t fields, arguments, results, aliases, lengths;
  int64_t index;
  if (fnabi_unpack_nil(r)) return;
  if (fnabi_unpack_int(r, &index)) {
    CHECK(index >= 0 && (size_t)index < ordinal);
    return;
  }
  CHECK(fnabi_unpack_array(r, &fields) && fields == 5);
  fnabi_reader types = *r;
  CHECK(fnabi_unpack_skip(r));
  CHECK(fnabi_unpack_array(&types, &fields) && fields == 2);
  CHECK(fnabi_unpack_array(r, &fields) && fields == 2);
  check_side(&types, r, &arguments);
  check_side(&types, r, &results);
  CHECK(fnabi_unpack_array(r, &aliases) && aliases == results);
  for (size_t i = 0; i < aliases; i++) {
    if (fnabi_unpack_nil(r)) continue;
    CHECK(fnabi_unpack_array(r, &fields) && fields == 2);
    CHECK(fnabi_unpack_int(r, &index) && index >= 0);
    CHECK((size_t)index < arguments && fnabi_unpack_skip(r));
  }
  CHECK(fnabi_unpack_array(r, &fields) && fields == 2);
  check_fence(r, arguments);
  check_fence(r, arguments);
  CHECK(fnabi_unpack_array(r, &lengths));
  CHECK(lengths == 0 || lengths == arguments);
  for (size_t i = 0; i < lengths; i++)
    CHECK(fnabi_unpack_nil(r) || (fnabi_unpack_int(r, &index) && index > 0));
}

/* The message is whole and fits itself, or there is an error inside the file.
 * Returns its code, or FNABI_OK. */
static int32_t check_types(const void* data, size_t size) {
  call c = {bytecode_signatures, data, size, 0, 0};
  fnabi_error error = {0};
  size_t written, count;
  uint8_t* out = output_of(&c, &written, &error);
  if (out == NULL) {
    check_error(&error, size);
    return error.code;
  }
  fnabi_reader r = {out, written, 0};
  CHECK(fnabi_unpack_array(&r, &count));
  for (size_t i = 0; i < count; i++) check_function(&r, i);
  CHECK(r.at == written);
  release(out);
  return FNABI_OK;
}

#endif /* ANY_BYTECODE_TYPES_H */
