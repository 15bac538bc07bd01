/* lane.h - the call lane, `fnabi._base.lane`. Private.
 *
 * The lane converts between Python objects and values of TVM-FFI's stable C
 * ABI, and builds typed Python objects of the core's answers, without a step in
 * between. csrc/lane is the only room that includes Python.h; it keeps to the
 * stable C API of CPython 3.11.
 *
 * A function that returns an int or a pointer has set a Python exception when
 * it returns -1 or NULL. All functions need the GIL, except those whose comment
 * says otherwise. */
#ifndef FNABI_LANE_H
#define FNABI_LANE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "calls/object.h"

/* In the stable API of 3.11, but only named by its headers from 3.12 on. */
#ifndef Py_TPFLAGS_HAVE_VECTORCALL
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11)
#endif
/* Types that patterns such as [a, *rest] and {"a": x} match. */
#ifndef Py_TPFLAGS_SEQUENCE
#define Py_TPFLAGS_SEQUENCE (1UL << 5)
#define Py_TPFLAGS_MAPPING (1UL << 6)
#endif
#define LANE_VECTORCALL_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1))
typedef PyObject* (*lane_vectorcall)(PyObject* self, PyObject* const* args,
                                     size_t flagged_count, PyObject* names);

/* ------------------------------------------------------------------- lane.c */

/* A Python object around one strong reference to an object of the ABI. */
typedef struct lane_object {
  PyObject_HEAD fnabi_object* object;
  /* a container's: that of the tensors in it, or NULL; see lane_exchange */
  const struct fnabi_dl_exchange* exchange;
  const struct lane_dialect* dialect; /* of what is read from it, or NULL */
  bool empty; /* its object was moved, or not made yet */
} lane_object;

typedef struct lane_types {
  PyTypeObject* any;
  PyTypeObject* any_array;
  PyTypeObject* object; /* the base of those that follow */
  PyTypeObject* array;
  PyTypeObject* list;
  PyTypeObject* map;
  PyTypeObject* dict;
  PyTypeObject* error;
  PyTypeObject* tensor;
  PyTypeObject* function; /* not a lane_object: a symbol has no object */
  PyTypeObject* call;
  PyTypeObject* moved; /* an object that the callee may take */
} lane_types;
extern lane_types lane;

/* Whether an object is of one of these types, or of a class derived from it. */
static inline bool lane_is(PyObject* object, PyTypeObject* type) {
  return Py_TYPE(object) == type || PyType_IsSubtype(Py_TYPE(object), type);
}

/* Python objects that are imported when they are first needed. */
typedef enum lane_name {
  LANE_CALL_ERROR,
  LANE_LIBRARY_ERROR,
  LANE_SHAPE,    /* fnabi.calls._object.Shape, a tuple */
  LANE_MAP_KEYS, /* fnabi.calls._map.Keys(map), a view; so are the next two */
  LANE_MAP_VALUES,
  LANE_MAP_ITEMS,
  LANE_DEVICE,        /* fnabi.tensor.Device(type, id) */
  LANE_DTYPE_OF,      /* fnabi.tensor.dtype_of(code, bits, lanes) -> DType */
  LANE_DTYPE_PARTS,   /* fnabi.tensor.dtype_parts(x) -> (code, bits, lanes) */
  LANE_DEVICE_PARTS,  /* fnabi.tensor.device_parts(x) -> (type, id) */
  LANE_TO_NUMPY,      /* fnabi.tensor.to_numpy(tensor) -> ndarray */
  LANE_READ_NUMPY,    /* the same of elements that NumPy itself can read */
  LANE_VOID_P,        /* ctypes.c_void_p */
  LANE_CLASS_OF,      /* fnabi.reflection.class_of(type_index) */
  LANE_MEMBER_SCHEMA, /* fnabi.reflection.member_schema(metadata) */
  LANE_METHOD_SIGNATURE, /* fnabi.reflection.method_signature(method) */
  LANE_METHOD_TYPE,      /* types.MethodType */
  LANE_FIND_FUNCTION,    /* fnabi.registry.find_function(name) */
  LANE_LEND_FUNCTION,    /* fnabi.registry.lend_function(name) */
  /* fnabi.registry.accept_function(name, function, override, metadata) */
  LANE_ACCEPT_FUNCTION,
  LANE_INTEGRAL,
  LANE_REAL,
  LANE_NAME_COUNT
} lane_name;
/* Returns a borrowed reference. */
PyObject* lane_get(lane_name name);
/* Returns a new reference to an attribute of a module that is imported already;
 * NULL when it is not, with an exception only if memory runs out. */
