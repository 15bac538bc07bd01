#include "codec.h"

DEFINE_WRITER(decode, fnabi_iree_abi_decode)
DEFINE_WRITER(encode, fnabi_iree_abi_encode)

static const codec format = {decode, encode, 0, NULL};

/* Every record, every kind of JSON in another key, and every escape. */
static const char good[] =
    " {\"v\" : {\"\\u20AC\": [1.5e+3, -0, true, false, null, \"\\/\"]},\n"
    "\"\\u0072\":[[\"slist\",\"i8\",null],[\"stuple\"],\r\t\"unknown\"],"
    "\"a\":[[\"named\",\"\\b\\f\\n\\r\\t\\\"\\\\\\ud83d\\ude00\xE2\x82\xAC\","
    "[\"ndarray\",\"f32\",2,null,128]],[\"ndarray\",\"bf16\",null],"
    "[\"ndarray\",[\"sdict\",[\"k\\u0000\",\"i1\"]],1,9223372036854775807],"
    "[\"py_homogeneous_list\",\"i16777215\"]]} ";

static void test_decode(void) {
  fnabi_error error;
  CHECK(round_trip(&format, TEXT(good), &error));
  check_capacities(&(call){decode, TEXT(good), 0, 0});

  static const uint8_t message[] = {
      0x93,                             //
      0xDD, 0,    0,    0,    2,        // inputs
      0x93, 8,    0xA1, 'x',  0x91, 9,  // NAMED, NULL
      0x93, 2,    0x93, 0xA5, 'f',  'l',  'o', 'a', 't', 32, 0xA0,  // BUFFER
      0xDD, 0,    0,    0,    2,    0xC0, 3,                        //
      0xDD, 0,    0,    0,    1,                                    // results
      0x93, 11,   0x91, 10,   0xC0,                                 // REF_ARRAY
      0xDD, 0,    0,    0,    1,  // other keys
      0x92, 0xA1, 'v',  0xA2, '[',  ']'};
  static const char text[] =
      "{\"a\":[[\"named\",\"x\",null],[\"ndarray\",\"f32\",2,null,3]],"
      "\"r\":[[\"ndarray\",\"unknown\",null]],\"v\":[]}";
  check_answer(&(call){decode, TEXT(text), 0, 0}, message, sizeof message);
  check_answer(&(call){encode, message, sizeof message, 0, 0}, TEXT(text));

  /* a signature of other ABIs has no other keys */
  check_answer(&(call){encode, TEXT("\x92\x90\x91\x91\x09"), 0, 0},
               TEXT("{\"a\":[],\"r\":[null]}"));
}

static const bad_text errors[] = {
    {TEXT(""), FNABI_JSON, 0, ""},
    {TEXT("\0"), FNABI_JSON, 0, ""},
    {TEXT("[]"), FNABI_IREE_ABI_OBJECT, 0, ""},
    {TEXT("{\"a\":[]}"), FNABI_IREE_ABI_MISSING, 7, ""},
    {TEXT("{\"a\":[],\"a\":[]}"), FNABI_IREE_ABI_DUPLICATE, 8, ""},
    {TEXT("{\"a\":[],\"r\":[]},"), FNABI_JSON, 15, ""},
    {TEXT("{\"a\":[nil]}"), FNABI_JSON, 7, "a[0]"},
    {TEXT("{\"a\":0}"), FNABI_IREE_ABI_SIDE, 5, "a"},
    {TEXT("{\"a\":[0]}"), FNABI_IREE_ABI_RECORD, 6, "a[0]"},
    {TEXT("{\"a\":[\"i0\"]}"), FNABI_IREE_ABI_PRIMITIVE, 6, "a[0]"},
    {TEXT("{\"a\":[[\"x\"]]}"), FNABI_IREE_ABI_COMPOUND, 7, "a[0][0]"},
    {TEXT("{\"a\":[[]]}"), FNABI_IREE_ABI_FIELD, 7, "a[0]"},
    {TEXT("{\"r\":[[\"named\",\"x\",null]]}"), FNABI_IREE_ABI_NAMED, 6, "r[0]"},
    {TEXT("{\"a\":[[\"named\",0,null]]}"), FNABI_IREE_ABI_NAME, 15, "a[0][1]"},
    {TEXT("{\"a\":[[\"sdict\",0]]}"), FNABI_IREE_ABI_SLOT, 15, "a[0][1]"},
    {TEXT("{\"a\":[[\"ndarray\",\"i8\",-1]]}"), FNABI_IREE_ABI_RANK, 22,
     "a[0][2]"},
    {TEXT("{\"a\":[[\"ndarray\",\"i8\",1,1e1]]}"), FNABI_IREE_ABI_DIM, 24,
     "a[0][3]"},
    {TEXT("{\"a\":[[\"ndarray\",\"i8\",1]]}"), FNABI_IREE_ABI_DIMS, 23, "a[0]"},
    {TEXT("{\"a"), FNABI_JSON_STRING, 3, ""},
    {TEXT("{\"a\0\""), FNABI_JSON_CONTROL, 3, ""},
    {TEXT("{\"\xC0\x80\""), FNABI_JSON_UTF8, 2, ""},
    {TEXT("{\"\xE2\x82"), FNABI_JSON_UTF8, 2, ""},
    {TEXT("{\"\\u00g0\""), FNABI_JSON_ESCAPE, 6, ""},
    {TEXT("{\"\\"), FNABI_JSON_ESCAPE, 3, ""},
    {TEXT("{\"\\uD800\\u"), FNABI_JSON_ESCAPE, 10, ""},
    {TEXT("{\"\\uD800\\"), FNABI_JSON_SURROGATE, 2, ""},
    {TEXT("{\"\\uDC00\""), FNABI_JSON_SURROGATE, 2, ""},
    {TEXT("{\"v\":-"), FNABI_JSON_NUMBER, 6, ""},
    {TEXT("{\"v\":1.e"), FNABI_JSON_NUMBER, 7, ""},
};

