#include "allocations.h"
#include "calls/values.h"

static fnabi_any raw(int32_t type_index, uint32_t padding, uint64_t bits) {
  return (fnabi_any){type_index, padding, {.v_bits = bits}};
}

static fnabi_any view(int32_t type_index, const void* pointer) {
  fnabi_any any = raw(type_index, 0, 0);
  any.v_pointer = (void*)pointer;
  return any;
}

static bool same_bytes(const fnabi_any* a, const fnabi_any* b) {
  return memcmp(a, b, sizeof *a) == 0;
}

static void test_normalize(void) {
  static const struct {
    int32_t type_index;
    uint64_t bits, expected;
  } cases[] = {
      {FNABI_INDEX_NONE, 7, 0},
      {FNABI_INDEX_INT, UINT64_MAX, UINT64_MAX},
      {FNABI_INDEX_BOOL, 17, 1},
      {FNABI_INDEX_BOOL, (uint64_t)1 << 40, 1},
      {FNABI_INDEX_BOOL, 0, 0},
      {FNABI_INDEX_FLOAT, UINT64_MAX, UINT64_MAX},
      {FNABI_INDEX_POINTER, UINT64_MAX, UINT64_MAX},
      {FNABI_INDEX_DTYPE, UINT64_MAX, UINT32_MAX},
      {FNABI_INDEX_DEVICE, UINT64_MAX, UINT64_MAX},
      {33, UINT64_MAX, UINT64_MAX},
      {-7, UINT64_MAX, UINT64_MAX},
      {FNABI_INDEX_DYNAMIC, UINT64_MAX, UINT64_MAX},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fnabi_any any = raw(cases[i].type_index, 0xDEADBEEF, cases[i].bits);
    fnabi_any expected = raw(cases[i].type_index, 0, cases[i].expected);
    fnabi_any_normalize(&any);
    CHECK(same_bytes(&any, &expected));
  }
  for (uint32_t size = 0; size <= 9; size++) {
    fnabi_any any = raw(FNABI_INDEX_SMALL_STR, size, UINT64_MAX);
    fnabi_any_normalize(&any);
    CHECK(any.small_size == size);
    for (uint32_t i = 0; i < 8; i++)
      CHECK(any.v_small[i] == (i < size || size > 7 ? (char)0xFF : 0));
  }
}

static void test_texts(void) {
  fnabi_byte_array text = {TEXT("a\0b")}, out;
  fnabi_any any = view(FNABI_INDEX_BYTE_ARRAY, &text);
  CHECK(fnabi_any_bytes(&any, &out) && out.size == 3 && out.data == text.data);
  CHECK(!fnabi_any_string(&any, &out));
  any = view(FNABI_INDEX_RAW_STR, text.data);
  CHECK(fnabi_any_string(&any, &out) && out.size == 1 && out.data == text.data);
  CHECK(!fnabi_any_bytes(&any, &out));

  static const int32_t indexes[] = {FNABI_INDEX_RAW_STR, FNABI_INDEX_BYTE_ARRAY,
                                    FNABI_INDEX_NONE, FNABI_INDEX_INT, 33};
  for (size_t i = 0; i < sizeof indexes / sizeof *indexes; i++) {
    any = view(indexes[i], NULL);
    CHECK(!fnabi_any_string(&any, &out) && !fnabi_any_bytes(&any, &out));
  }
  any = raw(FNABI_INDEX_STR, 0, 0);
  CHECK(!fnabi_any_string(&any, &out));
  fnabi_bytes_object object = {.object.type_index = FNABI_INDEX_STR};
  any = view(FNABI_INDEX_STR, &object); /* an empty text needs no data */
  CHECK(fnabi_any_string(&any, &out) && out.size == 0);
  object.text.size = 3;
  CHECK(!fnabi_any_string(&any, &out));
  any = raw(FNABI_INDEX_SMALL_STR, 8, 0);
  CHECK(!fnabi_any_string(&any, &out));
  any = raw(FNABI_INDEX_SMALL_BYTES, UINT32_MAX, 0);
  CHECK(!fnabi_any_bytes(&any, &out));
}

/* ---------------------------------------------------------------------- own */

