/* The version of the library inside an ELF executable of IREE: a host asks the
 * exported function for the one it has, and gets nothing for another. */
#include "elf/executable.h"

#include <string.h>

enum {
  HEADER = 64,
  TYPE = 16,
  MACHINE = 18,
  VERSION = 20,
  PROGRAMS = 32, /* e_phoff */
  SECTIONS = 40, /* e_shoff */
  SIZES = 52,    /* e_ehsize, e_phentsize, e_phnum, e_shentsize, e_shnum */
  PROGRAM = 56,
  SECTION = 64,
  SHARED = 3, /* e_type */
  LOAD = 1,
  DYNAMIC = 2,
  READ_ONLY = 0x6474E552, /* after relocation */
  SYMBOL = 24,
  RELOCATION = 24,
  X86_64 = 62,
  AARCH64 = 183,
  MEMORY = 1 << 30,
  CODE = 64 /* bytes of the function in which the comparison is */
};
/* Tags of the dynamic table. */
enum {
  TAG_HASH = 4,
  TAG_STRINGS = 5,
  TAG_SYMBOLS = 6,
  TAG_RELOCATIONS = 7,
  TAG_RELOCATIONS_SIZE = 8,
  TAG_RELOCATION = 9,
  TAG_STRINGS_SIZE = 10,
  TAG_SYMBOL = 11,
  TAGS = 12 /* those that are read are below */
};
static const char query[] = "iree_hal_executable_library_query";

typedef struct elf {
  const uint8_t* data;
  size_t size;
  uint64_t programs;
  unsigned count;
} elf;

static uint64_t little(const uint8_t* bytes, unsigned count) {
  uint64_t value = 0;
  for (unsigned i = 0; i < count; i++) value |= (uint64_t)bytes[i] << (8 * i);
  return value;
}

/* Returns whether `count` bytes at `offset` are in the file. */
static bool has(const elf* e, uint64_t offset, uint64_t count) {
  return offset <= e->size && count <= e->size - offset;
}

/* Returns a program header, all of which are in the file. */
static const uint8_t* program(const elf* e, unsigned i) {
  return e->data + e->programs + (uint64_t)i * PROGRAM;
}

/* Finds the offset in the file of an address with `count` bytes in its segment;
 * those that the file does not have are zero, and hold nothing that is read
 * here. */
static bool find_range(const elf* e, uint64_t address, uint64_t count,
                       uint64_t* offset) {
  for (unsigned i = 0; i < e->count; i++) {
    const uint8_t* p = program(e, i);
    uint64_t start = little(p + 16, 8), size = little(p + 32, 8);
    if (little(p, 4) != LOAD || address < start || address - start >= size ||
        count > size - (address - start))
      continue;
    uint64_t first = little(p + 8, 8);
    if (!has(e, first, size)) return false;
    *offset = first + (address - start);
    return true;
  }
  return false;
}

static bool find_offset(const elf* e, uint64_t address, uint64_t* offset) {
  return find_range(e, address, 1, offset);
}

/* Whether an address and what follows are in memory that is loaded. */
static bool is_loaded(const elf* e, uint64_t address, uint64_t count) {
  for (unsigned i = 0; i < e->count; i++) {
    const uint8_t* p = program(e, i);
    uint64_t start = little(p + 16, 8), size = little(p + 40, 8);
    if (little(p, 4) == LOAD && address >= start && address - start <= size &&
        count <= size - (address - start))
      return true;
  }
  return false;
}

/* Reads the program headers as a loader does: all of them are in the file, and
 * so is what they load. */
static bool has_header(elf* e) {
  const uint8_t* sizes = e->data + SIZES;
  uint64_t sections = little(e->data + SECTIONS, 8);
  uint64_t section_count = little(sizes + 8, 2);
  e->programs = little(e->data + PROGRAMS, 8);
  e->count = (unsigned)little(sizes + 4, 2);
  if (little(e->data + TYPE, 2) != SHARED ||
      little(e->data + VERSION, 4) != 1 || little(sizes, 2) != HEADER ||
      little(sizes + 2, 2) != PROGRAM || little(sizes + 6, 2) != SECTION ||
      e->programs == 0 || e->count == 0 || sections == 0 ||
      section_count == 0 || !has(e, sections, section_count * SECTION) ||
      !has(e, e->programs, (uint64_t)e->count * PROGRAM))
    return false;
  for (unsigned i = 0; i < e->count; i++) {
    const uint8_t* p = program(e, i);
    uint64_t flags = little(p + 4, 4);
    if (little(p, 4) == LOAD &&
        (!has(e, little(p + 8, 8), little(p + 32, 8)) || (flags & 3) == 3))
      return false;
  }
  return true;
}

/* Whether a loader has the memory for the segments, and protects nothing else.
 */
static bool is_usual(const elf* e) {
  for (unsigned i = 0; i < e->count; i++) {
    const uint8_t* p = program(e, i);
    uint64_t start = little(p + 16, 8), size = little(p + 40, 8);
    uint64_t kind = little(p, 4);
    if (kind == LOAD &&
        (start >= MEMORY || size >= MEMORY || size < little(p + 32, 8)))
      return false;
    if (kind == READ_ONLY && !is_loaded(e, start, size)) return false;
  }
  return true;
}

