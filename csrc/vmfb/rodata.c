/* Read-only data: the names in the ZIP directory of the file, and the kind of
 * the content. */
#include "base/error.h"
#include "base/message.h"

static uint64_t little(const char* data, unsigned bytes) {
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; i++)
    value |= (uint64_t)(uint8_t)data[i] << (8 * i);
  return value;
}

static bool begins(const char* data, size_t size, const char* magic, size_t n) {
  return size >= n && memcmp(data, magic, n) == 0;
}

/* ---------------------------------------------------------- ZIP directories */

/* The file ends with the entries of the directory and its end record:
 *
 *   entry:  "PK\1\2", 6 bytes, u16 method, 4 bytes, u32 checksum, u32 packed
 *           size, u32 size, u16 name size, u16 extra size, u16 comment size, 8
 *           bytes, u32 offset of the local header, name, extra fields, comment
 *   end64:  "PK\6\6", 20 bytes, 3 times u32, u64 count, u64 size, u64 offset
 *   locator: "PK\6\7", u32, u64 offset of end64, u32
 *   end:    "PK\5\6", 6 bytes, u16 count, u32 size, u32 offset, u16 size of
 *           the comment, comment
 *   local:  "PK\3\4", 22 bytes, u16 name size, u16 extra size, name, extra
 *           fields, data
 *
 * A number with all bits set is replaced by a 64-bit number: in end64, or in
 * the extra field 1 of an entry, which contains size, packed size and offset as
 * far as the entry omits them. */

enum { ENTRY = 46, END = 22, LOCATOR = 20, END64 = 56, LOCAL = 30 };
#define COMMENT 0xFFFF /* bytes at most */
#define WIDE 0xFFFFFFFFu

typedef struct directory {
  const char* data;
  size_t size;         /* of the data, with which the file ends */
  uint64_t origin;     /* of the data in the file */
  uint64_t needed;     /* where the data has to begin, if that is before */
  uint64_t begin, end; /* of the entries in the file */
} directory;

static bool damaged(fnabi_error* error, uint64_t offset, const char* expected) {
  fnabi_fail(error, FNABI_MODULE_ZIP, offset, expected);
  return false;
}

/* Whether the range is before the file offset `end`. */
static bool inside(uint64_t offset, uint64_t size, uint64_t end) {
  return offset <= end && size <= end - offset;
}

static bool find_directory(directory* d, fnabi_error* error) {
  const char* data = d->data;
  size_t last = d->size < END ? 0 : d->size - END;
  size_t first = last > COMMENT ? last - COMMENT : 0;
  size_t at = last;
  if (d->size > UINT64_MAX - d->origin)
    return damaged(error, d->origin, "a smaller origin");
  if (d->size < END)
    return damaged(error, d->origin + d->size, "an end record");
  while (!begins(data + at, END, "PK\x05\x06", 4) ||
         at + END + little(data + at + 20, 2) > d->size) {
    if (at == first)
      return damaged(error, d->origin + d->size, "an end record");
    at--;
  }
  uint64_t size = little(data + at + 12, 4);
  d->begin = little(data + at + 16, 4);
  uint64_t limit = d->origin + at;
  if ((size == WIDE || d->begin == WIDE) && at >= LOCATOR &&
      begins(data + at - LOCATOR, LOCATOR, "PK\x06\x07", 4)) {
    uint64_t wide = little(data + at - LOCATOR + 8, 8);
    bool within = inside(wide, END64, limit - LOCATOR);
    if (within && wide < d->origin) {
      d->needed = wide;
      return true;
    }
    if (!within || !begins(data + (wide - d->origin), END64, "PK\x06\x06", 4))
      return damaged(error, limit - LOCATOR + 8, "the offset of an end record");
    size = little(data + (wide - d->origin) + 40, 8);
    d->begin = little(data + (wide - d->origin) + 48, 8);
    limit = wide;
  }
  if (!inside(d->begin, size, limit))
    return damaged(error, d->origin + at + 12,
                   "a directory before its end record");
  d->end = d->begin + size;
  d->needed = d->begin;
  return true;
}

/* A file in the directory. */
typedef struct entry {
  const char* name;
  size_t name_size;
  uint64_t packed, size, local; /* the last is the offset of the local header */
  uint32_t checksum;
  bool is_stored; /* and not compressed */
} entry;

