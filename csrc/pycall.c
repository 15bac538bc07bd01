#include "pycall.h"

static int execute(PyObject* module) {
  return fnabi_pycall_message_init(module);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};

static PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "fnabi._call",
    .m_size = 0,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__call(void);
PyMODINIT_FUNC PyInit__call(void) { return PyModuleDef_Init(&module); }
