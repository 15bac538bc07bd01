/* Calls the exports of tests/data/callee as a caller without any runtime. */
#include <pthread.h>

#include "callee/making.c"
#include "callee/plain.c"
#include "callee/second.c"
#include "calls/map_layout.h"
#include "check.h"

#define RUN(function, result, ...)                               \
  run(__tvm_ffi_##function, (const callee_value[]){__VA_ARGS__}, \
      (int32_t)(sizeof((const callee_value[]){__VA_ARGS__}) / 16), (result))

static int run(callee_entry_point* function, const callee_value* args,
               int32_t count, callee_value* result) {
  callee_value* copy = malloc((size_t)count * sizeof *copy);
  CHECK(count == 0 || copy != NULL); /* the sanitizer checks its bounds */
  if (count != 0) memcpy(copy, args, (size_t)count * sizeof *copy);
  callee_put_none(result);
  int code = function(NULL, copy, count, result);
  free(copy);
  return code;
}

static callee_value integer(int64_t value) {
  callee_value v;
  callee_put_int(&v, value);
  return v;
}

static callee_value text(const char* data) {
  callee_value v;
  CHECK(callee_put_text(&v, data, strlen(data)));
  return v;
}

static callee_value view(int32_t tag, const void* pointer) {
  callee_value v;
  callee_put_pointer(&v, (void*)(uintptr_t)pointer);
  v.tag = tag;
  return v;
}

static callee_value object(void* o) {
  callee_value v;
  CHECK(callee_put_object(&v, o));
  return v;
}

static bool is_text(const callee_value* value, const char* expected) {
  callee_span span;
  return callee_as_text(value, &span) && span.size == strlen(expected) &&
         memcmp(span.data, expected, span.size) == 0;
}

/* The slot holds this error; reading it empties the slot. */
static void check_raised(const char* kind, const char* message) {
  callee_error error;
  memset(&error, 0, sizeof error);
  CHECK(__fnabi_error_slot(&error, sizeof error) == 1);
  CHECK(strcmp(error.kind.data, kind) == 0);
  CHECK(strcmp(error.message.data, message) == 0);
  CHECK(error.kind.size == strlen(kind));
  CHECK(error.message.size == strlen(message));
  CHECK(__fnabi_error_slot(&error, sizeof error) == 0);
}

static void test_plain_values(void) {
  callee_value r, none;
  callee_put_none(&none);
  CHECK(RUN(add, &r, integer(40), integer(2)) == 0);
  CHECK(r.tag == CALLEE_INT && r.size == 0 && r.as.integer == 42);
  CHECK(RUN(add, &r, integer(INT64_MAX), integer(1)) == 0);
  CHECK(r.as.integer == INT64_MIN);
  CHECK(run(__tvm_ffi_nothing, NULL, 0, &r) == 0);
  CHECK(callee_is_none(&r) && r.as.bits == 0);
  CHECK(RUN(halve, &r, integer(3)) == 0);
  CHECK(r.tag == CALLEE_FLOAT && r.as.real == 1.5);
  CHECK(RUN(negate, &r, integer(7)) == 0);
  CHECK(r.tag == CALLEE_BOOL && r.as.integer == 0);
  CHECK(RUN(negate, &r, r) == 0);
  CHECK(r.as.integer == 1);
  CHECK(RUN(next_pointer, &r, none) == 0);
  CHECK(r.tag == CALLEE_POINTER && r.as.integer == 1);

  callee_value dtype, device;
  callee_put_dtype(&dtype, (callee_dtype_value){2, 32, 2});
  callee_put_device(&device, (callee_device_value){2, -1});
  CHECK(RUN(double_lanes, &r, dtype) == 0);
  CHECK(r.tag == CALLEE_DTYPE && r.as.bits == 0x00042002);
  CHECK(RUN(next_device, &r, device) == 0);
  CHECK(r.tag == CALLEE_DEVICE && r.as.bits == 2);
}

