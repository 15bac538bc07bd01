/* rows.h - rows are added to columns: from texts, or from messages. Private.
 *
 * rows.c adds one row by way of its message, and is the reference; blocks.c
 * adds the rows of many short raw or SIP texts together; batches.c takes the
 * texts from whatever holds them. */
#ifndef FNABI_ROWS_H
#define FNABI_ROWS_H

#include "many/columns.h"

/* Adds the row of a text; returns false when out of memory, without a row. */
bool fnabi_columns_add_row(fnabi_columns* columns, fnabi_text text);

/* Adds a row from the message of a signature, as a decoder writes it: its first
 * two elements are read and the others skipped; nil is a row without a text.
 * Returns false when out of memory: then the caller returns to a mark. */
bool fnabi_columns_add_signature(fnabi_columns* columns, fnabi_reader* r);

/* Adds the rows of raw or SIP texts, copying as many as fit into a block that
 * is decoded together. Texts that are `contiguous` are in one buffer, one after
 * the other. Returns false when out of memory; the rows added so far stay. */
bool fnabi_columns_add_blocks(fnabi_columns* columns, const fnabi_text* texts,
                              size_t count, bool contiguous);

/* How many elements of a column a block decoder may write for `size` bytes of
 * texts; 0 for a column that it does not write. */
size_t fnabi_columns_block_elements(const fnabi_columns* columns,
                                    int32_t column, size_t size, size_t rows);

/* Adds the rows of texts by the columns' decoder; otherwise as
 * fnabi_columns_add_blocks. */
bool fnabi_columns_add(fnabi_columns* columns, const fnabi_text* texts,
                       size_t count, bool contiguous);

/* Adds rows as fnabi_columns_decode does. The texts may be anywhere, but must
 * not change meanwhile; the sum of their sizes fits into a size_t. */
int64_t fnabi_columns_decode_texts(fnabi_columns* columns,
                                   const fnabi_text* texts, size_t count,
                                   fnabi_error* error);

#endif /* FNABI_ROWS_H */
