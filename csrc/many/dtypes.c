/* The element types that occur in columns, each one once. */
#include "many/dtypes.h"

#include <stdlib.h>

#include "base/decimal.h"

void fnabi_dtype_table_free(fnabi_dtype_table* table) {
  free(table->entries.data);
  free(table->formats.data);
  free(table->slots.data);
}

static bool same_dtype(const fnabi_dtype* a, const fnabi_dtype* b) {
  return a->kind == b->kind && a->bits == b->bits &&
         a->format_size == b->format_size &&
         (a->format_size == 0 ||
          memcmp(a->format, b->format, a->format_size) == 0);
}

static uint64_t hash_dtype(const fnabi_dtype* dtype) {
  uint64_t hash = ((uint64_t)dtype->kind << 32 | dtype->bits) + 1;
  for (size_t i = 0; i < dtype->format_size; i++)
    hash = (hash ^ (uint8_t)dtype->format[i]) * UINT64_C(0x100000001B3);
  return hash * UINT64_C(0x9E3779B97F4A7C15) >> 20;
}

/* The slot of a dtype, or the free one where it belongs. At least half of the
 * slots are free. */
static int32_t* slot_of(const fnabi_dtype_table* table,
                        const fnabi_dtype* dtype) {
  int32_t* slots = (int32_t*)(void*)table->slots.data;
  size_t mask = table->slots.size / sizeof *slots - 1;
  size_t i = (size_t)hash_dtype(dtype) & mask;
  for (;; i = (i + 1) & mask) {
    if (slots[i] < 0) return &slots[i];
    fnabi_dtype found = fnabi_dtype_table_at(table, (size_t)slots[i]);
    if (same_dtype(&found, dtype)) return &slots[i];
  }
}

static bool grow_slots(fnabi_dtype_table* table) {
  size_t size =
      table->slots.size == 0 ? 64 * sizeof(int32_t) : 2 * table->slots.size;
  if (!fnabi_vector_reserve(&table->slots, size - table->slots.size))
    return false;
  table->slots.size = size;
  memset(table->slots.data, 0xFF, size);
  for (size_t i = 0; i < fnabi_dtype_table_count(table); i++) {
    fnabi_dtype dtype = fnabi_dtype_table_at(table, i);
    *slot_of(table, &dtype) = (int32_t)i;
  }
  return true;
}

int32_t fnabi_dtype_table_add(fnabi_dtype_table* table,
                              const fnabi_dtype* dtype) {
  size_t count = fnabi_dtype_table_count(table);
  if (2 * (count + 1) * sizeof(int32_t) > table->slots.size &&
      !grow_slots(table))
    return -1;
  int32_t* slot = slot_of(table, dtype);
  if (*slot >= 0) return *slot;
  fnabi_dtype_entry e = {dtype->kind, dtype->bits, table->formats.size,
                         dtype->format_size};
  if (!fnabi_vector_append(&table->formats, dtype->format,
                           dtype->format_size) ||
      !fnabi_vector_append(&table->entries, &e, sizeof e))
    return -1;
  return *slot = (int32_t)count;
}

int32_t fnabi_dtype_table_find(const fnabi_dtype_table* table,
                               const fnabi_dtype* dtype) {
  return *slot_of(table, dtype);
}

static const char* const names[FNABI_DTYPE_KIND_COUNT] = {
    "int", "uint", "i", "float", "bfloat", "complex", "bool", "index", "handle",
};

void fnabi_dtype_table_write_name(fnabi_writer* w,
                                  const fnabi_dtype_table* table, size_t i) {
  fnabi_dtype dtype = fnabi_dtype_table_at(table, i);
  fnabi_put(w, names[dtype.kind], strlen(names[dtype.kind]));
  if (dtype.kind >= FNABI_DTYPE_BOOL) return;
  uint8_t bits[FNABI_DECIMAL_CAPACITY], *end = bits + sizeof bits;
  const uint8_t* begin = fnabi_decimal(end, dtype.bits);
  fnabi_put(w, begin, (size_t)(end - begin));
  if (dtype.format_size == 0) return;
  fnabi_put(w, "_", 1);
  fnabi_put(w, dtype.format, dtype.format_size);
}

/* name ::= "bool" | "index" | "handle" | kind bits ('_' format)? */
bool fnabi_dtype_read_name(const char* text, size_t size, fnabi_dtype* dtype) {
  size_t head = 0, at;
  while (head < size && text[head] >= 'a' && text[head] <= 'z') head++;
  int kind = 0;
  while (kind < FNABI_DTYPE_KIND_COUNT &&
         (strlen(names[kind]) != head || memcmp(names[kind], text, head) != 0))
    kind++;
  if (kind == FNABI_DTYPE_KIND_COUNT) return false;
  *dtype = (fnabi_dtype){(fnabi_dtype_kind)kind,
                         kind == FNABI_DTYPE_BOOL ? 1 : 64, "", 0};
  if (kind >= FNABI_DTYPE_BOOL) return head == size;
  uint32_t bits = 0;
  for (at = head; at < size && text[at] >= '0' && text[at] <= '9'; at++) {
    bits = bits * 10 + (uint32_t)(text[at] - '0');
    if (bits == 0 || bits > FNABI_DTYPE_BITS_MAX) return false;
  }
  dtype->bits = bits;
  if (at == size) return at > head;
  dtype->format = text + at + 1;
  dtype->format_size = size - at - 1;
  return at > head && text[at] == '_' && dtype->format_size > 0;
}

int64_t fnabi_dtype_table_message(const fnabi_dtype_table* table, uint8_t* out,
                                  size_t capacity) {
  fnabi_writer w = {out, capacity, 0};
  size_t count = fnabi_dtype_table_count(table);
  fnabi_pack_array(&w, 2);
  fnabi_pack_close(&w, fnabi_pack_open(&w), count);
  for (size_t i = 0; i < count; i++) {
    fnabi_dtype dtype = fnabi_dtype_table_at(table, i);
    fnabi_pack_dtype(&w, &dtype);
  }
  fnabi_pack_close(&w, fnabi_pack_open(&w), count);
  for (size_t i = 0; i < count; i++) {
    fnabi_writer measure = {NULL, 0, 0};
    fnabi_dtype_table_write_name(&measure, table, i);
    fnabi_pack_string(&w, measure.size);
    fnabi_dtype_table_write_name(&w, table, i);
  }
  return (int64_t)w.size;
}