static void test_refused_arguments(void) {
  callee_value r, none, real;
  callee_put_none(&none);
  callee_put_float(&real, 1);
  CHECK(RUN(add, &r, integer(1)) == -1);
  check_raised("TypeError", "add() takes 2 arguments, not 1");
  CHECK(RUN(add, &r, integer(1), real) == -1);
  check_raised("TypeError", "add() argument 1 must be int, not float");
  CHECK(RUN(nothing, &r, integer(1)) == -1);
  check_raised("TypeError", "nothing() takes 0 arguments, not 1");
  CHECK(run(__tvm_ffi_halve, NULL, 0, &r) == -1);
  check_raised("TypeError", "halve() argument 0 is missing");
  CHECK(RUN(halve, &r, none) == -1);
  check_raised("TypeError", "halve() argument 0 must be float, not None");
  CHECK(RUN(negate, &r, real) == -1);
  check_raised("TypeError", "negate() argument 0 must be bool, not float");
  CHECK(RUN(repeat, &r, integer(1), integer(1)) == -1);
  check_raised("TypeError", "repeat() argument 0 must be str, not int");
  CHECK(RUN(double_lanes, &r, none) == -1);
  check_raised("TypeError",
               "double_lanes() argument 0 must be DataType, not None");
  CHECK(RUN(sum_tensor, &r, view(33, NULL)) == -1);
  check_raised("TypeError",
               "sum_tensor() argument 0 must be ffi.Tensor, not a value of an "
               "unknown type");
  callee_header* strange =
      callee_new(200, sizeof *strange, 0, 1, callee_delete_plain);
  callee_value its = object(strange),
               moved = view(CALLEE_MOVED_OBJECT, &strange);
  CHECK(RUN(sum, &r, its) == -1);
  check_raised("TypeError",
               "sum() argument 0 must be ffi.Array, not an object");
  CHECK(RUN(flatten, &r, moved) == -1);
  check_raised("TypeError",
               "flatten() argument 0 must be ffi.Map, not an object");
  callee_release(&its);
  CHECK(RUN(repeat, &r, text("x"), integer(-1)) == -1);
  check_raised("ValueError", "repeat() argument 1 must be 0 or more");
}

static void test_text_in_every_form(void) {
  static const char* const words[] = {"", "seven..", "eight...", "a long text"};
  callee_value r;
  for (size_t i = 0; i < 4; i++) {
    size_t size = strlen(words[i]);
    callee_span span = {words[i], size};
    callee_value owned = text(words[i]);
    CHECK(owned.tag == (size < 8 ? CALLEE_SMALL_TEXT : CALLEE_TEXT));
    CHECK(owned.size == (size < 8 ? size : 0));
    callee_value string = view(CALLEE_C_STRING, words[i]);
    callee_value bytes = view(CALLEE_BYTES_VIEW, &span);
    CHECK(RUN(repeat, &r, owned, integer(1)) == 0 && is_text(&r, words[i]));
    CHECK(r.tag == owned.tag);
    callee_release(&r);
    CHECK(RUN(repeat, &r, string, integer(1)) == 0 && is_text(&r, words[i]));
    callee_release(&r);
    CHECK(RUN(repeat, &r, bytes, integer(1)) == -1);
    check_raised("TypeError",
                 "repeat() argument 0 must be str, not TVMFFIByteArray*");

    callee_value forms[] = {owned, string, bytes}, back;
    for (size_t k = 0; k < 3; k++) {
      CHECK(RUN(reverse, &r, forms[k]) == 0);
      CHECK(r.tag == (size < 8 ? CALLEE_SMALL_BYTES : CALLEE_BYTES));
      CHECK(RUN(reverse, &back, r) == 0);
      CHECK(callee_as_bytes(&back, &span) && span.size == size);
      CHECK(memcmp(span.data, words[i], size) == 0);
      callee_release(&r);
      callee_release(&back);
      span = (callee_span){words[i], size};
    }
    callee_release(&owned);
  }
  callee_value nul;
  CHECK(callee_put_text(&nul, "a\0b", 3) && nul.size == 3);
  CHECK(RUN(repeat, &r, nul, integer(3)) == 0);
  CHECK(r.tag == CALLEE_TEXT);
  callee_span span;
  CHECK(callee_as_text(&r, &span) && span.size == 9);
  CHECK(memcmp(span.data, "a\0ba\0ba\0b", 10) == 0); /* and a NUL after it */
  callee_release(&r);
}

