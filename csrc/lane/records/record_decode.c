/* Decoders of the core whose messages become objects of `fnabi.types` here, in
 * C, instead of by msgspec.
 *
 * The message is in memory of this file, and well-formed unless the input
 * changed while it was decoded. So only immutable objects are decoded, and
 * messages are read without checks. Types are frozen, and equal ones differ
 * only by identity, so they can share one object. They do so among the types
 * that occur in most models, and within one module. */
#include "base/dtype.h"
#include "lane/records/init.h"
#include "lane/records/record.h"
#include "lane/runtime/interrupt.h"

/* --------------------------------------------------------------------- memo */

#define SLOTS 256
#define SLOTS_LEAST 32
#define WAYS 4         /* slots that an object may be in */
#define SHARED_SIZE 64 /* bytes; longer messages are not shared */

/* Objects, borrowed, by their messages. When all its slots are taken a new
 * object replaces an old one, so the cost does not grow with the number. */
typedef struct memo {
  size_t last_slot; /* a power of two, less 1 */
  struct {
    uint64_t key; /* 0: an empty slot */
    const uint8_t* message;
    PyObject* object;
  } slots[SLOTS];
} memo;

/* The size of a message, of 1 to 255 bytes, and its hash. The last word of a
 * long one overlaps the one before it. */
static uint64_t key_of(const uint8_t* message, size_t size) {
  uint64_t h = size, word = 0;
  if (size < 8) {
    for (size_t i = 0; i < size; i++) word = word << 8 | message[i];
  } else {
    for (size_t at = 0; at < size - 8; at += 8) {
      memcpy(&word, message + at, 8);
      h = (h ^ word) * UINT64_C(0x9E3779B97F4A7C15);
      h ^= h >> 32;
    }
    memcpy(&word, message + size - 8, 8);
  }
  h = (h ^ word) * UINT64_C(0x9E3779B97F4A7C15);
  return h >> 8 << 8 | size;
}

static size_t slot_of(const memo* m, uint64_t key, size_t way) {
  size_t mixed = (size_t)(key >> 56); /* the upper bits are mixed best */
  return (mixed & m->last_slot) ^ way;
}

/* Empties a memo for what a module of `size` bytes has. A small one needs few
 * slots: to clear all took 4 % of the time of reading its attributes. */
static void memo_begin(memo* m, size_t size) {
  size_t slots = SLOTS_LEAST;
  while (slots < SLOTS && slots * 64 < size) slots *= 2;
  m->last_slot = slots - 1;
  memset(m->slots, 0, slots * sizeof *m->slots);
}

/* Borrowed, or NULL. */
static PyObject* memo_find(const memo* m, uint64_t key,
                           const uint8_t* message) {
  for (size_t way = 0; way < WAYS; way++) {
    size_t slot = slot_of(m, key, way);
    if (m->slots[slot].key == key &&
        memcmp(m->slots[slot].message, message, key & 255) == 0)
      return m->slots[slot].object;
  }
  return NULL;
}

static void memo_add(memo* m, uint64_t key, const uint8_t* message,
                     PyObject* object) {
  size_t way = 0;
  while (way < WAYS && m->slots[slot_of(m, key, way)].key != 0) way++;
  size_t slot = slot_of(m, key, way % WAYS);
  m->slots[slot].key = key;
  m->slots[slot].message = message;
  m->slots[slot].object = object;
}

/* ------------------------------------------------------------------ objects */

#define CLASSES (FNABI_TYPE_REF_ARRAY + 1)
#define KNOWN_CAPACITY 2048 /* bytes of the messages of all known types */

typedef struct decoder {
  PyObject_HEAD lane_record
      classes[CLASSES]; /* by tag; at 0 the class of dtypes */
  PyObject* refuse;
  memo known;
  PyObject* owned; /* list of what is known */
  uint8_t messages[KNOWN_CAPACITY];
} decoder;

/* The classes of what bytecode proves. */
typedef struct types_classes {
  const lane_record *proofs, *signature, *alias, *fences;
} types_classes;

/* The classes of the signatures of functions. */
typedef struct signatures_classes {
  const lane_record *signature, *attributes;
} signatures_classes;

/* Builds values from a message. A function that builds one moves past it. If it
 * fails, it leaves the position anywhere inside, so nothing may be read after
 * it; nor may anything be found in `shared`, whose objects may be gone. */
typedef struct builder {
  const decoder* decoder;
  const uint8_t* at;
  memo* shared;                         /* or NULL */
  const types_classes* types;           /* or NULL */
  const signatures_classes* signatures; /* or NULL */
} builder;

/* A big-endian number of `bytes` bytes. */
static uint64_t wide(builder* b, unsigned bytes) {
  uint64_t number = 0;
  for (unsigned i = 0; i < bytes; i++) number = number << 8 | *b->at++;
  return number;
}

