/* Texts of Arrow strings and binaries into rows. */
#include "base/error.h"
#include "many/arrow_values.h"
#include "many/rows.h"

static const char* const EXPECT_TEXTS =
    "strings or binaries, or a table of one such column";

/* Texts of any layout, found one at a time. Bit i of `outer` is the validity of
 * the row of the struct that text i is in; NULL: all are valid. */
static int64_t decode_values(fnabi_columns* columns, fnabi_arrow_values* values,
                             const uint8_t* outer, size_t first, size_t count,
                             fnabi_error* error) {
  enum { BATCH = 256 };
  fnabi_text texts[BATCH];
  size_t before = columns->rows;
  for (size_t done = 0; done < count;) {
    size_t n = count - done < BATCH ? count - done : BATCH;
    for (size_t k = 0; k < n; k++) {
      fnabi_arrow_values* v = values;
      size_t i = first + done + k;
      texts[k] = (fnabi_text){NULL, 0};
      if ((outer == NULL || (outer[i / 8] >> i % 8 & 1) != 0) &&
          fnabi_arrow_find(&v, &i))
        fnabi_arrow_text(v, i, &texts[k]);
    }
    if (!fnabi_columns_add(columns, texts, n, false))
      return fnabi_fail(error, FNABI_MEMORY, columns->rows - before, NULL);
    done += n;
  }
  return (int64_t)count;
}

/* Texts of offsets of 4 or 8 bytes, which are in one buffer. */
static int64_t decode_offsets(fnabi_columns* columns,
                              const fnabi_arrow_values* v, size_t first,
                              size_t count, fnabi_error* error) {
  bool small = v->layout == FNABI_ARROW_TEXT;
  int64_t size;
  first += v->offset;
  if (small) {
    int32_t end;
    memcpy(&end, (const char*)v->data + 4 * (first + count), sizeof end);
    size = end;
  } else {
    memcpy(&size, (const char*)v->data + 8 * (first + count), sizeof size);
  }
  return fnabi_columns_decode(columns, v->more, size < 0 ? 0 : (size_t)size,
                              v->data, small ? 4 : 8, v->validity, first, count,
                              error);
}

/* Whether all of these rows are null, whatever the type of the array. A union
 * and runs have no validity, and the nulls of a dictionary are its indexes'. */
static bool all_null(const struct ArrowSchema* schema,
                     const struct ArrowArray* array, size_t first,
                     size_t count) {
  const char* format = schema->format;
  if (format[0] == '+' && (format[1] == 'u' || format[1] == 'r')) return false;
  if (array->n_buffers == 0 || array->null_count == 0) return false;
  const uint8_t* bits = array->buffers[0];
  if (bits == NULL) return false;
  first += (size_t)array->offset;
  for (size_t i = first; i < first + count; i++)
    if ((bits[i / 8] >> i % 8 & 1) != 0) return false;
  return true;
}

/* Rows of an array that is no texts: of a table of another tool, in which a
 * column without a text has whatever type. */
static int64_t decode_nulls(fnabi_columns* columns,
                            const struct ArrowSchema* schema,
                            const struct ArrowArray* array, size_t first,
                            size_t count, fnabi_error* error) {
  if (!all_null(schema, array, first, count))
    return fnabi_fail(error, FNABI_UNSUPPORTED, 0, EXPECT_TEXTS);
  fnabi_arrow_values nulls = {.layout = FNABI_ARROW_NULL, .length = count};
  return decode_values(columns, &nulls, NULL, 0, count, error);
}

int64_t fnabi_columns_decode_arrow(fnabi_columns* columns,
                                   const struct ArrowSchema* schema,
                                   const struct ArrowArray* array,
                                   int64_t column, size_t first, size_t count,
                                   fnabi_error* error) {
  fnabi_arrow_pool pool;
  const uint8_t* outer = NULL;
  pool.used = 0;
  if (count == 0) return 0;
  if (fnabi_arrow_is(schema->format, "+s")) {
    if (column < 0 && schema->n_children == 1) column = 0;
    if (column < 0)
      return decode_nulls(columns, schema, array, first, count, error);
    if (column >= schema->n_children || column >= array->n_children)
      return fnabi_fail(error, FNABI_UNSUPPORTED, 0, EXPECT_TEXTS);
    if (array->n_buffers > 0 && array->null_count != 0)
      outer = array->buffers[0];
    /* the rows of the struct are at its offset in its children */
    first += (size_t)array->offset;
    schema = schema->children[column];
    array = array->children[column];
  } else if (column >= 0) {
    return fnabi_fail(error, FNABI_UNSUPPORTED, 0, "a table");
  }
  fnabi_arrow_values* v = fnabi_arrow_open_values(&pool, schema, array);
  if (v == NULL)
    return decode_nulls(columns, schema, array, first, count, error);
  switch (fnabi_arrow_plain_values(v)->layout) {
    case FNABI_ARROW_TEXT:
    case FNABI_ARROW_LARGE_TEXT:
      if (outer == NULL && (v->layout == FNABI_ARROW_TEXT ||
                            v->layout == FNABI_ARROW_LARGE_TEXT))
        return decode_offsets(columns, v, first, count, error);
      break;
    case FNABI_ARROW_TEXT_VIEW:
    case FNABI_ARROW_FIXED_TEXT:
    case FNABI_ARROW_NULL:
      break;
    default:
      return decode_nulls(columns, schema, array, first, count, error);
  }
  return decode_values(columns, v, outer, first, count, error);
}
