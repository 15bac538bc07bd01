/* What a path knows of buffer views: facts about arguments, the items of lists,
 * and what follows from the condition of a branch. */
#include "infer/bytecode_walk.h"

/* -------------------------------------------------------------------- views */

fnabi_term fnabi_walk_given(walk* w, uint32_t which) {
  if (w->in_loop) return FNABI_TERM_UNKNOWN;
  return fnabi_term_make(&w->flow->terms, FNABI_TERM_OPAQUE, GIVEN, w->ordinal,
                         w->offset, which);
}

bool fnabi_walk_as_argument(const walk* w, fnabi_term term, uint32_t* index) {
  const fnabi_term_node* n = fnabi_term_get(&w->flow->terms, term);
  if (n->kind != FNABI_TERM_ARGUMENT || n->a >= w->arguments) return false;
  *index = n->a;
  return true;
}

void fnabi_walk_use(walk* w, fnabi_term term, uint32_t as) {
  uint32_t index;
  const fnabi_term_node* n = fnabi_term_get(&w->flow->terms, term);
  if (fnabi_walk_as_argument(w, term, &index))
    w->uses[index] |= as;
  else if (n->kind == FNABI_TERM_STORAGE &&
           fnabi_walk_as_argument(w, n->a, &index))
    w->uses[index] |= FNABI_USE_VIEW;
}

void fnabi_walk_require(walk* w, fnabi_term term, uint64_t length) {
  uint32_t index;
  const fnabi_term_node* n = fnabi_term_get(&w->flow->terms, term);
  if (length > UINT32_MAX) length = UINT32_MAX;
  if ((fnabi_walk_as_argument(w, term, &index) ||
       (n->kind == FNABI_TERM_STORAGE &&
        fnabi_walk_as_argument(w, n->a, &index))) &&
      w->lengths[index] < length)
    w->lengths[index] = (uint32_t)length;
}

fnabi_term fnabi_walk_type_of(const walk* w, fnabi_term term,
                              const fnabi_term* facts) {
  uint32_t index;
  if (fnabi_term_get(&w->flow->terms, term)->kind == FNABI_TERM_VIEW)
    return term;
  return fnabi_walk_as_argument(w, term, &index) ? facts[index]
                                                 : FNABI_TERM_UNKNOWN;
}

uint32_t fnabi_walk_copy_dims(const walk* w, const fnabi_term_node* view,
                              fnabi_term dims[FNABI_RANK_MAX]) {
  if (view->op == FNABI_RANK_UNKNOWN) return FNABI_RANK_UNKNOWN;
  for (uint32_t i = 0; i < view->op; i++)
    dims[i] = fnabi_term_view_dim(&w->flow->terms, view, i);
  return view->op;
}

fnabi_term fnabi_walk_common_view(walk* w, fnabi_term a, fnabi_term b,
                                  fnabi_term own) {
  fnabi_terms* terms = &w->flow->terms;
  if (a == b) return a;
  if (a == FNABI_TERM_UNKNOWN || b == FNABI_TERM_UNKNOWN)
    return FNABI_TERM_UNKNOWN;
  fnabi_term dims[FNABI_RANK_MAX];
  const fnabi_term_node x = *fnabi_term_get(terms, a);
  const fnabi_term_node y = *fnabi_term_get(terms, b);
  uint32_t rank =
      x.op == y.op ? fnabi_walk_copy_dims(w, &x, dims) : FNABI_RANK_UNKNOWN;
  uint32_t element_type = x.a == y.a ? x.a : 0;
  if (rank == FNABI_RANK_UNKNOWN && element_type == 0)
    return FNABI_TERM_UNKNOWN;
  for (uint32_t i = 0; i < rank && rank != FNABI_RANK_UNKNOWN; i++)
    if (dims[i] != fnabi_term_view_dim(terms, &y, i))
      dims[i] = fnabi_term_dim(terms, own, i);
  if (!spend(w, x.op == FNABI_RANK_UNKNOWN ? 1 : x.op))
    return FNABI_TERM_UNKNOWN;
  return fnabi_term_view(terms, element_type, rank, dims,
                         x.c == y.c ? x.c : FNABI_TERM_UNKNOWN);
}

