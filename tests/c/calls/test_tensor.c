#include "allocations.h"
#include "calls/tensor.h"
#include "check.h"

static int given_back;

static void count(void* owner) {
  (void)owner;
  given_back++;
}

static void count_managed(fnabi_dl_managed* managed) { count(managed); }
static void count_versioned(fnabi_dl_versioned* managed) { count(managed); }

static fnabi_dl_tensor floats(void* data, int32_t ndim, int64_t* shape,
                              int64_t* strides) {
  return (fnabi_dl_tensor){
      data,  {FNABI_DL_CPU, 0}, ndim, {FNABI_DL_FLOAT, 32, 1},
      shape, strides,           0};
}

static void test_problems(void) {
  float data[6];
  int64_t shape[] = {2, 3};
  fnabi_dl_tensor good = floats(data, 2, shape, NULL);
  CHECK(fnabi_dl_problem(&good) == NULL);
  CHECK(fnabi_dl_count(&good) == 6 && fnabi_dl_bytes(&good) == 24);
  int64_t large[] = {INT64_MAX, 2, 0}; /* the product would overflow */
  fnabi_dl_tensor empty = floats(data, 3, large, NULL);
  CHECK(fnabi_dl_count(&empty) == 0);
  fnabi_dl_tensor bad = good;
  bad.ndim = -1;
  CHECK(fnabi_dl_problem(&bad) != NULL);
  bad = good;
  bad.shape = NULL;
  CHECK(fnabi_dl_problem(&bad) != NULL);
  bad.ndim = 0;
  CHECK(fnabi_dl_problem(&bad) == NULL && fnabi_dl_count(&bad) == 1);
  bad.data = NULL;
  CHECK(fnabi_dl_problem(&bad) != NULL);
  bad.device.type = 2; /* on a device NULL may be a valid handle */
  CHECK(fnabi_dl_problem(&bad) == NULL);
  static const struct {
    int64_t shape[2];
    bool good;
  } shapes[] = {
      {{-1, 2}, false},
      {{2, -1}, false},
      {{0, -1}, false},
      {{0, 0}, true},
      {{INT64_MAX, 0}, false}, /* the first dim alone is too large */
      {{0, INT64_MAX}, true},
      {{INT64_MAX, INT64_MAX}, false},
      {{1 << 30, 1 << 30}, false},
      {{1 << 27, 1 << 27}, false},
      {{1 << 22, 1 << 22}, true},
  };
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    int64_t dims[] = {shapes[i].shape[0], shapes[i].shape[1]};
    fnabi_dl_tensor tensor = floats(data, 2, dims, NULL);
    CHECK((fnabi_dl_problem(&tensor) == NULL) == shapes[i].good);
    if (!shapes[i].good) continue;
    CHECK(fnabi_dl_count(&tensor) == (dims[0] ? dims[0] * dims[1] : 0));
    CHECK(fnabi_dl_bytes(&tensor) == 4 * fnabi_dl_count(&tensor));
    fnabi_held_tensor* held = fnabi_tensor_new(&tensor, NULL, NULL, 0);
    CHECK(held != NULL && fnabi_dl_compact(&held->tensor.tensor, 'C'));
    fnabi_object_release(held);
  }
  fnabi_dl_tensor none = good;
  none.dtype = (fnabi_dl_dtype){0}; /* void */
  CHECK(fnabi_dl_problem(&none) == NULL && fnabi_dl_bytes(&none) == 0);
}

/* Elements at the end of the address space. */
static void test_ends(void) {
  int64_t shape[] = {4};
  char* last = (char*)(UINTPTR_MAX - 15);
  fnabi_dl_tensor tensor = floats(last - 1, 1, shape, NULL);
  CHECK(fnabi_dl_problem(&tensor) == NULL);
  tensor.byte_offset = 2;
  CHECK(strstr(fnabi_dl_problem(&tensor), "its elements") != NULL);
  tensor.byte_offset = 17;
  CHECK(strstr(fnabi_dl_problem(&tensor), "its byte offset") != NULL);
  int64_t vast = INT64_C(1) << 57; /* in bits between two and four EiB */
  tensor = floats(last, 1, &vast, NULL);
  CHECK(strstr(fnabi_dl_problem(&tensor), "larger than memory") != NULL);
}

