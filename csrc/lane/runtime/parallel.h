/* parallel.h - the ABI of libtvm_runtime for kernels. Private. */
#ifndef FNABI_LANE_RUNTIME_PARALLEL_H
#define FNABI_LANE_RUNTIME_PARALLEL_H

#include <stdint.h>

/* The ABI of libtvm_runtime for kernels. No function here needs the GIL. */
typedef struct lane_parallel_environment {
  void* barrier; /* NULL for one task */
  int32_t count; /* of tasks */
} lane_parallel_environment;
typedef int lane_parallel_task(int32_t id, lane_parallel_environment* of,
                               void* data);

/* Runs tasks 0 to `count` - 1, each on a thread of its own, until the last one
 * ends; 0 means as many as there are processors. Returns 0, or what a task has
 * returned; its error then waits on this thread. */
int lane_parallel_launch(lane_parallel_task* task, void* data, int32_t count);
/* Waits until all tasks of a launch have called it. */
int lane_parallel_barrier(int32_t id, lane_parallel_environment* of);
/* Memory of the CPU; NULL with an error that waits on this thread. */
void* lane_workspace_allocate(int32_t type, int32_t id, uint64_t size,
                              int32_t code, int32_t bits);
int lane_workspace_free(int32_t type, int32_t id, void* memory);

#endif /* FNABI_LANE_RUNTIME_PARALLEL_H */
