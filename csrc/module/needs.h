/* needs.h - what a module needs to run, as two texts for tables. Private. */
#ifndef FNABI_MODULE_NEEDS_H
#define FNABI_MODULE_NEEDS_H

#include "base/text.h"
#include "base/vector.h"

/* Fills in the devices that a module asks for and their executable formats,
 * "local vmvx-bytecode-fb", and the names of its parameters, "model::w, scale";
 * texts without data where there are none, or where fnabi_vmfb_needs fails.
 * Both point into `memory`. Returns false when out of memory. */
bool fnabi_needs_texts(const char* data, size_t size, fnabi_vector* memory,
                       fnabi_text* target, fnabi_text* parameters);

#endif /* FNABI_MODULE_NEEDS_H */
