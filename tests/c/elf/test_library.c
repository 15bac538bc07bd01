/* `test_library write FOLDER` writes the files of the corpus. */
#include "elf/elf.h"

enum {
  FUNC = 0x12,
  OBJECT = 0x11,
  WEAK = 0x20,
  WEAK_FUNC = 0x22,
  NOTYPE = 0x10
};

static const elf_symbol symbols[] = {
    {"TVMFFIErrorSetRaised", NOTYPE, 0, 0, 0},
    {"TVMFFIGetVersion", WEAK, 0, 0, 0},
    {"TVMFFILocal", 0, 0, 0, 0},
    {"malloc", FUNC, 0, 0, 0},
    {"__tvm_ffi_wanted", FUNC, 0, 0, 0},
    /* the rest are defined */
    {"__tvm_ffi_add", FUNC, 0, 1, 0x1234},
    {"__tvm_ffi_weak", WEAK_FUNC, 3, 1, 200},
    {"__tvm_ffi__library_ctx", OBJECT, 0, 1, 0x10},
    {"__tvm_ffi_plain", NOTYPE, 0, 1, 1},
    {"__tvm_ffi_hidden", FUNC, 2, 1, 1},
    {"__tvm_ffi_local", 0x02, 0, 1, 1},
    {"__tvm_ffi_thread", 0x16, 0, 1, 1},
    {"__fnabi_error_slot", FUNC, 0, 1, 2},
    {"TVMFFIOwn", FUNC, 0, 1, 1},
    {"__tvm_ff", FUNC, 0, 1, 1},
};
enum { SYMBOLS = sizeof symbols / sizeof *symbols, DEFINED = SYMBOLS - 5 };
static const char* const needed[] = {"libtvm_ffi.so", "libc.so.6"};

static elf_file sample(bool wide, bool big, unsigned flags) {
  elf_file f = {.wide = wide,
                .big = big,
                .flags = flags,
                .machine = (flags & WIDE_HASH) != 0 ? 22 : 62,
                .symbols = symbols,
                .symbol_count = SYMBOLS,
                .hashed = DEFINED,
                .needed = needed,
                .needed_count = 2,
                .soname = "libadd.so",
                .dt_flags = 8,
                .relocated = 1};
  elf_make(&f);
  return f;
}

/* The message of the samples without its first fields, written by hand. */
static const char rest[] =
    "\xC3\xC2\xA9"
    "libadd.so\xC0\xDD\0\0\0\2\xAD"
    "libtvm_ffi.so\xA9"
    "libc.so.6\xDD\0\0\0\5"
    "\x93\xAD__tvm_ffi_add\xA8"
    "function\xCE\0\0\x12\x34"
    "\x93\xAE__tvm_ffi_weak\xA8"
    "function\xCE\0\0\0\xC8"
    "\x93\xB6__tvm_ffi__library_ctx\xA6object\x10"
    "\x93\xAF__tvm_ffi_plain\xA5other\1"
    "\x93\xB2__fnabi_error_slot\xA8"
    "function\2"
    "\xDD\0\0\0\2\x92\xB4TVMFFIErrorSetRaised\xC2\x92\xB0TVMFFIGetVersion\xC3";

static void test_decode(void) {
  static const unsigned flags[] = {0,
                                   GNU_HASH,
                                   GNU_HASH | SECTIONS,
                                   NO_HASH | SECTIONS,
                                   SECTIONS | NO_SEGMENTS,
                                   GNU_HASH | SECTIONS | NO_SEGMENTS};
  for (int kind = 0; kind < 4; kind++)
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
      bool wide = kind % 2 != 0, big = kind / 2 != 0;
      elf_file f = sample(wide, big, flags[i]);
      char message[512];
      int head = sprintf(message, "\x9B%c%s", wide ? 64 : 32,
                         big ? "\xA3"
                               "big\3"
                             : "\xA6little\3");
      message[head++] = 62;
      memcpy(message + head, rest, sizeof rest - 1);
      check_answer(&(call){library_decode, f.data, f.size, 0, 0}, message,
                   (size_t)head + sizeof rest - 1);
    }
}

