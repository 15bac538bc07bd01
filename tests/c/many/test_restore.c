/* Columns from the bytes of columns: which are refused, and which are equal. */
#include "check.h"

enum { DTYPES = FNABI_COLUMN_COUNT };

/* The columns of some lines, and after them the message of their dtypes. */
typedef struct saved {
  int32_t abi;
  uint8_t* data[DTYPES + 1];
  size_t sizes[DTYPES + 1];
} saved;

static fnabi_columns* decoded(int32_t abi, const char* lines) {
  fnabi_error error;
  size_t used;
  fnabi_columns* columns = fnabi_columns_new(abi, 0);
  CHECK(columns != NULL);
  CHECK(fnabi_columns_decode_lines(columns, lines, strlen(lines), true,
                                   SIZE_MAX, &used, &error) > 0);
  return columns;
}

static saved save(int32_t abi, const char* lines) {
  saved s = {.abi = abi};
  fnabi_columns* columns = decoded(abi, lines);
  for (int32_t i = 0; i < FNABI_COLUMN_COUNT; i++) {
    const void* data = NULL;
    fnabi_columns_read(columns, i, &data, &s.sizes[i]);
    s.data[i] = exact(data, s.sizes[i]);
  }
  s.sizes[DTYPES] = (size_t)fnabi_columns_dtypes(columns, NULL, 0);
  s.data[DTYPES] = exact(NULL, s.sizes[DTYPES]);
  fnabi_columns_dtypes(columns, s.data[DTYPES], s.sizes[DTYPES]);
  fnabi_columns_free(columns);
  return s;
}

static void drop(saved* s) {
  for (int i = 0; i <= DTYPES; i++) release(s->data[i]);
}

static void check_restored(const saved* s, bool good) {
  fnabi_columns* columns =
      fnabi_columns_restore(s->abi, (const void* const*)s->data, s->sizes,
                            s->data[DTYPES], s->sizes[DTYPES]);
  CHECK((columns != NULL) == good);
  fnabi_columns_free(columns);
}

static const char raw[] = "I12!B9!t4d-1d64R1!\nx";
static const char sip[] = "I12!S9!k0_0k1_1R3!_0";
static const char iree_abi[] =
    "{\"a\":[\"i8\",[\"ndarray\",\"f32\",1,4]],\"r\":[]}";
static const char declaration[] = "sync func @f(%a: i32) -> ()";

static void test_dtypes(void) {
  static const struct {
    int32_t abi;
    const char *lines, *message;
    size_t size;
  } messages[] = {
      {FNABI_ABI_IREE_ABI, iree_abi, TEXT("")},
      {FNABI_ABI_IREE_ABI, iree_abi, TEXT("\xC0")},
      {FNABI_ABI_IREE_ABI, iree_abi, TEXT("\x91\x90")},
      {FNABI_ABI_IREE_ABI, iree_abi, TEXT("\x92")},
      {FNABI_ABI_IREE_ABI, iree_abi, TEXT("\x92\x01\x90")},
      {FNABI_ABI_IREE_ABI, iree_abi, TEXT("\x92\x91\x01\x90")},
      {FNABI_ABI_IREE_ABI, iree_abi, /* twice the same */
       TEXT("\x92\x92\x93\xA8"
            "signless\x08\xA0\x93\xA8"
            "signless\x08\xA0\x90")},
      {FNABI_ABI_IREE_ABI, iree_abi, /* the second one is missing */
       TEXT("\x92\x91\x93\xA8"
            "signless\x08\xA0\x90")},
      {FNABI_ABI_RAW, raw, TEXT("\x92\x90\x90")},
  };
  for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
    saved s = save(messages[i].abi, messages[i].lines);
    check_restored(&s, true);
    release(s.data[DTYPES]);
    s.data[DTYPES] = exact(messages[i].message, messages[i].size);
    s.sizes[DTYPES] = messages[i].size;
    check_restored(&s, false);
    drop(&s);
  }
}

