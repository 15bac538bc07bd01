#include "check.h"

typedef struct expected {
  const char* text;
  size_t size, offset;
  fnabi_component component;
} expected;

static const expected components[] = {
    /* type, tag, ival, code, offset, begin, end */
    {TEXT(""), 0, {0, 0, 0, FNABI_OK, 0, 0, 0}},
    {TEXT("_1"), 2, {0, 0, 0, FNABI_OK, 2, 2, 2}},
    {TEXT("_1"), 0, {1, '_', 1, FNABI_OK, 0, 1, 2}},
    {TEXT("xx-50_"), 1, {1, 'x', -50, FNABI_OK, 1, 2, 5}},
    {TEXT("z-0"), 0, {1, 'z', 0, FNABI_OK, 0, 1, 3}},
    {TEXT("a00000000000000000000007"), 0, {1, 'a', 7, FNABI_OK, 0, 1, 24}},
    {TEXT("_2147483647"), 0, {1, '_', INT32_MAX, FNABI_OK, 0, 1, 11}},
    {TEXT("_-2147483648"), 0, {1, '_', INT32_MIN, FNABI_OK, 0, 1, 12}},
    {TEXT("A1!"), 0, {2, 'A', 0, FNABI_OK, 0, 3, 3}},
    {TEXT("Z01!"), 0, {2, 'Z', 0, FNABI_OK, 0, 4, 4}},
    {TEXT("A5!\0!\3779_1"), 0, {2, 'A', 4, FNABI_OK, 0, 3, 7}},

    {TEXT("!"), 0, {3, '!', 0, FNABI_TAG, 0, 1, 0}},
    {TEXT("@1"), 0, {3, '@', 1, FNABI_TAG, 0, 1, 0}},
    {TEXT("[1"), 0, {3, '[', 1, FNABI_TAG, 0, 1, 0}},
    {TEXT("`1"), 0, {3, '`', 1, FNABI_TAG, 0, 1, 0}},
    {TEXT("{1"), 0, {3, '{', 1, FNABI_TAG, 0, 1, 0}},
    {TEXT("\0001"), 0, {3, 0, 1, FNABI_TAG, 0, 1, 0}},
    {TEXT("\xFF-7"), 0, {3, 0xFF, -7, FNABI_TAG, 0, 1, 0}},
    {TEXT("_"), 0, {3, '_', 0, FNABI_INTEGER, 0, 1, 1}},
    {TEXT("_-"), 0, {3, '_', 0, FNABI_INTEGER, 0, 1, 2}},
    {TEXT("_--1"), 0, {3, '_', 0, FNABI_INTEGER, 0, 1, 2}},
    {TEXT("_+1"), 0, {3, '_', 0, FNABI_INTEGER, 0, 1, 1}},
    {TEXT("_\0001"), 0, {3, '_', 0, FNABI_INTEGER, 0, 1, 1}},
    {TEXT("Z"), 0, {3, 'Z', 0, FNABI_INTEGER, 0, 1, 1}},
    {TEXT("_2147483648"), 0, {3, '_', INT32_MAX, FNABI_INT32, 0, 1, 1}},
    {TEXT("_-2147483649"), 0, {3, '_', INT32_MIN, FNABI_INT32, 0, 1, 1}},
    {TEXT("A9999999999999999999999999!"),
     0,
     {3, 'A', INT32_MAX, FNABI_INT32, 0, 1, 1}},
    {TEXT("A0!"), 0, {3, 'A', 0, FNABI_LENGTH, 0, 1, 1}},
    {TEXT("A-1!"), 0, {3, 'A', -1, FNABI_LENGTH, 0, 1, 1}},
    {TEXT("A1"), 0, {3, 'A', 1, FNABI_SPAN_MARK, 0, 1, 2}},
    {TEXT("_1A12?"), 2, {3, 'A', 12, FNABI_SPAN_MARK, 2, 3, 5}},
    {TEXT("A2!"), 0, {3, 'A', 2, FNABI_SPAN_END, 0, 1, 1}},
    {TEXT("A2147483647!abc"), 0, {3, 'A', INT32_MAX, FNABI_SPAN_END, 0, 1, 1}},
};

static void test_components(void) {
  for (size_t i = 0; i < sizeof components / sizeof *components; i++) {
    const expected* e = &components[i];
    char* text = exact(e->text, e->size);
    fnabi_component c;
    fnabi_signature_read(text, e->size, e->offset, &c);
    CHECK(c.type == e->component.type && c.tag == e->component.tag);
    CHECK(c.ival == e->component.ival && c.code == e->component.code);
    CHECK(c.offset == e->component.offset && c.begin == e->component.begin);
    CHECK(c.end == e->component.end);
    release(text);
  }
  fnabi_component c;
  fnabi_signature_read(NULL, 0, 0, &c);
  CHECK(c.type == FNABI_COMPONENT_END);
}

static void test_seek(void) {
  static const char text[] = "_1A3!B1!x_2B1!?";
  size_t size = sizeof text - 1;
  fnabi_component c;
  CHECK(fnabi_signature_seek(text, size, 0, '_', &c) && c.offset == 0);
  CHECK(fnabi_signature_seek(text, size, 2, 'A', &c) && c.offset == 2);
  CHECK(!fnabi_signature_seek(text, size, 2, '_', &c)); /* "!x" is before it */
  CHECK(c.type == FNABI_COMPONENT_ERROR && c.code == FNABI_TAG);
  CHECK(!fnabi_signature_seek(text, 2, 0, 'B', &c));
  CHECK(c.type == FNABI_COMPONENT_END && c.offset == 2);
  CHECK(!fnabi_signature_seek(NULL, 0, 0, 'B', &c));
  CHECK(c.type == FNABI_COMPONENT_END);
  /* an error is not found, with no tag, its own included */
  for (int32_t tag = -1; tag < 257; tag++) {
    CHECK(!fnabi_signature_seek("R5!", 3, 0, tag, &c));
    CHECK(c.type == FNABI_COMPONENT_ERROR && c.code == FNABI_SPAN_END);
    CHECK(!fnabi_signature_seek("X", 1, 0, tag, &c));
    CHECK(c.type == FNABI_COMPONENT_ERROR && c.code == FNABI_INTEGER);
  }
}

