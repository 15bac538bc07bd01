/* The version of the library inside an ELF executable of IREE: a host asks the
 * exported function for the one it has, and gets nothing for another. */
#include "elf/executable.h"

#include <string.h>

enum {
  HEADER = 64,
  MACHINE = 18,
  PROGRAMS = 32,     /* e_phoff */
  PROGRAM_SIZE = 54, /* e_phentsize, e_phnum */
  PROGRAM = 56,
  LOAD = 1,
  DYNAMIC = 2,
  SYMBOL = 24,
  TAG_HASH = 4,
  TAG_STRINGS = 5,
  TAG_SYMBOLS = 6,
  X86_64 = 62,
  AARCH64 = 183,
  CODE = 64 /* bytes of the function in which the comparison is */
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

/* Finds the offset in the file of an address; bytes of a segment that the file
 * does not have are zero, and hold nothing that is read here. */
static bool find_offset(const elf* e, uint64_t address, uint64_t* offset) {
  for (unsigned i = 0; i < e->count; i++) {
    const uint8_t* p = program(e, i);
    uint64_t start = little(p + 16, 8), size = little(p + 32, 8);
    if (little(p, 4) != LOAD || address < start || address - start >= size)
      continue;
    uint64_t first = little(p + 8, 8);
    if (!has(e, first, address - start)) return false;
    *offset = first + (address - start);
    return true;
  }
  return false;
}

/* Finds the address of the exported function. */
static bool find_query(const elf* e, uint64_t* address) {
  uint64_t hash = 0, strings = 0, symbols = 0;
  for (unsigned i = 0; i < e->count; i++) {
    const uint8_t* p = program(e, i);
    if (little(p, 4) != DYNAMIC) continue;
    i = e->count; /* there is only one */
    uint64_t at = little(p + 8, 8), size = little(p + 32, 8);
    for (; size >= 16 && has(e, at, 16); at += 16, size -= 16) {
      uint64_t tag = little(e->data + at, 8),
               value = little(e->data + at + 8, 8);
      if (tag == TAG_HASH) hash = value;
      if (tag == TAG_STRINGS) strings = value;
      if (tag == TAG_SYMBOLS) symbols = value;
      if (tag == 0) break;
    }
  }
  if (!find_offset(e, hash, &hash) || !find_offset(e, strings, &strings) ||
      !find_offset(e, symbols, &symbols) || !has(e, hash, 8))
    return false;
  uint64_t count = little(e->data + hash + 4, 4); /* nchain */
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
  elf e = {data, size, little(data + PROGRAMS, 8),
           (unsigned)little(data + PROGRAM_SIZE + 2, 2)};
  uint64_t address, offset;
  if (little(data + PROGRAM_SIZE, 2) == PROGRAM &&
      has(&e, e.programs, (uint64_t)e.count * PROGRAM) &&
      find_query(&e, &address) && find_offset(&e, address, &offset)) {
    size_t left = size - (size_t)offset;
    found->version =
        compared(data + offset, left < CODE ? left : CODE, found->machine);
  }
  return true;
}
