/* needs.h - the needs of a module as two texts, for tables. Private. */
#ifndef FNABI_MODULE_NEEDS_H
#define FNABI_MODULE_NEEDS_H

#include "base/text.h"
#include "base/vector.h"
#include "vmfb/flatbuffer.h"

/* A segment of read-only data whose bytes are not inside the data: its ordinal,
 * and its range in the file, which the file may not have. */
typedef struct fnabi_missing {
  uint32_t ordinal;
  uint64_t offset, size;
} fnabi_missing;

/* Fills in the devices that a module needs with their executable formats,
 * "local vmvx-bytecode-fb", and the names of its parameters, "model::w, scale".
 * A text has no data if there are none, or if fnabi_vmfb_needs would fail for
 * the functions that contain them; others are not read, so that damage of their
 * bytecode is not noticed. Both point into `memory`. `segments` is as for
 * fnabi_vmfb_needs_with, `known` as for fnabi_vmfb_begin; `missing` receives
 * the fnabi_missing that the texts lack. Returns false if memory is exhausted,
 * or if it is interrupted. */
bool fnabi_needs_texts(const char* data, size_t size, const fnabi_fb* known,
                       fnabi_text segments, fnabi_vector* memory,
                       fnabi_vector* missing, fnabi_text* target,
                       fnabi_text* parameters);

#endif /* FNABI_MODULE_NEEDS_H */
