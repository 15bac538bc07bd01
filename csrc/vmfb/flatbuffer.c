/* Untrusted FlatBuffers, read by a schema. */
#include "vmfb/flatbuffer.h"

#include "base/error.h"
#include "base/platform.h"

/* Visiting an element counts as much as writing this many bytes. */
#define ELEMENT_WORK 32

/* Inlined where a compiler alone would not: opening a module takes a few dozen
 * instructions per table and string, so a call would show. */
#define HOT FNABI_INLINE
#define COLD FNABI_COLD

/* No table has this vtable: its place less an int32 is more. */
#define NO_VTABLE INT64_MIN

/* Compilers make one load of these, and the data need not be aligned. */
HOT uint16_t read16(const uint8_t* p) { return (uint16_t)(p[0] | p[1] << 8); }

HOT uint32_t read32(const uint8_t* p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
         (uint32_t)p[3] << 24;
}

static uint64_t read_scalar(const uint8_t* p, uint8_t scalar) {
  unsigned bytes = scalar & 15;
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; i++) value |= (uint64_t)p[i] << (8 * i);
  if (scalar & FNABI_FB_SIGNED) { /* extends the sign */
    uint64_t sign = UINT64_C(1) << (8 * bytes - 1);
    value = (value ^ sign) - sign;
  }
  return value;
}

static void pack_scalar(fnabi_writer* w, uint8_t scalar, uint64_t value) {
  if (scalar & FNABI_FB_SIGNED)
    fnabi_pack_int(w, (int64_t)value);
  else
    fnabi_pack_uint(w, value);
}

void fnabi_fb_open(fnabi_fb* fb, const uint8_t* data, size_t size,
                   uint64_t origin, bool lenient, fnabi_writer* writer,
                   fnabi_error* error) {
  fb->data = data;
  fb->size = size;
  fb->origin = origin;
  fb->work = (uint64_t)size * ELEMENT_WORK;
  fb->lenient = lenient;
  fb->writer = writer;
  fb->error = error;
  for (size_t i = 0; i < FNABI_FB_SLOTS; i++) fb->shapes[i].vtable = NO_VTABLE;
}

void fnabi_fb_again(fnabi_fb* fb, const fnabi_fb* known, bool lenient,
                    fnabi_writer* writer, fnabi_error* error) {
  *fb = *known;
  fb->work = (uint64_t)fb->size * ELEMENT_WORK;
  fb->lenient = lenient;
  fb->writer = writer;
  fb->error = error;
}

COLD void report(fnabi_fb* fb, int32_t code, size_t place) {
  fnabi_fail(fb->error, code, fb->origin + place, NULL);
}

HOT bool fail(fnabi_fb* fb, int32_t code, size_t place) {
  report(fb, code, place);
  return false;
}

bool fnabi_fb_in_field(fnabi_fb* fb, const char* name) {
  char first = fb->error->path[0];
  if (first != 0 && first != '[') fnabi_path_field(fb->error, ".");
  fnabi_path_field(fb->error, name);
  return false;
}

bool fnabi_fb_in_element(fnabi_fb* fb, const char* name, size_t index) {
  if (fb->error->path[0] != 0) fnabi_path_field(fb->error, ".");
  fnabi_path_index(fb->error, index);
  return fnabi_fb_in_field(fb, name);
}

HOT bool spend(fnabi_fb* fb, uint64_t work, size_t place) {
  if (work > fb->work) return fail(fb, FNABI_WORK, place);
  fb->work -= work;
  return true;
}

bool fnabi_fb_spend(fnabi_fb* fb, uint64_t bytes, size_t place) {
  return spend(fb, bytes, place);
}

/* Follows the offset at `from`, which is aligned and inside, to a place that is
 * aligned and has four bytes. Refuses a null offset. */
HOT bool follow(fnabi_fb* fb, size_t from, size_t* place) {
  uint32_t offset = read32(fb->data + from);
  /* one comparison for both: a null offset becomes the largest number */
  if ((size_t)offset - 1 >= fb->size - 4 - from)
    return fail(fb, FNABI_MODULE_OFFSET, from);
  if (offset & 3) return fail(fb, FNABI_MODULE_ALIGNMENT, from);
  *place = from + offset;
  return true;
}

