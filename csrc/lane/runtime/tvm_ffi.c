/* Finds libtvm_ffi in the process, whoever has loaded it, and its functions. */
#include "lane/runtime/tvm_ffi.h"

#include "lane/runtime/error_slot.h"
#include "lane/runtime/loader.h"
#include "lane/runtime/streams.h"
#include "lane/runtime/type_table.h"

/* A library calls TVMFFIEnvCheckSignals to find out whether a signal waits for
 * Python. The runtime asks Python once it has these three functions. */
static void register_signals(void* library) {
  static const struct {
    const char* name;
    void (*function)(void);
  } functions[] = {
      {"PyErr_CheckSignals", (void (*)(void))PyErr_CheckSignals},
      {"PyGILState_Ensure", (void (*)(void))PyGILState_Ensure},
      {"PyGILState_Release", (void (*)(void))PyGILState_Release},
  };
  void* found = lane_loader_symbol(library, "TVMFFIEnvRegisterCAPI");
  if (found == NULL) return;
  int (*add)(const char* name, void* function);
  memcpy(&add, &found, sizeof add);
  for (size_t i = 0; i < 3; i++) {
    void* address;
    memcpy(&address, &functions[i].function, sizeof address);
    add(functions[i].name, address);
  }
}

/* Several threads may search at once, without a lock, which could wait for the
 * lock of the dynamic linker and the other way round: they all find the same. */
void lane_error_find(void) {
  static unsigned long long known;
  if (lane_error_slot_is_known()) return;
  unsigned long long loads = lane_loader_count();
  if (loads != 0 && loads == fnabi_atomic_load(&known, ACQUIRE)) return;
  void* library = lane_loader_find(LANE_LIBRARY("tvm_ffi")); /* or everyone */
  void *put = lane_loader_symbol(library, "TVMFFIErrorSetRaised"),
       *move = lane_loader_symbol(library, "TVMFFIErrorMoveFromRaised");
  if (put != NULL && move != NULL) {
    register_signals(library);
    lane_streams_find(library);
    lane_error_slot_use(put, move);
  }
  fnabi_atomic_store(&known, loads, RELEASE);
}

void lane_error_put_text(const char* kind, const char* const* parts,
                         int32_t count) {
  fnabi_error_object* error = lane_error_of_text(kind, parts, count);
  lane_error_find();
  if (error != NULL) lane_error_put(error);
}

const lane_runtime* lane_runtime_find(void) {
  static lane_runtime found;
  static bool known; /* the GIL guards both */
  if (known) return &found;
  void* library = lane_loader_find(LANE_LIBRARY("tvm_ffi"));
  if (library == NULL) return NULL;
  void* symbols[] = {
      lane_loader_symbol(library, "TVMFFIFunctionGetGlobal"),
      lane_loader_symbol(library, "TVMFFIFunctionSetGlobal"),
      lane_loader_symbol(library, "TVMFFITypeKeyToIndex"),
      lane_loader_symbol(library, "TVMFFIGetTypeInfo"),
      lane_loader_symbol(library, "TVMFFIGetTypeAttrColumn"),
  };
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
    if (symbols[i] == NULL) return NULL;
  memcpy(&found.get_function, &symbols[0], sizeof symbols[0]);
  memcpy(&found.set_function, &symbols[1], sizeof symbols[0]);
  memcpy(&found.type_of_key, &symbols[2], sizeof symbols[0]);
  memcpy(&found.type_info, &symbols[3], sizeof symbols[0]);
  memcpy(&found.type_column, &symbols[4], sizeof symbols[0]);
  void* described =
      lane_loader_symbol(library, "TVMFFIFunctionSetGlobalFromMethodInfo");
  memcpy(&found.set_described, &described, sizeof described);
  known = true;
  lane_table_met_runtime();
  lane_error_find();
  return &found;
}
