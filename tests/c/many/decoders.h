/* decoders.h - checks of the columns of any texts. */
#ifndef DECODERS_H
#define DECODERS_H

#include "check.h"
#include "many/arrow.h"

/* Decodes a text by the decoder of its ABI. */
static inline int64_t decode_text(int32_t abi, const char* text, size_t size,
                                  uint8_t* out, size_t capacity,
                                  fnabi_error* error) {
  switch (abi) {
    case FNABI_ABI_RAW:
      return fnabi_raw_decode(text, size, out, capacity, error);
    case FNABI_ABI_SIP:
      return fnabi_sip_decode(text, size, out, capacity, error);
    case FNABI_ABI_CCONV:
      return fnabi_cconv_decode(text, size, out, capacity, error);
    case FNABI_ABI_IREE_ABI:
      return fnabi_iree_abi_decode(text, size, out, capacity, error);
    default:
      return fnabi_declaration_decode(text, size, -1, NULL, -1, NULL, out,
                                      capacity, error);
  }
}

static inline void check_same_columns(const fnabi_columns* a,
                                      const fnabi_columns* b) {
  CHECK(fnabi_columns_rows(a) == fnabi_columns_rows(b));
  for (int32_t i = -1; i <= FNABI_COLUMN_COUNT; i++) {
    const void *x = NULL, *y = NULL;
    size_t x_size = 0, y_size = 0;
    size_t width = fnabi_columns_read(a, i, &x, &x_size);
    CHECK(width == fnabi_columns_read(b, i, &y, &y_size));
    CHECK(x_size == y_size && (width == 0 || x_size % width == 0));
    CHECK(x_size == 0 || memcmp(x, y, x_size) == 0);
  }
  uint8_t *x, *y;
  int64_t size = fnabi_columns_dtypes(a, NULL, 0);
  CHECK(fnabi_columns_dtypes(b, NULL, 0) == size);
  x = exact(NULL, (size_t)size);
  y = exact(NULL, (size_t)size);
  fnabi_columns_dtypes(a, x, (size_t)size);
  fnabi_columns_dtypes(b, y, (size_t)size);
  CHECK(memcmp(x, y, (size_t)size) == 0);
  release(x);
  release(y);
}

/* Checks that a row is what the decoder of a single text returns. */
static inline void check_row(const fnabi_columns* columns, int32_t abi,
                             size_t row, const char* text, size_t size) {
  fnabi_error one = {0}, other = {0};
  const void *status, *kept, *offsets;
  size_t bytes;
  CHECK(fnabi_columns_read(columns, FNABI_COLUMN_STATUS, &status, &bytes) == 1);
  int64_t needed = decode_text(abi, text, size, NULL, 0, &one);
  CHECK(fnabi_columns_row(columns, row, NULL, 0, &other) == needed);
  CHECK(((const uint8_t*)status)[row] == one.code);
  if (needed < 0) {
    check_error_is(&other, one.code, one.offset, one.path);
    fnabi_columns_read(columns, FNABI_COLUMN_ERROR_OFFSET, &offsets, &bytes);
    fnabi_columns_read(columns, FNABI_COLUMN_KEPT, &kept, &bytes);
    for (size_t i = 0; i < bytes / sizeof(int64_t); i++)
      if (((const int64_t*)kept)[i] == (int64_t)row) {
        CHECK(((const int64_t*)offsets)[i] == (int64_t)one.offset);
        return;
      }
    CHECK(false);
  }
  uint8_t* x = exact(NULL, (size_t)needed);
  uint8_t* y = exact(NULL, (size_t)needed);
  decode_text(abi, text, size, x, (size_t)needed, &one);
  fnabi_columns_row(columns, row, y, (size_t)needed, &one);
  CHECK(memcmp(x, y, (size_t)needed) == 0);
  release(x);
  release(y);
}

/* Encodes a row from its message; a row without values has no text. */
static inline int64_t encode_message(int32_t abi, const fnabi_columns* columns,
                                     size_t row, uint8_t* out, size_t capacity,
                                     fnabi_error* error) {
  int64_t size = fnabi_columns_row(columns, row, NULL, 0, error);
  if (size < 0) return 0;
  uint8_t* message = exact(NULL, (size_t)size);
  fnabi_columns_row(columns, row, message, (size_t)size, error);
  size = (abi == FNABI_ABI_RAW     ? fnabi_raw_encode
          : abi == FNABI_ABI_SIP   ? fnabi_sip_encode
          : abi == FNABI_ABI_CCONV ? fnabi_cconv_encode
                                   : fnabi_iree_abi_encode)(
      message, (size_t)size, out, capacity, error);
  release(message);
  return size;
}