/* Loads the offset of field `id`, and checks that its `bytes` are inside. */
HOT bool load_entry(fnabi_fb* fb, fnabi_fb_shape* shape, size_t vtable,
                    size_t vtable_size, unsigned id, unsigned bytes,
                    uint16_t* at) {
  size_t entry = 4 + 2 * (size_t)id;
  *at = 0;
  if (entry < vtable_size) *at = read16(fb->data + vtable + entry);
  shape->at[id] = *at;
  if (*at == 0) return true;
  if (*at + bytes > shape->size)
    return fail(fb, FNABI_MODULE_VTABLE, vtable + entry);
  /* Tables begin at multiples of 4: fields of 8 bytes are checked in each. */
  if (*at & (bytes - 1) & 3)
    return fail(fb, FNABI_MODULE_ALIGNMENT, vtable + entry);
  return true;
}

static bool is_union(const fnabi_fb_field* field) {
  return field->kind == FNABI_FB_UNION || field->kind == FNABI_FB_UNIONS;
}

/* A union without a value may still have a type. */
static bool is_present(const fnabi_fb_shape* shape,
                       const fnabi_fb_field* field) {
  return shape->at[field->id] != 0 ||
         (is_union(field) && shape->at[field->id - 1] != 0);
}

/* Does all checks that depend on the vtable alone, once for all the tables that
 * use it. The first four bytes at `vtable` are inside. */
static bool load_shape(fnabi_fb* fb, const fnabi_fb_table* table, size_t vtable,
                       size_t place, fnabi_fb_shape* shape) {
  size_t vtable_size = read16(fb->data + vtable);
  if (vtable_size < 4 || vtable_size & 1 || vtable_size > fb->size - vtable)
    return fail(fb, FNABI_MODULE_VTABLE, vtable);
  shape->vtable = NO_VTABLE; /* invalid if this fails */
  shape->size = read16(fb->data + vtable + 2);
  unsigned strings = 0, others = 0;
  for (size_t i = 0; i < table->count; i++) {
    const fnabi_fb_field* field = &table->fields[i];
    bool is_scalar = field->kind == FNABI_FB_SCALAR;
    unsigned bytes = is_scalar ? field->scalar & 15 : 4;
    uint16_t at, type = 0;
    if (is_union(field)) {
      bool is_one = field->kind == FNABI_FB_UNION;
      if (!load_entry(fb, shape, vtable, vtable_size, field->id - 1u,
                      is_one ? 1 : 4, &type))
        return fnabi_fb_in_field(fb, field->name);
      /* Without its types, a vector of unions counts as absent. */
      if (!is_one && type == 0) {
        shape->at[field->id] = 0;
        continue;
      }
    }
    if (!load_entry(fb, shape, vtable, vtable_size, field->id, bytes, &at))
      return fnabi_fb_in_field(fb, field->name);
    if (at == 0 && type == 0) {
      if (!field->required) continue;
      fail(fb, FNABI_MODULE_REQUIRED, place);
      return fnabi_fb_in_field(fb, field->name);
    }
    fnabi_fb_check check = {at, (uint8_t)i};
    if (field->kind == FNABI_FB_STRING)
      shape->strings[strings++] = check;
    else if (!is_scalar || bytes == 8)
      shape->others[others++] = check;
  }
  shape->string_count = (uint8_t)strings;
  shape->other_count = (uint8_t)others;
  shape->vtable = (int64_t)vtable;
  return true;
}

static bool load_vtable(fnabi_fb* fb, const fnabi_fb_table* table,
                        int64_t vtable, size_t place, fnabi_fb_shape* shape) {
  if (vtable < 4 || vtable > (int64_t)(fb->size - 4))
    return fail(fb, FNABI_MODULE_OFFSET, place);
  if (vtable & 1) return fail(fb, FNABI_MODULE_ALIGNMENT, place);
  return load_shape(fb, table, (size_t)vtable, place, shape);
}

