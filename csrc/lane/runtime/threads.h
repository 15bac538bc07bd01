/* threads.h - threads, locks and a clock: POSIX threads, or those of Windows.
 * Private.
 *
 * None of these needs the GIL. */
#ifndef FNABI_LANE_RUNTIME_THREADS_H
#define FNABI_LANE_RUNTIME_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#if defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>
typedef SRWLOCK lane_mutex;
typedef CONDITION_VARIABLE lane_condition;
typedef HANDLE lane_thread;
#define LANE_MUTEX SRWLOCK_INIT
#define LANE_CONDITION CONDITION_VARIABLE_INIT
#else
#include <pthread.h>
typedef pthread_mutex_t lane_mutex;
typedef pthread_cond_t lane_condition;
typedef pthread_t lane_thread;
#define LANE_MUTEX PTHREAD_MUTEX_INITIALIZER
#define LANE_CONDITION PTHREAD_COND_INITIALIZER
#endif

void lane_mutex_lock(lane_mutex* mutex);
bool lane_mutex_try(lane_mutex* mutex);
void lane_mutex_unlock(lane_mutex* mutex);

typedef struct lane_thread_run {
  lane_thread thread;
  void (*run)(void* data);
  void* data;
} lane_thread_run;

/* Starts a thread; `of` must stay where it is until the thread is joined. */
bool lane_thread_start(lane_thread_run* of, void (*run)(void* data),
                       void* data);
void lane_thread_join(lane_thread_run* of);

/* Frees the memory when this thread ends, and no longer what it was given
 * before. */
void lane_thread_owns(void* memory);

/* Where a number of threads wait for each other, again and again. macOS has no
 * pthread_barrier_t. */
typedef struct lane_barrier {
  lane_mutex mutex;
  lane_condition condition;
  int32_t count, waiting;
  uint64_t round;
} lane_barrier;

void lane_barrier_init(lane_barrier* barrier, int32_t count);
void lane_barrier_wait(lane_barrier* barrier);
void lane_barrier_destroy(lane_barrier* barrier);

/* The number of processors that this process may use, or 0. */
long lane_processors(void);

/* A time in nanoseconds that only grows. */
int64_t lane_clock(void);

#endif /* FNABI_LANE_RUNTIME_THREADS_H */