static void test_devices(void) {
  static const int32_t hosts[] = {FNABI_DL_CPU, FNABI_DL_CUDA_HOST,
                                  FNABI_DL_ROCM_HOST, FNABI_DL_CUDA_MANAGED};
  int found = 0;
  for (int32_t type = 0; type < 32; type++)
    found += fnabi_dl_on_host((fnabi_dl_device){type, 0});
  for (size_t i = 0; i < 4; i++)
    CHECK(fnabi_dl_on_host((fnabi_dl_device){hosts[i], 0}));
  CHECK(found == 4);
}

/* Nothing is owned, and nothing kept, where memory is short. */
static void test_allocations(void) {
  float data[6] = {1, 2, 3, 4, 5, 6};
  int64_t shape[] = {2, 3}, columns[] = {1, 2};
  fnabi_dl_tensor tensor = floats(data, 2, shape, columns);
  for (size_t i = 0; i < 3; i++) { /* the elements, the object, the index */
    allocations = 0;
    refused_one = i;
    CHECK(fnabi_tensor_copy(&tensor) == NULL);
    CHECK(allocations == i + 1);
  }
  refused_one = SIZE_MAX;
  fnabi_held_tensor* held = fnabi_tensor_new(&tensor, NULL, NULL, 0);
  refused_from = 0;
  CHECK(fnabi_tensor_new(&tensor, NULL, NULL, 0) == NULL);
  CHECK(fnabi_tensor_to_managed(&held->tensor) == NULL);
  CHECK(fnabi_tensor_to_versioned(&held->tensor, 0) == NULL);
  refused_from = SIZE_MAX;
  CHECK((uint32_t)held->tensor.object.counts == 1);
  fnabi_object_release(held);
}

static void test_item_sizes(void) {
  CHECK(fnabi_dl_item_size((fnabi_dl_dtype){FNABI_DL_FLOAT, 32, 4}) == 16);
  CHECK(fnabi_dl_item_size((fnabi_dl_dtype){FNABI_DL_INT, 4, 1}) == 0);
  CHECK(fnabi_dl_item_size((fnabi_dl_dtype){FNABI_DL_INT, 4, 2}) == 1);
  CHECK(fnabi_dl_item_size((fnabi_dl_dtype){FNABI_DL_INT, 255, 65535}) == 0);
  CHECK(fnabi_dl_item_size((fnabi_dl_dtype){FNABI_DL_INT, 248, 65535}) ==
        31u * 65535);
}

static void test_compact(void) {
  int64_t shape[] = {2, 1, 3}, rows[] = {3, 99, 1}, columns[] = {1, 99, 2};
  float data[6];
  fnabi_dl_tensor tensor = floats(data, 3, shape, NULL);
  CHECK(fnabi_dl_compact(&tensor, 'C') && !fnabi_dl_compact(&tensor, 'F'));
  tensor.strides = rows;
  CHECK(fnabi_dl_compact(&tensor, 'C') && !fnabi_dl_compact(&tensor, 'F'));
  tensor.strides = columns;
  CHECK(!fnabi_dl_compact(&tensor, 'C') && fnabi_dl_compact(&tensor, 'F'));
  shape[0] = 0;
  CHECK(fnabi_dl_compact(&tensor, 'C') && fnabi_dl_compact(&tensor, 'F'));
}

static void test_owners(void) {
  float data[6];
  int64_t shape[] = {2, 3};
  fnabi_dl_tensor tensor = floats(data, 2, shape, NULL);
  given_back = 0;
  fnabi_held_tensor* held = fnabi_tensor_new(&tensor, data, count, 0);
  CHECK(held != NULL && fnabi_tensor_held(held) == held);
  shape[0] = 77; /* the tensor has its own copy */
  CHECK(held->tensor.tensor.shape[0] == 2);
  CHECK(held->tensor.tensor.strides[0] == 3);
  fnabi_object_retain_weak(held);
  fnabi_object_retain(held);
  fnabi_object_release(held);
  CHECK(given_back == 0);
  fnabi_object_release(held);
  CHECK(given_back == 1 && !fnabi_object_promote(held));
  fnabi_object_release_weak(held);
  CHECK(given_back == 1);
}

