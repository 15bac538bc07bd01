/* file.h - regular files, asked and read in one call. Private. */
#ifndef FNABI_LANE_RUNTIME_FILE_H
#define FNABI_LANE_RUNTIME_FILE_H

#include "lane/runtime/python.h"

/* Adds the functions to the module. */
int lane_file_init(PyObject* module);

#endif /* FNABI_LANE_RUNTIME_FILE_H */
