/* The scan: rows of good and bad files, what is exported of them, and what
 * happens when memory runs out. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocations.h"
#include "check.h"
#include "many/arrow.h"
#include "many/scan_table.h"

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
      {"out", EISDIR},
#if !defined(_WIN32)
      {"/dev/zero", ENODEV},
      {"/dev/tty", 0},
      {FIFO, ENODEV},
#endif
  };
#if !defined(_WIN32)
  unlink(FIFO);
  CHECK(mkfifo(FIFO, 0600) == 0);
#endif
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
  static const uint8_t more[] = {0x91, 0xA1, 'a', 0xA0};
  CHECK(fnabi_scan_files(scan, more, sizeof more, 1, 9, false, &failed,
                         &error) == -1 &&
        error.code == FNABI_MESSAGE && error.offset == 0);
  CHECK(fnabi_scan_rows(scan) == 1);
  fnabi_scan_fail(scan, TEXT("b"), FNABI_MEMORY, TEXT(""), &error);
  check_export(scan);
}

/* NULL with a size of 0 is the empty name, as all empty input. */
static void test_no_name(void) {
  fnabi_scan *scan = fnabi_scan_new(), *same = fnabi_scan_new();
  fnabi_error error = {0};
  uint8_t rows[2][512];
  CHECK(fnabi_scan_data(scan, NULL, 0, NULL, 0, NULL, 0, false, NULL, 0,
                        &error) == 0);
  CHECK(fnabi_scan_fail(scan, NULL, 0, FNABI_FILE, NULL, 0, &error) == 0);
  CHECK(fnabi_scan_data(same, TEXT(""), TEXT(""), NULL, 0, false, NULL, 0,
                        &error) == 0);
  CHECK(fnabi_scan_fail(same, TEXT(""), FNABI_FILE, TEXT(""), &error) == 0);
  int64_t size = fnabi_scan_message(scan, rows[0], sizeof rows[0]);
  CHECK(size <= (int64_t)sizeof rows[0]);
  CHECK(fnabi_scan_message(same, rows[1], sizeof rows[1]) == size);
  CHECK(memcmp(rows[0], rows[1], (size_t)size) == 0);
  fnabi_scan_free(same);
  fnabi_scan_free(scan);
}

/* Reads a file into memory of just its size. */
static char* read_whole(const char* path, size_t* size) {
  static char bytes[1 << 16];
  FILE* file = fopen(path, "rb");
  CHECK(file != NULL);
  *size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  CHECK(*size < sizeof bytes);
  return exact(bytes, *size);
}

static int64_t scan_path(fnabi_scan* scan, const char* path,
                         fnabi_error* error) {
  int32_t failed;
  uint8_t message[64] = {0x91, 0xC4, (uint8_t)strlen(path)};
  memcpy(message + 3, path, message[2]);
  return fnabi_scan_files(scan, message, 3u + message[2], 0, 99, false, &failed,
                          error);
}

/* A module in memory has the rows of its file, also when the data end after the
 * FlatBuffer. */
static void test_data(void) {
  fnabi_error error;
  uint8_t out[256];
  static const uint8_t none[] = {0x90}, wrong[] = {0x91, 0x92, 0xA0},
                       more[] = {0x90, 0x90};
  static const char* const paths[] = {"../tests/data/needs/params_vmvx.vmfb",
                                      "../tests/data/vmfb/scalars.vmfb"};
  for (size_t i = 0; i < 2; i++) {
    size_t size;
    char* data = read_whole(paths[i], &size);
    size_t extent = (size_t)fnabi_vmfb_extent(data, size);
    char* part = exact(data, extent);
    fnabi_scan *file = fnabi_scan_new(), *memory = fnabi_scan_new();
    CHECK(scan_path(file, paths[i], &error) == 1);
    for (int given = 0; given < 2; given++)
      CHECK(fnabi_scan_data(memory, TEXT("m"), part, extent,
                            given ? none : NULL, given ? 1u : 0u, false, out,
                            sizeof out, &error) == 0);
    CHECK(fnabi_scan_data(memory, TEXT("m"), data, size, NULL, 0, false, out,
                          sizeof out, &error) == 0);
    for (size_t cut = 1; cut <= sizeof wrong; cut++)
      CHECK(fnabi_scan_data(memory, TEXT("m"), part, extent, wrong, cut, false,
                            out, sizeof out, &error) == -1 &&
            error.code == FNABI_MESSAGE && error.offset == 0);
    CHECK(fnabi_scan_data(memory, TEXT("m"), part, extent, more, sizeof more,
                          false, out, sizeof out, &error) == -1 &&
          error.code == FNABI_MESSAGE);
    CHECK(fnabi_scan_rows(memory) == 3 * fnabi_scan_rows(file));
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
    release(part);
  }
}