PyObject* lane_imported(const char* module, const char* name);
/* Whether an object has an attribute; -1 only if memory runs out. */
int lane_has(PyObject* object, const char* name);
/* The value of an int attribute of a class, such as __basicsize__; -1 if there
 * is none, with an exception only if memory runs out. */
Py_ssize_t lane_class_number(PyTypeObject* class, const char* name);

/* Clears the current exception, if there is one, because the failure has a
 * meaning here. That memory ran out has none: then the exception stays, and the
 * answer is false. */
static inline bool lane_clear(void) {
  if (PyErr_ExceptionMatches(PyExc_MemoryError)) return false;
  PyErr_Clear();
  return true;
}

/* Raises CallError in place of the current exception, except that a MemoryError
 * stays; returns -1. */
int lane_call_error(const char* format, ...);
/* Raises CallError with ", got " and the name of an object's type after the
 * text; returns -1. */
int lane_call_error_got(PyObject* got, const char* format, ...);
static inline int lane_no_memory(void) {
  PyErr_NoMemory();
  return -1;
}

/* __reduce__ of types whose instances are only valid in this process. */
PyObject* lane_refuse_reduce(PyObject* self, PyObject* unused);
#define LANE_NOT_PICKLED {"__reduce__", lane_refuse_reduce, METH_NOARGS, NULL}

/* For deleters, which run on any thread, without the GIL, and possibly after
 * the interpreter has shut down: releases a Python object, or NULL. */
void lane_drop(PyObject* object);
extern bool lane_finished; /* the interpreter is shutting down */

/* Makes a type of the module "fnabi" and adds it. */
PyTypeObject* lane_add_type(PyObject* module, PyType_Spec* spec,
                            PyTypeObject* base);

/* --------------------------------------------------------------- to_value.c */

/* What is decided once for all the arguments of a call, while they are
 * converted. */
typedef struct lane_arguments {
  bool read_only; /* memory that must not be written to is let through */
  /* of the last argument that is a tensor with an exchange API, or NULL */
  const struct fnabi_dl_exchange* exchange;
  /* the same of the first one that is not the CPU's, and its device */
  const struct fnabi_dl_exchange* device_exchange;
  fnabi_dl_device device;
} lane_arguments;
/* Those of the call whose arguments are converted on this thread, or NULL. */
extern FNABI_FAST_THREAD lane_arguments* lane_converting;

/* The API of the framework whose tensors Python gets on this thread instead of
 * Tensor: during a call, and while a container of its result is read. */
extern FNABI_FAST_THREAD const struct fnabi_dl_exchange* lane_exchange;
/* What fnabi.use_tensors has chosen for the calls of this thread. */
typedef struct lane_choice {
  bool made;
  const struct fnabi_dl_exchange* exchange; /* NULL: Tensor */
} lane_choice;
extern FNABI_FAST_THREAD lane_choice lane_chosen;

/* The value of a Python object: LANE_MADE when *out is owned, LANE_BORROWED
 * when it is a view, valid as long as the Python object does not change. */
enum { LANE_BORROWED = 0, LANE_MADE = 1 };
int lane_view(PyObject* value, fnabi_any* out);
/* The same, always owned. */
int lane_own(PyObject* value, fnabi_any* out);

/* The DLPack dtype of an immutable dtype: a DType, one of NumPy, torch or
 * tvm_ffi. */
int lane_dtype(PyObject* dtype, fnabi_dl_dtype* out);

/* The bytes of a str, which live as long as it does; surrogate escapes become
 * the bytes they represent. *keep is a new reference, or NULL. */
int lane_utf8(PyObject* str, fnabi_byte_array* text, PyObject** keep);

/* Whether an object is a column of values: a list, a tuple that is no shape, a
 * range; -1 if memory runs out. */
int lane_is_sequence(PyObject* object);

/* ------------------------------------------------------------- from_value.c */

/* Returns the Python object of a value. `lane_take` also releases the value,
 * even when it fails. With `plain`, containers become list and dict at every
 * depth. */
PyObject* lane_from(const fnabi_any* any, bool plain);
PyObject* lane_take(fnabi_any* any, bool plain);

/* Returns a Python object that owns `object`, whose reference it takes over,
 * also on failure. The type has the layout of lane.object. */
