/* A text decodes to a message that encodes to a text of the same message, or
 * its error lies inside it; what is visited without an error is mangled to a
 * text of the same events; a message is refused, or gives a text that decodes.
 */
#include "check.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

static int64_t decode(const call* c, uint8_t* out, size_t capacity,
                      fnabi_error* error) {
  return fnabi_sip_decode(c->data, c->size, out, capacity, error);
}

static int64_t encode(const call* c, uint8_t* out, size_t capacity,
                      fnabi_error* error) {
  return fnabi_sip_encode(c->data, c->size, out, capacity, error);
}

static int64_t visit(const call* c, uint8_t* out, size_t capacity,
                     fnabi_error* error) {
  return fnabi_sip_visit(c->data, c->size, c->tag, out, capacity, error);
}

static int64_t mangle(const call* c, uint8_t* out, size_t capacity,
                      fnabi_error* error) {
  return fnabi_sip_mangle(c->data, c->size, out, capacity, error);
}

/* The message of a text, and the message of the text of that message. */
static bool check_text(const uint8_t* text, size_t size) {
  size_t message_size, text_size, again_size;
  fnabi_error error;
  call first = {decode, text, size, 0, 0};
  uint8_t* message = answer(&first, &message_size, &error);
  if (message == NULL) {
    check_error(&error, size);
    return false;
  }
  call second = {encode, message, message_size, 0, 0};
  uint8_t* canonical = answer(&second, &text_size, &error);
  CHECK(canonical != NULL && text_size <= size);
  call third = {decode, canonical, text_size, 0, 0};
  uint8_t* again = answer(&third, &again_size, &error);
  CHECK(again != NULL && again_size == message_size);
  CHECK(memcmp(again, message, message_size) == 0);
  release(again);
  release(canonical);
  release(message);
  return true;
}

/* The events of one side, and the events of the text that they are mangled to;
 * integers below 0 cannot be. Those of a sound text have no error. */
static void check_side(const uint8_t* text, size_t size, int32_t side,
                       bool sound) {
  size_t message_size, contents_size, again_size;
  fnabi_error error;
  call first = {visit, text, size, 0, side};
  uint8_t* message = answer(&first, &message_size, &error);
  CHECK(message != NULL);
  bool good = message[message_size - 1] == FNABI_OK;
  CHECK(good || !sound);
  call second = {mangle, message + 1, message_size - 2, 0, 0};
  uint8_t* contents = answer(&second, &contents_size, &error);
  if (contents == NULL) {
    CHECK(!sound && error.code == FNABI_SIP_NEGATIVE);
  } else if (good) {
    char head[32];
    size_t head_size =
        (size_t)sprintf(head, "%c%zu!", (int)side, contents_size + 1);
    uint8_t* whole = exact(NULL, head_size + contents_size);
    memcpy(whole, head, head_size);
    memcpy(whole + head_size, contents, contents_size);
    call third = {visit, whole, head_size + contents_size, 0, side};
    uint8_t* again = answer(&third, &again_size, &error);
    CHECK(again != NULL && again_size == message_size);
    CHECK(memcmp(again, message, message_size) == 0);
    release(again);
    release(whole);
  }
  if (contents != NULL) release(contents);
  release(message);
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  size_t text_size;
  fnabi_error error;
  bool sound = check_text(bytes, size);
  check_side(bytes, size, 'I', sound);
  check_side(bytes, size, 'R', sound);

  call message = {encode, bytes, size, 0, 0};
  uint8_t* text = answer(&message, &text_size, &error);
  if (text == NULL) {
    check_error(&error, 0);
  } else {
    CHECK(check_text(text, text_size));
    release(text);
  }
  call events = {mangle, bytes, size, 0, 0};
  text = answer(&events, &text_size, &error);
  if (text == NULL)
    check_error(&error, 0);
  else
    release(text);
  return 0;
}