/* Checks that the texts of all rows are those of each. */
static inline void check_texts(const fnabi_columns* columns, int32_t abi) {
  fnabi_error error = {0};
  size_t rows = fnabi_columns_rows(columns), at = 0;
  int64_t* ends = malloc((rows + 1) * sizeof *ends);
  int64_t size = fnabi_columns_encode(columns, 0, rows, ends, NULL, 0, &error);
  if (abi == FNABI_ABI_DECLARATION) {
    CHECK(size == 0 || (size < 0 && error.code == FNABI_UNSUPPORTED));
    free(ends);
    return;
  }
  CHECK(size >= 0 && (rows == 0 || ends[rows - 1] == size));
  CHECK(abi > FNABI_ABI_SIP ||
        fnabi_columns_encode_room(columns, 0, rows) >= (size_t)size);
  uint8_t* text = exact(NULL, (size_t)size);
  CHECK(fnabi_columns_encode(columns, 0, rows, ends, text, (size_t)size,
                             &error) == size);
  for (size_t i = 0; i < rows; i++) {
    int64_t one = encode_message(abi, columns, i, NULL, 0, &error);
    CHECK(one >= 0 && ends[i] == (int64_t)at + one);
    uint8_t* expected = exact(NULL, (size_t)one);
    encode_message(abi, columns, i, expected, (size_t)one, &error);
    CHECK(one == 0 || memcmp(text + at, expected, (size_t)one) == 0);
    release(expected);
    at += (size_t)one;
  }
  release(text);

  /* the second half alone, and where it then ends */
  size_t half = rows / 2;
  size = fnabi_columns_encode(columns, half, rows - half, ends + half, NULL, 0,
                              &error);
  fnabi_columns_raise(ends + half, rows - half, half > 0 ? ends[half - 1] : 0);
  CHECK(size >= 0 && (rows == 0 || ends[rows - 1] == (int64_t)at));
  free(ends);
}

/* Checks that Arrow data outlives the columns, and its children outlive it. */
static inline void check_export(fnabi_columns* columns, int32_t abi) {
  struct ArrowSchema schema;
  struct ArrowArray array, child = {0};
  struct ArrowArrayStream stream;
  CHECK(fnabi_columns_schema(abi, &schema) == 0);
  CHECK(fnabi_columns_array(columns, &array) == 0);
  CHECK(array.length == (int64_t)fnabi_columns_rows(columns));
  CHECK(array.n_children == schema.n_children);
  CHECK(fnabi_columns_stream(&columns, 1, &stream) == 0);
  struct ArrowArray* next = fnabi_arrow_new("arrow_array");
  CHECK(fnabi_arrow_next(&stream, NULL, next) == NULL);
  CHECK(fnabi_arrow_length(next) == array.length);
  fnabi_arrow_free("arrow_array", next);
  next = fnabi_arrow_new("arrow_array");
  CHECK(fnabi_arrow_next(&stream, NULL, next) == NULL);
  CHECK(fnabi_arrow_length(next) == -1);
  fnabi_arrow_free("arrow_array", next);
  fnabi_columns_free(columns);
  CHECK(fnabi_arrow_move("arrow_array", array.children[2], &child));
  CHECK(!fnabi_arrow_move("arrow_array", array.children[2], &array));
  array.release(&array);
  stream.release(&stream);
  CHECK(child.children[0]->n_children ==
        schema.children[2]->children[0]->n_children);
  const int32_t* offsets = child.buffers[1];
  CHECK(offsets[child.length] == child.children[0]->length);
  child.release(&child);
  schema.release(&schema);
}

/* Changes a schema to types that may be requested. */
static inline void change_types(struct ArrowSchema* schema, int which) {
  static const char* const changes[][5] = {
      {"u", "u", "U", "vu", "z"},       {"z", "z", "Z", "vz", "vz"},
      {"+l", "+l", "+L", "+vl", "+vL"}, {"C", "s", "i", "l", "S"},
      {"c", "c", "i", "l", "i"},
  };
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
    if (strcmp(schema->format, changes[i][0]) == 0) {
      schema->format = changes[i][1 + which];
      break;
    }
  if (schema->dictionary != NULL) change_types(schema->dictionary, which);
  for (int64_t i = 0; i < schema->n_children; i++)
    change_types(schema->children[i], which);
}

/* Exports columns as Arrow data, in types of that number. */
enum { ARROW_TYPES = 6 };

static inline void export_as(fnabi_columns* columns, int32_t abi, int which,
                             struct ArrowSchema* schema,
                             struct ArrowArray* array) {
  fnabi_error error;
  struct ArrowSchema wanted;
  CHECK(fnabi_columns_schema(abi, schema) == 0);
  CHECK(fnabi_columns_schema(abi, &wanted) == 0);
  CHECK(fnabi_columns_array(columns, array) == 0);
  if (which == 2 || which == 4) fnabi_arrow_plain_schema(&wanted);
  if (which > 0) change_types(&wanted, which == 5 ? 3 : which - 1);
  CHECK(fnabi_arrow_fits(schema, &wanted, &error) == FNABI_ARROW_ALWAYS);
  CHECK(fnabi_arrow_cast(array, schema, &wanted) == 1);
  fnabi_arrow_cast_schema(schema, &wanted);
  wanted.release(&wanted);
}

