/* Schemas, arrays and streams of producers that keep the structure of Arrow and
 * nothing else: release callbacks that forget to say so, streams without a
 * schema or with an error that has no text, moved and empty children, odd names
 * and formats. Everything is released exactly once, whatever is done with it,
 * and tables joined with others have the columns of both.
 *
 * Each byte of the input is a choice. */
#include <errno.h>

#include "fuzz.h"
#include "many/arrow.h"

enum { NODES = 96, SCHEMAS = 64, DEPTH = 3 };

/* A structure of the producer; its parts are other nodes. */
typedef struct node {
  union {
    struct ArrowSchema schema;
    struct ArrowArray array;
  };
  void* children[4];
  const void* buffers[1];
  int released;
  bool forgets; /* to say that it is released */
} node;

static node nodes[NODES];
static size_t node_count;

static node* new_node(input* in) {
  CHECK(node_count < NODES);
  node* n = &nodes[node_count++];
  memset(n, 0, sizeof *n);
  n->forgets = take(in, 1) % 4 == 0;
  return n;
}

/* What is no child any more has been moved, and is released by who has it. */
static void release_schema(struct ArrowSchema* schema) {
  node* n = schema->private_data;
  CHECK(n->released++ == 0);
  for (int64_t i = 0; i < schema->n_children; i++)
    if (schema->children[i]->release != NULL)
      schema->children[i]->release(schema->children[i]);
  if (schema->dictionary != NULL && schema->dictionary->release != NULL)
    schema->dictionary->release(schema->dictionary);
  if (!n->forgets) schema->release = NULL;
}

static void release_array(struct ArrowArray* array) {
  node* n = array->private_data;
  CHECK(n->released++ == 0);
  for (int64_t i = 0; i < array->n_children; i++)
    if (array->children[i]->release != NULL)
      array->children[i]->release(array->children[i]);
  if (!n->forgets) array->release = NULL;
}

static const char metadata[] = "\1\0\0\0\1\0\0\0k\3\0\0\0v\0w"; /* one pair */

/* A struct at the root; below it anything. */
static struct ArrowSchema* make_schema(input* in, int depth) {
  static const char* const formats[] = {"u",  "i",   "+l",   "+s", "C",
                                        "vu", "+vL", "+w:2", "l",  "z",
                                        "",   "xyz", "+m",   "c"};
  static const char* const names[] = {"a",      "inputs", "results", NULL,
                                      "status", "",       "\xFF\"",  "item"};
  node* n = new_node(in);
  struct ArrowSchema* s = &n->schema;
  *s = (struct ArrowSchema){
      .format = depth == 0 ? "+s" : formats[take(in, 1) % 14],
      .name = names[take(in, 1) % 8],
      .flags = ARROW_FLAG_NULLABLE,
      .metadata = take(in, 1) % 4 == 0 ? metadata : NULL,
      .children = (struct ArrowSchema**)(void*)n->children,
      .release = release_schema,
      .private_data = n};
  uint32_t children = depth == 0 ? take(in, 1) % 5 : take(in, 1) % 3;
  if (depth < DEPTH && node_count < SCHEMAS) {
    for (; s->n_children < (int64_t)children && node_count < SCHEMAS;
         s->n_children++)
      n->children[s->n_children] = make_schema(in, depth + 1);
    if (depth > 0 && children == 0 && take(in, 1) % 4 == 0)
      s->dictionary = make_schema(in, DEPTH);
  }
  return s;
}

static const uint8_t valid[] = {0xA6, 0x59, 0xC3}; /* more bits than rows */

/* Arrays of nulls: a struct, whose columns may be longer than it. */
static struct ArrowArray* make_array(input* in, int64_t children,
                                     int64_t length, int64_t offset) {
  node* n = new_node(in);
  struct ArrowArray* a = &n->array;
  *a = (struct ArrowArray){.length = length,
                           .offset = offset,
                           .null_count = take(in, 1) % 2 == 0 ? 0 : -1,
                           .n_buffers = 1,
                           .buffers = n->buffers,
                           .children = (struct ArrowArray**)(void*)n->children,
                           .release = release_array,
                           .private_data = n};
  for (; a->n_children < children; a->n_children++) {
    a->children[a->n_children] =
        make_array(in, 0, length + offset + take(in, 1) % 3, take(in, 1) % 4);
    node* child = (node*)(void*)a->children[a->n_children];
    if (child->array.null_count != 0) *child->buffers = valid;
  }
  return a;
}