/* Changing one number results in this error. */
static void check_refused(const elf_file* good, size_t at, uint64_t value,
                          unsigned bytes, int32_t code, uint64_t offset,
                          const char* path) {
  elf_file f = *good;
  fnabi_error error;
  elf_patch(&f, at, value, bytes);
  char* copy = exact(f.data, f.size);
  CHECK(!library_takes(copy, f.size, &error));
  check_error_is(&error, code, offset, path);
  release(copy);
}

/* On some machines the hash table has 64-bit entries. */
static void test_wide_hash(void) {
  fnabi_error error;
  size_t size[2];
  elf_file f = sample(true, true, WIDE_HASH);
  elf_patch(&f, 18, 0x9026, 2); /* Alpha */
  CHECK(library_takes(f.data, f.size, &error));
  elf_patch(&f, 18, 22, 2); /* S390 */
  for (int i = 0; i < 2; i++) {
    uint8_t* message = output_of(&(call){library_decode, f.data, f.size, 0, 0},
                                 &size[i], &error);
    CHECK(message != NULL);
    release(message);
    elf_patch(&f, 18, 62, 2); /* 32-bit entries: nchain is the old nbucket */
  }
  CHECK(size[0] > size[1] + 100);
  check_refused(&f, f.hash + 4, UINT32_MAX, 4, FNABI_LIBRARY_HASH, f.hash,
                "hash");
}

/* The first section has the number of segments that the header has no room for.
 */
static void test_many_segments(void) {
  elf_file f = sample(true, false, SECTIONS); /* its first section has zeros */
  fnabi_error error;
  elf_patch(&f, 56, 0xFFFF, 2);
  CHECK(library_takes(f.data, f.size, &error));
}

/* Undefined symbols are listed even if nothing is exported. An empty hash table
 * does not contain the number of symbols; a section header may. */
static void test_nothing_exported(void) {
  for (unsigned sections = 0; sections <= SECTIONS; sections += SECTIONS) {
    elf_file f = {.wide = true,
                  .flags = GNU_HASH | sections,
                  .symbols = symbols,
                  .symbol_count = 2};
    fnabi_error error;
    elf_make(&f);
    elf_patch(&f, f.hash + 4, 1, 4); /* as the GNU linker writes it */
    call c = {library_decode, f.data, f.size, 0, 0};
    size_t size;
    uint8_t* message = output_of(&c, &size, &error);
    CHECK(message != NULL);
    CHECK((size > 41) == (sections != 0));
    release(message);
  }
}

static uint8_t bind_now(uint64_t flags, uint64_t flags_1) {
  elf_file f = {.wide = true,
                .symbols = symbols,
                .symbol_count = 1,
                .dt_flags = flags,
                .dt_flags_1 = flags_1};
  fnabi_error error;
  elf_make(&f);
  size_t size;
  uint8_t* message =
      output_of(&(call){library_decode, f.data, f.size, 0, 0}, &size, &error);
  CHECK(message != NULL);
  uint8_t value = message[11];
  release(message);
  return value;
}

static size_t value_of(const elf_file* f, uint64_t tag);

static void test_bind_now(void) {
  elf_file f = sample(true, false, 0);
  elf_patch(&f, value_of(&f, 1) - 8, 24, 8); /* DT_BIND_NOW, before DT_FLAGS */
  elf_patch(&f, value_of(&f, 30), 0, 8);
  fnabi_error error;
  size_t size;
  call c = {library_decode, f.data, f.size, 0, 0};
  uint8_t* message = output_of(&c, &size, &error);
  CHECK(message != NULL && message[11] == 0xC3);
  release(message);
  CHECK(bind_now(0, 0) == 0xC2);
  CHECK(bind_now(4, 2) == 0xC2);
  CHECK(bind_now(12, 0) == 0xC3);
  CHECK(bind_now(0, 9) == 0xC3);
}

/* The file offset of the value of a dynamic tag. */
static size_t value_of(const elf_file* f, uint64_t tag) {
  for (size_t at = f->dynamic;; at += 16) {
    uint64_t found = 0;
    for (int i = 7; i >= 0; i--) found = found << 8 | f->data[at + (size_t)i];
    if (found == tag) return at + 8;
    CHECK(found != 0);
  }
}

/* Whether a symbol must be resolved when the library is loaded, if the library
 * has a data relocation against it. */
