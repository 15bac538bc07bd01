/* Which releases load a module is decided; then with bytes of the module and of
 * its executables set to other values, and cut, it is decided or fails inside
 * the input. */
#include "check.h"
#include "elf/executable.h"
#include "vmfb/releases.h"
#include "vmfb/vmfb.h"

static int64_t runs_on(const char* data, size_t size, uint8_t* out,
                       size_t capacity, fnabi_error* error) {
  return fnabi_vmfb_runs_on(data, size, "local-task", 10, NULL, 0, out,
                            capacity, error);
}
DEFINE_WRITER(verdict, runs_on)

enum { STEP = 61 };

static const char* const names[] = {"mm_llvm-cpu", "mm_vmvx", "params_vulkan",
                                    "storage_vmvx", "types_vmvx"};

static char* read_needs(const char* name, size_t* size) {
  char path[256];
  snprintf(path, sizeof path, "../tests/data/needs/%s.vmfb", name);
  return read_file(path, size);
}

static int32_t decide(const char* data, size_t size) {
  fnabi_error error;
  size_t written;
  call c = {verdict, data, size, 0, 0};
  uint8_t* message = output_of(&c, &written, &error);
  if (message == NULL) {
    check_error(&error, size);
    return error.code;
  }
  release(message);
  return FNABI_OK;
}

static void check_edits(const char* name) {
  size_t size;
  char* data = read_needs(name, &size);
  call c = {verdict, data, size, 0, 0};
  check_capacities(&c);
  CHECK(decide(data, size) == FNABI_OK);
  for (size_t at = 0; at < size; at++) {
    char kept = data[at];
    for (int value = (int)at % STEP; value < 256; value += STEP) {
      data[at] = (char)value;
      decide(data, size);
    }
    data[at] = kept;
  }
  for (size_t cut = 0; cut < size; cut += 31) {
    char* part = exact(data, cut);
    decide(part, cut);
    release(part);
  }
  release(data);
}

/* The first ELF file in a module. */
static char* executable(size_t* size) {
  size_t all;
  char* data = read_needs("mm_llvm-cpu", &all);
  for (size_t at = 0; at + 4 < all; at++)
    if (memcmp(data + at, "\x7F\x45\x4C\x46", 4) == 0) {
      *size = all - at;
      char* part = exact(data + at, *size);
      release(data);
      return part;
    }
  CHECK(false);
  return NULL;
}

static void check_executables(void) {
  size_t size;
  fnabi_executable found;
  char* data = executable(&size);
  CHECK(fnabi_elf_executable((uint8_t*)data, size, &found));
  CHECK(found.machine == 62 && found.version == 6);
  for (size_t at = 0; at < size; at++) {
    char kept = data[at];
    for (int value = (int)at % STEP; value < 256; value += STEP) {
      data[at] = (char)value;
      bool good = fnabi_elf_executable((uint8_t*)data, size, &found);
      CHECK(!good || (found.version >= -1 && found.version < 4096));
    }
    data[at] = kept;
  }
  for (size_t cut = 0; cut < size; cut++) {
    char* part = exact(data, cut);
    fnabi_elf_executable((uint8_t*)part, cut, &found);
    release(part);
  }
  release(data);
}

static void check_tables(void) {
  const fnabi_release_rows* tables[] = {
      &fnabi_release_modules, &fnabi_release_functions, &fnabi_release_types};
  CHECK(fnabi_release_count <= FNABI_RELEASES);
  for (size_t i = 0; i < 3; i++) /* binary search needs the order */
    for (size_t k = 1; k < tables[i]->count; k++)
      CHECK(strcmp(tables[i]->rows[k - 1].name, tables[i]->rows[k].name) <= 0);
}

int main(void) {
  check_tables();
  check_executables();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    check_edits(names[i]);
  return 0;
}
