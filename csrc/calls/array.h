/* array.h - ARRAY, which is immutable once it is shared, and LIST, which is
 * mutable. Private. */
#ifndef FNABI_ARRAY_H
#define FNABI_ARRAY_H

#include "calls/object.h"

/* Creates an array or a list of `size` Nones, which the caller replaces with
 * owned values. Returns NULL if memory is exhausted or `size` is negative. */
fnabi_seq_object* fnabi_array_new(int64_t size);
fnabi_seq_object* fnabi_list_new(int64_t size);

/* What is wrong with an array or list of a foreign library, static; NULL:
 * nothing. */
const char* fnabi_seq_problem(const fnabi_seq_object* seq);

/* Change a list, including one that another library created. The caller checks
 * that `index` is inside the list. Insertion takes ownership of the value on
 * success; it returns false, without any change, if memory is exhausted. */
bool fnabi_list_insert(fnabi_seq_object* list, int64_t index,
                       const fnabi_any* value);
void fnabi_list_erase(fnabi_seq_object* list, int64_t index, int64_t count);

#endif
