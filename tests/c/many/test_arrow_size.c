/* The size of Arrow data of every layout: as it is stored, and written out. */
#include "many/arrow_data.h"

/* A dictionary of one entry, eight indexes of it, one that is out of range, and
 * one that is null. The entry is `written` bytes where it is written out, and
 * `held` where it is stored. */
static void check_entry(arrow_data* entry, int64_t written, int64_t held) {
  enum { ROWS = 10, VALID = 8 };
  static const uint8_t validity[] = {0xFF, 0x01};
  static const int8_t indexes[ROWS] = {[8] = 1};
  arrow_data* table =
      with_field(DATA("+s", ROWS, NULL), "column",
                 with_dictionary(DATA("c", ROWS, validity, indexes), entry));
  int64_t excess =
      8 * ROWS + VALID * written - (FNABI_ARROW_GROWTH * ROWS + held);
  if (excess < 0) excess = 0;
  for (int64_t most = 0; most < excess + 9; most += 1 + most / 2000)
    CHECK(fnabi_arrow_excess(&table->schema, &table->array, 0, most) ==
          (most < excess ? most + 1 : excess));
}

static const int32_t zero32[] = {0}, end32[] = {0, 1000};
static const int64_t zero64[] = {0}, end64[] = {0, 1000}, size64[] = {1000};
static const int32_t size32[] = {1000};
static const uint8_t null[] = {0};

static arrow_data* numbers(void) { return DATA("i", 1000, NULL, ""); }
static arrow_data* fixed(int64_t count) {
  return DATA("w:1000", count, NULL, "");
}

static void test_texts(void) {
  data_used = 0;
  check_entry(DATA("u", 1, NULL, end32, ""), 1000, 4 + 1000);
  check_entry(DATA("z", 1, NULL, end32, ""), 1000, 4 + 1000);
  check_entry(DATA("U", 1, NULL, end64, ""), 1000, 8 + 1000);
  check_entry(DATA("Z", 1, NULL, end64, ""), 1000, 8 + 1000);
  check_entry(DATA("vu", 1, NULL, size32, "", size64), 8 + 1000, 16 + 1000);
  check_entry(DATA("vu", 1, null, size32, "", size64), 8, 16 + 1000);
  check_entry(fixed(1), 8 + 1000, 1000);
  check_entry(DATA("w:99999999999", 1, NULL, ""), 8 + INT64_C(9999999999),
              INT64_C(9999999999));
  check_entry(DATA("w:12x", 1, NULL, ""), 8 + 12, 12);
  check_entry(DATA("n", 1, NULL), 8, 0);
  check_entry(DATA("w:0", 1, NULL, ""), 8, 0);

  /* in a list */
  static const char* const formats[] = {"u", "z", "U", "Z"};
  static const int32_t ends[] = {0, 90, 1000};
  static const int64_t wide_ends[] = {0, 90, 1000};
  static const int32_t two[] = {0, 2}, none[] = {1, 1};
  for (int wide = 0; wide < 4; wide++) {
    const void* offsets = wide < 2 ? (const void*)ends : wide_ends;
    arrow_data* texts = DATA(formats[wide], 2, NULL, offsets, "");
    check_entry(with_child(DATA("+l", 1, NULL, two), texts), 8 + 2 * 8 + 1000,
                4 + 2 * (wide < 2 ? 4 : 8) + 1000);
    check_entry(with_child(DATA("+l", 1, NULL, none), texts), 8, 4);
  }
}

static void test_lists(void) {
  data_used = 0;
  check_entry(with_child(DATA("+l", 1, NULL, end32), numbers()), 8 + 8000,
              4 + 125);
  check_entry(with_child(DATA("+L", 1, NULL, end64), numbers()), 8 + 8000,
              8 + 125);
  check_entry(with_child(DATA("+vl", 1, NULL, zero32, size32), numbers()),
              8 + 8000, 8 + 125);
  check_entry(with_child(DATA("+vL", 1, NULL, zero64, size64), numbers()),
              8 + 8000, 16 + 125);
  check_entry(with_child(DATA("+vl", 1, null, zero32, size32), numbers()), 8,
              8 + 125);
  check_entry(with_child(DATA("+w:1000", 1, NULL), numbers()), 8 + 8000, 125);
  arrow_data* pairs = with_child(DATA("+s", 1000, NULL), numbers());
  check_entry(with_child(DATA("+m", 1, NULL, end32), pairs), 8 + 8000 + 8000,
              4 + 125);
}

static void test_structs(void) {
  static const int8_t ids[] = {7, 3, 5};
  static const int32_t offsets[] = {0, 0, 0}, three[] = {0, 3};
  data_used = 0;
  check_entry(with_child(DATA("+s", 1, NULL), fixed(1)), 8 + 8 + 1000, 1000);
  check_entry(with_child(DATA("+us:0", 1, ids), fixed(1)), 8 + 8 + 1000,
              1 + 1000);
  arrow_data* dense = DATA("+ud:5,7", 3, ids, offsets);
  dense->array.null_count = 0;
  with_child(with_child(dense, DATA("c", 1, NULL, "")), fixed(1));
  check_entry(with_child(DATA("+l", 1, NULL, three), dense),
              8 + (8 + 8 + 1000) + 8 + (8 + 8), 4 + 3 + 12 + 1000);
}