static void test_errors(void) {
  fnabi_error error;
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    CHECK(!round_trip(&format, errors[i].text, errors[i].size, &error));
    check_error_is(&error, errors[i].code, errors[i].offset, errors[i].path);
  }
  CHECK(fnabi_iree_abi_decode(NULL, 0, NULL, 0, &error) == -1);
  CHECK(error.code == FNABI_JSON && error.offset == 0);
#if SIZE_MAX > UINT32_MAX
  /* refused before anything is read */
  size_t large = (size_t)UINT32_MAX + 1;
  CHECK(fnabi_iree_abi_decode("{", large, NULL, 0, &error) == -1);
  CHECK(error.code == FNABI_JSON_SIZE && error.offset == 0);
#endif
}

static void test_depth(void) {
  enum { LEVELS = 127 };
  static const char head[] = "{\"a\":[", level[] = "[\"stuple\",",
                    tail[] = "],\"r\":[]}";
  char text[2048];
  fnabi_error error;
  for (unsigned levels = LEVELS - 1; levels <= LEVELS; levels++) {
    size_t size = sizeof head - 1;
    memcpy(text, head, size);
    for (unsigned i = 0; i < levels; i++, size += sizeof level - 1)
      memcpy(text + size, level, sizeof level);
    memcpy(text + size, "null", 4);
    memset(text + size + 4, ']', levels);
    size += 4 + levels;
    memcpy(text + size, tail, sizeof tail);
    size += sizeof tail - 1;
    CHECK(round_trip(&format, text, size, &error) == (levels < LEVELS));
  }
  CHECK(error.code == FNABI_DEPTH);
  CHECK(error.offset == sizeof head - 1 + (LEVELS - 1) * (sizeof level - 1));
}

