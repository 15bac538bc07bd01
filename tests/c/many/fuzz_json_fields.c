/* The columns of a text as lines of JSON are at most its bytes, and those of its
 * first half are not more; or it nests too deeply at a place inside it. */
#include "fuzz.h"

enum { ROOM = 64 };

static int64_t fields_of(const char* data, size_t size, fnabi_error* error) {
  uint64_t places[ROOM] = {0};
  return fnabi_json_fields(data, size, places, ROOM, 7, error);
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  char* copy = exact(bytes, size);
  fnabi_error error;
  int64_t fields = fields_of(copy, size, &error);
  if (fields < 0) {
    CHECK(error.code == FNABI_DEPTH && error.offset < size);
  } else {
    CHECK(fields <= ROOM / 2 + 1 && (size_t)fields <= size);
    fnabi_error other;
    CHECK(fields_of(copy, size / 2, &other) <= fields);
  }
  release(copy);
  return 0;
}
