#include <pthread.h>

#include "allocations.h"
#include "calls/array.h"
#include "calls/map.h"
#include "calls/values.h"

/* ------------------------------------------------------------------- header */

static void test_header(void) {
  fnabi_object* object = fnabi_object_new(40, 99, NULL);
  CHECK(object->counts == (FNABI_WEAK_ONE | 1));
  CHECK(object->type_index == 99 && object->padding == 0);
  CHECK(object->deleter == fnabi_object_delete);
  for (int i = 0; i < 16; i++) CHECK(((char*)(object + 1))[i] == 0);
  /* The prefix that newer versions of the ABI read before an object. */
  void (*delete_space)(void*);
  void* tied;
  memcpy(&delete_space, (char*)object - 8, sizeof delete_space);
  memcpy(&tied, (char*)object - 16, sizeof tied);
  CHECK(delete_space == fnabi_object_free && tied == NULL);
  fnabi_object_release(object);

  object = fnabi_object_new(40, 99, NULL);
  object->deleter(object, FNABI_DELETER_STRONG); /* the memory stays */
  CHECK(object->type_index == 99);
  object->deleter(object, FNABI_DELETER_WEAK);

  object = fnabi_object_new(40, 99, NULL);
  memcpy(&delete_space, (char*)object - 8, sizeof delete_space);
  delete_space(object);
  CHECK(fnabi_object_new(SIZE_MAX - 8, 99, NULL) == NULL);
}

/* ------------------------------------------------------------------- counts */

static void test_counts(void) {
  int log = 0;
  fnabi_any any = witness_value(&log);
  fnabi_any_retain(&any);
  fnabi_any second = any;
  fnabi_any_release(&second);
  CHECK(log == 0 && second.type_index == FNABI_INDEX_NONE);
  fnabi_any_release(&any);
  CHECK(log == 3 && any.v_bits == 0);
  fnabi_any_release(&any); /* None */
  CHECK(log == 3);

  /* A weak reference keeps only the memory. */
  log = 0;
  any = witness_value(&log);
  fnabi_object* object = any.v_object;
  fnabi_object_retain_weak(object);
  CHECK(object->counts == (2 * FNABI_WEAK_ONE | 1));
  CHECK(fnabi_object_promote(object));
  CHECK(object->counts == (2 * FNABI_WEAK_ONE | 2));
  fnabi_object_release(object);
  fnabi_any_release(&any);
  CHECK(log == 1 && object->counts == FNABI_WEAK_ONE);
  CHECK(!fnabi_object_promote(object));
  fnabi_object_retain_weak(object);
  fnabi_object_release_weak(object);
  CHECK(log == 1);
  fnabi_object_release_weak(object);
  CHECK(log == 12);

  /* A weak reference released before the strong ones frees nothing. */
  log = 0;
  any = witness_value(&log);
  fnabi_object_retain_weak(any.v_object);
  fnabi_object_release_weak(any.v_object);
  CHECK(log == 0);
  fnabi_any_release(&any);
  CHECK(log == 3);
}

static void test_no_deleter(void) {
  fnabi_object immortal = {FNABI_WEAK_ONE | 1, FNABI_INDEX_OBJECT, 0, NULL};
  fnabi_object_release(&immortal);
  CHECK(immortal.counts == FNABI_WEAK_ONE);
  immortal.counts = 2 * FNABI_WEAK_ONE | 1;
  fnabi_object_release(&immortal);
  CHECK(immortal.counts == FNABI_WEAK_ONE);
  fnabi_object_release_weak(&immortal);
  CHECK(immortal.counts == 0);
}

enum { TURNS = 100000 };

static void* turn(void* object) {
  for (int i = 0; i < TURNS; i++) {
    fnabi_object_retain(object);
    fnabi_object_retain_weak(object);
    CHECK(fnabi_object_promote(object));
    fnabi_object_release(object);
    fnabi_object_release_weak(object);
    fnabi_object_release(object);
  }
  fnabi_object_release(object);
  return NULL;
}

/* Promotes until the other thread has destroyed the object. */
static void* chase(void* object) {
  while (fnabi_object_promote(object)) fnabi_object_release(object);
  fnabi_object_release_weak(object);
  return NULL;
}

