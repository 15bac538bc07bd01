/* Exports that break the rules of the ABI, each in one way. */
#include <fnabi/callee.h>

static callee_array_object* array_of(int32_t tag, int64_t size, bool data) {
  static callee_value items[4];
  callee_array_object* array = (callee_array_object*)callee_new(
      tag, sizeof *array, 0, 1, callee_delete_plain);
  if (array == NULL) abort();
  array->items = data ? items : NULL;
  array->size = array->capacity = size;
  return array;
}

/* (tag, size, with data): an Array or List that says so of itself */
CALLEE_EXPORT(sequence) {
  int64_t tag, size;
  bool data;
  if (!callee_int(call, 0, &tag) || !callee_int(call, 1, &size) ||
      !callee_bool(call, 2, &data))
    return CALLEE_FAILED;
  callee_put_object(call->result, array_of((int32_t)tag, size, data));
  return callee_status_of(0);
}

/* (list): a list that is damaged after it was given away */
CALLEE_EXPORT(damage) {
  callee_array_object* list = (callee_array_object*)call->given[0].as.object;
  list->size = -5;
  return callee_status_of(0);
}

CALLEE_EXPORT(repair) {
  callee_array_object* list = (callee_array_object*)call->given[0].as.object;
  list->size = 0;
  return callee_status_of(0);
}

typedef struct map_object {
  callee_header header;
  void* data;
  uint64_t size;
  uint64_t slots;
  void (*data_deleter)(void* data);
  uint64_t rest[3];
} map_object;

/* (tag, size, slots, with data): slots below 0 make it small */
CALLEE_EXPORT(map) {
  static callee_value pairs[8];
  int64_t tag, size, slots;
  bool data;
  if (!callee_int(call, 0, &tag) || !callee_int(call, 1, &size) ||
      !callee_int(call, 2, &slots) || !callee_bool(call, 3, &data))
    return CALLEE_FAILED;
  map_object* map = (map_object*)callee_new((int32_t)tag, sizeof *map, 0, 1,
                                            callee_delete_plain);
  if (map == NULL) abort();
  map->data = data ? pairs : NULL;
  map->size = (uint64_t)size;
  map->slots =
      slots < 0 ? (uint64_t)-slots | UINT64_C(1) << 63 : (uint64_t)slots;
  callee_put_object(call->result, map);
  return callee_status_of(0);
}

typedef struct tensor_object {
  callee_header header;
  callee_tensor_value tensor;
  int64_t dims[2][3];
  float items[16];
} tensor_object;

/* (rank, dim, stride, byte offset, with strides): a Tensor of three equal dims
 * that says so of itself */
CALLEE_EXPORT(tensor) {
  int64_t rank, dim, stride, offset;
  bool strides;
  if (!callee_int(call, 0, &rank) || !callee_int(call, 1, &dim) ||
      !callee_int(call, 2, &stride) || !callee_int(call, 3, &offset) ||
      !callee_bool(call, 4, &strides))
    return CALLEE_FAILED;
  tensor_object* made = (tensor_object*)callee_new(CALLEE_TENSOR, sizeof *made,
                                                   0, 1, callee_delete_plain);
  if (made == NULL) abort();
  memset(made->items, 0, sizeof made->items);
  for (int i = 0; i < 3; i++) {
    made->dims[0][i] = dim;
    made->dims[1][i] = stride;
  }
  made->tensor = (callee_tensor_value){.data = made->items,
                                       .device = {1, 0},
                                       .rank = (int32_t)rank,
                                       .dtype = {2, 32, 1},
                                       .shape = made->dims[0],
                                       .strides = strides ? made->dims[1] : 0,
                                       .byte_offset = (uint64_t)offset};
  callee_put_object(call->result, made);
  return callee_status_of(0);
}

/* (value's tag, object's tag): a result whose tag and header disagree */
CALLEE_EXPORT(disagree) {
  int64_t tag, own;
  if (!callee_int(call, 0, &tag) || !callee_int(call, 1, &own))
    return CALLEE_FAILED;
  callee_put_object(call->result, array_of((int32_t)own, 0, false));
  call->result->tag = (int32_t)tag;
  return callee_status_of(0);
}

