/* Columns out of the bytes of columns, which are checked: everything that other
 * functions rely on. And whether two columns are equal. */
#include <stdlib.h>

#include "many/columns.h"

static size_t count_of(const fnabi_columns* columns, int32_t column) {
  const fnabi_column_layout* l = fnabi_column_layout_of(columns, column);
  return l == NULL ? 0 : columns->vectors[column].size / l->width;
}

/* Whether offsets ascend from 0 to the end of what they are offsets of, with
 * one more than there are elements; also where the ABI has no such column. */
static bool check_offsets(const fnabi_columns* columns, int32_t column,
                          size_t elements, size_t end) {
  const fnabi_column_layout* l = fnabi_column_layout_of(columns, column);
  const fnabi_vector* v = &columns->vectors[column];
  int64_t before = 0;
  if (l == NULL) return true;
  if (count_of(columns, column) != elements + 1) return false;
  for (size_t i = 0; i <= elements; i++) {
    int64_t offset = l->width == sizeof(int32_t) ? fnabi_vector_int32(v, i)
                                                 : fnabi_vector_int64(v, i);
    if (offset < before || (i == 0 && offset != 0)) return false;
    before = offset;
  }
  return (uint64_t)before == end;
}

/* Whether the rows whose text is kept are those that must be. */
static bool check_kept(const fnabi_columns* columns) {
  const fnabi_vector* v = columns->vectors;
  size_t count = count_of(columns, FNABI_COLUMN_KEPT), next = 0;
  if (count_of(columns, FNABI_COLUMN_ERROR_OFFSET) != count) return false;
  for (size_t row = 0; row < columns->rows; row++) {
    uint8_t status = v[FNABI_COLUMN_STATUS].data[row];
    bool kept = status != FNABI_ROW_NULL &&
                (status != FNABI_OK || fnabi_columns_keeps(columns));
    if (status >= FNABI_CODE_COUNT && status != FNABI_ROW_NULL) return false;
    if (!kept) continue;
    if (next == count ||
        (uint64_t)fnabi_vector_int64(&v[FNABI_COLUMN_KEPT], next++) != row)
      return false;
  }
  for (size_t i = 0; i < v[FNABI_COLUMN_AMBIGUITY].size; i++)
    if (v[FNABI_COLUMN_AMBIGUITY].data[i] > FNABI_AMBIGUITY_TYPE) return false;
  return next == count &&
         check_offsets(columns, FNABI_COLUMN_TEXT_OFFSETS, count,
                       count_of(columns, FNABI_COLUMN_TEXT));
}

/* Whether the nodes of each row are one structure, with a key for each but the
 * root. */
static bool check_sip_rows(const fnabi_columns* columns,
                           const fnabi_vector* c) {
  const uint8_t *kinds = c[FNABI_COLUMN_KIND].data,
                *depths = c[FNABI_COLUMN_DEPTH].data;
  uint8_t open[FNABI_DEPTH_MAX + 1]; /* the kinds of the open structures */
  for (size_t row = 0; row < columns->rows; row++) {
    size_t begin = (size_t)fnabi_vector_int32(&c[FNABI_COLUMN_OFFSETS], row);
    size_t end = (size_t)fnabi_vector_int32(&c[FNABI_COLUMN_OFFSETS], row + 1);
    unsigned most = 0;
    for (size_t i = begin; i < end; i++) {
      unsigned depth = depths[i];
      int32_t index = fnabi_vector_int32(&c[FNABI_COLUMN_INDEX], i),
              position = fnabi_vector_int32(&c[FNABI_COLUMN_POSITION], i);
      bool leaf = kinds[i] == FNABI_SIP_LEAF;
      bool number =
          depth > 0 && depth <= most && open[depth - 1] == FNABI_SIP_SEQUENCE;
      if (depth > most || depth > FNABI_DEPTH_MAX ||
          (depth == 0) != (i == begin) || kinds[i] < FNABI_SIP_LEAF ||
          kinds[i] > FNABI_SIP_DICT || (leaf ? index < 0 : index != -1) ||
          (number ? position < 0 : position != -1))
        return false;
      open[depth] = kinds[i];
      most = leaf ? depth : depth + 1;
    }
  }
  return true;
}

/* Whether a node of a raw signature has what its kind needs, and no more. */
static bool check_raw_node(const fnabi_vector* c, size_t i, int kind,
                           int32_t dtype) {
  const fnabi_vector* shapes = &c[FNABI_COLUMN_SHAPE_OFFSETS];
  bool dims =
      fnabi_vector_int32(shapes, i) != fnabi_vector_int32(shapes, i + 1);
  switch (kind) {
    case FNABI_TYPE_BUFFER:
      return dtype >= 0;
    case FNABI_TYPE_SCALAR:
      return dtype >= 0 && !dims;
    case FNABI_TYPE_REF:
    case FNABI_TYPE_UNKNOWN:
      return dtype < 0 && !dims;
    default:
      return false;
  }
}

static bool check_types(const fnabi_columns* columns, const fnabi_vector* c,
                        size_t nodes) {
  bool raw = columns->abi == FNABI_ABI_RAW;
  int64_t dtypes = (int64_t)fnabi_dtype_table_count(&columns->dtypes);
  for (size_t i = 0; i < nodes; i++) {
    int kind = (int8_t)c[FNABI_COLUMN_KIND].data[i];
    int32_t dtype = raw ? (int8_t)c[FNABI_COLUMN_DTYPE].data[i]
                        : fnabi_vector_int32(&c[FNABI_COLUMN_DTYPE], i);
    if (raw ? !check_raw_node(c, i, kind, dtype)
            : kind < 1 || kind > FNABI_TYPE_REF_ARRAY)
      return false;
    if (dtype < -1 || dtype >= dtypes) return false;
  }
  const fnabi_vector* dims = &c[FNABI_COLUMN_DIMS];
  for (size_t i = 0; i < dims->size / sizeof(int64_t); i++) {
    int64_t dim = fnabi_vector_int64(dims, i);
    if (dim < -1 || (raw && dim > INT32_MAX)) return false;
  }
  return true;
}

