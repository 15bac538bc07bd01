/* Decodes the dynamic symbols of ELF shared libraries (System V gABI, chapters
 * 4 and 5, and the GNU hash table). The decoder uses what the dynamic linker
 * uses. The linker ignores section headers, so they are used only for what the
 * segments do not contain. */
#include "base/error.h"
#include "base/message.h"

#define FUNCTION_PREFIX "__tvm_ffi_"
#define OWN_PREFIX "__fnabi_"
#define VARIABLE_PREFIX "__TVM"
#define RUNTIME_PREFIX "TVM"

enum { IDENT = 16, ELF_32 = 1, ELF_64, LITTLE = 1, BIG };
enum { LOAD = 1, DYNAMIC };                                 /* p_type */
enum { S_DYNAMIC = 6, NOBITS = 8, DYNSYM = 11, ALLOC = 2 }; /* sh_type, flag */
enum { COUNT_ELSEWHERE = 0xFFFF };  /* e_phnum: the count is in section 0 */
enum { ALPHA = 0x9026, S390 = 22 }; /* machines with 64-bit hash tables */
enum { MIPS = 8 };                  /* has its own relocation format */
enum { LOCAL = 0, GLOBAL, WEAK, UNIQUE = 10 };          /* binding */
enum { NOTYPE = 0, OBJECT, FUNC, TLS = 6, IFUNC = 10 }; /* symbol type */
enum { DEFAULT = 0, PROTECTED = 3 };                    /* visibility */

enum {
  DT_NULL = 0,
  DT_NEEDED = 1,
  DT_HASH = 4,
  DT_STRTAB = 5,
  DT_SYMTAB = 6,
  DT_RELA = 7,
  DT_RELASZ = 8,
  DT_STRSZ = 10,
  DT_SYMENT = 11,
  DT_SONAME = 14,
  DT_RPATH = 15,
  DT_REL = 17,
  DT_RELSZ = 18,
  DT_BIND_NOW = 24,
  DT_RUNPATH = 29,
  DT_FLAGS = 30,
  DT_GNU_HASH = 0x6FFFFEF5,
  DT_FLAGS_1 = 0x6FFFFFFB
};
#define DF_BIND_NOW 8
#define DF_1_NOW 1

/* Bounds the work. Names may overlap in the string table, but in the output of
 * a linker their total length is far below this many times the file size. */
#define TEXT_LIMIT 8

typedef struct range {
  uint64_t offset, size;
} range;

/* The last dynamic entry with a tag. `at` is the offset of its value, or 0 if
 * there is no such entry. */
typedef struct entry {
  uint64_t value, at;
} entry;

typedef struct elf {
  const uint8_t* data;
  uint64_t size;
  bool wide, big;
  uint64_t type, machine;
  uint64_t segments, segment_count;
  uint64_t sections, section_count; /* 0 if section headers are unusable */
  bool loads;                       /* whether there is a PT_LOAD */
  range dynamic, strings, symbols;  /* symbols: to the end of the segment */
  uint64_t symbol_count;
  entry hash, gnu_hash, strtab, symtab, strsz, syment, soname, rpath, runpath,
      rel, relsz, rela, relasz;
  bool bind_now;
  uint64_t text_left;
  fnabi_error* error;
} elf;

static bool fail(const elf* e, int32_t code, uint64_t offset,
                 const char* expected, const char* path) {
  fnabi_fail(e->error, code, offset < e->size ? offset : e->size, expected);
  fnabi_path_field(e->error, path);
  return false;
}

static bool fail_at(const elf* e, int32_t code, uint64_t offset,
                    const char* expected, const char* field, const char* path,
                    uint64_t index) {
  fail(e, code, offset, expected, field);
  fnabi_path_index(e->error, index);
  fnabi_path_field(e->error, path);
  return false;
}

static bool inside(const elf* e, uint64_t offset, uint64_t size) {
  return offset <= e->size && size <= e->size - offset;
}

static uint64_t get(const elf* e, uint64_t at, unsigned bytes) {
  const uint8_t* p = e->data + at;
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; i++)
    value = value << 8 | p[e->big ? i : bytes - 1 - i];
  return value;
}

static unsigned word_size(const elf* e) { return e->wide ? 8 : 4; }

static uint64_t word(const elf* e, uint64_t at) {
  return get(e, at, word_size(e));
}

