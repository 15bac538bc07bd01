/* Arrow data in the types that a consumer requests. */
#include "many/arrow_data.h"

/* ------------------------------------------------------------------- schemas */

static const char* const nothing[] = {NULL};

/* A type: dictionaries and runs are written as "c>u" and "r>u", lists and
 * fixed-size ones have one field of numbers. */
static arrow_data* type_of(const char* text) {
  if (text[0] == 'r')
    return with_child(with_child(DATA("+r", 0, NULL), DATA("i", 0, NULL)),
                      type_of(text + 2));
  if (text[0] != 0 && text[1] == '>') {
    static char indexes[16][2];
    static size_t used;
    char* index = indexes[used++ % 16];
    index[0] = text[0];
    return with_dictionary(DATA(index, 0, NULL), type_of(text + 2));
  }
  arrow_data* made = make_data(text, 0, (const void* const*)nothing, 1);
  bool list = text[0] == '+' && strcmp(text, "+s") != 0 && text[1] != 'r';
  return list ? with_field(made, "item", DATA("i", 0, NULL)) : made;
}

enum { OTHER = -1 };

static void test_fits(void) {
  static const struct {
    const char *from, *to;
    int64_t fit; /* or OTHER */
  } types[] = {
      {"c", "C", FNABI_ARROW_SOME},
      {"C", "c", FNABI_ARROW_SOME},
      {"C", "s", FNABI_ARROW_ALWAYS},
      {"s", "C", FNABI_ARROW_SOME},
      {"l", "l", FNABI_ARROW_ALWAYS},
      {"c", "L", FNABI_ARROW_SOME},
      {"i", "e", FNABI_ARROW_NEVER},
      {"i", "f", FNABI_ARROW_NEVER},
      {"i", "g", FNABI_ARROW_NEVER},
      {"i", "d:9,2", FNABI_ARROW_NEVER},
      {"i", "u", OTHER},
      {"u", "i", OTHER},
      {"u", "w:4", FNABI_ARROW_NEVER},
      {"u", "z", FNABI_ARROW_ALWAYS},
      {"z", "u", FNABI_ARROW_NEVER},
      {"z", "Z", FNABI_ARROW_ALWAYS},
      {"U", "u", FNABI_ARROW_NEVER},
      {"U", "vu", FNABI_ARROW_NEVER},
      {"u", "vu", FNABI_ARROW_ALWAYS},
      {"+l", "+L", FNABI_ARROW_ALWAYS},
      {"+l", "+vL", FNABI_ARROW_ALWAYS},
      {"+L", "+l", FNABI_ARROW_NEVER},
      {"+l", "+w:2", FNABI_ARROW_NEVER},
      {"+l", "r>+l", FNABI_ARROW_NEVER},
      {"u", "c>u", FNABI_ARROW_NEVER},
      {"c>u", "u", FNABI_ARROW_ALWAYS},
      {"c>u", "r>u", FNABI_ARROW_NEVER},
      {"c>u", "s>u", FNABI_ARROW_ALWAYS},
      {"s>u", "c>u", FNABI_ARROW_SOME},
      {"s>z", "c>u", FNABI_ARROW_NEVER},
      {"b", "b", FNABI_ARROW_NEVER + 2},
      {"b", "i", OTHER},
      {"n", "n", OTHER},
      {"i", "+r", OTHER},
      {"c>u", "c>r>u", FNABI_ARROW_NEVER},
  };
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    fnabi_error error = {0};
    data_used = 0;
    arrow_data* from =
        with_field(DATA("+s", 0, NULL), "x", type_of(types[i].from));
    arrow_data* to = with_field(DATA("+s", 0, NULL), "x", type_of(types[i].to));
    CHECK(fnabi_arrow_fits(&from->schema, &to->schema, &error) == types[i].fit);
    if (types[i].fit == OTHER)
      check_error_is(&error, FNABI_UNSUPPORTED, 0, ".x");
  }
  fnabi_error error = {0};
  data_used = 0;
  arrow_data* from = with_field(DATA("+s", 0, NULL), "x", type_of("i"));
  CHECK(fnabi_arrow_fits(&from->schema, &DATA("+s", 0, NULL)->schema, &error) ==
        -1);
  check_error_is(&error, FNABI_UNSUPPORTED, 0, "");
  arrow_data* to = with_child(DATA("+s", 0, NULL), type_of("i"));
  to->schemas[0]->name = NULL;
  CHECK(fnabi_arrow_fits(&from->schema, &to->schema, &error) == -1);
  check_error_is(&error, FNABI_UNSUPPORTED, 0, ".x");
}

static void test_plain(void) {
  static const char* const formats[][2] = {{"c", "c"}, {"C", "s"}, {"S", "i"},
                                           {"I", "l"}, {"L", "L"}, {"u", "u"}};
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    data_used = 0;
    arrow_data* data = type_of(formats[i][0]);
    fnabi_arrow_plain_schema(&data->schema);
    CHECK(strcmp(data->schema.format, formats[i][1]) == 0);
  }
  /* a consumer may have moved the schema of a dictionary elsewhere */
  for (int moved = 0; moved < 2; moved++) {
    struct ArrowSchema schema, kept;
    const fnabi_arrow_field field = {"x", "c", "u", 0}, *f = &field;
    CHECK(fnabi_arrow_make_schema(&f, &schema));
    if (moved)
      CHECK(fnabi_arrow_move("arrow_schema", schema.dictionary, &kept));
    fnabi_arrow_plain_schema(&schema);
    CHECK(strcmp(schema.format, "u") == 0 && schema.dictionary == NULL);
    schema.release(&schema);
    if (moved) kept.release(&kept);
    f = &field;
    CHECK(fnabi_arrow_make_schema(&f, &schema));
    if (moved)
      CHECK(fnabi_arrow_move("arrow_schema", schema.dictionary, &kept));
    schema.release(&schema);
    if (moved) kept.release(&kept);
  }
}