static void test_objects(void) {
  callee_value v = text("more than seven bytes");
  callee_header* o = v.as.object;
  uint64_t spare;
  void (*freed)(void*);
  memcpy(&spare, (char*)o - 16, 8);
  memcpy(&freed, (char*)o - 8, 8);
  CHECK(spare == 0 && freed == callee_free);
  CHECK(o->counts == (UINT64_C(1) << 32 | 1) && o->padding == 0);
  CHECK((uintptr_t)o % 16 == 0);

  callee_retain(&v);
  CHECK((uint32_t)o->counts == 2);
  callee_release(&v);
  o->counts += UINT64_C(1) << 32; /* a weak reference */
  callee_release(&v);
  CHECK(o->counts == UINT64_C(1) << 32);
  o->deleter(o, CALLEE_DELETE_MEMORY);

  struct {
    callee_header header;
    callee_span span;
  } immortal = {{UINT64_C(1) << 32 | 1, CALLEE_TEXT, 0, NULL},
                {"still here", 10}};
  callee_value forever = object(&immortal);
  callee_release(&forever);

  callee_value r;
  CHECK(RUN(same, &r, integer(5)) == 0 && r.as.integer == 5);
  CHECK(RUN(same, &r, view(CALLEE_TENSOR_VIEW, NULL)) == -1);
  check_raised("TypeError",
               "a DLTensor* cannot be kept after the call; expected "
               "ffi.Tensor");
  v = text("taken from its owner");
  o = v.as.object;
  callee_value moved = view(CALLEE_MOVED_OBJECT, &o);
  CHECK(is_text(&moved, "taken from its owner"));
  CHECK(RUN(same, &r, moved) == 0);
  CHECK(o == NULL && r.as.object == v.as.object &&
        (uint32_t)v.as.object->counts == 1);
  CHECK(RUN(same, &moved, moved) == -1);
  check_raised("ValueError", "the object was already moved");
  callee_release(&r);
  CHECK(RUN(same, &r, view(CALLEE_C_STRING, "kept as a copy")) == 0);
  CHECK(r.tag == CALLEE_TEXT && is_text(&r, "kept as a copy"));
  callee_release(&r);
  callee_span bytes = {"\0\1", 2};
  CHECK(RUN(same, &r, view(CALLEE_BYTES_VIEW, &bytes)) == 0);
  CHECK(r.tag == CALLEE_SMALL_BYTES && r.size == 2);
}

static void test_too_large(void) {
  callee_value v;
  CHECK(!callee_put_text(&v, "", SIZE_MAX) && callee_is_none(&v));
  CHECK(!callee_put_bytes(&v, "", PTRDIFF_MAX) && callee_is_none(&v));
  CHECK(!callee_put_shape(&v, NULL, SIZE_MAX / 8 + 1) && callee_is_none(&v));
  CHECK(!callee_put_function(&v, "f", count_up, NULL, SIZE_MAX, NULL));
  CHECK(callee_new(64, SIZE_MAX, 0, 1, NULL) == NULL);
}

static void test_containers(void) {
  callee_value r, items[3] = {integer(1), integer(2), integer(39)}, all;
  callee_put_float(&items[2], 0.5);
  CHECK(callee_put_array(&all, items, 3));
  CHECK(RUN(sum, &r, all) == 0 && r.as.real == 3.5);
  all.as.object->tag = all.tag = CALLEE_LIST;
  CHECK(RUN(sum, &r, all) == 0 && r.as.real == 3.5);
  ((callee_array_object*)all.as.object)->items[1] = text("of some length");
  CHECK(RUN(sum, &r, all) == -1);
  check_raised("TypeError", "sum() item 1 must be float, not str");
  callee_release(&all);
  CHECK(callee_put_array(&all, NULL, 0));
  CHECK(RUN(sum, &r, all) == 0 && r.as.real == 0);
  callee_release(&all);

  CHECK(RUN(texts, &r, integer(3)) == 0);
  callee_items found;
  CHECK(callee_as_array(&r, &found) && found.size == 3);
  CHECK(is_text(&found.data[0], "0"));
  CHECK(is_text(&found.data[1], "a longer text, number 1"));
  callee_release(&r);
}

