/* Asking in long operations whether to go on. */
#include "base/poll.h"

FNABI_FAST_THREAD size_t fnabi_steps;
static FNABI_THREAD fnabi_poll_function asked;
static FNABI_THREAD void* asked_with;

void fnabi_set_poll(fnabi_poll_function poll, void* data) {
  asked = poll;
  asked_with = data;
}

bool fnabi_poll_now(void) {
  bool stop = asked != NULL && asked(asked_with);
  if (!stop) fnabi_steps = 0; /* else the next one asks again */
  return stop;
}
