/* Columns as Arrow data, and Arrow data as texts. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "columns/arrow.h"
#include "columns/columns.h"

/* -------------------------------------------------------------------- schema
 */

typedef fnabi_arrow_field field;

enum { FIELDS = 1 + 2 + 2 * 11 + 1 }; /* of declarations, which have the most */

static field* put_nodes(field* f, const char* name, int32_t abi) {
  *f++ = (field){name, "+l", NULL, 1};
  if (abi == FNABI_ABI_SIP) {
    *f++ = (field){"item", "+s", NULL, 6};
    *f++ = (field){"kind", "c", "u", 0};
    *f++ = (field){"depth", "C", NULL, 0};
    *f++ = (field){"index", "i", NULL, 0};
    *f++ = (field){"position", "i", NULL, 0};
    *f++ = (field){"key", "u", NULL, 0};
    *f++ = (field){"key_bytes", "z", NULL, 0};
    return f;
  }
  bool raw = abi == FNABI_ABI_RAW;
  *f++ = (field){"item", "+s", NULL, raw ? 3 : 8};
  *f++ = (field){"kind", "c", "u", 0};
  *f++ = (field){"dtype", raw ? "c" : "i", "u", 0};
  *f++ = (field){"shape", "+l", NULL, 1};
  *f++ = (field){"item", "l", NULL, 0};
  if (raw) return f;
  *f++ = (field){"depth", "C", NULL, 0};
  *f++ = (field){"name", "u", NULL, 0};
  *f++ = (field){"name_bytes", "z", NULL, 0};
  *f++ = (field){"ref", "u", NULL, 0};
  *f++ = (field){"ref_bytes", "z", NULL, 0};
  return f;
}

int64_t fnabi_columns_schema(int32_t abi, struct ArrowSchema* out) {
  field fields[FIELDS], *f = fields;
  bool doubt = abi == FNABI_ABI_DECLARATION;
  *f++ = (field){"", "+s", NULL, doubt ? 5 : 4};
  *f++ = (field){"status", "C", "u", 0};
  *f++ = (field){"error_offset", "l", NULL, 0};
  f = put_nodes(f, "inputs", abi);
  f = put_nodes(f, "results", abi);
  if (doubt) *f++ = (field){"doubt", "c", "u", 0};
  const field* first = fields;
  if (fnabi_arrow_make_schema(&first, out)) return 0;
  fnabi_arrow_release_schema(out);
  return -1;
}

static void put_ascii(fnabi_writer* w, const char* text) {
  fnabi_put(w, text, strlen(text));
}

static void write_code(fnabi_writer* w, const fnabi_columns* columns,
                       size_t i) {
  (void)columns;
  put_ascii(w, fnabi_code_name((int32_t)i));
}

static void write_doubt(fnabi_writer* w, const fnabi_columns* columns,
                        size_t i) {
  static const char* const names[] = {"none", "arity", "names", "type"};
  (void)columns;
  put_ascii(w, names[i]);
}

enum { SIP_KINDS = FNABI_SIP_DICT + 1, TYPE_KINDS = FNABI_TYPE_REF_ARRAY + 1 };

static void write_sip_kind(fnabi_writer* w, const fnabi_columns* columns,
                           size_t i) {
  static const char* const names[SIP_KINDS] = {"none", "leaf", "sequence",
                                               "dict"};
  (void)columns;
  put_ascii(w, names[i]);
}

static void write_type_kind(fnabi_writer* w, const fnabi_columns* columns,
                            size_t i) {
  static const char* const names[TYPE_KINDS] = {
      "none", "scalar",           "buffer", "ref",  "list",    "tuple",
      "dict", "homogeneous_list", "named",  "null", "unknown", "ref_array",
  };
  (void)columns;
  put_ascii(w, names[i]);
}

