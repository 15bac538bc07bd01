/* term.h - symbolic values: each term represents one value of one call of a
 * function. Private.
 *
 * Equal terms have equal numbers, so values with the same number are the same
 * value. That holds because terms are built only from what cannot change during
 * a call: constants, arguments, properties of buffer views, and results of
 * instructions outside loops. Any other value is FNABI_TERM_UNKNOWN, which is
 * equal to no value, not even to itself. */
#ifndef FNABI_INFER_TERM_H
#define FNABI_INFER_TERM_H

#include "base/vector.h"

typedef uint32_t fnabi_term;

#define FNABI_TERM_UNKNOWN 0u
#define FNABI_TERM_NULL 1u /* the null reference */

/* Bits of a term: the low or the high half of a 64-bit value in a 32-bit
 * register. */
#define FNABI_TERM_LOW 0x40000000u
#define FNABI_TERM_HIGH 0x80000000u
#define FNABI_TERM_HALF (FNABI_TERM_LOW | FNABI_TERM_HIGH)

#define FNABI_RANK_MAX 128 /* the rank limit of the runtime's shapes */
#define FNABI_RANK_UNKNOWN 0xFFFF

typedef enum fnabi_term_kind {
  FNABI_TERM_NONE,         /* UNKNOWN and NULL */
  FNABI_TERM_CONSTANT,     /* a: low, b: high 32 bits */
  FNABI_TERM_ARGUMENT,     /* a: index */
  FNABI_TERM_OPAQUE,       /* result of one instruction; op, a, b, c: which */
  FNABI_TERM_PURE,         /* op of a, b, c; unused ones are 0 */
  FNABI_TERM_DIM,          /* a: view, b: index */
  FNABI_TERM_RANK,         /* a: view */
  FNABI_TERM_ELEMENT_TYPE, /* a: view */
  FNABI_TERM_STORAGE,      /* a: the view with this buffer */
  /* A buffer view. op: rank; a: element type, 0 if unknown; b: index of the
   * first dim; c: storage */
  FNABI_TERM_VIEW,
  /* The contents of a list. op: number of items; b: index of the first item */
  FNABI_TERM_ITEMS
} fnabi_term_kind;

/* The op that joins halves of different terms to a 64-bit value. */
#define FNABI_PURE_PAIR 0xFFFF

typedef struct fnabi_term_node {
  uint8_t kind;
  uint8_t size; /* the number of terms in its tree, at most 255 */
  uint16_t op;
  uint32_t a, b, c;
} fnabi_term_node;

typedef struct fnabi_terms {
  fnabi_term_node* nodes;
  uint32_t count, capacity;
  uint32_t limit;  /* of the count; further terms are UNKNOWN */
  uint32_t* slots; /* a hash table of numbers, 0: free */
  uint32_t slot_mask;
  fnabi_vector dims; /* of views, and items */
  bool failed;       /* out of memory */
} fnabi_terms;

bool fnabi_terms_open(fnabi_terms* terms, uint32_t limit);
void fnabi_terms_close(fnabi_terms* terms);

static inline const fnabi_term_node* fnabi_term_get(const fnabi_terms* terms,
                                                    fnabi_term term) {
  return &terms->nodes[term & ~FNABI_TERM_HALF];
}

/* Makes a CONSTANT, ARGUMENT or OPAQUE term. */
fnabi_term fnabi_term_make(fnabi_terms* terms, fnabi_term_kind kind,
                           uint16_t op, uint32_t a, uint32_t b, uint32_t c);

fnabi_term fnabi_term_constant(fnabi_terms* terms, uint64_t value);

/* Returns whether a term is a constant, and its value. */
bool fnabi_term_value(const fnabi_terms* terms, fnabi_term term,
                      uint64_t* value);

/* The result of an instruction that depends only on these values. Folds common
 * operations on constants. 32-bit values may be halves. */
fnabi_term fnabi_term_pure(fnabi_terms* terms, unsigned op, fnabi_term a,
                           fnabi_term b, fnabi_term c);

/* The properties of a view, simplified if the view is a VIEW. */
fnabi_term fnabi_term_dim(fnabi_terms* terms, fnabi_term view, uint32_t index);
fnabi_term fnabi_term_rank(fnabi_terms* terms, fnabi_term view);
fnabi_term fnabi_term_element_type(fnabi_terms* terms, fnabi_term view);
fnabi_term fnabi_term_storage(fnabi_terms* terms, fnabi_term view);

/* A view with these dims, or without dims if the rank is FNABI_RANK_UNKNOWN. */
fnabi_term fnabi_term_view(fnabi_terms* terms, uint32_t element_type,
                           uint32_t rank, const fnabi_term* dims,
                           fnabi_term storage);

/* A dim of a VIEW; `index` must be below its rank. */
static inline fnabi_term fnabi_term_view_dim(const fnabi_terms* terms,
                                             const fnabi_term_node* view,
                                             uint32_t index) {
  return (fnabi_term)fnabi_vector_int32(&terms->dims, view->b + index);
}

/* Makes ITEMS. `count` is at most FNABI_RANK_MAX; items that are UNKNOWN, and
 * those from `count` on, are not known. */
fnabi_term fnabi_term_items(fnabi_terms* terms, uint32_t count,
                            const fnabi_term* items);

/* A half of a 64-bit value, and the value of two halves. */
fnabi_term fnabi_term_half(fnabi_terms* terms, fnabi_term term, uint32_t half);
fnabi_term fnabi_term_join_halves(fnabi_terms* terms, fnabi_term low,
                                  fnabi_term high);

#endif /* FNABI_INFER_TERM_H */