static bool is_valid(const struct ArrowArray* a, int64_t i) {
  const uint8_t* bits = *a->buffers;
  i += a->offset;
  return bits == NULL || (bits[i / 8] >> i % 8 & 1) != 0;
}

/* ------------------------------------------------------------------ streams */

typedef struct producer {
  input* in;
  int released;
  const char* problem;
} producer;

/* Fails, gives nothing, or gives a structure, even where it fails. */
static int give(producer* p, bool* gives) {
  static const char* const problems[] = {NULL, "", "it broke", "\xFF\xFE"};
  uint32_t choice = take(p->in, 1);
  p->problem = problems[choice / 8 % 4];
  *gives = choice % 4 >= 2;
  return choice % 4 == 0 || choice % 8 == 2 ? EIO : 0;
}

static int give_schema(struct ArrowArrayStream* s, struct ArrowSchema* out) {
  bool gives;
  int failed = give(s->private_data, &gives);
  if (gives) {
    node_count = 0;
    struct ArrowSchema* made =
        make_schema(((producer*)s->private_data)->in, DEPTH);
    *out = *made;
    made->release = NULL;
  }
  return failed;
}

static int give_array(struct ArrowArrayStream* s, struct ArrowArray* out) {
  bool gives;
  int failed = give(s->private_data, &gives);
  if (gives) {
    node_count = 0;
    struct ArrowArray* made =
        make_array(((producer*)s->private_data)->in, 2, 1, 0);
    *out = *made;
    made->release = NULL;
  }
  return failed;
}

static const char* give_problem(struct ArrowArrayStream* s) {
  return ((producer*)s->private_data)->problem;
}

static void release_stream(struct ArrowArrayStream* s) {
  CHECK(((producer*)s->private_data)->released++ == 0);
}

/* Everything that was given is released when what received it is freed. */
static void check_stream(input* in) {
  producer p = {in, 0, NULL};
  struct ArrowArrayStream* stream = fnabi_arrow_new("arrow_array_stream");
  CHECK(stream != NULL);
  *stream = (struct ArrowArrayStream){give_schema, give_array, give_problem,
                                      release_stream, &p};
  for (int i = 0; i < 4; i++) {
    struct ArrowSchema* schema = fnabi_arrow_new("arrow_schema");
    struct ArrowArray* array = fnabi_arrow_new("arrow_array");
    CHECK(schema != NULL && array != NULL);
    node_count = 0;
    const char* problem = i == 0 ? fnabi_arrow_next(stream, schema, NULL)
                                 : fnabi_arrow_next(stream, NULL, array);
    CHECK(problem == NULL || strlen(problem) < 32);
    CHECK(i > 0 || problem != NULL || schema->release != NULL);
    CHECK(fnabi_arrow_length(array) == (array->release == NULL ? -1 : 1));
    fnabi_arrow_free("arrow_schema", schema);
    fnabi_arrow_free("arrow_array", array);
    for (size_t k = 0; k < node_count; k++) CHECK(nodes[k].released == 1);
  }
  fnabi_arrow_free("arrow_array_stream", stream);
  CHECK(p.released == 1);
}

/* ------------------------------------------------------------------- tables */

/* Whether a schema is a copy of another, with a prefix before its name. */
static void check_copy(const struct ArrowSchema* copy, const char* prefix,
                       const struct ArrowSchema* from) {
  const char* name = from->name != NULL ? from->name : "";
  CHECK(strcmp(copy->format, from->format) == 0);
  CHECK(strncmp(copy->name, prefix, strlen(prefix)) == 0);
  CHECK(strcmp(copy->name + strlen(prefix), name) == 0);
  CHECK((copy->metadata == NULL) == (from->metadata == NULL));
  CHECK(copy->metadata == NULL ||
        memcmp(copy->metadata, from->metadata, sizeof metadata - 1) == 0);
  CHECK(copy->n_children == from->n_children && copy->flags == from->flags);
  for (int64_t i = 0; i < copy->n_children; i++)
    check_copy(copy->children[i], "", from->children[i]);
  CHECK((copy->dictionary == NULL) == (from->dictionary == NULL));
  if (copy->dictionary != NULL)
    check_copy(copy->dictionary, "", from->dictionary);
}

