/* A library decodes, or the offset of the error is inside the file. */
#include "elf/elf.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  fnabi_error error;
  library_takes(bytes, size, &error);
  return 0;
}
