/* Messages as objects of `fnabi.types`, and the decoders that write them.
 *
 * What a decoder has written is in memory of this file's own, and well-formed
 * as long as its input did not change meanwhile: only immutable objects are
 * decoded, and messages are read without checks. Types are frozen, and equal
 * ones cannot be told apart but by identity; so one object stands for all that
 * are equal among the types that every model has, and within one module. */
#include "base/dtype.h"
#include "lane/lane.h"

/* ------------------------------------------------------------------- records
 */

#define FIELDS_MAX 8
#define RECORD "fnabi._call.record"

/* A class of records, and where its instances keep their fields: an instance
 * that no one has seen yet is filled in place, in half the time of a call. */
typedef struct record {
  PyObject* class;
  allocfunc alloc;
  size_t count;
  Py_ssize_t offsets[FIELDS_MAX];
} record;

static void record_free(record* r) { Py_CLEAR(r->class); }

static void record_delete(PyObject* capsule) {
  record* r = PyCapsule_GetPointer(capsule, RECORD);
  record_free(r);
  PyMem_Free(r);
}

/* The offset of a field that a class has itself or from a base; 0 without. */
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

/* The fields in the order of __struct_fields__. */
static bool record_fill(record* r, PyObject* class) {
  PyObject* names = PyObject_GetAttrString(class, "__struct_fields__");
  PyObject* bases = PyObject_GetAttrString(class, "__mro__");
  bool whole = names != NULL && bases != NULL && PyType_Check(class) &&
               PyTuple_Check(names) && PyTuple_Check(bases) &&
               PyTuple_Size(names) <= FIELDS_MAX;
  for (Py_ssize_t i = 0; whole && i < PyTuple_Size(names); i++) {
    r->offsets[r->count] = offset_of(bases, PyTuple_GetItem(names, i));
    whole = r->offsets[r->count++] != 0;
  }
  Py_XDECREF(names);
  Py_XDECREF(bases);
  if (whole) {
    r->class = Py_NewRef(class);
    r->alloc = (allocfunc)PyType_GetSlot((PyTypeObject*)class, Py_tp_alloc);
  } else {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%R is no class of records", class);
  }
  return whole;
}

static PyObject* record_new(PyObject* module, PyObject* class) {
  (void)module;
  record* r = PyMem_Calloc(1, sizeof *r);
  if (r == NULL) return PyErr_NoMemory();
  PyObject* capsule = NULL;
  if (record_fill(r, class)) capsule = PyCapsule_New(r, RECORD, record_delete);
  if (capsule == NULL) {
    record_free(r);
    PyMem_Free(r);
  }
  return capsule;
}

/* An instance with these values in all of its fields, which are taken over;
 * NULL where one of them is. */
static PyObject* make(const record* r, PyObject** values) {
  bool whole = true;
  for (size_t i = 0; i < r->count; i++) whole &= values[i] != NULL;
  PyObject* made = whole ? r->alloc((PyTypeObject*)r->class, 0) : NULL;
  for (size_t i = 0; i < r->count; i++)
    if (made != NULL)
      *(PyObject**)((char*)made + r->offsets[i]) = values[i];
    else
      Py_XDECREF(values[i]);
  return made;
}

/* ---------------------------------------------------------------------- memo
 */

#define SLOTS 256
#define WAYS 4         /* slots that an object may be in */
#define SHARED_SIZE 64 /* bytes; a longer message is not looked for */

/* Objects, borrowed, by their messages. Where all its slots are taken, a new
 * one replaces an old one: a memo costs as much however many objects there are.
 */
