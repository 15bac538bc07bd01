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

static int64_t judge(const char* data, size_t size, uint8_t* out,
                     size_t capacity, fnabi_error* error) {
  return fnabi_runtime_verdict((const uint8_t*)data, size, "local-task", 10,
                               NULL, 0, out, capacity, error);
}
DEFINE_WRITER(verdict_of_demands, judge)
DEFINE_WRITER(demands, fnabi_vmfb_demands)

enum { STEP = 61 };

static const char* const names[] = {
    "needs/mm_llvm-cpu",      "needs/mm_vmvx",
    "needs/params_vulkan",    "needs/storage_vmvx",
    "needs/types_vmvx",       "arguments/calls@3.1.0",
    "arguments/calls@3.13.0", "bytecode_types/func_abi@3.0.0@vmvx"};

static char* read_module(const char* name, size_t* size) {
  char path[256];
  snprintf(path, sizeof path, "../tests/data/%s.vmfb", name);
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

/* Demands may come from a file, and may be anything. */
static void check_demands(const char* name) {
  size_t size, kept, written;
  fnabi_error error;
  char* data = read_module(name, &size);
  call first = {demands, data, size, 0, 0};
  char* message = (char*)output_of(&first, &kept, &error);
  call whole = {verdict, data, size, 0, 0};
  call recorded = {verdict_of_demands, message, kept, 0, 0};
  uint8_t* expected = output_of(&whole, &written, &error);
  size_t again;
  uint8_t* found = output_of(&recorded, &again, &error);
  CHECK(found != NULL && again == written);
  CHECK(memcmp(found, expected, written) == 0);
  release(found);
  release(expected);
  for (size_t at = 0; at < kept; at++) {
    char original = message[at];
    message[at] = (char)(STEP * at);
    int64_t needed = judge(message, kept, NULL, 0, &error);
    CHECK(needed >= 0 || error.code == FNABI_MESSAGE);
    CHECK(needed >= 0 || error.offset <= kept);
    message[at] = original;
  }
  for (size_t cut = 0; cut < kept; cut += 7) {
    char* part = exact(message, cut);
    call c = {verdict_of_demands, part, cut, 0, 0};
    CHECK(output_of(&c, &written, &error) == NULL);
    CHECK(error.code == FNABI_MESSAGE);
    release(part);
  }
  release(message);
  release(data);
}

static void check_edits(const char* name) {
  size_t size;
  char* data = read_module(name, &size);
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
  char* data = read_module("needs/mm_llvm-cpu", &all);
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

/* The version that a changed executable is read to have; -2 if it is refused. */
static int version_of(const char* data, size_t size) {
  fnabi_executable found;
  if (!fnabi_elf_executable((const uint8_t*)data, size, &found)) return -2;
  return found.version;
}

/* Compilers compare the version in one of four ways. */
static void check_comparisons(void) {
  static const struct {
    char machine;
    uint8_t code[5];
    size_t changed; /* the byte that makes it another instruction */
  } ways[] = {{62, {0x83, 0xFF, 7}, 1},               /* cmp edi, 7 */
              {62, {0x83, 0x7D, 0xF8, 7}, 1},         /* cmp [rbp - 8], 7 */
              {62, {0x83, 0x7C, 0x24, 0xF8, 7}, 2},   /* cmp [rsp - 8], 7 */
              {(char)183, {0x1F, 0x1C, 0, 0x71}, 3}}; /* cmp w0, 7 */
  size_t size, at = 0;
  char* data = executable(&size);
  while (memcmp(data + at, "\x83\xFF\x06", 3) != 0) at++;
  char* place = data + at / 4 * 4; /* functions begin at multiples of 16 */
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    char kept[16];
    memcpy(kept, place, sizeof kept);
    memset(place, 0, 12);
    memcpy(place, ways[i].code, sizeof ways[i].code);
    data[18] = ways[i].machine;
    CHECK(version_of(data, size) == 7);
    place[ways[i].changed] = 1;
    CHECK(version_of(data, size) == -1);
    data[18] = 62;
    memcpy(place, kept, sizeof kept);
  }
  CHECK(version_of(data, size) == 6);
  data[18] = ways[3].machine;
  size_t found = 0; /* among the first 64 bytes of the function */
  for (char* word = place - 64; word < place + 64; word += 4) {
    char kept[4];
    memcpy(kept, word, sizeof kept);
    memcpy(word, ways[3].code, sizeof kept);
    if (version_of(data, size) == 7) found++;
    memcpy(word, kept, sizeof kept);
  }
  CHECK(found == 64 / 4);
  data[18] = 62;
  /* no headers of segments, or of sections */
  static const struct {
    size_t at, size;
  } empty[] = {{32, 8}, {56, 2}, {40, 8}, {60, 2}};
  for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
    char kept[8];
    memcpy(kept, data + empty[i].at, empty[i].size);
    memset(data + empty[i].at, 0, empty[i].size);
    CHECK(version_of(data, size) == -2);
    memcpy(data + empty[i].at, kept, empty[i].size);
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

static void check_sizes(void) {
  size_t size, kept;
  fnabi_error error;
  char* data = read_module("needs/mm_vmvx", &size);
  call first = {demands, data, size, 0, 0};
  check_capacities(&first);
  char* message = (char*)output_of(&first, &kept, &error);
  call second = {verdict_of_demands, message, kept, 0, 0};
  check_capacities(&second);
  release(message);
  release(data);
}

int main(void) {
  check_tables();
  check_executables();
  check_comparisons();
  check_sizes();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    check_edits(names[i]);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    check_demands(names[i]);
  return 0;
}