/* ------------------------------------------------------------------ headers */

typedef struct segment {
  uint64_t type, offset, address, size; /* size: in the file */
} segment;

static unsigned segment_size(const elf* e) { return e->wide ? 56 : 32; }

static segment segment_at(const elf* e, uint64_t index) {
  uint64_t at = e->segments + index * segment_size(e);
  unsigned n = word_size(e);
  /* offset, address, physical address and size follow each other */
  uint64_t offset = at + (e->wide ? 8 : 4);
  return (segment){get(e, at, 4), word(e, offset), word(e, offset + n),
                   word(e, offset + 3 * n)};
}

typedef struct section {
  uint64_t type, flags, address, offset, size, info;
} section;

static unsigned section_size(const elf* e) { return e->wide ? 64 : 40; }

static section section_at(const elf* e, uint64_t index) {
  uint64_t at = e->sections + index * section_size(e);
  unsigned n = word_size(e);
  /* flags, address, offset and size follow each other, then link and info */
  return (section){get(e, at + 4, 4),       word(e, at + 8),
                   word(e, at + 8 + n),     word(e, at + 8 + 2 * n),
                   word(e, at + 8 + 3 * n), get(e, at + 12 + 4 * n, 4)};
}

/* Section headers outside the file are ignored: they are often stripped on
 * purpose, and a library can be loaded without them. */
static void find_sections(elf* e, uint64_t offset, uint64_t count,
                          uint64_t size) {
  e->section_count = 0;
  e->sections = offset;
  if (offset == 0 || size != section_size(e) || !inside(e, offset, size))
    return;
  if (count == 0) count = section_at(e, 0).size;
  if (count <= (e->size - offset) / size) e->section_count = count;
}

static bool read_headers(elf* e) {
  static const uint8_t magic[4] = {0x7F, 'E', 'L', 'F'};
  for (size_t i = 0; i < sizeof magic; i++)
    if (i >= e->size || e->data[i] != magic[i])
      return fail(e, FNABI_LIBRARY_MAGIC, i, NULL, "header");
  if (e->size < IDENT)
    return fail(e, FNABI_LIBRARY_RANGE, e->size, NULL, "header");
  e->wide = e->data[4] == ELF_64;
  if (e->data[4] != ELF_32 && e->data[4] != ELF_64)
    return fail(e, FNABI_LIBRARY_HEADER, 4, "1 or 2", "header.class");
  e->big = e->data[5] == BIG;
  if (e->data[5] != LITTLE && e->data[5] != BIG)
    return fail(e, FNABI_LIBRARY_HEADER, 5, "1 or 2", "header.data");
  if (e->data[6] != 1)
    return fail(e, FNABI_LIBRARY_HEADER, 6, "1", "header.version");
  uint64_t end = e->wide ? 64 : 52;
  if (e->size < end)
    return fail(e, FNABI_LIBRARY_RANGE, e->size, NULL, "header");
  e->type = get(e, 16, 2);
  e->machine = get(e, 18, 2);

  uint64_t offsets = e->wide ? 32 : 28, sizes = end - 10;
  find_sections(e, word(e, offsets + word_size(e)), get(e, sizes + 6, 2),
                get(e, sizes + 4, 2));
  e->segments = word(e, offsets);
  e->segment_count = get(e, sizes + 2, 2);
  if (e->segment_count == COUNT_ELSEWHERE && e->section_count != 0)
    e->segment_count = section_at(e, 0).info;
  if (e->segment_count == 0) return true;
  if (get(e, sizes, 2) != segment_size(e))
    return fail(e, FNABI_LIBRARY_HEADER, sizes, "the size of a program header",
                "header.phentsize");
  if (!inside(e, e->segments, e->segment_count * segment_size(e)))
    return fail(e, FNABI_LIBRARY_RANGE, offsets, NULL, "segments");
  for (uint64_t i = 0; i < e->segment_count; i++) {
    segment s = segment_at(e, i);
    if (s.type != LOAD) continue;
    e->loads = true;
    if (!inside(e, s.offset, s.size))
      return fail_at(e, FNABI_LIBRARY_RANGE, e->segments + i * segment_size(e),
                     NULL, "", "segments", i);
  }
  return true;
}

/* Finds the file offset of an address, and the number of bytes up to the end of
 * its segment. If segments overlap, the last one counts, because it is mapped
 * last. Without segments, sections are used. */
