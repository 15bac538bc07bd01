/* types.h - the types of both tables: of libtvm_ffi, and fnabi's own. Private.
 *
 * The GIL is held. */
#ifndef FNABI_LANE_RUNTIME_TYPES_H
#define FNABI_LANE_RUNTIME_TYPES_H

#include "lane/runtime/type_table.h"

/* Returns NULL where no type has the index. Of those below LANE_OWN_TYPES only
 * such may be asked for that libtvm_ffi has, if that is loaded: it ends the
 * process for others. */
const fnabi_type_info* lane_type_info(int32_t type_index);
/* Looks into the table of libtvm_ffi first. Returns false where no type has the
 * key, and for a type that later releases of libtvm_ffi have, if one without it
 * is loaded. */
bool lane_type_of_key(const fnabi_byte_array* key, int32_t* type_index);
/* Returns the values of an attribute in the table that a type is in, or NULL. A
 * column stays where it is. */
const fnabi_type_column* lane_type_column(const char* name, int32_t type_index);
/* Returns the value of a type, or NULL; also where the column is NULL. */
const fnabi_any* lane_type_attribute(const fnabi_type_column* column,
                                     int32_t type_index);

#endif /* FNABI_LANE_RUNTIME_TYPES_H */
