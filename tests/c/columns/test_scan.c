/* The scan: rows of good and bad files, what is exported of them, and what
 * happens when memory runs out. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocations.h"
#include "check.h"
#include "columns/arrow.h"

#define DIRECTORY "../tests/data/vmfb/malformed/"
#define FIFO "out/fifo.vmfb"

/* The message of the names of all modules there. */
static uint8_t names[1 << 16];
static size_t names_size, files;

static void put_name(const char* name) {
  size_t size = strlen(name);
  names[names_size++] = 0xC5; /* a binary */
  names[names_size++] = (uint8_t)(size >> 8);
  names[names_size++] = (uint8_t)size;
  memcpy(names + names_size, name, size);
  names_size += size;
  names[3] = (uint8_t)(++files >> 8);
  names[4] = (uint8_t)files;
}

static void find_names(void) {
  DIR* directory = opendir(DIRECTORY);
  CHECK(directory != NULL);
  names[0] = 0xDD;
  names_size = 5;
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;) {
    char path[512];
    if (strstr(entry->d_name, ".vmfb") == NULL) continue;
    CHECK(snprintf(path, sizeof path, DIRECTORY "%s", entry->d_name) <
          (int)sizeof path);
    put_name(path);
  }
  closedir(directory);
  put_name("../tests/data/vmfb/attr_text.vmfb");
  put_name("../tests/data/vmfb/abi_records.vmfb");
  CHECK(files > 50);
}

/* Reads all of an array as JSON; exports it twice, and frees it last. */
static void check_export(fnabi_scan* scan) {
  struct ArrowSchema schema;
  struct ArrowArray array, again;
  fnabi_error error;
  size_t rows = fnabi_scan_rows(scan);
  CHECK(fnabi_scan_schema(&schema) == 0);
  CHECK(fnabi_scan_array(scan, &array) == 0);
  CHECK(fnabi_scan_array(scan, &again) == 0);
  again.release(&again);
  CHECK(schema.n_children == array.n_children);
  for (int64_t i = 0; i < array.n_children; i++)
    CHECK(array.children[i]->length == (int64_t)rows);
  int64_t size = fnabi_scan_message(scan, NULL, 0);
  uint8_t* message = exact(NULL, (size_t)size);
  CHECK(fnabi_scan_message(scan, message, (size_t)size) == size);
  release(message);
  fnabi_scan_free(scan);

  size = fnabi_arrow_json(&schema, &array, 0, rows, NULL, 0, &error);
  CHECK(size > 0);
  uint8_t* json = exact(NULL, (size_t)size);
  CHECK(fnabi_arrow_json(&schema, &array, 0, rows, json, (size_t)size,
                         &error) == size);
  size_t lines = 0;
  for (int64_t i = 0; i < size; i++) lines += json[i] == '\n';
  CHECK(lines == rows);
  int64_t first = fnabi_arrow_json(&schema, &array, 0, 1, NULL, 0, &error);
  uint8_t* second = exact(NULL, (size_t)(size - first));
  CHECK(fnabi_arrow_json(&schema, &array, 1, rows - 1, second,
                         (size_t)(size - first), &error) == size - first);
  CHECK(memcmp(json + first, second, (size_t)(size - first)) == 0);
  release(second);
  release(json);
  schema.children[0]->format = "g";
  CHECK(fnabi_arrow_json(&schema, &array, 0, 1, NULL, 0, &error) == -1 &&
        error.code == FNABI_UNSUPPORTED);
  schema.release(&schema);
  array.release(&array);
}

static void test_files(void) {
  fnabi_error error;
  int32_t failed = 1;
  fnabi_scan* scan = fnabi_scan_new();
  CHECK(fnabi_scan_files(scan, names, names_size, 0, SIZE_MAX, false, &failed,
                         &error) == (int64_t)files);
  CHECK(failed == 0);
  CHECK(fnabi_scan_bad(scan) > 40);
  CHECK(fnabi_scan_rows(scan) > fnabi_scan_bad(scan));

  /* one file at a time gives the same rows */
  fnabi_scan* other = fnabi_scan_new();
  for (size_t i = 0; i < files; i++)
    CHECK(fnabi_scan_files(other, names, names_size, i,
                           fnabi_scan_rows(other) + 1, false, &failed,
                           &error) == 1);
  CHECK(fnabi_scan_rows(other) == fnabi_scan_rows(scan));
  size_t size = (size_t)fnabi_scan_message(scan, NULL, 0);
  uint8_t *a = exact(NULL, size), *b = exact(NULL, size);
  fnabi_scan_message(scan, a, size);
  CHECK(fnabi_scan_message(other, b, size) == (int64_t)size);
  CHECK(memcmp(a, b, size) == 0);
  release(a);
  release(b);
  check_export(scan);
  check_export(other);
}