static bool locate(const elf* e, uint64_t address, range* found) {
  bool is_found = false;
  for (uint64_t i = 0; i < e->segment_count; i++) {
    segment s = segment_at(e, i);
    if (s.type != LOAD || !inside(e, s.offset, s.size) || address < s.address ||
        address - s.address >= s.size)
      continue;
    uint64_t into = address - s.address;
    *found = (range){s.offset + into, s.size - into};
    is_found = true;
  }
  for (uint64_t i = 0; !e->loads && i < e->section_count; i++) {
    section s = section_at(e, i);
    if ((s.flags & ALLOC) == 0 || s.type == NOBITS ||
        !inside(e, s.offset, s.size) || address < s.address ||
        address - s.address >= s.size)
      continue;
    uint64_t into = address - s.address;
    *found = (range){s.offset + into, s.size - into};
    is_found = true;
  }
  return is_found;
}

static bool find_section(const elf* e, uint64_t type, section* found) {
  for (uint64_t i = 0; i < e->section_count; i++) {
    *found = section_at(e, i);
    if (found->type == type && inside(e, found->offset, found->size))
      return true;
  }
  return false;
}

/* ------------------------------------------------------------------ dynamic */

static bool find_dynamic(elf* e) {
  for (uint64_t i = 0; i < e->segment_count; i++) {
    segment s = segment_at(e, i);
    if (s.type != DYNAMIC) continue;
    range there;
    if (!locate(e, s.address, &there) || s.size > there.size)
      return fail_at(e, FNABI_LIBRARY_ADDRESS,
                     e->segments + i * segment_size(e), NULL, "", "segments",
                     i);
    e->dynamic = (range){there.offset, s.size};
    return true;
  }
  section s;
  if (!find_section(e, S_DYNAMIC, &s))
    return fail(e, FNABI_LIBRARY_DYNAMIC, e->size, "PT_DYNAMIC", "dynamic");
  e->dynamic = (range){s.offset, s.size};
  return true;
}

/* Counts the entries before DT_NULL. */
static uint64_t dynamic_count(const elf* e) {
  uint64_t count = e->dynamic.size / (2 * word_size(e)), i = 0;
  while (i < count &&
         word(e, e->dynamic.offset + i * 2 * word_size(e)) != DT_NULL)
    i++;
  return i;
}

static void read_dynamic(elf* e) {
  for (uint64_t i = 0, n = dynamic_count(e); i < n; i++) {
    uint64_t at = e->dynamic.offset + i * 2 * word_size(e);
    entry found = {word(e, at + word_size(e)), at + word_size(e)};
    switch (word(e, at)) {
      case DT_HASH:
        e->hash = found;
        break;
      case DT_GNU_HASH:
        e->gnu_hash = found;
        break;
      case DT_STRTAB:
        e->strtab = found;
        break;
      case DT_SYMTAB:
        e->symtab = found;
        break;
      case DT_STRSZ:
        e->strsz = found;
        break;
      case DT_SYMENT:
        e->syment = found;
        break;
      case DT_SONAME:
        e->soname = found;
        break;
      case DT_RPATH:
        e->rpath = found;
        break;
      case DT_RUNPATH:
        e->runpath = found;
        break;
      case DT_REL:
        e->rel = found;
        break;
      case DT_RELSZ:
        e->relsz = found;
        break;
      case DT_RELA:
        e->rela = found;
        break;
      case DT_RELASZ:
        e->relasz = found;
        break;
      case DT_BIND_NOW:
        e->bind_now = true;
        break;
      case DT_FLAGS:
        e->bind_now = e->bind_now || (found.value & DF_BIND_NOW) != 0;
        break;
      case DT_FLAGS_1:
        e->bind_now = e->bind_now || (found.value & DF_1_NOW) != 0;
        break;
    }
  }
}

static bool required(const elf* e, const entry* found, const char* name) {
  if (found->at != 0) return true;
  return fail(e, FNABI_LIBRARY_DYNAMIC, e->dynamic.offset, name, "dynamic");
}

static bool located(const elf* e, const entry* found, const char* path,
                    range* there) {
  if (locate(e, found->value, there)) return true;
  return fail(e, FNABI_LIBRARY_ADDRESS, found->at, NULL, path);
}

