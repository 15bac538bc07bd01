/* elf.h - writes small ELF files of any class and byte order, and checks what
 * must hold for any input to fnabi_library_decode. */
#ifndef ELF_H
#define ELF_H

#include "check.h"

DEFINE_WRITER(library_decode, fnabi_library_decode)

/* Whether a file is accepted. If not, the offset of the error is in the file.
 */
static inline bool library_takes(const void* data, size_t size,
                                 fnabi_error* error) {
  call c = {library_decode, data, size, 0, 0};
  size_t written;
  uint8_t* message = output_of(&c, &written, error);
  if (message == NULL) {
    check_error(error, size);
    return false;
  }
  CHECK(written > 10);
  release(message);
  return true;
}

enum { ELF_CAPACITY = 4096 };

typedef struct elf_symbol {
  const char* name;
  unsigned info, other, section;
  uint64_t value;
} elf_symbol;

enum {
  GNU_HASH = 1,
  SECTIONS = 2,
  NO_SEGMENTS = 4,
  NO_HASH = 8,
  WIDE_HASH = 16,
  RELOCATIONS = 32
};

typedef struct elf_file {
  bool wide, big;
  unsigned flags, machine;
  const elf_symbol* symbols; /* those that GNU_HASH omits come first */
  size_t symbol_count, hashed;
  const char* const* needed;
  size_t needed_count;
  const char* soname;
  uint64_t dt_flags, dt_flags_1;
  size_t relocated; /* the symbol of the one relocation */
  /* set by elf_make */
  uint8_t data[ELF_CAPACITY];
  size_t size, header, segments, dynamic, strings, symtab, hash, relocations;
} elf_file;

#define ELF_BASE 0x10000 /* address = file offset + ELF_BASE */

static inline void elf_put(elf_file* f, uint64_t value, unsigned bytes) {
  CHECK(f->size + bytes <= ELF_CAPACITY);
  for (unsigned i = 0; i < bytes; i++)
    f->data[f->size + (f->big ? bytes - 1 - i : i)] = (uint8_t)(value >> 8 * i);
  f->size += bytes;
}

static inline void elf_word(elf_file* f, uint64_t value) {
  elf_put(f, value, f->wide ? 8 : 4);
}

static inline void elf_patch(elf_file* f, size_t at, uint64_t value,
                             unsigned bytes) {
  size_t size = f->size;
  f->size = at;
  elf_put(f, value, bytes);
  f->size = size;
}

static inline uint64_t elf_text(elf_file* f, const char* text) {
  size_t at = f->size;
  for (size_t i = 0; i <= strlen(text); i++) elf_put(f, (uint8_t)text[i], 1);
  return at - f->strings;
}

static inline void elf_entry(elf_file* f, uint64_t tag, uint64_t value) {
  elf_word(f, tag);
  elf_word(f, value);
}

static inline void elf_segment(elf_file* f, unsigned type, size_t at,
                               size_t size) {
  elf_put(f, type, 4);
  if (f->wide) elf_put(f, 5, 4);
  elf_word(f, at);
  elf_word(f, at + ELF_BASE);
  elf_word(f, at + ELF_BASE);
  elf_word(f, size);
  elf_word(f, size);
  if (!f->wide) elf_put(f, 5, 4);
  elf_word(f, 1);
}

static inline void elf_section(elf_file* f, unsigned type, size_t at,
                               size_t size) {
  elf_put(f, 0, 4);
  elf_put(f, type, 4);
  elf_word(f, type == 0 ? 0 : 2); /* loaded */
  elf_word(f, type == 0 ? 0 : at + ELF_BASE);
  elf_word(f, at);
  elf_word(f, size);
  elf_put(f, 0, 8);
  elf_word(f, 1);
  elf_word(f, 0);
}

static inline void elf_put_symbol(elf_file* f, uint64_t name,
                                  const elf_symbol* s) {
  elf_put(f, name, 4);
  if (!f->wide) {
    elf_put(f, s->value, 4);
    elf_put(f, 8, 4);
  }
  elf_put(f, s->info, 1);
  elf_put(f, s->other, 1);
  elf_put(f, s->section, 2);
  if (f->wide) {
    elf_put(f, s->value, 8);
    elf_put(f, 8, 8);
  }
}

