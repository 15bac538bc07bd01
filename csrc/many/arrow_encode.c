/* Texts of rows of Arrow data that has the columns of decoded signatures, in
 * whatever types. A row becomes the message of its signature, which the encoder
 * of the ABI checks. */
#include <stdlib.h>

#include "base/error.h"
#include "many/arrow_values.h"
#include "many/columns.h"

/* ------------------------------------------------------------------- fields */

typedef enum node_field {
  KIND,
  DTYPE,
  SHAPE,
  DEPTH,
  NAME,
  NAME_BYTES,
  REF,
  REF_BYTES,
  INDEX,
  POSITION,
  KEY,
  KEY_BYTES,
  NODE_FIELDS
} node_field;

/* The columns of one side. */
typedef struct side {
  fnabi_arrow_values *list, *items;
  fnabi_arrow_values* fields[NODE_FIELDS]; /* NULL: there is none */
} side;

typedef int64_t encoder(const uint8_t* message, size_t size, uint8_t* out,
                        size_t capacity, fnabi_error* error);

typedef struct table {
  int32_t abi;
  encoder* encode;
  fnabi_arrow_pool pool;
  fnabi_arrow_values *rows, *status; /* NULL: there is no status */
  side sides[2];
} table;

static bool open_side(table* t, const fnabi_arrow_values* rows, int which) {
  static const char* const names[NODE_FIELDS] = {
      "kind", "dtype",     "shape", "depth",    "name", "name_bytes",
      "ref",  "ref_bytes", "index", "position", "key",  "key_bytes",
  };
  side* s = &t->sides[which];
  s->list =
      fnabi_arrow_open_field(&t->pool, rows, which == 0 ? "inputs" : "results");
  if (s->list == NULL) return false;
  fnabi_arrow_values* list = fnabi_arrow_plain_values(s->list);
  if (list->layout == FNABI_ARROW_NULL) return true;
  if (list->of == NULL) return false;
  s->items = list->of;
  fnabi_arrow_values* items = fnabi_arrow_plain_values(s->items);
  if (items->layout == FNABI_ARROW_NULL) return true; /* no row has a node */
  for (int i = 0; i < NODE_FIELDS; i++)
    s->fields[i] = fnabi_arrow_open_field(&t->pool, items, names[i]);
  return s->fields[KIND] != NULL &&
         (t->abi == FNABI_ABI_RAW || s->fields[DEPTH] != NULL);
}

/* Whether there is no status, or one that is text. */
static bool open_status(table* t, const fnabi_arrow_values* rows) {
  t->status = fnabi_arrow_open_field(&t->pool, rows, "status");
  if (t->status == NULL)
    return fnabi_arrow_column(rows->schema, "status") == FNABI_ARROW_NO_COLUMN;
  fnabi_arrow_layout layout = fnabi_arrow_plain_values(t->status)->layout;
  return layout == FNABI_ARROW_NULL ||
         (layout >= FNABI_ARROW_TEXT && layout <= FNABI_ARROW_FIXED_TEXT);
}

static bool open_table(table* t, int32_t abi, const struct ArrowSchema* schema,
                       const struct ArrowArray* array, fnabi_error* error) {
  fnabi_fail(error, FNABI_UNSUPPORTED, 0,
             "a table with the columns inputs and results");
  memset(t->sides, 0, sizeof t->sides);
  t->pool.used = 0;
  t->abi = abi;
  fnabi_arrow_values* rows = fnabi_arrow_open_values(&t->pool, schema, array);
  if (rows == NULL || rows->layout != FNABI_ARROW_STRUCT) return false;
  t->rows = rows;
  if (!open_side(t, rows, 0) || !open_side(t, rows, 1)) return false;
  if (open_status(t, rows)) return true;
  fnabi_fail(error, FNABI_UNSUPPORTED, 0, "strings");
  fnabi_path_field(error, "status");
  return false;
}

static bool get_text(const side* s, node_field field, size_t i,
                     fnabi_text* out) {
  fnabi_arrow_values* v = s->fields[field];
  return v != NULL && fnabi_arrow_find(&v, &i) && fnabi_arrow_text(v, i, out);
}

/* A text that is a string, or a binary in the field after it. */
static bool get_name(const side* s, node_field field, size_t i,
                     fnabi_text* out) {
  return get_text(s, field, i, out) ||
         get_text(s, (node_field)(field + 1), i, out);
}

