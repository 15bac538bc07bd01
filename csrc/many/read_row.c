/* The message of a row: from its nodes, or where its text is kept, by decoding
 * that again. */
#include "base/error.h"
#include "many/columns.h"

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
      fnabi_dtype dtype = fnabi_dtype_table_at(&columns->dtypes, (size_t)index);
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
  /* of the open structures: their heads, and how many elements they have */
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
  if (fnabi_columns_find_kept(columns, row, &kept)) {
    size_t begin =
        (size_t)fnabi_vector_int64(&v[FNABI_COLUMN_TEXT_OFFSETS], kept);
    size_t end =
        (size_t)fnabi_vector_int64(&v[FNABI_COLUMN_TEXT_OFFSETS], kept + 1);
    size_t size = end - begin;
    const char* text =
        size == 0 ? "" : (const char*)v[FNABI_COLUMN_TEXT].data + begin;
    switch ((fnabi_abi)columns->abi) {
      case FNABI_ABI_RAW:
        return fnabi_raw_decode(text, size, out, capacity, error);
      case FNABI_ABI_SIP:
        return fnabi_sip_decode(text, size, out, capacity, error);
      case FNABI_ABI_CCONV:
        return fnabi_cconv_decode(text, size, out, capacity, error);
      case FNABI_ABI_IREE_ABI:
        return fnabi_iree_abi_decode(text, size, out, capacity, error);
      case FNABI_ABI_DECLARATION:
      case FNABI_ABI_COUNT:
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
