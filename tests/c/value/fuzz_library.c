/* A library is refused with an error inside it, or all of it decodes. */
#include "value/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  fnabi_error error;
  library_takes(bytes, size, &error);
  return 0;
}
