/* error.h - reporting errors. Private. */
#ifndef FNABI_ERROR_H
#define FNABI_ERROR_H

#include "fnabi.h"

/* Fills in the error, with an empty path and nothing found. Returns -1, for the
 * caller to return. */
int64_t fnabi_fail(fnabi_error* error, int32_t code, uint64_t offset,
                   const char* expected);

/* Put a part before the path: a field (".shape" or "inputs"), or an index
 * ("[3]"). Each level of a failed function does so on the way out. */
void fnabi_path_field(fnabi_error* error, const char* field);
void fnabi_path_index(fnabi_error* error, uint64_t index);

/* What is expected where nesting exceeds FNABI_DEPTH_MAX. */
#define FNABI_DEPTH_EXPECTED "at most 128 levels"

#endif /* FNABI_ERROR_H */
