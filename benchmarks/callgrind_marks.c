/* Starts and stops the counting of callgrind; see workloads.py. Where it always
 * counts, `zero` and `dump` alone are marks. */
#include <valgrind/callgrind.h>

void begin(void);
void end(const char* name);
void zero(void);
void dump(const char* name);

void zero(void) { CALLGRIND_ZERO_STATS; }

void dump(const char* name) { CALLGRIND_DUMP_STATS_AT(name); }

void begin(void) {
  CALLGRIND_START_INSTRUMENTATION;
  zero();
}

void end(const char* name) {
  dump(name);
  CALLGRIND_STOP_INSTRUMENTATION;
}