fnabi_term fnabi_walk_checked_dim(const walk* w, fnabi_term dim) {
  uint64_t value;
  if (fnabi_term_value(&w->flow->terms, dim, &value) && value > INT64_MAX)
    return FNABI_TERM_UNKNOWN;
  return dim;
}

void fnabi_walk_learn(walk* w, uint32_t index, uint32_t element_type,
                      uint32_t rank, const fnabi_term* dims) {
  fnabi_terms* terms = &w->flow->terms;
  fnabi_term* fact = facts_of(w, w->now) + index;
  fnabi_term own = fnabi_term_make(terms, FNABI_TERM_ARGUMENT, 0, index, 0, 0);
  fnabi_term learned[FNABI_RANK_MAX];
  uint32_t known = FNABI_RANK_UNKNOWN;
  if (*fact != FNABI_TERM_UNKNOWN) {
    const fnabi_term_node* old = fnabi_term_get(terms, *fact);
    known = fnabi_walk_copy_dims(w, old, learned);
    w->dead = (old->a != 0 && element_type != 0 && old->a != element_type) ||
              (known != FNABI_RANK_UNKNOWN && rank != FNABI_RANK_UNKNOWN &&
               known != rank);
    if (w->dead) return;
    if (element_type == 0) element_type = old->a;
  }
  if (rank == FNABI_RANK_UNKNOWN) {
    rank = known;
    dims = NULL;
  }
  if (!spend(w, rank == FNABI_RANK_UNKNOWN ? 1 : rank)) return;
  for (uint32_t i = 0; i < rank && rank != FNABI_RANK_UNKNOWN; i++) {
    fnabi_term itself = fnabi_term_dim(terms, own, i);
    fnabi_term new = dims == NULL ? itself : fnabi_walk_checked_dim(w, dims[i]);
    uint64_t a, b;
    if (new == FNABI_TERM_UNKNOWN) new = itself;
    if (known == FNABI_RANK_UNKNOWN || learned[i] == itself) {
      learned[i] = new;
    } else if (fnabi_term_value(terms, new, &b)) {
      if (fnabi_term_value(terms, learned[i], &a) && a != b) w->dead = true;
      learned[i] = new;
    }
  }
  *fact = fnabi_term_view(terms, element_type, rank, learned,
                          fnabi_term_storage(terms, own));
}

/* Adds dim `index` to the fact about an argument whose rank is known. */
static void learn_dim(walk* w, uint32_t argument, uint32_t index,
                      fnabi_term value) {
  fnabi_term fact = facts_of(w, w->now)[argument];
  const fnabi_term_node* n = fnabi_term_get(&w->flow->terms, fact);
  fnabi_term dims[FNABI_RANK_MAX];
  if (fact == FNABI_TERM_UNKNOWN || n->op == FNABI_RANK_UNKNOWN ||
      index >= n->op)
    return;
  uint32_t rank = fnabi_walk_copy_dims(w, n, dims);
  for (uint32_t i = 0; i < rank; i++)
    if (i != index) dims[i] = FNABI_TERM_UNKNOWN;
  dims[index] = value;
  fnabi_walk_learn(w, argument, 0, rank, dims);
}

/* -------------------------------------------------------------------- lists */

fnabi_term fnabi_walk_item_of(const walk* w, fnabi_term items, uint64_t index) {
  const fnabi_terms* terms = &w->flow->terms;
  const fnabi_term_node* n = fnabi_term_get(terms, items);
  return n->kind == FNABI_TERM_ITEMS && index < n->op
             ? fnabi_term_view_dim(terms, n, (uint32_t)index)
             : FNABI_TERM_UNKNOWN;
}

fnabi_term fnabi_walk_make_items(walk* w, uint32_t count,
                                 const fnabi_term* items) {
  fnabi_flow* flow = w->flow;
  if (!spend(w, count) || flow->items_left < count) return FNABI_TERM_UNKNOWN;
  flow->items_left -= count;
  return fnabi_term_items(&flow->terms, count, items);
}

