/* A text has a result that contains it, or an error inside it, whatever is
 * known of its values; and what is known decides between readings only. */
#include "fuzz.h"

static int64_t decode(const call* c, uint8_t* out, size_t capacity,
                      fnabi_error* error) {
  const char* letters = c->tag == 0 ? NULL : "iIfFrrrriIfFrrrr";
  return fnabi_declaration_decode(c->data, c->size, c->number, letters,
                                  c->number, letters, out, capacity, error);
}

/* Whether the last but one element is the text. */
static bool holds(const uint8_t* message, size_t message_size,
                  const uint8_t* text, size_t size) {
  if (size == 0) return true;
  for (size_t ambiguity = 1; ambiguity <= 6; ambiguity++)
    if (message_size >= size + ambiguity &&
        memcmp(message + message_size - ambiguity - size, text, size) == 0)
      return true;
  return false;
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  bool readable = false;
  for (int64_t count = -1; count <= 6; count++)
    for (int32_t letters = 0; letters < 2; letters++) {
      fnabi_error error;
      size_t written;
      call c = {decode, bytes, size, count, letters};
      uint8_t* out = output_of(&c, &written, &error);
      if (count == -1 && letters == 0) readable = out != NULL;
      CHECK(readable == (out != NULL));
      if (out == NULL) {
        check_error(&error, size);
      } else {
        CHECK(holds(out, written, bytes, size));
        release(out);
      }
    }
  return 0;
}
