/* Checks a module beyond its structure: its numbers, its names, its texts, and
 * what they refer to. */
#include <stdlib.h>

#include "abi/cconv.h"
#include "base/error.h"
#include "base/poll.h"
#include "vmfb/vmfb.h"

#define FEATURES 0xF /* EXT_F32, EXT_F64, YIELD, UNWIND */
#define FLAGS (FLAG_REQUIRED | FLAG_OPTIONAL)
#define NO_INDEX SIZE_MAX
#define STEPS 4 /* the longest path below the root */

typedef struct check {
  fnabi_fb fb;
  fnabi_fb_view root;
  fnabi_writer* w;
  uint64_t file_size;
  size_t signatures, functions, locations, bytecode;
  size_t findings;
  /* The path of the current check. A failed step stays, for the error. */
  size_t depth;
  struct {
    const char* name;
    size_t index;
  } steps[STEPS];
} check;

static void enter_step(check* c, const char* name, size_t index) {
  c->steps[c->depth].name = name;
  c->steps[c->depth++].index = index;
}

static void leave_step(check* c) { c->depth--; }

/* Puts the steps before the path of an error. */
static void complete_path(const check* c, fnabi_error* error) {
  for (size_t i = c->depth; i-- > 0;) {
    if (error->path[0] != 0) fnabi_path_field(error, ".");
    if (c->steps[i].index != NO_INDEX)
      fnabi_path_index(error, c->steps[i].index);
    fnabi_path_field(error, c->steps[i].name);
  }
}

static bool is_notice(int32_t code) {
  return code == FNABI_MODULE_DUPLICATE || code == FNABI_MODULE_FLAGS ||
         code == FNABI_MODULE_KIND;
}

static bool write_finding(check* c, fnabi_error* finding, size_t place) {
  size_t before = c->w->size;
  complete_path(c, finding);
  fnabi_pack_array(c->w, 5);
  fnabi_pack_ascii(c->w, fnabi_code_name(finding->code));
  fnabi_pack_uint(c->w, finding->offset);
  fnabi_pack_text(c->w, finding->path, strlen(finding->path));
  fnabi_pack_ascii(c->w, fnabi_code_text(finding->code));
  fnabi_pack_ascii(c->w, is_notice(finding->code) ? "notice" : "error");
  c->findings++;
  return fnabi_fb_spend(&c->fb, c->w->size - before, place);
}

/* Reports a fault at `place`, in the field `name` of the current part. */
static bool find(check* c, int32_t code, size_t place, const char* name) {
  fnabi_error finding;
  fnabi_fail(&finding, code, c->fb.origin + place, NULL);
  if (name != NULL) fnabi_path_field(&finding, name);
  return write_finding(c, &finding, place);
}

/* ------------------------------------------------------------------- fields */

/* The place of a field; of an absent one, that of its table. */
static size_t place_of(const fnabi_fb_view* view, const fnabi_fb_field* field) {
  return view->place + view->shape->at[field->id];
}

static bool find_in(check* c, int32_t code, const fnabi_fb_view* view,
                    const fnabi_fb_field* field) {
  return find(c, code, place_of(view, field), field->name);
}

static bool check_name(check* c, const fnabi_fb_view* view,
                       const fnabi_fb_field* field) {
  const char* text;
  size_t size;
  return fnabi_fb_string(&c->fb, view, field, &text, &size) &&
         (size != 0 || find_in(c, FNABI_MODULE_NAME, view, field));
}

static bool check_bits(check* c, const fnabi_fb_view* view,
                       const fnabi_fb_field* field, int64_t known) {
  return (fnabi_fb_int(&c->fb, view, field) & ~known) == 0 ||
         find_in(c, FNABI_MODULE_FLAGS, view, field);
}

static bool check_positive(check* c, const fnabi_fb_view* view,
                           const fnabi_fb_field* field) {
  return fnabi_fb_int(&c->fb, view, field) >= 0 ||
         find_in(c, FNABI_MODULE_NEGATIVE, view, field);
}

static bool is_index(int64_t value, size_t count) {
  return value >= 0 && (uint64_t)value < count;
}

static bool check_index(check* c, const fnabi_fb_view* view,
                        const fnabi_fb_field* field, size_t count) {
  return is_index(fnabi_fb_int(&c->fb, view, field), count) ||
         find_in(c, FNABI_MODULE_ORDINAL, view, field);
}

