#include "allocations.h"
#include "codec.h"

/* -------------------------------------------------------------------- calls */

DEFINE_WRITER(decode, fnabi_sip_decode)
DEFINE_WRITER(encode, fnabi_sip_encode)

static int64_t visit(const call* c, uint8_t* out, size_t capacity,
                     fnabi_error* error) {
  return fnabi_sip_visit(c->data, c->size, c->tag, out, capacity, error);
}

DEFINE_WRITER(mangle, fnabi_sip_mangle)

static const codec format = {decode, encode, 0, NULL};

static const char good[] =
    "I59!D55!K2!x_0K2!\xFF_1K1!S36!k1D20!K4!key_200K5!name_3k0_4k200_5"
    "R12!S9!k0_0k1_1";

/* The events of a side; returns their number, and the code after them. */
static uint8_t* events_of(const void* bytes, size_t size, int32_t side,
                          size_t* message_size, size_t* count, int32_t* code) {
  fnabi_error error;
  char* text = exact(bytes, size);
  call c = {visit, text, size, 0, side};
  uint8_t* message = output_of(&c, message_size, &error);
  release(text);
  CHECK(message != NULL && *message_size >= 7);
  CHECK(message[0] == 0x92 && message[1] == 0xDD);
  *count = (size_t)message[2] << 24 | (size_t)message[3] << 16 |
           (size_t)message[4] << 8 | message[5];
  *code = message[*message_size - 1];
  CHECK(*code < 0x80);
  return message;
}

/* ------------------------------------------------------------------ results */

static void test_decode(void) {
  fnabi_error error;
  call c = {decode, TEXT(good), 0, 0};
  check_capacities(&c);
  CHECK(round_trip(&format, TEXT(good), &error));
  CHECK(round_trip(&format, TEXT("I1!R1!"), &error));
  CHECK(!round_trip(&format, NULL, 0, &error));

  /* [[DICT, [["x", [LEAF, 200]], [b"\xFF", [SEQUENCE, []]]]], nil] */
  static const uint8_t message[] = {
      0x92, 0x92, 3,   0xDD, 0,    0,    0,    2,             //
      0x92, 0xA1, 'x', 0x92, 1,    0xCE, 0,    0, 0, 200,     //
      0x92, 0xC4, 1,   0xFF, 0x92, 2,    0xDD, 0, 0, 0,   0,  //
      0xC0};
  static const char text[] = "I20!D16!K2!x_200K2!\xFFS1!R1!";
  call small = {decode, TEXT(text), 0, 0};
  check_answer(&small, message, sizeof message);
  call back = {encode, message, sizeof message, 0, 0};
  check_answer(&back, TEXT(text));
}

static void test_visit_and_mangle(void) {
  /* [[[OPEN_SEQUENCE, nil], [INTEGER_KEY, 5], [INDEX, 1], [CLOSE, nil]], OK] */
  static const uint8_t message[] = {0x92, 0xDD, 0,    0,    0, 4,  //
                                    0x92, 1,    0xC0, 0x92, 3, 5,  //
                                    0x92, 5,    1,    0x92, 6, 0xC0, 0};
  call first = {visit, TEXT("I8!S5!k5_1R1!"), 0, 'I'};
  check_answer(&first, message, sizeof message);
  call back = {mangle, message + 1, sizeof message - 2, 0, 0};
  check_answer(&back, TEXT("S5!k5_1"));
  call nothing = {mangle, "\x90", 1, 0, 0};
  check_answer(&nothing, NULL, 0);
}

/* ------------------------------------------------------------------- errors */

