/* A text decodes to a message that encodes to a text of the same message, and
 * its buffers can be laid out, or its error lies inside it; a message encodes
 * to a text that decodes. */
#include "check.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

static int64_t decode(const call* c, uint8_t* out, size_t capacity,
                      fnabi_error* error) {
  return fnabi_cconv_decode(c->data, c->size, out, capacity, error);
}

static int64_t encode(const call* c, uint8_t* out, size_t capacity,
                      fnabi_error* error) {
  return fnabi_cconv_encode(c->data, c->size, out, capacity, error);
}

/* The offsets ascend and lie inside the buffer. */
static void check_layout(const char* text, size_t size, int32_t buffer) {
  size_t spans = 0;
  for (size_t i = 0; i < size; i++) spans += text[i] == 'C';
  if (buffer & FNABI_CCONV_RESULTS) spans = 0;
  int32_t* counts = calloc(spans + 1, sizeof *counts);
  CHECK(counts != NULL);
  for (size_t i = 0; i < spans; i++) counts[i] = (int32_t)(size + i) % 4;
  fnabi_error error;
  int64_t bytes = fnabi_cconv_size(text, size, buffer, counts, spans, &error);
  int64_t count =
      fnabi_cconv_offsets(text, size, buffer, counts, spans, NULL, 0, &error);
  CHECK(bytes >= 0 && count >= 0);
  int64_t* offsets = calloc((size_t)count + 1, sizeof *offsets);
  CHECK(offsets != NULL);
  CHECK(fnabi_cconv_offsets(text, size, buffer, counts, spans, offsets,
                            (size_t)count, &error) == count);
  for (int64_t i = 0; i < count; i++) {
    CHECK(i == 0 || offsets[i] >= offsets[i - 1] + 4);
    CHECK(offsets[i] <= bytes - 4);
  }
  free(offsets);
  free(counts);
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
  CHECK(canonical != NULL);
  call third = {decode, canonical, text_size, 0, 0};
  uint8_t* again = answer(&third, &again_size, &error);
  CHECK(again != NULL && again_size == message_size);
  CHECK(memcmp(again, message, message_size) == 0);
  for (int32_t buffer = 0; buffer < 4; buffer++)
    check_layout((const char*)text, size, buffer);
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
