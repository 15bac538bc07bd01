#include "codec.h"

DEFINE_WRITER(decode, fnabi_raw_decode)
DEFINE_WRITER(encode, fnabi_raw_encode)

static const codec format = {decode, encode, 0, NULL};

static int64_t visit(const call* c, uint8_t* out, size_t capacity,
                     fnabi_error* error) {
  (void)error;
  return fnabi_raw_visit(c->data, c->size, c->tag, out, capacity);
}

static int64_t buffer(const call* c, uint8_t* out, size_t capacity,
                      fnabi_error* error) {
  return fnabi_raw_buffer((int32_t)c->number, c->data, c->size, out, capacity,
                          error);
}

static int64_t scalar(const call* c, uint8_t* out, size_t capacity,
                      fnabi_error* error) {
  return fnabi_raw_scalar((int32_t)c->number, out, capacity, error);
}

static int64_t dtype(const call* c, uint8_t* out, size_t capacity,
                     fnabi_error* error) {
  (void)error;
  return fnabi_raw_scalar_dtype((int32_t)c->number, out, capacity);
}

static const char good[] =
    "I36!O1!B11!d-1d128d64S3!t6U1!B8!t9d-1d0R17!B13!t11d32d-1d64";

static void test_decode(void) {
  fnabi_error error;
  call c = {decode, TEXT(good), 0, 0};
  check_capacities(&c);
  CHECK(round_trip(&format, TEXT(good), &error));
  CHECK(round_trip(&format, TEXT("I1!R1!"), &error));
  CHECK(!round_trip(&format, NULL, 0, &error));

  /* [[[BUFFER, ["float", 32, ""], [nil, 200]]], [[REF, nil], [UNKNOWN]]] */
  static const uint8_t message[] = {
      0x92, 0xDD, 0,    0,    0,   1,                                 //
      0x93, 2,    0x93, 0xA5, 'f', 'l',  'o',  'a',  't',  32, 0xA0,  //
      0xDD, 0,    0,    0,    2,   0xC0, 0xCE, 0,    0,    0,  200,   //
      0xDD, 0,    0,    0,    2,   0x92, 3,    0xC0, 0x91, 10};
  call small = {decode, TEXT("I11!B8!d-1d200R7!O1!U1!"), 0, 0};
  check_answer(&small, message, sizeof message);
  call back = {encode, message, sizeof message, 0, 0};
  check_answer(&back, TEXT("I11!B8!d-1d200R7!O1!U1!"));
}

static const bad_text errors[] = {
    {TEXT(""), FNABI_RAW_INPUTS, 0, ""},
    {TEXT("\0"), FNABI_RAW_INPUTS, 0, ""},
    {TEXT("_1I1!R1!"), FNABI_RAW_INPUTS, 0, ""},
    {TEXT("I"), FNABI_INTEGER, 1, ""},
    {TEXT("I1"), FNABI_SPAN_MARK, 2, ""},
    {TEXT("I0!"), FNABI_LENGTH, 1, ""},
    {TEXT("I9!"), FNABI_SPAN_END, 1, ""},
    {TEXT("I2147483648!"), FNABI_INT32, 1, ""},
    {TEXT("I1!"), FNABI_RAW_RESULTS, 3, ""},
    {TEXT("I1!\0R1!"), FNABI_RAW_RESULTS, 3, ""},
    {TEXT("I1!R1!\0"), FNABI_UNEXPECTED, 6, ""},
    {TEXT("I4!Q1!R1!"), FNABI_RAW_TAG, 3, "inputs[0]"},
    {TEXT("I2!\xFFR1!"), FNABI_TAG, 3, "inputs[0]"},
    {TEXT("I1!R7!O1!d12"), FNABI_RAW_TAG, 9, "results[1]"},
    {TEXT("I6!B3!x1R1!"), FNABI_RAW_BUFFER_FIELD, 6, "inputs[0]"},
    {TEXT("I6!S3!d1R1!"), FNABI_RAW_SCALAR_FIELD, 6, "inputs[0]"},
    {TEXT("I6!O3!d1R1!"), FNABI_RAW_REF_FIELD, 6, "inputs[0]"},
    {TEXT("I6!U3!d1R1!"), FNABI_UNEXPECTED, 6, "inputs[0]"},
    {TEXT("I7!B4!t12R1!"), FNABI_RAW_SCALAR_TYPE, 7, "inputs[0].dtype"},
    {TEXT("I7!S4!t01R1!"), FNABI_RAW_SCALAR_TYPE, 7, "inputs[0].dtype"},
    {TEXT("I7!S4!t-0R1!"), FNABI_RAW_SCALAR_TYPE, 7, "inputs[0].dtype"},
    {TEXT("I9!B6!d1d-2R1!"), FNABI_RAW_DIM, 9, "inputs[0].shape[1]"},
};

