/* A question about a register follows each branch once, also where the table of
 * what it has visited grows; what it has found it does not look for again. */
#include "check.h"
#include "vmfb/bytecode_reach.h"

enum { BLOCKS = 300 };

static size_t put(uint8_t* code, size_t at, uint32_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i++, value >>= 8) code[at++] = (uint8_t)value;
  return at;
}

/* The first block sets a register to null; each other one but the last goes on
 * or begins again. */
static size_t write_code(uint8_t* code) {
  size_t at = 0;
  for (uint32_t block = 0; block < BLOCKS; block++) {
    uint32_t begin = (uint32_t)at;
    at = put(code, at, FNABI_OP_BLOCK, 1);
    if (block == 0) {
      at = put(code, at, FNABI_OP_CONST_REF_ZERO, 1);
      at = put(code, at, FNABI_REGISTER_REF, 2);
      at = put(code, at, FNABI_OP_BR, 1);
      at = put(code, at, begin + 12, 4);
      at += at % 2;
      at = put(code, at, 0, 2);
    } else if (block < BLOCKS - 1) {
      at = put(code, at, FNABI_OP_COND_BR, 1);
      at = put(code, at, 0, 2);
      at = put(code, at, begin, 4);
      at = put(code, at, 0, 2);
      at = put(code, at, begin + 16, 4);
      at = put(code, at, 0, 2);
    } else {
      at = put(code, at, FNABI_OP_RETURN, 1);
      at = put(code, at, 0, 2);
    }
  }
  return at;
}

int main(void) {
  static uint8_t code[32 * BLOCKS];
  fnabi_function function = {0};
  fnabi_reach reach = {0};
  fnabi_reference found;
  fnabi_error error;
  size_t size = write_code(code);
  function.view = (fnabi_bytecode_view){code, (uint32_t)size, 17, 0};
  uint64_t work = 1 << 20;
  CHECK(fnabi_reach_open(&reach, &function, &work, &error));
  CHECK(reach.regular);
  for (uint64_t pass = 0; pass < 2; pass++) {
    const uint64_t before = work, edges = 2 * (BLOCKS - 2) + 1;
    const uint32_t last = 3 + 2 * (BLOCKS - 2) + 1; /* the return */
    CHECK(fnabi_reach_find(&reach, last, 0, &found, &error));
    CHECK(found.kind == FNABI_REFERENCE_NULL);
    CHECK(before - work == (pass == 0 ? edges : 0));
  }
  fnabi_reach_close(&reach);
  return 0;
}
