/* record.h - what the functions of a module do, as the data flow records it:
 * their calls with the terms of operands and results, by block. Private.
 *
 * A function is recorded once, when it is analysed, as words:
 *
 *   function: blocks, each: offset, in a loop, branches, [target],
 *             calls, [call], end, terms, [term]
 *   call:     offset, callee or store, operands, [term], segments, [size], results, [term]
 *
 * The end is that of fnabi_record_end; its terms are those that are returned,
 * tested or failed with. Without segments the operands have no spans. */
#ifndef FNABI_INFER_RECORD_H
#define FNABI_INFER_RECORD_H

#include "infer/bytecode_flow.h"

/* The bit of a callee that is none: a reference is stored in the global of that
 * number. */
#define FNABI_RECORD_STORE 0x40000000u

typedef enum fnabi_record_end {
  FNABI_END_BRANCH,
  FNABI_END_CONDITION,
  FNABI_END_TABLE,
  FNABI_END_RETURN,
  FNABI_END_FAIL
} fnabi_record_end;

typedef struct fnabi_record {
  fnabi_vector words;
  size_t call_count; /* index of the word of the open block */
  bool failed;       /* out of memory */
  size_t* begin; /* by ordinal: 1 more than the index of the function's first
                    word; 0 if nothing is known about it */
} fnabi_record;

static inline void fnabi_record_word(fnabi_record* record, uint32_t word) {
  if (!fnabi_vector_append(&record->words, &word, sizeof word))
    record->failed = true;
}

static inline size_t fnabi_record_size(const fnabi_record* record) {
  return record->words.size / sizeof(uint32_t);
}

#endif /* FNABI_INFER_RECORD_H */
