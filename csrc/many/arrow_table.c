/* Tables of others with columns of fnabi beside theirs. */
#include <stdlib.h>

#include "many/arrow.h"

int64_t fnabi_arrow_column(const struct ArrowSchema* schema, const char* name) {
  int64_t found = FNABI_ARROW_NO_COLUMN;
  if (!fnabi_arrow_is(schema->format, "+s")) return FNABI_ARROW_NO_TABLE;
  for (int64_t i = 0; i < schema->n_children; i++) {
    const char* other = schema->children[i]->name;
    if (strcmp(other != NULL ? other : "", name) != 0) continue;
    if (found >= 0) return FNABI_ARROW_SEVERAL;
    found = i;
  }
  return found;
}

/* ------------------------------------------------------------------- schemas */

/* The size of metadata: a number of pairs, and each a size and its bytes; all
 * numbers are int32. */
static size_t metadata_size(const char* metadata) {
  const char* at = metadata;
  int32_t count, size;
  if (metadata == NULL) return 0;
  memcpy(&count, at, sizeof count);
  at += sizeof count;
  for (int64_t i = 0; i < 2 * (int64_t)count; i++) {
    memcpy(&size, at, sizeof size);
    at += sizeof size + (size_t)size;
  }
  return (size_t)(at - metadata);
}

static void release_copy(struct ArrowSchema* schema) {
  free(schema->private_data);
  fnabi_arrow_release_schema(schema);
}

/* Copies the texts of a schema, with `prefix` before its name. Returns false
 * when out of memory; the caller releases `out` either way. */
static bool copy_texts(const struct ArrowSchema* from, const char* prefix,
                       struct ArrowSchema* out) {
  const char* name = from->name != NULL ? from->name : "";
  size_t format_size = strlen(from->format) + 1, name_size = strlen(name) + 1;
  size_t more = metadata_size(from->metadata), before = strlen(prefix);
  *out = (struct ArrowSchema){.flags = from->flags, .release = release_copy};
  char* texts = out->private_data =
      malloc(more + format_size + before + name_size);
  if (texts == NULL) return false;
  if (more > 0) out->metadata = memcpy(texts, from->metadata, more);
  out->format = memcpy(texts + more, from->format, format_size);
  out->name = memcpy(texts + more + format_size, prefix, before);
  memcpy(texts + more + format_size + before, name, name_size);
  return true;
}

/* The same of a whole schema. */
static bool copy_schema(const struct ArrowSchema* from, const char* prefix,
                        struct ArrowSchema* out) {
  if (!copy_texts(from, prefix, out)) return false;
  if (from->dictionary != NULL) {
    out->dictionary = calloc(1, sizeof *out);
    if (out->dictionary == NULL ||
        !copy_schema(from->dictionary, "", out->dictionary))
      return false;
  }
  if (from->n_children == 0) return true;
  out->children = calloc((size_t)from->n_children, sizeof *out->children);
  if (out->children == NULL) return false;
  while (out->n_children < from->n_children) {
    struct ArrowSchema* child = calloc(1, sizeof *child);
    if (child == NULL) return false;
    out->children[out->n_children] = child;
    if (!copy_schema(from->children[out->n_children++], "", child))
      return false;
  }
  return true;
}

static bool is_dropped(int64_t drop, int64_t i) {
  return drop == i || drop == FNABI_ARROW_EVERY;
}

int64_t fnabi_arrow_beside_schema(const struct ArrowSchema* table, int64_t drop,
                                  const struct ArrowSchema* more,
                                  const char* name, bool into,
                                  struct ArrowSchema* out) {
  int64_t added = into ? 1 : more->n_children;
  bool good = copy_texts(table, "", out);
  if (good) {
    out->children =
        calloc((size_t)(table->n_children + added), sizeof *out->children);
    good = out->children != NULL;
  }
  for (int64_t i = 0; i < table->n_children + added && good; i++) {
    bool own = i >= table->n_children;
    if (!own && is_dropped(drop, i)) continue;
    const struct ArrowSchema* from =
        !own   ? table->children[i]
        : into ? more
               : more->children[i - table->n_children];
    struct ArrowSchema* child = calloc(1, sizeof *child);
    good = child != NULL;
    if (!good) break;
    out->children[out->n_children++] = child;
    good = copy_schema(from, own ? name : "", child);
  }
  if (good) return 0;
  out->release(out);
  return -1;
}

/* -------------------------------------------------------------------- arrays */

bool fnabi_arrow_has_nulls(const struct ArrowArray* table) {
  if (table->n_buffers == 0 || table->null_count == 0) return false;
  const uint8_t* bits = table->buffers[0];
  for (int64_t i = table->offset;
       bits != NULL && i < table->offset + table->length; i++)
    if ((bits[i / 8] >> i % 8 & 1) == 0) return true;
  return false;
}

/* Moves a column to the end of those of `out`, as long as its table is. Returns
 * false when out of memory. */
static bool move_column(struct ArrowArray* column,
                        const struct ArrowArray* table,
                        struct ArrowArray* out) {
  struct ArrowArray* child = fnabi_arrow_add_child(out);
  if (child == NULL) return false;
  fnabi_arrow_move("arrow_array", column, child);
  if (table->offset == 0 && child->length == table->length) return true;
  child->offset += table->offset;
  child->length = table->length;
  if (child->null_count != 0) child->null_count = -1;
  return true;
}