/* ITEMS with another value at `index`. An unknown index may be that of any item,
 * so no item is known any more. */
static fnabi_term set_item(walk* w, fnabi_term old, fnabi_term index,
                           fnabi_term value) {
  uint64_t number;
  if (old == FNABI_TERM_UNKNOWN) return old;
  if (!fnabi_term_value(&w->flow->terms, index, &number))
    return fnabi_walk_make_items(w, 0, NULL);
  uint32_t at = (uint32_t)number,
           count = fnabi_term_get(&w->flow->terms, old)->op;
  fnabi_term items[ITEMS_MAX] = {FNABI_TERM_UNKNOWN};
  if (at >= ITEMS_MAX || (at >= count && value == FNABI_TERM_UNKNOWN))
    return old;
  for (uint32_t i = 0; i < count; i++) items[i] = fnabi_walk_item_of(w, old, i);
  for (uint32_t i = count; i < at; i++) items[i] = FNABI_TERM_UNKNOWN;
  items[at] = value;
  return fnabi_walk_make_items(w, at < count ? count : at + 1, items);
}

/* Reads an item as a reference to a type. The runtime returns null if the item is
 * of another type, so an item counts only where its type is known to fit. */
static fnabi_term get_item(walk* w, fnabi_term items, fnabi_term index,
                           uint64_t type) {
  const fnabi_bytecode* module = w->flow->module;
  uint64_t number;
  if (!fnabi_term_value(&w->flow->terms, index, &number) ||
      type >= module->type_count)
    return FNABI_TERM_UNKNOWN;
  bool view = FNABI_TEXT_IS(module->types[type], "!hal.buffer_view");
  fnabi_term item = fnabi_walk_item_of(w, items, (uint32_t)number);
  switch ((fnabi_term_kind)fnabi_term_get(&w->flow->terms, item)->kind) {
    case FNABI_TERM_VIEW:
      return view ? item : FNABI_TERM_UNKNOWN;
    case FNABI_TERM_ARGUMENT:
      if (!view) return FNABI_TERM_UNKNOWN;
      fnabi_walk_use(w, item, FNABI_USE_LISTED);
      return item;
    case FNABI_TERM_STORAGE:
      return FNABI_TEXT_IS(module->types[type], "!hal.buffer")
                 ? item
                 : FNABI_TERM_UNKNOWN;
    case FNABI_TERM_NONE: /* UNKNOWN, or null, which is null as any type */
      return item;
    default:
      return FNABI_TERM_UNKNOWN;
  }
}

/* A list is not tracked if it is allocated in a loop, where one instruction
 * allocates several, or beyond LISTS_MAX. */
fnabi_term fnabi_walk_allocate_list(walk* w) {
  uint32_t slot = 0;
  if (w->in_loop) return FNABI_TERM_UNKNOWN;
  while (slot < w->lists && w->list_at[slot] != 0 &&
         w->list_at[slot] != w->offset)
    slot++;
  if (slot == w->lists) return FNABI_TERM_UNKNOWN;
  fnabi_term list = fnabi_term_make(&w->flow->terms, FNABI_TERM_OPAQUE,
                                    ALLOCATED, w->ordinal, w->offset, slot);
  w->list_at[slot] = w->offset;
  lists_of(w, w->now)[slot] = fnabi_walk_make_items(w, 0, NULL);
  return list;
}

void fnabi_walk_run_list(walk* w, const fnabi_instruction* at) {
  const fnabi_operand* o = at->operands;
  fnabi_term list = copy_ref(w, o[0].value), value = FNABI_TERM_UNKNOWN;
  fnabi_term index = read_i32(w, o[1].value);
  fnabi_walk_use(w, list, FNABI_USE_LIST);
  if (at->op->op == FNABI_OP_LIST_SET_REF) value = read_ref(w, o[2].value);
  fnabi_term* items = list_in(w, list, w->now);
  switch (at->op->op) {
    case FNABI_OP_LIST_SET_I32:
    case FNABI_OP_LIST_SET_I64:
    case FNABI_OP_LIST_SET_F32:
    case FNABI_OP_LIST_SET_F64:
    case FNABI_OP_LIST_SET_REF:
      if (items != NULL) *items = set_item(w, *items, index, value);
      break;
    case FNABI_OP_LIST_RESIZE:
      if (items != NULL && *items != FNABI_TERM_UNKNOWN)
        *items = fnabi_walk_make_items(w, 0, NULL);
      break;
    default: /* LIST_GET_REF */
      write_ref(w, o[3].value,
                items == NULL ? FNABI_TERM_UNKNOWN
                              : get_item(w, *items, index, o[2].value));
  }
}