static uint8_t early(bool wide, size_t relocated) {
  elf_file f = {.wide = wide,
                .big = wide,
                .flags = RELOCATIONS,
                .symbols = symbols,
                .symbol_count = SYMBOLS,
                .relocated = relocated};
  fnabi_error error;
  elf_make(&f);
  size_t size;
  uint8_t* message =
      output_of(&(call){library_decode, f.data, f.size, 0, 0}, &size, &error);
  CHECK(message != NULL);
  uint8_t value = message[wide ? 9 : 12];
  release(message);
  return value;
}

static void test_early(void) {
  for (int wide = 0; wide < 2; wide++) {
    CHECK(early(wide, 1) == 0xC3);  /* TVMFFIErrorSetRaised */
    CHECK(early(wide, 2) == 0xC2);  /* weak */
    CHECK(early(wide, 3) == 0xC2);  /* local */
    CHECK(early(wide, 4) == 0xC2);  /* of another library */
    CHECK(early(wide, 14) == 0xC2); /* defined */
    CHECK(early(wide, 0) == 0xC2);
    CHECK(early(wide, 5000) == 0xC2);
  }
  elf_file small = sample(false, false, RELOCATIONS);
  fnabi_error error;
  for (size_t at = small.dynamic;; at += 8) /* DT_REL */
    if (small.data[at] == 17 && small.data[at + 1] == 0) {
      elf_patch(&small, at + 4, 0, 4);
      CHECK(!library_takes(small.data, small.size, &error));
      check_error_is(&error, FNABI_LIBRARY_ADDRESS, at + 4, "dynamic.rel");
      break;
    }
  elf_file f = sample(true, false, RELOCATIONS);
  size_t at = value_of(&f, 7);
  check_refused(&f, at, 0, 8, FNABI_LIBRARY_ADDRESS, at, "dynamic.rela");
  check_refused(&f, at + 16, UINT64_MAX, 8, FNABI_LIBRARY_RANGE, at + 16,
                "dynamic.rela");
}

/* Whether the message of a library with one symbol names it. */
static bool names(const char* name, int section) {
  elf_symbol one = {name, FUNC, 0, (uint16_t)section, 1};
  elf_file f = {.wide = true, .symbols = &one, .symbol_count = 1};
  fnabi_error error;
  size_t size, length = strlen(name);
  elf_make(&f);
  call c = {library_decode, f.data, f.size, 0, 0};
  uint8_t* message = output_of(&c, &size, &error);
  CHECK(message != NULL);
  bool found = false;
  for (size_t at = 0; at + length <= size; at++)
    found |= memcmp(message + at, name, length) == 0;
  release(message);
  return found;
}

static void test_names(void) {
  CHECK(names("__TVM_variable", 1) && !names("__TVX_variable", 1));
  CHECK(names("_ZN3tvm3ffi4callEv", 0) && !names("_ZN3tvm3ffi4callEv", 1));
  CHECK(names("_ZNK3tvm3ffi4sizeEv", 0) && names("_ZTIN3tvm3ffi3AnyE", 0));
  CHECK(names("_ZTVN3tvm3ffi3AnyE", 0) && !names("_ZN3tvm4callEv", 0));
}

/* The names of needed libraries may overlap up to a limit too. */
static void test_shared_libraries(void) {
  static char name[1800];
  static const char* all[16];
  memset(name, 'x', sizeof name - 1);
  for (int i = 0; i < 16; i++) all[i] = i == 0 ? name : "";
  elf_file f = {.wide = true,
                .symbols = symbols,
                .symbol_count = 1,
                .needed = all,
                .needed_count = 16};
  elf_make(&f);
  fnabi_error error;
  size_t first = 0, at = f.dynamic;
  uint64_t place = 0;
  for (int i = 0; i < 16; at += 16) {
    if (f.data[at] != 1 || f.data[at + 1] != 0) continue;
    if (i++ == 0) {
      first = at + 8;
      place = f.data[first] | (uint64_t)f.data[first + 1] << 8;
    } else {
      elf_patch(&f, at + 8, place, 8);
    }
  }
  CHECK(!library_takes(f.data, f.size, &error));
  CHECK(error.code == FNABI_WORK && memcmp(error.path, "needed[", 7) == 0);
}

