/* record.h - classes whose instances are filled in place. */
#ifndef FNABI_LANE_RECORDS_RECORD_H
#define FNABI_LANE_RECORDS_RECORD_H

#include "lane/runtime/python.h"

#define LANE_RECORD_FIELDS 8 /* at most */

/* A class, and where its instances keep their fields. Filling a new instance in
 * place takes half the time of calling the class. */
typedef struct lane_record {
  PyObject* class;
  allocfunc alloc;
  size_t count;
  Py_ssize_t offsets[LANE_RECORD_FIELDS];
} lane_record;

/* Finds the layout of a msgspec struct or a class with slots. That of a struct
 * is checked: an instance that is filled in place must be the same bytes as one
 * that the class itself makes. Otherwise raises TypeError and returns false. */
bool lane_record_fill(lane_record* record, PyObject* class);
void lane_record_free(lane_record* record);

/* Returns the record in the capsule that Python got, with `least` to `most`
 * fields. */
const lane_record* lane_record_get(PyObject* capsule, size_t least,
                                   size_t most);

/* Returns an instance with these values, whose references it takes over; NULL
 * when one of them is NULL. */
static inline PyObject* lane_record_make(const lane_record* record,
                                         PyObject** values) {
  bool whole = true;
  for (size_t i = 0; i < record->count; i++) whole &= values[i] != NULL;
  PyObject* made =
      whole ? record->alloc((PyTypeObject*)record->class, 0) : NULL;
  for (size_t i = 0; i < record->count; i++)
    if (made != NULL)
      *(PyObject**)((char*)made + record->offsets[i]) = values[i];
    else
      Py_XDECREF(values[i]);
  return made;
}

#endif
