/* needs.h - the needs of a module as two texts, for tables. Private. */
#ifndef FNABI_MODULE_NEEDS_H
#define FNABI_MODULE_NEEDS_H

#include "base/text.h"
#include "base/vector.h"

/* Fills in the devices that a module needs with their executable formats,
 * "local vmvx-bytecode-fb", and the names of its parameters, "model::w, scale".
 * A text has no data if there are none or fnabi_vmfb_needs fails. Both point
 * into `memory`. Returns false if memory is exhausted. */
bool fnabi_needs_texts(const char* data, size_t size, fnabi_vector* memory,
                       fnabi_text* target, fnabi_text* parameters);

#endif /* FNABI_MODULE_NEEDS_H */
