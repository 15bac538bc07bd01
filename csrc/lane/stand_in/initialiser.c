/* The initialiser of a type whose library registers fields but no initialiser of
 * its own: a function that makes an object and sets its fields.
 *
 *   arguments: value* [marker (name value)*]
 *
 * Values by position go to the fields that are not set by name only, in their
 * order, those of ancestors first, and those without a default before those
 * with one. Fields that get none have their default, or are left as the
 * library's creator makes them if they are no parameters. */
#include <stdio.h>

#include "lane/runtime/error_slot.h"
#include "lane/runtime/tvm_ffi.h"
#include "lane/runtime/type_table.h"
#include "lane/stand_in/stand_in.h"

typedef struct initialiser {
  fnabi_function_object function;
  const fnabi_type_info* info;
  int32_t count, positional;
  const fnabi_field_info* fields[]; /* those by position first */
} initialiser;

fnabi_object* stand_in_marker(void) {
  static fnabi_object* marker; /* stays */
  fnabi_object* found = fnabi_atomic_load(&marker, ACQUIRE);
  if (found != NULL) return found;
  fnabi_object* made =
      fnabi_object_new(sizeof *made, FNABI_INDEX_OBJECT, fnabi_object_delete);
  if (made == NULL) return NULL;
  if (fnabi_atomic_try_replace(&marker, &found, made)) return made;
  fnabi_object_release(made);
  return found;
}

static int refuse(const initialiser* self, const char* what,
                  const fnabi_byte_array* name) {
  char key[256], text[256];
  const fnabi_byte_array* of = &self->info->key;
  snprintf(key, sizeof key, "%.*s", (int)of->size, of->data);
  snprintf(text, sizeof text, "%.*s", name != NULL ? (int)name->size : 0,
           name != NULL ? name->data : "");
  const char* const parts[] = {key, ".__ffi_init__(): ", what, text};
  lane_error_put_text("TypeError", parts, 4);
  return -1;
}

static int set(const fnabi_field_info* field, fnabi_object* object,
               const fnabi_any* value) {
  void* at = (char*)object + field->offset;
  if ((field->flags & FNABI_FIELD_SETTER_OBJECT) == 0) {
    int (*setter)(void*, const fnabi_any*);
    memcpy(&setter, &field->setter, sizeof setter);
    return setter(at, value);
  }
  fnabi_any args[2], result = {0};
  fnabi_any_set(&args[0], FNABI_INDEX_POINTER, 0);
  args[0].v_pointer = at;
  args[1] = *value;
  int status = stand_in_function_call(field->setter, args, 2, &result);
  if (status == 0) fnabi_any_release(&result);
  return status;
}

static int set_default(const fnabi_field_info* field, fnabi_object* object) {
  fnabi_any value = {0};
  if ((field->flags & FNABI_FIELD_FACTORY) == 0)
    return set(field, object, &field->default_value);
  int status =
      stand_in_function_call(field->default_value.v_object, NULL, 0, &value);
  if (status != 0) return status;
  status = set(field, object, &value);
  fnabi_any_release(&value);
  return status;
}

static int32_t field_of_name(const initialiser* self, const fnabi_any* name) {
  fnabi_byte_array text;
  if (!fnabi_any_string(name, &text)) return -1;
  for (int32_t i = 0; i < self->count; i++) {
    const fnabi_byte_array* of = &self->fields[i]->name;
    if ((self->fields[i]->flags & FNABI_FIELD_NO_INIT) == 0 &&
        of->size == text.size && memcmp(of->data, text.data, text.size) == 0)
      return i;
  }
  return -1;
}

