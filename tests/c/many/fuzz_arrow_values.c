/* Texts in Arrow arrays of any layout, one inside the other: they decode to the
 * columns of the same texts without Arrow, whichever rows are read; and what
 * the values exceed their storage by is the same for every limit. Structure is
 * sound, as it is trusted; values are any: nulls, indexes outside of their
 * dictionary, bytes that are no text.
 *
 * The first byte chooses the ABI, the second the number of rows. */
#include "base/text.h"
#include "fuzz.h"
#include "many/arrow.h"
#include "many/decoders.h"

enum { ROWS = 40, DEPTH = 4, BLOCKS = 512, OFFSET = 3 };

/* The memory of one run. */
static void* blocks[BLOCKS];
static size_t block_count;

static void* keep(const void* data, size_t size) {
  CHECK(block_count < BLOCKS);
  return blocks[block_count++] = exact(data, size);
}

/* An array, and its texts: `count` from its offset on. */
typedef struct array_of_texts {
  struct ArrowSchema schema;
  struct ArrowArray array;
  const void* buffers[5];
  struct ArrowSchema* child_schemas[2];
  struct ArrowArray* children[2];
  fnabi_text texts[ROWS + OFFSET];
} array_of_texts;

static array_of_texts arrays[DEPTH + 1];

static void set_format(array_of_texts* a, const char* format, int64_t count,
                       int64_t buffers) {
  *a = (array_of_texts){.schema = {.format = format, .name = ""}};
  a->array = (struct ArrowArray){.length = count,
                                 .null_count = -1,
                                 .n_buffers = buffers,
                                 .buffers = a->buffers};
}

/* Makes each text that is not there a null. */
static void set_validity(array_of_texts* a, size_t count) {
  uint8_t bits[(ROWS + OFFSET) / 8 + 1] = {0};
  for (size_t i = 0; i < count; i++)
    if (a->texts[i].data != NULL) bits[i / 8] |= (uint8_t)(1u << i % 8);
  a->buffers[0] = keep(bits, count / 8 + 1);
}

/* Texts with offsets of 4 or 8 bytes. */
static void put_offsets(array_of_texts* a, size_t count, bool wide) {
  int64_t offsets[ROWS + OFFSET + 1] = {0};
  int32_t narrow[ROWS + OFFSET + 1] = {0};
  char data[(ROWS + OFFSET) * 16];
  for (size_t i = 0; i < count; i++) {
    fnabi_text t = a->texts[i];
    if (t.size > 0) memcpy(data + offsets[i], t.data, t.size);
    offsets[i + 1] = offsets[i] + (int64_t)t.size;
    narrow[i + 1] = (int32_t)offsets[i + 1];
  }
  a->buffers[1] = wide ? keep(offsets, (count + 1) * sizeof *offsets)
                       : keep(narrow, (count + 1) * sizeof *narrow);
  a->buffers[2] = keep(data, (size_t)offsets[count]);
}

/* Views: short texts inside, long ones in two buffers by turns. */
static void put_views(array_of_texts* a, size_t count) {
  int32_t views[4 * (ROWS + OFFSET)] = {0}, ends[2] = {0};
  char data[2][(ROWS + OFFSET) * 16];
  for (size_t i = 0; i < count; i++) {
    fnabi_text t = a->texts[i];
    int32_t* v = views + 4 * i;
    v[0] = (int32_t)t.size;
    if (t.size > 12) {
      v[2] = i % 2;
      v[3] = ends[i % 2];
      memcpy(v + 1, t.data, 4);
      memcpy(data[i % 2] + v[3], t.data, t.size);
      ends[i % 2] += v[0];
    } else if (t.size > 0) {
      memcpy(v + 1, t.data, t.size);
    }
  }
  a->buffers[1] = keep(views, count * 16);
  int64_t sizes[2] = {ends[0], ends[1]};
  for (int i = 0; i < 2; i++)
    a->buffers[2 + i] = keep(data[i], (size_t)ends[i]);
  a->buffers[4] = keep(sizes, sizeof sizes);
}

static void put_fixed(array_of_texts* a, size_t count, size_t width) {
  char data[(ROWS + OFFSET) * 16] = {0};
  for (size_t i = 0; i < count; i++) {
    fnabi_text* t = &a->texts[i];
    if (t->data == NULL) continue;
    memcpy(data + i * width, t->data, t->size < width ? t->size : width);
    t->data = keep(data + i * width, width);
    t->size = width;
  }
  a->buffers[1] = keep(data, count * width);
}