static void together(void* (*first)(void*), void* (*second)(void*),
                     void* object) {
  pthread_t threads[2];
  CHECK(pthread_create(&threads[0], NULL, first, object) == 0);
  CHECK(pthread_create(&threads[1], NULL, second, object) == 0);
  CHECK(pthread_join(threads[0], NULL) == 0);
  CHECK(pthread_join(threads[1], NULL) == 0);
}

static void test_threads(void) {
  int log = 0;
  fnabi_any any = witness_value(&log);
  fnabi_any_retain(&any);
  together(turn, turn, any.v_object);
  CHECK(log == 3);
  for (int i = 0; i < 50; i++) {
    log = 0;
    any = witness_value(&log);
    fnabi_object_retain_weak(any.v_object);
    together(turn, chase, any.v_object);
    CHECK(log == 3 || log == 12);
    if (i == 0) CHECK(log != 0);
  }
}

/* -------------------------------------------------------------------- depth */

enum { DEPTH = 100000 };

/* Wraps the innermost value in arrays, lists, maps, dicts and errors in turn.
 * Every hundredth object also has a weak reference. */
static fnabi_any nest(fnabi_any inner, fnabi_object** weak) {
  const fnabi_byte_array text = {TEXT("text")}, empty = {NULL, 0};
  for (int i = 0; i < DEPTH; i++) {
    fnabi_any pairs[10];
    switch (i % 5) {
      case 0:
      case 1: {
        fnabi_seq_object* seq =
            i % 5 == 0 ? fnabi_array_new(2) : fnabi_list_new(2);
        seq->data[1] = inner;
        inner = object_value(seq);
        break;
      }
      case 2:
      case 3: {
        int32_t index = i % 5 == 2 ? FNABI_INDEX_MAP : FNABI_INDEX_DICT;
        for (int k = 0; k < 5; k++) {
          pairs[2 * k] = int_value(k);
          pairs[2 * k + 1] = none_value();
        }
        /* As a key and as a value, in small and dense maps. */
        pairs[i % 2] = inner;
        inner = object_value(fnabi_map_new(pairs, i % 3 == 0 ? 5 : 1, index));
        break;
      }
      default: {
        fnabi_error_object* error =
            fnabi_error_object_new(&text, &text, &empty, 0, NULL);
        *(i % 2 ? &error->cause : &error->context) = inner.v_object;
        inner = object_value(error);
      }
    }
    if (i == DEPTH / 2) {
      *weak = inner.v_object;
      fnabi_object_retain_weak(*weak);
    }
  }
  return inner;
}

static void* release_deep(void* any) {
  fnabi_any_release(any);
  return NULL;
}

static void test_depth(void) {
  int log = 0;
  fnabi_object* weak = NULL;
  fnabi_any any = nest(witness_value(&log), &weak);
  pthread_t thread;
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, 128 * 1024) == 0);
  CHECK(pthread_create(&thread, &attributes, release_deep, &any) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(pthread_attr_destroy(&attributes) == 0);
  CHECK(log == GONE);
  CHECK(!fnabi_object_promote(weak) && weak->counts == FNABI_WEAK_ONE);
  fnabi_object_release_weak(weak);
}

/* Elements with the deleter of another library inside an array of ours. */
static void test_inside_others(void) {
  int log = 0;
  fnabi_seq_object* outer = fnabi_array_new(2);
  outer->data[0] = witness_value(&log);
  outer->data[1] = outer->data[0];
  fnabi_any_retain(&outer->data[1]);
  fnabi_object_release(outer);
  CHECK(log == GONE);
}

/* -------------------------------------------------------------------- texts */

static void check_text(const char* data, size_t size) {
  fnabi_any any;
  fnabi_byte_array text;
  CHECK(fnabi_string_new(data, size, &any));
  CHECK(any.type_index == (size > 7 ? FNABI_INDEX_STR : FNABI_INDEX_SMALL_STR));
  CHECK(fnabi_any_string(&any, &text) && !fnabi_any_bytes(&any, &text));
  CHECK(text.size == size && (size == 0 || memcmp(text.data, data, size) == 0));
  CHECK(text.data[size] == 0);
  CHECK(any.small_size == (size > 7 ? 0 : size));
  fnabi_any again = any;
  fnabi_any_normalize(&again);
  CHECK(memcmp(&again, &any, sizeof any) == 0);
  fnabi_any_release(&any);

  CHECK(fnabi_bytes_new(data, size, &any));
  CHECK(any.type_index ==
        (size > 7 ? FNABI_INDEX_BYTES : FNABI_INDEX_SMALL_BYTES));
  CHECK(fnabi_any_bytes(&any, &text) && !fnabi_any_string(&any, &text));
  CHECK(text.size == size && (size == 0 || memcmp(text.data, data, size) == 0));
  fnabi_any_release(&any);
}

