#include "columns/columns.h"

#include <stdlib.h>

#include "abi/cconv.h"
#include "abi/declaration.h"
#include "abi/iree_abi.h"
#include "abi/raw.h"
#include "abi/sip.h"
#include "base/decimal.h"
#include "base/error.h"
#include "columns/kernels/block.h"

/* ------------------------------------------------------------------- columns
 */

_Static_assert(FNABI_CODE_COUNT <= FNABI_ROW_NULL, "a status is a byte");
_Static_assert(FNABI_DEPTH_MAX < 250, "a depth is a byte");

typedef struct layout {
  uint8_t width;
  bool offsets;
  uint8_t abis; /* bit of every fnabi_abi that has it */
} layout;

enum {
  RAW = 1 << FNABI_ABI_RAW,
  SIP = 1 << FNABI_ABI_SIP,
  DECLARATION = 1 << FNABI_ABI_DECLARATION,
  ALL = (1 << FNABI_ABI_COUNT) - 1,
  T = ALL & ~SIP,
  N = ALL & ~SIP & ~RAW,
  NS = ALL & ~RAW
};

static const layout layouts[FNABI_COLUMN_OFFSETS + FNABI_COLUMN_SIDE] = {
    [FNABI_COLUMN_STATUS] = {1, false, ALL},
    [FNABI_COLUMN_DOUBT] = {1, false, DECLARATION},
    [FNABI_COLUMN_KEPT] = {8, false, ALL},
    [FNABI_COLUMN_ERROR_OFFSET] = {8, false, ALL},
    [FNABI_COLUMN_TEXT_OFFSETS] = {8, true, ALL},
    [FNABI_COLUMN_TEXT] = {1, false, ALL},
    [FNABI_COLUMN_OFFSETS] = {4, true, ALL},
    [FNABI_COLUMN_KIND] = {1, false, ALL},
    [FNABI_COLUMN_DTYPE] = {4, false, T},
    [FNABI_COLUMN_SHAPE_OFFSETS] = {4, true, T},
    [FNABI_COLUMN_DIMS] = {8, false, T},
    [FNABI_COLUMN_FLAGS] = {1, false, N},
    [FNABI_COLUMN_DEPTH] = {1, false, NS},
    [FNABI_COLUMN_NAME_OFFSETS] = {4, true, NS},
    [FNABI_COLUMN_NAMES] = {1, false, NS},
    [FNABI_COLUMN_REF_OFFSETS] = {4, true, N},
    [FNABI_COLUMN_REFS] = {1, false, N},
    [FNABI_COLUMN_INDEX] = {4, false, SIP},
    [FNABI_COLUMN_POSITION] = {4, false, SIP},
};

static const layout* layout_of(const fnabi_columns* columns, int32_t column) {
  if (column < 0 || column >= FNABI_COLUMN_COUNT) return NULL;
  if (column >= FNABI_COLUMN_OFFSETS + FNABI_COLUMN_SIDE)
    column -= FNABI_COLUMN_SIDE;
  static const layout raw_dtype = {1, false, RAW};
  const layout* found = &layouts[column];
  if (column == FNABI_COLUMN_DTYPE && columns->abi == FNABI_ABI_RAW)
    found = &raw_dtype;
  return (found->abis >> columns->abi & 1) != 0 ? found : NULL;
}

static bool push8(fnabi_vector* v, int value) {
  uint8_t byte = (uint8_t)value;
  return fnabi_vector_append(v, &byte, 1);
}

static bool push32(fnabi_vector* v, int32_t value) {
  return fnabi_vector_append(v, &value, sizeof value);
}

static bool push64(fnabi_vector* v, size_t value) {
  int64_t number = (int64_t)value;
  return fnabi_vector_append(v, &number, sizeof number);
}

/* Where what has been added to a column ends, as an offset into it. */
static bool push_end(fnabi_vector* v, size_t end) {
  return end <= INT32_MAX && push32(v, (int32_t)end);
}

static int32_t intern(fnabi_columns* columns, const fnabi_dtype* dtype);

fnabi_columns* fnabi_columns_new(int32_t abi, int32_t decoder) {
  decoder = fnabi_decoder_find(decoder);
  if (abi < 0 || abi >= FNABI_ABI_COUNT || decoder < 0) return NULL;
  fnabi_columns* columns = calloc(1, sizeof *columns);
  if (columns == NULL) return NULL;
  atomic_init(&columns->owners, 1);
  columns->abi = abi;
  columns->decoder = (fnabi_decoder)decoder;
  bool good = true;
  for (int32_t i = 0; i < FNABI_COLUMN_COUNT; i++) {
    const layout* l = layout_of(columns, i);
    if (l != NULL && l->offsets)
      good &=
          fnabi_vector_append(&columns->vectors[i], "\0\0\0\0\0\0\0", l->width);
  }
  /* the dtypes of the raw ABI have the numbers that it gives them */
  if (abi != FNABI_ABI_SIP)
    for (int32_t i = 0; i < FNABI_SCALAR_TYPE_COUNT; i++) {
      uint8_t message[32];
      fnabi_reader r = {message, sizeof message, 0};
      fnabi_dtype dtype;
      fnabi_error error;
      fnabi_raw_scalar_dtype(i, message, sizeof message);
      good &= fnabi_unpack_dtype(&r, &dtype, &error) &&
              intern(columns, &dtype) == i;
    }
  if (good) return columns;
  fnabi_columns_free(columns);
  return NULL;
}

void fnabi_columns_free(fnabi_columns* columns) {
  if (columns == NULL) return;
  if (atomic_fetch_sub_explicit(&columns->owners, 1, memory_order_acq_rel) != 1)
    return;
  for (int i = 0; i < FNABI_COLUMN_COUNT; i++) free(columns->vectors[i].data);
  free(columns->dtypes.data);
  free(columns->formats.data);
  free(columns->slots.data);
  free(columns->scratch.data);
  free(columns);
}

