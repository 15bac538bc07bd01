/* columns_block_tokens.h - cuts blocks into tokens, for a kernel that has
 * defined what follows. Bits stand in words of 64, the first one lowest.
 *
 *   chunk                  64 bytes
 *   load(bytes)            the chunk there
 *   equal(chunk, byte)     bits of the bytes that are this one
 *   tags_of(chunk)         ... that are 0x40 or more
 *   digits_of(chunk)       ... that are digits
 *   count_bits(word)       how many are set
 *
 * These may write 64 elements, and answer how many there are:
 *
 *   put_tags(block, n, i, word)
 *                          from token n on, the tags of chunk i whose bits are
 *                          set, and their places
 *   put_numbers(block, n, i, word, longest)
 *                          ... the numbers that end before the bytes of chunk i
 *                          whose bits are set, and these bytes as their marks;
 *                          a number has at most `longest` digits, 4 or 8, or is
 *                          "-1"
 *   put_places(out, base, word)
 *                          the places of bits, counted from `base`
 *   put_bytes(out, from, word)
 *                          the bytes whose bits are set
 *   pick8(out, from, table, marks, words)
 *                          ... or what a table says of their six low bits,
 *                          if there is one
 *   pick_dtypes(out, block, table, typed, marks, words)
 *                          ... of tags, but for typed ones the number of the
 *                          token behind
 *   pick64(out, from, marks, words)
 *                          numbers whose bits are set */
#ifndef FNABI_COLUMNS_BLOCK_TOKENS_H
#define FNABI_COLUMNS_BLOCK_TOKENS_H

typedef uint64_t bits[FNABI_BLOCK_WORDS];

/* The bits one place on; `last` is the word before. */
static inline uint64_t behind(uint64_t now, uint64_t last) {
  return now << 1 | last >> 63;
}

/* The bits up to that of an index. */
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

/* How many bits are set before each word. */
static inline void count_before(const uint64_t* marks, size_t words,
                                uint16_t* before) {
  size_t count = 0;
  for (size_t i = 0; i < words; i++) {
    before[i] = (uint16_t)count;
    count += count_bits(marks[i]);
  }
}

/* How many bits are set before that of a token. */
static inline uint32_t rank(const uint64_t* marks, const uint16_t* before,
                            size_t k) {
  return before[k / 64] +
         count_bits(marks[k / 64] & ((UINT64_C(1) << k % 64) - 1));
}

/* --------------------------------------------------------------------- tokens
 */

/* What the bytes of a chunk are: bits. */
typedef struct byte_kinds {
  uint64_t tag, digit, bang, dash, one, d, between, name;
} byte_kinds;

/* Finds the tokens and checks what is between them, by what may stand behind
 * what: a digit or "-1" behind a tag, a digit, '!' or tag behind a digit, a tag
 * or name behind '!'. Numbers have at most eight digits; "-1", which only a `d`
 * has, is -1. */
