/* Streams, allocators, signals, and symbols of the environment. */
#include "lane/runtime/shutdown.h"
#include "lane/runtime/streams.h"
#include "lane/runtime/threads.h"
#include "lane/runtime/tvm_ffi.h"
#include "lane/stand_in/stand_in.h"

int stand_in_stream_set(int32_t type, int32_t id, void* stream, void** old) {
  lane_error_find();
  return lane_stream_set(type, id, stream, old);
}

void* stand_in_stream_get(int32_t type, int32_t id) {
  lane_error_find();
  return lane_stream_get(type, id);
}

int stand_in_allocator_set(fnabi_dl_allocate* to, int global,
                           fnabi_dl_allocate** old) {
  lane_error_find();
  return lane_allocator_set(to, global, old);
}

fnabi_dl_allocate* stand_in_allocator_get(void) {
  lane_error_find();
  return lane_allocator_get();
}

int stand_in_tensor_allocate(fnabi_dl_tensor* like, void** out) {
  lane_error_find();
  return lane_tensor_allocate(like, out);
}

/* Returns -1 with a Python exception set, as libtvm_ffi does. */
int stand_in_check_signals(void) {
  if (lane_finished) return 0;
  PyGILState_STATE gil = PyGILState_Ensure();
  int status = PyErr_CheckSignals();
  PyGILState_Release(gil);
  return status;
}

/* Signals are checked through Python itself, so the functions are not needed;
 * they are those that libtvm_ffi accepts. */
int stand_in_register_python(const char* name, void* function) {
  static const char* const known[] = {"PyErr_CheckSignals", "PyGILState_Ensure",
                                      "PyGILState_Release"};
  (void)function;
  for (size_t i = 0; name != NULL && i < sizeof known / sizeof *known; i++)
    if (strcmp(known[i], name) == 0) return 0;
  const char* const parts[] = {
      "no function of Python is needed under the name ", name};
  lane_error_put_text("ValueError", parts, 2);
  return -1;
}

typedef struct symbol {
  struct symbol* next;
  void* value;
  bool of_context;
  char name[];
} symbol;

static symbol* all_symbols; /* newest first; they stay */
static lane_mutex adding = LANE_MUTEX;

static int add_symbol(const char* name, void* value, bool of_context) {
  if (name == NULL) return stand_in_fail("ValueError", "a symbol without name");
  size_t size = strlen(name) + 1;
  symbol* made = malloc(sizeof *made + size);
  if (made == NULL) return stand_in_no_memory();
  made->value = value;
  made->of_context = of_context;
  memcpy(made->name, name, size);
  lane_mutex_lock(&adding);
  made->next = all_symbols;
  fnabi_atomic_store((void**)&all_symbols, made, RELEASE);
  lane_mutex_unlock(&adding);
  return 0;
}

int stand_in_context_symbol(const char* name, void* value) {
  return add_symbol(name, value, true);
}

int stand_in_system_symbol(const char* name, void* value) {
  return add_symbol(name, value, false);
}

void stand_in_each_symbol(bool of_context,
                          void (*each)(void* data, const char* name,
                                       void* value),
                          void* data) {
  const symbol* at = fnabi_atomic_load((void**)&all_symbols, ACQUIRE);
  for (; at != NULL; at = at->next)
    if (at->of_context == of_context) each(data, at->name, at->value);
}
