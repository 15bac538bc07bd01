/* What modules need decodes; then with bytes of them set to other values, and
 * cut, it decodes or fails inside the input. `test_needs edits` sets every byte
 * to every value. */
#include "base/message.h"
#include "check.h"
#include "vmfb/needs.h"
#include "vmfb/vmfb.h"

DEFINE_WRITER(needs, fnabi_vmfb_needs)

enum { STEP = 61 };

static const char* const names[] = {
    "mm_llvm-cpu", "mm_vmvx",       "mm_vulkan",    "params_llvm-cpu",
    "params_vmvx", "params_vulkan", "storage_vmvx", "types_vmvx"};

static char* read_needs(const char* name, size_t* size) {
  char path[256];
  snprintf(path, sizeof path, "../tests/data/needs/%s.vmfb", name);
  return read_file(path, size);
}

static int32_t decode_needs(const char* data, size_t size) {
  fnabi_error error;
  size_t written;
  call c = {needs, data, size, 0, 0};
  uint8_t* message = output_of(&c, &written, &error);
  if (message == NULL) {
    check_error(&error, size);
    return error.code;
  }
  release(message);
  return FNABI_OK;
}

static void check_edits(const char* name, int step) {
  size_t size;
  char* data = read_needs(name, &size);
  call c = {needs, data, size, 0, 0};
  check_capacities(&c);
  CHECK(decode_needs(data, size) == FNABI_OK);
  size_t flatbuffer = (size_t)fnabi_vmfb_extent(data, size);
  for (size_t at = 0; at < flatbuffer; at++) {
    char kept = data[at];
    for (int value = (int)at % step; value < 256; value += step) {
      data[at] = (char)value;
      decode_needs(data, size);
    }
    data[at] = kept;
  }
  for (size_t cut = 0; cut < flatbuffer; cut += 7) {
    char* part = exact(data, cut);
    CHECK(decode_needs(part, cut) != FNABI_OK);
    release(part);
  }
  release(data);
}

/* Segments are given in a message, which may be anything. */
static void check_segments(void) {
  static const struct {
    const char* message;
    size_t size;
    uint64_t at; /* of the error; UINT64_MAX: none */
  } messages[] = {
      {TEXT(""), UINT64_MAX},
      {TEXT("\x90"), UINT64_MAX},
      {TEXT("\x90\x90"), 1}, /* more than one value */
      {TEXT("\x01"), 0},
      {TEXT("\x91\x01"), 1},
      {TEXT("\x91\x91\x01"), 2},
      {TEXT("\x91\x92\xC0\xA0"), 2},
      {TEXT("\x91\x92\0\xC0"), 3},
      {TEXT("\x91\x92\xFF\xA0"), UINT64_MAX}, /* no segments */
      {TEXT("\x91\x92\xCD\x7F\xFF\xA0"), UINT64_MAX},
      {TEXT("\x93\x92\0\xA0\x92\1\xA1x\x92\2\xA0"), UINT64_MAX}, /* sizes */
  };
  size_t size;
  fnabi_error error;
  char* data = read_needs("params_vmvx", &size);
  for (int cut = 0; cut < 2; cut++) {
    if (cut) size = (size_t)fnabi_vmfb_extent(data, size);
    uint8_t out[1 << 12], other[1 << 12];
    int64_t plain = fnabi_vmfb_needs(data, size, out, sizeof out, &error);
    CHECK(plain > 0 && plain <= (int64_t)sizeof out);
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
      int64_t given =
          fnabi_vmfb_needs_with(data, size, (const uint8_t*)messages[i].message,
                                messages[i].size, other, sizeof other, &error);
      if (messages[i].at != UINT64_MAX) {
        CHECK(given == -1 && strcmp(error.expected, "segments") == 0);
        check_error_is(&error, FNABI_MESSAGE, messages[i].at, "");
      } else {
        CHECK(given == plain && memcmp(out, other, (size_t)plain) == 0);
      }
    }
  }
  uint8_t many[256];
  fnabi_writer w = {many, sizeof many, 0};
  fnabi_pack_count(&w, 40); /* segments, all of another size */
  for (unsigned i = 0; i < 40; i++) {
    fnabi_pack_array(&w, 2);
    fnabi_pack_uint(&w, i);
    fnabi_pack_text(&w, "x", 1);
  }
  uint8_t out[1 << 12], other[1 << 12];
  int64_t plain = fnabi_vmfb_needs(data, size, out, sizeof out, &error);
  CHECK(fnabi_vmfb_needs_with(data, size, many, w.size, other, sizeof other,
                              &error) == plain);
  CHECK(memcmp(out, other, (size_t)plain) == 0);
  release(data);
}

