/* A text decodes to a message that encodes to a text of the same message, or
 * its error lies inside it; a message encodes to a text that decodes. */
#include "codec.h"
#include "fuzz.h"

DEFINE_WRITER(decode, fnabi_iree_abi_decode)
DEFINE_WRITER(encode, fnabi_iree_abi_encode)

static const codec format = {decode, encode, 0, NULL};

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  fnabi_error error;
  round_trip(&format, bytes, size, &error);
  takes_message(&format, bytes, size, &error);
  return 0;
}
