/* The ZIP directory of real modules, edited and cut, and kinds of content. */
#define _POSIX_C_SOURCE 200809L
#include "base/message.h"
#include "check.h"

DEFINE_WRITER(files, fnabi_vmfb_files)
DEFINE_WRITER(content, fnabi_rodata_content)

/* Reads the directory of a file from its end alone; returns where it begins, or
 * SIZE_MAX for a damaged one. */
static size_t read_end(const char* data, size_t size, size_t origin) {
  fnabi_error error;
  uint8_t out[1 << 10];
  size_t members, count;
  int64_t needed;
  char* end = exact(data + origin, size - origin);
  int64_t written =
      fnabi_vmfb_directory(end, size - origin, origin, out, sizeof out, &error);
  release(end);
  if (written < 0) {
    CHECK(error.code == FNABI_MODULE_ZIP);
    CHECK(error.offset <= size);
    return SIZE_MAX;
  }
  if ((size_t)written > sizeof out) return origin;
  fnabi_reader r = {out, (size_t)written, 0};
  CHECK(fnabi_unpack_array(&r, &members) && members == 2);
  CHECK(fnabi_unpack_int(&r, &needed) && (uint64_t)needed <= size);
  CHECK(fnabi_unpack_array(&r, &count));
  CHECK(count == 0 || (size_t)needed >= origin);
  return (size_t)needed;
}

/* Lists the files, or fails inside the input. */
static int32_t list(const char* data, size_t size) {
  fnabi_error error;
  size_t written;
  for (size_t origin = 0; origin <= size; origin += 1 + size / 5)
    read_end(data, size, origin);
  call c = {files, data, size, 0, 0};
  uint8_t* message = output_of(&c, &written, &error);
  if (message == NULL) {
    check_error(&error, size);
    CHECK(error.code == FNABI_MODULE_ZIP);
    return error.code;
  }
  release(message);
  return FNABI_OK;
}

/* A file named "a" of 4 bytes, its directory, and the end record. */
static size_t archive(char* out) {
  static const char local[] =
      "PK\x03\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x04\0\0\0\x04\0\0\0\x01\0\0\0a"
      "\x01\x02\x03\x04";
  static const char entry[] =
      "PK\x01\x02\0\0\0\0\0\0\0\0\0\0\0\0\x0D\x0C\x0B\x0A\x04\0\0\0\x04\0\0\0"
      "\x01\0\0\0"
      "\0\0\0\0\0\0\0\0\0\0\0\0\0\0a";
  static const char end[] =
      "PK\x05\x06\0\0\0\0\x01\0\x01\0\x2F\0\0\0\x23\0\0\0\0\0";
  memcpy(out, local, sizeof local - 1);
  memcpy(out + sizeof local - 1, entry, sizeof entry - 1);
  memcpy(out + sizeof local + sizeof entry - 2, end, sizeof end - 1);
  return sizeof local + sizeof entry + sizeof end - 3;
}

static void check_archive(void) {
  char bytes[256];
  size_t size = archive(bytes);
  char* data = exact(bytes, size);
  call c = {files, data, size, 0, 0};
  check_answer(&c, TEXT("\xDD\0\0\0\x01\x94\xA1"
                        "a\x1F\x04\xCE\x0A\x0B\x0C\x0D"));
  data[0x23 + 10] = 8; /* compressed */
  check_answer(&c, TEXT("\xDD\0\0\0\x01\x94\xA1"
                        "a\x1F\x04\xC0"));
  data[0x23 + 10] = 0;
  CHECK(read_end(data, size, 0) == 0x23);
  CHECK(read_end(data, size, 0x23) == 0x23);
  CHECK(read_end(data, size, 0x24) == 0x23);
  CHECK(read_end(data, size, size) == SIZE_MAX);
  for (size_t cut = 0; cut < size; cut++) {
    char* part = exact(data, cut);
    CHECK(list(part, cut) == (cut < 4 ? FNABI_OK : FNABI_MODULE_ZIP));
    release(part);
  }
  for (size_t at = 0; at < size; at++)
    for (int value = 0; value < 256; value++) {
      char kept = data[at];
      data[at] = (char)value;
      list(data, size);
      data[at] = kept;
    }
  uint32_t random = 7;
  for (int round = 0; round < 20000; round++) {
    memcpy(data, bytes, size);
    for (int edit = 0; edit < 4; edit++)
      data[next_random(&random) % size] = (char)next_random(&random);
    list(data, size);
  }
  release(data);
}

