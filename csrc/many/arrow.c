/* Arrow structures: making, moving and freeing them, and streams of them. */
#include "many/arrow.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

bool fnabi_arrow_is(const char* kind, const char* name) {
  return strcmp(kind, name) == 0;
}

/* ------------------------------------------------------------------ schemas */

void fnabi_arrow_release_schema(struct ArrowSchema* schema) {
  for (int64_t i = 0; i < schema->n_children; i++) {
    struct ArrowSchema* child = schema->children[i];
    if (child->release != NULL) child->release(child);
    free(child);
  }
  if (schema->dictionary != NULL) {
    if (schema->dictionary->release != NULL)
      schema->dictionary->release(schema->dictionary);
    free(schema->dictionary);
  }
  free(schema->children);
  schema->release = NULL;
}

bool fnabi_arrow_make_schema(const fnabi_arrow_field** f,
                             struct ArrowSchema* out) {
  const fnabi_arrow_field* self = (*f)++;
  *out = (struct ArrowSchema){.format = self->format,
                              .name = self->name,
                              .flags = ARROW_FLAG_NULLABLE,
                              .release = fnabi_arrow_release_schema};
  if (self->dictionary != NULL) {
    out->dictionary = malloc(sizeof *out);
    if (out->dictionary == NULL) return false;
    *out->dictionary =
        (struct ArrowSchema){.format = self->dictionary,
                             .name = "",
                             .flags = ARROW_FLAG_NULLABLE,
                             .release = fnabi_arrow_release_schema};
  }
  if (self->children == 0) return true;
  out->children = calloc((size_t)self->children, sizeof *out->children);
  if (out->children == NULL) return false;
  while (out->n_children < self->children) {
    struct ArrowSchema* child = malloc(sizeof *child);
    if (child == NULL) return false;
    out->children[out->n_children++] = child;
    child->release = NULL;
    if (!fnabi_arrow_make_schema(f, child)) return false;
  }
  return true;
}

/* ------------------------------------------------------------------- arrays */

/* What an array owns. */
typedef struct holder {
  fnabi_columns* columns; /* or NULL */
  const void* buffers[FNABI_ARROW_BUFFERS];
  void* made[FNABI_ARROW_BUFFERS]; /* those that the array frees */
} holder;

void fnabi_arrow_release(struct ArrowArray* array) {
  holder* h = array->private_data;
  for (int64_t i = 0; i < array->n_children; i++) {
    struct ArrowArray* child = array->children[i];
    if (child->release != NULL) child->release(child);
    free(child);
  }
  if (array->dictionary != NULL) {
    if (array->dictionary->release != NULL)
      array->dictionary->release(array->dictionary);
    free(array->dictionary);
  }
  free(array->children);
  for (int i = 0; i < FNABI_ARROW_BUFFERS; i++) free(h->made[i]);
  fnabi_columns_free(h->columns);
  free(h);
  array->release = NULL;
}

bool fnabi_arrow_open(struct ArrowArray* out, fnabi_columns* columns,
                      size_t length, int buffers, int children) {
  *out = (struct ArrowArray){
      .length = (int64_t)length, .n_buffers = buffers, .release = NULL};
  holder* h = calloc(1, sizeof *h);
  if (children > 0)
    out->children = calloc((size_t)children, sizeof *out->children);
  if (h == NULL || (children > 0 && out->children == NULL)) {
    free(h);
    free(out->children);
    return false;
  }
  if (columns != NULL) fnabi_columns_share(columns);
  h->columns = columns;
  out->buffers = h->buffers;
  out->private_data = h;
  out->release = fnabi_arrow_release;
  return true;
}

static const uint64_t nothing[8]; /* the address of a buffer of no bytes */

void fnabi_arrow_set_buffer(struct ArrowArray* out, int i, const void* data) {
  out->buffers[i] = data != NULL ? data : nothing;
}

void* fnabi_arrow_make_buffer(struct ArrowArray* out, int i, size_t size) {
  void* made = calloc(1, size + FNABI_ARROW_PAD);
  ((holder*)out->private_data)->made[i] = made;
  if (made != NULL) out->buffers[i] = made;
  return made;
}

void fnabi_arrow_replace_buffer(struct ArrowArray* out, int i, void* made) {
  holder* h = out->private_data;
  free(h->made[i]);
  h->made[i] = made;
  h->buffers[i] = made;
}

struct ArrowArray* fnabi_arrow_add_child(struct ArrowArray* out) {
  struct ArrowArray* child = calloc(1, sizeof *child);
  if (child != NULL) out->children[out->n_children++] = child;
  return child;
}

void fnabi_arrow_write_name(fnabi_writer* w, const void* names, size_t i) {
  const char* name = ((const char* const*)names)[i];
  fnabi_put(w, name, strlen(name));
}

