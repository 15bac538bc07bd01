/* Exports that change their arguments, raise errors of any kind, and return several values. */
#include <fnabi/callee.h>
#include <signal.h>

/* (x, y): doubles the bytes of y in place, if x is true */
CALLEE_PARAMETERS(twice, really, y)
CALLEE_EXPORT(twice) {
  bool really;
  const callee_tensor_value* y;
  if (!callee_count(call, 2) || !callee_bool(call, 0, &really) ||
      !callee_tensor(call, 1, &y))
    return CALLEE_FAILED;
  uint8_t* data = (uint8_t*)y->data + y->byte_offset;
  int64_t size = (y->dtype.bits * y->dtype.lanes + 7) / 8;
  for (int32_t i = 0; i < y->rank; i++) size *= y->shape[i];
  for (int64_t i = 0; really && i < size; i++) data[i] = (uint8_t)(2 * data[i]);
  return callee_return_none(call);
}

/* (text...): an array of its arguments */
CALLEE_EXPORT(collect) {
  callee_value items[16];
  if (!callee_count_between(call, 0, 16)) return CALLEE_FAILED;
  for (int32_t i = 0; i < call->count; i++)
    if (!callee_own(&items[i], callee_argument(call, i))) return CALLEE_FAILED;
  return callee_return_array(call, items, (size_t)call->count);
}

/* (): what Ctrl-C does meanwhile */
CALLEE_EXPORT(interrupted) {
  raise(SIGINT);
  return callee_return_none(call);
}

/* (): a tensor of a dtype that NumPy lacks */
CALLEE_EXPORT(small) {
  const callee_dtype_value float4_e2m1fn = {17, 4, 1};
  const callee_device_value cpu = {1, 0};
  const int64_t dims[] = {4};
  return callee_return_tensor(call,
                              callee_new_tensor(float4_e2m1fn, dims, 1, cpu));
}

CALLEE_EXPORT(same) {
  if (!callee_count(call, 1)) return CALLEE_FAILED;
  return callee_return_borrowed(call, callee_argument(call, 0));
}

/* (kind, text) */
CALLEE_EXPORT(fail) {
  callee_span kind, text;
  char kinds[64], texts[256];
  if (!callee_count(call, 2) || !callee_text(call, 0, &kind) ||
      !callee_text(call, 1, &text))
    return CALLEE_FAILED;
  snprintf(kinds, sizeof kinds, "%.*s", (int)kind.size, kind.data);
  snprintf(texts, sizeof texts, "%.*s", (int)text.size, text.data);
  return callee_raise(kinds, "%s", texts);
}

/* (depth): arrays nested that deep */
CALLEE_EXPORT(nest) {
  int64_t depth;
  callee_value value;
  if (!callee_int(call, 0, &depth)) return CALLEE_FAILED;
  callee_put_none(&value);
  for (int64_t i = 0; i < depth; i++) {
    callee_value outer;
    if (!callee_put_array(&outer, &value, 1)) return callee_raise_memory();
    value = outer;
  }
  return callee_return_owned(call, &value);
}