static void check_content(const void* data, size_t size, const void* message,
                          size_t message_size) {
  char* copy = exact(data, size);
  call c = {content, copy, size, 0, 0};
  check_answer(&c, message, message_size);
  for (size_t cut = 0; cut < size; cut++) {
    char* part = exact(data, cut);
    call short_one = {content, part, cut, 0, 0};
    check_capacities(&short_one);
    release(part);
  }
  release(copy);
}

/* An ELF file of this class, byte order and machine is for this ISA. */
static void check_isa(int class, int order, int machine, const char* isa) {
  char data[20] =
      "\x7F"
      "ELF";
  char message[32];
  fnabi_writer w = {(uint8_t*)message, sizeof message, 0};
  data[4] = (char)class;
  data[5] = (char)order;
  data[order == 2 ? 19 : 18] = (char)machine;
  fnabi_pack_array(&w, 3);
  fnabi_pack_ascii(&w, "elf");
  fnabi_pack_nil(&w);
  if (isa != NULL) {
    fnabi_pack_ascii(&w, isa);
  } else {
    fnabi_pack_nil(&w);
  }
  check_content(data, sizeof data, message, w.size);
}

static void check_isas(void) {
  check_isa(1, 1, 3, "x86_32");
  check_isa(1, 1, 40, "arm_32");
  check_isa(2, 1, 62, "x86_64");
  check_isa(2, 1, 183, "arm_64");
  check_isa(2, 2, 183, "arm_64");
  check_isa(2, 1, 224, "amdgpu");
  check_isa(2, 1, 243, "riscv_64");
  check_isa(1, 1, 243, "riscv_32");
  check_isa(2, 1, 8, NULL);
}

/* Changes that leave no FlatBuffer, each in one byte of one. */
static void check_flatbuffers(void) {
  static const struct {
    size_t at;
    char value;
  } edits[] = {
      {0, 3},    /* the root is in the offset of the root */
      {0, 14},   /* not aligned */
      {0, 16},   /* outside */
      {4, 'a'},  /* no identifier */
      {12, 16},  /* the vtable is before the data */
      {12, -16}, /* and after them */
      {8, 3},    /* the vtable is shorter than its head */
      {8, 5},    /* or has half an entry */
      {8, 10},   /* or ends outside */
  };
  char plain[17] = "\x0C\0\0\0ABCD\x04\0\x04\0\x04\0\0\0";
  char sized[21] = "\x10\0\0\0";
  memcpy(sized + 4, plain, 16);
  check_content(sized, 20,
                TEXT("\x93\xAA"
                     "flatbuffer\xA4"
                     "ABCD\xC0"));
  sized[0] = 17; /* more than there is */
  check_content(sized, 20, TEXT("\x93\xA3raw\xC0\xC0"));
  sized[0] = 16;
  for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
    char* bytes[] = {plain, sized + 4};
    for (size_t k = 0; k < 2; k++) {
      char kept = bytes[k][edits[i].at];
      bytes[k][edits[i].at] = edits[i].value;
      check_content(k == 0 ? plain : sized, k == 0 ? 16 : 20,
                    TEXT("\x93\xA3raw\xC0\xC0"));
      bytes[k][edits[i].at] = kept;
    }
  }
  /* After the header of a ZIP archive, modules alone are recognised. */
  char zip[30 + 2 + 12] = "PK\x03\x04";
  zip[26] = 2;
  memcpy(zip + 32 + 8, "IREE", 4);
  check_content(zip, sizeof zip,
                TEXT("\x93\xAA"
                     "flatbuffer\xA4"
                     "IREE\xC0"));
  zip[32 + 8] = 'J';
  check_content(zip, sizeof zip, TEXT("\x93\xA3raw\xC0\xC0"));
}