static size_t take_count(builder* b) {
  uint8_t head = *b->at++;
  if (head < 0xA0) return head & 15;
  return (size_t)wide(b, head == 0xDC ? 2 : 4);
}

static bool is_array(uint8_t head) {
  return (head & 0xF0) == 0x90 || head == 0xDC || head == 0xDD;
}

static bool is_text(uint8_t head) {
  return (head & 0xE0) == 0xA0 || (head >= 0xD9 && head <= 0xDB) ||
         (head >= 0xC4 && head <= 0xC6);
}

static const char* take_text(builder* b, size_t* size) {
  uint8_t head = *b->at++;
  if (head < 0xC0)
    *size = head & 31;
  else
    *size = (size_t)wide(b, 1u << (head >= 0xD9 ? head - 0xD9 : head - 0xC4));
  const char* text = (const char*)b->at;
  b->at += *size;
  return text;
}

/* The end of the value at `at`, whose head has more than one byte: neither a
 * small number nor a short string or array. */
static const uint8_t* skip_wide(const uint8_t* at, size_t* left) {
  builder b = {.at = at};
  uint8_t head = *at;
  size_t size;
  if (is_array(head))
    *left += take_count(&b);
  else if (is_text(head))
    take_text(&b, &size);
  else
    b.at += head < 0xCC ? 1 : 1 + (1u << (head & 3));
  return b.at;
}

/* The end of the value at `at`. */
static const uint8_t* skip(const uint8_t* at) {
  for (size_t left = 1; left > 0; left--) {
    uint8_t head = *at;
    if (head < 0x80 || head >= 0xE0 || head == 0xC0) {
      at++;
    } else if (head < 0xA0) {
      left += head & 15;
      at++;
    } else if (head < 0xC0) {
      at += 1 + (head & 31);
    } else {
      at = skip_wide(at, &left);
    }
  }
  return at;
}

/* The same for a value whose type is known. */
static const uint8_t* skip_text(const uint8_t* at) {
  if ((*at & 0xE0) == 0xA0) return at + 1 + (*at & 31);
  return *at == 0xD9 ? at + 2 + at[1] : skip(at);
}

static const uint8_t* skip_nil(const uint8_t* at) {
  return *at == 0xC0 ? at + 1 : skip(at);
}

static const uint8_t* skip_dtype(const uint8_t* at) {
  at = skip_text(at + 1);
  return skip_text(*at < 0x80 ? at + 1 : skip(at));
}

static const uint8_t* skip_type(const uint8_t* at) {
  switch (at[1]) {
    case FNABI_TYPE_SCALAR:
      return skip_dtype(at + 2);
    case FNABI_TYPE_BUFFER:
      return skip(skip_dtype(at + 2));
    default:
      return skip(at);
  }
}

static PyObject* build_text(builder* b) {
  size_t size;
  const char* text = take_text(b, &size);
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "surrogateescape");
}

static PyObject* build_int(builder* b) {
  uint8_t head = *b->at++;
  if (head < 0x80 || head >= 0xE0) return PyLong_FromLong((int8_t)head);
  unsigned bytes = 1u << (head & 3), shift = 64 - 8 * bytes;
  uint64_t number = wide(b, bytes);
  if (head < 0xD0) return PyLong_FromUnsignedLongLong(number);
  return PyLong_FromLongLong((int64_t)(number << shift) >> shift);
}

typedef PyObject* build(builder* b);

/* Builds values one after the other. From the first failure on they are NULL.
 */
static void build_fields(builder* b, PyObject** fields, build* const* items,
                         size_t count) {
  bool good = true;
  for (size_t i = 0; i < count; i++) {
    fields[i] = good ? items[i](b) : NULL;
    good = fields[i] != NULL;
  }
}

enum { FEW = 8 }; /* elements that are not worth counting */

/* Fills a tuple of many elements, in parts. It is not inlined, so that
 * build_tuple is for each kind of element. */
FNABI_NO_INLINE static bool build_many(builder* b, build* item, PyObject* tuple,
                                       Py_ssize_t count) {
  for (Py_ssize_t i = 0, end; i < count;) {
    if ((end = lane_part(i, count)) < 0) return false;
    for (; i < end; i++) {
      PyObject* value = item(b);
      if (value == NULL || PyTuple_SetItem(tuple, i, value) < 0) return false;
    }
  }
  return true;
}

static PyObject* build_tuple(builder* b, build* item) {
  size_t count = take_count(b);
  PyObject* tuple = PyTuple_New((Py_ssize_t)count);
  if (count >= FEW) {
    if (tuple != NULL && !build_many(b, item, tuple, (Py_ssize_t)count))
      Py_CLEAR(tuple);
  } else {
    for (size_t i = 0; i < count && tuple != NULL; i++) {
      PyObject* value = item(b);
      if (value == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, value) < 0)
        Py_CLEAR(tuple);
    }
  }
  /* The record cannot be part of a reference cycle. */
  if (count != 0 && tuple != NULL) PyObject_GC_UnTrack(tuple);
  return tuple;
}

