/* The rows of an edited module, and of any bytes as a module and as a faulty
 * file: whole, as many as exports or one with an error, and the same as a
 * message, as Arrow data and as JSON. */
#include "base/message.h"
#include "many/json_lines.h"
#include "vmfb/any_module.h"

/* Adds a module; without the read-only data that is not at hand. */
static void add(fnabi_scan* scan, const void* data, size_t size, bool lenient) {
  fnabi_error error;
  size_t rows = fnabi_scan_rows(scan);
  int64_t missing = fnabi_scan_data(scan, TEXT("a \xFF\"name"), data, size,
                                    NULL, 0, lenient, NULL, 0, &error);
  if (missing > 0) {
    CHECK(fnabi_scan_rows(scan) == rows);
    missing =
        fnabi_scan_data(scan, TEXT("a \xFF\"name"), data, size,
                        (const uint8_t*)"\x90", 1, lenient, NULL, 0, &error);
  }
  CHECK(missing == 0);
}

static void check_scan(fnabi_scan* scan) {
  struct ArrowSchema schema;
  struct ArrowArray array;
  bool async;
  size_t rows = fnabi_scan_rows(scan), count, fields, bad = 0;
  CHECK(fnabi_scan_schema(&schema) == 0);
  CHECK(fnabi_scan_array(scan, &array) == 0);
  CHECK(array.length == (int64_t)rows);
  size_t size = (size_t)fnabi_scan_message(scan, NULL, 0);
  uint8_t* message = exact(NULL, size);
  CHECK(fnabi_scan_message(scan, message, size) == (int64_t)size);
  fnabi_reader r = {message, size, 0};
  CHECK(fnabi_unpack_array(&r, &count) && count == rows);
  for (size_t i = 0; i < rows; i++) {
    CHECK(fnabi_unpack_array(&r, &fields) && fields == 13);
    for (size_t k = 0; k < 12; k++)
      CHECK(fnabi_unpack_bool(&r, &async) || fnabi_unpack_skip(&r));
    if (fnabi_unpack_nil(&r)) continue;
    CHECK(fnabi_unpack_skip(&r));
    bad++;
  }
  CHECK(r.at == size && bad == fnabi_scan_bad(scan));
  release(message);
  check_json(&schema, &array);
  array.release(&array);
  schema.release(&schema);
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  fnabi_error error;
  input in = {bytes, size};
  fnabi_scan* scan = fnabi_scan_new();
  CHECK(scan != NULL);
  bool lenient = take(&in, 1) % 2 != 0;
  if (in.size > 0) {
    int32_t code = 1 + in.data[0] % (FNABI_CODE_COUNT - 1);
    CHECK(fnabi_scan_fail(scan, (const char*)in.data, in.size / 2, code,
                          (const char*)in.data + in.size / 2,
                          in.size - in.size / 2, &error) == 0);
  }
  add(scan, in.data, in.size, lenient);
  module m = edited_module(&in);
  add(scan, m.data, m.size, lenient);
  release(m.data);
  check_scan(scan);
  fnabi_scan_free(scan);
  return 0;
}
