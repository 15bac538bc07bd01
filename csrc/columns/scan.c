/* The exports of many modules as one table. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "columns/arrow.h"
#include "columns/columns.h"
#include "module/vmfb.h"

/* --------------------------------------------------------------------- table
 */

/* The columns of texts; each has three vectors: where texts end, the texts, and
 * whether there is one. */
enum { NAME, MODULE, FUNCTION, CCONV, DECLARATION, PATH, WHY, TEXTS };
enum { ENDS, BYTES, PRESENT, TEXT_VECTORS };
enum {
  ORDINALS = TEXTS * TEXT_VECTORS, /* int64_t; -1: null */
  SOURCES,                         /* int8_t; -1: null; likewise the others */
  DOUBTS,
  CODES,    /* uint8_t; FNABI_OK: null */
  OFFSETS,  /* int64_t; -1: null */
  MESSAGES, /* the message of each row */
  VECTORS
};

struct fnabi_scan {
  size_t rows, bad;
  fnabi_vector vectors[VECTORS];
  fnabi_columns* columns; /* the signatures */
  fnabi_vector path, file, exports;
};

static const char* const sources[] = {"iree.abi", "iree.abi.declaration", "f",
                                      "cconv"};
static const char* const doubts[] = {"arity", "names", "type"};
#define COUNT(array) (sizeof(array) / sizeof *(array))

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
  for (int i = 0; i < VECTORS; i++) free(scan->vectors[i].data);
  fnabi_columns_free(scan->columns);
  free(scan->path.data);
  free(scan->file.data);
  free(scan->exports.data);
  free(scan);
}

size_t fnabi_scan_rows(const fnabi_scan* scan) { return scan->rows; }
size_t fnabi_scan_bad(const fnabi_scan* scan) { return scan->bad; }

int64_t fnabi_scan_message(const fnabi_scan* scan, uint8_t* out,
                           size_t capacity) {
  const fnabi_vector* messages = &scan->vectors[MESSAGES];
  fnabi_writer w = {out, capacity, 0};
  fnabi_pack_close(&w, fnabi_pack_open(&w), scan->rows);
  fnabi_put(&w, messages->data, messages->size);
  return (int64_t)w.size;
}

/* How much there is, to go back to. */
typedef struct mark {
  size_t rows, bad, column_rows, sizes[VECTORS], columns[FNABI_COLUMN_COUNT];
} mark;

static mark mark_of(const fnabi_scan* scan) {
  mark m = {
      .rows = scan->rows, .bad = scan->bad, .column_rows = scan->columns->rows};
  for (int i = 0; i < VECTORS; i++) m.sizes[i] = scan->vectors[i].size;
  for (int i = 0; i < FNABI_COLUMN_COUNT; i++)
    m.columns[i] = scan->columns->vectors[i].size;
  return m;
}

static void go_back(fnabi_scan* scan, const mark* m) {
  scan->rows = m->rows;
  scan->bad = m->bad;
  scan->columns->rows = m->column_rows;
  for (int i = 0; i < VECTORS; i++) scan->vectors[i].size = m->sizes[i];
  for (int i = 0; i < FNABI_COLUMN_COUNT; i++)
    scan->columns->vectors[i].size = m->columns[i];
}

/* A row but for its signature, whose message stands between the two. */
typedef struct row {
  fnabi_text texts[TEXTS];
  int64_t ordinal, offset; /* -1: null */
  int source, doubt;       /* -1: null */
  int32_t code;
  const uint8_t *begin, *end;
} row;

#define NO_ROW {.ordinal = -1, .offset = -1, .source = -1, .doubt = -1}

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

