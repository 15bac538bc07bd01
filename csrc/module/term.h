/* term.h - what is known of a value that a function computes, as terms: each
 * stands for one value of one call of the function. Private.
 *
 * Equal terms have equal numbers, so two values of one number are the same
 * value. That holds because a term is built from what does not change during a
 * call: constants, arguments, questions to a buffer view, and what an
 * instruction outside loops gave. A value that has no such description is
 * FNABI_TERM_UNKNOWN, which is equal to nothing, itself included. */
#ifndef FNABI_MODULE_TERM_H
#define FNABI_MODULE_TERM_H

#include "base/vector.h"

typedef uint32_t fnabi_term;

#define FNABI_TERM_UNKNOWN 0u
#define FNABI_TERM_NULL 1u /* the reference to nothing */

/* In a 32-bit register: the low or the high half of a 64-bit value. */
#define FNABI_TERM_LOW 0x40000000u
#define FNABI_TERM_HIGH 0x80000000u
#define FNABI_TERM_HALF (FNABI_TERM_LOW | FNABI_TERM_HIGH)

#define FNABI_RANK_MAX 128 /* the rank limit of the runtime's shapes */
#define FNABI_RANK_UNKNOWN 0xFFFF

typedef enum fnabi_term_kind {
  FNABI_TERM_NONE,         /* UNKNOWN and NULL */
  FNABI_TERM_CONSTANT,     /* a: low, b: high 32 bits */
  FNABI_TERM_ARGUMENT,     /* a: index */
  FNABI_TERM_OPAQUE,       /* what one instruction gave; op, a, b, c: which */
  FNABI_TERM_PURE,         /* op of a, b, c; unused ones are 0 */
  FNABI_TERM_DIM,          /* a: view, b: index */
  FNABI_TERM_RANK,         /* a: view */
  FNABI_TERM_ELEMENT_TYPE, /* a: view */
  FNABI_TERM_STORAGE,      /* a: view, whose buffer this is */
  /* A buffer view. op: rank; a: element type, 0 where it is not known; b: where
   * the dims begin; c: storage */
  FNABI_TERM_VIEW
} fnabi_term_kind;

/* How the halves of a 64-bit value that come from different terms make one. */
#define FNABI_PURE_PAIR 0xFFFF

typedef struct fnabi_term_node {
  uint8_t kind;
  uint8_t
      size; /* of the terms it is built from, counted as a tree; at most 255 */
  uint16_t op;
  uint32_t a, b, c;
} fnabi_term_node;

typedef struct fnabi_terms {
  fnabi_term_node* nodes;
  uint32_t count, capacity;
  uint32_t limit;  /* a term more than that is UNKNOWN */
  uint32_t* slots; /* a hash table of numbers, 0: free */
  uint32_t slot_mask;
  fnabi_vector dims; /* of views */
  bool failed;       /* out of memory */
} fnabi_terms;

bool fnabi_terms_open(fnabi_terms* terms, uint32_t limit);
void fnabi_terms_close(fnabi_terms* terms);

static inline const fnabi_term_node* fnabi_term_get(const fnabi_terms* terms,
                                                    fnabi_term term) {
  return &terms->nodes[term & ~FNABI_TERM_HALF];
}

/* Of the kinds other than PURE, DIM, RANK, ELEMENT_TYPE, STORAGE and VIEW. */
fnabi_term fnabi_term_make(fnabi_terms* terms, fnabi_term_kind kind,
                           uint16_t op, uint32_t a, uint32_t b, uint32_t c);

fnabi_term fnabi_term_constant(fnabi_terms* terms, uint64_t value);

/* Whether it is a constant, and which. */
bool fnabi_term_value(const fnabi_terms* terms, fnabi_term term,
                      uint64_t* value);

/* The result of an instruction that computes it from these values alone, with
 * the constants folded that are worth it. Values of 32 bits may be halves. */
fnabi_term fnabi_term_pure(fnabi_terms* terms, unsigned op, fnabi_term a,
                           fnabi_term b, fnabi_term c);

/* What is asked of a view: simplified where the view is a VIEW. */
fnabi_term fnabi_term_dim(fnabi_terms* terms, fnabi_term view, uint32_t index);
fnabi_term fnabi_term_rank(fnabi_terms* terms, fnabi_term view);
fnabi_term fnabi_term_element_type(fnabi_terms* terms, fnabi_term view);
fnabi_term fnabi_term_storage(fnabi_terms* terms, fnabi_term view);

/* A view with such dims; rank FNABI_RANK_UNKNOWN has none. */
fnabi_term fnabi_term_view(fnabi_terms* terms, uint32_t element_type,
                           uint32_t rank, const fnabi_term* dims,
                           fnabi_term storage);

/* The dim of a VIEW, whose rank is above the index. */
static inline fnabi_term fnabi_term_view_dim(const fnabi_terms* terms,
                                             const fnabi_term_node* view,
                                             uint32_t index) {
  return (fnabi_term)fnabi_vector_int32(&terms->dims, view->b + index);
}

/* The halves of a 64-bit value, and the value of two halves. */
fnabi_term fnabi_term_half(fnabi_terms* terms, fnabi_term term, uint32_t half);
fnabi_term fnabi_term_join_halves(fnabi_terms* terms, fnabi_term low,
                                  fnabi_term high);

#endif /* FNABI_MODULE_TERM_H */
