/* Where the arguments of functions are, by those who put them there and by the
 * code that reads them: compilers before release 3.5 fill the register that
 * they leave out before an argument of 64 bits with the next one of 32 bits.
 * Which of both a function is made for is seen by the registers that it reads
 * before it writes them. */
#include "vmfb/arguments.h"

#include "base/error.h"

enum { ARGUMENTS = 32, REGISTERS = 3 * ARGUMENTS, PASSES = 8 };

/* The first register of each argument that is a value, by who decides. */
typedef struct places {
  size_t count;
  uint16_t packed[ARGUMENTS];  /* by the older runtimes */
  uint16_t aligned[ARGUMENTS]; /* by the newer runtimes and compilers */
  uint16_t filled[ARGUMENTS];  /* by the older compilers */
} places;

static bool is_wide(char letter) { return letter == 'I' || letter == 'F'; }

bool fnabi_arguments_wide(const fnabi_callee* callee) {
  if (!callee->readable) return false;
  for (size_t i = 0; i < callee->arguments.size; i++)
    if (is_wide(callee->arguments.data[i])) return true;
  for (size_t i = 0; i < callee->results.size; i++)
    if (is_wide(callee->results.data[i])) return true;
  return false;
}

/* Places the arguments; returns whether runtimes differ in it. Spans are not
 * arguments of functions in bytecode. */
static bool place(fnabi_text arguments, places* p) {
  uint16_t packed = 0, aligned = 0, filled = 0;
  uint16_t hole = 0; /* the register that compilers left out, or 0 */
  p->count = 0;
  for (size_t i = 0; i < arguments.size && p->count < ARGUMENTS; i++) {
    char letter = arguments.data[i];
    if (letter == 'C') return false;
    if (letter == 'r') continue;
    uint16_t size = is_wide(letter) ? 2 : 1;
    bool fills = size == 1 && hole != 0;
    if (size == 2) {
      if ((filled & 1) != 0) hole = filled++;
      aligned += aligned & 1;
    }
    p->packed[p->count] = packed;
    p->aligned[p->count] = aligned;
    p->filled[p->count++] = fills ? hole : filled;
    packed += size;
    aligned += size;
    if (fills)
      hole = 0;
    else
      filled += size;
  }
  return memcmp(p->packed, p->aligned, p->count * sizeof *p->packed) != 0;
}

/* ----------------------------------------------------------------- registers */

/* The first registers of arguments, each a bit: 2 i for the aligned place of
 * argument i, 2 i + 1 for the filled one. A place is held until it is written.
 */
typedef struct block {
  uint32_t offset;
  uint64_t held; /* at its start, on any path */
} block;

typedef struct search {
  const fnabi_bytecode* b;
  uint64_t places[REGISTERS]; /* the bits of each register */
  block* blocks;
  size_t count;
  uint64_t read;
  bool changed;
} search;

static uint64_t bits_of(const search* s, uint64_t reg) {
  return reg < REGISTERS ? s->places[reg] : 0;
}

static void enter(search* s, uint64_t offset, uint64_t held) {
  size_t first = 0, last = s->count;
  while (first < last) {
    size_t middle = first + (last - first) / 2;
    if (s->blocks[middle].offset < offset)
      first = middle + 1;
    else
      last = middle;
  }
  if (first == s->count || s->blocks[first].offset != offset) return;
  s->changed |= (held & ~s->blocks[first].held) != 0;
  s->blocks[first].held |= held;
}

/* Follows a branch with its remap list. */
static void branch(search* s, uint64_t target, const fnabi_operand* remap,
                   uint64_t held) {
  for (uint32_t i = 0; remap != NULL && i < remap->count; i++) {
    s->read |= held & bits_of(s, fnabi_operand_source(remap, i));
    held &= ~bits_of(s, fnabi_operand_target(remap, i));
  }
  enter(s, target, held);
}

static void read_list(search* s, const fnabi_operand* list, uint64_t held) {
  for (uint32_t i = 0; i < list->count; i++)
    s->read |= held & bits_of(s, fnabi_operand_item(list, i));
}

/* Writes results; those of a call have the widths of its convention. */
static uint64_t written_list(const search* s, const fnabi_operand* list,
                             const fnabi_callee* callee, uint64_t held) {
  for (uint32_t i = 0; i < list->count; i++) {
    uint16_t reg = fnabi_operand_item(list, i);
    bool wide = callee != NULL && i < callee->results.size &&
                is_wide(callee->results.data[i]);
    held &= ~bits_of(s, reg);
    if (wide) held &= ~bits_of(s, reg + 1u);
  }
  return held;
}

/* Reads and writes registers as an instruction does; returns what is held
 * after it. */