/* A value that is no record; arrays become tuples. */
static PyObject* build_plain(builder* b) {
  uint8_t head = *b->at;
  if (is_array(head)) return build_tuple(b, build_plain);
  if (is_text(head)) return build_text(b);
  if (head != 0xC0) return build_int(b);
  b->at++;
  return Py_NewRef(Py_None);
}

/* The value from b->at to `end`; a known object if there is one. */
static PyObject* build_known(builder* b, const uint8_t* end, build* item) {
  size_t size = (size_t)(end - b->at);
  if (size > SHARED_SIZE) return item(b);
  PyObject* found = memo_find(&b->decoder->known, key_of(b->at, size), b->at);
  if (found == NULL) return item(b);
  b->at += size;
  return Py_NewRef(found);
}

/* The value from b->at to `end`, taken from those built before. Values of
 * different kinds may have equal messages, so the kind is part of the key. */
static PyObject* build_shared(builder* b, const uint8_t* end, build* item) {
  const uint8_t* start = b->at;
  size_t size = (size_t)(end - start);
  if (size > SHARED_SIZE || b->shared == NULL) return item(b);
  uint64_t key = key_of(start, size) ^ (uint64_t)(uintptr_t)item << 8;
  PyObject* found = memo_find(b->shared, key, start);
  if (found != NULL) {
    b->at = start + size;
    return Py_NewRef(found);
  }
  PyObject* built = item(b);
  if (built != NULL) memo_add(b->shared, key, start, built);
  return built;
}

static PyObject* build_lanes(builder* b) {
  (void)b;
  return PyLong_FromLong(1); /* no text has more */
}

static PyObject* build_dtype(builder* b) {
  PyObject* fields[4];
  build* const items[4] = {build_text, build_int, build_text, build_lanes};
  b->at++;
  build_fields(b, fields, items, 4);
  return lane_record_make(&b->decoder->classes[0], fields);
}

/* A text that occurs often. */
static PyObject* build_shared_text(builder* b) {
  return build_shared(b, skip_text(b->at), build_text);
}

static PyObject* build_type(builder* b);

static PyObject* build_slot(builder* b) {
  PyObject* slot = PyTuple_New(2);
  b->at++;
  if (slot == NULL) return NULL;
  for (Py_ssize_t i = 0; i < 2; i++) {
    PyObject* part = i == 0 ? build_text(b) : build_type(b);
    if (part == NULL || PyTuple_SetItem(slot, i, part) < 0) {
      Py_DECREF(slot);
      return NULL;
    }
  }
  return slot;
}

static PyObject* build_record(builder* b) {
  PyObject* fields[2] = {NULL, NULL};
  size_t count = take_count(b) - 1;
  uint8_t tag = *b->at++;
  switch ((fnabi_type)tag) {
    case FNABI_TYPE_SCALAR:
    case FNABI_TYPE_BUFFER:
      fields[0] = build_known(b, skip_dtype(b->at), build_dtype);
      break;
    case FNABI_TYPE_LIST:
    case FNABI_TYPE_TUPLE:
      fields[0] = build_tuple(b, build_type);
      break;
    case FNABI_TYPE_DICT:
      fields[0] = build_tuple(b, build_slot);
      break;
    case FNABI_TYPE_HOMOGENEOUS_LIST:
    case FNABI_TYPE_REF_ARRAY:
      fields[0] = build_type(b);
      break;
    case FNABI_TYPE_REF:
      fields[0] = build_plain(b);
      break;
    case FNABI_TYPE_NAMED:
      fields[0] = b->shared != NULL ? build_shared_text(b) : build_text(b);
      break;
    case FNABI_TYPE_NULL:
    case FNABI_TYPE_UNKNOWN:
      break;
  }
  if (count == 2 && fields[0] != NULL)
    fields[1] = tag == FNABI_TYPE_NAMED ? build_type(b) : build_plain(b);
  return lane_record_make(&b->decoder->classes[tag], fields);
}

/* A type without parts is looked up before it is built, with its name when it
 * has one: so nothing is read more than twice. */
static PyObject* build_type(builder* b) {
  const uint8_t* at = b->at;
  switch (at[1]) {
    case FNABI_TYPE_SCALAR:
    case FNABI_TYPE_REF:
    case FNABI_TYPE_NULL:
    case FNABI_TYPE_UNKNOWN:
      return build_known(b, skip_type(at), build_record);
    case FNABI_TYPE_BUFFER:
      if (b->shared != NULL)
        return build_shared(b, skip_type(at), build_record);
      break;
    case FNABI_TYPE_NAMED:
      if (b->shared == NULL) break;
      at = skip_text(at + 2);
      if (at[1] <= FNABI_TYPE_REF)
        return build_shared(b, skip_type(at), build_record);
      break;
    default:
      break;
  }
  return build_record(b);
}

