/* How Python gets values on this thread. */
#include "lane/calls/context.h"

FNABI_FAST_THREAD const struct fnabi_dl_exchange* lane_exchange;
FNABI_FAST_THREAD const struct lane_dialect* lane_current_dialect;
