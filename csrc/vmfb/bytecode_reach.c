/* Reaching definitions: which reference a register holds. */
#include "vmfb/bytecode_reach.h"

#include <stddef.h>

#include "base/error.h"
#include "base/poll.h"

enum { REGISTERS = FNABI_REGISTER_REF_NUMBER + 1 };

/* A branch to a block. */
typedef struct edge {
  uint32_t from;   /* the instruction */
  uint32_t target; /* the block */
  uint32_t pairs;  /* of the remap list */
  uint32_t padding;
  const uint8_t* items;
} edge;

/* The write of an instruction to a register. */
typedef struct write {
  uint32_t reg;
  uint32_t instruction;
  fnabi_reference value;
  uint32_t source; /* the register that it copies, or REGISTERS */
} write;

/* An entry of the hash table: the content of a register at the start of a
 * block. */
typedef struct start {
  uint32_t block, reg;
  uint32_t query; /* the last query that reached it; 0: free */
  bool known;
  fnabi_reference value;
} start;

static const fnabi_reference unknown = {FNABI_REFERENCE_UNKNOWN, 0};

#define AT(vector, type, i) (&((type*)(void*)(vector).data)[i])
#define COUNT(vector, type) ((uint32_t)((vector).size / sizeof(type)))

static bool no_memory(fnabi_error* error) {
  fnabi_fail(error, FNABI_MEMORY, 0, NULL);
  return false;
}

static bool spend(fnabi_reach* r, uint64_t steps, fnabi_error* error) {
  if (steps > *r->work) {
    fnabi_fail(error, FNABI_WORK, r->function->view.origin, NULL);
    return false;
  }
  *r->work -= steps;
  if (!fnabi_poll((size_t)steps)) return true;
  fnabi_fail(error, FNABI_INTERRUPTED, r->function->view.origin, NULL);
  return false;
}

/* ------------------------------------------------------------ the function */

/* Returns the index in a sorted list, or UINT32_MAX. */
static uint32_t find_u32(const fnabi_vector* list, uint32_t value) {
  const uint32_t* numbers = (const uint32_t*)(const void*)list->data;
  uint32_t low = 0, high = (uint32_t)(list->size / sizeof value);
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (numbers[middle] < value)
      low = middle + 1;
    else
      high = middle;
  }
  return low < list->size / sizeof value && numbers[low] == value ? low
                                                                  : UINT32_MAX;
}

static bool add_write(fnabi_reach* r, uint32_t reg, uint32_t instruction,
                      fnabi_reference value, uint32_t source) {
  write w = {reg & FNABI_REGISTER_REF_NUMBER, instruction, value, source};
  return fnabi_vector_append(&r->writes, &w, sizeof w);
}

static bool add_edge(fnabi_reach* r, uint32_t from, uint64_t target,
                     const fnabi_operand* remap) {
  edge e = {.from = from, .target = (uint32_t)target};
  if (remap != NULL) {
    e.pairs = remap->count;
    e.items = remap->items;
  }
  return fnabi_vector_append(&r->edges, &e, sizeof e);
}

static bool is_list(const fnabi_operand* operand) {
  return operand->kind == '*' || operand->kind == '[';
}

/* Records the references that an instruction moves or discards. */
static bool add_moves(fnabi_reach* r, const fnabi_instruction* at,
                      uint32_t index) {
  const fnabi_reference null = {FNABI_REFERENCE_NULL, 0};
  bool discards = at->op->op == FNABI_OP_DISCARD_REFS;
  const unsigned moved = FNABI_REGISTER_REF | FNABI_REGISTER_MOVE;
  for (unsigned k = 0; k < at->count; k++) {
    const fnabi_operand* operand = &at->operands[k];
    if (operand->written) continue;
    if ((operand->kind == 'r' || operand->kind == 'R') &&
        (operand->value & moved) == moved &&
        !add_write(r, (uint32_t)operand->value, index, null, REGISTERS))
      return false;
    for (uint32_t i = 0; is_list(operand) && i < operand->count; i++) {
      unsigned reg = fnabi_operand_item(operand, i);
      bool gone =
          (reg & moved) == moved || (discards && (reg & FNABI_REGISTER_REF));
      if (gone && !add_write(r, reg, index, null, REGISTERS)) return false;
    }
  }
  return true;
}