static const bad_text errors[] = {
    {TEXT(""), FNABI_SIP_INPUTS, 0, ""},
    {TEXT("\0"), FNABI_SIP_INPUTS, 0, ""},
    {TEXT("_1I1!R1!"), FNABI_SIP_INPUTS, 0, ""},
    {TEXT("I"), FNABI_INTEGER, 1, ""},
    {TEXT("I1"), FNABI_SPAN_MARK, 2, ""},
    {TEXT("I0!"), FNABI_LENGTH, 1, ""},
    {TEXT("I9!"), FNABI_SPAN_END, 1, ""},
    {TEXT("I2147483647!"), FNABI_SPAN_END, 1, ""},
    {TEXT("I2147483648!"), FNABI_INT32, 1, ""},
    {TEXT("I1!"), FNABI_SIP_RESULTS, 3, ""},
    {TEXT("I1!\0R1!"), FNABI_SIP_RESULTS, 3, ""},
    {TEXT("I1!R1!\0"), FNABI_UNEXPECTED, 6, ""},
    {TEXT("I2!\xFFR1!"), FNABI_TAG, 3, "inputs"},
    {TEXT("I3!k0R1!"), FNABI_SIP_KEY, 3, "inputs"},
    {TEXT("I3!x0R1!"), FNABI_SIP_TAG, 3, "inputs"},
    {TEXT("I4!_-1R1!"), FNABI_SIP_NEGATIVE, 4, "inputs"},
    {TEXT("I5!_0_1R1!"), FNABI_SIP_VALUE, 5, "inputs"},
    {TEXT("I6!S3!_0R1!"), FNABI_SIP_VALUE, 6, "inputs"},
    {TEXT("I6!S3!k0R1!"), FNABI_MISSING, 8, "inputs[0]"},
    {TEXT("I8!S5!k0k1R1!"), FNABI_SIP_KEY, 8, "inputs[0]"},
    {TEXT("I9!S6!k-1_0R1!"), FNABI_SIP_NEGATIVE, 7, "inputs"},
    {TEXT("I8!D5!k0_0R1!"), FNABI_SIP_KEY, 6, "inputs"},
    {TEXT("I1!R17!S13!k3D8!K2!a_-1"), FNABI_SIP_NEGATIVE, 21,
     "results[3][\"a\"]"},
    {TEXT("I12!S9!k0_0k0_1R1!"), FNABI_SIP_DUPLICATE, 11, "inputs"},
    {TEXT("I17!S13!k1_0k0_0k1_1R1!"), FNABI_SIP_DUPLICATE, 16, "inputs"},
    /* the first of several, also where an inner structure has one too */
    {TEXT("I21!S17!k1_0k0_0k1_1k1_2R1!"), FNABI_SIP_DUPLICATE, 16, "inputs"},
    {TEXT("I21!S17!k1_0k5_0k1_1k5_2R1!"), FNABI_SIP_DUPLICATE, 16, "inputs"},
    {TEXT("I25!S21!k1_0k0_0k1_1k2_2k1_3R1!"), FNABI_SIP_DUPLICATE, 16,
     "inputs"},
    {TEXT("I21!S17!k1_0k0_0k1_1k9x0R1!"), FNABI_SIP_DUPLICATE, 16, "inputs"},
    {TEXT("I18!S14!k1_0k0_0k1_1xR1!"), FNABI_SIP_DUPLICATE, 16, "inputs"},
    {TEXT("I26!S22!k1_0k0_0k1S9!k0_0k0_1R1!"), FNABI_SIP_DUPLICATE, 16,
     "inputs"},
    {TEXT("I27!S23!k1_0k0S13!k2_0k1_0k2_1R1!"), FNABI_SIP_DUPLICATE, 26,
     "inputs[0]"},
    {TEXT("I23!D19!K2!b_0K2!a_0K2!b_1R1!"), FNABI_SIP_DUPLICATE, 20, "inputs"},
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
  size_t events; /* in the message: before the error, and the closes */
} visits[] = {
    {TEXT(good), 'I', FNABI_OK, 20},
    {TEXT(good), 'R', FNABI_OK, 6},
    {TEXT("R3!_1_1I1!?"), 'R', FNABI_OK, 1},
    {TEXT("I8!_0_1S1!"), 'I', FNABI_OK, 4},
    {TEXT("I6!S3!k0"), 'I', FNABI_OK, 3},
    {TEXT("I15!S11!k0_0k-1_-1"), 'I', FNABI_OK, 6},
    {TEXT(""), 'I', FNABI_SIP_INPUTS, 0},
    {TEXT("X"), 'I', FNABI_SIP_INPUTS, 0},
    {TEXT("I1!R5!"), 'R', FNABI_SIP_RESULTS, 0},
    {TEXT("I1!!R1!"), 'R', FNABI_SIP_RESULTS, 0},
    {TEXT("I5!_0k0"), 'I', FNABI_SIP_KEY, 1},
    {TEXT("I8!S5!k0k1"), 'I', FNABI_SIP_KEY, 3},
    {TEXT("I6!S3!_0"), 'I', FNABI_SIP_VALUE, 2},
    {TEXT("I11!S8!k0S3!x0"), 'I', FNABI_SIP_TAG, 5},
    {TEXT("I7!_0S3!k"), 'I', FNABI_SYNTAX, 1},
    {TEXT("I7!_0S2!k"), 'I', FNABI_SYNTAX, 3},
};

