/* Whatever allocation fails, the functions of modules report that, or return
 * what they return with enough memory; and free the others. The same with the
 * work that they limit, whichever unit of it is one too many. */
#include "allocations.h"
#include "check.h"
#include "vmfb/flatbuffer.h"

/* The linker redirects fnabi_fb_spend to this function. The unit number
 * `exhausted_at` exceeds the limit. */
bool __real_fnabi_fb_spend(fnabi_fb* fb, uint64_t bytes, size_t place);
bool __wrap_fnabi_fb_spend(fnabi_fb* fb, uint64_t bytes, size_t place);

static size_t spent, exhausted_at = SIZE_MAX;

bool __wrap_fnabi_fb_spend(fnabi_fb* fb, uint64_t bytes, size_t place) {
  bool exhausted = spent++ == exhausted_at;
  return __real_fnabi_fb_spend(fb, exhausted ? UINT64_MAX : bytes, place);
}

DEFINE_WRITER(head, fnabi_vmfb_head)
DEFINE_WRITER(exports, fnabi_vmfb_exports)
DEFINE_WRITER(findings, fnabi_vmfb_check)
DEFINE_WRITER(files, fnabi_vmfb_files)
DEFINE_WRITER(needs, fnabi_vmfb_needs)
DEFINE_WRITER(demands, fnabi_vmfb_demands)
DEFINE_WRITER(bytecode_findings, fnabi_bytecode_check)
DEFINE_WRITER(signatures, fnabi_bytecode_signatures)
DEFINE_WRITER(program, fnabi_bytecode_program)

static int64_t field(const call* c, uint8_t* out, size_t capacity,
                     fnabi_error* error) {
  return fnabi_vmfb_field(c->data, c->size, (int32_t)c->number, out, capacity,
                          error);
}

static int64_t instructions(const call* c, uint8_t* out, size_t capacity,
                            fnabi_error* error) {
  return fnabi_bytecode_instructions(c->data, c->size, (uint64_t)c->number, out,
                                     capacity, error);
}

static int64_t text(const call* c, uint8_t* out, size_t capacity,
                    fnabi_error* error) {
  return fnabi_bytecode_disassemble(c->data, c->size, 0, 3, out, capacity,
                                    error);
}

static int64_t verdict(const call* c, uint8_t* out, size_t capacity,
                       fnabi_error* error) {
  return fnabi_vmfb_runs_on(c->data, c->size, "local-task", 10, "x86_64", 6,
                            out, capacity, error);
}

static size_t refused, exhausted;

/* The call returns what it returned, or fails for this reason. Where the work
 * ends, it may also return less: without types, or with a finding. */
static bool is_refused(const call* c, const uint8_t* whole, uint8_t* out,
                       size_t size, int32_t reason) {
  fnabi_error error;
  allocations = spent = 0;
  int64_t written = c->run(c, out, size, &error);
  refused_from = exhausted_at = SIZE_MAX;
  if (written < 0) {
    CHECK(error.code == reason);
    return true;
  }
  CHECK(reason == FNABI_WORK ||
        (written == (int64_t)size && memcmp(out, whole, size) == 0));
  return false;
}

/* Each allocation of the call fails in turn, with all later ones; then each
 * unit of work, or some of very many. */
static void check_refusals(const call* c) {
  fnabi_error error;
  size_t size;
  uint8_t* whole = output_of(c, &size, &error);
  if (whole == NULL) return;
  uint8_t* out = exact(NULL, size);
  CHECK(!is_refused(c, whole, out, size, FNABI_OK));
  size_t needed = allocations, units = spent;
  for (size_t i = 0; i < needed; i++) {
    refused_from = i;
    refused += is_refused(c, whole, out, size, FNABI_MEMORY);
  }
  for (size_t i = 0; i < units; i += 1 + units / 300) {
    exhausted_at = i;
    exhausted += is_refused(c, whole, out, size, FNABI_WORK);
  }
  release(out);
  release(whole);
}

static void check_module(const char* name) {
  static writer* const writers[] = {
      head,       exports, findings, files, needs, demands, bytecode_findings,
      signatures, program, verdict,  text};
  char path[256];
  snprintf(path, sizeof path, "../tests/data/%s.vmfb", name);
  size_t size;
  char* data = read_file(path, &size);
  for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
    call c = {writers[i], data, size, 0, 0};
    check_refusals(&c);
  }
  for (int i = 0; i < 16; i++) {
    call c = {field, data, size, i, 0};
    check_refusals(&c);
    c.run = instructions;
    check_refusals(&c);
  }
  release(data);
}

int main(void) {
  static const char* const names[] = {"needs/mm_llvm-cpu",
                                      "needs/params_vulkan",
                                      "needs/storage_vmvx",
                                      "needs/types_vmvx",
                                      "arguments/calls@3.1.0",
                                      "bytecode_types/func_abi@3.0.0@vmvx",
                                      "bytecode_types/globals@3.13.0@vmvx",
                                      "bytecode_types/vm_lists",
                                      "vmfb/attr_kinds",
                                      "vmfb/rodata_mixed",
                                      "vmfb/abi_records"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    check_module(names[i]);
  CHECK(refused > 1000 && exhausted > 1000);
  printf("%zu refused allocations, %zu limits of work\n", refused, exhausted);
  return 0;
}
