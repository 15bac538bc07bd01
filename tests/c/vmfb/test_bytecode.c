/* The table of instructions is in order; every function of real modules
 * decodes and is sound; and five small modules keep to what holds for any
 * bytecode when each byte of their bytecode and of their functions'
 * descriptors takes every value. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>

#include "allocations.h"
#include "vmfb/any_bytecode.h"

#define FOLDER "../tests/data/vmfb/"

static const char* const edited[] = {
    "debug_kept", "vm_globals", "vm_imports_plain", "raw_v0", "vm_sigs@3.7.0"};
static size_t edits;

/* ------------------------------------------------------------------- table */

static void check_row(const fnabi_bytecode_op* row) {
  int operands = 0;
  bool written = false, ends = false, list = false;
  for (const char* letter = row->operands; *letter != 0; letter++) {
    CHECK(strchr("iIfFrR48eEghGtdcCsp*[#mT>.", *letter) != NULL);
    CHECK(!ends);
    if (*letter == '[') CHECK(strchr("iIfFR", *++letter) != NULL);
    if (*letter == '>') CHECK(!written);
    if (written) CHECK(strchr("iIfFR*.", *letter) != NULL);
    if (*letter == 'p') CHECK(strpbrk(letter + 1, "m*") != NULL);
    if (*letter == '*') CHECK(list || !written);
    list |= *letter == '*';
    written |= *letter == '>';
    ends |= *letter == '.';
    operands += *letter != '>' && *letter != '.';
  }
  CHECK(operands <= FNABI_OPERANDS);
}

static void check_table(void) {
  size_t rows = 0;
  for (unsigned op = 0; op <= 0xFFFF; op++) {
    const fnabi_bytecode_op* row = fnabi_bytecode_find(op);
    if (row == NULL) continue;
    CHECK(row->op == op && row->since >= 15 && row->since <= 17);
    CHECK((op >> 8 == 0) == (row->feature == 0));
    check_row(row);
    rows++;
  }
  CHECK(rows == 265);
  CHECK(fnabi_bytecode_find(FNABI_OP_CALL)->op == FNABI_OP_CALL);
}

/* ----------------------------------------------------------------- modules */

static size_t count_functions(const void* data, size_t size) {
  fnabi_bytecode b;
  fnabi_error error;
  size_t count = 0;
  if (fnabi_bytecode_open(&b, data, size, &error)) count = b.function_count;
  fnabi_bytecode_close(&b);
  return count;
}

static void check_folder(const char* folder, size_t limit) {
  char path[512];
  DIR* dir = opendir(folder);
  CHECK(dir != NULL);
  for (struct dirent* entry; (entry = readdir(dir)) != NULL;) {
    if (strstr(entry->d_name, ".vmfb") == NULL) continue;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    char* data = read_file(path, &size);
    size_t functions = count_functions(data, size);
    check_bytecode(data, size, functions < limit ? functions : limit);
    release(data);
  }
  closedir(dir);
}

static void check_written(const char* name) {
  size_t size;
  char path[64];
  snprintf(path, sizeof path, FOLDER "%s.vmfb", name);
  char* data = read_file(path, &size);
  call list = {bytecode_instructions, data, size, 0, 0};
  call text = {bytecode_text, data, size, 0, 0};
  call check = {bytecode_check, data, size, 0, 0};
  check_capacities(&list);
  check_capacities(&text);
  check_capacities(&check);
  release(data);
}

static void edit_byte(char* data, size_t size, uint64_t at, int step,
                      size_t functions) {
  char kept = data[at];
  for (int value = (int)at % step; value < 256; value += step, edits++) {
    data[at] = (char)value;
    check_bytecode(data, size, functions);
  }
  data[at] = kept;
}

static void check_edits(const char* name, int step) {
  fnabi_bytecode b;
  fnabi_error error;
  size_t size;
  char path[64];
  snprintf(path, sizeof path, FOLDER "%s.vmfb", name);
  char* data = read_file(path, &size);
  CHECK(fnabi_bytecode_open(&b, data, size, &error));
  for (size_t i = 0; i < b.function_count; i++) {
    const fnabi_function* f = &b.functions[i];
    for (uint32_t at = 0; at < 20; at++)
      edit_byte(data, size, f->place + at, step, b.function_count);
    for (uint32_t at = 0; at < f->view.size; at++)
      edit_byte(data, size, f->view.origin + at, step, b.function_count);
  }
  fnabi_bytecode_close(&b);
  release(data);
}