/* The wide end record of a directory, and its locator. */
static void check_wide(void) {
  char end[] =
      "PK\x06\x07\0\0\0\0\xF4\x01\0\0\0\0\0\0\1\0\0\0"
      "PK\x05\x06\0\0\0\0\1\0\1\0\0\0\0\0\xFF\xFF\xFF\xFF\0\0";
  uint8_t out[16];
  fnabi_error error;
  enum { SIZE = 20 + 22, ORIGIN = 1000, WIDE = 500, RECORD = 56 };
  static const uint8_t before[] = "\x92\xCE\0\0\1\xF4\xDD\0\0\0";
  for (int wide_size = 0; wide_size < 2; wide_size++) { /* or a wide offset */
    /* The record is before the data: that much more is needed. */
    CHECK(fnabi_vmfb_directory(end, SIZE, ORIGIN, out, sizeof out, &error) ==
          sizeof before);
    CHECK(memcmp(out, before, sizeof before) == 0);
    /* or after them */
    CHECK(fnabi_vmfb_directory(end, SIZE, WIDE + RECORD - 1, out, sizeof out,
                               &error) == -1);
    check_error_is(&error, FNABI_MODULE_ZIP, WIDE + RECORD - 1 + 8, "");
    /* or such that the file is larger than any */
    CHECK(fnabi_vmfb_directory(end, SIZE, UINT64_MAX - 9, out, sizeof out,
                               &error) == -1);
    check_error_is(&error, FNABI_MODULE_ZIP, UINT64_MAX - 9, "");
    /* Without a locator the numbers are what they are. */
    CHECK(fnabi_vmfb_directory(end + 20, 22, ORIGIN, out, sizeof out, &error) ==
          -1);
    check_error_is(&error, FNABI_MODULE_ZIP, ORIGIN + 12, "");
    memset(end + 20 + 16, 0, 4);
    memset(end + 20 + 12, 0xFF, 4);
  }
}

int main(void) {
  check_wide();
  check_archive();
  check_isas();
  check_flatbuffers();
  CHECK(list("", 0) == FNABI_OK);
  CHECK(list(TEXT("IREE, without a ZIP header")) == FNABI_OK);
#define KIND(name, size) "\x93" size name "\xC0\xC0"
  check_content(TEXT(""), TEXT(KIND("raw", "\xA3")));
  check_content(TEXT("\x01"), TEXT(KIND("raw", "\xA3")));
  check_content(TEXT("\0\0\0\0"), TEXT(KIND("splat", "\xA5")));
  check_content(TEXT("\x01\x02\x01\x02"), TEXT(KIND("splat", "\xA5")));
  check_content(TEXT("\x01\x02\x01\x03"), TEXT(KIND("raw", "\xA3")));
  check_content(TEXT("hal.device.id"), TEXT(KIND("string table", "\xAC")));
  check_content(TEXT("caf\xC3\xA9"), TEXT(KIND("string table", "\xAC")));
  check_content(TEXT("ab\0cd\0"), TEXT(KIND("string table", "\xAC")));
  check_content(TEXT("ab\0\0cd"), TEXT(KIND("raw", "\xA3")));
  check_content(TEXT("a\tb\r\nc"), TEXT(KIND("string table", "\xAC")));
  check_content(TEXT("ab\x7F"), TEXT(KIND("raw", "\xA3")));
  check_content(TEXT("ab\x1B[0m"), TEXT(KIND("raw", "\xA3")));
  check_content(TEXT("\xFF\xFEtext"), TEXT(KIND("raw", "\xA3")));
  check_content(TEXT("\x03\x02\x23\x07\0\0\x01\0\0\0\0\0\x01\0\0\0\0\0\0\0"),
                TEXT(KIND("spir-v", "\xA6")));
  check_content(TEXT("\x07\x23\x02\x03\0\x01\0\0\0\0\0\0\0\0\0\x01\0\0\0\0"),
                TEXT(KIND("spir-v", "\xA6")));
  check_content(TEXT("\x7F"
                     "ELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\xB7\0"),
                TEXT("\x93\xA3"
                     "elf\xC0\xA6"
                     "arm_64"));
  check_content(TEXT("\x08\0\0\0ABCD\x04\0\x04\0\x04\0\0\0"),
                TEXT(KIND("raw", "\xA3"))); /* the vtable is outside */
  check_content(TEXT("\x0C\0\0\0ABCD\x04\0\x04\0\x04\0\0\0"),
                TEXT("\x93\xAA"
                     "flatbuffer\xA4"
                     "ABCD\xC0"));
  char header[64 + 16] = "VKE1";
  header[8] = 16;
  memcpy(header + 64, "\x0C\0\0\0ABCD\x04\0\x04\0\x04\0\0\0", 16);
  check_content(header, sizeof header,
                TEXT("\x93\xAA"
                     "flatbuffer\xA4"
                     "VKE1\xC0"));
  header[8] = 17; /* more than there is */
  check_content(header, sizeof header, TEXT(KIND("raw", "\xA3")));
  header[8] = 4; /* less than a FlatBuffer */
  check_content(header, 68, TEXT(KIND("raw", "\xA3")));
  return 0;
}