PyObject* lane_wrap(PyTypeObject* type, fnabi_object* object);
/* The same for constructors, whose type may be any class derived in Python. */
PyObject* lane_construct(PyTypeObject* type, fnabi_object* object);
/* The wrapper type of a type index; borrowed. */
PyTypeObject* lane_type_of(int32_t type_index);

/* Whether a library's text can be read: its data is not NULL, its size one. */
static inline bool lane_text_is_good(const fnabi_byte_array* text) {
  return text->size <= PTRDIFF_MAX && (text->data != NULL || text->size == 0);
}
/* Returns NULL and raises CallError for a text whose data is NULL, or whose
 * size is no size. */
PyObject* lane_text(const fnabi_byte_array* text);

/* ---------------------------------------------------------------- big_int.c */

/* An int outside int64, as an object of the ABI; LANE_MADE. */
int lane_big_int_view(PyObject* value, fnabi_any* out);
PyObject* lane_big_int_from(const fnabi_big_int_object* big);

/* ---------------------------------------------------------------- dialect.c */

/* The classes that a package with the names of another one has for values.
 * NULL: the class of fnabi. None is ever freed. */
typedef struct lane_dialect {
  PyObject_HEAD PyTypeObject *array, *list, *map, *dict, *error, *tensor,
      *function;
  PyObject* dtype;     /* (code, bits, lanes) -> a dtype */
  PyObject* device;    /* (type, id) -> a device */
  PyObject* shape;     /* (dims, Object) -> a shape */
  PyObject* string;    /* (str, Object) -> the text of an object */
  PyObject* bytes;     /* (bytes, Object) -> the bytes of an object */
  PyObject* class_of;  /* (type_index) -> a class, or None */
  PyObject* backtrace; /* (exception, str) -> the backtrace of its error */
  PyObject* errors;    /* a dict: kinds of errors -> classes of exceptions */
  PyObject* attribute; /* the name of an exception's attribute with its error */
  PyObject* parts;     /* a dict: the dtypes and devices that were made */
  bool list_slices;    /* whether slices of sequences are lists */
  PyTypeObject** classes; /* by type index */
  int32_t class_count;
} lane_dialect;

/* That of the values which are converted on this thread, or NULL. A function, a
 * container or an object sets its own while Python gets values from it. */
extern FNABI_FAST_THREAD const lane_dialect* lane_spoken;

/* How Python gets values on this thread. */
typedef struct lane_manner {
  const struct fnabi_dl_exchange* exchange;
  const lane_dialect* dialect;
} lane_manner;
/* Sets what an object is read in; returns what was set before. */
static inline lane_manner lane_read_as(PyObject* self) {
  lane_manner outer = {lane_exchange, lane_spoken};
  lane_exchange = ((lane_object*)self)->exchange;
  lane_spoken = ((lane_object*)self)->dialect;
  return outer;
}
static inline void lane_read_as_before(lane_manner outer) {
  lane_exchange = outer.exchange;
  lane_spoken = outer.dialect;
}

/* The dialect of a class derived from one of the lane's, or NULL. */
const lane_dialect* lane_dialect_of(PyTypeObject* type);
/* The class that a dialect has for a type index; borrowed. */
PyTypeObject* lane_dialect_class(const lane_dialect* dialect,
                                 int32_t type_index);
/* Sets the class for a type index. */
int lane_dialect_set(PyObject* dialect, int32_t type_index,
                     PyTypeObject* class);
/* A dialect's dtype or device; a new reference. */
PyObject* lane_dialect_parts(const lane_dialect* dialect, PyObject* make,
                             PyObject* key);
/* Calls one of the functions of a dialect with a value and with the object that
 * it is the value of. Takes the value over. */
PyObject* lane_dialect_made(PyObject* make, PyObject* value,
                            fnabi_object* object);

/* ----------------------------------------------------------------- object.c */

/* The class of fnabi whose methods read objects of one type only, such as
 * Array; lane.object for all others, whose methods look at the object. */
PyTypeObject* lane_kind_of(PyTypeObject* class);

/* Releases a reference. The current exception stays, although the object's
 * deleter may run Python. */
void lane_release(fnabi_object* object);

/* Returns the object in a wrapper of the package tvm_ffi, which must be
 * imported. */
PyObject* lane_object_peer(fnabi_object* object);

/* ------------------------------------------------------------------ moved.c */

/* The value of a moved object: a reference that the callee may take. */
void lane_moved_view(PyObject* moved, fnabi_any* out);

