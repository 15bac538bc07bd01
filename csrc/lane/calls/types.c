/* The Python types of the lane, each set by the file that makes it, and what
 * all types around an object share. */
#include "lane/calls/types.h"

lane_types lane;

void lane_release(fnabi_object* object) {
  PyObject *kind, *problem, *traceback;
  PyErr_Fetch(&kind, &problem, &traceback);
  fnabi_object_release(object);
  PyErr_Restore(kind, problem, traceback);
}

PyTypeObject* lane_kind_of(PyTypeObject* class) {
  PyTypeObject* kinds[] = {lane.array, lane.list,  lane.map,
                           lane.dict,  lane.error, lane.tensor};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (PyType_IsSubtype(class, kinds[i])) return kinds[i];
  return lane.object;
}

/* Only classes derived in Python support garbage collection; the lane's own
 * types, such as Array, have the same layout but are not meant here. */
bool lane_has_our_layout(PyTypeObject* class) {
  return PyType_IsSubtype(class, lane.object) &&
         (PyType_GetFlags(class) & Py_TPFLAGS_HAVE_GC) != 0 &&
         lane_class_number(class, "__basicsize__") ==
             (Py_ssize_t)sizeof(lane_object) &&
         lane_class_number(class, "__dictoffset__") == 0;
}
