/* What kernels of TVM import from libtvm_runtime, where that is not loaded: work
 * on several threads, and memory for the time of a call. */
#include "lane/runtime/parallel.h"

#include <stdlib.h>

#include "calls/tensor.h"
#include "lane/runtime/error_slot.h"
#include "lane/runtime/threads.h"
#include "lane/runtime/tvm_ffi.h"

static int fail(const char* text) {
  lane_error_put_text("RuntimeError", &text, 1);
  return -1;
}

/* ------------------------------------------------------------------- memory */

void* lane_workspace_allocate(int32_t type, int32_t id, uint64_t size,
                              int32_t code, int32_t bits) {
  enum { ALIGNMENT = 64 }; /* as kernels are compiled for */
  (void)id, (void)code, (void)bits;
  if (type != FNABI_DL_CPU) {
    fail("the kernel needs libtvm_runtime for memory of a device");
    return NULL;
  }
  void* memory =
      size > PTRDIFF_MAX
          ? NULL
          : fnabi_aligned_alloc(
                ALIGNMENT, ((size_t)size + ALIGNMENT) / ALIGNMENT * ALIGNMENT);
  if (memory == NULL) {
    const char* text = "out of memory";
    lane_error_put_text("MemoryError", &text, 1);
    return NULL;
  }
  return memory;
}

int lane_workspace_free(int32_t type, int32_t id, void* memory) {
  (void)type, (void)id;
  fnabi_aligned_free(memory);
  return 0;
}

/* ------------------------------------------------------------------ threads */

/* A launch starts its threads and joins them: no threads are left that a fork
 * would lose. A thread starts in about 10 microseconds. */

enum { MOST = 1024 };

typedef struct launch {
  lane_parallel_environment environment; /* what tasks see; the first member */
  int (*task)(int32_t id, lane_parallel_environment* environment, void* data);
  void* data;
  lane_barrier barrier;
  lane_mutex gate; /* held until all threads have started */
  bool cancelled;  /* guarded by the gate */
  int failed;
  fnabi_error_object* error; /* of the first task that failed, or NULL */
} launch;

typedef struct worker {
  launch* of;
  int32_t id;
  lane_thread_run thread;
} worker;

static FNABI_THREAD bool inside; /* a launch of a task runs on its thread */

static int run_task(launch* of, int32_t id) {
  bool outer = inside;
  inside = true;
  int status = of->task(id, &of->environment, of->data);
  inside = outer;
  return status;
}

static void note_failure(launch* of, int status, fnabi_error_object* error) {
  int good = 0;
  if (fnabi_atomic_replace(&of->failed, &good, status))
    of->error = error; /* read after all threads are joined */
  else if (error != NULL)
    fnabi_object_release(error);
}

static void run_worker(void* argument) {
  worker* self = argument;
  launch* of = self->of;
  lane_mutex_lock(&of->gate);
  bool cancelled = of->cancelled;
  lane_mutex_unlock(&of->gate);
  int status = cancelled ? 0 : run_task(of, self->id);
  if (status != 0) { /* errors wait on the thread that failed */
    lane_error_find();
    note_failure(of, status, lane_error_take());
  }
}

static int32_t processors(void) {
  const char* text = getenv("TVM_NUM_THREADS");
  if (text == NULL) text = getenv("OMP_NUM_THREADS");
  long count = text != NULL ? strtol(text, NULL, 10) : 0;
  if (count <= 0) count = lane_processors();
  return count < 1 ? 1 : count > MOST ? MOST : (int32_t)count;
}

/* Runs the tasks on a thread each, the first one on this thread. */
static int run_all(launch* of, worker* workers) {
  int32_t count = of->environment.count, started = 1;
  lane_mutex_lock(&of->gate);
  while (started < count) {
    workers[started] = (worker){.of = of, .id = started};
    if (!lane_thread_start(&workers[started].thread, run_worker,
                           workers + started))
      break;
    started++;
  }
  /* tasks may wait for each other: all of them, or none */
  of->cancelled = started < count;
  lane_mutex_unlock(&of->gate);
  int status = of->cancelled ? 0 : run_task(of, 0);
  if (status != 0) {
    lane_error_find();
    note_failure(of, status, lane_error_take());
  }
  for (int32_t i = 1; i < started; i++) lane_thread_join(&workers[i].thread);
  if (of->cancelled) return fail("the threads of the kernel cannot be started");
  if (of->error != NULL) lane_error_put(of->error);
  return of->failed;
}

int lane_parallel_launch(lane_parallel_task* task, void* data, int32_t count) {
  launch of = {.gate = LANE_MUTEX, .task = task, .data = data};
  if (count > MOST) return fail("a kernel asks for more than 1024 threads");
  of.environment.count = count > 0 ? count : inside ? 1 : processors();
  if (of.environment.count == 1) return task(0, &of.environment, data);
  worker* workers = calloc((size_t)of.environment.count, sizeof *workers);
  if (workers == NULL) return fail("out of memory");
  of.environment.barrier = &of.barrier;
  lane_barrier_init(&of.barrier, of.environment.count);
  int status = run_all(&of, workers);
  lane_barrier_destroy(&of.barrier);
  free(workers);
  return status;
}

int lane_parallel_barrier(int32_t id, lane_parallel_environment* environment) {
  (void)id;
  if (environment->barrier != NULL) lane_barrier_wait(environment->barrier);
  return 0;
}
