/* The table of a scan: a row for each export, and for each file that is no
 * module. */
#include "many/scan_table.h"

#include <stdlib.h>
#include <string.h>

#include "many/rows.h"

const char* const fnabi_scan_sources[FNABI_SCAN_SOURCE_COUNT] = {
    "iree.abi", "iree.abi.declaration", "f", "bytecode", "cconv"};
const char* const fnabi_scan_ambiguities[FNABI_SCAN_AMBIGUITY_COUNT] = {
    "arity", "names", "type"};

/* ---------------------------------------------------------------- container */

fnabi_scan* fnabi_scan_new(void) {
  fnabi_scan* scan = calloc(1, sizeof *scan);
  if (scan == NULL) return NULL;
  scan->columns = fnabi_columns_new(FNABI_ABI_IREE_ABI, 0);
  if (scan->columns != NULL) return scan;
  free(scan);
  return NULL;
}

void fnabi_scan_free(fnabi_scan* scan) {
  if (scan == NULL) return;
  for (int i = 0; i < FNABI_SCAN_VECTORS; i++) free(scan->vectors[i].data);
  fnabi_columns_free(scan->columns);
  free(scan->path.data);
  free(scan->file.data);
  free(scan->exports.data);
  free(scan->segments.data);
  fnabi_needs_shrink(&scan->needs, 0);
  free(scan);
}

size_t fnabi_scan_rows(const fnabi_scan* scan) { return scan->rows; }
size_t fnabi_scan_bad(const fnabi_scan* scan) { return scan->bad; }

int64_t fnabi_scan_message(const fnabi_scan* scan, uint8_t* out,
                           size_t capacity) {
  const fnabi_vector* messages = &scan->vectors[FNABI_SCAN_MESSAGES];
  fnabi_writer w = {out, capacity, 0};
  fnabi_pack_close(&w, fnabi_pack_open(&w), scan->rows);
  fnabi_put(&w, messages->data, messages->size);
  return (int64_t)w.size;
}

fnabi_scan_mark fnabi_scan_mark_of(const fnabi_scan* scan) {
  fnabi_scan_mark mark = {.rows = scan->rows,
                          .bad = scan->bad,
                          .columns = fnabi_columns_mark_of(scan->columns)};
  for (int i = 0; i < FNABI_SCAN_VECTORS; i++)
    mark.sizes[i] = scan->vectors[i].size;
  return mark;
}

void fnabi_scan_go_back(fnabi_scan* scan, const fnabi_scan_mark* mark) {
  scan->rows = mark->rows;
  scan->bad = mark->bad;
  fnabi_columns_go_back(scan->columns, &mark->columns);
  for (int i = 0; i < FNABI_SCAN_VECTORS; i++)
    scan->vectors[i].size = mark->sizes[i];
}

/* --------------------------------------------------------------------- rows */

static void pack_text(fnabi_writer* w, fnabi_text text) {
  if (text.data == NULL)
    fnabi_pack_nil(w);
  else
    fnabi_pack_text(w, text.data, text.size);
}

static void pack_name(fnabi_writer* w, const char* const* names, int i) {
  if (i < 0)
    fnabi_pack_nil(w);
  else
    fnabi_pack_ascii(w, names[i]);
}

static void pack_number(fnabi_writer* w, int64_t number) {
  if (number < 0)
    fnabi_pack_nil(w);
  else
    fnabi_pack_int(w, number);
}

static void pack_row(fnabi_writer* w, const fnabi_scan_row* r) {
  fnabi_pack_array(w, 13);
  pack_text(w, r->texts[FNABI_SCAN_FILE]);
  pack_text(w, r->texts[FNABI_SCAN_MODULE]);
  pack_text(w, r->texts[FNABI_SCAN_FUNCTION]);
  pack_number(w, r->ordinal);
  pack_text(w, r->texts[FNABI_SCAN_CCONV]);
  pack_name(w, fnabi_scan_sources, r->source);
  if (r->begin == r->end)
    fnabi_pack_nil(w);
  else
    fnabi_put(w, r->begin, (size_t)(r->end - r->begin));
  pack_text(w, r->texts[FNABI_SCAN_DECLARATION]);
  pack_name(w, fnabi_scan_ambiguities, r->ambiguity);
  if (r->is_async < 0)
    fnabi_pack_nil(w);
  else
    fnabi_pack_bool(w, r->is_async != 0);
  pack_text(w, r->texts[FNABI_SCAN_TARGET]);
  pack_text(w, r->texts[FNABI_SCAN_PARAMETERS]);
  if (r->code == FNABI_OK) {
    fnabi_pack_nil(w);
    return;
  }
  fnabi_pack_array(w, 6);
  fnabi_pack_ascii(w, fnabi_code_name(r->code));
  pack_number(w, r->offset);
  pack_text(w, r->texts[FNABI_SCAN_PATH]);
  pack_text(w, r->reason);
  pack_text(w, r->expected);
  pack_text(w, r->found);
}