/* -------------------------------------------------------------------- arrays */

/* An array that owns copies of the buffers of data, and its dictionary. */
static void own(const arrow_data* data, const size_t* sizes,
                struct ArrowArray* out) {
  CHECK(fnabi_arrow_open(out, NULL, (size_t)data->array.length,
                         (int)data->array.n_buffers, 0));
  for (int i = 0; i < data->array.n_buffers; i++)
    if (data->buffers[i] != NULL)
      memcpy(fnabi_arrow_make_buffer(out, i, sizes[i]), data->buffers[i],
             sizes[i]);
}

static void test_numbers(void) {
  static const struct {
    const char *from, *to;
    int64_t number;
    bool fits;
  } numbers[] = {
      {"i", "c", 127, true},        {"i", "c", 128, false},
      {"i", "c", -128, true},       {"i", "c", -129, false},
      {"i", "C", 255, true},        {"i", "C", -1, false},
      {"i", "C", 256, false},       {"i", "s", 32767, true},
      {"i", "S", 65536, false},     {"l", "i", INT32_MAX, true},
      {"l", "I", UINT32_MAX, true}, {"l", "L", -1, false},
      {"l", "L", 1, true},          {"c", "l", -1, true},
      {"i", "i", 5, true},
  };
  static const uint8_t validity[] = {1};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct ArrowArray array;
    data_used = 0;
    int64_t both[2] = {numbers[i].number, 0};
    char wide = numbers[i].from[0];
    size_t width = wide == 'l' ? 8 : wide == 'i' ? 4 : 1;
    memcpy((char*)both + width, &(int64_t){INT64_MAX}, width); /* is null */
    arrow_data* data = DATA(numbers[i].from, 2, validity, both);
    own(data, (size_t[]){1, sizeof both}, &array);
    CHECK(fnabi_arrow_cast(&array, &data->schema,
                           &type_of(numbers[i].to)->schema) == numbers[i].fits);
    int64_t got = 0;
    char to = numbers[i].to[0];
    size_t size = to == 'l' || to == 'L'   ? 8
                  : to == 'i' || to == 'I' ? 4
                  : to == 's' || to == 'S' ? 2
                                           : 1;
    memcpy(&got, array.buffers[1], size);
    CHECK(!numbers[i].fits || memcmp(&got, &numbers[i].number, size) == 0);
    array.release(&array);
  }
}

/* Codes of which one is null, and one has no entry. */
static void test_codes(void) {
  static const int8_t codes[] = {1, 0, 0, 9};
  static const uint8_t validity[] = {0xB};
  static const int32_t ends[] = {0, 2, 22};
  static const char names[] = "abcdefghijklmnopqrstuv";
  static const char* const formats[] = {"u", "U", "vu"};
  for (size_t i = 0; i < 3; i++) {
    struct ArrowArray array;
    data_used = 0;
    arrow_data* texts = DATA("u", 2, NULL, ends, names);
    arrow_data* data = with_dictionary(DATA("c", 4, validity, codes), texts);
    own(data, (size_t[]){1, sizeof codes}, &array);
    array.dictionary = calloc(1, sizeof *array.dictionary);
    own(texts, (size_t[]){0, sizeof ends, sizeof names}, array.dictionary);
    CHECK(fnabi_arrow_cast(&array, &data->schema,
                           &type_of(formats[i])->schema) == 1);
    CHECK(array.dictionary == NULL);
    if (i == 2) {
      static const int32_t sizes[] = {20, 2, 0, 0};
      CHECK(array.n_buffers == 4 && *(const int64_t*)array.buffers[3] == 22);
      for (int k = 0; k < 4; k++)
        CHECK(((const int32_t*)array.buffers[1])[4 * k] == sizes[k]);
      CHECK(((const int32_t*)array.buffers[1])[3] == 2);
      CHECK(memcmp(array.buffers[2], names, 22) == 0);
    } else {
      static const int64_t expected[] = {0, 20, 22, 22, 22};
      for (int k = 0; k < 5; k++)
        CHECK((i == 1 ? ((const int64_t*)array.buffers[1])[k]
                      : ((const int32_t*)array.buffers[1])[k]) == expected[k]);
      CHECK(memcmp(array.buffers[2], "cdefghijklmnopqrstuvab", 22) == 0);
    }
    array.release(&array);
  }
}

/* Texts of 2 GiB together do not fit into offsets of 4 bytes. */
static void test_large(void) {
  static const int8_t codes[3];
  static const int32_t ends[] = {0, 1 << 30};
  struct ArrowArray array;
  data_used = 0;
  arrow_data* texts = DATA("u", 1, NULL, ends, "");
  arrow_data* data = with_dictionary(DATA("c", 3, NULL, codes), texts);
  own(data, (size_t[]){0, sizeof codes}, &array);
  array.dictionary = calloc(1, sizeof *array.dictionary);
  own(texts, (size_t[]){0, sizeof ends, 0}, array.dictionary);
  CHECK(fnabi_arrow_cast(&array, &data->schema, &type_of("u")->schema) == 0);
  array.release(&array);
}

int main(void) {
  test_fits();
  test_plain();
  test_numbers();
  test_codes();
  test_large();
  return 0;
}
