/* From columns to messages and texts. */
#include <stdlib.h>

#include "base/decimal.h"
#include "base/error.h"
#include "columns/columns.h"

/* ------------------------------------------------------------------- reading
 */

/* The place of a row among those whose text is kept, or of the next that is;
 * false when it is not. */
static bool find_kept(const fnabi_columns* columns, size_t row, size_t* place) {
  const fnabi_vector* kept = &columns->vectors[FNABI_COLUMN_KEPT];
  size_t low = 0, high = kept->size / sizeof(int64_t);
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if ((size_t)fnabi_vector_int64(kept, middle) < row)
      low = middle + 1;
    else
      high = middle;
  }
  *place = low;
  return low < kept->size / sizeof(int64_t) &&
         (size_t)fnabi_vector_int64(kept, low) == row;
}

static void write_raw_side(const fnabi_columns* columns, const fnabi_vector* c,
                           size_t row, fnabi_writer* w) {
  size_t at = (size_t)fnabi_vector_int32(&c[FNABI_COLUMN_OFFSETS], row);
  size_t end = (size_t)fnabi_vector_int32(&c[FNABI_COLUMN_OFFSETS], row + 1);
  fnabi_pack_close(w, fnabi_pack_open(w), end - at);
  for (; at < end; at++) {
    int8_t kind = (int8_t)c[FNABI_COLUMN_KIND].data[at];
    bool buffer = kind == FNABI_TYPE_BUFFER;
    fnabi_pack_array(w, buffer ? 3 : kind == FNABI_TYPE_UNKNOWN ? 1 : 2);
    fnabi_pack_int(w, kind);
    if (kind == FNABI_TYPE_REF) fnabi_pack_nil(w);
    int8_t index = (int8_t)c[FNABI_COLUMN_DTYPE].data[at];
    if (index >= 0) {
      fnabi_dtype dtype = fnabi_dtype_at(columns, (size_t)index);
      fnabi_pack_dtype(w, &dtype);
    }
    if (!buffer) continue;
    size_t dim = (size_t)fnabi_vector_int32(&c[FNABI_COLUMN_SHAPE_OFFSETS], at);
    size_t dims =
        (size_t)fnabi_vector_int32(&c[FNABI_COLUMN_SHAPE_OFFSETS], at + 1);
    fnabi_pack_close(w, fnabi_pack_open(w), dims - dim);
    for (; dim < dims; dim++) {
      int64_t number = fnabi_vector_int64(&c[FNABI_COLUMN_DIMS], dim);
      if (number < 0)
        fnabi_pack_nil(w);
      else
        fnabi_pack_int(w, number);
    }
  }
}

static void write_sip_side(const fnabi_vector* c, size_t row, fnabi_writer* w) {
  size_t at = (size_t)fnabi_vector_int32(&c[FNABI_COLUMN_OFFSETS], row);
  size_t end = (size_t)fnabi_vector_int32(&c[FNABI_COLUMN_OFFSETS], row + 1);
  /* the open structures */
  size_t places[FNABI_DEPTH_MAX + 1], counts[FNABI_DEPTH_MAX + 1], open = 0;
  if (at == end) fnabi_pack_nil(w);
  for (; at < end; at++) {
    size_t depth = c[FNABI_COLUMN_DEPTH].data[at];
    while (open > depth) {
      open--;
      fnabi_pack_close(w, places[open], counts[open]);
    }
    if (depth > 0) {
      fnabi_pack_array(w, 2);
      counts[depth - 1]++;
      int32_t position = fnabi_vector_int32(&c[FNABI_COLUMN_POSITION], at);
      size_t name =
          (size_t)fnabi_vector_int32(&c[FNABI_COLUMN_NAME_OFFSETS], at);
      size_t stop =
          (size_t)fnabi_vector_int32(&c[FNABI_COLUMN_NAME_OFFSETS], at + 1);
      if (position >= 0)
        fnabi_pack_int(w, position);
      else
        fnabi_pack_text(w, (const char*)c[FNABI_COLUMN_NAMES].data + name,
                        stop - name);
    }
    int8_t kind = (int8_t)c[FNABI_COLUMN_KIND].data[at];
    fnabi_pack_array(w, 2);
    fnabi_pack_int(w, kind);
    if (kind == FNABI_SIP_LEAF) {
      fnabi_pack_int(w, fnabi_vector_int32(&c[FNABI_COLUMN_INDEX], at));
    } else {
      places[open] = fnabi_pack_open(w);
      counts[open++] = 0;
    }
  }
  while (open > 0) {
    open--;
    fnabi_pack_close(w, places[open], counts[open]);
  }
}

