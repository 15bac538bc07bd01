/* A text decodes to a message that encodes to a text of the same message, or
 * its error lies inside it; a message encodes to a text that decodes. */
#include "check.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

static int64_t decode(const call* c, uint8_t* out, size_t capacity,
                      fnabi_error* error) {
  return fnabi_iree_abi_decode(c->data, c->size, out, capacity, error);
}

static int64_t encode(const call* c, uint8_t* out, size_t capacity,
                      fnabi_error* error) {
  return fnabi_iree_abi_encode(c->data, c->size, out, capacity, error);
}

/* The message of a text, and the message of the text of that message. */
static void check_text(const uint8_t* text, size_t size, bool must) {
  size_t message_size, text_size, again_size;
  fnabi_error error;
  call first = {decode, text, size, 0, 0};
  uint8_t* message = answer(&first, &message_size, &error);
  if (message == NULL) {
    CHECK(!must);
    check_error(&error, size);
    return;
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
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  size_t text_size;
  fnabi_error error;
  check_text(bytes, size, false);
  call message = {encode, bytes, size, 0, 0};
  uint8_t* text = answer(&message, &text_size, &error);
  if (text == NULL) {
    check_error(&error, 0);
  } else {
    check_text(text, text_size, true);
    release(text);
  }
  return 0;
}
