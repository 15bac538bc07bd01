/* environment.h - the stream, the allocator and the tensors of a call. Private. */
#ifndef FNABI_LANE_CALLS_ENVIRONMENT_H
#define FNABI_LANE_CALLS_ENVIRONMENT_H

#include "lane/calls/context.h"
#include "lane/calls/tensor_import.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/tensor.h"

/* What fnabi.use_tensors has chosen for the calls of this thread. */
typedef struct lane_choice {
  bool made;
  const struct fnabi_dl_exchange* exchange; /* NULL: Tensor */
} lane_choice;
extern FNABI_FAST_THREAD lane_choice lane_chosen;

/* What was set before a call, to be set again after it. */
typedef struct lane_environment {
  fnabi_dl_device device;
  void* stream;
  fnabi_dl_allocate* allocator;
  bool has_stream, has_allocator;
  const struct fnabi_dl_exchange* exchange;
} lane_environment;

/* Sets the current stream, the allocator and lane_exchange to those of the
 * arguments of a call. Each enter that succeeds needs a leave. */
int lane_environment_enter(const lane_arguments* arguments,
                           lane_environment* environment);
void lane_environment_leave(const lane_environment* environment);

/* Whether a call with these arguments sets any of them. */
static inline bool lane_environment_is_set(const lane_arguments* arguments) {
  return arguments->exchange != NULL || lane_exchange != NULL ||
         lane_chosen.made;
}

#endif /* FNABI_LANE_CALLS_ENVIRONMENT_H */