int64_t fnabi_columns_row(const fnabi_columns* columns, size_t row,
                          uint8_t* out, size_t capacity, fnabi_error* error) {
  const fnabi_vector* v = columns->vectors;
  size_t kept;
  if (row >= columns->rows ||
      v[FNABI_COLUMN_STATUS].data[row] == FNABI_ROW_NULL)
    return fnabi_fail(error, FNABI_MESSAGE, 0, "a row with a text");
  if (find_kept(columns, row, &kept)) {
    size_t begin =
        (size_t)fnabi_vector_int64(&v[FNABI_COLUMN_TEXT_OFFSETS], kept);
    size_t end =
        (size_t)fnabi_vector_int64(&v[FNABI_COLUMN_TEXT_OFFSETS], kept + 1);
    size_t size = end - begin;
    const char* text =
        size == 0 ? "" : (const char*)v[FNABI_COLUMN_TEXT].data + begin;
    switch (columns->abi) {
      case FNABI_ABI_RAW:
        return fnabi_raw_decode(text, size, out, capacity, error);
      case FNABI_ABI_SIP:
        return fnabi_sip_decode(text, size, out, capacity, error);
      case FNABI_ABI_CCONV:
        return fnabi_cconv_decode(text, size, out, capacity, error);
      case FNABI_ABI_IREE_ABI:
        return fnabi_iree_abi_decode(text, size, out, capacity, error);
      default:
        return fnabi_declaration_decode(text, size, -1, NULL, -1, NULL, out,
                                        capacity, error);
    }
  }
  fnabi_writer w = {out, capacity, 0};
  fnabi_pack_array(&w, 2);
  for (int i = 0; i < 2; i++) {
    const fnabi_vector* c = v + i * FNABI_COLUMN_SIDE;
    if (columns->abi == FNABI_ABI_RAW)
      write_raw_side(columns, c, row, &w);
    else
      write_sip_side(c, row, &w);
  }
  return (int64_t)w.size;
}

/* The message of a row in memory that grows. */
static int64_t read_row(const fnabi_columns* columns, size_t row,
                        fnabi_vector* message, fnabi_error* error) {
  for (;;) {
    int64_t size =
        fnabi_columns_row(columns, row, message->data, message->room, error);
    if (size < 0) return size;
    message->size = 0;
    if ((size_t)size <= message->room) {
      message->size = (size_t)size;
      return size;
    }
    if (!fnabi_vector_reserve(message, (size_t)size))
      return fnabi_fail(error, FNABI_MEMORY, 0, NULL);
  }
}

/* ------------------------------------------------------------------- writing
 *
 * The texts of raw and SIP signatures are written from their end to their
 * beginning, so that the length of a span is known where it is to stand. What a
 * decoder has taken can be written again, and in no more bytes. */

static inline uint8_t* put_tagged(uint8_t* at, char tag, int64_t number) {
  at = fnabi_decimal_signed(at, number);
  *--at = (uint8_t)tag;
  return at;
}

/* The head of a span whose contents are [at, end). */
static inline uint8_t* put_head(uint8_t* at, const uint8_t* end, char tag) {
  size_t length = (size_t)(end - at) + 1;
  *--at = '!';
  at = fnabi_decimal(at, length);
  *--at = (uint8_t)tag;
  return at;
}

/* The most bytes that something takes: a head ("B2147483647!"), a number with
 * its tag, a dtype ("t11"); and what is written before a number. */
