/* Decodes many short texts of raw or SIP signatures at a time. They are copied
 * into a block, because a decoder may read a little outside a text, and a text
 * may change meanwhile. The kernel of the processor decodes the block as a
 * whole, or those before a malformed one. If it cannot, or there is no kernel,
 * the scalar decoder decodes the texts one by one, and csrc/abi those that the
 * scalar decoder rejects. */
#include "many/kernels/block.h"
#include "many/rows.h"

/* ----------------------------------------------------------------- capacity */

/* The most elements of a column that `size` bytes of texts can become. A value
 * of a raw signature takes at least three bytes ("O1!") and a dim two ("d1"), a
 * node of SIP four ("k0_0"); the pad has the capacity for the two roots. */
static size_t most_elements(const fnabi_columns* columns, int32_t column,
                            size_t size) {
  if (column >= FNABI_COLUMN_OFFSETS + FNABI_COLUMN_SIDE)
    column -= FNABI_COLUMN_SIDE;
  if (column == FNABI_COLUMN_NAMES) return size;
  if (column == FNABI_COLUMN_DIMS) return size / 2;
  return columns->abi == FNABI_ABI_RAW ? size / 3 : size / 4;
}

size_t fnabi_columns_block_elements(const fnabi_columns* columns,
                                    int32_t column, size_t size, size_t rows) {
  if (column == FNABI_COLUMN_STATUS) return rows;
  if (column < FNABI_COLUMN_OFFSETS) return 0;
  if ((column - FNABI_COLUMN_OFFSETS) % FNABI_COLUMN_SIDE == 0) return rows;
  return most_elements(columns, column, size) + FNABI_BLOCK_PAD;
}

/* Reserves the capacity for whatever a block of that size can become. */
static bool reserve_block(fnabi_columns* columns, size_t size, size_t rows) {
  for (int32_t i = 0; i < FNABI_COLUMN_COUNT; i++) {
    const fnabi_column_layout* l = fnabi_column_layout_of(columns, i);
    size_t more =
        l == NULL ? 0 : fnabi_columns_block_elements(columns, i, size, rows);
    if (more == 0) continue;
    fnabi_vector* v = &columns->vectors[i];
    if (v->size / l->width + more > INT32_MAX ||
        !fnabi_vector_reserve(v, more * l->width))
      return false;
  }
  return true;
}

/* -------------------------------------------------------------------- sides */

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
      const fnabi_column_layout* l = fnabi_column_layout_of(columns, k);
      if (l == NULL) continue;
      size_t count = k == FNABI_COLUMN_DIMS    ? sides[i].dim_count
                     : k == FNABI_COLUMN_NAMES ? sides[i].name_size
                                               : nodes + l->offsets;
      c[k].size = count * l->width;
    }
  }
}

/* How much of a side is filled. */
typedef struct side_sizes {
  size_t nodes, dim_count, name_size;
} side_sizes;

static inline side_sizes sizes_of(const fnabi_side_columns* s) {
  return (side_sizes){s->nodes, s->dim_count, s->name_size};
}

/* --------------------------------------------------------------------- rows */

/* Adds the rows that the decoder of a kernel leaves in a block: all of them, or
 * none. */
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

/* Adds the rows of a block one by one: those of well-formed texts by the scalar
 * decoder, all others by the reference, which finds what is wrong. */
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
      fnabi_vector_put_int32(&v[FNABI_COLUMN_OFFSETS], (int32_t)sides[0].nodes);
      fnabi_vector_put_int32(&v[FNABI_COLUMN_OFFSETS + FNABI_COLUMN_SIDE],
                             (int32_t)sides[1].nodes);
      columns->rows++;
      continue;
    }
    for (int k = 0; k < 2; k++) { /* restores offsets that were overwritten */
      size_t nodes = sides[k].nodes = before[k].nodes;
      sides[k].dim_count = before[k].dim_count;
      sides[k].name_size = before[k].name_size;
      if (raw)
        sides[k].shape_offsets[nodes] = (int32_t)before[k].dim_count;
      else
        sides[k].name_offsets[nodes] = (int32_t)before[k].name_size;
    }
    close_sides(columns, sides);
    /* the copy in the block, for the text may have changed */
    if (!fnabi_columns_add_row(columns,
                               (fnabi_text){(const char*)text, size}) ||
        !reserve_block(columns, b->size, b->rows - i))
      return false;
    open_sides(columns, sides);
  }
  close_sides(columns, sides);
  return true;
}

/* Fills a block with the first texts that are present and fit into it; b->rows
 * is how many. Contiguous ones are copied at once, with what is between them.
 */
static void fill_block(fnabi_block* b, const fnabi_text* texts, size_t count,
                       bool contiguous) {
  uint8_t* to = b->bytes + FNABI_BLOCK_PAD;
  const char* base = texts[0].data;
  size_t rows = 0, used = 0;
  for (; rows < count && rows < FNABI_BLOCK_ROWS; rows++) {
    const fnabi_text* text = &texts[rows];
    size_t begin = used;
    if (text->data == NULL) break;
    if (rows > 0 && (!contiguous || text->data != base + used)) begin++;
    if (begin + text->size > FNABI_BLOCK_SIZE ||
        text->size > FNABI_BLOCK_SIZE ||
        (contiguous && text->data != base + begin))
      break;
    if (!contiguous && text->size != 0)
      memcpy(to + begin, text->data, text->size);
    b->begins[rows] = (uint16_t)begin;
    used = begin + text->size;
    b->ends[rows] = (uint16_t)used;
  }
  if (contiguous && used != 0) memcpy(to, base, used);
  memset(to + used, 0, FNABI_BLOCK_PAD);
  for (size_t i = 0; i < rows; i++)
    if (i + 1 == rows || b->begins[i + 1] != b->ends[i])
      to[b->ends[i]] = FNABI_BLOCK_BETWEEN;
  b->rows = rows;
  b->size = used;
}

bool fnabi_columns_add_blocks(fnabi_columns* columns, const fnabi_text* texts,
                              size_t count, bool contiguous) {
  const fnabi_kernel* kernel = fnabi_kernel_of(columns->decoder);
  fnabi_block_decode* decode = kernel == NULL                  ? NULL
                               : columns->abi == FNABI_ABI_RAW ? kernel->raw
                                                               : kernel->sip;
  fnabi_block b;
  memset(b.bytes, 0, FNABI_BLOCK_PAD);
  for (size_t i = 0; i < count; i += b.rows) {
    fill_block(&b, texts + i, count - i, contiguous);
    if (b.rows == 0) { /* too long, or a row without a text */
      if (!fnabi_columns_add_row(columns, texts[i++])) return false;
      continue;
    }
    size_t rows = b.rows;
    if (!reserve_block(columns, b.size, rows)) return false;
    if ((decode == NULL || !add_whole(columns, &b, decode)) &&
        !add_each(columns, &b))
      return false;
    if (b.rows < rows && !fnabi_columns_add_row(columns, texts[i++ + b.rows]))
      return false;
  }
  return true;
}

bool fnabi_columns_add(fnabi_columns* columns, const fnabi_text* texts,
                       size_t count, bool contiguous) {
  bool fast = !fnabi_columns_keeps(columns) &&
              columns->decoder != FNABI_DECODER_REFERENCE;
  if (fast) return fnabi_columns_add_blocks(columns, texts, count, contiguous);
  for (size_t i = 0; i < count; i++)
    if (!fnabi_columns_add_row(columns, texts[i])) return false;
  return true;
}
