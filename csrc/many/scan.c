/* The exports of many modules as rows of one table. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/file.h"
#include "base/poll.h"
#include "infer/vmfb_exports.h"
#include "many/rows.h"
#include "many/scan_table.h"
#include "many/take.h"
#include "vmfb/vmfb.h"

/* -------------------------------------------------------------------- files */

enum { HEAD = 1 << 16, KEPT = 1 << 20, SEGMENTS_MOST = 1 << 28 };

/* Reads `wanted` bytes more, or to the end; returns 0 or an errno. */
static int read_more(int file, fnabi_vector* out, size_t wanted, size_t* got) {
  *got = 0;
  if (!fnabi_vector_reserve(out, wanted)) return ENOMEM;
  int failed = fnabi_file_read(file, out->data + out->size, wanted, got);
  out->size += *got;
  return failed;
}

/* Reads the module of a file; returns 0 or an errno. The size in the file's
 * header is trusted step by step: each read at most doubles what is held. Once
 * the module is there, the end of the file is not asked for. */
static int read_module(int file, fnabi_vector* out) {
  size_t wanted = HEAD, got = HEAD;
  int failed = 0;
  out->size = 0;
  while (wanted > 0 && got > 0 && failed == 0) {
    if (!fnabi_vector_reserve(out, wanted)) return ENOMEM;
    failed = fnabi_file_read_some(file, out->data + out->size, wanted, &got);
    out->size += got;
    uint64_t extent = fnabi_vmfb_extent((const char*)out->data, out->size);
    uint64_t missing = extent > out->size ? extent - out->size : 0;
    wanted = missing < out->size ? (size_t)missing : out->size;
  }
  return failed;
}

static void put_big(uint8_t* out, uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i++)
    out[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
}

/* Reads the missing segments that the file has into a message of segments.
 * Returns false if out of memory. */
static bool read_segments(fnabi_scan* scan, int file) {
  enum { ARRAY = 5, HEADER = 11 };
  const fnabi_missing* all = (const void*)scan->needs.missing.data;
  fnabi_vector* out = &scan->segments;
  uint8_t header[HEADER] = {0xDD};
  uint32_t count = 0;
  out->size = 0;
  uint64_t file_size = fnabi_file_size(file);
  if (!fnabi_vector_append(out, header, ARRAY)) return false;
  for (size_t i = 0; i < scan->needs.missing.size / sizeof *all; i++) {
    fnabi_missing one = all[i];
    size_t before = out->size, got;
    if (one.offset > file_size || one.size > file_size - one.offset ||
        one.size > SEGMENTS_MOST - HEADER ||
        before > SEGMENTS_MOST - HEADER - one.size)
      continue;
    header[0] = 0x92;
    header[1] = 0xCE;
    put_big(header + 2, one.ordinal, 4);
    header[6] = 0xC6;
    put_big(header + 7, one.size, 4);
    if (!fnabi_vector_append(out, header, HEADER)) return false;
    if (!fnabi_file_seek(file, one.offset)) {
      got = 0;
    } else {
      int failed = read_more(file, out, (size_t)one.size, &got);
      if (failed == ENOMEM) return false;
    }
    if (got == one.size)
      count++;
    else /* it has become shorter */
      out->size = before;
  }
  put_big(out->data + 1, count, 4);
  return true;
}

/* ------------------------------------------------------------------ modules */

static fnabi_text text_of(const char* ascii) {
  return (fnabi_text){ascii, ascii == NULL ? 0 : strlen(ascii)};
}

static bool put_bad_module(fnabi_scan* scan, fnabi_text name,
                           const fnabi_error* error) {
  fnabi_scan_row r = FNABI_SCAN_NO_ROW;
  r.texts[FNABI_SCAN_FILE] = name;
  r.code = error->code;
  r.offset = (int64_t)error->offset;
  r.texts[FNABI_SCAN_PATH] = text_of(error->path);
  r.reason = text_of(fnabi_code_text(error->code));
  r.expected = text_of(error->expected);
  r.found = text_of(error->found);
  return fnabi_scan_put_bad(scan, &r);
}

static int index_of(fnabi_text text, const char* const* names, size_t count) {
  for (size_t i = 0; i < count && text.data != NULL; i++)
    if (strlen(names[i]) == text.size &&
        memcmp(names[i], text.data, text.size) == 0)
      return (int)i;
  return -1;
}

/* Adds the row of an export from the message of fnabi_vmfb_exports; `shared` has
 * what all rows of the module have. */