/* Whether the range of `length` from `offset` on is within `size`. */
static bool is_inside(uint64_t offset, uint64_t length, uint64_t size) {
  return length <= size && offset <= size - length;
}

/* ------------------------------------------------------------------- tables */

typedef bool check_table(check* c, const fnabi_fb_view* view,
                         const fnabi_fb_field* fields);

/* Checks every table of a vector, and reports null elements of nullable fields.
 */
static bool check_tables(check* c, const fnabi_fb_view* view,
                         const fnabi_fb_field* field, check_table* one) {
  size_t place, count;
  if (!fnabi_fb_tables(&c->fb, view, field, &place, &count)) return false;
  for (size_t i = 0; i < count; i++, place += 4) {
    fnabi_fb_view element;
    enter_step(c, field->name, i);
    if (field->nullable && fnabi_fb_is_null(&c->fb, place)) {
      if (!find(c, FNABI_MODULE_OFFSET, place, NULL)) return false;
    } else if (!fnabi_fb_enter(&c->fb, field->table, place, &element) ||
               !one(c, &element, field->table->fields)) {
      return false;
    }
    leave_step(c);
  }
  return true;
}

static bool check_attr(check* c, const fnabi_fb_view* view,
                       const fnabi_fb_field* fields) {
  return check_name(c, view, &fields[ATTR_KEY]);
}

static bool check_type(check* c, const fnabi_fb_view* view,
                       const fnabi_fb_field* fields) {
  return check_name(c, view, &fields[TYPE_NAME]);
}

static bool check_dependency(check* c, const fnabi_fb_view* view,
                             const fnabi_fb_field* fields) {
  return check_name(c, view, &fields[DEPENDENCY_NAME]) &&
         check_bits(c, view, &fields[DEPENDENCY_FLAGS], FLAGS);
}

static bool check_cconv(check* c, const fnabi_fb_view* view,
                        const fnabi_fb_field* field) {
  fnabi_writer nowhere = {NULL, 0, 0};
  fnabi_error problem;
  const char* text;
  size_t size;
  if (!fnabi_fb_string(&c->fb, view, field, &text, &size)) return false;
  size_t place = place_of(view, field);
  if (!fnabi_fb_spend(&c->fb, size, place)) return false;
  if (fnabi_cconv_write_signature(text, size, &nowhere, &problem)) return true;
  place = (size_t)((const uint8_t*)text - c->fb.data);
  problem.offset += c->fb.origin + place;
  if (problem.path[0] != 0) fnabi_path_field(&problem, ".");
  fnabi_path_field(&problem, field->name);
  return write_finding(c, &problem, place);
}

static bool check_signature(check* c, const fnabi_fb_view* view,
                            const fnabi_fb_field* fields) {
  return check_cconv(c, view, &fields[SIGNATURE_CCONV]) &&
         check_tables(c, view, &fields[SIGNATURE_ATTRS], check_attr);
}

/* The runtime refuses an import without the name of a module, also if it is
 * optional. */
static bool check_import_name(check* c, const fnabi_fb_view* view,
                              const fnabi_fb_field* field) {
  const char* text;
  size_t size;
  if (!fnabi_fb_string(&c->fb, view, field, &text, &size)) return false;
  if (size == 0) return find_in(c, FNABI_MODULE_NAME, view, field);
  return memchr(text, '.', size) != NULL ||
         find_in(c, FNABI_MODULE_IMPORT, view, field);
}

static bool check_import(check* c, const fnabi_fb_view* view,
                         const fnabi_fb_field* fields) {
  const fnabi_fb_field* field = &fields[IMPORT_SIGNATURE];
  fnabi_fb_view signature;
  if (!check_import_name(c, view, &fields[IMPORT_NAME]) ||
      !check_bits(c, view, &fields[IMPORT_FLAGS], FLAGS))
    return false;
  if (view->shape->at[field->id] == 0) return true;
  enter_step(c, field->name, NO_INDEX);
  if (!fnabi_fb_enter(&c->fb, field->table, place_of(view, field),
                      &signature) ||
      !check_signature(c, &signature, field->table->fields))
    return false;
  leave_step(c);
  return true;
}

static bool check_export(check* c, const fnabi_fb_view* view,
                         const fnabi_fb_field* fields) {
  size_t count = c->signatures < c->functions ? c->signatures : c->functions;
  return check_name(c, view, &fields[EXPORT_NAME]) &&
         check_index(c, view, &fields[EXPORT_ORDINAL], count);
}

