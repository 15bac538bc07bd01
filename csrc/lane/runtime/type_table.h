/* type_table.h - fnabi's own table of types: of libraries that were bound to
 * fnabi's functions because libtvm_ffi was not loaded, and of types that Python
 * defines then. Private.
 *
 * Its types have indexes that libtvm_ffi, which counts from 128, does not reach;
 * so an index tells the table, whatever is loaded later. The built-in types are
 * in both. What is in the table stays until the process ends and does not move.
 * No function needs the GIL, and all may be called on any thread. Those that
 * return a text return NULL, or else what is wrong, as a static text. */
#ifndef FNABI_LANE_RUNTIME_TYPE_TABLE_H
#define FNABI_LANE_RUNTIME_TYPE_TABLE_H

#include "lane/runtime/python.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/object.h"

enum {
  LANE_STATIC_TYPES = 128,
  LANE_OWN_TYPES = 1 << 14, /* the index of the first one */
  LANE_OWN_TYPES_END = LANE_OWN_TYPES + (1 << 12)
};

static inline bool lane_table_is_own(int32_t type_index) {
  return type_index >= LANE_OWN_TYPES && type_index < LANE_OWN_TYPES_END;
}

/* Whether libraries with types of fnabi's table and libtvm_ffi are both loaded;
 * false as long as every function can be called with every object. */
extern bool lane_both_tables;
/* Say that one of them is. */
void lane_table_met_runtime(void);
void lane_table_met_library(void);

/* Adds a type below a parent, and reserves `slots` indexes after its own for
 * types below it; `overflow`: there may be more of them. A static index, below
 * 128, is used as it is; otherwise it is -1. Sets the index: that of an existing
 * type of the key, if there is one. */
const char* lane_table_add(const fnabi_byte_array* key, int32_t static_index,
                           int32_t slots, bool overflow, int32_t parent,
                           int32_t* type_index);
/* Returns whether libtvm_ffi itself has the type, in a release. */
bool lane_table_is_builtin(int32_t type_index);
/* Returns false where no type has the key. */
bool lane_table_find(const fnabi_byte_array* key, int32_t* type_index);
/* Returns NULL where no type has the index. */
const fnabi_type_info* lane_table_info(int32_t type_index);

/* Copy what they are given, texts and references. */
const char* lane_table_add_field(int32_t type_index,
                                 const fnabi_field_info* info);
const char* lane_table_add_method(int32_t type_index,
                                  const fnabi_method_info* info);
const char* lane_table_describe(int32_t type_index,
                                const fnabi_type_metadata* metadata);
/* An attribute of NONE creates its column, and nothing more. */
const char* lane_table_add_attribute(int32_t type_index,
                                     const fnabi_byte_array* name,
                                     const fnabi_any* value);
/* Returns NULL where there is no column of the name. */
const fnabi_type_column* lane_table_column(const fnabi_byte_array* name);

#endif /* FNABI_LANE_RUNTIME_TYPE_TABLE_H */