static void test_runs(void) {
  static const int16_t short_ends[] = {1, 9};
  static const int32_t ends[] = {1, 9}, two[] = {1, 3}, all[] = {0, 3},
                       far[] = {7, 9};
  static const int64_t long_ends[] = {1, 9};
  const struct {
    const char* format;
    const void* ends;
    int64_t width;
  } widths[] = {{"s", short_ends, 2}, {"i", ends, 4}, {"l", long_ends, 8}};
  for (size_t i = 0; i < 3; i++) {
    data_used = 0;
    arrow_data* runs = DATA("+r", 1, NULL);
    with_child(runs, DATA(widths[i].format, 2, NULL, widths[i].ends));
    with_child(runs, fixed(2));
    check_entry(runs, 1008, widths[i].width + 1000);
    runs->array.length = 9;
    /* the last two values of the list are in the second run */
    check_entry(with_child(DATA("+l", 1, NULL, two), runs), 8 + 2 * 1008,
                4 + widths[i].width + 1000);
    check_entry(with_child(DATA("+l", 1, NULL, all), runs), 8 + 3 * 1008,
                4 + 2 * widths[i].width + 2000);
    /* these are after the runs */
    check_entry(with_child(DATA("+l", 1, NULL, far), runs), 8 + 2 * 1008,
                4 + widths[i].width + 1000);
    runs->arrays[0]->length = runs->arrays[1]->length = 1;
    check_entry(with_child(DATA("+l", 1, NULL, far), runs), 8, 4);
  }
}

static void test_indexes(void) {
  static const int64_t zeros[8], ones[] = {-1};
  static const char* const formats[] = {"c", "C", "s", "S", "i", "I", "l", "L"};
  static const int64_t widths[] = {1, 1, 2, 2, 4, 4, 8, 8};
  for (size_t i = 0; i < 8; i++) {
    data_used = 0;
    arrow_data* texts = DATA("u", 1, NULL, end32, "");
    for (int outside = 0; outside < 2; outside++) {
      const void* indexes = outside ? ones : zeros;
      check_entry(with_dictionary(DATA(formats[i], 1, NULL, indexes), texts),
                  8 + (outside ? 0 : 1000), widths[i] + 4 + 1000);
      check_entry(with_dictionary(DATA(formats[i], 1, NULL, indexes), fixed(1)),
                  8 + (outside ? 0 : 1008), widths[i] + 1000);
    }
    check_entry(with_dictionary(DATA(formats[i], 1, null, zeros), fixed(1)), 8,
                widths[i] + 1000);
    check_entry(with_dictionary(DATA(formats[i], 1, null, zeros), texts), 8,
                widths[i] + 4 + 1000);
  }
}

/* What is nested deeper than fnabi reads is as large as anything. */
static void test_depth(void) {
  for (int depth = FNABI_DEPTH_MAX; depth < FNABI_DEPTH_MAX + 2; depth++) {
    data_used = 0;
    arrow_data* data = DATA("c", 9, NULL, "");
    for (int i = 0; i < depth; i++)
      data = with_child(DATA("+s", 9, NULL), data);
    CHECK(fnabi_arrow_excess(&data->schema, &data->array, -1, 1 << 20) ==
          (depth > FNABI_DEPTH_MAX ? (1 << 20) + 1
                                   : 8 * 9 * (depth + 1) - FNABI_ARROW_GROWTH));
  }
}

/* What has no format of Arrow, or not the children of its own, is not read. */
static void test_unknown_parts(void) {
  static const char* const formats[] = {"",   "+",   "+x",   "+l", "+L",
                                        "+m", "+vl", "+w:3", "+r", "+r"};
  for (int i = 0; i < 10; i++) {
    data_used = 0;
    arrow_data* data = DATA(formats[i], 9, NULL);
    if (i == 9) with_child(data, DATA("i", 9, NULL, ""));
    data = with_field(DATA("+s", 9, NULL), "column", data);
    CHECK(fnabi_arrow_excess(&data->schema, &data->array, 0, 1000) == 0);
  }
}

/* Nor are indexes and run ends that are no integers, or have no values. */
static void test_unknown_indexes(void) {
  static const char* const formats[] = {"n", "f", "", "cc", "c"};
  for (int i = 0; i < 5; i++) {
    data_used = 0;
    arrow_data* data = DATA(formats[i], 9, NULL);
    arrow_data* table =
        with_field(DATA("+s", 9, NULL), "column",
                   with_dictionary(data, DATA("u", 1, NULL, end32, "")));
    if (i == 4) data->array.dictionary = NULL;
    CHECK(fnabi_arrow_excess(&table->schema, &table->array, 0, 1000) == 0);
  }
  data_used = 0;
  arrow_data* runs = DATA("+r", 9, NULL);
  with_child(with_child(runs, DATA("n", 1, NULL)), fixed(1));
  CHECK(fnabi_arrow_excess(&runs->schema, &runs->array, -1, 1000) == 0);
}

/* Sizes that no memory has do not overflow. */
static void test_overflow(void) {
  int64_t length = INT64_C(1) << 40;
  data_used = 0;
  arrow_data* data = DATA("+s", length, NULL);
  for (int i = 0; i < 2; i++)
    with_child(data, DATA("w:2000000000", length, NULL, ""));
  for (int64_t most = 0; most < 2; most++)
    CHECK(fnabi_arrow_excess(&data->schema, &data->array, -1, most) ==
          most + 1);

  /* more is stored than can be counted, twice */
  length = INT64_C(3) << 43;
  data = DATA("+s", length, NULL);
  for (int i = 0; i < 2; i++)
    with_child(data, DATA("w:1024", length, NULL, ""));
  CHECK(fnabi_arrow_excess(&data->schema, &data->array, -1, 1000) == 0);
}

int main(void) {
  test_texts();
  test_lists();
  test_structs();
  test_runs();
  test_indexes();
  test_depth();
  test_unknown_parts();
  test_unknown_indexes();
  test_overflow();
  return 0;
}
