/* arrow_data.h - Arrow data of any layout, made of buffers that the test has. */
#ifndef ARROW_DATA_H
#define ARROW_DATA_H

#include "check.h"
#include "many/arrow.h"

enum { DATA_MOST = 512, DATA_CHILDREN = 16 };

typedef struct arrow_data {
  struct ArrowSchema schema, *schemas[DATA_CHILDREN];
  struct ArrowArray array, *arrays[DATA_CHILDREN];
  const void* buffers[5];
} arrow_data;

static arrow_data data_pool[DATA_MOST];
static size_t data_used;

/* Data without children, until `data_used` is zero again. */
static inline arrow_data* make_data(const char* format, int64_t length,
                                    const void* const* buffers, size_t count) {
  CHECK(data_used < DATA_MOST && count <= 5);
  arrow_data* made = &data_pool[data_used++];
  memset(made, 0, sizeof *made);
  memcpy(made->buffers, buffers, count * sizeof *buffers);
  made->schema.format = format;
  made->schema.children = made->schemas;
  made->array.length = length;
  made->array.n_buffers = (int64_t)count;
  made->array.buffers = made->buffers;
  made->array.children = made->arrays;
  made->array.null_count = count > 0 && buffers[0] != NULL ? -1 : 0;
  return made;
}

/* DATA(format, length, buffer...): the first buffer is the validity or NULL. */
#define BUFFERS(...)            \
  (const void*[]){__VA_ARGS__}, \
      sizeof((const void*[]){__VA_ARGS__}) / sizeof(void*)
#define DATA(format, length, ...) \
  make_data(format, length, BUFFERS(__VA_ARGS__))

/* Adds a field of that name. */
static inline arrow_data* with_field(arrow_data* to, const char* name,
                                     arrow_data* child) {
  CHECK(to->schema.n_children < DATA_CHILDREN);
  child->schema.name = name;
  to->schemas[to->schema.n_children++] = &child->schema;
  to->arrays[to->array.n_children++] = &child->array;
  return to;
}

static inline arrow_data* with_child(arrow_data* to, arrow_data* child) {
  return with_field(to, "", child);
}

static inline arrow_data* with_dictionary(arrow_data* to, arrow_data* values) {
  to->schema.dictionary = &values->schema;
  to->array.dictionary = &values->array;
  return to;
}

#endif /* ARROW_DATA_H */