static void put(char* at, const void* bytes, size_t size) {
  memcpy(at, bytes, size);
}

/* A map with these entries, in either layout. */
static callee_value map_of(const callee_value* pairs, uint64_t count,
                           bool small, char* blocks) {
  char* o =
      callee_new(CALLEE_MAP, 56 + 32, (size_t)count, 32, callee_delete_plain);
  CHECK(o != NULL);
  uint64_t slots = small ? count | UINT64_C(1) << 63 : 32, last = UINT64_MAX;
  char* data = small ? o + 56 : blocks;
  put(o + 24, &data, 8);
  put(o + 32, &count, 8);
  put(o + 40, &slots, 8);
  if (small) {
    if (count != 0) put(data, pairs, (size_t)count * 32);
    return object(o);
  }
  put(o + 64, &last, 8);
  for (uint64_t i = count; i-- > 0;) {
    uint64_t at = i * 7 % 32; /* spread over two blocks */
    char* entry = blocks + at / 16 * 784 + 16 + at % 16 * 48;
    put(entry, &pairs[2 * i], 32);
    put(entry + 40, &last, 8);
    last = at;
  }
  put(o + 64, &last, 8);
  return object(o);
}

static void test_maps(void) {
  callee_value pairs[20], r;
  char* blocks = calloc(2, 784);
  CHECK(blocks != NULL);
  for (int i = 0; i < 20; i++) pairs[i] = integer(100 - i);
  for (int small = 0; small < 2; small++)
    for (uint64_t count = 0; count <= 10; count++) {
      callee_value map = map_of(pairs, count, small != 0, blocks);
      callee_items found;
      CHECK(RUN(flatten, &r, map) == 0);
      CHECK(callee_as_array(&r, &found) && found.size == 2 * count);
      for (size_t i = 0; i < found.size; i++)
        CHECK(found.data[i].as.integer == 100 - (int64_t)i);
      callee_release(&r);
      callee_release(&map);
    }
  free(blocks);
}

static void test_tensors(void) {
  float data[] = {9, 1, 2, 3, 4, 5, 6};
  int64_t shape[] = {2, 3}, strides[] = {1, 2};
  callee_tensor_value x = {data, {1, 0}, 2, {2, 32, 1}, shape, NULL, 4};
  callee_value r, p = view(CALLEE_TENSOR_VIEW, &x);
  CHECK(RUN(sum_tensor, &r, p) == 0 && r.as.real == 21);
  shape[1] = 2;
  x.strides = strides;
  CHECK(RUN(sum_tensor, &r, p) == 0 && r.as.real == 10);
  CHECK(RUN(shape_of, &r, p) == 0 && r.tag == CALLEE_SHAPE);
  callee_value product;
  CHECK(RUN(product, &product, r) == 0 && product.as.integer == 4);
  callee_release(&r);
  struct {
    callee_header header;
    callee_tensor_value tensor;
  } owner = {{UINT64_C(1) << 32 | 1, CALLEE_TENSOR, 0, NULL}, x};
  CHECK(RUN(sum_tensor, &r, object(&owner)) == 0 && r.as.real == 10);
  owner.tensor.dtype.bits = 64;
  CHECK(RUN(sum_tensor, &r, object(&owner)) == -1);
  check_raised("TypeError", "sum_tensor() takes float32");
  owner.tensor.rank = 0;
  CHECK(RUN(shape_of, &r, object(&owner)) == 0);
  CHECK(RUN(product, &product, r) == 0 && product.as.integer == 1);
  callee_release(&r);
}