static void test_errors(void) {
  elf_file f = sample(true, false, 0), g = sample(true, false, GNU_HASH);
  elf_file none = sample(true, false, NO_HASH);
  const uint64_t huge = UINT64_MAX - 8;
  size_t second = f.segments + 56;
  check_refused(&f, 2, 'l', 1, FNABI_LIBRARY_MAGIC, 2, "header");
  check_refused(&f, 4, 3, 1, FNABI_LIBRARY_HEADER, 4, "header.class");
  check_refused(&f, 5, 0, 1, FNABI_LIBRARY_HEADER, 5, "header.data");
  check_refused(&f, 6, 0, 1, FNABI_LIBRARY_HEADER, 6, "header.version");
  check_refused(&f, 54, 57, 2, FNABI_LIBRARY_HEADER, 54, "header.phentsize");
  check_refused(&f, 32, huge, 8, FNABI_LIBRARY_RANGE, 32, "segments");
  check_refused(&f, 56, 0xFFFF, 2, FNABI_LIBRARY_RANGE, 32, "segments");
  check_refused(&f, f.segments + 8, huge, 8, FNABI_LIBRARY_RANGE, f.segments,
                "segments[0]");
  check_refused(&f, f.segments + 32, f.size + 1, 8, FNABI_LIBRARY_RANGE,
                f.segments, "segments[0]");
  check_refused(&f, second, 7, 4, FNABI_LIBRARY_DYNAMIC, f.size, "dynamic");
  check_refused(&f, 56, 0, 2, FNABI_LIBRARY_DYNAMIC, f.size, "dynamic");
  check_refused(&f, second + 16, 0, 8, FNABI_LIBRARY_ADDRESS, second,
                "segments[1]");
  check_refused(&f, second + 32, huge, 8, FNABI_LIBRARY_ADDRESS, second,
                "segments[1]");
  size_t at = value_of(&f, 5);
  check_refused(&f, at - 8, 999, 8, FNABI_LIBRARY_DYNAMIC, f.dynamic,
                "dynamic");
  check_refused(&f, at, 0, 8, FNABI_LIBRARY_ADDRESS, at, "dynamic.strtab");
  at = value_of(&f, 10);
  check_refused(&f, at, huge, 8, FNABI_LIBRARY_RANGE, at, "dynamic.strsz");
  check_refused(&f, at, 0, 8, FNABI_LIBRARY_STRING, f.strings,
                "dynamic.strtab");
  check_refused(&f, f.symtab - 1, 'x', 1, FNABI_LIBRARY_STRING, f.symtab,
                "dynamic.strtab");
  check_refused(&f, value_of(&f, 11), 16, 8, FNABI_LIBRARY_HEADER,
                value_of(&f, 11), "dynamic.syment");
  at = value_of(&f, 6);
  check_refused(&f, at, huge, 8, FNABI_LIBRARY_ADDRESS, at, "dynamic.symtab");
  check_refused(&f, at, f.dynamic + ELF_BASE, 8, FNABI_LIBRARY_RANGE, at,
                "symbols");
  at = value_of(&f, 14);
  check_refused(&f, at, huge, 8, FNABI_LIBRARY_STRING, at, "soname");
  at = value_of(&f, 1) + 16;
  check_refused(&f, at, huge, 8, FNABI_LIBRARY_STRING, at, "needed[1]");
  at = f.symtab + 3 * 24;
  check_refused(&f, at, 5000, 4, FNABI_LIBRARY_STRING, at, "symbols[3].name");
  at = value_of(&f, 4);
  check_refused(&f, at, huge, 8, FNABI_LIBRARY_ADDRESS, at, "dynamic.hash");
  check_refused(&f, at, f.size - 7 + ELF_BASE, 8, FNABI_LIBRARY_HASH,
                f.size - 7, "hash");
  check_refused(&f, f.hash, UINT32_MAX, 4, FNABI_LIBRARY_HASH, f.hash, "hash");
  check_refused(&f, f.hash + 4, UINT32_MAX, 4, FNABI_LIBRARY_HASH, f.hash,
                "hash");
  check_refused(&none, second, 2, 4, FNABI_LIBRARY_DYNAMIC, none.dynamic,
                "dynamic");

  at = value_of(&g, 0x6FFFFEF5);
  check_refused(&g, at, 0, 8, FNABI_LIBRARY_ADDRESS, at, "dynamic.gnu_hash");
  check_refused(&g, at, g.size - 15 + ELF_BASE, 8, FNABI_LIBRARY_HASH,
                g.size - 15, "gnu_hash");
  check_refused(&g, g.hash, UINT32_MAX, 4, FNABI_LIBRARY_HASH, g.hash,
                "gnu_hash");
  check_refused(&g, g.hash + 8, UINT32_MAX, 4, FNABI_LIBRARY_HASH, g.hash,
                "gnu_hash");
  check_refused(&g, g.hash + 24, 1, 4, FNABI_LIBRARY_HASH, g.hash + 24,
                "gnu_hash.buckets[0]");
  check_refused(&g, g.hash + 24, UINT32_MAX, 4, FNABI_LIBRARY_HASH, g.size,
                "gnu_hash.chains");
}

