/* The scalar decoder of raw signatures; abi/raw.c has the grammar. Numbers are
 * read eight bytes at a time, and what a processor cannot predict is computed:
 * the number of digits, whether there is a dtype, whether there is another dim.
 * The `&`s and masks replace conditions that would be mispredicted: seventeen
 * mispredictions in a signature of 64 bytes become six. */
#include "fnabi.h"
#include "many/kernels/sides.h"

/* By the tag of a value: its fnabi_type, and 0 where it may have a dtype. */
typedef struct value_tag {
  int8_t kind, dtype;
} value_tag;

static const value_tag value_tags[256] = {
    ['B'] = {FNABI_TYPE_BUFFER, 0},
    ['S'] = {FNABI_TYPE_SCALAR, 0},
    ['O'] = {FNABI_TYPE_REF, -1},
    ['U'] = {FNABI_TYPE_UNKNOWN, -1},
};

/* Reads a dim of eight digits or more that ends at or before `end`. Returns what
 * follows it; for one that is too large, a pointer past `end`. */
static const uint8_t* long_dim(const uint8_t* at, const uint8_t* end,
                               int64_t* dim) {
  int64_t value = 0;
  for (; at < end && *at - (unsigned)'0' < 10; at++) {
    value = value * 10 + (*at - '0');
    if (value > INT32_MAX) return end + 1;
  }
  *dim = value;
  return at;
}

/* Reads a length of any number of digits, and its mark. Returns what follows, or
 * NULL. */
static const uint8_t* read_length(const uint8_t* at, size_t* length) {
  size_t value = 0;
  for (unsigned digit; (digit = (unsigned)*at - '0') < 10; at++) {
    value = value * 10 + digit;
    if (value > FNABI_BLOCK_SIZE) return NULL;
  }
  *length = value;
  return *at == '!' && value > 0 ? at + 1 : NULL;
}

/* All ones for true, 0 for false. */
static inline uint64_t mask(bool condition) { return -(uint64_t)condition; }

/* Reads a dim at `at`, if that is before `end`, and returns what follows. The
 * number is stored either way, and counted only if there is one. */
static inline const uint8_t* read_dim(const uint8_t* at, const uint8_t* end,
                                      int64_t* dims, size_t* dim_count,
                                      uint64_t* bad) {
  uint64_t more = mask(at < end);
  uint64_t word = fnabi_load64(at + 1);
  uint64_t x = word ^ UINT64_C(0x3030303030303030);
  uint64_t others =
      ((x + UINT64_C(0x7676767676767676)) | x) & UINT64_C(0x8080808080808080);
  if (others == 0 && more != 0) {
    *bad |= *at != 'd';
    at = long_dim(at + 1, end, &dims[*dim_count]);
    ++*dim_count;
    return at;
  }
  /* the added bit keeps the mask from being 0 */
  uint64_t bits = fnabi_lowest(others | UINT64_C(1) << 63) & 56;
  uint64_t dynamic = mask((uint16_t)word == ('-' | '1' << 8));
  uint64_t number = fnabi_sum_digits(x << ((64 - bits) & 63));
  *bad |= more & ((*at ^ (uint64_t)'d') | ((bits == 0) & ~dynamic));
  dims[*dim_count] = (int64_t)(number | dynamic);
  *dim_count += more & 1;
  return at + (more & (1 + (bits >> 3) + (dynamic & 2)));
}

/* Reads the values in [at, end). */
static inline bool read_side(const uint8_t* at, const uint8_t* end,
                             fnabi_side_columns* out) {
  int8_t* kind = out->kinds + out->nodes;
  int8_t* dtype = out->dtypes + out->nodes;
  int32_t* shape_end = out->shape_offsets + out->nodes + 1;
  int64_t* dims = out->dims;
  size_t dim_count = out->dim_count;
  uint64_t bad = 0;
  while (at < end) {
    const value_tag* tag = &value_tags[*at];
    uint64_t first = at[1] - (uint64_t)'0', second = at[2] - (uint64_t)'0';
    bool two = second < 10;
    size_t length = first + (mask(two) & (first * 9 + second));
    const uint8_t* contents = at + 2 + two;
    bad |= first > 9;
    if (*contents != '!') {
      contents = read_length(at + 1, &length);
      if (contents == NULL) return false;
      contents--;
    }
    if (length - 1 >= FNABI_BLOCK_SIZE || (ptrdiff_t)length > end - contents)
      return false;
    at = contents + length;
    contents++;

    /* the dtype, which may be absent */
    uint64_t one = contents[1] - (uint64_t)'0',
             ten = contents[2] - (uint64_t)'0';
    uint64_t typed = mask(contents < at) & mask(*contents == 't');
    bool wide = ten < 10;
    uint64_t number = one + (mask(wide) & (one * 9 + ten));
    bad |= typed &
           ((one > 9) | (number > 11) | (wide & (one == 0)) | (tag->dtype < 0));
    contents += typed & (2u + wide);
    *dtype++ = (int8_t)((typed & number) | (uint8_t)tag->dtype);

    size_t before = dim_count;
    contents = read_dim(contents, at, dims, &dim_count, &bad);
    contents = read_dim(contents, at, dims, &dim_count, &bad);
    do contents = read_dim(contents, at, dims, &dim_count, &bad);
    while (contents < at && bad == 0);
    bad |= (uint64_t)(contents != at) | (uint64_t)(tag->kind == 0) |
           ((tag->kind != FNABI_TYPE_BUFFER) & (dim_count != before));
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
