#include "allocations.h"
#include "many/decoders.h"

static fnabi_columns* columns_of(int32_t abi, const char* data, size_t size) {
  fnabi_error error;
  size_t used;
  fnabi_columns* columns = fnabi_columns_new(abi, 0);
  CHECK(columns != NULL);
  CHECK(fnabi_columns_decode_lines(columns, data, size, true, SIZE_MAX, &used,
                                   &error) >= 0);
  return columns;
}

static void check_column(const fnabi_columns* columns, int32_t column,
                         const void* expected, size_t size) {
  const void* data;
  size_t found;
  CHECK(fnabi_columns_read(columns, column, &data, &found) > 0);
  CHECK(found == size && (size == 0 || memcmp(data, expected, size) == 0));
}

#define CHECK_COLUMN(columns, column, type, ...)                \
  do {                                                          \
    static const type expected_[] = {__VA_ARGS__};              \
    check_column(columns, column, expected_, sizeof expected_); \
  } while (0)

static void test_raw(void) {
  fnabi_columns* c =
      columns_of(FNABI_ABI_RAW, TEXT("I14!B10!t3d-1d200R4!S1!\nI1!Q\n"
                                     "I1!R7!O1!U1!"));
  CHECK(fnabi_columns_rows(c) == 3);
  CHECK_COLUMN(c, FNABI_COLUMN_STATUS, uint8_t, 0, FNABI_RAW_RESULTS, 0);
  CHECK_COLUMN(c, FNABI_COLUMN_KEPT, int64_t, 1);
  CHECK_COLUMN(c, FNABI_COLUMN_ERROR_OFFSET, int64_t, 3);
  CHECK_COLUMN(c, FNABI_COLUMN_TEXT, char, 'I', '1', '!', 'Q');
  CHECK_COLUMN(c, FNABI_COLUMN_OFFSETS, int32_t, 0, 1, 1, 1);
  CHECK_COLUMN(c, FNABI_COLUMN_KIND, int8_t, FNABI_TYPE_BUFFER);
  CHECK_COLUMN(c, FNABI_COLUMN_DTYPE, int8_t, 3);
  CHECK_COLUMN(c, FNABI_COLUMN_SHAPE_OFFSETS, int32_t, 0, 2);
  CHECK_COLUMN(c, FNABI_COLUMN_DIMS, int64_t, -1, 200);
  enum { RESULTS = FNABI_COLUMN_SIDE };
  CHECK_COLUMN(c, FNABI_COLUMN_OFFSETS + RESULTS, int32_t, 0, 1, 1, 3);
  CHECK_COLUMN(c, FNABI_COLUMN_KIND + RESULTS, int8_t, FNABI_TYPE_SCALAR,
               FNABI_TYPE_REF, FNABI_TYPE_UNKNOWN);
  CHECK_COLUMN(c, FNABI_COLUMN_DTYPE + RESULTS, int8_t, 0, -1, -1);
  const void* data;
  size_t size;
  CHECK(fnabi_columns_read(c, FNABI_COLUMN_DEPTH, &data, &size) == 0);
  check_export(c, FNABI_ABI_RAW);
}

static void test_sip(void) {
  fnabi_columns* c = columns_of(
      FNABI_ABI_SIP, TEXT("I21!S17!k0_1k2D8!K3!ab_0R3!_5\nI1!R1!\n"));
  CHECK_COLUMN(c, FNABI_COLUMN_STATUS, uint8_t, 0, 0);
  CHECK_COLUMN(c, FNABI_COLUMN_OFFSETS, int32_t, 0, 4, 4);
  CHECK_COLUMN(c, FNABI_COLUMN_KIND, int8_t, FNABI_SIP_SEQUENCE, FNABI_SIP_LEAF,
               FNABI_SIP_DICT, FNABI_SIP_LEAF);
  CHECK_COLUMN(c, FNABI_COLUMN_DEPTH, uint8_t, 0, 1, 1, 2);
  CHECK_COLUMN(c, FNABI_COLUMN_INDEX, int32_t, -1, 1, -1, 0);
  CHECK_COLUMN(c, FNABI_COLUMN_POSITION, int32_t, -1, 0, 2, -1);
  CHECK_COLUMN(c, FNABI_COLUMN_NAME_OFFSETS, int32_t, 0, 0, 0, 0, 2);
  CHECK_COLUMN(c, FNABI_COLUMN_NAMES, char, 'a', 'b');
  check_export(c, FNABI_ABI_SIP);
}