/* header, segments, strings, symbols, hash, dynamic, sections */
static inline void elf_make(elf_file* f) {
  unsigned word = f->wide ? 8 : 4;
  uint64_t names[64], needed[16], soname = 0;
  bool segments = (f->flags & NO_SEGMENTS) == 0;
  CHECK(f->symbol_count <= 64 && f->needed_count <= 16);
  f->size = 0;
  elf_put(f, 0x7F, 1);
  for (const char* p = "ELF"; *p != 0; p++) elf_put(f, (uint8_t)*p, 1);
  elf_put(f, f->wide ? 2 : 1, 1);
  elf_put(f, f->big ? 2 : 1, 1);
  elf_put(f, 1, 1);
  elf_put(f, 0, 8);
  elf_put(f, 0, 1);
  elf_put(f, 3, 2); /* a shared library */
  elf_put(f, f->machine, 2);
  elf_put(f, 1, 4);
  elf_word(f, 0);
  f->header = f->size;
  f->segments = f->wide ? 64 : 52;
  elf_word(f, segments ? f->segments : 0);
  elf_word(f, 0); /* sections, filled in below */
  elf_put(f, 0, 4);
  elf_put(f, f->segments, 2);
  elf_put(f, f->wide ? 56 : 32, 2);
  elf_put(f, segments ? 2 : 0, 2);
  elf_put(f, f->wide ? 64 : 40, 2);
  elf_put(f, 0, 4);
  CHECK(f->size == f->segments);
  for (int i = 0; segments && i < 2 * (f->wide ? 56 : 32); i++)
    elf_put(f, 0, 1);

  f->strings = f->size;
  elf_put(f, 0, 1);
  for (size_t i = 0; i < f->symbol_count; i++)
    names[i] = elf_text(f, f->symbols[i].name);
  for (size_t i = 0; i < f->needed_count; i++)
    needed[i] = elf_text(f, f->needed[i]);
  if (f->soname != NULL) soname = elf_text(f, f->soname);
  size_t string_size = f->size - f->strings;

  f->symtab = f->size;
  elf_put_symbol(f, 0, &(elf_symbol){0});
  for (size_t i = 0; i < f->symbol_count; i++)
    elf_put_symbol(f, names[i], &f->symbols[i]);
  size_t symtab_size = f->size - f->symtab;

  f->hash = f->size;
  if ((f->flags & GNU_HASH) != 0) {
    size_t first = 1 + f->symbol_count - f->hashed;
    elf_put(f, 2, 4);
    elf_put(f, first, 4);
    elf_put(f, 1, 4);
    elf_put(f, 6, 4);
    elf_word(f, UINT64_MAX);
    elf_put(f, 0, 4);
    elf_put(f, f->hashed == 0 ? 0 : first, 4);
    for (size_t i = 0; i < f->hashed; i++) elf_put(f, i + 1 == f->hashed, 4);
  } else if ((f->flags & NO_HASH) == 0) {
    unsigned n = (f->flags & WIDE_HASH) != 0 ? 8 : 4;
    elf_put(f, 1, n);
    elf_put(f, 1 + f->symbol_count, n);
    for (size_t i = 0; i < 2 + f->symbol_count; i++) elf_put(f, 0, n);
  }

  f->relocations = f->size;
  if ((f->flags & RELOCATIONS) != 0) {
    elf_word(f, 0);
    elf_word(f, (uint64_t)f->relocated << (f->wide ? 32 : 8) | 6);
    if (f->wide) elf_word(f, 0); /* REL where it is 32 bits, RELA where 64 */
  }

  f->dynamic = f->size;
  for (size_t i = 0; i < f->needed_count; i++) elf_entry(f, 1, needed[i]);
  if (f->soname != NULL) elf_entry(f, 14, soname);
  if ((f->flags & GNU_HASH) != 0)
    elf_entry(f, 0x6FFFFEF5, f->hash + ELF_BASE);
  else if ((f->flags & NO_HASH) == 0)
    elf_entry(f, 4, f->hash + ELF_BASE);
  elf_entry(f, 5, f->strings + ELF_BASE);
  elf_entry(f, 6, f->symtab + ELF_BASE);
  elf_entry(f, 10, string_size);
  elf_entry(f, 11, f->wide ? 24 : 16);
  if ((f->flags & RELOCATIONS) != 0) {
    elf_entry(f, f->wide ? 7 : 17, f->relocations + ELF_BASE);
    elf_entry(f, f->wide ? 8 : 18, f->dynamic - f->relocations);
  }
  if (f->dt_flags != 0) elf_entry(f, 30, f->dt_flags);
  if (f->dt_flags_1 != 0) elf_entry(f, 0x6FFFFFFB, f->dt_flags_1);
  elf_entry(f, 0, 0);
  size_t end = f->size;

  if (segments) {
    f->size = f->segments;
    elf_segment(f, 1, 0, end);
    elf_segment(f, 2, f->dynamic, end - f->dynamic);
    f->size = end;
  }
  if ((f->flags & SECTIONS) != 0) {
    elf_patch(f, f->header + word, end, word);
    elf_patch(f, f->segments - 4, 4, 2);
    elf_section(f, 0, 0, 0);
    elf_section(f, 1, 0, end);
    elf_section(f, 11, f->symtab, symtab_size);
    elf_section(f, 6, f->dynamic, end - f->dynamic);
  }
}

#endif /* ELF_H */
