/* The fast decoder of raw signatures; raw.c has the grammar. Numbers are read
 * eight bytes at a time, and what a processor cannot foresee is computed where
 * it can be: whether a length has two digits, whether there is a dtype, what
 * sort of value it is. A dim's digits and the end of a shape are left.
 *
 * Lengths of values of more than 99 bytes, dims of more than eight digits or
 * with needless zeros and signs go other ways. */
#include "columns.h"

/* By the tag of a value: its fnabi_type, and whether it may have a dtype. */
typedef struct value_tag {
  int8_t kind, dtype;
} value_tag;

static const value_tag value_tags[256] = {
    ['B'] = {FNABI_TYPE_BUFFER, 0},
    ['S'] = {FNABI_TYPE_SCALAR, 0},
    ['O'] = {FNABI_TYPE_REF, -1},
    ['U'] = {FNABI_TYPE_UNKNOWN, -1},
};

/* The dim of eight digits and more that stands before `end`; NULL, or what is
 * behind it. */
static const uint8_t* long_dim(const uint8_t* at, const uint8_t* end,
                               int64_t* dim) {
  int64_t value = 0;
  for (; at < end && (unsigned)*at - '0' < 10; at++) {
    value = value * 10 + (*at - '0');
    if (value > INT32_MAX) return NULL;
  }
  *dim = value;
  return at;
}

/* A length of any number of digits, and its mark; NULL, or what is behind. */
static const uint8_t* read_length(const uint8_t* at, size_t* length) {
  size_t value = 0;
  for (unsigned digit; (digit = (unsigned)*at - '0') < 10; at++) {
    value = value * 10 + digit;
    if (value > FNABI_BLOCK_SIZE) return NULL;
  }
  *length = value;
  return *at == '!' && value > 0 ? at + 1 : NULL;
}

/* The values that stand in [at, end). */
static inline bool read_side(const uint8_t* at, const uint8_t* end,
                             fnabi_side_columns* out) {
  int8_t* kind = out->kinds + out->nodes;
  int8_t* dtype = out->dtypes + out->nodes;
  int32_t* shape_end = out->shape_offsets + out->nodes + 1;
  int64_t* dims = out->dims;
  size_t dim_count = out->dim_count;
  unsigned bad = 0;
  while (at < end) {
    const value_tag* tag = &value_tags[*at];
    unsigned first = (unsigned)at[1] - '0', second = (unsigned)at[2] - '0';
    bool two = second < 10;
    size_t length = two ? first * 10 + second : first;
    const uint8_t* contents = at + 2 + two;
    if (*contents != '!') {
      if (!two || *contents - (unsigned)'0' > 9) return false;
      contents = read_length(at + 1, &length);
      if (contents == NULL) return false;
      contents--;
      first = 0;
    }
    bad |= first > 9;
    if (length == 0 || (ptrdiff_t)length > end - contents) return false;
    at = contents + length;
    contents++;

    /* the dtype, which may be absent */
    unsigned one = (unsigned)contents[1] - '0',
             ten = (unsigned)contents[2] - '0';
    bool typed = (contents < at) & (*contents == 't');
    bool wide = ten < 10;
    unsigned number = wide ? one * 10 + ten : one;
    bad |= typed &
           ((one > 9) | (number > 11) | (wide & (one == 0)) | (tag->dtype < 0));
    contents += typed ? 2 + wide : 0;
    *dtype++ = (int8_t)(typed ? (int)number : tag->dtype);

    size_t before = dim_count;
    while (contents < at) {
      if (*contents++ != 'd') return false;
      uint64_t word = fnabi_load64(contents);
      uint64_t x = word ^ UINT64_C(0x3030303030303030);
      uint64_t others = ((x + UINT64_C(0x7676767676767676)) | x) &
                        UINT64_C(0x8080808080808080);
      if (others == 0) {
        contents = long_dim(contents, at, &dims[dim_count++]);
        if (contents == NULL) return false;
        continue;
      }
      unsigned digits = fnabi_lowest(others) >> 3;
      bool dynamic = (uint16_t)word == ('-' | '1' << 8);
      bad |= !dynamic & (digits == 0);
      int64_t dim = fnabi_sum_digits(x << ((64 - 8 * digits) & 63));
      dims[dim_count++] = dynamic ? -1 : dim;
      contents += dynamic ? 2 : digits;
    }
    bad |= (contents != at) |
           ((tag->kind != FNABI_TYPE_BUFFER) & (dim_count != before));
    bad |= tag->kind == 0;
    *kind++ = tag->kind;
    *shape_end++ = (int32_t)dim_count;
  }
  out->nodes = (size_t)(kind - out->kinds);
  out->dim_count = dim_count;
  return bad == 0;
}

bool fnabi_raw_row(const uint8_t* text, size_t size,
                   fnabi_side_columns sides[2]) {
  const uint8_t *at = text, *end = text + size;
  for (int i = 0; i < 2; i++) {
    size_t length;
    if (at >= end || *at != (uint8_t)"IR"[i]) return false;
    at = read_length(at + 1, &length);
    if (at == NULL || at > end || length - 1 > (size_t)(end - at) ||
        !read_side(at, at + length - 1, &sides[i]))
      return false;
    at += length - 1;
  }
  return at == end;
}