static bool get_int(const side* s, node_field field, size_t i, int64_t* out) {
  fnabi_arrow_values* v = s->fields[field];
  return v != NULL && fnabi_arrow_find(&v, &i) && fnabi_arrow_int(v, i, out);
}

/* Whether a field has a value; an empty list is none. */
static bool has(const side* s, node_field field, size_t i) {
  fnabi_arrow_values* v = s->fields[field];
  size_t at, end;
  if (v == NULL || !fnabi_arrow_find(&v, &i)) return false;
  return !fnabi_arrow_list(v, i, &at, &end) || at < end;
}

static bool has_name(const side* s, node_field field, size_t i) {
  return has(s, field, i) || has(s, (node_field)(field + 1), i);
}

static bool refuse(fnabi_error* error, const char* expected) {
  fnabi_fail(error, FNABI_MESSAGE, 0, expected);
  return false;
}

/* -------------------------------------------------------------------- types */

static int64_t find_kind(const side* s, size_t i, const char* const* names,
                         int64_t count) {
  fnabi_text text;
  if (!get_text(s, KIND, i, &text)) return 0;
  for (int64_t k = 1; k < count; k++)
    if (strlen(names[k]) == text.size &&
        memcmp(names[k], text.data, text.size) == 0)
      return k;
  return 0;
}

/* Checks that a type has no field that its kind lacks: no text would have it. */
static bool check_fields(const side* s, size_t i, int64_t kind,
                         fnabi_error* error) {
  bool is_buffer = kind == FNABI_TYPE_BUFFER;
  if (kind != FNABI_TYPE_SCALAR && !is_buffer && has(s, DTYPE, i))
    return refuse(error, "no dtype but of a scalar or buffer");
  if (kind != FNABI_TYPE_REF_ARRAY && !is_buffer && has(s, SHAPE, i))
    return refuse(error, "no shape but of a buffer or ref_array");
  return kind == FNABI_TYPE_REF || !has_name(s, REF, i) ||
         refuse(error, "no ref but of a ref");
}

static bool write_dtype(const side* s, size_t i, fnabi_writer* w,
                        fnabi_error* error) {
  fnabi_text text;
  fnabi_dtype dtype;
  if (!get_text(s, DTYPE, i, &text) ||
      !fnabi_dtype_read_name(text.data, text.size, &dtype))
    return refuse(error, "the name of a dtype");
  fnabi_pack_dtype(w, &dtype);
  return true;
}

/* nil for a shape that is null, and for a dim that is. */
static bool write_shape(const side* s, size_t i, fnabi_writer* w,
                        fnabi_error* error) {
  fnabi_arrow_values* v = s->fields[SHAPE];
  size_t at, end;
  if (v == NULL || !fnabi_arrow_find(&v, &i)) {
    fnabi_pack_nil(w);
    return true;
  }
  if (!fnabi_arrow_list(v, i, &at, &end))
    return refuse(error, "a list of dims");
  fnabi_pack_count(w, end - at);
  for (; at < end; at++) {
    fnabi_arrow_values* dims = v->of;
    size_t k = at;
    int64_t dim;
    if (!fnabi_arrow_find(&dims, &k))
      fnabi_pack_nil(w);
    else if (fnabi_arrow_int(dims, k, &dim))
      fnabi_pack_int(w, dim);
    else
      return refuse(error, "a dim");
  }
  return true;
}

/* A structure whose nodes are being written. */
typedef struct open_node {
  size_t place, count;
  int64_t kind;
  size_t node;
} open_node;

typedef struct open_nodes {
  size_t count;
  open_node nodes[FNABI_DEPTH_MAX + 2];
} open_nodes;

static bool close_type(const side* s, open_nodes* open, fnabi_writer* w,
                       fnabi_error* error) {
  const open_node* n = &open->nodes[--open->count];
  if (n->kind != FNABI_TYPE_HOMOGENEOUS_LIST &&
      n->kind != FNABI_TYPE_REF_ARRAY) {
    fnabi_pack_close(w, n->place, n->count);
    return true;
  }
  if (n->count != 1) return refuse(error, "one type of elements");
  return n->kind != FNABI_TYPE_REF_ARRAY || write_shape(s, n->node, w, error);
}