/* -------------------------------------------------------------------- any.c */

PyObject* lane_any_new(const fnabi_any* any); /* adds a reference */
fnabi_any lane_any_value(PyObject* any);      /* borrowed */

/* -------------------------------------------------------------- any_array.c */

/* Returns an AnyArray of `size` times None, to be filled. */
PyObject* lane_any_array_new(Py_ssize_t size);
fnabi_any* lane_any_array_data(PyObject* array);
Py_ssize_t lane_any_array_size(PyObject* array);
/* Makes the tensors of the array those of lane_exchange when Python gets them.
 */
void lane_any_array_keep_exchange(PyObject* array);

/* ---------------------------------------------- container.c, array.c, map.c */

int lane_array_own(PyObject* sequence, fnabi_any* out); /* list, tuple */
PyObject* lane_array_list(fnabi_seq_object* array, bool plain);
int lane_map_own(PyObject* dict, fnabi_any* out);
PyObject* lane_map_dict(fnabi_map_object* map, bool plain);

/* Returns 1 for values that Python would call equal: numbers of any type by
 * value, containers by their contents, keys of maps by the rules of the ABI. It
 * may run Python: the caller keeps both values alive. */
int lane_equal(const fnabi_any* a, const fnabi_any* b);
int lane_array_equal(const fnabi_seq_object* a, const fnabi_seq_object* b);
int lane_map_equal(const fnabi_map_object* a, const fnabi_map_object* b);

/* The containers around a value whose repr is being made: one that contains
 * itself is found in them. */
typedef struct lane_nest {
  const struct lane_nest* outer;
  const fnabi_object* object;
  int depth;
} lane_nest;
/* The repr of a value. With `plain`, arrays and maps are written as lists and
 * dicts. */
PyObject* lane_repr(const fnabi_any* value, const lane_nest* nest, bool plain);
PyObject* lane_object_repr(PyObject* object);
/* Append the reprs of the values, or pairs, to a list. */
int lane_array_repr(const fnabi_seq_object* array, const lane_nest* nest,
                    PyObject* parts);
int lane_map_repr(const fnabi_map_object* map, const lane_nest* nest,
                  PyObject* parts);

/* `copy.deepcopy` of a container; one that contains itself is copied as such. */
PyObject* lane_deepcopy(PyObject* self, PyObject* memo);

/* Registers a type with an abstract base class of collections.abc. */
int lane_register(const char* base, PyTypeObject* type);

/* ------------------------------------------------------------------- keys.c */

/* Types may have a hash and a comparison of their own for keys of maps, which
 * libtvm_ffi calls. Maps with such keys are made, searched and changed there;
 * the core compares objects by identity. */

/* Whether a key may be of such a type. */
static inline bool lane_key_may_be_custom(const fnabi_any* key) {
  return key->type_index >= FNABI_INDEX_DYNAMIC;
}
/* Whether a key is of such a type, and whether one of `count` pairs has one. */
bool lane_key_is_custom(const fnabi_any* key);
bool lane_keys_are_custom(const fnabi_any* pairs, Py_ssize_t count);
/* Makes a map of pairs, which stay the caller's, and finds the value of a key:
 * for custom keys. lane_keys_find returns 1 and the owned value, or 0. */
fnabi_map_object* lane_keys_map(const fnabi_any* pairs, Py_ssize_t count,
                                int32_t type_index);
int lane_keys_find(const fnabi_map_object* map, const fnabi_any* key,
                   fnabi_any* value);
/* Change a DICT, for any keys. lane_keys_set takes key and value over when it
 * succeeds. lane_keys_erase returns 1, or 0 if the key does not exist. */
int lane_keys_set(fnabi_map_object* map, const fnabi_any* key,
                  const fnabi_any* value);
int lane_keys_erase(fnabi_map_object* map, const fnabi_any* key);

/* ---------------------------------------------------------- tensor_import.c */

/* A tensor over the memory of an array, which it keeps alive: an array of
 * NumPy, one with the exchange API or `__dlpack__`, one with a buffer. */
int lane_tensor_of_numpy(PyObject* array, fnabi_any* out);
int lane_tensor_of_exchange(PyObject* array, fnabi_any* out);
int lane_tensor_of_dlpack(PyObject* array, fnabi_any* out);
int lane_tensor_of_buffer(PyObject* array, fnabi_any* out);
/* Frees a tensor over an array when it has no other reference, at less cost
 * than its deleter. Returns false when it is no such tensor; then it has done
 * nothing. */
