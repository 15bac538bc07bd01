/* What the runtime keeps for each thread: the current stream of each device, and
 * the allocator of TVMFFIEnvTensorAlloc. Both are set for the time of a call,
 * and set back afterwards, however it ends. They are in libtvm_ffi where it is
 * loaded, and here where it is not. */
#include "lane/runtime/streams.h"

#include <stdio.h>

#include "lane/runtime/error_slot.h"
#include "lane/runtime/loader.h"
#include "lane/runtime/threads.h"

typedef struct environment_functions {
  int (*set_stream)(int32_t type, int32_t id, void* stream, void** old);
  void* (*get_stream)(int32_t type, int32_t id);
  int (*set_allocator)(fnabi_dl_allocate* allocate, int global,
                       fnabi_dl_allocate** old);
  fnabi_dl_allocate* (*get_allocator)(void);
  int (*allocate)(fnabi_dl_tensor* like, void** out);
} environment_functions;

/* The allocator where no other is set: memory of the CPU. May run on any thread
 * without the GIL. */
static int allocate(fnabi_dl_tensor* like, fnabi_dl_versioned** out,
                    void* context,
                    void (*fail)(void* context, const char* kind,
                                 const char* message)) {
  const char* problem = NULL;
  fnabi_held_tensor* held = fnabi_tensor_allocate(like, &problem);
  *out = held != NULL ? fnabi_tensor_to_versioned(&held->tensor, 0) : NULL;
  if (held != NULL) fnabi_object_release(held);
  if (*out != NULL) return 0;
  if (problem == NULL) {
    fail(context, "MemoryError", "out of memory");
  } else {
    char text[120];
    snprintf(text, sizeof text, "a tensor cannot be allocated: %s", problem);
    fail(context, "RuntimeError", text);
  }
  return -1;
}

/* The streams of a thread that are not NULL; freed when the thread ends. */
typedef struct stream_table {
  size_t count, capacity;
  struct {
    fnabi_dl_device device;
    void* stream;
  } of[];
} stream_table;
static FNABI_FAST_THREAD stream_table* streams;

static size_t find_stream(int32_t type, int32_t id) {
  size_t i = 0, count = streams != NULL ? streams->count : 0;
  while (i < count &&
         (streams->of[i].device.type != type || streams->of[i].device.id != id))
    i++;
  return i;
}

static bool grow_streams(void) {
  size_t count = streams != NULL ? streams->count : 0, capacity = count * 2 + 4;
  if (streams != NULL && count < streams->capacity) return true;
  stream_table* more =
      realloc(streams, sizeof *more + capacity * sizeof *more->of);
  if (more == NULL) return false;
  more->count = count;
  more->capacity = capacity;
  streams = more;
  lane_thread_owns(more);
  return true;
}

static int own_set_stream(int32_t type, int32_t id, void* stream, void** old) {
  size_t i = find_stream(type, id);
  bool found = streams != NULL && i < streams->count;
  if (old != NULL) *old = found ? streams->of[i].stream : NULL;
  if (stream == NULL) {
    if (found) streams->of[i] = streams->of[--streams->count];
    return 0;
  }
  if (!found) {
    if (!grow_streams()) return -1;
    streams->of[i].device = (fnabi_dl_device){type, id};
    streams->count++;
  }
  streams->of[i].stream = stream;
  return 0;
}

static void* own_get_stream(int32_t type, int32_t id) {
  size_t i = find_stream(type, id);
  return streams != NULL && i < streams->count ? streams->of[i].stream : NULL;
}

static FNABI_FAST_THREAD fnabi_dl_allocate* own_allocator;
static fnabi_dl_allocate* own_global_allocator = allocate;

static int own_set_allocator(fnabi_dl_allocate* to, int global,
                             fnabi_dl_allocate** old) {
  if (old != NULL) *old = own_allocator;
  if (global)
    fnabi_atomic_store(&own_global_allocator, to, RELEASE);
  else
    own_allocator = to;
  return 0;
}

static fnabi_dl_allocate* own_get_allocator(void) {
  return own_allocator != NULL
             ? own_allocator
             : fnabi_atomic_load(&own_global_allocator, ACQUIRE);
}

static void put_text(const char* kind, const char* message) {
  fnabi_error_object* error = lane_error_of_text(kind, &message, 1);
  if (error != NULL) lane_error_put(error);
}

static void raise_text(void* context, const char* kind, const char* message) {
  *(bool*)context = true;
  put_text(kind, message);
}

static int own_allocate(fnabi_dl_tensor* like, void** out) {
  fnabi_dl_allocate* allocator = own_get_allocator();
  fnabi_dl_versioned* made = NULL;
  bool raised = false;
  const char* problem = "the allocator returned no tensor";
  *out = NULL;
  if (allocator != NULL && allocator(like, &made, &raised, raise_text) == 0 &&
      made != NULL)
    *out = fnabi_tensor_of_versioned(made, &problem);
  if (*out != NULL) return 0;
  if (!raised)
    raise_text(&raised, problem != NULL ? "RuntimeError" : "MemoryError",
               problem != NULL ? problem : "out of memory");
  return -1;
}

static const environment_functions own = {own_set_stream, own_get_stream,
                                          own_set_allocator, own_get_allocator,
                                          own_allocate};
static environment_functions found;
static const environment_functions* runtime = &own;

/* Moves the streams of this thread that were set before libtvm_ffi was loaded.
 */
static const environment_functions* now(void) {
  const environment_functions* in = fnabi_atomic_load(&runtime, ACQUIRE);
  if (in != &own && streams != NULL)
    while (streams->count != 0) {
      size_t i = --streams->count;
      in->set_stream(streams->of[i].device.type, streams->of[i].device.id,
                     streams->of[i].stream, NULL);
    }
  return in;
}

void lane_streams_find(void* library) {
  static const char* const names[] = {
      "TVMFFIEnvSetStream", "TVMFFIEnvGetStream",
      "TVMFFIEnvSetDLPackManagedTensorAllocator",
      "TVMFFIEnvGetDLPackManagedTensorAllocator", "TVMFFIEnvTensorAlloc"};
  enum { COUNT = sizeof names / sizeof *names };
  void* symbols[COUNT];
  _Static_assert(sizeof symbols == sizeof found, "one pointer for each name");
  for (size_t i = 0; i < COUNT; i++)
    if ((symbols[i] = lane_loader_symbol(library, names[i])) == NULL) return;
  memcpy(&found, symbols, sizeof found);
  if (found.get_allocator() == NULL) found.set_allocator(allocate, 1, NULL);
  fnabi_atomic_store(&runtime, &found, RELEASE);
  now();
}

int lane_stream_set(int32_t type, int32_t id, void* stream, void** old) {
  if (type < 0 || id < 0) {
    put_text("ValueError", "the type or the index of the device is negative");
    return -1;
  }
  return now()->set_stream(type, id, stream, old);
}

void* lane_stream_get(int32_t type, int32_t id) {
  return type < 0 || id < 0 ? NULL : now()->get_stream(type, id);
}

int lane_allocator_set(fnabi_dl_allocate* to, int global,
                       fnabi_dl_allocate** old) {
  return now()->set_allocator(to, global, old);
}

fnabi_dl_allocate* lane_allocator_get(void) { return now()->get_allocator(); }

int lane_tensor_allocate(fnabi_dl_tensor* like, void** out) {
  return now()->allocate(like, out);
}
