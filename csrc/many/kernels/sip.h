/* sip.h - the decoder of blocks of SIP signatures, for a kernel that has defined
 * what tokens.h requires, and these. abi/sip.c has the grammar.
 *
 *   deep_of(chunk)      bits of the bytes that are 0x80 or more
 *   put_bytes(out, from, word)
 *                       writes the bytes whose bits are set; returns their
 *                       number, and may overwrite up to 64
 *   pick8(out, from, table, marks, words)
 *                       the same of many words, or (unless the table is NULL)
 *                       its entries for the six low bits of these bytes
 *   put_depths(out, opens, closes, depth)
 *                       writes 64 depths: the first is `depth`, each next one
 *                       more by 1 for a bit in `opens` and less by the byte in
 *                       `closes`; returns the one after the last
 *
 * At most every second bit of the `marks` of these two is set:
 *
 *   pick16(out, from, kept, marks, words)
 *                       writes the elements whose bits are set in `marks`; -1
 *                       instead of those whose bits are not in `kept`; returns
 *                       their number
 *   put_ends(out, end, from, kept, marks, words)
 *                       writes, for each bit in `marks`, the end of a name after
 *                       the previous one, the first after `end`: a name's length
 *                       is one less than its element if its bit is in `kept`,
 *                       and 0 otherwise
 *
 * Keys of one depth are next to each other for these, and the first key of a
 * structure is marked, because it need not be greater than the key before:
 *
 *   put_keys(keys, from, firsts)
 *                       writes 64 elements, 0x8000 added to those whose bits are
 *                       set
 *   put_level(out, keys, word)
 *                       writes those of 64 keys whose bits are set; returns
 *                       their number
 *   level_ascends(level, count)
 *                       whether every key that is not marked is greater than the
 *                       one before
 *   put_name_depths(out, depths, firsts, word)
 *                       writes those of 64 bytes whose bits are set in `word`,
 *                       0x80 added for the bits in `firsts`
 *   put_name_level(orders, depths, block, depth)
 *                       writes the orders of the names of a depth, and their
 *                       depths with the marks; returns their number
 *   name_level_ascends(orders, depths, count)
 *                       whether every order whose depth is not marked is greater
 *                       than the one before */
#ifndef FNABI_KERNELS_SIP_H
#define FNABI_KERNELS_SIP_H

#include "many/kernels/tokens.h"

static const uint8_t sip_kinds[64] = {
    ['_' & 63] = FNABI_SIP_LEAF,
    ['S' & 63] = FNABI_SIP_SEQUENCE,
    ['D' & 63] = FNABI_SIP_DICT,
};

/* Finds the names: the contents of the spans of `K`, except for a `K` that is
 * part of a name. Returns false also for names that this decoder does not
 * accept: empty ones, and those of more than 64 bytes. */
static bool find_names(fnabi_block* b) {
  const uint8_t* text = b->bytes + FNABI_BLOCK_PAD;
  size_t words = words_of(b->size), names = 0, end = 0;
  bits tags;
  for (size_t i = 0; i < words; i++) {
    tags[i] = equal(load(text + 64 * i), 'K');
    b->in_names[i] = 0;
  }
  b->in_names[words] = 0;
  size_t count = locate(tags, words, b->list);
  for (size_t j = 0; j < count; j++) {
    size_t at = b->list[j];
    if (at < end) continue;
    uint32_t one = text[at + 1] - (uint32_t)'0',
             two = text[at + 2] - (uint32_t)'0';
    bool wide = two < 10;
    size_t length = one + ((0 - (uint32_t)wide) & (9 * one + two)) - 1;
    size_t name = at + 3 + wide;
    if (one > 9 || text[name - 1] != '!' || length - 1 >= 64 ||
        length > b->size - name)
      return false;
    end = name + length;
    uint64_t those = ~UINT64_C(0) >> (64 - length);
    b->in_names[name / 64] |= those << name % 64;
    b->in_names[name / 64 + 1] |= those >> 1 >> (63 - name % 64);
    uint64_t order = fnabi_swap_bytes(fnabi_load64(text + name));
    size_t first = length < 8 ? length : 8;
    uint64_t others = ~UINT64_C(0) >> 1 >> (8 * first - 1);
    b->name_places[names] = (uint16_t)name;
    b->name_sizes[names] = (uint16_t)length;
    b->name_orders[names++] = order & ~others;
  }
  b->names = names;
  return true;
}

