/* Tables of decoded signatures with other values than fnabi wrote, in any types
 * that have them: each row is text that decodes and is encoded as the same
 * text, or an error, and is the same when it is read alone.
 *
 * The first byte chooses the ABI, the second the types, the third is the number
 * of edits; each has 7 bytes: the array, where, and a number. Lines follow. */
#include "fuzz.h"
#include "many/decoders.h"

enum { EDITS = 8, EDIT = 7 };

/* Elements that may have any value. */
typedef struct values {
  uint8_t* data;
  size_t size, width;
} values;

enum { VALUES = 128 };
typedef struct all_values {
  size_t count;
  values of[VALUES];
} all_values;

static void add_values(all_values* all, const void* data, int64_t count,
                       size_t width) {
  if (count > 0 && data != NULL && all->count < VALUES)
    all->of[all->count++] =
        (values){(uint8_t*)(uintptr_t)data, (size_t)count * width, width};
}

/* Finds the numbers, indexes, validity and texts of an array; offsets are
 * structure. */
static void find_values(all_values* all, const struct ArrowSchema* schema,
                        const struct ArrowArray* array) {
  char format = schema->format[0];
  int64_t count = array->length;
  if (array->n_buffers > 0) add_values(all, array->buffers[0], count / 8, 1);
  if (strchr("cC", format) != NULL) {
    add_values(all, array->buffers[1], count, 1);
  } else if (strchr("sS", format) != NULL) {
    add_values(all, array->buffers[1], count, 2);
  } else if (strchr("iI", format) != NULL) {
    add_values(all, array->buffers[1], count, 4);
  } else if (strchr("lL", format) != NULL) {
    add_values(all, array->buffers[1], count, 8);
  } else if (strchr("uz", format) != NULL) {
    add_values(all, array->buffers[2],
               ((const int32_t*)array->buffers[1])[count], 1);
  } else if (strchr("UZ", format) != NULL) {
    add_values(all, array->buffers[2],
               ((const int64_t*)array->buffers[1])[count], 1);
  }
  if (schema->dictionary != NULL)
    find_values(all, schema->dictionary, array->dictionary);
  for (int64_t i = 0; i < schema->n_children; i++)
    find_values(all, schema->children[i], array->children[i]);
}

static void edit(all_values* all, input* in) {
  uint32_t which = take(in, 1), where = take(in, 2);
  int64_t number = (int32_t)take(in, 4);
  if (all->count == 0) return;
  values* v = &all->of[which % all->count];
  memcpy(v->data + where % (v->size / v->width) * v->width, &number, v->width);
}

/* Texts of the ABI are decoded, and encoded as they are. */
static void check_text(int32_t abi, const uint8_t* text, size_t size) {
  fnabi_error error;
  int64_t offsets[] = {0, (int64_t)size}, end;
  char* copy = exact(text, size);
  uint8_t* again = exact(NULL, size);
  const void* status;
  size_t one;
  fnabi_columns* columns = fnabi_columns_new(abi, FNABI_DECODER_BEST);
  CHECK(columns != NULL);
  CHECK(fnabi_columns_decode(columns, copy, size, offsets, 8, NULL, 0, 1,
                             &error) == 1);
  fnabi_columns_read(columns, FNABI_COLUMN_STATUS, &status, &one);
  CHECK(*(const uint8_t*)status == FNABI_OK);
  CHECK(fnabi_columns_encode(columns, 0, 1, &end, again, size, &error) ==
        (int64_t)size);
  CHECK(memcmp(again, text, size) == 0);
  fnabi_columns_free(columns);
  release(again);
  release(copy);
}

static void check_encoding(int32_t abi, const struct ArrowSchema* schema,
                           const struct ArrowArray* array) {
  fnabi_error error = {0};
  size_t rows = (size_t)array->length, failed = rows, at = 0;
  int64_t* ends = calloc(rows + 1, sizeof *ends);
  uint8_t* status = calloc(rows + 1, 1);
  CHECK(ends != NULL && status != NULL);
  int64_t size = fnabi_columns_encode_arrow(abi, schema, array, 0, rows, ends,
                                            status, NULL, 0, &error);
  CHECK(size >= 0);
  uint8_t* text = exact(NULL, (size_t)size);
  CHECK(fnabi_columns_encode_arrow(abi, schema, array, 0, rows, ends, status,
                                   text, (size_t)size, &error) == size);
  for (size_t row = 0; row < rows; row++) {
    size_t part = (size_t)ends[row] - at;
    int64_t end;
    uint8_t code;
    CHECK(fnabi_columns_encode_arrow(abi, schema, array, row, 1, &end, &code,
                                     NULL, 0, &error) == (int64_t)part);
    CHECK(code == status[row]);
    if (code == FNABI_OK) {
      check_text(abi, text + at, part);
    } else {
      CHECK(part == 0 && (code < FNABI_CODE_COUNT || code == FNABI_ROW_NULL));
      if (code != FNABI_ROW_NULL && failed == rows) failed = row;
    }
    at += part;
  }
  int64_t all = fnabi_columns_encode_arrow(abi, schema, array, 0, rows, ends,
                                           NULL, NULL, 0, &error);
  CHECK(all == (failed == rows ? size : -1));
  CHECK(all >= 0 || (error.code == status[failed] && error.offset == failed));
  release(text);
  free(status);
  free(ends);
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  input in = {bytes, size};
  /* declarations have no encoder */
  int32_t abi = (int32_t)take(&in, 1) % FNABI_ABI_DECLARATION;
  int which = (int)take(&in, 1) % ARROW_TYPES;
  input edits = take_part(&in, take(&in, 1) % (EDITS + 1) * EDIT);
  fnabi_columns* columns = decoded_lines(abi, FNABI_DECODER_BEST,
                                         (const char*)in.data, in.size, true);
  struct ArrowSchema schema;
  struct ArrowArray array;
  export_as(columns, abi, which, &schema, &array);
  all_values all = {0};
  find_values(&all, &schema, &array);
  while (edits.size > 0) edit(&all, &edits);
  check_encoding(abi, &schema, &array);
  array.release(&array);
  schema.release(&schema);
  fnabi_columns_free(columns);
  return 0;
}
