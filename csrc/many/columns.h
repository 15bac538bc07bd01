/* columns.h - the container of columns: its vectors, and how each is laid out.
 * Private. */
#ifndef FNABI_COLUMNS_H
#define FNABI_COLUMNS_H

#include "base/message.h"
#include "base/platform.h"
#include "base/text.h"
#include "base/vector.h"
#include "many/dtypes.h"

struct fnabi_columns {
  size_t owners; /* atomic */
  int32_t abi;
  fnabi_decoder decoder;
  size_t rows;
  fnabi_vector vectors[FNABI_COLUMN_COUNT];
  fnabi_dtype_table dtypes;
  fnabi_vector scratch; /* the message of one row */
};

/* How the elements of a column are stored. */
typedef struct fnabi_column_layout {
  uint8_t width; /* of an element, in bytes */
  bool offsets;  /* begins with a 0, so has one element more than its items */
  uint8_t abis;  /* the ABIs that have the column: bit i is for fnabi_abi i */
} fnabi_column_layout;

/* By column of the inputs; the columns of the results have the same layouts. */
extern const fnabi_column_layout
    fnabi_column_layouts[FNABI_COLUMN_OFFSETS + FNABI_COLUMN_SIDE];
extern const fnabi_column_layout fnabi_column_raw_dtype;

/* The layout of a column; NULL where the ABI has no such column. */
static inline const fnabi_column_layout* fnabi_column_layout_of(
    const fnabi_columns* columns, int32_t column) {
  if (column < 0 || column >= FNABI_COLUMN_COUNT) return NULL;
  if (column >= FNABI_COLUMN_OFFSETS + FNABI_COLUMN_SIDE)
    column -= FNABI_COLUMN_SIDE;
  const fnabi_column_layout* found = &fnabi_column_layouts[column];
  if (column == FNABI_COLUMN_DTYPE && columns->abi == FNABI_ABI_RAW)
    found = &fnabi_column_raw_dtype;
  return (found->abis >> columns->abi & 1) != 0 ? found : NULL;
}

/* Whether the text of every row is kept, and not only of those with errors. */
static inline bool fnabi_columns_keeps(const fnabi_columns* columns) {
  return columns->abi != FNABI_ABI_RAW && columns->abi != FNABI_ABI_SIP;
}

/* Adds an owner, who frees the columns once. */
static inline void fnabi_columns_share(fnabi_columns* columns) {
  fnabi_atomic_add(&columns->owners, 1, RELAXED);
}

/* Finds the index of a row among the rows whose text is kept. If the row is not
 * one of them, returns false and gives the index of the next one. */
bool fnabi_columns_find_kept(const fnabi_columns* columns, size_t row,
                             size_t* index);

/* The sizes of all columns, to return to when a row cannot be completed. */
typedef struct fnabi_columns_mark {
  size_t rows, sizes[FNABI_COLUMN_COUNT];
} fnabi_columns_mark;

fnabi_columns_mark fnabi_columns_mark_of(const fnabi_columns* columns);
void fnabi_columns_go_back(fnabi_columns* columns,
                           const fnabi_columns_mark* mark);

/* Appends an int32 to a vector that has the capacity for it. */
static inline void fnabi_vector_put_int32(fnabi_vector* v, int32_t number) {
  memcpy(v->data + v->size, &number, sizeof number);
  v->size += sizeof number;
}

#endif /* FNABI_COLUMNS_H */