static void test_texts(void) {
  static const char text[] = "\0a text with \0 in it and \xFF";
  for (size_t size = 0; size < sizeof text; size++) {
    char* copy = exact(text, size);
    check_text(copy, size);
    release(copy);
  }
  check_text(NULL, 0);
  fnabi_any any;
  CHECK(!fnabi_string_new(text, SIZE_MAX - 16, &any));
  CHECK(any.type_index == FNABI_INDEX_NONE);
}

static void test_shapes(void) {
  const int64_t dims[] = {3, -1, INT64_MAX};
  for (size_t ndim = 0; ndim <= 3; ndim++) {
    fnabi_shape_object* shape = fnabi_shape_new(dims, ndim);
    CHECK(shape->ndim == ndim && shape->object.type_index == FNABI_INDEX_SHAPE);
    CHECK(memcmp(shape->dims, dims, ndim * sizeof *dims) == 0);
    fnabi_object_release(shape);
  }
  fnabi_object_release(fnabi_shape_new(NULL, 0));
  CHECK(fnabi_shape_new(dims, SIZE_MAX / 8) == NULL);
}

/* ----------------------------------------------------- errors and functions */

static bool is_text(const fnabi_byte_array* text, const char* expected) {
  return text->size == strlen(expected) &&
         memcmp(text->data, expected, text->size) == 0;
}

static void error_delete(void* self, int flags) {
  int* log;
  memcpy(&log, (fnabi_error_object*)self + 1, sizeof log);
  if (flags & FNABI_DELETER_STRONG) ++*log;
  fnabi_error_object_delete(self, flags);
}

static void test_errors(void) {
  const fnabi_byte_array kind = {TEXT("ValueError")},
                         message = {TEXT("no such thing")},
                         lines = {TEXT("  File a\n")},
                         more = {TEXT("  File b\n")}, nothing = {NULL, 0};
  fnabi_error_object* error =
      fnabi_error_object_new(&kind, &message, &lines, 0, NULL);
  CHECK(error->object.type_index == FNABI_INDEX_ERROR);
  CHECK(is_text(&error->kind, "ValueError"));
  CHECK(is_text(&error->message, "no such thing"));
  CHECK(is_text(&error->backtrace, "  File a\n"));
  CHECK(error->kind.data[10] == 0 && error->message.data[13] == 0);
  CHECK(error->cause == NULL && error->context == NULL);
  error->update_backtrace(error, &more, 1);
  CHECK(is_text(&error->backtrace, "  File a\n  File b\n"));
  fnabi_byte_array own = error->backtrace;
  error->update_backtrace(error, &own, 1);
  CHECK(error->backtrace.size == 36);
  error->update_backtrace(error, &more, 0);
  CHECK(is_text(&error->backtrace, "  File b\n"));
  error->update_backtrace(error, &nothing, 0);
  CHECK(error->backtrace.size == 0);
  error->update_backtrace(error, &more, 1);
  refused_from = 0;
  error->update_backtrace(error, &more, 1);
  refused_from = SIZE_MAX;
  CHECK(is_text(&error->backtrace, "  File b\n"));

  int gone = 0, log = 0;
  int* where = &gone;
  fnabi_error_object* outer = fnabi_error_object_new(
      &kind, &nothing, &nothing, sizeof where, error_delete);
  CHECK(memcmp(outer + 1, &(int*){NULL}, sizeof where) == 0);
  memcpy(outer + 1, &where, sizeof where);
  CHECK(is_text(&outer->kind, "ValueError") && outer->message.size == 0);
  outer->cause = &error->object;
  outer->context = witness_value(&log).v_object;
  fnabi_object_release(outer);
  CHECK(gone == 1 && log == GONE);

  fnabi_byte_array huge = {"", SIZE_MAX};
  CHECK(fnabi_error_object_new(&kind, &huge, &nothing, 0, NULL) == NULL);
  CHECK(fnabi_error_object_new(&kind, &message, &nothing, SIZE_MAX, NULL) ==
        NULL);
  CHECK(fnabi_error_object_new(&kind, &message, &huge, 0, NULL) == NULL);
}

