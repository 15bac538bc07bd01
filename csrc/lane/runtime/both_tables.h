/* both_tables.h - libraries of both tables of types in one process: those that
 * fnabi's own table has the types of, and those of libtvm_ffi. Private.
 *
 * A library asks the table that it is bound to for the type of an object, and
 * libtvm_ffi ends the process for an index that it does not know. So no object
 * of fnabi's own table is passed to a library of libtvm_ffi, in a container or
 * alone. No function needs the GIL. None of them has to be called unless
 * lane_both_tables is set, but for lane_tables_own. */
#ifndef FNABI_LANE_RUNTIME_BOTH_TABLES_H
#define FNABI_LANE_RUNTIME_BOTH_TABLES_H

#include "lane/runtime/type_table.h"

/* Says that a library registers types in fnabi's table: `library` is its handle.
 */
void lane_tables_own(void* library);
/* Whether code is of such a library. */
bool lane_tables_code_is_own(fnabi_call call);

/* Calls a function, unless it may be one of libtvm_ffi and an argument is or
 * contains an object of fnabi's own table: then an error waits, which names
 * both, and the result is -1. */
int lane_tables_call(fnabi_call call, void* handle, const fnabi_any* args,
                     int32_t n, fnabi_any* result);

/* Returns a function that calls another one so, owned, for libraries of fnabi's
 * table. Takes the reference over, also where there is no memory for it: then it
 * is NULL. */
fnabi_object* lane_tables_guard(fnabi_object* function);

/* Returns the key of an object of fnabi's own table that a value is or contains,
 * or "ffi.Function" for a function of a library of that table; NULL for none. */
const fnabi_byte_array* lane_tables_own_in(const fnabi_any* value);

/* Returns the same of a value that a callback must not
 * return, because this thread called a function of libtvm_ffi last, or NULL. */
const fnabi_byte_array* lane_tables_refused(const fnabi_any* value);

#endif /* FNABI_LANE_RUNTIME_BOTH_TABLES_H */
