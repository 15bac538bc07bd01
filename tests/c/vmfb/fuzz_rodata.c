/* Any bytes as read-only data and as a file with a ZIP directory: their kind is
 * always one that there is; the files lie inside the input, and are the same
 * whether it is read as a whole or from its end alone. */
#include "base/message.h"
#include "fuzz.h"

DEFINE_WRITER(content, fnabi_rodata_content)
DEFINE_WRITER(files, fnabi_vmfb_files)

static int64_t directory(const call* c, uint8_t* out, size_t capacity,
                         fnabi_error* error) {
  return fnabi_vmfb_directory(c->data, c->size, (uint64_t)c->number, out,
                              capacity, error);
}

static void check_content(const uint8_t* bytes, size_t size) {
  static const char* const kinds[] = {"elf",   "spir-v",       "flatbuffer",
                                      "splat", "string table", "raw"};
  size_t written, fields, length, identifier = 0;
  const char *kind, *name;
  fnabi_error error;
  call c = {content, bytes, size, 0, 0};
  uint8_t* message = output_of(&c, &written, &error);
  CHECK(message != NULL);
  fnabi_reader r = {message, written, 0};
  CHECK(fnabi_unpack_array(&r, &fields) && fields == 3);
  CHECK(fnabi_unpack_text(&r, &kind, &length));
  size_t k = 0;
  while (k < 6 &&
         (strlen(kinds[k]) != length || memcmp(kinds[k], kind, length) != 0))
    k++;
  CHECK(k < 6);
  if (!fnabi_unpack_nil(&r))
    CHECK(fnabi_unpack_text(&r, &name, &identifier) && identifier == 4);
  CHECK((identifier == 4) == (k == 2));
  if (!fnabi_unpack_nil(&r)) CHECK(k == 0 && fnabi_unpack_skip(&r));
  CHECK(r.at == written);
  release(message);
}

/* The number of files whose data is inside the input; -1 for a damaged
 * directory. */
static int64_t count_files(const uint8_t* bytes, size_t size) {
  size_t written, count, fields;
  int64_t offset, length, checksum;
  fnabi_error error;
  call c = {files, bytes, size, 0, 0};
  uint8_t* message = output_of(&c, &written, &error);
  if (message == NULL) {
    check_error(&error, size);
    CHECK(error.code == FNABI_MODULE_ZIP);
    return -1;
  }
  fnabi_reader r = {message, written, 0};
  CHECK(fnabi_unpack_array(&r, &count));
  for (size_t i = 0; i < count; i++) {
    CHECK(fnabi_unpack_array(&r, &fields) && fields == 4);
    CHECK(fnabi_unpack_skip(&r) && fnabi_unpack_int(&r, &offset));
    CHECK(fnabi_unpack_int(&r, &length) && offset >= 0 && length >= 0);
    CHECK((uint64_t)offset <= size &&
          (uint64_t)length <= size - (size_t)offset);
    if (fnabi_unpack_nil(&r)) continue;
    CHECK(fnabi_unpack_int(&r, &checksum));
    CHECK(checksum >= 0 && checksum <= UINT32_MAX);
  }
  CHECK(r.at == written);
  release(message);
  return (int64_t)count;
}

/* Reads the directory from the bytes from `origin` on, and then again from
 * where it says that they are needed. */
static void check_end(const uint8_t* bytes, size_t size, size_t origin,
                      int64_t expected) {
  fnabi_error error;
  size_t written, count;
  int64_t needed;
  for (int round = 0;; round++) {
    uint8_t* end = exact(bytes + origin, size - origin);
    call c = {directory, end, size - origin, (int64_t)origin, 0};
    uint8_t* message = output_of(&c, &written, &error);
    release(end);
    if (message == NULL) {
      check_error(&error, size);
      return;
    }
    fnabi_reader r = {message, written, 0};
    CHECK(fnabi_unpack_array(&r, &count) && count == 2);
    CHECK(fnabi_unpack_int(&r, &needed) && (uint64_t)needed <= size);
    CHECK(fnabi_unpack_array(&r, &count));
    release(message);
    if ((size_t)needed >= origin) break;
    CHECK(count == 0 && round < 2); /* of the end record, of the entries */
    origin = (size_t)needed;
  }
  CHECK(expected < 0 || count >= (size_t)expected);
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  check_content(bytes, size);
  int64_t count = count_files(bytes, size);
  if (size == 0) return 0;
  check_end(bytes, size, 0, count);
  check_end(bytes, size, bytes[size - 1] % size, count);
  return 0;
}
