/* The modules of the corpus, or those given as arguments, decode whole; then a
 * small one with every byte set to every value, and cut at every place. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>

#include "module.h"

/* as golden.json and malformed/expected.json have it */
enum { VALID = 50, VALID_MALFORMED = 37 };

static char* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  CHECK(file != NULL);
  CHECK(fseek(file, 0, SEEK_END) == 0);
  *size = (size_t)ftell(file);
  rewind(file);
  char* data = exact(NULL, *size);
  CHECK(fread(data, 1, *size, file) == *size);
  fclose(file);
  return data;
}

static bool check_file(const char* path) {
  size_t size;
  char* data = read_file(path, &size);
  bool valid = check_module(data, size);
  release(data);
  return valid;
}

/* Answers how many of its modules are valid. */
static int check_folder(const char* folder) {
  int valid = 0;
  char path[512];
  DIR* dir = opendir(folder);
  CHECK(dir != NULL);
  for (struct dirent* entry; (entry = readdir(dir)) != NULL;) {
    if (strstr(entry->d_name, ".vmfb") == NULL) continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    valid += check_file(path);
  }
  closedir(dir);
  return valid;
}

static void check_edits(const char* path) {
  size_t size;
  char* data = read_file(path, &size);
  for (size_t at = 0; at < size; at++) {
    char kept = data[at];
    for (int value = 0; value < 256; value++) {
      data[at] = (char)value;
      check_module(data, size);
    }
    data[at] = kept;
  }
  for (size_t cut = 0; cut <= size; cut++) {
    char* part = exact(data, cut);
    check_module(part, cut);
    release(part);
  }
  release(data);
}

static void check_messages(const char* path) {
  size_t size;
  char* data = read_file(path, &size);
  call head = {module_head, data, size, 0, 0};
  call exports = {module_exports, data, size, 0, 0};
  check_capacities(&head);
  check_capacities(&exports);
  for (int i = 0; i < MODULE_FIELDS; i++) {
    call field = {module_field, data, size, i, 0};
    check_capacities(&field);
  }
  release(data);
}

int main(int count, char** names) {
  fnabi_error error;
  CHECK(fnabi_module_verify(NULL, 0, &error) == -1);
  CHECK(error.code == FNABI_MODULE_SIZE && error.offset == 0);
  CHECK(fnabi_module_field(NULL, 0, MODULE_FIELDS, NULL, 0, &error) == -1);
  CHECK(error.code == FNABI_UNSUPPORTED);
  if (count > 1) {
    for (int i = 1; i < count; i++) check_file(names[i]);
    return 0;
  }
  CHECK(check_folder("../tests/data/vmfb") == VALID);
  CHECK(check_folder("../tests/data/vmfb/malformed") == VALID_MALFORMED);
  check_edits("../tests/data/vmfb/debug_kept.vmfb");
  check_messages("../tests/data/vmfb/raw_v0.vmfb");
  return 0;
}
