/* bytecode_walk.h - the state of the data flow over a function, shared by the
 * files that implement it. Private.
 *
 * The state of a path is an array of terms: one per register of the value bank,
 * one per register of the ref bank, one fact per argument, and the ITEMS of each
 * tracked list. A fact is a VIEW of what the path has proven about the buffer
 * view passed as that argument. */
#ifndef FNABI_INFER_BYTECODE_WALK_H
#define FNABI_INFER_BYTECODE_WALK_H

#include "infer/record.h"

enum { NEW, OPEN, DONE }; /* fnabi_flow_function.state */

/* Limits of the tracked lists of a function, and of the items of each. */
#define LISTS_MAX 16
#define ITEMS_MAX 64

/* What an import reveals. */
typedef enum import_kind {
  OTHER,
  ASSERT_VIEW,
  CREATE_VIEW,
  VIEW_STORAGE,
  VIEW_DIM,
  VIEW_RANK,
  VIEW_ELEMENT_TYPE,
  VIEW_USED,
  BUFFER_USED,
  ASSERT_BUFFER,
  SUBSPAN,
  QUEUE, /* operands 2 and 3 are fences */
  WAITED,
  SIGNALED
} import_kind;

typedef struct block {
  uint32_t offset; /* of its marker */
  uint32_t place;  /* index in the order of analysis */
  bool in_loop, returns, reached, dirty;
  size_t branches; /* index of its first target; the next block's is the end */
  size_t state;    /* index of its state in the vector of states, in words */
} block;

typedef struct walk {
  fnabi_flow* flow;
  const fnabi_function* function;
  uint32_t ordinal;
  uint32_t values, refs, arguments, lists;
  uint32_t list_at[LISTS_MAX]; /* offsets of their allocations; 0: none */
  size_t width;                /* of a state, in words */
  block* blocks;
  uint32_t lowest; /* no block with a lower place is dirty */
  fnabi_term *now, *other;
  fnabi_term* returned; /* results, then facts */
  uint32_t* uses;       /* of arguments */
  uint32_t* lengths;    /* of arguments: the most bytes that are asserted */
  uint32_t result_count;
  uint32_t offset; /* of the instruction */
  uint64_t work;
  bool in_loop;       /* whether the current block may be in a loop */
  bool dead;          /* the path ends here without a return */
  bool returns;       /* a path has returned */
  bool recorded;      /* the block is recorded, and its branches not followed */
  bool abandoned;     /* nothing is known about the function */
  fnabi_term nowhere; /* replaces a register that is out of range */
} walk;

static inline bool spend(walk* w, uint64_t work) {
  if (w->work < work) w->abandoned = true;
  w->work -= w->abandoned ? 0 : work;
  return !w->abandoned;
}

static inline fnabi_term* facts_of(const walk* w, fnabi_term* state) {
  return state + w->values + w->refs;
}

static inline fnabi_term* lists_of(const walk* w, fnabi_term* state) {
  return facts_of(w, state) + w->arguments;
}

/* OPAQUE terms, by their `op`. Those of read-only data and globals are made only
 * where functions are recorded; no other term is made from them. */
enum { GIVEN, CARRIED, MET, ALLOCATED, READ_ONLY, GLOBAL };

/* The ITEMS of a tracked list in a state, UNKNOWN after the list has escaped.
 * NULL for any other term. A tracked list is allocated at most once per call,
 * and until it escapes no other term refers to it. */
static inline fnabi_term* list_in(const walk* w, fnabi_term term,
                                  fnabi_term* state) {
  const fnabi_term_node* n = fnabi_term_get(&w->flow->terms, term);
  bool list = n->kind == FNABI_TERM_OPAQUE && n->op == ALLOCATED &&
              n->a == w->ordinal && n->c < w->lists;
  return list ? lists_of(w, state) + n->c : NULL;
}

/* ---------------------------------------------------------------- registers */

static inline fnabi_term* value_at(walk* w, uint64_t number) {
  if (number < w->values) return w->now + number;
  w->abandoned = true;
  w->nowhere = FNABI_TERM_UNKNOWN;
  return &w->nowhere;
}

static inline fnabi_term read_i32(walk* w, uint64_t number) {
  return *value_at(w, number);
}

static inline fnabi_term read_i64(walk* w, uint64_t number) {
  fnabi_term low = *value_at(w, number), high = *value_at(w, number + 1);
  return fnabi_term_join_halves(&w->flow->terms, low, high);
}

static inline void write_i32(walk* w, uint64_t number, fnabi_term term) {
  *value_at(w, number) = term;
}

static inline void write_i64(walk* w, uint64_t number, fnabi_term term) {
  fnabi_terms* terms = &w->flow->terms;
  *value_at(w, number) = fnabi_term_half(terms, term, FNABI_TERM_LOW);
  *value_at(w, number + 1) = fnabi_term_half(terms, term, FNABI_TERM_HIGH);
}

static inline fnabi_term* ref_at(walk* w, uint64_t number) {
  uint64_t index = number & FNABI_REGISTER_REF_NUMBER;
  if ((number & FNABI_REGISTER_REF) != 0 && index < w->refs)
    return w->now + w->values + index;
  return value_at(w, UINT64_MAX);
}

