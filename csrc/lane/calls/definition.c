/* Types that a Python program defines: libtvm_ffi keeps them, or fnabi's own
 * table where that is not loaded, with the fields, methods and attributes that
 * it is given here, for as long as the process runs. It copies texts and keeps
 * values. */
#include "lane/calls/context.h"
#include "lane/calls/dialect.h"
#include "lane/calls/error.h"
#include "lane/calls/from_value.h"
#include "lane/calls/function.h"
#include "lane/calls/init.h"
#include "lane/calls/to_value.h"
#include "lane/runtime/call_error.h"
#include "lane/runtime/error_slot.h"
#include "lane/runtime/loader.h"
#include "lane/runtime/shutdown.h"
#include "lane/runtime/text.h"
#include "lane/runtime/tvm_ffi.h"
#include "lane/runtime/type_calls.h"
#include "lane/runtime/types.h"

typedef struct definer {
  int32_t (*type)(const fnabi_byte_array* key, int32_t static_index,
                  int32_t depth, int32_t child_slots, int32_t may_overflow,
                  int32_t parent);
  int (*field)(int32_t type_index, const fnabi_field_info* info);
  int (*method)(int32_t type_index, const fnabi_method_info* info);
  int (*metadata)(int32_t type_index, const fnabi_type_metadata* metadata);
  int (*attribute)(int32_t type_index, const fnabi_byte_array* name,
                   const fnabi_any* value);
} definer;

static const definer own = {
    lane_type_call_index,    lane_type_call_field,     lane_type_call_method,
    lane_type_call_metadata, lane_type_call_attribute,
};

static const definer* find_runtime(void) {
  static definer found;
  static bool known; /* the GIL guards both */
  static const char* const names[] = {
      "TVMFFITypeGetOrAllocIndex", "TVMFFITypeRegisterField",
      "TVMFFITypeRegisterMethod", "TVMFFITypeRegisterMetadata",
      "TVMFFITypeRegisterAttr"};
  if (known) return &found;
  void* library = lane_loader_find(LANE_LIBRARY("tvm_ffi"));
  void* symbols[5] = {NULL};
  bool complete = library != NULL && lane_runtime_find() != NULL;
  for (size_t i = 0; complete && i < 5; i++) {
    symbols[i] = lane_loader_symbol(library, names[i]);
    complete = symbols[i] != NULL;
  }
  if (library != NULL)
    lane_loader_close(library); /* stays loaded, as others use it */
  if (!complete) return NULL;
  memcpy(&found.type, &symbols[0], sizeof symbols[0]);
  memcpy(&found.field, &symbols[1], sizeof symbols[0]);
  memcpy(&found.method, &symbols[2], sizeof symbols[0]);
  memcpy(&found.metadata, &symbols[3], sizeof symbols[0]);
  memcpy(&found.attribute, &symbols[4], sizeof symbols[0]);
  known = true;
  return &found;
}

/* Returns the functions of the table that a type is in, or NULL with an
 * exception. */
static const definer* find_definer(const char* function, int32_t type_index) {
  if (lane_table_is_own(type_index) || !lane_runtime_find()) return &own;
  const definer* found = find_runtime();
  if (found == NULL)
    lane_call_error("%s: this libtvm_ffi defines no types", function);
  return found;
}

/* The bytes of up to three texts, and what keeps them. */
typedef struct texts {
  fnabi_byte_array bytes[3];
  PyObject* keep[3];
} texts;

static void texts_close(texts* t) {
  for (int i = 0; i < 3; i++) Py_XDECREF(t->keep[i]);
}

static int texts_open(texts* t, PyObject* first, PyObject* second,
                      PyObject* third) {
  PyObject* all[] = {first, second, third};
  memset(t, 0, sizeof *t);
  for (int i = 0; i < 3; i++)
    if (all[i] != NULL && lane_utf8(all[i], &t->bytes[i], &t->keep[i]) < 0) {
      texts_close(t);
      return -1;
    }
  return 0;
}

/* Raises the error of a definition that has failed. */
static PyObject* done(PyObject* name, fnabi_error_object* left, int status) {
  if (status != 0) lane_error_raise(name, status);
  lane_error_end(left, status == 0);
  if (status != 0) return NULL;
  Py_RETURN_NONE;
}

