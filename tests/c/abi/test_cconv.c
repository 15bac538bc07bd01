#include "codec.h"

DEFINE_WRITER(decode, fnabi_cconv_decode)
DEFINE_WRITER(encode, fnabi_cconv_encode)

static const codec format = {decode, encode, 4, NULL};

static const char good[] = "0riCIfDFCDI_ifIFr";

static void test_decode(void) {
  fnabi_error error;
  CHECK(round_trip(&format, TEXT(good), &error));
  CHECK(round_trip(&format, NULL, 0, &error));

  /* [["i32", [["ref"]]], ["f64"], 0] */
  static const uint8_t message[] = {0x93,                                   //
                                    0xDD, 0, 0, 0, 2, 0xA3, 'i', '3', '2',  //
                                    0x91,                                   //
                                    0xDD, 0, 0, 0, 1, 0xA3, 'r', 'e', 'f',  //
                                    0xDD, 0, 0, 0, 1, 0xA3, 'f', '6', '4', 0};
  check_answer(&(call){decode, TEXT("0iCrD_F"), 0, 0}, message, sizeof message);
  check_answer(&(call){encode, message, sizeof message, 0, 0}, TEXT("0iCrD_F"));

  /* [[], [], 0], however it is spelled */
  static const uint8_t empty[] = {0x93, 0xDD, 0, 0, 0, 0, 0xDD, 0, 0, 0, 0, 0};
  static const char* const spellings[] = {"",    "0",   "0v",  "0_",
                                          "0v_", "0_v", "0v_v"};
  for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
    check_answer(&(call){decode, spellings[i], strlen(spellings[i]), 0, 0},
                 empty, sizeof empty);
  check_answer(&(call){encode, empty, sizeof empty, 0, 0}, TEXT("0v_v"));
}

static const bad_text errors[] = {
    {TEXT("1"), FNABI_VERSION, 0, ""},
    {TEXT("\0"), FNABI_VERSION, 0, ""},
    {TEXT("i_i"), FNABI_VERSION, 0, ""},
    {TEXT("0\0"), FNABI_CCONV_REGISTER, 1, "arguments[0]"},
    {TEXT("0i\xFF"), FNABI_CCONV_REGISTER, 2, "arguments[1]"},
    {TEXT("0D"), FNABI_CCONV_REGISTER, 1, "arguments[0]"},
    {TEXT("0CiDCi0D"), FNABI_CCONV_REGISTER, 6, "arguments[1].items[1]"},
    {TEXT("0i_i_"), FNABI_CCONV_REGISTER, 4, "results[1]"},
    {TEXT("0vi"), FNABI_CCONV_VOID, 2, "arguments[0]"},
    {TEXT("0v_v_"), FNABI_CCONV_VOID, 4, "results[0]"},
    {TEXT("0iv"), FNABI_CCONV_VOID, 2, "arguments[1]"},
    {TEXT("0CvD"), FNABI_CCONV_VOID, 2, "arguments[0].items[0]"},
    {TEXT("0iCiCfDD_i"), FNABI_CCONV_SPAN, 4, "arguments[1].items[1]"},
    {TEXT("0_rC"), FNABI_CCONV_SPAN, 3, "results[1]"},
    {TEXT("0C"), FNABI_CCONV_SPAN_END, 2, "arguments[0]"},
    {TEXT("0iCi_D"), FNABI_CCONV_SPAN_END, 4, "arguments[1]"},
};

static void test_errors(void) {
  fnabi_error error;
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    CHECK(!round_trip(&format, errors[i].text, errors[i].size, &error));
    check_error_is(&error, errors[i].code, errors[i].offset, errors[i].path);
    CHECK(error.expected != NULL);
    CHECK(fnabi_cconv_size(errors[i].text, errors[i].size,
                           FNABI_CCONV_ARGUMENTS, NULL, 0, &error) == -1);
    CHECK(error.code == errors[i].code && error.offset == errors[i].offset);
  }
#if SIZE_MAX > UINT32_MAX
  /* refused before anything is read */
  CHECK(fnabi_cconv_decode("0", (size_t)UINT32_MAX + 1, NULL, 0, &error) == -1);
  CHECK(error.code == FNABI_CCONV_SIZE && error.offset == 0);
#endif
}