/* Records the references that an instruction writes. */
static bool add_writes(fnabi_reach* r, const fnabi_instruction* at,
                       uint32_t index) {
  for (unsigned k = 0; k < at->count; k++) {
    const fnabi_operand* operand = &at->operands[k];
    if (!operand->written) continue;
    if (operand->kind == 'R') {
      fnabi_reference value = unknown;
      uint32_t source = REGISTERS;
      uint64_t number = at->operands[0].value;
      switch (at->op->op) {
        case FNABI_OP_CONST_REF_ZERO:
          value.kind = FNABI_REFERENCE_NULL;
          break;
        case FNABI_OP_CONST_REF_RODATA:
          value = (fnabi_reference){FNABI_REFERENCE_RODATA, (uint32_t)number};
          break;
        case FNABI_OP_GLOBAL_LOAD_REF:
          value = (fnabi_reference){FNABI_REFERENCE_GLOBAL, (uint32_t)number};
          break;
        case FNABI_OP_ASSIGN_REF:
        case FNABI_OP_CAST_ANY_REF: /* otherwise fails or is null */
          source = (uint32_t)number & FNABI_REGISTER_REF_NUMBER;
          if (at->op->op == FNABI_OP_CAST_ANY_REF) source = REGISTERS;
          break;
        default:
          break;
      }
      if (!add_write(r, (uint32_t)operand->value, index, value, source))
        return false;
    }
    bool first = true;
    for (uint32_t i = 0; is_list(operand) && i < operand->count; i++) {
      unsigned reg = fnabi_operand_item(operand, i);
      fnabi_reference value = unknown;
      if (first) value = (fnabi_reference){FNABI_REFERENCE_CALL, index};
      first = false;
      if ((reg & FNABI_REGISTER_REF) != 0 &&
          !add_write(r, reg, index, value, REGISTERS))
        return false;
    }
  }
  return true;
}

/* Records the blocks that an instruction may branch to. */
static bool add_edges(fnabi_reach* r, const fnabi_instruction* at,
                      uint32_t index) {
  for (unsigned k = 0; k < at->count; k++) {
    const fnabi_operand* operand = &at->operands[k];
    if (operand->kind == 'p') {
      const fnabi_operand* remap = operand[1].kind == 'm' ? operand + 1 : NULL;
      if (!add_edge(r, index, operand->value, remap)) return false;
    } else if (operand->kind == 'T') {
      fnabi_operand target, remap;
      for (uint32_t from = 0;
           fnabi_operand_case(operand, &from, &target, &remap);)
        if (!add_edge(r, index, target.value, &remap)) return false;
    }
  }
  return true;
}

/* Stable counting sort of elements by their first or second number, which is
 * below `keys`. *begins receives the index of the first element of each number.
 */
static bool sort(fnabi_vector* list, size_t size, size_t member, uint32_t keys,
                 fnabi_vector* begins, fnabi_error* error) {
  size_t count = list->size / size;
  fnabi_vector sorted = {0};
  begins->size = 0;
  if (!fnabi_vector_reserve(begins, (keys + 1) * sizeof(uint32_t)) ||
      !fnabi_vector_reserve(&sorted, list->size + 1))
    return no_memory(error);
  begins->size = (keys + 1) * sizeof(uint32_t);
  memset(begins->data, 0, begins->size);
  uint32_t* begin = (uint32_t*)(void*)begins->data;
  for (size_t i = 0; i < count; i++) {
    uint32_t key;
    memcpy(&key, list->data + i * size + member, sizeof key);
    begin[key + 1]++;
  }
  for (uint32_t k = 0; k < keys; k++) begin[k + 1] += begin[k];
  for (size_t i = 0; i < count; i++) {
    uint32_t key;
    memcpy(&key, list->data + i * size + member, sizeof key);
    memcpy(sorted.data + begin[key]++ * size, list->data + i * size, size);
  }
  for (uint32_t k = keys; k > 0; k--) begin[k] = begin[k - 1];
  begin[0] = 0;
  if (list->size != 0) memcpy(list->data, sorted.data, list->size);
  free(sorted.data);
  return true;
}