static PyObject* define_type(PyObject* module, PyObject* args) {
  PyObject* key;
  int parent;
  texts t;
  (void)module;
  if (!PyArg_ParseTuple(args, "Ui:define_type", &key, &parent)) return NULL;
  const definer* define = find_definer("define_type", parent);
  if (define == NULL) return NULL;
  const fnabi_type_info* info = lane_type_info(parent);
  if (info == NULL) {
    lane_value_error("define_type: no type has the index %d", parent);
    return NULL;
  }
  if (texts_open(&t, key, NULL, NULL) < 0) return NULL;
  /* -1: the table chooses the index. 0, 1: any number of types may derive from
   * this one. */
  fnabi_error_object* left = lane_error_begin();
  int32_t index = define->type(&t.bytes[0], -1, info->depth + 1, 0, 1, parent);
  texts_close(&t);
  if (index < 0) lane_error_raise(key, -1);
  lane_error_end(left, index >= 0);
  return index < 0 ? NULL : PyLong_FromLong(index);
}

static PyObject* define_field(PyObject* module, PyObject* args) {
  PyObject *name, *doc, *metadata, *setter, *default_value = NULL;
  fnabi_field_info info = {0};
  int index, static_index;
  long long flags, size, alignment, offset;
  unsigned long long getter;
  texts t;
  (void)module;
  if (!PyArg_ParseTuple(args, "iUUUL(LLL)iKO!|O:define_field", &index, &name,
                        &doc, &metadata, &flags, &size, &alignment, &offset,
                        &static_index, &getter, lane.function, &setter,
                        &default_value))
    return NULL;
  const definer* define = find_definer("define_field", index);
  if (define == NULL) return NULL;
  fnabi_object* object = lane_function_object(setter);
  if (object == NULL || texts_open(&t, name, doc, metadata) < 0) return NULL;
  if (default_value != NULL &&
      lane_own(default_value, &info.default_value) < 0) {
    texts_close(&t);
    return NULL;
  }
  void* address = (void*)(uintptr_t)getter;
  info.name = t.bytes[0];
  info.doc = t.bytes[1];
  info.metadata = t.bytes[2];
  info.flags = flags | FNABI_FIELD_SETTER_OBJECT;
  if (default_value != NULL) info.flags |= FNABI_FIELD_DEFAULT;
  info.size = size;
  info.alignment = alignment;
  info.offset = offset;
  memcpy(&info.getter, &address, sizeof address);
  info.setter = object;
  info.static_type_index = static_index;
  fnabi_error_object* left = lane_error_begin();
  int status = define->field(index, &info);
  texts_close(&t);
  fnabi_any_release(&info.default_value);
  return done(name, left, status);
}

static PyObject* define_method(PyObject* module, PyObject* args) {
  PyObject *name, *doc, *metadata, *function;
  fnabi_method_info info = {0};
  int index, is_static;
  texts t;
  (void)module;
  if (!PyArg_ParseTuple(args, "iUUUpO!:define_method", &index, &name, &doc,
                        &metadata, &is_static, lane.function, &function))
    return NULL;
  const definer* define = find_definer("define_method", index);
  if (define == NULL) return NULL;
  fnabi_object* object = lane_function_object(function);
  if (object == NULL || texts_open(&t, name, doc, metadata) < 0) return NULL;
  info.name = t.bytes[0];
  info.doc = t.bytes[1];
  info.metadata = t.bytes[2];
  info.flags = is_static ? FNABI_FIELD_STATIC : 0;
  fnabi_any_set_object(&info.method, object);
  fnabi_error_object* left = lane_error_begin();
  int status = define->method(index, &info);
  texts_close(&t);
  return done(name, left, status);
}

static PyObject* define_attribute(PyObject* module, PyObject* args) {
  PyObject *name, *value;
  fnabi_any any, none = {0};
  int index;
  texts t;
  (void)module;
  if (!PyArg_ParseTuple(args, "iUO:define_attribute", &index, &name, &value))
    return NULL;
  const definer* define = find_definer("define_attribute", index);
  if (define == NULL || texts_open(&t, name, NULL, NULL) < 0) return NULL;
  if (lane_own(value, &any) < 0) {
    texts_close(&t);
    return NULL;
  }
  fnabi_error_object* left = lane_error_begin();
  /* The call without a type creates the column for this attribute. */
  int status = define->attribute(FNABI_INDEX_NONE, &t.bytes[0], &none);
  if (status == 0) status = define->attribute(index, &t.bytes[0], &any);
  texts_close(&t);
  fnabi_any_release(&any);
  return done(name, left, status);
}