static uint64_t follow(search* s, const fnabi_instruction* at, uint64_t held) {
  const fnabi_callee* callee = NULL;
  for (uint8_t i = 0; i < at->count; i++) {
    const fnabi_operand* o = &at->operands[i];
    fnabi_operand target, remap;
    uint32_t cases = 0;
    switch (o->kind) {
      case 'i':
      case 'f':
      case 'I':
      case 'F':
        if (!o->written) {
          s->read |= held & bits_of(s, o->value);
          break;
        }
        held &= ~bits_of(s, o->value);
        if (is_wide(o->kind)) held &= ~bits_of(s, o->value + 1);
        break;
      case 'c':
      case 'C':
        callee = fnabi_bytecode_callee(s->b, o->value);
        break;
      case '*':
      case '[':
        if (o->written)
          held = written_list(s, o, callee, held);
        else
          read_list(s, o, held);
        break;
      case 'p':
        branch(s, o->value, o[1].kind == 'm' ? o + 1 : NULL, held);
        break;
      case 'T':
        while (fnabi_operand_case(o, &cases, &target, &remap))
          branch(s, target.value, &remap, held);
        break;
      default:
        break;
    }
  }
  return held;
}

/* Finds the blocks of a function; false if its code cannot be decoded. */
static bool find_blocks(const fnabi_bytecode_view* view, fnabi_vector* blocks,
                        bool* no_memory) {
  fnabi_bytecode_sizes sizes = {{0}};
  fnabi_error ignored;
  uint32_t size;
  /* the last byte is no block, and may be an unused one */
  for (uint32_t o = 0; o + 1 < view->size; o += size) {
    size = fnabi_bytecode_measure(view, o, &sizes, &ignored);
    if (size == 0) return false;
    block found = {o, 0};
    if (view->code[o] == FNABI_OP_BLOCK &&
        !fnabi_vector_append(blocks, &found, sizeof found)) {
      *no_memory = true;
      return false;
    }
  }
  return blocks->size != 0;
}

/* Returns the places that a function reads as its arguments. */
static uint64_t reads(const fnabi_bytecode* b, const fnabi_bytecode_view* view,
                      const places* p, bool* no_memory) {
  fnabi_vector blocks = {NULL, 0, 0};
  fnabi_instruction at;
  fnabi_error ignored;
  uint64_t read = 0;
  if (find_blocks(view, &blocks, no_memory)) {
    block* first = (block*)(void*)blocks.data;
    search s = {b, {0}, first, blocks.size / sizeof *first, 0, true};
    for (size_t i = 0; i < p->count; i++) {
      s.places[p->aligned[i]] |= UINT64_C(1) << 2 * i;
      s.places[p->filled[i]] |= UINT64_C(2) << 2 * i;
    }
    first->held = ~UINT64_C(0);
    for (unsigned pass = 0; pass < PASSES && s.changed; pass++) {
      s.changed = false;
      for (size_t i = 0; i < s.count; i++) {
        uint32_t end = i + 1 < s.count ? first[i + 1].offset : view->size;
        uint64_t held = first[i].held;
        for (uint32_t o = first[i].offset; held != 0 && o < end; o = at.next) {
          if (!fnabi_bytecode_decode(view, o, &at, &ignored)) break;
          held = follow(&s, &at, held);
        }
      }
    }
    read = s.read;
  }
  free(blocks.data);
  return read;
}

/* ----------------------------------------------------------------- functions */

static bool has(const uint16_t* of, size_t count, uint16_t reg) {
  for (size_t i = 0; i < count; i++)
    if (of[i] == reg) return true;
  return false;
}

/* Which runtimes pass wrong values to a function, by the places that it reads.
 * An argument of which it is open where it belongs is left out. */
static uint8_t passed_to(const places* p, uint64_t read) {
  bool is_aligned = false, is_filled = false;
  for (size_t i = 0; i < p->count; i++) {
    is_aligned |=
        (read >> 2 * i & 1) != 0 && !has(p->filled, p->count, p->aligned[i]);
    is_filled |=
        (read >> 2 * i & 2) != 0 && !has(p->aligned, p->count, p->filled[i]);
  }
  uint8_t passed = 0;
  for (size_t i = 0; i < p->count; i++) {
    if (p->aligned[i] != p->filled[i] && is_aligned == is_filled) continue;
    unsigned which = is_filled ? 1 : 0;
    uint16_t reg = is_filled ? p->filled[i] : p->aligned[i];
    if ((read >> (2 * i + which) & 1) == 0) continue;
    if (reg != p->packed[i]) passed |= FNABI_PASSED_PACKED;
    if (reg != p->aligned[i]) passed |= FNABI_PASSED_ALIGNED;
  }
  return passed;
}

bool fnabi_arguments_exported(const fnabi_bytecode* b, uint8_t* passed) {
  uint64_t work = 4 * (uint64_t)b->code_size;
  bool no_memory = false;
  places p;
  for (size_t i = 0; i < b->function_count && !no_memory; i++) {
    const fnabi_function* f = &b->functions[i];
    if (!f->exported || !f->callee.readable || !place(f->callee.arguments, &p))
      continue;
    if (f->view.size > work) break; /* functions share their code */
    work -= f->view.size;
    passed[i] |= passed_to(&p, reads(b, &f->view, &p, &no_memory));
  }
  if (no_memory) fnabi_fail(b->error, FNABI_MEMORY, 0, NULL);
  return !no_memory;
}
