/* arrow.h - the structures of the Arrow C data and stream interfaces, which
 * every library that uses them defines for itself, and how to fill them.
 * Private. */
#ifndef FNABI_ARROW_H
#define FNABI_ARROW_H

#include <stdint.h>

#include "many/columns.h"

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_NULLABLE 2

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema*);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray*);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};

#endif

bool fnabi_arrow_is(const char* kind, const char* name);

/* Moves a structure to one that is empty. Returns false, and does nothing, when
 * it has been released or moved already. */
bool fnabi_arrow_move(const char* kind, void* from, void* to);

/* The names of fnabi_type and of fnabi_sip_node in columns. */
extern const char* const fnabi_arrow_type_kinds[FNABI_TYPE_REF_ARRAY + 1];
extern const char* const fnabi_arrow_sip_kinds[FNABI_SIP_DICT + 1];

/* A field, followed by its `children`. All texts are static. */
typedef struct fnabi_arrow_field {
  const char *name, *format;
  const char* dictionary; /* the format of its values, or NULL */
  int children;
} fnabi_arrow_field;

/* Makes the schema of the field at *f and of its children, and moves *f past
 * them. Returns false when out of memory. The caller releases `out` either
 * way. */
bool fnabi_arrow_make_schema(const fnabi_arrow_field** f,
                             struct ArrowSchema* out);
void fnabi_arrow_release_schema(struct ArrowSchema* schema);

/* The most buffers of an array: views have four. */
enum { FNABI_ARROW_BUFFERS = 4 };

/* Makes an array with the capacity for that many buffers and children, and
 * without any. Once this has returned true the caller releases the array,
 * whatever fails later. Every array, also the innermost, owns its memory and
 * (unless NULL) is an owner of `columns`: a consumer may move any of them out
 * and release it last. */
bool fnabi_arrow_open(struct ArrowArray* out, fnabi_columns* columns,
                      size_t length, int buffers, int children);
void fnabi_arrow_release(struct ArrowArray* array);

/* Sets a buffer that somebody else owns; NULL is one of no bytes. */
void fnabi_arrow_set_buffer(struct ArrowArray* out, int i, const void* data);

/* Makes a zeroed buffer that the array owns; NULL when out of memory. As many
 * bytes more than its size may be read. */
#define FNABI_ARROW_PAD 16
void* fnabi_arrow_make_buffer(struct ArrowArray* out, int i, size_t size);

/* Replaces a buffer by one that the array then owns. */
void fnabi_arrow_replace_buffer(struct ArrowArray* out, int i, void* made);

/* Adds an empty child and returns it; NULL when out of memory. */
struct ArrowArray* fnabi_arrow_add_child(struct ArrowArray* out);

/* Writes the text of entry `i` of a dictionary. */
typedef void fnabi_arrow_entry_writer(fnabi_writer* w, const void* context,
                                      size_t i);

/* Writes a name of an array of them, const char* const[]. */
void fnabi_arrow_write_name(fnabi_writer* w, const void* names, size_t i);

/* Makes the dictionary of an array, with `count` entries. */
bool fnabi_arrow_set_dictionary(struct ArrowArray* out, const void* context,
                                size_t count, fnabi_arrow_entry_writer* write);

/* Makes the dictionary of the names of fnabi_code. */
bool fnabi_arrow_set_codes(struct ArrowArray* out);

/* Makes the validity bitmap of an array: element i is valid if `condition`.
 * Makes the function that uses it return false when out of memory. */
#define FNABI_ARROW_VALIDITY(out, condition)                          \
  do {                                                                \
    size_t count_ = (size_t)(out)->length;                            \
    uint8_t* bits_ = fnabi_arrow_make_buffer(out, 0, count_ / 8 + 1); \
    if (bits_ == NULL) return false;                                  \
    int64_t set_ = 0;                                                 \
    for (size_t i = 0; i < count_; i++) {                             \
      bool valid_ = (condition);                                      \
      bits_[i / 8] |= (uint8_t)((unsigned)valid_ << i % 8);           \
      set_ += valid_;                                                 \
    }                                                                 \
    (out)->null_count = (out)->length - set_;                         \
    if ((out)->null_count == 0) (out)->buffers[0] = NULL;             \
  } while (0)

#endif /* FNABI_ARROW_H */
