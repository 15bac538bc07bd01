/* The scalar decoder of SIP signatures; abi/sip.c has the grammar. It accepts only
 * texts whose keys ascend in every structure, so that no key occurs twice, and
 * whose numbers have at most eight digits and no sign. The reference decodes
 * all others. */
#include "fnabi.h"
#include "many/kernels/sides.h"

typedef struct level {
  size_t end;
  int64_t last;          /* key of a sequence */
  size_t name, name_end; /* key of a dict; both 0 before the first */
  bool dict;
} level;

/* Reads the digits at *at and moves *at past them. */
static inline bool read_number(const uint8_t* text, size_t* at,
                               uint32_t* number) {
  /* most have one digit, or two */
  unsigned first = text[*at] - '0', second = text[*at + 1] - '0';
  if (first > 9) return false;
  if (second > 9) {
    *at += 1;
    *number = first;
    return true;
  }
  uint32_t value = first * 10 + second;
  size_t digits = 2;
  for (; text[*at + digits] - (unsigned)'0' < 10; digits++) {
    if (digits == 8) return false;
    value = value * 10 + (text[*at + digits] - (unsigned)'0');
  }
  *number = value;
  *at += digits;
  return true;
}

/* Reads the head of a span from its length on. Its contents are [*at, *end),
 * which must end at or before `limit`. */
static inline bool read_head(const uint8_t* text, size_t* at, size_t limit,
                             size_t* end) {
  uint32_t length;
  if (!read_number(text, at, &length) || text[*at] != '!') return false;
  *end = *at + length;
  ++*at;
  return length > 0 && *end <= limit;
}

/* Whether the bytes of the first key are less than those of the second. */
static bool ascend(const uint8_t* text, size_t a, size_t a_end, size_t b,
                   size_t b_end) {
  size_t left = a_end - a, right = b_end - b;
  size_t common = left < right ? left : right;
  int order = common == 0 ? 0 : memcmp(text + a, text + b, common);
  return order != 0 ? order < 0 : left < right;
}

static inline bool read_side(const uint8_t* text, size_t at, size_t end,
                             fnabi_side_columns* out) {
  level levels[FNABI_DEPTH_MAX];
  size_t depth = 0, nodes = out->nodes, name_size = out->name_size;
  if (at == end) return true;
  size_t limit = end; /* of the innermost structure */
  int32_t position = -1;
  for (;;) {
    /* a value */
    uint8_t tag = text[at++];
    out->depths[nodes] = (uint8_t)depth;
    out->positions[nodes] = position;
    out->name_offsets[nodes + 1] = (int32_t)name_size;
    if (tag == '_') {
      uint32_t index;
      if (!read_number(text, &at, &index) || at > limit) return false;
      out->kinds[nodes] = FNABI_SIP_LEAF;
      out->indexes[nodes++] = (int32_t)index;
    } else if (tag == 'S' || tag == 'D') {
      if (depth == FNABI_DEPTH_MAX || !read_head(text, &at, limit, &limit))
        return false;
      bool dict = tag == 'D';
      out->kinds[nodes] = dict ? FNABI_SIP_DICT : FNABI_SIP_SEQUENCE;
      out->indexes[nodes++] = -1;
      levels[depth++] = (level){limit, -1, 0, 0, dict};
    } else {
      return false;
    }
    /* the ends of structures, and then a key */
    while (at == limit) {
      if (depth == 0) {
        out->nodes = nodes;
        out->name_size = name_size;
        return true;
      }
      depth--;
      limit = depth > 0 ? levels[depth - 1].end : end;
    }
    if (depth == 0) return false;
    level* in = &levels[depth - 1];
    if (in->dict) {
      size_t name_end;
      if (text[at++] != 'K' || !read_head(text, &at, limit, &name_end) ||
          (in->name != 0 &&
           !ascend(text, in->name, in->name_end, at, name_end)))
        return false;
      size_t size = name_end - at;
      /* most names are short, and a copy of a fixed size is no call */
      memcpy(out->names + name_size, text + at, 16);
      if (size > 16) memcpy(out->names + name_size, text + at, size);
      name_size += size;
      in->name = at;
      in->name_end = name_end;
      at = name_end;
      position = -1;
    } else {
      uint32_t key;
      if (text[at++] != 'k' || !read_number(text, &at, &key) ||
          (int64_t)key <= in->last)
        return false;
      in->last = key;
      position = (int32_t)key;
    }
    if (at >= limit) return false;
  }
}

bool fnabi_sip_row(const uint8_t* text, size_t size,
                   fnabi_side_columns sides[2]) {
  size_t at = 0;
  for (int i = 0; i < 2; i++) {
    size_t side_end;
    if (at >= size || text[at++] != (uint8_t)"IR"[i] ||
        !read_head(text, &at, size, &side_end) ||
        !read_side(text, at, side_end, &sides[i]))
      return false;
    at = side_end;
  }
  return at == size;
}