/* Closes structures down to a depth, and counts a node at that depth. */
static bool enter(const side* s, size_t i, open_nodes* open, fnabi_writer* w,
                  bool (*close)(const side*, open_nodes*, fnabi_writer*,
                                fnabi_error*),
                  fnabi_error* error) {
  int64_t depth = 0;
  if (s->fields[DEPTH] != NULL && !get_int(s, DEPTH, i, &depth))
    return refuse(error, "a depth");
  /* the first open node is the side itself */
  if (depth < 0 || (uint64_t)depth >= open->count)
    return refuse(error, "a depth inside a structure");
  while (open->count > (size_t)depth + 1)
    if (!close(s, open, w, error)) return false;
  open->nodes[depth].count++;
  return true;
}

static bool push(open_nodes* open, int64_t kind, size_t node, fnabi_writer* w,
                 bool list, fnabi_error* error) {
  if (open->count > FNABI_DEPTH_MAX) {
    fnabi_fail(error, FNABI_DEPTH, 0, FNABI_DEPTH_EXPECTED);
    return false;
  }
  open->nodes[open->count++] =
      (open_node){list ? fnabi_pack_open(w) : 0, 0, kind, node};
  return true;
}

static bool write_type(const side* s, size_t i, open_nodes* open,
                       fnabi_writer* w, fnabi_error* error) {
  fnabi_text name;
  if (!enter(s, i, open, w, close_type, error)) return false;
  int64_t kind =
      find_kind(s, i, fnabi_arrow_type_kinds, FNABI_TYPE_REF_ARRAY + 1);
  if (kind != 0 && !check_fields(s, i, kind, error)) return false;
  bool named = get_name(s, NAME, i, &name);
  if (open->nodes[open->count - 1].kind == FNABI_TYPE_DICT) {
    if (!named) return refuse(error, "the name of a key");
    fnabi_pack_array(w, 2);
    fnabi_pack_text(w, name.data, name.size);
  } else if (named) {
    fnabi_pack_array(w, 3);
    fnabi_pack_int(w, FNABI_TYPE_NAMED);
    fnabi_pack_text(w, name.data, name.size);
  }
  bool three = kind == FNABI_TYPE_BUFFER || kind == FNABI_TYPE_REF_ARRAY;
  bool one = kind == FNABI_TYPE_NULL || kind == FNABI_TYPE_UNKNOWN;
  fnabi_pack_array(w, three ? 3 : one ? 1 : 2);
  fnabi_pack_int(w, kind);
  switch (kind) {
    case FNABI_TYPE_SCALAR:
      return write_dtype(s, i, w, error);
    case FNABI_TYPE_BUFFER:
      return write_dtype(s, i, w, error) && write_shape(s, i, w, error);
    case FNABI_TYPE_REF:
      if (get_name(s, REF, i, &name))
        fnabi_pack_text(w, name.data, name.size);
      else
        fnabi_pack_nil(w);
      return true;
    case FNABI_TYPE_LIST:
    case FNABI_TYPE_TUPLE:
    case FNABI_TYPE_DICT:
      return push(open, kind, i, w, true, error);
    case FNABI_TYPE_HOMOGENEOUS_LIST:
    case FNABI_TYPE_REF_ARRAY:
      return push(open, kind, i, w, false, error);
    case FNABI_TYPE_NULL:
    case FNABI_TYPE_UNKNOWN:
      return true;
    default:
      return refuse(error, "the kind of a type");
  }
}

/* ---------------------------------------------------------------- registers */

static bool close_span(const side* s, open_nodes* open, fnabi_writer* w,
                       fnabi_error* error) {
  (void)s;
  const open_node* n = &open->nodes[--open->count];
  if (n->kind == FNABI_TYPE_TUPLE)
    fnabi_pack_close(w, n->place, n->count);
  else if (n->count != 1)
    return refuse(error, "one tuple of registers");
  return true;
}

