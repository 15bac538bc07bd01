/* Where rows of CSV end, before anything parses them. */
#include <string.h>

#include "fnabi.h"

static bool begins_field(char before) {
  return before == ',' || before == '\n' || before == '\r';
}

/* The offset after the last line feed in [begin, end), or `none`. */
static size_t last_line(const char* data, size_t begin, size_t end,
                        size_t none) {
  for (; end > begin; end--)
    if (data[end - 1] == '\n') return end;
  return none;
}

/* row ::= field (',' field)* line-end
 * field ::= '"' ([^"] | '""')* '"' bare | bare
 * bare ::= ([^",\r\n] [^,\r\n]*)? */
int64_t fnabi_csv_rows(const char* data, size_t size, int32_t* state) {
  size_t at = 0, rows = 0;
  int32_t now = *state;
  while (at < size) {
    if (now == FNABI_CSV_QUOTE) {
      now = data[at] == '"' ? FNABI_CSV_QUOTED : FNABI_CSV_FIELD;
      at += now == FNABI_CSV_QUOTED;
      continue;
    }
    const char* quote = memchr(data + at, '"', size - at);
    size_t end = quote != NULL ? (size_t)(quote - data) : size;
    if (now == FNABI_CSV_QUOTED) {
      if (quote != NULL) now = FNABI_CSV_QUOTE;
    } else {
      rows = last_line(data, at, end, rows);
      if (end > at)
        now = begins_field(data[end - 1]) ? FNABI_CSV_START : FNABI_CSV_FIELD;
      if (quote != NULL && now == FNABI_CSV_START) now = FNABI_CSV_QUOTED;
    }
    at = end + (quote != NULL);
  }
  *state = now;
  return (int64_t)rows;
}
