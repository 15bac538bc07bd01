/* any_program.h - what holds for what the functions of any bytecode do. */
#ifndef ANY_PROGRAM_H
#define ANY_PROGRAM_H

#include "check.h"
#include "vmfb/bytecode.h"

DEFINE_WRITER(bytecode_program, fnabi_bytecode_program)

/* An index among the values before `limit`, or nil. */
static void check_index(fnabi_reader* r, size_t limit) {
  int64_t index;
  CHECK(fnabi_unpack_nil(r) ||
        (fnabi_unpack_int(r, &index) && index >= 0 && (size_t)index < limit));
}

static void check_indexes(fnabi_reader* r, size_t limit) {
  size_t count;
  CHECK(fnabi_unpack_array(r, &count));
  for (size_t i = 0; i < count; i++) check_index(r, limit);
}

/* A value, whose parts are earlier ones. */
static void check_part(fnabi_reader* r, size_t at) {
  size_t fields, size;
  const char* name;
  CHECK(fnabi_unpack_array(r, &fields) && fields >= 1 && fields <= 4);
  CHECK(fnabi_unpack_text(r, &name, &size));
  bool pure = size == 4 && memcmp(name, "pure", 4) == 0;
  bool view = size == 4 && memcmp(name, "view", 4) == 0;
  static const char* const whole[] = {"constant", "null",    "argument",
                                      "result",   "carried", "met",
                                      "list",     "rodata",  "global"};
  bool parts = true;
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
    if (strlen(whole[i]) == size && memcmp(whole[i], name, size) == 0)
      parts = false;
  if (pure || view) {
    CHECK(fnabi_unpack_skip(r));
    if (pure || !fnabi_unpack_nil(r)) check_indexes(r, at);
    if (view) check_index(r, at);
    return;
  }
  if (parts) check_index(r, at);
  for (size_t i = parts ? 2 : 1; i < fields; i++) {
    int64_t number;
    bool fits; /* a constant has 64 bits without a sign */
    CHECK(fnabi_unpack_integer(r, &number, &fits));
  }
}

static void check_numbers(fnabi_reader* r) {
  size_t count;
  int64_t number;
  CHECK(fnabi_unpack_array(r, &count));
  for (size_t i = 0; i < count; i++)
    CHECK(fnabi_unpack_int(r, &number) && number >= 0);
}

static void check_block(fnabi_reader* r, size_t values) {
  size_t fields, calls;
  int64_t offset;
  CHECK(fnabi_unpack_array(r, &fields) && fields == 6);
  bool loop;
  CHECK(fnabi_unpack_int(r, &offset) && fnabi_unpack_bool(r, &loop));
  check_numbers(r);
  CHECK(fnabi_unpack_array(r, &calls));
  for (size_t i = 0; i < calls; i++) {
    CHECK(fnabi_unpack_array(r, &fields) && fields == 5);
    CHECK(fnabi_unpack_int(r, &offset) && fnabi_unpack_skip(r));
    check_indexes(r, values);
    check_numbers(r);
    check_indexes(r, values);
  }
  CHECK(fnabi_unpack_skip(r));
  check_indexes(r, values);
}

/* The message is whole and fits itself, or there is an error inside the file.
 * Returns its code, or FNABI_OK. */
static int32_t check_program(const void* data, size_t size) {
  call c = {bytecode_program, data, size, 0, 0};
  fnabi_error error = {0};
  size_t written, functions, fields, values, blocks;
  uint8_t* out = output_of(&c, &written, &error);
  if (out == NULL) {
    check_error(&error, size);
    return error.code;
  }
  fnabi_reader r = {out, written, 0};
  CHECK(fnabi_unpack_array(&r, &functions));
  for (size_t i = 0; i < functions; i++) {
    if (fnabi_unpack_nil(&r)) continue;
    CHECK(fnabi_unpack_array(&r, &fields) && fields == 2);
    CHECK(fnabi_unpack_array(&r, &values));
    for (size_t k = 0; k < values; k++) check_part(&r, k);
    CHECK(fnabi_unpack_array(&r, &blocks));
    for (size_t k = 0; k < blocks; k++) check_block(&r, values);
  }
  CHECK(r.at == written);
  release(out);
  return FNABI_OK;
}

#endif /* ANY_PROGRAM_H */