/* Forgets the names after the last row. */
FNABI_COLD void cut_names(fnabi_block* b) {
  while (b->names > 0 && b->name_places[b->names - 1] >= b->size) b->names--;
  b->in_names[b->size / 64] &= ~(~UINT64_C(0) << b->size % 64);
  b->in_names[b->size / 64 + 1] = 0;
}

/* Finds the names and tokens of the block, or of the rows before one whose
 * tokens are wrong. Returns false when the block must be decoded row by row. */
static bool find_all(fnabi_block* b) {
  if (!find_names(b)) return false;
  for (size_t from = 0;; from = b->size / 64) {
    size_t row = find_tokens(b, true, from);
    if (row == b->rows) return true;
    if (row < CUT_LEAST) return false;
    cut_block(b, row);
    cut_names(b);
  }
}

/* Bits: which tokens are what, in addition to side_tokens. */
typedef struct sip_tokens {
  bits nodes, leaves, structures, dicts;
  bits positions, names; /* keys: `k` and `K` */
  bits keyed, named;     /* nodes with a key, with a name */
  bits before[2]; /* followed by a node of that side: its key, or the head */
  bits firsts;    /* keys that follow the structure that they are in */
} sip_tokens;

/* Sorts tokens by their tags and checks which may follow which. Returns the
 * number of tokens between rows, or -1. */
static int64_t sort_sip(const fnabi_block* b, side_tokens sides[2],
                        sip_tokens* t) {
  size_t words = words_of(b->tokens), between = 0;
  uint64_t bad = 0, inside = 0, last_keys = 0, last_names = 0, last_heads = 0;
  for (size_t i = 0; i < words; i++) {
    chunk tags = load(b->tags + 64 * i);
    uint64_t names = equal(tags, 'K'), positions = equal(tags, 'k'),
             leaves = equal(tags, '_'), dicts = equal(tags, 'D'),
             structures = equal(tags, 'S') | dicts, inputs = equal(tags, 'I'),
             results = equal(tags, 'R'),
             ends = equal(tags, FNABI_BLOCK_BETWEEN), none = equal(tags, 0);
    uint64_t keys = names | positions, nodes = leaves | structures,
             heads = inputs | results;
    bad |= ~(keys | nodes | heads | ends | none);
    /* a node follows every key, and otherwise only the head of a side */
    t->keyed[i] = shifted(keys, last_keys);
    t->named[i] = shifted(names, last_names);
    bad |= t->keyed[i] ^ (nodes & ~shifted(heads, last_heads));
    last_keys = keys;
    last_names = names;
    last_heads = heads;
    uint64_t input = alternate(heads, &inside);
    sides[0].head[i] = inputs;
    sides[1].head[i] = results;
    sides[0].nodes[i] = nodes & input;
    sides[1].nodes[i] = nodes & ~input;
    t->nodes[i] = nodes;
    t->leaves[i] = leaves;
    t->structures[i] = structures;
    t->dicts[i] = dicts;
    t->positions[i] = positions;
    t->names[i] = names;
    between += count_bits(ends);
  }
  for (size_t i = 0; i < words; i++)
    for (int k = 0; k < 2; k++) {
      const uint64_t* nodes = sides[k].nodes;
      t->before[k][i] =
          nodes[i] >> 1 | (i + 1 < words ? nodes[i + 1] << 63 : 0);
    }
  return bad == 0 ? (int64_t)between : -1;
}

