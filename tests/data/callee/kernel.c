/* A kernel that imports what stands in for libtvm_ffi and libtvm_runtime. It is
 * not linked with them, and built without their headers. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
  int32_t tag;
  uint32_t size;
  union {
    int64_t number;
    void* pointer;
    double real;
    char small[8];
  };
} value;
typedef struct {
  const char* data;
  size_t size;
} text;
typedef struct {
  void* data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t offset;
} tensor;
typedef int function(void*, const value*, int32_t, value*);
typedef struct {
  uint64_t counts;
  int32_t tag, padding;
  void (*deleter)(void*, int);
  text kind, message, backtrace;
} error;
typedef struct {
  text name, doc, metadata;
  int64_t flags;
  value method;
} method;
typedef struct {
  void* barrier;
  int32_t count;
} tasks;

#define EXPORT(name)                                           \
  __attribute__((visibility("default"))) int __tvm_ffi_##name( \
      void* handle, const value* args, int32_t count, value* result)

#define VARIABLE __attribute__((visibility("default"), weak))

void TVMFFIErrorSetRaised(void*);
void TVMFFIErrorSetRaisedFromCStr(const char*, const char*);
void TVMFFIErrorSetRaisedFromCStrParts(const char*, const char**, int32_t);
void TVMFFIErrorMoveFromRaised(void**);
int TVMFFIErrorCreate(const text*, const text*, const text*, void**);
int TVMFFIErrorCreateWithCauseAndExtraContext(const text*, const text*,
                                              const text*, void*, void*,
                                              void**);
int TVMFFIObjectIncRef(void*);
int TVMFFIObjectDecRef(void*);
int TVMFFIAnyViewToOwnedAny(const value*, value*);
int TVMFFIStringFromByteArray(const text*, value*);
int TVMFFIBytesFromByteArray(const text*, value*);
int TVMFFIFunctionCall(void*, const value*, int32_t, value*);
int TVMFFIFunctionCreate(void*, function*, void (*)(void*), void**);
int TVMFFIFunctionGetGlobal(const text*, void**);
int TVMFFIFunctionSetGlobal(const text*, void*, int);
int TVMFFIFunctionSetGlobalFromMethodInfo(const method*, int);
int TVMFFIEnvModLookupFromImports(void*, const char*, void**);
int TVMFFIHandleInitOnce(void**, int (*)(void**));
int TVMFFIHandleDeinitOnce(void**, int (*)(void*));
int TVMFFITensorFromDLPack(void*, int32_t, int32_t, void**);
int TVMFFITensorFromDLPackVersioned(void*, int32_t, int32_t, void**);
int TVMFFITensorToDLPack(void*, void**);
int TVMFFITensorToDLPackVersioned(void*, void**);
int TVMFFIEnvSetStream(int32_t, int32_t, void*, void**);
void* TVMFFIEnvGetStream(int32_t, int32_t);
int TVMFFIEnvSetDLPackManagedTensorAllocator(void*, int, void**);
void* TVMFFIEnvGetDLPackManagedTensorAllocator(void);
int TVMFFIEnvTensorAlloc(tensor*, void**);
int TVMFFIEnvCheckSignals(void);
void* TVMBackendAllocWorkspace(int, int, uint64_t, int, int);
int TVMBackendFreeWorkspace(int, int, void*);
int TVMBackendParallelLaunch(int (*)(int, tasks*, void*), void*, int);
int TVMBackendParallelBarrier(int, tasks*);

static int give(value* result, int32_t tag, int64_t number) {
  result->tag = tag;
  result->number = number;
  return 0;
}

static int give_object(value* result, void* object) {
  if (object == NULL) return 0;
  return give(result, ((error*)object)->tag, (int64_t)(intptr_t)object);
}

/* The text of a small string or of an object. */
static text read(const value* from) {
  if (from->tag == 11) return (text){from->small, from->size};
  return ((error*)from->pointer)->kind;
}

/* ---- errors */

EXPORT(fail_parts) {
  const char* parts[] = {"first, ", NULL, "last"};
  TVMFFIErrorSetRaisedFromCStrParts("IndexError", parts, 3);
  return -1;
}

EXPORT(fail_text) {
  TVMFFIErrorSetRaisedFromCStr("KeyError", "missing");
  return -1;
}

EXPORT(fail_odd) { /* what the real library does not survive */
  if (args[0].number == 0) TVMFFIErrorSetRaisedFromCStr(NULL, NULL);
  if (args[0].number == 1)
    TVMFFIErrorSetRaisedFromCStrParts("ValueError", NULL, 9);
  if (args[0].number == 2) {
    const char* parts[] = {"x"};
    TVMFFIErrorSetRaisedFromCStrParts("ValueError", parts, -1);
  }
  if (args[0].number == 3) return TVMFFIFunctionCall(NULL, NULL, 0, result);
  if (args[0].number == 4) return TVMFFIEnvSetStream(-1, 0, result, NULL);
  if (args[0].number == 5) {
    text none = {NULL, 5};
    return TVMFFIStringFromByteArray(&none, result);
  }
  if (args[0].number == 6) return TVMFFITensorToDLPack(NULL, &result->pointer);
  if (args[0].number == 7) {
    text name = {"nothing", 7};
    return TVMFFIFunctionSetGlobal(&name, NULL, 0);
  }
  if (args[0].number == 8)
    return TVMFFIFunctionSetGlobalFromMethodInfo(NULL, 0);
  return -1;
}

