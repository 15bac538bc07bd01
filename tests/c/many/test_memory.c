/* Whatever allocation fails, the functions of modules report that, or return
 * what they return with enough memory; and free the others. The same with the
 * work that they limit, whichever unit of it is one too many. */
#include "base/message.h"
#include "refusals.h"
#include "vmfb/needs.h"

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

/* The needs as two texts. */
static int64_t texts(const call* c, uint8_t* out, size_t capacity,
                     fnabi_error* error) {
  fnabi_writer w = {out, capacity, 0};
  fnabi_needs_memory memory = {0};
  fnabi_text parts[2], none = {NULL, 0};
  bool good = fnabi_needs_texts(c->data, c->size, NULL, none, &memory,
                                &parts[0], &parts[1]);
  for (int i = 0; good && i < 2; i++)
    fnabi_pack_text(&w, parts[i].data, parts[i].size);
  fnabi_needs_shrink(&memory, 0);
  if (!good) error->code = FNABI_MEMORY;
  return good ? (int64_t)w.size : -1;
}

static int64_t decided(const call* c, uint8_t* out, size_t capacity,
                       fnabi_error* error) {
  return fnabi_runtime_verdict((const uint8_t*)c->data, c->size, "local-task",
                               10, "x86_64", 6, out, capacity, error);
}

/* The verdict by the demands of a module. */
static void check_demands(const char* data, size_t size) {
  fnabi_error error;
  call demanding = {demands, data, size, 0, 0};
  size_t message_size;
  uint8_t* message = output_of(&demanding, &message_size, &error);
  if (message == NULL) return;
  call deciding = {decided, (const char*)message, message_size, 0, 0};
  check_refusals(&deciding);
  release(message);
}

static void check_module(const char* name) {
  static writer* const writers[] = {
      head,       exports, findings, files, needs, demands, bytecode_findings,
      signatures, program, verdict,  text,  texts};
  char path[256];
  snprintf(path, sizeof path, "../tests/%s", name);
  size_t size;
  char* data = read_file(path, &size);
  for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
    call c = {writers[i], data, size, 0, 0};
    check_refusals(&c);
  }
  check_demands(data, size);
  for (int i = 0; i < 16; i++) {
    call c = {field, data, size, i, 0};
    check_refusals(&c);
    c.run = instructions;
    check_refusals(&c);
  }
  release(data);
}

int main(void) {
  static const char* const names[] = {
      "data/needs/mm_llvm-cpu.vmfb",
      "data/needs/params_vulkan.vmfb",
      "data/needs/storage_vmvx.vmfb",
      "data/needs/types_vmvx.vmfb",
      "data/arguments/calls@3.1.0.vmfb",
      "data/bytecode_types/func_abi@3.0.0@vmvx.vmfb",
      "data/bytecode_types/globals@3.13.0@vmvx.vmfb",
      "data/bytecode_types/vm_lists.vmfb",
      "data/bytecode_types/vm_terms.vmfb",
      "data/vmfb/attr_kinds.vmfb",
      "data/vmfb/rodata_mixed.vmfb",
      "data/vmfb/abi_records.vmfb",
      "c/corpus/vmfb/findings",
      "c/corpus/vmfb/needs",
      "data/needs/exp_vmvx_inline-dynamic.vmfb"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    check_module(names[i]);
  CHECK(refused > 1000 && exhausted > 1000);
  printf("%zu refused allocations, %zu limits of work\n", refused, exhausted);
  return 0;
}
