/* The Python types Map and Dict. */
#include "lane/calls/map.h"

#include "lane/calls/context.h"
#include "lane/calls/dialect.h"
#include "lane/calls/from_value.h"
#include "lane/calls/init.h"
#include "lane/calls/keys.h"
#include "lane/calls/level.h"
#include "lane/calls/to_value.h"
#include "lane/calls/wrap.h"
#include "lane/runtime/call_error.h"
#include "lane/runtime/hooks.h"
#include "lane/runtime/interrupt.h"

static fnabi_map_object* map_of(PyObject* self) {
  return (fnabi_map_object*)((lane_object*)self)->object;
}

static bool is_dict(PyObject* self) { return lane_is(self, lane.dict); }

static bool is_map(PyObject* value) {
  return lane_is(value, lane.map) || is_dict(value);
}

static const char* name_of(PyObject* self) {
  return is_dict(self) ? "Dict" : "Map";
}

/* ----------------------------------------------------------------- to a map */

enum { POLL = 256 }; /* pairs; a power of two */

/* Owned keys and values, alternating. */
typedef struct pairs {
  fnabi_any* data;
  Py_ssize_t count;
  bool custom; /* the type of a key may define the hash */
  fnabi_any few[16];
} pairs;

static int pairs_open(pairs* p, uint64_t capacity) {
  p->count = 0;
  p->custom = false;
  p->data = p->few;
  if (capacity > sizeof p->few / sizeof *p->few / 2)
    p->data = capacity > PTRDIFF_MAX / (2 * sizeof *p->data)
                  ? NULL
                  : PyMem_Malloc((size_t)capacity * 2 * sizeof *p->data);
  return p->data ? 0 : lane_no_memory();
}

/* If `taken`, the values have another owner now and are not released. */
static void pairs_close(pairs* p, bool taken) {
  if (!taken)
    for (Py_ssize_t i = 0; i < 2 * p->count; i++)
      fnabi_any_release(p->data + i);
  if (p->data != p->few) PyMem_Free(p->data);
}

static int pairs_add(pairs* p, PyObject* key, PyObject* value) {
  fnabi_any* at = p->data + 2 * p->count;
  if (p->count % POLL == POLL - 1 && lane_work(4 * POLL) < 0) return -1;
  if (lane_own(key, at) < 0) return -1;
  if (lane_own(value, at + 1) < 0) {
    fnabi_any_release(at);
    return -1;
  }
  p->custom |= lane_key_may_be_custom(at);
  p->count++;
  return 0;
}

static int pairs_of_dict(pairs* p, PyObject* dict) {
  Py_ssize_t size = PyDict_Size(dict), at = 0;
  PyObject *key, *value;
  if (pairs_open(p, (uint64_t)size) < 0) return -1;
  int status = lane_level_enter(" while a dict is converted");
  if (status == 0) {
    while (status == 0 && PyDict_Next(dict, &at, &key, &value)) {
      if (p->count == size) {
        size = -1; /* converting may run Python, which may change the dict */
        break;
      }
      Py_INCREF(key);
      Py_INCREF(value);
      status = pairs_add(p, key, value);
      Py_DECREF(key);
      Py_DECREF(value);
    }
    lane_level_leave();
  }
  if (status == 0 && (p->count != size || PyDict_Size(dict) != size))
    status = lane_call_error("the dict changed while it was converted");
  if (status < 0) pairs_close(p, false);
  return status;
}

static int pairs_of_map(pairs* p, const fnabi_map_object* map) {
  if (pairs_open(p, map->size) < 0) return -1;
  uint64_t cursor = FNABI_MAP_BEGIN;
  const fnabi_any *key, *value;
  while (fnabi_map_next(map, &cursor, &key, &value)) {
    p->data[2 * p->count] = *key;
    p->data[2 * p->count + 1] = *value;
    fnabi_any_retain(key);
    fnabi_any_retain(value);
    p->custom |= lane_key_may_be_custom(key);
    p->count++;
  }
  return 0;
}

