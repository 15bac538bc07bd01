/* The classes of types that libraries have registered with libtvm_ffi. */
#include "lane/calls/known_types.h"

#include "lane/calls/types.h"
#include "lane/runtime/hooks.h"
#include "lane/runtime/text.h"
#include "lane/runtime/tvm_ffi.h"
#include "lane/runtime/type_table.h"

/* The class of the objects of a type, and what libtvm_ffi records of it. */
typedef struct known_type {
  PyTypeObject* class; /* NULL: not made yet */
  const fnabi_type_info* info;
} known_type;

static known_type* known; /* by type index; the GIL guards it */
static int32_t known_count;

enum { TYPE_INDEX_MAX = 1 << 24 };

static bool grow(int32_t type_index) {
  if (type_index < known_count) return true;
  int32_t count = type_index + 64;
  known_type* more = PyMem_Realloc(known, (size_t)count * sizeof *known);
  if (more == NULL) return false;
  memset(more + known_count, 0, (size_t)(count - known_count) * sizeof *known);
  known = more;
  known_count = count;
  return true;
}

static const known_type* find(int32_t type_index) {
  if (type_index < 0 || type_index >= known_count ||
      known[type_index].info == NULL)
    return NULL;
  return &known[type_index];
}

PyTypeObject* lane_class_of(int32_t type_index) {
  const known_type* type = find(type_index);
  if (type != NULL && type->class != NULL) return type->class;
  if (type_index <= FNABI_INDEX_OBJECT || type_index > TYPE_INDEX_MAX ||
      (lane_runtime_find() == NULL && lane_table_info(type_index) == NULL))
    return lane.object;
  PyObject* make = lane_get(LANE_CLASS_OF);
  PyObject* made = make ? PyObject_CallFunction(make, "i", type_index) : NULL;
  if (made == NULL) return NULL;
  Py_DECREF(made); /* None, or a class that the table keeps */
  type = find(type_index);
  return type && type->class ? type->class : lane.object;
}

bool lane_known_describe(int32_t type_index, const fnabi_type_info* info) {
  if (type_index < 0 || type_index > TYPE_INDEX_MAX || !grow(type_index))
    return false;
  known[type_index].info = info;
  return true;
}

void lane_known_class(int32_t type_index, PyTypeObject* class) {
  PyObject* old = (PyObject*)known[type_index].class;
  known[type_index].class = (PyTypeObject*)Py_NewRef((PyObject*)class);
  Py_XDECREF(old);
}

/* Whether objects of a type are objects of another one, of a given depth. */
bool lane_known_derives(int32_t type_index, int32_t base, int32_t depth) {
  if (type_index == base) return true;
  const known_type* type = find(type_index);
  return type != NULL && type->info->depth > depth &&
         type->info->ancestors[depth]->type_index == base;
}

PyObject* lane_type_key(int32_t type_index) {
  const char* key = fnabi_type_key(type_index);
  if (key != NULL) return PyUnicode_FromString(key);
  if (lane_class_of(type_index) == NULL) return NULL;
  const known_type* type = find(type_index);
  if (type == NULL) Py_RETURN_NONE;
  return lane_text(&type->info->key);
}
