/* One row by way of its message. The decoder of single texts is the reference:
 * the message that it writes becomes a row, node by node. A false here means out
 * of memory. */
#include "many/rows.h"

#include "abi/cconv.h"
#include "abi/declaration.h"
#include "abi/iree_abi.h"
#include "abi/raw.h"
#include "abi/sip.h"
#include "many/take.h"

static bool push8(fnabi_vector* v, int value) {
  uint8_t byte = (uint8_t)value;
  return fnabi_vector_append(v, &byte, 1);
}

static bool push32(fnabi_vector* v, int32_t value) {
  return fnabi_vector_append(v, &value, sizeof value);
}

static bool push64(fnabi_vector* v, size_t value) {
  int64_t number = (int64_t)value;
  return fnabi_vector_append(v, &number, sizeof number);
}

/* Appends the end of what has been added to a column, as an offset into it. */
static bool push_end(fnabi_vector* v, size_t end) {
  return end <= INT32_MAX && push32(v, (int32_t)end);
}

/* ------------------------------------------------------------ from messages */

/* The columns of one side, and the message that their nodes are read from. */
typedef struct side {
  fnabi_columns* columns;
  fnabi_vector* column; /* of this side: column[FNABI_COLUMN_KIND] */
  fnabi_reader r;
} side;

typedef struct node {
  int64_t kind;
  int32_t dtype;
  unsigned flags, depth;
  fnabi_text name, ref;
} node;

/* Adds a node, whose dims have been added already. */
static bool put_node(side* s, const node* n) {
  fnabi_vector* c = s->column;
  if (!push8(&c[FNABI_COLUMN_KIND], (int)n->kind) ||
      !push_end(&c[FNABI_COLUMN_SHAPE_OFFSETS],
                c[FNABI_COLUMN_DIMS].size / sizeof(int64_t)))
    return false;
  if (s->columns->abi == FNABI_ABI_RAW)
    return push8(&c[FNABI_COLUMN_DTYPE], n->dtype);
  return (
      push32(&c[FNABI_COLUMN_DTYPE], n->dtype) &&
      push8(&c[FNABI_COLUMN_FLAGS], (int)n->flags) &&
      push8(&c[FNABI_COLUMN_DEPTH], (int)n->depth) &&
      fnabi_vector_append(&c[FNABI_COLUMN_NAMES], n->name.data, n->name.size) &&
      push_end(&c[FNABI_COLUMN_NAME_OFFSETS], c[FNABI_COLUMN_NAMES].size) &&
      fnabi_vector_append(&c[FNABI_COLUMN_REFS], n->ref.data, n->ref.size) &&
      push_end(&c[FNABI_COLUMN_REF_OFFSETS], c[FNABI_COLUMN_REFS].size));
}

static bool take_dtype(side* s, node* n) {
  fnabi_dtype dtype = {FNABI_DTYPE_SIGNED, 0, "", 0};
  fnabi_error error;
  fnabi_unpack_dtype(&s->r, &dtype, &error);
  n->dtype = fnabi_dtype_table_add(&s->columns->dtypes, &dtype);
  return n->dtype >= 0;
}

static bool take_shape(side* s, node* n) {
  if (fnabi_unpack_nil(&s->r)) return true;
  n->flags |= FNABI_NODE_RANKED;
  for (size_t rank = fnabi_take_count(&s->r); rank > 0; rank--) {
    int64_t dim = fnabi_unpack_nil(&s->r) ? -1 : fnabi_take_int(&s->r);
    if (!push64(&s->column[FNABI_COLUMN_DIMS], (size_t)dim)) return false;
  }
  return true;
}

static bool take_type(side* s, node n);

static bool take_types(side* s, unsigned depth) {
  for (size_t count = fnabi_take_count(&s->r); count > 0; count--)
    if (!take_type(s, (node){.depth = depth})) return false;
  return true;
}

static void take_name(side* s, node* n) {
  n->flags |= FNABI_NODE_NAMED;
  n->name = fnabi_take_text(&s->r);
}

/* Adds a type; `n` has its depth and its name. The decoder has limited how deep
 * types nest. */