static bool add_export(fnabi_scan* scan, const fnabi_scan_row* shared,
                       fnabi_reader* r) {
  fnabi_scan_row out = *shared;
  fnabi_take_count(r);
  out.texts[FNABI_SCAN_FUNCTION] = fnabi_take_text(r);
  out.ordinal = fnabi_take_int(r);
  out.texts[FNABI_SCAN_CCONV] = fnabi_take_text(r);
  /* keys and values; of equal keys the last one counts */
  for (size_t count = fnabi_take_count(r) / 2; count > 0; count--) {
    fnabi_text key = fnabi_take_text(r), value = fnabi_take_text(r);
    if (FNABI_TEXT_IS(key, "iree.abi.declaration"))
      out.texts[FNABI_SCAN_DECLARATION] = value;
  }
  out.source =
      index_of(fnabi_take_text(r), fnabi_scan_sources, FNABI_SCAN_SOURCE_COUNT);
  out.begin = r->data + r->at;
  if (!fnabi_columns_add_signature(scan->columns, r)) return false;
  out.end = r->data + r->at;
  out.ambiguity = index_of(fnabi_take_text(r), fnabi_scan_ambiguities,
                           FNABI_SCAN_AMBIGUITY_COUNT);
  fnabi_reader problem = *r;
  fnabi_unpack_skip(r);
  if (out.source < 0) {
    fnabi_take_count(&problem);
    out.code = (int32_t)fnabi_take_int(&problem);
    out.offset = fnabi_take_int(&problem);
    out.expected = fnabi_take_text(&problem);
    out.texts[FNABI_SCAN_PATH] = fnabi_take_text(&problem);
    out.reason = text_of(fnabi_code_text(out.code));
  }
  fnabi_unpack_skip(r);
  fnabi_unpack_skip(r);
  out.is_async = fnabi_take_bool(r);
  return fnabi_scan_put_row(scan, &out);
}

typedef enum outcome { ADDED, MISSING, NO_MEMORY } outcome;

/* Interrupted work ends as if out of memory: its rows are not kept. */
static int32_t why_not(void) {
  return fnabi_poll(0) ? FNABI_INTERRUPTED : FNABI_MEMORY;
}

/* What a module is read from. */
typedef struct module {
  fnabi_text name, data;
  fnabi_text segments; /* as for fnabi_vmfb_needs_with */
  int file;            /* the descriptor for further segments, or -1 */
  bool partial;        /* whether segments can be asked for */
} module;

static outcome put_error(fnabi_scan* scan, fnabi_text name,
                         const fnabi_error* error) {
  if (error->code == FNABI_INTERRUPTED) return NO_MEMORY;
  return put_bad_module(scan, name, error) ? ADDED : NO_MEMORY;
}

/* Finds the texts of what the module needs, in segments outside of it too. */
static outcome find_needs(fnabi_scan* scan, const module* m,
                          const fnabi_fb* known, fnabi_scan_row* row) {
  fnabi_text segments = m->segments;
  for (int pass = 0;; pass++) {
    if (!fnabi_needs_texts(m->data.data, m->data.size, known, segments,
                           &scan->needs, &row->texts[FNABI_SCAN_TARGET],
                           &row->texts[FNABI_SCAN_PARAMETERS]))
      return NO_MEMORY;
    if (scan->needs.missing.size == 0) return ADDED;
    if (m->partial) return MISSING;
    if (m->file < 0 || pass == 1) return ADDED;
    if (!read_segments(scan, m->file)) return NO_MEMORY;
    segments =
        (fnabi_text){(const char*)scan->segments.data, scan->segments.size};
  }
}

/* Adds the rows of a module: none if segments are missing, and some when out of
 * memory. */
static outcome add_module(fnabi_scan* scan, const module* m, bool lenient) {
  const char* data = m->data.data;
  size_t size = m->data.size;
  fnabi_error error;
  fnabi_vector* v = &scan->exports;
  const fnabi_fb_field* name = &fnabi_vmfb_table.fields[MODULE_NAME];
  fnabi_fb known, fb;
  fnabi_fb_view root;
  fnabi_writer w;
  if (!fnabi_vmfb_walk(data, size, lenient, &known, &error))
    return put_error(scan, m->name, &error);
  for (;;) { /* the module's name, and then its exports */
    w = (fnabi_writer){v->data, v->capacity, 0};
    bool good = fnabi_vmfb_begin(data, size, &known, &fb, &root, &w, &error);
    uint64_t work = fb.work; /* the exports alone have as much */
    good = good && fnabi_fb_walk_field(&fb, &root, name);
    fb.work = work;
    if (!good || !fnabi_vmfb_write_exports(&fb, &root, data, size))
      return error.code == FNABI_MEMORY ? NO_MEMORY
                                        : put_error(scan, m->name, &error);
    if (w.size <= v->capacity) break;
    if (!fnabi_vector_reserve(v, w.size)) return NO_MEMORY;
  }
  fnabi_reader r = {v->data, w.size, 0};
  fnabi_scan_row shared = FNABI_SCAN_NO_ROW;
  shared.texts[FNABI_SCAN_FILE] = m->name;
  shared.texts[FNABI_SCAN_MODULE] = fnabi_take_text(&r);
  size_t count = fnabi_take_count(&r);
  outcome found = find_needs(scan, m, &known, &shared);
  for (; found == ADDED && count > 0; count--)
    if (!add_export(scan, &shared, &r)) return NO_MEMORY;
  return found;
}

