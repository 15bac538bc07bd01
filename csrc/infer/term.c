/* Terms are hash-consed: a new one is first looked up in a hash table, so equal
 * terms have equal numbers. */
#include "infer/term.h"

#include "vmfb/bytecode.h"

bool fnabi_terms_open(fnabi_terms* terms, uint32_t limit) {
  *terms = (fnabi_terms){.capacity = 256, .limit = limit, .slot_mask = 1023};
  terms->nodes = malloc(terms->capacity * sizeof *terms->nodes);
  terms->slots = calloc(terms->slot_mask + 1, sizeof *terms->slots);
  terms->failed = terms->nodes == NULL || terms->slots == NULL;
  if (terms->failed) return false;
  terms->nodes[FNABI_TERM_UNKNOWN] = (fnabi_term_node){.kind = FNABI_TERM_NONE};
  terms->nodes[FNABI_TERM_NULL] = (fnabi_term_node){.kind = FNABI_TERM_NONE};
  terms->count = 2;
  return true;
}

void fnabi_terms_close(fnabi_terms* terms) {
  free(terms->nodes);
  free(terms->slots);
  free(terms->dims.data);
}

/* --------------------------------------------------------------- hash table */

static uint32_t mix(uint32_t hash, uint32_t word) {
  hash = (hash ^ word) * 0x9E3779B1u;
  return hash ^ hash >> 15;
}

static bool has_dims(const fnabi_term_node* n) {
  return n->kind == FNABI_TERM_VIEW || n->kind == FNABI_TERM_ITEMS;
}

static uint32_t hash_of(const fnabi_terms* terms, const fnabi_term_node* n,
                        const fnabi_term* dims) {
  uint32_t hash = mix(n->kind, n->op);
  hash = mix(mix(hash, n->a), n->c);
  if (!has_dims(n)) return mix(hash, n->b);
  for (uint32_t i = 0; i < n->op && n->op != FNABI_RANK_UNKNOWN; i++)
    hash = mix(hash, dims != NULL ? dims[i] : fnabi_term_view_dim(terms, n, i));
  return hash;
}

static bool equals(const fnabi_terms* terms, const fnabi_term_node* old,
                   const fnabi_term_node* n, const fnabi_term* dims) {
  if (old->kind != n->kind || old->op != n->op || old->a != n->a ||
      old->c != n->c)
    return false;
  if (!has_dims(n)) return old->b == n->b;
  return n->op == FNABI_RANK_UNKNOWN || n->op == 0 ||
         memcmp(terms->dims.data + (size_t)old->b * sizeof *dims, dims,
                n->op * sizeof *dims) == 0;
}

static bool grow(fnabi_terms* terms) {
  uint32_t mask = 2 * terms->slot_mask + 1;
  uint32_t* slots = calloc((size_t)mask + 1, sizeof *slots);
  fnabi_term_node* nodes =
      realloc(terms->nodes, 2 * (size_t)terms->capacity * sizeof *nodes);
  if (nodes != NULL) terms->nodes = nodes;
  terms->failed = slots == NULL || nodes == NULL;
  if (terms->failed) {
    free(slots);
    return false;
  }
  terms->capacity *= 2;
  for (uint32_t i = 2; i < terms->count; i++) {
    uint32_t slot = hash_of(terms, &nodes[i], NULL) & mask;
    while (slots[slot] != 0) slot = (slot + 1) & mask;
    slots[slot] = i;
  }
  free(terms->slots);
  terms->slots = slots;
  terms->slot_mask = mask;
  return true;
}

static fnabi_term insert(fnabi_terms* terms, fnabi_term_node node,
                         const fnabi_term* dims) {
  uint32_t slot = hash_of(terms, &node, dims) & terms->slot_mask;
  for (; terms->slots[slot] != 0; slot = (slot + 1) & terms->slot_mask)
    if (equals(terms, &terms->nodes[terms->slots[slot]], &node, dims))
      return terms->slots[slot];
  if (terms->failed || terms->count >= terms->limit) return FNABI_TERM_UNKNOWN;
  if (has_dims(&node) && node.op != FNABI_RANK_UNKNOWN) {
    size_t begin = terms->dims.size / sizeof *dims;
    terms->failed =
        begin > UINT32_MAX - FNABI_RANK_MAX ||
        !fnabi_vector_append(&terms->dims, dims, node.op * sizeof *dims);
    if (terms->failed) return FNABI_TERM_UNKNOWN;
    node.b = (uint32_t)begin;
  }
  uint32_t term = terms->count++;
  terms->nodes[term] = node;
  terms->slots[slot] = term;
  if (terms->count == terms->capacity && !grow(terms)) terms->count--;
  return terms->failed ? FNABI_TERM_UNKNOWN : term;
}

/* ------------------------------------------------------------------- making */