static void pack_row(fnabi_writer* w, const row* r) {
  fnabi_pack_array(w, 10);
  pack_text(w, r->texts[NAME]);
  pack_text(w, r->texts[MODULE]);
  pack_text(w, r->texts[FUNCTION]);
  pack_number(w, r->ordinal);
  pack_text(w, r->texts[CCONV]);
  pack_name(w, sources, r->source);
  if (r->begin == r->end)
    fnabi_pack_nil(w);
  else
    fnabi_put(w, r->begin, (size_t)(r->end - r->begin));
  pack_text(w, r->texts[DECLARATION]);
  pack_name(w, doubts, r->doubt);
  if (r->code == FNABI_OK) {
    fnabi_pack_nil(w);
    return;
  }
  fnabi_pack_array(w, 4);
  fnabi_pack_ascii(w, fnabi_code_name(r->code));
  pack_number(w, r->offset);
  pack_text(w, r->texts[PATH]);
  pack_text(w, r->texts[WHY]);
}

/* A text behind those that are there, with escapes for what is not UTF-8. */
static bool put_text(fnabi_vector* v, fnabi_text text) {
  const uint8_t* bytes = (const uint8_t*)text.data;
  if (text.size != 0 && fnabi_is_utf8(bytes, text.size)) {
    if (!fnabi_vector_append(&v[BYTES], bytes, text.size)) return false;
  } else {
    for (size_t i = 0; i < text.size;) {
      static const char hex[] = "0123456789abcdef";
      size_t size = fnabi_utf8_size(bytes + i, text.size - i);
      const char escape[4] = {'\\', 'x', hex[bytes[i] >> 4],
                              hex[bytes[i] & 15]};
      if (!(size != 0 ? fnabi_vector_append(&v[BYTES], bytes + i, size)
                      : fnabi_vector_append(&v[BYTES], escape, sizeof escape)))
        return false;
      i += size != 0 ? size : 1;
    }
  }
  uint8_t present = text.data != NULL;
  if (v[BYTES].size > INT32_MAX) return false;
  int32_t end = (int32_t)v[BYTES].size;
  return fnabi_vector_append(&v[ENDS], &end, sizeof end) &&
         fnabi_vector_append(&v[PRESENT], &present, 1);
}

static bool put_row(fnabi_scan* scan, const row* r) {
  fnabi_vector* v = scan->vectors;
  int8_t source = (int8_t)r->source, doubt = (int8_t)r->doubt;
  uint8_t code = (uint8_t)r->code;
  for (int i = 0; i < TEXTS; i++)
    if (!put_text(&v[i * TEXT_VECTORS], r->texts[i])) return false;
  if (!fnabi_vector_append(&v[ORDINALS], &r->ordinal, sizeof r->ordinal) ||
      !fnabi_vector_append(&v[OFFSETS], &r->offset, sizeof r->offset) ||
      !fnabi_vector_append(&v[SOURCES], &source, 1) ||
      !fnabi_vector_append(&v[DOUBTS], &doubt, 1) ||
      !fnabi_vector_append(&v[CODES], &code, 1))
    return false;
  fnabi_writer w = {NULL, 0, 0};
  pack_row(&w, r);
  if (!fnabi_vector_reserve(&v[MESSAGES], w.size)) return false;
  w = (fnabi_writer){v[MESSAGES].data + v[MESSAGES].size, w.size, 0};
  pack_row(&w, r);
  v[MESSAGES].size += w.size;
  scan->rows++;
  scan->bad += code != FNABI_OK;
  return true;
}

/* A row without a signature. */
static bool put_bad(fnabi_scan* scan, const row* r) {
  static const uint8_t nil = 0xC0;
  fnabi_reader nothing = {&nil, 1, 0};
  return fnabi_columns_add_signature(scan->columns, &nothing) &&
         put_row(scan, r);
}

/* ------------------------------------------------------------------- modules
 */

enum { WORDS = 256 };

/* What is wrong, in words. */
static fnabi_text explain(int32_t code, fnabi_text expected, char out[WORDS]) {
  fnabi_writer w = {(uint8_t*)out, WORDS, 0};
  const char *text = fnabi_code_text(code), *link = ", expected ";
  fnabi_put(&w, text, strlen(text));
  if (expected.data != NULL && w.size + strlen(link) + expected.size <= WORDS) {
    fnabi_put(&w, link, strlen(link));
    fnabi_put(&w, expected.data, expected.size);
  }
  return (fnabi_text){out, w.size};
}

