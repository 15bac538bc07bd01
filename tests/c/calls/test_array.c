#include "allocations.h"
#include "calls/array.h"
#include "calls/values.h"

static void test_new(void) {
  for (int64_t size = 0; size < 5; size++) {
    fnabi_seq_object* array = fnabi_array_new(size);
    CHECK(array->object.type_index == FNABI_INDEX_ARRAY);
    CHECK(array->size == size && array->capacity == size);
    CHECK(array->data == (fnabi_any*)(array + 1) &&
          array->data_deleter == NULL);
    fnabi_seq_object* list = fnabi_list_new(size);
    CHECK(list->object.type_index == FNABI_INDEX_LIST);
    CHECK(list->size == size && list->capacity == size);
    CHECK(list->data_deleter != NULL);
    for (int64_t i = 0; i < size; i++) {
      CHECK(array->data[i].type_index == 0 && array->data[i].v_bits == 0);
      array->data[i] = string_value("a string object");
      CHECK(list->data[i].type_index == 0 && list->data[i].v_bits == 0);
      list->data[i] = string_value("another one");
    }
    fnabi_object_release(array);
    fnabi_object_release(list);
  }
  CHECK(fnabi_array_new(-1) == NULL && fnabi_list_new(-1) == NULL);
  CHECK(fnabi_array_new(INT64_MAX) == NULL);
  CHECK(fnabi_list_new(INT64_MAX) == NULL);
  CHECK(fnabi_list_new(INT64_MAX / 16) == NULL);
}

/* Half of what can be addressed is asked for, and no value more. */
static void test_largest(void) {
  const int64_t most = PTRDIFF_MAX / (int64_t)sizeof(fnabi_any) / 2;
  size_t before = allocations;
  refused_from = 0;
  CHECK(fnabi_array_new(most) == NULL && allocations == before + 1);
  CHECK(fnabi_array_new(most + 1) == NULL && allocations == before + 1);
  refused_from = before + 2; /* the values, after the list */
  CHECK(fnabi_list_new(most) == NULL && allocations == before + 3);
  CHECK(fnabi_list_new(most + 1) == NULL && allocations == before + 3);
  refused_from = SIZE_MAX;
}

/* A list has the same elements as a plain array after the same changes. */
static void check_list(const fnabi_seq_object* list, const int* model,
                       int64_t size) {
  CHECK(list->size == size && size <= list->capacity);
  for (int64_t i = 0; i < size; i++) CHECK(list->data[i].v_int == model[i]);
}

static void test_changes(void) {
  int model[400];
  int64_t size = 0;
  uint32_t random = 12345;
  fnabi_seq_object* list = fnabi_list_new(0);
  for (int step = 0; step < 20000; step++) {
    int64_t at = next_random(&random) % (size + 1);
    if (next_random(&random) % 4 != 0 && size < 400) {
      fnabi_any value = int_value(step);
      CHECK(fnabi_list_insert(list, at, &value));
      memmove(model + at + 1, model + at, (size_t)(size - at) * sizeof *model);
      model[at] = step;
      size++;
    } else {
      int64_t count = next_random(&random) % (step % 50 == 0 ? 400 : 6);
      if (count > size - at) count = size - at;
      fnabi_list_erase(list, at, count);
      memmove(model + at, model + at + count,
              (size_t)(size - at - count) * sizeof *model);
      size -= count;
    }
    check_list(list, model, size);
  }
  fnabi_object_release(list);
}

static void test_counts(void) {
  int log = 0;
  fnabi_seq_object* list = fnabi_list_new(2);
  fnabi_any any = witness_value(&log);
  CHECK(fnabi_list_insert(list, 1, &any));
  CHECK(strong_of(&any) == 1);
  fnabi_list_erase(list, 0, 1);
  CHECK(log == 0);
  fnabi_list_erase(list, 0, 1);
  CHECK(log == GONE && list->size == 1);
  fnabi_list_erase(list, 0, 0);
  CHECK(list->size == 1);
  /* The inserted value is an element of the list, which moves as it grows. */
  list->data[0] = string_value("in the list");
  for (int i = 0; i < 20; i++) {
    fnabi_any_retain(&list->data[0]);
    CHECK(fnabi_list_insert(list, 1, &list->data[0]));
  }
  CHECK(strong_of(&list->data[20]) == 21);
  fnabi_object_release(list);
}

/* ------------------------------------------------------------------ foreign */

static int foreign_frees;

static void foreign_free(void* data) {
  foreign_frees++;
  free(data);
}

