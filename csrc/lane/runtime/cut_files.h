/* cut_files.h - what happens where a mapped file is cut. Private. */
#ifndef FNABI_LANE_RUNTIME_CUT_FILES_H
#define FNABI_LANE_RUNTIME_CUT_FILES_H

#include "lane/runtime/python.h"

/* Adds the function that chooses it to the module. */
int lane_cut_files_init(PyObject* module);

#endif /* FNABI_LANE_RUNTIME_CUT_FILES_H */
