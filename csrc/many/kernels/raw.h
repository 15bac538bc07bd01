/* raw.h - the decoder of blocks of raw signatures, for a kernel that has defined
 * what tokens.h requires. abi/raw.c has the grammar. */
#ifndef FNABI_KERNELS_RAW_H
#define FNABI_KERNELS_RAW_H

#include "many/kernels/tokens.h"

static const uint8_t raw_kinds[64] = {
    ['B' & 63] = FNABI_TYPE_BUFFER,
    ['S' & 63] = FNABI_TYPE_SCALAR,
    ['O' & 63] = FNABI_TYPE_REF,
    ['U' & 63] = FNABI_TYPE_UNKNOWN,
};

/* The dtypes of values that name none; -1 for those that have none. */
static const uint8_t raw_dtypes[64] = {['O' & 63] = 0xFF, ['U' & 63] = 0xFF};

/* Bits: which tokens are what, in addition to side_tokens. */
typedef struct raw_tokens {
  bits values, dtypes, typed; /* typed: followed by a dtype */
  bits starts;                /* neither dtype nor dim: ends the value before */
  bits dims[2];
} raw_tokens;

/* Sorts tokens by their tags, counts those between rows, and checks which may
 * follow which. Returns the first row that is wrong, b->rows if none is. */
static size_t sort_raw(const fnabi_block* b, side_tokens sides[2],
                       raw_tokens* t, size_t* between) {
  size_t words = words_of(b->tokens);
  uint64_t inside = 0;
  uint64_t last_taking = 0, last_scalars = 0, last_bare = 0;
  *between = 0;
  for (size_t i = 0; i < words; i++) {
    chunk tags = load(b->tags + 64 * i);
    uint64_t buffers = equal(tags, 'B'), scalars = equal(tags, 'S'),
             refs = equal(tags, 'O') | equal(tags, 'U'),
             inputs = equal(tags, 'I'), results = equal(tags, 'R'),
             dims = equal(tags, 'd'), dtypes = equal(tags, 't'),
             ends = equal(tags, FNABI_BLOCK_BETWEEN), none = equal(tags, 0);
    uint64_t taking = buffers | scalars, values = taking | refs;
    uint64_t others = inputs | results | ends | none;
    /* no dim may follow these */
    uint64_t bare =
        scalars | refs | others | (dtypes & shifted(scalars, last_scalars));
    uint64_t bad = ~(values | others | dims | dtypes) |
                   (dtypes & ~shifted(taking, last_taking)) |
                   (dims & shifted(bare, last_bare));
    if (bad != 0) return row_of(b, b->places[64 * i + fnabi_lowest(bad)]);
    last_taking = taking;
    last_scalars = scalars;
    last_bare = bare;
    uint64_t input = alternate(inputs | results, &inside);
    sides[0].head[i] = inputs;
    sides[1].head[i] = results;
    sides[0].nodes[i] = values & input;
    sides[1].nodes[i] = values & ~input;
    t->dims[0][i] = dims & input;
    t->dims[1][i] = dims & ~input;
    t->values[i] = values;
    t->starts[i] = values | others;
    t->dtypes[i] = dtypes;
    *between += count_bits(ends);
  }
  t->starts[words - 1] &= up_to(b->tokens);
  for (size_t i = 0; i < words; i++)
    t->typed[i] =
        t->dtypes[i] >> 1 | (i + 1 < words ? t->dtypes[i + 1] << 63 : 0);
  return b->rows;
}

static bool decode_raw(fnabi_block* b, fnabi_side_columns sides[2],
                       int32_t* const offsets[2]) {
  side_tokens tokens[2];
  raw_tokens t;
  for (size_t from = 0;; from = b->size / 64) {
    size_t between, row = find_tokens(b, false, from), least = CUT_LEAST;
    if (row == b->rows) {
      least = b->rows / 2;
      row = sort_raw(b, tokens, &t, &between);
      if (row == b->rows) row = close_rows(b, tokens, between, sides, offsets);
      if (row == b->rows) break;
    }
    if (row < least || row == 0) return false;
    cut_block(b, row);
  }
  size_t words = words_of(b->tokens);
  if (!values_end(b, t.values, t.starts, words) ||
      !dtypes_fit(b, t.dtypes, words))
    return false;
  for (int i = 0; i < 2; i++) {
    fnabi_side_columns* out = &sides[i];
    const uint64_t* nodes = tokens[i].nodes;
    size_t n = out->nodes, m = out->dim_count;
    pick_values((uint8_t*)out->kinds + n, (uint8_t*)out->dtypes + n, b,
                raw_kinds, raw_dtypes, t.typed, nodes, words);
    out->dim_count += pick64(out->dims + m, b, t.dims[i], words);
    out->nodes += put_ranks(out->shape_offsets + n, m, t.dims[i], nodes, words);
    out->shape_offsets[out->nodes] = (int32_t)out->dim_count;
  }
  return true;
}

#endif /* FNABI_KERNELS_RAW_H */