static void test_unread(void) {
  static const uint8_t absent[] = {0x92, 0xA2, '/', '!', 0xA2, 'a', 0};
  fnabi_error error;
  int32_t failed;
  fnabi_scan* scan = fnabi_scan_new();
  CHECK(fnabi_scan_files(scan, absent, sizeof absent, 0, 9, false, &failed,
                         &error) == 0);
  CHECK(failed == ENOENT);
  CHECK(fnabi_scan_files(scan, absent, sizeof absent, 1, 9, false, &failed,
                         &error) == 0);
  CHECK(failed == EINVAL);
  static const struct {
    const char* path;
    int32_t failed;
  } special[] = {
      {"out", EISDIR}, {"/dev/zero", ENODEV}, {"/dev/tty", 0}, {FIFO, ENODEV}};
  unlink(FIFO);
  CHECK(mkfifo(FIFO, 0600) == 0);
  for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
    uint8_t message[64] = {0x91, 0xC4, (uint8_t)strlen(special[i].path)};
    memcpy(message + 3, special[i].path, message[2]);
    CHECK(fnabi_scan_files(scan, message, 3u + message[2], 0, 9, false, &failed,
                           &error) == 0);
    CHECK(special[i].failed == 0 ? failed != 0 : failed == special[i].failed);
  }
  unlink(FIFO);
  CHECK(fnabi_scan_fail(scan, TEXT("/\xff"), FNABI_FILE, TEXT("gone"),
                        &error) == 0);
  CHECK(fnabi_scan_rows(scan) == 1 && fnabi_scan_bad(scan) == 1);
  for (size_t size = 0; size < sizeof absent; size++)
    CHECK(fnabi_scan_files(scan, absent, size, 2, 9, false, &failed, &error) ==
              -1 &&
          error.code == FNABI_MESSAGE);
  CHECK(fnabi_scan_rows(scan) == 1);
  fnabi_scan_fail(scan, TEXT("b"), FNABI_MEMORY, TEXT(""), &error);
  check_export(scan);
}

/* A module in memory has the rows of its file, also when the data end after the
 * FlatBuffer. Segments that it lacks are asked for once. */
static void test_data(void) {
  fnabi_error error;
  int32_t failed;
  uint8_t out[256];
  static const uint8_t none[] = {0x90}, wrong[] = {0x91, 0x92, 0xA0};
  static const char* const paths[] = {"../tests/data/needs/params_vmvx.vmfb",
                                      "../tests/data/vmfb/scalars.vmfb"};
  for (size_t i = 0; i < 2; i++) {
    size_t size, path_size = strlen(paths[i]);
    FILE* opened = fopen(paths[i], "rb");
    CHECK(opened != NULL);
    static char whole[1 << 16];
    size = fread(whole, 1, sizeof whole, opened);
    fclose(opened);
    CHECK(size < sizeof whole);
    char* data = exact(whole, size);
    uint8_t message[64] = {0x91, 0xC4, (uint8_t)path_size};
    memcpy(message + 3, paths[i], path_size);
    fnabi_scan *file = fnabi_scan_new(), *memory = fnabi_scan_new();
    CHECK(fnabi_scan_files(file, message, 3 + path_size, 0, 99, false, &failed,
                           &error) == 1);
    for (int cut = 0; cut < 2; cut++) {
      size_t known = cut ? (size_t)fnabi_vmfb_extent(data, size) : size;
      for (int given = 0; given < 2; given++) {
        CHECK(fnabi_scan_data(memory, paths[i], path_size, data, known,
                              given ? none : NULL, given ? 1u : 0u, false, out,
                              sizeof out, &error) == 0);
      }
    }
    CHECK(fnabi_scan_rows(memory) == 4 * fnabi_scan_rows(file));
    CHECK(fnabi_scan_bad(memory) == 0);
    CHECK(fnabi_vmfb_needs_with(data, size, wrong, sizeof wrong, out, 0,
                                &error) == -1 &&
          error.code == FNABI_MESSAGE);
    int64_t plain = fnabi_vmfb_needs(data, size, out, 0, &error);
    CHECK(plain > 0 && fnabi_vmfb_needs_with(data, size, none, sizeof none, out,
                                             0, &error) == plain);
    fnabi_scan_free(file);
    fnabi_scan_free(memory);
    release(data);
  }
}

/* Wherever memory ends, rows are whole and nothing leaks. */
static void test_refused(void) {
  fnabi_error error;
  int32_t failed;
  bool whole = false;
  for (size_t from = 0; !whole; from++) {
    allocations = 0;
    refused_from = from;
    fnabi_scan* scan = fnabi_scan_new();
    int64_t taken = 0;
    if (scan != NULL)
      taken = fnabi_scan_files(scan, names, names_size, files - 2, SIZE_MAX,
                               false, &failed, &error);
    struct ArrowSchema schema;
    struct ArrowArray array;
    int64_t made = -1, typed = fnabi_scan_schema(&schema);
    if (scan != NULL) made = fnabi_scan_array(scan, &array);
    refused_from = SIZE_MAX;
    if (scan != NULL && taken < 0) CHECK(error.code == FNABI_MEMORY);
    whole = taken == 2 && made == 0 && typed == 0;
    if (typed == 0) schema.release(&schema);
    if (made == 0) {
      CHECK(array.length == (int64_t)fnabi_scan_rows(scan));
      array.release(&array);
    }
    fnabi_scan_free(scan);
  }
}

int main(void) {
  find_names();
  test_files();
  test_unread();
  test_data();
  test_refused();
  return 0;
}