static PyObject* build_side(builder* b) { return build_tuple(b, build_type); }

/* A signature whose text has no extra keys gets an empty tuple of them. */
static PyObject* build_signature(builder* b, const lane_record* class) {
  PyObject* fields[LANE_RECORD_FIELDS];
  build* const items[] = {build_side, build_side, build_plain};
  size_t count = take_count(b);
  if (count > class->count) count = class->count;
  build_fields(b, fields, items, count);
  for (size_t i = count; i < class->count; i++) fields[i] = PyTuple_New(0);
  return lane_record_make(class, fields);
}

/* Two parts of a message, joined as an array of `count` values. */
static PyObject* join(uint8_t count, const uint8_t* first, size_t first_size,
                      const uint8_t* second, size_t second_size) {
  PyObject* joined = PyBytes_FromStringAndSize(
      NULL, (Py_ssize_t)(1 + first_size + second_size));
  if (joined == NULL) return NULL;
  uint8_t* out = (uint8_t*)PyBytes_AsString(joined);
  out[0] = 0x90 | count;
  memcpy(out + 1, first, first_size);
  memcpy(out + 1 + first_size, second, second_size);
  return joined;
}

#define EXPORT_FIELDS 6

/* The classes of exports: `class` is filled in place; `unreadable` is called
 * when there is no signature. `module` is what the exports hold of the module. */
typedef struct export_classes {
  const lane_record *class, *signature;
  PyObject *unreadable, *module;
} export_classes;

/* Calls with fields whose references it takes over; NULL when one is NULL. */
static PyObject* call(PyObject* callable, PyObject* const* f) {
  bool whole = true;
  for (size_t i = 0; i < EXPORT_FIELDS; i++) whole &= f[i] != NULL;
  PyObject* result =
      whole ? PyObject_CallFunctionObjArgs(callable, f[0], f[1], f[2], f[3],
                                           f[4], f[5], NULL)
            : NULL;
  for (size_t i = 0; i < EXPORT_FIELDS; i++) Py_XDECREF(f[i]);
  return result;
}

/* Name, ordinal, calling convention, signature; the rest stays a message and is
 * decoded when it is first needed. Last is the module. */
static PyObject* build_export(builder* b, const export_classes* of) {
  PyObject* fields[LANE_RECORD_FIELDS] = {NULL};
  build* const items[] = {build_text, build_int, build_shared_text};
  b->at++;
  build_fields(b, fields, items, 3);
  const uint8_t *texts = b->at, *texts_end = texts;
  bool readable = true;
  if (fields[2] != NULL) {
    /* attributes and source */
    for (size_t left = take_count(b) + 1; left > 0; left--)
      b->at = skip_text(b->at);
    texts_end = b->at;
    readable = *b->at != 0xC0;
    fields[3] = readable ? build_signature(b, of->signature) : build_plain(b);
  }
  if (fields[3] != NULL) {
    const uint8_t* rest = b->at;
    for (int i = 0; i < 4; i++) b->at = skip_nil(b->at);
    b->at++; /* whether it is asynchronous */
    fields[4] = join(7, texts, (size_t)(texts_end - texts), rest,
                     (size_t)(b->at - rest));
    fields[5] = Py_NewRef(of->module);
  }
  return readable ? lane_record_make(of->class, fields)
                  : call(of->unreadable, fields);
}

/* A record of plain values. */
static PyObject* build_pair(builder* b, const lane_record* class) {
  PyObject* fields[2];
  build* const items[] = {build_plain, build_plain};
  b->at++;
  build_fields(b, fields, items, 2);
  return lane_record_make(class, fields);
}

static PyObject* build_some_alias(builder* b) {
  return build_pair(b, b->types->alias);
}

static PyObject* build_alias(builder* b) {
  return *b->at == 0xC0 ? build_plain(b)
                        : build_shared(b, skip(b->at), build_some_alias);
}

static PyObject* build_aliases(builder* b) {
  return build_tuple(b, build_alias);
}

static PyObject* build_fences(builder* b) {
  return build_pair(b, b->types->fences);
}

static PyObject* build_shared_side(builder* b) {
  return build_shared(b, skip(b->at), build_side);
}

static PyObject* build_proven_signature(builder* b) {
  PyObject* sides[2];
  build* const items[] = {build_shared_side, build_shared_side};
  b->at++;
  build_fields(b, sides, items, 2);
  return lane_record_make(b->types->signature, sides);
}

static PyObject* build_shared_plain(builder* b) {
  return build_shared(b, skip(b->at), build_plain);
}

static PyObject* build_shared_aliases(builder* b) {
  return build_shared(b, skip(b->at), build_aliases);
}

static PyObject* build_shared_fences(builder* b) {
  return build_shared(b, skip(b->at), build_fences);
}

