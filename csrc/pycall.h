/* pycall.h - the call lane, `fnabi._call`: Python objects to values of
 * TVM-FFI's stable C ABI and back, without a step in between. Private.
 *
 * The only files that know Python are this one and pycall*.c. They keep to the
 * stable C API of CPython 3.11. A function that answers an int or a pointer has
 * set a Python exception when it answers -1 or NULL. */
#ifndef FNABI_PYCALL_H
#define FNABI_PYCALL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

/* Each file adds its own to the module. */
int fnabi_pycall_message_init(PyObject* module);

#endif