HOT bool enter(fnabi_fb* fb, const fnabi_fb_table* table, fnabi_fb_shape* shape,
               size_t from, fnabi_fb_view* view) {
  size_t place;
  if (!follow(fb, from, &place)) return false;
  int64_t vtable = (int64_t)place - (int32_t)read32(fb->data + place);
  if (vtable != shape->vtable && !load_vtable(fb, table, vtable, place, shape))
    return false;
  if (shape->size > fb->size - place)
    return fail(fb, FNABI_MODULE_VTABLE, place);
  view->place = place;
  view->shape = shape;
  return true;
}

bool fnabi_fb_enter(fnabi_fb* fb, const fnabi_fb_table* table, size_t from,
                    fnabi_fb_view* view) {
  return enter(fb, table, &fb->shapes[table->slot], from, view);
}

HOT bool string_at(fnabi_fb* fb, size_t from, size_t* place, size_t* size) {
  size_t head;
  if (!follow(fb, from, &head)) return false;
  size_t count = read32(fb->data + head), start = head + 4;
  if (count >= fb->size - start) return fail(fb, FNABI_MODULE_LENGTH, head);
  if (fb->data[start + count] != 0)
    return fail(fb, FNABI_MODULE_STRING, start + count);
  *place = start;
  *size = count;
  return true;
}

HOT bool string_of(fnabi_fb* fb, const fnabi_fb_view* view,
                   const fnabi_fb_field* field, const char** text,
                   size_t* size) {
  uint16_t at = view->shape->at[field->id];
  size_t place;
  *text = NULL;
  *size = 0;
  if (at == 0) return true;
  if (!string_at(fb, view->place + at, &place, size))
    return fnabi_fb_in_field(fb, field->name);
  *text = (const char*)fb->data + place;
  return true;
}

bool fnabi_fb_string(fnabi_fb* fb, const fnabi_fb_view* view,
                     const fnabi_fb_field* field, const char** text,
                     size_t* size) {
  return string_of(fb, view, field, text, size);
}

bool fnabi_fb_enter_string(fnabi_fb* fb, const fnabi_fb_table* table,
                           const fnabi_fb_field* field, size_t from,
                           fnabi_fb_view* view, const char** text,
                           size_t* size) {
  return enter(fb, table, &fb->shapes[table->slot], from, view) &&
         string_of(fb, view, field, text, size);
}

/* A vector of elements of `bytes` bytes. An empty one need not be aligned to
 * its elements: some writers do not align it. */
HOT bool vector_at(fnabi_fb* fb, size_t from, size_t bytes, size_t align,
                   size_t* place, size_t* count) {
  size_t head;
  if (!follow(fb, from, &head)) return false;
  size_t number = read32(fb->data + head), start = head + 4;
  if (number > (fb->size - start) / bytes)
    return fail(fb, FNABI_MODULE_LENGTH, head);
  if (number != 0 && start & (align - 1))
    return fail(fb, FNABI_MODULE_ALIGNMENT, from);
  *place = start;
  *count = number;
  return true;
}

HOT bool offsets_at(fnabi_fb* fb, size_t from, size_t* place, size_t* count) {
  return vector_at(fb, from, 4, 4, place, count) &&
         spend(fb, (uint64_t)*count * ELEMENT_WORK, from);
}

bool fnabi_fb_tables(fnabi_fb* fb, const fnabi_fb_view* view,
                     const fnabi_fb_field* field, size_t* place,
                     size_t* count) {
  uint16_t at = view->shape->at[field->id];
  *place = *count = 0;
  if (at == 0) return true;
  if (offsets_at(fb, view->place + at, place, count)) return true;
  return fnabi_fb_in_field(fb, field->name);
}

bool fnabi_fb_is_null(const fnabi_fb* fb, size_t from) {
  return read32(fb->data + from) == 0;
}

/* An element must have both a member and an offset, or neither. */
static bool unions_at(fnabi_fb* fb, const fnabi_fb_view* view,
                      const fnabi_fb_field* field, size_t* members,
                      size_t* place, size_t* count) {
  size_t members_from = view->place + view->shape->at[field->id - 1];
  size_t from = view->place + view->shape->at[field->id];
  size_t member_count;
  *place = *count = 0;
  if (!vector_at(fb, members_from, 1, 1, members, &member_count)) return false;
  if (from == view->place) return true;
  if (!offsets_at(fb, from, place, count)) return false;
  if (*count != member_count) return fail(fb, FNABI_MODULE_UNION, from);
  for (size_t i = 0; i < *count; i++)
    if ((fb->data[*members + i] == 0) != fnabi_fb_is_null(fb, *place + 4 * i)) {
      fail(fb, FNABI_MODULE_UNION, *place + 4 * i);
      return fnabi_fb_in_element(fb, "", i);
    }
  return true;
}