/* Reads a reference to copy it, or to use the list it refers to. */
static inline fnabi_term copy_ref(walk* w, uint64_t number) {
  fnabi_term* at = ref_at(w, number);
  fnabi_term term = *at;
  if ((number & FNABI_REGISTER_MOVE) != 0) *at = FNABI_TERM_NULL;
  return term;
}

/* Reads a reference for any other use, after which a list has escaped. */
static inline fnabi_term read_ref(walk* w, uint64_t number) {
  fnabi_term term = copy_ref(w, number);
  fnabi_term* items = list_in(w, term, w->now);
  if (items != NULL) *items = FNABI_TERM_UNKNOWN;
  return term;
}

static inline void write_ref(walk* w, uint64_t number, fnabi_term term) {
  *ref_at(w, number) = term;
}

/* Sets a register of the kind `letter` to UNKNOWN. */
static inline void forget(walk* w, char letter, uint64_t number) {
  switch (letter) {
    case 'I':
    case 'F':
      write_i64(w, number, FNABI_TERM_UNKNOWN);
      break;
    case 'r':
    case 'R':
      write_ref(w, number, FNABI_TERM_UNKNOWN);
      break;
    default:
      write_i32(w, number, FNABI_TERM_UNKNOWN);
  }
}

static inline fnabi_term read_register(walk* w, char letter, uint64_t number) {
  switch (letter) {
    case 'I':
      return read_i64(w, number);
    case 'r':
      return read_ref(w, number);
    case 'i':
      return read_i32(w, number);
    case 'F': /* no term */
      (void)read_i64(w, number);
      return FNABI_TERM_UNKNOWN;
    default:
      (void)read_i32(w, number);
      return FNABI_TERM_UNKNOWN;
  }
}

static inline void write_register(walk* w, char letter, uint64_t number,
                                  fnabi_term term) {
  switch (letter) {
    case 'I':
      write_i64(w, number, term);
      break;
    case 'r':
      write_ref(w, number, term);
      break;
    case 'i':
      write_i32(w, number, term);
      break;
    default:
      forget(w, letter, number);
  }
}

/* --------------------------------------------------------------------- views */

/* A new term for a result of this instruction. In a loop the instruction may
 * run more than once, so the result is UNKNOWN. */
fnabi_term fnabi_walk_given(walk* w, uint32_t which);

/* Whether a term is an argument, whose index it stores. */
bool fnabi_walk_as_argument(const walk* w, fnabi_term term, uint32_t* index);

/* Records a use of an argument or its storage. */
void fnabi_walk_use(walk* w, fnabi_term term, uint32_t as);

/* Records that an argument or its storage must have that many bytes. */
void fnabi_walk_require(walk* w, fnabi_term term, uint64_t length);

/* Returns what is known about the type of a reference, as a VIEW or UNKNOWN. */
fnabi_term fnabi_walk_type_of(const walk* w, fnabi_term term,
                              const fnabi_term* facts);

/* Copies the dims of a view, unless its rank is unknown. Returns its rank. */
uint32_t fnabi_walk_copy_dims(const walk* w, const fnabi_term_node* view,
                              fnabi_term dims[FNABI_RANK_MAX]);

/* Returns what two views have in common, or UNKNOWN. If both are facts about
 * the argument `own`, dims that differ become the argument's own dims. */
fnabi_term fnabi_walk_common_view(walk* w, fnabi_term a, fnabi_term b,
                                  fnabi_term own);

/* Returns UNKNOWN for a dim that no buffer can have. */
fnabi_term fnabi_walk_checked_dim(const walk* w, fnabi_term dim);

/* Adds a view to the fact about an argument. If it contradicts the fact, the
 * path is dead. */
void fnabi_walk_learn(walk* w, uint32_t index, uint32_t element_type,
                      uint32_t rank, const fnabi_term* dims);

/* Returns an item of a list, or UNKNOWN. */
fnabi_term fnabi_walk_item_of(const walk* w, fnabi_term items, uint64_t index);

/* ITEMS, or UNKNOWN when the limit of recorded items is reached. */
fnabi_term fnabi_walk_make_items(walk* w, uint32_t count,
                                 const fnabi_term* items);

/* Runs an instruction that changes or reads a list; allocate_list one that
 * allocates it. */
void fnabi_walk_run_list(walk* w, const fnabi_instruction* at);
fnabi_term fnabi_walk_allocate_list(walk* w);

/* Continues the path under the assumption that `condition` is nonzero, or is 0
 * unless `holds`. */
void fnabi_walk_assume(walk* w, fnabi_term condition, bool holds);

/* -------------------------------------------------------------------- blocks */

/* Prepares the blocks of a function. Returns false, so that nothing is known,
 * if its code is not a sequence of blocks. */
bool fnabi_walk_blocks(fnabi_flow* flow, uint32_t ordinal);

/* --------------------------------------------------------------------- joins */

/* Continues the path at `target`, after the remaps. */
void fnabi_walk_branch_to(walk* w, uint64_t target, const fnabi_operand* remap);

/* --------------------------------------------------------------------- calls */

import_kind fnabi_walk_import(const fnabi_callee* import);

/* Runs a call. */
void fnabi_walk_run_call(walk* w, const fnabi_instruction* at);

#endif /* FNABI_INFER_BYTECODE_WALK_H */
