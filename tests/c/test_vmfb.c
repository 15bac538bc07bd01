/* Opens every module of the corpus and decodes all of it; then six small ones
 * with every byte of the module set to every value, and cut at every place.
 * Each input ends in an error or in an answer, and what was verified decodes.
 * The sanitizers watch the reads: every input is allocated at exactly its size.
 *
 * The first of the six is edited whole; of the others each byte takes some of
 * its values, others in each place. `test_vmfb edits` takes all of them. */
#define _POSIX_C_SOURCE 200809L
#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fnabi.h"

#define FIELDS 16
#define SAMPLE 37

static size_t opened, lenient, refused;

static int by_name(const void* a, const void* b) {
  return strcmp(*(char* const*)a, *(char* const*)b);
}

static char* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  assert(file != NULL);
  assert(fseek(file, 0, SEEK_END) == 0);
  *size = (size_t)ftell(file);
  rewind(file);
  char* data = malloc(*size);
  assert(data != NULL || *size == 0);
  assert(fread(data, 1, *size, file) == *size);
  fclose(file);
  return data;
}

/* An error of the core is complete and inside the input. */
static void check_error(const fnabi_error* error, size_t size) {
  assert(error->code > FNABI_OK && error->code < FNABI_CODE_COUNT);
  assert(fnabi_code_text(error->code) != NULL);
  assert(error->offset <= size);
  assert(memchr(error->path, 0, FNABI_PATH_SIZE) != NULL);
}

typedef int64_t decoder(const char* data, size_t size, int32_t id, uint8_t* out,
                        size_t capacity, fnabi_error* error);

static int64_t head(const char* data, size_t size, int32_t id, uint8_t* out,
                    size_t capacity, fnabi_error* error) {
  (void)id;
  return fnabi_module_head(data, size, out, capacity, error);
}

static int64_t exports(const char* data, size_t size, int32_t id, uint8_t* out,
                       size_t capacity, fnabi_error* error) {
  (void)id;
  return fnabi_module_exports(data, size, out, capacity, error);
}

/* Asks for the size, then for the message in exactly that much room. */
static int64_t decode(decoder* read, const char* data, size_t size, int32_t id,
                      fnabi_error* error) {
  int64_t answer = read(data, size, id, NULL, 0, error);
  if (answer <= 0) {
    assert(answer == -1);
    return answer;
  }
  uint8_t* out = malloc((size_t)answer);
  assert(out != NULL);
  assert(read(data, size, id, out, (size_t)answer, error) == answer);
  free(out);
  return answer;
}

static int64_t findings(const char* data, size_t size, int32_t id, uint8_t* out,
                        size_t capacity, fnabi_error* error) {
  (void)id;
  return fnabi_module_check(data, size, out, capacity, error);
}

/* Nothing relies on having been verified. */
static void check_refused(const char* data, size_t size) {
  fnabi_error error;
  fnabi_module_head(data, size, NULL, 0, &error);
  fnabi_module_exports(data, size, NULL, 0, &error);
  fnabi_module_check(data, size, NULL, 0, &error);
  for (int32_t id = 0; id < FIELDS; id++)
    fnabi_module_field(data, size, id, NULL, 0, &error);
}

static void check(const char* data, size_t size) {
  fnabi_error strict, error;
  bool whole = fnabi_module_verify(data, size, false, &strict) == 0;
  if (!whole) {
    check_error(&strict, size);
    if (fnabi_module_verify(data, size, true, &error) != 0) {
      refused++;
      check_error(&error, size);
      check_refused(data, size);
      return;
    }
    assert(strict.code == FNABI_MODULE_OFFSET);
    lenient++;
  }
  opened++;
  assert(decode(head, data, size, 0, &error) > 0);
  for (int32_t id = 0; id < FIELDS; id++)
    assert(decode(fnabi_module_field, data, size, id, &error) > 0);
  int64_t found = decode(findings, data, size, 0, &error);
  assert(found > 0 && (whole || found > 5));
  if (decode(exports, data, size, 0, &error) < 0) {
    check_error(&error, size);
    assert(error.code == FNABI_MODULE_ORDINAL && found > 5);
  }
}

static void check_file(const char* path) {
  size_t size;
  char* data = read_file(path, &size);
  check(data, size);
  free(data);
}

static void check_folder(const char* folder) {
  char* names[256];
  size_t count = 0;
  DIR* dir = opendir(folder);
  assert(dir != NULL);
  for (struct dirent* entry; (entry = readdir(dir)) != NULL;) {
    if (strstr(entry->d_name, ".vmfb") == NULL) continue;
    size_t room = strlen(folder) + strlen(entry->d_name) + 2;
    assert(count < sizeof names / sizeof *names);
    names[count] = malloc(room);
    assert(names[count] != NULL);
    snprintf(names[count++], room, "%s/%s", folder, entry->d_name);
  }
  closedir(dir);
  qsort(names, count, sizeof *names, by_name);
  assert(count > 0);
  for (size_t i = 0; i < count; i++) {
    check_file(names[i]);
    free(names[i]);
  }
}

/* Sets each byte of the file to every `step`th value. */
static void check_edits(const char* path, int step) {
  size_t size;
  char* data = read_file(path, &size);
  for (size_t at = 0; at < size; at++) {
    char kept = data[at];
    for (int value = (int)(at % (size_t)step); value < 256; value += step) {
      data[at] = (char)value;
      check(data, size);
    }
    data[at] = kept;
  }
  for (size_t cut = 0; cut <= size; cut++) {
    char* part = malloc(cut);
    assert(part != NULL || cut == 0);
    if (cut != 0) memcpy(part, data, cut);
    check(part, cut);
    free(part);
  }
  free(data);
}

int main(int argc, char** argv) {
  static const char* const edited[] = {"debug_kept",       "debug_kept@2.9.0",
                                       "attr_text@2.9.0",  "vm_globals",
                                       "vm_imports_plain", "raw_v0"};
  bool all = argc == 2 && strcmp(argv[1], "edits") == 0;
  fnabi_error error;
  assert(fnabi_module_verify(NULL, 0, false, &error) == -1);
  assert(error.code == FNABI_MODULE_SIZE && error.offset == 0);
  assert(fnabi_module_field(NULL, 0, FIELDS, NULL, 0, &error) == -1);
  assert(error.code == FNABI_UNSUPPORTED);
  check_folder("../tests/data/vmfb");
  check_folder("../tests/data/vmfb/malformed");
  for (size_t i = 0; i < sizeof edited / sizeof *edited; i++) {
    char path[64];
    snprintf(path, sizeof path, "../tests/data/vmfb/%s.vmfb", edited[i]);
    check_edits(path, i == 0 || all ? 1 : SAMPLE);
  }
  printf("%zu modules opened, %zu of them leniently, %zu refused\n", opened,
         lenient, refused);
  return 0;
}
