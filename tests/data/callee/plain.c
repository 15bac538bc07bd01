/* Exports that take and give every kind of value; also compiled as C++. */
#include <fnabi/callee.h>

CALLEE_DOC(add, "Adds two integers.\n\nThey wrap around.")
CALLEE_SIGNATURE(add, CALLEE_TYPE("int"),
                 CALLEE_TYPE("int") "," CALLEE_TYPE("int"))
CALLEE_EXPORT(add) {
  int64_t a, b;
  if (!callee_count(call, 2) || !callee_int(call, 0, &a) ||
      !callee_int(call, 1, &b))
    return CALLEE_FAILED;
  return callee_return_int(call, (int64_t)((uint64_t)a + (uint64_t)b));
}

CALLEE_SIGNATURE(nothing, CALLEE_TYPE("None"), "")
CALLEE_EXPORT(nothing) {
  if (!callee_count(call, 0)) return CALLEE_FAILED;
  return callee_return_none(call);
}

CALLEE_EXPORT(halve) {
  double x;
  if (!callee_float(call, 0, &x)) return CALLEE_FAILED;
  return callee_return_float(call, x / 2);
}

CALLEE_EXPORT(negate) {
  bool x;
  if (!callee_bool(call, 0, &x)) return CALLEE_FAILED;
  return callee_return_bool(call, !x);
}

/* (text, times) */
CALLEE_EXPORT(repeat) {
  callee_span text;
  int64_t times;
  if (!callee_text(call, 0, &text) || !callee_int(call, 1, &times))
    return CALLEE_FAILED;
  if (times < 0)
    return callee_raise("ValueError", "repeat() argument 1 must be 0 or more");
  size_t size = text.size * (size_t)times;
  char* all = (char*)malloc(size + 1);
  if (all == NULL) return callee_raise_memory();
  for (size_t i = 0; i < (size_t)times; i++)
    memcpy(all + i * text.size, text.data, text.size);
  callee_status answer = callee_return_text(call, all, size);
  free(all);
  return answer;
}

CALLEE_EXPORT(reverse) {
  callee_span bytes;
  if (!callee_bytes(call, 0, &bytes)) return CALLEE_FAILED;
  char* all = (char*)malloc(bytes.size + 1);
  if (all == NULL) return callee_raise_memory();
  for (size_t i = 0; i < bytes.size; i++)
    all[i] = bytes.data[bytes.size - 1 - i];
  callee_status answer = callee_return_bytes(call, all, bytes.size);
  free(all);
  return answer;
}

CALLEE_EXPORT(next_pointer) {
  void* pointer;
  if (!callee_pointer(call, 0, &pointer)) return CALLEE_FAILED;
  return callee_return_pointer(call, (void*)((uintptr_t)pointer + 1));
}

CALLEE_EXPORT(double_lanes) {
  callee_dtype_value dtype;
  if (!callee_dtype(call, 0, &dtype)) return CALLEE_FAILED;
  dtype.lanes = (uint16_t)(2 * dtype.lanes);
  return callee_return_dtype(call, dtype);
}

CALLEE_EXPORT(next_device) {
  callee_device_value device;
  if (!callee_device(call, 0, &device)) return CALLEE_FAILED;
  device.id++;
  return callee_return_device(call, device);
}

/* (x: float32 tensor of any strides) -> the sum of its elements */
CALLEE_EXPORT(sum_tensor) {
  const callee_tensor_value* x;
  if (!callee_tensor(call, 0, &x)) return CALLEE_FAILED;
  if (x->dtype.code != 2 || x->dtype.bits != 32 || x->dtype.lanes != 1)
    return callee_raise("TypeError", "sum_tensor() takes float32");
  const float* data =
      (const float*)(const void*)((const char*)x->data + x->byte_offset);
  int64_t count = 1;
  for (int32_t i = 0; i < x->rank; i++) count *= x->shape[i];
  double sum = 0;
  for (int64_t i = 0; i < count; i++) {
    int64_t rest = i, at = 0, dense = 1;
    for (int32_t d = x->rank - 1; d >= 0; d--) {
      at += rest % x->shape[d] * (x->strides != NULL ? x->strides[d] : dense);
      rest /= x->shape[d];
      dense *= x->shape[d];
    }
    sum += (double)data[at];
  }
  return callee_return_float(call, sum);
}

CALLEE_EXPORT(shape_of) {
  const callee_tensor_value* x;
  if (!callee_tensor(call, 0, &x)) return CALLEE_FAILED;
  return callee_return_shape(call, x->shape, (size_t)x->rank);
}

CALLEE_EXPORT(product) {
  callee_dims dims;
  int64_t product = 1;
  if (!callee_shape(call, 0, &dims)) return CALLEE_FAILED;
  for (size_t i = 0; i < dims.size; i++) product *= dims.data[i];
  return callee_return_int(call, product);
}