static void make_texts(input* in, int layout, size_t count, array_of_texts* a) {
  static const char* const formats[] = {"n",  "u",  "z",   "U",  "Z",
                                        "vu", "vz", "w:4", "w:0"};
  const char* format = formats[layout];
  set_format(a, format, (int64_t)count,
             layout == 0   ? 0
             : layout <= 4 ? 3
             : layout <= 6 ? 5
                           : 2);
  for (size_t i = 0; i < count && layout > 0; i++) {
    uint32_t head = take(in, 1);
    input text = take_part(in, head % 16);
    if (head < 0xC0)
      a->texts[i] = (fnabi_text){(const char*)text.data, text.size};
  }
  if (layout == 0) return;
  if (layout <= 4)
    put_offsets(a, count, layout > 2);
  else if (layout <= 6)
    put_views(a, count);
  else
    put_fixed(a, count, layout == 7 ? 4 : 0);
  set_validity(a, count);
}

static array_of_texts* make(input* in, size_t count, int depth);

/* Indexes of any integer type into texts. */
static void make_dictionary(input* in, size_t count, int depth,
                            array_of_texts* a) {
  static const char* const formats[] = {"c", "C", "s", "S", "i", "I", "l", "L"};
  uint32_t type = take(in, 1) % 8, width = 1u << type / 2;
  size_t entries = take(in, 1) % 8;
  array_of_texts* of = make(in, entries, depth + 1);
  set_format(a, formats[type], (int64_t)count, 2);
  uint8_t indexes[(ROWS + OFFSET) * 8];
  for (size_t i = 0; i < count; i++) {
    int64_t index = (int8_t)take(in, 1);
    memcpy(indexes + i * width, &index, width);
    if (index >= 0 && (size_t)index < entries) a->texts[i] = of->texts[index];
  }
  a->buffers[1] = keep(indexes, count * width);
  a->array.null_count = 0;
  a->schema.dictionary = &of->schema;
  a->array.dictionary = &of->array;
}

static void make_runs(input* in, size_t count, int depth, array_of_texts* a) {
  static const char* const formats[] = {"s", "i", "l"};
  uint32_t type = take(in, 1) % 3, width = 2u << type;
  uint8_t ends[(ROWS + OFFSET) * 8];
  int64_t end = 0;
  size_t runs = 0, starts[ROWS + OFFSET + 1];
  while (end < (int64_t)count) {
    starts[runs] = (size_t)end;
    end += 1 + take(in, 1) % 16;
    memcpy(ends + runs++ * width, &end, width);
  }
  starts[runs] = count;
  array_of_texts* of = make(in, runs, depth + 1);
  set_format(a, "+r", (int64_t)count, 0);
  static struct ArrowSchema end_schemas[DEPTH + 1];
  static struct ArrowArray end_arrays[DEPTH + 1];
  static const void* end_buffers[DEPTH + 1][2];
  end_schemas[depth] = (struct ArrowSchema){.format = formats[type]};
  end_buffers[depth][1] = keep(ends, runs * width);
  end_arrays[depth] = (struct ArrowArray){
      .length = (int64_t)runs, .n_buffers = 2, .buffers = end_buffers[depth]};
  a->child_schemas[0] = &end_schemas[depth];
  a->children[0] = &end_arrays[depth];
  a->child_schemas[1] = &of->schema;
  a->children[1] = &of->array;
  a->schema.n_children = a->array.n_children = 2;
  a->schema.children = a->child_schemas;
  a->array.children = a->children;
  for (size_t run = 0; run < runs; run++)
    for (size_t i = starts[run]; i < starts[run + 1]; i++)
      a->texts[i] = of->texts[run];
}

/* Makes an array with that many rows after its offset, also for its texts. */
static array_of_texts* make(input* in, size_t count, int depth) {
  array_of_texts* a = &arrays[depth];
  uint32_t layout = take(in, 1), offset = take(in, 1) % (OFFSET + 1);
  if (count + offset > ROWS + OFFSET) offset = 0;
  size_t all = count + offset;
  if (layout % 4 == 0 && depth < DEPTH)
    make_dictionary(in, all, depth, a);
  else if (layout % 4 == 1 && depth < DEPTH)
    make_runs(in, all, depth, a);
  else
    make_texts(in, (int)(layout / 4 % 9), all, a);
  a->array.offset = offset;
  a->array.length = (int64_t)count;
  memmove(a->texts, a->texts + offset, count * sizeof *a->texts);
  return a;
}

