/* Starts and stops the counting of callgrind; see workloads.py. */
#include <valgrind/callgrind.h>

void begin(void);
void end(const char* name);

void begin(void) {
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
}

void end(const char* name) {
  CALLGRIND_DUMP_STATS_AT(name);
  CALLGRIND_STOP_INSTRUMENTATION;
}