/* Keys of several types, some of them twice. */
static callee_value key_of(int i) {
  char name[32];
  callee_value key;
  switch (i % 4) {
    case 0:
      return integer(i / 8);
    case 1:
      callee_put_float(&key, i / 8);
      return key;
    default:
      snprintf(name, sizeof name, "%d%s", i / 8,
               i % 4 == 2 ? "" : " is a longer key");
      return text(name);
  }
}

static void test_made_maps(void) {
  for (int size = 0; size < 300; size = size < 20 ? size + 1 : size * 2) {
    callee_value keys[320], values[320], all[2], map, one;
    for (int i = 0; i < size; i++) {
      keys[i] = key_of(i);
      values[i] = i % 3 == 0 ? text("a text on the heap") : integer(i);
    }
    CHECK(callee_put_array(&all[0], keys, (size_t)size));
    CHECK(callee_put_array(&all[1], values, (size_t)size));
    CHECK(RUN(zip, &map, all[0], all[1]) == 0 && map.tag == CALLEE_MAP);
    fnabi_map_object* object = (fnabi_map_object*)(void*)map.as.object;
    check_layout(object);
    CHECK(is_dense(object) == (size > 4));
    callee_entries entries;
    const callee_value *key, *value;
    CHECK(callee_as_map(&map, &entries));
    for (int i = 0; i < size; i++) {
      const callee_value* last = &values[i];
      if (i % 8 >= 4) continue; /* the key of i - 4 again */
      if (i + 4 < size) last += 4;
      CHECK(callee_next(&entries, &key, &value));
      CHECK(callee_same_key(key, &keys[i]));
      CHECK(memcmp(value, last, sizeof *value) == 0);
      value = (const callee_value*)(const void*)fnabi_map_find(
          object, (const fnabi_any*)(const void*)&keys[i]);
      CHECK(value != NULL && memcmp(value, last, sizeof *value) == 0);
    }
    CHECK(!callee_next(&entries, &key, &value));
    for (int i = 0; i < 100; i++) { /* another library changes it */
      one = integer(1000 + i);
      CHECK(fnabi_map_set(object, (const fnabi_any*)(const void*)&one,
                          (const fnabi_any*)(const void*)&one));
      check_layout(object);
    }
    callee_release(&map);
    callee_release(&all[0]);
    callee_release(&all[1]);
  }
  callee_value r, name = text("b");
  callee_pair pairs[] = {{text("a"), integer(1)}, {text("b"), integer(2)}};
  CHECK(callee_put_map(&r, pairs, 2));
  CHECK(RUN(find, &name, r, name) == 0 && name.as.integer == 2);
  CHECK(RUN(find, &name, r, text("c")) == -1);
  check_raised("KeyError", "c");
  callee_release(&r);
}

static void test_made_tensors(void) {
  float data[] = {1, 2, 3, 4, 5, 6};
  int64_t shape[] = {2, 3}, strides[] = {1, 2};
  callee_tensor_value x = {data, {1, 0}, 2, {2, 32, 1}, shape, NULL, 0};
  callee_value r, y, p = view(CALLEE_TENSOR_VIEW, &x);
  CHECK(RUN(scaled, &y, p, integer(2)) == 0 && y.tag == CALLEE_TENSOR);
  const callee_tensor_value* made;
  CHECK(callee_as_tensor(&y, &made) && made->rank == 2);
  CHECK(made->shape != shape && made->shape[1] == 3 && made->strides[0] == 3);
  CHECK((uintptr_t)made->data % 256 == 0);
  CHECK(RUN(sum_tensor, &r, y) == 0 && r.as.real == 42);
  callee_release(&y);
  CHECK(RUN(dropped, &r, p) == 0);
  x.strides = strides;
  CHECK(RUN(scaled, &r, p, integer(2)) == -1);
  check_raised("TypeError",
               "scaled() argument 0 must be a contiguous float32 tensor in "
               "memory of the CPU, not non-contiguous float32 of rank 2 on "
               "device 1:0");
  x.strides = NULL;
  x.device.type = 2;
  CHECK(RUN(matrix, &r, p) == -1);
  check_raised("TypeError",
               "matrix() argument 0 must be a contiguous int64 tensor of rank "
               "2 in memory of the CPU, not float32 of rank 2 on device 2:0");
  CHECK(RUN(dropped, &r, p) == 0);
  check_raised("RuntimeError",
               "memory of device 2:0 cannot be allocated: the caller has no "
               "allocator for it");
}