/* A child of numbers that stand in a column. */
static struct ArrowArray* add_numbers(struct ArrowArray* out,
                                      fnabi_columns* columns, size_t length,
                                      const fnabi_vector* v) {
  struct ArrowArray* child = fnabi_arrow_add_child(out);
  if (child == NULL || !fnabi_arrow_open(child, columns, length, 2, 0))
    return NULL;
  fnabi_arrow_set_buffer(child, 1, v->data);
  return child;
}

/* Names where they are UTF-8, or where they are not. The two share the bytes,
 * but for columns with some of each: nobody is handed a text that is none. */
static bool add_names(struct ArrowArray* out, fnabi_columns* columns,
                      size_t length, const fnabi_vector* offsets,
                      const fnabi_vector* names, const uint8_t* named,
                      uint8_t flag, bool utf8) {
  struct ArrowArray* child = fnabi_arrow_add_child(out);
  if (child == NULL || !fnabi_arrow_open(child, columns, length, 3, 0))
    return false;
  const int32_t* ends = (const int32_t*)(const void*)offsets->data;
  /* where all names are empty there may be no memory */
  const uint8_t* data = names->size == 0 ? (const uint8_t*)"" : names->data;
#define IS_UTF8(i) \
  fnabi_is_utf8(data + ends[i], (size_t)(ends[(i) + 1] - ends[i]))
  FNABI_ARROW_VALIDITY(child, (named[i] & flag) != 0 && IS_UTF8(i) == utf8);
#undef IS_UTF8
  const uint8_t* bits = child->buffers[0];
  if (utf8 && fnabi_is_utf8(names->data, names->size)) {
    fnabi_arrow_set_buffer(child, 1, offsets->data);
    fnabi_arrow_set_buffer(child, 2, names->data);
    return true;
  }
  int32_t* made =
      fnabi_arrow_make_buffer(child, 1, (length + 1) * sizeof *made);
  if (made == NULL) return false;
  fnabi_arrow_set_buffer(child, 2, NULL);
  if (child->null_count == child->length) return true;
  uint8_t* text = fnabi_arrow_make_buffer(child, 2, names->size);
  if (text == NULL) return false;
  size_t size = 0;
  for (size_t i = 0; i < length; i++) {
    if (bits == NULL || (bits[i / 8] >> i % 8 & 1) != 0) {
      size_t name = (size_t)(ends[i + 1] - ends[i]);
      memcpy(text + size, data + ends[i], name);
      size += name;
    }
    made[i + 1] = (int32_t)size;
  }
  return true;
}

static bool add_type_columns(struct ArrowArray* out, fnabi_columns* columns,
                             const fnabi_vector* c, size_t nodes) {
  bool raw = columns->abi == FNABI_ABI_RAW;
  const int8_t* kinds = (const int8_t*)c[FNABI_COLUMN_KIND].data;
  const uint8_t* flags = c[FNABI_COLUMN_FLAGS].data;
  const fnabi_vector* dtypes = &c[FNABI_COLUMN_DTYPE];
  struct ArrowArray* child = add_numbers(out, columns, nodes, dtypes);
  if (child == NULL) return false;
  if (raw)
    FNABI_ARROW_VALIDITY(child, ((const int8_t*)dtypes->data)[i] >= 0);
  else
    FNABI_ARROW_VALIDITY(child,
                         ((const int32_t*)(const void*)dtypes->data)[i] >= 0);
  if (!fnabi_arrow_set_dictionary(child, columns, fnabi_dtype_count(columns),
                                  fnabi_dtype_write_name))
    return false;

  struct ArrowArray* shape = fnabi_arrow_add_child(out);
  if (shape == NULL || !fnabi_arrow_open(shape, columns, nodes, 2, 1))
    return false;
  fnabi_arrow_set_buffer(shape, 1, c[FNABI_COLUMN_SHAPE_OFFSETS].data);
  if (raw)
    FNABI_ARROW_VALIDITY(shape, kinds[i] == FNABI_TYPE_BUFFER);
  else
    FNABI_ARROW_VALIDITY(shape, (flags[i] & FNABI_NODE_RANKED) != 0);
  const fnabi_vector* v = &c[FNABI_COLUMN_DIMS];
  const int64_t* dims = (const int64_t*)(const void*)v->data;
  child = add_numbers(shape, columns, v->size / sizeof *dims, v);
  if (child == NULL) return false;
  FNABI_ARROW_VALIDITY(child, dims[i] >= 0);
  if (raw) return true;

  if (add_numbers(out, columns, nodes, &c[FNABI_COLUMN_DEPTH]) == NULL)
    return false;
  for (int i = 0; i < 4; i++) {
    int32_t column =
        i < 2 ? FNABI_COLUMN_NAME_OFFSETS : FNABI_COLUMN_REF_OFFSETS;
    uint8_t flag = i < 2 ? FNABI_NODE_NAMED : FNABI_NODE_REF_NAMED;
    if (!add_names(out, columns, nodes, &c[column], &c[column + 1], flags, flag,
                   i % 2 == 0))
      return false;
  }
  return true;
}

