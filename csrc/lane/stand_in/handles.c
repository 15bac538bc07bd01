/* Handles that are made once, whichever thread comes first. */
#include "lane/runtime/shutdown.h"
#include "lane/runtime/threads.h"
#include "lane/stand_in/stand_in.h"

static lane_mutex handles = LANE_MUTEX;

/* Whoever has the lock may wait for the GIL; so a thread that waits for the lock
 * must not hold it. */
static void lock_handles(void) {
  if (lane_mutex_try(&handles)) return;
  if (lane_finished) {
    lane_mutex_lock(&handles);
    return;
  }
  PyGILState_STATE gil = PyGILState_Ensure();
  PyThreadState* state = PyEval_SaveThread();
  lane_mutex_lock(&handles);
  PyEval_RestoreThread(state);
  PyGILState_Release(gil);
}

static FNABI_FAST_THREAD int
    handles_held; /* one function may need another handle */

static void enter_handles(void) {
  if (handles_held++ == 0) lock_handles();
}

static void leave_handles(void) {
  if (--handles_held == 0) lane_mutex_unlock(&handles);
}

int stand_in_handle_init(void** handle, int (*init)(void** result)) {
  if (fnabi_atomic_load(handle, ACQUIRE) != NULL) return 0;
  int status = 0;
  enter_handles();
  if (fnabi_atomic_load(handle, RELAXED) == NULL) {
    void* made = NULL;
    status = init(&made);
    if (status == 0) fnabi_atomic_store(handle, made, RELEASE);
  }
  leave_handles();
  return status;
}

int stand_in_handle_deinit(void** handle, int (*deinit)(void* handle)) {
  int status = 0;
  enter_handles();
  void* old = fnabi_atomic_exchange(handle, NULL, ACQ_REL);
  if (old != NULL) status = deinit(old);
  leave_handles();
  return status;
}