static void test_visit(void) {
  for (size_t i = 0; i < sizeof visits / sizeof *visits; i++) {
    size_t size, count;
    int32_t code;
    uint8_t* message = events_of(visits[i].text, visits[i].size, visits[i].side,
                                 &size, &count, &code);
    CHECK(code == visits[i].code && count == visits[i].events);
    release(message);
    check_capacities(
        &(call){visit, visits[i].text, visits[i].size, 0, visits[i].side});
  }
}

/* Messages that a writer refuses: MessagePack bytes, code and path. */
#define INPUTS(node) "\x92" node "\xC0"
#define ONE(key, node) "\x91\x92" key node
#define LEAF "\x92\x01\x05"

static const struct {
  writer* write;
  const char* message;
  size_t size;
  int32_t code;
  const char* path;
} refused[] = {
    {encode, TEXT(""), FNABI_MESSAGE, ""},
    {encode, TEXT("\xC0"), FNABI_MESSAGE, ""},
    {encode, TEXT("\x93\xC0\xC0\xC0"), FNABI_MESSAGE, ""},
    {encode, TEXT("\x92\xC0\xC0\xC0"), FNABI_MESSAGE, ""},
    {encode, TEXT("\x92\xC0"), FNABI_MESSAGE, "results"},
    {encode, TEXT(INPUTS("\x91\x01")), FNABI_MESSAGE, "inputs"},
    {encode, TEXT(INPUTS("\x92\x04\x90")), FNABI_MESSAGE, "inputs"},
    {encode, TEXT(INPUTS("\x92\x00\x90")), FNABI_MESSAGE, "inputs"},
    {encode, TEXT(INPUTS("\x92\x01\xC0")), FNABI_MESSAGE, "inputs"},
    {encode, TEXT(INPUTS("\x92\x01\xFF")), FNABI_SIP_NEGATIVE, "inputs"},
    {encode, TEXT(INPUTS("\x92\x01\xCE\x80\0\0\0")), FNABI_INT32, "inputs"},
    {encode, TEXT(INPUTS("\x92\x01\xCF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF")),
     FNABI_INT32, "inputs"},
    {encode, TEXT(INPUTS("\x92\x01\xD3\x80\0\0\0\0\0\0\0")), FNABI_SIP_NEGATIVE,
     "inputs"},
    {encode, TEXT(INPUTS("\x92\x02\xC0")), FNABI_MESSAGE, "inputs.children"},
    {encode, TEXT(INPUTS("\x92\x02\x91\xC0")), FNABI_MESSAGE,
     "inputs.children[0]"},
    {encode, TEXT(INPUTS("\x92\x02\xDD\xFF\xFF\xFF\xFF")), FNABI_MESSAGE,
     "inputs.children[0]"},
    {encode, TEXT(INPUTS("\x92\x02" ONE("\xA1x", LEAF))), FNABI_MESSAGE,
     "inputs.children[0]"},
    {encode, TEXT(INPUTS("\x92\x02" ONE("\xFF", LEAF))), FNABI_SIP_NEGATIVE,
     "inputs.children[0]"},
    {encode, TEXT(INPUTS("\x92\x03" ONE("\x01", LEAF))), FNABI_MESSAGE,
     "inputs.children[0]"},
    {encode, TEXT(INPUTS("\x92\x03" ONE("\xDB\xFF\xFF\xFF\xFF", LEAF))),
     FNABI_MESSAGE, "inputs.children[0]"},
    {encode,
     TEXT(INPUTS("\x92\x03" ONE("\xA1x", "\x92\x02" ONE("\x07", "\xC0")))),
     FNABI_MESSAGE, "inputs.children[0].children[0]"},
    {encode, TEXT(INPUTS("\x92\x02\x92\x92\x01" LEAF "\x92\x01" LEAF)),
     FNABI_SIP_DUPLICATE, "inputs"},
    {encode,
     TEXT("\x92\xC0\x92\x03\x93\x92\xA1y" LEAF "\x92\xA1x" LEAF
          "\x92\xC4\x01y" LEAF),
     FNABI_SIP_DUPLICATE, "results"},
    {mangle, TEXT(""), FNABI_MESSAGE, ""},
    {mangle, TEXT("\xC0"), FNABI_MESSAGE, ""},
    {mangle, TEXT("\x90\x90"), FNABI_MESSAGE, ""},
    {mangle, TEXT("\x91"), FNABI_MESSAGE, "[0]"},
    {mangle, TEXT("\xDD\xFF\xFF\xFF\xFF\x92\x05\x00"), FNABI_MESSAGE, "[1]"},
    {mangle, TEXT("\x91\x92\x07\xC0"), FNABI_MESSAGE, "[0]"},
    {mangle, TEXT("\x91\x92\x00\xC0"), FNABI_MESSAGE, "[0]"},
    {mangle, TEXT("\x91\x93\x01\xC0\xC0"), FNABI_MESSAGE, "[0]"},
    {mangle, TEXT("\x91\x92\x01\x00"), FNABI_MESSAGE, "[0]"},
    {mangle, TEXT("\x91\x92\x01\xC0"), FNABI_MESSAGE, ""},
    {mangle, TEXT("\x91\x92\x06\xC0"), FNABI_MESSAGE, "[0]"},
    {mangle, TEXT("\x92\x92\x05\x01\x92\x06\xC0"), FNABI_MESSAGE, "[1]"},
    {mangle, TEXT("\x91\x92\x05\xFF"), FNABI_SIP_NEGATIVE, "[0]"},
    {mangle, TEXT("\x91\x92\x03\xCE\x80\0\0\0"), FNABI_INT32, "[0]"},
    {mangle, TEXT("\x91\x92\x03\xA1x"), FNABI_MESSAGE, "[0]"},
    {mangle, TEXT("\x91\x92\x04\x05"), FNABI_MESSAGE, "[0]"},
};

