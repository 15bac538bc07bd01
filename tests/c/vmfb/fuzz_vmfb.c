/* A file is refused with an error inside it, or all of it decodes; and of a
 * good file the bytes that are called enough are as good. */
#include "fuzz.h"
#include "vmfb/module.h"

static void check_extent(const uint8_t* bytes, size_t size) {
  uint64_t extent = fnabi_vmfb_extent((const char*)bytes, size);
  CHECK(extent <= size);
  char* start = exact(bytes, (size_t)extent);
  CHECK(module_verify(start, (size_t)extent, true));
  release(start);
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (check_module(bytes, size) != MODULE_INVALID) check_extent(bytes, size);
  return 0;
}
