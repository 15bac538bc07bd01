/* What an edited module needs decodes, or fails inside the module; and it is
 * the same where the file ends with its FlatBuffer and read-only data is given
 * apart. */
#include "base/message.h"
#include "vmfb/any_module.h"

DEFINE_WRITER(needs, fnabi_vmfb_needs)

/* A module of which only the start is at hand, and the message of segments. */
typedef struct remote {
  module start;
  const uint8_t* segments;
  size_t segments_size;
} remote;

static int64_t needs_with(const call* c, uint8_t* out, size_t capacity,
                          fnabi_error* error) {
  const remote* r = c->data;
  return fnabi_vmfb_needs_with(r->start.data, r->start.size, r->segments,
                               r->segments_size, out, capacity, error);
}

/* [[ordinal, bytes]...] of the segments that are outside the FlatBuffer. */
static uint8_t* segments_of(const module* m, size_t* size) {
  uint8_t* fields[2];
  size_t sizes[2], segments, count;
  int64_t layout[5], embedded, begin, length;
  fnabi_error error;
  for (int i = 0; i < 2; i++) {
    int64_t needed =
        i == 0 ? fnabi_vmfb_head(m->data, m->size, NULL, 0, &error)
               : fnabi_vmfb_field(m->data, m->size, 9, NULL, 0, &error);
    if (needed < 0) {
      if (i == 1) release(fields[0]);
      return NULL;
    }
    sizes[i] = (size_t)needed;
    fields[i] = exact(NULL, sizes[i]);
    if (i == 0)
      fnabi_vmfb_head(m->data, m->size, fields[i], sizes[i], &error);
    else
      fnabi_vmfb_field(m->data, m->size, 9, fields[i], sizes[i], &error);
  }
  fnabi_reader head = {fields[0], sizes[0], 0}, r = {fields[1], sizes[1], 0};
  CHECK(fnabi_unpack_array(&head, &count) && fnabi_unpack_array(&head, &count));
  for (int i = 0; i < 5; i++) CHECK(fnabi_unpack_int(&head, &layout[i]));
  CHECK(fnabi_unpack_array(&r, &segments));
  size_t capacity = m->size * (segments + 1) + 32 * (segments + 1);
  uint8_t* out = exact(NULL, capacity);
  fnabi_writer w = {out, capacity, 0};
  size_t place = fnabi_pack_open(&w), given = 0;
  for (size_t i = 0; i < segments; i++) {
    CHECK(fnabi_unpack_array(&r, &count) && count == 4);
    CHECK(fnabi_unpack_skip(&r)); /* compression */
    embedded = fnabi_unpack_nil(&r) ? 0 : 1;
    if (embedded) CHECK(fnabi_unpack_skip(&r));
    bool fits[2];
    CHECK(fnabi_unpack_integer(&r, &begin, &fits[0]));
    CHECK(fnabi_unpack_integer(&r, &length, &fits[1]));
    if (embedded || !fits[0] || !fits[1] || begin < 0 || length < 0) continue;
    uint64_t at = (uint64_t)layout[3] + (uint64_t)begin;
    if (at > m->size || (uint64_t)length > m->size - at) continue;
    fnabi_pack_array(&w, 2);
    fnabi_pack_int(&w, (int64_t)i);
    fnabi_pack_text(&w, m->data + at, (size_t)length);
    given++;
  }
  fnabi_pack_close(&w, place, given);
  CHECK(w.size <= capacity);
  release(fields[0]);
  release(fields[1]);
  *size = w.size;
  return out;
}

/* The same needs, if the read-only data of a good module is given apart. */
static void check_apart(const module* m, const uint8_t* expected,
                        size_t expected_size) {
  fnabi_error error;
  size_t segments_size, written;
  uint64_t extent = fnabi_vmfb_extent(m->data, m->size);
  if (extent > m->size) return;
  uint8_t* segments = segments_of(m, &segments_size);
  if (segments == NULL) return;
  remote r = {{exact(m->data, (size_t)extent), (size_t)extent},
              segments,
              segments_size};
  call apart = {needs_with, &r, 0, 0, 0};
  uint8_t* message = output_of(&apart, &written, &error);
  CHECK(message != NULL && written == expected_size);
  CHECK(memcmp(message, expected, written) == 0);
  release(message);
  release(r.start.data);
  release(segments);
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  fnabi_error error;
  input in = {bytes, size};
  size_t written;
  module m = edited_module(&in);
  call whole = {needs, m.data, m.size, 0, 0};
  uint8_t* message = output_of(&whole, &written, &error);
  if (message == NULL) {
    check_error(&error, m.size);
  } else {
    check_apart(&m, message, written);
    release(message);
  }
  release(m.data);
  return 0;
}
