#include "pycall.h"

static PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "fnabi._call",
    .m_size = 0,
};

PyMODINIT_FUNC PyInit__call(void);
PyMODINIT_FUNC PyInit__call(void) { return PyModuleDef_Init(&module); }
