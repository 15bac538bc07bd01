/* Rows of CSV end where a reading byte by byte finds their ends, in one block and
 * in two. */
#include "fuzz.h"

/* The offset after the last line feed outside of quotes. */
static int64_t plain_rows(const uint8_t* data, size_t size, bool* open) {
  int64_t rows = 0;
  bool quoted = false, begin = true;
  for (size_t i = 0; i < size; i++) {
    uint8_t byte = data[i];
    if (quoted) {
      if (byte != '"') continue;
      bool twice = i + 1 < size && data[i + 1] == '"';
      i += twice;
      quoted = twice;
      begin = false;
    } else {
      quoted = begin && byte == '"';
      begin = byte == ',' || byte == '\n' || byte == '\r';
      if (byte == '\n') rows = (int64_t)i + 1;
    }
  }
  *open = quoted;
  return rows;
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  input in = {bytes, size};
  size_t cut = take(&in, 1);
  if (cut > in.size) cut = in.size;
  bool open;
  int64_t rows = plain_rows(in.data, in.size, &open);
  char *first = exact(in.data, cut),
       *second = exact(in.data + cut, in.size - cut);
  int32_t state = FNABI_CSV_START;
  int64_t one = fnabi_csv_rows(first, cut, &state),
          two = fnabi_csv_rows(second, in.size - cut, &state);
  CHECK((two != 0 ? (int64_t)cut + two : one) == rows);
  CHECK((state == FNABI_CSV_QUOTED) == open);
  release(first);
  release(second);
  return 0;
}