static bool write_register(const side* s, size_t i, open_nodes* open,
                           fnabi_writer* w, fnabi_error* error) {
  static const char* const names[][2] = {
      {"i32", "i32"}, {"i64", "i64"}, {"float32", "f32"}, {"float64", "f64"}};
  if (!enter(s, i, open, w, close_span, error)) return false;
  const open_node* parent = &open->nodes[open->count - 1];
  int64_t kind =
      find_kind(s, i, fnabi_arrow_type_kinds, FNABI_TYPE_REF_ARRAY + 1);
  if (kind != 0 && !check_fields(s, i, kind, error)) return false;
  if (has_name(s, NAME, i) || has_name(s, REF, i))
    return refuse(error, "a register without a name");
  if (kind == FNABI_TYPE_HOMOGENEOUS_LIST && open->count == 1) {
    fnabi_pack_array(w, 1);
    return push(open, kind, i, w, false, error);
  }
  if (parent->kind == FNABI_TYPE_HOMOGENEOUS_LIST)
    return kind == FNABI_TYPE_TUPLE ? push(open, kind, i, w, true, error)
                                    : refuse(error, "a tuple of registers");
  fnabi_text text;
  if (kind == FNABI_TYPE_REF) {
    fnabi_pack_ascii(w, "ref");
    return true;
  }
  if (kind == FNABI_TYPE_SCALAR && get_text(s, DTYPE, i, &text))
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
      if (strlen(names[k][0]) == text.size &&
          memcmp(names[k][0], text.data, text.size) == 0) {
        fnabi_pack_ascii(w, names[k][1]);
        return true;
      }
  return refuse(error, "a register or a span");
}

/* ---------------------------------------------------------------------- SIP */

static bool close_node(const side* s, open_nodes* open, fnabi_writer* w,
                       fnabi_error* error) {
  (void)s;
  (void)error;
  const open_node* n = &open->nodes[--open->count];
  fnabi_pack_close(w, n->place, n->count);
  return true;
}

static bool write_node(const side* s, size_t i, open_nodes* open,
                       fnabi_writer* w, fnabi_error* error) {
  fnabi_text key;
  int64_t number;
  if (!enter(s, i, open, w, close_node, error)) return false;
  const open_node* parent = &open->nodes[open->count - 1];
  if (open->count == 1) {
    if (parent->count != 1) return refuse(error, "one root");
    if (has(s, POSITION, i) || has_name(s, KEY, i))
      return refuse(error, "a root without a position or key");
  } else if (parent->kind == FNABI_SIP_SEQUENCE) {
    if (!get_int(s, POSITION, i, &number)) return refuse(error, "a position");
    if (has_name(s, KEY, i)) return refuse(error, "no key in a sequence");
    fnabi_pack_array(w, 2);
    fnabi_pack_int(w, number);
  } else {
    if (!get_name(s, KEY, i, &key)) return refuse(error, "a key");
    if (has(s, POSITION, i)) return refuse(error, "no position in a dict");
    fnabi_pack_array(w, 2);
    fnabi_pack_text(w, key.data, key.size);
  }
  int64_t kind = find_kind(s, i, fnabi_arrow_sip_kinds, FNABI_SIP_DICT + 1);
  fnabi_pack_array(w, 2);
  fnabi_pack_int(w, kind);
  if (kind == FNABI_SIP_LEAF) {
    if (!get_int(s, INDEX, i, &number)) return refuse(error, "an index");
    fnabi_pack_int(w, number);
    return true;
  }
  if (has(s, INDEX, i)) return refuse(error, "no index but of a leaf");
  return kind != 0 ? push(open, kind, i, w, true, error)
                   : refuse(error, "leaf, sequence or dict");
}

/* --------------------------------------------------------------------- rows */

typedef enum row_state { FULL, EMPTY, FAILED } row_state;

static bool is_null(const side* s, size_t row) {
  fnabi_arrow_values* list = s->list;
  return !fnabi_arrow_find(&list, &row);
}

static bool write_side(const table* t, int which, size_t row, fnabi_writer* w,
                       fnabi_error* error) {
  const side* s = &t->sides[which];
  fnabi_arrow_values* list = s->list;
  open_nodes open;
  size_t begin, end;
  if (!fnabi_arrow_find(&list, &row)) return refuse(error, "a list of nodes");
  fnabi_arrow_list(list, row, &begin, &end);
  bool sip = t->abi == FNABI_ABI_SIP;
  open.count = 1;
  open.nodes[0] = (open_node){0, 0, 0, 0};
  if (sip && begin == end) fnabi_pack_nil(w);
  if (!sip) open.nodes[0].place = fnabi_pack_open(w);
  for (size_t k = begin; k < end; k++) {
    fnabi_arrow_values* items = s->items;
    size_t i = k;
    bool good =
        fnabi_arrow_find(&items, &i)
            ? (sip                         ? write_node
               : t->abi == FNABI_ABI_CCONV ? write_register
                                           : write_type)(s, i, &open, w, error)
            : refuse(error, "a node");
    if (!good) {
      fnabi_path_index(error, k - begin);
      return false;
    }
  }
  while (open.count > 1)
    if (!(sip                         ? close_node
          : t->abi == FNABI_ABI_CCONV ? close_span
                                      : close_type)(s, &open, w, error))
      return false;
  if (!sip) fnabi_pack_close(w, open.nodes[0].place, open.nodes[0].count);
  return true;
}

