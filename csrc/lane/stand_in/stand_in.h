/* stand_in.h - functions of libtvm_ffi for libraries that import them where it
 * is not installed, all 50 that it exports in C, and a few of libtvm_runtime.
 * Private.
 *
 * They are no symbols of any library that other code could find: the loader
 * gets their addresses for one library at a time (python/fnabi/calls/_stand_in.py), so
 * nothing clashes when libtvm_ffi is loaded later. From then on they work on its
 * errors, streams, allocators and global functions: each asks when it is called.
 * Types stay where they were registered, in fnabi's own table.
 *
 * All may be called on any thread, with or without the GIL. Their arguments come
 * from foreign code: pointers that may be NULL are checked, others are trusted.
 * Those with an int return 0, or -1 and make an error wait on this thread. */
#ifndef FNABI_LANE_STAND_IN_H
#define FNABI_LANE_STAND_IN_H

#include "lane/runtime/python.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/tensor.h"

/* Adds the functions for Python. */
int lane_stand_in_init(PyObject* module);

/* Make an error wait; return -1. */
int stand_in_fail(const char* kind, const char* text);
int stand_in_no_memory(void);

/* errors.c */
void stand_in_error_set(void* error);
void stand_in_error_set_parts(const char* kind, const char** parts,
                              int32_t count);
void stand_in_error_set_text(const char* kind, const char* message);
void stand_in_error_move(void** out);
int stand_in_error_create_caused(const fnabi_byte_array* kind,
                                 const fnabi_byte_array* message,
                                 const fnabi_byte_array* backtrace, void* cause,
                                 void* context, void** out);
int stand_in_error_create(const fnabi_byte_array* kind,
                          const fnabi_byte_array* message,
                          const fnabi_byte_array* backtrace, void** out);
/* The text is valid until the next call on this thread. */
const fnabi_byte_array* stand_in_backtrace(const char* file, int line,
                                           const char* function,
                                           int cross_boundary);

/* values.c */
typedef struct stand_in_version {
  uint32_t major, minor, patch;
} stand_in_version;

typedef struct stand_in_allocator {
  void* (*allocate)(size_t size, size_t alignment, int32_t type_index,
                    void* context);
  void* context;
} stand_in_allocator;

int stand_in_object_retain(void* object);
int stand_in_object_release(void* object);
int stand_in_object_create_opaque(void* handle, int32_t type_index,
                                  void (*deleter)(void* handle), void** out);
int stand_in_any_own(const fnabi_any* view, fnabi_any* out);
int stand_in_string_create(const fnabi_byte_array* text, fnabi_any* out);
int stand_in_bytes_create(const fnabi_byte_array* text, fnabi_any* out);
int stand_in_big_int_create(const fnabi_byte_array* words, fnabi_any* out);
fnabi_byte_array stand_in_big_int_words(const fnabi_any* value);
void stand_in_get_version(stand_in_version* out);
stand_in_allocator* stand_in_get_allocator(void);
int stand_in_set_allocator(stand_in_allocator* allocator);

/* dtype.c */
int stand_in_dtype_read(const fnabi_byte_array* text, fnabi_dl_dtype* out);
int stand_in_dtype_write(const fnabi_dl_dtype* dtype, fnabi_any* out);

/* functions.c */
int stand_in_function_call(void* object, const fnabi_any* args, int32_t n,
                           fnabi_any* result);
int stand_in_function_get_global(const fnabi_byte_array* name, void** out);
int stand_in_function_set_global(const fnabi_byte_array* name, void* function,
                                 int override);
int stand_in_function_set_described(const fnabi_method_info* info,
                                    int override);
int stand_in_module_look_up(void* context, const char* name, void** out);

/* handles.c */
int stand_in_handle_init(void** handle, int (*init)(void** result));
int stand_in_handle_deinit(void** handle, int (*deinit)(void* handle));

/* tensors.c */
int stand_in_tensor_of_managed(fnabi_dl_managed* from, int32_t alignment,
                               int32_t contiguous, void** out);
int stand_in_tensor_of_versioned(fnabi_dl_versioned* from, int32_t alignment,
                                 int32_t contiguous, void** out);
int stand_in_tensor_to_managed(void* from, fnabi_dl_managed** out);
int stand_in_tensor_to_versioned(void* from, fnabi_dl_versioned** out);
int stand_in_tensor_view(void* source, const fnabi_dl_tensor* like, void** out);

/* initialiser.c */
/* The object after which arguments of an initialiser are pairs of name and value;
 * NULL when there is no memory. */
fnabi_object* stand_in_marker(void);
/* Returns a function that makes objects of a type of fnabi's table by its fields
 * as they are now, owned; NULL when there is no memory. */
fnabi_object* stand_in_initialiser(const fnabi_type_info* info);

/* environment.c */
int stand_in_stream_set(int32_t type, int32_t id, void* stream, void** old);
void* stand_in_stream_get(int32_t type, int32_t id);
int stand_in_allocator_set(fnabi_dl_allocate* to, int global,
                           fnabi_dl_allocate** old);
fnabi_dl_allocate* stand_in_allocator_get(void);
int stand_in_tensor_allocate(fnabi_dl_tensor* like, void** out);
int stand_in_check_signals(void);
int stand_in_register_python(const char* name, void* function);
int stand_in_context_symbol(const char* name, void* value);
int stand_in_system_symbol(const char* name, void* value);
/* Calls `each` for the symbols registered so: of a context, or of the system
 * library. */
void stand_in_each_symbol(bool of_context,
                          void (*each)(void* data, const char* name,
                                       void* value),
                          void* data);

#endif /* FNABI_LANE_STAND_IN_H */
