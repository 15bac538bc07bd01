/* What is wrong with bytecode is found, each in its place; and whatever memory
 * or work is lacking while that is written is reported, and the rest freed. */
#include "base/message.h"
#include "refusals.h"
#include "vmfb/bytecode.h"

DEFINE_WRITER(bytecode_check, fnabi_bytecode_check)
DEFINE_WRITER(demands, fnabi_vmfb_demands)

static int64_t bytecode_listing(const call* c, uint8_t* out, size_t capacity,
                                fnabi_error* error) {
  return fnabi_bytecode_disassemble(c->data, c->size, 0, 1, out, capacity,
                                    error);
}

/* Two functions in a module that share their code, in hexadecimal: | is the
 * padding byte before a list at an odd offset, and ! the same that is not 0.
 * What is found in the second function, whose calling convention is 0i_i: codes
 * without "bytecode-", at offsets in its code; -1 for what is in its
 * descriptor. A convention of another size is that of the first function, and
 * what is found is in that. */
typedef struct faults {
  int major, requirements, blocks, values, refs;
  const char* convention; /* NULL: as it is */
  const char* code;
  const char* found;
} faults;

static const faults all[] = {
    {17, 3, 9, 8, 4, NULL,
     "79 0E0100 0C0800 0C0080 14 00C00000 12 040000000000 0080 "
     "11 020000000080 00 0D0000000000 08 0200000000000000 0080 "
     "1F 00000100!0100 0900 0200 1F 00000100|0100 0080 0200 "
     "58 01000000|0100 0900 0100 0900 58 01000000|0000 0100 0000 "
     "58 01000000|0200 0000 0900 0100 0000 58 01000000|0100 0000 0000 "
     "58 01000000!0100 0000 0100 0000 "
     "58 02000000|0100 0900 0100 0900 58 06000080|0000 0000 "
     "59 00000000|0000 0100 0900 0100 0900 "
     "59 05000080|0100 0200 0400 0000 0000 0000 0000 0000 "
     "59 05000080|0300 0000 0000 FFFF 0100 0000 0000 "
     "59 05000080|0200 0000 0000 0100 0000 0000 "
     "59 05000080!0100 0000 0000 0000 "
     "58 05000080|0000 0000 "
     "85!0100 0900 5C 00000000 0000 5C 07000080 0000 "
     "E0 04 0800 E1 00 0C000000 0000 "
     "87 01000000|0100 0000 00000000|0100 0000 "
     "79 56 00000000!0300 0900 0000 0000 0900 0000 0080 "
     "79 57 0000 FFFF0000!0100 0900 0000 02000000|0000 "
     "79 57 0000 00000000|0000 02000000!0100 0000 0900 "
     "79 83 0000 00000000!0000 0200 FFFF0000|0000 02000000|0000 "
     "79 83 0000 00000000|0000 0200 00000000!0000 02000000|0100 0900 0000 "
     "79 5B 0900!0000 "
     "79 5A!0100 0900 "
     "79 5A|0000 "
     "79 5A|0200 0000 0000 "
     "00",
     "odd@2 register@5 bank@8 move@11 type@16 rodata@25 global@32 "
     "global@39 register@56 bank@68 register@80 register@84 missing@92 "
     "register@108 surplus@104 missing@124 padding@131 callee@141 "
     "register@148 register@152 callee@155 import@165 register@174 "
     "register@178 surplus@216 segments@208 surplus@234 segments@228 "
     "padding@245 segments@260 padding@265 register@268 import@271 "
     "callee@278 register@286 global@290 yield@296 register@322 "
     "register@328 remap@330 target@338 register@344 register@372 "
     "target@384 register@422 register@428 register@436 missing@440 "
     "surplus@444 trailing@450 blocks@-1 target@348 target@364 "
     "target@384 target@408 "},
    {15, 4, -1, -1, -1, NULL, "79 0C0800 860000 5A|0100 0000",
     "feature@-1 module-negative@-1 module-negative@-1 "
     "module-negative@-1 arguments@-1 register@2 opcode@4 "},
    {16, 4, 1, 16385, 8193, NULL, "79 14 00C00000 5A|0100 0080",
     "feature@-1 registers@-1 registers@-1 move@2 bank@10 "},
    {17, 15, 1, 3, 4, NULL, "79 0E0000 0E0200 0C0300 E1 04 0200 5A|0100 0000",
     "register@5 register@8 register@12 "},
    {17, 16, 1, 8, 4, NULL, "", "feature@-1 terminator@-1 "},
    {17, 15, 1, 8, 4, NULL, "79", "terminator@1 "},
    {17, 15, 1, 8, 4, NULL, "5A|0100 0000", "outside@0 "},
    {17, 15, 1, 8, 4, NULL, "79 79 5A|0100 0000", "nested@1 "},
    {17, 15, 1, 8, 4, NULL, "79 0D 0000", "end@1 "},
    {17, 15, 1, 8, 4, NULL, "79 89", "opcode@1 "},
    {17, 15, 1, 8, 4, NULL, "79 E0", "opcode@1 "},
    {17, 14, 1, 8, 4, NULL, "79 E0", "opcode@1 "},
    {17, 15, 2, 8, 4, NULL, "79 5A|0100 0000", "blocks@-1 "},
    {17, 15, 1, 8, 4, NULL, "79 59 05000080|0000 0000 0000 5A|0100 0000",
     "segments@6 "},
    {18, 15, 1, 8, 4, NULL, "79 5A|01000000", ""},
    {17, 2, 1, 8, 4, NULL, "79 E0040000 5A|0100 0000", "feature@1 "},
    {17, 3, 1, 8, 4, "0q_i", "79 58 01000000|0100 0900 0100 0900 5A|0100 0900",
     "cconv@-1 cconv@2 register@8 register@12 register@18 "},
    {17, 3, 1, 8, 4, "0CiID_rI", "79 5A|0000", "cconv@-1 missing@2 "},
    {17, 15, 1, 8, 4, NULL,
     "79 0C0000 1F 00000000!0100 0000 0000 0E0000 1F 00000000!0100 0000 0000 "
     "56 00000000!0000 79 0E0000 0C0000 56 00000000!0000 "
     "79 83 0000 00000000|0000 0200 00000000!0000 00000000!0000 "
     "79 0C0000 83 0000 00000000!0000 0200 00000000!0000 00000000!0000 "
     "79 57 0000 00000000!0000 00000000!0000 "
     "79 0C0000 57 0000 00000000!0000 00000000!0000",
     "padding@9 padding@35 padding@87 padding@131 blocks@-1 "},
};