static fnabi_text text_of(const char* ascii) {
  return (fnabi_text){ascii, ascii == NULL ? 0 : strlen(ascii)};
}

static bool put_bad_module(fnabi_scan* scan, fnabi_text name,
                           const fnabi_error* error) {
  char words[WORDS];
  row r = NO_ROW;
  r.texts[NAME] = name;
  r.code = error->code;
  r.offset = (int64_t)error->offset;
  r.texts[PATH] = text_of(error->path);
  r.texts[WHY] = explain(error->code, text_of(error->expected), words);
  return put_bad(scan, &r);
}

/* A text, or one without data for nil. */
static bool take_text(fnabi_reader* r, fnabi_text* text) {
  *text = (fnabi_text){NULL, 0};
  return fnabi_unpack_nil(r) || fnabi_unpack_text(r, &text->data, &text->size);
}

static int index_of(fnabi_text text, const char* const* names, size_t count) {
  for (size_t i = 0; i < count && text.data != NULL; i++)
    if (strlen(names[i]) == text.size &&
        memcmp(names[i], text.data, text.size) == 0)
      return (int)i;
  return -1;
}

/* One export of the message of fnabi_vmfb_exports. */
static bool add_export(fnabi_scan* scan, fnabi_text name, fnabi_text module,
                       fnabi_reader* r) {
  static const char* const declaration[] = {"iree.abi.declaration"};
  row out = NO_ROW;
  char words[WORDS];
  size_t count;
  fnabi_text text, expected;
  out.texts[NAME] = name;
  out.texts[MODULE] = module;
  if (!fnabi_unpack_array(r, &count) || !take_text(r, &out.texts[FUNCTION]) ||
      !fnabi_unpack_int(r, &out.ordinal) || !take_text(r, &out.texts[CCONV]) ||
      !fnabi_unpack_array(r, &count))
    return false;
  for (; count > 0; count -= 2) { /* keys and values; the last one counts */
    fnabi_text key, value;
    if (!take_text(r, &key) || !take_text(r, &value)) return false;
    if (index_of(key, declaration, 1) == 0) out.texts[DECLARATION] = value;
  }
  if (!take_text(r, &text)) return false;
  out.source = index_of(text, sources, COUNT(sources));
  out.begin = r->data + r->at;
  if (!fnabi_columns_add_signature(scan->columns, r)) return false;
  out.end = r->data + r->at;
  if (!take_text(r, &text)) return false;
  out.doubt = index_of(text, doubts, COUNT(doubts));
  fnabi_reader problem = *r;
  if (!fnabi_unpack_skip(r)) return false;
  if (out.source < 0) {
    int64_t code;
    if (!fnabi_unpack_array(&problem, &count) ||
        !fnabi_unpack_int(&problem, &code) ||
        !fnabi_unpack_int(&problem, &out.offset) ||
        !take_text(&problem, &expected) ||
        !take_text(&problem, &out.texts[PATH]))
      return false;
    out.code = (int32_t)code;
    out.texts[WHY] = explain(out.code, expected, words);
  }
  return fnabi_unpack_skip(r) && fnabi_unpack_skip(r) && put_row(scan, &out);
}

/* The rows of a module; false when there is no memory. */
static bool add_module(fnabi_scan* scan, fnabi_text name, const char* data,
                       size_t size, bool lenient) {
  fnabi_error error;
  fnabi_vector* v = &scan->exports;
  int64_t head, all;
  if (fnabi_vmfb_verify(data, size, lenient, &error) < 0)
    return put_bad_module(scan, name, &error);
  for (;;) { /* the module's name, and behind it the exports */
    head = fnabi_vmfb_field(data, size, MODULE_NAME, v->data, v->room, &error);
    if (head < 0) return put_bad_module(scan, name, &error);
    bool fits = (size_t)head <= v->room;
    all = fnabi_vmfb_exports(data, size, fits ? v->data + head : NULL,
                             fits ? v->room - (size_t)head : 0, &error);
    if (all < 0)
      return error.code != FNABI_MEMORY && put_bad_module(scan, name, &error);
    if ((size_t)(head + all) <= v->room) break;
    if (!fnabi_vector_reserve(v, (size_t)(head + all))) return false;
  }
  fnabi_reader r = {v->data, (size_t)(head + all), 0};
  fnabi_text module;
  size_t count;
  if (!take_text(&r, &module) || !fnabi_unpack_array(&r, &count)) return false;
  for (; count > 0; count--)
    if (!add_export(scan, name, module, &r)) return false;
  return true;
}

