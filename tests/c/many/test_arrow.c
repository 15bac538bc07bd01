/* Streams of arrays, and texts out of Arrow data of every layout, in memory
 * that ends where the data does. */
#include <errno.h>

#include "check.h"
#include "many/arrow.h"

/* ------------------------------------------------------------------ streams */

/* A source of `left` tables without rows, which then ends or fails, and counts
 * how often it was released. */
typedef struct source {
  int left, released;
  bool fails;
} source;

static int64_t schema_of(void* context, struct ArrowSchema* out) {
  CHECK(((source*)context)->released == 0);
  return fnabi_scan_schema(out);
}

static int next_table(void* context, struct ArrowArray* out) {
  source* s = context;
  CHECK(out->release == NULL);
  if (s->left-- == 0) return s->fails ? EIO : 0;
  fnabi_scan* scan = fnabi_scan_new();
  CHECK(fnabi_scan_array(scan, out) == 0);
  fnabi_scan_free(scan);
  return 0;
}

static const char* problem_of(void* context) {
  return ((source*)context)->released == 0 ? "it broke" : NULL;
}

static void release_source(void* context) { ((source*)context)->released++; }

static void test_streams(void) {
  for (int fails = 0; fails < 2; fails++) {
    source s = {2, 0, fails != 0};
    const fnabi_arrow_source from = {schema_of, next_table, problem_of,
                                     release_source, &s};
    struct ArrowArrayStream* stream = fnabi_arrow_new("arrow_array_stream");
    struct ArrowSchema* schema = fnabi_arrow_new("arrow_schema");
    CHECK(fnabi_arrow_stream(&from, stream) == 0);
    CHECK(fnabi_arrow_next(stream, schema, NULL) == NULL);
    CHECK(strcmp(schema->format, "+s") == 0);
    fnabi_arrow_free("arrow_schema", schema);
    for (int i = 0; i < 3; i++) {
      struct ArrowArray* array = fnabi_arrow_new("arrow_array");
      const char* problem = fnabi_arrow_next(stream, NULL, array);
      CHECK(fails && i == 2 ? strcmp(problem, "it broke") == 0
                            : problem == NULL);
      CHECK(fnabi_arrow_length(array) == (i < 2 ? 0 : -1));
      fnabi_arrow_free("arrow_array", array);
    }
    CHECK(s.released == 0);
    fnabi_arrow_free("arrow_array_stream", stream);
    CHECK(s.released == 1);
  }
}

static void test_a_kind_that_there_is_not(void) {
  struct ArrowArrayStream empty = {NULL, NULL, NULL, NULL, NULL};
  struct ArrowArrayStream* stream = fnabi_arrow_new("nope");
  CHECK(memcmp(stream, &empty, sizeof empty) == 0);
  fnabi_arrow_free("nope", stream);
}

static const char* no_problem(struct ArrowArrayStream* stream) {
  (void)stream;
  return NULL;
}

static int fail(struct ArrowArrayStream* stream, struct ArrowArray* out) {
  (void)stream;
  (void)out;
  return EIO;
}

static void test_a_stream_without_error_text(void) {
  struct ArrowArrayStream stream = {NULL, fail, no_problem, NULL, NULL};
  struct ArrowArray array;
  CHECK(strcmp(fnabi_arrow_next(&stream, NULL, &array), "the stream failed") ==
        0);
}

/* -------------------------------------------------------------------- texts */

enum { ROWS = 600, NULLS = 7 };

/* Short and long, good and bad; every seventh is null. */
static size_t put_row(size_t row, char* out) {
  if (row % NULLS == 0) return 0;
  return (size_t)sprintf(out,
                         row % 3 == 0   ? "I%zu!"
                         : row % 3 == 1 ? "I1!R1!%.0zu"
                                        : "I12!B9!t%zud3d-1R1!",
                         row % 10);
}

typedef struct texts {
  const char* format;
  void* buffers[4];
  size_t extra; /* buffers of views */
} texts;

/* The rows in one of the layouts; views have their long texts in two buffers.
 */