bool fnabi_reach_open(fnabi_reach* r, const fnabi_function* function,
                      uint64_t* work, fnabi_error* error) {
  fnabi_vector* lists[] = {&r->starts, &r->blocks, &r->edges, &r->writes,
                           &r->known};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) lists[i]->size = 0;
  r->function = function;
  r->work = work;
  r->regular = true;
  r->known_count = r->query = 0;
  bool inside = false;
  fnabi_instruction at;
  if (!spend(r, function->view.size, error)) return false;
  for (uint32_t o = 0, index = 0; o < function->view.size;
       o = at.next, index++) {
    if (!fnabi_bytecode_decode(&function->view, o, &at, error)) return false;
    if (at.op->op == FNABI_OP_BLOCK) {
      r->regular &= !inside;
      inside = true;
      if (!fnabi_vector_append(&r->blocks, &index, sizeof index))
        return no_memory(error);
    }
    r->regular &= inside;
    if (!fnabi_vector_append(&r->starts, &o, sizeof o) ||
        !add_moves(r, &at, index) || !add_writes(r, &at, index) ||
        !add_edges(r, &at, index))
      return no_memory(error);
    if (at.ends) inside = false;
  }
  r->regular &= !inside;
  uint32_t blocks = COUNT(r->blocks, uint32_t);
  for (uint32_t i = 0; i < COUNT(r->edges, edge); i++) {
    edge* e = AT(r->edges, edge, i);
    uint32_t marker = find_u32(&r->starts, e->target);
    e->target =
        marker == UINT32_MAX ? UINT32_MAX : find_u32(&r->blocks, marker);
    if (e->target == UINT32_MAX) {
      r->regular = false;
      return true;
    }
  }
  uint32_t registers = 0;
  for (uint32_t i = 0; i < COUNT(r->writes, write); i++)
    if (AT(r->writes, write, i)->reg >= registers)
      registers = AT(r->writes, write, i)->reg + 1;
  return sort(&r->edges, sizeof(edge), offsetof(edge, target), blocks,
              &r->incoming, error) &&
         sort(&r->writes, sizeof(write), offsetof(write, reg), registers,
              &r->first, error);
}

void fnabi_reach_close(fnabi_reach* r) {
  free(r->starts.data);
  free(r->blocks.data);
  free(r->edges.data);
  free(r->incoming.data);
  free(r->writes.data);
  free(r->first.data);
  free(r->known.data);
  free(r->pending.data);
}

/* ---------------------------------------------------------------- questions */

/* Returns the block of an instruction. */
static uint32_t block_of(const fnabi_reach* r, uint32_t instruction) {
  const uint32_t* markers = (const uint32_t*)(const void*)r->blocks.data;
  uint32_t low = 0, high = COUNT(r->blocks, uint32_t);
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (markers[middle] <= instruction)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* Returns the last write to the register before the instruction in its block,
 * or NULL. */
static const write* last_write(const fnabi_reach* r, uint32_t block,
                               uint32_t instruction, uint32_t reg) {
  if (reg + 1 >= COUNT(r->first, uint32_t)) return NULL; /* nothing writes it */
  const uint32_t* first = AT(r->first, uint32_t, reg);
  uint32_t begin = first[0], low = begin, high = first[1];
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (AT(r->writes, write, middle)->instruction < instruction)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == begin) return NULL;
  const write* found = AT(r->writes, write, low - 1);
  return found->instruction > *AT(r->blocks, uint32_t, block) ? found : NULL;
}

/* Follows a register backwards within its block. Returns true if that
 * determines its content; otherwise *reg is the register at the start of the
 * block. */
