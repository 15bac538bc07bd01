/* The types of any bytecode, and what its functions do, in a module whose functions take and return buffer
 * views and call what is done with them.
 *
 * The first three bytes of the input are the version and the counts of
 * registers; the others are the code of all functions. */
#include "fuzz.h"
#include "infer/any_bytecode_types.h"
#include "infer/any_program.h"

enum { HEAD = 3 };

static char* template;
static size_t template_size, code_place, code_size;

static void read_template(void) {
  fnabi_bytecode b;
  fnabi_error error;
  template =
      read_file("../tests/data/bytecode_types/vm_flow.vmfb", &template_size);
  CHECK(fnabi_bytecode_open(&b, template, template_size, &error));
  const fnabi_function* last = &b.functions[b.function_count - 1];
  code_place = b.functions[0].view.origin;
  code_size = last->view.origin + last->view.size - code_place;
  fnabi_bytecode_close(&b);
}

static void put_u32(char* at, size_t value) {
  for (int i = 0; i < 4; i++) at[i] = (char)(value >> (8 * i));
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  fnabi_bytecode b;
  fnabi_error error;
  if (template == NULL) read_template();
  if (size <= HEAD || size - HEAD > code_size) return 0;
  char* data = exact(template, template_size);
  memcpy(data + code_place, bytes + HEAD, size - HEAD);
  CHECK(fnabi_bytecode_open(&b, data, template_size, &error));
  put_u32(data + b.version_place, (size_t)(15 + bytes[0] % 3) << 16);
  for (size_t i = 0; i < b.function_count; i++) {
    char* f = data + b.functions[i].place;
    put_u32(f, 0);
    put_u32(f + 4, size - HEAD);
    for (int k = 0; k < 2; k++) {
      f[16 + 2 * k] = (char)bytes[1 + k];
      f[17 + 2 * k] = 0;
    }
  }
  fnabi_bytecode_close(&b);
  CHECK(check_types(data, template_size) == FNABI_OK);
  CHECK(check_program(data, template_size) == FNABI_OK);
  release(data);
  return 0;
}