/* ------------------------------------------------------------ bad arguments */

static void check_calls(void) {
  fnabi_error error;
  size_t size;
  char* data = read_file(FOLDER "debug_kept.vmfb", &size);
  CHECK(fnabi_bytecode_instructions(data, size, 3, NULL, 0, &error) == -1);
  check_error_is(&error, FNABI_MODULE_ORDINAL, 0, "");
  CHECK(fnabi_bytecode_disassemble(data, size, 4, 1, NULL, 0, &error) == -1);
  check_error_is(&error, FNABI_MODULE_ORDINAL, 0, "");
  CHECK(fnabi_bytecode_disassemble(data, size, 0, 3, NULL, 0, &error) ==
        fnabi_bytecode_disassemble(data, size, 0, UINT64_MAX, NULL, 0, &error));
  CHECK(fnabi_bytecode_disassemble(data, size, 3, 0, NULL, 0, &error) == 0);
  CHECK(fnabi_bytecode_check(NULL, 0, NULL, 0, &error) == -1);
  check_error_is(&error, FNABI_MODULE_SIZE, 0, "");
  release(data);
}

/* A damaged type fails the function that refers to it. */
static void check_types(void) {
  fnabi_bytecode b;
  fnabi_error error;
  size_t size, head;
  char* template = read_file("../tests/data/bytecode/template.vmfb", &head);
  static const char code[] = "\x79\x12\1\0\0\0\0\0\0\x80"; /* list.alloc */
  size = head + sizeof code - 1;
  char* data = exact(NULL, size);
  memcpy(data, template, head);
  memcpy(data + head, code, sizeof code - 1);
  release(template);
  data[head - 4] = sizeof code - 1;
  data[0] = (char)((size - 4) & 0xFF);
  data[1] = (char)((size - 4) >> 8);
  CHECK(fnabi_bytecode_open(&b, data, size, &error));
  data[b.functions[0].place + 4] = sizeof code - 1;
  char* type = data + b.type_place;
  fnabi_bytecode_close(&b);
  CHECK(fnabi_bytecode_instructions(data, size, 0, NULL, 0, &error) > 0);
  memset(type + 4, 0xF0, 4);
  CHECK(fnabi_bytecode_instructions(data, size, 0, NULL, 0, &error) == -1);
  check_error_is(&error, FNABI_MODULE_OFFSET, (uint64_t)(type + 4 - data),
                 "types[1]");
  release(data);
}

/* Each refused allocation makes the call fail, without leaks. */
static void check_refused(writer* run, const void* data, size_t size) {
  call c = {run, data, size, 0, 0};
  fnabi_error error;
  allocations = 0;
  CHECK(run(&c, NULL, 0, &error) > 0);
  size_t all = allocations;
  CHECK(all > 2);
  for (refused_from = 0; refused_from < all; refused_from++) {
    allocations = 0;
    CHECK(run(&c, NULL, 0, &error) == -1);
    check_error_is(&error, FNABI_MEMORY, 0, error.path);
  }
  refused_from = SIZE_MAX;
}

static void check_refusals(void) {
  size_t size;
  char* data = read_file(FOLDER "std_llvmcpu.vmfb", &size);
  check_refused(bytecode_check, data, size);
  check_refused(bytecode_instructions, data, size);
  check_refused(bytecode_text, data, size);
  release(data);
}

int main(int count, char** names) {
  bool all = count == 2 && strcmp(names[1], "edits") == 0;
  check_table();
  check_calls();
  check_types();
  check_refusals();
  check_folder("../tests/data/vmfb", 100);
  check_folder("../tests/data/vmfb/malformed", 100);
  check_written("debug_kept");
  check_written("vm_globals");
  for (size_t i = 0; i < sizeof edited / sizeof *edited; i++)
    check_edits(edited[i], i == 0 || all ? 1 : 5);
  printf("%zu edited modules\n", edits);
  return 0;
}
