/* flatbuffer.h - untrusted FlatBuffers, read by a schema. Private.
 *
 * A schema is static data. One walk follows it through a buffer, checks every
 * part that it visits and, if it has a writer, writes the parts as a message;
 * verifying is the walk without a writer. Nothing relies on an earlier walk:
 * each offset is checked when it is followed, so a buffer may change between
 * two walks, or during one.
 *
 * Work is limited by the buffer's size, also where parts are shared: see
 * fnabi_fb_open. Recursion follows the schema, which has no cycles.
 *
 * A "place" is an offset from the size prefix, to which alignment is relative
 * too. */
#ifndef FNABI_FLATBUFFER_H
#define FNABI_FLATBUFFER_H

#include "base/message.h"

/* A scalar: its width in bytes, and a flag where it is signed. */
#define FNABI_FB_SIGNED 0x10
typedef enum fnabi_fb_scalar {
  FNABI_FB_U8 = 1,
  FNABI_FB_U16 = 2,
  FNABI_FB_U32 = 4,
  FNABI_FB_U64 = 8,
  FNABI_FB_I8 = FNABI_FB_SIGNED | 1,
  FNABI_FB_I16 = FNABI_FB_SIGNED | 2,
  FNABI_FB_I32 = FNABI_FB_SIGNED | 4,
  FNABI_FB_I64 = FNABI_FB_SIGNED | 8
} fnabi_fb_scalar;

/* The kind of a field, and its message where it is present. */
typedef enum fnabi_fb_kind {
  FNABI_FB_SCALAR,  /* int; its fallback when absent */
  FNABI_FB_STRING,  /* text */
  FNABI_FB_BYTES,   /* [offset in the file, size], not the bytes */
  FNABI_FB_SCALARS, /* [int...] */
  FNABI_FB_STRUCTS, /* [[int...]...] */
  FNABI_FB_TABLE,   /* [field...], in the order of the schema */
  FNABI_FB_TABLES,  /* [table...] */
  FNABI_FB_UNION,   /* [member, field...], [0, member] for an unknown member or
                       without a table */
  FNABI_FB_UNIONS   /* [union...] */
} fnabi_fb_kind;

typedef struct fnabi_fb_table fnabi_fb_table;

typedef struct fnabi_fb_struct {
  uint8_t size, align, count;
  const uint8_t* members; /* fnabi_fb_scalar, each at its own alignment */
} fnabi_fb_struct;

typedef struct fnabi_fb_union {
  uint8_t count;
  const fnabi_fb_table* const* members; /* from member 1 on; 0 is none */
} fnabi_fb_union;

typedef struct fnabi_fb_field {
  const char* name;
  uint8_t id;     /* a union's type is the field before it */
  uint8_t kind;   /* fnabi_fb_kind */
  uint8_t scalar; /* SCALAR, SCALARS: fnabi_fb_scalar */
  bool required;  /* not for unions */
  bool optional;  /* absent is nil, not an empty string or vector */
  bool nullable;  /* TABLES: a lenient walk skips null elements */
  int32_t fallback;
  union {
    const fnabi_fb_table* table;
    const fnabi_fb_struct* structure;
    const fnabi_fb_union* members;
  };
} fnabi_fb_field;

struct fnabi_fb_table {
  uint8_t slot;  /* unique in the schema, below FNABI_FB_SLOTS */
  uint8_t count; /* of fields */
  const fnabi_fb_field* fields;
};

#define FNABI_FB_SLOTS 17
#define FNABI_FB_IDS 16
#define FNABI_FB_MEMBERS 7 /* of a struct */

typedef struct fnabi_fb_check {
  uint16_t at;   /* its offset in the table */
  uint8_t field; /* of the schema's table, as an index */
} fnabi_fb_check;

/* The contents of a vtable, checked: the size of the tables that use it, and
 * the offset of each field in them, 0 where it is absent. Most tables of one
 * type share one vtable, so the last one of each type is kept. It is a copy,
 * which stays consistent if the buffer changes. */
typedef struct fnabi_fb_shape {
  int64_t vtable; /* its place */
  uint16_t size;
  uint16_t at[FNABI_FB_IDS];
  /* The fields that must be checked in each table of the shape, the strings
   * first, in the order of the schema. Checking the vtable is enough for all
   * other fields. Only a walk without a writer uses them. */
  uint8_t string_count, other_count;
  fnabi_fb_check strings[FNABI_FB_IDS], others[FNABI_FB_IDS];
} fnabi_fb_shape;