static int pairs_of_list(pairs* p, PyObject* list, const char* function) {
  Py_ssize_t size = PyList_Size(list);
  int status = pairs_open(p, (uint64_t)size);
  if (status < 0) return -1;
  for (Py_ssize_t i = 0; i < size && status == 0; i++) {
    PyObject *item = PyList_GetItem(list, i), *pair = PySequence_Tuple(item);
    if (pair == NULL || PyTuple_Size(pair) != 2) {
      status =
          pair == NULL
              ? lane_type_error_got(
                    item, "%s: pairs[%zd]: expected a pair of key and value",
                    function, i)
              : lane_type_error(
                    "%s: pairs[%zd]: expected a pair of key and value, got "
                    "%zd items",
                    function, i, PyTuple_Size(pair));
    } else {
      status = pairs_add(p, PyTuple_GetItem(pair, 0), PyTuple_GetItem(pair, 1));
      if (status < 0) lane_name_value("%s: pairs[%zd]", function, i);
    }
    Py_XDECREF(pair);
  }
  if (status < 0) pairs_close(p, false);
  return status;
}

/* Converts a mapping or an iterable of pairs. */
static int pairs_of(pairs* p, PyObject* source, const char* function) {
  if (PyDict_Check(source)) {
    int status = pairs_of_dict(p, source);
    if (status < 0) lane_name_value("%s: pairs", function);
    return status;
  }
  if (is_map(source)) return pairs_of_map(p, map_of(source));
  PyObject* list = NULL;
  int is_mapping = lane_has(source, "keys");
  if (is_mapping < 0) return -1;
  if (is_mapping) {
    list = PyMapping_Items(source);
  } else {
    PyObject* iterator = lane_iterator(source);
    if (iterator == NULL)
      return lane_type_error_got(
          source, "%s: pairs: expected a mapping, or pairs of key and value",
          function);
    list = lane_list(iterator);
    Py_DECREF(iterator);
  }
  if (list == NULL) return -1;
  int status = pairs_of_list(p, list, function);
  Py_DECREF(list);
  return status;
}

/* Closes the pairs. */
static fnabi_map_object* map_of_pairs(pairs* p, int32_t type_index) {
  if (p->custom && lane_keys_are_custom(p->data, p->count)) {
    fnabi_map_object* made = lane_keys_map(p->data, p->count, type_index);
    pairs_close(p, false);
    return made;
  }
  fnabi_map_object* map = fnabi_map_new(p->data, (size_t)p->count, type_index);
  pairs_close(p, map != NULL);
  if (map == NULL && !fnabi_poll(0))
    PyErr_NoMemory();
  else if (map == NULL)
    lane_interrupted();
  return map;
}

int lane_map_own(PyObject* dict, fnabi_any* out) {
  pairs p;
  if (pairs_of_dict(&p, dict) < 0) return -1;
  fnabi_map_object* map = map_of_pairs(&p, FNABI_INDEX_MAP);
  if (map == NULL) return -1;
  fnabi_any_set_object(out, map);
  return 0;
}

static PyObject* make(PyTypeObject* type, PyObject* args, PyObject* names) {
  static char* keywords[] = {"pairs", NULL};
  bool dict = PyType_IsSubtype(type, lane.dict);
  PyObject* source = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, names, dict ? "|O:Dict" : "|O:Map",
                                   keywords, &source))
    return NULL;
  pairs p;
  const lane_dialect* outer = lane_current_dialect;
  lane_current_dialect = lane_dialect_of(type);
  int status =
      source ? pairs_of(&p, source, dict ? "Dict" : "Map") : pairs_open(&p, 0);
  lane_current_dialect = outer;
  if (status < 0) return NULL;
  fnabi_map_object* map =
      map_of_pairs(&p, dict ? FNABI_INDEX_DICT : FNABI_INDEX_MAP);
  return map ? lane_construct(type, &map->object) : NULL;
}

/* --------------------------------------------------------------- from a map */

/* A Dict may change whenever Python code runs. So each pair is held by its own
 * references, and iteration ends if the size has changed. Python code may also
 * move a Dict or a Map to a callee, so it is held as a whole. */

typedef struct walk {
  const fnabi_map_object* map;
  uint64_t cursor;
  uint64_t size;
  uint64_t slots;
  fnabi_any last; /* key, borrowed, only compared */
} walk;

enum { SMALL = 4 }; /* pairs */

static void walk_over(walk* w, const fnabi_map_object* map) {
  w->map = map;
  w->cursor = FNABI_MAP_BEGIN;
  w->size = map->size;
  w->slots = map->slots;
}