/* Reads the numbers that an entry omits from its extra fields. */
static void widen(entry* e, const char* extra, size_t size) {
  for (size_t at = 0; size - at >= 4;) {
    size_t field = (size_t)little(extra + at + 2, 2);
    if (field > size - at - 4) return;
    if (little(extra + at, 2) == 1) {
      uint64_t* numbers[] = {&e->size, &e->packed, &e->local};
      const char* from = extra + at + 4;
      size_t left = field;
      for (int i = 0; i < 3; i++)
        if (*numbers[i] == WIDE && left >= 8) {
          *numbers[i] = little(from, 8);
          from += 8;
          left -= 8;
        }
      return;
    }
    at += 4 + field;
  }
}

/* Reads the entry at *at and advances *at. */
static bool next_entry(const directory* d, uint64_t* at, entry* e,
                       fnabi_error* error) {
  const char* head = d->data + (*at - d->origin);
  if (!inside(*at, ENTRY, d->end) || !begins(head, ENTRY, "PK\x01\x02", 4))
    return damaged(error, *at, "an entry");
  e->is_stored = little(head + 10, 2) == 0;
  e->checksum = (uint32_t)little(head + 16, 4);
  e->packed = little(head + 20, 4);
  e->size = little(head + 24, 4);
  e->name_size = (size_t)little(head + 28, 2);
  size_t extra = (size_t)little(head + 30, 2);
  size_t comment = (size_t)little(head + 32, 2);
  e->local = little(head + 42, 4);
  e->name = head + ENTRY;
  if (!inside(*at + ENTRY, e->name_size + extra + comment, d->end))
    return damaged(error, *at + 28, "a name before the directory's end");
  widen(e, e->name + e->name_size, extra);
  *at += ENTRY + e->name_size + extra + comment;
  return true;
}

static void pack_file(fnabi_writer* w, const entry* e, uint64_t at) {
  fnabi_pack_array(w, 4);
  fnabi_pack_text(w, e->name, e->name_size);
  fnabi_pack_uint(w, at);
  fnabi_pack_uint(w, e->packed);
  if (e->is_stored)
    fnabi_pack_uint(w, e->checksum);
  else
    fnabi_pack_nil(w);
}

int64_t fnabi_vmfb_files(const char* data, size_t size, uint8_t* out,
                         size_t capacity, fnabi_error* error) {
  fnabi_writer w = {out, capacity, 0};
  directory d = {.data = data, .size = size};
  size_t list = fnabi_pack_open(&w), count = 0;
  if (begins(data, size, "PK\x03\x04", 4)) {
    if (!find_directory(&d, error)) return -1;
    for (uint64_t at = d.begin; at != d.end; count++) {
      entry e;
      uint64_t start = at;
      if (!next_entry(&d, &at, &e, error)) return -1;
      if (!inside(e.local, LOCAL, d.begin) ||
          !begins(data + e.local, LOCAL, "PK\x03\x04", 4)) {
        damaged(error, start + 42, "the offset of a local header");
        return -1;
      }
      uint64_t from = e.local + LOCAL + little(data + e.local + 26, 2) +
                      little(data + e.local + 28, 2);
      if (!inside(from, e.packed, d.begin)) {
        damaged(error, start + 20, "data before the directory");
        return -1;
      }
      pack_file(&w, &e, from);
    }
  }
  fnabi_pack_close(&w, list, count);
  return (int64_t)w.size;
}

int64_t fnabi_vmfb_directory(const char* data, size_t size, uint64_t origin,
                             uint8_t* out, size_t capacity,
                             fnabi_error* error) {
  fnabi_writer w = {out, capacity, 0};
  directory d = {.data = data, .size = size, .origin = origin};
  if (!find_directory(&d, error)) return -1;
  fnabi_pack_array(&w, 2);
  fnabi_pack_uint(&w, d.needed);
  size_t list = fnabi_pack_open(&w), count = 0;
  for (uint64_t at = d.begin; d.needed >= origin && at != d.end; count++) {
    entry e;
    if (!next_entry(&d, &at, &e, error)) return -1;
    pack_file(&w, &e, e.local);
  }
  fnabi_pack_close(&w, list, count);
  return (int64_t)w.size;
}

/* ------------------------------------------------------------------ content */

/* Returns the ISA for the e_machine of an ELF file, or NULL. */
static const char* elf_isa(const char* data) {
  bool wide = data[4] == 2, big = data[5] == 2;
  unsigned machine = (unsigned)little(data + 18, 2);
  if (big) machine = (machine << 8 | machine >> 8) & 0xFFFF;
  switch (machine) {
    case 3:
      return "x86_32";
    case 40:
      return "arm_32";
    case 62:
      return "x86_64";
    case 183:
      return "arm_64";
    case 224:
      return "amdgpu";
    case 243:
      return wide ? "riscv_64" : "riscv_32";
    default:
      return NULL;
  }
}