static void test_taking_over(void) {
  float data[6];
  int64_t shape[] = {2, 3};
  const char* problem;
  for (int damage = 0; damage < 6; damage++) {
    fnabi_dl_versioned* managed = malloc(sizeof *managed);
    CHECK(managed != NULL);
    *managed = (fnabi_dl_versioned){FNABI_DL_MAJOR,
                                    0,
                                    NULL,
                                    count_versioned,
                                    FNABI_DL_READ_ONLY,
                                    floats(data, 2, shape, NULL)};
    given_back = 0;
    if (damage == 1) managed->major = 2;
    if (damage == 2) managed->flags = FNABI_DL_PADDED;
    if (damage == 3) managed->tensor.ndim = -2;
    if (damage == 4) managed->deleter = NULL;
    if (damage == 5) managed->flags = FNABI_DL_COPIED;
    fnabi_held_tensor* held = fnabi_tensor_of_versioned(managed, &problem);
    bool good = damage == 0 || damage > 3;
    CHECK((held != NULL) == good && (problem == NULL) == good);
    if (held != NULL) {
      CHECK(given_back == 0);
      CHECK(held->flags == (damage == 5 ? 0 : FNABI_DL_READ_ONLY));
      fnabi_object_release(held);
    }
    CHECK(given_back == (damage != 4));
    free(managed);
  }
  for (int damage = 0; damage < 3; damage++) {
    fnabi_dl_managed managed = {floats(data, 2, shape, NULL), NULL,
                                count_managed};
    given_back = 0;
    if (damage == 1) managed.tensor.shape = NULL;
    if (damage == 2) managed.deleter = NULL;
    fnabi_held_tensor* held = fnabi_tensor_of_managed(&managed, &problem);
    CHECK((held != NULL) == (damage != 1) &&
          (problem != NULL) == (damage == 1));
    if (held != NULL) fnabi_object_release(held);
    CHECK(given_back == (damage != 2));
  }
}

static void test_handing_over(void) {
  float data[6];
  int64_t shape[] = {2, 3};
  fnabi_dl_tensor tensor = floats(data, 2, shape, NULL);
  given_back = 0;
  fnabi_held_tensor* held = fnabi_tensor_new(&tensor, data, count, 0);
  CHECK(held != NULL);
  held->tensor.tensor.strides = NULL; /* allowed in foreign tensors */
  fnabi_dl_managed* managed = fnabi_tensor_to_managed(&held->tensor);
  fnabi_dl_versioned* versioned =
      fnabi_tensor_to_versioned(&held->tensor, FNABI_DL_READ_ONLY);
  fnabi_object_release(held);
  CHECK(managed != NULL && versioned != NULL && given_back == 0);
  CHECK(managed->tensor.data == data && managed->tensor.strides[0] == 3);
  CHECK(versioned->tensor.strides[1] == 1 && versioned->tensor.shape[1] == 3);
  CHECK(versioned->major == 1 && versioned->flags == FNABI_DL_READ_ONLY);
  managed->deleter(managed);
  CHECK(given_back == 0);
  versioned->deleter(versioned);
  CHECK(given_back == 1);
}

/* Compares copies with a loop that computes the offset of each element. */
static void test_copies(void) {
  uint32_t random = 1;
  uint16_t memory[4096];
  for (size_t i = 0; i < 4096; i++) memory[i] = (uint16_t)i;
  for (int round = 0; round < 2000; round++) {
    int64_t shape[5], strides[5];
    int32_t ndim = (int32_t)(next_random(&random) % 6);
    fnabi_dl_tensor tensor = floats(memory + 2048, ndim, shape, strides);
    tensor.dtype.bits = 16;
    tensor.byte_offset = next_random(&random) % 4 * 2;
    for (int32_t i = 0; i < ndim; i++) {
      shape[i] = next_random(&random) % 5;
      strides[i] = (int64_t)(next_random(&random) % 200) - 100;
    }
    CHECK(fnabi_dl_problem(&tensor) == NULL);
    fnabi_held_tensor* copy = fnabi_tensor_copy(&tensor);
    CHECK(copy != NULL && fnabi_dl_compact(&copy->tensor.tensor, 'C'));
    const uint16_t* out = fnabi_dl_data(&copy->tensor.tensor);
    CHECK((uintptr_t)out % 256 == 0);
    for (int64_t i = 0; i < fnabi_dl_count(&tensor); i++) {
      int64_t rest = i;
      const uint16_t* at = fnabi_dl_data(&tensor);
      for (int32_t k = ndim; k-- > 0;) {
        at += rest % shape[k] * strides[k];
        rest /= shape[k];
      }
      CHECK(out[i] == *at);
    }
    fnabi_object_release(copy);
  }
}

int main(void) {
  test_problems();
  test_ends();
  test_devices();
  test_allocations();
  test_item_sizes();
  test_compact();
  test_owners();
  test_taking_over();
  test_handing_over();
  test_copies();
  return 0;
}