bool fnabi_arrow_set_dictionary(struct ArrowArray* out, const void* context,
                                size_t count, fnabi_arrow_entry_writer* write) {
  struct ArrowArray* d = out->dictionary = calloc(1, sizeof *d);
  if (d == NULL || !fnabi_arrow_open(d, NULL, count, 3, 0)) return false;
  fnabi_writer w = {NULL, 0, 0};
  for (size_t i = 0; i < count; i++) write(&w, context, i);
  uint8_t* text = fnabi_arrow_make_buffer(d, 2, w.size);
  int32_t* offsets =
      fnabi_arrow_make_buffer(d, 1, (count + 1) * sizeof *offsets);
  if (text == NULL || offsets == NULL || w.size > INT32_MAX) return false;
  w = (fnabi_writer){text, w.size, 0};
  for (size_t i = 0; i < count; i++) {
    write(&w, context, i);
    offsets[i + 1] = (int32_t)w.size;
  }
  return true;
}

static void write_code(fnabi_writer* w, const void* context, size_t i) {
  (void)context;
  const char* name = fnabi_code_name((int32_t)i);
  fnabi_put(w, name, strlen(name));
}

bool fnabi_arrow_set_codes(struct ArrowArray* out) {
  return fnabi_arrow_set_dictionary(out, NULL, FNABI_CODE_COUNT, write_code);
}

/* ------------------------------------------------------- moving and freeing */

#define MOVE(type)                             \
  do {                                         \
    type* source = from;                       \
    if (source->release == NULL) return false; \
    *(type*)to = *source;                      \
    source->release = NULL;                    \
  } while (0)

bool fnabi_arrow_move(const char* kind, void* from, void* to) {
  if (fnabi_arrow_is(kind, "arrow_schema"))
    MOVE(struct ArrowSchema);
  else if (fnabi_arrow_is(kind, "arrow_array"))
    MOVE(struct ArrowArray);
  else
    MOVE(struct ArrowArrayStream);
  return true;
}
#undef MOVE

void* fnabi_arrow_new(const char* kind) {
  return calloc(1, fnabi_arrow_is(kind, "arrow_schema")
                       ? sizeof(struct ArrowSchema)
                   : fnabi_arrow_is(kind, "arrow_array")
                       ? sizeof(struct ArrowArray)
                       : sizeof(struct ArrowArrayStream));
}

void fnabi_arrow_free(const char* kind, void* object) {
  if (fnabi_arrow_is(kind, "arrow_schema")) {
    struct ArrowSchema* schema = object;
    if (schema->release != NULL) schema->release(schema);
  } else if (fnabi_arrow_is(kind, "arrow_array")) {
    struct ArrowArray* array = object;
    if (array->release != NULL) array->release(array);
  } else {
    struct ArrowArrayStream* stream = object;
    if (stream->release != NULL) stream->release(stream);
  }
  free(object);
}

const char* fnabi_arrow_next(struct ArrowArrayStream* stream,
                             struct ArrowSchema* schema,
                             struct ArrowArray* array) {
  int failed = schema != NULL ? stream->get_schema(stream, schema)
                              : stream->get_next(stream, array);
  if (failed == 0 && (schema == NULL || schema->release != NULL)) return NULL;
  if (failed == 0) return "the stream has no schema";
  const char* text = stream->get_last_error(stream);
  return text != NULL ? text : "the stream failed";
}

int64_t fnabi_arrow_length(const struct ArrowArray* array) {
  return array->release != NULL ? array->length : -1;
}

/* ------------------------------------------------------------------ streams */

static int source_schema(struct ArrowArrayStream* stream,
                         struct ArrowSchema* out) {
  const fnabi_arrow_source* s = stream->private_data;
  return s->schema(s->context, out) < 0 ? ENOMEM : 0;
}

static int source_next(struct ArrowArrayStream* stream,
                       struct ArrowArray* out) {
  const fnabi_arrow_source* s = stream->private_data;
  out->release = NULL;
  return s->next(s->context, out);
}

static const char* source_error(struct ArrowArrayStream* stream) {
  const fnabi_arrow_source* s = stream->private_data;
  return s->problem(s->context);
}

static void release_source(struct ArrowArrayStream* stream) {
  fnabi_arrow_source* s = stream->private_data;
  s->release(s->context);
  free(s);
  stream->release = NULL;
}

int64_t fnabi_arrow_stream(const fnabi_arrow_source* source,
                           struct ArrowArrayStream* out) {
  fnabi_arrow_source* s = malloc(sizeof *s);
  if (s == NULL) return -1;
  *s = *source;
  *out = (struct ArrowArrayStream){source_schema, source_next, source_error,
                                   release_source, s};
  return 0;
}
