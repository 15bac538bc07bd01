/* context.h - how Python gets values on this thread. Private. */
#ifndef FNABI_LANE_CALLS_CONTEXT_H
#define FNABI_LANE_CALLS_CONTEXT_H

#include "lane/calls/types.h"

/* The API of the framework whose tensors Python gets on this thread instead of
 * Tensor: during a call, and while a container of its result is read. */
extern FNABI_FAST_THREAD const struct fnabi_dl_exchange* lane_exchange;
/* The dialect of the values that are converted on this thread, or NULL. A
 * function, a container or an object sets its own while Python gets values from
 * it. */
extern FNABI_FAST_THREAD const struct lane_dialect* lane_current_dialect;

/* The framework of tensors and the dialect in which Python gets values. */
typedef struct lane_context {
  const struct fnabi_dl_exchange* exchange;
  const struct lane_dialect* dialect;
} lane_context;
/* Sets those of an object while its values are read; returns those that were
 * set before, for lane_leave. */
static inline lane_context lane_enter(PyObject* self) {
  lane_context outer = {lane_exchange, lane_current_dialect};
  lane_exchange = ((lane_object*)self)->exchange;
  lane_current_dialect = ((lane_object*)self)->dialect;
  return outer;
}
static inline void lane_leave(lane_context outer) {
  lane_exchange = outer.exchange;
  lane_current_dialect = outer.dialect;
}

#endif /* FNABI_LANE_CALLS_CONTEXT_H */
