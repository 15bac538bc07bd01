/* Texts on their way into rows, a batch at a time, from whatever holds them. */
#include "base/error.h"
#include "base/poll.h"
#include "many/kernels/sides.h"
#include "many/rows.h"

enum { BATCH = 1024, SAMPLE = 64 };

/* Texts that are not rows yet. */
typedef struct batch {
  fnabi_columns* columns;
  fnabi_error* error;
  size_t before;      /* the number of rows at the start */
  size_t total, used; /* bytes of all texts; of those that are rows */
  size_t sizes[FNABI_COLUMN_COUNT]; /* of the columns at the start */
  int estimates;                    /* how many have been made */
  bool contiguous;                  /* the texts are in one buffer */
  const char* rest; /* the first text that became no row; or NULL */
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
  b->estimates = 0;
  b->contiguous = true;
  b->rest = NULL;
  b->limit = SAMPLE;
  for (int i = 0; i < FNABI_COLUMN_COUNT; i++)
    b->sizes[i] = columns->vectors[i].size;
}

/* Estimates the size of the columns from the first texts, and reserves it:
 * growing step by step would touch twice the memory, while memory that turns
 * out not to be needed is never touched. The first estimate, from a few texts,
 * is limited to 32 times as many bytes. A failure to reserve is ignored. */
static void reserve_estimate(batch* b) {
  size_t rest = b->total > b->used ? b->total - b->used : 0;
  if (b->used == 0 || b->estimates >= 2) return;
  if (b->estimates++ == 0 && rest / 32 > b->used) rest = 32 * b->used;
  double factor = 1.03 * (double)rest / (double)b->used;
  size_t block = rest < FNABI_BLOCK_SIZE ? rest : FNABI_BLOCK_SIZE;
  for (int32_t i = 0; i < FNABI_COLUMN_COUNT; i++) {
    const fnabi_column_layout* l = fnabi_column_layout_of(b->columns, i);
    if (l == NULL) continue;
    fnabi_vector* v = &b->columns->vectors[i];
    size_t more = (size_t)((double)(v->size - b->sizes[i]) * factor);
    if (!fnabi_columns_keeps(b->columns)) /* and what the last block needs */
      more += l->width * fnabi_columns_block_elements(b->columns, i, block, 0);
    fnabi_vector_reserve(v, more);
  }
}

static bool flush(batch* b) {
  size_t count = b->count, first = b->columns->rows;
  int32_t code = fnabi_poll(4 * count) ? FNABI_INTERRUPTED : FNABI_MEMORY;
  b->count = 0;
  for (size_t i = 0; i < count; i++) b->used += b->texts[i].size;
  if (code != FNABI_INTERRUPTED &&
      fnabi_columns_add(b->columns, b->texts, count, b->contiguous)) {
    reserve_estimate(b);
    b->limit = BATCH;
    return true;
  }
  if (fnabi_poll(0)) code = FNABI_INTERRUPTED; /* within a text */
  size_t added = b->columns->rows - first;
  if (added < count) b->rest = b->texts[added].data;
  fnabi_fail(b->error, code, b->columns->rows - b->before, NULL);
  return false;
}

static bool put_text(batch* b, const char* data, size_t size) {
  b->texts[b->count++] = (fnabi_text){data, size};
  return b->count < b->limit || flush(b);
}

/* Adds the rows of the last texts, and returns the number of all; FNABI_OK, or
 * the code of what is wrong with the input from here on. */
static int64_t close_batch_with(batch* b, int32_t code, const char* expected) {
  if (!flush(b)) return -1;
  size_t rows = b->columns->rows - b->before;
  if (code == FNABI_OK) return (int64_t)rows;
  return fnabi_fail(b->error, code, rows, expected);
}

/* The same, where the input is malformed if `expected` names what it should be.
 */
static int64_t close_batch(batch* b, const char* expected) {
  return close_batch_with(b, expected == NULL ? FNABI_OK : FNABI_MESSAGE,
                          expected);
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
  b.contiguous = false;
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
                                   size_t size, bool whole, size_t most,
                                   size_t* used, fnabi_error* error) {
  batch b;
  open_batch(&b, columns, size, error);
  size_t at = 0;
  int32_t code = FNABI_OK;
  bool good = true;
  while (good && at < size) {
    const char* end = memchr(data + at, '\n', size - at);
    if (end == NULL && !whole) break;
    size_t length = end == NULL ? size - at : (size_t)(end - data) - at;
    bool has_return = end != NULL && length > 0 && end[-1] == '\r';
    if (length - has_return > most) {
      code = FNABI_LINE;
      break;
    }
    good = put_text(&b, data + at, length - has_return);
    at += length + (end != NULL);
  }
  int64_t rows = good ? close_batch_with(&b, code, NULL) : -1;
  *used = b.rest != NULL ? (size_t)(b.rest - data) : at;
  return rows;
}