size_t fnabi_columns_rows(const fnabi_columns* columns) {
  return columns->rows;
}

size_t fnabi_columns_read(const fnabi_columns* columns, int32_t column,
                          const void** data, size_t* size) {
  const layout* l = layout_of(columns, column);
  if (l == NULL) return 0;
  *data = columns->vectors[column].data;
  *size = columns->vectors[column].size;
  return l->width;
}

/* ------------------------------------------------------------------ decoders
 */

const fnabi_kernel* fnabi_kernel_of(fnabi_decoder decoder) {
#if defined(FNABI_X86)
  if (decoder == FNABI_DECODER_AVX2 && __builtin_cpu_supports("avx2") &&
      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt"))
    return &fnabi_kernel_avx2;
  if (decoder == FNABI_DECODER_AVX512 && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vbmi") &&
      __builtin_cpu_supports("avx512vbmi2"))
    return &fnabi_kernel_avx512;
#elif defined(FNABI_NEON)
  if (decoder == FNABI_DECODER_NEON) return &fnabi_kernel_neon;
#endif
  (void)decoder;
  return NULL;
}

int32_t fnabi_decoder_find(int32_t decoder) {
  if (decoder == FNABI_DECODER_BEST) {
    for (decoder = FNABI_DECODER_COUNT - 1; decoder > FNABI_DECODER_SCALAR;
         decoder--)
      if (fnabi_kernel_of((fnabi_decoder)decoder) != NULL) break;
    return decoder;
  }
  bool here =
      decoder == FNABI_DECODER_REFERENCE || decoder == FNABI_DECODER_SCALAR ||
      (decoder > FNABI_DECODER_SCALAR && decoder < FNABI_DECODER_COUNT &&
       fnabi_kernel_of((fnabi_decoder)decoder) != NULL);
  return here ? decoder : -1;
}

/* -------------------------------------------------------------------- dtypes
 */

static bool same_dtype(const fnabi_dtype* a, const fnabi_dtype* b) {
  return a->kind == b->kind && a->bits == b->bits &&
         a->format_size == b->format_size &&
         (a->format_size == 0 ||
          memcmp(a->format, b->format, a->format_size) == 0);
}

static uint64_t hash_dtype(const fnabi_dtype* dtype) {
  uint64_t hash = ((uint64_t)dtype->kind << 32 | dtype->bits) + 1;
  for (size_t i = 0; i < dtype->format_size; i++)
    hash = (hash ^ (uint8_t)dtype->format[i]) * UINT64_C(0x100000001B3);
  return hash * UINT64_C(0x9E3779B97F4A7C15) >> 20;
}

/* The slot of a dtype, or the free one where it would be. There is one. */
static int32_t* slot_of(const fnabi_columns* columns,
                        const fnabi_dtype* dtype) {
  int32_t* slots = (int32_t*)(void*)columns->slots.data;
  size_t mask = columns->slots.size / sizeof *slots - 1;
  size_t at = (size_t)hash_dtype(dtype) & mask;
  for (;; at = (at + 1) & mask) {
    if (slots[at] < 0) return &slots[at];
    fnabi_dtype found = fnabi_dtype_at(columns, (size_t)slots[at]);
    if (same_dtype(&found, dtype)) return &slots[at];
  }
}

static bool grow_slots(fnabi_columns* columns) {
  size_t size =
      columns->slots.size == 0 ? 64 * sizeof(int32_t) : 2 * columns->slots.size;
  if (!fnabi_vector_reserve(&columns->slots, size - columns->slots.size))
    return false;
  columns->slots.size = size;
  memset(columns->slots.data, 0xFF, size);
  for (size_t i = 0; i < fnabi_dtype_count(columns); i++) {
    fnabi_dtype dtype = fnabi_dtype_at(columns, i);
    *slot_of(columns, &dtype) = (int32_t)i;
  }
  return true;
}

/* The index of a dtype, which may be new; -1 when there is no memory. */
static int32_t intern(fnabi_columns* columns, const fnabi_dtype* dtype) {
  size_t count = fnabi_dtype_count(columns);
  if (2 * (count + 1) * sizeof(int32_t) > columns->slots.size &&
      !grow_slots(columns))
    return -1;
  int32_t* slot = slot_of(columns, dtype);
  if (*slot >= 0) return *slot;
  fnabi_dtype_entry e = {dtype->kind, dtype->bits, columns->formats.size,
                         dtype->format_size};
  if (!fnabi_vector_append(&columns->formats, dtype->format,
                           dtype->format_size) ||
      !fnabi_vector_append(&columns->dtypes, &e, sizeof e))
    return -1;
  return *slot = (int32_t)count;
}

void fnabi_dtype_write_name(fnabi_writer* w, const fnabi_columns* columns,
                            size_t i) {
  static const char* const names[FNABI_DTYPE_KIND_COUNT] = {
      "int",     "uint", "i",     "float",  "bfloat",
      "complex", "bool", "index", "handle",
  };
  fnabi_dtype dtype = fnabi_dtype_at(columns, i);
  fnabi_put(w, names[dtype.kind], strlen(names[dtype.kind]));
  if (dtype.kind >= FNABI_DTYPE_BOOL) return;
  uint8_t bits[FNABI_DECIMAL_ROOM], *end = bits + sizeof bits;
  const uint8_t* begin = fnabi_decimal(end, dtype.bits);
  fnabi_put(w, begin, (size_t)(end - begin));
  if (dtype.format_size == 0) return;
  fnabi_put(w, "_", 1);
  fnabi_put(w, dtype.format, dtype.format_size);
}

int64_t fnabi_columns_dtypes(const fnabi_columns* columns, uint8_t* out,
                             size_t capacity) {
  fnabi_writer w = {out, capacity, 0};
  size_t count = fnabi_dtype_count(columns);
  fnabi_pack_array(&w, 2);
  fnabi_pack_close(&w, fnabi_pack_open(&w), count);
  for (size_t i = 0; i < count; i++) {
    fnabi_dtype dtype = fnabi_dtype_at(columns, i);
    fnabi_pack_dtype(&w, &dtype);
  }
  fnabi_pack_close(&w, fnabi_pack_open(&w), count);
  for (size_t i = 0; i < count; i++) {
    fnabi_writer measure = {NULL, 0, 0};
    fnabi_dtype_write_name(&measure, columns, i);
    fnabi_pack_string(&w, measure.size);
    fnabi_dtype_write_name(&w, columns, i);
  }
  return (int64_t)w.size;
}

/* --------------------------------------------------- from messages to columns
 *
 * The decoder of single texts is the reference: its message becomes a row, node
 * by node. A false is want of memory: the message has the form that it wrote.
 */

/* Where the nodes of one side go. */
typedef struct side {
  fnabi_columns* columns;
  fnabi_vector* column; /* those of this side: column[FNABI_COLUMN_KIND] */
  fnabi_reader r;
} side;

typedef struct node {
  int64_t kind;
  int32_t dtype;
  unsigned flags, depth;
  const char *name, *ref;
  size_t name_size, ref_size;
} node;

/* A node, whose dims have been added already. */
static bool put_node(side* s, const node* n) {
  fnabi_vector* c = s->column;
  if (!push8(&c[FNABI_COLUMN_KIND], (int)n->kind) ||
      !push_end(&c[FNABI_COLUMN_SHAPE_OFFSETS],
                c[FNABI_COLUMN_DIMS].size / sizeof(int64_t)))
    return false;
  if (s->columns->abi == FNABI_ABI_RAW)
    return push8(&c[FNABI_COLUMN_DTYPE], n->dtype);
  return (push32(&c[FNABI_COLUMN_DTYPE], n->dtype) &&
          push8(&c[FNABI_COLUMN_FLAGS], (int)n->flags) &&
          push8(&c[FNABI_COLUMN_DEPTH], (int)n->depth) &&
          fnabi_vector_append(&c[FNABI_COLUMN_NAMES], n->name, n->name_size) &&
          push_end(&c[FNABI_COLUMN_NAME_OFFSETS], c[FNABI_COLUMN_NAMES].size) &&
          fnabi_vector_append(&c[FNABI_COLUMN_REFS], n->ref, n->ref_size) &&
          push_end(&c[FNABI_COLUMN_REF_OFFSETS], c[FNABI_COLUMN_REFS].size));
}

static bool take_dtype(side* s, node* n) {
  fnabi_dtype dtype;
  fnabi_error error;
  if (!fnabi_unpack_dtype(&s->r, &dtype, &error)) return false;
  n->dtype = intern(s->columns, &dtype);
  return n->dtype >= 0;
}

static bool take_shape(side* s, node* n) {
  size_t rank;
  if (fnabi_unpack_nil(&s->r)) return true;
  if (!fnabi_unpack_array(&s->r, &rank)) return false;
  n->flags |= FNABI_NODE_RANKED;
  for (; rank > 0; rank--) {
    int64_t dim = -1;
    if (!fnabi_unpack_nil(&s->r) && !fnabi_unpack_int(&s->r, &dim))
      return false;
    if (!push64(&s->column[FNABI_COLUMN_DIMS], (size_t)dim)) return false;
  }
  return true;
}

static bool take_type(side* s, node n);

static bool take_types(side* s, unsigned depth) {
  size_t count;
  if (!fnabi_unpack_array(&s->r, &count)) return false;
  for (; count > 0; count--)
    if (!take_type(s, (node){.depth = depth})) return false;
  return true;
}

static bool take_name(side* s, node* n) {
  n->flags |= FNABI_NODE_NAMED;
  return fnabi_unpack_text(&s->r, &n->name, &n->name_size);
}

/* A type; `n` has its depth and its name. Types nest as deep as the decoder
 * allowed. */
static bool take_type(side* s, node n) {
  size_t count;
  n.dtype = -1;
  if (!fnabi_unpack_array(&s->r, &count) || !fnabi_unpack_int(&s->r, &n.kind))
    return false;
  switch (n.kind) {
    case FNABI_TYPE_SCALAR:
      return take_dtype(s, &n) && put_node(s, &n);
    case FNABI_TYPE_BUFFER:
      return take_dtype(s, &n) && take_shape(s, &n) && put_node(s, &n);
    case FNABI_TYPE_REF:
      if (!fnabi_unpack_nil(&s->r)) {
        n.flags |= FNABI_NODE_REF_NAMED;
        if (!fnabi_unpack_text(&s->r, &n.ref, &n.ref_size)) return false;
      }
      return put_node(s, &n);
    case FNABI_TYPE_LIST:
    case FNABI_TYPE_TUPLE:
      return put_node(s, &n) && take_types(s, n.depth + 1);
    case FNABI_TYPE_HOMOGENEOUS_LIST:
      return put_node(s, &n) && take_type(s, (node){.depth = n.depth + 1});
    case FNABI_TYPE_DICT:
      if (!put_node(s, &n) || !fnabi_unpack_array(&s->r, &count)) return false;
      for (; count > 0; count--) {
        node child = {.depth = n.depth + 1};
        size_t two;
        if (!fnabi_unpack_array(&s->r, &two) || !take_name(s, &child) ||
            !take_type(s, child))
          return false;
      }
      return true;
    case FNABI_TYPE_NAMED:
      return take_name(s, &n) && take_type(s, n);
    case FNABI_TYPE_REF_ARRAY: {
      /* the shape stands behind the element, whose node comes behind this */
      fnabi_reader element = s->r;
      if (!fnabi_unpack_skip(&s->r) || !take_shape(s, &n) || !put_node(s, &n))
        return false;
      fnabi_reader rest = s->r;
      s->r = element;
      bool good = take_type(s, (node){.depth = n.depth + 1});
      s->r = rest;
      return good;
    }
    default: /* NULL, UNKNOWN */
      return put_node(s, &n);
  }
}

/* A node of SIP, or nil at the root; `n` has its key. */
static bool take_sip_node(side* s, node n, int64_t position) {
  fnabi_vector* c = s->column;
  size_t count;
  int64_t index = -1;
  if (fnabi_unpack_nil(&s->r)) return true;
  if (!fnabi_unpack_array(&s->r, &count) || !fnabi_unpack_int(&s->r, &n.kind))
    return false;
  bool leaf = n.kind == FNABI_SIP_LEAF;
  if (leaf ? !fnabi_unpack_int(&s->r, &index)
           : !fnabi_unpack_array(&s->r, &count))
    return false;
  if (!push8(&c[FNABI_COLUMN_KIND], (int)n.kind) ||
      !push8(&c[FNABI_COLUMN_DEPTH], (int)n.depth) ||
      !fnabi_vector_append(&c[FNABI_COLUMN_NAMES], n.name, n.name_size) ||
      !push_end(&c[FNABI_COLUMN_NAME_OFFSETS], c[FNABI_COLUMN_NAMES].size) ||
      !push32(&c[FNABI_COLUMN_INDEX], (int32_t)index) ||
      !push32(&c[FNABI_COLUMN_POSITION], (int32_t)position))
    return false;
  for (; !leaf && count > 0; count--) {
    node child = {.depth = n.depth + 1};
    size_t two;
    position = -1;
    if (!fnabi_unpack_array(&s->r, &two) ||
        (n.kind == FNABI_SIP_SEQUENCE ? !fnabi_unpack_int(&s->r, &position)
                                      : !take_name(s, &child)) ||
        !take_sip_node(s, child, position))
      return false;
  }
  return true;
}

/* The decoder of a text's ABI; *doubt is set for declarations. */
static bool write_text(int32_t abi, fnabi_text text, fnabi_writer* w,
                       const char** doubt, fnabi_error* error) {
  const fnabi_known unknown = {-1, NULL};
  switch (abi) {
    case FNABI_ABI_RAW:
      return fnabi_raw_write(text.data, text.size, w, error);
    case FNABI_ABI_SIP:
      return fnabi_sip_write(text.data, text.size, w, error);
    case FNABI_ABI_CCONV:
      return fnabi_cconv_write_signature(text.data, text.size, w, error);
    case FNABI_ABI_IREE_ABI:
      return fnabi_iree_abi_write(text.data, text.size, w, error);
    default:
      return fnabi_declaration_write(text.data, text.size, unknown, unknown, w,
                                     doubt, error);
  }
}

static fnabi_doubt doubt_of(const char* text) {
  return text == NULL   ? FNABI_DOUBT_NONE
         : *text == 'a' ? FNABI_DOUBT_ARITY
         : *text == 'n' ? FNABI_DOUBT_NAMES
                        : FNABI_DOUBT_TYPE;
}

/* What a row has besides its nodes. */
static bool put_row(fnabi_columns* columns, int32_t status, uint64_t offset,
                    fnabi_doubt doubt, const fnabi_text* kept) {
  fnabi_vector* v = columns->vectors;
  for (int i = 0; i < 2; i++) {
    fnabi_vector* c = v + i * FNABI_COLUMN_SIDE;
    if (!push_end(&c[FNABI_COLUMN_OFFSETS], c[FNABI_COLUMN_KIND].size))
      return false;
  }
  if (!push8(&v[FNABI_COLUMN_STATUS], status)) return false;
  if (columns->abi == FNABI_ABI_DECLARATION &&
      !push8(&v[FNABI_COLUMN_DOUBT], (int)doubt))
    return false;
  return kept == NULL ||
         (fnabi_vector_append(&v[FNABI_COLUMN_TEXT], kept->data, kept->size) &&
          push64(&v[FNABI_COLUMN_KEPT], columns->rows) &&
          push64(&v[FNABI_COLUMN_ERROR_OFFSET], (size_t)offset) &&
          push64(&v[FNABI_COLUMN_TEXT_OFFSETS], v[FNABI_COLUMN_TEXT].size));
}

static bool add_slowly(fnabi_columns* columns, fnabi_text text) {
  if (text.data == NULL)
    return put_row(columns, FNABI_ROW_NULL, 0, FNABI_DOUBT_NONE, NULL);
  fnabi_vector* scratch = &columns->scratch;
  fnabi_error error;
  const char* doubt = NULL;
  if (!fnabi_vector_reserve(scratch, 512)) return false;
  fnabi_writer w = {scratch->data, scratch->room, 0};
  bool good = write_text(columns->abi, text, &w, &doubt, &error);
  if (good && w.size > scratch->room) {
    if (!fnabi_vector_reserve(scratch, w.size)) return false;
    w = (fnabi_writer){scratch->data, scratch->room, 0};
    good = write_text(columns->abi, text, &w, &doubt, &error);
    if (w.size > w.capacity) return false; /* changed while read */
  }
  if (!good)
    return error.code != FNABI_MEMORY &&
           put_row(columns, error.code, error.offset, FNABI_DOUBT_NONE, &text);
  fnabi_reader r = {scratch->data, w.size, 0};
  size_t count;
  if (!fnabi_unpack_array(&r, &count)) return false;
  for (int i = 0; i < 2; i++) {
    side s = {columns, columns->vectors + i * FNABI_COLUMN_SIDE, r};
    if (columns->abi == FNABI_ABI_SIP ? !take_sip_node(&s, (node){0}, -1)
                                      : !take_types(&s, 0))
      return false;
    r = s.r;
  }
  return put_row(columns, FNABI_OK, 0, doubt_of(doubt),
                 fnabi_columns_keeps(columns) ? &text : NULL);
}

/* A row, or none at all. */
static bool add_row(fnabi_columns* columns, fnabi_text text) {
  size_t sizes[FNABI_COLUMN_COUNT];
  for (int i = 0; i < FNABI_COLUMN_COUNT; i++)
    sizes[i] = columns->vectors[i].size;
  if (add_slowly(columns, text)) {
    columns->rows++;
    return true;
  }
  for (int i = 0; i < FNABI_COLUMN_COUNT; i++)
    columns->vectors[i].size = sizes[i];
  return false;
}

bool fnabi_columns_add_signature(fnabi_columns* columns, fnabi_reader* r) {
  size_t sizes[FNABI_COLUMN_COUNT], count;
  for (int i = 0; i < FNABI_COLUMN_COUNT; i++)
    sizes[i] = columns->vectors[i].size;
  bool good = true, missing = fnabi_unpack_nil(r);
  if (!missing) {
    good = fnabi_unpack_array(r, &count);
    for (int i = 0; i < 2 && good; i++) {
      side s = {columns, columns->vectors + i * FNABI_COLUMN_SIDE, *r};
      good = take_types(&s, 0);
      *r = s.r;
    }
    for (; good && count > 2; count--) good = fnabi_unpack_skip(r);
  }
  if (good && put_row(columns, missing ? FNABI_ROW_NULL : FNABI_OK, 0,
                      FNABI_DOUBT_NONE, NULL)) {
    columns->rows++;
    return true;
  }
  for (int i = 0; i < FNABI_COLUMN_COUNT; i++)
    columns->vectors[i].size = sizes[i];
  return false;
}

/* -------------------------------------------------------------------- blocks
 */

/* How many elements of a column `size` bytes of texts can become at most: a
 * value of a raw signature takes three bytes ("O1!") and a dim two ("d1"), a
 * node of SIP four ("k0_0"), but for those of two roots. */
static size_t most_elements(const fnabi_columns* columns, int32_t column,
                            size_t size) {
  if (column >= FNABI_COLUMN_OFFSETS + FNABI_COLUMN_SIDE)
    column -= FNABI_COLUMN_SIDE;
  if (column == FNABI_COLUMN_NAMES) return size;
  if (column == FNABI_COLUMN_DIMS) return size / 2;
  return columns->abi == FNABI_ABI_RAW ? size / 3 : size / 4;
}

/* How many elements that is for a block of `rows` texts, with what decoders may
 * write behind; 0 for columns that they do not write. */
static size_t block_elements(const fnabi_columns* columns, int32_t column,
                             size_t size, size_t rows) {
  if (column == FNABI_COLUMN_STATUS) return rows;
  if (column < FNABI_COLUMN_OFFSETS) return 0;
  if ((column - FNABI_COLUMN_OFFSETS) % FNABI_COLUMN_SIDE == 0) return rows;
  return most_elements(columns, column, size) + FNABI_BLOCK_PAD;
}

/* Room for what a block of that size can become. */
static bool reserve_block(fnabi_columns* columns, size_t size, size_t rows) {
  for (int32_t i = 0; i < FNABI_COLUMN_COUNT; i++) {
    const layout* l = layout_of(columns, i);
    size_t more = l == NULL ? 0 : block_elements(columns, i, size, rows);
    if (more == 0) continue;
    fnabi_vector* v = &columns->vectors[i];
    if (v->size / l->width + more > INT32_MAX ||
        !fnabi_vector_reserve(v, more * l->width))
      return false;
  }
  return true;
}

static void open_sides(fnabi_columns* columns, fnabi_side_columns sides[2]) {
  for (int i = 0; i < 2; i++) {
    fnabi_vector* c = columns->vectors + i * FNABI_COLUMN_SIDE;
#define FIELD(column) (void*)c[FNABI_COLUMN_##column].data
    sides[i] = (fnabi_side_columns){
        .kinds = FIELD(KIND),
        .dtypes = FIELD(DTYPE),
        .shape_offsets = FIELD(SHAPE_OFFSETS),
        .dims = FIELD(DIMS),
        .depths = FIELD(DEPTH),
        .name_offsets = FIELD(NAME_OFFSETS),
        .names = FIELD(NAMES),
        .indexes = FIELD(INDEX),
        .positions = FIELD(POSITION),
        .nodes = c[FNABI_COLUMN_KIND].size,
        .dim_count = c[FNABI_COLUMN_DIMS].size / sizeof(int64_t),
        .name_size = c[FNABI_COLUMN_NAMES].size,
    };
#undef FIELD
  }
}

static void close_sides(fnabi_columns* columns,
                        const fnabi_side_columns sides[2]) {
  for (int i = 0; i < 2; i++) {
    fnabi_vector* c = columns->vectors + i * FNABI_COLUMN_SIDE;
    size_t nodes = sides[i].nodes;
    for (int32_t k = FNABI_COLUMN_KIND; k <= FNABI_COLUMN_POSITION; k++) {
      const layout* l = layout_of(columns, k);
      if (l == NULL) continue;
      size_t count = k == FNABI_COLUMN_DIMS    ? sides[i].dim_count
                     : k == FNABI_COLUMN_NAMES ? sides[i].name_size
                                               : nodes + l->offsets;
      c[k].size = count * l->width;
    }
  }
}

static void put_int32(fnabi_vector* v, int32_t number) {
  memcpy(v->data + v->size, &number, sizeof number);
  v->size += sizeof number;
}

/* How much of a side there is. */
typedef struct side_sizes {
  size_t nodes, dim_count, name_size;
} side_sizes;

static inline side_sizes sizes_of(const fnabi_side_columns* s) {
  return (side_sizes){s->nodes, s->dim_count, s->name_size};
}

/* Rows of a block by the decoder of a kernel: all, or none. */
static bool add_whole(fnabi_columns* columns, fnabi_block* b,
                      fnabi_block_decode* decode) {
  fnabi_vector* v = columns->vectors;
  fnabi_side_columns sides[2];
  int32_t* ends[2];
  for (int i = 0; i < 2; i++) {
    fnabi_vector* offsets = &v[FNABI_COLUMN_OFFSETS + i * FNABI_COLUMN_SIDE];
    ends[i] = (int32_t*)(void*)(offsets->data + offsets->size);
  }
  open_sides(columns, sides);
  if (!decode(b, sides, ends)) return false;
  close_sides(columns, sides);
  for (int i = 0; i < 2; i++)
    v[FNABI_COLUMN_OFFSETS + i * FNABI_COLUMN_SIDE].size +=
        b->rows * sizeof(int32_t);
  fnabi_vector* status = &v[FNABI_COLUMN_STATUS];
  memset(status->data + status->size, FNABI_OK, b->rows);
  status->size += b->rows;
  columns->rows += b->rows;
  return true;
}

/* Rows one after the other: well-formed ones come from the scalar decoder, and
 * others from the reference, which says what is wrong with them. */
static bool add_each(fnabi_columns* columns, const fnabi_block* b) {
  bool raw = columns->abi == FNABI_ABI_RAW;
  fnabi_vector* v = columns->vectors;
  fnabi_side_columns sides[2];
  open_sides(columns, sides);
  for (size_t i = 0; i < b->rows; i++) {
    const uint8_t* text = b->bytes + FNABI_BLOCK_PAD + b->begins[i];
    size_t size = (size_t)(b->ends[i] - b->begins[i]);
    const side_sizes before[2] = {sizes_of(&sides[0]), sizes_of(&sides[1])};
    if (raw ? fnabi_raw_row(text, size, sides)
            : fnabi_sip_row(text, size, sides)) {
      v[FNABI_COLUMN_STATUS].data[v[FNABI_COLUMN_STATUS].size++] = FNABI_OK;
      put_int32(&v[FNABI_COLUMN_OFFSETS], (int32_t)sides[0].nodes);
      put_int32(&v[FNABI_COLUMN_OFFSETS + FNABI_COLUMN_SIDE],
                (int32_t)sides[1].nodes);
      columns->rows++;
      continue;
    }
    for (int k = 0; k < 2; k++) { /* offsets that what failed has overwritten */
      size_t nodes = sides[k].nodes = before[k].nodes;
      sides[k].dim_count = before[k].dim_count;
      sides[k].name_size = before[k].name_size;
      if (raw)
        sides[k].shape_offsets[nodes] = (int32_t)before[k].dim_count;
      else
        sides[k].name_offsets[nodes] = (int32_t)before[k].name_size;
    }
    close_sides(columns, sides);
    /* of the block, for the text itself may have changed */
    if (!add_row(columns, (fnabi_text){(const char*)text, size}) ||
        !reserve_block(columns, b->size, b->rows - i))
      return false;
    open_sides(columns, sides);
  }
  close_sides(columns, sides);
  return true;
}

/* Fills a block with the first of some texts that are there and fit into it;
 * b->rows says how many. Those that stand `together` are copied at once, with
 * what is between them. */
static void fill_block(fnabi_block* b, const fnabi_text* texts, size_t count,
                       bool together) {
  uint8_t* to = b->bytes + FNABI_BLOCK_PAD;
  const char* base = texts[0].data;
  size_t rows = 0, used = 0;
  for (; rows < count && rows < FNABI_BLOCK_ROWS; rows++) {
    const fnabi_text* text = &texts[rows];
    size_t begin = used;
    if (text->data == NULL) break;
    if (rows > 0 && (!together || text->data != base + used)) begin++;
    if (begin + text->size > FNABI_BLOCK_SIZE ||
        text->size > FNABI_BLOCK_SIZE ||
        (together && text->data != base + begin))
      break;
    if (!together && text->size != 0)
      memcpy(to + begin, text->data, text->size);
    b->begins[rows] = (uint16_t)begin;
    used = begin + text->size;
    b->ends[rows] = (uint16_t)used;
  }
  if (together && used != 0) memcpy(to, base, used);
  memset(to + used, 0, FNABI_BLOCK_PAD);
  for (size_t i = 0; i < rows; i++)
    if (i + 1 == rows || b->begins[i + 1] != b->ends[i])
      to[b->ends[i]] = FNABI_BLOCK_BETWEEN;
  b->rows = rows;
  b->size = used;
}

static bool add_fast(fnabi_columns* columns, const fnabi_text* texts,
                     size_t count, bool together) {
  const fnabi_kernel* kernel = fnabi_kernel_of(columns->decoder);
  fnabi_block_decode* decode = kernel == NULL                  ? NULL
                               : columns->abi == FNABI_ABI_RAW ? kernel->raw
                                                               : kernel->sip;
  fnabi_block b;
  memset(b.bytes, 0, FNABI_BLOCK_PAD);
  for (size_t i = 0; i < count; i += b.rows) {
    fill_block(&b, texts + i, count - i, together);
    if (b.rows == 0) { /* a long text, or none */
      if (!add_row(columns, texts[i++])) return false;
      continue;
    }
    if (!reserve_block(columns, b.size, b.rows)) return false;
    if ((decode == NULL || !add_whole(columns, &b, decode)) &&
        !add_each(columns, &b))
      return false;
  }
  return true;
}

bool fnabi_columns_add(fnabi_columns* columns, const fnabi_text* texts,
                       size_t count, bool together) {
  bool twin = !fnabi_columns_keeps(columns) &&
              columns->decoder != FNABI_DECODER_REFERENCE;
  if (twin) return add_fast(columns, texts, count, together);
  for (size_t i = 0; i < count; i++)
    if (!add_row(columns, texts[i])) return false;
  return true;
}

/* -------------------------------------------------------------------- inputs
 */

enum { BATCH = 1024, SAMPLE = 64 };

/* Texts on their way into rows. */
typedef struct batch {
  fnabi_columns* columns;
  fnabi_error* error;
  size_t before;      /* rows that there were */
  size_t total, used; /* bytes of all texts, and of those that are rows */
  size_t sizes[FNABI_COLUMN_COUNT]; /* of the columns as they were */
  int flushes;                      /* up to 2 are counted */
  bool together;                    /* the texts stand in one buffer */
  size_t count, limit;
  fnabi_text texts[BATCH];
} batch;

static void open_batch(batch* b, fnabi_columns* columns, size_t total,
                       fnabi_error* error) {
  b->columns = columns;
  b->error = error;
  b->before = columns->rows;
  b->total = total;
  b->used = b->count = 0;
  b->flushes = 0;
  b->together = true;
  b->limit = SAMPLE;
  for (int i = 0; i < FNABI_COLUMN_COUNT; i++)
    b->sizes[i] = columns->vectors[i].size;
}

/* Room for all texts, if they are as the first ones were: growing step by step
 * would touch twice the memory. What is not needed is never touched. A few
 * texts tell no more than what the next ones may need. */
static void foresee(batch* b) {
  size_t rest = b->total > b->used ? b->total - b->used : 0;
  if (b->used == 0 || b->flushes >= 2) return;
  if (b->flushes++ == 0 && rest / 32 > b->used) rest = 32 * b->used;
  double factor = 1.03 * (double)rest / (double)b->used;
  size_t block = rest < FNABI_BLOCK_SIZE ? rest : FNABI_BLOCK_SIZE;
  for (int32_t i = 0; i < FNABI_COLUMN_COUNT; i++) {
    const layout* l = layout_of(b->columns, i);
    if (l == NULL) continue;
    fnabi_vector* v = &b->columns->vectors[i];
    size_t more = (size_t)((double)(v->size - b->sizes[i]) * factor);
    if (!fnabi_columns_keeps(b->columns)) /* the last block needs room too */
      more += l->width * block_elements(b->columns, i, block, 0);
    fnabi_vector_reserve(v, more);
  }
}

static bool flush(batch* b) {
  size_t count = b->count;
  b->count = 0;
  for (size_t i = 0; i < count; i++) b->used += b->texts[i].size;
  if (fnabi_columns_add(b->columns, b->texts, count, b->together)) {
    foresee(b);
    b->limit = BATCH;
    return true;
  }
  fnabi_fail(b->error, FNABI_MEMORY, b->columns->rows - b->before, NULL);
  return false;
}

static bool put_text(batch* b, const char* data, size_t size) {
  b->texts[b->count++] = (fnabi_text){data, size};
  return b->count < b->limit || flush(b);
}

/* Ends what holds the texts, which may be malformed from here on. */
static int64_t close_batch(batch* b, const char* expected) {
  if (!flush(b)) return -1;
  size_t rows = b->columns->rows - b->before;
  if (expected == NULL) return (int64_t)rows;
  return fnabi_fail(b->error, FNABI_MESSAGE, rows, expected);
}

static int64_t offset_at(const void* offsets, int32_t width, size_t i) {
  if (width == 4) {
    int32_t narrow;
    memcpy(&narrow, (const char*)offsets + i * sizeof narrow, sizeof narrow);
    return narrow;
  }
  int64_t offset;
  memcpy(&offset, (const char*)offsets + i * sizeof offset, sizeof offset);
  return offset;
}

int64_t fnabi_columns_decode(fnabi_columns* columns, const char* data,
                             size_t size, const void* offsets, int32_t width,
                             const uint8_t* validity, size_t first,
                             size_t count, fnabi_error* error) {
  static const char nothing[1];
  batch b;
  bool known = count > 0 && (width == 4 || width == 8);
  uint64_t total = known ? (uint64_t)offset_at(offsets, width, first + count) -
                               (uint64_t)offset_at(offsets, width, first)
                         : 0;
  open_batch(&b, columns, total <= size ? (size_t)total : 0, error);
  if (data == NULL) data = nothing;
  if (width != 4 && width != 8)
    return close_batch(&b, "offsets of 4 or 8 bytes");
  for (size_t i = first; i < first + count; i++) {
    int64_t begin = offset_at(offsets, width, i);
    int64_t end = offset_at(offsets, width, i + 1);
    if (begin < 0 || end < begin || (uint64_t)end > size)
      return close_batch(&b, "offsets that ascend inside the data");
    bool valid = validity == NULL || (validity[i / 8] >> i % 8 & 1) != 0;
    if (!put_text(&b, valid ? data + begin : NULL,
                  valid ? (size_t)(end - begin) : 0))
      return -1;
  }
  return close_batch(&b, NULL);
}

int64_t fnabi_columns_decode_texts(fnabi_columns* columns,
                                   const fnabi_text* texts, size_t count,
                                   fnabi_error* error) {
  size_t total = 0;
  for (size_t i = 0; i < count; i++) total += texts[i].size;
  batch b;
  open_batch(&b, columns, total, error);
  b.together = false;
  for (size_t i = 0; i < count; i++)
    if (!put_text(&b, texts[i].data, texts[i].size)) return -1;
  return close_batch(&b, NULL);
}

int64_t fnabi_columns_decode_list(fnabi_columns* columns,
                                  const uint8_t* message, size_t size,
                                  fnabi_error* error) {
  fnabi_reader r = {message, size, 0};
  batch b;
  open_batch(&b, columns, size, error);
  size_t count;
  if (!fnabi_unpack_array(&r, &count)) return close_batch(&b, "an array");
  for (; count > 0; count--) {
    const char* text = NULL;
    size_t text_size = 0;
    if (!fnabi_unpack_nil(&r) && !fnabi_unpack_text(&r, &text, &text_size))
      return close_batch(&b, "bytes, str or None");
    if (!put_text(&b, text, text_size)) return -1;
  }
  return close_batch(&b, r.at == size ? NULL : "one array");
}

int64_t fnabi_columns_decode_lines(fnabi_columns* columns, const char* data,
                                   size_t size, bool whole, size_t* used,
                                   fnabi_error* error) {
  batch b;
  open_batch(&b, columns, size, error);
  size_t at = 0;
  *used = 0;
  while (at < size) {
    const char* end = memchr(data + at, '\n', size - at);
    if (end == NULL && !whole) break;
    size_t length = end == NULL ? size - at : (size_t)(end - data) - at;
    if (!put_text(&b, data + at, length)) return -1;
    at += length + (end != NULL);
  }
  *used = at;
  return close_batch(&b, NULL);
}

/* --------------------------------------------------------------------- joins
 */

/* Numbers of a column behind those that are there, each raised by `by`. */
static bool append_raised(fnabi_vector* v, const fnabi_vector* more,
                          size_t width, size_t first, int64_t by) {
  size_t count = more->size / width - first, size = count * width;
  if (count == 0) return true;
  if (!fnabi_vector_reserve(v, size)) return false;
  void* out = v->data + v->size;
  const void* from = more->data + first * width;
  if (width == sizeof(int64_t)) {
    for (size_t i = 0; i < count; i++)
      ((int64_t*)out)[i] = ((const int64_t*)from)[i] + by;
  } else {
    if (((const int32_t*)from)[count - 1] > INT32_MAX - by) return false;
    for (size_t i = 0; i < count; i++)
      ((int32_t*)out)[i] = ((const int32_t*)from)[i] + (int32_t)by;
  }
  v->size += size;
  return true;
}

/* Indexes of dtypes, which have others here. */
static bool append_dtypes(const fnabi_columns* columns, fnabi_vector* v,
                          const fnabi_columns* more, const fnabi_vector* from) {
  size_t count = fnabi_dtype_count(more);
  int32_t* here = malloc((count + 1) * sizeof *here);
  if (here == NULL || !fnabi_vector_reserve(v, from->size)) {
    free(here);
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    fnabi_dtype dtype = fnabi_dtype_at(more, i);
    here[i] = *slot_of(columns, &dtype);
  }
  for (size_t i = 0; i < from->size / sizeof(int32_t); i++) {
    int32_t index = fnabi_vector_int32(from, i);
    put_int32(v, index < 0 ? index : here[index]);
  }
  free(here);
  return true;
}

static bool append_column(fnabi_columns* columns, const fnabi_columns* more,
                          int32_t column, size_t rows) {
  const layout* l = layout_of(columns, column);
  fnabi_vector* v = &columns->vectors[column];
  const fnabi_vector* from = &more->vectors[column];
  size_t last = v->size / l->width - 1;
  if (l->offsets)
    return append_raised(v, from, l->width, 1,
                         l->width == 4 ? fnabi_vector_int32(v, last)
                                       : fnabi_vector_int64(v, last));
  if (column == FNABI_COLUMN_KEPT)
    return append_raised(v, from, l->width, 0, (int64_t)rows);
  if (l->width == sizeof(int32_t) &&
      (column == FNABI_COLUMN_DTYPE ||
       column == FNABI_COLUMN_DTYPE + FNABI_COLUMN_SIDE))
    return append_dtypes(columns, v, more, from);
  return fnabi_vector_append(v, from->data, from->size);
}

fnabi_columns* fnabi_columns_join_new(fnabi_columns* const* parts,
                                      size_t count) {
  fnabi_columns* columns =
      fnabi_columns_new(parts[0]->abi, (int32_t)parts[0]->decoder);
  bool good = columns != NULL;
  for (size_t k = 0; k < count && good; k++) {
    good = parts[k]->abi == columns->abi;
    columns->rows += parts[k]->rows;
    for (size_t i = 0; i < fnabi_dtype_count(parts[k]) && good; i++) {
      fnabi_dtype dtype = fnabi_dtype_at(parts[k], i);
      good = intern(columns, &dtype) >= 0;
    }
  }
  if (good) return columns;
  fnabi_columns_free(columns);
  return NULL;
}

int64_t fnabi_columns_join_column(fnabi_columns* columns,
                                  fnabi_columns* const* parts, size_t count,
                                  int32_t column) {
  if (layout_of(columns, column) == NULL) return 0;
  size_t size = 0, rows = 0;
  for (size_t k = 0; k < count; k++) size += parts[k]->vectors[column].size;
  if (!fnabi_vector_reserve(&columns->vectors[column], size)) return -1;
  for (size_t k = 0; k < count; rows += parts[k++]->rows)
    if (!append_column(columns, parts[k], column, rows)) return -1;
  return 0;
}

fnabi_columns* fnabi_columns_join(fnabi_columns* const* parts, size_t count) {
  fnabi_columns* columns = fnabi_columns_join_new(parts, count);
  bool good = columns != NULL;
  for (int32_t i = 0; i < FNABI_COLUMN_COUNT && good; i++)
    good = fnabi_columns_join_column(columns, parts, count, i) == 0;
  if (good) return columns;
  fnabi_columns_free(columns);
  return NULL;
}