static bool check_side(const fnabi_columns* columns, int32_t side) {
  static const int32_t of_nodes[] = {FNABI_COLUMN_KIND,  FNABI_COLUMN_DTYPE,
                                     FNABI_COLUMN_FLAGS, FNABI_COLUMN_DEPTH,
                                     FNABI_COLUMN_INDEX, FNABI_COLUMN_POSITION};
  static const int32_t offsets[][2] = {
      {FNABI_COLUMN_SHAPE_OFFSETS, FNABI_COLUMN_DIMS},
      {FNABI_COLUMN_NAME_OFFSETS, FNABI_COLUMN_NAMES},
      {FNABI_COLUMN_REF_OFFSETS, FNABI_COLUMN_REFS}};
  size_t nodes = count_of(columns, FNABI_COLUMN_KIND + side);
  for (size_t i = 0; i < sizeof of_nodes / sizeof *of_nodes; i++)
    if (fnabi_column_layout_of(columns, of_nodes[i] + side) != NULL &&
        count_of(columns, of_nodes[i] + side) != nodes)
      return false;
  for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
    if (!check_offsets(columns, offsets[i][0] + side, nodes,
                       count_of(columns, offsets[i][1] + side)))
      return false;
  const fnabi_vector* c = columns->vectors + side;
  return check_offsets(columns, FNABI_COLUMN_OFFSETS + side, columns->rows,
                       nodes) &&
         (columns->abi == FNABI_ABI_SIP ? check_sip_rows(columns, c)
                                        : check_types(columns, c, nodes));
}

static bool read_dtypes(fnabi_columns* columns, const uint8_t* message,
                        size_t size) {
  fnabi_reader r = {message, size, 0};
  fnabi_error error;
  size_t count;
  if (!fnabi_unpack_array(&r, &count) || count != 2 ||
      !fnabi_unpack_array(&r, &count))
    return false;
  if (columns->abi == FNABI_ABI_RAW && count != FNABI_SCALAR_TYPE_COUNT)
    return false;
  for (size_t i = 0; i < count; i++) {
    fnabi_dtype dtype;
    if (!fnabi_unpack_dtype(&r, &dtype, &error) ||
        fnabi_dtype_table_add(&columns->dtypes, &dtype) != (int32_t)i)
      return false;
  }
  return true;
}

fnabi_columns* fnabi_columns_restore(int32_t abi, const void* const* data,
                                     const size_t* sizes, const uint8_t* dtypes,
                                     size_t dtypes_size) {
  fnabi_columns* columns = fnabi_columns_new(abi, FNABI_DECODER_BEST);
  if (columns == NULL) return NULL;
  bool good = read_dtypes(columns, dtypes, dtypes_size);
  for (int32_t i = 0; i < FNABI_COLUMN_COUNT && good; i++) {
    const fnabi_column_layout* l = fnabi_column_layout_of(columns, i);
    columns->vectors[i].size = 0;
    good = l == NULL ? sizes[i] == 0
                     : sizes[i] % l->width == 0 &&
                           fnabi_vector_append(&columns->vectors[i], data[i],
                                               sizes[i]);
  }
  columns->rows = columns->vectors[FNABI_COLUMN_STATUS].size;
  if (good &&
      (abi != FNABI_ABI_DECLARATION ||
       columns->vectors[FNABI_COLUMN_AMBIGUITY].size == columns->rows) &&
      check_kept(columns) && check_side(columns, 0) &&
      check_side(columns, FNABI_COLUMN_SIDE))
    return columns;
  fnabi_columns_free(columns);
  return NULL;
}

/* ----------------------------------------------------------------- equality */

/* Whether the dtypes of all nodes are the same; the numbers may differ. */
static bool same_dtypes(const fnabi_columns* a, const fnabi_columns* b,
                        int32_t column) {
  const fnabi_vector *x = &a->vectors[column], *y = &b->vectors[column];
  size_t dtypes = fnabi_dtype_table_count(&b->dtypes);
  for (size_t i = 0; i < x->size / sizeof(int32_t); i++) {
    int32_t p = fnabi_vector_int32(x, i), q = fnabi_vector_int32(y, i);
    if (p < 0 || q < 0 || (size_t)q >= dtypes) {
      if (p != q) return false;
      continue;
    }
    fnabi_dtype dtype = fnabi_dtype_table_at(&a->dtypes, (size_t)p);
    if (fnabi_dtype_table_find(&b->dtypes, &dtype) != q) return false;
  }
  return true;
}

bool fnabi_columns_equal(const fnabi_columns* a, const fnabi_columns* b) {
  if (a->abi != b->abi || a->rows != b->rows) return false;
  for (int32_t i = 0; i < FNABI_COLUMN_COUNT; i++) {
    const fnabi_vector *x = &a->vectors[i], *y = &b->vectors[i];
    if (x->size != y->size) return false;
    bool dtype =
        i == FNABI_COLUMN_DTYPE || i == FNABI_COLUMN_DTYPE + FNABI_COLUMN_SIDE;
    if (dtype && a->abi != FNABI_ABI_RAW) {
      if (!same_dtypes(a, b, i)) return false;
    } else if (x->size > 0 && memcmp(x->data, y->data, x->size) != 0) {
      return false;
    }
  }
  return true;
}