/* A small Dict that loses a key and gets another one keeps its size, and the
 * pairs after that key move up. */
static bool moved_up(const walk* w) {
  return w->size <= SMALL && w->cursor != FNABI_MAP_BEGIN &&
         !fnabi_map_holds(w->map, w->cursor, &w->last);
}

static bool next(walk* w, fnabi_any* key, fnabi_any* value) {
  const fnabi_any *k, *v;
  if (w->map->size != w->size || moved_up(w) ||
      !fnabi_map_next(w->map, &w->cursor, &k, &v))
    return false;
  w->last = *k;
  *key = *k;
  *value = *v;
  fnabi_any_retain(key);
  fnabi_any_retain(value);
  return true;
}

/* Whether `next` has ended for another reason than that all pairs of the
 * beginning were returned. */
static bool changed(const walk* w) {
  return w->map->size != w->size || w->map->slots != w->slots || moved_up(w) ||
         !fnabi_map_at_end(w->map, w->cursor);
}

static int put_pair(PyObject* dict, const fnabi_any* key,
                    const fnabi_any* value, bool plain) {
  PyObject *k = lane_from(key, false), *v = k ? lane_from(value, plain) : NULL;
  int status = v ? PyDict_SetItem(dict, k, v) : -1;
  Py_XDECREF(k);
  Py_XDECREF(v);
  return status;
}

static int put_pairs_of_map(PyObject* dict, const fnabi_map_object* map,
                            bool plain) {
  uint64_t cursor = FNABI_MAP_BEGIN;
  const fnabi_any *key, *value;
  int status = 0;
  for (unsigned i = 1;
       status == 0 && fnabi_map_next(map, &cursor, &key, &value); i++) {
    status = put_pair(dict, key, value, plain);
    if (i % POLL == 0 && status == 0) status = lane_work(4 * POLL);
  }
  return status;
}

static int put_pairs_of_dict(PyObject* dict, const fnabi_map_object* map,
                             bool plain) {
  walk w;
  walk_over(&w, map);
  fnabi_any key, value;
  int status = 0;
  for (unsigned i = 1; status == 0 && next(&w, &key, &value); i++) {
    status = put_pair(dict, &key, &value, plain);
    if (i % POLL == 0 && status == 0) status = lane_work(4 * POLL);
    fnabi_any_release(&key);
    fnabi_any_release(&value);
  }
  if (status == 0 && changed(&w))
    status = lane_call_error("the map changed while it was converted");
  return status;
}

PyObject* lane_map_dict(fnabi_map_object* map, bool plain) {
  if (Py_EnterRecursiveCall(" while a map is converted")) return NULL;
  fnabi_object_retain(map);
  PyObject* dict = PyDict_New();
  int status = -1;
  if (dict != NULL)
    status = map->object.type_index == FNABI_INDEX_MAP
                 ? put_pairs_of_map(dict, map, plain)
                 : put_pairs_of_dict(dict, map, plain);
  Py_LeaveRecursiveCall();
  if (status == 0 && (uint64_t)PyDict_Size(dict) != map->size)
    status = lane_value_error(
        "todict: keys are equal in a Python dict, such as 1 and True; use "
        "items()");
  if (status < 0) Py_CLEAR(dict);
  lane_release(&map->object);
  return dict;
}

/* Returns 1 and the owned value of a key, or 0 if the key does not exist. */
static int look_up(fnabi_map_object* map, const fnabi_any* key,
                   fnabi_any* value) {
  if (lane_key_may_be_custom(key) && lane_key_is_custom(key))
    return lane_keys_find(map, key, value);
  const fnabi_any* found = fnabi_map_find(map, key);
  if (found == NULL) return 0;
  *value = *found;
  fnabi_any_retain(value);
  return 1;
}

