/* Exports that make maps and tensors; also compiled as C++. */
#include <fnabi/callee.h>

/* (keys, values) -> map, equal keys included */
CALLEE_EXPORT(zip) {
  callee_items keys, values;
  if (!callee_count(call, 2) || !callee_array(call, 0, &keys) ||
      !callee_array(call, 1, &values))
    return CALLEE_FAILED;
  if (keys.size != values.size)
    return callee_raise("ValueError", "%zu keys and %zu values", keys.size,
                        values.size);
  callee_pair* pairs =
      (callee_pair*)malloc((keys.size + 1) * sizeof(callee_pair));
  if (pairs == NULL) return callee_raise_memory();
  for (size_t i = 0; i < keys.size; i++) {
    callee_own(&pairs[i].key, &keys.data[i]);
    callee_own(&pairs[i].value, &values.data[i]);
  }
  callee_status status = callee_return_map(call, pairs, keys.size);
  free(pairs);
  return status;
}

/* (map) -> the same as a Dict, which it becomes; nothing else may have it */
CALLEE_EXPORT(dict) {
  callee_entries entries;
  if (!callee_map(call, 0, &entries)) return CALLEE_FAILED;
  callee_header* object = callee_object(callee_argument(call, 0));
  callee_value value;
  object->tag = CALLEE_DICT;
  callee_put_object(&value, object);
  return callee_return_borrowed(call, &value);
}

/* (map, name) -> the value of the name, after the first entry was read */
CALLEE_EXPORT(find) {
  callee_entries entries;
  callee_span name;
  const callee_value *key, *value;
  char text[64];
  if (!callee_map(call, 0, &entries) || !callee_text(call, 1, &name))
    return CALLEE_FAILED;
  snprintf(text, sizeof text, "%.*s", (int)name.size, name.data);
  callee_next(&entries, &key, &value);
  value = callee_find(&entries, text);
  if (value == NULL) return callee_raise("KeyError", "%s", text);
  return callee_return_borrowed(call, value);
}

/* (x: float32, factor) -> factor times x */
CALLEE_EXPORT(scaled) {
  const callee_tensor_value* x;
  double factor;
  if (!callee_count(call, 2) ||
      !callee_tensor_of(call, 0, CALLEE_FLOAT32, -1, &x) ||
      !callee_float(call, 1, &factor))
    return CALLEE_FAILED;
  callee_tensor_object* y = callee_new_tensor_like(x);
  if (y == NULL) return CALLEE_FAILED;
  const float* from = (const float*)callee_data(x);
  float* to = (float*)callee_data(&y->tensor);
  for (int64_t i = 0; i < callee_elements(x); i++)
    to[i] = (float)factor * from[i];
  return callee_return_tensor(call, y);
}

/* (a matrix of int64) */
CALLEE_EXPORT(matrix) {
  const callee_tensor_value* x;
  if (!callee_tensor_of(call, 0, CALLEE_INT64, 2, &x)) return CALLEE_FAILED;
  return callee_return_int(call, callee_elements(x));
}

/* (dtype, dims, device, rank or None, shape is NULL) -> an array of a tensor and
 * whether it is contiguous and aligned */
CALLEE_EXPORT(empty) {
  callee_dtype_value dtype;
  callee_device_value device;
  callee_dims dims;
  int64_t rank;
  bool no_shape;
  if (!callee_count(call, 5) || !callee_dtype(call, 0, &dtype) ||
      !callee_shape(call, 1, &dims) || !callee_device(call, 2, &device) ||
      !callee_bool(call, 4, &no_shape))
    return CALLEE_FAILED;
  if (!callee_as_int(callee_argument(call, 3), &rank))
    rank = (int64_t)dims.size;
  callee_tensor_object* made = callee_new_tensor(
      dtype, no_shape ? NULL : dims.data, (int32_t)rank, device);
  if (made == NULL) return CALLEE_FAILED;
  callee_value items[2];
  callee_put_bool(&items[1],
                  callee_is_contiguous(&made->tensor) &&
                      (uintptr_t)callee_data(&made->tensor) % 16 == 0);
  callee_put_object(&items[0], made);
  return callee_return_array(call, items, 2);
}

/* (x) -> none, after a tensor like it was made and dropped */
CALLEE_EXPORT(dropped) {
  const callee_tensor_value* x;
  if (!callee_tensor(call, 0, &x)) return CALLEE_FAILED;
  callee_drop(callee_new_tensor_like(x));
  callee_drop(NULL);
  return callee_return_none(call);
}

/* (which): a NULL where there must be none */
CALLEE_EXPORT(null) {
  int64_t which;
  callee_value value;
  callee_status status;
  if (!callee_int(call, 0, &which)) return CALLEE_FAILED;
  switch (which) {
    case 0:
      return callee_return_text(call, NULL, 3);
    case 1:
      return callee_return_text(call, NULL, 300);
    case 2:
      return callee_return_c_string(call, NULL);
    case 3:
      return callee_return_bytes(call, NULL, 3);
    case 4:
      return callee_return_shape(call, NULL, 3);
    case 5:
      return callee_return_array(call, NULL, 3);
    case 6:
      return callee_return_map(call, NULL, 3);
    case 7:
      return callee_return_function(call, "none", NULL, NULL, 0, NULL);
    case 8:
      status = callee_invoke(NULL, NULL, 0, &value);
      callee_release(&value);
      return status;
    case 9:
      return callee_return_borrowed(call, callee_argument(call, 1));
    case 10:
      return callee_raise(NULL, NULL);
    case 13: {
      callee_value values[2];
      bool good = callee_put_c_string(&values[0], "a text on the heap");
      if (callee_put_c_string(&values[1], NULL)) good = false;
      callee_release_all(values, 2);
      return callee_return_bool(call, good);
    }
    case 11:
      return callee_return_text(call, NULL, 0);
    default:
      return callee_return_array(call, NULL, 0);
  }
}