static void test_writers_refuse(void) {
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    size_t size;
    fnabi_error error;
    CHECK(write_message(refused[i].write, refused[i].message, refused[i].size,
                        &size, &error) == NULL);
    check_error_is(&error, refused[i].code, 0, refused[i].path);
  }
}

/* The same numbers and texts in every width that MessagePack has. */
static void test_writers_take_all_widths(void) {
  static const struct {
    const char* node;
    size_t size;
  } nodes[] = {
      {TEXT("\x92\x03\x91\x92\xA1x\x92\x01\x05")},
      {TEXT("\xDC\0\2\xCC\x03\xDC\0\1\xDC\0\2\xD9\1x\xDC\0\2\xCD\0\1\xCE\0\0\0"
            "\5")},
      {TEXT("\xDD\0\0\0\2\xD0\x03\xDD\0\0\0\1\x92\xDA\0\1x\x92\xD1\0\1\xD2\0\0"
            "\0\5")},
      {TEXT("\x92\xD3\0\0\0\0\0\0\0\3\x91\x92\xDB\0\0\0\1x\x92\1\xCF\0\0\0\0\0"
            "\0\0\5")},
      {TEXT("\x92\x03\x91\x92\xC4\1x\x92\1\5")},
      {TEXT("\x92\x03\x91\x92\xC5\0\1x\x92\1\5")},
      {TEXT("\x92\x03\x91\x92\xC6\0\0\0\1x\x92\1\5")},
  };
  for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
    char message[64] = {(char)0x92};
    memcpy(message + 1, nodes[i].node, nodes[i].size);
    message[1 + nodes[i].size] = (char)0xC0;
    char* copy = exact(message, nodes[i].size + 2);
    call c = {encode, copy, nodes[i].size + 2, 0, 0};
    check_answer(&c, TEXT("I10!D7!K2!x_5R1!"));
    release(copy);
  }
}

