/* error_slot.h - where errors wait on a thread between the function that fails
 * and its caller. Private.
 *
 * No function here needs the GIL. lane_error_find of tvm_ffi.h is called before
 * any other that may use the slot of libtvm_ffi. */
#ifndef FNABI_LANE_RUNTIME_ERROR_SLOT_H
#define FNABI_LANE_RUNTIME_ERROR_SLOT_H

#include "lane/runtime/python.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/object.h"

/* Around a call: an earlier error that still waits is dropped, so that it does
 * not explain a later failure. Inside a callback it is the reason why the
 * calling function fails; it is returned instead, for lane_error_end, which
 * puts it back unless the call has failed. */
fnabi_error_object* lane_error_begin(void);
/* As lane_error_begin, for less time and a function that leaves an error when
 * it fails: an earlier one that another library left in the slot of libtvm_ffi
 * stays there until then, since the error replaces it. */
fnabi_error_object* lane_error_begin_replaced(void);
void lane_error_end(fnabi_error_object* left, bool good);
/* Returns the error that waits on this thread, owned, or NULL; it waits no
 * longer. */
fnabi_error_object* lane_error_take(void);
/* Makes an error wait on this thread; takes its reference over. */
void lane_error_put(fnabi_error_object* error);
/* An error of a kind and the parts of a message, owned; NULL when there is no
 * memory. The kind may be NULL, for RuntimeError; parts that are NULL are
 * skipped. */
fnabi_error_object* lane_error_of_text(const char* kind,
                                       const char* const* parts, int32_t count);
/* The callbacks that run Python code on this thread, nested. Inside of one, an
 * error that waits is the reason why the calling function fails. */
extern FNABI_FAST_THREAD int lane_error_callbacks;
/* Adds the error slot of a library, which fnabi/callee.h describes. Returns
 * false when there is no memory. */
bool lane_error_slot_add(void* address);

/* Uses the slot of libtvm_ffi from now on: by its functions
 * TVMFFIErrorSetRaised and TVMFFIErrorMoveFromRaised. */
void lane_error_slot_use(void* set_raised, void* take_raised);
bool lane_error_slot_is_known(void);

#endif /* FNABI_LANE_RUNTIME_ERROR_SLOT_H */