fnabi_term fnabi_term_make(fnabi_terms* terms, fnabi_term_kind kind,
                           uint16_t op, uint32_t a, uint32_t b, uint32_t c) {
  return insert(terms, (fnabi_term_node){(uint8_t)kind, 1, op, a, b, c}, NULL);
}

fnabi_term fnabi_term_constant(fnabi_terms* terms, uint64_t value) {
  return fnabi_term_make(terms, FNABI_TERM_CONSTANT, 0, (uint32_t)value,
                         (uint32_t)(value >> 32), 0);
}

bool fnabi_term_value(const fnabi_terms* terms, fnabi_term term,
                      uint64_t* value) {
  const fnabi_term_node* n = fnabi_term_get(terms, term);
  if (n->kind != FNABI_TERM_CONSTANT) return false;
  *value = (uint64_t)n->b << 32 | n->a;
  return true;
}

/* Makes a term of other terms, none of which is UNKNOWN. */
static fnabi_term compose(fnabi_terms* terms, fnabi_term_kind kind, uint16_t op,
                          uint32_t a, uint32_t b, uint32_t c, uint32_t parts) {
  uint32_t size = 1, words[3] = {a, b, c};
  for (uint32_t i = 0; i < parts; i++)
    size += fnabi_term_get(terms, words[i])->size;
  return insert(
      terms,
      (fnabi_term_node){(uint8_t)kind, (uint8_t)(size < 255 ? size : 255), op,
                        a, b, c},
      NULL);
}

/* Folds an operation on constants. Returns false for operations that are not
 * folded. */
static bool fold(unsigned op, uint64_t a, uint64_t b, uint64_t* out) {
  switch (op) {
    case FNABI_OP_ADD_I32:
    case FNABI_OP_ADD_I64:
      *out = a + b;
      break;
    case FNABI_OP_SUB_I32:
    case FNABI_OP_SUB_I64:
      *out = a - b;
      break;
    case FNABI_OP_MUL_I32:
    case FNABI_OP_MUL_I64:
      *out = a * b;
      break;
    case FNABI_OP_AND_I32:
    case FNABI_OP_AND_I64:
      *out = a & b;
      break;
    case FNABI_OP_OR_I32:
    case FNABI_OP_OR_I64:
      *out = a | b;
      break;
    case FNABI_OP_XOR_I32:
    case FNABI_OP_XOR_I64:
      *out = a ^ b;
      break;
    case FNABI_OP_TRUNC_I64_I32:
    case FNABI_OP_EXT_I32_I64_U:
      *out = a;
      break;
    case FNABI_OP_EXT_I32_I64_S:
      *out = (uint64_t)(int64_t)(int32_t)(uint32_t)a;
      break;
    case FNABI_OP_CMP_EQ_I32:
    case FNABI_OP_CMP_EQ_I64:
      *out = a == b;
      break;
    case FNABI_OP_CMP_NE_I32:
    case FNABI_OP_CMP_NE_I64:
      *out = a != b;
      break;
    case FNABI_OP_CMP_NZ_I32:
    case FNABI_OP_CMP_NZ_I64:
      *out = a != 0;
      break;
    default:
      return false;
  }
  return true;
}

/* The significant bits of a result. */
static uint64_t narrow(unsigned op, uint64_t value) {
  switch (op) {
    case FNABI_OP_ADD_I64:
    case FNABI_OP_SUB_I64:
    case FNABI_OP_MUL_I64:
    case FNABI_OP_AND_I64:
    case FNABI_OP_OR_I64:
    case FNABI_OP_XOR_I64:
    case FNABI_OP_EXT_I32_I64_S:
    case FNABI_OP_EXT_I32_I64_U:
      return value;
    default:
      return (uint32_t)value;
  }
}

static bool commutes(unsigned op) {
  return op == FNABI_OP_ADD_I32 || op == FNABI_OP_ADD_I64 ||
         op == FNABI_OP_MUL_I32 || op == FNABI_OP_MUL_I64;
}

fnabi_term fnabi_term_pure(fnabi_terms* terms, unsigned op, fnabi_term a,
                           fnabi_term b, fnabi_term c) {
  static const struct {
    uint16_t op;
    uint8_t neutral; /* x op neutral is x */
  } neutrals[] = {{FNABI_OP_ADD_I32, 0}, {FNABI_OP_ADD_I64, 0},
                  {FNABI_OP_SUB_I32, 0}, {FNABI_OP_SUB_I64, 0},
                  {FNABI_OP_MUL_I32, 1}, {FNABI_OP_MUL_I64, 1}};
  uint64_t x = 0, y = 0, out;
  bool known[2] = {fnabi_term_value(terms, a, &x),
                   fnabi_term_value(terms, b, &y)};
  if (op == FNABI_OP_SELECT_I32 || op == FNABI_OP_SELECT_I64) {
    if (known[0]) return (uint32_t)x != 0 ? b : c;
    if (b == c) return b;
  }
  if (known[0] && (known[1] || b == 0) && fold(op, x, y, &out))
    return fnabi_term_constant(terms, narrow(op, out));
  if (commutes(op) && known[0]) { /* the constant is the second one */
    fnabi_term first = a;
    a = b;
    b = first;
    y = x;
    known[1] = true;
  } else if (commutes(op) && !known[1] && b < a) {
    fnabi_term first = a;
    a = b;
    b = first;
  }
  for (size_t i = 0; i < sizeof neutrals / sizeof *neutrals; i++)
    if (neutrals[i].op == op && known[1] && y == neutrals[i].neutral) return a;
  return compose(terms, FNABI_TERM_PURE, (uint16_t)op, a, b, c, 3);
}