/* ------------------------------------------------------------ hostile input */

/* A text that mangle wrote, as the inputs, has the events that mangle writes
 * it from. Its keys may lack values, which a visit then refuses. */
static bool check_mangled(const uint8_t* text, size_t size) {
  fnabi_error error;
  size_t message_size, count, again_size;
  int32_t code;
  char* function = exact(NULL, size + 32);
  uint8_t* message = events_of(function, put_span(function, 'I', text, size),
                               'I', &message_size, &count, &code);
  release(function);
  CHECK(code == FNABI_OK || code == FNABI_SIP_KEY || code == FNABI_SIP_VALUE);
  if (code == FNABI_OK) {
    call c = {mangle, message + 1, message_size - 2, 0, 0};
    uint8_t* again = output_of(&c, &again_size, &error);
    CHECK(again != NULL && again_size == size);
    CHECK(size == 0 || memcmp(again, text, size) == 0);
    release(again);
  }
  release(message);
  return code == FNABI_OK;
}

/* Whether a message of events is accepted. If so, its text is valid. */
static bool takes_events(const codec* f, const void* bytes, size_t size,
                         fnabi_error* error) {
  (void)f;
  size_t text_size;
  uint8_t* text = write_message(mangle, bytes, size, &text_size, error);
  if (text == NULL) return false;
  check_mangled(text, text_size);
  release(text);
  return true;
}

static void test_damaged_messages(void) {
  size_t size, count;
  int32_t code;
  check_damaged_message(&format, TEXT(good));
  uint8_t* message = events_of(TEXT(good), 'I', &size, &count, &code);
  CHECK(code == FNABI_OK && count > 0);
  check_damage(takes_events, &format, message + 1, size - 2, size - 2);
  release(message);
}

/* Whether a text is accepted. Its events can be visited in any case. */
static bool check_text(const codec* f, const void* text, size_t size,
                       fnabi_error* error) {
  for (int i = 0; i < 2; i++) {
    size_t message_size, count;
    int32_t code;
    release(events_of(text, size, "IR"[i], &message_size, &count, &code));
  }
  return round_trip(f, text, size, error);
}

static void test_damaged_texts(void) {
  size_t size = sizeof good - 1;
  check_damage(check_text, &format, good, size, size);
}

static void test_all_of_two_bytes(void) {
  fnabi_error error;
  size_t taken = 0;
  for (unsigned i = 0; i < 1u << 16; i++) {
    char text[10] = {'I', '3', '!', (char)(i & 0xFF), (char)(i >> 8),
                     'R', '1', '!'};
    CHECK(!round_trip(&format, text + 3, 2, &error));
    taken += check_text(&format, text, 8, &error);
  }
  CHECK(taken == 10); /* _0 to _9 */
}

/* Random structures whose lengths are right, so that they get past the spans.
 */
static size_t put_node(char* out, unsigned depth, uint32_t* random) {
  char contents[4000];
  size_t size = 0;
  if (depth == 0 || next_random(random) % 3 == 0)
    return (size_t)sprintf(out, "_%u", next_random(random) % 3);
  bool dict = next_random(random) % 2;
  for (unsigned n = next_random(random) % 4; n > 0; n--) {
    if (next_random(random) % 16 == 0) dict = !dict;
    char name[2] = {"ab"[next_random(random) % 2], '\xFF'};
    if (dict)
      size += put_span(contents + size, 'K', name, next_random(random) % 3);
    else
      size += (size_t)sprintf(contents + size, "k%u", next_random(random) % 6);
    if (next_random(random) % 32 != 0)
      size += put_node(contents + size, depth - 1, random);
  }
  return put_span(out, dict ? 'D' : 'S', contents, size);
}

static void test_random(void) {
  uint32_t random = 7;
  unsigned taken = 0;
  for (int i = 0; i < 30000; i++) {
    char text[9000], side[4000];
    size_t size = 0;
    for (int s = 0; s < 2; s++) {
      bool empty = next_random(&random) % 16 == 0;
      size_t side_size = empty ? 0 : put_node(side, 4, &random);
      size += put_span(text + size, "IR"[s], side, side_size);
    }
    if (next_random(&random) % 8 == 0)
      text[next_random(&random) % size] = (char)next_random(&random);
    fnabi_error error;
    taken += check_text(&format, text, size, &error);
  }
  CHECK(taken > 3000);
}

