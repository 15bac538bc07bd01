/* Where rows of CSV end, whatever quotes are in them. */
#include "check.h"
#include "fnabi.h"

/* Checks a text, whole and in two blocks. */
static void check_rows(const char* text, int64_t rows, int32_t state) {
  size_t size = strlen(text);
  for (size_t cut = 0; cut <= size; cut++) {
    char *first = exact(text, cut), *second = exact(text + cut, size - cut);
    int32_t now = FNABI_CSV_START;
    int64_t one = fnabi_csv_rows(first, cut, &now),
            two = fnabi_csv_rows(second, size - cut, &now);
    CHECK((two != 0 ? (int64_t)cut + two : one) == rows);
    CHECK(now == state);
    release(first);
    release(second);
  }
}

int main(void) {
  check_rows("", 0, FNABI_CSV_START);
  check_rows("a,b\nc", 4, FNABI_CSV_FIELD);
  check_rows("a,b\nc,", 4, FNABI_CSV_START);
  check_rows("a\r\nb\r", 3, FNABI_CSV_START);
  check_rows("\"a\nb\"\n", 6, FNABI_CSV_START);
  check_rows("x\n\"a\nb", 2, FNABI_CSV_QUOTED);
  check_rows("x\n\"a\n\"", 2, FNABI_CSV_QUOTE);
  check_rows("\"a\"\"\n\"\"b\"\nc\n", 12, FNABI_CSV_START);
  check_rows("a,\"\n\"\n", 6, FNABI_CSV_START);
  check_rows("a\r\"\n\"", 0, FNABI_CSV_QUOTE);
  /* quotes inside of a field have no meaning */
  check_rows("5\" pipe\n6\n", 10, FNABI_CSV_START);
  check_rows("5\",x\n\"a\n", 5, FNABI_CSV_QUOTED);
  check_rows("\"a\"b\"\n", 6, FNABI_CSV_START);
  return 0;
}
