/* Classes whose instances are filled in place. */
#include "lane/records/record.h"

#include "lane/records/init.h"
/* after Python.h, which settles what the system headers offer */
#include <string.h>

#define CAPSULE "fnabi._base.lane.record"

void lane_record_free(lane_record* record) { Py_CLEAR(record->class); }

static void record_delete(PyObject* capsule) {
  lane_record* record = PyCapsule_GetPointer(capsule, CAPSULE);
  lane_record_free(record);
  PyMem_Free(record);
}

/* The offset of a field of a class or one of its bases; 0 when none has it. */
static Py_ssize_t offset_of(PyObject* bases, PyObject* name) {
  for (Py_ssize_t i = 0; i < PyTuple_Size(bases); i++) {
    PyTypeObject* base = (PyTypeObject*)PyTuple_GetItem(bases, i);
    const PyMemberDef* member = PyType_GetSlot(base, Py_tp_members);
    for (; member != NULL && member->name != NULL; member++)
      if (member->type == T_OBJECT_EX &&
          PyUnicode_CompareWithASCIIString(name, member->name) == 0)
        return member->offset;
  }
  return 0;
}

/* The names of the fields: __struct_fields__ of a class that msgspec makes, or
 * __slots__ of another one, whose instances have only what CPython puts there. */
static PyObject* names_of(PyObject* class, bool* is_struct) {
  PyObject* names = PyObject_GetAttrString(class, "__struct_fields__");
  *is_struct = names != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError);
  if (*is_struct) return names;
  PyErr_Clear();
  return PyObject_GetAttrString(class, "__slots__");
}

/* The fields in the order of their names. Each must lie in an instance, after
 * the head that every object has. */
static bool find_fields(lane_record* record, PyObject* class, Py_ssize_t size,
                        bool* is_struct) {
  PyObject* names = names_of(class, is_struct);
  PyObject* bases =
      names != NULL ? PyObject_GetAttrString(class, "__mro__") : NULL;
  bool found = names != NULL && bases != NULL && PyTuple_Check(names) &&
               PyTuple_Check(bases) &&
               PyTuple_Size(names) <= LANE_RECORD_FIELDS;
  for (Py_ssize_t i = 0; found && i < PyTuple_Size(names); i++) {
    Py_ssize_t offset = offset_of(bases, PyTuple_GetItem(names, i));
    found = offset >= (Py_ssize_t)sizeof(PyObject) &&
            offset <= size - (Py_ssize_t)sizeof(PyObject*);
    record->offsets[record->count++] = offset;
  }
  Py_XDECREF(names);
  Py_XDECREF(bases);
  return found;
}

/* Whether an instance filled in place is equal, byte for byte, to one that the
 * class creates from the same values. If not, the fields are cleared again:
 * the class may store something else there, which it must not release. */
static bool same_bytes(const lane_record* record, PyObject* values,
                       Py_ssize_t size) {
  PyObject* fields[LANE_RECORD_FIELDS];
  /* as its base is called, because a class may check its arguments */
  PyTypeObject* base = PyType_GetSlot((PyTypeObject*)record->class, Py_tp_base);
  ternaryfunc make =
      (ternaryfunc)PyType_GetSlot(Py_TYPE((PyObject*)base), Py_tp_call);
  PyObject* expected = make(record->class, values, NULL);
  if (expected == NULL) return false;
  for (size_t i = 0; i < record->count; i++)
    fields[i] = Py_NewRef(PyTuple_GetItem(values, (Py_ssize_t)i));
  PyObject* made = lane_record_make(record, fields);
  const size_t head = sizeof(PyObject);
  bool same = made != NULL && Py_TYPE(expected) == Py_TYPE(made) &&
              PyObject_GC_IsTracked(expected) == PyObject_GC_IsTracked(made) &&
              memcmp((char*)expected + head, (char*)made + head,
                     (size_t)size - head) == 0;
  for (size_t i = 0; made != NULL && !same && i < record->count; i++)
    Py_CLEAR(*(PyObject**)((char*)made + record->offsets[i]));
  Py_XDECREF(made);
  Py_DECREF(expected);
  return same;
}

bool lane_record_fill(lane_record* record, PyObject* class) {
  PyTypeObject* type = (PyTypeObject*)class;
  bool is_struct = true;
  bool good =
      PyType_Check(class) && lane_class_number(type, "__itemsize__") == 0;
  Py_ssize_t size = good ? lane_class_number(type, "__basicsize__") : -1;
  good = size >= (Py_ssize_t)sizeof(PyObject) &&
         find_fields(record, class, size, &is_struct);
  if (good) {
    record->class = Py_NewRef(class);
    record->alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject* values = PyTuple_New((Py_ssize_t)record->count);
    good = values != NULL;
    for (size_t i = 0; good && i < record->count; i++) {
      /* no two values are the same object */
      PyObject* value = PyUnicode_FromFormat("field %zu", i);
      good =
          value != NULL && PyTuple_SetItem(values, (Py_ssize_t)i, value) == 0;
    }
    good = good && (!is_struct || same_bytes(record, values, size));
    Py_XDECREF(values);
    if (!good) lane_record_free(record);
  }
  if (good) return true;
  if (lane_clear())
    PyErr_SetString(
        PyExc_TypeError,
        "the fields of an instance are not at the expected offsets");
  return false;
}

const lane_record* lane_record_get(PyObject* capsule, size_t least,
                                   size_t most) {
  const lane_record* record = PyCapsule_GetPointer(capsule, CAPSULE);
  if (record == NULL || (record->count >= least && record->count <= most))
    return record;
  PyErr_Format(PyExc_TypeError, "%R has %zu fields, expected %zu to %zu",
               record->class, record->count, least, most);
  return NULL;
}

static PyObject* record_new(PyObject* module, PyObject* class) {
  (void)module;
  lane_record* record = PyMem_Calloc(1, sizeof *record);
  if (record == NULL) return PyErr_NoMemory();
  PyObject* capsule = NULL;
  if (lane_record_fill(record, class))
    capsule = PyCapsule_New(record, CAPSULE, record_delete);
  if (capsule == NULL) {
    lane_record_free(record);
    PyMem_Free(record);
  }
  return capsule;
}

static PyMethodDef functions[] = {
    {"record", record_new, METH_O,
     "record(struct, /)\n--\n\n"
     "Return the layout of a msgspec struct or a class with slots, with which "
     "a decoder fills instances in place.\n\nRaises:\n    TypeError: If the "
     "fields of an instance are not at the expected offsets.\n"},
    {NULL, NULL, 0, NULL}};

int lane_record_init(PyObject* module) {
  return PyModule_AddFunctions(module, functions);
}