static bool follow(const fnabi_reach* r, uint32_t block, uint32_t instruction,
                   uint32_t* reg, fnabi_reference* value) {
  const write* w;
  while ((w = last_write(r, block, instruction, *reg)) != NULL) {
    if (w->source == REGISTERS) {
      *value = w->value;
      return true;
    }
    *reg = w->source;
    instruction = w->instruction;
  }
  return false;
}

/* Follows a register backwards through the sequential copies of a branch.
 * Returns true if one of them empties it. */
static bool unmap(const edge* e, uint32_t* reg) {
  fnabi_operand remap = {.items = e->items, .count = e->pairs};
  for (uint32_t i = e->pairs; i-- > 0;) {
    unsigned source = fnabi_operand_source(&remap, i);
    unsigned target = fnabi_operand_target(&remap, i);
    if ((target & FNABI_REGISTER_REF) != 0 &&
        (target & FNABI_REGISTER_REF_NUMBER) == *reg) {
      *reg = source & FNABI_REGISTER_REF_NUMBER;
      if ((source & FNABI_REGISTER_REF) == 0) *reg = REGISTERS;
      if (*reg == REGISTERS) return false;
    } else if ((source & FNABI_REGISTER_REF) != 0 &&
               (source & FNABI_REGISTER_MOVE) != 0 &&
               (source & FNABI_REGISTER_REF_NUMBER) == *reg) {
      return true;
    }
  }
  return false;
}

/* Finds or creates an entry of the hash table. Returns NULL if memory is
 * exhausted. */
static start* lookup(fnabi_reach* r, uint32_t block, uint32_t reg) {
  uint32_t capacity = COUNT(r->known, start);
  if (2 * (r->known_count + 1) > capacity) {
    uint32_t more = capacity == 0 ? 64 : 2 * capacity;
    fnabi_vector old = r->known, grown = {0};
    if (!fnabi_vector_reserve(&grown, more * sizeof(start))) return NULL;
    grown.size = more * sizeof(start);
    memset(grown.data, 0, grown.size);
    r->known = grown;
    r->known_count = 0;
    for (uint32_t i = 0; i < capacity; i++) {
      const start* s = AT(old, start, i);
      if (s->query != 0) *lookup(r, s->block, s->reg) = *s;
    }
    free(old.data);
    capacity = more;
  }
  uint32_t slot = (block * 0x9E3779B1u ^ reg * 0x85EBCA6Bu) & (capacity - 1);
  for (;; slot = (slot + 1) & (capacity - 1)) {
    start* s = AT(r->known, start, slot);
    if (s->query == 0) {
      *s = (start){block, reg, UINT32_MAX, false, unknown};
      r->known_count++;
      return s;
    }
    if (s->block == block && s->reg == reg) return s;
  }
}

typedef struct pending {
  uint32_t block, reg;
} pending;

/* Joins one more value. Returns false if it differs from the others. */
static bool join(bool* any, fnabi_reference* all, fnabi_reference one) {
  bool same = one.kind != FNABI_REFERENCE_UNKNOWN &&
              (!*any || (all->kind == one.kind && all->number == one.number));
  *any = true;
  *all = same ? one : unknown;
  return same;
}

/* Adds the start of a block to the list unless this query has visited it, or
 * joins its known content. */
static bool visit(fnabi_reach* r, uint32_t block, uint32_t reg, bool* any,
                  fnabi_reference* all, bool* agree, fnabi_error* error) {
  start* s = lookup(r, block, reg);
  pending p = {block, reg};
  if (s == NULL) return no_memory(error);
  if (s->known) {
    *agree = join(any, all, s->value);
    return true;
  }
  if (s->query == r->query) return true;
  s->query = r->query;
  if (fnabi_vector_append(&r->pending, &p, sizeof p)) return true;
  return no_memory(error);
}