static void test_iree_abi(void) {
  fnabi_columns* c =
      columns_of(FNABI_ABI_IREE_ABI,
                 TEXT("{\"a\":[[\"named\",\"x\",[\"sdict\",[\"k\",\"i32\"]]]],"
                      "\"r\":[[\"ndarray\",[\"slist\",\"i8\"],1,null]]}\n"));
  CHECK_COLUMN(c, FNABI_COLUMN_STATUS, uint8_t, 0);
  CHECK_COLUMN(c, FNABI_COLUMN_KIND, int8_t, FNABI_TYPE_DICT,
               FNABI_TYPE_SCALAR);
  CHECK_COLUMN(c, FNABI_COLUMN_DEPTH, uint8_t, 0, 1);
  CHECK_COLUMN(c, FNABI_COLUMN_FLAGS, uint8_t, FNABI_NODE_NAMED,
               FNABI_NODE_NAMED);
  CHECK_COLUMN(c, FNABI_COLUMN_NAMES, char, 'x', 'k');
  CHECK_COLUMN(c, FNABI_COLUMN_DTYPE, int32_t, -1, 12);
  enum { RESULTS = FNABI_COLUMN_SIDE };
  CHECK_COLUMN(c, FNABI_COLUMN_KIND + RESULTS, int8_t, FNABI_TYPE_REF_ARRAY,
               FNABI_TYPE_LIST, FNABI_TYPE_SCALAR);
  CHECK_COLUMN(c, FNABI_COLUMN_SHAPE_OFFSETS + RESULTS, int32_t, 0, 1, 1, 1);
  CHECK_COLUMN(c, FNABI_COLUMN_DIMS + RESULTS, int64_t, -1);
  check_export(c, FNABI_ABI_IREE_ABI);
}

/* What holds the texts: offsets of both widths, and lists. */
static void test_inputs(void) {
  fnabi_error error;
  static const char data[] = "I1!R1!xI1!R4!O1!";
  static const int32_t narrow[] = {0, 6, 7, 16, 16};
  static const int64_t wide[] = {0, 6, 7, 16, 16};
  static const uint8_t validity = 0x7;
  fnabi_columns* c = fnabi_columns_new(FNABI_ABI_RAW, 0);
  CHECK(fnabi_columns_decode(c, data, 16, narrow, 4, &validity, 0, 4, &error) ==
        4);
  CHECK(fnabi_columns_decode(c, data, 16, wide, 8, NULL, 1, 2, &error) == 2);
  static const uint8_t list[] = {0x93, 0xA6, 'I',  '1',  '!', 'R',
                                 '1',  '!',  0xC0, 0xC4, 1,   'x'};
  CHECK(fnabi_columns_decode_list(c, list, sizeof list, &error) == 3);
  CHECK_COLUMN(c, FNABI_COLUMN_STATUS, uint8_t, 0, FNABI_RAW_INPUTS, 0, 255,
               FNABI_RAW_INPUTS, 0, 0, 255, FNABI_RAW_INPUTS);
  CHECK(fnabi_columns_row(c, 3, NULL, 0, &error) == -1);
  CHECK(error.code == FNABI_MESSAGE);
  CHECK(fnabi_columns_row(c, 9, NULL, 0, &error) == -1);

  /* what is malformed ends there */
  static const int64_t bad[] = {0, 6, 5, 17};
  CHECK(fnabi_columns_decode(c, data, 16, bad, 8, NULL, 0, 3, &error) == -1);
  CHECK(error.code == FNABI_MESSAGE && error.offset == 1);
  CHECK(fnabi_columns_rows(c) == 10);
  CHECK(fnabi_columns_decode(c, data, 16, bad, 8, NULL, 2, 1, &error) == -1);
  CHECK(fnabi_columns_decode(c, data, 16, bad, 2, NULL, 0, 1, &error) == -1);
  static const uint8_t wrong[] = {0x92, 0xA1, 'x', 0x01};
  CHECK(fnabi_columns_decode_list(c, wrong, sizeof wrong, &error) == -1);
  CHECK(error.code == FNABI_MESSAGE && error.offset == 1);
  CHECK(fnabi_columns_rows(c) == 11);
  for (size_t cut = 0; cut < sizeof list; cut++) {
    uint8_t* part = exact(list, cut);
    CHECK(fnabi_columns_decode_list(c, part, cut, &error) == -1);
    release(part);
  }
  fnabi_columns_free(c);
  CHECK(fnabi_columns_new(-1, 0) == NULL);
  CHECK(fnabi_columns_new(FNABI_ABI_COUNT, 0) == NULL);
  fnabi_columns_free(NULL);
}

