/* needs.h - the needs of a module as two texts, for tables. Private. */
#ifndef FNABI_MODULE_NEEDS_H
#define FNABI_MODULE_NEEDS_H

#include "base/text.h"
#include "base/vector.h"
#include "vmfb/bytecode.h"

/* A segment of read-only data whose bytes are not inside the data: its ordinal,
 * and its range in the file, which the file may not have. */
typedef struct fnabi_missing {
  uint32_t ordinal;
  uint64_t offset, size;
} fnabi_missing;

/* Memory that one module after another uses, all zero at first; what it holds is
 * of the last one. */
typedef struct fnabi_needs_memory {
  fnabi_vector message;
  fnabi_vector missing; /* fnabi_missing, each segment once */
  fnabi_vector rules;   /* u8: by import, the number of its rule, or none */
  fnabi_vector sites;   /* instructions that are evaluated, and those */
  fnabi_vector
      creations;         /* that create executables, in the order of the code */
  fnabi_vector texts[3]; /* devices, formats, parameters */
  uint16_t major;        /* the version of the sizes */
  fnabi_bytecode_sizes sizes;
} fnabi_needs_memory;

/* Frees all vectors but those of up to `kept` bytes. */
void fnabi_needs_shrink(fnabi_needs_memory* memory, size_t kept);

/* Whether a message is one of segments, as for fnabi_vmfb_needs_with. */
bool fnabi_needs_are_segments(fnabi_text segments, fnabi_error* error);

/* Fills in the devices that a module needs with their executable formats,
 * "local vmvx-bytecode-fb", and the names of its parameters, "model::w, scale".
 * A text has no data if there are none, or if fnabi_vmfb_needs would fail for
 * the functions that contain them; others are not read, so that damage of their
 * bytecode is not noticed. Both point into `memory`, where
 * `missing` has what they lack. `segments` is as for fnabi_vmfb_needs_with,
 * `known` as for fnabi_vmfb_begin. Returns false if memory is exhausted, or if it
 * is interrupted. */
bool fnabi_needs_texts(const char* data, size_t size, const fnabi_fb* known,
                       fnabi_text segments, fnabi_needs_memory* memory,
                       fnabi_text* target, fnabi_text* parameters);

#endif /* FNABI_MODULE_NEEDS_H */
