/* Makes Python objects around objects of the ABI, with the classes that the
 * dialect and the library have for them. */
#include "lane/calls/wrap.h"

#include "lane/calls/attributes.h"
#include "lane/calls/context.h"
#include "lane/calls/dialect.h"
#include "lane/calls/known_types.h"

PyObject* lane_wrap(PyTypeObject* type, fnabi_object* object) {
  lane_object* self;
  if ((PyType_GetFlags(type) & Py_TPFLAGS_HAVE_GC) == 0) {
    self = PyObject_New(lane_object, type);
    if (self != NULL) self->lent = 0;
  } else if (lane_has_attributes(type)) {
    self = (lane_object*)lane_attributes_wrap(type, object);
    if (self == NULL) return NULL;
  } else {
    /* Classes derived in Python support garbage collection. These objects hold
     * nothing to visit, so they stay untracked. */
    self = PyObject_GC_New(lane_object, type);
    if (self != NULL) self->lent = 0;
  }
  if (self == NULL) {
    fnabi_object_release(object);
    return NULL;
  }
  self->object = object;
  self->exchange = lane_exchange;
  self->dialect = lane_current_dialect;
  self->empty = false;
  return (PyObject*)self;
}

PyObject* lane_construct(PyTypeObject* type, fnabi_object* object) {
  if ((PyType_GetFlags(type) & Py_TPFLAGS_HAVE_GC) == 0)
    return lane_wrap(type, object);
  /* A class of Python, which may have attributes of its own. */
  const lane_dialect* dialect = lane_dialect_of(type);
  lane_object* self = (lane_object*)PyType_GenericAlloc(type, 0);
  if (self == NULL) {
    fnabi_object_release(object);
    return NULL;
  }
  self->object = object;
  self->exchange = lane_exchange;
  self->dialect = dialect;
  return (PyObject*)self;
}

static PyTypeObject* or_else(PyTypeObject* class, PyTypeObject* otherwise) {
  return class != NULL ? class : otherwise;
}

static PyTypeObject* class_in(const lane_dialect* self, int32_t type_index) {
  switch (type_index) {
    case FNABI_INDEX_ERROR:
      return or_else(self->error, lane.error);
    case FNABI_INDEX_TENSOR:
      return or_else(self->tensor, lane.tensor);
    case FNABI_INDEX_ARRAY:
      return or_else(self->array, lane.array);
    case FNABI_INDEX_LIST:
      return or_else(self->list, lane.list);
    case FNABI_INDEX_MAP:
      return or_else(self->map, lane.map);
    case FNABI_INDEX_DICT:
      return or_else(self->dict, lane.dict);
  }
  if (type_index >= 0 && type_index < self->class_count &&
      self->classes[type_index] != NULL)
    return self->classes[type_index];
  if (self->class_of == NULL) return lane_class_of(type_index);
  PyObject* made = PyObject_CallFunction(self->class_of, "i", type_index);
  if (made == NULL) return NULL;
  Py_DECREF(made); /* None, or a class that is in the table now */
  if (type_index >= 0 && type_index < self->class_count &&
      self->classes[type_index] != NULL)
    return self->classes[type_index];
  return lane.object;
}

PyTypeObject* lane_type_of(int32_t type_index) {
  if (lane_current_dialect != NULL)
    return class_in(lane_current_dialect, type_index);
  switch (type_index) {
    case FNABI_INDEX_ERROR:
      return lane.error;
    case FNABI_INDEX_TENSOR:
      return lane.tensor;
    case FNABI_INDEX_ARRAY:
      return lane.array;
    case FNABI_INDEX_LIST:
      return lane.list;
    case FNABI_INDEX_MAP:
      return lane.map;
    case FNABI_INDEX_DICT:
      return lane.dict;
    default:
      return lane_class_of(type_index);
  }
}

PyObject* lane_wrap_known(fnabi_object* object) {
  PyTypeObject* type = lane_type_of(object->type_index);
  if (type != NULL) return lane_wrap(type, object);
  lane_release(object);
  return NULL;
}

PyObject* lane_dialect_made(PyObject* make, PyObject* value,
                            fnabi_object* object) {
  PyTypeObject* type = lane_type_of(FNABI_INDEX_OBJECT);
  PyObject *wrapper = NULL, *made = NULL;
  if (type != NULL) {
    fnabi_object_retain(object);
    wrapper = lane_wrap(type, object);
  }
  if (wrapper != NULL)
    made = PyObject_CallFunctionObjArgs(make, value, wrapper, NULL);
  Py_XDECREF(wrapper);
  Py_DECREF(value);
  return made;
}