typedef struct fnabi_fb {
  const uint8_t* data;
  size_t size;          /* with the size prefix */
  uint64_t origin;      /* of the size prefix in the file */
  uint64_t work;        /* that is still allowed */
  bool lenient;         /* skips null elements of nullable fields */
  fnabi_writer* writer; /* NULL: check only */
  fnabi_error* error;
  fnabi_fb_shape shapes[FNABI_FB_SLOTS];
} fnabi_fb;

/* A table that was entered. Its shape is valid until another table of the same
 * type is entered. */
typedef struct fnabi_fb_view {
  size_t place;
  const fnabi_fb_shape* shape;
} fnabi_fb_view;

/* `data` begins with a size prefix, and `size` >= 4 includes it. A walk may
 * visit as many elements of vectors of tables as the buffer has bytes, four
 * times what fits without sharing, and write 32 times the size of the buffer in
 * text and numbers. Beyond either it fails with FNABI_WORK. */
void fnabi_fb_open(fnabi_fb* fb, const uint8_t* data, size_t size,
                   uint64_t origin, bool lenient, fnabi_writer* writer,
                   fnabi_error* error);

/* Opens the bytes of an earlier walk again, whose vtables are known then. */
void fnabi_fb_again(fnabi_fb* fb, const fnabi_fb* known, bool lenient,
                    fnabi_writer* writer, fnabi_error* error);

/* All of these return false after filling in the error. Its offset is in the
 * file, and its path is relative to the field or the table. */

/* Enters the table that the offset at `from` points to. */
bool fnabi_fb_enter(fnabi_fb* fb, const fnabi_fb_table* table, size_t from,
                    fnabi_fb_view* view);

/* A string; NULL and 0 when absent. */
bool fnabi_fb_string(fnabi_fb* fb, const fnabi_fb_view* view,
                     const fnabi_fb_field* field, const char** text,
                     size_t* size);

/* Enters a table and reads one of its strings. */
bool fnabi_fb_enter_string(fnabi_fb* fb, const fnabi_fb_table* table,
                           const fnabi_fb_field* field, size_t from,
                           fnabi_fb_view* view, const char** text,
                           size_t* size);

/* The elements of a vector of tables; the offset of element i is at
 * *place + 4 * i. Counts the elements as visited. */
bool fnabi_fb_tables(fnabi_fb* fb, const fnabi_fb_view* view,
                     const fnabi_fb_field* field, size_t* place, size_t* count);

/* Whether the offset at `from`, an element of a vector, is null. */
bool fnabi_fb_is_null(const fnabi_fb* fb, size_t from);

/* The elements of a vector of unions: the member of element i is at
 * *members + i, the offset of its table at *place + 4 * i; either both are
 * null or none. Counts the elements as fnabi_fb_tables. */
bool fnabi_fb_unions(fnabi_fb* fb, const fnabi_fb_view* view,
                     const fnabi_fb_field* field, size_t* members,
                     size_t* place, size_t* count);

/* The elements of a vector of bytes, scalars or structs, one after the other
 * from *place on. Counts all but bytes as read. */
bool fnabi_fb_flat(fnabi_fb* fb, const fnabi_fb_view* view,
                   const fnabi_fb_field* field, size_t* place, size_t* count);

/* Element `index` of such a vector: its value, or those of its members; the
 * signed ones with their sign extended. */
void fnabi_fb_element(const fnabi_fb* fb, const fnabi_fb_field* field,
                      size_t place, size_t index, uint64_t* values);

/* The value of a scalar; a u64 becomes the int64 with the same bits. */
int64_t fnabi_fb_int(const fnabi_fb* fb, const fnabi_fb_view* view,
                     const fnabi_fb_field* field);

/* Counts bytes that are read or written as work. */
bool fnabi_fb_spend(fnabi_fb* fb, uint64_t bytes, size_t place);

/* Walk one field, with a writer, or all fields of the table that the offset at
 * `from` points to. */
bool fnabi_fb_walk_field(fnabi_fb* fb, const fnabi_fb_view* view,
                         const fnabi_fb_field* field);
bool fnabi_fb_walk(fnabi_fb* fb, const fnabi_fb_table* table, size_t from);

/* Writes text and counts it as work. */
bool fnabi_fb_pack_text(fnabi_fb* fb, const char* text, size_t size);

/* Put the field, or an element of it, before the path of the error. Return
 * false. */
bool fnabi_fb_in_field(fnabi_fb* fb, const char* name);
bool fnabi_fb_in_element(fnabi_fb* fb, const char* name, size_t index);

#endif /* FNABI_FLATBUFFER_H */