/* Checks that Arrow data of the columns, in some types, is encoded as the
 * columns are. The other keys of iree.abi are not in it. */
static inline void check_arrow_texts(fnabi_columns* columns, int32_t abi,
                                     int which) {
  fnabi_error error = {0};
  size_t rows = fnabi_columns_rows(columns);
  int64_t* ends = malloc((rows + 1) * sizeof *ends);
  uint8_t* status = malloc(rows + 1);
  CHECK(ends != NULL && status != NULL);
  int64_t size = fnabi_columns_encode(columns, 0, rows, ends, NULL, 0, &error);
  uint8_t* expected = exact(NULL, size < 0 ? 0 : (size_t)size);
  if (size >= 0)
    fnabi_columns_encode(columns, 0, rows, ends, expected, (size_t)size,
                         &error);
  struct ArrowSchema schema;
  struct ArrowArray array;
  export_as(columns, abi, which, &schema, &array);
  int64_t found = fnabi_columns_encode_arrow(abi, &schema, &array, 0, rows,
                                             ends, status, NULL, 0, &error);
  if (abi == FNABI_ABI_DECLARATION) {
    CHECK(found < 0 && error.code == FNABI_UNSUPPORTED);
  } else {
    CHECK(abi == FNABI_ABI_IREE_ABI ? found >= 0 : found == size);
    for (size_t i = 0; i < rows; i++)
      CHECK(status[i] == FNABI_OK || status[i] == FNABI_ROW_NULL);
    uint8_t* text = exact(NULL, (size_t)found);
    CHECK(fnabi_columns_encode_arrow(abi, &schema, &array, 0, rows, ends, NULL,
                                     text, (size_t)found, &error) == found);
    CHECK(found != size || found == 0 || abi == FNABI_ABI_IREE_ABI ||
          memcmp(text, expected, (size_t)size) == 0);
    release(text);
  }
  array.release(&array);
  schema.release(&schema);
  release(expected);
  free(status);
  free(ends);
}

/* Checks that columns of the bytes of columns are equal to them, and that bytes
 * with one changed are columns that can be read, or none. */
static inline void check_restored(const fnabi_columns* columns, int32_t abi) {
  const void* data[FNABI_COLUMN_COUNT] = {0};
  size_t sizes[FNABI_COLUMN_COUNT] = {0};
  fnabi_error error;
  int64_t size = fnabi_columns_dtypes(columns, NULL, 0);
  uint8_t* dtypes = exact(NULL, (size_t)size);
  fnabi_columns_dtypes(columns, dtypes, (size_t)size);
  for (int32_t i = 0; i < FNABI_COLUMN_COUNT; i++)
    fnabi_columns_read(columns, i, &data[i], &sizes[i]);
  fnabi_columns* again =
      fnabi_columns_restore(abi, data, sizes, dtypes, (size_t)size);
  CHECK(again != NULL);
  check_same_columns(columns, again);
  CHECK(fnabi_columns_equal(columns, again));
  fnabi_columns_free(again);
  uint32_t state = 1;
  for (int32_t i = 0; i < FNABI_COLUMN_COUNT; i++) {
    if (sizes[i] == 0) continue;
    const void* kept = data[i];
    uint8_t* changed = exact(kept, sizes[i]);
    changed[next_random(&state) % sizes[i]] ^= (uint8_t)next_random(&state);
    data[i] = changed;
    again = fnabi_columns_restore(abi, data, sizes, dtypes, (size_t)size);
    if (again != NULL) {
      size_t rows = fnabi_columns_rows(again);
      int64_t* ends = malloc((rows + 1) * sizeof *ends);
      for (size_t row = 0; row < rows; row++)
        fnabi_columns_row(again, row, NULL, 0, &error);
      fnabi_columns_encode(again, 0, rows, ends, NULL, 0, &error);
      struct ArrowArray array;
      if (fnabi_columns_array(again, &array) == 0) array.release(&array);
      free(ends);
    }
    fnabi_columns_free(again);
    release(changed);
    data[i] = kept;
  }
  release(dtypes);
}

static inline fnabi_columns* decoded_lines(int32_t abi, int32_t decoder,
                                           const char* data, size_t size,
                                           bool whole) {
  fnabi_error error;
  size_t used;
  fnabi_columns* columns = fnabi_columns_new(abi, decoder);
  CHECK(columns != NULL);
  int64_t rows = fnabi_columns_decode_lines(columns, data, size, whole,
                                            SIZE_MAX, &used, &error);
  CHECK(rows == (int64_t)fnabi_columns_rows(columns) && used == size);
  return columns;
}

