/* init.h - what the files of this room add to the module. Private. */
#ifndef FNABI_LANE_CALLS_INIT_H
#define FNABI_LANE_CALLS_INIT_H

#include "lane/runtime/python.h"

/* Each adds its types and functions. */
int lane_any_init(PyObject* module);
int lane_any_array_init(PyObject* module);
int lane_object_init(PyObject* module);
int lane_moved_init(PyObject* module);
int lane_attributes_init(PyObject* module);
int lane_array_init(PyObject* module);
int lane_map_init(PyObject* module);
int lane_error_init(PyObject* module);
int lane_function_init(PyObject* module);
int lane_call_init(PyObject* module);
int lane_callback_init(PyObject* module);
int lane_tensor_init(PyObject* module);
int lane_library_init(PyObject* module);
int lane_stream_init(PyObject* module);
int lane_dialect_init(PyObject* module);
int lane_registry_init(PyObject* module);
int lane_reflection_init(PyObject* module);
int lane_definition_init(PyObject* module);
int lane_function_class_init(PyObject* module);

#endif /* FNABI_LANE_CALLS_INIT_H */
