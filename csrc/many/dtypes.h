/* dtypes.h - the element types that occur in columns, each one once. Private.
 */
#ifndef FNABI_DTYPES_H
#define FNABI_DTYPES_H

#include "base/dtype.h"
#include "base/vector.h"

/* A dtype; its format is in the table's `formats`. */
typedef struct fnabi_dtype_entry {
  fnabi_dtype_kind kind;
  uint32_t bits;
  size_t format, format_size;
} fnabi_dtype_entry;

/* Empty when all bytes are 0. */
typedef struct fnabi_dtype_table {
  fnabi_vector entries; /* fnabi_dtype_entry */
  fnabi_vector formats; /* bytes */
  fnabi_vector slots;   /* int32_t: a hash table of indexes; -1: free */
} fnabi_dtype_table;

void fnabi_dtype_table_free(fnabi_dtype_table* table);

/* The index of a dtype, added where it is new; -1 when out of memory. */
int32_t fnabi_dtype_table_add(fnabi_dtype_table* table,
                              const fnabi_dtype* dtype);

/* The index of a dtype, -1 where it has none. The table has one at least. */
int32_t fnabi_dtype_table_find(const fnabi_dtype_table* table,
                               const fnabi_dtype* dtype);

/* Writes the name of dtype `i` in the type model, such as "float8_e4m3fn". */
void fnabi_dtype_table_write_name(fnabi_writer* w,
                                  const fnabi_dtype_table* table, size_t i);

/* Reads such a name. Its format is in `text`. False where it is none. */
bool fnabi_dtype_read_name(const char* text, size_t size, fnabi_dtype* dtype);

/* Writes the message of fnabi_columns_dtypes. */
int64_t fnabi_dtype_table_message(const fnabi_dtype_table* table, uint8_t* out,
                                  size_t capacity);

static inline size_t fnabi_dtype_table_count(const fnabi_dtype_table* table) {
  return table->entries.size / sizeof(fnabi_dtype_entry);
}

static inline fnabi_dtype fnabi_dtype_table_at(const fnabi_dtype_table* table,
                                               size_t i) {
  const fnabi_dtype_entry* e =
      (const fnabi_dtype_entry*)(const void*)table->entries.data + i;
  const char* formats = (const char*)table->formats.data;
  return (fnabi_dtype){e->kind, e->bits,
                       e->format_size == 0 ? "" : formats + e->format,
                       e->format_size};
}

#endif /* FNABI_DTYPES_H */