/* Messages that the encoder refuses: MessagePack bytes, code and path. */
static const bad_message refused[] = {
    {TEXT(""), FNABI_MESSAGE, ""},
    {TEXT("\xC0"), FNABI_MESSAGE, ""},
    {TEXT("\x92\x90\x90"), FNABI_MESSAGE, ""},
    {TEXT("\x93\x90\x90\0\0"), FNABI_MESSAGE, ""},
    {TEXT("\x93\x90"), FNABI_MESSAGE, "results"},
    {TEXT("\x93\xC0\x90\0"), FNABI_MESSAGE, "arguments"},
    {TEXT("\x93\x90\x90"), FNABI_VERSION, "version"},
    {TEXT("\x93\x90\x90\1"), FNABI_VERSION, "version"},
    {TEXT("\x93\x90\x90\xC0"), FNABI_VERSION, "version"},
    {TEXT("\x93\xDD\xFF\xFF\xFF\xFF"), FNABI_MESSAGE, "arguments[0]"},
    {TEXT("\x93\x91\x05\x90\0"), FNABI_MESSAGE, "arguments[0]"},
    {TEXT("\x93\x91\xA1i\x90\0"), FNABI_CCONV_REGISTER, "arguments[0]"},
    {TEXT("\x93\x91\xA4i32\0\x90\0"), FNABI_CCONV_REGISTER, "arguments[0]"},
    {TEXT("\x93\x91\xA0\x90\0"), FNABI_CCONV_REGISTER, "arguments[0]"},
    {TEXT("\x93\x90\x91\xA1x\0"), FNABI_CCONV_REGISTER, "results[0]"},
    {TEXT("\x93\x91\x90\x90\0"), FNABI_MESSAGE, "arguments[0]"},
    {TEXT("\x93\x91\x92\x90\x90\x90\0"), FNABI_MESSAGE, "arguments[0]"},
    {TEXT("\x93\x91\x91\xC0\x90\0"), FNABI_MESSAGE, "arguments[0].items"},
    {TEXT("\x93\x91\x91\x91\xC0\x90\0"), FNABI_MESSAGE,
     "arguments[0].items[0]"},
    {TEXT("\x93\x91\x91\x92\xA3i32\x91\x90\x90\0"), FNABI_CCONV_SPAN,
     "arguments[0].items[1]"},
    {TEXT("\x93\x90\x91\x91\x90\0"), FNABI_CCONV_SPAN, "results[0]"},
};

static void test_encode_refuses(void) {
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    fnabi_error error;
    CHECK(!takes_message(&format, refused[i].message, refused[i].size, &error));
    check_error_is(&error, refused[i].code, 0, refused[i].path);
  }
}

/* Every truncation and every change of one byte of a good message gives an
 * error, or a text that decodes. */
static void test_damaged_messages(void) {
  check_damaged_message(&format, TEXT(good));
}

static int64_t size_of(const char* text, int32_t buffer, const int32_t* counts,
                       size_t spans) {
  fnabi_error error = {0};
  int64_t size =
      fnabi_cconv_size(text, strlen(text), buffer, counts, spans, &error);
  CHECK(size >= 0 && error.code == FNABI_OK);
  return size;
}

/* For every capacity the offsets are the same ones and as many, nothing is
 * written outside, and the last value ends inside the buffer. */
static size_t check_offsets(const char* text, size_t text_size, int32_t buffer,
                            const int32_t* counts, size_t spans) {
  fnabi_error error = {0};
  int64_t size =
      fnabi_cconv_size(text, text_size, buffer, counts, spans, &error);
  int64_t count = fnabi_cconv_offsets(text, text_size, buffer, counts, spans,
                                      NULL, 0, &error);
  CHECK(size >= 0 && count >= 0 && error.code == FNABI_OK);
  int64_t* whole = calloc((size_t)count + 1, sizeof *whole);
  int64_t* part = calloc((size_t)count + 1, sizeof *part);
  CHECK(whole != NULL && part != NULL);
  CHECK(fnabi_cconv_offsets(text, text_size, buffer, counts, spans, whole,
                            (size_t)count, &error) == count);
  for (int64_t i = 0; i < count; i++) {
    CHECK(whole[i] % 4 == 0 && whole[i] <= size - 4);
    CHECK(i == 0 ? whole[i] == 0 : whole[i] >= whole[i - 1] + 4);
  }
  for (int64_t capacity = 0; capacity < count && capacity < 8; capacity++) {
    part[capacity] = -1;
    CHECK(fnabi_cconv_offsets(text, text_size, buffer, counts, spans, part,
                              (size_t)capacity, &error) == count);
    CHECK(part[capacity] == -1);
  }
  CHECK(count != 0 || size == 0);
  free(part);
  free(whole);
  return (size_t)count;
}