/* Reads the dynamic table, which a loader reads in memory to its end. */
static bool read_dynamic(const elf* e, uint64_t tags[TAGS]) {
  tags[TAG_RELOCATION] = RELOCATION; /* those of a table without sizes */
  tags[TAG_SYMBOL] = SYMBOL;
  for (unsigned i = 0; i < e->count; i++) {
    const uint8_t* p = program(e, i);
    if (little(p, 4) != DYNAMIC) continue; /* there is only one */
    uint64_t at, size = little(p + 32, 8);
    if (size < 16 || !find_range(e, little(p + 16, 8), size, &at)) return false;
    for (; size >= 16; at += 16, size -= 16) {
      uint64_t tag = little(e->data + at, 8);
      if (tag < TAGS) tags[tag] = little(e->data + at + 8, 8);
    }
    return tags[TAG_RELOCATION] == RELOCATION && tags[TAG_SYMBOL] == SYMBOL &&
           tags[TAG_STRINGS] != 0 && tags[TAG_STRINGS_SIZE] != 0 &&
           tags[TAG_SYMBOLS] != 0 && tags[TAG_HASH] != 0;
  }
  return false;
}

/* Whether relocations, of which those of x86-64 are known, write into loaded
 * memory and refer to symbols that there are. Without an address, a loader
 * reads them at address 0. Usual ones are all RELATIVE: what others, and NONE,
 * leave in the tables of the library is not known. */
static bool can_relocate(const elf* e, const uint64_t tags[TAGS],
                         unsigned machine, uint64_t symbols, bool* usual) {
  /* 64, PC32, COPY, GLOB_DAT, JUMP_SLOT, RELATIVE, 32, 32S */
  enum { KNOWN = 1 << 1 | 1 << 2 | 1 << 5 | 7 << 6 | 3 << 10, RELATIVE = 8 };
  uint64_t at, size = tags[TAG_RELOCATIONS_SIZE];
  size -= size % RELOCATION;
  if (size == 0 || machine != X86_64) return true;
  if (!find_range(e, tags[TAG_RELOCATIONS], size, &at)) return false;
  for (; size != 0; size -= RELOCATION, at += RELOCATION) {
    uint64_t type = little(e->data + at + 8, 4);
    uint64_t symbol = little(e->data + at + 12, 4);
    *usual = *usual && type == RELATIVE;
    if (type == 0) continue;
    if (type > 11 || (KNOWN >> type & 1) == 0 ||
        (symbol != 0 && symbol >= symbols) ||
        !is_loaded(e, little(e->data + at, 8), 8))
      return false;
  }
  return true;
}

/* Finds the address of the exported function. */
static bool find_query(const elf* e, const uint64_t tags[TAGS],
                       uint64_t symbol_count, uint64_t* address) {
  uint64_t strings, symbols;
  if (!find_offset(e, tags[TAG_STRINGS], &strings) ||
      !find_offset(e, tags[TAG_SYMBOLS], &symbols))
    return false;
  uint64_t count = symbol_count;
  for (; count > 0 && has(e, symbols, SYMBOL); count--, symbols += SYMBOL) {
    uint64_t name = little(e->data + symbols, 4);
    if (!has(e, strings, name) || !has(e, strings + name, sizeof query) ||
        memcmp(e->data + strings + name, query, sizeof query) != 0)
      continue;
    *address = little(e->data + symbols + 8, 8);
    return true;
  }
  return false;
}

/* The first comparison of the first argument with a small constant; -1 without
 * one. Unoptimised code compares a copy in memory. */
static int compared(const uint8_t* code, size_t size, unsigned machine) {
  if (machine == X86_64)
    for (size_t i = 0; i + 4 <= size; i++) {
      if (code[i] == 0x83 && code[i + 1] == 0xFF) /* cmp edi, n */
        return code[i + 2];
      if (code[i] == 0x83 && code[i + 1] == 0x7D) /* cmp [rbp + m], n */
        return code[i + 3];
      if (code[i] == 0x83 && code[i + 1] == 0x7C && i + 5 <= size &&
          code[i + 2] == 0x24) /* cmp [rsp + m], n */
        return code[i + 4];
    }
  if (machine == AARCH64)
    for (size_t i = 0; i + 4 <= size; i += 4) {
      uint64_t word = little(code + i, 4);
      if ((word & 0xFFC0001F) == 0x7100001F) /* cmp w, n */
        return (int)(word >> 10 & 0xFFF);
    }
  return -1;
}

bool fnabi_elf_executable(const uint8_t* data, size_t size,
                          fnabi_executable* found) {
  static const uint8_t magic[] = {0x7F, 'E', 'L', 'F', 2, 1};
  if (size < HEADER || memcmp(data, magic, sizeof magic) != 0) return false;
  *found = (fnabi_executable){(uint16_t)little(data + MACHINE, 2), -1};
  elf e = {data, size, 0, 0};
  uint64_t tags[TAGS] = {0}, hash, address, offset;
  if (!has_header(&e) || !read_dynamic(&e, tags)) return false;
  if (!find_range(&e, tags[TAG_HASH], 8, &hash)) return false;
  uint64_t symbols = little(data + hash + 4, 4); /* nchain */
  bool usual = is_usual(&e);
  if (symbols == 0 || !can_relocate(&e, tags, found->machine, symbols, &usual))
    return false;
  if (usual && find_query(&e, tags, symbols, &address) &&
      find_offset(&e, address, &offset)) {
    size_t left = size - (size_t)offset;
    found->version =
        compared(data + offset, left < CODE ? left : CODE, found->machine);
  }
  return true;
}
