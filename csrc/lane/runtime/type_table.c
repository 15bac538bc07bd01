/* fnabi's own table of types. */
#include "lane/runtime/type_table.h"

#include "calls/any.h"
#include "lane/runtime/threads.h"

/* Readers take no lock: an entry is complete before its pointer is stored, and
 * arrays that grow leave the old one as it is. */

typedef struct entry {
  fnabi_type_info info;
  fnabi_type_metadata metadata;
  int32_t slots, used; /* of indexes, its own included */
  bool overflow;
  int32_t field_room, method_room;
  struct entry* next; /* of those with the same hash */
} entry;

typedef struct column {
  fnabi_type_column values;
  fnabi_byte_array name;
  struct column* next;
} column;

enum { BUCKETS = 1 << 10 };

static lane_mutex writing = LANE_MUTEX;
static entry* statics[LANE_STATIC_TYPES];
static entry* owns[LANE_OWN_TYPES_END - LANE_OWN_TYPES];
static entry* buckets[BUCKETS];
static column* columns;
static int32_t next_own = LANE_OWN_TYPES;
static bool is_begun;

bool lane_both_tables;
static bool met_runtime, met_library;

void lane_table_met_runtime(void) {
  met_runtime = true;
  lane_both_tables = met_library;
}

void lane_table_met_library(void) {
  met_library = true;
  lane_both_tables = met_runtime;
}

static const char NO_MEMORY[] = "out of memory";
static const char NO_TYPE[] = "no type of this table has the index";

static entry** place_of(int32_t type_index) {
  if (type_index >= 0 && type_index < LANE_STATIC_TYPES)
    return &statics[type_index];
  if (lane_table_is_own(type_index)) return &owns[type_index - LANE_OWN_TYPES];
  return NULL;
}

static entry* entry_of(int32_t type_index) {
  entry** place = place_of(type_index);
  return place != NULL ? fnabi_atomic_load((void**)place, ACQUIRE) : NULL;
}