EXPORT(fail_made) {
  text kind = {"TypeError", 9}, message = {"made", 4}, none = {"", 0};
  void *made = NULL, *cause = NULL;
  if (TVMFFIErrorCreate(&kind, &none, &none, &cause) != 0) return -1;
  if (TVMFFIErrorCreateWithCauseAndExtraContext(&kind, &message, &none, cause,
                                                NULL, &made) != 0)
    return -1;
  TVMFFIObjectDecRef(cause);
  TVMFFIErrorSetRaised(made);
  TVMFFIObjectDecRef(made);
  return -1;
}

/* Calls a function, and gives the message of its error. */
EXPORT(caught) {
  value none = {0};
  void* raised = NULL;
  if (TVMFFIFunctionCall(args[0].pointer, NULL, 0, &none) == 0) return 0;
  TVMFFIErrorMoveFromRaised(&raised);
  if (raised == NULL) return give(result, 1, -1);
  int status = TVMFFIStringFromByteArray(&((error*)raised)->message, result);
  TVMFFIObjectDecRef(raised);
  return status;
}

EXPORT(passed_on) {
  int status = TVMFFIFunctionCall(args[0].pointer, args + 1, count - 1, result);
  if (status == 0) return 0;
  void* raised = NULL;
  TVMFFIErrorMoveFromRaised(&raised);
  TVMFFIErrorSetRaised(raised);
  TVMFFIObjectDecRef(raised);
  return status;
}

/* ---- values, functions */

EXPORT(same) { return TVMFFIAnyViewToOwnedAny(&args[0], result); }

EXPORT(as_bytes) {
  text of = read(&args[0]);
  return TVMFFIBytesFromByteArray(&of, result);
}

static int64_t deleted;

static int add(void* self, const value* args, int32_t count, value* result) {
  return give(result, 1, args[0].number + *(int64_t*)self);
}

static void drop(void* self) {
  free(self);
  deleted++;
}

EXPORT(adder) {
  int64_t* state = malloc(sizeof *state);
  void* made = NULL;
  *state = args[0].number;
  if (TVMFFIFunctionCreate(state, add, drop, &made) != 0) return -1;
  TVMFFIObjectIncRef(made);
  TVMFFIObjectDecRef(made);
  return give_object(result, made);
}

EXPORT(deleted) { return give(result, 1, deleted); }

EXPORT(global) {
  text name = read(&args[0]);
  void* found = NULL;
  if (TVMFFIFunctionGetGlobal(&name, &found) != 0) return -1;
  return give_object(result, found);
}

/* Registers a function that adds; with a third argument, described by it. */
EXPORT(register) {
  text name = read(&args[0]), none = {"", 0};
  int64_t* state = malloc(sizeof *state);
  void* made = NULL;
  *state = args[1].number;
  if (TVMFFIFunctionCreate(state, add, drop, &made) != 0) return -1;
  method info = {name, none, none, 0, {0}};
  int status;
  if (count == 2) {
    status = TVMFFIFunctionSetGlobal(&name, made, 0);
  } else {
    info.metadata = read(&args[2]);
    give_object(&info.method, made);
    status = TVMFFIFunctionSetGlobalFromMethodInfo(&info, 1);
  }
  TVMFFIObjectDecRef(made);
  return status;
}

/* Set by the loader of libtvm_ffi, to the module object of this library. */
VARIABLE void* __tvm_ffi__library_ctx;
static void* hook;

static int find_hook(void** out) {
  return TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, "stand_in.hook",
                                       out);
}

EXPORT(call_hook) {
  if (TVMFFIHandleInitOnce(&hook, find_hook) != 0) return -1;
  return TVMFFIFunctionCall(hook, args, count, result);
}

static int inits;
static void* once;

static int init(void** out) {
  struct timespec time = {0, 20 * 1000 * 1000};
  nanosleep(&time, NULL);
  inits++;
  *out = &inits;
  return 0;
}

static int deinit(void* handle) { return handle == &inits ? 0 : -1; }

EXPORT(init_once) {
  if (TVMFFIHandleInitOnce(&once, init) != 0) return -1;
  return give(result, 1, inits);
}

EXPORT(deinit_once) { return TVMFFIHandleDeinitOnce(&once, deinit); }

/* ---- tensors, environment */

