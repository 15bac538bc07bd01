/* tokens.h - cuts blocks into tokens, for a kernel that has defined the names
 * below. Bits are in words of 64, the first one lowest.
 *
 *   chunk                  64 bytes
 *   load(bytes)            loads a chunk
 *   equal(chunk, byte)     bits of the bytes that are equal to `byte`
 *   tags_of(chunk)         bits of the bytes that are 0x40 or more
 *   digits_of(chunk)       bits of the bytes that are digits
 *   count_bits(word)       the number of bits that are set
 *
 * These write as many elements as bits are set, and return that number; they
 * may overwrite up to 64:
 *
 *   put_tags(block, n, i, word)
 *                          the tags of chunk i whose bits are set, as those of
 *                          the tokens from n on, and their offsets
 *   put_numbers(block, n, i, word, longest)
 *                          the numbers that end before the bytes of chunk i
 *                          whose bits are set, as those of the tokens from n
 *                          on; a number has at most `longest` digits, 4 or 8,
 *                          or is "-1". If that is 4, it writes no int32
 *   put_places(out, base, word)
 *                          the indexes of the bits, each plus `base`
 *   pick_values(kinds, dtypes, block, kind_of, dtype_of, typed, marks, words)
 *                          the entries of two tables for the six low bits of
 *                          the tags whose bits are set; the dtype of a typed
 *                          one is the number of the next token. The tags that
 *                          have an entry other than 0 differ in four low bits
 *   pick64(out, block, marks, words)
 *                          the numbers whose bits are set
 *   put_ranks(out, first, dims, nodes, words)
 *                          for each bit in `nodes`, `first` and the number of
 *                          bits in `dims` before it
 *
 * These check all tokens whose bits are set:
 *
 *   values_end(block, values, starts, words)
 *                          whether each of `values` ends where the next of
 *                          `starts` is
 *   dtypes_fit(block, dtypes, words)
 *                          whether each is a scalar type without leading zeros
 */
#ifndef FNABI_KERNELS_TOKENS_H
#define FNABI_KERNELS_TOKENS_H

typedef uint64_t bits[FNABI_BLOCK_WORDS];

/* The bits moved on by one; `last` is the word before. */
static inline uint64_t shifted(uint64_t now, uint64_t last) {
  return now << 1 | last >> 63;
}

/* The bits up to and including that of an index. */
static inline uint64_t up_to(size_t index) {
  return (UINT64_C(2) << index % 64) - 1;
}

static inline size_t words_of(size_t last) { return last / 64 + 1; }

static size_t locate(const uint64_t* marks, size_t words, uint16_t* out) {
  size_t count = 0;
  for (size_t i = 0; i < words; i++)
    count += put_places(out + count, 64 * i, marks[i]);
  return count;
}

/* Counts the bits that are set before each word. */
static inline void count_before(const uint64_t* marks, size_t words,
                                uint16_t* before) {
  size_t count = 0;
  for (size_t i = 0; i < words; i++) {
    before[i] = (uint16_t)count;
    count += count_bits(marks[i]);
  }
}

/* The number of bits that are set before that of a token. */
static inline uint32_t rank(const uint64_t* marks, const uint16_t* before,
                            size_t k) {
  return before[k / 64] +
         count_bits(marks[k / 64] & ((UINT64_C(1) << k % 64) - 1));
}

/* ------------------------------------------------------------------- tokens */

/* Widens the numbers of the tokens before n, none of which is long. */
FNABI_COLD void widen_numbers(fnabi_block* b, size_t n) {
  for (size_t k = 0; k < n; k++) b->numbers[k] = (int16_t)b->shorts[k];
  b->has_numbers = true;
}

/* What the bytes of a chunk are: bits. */
typedef struct byte_kinds {
  uint64_t tag, digit, bang, dash, one, d, between, name, span;
} byte_kinds;