/* Checks that a decoder, if this processor has it, makes the columns that the
 * reference makes, of lines and of the same texts with nothing between them. */
static inline void check_decoder(int32_t abi, int32_t decoder, const char* data,
                                 size_t size) {
  fnabi_error error;
  size_t rows = 0, length = 0;
  if (fnabi_decoder_find(decoder) < 0) return;
  char* joined = exact(data, size);
  int64_t* offsets = malloc((size + 2) * sizeof *offsets);
  CHECK(offsets != NULL);
  offsets[0] = 0;
  for (size_t i = 0; i < size; i++) {
    bool ends = i + 1 < size && data[i] == '\r' && data[i + 1] == '\n';
    if (data[i] != '\n' && !ends) joined[length++] = data[i];
    if (data[i] == '\n' || i + 1 == size) offsets[++rows] = (int64_t)length;
  }
  fnabi_columns* plain =
      decoded_lines(abi, FNABI_DECODER_REFERENCE, data, size, true);
  fnabi_columns* lines = decoded_lines(abi, decoder, data, size, true);
  fnabi_columns* texts = fnabi_columns_new(abi, decoder);
  CHECK(texts != NULL);
  CHECK(fnabi_columns_decode(texts, joined, length, offsets, 8, NULL, 0, rows,
                             &error) == (int64_t)rows);
  CHECK(fnabi_columns_rows(lines) == rows);
  check_same_columns(lines, plain);
  check_same_columns(texts, plain);
  fnabi_columns_free(lines);
  fnabi_columns_free(texts);
  fnabi_columns_free(plain);
  free(offsets);
  release(joined);
}

static inline void check_decoders(int32_t abi, const char* data, size_t size) {
  for (int32_t decoder = 0; decoder < FNABI_DECODER_COUNT; decoder++)
    check_decoder(abi, decoder, data, size);
}

/* Checks that the rows are those of single texts. Returns the offset of the
 * second half of the rows. */
static inline size_t check_rows(const fnabi_columns* columns, int32_t abi,
                                const char* data, size_t size) {
  size_t rows = fnabi_columns_rows(columns), row = 0, half = 0;
  for (size_t at = 0; at < size; row++) {
    const char* end = memchr(data + at, '\n', size - at);
    size_t stop = end == NULL ? size : (size_t)(end - data);
    bool has_return = end != NULL && stop > at && end[-1] == '\r';
    check_row(columns, abi, row, data + at, stop - at - has_return);
    at = stop + (end != NULL);
    if (row < rows / 2) half = at;
  }
  CHECK(row == rows);
  return half;
}

/* Checks that the lines in two parts, joined, are the same columns. */
static inline void check_joined(const fnabi_columns* columns, int32_t abi,
                                const char* data, size_t size, size_t half) {
  fnabi_columns* parts[2] = {
      decoded_lines(abi, 0, data, half, false),
      decoded_lines(abi, 0, data + half, size - half, true)};
  fnabi_columns* joined = fnabi_columns_join(parts, 2);
  CHECK(joined != NULL);
  fnabi_columns_free(parts[0]);
  fnabi_columns_free(parts[1]);
  check_same_columns(joined, columns);
  fnabi_columns_free(joined);
}

/* What must be true of the columns of lines, by number. */
enum {
  CHECK_ROWS = FNABI_DECODER_COUNT, /* those before are of the decoders */
  CHECK_TEXTS,
  CHECK_RESTORED,
  CHECK_EXPORT,
  CHECK_ARROW_TEXTS,
  CHECKS = CHECK_ARROW_TEXTS + ARROW_TYPES
};

static inline void check_lines_for(int32_t abi, int which, const char* data,
                                   size_t size) {
  if (which < FNABI_DECODER_COUNT) {
    check_decoder(abi, which, data, size);
    return;
  }
  fnabi_columns* columns =
      decoded_lines(abi, FNABI_DECODER_BEST, data, size, true);
  switch (which) {
    case CHECK_ROWS:
      check_joined(columns, abi, data, size,
                   check_rows(columns, abi, data, size));
      break;
    case CHECK_TEXTS:
      check_texts(columns, abi);
      break;
    case CHECK_RESTORED:
      check_restored(columns, abi);
      break;
    case CHECK_EXPORT: /* frees them */
      check_export(columns, abi);
      return;
    default:
      check_arrow_texts(columns, abi, which - CHECK_ARROW_TEXTS);
  }
  fnabi_columns_free(columns);
}

static inline void check_lines(int32_t abi, const char* data, size_t size) {
  check_decoders(abi, data, size);
  for (int which = FNABI_DECODER_COUNT; which < CHECKS; which++)
    check_lines_for(abi, which, data, size);
}

#endif /* DECODERS_H */