static void test_errors(void) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    fnabi_error error;
    CHECK(!round_trip(&format, errors[i].text, errors[i].size, &error));
    check_error_is(&error, errors[i].code, errors[i].offset, errors[i].path);
  }
}

static const struct {
  const char* text;
  size_t size;
  int32_t side, code;
  size_t values; /* in the message, before the error */
} visits[] = {
    {TEXT(good), 'I', FNABI_OK, 5},
    {TEXT(good), 'R', FNABI_OK, 1},
    {TEXT("R4!O1!_1I1!?"), 'R', FNABI_OK, 1},
    {TEXT("I8!B5!t3t4R1!"), 'I', FNABI_OK, 1},
    {TEXT(""), 'I', FNABI_RAW_INPUTS, 0},
    {TEXT("X"), 'I', FNABI_RAW_INPUTS, 0},
    {TEXT("I1!R5!"), 'R', FNABI_RAW_RESULTS, 0},
    {TEXT("I1!!R1!"), 'R', FNABI_RAW_RESULTS, 0},
    {TEXT("I7!O1!Q1!"), 'I', FNABI_RAW_TAG, 1},
    {TEXT("I9!O1!B3!x1"), 'I', FNABI_RAW_BUFFER_FIELD, 1},
    {TEXT("I9!O1!S3!x1"), 'I', FNABI_RAW_SCALAR_FIELD, 1},
    {TEXT("I9!O1!O3!x1"), 'I', FNABI_RAW_REF_FIELD, 1},
    {TEXT("I9!O1!U3!x1"), 'I', FNABI_UNEXPECTED, 1},
    {TEXT("I7!S4!t12"), 'I', FNABI_RAW_SCALAR_TYPE, 0},
    {TEXT("I6!B3!t-"), 'I', FNABI_SYNTAX, 0},
    {TEXT("I5!O1!!"), 'I', FNABI_SYNTAX, 1},
    {TEXT("I7!O1!O2!"), 'I', FNABI_SYNTAX, 1},
};

static void test_visit(void) {
  for (size_t i = 0; i < sizeof visits / sizeof *visits; i++) {
    call c = {visit, visits[i].text, visits[i].size, 0, visits[i].side};
    check_capacities(&c);
    size_t size;
    fnabi_error error;
    uint8_t* out = output_of(&c, &size, &error);
    CHECK(out != NULL);
    CHECK(out[0] == 0x92 && out[1] == 0xDD && out[5] == visits[i].values);
    CHECK(out[size - 1] == visits[i].code);
    release(out);
  }
}

static void test_scalar_types(void) {
  fnabi_error error;
  for (int32_t i = 0; i < FNABI_SCALAR_TYPE_COUNT; i++) {
    check_capacities(&(call){scalar, NULL, 0, i, 0});
    check_capacities(&(call){dtype, NULL, 0, i, 0});
    size_t size = fnabi_raw_scalar_size(i);
    CHECK(size == 1 || size == 2 || size == 4 || size == 8);
    CHECK(fnabi_raw_scalar_name(i) != NULL);
  }
  static const int32_t bad[] = {-1, 12, INT32_MIN, INT32_MAX};
  for (size_t i = 0; i < 4; i++) {
    CHECK(fnabi_raw_scalar(bad[i], NULL, 0, &error) == -1);
    CHECK(error.code == FNABI_RAW_SCALAR_TYPE);
    CHECK(fnabi_raw_buffer(bad[i], NULL, 0, NULL, 0, &error) == -1);
    CHECK(error.code == FNABI_RAW_SCALAR_TYPE);
    CHECK(fnabi_raw_scalar_dtype(bad[i], NULL, 0) == -1);
    CHECK(fnabi_raw_scalar_size(bad[i]) == 0);
    CHECK(fnabi_raw_scalar_name(bad[i]) == NULL);
  }
}

