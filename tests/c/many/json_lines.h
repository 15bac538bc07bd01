/* json_lines.h - checks of Arrow data as lines of JSON. */
#ifndef JSON_LINES_H
#define JSON_LINES_H

#include "abi/json.h"
#include "check.h"
#include "many/arrow.h"

typedef struct json_rows {
  const struct ArrowSchema* schema;
  const struct ArrowArray* array;
} json_rows;

static inline int64_t write_json(const call* c, uint8_t* out, size_t capacity,
                                 fnabi_error* error) {
  const json_rows* r = c->data;
  return fnabi_arrow_json(r->schema, r->array, (size_t)c->number, c->size, out,
                          capacity, error);
}

/* Checks that each row is one line with one value, whichever rows are written
 * together; text that is not UTF-8 would be no JSON. */
static inline void check_json(const struct ArrowSchema* schema,
                              const struct ArrowArray* array) {
  fnabi_error error = {0};
  json_rows rows = {schema, array};
  size_t count = (size_t)array->length, half = count / 2, sizes[2], size;
  call all = {write_json, &rows, count, 0, 0};
  uint8_t* text = output_of(&all, &size, &error);
  CHECK(text != NULL);
  const char* at = (const char*)text;
  fnabi_json json = {at, at + size, &error};
  for (size_t i = 0; i < count; i++) {
    const char* end = memchr(at, '\n', (size_t)(json.end - at));
    CHECK(fnabi_json_skip(&json, at, 0) == end && end != NULL);
    at = end + 1;
  }
  CHECK(at == json.end);
  for (int i = 0; i < 2; i++) {
    call part = {write_json, &rows, i == 0 ? half : count - half,
                 i == 0 ? 0 : (int64_t)half, 0};
    uint8_t* again = output_of(&part, &sizes[i], &error);
    CHECK(again != NULL && sizes[i] <= size);
    CHECK(memcmp(again, text + (i == 0 ? 0 : size - sizes[1]), sizes[i]) == 0);
    release(again);
  }
  CHECK(sizes[0] + sizes[1] == size);
  release(text);
}

/* The same of columns. */
static inline void check_columns_json(fnabi_columns* columns, int32_t abi) {
  struct ArrowSchema schema;
  struct ArrowArray array;
  CHECK(fnabi_columns_schema(abi, &schema) == 0);
  CHECK(fnabi_columns_array(columns, &array) == 0);
  check_json(&schema, &array);
  array.release(&array);
  schema.release(&schema);
}

#endif /* JSON_LINES_H */