/* Since 3.1, IREE writes a header before the FlatBuffer of an executable: the
 * identifier, u32 version, u64 size of what follows the header, and zeros. */
enum { HEADER = 64 };

/* Whether a FlatBuffer can begin at `prefix`: the root is a table inside the
 * data, and its vtable begins with its own size. */
static bool is_flatbuffer(const char* data, size_t size, size_t prefix) {
  uint64_t left = size - prefix;
  uint64_t root = left < 8 ? left : little(data + prefix, 4);
  if (root < 4 || root % 4 != 0 || !inside(root, 4, left)) return false;
  int32_t back = (int32_t)little(data + prefix + root, 4);
  int64_t vtable = (int64_t)root - back;
  if (vtable < 0 || !inside((uint64_t)vtable, 4, left)) return false;
  uint64_t own = little(data + prefix + (size_t)vtable, 2);
  return own >= 4 && own % 2 == 0 && inside((uint64_t)vtable, own, left);
}

static bool is_identifier(const char* name) {
  for (int i = 0; i < 4; i++)
    if (!(name[i] >= '0' && name[i] <= '9') &&
        !(name[i] >= 'A' && name[i] <= 'Z') && name[i] != '_')
      return false;
  return true;
}

/* Returns the four characters that identify a FlatBuffer's schema, or NULL.
 * They are in a plain buffer, after a size prefix, at the start of a header or,
 * for a module, also after a ZIP header. */
static const char* identifier(const char* data, size_t size) {
  if (begins(data, size, "PK\x03\x04", 4) && size >= LOCAL) {
    uint64_t start = LOCAL + little(data + 26, 2) + little(data + 28, 2);
    bool module =
        inside(start, 12, size) && memcmp(data + start + 8, "IREE", 4) == 0;
    return module ? data + start + 8 : NULL;
  }
  if (size >= 12 && is_identifier(data + 4) && is_flatbuffer(data, size, 0))
    return data + 4;
  if (size >= 16 && is_identifier(data + 8) && little(data, 4) <= size - 4 &&
      is_flatbuffer(data, size, 4))
    return data + 8;
  if (size >= HEADER && is_identifier(data) &&
      little(data + 8, 8) <= size - HEADER && is_flatbuffer(data, size, HEADER))
    return data;
  return NULL;
}

/* Whether the bytes repeat with a period of 1, 2, 4 or 8, at least once. */
static bool is_splat(const char* data, size_t size) {
  for (size_t width = 1; width <= 8; width *= 2)
    if (size >= 2 * width && size % width == 0 &&
        memcmp(data, data + width, size - width) == 0)
      return true;
  return false;
}

/* Whether it is UTF-8 without control characters except NULs that end a string,
 * tabs and line ends. */
static bool is_text(const char* data, size_t size) {
  if (size == 0 || data[0] == 0 || !fnabi_is_utf8((const uint8_t*)data, size))
    return false;
  for (size_t i = 0; i < size; i++) {
    unsigned char c = (unsigned char)data[i];
    if (c == 0x7F || (c < ' ' && c != 0 && c != '\t' && c != '\n' && c != '\r'))
      return false;
    if (c == 0 && data[i - 1] == 0) return false;
  }
  return true;
}

int64_t fnabi_rodata_content(const char* data, size_t size, uint8_t* out,
                             size_t capacity, fnabi_error* error) {
  (void)error; /* every content has a kind */
  fnabi_writer w = {out, capacity, 0};
  const char* kind = "raw";
  const char* isa = NULL;
  const char* name = NULL;
  if (begins(data, size,
             "\x7F"
             "ELF",
             4) &&
      size >= 20) {
    kind = "elf";
    isa = elf_isa(data);
  } else if (size >= 20 && size % 4 == 0 &&
             (begins(data, size, "\x03\x02\x23\x07", 4) ||
              begins(data, size, "\x07\x23\x02\x03", 4))) {
    kind = "spir-v";
  } else if ((name = identifier(data, size)) != NULL) {
    kind = "flatbuffer";
  } else if (is_splat(data, size)) {
    kind = "splat";
  } else if (is_text(data, size)) {
    kind = "string table";
  }
  fnabi_pack_array(&w, 3);
  fnabi_pack_ascii(&w, kind);
  if (name != NULL) {
    fnabi_pack_text(&w, name, 4);
  } else {
    fnabi_pack_nil(&w);
  }
  if (isa != NULL) {
    fnabi_pack_ascii(&w, isa);
  } else {
    fnabi_pack_nil(&w);
  }
  return (int64_t)w.size;
}