bool fnabi_fb_unions(fnabi_fb* fb, const fnabi_fb_view* view,
                     const fnabi_fb_field* field, size_t* members,
                     size_t* place, size_t* count) {
  *members = *place = *count = 0;
  if (!is_present(view->shape, field)) return true;
  if (unions_at(fb, view, field, members, place, count)) return true;
  return fnabi_fb_in_field(fb, field->name);
}

int64_t fnabi_fb_int(const fnabi_fb* fb, const fnabi_fb_view* view,
                     const fnabi_fb_field* field) {
  uint16_t at = view->shape->at[field->id];
  if (at == 0) return field->fallback;
  return (int64_t)read_scalar(fb->data + view->place + at, field->scalar);
}

/* Whether the first `size` of FNABI_CHUNK bytes are ASCII. */
HOT bool is_short_ascii(const uint8_t* bytes, size_t size) {
#define EIGHT "\200\200\200\200\200\200\200\200"
  static const char high[2 * FNABI_CHUNK] = EIGHT EIGHT EIGHT EIGHT;
#undef EIGHT
  uint64_t text[FNABI_CHUNK / 8], mask[FNABI_CHUNK / 8], found = 0;
  memcpy(text, bytes, sizeof text);
  memcpy(mask, high + FNABI_CHUNK - size, sizeof mask);
  for (size_t i = 0; i < FNABI_CHUNK / 8; i++) found |= text[i] & mask[i];
  return found == 0;
}

bool fnabi_fb_pack_text(fnabi_fb* fb, const char* text, size_t size) {
  size_t place = size != 0 ? (size_t)((const uint8_t*)text - fb->data) : 0;
  if (!spend(fb, size, place)) return false;
  if (size <= FNABI_CHUNK && fb->size - place >= FNABI_CHUNK &&
      is_short_ascii(fb->data + place, size)) {
    fnabi_pack_string(fb->writer, size);
    fnabi_put_some(fb->writer, fb->data + place, size, fb->size - place);
  } else {
    fnabi_pack_text(fb->writer, text, size);
  }
  return true;
}

static void pack_no_table(fnabi_writer* w, uint8_t member) {
  fnabi_pack_array(w, 2);
  fnabi_pack_uint(w, 0);
  fnabi_pack_uint(w, member);
}

static void pack_absent(fnabi_writer* w, const fnabi_fb_field* field) {
  if (field->kind == FNABI_FB_SCALAR)
    fnabi_pack_int(w, field->fallback);
  else if (field->optional || field->kind == FNABI_FB_TABLE)
    fnabi_pack_nil(w);
  else if (field->kind == FNABI_FB_UNION)
    pack_no_table(w, 0);
  else if (field->kind == FNABI_FB_STRING)
    fnabi_pack_ascii(w, "");
  else
    fnabi_pack_count(w, 0);
}

/* The element of a flat vector: a struct, or a scalar as a struct of one
 * member, whose kind is then stored in *one. */
HOT fnabi_fb_struct element_of(const fnabi_fb_field* field, uint8_t* one) {
  *one = field->kind == FNABI_FB_BYTES ? FNABI_FB_U8 : field->scalar;
  if (field->kind == FNABI_FB_STRUCTS) return *field->structure;
  return (fnabi_fb_struct){*one & 15, *one & 15, 1, one};
}

HOT void read_element(const fnabi_fb* fb, const fnabi_fb_struct* element,
                      size_t place, uint64_t* values) {
  for (size_t i = 0; i < element->count; i++) {
    size_t bytes = element->members[i] & 15;
    place = (place + bytes - 1) & ~(bytes - 1);
    values[i] = read_scalar(fb->data + place, element->members[i]);
    place += bytes;
  }
}

