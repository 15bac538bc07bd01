/* poll.h - asking in long operations whether to go on. Private. */
#ifndef FNABI_POLL_H
#define FNABI_POLL_H

#include "base/platform.h"
#include "fnabi.h"

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

#endif /* FNABI_POLL_H */
