/* callee.h - write functions of TVM-FFI's stable C ABI in C11 or C++11.
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
 * is `callee_call* call`. The function ends by returning what callee_return_*
 * returns. To fail, it raises an error and returns CALLEE_FAILED, or returns
 * what callee_raise returns. The functions below raise errors themselves:
 * callee_int, for example, returns false if the argument is missing or has
 * another type, after raising an error that names the function and the argument.
 *
 * The caller owns the arguments. They are valid until the call returns, and so
 * is everything they point to. The caller owns the result once it is returned;
 * a result that is set before the function fails is released.
 * The tag of a result that is an object equals that in the object's header;
 * a caller refuses another one, and may leak the object.
 *
 * Tensors that a function makes have memory of the caller's allocator, which is
 * that of torch in a call with a tensor of torch; see callee_new_tensor.
 *
 * C++ exceptions do not leave the function: each becomes an error, a
 * std::exception one with its message, but std::bad_alloc "out of memory".
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

/* Mistakes that end in a crash when the function is called. */
#pragma GCC diagnostic error "-Wreturn-type"
#ifndef __cplusplus
#pragma GCC diagnostic error "-Wincompatible-pointer-types"
#pragma GCC diagnostic error "-Wint-conversion"
#pragma GCC diagnostic error "-Wimplicit-function-declaration"
#endif

#define CALLEE_VISIBLE __attribute__((visibility("default")))
/* For functions with static data: every file that includes the header defines
 * them, and the linker keeps one definition for the library. */
#define CALLEE_ONCE __attribute__((weak, visibility("hidden")))
#define CALLEE_PRINTF(text, first) __attribute__((format(printf, text, first)))
#ifdef __has_attribute
#if __has_attribute(unavailable)
#define CALLEE_REFUSED(reason) __attribute__((unavailable(reason)))
#endif
#endif
#ifndef CALLEE_REFUSED
#define CALLEE_REFUSED(reason)
#endif

/* What a body returns, and callee_raise and callee_return_*. A struct, so that
 * the compiler refuses `return a + b;` instead of `return callee_return_int(call,
 * a + b);`. */
typedef struct callee_status {
  int code; /* 0: success */
} callee_status;

static inline callee_status callee_status_of(int code) {
  callee_status status;
  status.code = code;
  return status;
}

/* What a function returns after an error was raised. */
#define CALLEE_FAILED callee_status_of(-1)

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
  CALLEE_DICT = 76,
  CALLEE_BIG_INT = 78 /* an int outside int64 */
};

/* DLPack's DLDataType. code: 0 int, 1 uint, 2 float, 3 pointer, 4 bfloat,
 * 5 complex, 6 bool. lanes: 1 for scalars, else the elements of a vector. */
typedef struct callee_dtype_value {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} callee_dtype_value;

static inline callee_dtype_value callee_dtype_of(uint8_t code, uint8_t bits) {
  callee_dtype_value dtype;
  dtype.code = code;
  dtype.bits = bits;
  dtype.lanes = 1;
  return dtype;
}

#define CALLEE_INT8 callee_dtype_of(0, 8)
#define CALLEE_INT16 callee_dtype_of(0, 16)
#define CALLEE_INT32 callee_dtype_of(0, 32)
#define CALLEE_INT64 callee_dtype_of(0, 64)
#define CALLEE_UINT8 callee_dtype_of(1, 8)
#define CALLEE_UINT16 callee_dtype_of(1, 16)
#define CALLEE_UINT32 callee_dtype_of(1, 32)
#define CALLEE_UINT64 callee_dtype_of(1, 64)
#define CALLEE_FLOAT16 callee_dtype_of(2, 16)
#define CALLEE_FLOAT32 callee_dtype_of(2, 32)
#define CALLEE_FLOAT64 callee_dtype_of(2, 64)
#define CALLEE_BFLOAT16 callee_dtype_of(4, 16)
#define CALLEE_BOOL8 callee_dtype_of(6, 8)

/* DLPack's DLDevice: type 1 is the CPU, type 2 is CUDA. */
typedef struct callee_device_value {
  int32_t type;
  int32_t id;
} callee_device_value;

static inline callee_device_value callee_device_of(int32_t type, int32_t id) {
  callee_device_value device;
  device.type = type;
  device.id = id;
  return device;
}

#define CALLEE_CPU callee_device_of(1, 0)

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

/* One call. Valid until the function returns. Its arguments are read by
 * callee_int, callee_text, callee_argument and so on, which check that they
 * exist and what they are; `args` cannot be read. */
typedef struct callee_call {
  const char* name; /* of the function */
  void* state;      /* of a closure, otherwise NULL */
  union {
    const callee_value* given; /* private */
    const struct read_arguments_with_callee_int_and_others* args CALLEE_REFUSED(
        "read arguments with callee_int(call, 0, &x), callee_text and so on, "
        "or callee_argument(call, 0) for one of any type");
  };
  int32_t count;
  callee_value* result; /* set by callee_return_* */
} callee_call;

typedef callee_status callee_body(callee_call* call);

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

/* Functions of the runtime. A weak symbol is resolved only when the library is
 * loaded; the runtime may be loaded later. So if the weak symbol is NULL, it is
 * looked up again with dlsym. */
#ifdef __ELF__
CALLEE_C void TVMFFIErrorSetRaisedFromCStr(const char* kind,
                                           const char* message)
    __attribute__((weak)) CALLEE_VISIBLE;
CALLEE_C void (*callee_env_allocator(void))(void) __asm__(
    "TVMFFIEnvGetDLPackManagedTensorAllocator")
    __attribute__((weak)) CALLEE_VISIBLE;
