/* pycall.h - the call lane, `fnabi._call`: Python objects to values of
 * TVM-FFI's stable C ABI and back, and signatures to Python objects, without a
 * step in between. Private.
 *
 * The only files that know Python are this one and pycall*.c. They keep to the
 * stable C API of CPython 3.11. A function that answers an int or a pointer has
 * set a Python exception when it answers -1 or NULL; all but those that say so
 * are called with the GIL held. */
#ifndef FNABI_PYCALL_H
#define FNABI_PYCALL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "value/object.h"

/* What the stable API of 3.11 has, but its headers name from 3.12 on. */
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

/* A Python object around one strong reference to an object of the ABI. */
typedef struct lane_object {
  PyObject_HEAD fnabi_object* object;
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
} lane_types;
extern lane_types lane;

/* Names of Python that are looked up when they are first needed. Borrowed. */
typedef enum lane_name {
  LANE_CALL_ERROR,
  LANE_LIBRARY_ERROR,
  LANE_SHAPE,    /* fnabi.object.Shape, a tuple */
  LANE_MAP_KEYS, /* fnabi.map.Keys(map), a view; so are the next two */
  LANE_MAP_VALUES,
  LANE_MAP_ITEMS,
  LANE_DEVICE,       /* fnabi.tensor.Device(type, id) */
  LANE_DTYPE_OF,     /* fnabi.tensor.dtype_of(code, bits, lanes) -> DType */
  LANE_DTYPE_PARTS,  /* fnabi.tensor.dtype_parts(x) -> (code, bits, lanes) */
  LANE_DEVICE_PARTS, /* fnabi.tensor.device_parts(x) -> (type, id) */
  LANE_TO_NUMPY,     /* fnabi.tensor.to_numpy(tensor) -> ndarray */
  LANE_READ_NUMPY,   /* the same of elements that NumPy itself can read */
  LANE_VOID_P,       /* ctypes.c_void_p */
  LANE_INTEGRAL,
  LANE_REAL,
  LANE_NAME_COUNT
} lane_name;
PyObject* lane_get(lane_name name);
/* An attribute of a module that somebody has imported already, as a new
 * reference; NULL without an exception when nobody has. */
PyObject* lane_imported(const char* module, const char* name);

/* Raises CallError. */
int lane_call_error(const char* format, ...);
static inline int lane_no_memory(void) {
  PyErr_NoMemory();
  return -1;
}

/* The method __reduce__ of what is good in this process only. */
PyObject* lane_refuse_reduce(PyObject* self, PyObject* unused);
#define LANE_NOT_PICKLED {"__reduce__", lane_refuse_reduce, METH_NOARGS, NULL}

/* ------------------------------------------------------------- pycall_convert
 */

/* The value of a Python object: LANE_MADE when *out is owned, LANE_BORROWED
 * when it is a view that is good for as long as the Python object does not
 * change. */
enum { LANE_BORROWED = 0, LANE_MADE = 1 };
int lane_view(PyObject* value, fnabi_any* out);
/* The same, owned in any case. */
int lane_own(PyObject* value, fnabi_any* out);

/* What a dtype that does not change is in DLPack: a DType, one of NumPy, torch
 * or tvm_ffi. */
int lane_dtype(PyObject* dtype, fnabi_dl_dtype* out);

/* The Python object of a value. `lane_take` takes an owned value over, also
 * when it fails. With `plain`, containers become list and dict all the way
 * down. */
PyObject* lane_from(const fnabi_any* any, bool plain);
PyObject* lane_take(fnabi_any* any, bool plain);

/* A new reference of a Python object around a reference that is taken over,
 * also on failure. */
PyObject* lane_wrap(PyTypeObject* type, fnabi_object* object);
/* The type of the wrapper that a type index has. */
PyTypeObject* lane_type_of(int32_t type_index);

/* Gives a reference back; the current exception stays, whatever the object's
 * deleter, which may be Python code, does. */
void lane_release(fnabi_object* object);

/* Whether an object is a column of values: a list, a tuple that is no shape, a
 * range. */
bool lane_is_sequence(PyObject* object);

/* NULL and a CallError for a size without text. */
PyObject* lane_text(const fnabi_byte_array* text);
/* The bytes of a str, which live as long as it does; what is no UTF-8 comes
 * back as the bytes it was. *keep is a new reference, or NULL. */
int lane_utf8(PyObject* str, fnabi_byte_array* text, PyObject** keep);

/* ------------------------------------------------- one file for each of these
 */

/* For deleters, which may run on any thread, without the GIL, and after the end
 * of the interpreter: releases a Python object, or NULL. */
void lane_drop(PyObject* object);
extern bool lane_finished; /* the interpreter is at its end */

/* The object in a wrapper of the package tvm_ffi, which must be imported. */
PyObject* lane_object_peer(fnabi_object* object);

PyObject* lane_any_new(const fnabi_any* any); /* gets its own reference */
fnabi_any lane_any_value(PyObject* any);      /* borrowed */

/* An AnyArray of `size` times None, to be filled. */
PyObject* lane_any_array_new(Py_ssize_t size);
fnabi_any* lane_any_array_data(PyObject* array);
Py_ssize_t lane_any_array_size(PyObject* array);