/* ------------------------------------------------------- depth, allocations */

/* Nested sequences, as the inputs of a function without results. */
static char* nested(size_t depth, size_t* size) {
  size_t capacity = 20 * depth + 40, at = capacity;
  char* text = __real_malloc(capacity);
  CHECK(text != NULL);
  memcpy(text + (at -= 3), "R1!", 3);
  size_t end = at;
  memcpy(text + (at -= 2), "_0", 2);
  char head[32];
  for (size_t level = 0; level < depth; level++) {
    int n = sprintf(head, "S%zu!k0", end - at + 3);
    memcpy(text + (at -= (size_t)n), head, (size_t)n);
  }
  int n = sprintf(head, "I%zu!", end - at + 1);
  memcpy(text + (at -= (size_t)n), head, (size_t)n);
  *size = capacity - at;
  memmove(text, text + at, *size);
  return text;
}

/* A million levels take no more time than the limit allows. */
static void test_depth(void) {
  static const size_t depths[] = {0,   1,     63,    64,    65,     128,
                                  129, 16383, 16384, 16385, 1000000};
  for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
    fnabi_error error;
    size_t depth = depths[i], size, message_size, count, written;
    int32_t code;
    char* text = nested(depth, &size);
    bool shallow = depth <= FNABI_DEPTH_MAX;
    CHECK(round_trip(&format, text, size, &error) == shallow);
    CHECK(shallow || error.code == FNABI_DEPTH);

    uint8_t* message = events_of(text, size, 'I', &message_size, &count, &code);
    bool fits = depth <= FNABI_SIP_EVENT_DEPTH_MAX;
    CHECK(code == (fits ? FNABI_OK : FNABI_DEPTH));
    CHECK(count == (fits ? 3 * depth + 1 : 3 * FNABI_SIP_EVENT_DEPTH_MAX));
    if (fits) {
      call c = {mangle, message + 1, message_size - 2, 0, 0};
      uint8_t* again = output_of(&c, &written, &error);
      char* begin = strchr(text, '!') + 1;
      CHECK(again != NULL && written == size - 3 - (size_t)(begin - text));
      CHECK(memcmp(again, begin, written) == 0);
      release(again);
    }
    release(message);
    free(text);
  }
}

/* Messages that nest too deep for the writers. */
static void test_depth_of_messages(void) {
  for (size_t depth = 127; depth < 131; depth++) {
    uint8_t message[8 * 131];
    size_t size = 0, written;
    fnabi_error error;
    message[size++] = 0x92;
    for (size_t i = 0; i < depth; i++) {
      memcpy(message + size, "\x92\x02\x91\x92\x00", 5);
      size += 5;
    }
    memcpy(message + size, "\x92\x01\x00\xC0", 4);
    size += 4;
    call c = {encode, message, size, 0, 0};
    uint8_t* text = output_of(&c, &written, &error);
    CHECK((text != NULL) == (depth <= FNABI_DEPTH_MAX));
    if (text != NULL)
      release(text);
    else
      CHECK(error.code == FNABI_DEPTH);
  }
  size_t depth = FNABI_SIP_EVENT_DEPTH_MAX + 1, written;
  uint8_t* message = __real_malloc(5 + 6 * depth);
  CHECK(message != NULL);
  memcpy(message, "\xDD\0\0\x80\2", 5);
  for (size_t i = 0; i < depth; i++) {
    memcpy(message + 5 + 3 * i, "\x92\x01\xC0", 3);
    memcpy(message + 5 + 3 * (depth + i), "\x92\x06\xC0", 3);
  }
  fnabi_error error;
  call c = {mangle, message, 5 + 6 * depth, 0, 0};
  CHECK(output_of(&c, &written, &error) == NULL);
  CHECK(error.code == FNABI_DEPTH && strcmp(error.path, "[16384]") == 0);
  free(message);
}

/* Runs a call with `capacity` bytes; returns the number of allocations
 * and the size of the largest. Each of them, refused, fails the call. */
