/* dialect.h - the classes that a package with the names of another one has. Private. */
#ifndef FNABI_LANE_CALLS_DIALECT_H
#define FNABI_LANE_CALLS_DIALECT_H

#include "lane/calls/types.h"

/* The classes that a package with the names of another one has for values.
 * NULL: the class of fnabi. None is ever freed. */
typedef struct lane_dialect {
  PyObject_HEAD PyTypeObject *array, *list, *map, *dict, *error, *tensor,
      *function;
  PyObject* dtype;     /* (code, bits, lanes) -> a dtype */
  PyObject* device;    /* (type, id) -> a device */
  PyObject* shape;     /* (dims, Object) -> a shape */
  PyObject* string;    /* (str, Object) -> the text of an object */
  PyObject* bytes;     /* (bytes, Object) -> the bytes of an object */
  PyObject* class_of;  /* (type_index) -> a class, or None */
  PyObject* backtrace; /* (exception, str) -> the backtrace of its error */
  PyObject* errors;    /* a dict: kinds of errors -> classes of exceptions */
  PyObject* attribute; /* the name of an exception's attribute with its error */
  PyObject* parts;     /* a dict: the dtypes and devices that were made */
  bool loose_sequences;   /* slices are lists, + takes any iterable */
  PyTypeObject** classes; /* by type index */
  int32_t class_count;
} lane_dialect;

/* The dialect of a class derived from one of the lane's, or NULL. */
const lane_dialect* lane_dialect_of(PyTypeObject* type);
/* Sets the class for a type index, which is one that lane_known_describe took. */
int lane_dialect_set(PyObject* dialect, int32_t type_index,
                     PyTypeObject* class);
/* A dialect's dtype or device; a new reference. */
PyObject* lane_dialect_parts(const lane_dialect* dialect, PyObject* make,
                             PyObject* key);

#endif /* FNABI_LANE_CALLS_DIALECT_H */
