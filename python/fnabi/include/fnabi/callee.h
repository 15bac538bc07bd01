/* callee.h - write functions of TVM-FFI's stable C ABI in C11 or C++17.
 *
 *   #include <fnabi/callee.h>
 *
 *   CALLEE_EXPORT(add) {
 *     int64_t a, b;
 *     if (!callee_count(call, 2) || !callee_int(call, 0, &a) ||
 *         !callee_int(call, 1, &b))
 *       return CALLEE_FAILED;
 *     return callee_return_int(call, a + b);
 *   }
 *
 *   cc -shared -fPIC -fvisibility=hidden add.c -o libadd.so \
 *     -I"$(python -c 'import fnabi; print(fnabi.get_include())')"
 *
 * The library needs only this header and libc; there is nothing to link. Both
 * fnabi and tvm_ffi can load the library and call `add`. Several files of one
 * library may include the header.
 *
 * How a function is called
 * ------------------------
 * CALLEE_EXPORT(name) begins the definition of a function whose only parameter
 * is `callee_call* call`. The function returns 0 on success. To fail, it raises
 * an error and returns CALLEE_FAILED. The functions below raise errors
 * themselves: callee_int, for example, returns false if the argument is missing
 * or has another type, after raising an error that names the function and the
 * argument.
 *
 * The caller owns the arguments. They are valid until the call returns, and so
 * is everything they point to. The caller owns the result once it is returned.
 * The tag of a result that is an object equals that in the object's header;
 * a caller refuses another one, and may leak the object.
 *
 * C++ exceptions do not leave the function: each becomes an error whose message
 * is that of the exception.
 *
 * Errors
 * ------
 * An error has a kind, which is the name of a Python exception such as
 * "ValueError", and a message. If the TVM-FFI runtime is loaded with global
 * symbols, as the package tvm_ffi loads it, errors are raised in the runtime.
 * Otherwise the library stores the error in a slot, one per thread. Every
 * library exports the symbol through which the caller fetches it:
 *
 *   int32_t __fnabi_error_slot(callee_error* error, size_t size)
 *
 * The caller calls it once after a function returned nonzero, on the thread
 * that made the call. `size` is sizeof(callee_error) in the caller's code.
 * Returns
 *   1   if the slot held an error. The error is moved to *error and the slot is
 *       now empty. The library owns the texts. They end with a NUL and are
 *       valid until another function of this library fails on this thread.
 *   0   if the slot is empty. *error is not written. Either the runtime has the
 *       error, or the slot of another library whose function was called, or the
 *       function failed without raising an error.
 *  -1   if `size` is smaller than the first version of callee_error.
 * Later versions may add fields at the end of callee_error. A library writes at
 * most `size` bytes, so the caller clears the struct first.
 *
 * A caller therefore reads the slot of the library it called, then asks the
 * runtime if it is loaded, then reads the slots of the other libraries it has
 * loaded. A kind or message that exceeds the capacity of the slot is truncated
 * and ends in "...".
 *
 * Requires GCC or Clang and 64-bit pointers.
 */
#ifndef FNABI_CALLEE_H
#define FNABI_CALLEE_H

#if !defined(__GNUC__) || __SIZEOF_POINTER__ != 8
#error "fnabi/callee.h needs GCC or Clang and pointers of 64 bits"
#endif

#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
#include <exception>
#include <new>
#include <stdexcept>
#define CALLEE_C extern "C"
#define CALLEE_THREAD thread_local
#define CALLEE_ASSERT static_assert
#else
#define CALLEE_C extern
#define CALLEE_THREAD _Thread_local
#define CALLEE_ASSERT _Static_assert
#endif

#define CALLEE_VISIBLE __attribute__((visibility("default")))
/* For functions with static data: every file that includes the header defines
 * them, and the linker keeps one definition for the library. */
#define CALLEE_ONCE __attribute__((weak, visibility("hidden")))
#define CALLEE_PRINTF(text, first) __attribute__((format(printf, text, first)))

#define CALLEE_FAILED (-1)

/* ------------------------------------------------------------------- values
 *
 * Arguments, results and container elements are values of 16 bytes:
 *
 *   0        4        8                16
 *   | tag    | size   | payload        |
 *
 * `size` is the length of text or bytes stored in the payload itself, and 0 in
 * every other value. If the tag is CALLEE_OBJECT or greater, the payload points
 * to a reference-counted object.
 */
enum {
  CALLEE_NONE = 0,
  CALLEE_INT = 1,
  CALLEE_BOOL = 2,
  CALLEE_FLOAT = 3,
  CALLEE_POINTER = 4,
  CALLEE_DTYPE = 5,
  CALLEE_DEVICE = 6,
  CALLEE_TENSOR_VIEW = 7,   /* a callee_tensor, borrowed */
  CALLEE_C_STRING = 8,      /* NUL-terminated, borrowed */
  CALLEE_BYTES_VIEW = 9,    /* a callee_span, borrowed */
  CALLEE_MOVED_OBJECT = 10, /* an object pointer that the callee may move */
  CALLEE_SMALL_TEXT = 11,   /* at most 7 bytes, in the payload */
  CALLEE_SMALL_BYTES = 12,
  CALLEE_OBJECT = 64,
  CALLEE_TEXT = 65,
  CALLEE_BYTES = 66,
  CALLEE_ERROR = 67,
  CALLEE_FUNCTION = 68,
  CALLEE_SHAPE = 69,
  CALLEE_TENSOR = 70,
  CALLEE_ARRAY = 71,
  CALLEE_MAP = 72,
  CALLEE_MODULE = 73,
  CALLEE_LIST = 75,
  CALLEE_DICT = 76
};