/* The columns of the texts, without Arrow. */
static fnabi_columns* decode_texts(int32_t abi, const fnabi_text* texts,
                                   size_t count) {
  char data[ROWS * 16];
  int64_t offsets[ROWS + 1] = {0};
  uint8_t bits[ROWS / 8 + 1] = {0};
  fnabi_error error;
  for (size_t i = 0; i < count; i++) {
    if (texts[i].size > 0)
      memcpy(data + offsets[i], texts[i].data, texts[i].size);
    if (texts[i].data != NULL) bits[i / 8] |= (uint8_t)(1u << i % 8);
    offsets[i + 1] = offsets[i] + (int64_t)texts[i].size;
  }
  fnabi_columns* columns = fnabi_columns_new(abi, FNABI_DECODER_REFERENCE);
  CHECK(columns != NULL);
  CHECK(fnabi_columns_decode(columns, data, (size_t)offsets[count], offsets, 8,
                             bits, 0, count, &error) == (int64_t)count);
  return columns;
}

static void check_rows_from(int32_t abi, const struct ArrowSchema* schema,
                            const struct ArrowArray* array, int64_t column,
                            const fnabi_text* texts, size_t first,
                            size_t count) {
  fnabi_error error;
  fnabi_columns* columns = fnabi_columns_new(abi, FNABI_DECODER_BEST);
  CHECK(columns != NULL);
  CHECK(fnabi_columns_decode_arrow(columns, schema, array, column, first, count,
                                   &error) == (int64_t)count);
  fnabi_columns* expected = decode_texts(abi, texts + first, count);
  check_same_columns(columns, expected);
  fnabi_columns_free(expected);
  fnabi_columns_free(columns);
}

static void check_excess(const struct ArrowSchema* schema,
                         const struct ArrowArray* array, int64_t most) {
  int64_t whole = fnabi_arrow_excess(schema, array, -1, INT64_MAX / 2);
  CHECK(whole >= 0);
  CHECK(fnabi_arrow_excess(schema, array, -1, most) ==
        (whole <= most ? whole : most + 1));
}

/* The same array as the second column of a table, which has nulls itself. */
static void check_table(input* in, int32_t abi, array_of_texts* a,
                        size_t rows) {
  uint8_t bits[ROWS / 8 + 1];
  for (size_t i = 0; i <= rows / 8; i++) bits[i] = (uint8_t)take(in, 1);
  for (size_t i = 0; i < rows; i++)
    if ((bits[i / 8] >> i % 8 & 1) == 0) a->texts[i] = (fnabi_text){NULL, 0};
  const void* buffers[] = {keep(bits, rows / 8 + 1)};
  struct ArrowSchema none = {.format = "n", .name = "none"};
  struct ArrowArray nulls = {.length = (int64_t)rows};
  struct ArrowSchema* schemas[] = {&none, &a->schema};
  struct ArrowArray* children[] = {&nulls, &a->array};
  struct ArrowSchema schema = {
      .format = "+s", .n_children = 2, .children = schemas};
  struct ArrowArray array = {.length = (int64_t)rows,
                             .null_count = -1,
                             .n_buffers = 1,
                             .buffers = buffers,
                             .n_children = 2,
                             .children = children};
  check_rows_from(abi, &schema, &array, 1, a->texts, 0, rows);
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  input in = {bytes, size};
  int32_t abi = (int32_t)take(&in, 1) % FNABI_ABI_COUNT;
  size_t rows = take(&in, 1) % (ROWS - OFFSET), first = take(&in, 1);
  array_of_texts* a = make(&in, rows, 0);
  first = rows > 0 ? first % rows : 0;
  check_rows_from(abi, &a->schema, &a->array, -1, a->texts, 0, rows);
  check_rows_from(abi, &a->schema, &a->array, -1, a->texts, first,
                  (rows - first) / 2);
  check_excess(&a->schema, &a->array, take(&in, 2));
  check_table(&in, abi, a, rows);
  while (block_count > 0) release(blocks[--block_count]);
  return 0;
}
