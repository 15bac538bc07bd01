/* A text decodes to a message that encodes to a text of the same message, and
 * its buffers can be laid out, or its error lies inside it; a message encodes
 * to a text that decodes. */
#include "codec.h"
#include "fuzz.h"

DEFINE_WRITER(decode, fnabi_cconv_decode)
DEFINE_WRITER(encode, fnabi_cconv_encode)

/* The offsets ascend and are inside the buffer. */
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

static void check_layouts(const char* text, size_t size) {
  for (int32_t buffer = 0; buffer < 4; buffer++)
    check_layout(text, size, buffer);
}

static const codec format = {decode, encode, 4, check_layouts};

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  fnabi_error error;
  round_trip(&format, bytes, size, &error);
  takes_message(&format, bytes, size, &error);
  return 0;
}
