/* Where paths of bytecode join: at the start of blocks, whose state is what all
 * paths to them have in common. */
#include "infer/bytecode_walk.h"

/* Limits of the words of states, per function. */
#define STATE_WORDS(code) ((uint64_t)16 * (code) + (1 << 20))
#define STATE_WORDS_MAX ((uint64_t)16 << 20)

/* A new term for register `index` at the start of a block, if the joining paths
 * have different values in it. UNKNOWN in a loop, where blocks run repeatedly.
 */
static fnabi_term met(walk* w, const block* b, size_t index) {
  if (b->in_loop) return FNABI_TERM_UNKNOWN;
  return fnabi_term_make(&w->flow->terms, FNABI_TERM_OPAQUE, MET, w->ordinal,
                         b->offset, (uint32_t)index);
}

/* A register that is joined with another value may refer to the list without
 * showing it. */
static void escape(walk* w, block* b, fnabi_term term) {
  fnabi_term* state = (fnabi_term*)(void*)w->flow->state.data + b->state;
  fnabi_term* items = list_in(w, term, state);
  if (items == NULL) return;
  b->dirty = b->dirty || *items != FNABI_TERM_UNKNOWN;
  *items = FNABI_TERM_UNKNOWN;
}

/* What is known of a list in two states. */
static fnabi_term common_items(walk* w, fnabi_term a, const fnabi_term* a_facts,
                               fnabi_term b, const fnabi_term* b_facts) {
  fnabi_terms* terms = &w->flow->terms;
  fnabi_term items[ITEMS_MAX];
  if (a == b) return a;
  if (a == FNABI_TERM_UNKNOWN || b == FNABI_TERM_UNKNOWN)
    return FNABI_TERM_UNKNOWN;
  uint32_t count = fnabi_term_get(terms, a)->op;
  if (count > fnabi_term_get(terms, b)->op)
    count = fnabi_term_get(terms, b)->op;
  for (uint32_t i = 0; i < count; i++) {
    fnabi_term x = fnabi_walk_item_of(w, a, i), y = fnabi_walk_item_of(w, b, i);
    items[i] =
        x == y ? x
               : fnabi_walk_common_view(w, fnabi_walk_type_of(w, x, a_facts),
                                        fnabi_walk_type_of(w, y, b_facts),
                                        FNABI_TERM_UNKNOWN);
  }
  return fnabi_walk_make_items(w, count, items);
}

static void meet_lists(walk* w, block* b, const fnabi_term* in) {
  fnabi_term* old = (fnabi_term*)(void*)w->flow->state.data + b->state;
  const fnabi_term* in_facts = in + w->values + w->refs;
  const fnabi_term* in_lists = in_facts + w->arguments;
  fnabi_term* lists = lists_of(w, old);
  for (uint32_t i = 0; i < w->lists; i++) {
    fnabi_term value =
        common_items(w, lists[i], facts_of(w, old), in_lists[i], in_facts);
    b->dirty = b->dirty || value != lists[i];
    lists[i] = value;
  }
}

/* Joins the path `in` into the state of a block. */
static void meet(walk* w, block* b, const fnabi_term* in) {
  fnabi_term* old = (fnabi_term*)(void*)w->flow->state.data + b->state;
  size_t registers = (size_t)w->values + w->refs;
  for (size_t i = w->values; i < registers && w->lists != 0; i++) {
    if (old[i] == in[i]) continue;
    escape(w, b, old[i]);
    escape(w, b, in[i]);
  }
  meet_lists(w, b, in);
  for (size_t i = 0; i < registers; i++) {
    if (old[i] == in[i] || old[i] == FNABI_TERM_UNKNOWN) continue;
    fnabi_term value = FNABI_TERM_UNKNOWN, here = met(w, b, i);
    if (old[i] == here) continue;
    if (i >= w->values)
      value = fnabi_walk_common_view(
          w, fnabi_walk_type_of(w, old[i], old + registers),
          fnabi_walk_type_of(w, in[i], in + registers), FNABI_TERM_UNKNOWN);
    if (value == FNABI_TERM_UNKNOWN) value = here;
    b->dirty = b->dirty || value != old[i];
    old[i] = value;
  }
  for (uint32_t i = 0; i < w->arguments; i++) {
    fnabi_term* fact = old + registers + i;
    if (*fact == in[registers + i]) continue;
    fnabi_term own =
        fnabi_term_make(&w->flow->terms, FNABI_TERM_ARGUMENT, 0, i, 0, 0);
    fnabi_term value = fnabi_walk_common_view(w, *fact, in[registers + i], own);
    b->dirty = b->dirty || value != *fact;
    *fact = value;
  }
}

static block* block_from(walk* w, uint64_t target) {
  const fnabi_bytecode_view* view = &w->function->view;
  uint32_t index = target < view->size ? w->flow->block_at[target] : 0;
  return index == 0 ? NULL : &w->blocks[index - 1];
}

void fnabi_walk_branch_to(walk* w, uint64_t target,
                          const fnabi_operand* remap) {
  fnabi_vector* states = &w->flow->state;
  if (w->recorded) return;
  block* b = block_from(w, target);
  if (b == NULL) {
    w->abandoned = true;
    return;
  }
  fnabi_term* path = w->now;
  if (w->width != 0) memcpy(w->other, path, w->width * sizeof *path);
  if (!spend(w, w->width)) return;
  w->now = w->other; /* to work on */
  for (uint32_t i = 0; remap != NULL && i < remap->count; i++) {
    uint16_t source = fnabi_operand_source(remap, i);
    uint16_t to = fnabi_operand_target(remap, i);
    if ((source & FNABI_REGISTER_REF) != (to & FNABI_REGISTER_REF))
      w->abandoned = true;
    else if ((source & FNABI_REGISTER_REF) != 0)
      write_ref(w, to, copy_ref(w, source));
    else
      write_i32(w, to, read_i32(w, source));
  }
  w->now = path;
  if (w->abandoned) return;
  if (b->reached) {
    meet(w, b, w->other);
  } else {
    uint64_t limit = STATE_WORDS(w->function->view.size);
    if (limit > STATE_WORDS_MAX) limit = STATE_WORDS_MAX;
    b->state = states->size / sizeof *path;
    if (b->state + w->width > limit) {
      w->abandoned = true;
      return;
    }
    if (!fnabi_vector_append(states, w->other, w->width * sizeof *path)) {
      w->flow->terms.failed = true;
      w->abandoned = true;
      return;
    }
    b->reached = b->dirty = true;
  }
  if (b->dirty && b->place < w->lowest) w->lowest = b->place;
}
