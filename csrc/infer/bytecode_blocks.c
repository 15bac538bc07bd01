/* The blocks of a function: where they begin, where they branch to, in which
 * order they are analysed, and which of them may be in a loop. */
#include "base/error.h"
#include "infer/bytecode_walk.h"

static bool add_branch(fnabi_flow* flow, uint64_t target) {
  uint32_t offset = (uint32_t)target;
  return fnabi_vector_append(&flow->targets, &offset, sizeof offset);
}

static bool add_branches(fnabi_flow* flow, const fnabi_instruction* at) {
  for (unsigned i = 0; i < at->count; i++) {
    const fnabi_operand* o = &at->operands[i];
    if (o->kind == 'p' && !add_branch(flow, o->value)) return false;
    if (o->kind != 'T') continue;
    fnabi_operand target, remap;
    uint32_t place = 0;
    while (fnabi_operand_case(o, &place, &target, &remap))
      if (!add_branch(flow, target.value)) return false;
  }
  return true;
}

static bool is_call(const fnabi_instruction* at) {
  return at->op->op == FNABI_OP_CALL || at->op->op == FNABI_OP_CALL_YIELDABLE;
}

/* Whether the first operand is a function of the module. */
static bool is_internal(const fnabi_instruction* at) {
  return (at->operands[0].kind == 'c' || at->operands[0].kind == 'C') &&
         (at->operands[0].value & FNABI_CALLEE_IMPORT) == 0;
}

/* Without the last one, which ends the others. */
static size_t block_count(const fnabi_flow* flow) {
  size_t count = flow->blocks.size / sizeof(block);
  return count == 0 ? 0 : count - 1;
}

static void forget_blocks(fnabi_flow* flow) {
  const block* blocks = (const block*)(const void*)flow->blocks.data;
  for (size_t i = 0; i < flow->blocks.size / sizeof *blocks; i++)
    if (blocks[i].offset < flow->block_capacity)
      flow->block_at[blocks[i].offset] = 0;
  flow->blocks.size = flow->targets.size = flow->order.size = 0;
  flow->list_count = 0;
}

/* A block whose branches are followed. */
typedef struct step {
  uint32_t index; /* of the block */
  size_t next;    /* of its branches */
} step;

#define UNPLACED UINT32_MAX
#define ON_THE_WAY (UINT32_MAX - 1)

/* Sorts the reachable blocks in reverse postorder: each after its predecessors,
 * except along back edges. */
static bool order_blocks(fnabi_flow* flow) {
  block* blocks = (block*)(void*)flow->blocks.data;
  const uint32_t* targets = (const uint32_t*)(const void*)flow->targets.data;
  fnabi_vector* way = &flow->results;
  size_t count = block_count(flow);
  step first = {0, blocks[0].branches};
  uint32_t left = 0;
  way->size = 0;
  blocks[0].place = ON_THE_WAY;
  if (!fnabi_vector_append(way, &first, sizeof first)) return false;
  while (way->size != 0) {
    step* last = (step*)(void*)(way->data + way->size) - 1;
    if (last->next == blocks[last->index + 1].branches) {
      if (!fnabi_vector_append(&flow->order, &last->index, sizeof last->index))
        return false;
      blocks[last->index].place = left++;
      way->size -= sizeof *last;
      continue;
    }
    step next = {flow->block_at[targets[last->next++]] - 1, 0};
    next.next = blocks[next.index].branches;
    if (blocks[next.index].place != UNPLACED) continue;
    blocks[next.index].place = ON_THE_WAY;
    if (!fnabi_vector_append(way, &next, sizeof next)) return false;
  }
  /* They were appended in postorder. */
  uint32_t* order = (uint32_t*)(void*)flow->order.data;
  for (uint32_t i = 0; i < left / 2; i++) {
    uint32_t index = order[i];
    order[i] = order[left - 1 - i];
    order[left - 1 - i] = index;
  }
  for (size_t i = 0; i < count; i++)
    if (blocks[i].place != UNPLACED)
      blocks[i].place = left - 1 - blocks[i].place;
  return true;
}

