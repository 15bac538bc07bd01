/* Errors: the code and the text of each, and their paths. */
#include "base/error.h"

#include <string.h>

static const struct {
  const char* name;
  const char* text;
  const char* remedy;
} CODES[] = {
#define FNABI_CODE(code, name, text, remedy) {name, text, remedy},
#include "codes.h"
};

static bool is_code(int32_t code) {
  return code >= 0 && code < FNABI_CODE_COUNT;
}

const char* fnabi_code_text(int32_t code) {
  return is_code(code) ? CODES[code].text : NULL;
}

const char* fnabi_code_name(int32_t code) {
  return is_code(code) ? CODES[code].name : NULL;
}

const char* fnabi_code_remedy(int32_t code) {
  return is_code(code) ? CODES[code].remedy : NULL;
}

int64_t fnabi_fail(fnabi_error* error, int32_t code, uint64_t offset,
                   const char* expected) {
  error->code = code;
  error->offset = offset;
  error->expected = expected;
  error->found = NULL;
  error->path[0] = 0;
  return -1;
}

void fnabi_path_field(fnabi_error* error, const char* field) {
  size_t add = strlen(field), have = strlen(error->path);
  if (strncmp(error->path, "...", 3) == 0) return; /* was cut before */
  if (add + have + 3 >= FNABI_PATH_SIZE) {         /* the end is most useful */
    field = "...";
    add = 3;
  }
  memmove(error->path + add, error->path, have + 1);
  memcpy(error->path, field, add);
}

void fnabi_path_index(fnabi_error* error, uint64_t index) {
  char text[24];
  char* p = text + sizeof text;
  *--p = 0;
  *--p = ']';
  do {
    *--p = (char)('0' + index % 10);
    index /= 10;
  } while (index != 0);
  *--p = '[';
  fnabi_path_field(error, p);
}