/* What is known about a function, or None. */
static PyObject* build_proofs(builder* b) {
  PyObject* fields[5];
  /* lengths are mostly empty */
  build* const items[] = {build_proven_signature, build_shared_plain,
                          build_shared_aliases, build_shared_fences,
                          build_plain};
  if (*b->at == 0xC0) return build_plain(b);
  b->at++;
  build_fields(b, fields, items, 5);
  return lane_record_make(b->types->proofs, fields);
}

/* Fills a dict with pairs of texts, in parts. Of equal keys the last one
 * counts. */
static bool fill_dict(builder* b, PyObject* dict, Py_ssize_t count) {
  build* const items[] = {build_shared_text, build_text};
  for (Py_ssize_t i = 0, end; i < count;) {
    if ((end = lane_part(i, count)) < 0) return false;
    for (; i < end; i++) {
      PyObject* pair[2];
      b->at++;
      build_fields(b, pair, items, 2);
      bool good =
          pair[1] != NULL && PyDict_SetItem(dict, pair[0], pair[1]) == 0;
      Py_XDECREF(pair[0]);
      Py_XDECREF(pair[1]);
      if (!good) return false;
    }
  }
  return true;
}

/* The texts by their keys, and all pairs. The class makes each from the other
 * when it lacks one: so the pairs are left out when no key occurs twice, and
 * the dict when it is empty. */
static PyObject* build_attributes(builder* b) {
  const lane_record* class = b->signatures->attributes;
  builder again = *b;
  Py_ssize_t count = (Py_ssize_t)take_count(b);
  PyObject* last = count != 0 ? PyDict_New() : NULL;
  PyObject* pairs = NULL;
  bool good = count == 0 || (last != NULL && fill_dict(b, last, count));
  if (good && (last == NULL || PyDict_Size(last) != count)) {
    pairs = build_plain(&again);
    good = pairs != NULL;
  }
  PyObject* made = good ? class->alloc((PyTypeObject*)class->class, 0) : NULL;
  if (made == NULL) {
    Py_XDECREF(last);
    Py_XDECREF(pairs);
    return NULL;
  }
  *(PyObject**)((char*)made + class->offsets[0]) = last;
  *(PyObject**)((char*)made + class->offsets[1]) = pairs;
  PyObject_GC_UnTrack(made); /* it has only texts */
  return made;
}

static PyObject* build_function_signature(builder* b) {
  PyObject* fields[2];
  build* const items[] = {build_shared_text, build_attributes};
  b->at++;
  build_fields(b, fields, items, 2);
  return lane_record_make(b->signatures->signature, fields);
}

/* ------------------------------------------------------------------ decoder */

#define SCRATCH 4096 /* bytes on the stack */
#define GUESS_MAX (1u << 22)
#define ALONE (1u << 15) /* inputs of this size release the GIL */
#define MANY (1u << 15)  /* modules of this size may have many equal objects */

typedef int64_t core_decoder(const char* data, size_t size, uint8_t* out,
                             size_t capacity, fnabi_error* error);

/* The bytes of bytes, of a str as UTF-8, or of a contiguous buffer. */
typedef struct input {
  const char* data;
  Py_ssize_t size;
  Py_buffer view;
} input;

static bool input_open(input* in, PyObject* object) {
  in->view.obj = NULL;
  if (PyBytes_Check(object))
    return PyBytes_AsStringAndSize(object, (char**)&in->data, &in->size) == 0;
  if (PyUnicode_Check(object)) {
    in->data = PyUnicode_AsUTF8AndSize(object, &in->size);
    return in->data != NULL;
  }
  if (PyObject_GetBuffer(object, &in->view, PyBUF_SIMPLE) < 0) return false;
  in->data = in->view.buf;
  in->size = in->view.len;
  return true;
}

static void input_close(input* in) {
  if (in->view.obj != NULL) PyBuffer_Release(&in->view);
}

/* Raises the exception that `refuse` returns for an error. It shows a part of
 * the data where that is text, and nothing of None. */
static void refuse(const decoder* self, const fnabi_error* error,
                   PyObject* data) {
  if (error->code == FNABI_INTERRUPTED) {
    lane_interrupted();
    return;
  }
  PyObject* exception =
      PyObject_CallFunction(self->refuse, "iKyzzO", (int)error->code,
                            (unsigned long long)error->offset, error->path,
                            error->expected, error->found, data);
  if (exception == NULL) return;
  PyErr_SetObject((PyObject*)Py_TYPE(exception), exception);
  Py_DECREF(exception);
}

static int64_t decode(core_decoder* run, const input* in, uint8_t* out,
                      size_t capacity, fnabi_error* error) {
  if ((size_t)in->size < ALONE)
    return run(in->data, (size_t)in->size, out, capacity, error);
  PyThreadState* state = PyEval_SaveThread();
  int64_t size = run(in->data, (size_t)in->size, out, capacity, error);
  PyEval_RestoreThread(state);
  return size;
}

typedef struct message {
  uint8_t* bytes; /* `scratch`, or allocated */
  uint8_t scratch[SCRATCH];
} message;