static void test_own(void) {
  fnabi_byte_array out, text = {TEXT("a longer text")};
  fnabi_any owned, any = raw(FNABI_INDEX_BOOL, 0xDEADBEEF, 3);
  CHECK(fnabi_any_own(&any, &owned) == FNABI_OK);
  CHECK(owned.small_size == 0 && owned.v_int == 1);

  any = view(FNABI_INDEX_RAW_STR, text.data);
  CHECK(fnabi_any_own(&any, &owned) == FNABI_OK);
  CHECK(owned.type_index == FNABI_INDEX_STR && fnabi_any_string(&owned, &out));
  CHECK(out.size == 13 && out.data != text.data);
  fnabi_any_release(&owned);
  any = view(FNABI_INDEX_RAW_STR, "short");
  CHECK(fnabi_any_own(&any, &any) == FNABI_OK); /* in place */
  CHECK(any.type_index == FNABI_INDEX_SMALL_STR && any.small_size == 5);

  any = view(FNABI_INDEX_BYTE_ARRAY, &text);
  CHECK(fnabi_any_own(&any, &owned) == FNABI_OK);
  CHECK(owned.type_index == FNABI_INDEX_BYTES && strong_of(&owned) == 1);
  any = owned;
  CHECK(fnabi_any_own(&any, &owned) == FNABI_OK && strong_of(&owned) == 2);
  CHECK(same_bytes(&any, &owned));
  fnabi_any_release(&any);

  /* The object is moved out of the caller's slot. */
  fnabi_object* slot = owned.v_object;
  any = view(FNABI_INDEX_RVALUE, &slot);
  CHECK(fnabi_any_own(&any, &owned) == FNABI_OK && slot == NULL);
  CHECK(owned.type_index == FNABI_INDEX_BYTES && strong_of(&owned) == 1);
  fnabi_any_release(&owned);
  CHECK(fnabi_any_own(&any, &owned) == FNABI_OK);
  CHECK(owned.type_index == FNABI_INDEX_NONE);
  any = view(FNABI_INDEX_RVALUE, NULL);
  CHECK(fnabi_any_own(&any, &owned) == FNABI_OK);
  CHECK(owned.type_index == FNABI_INDEX_NONE);

  /* An unknown type is copied; if it is an object, its count is incremented. */
  any = raw(63, 1, 99);
  CHECK(fnabi_any_own(&any, &owned) == FNABI_OK);
  CHECK(owned.type_index == 63 && owned.small_size == 0 && owned.v_bits == 99);
  int log = 0;
  any = witness_value(&log);
  CHECK(fnabi_any_own(&any, &owned) == FNABI_OK && strong_of(&owned) == 2);
  fnabi_any_release(&owned);
  fnabi_any_release(&any);
  CHECK(log == GONE);

  const fnabi_any refused[] = {
      view(FNABI_INDEX_DLTENSOR, &text), view(FNABI_INDEX_RAW_STR, NULL),
      view(FNABI_INDEX_BYTE_ARRAY, NULL), raw(FNABI_INDEX_SMALL_STR, 8, 0),
      raw(FNABI_INDEX_SMALL_BYTES, 9, 0)};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    owned = int_value(1);
    CHECK(fnabi_any_own(&refused[i], &owned) == FNABI_UNSUPPORTED);
    CHECK(owned.type_index == FNABI_INDEX_NONE && owned.v_bits == 0);
  }
  refused_from = allocations = 0;
  any = view(FNABI_INDEX_RAW_STR, text.data);
  CHECK(fnabi_any_own(&any, &owned) == FNABI_MEMORY);
  any = view(FNABI_INDEX_BYTE_ARRAY, &text);
  CHECK(fnabi_any_own(&any, &owned) == FNABI_MEMORY);
  CHECK(owned.type_index == FNABI_INDEX_NONE && allocations == 2);
  refused_from = SIZE_MAX;
}

/* --------------------------------------------------------------------- keys */

