/* The types that a library registers, in fnabi's own table. */
#include "lane/runtime/text.h"
#include "lane/runtime/tvm_ffi.h"
#include "lane/runtime/type_table.h"

static int fail(const char* kind, const char* text) {
  lane_error_put_text(kind, &text, 1);
  return -1;
}

static int done(const char* problem) {
  return problem == NULL ? 0 : fail("RuntimeError", problem);
}

int32_t lane_type_call_index(const fnabi_byte_array* key, int32_t static_index,
                             int32_t depth, int32_t slots, int32_t overflow,
                             int32_t parent) {
  enum { ASK = -2 };
  int32_t type_index;
  (void)depth; /* that of the parent tells */
  if (!lane_text_is_good(key))
    return fail("ValueError", "the key of the type cannot be read");
  if (parent == ASK)
    return lane_table_find(key, &type_index) ? type_index : ASK;
  const char* problem = lane_table_add(key, static_index, slots, overflow != 0,
                                       parent, &type_index);
  return problem == NULL ? type_index : done(problem);
}

int lane_type_call_of_key(const fnabi_byte_array* key, int32_t* out) {
  if (!lane_text_is_good(key))
    return fail("ValueError", "the key of the type cannot be read");
  return lane_table_find(key, out)
             ? 0
             : fail("RuntimeError", "no type has the key");
}

/* Of a type of libtvm_ffi, whose objects come where both are loaded. There are
 * few, and they stay. */
typedef struct foreign {
  struct foreign* next;
  fnabi_type_info info;
} foreign;

static const fnabi_type_info* describe_foreign(int32_t type_index) {
  static foreign* all;
  static const char OF[] = " of libtvm_ffi", NONE[] = "a type that is unknown";
  static const fnabi_type_info unknown = {.type_index = FNABI_INDEX_ANY,
                                          .key = {NONE, sizeof NONE - 1}};
  const foreign* known = fnabi_atomic_load((void**)&all, ACQUIRE);
  for (; known != NULL; known = known->next)
    if (known->info.type_index == type_index) return &known->info;
  const lane_runtime* runtime =
      type_index >= LANE_STATIC_TYPES ? lane_runtime_find() : NULL;
  const fnabi_type_info* theirs =
      runtime != NULL ? runtime->type_info(type_index) : NULL;
  if (theirs == NULL) return &unknown;
  foreign* made = calloc(1, sizeof *made + theirs->key.size + sizeof OF);
  if (made == NULL) return &unknown;
  char* text = (char*)(made + 1);
  memcpy(text, theirs->key.data, theirs->key.size);
  memcpy(text + theirs->key.size, OF, sizeof OF);
  made->info.type_index = type_index;
  made->info.key = (fnabi_byte_array){text, theirs->key.size + sizeof OF - 1};
  made->next = fnabi_atomic_load((void**)&all, ACQUIRE);
  fnabi_atomic_store((void**)&all, made, RELEASE);
  return &made->info;
}

const fnabi_type_info* lane_type_call_info(int32_t type_index) {
  const fnabi_type_info* found = lane_table_info(type_index);
  return found != NULL ? found : describe_foreign(type_index);
}

int lane_type_call_field(int32_t type_index, const fnabi_field_info* info) {
  return done(lane_table_add_field(type_index, info));
}

int lane_type_call_method(int32_t type_index, const fnabi_method_info* info) {
  return done(lane_table_add_method(type_index, info));
}

int lane_type_call_metadata(int32_t type_index,
                            const fnabi_type_metadata* metadata) {
  return done(lane_table_describe(type_index, metadata));
}

int lane_type_call_attribute(int32_t type_index, const fnabi_byte_array* name,
                             const fnabi_any* value) {
  return done(lane_table_add_attribute(type_index, name, value));
}

/* libtvm_ffi has these columns from its start, so that a library reads them
 * while it is loaded, and ends the process where one is missing. */
static const char* const runtime_columns[] = {"__any_equal__",
                                              "__any_hash__",
                                              "__data_from_json__",
                                              "__data_to_json__",
                                              "__ffi_compare__",
                                              "__ffi_convert__",
                                              "__ffi_enum__",
                                              "__ffi_eq__",
                                              "__ffi_hash__",
                                              "__ffi_init__",
                                              "__ffi_new__",
                                              "__ffi_repr__",
                                              "__ffi_shallow_copy__",
                                              "__ffi_type_final__",
                                              "__s_equal__",
                                              "__s_hash__",
                                              "__s_maybe_inplace_mutate__",
                                              "__s_mutate__",
                                              "__s_visit__"};

static bool is_runtime_column(const fnabi_byte_array* name) {
  for (size_t i = 0; i < sizeof runtime_columns / sizeof *runtime_columns; i++)
    if (strlen(runtime_columns[i]) == name->size &&
        memcmp(runtime_columns[i], name->data, name->size) == 0)
      return true;
  return false;
}

const fnabi_type_column* lane_type_call_column(const fnabi_byte_array* name) {
  static const fnabi_any nothing = {0};
  const fnabi_type_column* found = lane_table_column(name);
  if (found != NULL || !is_runtime_column(name)) return found;
  (void)lane_table_add_attribute(FNABI_INDEX_NONE, name, &nothing);
  return lane_table_column(name);
}
