/* Values of another kind, and values that are cut, are not read. */
#include "base/message.h"
#include "check.h"

static void check_other(const char* bytes, size_t size) {
  fnabi_reader r = {(const uint8_t*)bytes, size, 0};
  bool value = true;
  CHECK(!fnabi_unpack_bool(&r, &value) && value);
  CHECK(!fnabi_unpack_skip(&r));
  CHECK(r.at == 0);
}

/* An integer, with as few bytes as it has. */
static void check_integer(const char* bytes, size_t size, int64_t expected,
                          bool fit) {
  int64_t value = 7;
  bool fits = !fit;
  for (size_t cut = 0; cut < size; cut++) {
    fnabi_reader r = {(const uint8_t*)bytes, cut, 0};
    CHECK(!fnabi_unpack_integer(&r, &value, &fits) && r.at == 0);
  }
  fnabi_reader r = {(const uint8_t*)bytes, size, 0};
  CHECK(fnabi_unpack_integer(&r, &value, &fits) && r.at == size);
  CHECK(value == expected && fits == fit);
}

static void check_integers(void) {
  check_integer("\x7F", 1, 127, true);
  check_integer("\xFF", 1, -1, true);
  check_integer("\xCC\xFF", 2, 255, true);
  check_integer("\xCD\1\2", 3, 258, true);
  check_integer("\xCE\xFF\0\0\0", 5, 0xFF000000, true);
  check_integer("\xCF\x7F\0\0\0\0\0\0\1", 9, (0x7FLL << 56) + 1, true);
  check_integer("\xCF\x80\0\0\0\0\0\0\0", 9, INT64_MAX, false);
  check_integer("\xD0\x80", 2, -128, true);
  check_integer("\xD1\xFF\xFE", 3, -2, true);
  check_integer("\xD2\x80\0\0\0", 5, INT32_MIN, true);
  check_integer("\xD3\x80\0\0\0\0\0\0\0", 9, INT64_MIN, true);
}

/* A text that ends where its message does. */
static void check_text(const char* bytes, size_t size, const char* expected) {
  const char* text = NULL;
  size_t length = 0;
  uint8_t* message = malloc(size + 1); /* of which a sanitizer knows the end */
  CHECK(message != NULL);
  for (size_t cut = 0; cut <= size; cut++) {
    uint8_t* end = message + size + 1 - cut;
    memcpy(end, bytes, cut);
    fnabi_reader r = {end, cut, 0};
    CHECK(fnabi_unpack_text(&r, &text, &length) == (cut == size));
    CHECK(r.at == (cut == size ? size : 0));
  }
  CHECK(length == strlen(expected) && memcmp(text, expected, length) == 0);
  free(message);
}

static void check_texts(void) {
  check_text("\xA0", 1, "");
  check_text("\xA4text", 5, "text");
  check_text("\xD9\4text", 6, "text");
  check_text("\xDA\0\4text", 7, "text");
  check_text("\xC6\0\0\0\4text", 9, "text");
}

/* In a message of its own the core finds what it wrote. */
static void check_own(void) {
  uint8_t out[32];
  fnabi_writer w = {out, sizeof out, 0};
  fnabi_pack_array(&w, 4);
  fnabi_pack_int(&w, -7);
  fnabi_pack_text(&w, "text", 4);
  fnabi_pack_nil(&w);
  fnabi_pack_array(&w, 0);
  fnabi_reader r = {out, w.size, 0};
  CHECK(fnabi_read_array(&r) == 4 && fnabi_read_int(&r) == -7);
  fnabi_text text = fnabi_read_text(&r);
  CHECK(FNABI_TEXT_IS(text, "text") && fnabi_read_text(&r).data == NULL);
  fnabi_read_past(&r, 1);
  CHECK(r.at == w.size);
  CHECK(fnabi_read_array(&r) == 0 && fnabi_read_int(&r) == 0);
  CHECK(fnabi_read_text(&r).data == NULL && r.at == w.size);
}

int main(void) {
  check_other("", 0);
  check_other("\xCA\0\0\0\0", 5); /* a float */
  check_other("\xD9\5cut", 5);
  check_integers();
  check_texts();
  check_own();
  return 0;
}