/* The table must end with a NUL, so that each string in it does. */
static bool find_strings(elf* e) {
  if (!required(e, &e->strtab, "DT_STRTAB") ||
      !required(e, &e->strsz, "DT_STRSZ") ||
      !located(e, &e->strtab, "dynamic.strtab", &e->strings))
    return false;
  uint64_t size = e->strsz.value;
  if (size > e->strings.size)
    return fail(e, FNABI_LIBRARY_RANGE, e->strsz.at, NULL, "dynamic.strsz");
  e->strings.size = size;
  if (size == 0 || e->data[e->strings.offset + size - 1] != 0)
    return fail(e, FNABI_LIBRARY_STRING, e->strings.offset + size, "a NUL",
                "dynamic.strtab");
  return true;
}

/* Reads the string at `offset` of the table. `at` is the file offset of the
 * field that contains `offset`, for errors. */
static bool read_text(elf* e, uint64_t offset, uint64_t at, const char** text,
                      size_t* size) {
  if (offset >= e->strings.size)
    return fail(e, FNABI_LIBRARY_STRING, at, NULL, "");
  *text = (const char*)e->data + e->strings.offset + offset;
  const char* end = memchr(*text, 0, (size_t)(e->strings.size - offset));
  *size = end == NULL ? SIZE_MAX : (size_t)(end - *text);
  if (*size > UINT32_MAX) return fail(e, FNABI_LIBRARY_STRING, at, NULL, "");
  if (*size > e->text_left) return fail(e, FNABI_WORK, at, NULL, "");
  e->text_left -= *size;
  return true;
}

/* ------------------------------------------------------------------ symbols */

/* hash ::= nbucket nchain bucket[nbucket] chain[nchain]
 * There is one chain entry per symbol. */
static bool count_by_hash(elf* e) {
  range there;
  if (!located(e, &e->hash, "dynamic.hash", &there)) return false;
  unsigned n = e->wide && (e->machine == S390 || e->machine == ALPHA) ? 8 : 4;
  if (there.size < 2 * n)
    return fail(e, FNABI_LIBRARY_HASH, there.offset, NULL, "hash");
  uint64_t buckets = get(e, there.offset, n),
           chains = get(e, there.offset + n, n), room = there.size / n - 2;
  if (buckets > room || chains > room - buckets)
    return fail(e, FNABI_LIBRARY_HASH, there.offset, NULL, "hash");
  e->symbol_count = chains;
  return true;
}

/* gnu_hash ::= nbucket first nbloom shift bloom[nbloom] bucket[nbucket] chain*
 * A bucket holds the lowest symbol index of its chain, or 0 if it is empty.
 * There is one chain entry per symbol from `first` on; the last entry of a
 * chain is odd. So the chain with the highest start ends at the last symbol. If
 * all buckets are empty, the table does not contain the number of symbols. */
static bool count_by_gnu_hash(elf* e) {
  range there;
  if (!located(e, &e->gnu_hash, "dynamic.gnu_hash", &there)) return false;
  if (there.size < 16)
    return fail(e, FNABI_LIBRARY_HASH, there.offset, NULL, "gnu_hash");
  uint64_t buckets = get(e, there.offset, 4),
           first = get(e, there.offset + 4, 4),
           blooms = get(e, there.offset + 8, 4);
  uint64_t room = there.size - 16, before = blooms * word_size(e);
  if (before > room || buckets > (room - before) / 4)
    return fail(e, FNABI_LIBRARY_HASH, there.offset, NULL, "gnu_hash");
  uint64_t bucket = there.offset + 16 + before, last = 0;
  for (uint64_t i = 0; i < buckets; i++) {
    uint64_t symbol = get(e, bucket + 4 * i, 4);
    if (symbol != 0 && symbol < first)
      return fail_at(e, FNABI_LIBRARY_HASH, bucket + 4 * i, NULL, "",
                     "gnu_hash.buckets", i);
    if (symbol > last) last = symbol;
  }
  if (last == 0) {
    section s;
    if (find_section(e, DYNSYM, &s) && s.address == e->symtab.value)
      e->symbol_count = s.size / (e->wide ? 24 : 16);
    else
      e->symbol_count = first;
    return true;
  }
  uint64_t chain = bucket + 4 * buckets;
  uint64_t chains = (room - before) / 4 - buckets;
  for (uint64_t i = last - first; i < chains; i++)
    if ((get(e, chain + 4 * i, 4) & 1) != 0) {
      e->symbol_count = first + i + 1;
      return true;
    }
  return fail(e, FNABI_LIBRARY_HASH, there.offset + there.size,
              "the end of a chain", "gnu_hash.chains");
}

