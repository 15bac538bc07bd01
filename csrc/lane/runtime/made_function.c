/* Functions that libraries make of code and a state. */
#include "lane/runtime/made_function.h"

#include "lane/runtime/tvm_ffi.h"

typedef struct made_function {
  fnabi_function_object function;
  void* self;
  fnabi_call call;
  void (*deleter)(void* self); /* or NULL */
} made_function;

static int run_made(void* object, const fnabi_any* args, int32_t n,
                    fnabi_any* result) {
  made_function* made = object;
  return made->call(made->self, args, n, result);
}

static void delete_made(void* object, int flags) {
  made_function* made = object;
  if ((flags & FNABI_DELETER_STRONG) && made->deleter != NULL)
    made->deleter(made->self);
  if (flags & FNABI_DELETER_WEAK) fnabi_object_free(object);
}

int lane_made_function(void* self, fnabi_call call, void (*deleter)(void* self),
                       void** out) {
  made_function* made = (made_function*)fnabi_function_new(
      run_made, sizeof *made - sizeof made->function, delete_made);
  if (made == NULL) {
    static const char* const text = "out of memory";
    lane_error_put_text("MemoryError", &text, 1);
    return -1;
  }
  made->self = self;
  made->call = call;
  made->deleter = deleter;
  *out = made;
  return 0;
}

fnabi_call lane_made_call(fnabi_call call, void* handle) {
  return call == run_made ? ((made_function*)handle)->call : NULL;
}