bool fnabi_fb_flat(fnabi_fb* fb, const fnabi_fb_view* view,
                   const fnabi_fb_field* field, size_t* place, size_t* count) {
  uint16_t at = view->shape->at[field->id];
  uint8_t one;
  fnabi_fb_struct element = element_of(field, &one);
  size_t from = view->place + at;
  *place = *count = 0;
  if (at == 0) return true;
  if (vector_at(fb, from, element.size, element.align, place, count) &&
      (field->kind == FNABI_FB_BYTES ||
       spend(fb, (uint64_t)*count * element.size, from)))
    return true;
  return fnabi_fb_in_field(fb, field->name);
}

void fnabi_fb_element(const fnabi_fb* fb, const fnabi_fb_field* field,
                      size_t place, size_t index, uint64_t* values) {
  uint8_t one;
  fnabi_fb_struct element = element_of(field, &one);
  read_element(fb, &element, place + index * element.size, values);
}

/* Vectors whose elements refer to nothing need one check for all elements. */
static bool walk_flat(fnabi_fb* fb, const fnabi_fb_field* field, size_t from) {
  fnabi_writer* w = fb->writer;
  uint64_t values[FNABI_FB_MEMBERS];
  uint8_t one;
  fnabi_fb_struct element = element_of(field, &one);
  size_t place, count;
  if (!vector_at(fb, from, element.size, element.align, &place, &count))
    return false;
  if (w == NULL) return true;
  if (field->kind == FNABI_FB_BYTES) {
    fnabi_pack_array(w, 2);
    fnabi_pack_uint(w, fb->origin + place);
    fnabi_pack_uint(w, count);
    return true;
  }
  if (!spend(fb, (uint64_t)count * element.size, from)) return false;
  fnabi_pack_count(w, count);
  for (size_t i = 0; i < count; i++, place += element.size) {
    if (field->kind == FNABI_FB_STRUCTS) fnabi_pack_count(w, element.count);
    read_element(fb, &element, place, values);
    for (size_t k = 0; k < element.count; k++)
      pack_scalar(w, element.members[k], values[k]);
  }
  return true;
}

static bool walk_as(fnabi_fb* fb, const fnabi_fb_table* table, uint8_t member,
                    size_t from);

/* Skips a member that the schema does not define: a later version of the schema
 * may define it. */
static bool walk_member(fnabi_fb* fb, const fnabi_fb_union* members,
                        uint8_t member, size_t from) {
  if (member != 0 && member <= members->count)
    return walk_as(fb, members->members[member - 1], member, from);
  if (fb->writer != NULL) pack_no_table(fb->writer, member);
  return true;
}

static bool walk_union(fnabi_fb* fb, const fnabi_fb_view* view,
                       const fnabi_fb_field* field) {
  uint16_t type_at = view->shape->at[field->id - 1];
  uint16_t at = view->shape->at[field->id];
  uint8_t member = type_at != 0 ? fb->data[view->place + type_at] : 0;
  if (member == 0 && at != 0)
    return fail(fb, FNABI_MODULE_UNION, view->place + at);
  if (at != 0) return walk_member(fb, field->members, member, view->place + at);
  if (fb->writer != NULL) pack_no_table(fb->writer, member);
  return true;
}

static bool walk_unions(fnabi_fb* fb, const fnabi_fb_view* view,
                        const fnabi_fb_field* field) {
  size_t members, place, count;
  if (!unions_at(fb, view, field, &members, &place, &count)) return false;
  if (fb->writer != NULL) fnabi_pack_count(fb->writer, count);
  for (size_t i = 0; i < count; i++)
    if (!walk_member(fb, field->members, fb->data[members + i], place + 4 * i))
      return fnabi_fb_in_element(fb, "", i);
  return true;
}

static bool walk_scalar(fnabi_fb* fb, const fnabi_fb_field* field,
                        size_t from) {
  if ((field->scalar & 8) != 0 && (from & 7) != 0)
    return fail(fb, FNABI_MODULE_ALIGNMENT, from);
  if (fb->writer != NULL)
    pack_scalar(fb->writer, field->scalar,
                read_scalar(fb->data + from, field->scalar));
  return true;
}

