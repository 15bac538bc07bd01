#include "check.h"

/* `number` is the count of inputs, `tag` that of results. */
static int64_t decode(const call* c, uint8_t* out, size_t capacity,
                      fnabi_error* error) {
  return fnabi_declaration_decode(c->data, c->size, c->number, NULL, c->tag,
                                  NULL, out, capacity, error);
}

static const char printed[] =
    "sync func @blend(%left: tensor<?x8xf32>, %right: tensor<200x8xcomplex<f64>"
    ", #a.b<c>>, %t: f32 {k.a = [1, {b = \"q\\22, }\"}], iree.abi.encoding = "
    "si32}) -> (%mixed: !util.list<!vm.ref<?>>, %x: i64, %y: (i1) -> index)";

static void test_decode(void) {
  static const int64_t counts[] = {-1, 0, 1, 2, 3, 4, INT64_MAX};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    call c = {decode, TEXT(printed), counts[i], (int32_t)i - 1};
    check_capacities(&c);
  }

  /* ["f", "sync", [["a", [BUFFER, ["float", 32, ""], [nil]], [],
   *  "%a: tensor<?xf32>", nil]], [], text, nil] */
  static const char text[] = "sync func @f(%a: tensor<?xf32>) -> ()";
  static const char message[] =
      "\x96\xA1"
      "f\xA4sync\xDD\0\0\0\1\x95\xA1"
      "a\x93\2\x93\xA5"
      "float\x20\xA0\x91\xC0\x90\xB1%a: tensor<?xf32>\xC0\xDD\0\0\0\0"
      "\xD9\x25sync func @f(%a: tensor<?xf32>) -> ()\xC0";
  check_answer(&(call){decode, TEXT(text), -1, -1}, TEXT(message));
}

/* The ambiguity is the last element of the message. */
static void check_ambiguity(const char* text, size_t text_size, int64_t inputs,
                            const char* letters, const char* ambiguity) {
  fnabi_error error;
  uint8_t out[1024];
  int64_t size = fnabi_declaration_decode(text, text_size, inputs, letters, 1,
                                          "r", out, sizeof out, &error);
  CHECK(size > 0 && (size_t)size <= sizeof out);
  if (ambiguity == NULL) {
    CHECK(out[size - 1] == 0xC0);
  } else {
    size_t n = strlen(ambiguity);
    CHECK(memcmp(out + size - n, ambiguity, n) == 0);
    CHECK(out[(size_t)size - n - 1] == (0xA0 | n));
  }
}

static void test_letters(void) {
  static const char text[] =
      "async func @f(%a: i32, %b: i64, %c: i32, %input3: f32) -> (%d: !a)";
  /* no letter after the counted ones is read */
  char* letters = exact("iiifrr", 6);
  check_ambiguity(TEXT(text), 5, letters + 1, NULL); /* "iif" */
  check_ambiguity(TEXT(text), 5, NULL, "names");
  check_ambiguity(TEXT(text), 6, letters, NULL);
  check_ambiguity(TEXT(text), 3, letters + 3, NULL); /* "f" */
  check_ambiguity(TEXT(text), 3, letters, "arity");  /* "i" */
  check_ambiguity(TEXT(text), 2, letters + 4, "arity");
  check_ambiguity(TEXT(text), 1, letters + 5, "arity");
  check_ambiguity(TEXT(text), 0, letters + 6, "arity");
  check_ambiguity(TEXT(text), -1, letters + 6, "names");
  release(letters);
}

static const bad_text errors[] = {
    {NULL, 0, FNABI_DECLARATION_HEAD, 0, ""},
    {TEXT("sync"), FNABI_DECLARATION_HEAD, 0, ""},
    {TEXT("sync \0unc @f() -> ()"), FNABI_DECLARATION_HEAD, 5, ""},
    {TEXT("func @"), FNABI_DECLARATION_LISTS, 6, ""},
    {TEXT("func @() -> (\0"), FNABI_DECLARATION_LISTS, 14, ""},
    {TEXT("func @(%: i32) -> (%: )"), FNABI_DECLARATION_VALUE, 19,
     "results[0]"},
    {TEXT("func @(%: i32, %\xFF: i32"), FNABI_DECLARATION_VALUE, 15,
     "inputs[1]"},
};

static void test_errors(void) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    fnabi_error error;
    size_t size;
    char* text = exact(errors[i].text, errors[i].size);
    call c = {decode, text, errors[i].size, -1, -1};
    CHECK(output_of(&c, &size, &error) == NULL);
    check_error(&error, errors[i].size);
    check_error_is(&error, errors[i].code, errors[i].offset, errors[i].path);
    release(text);
  }
}

/* Every truncation and every change of one byte gives a result or an error
 * inside the text. */
static void check_text(const char* bytes, size_t size) {
  char* text = exact(bytes, size);
  for (int32_t results = -1; results < 3; results += 3) {
    fnabi_error error;
    size_t written;
    call c = {decode, text, size, results, results};
    uint8_t* out = output_of(&c, &written, &error);
    if (out == NULL)
      check_error(&error, size);
    else
      release(out);
  }
  release(text);
}

static void test_damage(void) {
  static const char bytes[] = "\0 !\"%(),-:<=>[]x{}9?aZ\x80\xFF";
  char text[sizeof printed];
  size_t size = sizeof printed - 1;
  for (size_t cut = 0; cut <= size; cut++) check_text(printed, cut);
  for (size_t at = 0; at < size; at++) {
    memcpy(text, printed, size);
    for (size_t i = 0; i < sizeof bytes - 1; i++) {
      text[at] = bytes[i];
      check_text(text, size);
    }
    memmove(text + at, printed + at + 1, size - at - 1);
    check_text(text, size - 1);
  }
}

static void test_depth(void) {
  static const char open[] = "!util.list<";
  enum { OPEN = sizeof open - 1, LEVELS = FNABI_DEPTH_MAX };
  for (size_t levels = LEVELS; levels <= LEVELS + 1; levels++) {
    size_t size = 0;
    char* text = malloc(64 + (OPEN + 1) * levels);
    CHECK(text != NULL);
    size += (size_t)sprintf(text, "func @f(%%a: ");
    for (size_t i = 0; i < levels; i++, size += OPEN)
      memcpy(text + size, open, OPEN);
    text[size++] = '?';
    memset(text + size, '>', levels);
    size += levels;
    size += (size_t)sprintf(text + size, ") -> ()");
    fnabi_error error;
    size_t written;
    call c = {decode, text, size, -1, -1};
    uint8_t* out = output_of(&c, &written, &error);
    CHECK((out != NULL) == (levels == LEVELS));
    if (out != NULL)
      release(out);
    else
      CHECK(error.code == FNABI_DEPTH);
    check_text(text, size);
    free(text);
  }
}

/* Refused before it is read. */
static void test_size(void) {
  fnabi_error error;
  if (SIZE_MAX == UINT32_MAX) return;
  CHECK(fnabi_declaration_decode("func", (size_t)UINT32_MAX + 1, -1, NULL, -1,
                                 NULL, NULL, 0, &error) == -1);
  CHECK(error.code == FNABI_DECLARATION_SIZE && error.offset == 0);
}

int main(void) {
  test_decode();
  test_letters();
  test_errors();
  test_damage();
  test_depth();
  test_size();
  return 0;
}