/* All but `one`, which depends on the bytes before, too. */
FNABI_INLINE byte_kinds kinds_of(const fnabi_block* b, size_t i, chunk c,
                                 bool named) {
  byte_kinds k = {.name = named ? b->in_names[i] : 0};
  k.tag = tags_of(c) & ~k.name;
  k.digit = digits_of(c) & ~k.name;
  k.bang = equal(c, '!') & ~k.name;
  k.between = equal(c, FNABI_BLOCK_BETWEEN) & ~k.name;
  k.dash = named ? 0 : equal(c, '-');
  k.d = named ? 0 : equal(c, 'd');
  uint64_t bare = named ? equal(c, 'k') | equal(c, '_') : k.d | equal(c, 't');
  k.span = k.tag & ~(bare | k.between);
  return k;
}

/* What comes before the chunk from which find_tokens goes on. Of `one` only the
 * last bit is needed. */
FNABI_INLINE byte_kinds kinds_before(const fnabi_block* b, size_t from,
                                     bool named) {
  byte_kinds kinds = {0};
  if (from == 0) return kinds;
  const uint8_t* text = b->bytes + FNABI_BLOCK_PAD + 64 * (from - 1);
  kinds = kinds_of(b, from - 1, load(text), named);
  kinds.one = kinds.digit & kinds.dash << 1;
  return kinds;
}

/* The row that has the byte at an offset, or ends there. */
static size_t row_of(const fnabi_block* b, size_t place) {
  size_t row = b->rows - 1;
  while (row > 0 && b->begins[row] > place) row--;
  return row;
}

/* Finds the tokens and checks which bytes follow which: a digit or "-1" follows
 * a tag; a digit, '!' or tag follows a digit; a tag or name follows '!'. A '!'
 * follows the numbers that are lengths of spans, and no others. Numbers have at
 * most eight digits, or four in texts with names; "-1", which only follows `d`,
 * is -1. Goes on from a chunk that it has reached before. Returns the first row
 * that is wrong, b->rows if none is. */
FNABI_INLINE size_t find_tokens(fnabi_block* b, bool named, size_t from) {
  const uint8_t* text = b->bytes + FNABI_BLOCK_PAD;
  size_t tokens = 0, numbers = 0;
  uint64_t carry = 0;
  byte_kinds now, last = {0};
  if (from == 0) {
    b->has_numbers = false;
  } else {
    carry = b->marks[from].carry;
    tokens = b->marks[from].tokens;
    numbers = b->marks[from].numbers;
    last = kinds_before(b, from, named);
  }
#define BEFORE(kind, n) (now.kind << (n) | last.kind >> (64 - (n)))
  for (size_t i = from; i < words_of(b->size); i++) {
    chunk c = load(text + 64 * i);
    b->marks[i].carry = carry;
    b->marks[i].tokens = (uint16_t)tokens;
    b->marks[i].numbers = (uint16_t)numbers;
    now = kinds_of(b, i, c, named);
    uint64_t digit1 = BEFORE(digit, 1), between1 = BEFORE(between, 1),
             dash1 = BEFORE(dash, 1), bang1 = BEFORE(bang, 1),
             name1 = BEFORE(name, 1);
    now.one = now.digit & dash1;
    uint64_t wrong =
        (now.tag & ~(digit1 | bang1 | name1 | between1 | (i == 0))) |
        (now.digit & ~((BEFORE(tag, 1) & ~between1) | digit1 | dash1)) |
        (now.bang & ~digit1) | (now.name & ~(bang1 | name1)) |
        (now.dash & ~BEFORE(d, 1)) | (now.digit & BEFORE(one, 1)) |
        ~(now.tag | now.digit | now.bang | now.dash | now.name);
    if (!named) wrong |= now.one & ~equal(c, '1');
    /* An addition moves the bit after the tag of a span through the digits, to
     * where the '!' must be. */
    uint64_t sum = now.digit + BEFORE(span, 1), more = sum + carry;
    carry = (sum < now.digit) | (more < sum);
    wrong |= (more & ~now.digit) ^ now.bang;
    uint64_t ends = (digit1 & ~now.digit) | between1;
    uint64_t digit4 =
        digit1 & BEFORE(digit, 2) & BEFORE(digit, 3) & BEFORE(digit, 4);
    uint64_t digit5 = digit4 & BEFORE(digit, 5);
    if (named)
      wrong |= digit5;
    else if (digit5 != 0)
      wrong |= digit5 & BEFORE(digit, 6) & BEFORE(digit, 7) & BEFORE(digit, 8) &
               BEFORE(digit, 9);
    wrong &= i < b->size / 64 ? ~UINT64_C(0) : up_to(b->size);
    if (wrong != 0) return row_of(b, 64 * i + fnabi_lowest(wrong));
    if (!named && !b->has_numbers && (ends & digit5) != 0)
      widen_numbers(b, numbers);
    /* both calls are inlined, with a constant length */
    numbers += !named && b->has_numbers ? put_numbers(b, numbers, i, ends, 8)
                                        : put_numbers(b, numbers, i, ends, 4);
    tokens += put_tags(b, tokens, i, now.tag);
    b->in_tags[i] = now.tag;
    last = now;
  }
#undef BEFORE
  b->tokens = tokens - 1; /* without the one after the texts */
  memset(b->tags + tokens, 0, FNABI_BLOCK_PAD);
  return b->rows;
}