int lane_array_own(PyObject* sequence, fnabi_any* out); /* list, tuple */
PyObject* lane_array_list(fnabi_seq_object* array, bool plain);
int lane_map_own(PyObject* dict, fnabi_any* out);
PyObject* lane_map_dict(fnabi_map_object* map, bool plain);

/* 1 for values that are equal as Python compares them: numbers of any type by
 * value, containers by what is in them; keys of maps by the rules of the ABI.
 * -1: an exception. What is compared must be kept by the caller: it may run
 * Python. */
int lane_equal(const fnabi_any* a, const fnabi_any* b);
int lane_array_equal(const fnabi_seq_object* a, const fnabi_seq_object* b);
int lane_map_equal(const fnabi_map_object* a, const fnabi_map_object* b);

/* The containers around a value whose repr is made, so that one inside itself
 * is found. */
typedef struct lane_nest {
  const struct lane_nest* outer;
  const fnabi_object* object;
  int depth;
} lane_nest;
/* Which evaluates where the reprs of all values do. With `plain`, for values
 * that become an array or a map again, these are lists and dicts. */
PyObject* lane_repr(const fnabi_any* value, const lane_nest* nest, bool plain);
PyObject* lane_object_repr(PyObject* object);
/* Appends the reprs of the values, or pairs, to a list. */
int lane_array_repr(const fnabi_seq_object* array, const lane_nest* nest,
                    PyObject* parts);
int lane_map_repr(const fnabi_map_object* map, const lane_nest* nest,
                  PyObject* parts);

/* Makes a type a subclass of one in collections.abc. */
int lane_register(const char* base, PyTypeObject* type);

/* A tensor over the memory of an array, which it keeps: NumPy's, one with the
 * exchange API or `__dlpack__`, one with a buffer. */
int lane_tensor_of_numpy(PyObject* array, fnabi_any* out);
int lane_tensor_of_exchange(PyObject* array, fnabi_any* out);
int lane_tensor_of_dlpack(PyObject* array, fnabi_any* out);
int lane_tensor_of_buffer(PyObject* array, fnabi_any* out);
/* A Tensor over memory that is good for one call, with a header of its own; and
 * the end of the call. */
PyObject* lane_tensor_of_view(const fnabi_dl_tensor* view);
void lane_tensor_expire(PyObject* tensor);
/* The value of a Tensor, as lane_view: a DLTENSOR when it is such a one. */
int lane_tensor_view(PyObject* tensor, fnabi_any* out);
/* Does away with a tensor over an array that nobody else has a reference to, at
 * less cost than its deleter; false: it is none, and nothing was done. */
bool lane_tensor_dispose(fnabi_object* object);

/* A function of the ABI that calls a Python callable. */
int lane_callback_own(PyObject* callable, fnabi_any* out);
PyObject* lane_function_of_object(fnabi_object* function); /* takes it over */
/* A function's object, made at first use; borrowed. */
fnabi_object* lane_function_object(PyObject* function);

int lane_error_own(PyObject* exception, fnabi_any* out);
/* The exception of an error: the very one that it was made from, or one of the
 * kind's type. */
PyObject* lane_error_exception(fnabi_error_object* error);
/* Looks for the slot of libtvm_ffi, unless it is known or nothing has been
 * loaded since. To be called before functions are that may use it. */
void lane_error_find(void);
/* Around a call: what an earlier one has left is dropped, so that a failure to
 * come is not explained by it. Inside a callback it is what made the function
 * fail that calls back, and stays: it is given to lane_error_end, which puts it
 * back unless the call has failed. Neither needs the GIL. */
fnabi_error_object* lane_error_begin(void);
void lane_error_end(fnabi_error_object* left, bool good);
/* How many callbacks are running on this thread, one inside the other. */
extern _Thread_local int lane_callbacks;
/* Raises an exception with the traceback that it has. Takes it over. */
void lane_raise(PyObject* exception);
/* Raises the error that waits on this thread; false, and no exception, where
 * none does. */
bool lane_error_fetch(void);
/* The same, and a CallError that says that there is none. `name` is that of the
 * function, a str or NULL. */
void lane_error_raise(PyObject* name, int status);
/* Reports the current Python exception to the C caller of a callback, clears
 * it, and gives a new reference to it. */
PyObject* lane_error_report(void);
/* Reports that there is no Python any more; needs no GIL. */
void lane_error_report_end(void);

/* Takes the error that a library has kept for this thread, and drops those of
 * all others. The texts are good until it fails again. Needs no GIL. */
bool lane_library_error(fnabi_byte_array* kind, fnabi_byte_array* message);
extern bool lane_library_slots; /* whether there is one that does so */

/* Each adds its types to the module. */
int lane_any_init(PyObject* module);
int lane_object_init(PyObject* module);
int lane_array_init(PyObject* module);
int lane_map_init(PyObject* module);
int lane_error_init(PyObject* module);
int lane_function_init(PyObject* module);
int lane_tensor_init(PyObject* module);
int lane_library_init(PyObject* module);
int lane_columns_init(PyObject* module);
int lane_message_init(PyObject* module);
int lane_signature_init(PyObject* module);

/* Makes a type of the module "fnabi" and adds it. */
PyTypeObject* lane_add_type(PyObject* module, PyType_Spec* spec,
                            PyTypeObject* base);

#endif
