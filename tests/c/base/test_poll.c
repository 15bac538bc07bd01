/* Poll functions: long operations end when the caller's says so. */
#include "check.h"

static int calls, most;

static bool end_after(void* data) {
  CHECK(data == &most);
  return ++calls > most;
}

static char* text_of_ints(size_t count, size_t* size) {
  char* text = malloc(32 + 6 * count);
  CHECK(text != NULL);
  size_t at = (size_t)sprintf(text, "{\"a\":[],\"r\":[\"i32\"");
  for (size_t i = 1; i < count; i++, at += 6) memcpy(text + at, ",\"i32\"", 6);
  *size = at + (size_t)sprintf(text + at, "]}");
  return text;
}

static void test_iree_abi(void) {
  size_t size;
  char* text = text_of_ints(200000, &size);
  fnabi_error error = {0};
  most = 1 << 20;
  fnabi_set_poll(end_after, &most);
  CHECK(fnabi_iree_abi_decode(text, size, NULL, 0, &error) > 200000);
  CHECK(calls > 10);
  calls = 0;
  most = 3;
  CHECK(fnabi_iree_abi_decode(text, size, NULL, 0, &error) == -1);
  CHECK(error.code == FNABI_INTERRUPTED);
  CHECK(error.offset > 0 && error.offset < size / 2);
  fnabi_set_poll(NULL, NULL);
  CHECK(fnabi_iree_abi_decode(text, size, NULL, 0, &error) > 200000);
  CHECK(calls == 4);
  free(text);
}

/* A row that was interrupted is no row with an error. */
static void test_columns(void) {
  size_t size;
  char* text = text_of_ints(200000, &size);
  int64_t offsets[] = {0, (int64_t)size};
  fnabi_error error = {0};
  fnabi_columns* columns = fnabi_columns_new(FNABI_ABI_IREE_ABI, 0);
  CHECK(columns != NULL);
  calls = 0;
  most = 1;
  fnabi_set_poll(end_after, &most);
  CHECK(fnabi_columns_decode(columns, text, size, offsets, 8, NULL, 0, 1,
                             &error) == -1);
  CHECK(error.code == FNABI_INTERRUPTED);
  CHECK(fnabi_columns_rows(columns) == 0);
  fnabi_set_poll(NULL, NULL);
  CHECK(fnabi_columns_decode(columns, text, size, offsets, 8, NULL, 0, 1,
                             &error) == 1);
  fnabi_columns_free(columns);
  free(text);
}

int main(void) {
  test_iree_abi();
  test_columns();
  return 0;
}
