/* array.h - ARRAY, which does not change once it is shared, and LIST, which
 * does. Private. */
#ifndef FNABI_ARRAY_H
#define FNABI_ARRAY_H

#include "value/object.h"

/* An array or a list of `size` times None, to be filled with owned values. NULL
 * when memory runs out or the size is below 0. */
fnabi_seq_object* fnabi_array_new(int64_t size);
fnabi_seq_object* fnabi_list_new(int64_t size);

/* Changes to a list, also one that a foreign library made. Values are taken
 * over on success. An index is one of the list's: the caller checks. False: out
 * of memory, and nothing has changed. */
bool fnabi_list_insert(fnabi_seq_object* list, int64_t index,
                       const fnabi_any* value);
void fnabi_list_erase(fnabi_seq_object* list, int64_t index, int64_t count);

#endif
