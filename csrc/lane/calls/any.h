/* any.h - a value as a Python object. Private. */
#ifndef FNABI_LANE_CALLS_ANY_H
#define FNABI_LANE_CALLS_ANY_H

#include "lane/calls/types.h"

typedef struct lane_any {
  PyObject_HEAD fnabi_any any; /* owned */
} lane_any;

/* Adds a reference. */
static inline PyObject* lane_any_new(const fnabi_any* any) {
  lane_any* self = PyObject_New(lane_any, lane.any);
  if (self == NULL) return NULL;
  self->any = *any;
  fnabi_any_retain(any);
  return (PyObject*)self;
}

/* Returns a borrowed value. */
static inline fnabi_any lane_any_value(PyObject* any) {
  return ((lane_any*)any)->any;
}

#endif /* FNABI_LANE_CALLS_ANY_H */