/* Whether the bytes of the first name are less than those of the second. */
static bool names_ascend(const fnabi_block* b, size_t first, size_t second) {
  const uint8_t* text = b->bytes + FNABI_BLOCK_PAD;
  size_t left = b->name_sizes[first], right = b->name_sizes[second];
  int order =
      memcmp(text + b->name_places[first], text + b->name_places[second],
             left < right ? left : right);
  return order != 0 ? order < 0 : left < right;
}

/* Finds the depths of tokens: each structure opens a level, which closes at the
 * structure's end. That must be just before a key, or at the end of a side,
 * where all are closed. */
static bool find_depths(fnabi_block* b, const side_tokens sides[2],
                        sip_tokens* t) {
  size_t words = words_of(b->tokens);
  memset(b->closing, 0, b->size + FNABI_BLOCK_PAD);
  size_t count = locate(t->structures, words, b->list);
  for (size_t j = 0; j < count; j++) {
    uint32_t stop = fnabi_stop_of(b, b->list[j]);
    b->closing[stop <= b->size ? stop : b->size + 1]++;
  }
  uint8_t* closes = b->closes;
  count = 0;
  for (size_t i = 0; i < words_of(b->size); i++)
    count += put_bytes(closes + count, b->closing + 64 * i, b->in_tags[i]);
  memset(closes + count, 0, FNABI_BLOCK_PAD);
  uint8_t depth = 0;
  uint64_t bad = 0, last = 0;
  for (size_t i = 0; i < words; i++) {
    depth = put_depths(b->depths + 64 * i, t->structures[i],
                       closes + 64 * i + 1, depth);
    chunk depths = load(b->depths + 64 * i);
    uint64_t heads = sides[0].head[i] | sides[1].head[i];
    uint64_t outside = equal(depths, 0);
    uint64_t roots = t->nodes[i] & ~t->keyed[i];
    bad |= (heads | roots) & ~outside;
    bad |= (t->keyed[i] & outside) | deep_of(depths);
    uint64_t open = equal(load(closes + 64 * i), 0);
    bad |= t->nodes[i] & ~open;
    t->firsts[i] = (t->positions[i] | t->names[i]) & open &
                   shifted(t->structures[i], last);
    last = t->structures[i];
  }
  return bad == 0 && depth == 0;
}

/* Checks that the names of every dict ascend. */
FNABI_COLD bool order_names(const fnabi_block* b) {
  uint16_t last[FNABI_DEPTH_MAX + 2]; /* by depth */
  for (size_t j = 0; j < b->names; j++) {
    size_t depth = b->name_depths[j] & 0x7F;
    if ((b->name_depths[j] & 0x80) == 0 && !names_ascend(b, last[depth], j))
      return false;
    last[depth] = (uint16_t)j;
  }
  return true;
}

/* Checks that dicts have names as keys and sequences positions, and that the
 * keys of every structure ascend, a depth at a time: there, the keys of a
 * structure are next to each other, whatever nests between them in the text. A
 * key belongs to the last structure before it that is one level up. An addition
 * finds that for all keys of a depth: its carry runs from each dict to the next
 * sequence. */