/* Packs the segments that a message of fnabi_scan_data asks for. */
static size_t pack_segments(const uint8_t* message, size_t size,
                            const char* file, uint8_t* out, size_t capacity) {
  fnabi_reader r = {message, size, 0};
  fnabi_writer w = {out, capacity, 0};
  size_t count, members;
  int64_t ordinal, offset, length;
  CHECK(fnabi_unpack_array(&r, &count) && count > 3);
  fnabi_pack_array(&w, (uint32_t)count);
  for (; count > 0; count--) {
    CHECK(fnabi_unpack_array(&r, &members) && members == 3 &&
          fnabi_unpack_int(&r, &ordinal) && fnabi_unpack_int(&r, &offset) &&
          fnabi_unpack_int(&r, &length));
    fnabi_pack_array(&w, 2);
    fnabi_pack_int(&w, ordinal);
    fnabi_pack_text(&w, file + offset, (size_t)length);
  }
  CHECK(w.size <= capacity);
  return w.size;
}

/* The same for a module whose read-only data are all after the FlatBuffer: a
 * scan of the file reads the segments that it needs, and one of memory asks for
 * them. Wherever memory ends, the rows are whole. */
static void test_outside(void) {
  static const char path[] = "../tests/data/outside/params_vmvx.vmfb";
  static uint8_t asked[1 << 10], segments[1 << 14], messages[2][1 << 14];
  fnabi_error error;
  size_t size;
  char* data = read_whole(path, &size);
  size_t extent = (size_t)fnabi_vmfb_extent(data, size);
  char* part = exact(data, extent);
  bool whole = false;
  for (size_t from = 0; !whole; from++) {
    allocations = 0;
    refused_from = from;
    fnabi_scan *file = fnabi_scan_new(), *memory = fnabi_scan_new();
    int64_t taken = 0, missing = 0, added = -1;
    if (file != NULL) taken = scan_path(file, path, &error);
    if (file != NULL && taken < 0) CHECK(error.code == FNABI_MEMORY);
    if (memory != NULL) /* as large as many missing segments make it */
      fnabi_vector_reserve(&memory->needs.missing, 1 << 22);
    if (memory != NULL)
      missing = fnabi_scan_data(memory, path, strlen(path), part, extent, NULL,
                                0, false, asked, sizeof asked, &error);
    if (missing > 0) {
      CHECK(fnabi_scan_rows(memory) == 0);
      CHECK((size_t)missing <= sizeof asked);
      size_t packed = pack_segments(asked, (size_t)missing, data, segments,
                                    sizeof segments);
      added =
          fnabi_scan_data(memory, path, strlen(path), part, extent, segments,
                          packed, false, asked, sizeof asked, &error);
    }
    refused_from = SIZE_MAX;
    whole = taken == 1 && added == 0;
    if (whole) {
      int64_t sizes[2] = {
          fnabi_scan_message(file, messages[0], sizeof messages[0]),
          fnabi_scan_message(memory, messages[1], sizeof messages[1])};
      CHECK(sizes[0] == sizes[1] && (size_t)sizes[0] <= sizeof messages[0]);
      CHECK(memcmp(messages[0], messages[1], (size_t)sizes[0]) == 0);
      bool named = false;
      for (int64_t i = 0; i + 19 <= sizes[0]; i++)
        named |= memcmp(messages[0] + i, "model::layer.weight", 19) == 0;
      CHECK(named);
    }
    fnabi_scan_free(file);
    fnabi_scan_free(memory);
  }
  release(data);
  release(part);
}

