/* bytecode_flow.h - data flow over the functions of a module: what each of them
 * proves of its arguments before it returns, and what it returns. Private.
 *
 * A function is gone through once for each way into it that is not known yet,
 * after the functions that it calls; one that calls itself, directly or through
 * others, is unknown to itself. What a path that ends in `fail` does not return
 * is left out. Nothing is guessed: what the paths disagree in, what does not
 * fit, and what takes more work than a fixed multiple of the code's size is
 * unknown. */
#ifndef FNABI_MODULE_BYTECODE_FLOW_H
#define FNABI_MODULE_BYTECODE_FLOW_H

#include "module/bytecode.h"
#include "module/term.h"

/* What a reference is used as anywhere in a function, as bits. References have
 * one type, which each use shows. */
enum {
  FNABI_USE_VIEW = 1,
  FNABI_USE_BUFFER = 2,
  FNABI_USE_WAIT = 4,   /* a fence that is waited for */
  FNABI_USE_SIGNAL = 8, /* a fence that is signaled */
  FNABI_USE_BYTES = 16, /* a buffer of the VM */
  FNABI_USE_LIST = 32,
  FNABI_USE_CAST = 64 /* its type is checked: its uses show nothing */
};

/* What is known of a function. Terms are in those of the flow, and of the
 * function's arguments. */
typedef struct fnabi_flow_function {
  uint8_t state; /* private */
  bool known;    /* else nothing below is set */
  bool returns;  /* some path does */
  uint32_t argument_count, result_count;
  size_t first; /* private */
} fnabi_flow_function;

typedef struct fnabi_flow {
  const fnabi_bytecode* module;
  fnabi_terms terms;
  fnabi_flow_function* functions; /* by ordinal */
  /* private */
  uint8_t* imports;
  fnabi_vector kept, callees, frames, blocks, targets, order, state, spare,
      results;
  uint32_t* block_at;
  size_t block_capacity;
  uint64_t code_left; /* bytes of functions that may still be gone through */
  fnabi_error* error;
} fnabi_flow;

/* Whether the module imports anything that shows types of buffer views. */
bool fnabi_flow_concerns(const fnabi_bytecode* module);

/* Makes ready for a module, of a version that fnabi_bytecode_known. Fails with
 * FNABI_MEMORY. Close it also then. */
bool fnabi_flow_open(fnabi_flow* flow, const fnabi_bytecode* module,
                     fnabi_error* error);
void fnabi_flow_close(fnabi_flow* flow);

/* What is known of the function `ordinal`, which there is; NULL when out of
 * memory. Stays until the flow is closed. */
const fnabi_flow_function* fnabi_flow_of(fnabi_flow* flow, size_t ordinal);

/* Of a function that is known: what argument `index` is used as; what is proven
 * of it on every path to a return, as a VIEW, or UNKNOWN; and result `index`.
 */
uint32_t fnabi_flow_use(const fnabi_flow* flow, const fnabi_flow_function* f,
                        size_t index);
fnabi_term fnabi_flow_fact(const fnabi_flow* flow, const fnabi_flow_function* f,
                           size_t index);
fnabi_term fnabi_flow_result(const fnabi_flow* flow,
                             const fnabi_flow_function* f, size_t index);

#endif /* FNABI_MODULE_BYTECODE_FLOW_H */