static void message_close(message* m) {
  if (m->bytes != m->scratch) PyMem_Free(m->bytes);
}

/* Sets the capacity to `size` bytes; the contents are lost. */
static bool message_grow(message* m, size_t size) {
  message_close(m);
  m->bytes = PyMem_Malloc(size);
  if (m->bytes != NULL) return true;
  m->bytes = m->scratch;
  PyErr_NoMemory();
  return false;
}

/* Decodes `data` with `run`. The message must be closed, also after a failure;
 * `estimate` is the capacity that it will most likely need, `shown` is for
 * refuse. */
static bool message_read(const decoder* self, PyObject* data, PyObject* shown,
                         core_decoder* run, size_t estimate, message* m) {
  fnabi_error error;
  input in;
  m->bytes = m->scratch;
  if (!input_open(&in, data)) return false;
  int64_t size = (int64_t)estimate;
  bool done = false;
  size_t capacity = SCRATCH;
  do {
    if ((size_t)size > capacity) {
      capacity = (size_t)size;
      if (!message_grow(m, capacity)) break;
    }
    size = decode(run, &in, m->bytes, capacity, &error);
    done = size >= 0 && (size_t)size <= capacity;
  } while (!done && size >= 0);
  input_close(&in);
  if (size < 0) refuse(self, &error, shown);
  return done;
}

static bool check_count(Py_ssize_t given, Py_ssize_t expected) {
  if (given == expected) return true;
  PyErr_Format(PyExc_TypeError, "expected %zd arguments, got %zd", expected,
               given);
  return false;
}

static PyObject* read_signature(decoder* self, PyObject* const* args,
                                Py_ssize_t count, core_decoder* run) {
  message m;
  PyObject* value = NULL;
  if (!check_count(count, 2)) return NULL;
  const lane_record* class = lane_record_get(args[1], 2, 3);
  if (class == NULL) return NULL;
  if (!PyBytes_Check(args[0]) && !PyUnicode_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "expected bytes or str");
    return NULL;
  }
  if (message_read(self, args[0], args[0], run, 0, &m)) {
    builder b = {self, m.bytes, NULL, NULL, NULL};
    value = build_signature(&b, class);
  }
  message_close(&m);
  return value;
}

static PyObject* decoder_raw(decoder* self, PyObject* const* args,
                             Py_ssize_t count) {
  return read_signature(self, args, count, fnabi_raw_decode);
}

static PyObject* decoder_iree_abi(decoder* self, PyObject* const* args,
                                  Py_ssize_t count) {
  return read_signature(self, args, count, fnabi_iree_abi_decode);
}

static PyObject* build_exports(builder* b, const export_classes* of) {
  size_t count = take_count(b);
  PyObject* exports = PyTuple_New((Py_ssize_t)count);
  for (size_t i = 0; i < count && exports != NULL; i++) {
    PyObject* export = build_export(b, of);
    if (export == NULL || PyTuple_SetItem(exports, (Py_ssize_t)i, export) < 0)
      Py_CLEAR(exports);
  }
  return exports;
}

static PyObject* decoder_exports(decoder* self, PyObject* const* args,
                                 Py_ssize_t count) {
  message m;
  PyObject* value = NULL;
  if (!check_count(count, 5)) return NULL;
  export_classes of = {lane_record_get(args[0], EXPORT_FIELDS, EXPORT_FIELDS),
                       NULL, args[2], args[4]};
  if (of.class == NULL) return NULL;
  of.signature = lane_record_get(args[1], 2, 3);
  if (of.signature == NULL) return NULL;
  Py_ssize_t size = PyBytes_Size(args[3]);
  if (size < 0) return NULL;
  size_t guess = (size_t)size < GUESS_MAX / 2 ? 2 * (size_t)size : GUESS_MAX;
  if (message_read(self, args[3], Py_None, fnabi_vmfb_exports, guess, &m)) {
    memo shared;
    memo_begin(&shared, (size_t)size);
    builder b = {self, m.bytes, &shared, NULL, NULL};
    value = build_exports(&b, &of);
  }
  message_close(&m);
  return value;
}

static int64_t read_signatures(const char* data, size_t size, uint8_t* out,
                               size_t capacity, fnabi_error* error) {
  enum { FUNCTION_SIGNATURES = 8 };
  return fnabi_vmfb_field(data, size, FUNCTION_SIGNATURES, out, capacity,
                          error);
}

static PyObject* decoder_signatures(decoder* self, PyObject* const* args,
                                    Py_ssize_t count) {
  message m;
  PyObject* value = NULL;
  if (!check_count(count, 3)) return NULL;
  signatures_classes of = {lane_record_get(args[0], 2, 2), NULL};
  if (of.signature == NULL) return NULL;
  of.attributes = lane_record_get(args[1], 2, 2);
  if (of.attributes == NULL) return NULL;
  Py_ssize_t size = PyBytes_Size(args[2]);
  if (size < 0) return NULL;
  size_t guess = (size_t)size < GUESS_MAX ? (size_t)size : GUESS_MAX;
  if (message_read(self, args[2], Py_None, read_signatures, guess, &m)) {
    memo shared;
    memo_begin(&shared, (size_t)size);
    builder b = {self, m.bytes, &shared, NULL, &of};
    value = build_tuple(&b, build_function_signature);
  }
  message_close(&m);
  return value;
}

