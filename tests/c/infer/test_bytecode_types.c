/* Types from bytecode: of real modules, and of those with one byte edited; and
 * without memory. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>

#include "allocations.h"
#include "infer/any_bytecode_types.h"

#define FOLDER "../tests/data/bytecode_types/"

static size_t edits;

static void check_folder(const char* folder, bool malformed) {
  char path[512];
  DIR* dir = opendir(folder);
  CHECK(dir != NULL);
  for (struct dirent* entry; (entry = readdir(dir)) != NULL;) {
    if (strstr(entry->d_name, ".vmfb") == NULL) continue;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    char* data = read_file(path, &size);
    int32_t code = check_types(data, size);
    CHECK(malformed || code == FNABI_OK);
    release(data);
  }
  closedir(dir);
}

static void check_written(const char* path) {
  size_t size;
  char* data = read_file(path, &size);
  call c = {bytecode_signatures, data, size, 0, 0};
  check_capacities(&c);
  release(data);
}

/* Every byte of the functions and of their descriptors with other values. */
static void check_edits(const char* path, int step) {
  fnabi_bytecode b;
  fnabi_error error;
  size_t size;
  char* data = read_file(path, &size);
  CHECK(fnabi_bytecode_open(&b, data, size, &error));
  for (size_t i = 0; i < b.function_count; i++) {
    const fnabi_function* f = &b.functions[i];
    for (uint32_t at = 0; at < 20 + f->view.size; at++) {
      uint64_t place = at < 20 ? f->place + at : f->view.origin + (at - 20);
      char kept = data[place];
      for (int value = (int)at % step; value < 256; value += step, edits++) {
        data[place] = (char)value;
        CHECK(check_types(data, size) == FNABI_OK);
      }
      data[place] = kept;
    }
  }
  fnabi_bytecode_close(&b);
  release(data);
}

/* Whatever allocation fails, so does the function, and it frees the others. */
static void check_memory(const char* path) {
  fnabi_error error = {0};
  size_t size;
  char* data = read_file(path, &size);
  allocations = 0;
  CHECK(fnabi_bytecode_signatures(data, size, NULL, 0, &error) > 0);
  size_t needed = allocations;
  CHECK(needed > 5);
  for (size_t i = 0; i < needed; i++) {
    allocations = 0;
    refused_from = i;
    CHECK(fnabi_bytecode_signatures(data, size, NULL, 0, &error) == -1);
    CHECK(error.code == FNABI_MEMORY);
    allocations = 0;
    int64_t exports = fnabi_vmfb_exports(data, size, NULL, 0, &error);
    CHECK(exports > 0 || error.code == FNABI_MEMORY);
    refused_from = SIZE_MAX;
  }
  release(data);
}

static void check_version(void) {
  fnabi_error error;
  CHECK(fnabi_bytecode_signatures(NULL, 0, NULL, 0, &error) == -1);
  check_error_is(&error, FNABI_MODULE_SIZE, 0, "");
  size_t size;
  fnabi_bytecode b;
  char* data = read_file(FOLDER "vm_flow.vmfb", &size);
  CHECK(fnabi_bytecode_open(&b, data, size, &error));
  data[b.version_place + 2]++;
  CHECK(check_types(data, size) == FNABI_BYTECODE_VERSION);
  fnabi_bytecode_close(&b);
  release(data);
}

int main(int count, char** names) {
  bool all = count == 2 && strcmp(names[1], "edits") == 0;
  check_version();
  check_folder("../tests/data/bytecode_types", false);
  check_folder("../tests/data/vmfb", false);
  check_folder("../tests/data/vmfb/malformed", true);
  check_written(FOLDER "torch_mlp@3.0.0@vmvx.vmfb");
  check_memory(FOLDER "vm_flow.vmfb");
  check_memory(FOLDER "vm_lists.vmfb");
  check_memory(FOLDER "torch_mlp@3.13.0@vmvx.vmfb");
  check_edits(FOLDER "vm_flow.vmfb", all ? 1 : 37);
  check_edits(FOLDER "vm_lists.vmfb", all ? 1 : 37);
  check_edits(FOLDER "torch_views@3.0.0@vmvx.vmfb", all ? 1 : 61);
  check_edits(FOLDER "onnx_if@3.13.0@vmvx.vmfb", all ? 1 : 61);
  printf("%zu edited modules\n", edits);
  return 0;
}