bool fnabi_reach_find(fnabi_reach* r, uint32_t instruction, uint32_t reg,
                      fnabi_reference* found, fnabi_error* error) {
  *found = unknown;
  if (!r->regular) return true;
  uint32_t block = block_of(r, instruction);
  if (follow(r, block, instruction, &reg, found)) return true;
  bool any = false, agree = true;
  r->query++;
  r->pending.size = 0;
  if (!visit(r, block, reg, &any, found, &agree, error)) return false;
  for (uint32_t next = 0; agree && next < COUNT(r->pending, pending); next++) {
    pending p = *AT(r->pending, pending, next);
    const uint32_t* incoming = AT(r->incoming, uint32_t, p.block);
    if (p.block == 0) agree = join(&any, found, unknown); /* an argument */
    for (uint32_t i = incoming[0]; agree && i < incoming[1]; i++) {
      const edge* e = AT(r->edges, edge, i);
      uint32_t from = block_of(r, e->from), at = p.reg;
      fnabi_reference value = {FNABI_REFERENCE_NULL, 0};
      if (!spend(r, 1 + (uint64_t)e->pairs, error)) return false;
      if (unmap(e, &at) ||
          (at != REGISTERS && follow(r, from, e->from + 1, &at, &value))) {
        agree = join(&any, found, value);
      } else if (at == REGISTERS) {
        agree = join(&any, found, unknown);
      } else if (!visit(r, from, at, &any, found, &agree, error)) {
        return false;
      }
    }
  }
  if (!agree || !any) *found = unknown;
  /* Every visited entry has the same content. */
  for (uint32_t i = 0;
       found->kind != FNABI_REFERENCE_UNKNOWN && i < COUNT(r->pending, pending);
       i++) {
    pending p = *AT(r->pending, pending, i);
    start* s = lookup(r, p.block, p.reg);
    if (s == NULL) return no_memory(error);
    s->known = true;
    s->value = *found;
  }
  return true;
}

/* Whether an instruction may change a register. */
static bool changes(const fnabi_instruction* at, uint32_t reg) {
  for (unsigned k = 0; k < at->count; k++) {
    const fnabi_operand* o = &at->operands[k];
    bool all = o->written || at->op->op == FNABI_OP_DISCARD_REFS;
    if (o->kind == 'r' || o->kind == 'R') {
      if ((o->value & FNABI_REGISTER_REF_NUMBER) == reg &&
          (all || (o->value & FNABI_REGISTER_MOVE) != 0))
        return true;
      continue;
    }
    for (uint32_t i = 0; is_list(o) && i < o->count; i++) {
      unsigned item = fnabi_operand_item(o, i);
      if ((item & FNABI_REGISTER_REF) != 0 &&
          (item & FNABI_REGISTER_REF_NUMBER) == reg &&
          (all || (item & FNABI_REGISTER_MOVE) != 0))
        return true;
    }
  }
  return false;
}

/* What an instruction loads into the registers that it changes. */
static fnabi_reference loaded_by(const fnabi_instruction* at) {
  switch (at->op->op) {
    case FNABI_OP_CONST_REF_RODATA:
      return (fnabi_reference){FNABI_REFERENCE_RODATA,
                               (uint32_t)at->operands[0].value};
    case FNABI_OP_CONST_REF_ZERO:
      return (fnabi_reference){FNABI_REFERENCE_NULL, 0};
    default:
      return unknown;
  }
}

void fnabi_reach_loaded(const fnabi_function* function, uint32_t block,
                        uint32_t offset, const uint32_t* regs, unsigned count,
                        fnabi_reference* found) {
  enum { FAR = 256 };
  fnabi_instruction at;
  fnabi_error ignored;
  uint32_t o = offset - block > FAR ? offset : block;
  for (unsigned i = 0; i < count; i++) found[i] = unknown;
  for (; o < offset; o += at.size) {
    if (!fnabi_bytecode_decode(&function->view, o, &at, &ignored) || at.ends) {
      for (unsigned i = 0; i < count; i++) found[i] = unknown;
      return;
    }
    for (unsigned i = 0; i < count; i++)
      if (changes(&at, regs[i])) found[i] = loaded_by(&at);
  }
}