static void test_keys(void) {
  const uint64_t big[] = {1, 2}, other[] = {1, 3};
  const fnabi_byte_array array = {TEXT("abc")};
  int log = 0;
  /* Values are equal exactly if their classes are. */
  struct {
    int class;
    fnabi_any any;
  } keys[] = {
      {0, none_value()},
      {1, int_value(1)},
      {2, raw(FNABI_INDEX_BOOL, 0, 1)},
      {3, int_value(2)},
      {4, raw(FNABI_INDEX_FLOAT, 0, 1)},
      {5, string_value("abc")},
      {5, large_string("abc")},
      {5, view(FNABI_INDEX_RAW_STR, "abc")},
      {6, bytes_value("abc")},
      {6, view(FNABI_INDEX_BYTE_ARRAY, &array)},
      {7, string_value("abd")},
      {8, string_value("")},
      {8, large_string("")},
      {9, bytes_value("")},
      {10, string_value("a text of two words")},
      {10, string_value("a text of two words")},
      {11, string_value("a text of two worda")},
      {12, bytes_value("a text of two words")},
      {13, string_value("eight by")},
      {14, none_value()},
      {14, none_value()},
      {15, none_value()},
      {16, witness_value(&log)},
      {17, witness_value(&log)},
      {18, raw(FNABI_INDEX_SMALL_STR, 9, 0)},
      {19, raw(FNABI_INDEX_SMALL_STR, 10, 0)},
  };
  const size_t count = sizeof keys / sizeof *keys;
  CHECK(fnabi_int_new(big, 2, &keys[19].any));
  CHECK(fnabi_int_new(big, 2, &keys[20].any));
  CHECK(fnabi_int_new(other, 2, &keys[21].any));
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < count; k++) {
      bool equal = fnabi_any_equal(&keys[i].any, &keys[k].any);
      CHECK(equal == (keys[i].class == keys[k].class));
      CHECK(!equal ||
            fnabi_any_hash(&keys[i].any) == fnabi_any_hash(&keys[k].any));
    }
  }
  for (size_t i = 0; i < count; i++) fnabi_any_release(&keys[i].any);
  CHECK(log == 10 * GONE + GONE);
}

/* Other libraries look up keys by these hashes. The numbers were computed from
 * the specification, independently of this code. */
static void test_hashes(void) {
  const uint64_t words[] = {0, 1};
  struct {
    fnabi_any any;
    uint64_t hash;
  } cases[] = {
      {none_value(), UINT64_C(0x9E378D03)},
      {string_value(""), UINT64_C(0x9E378A48)},
      {bytes_value(""), UINT64_C(0x9E378A0B)},
      {string_value("a"), UINT64_C(0x9E378A2B)},
      {bytes_value("a"), UINT64_C(0x9E378AE8)},
      {string_value("seven l"), UINT64_C(0x104863019)},
      {bytes_value("seven l"), UINT64_C(0x1048630DA)},
      {string_value("eight by"), UINT64_C(0xF9633419)},
      {bytes_value("eight by"), UINT64_C(0xF96334DA)},
      {string_value("nine byte"), UINT64_C(0x10FB38DC8)},
      {bytes_value("nine byte"), UINT64_C(0x10FB38D8B)},
      {string_value("a text of more than three words, each of eight bytes"),
       UINT64_C(0xE81FFA25)},
      {bytes_value("a text of more than three words, each of eight bytes"),
       UINT64_C(0xE81FFAE6)},
      {large_string("a"), UINT64_C(0x9E378A2B)},
      {int_value(0), UINT64_C(0x9E3779F8)},
      {int_value(1), UINT64_C(0x9E3779FB)},
      {int_value(-1), UINT64_C(0x9E3779F9)},
      {int_value(INT64_MAX), UINT64_C(0x800000009E3779F9)},
      {none_value(), UINT64_C(0x9E3779B9)},
      {raw(FNABI_INDEX_BOOL, 0, 1), UINT64_C(0x9E377A38)},
      {raw(FNABI_INDEX_FLOAT, 0, 0x3FF8000000000000),
       UINT64_C(0x3FF800009E377A7A)},
  };
  CHECK(fnabi_int_new(words, 2, &cases[0].any));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CHECK(fnabi_any_hash(&cases[i].any) == cases[i].hash);
    fnabi_any_release(&cases[i].any);
  }
}

static void test_type_keys(void) {
  int known = 0;
  for (int32_t i = -200; i < 200; i++) known += fnabi_type_key(i) != NULL;
  CHECK(known == 1 + FNABI_INDEX_UNCHANGED + 1 + FNABI_INDEX_BIG_INT -
                     FNABI_INDEX_OBJECT + 1);
  CHECK(strcmp(fnabi_type_key(FNABI_INDEX_STR), "ffi.String") == 0);
  CHECK(strcmp(fnabi_type_key(FNABI_INDEX_ANY), "Any") == 0);
  CHECK(fnabi_type_key(INT32_MAX) == NULL && fnabi_type_key(INT32_MIN) == NULL);
}

int main(void) {
  test_normalize();
  test_texts();
  test_own();
  test_keys();
  test_hashes();
  test_type_keys();
  return 0;
}
