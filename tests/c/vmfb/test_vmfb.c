/* The modules of the corpus, or those given as arguments, decode whole; then
 * six small ones with every byte set to every value, and cut at every place.
 * The first of the six is edited whole, of the others each byte takes some of
 * its values, others in each place; `test_vmfb edits` takes all of them. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>

#include "vmfb/module.h"
#include "vmfb/vmfb.h"

/* as golden.json and malformed/expected.json have it */
enum { VALID = 50, LENIENT = 6, VALID_MALFORMED = 37 };

enum { SAMPLE = 37 };
static const char* const edited[] = {"debug_kept",       "debug_kept@2.9.0",
                                     "attr_text@2.9.0",  "vm_globals",
                                     "vm_imports_plain", "raw_v0"};
static size_t inputs[3];

/* fnabi_vmfb_extent reports how many bytes are needed; they decode to the same
 * result as the whole file. */
static void check_extent(const char* data, size_t size) {
  fnabi_error all = {0}, first = {0};
  char* part = exact(NULL, 0);
  size_t known = 0;
  for (int steps = 0;; steps++) {
    uint64_t extent = fnabi_vmfb_extent(part, known);
    CHECK(steps < 5);
    if (extent <= known || known == size) break;
    known = extent < size ? (size_t)extent : size;
    release(part);
    part = exact(data, known);
  }
  CHECK(fnabi_vmfb_verify(part, known, true, &first) ==
        fnabi_vmfb_verify(data, size, true, &all));
  CHECK(first.code == all.code && first.offset == all.offset);
  release(part);
}

/* Also of a FlatBuffer whose size is too small for its head. */
static void check_small_extent(void) {
  static const char module[] = "\2\0\0\0\0\0\0\0IREE\0\0\0";
  check_extent(module, sizeof module);
  CHECK(fnabi_vmfb_extent(module, sizeof module) == 12);
}

static int check_file(const char* path) {
  size_t size;
  char* data = read_file(path, &size);
  check_extent(data, size);
  int kind = check_module(data, size);
  release(data);
  return kind;
}

static void check_folder(const char* folder, int valid, int lenient) {
  int found[3] = {0};
  char path[512];
  DIR* dir = opendir(folder);
  CHECK(dir != NULL);
  for (struct dirent* entry; (entry = readdir(dir)) != NULL;) {
    if (strstr(entry->d_name, ".vmfb") == NULL) continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    found[check_file(path)]++;
  }
  closedir(dir);
  CHECK(found[MODULE_VALID] == valid && found[MODULE_LENIENT] == lenient);
}

/* Sets each byte to every `step`th value. */
static void check_edits(const char* path, int step) {
  size_t size;
  char* data = read_file(path, &size);
  for (size_t at = 0; at < size; at++) {
    char kept = data[at];
    for (int value = (int)at % step; value < 256; value += step) {
      data[at] = (char)value;
      inputs[check_module(data, size)]++;
    }
    data[at] = kept;
  }
  for (size_t cut = 0; cut <= size; cut++) {
    char* part = exact(data, cut);
    inputs[check_module(part, cut)]++;
    release(part);
  }
  release(data);
}

static void check_messages(const char* path) {
  size_t size;
  char* data = read_file(path, &size);
  call head = {module_head, data, size, 0, 0};
  call exports = {module_exports, data, size, 0, 0};
  call findings = {module_check, data, size, 0, 0};
  check_capacities(&head);
  check_capacities(&exports);
  check_capacities(&findings);
  for (int i = 0; i < MODULE_FIELDS; i++) {
    call field = {module_field, data, size, i, 0};
    check_capacities(&field);
  }
  release(data);
}

/* What a file of another kind is, is found; of an unknown one nothing. */
static void check_kinds(void) {
  static const char elf[64] =
      "\x7f"
      "ELF",
                    unknown[64] = "\x01";
  fnabi_error error;
  CHECK(fnabi_vmfb_verify(elf, sizeof elf, false, &error) == -1);
  CHECK(error.code == FNABI_MODULE_IDENTIFIER);
  CHECK(strcmp(error.expected, "a .vmfb module") == 0);
  CHECK(strncmp(error.found, "an ELF file", 11) == 0);
  CHECK(fnabi_vmfb_verify(unknown, sizeof unknown, false, &error) == -1);
  CHECK(error.code == FNABI_MODULE_IDENTIFIER);
  CHECK(strcmp(error.expected, "\"IREE\"") == 0 && error.found == NULL);
}

/* An image of HRX's VM of any version, cut anywhere. */
static void check_successor(void) {
  static const char image[16] = "IREEVM\0\0\x02\x01\xff\xff";
  fnabi_error error;
  for (size_t size = 8; size <= sizeof image; size++) {
    CHECK(fnabi_vmfb_verify(image, size, false, &error) == -1);
    CHECK(error.code == FNABI_MODULE_SUCCESSOR && error.offset == 8);
    CHECK(strcmp(error.path, size < 12 ? "" : "core version 258.65535") == 0);
  }
  CHECK(fnabi_vmfb_verify(image, 7, false, &error) == -1);
  CHECK(error.code == FNABI_MODULE_SIZE);
}

