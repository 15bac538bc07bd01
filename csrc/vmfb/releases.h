/* releases.h - what the releases of IREE's runtime answered when they were
 * measured; releases.c is written by `python -m tools releases`. Private. */
#ifndef FNABI_VMFB_RELEASES_H
#define FNABI_VMFB_RELEASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most releases: one bit each, that of release i is 1 << i. */
#define FNABI_RELEASES 64
typedef uint64_t fnabi_release_set;

typedef struct fnabi_release {
  const char* name;
  uint16_t major, minor; /* of the bytecode; a module's minor may be lower */
  uint32_t features;
  int library;  /* the version of the library in ELF executables */
  bool aligned; /* whether it aligns arguments of 64 bits, see arguments.h */
  bool whole;   /* whether calls inside a module copy all of 64 bits */
} fnabi_release;

/* A name that these releases know, with its value. */
typedef struct fnabi_release_row {
  const char* name;
  const char* value; /* the calling convention of a function; the name of a
                        format of a driver; or NULL */
  uint32_t number;   /* the version of a module; the last of some opcodes */
  fnabi_release_set releases;
} fnabi_release_row;

typedef struct fnabi_release_rows {
  const fnabi_release_row* rows; /* by name, in the order of strcmp */
  size_t count;
} fnabi_release_rows;

extern const fnabi_release fnabi_releases[];
extern const size_t fnabi_release_count;
extern const fnabi_release_rows fnabi_release_modules; /* "hal", its version */
extern const fnabi_release_rows fnabi_release_functions; /* "hal.fence.join" */
extern const fnabi_release_rows fnabi_release_types;     /* "!hal.fence" */
extern const fnabi_release_rows fnabi_release_formats;   /* by driver */
extern const fnabi_release_rows fnabi_release_drivers;   /* not measured */

/* Ranges of opcodes, with the byte in front of them. */
typedef struct fnabi_release_opcodes_row {
  uint8_t prefix, first, last;
  fnabi_release_set releases;
} fnabi_release_opcodes_row;
extern const fnabi_release_opcodes_row fnabi_release_opcodes[];
extern const size_t fnabi_release_opcode_count;

#endif /* FNABI_VMFB_RELEASES_H */