static void test_build(void) {
  static const int32_t dims[] = {-1, 128, 0, INT32_MAX, INT32_MIN};
  check_answer(&(call){scalar, NULL, 0, 0, 0}, TEXT("S1!"));
  check_answer(&(call){scalar, NULL, 0, 11, 0}, TEXT("S4!t11"));
  check_answer(&(call){buffer, NULL, 0, 0, 0}, TEXT("B1!"));
  check_answer(&(call){buffer, dims, 2, 2, 0}, TEXT("B10!t2d-1d128"));
  check_answer(&(call){buffer, dims, 5, 0, 0},
               TEXT("B33!d-1d128d0d2147483647d-2147483648"));
}

/* Messages that the encoder refuses: MessagePack bytes, code and path. */
#define SIDES(value) "\x92\x91" value "\x90"
#define F32  \
  "\x93\xA5" \
  "float"    \
  "\x20\xA0"

static const bad_message refused[] = {
    {TEXT(""), FNABI_MESSAGE, ""},
    {TEXT("\x90"), FNABI_MESSAGE, ""},
    {TEXT("\x94\x90\x90\x90\x90"), FNABI_MESSAGE, ""},
    {TEXT("\x93\x90\x90\xC0"), FNABI_MESSAGE, ""},
    {TEXT("\x93\x90\x90\x91\x92\xA1x\xA1y"), FNABI_UNSUPPORTED, "extra"},
    {TEXT("\x92\x90\x90\x90"), FNABI_MESSAGE, ""},
    {TEXT("\x92\x90"), FNABI_MESSAGE, "results"},
    {TEXT("\x92\xC0\x90"), FNABI_MESSAGE, "inputs"},
    {TEXT("\xDD\xFF\xFF\xFF\xFF"), FNABI_MESSAGE, ""},
    {TEXT("\x92\xDD\xFF\xFF\xFF\xFF\x91\x0A"), FNABI_MESSAGE, "inputs[1]"},
    {TEXT(SIDES("\x90")), FNABI_MESSAGE, "inputs[0]"},
    {TEXT(SIDES("\x91\xA1x")), FNABI_MESSAGE, "inputs[0]"},
    {TEXT(SIDES("\x91\x00")), FNABI_MESSAGE, "inputs[0]"},
    {TEXT(SIDES("\x91\x0C")), FNABI_MESSAGE, "inputs[0]"},
    {TEXT(SIDES("\x91\x0B")), FNABI_UNSUPPORTED, "inputs[0]"},
    {TEXT(SIDES("\x91\x09")), FNABI_UNSUPPORTED, "inputs[0]"},
    {TEXT(SIDES("\x92\x0A\x0A")), FNABI_MESSAGE, "inputs[0]"},
    {TEXT(SIDES("\x91\x03")), FNABI_MESSAGE, "inputs[0]"},
    {TEXT(SIDES("\x92\x03\xA1x")), FNABI_UNSUPPORTED, "inputs[0].name"},
    {TEXT(SIDES("\x92\x01\xC0")), FNABI_MESSAGE, "inputs[0].dtype"},
    {TEXT(SIDES("\x92\x01\x93\xA5"
                "float"
                "\x21\xA0")),
     FNABI_UNSUPPORTED, "inputs[0].dtype"},
    {TEXT(SIDES("\x93\x02" F32 "\xC0")), FNABI_UNSUPPORTED, "inputs[0].shape"},
    {TEXT(SIDES("\x93\x02" F32 "\xC3")), FNABI_MESSAGE, "inputs[0].shape"},
    {TEXT(SIDES("\x93\x02" F32 "\x91\xC3")), FNABI_MESSAGE,
     "inputs[0].shape[0]"},
    {TEXT(SIDES("\x93\x02" F32 "\x92\x01\xFF")), FNABI_MESSAGE,
     "inputs[0].shape[1]"},
    {TEXT(SIDES("\x93\x02" F32 "\x91\xCE\x80\0\0\0")), FNABI_INT32,
     "inputs[0].shape[0]"},
    {TEXT(SIDES("\x93\x02" F32 "\x91\xCF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF")),
     FNABI_INT32, "inputs[0].shape[0]"},
    {TEXT(SIDES("\x93\x02" F32 "\x91\xD3\x80\0\0\0\0\0\0\0")), FNABI_MESSAGE,
     "inputs[0].shape[0]"},
};