static texts texts_of(const char* format) {
  bool views = format[0] == 'v';
  bool wide = format[0] == 'U' || format[0] == 'Z';
  static char data[2][ROWS * 32];
  char views_of[ROWS][16];
  int64_t ends[ROWS + 1] = {0};
  int32_t small[ROWS + 1] = {0};
  size_t sizes[2] = {0, 0};
  uint8_t validity[ROWS / 8 + 1] = {0};
  memset(views_of, 0xEE, sizeof views_of);
  for (size_t row = 0; row < ROWS; row++) {
    char text[64];
    size_t size = put_row(row, text);
    size_t part = views ? row % 2 : 0;
    if (row % NULLS != 0) {
      int32_t head[4] = {(int32_t)size, 0, (int32_t)part, (int32_t)sizes[part]};
      validity[row / 8] |= (uint8_t)(1u << row % 8);
      memset(views_of[row], 0, 16);
      memcpy(views_of[row], head, size > 12 ? sizeof head : 4);
      if (size <= 12) memcpy(views_of[row] + 4, text, size);
    }
    if (!views || size > 12) {
      memcpy(data[part] + sizes[part], text, size);
      sizes[part] += size;
    }
    ends[row + 1] = small[row + 1] = (int32_t)sizes[0];
  }
  return (texts){format,
                 {exact(validity, (ROWS + 7) / 8),
                  views  ? exact(views_of, sizeof views_of)
                  : wide ? exact(ends, sizeof ends)
                         : exact(small, sizeof small),
                  exact(data[0], sizes[0]), exact(data[1], sizes[1])},
                 views ? 2 : 1};
}

static void check_rows(const fnabi_columns* columns, size_t first,
                       size_t count) {
  CHECK(fnabi_columns_rows(columns) == count);
  for (size_t i = 0; i < count; i++) {
    char text[64];
    size_t size = put_row(first + i, text);
    fnabi_error one = {0}, other = {0};
    if ((first + i) % NULLS == 0) {
      CHECK(fnabi_columns_row(columns, i, NULL, 0, &other) < 0);
      CHECK(other.code == FNABI_MESSAGE);
      continue;
    }
    int64_t needed = fnabi_raw_decode(text, size, NULL, 0, &one);
    CHECK(fnabi_columns_row(columns, i, NULL, 0, &other) == needed);
    CHECK(one.code == other.code && one.offset == other.offset);
  }
}

static void check_slice(const texts* t, int64_t offset, size_t first,
                        size_t count, bool in_struct) {
  struct ArrowSchema schema = {.format = t->format};
  struct ArrowArray array = {.length = ROWS - offset,
                             .null_count = -1,
                             .offset = offset,
                             .buffers = (const void**)(void*)t->buffers,
                             .n_buffers = 2 + (int64_t)t->extra};
  struct ArrowSchema* schemas[] = {&schema};
  struct ArrowArray* arrays[] = {&array};
  struct ArrowSchema outer_schema = {
      .format = "+s", .n_children = 1, .children = schemas};
  struct ArrowArray outer = {
      .length = ROWS - offset, .n_children = 1, .children = arrays};
  fnabi_error error = {0};
  fnabi_columns* columns = fnabi_columns_new(FNABI_ABI_RAW, 0);
  CHECK(columns != NULL);
  CHECK(fnabi_columns_decode_arrow(columns, in_struct ? &outer_schema : &schema,
                                   in_struct ? &outer : &array, -1, first,
                                   count, &error) == (int64_t)count);
  check_rows(columns, (size_t)offset + first, count);
  fnabi_columns_free(columns);
}

static void test_layouts(void) {
  static const char* const formats[] = {"u", "z", "U", "Z", "vu", "vz"};
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    texts t = texts_of(formats[i]);
    for (int in_struct = 0; in_struct < 2; in_struct++) {
      check_slice(&t, 0, 0, ROWS, in_struct != 0);
      check_slice(&t, 0, 13, 300, in_struct != 0);
      check_slice(&t, 9, 0, ROWS - 9, in_struct != 0);
      check_slice(&t, 1, ROWS - 4, 3, in_struct != 0);
      check_slice(&t, 5, 2, 0, in_struct != 0);
    }
    for (int k = 0; k < 4; k++) release(t.buffers[k]);
  }
}

