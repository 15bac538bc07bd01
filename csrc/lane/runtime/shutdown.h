/* shutdown.h - what must not happen after the interpreter has shut down. Private. */
#ifndef FNABI_LANE_RUNTIME_SHUTDOWN_H
#define FNABI_LANE_RUNTIME_SHUTDOWN_H

#include "lane/runtime/python.h"

/* For deleters, which run on any thread, without the GIL, and possibly after
 * the interpreter has shut down: releases a Python object, or NULL. */
void lane_drop(PyObject* object);
extern bool lane_finished; /* the interpreter is shutting down */

/* Raises ImportError in a subinterpreter: types and objects of the lane are those
 * of the main one. */
int lane_check_interpreter(void);

/* Adds the functions of this file, one of which sets lane_finished to the module. */
int lane_shutdown_init(PyObject* module);

#endif /* FNABI_LANE_RUNTIME_SHUTDOWN_H */