static bool take_type(side* s, node n) {
  n.dtype = -1;
  fnabi_take_count(&s->r);
  n.kind = fnabi_take_int(&s->r);
  switch (n.kind) {
    case FNABI_TYPE_SCALAR:
      return take_dtype(s, &n) && put_node(s, &n);
    case FNABI_TYPE_BUFFER:
      return take_dtype(s, &n) && take_shape(s, &n) && put_node(s, &n);
    case FNABI_TYPE_REF:
      n.ref = fnabi_take_text(&s->r);
      if (n.ref.data != NULL) n.flags |= FNABI_NODE_REF_NAMED;
      return put_node(s, &n);
    case FNABI_TYPE_LIST:
    case FNABI_TYPE_TUPLE:
      return put_node(s, &n) && take_types(s, n.depth + 1);
    case FNABI_TYPE_HOMOGENEOUS_LIST:
      return put_node(s, &n) && take_type(s, (node){.depth = n.depth + 1});
    case FNABI_TYPE_DICT:
      if (!put_node(s, &n)) return false;
      for (size_t count = fnabi_take_count(&s->r); count > 0; count--) {
        node child = {.depth = n.depth + 1};
        fnabi_take_count(&s->r);
        take_name(s, &child);
        if (!take_type(s, child)) return false;
      }
      return true;
    case FNABI_TYPE_NAMED:
      take_name(s, &n);
      return take_type(s, n);
    case FNABI_TYPE_REF_ARRAY: {
      /* the message has the shape after the element, the columns before it */
      fnabi_reader element = s->r;
      fnabi_unpack_skip(&s->r);
      if (!take_shape(s, &n) || !put_node(s, &n)) return false;
      fnabi_reader rest = s->r;
      s->r = element;
      bool good = take_type(s, (node){.depth = n.depth + 1});
      s->r = rest;
      return good;
    }
    default: /* NULL, UNKNOWN */
      return put_node(s, &n);
  }
}

/* Adds a node of SIP, or nothing for a root that is nil; `n` has its key. */
static bool take_sip_node(side* s, node n, int64_t position) {
  fnabi_vector* c = s->column;
  if (fnabi_unpack_nil(&s->r)) return true;
  fnabi_take_count(&s->r);
  n.kind = fnabi_take_int(&s->r);
  bool leaf = n.kind == FNABI_SIP_LEAF;
  int64_t index = leaf ? fnabi_take_int(&s->r) : -1;
  if (!push8(&c[FNABI_COLUMN_KIND], (int)n.kind) ||
      !push8(&c[FNABI_COLUMN_DEPTH], (int)n.depth) ||
      !fnabi_vector_append(&c[FNABI_COLUMN_NAMES], n.name.data, n.name.size) ||
      !push_end(&c[FNABI_COLUMN_NAME_OFFSETS], c[FNABI_COLUMN_NAMES].size) ||
      !push32(&c[FNABI_COLUMN_INDEX], (int32_t)index) ||
      !push32(&c[FNABI_COLUMN_POSITION], (int32_t)position))
    return false;
  for (size_t count = leaf ? 0 : fnabi_take_count(&s->r); count > 0; count--) {
    node child = {.depth = n.depth + 1};
    position = -1;
    fnabi_take_count(&s->r);
    if (n.kind == FNABI_SIP_SEQUENCE)
      position = fnabi_take_int(&s->r);
    else
      take_name(s, &child);
    if (!take_sip_node(s, child, position)) return false;
  }
  return true;
}

/* ----------------------------------------------------------------- one text */

/* Decodes a text of an ABI; *ambiguity is set for declarations only. */
static bool write_text(int32_t abi, fnabi_text text, fnabi_writer* w,
                       const char** ambiguity, fnabi_error* error) {
  const fnabi_known unknown = {-1, NULL};
  switch ((fnabi_abi)abi) {
    case FNABI_ABI_RAW:
      return fnabi_raw_write(text.data, text.size, w, error);
    case FNABI_ABI_SIP:
      return fnabi_sip_write(text.data, text.size, w, error);
    case FNABI_ABI_CCONV:
      return fnabi_cconv_write_signature(text.data, text.size, w, error);
    case FNABI_ABI_IREE_ABI:
      return fnabi_iree_abi_write(text.data, text.size, w, error);
    case FNABI_ABI_DECLARATION:
    case FNABI_ABI_COUNT:
      break;
  }
  return fnabi_declaration_write(text.data, text.size, unknown, unknown, w,
                                 ambiguity, error);
}