/* --------------------------------------------------------------- conditions */

/* A constant is none here: what is computed from two constants is one too. */
static bool is_boolean(const fnabi_term_node* n) {
  if (n->kind != FNABI_TERM_PURE) return false;
  switch (n->op) {
    case FNABI_OP_CMP_EQ_I32:
    case FNABI_OP_CMP_NE_I32:
    case FNABI_OP_CMP_NZ_I32:
    case FNABI_OP_CMP_EQ_I64:
    case FNABI_OP_CMP_NE_I64:
    case FNABI_OP_CMP_NZ_I64:
      return true;
    default:
      return false;
  }
}

/* Adds that a property of an argument's view is `value`. */
static void learn_equal(walk* w, fnabi_term property, uint64_t value) {
  const fnabi_term_node n = *fnabi_term_get(&w->flow->terms, property);
  uint32_t index;
  if (n.kind != FNABI_TERM_DIM && n.kind != FNABI_TERM_RANK &&
      n.kind != FNABI_TERM_ELEMENT_TYPE)
    return;
  if ((property & FNABI_TERM_HALF) != 0 ||
      !fnabi_walk_as_argument(w, n.a, &index))
    return;
  if (n.kind == FNABI_TERM_RANK && value <= FNABI_RANK_MAX)
    fnabi_walk_learn(w, index, 0, (uint32_t)value, NULL);
  if (n.kind == FNABI_TERM_ELEMENT_TYPE && value <= UINT32_MAX)
    fnabi_walk_learn(w, index, (uint32_t)value, FNABI_RANK_UNKNOWN, NULL);
  if (n.kind == FNABI_TERM_DIM)
    learn_dim(w, index, n.b, fnabi_term_constant(&w->flow->terms, value));
}

void fnabi_walk_assume(walk* w, fnabi_term condition, bool holds) {
  const fnabi_terms* terms = &w->flow->terms;
  for (int depth = 0; depth < 8; depth++) { /* negations */
    uint64_t value;
    const fnabi_term_node n = *fnabi_term_get(terms, condition);
    if (fnabi_term_value(terms, condition, &value)) {
      w->dead = (value != 0) != holds;
      return;
    }
    if (n.kind != FNABI_TERM_PURE || (condition & FNABI_TERM_HALF) != 0) return;
    switch (n.op) {
      case FNABI_OP_XOR_I32:
        if (!is_boolean(fnabi_term_get(terms, n.a)) ||
            !fnabi_term_value(terms, n.b, &value) || value != 1)
          return;
        condition = n.a;
        holds = !holds;
        break;
      case FNABI_OP_CMP_NZ_I32:
      case FNABI_OP_CMP_NZ_I64:
        if (!holds) learn_equal(w, n.a, 0);
        condition = n.a;
        break;
      case FNABI_OP_CMP_EQ_I32:
      case FNABI_OP_CMP_EQ_I64:
      case FNABI_OP_CMP_NE_I32:
      case FNABI_OP_CMP_NE_I64: {
        bool equal = n.op == FNABI_OP_CMP_EQ_I32 || n.op == FNABI_OP_CMP_EQ_I64;
        fnabi_term a = n.a, b = n.b;
        if (equal != holds) return;
        if (fnabi_term_value(terms, b, &value))
          learn_equal(w, a, value);
        else if (fnabi_term_value(terms, a, &value))
          learn_equal(w, b, value);
        return;
      }
      default:
        return;
    }
  }
}