static bool find_tokens(fnabi_block* b, bool named) {
  const uint8_t* text = b->bytes + FNABI_BLOCK_PAD;
  size_t tokens = 0, numbers = 0;
  uint64_t bad = 0;
  byte_kinds now, last = {0};
#define BEHIND(kind, n) (now.kind << (n) | last.kind >> (64 - (n)))
  for (size_t i = 0; i < words_of(b->size); i++) {
    chunk c = load(text + 64 * i);
    now.name = named ? b->in_names[i] : 0;
    now.tag = tags_of(c) & ~now.name;
    now.digit = digits_of(c) & ~now.name;
    now.bang = equal(c, '!') & ~now.name;
    now.between = equal(c, FNABI_BLOCK_BETWEEN) & ~now.name;
    now.dash = named ? 0 : equal(c, '-');
    now.d = named ? 0 : equal(c, 'd');
    uint64_t digit1 = BEHIND(digit, 1), between1 = BEHIND(between, 1),
             dash1 = BEHIND(dash, 1), bang1 = BEHIND(bang, 1),
             name1 = BEHIND(name, 1);
    now.one = now.digit & dash1;
    uint64_t wrong =
        (now.tag & ~(digit1 | bang1 | name1 | between1 | (i == 0))) |
        (now.digit & ~((BEHIND(tag, 1) & ~between1) | digit1 | dash1)) |
        (now.bang & ~digit1) | (now.name & ~(bang1 | name1)) |
        (now.dash & ~BEHIND(d, 1)) | (now.digit & BEHIND(one, 1)) |
        ~(now.tag | now.digit | now.bang | now.dash | now.name);
    if (!named) wrong |= now.one & ~equal(c, '1');
    uint64_t ends = (digit1 & ~now.digit) | between1;
    uint64_t digit4 =
        digit1 & BEHIND(digit, 2) & BEHIND(digit, 3) & BEHIND(digit, 4);
    uint64_t digit5 = digit4 & BEHIND(digit, 5);
    uint64_t digit9 = digit5 & BEHIND(digit, 6) & BEHIND(digit, 7) &
                      BEHIND(digit, 8) & BEHIND(digit, 9);
    bad |=
        (wrong | digit9) & (i < b->size / 64 ? ~UINT64_C(0) : up_to(b->size));
    numbers += put_numbers(b, numbers, i, ends, (ends & digit5) != 0 ? 8 : 4);
    tokens += put_tags(b, tokens, i, now.tag);
    b->in_tags[i] = now.tag;
    last = now;
  }
#undef BEHIND
  if (bad != 0) return false;
  b->tokens = tokens - 1; /* without what is behind the texts */
  memset(b->tags + tokens, 0, FNABI_BLOCK_PAD);
  return true;
}

/* Where the span ends whose tag is a token. */
static inline uint32_t stop_of(const fnabi_block* b, size_t k) {
  return (uint32_t)b->places[k + 1] - 1 + (uint32_t)b->numbers[k];
}

/* ----------------------------------------------------------------------- rows
 */

/* Bits from each of those given to the one before the next; whether they begin
 * or end with `inside`, which goes from word to word. */
static inline uint64_t alternate(uint64_t toggles, uint64_t* inside) {
  for (unsigned n = 1; n < 64; n *= 2) toggles ^= toggles << n;
  toggles ^= *inside;
  *inside = 0 - (toggles >> 63);
  return toggles;
}

/* What the tokens of the two sides are: bits. */
typedef struct side_tokens {
  bits head, nodes; /* `I` or `R`; what becomes a node */
} side_tokens;

/* Whether the spans of `I` and `R` make up the rows, with so many tokens
 * between and behind them; and where the nodes of rows end. */
static bool close_rows(fnabi_block* b, const side_tokens tokens[2],
                       size_t between, const fnabi_side_columns sides[2],
                       int32_t* const offsets[2]) {
  size_t words = words_of(b->tokens), used = 0;
  uint16_t before[2][FNABI_BLOCK_WORDS];
  uint16_t *inputs = b->heads[0], *results = b->heads[1];
  for (int i = 0; i < 2; i++) {
    size_t heads = 0;
    for (size_t k = 0; k < words; k++) heads += count_bits(tokens[i].head[k]);
    if (heads != b->rows) return false;
    locate(tokens[i].head, words, b->heads[i]);
    count_before(tokens[i].nodes, words, before[i]);
  }
  inputs[b->rows] = (uint16_t)b->tokens;
  uint32_t bad = 0;
  for (size_t row = 0; row < b->rows; row++) {
    size_t i = inputs[row], r = results[row], next = inputs[row + 1];
    used += (size_t)(b->ends[row] - b->begins[row]);
    bad |= (uint32_t)(b->places[i] ^ b->begins[row]) |
           (stop_of(b, i) ^ b->places[r]) | (stop_of(b, r) ^ b->ends[row]);
    offsets[0][row] =
        (int32_t)(sides[0].nodes + rank(tokens[0].nodes, before[0], r));
    offsets[1][row] =
        (int32_t)(sides[1].nodes + rank(tokens[1].nodes, before[1], next));
  }
  return bad == 0 && between == b->size - used + 1;
}

#endif /* FNABI_COLUMNS_BLOCK_TOKENS_H */
