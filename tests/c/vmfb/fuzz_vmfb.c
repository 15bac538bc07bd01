/* A file is refused with an error inside it, or all of it decodes. */
#include "fuzz.h"
#include "vmfb/module.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  check_module(bytes, size);
  return 0;
}
