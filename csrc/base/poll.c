/* Asking in long operations whether to go on. */
#include "base/poll.h"

FNABI_FAST_THREAD size_t fnabi_steps;
static FNABI_THREAD fnabi_poll_function asked;
static FNABI_THREAD void* asked_with;
static FNABI_THREAD bool asking;

void fnabi_set_poll(fnabi_poll_function poll, void* data) {
  asked = poll;
  asked_with = data;
  asking = false;
}

bool fnabi_poll_now(void) {
  fnabi_steps = 0;
  if (asked == NULL || asking) return false;
  asking = true; /* what the function calls would ask without end */
  bool stop = asked(asked_with);
  asking = false;
  fnabi_steps = stop ? FNABI_POLL_STEPS : 0; /* the next one asks again */
  return stop;
}
