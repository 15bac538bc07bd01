/* Lines of an ABI: the fast decoders, the reference and the decoders of single
 * texts agree about each of them; and columns, their texts and their Arrow data
 * have the same contents.
 *
 * The first byte chooses the ABI and the second what is checked: all of it at
 * once takes 20 times as long. */
#include "fuzz.h"
#include "many/decoders.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size < 2) return 0;
  char* text = exact(bytes + 2, size - 2);
  check_lines_for(bytes[0] % FNABI_ABI_COUNT, bytes[1] % CHECKS, text,
                  size - 2);
  release(text);
  return 0;
}
