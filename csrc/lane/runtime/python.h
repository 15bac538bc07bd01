/* python.h - Python's stable C API, and what is done with it in many files.
 * Private.
 *
 * csrc/lane is the only room that includes Python.h; it keeps to the stable C
 * API of CPython 3.11.
 *
 * A function of the lane that returns an int or a pointer has set a Python
 * exception when it returns -1 or NULL. All functions need the GIL, except those
 * whose comment says otherwise. */
#ifndef FNABI_LANE_RUNTIME_PYTHON_H
#define FNABI_LANE_RUNTIME_PYTHON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <structmember.h>

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

/* From 3.12 on, some objects are immortal: the sign of the lower half of their
 * count says so, and no count of references changes it. The headers of 3.11 count
 * all the same, here and not in the interpreter: after 2^30 of such references too
 * many or too few, the object would be taken for one that can be freed. Newer
 * headers know. */
#if PY_VERSION_HEX < 0x030C0000
static inline bool lane_is_immortal(PyObject* object) {
  return (int32_t)object->ob_refcnt < 0;
}

static inline PyObject* lane_keep(PyObject* object) {
  if (!lane_is_immortal(object)) Py_INCREF(object);
  return object;
}

static inline PyObject* lane_keep_if_any(PyObject* object) {
  return object != NULL ? lane_keep(object) : NULL;
}

static inline void lane_let_go(PyObject* object) {
  if (!lane_is_immortal(object)) Py_DECREF(object);
}

static inline void lane_let_go_if_any(PyObject* object) {
  if (object != NULL) lane_let_go(object);
}

#undef Py_INCREF
#undef Py_DECREF
#undef Py_XINCREF
#undef Py_XDECREF
#undef Py_NewRef
#undef Py_XNewRef
#define Py_INCREF(object) ((void)lane_keep((PyObject*)(object)))
#define Py_DECREF(object) lane_let_go((PyObject*)(object))
#define Py_XINCREF(object) ((void)lane_keep_if_any((PyObject*)(object)))
#define Py_XDECREF(object) lane_let_go_if_any((PyObject*)(object))
#define Py_NewRef(object) lane_keep((PyObject*)(object))
#define Py_XNewRef(object) lane_keep_if_any((PyObject*)(object))
#endif

/* Whether an object is of one of these types, or of a class derived from it. */
static inline bool lane_is(PyObject* object, PyTypeObject* type) {
  return Py_TYPE(object) == type || PyType_IsSubtype(Py_TYPE(object), type);
}

/* Returns a new reference to an attribute of a module that is imported already;
 * NULL when it is not, with an exception only if memory runs out. */
PyObject* lane_imported(const char* module, const char* name);
/* Whether an object has an attribute; -1 only if memory runs out. */
int lane_has(PyObject* object, const char* name);
/* The value of an int attribute of a class, such as __basicsize__; -1 if there
 * is none, with an exception only if memory runs out. */
Py_ssize_t lane_class_number(PyTypeObject* class, const char* name);

/* Clears the current exception, if there is one, because the failure has a
 * meaning here. That memory ran out, or that the program is to end, as by
 * Ctrl-C, has none: then the exception stays, and the answer is false. */
static inline bool lane_clear(void) {
  PyObject* type = PyErr_Occurred();
  if (type == NULL) return true;
  if (PyErr_GivenExceptionMatches(type, PyExc_MemoryError) ||
      !PyErr_GivenExceptionMatches(type, PyExc_Exception))
    return false;
  PyErr_Clear();
  return true;
}

static inline int lane_no_memory(void) {
  PyErr_NoMemory();
  return -1;
}

PyObject* lane_int_tuple(const int64_t* numbers, Py_ssize_t count);

/* Makes a type of the module "fnabi" and adds it. */
PyTypeObject* lane_add_type(PyObject* module, PyType_Spec* spec,
                            PyTypeObject* base);

#endif /* FNABI_LANE_RUNTIME_PYTHON_H */
