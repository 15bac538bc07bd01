/* The columns of lines of JSON: one for each path of keys, and for each list. */
#include "check.h"
#include "fnabi.h"

enum { ROOM = 64 };

static int64_t fields_of(const char* text) {
  uint64_t places[ROOM] = {0};
  fnabi_error error;
  size_t size = strlen(text);
  char* copy = exact(text, size);
  int64_t fields = fnabi_json_fields(copy, size, places, ROOM, 7, &error);
  release(copy);
  return fields;
}

int main(void) {
  CHECK(fields_of("") == 0);
  CHECK(fields_of("{\"a\":1,\"b\":2}") == 2);
  CHECK(fields_of("{\"a\":1}\n{\"a\" :2}\n{\"a\"\t:3}") == 1);
  CHECK(fields_of("{\"a\":{\"b\":1}}\n{\"b\":{\"a\":1}}") == 4);
  CHECK(fields_of("{\"a\":[1]}\n{\"a\" :[2]}") == 2);
  CHECK(fields_of("{\"a\":[{\"b\":1},{\"b\" :2}]}") == 3);
  CHECK(fields_of(":") == 1); /* pyarrow refuses it */
  return 0;
}