static void test_wrong_tensors(void) {
  static const struct {
    int32_t rank;
    int64_t dims[2];
    uint8_t bits;
    const char* problem;
  } all[] = {
      {-1, {0}, 32, "a tensor of rank -1; expected 0 to 64"},
      {INT32_MIN, {0}, 32, "a tensor of rank -2147483648; expected 0 to 64"},
      {65, {0}, 32, "a tensor of rank 65; expected 0 to 64"},
      {2, {1, -2}, 32, "dim 1 of a tensor is negative: -2"},
      {2,
       {0, INT64_MIN},
       8,
       "dim 1 of a tensor is negative: -9223372036854775808"},
      {2, {1, 1}, 0, "a tensor whose elements have no bits"},
      {2, {INT64_MAX, INT64_MAX}, 8, "a tensor that is larger than memory"},
      {2, {0, INT64_MAX}, 8, "a tensor that is larger than memory"},
      {2, {INT64_C(1) << 59, 1}, 8, "a tensor that is larger than memory"},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    CHECK(callee_new_tensor(callee_dtype_of(2, all[i].bits), all[i].dims,
                            all[i].rank, CALLEE_CPU) == NULL);
    check_raised("ValueError", all[i].problem);
  }
  CHECK(callee_new_tensor(CALLEE_INT8, NULL, 1, CALLEE_CPU) == NULL);
  check_raised("ValueError", "a tensor whose shape is NULL");
  CHECK(callee_new_tensor_like(NULL) == NULL);
  check_raised("ValueError", "a tensor whose shape is NULL");
  callee_tensor_object* scalar =
      callee_new_tensor(CALLEE_BOOL8, NULL, 0, CALLEE_CPU);
  CHECK(scalar != NULL && callee_elements(&scalar->tensor) == 1);
  *(char*)callee_data(&scalar->tensor) = 1;
  callee_drop(scalar);
}

static void test_null(void) {
  callee_value r;
  for (int i = 0; i < 8; i++) {
    CHECK(RUN(null, &r, integer(i)) == -1 && callee_is_none(&r));
    check_raised("ValueError", "null() returned a value that is NULL");
  }
  CHECK(RUN(null, &r, integer(8)) == -1);
  check_raised("ValueError",
               "callee_invoke: the function or its arguments are NULL");
  CHECK(RUN(null, &r, integer(9)) == -1);
  check_raised("TypeError", "null() argument 1 is missing");
  CHECK(RUN(null, &r, integer(10)) == -1);
  check_raised("RuntimeError", "");
  CHECK(RUN(null, &r, integer(13)) == 0 && r.as.integer == 1);
  CHECK(RUN(null, &r, integer(11)) == 0 && is_text(&r, ""));
  CHECK(RUN(null, &r, integer(12)) == 0);
  callee_release(&r);
}

static int64_t live(void) {
  callee_value r;
  CHECK(run(__tvm_ffi_live_closures, NULL, 0, &r) == 0);
  return r.as.integer;
}

static void test_functions(void) {
  callee_value f, r;
  CHECK(RUN(make_counter, &f, integer(10)) == 0 && f.tag == CALLEE_FUNCTION);
  CHECK(live() == 1);
  CHECK(RUN(apply, &r, f) == 0 && r.as.integer == 11);
  CHECK(RUN(apply, &r, f, integer(5)) == 0 && r.as.integer == 16);
  CHECK(RUN(apply, &r, f, f) == -1);
  check_raised("TypeError",
               "counter() argument 0 must be int, not ffi.Function");
  CHECK(RUN(apply, &r, f, f, f) == -1);
  check_raised("TypeError", "counter() takes 0 to 1 arguments, not 2");
  f.as.object->counts += UINT64_C(1) << 32;
  callee_release(&f);
  CHECK(live() == 0); /* destroyed, but the memory is not yet freed */
  callee_free(f.as.object);
}