static unsigned symbol_size(const elf* e) { return e->wide ? 24 : 16; }

static bool find_symbols(elf* e) {
  if (!required(e, &e->symtab, "DT_SYMTAB") ||
      !located(e, &e->symtab, "dynamic.symtab", &e->symbols))
    return false;
  if (e->syment.at != 0 && e->syment.value != symbol_size(e))
    return fail(e, FNABI_LIBRARY_HEADER, e->syment.at, "the size of a symbol",
                "dynamic.syment");
  section s;
  if (e->hash.at != 0) {
    if (!count_by_hash(e)) return false;
  } else if (e->gnu_hash.at != 0) {
    if (!count_by_gnu_hash(e)) return false;
  } else if (find_section(e, DYNSYM, &s) && s.address == e->symtab.value) {
    e->symbol_count = s.size / symbol_size(e);
  } else {
    return fail(e, FNABI_LIBRARY_DYNAMIC, e->dynamic.offset,
                "DT_HASH or DT_GNU_HASH", "dynamic");
  }
  if (e->symbol_count > e->symbols.size / symbol_size(e))
    return fail(e, FNABI_LIBRARY_RANGE, e->symtab.at, NULL, "symbols");
  return true;
}

typedef struct symbol {
  uint64_t at, name, section, value;
  unsigned binding, type, visibility;
} symbol;

static symbol symbol_at(const elf* e, uint64_t index) {
  uint64_t at = e->symbols.offset + index * symbol_size(e);
  unsigned info = e->data[at + (e->wide ? 4 : 12)];
  unsigned other = e->data[at + (e->wide ? 5 : 13)];
  return (symbol){at,
                  get(e, at, 4),
                  get(e, at + (e->wide ? 6 : 14), 2),
                  word(e, at + (e->wide ? 8 : 4)),
                  info >> 4,
                  info & 15,
                  other & 3};
}

/* Whether the name at this offset of the string table has the prefix. */
static bool begins(const elf* e, uint64_t name, const char* prefix) {
  size_t n = strlen(prefix);
  return n <= e->strings.size - name &&
         memcmp(e->data + e->strings.offset + name, prefix, n) == 0;
}

static bool is_exported(const elf* e, const symbol* s) {
  return s->section != 0 &&
         (s->binding == GLOBAL || s->binding == WEAK || s->binding == UNIQUE) &&
         (s->visibility == DEFAULT || s->visibility == PROTECTED) &&
         s->type != TLS &&
         (begins(e, s->name, FUNCTION_PREFIX) ||
          begins(e, s->name, OWN_PREFIX) ||
          begins(e, s->name, VARIABLE_PREFIX));
}

/* The namespace tvm::ffi, in the names that C++ compilers give to functions and
 * methods, and to what describes classes. */
static bool is_cpp(const elf* e, uint64_t name) {
  static const char* const prefixes[] = {"_ZN3tvm3ffi", "_ZNK3tvm3ffi",
                                         "_ZTIN3tvm3ffi", "_ZTVN3tvm3ffi"};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (begins(e, name, prefixes[i])) return true;
  return false;
}

static bool is_runtime(const elf* e, const symbol* s) {
  return s->section == 0 && s->binding != LOCAL &&
         (begins(e, s->name, RUNTIME_PREFIX) ||
          (s->binding != WEAK && is_cpp(e, s->name)));
}

static const char* kind_of(const symbol* s) {
  if (s->type == FUNC || s->type == IFUNC) return "function";
  return s->type == OBJECT ? "object" : "other";
}

/* Packs the exported symbols, or the undefined ones that the TVM-FFI runtime
 * provides. */
static bool pack_symbols(elf* e, bool exported, fnabi_writer* w) {
  size_t place = fnabi_pack_open(w), count = 0;
  for (uint64_t i = 1; i < e->symbol_count; i++) {
    symbol s = symbol_at(e, i);
    const char* text = NULL;
    size_t size = 0;
    bool sound = s.name < e->strings.size;
    if (sound && !(exported ? is_exported(e, &s) : is_runtime(e, &s))) continue;
    if (!read_text(e, s.name, s.at, &text, &size)) {
      fnabi_path_field(e->error, ".name");
      fnabi_path_index(e->error, i);
      fnabi_path_field(e->error, "symbols");
      return false;
    }
    fnabi_pack_array(w, exported ? 3 : 2);
    fnabi_pack_text(w, text, size);
    if (exported) {
      fnabi_pack_ascii(w, kind_of(&s));
      fnabi_pack_uint(w, s.value);
    } else {
      fnabi_pack_bool(w, s.binding == WEAK);
    }
    count++;
  }
  fnabi_pack_close(w, place, count);
  return true;
}