/* DLPack's DLDataType. code: 0 int, 1 uint, 2 float, 3 pointer, 4 bfloat,
 * 5 complex, 6 bool. lanes: 1 for scalars, else the elements of a vector. */
typedef struct callee_dtype_value {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} callee_dtype_value;

/* DLPack's DLDevice: type 1 is the CPU, type 2 is CUDA. */
typedef struct callee_device_value {
  int32_t type;
  int32_t id;
} callee_device_value;

/* Same layout as DLPack's DLTensor; pointers to one may be cast to the other.
 * Strides are in elements, `byte_offset` is in bytes. If `strides` is NULL, the
 * tensor is contiguous in row-major order. */
typedef struct callee_tensor_value {
  void* data;
  callee_device_value device;
  int32_t rank;
  callee_dtype_value dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} callee_tensor_value;

typedef struct callee_span {
  const char* data;
  size_t size;
} callee_span;

/* Every object begins with this header. The lower 32 bits of `counts` are the
 * number of strong references, the upper 32 bits that of weak references. All
 * strong references together own one weak reference. */
typedef struct callee_header {
  uint64_t counts;
  int32_t tag;
  uint32_t padding;
  void (*deleter)(void* self, int flags); /* may be NULL */
} callee_header;

enum { CALLEE_DELETE_CONTENTS = 1, CALLEE_DELETE_MEMORY = 2 };

typedef struct callee_value {
  int32_t tag;
  uint32_t size;
  union {
    int64_t integer;
    uint64_t bits;
    double real;
    void* pointer;
    const char* string;
    callee_header* object;
    callee_header** moved;
    callee_span* span;
    callee_tensor_value* tensor;
    callee_dtype_value dtype;
    callee_device_value device;
    char text[8];
  } as;
} callee_value;

CALLEE_ASSERT(sizeof(callee_value) == 16 && sizeof(callee_header) == 24 &&
                  sizeof(callee_tensor_value) == 48,
              "the layouts of the ABI");

typedef int callee_entry_point(void* self, const callee_value* args,
                               int32_t count, callee_value* result);

/* One call. Valid until the function returns. */
typedef struct callee_call {
  const char* name; /* of the function */
  void* state;      /* of a closure, otherwise NULL */
  const callee_value* args;
  int32_t count;
  callee_value* result;
} callee_call;

typedef int callee_body(callee_call* call);

/* ------------------------------------------------------------------- errors */

typedef struct callee_error {
  callee_span kind;
  callee_span message;
} callee_error;

enum { CALLEE_KIND_CAPACITY = 128, CALLEE_MESSAGE_CAPACITY = 4096 };

typedef struct callee_slot {
  bool full;
  char kind[CALLEE_KIND_CAPACITY];
  char message[CALLEE_MESSAGE_CAPACITY];
} callee_slot;

/* A function rather than a variable, so that files in C and in C++ share one
 * slot. */
CALLEE_C callee_slot* callee_own_slot(void) CALLEE_ONCE;
CALLEE_C callee_slot* callee_own_slot(void) {
  static CALLEE_THREAD callee_slot slot;
  return &slot;
}

CALLEE_C int32_t __fnabi_error_slot(callee_error* error, size_t size)
    __attribute__((weak)) CALLEE_VISIBLE;
CALLEE_C int32_t __fnabi_error_slot(callee_error* error, size_t size) {
  callee_slot* slot = callee_own_slot();
  callee_error found;
  if (size < sizeof found) return -1;
  if (!slot->full) return 0;
  found.kind.data = slot->kind;
  found.kind.size = strlen(slot->kind);
  found.message.data = slot->message;
  found.message.size = strlen(slot->message);
  memcpy(error, &found, sizeof found);
  slot->full = false;
  return 1;
}

typedef void callee_raiser(const char* kind, const char* message);

/* A weak symbol is resolved only when the library is loaded. The runtime may be
 * loaded later, and callers would then ask it for the error. So if the weak
 * symbol is NULL, callee_runtime looks the symbol up again with dlsym. */
#ifdef __ELF__
CALLEE_C void TVMFFIErrorSetRaisedFromCStr(const char* kind,
                                           const char* message)
    __attribute__((weak)) CALLEE_VISIBLE;
#pragma weak dlsym
#endif