EXPORT(allocated) {
  int64_t shape[1] = {args[0].number};
  tensor like = {NULL, 1, 0, 1, 2, 32, 1, shape, NULL, 0};
  void* made = NULL;
  if (count > 1) like.device_type = 2;
  if (TVMFFIEnvTensorAlloc(&like, &made) != 0) return -1;
  float* data = ((tensor*)((char*)made + 24))->data;
  for (int64_t i = 0; i < args[0].number; i++) data[i] = (float)i;
  return give_object(result, made);
}

EXPORT(exchanged) { /* by both structs of DLPack */
  void *one = NULL, *first = NULL, *two = NULL, *second = NULL;
  if (TVMFFITensorToDLPack(args[0].pointer, &one) != 0 ||
      TVMFFITensorFromDLPack(one, 1, 0, &first) != 0)
    return -1;
  int status = TVMFFITensorToDLPackVersioned(first, &two);
  TVMFFIObjectDecRef(first);
  if (status != 0 ||
      TVMFFITensorFromDLPackVersioned(two, 1, (int32_t)args[1].number, &second))
    return -1;
  return give_object(result, second);
}

EXPORT(stream) {
  void* found =
      TVMFFIEnvGetStream((int32_t)args[0].number, (int32_t)args[1].number);
  return give(result, 1, (int64_t)(intptr_t)found);
}

EXPORT(set_stream) {
  void* old = NULL;
  if (TVMFFIEnvSetStream((int32_t)args[0].number, (int32_t)args[1].number,
                         (void*)(intptr_t)args[2].number, &old) != 0)
    return -1;
  return give(result, 1, (int64_t)(intptr_t)old);
}

EXPORT(allocator) {
  void* old = NULL;
  void* found = TVMFFIEnvGetDLPackManagedTensorAllocator();
  TVMFFIEnvSetDLPackManagedTensorAllocator(found, 0, &old);
  TVMFFIEnvSetDLPackManagedTensorAllocator(old, 0, NULL);
  return give(result, 1, (int64_t)(intptr_t)found);
}

EXPORT(wait) {
  struct timespec time = {0, 10 * 1000 * 1000};
  for (int i = 0; i < 1000; i++) {
    nanosleep(&time, NULL);
    if (TVMFFIEnvCheckSignals() != 0) return -1;
  }
  return 0;
}

/* Where the loader has found a function. */
EXPORT(address) {
  return give(result, 1, (int64_t)(intptr_t)(void*)TVMFFIErrorSetRaised);
}

/* ---- libtvm_runtime */

typedef struct {
  int64_t *slots, failing;
  function* nested;
} work;

static int task(int id, tasks* of, void* data) {
  work* self = data;
  self->slots[id] = id + 1;
  TVMBackendParallelBarrier(id, of);
  int64_t sum = 0;
  for (int i = 0; i < of->count; i++) sum += self->slots[i];
  TVMBackendParallelBarrier(id, of);
  self->slots[id] = sum;
  if (id != self->failing) return 0;
  TVMFFIErrorSetRaisedFromCStr("ValueError", "a task has failed");
  return -1;
}

EXPORT(parallel) { /* the number of tasks, the one that fails, or -1 */
  work data = {TVMBackendAllocWorkspace(1, 0, 1024 * 8, 0, 64), args[1].number,
               NULL};
  if (data.slots == NULL) return -1;
  memset(data.slots, 0, 1024 * 8);
  int status = TVMBackendParallelLaunch(task, &data, (int)args[0].number);
  int64_t sum = data.slots[0];
  if (TVMBackendFreeWorkspace(1, 0, data.slots) != 0 || status != 0) return -1;
  return give(result, 1, sum);
}

EXPORT(workspace) {
  void* made = TVMBackendAllocWorkspace((int)args[0].number, 0,
                                        (uint64_t)args[1].number, 0, 32);
  if (made == NULL) return -1;
  int64_t offset = (int64_t)((uintptr_t)made % 64);
  TVMBackendFreeWorkspace((int)args[0].number, 0, made);
  return give(result, 1, offset);
}

VARIABLE int (*__TVMFFIFunctionCall)(void*, const value*, int32_t, value*);
VARIABLE int (*__TVMFFIHandleInitOnce)(void**, int (*)(void**));
VARIABLE void (*__TVMFFIErrorSetRaisedFromCStr)(const char*, const char*);
/* These cannot be set. */
VARIABLE int __TVMFFIObjectDecRef = 7;
VARIABLE int __TVMBackendFreeWorkspace(void) { return 7; }
VARIABLE void* const __TVMBackendParallelLaunch;
VARIABLE _Thread_local void* __TVMBackendParallelBarrier;

EXPORT(by_variable) {
  if (count > 0)
    return __TVMFFIFunctionCall(args[0].pointer, args + 1, count - 1, result);
  __TVMFFIErrorSetRaisedFromCStr("ValueError", "by a variable");
  return -1;
}

EXPORT(left_alone) {
  return give(result, 2,
              __TVMFFIObjectDecRef == 7 && __TVMBackendFreeWorkspace() == 7 &&
                  *(void* const volatile*)&__TVMBackendParallelLaunch == NULL &&
                  __TVMBackendParallelBarrier == NULL);
}