bool lane_tensor_dispose(fnabi_object* object);
/* The exchange API of a type, borrowed, or NULL, with an exception only if
 * memory runs out. */
const struct fnabi_dl_exchange* lane_exchange_of(PyTypeObject* type);
/* Remembers for the call whose arguments are converted that a container is among
 * them whose tensors come as those of a framework. */
void lane_note_container(PyObject* container);
/* A tensor as the framework of lane_exchange has it. Takes a reference over,
 * also on failure. */
PyObject* lane_tensor_into_framework(fnabi_object* object);

/* ----------------------------------------------------------------- tensor.c */

/* Raises CallError unless read-only memory is let through; returns -1 then. */
int lane_tensor_check_writable(bool read_only);
/* Raises CallError for a tensor that cannot be read; without a `problem`
 * MemoryError. Returns -1. */
int lane_tensor_refuse(const char* problem);
/* A Tensor over memory that is only valid during one call, and the end of that
 * call. */
PyObject* lane_tensor_of_view(const fnabi_dl_tensor* view);
void lane_tensor_expire(PyObject* tensor);
/* The value of a Tensor, as lane_view: a DLTENSOR when it is such a one. */
int lane_tensor_view(PyObject* tensor, fnabi_any* out);

/* --------------------------------------------------- callback.c, function.c */

/* A function of the ABI that calls a Python callable; in the dialect that is
 * spoken now. */
int lane_callback_own(PyObject* callable, fnabi_any* out);
/* Returns an argument that Python gets; takes an object that may be taken. */
PyObject* lane_from_argument(const fnabi_any* arg);
/* Returns a Function that owns `function`, also on failure. */
PyObject* lane_function_of_object(fnabi_object* function);
/* Returns a function's object, made at first use; borrowed. */
fnabi_object* lane_function_object(PyObject* function);

/* ------------------------------------------------------------ environment.c */

struct fnabi_dl_versioned;

/* fnabi_dl_allocate */
typedef int lane_allocate(fnabi_dl_tensor*, struct fnabi_dl_versioned**, void*,
                          void (*)(void*, const char*, const char*));

/* What was set before a call, to be set again after it. */
typedef struct lane_environment {
  fnabi_dl_device device;
  void* stream;
  lane_allocate* allocator;
  bool has_stream, has_allocator;
  const struct fnabi_dl_exchange* exchange;
} lane_environment;

/* Finds the functions of libtvm_ffi. Needs no GIL, like the next ones. */
void lane_environment_find(void* library);
/* As the functions of libtvm_ffi, and in its tables where it is loaded. A device
 * with a negative type or index is an error, or has no stream. */
int lane_stream_set(int32_t type, int32_t id, void* stream, void** old);
void* lane_stream_get(int32_t type, int32_t id);
lane_allocate* lane_allocator_get(void);
int lane_allocator_set(lane_allocate* to, int global, lane_allocate** old);
int lane_tensor_allocate(fnabi_dl_tensor* like, void** out);
/* Sets the current stream, the allocator and lane_exchange as the arguments of
 * a call say. Each enter that succeeds needs a leave. */
int lane_environment_enter(const lane_arguments* arguments,
                           lane_environment* environment);
void lane_environment_leave(const lane_environment* environment);

/* ------------------------------------------------------------------ error.c */

/* The error of an exception. */
int lane_error_own(PyObject* exception, fnabi_any* out);
/* Returns the exception of an error: the same one that it was made from, or a
 * new one of the type that its kind names. */
PyObject* lane_error_exception(fnabi_error_object* error);
/* Raises an exception with its own traceback, and takes its reference over. */
void lane_raise(PyObject* exception);
/* Raises the error that waits on this thread. Returns false, without an
 * exception, when none does. `name` is that of the function, a str or NULL. */
bool lane_error_fetch(PyObject* name);
/* The same; raises CallError when no error waits. */
void lane_error_raise(PyObject* name, int status);
/* Reports the current Python exception to the C caller of a callback, clears
 * it, and returns a new reference to it. */
PyObject* lane_error_report(void);
/* Reports that the interpreter is shutting down. Does not need the GIL. */
void lane_error_report_end(void);

/* ------------------------------------------------------------- error_slot.c */

/* No function here needs the GIL. */

/* Looks for the slot of libtvm_ffi, unless it is known or nothing has been
 * loaded since the last time. To be called before any function that may use
 * the slot. */