static int count_calls(void* handle, const fnabi_any* args, int32_t n,
                       fnabi_any* result) {
  int64_t* state = (int64_t*)((fnabi_function_object*)handle + 1);
  *state += n == 1 ? args[0].v_int : 1;
  fnabi_any_set(result, FNABI_INDEX_INT, *state);
  return 0;
}

static void test_functions(void) {
  fnabi_function_object* function =
      fnabi_function_new(count_calls, sizeof(int64_t), NULL);
  CHECK(function->object.type_index == FNABI_INDEX_FUNCTION);
  CHECK(function->cpp_call == NULL);
  fnabi_any arg = int_value(41), result = none_value();
  CHECK(function->call(function, &arg, 1, &result) == 0);
  CHECK(function->call(function, NULL, 0, &result) == 0 && result.v_int == 42);
  fnabi_object_release(function);
  CHECK(fnabi_function_new(count_calls, SIZE_MAX, NULL) == NULL);
}

static void test_big_ints(void) {
  static const struct {
    uint64_t words[3];
    size_t count, needed;
  } cases[] = {
      {{0}, 1, 1},
      {{5, 0, 0}, 3, 1},
      {{(uint64_t)-5, UINT64_MAX, UINT64_MAX}, 3, 1},
      {{UINT64_MAX, 0, 0}, 3, 2},
      {{(uint64_t)1 << 63, 0}, 2, 2},
      {{(uint64_t)1 << 63, UINT64_MAX}, 2, 1},
      {{0, 1}, 2, 2},
      {{0, UINT64_MAX}, 2, 2},
      {{0, (uint64_t)1 << 63, 0}, 3, 3},
      {{0, (uint64_t)1 << 63, UINT64_MAX}, 3, 2},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fnabi_any any;
    CHECK(fnabi_int_new(cases[i].words, cases[i].count, &any));
    if (cases[i].needed == 1) {
      CHECK(any.type_index == FNABI_INDEX_INT);
      CHECK(any.v_bits == cases[i].words[0]);
    } else {
      fnabi_big_int_object* big = (fnabi_big_int_object*)any.v_object;
      CHECK(any.type_index == FNABI_INDEX_BIG_INT);
      CHECK(big->words == cases[i].needed);
      CHECK(memcmp(big + 1, cases[i].words, 8 * big->words) == 0);
    }
    fnabi_any_release(&any);
  }
}

/* -------------------------------------------------------------- allocations */

static void test_allocations(void) {
  const fnabi_byte_array text = {TEXT("some text")};
  const uint64_t words[] = {0, 1};
  const int64_t dims[] = {1};
  fnabi_any any;
  refused_from = allocations = 0;
  CHECK(fnabi_object_new(24, 64, NULL) == NULL);
  CHECK(fnabi_shape_new(dims, 1) == NULL);
  CHECK(fnabi_function_new(count_calls, 8, NULL) == NULL);
  CHECK(!fnabi_string_new(TEXT("long enough"), &any));
  CHECK(any.type_index == FNABI_INDEX_NONE);
  CHECK(!fnabi_int_new(words, 2, &any));
  CHECK(any.type_index == FNABI_INDEX_NONE);
  CHECK(fnabi_error_object_new(&text, &text, &text, 0, NULL) == NULL);
  CHECK(allocations == 6);
  CHECK(fnabi_string_new(TEXT("short"), &any) && fnabi_int_new(words, 1, &any));
  CHECK(allocations == 6);
  allocations = 0;
  refused_from = 1;
  CHECK(fnabi_error_object_new(&text, &text, &text, 0, NULL) == NULL);
  refused_from = SIZE_MAX;
}

int main(void) {
  test_header();
  test_counts();
  test_no_deleter();
  test_threads();
  test_depth();
  test_inside_others();
  test_texts();
  test_shapes();
  test_errors();
  test_functions();
  test_big_ints();
  test_allocations();
  return 0;
}