/* Copies one of some texts, often with one or two edits, and returns its size.
 * `out` has the capacity for one byte more than the text. */
static size_t make_text(char* out, const char* const* texts, size_t count,
                        uint32_t* random) {
  static const char pieces[] = "0123456789!-dtBSOUIRDKk_@x";
  const char* text = texts[next_random(random) % count];
  size_t length = strlen(text);
  memcpy(out, text, length);
  for (unsigned left = next_random(random) % 3; left > 0 && length > 1;
       left--) {
    size_t at = next_random(random) % length;
    char piece = pieces[next_random(random) % (sizeof pieces - 1)];
    switch (next_random(random) % 6) {
      case 0:
        memmove(out + at, out + at + 1, length - at - 1);
        length--;
        break;
      case 1:
        memmove(out + at + 1, out + at, length - at);
        length++;
        out[at] = piece;
        left = 1; /* the capacity is used up */
        break;
      default:
        out[at] = piece;
    }
  }
  return length;
}

/* Well-formed texts, nearly well-formed ones and others: many together, and a
 * few together, for a decoder that takes many at once gives up where one is
 * malformed. */
static void test_changed(int32_t abi, const char* const* texts, size_t count,
                         unsigned rounds) {
  enum { ROWS = 1000 };
  uint32_t random = 2463534242u;
  char* data = malloc(ROWS * 256);
  CHECK(data != NULL);
  for (unsigned round = 0; round < rounds; round++) {
    size_t size = 0, begin = 0;
    unsigned few = 1 + next_random(&random) % 3;
    for (unsigned row = 0; row < ROWS; row++) {
      size += make_text(data + size, texts, count, &random);
      data[size++] = '\n';
      if (row % few != few - 1) continue;
      check_decoders(abi, data + begin, size - begin);
      begin = size;
    }
    char* copy = exact(data, size);
    check_lines(abi, copy, size);
    release(copy);
  }
  free(data);
}

/* One text that a kernel cannot decode, in each row of a block of others: it is
 * malformed, or its keys do not ascend. */
static void test_one_odd(int32_t abi, const char* good, const char* odd) {
  enum { ROWS = 64 };
  char data[ROWS * 64];
  for (unsigned at = 0; at < ROWS; at++) {
    size_t size = 0;
    for (unsigned row = 0; row < ROWS; row++) {
      const char* text = row == at ? odd : good;
      size_t length = strlen(text);
      memcpy(data + size, text, length);
      data[size + length] = '\n';
      size += length + 1;
    }
    fnabi_columns* columns =
        decoded_lines(abi, FNABI_DECODER_REFERENCE, data, size, true);
    const void* status;
    size_t rows;
    fnabi_columns_read(columns, FNABI_COLUMN_STATUS, &status, &rows);
    for (unsigned row = 0; row < ROWS; row++)
      CHECK(row == at || ((const uint8_t*)status)[row] == FNABI_OK);
    fnabi_columns_free(columns);
    check_decoders(abi, data, size);
  }
}