/* Marks the blocks that may be in a cycle: those between the ends of a back
 * edge. In any order of the blocks, the back edges of a cycle cover it. */
static void mark_loops(fnabi_flow* flow) {
  block* blocks = (block*)(void*)flow->blocks.data;
  const uint32_t* targets = (const uint32_t*)(const void*)flow->targets.data;
  const uint32_t* order = (const uint32_t*)(const void*)flow->order.data;
  size_t count = flow->order.size / sizeof *order;
  uint32_t back = UINT32_MAX; /* the first place that the later ones lead to */
  for (size_t i = count; i-- > 0;) {
    block* b = &blocks[order[i]];
    for (size_t k = b->branches; k < b[1].branches; k++) {
      uint32_t to = blocks[flow->block_at[targets[k]] - 1].place;
      if (to <= i && to < back) back = to;
    }
    b->in_loop = back <= i;
  }
}

static bool add_block(fnabi_flow* flow, uint32_t offset) {
  block b = {.offset = offset, .place = UNPLACED};
  b.branches = flow->targets.size / sizeof(uint32_t);
  return fnabi_vector_append(&flow->blocks, &b, sizeof b);
}

/* Finds the blocks, their targets, and the callees that are not analysed yet.
 * *calls is whether there are any callees in the module. */
static bool find_blocks(fnabi_flow* flow, const fnabi_bytecode_view* view,
                        bool* calls) {
  fnabi_error ignored;
  fnabi_instruction at;
  bool ended = true;
  *calls = false;
  for (uint32_t offset = 0; offset < view->size; offset = at.next) {
    if (!fnabi_bytecode_decode(view, offset, &at, &ignored) ||
        ended != (at.op->op == FNABI_OP_BLOCK))
      return false;
    if (ended) {
      flow->terms.failed = !add_block(flow, offset);
      if (flow->terms.failed) return false;
      flow->block_at[offset] = (uint32_t)(flow->blocks.size / sizeof(block));
    }
    if (at.op->op == FNABI_OP_LIST_ALLOC && flow->list_count < LISTS_MAX)
      flow->list_count++;
    ended = at.ends;
    if (ended && !add_branches(flow, &at)) {
      flow->terms.failed = true;
      return false;
    }
    if (at.op->op == FNABI_OP_RETURN)
      ((block*)(void*)(flow->blocks.data + flow->blocks.size))[-1].returns =
          true;
    if (at.count == 0 || !is_internal(&at)) continue;
    *calls = true;
    if (is_call(&at)) {
      uint32_t callee = (uint32_t)at.operands[0].value;
      if (callee >= flow->module->function_count) return false;
      if (flow->functions[callee].state == NEW &&
          !fnabi_vector_append(&flow->callees, &callee, sizeof callee)) {
        flow->terms.failed = true;
        return false;
      }
    }
  }
  flow->terms.failed = !add_block(flow, UINT32_MAX);
  return ended && !flow->terms.failed;
}

bool fnabi_walk_blocks(fnabi_flow* flow, uint32_t ordinal) {
  const fnabi_bytecode_view* view = &flow->module->functions[ordinal].view;
  bool calls;
  forget_blocks(flow);
  if (view->size > flow->block_capacity) {
    free(flow->block_at);
    flow->block_at = calloc(view->size, sizeof *flow->block_at);
    flow->block_capacity = flow->block_at == NULL ? 0 : view->size;
    flow->terms.failed = flow->block_at == NULL;
  }
  if (view->size == 0 || flow->terms.failed || !find_blocks(flow, view, &calls))
    return false;
  flow->functions[ordinal].calls = calls;
  const uint32_t* targets = (const uint32_t*)(const void*)flow->targets.data;
  for (size_t i = 0; i < flow->targets.size / sizeof *targets; i++)
    if (targets[i] >= view->size || flow->block_at[targets[i]] == 0)
      return false;
  flow->terms.failed = !order_blocks(flow);
  if (flow->terms.failed) return false;
  mark_loops(flow);
  return true;
}