static fnabi_ambiguity ambiguity_of(const char* text) {
  return text == NULL   ? FNABI_AMBIGUITY_NONE
         : *text == 'a' ? FNABI_AMBIGUITY_ARITY
         : *text == 'n' ? FNABI_AMBIGUITY_NAMES
                        : FNABI_AMBIGUITY_TYPE;
}

/* Adds what a row has besides its nodes. */
static bool put_row(fnabi_columns* columns, int32_t status, uint64_t offset,
                    fnabi_ambiguity ambiguity, const fnabi_text* kept) {
  fnabi_vector* v = columns->vectors;
  for (int i = 0; i < 2; i++) {
    fnabi_vector* c = v + i * FNABI_COLUMN_SIDE;
    if (!push_end(&c[FNABI_COLUMN_OFFSETS], c[FNABI_COLUMN_KIND].size))
      return false;
  }
  if (!push8(&v[FNABI_COLUMN_STATUS], status)) return false;
  if (columns->abi == FNABI_ABI_DECLARATION &&
      !push8(&v[FNABI_COLUMN_AMBIGUITY], (int)ambiguity))
    return false;
  return kept == NULL ||
         (fnabi_vector_append(&v[FNABI_COLUMN_TEXT], kept->data, kept->size) &&
          push64(&v[FNABI_COLUMN_KEPT], columns->rows) &&
          push64(&v[FNABI_COLUMN_ERROR_OFFSET], (size_t)offset) &&
          push64(&v[FNABI_COLUMN_TEXT_OFFSETS], v[FNABI_COLUMN_TEXT].size));
}

/* Adds a row; when out of memory part of it stays. */
static bool add_text(fnabi_columns* columns, fnabi_text text) {
  if (text.data == NULL)
    return put_row(columns, FNABI_ROW_NULL, 0, FNABI_AMBIGUITY_NONE, NULL);
  fnabi_vector* scratch = &columns->scratch;
  fnabi_error error;
  const char* ambiguity = NULL;
  if (!fnabi_vector_reserve(scratch, 512)) return false;
  fnabi_writer w = {scratch->data, scratch->capacity, 0};
  bool good = write_text(columns->abi, text, &w, &ambiguity, &error);
  if (good && w.size > scratch->capacity) {
    if (!fnabi_vector_reserve(scratch, w.size)) return false;
    w = (fnabi_writer){scratch->data, scratch->capacity, 0};
    good = write_text(columns->abi, text, &w, &ambiguity, &error);
    if (w.size > w.capacity) return false; /* the text has changed */
  }
  if (!good)
    return error.code != FNABI_MEMORY && error.code != FNABI_INTERRUPTED &&
           put_row(columns, error.code, error.offset, FNABI_AMBIGUITY_NONE,
                   &text);
  fnabi_reader r = {scratch->data, w.size, 0};
  fnabi_take_count(&r);
  for (int i = 0; i < 2; i++) {
    side s = {columns, columns->vectors + i * FNABI_COLUMN_SIDE, r};
    if (columns->abi == FNABI_ABI_SIP ? !take_sip_node(&s, (node){0}, -1)
                                      : !take_types(&s, 0))
      return false;
    r = s.r;
  }
  return put_row(columns, FNABI_OK, 0, ambiguity_of(ambiguity),
                 fnabi_columns_keeps(columns) ? &text : NULL);
}

bool fnabi_columns_add_row(fnabi_columns* columns, fnabi_text text) {
  fnabi_columns_mark before = fnabi_columns_mark_of(columns);
  if (add_text(columns, text)) {
    columns->rows++;
    return true;
  }
  fnabi_columns_go_back(columns, &before);
  return false;
}

bool fnabi_columns_add_signature(fnabi_columns* columns, fnabi_reader* r) {
  bool good = true, missing = fnabi_unpack_nil(r);
  if (!missing) {
    size_t count = fnabi_take_count(r);
    for (int i = 0; i < 2 && good; i++) {
      side s = {columns, columns->vectors + i * FNABI_COLUMN_SIDE, *r};
      good = take_types(&s, 0);
      *r = s.r;
    }
    for (; count > 2; count--) fnabi_unpack_skip(r);
  }
  good = good && put_row(columns, missing ? FNABI_ROW_NULL : FNABI_OK, 0,
                         FNABI_AMBIGUITY_NONE, NULL);
  columns->rows += good;
  return good;
}
