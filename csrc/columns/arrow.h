/* arrow.h - the structures of the Arrow C data and stream interfaces, which
 * every library that speaks them defines for itself, and how they are filled.
 * Private. */
#ifndef FNABI_ARROW_H
#define FNABI_ARROW_H

#include <stdint.h>

#include "base/message.h"

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

/* Moves a structure to one that is empty; false, and nothing is done, where it
 * has been released or moved already. */
bool fnabi_arrow_move(const char* kind, void* from, void* to);

/* A field; all texts are static. It has as many children as follow. */
typedef struct fnabi_arrow_field {
  const char *name, *format;
  const char* dictionary; /* the format of its values, or NULL */
  int children;
} fnabi_arrow_field;

/* The field at *f and what it is made of; *f is then behind them. What it made
 * is to be released, also when there is no memory for more: false. */
bool fnabi_arrow_make_schema(const fnabi_arrow_field** f,
                             struct ArrowSchema* out);
void fnabi_arrow_release_schema(struct ArrowSchema* schema);

/* An array without children or buffers, and room for some. Once this answers
 * true the array is to be released, whatever fails after. Every array, the
 * innermost too, owns what it is made of, `columns` as well unless NULL: a
 * consumer may take any of them out and release it last. */
bool fnabi_arrow_open(struct ArrowArray* out, fnabi_columns* columns,
                      size_t length, int buffers, int children);
void fnabi_arrow_release(struct ArrowArray* array);

/* A buffer that is there already; NULL: one of no bytes. */
void fnabi_arrow_set_buffer(struct ArrowArray* out, int i, const void* data);

/* A buffer that the array frees; NULL when there is no memory. */
void* fnabi_arrow_make_buffer(struct ArrowArray* out, int i, size_t size);

/* The next child, to be filled; NULL when there is no memory. */
struct ArrowArray* fnabi_arrow_add_child(struct ArrowArray* out);

/* The text of an entry of a dictionary of `count`. */
typedef void fnabi_arrow_entry_writer(fnabi_writer* w,
                                      const fnabi_columns* columns, size_t i);
bool fnabi_arrow_set_dictionary(struct ArrowArray* out, fnabi_columns* columns,
                                size_t count, fnabi_arrow_entry_writer* write);

/* The validity of an array: a bit for each element i, whether `condition`.
 * Returns false from the function that it stands in when there is no memory. */
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