/* Writes the message of a row; one without values has none: a row that is null,
 * one whose status is not "ok", and without a status one whose sides are both
 * null. */
static row_state write_row(const table* t, size_t row, fnabi_writer* w,
                           fnabi_error* error) {
  fnabi_text status;
  fnabi_arrow_values* rows = t->rows;
  if (!fnabi_arrow_find(&rows, &row)) return EMPTY;
  if (t->status != NULL) {
    fnabi_arrow_values* v = t->status;
    size_t i = row;
    if (!fnabi_arrow_find(&v, &i) || !fnabi_arrow_text(v, i, &status) ||
        !FNABI_TEXT_IS(status, "ok"))
      return EMPTY;
  } else if (is_null(&t->sides[0], row) && is_null(&t->sides[1], row)) {
    return EMPTY;
  }
  fnabi_pack_array(w, t->abi == FNABI_ABI_CCONV ? 3 : 2);
  for (int which = 0; which < 2; which++)
    if (!write_side(t, which, row, w, error)) {
      fnabi_path_field(error, which == 0 ? "inputs" : "results");
      return FAILED;
    }
  if (t->abi == FNABI_ABI_CCONV) fnabi_pack_int(w, 0);
  return FULL;
}

/* The encoder of an ABI, or NULL. */
static encoder* encoder_of(int32_t abi) {
  switch ((fnabi_abi)abi) {
    case FNABI_ABI_RAW:
      return fnabi_raw_encode;
    case FNABI_ABI_SIP:
      return fnabi_sip_encode;
    case FNABI_ABI_CCONV:
      return fnabi_cconv_encode;
    case FNABI_ABI_IREE_ABI:
      return fnabi_iree_abi_encode;
    case FNABI_ABI_DECLARATION:
    case FNABI_ABI_COUNT:
      break;
  }
  return NULL;
}

/* Returns the size of the text of a row, 0 and *empty without one, or -1. */
static int64_t encode_row(const table* t, size_t row, fnabi_vector* scratch,
                          uint8_t* out, size_t capacity, bool* empty,
                          fnabi_error* error) {
  fnabi_writer w = {scratch->data, scratch->capacity, 0};
  row_state state = write_row(t, row, &w, error);
  if (state == FULL && w.size > w.capacity) {
    if (!fnabi_vector_reserve(scratch, w.size))
      return fnabi_fail(error, FNABI_MEMORY, 0, NULL);
    w = (fnabi_writer){scratch->data, scratch->capacity, 0};
    state = write_row(t, row, &w, error);
  }
  *empty = state == EMPTY;
  if (state != FULL) return state == EMPTY ? 0 : -1;
  return t->encode(w.out, w.size, out, capacity, error);
}

int64_t fnabi_columns_encode_arrow(int32_t abi,
                                   const struct ArrowSchema* schema,
                                   const struct ArrowArray* array, size_t first,
                                   size_t count, int64_t* ends, uint8_t* status,
                                   uint8_t* out, size_t capacity,
                                   fnabi_error* error) {
  table t;
  fnabi_vector scratch = {NULL, 0, 0};
  size_t used = 0;
  bool good = true;
  t.encode = encoder_of(abi);
  if (t.encode == NULL)
    return fnabi_fail(error, FNABI_UNSUPPORTED, 0, "an ABI with an encoder");
  if (!open_table(&t, abi, schema, array, error)) return -1;
  for (size_t i = 0; i < count && good; i++) {
    bool empty = false;
    size_t left = used < capacity ? capacity - used : 0;
    fnabi_error problem = {.code = FNABI_OK};
    int64_t size =
        encode_row(&t, first + i, &scratch, left > 0 ? out + used : NULL, left,
                   &empty, &problem);
    good = size >= 0 || (status != NULL && problem.code != FNABI_MEMORY);
    if (status != NULL)
      status[i] = empty ? FNABI_ROW_NULL : (uint8_t)problem.code;
    if (size > 0) used += (size_t)size;
    if (!good) {
      *error = problem;
      error->offset = i;
    }
    ends[i] = (int64_t)used;
  }
  free(scratch.data);
  return good ? (int64_t)used : -1;
}