/* A function of the types of an earlier one is the earlier one's index. */
static PyObject* build_types(builder* b) {
  size_t count = take_count(b);
  PyObject* types = PyTuple_New((Py_ssize_t)count);
  for (size_t i = 0; i < count && types != NULL; i++) {
    bool equal = !is_array(*b->at) && *b->at != 0xC0;
    PyObject* made;
    if (!equal) {
      made = build_proofs(b);
    } else {
      uint8_t head = *b->at++;
      size_t index = head < 0x80 ? head : (size_t)wide(b, 1u << (head & 3));
      made = Py_NewRef(PyTuple_GetItem(types, (Py_ssize_t)index));
    }
    if (made == NULL || PyTuple_SetItem(types, (Py_ssize_t)i, made) < 0)
      Py_CLEAR(types);
  }
  return types;
}

/* The first argument is a tuple of the classes in types_classes. */
static PyObject* decoder_types(decoder* self, PyObject* const* args,
                               Py_ssize_t count) {
  enum { CLASS_COUNT = 4 };
  const lane_record* of[CLASS_COUNT];
  message m;
  PyObject* value = NULL;
  if (!check_count(count, 2) ||
      !check_count(PyTuple_Size(args[0]), CLASS_COUNT))
    return NULL;
  for (Py_ssize_t i = 0; i < CLASS_COUNT; i++) {
    size_t fields = i == 0 ? 5 : 2;
    of[i] = lane_record_get(PyTuple_GetItem(args[0], i), fields, fields);
    if (of[i] == NULL) return NULL;
  }
  types_classes classes = {of[0], of[1], of[2], of[3]};
  Py_ssize_t size = PyBytes_Size(args[1]);
  if (size < 0) return NULL;
  size_t guess = (size_t)size / 2 < GUESS_MAX ? (size_t)size / 2 : GUESS_MAX;
  if (message_read(self, args[1], Py_None, fnabi_bytecode_signatures, guess,
                   &m)) {
    memo shared;
    bool many = (size_t)size >= MANY;
    if (many) memo_begin(&shared, (size_t)size);
    builder b = {self, m.bytes, many ? &shared : NULL, &classes, NULL};
    value = build_types(&b);
  }
  message_close(&m);
  return value;
}

static PyObject* decoder_verify(decoder* self, PyObject* const* args,
                                Py_ssize_t count) {
  fnabi_error error;
  input in;
  if (!check_count(count, 2)) return NULL;
  int lenient = PyObject_IsTrue(args[1]);
  if (lenient < 0 || !input_open(&in, args[0])) return NULL;
  PyThreadState* state = (size_t)in.size < ALONE ? NULL : PyEval_SaveThread();
  int64_t verified =
      fnabi_vmfb_verify(in.data, (size_t)in.size, lenient, &error);
  if (state != NULL) PyEval_RestoreThread(state);
  input_close(&in);
  if (verified == 0) Py_RETURN_NONE;
  refuse(self, &error, Py_None);
  return NULL;
}

/* Whether the bytecode of a module has no findings. An error counts as one, so
 * that the caller finds out what it is on the plain path. */
static PyObject* decoder_sound(decoder* self, PyObject* data) {
  uint8_t none[8];
  fnabi_error error;
  input in;
  (void)self;
  if (!input_open(&in, data)) return NULL;
  int64_t size = decode(fnabi_bytecode_check, &in, none, sizeof none, &error);
  input_close(&in);
  builder b = {.at = none};
  return PyBool_FromLong(size >= 0 && (size_t)size <= sizeof none &&
                         take_count(&b) == 0);
}

/* The most frequent types, by the names of their elements in the core. */
static const char* const known_dtypes[] = {
    "i1",   "i8",   "i16",  "i32",   "i64",          "si8",         "si16",
    "si32", "si64", "ui8",  "ui16",  "ui32",         "ui64",        "f16",
    "f32",  "f64",  "bf16", "index", "complex<f32>", "complex<f64>"};

static bool know(decoder* self, fnabi_writer* w, size_t start, build* item) {
  builder b = {self, self->messages + start, NULL, NULL, NULL};
  size_t size = w->size - start;
  PyObject* object = item(&b);
  if (object == NULL) return false;
  const uint8_t* message = self->messages + start;
  memo_add(&self->known, key_of(message, size), message, object);
  int status = PyList_Append(self->owned, object);
  Py_DECREF(object);
  return status == 0;
}