typedef struct memo {
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

static size_t slot_of(uint64_t key, size_t way) {
  return (size_t)(key >> 56) % SLOTS ^ way; /* the upper bits are mixed best */
}

/* Borrowed, or NULL. */
static PyObject* memo_find(const memo* m, uint64_t key,
                           const uint8_t* message) {
  for (size_t way = 0; way < WAYS; way++) {
    size_t slot = slot_of(key, way);
    if (m->slots[slot].key == key &&
        memcmp(m->slots[slot].message, message, key & 255) == 0)
      return m->slots[slot].object;
  }
  return NULL;
}

static void memo_add(memo* m, uint64_t key, const uint8_t* message,
                     PyObject* object) {
  size_t way = 0;
  while (way < WAYS && m->slots[slot_of(key, way)].key != 0) way++;
  size_t slot = slot_of(key, way % WAYS);
  m->slots[slot].key = key;
  m->slots[slot].message = message;
  m->slots[slot].object = object;
}

/* ------------------------------------------------------------------- objects
 */

#define CLASSES (FNABI_TYPE_REF_ARRAY + 1)
#define KNOWN_ROOM 2048 /* bytes of the messages of all known types */

typedef struct reader {
  PyObject_HEAD record classes[CLASSES]; /* by tag; at 0 the class of dtypes */
  PyObject* refuse;
  memo known;
  PyObject* owned; /* list of what is known */
  uint8_t messages[KNOWN_ROOM];
} reader;

typedef struct builder {
  const reader* reader;
  const uint8_t* at;
  memo* shared; /* or NULL */
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

/* Behind the value that stands at `at`, of a head that is one byte of several:
 * neither a small number nor a short string or array. */
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

/* Behind the value that stands at `at`. */
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

/* The same where more is known of it. */
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

static PyObject* build_plain(builder* b);
typedef PyObject* build(builder* b);

static PyObject* build_tuple(builder* b, build* item) {
  size_t count = take_count(b);
  PyObject* tuple = PyTuple_New((Py_ssize_t)count);
  for (size_t i = 0; i < count && tuple != NULL; i++) {
    PyObject* value = item(b);
    if (value == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, value) < 0)
      Py_CLEAR(tuple);
  }
  /* What is in it refers to no container, as the collector would find out. */
  if (count != 0 && tuple != NULL) PyObject_GC_UnTrack(tuple);
  return tuple;
}

/* What is no record: arrays become tuples. */
static PyObject* build_plain(builder* b) {
  uint8_t head = *b->at;
  if (is_array(head)) return build_tuple(b, build_plain);
  if (is_text(head)) return build_text(b);
  if (head != 0xC0) return build_int(b);
  b->at++;
  return Py_NewRef(Py_None);
}

/* What stands from b->at to `end`, from those that are known. */
static PyObject* build_known(builder* b, const uint8_t* end, build* item) {
  size_t size = (size_t)(end - b->at);
  if (size > SHARED_SIZE) return item(b);
  PyObject* found = memo_find(&b->reader->known, key_of(b->at, size), b->at);
  if (found == NULL) return item(b);
  b->at += size;
  return Py_NewRef(found);
}

/* What stands from b->at to `end`, from those that were built before. */
static PyObject* build_shared(builder* b, const uint8_t* end, build* item) {
  const uint8_t* start = b->at;
  size_t size = (size_t)(end - start);
  if (size > SHARED_SIZE || b->shared == NULL) return item(b);
  uint64_t key = key_of(start, size);
  PyObject* found = memo_find(b->shared, key, start);
  if (found != NULL) {
    b->at = start + size;
    return Py_NewRef(found);
  }
  PyObject* built = item(b);
  if (built != NULL) memo_add(b->shared, key, start, built);
  return built;
}

static PyObject* build_dtype(builder* b) {
  PyObject* fields[4];
  b->at++;
  fields[0] = build_text(b);
  fields[1] = build_int(b);
  fields[2] = build_text(b);
  fields[3] = PyLong_FromLong(1); /* lanes: no text has more */
  return make(&b->reader->classes[0], fields);
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
      fields[0] = b->shared != NULL
                      ? build_shared(b, skip_text(b->at), build_text)
                      : build_text(b);
      break;
    case FNABI_TYPE_NULL:
    case FNABI_TYPE_UNKNOWN:
      break;
  }
  if (count == 2 && fields[0] != NULL)
    fields[1] = tag == FNABI_TYPE_NAMED ? build_type(b) : build_plain(b);
  return make(&b->reader->classes[tag], fields);
}

/* A type that refers to no other is looked for before it is built, and so is
 * one of them with a name: nothing is read more than twice for that. */
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

/* Without extra keys where the text has no place for them. */
static PyObject* build_signature(builder* b, const record* class) {
  PyObject* fields[FIELDS_MAX];
  size_t count = take_count(b);
  for (size_t i = 0; i < class->count; i++)
    fields[i] = i >= count ? PyTuple_New(0)
                           : build_tuple(b, i < 2 ? build_type : build_plain);
  return make(class, fields);
}

/* Two parts of a message behind each other, as an array of `count` values. */
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

#define EXPORT_FIELDS 5

/* What exports are made of: records of `class`, or where there is no signature
 * what `unreadable` gives. */
typedef struct export_classes {
  const record *class, *signature;
  PyObject* unreadable;
} export_classes;

/* Calls with values that are taken over; NULL where one of them is. */
static PyObject* call(PyObject* callable, PyObject** values, size_t count) {
  bool whole = true;
  PyObject* tuple = PyTuple_New((Py_ssize_t)count);
  for (size_t i = 0; i < count; i++) {
    whole &= values[i] != NULL;
    if (tuple != NULL)
      PyTuple_SetItem(tuple, (Py_ssize_t)i, values[i]);
    else
      Py_XDECREF(values[i]);
  }
  if (tuple == NULL) return NULL;
  PyObject* answer = whole ? PyObject_CallObject(callable, tuple) : NULL;
  Py_DECREF(tuple);
  return answer;
}