/* The columns of a table beside those of another: all are there, in order. */
static void check_beside(input* in) {
  node_count = 0;
  struct ArrowSchema *table = make_schema(in, 0), *more = make_schema(in, 0);
  bool into = take(in, 1) % 2 != 0;
  int64_t drop = (int64_t)(take(in, 1) % 6) - 2, length = take(in, 1) % 5;
  const char* prefix = into ? "all" : "p_";
  struct ArrowSchema schema;
  struct ArrowArray array;
  if (drop >= table->n_children) drop = FNABI_ARROW_NONE;
  CHECK(fnabi_arrow_beside_schema(table, drop, more, prefix, into, &schema) ==
        0);
  node* a =
      (node*)(void*)make_array(in, table->n_children, length, take(in, 1) % 3);
  node* b = (node*)(void*)make_array(in, more->n_children, length, 0);
  CHECK(fnabi_arrow_beside(&a->array, drop, &b->array, into, &array) == 0);
  CHECK(array.n_children == schema.n_children && array.length == length);
  CHECK(!fnabi_arrow_has_nulls(&array));
  int64_t at = 0;
  for (int64_t i = 0; i < table->n_children; i++)
    if (drop != i && drop != FNABI_ARROW_EVERY)
      check_copy(schema.children[at++], "", table->children[i]);
  for (int64_t i = 0; i < (into ? 1 : more->n_children); i++)
    check_copy(schema.children[at++], prefix, into ? more : more->children[i]);
  CHECK(at == schema.n_children);
  for (int64_t i = 0; i < at; i++) {
    int64_t found = fnabi_arrow_column(&schema, schema.children[i]->name);
    CHECK(found == i || found == FNABI_ARROW_SEVERAL);
    CHECK(array.children[i]->release != NULL);
    CHECK(array.children[i]->length >= length);
  }
  const struct ArrowArray* last = at > 0 ? array.children[at - 1] : NULL;
  for (int64_t i = 0; into && more->n_children > 0 && i < length; i++)
    CHECK(is_valid(last, i) == is_valid(last->children[0], i));
  array.release(&array);
  schema.release(&schema);
  if (a->array.release != NULL) a->array.release(&a->array);
  if (b->array.release != NULL) b->array.release(&b->array);
  table->release(table);
  more->release(more);
  for (size_t i = 0; i < node_count; i++) CHECK(nodes[i].released == 1);
}

/* ----------------------------------------------------------------- requests */

/* A producer's schema as a request: the data fits or does not, and nothing of
 * the request is kept. */
static void check_request(input* in) {
  node_count = 0;
  int32_t abi = (int32_t)take(in, 1) % FNABI_ABI_COUNT;
  struct ArrowSchema schema, *requested = make_schema(in, 0);
  struct ArrowArray array;
  fnabi_error error = {0};
  CHECK(fnabi_columns_schema(abi, &schema) == 0);
  /* often the fields are right, and their types are the producer's */
  for (int64_t i = 0; i < requested->n_children && i < schema.n_children; i++)
    if (take(in, 1) % 2 == 0)
      requested->children[i]->name = schema.children[i]->name;
  int64_t fit = fnabi_arrow_fits(&schema, requested, &error);
  CHECK(fit >= -1 && fit <= FNABI_ARROW_ALWAYS);
  if (fit < 0) {
    check_error(&error, 0);
    CHECK(error.code == FNABI_UNSUPPORTED);
  } else {
    fnabi_columns* columns = fnabi_columns_new(abi, FNABI_DECODER_BEST);
    CHECK(columns != NULL && fnabi_columns_array(columns, &array) == 0);
    fnabi_columns_free(columns);
    if (fit > FNABI_ARROW_NEVER) {
      CHECK(fnabi_arrow_cast(&array, &schema, requested) == 1);
      fnabi_arrow_cast_schema(&schema, requested);
    }
    array.release(&array);
  }
  requested->release(requested);
  for (size_t i = 0; i < node_count; i++) CHECK(nodes[i].released == 1);
  schema.release(&schema);
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  input in = {bytes, size};
  switch (take(&in, 1) % 3) {
    case 0:
      check_stream(&in);
      break;
    case 1:
      check_beside(&in);
      break;
    default:
      check_request(&in);
  }
  return 0;
}