void lane_error_find(void);
/* Around a call: an earlier error that still waits is dropped, so that it does
 * not explain a later failure. Inside a callback it is the reason why the
 * calling function fails; it is returned instead, for lane_error_end, which
 * puts it back unless the call has failed. */
fnabi_error_object* lane_error_begin(void);
void lane_error_end(fnabi_error_object* left, bool good);
/* Returns the error that waits on this thread, owned, or NULL; it waits no
 * longer. */
fnabi_error_object* lane_error_take(void);
/* Makes an error wait on this thread; takes its reference over. */
void lane_error_put(fnabi_error_object* error);
/* The same, of a kind and the parts of a message. The kind may be NULL, for
 * RuntimeError; parts that are NULL are skipped. */
void lane_error_put_text(const char* kind, const char* const* parts,
                         int32_t count);
/* How many callbacks are running on this thread, one inside the other. */
extern FNABI_THREAD int lane_callbacks;
/* Adds the error slot of a library, which fnabi/callee.h describes. Returns
 * false when there is no memory. */
bool lane_error_slot_add(void* address);

/* --------------------------------------------------------------- parallel.c */

/* The ABI of libtvm_runtime for kernels. No function here needs the GIL. */
typedef struct lane_parallel_environment {
  void* barrier; /* NULL for one task */
  int32_t count; /* of tasks */
} lane_parallel_environment;
typedef int lane_parallel_task(int32_t id, lane_parallel_environment* of,
                               void* data);

/* Runs tasks 0 to `count` - 1, each on a thread of its own, until the last one
 * ends; 0 means as many as there are processors. Returns 0, or what a task has
 * returned; its error then waits on this thread. */
int lane_parallel_launch(lane_parallel_task* task, void* data, int32_t count);
/* Waits until all tasks of a launch have called it. */
int lane_parallel_barrier(int32_t id, lane_parallel_environment* of);
/* Memory of the CPU; NULL with an error that waits on this thread. */
void* lane_workspace_allocate(int32_t type, int32_t id, uint64_t size,
                              int32_t code, int32_t bits);
int lane_workspace_free(int32_t type, int32_t id, void* memory);

/* --------------------------------------------------------------- registry.c */

/* The functions of libtvm_ffi that the registries need. */
typedef struct lane_runtime {
  int (*get_function)(const fnabi_byte_array* name, void** function);
  int (*set_function)(const fnabi_byte_array* name, void* function,
                      int override);
  /* With the metadata of a function; NULL in an old libtvm_ffi. */
  int (*set_described)(const fnabi_method_info* info, int override);
  int (*type_of_key)(const fnabi_byte_array* key, int32_t* type_index);
  /* Ends the process for an index that no type has. */
  const fnabi_type_info* (*type_info)(int32_t type_index);
  const fnabi_type_column* (*type_column)(const fnabi_byte_array* name);
} lane_runtime;
/* Returns NULL, without an exception, when libtvm_ffi is not loaded. */
const lane_runtime* lane_runtime_find(void);

/* ------------------------------------------------------------- reflection.c */

/* The class of objects of a type that a library may have registered; borrowed.
 * lane.object where none is known. */
PyTypeObject* lane_class_of(int32_t type_index);
/* Whether the objects of a class are laid out as those of lane.object. */
bool lane_has_our_layout(PyTypeObject* class);
/* The key of a type, or None. */
PyObject* lane_type_key(int32_t type_index);

/* --------------------------------------------------------------- the module */

/* Each adds its types and functions to the module. */
int lane_any_init(PyObject* module);
int lane_any_array_init(PyObject* module);
int lane_object_init(PyObject* module);
int lane_moved_init(PyObject* module);
int lane_array_init(PyObject* module);
int lane_map_init(PyObject* module);
int lane_error_init(PyObject* module);
int lane_function_init(PyObject* module);
int lane_call_init(PyObject* module);
int lane_callback_init(PyObject* module);
int lane_tensor_init(PyObject* module);
int lane_library_init(PyObject* module);
int lane_environment_init(PyObject* module);
int lane_dialect_init(PyObject* module);
int lane_registry_init(PyObject* module);
int lane_stand_in_init(PyObject* module);
int lane_reflection_init(PyObject* module);
int lane_definition_init(PyObject* module);
int lane_columns_init(PyObject* module);
int lane_arrow_init(PyObject* module);
int lane_record_init(PyObject* module);
int lane_record_decode_init(PyObject* module);
int lane_signature_init(PyObject* module);

#endif