static bool check_keys(fnabi_block* b, const sip_tokens* t) {
  size_t words = words_of(b->tokens), names = 0;
  uint16_t* keys = b->list;
  for (size_t i = 0; i < words; i++) {
    put_keys(keys + 64 * i, b->shorts + 64 * i, t->firsts[i]);
    put_name_depths(b->name_depths + names, b->depths + 64 * i, t->firsts[i],
                    t->names[i]);
    names += count_bits(t->names[i]);
  }
  memset(b->name_depths + names, 0, 64);
  b->level[0] = 0;
  b->level_orders[0] = 0;
  uint64_t bad = 0, some = 1;
  bool tied = false;
  for (char depth = 0; some != 0; depth++) {
    uint64_t carry = 0, named = 0;
    size_t count = 0;
    some = 0;
    for (size_t i = 0; i < words; i++) {
      chunk depths = load(b->depths + 64 * i);
      uint64_t opening = t->structures[i] & equal(depths, depth);
      uint64_t inside = equal(depths, (char)(depth + 1));
      uint64_t dicts = opening & t->dicts[i];
      uint64_t others = ~(opening & ~dicts);
      uint64_t sum = others + dicts, more = sum + carry;
      uint64_t in_dict = others ^ dicts ^ more;
      carry = (sum < others) | (more < sum);
      bad |= t->keyed[i] & inside & (in_dict ^ t->named[i]);
      some |= opening;
      named |= t->names[i] & inside;
      count += put_level(b->level + 1 + count, keys + 64 * i,
                         t->positions[i] & inside);
    }
    bad |= !level_ascends(b->level + 1, count);
    if (named == 0) continue;
    count = put_name_level(b->level_orders + 1, b->level_depths, b,
                           (char)(depth + 1));
    /* eight bytes that are not less may be the start of longer names */
    tied |= !name_level_ascends(b->level_orders + 1, b->level_depths, count);
  }
  return bad == 0 && (!tied || order_names(b));
}

/* Checks that every structure ends inside the structure that it is in, and
 * every root inside its side. */
static bool check_structures(fnabi_block* b, const sip_tokens* t) {
  uint32_t stops[FNABI_DEPTH_MAX + 2], bad = 0;
  size_t count = locate(t->structures, words_of(b->tokens), b->list);
  for (size_t j = 0; j < count; j++) {
    size_t k = b->list[j], depth = b->depths[k];
    uint32_t stop = fnabi_stop_of(b, k);
    stops[0] = fnabi_stop_of(b, k - 1); /* if it is a root */
    bad |= (uint32_t)(stop > stops[depth]);
    stops[depth + 1] = stop;
  }
  return bad == 0;
}

static void put_names(const fnabi_block* b, fnabi_side_columns sides[2]) {
  const uint8_t* text = b->bytes + FNABI_BLOCK_PAD;
  uint64_t inside = 0;
  for (size_t i = 0; i < words_of(b->size); i++) {
    chunk c = load(text + 64 * i);
    uint64_t heads = (equal(c, 'I') | equal(c, 'R')) & b->in_tags[i];
    uint64_t input = alternate(heads, &inside);
    for (int k = 0; k < 2; k++)
      sides[k].name_size +=
          put_bytes(sides[k].names + sides[k].name_size, text + 64 * i,
                    b->in_names[i] & (k == 0 ? input : ~input));
  }
}

static bool decode_sip(fnabi_block* b, fnabi_side_columns sides[2],
                       int32_t* const offsets[2]) {
  if (!find_all(b)) return false;
  side_tokens tokens[2];
  sip_tokens t;
  int64_t between = sort_sip(b, tokens, &t);
  if (between < 0 || !find_depths(b, tokens, &t) || !check_keys(b, &t) ||
      !check_structures(b, &t) ||
      close_rows(b, tokens, (size_t)between, sides, offsets) != b->rows)
    return false;
  size_t words = words_of(b->tokens);
  for (int i = 0; i < 2; i++) {
    fnabi_side_columns* out = &sides[i];
    const uint64_t* nodes = tokens[i].nodes;
    size_t n = out->nodes;
    pick8((uint8_t*)out->kinds + n, b->tags, sip_kinds, nodes, words);
    pick8(out->depths + n, b->depths, NULL, nodes, words);
    out->nodes += pick16(out->indexes + n, b->shorts, t.leaves, nodes, words);
    pick16(out->positions + n, b->shorts, t.positions, t.before[i], words);
    put_ends(out->name_offsets + n + 1, out->name_size, b->shorts, t.names,
             t.before[i], words);
  }
  put_names(b, sides);
  return true;
}

#endif /* FNABI_KERNELS_SIP_H */