/* Name, ordinal, calling convention, signature; and the message of the rest,
 * to be read when it is asked for. */
static PyObject* build_export(builder* b, const export_classes* of) {
  PyObject* fields[FIELDS_MAX];
  b->at++;
  fields[0] = build_text(b);
  fields[1] = build_int(b);
  fields[2] = build_shared(b, skip_text(b->at), build_text);
  const uint8_t* texts = b->at;
  /* attributes and source */
  for (size_t left = take_count(b) + 1; left > 0; left--)
    b->at = skip_text(b->at);
  size_t texts_size = (size_t)(b->at - texts);
  bool readable = *b->at != 0xC0;
  fields[3] = readable ? build_signature(b, of->signature) : build_plain(b);
  const uint8_t* rest = b->at;
  for (int i = 0; i < 4; i++) b->at = skip_nil(b->at);
  fields[4] = join(6, texts, texts_size, rest, (size_t)(b->at - rest));
  return readable ? make(of->class, fields)
                  : call(of->unreadable, fields, of->class->count);
}

/* -------------------------------------------------------------------- reader
 */

#define SCRATCH 4096 /* bytes on the stack */
#define GUESS_MAX (1u << 22)
#define ALONE (1u << 15) /* bytes of input from which other threads may run */

typedef int64_t decoder(const char* data, size_t size, uint8_t* out,
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

/* Raises what the reader's `refuse` makes of an error. */
static void refuse(const reader* self, const fnabi_error* error,
                   PyObject* data) {
  PyObject* exception = PyObject_CallFunction(
      self->refuse, "iKyzO", (int)error->code,
      (unsigned long long)error->offset, error->path, error->expected, data);
  if (exception == NULL) return;
  PyErr_SetObject((PyObject*)Py_TYPE(exception), exception);
  Py_DECREF(exception);
}

static int64_t decode(decoder* run, const input* in, uint8_t* out,
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

/* Makes room for `size` bytes; what was there is lost. */
static bool message_grow(message* m, size_t size) {
  message_close(m);
  m->bytes = PyMem_Malloc(size);
  if (m->bytes != NULL) return true;
  m->bytes = m->scratch;
  PyErr_NoMemory();
  return false;
}

/* What `run` makes of `data`, to be closed also where this fails; `room` is how
 * many bytes will most likely do. */
static bool message_read(const reader* self, PyObject* data, decoder* run,
                         size_t room, message* m) {
  fnabi_error error;
  input in;
  m->bytes = m->scratch;
  if (!input_open(&in, data)) return false;
  int64_t size = (int64_t)room;
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
  if (size < 0) refuse(self, &error, data);
  return done;
}

static const record* get_record(PyObject* object, size_t least, size_t most) {
  const record* r = PyCapsule_GetPointer(object, RECORD);
  if (r == NULL || (r->count >= least && r->count <= most)) return r;
  PyErr_Format(PyExc_TypeError, "%R has other fields", r->class);
  return NULL;
}

static bool check_count(Py_ssize_t given, Py_ssize_t expected) {
  if (given == expected) return true;
  PyErr_Format(PyExc_TypeError, "expected %zd arguments, not %zd", expected,
               given);
  return false;
}

static PyObject* read_signature(reader* self, PyObject* const* args,
                                Py_ssize_t count, decoder* run) {
  message m;
  PyObject* value = NULL;
  if (!check_count(count, 2)) return NULL;
  const record* class = get_record(args[1], 2, 3);
  if (class == NULL) return NULL;
  if (!PyBytes_Check(args[0]) && !PyUnicode_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "expected bytes or a str");
    return NULL;
  }
  if (message_read(self, args[0], run, 0, &m)) {
    builder b = {self, m.bytes, NULL};
    value = build_signature(&b, class);
  }
  message_close(&m);
  return value;
}

static PyObject* reader_raw(reader* self, PyObject* const* args,
                            Py_ssize_t count) {
  return read_signature(self, args, count, fnabi_raw_decode);
}

static PyObject* reader_iree_abi(reader* self, PyObject* const* args,
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

static PyObject* reader_exports(reader* self, PyObject* const* args,
                                Py_ssize_t count) {
  message m;
  PyObject* value = NULL;
  if (!check_count(count, 4)) return NULL;
  export_classes of = {get_record(args[1], EXPORT_FIELDS, EXPORT_FIELDS), NULL,
                       args[3]};
  if (of.class == NULL) return NULL;
  of.signature = get_record(args[2], 2, 3);
  if (of.signature == NULL) return NULL;
  Py_ssize_t size = PyBytes_Size(args[0]);
  if (size < 0) return NULL;
  size_t guess = (size_t)size < GUESS_MAX / 2 ? 2 * (size_t)size : GUESS_MAX;
  if (message_read(self, args[0], fnabi_vmfb_exports, guess, &m)) {
    memo shared = {0};
    builder b = {self, m.bytes, &shared};
    value = build_exports(&b, &of);
  }
  message_close(&m);
  return value;
}

static PyObject* reader_verify(reader* self, PyObject* const* args,
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
  refuse(self, &error, args[0]);
  return NULL;
}

/* The types that are met most, as the core names their elements. */
static const char* const known_dtypes[] = {
    "i1",   "i8",   "i16",  "i32",   "i64",          "si8",         "si16",
    "si32", "si64", "ui8",  "ui16",  "ui32",         "ui64",        "f16",
    "f32",  "f64",  "bf16", "index", "complex<f32>", "complex<f64>"};

static bool know(reader* self, fnabi_writer* w, size_t start, build* item) {
  builder b = {self, self->messages + start, NULL};
  size_t size = w->size - start;
  PyObject* object = item(&b);
  if (object == NULL) return false;
  const uint8_t* message = self->messages + start;
  memo_add(&self->known, key_of(message, size), message, object);
  int status = PyList_Append(self->owned, object);
  Py_DECREF(object);
  return status == 0;
}

static bool know_all(reader* self) {
  static const uint8_t others[][3] = {{0x91, FNABI_TYPE_NULL},
                                      {0x91, FNABI_TYPE_UNKNOWN},
                                      {0x92, FNABI_TYPE_REF, 0xC0}};
  fnabi_writer w = {self->messages, KNOWN_ROOM, 0};
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

static PyObject* reader_new(PyTypeObject* type, PyObject* args,
                            PyObject* kwargs) {
  PyObject *classes, *callable;
  if (kwargs != NULL && PyDict_Size(kwargs) != 0) {
    PyErr_SetString(PyExc_TypeError, "Reader takes no keywords");
    return NULL;
  }
  if (!PyArg_ParseTuple(args, "O!O", &PyTuple_Type, &classes, &callable) ||
      !check_count(PyTuple_Size(classes), CLASSES))
    return NULL;
  reader* self = (reader*)PyType_GenericAlloc(type, 0);
  if (self == NULL) return NULL;
  self->refuse = Py_NewRef(callable);
  self->owned = PyList_New(0);
  bool whole = self->owned != NULL;
  for (Py_ssize_t i = 0; i < CLASSES && whole; i++)
    whole = record_fill(&self->classes[i], PyTuple_GetItem(classes, i));
  for (size_t i = 0; i < CLASSES && whole; i++)
    if (self->classes[i].count != field_counts[i]) {
      PyErr_SetString(PyExc_TypeError, "Reader: a class has other fields");
      whole = false;
    }
  if (!whole || !know_all(self)) Py_CLEAR(self);
  return (PyObject*)self;
}

static int reader_traverse(reader* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE((PyObject*)self));
  for (size_t i = 0; i < CLASSES; i++) Py_VISIT(self->classes[i].class);
  Py_VISIT(self->refuse);
  Py_VISIT(self->owned);
  return 0;
}

static int reader_clear(reader* self) {
  for (size_t i = 0; i < CLASSES; i++) record_free(&self->classes[i]);
  Py_CLEAR(self->refuse);
  memset(&self->known, 0, sizeof self->known);
  Py_CLEAR(self->owned);
  return 0;
}

static void reader_dealloc(reader* self) {
  PyTypeObject* type = Py_TYPE((PyObject*)self);
  PyObject_GC_UnTrack(self);
  reader_clear(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

/* Methods of this form have no cast to a function type that they are not. */
#define METHOD(name) \
  {#name, (PyCFunction)(void (*)(void))reader_##name, METH_FASTCALL, NULL}
static PyMethodDef methods[] = {METHOD(raw),
                                METHOD(iree_abi),
                                METHOD(exports),
                                METHOD(verify),
                                {NULL, NULL, 0, NULL}};

static PyMethodDef functions[] = {{"record", record_new, METH_O, NULL},
                                  {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {
    {Py_tp_new, reader_new},           {Py_tp_dealloc, reader_dealloc},
    {Py_tp_traverse, reader_traverse}, {Py_tp_clear, reader_clear},
    {Py_tp_methods, methods},          {0, NULL}};

static PyType_Spec spec = {
    .name = "fnabi._call.Reader",
    .basicsize = sizeof(reader),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};

int lane_message_init(PyObject* module) {
  PyObject* type = PyType_FromModuleAndSpec(module, &spec, NULL);
  if (type == NULL) return -1;
  int status = PyModule_AddObjectRef(module, "Reader", type);
  Py_DECREF(type);
  return status < 0 ? status : PyModule_AddFunctions(module, functions);
}
