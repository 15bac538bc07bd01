/* any_bytecode.h - what holds for any bytecode in a module. */
#ifndef ANY_BYTECODE_H
#define ANY_BYTECODE_H

#include "check.h"
#include "vmfb/bytecode.h"

DEFINE_WRITER(bytecode_check, fnabi_bytecode_check)

static int64_t bytecode_instructions(const call* c, uint8_t* out,
                                     size_t capacity, fnabi_error* error) {
  return fnabi_bytecode_instructions(c->data, c->size, (uint64_t)c->number, out,
                                     capacity, error);
}

static int64_t bytecode_text(const call* c, uint8_t* out, size_t capacity,
                             fnabi_error* error) {
  return fnabi_bytecode_disassemble(c->data, c->size, (uint64_t)c->number, 1,
                                    out, capacity, error);
}

/* Returns the code of the error, or FNABI_OK. Writes nothing for most sizes of
 * a module: all it takes is done to find the size. */
static int32_t bytecode_run(writer* run, const void* data, size_t size,
                            size_t number) {
  call c = {run, data, size, (int64_t)number, 0};
  fnabi_error error = {0};
  size_t written = 0;
  if (size % 16 == 0) {
    uint8_t* out = output_of(&c, &written, &error);
    if (out != NULL) release(out);
  } else {
    int64_t needed = run(&c, NULL, 0, &error);
    if (needed > 0) written = (size_t)needed;
  }
  if (error.code != FNABI_OK) {
    check_error(&error, size);
    return error.code;
  }
  CHECK(run == bytecode_text || written > 0);
  return FNABI_OK;
}

/* A register of a sound function: one that it has, of the kind asked for (0:
 * either bank). */
static void check_sound_register(const fnabi_function* f, uint16_t value,
                                 char kind) {
  if ((value & FNABI_REGISTER_REF) != 0) {
    CHECK(kind == 0 || kind == 'r' || kind == 'R');
    CHECK((int)(value & FNABI_REGISTER_REF_NUMBER) < f->refs);
  } else {
    bool wide = kind == 'I' || kind == 'F';
    CHECK(kind != 'r' && kind != 'R');
    CHECK(value + wide < f->values && (!wide || value % 2 == 0));
  }
}

static void check_sound_target(const fnabi_function* f, uint64_t target) {
  CHECK(target < f->view.size);
  CHECK(f->view.code[target] == FNABI_OP_BLOCK);
}

static void check_sound_remap(const fnabi_function* f,
                              const fnabi_operand* remap) {
  for (uint32_t i = 0; i < remap->count; i++) {
    uint16_t source = fnabi_operand_source(remap, i);
    uint16_t target = fnabi_operand_target(remap, i);
    check_sound_register(f, source, 0);
    check_sound_register(f, target, 0);
    CHECK(((source ^ target) & FNABI_REGISTER_REF) == 0);
  }
}

static void check_sound_operand(const fnabi_bytecode* b,
                                const fnabi_function* f,
                                const fnabi_operand* o) {
  fnabi_operand target, remap;
  uint32_t at = 0;
  switch (o->kind) {
    case 'i':
    case 'I':
    case 'f':
    case 'F':
    case 'r':
    case 'R':
      check_sound_register(f, (uint16_t)o->value, o->kind);
      break;
    case 'g':
    case 'h':
      CHECK(o->value + (o->kind == 'g' ? 4 : 8) <= b->value_bytes);
      break;
    case 'G':
      CHECK(o->value < b->ref_count);
      break;
    case 't':
      CHECK(o->value < b->type_count);
      break;
    case 'd':
      CHECK(o->value < b->rodata_count);
      break;
    case 'C':
      CHECK((o->value & FNABI_CALLEE_IMPORT) != 0);
      CHECK(fnabi_bytecode_callee(b, o->value) != NULL);
      break;
    case 'c':
      CHECK(fnabi_bytecode_callee(b, o->value) != NULL);
      break;
    case 'p':
      check_sound_target(f, o->value);
      break;
    case 'm':
      check_sound_remap(f, o);
      break;
    case 'T':
      while (fnabi_operand_case(o, &at, &target, &remap)) {
        check_sound_target(f, target.value);
        check_sound_remap(f, &remap);
      }
      CHECK(at == o->size);
      break;
    case '*':
    case '[':
      for (uint32_t i = 0; i < o->count; i++)
        check_sound_register(f, fnabi_operand_item(o, i), o->element);
      break;
    default:
      break;
  }
}

/* The instructions of a sound function fill its blocks. */
static void check_sound(const fnabi_bytecode* b, const fnabi_function* f) {
  fnabi_instruction at;
  fnabi_error error;
  bool in_block = false;
  int blocks = 0;
  uint32_t o = 0;
  for (; o < f->view.size; o += at.size) {
    if (!in_block && o != 0 && o + 1 == f->view.size) break; /* a notice */
    CHECK(fnabi_bytecode_decode(&f->view, o, &at, &error));
    CHECK(at.size != 0 && at.offset == o && at.op->since <= b->major);
    CHECK((at.op->op == FNABI_OP_BLOCK) == !in_block);
    blocks += !in_block;
    in_block = !at.ends;
    for (int i = 0; i < at.count; i++)
      check_sound_operand(b, f, &at.operands[i]);
  }
  CHECK(!in_block && blocks == f->blocks);
}

static void check_sound_functions(const void* data, size_t size) {
  fnabi_bytecode b;
  fnabi_error error;
  size_t findings;
  if (fnabi_bytecode_open(&b, data, size, &error) &&
      fnabi_bytecode_known(&b, &error)) {
    bool* sound = exact(NULL, b.function_count * sizeof *sound);
    if (fnabi_bytecode_check_functions(&b, NULL, &findings, sound))
      for (size_t i = 0; i < b.function_count; i++)
        if (sound[i]) check_sound(&b, &b.functions[i]);
    release(sound);
  }
  fnabi_bytecode_close(&b);
}

/* Any function decodes, or there is an error inside the file; what decodes can
 * be written as text, too. */
static void check_bytecode(const void* data, size_t size, size_t functions) {
  int32_t checked = bytecode_run(bytecode_check, data, size, 0);
  check_sound_functions(data, size);
  for (size_t i = 0; i < functions; i++) {
    int32_t code = bytecode_run(bytecode_instructions, data, size, i);
    int32_t text = bytecode_run(bytecode_text, data, size, i);
    CHECK(code == text || code == FNABI_WORK || text == FNABI_WORK);
    CHECK(checked == FNABI_OK || code != FNABI_OK || checked == FNABI_WORK);
  }
}

#endif /* ANY_BYTECODE_H */