#define FAR "out/far__________________________.vmfb"

/* Writes the module with its read-only data `gap` bytes later, and without the
 * last `cut` bytes. */
static void write_far(const char* data, size_t size, size_t gap, size_t cut) {
  size_t extent = (size_t)fnabi_vmfb_extent(data, size);
  size_t begin = (extent + 63) / 64 * 64, used = 0;
  char *part = exact(data, begin), *zeros = calloc(gap + 1, 1);
  uint8_t asked[1 << 10];
  fnabi_error error;
  fnabi_scan* scan = fnabi_scan_new();
  CHECK(zeros != NULL && scan != NULL);
  int64_t missing = fnabi_scan_data(scan, "", 0, data, extent, NULL, 0, false,
                                    asked, sizeof asked, &error);
  CHECK(missing > 0 && (size_t)missing <= sizeof asked);
  fnabi_reader r = {asked, (size_t)missing, 0};
  size_t count, members;
  int64_t ordinal, offset, length;
  CHECK(fnabi_unpack_array(&r, &count));
  for (; count > 0; count--) {
    CHECK(fnabi_unpack_array(&r, &members) && fnabi_unpack_int(&r, &ordinal) &&
          fnabi_unpack_int(&r, &offset) && fnabi_unpack_int(&r, &length));
    uint64_t range[2] = {(uint64_t)offset - begin, (uint64_t)length};
    for (size_t i = 0; i + sizeof range <= extent; i += 4)
      if (memcmp(data + i, range, sizeof range) == 0) {
        range[0] += gap;
        memcpy(part + i, range, sizeof range);
        used++;
        break;
      }
  }
  CHECK(used > 3);
  fnabi_scan_free(scan);
  FILE* file = fopen(FAR, "wb");
  CHECK(file != NULL && fwrite(part, 1, begin, file) == begin &&
        fwrite(zeros, 1, gap, file) == gap &&
        fwrite(data + begin, 1, size - begin - cut, file) ==
            size - begin - cut);
  CHECK(fclose(file) == 0);
  release(part);
  free(zeros);
}

/* Read-only data that is not in what a scan reads first. Where the file ends
 * before it, the other texts are found; one allocation is refused, or all from
 * one on. */
static void test_far(void) {
  enum { GAP = 1 << 17 };
  static uint8_t messages[2][1 << 14];
  static const char path[] = "../tests/data/outside/params_vmvx.vmfb";
  fnabi_error error;
  size_t size;
  char* data = read_whole(path, &size);
  fnabi_scan* near = fnabi_scan_new();
  CHECK(scan_path(near, path, &error) == 1);
  int64_t whole = fnabi_scan_message(near, messages[0], sizeof messages[0]);
  fnabi_scan_free(near);
  for (size_t cut = 0; cut < 2100; cut += 700) {
    write_far(data, size, GAP, cut);
    bool done = false;
    for (size_t number = 0; !done; number++) {
      bool alone = number % 2 == 0;
      allocations = 0;
      *(alone ? &refused_one : &refused_from) = number / 2;
      fnabi_scan* scan = fnabi_scan_new();
      int64_t taken = scan == NULL ? -1 : scan_path(scan, FAR, &error);
      refused_from = refused_one = SIZE_MAX;
      done = taken == 1 && !alone;
      if (scan != NULL && taken < 0) CHECK(error.code == FNABI_MEMORY);
      if (taken == 1) {
        int64_t got = fnabi_scan_message(scan, messages[1], sizeof messages[1]);
        CHECK(fnabi_scan_rows(scan) > 0 && fnabi_scan_bad(scan) == 0);
        /* the names of the files are of one size */
        CHECK(sizeof path == sizeof FAR);
        CHECK(cut > 0 ? got <= whole : got == whole);
      }
      fnabi_scan_free(scan);
    }
  }
  unlink(FAR);
  release(data);
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
  test_no_name();
  test_data();
  test_outside();
  test_far();
  test_refused();
  return 0;
}