static inline callee_raiser* callee_runtime(void) {
  callee_raiser* raiser = NULL;
#ifdef __ELF__
  if (TVMFFIErrorSetRaisedFromCStr != NULL) return TVMFFIErrorSetRaisedFromCStr;
  if (dlsym == NULL) return NULL; /* an old libc keeps dlsym in libdl */
#endif
#ifdef RTLD_DEFAULT
  void* found = dlsym(RTLD_DEFAULT, "TVMFFIErrorSetRaisedFromCStr");
#else
  void* found = dlsym(NULL, "TVMFFIErrorSetRaisedFromCStr");
#endif
  memcpy(&raiser, &found, sizeof raiser);
  return raiser;
}

static inline void callee_truncate(char* text, size_t capacity) {
  memcpy(text + capacity - 4, "...", 4);
}

CALLEE_PRINTF(2, 0)
static inline int callee_raise_list(const char* kind, const char* format,
                                    va_list list) {
  callee_slot* slot = callee_own_slot();
  int size = snprintf(slot->kind, sizeof slot->kind, "%s", kind);
  if (size >= (int)sizeof slot->kind)
    callee_truncate(slot->kind, sizeof slot->kind);
  size = vsnprintf(slot->message, sizeof slot->message, format, list);
  if (size < 0) slot->message[0] = 0;
  if (size >= (int)sizeof slot->message)
    callee_truncate(slot->message, sizeof slot->message);
  callee_raiser* raiser = callee_runtime();
  slot->full = raiser == NULL;
  if (raiser != NULL) raiser(slot->kind, slot->message);
  return CALLEE_FAILED;
}

/* Raises an error and returns CALLEE_FAILED. `kind` is the name of a Python
 * exception; `format` and what follows are those of printf. */
CALLEE_PRINTF(2, 3)
static inline int callee_raise(const char* kind, const char* format, ...) {
  va_list list;
  va_start(list, format);
  int result = callee_raise_list(kind, format, list);
  va_end(list);
  return result;
}

static inline int callee_raise_memory(void) {
  return callee_raise("MemoryError", "out of memory");
}

/* ---------------------------------------------------------------- functions */

#if defined(__cplusplus) && defined(__cpp_exceptions)
static inline int callee_run(callee_body* body, callee_call* call) {
  try {
    return body(call);
  } catch (const std::bad_alloc&) {
    return callee_raise_memory();
  } catch (const std::out_of_range& problem) {
    return callee_raise("IndexError", "%s", problem.what());
  } catch (const std::invalid_argument& problem) {
    return callee_raise("ValueError", "%s", problem.what());
  } catch (const std::domain_error& problem) {
    return callee_raise("ValueError", "%s", problem.what());
  } catch (const std::overflow_error& problem) {
    return callee_raise("OverflowError", "%s", problem.what());
  } catch (const std::exception& problem) {
    return callee_raise("RuntimeError", "%s", problem.what());
  } catch (...) {
    return callee_raise("RuntimeError",
                        "%s() threw something other than a std::exception",
                        call->name);
  }
}
#else
static inline int callee_run(callee_body* body, callee_call* call) {
  return body(call);
}
#endif

#define CALLEE_SYMBOL(symbol)                                              \
  CALLEE_C CALLEE_VISIBLE int symbol(void* self, const callee_value* args, \
                                     int32_t count, callee_value* result); \
  CALLEE_C CALLEE_VISIBLE int symbol(void* self, const callee_value* args, \
                                     int32_t count, callee_value* result)