/* The list of missing segments is that of the last call. An earlier walk of the
 * module changes nothing. */
static void check_missing(void) {
  size_t size, count = 0;
  fnabi_needs_memory memory = {0};
  const fnabi_vector* missing = &memory.missing;
  fnabi_text target, parameters, none = {NULL, 0};
  char* data = read_file("../tests/data/outside/params_vmvx.vmfb", &size);
  size_t flatbuffer = (size_t)fnabi_vmfb_extent(data, size);
  fnabi_fb walk;
  fnabi_error error;
  CHECK(fnabi_vmfb_walk(data, size, false, &walk, &error));
  for (int i = 0; i < 2; i++) {
    CHECK(fnabi_needs_texts(data, flatbuffer, i == 0 ? NULL : &walk, none,
                            &memory, &target, &parameters));
    CHECK(missing->size != 0 && (i == 0 || missing->size == count));
    count = missing->size;
  }
  CHECK(
      fnabi_needs_texts(data, size, NULL, none, &memory, &target, &parameters));
  CHECK(missing->size == 0);
  fnabi_needs_shrink(&memory, 0);
  release(data);
}

static bool same(fnabi_text a, fnabi_text b) {
  return a.size == b.size && (a.data == NULL) == (b.data == NULL) &&
         (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* The texts of a module do not depend on those that used the memory before it. */
static void check_again(fnabi_needs_memory* memory, const char* data,
                        size_t size) {
  fnabi_needs_memory fresh = {0};
  fnabi_text texts[4], none = {NULL, 0};
  CHECK(
      fnabi_needs_texts(data, size, NULL, none, memory, &texts[0], &texts[1]));
  CHECK(
      fnabi_needs_texts(data, size, NULL, none, &fresh, &texts[2], &texts[3]));
  CHECK(same(texts[0], texts[2]) && same(texts[1], texts[3]));
  CHECK(memory->missing.size == fresh.missing.size);
  fnabi_needs_shrink(&fresh, 0);
}

/* Modules of several versions of the bytecode, whole and damaged, one after
 * another. */
static void check_memory(void) {
  static const char* const mixed[] = {"add_vmvx@20230209", "params_vmvx",
                                      "params_vmvx@3.0.0", "mm_vulkan",
                                      "exp_vmvx_inline-static"};
  enum { COUNT = sizeof mixed / sizeof *mixed };
  fnabi_needs_memory memory = {0};
  char* data[COUNT];
  size_t sizes[COUNT];
  for (int i = 0; i < COUNT; i++) data[i] = read_needs(mixed[i], &sizes[i]);
  for (size_t at = 0; at < 6000; at += 31)
    for (int i = 0; i < COUNT; i++) {
      if (at >= sizes[i]) continue;
      check_again(&memory, data[i], sizes[i]);
      data[i][at] ^= 0x55;
      check_again(&memory, data[i], sizes[i]);
      data[i][at] ^= 0x55;
    }
  memory.major = 14; /* whose instructions may have other sizes */
  memset(&memory.sizes, 1, sizeof memory.sizes);
  check_again(&memory, data[3], sizes[3]);
  fnabi_needs_shrink(&memory, 0);
  for (int i = 0; i < COUNT; i++) release(data[i]);
}

int main(int argc, char** argv) {
  (void)argv;
  check_segments();
  check_missing();
  check_memory();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    check_edits(names[i], argc > 1 ? 1 : STEP);
  return 0;
}
