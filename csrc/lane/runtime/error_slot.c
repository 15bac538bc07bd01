/* Where errors wait on a thread between the function that fails and its caller:
 * in a slot of libtvm_ffi, of the library, or one of ours. */
#include "lane/runtime/error_slot.h"

#include "lane/runtime/text.h"

/* ------------------------------------------------------- slots of libraries */

/* A library without the runtime stores its errors itself; see fnabi/callee.h.
 */
typedef struct slot_error {
  fnabi_byte_array kind, message;
} slot_error;
typedef int32_t (*error_slot)(slot_error* error, size_t size);

/* Calls read the table without the GIL: it is replaced, never freed. */
typedef struct slot_table {
  struct slot_table* older; /* replaced, but a call may still be reading it */
  size_t count;
  error_slot slots[];
} slot_table;
static slot_table* table;
static bool libraries_have_slots;

bool lane_error_slot_add(void* address) {
  error_slot slot;
  memcpy(&slot, &address, sizeof slot);
  size_t count = table ? table->count : 0;
  for (size_t i = 0; i < count; i++)
    if (table->slots[i] == slot) return true;
  slot_table* more = PyMem_Malloc(sizeof *more + (count + 1) * sizeof slot);
  if (more == NULL) return false;
  if (count != 0) memcpy(more->slots, table->slots, count * sizeof slot);
  more->slots[count] = slot;
  more->older = table;
  more->count = count + 1;
  fnabi_atomic_store(&table, more, RELEASE);
  libraries_have_slots = true;
  return true;
}

/* Takes the error that a library stores for this thread, and drops those of all
 * other libraries. The texts are valid until that library fails again. */
static bool library_error(fnabi_byte_array* kind, fnabi_byte_array* message) {
  bool any = false;
  slot_table* now = fnabi_atomic_load(&table, ACQUIRE);
  for (size_t i = 0; now != NULL && i < now->count; i++) {
    slot_error found = {{"", 0}, {"", 0}};
    if (now->slots[i](&found, sizeof found) != 1 || any) continue;
    *kind = found.kind;
    *message = found.message;
    any = true;
  }
  return any;
}

/* -------------------------------------------------------- where errors wait */

/* A function that fails leaves its error in a slot of its thread: that of
 * libtvm_ffi when it is loaded, or its own library's. Errors of callbacks go
 * into the first, or when it is not loaded into one of ours. */
static struct {
  void (*set)(void* error); /* gets its own reference */
  void (*take)(
      void** error); /* moves its reference to the caller; NULL if empty */
} slot;

static FNABI_THREAD fnabi_error_object* own;
static int own_count; /* of all threads; if 0, `own` is not read */

/* Whether an error of ours may wait in the slot of libtvm_ffi, which nobody has
 * emptied through us since. */
static FNABI_FAST_THREAD bool put_there;

FNABI_FAST_THREAD int lane_error_callbacks;

void lane_error_slot_use(void* set_raised, void* take_raised) {
  void (*set)(void*);
  void (*take)(void**);
  memcpy(&set, &set_raised, sizeof set_raised);
  memcpy(&take, &take_raised, sizeof take_raised);
  fnabi_atomic_store(&slot.set, set, RELEASE);
  fnabi_atomic_store(&slot.take, take, RELEASE);
}

bool lane_error_slot_is_known(void) {
  return fnabi_atomic_load(&slot.take, ACQUIRE) != NULL;
}

static void* take_from_runtime(void) {
  void* error = NULL;
  void (*take)(void**) = fnabi_atomic_load(&slot.take, ACQUIRE);
  if (take != NULL) take(&error);
  put_there = false;
  return error;
}

/* Returns the error to be raised, of all that wait. `error` is the one from the
 * slot of libtvm_ffi, whose reference it takes over, or NULL. */
static fnabi_error_object* take_others(void* error) {
  fnabi_byte_array kind, message;
  if (error != NULL &&
      ((fnabi_object*)error)->type_index != FNABI_INDEX_ERROR) {
    fnabi_object_release(error);
    error = NULL;
  }
  if (fnabi_atomic_load(&own_count, RELAXED) != 0 && own != NULL) {
    if (error != NULL)
      fnabi_object_release(own);
    else
      error = own;
    own = NULL;
    fnabi_atomic_subtract(&own_count, 1, RELAXED);
  }
  if (libraries_have_slots && library_error(&kind, &message)) {
    const fnabi_byte_array backtrace = {"", 0};
    if (error != NULL) fnabi_object_release(error);
    const fnabi_byte_array none = {"", 0};
    bool good = lane_text_is_good(&kind) && lane_text_is_good(&message);
    error = fnabi_error_object_new(
        good ? &kind : &none, good ? &message : &none, &backtrace, 0, NULL);
    /* an invalid text is not copied; it stays invalid, for whoever reads it to
     * report */
    if (error != NULL && !good)
      ((fnabi_error_object*)error)->message = (fnabi_byte_array){NULL, 1};
  }
  return error;
}

/* Slots of libraries come first: a function that has left an error there has
 * failed after the functions that it called. */
fnabi_error_object* lane_error_take(void) {
  void* error = take_from_runtime();
  return take_others(error);
}

void lane_error_put(fnabi_error_object* error) {
  if (fnabi_atomic_load(&slot.take, ACQUIRE) != NULL) {
    slot.set(error);
    put_there = true;
    fnabi_object_release(error);
    return;
  }
  fnabi_error_object* old = own;
  own = error;
  if (old != NULL)
    fnabi_object_release(old);
  else
    fnabi_atomic_add(&own_count, 1, RELAXED);
}

fnabi_error_object* lane_error_of_text(const char* kind,
                                       const char* const* parts,
                                       int32_t count) {
  const fnabi_byte_array none = {"", 0};
  fnabi_byte_array of = {kind != NULL ? kind : "RuntimeError", 0},
                   message = {"", 0};
  of.size = strlen(of.data);
  if (parts == NULL) count = 0;
  bool fits = true;
  for (int32_t i = 0; i < count; i++)
    if (parts[i] != NULL)
      fits &=
          !fnabi_add_overflows(message.size, strlen(parts[i]), &message.size);
  char* text =
      fits && message.size < PTRDIFF_MAX ? malloc(message.size + 1) : NULL;
  if (text != NULL) {
    message.data = text;
    for (int32_t i = 0; i < count; i++)
      if (parts[i] != NULL) {
        size_t n = strlen(parts[i]);
        memcpy(text, parts[i], n);
        text += n;
      }
  } else {
    of = (fnabi_byte_array){"MemoryError", 11};
    message.size = 0;
  }
  fnabi_error_object* error =
      fnabi_error_object_new(&of, &message, &none, 0, NULL);
  if (text != NULL) free((char*)message.data);
  return error;
}

fnabi_error_object* lane_error_begin(void) {
  /* the usual case first: one slot, and it is empty */
  void* error = take_from_runtime();
  fnabi_error_object* left = error;
  if (libraries_have_slots || fnabi_atomic_load(&own_count, RELAXED) != 0)
    left = take_others(error);
  if (left == NULL || lane_error_callbacks > 0) return left;
  fnabi_object_release(left);
  return NULL;
}

fnabi_error_object* lane_error_begin_replaced(void) {
  bool waits = put_there || libraries_have_slots ||
               fnabi_atomic_load(&own_count, RELAXED) != 0;
  return waits ? lane_error_begin() : NULL;
}

void lane_error_end(fnabi_error_object* left, bool good) {
  if (left == NULL) return;
  if (good)
    lane_error_put(left);
  else
    fnabi_object_release(left);
}
