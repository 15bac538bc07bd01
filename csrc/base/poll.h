/* poll.h - asking in long operations whether to go on. Private. */
#ifndef FNABI_POLL_H
#define FNABI_POLL_H

#include "base/error.h"
#include "base/platform.h"

/* The steps between two calls of the poll function of this thread: about a
 * millisecond of work. */
enum { FNABI_POLL_STEPS = 1 << 14 };

extern FNABI_FAST_THREAD size_t fnabi_steps;

/* Calls the poll function of this thread, if it has one. */
bool fnabi_poll_now(void);

/* Counts steps, each some ten nanoseconds of work. Whether the operation must
 * end, with FNABI_INTERRUPTED. */
static inline bool fnabi_poll(size_t steps) {
  fnabi_steps += steps;
  return fnabi_steps >= FNABI_POLL_STEPS && fnabi_poll_now();
}

/* The same, where FNABI_INTERRUPTED is then the error, at an offset. */
static inline bool fnabi_stop(size_t steps, uint64_t offset,
                              fnabi_error* error) {
  return fnabi_poll(steps) &&
         fnabi_fail(error, FNABI_INTERRUPTED, offset, NULL) < 0;
}

/* The same at element `i` of many, each of some steps. Asks once in a while. */
static inline bool fnabi_stop_at(size_t i, size_t steps, uint64_t offset,
                                 fnabi_error* error) {
  enum { WHILE = 256 }; /* a power of two */
  return i % WHILE == WHILE - 1 && fnabi_stop(steps * WHILE, offset, error);
}

#endif /* FNABI_POLL_H */
