/* Any bytes, and an executable with some bytes replaced, as the library inside
 * a module: it is refused, or its machine is the one in its header and its
 * version is one that code can compare with. The first two bytes are the size
 * of the executable, where they are not 0; then come edits of 3 bytes: an
 * offset, and the byte to put there. */
#include "elf/executable.h"
#include "fuzz.h"

enum { MACHINE = 18, VERSIONS = 1 << 12 };

/* The ELF file in a module, and a little of what follows. */
static char* read_executable(size_t* size) {
  size_t all;
  char* data = read_file("../tests/data/needs/mm_llvm-cpu.vmfb", &all);
  size_t at = 0;
  while (memcmp(data + at, "\x7F\x45\x4C\x46", 4) != 0) at++;
  *size = all - at;
  char* executable = exact(data + at, *size);
  release(data);
  return executable;
}

static bool check_executable(const uint8_t* data, size_t size) {
  fnabi_executable found, again;
  if (!fnabi_elf_executable(data, size, &found)) return false;
  CHECK(size > MACHINE + 1 &&
        found.machine == (data[MACHINE] | data[MACHINE + 1] << 8));
  CHECK(found.version >= -1 && found.version < VERSIONS);
  CHECK(fnabi_elf_executable(data, size, &again));
  CHECK(again.version == found.version);
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static char* executable;
  static size_t whole;
  input in = {bytes, size};
  if (executable == NULL) {
    executable = read_executable(&whole);
    CHECK(check_executable((uint8_t*)executable, whole));
  }
  check_executable(bytes, size);
  size_t cut = take(&in, 2);
  if (cut == 0 || cut > whole) cut = whole;
  uint8_t* data = exact(executable, cut);
  while (in.size >= 3) {
    uint32_t offset = take(&in, 2);
    data[offset % cut] = (uint8_t)take(&in, 1);
  }
  check_executable(data, cut);
  release(data);
  return 0;
}