/* Messages that the encoder refuses: MessagePack bytes, code and path. */
#define INPUT(type) TEXT("\x93\x91" type "\x90\x90")
static const bad_message refused[] = {
    {TEXT(""), FNABI_MESSAGE, ""},
    {TEXT("\xC0"), FNABI_MESSAGE, ""},
    {TEXT("\x91\x90"), FNABI_MESSAGE, ""},
    {TEXT("\x94\x90\x90\x90\x90"), FNABI_MESSAGE, ""},
    {TEXT("\x92\x90\x90\x90"), FNABI_MESSAGE, ""},
    {TEXT("\x92\x90"), FNABI_MESSAGE, "results"},
    {TEXT("\x92\xC0\x90"), FNABI_MESSAGE, "inputs"},
    {TEXT("\x93\x90\x90\xC0"), FNABI_MESSAGE, "extra"},
    {TEXT("\x93\x90\x90\x91\x91\xA1v"), FNABI_MESSAGE, "extra[0]"},
    {TEXT("\x93\x90\x90\x91\x92\x01\xA1"
          "0"),
     FNABI_MESSAGE, "extra[0][0]"},
    {TEXT("\x93\x90\x90\x91\x92\xA1v\x01"), FNABI_MESSAGE, "extra[0][1]"},
    {TEXT("\x93\x90\x90\x91\x92\xA1v\xA0"), FNABI_JSON, "extra[0][1]"},
    {TEXT("\x93\x90\x90\x91\x92\xA1v\xA2"
          "1 "),
     FNABI_JSON, "extra[0][1]"},
    {TEXT("\x93\x90\x90\x91\x92\xA1\xFF\xA1"
          "1"),
     FNABI_JSON_UTF8, "extra[0][0]"},
    {TEXT("\x93\x90\x90\x91\x92\xA1r\xA1"
          "1"),
     FNABI_IREE_ABI_DUPLICATE, "extra[0][0]"},
    {TEXT("\x93\xDD\xFF\xFF\xFF\xFF"), FNABI_MESSAGE, "inputs[0]"},
    {INPUT("\xC0"), FNABI_MESSAGE, "inputs[0]"},
    {INPUT("\x90"), FNABI_MESSAGE, "inputs[0]"},
    {INPUT("\x92\x09\x09"), FNABI_MESSAGE, "inputs[0]"},
    {INPUT("\x91\x0C"), FNABI_MESSAGE, "inputs[0]"},
    {INPUT("\x91\x00"), FNABI_MESSAGE, "inputs[0]"},
    {INPUT("\x92\x03\xC0"), FNABI_UNSUPPORTED, "inputs[0]"},
    {INPUT("\x92\x01\xC0"), FNABI_MESSAGE, "inputs[0].dtype"},
    {INPUT("\x92\x01\x93\xA5index\x40\xA0"), FNABI_UNSUPPORTED,
     "inputs[0].dtype"},
    {INPUT("\x92\x01\x93\xA8signless\x01\xA0"), FNABI_UNSUPPORTED,
     "inputs[0].dtype"},
    {INPUT("\x93\x02\x93\xA5"
           "float\x20\xA0\xA0"),
     FNABI_MESSAGE, "inputs[0].shape"},
    {INPUT("\x93\x02\x93\xA5"
           "float\x20\xA0\x92\x01\xFF"),
     FNABI_IREE_ABI_DIM, "inputs[0].shape[1]"},
    {INPUT("\x93\x02\x93\xA5"
           "float\x20\xA0\x91\xA0"),
     FNABI_MESSAGE, "inputs[0].shape[0]"},
    {INPUT("\x92\x04\xC0"), FNABI_MESSAGE, "inputs[0].items"},
    {INPUT("\x92\x05\x92\x91\x09\x92\x03\xC0"), FNABI_UNSUPPORTED,
     "inputs[0].items[1]"},
    {INPUT("\x92\x06\x91\xC0"), FNABI_MESSAGE, "inputs[0].items[0]"},
    {INPUT("\x92\x06\x91\x92\x01\x91\x09"), FNABI_MESSAGE,
     "inputs[0].items[0][0]"},
    {INPUT("\x92\x06\x91\x92\xA1k\x92\x03\xC0"), FNABI_UNSUPPORTED,
     "inputs[0].items[0][1]"},
    {INPUT("\x92\x07\x92\x03\xC0"), FNABI_UNSUPPORTED, "inputs[0].element"},
    {INPUT("\x93\x08\x01\x91\x09"), FNABI_MESSAGE, "inputs[0].name"},
    {INPUT("\x93\x08\xC4\x01\xFF\x91\x09"), FNABI_JSON_UTF8, "inputs[0].name"},
    {INPUT("\x93\x08\xA1x\x93\x08\xA1y\x91\x09"), FNABI_IREE_ABI_NAMED,
     "inputs[0].type"},
    {INPUT("\x93\x0B\x92\x01\x93\xA5"
           "float\x20\xA0\xC0"),
     FNABI_UNSUPPORTED, "inputs[0].element"},
};

static void test_encode_refuses(void) {
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    fnabi_error error;
    CHECK(!takes_message(&format, refused[i].message, refused[i].size, &error));
    check_error_is(&error, refused[i].code, 0, refused[i].path);
  }
}

/* Every truncation and every change of one byte of a good text and of a good
 * message gives an error, or what can be read again. */
static void test_damaged_texts(void) {
  size_t size = sizeof good - 1; /* of which the last is a space */
  check_damage(round_trip, &format, good, size, size - 1);
}

static void test_damaged_messages(void) {
  check_damaged_message(&format, TEXT(good));
}

/* Tokens in any order; in a frame, to come further. */
static void test_random(void) {
  static const char* const tokens[] = {"[",
                                       "]",
                                       "{",
                                       "}",
                                       ",",
                                       ",",
                                       ":",
                                       "\"ndarray\"",
                                       "\"named\"",
                                       "\"slist\"",
                                       "\"stuple\"",
                                       "\"sdict\"",
                                       "\"py_homogeneous_list\"",
                                       "\"i32\"",
                                       "\"f32\"",
                                       "\"unknown\"",
                                       "null",
                                       "null",
                                       "0",
                                       "1",
                                       "2",
                                       "-1",
                                       "1.5",
                                       "\"x\"",
                                       " ",
                                       "[\"ndarray\",\"f32\",1,null]",
                                       "[\"slist\",",
                                       "[\"sdict\",[\"k\","};
  size_t count = sizeof tokens / sizeof *tokens;
  uint32_t random = 11;
  unsigned taken = 0;
  for (int i = 0; i < 100000; i++) {
    char text[1024];
    fnabi_error error;
    strcpy(text, "{\"r\":[],\"a\":[");
    for (unsigned n = next_random(&random) % 8; n > 0; n--)
      strcat(text, tokens[next_random(&random) % count]);
    strcat(text, "]}");
    taken += round_trip(&format, text, strlen(text), &error);
  }
  CHECK(taken > 1000 && taken < 90000);
}

int main(void) {
  test_decode();
  test_errors();
  test_depth();
  test_encode_refuses();
  test_damaged_texts();
  test_damaged_messages();
  test_random();
  return 0;
}
