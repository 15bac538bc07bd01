/* What functions do: of real modules, and of those with one byte edited; and
 * without memory. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>

#include "allocations.h"
#include "infer/any_program.h"

#define FOLDER "../tests/data/bytecode_types/"

static void check_folder(const char* folder, bool malformed) {
  char path[512];
  DIR* dir = opendir(folder);
  CHECK(dir != NULL);
  for (struct dirent* entry; (entry = readdir(dir)) != NULL;) {
    if (strstr(entry->d_name, ".vmfb") == NULL) continue;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    char* data = read_file(path, &size);
    int32_t code = check_program(data, size);
    CHECK(malformed || code == FNABI_OK);
    release(data);
  }
  closedir(dir);
}

/* Every byte of the functions with some other values. */
static void check_edits(const char* path, int step) {
  fnabi_bytecode b;
  fnabi_error error;
  size_t size;
  char* data = read_file(path, &size);
  CHECK(fnabi_bytecode_open(&b, data, size, &error));
  for (size_t i = 0; i < b.function_count; i++) {
    const fnabi_bytecode_view* view = &b.functions[i].view;
    for (uint32_t at = 0; at < view->size; at++) {
      char* place = data + view->origin + at;
      char kept = *place;
      for (int value = (int)at % step; value < 256; value += step) {
        *place = (char)value;
        CHECK(check_program(data, size) == FNABI_OK);
      }
      *place = kept;
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
  CHECK(fnabi_bytecode_program(data, size, NULL, 0, &error) > 0);
  size_t needed = allocations;
  CHECK(needed > 8);
  for (size_t i = 0; i < needed; i++) {
    allocations = 0;
    refused_from = i;
    CHECK(fnabi_bytecode_program(data, size, NULL, 0, &error) == -1);
    CHECK(error.code == FNABI_MEMORY);
    refused_from = SIZE_MAX;
  }
  release(data);
}

int main(void) {
  size_t size;
  call c = {bytecode_program, NULL, 0, 0, 0};
  check_folder("../tests/data/bytecode_types", false);
  check_folder("../tests/data/vmfb", true);
  char* data = read_file(FOLDER "vm_flow.vmfb", &size);
  c.data = data;
  c.size = size;
  check_capacities(&c);
  release(data);
  check_memory(FOLDER "vm_flow.vmfb");
  check_edits(FOLDER "vm_flow.vmfb", 97);
  return 0;
}
