/* Threads, locks and a clock of the system: of Windows, then of all others. */
#if !defined(_WIN32) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "lane/runtime/threads.h"

#include <stdlib.h>

#if defined(_WIN32)

void lane_mutex_lock(lane_mutex* mutex) { AcquireSRWLockExclusive(mutex); }

bool lane_mutex_try(lane_mutex* mutex) {
  return TryAcquireSRWLockExclusive(mutex) != 0;
}

void lane_mutex_unlock(lane_mutex* mutex) { ReleaseSRWLockExclusive(mutex); }

static void wait_for(lane_condition* condition, lane_mutex* mutex) {
  SleepConditionVariableSRW(condition, mutex, INFINITE, 0);
}

static void wake_all(lane_condition* condition) {
  WakeAllConditionVariable(condition);
}

void lane_barrier_destroy(lane_barrier* barrier) { (void)barrier; }

static DWORD WINAPI run_thread(void* argument) {
  lane_thread_run* of = argument;
  of->run(of->data);
  return 0;
}

bool lane_thread_start(lane_thread_run* of, void (*run)(void* data),
                       void* data) {
  of->run = run;
  of->data = data;
  of->thread = CreateThread(NULL, 0, run_thread, of, 0, NULL);
  return of->thread != NULL;
}

void lane_thread_join(lane_thread_run* of) {
  WaitForSingleObject(of->thread, INFINITE);
  CloseHandle(of->thread);
}

static DWORD owned = FLS_OUT_OF_INDEXES;
static INIT_ONCE owned_once = INIT_ONCE_STATIC_INIT;

static void WINAPI free_owned(void* memory) { free(memory); }

static BOOL WINAPI make_owned(INIT_ONCE* once, void* argument, void** context) {
  (void)once, (void)argument, (void)context;
  owned = FlsAlloc(free_owned);
  return TRUE;
}

/* Where there is no slot, the memory is never freed. */
void lane_thread_owns(void* memory) {
  InitOnceExecuteOnce(&owned_once, make_owned, NULL, NULL);
  if (owned != FLS_OUT_OF_INDEXES) FlsSetValue(owned, memory);
}

long lane_processors(void) {
  SYSTEM_INFO about;
  GetSystemInfo(&about);
  return (long)about.dwNumberOfProcessors;
}

int64_t lane_clock(void) { return (int64_t)GetTickCount64() * 1000000; }

#else

#include <sched.h>
#include <time.h>
#include <unistd.h>

void lane_mutex_lock(lane_mutex* mutex) { pthread_mutex_lock(mutex); }

bool lane_mutex_try(lane_mutex* mutex) {
  return pthread_mutex_trylock(mutex) == 0;
}

void lane_mutex_unlock(lane_mutex* mutex) { pthread_mutex_unlock(mutex); }

static void wait_for(lane_condition* condition, lane_mutex* mutex) {
  pthread_cond_wait(condition, mutex);
}

static void wake_all(lane_condition* condition) {
  pthread_cond_broadcast(condition);
}

void lane_barrier_destroy(lane_barrier* barrier) {
  pthread_cond_destroy(&barrier->condition);
  pthread_mutex_destroy(&barrier->mutex);
}

static void* run_thread(void* argument) {
  lane_thread_run* of = argument;
  of->run(of->data);
  return NULL;
}

bool lane_thread_start(lane_thread_run* of, void (*run)(void* data),
                       void* data) {
  of->run = run;
  of->data = data;
  return pthread_create(&of->thread, NULL, run_thread, of) == 0;
}

void lane_thread_join(lane_thread_run* of) { pthread_join(of->thread, NULL); }

static pthread_key_t owned;
static pthread_once_t owned_once = PTHREAD_ONCE_INIT;
static bool owned_exists;

static void make_owned(void) {
  owned_exists = pthread_key_create(&owned, free) == 0;
}

/* Where there is no key, the memory is never freed. */
void lane_thread_owns(void* memory) {
  pthread_once(&owned_once, make_owned);
  if (owned_exists) pthread_setspecific(owned, memory);
}

long lane_processors(void) {
#ifdef CPU_COUNT
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  return sysconf(_SC_NPROCESSORS_ONLN);
}

int64_t lane_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif

void lane_barrier_init(lane_barrier* barrier, int32_t count) {
  *barrier = (lane_barrier){
      .mutex = LANE_MUTEX, .condition = LANE_CONDITION, .count = count};
}

void lane_barrier_wait(lane_barrier* barrier) {
  lane_mutex_lock(&barrier->mutex);
  uint64_t round = barrier->round;
  if (++barrier->waiting == barrier->count) {
    barrier->waiting = 0;
    barrier->round++;
    wake_all(&barrier->condition);
  }
  while (barrier->round == round)
    wait_for(&barrier->condition, &barrier->mutex);
  lane_mutex_unlock(&barrier->mutex);
}