/* One element of a column has another value. */
static void test_values(void) {
  static const struct {
    int32_t abi;
    const char* lines;
    int32_t column;
    size_t width, element;
    int64_t value;
    bool good;
  } values[] = {
      {FNABI_ABI_SIP, sip, FNABI_COLUMN_DEPTH, 1, 1, 2, false},
      {FNABI_ABI_SIP, sip, FNABI_COLUMN_DEPTH, 1, 1, 0, false},
      {FNABI_ABI_SIP, sip, FNABI_COLUMN_DEPTH, 1, 1, 255, false},
      {FNABI_ABI_SIP, sip, FNABI_COLUMN_KIND, 1, 1, 0, false},
      {FNABI_ABI_SIP, sip, FNABI_COLUMN_KIND, 1, 1, 9, false},
      {FNABI_ABI_SIP, sip, FNABI_COLUMN_INDEX, 4, 1, 7, true},
      {FNABI_ABI_SIP, sip, FNABI_COLUMN_INDEX, 4, 1, -1, false},
      {FNABI_ABI_SIP, sip, FNABI_COLUMN_INDEX, 4, 0, 0, false},
      {FNABI_ABI_SIP, sip, FNABI_COLUMN_POSITION, 4, 1, -1, false},
      {FNABI_ABI_RAW, raw, FNABI_COLUMN_STATUS, 1, 1, 254, false},
      {FNABI_ABI_RAW, raw, FNABI_COLUMN_KIND, 1, 0, FNABI_TYPE_SCALAR, false},
      {FNABI_ABI_RAW, raw, FNABI_COLUMN_KIND, 1, 0, FNABI_TYPE_UNKNOWN, false},
      {FNABI_ABI_RAW, raw, FNABI_COLUMN_KIND, 1, 0, FNABI_TYPE_DICT, false},
      {FNABI_ABI_RAW, raw, FNABI_COLUMN_DTYPE, 1, 0, -1, false},
      {FNABI_ABI_RAW, raw, FNABI_COLUMN_DTYPE, 1, 0, 12, false},
      {FNABI_ABI_RAW, raw, FNABI_COLUMN_DIMS, 8, 0, 1, true},
      {FNABI_ABI_RAW, raw, FNABI_COLUMN_DIMS, 8, 0, -2, false},
      {FNABI_ABI_RAW, raw, FNABI_COLUMN_DIMS, 8, 0, INT64_MAX, false},
      {FNABI_ABI_IREE_ABI, iree_abi, FNABI_COLUMN_DIMS, 8, 0, INT64_MAX, true},
      {FNABI_ABI_IREE_ABI, iree_abi, FNABI_COLUMN_KIND, 1, 0, 0, false},
      {FNABI_ABI_IREE_ABI, iree_abi, FNABI_COLUMN_KIND, 1, 0, 99, false},
      {FNABI_ABI_IREE_ABI, iree_abi, FNABI_COLUMN_DTYPE, 4, 0, 99, false},
      {FNABI_ABI_DECLARATION, declaration, FNABI_COLUMN_AMBIGUITY, 1, 0,
       FNABI_AMBIGUITY_TYPE, true},
      {FNABI_ABI_DECLARATION, declaration, FNABI_COLUMN_AMBIGUITY, 1, 0,
       FNABI_AMBIGUITY_TYPE + 1, false},
  };
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    saved s = save(values[i].abi, values[i].lines);
    size_t at = values[i].element * values[i].width;
    CHECK(at + values[i].width <= s.sizes[values[i].column]);
    memcpy(s.data[values[i].column] + at, &values[i].value, values[i].width);
    check_restored(&s, values[i].good);
    drop(&s);
  }
}

