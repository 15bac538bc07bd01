/* The types of both tables: of libtvm_ffi, and fnabi's own. */
#include "lane/runtime/types.h"

#include "lane/runtime/error_slot.h"
#include "lane/runtime/tvm_ffi.h"

static const lane_runtime* runtime_of(int32_t type_index) {
  return lane_table_is_own(type_index) ? NULL : lane_runtime_find();
}

const fnabi_type_info* lane_type_info(int32_t type_index) {
  const lane_runtime* runtime = runtime_of(type_index);
  return runtime != NULL ? runtime->type_info(type_index)
                         : lane_table_info(type_index);
}

static bool runtime_finds(const lane_runtime* runtime,
                          const fnabi_byte_array* key, int32_t* type_index) {
  fnabi_error_object* left = lane_error_begin();
  int status = runtime->type_of_key(key, type_index);
  fnabi_error_object* error = status != 0 ? lane_error_take() : NULL;
  if (error != NULL) fnabi_object_release(error);
  lane_error_end(left, true);
  return status == 0;
}

bool lane_type_of_key(const fnabi_byte_array* key, int32_t* type_index) {
  const lane_runtime* runtime = lane_runtime_find();
  if (runtime != NULL && runtime_finds(runtime, key, type_index)) return true;
  return lane_table_find(key, type_index) &&
         (runtime == NULL || !lane_table_is_builtin(*type_index));
}

const fnabi_type_column* lane_type_column(const char* name,
                                          int32_t type_index) {
  const lane_runtime* runtime = runtime_of(type_index);
  const fnabi_byte_array text = {name, strlen(name)};
  return runtime != NULL ? runtime->type_column(&text)
                         : lane_table_column(&text);
}

const fnabi_any* lane_type_attribute(const fnabi_type_column* column,
                                     int32_t type_index) {
  if (column == NULL || column->data == NULL || type_index < column->begin ||
      type_index - column->begin >= column->size)
    return NULL;
  const fnabi_any* value = &column->data[type_index - column->begin];
  return value->type_index != FNABI_INDEX_NONE ? value : NULL;
}
