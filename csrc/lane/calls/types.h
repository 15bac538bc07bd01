/* types.h - the Python types of the lane, and the layout of those around an object. Private. */
#ifndef FNABI_LANE_CALLS_TYPES_H
#define FNABI_LANE_CALLS_TYPES_H

#include "lane/runtime/python.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/object.h"

typedef struct lane_dialect lane_dialect;

/* A Python object around one strong reference to an object of the ABI. */
typedef struct lane_object {
  PyObject_HEAD fnabi_object* object;
  /* of a container: the framework of its tensors, or NULL; see lane_exchange */
  const struct fnabi_dl_exchange* exchange;
  const struct lane_dialect* dialect; /* of the values read from it, or NULL */
  bool empty;    /* `object` was moved, or is not made yet */
  uint32_t lent; /* the number of calls that borrow it */
} lane_object;

typedef struct lane_types {
  PyTypeObject* any;
  PyTypeObject* any_array;
  PyTypeObject* object; /* the base of those that follow */
  PyTypeObject* array;
  PyTypeObject* list;
  PyTypeObject* map;
  PyTypeObject* dict;
  PyTypeObject* error;
  PyTypeObject* tensor;
  PyTypeObject* function; /* not a lane_object: a symbol has no object */
  PyTypeObject* call;
  PyTypeObject* moved; /* an object that the callee may take */
} lane_types;
extern lane_types lane;

/* The class of fnabi whose methods read objects of one type only, such as
 * Array; lane.object for all others, whose methods look at the object. */
PyTypeObject* lane_kind_of(PyTypeObject* class);

/* Releases a reference. The current exception stays, although the object's
 * deleter may run Python. */
void lane_release(fnabi_object* object);

/* Whether a class is derived from lane.object in Python, without attributes of
 * its own. */
bool lane_has_our_layout(PyTypeObject* class);

#endif /* FNABI_LANE_CALLS_TYPES_H */