static bool know_all(decoder* self) {
  static const uint8_t others[][3] = {{0x91, FNABI_TYPE_NULL},
                                      {0x91, FNABI_TYPE_UNKNOWN},
                                      {0x92, FNABI_TYPE_REF, 0xC0}};
  fnabi_writer w = {self->messages, KNOWN_CAPACITY, 0};
  size_t start;
  for (size_t i = 0; i < sizeof known_dtypes / sizeof *known_dtypes; i++) {
    fnabi_dtype dtype;
    fnabi_read_dtype(known_dtypes[i], strlen(known_dtypes[i]), &dtype);
    start = w.size;
    fnabi_pack_dtype(&w, &dtype);
    if (!know(self, &w, start, build_dtype)) return false;
    start = w.size;
    fnabi_pack_array(&w, 2);
    fnabi_pack_uint(&w, FNABI_TYPE_SCALAR);
    fnabi_pack_dtype(&w, &dtype);
    if (!know(self, &w, start, build_record)) return false;
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    start = w.size;
    fnabi_put(&w, others[i], 1u + (others[i][0] & 15));
    if (!know(self, &w, start, build_record)) return false;
  }
  return true;
}

static const uint8_t field_counts[CLASSES] = {4,
                                              [FNABI_TYPE_SCALAR] = 1,
                                              [FNABI_TYPE_BUFFER] = 2,
                                              [FNABI_TYPE_REF] = 1,
                                              [FNABI_TYPE_LIST] = 1,
                                              [FNABI_TYPE_TUPLE] = 1,
                                              [FNABI_TYPE_DICT] = 1,
                                              [FNABI_TYPE_HOMOGENEOUS_LIST] = 1,
                                              [FNABI_TYPE_NAMED] = 2,
                                              [FNABI_TYPE_REF_ARRAY] = 2};

static PyObject* decoder_new(PyTypeObject* type, PyObject* args,
                             PyObject* kwargs) {
  PyObject *classes, *callable;
  if (kwargs != NULL && PyDict_Size(kwargs) != 0) {
    PyErr_SetString(PyExc_TypeError,
                    "RecordDecoder() takes no keyword arguments");
    return NULL;
  }
  if (!PyArg_ParseTuple(args, "O!O", &PyTuple_Type, &classes, &callable) ||
      !check_count(PyTuple_Size(classes), CLASSES))
    return NULL;
  decoder* self = (decoder*)PyType_GenericAlloc(type, 0);
  if (self == NULL) return NULL;
  self->refuse = Py_NewRef(callable);
  self->known.last_slot = SLOTS - 1;
  self->owned = PyList_New(0);
  bool whole = self->owned != NULL;
  for (Py_ssize_t i = 0; i < CLASSES && whole; i++)
    whole = lane_record_fill(&self->classes[i], PyTuple_GetItem(classes, i));
  for (size_t i = 0; i < CLASSES && whole; i++)
    if (self->classes[i].count != field_counts[i]) {
      PyErr_SetString(PyExc_TypeError,
                      "RecordDecoder(): the fields of a class differ from "
                      "those of its type");
      whole = false;
    }
  if (!whole || !know_all(self)) Py_CLEAR(self);
  return (PyObject*)self;
}

static int decoder_traverse(decoder* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE((PyObject*)self));
  for (size_t i = 0; i < CLASSES; i++) Py_VISIT(self->classes[i].class);
  Py_VISIT(self->refuse);
  Py_VISIT(self->owned);
  return 0;
}

static int decoder_clear(decoder* self) {
  for (size_t i = 0; i < CLASSES; i++) lane_record_free(&self->classes[i]);
  Py_CLEAR(self->refuse);
  memset(&self->known, 0, sizeof self->known);
  Py_CLEAR(self->owned);
  return 0;
}

static void decoder_dealloc(decoder* self) {
  PyTypeObject* type = Py_TYPE((PyObject*)self);
  PyObject_GC_UnTrack(self);
  decoder_clear(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

/* The cast goes through void (*)(void), because METH_FASTCALL functions have
 * another type than PyCFunction. */
#define METHOD(name) \
  {#name, (PyCFunction)(void (*)(void))decoder_##name, METH_FASTCALL, NULL}
static PyMethodDef methods[] = {
    METHOD(raw),
    METHOD(iree_abi),
    METHOD(exports),
    METHOD(types),
    METHOD(signatures),
    METHOD(verify),
    {"sound", (PyCFunction)decoder_sound, METH_O, NULL},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_new, decoder_new},           {Py_tp_dealloc, decoder_dealloc},
    {Py_tp_traverse, decoder_traverse}, {Py_tp_clear, decoder_clear},
    {Py_tp_methods, methods},           {0, NULL}};

static PyType_Spec spec = {
    .name = "fnabi._base.lane.RecordDecoder",
    .basicsize = sizeof(decoder),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};

int lane_record_decode_init(PyObject* module) {
  return lane_add_type(module, &spec, NULL) ? 0 : -1;
}
