/* small_file.h - the contents of small files. Private. */
#ifndef FNABI_LANE_RUNTIME_SMALL_FILE_H
#define FNABI_LANE_RUNTIME_SMALL_FILE_H

#include "lane/runtime/python.h"

/* Adds the function that reads them to the module. */
int lane_small_file_init(PyObject* module);

#endif /* FNABI_LANE_RUNTIME_SMALL_FILE_H */
