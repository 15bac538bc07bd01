/* A text decodes to a message that encodes to a text of the same message, or
 * its error lies inside it; what is visited without an error is mangled to a
 * text of the same events; a message is refused, or gives a text that decodes.
 */
#include "codec.h"
#include "fuzz.h"

DEFINE_WRITER(decode, fnabi_sip_decode)
DEFINE_WRITER(encode, fnabi_sip_encode)

static int64_t visit(const call* c, uint8_t* out, size_t capacity,
                     fnabi_error* error) {
  return fnabi_sip_visit(c->data, c->size, c->tag, out, capacity, error);
}

DEFINE_WRITER(mangle, fnabi_sip_mangle)

static const codec format = {decode, encode, 0, NULL};

/* The events of one side, and the events of the text that they are mangled to;
 * integers below 0 cannot be. Those of a sound text have no error. */
static void check_side(const uint8_t* text, size_t size, int32_t side,
                       bool sound) {
  size_t message_size, contents_size, again_size;
  fnabi_error error;
  call first = {visit, text, size, 0, side};
  uint8_t* message = output_of(&first, &message_size, &error);
  CHECK(message != NULL);
  bool good = message[message_size - 1] == FNABI_OK;
  CHECK(good || !sound);
  call second = {mangle, message + 1, message_size - 2, 0, 0};
  uint8_t* contents = output_of(&second, &contents_size, &error);
  if (contents == NULL) {
    CHECK(!sound && error.code == FNABI_SIP_NEGATIVE);
  } else if (good) {
    char* whole = exact(NULL, contents_size + 32);
    size_t whole_size = put_span(whole, (char)side, contents, contents_size);
    char* only = exact(whole, whole_size);
    call third = {visit, only, whole_size, 0, side};
    uint8_t* again = output_of(&third, &again_size, &error);
    CHECK(again != NULL && again_size == message_size);
    CHECK(memcmp(again, message, message_size) == 0);
    release(again);
    release(only);
    release(whole);
  }
  if (contents != NULL) release(contents);
  release(message);
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  size_t text_size;
  fnabi_error error;
  bool sound = round_trip(&format, bytes, size, &error);
  check_side(bytes, size, 'I', sound);
  check_side(bytes, size, 'R', sound);
  takes_message(&format, bytes, size, &error);
  uint8_t* text = write_message(mangle, bytes, size, &text_size, &error);
  if (text != NULL) release(text);
  return 0;
}