/* relocation ::= address info [addend] The dynamic linker applies the
 * relocations in DT_REL and DT_RELA when it loads the library, even if it binds
 * calls, which are in DT_JMPREL, lazily. */
static bool is_early(const elf* e, const entry* table, const entry* size,
                     unsigned words, const char* path, bool* early) {
  range there;
  if (table->at == 0 || size->at == 0 || size->value == 0 ||
      (e->wide && e->machine == MIPS))
    return true;
  if (!located(e, table, path, &there)) return false;
  if (size->value > there.size)
    return fail(e, FNABI_LIBRARY_RANGE, size->at, NULL, path);
  unsigned n = word_size(e), step = n * words;
  for (uint64_t i = 0; i < size->value / step; i++) {
    uint64_t index = word(e, there.offset + i * step + n) >> (e->wide ? 32 : 8);
    if (index >= e->symbol_count) continue;
    symbol s = symbol_at(e, index);
    if (s.name < e->strings.size && s.binding != WEAK && is_runtime(e, &s))
      *early = true;
  }
  return true;
}

/* -------------------------------------------------------------- the message */

static bool pack_needed(elf* e, fnabi_writer* w) {
  size_t place = fnabi_pack_open(w), count = 0;
  for (uint64_t i = 0, n = dynamic_count(e); i < n; i++) {
    uint64_t at = e->dynamic.offset + i * 2 * word_size(e);
    const char* text = NULL;
    size_t size = 0;
    if (word(e, at) != DT_NEEDED) continue;
    at += word_size(e);
    if (!read_text(e, word(e, at), at, &text, &size)) {
      fnabi_path_index(e->error, count);
      fnabi_path_field(e->error, "needed");
      return false;
    }
    fnabi_pack_text(w, text, size);
    count++;
  }
  fnabi_pack_close(w, place, count);
  return true;
}

static bool pack_optional(elf* e, const entry* found, const char* path,
                          fnabi_writer* w) {
  const char* text = NULL;
  size_t size = 0;
  if (found->at == 0) {
    fnabi_pack_nil(w);
    return true;
  }
  if (!read_text(e, found->value, found->at, &text, &size)) {
    fnabi_path_field(e->error, path);
    return false;
  }
  fnabi_pack_text(w, text, size);
  return true;
}

int64_t fnabi_library_decode(const char* data, size_t size, uint8_t* out,
                             size_t capacity, fnabi_error* error) {
  elf e = {.data = (const uint8_t*)data, .size = size, .error = error};
  fnabi_writer w = {out, capacity, 0};
  e.text_left = TEXT_LIMIT * (uint64_t)size;
  if (!read_headers(&e) || !find_dynamic(&e)) return -1;
  read_dynamic(&e);
  if (!find_strings(&e) || !find_symbols(&e)) return -1;

  bool early = false;
  if (!is_early(&e, &e.rel, &e.relsz, 2, "dynamic.rel", &early) ||
      !is_early(&e, &e.rela, &e.relasz, 3, "dynamic.rela", &early))
    return -1;

  fnabi_pack_array(&w, 11);
  fnabi_pack_uint(&w, e.wide ? 64 : 32);
  fnabi_pack_ascii(&w, e.big ? "big" : "little");
  fnabi_pack_uint(&w, e.type);
  fnabi_pack_uint(&w, e.machine);
  fnabi_pack_bool(&w, e.bind_now);
  fnabi_pack_bool(&w, early);
  const entry* run = e.runpath.at != 0 ? &e.runpath : &e.rpath;
  if (!pack_optional(&e, &e.soname, "soname", &w) ||
      !pack_optional(&e, run, "runpath", &w) || !pack_needed(&e, &w) ||
      !pack_symbols(&e, true, &w) || !pack_symbols(&e, false, &w))
    return -1;
  return (int64_t)w.size;
}