CALLEE_C int callee_env_allocate(callee_tensor_value* like,
                                 void** made) __asm__("TVMFFIEnvTensorAlloc")
    __attribute__((weak)) CALLEE_VISIBLE;
#define CALLEE_WEAK(function) function
#pragma weak dlsym
#else
#define CALLEE_WEAK(function) NULL
#endif

/* Writes the address of a symbol to *found, the pointer to a function; NULL if
 * nothing in the process has it. */
static inline void callee_look_up(const char* name, void* found) {
  void* symbol = NULL;
#ifdef __ELF__
  if (dlsym != NULL) /* an old libc keeps dlsym in libdl */
#endif
#ifdef RTLD_DEFAULT
    symbol = dlsym(RTLD_DEFAULT, name);
#else
  symbol = dlsym(NULL, name);
#endif
  memcpy(found, &symbol, sizeof symbol);
}

static inline callee_raiser* callee_runtime(void) {
  callee_raiser* raiser = CALLEE_WEAK(TVMFFIErrorSetRaisedFromCStr);
  if (raiser == NULL) callee_look_up("TVMFFIErrorSetRaisedFromCStr", &raiser);
  return raiser;
}

/* Ends a text in "...", between two characters of UTF-8. */
static inline void callee_truncate(char* text, size_t capacity) {
  size_t end = capacity - 4;
  while (end > capacity - 8 && ((unsigned char)text[end] & 0xC0) == 0x80) end--;
  memcpy(text + end, "...", 4);
}

CALLEE_PRINTF(2, 0)
static inline callee_status callee_raise_list(const char* kind,
                                              const char* format,
                                              va_list list) {
  callee_slot made; /* what is formatted may be in the slot */
  int size = snprintf(made.kind, sizeof made.kind, "%s",
                      kind != NULL ? kind : "RuntimeError");
  if (size >= (int)sizeof made.kind)
    callee_truncate(made.kind, sizeof made.kind);
  size = format == NULL
             ? -1
             : vsnprintf(made.message, sizeof made.message, format, list);
  if (size < 0) made.message[0] = 0;
  if (size >= (int)sizeof made.message)
    callee_truncate(made.message, sizeof made.message);
  callee_raiser* raiser = callee_runtime();
  callee_slot* slot = callee_own_slot();
  slot->full = raiser == NULL;
  memcpy(slot->kind, made.kind, strlen(made.kind) + 1);
  memcpy(slot->message, made.message, strlen(made.message) + 1);
  if (raiser != NULL) raiser(slot->kind, slot->message);
  return CALLEE_FAILED;
}

/* Raises an error and returns CALLEE_FAILED. `kind` is the name of a Python
 * exception, or NULL for RuntimeError; `format` and what follows are those of
 * printf. Both are copied. */
CALLEE_PRINTF(2, 3)
static inline callee_status callee_raise(const char* kind, const char* format,
                                         ...) {
  va_list list;
  va_start(list, format);
  callee_status result = callee_raise_list(kind, format, list);
  va_end(list);
  return result;
}

static inline callee_status callee_raise_memory(void) {
  return callee_raise("MemoryError", "out of memory");
}

/* ---------------------------------------------------------------- functions */

