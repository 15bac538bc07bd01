/* bytecode_flow.h - data flow over the functions of a module: what each of them
 * proves of its arguments before it returns, and what it returns. Private.
 * bytecode_walk.c implements it.
 *
 * A function is analysed after the functions that it calls. A recursive
 * call has an unknown result. Paths that end in `fail` do not count. Nothing is
 * guessed: if paths disagree, if code is inconsistent, or if the analysis
 * exceeds a fixed multiple of the code's size, the result is unknown. */
#ifndef FNABI_INFER_BYTECODE_FLOW_H
#define FNABI_INFER_BYTECODE_FLOW_H

#include "infer/term.h"
#include "vmfb/bytecode.h"

/* The uses of a reference anywhere in a function, as bits. A reference has one
 * type, and each use reveals it. */
enum {
  FNABI_USE_VIEW = 1,
  FNABI_USE_BUFFER = 2,
  FNABI_USE_WAIT = 4,   /* a fence that the function waits for */
  FNABI_USE_SIGNAL = 8, /* a fence that the function signals */
  FNABI_USE_BYTES = 16, /* a buffer of the VM */
  FNABI_USE_LIST = 32,
  FNABI_USE_CAST = 64,   /* the code checks its type, so uses prove nothing */
  FNABI_USE_LISTED = 128 /* read from a list, as null if it is no buffer view */
};

/* The facts about a function, as terms of the flow over its arguments. */
typedef struct fnabi_flow_function {
  uint8_t state; /* private */
  bool calls;    /* whether it calls functions of the module */
  bool known;    /* if false, nothing below is set */
  bool returns;  /* whether some path returns */
  uint32_t argument_count, result_count;
  size_t first; /* private */
} fnabi_flow_function;

struct fnabi_record;

typedef struct fnabi_flow {
  const fnabi_bytecode* module;
  struct fnabi_record* record; /* NULL, or where each function is recorded */
  fnabi_terms terms;
  fnabi_flow_function* functions; /* by ordinal */
  bool views; /* whether an import reveals types of buffer views */
  /* private */
  uint8_t* imports;
  fnabi_vector kept, callees, frames, blocks, targets, order, state, spare,
      results;
  uint32_t* block_at;
  size_t block_capacity;
  uint32_t list_count; /* lists of the scanned function that are tracked */
  uint64_t code_left;  /* bytes of code that may still be analysed */
  uint64_t items_left; /* items of lists that may still be recorded */
  fnabi_error* error;
} fnabi_flow;

/* Opens a module, whose version fnabi_bytecode_known must accept. Fails with
 * FNABI_MEMORY. The caller must close `flow` even after a failure. */
bool fnabi_flow_open(fnabi_flow* flow, const fnabi_bytecode* module,
                     fnabi_error* error);
void fnabi_flow_close(fnabi_flow* flow);

/* Returns the facts about the function `ordinal`, which must exist, or NULL if
 * memory is exhausted. They are valid until the flow is closed. */
const fnabi_flow_function* fnabi_flow_of(fnabi_flow* flow, size_t ordinal);

static inline uint32_t fnabi_flow_kept(const fnabi_flow* flow, size_t index) {
  return (uint32_t)fnabi_vector_int32(&flow->kept, index);
}

/* For a known function: the uses of argument `index`; what every path to a
 * return proves about it, as a VIEW or UNKNOWN; and result `index`. */
static inline uint32_t fnabi_flow_use(const fnabi_flow* flow,
                                      const fnabi_flow_function* f,
                                      size_t index) {
  return fnabi_flow_kept(flow, f->first + index);
}

static inline fnabi_term fnabi_flow_fact(const fnabi_flow* flow,
                                         const fnabi_flow_function* f,
                                         size_t index) {
  return fnabi_flow_kept(flow, f->first + f->argument_count + index);
}

static inline fnabi_term fnabi_flow_result(const fnabi_flow* flow,
                                           const fnabi_flow_function* f,
                                           size_t index) {
  return fnabi_flow_kept(flow,
                         f->first + 2 * (size_t)f->argument_count + index);
}

/* The most bytes that some path asserts the buffer of argument `index` to have,
 * where that is a constant; 0 if none does, UINT32_MAX if more. */
static inline uint32_t fnabi_flow_length(const fnabi_flow* flow,
                                         const fnabi_flow_function* f,
                                         size_t index) {
  return fnabi_flow_kept(
      flow, f->first + 2 * (size_t)f->argument_count + f->result_count + index);
}

#endif /* FNABI_INFER_BYTECODE_FLOW_H */