/* (array of floats) -> float */
CALLEE_SIGNATURE(sum, CALLEE_TYPE("float"),
                 CALLEE_TYPE_OF("ffi.Array", CALLEE_TYPE("float")))
CALLEE_EXPORT(sum) {
  callee_items items;
  double sum = 0, x;
  if (!callee_array(call, 0, &items)) return CALLEE_FAILED;
  for (size_t i = 0; i < items.size; i++) {
    if (!callee_as_float(&items.data[i], &x))
      return callee_raise("TypeError", "sum() item %zu must be float, not %s",
                          i, callee_type_name(items.data[i].tag));
    sum += x;
  }
  return callee_return_float(call, sum);
}

/* (map) -> array of its keys and values in turn */
CALLEE_EXPORT(flatten) {
  callee_entries entries;
  const callee_value *key, *value;
  if (!callee_map(call, 0, &entries)) return CALLEE_FAILED;
  size_t size = 0;
  callee_value* items =
      (callee_value*)calloc(2 * entries.size + 1, sizeof *items);
  if (items == NULL) return callee_raise_memory();
  while (callee_next(&entries, &key, &value)) {
    callee_own(&items[size++], key);
    callee_own(&items[size++], value);
  }
  callee_status answer = callee_return_array(call, items, size);
  free(items);
  return answer;
}

/* (n) -> array of the texts "0", "1" ... */
CALLEE_EXPORT(texts) {
  int64_t n;
  if (!callee_int(call, 0, &n)) return CALLEE_FAILED;
  if (n < 0 || n > 1000) return callee_raise("ValueError", "0 to 1000");
  callee_value items[1000];
  for (int64_t i = 0; i < n; i++) {
    char text[64];
    int size = snprintf(text, sizeof text, "%s%d",
                        i % 2 == 0 ? "" : "a longer text, number ", (int)i);
    if (!callee_put_text(&items[i], text, (size_t)size)) {
      callee_return_array(call, items, (size_t)i);
      return callee_raise_memory();
    }
  }
  return callee_return_array(call, items, (size_t)n);
}

CALLEE_EXPORT(same) {
  const callee_value* value = callee_argument(call, 0);
  if (value == NULL) return CALLEE_FAILED;
  return callee_return_borrowed(call, value);
}

CALLEE_EXPORT(tag) {
  const callee_value* value = callee_argument(call, 0);
  if (value == NULL) return CALLEE_FAILED;
  return callee_return_int(call, value->tag);
}

/* (function, arguments...) -> its result */
CALLEE_EXPORT(apply) {
  callee_function_object* function;
  callee_value result;
  if (!callee_function(call, 0, &function)) return CALLEE_FAILED;
  callee_items rest = callee_arguments(call, 1);
  callee_status status =
      callee_invoke(function, rest.data, (int32_t)rest.size, &result);
  return status.code != 0 ? status : callee_return_owned(call, &result);
}

/* How many closures there are. */
static int64_t closures;

typedef struct counter {
  int64_t count;
} counter;

static callee_status count_up(callee_call* call) {
  counter* state = (counter*)call->state;
  int64_t step = 1;
  if (!callee_count_between(call, 0, 1)) return CALLEE_FAILED;
  if (call->count == 1 && !callee_int(call, 0, &step)) return CALLEE_FAILED;
  state->count += step;
  return callee_return_int(call, state->count);
}

static void drop_counter(void* state) {
  (void)state;
  __atomic_fetch_sub(&closures, 1, __ATOMIC_RELAXED);
}

CALLEE_EXPORT(make_counter) {
  counter state = {0};
  if (!callee_int(call, 0, &state.count)) return CALLEE_FAILED;
  __atomic_fetch_add(&closures, 1, __ATOMIC_RELAXED);
  return callee_return_function(call, "counter", count_up, &state, sizeof state,
                                drop_counter);
}

CALLEE_EXPORT(live_closures) {
  return callee_return_int(call, __atomic_load_n(&closures, __ATOMIC_RELAXED));
}

/* (kind, message) */
CALLEE_EXPORT(fail) {
  callee_span kind, message;
  char name[256];
  if (!callee_count(call, 2) || !callee_text(call, 0, &kind) ||
      !callee_text(call, 1, &message))
    return CALLEE_FAILED;
  snprintf(name, sizeof name, "%.*s", (int)kind.size, kind.data);
  return callee_raise(name, "%.*s", (int)message.size, message.data);
}

CALLEE_EXPORT(fail_silently) {
  (void)call;
  return CALLEE_FAILED;
}

CALLEE_EXPORT(main) { return callee_return_c_string(call, "the library"); }
