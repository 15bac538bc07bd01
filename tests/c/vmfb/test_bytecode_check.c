/* The fast path of the check of bytecode accepts what the plain one accepts, and
 * nothing else: of edited modules, both write the same findings. */
#include "check.h"
#include "vmfb/bytecode_accept.h"

static uint32_t accept_nothing(fnabi_acceptor* a, uint32_t offset, bool* ends) {
  (void)a;
  *ends = false;
  return offset;
}

/* The same check once more, without its fast path. */
#define fnabi_bytecode_accept accept_nothing
#define fnabi_bytecode_check plain_check
#define fnabi_bytecode_check_functions plain_check_functions
#include "vmfb/bytecode_check.c"
#undef fnabi_bytecode_check

#define FOLDER "../tests/data/vmfb/"

DEFINE_WRITER(fast, fnabi_bytecode_check)
DEFINE_WRITER(plain, plain_check)

static size_t sound, faulty;

static void check_same(const char* data, size_t size) {
  call calls[2] = {{fast, data, size, 0, 0}, {plain, data, size, 0, 0}};
  fnabi_error errors[2] = {{0}, {0}};
  size_t sizes[2];
  uint8_t* out[2];
  for (int i = 0; i < 2; i++)
    out[i] = output_of(&calls[i], &sizes[i], &errors[i]);
  CHECK((out[0] == NULL) == (out[1] == NULL));
  CHECK(errors[0].code == errors[1].code);
  CHECK(errors[0].offset == errors[1].offset);
  if (out[0] == NULL) return;
  CHECK(sizes[0] == sizes[1] && memcmp(out[0], out[1], sizes[0]) == 0);
  if (sizes[0] > 8)
    faulty++;
  else
    sound++;
  for (int i = 0; i < 2; i++) release(out[i]);
}

/* Edits up to three bytes at a time: to any value, or to one that is near. */
static void check_edits(const char* name, size_t edits) {
  fnabi_bytecode b;
  fnabi_error error;
  size_t size;
  char path[64];
  uint32_t state = 1;
  snprintf(path, sizeof path, FOLDER "%s.vmfb", name);
  char* data = read_file(path, &size);
  CHECK(fnabi_bytecode_open(&b, data, size, &error));
  check_same(data, size);
  for (size_t edit = 0; edit < edits; edit++) {
    const fnabi_function* f =
        &b.functions[next_random(&state) % b.function_count];
    uint64_t places[3];
    char kept[3];
    size_t count = 1 + next_random(&state) % 3;
    for (size_t i = 0; i < count; i++) {
      places[i] = f->view.origin + next_random(&state) % f->view.size;
      if (next_random(&state) % 16 == 0) /* of the descriptor */
        places[i] = f->place + next_random(&state) % 20;
      kept[i] = data[places[i]];
      uint32_t value = next_random(&state);
      data[places[i]] =
          (char)(value % 2 == 0 ? value >> 8
                                : (uint8_t)data[places[i]] + value / 2 % 5 - 2);
    }
    check_same(data, size);
    while (count-- > 0) data[places[count]] = kept[count];
  }
  fnabi_bytecode_close(&b);
  release(data);
}

int main(void) {
  static const char* const edited[] = {
      "debug_kept",    "vm_globals", "vm_imports_plain", "raw_v0",
      "vm_sigs@3.7.0", "elem_ints",  "std_llvmcpu"};
  for (size_t i = 0; i < sizeof edited / sizeof *edited; i++)
    check_edits(edited[i], 4000);
  CHECK(sound > 1000 && faulty > 1000); /* so both have been compared */
  return 0;
}
