#include "codec.h"

DEFINE_WRITER(decode, fnabi_foo_decode)
DEFINE_WRITER(encode, fnabi_foo_encode)

static const codec format = {decode, encode, 0, NULL};

static void test_decode(void) {
  /* [[[SCALAR, ["float", 32, ""]]], []] */
  static const uint8_t message[] = {
      0x92, 0x91, 0x92, FNABI_TYPE_SCALAR, 0x93, 0xA5, 'f', 'l', 'o', 'a', 't',
      32,   0xA0, 0x90};
  check_answer(&(call){decode, TEXT("f>"), 0, 0}, message, sizeof message);
  check_answer(&(call){encode, message, sizeof message, 0, 0}, TEXT("f>"));
  fnabi_error error;
  CHECK(round_trip(&format, TEXT(">"), &error));
  CHECK(round_trip(&format, TEXT("if>ffffffffffffffffi"), &error));
}

static const bad_text errors[] = {
    {TEXT(""), FNABI_MISSING, 0, ""},
    {TEXT("if"), FNABI_MISSING, 2, ""},
    {TEXT("ix>"), FNABI_FOO_VALUE, 1, "inputs[1]"},
    {TEXT("i>\0"), FNABI_FOO_VALUE, 2, "results[0]"},
    {TEXT("i>f>"), FNABI_FOO_VALUE, 3, "results[1]"},
};

static void test_errors(void) {
  fnabi_error error;
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    CHECK(!round_trip(&format, errors[i].text, errors[i].size, &error));
    check_error_is(&error, errors[i].code, errors[i].offset, errors[i].path);
    CHECK(error.expected != NULL);
  }
  CHECK(fnabi_foo_decode(">", (size_t)UINT32_MAX + 1, NULL, 0, &error) == -1);
  CHECK(error.code == FNABI_FOO_SIZE);
}

int main(void) {
  test_decode();
  test_errors();
  return 0;
}
