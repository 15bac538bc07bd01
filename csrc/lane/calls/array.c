/* The Python types Array and List. */
#include "lane/calls/array.h"

#include "lane/calls/context.h"
#include "lane/calls/dialect.h"
#include "lane/calls/from_value.h"
#include "lane/calls/init.h"
#include "lane/calls/level.h"
#include "lane/calls/to_value.h"
#include "lane/calls/wrap.h"
#include "lane/runtime/call_error.h"
#include "lane/runtime/interrupt.h"

/* -------------------------------------------------------------- to an array */

/* These functions run no Python code. */
static bool fill_simple(PyObject* value, fnabi_any* out) {
  PyTypeObject* type = Py_TYPE(value);
  if (type == &PyLong_Type) {
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0) return false;
    fnabi_any_set(out, FNABI_INDEX_INT, number);
    return true;
  }
  if (type == &PyFloat_Type) {
    fnabi_any_set_float(out, PyFloat_AsDouble(value));
    return true;
  }
  return false;
}

static int change(void) {
  return lane_call_error("the list changed while it was converted");
}

/* Converting an element may run Python code, which may change the list. */
static int check_size(PyObject* items, bool list, Py_ssize_t size) {
  return list && PyList_Size(items) != size ? change() : 0;
}

/* Creates an array or list with the values of a Python list or tuple. */
static fnabi_seq_object* own_items(PyObject* items, bool as_list) {
  bool list = PyList_Check(items);
  Py_ssize_t size = list ? PyList_Size(items) : PyTuple_Size(items);
  fnabi_seq_object* seq =
      as_list ? fnabi_list_new(size) : fnabi_array_new(size);
  if (seq == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  if (lane_level_enter(" while a list is converted") < 0) {
    fnabi_object_release(seq);
    return NULL;
  }
  int status = 0;
  Py_ssize_t i = 0, end;
  while (i < size && status == 0) {
    if ((end = lane_part(i, size)) < 0) status = -1;
    if (i != 0 && status == 0) status = check_size(items, list, size);
    for (; i < end && status == 0; i++) {
      PyObject* item =
          list ? PyList_GetItem(items, i) : PyTuple_GetItem(items, i);
      if (fill_simple(item, seq->data + i)) continue;
      Py_INCREF(item);
      status = lane_own(item, seq->data + i);
      Py_DECREF(item);
      if (status == 0) status = check_size(items, list, size);
    }
  }
  lane_level_leave();
  if (status == 0) return seq;
  seq->size = i; /* what was never touched takes no time to release */
  fnabi_object_release(seq);
  return NULL;
}

int lane_array_own(PyObject* sequence, fnabi_any* out) {
  fnabi_seq_object* array = own_items(sequence, false);
  if (array == NULL) return -1;
  fnabi_any_set_object(out, array);
  return 0;
}

/* Copies `count` values: every step-th one from start on. */
static fnabi_seq_object* copy(const fnabi_seq_object* seq, int64_t start,
                              int64_t step, int64_t count, bool as_list) {
  fnabi_seq_object* made =
      as_list ? fnabi_list_new(count) : fnabi_array_new(count);
  if (made == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  int64_t size = seq->size;
  for (int64_t i = 0, end; i < count;) {
    end = lane_part(i, count);
    if (end < 0 || (seq->size != size && change() < 0)) {
      made->size = i;
      fnabi_object_release(made);
      return NULL;
    }
    for (; i < end; i++) {
      made->data[i] = seq->data[start + i * step];
      fnabi_any_retain(made->data + i);
    }
  }
  return made;
}

static fnabi_seq_object* seq_of(PyObject* self) {
  return (fnabi_seq_object*)((lane_object*)self)->object;
}

static bool is_list(PyObject* self) { return lane_is(self, lane.list); }

static bool is_seq(PyObject* value) {
  return lane_is(value, lane.array) || lane_is(value, lane.list);
}

static const char* name_of(PyObject* self) {
  return is_list(self) ? "List" : "Array";
}

static Py_ssize_t length(PyObject* self);

/* The values of any iterable. */
static fnabi_seq_object* own_values(PyObject* values, const char* function,
                                    bool as_list) {
  if (is_seq(values)) {
    return copy(seq_of(values), 0, 1, length(values), as_list);
  }
  PyObject* items;
  if (PyList_Check(values) || PyTuple_Check(values)) {
    items = Py_NewRef(values);
  } else {
    PyObject* iterator = lane_iterator(values);
    if (iterator == NULL) {
      lane_type_error_got(values, "%s: values: expected an iterable", function);
      return NULL;
    }
    items = lane_list(iterator);
    Py_DECREF(iterator);
    if (items == NULL) return NULL;
  }
  fnabi_seq_object* made = own_items(items, as_list);
  Py_DECREF(items);
  if (made == NULL) lane_name_value("%s: values", function);
  return made;
}

static PyObject* make(PyTypeObject* type, PyObject* args, PyObject* names) {
  static char* keywords[] = {"values", NULL};
  bool as_list = PyType_IsSubtype(type, lane.list);
  PyObject* values = NULL;
  if (!PyArg_ParseTupleAndKeywords(
          args, names, as_list ? "|O:List" : "|O:Array", keywords, &values))
    return NULL;
  fnabi_seq_object* seq;
  if (values != NULL) {
    const lane_dialect* outer = lane_current_dialect;
    lane_current_dialect = lane_dialect_of(type);
    seq = own_values(values, as_list ? "List" : "Array", as_list);
    lane_current_dialect = outer;
    if (seq == NULL) return NULL;
  } else {
    seq = as_list ? fnabi_list_new(0) : fnabi_array_new(0);
    if (seq == NULL) return PyErr_NoMemory();
  }
  return lane_construct(type, &seq->object);
}

/* ------------------------------------------------------------ from an array */

/* An array is immutable. A list may change whenever Python code runs, so each
 * value of it is held by its own reference, and its size is read again. Python
 * code may also move either to a callee, so it is held as a whole. */

static bool get(const fnabi_seq_object* seq, int64_t i, fnabi_any* out) {
  if (i >= seq->size || seq->data == NULL) return false;
  *out = seq->data[i];
  fnabi_any_retain(out);
  return true;
}

static PyObject* item_of_list(const fnabi_seq_object* list, int64_t i,
                              bool plain) {
  fnabi_any value;
  if (get(list, i, &value)) return lane_take(&value, plain);
  change();
  return NULL;
}

PyObject* lane_array_list(fnabi_seq_object* array, bool plain) {
  bool fixed = array->object.type_index == FNABI_INDEX_ARRAY;
  Py_ssize_t size = (Py_ssize_t)array->size;
  const char* problem = fnabi_seq_problem(array);
  if (problem != NULL) {
    lane_call_error("the array or list is invalid: %s", problem);
    return NULL;
  }
  if (Py_EnterRecursiveCall(" while an array is converted")) return NULL;
  fnabi_object_retain(array);
  PyObject* list = PyList_New(size);
  for (Py_ssize_t i = 0, end; list != NULL && i < size;) {
    if ((end = lane_part(i, size)) < 0) Py_CLEAR(list);
    for (; list != NULL && i < end; i++) {
      PyObject* item = fixed ? lane_from(array->data + i, plain)
                             : item_of_list(array, i, plain);
      if (item == NULL || PyList_SetItem(list, i, item) < 0) Py_CLEAR(list);
    }
  }
  Py_LeaveRecursiveCall();
  if (list != NULL && size != array->size) {
    change();
    Py_CLEAR(list);
  }
  lane_release(&array->object);
  return list;
}

static bool is_fixed(const fnabi_seq_object* seq) {
  return seq->object.type_index == FNABI_INDEX_ARRAY && seq->data != NULL;
}

int lane_array_equal(fnabi_seq_object* a, fnabi_seq_object* b) {
  if (a == b) return 1;
  if (a->size != b->size) return 0;
  if (Py_EnterRecursiveCall(" while arrays are compared")) return -1;
  fnabi_object_retain(a);
  fnabi_object_retain(b);
  int equal = 1;
  fnabi_any x, y;
  if (is_fixed(a) && is_fixed(b)) {
    for (Py_ssize_t i = 0, end; equal == 1 && i < a->size;) {
      if ((end = lane_part(i, (Py_ssize_t)a->size)) < 0) equal = -1;
      for (; equal == 1 && i < end; i++)
        equal = lane_equal(a->data + i, b->data + i);
    }
  } else {
    for (Py_ssize_t i = 0; equal == 1 && get(a, i, &x); i++) {
      if (!get(b, i, &y)) {
        equal = 0;
      } else {
        equal = lane_step(i) < 0 ? -1 : lane_equal(&x, &y);
        fnabi_any_release(&y);
      }
      fnabi_any_release(&x);
    }
  }
  Py_LeaveRecursiveCall();
  if (equal == 1) equal = a->size == b->size;
  lane_release(&a->object);
  lane_release(&b->object);
  return equal;
}

int lane_array_repr(const fnabi_seq_object* seq, const lane_nest* nest,
                    PyObject* parts) {
  int status = 0;
  fnabi_any value;
  for (int64_t i = 0; status == 0 && get(seq, i, &value); i++) {
    PyObject* part = lane_work(10) == 0 ? lane_repr(&value, nest, true) : NULL;
    status = part ? PyList_Append(parts, part) : -1;
    Py_XDECREF(part);
    fnabi_any_release(&value);
  }
  return status;
}

/* The values as a Python list. Tensors and objects are of the framework and the
 * dialect of the call that returned the array. */
static PyObject* list_of(PyObject* self, bool plain) {
  lane_context outer = lane_enter(self);
  PyObject* list = lane_array_list(seq_of(self), plain);
  lane_leave(outer);
  return list;
}

static PyObject* tolist(PyObject* self, PyObject* unused) {
  (void)unused;
  return list_of(self, true);
}

static PyObject* reduce(PyObject* self, PyObject* unused) {
  (void)unused;
  return lane_reduce(self, list_of(self, false));
}

/* A library may damage a list after it has given it away. */
static Py_ssize_t length(PyObject* self) {
  const fnabi_seq_object* seq = seq_of(self);
  return fnabi_seq_problem(seq) == NULL ? (Py_ssize_t)seq->size : 0;
}

static PyObject* item(PyObject* self, Py_ssize_t i) {
  fnabi_any value;
  if (lane_step(i) < 0) return NULL;
  if (i >= 0 && get(seq_of(self), i, &value)) {
    lane_context outer = lane_enter(self);
    PyObject* taken = lane_take(&value, false);
    lane_leave(outer);
    return taken;
  }
  PyErr_Format(PyExc_IndexError, "%s index out of range", name_of(self));
  return NULL;
}

/* Converts a negative index. The result may be out of range. */
static int index_of(PyObject* self, PyObject* key, Py_ssize_t* i) {
  *i = PyNumber_AsSsize_t(key, PyExc_IndexError); /* -1 if it is no index */
  if (*i == -1 && PyErr_Occurred())
    return PyErr_ExceptionMatches(PyExc_TypeError)
               ? lane_type_error_got(key, "%s: index: expected int or slice",
                                     name_of(self))
               : -1;
  if (*i < 0) *i += length(self);
  return 0;
}

/* The start of a slice, its step, and the number of values. */
static int slice_of(PyObject* self, PyObject* key, Py_ssize_t* start,
                    Py_ssize_t* step, Py_ssize_t* count) {
  Py_ssize_t stop;
  if (PySlice_Unpack(key, start, &stop, step) < 0) return -1;
  *count = PySlice_AdjustIndices(length(self), start, &stop, *step);
  return 0;
}

/* A new array or list of the same class. */
static PyObject* like(PyObject* self, fnabi_seq_object* made) {
  return lane_construct(Py_TYPE(self), &made->object);
}

static PyObject* subscript(PyObject* self, PyObject* key) {
  Py_ssize_t start, step, count;
  if (!PySlice_Check(key))
    return index_of(self, key, &start) < 0 ? NULL : item(self, start);
  if (slice_of(self, key, &start, &step, &count) < 0) return NULL;
  fnabi_seq_object* made =
      copy(seq_of(self), start, step, count, is_list(self));
  const lane_dialect* dialect = ((lane_object*)self)->dialect;
  if (made == NULL || dialect == NULL || !dialect->loose_sequences)
    return made ? like(self, made) : NULL;
  lane_context outer = lane_enter(self);
  PyObject* list = lane_array_list(made, false);
  lane_leave(outer);
  fnabi_object_release(made);
  return list;
}

static PyObject* compare(PyObject* self, PyObject* other, int operation) {
  if (operation != Py_EQ && operation != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  int equal;
  if (is_seq(other)) {
    equal = lane_array_equal(seq_of(self), seq_of(other));
  } else if (PyList_Check(other)) {
    if (PyList_Size(other) == length(self)) {
      fnabi_seq_object* made = own_items(other, false);
      if (made == NULL && !lane_no_value()) return NULL;
      equal = made != NULL ? lane_array_equal(seq_of(self), made) : 0;
      if (made != NULL) fnabi_object_release(made);
    } else {
      equal = 0;
    }
  } else {
    Py_RETURN_NOTIMPLEMENTED;
  }
  return equal < 0 ? NULL : PyBool_FromLong(equal == (operation == Py_EQ));
}

/* The hash of the tuple of the values. */
static Py_hash_t hash(PyObject* self) {
  if (Py_EnterRecursiveCall(" while an array is hashed")) return -1;
  Py_hash_t answer = -1;
  PyObject *list = lane_array_list(seq_of(self), false),
           *tuple = list ? PyList_AsTuple(list) : NULL;
  if (tuple != NULL) answer = PyObject_Hash(tuple);
  Py_XDECREF(list);
  Py_XDECREF(tuple);
  Py_LeaveRecursiveCall();
  return answer;
}

/* Whether an element, which this takes, equals a value, which was converted,
 * too. Shapes, dtypes and devices decide in Python: a shape equals a tuple and a
 * dtype may equal a text, which are other values of the ABI. */
static int equals(PyObject* self, fnabi_any* element, PyObject* value,
                  const fnabi_any* converted) {
  int equal = -1;
  switch (element->type_index) {
    case FNABI_INDEX_SHAPE:
    case FNABI_INDEX_DTYPE:
    case FNABI_INDEX_DEVICE: {
      lane_context outer = lane_enter(self);
      PyObject* taken = lane_take(element, false);
      lane_leave(outer);
      if (taken != NULL) equal = PyObject_RichCompareBool(taken, value, Py_EQ);
      Py_XDECREF(taken);
      return equal;
    }
    default:
      equal = lane_equal(element, converted);
      fnabi_any_release(element);
      return equal;
  }
}

/* The first index of a value in [start, stop), or the number of times it
 * occurs. -1: not found; -2: an exception. */
static Py_ssize_t find(PyObject* self, PyObject* value, Py_ssize_t start,
                       Py_ssize_t stop, bool count) {
  fnabi_any sought, here;
  Py_ssize_t found = count ? 0 : -1;
  if (lane_own(value, &sought) < 0) return lane_no_value() ? found : -2;
  bool more = true;
  for (Py_ssize_t i = start, end; more && i < stop;) {
    Py_ssize_t size = (Py_ssize_t)seq_of(self)->size;
    if (i >= size) break;
    if ((end = lane_part(i, stop < size ? stop : size)) < 0) {
      found = -2;
      break;
    }
    for (; i < end && (more = get(seq_of(self), i, &here)); i++) {
      int equal = equals(self, &here, value, &sought);
      if (equal < 0) found = -2;
      if (equal > 0) found = count ? found + 1 : i;
      if (equal < 0 || (equal > 0 && !count)) {
        more = false;
        break;
      }
    }
  }
  fnabi_any_release(&sought);
  return found;
}

static int contains(PyObject* self, PyObject* value) {
  Py_ssize_t found = find(self, value, 0, PTRDIFF_MAX, false);
  return found == -2 ? -1 : found >= 0;
}

static Py_ssize_t find_or_raise(PyObject* self, PyObject* value,
                                Py_ssize_t start, Py_ssize_t stop) {
  Py_ssize_t found = find(self, value, start, stop, false);
  if (found == -1)
    PyErr_Format(PyExc_ValueError, "%R is not in %s", value, name_of(self));
  return found;
}

/* Reads an index for PyArg_ParseTuple; a larger one than any is the last. */
static int read_index(PyObject* number, void* i) {
  Py_ssize_t value = PyNumber_AsSsize_t(number, NULL);
  *(Py_ssize_t*)i = value;
  return value != -1 || !PyErr_Occurred();
}

static PyObject* seq_index(PyObject* self, PyObject* args) {
  PyObject* value;
  Py_ssize_t start = 0, stop = PTRDIFF_MAX, size = length(self);
  if (!PyArg_ParseTuple(args, "O|O&O&:index", &value, read_index, &start,
                        read_index, &stop))
    return NULL;
  if (start < 0) start = start + size < 0 ? 0 : start + size;
  if (stop < 0) stop += size;
  Py_ssize_t found = find_or_raise(self, value, start, stop);
  return found < 0 ? NULL : PyLong_FromSsize_t(found);
}

static PyObject* seq_count(PyObject* self, PyObject* value) {
  Py_ssize_t found = find(self, value, 0, PTRDIFF_MAX, true);
  return found < 0 ? NULL : PyLong_FromSsize_t(found);
}

static int replace(fnabi_seq_object* list, Py_ssize_t start, Py_ssize_t count,
                   fnabi_seq_object* fresh);

/* Concatenates, with an array or list on either side. The result has the type
 * of the first operand that is one. */
static PyObject* add(PyObject* left, PyObject* right) {
  PyObject* typed = is_seq(left) ? left : right;
  PyObject* other = typed == left ? right : left;
  const lane_dialect* dialect = ((lane_object*)typed)->dialect;
  const lane_dialect* outer = lane_current_dialect;
  if (!is_seq(other) && !PyList_Check(other) && !PyTuple_Check(other) &&
      (dialect == NULL || !dialect->loose_sequences))
    Py_RETURN_NOTIMPLEMENTED;
  lane_current_dialect = dialect;
  fnabi_seq_object *made = own_values(left, "+", true), *more = NULL;
  if (made != NULL) more = own_values(right, "+", false);
  lane_current_dialect = outer;
  if (more == NULL || replace(made, (Py_ssize_t)made->size, 0, more) < 0) {
    if (made != NULL) fnabi_object_release(made);
    return NULL;
  }
  if (is_list(typed)) return like(typed, made);
  fnabi_seq_object* array = copy(made, 0, 1, made->size, false);
  fnabi_object_release(made);
  return array ? like(typed, array) : NULL;
}

#define READING                                                               \
  {"tolist", tolist, METH_NOARGS,                                             \
   "tolist($self, /)\n--\n\n"                                                 \
   "All values as Python objects, containers in it as list and dict.\n\n"     \
   "Raises:\n    CallError: when two keys of a map in it are one in a dict, " \
   "such as 1 and True.\n    RecursionError: when it contains itself, or is " \
   "nested too deeply.\n"},                                                   \
      {"index", seq_index, METH_VARARGS,                                      \
       "index($self, value, start=0, stop=sys.maxsize, /)\n--\n\n"            \
       "The first index of a value.\n\nRaises:\n    ValueError: when it is "  \
       "not there.\n"},                                                       \
      {"count", seq_count, METH_O,                                            \
       "count($self, value, /)\n--\n\nThe number of times a value occurs."},  \
      {"__deepcopy__", lane_deepcopy, METH_O, "For copy.deepcopy."},          \
      {"__reduce__", reduce, METH_NOARGS, "For copies and pickles."}

#define READING_SLOTS                                                         \
  {Py_tp_new, make}, {Py_tp_iter, PySeqIter_New},                             \
      {Py_tp_richcompare, compare}, {Py_tp_repr, lane_object_repr},           \
      {Py_sq_length, length}, {Py_sq_item, item}, {Py_sq_contains, contains}, \
      {Py_mp_length, length}, {Py_nb_add, add}, {                             \
    Py_mp_subscript, subscript                                                \
  }

/* -------------------------------------------------------- changes to a list */

/* New values are converted first, because that may run Python code, which may
 * change the list. Old values are released last, for the same reason. */

static int insert_at(PyObject* self, Py_ssize_t i, PyObject* value,
                     const char* function) {
  fnabi_any any;
  lane_context outer = lane_enter(self);
  int status = lane_own(value, &any);
  lane_leave(outer);
  if (status < 0) {
    lane_name_value("%s: value", function);
    return -1;
  }
  Py_ssize_t size = length(self);
  if (i < 0) i = i + size < 0 ? 0 : i + size;
  if (i > size) i = size;
  if (fnabi_list_insert(seq_of(self), i, &any)) return 0;
  fnabi_any_release(&any);
  return lane_no_memory();
}

static void swap(fnabi_any* a, fnabi_any* b) {
  fnabi_any old = *a;
  *a = *b;
  *b = old;
}

static void reverse_range(fnabi_any* from, fnabi_any* to) {
  while (from < to && from < --to) swap(from++, to);
}

/* Replaces `count` values with the values of `fresh`. Takes ownership of
 * `fresh`. */
static int replace(fnabi_seq_object* list, Py_ssize_t start, Py_ssize_t count,
                   fnabi_seq_object* fresh) {
  Py_ssize_t size = (Py_ssize_t)list->size, added = 0;
  for (; added < fresh->size; added++)
    if (!fnabi_list_insert(list, size + added, fresh->data + added)) break;
  bool good = added == fresh->size;
  if (good) {
    for (Py_ssize_t i = 0; i < added; i++)
      fnabi_any_set(fresh->data + i, FNABI_INDEX_NONE, 0);
    /* They were appended; rotate them to their index. */
    fnabi_any *rest = list->data + start + count,
              *end = list->data + list->size;
    reverse_range(rest, end - added);
    reverse_range(end - added, end);
    reverse_range(rest, end);
    fnabi_list_erase(list, start, count);
  } else {
    list->size -= added; /* they are still those of `fresh` */
    lane_no_memory();
  }
  fnabi_object_release(fresh);
  return good ? 0 : -1;
}

static int extend_by(PyObject* self, PyObject* values) {
  lane_context outer = lane_enter(self);
  fnabi_seq_object* fresh = own_values(values, "List.extend", false);
  lane_leave(outer);
  if (fresh == NULL) return -1;
  return replace(seq_of(self), length(self), 0, fresh);
}

static int set_slice(PyObject* self, PyObject* key, PyObject* values) {
  Py_ssize_t start, step, count;
  lane_context outer = lane_enter(self);
  fnabi_seq_object* fresh = own_values(values, "List", false);
  lane_leave(outer);
  if (fresh == NULL) return -1;
  if (slice_of(self, key, &start, &step, &count) < 0) {
    fnabi_object_release(fresh);
    return -1;
  }
  fnabi_seq_object* list = seq_of(self);
  if (step == 1) return replace(list, start, count, fresh);
  int status = 0;
  if (fresh->size == count)
    for (Py_ssize_t i = 0; i < count; i++)
      swap(list->data + start + i * step, fresh->data + i);
  else
    PyErr_Format(PyExc_ValueError,
                 "List: expected %zd values for the slice, got %zd", count,
                 (Py_ssize_t)fresh->size);
  if (PyErr_Occurred()) status = -1;
  fnabi_object_release(fresh); /* with the old values */
  return status;
}

static int delete_slice(PyObject* self, PyObject* key) {
  Py_ssize_t start, step, count;
  if (slice_of(self, key, &start, &step, &count) < 0) return -1;
  fnabi_seq_object* list = seq_of(self);
  if (step == 1) {
    fnabi_list_erase(list, start, count);
    return 0;
  }
  if (count == 0) return 0;
  if (step < 0) {
    start += (count - 1) * step;
    step = -step;
  }
  fnabi_seq_object* old = fnabi_array_new(count);
  if (old == NULL) return lane_no_memory();
  fnabi_any* to = list->data + start;
  for (Py_ssize_t i = start, taken = 0; i < list->size; i++) {
    if (taken < count && i == start + taken * step)
      old->data[taken++] = list->data[i];
    else
      *to++ = list->data[i];
  }
  list->size -= count;
  fnabi_object_release(old);
  return 0;
}

static int set_subscript(PyObject* self, PyObject* key, PyObject* value) {
  if (PySlice_Check(key))
    return value ? set_slice(self, key, value) : delete_slice(self, key);
  fnabi_any any;
  fnabi_any_set(&any, FNABI_INDEX_NONE, 0);
  lane_context outer = lane_enter(self);
  int status = value != NULL ? lane_own(value, &any) : 0;
  lane_leave(outer);
  if (status < 0) {
    lane_name_value("List: value");
    return -1;
  }
  Py_ssize_t i;
  status = index_of(self, key, &i);
  if (status == 0 && (i < 0 || i >= length(self))) {
    PyErr_SetString(PyExc_IndexError, "List index out of range");
    status = -1;
  }
  if (status == 0 && value == NULL)
    fnabi_list_erase(seq_of(self), i, 1);
  else if (status == 0)
    swap(seq_of(self)->data + i, &any);
  fnabi_any_release(&any);
  return status;
}

static PyObject* none_or_null(int status) {
  if (status < 0) return NULL;
  Py_RETURN_NONE;
}

static PyObject* list_append(PyObject* self, PyObject* value) {
  return none_or_null(insert_at(self, PTRDIFF_MAX, value, "List.append"));
}

static PyObject* list_insert(PyObject* self, PyObject* args) {
  Py_ssize_t i;
  PyObject* value;
  if (!PyArg_ParseTuple(args, "O&O:insert", read_index, &i, &value))
    return NULL;
  return none_or_null(insert_at(self, i, value, "List.insert"));
}

static PyObject* list_extend(PyObject* self, PyObject* values) {
  return none_or_null(extend_by(self, values));
}

static PyObject* list_add(PyObject* self, PyObject* values) {
  if (extend_by(self, values) < 0) return NULL;
  Py_INCREF(self);
  return self;
}

static PyObject* list_pop(PyObject* self, PyObject* args) {
  Py_ssize_t i = -1;
  fnabi_any value;
  if (!PyArg_ParseTuple(args, "|O&:pop", read_index, &i)) return NULL;
  if (i < 0) i += length(self);
  if (i < 0 || !get(seq_of(self), i, &value)) {
    PyErr_SetString(PyExc_IndexError, length(self) == 0
                                          ? "pop from an empty List"
                                          : "List index out of range");
    return NULL;
  }
  fnabi_list_erase(seq_of(self), i, 1);
  lane_context outer = lane_enter(self);
  PyObject* taken = lane_take(&value, false);
  lane_leave(outer);
  return taken;
}

static PyObject* list_remove(PyObject* self, PyObject* value) {
  Py_ssize_t i = find_or_raise(self, value, 0, PTRDIFF_MAX);
  if (i < 0) return NULL;
  fnabi_list_erase(seq_of(self), i, 1);
  Py_RETURN_NONE;
}

static PyObject* list_clear(PyObject* self, PyObject* unused) {
  (void)unused;
  fnabi_list_erase(seq_of(self), 0, length(self));
  Py_RETURN_NONE;
}

static PyObject* list_reverse(PyObject* self, PyObject* unused) {
  (void)unused;
  fnabi_seq_object* list = seq_of(self);
  if (list->size > 0) reverse_range(list->data, list->data + list->size);
  Py_RETURN_NONE;
}

static PyObject* list_copy(PyObject* self, PyObject* unused) {
  (void)unused;
  fnabi_seq_object* made = copy(seq_of(self), 0, 1, length(self), true);
  return made ? like(self, made) : NULL;
}

/* ---------------------------------------------------------------- the types */

static PyMethodDef array_methods[] = {READING, {0}};

static PyType_Slot array_slots[] = {
    {Py_tp_doc,
     "Array(values=())\n--\n\n"
     "An immutable sequence of values.\n\n"
     "Lists and tuples among the values become arrays, dicts become maps. An "
     "Array is\nequal to an Array, a List or a list with equal values, not "
     "to a tuple, as no list is. The\nrepr shows nested arrays and maps as "
     "lists and dicts.\n\n"
     "Args:\n    values: Any iterable.\n\nRaises:\n    CallError: If "
     "`values` is not iterable, or changes while it is converted.\n\n"
     "Example:\n"
     "    >>> import fnabi\n"
     "    >>> array = fnabi.Array([1, \"two\", [3.0]])\n"
     "    >>> len(array), array[1], list(array[2])\n"
     "    (3, 'two', [3.0])\n"},
    {Py_tp_methods, array_methods},
    {Py_tp_hash, hash},
    READING_SLOTS,
    {0}};

static PyType_Spec array_spec = {"fnabi.Array", sizeof(lane_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                                     Py_TPFLAGS_IMMUTABLETYPE |
                                     Py_TPFLAGS_SEQUENCE,
                                 array_slots};

static PyMethodDef list_methods[] = {
    READING,
    {"append", list_append, METH_O,
     "append($self, value, /)\n--\n\nAdd a value at the end."},
    {"insert", list_insert, METH_VARARGS,
     "insert($self, index, value, /)\n--\n\nAdd a value before an index."},
    {"extend", list_extend, METH_O,
     "extend($self, values, /)\n--\n\n"
     "Add all values of an iterable at the end.\n\nRaises:\n    CallError: "
     "If `values` is not iterable.\n"},
    {"pop", list_pop, METH_VARARGS,
     "pop($self, index=-1, /)\n--\n\n"
     "Remove a value and return it.\n\nRaises:\n    IndexError: If the index "
     "is out of range.\n"},
    {"remove", list_remove, METH_O,
     "remove($self, value, /)\n--\n\n"
     "Remove the first occurrence of a value.\n\nRaises:\n    ValueError: "
     "If there is none.\n"},
    {"clear", list_clear, METH_NOARGS,
     "clear($self, /)\n--\n\nRemove all values."},
    {"reverse", list_reverse, METH_NOARGS,
     "reverse($self, /)\n--\n\nReverse the order in place."},
    {"copy", list_copy, METH_NOARGS,
     "copy($self, /)\n--\n\nReturn a new list with the same values."},
    {0}};

static PyType_Slot list_slots[] = {
    {Py_tp_doc,
     "List(values=())\n--\n\n"
     "A mutable sequence of values, shared between Python and libraries.\n\n"
     "Values are converted and compared as by `Array`. A list that contains "
     "itself cannot be\npickled; that is a RecursionError, as `tolist` and a "
     "comparison are.\n\n"
     "Args:\n    values: Any iterable.\n\nRaises:\n    CallError: If "
     "`values` is not iterable, or changes while it is converted.\n\n"
     "Example:\n"
     "    >>> import fnabi\n"
     "    >>> shared = fnabi.List([1, 2])\n"
     "    >>> shared.append(\"three\")\n"
     "    >>> list(shared)\n"
     "    [1, 2, 'three']\n"},
    {Py_tp_methods, list_methods},
    {Py_tp_hash, PyObject_HashNotImplemented},
    READING_SLOTS,
    {Py_mp_ass_subscript, set_subscript},
    {Py_nb_inplace_add, list_add},
    {0}};

static PyType_Spec list_spec = {"fnabi.List", sizeof(lane_object), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                                    Py_TPFLAGS_IMMUTABLETYPE |
                                    Py_TPFLAGS_SEQUENCE,
                                list_slots};

int lane_array_init(PyObject* module) {
  lane.array = lane_add_type(module, &array_spec, lane.object);
  lane.list = lane_add_type(module, &list_spec, lane.object);
  return lane.array == NULL || lane.list == NULL ? -1 : 0;
}