static bool same(const fnabi_byte_array* a, const fnabi_byte_array* b) {
  return a->size == b->size &&
         (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static uint64_t hash_of(const fnabi_byte_array* text) {
  const fnabi_any any = {.type_index = FNABI_INDEX_BYTE_ARRAY,
                         .v_pointer = (void*)(uintptr_t)text};
  return fnabi_any_hash(&any);
}

static bool copy_text(const fnabi_byte_array* from, fnabi_byte_array* to) {
  *to = (fnabi_byte_array){NULL, 0};
  if (from->size == 0) return true;
  char* text = malloc(from->size + 1);
  if (text == NULL) return false;
  memcpy(text, from->data, from->size);
  text[from->size] = 0;
  *to = (fnabi_byte_array){text, from->size};
  return true;
}

static entry* find(const fnabi_byte_array* key) {
  entry* at = buckets[hash_of(key) % BUCKETS];
  while (at != NULL && !same(&at->info.key, key)) at = at->next;
  return at;
}

static const char* make(const fnabi_byte_array* key, int32_t type_index,
                        int32_t slots, bool overflow, const entry* parent) {
  entry* made = calloc(1, sizeof *made);
  int32_t depth = parent != NULL ? parent->info.depth + 1 : 0;
  const fnabi_type_info** ancestors =
      calloc((size_t)depth + 1, sizeof *ancestors);
  if (made == NULL || ancestors == NULL || !copy_text(key, &made->info.key)) {
    free(made);
    free(ancestors);
    return NO_MEMORY;
  }
  if (parent != NULL) {
    memcpy(ancestors, parent->info.ancestors,
           (size_t)parent->info.depth * sizeof *ancestors);
    ancestors[depth - 1] = &parent->info;
  }
  made->info.type_index = type_index;
  made->info.depth = depth;
  made->info.ancestors = ancestors;
  made->info.key_hash = hash_of(key);
  made->slots = slots + 1;
  made->used = 1;
  made->overflow = overflow && (parent == NULL || parent->overflow);
  entry** bucket = &buckets[made->info.key_hash % BUCKETS];
  made->next = *bucket;
  *bucket = made;
  fnabi_atomic_store((void**)place_of(type_index), made, RELEASE);
  return NULL;
}

/* The types that libtvm_ffi adds to the built-in ones. Their fields are for its
 * own functions. */
static const struct {
  const char *key, *parent; /* NULL: ffi.Object */
} named[] = {
    {"ffi.EnumState", NULL},
    {"ffi.Enum", NULL},
    {"ffi.IntEnum", "ffi.Enum"},
    {"ffi.StrEnum", "ffi.Enum"},
    {"ffi.reflection.AccessStep", NULL},
    {"ffi.reflection.AccessPath", NULL},
    {"ffi.StructuralVisitor", NULL},
    {"ffi.VisitErrorContext", NULL},
    {"ffi.StructuralMutator", NULL},
    {"ffi.StructuralKey", NULL},
};

bool lane_table_is_builtin(int32_t type_index) {
  const int32_t end = LANE_OWN_TYPES + (int32_t)(sizeof named / sizeof *named);
  return type_index < LANE_STATIC_TYPES ||
         (lane_table_is_own(type_index) && type_index < end);
}

static const char* begin(void) {
  const char* problem = NULL;
  if (is_begun) return NULL;
  for (int32_t i = 0; i < LANE_STATIC_TYPES && problem == NULL; i++) {
    const char* name = fnabi_type_key(i);
    if (name == NULL || statics[i] != NULL) continue;
    const fnabi_byte_array key = {name, strlen(name)};
    bool derived = i > FNABI_INDEX_OBJECT;
    problem = make(&key, i, 0, i == FNABI_INDEX_OBJECT,
                   derived ? statics[FNABI_INDEX_OBJECT] : NULL);
  }
  if (problem == NULL) {
    entry* root = statics[FNABI_INDEX_OBJECT];
    root->metadata.total_size = (int32_t)sizeof(fnabi_object);
    root->info.metadata = &root->metadata;
  }
  for (size_t i = 0; i < sizeof named / sizeof *named && problem == NULL; i++) {
    const fnabi_byte_array key = {named[i].key, strlen(named[i].key)};
    const char* of = named[i].parent;
    const fnabi_byte_array parent = {of, of != NULL ? strlen(of) : 0};
    problem = make(&key, next_own++, 0, true,
                   of != NULL ? find(&parent) : statics[FNABI_INDEX_OBJECT]);
  }
  is_begun = problem == NULL;
  return problem;
}

static const char* choose(entry* parent, int32_t slots, int32_t* type_index) {
  int32_t needed = slots + 1;
  if (needed <= parent->slots - parent->used) {
    *type_index = parent->info.type_index + parent->used;
    parent->used += needed;
    return NULL;
  }
  if (!parent->overflow)
    return "the type that it derives from has reserved no more indexes";
  if (needed > LANE_OWN_TYPES_END - next_own) return "the table is full";
  *type_index = next_own;
  next_own += needed;
  return NULL;
}

static const char* add(const fnabi_byte_array* key, int32_t static_index,
                       int32_t slots, bool overflow, int32_t parent_index,
                       int32_t* type_index) {
  const char* problem = begin();
  if (problem != NULL) return problem;
  const entry* known = find(key);
  if (known != NULL) {
    *type_index = known->info.type_index;
    return NULL;
  }
  if (slots < 0 || slots >= LANE_OWN_TYPES_END - LANE_OWN_TYPES)
    return "no such number of indexes can be reserved";
  entry* parent = entry_of(parent_index);
  if (parent == NULL) return "no type of this table has the parent's index";
  if (static_index >= 0) {
    if (static_index >= LANE_STATIC_TYPES || entry_of(static_index) != NULL)
      return "the static index belongs to another type";
    *type_index = static_index;
  } else {
    problem = choose(parent, slots, type_index);
  }
  return problem != NULL ? problem
                         : make(key, *type_index, slots, overflow, parent);
}

const char* lane_table_add(const fnabi_byte_array* key, int32_t static_index,
                           int32_t slots, bool overflow, int32_t parent,
                           int32_t* type_index) {
  lane_mutex_lock(&writing);
  const char* problem =
      add(key, static_index, slots, overflow, parent, type_index);
  lane_mutex_unlock(&writing);
  return problem;
}

bool lane_table_find(const fnabi_byte_array* key, int32_t* type_index) {
  lane_mutex_lock(&writing);
  const entry* found = begin() == NULL ? find(key) : NULL;
  lane_mutex_unlock(&writing);
  if (found != NULL) *type_index = found->info.type_index;
  return found != NULL;
}

const fnabi_type_info* lane_table_info(int32_t type_index) {
  const entry* found = entry_of(type_index);
  if (found == NULL && type_index >= 0 && type_index < LANE_STATIC_TYPES) {
    lane_mutex_lock(&writing);
    begin();
    lane_mutex_unlock(&writing);
    found = entry_of(type_index);
  }
  return found != NULL ? &found->info : NULL;
}

/* Returns where the next item of an array goes, or NULL. What the array was
 * before stays, because others may read it; the arrays double, so all of them
 * together are less than two of the last. */
static void* next_item(const void** array, int32_t count, int32_t* room,
                       size_t size) {
  if (count == *room) {
    int32_t more = *room != 0 ? 2 * *room : 8;
    char* grown = calloc((size_t)more, size);
    if (grown == NULL) return NULL;
    if (count > 0) memcpy(grown, *array, (size_t)count * size);
    fnabi_atomic_store((void**)(uintptr_t)array, grown, RELEASE);
    *room = more;
  }
  return (char*)(uintptr_t)*array + (size_t)count * size;
}

static const char* add_field(entry* to, const fnabi_field_info* info) {
  for (int32_t i = 0; i < to->info.field_count; i++)
    if (same(&to->info.fields[i].name, &info->name))
      return "the type has a field of this name already";
  fnabi_field_info made = *info;
  made.default_value = (fnabi_any){0};
  if (!copy_text(&info->name, &made.name) ||
      !copy_text(&info->doc, &made.doc) ||
      !copy_text(&info->metadata, &made.metadata))
    return NO_MEMORY;
  if (info->flags & FNABI_FIELD_DEFAULT) {
    fnabi_code code = fnabi_any_own(&info->default_value, &made.default_value);
    if (code == FNABI_MEMORY) return NO_MEMORY;
    if (code != FNABI_OK) return "the default of the field cannot be kept";
  }
  fnabi_field_info* item =
      next_item((const void**)&to->info.fields, to->info.field_count,
                &to->field_room, sizeof *item);
  if (item == NULL) return NO_MEMORY;
  if ((info->flags & FNABI_FIELD_SETTER_OBJECT) && info->setter != NULL)
    fnabi_object_retain(info->setter);
  *item = made;
  to->info.field_count++;
  return NULL;
}

static const char* add_method(entry* to, const fnabi_method_info* info) {
  fnabi_method_info made = *info;
  if (!copy_text(&info->name, &made.name) ||
      !copy_text(&info->doc, &made.doc) ||
      !copy_text(&info->metadata, &made.metadata))
    return NO_MEMORY;
  if (fnabi_any_own(&info->method, &made.method) != FNABI_OK)
    return "the method cannot be kept";
  fnabi_method_info* item =
      next_item((const void**)&to->info.methods, to->info.method_count,
                &to->method_room, sizeof *item);
  if (item == NULL) return NO_MEMORY;
  *item = made;
  to->info.method_count++;
  return NULL;
}

static const char* describe(entry* to, const fnabi_type_metadata* metadata) {
  if (to->info.metadata != NULL)
    return "the type is described already: two libraries, or two definitions "
           "of one, register it";
  to->metadata = *metadata;
  if (!copy_text(&metadata->doc, &to->metadata.doc)) return NO_MEMORY;
  fnabi_atomic_store((void**)(uintptr_t)&to->info.metadata, &to->metadata,
                     RELEASE);
  return NULL;
}

static column* find_column(const fnabi_byte_array* name) {
  column* at = fnabi_atomic_load((void**)&columns, ACQUIRE);
  while (at != NULL && !same(&at->name, name)) at = at->next;
  return at;
}

/* The memory of a column is for all types, so that it never moves; the system
 * gives what is written to. */
static column* make_column(const fnabi_byte_array* name) {
  column* made = calloc(1, sizeof *made);
  fnabi_any* data = calloc(LANE_OWN_TYPES_END, sizeof *data);
  if (made == NULL || data == NULL || !copy_text(name, &made->name)) {
    free(made);
    free(data);
    return NULL;
  }
  made->values.data = data;
  made->next = columns;
  fnabi_atomic_store((void**)&columns, made, RELEASE);
  return made;
}

static const char* add_attribute(int32_t type_index,
                                 const fnabi_byte_array* name,
                                 const fnabi_any* value) {
  column* to = find_column(name);
  if (to == NULL) to = make_column(name);
  if (to == NULL) return NO_MEMORY;
  if (type_index == FNABI_INDEX_NONE) return NULL;
  if (begin() != NULL) return NO_MEMORY;
  if (entry_of(type_index) == NULL) return NO_TYPE;
  fnabi_any* at = (fnabi_any*)(uintptr_t)&to->values.data[type_index];
  if (at->type_index != FNABI_INDEX_NONE)
    return "the type has an attribute of this name already";
  fnabi_any owned;
  if (fnabi_any_own(value, &owned) != FNABI_OK)
    return "the attribute cannot be kept";
  *at = owned;
  if (to->values.size <= type_index) to->values.size = type_index + 1;
  return NULL;
}

#define ADD(function, of)                               \
  lane_mutex_lock(&writing);                            \
  const char* problem = begin();                        \
  entry* to = entry_of(type_index);                     \
  if (problem == NULL && to == NULL) problem = NO_TYPE; \
  if (problem == NULL) problem = function(to, of);      \
  lane_mutex_unlock(&writing);                          \
  return problem

const char* lane_table_add_field(int32_t type_index,
                                 const fnabi_field_info* info) {
  ADD(add_field, info);
}

const char* lane_table_add_method(int32_t type_index,
                                  const fnabi_method_info* info) {
  ADD(add_method, info);
}

const char* lane_table_describe(int32_t type_index,
                                const fnabi_type_metadata* metadata) {
  ADD(describe, metadata);
}

#undef ADD

const char* lane_table_add_attribute(int32_t type_index,
                                     const fnabi_byte_array* name,
                                     const fnabi_any* value) {
  lane_mutex_lock(&writing);
  const char* problem = add_attribute(type_index, name, value);
  lane_mutex_unlock(&writing);
  return problem;
}

const fnabi_type_column* lane_table_column(const fnabi_byte_array* name) {
  const column* found = find_column(name);
  return found != NULL ? &found->values : NULL;
}