static bool add_sip_columns(struct ArrowArray* out, fnabi_columns* columns,
                            const fnabi_vector* c, size_t nodes) {
  const fnabi_vector* depths = &c[FNABI_COLUMN_DEPTH];
  if (add_numbers(out, columns, nodes, depths) == NULL) return false;
  for (int32_t k = FNABI_COLUMN_INDEX; k <= FNABI_COLUMN_POSITION; k++) {
    const int32_t* numbers = (const int32_t*)(const void*)c[k].data;
    struct ArrowArray* child = add_numbers(out, columns, nodes, &c[k]);
    if (child == NULL) return false;
    FNABI_ARROW_VALIDITY(child, numbers[i] >= 0);
  }
  /* what is in a structure and has no position has a name */
  const int32_t* positions =
      (const int32_t*)(const void*)c[FNABI_COLUMN_POSITION].data;
  uint8_t* named = malloc(nodes + 1);
  if (named == NULL) return false;
  for (size_t i = 0; i < nodes; i++)
    named[i] = depths->data[i] > 0 && positions[i] < 0;
  bool good = true;
  for (int i = 0; i < 2 && good; i++)
    good = add_names(out, columns, nodes, &c[FNABI_COLUMN_NAME_OFFSETS],
                     &c[FNABI_COLUMN_NAMES], named, 1, i == 0);
  free(named);
  return good;
}

static bool add_side(struct ArrowArray* out, fnabi_columns* columns, int side) {
  const fnabi_vector* c = columns->vectors + side * FNABI_COLUMN_SIDE;
  bool sip = columns->abi == FNABI_ABI_SIP;
  bool raw = columns->abi == FNABI_ABI_RAW;
  size_t nodes = c[FNABI_COLUMN_KIND].size;
  struct ArrowArray* list = fnabi_arrow_add_child(out);
  if (list == NULL || !fnabi_arrow_open(list, columns, columns->rows, 2, 1))
    return false;
  fnabi_arrow_set_buffer(list, 1, c[FNABI_COLUMN_OFFSETS].data);
  const uint8_t* status = columns->vectors[FNABI_COLUMN_STATUS].data;
  FNABI_ARROW_VALIDITY(list, status[i] != FNABI_ROW_NULL);
  struct ArrowArray* items = fnabi_arrow_add_child(list);
  if (items == NULL || !fnabi_arrow_open(items, columns, nodes, 1,
                                         sip   ? 6
                                         : raw ? 3
                                               : 8))
    return false;
  struct ArrowArray* kinds =
      add_numbers(items, columns, nodes, &c[FNABI_COLUMN_KIND]);
  return kinds != NULL &&
         fnabi_arrow_set_dictionary(kinds, columns,
                                    sip ? SIP_KINDS : TYPE_KINDS,
                                    sip ? write_sip_kind : write_type_kind) &&
         (sip ? add_sip_columns : add_type_columns)(items, columns, c, nodes);
}

