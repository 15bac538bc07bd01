/* Components follow one another inside the text up to its end or an error, and
 * writing one gives a component that reads as the same. */
#include "fuzz.h"

static int64_t write(const call* c, uint8_t* out, size_t capacity,
                     fnabi_error* error) {
  if (c->data == NULL)
    return fnabi_signature_integer((int32_t)c->number, c->tag, out, capacity,
                                   error);
  return fnabi_signature_span(c->data, c->size, c->tag, out, capacity, error);
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const char* data = (const char*)bytes;
  fnabi_component c, again;
  fnabi_error error;
  size_t at = 0, written_size;
  for (;; at = (size_t)c.end) {
    fnabi_signature_read(data, size, at, &c);
    CHECK(c.offset == at);
    CHECK(c.begin >= at && c.begin <= size && c.end <= size && c.end >= at);
    if (c.type == FNABI_COMPONENT_END || c.type == FNABI_COMPONENT_ERROR) break;
    CHECK(c.end > at);
    bool span = c.type == FNABI_COMPONENT_SPAN;
    call rewrite = {write, span ? data + c.begin : NULL,
                    (size_t)(c.end - c.begin), c.ival, c.tag};
    uint8_t* written = output_of(&rewrite, &written_size, &error);
    CHECK(written != NULL && written_size <= c.end - at);
    fnabi_signature_read((const char*)written, written_size, 0, &again);
    CHECK(again.type == c.type && again.tag == c.tag && again.ival == c.ival);
    CHECK(again.end == written_size);
    CHECK(!span ||
          memcmp(written + again.begin, data + c.begin, (size_t)c.ival) == 0);
    release(written);
    CHECK(fnabi_signature_seek(data, size, at, c.tag, &again));
    CHECK(again.offset == at);
  }
  CHECK((c.type == FNABI_COMPONENT_END) == (at == size));
  CHECK((c.type == FNABI_COMPONENT_ERROR) == (c.code != FNABI_OK));
  if (size != 0) {
    bool found = fnabi_signature_seek(data, size, 0, bytes[size - 1], &again);
    CHECK(found || again.offset == c.offset);
  }
  return 0;
}