static size_t assemble(const char* text, uint8_t* code) {
  size_t size = 0;
  for (; *text != 0; text++) {
    unsigned byte;
    if (*text == '|' || *text == '!') {
      if (size % 2 != 0) code[size++] = *text == '!';
    } else if (*text != ' ') {
      CHECK(sscanf(text++, "%2x", &byte) == 1);
      code[size++] = (uint8_t)byte;
    }
  }
  return size;
}

static void put(char* at, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) at[i] = (char)(value >> (8 * i));
}

/* The module of these functions, with *size bytes of code; the template ends in
 * the size of its code, which is empty. */
static char* build(const faults* f, const uint8_t* code, size_t* size,
                   uint64_t* origin) {
  fnabi_bytecode b;
  fnabi_error error;
  size_t head, added = *size;
  char* template = read_file("../tests/data/bytecode/template.vmfb", &head);
  *size = head + added;
  char* data = exact(NULL, *size);
  memcpy(data, template, head);
  memcpy(data + head, code, added);
  release(template);
  put(data, *size - 4, 4);
  put(data + head - 4, added, 4);
  CHECK(fnabi_bytecode_open(&b, data, *size, &error));
  for (size_t i = 0; i < b.function_count; i++) {
    char* at = data + b.functions[i].place;
    put(at + 4, added, 4);
    put(at + 8, (uint64_t)f->requirements, 4);
    put(at + 14, (uint64_t)f->blocks, 2);
    put(at + 16, (uint64_t)f->values, 2);
    put(at + 18, (uint64_t)f->refs, 2);
  }
  put(data + b.version_place, (uint64_t)f->major << 16, 4);
  if (f->convention != NULL) {
    const char* kept =
        b.functions[strlen(f->convention) == 4].callee.cconv.data;
    memcpy(data + (kept - data), f->convention, strlen(f->convention));
  }
  fnabi_bytecode_close(&b);
  *origin = head;
  return data;
}

/* Lists what a message of findings has about a function. */
static void list(const uint8_t* message, size_t size, uint64_t origin,
                 int ordinal, char* out) {
  fnabi_reader r = {message, size, 0};
  for (size_t count = fnabi_read_array(&r); count > 0; count--) {
    CHECK(fnabi_read_array(&r) == 9);
    fnabi_text code = fnabi_read_text(&r);
    int64_t offset = fnabi_read_int(&r);
    fnabi_read_past(&r, 3); /* the path, the text and the severity */
    bool about = !fnabi_unpack_nil(&r) && fnabi_read_int(&r) == ordinal;
    fnabi_read_past(&r, 3);
    if (!about) continue;
    if (code.size > 9 && memcmp(code.data, "bytecode-", 9) == 0) {
      code.data += 9;
      code.size -= 9;
    }
    int64_t place = offset - (int64_t)origin;
    out += sprintf(out, "%.*s@%lld ", (int)code.size, code.data,
                   place < 0 ? -1LL : (long long)place);
  }
  *out = 0;
  CHECK(r.at == size);
}

