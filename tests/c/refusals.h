/* refusals.h - calls of which allocations fail, or whose work ends early.
 *
 * In the tests that include it, the linker redirects every allocation, and the
 * functions that count work, to functions of this file. */
#ifndef REFUSALS_H
#define REFUSALS_H

#include "allocations.h"
#include "check.h"
#include "vmfb/flatbuffer.h"

bool __real_fnabi_fb_spend(fnabi_fb* fb, uint64_t bytes, size_t place);
bool __wrap_fnabi_fb_spend(fnabi_fb* fb, uint64_t bytes, size_t place);
void __real_fnabi_fb_open(fnabi_fb* fb, const uint8_t* data, size_t size,
                          uint64_t origin, bool lenient, fnabi_writer* writer,
                          fnabi_error* error);
void __wrap_fnabi_fb_open(fnabi_fb* fb, const uint8_t* data, size_t size,
                          uint64_t origin, bool lenient, fnabi_writer* writer,
                          fnabi_error* error);

/* The unit of work number `exhausted_at` exceeds the limit; after that number
 * `drained_at` no work is left; and no buffer has more than `most_work`. */
static size_t spent, exhausted_at = SIZE_MAX, drained_at = SIZE_MAX;
static uint64_t most_work = UINT64_MAX;

bool __wrap_fnabi_fb_spend(fnabi_fb* fb, uint64_t bytes, size_t place) {
  size_t unit = spent++;
  bool good = __real_fnabi_fb_spend(
      fb, unit == exhausted_at ? UINT64_MAX : bytes, place);
  if (unit == drained_at) fb->work = 0;
  return good;
}

void __wrap_fnabi_fb_open(fnabi_fb* fb, const uint8_t* data, size_t size,
                          uint64_t origin, bool lenient, fnabi_writer* writer,
                          fnabi_error* error) {
  __real_fnabi_fb_open(fb, data, size, origin, lenient, writer, error);
  if (fb->work > most_work) fb->work = most_work;
}

static size_t refused, exhausted;

/* The call returns what it returned, or fails for this reason. Where the work
 * ends, it may also return less: without types, or with a finding. */
static inline bool is_refused(const call* c, const uint8_t* whole, uint8_t* out,
                              size_t size, int32_t reason) {
  fnabi_error error;
  allocations = spent = 0;
  int64_t written = c->run(c, out, size, &error);
  refused_from = refused_one = exhausted_at = drained_at = SIZE_MAX;
  most_work = UINT64_MAX;
  if (written < 0) {
    CHECK(error.code == reason);
    return true;
  }
  CHECK(reason == FNABI_WORK ||
        (written == (int64_t)size && memcmp(out, whole, size) == 0));
  return false;
}

/* Each allocation of the call fails in turn, with all later ones and alone;
 * then the work ends at each unit, and after it, or at some of very many; and
 * at some limits. */
static inline void check_refusals(const call* c) {
  enum { UNITS = 300, LIMIT = 1 << 16 };
  fnabi_error error;
  size_t size;
  uint8_t* whole = output_of(c, &size, &error);
  if (whole == NULL) return;
  uint8_t* out = exact(NULL, size);
  CHECK(!is_refused(c, whole, out, size, FNABI_OK));
  size_t needed = allocations, units = spent;
  for (size_t i = 0; i < needed; i++) {
    refused_from = i;
    refused += is_refused(c, whole, out, size, FNABI_MEMORY);
    refused_one = i;
    refused += is_refused(c, whole, out, size, FNABI_MEMORY);
  }
  for (size_t i = 0; i < units; i += 1 + units / UNITS) {
    exhausted_at = i;
    exhausted += is_refused(c, whole, out, size, FNABI_WORK);
    drained_at = i;
    exhausted += is_refused(c, whole, out, size, FNABI_WORK);
  }
  exhausted_at = units - 1;
  exhausted += is_refused(c, whole, out, size, FNABI_WORK);
  for (uint64_t limit = 0; limit < LIMIT; limit += 1 + limit / 16) {
    most_work = limit;
    exhausted += is_refused(c, whole, out, size, FNABI_WORK);
  }
  release(out);
  release(whole);
}

#endif /* REFUSALS_H */