static void test_texts_about_functions(void) {
  callee_value r;
  CHECK(run(__tvm_ffi__doc_add, NULL, 0, &r) == 0);
  CHECK(is_text(&r, "Adds two integers.\n\nThey wrap around."));
  callee_release(&r);
  CHECK(run(__tvm_ffi__metadata_nothing, NULL, 0, &r) == 0);
  CHECK(is_text(&r,
                "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\","
                "\\\"named_args\\\":{\\\"return\\\":[{\\\"type\\\":"
                "\\\"None\\\"}],\\\"params\\\":[]}}\"}"));
  callee_release(&r);
}

static void test_slot(void) {
  struct {
    callee_error error;
    uint64_t more;
  } later;
  callee_value r, kind = text("ValueError"), message = text("100 %s %n");
  memset(&later, 0xAA, sizeof later);
  CHECK(__fnabi_error_slot(&later.error, sizeof later) == 0);
  CHECK(RUN(fail, &r, kind, message) == -1);
  CHECK(__fnabi_error_slot(&later.error, sizeof later.error - 1) == -1);
  CHECK(__fnabi_error_slot(NULL, 0) == -1);
  CHECK(__fnabi_error_slot(&later.error, sizeof later) == 1);
  CHECK(strcmp(later.error.message.data, "100 %s %n") == 0);
  CHECK(later.more == UINT64_C(0xAAAAAAAAAAAAAAAA));

  /* The texts are valid until the next error, which replaces the last one. */
  const char* kept = later.error.kind.data;
  CHECK(run(__tvm_ffi_nothing, NULL, 0, &r) == 0);
  CHECK(strcmp(kept, "ValueError") == 0);
  CHECK(RUN(fail, &r, kind, message) == -1);
  CHECK(run(__tvm_ffi_fail_elsewhere, NULL, 0, &r) == -1);
  check_raised("KeyError", "fail_elsewhere: elsewhere");
  CHECK(run(__tvm_ffi_fail_silently, NULL, 0, &r) == -1);
  CHECK(__fnabi_error_slot(&later.error, sizeof later) == 0);
  callee_release(&kind);
  callee_release(&message);
}

static void test_long_errors(void) {
  static char much[6000];
  memset(much, 'm', sizeof much - 1);
  for (size_t size = 4090; size < 4100; size++) {
    callee_value r, kind, message;
    CHECK(callee_put_text(&kind, much, size - 4096 + 128));
    CHECK(callee_put_text(&message, much, size));
    CHECK(RUN(fail, &r, kind, message) == -1);
    callee_error error;
    CHECK(__fnabi_error_slot(&error, sizeof error) == 1);
    CHECK(error.message.size == (size < 4095 ? size : 4095));
    CHECK(error.kind.size == (size < 4095 ? size - 4096 + 128 : 127));
    CHECK((strcmp(error.message.data + error.message.size - 3, "...") == 0) ==
          (size > 4095));
    CHECK((strcmp(error.kind.data + error.kind.size - 3, "...") == 0) ==
          (size > 4095));
    callee_release(&kind);
    callee_release(&message);
  }
}

/* A text ends between two characters, wherever it is cut. */
static void test_long_errors_of_other_alphabets(void) {
  static const char* const parts[] = {"\xC3\xA9", "\xE4\xB8\xAD",
                                      "\xF0\x9F\x98\x80"};
  static char much[6000];
  for (size_t k = 0; k < 3; k++) {
    const size_t part = strlen(parts[k]);
    for (size_t first = 0; first < part; first++) {
      memset(much, 'm', sizeof much);
      for (size_t i = first; i + part < sizeof much; i += part)
        memcpy(much + i, parts[k], part);
      much[first + part * ((sizeof much - first) / part - 1)] = 0;
      CHECK(callee_raise("ValueError", "%s", much).code == -1);
      callee_error error;
      CHECK(__fnabi_error_slot(&error, sizeof error) == 1);
      size_t end = error.message.size - 3;
      CHECK(end + part > 4092 - 1 && end <= 4092);
      CHECK(strcmp(error.message.data + end, "...") == 0);
      CHECK((end - first) % part == 0);
      CHECK(memcmp(error.message.data, much, end) == 0);
    }
  }
}