static PyObject* define_metadata(PyObject* module, PyObject* args) {
  fnabi_type_metadata metadata = {0};
  int index;
  (void)module;
  if (!PyArg_ParseTuple(args, "iii:define_metadata", &index,
                        &metadata.total_size, &metadata.equality))
    return NULL;
  const definer* define = find_definer("define_metadata", index);
  if (define == NULL) return NULL;
  fnabi_error_object* left = lane_error_begin();
  return done(NULL, left, define->metadata(index, &metadata));
}

/* --------------------------------------------------------------- converters */

/* A callable that converts the values of a field. It is never freed, because
 * the setters of a type last as long as the process. */
typedef struct converter {
  PyObject* callable;
  const lane_dialect* dialect; /* of its argument, or NULL */
  int32_t kept[2]; /* type indexes of values that are stored as they are */
} converter;

static bool is_kept(const converter* by, const fnabi_any* value) {
  return value->type_index == by->kept[0] || value->type_index == by->kept[1];
}

/* Called by a setter that libtvm_ffi has made, on any thread. */
static int convert(void* self, const fnabi_any* value, fnabi_any* result) {
  const converter* by = self;
  if (is_kept(by, value) && fnabi_any_own(value, result) == FNABI_OK) return 0;
  if (lane_finished) {
    lane_error_report_end();
    return -1;
  }
  PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *type, *problem, *traceback;
  PyErr_Fetch(&type, &problem, &traceback);
  const lane_dialect* outer = lane_current_dialect;
  lane_current_dialect = by->dialect;
  PyObject *given = lane_from_argument(value),
           *made = given
                       ? PyObject_CallFunctionObjArgs(by->callable, given, NULL)
                       : NULL;
  int status = made != NULL ? lane_own(made, result) : -1;
  if (status < 0) Py_XDECREF(lane_error_report());
  Py_XDECREF(given);
  Py_XDECREF(made);
  lane_current_dialect = outer;
  PyErr_Restore(type, problem, traceback);
  PyGILState_Release(gil);
  return status < 0 ? -1 : 0;
}

static PyObject* make_converter(PyObject* module, PyObject* args) {
  PyObject* callable;
  int first = FNABI_INDEX_ANY, second = FNABI_INDEX_ANY;
  (void)module;
  if (!PyArg_ParseTuple(args, "O|ii:converter", &callable, &first, &second))
    return NULL;
  converter* made = PyMem_Malloc(sizeof *made);
  if (made == NULL) return PyErr_NoMemory();
  *made =
      (converter){Py_NewRef(callable), lane_current_dialect, {first, second}};
  return Py_BuildValue("(KK)", (unsigned long long)(uintptr_t)made,
                       (unsigned long long)(uintptr_t)convert);
}

static PyMethodDef definition_methods[] = {
    {"define_type", define_type, METH_VARARGS,
     "define_type(key, parent, /)\n--\n\n"
     "Register a type with libtvm_ffi, by its key and the index of the type "
     "that it derives\nfrom. Return its index, which is that of an existing "
     "type of the key."},
    {"define_field", define_field, METH_VARARGS,
     "define_field(index, name, doc, metadata, flags, layout, static_index, "
     "getter, setter,\n             default=..., /)\n--\n\n"
     "Add a field to a type; its layout is its size, alignment and offset."},
    {"define_method", define_method, METH_VARARGS,
     "define_method(index, name, doc, metadata, static, function, /)\n--\n\n"
     "Add a method to a type."},
    {"define_attribute", define_attribute, METH_VARARGS,
     "define_attribute(index, name, value, /)\n--\n\n"
     "Set an attribute of a type, once."},
    {"define_metadata", define_metadata, METH_VARARGS,
     "define_metadata(index, size, equality, /)\n--\n\n"
     "Set the size of a type's objects, and how they are compared by "
     "structure."},
    {"converter", make_converter, METH_VARARGS,
     "converter(callable, /, *kept)\n--\n\n"
     "Return the two addresses by which setters of libtvm_ffi call a callable, "
     "but for values\nof up to two type indexes, which they keep as they "
     "are."},
    {0}};

int lane_definition_init(PyObject* module) {
  return PyModule_AddFunctions(module, definition_methods);
}
