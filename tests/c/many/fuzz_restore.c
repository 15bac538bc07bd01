/* The bytes of columns, edited: they are refused, or are columns with exactly
 * these bytes, whose rows decode or fail, whose texts are the same one by one
 * and together, and which are valid Arrow data and JSON.
 *
 * The first byte chooses the ABI, the second is the number of edits; each has 8
 * bytes: the column, what is done, where, and a number. Lines follow. */
#include "fuzz.h"
#include "many/decoders.h"
#include "many/json_lines.h"

enum { EDITS = 8, DTYPES = FNABI_COLUMN_COUNT };

/* The columns, and after them the message of the dtypes. */
typedef struct saved {
  uint8_t* data[DTYPES + 1];
  size_t sizes[DTYPES + 1], widths[DTYPES + 1];
} saved;

static saved save(const fnabi_columns* columns) {
  saved s = {0};
  for (int32_t i = 0; i < FNABI_COLUMN_COUNT; i++) {
    const void* data = NULL;
    s.widths[i] = fnabi_columns_read(columns, i, &data, &s.sizes[i]);
    s.data[i] = exact(data, s.sizes[i]);
  }
  s.widths[DTYPES] = 1;
  s.sizes[DTYPES] = (size_t)fnabi_columns_dtypes(columns, NULL, 0);
  s.data[DTYPES] = exact(NULL, s.sizes[DTYPES]);
  fnabi_columns_dtypes(columns, s.data[DTYPES], s.sizes[DTYPES]);
  return s;
}

static fnabi_columns* restore(int32_t abi, const saved* s) {
  return fnabi_columns_restore(abi, (const void* const*)s->data, s->sizes,
                               s->data[DTYPES], s->sizes[DTYPES]);
}

static void edit(saved* s, input* in) {
  uint32_t i = take(in, 1) % (DTYPES + 1), what = take(in, 1);
  uint32_t where = take(in, 2), number = take(in, 4);
  size_t size = s->sizes[i], width = s->widths[i];
  if (what % 4 == 3) { /* another size */
    size_t other = (size + number % 32) % (size + 16);
    uint8_t* data = exact(NULL, other);
    memset(data, (int)where, other);
    memcpy(data, s->data[i], other < size ? other : size);
    release(s->data[i]);
    s->data[i] = data;
    s->sizes[i] = other;
  } else if (size >= width && width > 0) {
    int64_t value = (int32_t)number;
    memcpy(s->data[i] + where % (size / width) * width, &value, width);
  }
}

/* The texts of all rows together, or the row that has none. */
static void check_encoding(const fnabi_columns* columns) {
  fnabi_error all = {0}, one = {0};
  size_t rows = fnabi_columns_rows(columns), at = 0, row = 0;
  if (rows == 0) return;
  int64_t* ends = calloc(rows, sizeof *ends);
  CHECK(ends != NULL);
  int64_t size = fnabi_columns_encode(columns, 0, rows, ends, NULL, 0, &all);
  uint8_t* text = exact(NULL, size < 0 ? 0 : (size_t)size);
  if (size >= 0)
    CHECK(fnabi_columns_encode(columns, 0, rows, ends, text, (size_t)size,
                               &all) == size);
  for (; row < rows; row++) {
    int64_t end;
    int64_t part = fnabi_columns_encode(columns, row, 1, &end, NULL, 0, &one);
    if (part < 0) break;
    uint8_t* copy = exact(NULL, (size_t)part);
    fnabi_columns_encode(columns, row, 1, &end, copy, (size_t)part, &one);
    CHECK(size < 0 || ends[row] == (int64_t)at + part);
    CHECK(size <= 0 || memcmp(text + at, copy, (size_t)part) == 0);
    at += (size_t)part;
    release(copy);
  }
  CHECK((size < 0) == (row < rows));
  CHECK(size >= 0 || (all.code == one.code && all.offset == row));
  CHECK(size < 0 || (size_t)size == at);
  release(text);
  free(ends);
}

static void check_restored_rows(const fnabi_columns* columns) {
  size_t rows = fnabi_columns_rows(columns), size;
  for (size_t row = 0; row < rows; row++) {
    fnabi_error error = {0};
    int64_t needed = fnabi_columns_row(columns, row, NULL, 0, &error);
    if (needed < 0) {
      check_error(&error, UINT64_MAX);
      continue;
    }
    size = (size_t)needed;
    uint8_t* message = exact(NULL, size);
    CHECK(fnabi_columns_row(columns, row, message, size, &error) == needed);
    release(message);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  input in = {bytes, size};
  int32_t abi = (int32_t)take(&in, 1) % FNABI_ABI_COUNT;
  input edits = take_part(&in, take(&in, 1) % (EDITS + 1) * 8);
  fnabi_columns* columns = decoded_lines(abi, FNABI_DECODER_BEST,
                                         (const char*)in.data, in.size, true);
  saved s = save(columns);
  fnabi_columns_free(columns);
  while (edits.size > 0) edit(&s, &edits);
  fnabi_columns* restored = restore(abi, &s);
  if (restored != NULL) {
    saved again = save(restored);
    for (int32_t i = 0; i < FNABI_COLUMN_COUNT; i++) {
      CHECK(again.sizes[i] == s.sizes[i]);
      CHECK(memcmp(again.data[i], s.data[i], s.sizes[i]) == 0);
      release(again.data[i]);
    }
    release(again.data[DTYPES]);
    check_restored_rows(restored);
    check_encoding(restored);
    fnabi_columns* twice =
        fnabi_columns_join((fnabi_columns*[]){restored, restored}, 2);
    CHECK(twice != NULL);
    CHECK(fnabi_columns_rows(twice) == 2 * fnabi_columns_rows(restored));
    CHECK(fnabi_columns_equal(restored, restored));
    fnabi_columns_free(twice);
    check_columns_json(restored, abi);
    fnabi_columns_free(restored);
  }
  for (int32_t i = 0; i <= DTYPES; i++) release(s.data[i]);
  return 0;
}