/* --------------------------------------------------------------------- rows */

/* Rows before a malformed one are decoded without it. That is faster than to
 * decode all of them one by one if they are as many, or half of the block when
 * all of it was read before the fault was found. */
enum { CUT_LEAST = 8 };

/* Leaves the first rows in the block. What the kernel has found out up to there
 * stays. */
FNABI_COLD void cut_block(fnabi_block* b, size_t rows) {
  b->rows = rows;
  b->size = b->ends[rows - 1];
  uint8_t* end = b->bytes + FNABI_BLOCK_PAD + b->size;
  memset(end, 0, FNABI_BLOCK_PAD);
  *end = FNABI_BLOCK_BETWEEN;
}

/* The runs of bits between toggles: from the first up to the one before the
 * second, from the third, and so on. `inside` carries the state from word to
 * word: 0, or all ones. */
static inline uint64_t alternate(uint64_t toggles, uint64_t* inside) {
  for (unsigned n = 1; n < 64; n *= 2) toggles ^= toggles << n;
  toggles ^= *inside;
  *inside = 0 - (toggles >> 63);
  return toggles;
}

/* Bits: the tokens of one side. */
typedef struct side_tokens {
  bits head, nodes; /* `I` or `R`; those that become nodes */
} side_tokens;

/* Checks that each row is the spans of `I` and `R` and nothing else, given the
 * number of tokens between and after rows, and stores where the nodes of rows
 * end. Returns the first row that is not, b->rows if all are, and 0 if it cannot
 * tell which is not. */
static size_t close_rows(fnabi_block* b, const side_tokens tokens[2],
                         size_t between, const fnabi_side_columns sides[2],
                         int32_t* const offsets[2]) {
  size_t words = words_of(b->tokens), rows = b->rows, used = 0;
  uint16_t before[2][FNABI_BLOCK_WORDS];
  uint16_t *inputs = b->heads[0], *results = b->heads[1];
  for (int i = 0; i < 2; i++) {
    size_t heads = 0;
    for (size_t k = 0; k < words; k++) heads += count_bits(tokens[i].head[k]);
    if (heads > b->rows) return 0;
    if (heads < rows) rows = heads;
    locate(tokens[i].head, words, b->heads[i]);
    b->heads[i][heads] = (uint16_t)b->tokens;
    count_before(tokens[i].nodes, words, before[i]);
  }
  for (size_t row = 0; row < rows; row++) {
    size_t i = inputs[row], r = results[row], next = inputs[row + 1];
    used += (size_t)(b->ends[row] - b->begins[row]);
    if ((b->places[i] ^ b->begins[row]) | (fnabi_stop_of(b, i) ^ b->places[r]) |
        (fnabi_stop_of(b, r) ^ b->ends[row]))
      return row;
    offsets[0][row] =
        (int32_t)(sides[0].nodes + rank(tokens[0].nodes, before[0], r));
    offsets[1][row] =
        (int32_t)(sides[1].nodes + rank(tokens[1].nodes, before[1], next));
  }
  if (rows < b->rows) return rows;
  return between == b->size - used + 1 ? rows : 0;
}

#endif /* FNABI_KERNELS_TOKENS_H */