static int64_t integer(const call* c, uint8_t* out, size_t capacity,
                       fnabi_error* error) {
  return fnabi_signature_integer((int32_t)c->number, c->tag, out, capacity,
                                 error);
}

static int64_t span(const call* c, uint8_t* out, size_t capacity,
                    fnabi_error* error) {
  return fnabi_signature_span(c->data, c->size, c->tag, out, capacity, error);
}

static void test_write(void) {
  check_answer(&(call){integer, NULL, 0, 0, '_'}, TEXT("_0"));
  check_answer(&(call){integer, NULL, 0, -1, 'a'}, TEXT("a-1"));
  check_answer(&(call){integer, NULL, 0, INT32_MAX, 'z'}, TEXT("z2147483647"));
  check_answer(&(call){integer, NULL, 0, INT32_MIN, 'z'}, TEXT("z-2147483648"));
  check_answer(&(call){span, NULL, 0, 0, 'A'}, TEXT("A1!"));
  check_answer(&(call){span, TEXT("\0!\xFF"), 0, 'Z'}, TEXT("Z4!\0!\xFF"));
  check_answer(&(call){span, TEXT("12345678"), 0, 'B'}, TEXT("B9!12345678"));
  check_answer(&(call){span, TEXT("123456789"), 0, 'B'}, TEXT("B10!123456789"));

  fnabi_error error;
  for (int32_t tag = -300; tag < 600; tag++) {
    bool is_integer = tag == '_' || (tag >= 'a' && tag <= 'z');
    bool is_span = tag >= 'A' && tag <= 'Z';
    error.code = FNABI_OK;
    CHECK(fnabi_signature_integer(1, tag, NULL, 0, &error) ==
          (is_integer ? 2 : -1));
    CHECK(error.code == (is_integer ? FNABI_OK : FNABI_TAG));
    error.code = FNABI_OK;
    CHECK(fnabi_signature_span(NULL, 0, tag, NULL, 0, &error) ==
          (is_span ? 3 : -1));
    CHECK(error.code == (is_span ? FNABI_OK : FNABI_TAG));
    CHECK(is_span || (error.offset == 0 && error.path[0] == 0));
  }
  /* asking for the size reads nothing */
  char byte = 0;
  CHECK(fnabi_signature_span(&byte, INT32_MAX - 1, 'A', NULL, 0, &error) ==
        (int64_t)INT32_MAX - 1 + 12);
  CHECK(fnabi_signature_span(&byte, INT32_MAX, 'A', NULL, 0, &error) == -1);
  CHECK(error.code == FNABI_INT32);
  CHECK(fnabi_signature_span(&byte, SIZE_MAX, 'A', NULL, 0, &error) == -1);
  CHECK(error.code == FNABI_INT32);
}

/* Whatever is read goes forward, stays inside, and is written as it was but
 * for signs and zeros before a number. */
static void check_walk(const char* bytes, size_t size) {
  char* text = exact(bytes, size);
  fnabi_component c, again;
  fnabi_error error;
  for (size_t at = 0;; at = (size_t)c.end) {
    fnabi_signature_read(text, size, at, &c);
    CHECK(c.offset == at && c.begin <= size && c.end <= size);
    if (c.type == FNABI_COMPONENT_END) {
      CHECK(at == size);
      break;
    }
    if (c.type == FNABI_COMPONENT_ERROR) {
      CHECK(c.code >= FNABI_TAG && c.code <= FNABI_SPAN_END);
      CHECK(c.tag == (unsigned char)text[at]);
      break;
    }
    CHECK(c.code == FNABI_OK && c.end > at);
    call write = {c.type == FNABI_COMPONENT_SPAN ? span : integer,
                  text + c.begin, (size_t)(c.end - c.begin), c.ival, c.tag};
    size_t written;
    uint8_t* out = output_of(&write, &written, &error);
    CHECK(out != NULL && written <= c.end - at);
    fnabi_signature_read((char*)out, written, 0, &again);
    CHECK(again.type == c.type && again.tag == c.tag && again.ival == c.ival);
    CHECK(again.end == written);
    release(out);
  }
  release(text);
}

static void test_all_of_two_bytes(void) {
  for (unsigned i = 0; i < 1u << 16; i++) {
    char text[2] = {(char)(i & 0xFF), (char)(i >> 8)};
    check_walk(text, 2);
  }
}

static void test_random(void) {
  static const char letters[] = "_adtzABIRZ0123456789012345!!-\0\xFF";
  uint32_t random = 1;
  char text[40];
  for (int i = 0; i < 300000; i++) {
    size_t size = next_random(&random) % sizeof text;
    for (size_t k = 0; k < size; k++)
      text[k] = letters[next_random(&random) % (sizeof letters - 1)];
    check_walk(text, size);
  }
}

int main(void) {
  test_components();
  test_seek();
  test_write();
  test_all_of_two_bytes();
  test_random();
  return 0;
}