static bool check_rodata(check* c, const fnabi_fb_view* view,
                         const fnabi_fb_field* fields) {
  const fnabi_fb_field* compression = &fields[RODATA_COMPRESSION];
  uint16_t at = view->shape->at[compression->id - 1];
  if (at != 0 && c->fb.data[view->place + at] > compression->members->count &&
      !find(c, FNABI_MODULE_KIND, view->place + at, compression->name))
    return false;
  if (view->shape->at[fields[RODATA_EMBEDDED].id] != 0) return true;
  uint64_t offset =
      (uint64_t)fnabi_fb_int(&c->fb, view, &fields[RODATA_OFFSET]);
  uint64_t length =
      (uint64_t)fnabi_fb_int(&c->fb, view, &fields[RODATA_LENGTH]);
  uint64_t base = fnabi_vmfb_rodata_base(&c->fb);
  return (base <= c->file_size &&
          is_inside(offset, length, c->file_size - base)) ||
         find(c, FNABI_MODULE_RANGE, place_of(view, &fields[RODATA_OFFSET]),
              NULL);
}

static bool check_rwdata(check* c, const fnabi_fb_view* view,
                         const fnabi_fb_field* fields) {
  return check_positive(c, view, &fields[RWDATA_SIZE]);
}

static bool check_state(check* c, const fnabi_fb_field* field) {
  fnabi_fb_view state;
  if (c->root.shape->at[field->id] == 0) return true;
  enter_step(c, field->name, NO_INDEX);
  if (!fnabi_fb_enter(&c->fb, field->table, place_of(&c->root, field),
                      &state) ||
      !check_positive(c, &state, &field->table->fields[STATE_BYTES]) ||
      !check_positive(c, &state, &field->table->fields[STATE_REFS]))
    return false;
  leave_step(c);
  return true;
}

static bool check_function(check* c, const uint64_t* values, size_t place) {
  static const char* const counts[] = {"block_count", "i32_register_count",
                                       "ref_register_count"};
  if (!is_inside(values[FUNCTION_OFFSET], values[FUNCTION_LENGTH],
                 c->bytecode) &&
      !find(c, FNABI_MODULE_RANGE, place, NULL))
    return false;
  if ((values[FUNCTION_REQUIREMENTS] & ~(uint64_t)FEATURES) != 0 &&
      !find(c, FNABI_MODULE_FLAGS, place + 8, "requirements"))
    return false;
  if (values[FUNCTION_RESERVED] != 0 &&
      !find(c, FNABI_MODULE_FLAGS, place + 12, "reserved"))
    return false;
  for (size_t i = 0; i < 3; i++)
    if ((int64_t)values[FUNCTION_BLOCKS + i] < 0 &&
        !find(c, FNABI_MODULE_NEGATIVE, place + 14 + 2 * i, counts[i]))
      return false;
  return true;
}

static bool check_functions(check* c, const fnabi_fb_field* field) {
  size_t place, count;
  if (c->functions != c->signatures &&
      !find_in(c, FNABI_MODULE_COUNT, &c->root, field))
    return false;
  if (!fnabi_fb_flat(&c->fb, &c->root, field, &place, &count)) return false;
  for (size_t i = 0; i < count; i++) {
    uint64_t values[FNABI_FB_MEMBERS];
    fnabi_fb_element(&c->fb, field, place, i, values);
    enter_step(c, field->name, i);
    if (!check_function(c, values, place + i * field->structure->size))
      return false;
    leave_step(c);
  }
  return true;
}

/* -------------------------------------------------------------------- debug */

static bool check_fused(check* c, const fnabi_fb_view* view,
                        const fnabi_fb_field* field) {
  size_t place, count;
  if (!fnabi_fb_flat(&c->fb, view, field, &place, &count)) return false;
  for (size_t i = 0; i < count; i++) {
    uint64_t value;
    fnabi_fb_element(&c->fb, field, place, i, &value);
    enter_step(c, field->name, i);
    if (!is_index((int64_t)value, c->locations) &&
        !find(c, FNABI_MODULE_ORDINAL, place + 4 * i, NULL))
      return false;
    leave_step(c);
  }
  return true;
}

