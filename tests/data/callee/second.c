/* Another file of the same library: both share one slot for errors. */
#include <fnabi/callee.h>

CALLEE_EXPORT(fail_elsewhere) {
  return callee_raise("KeyError", "%s: elsewhere", call->name);
}
