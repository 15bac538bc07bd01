/* The module `fnabi._base.lane`: all that the lane has for Python.
 *
 * The lane converts between Python objects and values of TVM-FFI's stable C ABI,
 * and builds typed Python objects of the core's answers, without a step in
 * between. Its rooms: `runtime` is what both others stand on, of Python and of
 * the process; `records` makes objects of the core's answers; `calls` has values,
 * objects and functions; `stand_in` has functions for libraries that would
 * otherwise need libtvm_ffi. */
#include "lane/calls/init.h"
#include "lane/records/init.h"
#include "lane/runtime/cut_files.h"
#include "lane/runtime/file.h"
#include "lane/runtime/interrupt.h"
#include "lane/runtime/shutdown.h"
#include "lane/stand_in/stand_in.h"

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "fnabi._base.lane",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit_lane(void);
PyMODINIT_FUNC PyInit_lane(void) {
  if (lane_check_interpreter() < 0) return NULL;
  PyObject* module = PyModule_Create(&definition);
  if (module != NULL &&
      (lane_object_init(module) < 0 || lane_moved_init(module) < 0 ||
       lane_attributes_init(module) < 0 || lane_dialect_init(module) < 0 ||
       lane_any_init(module) < 0 || lane_any_array_init(module) < 0 ||
       lane_array_init(module) < 0 || lane_map_init(module) < 0 ||
       lane_error_init(module) < 0 || lane_tensor_init(module) < 0 ||
       lane_function_init(module) < 0 || lane_function_class_init(module) < 0 ||
       lane_call_init(module) < 0 || lane_callback_init(module) < 0 ||
       lane_library_init(module) < 0 || lane_stream_init(module) < 0 ||
       lane_registry_init(module) < 0 || lane_stand_in_init(module) < 0 ||
       lane_reflection_init(module) < 0 || lane_definition_init(module) < 0 ||
       lane_columns_init(module) < 0 || lane_arrow_init(module) < 0 ||
       lane_record_init(module) < 0 || lane_record_decode_init(module) < 0 ||
       lane_record_encode_init(module) < 0 ||
       lane_signature_builder_init(module) < 0 ||
       lane_signature_parser_init(module) < 0 ||
       lane_shutdown_init(module) < 0 || lane_interrupt_init(module) < 0 ||
       lane_cut_files_init(module) < 0 || lane_file_init(module) < 0))
    Py_CLEAR(module);
  return module;
}
