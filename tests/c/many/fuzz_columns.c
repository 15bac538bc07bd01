/* The first byte chooses an ABI; then come lines. The fast decoders, the
 * reference and the decoders of single texts agree about each of them. */
#include "many/decoders.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  char* text = exact(bytes + 1, size - 1);
  check_lines(bytes[0] % FNABI_ABI_COUNT, text, size - 1);
  release(text);
  return 0;
}