HOT bool walk_string(fnabi_fb* fb, size_t from) {
  size_t place, size;
  if (!string_at(fb, from, &place, &size)) return false;
  return fnabi_fb_pack_text(fb, (const char*)fb->data + place, size);
}

static bool walk_tables(fnabi_fb* fb, const fnabi_fb_field* field, size_t from);

static bool walk_present(fnabi_fb* fb, const fnabi_fb_view* view,
                         const fnabi_fb_field* field) {
  size_t from = view->place + view->shape->at[field->id];
  switch ((fnabi_fb_kind)field->kind) {
    case FNABI_FB_SCALAR:
      return walk_scalar(fb, field, from);
    case FNABI_FB_STRING:
      return walk_string(fb, from);
    case FNABI_FB_BYTES:
    case FNABI_FB_SCALARS:
    case FNABI_FB_STRUCTS:
      return walk_flat(fb, field, from);
    case FNABI_FB_TABLE:
      return fnabi_fb_walk(fb, field->table, from);
    case FNABI_FB_TABLES:
      return walk_tables(fb, field, from);
    case FNABI_FB_UNION:
      return walk_union(fb, view, field);
    case FNABI_FB_UNIONS:
      return walk_unions(fb, view, field);
  }
  return true;
}

/* Without a writer, only for a field that is present and no string. */
bool fnabi_fb_walk_field(fnabi_fb* fb, const fnabi_fb_view* view,
                         const fnabi_fb_field* field) {
  if (!is_present(view->shape, field)) {
    pack_absent(fb->writer, field);
    return true;
  }
  if (walk_present(fb, view, field)) return true;
  return fnabi_fb_in_field(fb, field->name);
}

/* With a writer, walks all fields in order, after the number of the union's
 * member, 0 for none. Without one, walks only the fields that the vtable does
 * not decide, strings first. */
HOT bool walk_table(fnabi_fb* fb, const fnabi_fb_table* table,
                    fnabi_fb_shape* shape, uint8_t member, size_t from) {
  fnabi_fb_view view;
  if (!enter(fb, table, shape, from, &view)) return false;
  if (fb->writer != NULL) {
    fnabi_pack_count(fb->writer, table->count + (member != 0 ? 1u : 0u));
    if (member != 0) fnabi_pack_uint(fb->writer, member);
    for (size_t i = 0; i < table->count; i++)
      if (!fnabi_fb_walk_field(fb, &view, &table->fields[i])) return false;
    return true;
  }
  size_t place, size;
  for (size_t i = 0; i < shape->string_count; i++)
    if (!string_at(fb, view.place + shape->strings[i].at, &place, &size))
      return fnabi_fb_in_field(fb, table->fields[shape->strings[i].field].name);
  for (size_t i = 0; i < shape->other_count; i++)
    if (!fnabi_fb_walk_field(fb, &view, &table->fields[shape->others[i].field]))
      return false;
  return true;
}

static bool walk_as(fnabi_fb* fb, const fnabi_fb_table* table, uint8_t member,
                    size_t from) {
  return walk_table(fb, table, &fb->shapes[table->slot], member, from);
}

bool fnabi_fb_walk(fnabi_fb* fb, const fnabi_fb_table* table, size_t from) {
  return walk_as(fb, table, 0, from);
}

static bool walk_tables(fnabi_fb* fb, const fnabi_fb_field* field,
                        size_t from) {
  const fnabi_fb_table* table = field->table;
  fnabi_fb_shape* shape = &fb->shapes[table->slot];
  bool passes = fb->lenient && field->nullable;
  size_t place, count, head = 0, nulls = 0;
  if (!offsets_at(fb, from, &place, &count)) return false;
  if (fb->writer != NULL && passes)
    head = fnabi_pack_open(fb->writer);
  else if (fb->writer != NULL)
    fnabi_pack_count(fb->writer, count);
  for (size_t i = 0; i < count; i++) {
    if (passes && fnabi_fb_is_null(fb, place + 4 * i)) {
      nulls++;
      continue;
    }
    if (!walk_table(fb, table, shape, 0, place + 4 * i))
      return fnabi_fb_in_element(fb, "", i);
  }
  if (fb->writer != NULL && passes)
    fnabi_pack_close(fb->writer, head, count - nulls);
  return true;
}