static bool fill_array(struct ArrowArray* out, fnabi_columns* columns) {
  const fnabi_vector* v = columns->vectors;
  const uint8_t* status = v[FNABI_COLUMN_STATUS].data;
  size_t rows = columns->rows;
  struct ArrowArray* child =
      add_numbers(out, columns, rows, &v[FNABI_COLUMN_STATUS]);
  if (child == NULL) return false;
  FNABI_ARROW_VALIDITY(child, status[i] != FNABI_ROW_NULL);
  if (!fnabi_arrow_set_dictionary(child, columns, FNABI_CODE_COUNT, write_code))
    return false;

  child = fnabi_arrow_add_child(out);
  if (child == NULL || !fnabi_arrow_open(child, NULL, rows, 2, 0)) return false;
  FNABI_ARROW_VALIDITY(child,
                       status[i] != FNABI_OK && status[i] != FNABI_ROW_NULL);
  int64_t* offsets = fnabi_arrow_make_buffer(child, 1, rows * sizeof *offsets);
  if (offsets == NULL) return false;
  const fnabi_vector* kept = &v[FNABI_COLUMN_KEPT];
  for (size_t i = 0; i < kept->size / sizeof(int64_t); i++) {
    int64_t row;
    memcpy(&row, kept->data + i * sizeof row, sizeof row);
    memcpy(&offsets[row], v[FNABI_COLUMN_ERROR_OFFSET].data + i * sizeof row,
           sizeof row);
  }
  if (!add_side(out, columns, 0) || !add_side(out, columns, 1)) return false;
  if (columns->abi != FNABI_ABI_DECLARATION) return true;
  child = add_numbers(out, columns, rows, &v[FNABI_COLUMN_DOUBT]);
  if (child == NULL) return false;
  FNABI_ARROW_VALIDITY(child, status[i] == FNABI_OK);
  return fnabi_arrow_set_dictionary(child, columns, FNABI_DOUBT_TYPE + 1,
                                    write_doubt);
}

int64_t fnabi_columns_array(fnabi_columns* columns, struct ArrowArray* out) {
  if (!fnabi_arrow_open(out, columns, columns->rows, 1, 5)) return -1;
  if (fill_array(out, columns)) return 0;
  fnabi_arrow_release(out);
  return -1;
}

/* -------------------------------------------------------------------- stream
 */

typedef struct parts {
  size_t count, next;
  fnabi_columns* columns[];
} parts;

static int stream_schema(struct ArrowArrayStream* stream,
                         struct ArrowSchema* out) {
  parts* p = stream->private_data;
  return fnabi_columns_schema(p->columns[0]->abi, out) < 0 ? ENOMEM : 0;
}

static int stream_next(struct ArrowArrayStream* stream,
                       struct ArrowArray* out) {
  parts* p = stream->private_data;
  out->release = NULL;
  if (p->next == p->count) return 0;
  if (fnabi_columns_array(p->columns[p->next], out) < 0) return ENOMEM;
  p->next++;
  return 0;
}

static const char* stream_error(struct ArrowArrayStream* stream) {
  (void)stream;
  return "out of memory";
}

static void release_stream(struct ArrowArrayStream* stream) {
  parts* p = stream->private_data;
  for (size_t i = 0; i < p->count; i++) fnabi_columns_free(p->columns[i]);
  free(p);
  stream->release = NULL;
}

int64_t fnabi_columns_stream(fnabi_columns* const* columns, size_t count,
                             struct ArrowArrayStream* out) {
  parts* p = malloc(sizeof *p + count * sizeof *p->columns);
  if (p == NULL) return -1;
  p->count = count;
  p->next = 0;
  for (size_t i = 0; i < count; i++) {
    p->columns[i] = columns[i];
    atomic_fetch_add_explicit(&columns[i]->owners, 1, memory_order_relaxed);
  }
  *out = (struct ArrowArrayStream){stream_schema, stream_next, stream_error,
                                   release_stream, p};
  return 0;
}

/* --------------------------------------------------------------- from others
 */
/* Views of 16 bytes: a size, and the text or where it stands. */
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
    return fnabi_fail(
        error, FNABI_MESSAGE, 0,
        "Arrow strings or binaries, or a table of one such column,");
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
