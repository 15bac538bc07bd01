/* Columns of several parts, one after the other, as columns of their own. */
#include <stdlib.h>

#include "many/columns.h"

/* Appends numbers of a column from index `first` on, each raised by `by`. The
 * vector has the capacity. */
static bool append_raised(fnabi_vector* v, const fnabi_vector* more,
                          size_t width, size_t first, int64_t by) {
  size_t count = more->size / width - first, size = count * width;
  if (count == 0) return true;
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

/* Appends indexes of dtypes, translated to those of the joined columns. The
 * vector has the capacity. */
static bool append_dtypes(const fnabi_columns* columns, fnabi_vector* v,
                          const fnabi_columns* more, const fnabi_vector* from) {
  size_t count = fnabi_dtype_table_count(&more->dtypes);
  int32_t* here = malloc((count + 1) * sizeof *here);
  if (here == NULL) return false;
  for (size_t i = 0; i < count; i++) {
    fnabi_dtype dtype = fnabi_dtype_table_at(&more->dtypes, i);
    here[i] = fnabi_dtype_table_find(&columns->dtypes, &dtype);
  }
  for (size_t i = 0; i < from->size / sizeof(int32_t); i++) {
    int32_t index = fnabi_vector_int32(from, i);
    fnabi_vector_put_int32(v, index < 0 ? index : here[index]);
  }
  free(here);
  return true;
}

static bool append_column(fnabi_columns* columns, const fnabi_columns* more,
                          int32_t column, size_t rows) {
  const fnabi_column_layout* l = fnabi_column_layout_of(columns, column);
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
    for (size_t i = 0; i < fnabi_dtype_table_count(&parts[k]->dtypes) && good;
         i++) {
      fnabi_dtype dtype = fnabi_dtype_table_at(&parts[k]->dtypes, i);
      good = fnabi_dtype_table_add(&columns->dtypes, &dtype) >= 0;
    }
  }
  if (good) return columns;
  fnabi_columns_free(columns);
  return NULL;
}

int64_t fnabi_columns_join_column(fnabi_columns* columns,
                                  fnabi_columns* const* parts, size_t count,
                                  int32_t column) {
  if (fnabi_column_layout_of(columns, column) == NULL) return 0;
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