static bool check_location(check* c, const fnabi_fb_union* members,
                           uint8_t member, size_t from) {
  fnabi_fb_view view;
  if (member == 0) return true;
  if (member > members->count) return find(c, FNABI_MODULE_KIND, from, NULL);
  const fnabi_fb_table* table = members->members[member - 1];
  if (!fnabi_fb_enter(&c->fb, table, from, &view)) return false;
  const fnabi_fb_field* fields = table->fields;
  if (member == LOCATION_CALL_SITE)
    return check_index(c, &view, &fields[CALL_SITE_CALLEE], c->locations) &&
           check_index(c, &view, &fields[CALL_SITE_CALLER], c->locations);
  if (member == LOCATION_FUSED)
    return check_fused(c, &view, &fields[FUSED_LOCATIONS]);
  if (member == LOCATION_NAME)
    return check_index(c, &view, &fields[NAME_LOC_CHILD], c->locations);
  return true;
}

static bool check_source_map(check* c, const fnabi_fb_view* view,
                             const fnabi_fb_field* fields) {
  const fnabi_fb_field* field = &fields[SOURCE_MAP_LOCATIONS];
  size_t place, count;
  if (!check_name(c, view, &fields[SOURCE_MAP_NAME]) ||
      !fnabi_fb_flat(&c->fb, view, field, &place, &count))
    return false;
  for (size_t i = 0; i < count; i++) {
    uint64_t values[FNABI_FB_MEMBERS];
    size_t at = place + i * field->structure->size;
    fnabi_fb_element(&c->fb, field, place, i, values);
    enter_step(c, field->name, i);
    if (!is_index((int64_t)values[0], c->bytecode) &&
        !find(c, FNABI_MODULE_RANGE, at, "bytecode_offset"))
      return false;
    if (!is_index((int64_t)values[1], c->locations) &&
        !find(c, FNABI_MODULE_ORDINAL, at + 4, "location"))
      return false;
    leave_step(c);
  }
  return true;
}

static bool check_debug(check* c, const fnabi_fb_field* field) {
  const fnabi_fb_field* table = &field->table->fields[DEBUG_LOCATIONS];
  fnabi_fb_view view;
  size_t members, place;
  if (c->root.shape->at[field->id] == 0) return true;
  enter_step(c, field->name, NO_INDEX);
  if (!fnabi_fb_enter(&c->fb, field->table, place_of(&c->root, field), &view) ||
      !fnabi_fb_unions(&c->fb, &view, table, &members, &place, &c->locations))
    return false;
  for (size_t i = 0; i < c->locations; i++) {
    enter_step(c, table->name, i);
    if (!check_location(c, table->members, c->fb.data[members + i],
                        place + 4 * i))
      return false;
    leave_step(c);
  }
  if (!check_tables(c, &view, &field->table->fields[DEBUG_FUNCTIONS],
                    check_source_map))
    return false;
  leave_step(c);
  return true;
}

/* --------------------------------------------------------------- duplicates */

typedef struct name {
  uint64_t hash;
  const char* text;
  size_t size, place;
  uint32_t index;
  bool again; /* one with a lower index is equal */
} name;

static int by_hash(const void* a, const void* b) {
  const name *x = a, *y = b;
  if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
  if (x->size != y->size) return x->size < y->size ? -1 : 1;
  return x->index < y->index ? -1 : 1;
}

static int by_index(const void* a, const void* b) {
  return ((const name*)a)->index < ((const name*)b)->index ? -1 : 1;
}

static uint64_t hash(const char* text, size_t size) {
  uint64_t value = UINT64_C(0xCBF29CE484222325);
  for (size_t i = 0; i < size; i++)
    value = (value ^ (uint8_t)text[i]) * UINT64_C(0x100000001B3);
  return value;
}

/* Marks each name that equals an earlier one. Names with the same hash are
 * compared one by one. Hostile names may have equal hashes, so the comparison
 * counts as work. */
static bool mark_again(check* c, name* names, size_t count, size_t place) {
  for (size_t i = 1; i < count; i++)
    for (size_t k = i; k-- > 0 && !names[i].again;) {
      if (names[k].hash != names[i].hash || names[k].size != names[i].size)
        break;
      if (!fnabi_fb_spend(&c->fb, names[i].size, place)) return false;
      names[i].again = memcmp(names[k].text, names[i].text, names[i].size) == 0;
    }
  return true;
}