#if defined(__cplusplus) && defined(__cpp_exceptions)
static inline callee_status callee_run(callee_body* body, callee_call* call) {
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
static inline callee_status callee_run(callee_body* body, callee_call* call) {
  return body(call);
}
#endif

#define CALLEE_SYMBOL(symbol)                                              \
  CALLEE_C CALLEE_VISIBLE int symbol(void* self, const callee_value* args, \
                                     int32_t count, callee_value* result); \
  CALLEE_C CALLEE_VISIBLE int symbol(void* self, const callee_value* args, \
                                     int32_t count, callee_value* result)

static inline void callee_release(const callee_value* value);

/* A result that is set by a function that then fails is released. */
static inline int callee_enter(callee_body* body, const char* name, void* state,
                               const callee_value* args, int32_t count,
                               callee_value* result) {
  callee_call call;
  callee_value own;
  memset(&own, 0, sizeof own);
  call.name = name;
  call.state = state;
  call.given = args;
  call.count = count;
  call.result = &own;
  int code = callee_run(body, &call).code;
  if (code == 0)
    *result = own;
  else
    callee_release(&own);
  return code;
}

/* Begins the definition of an exported function. */
#define CALLEE_EXPORT(function)                                               \
  static callee_status callee_body_##function(callee_call* call);             \
  CALLEE_SYMBOL(__tvm_ffi_##function) {                                       \
    (void)self;                                                               \
    return callee_enter(callee_body_##function, #function, NULL, args, count, \
                        result);                                              \
  }                                                                           \
  static callee_status callee_body_##function(callee_call* call)

/* Exports a function that returns a string literal. */
#define CALLEE_TEXT_SYMBOL(symbol, literal)                      \
  CALLEE_SYMBOL(symbol) {                                        \
    (void)self;                                                  \
    (void)args;                                                  \
    (void)count;                                                 \
    return callee_put_text(result, literal, sizeof(literal) - 1) \
               ? 0                                               \
               : callee_raise_memory().code;                     \
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
 * They are identifiers, at least one; the ABI itself has none. What fnabi stub
 * writes requires an argument for each. */
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

/* Drops the references of `count` values, such as the elements that a function
 * made before it failed. */
static inline void callee_release_all(const callee_value* values,
                                      size_t count) {
  for (size_t i = 0; i < count; i++) callee_release(&values[i]);
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

typedef struct callee_tensor_object {
  callee_header header;
  callee_tensor_value tensor;
} callee_tensor_object;

/* A Map or Dict in its small form: `slots` is the capacity in pairs, with bit 63
 * set, and `data` points to pairs of key and value. */
typedef struct callee_map_object {
  callee_header header;
  void* data;
  size_t size;
  uint64_t slots;
  void (*data_deleter)(void* data); /* may be NULL */
} callee_map_object;

/* The other form: a hash table of `slots` slots, a power of two. `data` points
 * to blocks of 16 slots: 16 bytes about the slots, then 16 entries. */
typedef struct callee_table_object {
  callee_map_object map;
  uint32_t shift; /* 64 - log2(slots) */
  uint32_t padding;
  uint64_t head; /* the slot of the first entry; UINT64_MAX if there is none */
  uint64_t tail;
} callee_table_object;

typedef struct callee_pair {
  callee_value key, value;
} callee_pair;

typedef struct callee_entry {
  callee_pair pair;
  uint64_t before; /* the slots of its neighbours, in the order of insertion */
  uint64_t after;
} callee_entry;

CALLEE_ASSERT(sizeof(callee_map_object) == 56 &&
                  sizeof(callee_table_object) == 80 &&
                  sizeof(callee_entry) == 48,
              "the layouts of the ABI");

typedef struct callee_function_object {
  callee_header header;
  callee_entry_point* run;
  void* reserved; /* NULL */
} callee_function_object;

/* ------------------------------------------------------------ single values
 *
 * callee_as_* read a borrowed value, such as an element of an array. They
 * return false if the value has another type; an int is a bool too, a bool an
 * int, and both are floats, as for the runtime. callee_put_* write a value that
 * the caller then owns. Those that allocate return false and write None if memory
 * is exhausted, or if what they copy is NULL and not empty. None of them raises
 * an error. A value that is None or no object may be released, or not. */

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
  if (tag == CALLEE_BIG_INT) return "an int outside int64";
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
    *found = &((callee_tensor_object*)object)->tensor;
  else if (value->tag == CALLEE_TENSOR_VIEW)
    *found = value->as.tensor;
  else
    return false;
  return true;
}

/* Returns a pointer to the first element. */
static inline void* callee_data(const callee_tensor_value* tensor) {
  return (char*)tensor->data + tensor->byte_offset;
}

/* Returns the number of elements, of a shape that int64 counts, as those that
 * callee_is_contiguous accepts. */
static inline int64_t callee_elements(const callee_tensor_value* tensor) {
  uint64_t count = 1;
  for (int32_t i = 0; i < tensor->rank; i++)
    count *= (uint64_t)tensor->shape[i];
  return (int64_t)count;
}

static inline bool callee_same_dtype(callee_dtype_value a,
                                     callee_dtype_value b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

/* Returns whether the elements follow each other in row-major order, and int64
 * counts them. */
static inline bool callee_is_contiguous(const callee_tensor_value* tensor) {
  int64_t step = 1;
  for (int32_t i = 0; i < tensor->rank; i++)
    if (tensor->shape[i] == 0) return true;
  for (int32_t i = tensor->rank; i-- > 0;) {
    if (tensor->shape[i] == 1) continue;
    if (tensor->strides != NULL && tensor->strides[i] != step) return false;
    if (tensor->shape[i] < 0 ||
        __builtin_mul_overflow(step, tensor->shape[i], &step))
      return false;
  }
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
 * A Dict is mutable: code that runs meanwhile may change it. */
typedef struct callee_entries {
  size_t size;
  /* the rest is for callee_next */
  const char* data;
  uint64_t first, next;
  size_t given;
  bool small;
} callee_entries;

enum { CALLEE_BLOCK = 16, CALLEE_SMALL_MAP = 4 };
#define CALLEE_SMALL (UINT64_C(1) << 63)
#define CALLEE_NOWHERE UINT64_MAX

static inline callee_entry* callee_entry_at(const void* data, uint64_t slot) {
  const uint64_t block = CALLEE_BLOCK + CALLEE_BLOCK * sizeof(callee_entry);
  const char* at = (const char*)data + slot / CALLEE_BLOCK * block;
  return (callee_entry*)(uintptr_t)(at + CALLEE_BLOCK) + slot % CALLEE_BLOCK;
}

static inline void callee_begin(const callee_map_object* map,
                                callee_entries* found) {
  found->data = (const char*)map->data;
  found->size = map->size;
  found->given = 0;
  found->small = (map->slots & CALLEE_SMALL) != 0;
  found->first = found->small ? 0 : ((const callee_table_object*)map)->head;
  found->next = found->first;
}

static inline bool callee_as_map(const callee_value* value,
                                 callee_entries* found) {
  callee_header* object = callee_object_of(value, CALLEE_MAP, CALLEE_DICT);
  if (object == NULL) return false;
  callee_begin((const callee_map_object*)object, found);
  return true;
}

/* Advances to the next entry. Returns false after the last one. */
static inline bool callee_next(callee_entries* entries,
                               const callee_value** key,
                               const callee_value** value) {
  const callee_pair* pair;
  if (entries->given >= entries->size) return false;
  if (entries->small) {
    pair = (const callee_pair*)(const void*)entries->data + entries->given;
  } else {
    if (entries->next == CALLEE_NOWHERE) return false;
    const callee_entry* entry = callee_entry_at(entries->data, entries->next);
    entries->next = entry->after;
    pair = &entry->pair;
  }
  entries->given++;
  *key = &pair->key;
  *value = &pair->value;
  return true;
}

/* Returns the value of a key that is text, or NULL if there is none. Takes time
 * in proportion to the number of entries. callee_next is not affected. */
static inline const callee_value* callee_find(const callee_entries* entries,
                                              const char* name) {
  callee_entries rest = *entries;
  rest.given = 0;
  rest.next = rest.first;
  const callee_value *key, *value;
  callee_span text;
  size_t size = strlen(name);
  while (callee_next(&rest, &key, &value))
    if (callee_as_text(key, &text) && text.size == size &&
        memcmp(text.data, name, size) == 0)
      return value;
  return NULL;
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
    if (size != 0 && data == NULL) return false;
    if (size != 0) memcpy(out->as.text, data, size);
    out->tag = small;
    out->size = (uint32_t)size;
    return true;
  }
  if (size == SIZE_MAX || data == NULL) return false;
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

static inline bool callee_put_c_string(callee_value* out, const char* text) {
  return callee_put_text(out, text, text == NULL ? SIZE_MAX : strlen(text));
}

static inline bool callee_put_bytes(callee_value* out, const void* data,
                                    size_t size) {
  return callee_put_span(out, (const char*)data, size, CALLEE_SMALL_BYTES,
                         CALLEE_BYTES);
}

static inline bool callee_put_shape(callee_value* out, const int64_t* dims,
                                    size_t rank) {
  if (rank != 0 && dims == NULL) return callee_put_object(out, NULL);
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
    callee_release_all(array->items, (size_t)array->size);
  if ((flags & CALLEE_DELETE_MEMORY) != 0) callee_free(self);
}

/* Creates an Array from owned values. Takes ownership of them even if it fails;
 * they are then released. */
static inline bool callee_put_array(callee_value* out,
                                    const callee_value* items, size_t size) {
  callee_put_none(out);
  if (size != 0 && items == NULL) return false;
  callee_array_object* array = (callee_array_object*)callee_new(
      CALLEE_ARRAY, sizeof *array, size, sizeof *items, callee_delete_array);
  if (array == NULL) {
    callee_release_all(items, size);
  } else {
    array->items = (callee_value*)(void*)(array + 1);
    array->size = array->capacity = (int64_t)size;
    if (size != 0) memcpy(array->items, items, size * sizeof *items);
  }
  return callee_put_object(out, array);
}

/* ---------------------------------------------------------------------- maps
 *
 * The runtime finds keys and adds entries in place, in the tables that it finds
 * in memory. So a map has the layout that the runtime gives it: up to 4 pairs
 * are an array, more are a hash table. The keys with one home slot form a chain
 * that begins there. The byte about a slot is 0xFF if it is empty; otherwise bit
 * 7 is clear if a chain begins there, and the rest is the number of the distance
 * to the next slot of the chain, or 0 at its end. */

static inline void callee_delete_map(void* self, int flags) {
  callee_map_object* map = (callee_map_object*)self;
  if ((flags & CALLEE_DELETE_CONTENTS) != 0) {
    callee_entries entries;
    const callee_value *key, *value;
    callee_begin(map, &entries);
    while (callee_next(&entries, &key, &value)) {
      callee_release(key);
      callee_release(value);
    }
    if (map->data_deleter != NULL) map->data_deleter(map->data);
  }
  if ((flags & CALLEE_DELETE_MEMORY) != 0) callee_free(self);
}

/* Returns the tag under which a key is hashed, and the bytes that are, if these
 * are not the payload. */
static inline int32_t callee_key(const callee_value* key, callee_span* found) {
  if (callee_as_bytes(key, found)) {
    if (found->data == NULL) found->data = "";
    callee_span text;
    return callee_as_text(key, &text) ? CALLEE_TEXT : CALLEE_BYTES;
  }
  found->data = NULL;
  found->size = 0;
  if (key->tag == CALLEE_BIG_INT) {
    const char* words = (const char*)(key->as.object + 1);
    memcpy(&found->size, words, sizeof found->size);
    found->data = words + sizeof found->size;
    found->size *= 8;
  }
  return key->tag;
}

static inline bool callee_same_key(const callee_value* a,
                                   const callee_value* b) {
  callee_span of_a, of_b;
  if (callee_key(a, &of_a) != callee_key(b, &of_b)) return false;
  if (of_a.data == NULL) return a->as.bits == b->as.bits;
  return of_a.size == of_b.size && memcmp(of_a.data, of_b.data, of_a.size) == 0;
}

static inline uint64_t callee_hash(const callee_value* key) {
  callee_span bytes;
  uint64_t tag = (uint64_t)callee_key(key, &bytes), hash = 0;
  if (bytes.data == NULL) hash = key->as.bits;
  for (size_t at = 0; at < bytes.size; at += 8) {
    uint64_t word = 0; /* little-endian */
    for (size_t i = 0; i < 8 && at + i < bytes.size; i++)
      word |= (uint64_t)(unsigned char)bytes.data[at + i] << 8 * i;
    hash = (hash * UINT64_C(1099511628211) + word) % 2147483647;
  }
  return tag ^ (hash + 0x9E3779B9u + (tag << 6) + (tag >> 2));
}

/* Distances have numbers from 1 on: 1 to 15, then triangular numbers. There are
 * more beyond these, which an insertion does without. */
enum { CALLEE_DISTANCES = 83 };

static inline uint64_t callee_distance(uint64_t number) {
  return number < 16 ? number : (number - 10) * (number - 9) / 2;
}

static inline uint8_t* callee_about(const callee_table_object* table,
                                    uint64_t slot) {
  return (uint8_t*)callee_entry_at(table->map.data,
                                   slot - slot % CALLEE_BLOCK) -
         CALLEE_BLOCK + slot % CALLEE_BLOCK;
}

static inline uint64_t callee_home(const callee_table_object* table,
                                   const callee_value* key) {
  return callee_hash(key) * UINT64_C(11400714819323198485) >> table->shift;
}

/* Returns the next slot of a chain, or CALLEE_NOWHERE. */
static inline uint64_t callee_after(const callee_table_object* table,
                                    uint64_t slot) {
  uint64_t number = *callee_about(table, slot) & 0x7F;
  return number == 0
             ? CALLEE_NOWHERE
             : (slot + callee_distance(number)) & (table->map.slots - 1);
}

/* Appends an empty slot to the chain that ends at `last`. Returns it, or
 * CALLEE_NOWHERE if there is none in reach. */
static inline uint64_t callee_extend(callee_table_object* table,
                                     uint64_t last) {
  for (uint64_t number = 1; number < CALLEE_DISTANCES; number++) {
    uint64_t slot = (last + callee_distance(number)) & (table->map.slots - 1);
    if (*callee_about(table, slot) != 0xFF) continue;
    *callee_about(table, slot) = 0x80;
    *callee_about(table, last) =
        (uint8_t)((*callee_about(table, last) & 0x80) | number);
    return slot;
  }
  return CALLEE_NOWHERE;
}

/* Finds a slot for each pair, and writes it to `slots`, with CALLEE_AGAIN if an
 * equal key came before. First those at which chains begin, so that nothing has
 * to be moved later. Returns false if a chain cannot grow. */
#define CALLEE_AGAIN (UINT64_C(1) << 63)

static inline bool callee_place(callee_table_object* table,
                                const callee_pair* pairs, size_t count,
                                uint64_t* slots) {
  for (size_t i = 0; i < count; i++) {
    uint64_t home = callee_home(table, &pairs[i].key);
    bool is_first = *callee_about(table, home) == 0xFF;
    slots[i] = is_first ? home : home | CALLEE_AGAIN;
    if (!is_first) continue;
    *callee_about(table, home) = 0;
    callee_entry_at(table->map.data, home)->pair.key = pairs[i].key;
  }
  for (size_t i = 0; i < count; i++) {
    if ((slots[i] & CALLEE_AGAIN) == 0) continue;
    uint64_t at = slots[i] & ~CALLEE_AGAIN, last = at;
    while (at != CALLEE_NOWHERE &&
           !callee_same_key(&callee_entry_at(table->map.data, at)->pair.key,
                            &pairs[i].key)) {
      last = at;
      at = callee_after(table, at);
    }
    slots[i] = at | CALLEE_AGAIN;
    if (at != CALLEE_NOWHERE) continue;
    slots[i] = callee_extend(table, last);
    if (slots[i] == CALLEE_NOWHERE) return false;
    callee_entry_at(table->map.data, slots[i])->pair.key = pairs[i].key;
  }
  return true;
}

/* Fills an empty table. */
static inline void callee_fill(callee_table_object* table,
                               const callee_pair* pairs, size_t count,
                               const uint64_t* slots) {
  for (size_t i = 0; i < count; i++) {
    callee_entry* entry =
        callee_entry_at(table->map.data, slots[i] & ~CALLEE_AGAIN);
    if ((slots[i] & CALLEE_AGAIN) != 0) {
      callee_release(&pairs[i].key);
      callee_release(&entry->pair.value);
      entry->pair.value = pairs[i].value;
      continue;
    }
    entry->pair = pairs[i];
    entry->before = table->tail;
    entry->after = CALLEE_NOWHERE;
    if (table->tail == CALLEE_NOWHERE)
      table->head = slots[i];
    else
      callee_entry_at(table->map.data, table->tail)->after = slots[i];
    table->tail = slots[i];
    table->map.size++;
  }
}

static inline callee_map_object* callee_new_table(const callee_pair* pairs,
                                                  size_t count) {
  const size_t block = CALLEE_BLOCK * (1 + sizeof(callee_entry));
  if (count > SIZE_MAX / 1024) return NULL;
  callee_table_object* table = (callee_table_object*)callee_new(
      CALLEE_MAP, sizeof *table, 0, 1, callee_delete_map);
  uint64_t* slots = (uint64_t*)malloc(count * sizeof *slots);
  bool done = false;
  uint64_t size = CALLEE_BLOCK;
  while (size < 2 * count) size *= 2;
  for (; table != NULL && slots != NULL && !done && size / 64 <= count;
       size *= 2) {
    free(table->map.data);
    table->map.data = calloc(size / CALLEE_BLOCK, block);
    if (table->map.data == NULL) break;
    table->map.slots = size;
    table->shift = 64;
    for (uint64_t n = size; n > 1; n /= 2) table->shift--;
    for (uint64_t i = 0; i < size; i += CALLEE_BLOCK)
      memset(callee_about(table, i), 0xFF, CALLEE_BLOCK);
    done = callee_place(table, pairs, count, slots);
  }
  if (done) {
    table->map.data_deleter = free;
    table->head = table->tail = CALLEE_NOWHERE;
    callee_fill(table, pairs, count, slots);
  } else if (table != NULL) {
    free(table->map.data);
    callee_free(table);
    table = NULL;
  }
  free(slots);
  return (callee_map_object*)table;
}

static inline callee_map_object* callee_new_small(const callee_pair* pairs,
                                                  size_t count) {
  callee_map_object* map =
      (callee_map_object*)callee_new(CALLEE_MAP, sizeof *map, CALLEE_SMALL_MAP,
                                     sizeof *pairs, callee_delete_map);
  if (map == NULL) return NULL;
  callee_pair* in = (callee_pair*)(void*)(map + 1);
  map->data = in;
  map->slots = CALLEE_SMALL | CALLEE_SMALL_MAP;
  for (size_t i = 0; i < count; i++) {
    size_t at = 0;
    while (at < map->size && !callee_same_key(&in[at].key, &pairs[i].key)) at++;
    if (at == map->size) {
      in[map->size++] = pairs[i];
      continue;
    }
    callee_release(&pairs[i].key);
    callee_release(&in[at].value);
    in[at].value = pairs[i].value;
  }
  return map;
}

/* Creates a Map from `count` pairs of owned values, in their order. If keys are
 * equal, the last value and the first position count. Texts are equal to texts,
 * bytes to bytes and numbers of one type to each other if they have the same
 * content; other objects only to themselves. Takes ownership of keys and values
 * even if it fails; they are then released. */
static inline bool callee_put_map(callee_value* out, const callee_pair* pairs,
                                  size_t count) {
  callee_put_none(out);
  if (count != 0 && pairs == NULL) return false;
  callee_map_object* map = count <= CALLEE_SMALL_MAP
                               ? callee_new_small(pairs, count)
                               : callee_new_table(pairs, count);
  for (size_t i = 0; map == NULL && i < count; i++) {
    callee_release(&pairs[i].key);
    callee_release(&pairs[i].value);
  }
  return callee_put_object(out, map);
}

/* ------------------------------------------------------------------- tensors */

/* Writes a dtype as text, such as "float32" or "int8x4". */
static inline void callee_dtype_text(callee_dtype_value dtype, char* text,
                                     size_t size) {
  static const char* const names[] = {"int",
                                      "uint",
                                      "float",
                                      "handle",
                                      "bfloat",
                                      "complex",
                                      "bool",
                                      "float8_e3m4",
                                      "float8_e4m3",
                                      "float8_e4m3b11fnuz",
                                      "float8_e4m3fn",
                                      "float8_e4m3fnuz",
                                      "float8_e5m2",
                                      "float8_e5m2fnuz",
                                      "float8_e8m0fnu",
                                      "float6_e2m3fn",
                                      "float6_e3m2fn",
                                      "float4_e2m1fn"};
  const int known = (int)(sizeof names / sizeof *names);
  const bool named = dtype.code < known;
  char bits[4] = "", lanes[8] = "";
  /* the names of the others have their bits */
  if (!named || (dtype.code < 7 && !(dtype.code == 6 && dtype.bits == 8)))
    snprintf(bits, sizeof bits, "%d", (int)dtype.bits);
  if (dtype.lanes != 1) snprintf(lanes, sizeof lanes, "x%d", (int)dtype.lanes);
  snprintf(text, size, "%s%s%s", named ? names[dtype.code] : "code?", bits,
           lanes);
}

/* Computes the size of a tensor in bytes. Returns true, or raises an error and
 * returns false if there is no such tensor. */
static inline bool callee_tensor_size(callee_dtype_value dtype,
                                      const int64_t* shape, int32_t rank,
                                      uint64_t* size) {
  const uint64_t most = PTRDIFF_MAX / 2;
  uint64_t bits = (uint64_t)dtype.bits * dtype.lanes, all = bits;
  bool empty = false;
  const char* problem = NULL;
  if (rank < 0 || rank > 64) {
    callee_raise("ValueError", "a tensor of rank %d; expected 0 to 64",
                 (int)rank);
    return false;
  }
  if (bits == 0) problem = "a tensor whose elements have no bits";
  if (rank > 0 && shape == NULL) problem = "a tensor whose shape is NULL";
  for (int32_t i = 0; problem == NULL && i < rank; i++) {
    if (shape[i] < 0) {
      callee_raise("ValueError", "dim %d of a tensor is negative: %lld", (int)i,
                   (long long)shape[i]);
      return false;
    }
    if (shape[i] == 0)
      empty = true;
    else if (all > most / (uint64_t)shape[i])
      problem = "a tensor that is larger than memory";
    else
      all *= (uint64_t)shape[i];
  }
  if (problem != NULL) callee_raise("ValueError", "%s", problem);
  *size = empty ? 0 : (all + 7) / 8;
  return problem == NULL;
}

/* Memory of the CPU, aligned to 256 bytes. Raises an error and returns NULL for
 * other devices, or if memory is exhausted. */
static inline callee_tensor_object* callee_new_own(
    const callee_tensor_value* like, uint64_t size) {
  enum { ALIGNMENT = 256 };
  if (like->device.type != 1) {
    callee_raise(
        "RuntimeError",
        "memory of device %d:%d cannot be allocated: the caller has no "
        "allocator for it",
        (int)like->device.type, (int)like->device.id);
    return NULL;
  }
  size_t dims = (size_t)like->rank * 2 * sizeof(int64_t);
  callee_tensor_object* made = (callee_tensor_object*)callee_new(
      CALLEE_TENSOR, sizeof *made + dims + ALIGNMENT, size, 1,
      callee_delete_plain);
  if (made == NULL) {
    callee_raise_memory();
    return NULL;
  }
  char* data = (char*)(made + 1) + dims;
  made->tensor = *like;
  made->tensor.data = data + (0 - (uintptr_t)data) % ALIGNMENT;
  made->tensor.shape = (int64_t*)(void*)(made + 1);
  made->tensor.strides = made->tensor.shape + like->rank;
  uint64_t step = 1;
  for (int32_t i = like->rank; i-- > 0;) {
    made->tensor.shape[i] = like->shape[i];
    made->tensor.strides[i] = (int64_t)step;
    if (like->shape[i] > 1) step *= (uint64_t)like->shape[i];
  }
  return made;
}

/* Creates a tensor, contiguous in row-major order, whose elements may have any
 * value. The memory is that of the caller's allocator: in a call with a tensor
 * of torch it is a tensor of torch, on any device that torch has. If the caller
 * has no allocator, as in a call with arrays of NumPy in tvm_ffi, the library
 * allocates memory of the CPU itself.
 *
 * The dims are copied. Returns a reference for callee_return_tensor,
 * callee_put_object or callee_drop. Raises an error and returns NULL if the rank
 * is not 0 to 64, `shape` is NULL and the rank not 0, a dim is negative, the
 * dtype has no bits, the tensor is larger than memory, or the allocator fails. */
static inline callee_tensor_object* callee_new_tensor(
    callee_dtype_value dtype, const int64_t* shape, int32_t rank,
    callee_device_value device) {
  callee_tensor_value like;
  uint64_t size;
  int (*allocate)(callee_tensor_value*, void**) =
      CALLEE_WEAK(callee_env_allocate);
  void (*(*allocator)(void))(void) = CALLEE_WEAK(callee_env_allocator);
  void* made = NULL;
  if (!callee_tensor_size(dtype, shape, rank, &size)) return NULL;
  memset(&like, 0, sizeof like);
  like.device = device;
  like.rank = rank;
  like.dtype = dtype;
  like.shape = (int64_t*)(uintptr_t)shape;
  if (allocate == NULL || allocator == NULL) {
    callee_look_up("TVMFFIEnvTensorAlloc", &allocate);
    callee_look_up("TVMFFIEnvGetDLPackManagedTensorAllocator", &allocator);
  }
  if (allocate == NULL || allocator == NULL || allocator() == NULL)
    return callee_new_own(&like, size);
  return allocate(&like, &made) == 0 ? (callee_tensor_object*)made : NULL;
}

/* As callee_new_tensor, with the dtype, the shape and the device of another
 * tensor. Raises the error of a shape that is NULL if `like` is NULL. */
static inline callee_tensor_object* callee_new_tensor_like(
    const callee_tensor_value* like) {
  if (like == NULL) return callee_new_tensor(CALLEE_INT8, NULL, 1, CALLEE_CPU);
  return callee_new_tensor(like->dtype, like->shape, like->rank, like->device);
}

/* Drops a reference to an object that was created, such as a tensor that is not
 * returned because of an error. `object` may be NULL. */
static inline void callee_drop(void* object) {
  callee_value value;
  if (callee_put_object(&value, object)) callee_release(&value);
}

/* ---------------------------------------------------------------- functions */

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
  return callee_enter(closure->body, closure->name, closure + 1, args, count,
                      result);
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
  if (body == NULL || (state == NULL && size != 0))
    return callee_put_object(out, NULL);
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
 * may be moved is moved. Returns true. Raises an error, writes None and returns
 * false for a DLTensor*, which nothing keeps alive after the call, for an object
 * that was already moved, and if memory is exhausted. `value` may be NULL if
 * callee_argument has raised an error. */
static inline bool callee_own(callee_value* out, const callee_value* value) {
  callee_span span;
  bool done = true;
  if (value == NULL) {
    callee_put_none(out);
    return false;
  }
  switch (value->tag) {
    case CALLEE_TENSOR_VIEW:
      callee_put_none(out);
      callee_raise("TypeError",
                   "a DLTensor* cannot be kept after the call; expected "
                   "ffi.Tensor");
      return false;
    case CALLEE_C_STRING:
      callee_as_text(value, &span);
      done = callee_put_text(out, span.data, span.size);
      break;
    case CALLEE_BYTES_VIEW:
      callee_as_bytes(value, &span);
      done = callee_put_bytes(out, span.data, span.size);
      break;
    case CALLEE_MOVED_OBJECT:
      if (!callee_put_object(out, *value->as.moved)) {
        callee_raise("ValueError", "the object was already moved");
        return false;
      }
      *value->as.moved = NULL;
      break;
    default:
      callee_retain(value);
      *out = *value;
  }
  if (!done) callee_raise_memory();
  return done;
}

/* Calls a function, such as one that was passed as an argument. The arguments
 * stay the caller's. If the code of the returned status is 0, the caller owns
 * *result, and releases or returns it. Otherwise *result is None, the called
 * function has raised an error, and the calling function returns the status. */
static inline callee_status callee_invoke(callee_function_object* function,
                                          const callee_value* args,
                                          int32_t count, callee_value* result) {
  callee_put_none(result);
  if (function == NULL || count < 0 || (args == NULL && count != 0))
    return callee_raise(
        "ValueError", "callee_invoke: the function or its arguments are NULL");
  int code = function->run(function, args, count, result);
  if (code != 0) callee_put_none(result);
  return callee_status_of(code);
}

/* ---------------------------------------------------------------- arguments
 *
 * callee_int, callee_float, callee_bool, callee_text, callee_bytes,
 * callee_pointer, callee_dtype, callee_device, callee_tensor, callee_shape,
 * callee_array, callee_map and callee_function read argument `index`, which
 * counts from 0. Each writes to *found what callee_as_* writes, and returns
 * true. If the argument is missing or has another type, it raises a TypeError
 * that names the function and the argument, and returns false. What they find
 * is the caller's, and valid until the call returns. */

/* Checks the number of arguments. Returns true, or raises a TypeError and
 * returns false. */

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
  if (index >= 0 && index < call->count) return &call->given[index];
  callee_raise("TypeError", "%s() argument %d is missing", call->name,
               (int)index);
  return NULL;
}

/* Returns the arguments from one on, of any type; `from` may be the number of
 * arguments or more, then there are none. */
static inline callee_items callee_arguments(callee_call* call, int32_t from) {
  callee_items rest = {NULL, 0};
  if (from >= 0 && from < call->count) {
    rest.data = call->given + from;
    rest.size = (size_t)(call->count - from);
  }
  return rest;
}

static inline bool callee_mismatch(callee_call* call, int32_t index,
                                   const char* expected) {
  const callee_value* value = &call->given[index];
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

/* A tensor with elements of one dtype, in memory of the CPU and contiguous in
 * row-major order, so that callee_data points to an array of callee_elements
 * elements. A rank of -1 accepts any. Raises an error that says what is wrong
 * and returns false otherwise. */
static inline bool callee_tensor_of(callee_call* call, int32_t index,
                                    callee_dtype_value dtype, int32_t rank,
                                    const callee_tensor_value** found) {
  char expected[32], text[32], ranks[32] = "";
  if (!callee_tensor(call, index, found)) return false;
  const callee_tensor_value* x = *found;
  bool contiguous = callee_is_contiguous(x);
  if (callee_same_dtype(x->dtype, dtype) && (rank < 0 || x->rank == rank) &&
      contiguous && x->device.type == 1)
    return true;
  callee_dtype_text(dtype, expected, sizeof expected);
  callee_dtype_text(x->dtype, text, sizeof text);
  if (rank >= 0) snprintf(ranks, sizeof ranks, " of rank %d", (int)rank);
  callee_raise("TypeError",
               "%s() argument %d must be a contiguous %s tensor%s in memory of "
               "the CPU, not %s%s of rank %d on device %d:%d",
               call->name, (int)index, expected, ranks,
               contiguous ? "" : "non-contiguous ", text, (int)x->rank,
               (int)x->device.type, (int)x->device.id);
  return false;
}

/* ------------------------------------------------------------------ results
 *
 * Each sets the result of the call and returns success, or raises an error and
 * returns CALLEE_FAILED: MemoryError if memory is exhausted, ValueError if what
 * it copies is NULL and not empty. Text, bytes, dims and the state of a function
 * are copied; of items, pairs, tensors and owned values, the function takes over
 * the references. */

/* Returns the status after callee_put_*. `is_null` is whether what it copied is
 * NULL. */
static inline callee_status callee_done(callee_call* call, bool done,
                                        bool is_null) {
  if (done) return callee_status_of(0);
  if (!is_null) return callee_raise_memory();
  return callee_raise("ValueError", "%s() returned a value that is NULL",
                      call->name);
}

static inline callee_status callee_return_none(callee_call* call) {
  callee_put_none(call->result);
  return callee_status_of(0);
}

static inline callee_status callee_return_int(callee_call* call,
                                              int64_t value) {
  callee_put_int(call->result, value);
  return callee_status_of(0);
}

static inline callee_status callee_return_float(callee_call* call,
                                                double value) {
  callee_put_float(call->result, value);
  return callee_status_of(0);
}

static inline callee_status callee_return_bool(callee_call* call, bool value) {
  callee_put_bool(call->result, value);
  return callee_status_of(0);
}

static inline callee_status callee_return_pointer(callee_call* call,
                                                  void* value) {
  callee_put_pointer(call->result, value);
  return callee_status_of(0);
}

static inline callee_status callee_return_dtype(callee_call* call,
                                                callee_dtype_value value) {
  callee_put_dtype(call->result, value);
  return callee_status_of(0);
}

static inline callee_status callee_return_device(callee_call* call,
                                                 callee_device_value value) {
  callee_put_device(call->result, value);
  return callee_status_of(0);
}

static inline callee_status callee_return_text(callee_call* call,
                                               const char* data, size_t size) {
  return callee_done(call, callee_put_text(call->result, data, size),
                     data == NULL);
}

static inline callee_status callee_return_c_string(callee_call* call,
                                                   const char* text) {
  size_t size = text == NULL ? 1 : strlen(text);
  return callee_return_text(call, text, size);
}

static inline callee_status callee_return_bytes(callee_call* call,
                                                const void* data, size_t size) {
  return callee_done(call, callee_put_bytes(call->result, data, size),
                     data == NULL);
}

static inline callee_status callee_return_shape(callee_call* call,
                                                const int64_t* dims,
                                                size_t rank) {
  return callee_done(call, callee_put_shape(call->result, dims, rank),
                     dims == NULL);
}

/* Takes ownership of the items, as callee_put_array does. */
static inline callee_status callee_return_array(callee_call* call,
                                                const callee_value* items,
                                                size_t size) {
  return callee_done(call, callee_put_array(call->result, items, size),
                     items == NULL);
}

/* Takes ownership of keys and values, as callee_put_map does. */
static inline callee_status callee_return_map(callee_call* call,
                                              const callee_pair* pairs,
                                              size_t count) {
  return callee_done(call, callee_put_map(call->result, pairs, count),
                     pairs == NULL);
}

/* Takes over the reference. If `tensor` is NULL, the error of callee_new_tensor
 * stays. */
static inline callee_status callee_return_tensor(callee_call* call,
                                                 callee_tensor_object* tensor) {
  return callee_put_object(call->result, tensor) ? callee_status_of(0)
                                                 : CALLEE_FAILED;
}

static inline callee_status callee_return_function(
    callee_call* call, const char* name, callee_body* body, const void* state,
    size_t size, void (*destroy)(void* state)) {
  return callee_done(
      call, callee_put_function(call->result, name, body, state, size, destroy),
      body == NULL || (state == NULL && size != 0));
}

/* Returns a copy of a borrowed value: an argument or an element of one. */
static inline callee_status callee_return_borrowed(callee_call* call,
                                                   const callee_value* value) {
  return callee_own(call->result, value) ? callee_status_of(0) : CALLEE_FAILED;
}

/* Returns an owned value, such as the result of callee_invoke, and leaves None
 * in its place. */
static inline callee_status callee_return_owned(callee_call* call,
                                                callee_value* value) {
  *call->result = *value;
  callee_put_none(value);
  return callee_status_of(0);
}

#endif /* FNABI_CALLEE_H */