/* Overlapping names are accepted up to a limit on their total length. */
static void test_shared_names(void) {
  static char name[200] = "__tvm_ffi_";
  static elf_symbol all[64];
  memset(name + 10, 'x', sizeof name - 11);
  elf_file f = {.wide = true, .symbols = all, .symbol_count = 64};
  for (int i = 0; i < 64; i++)
    all[i] = (elf_symbol){i == 0 ? name : "", FUNC, 0, 1, 0};
  elf_make(&f);
  fnabi_error error;
  for (size_t i = 1; i < 64; i++) {
    elf_patch(&f, f.symtab + 24 + 24 * i, 1, 4);
    bool taken = library_takes(f.data, f.size, &error);
    CHECK(taken == ((i + 1) * 199 <= 8 * f.size));
    if (!taken) CHECK(error.code == FNABI_WORK);
  }
  f.size /= 8; /* truncated */
  CHECK(!library_takes(f.data, f.size, &error));
}

/* Every truncation, and every byte set to many values. */
static void test_damage(void) {
  static const unsigned flags[] = {RELOCATIONS, GNU_HASH | SECTIONS,
                                   NO_HASH | SECTIONS | NO_SEGMENTS};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    elf_file f = sample(i != 1, i == 2, flags[i]);
    fnabi_error error;
    size_t taken = 0, end = f.size;
    if ((flags[i] & SECTIONS) != 0 && i == 1) end -= 4 * 40;
    for (size_t cut = 0; cut < f.size; cut++) {
      char* copy = exact(f.data, cut);
      CHECK(library_takes(copy, cut, &error) == (cut >= end));
      release(copy);
    }
    char* changed = exact(f.data, f.size);
    for (size_t at = 0; at < f.size; at++) {
      for (int byte = 0; byte < 256; byte += 5) {
        changed[at] = (char)byte;
        taken += library_takes(changed, f.size, &error);
      }
      changed[at] = (char)f.data[at];
    }
    CHECK(taken > f.size && taken < 52 * f.size);
    release(changed);
  }
}

static void write_file(const char* folder, const char* name, elf_file f) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE* file = fopen(path, "wb");
  CHECK(file != NULL && fwrite(f.data, 1, f.size, file) == f.size);
  CHECK(fclose(file) == 0);
}

int main(int count, char** arguments) {
  if (count == 3 && strcmp(arguments[1], "write") == 0) {
    write_file(arguments[2], "hash", sample(true, false, RELOCATIONS));
    write_file(arguments[2], "gnu_hash", sample(true, false, GNU_HASH));
    write_file(arguments[2], "small_big",
               sample(false, true, GNU_HASH | SECTIONS));
    write_file(arguments[2], "sections",
               sample(false, false, NO_HASH | SECTIONS | NO_SEGMENTS));
    write_file(arguments[2], "wide_hash", sample(true, true, WIDE_HASH));
    return 0;
  }
  test_decode();
  test_wide_hash();
  test_many_segments();
  test_nothing_exported();
  test_bind_now();
  test_early();
  test_names();
  test_errors();
  test_shared_names();
  test_shared_libraries();
  test_damage();
  return 0;
}