static bool find_again(check* c, const fnabi_fb_field* field, size_t place,
                       name* names, size_t count) {
  const fnabi_fb_field* text = &field->table->fields[0];
  size_t filled = 0;
  fnabi_fb_view view;
  for (size_t i = 0; i < count; i++) {
    name* n = &names[filled];
    if (!fnabi_fb_enter_string(&c->fb, field->table, text, place + 4 * i, &view,
                               &n->text, &n->size))
      return fnabi_fb_in_element(&c->fb, field->name, i);
    if (n->size == 0) continue; /* is reported by itself */
    if (!fnabi_fb_spend(&c->fb, n->size, place)) return false;
    n->hash = hash(n->text, n->size);
    n->place = place_of(&view, text);
    n->index = (uint32_t)i;
    n->again = false;
    filled++;
  }
  qsort(names, filled, sizeof *names, by_hash);
  if (!mark_again(c, names, filled, place)) return false;
  qsort(names, filled, sizeof *names, by_index);
  for (size_t i = 0; i < filled; i++) {
    if (!names[i].again) continue;
    enter_step(c, field->name, names[i].index);
    if (!find(c, FNABI_MODULE_DUPLICATE, names[i].place, text->name))
      return false;
    leave_step(c);
  }
  return true;
}

/* Checks a vector of tables whose first field is their name. */
static bool check_duplicates(check* c, const fnabi_fb_field* field) {
  size_t place, count;
  if (!fnabi_fb_tables(&c->fb, &c->root, field, &place, &count)) return false;
  if (count < 2) return true;
  name* names = malloc(count * sizeof *names);
  if (names == NULL) {
    fnabi_fail(c->fb.error, FNABI_MEMORY, 0, NULL);
    return false;
  }
  bool ok = find_again(c, field, place, names, count);
  free(names);
  return ok;
}

/* ------------------------------------------------------------------- module */

static bool check_module(check* c, size_t file_size) {
  const fnabi_fb_field* fields = fnabi_vmfb_table.fields;
  size_t place;
  c->file_size = file_size;
  if (!fnabi_fb_tables(&c->fb, &c->root, &fields[MODULE_SIGNATURES], &place,
                       &c->signatures) ||
      !fnabi_fb_flat(&c->fb, &c->root, &fields[MODULE_FUNCTIONS], &place,
                     &c->functions) ||
      !fnabi_fb_flat(&c->fb, &c->root, &fields[MODULE_BYTECODE], &place,
                     &c->bytecode))
    return false;
  const fnabi_fb_view* root = &c->root;
  return check_name(c, root, &fields[MODULE_NAME]) &&
         check_bits(c, root, &fields[MODULE_REQUIREMENTS], FEATURES) &&
         check_tables(c, root, &fields[MODULE_ATTRS], check_attr) &&
         check_tables(c, root, &fields[MODULE_TYPES], check_type) &&
         check_tables(c, root, &fields[MODULE_DEPENDENCIES],
                      check_dependency) &&
         check_tables(c, root, &fields[MODULE_IMPORTS], check_import) &&
         check_duplicates(c, &fields[MODULE_IMPORTS]) &&
         check_tables(c, root, &fields[MODULE_EXPORTS], check_export) &&
         check_duplicates(c, &fields[MODULE_EXPORTS]) &&
         check_tables(c, root, &fields[MODULE_SIGNATURES], check_signature) &&
         check_tables(c, root, &fields[MODULE_RODATA], check_rodata) &&
         check_tables(c, root, &fields[MODULE_RWDATA], check_rwdata) &&
         check_state(c, &fields[MODULE_STATE]) &&
         check_functions(c, &fields[MODULE_FUNCTIONS]) &&
         check_debug(c, &fields[MODULE_DEBUG]);
}

int64_t fnabi_vmfb_check(const char* data, size_t size, uint8_t* out,
                         size_t capacity, fnabi_error* error) {
  fnabi_writer w = {out, capacity, 0};
  check c = {.w = &w};
  if (!fnabi_vmfb_begin(data, size, NULL, &c.fb, &c.root, &w, error)) return -1;
  size_t head = fnabi_pack_open(&w);
  if (!check_module(&c, size)) {
    complete_path(&c, error);
    return -1;
  }
  fnabi_pack_close(&w, head, c.findings);
  /* a calling convention that was interrupted is no finding */
  return fnabi_stop(0, 0, error) ? -1 : (int64_t)w.size;
}