static int fill(const initialiser* self, fnabi_object* object, bool* is_set,
                const fnabi_any* args, int32_t n) {
  const fnabi_object* marker = stand_in_marker();
  int32_t by_position = 0;
  while (by_position < n && !(fnabi_any_is_object(&args[by_position]) &&
                              args[by_position].v_object == marker))
    by_position++;
  if (by_position > self->positional)
    return refuse(self, "more values by position than fields", NULL);
  for (int32_t i = 0; i < by_position; i++) {
    if (set(self->fields[i], object, &args[i]) != 0) return -1;
    is_set[i] = true;
  }
  for (int32_t at = by_position + 1; at < n; at += 2) {
    fnabi_byte_array text = {"", 0};
    int32_t i = field_of_name(self, &args[at]);
    fnabi_any_string(&args[at], &text);
    if (at + 1 == n) return refuse(self, "no value for the field ", &text);
    if (i < 0) return refuse(self, "no parameter is named ", &text);
    if (is_set[i]) return refuse(self, "two values for ", &text);
    if (set(self->fields[i], object, &args[at + 1]) != 0) return -1;
    is_set[i] = true;
  }
  for (int32_t i = 0; i < self->count; i++) {
    const fnabi_field_info* field = self->fields[i];
    if (is_set[i]) continue;
    if (field->flags & FNABI_FIELD_DEFAULT) {
      if (set_default(field, object) != 0) return -1;
    } else if ((field->flags & FNABI_FIELD_NO_INIT) == 0) {
      return refuse(self, "no value for the field ", &field->name);
    }
  }
  return 0;
}

static int create(const initialiser* self, fnabi_any* out) {
  static const char NEW[] = "__ffi_new__";
  const fnabi_byte_array name = {NEW, sizeof NEW - 1};
  const fnabi_type_info* info = self->info;
  if (info->metadata != NULL && info->metadata->creator != NULL) {
    void* object = NULL;
    int status = info->metadata->creator(&object);
    if (status == 0) fnabi_any_set_object(out, object);
    return status;
  }
  const fnabi_type_column* column = lane_table_column(&name);
  if (column != NULL && info->type_index < column->size) {
    const fnabi_any* maker = &column->data[info->type_index];
    if (maker->type_index == FNABI_INDEX_FUNCTION)
      return stand_in_function_call(maker->v_object, NULL, 0, out);
  }
  return refuse(self, "the library makes no objects of the type", NULL);
}

static int run(void* object, const fnabi_any* args, int32_t n,
               fnabi_any* result) {
  const initialiser* self = object;
  bool* is_set = calloc((size_t)self->count + 1, sizeof *is_set);
  if (is_set == NULL) return stand_in_no_memory();
  fnabi_any made = {0};
  int status = create(self, &made);
  if (status == 0 && fnabi_any_is_object(&made))
    status = fill(self, made.v_object, is_set, args, n);
  free(is_set);
  if (status == 0)
    *result = made;
  else
    fnabi_any_release(&made);
  return status;
}

/* A parameter by position without a default, one with, one by name, none. */
static int order_of(const fnabi_field_info* field) {
  if (field->flags & (FNABI_FIELD_NO_INIT | FNABI_FIELD_BY_NAME)) return 2;
  return field->flags & FNABI_FIELD_DEFAULT ? 1 : 0;
}

static void add_fields(initialiser* to, const fnabi_type_info* info,
                       int order) {
  for (int32_t i = 0; i < info->field_count; i++)
    if (order_of(&info->fields[i]) == order)
      to->fields[to->count++] = &info->fields[i];
}

fnabi_object* stand_in_initialiser(const fnabi_type_info* info) {
  size_t count = (size_t)info->field_count;
  for (int32_t i = 0; i < info->depth; i++)
    count += (size_t)info->ancestors[i]->field_count;
  size_t more = sizeof(initialiser) - sizeof(fnabi_function_object);
  initialiser* made = (initialiser*)fnabi_function_new(
      run, more + count * sizeof *made->fields, fnabi_object_delete);
  if (made == NULL) return NULL;
  made->info = info;
  for (int order = 0; order < 3; order++) {
    for (int32_t i = 0; i < info->depth; i++)
      add_fields(made, info->ancestors[i], order);
    add_fields(made, info, order);
    if (order < 2) made->positional = made->count;
  }
  return &made->function.object;
}
