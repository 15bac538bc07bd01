/* scan_table.h - the table of a scan: a row for each export, and for each file
 * that is no module. Private. */
#ifndef FNABI_SCAN_TABLE_H
#define FNABI_SCAN_TABLE_H

#include "many/columns.h"
#include "vmfb/needs.h"

/* The columns of texts; each has three vectors: the offsets where texts end, the
 * texts, and whether there is one. */
enum {
  FNABI_SCAN_FILE,
  FNABI_SCAN_MODULE,
  FNABI_SCAN_FUNCTION,
  FNABI_SCAN_CCONV,
  FNABI_SCAN_DECLARATION,
  FNABI_SCAN_TARGET,
  FNABI_SCAN_PARAMETERS,
  FNABI_SCAN_PATH,
  FNABI_SCAN_ERROR, /* reason, expected and found of a row in one text */
  FNABI_SCAN_TEXTS
};
enum {
  FNABI_SCAN_ENDS,
  FNABI_SCAN_BYTES,
  FNABI_SCAN_PRESENT,
  FNABI_SCAN_TEXT_VECTORS
};
enum {
  /* int64_t; -1: null */
  FNABI_SCAN_ORDINALS = FNABI_SCAN_TEXTS * FNABI_SCAN_TEXT_VECTORS,
  FNABI_SCAN_SOURCES,     /* int8_t; -1: null */
  FNABI_SCAN_AMBIGUITIES, /* int8_t; -1: null */
  FNABI_SCAN_ASYNCS,      /* int8_t; 0, 1; -1: null */
  FNABI_SCAN_CODES,       /* uint8_t; FNABI_OK: null */
  FNABI_SCAN_OFFSETS,     /* int64_t; -1: null */
  FNABI_SCAN_MESSAGES,    /* the message of each row */
  FNABI_SCAN_VECTORS
};

struct fnabi_scan {
  size_t rows, bad;
  fnabi_vector vectors[FNABI_SCAN_VECTORS];
  fnabi_columns* columns;                     /* the signatures */
  fnabi_vector path, file, exports, segments; /* of one file after another */
  fnabi_needs_memory needs;
};

enum { FNABI_SCAN_SOURCE_COUNT = 5, FNABI_SCAN_AMBIGUITY_COUNT = 3 };
extern const char* const fnabi_scan_sources[FNABI_SCAN_SOURCE_COUNT];
extern const char* const fnabi_scan_ambiguities[FNABI_SCAN_AMBIGUITY_COUNT];

/* The sizes of all columns, to return to when a file cannot be completed. */
typedef struct fnabi_scan_mark {
  size_t rows, bad, sizes[FNABI_SCAN_VECTORS];
  fnabi_columns_mark columns;
} fnabi_scan_mark;

fnabi_scan_mark fnabi_scan_mark_of(const fnabi_scan* scan);
void fnabi_scan_go_back(fnabi_scan* scan, const fnabi_scan_mark* mark);

/* A row except for its signature, whose message is [begin, end). */
typedef struct fnabi_scan_row {
  fnabi_text texts[FNABI_SCAN_ERROR];
  fnabi_text reason, expected, found; /* of an error, as in fnabi_error */
  int64_t ordinal, offset;            /* -1: null */
  int source, ambiguity;              /* -1: null */
  int is_async;                       /* 0, 1; -1: null */
  int32_t code;
  const uint8_t *begin, *end;
} fnabi_scan_row;

#define FNABI_SCAN_NO_ROW \
  {.ordinal = -1, .offset = -1, .source = -1, .ambiguity = -1, .is_async = -1}

/* Adds a row whose signature has been added already. Returns false when out of
 * memory, with part of the row. */
bool fnabi_scan_put_row(fnabi_scan* scan, const fnabi_scan_row* row);

/* Adds a row without a signature, otherwise the same. */
bool fnabi_scan_put_bad(fnabi_scan* scan, const fnabi_scan_row* row);

#endif /* FNABI_SCAN_TABLE_H */