static void check_faults(const faults* f) {
  static char found[1 << 14];
  uint8_t code[1 << 12];
  fnabi_error error;
  size_t size = assemble(f->code, code), written;
  uint64_t origin;
  char* data = build(f, code, &size, &origin);
  call c = {bytecode_check, data, size, 0, 0};
  uint8_t* message = output_of(&c, &written, &error);
  CHECK(message != NULL);
  list(message, written, origin,
       f->convention == NULL || strlen(f->convention) == 4, found);
  if (strcmp(found, f->found) != 0) {
    fprintf(stderr, "%s\nfound    %s\nexpected %s\n", f->code, found, f->found);
    abort();
  }
  release(message);
  check_refusals(&c);
  c.run = demands;
  check_refusals(&c);
  release(data);
}

/* Blocks begin in the first 16 MiB only. */
static void check_large(void) {
  enum { LIMIT = 0xFFFFFF };
  static const faults f = {17, 15, 1, 8, 4, NULL, "", ""};
  uint8_t* code = exact(NULL, LIMIT + 64);
  size_t size = 1, written;
  uint64_t origin;
  fnabi_error error;
  char found[64], expected[64];
  for (*code = 0x79; size < LIMIT; size += 3) memcpy(code + size, "\x0C\0", 3);
  sprintf(expected, "target@%zu target@%zu ", size + 1, size + 8);
  CHECK(size % 2 == 0);
  size += assemble("56FFFFFF00|0000 79 5A|0000", code + size);
  char* data = build(&f, code, &size, &origin);
  call c = {bytecode_check, data, size, 0, 0};
  uint8_t* message = output_of(&c, &written, &error);
  CHECK(message != NULL);
  list(message, written, origin, 1, found);
  CHECK(strcmp(found, expected) == 0);
  release(message);
  release(data);
  release(code);
}

/* Beyond a thousand findings one counts the others; the work may end there. */
static void check_many(void) {
  enum { MANY = 2000 };
  static const faults f = {17, 15, 1, 8, 4, NULL, "", ""};
  uint8_t code[3 * MANY + 8] = {0x79};
  uint64_t origin;
  fnabi_error error;
  size_t size = 1;
  for (int i = 0; i < MANY; i++, size += 3) memcpy(code + size, "\x0C\t", 3);
  size += assemble(size % 2 ? "5A0000" : "5A000000", code + size);
  char* data = build(&f, code, &size, &origin);
  spent = 0;
  int64_t whole = fnabi_bytecode_check(data, size, NULL, 0, &error);
  CHECK(whole > 0 && spent > 1000);
  exhausted_at = spent - 1;
  spent = 0;
  CHECK(fnabi_bytecode_check(data, size, NULL, 0, &error) == -1);
  exhausted_at = SIZE_MAX;
  check_error_is(&error, FNABI_WORK, 0, "");
  release(data);
}

/* A long function, and one of many blocks: offsets of more than 16 bits, and more
 * blocks than are listed at first. */
static void check_listing(void) {
  enum { BLOCKS = 200, LONG = 1 << 16 };
  static const faults f = {17, 15, 1, 8, 4, NULL, "", ""};
  uint8_t* code = exact(NULL, LONG + 16 * BLOCKS);
  uint64_t origin;
  size_t size = 0;
  for (int i = 0; i < BLOCKS; i++)
    size +=
        assemble(size % 2 ? "79 56 00000000 00 0000" : "79 56 00000000 0000",
                 code + size);
  code[size++] = 0x79;
  for (; size < LONG; size += 3) memcpy(code + size, "\x0C\0", 3);
  size += assemble(size % 2 ? "5A0000" : "5A000000", code + size);
  char* data = build(&f, code, &size, &origin);
  call c = {bytecode_listing, data, size, 0, 0};
  size_t written;
  fnabi_error error;
  uint8_t* text = output_of(&c, &written, &error);
  CHECK(text != NULL);
  char* end = exact(NULL, written + 1);
  memcpy(end, text, written);
  end[written] = 0;
  CHECK(strstr(end, "\nbb200:\n") != NULL && strstr(end, "bb201") == NULL);
  CHECK(strstr(end, "\n  00010000  return") != NULL ||
        strstr(end, "\n  00010001  return") != NULL ||
        strstr(end, "\n  00010002  return") != NULL);
  release(end);
  release(text);
  release(data);
  release(code);
}

int main(void) {
  check_large();
  check_many();
  check_listing();
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) check_faults(&all[i]);
  printf("%zu refused allocations, %zu limits of work\n", refused, exhausted);
  return 0;
}
