/* Functions that keep a callback, call it on a thread of their own or after the
 * end of Python, and that answer what they should not. With LINKED it is
 * linked with libtvm_ffi, where its errors go; without it needs nothing. */
#include <pthread.h>
#include <unistd.h>

#include "fnlab.h"

#ifndef LINKED
#pragma weak TVMFFIErrorSetRaisedFromCStr
#pragma weak TVMFFIErrorSetRaised
#pragma weak TVMFFIErrorMoveFromRaised
#pragma weak TVMFFIErrorCreate
#endif

typedef struct job {
  TVMFFIObject* function;
  const TVMFFIAny* args;
  int32_t n;
  TVMFFIAny result;
  int carry; /* the error over to the caller's thread */
  void* error;
  int status;
} job;

static int call(TVMFFIObject* function, const TVMFFIAny* args, int32_t n,
                TVMFFIAny* result) {
  TVMFFIFunctionCell* cell = (TVMFFIFunctionCell*)(function + 1);
  put_none(result);
  return cell->safe_call(function, args, n, result);
}

static void* run(void* arg) {
  job* j = arg;
  j->status = call(j->function, j->args, j->n, &j->result);
  if (j->status != 0 && j->carry) TVMFFIErrorMoveFromRaised(&j->error);
  return NULL;
}

static int on_thread(job* j, TVMFFIAny* result) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, j);
  pthread_join(thread, NULL);
  if (j->error != NULL) {
    TVMFFIErrorSetRaised(j->error);
    obj_decref(j->error);
  }
  if (j->status == 0) *result = j->result;
  return j->status;
}

/* (f, ...): f(...) on another thread; its error stays there. */
FN(apply_on_thread) {
  job j = {a->v_obj, a + 1, n - 1};
  return on_thread(&j, r);
}

/* The same; its error comes along. */
FN(apply_carrying) {
  job j = {a->v_obj, a + 1, n - 1, .carry = 1};
  return on_thread(&j, r);
}

static TVMFFIObject* kept;

FN(keep) { /* (f) */
  obj_incref(a->v_obj);
  kept = a->v_obj;
  return put_none(r);
}

FN(call_kept) { return call(kept, a, n, r); }

FN(call_kept_on_thread) {
  job j = {kept, a, n};
  return on_thread(&j, r);
}

FN(drop_kept) {
  obj_decref(kept);
  kept = NULL;
  return put_none(r);
}

static void* drop(void* unused) {
  obj_decref(kept);
  kept = NULL;
  return unused;
}

FN(drop_kept_on_thread) {
  pthread_t thread;
  pthread_create(&thread, NULL, drop, NULL);
  pthread_join(thread, NULL);
  return put_none(r);
}

static void at_exit(void) {
  TVMFFIAny result;
  int status = call(kept, NULL, 0, &result);
  static const char said[2][16] = {"called\n", "refused\n"};
  const char* text = said[status != 0];
  if (write(1, text, strlen(text)) < 0) abort();
  obj_decref(kept);
}

FN(call_kept_at_exit) {
  atexit(at_exit);
  return put_none(r);
}

/* (f): calls f, whatever becomes of it. */
FN(swallow) {
  TVMFFIAny result;
  if (call(a->v_obj, NULL, 0, &result) == 0 &&
      result.type_index >= kTVMFFIStaticObjectBegin)
    obj_decref(result.v_obj);
  return put_none(r);
}

/* (f): fails, and calls f before it returns. */
FN(fail_and_call) {
  TVMFFIAny result;
  TVMFFIErrorSetRaisedFromCStr("ValueError", "the first reason");
  if (call(a->v_obj, NULL, 0, &result) == 0 &&
      result.type_index >= kTVMFFIStaticObjectBegin)
    obj_decref(result.v_obj);
  return -1;
}

/* (message): fails with an error that has no backtrace. */
FN(fail) {
  TVMFFIByteArray kind = {"ValueError", 10}, message, backtrace = {"", 0};
  void* error;
  if (get_bytes_like(a, &message) != 0 ||
      TVMFFIErrorCreate(&kind, &message, &backtrace, &error) != 0)
    return -1;
  TVMFFIErrorSetRaised(error);
  obj_decref(error);
  return -1;
}

/* (tag, payload): a result of these. */
FN(answer) {
  r->type_index = (int32_t)a[0].v_int64;
  r->zero_padding = n > 2 ? (uint32_t)a[2].v_int64 : 0xdeadbeef;
  r->v_int64 = a[1].v_int64;
  return 0;
}

/* (text): fails with the text as its result. */
FN(fail_with_result) {
  obj_incref(a->v_obj);
  *r = *a;
  return -1;
}

/* (type index): an error that is an object of this type. */
FN(raise_object) {
  void* object = lab_alloc(64, (int32_t)a->v_int64, lab_plain_deleter);
  TVMFFIErrorSetRaised(object);
  obj_decref(object);
  return -1;
}

FN(empty_function) { /* without code */
  return put_obj(
      r, lab_alloc(sizeof(TVMFFIObject) + sizeof(TVMFFIFunctionCell),
                   kTVMFFIFunction, lab_plain_deleter));
}

FN(live) { return put_int(r, atomic_load(&g_live)); }
