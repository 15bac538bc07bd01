/* init.h - what the files of this room add to the module. Private. */
#ifndef FNABI_LANE_RECORDS_INIT_H
#define FNABI_LANE_RECORDS_INIT_H

#include "lane/runtime/python.h"

/* Each adds its types and functions. */
int lane_columns_init(PyObject* module);
int lane_arrow_init(PyObject* module);
int lane_record_init(PyObject* module);
int lane_record_decode_init(PyObject* module);
int lane_record_encode_init(PyObject* module);
int lane_signature_builder_init(PyObject* module);
int lane_signature_parser_init(PyObject* module);

#endif /* FNABI_LANE_RECORDS_INIT_H */