static void check_allocations(const call* c, size_t capacity, size_t expected,
                              size_t most) {
  uint8_t* out = __real_malloc(capacity + 1);
  CHECK(out != NULL);
  fnabi_error error;
  allocations = largest = 0;
  CHECK(c->run(c, out, capacity, &error) >= 0);
  CHECK(allocations == expected && largest <= most);
  for (size_t refuse = 0; refuse < expected; refuse++) {
    allocations = 0;
    refused_from = refuse;
    CHECK(c->run(c, out, capacity, &error) == -1);
    refused_from = SIZE_MAX;
    CHECK(allocations > refuse && error.code == FNABI_MEMORY);
  }
  free(out);
}

static void test_allocations(void) {
  static const char ascending[] = "I12!S9!k0_0k1_1R22!D18!K1!_0K2!a_1K2!b_2";
  static const char falling[] = "I12!S9!k1_0k0_1R22!D18!K2!b_0K2!a_1K1!_2";
  size_t size, message_size, count;
  int32_t code;
  fnabi_error error;
  const size_t n = sizeof falling - 1, capacity = 1000;
  call c = {decode, ascending, n, 0, 0};
  check_allocations(&c, capacity, 0, 0);
  check_allocations(&c, 0, 0, 0);
  c.data = falling;
  check_allocations(&c, capacity, 2, 8 * n);
  check_allocations(&c, 0, 2, 8 * n);

  uint8_t* message = output_of(&c, &message_size, &error);
  call back = {encode, message, message_size, 0, 0};
  check_allocations(&back, capacity, 2, 8 * n);
  check_allocations(&back, 0, 3, 8 * n);
  release(message);
  c.data = ascending;
  message = output_of(&c, &message_size, &error);
  back.data = message;
  check_allocations(&back, capacity, 0, 0);
  check_allocations(&back, 0, 0, 0);
  release(message);

  static const struct {
    size_t depth, allocations;
  } levels[] = {{1, 0}, {64, 0}, {65, 1}, {128, 1}, {129, 2}, {16384, 8}};
  for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
    size_t depth = levels[i].depth;
    char* text = nested(depth, &size);
    call first = {visit, text, size, 0, 'I'};
    check_allocations(&first, 0, levels[i].allocations, 16 * depth);
    message = events_of(text, size, 'I', &message_size, &count, &code);
    call second = {mangle, message + 1, message_size - 2, 0, 0};
    check_allocations(&second, 0, 2 * levels[i].allocations, 16 * depth);
    check_allocations(&second, size, 2 * levels[i].allocations, 16 * depth);
    release(message);
    free(text);
  }
}

/* Many long keys in descending order: sorting them is not quadratic. */
static void test_many_keys(void) {
  const size_t keys = 200000;
  char* text = __real_malloc(20 * keys + 40);
  CHECK(text != NULL);
  for (int twice = 0; twice < 2; twice++) {
    char* contents = text + 40;
    size_t size = 0, place = 0;
    for (size_t i = keys; i > 0; i--) {
      if (i == 1) place = size;
      size += (size_t)sprintf(contents + size, "k%zu_0", i + (twice && i == 1));
    }
    char head[64];
    int inner = sprintf(head, "S%zu!", size + 1);
    int outer = sprintf(head, "I%zu!S%zu!", size + (size_t)inner + 1, size + 1);
    char* begin = contents - outer;
    memcpy(begin, head, (size_t)outer);
    memcpy(contents + size, "R1!", 3);
    fnabi_error error;
    CHECK(round_trip(&format, begin, (size_t)outer + size + 3, &error) ==
          !twice);
    if (twice) {
      CHECK(error.code == FNABI_SIP_DUPLICATE);
      CHECK(error.offset == (size_t)outer + place);
    }
  }
  free(text);
}

int main(void) {
  test_decode();
  test_visit_and_mangle();
  test_errors();
  test_visit();
  test_writers_refuse();
  test_writers_take_all_widths();
  test_damaged_messages();
  test_damaged_texts();
  test_all_of_two_bytes();
  test_random();
  test_depth();
  test_depth_of_messages();
  test_allocations();
  test_many_keys();
  return 0;
}