/* An error may be raised with the texts of the one before, which it replaces. */
static void test_errors_about_errors(void) {
  callee_error error;
  CHECK(callee_raise("ValueError", "inner").code == -1);
  CHECK(__fnabi_error_slot(&error, sizeof error) == 1);
  CHECK(callee_raise("TypeError", "outer: %s", error.message.data).code == -1);
  check_raised("TypeError", "outer: inner");
  CHECK(callee_raise("ValueError", "inner").code == -1);
  CHECK(__fnabi_error_slot(&error, sizeof error) == 1);
  CHECK(callee_raise(error.kind.data, "%s", error.message.data).code == -1);
  check_raised("ValueError", "inner");
}

static void test_contiguous(void) {
  const int64_t square = INT64_C(3037000500), half = INT64_C(1) << 40;
  struct {
    int64_t shape[2], strides[2];
    bool is_contiguous, without_strides;
  } cases[] = {
      {{2, 3}, {3, 1}, true, true},
      {{2, 3}, {1, 2}, false, true},
      {{1, 3}, {9, 1}, true, true},
      {{0, 3}, {9, 9}, true, true},
      {{half, 0}, {9, 9}, true, true},
      {{square, square}, {square, 1}, false, false},
      {{half, half}, {half, 1}, false, false},
      {{-1, 3}, {3, 1}, false, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    callee_tensor_value x = {NULL,           {1, 0},           2, {2, 32, 1},
                             cases[i].shape, cases[i].strides, 0};
    CHECK(callee_is_contiguous(&x) == cases[i].is_contiguous);
    x.strides = NULL;
    CHECK(callee_is_contiguous(&x) == cases[i].without_strides);
  }
}

static void test_names_of_types(void) {
  static const struct {
    callee_dtype_value dtype;
    const char* name;
  } cases[] = {{{2, 32, 1}, "float32"},
               {{6, 8, 1}, "bool"},
               {{6, 1, 1}, "bool1"},
               {{10, 8, 1}, "float8_e4m3fn"},
               {{17, 4, 2}, "float4_e2m1fnx2"},
               {{18, 8, 1}, "code?8"}};
  char name[32];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    callee_dtype_text(cases[i].dtype, name, sizeof name);
    CHECK(strcmp(name, cases[i].name) == 0);
  }
  CHECK(strcmp(callee_type_name(CALLEE_BIG_INT), "an int outside int64") == 0);
}

static void* other_thread(void* unused) {
  (void)unused;
  callee_error error;
  callee_value r;
  CHECK(__fnabi_error_slot(&error, sizeof error) == 0);
  for (int i = 0; i < 1000; i++) {
    CHECK(RUN(add, &r, integer(1)) == -1);
    check_raised("TypeError", "add() takes 2 arguments, not 1");
  }
  CHECK(RUN(add, &r, integer(1)) == -1);
  return NULL;
}

static void test_threads(void) {
  callee_value r;
  pthread_t threads[3];
  CHECK(run(__tvm_ffi_fail_elsewhere, NULL, 0, &r) == -1);
  for (int i = 0; i < 3; i++)
    CHECK(pthread_create(&threads[i], NULL, other_thread, NULL) == 0);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  check_raised("KeyError", "fail_elsewhere: elsewhere");
}

int main(void) {
  test_plain_values();
  test_refused_arguments();
  test_text_in_every_form();
  test_objects();
  test_too_large();
  test_containers();
  test_maps();
  test_tensors();
  test_made_maps();
  test_made_tensors();
  test_wrong_tensors();
  test_null();
  test_functions();
  test_texts_about_functions();
  test_slot();
  test_long_errors();
  test_long_errors_of_other_alphabets();
  test_errors_about_errors();
  test_contiguous();
  test_names_of_types();
  test_threads();
  return 0;
}