int lane_map_equal(fnabi_map_object* a, fnabi_map_object* b) {
  if (a == b) return 1;
  if (a->size != b->size) return 0;
  if (Py_EnterRecursiveCall(" while maps are compared")) return -1;
  fnabi_object_retain(a);
  fnabi_object_retain(b);
  int equal = 1;
  walk w;
  walk_over(&w, a);
  fnabi_any key, left, right;
  while (equal == 1 && next(&w, &key, &left)) {
    equal = lane_work(4) < 0 ? -1 : look_up(b, &key, &right);
    if (equal == 1) {
      equal = lane_equal(&left, &right);
      fnabi_any_release(&right);
    }
    fnabi_any_release(&key);
    fnabi_any_release(&left);
  }
  Py_LeaveRecursiveCall();
  if (equal == 1) equal = !changed(&w) && a->size == b->size;
  lane_release(&a->object);
  lane_release(&b->object);
  return equal;
}

int lane_map_repr(const fnabi_map_object* map, const lane_nest* nest,
                  PyObject* parts) {
  int status = 0;
  walk w;
  walk_over(&w, map);
  fnabi_any key, value;
  while (status == 0 && next(&w, &key, &value)) {
    PyObject *k = lane_work(20) == 0 ? lane_repr(&key, nest, false) : NULL,
             *v = k ? lane_repr(&value, nest, true) : NULL,
             *part = v ? PyUnicode_FromFormat("%U: %U", k, v) : NULL;
    status = part ? PyList_Append(parts, part) : -1;
    Py_XDECREF(k);
    Py_XDECREF(v);
    Py_XDECREF(part);
    fnabi_any_release(&key);
    fnabi_any_release(&value);
  }
  if (status == 0 && changed(&w)) { /* no error: debuggers show what they can */
    PyObject* rest = PyUnicode_FromString("...");
    status = rest ? PyList_Append(parts, rest) : -1;
    Py_XDECREF(rest);
  }
  return status;
}

/* ---------------------------------------------------------------- iteration */
typedef enum part { KEYS, VALUES, ITEMS } part;

typedef struct map_iterator {
  PyObject_HEAD PyObject* map; /* NULL: at the end */
  fnabi_map_object* held;      /* what it had at the beginning */
  walk walk;
  part part;
} map_iterator;

static PyTypeObject* iterator_type;

static PyObject* iterate(PyObject* self, part part) {
  map_iterator* iterator = PyObject_New(map_iterator, iterator_type);
  if (iterator == NULL) return NULL;
  Py_INCREF(self);
  iterator->map = self;
  iterator->held = map_of(self);
  fnabi_object_retain(iterator->held);
  walk_over(&iterator->walk, iterator->held);
  iterator->part = part;
  return (PyObject*)iterator;
}

static void iterator_end(map_iterator* iterator) {
  if (iterator->map == NULL) return;
  lane_release(&iterator->held->object);
  Py_CLEAR(iterator->map);
}

static void iterator_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  iterator_end((map_iterator*)self);
  PyObject_Free(self);
  Py_DECREF(type);
}

/* Releases a value of the map and returns its Python object. Tensors and
 * objects are of the framework and the dialect of the call that returned the
 * map. */
static PyObject* take_of(PyObject* self, fnabi_any* value) {
  lane_context outer = lane_enter(self);
  PyObject* taken = lane_take(value, false);
  lane_leave(outer);
  return taken;
}

/* Takes ownership of key and value. */
static PyObject* part_of_pair(PyObject* self, part part, fnabi_any* key,
                              fnabi_any* value) {
  lane_context outer = lane_enter(self);
  PyObject *k = part == VALUES ? NULL : lane_from(key, false),
           *v = part == KEYS ? NULL : lane_from(value, false), *pair = NULL;
  lane_leave(outer);
  fnabi_any_release(key);
  fnabi_any_release(value);
  if (part != ITEMS) return part == KEYS ? k : v;
  if (k && v) pair = PyTuple_Pack(2, k, v);
  Py_XDECREF(k);
  Py_XDECREF(v);
  return pair;
}

static PyObject* iterator_next(PyObject* self) {
  map_iterator* iterator = (map_iterator*)self;
  fnabi_any key, value;
  if (iterator->map == NULL) return NULL;
  if (lane_work(4) < 0) return NULL;
  if (next(&iterator->walk, &key, &value))
    return part_of_pair(iterator->map, iterator->part, &key, &value);
  if (changed(&iterator->walk))
    PyErr_Format(PyExc_RuntimeError, "%s %s during iteration",
                 name_of(iterator->map),
                 iterator->held->size == iterator->walk.size ? "keys changed"
                                                             : "changed size");
  iterator_end(iterator);
  return NULL;
}