/* --------------------------------------------------------------------- files
 */

enum { HEAD = 1 << 16, KEPT = 1 << 20 };

/* Reads what is needed of a file; 0 or an errno. The size that a file says its
 * module has is believed as far as there are bytes. */
static int read_file(const char* path, fnabi_vector* file) {
  errno = 0;
  FILE* f = fopen(path, "rb");
  if (f == NULL) return errno != 0 ? errno : EIO;
  int failed = 0;
  size_t wanted = HEAD;
  setvbuf(f, NULL, _IONBF, 0);
  file->size = 0;
  while (wanted > 0) {
    if (!fnabi_vector_reserve(file, wanted)) {
      failed = ENOMEM;
      break;
    }
    size_t got = fread(file->data + file->size, 1, wanted, f);
    file->size += got;
    if (got < wanted) {
      if (ferror(f)) failed = errno != 0 ? errno : EIO;
      break;
    }
    uint64_t extent = fnabi_vmfb_extent((const char*)file->data, file->size);
    uint64_t missing = extent > file->size ? extent - file->size : 0;
    wanted = missing < file->size ? (size_t)missing : file->size;
  }
  fclose(f);
  return failed;
}

static void shrink(fnabi_vector* v) {
  if (v->room <= KEPT) return;
  free(v->data);
  *v = (fnabi_vector){NULL, 0, 0};
}

static bool add_file(fnabi_scan* scan, fnabi_text name, bool lenient,
                     int32_t* failed) {
  fnabi_vector* path = &scan->path;
  path->size = 0;
  if (!fnabi_vector_append(path, name.data, name.size) ||
      !fnabi_vector_append(path, "", 1))
    return false;
  *failed = memchr(path->data, 0, name.size) != NULL
                ? EINVAL
                : read_file((const char*)path->data, &scan->file);
  if (*failed != 0) return true;
  mark before = mark_of(scan);
  bool good = add_module(scan, name, (const char*)scan->file.data,
                         scan->file.size, lenient);
  if (!good) go_back(scan, &before);
  shrink(&scan->file);
  shrink(&scan->exports);
  return good;
}

int64_t fnabi_scan_files(fnabi_scan* scan, const uint8_t* message, size_t size,
                         size_t first, size_t limit, bool lenient,
                         int32_t* failed, fnabi_error* error) {
  fnabi_reader r = {message, size, 0};
  size_t count, done = 0;
  *failed = 0;
  if (!fnabi_unpack_array(&r, &count))
    return fnabi_fail(error, FNABI_MESSAGE, 0, "an array");
  for (size_t i = 0; i < count; i++) {
    fnabi_text name;
    if (!fnabi_unpack_text(&r, &name.data, &name.size))
      return fnabi_fail(error, FNABI_MESSAGE, done, "names");
    if (i < first) continue;
    if (scan->rows >= limit) break;
    if (!add_file(scan, name, lenient, failed))
      return fnabi_fail(error, FNABI_MEMORY, done, NULL);
    if (*failed != 0) break;
    done++;
  }
  return (int64_t)done;
}

int64_t fnabi_scan_fail(fnabi_scan* scan, const char* file, size_t file_size,
                        int32_t code, const char* why, size_t why_size,
                        fnabi_error* error) {
  row r = NO_ROW;
  mark before = mark_of(scan);
  r.texts[NAME] = (fnabi_text){file, file_size};
  r.code = code;
  r.texts[WHY] = (fnabi_text){why, why_size};
  if (put_bad(scan, &r)) return 0;
  go_back(scan, &before);
  return fnabi_fail(error, FNABI_MEMORY, 0, NULL);
}