/* A module of the old schema, of which the version is where it was, and is one
 * of its versions; otherwise it is damaged. */
static void check_old(void) {
  size_t size;
  fnabi_error error;
  char* data = read_file("../tests/data/needs/add_vmvx@20230209.vmfb", &size);
  size_t start = 64;
  while (memcmp(data + start + 8, "IREE", 4) != 0) start++;
  size_t root = 4 + (uint8_t)data[start + 4] + 256u * (uint8_t)data[start + 5];
  int32_t back;
  memcpy(&back, data + start + root, 4);
  size_t entry = root - (size_t)back + 4 + 2 * 11;
  size_t at = root + (uint8_t)data[start + entry];
  const struct {
    size_t place, size;
    uint32_t value;
    bool old;
  } edits[] = {
      {at, 4, 14u << 16, true},
      {at, 4, 1u << 16, true},
      {at, 4, 0, false},
      {at, 4, 15u << 16, false},
      {at, 4, 14u << 16 | 1, false},
      {entry, 2, 0xFFFC, false},
  };
  for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
    char kept[4];
    memcpy(kept, data + start + edits[i].place, edits[i].size);
    memcpy(data + start + edits[i].place, &edits[i].value, edits[i].size);
    CHECK(fnabi_vmfb_verify(data, size, false, &error) == -1);
    CHECK((error.code == FNABI_MODULE_SCHEMA) == edits[i].old);
    memcpy(data + start + edits[i].place, kept, edits[i].size);
  }
  uint32_t outside = UINT32_MAX - 15; /* the root */
  memcpy(data + start + 4, &outside, 4);
  CHECK(fnabi_vmfb_verify(data, size, false, &error) == -1);
  check_error_is(&error, FNABI_MODULE_OFFSET, start + 4, "");
  release(data);
}

/* The parts of the smallest roots of the old schema may overlap others. */
static void check_small_old(void) {
  static const struct {
    int size, root, vtable, vtable_size, version;
    bool old;
  } roots[] = {
      {36, 16, 0, 32, 4, true},   /* the size prefix is that of the vtable */
      {40, 16, 0, 36, 4, false},  /* and is larger than a vtable */
      {40, 16, 12, 27, 4, false}, /* which lacks the version */
      {40, 16, 12, 28, 4, true},  /* the vtable is at the end */
      {40, 16, 13, 28, 4, false}, /* after it */
      {40, 16, -1, 28, 4, false}, /* before the buffer */
      {40, 37, 12, 28, 4, false}, /* the root is after the end */
      {48, 16, 12, 28, 0, false}, /* no version */
      {48, 16, 12, 28, 28, true}, /* the version is at the end */
      {48, 16, 12, 28, 29, false},
  };
  for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
    fnabi_error error;
    const int root = roots[i].root, vtable = roots[i].vtable;
    uint8_t all[64] = {0};
    all[0] = (uint8_t)(roots[i].size - 4);
    all[4] = (uint8_t)(root - 4);
    memcpy(all + 8, "IREE", 4);
    if (vtable >= 0) all[vtable] = (uint8_t)roots[i].vtable_size;
    all[vtable + 26] = (uint8_t)roots[i].version;
    all[root] = (uint8_t)(root - vtable);
    all[root + roots[i].version + 2] = 14;
    char* data = exact(all, (size_t)roots[i].size);
    CHECK(fnabi_vmfb_verify(data, (size_t)roots[i].size, false, &error) == -1);
    CHECK((error.code == FNABI_MODULE_SCHEMA) == roots[i].old);
    release(data);
  }
}

int main(int count, char** names) {
  fnabi_error error;
  bool all = count == 2 && strcmp(names[1], "edits") == 0;
  CHECK(fnabi_vmfb_verify(NULL, 0, false, &error) == -1);
  CHECK(error.code == FNABI_MODULE_SIZE && error.offset == 0);
  CHECK(fnabi_vmfb_field(NULL, 0, MODULE_FIELDS, NULL, 0, &error) == -1);
  CHECK(error.code == FNABI_UNSUPPORTED);
  if (count > 1 && !all) {
    for (int i = 1; i < count; i++) check_file(names[i]);
    return 0;
  }
  check_small_extent();
  check_kinds();
  check_old();
  check_small_old();
  check_successor();
  check_folder("../tests/data/vmfb", VALID, LENIENT);
  check_folder("../tests/data/vmfb/malformed", VALID_MALFORMED, 0);
  for (size_t i = 0; i < sizeof edited / sizeof *edited; i++) {
    char path[64];
    snprintf(path, sizeof path, "../tests/data/vmfb/%s.vmfb", edited[i]);
    check_edits(path, i == 0 || all ? 1 : SAMPLE);
  }
  check_messages("../tests/data/vmfb/attr_text@2.9.0.vmfb");
  check_messages("../tests/data/vmfb/raw_v0.vmfb");
  printf("%zu edited modules read, %zu of them leniently, %zu refused\n",
         inputs[MODULE_VALID] + inputs[MODULE_LENIENT], inputs[MODULE_LENIENT],
         inputs[MODULE_INVALID]);
  return 0;
}
