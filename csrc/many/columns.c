/* The container of columns: its vectors, and how each is laid out. */
#include "many/columns.h"

#include <stdlib.h>

_Static_assert(FNABI_CODE_COUNT <= FNABI_ROW_NULL, "a status is a byte");
_Static_assert(FNABI_DEPTH_MAX < 250, "a depth is a byte");

/* ------------------------------------------------------------------ layouts */

enum {
  RAW = 1 << FNABI_ABI_RAW,
  SIP = 1 << FNABI_ABI_SIP,
  DECLARATION = 1 << FNABI_ABI_DECLARATION,
  ALL = (1 << FNABI_ABI_COUNT) - 1,
  T = ALL & ~SIP,
  N = ALL & ~SIP & ~RAW,
  NS = ALL & ~RAW
};

const fnabi_column_layout
    fnabi_column_layouts[FNABI_COLUMN_OFFSETS + FNABI_COLUMN_SIDE] = {
        [FNABI_COLUMN_STATUS] = {1, false, ALL},
        [FNABI_COLUMN_AMBIGUITY] = {1, false, DECLARATION},
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
const fnabi_column_layout fnabi_column_raw_dtype = {1, false, RAW};

/* ---------------------------------------------------------------- container */

/* Dtypes of the raw ABI have the indexes of its scalar types. */
static bool add_raw_dtypes(fnabi_dtype_table* dtypes) {
  bool good = true;
  for (int32_t i = 0; i < FNABI_SCALAR_TYPE_COUNT; i++) {
    uint8_t message[32];
    fnabi_reader r = {message, sizeof message, 0};
    fnabi_dtype dtype;
    fnabi_error error;
    fnabi_raw_scalar_dtype(i, message, sizeof message);
    good &= fnabi_unpack_dtype(&r, &dtype, &error) &&
            fnabi_dtype_table_add(dtypes, &dtype) == i;
  }
  return good;
}

fnabi_columns* fnabi_columns_new(int32_t abi, int32_t decoder) {
  decoder = fnabi_decoder_find(decoder);
  if (abi < 0 || abi >= FNABI_ABI_COUNT || decoder < 0) return NULL;
  fnabi_columns* columns = calloc(1, sizeof *columns);
  if (columns == NULL) return NULL;
  columns->owners = 1;
  columns->abi = abi;
  columns->decoder = (fnabi_decoder)decoder;
  bool good = true;
  for (int32_t i = 0; i < FNABI_COLUMN_COUNT; i++) {
    const fnabi_column_layout* l = fnabi_column_layout_of(columns, i);
    if (l != NULL && l->offsets)
      good &=
          fnabi_vector_append(&columns->vectors[i], "\0\0\0\0\0\0\0", l->width);
  }
  if (abi != FNABI_ABI_SIP) good &= add_raw_dtypes(&columns->dtypes);
  if (good) return columns;
  fnabi_columns_free(columns);
  return NULL;
}

void fnabi_columns_free(fnabi_columns* columns) {
  if (columns == NULL) return;
  if (fnabi_atomic_subtract(&columns->owners, 1, ACQ_REL) != 1) return;
  for (int i = 0; i < FNABI_COLUMN_COUNT; i++) free(columns->vectors[i].data);
  fnabi_dtype_table_free(&columns->dtypes);
  free(columns->scratch.data);
  free(columns);
}

size_t fnabi_columns_rows(const fnabi_columns* columns) {
  return columns->rows;
}

size_t fnabi_columns_read(const fnabi_columns* columns, int32_t column,
                          const void** data, size_t* size) {
  const fnabi_column_layout* l = fnabi_column_layout_of(columns, column);
  if (l == NULL) return 0;
  *data = columns->vectors[column].data;
  *size = columns->vectors[column].size;
  return l->width;
}

int64_t fnabi_columns_dtypes(const fnabi_columns* columns, uint8_t* out,
                             size_t capacity) {
  return fnabi_dtype_table_message(&columns->dtypes, out, capacity);
}

bool fnabi_columns_find_kept(const fnabi_columns* columns, size_t row,
                             size_t* index) {
  const fnabi_vector* kept = &columns->vectors[FNABI_COLUMN_KEPT];
  size_t low = 0, high = kept->size / sizeof(int64_t);
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if ((size_t)fnabi_vector_int64(kept, middle) < row)
      low = middle + 1;
    else
      high = middle;
  }
  *index = low;
  return low < kept->size / sizeof(int64_t) &&
         (size_t)fnabi_vector_int64(kept, low) == row;
}

fnabi_columns_mark fnabi_columns_mark_of(const fnabi_columns* columns) {
  fnabi_columns_mark mark = {.rows = columns->rows};
  for (int i = 0; i < FNABI_COLUMN_COUNT; i++)
    mark.sizes[i] = columns->vectors[i].size;
  return mark;
}

void fnabi_columns_go_back(fnabi_columns* columns,
                           const fnabi_columns_mark* mark) {
  columns->rows = mark->rows;
  for (int i = 0; i < FNABI_COLUMN_COUNT; i++)
    columns->vectors[i].size = mark->sizes[i];
}