/* --------------------------------------------------------------------- Arrow
 */

enum { CHILDREN = 14, COLUMN_INPUTS = 2 };

int64_t fnabi_scan_schema(struct ArrowSchema* out) {
  static const fnabi_arrow_field fields[] = {
      {"", "+s", NULL, CHILDREN},
      {"file", "u", NULL, 0},
      {"module", "u", NULL, 0},
      {"function", "u", NULL, 0},
      {"ordinal", "l", NULL, 0},
      {"calling_convention", "u", NULL, 0},
      {"source", "c", "u", 0},
      {"inputs", "n", NULL, 0}, /* these two are taken from the columns */
      {"results", "n", NULL, 0},
      {"declaration", "u", NULL, 0},
      {"doubt", "c", "u", 0},
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

/* A copy of a buffer, a zero before it if it has offsets. */
static bool copy_buffer(struct ArrowArray* out, int i, const fnabi_vector* v,
                        size_t before) {
  uint8_t* made = fnabi_arrow_make_buffer(out, i, before + v->size);
  if (made == NULL) return false;
  if (v->size != 0) memcpy(made + before, v->data, v->size);
  return true;
}

static bool add_text(struct ArrowArray* out, const fnabi_scan* scan, int text) {
  const fnabi_vector* v = &scan->vectors[text * TEXT_VECTORS];
  struct ArrowArray* child = fnabi_arrow_add_child(out);
  if (child == NULL || !fnabi_arrow_open(child, NULL, scan->rows, 3, 0))
    return false;
  FNABI_ARROW_VALIDITY(child, v[PRESENT].data[i] != 0);
  return copy_buffer(child, 1, &v[ENDS], sizeof(int32_t)) &&
         copy_buffer(child, 2, &v[BYTES], 0);
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

static void put_ascii(fnabi_writer* w, const char* text) {
  fnabi_put(w, text, strlen(text));
}

static void write_source(fnabi_writer* w, const fnabi_columns* columns,
                         size_t i) {
  (void)columns;
  put_ascii(w, sources[i]);
}

static void write_doubt(fnabi_writer* w, const fnabi_columns* columns,
                        size_t i) {
  (void)columns;
  put_ascii(w, doubts[i]);
}

static void write_code(fnabi_writer* w, const fnabi_columns* columns,
                       size_t i) {
  (void)columns;
  put_ascii(w, fnabi_code_name((int32_t)i));
}

static bool add_name(struct ArrowArray* out, const fnabi_scan* scan, int vector,
                     size_t count, fnabi_arrow_entry_writer* write) {
  const fnabi_vector* v = &scan->vectors[vector];
  struct ArrowArray* child = fnabi_arrow_add_child(out);
  if (child == NULL || !fnabi_arrow_open(child, NULL, scan->rows, 2, 0))
    return false;
  if (vector == CODES)
    FNABI_ARROW_VALIDITY(child, v->data[i] != FNABI_OK);
  else
    FNABI_ARROW_VALIDITY(child, (int8_t)v->data[i] >= 0);
  return copy_buffer(child, 1, v, 0) &&
         fnabi_arrow_set_dictionary(child, NULL, count, write);
}

/* The signatures, taken out of the array of the columns. */
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
  if (add_text(out, scan, NAME) && add_text(out, scan, MODULE) &&
      add_text(out, scan, FUNCTION) && add_number(out, scan, ORDINALS) &&
      add_text(out, scan, CCONV) &&
      add_name(out, scan, SOURCES, COUNT(sources), write_source) &&
      add_signatures(out, scan->columns) && add_text(out, scan, DECLARATION) &&
      add_name(out, scan, DOUBTS, COUNT(doubts), write_doubt) &&
      add_name(out, scan, CODES, FNABI_CODE_COUNT, write_code) &&
      add_number(out, scan, OFFSETS) && add_text(out, scan, PATH) &&
      add_text(out, scan, WHY))
    return 0;
  fnabi_arrow_release(out);
  return -1;
}