/* (value's tag, object's tag): an Array with such an element */
CALLEE_EXPORT(disagree_within) {
  int64_t tag, own;
  if (!callee_int(call, 0, &tag) || !callee_int(call, 1, &own))
    return CALLEE_FAILED;
  callee_value element;
  callee_put_object(&element, array_of((int32_t)own, 0, false));
  element.tag = (int32_t)tag;
  return callee_return_array(call, &element, 1);
}

CALLEE_EXPORT(unchanged) {
  callee_put_none(call->result);
  call->result->tag = 13;
  return callee_status_of(0);
}

typedef struct error_object {
  callee_header header;
  callee_span texts[3];
  void* update;
  void* more[2];
} error_object;

/* (which): an Error of which one text is NULL and has a size */
CALLEE_EXPORT(error_value) {
  int64_t which;
  if (!callee_int(call, 0, &which)) return CALLEE_FAILED;
  error_object* error = (error_object*)callee_new(CALLEE_ERROR, sizeof *error,
                                                  0, 1, callee_delete_plain);
  if (error == NULL) abort();
  for (int i = 0; i < 3; i++) {
    error->texts[i].data = i == which ? NULL : "text";
    error->texts[i].size = 4;
  }
  callee_put_object(call->result, error);
  return callee_status_of(0);
}

/* (function, which): calls it with a frame that is none */
CALLEE_EXPORT(bad_frame) {
  callee_function_object* function;
  int64_t which;
  callee_value result;
  if (!callee_function(call, 0, &function) || !callee_int(call, 1, &which))
    return CALLEE_FAILED;
  callee_put_none(&result);
  switch (which) {
    case 0:
      return callee_status_of(
          function->run(function, call->given, -1, &result));
    case 1:
      return callee_status_of(function->run(function, NULL, 2, &result));
    default:
      return callee_status_of(function->run(function, call->given, 0, NULL));
  }
}

CALLEE_EXPORT(badly_described) { return callee_return_none(call); }
CALLEE_SYMBOL(__tvm_ffi__metadata_badly_described) {
  (void)self;
  (void)args;
  (void)count;
  (void)result;
  return callee_raise("ValueError", "no metadata today").code;
}
CALLEE_EXPORT(badly_documented) { return callee_return_none(call); }
CALLEE_SYMBOL(__tvm_ffi__doc_badly_documented) {
  (void)self;
  (void)args;
  (void)count;
  callee_put_int(result, 1);
  return 0;
}

/* (tag, padding, payload): a result with these three */
CALLEE_EXPORT(any_value) {
  int64_t tag, padding, payload;
  if (!callee_int(call, 0, &tag) || !callee_int(call, 1, &padding) ||
      !callee_int(call, 2, &payload))
    return CALLEE_FAILED;
  call->result->tag = (int32_t)tag;
  call->result->size = (uint32_t)padding;
  call->result->as.integer = payload;
  return callee_status_of(0);
}

typedef struct words_object {
  callee_header header;
  int64_t words[16];
} words_object;

/* (tag, counts, deleter, words...): an object with these words after its header,
 * and a deleter where that is 1 */
CALLEE_EXPORT(any_object) {
  int64_t tag, counts, deleter, word;
  if (!callee_int(call, 0, &tag) || !callee_int(call, 1, &counts) ||
      !callee_int(call, 2, &deleter))
    return CALLEE_FAILED;
  words_object* made = (words_object*)callee_new(
      (int32_t)tag, sizeof *made, 0, 1, deleter ? callee_delete_plain : NULL);
  if (made == NULL) abort();
  made->header.counts = (uint64_t)counts;
  for (int32_t i = 3; i < call->count && i < 19; i++) {
    if (!callee_int(call, i, &word)) return CALLEE_FAILED;
    made->words[i - 3] = word;
  }
  callee_put_object(call->result, made);
  return callee_status_of(0);
}

/* (status): fails with this status and no error */
CALLEE_EXPORT(any_status) {
  int64_t status;
  if (!callee_int(call, 0, &status)) return CALLEE_FAILED;
  return callee_status_of((int)status);
}
