/* A string that changes between its reading and its copy, as memory that
 * others can write may: what comes before the faulty escape is copied. */
#include "abi/json.h"
#include "check.h"

static void check_changed(const char* text) {
  size_t size = strlen(text);
  char* data = malloc(size);
  CHECK(data != NULL);
  memcpy(data, text, size);
  uint8_t out[64];
  fnabi_writer w = {out, sizeof out, 0};
  fnabi_json_put_text(&w, &(fnabi_json_text){data, size, size - 1});
  CHECK(w.size == 2 && memcmp(out, "ab", 2) == 0);
  free(data);
}

int main(void) {
  check_changed("ab\\");
  check_changed("ab\\q");
  check_changed("ab\\u12");
  check_changed("ab\\ud800");
  check_changed("ab\\udc00\\u0020");
  return 0;
}
