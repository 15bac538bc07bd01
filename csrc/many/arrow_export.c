/* Columns as Arrow data. */
#include <errno.h>
#include <stdlib.h>

#include "many/arrow.h"

/* ------------------------------------------------------------------- schema */

typedef fnabi_arrow_field field;

enum { FIELDS = 1 + 2 + 2 * 11 + 1 }; /* of declarations, the most of any ABI */

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
  bool ambiguity = abi == FNABI_ABI_DECLARATION;
  *f++ = (field){"", "+s", NULL, ambiguity ? 5 : 4};
  *f++ = (field){"status", "C", "u", 0};
  *f++ = (field){"error_offset", "l", NULL, 0};
  f = put_nodes(f, "inputs", abi);
  f = put_nodes(f, "results", abi);
  if (ambiguity) *f++ = (field){"ambiguity", "c", "u", 0};
  const field* first = fields;
  if (fnabi_arrow_make_schema(&first, out)) return 0;
  fnabi_arrow_release_schema(out);
  return -1;
}

/* -------------------------------------------------------------------- array */

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char* const ambiguities[] = {"none", "arity", "names", "type"};
const char* const fnabi_arrow_sip_kinds[FNABI_SIP_DICT + 1] = {
    "none", "leaf", "sequence", "dict"};
const char* const fnabi_arrow_type_kinds[FNABI_TYPE_REF_ARRAY + 1] = {
    "none", "scalar",           "buffer", "ref",  "list",    "tuple",
    "dict", "homogeneous_list", "named",  "null", "unknown", "ref_array",
};
_Static_assert(COUNT(ambiguities) == FNABI_AMBIGUITY_TYPE + 1,
               "every ambiguity has a name");

static void write_dtype(fnabi_writer* w, const void* columns, size_t i) {
  fnabi_dtype_table_write_name(w, &((const fnabi_columns*)columns)->dtypes, i);
}

/* Adds a child whose numbers are those of a column. */
static struct ArrowArray* add_numbers(struct ArrowArray* out,
                                      fnabi_columns* columns, size_t length,
                                      const fnabi_vector* v) {
  struct ArrowArray* child = fnabi_arrow_add_child(out);
  if (child == NULL || !fnabi_arrow_open(child, columns, length, 2, 0))
    return NULL;
  fnabi_arrow_set_buffer(child, 1, v->data);
  return child;
}

/* Adds a child of the names that are UTF-8, or of those that are not, with null
 * for the others. Both share the bytes of the column, except where some names
 * are UTF-8 and some not: a consumer must never be given a string that is not
 * UTF-8, not even as the bytes of a null. */
static bool add_names(struct ArrowArray* out, fnabi_columns* columns,
                      size_t length, const fnabi_vector* offsets,
                      const fnabi_vector* names, const uint8_t* named,
                      uint8_t flag, bool utf8) {
  struct ArrowArray* child = fnabi_arrow_add_child(out);
  if (child == NULL || !fnabi_arrow_open(child, columns, length, 3, 0))
    return false;
  const int32_t* ends = (const int32_t*)(const void*)offsets->data;
  /* a column of empty names alone may have no memory */
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
  if (!fnabi_arrow_set_dictionary(child, columns,
                                  fnabi_dtype_table_count(&columns->dtypes),
                                  write_dtype))
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
  /* a node in a structure that has no position has a name */
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
         (sip ? fnabi_arrow_set_dictionary(kinds, fnabi_arrow_sip_kinds,
                                           FNABI_SIP_DICT + 1,
                                           fnabi_arrow_write_name)
              : fnabi_arrow_set_dictionary(kinds, fnabi_arrow_type_kinds,
                                           FNABI_TYPE_REF_ARRAY + 1,
                                           fnabi_arrow_write_name)) &&
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
  if (!fnabi_arrow_set_codes(child)) return false;

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
  child = add_numbers(out, columns, rows, &v[FNABI_COLUMN_AMBIGUITY]);
  if (child == NULL) return false;
  FNABI_ARROW_VALIDITY(child, status[i] == FNABI_OK);
  return fnabi_arrow_set_dictionary(child, ambiguities, COUNT(ambiguities),
                                    fnabi_arrow_write_name);
}

int64_t fnabi_columns_array(fnabi_columns* columns, struct ArrowArray* out) {
  if (!fnabi_arrow_open(out, columns, columns->rows, 1, 5)) return -1;
  if (fill_array(out, columns)) return 0;
  fnabi_arrow_release(out);
  return -1;
}

/* ------------------------------------------------------------------- stream */

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
    fnabi_columns_share(columns[i]);
  }
  *out = (struct ArrowArrayStream){stream_schema, stream_next, stream_error,
                                   release_stream, p};
  return 0;
}