/* Adds bytes, with escapes for those that are not UTF-8, to a text. */
static bool put_bytes(fnabi_vector* v, fnabi_text text) {
  const uint8_t* bytes = (const uint8_t*)text.data;
  if (text.size != 0 && fnabi_is_utf8(bytes, text.size))
    return fnabi_vector_append(&v[FNABI_SCAN_BYTES], bytes, text.size);
  for (size_t i = 0; i < text.size;) {
    static const char hex[] = "0123456789abcdef";
    size_t size = fnabi_utf8_size(bytes + i, text.size - i);
    const char escape[4] = {'\\', 'x', hex[bytes[i] >> 4], hex[bytes[i] & 15]};
    if (!(size != 0 ? fnabi_vector_append(&v[FNABI_SCAN_BYTES], bytes + i, size)
                    : fnabi_vector_append(&v[FNABI_SCAN_BYTES], escape,
                                          sizeof escape)))
      return false;
    i += size != 0 ? size : 1;
  }
  return true;
}

/* Ends a text; without one it is null. */
static bool end_text(fnabi_vector* v, bool is_present) {
  uint8_t present = is_present;
  if (v[FNABI_SCAN_BYTES].size > INT32_MAX) return false;
  int32_t end = (int32_t)v[FNABI_SCAN_BYTES].size;
  return fnabi_vector_append(&v[FNABI_SCAN_ENDS], &end, sizeof end) &&
         fnabi_vector_append(&v[FNABI_SCAN_PRESENT], &present, 1);
}

static bool put_part(fnabi_vector* v, const char* link, fnabi_text part) {
  return part.data == NULL ||
         (fnabi_vector_append(&v[FNABI_SCAN_BYTES], link, strlen(link)) &&
          put_bytes(v, part));
}

static bool put_error(fnabi_vector* v, const fnabi_scan_row* r) {
  return put_part(v, "", r->reason) &&
         put_part(v, ", expected ", r->expected) &&
         put_part(v, ", got ", r->found) && end_text(v, r->reason.data != NULL);
}

bool fnabi_scan_put_row(fnabi_scan* scan, const fnabi_scan_row* r) {
  fnabi_vector* v = scan->vectors;
  int8_t source = (int8_t)r->source, ambiguity = (int8_t)r->ambiguity;
  int8_t is_async = (int8_t)r->is_async;
  uint8_t code = (uint8_t)r->code;
  for (int i = 0; i < FNABI_SCAN_ERROR; i++) {
    fnabi_vector* text = &v[i * FNABI_SCAN_TEXT_VECTORS];
    if (!put_bytes(text, r->texts[i]) ||
        !end_text(text, r->texts[i].data != NULL))
      return false;
  }
  if (!put_error(&v[FNABI_SCAN_ERROR * FNABI_SCAN_TEXT_VECTORS], r) ||
      !fnabi_vector_append(&v[FNABI_SCAN_ORDINALS], &r->ordinal,
                           sizeof r->ordinal) ||
      !fnabi_vector_append(&v[FNABI_SCAN_OFFSETS], &r->offset,
                           sizeof r->offset) ||
      !fnabi_vector_append(&v[FNABI_SCAN_SOURCES], &source, 1) ||
      !fnabi_vector_append(&v[FNABI_SCAN_AMBIGUITIES], &ambiguity, 1) ||
      !fnabi_vector_append(&v[FNABI_SCAN_ASYNCS], &is_async, 1) ||
      !fnabi_vector_append(&v[FNABI_SCAN_CODES], &code, 1))
    return false;
  fnabi_writer w = {NULL, 0, 0};
  pack_row(&w, r);
  if (!fnabi_vector_reserve(&v[FNABI_SCAN_MESSAGES], w.size)) return false;
  w = (fnabi_writer){v[FNABI_SCAN_MESSAGES].data + v[FNABI_SCAN_MESSAGES].size,
                     w.size, 0};
  pack_row(&w, r);
  v[FNABI_SCAN_MESSAGES].size += w.size;
  scan->rows++;
  scan->bad += code != FNABI_OK;
  return true;
}

bool fnabi_scan_put_bad(fnabi_scan* scan, const fnabi_scan_row* r) {
  static const uint8_t nil = 0xC0;
  fnabi_reader nothing = {&nil, 1, 0};
  return fnabi_columns_add_signature(scan->columns, &nothing) &&
         fnabi_scan_put_row(scan, r);
}