static void test_equal(void) {
  static const struct {
    int32_t abi;
    const char* lines;
    int32_t other_abi;
    const char* other;
    bool equal;
  } pairs[] = {
      {FNABI_ABI_RAW, raw, FNABI_ABI_RAW, raw, true},
      {FNABI_ABI_RAW, raw, FNABI_ABI_SIP, sip, false},
      {FNABI_ABI_RAW, raw, FNABI_ABI_RAW, "I1!R1!", false},
      {FNABI_ABI_RAW, "I1!R1!", FNABI_ABI_RAW, "I4!O1!R1!", false},
      {FNABI_ABI_RAW, "I4!U1!R1!", FNABI_ABI_RAW, "I4!O1!R1!", false},
      {FNABI_ABI_IREE_ABI, "{\"a\":[\"i8\"],\"r\":[\"i4\"]}",
       FNABI_ABI_IREE_ABI, "{\"a\":[\"i8\"],\"r\":[\"i4\"]}", true},
      {FNABI_ABI_IREE_ABI, "{\"a\":[\"i8\"],\"r\":[\"i4\"]}",
       FNABI_ABI_IREE_ABI, "{\"a\":[\"i4\"],\"r\":[\"i8\"]}", false},
      {FNABI_ABI_IREE_ABI, "{\"a\":[\"i8\"],\"r\":[]}", FNABI_ABI_IREE_ABI,
       "{\"a\":[\"i4\"],\"r\":[]}", false},
      {FNABI_ABI_IREE_ABI, "{\"a\":[\"i8\"],\"r\":[]}", FNABI_ABI_IREE_ABI,
       "{\"a\":[null],\"r\":[]}", false},
      {FNABI_ABI_IREE_ABI, "{\"a\":[null],\"r\":[]}", FNABI_ABI_IREE_ABI,
       "{\"a\":[\"i8\"],\"r\":[]}", false},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    fnabi_columns* a = decoded(pairs[i].abi, pairs[i].lines);
    fnabi_columns* b = decoded(pairs[i].other_abi, pairs[i].other);
    CHECK(fnabi_columns_equal(a, b) == pairs[i].equal);
    CHECK(fnabi_columns_equal(b, a) == pairs[i].equal);
    fnabi_columns_free(a);
    fnabi_columns_free(b);
  }
}

/* More dtypes than a table has place for at first, in two orders. */
static void test_many_dtypes(void) {
  enum { COUNT = 300 };
  char lines[2][COUNT * 32];
  size_t sizes[2] = {0, 0};
  for (int i = 2; i < COUNT; i++) {
    sizes[0] +=
        (size_t)sprintf(lines[0] + sizes[0], "{\"a\":[\"i%d\"],\"r\":[]}\n", i);
    sizes[1] += (size_t)sprintf(lines[1] + sizes[1],
                                "{\"a\":[\"i%d\"],\"r\":[]}\n", COUNT + 1 - i);
  }
  fnabi_columns* a = decoded(FNABI_ABI_IREE_ABI, lines[0]);
  fnabi_columns* b = decoded(FNABI_ABI_IREE_ABI, lines[1]);
  fnabi_columns* forth = fnabi_columns_join((fnabi_columns*[]){a, b}, 2);
  fnabi_columns* back = fnabi_columns_join((fnabi_columns*[]){b, a}, 2);
  CHECK(fnabi_columns_rows(forth) == 2 * (COUNT - 2));
  CHECK(!fnabi_columns_equal(a, b) && !fnabi_columns_equal(forth, back));
  fnabi_columns* again = decoded(FNABI_ABI_IREE_ABI, lines[0]);
  fnabi_columns* swapped = fnabi_columns_join((fnabi_columns*[]){b, again}, 2);
  CHECK(fnabi_columns_equal(swapped, back));
  fnabi_columns* const all[] = {a, b, forth, back, again, swapped};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    fnabi_columns_free(all[i]);
}

int main(void) {
  test_dtypes();
  test_values();
  test_equal();
  test_many_dtypes();
  CHECK(fnabi_columns_new(FNABI_ABI_COUNT, 0) == NULL);
  return 0;
}
