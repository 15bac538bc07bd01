/* flatbuffer.h - FlatBuffers of unknown origin, read by a schema. Private.
 *
 * A schema is static data. One walk follows it through a buffer, checks all
 * that it passes and, when it is given a writer, writes what it finds as a
 * message; verifying is the walk without one. Nothing is ever read on the
 * strength of an earlier walk: each place is checked when it is reached, so
 * a buffer may change between two walks, or during one.
 *
 * Work is bounded by the buffer's size, whatever refers to what: see
 * fnabi_fb_open. Recursion follows the schema, which has no cycles. */
#ifndef FNABI_FLATBUFFER_H
#define FNABI_FLATBUFFER_H

#include "base/message.h"

/* A scalar is its width in bytes, and whether it has a sign. */
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

/* What a field is, and the message it becomes when it is there. */
typedef enum fnabi_fb_kind {
  FNABI_FB_SCALAR,  /* int; its fallback when absent */
  FNABI_FB_STRING,  /* text */
  FNABI_FB_BYTES,   /* [offset in the file, size]: bytes are not copied */
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
  bool optional;  /* absent is nil, and not an empty string or vector */
  bool nullable;  /* TABLES: a lenient walk passes over null elements */
  int32_t fallback;
  union {
    const fnabi_fb_table* table;
    const fnabi_fb_struct* structure;
    const fnabi_fb_union* members;
  };
} fnabi_fb_field;

struct fnabi_fb_table {
  uint8_t slot; /* its own among the tables of a schema, below FNABI_FB_SLOTS */
  uint8_t count; /* of fields */
  const fnabi_fb_field* fields;
};

#define FNABI_FB_SLOTS 17
#define FNABI_FB_IDS 16
#define FNABI_FB_MEMBERS 7 /* of a struct */

/* What a vtable says, checked: the size of the tables that use it, and where
 * in them each field stands, 0 where it does not. Tables of one type mostly
 * share one vtable, so the last one of each type is kept, as a copy: it stays
 * true to itself if the buffer changes. */
typedef struct fnabi_fb_shape {
  int64_t vtable; /* its place */
  uint16_t size;
  uint16_t at[FNABI_FB_IDS];
  /* What each table of the shape has to be looked at for, by its place in the
   * schema: first the strings, then the others. The vtable settles the rest.
   * Listed for a walk without a writer, which alone asks. */
  uint8_t string_count, check_count;
  struct {
    uint16_t at;
    uint8_t field;
  } checks[FNABI_FB_IDS];
} fnabi_fb_shape;

/* A place is counted from the size prefix, which is also what alignment is
 * relative to. */
typedef struct fnabi_fb {
  const uint8_t* data;
  size_t size;          /* with the size prefix */
  uint64_t origin;      /* of the size prefix in the file */
  uint64_t work;        /* what may still be spent */
  bool lenient;         /* passes over null elements where a field says so */
  fnabi_writer* writer; /* NULL: check only */
  fnabi_error* error;
  fnabi_fb_shape shapes[FNABI_FB_SLOTS];
} fnabi_fb;

/* A table that was entered. Its shape holds until another table of the same
 * type is entered. */
typedef struct fnabi_fb_view {
  size_t place;
  const fnabi_fb_shape* shape;
} fnabi_fb_view;

/* `data` begins with a size prefix, and `size` >= 4 includes it. The buffer
 * may be passed over, in elements of vectors of tables, as often as it has
 * bytes: four times what fits in without sharing. Of text and numbers it may
 * give 32 times its own size. Beyond either, FNABI_WORK. */
void fnabi_fb_open(fnabi_fb* fb, const uint8_t* data, size_t size,
                   uint64_t origin, bool lenient, fnabi_writer* writer,
                   fnabi_error* error);

/* All of these answer false after filling in the error, whose offset is in
 * the file and whose path is complete below the field or the table. */

/* The table that the offset at `from` leads to. */
bool fnabi_fb_enter(fnabi_fb* fb, const fnabi_fb_table* table, size_t from,
                    fnabi_fb_view* view);

/* A string; NULL and 0 when absent. */
bool fnabi_fb_string(fnabi_fb* fb, const fnabi_fb_view* view,
                     const fnabi_fb_field* field, const char** text,
                     size_t* size);

/* The elements of a vector of tables; the offset of element i is at
 * *place + 4 * i. Counts as having passed over them. */
bool fnabi_fb_tables(fnabi_fb* fb, const fnabi_fb_view* view,
                     const fnabi_fb_field* field, size_t* place, size_t* count);

/* Whether the offset at `from`, of an element of a vector, is null. */
bool fnabi_fb_is_null(const fnabi_fb* fb, size_t from);

/* The elements of a vector of unions: the member of element i is at
 * *members + i, the offset of its table at *place + 4 * i; they agree. Counts
 * as fnabi_fb_tables does. */
bool fnabi_fb_unions(fnabi_fb* fb, const fnabi_fb_view* view,
                     const fnabi_fb_field* field, size_t* members,
                     size_t* place, size_t* count);

/* The elements of a vector of bytes, scalars or structs, which stand behind
 * each other from *place on. Counts all but bytes as looked at. */
bool fnabi_fb_flat(fnabi_fb* fb, const fnabi_fb_view* view,
                   const fnabi_fb_field* field, size_t* place, size_t* count);

/* Element `index` of such a vector: its value, or those of its members; the
 * signed ones with their sign extended. */
void fnabi_fb_element(const fnabi_fb* fb, const fnabi_fb_field* field,
                      size_t place, size_t index, uint64_t* values);

/* The value of a scalar, a u64 as the int64 of the same bits. */
int64_t fnabi_fb_int(const fnabi_fb* fb, const fnabi_fb_view* view,
                     const fnabi_fb_field* field);

/* Counts bytes that are looked at or written as work. */
bool fnabi_fb_spend(fnabi_fb* fb, uint64_t bytes, size_t place);

/* The walk: of one field, and of all fields of the table that the offset at
 * `from` leads to. */
bool fnabi_fb_walk_field(fnabi_fb* fb, const fnabi_fb_view* view,
                         const fnabi_fb_field* field);
bool fnabi_fb_walk(fnabi_fb* fb, const fnabi_fb_table* table, size_t from);

/* Writes text and counts it as work. */
bool fnabi_fb_pack_text(fnabi_fb* fb, const char* text, size_t size);

/* On the way out: the field, or the element of one, in which it failed.
 * Answers false. */
bool fnabi_fb_in_field(fnabi_fb* fb, const char* name);
bool fnabi_fb_in_element(fnabi_fb* fb, const char* name, size_t index);

#endif /* FNABI_FLATBUFFER_H */