/* -------------------------------------------------------------------- views */

static bool is_view(const fnabi_terms* terms, fnabi_term term) {
  return fnabi_term_get(terms, term)->kind == FNABI_TERM_VIEW;
}

/* NULL has no properties. */
static bool is_asked(fnabi_term view) {
  return view != FNABI_TERM_UNKNOWN && view != FNABI_TERM_NULL;
}

fnabi_term fnabi_term_dim(fnabi_terms* terms, fnabi_term view, uint32_t index) {
  if (!is_asked(view)) return FNABI_TERM_UNKNOWN;
  const fnabi_term_node* n = fnabi_term_get(terms, view);
  if (n->kind != FNABI_TERM_VIEW)
    return compose(terms, FNABI_TERM_DIM, 0, view, index, 0, 1);
  return n->op != FNABI_RANK_UNKNOWN && index < n->op
             ? fnabi_term_view_dim(terms, n, index)
             : FNABI_TERM_UNKNOWN;
}

fnabi_term fnabi_term_rank(fnabi_terms* terms, fnabi_term view) {
  if (!is_asked(view)) return FNABI_TERM_UNKNOWN;
  const fnabi_term_node* n = fnabi_term_get(terms, view);
  if (n->kind != FNABI_TERM_VIEW)
    return compose(terms, FNABI_TERM_RANK, 0, view, 0, 0, 1);
  return n->op == FNABI_RANK_UNKNOWN ? FNABI_TERM_UNKNOWN
                                     : fnabi_term_constant(terms, n->op);
}

fnabi_term fnabi_term_element_type(fnabi_terms* terms, fnabi_term view) {
  if (!is_asked(view)) return FNABI_TERM_UNKNOWN;
  const fnabi_term_node* n = fnabi_term_get(terms, view);
  if (n->kind != FNABI_TERM_VIEW)
    return compose(terms, FNABI_TERM_ELEMENT_TYPE, 0, view, 0, 0, 1);
  return n->a == 0 ? FNABI_TERM_UNKNOWN : fnabi_term_constant(terms, n->a);
}

fnabi_term fnabi_term_storage(fnabi_terms* terms, fnabi_term view) {
  if (!is_asked(view)) return FNABI_TERM_UNKNOWN;
  return is_view(terms, view)
             ? fnabi_term_get(terms, view)->c
             : compose(terms, FNABI_TERM_STORAGE, 0, view, 0, 0, 1);
}

fnabi_term fnabi_term_view(fnabi_terms* terms, uint32_t element_type,
                           uint32_t rank, const fnabi_term* dims,
                           fnabi_term storage) {
  return insert(terms,
                (fnabi_term_node){FNABI_TERM_VIEW, 255, (uint16_t)rank,
                                  element_type, 0, storage},
                dims);
}

fnabi_term fnabi_term_items(fnabi_terms* terms, uint32_t count,
                            const fnabi_term* items) {
  return insert(
      terms, (fnabi_term_node){FNABI_TERM_ITEMS, 255, (uint16_t)count, 0, 0, 0},
      items);
}

/* ------------------------------------------------------------------- halves */

fnabi_term fnabi_term_half(fnabi_terms* terms, fnabi_term term, uint32_t half) {
  const fnabi_term_node* n = fnabi_term_get(terms, term);
  if (term == FNABI_TERM_UNKNOWN) return term;
  if (n->kind == FNABI_TERM_CONSTANT)
    return fnabi_term_constant(terms, half == FNABI_TERM_LOW ? n->a : n->b);
  return term | half;
}

fnabi_term fnabi_term_join_halves(fnabi_terms* terms, fnabi_term low,
                                  fnabi_term high) {
  uint64_t l, h;
  if (low == FNABI_TERM_UNKNOWN || high == FNABI_TERM_UNKNOWN)
    return FNABI_TERM_UNKNOWN;
  if ((low & FNABI_TERM_HALF) == FNABI_TERM_LOW &&
      high == (low ^ FNABI_TERM_HALF))
    return low ^ FNABI_TERM_LOW;
  if (fnabi_term_value(terms, low, &l) && fnabi_term_value(terms, high, &h))
    return fnabi_term_constant(terms, h << 32 | (uint32_t)l);
  return compose(terms, FNABI_TERM_PURE, FNABI_PURE_PAIR, low, high, 0, 2);
}