enum { HEAD = 12, NUMBER = 11, TYPE = 3, SLACK = FNABI_DECIMAL_ROOM };

#define COLUMN(type, name) \
  const type* name = (const type*)(const void*)c[FNABI_COLUMN_##name].data

static uint8_t* put_raw_side(const fnabi_vector* c, size_t row, uint8_t* at) {
  static const char tags[] = {
      [FNABI_TYPE_BUFFER] = 'B',
      [FNABI_TYPE_SCALAR] = 'S',
      [FNABI_TYPE_REF] = 'O',
      [FNABI_TYPE_UNKNOWN] = 'U',
  };
  /* by the dtype and 1, so that what is to be written needs no branch */
  static const char types[][5] = {
      "",     "",     "  t1", "  t2", "  t3", "  t4", "  t5",
      "  t6", "  t7", "  t8", "  t9", " t10", " t11",
  };
  COLUMN(int32_t, OFFSETS);
  COLUMN(int8_t, KIND);
  COLUMN(int8_t, DTYPE);
  COLUMN(int32_t, SHAPE_OFFSETS);
  COLUMN(int64_t, DIMS);
  int32_t dim = SHAPE_OFFSETS[OFFSETS[row + 1]];
  for (int32_t i = OFFSETS[row + 1] - 1; i >= OFFSETS[row]; i--) {
    const uint8_t* end = at;
    for (int32_t first = SHAPE_OFFSETS[i]; dim > first; dim--)
      at = put_tagged(at, 'd', DIMS[dim - 1]);
    memcpy(at - 4, types[DTYPE[i] + 1], 4);
    at -= 2 * (DTYPE[i] > 0) + (DTYPE[i] > 9);
    at = put_head(at, end, tags[KIND[i]]);
  }
  return at;
}

static uint8_t* put_sip_side(const fnabi_vector* c, size_t row, uint8_t* at) {
  COLUMN(int32_t, OFFSETS);
  COLUMN(int8_t, KIND);
  COLUMN(uint8_t, DEPTH);
  COLUMN(int32_t, NAME_OFFSETS);
  COLUMN(int32_t, INDEX);
  COLUMN(int32_t, POSITION);
  const uint8_t* names = c[FNABI_COLUMN_NAMES].data;
  const uint8_t* ends[FNABI_DEPTH_MAX + 1]; /* of the structure at a depth */
  size_t behind = 0; /* the depth of the node behind, which stands already */
  for (int32_t i = OFFSETS[row + 1] - 1; i >= OFFSETS[row]; i--) {
    size_t depth = DEPTH[i];
    for (; behind <= depth; behind++) ends[behind] = at;
    if (KIND[i] == FNABI_SIP_LEAF)
      at = put_tagged(at, '_', INDEX[i]);
    else
      at = put_head(at, ends[depth], KIND[i] == FNABI_SIP_DICT ? 'D' : 'S');
    behind = depth;
    if (depth == 0) break; /* the root has no key */
    if (POSITION[i] >= 0) {
      at = put_tagged(at, 'k', POSITION[i]);
      continue;
    }
    size_t size = (size_t)(NAME_OFFSETS[i + 1] - NAME_OFFSETS[i]);
    const uint8_t* end = at;
    at -= size;
    if (size != 0) memcpy(at, names + NAME_OFFSETS[i], size);
    at = put_head(at, end, 'K');
  }
  return at;
}

/* What the texts of rows [row, end) take at most. */
static uint64_t most_bytes(const fnabi_columns* columns, size_t row,
                           size_t end) {
  uint64_t bytes = (uint64_t)(end - row) * 2 * HEAD;
  for (int i = 0; i < 2; i++) {
    const fnabi_vector* c = columns->vectors + i * FNABI_COLUMN_SIDE;
    COLUMN(int32_t, OFFSETS);
    COLUMN(int32_t, SHAPE_OFFSETS);
    COLUMN(int32_t, NAME_OFFSETS);
    int32_t first = OFFSETS[row], last = OFFSETS[end];
    uint64_t nodes = (uint64_t)(last - first);
    if (columns->abi == FNABI_ABI_RAW)
      bytes += nodes * (HEAD + TYPE) +
               (uint64_t)(SHAPE_OFFSETS[last] - SHAPE_OFFSETS[first]) * NUMBER;
    else /* a key, and a number or a head */
      bytes += nodes * 2 * HEAD +
               (uint64_t)(NAME_OFFSETS[last] - NAME_OFFSETS[first]);
  }
  return bytes;
}

#undef COLUMN

size_t fnabi_columns_encode_room(const fnabi_columns* columns, size_t first,
                                 size_t count) {
  if (fnabi_columns_keeps(columns)) {
    const fnabi_vector* offsets = &columns->vectors[FNABI_COLUMN_TEXT_OFFSETS];
    size_t begin, end;
    find_kept(columns, first, &begin);
    find_kept(columns, first + count, &end);
    return (size_t)(fnabi_vector_int64(offsets, end) -
                    fnabi_vector_int64(offsets, begin));
  }
  uint64_t bytes = most_bytes(columns, first, first + count);
  return bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

/* By way of the message. */
static int64_t encode_slowly(const fnabi_columns* columns, size_t row,
                             fnabi_vector* message, uint8_t* out,
                             size_t capacity, fnabi_error* error) {
  if (read_row(columns, row, message, error) < 0) return -1;
  switch (columns->abi) {
    case FNABI_ABI_CCONV:
      return fnabi_cconv_encode(message->data, message->size, out, capacity,
                                error);
    case FNABI_ABI_IREE_ABI:
      return fnabi_iree_abi_encode(message->data, message->size, out, capacity,
                                   error);
    default:
      return fnabi_fail(error, FNABI_UNSUPPORTED, 0, "an ABI with an encoder");
  }
}

static int64_t encode_row(const fnabi_columns* columns, size_t row,
                          fnabi_vector* scratch, uint8_t* out, size_t capacity,
                          fnabi_error* error) {
  if (fnabi_columns_keeps(columns))
    return encode_slowly(columns, row, scratch, out, capacity, error);
  uint64_t room = most_bytes(columns, row, row + 1) + SLACK;
  if (room > SIZE_MAX || !fnabi_vector_reserve(scratch, (size_t)room))
    return fnabi_fail(error, FNABI_MEMORY, 0, NULL);
  const uint8_t* end = scratch->data + scratch->room;
  uint8_t* at = scratch->data + scratch->room;
  for (int i = 1; i >= 0; i--) {
    const fnabi_vector* c = columns->vectors + i * FNABI_COLUMN_SIDE;
    const uint8_t* side_end = at;
    at = columns->abi == FNABI_ABI_RAW ? put_raw_side(c, row, at)
                                       : put_sip_side(c, row, at);
    at = put_head(at, side_end, "IR"[i]);
  }
  size_t size = (size_t)(end - at);
  if (size <= capacity) memcpy(out, at, size);
  return (int64_t)size;
}

int64_t fnabi_columns_encode(const fnabi_columns* columns, size_t first,
                             size_t count, int64_t* ends, uint8_t* out,
                             size_t capacity, fnabi_error* error) {
  fnabi_vector scratch = {NULL, 0, 0};
  size_t used = 0;
  bool good = true;
  for (size_t i = 0; i < count && good; i++) {
    if (columns->vectors[FNABI_COLUMN_STATUS].data[first + i] == FNABI_OK) {
      size_t room = used < capacity ? capacity - used : 0;
      int64_t size = encode_row(columns, first + i, &scratch,
                                room > 0 ? out + used : NULL, room, error);
      good = size >= 0;
      if (good)
        used += (size_t)size;
      else
        error->offset = i;
    }
    ends[i] = (int64_t)used;
  }
  free(scratch.data);
  return good ? (int64_t)used : -1;
}

void fnabi_columns_raise(int64_t* ends, size_t count, int64_t by) {
  for (size_t i = 0; i < count; i++) ends[i] += by;
}
