/* Texts of Arrow strings and binaries into rows. */
#include "base/error.h"
#include "columns/arrow.h"
#include "columns/rows.h"

/* Views take 16 bytes: a size, and then the text, or its buffer and offset. */
static int64_t decode_views(fnabi_columns* columns,
                            const struct ArrowArray* array, size_t first,
                            size_t count, fnabi_error* error) {
  enum { BATCH = 256 };
  fnabi_text texts[BATCH];
  const uint8_t* validity = array->buffers[0];
  const char* views = array->buffers[1];
  size_t before = columns->rows;
  for (size_t done = 0; done < count;) {
    size_t n = count - done < BATCH ? count - done : BATCH;
    for (size_t k = 0; k < n; k++) {
      size_t i = first + done + k;
      int32_t view[4];
      memcpy(view, views + 16 * i, sizeof view);
      bool valid = validity == NULL || (validity[i / 8] >> i % 8 & 1) != 0;
      const char* text = views + 16 * i + 4;
      if (valid && view[0] > 12)
        text = (const char*)array->buffers[2 + view[2]] + view[3];
      texts[k] = (fnabi_text){valid ? text : NULL, valid ? (size_t)view[0] : 0};
    }
    if (!fnabi_columns_add(columns, texts, n, false))
      return fnabi_fail(error, FNABI_MEMORY, columns->rows - before, NULL);
    done += n;
  }
  return (int64_t)count;
}

int64_t fnabi_columns_decode_arrow(fnabi_columns* columns,
                                   const struct ArrowSchema* schema,
                                   const struct ArrowArray* array, size_t first,
                                   size_t count, fnabi_error* error) {
  if (count == 0) return 0;
  first += (size_t)array->offset;
  if (fnabi_arrow_is(schema->format, "+s") && schema->n_children == 1 &&
      array->n_children == 1) {
    schema = schema->children[0];
    array = array->children[0];
    first += (size_t)array->offset;
  }
  const char* format = schema->dictionary == NULL ? schema->format : "";
  if (fnabi_arrow_is(format, "vu") || fnabi_arrow_is(format, "vz"))
    return decode_views(columns, array, first, count, error);
  bool small = fnabi_arrow_is(format, "u") || fnabi_arrow_is(format, "z");
  if (!small && !fnabi_arrow_is(format, "U") && !fnabi_arrow_is(format, "Z"))
    return fnabi_fail(error, FNABI_UNSUPPORTED, 0,
                      "strings or binaries, or a table of one such column");
  const void* offsets = array->buffers[1];
  int64_t size;
  if (small) {
    int32_t end;
    memcpy(&end, (const char*)offsets + 4 * (first + count), sizeof end);
    size = end;
  } else {
    memcpy(&size, (const char*)offsets + 8 * (first + count), sizeof size);
  }
  return fnabi_columns_decode(
      columns, array->buffers[2], size < 0 ? 0 : (size_t)size, offsets,
      small ? 4 : 8, array->buffers[0], first, count, error);
}
