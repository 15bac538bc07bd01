/* Bytecode of any bytes, in a module that has something of everything to refer
 * to: each function decodes or fails inside the file, and what the check calls
 * sound is so.
 *
 * The first five bytes of the input are the version, the requirements, and the
 * counts of blocks and registers. */
#include "fuzz.h"
#include "vmfb/any_bytecode.h"

enum { HEAD = 5, FUNCTIONS = 2 };

static char* template;
static size_t template_size;

static void read_template(void) {
  FILE* file = fopen("../tests/data/bytecode/template.vmfb", "rb");
  CHECK(file != NULL);
  template = malloc(1 << 16);
  CHECK(template != NULL);
  template_size = fread(template, 1, 1 << 16, file);
  fclose(file);
}

static void put_u32(char* at, size_t value) {
  for (int i = 0; i < 4; i++) at[i] = (char)(value >> (8 * i));
}

/* The template ends in the size of its bytecode, which is empty. */
int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  fnabi_bytecode b;
  fnabi_error error;
  if (size < HEAD) return 0;
  if (template == NULL) read_template();
  size_t code = size - HEAD, whole = template_size + code;
  char* data = exact(NULL, whole);
  memcpy(data, template, template_size);
  memcpy(data + template_size, bytes + HEAD, code);
  put_u32(data, whole - 4);
  put_u32(data + template_size - 4, code);
  CHECK(fnabi_bytecode_open(&b, data, whole, &error));
  CHECK(b.function_count == FUNCTIONS);
  for (int i = 0; i < FUNCTIONS; i++) {
    char* f = data + b.functions[i].place;
    put_u32(f + 4, code);
    f[8] = (char)bytes[1];
    for (int k = 0; k < 3; k++) {
      f[14 + 2 * k] = (char)bytes[2 + k];
      f[15 + 2 * k] = 0;
    }
  }
  put_u32(data + b.version_place, (size_t)bytes[0] << 16);
  fnabi_bytecode_close(&b);
  check_bytecode(data, whole, FUNCTIONS);
  release(data);
  return 0;
}