static void test_buffers(void) {
  CHECK(size_of("0rIi_r", FNABI_CCONV_ARGUMENTS, NULL, 0) == 32);
  CHECK(size_of("0rIi_r", FNABI_CCONV_PACKED, NULL, 0) == 28);
  CHECK(size_of("0rIi_ir", FNABI_CCONV_RESULTS, NULL, 0) == 24);
  CHECK(size_of("0rIi_ir", FNABI_CCONV_RESULTS | FNABI_CCONV_PACKED, NULL, 0) ==
        20);
  static const int32_t counts[] = {2, 0, INT32_MAX, -1};
  CHECK(size_of("0CiriD", 0, counts, 1) == 64);
  CHECK(size_of("0CrfDCrDf", 0, counts, 2) == 64);
  CHECK(size_of("0CD", 0, counts + 2, 1) == 4);
  CHECK(size_of("0CID", 0, counts + 2, 1) == 8 + 8 * (int64_t)INT32_MAX);
  CHECK(check_offsets(TEXT("0CiriDICrDf_r"), 0, counts, 2) == 10);
  CHECK(check_offsets(TEXT("0CiriDICrDf_r"), FNABI_CCONV_PACKED, counts, 2) ==
        10);
  CHECK(check_offsets(TEXT("0CiriD_rI"), FNABI_CCONV_RESULTS, NULL, 0) == 2);
  CHECK(check_offsets(TEXT("0CD_rI"), 0, counts + 2, 1) == 1);

  static const struct {
    size_t first, spans;
    uint64_t offset;
    const char* path;
  } bad[] = {
      {0, 0, 2, "span_counts[0]"},
      {0, 1, 5, "span_counts[1]"},
      {0, 3, 8, "span_counts[2]"},
      {3, 1, 2, "span_counts[0]"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    fnabi_error error;
    CHECK(fnabi_cconv_size(TEXT("0iCrDCfD_i"), 0, counts + bad[i].first,
                           bad[i].spans, &error) == -1);
    CHECK(error.code == FNABI_CCONV_COUNT && error.offset == bad[i].offset);
    CHECK(strcmp(error.path, bad[i].path) == 0);
  }
}

/* Two spans of almost 2^62 bytes each stay below 2^63; one more register in an
 * element is too much. */
static void test_sizes_outside_int64(void) {
  static const int32_t most[] = {INT32_MAX, INT32_MAX};
  fnabi_error error;
  size_t registers = (size_t)1 << 27, size = 2 * registers + 5;
  char* text = malloc(size + 1);
  CHECK(text != NULL);
  memset(text, 'r', size + 1);
  text[0] = '0';
  text[1] = text[3 + registers] = 'C';
  text[2 + registers] = text[size - 1] = 'D';
  CHECK(fnabi_cconv_size(text, size, 0, most, 2, &error) ==
        8 + 8 + 2 * (int64_t)INT32_MAX * ((int64_t)1 << 31));
  text[size - 1] = 'r';
  text[size] = 'D';
  CHECK(fnabi_cconv_size(text, size + 1, 0, most, 2, &error) == -1);
  CHECK(error.code == FNABI_CCONV_SIZE && error.offset == 3 + registers);
  CHECK(strcmp(error.path, "span_counts[1]") == 0);
  free(text);
}

static void test_all_of_four_bytes(void) {
  static const char letters[] = "iIfFrvCD_0x";
  size_t n = sizeof letters - 1, taken = 0;
  fnabi_error error;
  for (size_t i = 0; i < n * n * n * n; i++) {
    char text[5] = {'0', letters[i % n], letters[i / n % n],
                    letters[i / n / n % n], letters[i / n / n / n]};
    taken += round_trip(&format, text, 5, &error);
  }
  CHECK(taken > 0 && taken < n * n * n * n);
}

static void test_random(void) {
  uint32_t random = 7;
  unsigned taken = 0;
  for (int i = 0; i < 50000; i++) {
    char text[64];
    int32_t counts[64];
    size_t size = 0, spans = 0;
    text[size++] = '0';
    for (unsigned n = next_random(&random) % 6; n > 0; n--) {
      if (next_random(&random) % 3 == 0) {
        text[size++] = 'C';
        for (unsigned k = next_random(&random) % 4; k > 0; k--)
          text[size++] = "iIfFr"[next_random(&random) % 5];
        text[size++] = 'D';
        counts[spans++] = (int32_t)(next_random(&random) % 4);
      } else {
        text[size++] = "iIfFr"[next_random(&random) % 5];
      }
    }
    text[size++] = '_';
    for (unsigned n = next_random(&random) % 6; n > 0; n--)
      text[size++] = "iIfFr"[next_random(&random) % 5];
    check_offsets(text, size, 0, counts, spans);
    check_offsets(text, size, FNABI_CCONV_PACKED, counts, spans);
    check_offsets(text, size, FNABI_CCONV_RESULTS, NULL, 0);
    fnabi_error error;
    if (next_random(&random) % 2 == 0)
      text[next_random(&random) % size] =
          "iIfFrvCD_0x"[next_random(&random) % 11];
    taken += round_trip(&format, text, size, &error);
  }
  CHECK(taken > 25000 && taken < 50000);
}

int main(void) {
  test_decode();
  test_errors();
  test_encode_refuses();
  test_damaged_messages();
  test_buffers();
  test_sizes_outside_int64();
  test_all_of_four_bytes();
  test_random();
  return 0;
}
