#include "base/error.h"
#include "check.h"

static void test_codes(void) {
  for (int32_t code = 0; code < FNABI_CODE_COUNT; code++) {
    CHECK(fnabi_code_name(code) != NULL && fnabi_code_name(code)[0] != 0);
    CHECK(fnabi_code_text(code) != NULL && fnabi_code_text(code)[0] != 0);
  }
  CHECK(fnabi_code_name(-1) == NULL && fnabi_code_text(-1) == NULL);
  CHECK(fnabi_code_name(FNABI_CODE_COUNT) == NULL);
  CHECK(fnabi_code_text(INT32_MAX) == NULL);
}

static void test_fail(void) {
  fnabi_error error;
  memset(&error, 'x', sizeof error);
  CHECK(fnabi_fail(&error, FNABI_TAG, UINT64_MAX, "'B'") == -1);
  CHECK(error.code == FNABI_TAG && error.offset == UINT64_MAX);
  CHECK(strcmp(error.expected, "'B'") == 0 && error.path[0] == 0);
  CHECK(error.found == NULL);
}

static void test_unknown_codes(void) {
  CHECK(fnabi_code_remedy(FNABI_TAG) != NULL);
  CHECK(fnabi_code_remedy(-1) == NULL);
  CHECK(fnabi_code_remedy(FNABI_CODE_COUNT) == NULL);
}

static void test_path(void) {
  fnabi_error error;
  fnabi_fail(&error, FNABI_TAG, 0, NULL);
  fnabi_path_index(&error, 0);
  fnabi_path_field(&error, ".shape");
  fnabi_path_index(&error, UINT64_MAX);
  fnabi_path_field(&error, "inputs");
  CHECK(strcmp(error.path, "inputs[18446744073709551615].shape[0]") == 0);
}

static void test_a_long_path_keeps_its_end(void) {
  for (size_t size = 2; size < 20; size++) {
    char field[] = ".abcdefghijklmnopqrst";
    field[size] = 0;
    fnabi_error error;
    fnabi_fail(&error, FNABI_TAG, 0, NULL);
    fnabi_path_field(&error, ".end");
    for (int i = 0; i < 200; i++) fnabi_path_field(&error, field);
    size_t length = strlen(error.path);
    CHECK(length < FNABI_PATH_SIZE && length + size >= FNABI_PATH_SIZE);
    CHECK(strcmp(error.path + length - 4, ".end") == 0);
    CHECK(strncmp(error.path, "...", 3) == 0);
    CHECK(strncmp(error.path + 3, field, size) == 0);
    fnabi_path_field(&error, "x"); /* what is missing stays missing */
    CHECK(strlen(error.path) == length && error.path[0] == '.');
  }
}

int main(void) {
  test_codes();
  test_fail();
  test_unknown_codes();
  test_path();
  test_a_long_path_keeps_its_end();
  return 0;
}