static PyType_Slot iterator_slots[] = {{Py_tp_dealloc, iterator_dealloc},
                                       {Py_tp_iter, PyObject_SelfIter},
                                       {Py_tp_iternext, iterator_next},
                                       {0}};

static PyType_Spec iterator_spec = {
    "fnabi._base.lane.MapIterator", sizeof(map_iterator), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE |
        Py_TPFLAGS_DISALLOW_INSTANTIATION,
    iterator_slots};

static PyObject* map_iter(PyObject* self) { return iterate(self, KEYS); }

static PyObject* iter_values(PyObject* self, PyObject* unused) {
  (void)unused;
  return iterate(self, VALUES);
}

static PyObject* iter_items(PyObject* self, PyObject* unused) {
  (void)unused;
  return iterate(self, ITEMS);
}

static PyObject* view(PyObject* self, lane_name name) {
  PyObject* type = lane_get(name);
  return type ? PyObject_CallFunctionObjArgs(type, self, NULL) : NULL;
}

static PyObject* map_keys(PyObject* self, PyObject* unused) {
  (void)unused;
  return view(self, LANE_MAP_KEYS);
}

static PyObject* map_values(PyObject* self, PyObject* unused) {
  (void)unused;
  return view(self, LANE_MAP_VALUES);
}

static PyObject* map_items(PyObject* self, PyObject* unused) {
  (void)unused;
  return view(self, LANE_MAP_ITEMS);
}

/* ------------------------------------------------------------------ reading */

static PyObject* todict(PyObject* self, PyObject* unused) {
  (void)unused;
  lane_context outer = lane_enter(self);
  PyObject* dict = lane_map_dict(map_of(self), true);
  lane_leave(outer);
  return dict;
}

static Py_ssize_t length(PyObject* self) {
  return (Py_ssize_t)map_of(self)->size;
}

/* Returns 1 and the owned value of a key, or 0 if the key does not exist. */
static int find(PyObject* self, PyObject* key, fnabi_any* value) {
  fnabi_any any;
  if (lane_own(key, &any) < 0) return lane_no_value() ? 0 : -1;
  int found = look_up(map_of(self), &any, value);
  fnabi_any_release(&any);
  return found;
}

/* Raises KeyError for a key, of which a tuple is one argument too. */
static void raise_key_error(PyObject* key) {
  PyObject* args = PyTuple_Pack(1, key);
  if (args != NULL) PyErr_SetObject(PyExc_KeyError, args);
  Py_XDECREF(args);
}

static PyObject* subscript(PyObject* self, PyObject* key) {
  fnabi_any value;
  int found = find(self, key, &value);
  if (found == 0) raise_key_error(key);
  return found > 0 ? take_of(self, &value) : NULL;
}

static int contains(PyObject* self, PyObject* key) {
  fnabi_any value;
  int found = find(self, key, &value);
  if (found > 0) fnabi_any_release(&value);
  return found;
}

static PyObject* map_get(PyObject* self, PyObject* args) {
  PyObject *key, *missing = Py_None;
  fnabi_any value;
  if (!PyArg_ParseTuple(args, "O|O:get", &key, &missing)) return NULL;
  int found = find(self, key, &value);
  if (found > 0) return take_of(self, &value);
  if (found == 0) Py_INCREF(missing);
  return found == 0 ? missing : NULL;
}