/* Adds the rows of a module, or none. */
static outcome add_whole_module(fnabi_scan* scan, const module* m,
                                bool lenient) {
  fnabi_scan_mark before = fnabi_scan_mark_of(scan);
  fnabi_needs_shrink(&scan->needs, KEPT); /* not after: it has the missing */
  outcome found = add_module(scan, m, lenient);
  if (found == NO_MEMORY) fnabi_scan_go_back(scan, &before);
  fnabi_vector_shrink(&scan->exports, KEPT);
  fnabi_vector_shrink(&scan->segments, KEPT);
  return found;
}

static bool add_file(fnabi_scan* scan, fnabi_text name, bool lenient,
                     int32_t* failed) {
  fnabi_vector *path = &scan->path, *data = &scan->file;
  path->size = 0;
  if (!fnabi_vector_append(path, name.data, name.size) ||
      !fnabi_vector_append(path, "", 1))
    return false;
  errno = EINVAL;
  int file = memchr(path->data, 0, name.size) != NULL
                 ? -1
                 : fnabi_file_open((const char*)path->data);
  *failed = file < 0 ? errno : read_module(file, data);
  outcome found = ADDED;
  if (*failed == 0) {
    module m = {
        name, {(const char*)data->data, data->size}, {NULL, 0}, file, false};
    found = add_whole_module(scan, &m, lenient);
  }
  if (file >= 0) fnabi_file_close(file);
  fnabi_vector_shrink(data, KEPT);
  return found == ADDED;
}

/* A text that is never absent: NULL is the empty one. */
static fnabi_text present(const char* text, size_t size) {
  return (fnabi_text){text != NULL ? text : "", size};
}

int64_t fnabi_scan_data(fnabi_scan* scan, const char* name, size_t name_size,
                        const char* data, size_t size, const uint8_t* segments,
                        size_t segments_size, bool lenient, uint8_t* out,
                        size_t capacity, fnabi_error* error) {
  module m = {present(name, name_size),
              {data, size},
              {(const char*)segments, segments_size},
              -1,
              segments == NULL};
  fnabi_writer w = {out, capacity, 0};
  if (!fnabi_needs_are_segments(m.segments, error)) {
    error->offset = 0; /* the number of files, as for fnabi_scan_files */
    return -1;
  }
  switch (add_whole_module(scan, &m, lenient)) {
    case NO_MEMORY:
      return fnabi_fail(error, why_not(), 0, NULL);
    case MISSING: {
      const fnabi_missing* all = (const void*)scan->needs.missing.data;
      size_t count = scan->needs.missing.size / sizeof *all;
      fnabi_pack_array(&w, (uint32_t)count);
      for (size_t i = 0; i < count; i++) {
        fnabi_pack_array(&w, 3);
        fnabi_pack_uint(&w, all[i].ordinal);
        fnabi_pack_uint(&w, all[i].offset);
        fnabi_pack_uint(&w, all[i].size);
      }
      break;
    }
    default:
      break;
  }
  return (int64_t)w.size;
}

int64_t fnabi_scan_files(fnabi_scan* scan, const uint8_t* message, size_t size,
                         size_t first, size_t limit, bool lenient,
                         int32_t* failed, fnabi_error* error) {
  fnabi_reader r = {message, size, 0};
  size_t count, i, done = 0;
  *failed = 0;
  if (!fnabi_unpack_array(&r, &count))
    return fnabi_fail(error, FNABI_MESSAGE, 0, "an array");
  for (i = 0; i < count; i++) {
    fnabi_text name;
    if (!fnabi_unpack_text(&r, &name.data, &name.size))
      return fnabi_fail(error, FNABI_MESSAGE, done, "names");
    if (i < first) continue;
    if (scan->rows >= limit) break;
    if (fnabi_poll(FNABI_POLL_STEPS)) /* each file is that much work */
      return fnabi_fail(error, FNABI_INTERRUPTED, done, NULL);
    if (!add_file(scan, name, lenient, failed))
      return fnabi_fail(error, why_not(), done, NULL);
    if (*failed != 0) break;
    done++;
  }
  if (i == count && r.at != size)
    return fnabi_fail(error, FNABI_MESSAGE, done, "names");
  return (int64_t)done;
}

int64_t fnabi_scan_fail(fnabi_scan* scan, const char* file, size_t file_size,
                        int32_t code, const char* why, size_t why_size,
                        fnabi_error* error) {
  fnabi_scan_row r = FNABI_SCAN_NO_ROW;
  fnabi_scan_mark before = fnabi_scan_mark_of(scan);
  r.texts[FNABI_SCAN_FILE] = present(file, file_size);
  r.code = code;
  r.reason = present(why, why_size);
  if (fnabi_scan_put_bad(scan, &r)) return 0;
  fnabi_scan_go_back(scan, &before);
  return fnabi_fail(error, FNABI_MEMORY, 0, NULL);
}
