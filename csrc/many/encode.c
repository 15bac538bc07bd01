/* The texts of rows. Those of raw and SIP signatures are written from their end
 * to their beginning, so that the length of a span is known by the time its
 * head is written; the texts of other ABIs by way of the row's message. Every
 * row can be written again, in no more bytes than its text had. */
#include <stdlib.h>

#include "base/decimal.h"
#include "base/poll.h"
#include "many/columns.h"

/* -------------------------------------------------------------- raw and SIP */

static inline uint8_t* put_tagged(uint8_t* at, char tag, int64_t number) {
  at = fnabi_decimal_signed(at, number);
  *--at = (uint8_t)tag;
  return at;
}

/* Writes the head of a span whose contents are [at, end). */
static inline uint8_t* put_head(uint8_t* at, const uint8_t* end, char tag) {
  size_t length = (size_t)(end - at) + 1;
  *--at = '!';
  at = fnabi_decimal(at, length);
  *--at = (uint8_t)tag;
  return at;
}

/* The most bytes of a head ("B2147483647!"), of a number with its tag and of a
 * dtype ("t11"); and how many bytes before a number are overwritten. */
enum { HEAD = 12, NUMBER = 11, TYPE = 3, SLACK = FNABI_DECIMAL_CAPACITY };

#define COLUMN(type, name) \
  const type* name = (const type*)(const void*)c[FNABI_COLUMN_##name].data

static uint8_t* put_raw_side(const fnabi_vector* c, size_t row, uint8_t* at) {
  static const char tags[] = {
      [FNABI_TYPE_BUFFER] = 'B',
      [FNABI_TYPE_SCALAR] = 'S',
      [FNABI_TYPE_REF] = 'O',
      [FNABI_TYPE_UNKNOWN] = 'U',
  };
  /* by the dtype plus 1: a table, for a branch would be mispredicted */
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
  size_t next = 0; /* the depth of the node after this one */
  for (int32_t i = OFFSETS[row + 1] - 1; i >= OFFSETS[row]; i--) {
    size_t depth = DEPTH[i];
    for (; next <= depth; next++) ends[next] = at;
    if (KIND[i] == FNABI_SIP_LEAF)
      at = put_tagged(at, '_', INDEX[i]);
    else
      at = put_head(at, ends[depth], KIND[i] == FNABI_SIP_DICT ? 'D' : 'S');
    next = depth;
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

/* The most bytes that the texts of rows [row, end) take. */
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

/* --------------------------------------------------------------------- rows */

size_t fnabi_columns_encode_room(const fnabi_columns* columns, size_t first,
                                 size_t count) {
  if (fnabi_columns_keeps(columns)) {
    const fnabi_vector* offsets = &columns->vectors[FNABI_COLUMN_TEXT_OFFSETS];
    size_t begin, end;
    fnabi_columns_find_kept(columns, first, &begin);
    fnabi_columns_find_kept(columns, first + count, &end);
    return (size_t)(fnabi_vector_int64(offsets, end) -
                    fnabi_vector_int64(offsets, begin));
  }
  uint64_t bytes = most_bytes(columns, first, first + count);
  return bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

/* Writes the message of a row into a vector. */
static int64_t read_row(const fnabi_columns* columns, size_t row,
                        fnabi_vector* message, fnabi_error* error) {
  for (;;) {
    int64_t size = fnabi_columns_row(columns, row, message->data,
                                     message->capacity, error);
    if (size < 0) return size;
    message->size = 0;
    if ((size_t)size <= message->capacity) {
      message->size = (size_t)size;
      return size;
    }
    if (!fnabi_vector_reserve(message, (size_t)size))
      return fnabi_fail(error, FNABI_MEMORY, 0, NULL);
  }
}

static int64_t encode_message(const fnabi_columns* columns, size_t row,
                              fnabi_vector* message, uint8_t* out,
                              size_t capacity, fnabi_error* error) {
  if (read_row(columns, row, message, error) < 0) return -1;
  switch ((fnabi_abi)columns->abi) {
    case FNABI_ABI_CCONV:
      return fnabi_cconv_encode(message->data, message->size, out, capacity,
                                error);
    case FNABI_ABI_IREE_ABI:
      return fnabi_iree_abi_encode(message->data, message->size, out, capacity,
                                   error);
    case FNABI_ABI_RAW: /* encoded from their nodes */
    case FNABI_ABI_SIP:
    case FNABI_ABI_DECLARATION:
    case FNABI_ABI_COUNT:
      break;
  }
  return fnabi_fail(error, FNABI_UNSUPPORTED, 0, "an ABI with an encoder");
}

static int64_t encode_row(const fnabi_columns* columns, size_t row,
                          fnabi_vector* scratch, uint8_t* out, size_t capacity,
                          fnabi_error* error) {
  if (fnabi_columns_keeps(columns))
    return encode_message(columns, row, scratch, out, capacity, error);
  uint64_t room = most_bytes(columns, row, row + 1) + SLACK;
  if (room > SIZE_MAX || !fnabi_vector_reserve(scratch, (size_t)room))
    return fnabi_fail(error, FNABI_MEMORY, 0, NULL);
  const uint8_t* end = scratch->data + scratch->capacity;
  uint8_t* at = scratch->data + scratch->capacity;
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
    good = !fnabi_stop(16, i, error);
    if (good &&
        columns->vectors[FNABI_COLUMN_STATUS].data[first + i] == FNABI_OK) {
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