static PyObject* compare(PyObject* self, PyObject* other, int operation) {
  if (operation != Py_EQ && operation != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  int equal = 0;
  if (is_map(other)) {
    equal = lane_map_equal(map_of(self), map_of(other));
  } else if (!PyDict_Check(other)) {
    Py_RETURN_NOTIMPLEMENTED;
  } else if (PyDict_Size(other) == length(self)) {
    fnabi_any any;
    if (lane_map_own(other, &any) == 0) {
      equal = lane_map_equal(map_of(self), (fnabi_map_object*)any.v_object);
      fnabi_any_release(&any);
    } else if (!lane_no_value()) {
      return NULL;
    }
  }
  return equal < 0 ? NULL : PyBool_FromLong(equal == (operation == Py_EQ));
}

static PyObject* list_of_items(PyObject* self) {
  PyObject *iterator = iterate(self, ITEMS),
           *list = iterator ? PySequence_List(iterator) : NULL;
  Py_XDECREF(iterator);
  return list;
}

/* The hash of the set of the items. */
static Py_hash_t hash(PyObject* self) {
  if (Py_EnterRecursiveCall(" while a map is hashed")) return -1;
  Py_hash_t answer = -1;
  PyObject *list = list_of_items(self),
           *set = list ? PyFrozenSet_New(list) : NULL;
  if (set != NULL) answer = PyObject_Hash(set);
  Py_XDECREF(list);
  Py_XDECREF(set);
  Py_LeaveRecursiveCall();
  return answer;
}

static PyObject* keys_list(PyObject* self, PyObject* unused) {
  (void)unused;
  return PySequence_List(self);
}

static PyObject* reduce(PyObject* self, PyObject* unused) {
  (void)unused;
  return lane_reduce(self, list_of_items(self));
}

#define READING                                                               \
  {"todict", todict, METH_NOARGS,                                             \
   "todict($self, /)\n--\n\n"                                                 \
   "All keys and values as Python objects, containers among the values as "   \
   "list and dict.\n\nRaises:\n    CallError: when two keys are one in a "    \
   "dict, such as 1 and True.\n    RecursionError: when it contains itself, " \
   "or is nested too deeply.\n"},                                             \
      {"get", map_get, METH_VARARGS,                                          \
       "get($self, key, default=None, /)\n--\n\n"                             \
       "The value of a key, or `default` if there is none."},                 \
      {"keys", map_keys, METH_NOARGS, "keys($self, /)\n--\n\nThe keys."},     \
      {"values", map_values, METH_NOARGS,                                     \
       "values($self, /)\n--\n\nThe values."},                                \
      {"items", map_items, METH_NOARGS,                                       \
       "items($self, /)\n--\n\nThe pairs of key and value."},                 \
      {"_iter_values", iter_values, METH_NOARGS, NULL},                       \
      {"_iter_items", iter_items, METH_NOARGS, NULL},                         \
      {"__deepcopy__", lane_deepcopy, METH_O, "For copy.deepcopy."},          \
      {"_ipython_key_completions_", keys_list, METH_NOARGS,                   \
       "The keys, for IPython."},                                             \
      {"__reduce__", reduce, METH_NOARGS, "For copies and pickles."}

#define READING_SLOTS                                                      \
  {Py_tp_new, make}, {Py_tp_iter, map_iter}, {Py_tp_richcompare, compare}, \
      {Py_tp_repr, lane_object_repr}, {Py_sq_contains, contains},          \
      {Py_mp_length, length}, {                                            \
    Py_mp_subscript, subscript                                             \
  }

/* -------------------------------------------------------- changes to a dict */

static int set_subscript(PyObject* self, PyObject* key, PyObject* value) {
  fnabi_any k, v;
  if (lane_own(key, &k) < 0) {
    if (value == NULL && lane_no_value()) raise_key_error(key);
    return -1;
  }
  if (value == NULL) {
    int found = lane_keys_erase(map_of(self), &k);
    fnabi_any_release(&k);
    if (found == 0) raise_key_error(key);
    return found > 0 ? 0 : -1;
  }
  if (lane_own(value, &v) == 0) {
    if (lane_keys_set(map_of(self), &k, &v) == 0) return 0;
    fnabi_any_release(&v);
  } else {
    lane_name_value("Dict: value");
  }
  fnabi_any_release(&k);
  return -1;
}

/* Closes the pairs. */
static int set_pairs(PyObject* self, pairs* p) {
  Py_ssize_t done = 0;
  while (done < p->count && lane_keys_set(map_of(self), p->data + 2 * done,
                                          p->data + 2 * done + 1) == 0) {
    fnabi_any_set(p->data + 2 * done, FNABI_INDEX_NONE, 0);
    fnabi_any_set(p->data + 2 * done + 1, FNABI_INDEX_NONE, 0);
    done++;
  }
  bool good = done == p->count;
  pairs_close(p, false);
  return good ? 0 : -1;
}

static PyObject* dict_update(PyObject* self, PyObject* args, PyObject* named) {
  PyObject* source = NULL;
  pairs p;
  if (!PyArg_ParseTuple(args, "|O:update", &source)) return NULL;
  if (source != NULL &&
      (pairs_of(&p, source, "Dict.update") < 0 || set_pairs(self, &p) < 0))
    return NULL;
  if (named != NULL &&
      (pairs_of(&p, named, "Dict.update") < 0 || set_pairs(self, &p) < 0))
    return NULL;
  Py_RETURN_NONE;
}

static PyObject* dict_or(PyObject* self, PyObject* source) {
  pairs p;
  if (pairs_of(&p, source, "Dict.update") < 0 || set_pairs(self, &p) < 0)
    return NULL;
  Py_INCREF(self);
  return self;
}

static PyObject* dict_pop(PyObject* self, PyObject* args) {
  PyObject *key, *missing = NULL;
  if (!PyArg_ParseTuple(args, "O|O:pop", &key, &missing)) return NULL;
  fnabi_any any = {0}, value;
  int found = 0;
  if (lane_own(key, &any) == 0)
    found = look_up(map_of(self), &any, &value);
  else if (!lane_no_value())
    return NULL;
  if (found > 0 && lane_keys_erase(map_of(self), &any) < 0) {
    fnabi_any_release(&value);
    found = -1;
  }
  fnabi_any_release(&any);
  if (found > 0) return take_of(self, &value);
  if (found < 0) return NULL;
  if (missing == NULL) raise_key_error(key);
  Py_XINCREF(missing);
  return missing;
}

/* Removes the last pair, as dict.popitem does. */
static PyObject* dict_popitem(PyObject* self, PyObject* unused) {
  (void)unused;
  uint64_t cursor = FNABI_MAP_BEGIN;
  const fnabi_any *k, *v, *last = NULL, *last_value = NULL;
  while (fnabi_map_next(map_of(self), &cursor, &k, &v)) {
    last = k;
    last_value = v;
  }
  if (last == NULL) {
    PyErr_SetString(PyExc_KeyError, "popitem(): the Dict is empty");
    return NULL;
  }
  fnabi_any key = *last, value = *last_value;
  fnabi_any_retain(&key);
  fnabi_any_retain(&value);
  fnabi_map_erase(map_of(self), &key);
  return part_of_pair(self, ITEMS, &key, &value);
}

static PyObject* dict_setdefault(PyObject* self, PyObject* args) {
  PyObject *key, *missing = Py_None;
  fnabi_any k, v, value;
  if (!PyArg_ParseTuple(args, "O|O:setdefault", &key, &missing)) return NULL;
  /* once: converted again, a list becomes another key */
  if (lane_own(key, &k) < 0) return NULL;
  int found = look_up(map_of(self), &k, &value);
  if (found == 0 && lane_own(missing, &v) == 0) {
    value = v;
    fnabi_any_retain(&value);
    if (lane_keys_set(map_of(self), &k, &v) == 0) return take_of(self, &value);
    fnabi_any_release(&value);
    fnabi_any_release(&v);
  } else if (found == 0) {
    lane_name_value("Dict.setdefault: default");
  }
  fnabi_any_release(&k);
  return found > 0 ? take_of(self, &value) : NULL;
}

static PyObject* dict_clear(PyObject* self, PyObject* unused) {
  (void)unused;
  fnabi_map_clear(map_of(self));
  Py_RETURN_NONE;
}

static PyObject* dict_copy(PyObject* self, PyObject* unused) {
  (void)unused;
  pairs p;
  if (pairs_of_map(&p, map_of(self)) < 0) return NULL;
  fnabi_map_object* map = map_of_pairs(&p, FNABI_INDEX_DICT);
  return map ? lane_construct(Py_TYPE(self), &map->object) : NULL;
}

/* ---------------------------------------------------------------- the types */

static PyMethodDef map_methods[] = {READING, {0}};

static PyType_Slot map_slots[] = {
    {Py_tp_doc,
     "Map(pairs=())\n--\n\n"
     "An immutable mapping that keeps the insertion order.\n\n"
     "Keys are compared by the rules of the ABI: numbers by type and value (1, "
     "1.0 and True\nare three keys), texts by their contents, other objects by "
     "identity unless their type\nhas a comparison of its own "
     "(``__any_equal__``). A `Shape`,\na list, and a Python object of a type "
     "that the ABI lacks become another object\nwhenever they are passed, so "
     "no look-up finds such a key. Lists and\ntuples among the values become "
     "arrays, dicts become "
     "maps. A Map is equal to a Map, a\nDict or a dict with the same keys and "
     "equal values.\n\n"
     "Args:\n    pairs: A mapping, or an iterable of pairs of key and "
     "value.\n\nRaises:\n    CallError: If `pairs` is neither, or changes "
     "while it is converted.\n\n"
     "Example:\n"
     "    >>> import fnabi\n"
     "    >>> sizes = fnabi.Map({\"rows\": 2, \"columns\": 3})\n"
     "    >>> sizes[\"rows\"], list(sizes)\n"
     "    (2, ['rows', 'columns'])\n"},
    {Py_tp_methods, map_methods},
    {Py_tp_hash, hash},
    READING_SLOTS,
    {0}};

static PyType_Spec map_spec = {"fnabi.Map", sizeof(lane_object), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                                   Py_TPFLAGS_IMMUTABLETYPE |
                                   Py_TPFLAGS_MAPPING,
                               map_slots};

static PyMethodDef dict_methods[] = {
    READING,
    {"update", (PyCFunction)(void (*)(void))dict_update,
     METH_VARARGS | METH_KEYWORDS,
     "update($self, pairs=(), /, **named)\n--\n\n"
     "Set all pairs of a mapping or an iterable, then those given by "
     "name.\n\nRaises:\n    CallError: If `pairs` is neither.\n"},
    {"pop", dict_pop, METH_VARARGS,
     "pop($self, key, default=..., /)\n--\n\n"
     "Remove a key and return its value, or `default` if there is no such "
     "key.\n\nRaises:\n    KeyError: If there is neither.\n"},
    {"popitem", dict_popitem, METH_NOARGS,
     "popitem($self, /)\n--\n\n"
     "Remove the last pair and return it.\n\nRaises:\n    KeyError: If the "
     "Dict is empty.\n"},
    {"setdefault", dict_setdefault, METH_VARARGS,
     "setdefault($self, key, default=None, /)\n--\n\n"
     "Return the value of a key; set it to `default` first if it is missing."},
    {"clear", dict_clear, METH_NOARGS,
     "clear($self, /)\n--\n\nRemove all pairs."},
    {"copy", dict_copy, METH_NOARGS,
     "copy($self, /)\n--\n\nReturn a new Dict with the same keys and values."},
    {0}};

static PyType_Slot dict_slots[] = {
    {Py_tp_doc,
     "Dict(pairs=())\n--\n\n"
     "A mutable mapping, shared between Python and libraries.\n\n"
     "Keys and values are converted and compared as by `Map`. A dict that "
     "contains itself cannot be\npickled; that is a RecursionError, as "
     "`todict` and a comparison are.\n\n"
     "Args:\n    pairs: A mapping, or an iterable of pairs of key and "
     "value.\n\nRaises:\n    CallError: If `pairs` is neither, or changes "
     "while it is converted.\n\n"
     "Example:\n"
     "    >>> import fnabi\n"
     "    >>> shared = fnabi.Dict({\"a\": 1})\n"
     "    >>> shared[\"b\"] = 2\n"
     "    >>> dict(shared)\n"
     "    {'a': 1, 'b': 2}\n"},
    {Py_tp_methods, dict_methods},
    {Py_tp_hash, PyObject_HashNotImplemented},
    READING_SLOTS,
    {Py_mp_ass_subscript, set_subscript},
    {Py_nb_inplace_or, dict_or},
    {0}};

static PyType_Spec dict_spec = {"fnabi.Dict", sizeof(lane_object), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                                    Py_TPFLAGS_IMMUTABLETYPE |
                                    Py_TPFLAGS_MAPPING,
                                dict_slots};

int lane_map_init(PyObject* module) {
  iterator_type = (PyTypeObject*)PyType_FromSpec(&iterator_spec);
  lane.map = lane_add_type(module, &map_spec, lane.object);
  lane.dict = lane_add_type(module, &dict_spec, lane.object);
  return iterator_type == NULL || lane.map == NULL || lane.dict == NULL ? -1
                                                                        : 0;
}
