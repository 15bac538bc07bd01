/* Errors that wait on a thread. */
#include <stdio.h>

#include "lane/runtime/error_slot.h"
#include "lane/runtime/text.h"
#include "lane/runtime/tvm_ffi.h"
#include "lane/stand_in/stand_in.h"

int stand_in_fail(const char* kind, const char* text) {
  lane_error_put_text(kind, &text, 1);
  return -1;
}

int stand_in_no_memory(void) {
  return stand_in_fail("MemoryError", "out of memory");
}

void stand_in_error_set(void* error) {
  lane_error_find();
  fnabi_error_object* old = lane_error_take();
  if (old != NULL) fnabi_object_release(old);
  if (error == NULL || ((fnabi_object*)error)->type_index != FNABI_INDEX_ERROR)
    return;
  fnabi_object_retain(error);
  lane_error_put(error);
}

void stand_in_error_set_parts(const char* kind, const char** parts,
                              int32_t count) {
  lane_error_put_text(kind, (const char* const*)parts, count);
}

void stand_in_error_set_text(const char* kind, const char* message) {
  lane_error_put_text(kind, &message, 1);
}

void stand_in_error_move(void** out) {
  lane_error_find();
  void* error = lane_error_take();
  if (out != NULL)
    *out = error;
  else if (error != NULL)
    fnabi_object_release(error);
}

int stand_in_error_create_caused(const fnabi_byte_array* kind,
                                 const fnabi_byte_array* message,
                                 const fnabi_byte_array* backtrace, void* cause,
                                 void* context, void** out) {
  if (!lane_text_is_good(kind) || !lane_text_is_good(message) ||
      !lane_text_is_good(backtrace))
    return stand_in_fail("ValueError", "a text of the error cannot be read");
  fnabi_error_object* error =
      fnabi_error_object_new(kind, message, backtrace, 0, NULL);
  if (error == NULL) return stand_in_no_memory();
  if (cause != NULL) fnabi_object_retain(cause);
  if (context != NULL) fnabi_object_retain(context);
  error->cause = cause;
  error->context = context;
  *out = error;
  return 0;
}

int stand_in_error_create(const fnabi_byte_array* kind,
                          const fnabi_byte_array* message,
                          const fnabi_byte_array* backtrace, void** out) {
  return stand_in_error_create_caused(kind, message, backtrace, NULL, NULL,
                                      out);
}

/* The frame of the caller alone: who reports the error adds those of Python, and
 * libraries rarely have the names of theirs. */
const fnabi_byte_array* stand_in_backtrace(const char* file, int line,
                                           const char* function,
                                           int cross_boundary) {
  static FNABI_THREAD char text[1024];
  static FNABI_THREAD fnabi_byte_array answer;
  (void)cross_boundary;
  int size = 0;
  if (file != NULL && function != NULL)
    size = snprintf(text, sizeof text, "  File \"%s\", line %d, in %s\n", file,
                    line, function);
  if (size < 0) size = 0;
  if (size >= (int)sizeof text) size = (int)sizeof text - 1;
  answer = (fnabi_byte_array){text, (size_t)size};
  return &answer;
}