static void test_encode_refuses(void) {
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    fnabi_error error;
    CHECK(!takes_message(&format, refused[i].message, refused[i].size, &error));
    check_error_is(&error, refused[i].code, 0, refused[i].path);
  }
}

/* The same numbers and texts in every width that MessagePack has. */
static void test_encode_takes_all_widths(void) {
  static const struct {
    const char* dim;
    size_t size;
  } dims[] = {
      {TEXT("\x05")},
      {TEXT("\xCC\x05")},
      {TEXT("\xCD\0\x05")},
      {TEXT("\xCE\0\0\0\x05")},
      {TEXT("\xD0\x05")},
      {TEXT("\xCF\0\0\0\0\0\0\0\x05")},
      {TEXT("\xD1\0\x05")},
      {TEXT("\xD2\0\0\0\x05")},
      {TEXT("\xD3\0\0\0\0\0\0\0\x05")},
  };
  for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
    static const char head[] =
        "\x92\x91\x93\x02\x93\xC4\x05"
        "float"
        "\xCC\x20\xD9\0\xDC\0\1";
    char message[64];
    size_t size = sizeof head - 1;
    memcpy(message, head, size);
    memcpy(message + size, dims[i].dim, dims[i].size);
    size += dims[i].size;
    message[size++] = (char)0x90;
    char* copy = exact(message, size);
    check_answer(&(call){encode, copy, size, 0, 0}, TEXT("I6!B3!d5R1!"));
    release(copy);
  }
}

/* Every truncation and every change of one byte of a good message gives an
 * error, or a text that decodes. */
static void test_damaged_messages(void) {
  check_damaged_message(&format, TEXT(good));
}

static void test_damaged_texts(void) {
  size_t size = sizeof good - 1;
  check_damage(round_trip, &format, good, size, size);
}

static void test_all_of_two_bytes(void) {
  fnabi_error error;
  for (unsigned i = 0; i < 1u << 16; i++) {
    char text[10] = {'I', '3', '!', (char)(i & 0xFF), (char)(i >> 8),
                     'R', '1', '!'};
    CHECK(!round_trip(&format, text + 3, 2, &error));
    CHECK(!round_trip(&format, text, 8, &error)); /* no value has two bytes */
  }
}

/* Random texts with correct lengths, so that the spans are well-formed. */
static void test_random(void) {
  static const char* const fields[] = {"t0", "t3",  "t11", "t12", "d1", "d-1",
                                       "d7", "d64", "d-2", "d01", "x1", "d"};
  uint32_t random = 7;
  unsigned taken = 0;
  for (int i = 0; i < 100000; i++) {
    char text[1000], side[400], value[40];
    size_t size = 0;
    for (int s = 0; s < 2; s++) {
      size_t side_size = 0;
      for (unsigned n = next_random(&random) % 4; n > 0; n--) {
        char tag = "BBBBSOUQ"[next_random(&random) % 8];
        size_t value_size = 0;
        unsigned most = tag == 'B' ? 4 : tag == 'S' ? 2 : 1;
        for (unsigned k = next_random(&random) % most; k > 0; k--) {
          const char* field = fields[next_random(&random) % 12];
          memcpy(value + value_size, field, strlen(field));
          value_size += strlen(field);
        }
        side_size += put_span(side + side_size, tag, value, value_size);
      }
      size += put_span(text + size, "IR"[s], side, side_size);
    }
    if (next_random(&random) % 8 == 0)
      text[next_random(&random) % size] = (char)next_random(&random);
    fnabi_error error;
    taken += round_trip(&format, text, size, &error);
    check_capacities(&(call){visit, text, size, 0, "IR"[i & 1]});
  }
  CHECK(taken > 10000);
}

int main(void) {
  test_decode();
  test_errors();
  test_visit();
  test_scalar_types();
  test_build();
  test_encode_refuses();
  test_encode_takes_all_widths();
  test_damaged_messages();
  test_damaged_texts();
  test_all_of_two_bytes();
  test_random();
  return 0;
}