static void test_foreign(void) {
  foreign_frees = 0;
  fnabi_seq_object* list = fnabi_list_new(0);
  list->data = calloc(2, sizeof *list->data);
  list->capacity = 2;
  list->data_deleter = foreign_free;
  fnabi_any value = int_value(1);
  CHECK(fnabi_list_insert(list, 0, &value));
  CHECK(fnabi_list_insert(list, 0, &value));
  CHECK(foreign_frees == 0);
  CHECK(fnabi_list_insert(list, 2, &value));
  CHECK(foreign_frees == 1 && list->data_deleter != foreign_free);
  /* Another library grows the list: it frees our buffer and sets its own. */
  fnabi_any* data = calloc(8, sizeof *data);
  memcpy(data, list->data, 3 * sizeof *data);
  list->data_deleter(list->data);
  list->data = data;
  list->capacity = 8;
  list->data_deleter = foreign_free;
  fnabi_object_release(list);
  CHECK(foreign_frees == 2);
}

/* Another library need not have a deleter, nor a capacity that can be. */
static void test_odd(void) {
  static fnabi_any values[2];
  fnabi_seq_object* list = fnabi_list_new(0);
  list->data = values;
  list->capacity = 2;
  list->data_deleter = NULL;
  fnabi_any value = int_value(1);
  for (int i = 0; i < 3; i++) CHECK(fnabi_list_insert(list, i, &value));
  CHECK(list->data != values && list->data_deleter != NULL);
  fnabi_list_erase(list, 3, 1);
  CHECK(list->size == 3);
  fnabi_list_erase(list, 1, 100);
  CHECK(list->size == 1);
  fnabi_seq_object full = *list;
  full.size = full.capacity = INT64_MAX / (int64_t)sizeof value;
  CHECK(!fnabi_list_insert(&full, 0, &value) && full.data == list->data);
  fnabi_object_release(list);
}

/* An element whose deleter changes the list that it was in. */
typedef struct meddler {
  fnabi_object object;
  fnabi_seq_object* list;
} meddler;

static void meddle(void* self, int flags) {
  fnabi_any value = int_value(99);
  (void)flags;
  CHECK(fnabi_list_insert(((meddler*)self)->list, 0, &value));
  fnabi_object_free(self);
}

static void check_meddling(int64_t size, size_t refused) {
  fnabi_seq_object* list = fnabi_list_new(size + 2);
  list->data[size] = int_value(1);
  list->data[size + 1] = int_value(2);
  meddler* m = fnabi_object_new(sizeof *m, FNABI_INDEX_DYNAMIC, meddle);
  m->list = list;
  list->data[0] = object_value(m);
  allocations = 0;
  refused_from = refused;
  fnabi_list_erase(list, 0, size);
  refused_from = SIZE_MAX;
  CHECK(list->size >= 2 && list->size <= 3);
  CHECK(list->data[list->size - 1].v_int == 2);
  fnabi_object_release(list);
}

static void test_meddling(void) {
  check_meddling(3, SIZE_MAX);
  check_meddling(100, SIZE_MAX);
  check_meddling(100, 0);
}

/* The last owner of a list may give it up while values are erased. */
static void test_given_up(void) {
  for (int64_t size = 1; size <= 100; size += 99) {
    fnabi_seq_object* list = fnabi_list_new(size);
    list->data[0] = giver_value(list);
    refused_from = allocations = 0;
    fnabi_list_erase(list, 0, size);
    refused_from = SIZE_MAX;
  }
}

/* -------------------------------------------------------------- allocations */

static void test_allocations(void) {
  refused_from = allocations = 0;
  CHECK(fnabi_array_new(3) == NULL && fnabi_list_new(3) == NULL);
  CHECK(allocations == 2);
  allocations = 0;
  refused_from = 1;
  CHECK(fnabi_list_new(3) == NULL);
  allocations = 0;
  fnabi_seq_object* list = fnabi_list_new(0);
  CHECK(allocations == 1);
  fnabi_any value = string_value("");
  CHECK(!fnabi_list_insert(list, 0, &value) && list->size == 0);
  refused_from = SIZE_MAX;
  for (int i = 0; i < 4; i++) CHECK(fnabi_list_insert(list, 0, &value));
  value = string_value("not taken over");
  refused_from = allocations = 0;
  CHECK(!fnabi_list_insert(list, 0, &value) && list->size == 4);
  refused_from = SIZE_MAX;
  fnabi_any_release(&value);
  fnabi_object_release(list);

  /* Erasing works even if memory is exhausted. */
  list = fnabi_list_new(1000);
  for (int i = 0; i < 1000; i++) list->data[i] = string_value("a large string");
  refused_from = allocations = 0;
  fnabi_list_erase(list, 1, 998);
  CHECK(list->size == 2 && allocations > 1);
  refused_from = SIZE_MAX;
  fnabi_object_release(list);
}

int main(void) {
  test_new();
  test_largest();
  test_changes();
  test_counts();
  test_foreign();
  test_odd();
  test_meddling();
  test_given_up();
  test_allocations();
  return 0;
}