/* Begins the definition of an exported function. */
#define CALLEE_EXPORT(function)                                \
  static int callee_body_##function(callee_call* call);        \
  CALLEE_SYMBOL(__tvm_ffi_##function) {                        \
    callee_call call = {#function, NULL, args, count, result}; \
    (void)self;                                                \
    return callee_run(callee_body_##function, &call);          \
  }                                                            \
  static int callee_body_##function(callee_call* call)

/* Exports a function that returns a string literal. */
#define CALLEE_TEXT_SYMBOL(symbol, literal)                      \
  CALLEE_SYMBOL(symbol) {                                        \
    (void)self;                                                  \
    (void)args;                                                  \
    (void)count;                                                 \
    return callee_put_text(result, literal, sizeof(literal) - 1) \
               ? 0                                               \
               : callee_raise_memory();                          \
  }

/* Exports the docstring of a function, a string literal. */
#define CALLEE_DOC(function, literal) \
  CALLEE_TEXT_SYMBOL(__tvm_ffi__doc_##function, literal)

/* Exports the types of a function:
 *
 *   CALLEE_SIGNATURE(add, CALLEE_TYPE("int"),
 *                    CALLEE_TYPE("int") "," CALLEE_TYPE("int"))
 *   CALLEE_SIGNATURE(sum, CALLEE_TYPE("float"),
 *                    CALLEE_TYPE_OF("ffi.Array", CALLEE_TYPE("float")))
 *
 * The result type comes first, then the parameter types separated by commas, or
 * "" if there are no parameters.
 */
#define CALLEE_TYPE(name) "{\\\"type\\\":\\\"" name "\\\"}"
#define CALLEE_TYPE_OF(name, types) \
  "{\\\"type\\\":\\\"" name "\\\",\\\"args\\\":[" types "]}"
#define CALLEE_SIGNATURE(function, result_type, types)                        \
  CALLEE_TEXT_SYMBOL(__tvm_ffi__metadata_##function,                          \
                     "{\"type_schema\":\"{\\\"type\\\":\\\"ffi.Function\\\"," \
                     "\\\"named_args\\\":{\\\"return\\\":[" result_type       \
                     "],\\\"params\\\":[" types "]}}\"}")

/* Exports the names of a function's parameters, by which arguments may then be
 * given in Python, and which errors mention:
 *
 *   CALLEE_PARAMETERS(add, a, b)
 *
 * They are identifiers; the ABI itself has none. */
#define CALLEE_PARAMETERS(function, ...) \
  CALLEE_TEXT_SYMBOL(__fnabi_parameters_##function, #__VA_ARGS__)

/* ------------------------------------------------------------------ objects */

static inline bool callee_is_object(const callee_value* value) {
  return value->tag >= CALLEE_OBJECT;
}

/* Adds a strong reference, if the value is an object. */
static inline void callee_retain(const callee_value* value) {
  if (callee_is_object(value))
    __atomic_fetch_add(&value->as.object->counts, 1, __ATOMIC_RELAXED);
}

/* Drops a strong reference, if the value is an object. The last one destroys
 * the object with the deleter of the library that created it. */
static inline void callee_release(const callee_value* value) {
  const uint64_t weak = UINT64_C(1) << 32;
  if (!callee_is_object(value)) return;
  callee_header* object = value->as.object;
  uint64_t before = __atomic_fetch_sub(&object->counts, 1, __ATOMIC_RELEASE);
  if ((before & (weak - 1)) != 1) return;
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  if (object->deleter == NULL) return;
  if (before == (weak | 1)) {
    object->deleter(object, CALLEE_DELETE_CONTENTS | CALLEE_DELETE_MEMORY);
    return;
  }
  object->deleter(object, CALLEE_DELETE_CONTENTS);
  if (__atomic_fetch_sub(&object->counts, weak, __ATOMIC_RELEASE) == weak) {
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    object->deleter(object, CALLEE_DELETE_MEMORY);
  }
}

/* Some versions of the runtime read 16 bytes before each object: 8 zero bytes,
 * then the pointer to the function that frees the memory. */
enum { CALLEE_SPARE = 16 };

static inline void callee_free(void* object) {
  free((char*)object - CALLEE_SPARE);
}

static inline void callee_delete_plain(void* self, int flags) {
  if ((flags & CALLEE_DELETE_MEMORY) != 0) callee_free(self);
}

/* Creates an object of `fixed` + `count` * `each` bytes with one strong
 * reference. All bytes after the header are zero. Returns NULL if the size
 * overflows or memory is exhausted. */
static inline void* callee_new(int32_t tag, size_t fixed, size_t count,
                               size_t each,
                               void (*deleter)(void* self, int flags)) {
  if (fixed > PTRDIFF_MAX - CALLEE_SPARE ||
      count > (PTRDIFF_MAX - CALLEE_SPARE - fixed) / each)
    return NULL;
  char* memory = (char*)calloc(1, CALLEE_SPARE + fixed + count * each);
  if (memory == NULL) return NULL;
  void (*free_it)(void*) = callee_free;
  memcpy(memory + 8, &free_it, sizeof free_it);
  callee_header* object = (callee_header*)(void*)(memory + CALLEE_SPARE);
  object->counts = UINT64_C(1) << 32 | 1;
  object->tag = tag;
  object->deleter = deleter;
  return object;
}

typedef struct callee_text_object {
  callee_header header;
  callee_span span;
} callee_text_object;

typedef struct callee_shape_object {
  callee_header header;
  const int64_t* dims;
  size_t rank;
} callee_shape_object;

typedef struct callee_array_object {
  callee_header header;
  callee_value* items;
  int64_t size;
  int64_t capacity;
  void (*data_deleter)(void* data);
} callee_array_object;

typedef struct callee_function_object {
  callee_header header;
  callee_entry_point* run;
  void* reserved; /* NULL */
} callee_function_object;

/* ------------------------------------------------------------ single values
 *
 * callee_as_* read a borrowed value, such as an element of an array. They
 * return false if the value has another type. callee_put_* write a value that
 * the caller then owns. Those that allocate return false if memory is
 * exhausted. None of them raises an error. */

static inline const char* callee_type_name(int32_t tag) {
  static const char* const plain[] = {"None",
                                      "int",
                                      "bool",
                                      "float",
                                      "void*",
                                      "DataType",
                                      "Device",
                                      "DLTensor*",
                                      "const char*",
                                      "TVMFFIByteArray*",
                                      "ObjectRValueRef",
                                      "str",
                                      "bytes"};
  static const char* const objects[] = {"ffi.Object",
                                        "str",
                                        "bytes",
                                        "ffi.Error",
                                        "ffi.Function",
                                        "ffi.Shape",
                                        "ffi.Tensor",
                                        "ffi.Array",
                                        "ffi.Map",
                                        "ffi.Module",
                                        "ffi.OpaquePyObject",
                                        "ffi.List",
                                        "ffi.Dict"};
  if (tag >= 0 && tag <= CALLEE_SMALL_BYTES) return plain[tag];
  if (tag >= CALLEE_OBJECT && tag <= CALLEE_DICT)
    return objects[tag - CALLEE_OBJECT];
  return tag > CALLEE_DICT ? "an object" : "a value of an unknown type";
}

/* Returns the object in a value, including one that may be moved, or NULL. */
static inline callee_header* callee_object(const callee_value* value) {
  if (value->tag == CALLEE_MOVED_OBJECT) return *value->as.moved;
  return callee_is_object(value) ? value->as.object : NULL;
}

static inline callee_header* callee_object_of(const callee_value* value,
                                              int32_t tag, int32_t or_tag) {
  callee_header* object = callee_object(value);
  bool is_one = object != NULL && (object->tag == tag || object->tag == or_tag);
  return is_one ? object : NULL;
}

static inline bool callee_is_none(const callee_value* value) {
  return value->tag == CALLEE_NONE;
}

static inline bool callee_as_int(const callee_value* value, int64_t* found) {
  if (value->tag != CALLEE_INT && value->tag != CALLEE_BOOL) return false;
  *found = value->as.integer;
  return true;
}

static inline bool callee_as_bool(const callee_value* value, bool* found) {
  if (value->tag != CALLEE_INT && value->tag != CALLEE_BOOL) return false;
  *found = value->as.integer != 0;
  return true;
}

static inline bool callee_as_float(const callee_value* value, double* found) {
  int64_t integer;
  if (value->tag == CALLEE_FLOAT) {
    *found = value->as.real;
  } else {
    if (!callee_as_int(value, &integer)) return false;
    *found = (double)integer;
  }
  return true;
}

/* The text is UTF-8 and may contain NULs. Short text is stored in the value
 * itself, so *found is valid only as long as *value. */
static inline bool callee_as_text(const callee_value* value,
                                  callee_span* found) {
  callee_header* object = callee_object_of(value, CALLEE_TEXT, CALLEE_TEXT);
  if (object != NULL) {
    *found = ((callee_text_object*)object)->span;
  } else if (value->tag == CALLEE_SMALL_TEXT) {
    found->data = value->as.text;
    found->size = value->size;
  } else if (value->tag == CALLEE_C_STRING) {
    found->data = value->as.string;
    found->size = strlen(value->as.string);
  } else {
    return false;
  }
  return true;
}

/* Also accepts text, and then returns its UTF-8 bytes. */
static inline bool callee_as_bytes(const callee_value* value,
                                   callee_span* found) {
  callee_header* object = callee_object_of(value, CALLEE_BYTES, CALLEE_BYTES);
  if (object != NULL) {
    *found = ((callee_text_object*)object)->span;
  } else if (value->tag == CALLEE_SMALL_BYTES) {
    found->data = value->as.text;
    found->size = value->size;
  } else if (value->tag == CALLEE_BYTES_VIEW) {
    *found = *value->as.span;
  } else {
    return callee_as_text(value, found);
  }
  return true;
}

/* Also accepts None, and then returns NULL. */
static inline bool callee_as_pointer(const callee_value* value, void** found) {
  if (value->tag != CALLEE_POINTER && value->tag != CALLEE_NONE) return false;
  *found = value->tag == CALLEE_NONE ? NULL : value->as.pointer;
  return true;
}

static inline bool callee_as_dtype(const callee_value* value,
                                   callee_dtype_value* found) {
  if (value->tag != CALLEE_DTYPE) return false;
  *found = value->as.dtype;
  return true;
}

static inline bool callee_as_device(const callee_value* value,
                                    callee_device_value* found) {
  if (value->tag != CALLEE_DEVICE) return false;
  *found = value->as.device;
  return true;
}

/* Accepts ffi.Tensor objects and DLTensor pointers of every dtype, shape,
 * stride and device. Check those that the function relies on. */
static inline bool callee_as_tensor(const callee_value* value,
                                    const callee_tensor_value** found) {
  callee_header* object = callee_object_of(value, CALLEE_TENSOR, CALLEE_TENSOR);
  if (object != NULL)
    *found = (const callee_tensor_value*)(void*)(object + 1);
  else if (value->tag == CALLEE_TENSOR_VIEW)
    *found = value->as.tensor;
  else
    return false;
  return true;
}

typedef struct callee_dims {
  const int64_t* data;
  size_t size;
} callee_dims;

static inline bool callee_as_shape(const callee_value* value,
                                   callee_dims* found) {
  callee_header* object = callee_object_of(value, CALLEE_SHAPE, CALLEE_SHAPE);
  if (object == NULL) return false;
  found->data = ((callee_shape_object*)object)->dims;
  found->size = ((callee_shape_object*)object)->rank;
  return true;
}

typedef struct callee_items {
  const callee_value* data;
  size_t size;
} callee_items;

/* Accepts an Array or a List. A List is mutable: code that runs meanwhile, such
 * as a called function or another thread, may change its elements. */
static inline bool callee_as_array(const callee_value* value,
                                   callee_items* found) {
  callee_header* object = callee_object_of(value, CALLEE_ARRAY, CALLEE_LIST);
  if (object == NULL) return false;
  found->data = ((callee_array_object*)object)->items;
  found->size = (size_t)((callee_array_object*)object)->size;
  return true;
}

static inline bool callee_as_function(const callee_value* value,
                                      callee_function_object** found) {
  callee_header* object =
      callee_object_of(value, CALLEE_FUNCTION, CALLEE_FUNCTION);
  if (object == NULL) return false;
  *found = (callee_function_object*)object;
  return true;
}

/* The entries of a Map or a Dict. callee_next returns them in insertion order.
 * There are two layouts: `small` is an array of entries; the other is a hash
 * table of blocks with 16 entries each, whose entries form a linked list. */
typedef struct callee_entries {
  size_t size;
  /* the rest is for callee_next */
  const char* data;
  uint64_t next;
  size_t given;
  bool small;
} callee_entries;

enum { CALLEE_PAIR = 32, CALLEE_ENTRY = 48, CALLEE_BLOCK = 16 };

static inline bool callee_as_map(const callee_value* value,
                                 callee_entries* found) {
  callee_header* object = callee_object_of(value, CALLEE_MAP, CALLEE_DICT);
  uint64_t slots;
  if (object == NULL) return false;
  const char* base = (const char*)(object + 1);
  memcpy(&found->data, base, sizeof found->data);
  memcpy(&found->size, base + 8, sizeof found->size);
  memcpy(&slots, base + 16, sizeof slots);
  found->given = 0;
  found->next = 0;
  found->small = slots >> 63 != 0;
  if (!found->small) memcpy(&found->next, base + 40, sizeof found->next);
  return true;
}

/* Advances to the next entry. Returns false after the last one. */
static inline bool callee_next(callee_entries* entries,
                               const callee_value** key,
                               const callee_value** value) {
  if (entries->given >= entries->size) return false;
  const char* entry = entries->data;
  if (entries->small) {
    entry += CALLEE_PAIR * entries->given;
  } else {
    if (entries->next == UINT64_MAX) return false;
    entry += entries->next / CALLEE_BLOCK *
                 (CALLEE_BLOCK + CALLEE_BLOCK * CALLEE_ENTRY) +
             CALLEE_BLOCK + entries->next % CALLEE_BLOCK * CALLEE_ENTRY;
    memcpy(&entries->next, entry + 40, sizeof entries->next);
  }
  entries->given++;
  *key = (const callee_value*)(const void*)entry;
  *value = *key + 1;
  return true;
}

static inline void callee_put_none(callee_value* out) {
  memset(out, 0, sizeof *out);
}

static inline void callee_put_int(callee_value* out, int64_t value) {
  callee_put_none(out);
  out->tag = CALLEE_INT;
  out->as.integer = value;
}

static inline void callee_put_bool(callee_value* out, bool value) {
  callee_put_int(out, value ? 1 : 0);
  out->tag = CALLEE_BOOL;
}

static inline void callee_put_float(callee_value* out, double value) {
  callee_put_none(out);
  out->tag = CALLEE_FLOAT;
  out->as.real = value;
}

static inline void callee_put_pointer(callee_value* out, void* value) {
  callee_put_none(out);
  out->tag = CALLEE_POINTER;
  out->as.pointer = value;
}

static inline void callee_put_dtype(callee_value* out,
                                    callee_dtype_value value) {
  callee_put_none(out);
  out->tag = CALLEE_DTYPE;
  out->as.dtype = value;
}

static inline void callee_put_device(callee_value* out,
                                     callee_device_value value) {
  callee_put_none(out);
  out->tag = CALLEE_DEVICE;
  out->as.device = value;
}

/* Takes over one strong reference. Returns false if `object` is NULL. */
static inline bool callee_put_object(callee_value* out, void* object) {
  callee_put_none(out);
  if (object == NULL) return false;
  out->tag = ((callee_header*)object)->tag;
  out->as.pointer = object;
  return true;
}

static inline bool callee_put_span(callee_value* out, const char* data,
                                   size_t size, int32_t small, int32_t tag) {
  callee_put_none(out);
  if (size < sizeof out->as.text) {
    out->tag = small;
    out->size = (uint32_t)size;
    if (size != 0) memcpy(out->as.text, data, size);
    return true;
  }
  if (size == SIZE_MAX) return false;
  callee_text_object* object = (callee_text_object*)callee_new(
      tag, sizeof *object, size + 1, 1, callee_delete_plain);
  if (object == NULL) return false;
  memcpy(object + 1, data, size);
  object->span.data = (const char*)(object + 1);
  object->span.size = size;
  return callee_put_object(out, object);
}

/* Copies `data`, which must be UTF-8. */
static inline bool callee_put_text(callee_value* out, const char* data,
                                   size_t size) {
  return callee_put_span(out, data, size, CALLEE_SMALL_TEXT, CALLEE_TEXT);
}

static inline bool callee_put_bytes(callee_value* out, const void* data,
                                    size_t size) {
  return callee_put_span(out, (const char*)data, size, CALLEE_SMALL_BYTES,
                         CALLEE_BYTES);
}

static inline bool callee_put_shape(callee_value* out, const int64_t* dims,
                                    size_t rank) {
  callee_shape_object* object = (callee_shape_object*)callee_new(
      CALLEE_SHAPE, sizeof *object, rank, sizeof *dims, callee_delete_plain);
  if (object != NULL) {
    if (rank != 0) memcpy(object + 1, dims, rank * sizeof *dims);
    object->dims = (const int64_t*)(void*)(object + 1);
    object->rank = rank;
  }
  return callee_put_object(out, object);
}

static inline void callee_delete_array(void* self, int flags) {
  callee_array_object* array = (callee_array_object*)self;
  if ((flags & CALLEE_DELETE_CONTENTS) != 0)
    for (int64_t i = 0; i < array->size; i++) callee_release(&array->items[i]);
  if ((flags & CALLEE_DELETE_MEMORY) != 0) callee_free(self);
}

/* Creates an Array from owned values. Takes ownership of them even if it fails;
 * they are then released. */
static inline bool callee_put_array(callee_value* out,
                                    const callee_value* items, size_t size) {
  callee_array_object* array = (callee_array_object*)callee_new(
      CALLEE_ARRAY, sizeof *array, size, sizeof *items, callee_delete_array);
  if (array == NULL)
    for (size_t i = 0; i < size; i++) callee_release(&items[i]);
  else {
    array->items = (callee_value*)(void*)(array + 1);
    array->size = array->capacity = (int64_t)size;
    if (size != 0) memcpy(array->items, items, size * sizeof *items);
  }
  return callee_put_object(out, array);
}

typedef struct callee_closure {
  callee_function_object function;
  const char* name;
  callee_body* body;
  void (*destroy)(void* state);
  /* the state follows */
} callee_closure;

CALLEE_ASSERT(sizeof(callee_closure) % 16 == 0, "the state is aligned to 16");

static inline int callee_run_closure(void* self, const callee_value* args,
                                     int32_t count, callee_value* result) {
  callee_closure* closure = (callee_closure*)self;
  callee_call call = {closure->name, closure + 1, args, count, result};
  return callee_run(closure->body, &call);
}

static inline void callee_delete_closure(void* self, int flags) {
  callee_closure* closure = (callee_closure*)self;
  if ((flags & CALLEE_DELETE_CONTENTS) != 0 && closure->destroy != NULL)
    closure->destroy(closure + 1);
  if ((flags & CALLEE_DELETE_MEMORY) != 0) callee_free(self);
}

/* Creates a function. `name` is used in errors and must stay valid as long as
 * the library is loaded. `size` bytes of `state` are copied; call->state points
 * to the copy, aligned to 16, in every call of `body`, on any thread. If
 * `destroy` is not NULL, it is called with the same pointer when the function
 * is destroyed. */
static inline bool callee_put_function(callee_value* out, const char* name,
                                       callee_body* body, const void* state,
                                       size_t size,
                                       void (*destroy)(void* state)) {
  callee_closure* closure = (callee_closure*)callee_new(
      CALLEE_FUNCTION, sizeof *closure, size, 1, callee_delete_closure);
  if (closure != NULL) {
    closure->function.run = callee_run_closure;
    closure->name = name;
    closure->body = body;
    closure->destroy = destroy;
    if (size != 0) memcpy(closure + 1, state, size);
  }
  return callee_put_object(out, closure);
}

/* Makes an owned copy of a borrowed value, such as an argument; an object that
 * may be moved is moved. Returns 0. Raises an error and returns CALLEE_FAILED
 * for a DLTensor*, which nothing keeps alive after the call, for an object that
 * was already moved, and if memory is exhausted. */
static inline int callee_own(callee_value* out, const callee_value* value) {
  callee_span span;
  switch (value->tag) {
    case CALLEE_TENSOR_VIEW:
      return callee_raise("TypeError",
                          "a DLTensor* cannot be kept after the call; expected "
                          "ffi.Tensor");
    case CALLEE_C_STRING:
      callee_as_text(value, &span);
      return callee_put_text(out, span.data, span.size) ? 0
                                                        : callee_raise_memory();
    case CALLEE_BYTES_VIEW:
      callee_as_bytes(value, &span);
      return callee_put_bytes(out, span.data, span.size)
                 ? 0
                 : callee_raise_memory();
    case CALLEE_MOVED_OBJECT:
      if (*value->as.moved == NULL)
        return callee_raise("ValueError", "the object was already moved");
      callee_put_object(out, *value->as.moved);
      *value->as.moved = NULL;
      return 0;
    default:
      callee_retain(value);
      *out = *value;
      return 0;
  }
}

/* Calls a function that was passed as an argument. Returns 0 on success; the
 * caller then owns *result and must release or return it. Otherwise the called
 * function has raised an error, and the calling function should return the same
 * number. */
static inline int callee_invoke(callee_function_object* function,
                                const callee_value* args, int32_t count,
                                callee_value* result) {
  callee_put_none(result);
  return function->run(function, args, count, result);
}

/* ---------------------------------------------------------------- arguments */

static inline bool callee_count_between(callee_call* call, int32_t least,
                                        int32_t most) {
  if (call->count >= least && call->count <= most) return true;
  if (least == most)
    callee_raise("TypeError", "%s() takes %d argument%s, not %d", call->name,
                 (int)least, least == 1 ? "" : "s", (int)call->count);
  else
    callee_raise("TypeError", "%s() takes %d to %d arguments, not %d",
                 call->name, (int)least, (int)most, (int)call->count);
  return false;
}

static inline bool callee_count(callee_call* call, int32_t count) {
  return callee_count_between(call, count, count);
}

/* Returns an argument of any type, or raises an error and returns NULL if it is
 * missing. */
static inline const callee_value* callee_argument(callee_call* call,
                                                  int32_t index) {
  if (index >= 0 && index < call->count) return &call->args[index];
  callee_raise("TypeError", "%s() argument %d is missing", call->name,
               (int)index);
  return NULL;
}

static inline bool callee_mismatch(callee_call* call, int32_t index,
                                   const char* expected) {
  const callee_value* value = &call->args[index];
  const callee_header* object = callee_object(value);
  callee_raise("TypeError", "%s() argument %d must be %s, not %s", call->name,
               (int)index, expected,
               callee_type_name(object != NULL ? object->tag : value->tag));
  return false;
}

#define CALLEE_ARGUMENT(name, type, expected)                        \
  static inline bool callee_##name(callee_call* call, int32_t index, \
                                   type* found) {                    \
    const callee_value* value = callee_argument(call, index);        \
    if (value == NULL) return false;                                 \
    return callee_as_##name(value, found) ||                         \
           callee_mismatch(call, index, expected);                   \
  }

CALLEE_ARGUMENT(int, int64_t, "int")
CALLEE_ARGUMENT(float, double, "float")
CALLEE_ARGUMENT(bool, bool, "bool")
CALLEE_ARGUMENT(text, callee_span, "str")
CALLEE_ARGUMENT(bytes, callee_span, "bytes")
CALLEE_ARGUMENT(pointer, void*, "void*")
CALLEE_ARGUMENT(dtype, callee_dtype_value, "DataType")
CALLEE_ARGUMENT(device, callee_device_value, "Device")
CALLEE_ARGUMENT(tensor, const callee_tensor_value*, "ffi.Tensor")
CALLEE_ARGUMENT(shape, callee_dims, "ffi.Shape")
CALLEE_ARGUMENT(array, callee_items, "ffi.Array")
CALLEE_ARGUMENT(map, callee_entries, "ffi.Map")
CALLEE_ARGUMENT(function, callee_function_object*, "ffi.Function")

/* ------------------------------------------------------------------ results
 *
 * Each sets the result of the call and returns 0, or raises an error and
 * returns CALLEE_FAILED. */

static inline int callee_return_none(callee_call* call) {
  callee_put_none(call->result);
  return 0;
}

static inline int callee_return_int(callee_call* call, int64_t value) {
  callee_put_int(call->result, value);
  return 0;
}

static inline int callee_return_float(callee_call* call, double value) {
  callee_put_float(call->result, value);
  return 0;
}

static inline int callee_return_bool(callee_call* call, bool value) {
  callee_put_bool(call->result, value);
  return 0;
}

static inline int callee_return_pointer(callee_call* call, void* value) {
  callee_put_pointer(call->result, value);
  return 0;
}

static inline int callee_return_dtype(callee_call* call,
                                      callee_dtype_value value) {
  callee_put_dtype(call->result, value);
  return 0;
}

static inline int callee_return_device(callee_call* call,
                                       callee_device_value value) {
  callee_put_device(call->result, value);
  return 0;
}

static inline int callee_return_text(callee_call* call, const char* data,
                                     size_t size) {
  return callee_put_text(call->result, data, size) ? 0 : callee_raise_memory();
}

static inline int callee_return_c_string(callee_call* call, const char* text) {
  return callee_return_text(call, text, strlen(text));
}

static inline int callee_return_bytes(callee_call* call, const void* data,
                                      size_t size) {
  return callee_put_bytes(call->result, data, size) ? 0 : callee_raise_memory();
}

static inline int callee_return_shape(callee_call* call, const int64_t* dims,
                                      size_t rank) {
  return callee_put_shape(call->result, dims, rank) ? 0 : callee_raise_memory();
}

/* Takes ownership of the items, as callee_put_array does. */
static inline int callee_return_array(callee_call* call,
                                      const callee_value* items, size_t size) {
  return callee_put_array(call->result, items, size) ? 0
                                                     : callee_raise_memory();
}

static inline int callee_return_function(callee_call* call, const char* name,
                                         callee_body* body, const void* state,
                                         size_t size,
                                         void (*destroy)(void* state)) {
  return callee_put_function(call->result, name, body, state, size, destroy)
             ? 0
             : callee_raise_memory();
}

/* Returns a copy of a borrowed value: an argument or an element of one. */
static inline int callee_return_borrowed(callee_call* call,
                                         const callee_value* value) {
  return callee_own(call->result, value);
}

/* Returns an owned value, such as the result of callee_invoke. */
static inline int callee_return_owned(callee_call* call, callee_value value) {
  *call->result = value;
  return 0;
}

#endif /* FNABI_CALLEE_H */
