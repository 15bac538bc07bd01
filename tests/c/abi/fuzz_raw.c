/* A text decodes to a message that encodes to a text of the same message, or
 * its error lies inside it; a message encodes to a text that decodes. */
#include "codec.h"
#include "fuzz.h"

DEFINE_WRITER(decode, fnabi_raw_decode)
DEFINE_WRITER(encode, fnabi_raw_encode)

static int64_t visit(const call* c, uint8_t* out, size_t capacity,
                     fnabi_error* error) {
  (void)error;
  return fnabi_raw_visit(c->data, c->size, c->tag, out, capacity);
}

static const codec format = {decode, encode, 0, NULL};

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  size_t visited_size;
  fnabi_error error;
  round_trip(&format, bytes, size, &error);
  for (int i = 0; i < 2; i++) {
    call side = {visit, bytes, size, 0, "IR"[i]};
    uint8_t* visited = output_of(&side, &visited_size, &error);
    CHECK(visited != NULL);
    release(visited);
  }
  takes_message(&format, bytes, size, &error);
  return 0;
}