/* Adds a struct of the columns of `more`, which is null where its first is. */
static bool add_struct(struct ArrowArray* out, struct ArrowArray* more) {
  struct ArrowArray* all = fnabi_arrow_add_child(out);
  if (all == NULL || !fnabi_arrow_open(all, NULL, (size_t)more->length, 1,
                                       (int)more->n_children + 1))
    return false;
  for (int64_t i = 0; i < more->n_children; i++)
    if (!move_column(more->children[i], more, all)) return false;
  const struct ArrowArray* first = all->n_children > 0 ? *all->children : NULL;
  if (first == NULL || first->n_buffers == 0 || *first->buffers == NULL)
    return true;
  const uint8_t* bits = *first->buffers;
  size_t offset = (size_t)first->offset;
  FNABI_ARROW_VALIDITY(all, (bits[(offset + i) / 8] >> (offset + i) % 8 & 1));
  return true;
}

static bool fill_beside(struct ArrowArray* table, int64_t drop,
                        struct ArrowArray* more, bool into,
                        struct ArrowArray* out) {
  for (int64_t i = 0; i < table->n_children; i++)
    if (!is_dropped(drop, i) && !move_column(table->children[i], table, out))
      return false;
  if (into) return add_struct(out, more);
  for (int64_t i = 0; i < more->n_children; i++)
    if (!move_column(more->children[i], more, out)) return false;
  return true;
}

int64_t fnabi_arrow_beside(struct ArrowArray* table, int64_t drop,
                           struct ArrowArray* more, bool into,
                           struct ArrowArray* out) {
  int64_t count = table->n_children + (into ? 1 : more->n_children);
  if (!fnabi_arrow_open(out, NULL, (size_t)table->length, 1, (int)count + 1))
    return -1;
  if (fill_beside(table, drop, more, into, out)) return 0;
  fnabi_arrow_release(out);
  return -1;
}

/* --------------------------------------------------------------------- texts */

int64_t fnabi_arrow_texts_schema(const char* name, bool binary,
                                 const char* error_name,
                                 struct ArrowSchema* out) {
  const fnabi_arrow_field fields[] = {{"", "+s", NULL, 2},
                                      {name, binary ? "Z" : "U", NULL, 0},
                                      {error_name, "u", NULL, 0}};
  const fnabi_arrow_field* f = fields;
  struct ArrowSchema named;
  bool good = fnabi_arrow_make_schema(&f, &named);
  if (good && !copy_schema(&named, "", out)) {
    out->release(out);
    good = false;
  }
  fnabi_arrow_release_schema(&named);
  return good ? 0 : -1;
}

static bool fill_texts(struct ArrowArray* out, const uint8_t* status,
                       const int64_t* ends, const uint8_t* data, size_t count) {
  size_t size = count > 0 ? (size_t)ends[count - 1] : 0, errors = 0;
  struct ArrowArray* texts = fnabi_arrow_add_child(out);
  if (texts == NULL || !fnabi_arrow_open(texts, NULL, count, 3, 0))
    return false;
  FNABI_ARROW_VALIDITY(texts, status[i] == FNABI_OK);
  int64_t* offsets =
      fnabi_arrow_make_buffer(texts, 1, (count + 1) * sizeof *offsets);
  uint8_t* text = fnabi_arrow_make_buffer(texts, 2, size);
  if (offsets == NULL || text == NULL) return false;
  if (count > 0) memcpy(offsets + 1, ends, count * sizeof *ends);
  if (size > 0) memcpy(text, data, size);

  struct ArrowArray* names = fnabi_arrow_add_child(out);
  if (names == NULL || !fnabi_arrow_open(names, NULL, count, 3, 0))
    return false;
#define IS_ERROR(i) (status[i] != FNABI_OK && status[i] != FNABI_ROW_NULL)
  FNABI_ARROW_VALIDITY(names, IS_ERROR(i));
  for (size_t i = 0; i < count; i++)
    if (IS_ERROR(i)) errors += strlen(fnabi_code_name(status[i]));
  int32_t* name_ends =
      fnabi_arrow_make_buffer(names, 1, (count + 1) * sizeof *name_ends);
  char* codes = fnabi_arrow_make_buffer(names, 2, errors);
  if (name_ends == NULL || codes == NULL || errors > INT32_MAX) return false;
  for (size_t i = 0, at = 0; i < count; i++) {
    const char* name = IS_ERROR(i) ? fnabi_code_name(status[i]) : "";
    memcpy(codes + at, name, strlen(name));
    at += strlen(name);
    name_ends[i + 1] = (int32_t)at;
  }
#undef IS_ERROR
  return true;
}

int64_t fnabi_arrow_texts(const uint8_t* status, const int64_t* ends,
                          const uint8_t* data, size_t count,
                          struct ArrowArray* out) {
  if (!fnabi_arrow_open(out, NULL, count, 1, 2)) return -1;
  if (fill_texts(out, status, ends, data, count)) return 0;
  fnabi_arrow_release(out);
  return -1;
}