static void test_other_data(void) {
  static const char* const formats[] = {"i", "+s", "+l", "uu", "", "v"};
  struct ArrowArray array = {.length = 1};
  fnabi_columns* columns = fnabi_columns_new(FNABI_ABI_RAW, 0);
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    struct ArrowSchema schema = {.format = formats[i]};
    fnabi_error error = {0};
    CHECK(fnabi_columns_decode_arrow(columns, &schema, &array, -1, 0, 1,
                                     &error) < 0);
    CHECK(error.code == FNABI_UNSUPPORTED);
  }
  struct ArrowSchema values = {.format = "u"};
  struct ArrowSchema coded = {.format = "u", .dictionary = &values};
  fnabi_error error = {0};
  CHECK(fnabi_columns_decode_arrow(columns, &coded, &array, -1, 0, 1, &error) <
        0);

  /* a schema with a column that the array lacks */
  struct ArrowSchema* children[] = {&values};
  struct ArrowSchema one = {
      .format = "+s", .n_children = 1, .children = children};
  CHECK(fnabi_columns_decode_arrow(columns, &one, &array, -1, 0, 1, &error) <
        0);

  /* an array without values may lack its buffers */
  const void* none[] = {NULL, NULL, NULL};
  array = (struct ArrowArray){.n_buffers = 3, .buffers = none};
  for (const char* format = "u\0U"; format != NULL;
       format = *format == 'u' ? format + 2 : NULL) {
    struct ArrowSchema texts = {.format = format};
    CHECK(fnabi_columns_decode_arrow(columns, &texts, &array, -1, 0, 0,
                                     &error) == 0);
  }
  CHECK(fnabi_columns_rows(columns) == 0);
  fnabi_columns_free(columns);
}

/* ------------------------------------------------------------------ amounts */

/* A dictionary of one text of `size` bytes, and ROWS indexes of one byte. */
static int64_t excess_of(int32_t size, int64_t rows, int64_t most) {
  int32_t offsets[] = {0, size};
  const void* texts[] = {NULL, offsets, ""};
  int8_t* indexes = calloc((size_t)rows, 1);
  const void* coded[] = {NULL, indexes};
  struct ArrowSchema type = {.format = "u"};
  struct ArrowSchema schema = {.format = "c", .dictionary = &type};
  struct ArrowArray value = {.length = 1, .n_buffers = 3, .buffers = texts};
  struct ArrowArray array = {
      .length = rows, .n_buffers = 2, .buffers = coded, .dictionary = &value};
  int64_t excess = fnabi_arrow_excess(&schema, &array, -1, most);
  free(indexes);
  return excess;
}

static void test_excess(void) {
  /* each row stores a byte, and the dictionary a text and one offset */
  enum { MANY = 10000 };
  int64_t size = FNABI_ARROW_GROWTH - 8;
  CHECK(excess_of((int32_t)size, MANY, INT32_MAX) == 0);
  CHECK(excess_of((int32_t)size + 1, MANY, INT32_MAX) == MANY - 4 - (size + 1));
  CHECK(excess_of((int32_t)size + 1, MANY, 100) == 101);
  CHECK(excess_of(INT32_MAX, MANY, 100) == 101);
  CHECK(excess_of(INT32_MAX, 0, 100) == 0);

  /* a run, a view and nulls stand for many as well */
  int32_t ends[] = {1000000};
  const void* end_buffers[] = {NULL, ends};
  const void* nothing[] = {NULL};
  struct ArrowSchema end_type = {.format = "i"}, null_type = {.format = "n"};
  struct ArrowSchema* types[] = {&end_type, &null_type};
  struct ArrowSchema runs = {
      .format = "+r", .n_children = 2, .children = types};
  struct ArrowArray end_array = {
      .length = 1, .n_buffers = 2, .buffers = end_buffers};
  struct ArrowArray null_array = {.length = 1};
  struct ArrowArray* arrays[] = {&end_array, &null_array};
  struct ArrowArray array = {.length = 1000000,
                             .buffers = nothing,
                             .n_children = 2,
                             .children = arrays};
  int64_t excess = fnabi_arrow_excess(&runs, &array, -1, INT32_MAX);
  CHECK(excess == 8 * INT64_C(1000000) - 4 * FNABI_ARROW_GROWTH);
  array.length = INT64_C(1) << 40;
  CHECK(fnabi_arrow_excess(&null_type, &array, -1, INT32_MAX) ==
        INT64_C(1) + INT32_MAX);
}

int main(void) {
  test_streams();
  test_a_kind_that_there_is_not();
  test_a_stream_without_error_text();
  test_layouts();
  test_other_data();
  test_excess();
  return 0;
}
