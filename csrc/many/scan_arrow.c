/* The table of a scan as Arrow data. */
#include "many/arrow.h"
#include "many/scan_table.h"

enum { CHILDREN = 17, COLUMN_INPUTS = 2 };

int64_t fnabi_scan_schema(struct ArrowSchema* out) {
  static const fnabi_arrow_field fields[] = {
      {"", "+s", NULL, CHILDREN},
      {"file", "u", NULL, 0},
      {"module", "u", NULL, 0},
      {"function", "u", NULL, 0},
      {"ordinal", "l", NULL, 0},
      {"calling_convention", "u", NULL, 0},
      {"source", "c", "u", 0},
      {"inputs", "n", NULL,
       0}, /* the schemas of these two come from the columns */
      {"results", "n", NULL, 0},
      {"declaration", "u", NULL, 0},
      {"ambiguity", "c", "u", 0},
      {"async", "b", NULL, 0},
      {"target", "u", NULL, 0},
      {"parameters", "u", NULL, 0},
      {"error_code", "C", "u", 0},
      {"error_offset", "l", NULL, 0},
      {"error_path", "u", NULL, 0},
      {"error", "u", NULL, 0},
  };
  const fnabi_arrow_field* f = fields;
  struct ArrowSchema columns;
  if (fnabi_columns_schema(FNABI_ABI_IREE_ABI, &columns) < 0) return -1;
  bool good = fnabi_arrow_make_schema(&f, out);
  for (int i = 0; i < 2 && good; i++) {
    struct ArrowSchema *from = columns.children[COLUMN_INPUTS + i],
                       *to = out->children[6 + i];
    fnabi_arrow_release_schema(to);
    *to = *from;
    from->release = NULL;
  }
  columns.release(&columns);
  if (good) return 0;
  fnabi_arrow_release_schema(out);
  return -1;
}

/* Copies a vector to a buffer, after `before` bytes that are 0. */
static bool copy_buffer(struct ArrowArray* out, int i, const fnabi_vector* v,
                        size_t before) {
  uint8_t* made = fnabi_arrow_make_buffer(out, i, before + v->size);
  if (made == NULL) return false;
  if (v->size != 0) memcpy(made + before, v->data, v->size);
  return true;
}

static bool add_text(struct ArrowArray* out, const fnabi_scan* scan, int text) {
  const fnabi_vector* v = &scan->vectors[text * FNABI_SCAN_TEXT_VECTORS];
  struct ArrowArray* child = fnabi_arrow_add_child(out);
  if (child == NULL || !fnabi_arrow_open(child, NULL, scan->rows, 3, 0))
    return false;
  FNABI_ARROW_VALIDITY(child, v[FNABI_SCAN_PRESENT].data[i] != 0);
  return copy_buffer(child, 1, &v[FNABI_SCAN_ENDS], sizeof(int32_t)) &&
         copy_buffer(child, 2, &v[FNABI_SCAN_BYTES], 0);
}

static bool add_number(struct ArrowArray* out, const fnabi_scan* scan,
                       int vector) {
  const fnabi_vector* v = &scan->vectors[vector];
  const int64_t* numbers = (const int64_t*)(const void*)v->data;
  struct ArrowArray* child = fnabi_arrow_add_child(out);
  if (child == NULL || !fnabi_arrow_open(child, NULL, scan->rows, 2, 0))
    return false;
  FNABI_ARROW_VALIDITY(child, numbers[i] >= 0);
  return copy_buffer(child, 1, v, 0);
}

/* Adds a column of indexes into an array of names; -1 is null. */
static bool add_name(struct ArrowArray* out, const fnabi_scan* scan, int vector,
                     const char* const* names, size_t count) {
  const fnabi_vector* v = &scan->vectors[vector];
  struct ArrowArray* child = fnabi_arrow_add_child(out);
  if (child == NULL || !fnabi_arrow_open(child, NULL, scan->rows, 2, 0))
    return false;
  FNABI_ARROW_VALIDITY(child, (int8_t)v->data[i] >= 0);
  return copy_buffer(child, 1, v, 0) &&
         fnabi_arrow_set_dictionary(child, names, count,
                                    fnabi_arrow_write_name);
}

/* Adds a column of 0 and 1; -1 is null. */
static bool add_bool(struct ArrowArray* out, const fnabi_scan* scan,
                     int vector) {
  const uint8_t* values = scan->vectors[vector].data;
  struct ArrowArray* child = fnabi_arrow_add_child(out);
  if (child == NULL || !fnabi_arrow_open(child, NULL, scan->rows, 2, 0))
    return false;
  FNABI_ARROW_VALIDITY(child, (int8_t)values[i] >= 0);
  uint8_t* bits = fnabi_arrow_make_buffer(child, 1, scan->rows / 8 + 1);
  if (bits == NULL) return false;
  for (size_t i = 0; i < scan->rows; i++)
    bits[i / 8] |= (uint8_t)((unsigned)(values[i] == 1) << i % 8);
  return true;
}

static bool add_code(struct ArrowArray* out, const fnabi_scan* scan) {
  const fnabi_vector* v = &scan->vectors[FNABI_SCAN_CODES];
  struct ArrowArray* child = fnabi_arrow_add_child(out);
  if (child == NULL || !fnabi_arrow_open(child, NULL, scan->rows, 2, 0))
    return false;
  FNABI_ARROW_VALIDITY(child, v->data[i] != FNABI_OK);
  return copy_buffer(child, 1, v, 0) && fnabi_arrow_set_codes(child);
}

/* Adds the signatures, moved out of the array of the columns. */
static bool add_signatures(struct ArrowArray* out, fnabi_columns* columns) {
  struct ArrowArray all;
  if (fnabi_columns_array(columns, &all) < 0) return false;
  bool good = true;
  for (int i = 0; i < 2 && good; i++) {
    struct ArrowArray *from = all.children[COLUMN_INPUTS + i],
                      *child = fnabi_arrow_add_child(out);
    good = child != NULL;
    if (!good) break;
    *child = *from;
    from->release = NULL;
  }
  all.release(&all);
  return good;
}

int64_t fnabi_scan_array(fnabi_scan* scan, struct ArrowArray* out) {
  if (!fnabi_arrow_open(out, NULL, scan->rows, 1, CHILDREN)) return -1;
  if (add_text(out, scan, FNABI_SCAN_FILE) &&
      add_text(out, scan, FNABI_SCAN_MODULE) &&
      add_text(out, scan, FNABI_SCAN_FUNCTION) &&
      add_number(out, scan, FNABI_SCAN_ORDINALS) &&
      add_text(out, scan, FNABI_SCAN_CCONV) &&
      add_name(out, scan, FNABI_SCAN_SOURCES, fnabi_scan_sources,
               FNABI_SCAN_SOURCE_COUNT) &&
      add_signatures(out, scan->columns) &&
      add_text(out, scan, FNABI_SCAN_DECLARATION) &&
      add_name(out, scan, FNABI_SCAN_AMBIGUITIES, fnabi_scan_ambiguities,
               FNABI_SCAN_AMBIGUITY_COUNT) &&
      add_bool(out, scan, FNABI_SCAN_ASYNCS) &&
      add_text(out, scan, FNABI_SCAN_TARGET) &&
      add_text(out, scan, FNABI_SCAN_PARAMETERS) && add_code(out, scan) &&
      add_number(out, scan, FNABI_SCAN_OFFSETS) &&
      add_text(out, scan, FNABI_SCAN_PATH) &&
      add_text(out, scan, FNABI_SCAN_ERROR))
    return 0;
  fnabi_arrow_release(out);
  return -1;
}