static void test_odd(void) {
  static const char dims[] = "I14!B10!t3d-1d200R4!S1!",
                    positions[] = "I18!S14!k0_0k1S5!k3_1R1!",
                    names[] = "I17!D13!K2!a_0K2!b_1R1!",
                    long_names[] =
                        "I39!D35!K12!same_first1_0K12!same_first2_1R1!";
  static const struct {
    int32_t abi;
    const char *good, *odd;
  } texts[] = {
      {FNABI_ABI_RAW, dims, "I15!B11!t12d-1d200R4!S1!"},
      {FNABI_ABI_RAW, dims, "I15!B11!t03d-1d200R4!S1!"},
      {FNABI_ABI_RAW, dims, "I13!B9!t3d-1d200R4!S1!"},
      {FNABI_ABI_RAW, dims, "I13!B10t3d-1d200R4!S1!"},
      {FNABI_ABI_RAW, dims, "I14!B10!t3d-1d200R4!S2!"},
      {FNABI_ABI_RAW, dims, "I24!B1:!d10d1d1d1d1d1d1d1d1R1!"}, /* no digit */
      {FNABI_ABI_RAW, dims, "I14!B10!t3!d-1d20R4!S1!"},
      {FNABI_ABI_RAW, dims, "I14!B10!t3d-1d200R4!S1"},
      {FNABI_ABI_RAW, dims, "5I1!R1!"}, /* after a number */
      {FNABI_ABI_RAW, dims, "I1!R4!S1!U1!"},
      {FNABI_ABI_RAW, dims, "I1!R1!I1!"},
      {FNABI_ABI_RAW, dims, "R1!"},
      {FNABI_ABI_RAW, dims, "I1!R5!t3S1!"},
      {FNABI_ABI_RAW, dims, "I7!S4!d1R1!"},
      {FNABI_ABI_RAW, dims, "I8!S5!t99R1!"},
      {FNABI_ABI_RAW, dims, "I17!B13!d1234567890R1!"},
      {FNABI_ABI_RAW, dims, ""},
      {FNABI_ABI_SIP, positions, "I18!S14!k1_0k0S5!k3_1R1!"},
      {FNABI_ABI_SIP, positions, "I18!S14!k1_0k1S5!k3_1R1!"},
      {FNABI_ABI_SIP, positions, "I18!S14!k0_0k1S9!k3_1R1!"},
      {FNABI_ABI_SIP, positions, "I15!S11!k0_0K2!a_1R1!"},
      {FNABI_ABI_SIP, names, "I17!D13!K2!b_0K2!a_1R1!"},
      {FNABI_ABI_SIP, names, "I17!D13!K2!b_0K2!b_1R1!"},
      {FNABI_ABI_SIP, names, "I12!D9!k0_0k1_1R1!"},
      {FNABI_ABI_SIP, names, "I17!D13!K2!a_0K9!b_1R1!"}, /* into the next row */
      {FNABI_ABI_SIP, names, "I17!D13!K2!a_0K2!b!1R1!"},
      {FNABI_ABI_SIP, names, "I17!D13!K2!a_0K2!b_1R!!!"},
      {FNABI_ABI_SIP, long_names,
       "I39!D35!K12!same_first2_0K12!same_first1_1R1!"},
      {FNABI_ABI_SIP, long_names,
       "I39!D35!K12!same_first1_0K12!same_first1_1R1!"},
      {FNABI_ABI_SIP, long_names,
       "I39!D35!K12!same_first1_0K12!same_first2_1R!!!"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    test_one_odd(texts[i].abi, texts[i].good, texts[i].odd);
}

/* What no decoder is there, and which one is the best. */
static void test_decoders(void) {
  CHECK(fnabi_decoder_find(-1) == -1);
  CHECK(fnabi_decoder_find(FNABI_DECODER_COUNT) == -1);
  CHECK(fnabi_columns_new(FNABI_ABI_RAW, FNABI_DECODER_COUNT) == NULL);
  for (int32_t i = 1; i < FNABI_DECODER_COUNT; i++) {
    fnabi_columns* columns = fnabi_columns_new(FNABI_ABI_RAW, i);
    CHECK((columns != NULL) == (fnabi_decoder_find(i) == i));
    fnabi_columns_free(columns);
  }
  CHECK(fnabi_decoder_find(FNABI_DECODER_REFERENCE) > 0);
  CHECK(fnabi_decoder_find(FNABI_DECODER_SCALAR) > 0);
  int32_t best = fnabi_decoder_find(FNABI_DECODER_BEST);
  CHECK(best >= FNABI_DECODER_SCALAR && fnabi_decoder_find(best) == best);
  for (int32_t i = best + 1; i < FNABI_DECODER_COUNT; i++)
    CHECK(fnabi_decoder_find(i) == -1);
}

/* A length below 0 leads back, to where the scalar decoder has been. */
static void test_negative_lengths(void) {
  static const char text[] =
      "I13!O1!O1!O-7!R1!\nI10!O1!O-!O1!R1!\nI7!O-3!O!R1!";
  check_lines(FNABI_ABI_RAW, TEXT(text));
  check_lines(FNABI_ABI_SIP, TEXT("I7!S-3!k0R1!\nI7!D4!K-3R1!\nI-3!R1!"));
}

/* A line ends before "\n" or "\r\n"; another return belongs to the text. */
static void test_line_ends(void) {
  static const char text[] =
      "I1!R1!\r\nI4!O1!R1!\n\r\nI1!R1!\r\r\nI1!R1!\rI1!R1!\r\nI1!R1!\r";
  static const uint8_t is_good[] = {1, 1, 0, 0, 0, 0};
  fnabi_error error;
  size_t used;
  check_lines(FNABI_ABI_RAW, TEXT(text));
  fnabi_columns* columns = fnabi_columns_new(FNABI_ABI_RAW, 0);
  CHECK(columns != NULL);
  CHECK(fnabi_columns_decode_lines(columns, TEXT(text), true, SIZE_MAX, &used,
                                   &error) == sizeof is_good);
  const uint8_t* status = columns->vectors[FNABI_COLUMN_STATUS].data;
  for (size_t i = 0; i < sizeof is_good; i++)
    CHECK((status[i] == FNABI_OK) == is_good[i]);
  /* neither the return nor the newline counts: the second line is too long */
  CHECK(fnabi_columns_decode_lines(columns, TEXT(text), true, 8, &used,
                                   &error) < 0);
  CHECK(error.code == FNABI_LINE && error.offset == 1 && used == 8);
  CHECK(fnabi_columns_rows(columns) == sizeof is_good + 1);
  CHECK(fnabi_columns_decode_lines(columns, "xy", 2, false, 1, &used, &error) ==
        0);
  fnabi_columns_free(columns);
}

/* More rows than their bytes could have values. */
static void test_short_texts(void) {
  char lines[4096];
  for (int32_t abi = 0; abi < FNABI_ABI_COUNT; abi++) {
    memset(lines, '\n', sizeof lines);
    check_lines(abi, lines, sizeof lines);
    for (size_t i = 0; i < sizeof lines; i += 2) lines[i] = 'x';
    check_lines(abi, lines, sizeof lines);
  }
}

/* Joined offsets of 4 bytes go up to INT32_MAX. */
static void test_joined_offsets(void) {
  static const char line[] = "I12!B9!t1d1d2d3R1!\n";
  fnabi_columns* parts[2];
  for (int i = 0; i < 2; i++)
    parts[i] = decoded_lines(FNABI_ABI_RAW, 0, line, sizeof line - 1, false);
  fnabi_vector* v = &parts[0]->vectors[FNABI_COLUMN_SHAPE_OFFSETS];
  size_t last = v->size / sizeof(int32_t) - 1;
  CHECK(fnabi_vector_int32(v, last) == 3);
  for (int32_t more = 0; more < 2; more++) {
    ((int32_t*)(void*)v->data)[last] = INT32_MAX - 3 + more;
    fnabi_columns* joined = fnabi_columns_join(parts, 2);
    CHECK((joined != NULL) == (more == 0));
    if (joined == NULL) continue;
    CHECK(fnabi_vector_int32(&joined->vectors[FNABI_COLUMN_SHAPE_OFFSETS],
                             last + 1) == INT32_MAX);
    fnabi_columns_free(joined);
  }
  for (int i = 0; i < 2; i++) fnabi_columns_free(parts[i]);
}

/* Names with the same first 8 bytes, and names that differ only in NULs. */
static void test_names(void) {
  check_lines(FNABI_ABI_SIP, TEXT("I18!D14!K2!\0_0K3!\0\0_1R1!\n"
                                  "I18!D14!K3!\0\0_0K2!\0_1R1!\n"
                                  "I18!D14!K2!a_0K3!a\0_1R1!\n"
                                  "I35!D31!K9!sameeight_0K10!sameeight2_1R1!\n"
                                  "I35!D31!K10!sameeight2_0K9!sameeight_1R1!"));
}

/* Gives columns with wide offsets, or as views. */
static bool try_cast(fnabi_columns* columns, bool views) {
  struct ArrowSchema schema, wanted;
  struct ArrowArray array;
  if (fnabi_columns_schema(columns->abi, &schema) < 0) return false;
  bool good = fnabi_columns_schema(columns->abi, &wanted) == 0;
  if (good) {
    fnabi_arrow_plain_schema(&wanted);
    for (int64_t i = 0; i < wanted.n_children; i++) {
      const char* format = wanted.children[i]->format;
      if (strcmp(format, "u") == 0)
        wanted.children[i]->format = views ? "vu" : "U";
      if (strcmp(format, "+l") == 0)
        wanted.children[i]->format = views ? "+vL" : "+L";
    }
    good = fnabi_columns_array(columns, &array) == 0;
    if (good) {
      good = fnabi_arrow_cast(&array, &schema, &wanted) == 1;
      array.release(&array);
    }
    wanted.release(&wanted);
  }
  schema.release(&schema);
  return good;
}

/* Copies columns by way of their bytes, and writes their texts. */
static bool try_restore(const fnabi_columns* columns) {
  const void* data[FNABI_COLUMN_COUNT];
  size_t sizes[FNABI_COLUMN_COUNT] = {0};
  uint8_t dtypes[1024];
  for (int32_t i = 0; i < FNABI_COLUMN_COUNT; i++) {
    data[i] = "";
    fnabi_columns_read(columns, i, &data[i], &sizes[i]);
  }
  int64_t size = fnabi_columns_dtypes(columns, dtypes, sizeof dtypes);
  CHECK((size_t)size <= sizeof dtypes);
  fnabi_columns* restored =
      fnabi_columns_restore(columns->abi, data, sizes, dtypes, (size_t)size);
  if (restored == NULL) return false;
  CHECK(fnabi_columns_equal(columns, restored));
  fnabi_columns_free(restored);
  int64_t end;
  fnabi_error error = {0};
  bool good = fnabi_columns_encode(columns, 0, 1, &end, NULL, 0, &error) >= 0;
  CHECK(good || error.code == FNABI_MEMORY ||
        columns->abi == FNABI_ABI_DECLARATION);
  return good || error.code != FNABI_MEMORY;
}

/* Reads an array of columns by way of a stream. */
static bool try_stream(fnabi_columns* columns) {
  struct ArrowArrayStream stream;
  struct ArrowSchema schema;
  struct ArrowArray array;
  if (fnabi_columns_stream(&columns, 1, &stream) < 0) return false;
  bool good = stream.get_schema(&stream, &schema) == 0;
  if (good) {
    schema.release(&schema);
    good = stream.get_next(&stream, &array) == 0;
  }
  if (good) array.release(&array);
  stream.release(&stream);
  return good;
}

/* A table with the columns and their plain equivalents, and the texts of it. */
static bool try_arrow(fnabi_columns* columns, const struct ArrowSchema* schema,
                      struct ArrowArray* array, size_t rows) {
  struct ArrowSchema wanted, both, named;
  struct ArrowArray table, texts, more;
  fnabi_error error;
  if (fnabi_arrow_beside_schema(schema, 0, schema, "sig_", false, &wanted) < 0)
    return false;
  CHECK(strcmp(wanted.children[schema->n_children - 1]->name, "sig_status") ==
        0);
  fnabi_arrow_plain_schema(&wanted);
  bool good =
      fnabi_arrow_beside_schema(&wanted, -1, schema, "sig", true, &both) == 0;
  if (!good) {
    wanted.release(&wanted);
    return false;
  }
  CHECK(both.n_children == wanted.n_children + 1);
  CHECK(strcmp(both.children[wanted.n_children]->name, "sig") == 0);
  wanted.release(&wanted);
  both.release(&both);
  if (fnabi_columns_schema(columns->abi, &wanted) < 0) return false;
  fnabi_arrow_plain_schema(&wanted);
  good = fnabi_arrow_cast(array, schema, &wanted) == 1;
  wanted.release(&wanted);
  if (!good || fnabi_columns_array(columns, &more) < 0) return false;
  good = fnabi_arrow_beside(&more, 1, array, false, &table) == 0;
  more.release(&more);
  if (!good) return false;
  CHECK(table.n_children == 2 * schema->n_children - 1);
  good = fnabi_columns_array(columns, &more) == 0;
  if (good) {
    struct ArrowArray all;
    good = fnabi_arrow_beside(&table, -2, &more, true, &all) == 0;
    more.release(&more);
    if (good) {
      CHECK(all.n_children == 1 && all.children[0]->length == (int64_t)rows);
      all.release(&all);
    }
  }
  table.release(&table);
  if (!good || fnabi_columns_array(columns, &more) < 0) return false;
  int64_t* ends = __real_malloc((rows + 1) * sizeof *ends);
  uint8_t* status = __real_malloc(rows + 1);
  error.code = FNABI_OK;
  int64_t size = fnabi_columns_encode_arrow(
      columns->abi, schema, &more, 0, rows, ends, status, NULL, 0, &error);
  more.release(&more);
  CHECK(size >= 0 || error.code == FNABI_MEMORY ||
        columns->abi == FNABI_ABI_DECLARATION);
  good = size >= 0 || error.code != FNABI_MEMORY;
  memset(status, FNABI_TAG, rows);
  memset(ends, 0, rows * sizeof *ends);
  if (good) good = fnabi_arrow_texts(status, ends, NULL, rows, &texts) == 0;
  if (good) texts.release(&texts);
  if (good) good = fnabi_arrow_texts_schema("f", true, "e", &named) == 0;
  if (good) named.release(&named);
  free(ends);
  free(status);
  return good;
}

/* The columns joined in steps, and a text that Arrow data has added. */
static bool try_steps(fnabi_columns* columns, int32_t abi, const char* text) {
  fnabi_error error;
  int32_t offsets[2] = {0, (int32_t)strlen(text)};
  const void* buffers[] = {NULL, offsets, text};
  struct ArrowSchema schema = {.format = "u"};
  struct ArrowArray array = {.length = 1, .n_buffers = 3, .buffers = buffers};
  fnabi_columns* more = fnabi_columns_new(abi, 0);
  fnabi_columns* joined = fnabi_columns_join_new(&columns, 1);
  bool good = more != NULL && joined != NULL;
  for (int32_t i = 0; good && i < FNABI_COLUMN_COUNT; i++)
    good = fnabi_columns_join_column(joined, &columns, 1, i) == 0;
  if (good) {
    good = fnabi_columns_decode_arrow(more, &schema, &array, -1, 0, 1,
                                      &error) == 1;
    CHECK(good || fnabi_columns_rows(more) == error.offset);
  }
  fnabi_columns_free(joined);
  fnabi_columns_free(more);
  return good;
}

static void release_source(void* context) { (void)context; }

/* A stream of nobody's arrays, and an array. */
static bool try_source(void) {
  struct ArrowArray* made = fnabi_arrow_new("arrow_array");
  if (made == NULL) return false;
  fnabi_arrow_free("arrow_array", made);
  const fnabi_arrow_source source = {.release = release_source};
  struct ArrowArrayStream stream;
  if (fnabi_arrow_stream(&source, &stream) < 0) return false;
  stream.release(&stream);
  return true;
}

/* Consumers read the offsets of texts without a look whether there are any. */
static void check_offsets(const struct ArrowArray* array) {
  CHECK(array->n_buffers < 3 || array->length == 0 ||
        array->buffers[1] != NULL);
  for (int64_t i = 0; i < array->n_children; i++)
    check_offsets(array->children[i]);
}

/* All that takes memory, with the allocation of that number refused, `alone` or
 * with those after it. Answers whether there was none. */
static bool try_refused(int32_t abi, const char* text, size_t copies,
                        size_t number, bool alone) {
  fnabi_error error = {0};
  size_t used, length = strlen(text), size = copies * (length + 1);
  char* lines = __real_malloc(size);
  CHECK(lines != NULL);
  for (size_t i = 0; i < copies; i++) {
    memcpy(lines + i * (length + 1), text, length);
    lines[i * (length + 1) + length] = '\n';
  }
  bool good = false;
  struct ArrowArray array;
  struct ArrowSchema schema;
  *(alone ? &refused_one : &refused_from) = allocations + number;
  fnabi_columns *joined = NULL, *c = fnabi_columns_new(abi, 0);
  size_t rows = 0;
  if (c != NULL) {
    int64_t added = fnabi_columns_decode_lines(c, lines, size, true, SIZE_MAX,
                                               &used, &error);
    rows = added < 0 ? (size_t)error.offset : (size_t)added;
    CHECK(fnabi_columns_rows(c) == rows && used == rows * (length + 1));
    if (added < 0) {
      CHECK(error.code == FNABI_MEMORY);
    } else if ((joined = fnabi_columns_join(&c, 1)) != NULL &&
               fnabi_columns_schema(abi, &schema) == 0) {
      good = fnabi_columns_array(joined, &array) == 0;
      if (good) {
        check_offsets(&array);
        good =
            copies > 3 || (try_arrow(joined, &schema, &array, rows) &&
                           try_cast(joined, false) && try_cast(joined, true) &&
                           try_restore(joined) && try_stream(joined) &&
                           try_steps(joined, abi, text) && try_source());
        array.release(&array);
      }
      schema.release(&schema);
    }
  }
  refused_from = refused_one = SIZE_MAX;
  if (c != NULL) { /* the rows that there are stay, and more can follow */
    for (size_t row = 0; row < rows; row += 1 + rows / 50)
      check_row(c, abi, row, text, length);
    CHECK(fnabi_columns_decode_lines(c, lines, size, true, SIZE_MAX, &used,
                                     &error) > 0);
    CHECK(fnabi_columns_rows(c) > rows);
    check_row(c, abi, rows, text, length);
  }
  fnabi_columns_free(joined);
  fnabi_columns_free(c);
  free(lines);
  return good;
}

static void test_refused(int32_t abi, const char* text, size_t copies) {
  size_t number = 0;
  while (!try_refused(abi, text, copies, number, false)) number++;
  CHECK(number > 20);
  while (copies <= 3 && number-- > 0)
    try_refused(abi, text, copies, number, true);
}

int main(int count, char** arguments) {
  static const char* const raw[] = {
      "I36!O1!B11!d-1d128d64S3!t6U1!B8!t9d-1d0R17!B13!t11d32d-1d64",
      "I1!R1!",
      "I9!B6!d1d22R4!S1!",
      "I17!B13!d123456d1234R14!B10!d12345678",
      "I18!B14!d2147483647d9R6!B3!t2",
      "I12!B9!t1d1d2d3R10!S4!t10U1!",
      "I126!B121!"
      "d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1"
      "d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1R1!",
  };
  static const char* const sip[] = {
      "I21!S17!k0_1k2D8!K3!ab_0R3!_5",
      "I1!R1!",
      "I3!_0R11!D8!K2!x_10",
      "I37!S33!k0D13!K2!a_0K2!b_1k12S9!k0_2k3_3R1!",
      "I17!D13!K2!b_0K2!a_1R1!",
      "I15!S11!k0S6!k0S1!R1!",
      "I31!D27!K1!_0K2!aD1!K3!ab_12345678R3!_7",
      "I39!D35!K12!same_first1_0K12!same_first2_1R1!",
      "I47!D43!K3!K1D13!K4!K3!_0K2!b_2K4!kS!S5!k5_1K2!x_3R7!S3!k0",
      "I22!S18!k1S5!k0_1k2S6!k9_3R13!D9!K3!a\x80_5",
  };

  unsigned rounds = count > 1 ? (unsigned)atoi(arguments[1]) : 30;
  test_raw();
  test_sip();
  test_iree_abi();
  test_inputs();
  test_decoders();
  test_negative_lengths();
  test_line_ends();
  test_short_texts();
  test_joined_offsets();
  test_names();
  static const char* const texts[FNABI_ABI_COUNT] = {
      [FNABI_ABI_RAW] = "I14!B10!t3d-1d200R4!S1!",
      [FNABI_ABI_SIP] = "I21!S17!k0_1k2D8!K3!ab_0R3!_5",
      [FNABI_ABI_CCONV] = "0rCiD_r",
      [FNABI_ABI_IREE_ABI] = "{\"a\":[[\"named\",\"x\",\"i32\"]],\"r\":[]}",
      [FNABI_ABI_DECLARATION] =
          "sync func @f(%x: tensor<?xf32>) -> (%output0: i32)",
  };
  test_odd();
  for (int32_t abi = 0; abi < FNABI_ABI_COUNT; abi++) {
    test_refused(abi, texts[abi], 3);
    test_refused(abi, "?", 3);
  }
  test_refused(
      FNABI_ABI_IREE_ABI,
      "{\"a\":[[\"sdict\",[\"key\",\"i1\"],[\"l\",[\"slist\",\"i8\",[\"named\","
      "\"n\",[\"ndarray\",\"f32\",2,null,128]]]]]],\"r\":[[\"py_homogeneous_"
      "list\",\"i8\"]]}",
      3);
  test_refused(FNABI_ABI_RAW, raw[0], 50000); /* in huge pages */
  test_refused(FNABI_ABI_SIP, sip[0], 50000);
  test_changed(FNABI_ABI_RAW, raw, sizeof raw / sizeof *raw, rounds);
  test_changed(FNABI_ABI_SIP, sip, sizeof sip / sizeof *sip, rounds);
  return 0;
}
