/* Function.map: calls a function once for each row of its columns. */
#include "lane/calls/any_array.h"
#include "lane/calls/callback.h"
#include "lane/calls/dialect.h"
#include "lane/calls/environment.h"
#include "lane/calls/function.h"
#include "lane/calls/function_methods.h"
#include "lane/calls/result.h"
#include "lane/calls/to_value.h"
#include "lane/runtime/call_error.h"
#include "lane/runtime/error_slot.h"
#include "lane/runtime/threads.h"

/* Rows are converted in blocks, so the memory for arguments does not grow with
 * the number of rows, and the calls of a block are made without the GIL. */
enum { BLOCK = 4096, BLOCK_VALUES = 8 * BLOCK };

typedef enum column_kind {
  COLUMN_SCALAR, /* the same value in each row */
  COLUMN_ITEMS,  /* a sequence */
  COLUMN_VALUES, /* an AnyArray */
  COLUMN_BUFFER, /* numbers in memory */
} column_kind;

typedef struct column {
  column_kind kind;
  PyObject* object; /* borrowed */
  fnabi_any value;  /* SCALAR: owned */
  Py_ssize_t size;
  Py_ssize_t filled; /* rows of the block that were converted */
  Py_buffer buffer;
  char format;         /* BUFFER: i u f b */
  lane_arguments seen; /* in the value, or in the first row */
} column;

static void close_column(column* c) {
  if (c->kind == COLUMN_SCALAR) fnabi_any_release(&c->value);
  if (c->kind == COLUMN_BUFFER) PyBuffer_Release(&c->buffer);
}

/* The type of a buffer's elements. Their size is that of the buffer, not the
 * standard size of the letter, which some exporters ignore. */
static char buffer_format(const Py_buffer* buffer) {
  const char* format = buffer->format ? buffer->format : "B";
  const char order = FNABI_BIG_ENDIAN ? '>' : '<';
  if (*format == '@' || *format == '=' || *format == order) format++;
  if (format[0] == 0 || format[1] != 0) return 0;
  Py_ssize_t size = buffer->itemsize;
  bool integer = size == 1 || size == 2 || size == 4 || size == 8;
  if (strchr("bhilqn", format[0])) return integer ? 'i' : 0;
  if (strchr("BHILQN", format[0])) return integer ? 'u' : 0;
  if (strchr("fd", format[0])) return size == 4 || size == 8 ? 'f' : 0;
  return format[0] == '?' && size == 1 ? 'b' : 0;
}

/* Whether Python makes objects of the items of a buffer that is none of numbers:
 * a memoryview refuses most formats. Raises an exception if not. */
static bool has_items(PyObject* object, const Py_buffer* buffer) {
  if (!PyMemoryView_Check(object) || buffer->shape[0] == 0) return true;
  PyObject* first = PySequence_GetItem(object, 0);
  if (first == NULL && PyErr_ExceptionMatches(PyExc_NotImplementedError))
    lane_type_error(
        "expected a column of numbers, got a memoryview of the "
        "format '%.100s'",
        buffer->format);
  Py_XDECREF(first);
  return first != NULL;
}

static int open_column(PyObject* object, column* c) {
  c->object = object;
  c->size = -1;
  if (Py_TYPE(object) == lane.any_array) {
    c->kind = COLUMN_VALUES;
    c->size = lane_any_array_size(object);
    return 0;
  }
  c->kind = COLUMN_SCALAR;
  if (PyUnicode_Check(object) || PyBytes_Check(object) ||
      PyByteArray_Check(object))
    return lane_own(object, &c->value);
  int sequence = lane_is_sequence(object);
  if (sequence < 0) return -1;
  if (!sequence && PyObject_CheckBuffer(object)) {
    if (PyObject_GetBuffer(object, &c->buffer,
                           PyBUF_STRIDED_RO | PyBUF_FORMAT) == 0) {
      if (c->buffer.ndim == 1 && (c->format = buffer_format(&c->buffer)) != 0) {
        c->kind = COLUMN_BUFFER;
        c->size = c->buffer.shape[0];
        return 0;
      }
      sequence = c->buffer.ndim == 1; /* of something else */
      bool good = !sequence || has_items(object, &c->buffer);
      PyBuffer_Release(&c->buffer);
      if (!good) return -1;
    } else { /* an array whose dtype has no buffer format */
      PyObject* ndim =
          lane_clear() ? PyObject_GetAttrString(object, "ndim") : NULL;
      sequence = ndim != NULL && PyLong_Check(ndim) && PyLong_AsLong(ndim) == 1;
      Py_XDECREF(ndim);
      if (!lane_clear()) return -1;
    }
  }
  if (!sequence) return lane_own(object, &c->value);
  c->size = PySequence_Size(object);
  if (c->size < 0) return -1;
  c->kind = COLUMN_ITEMS;
  return 0;
}

static int own_item(PyObject* sequence, Py_ssize_t i, fnabi_any* out) {
  PyObject* item;
  if (PyList_CheckExact(sequence)) { /* which may get shorter meanwhile */
    item = PyList_GetItem(sequence, i);
    if (item == NULL) return -1;
    /* converting a number runs no Python code and needs no reference */
    if (Py_TYPE(item) == &PyLong_Type) {
      int large;
      long long number = PyLong_AsLongLongAndOverflow(item, &large);
      if (large) return lane_own(item, out);
      fnabi_any_set(out, FNABI_INDEX_INT, number);
      return 0;
    }
    if (Py_TYPE(item) == &PyFloat_Type) return lane_own(item, out);
    Py_INCREF(item);
  } else {
    item = PySequence_GetItem(sequence, i);
    if (item == NULL) return -1;
  }
  int status = lane_own(item, out);
  Py_DECREF(item);
  return status;
}

/* Converts the rows [begin, end) of a column to values that are `stride` apart.
 * Returns how many were converted. */
static Py_ssize_t fill_column(column* c, Py_ssize_t begin, Py_ssize_t end,
                              fnabi_any* out, Py_ssize_t stride) {
  if (c->kind == COLUMN_SCALAR || c->kind == COLUMN_VALUES) {
    const fnabi_any* from = c->kind == COLUMN_VALUES
                                ? lane_any_array_data(c->object) + begin
                                : &c->value;
    for (Py_ssize_t i = begin; i < end; i++, out += stride) {
      *out = *from;
      fnabi_any_retain(out);
      from += c->kind == COLUMN_VALUES;
    }
    return end - begin;
  }
  if (c->kind == COLUMN_ITEMS) {
    lane_arguments rest = {.read_only = c->seen.read_only};
    lane_arguments* outer = lane_converting;
    Py_ssize_t i = begin;
    lane_converting = begin == 0 ? &c->seen : &rest;
    for (; i < end && own_item(c->object, i, out) == 0; i++, out += stride)
      lane_converting = &rest;
    lane_converting = outer;
    return i - begin;
  }
  Py_ssize_t step = c->buffer.strides != NULL /* ctypes has none */
                        ? c->buffer.strides[0]
                        : c->buffer.itemsize;
  const char* at = (const char*)c->buffer.buf + begin * step;
#define FILL(type, set)                                                 \
  for (Py_ssize_t i = begin; i < end; i++, out += stride, at += step) { \
    type x;                                                             \
    memcpy(&x, at, sizeof x);                                           \
    set;                                                                \
  }                                                                     \
  break
#define INTEGER fnabi_any_set(out, FNABI_INDEX_INT, (int64_t)x)
#define REAL fnabi_any_set_float(out, (double)x)
#define CASE(format, size) ((format) * 16 + (size))
  switch (CASE(c->format, c->buffer.itemsize)) {
    case CASE('i', 1):
      FILL(int8_t, INTEGER);
    case CASE('i', 2):
      FILL(int16_t, INTEGER);
    case CASE('i', 4):
      FILL(int32_t, INTEGER);
    case CASE('i', 8):
      FILL(int64_t, INTEGER);
    case CASE('u', 1):
      FILL(uint8_t, INTEGER);
    case CASE('u', 2):
      FILL(uint16_t, INTEGER);
    case CASE('u', 4):
      FILL(uint32_t, INTEGER);
    case CASE('u', 8):
      for (Py_ssize_t i = begin; i < end; i++, out += stride, at += step) {
        uint64_t words[2] = {0, 0};
        memcpy(words, at, sizeof *words);
        if (!fnabi_int_new(words, 2, out)) {
          PyErr_NoMemory();
          return i - begin;
        }
      }
      break;
    case CASE('f', 4):
      FILL(float, REAL);
    case CASE('f', 8):
      FILL(double, REAL);
    case CASE('b', 1):
      FILL(uint8_t, fnabi_any_set(out, FNABI_INDEX_BOOL, x != 0));
  }
#undef FILL
#undef INTEGER
#undef REAL
#undef CASE
  return end - begin;
}

/* Sets the attribute `row` of the current exception. */
static void name_row(Py_ssize_t row) {
  PyObject *type, *problem, *traceback;
  PyErr_Fetch(&type, &problem, &traceback);
  PyErr_NormalizeException(&type, &problem, &traceback);
  PyObject* number = PyLong_FromSsize_t(row);
  PyObject* done = NULL;
  if (number != NULL && PyObject_SetAttrString(problem, "row", number) == 0) {
    PyObject* note = PyUnicode_FromFormat("in row %zd", row);
    if (note != NULL)
      done = PyObject_CallMethod(problem, "add_note", "O", note);
    Py_XDECREF(note);
  }
  Py_XDECREF(number);
  Py_XDECREF(done);
  PyErr_Clear();
  PyErr_Restore(type, problem, traceback);
}

/* The most rows that are called before the clock is read. */
enum { PACE_MAX = 256 };

/* To check for signals needs the GIL, so it is done about every 10
 * milliseconds, and after each row that takes longer. Returns -1 when a handler
 * has raised an exception. */
static int look_for_signals(PyThreadState** state, Py_ssize_t* pace,
                            int64_t* before) {
  int64_t now = lane_clock();
  int64_t passed = now - *before;
  if (passed < 1000000 && *pace < PACE_MAX) *pace *= 2;
  if (passed < 10000000) return 0;
  *pace = 1;
  *before = now;
  if (*state != NULL) PyEval_RestoreThread(*state);
  int status = PyErr_CheckSignals();
  if (*state != NULL) *state = PyEval_SaveThread();
  return status;
}

/* Calls once per row until one fails. Returns how many calls succeeded. */
static Py_ssize_t call_rows(lane_function* self, const fnabi_any* args,
                            Py_ssize_t width, Py_ssize_t rows,
                            fnabi_any* results) {
  uint64_t failures = lane_foreign_failures;
  fnabi_any refused = {0};
  int status = 0;
  bool good = true;
  bool interrupted = false;
  Py_ssize_t row = 0, pace = 1, look = 1;
  int64_t before = lane_clock();
  PyThreadState* state = self->release_gil ? PyEval_SaveThread() : NULL;
  for (; row < rows; row++) {
    fnabi_any* result = results + row;
    if (row == look) {
      interrupted = look_for_signals(&state, &pace, &before) < 0;
      if (interrupted) break;
      look = row + pace;
    }
    if (row > 0) {
      fnabi_error_object* left = lane_error_begin();
      if (left != NULL) fnabi_object_release(left);
    }
    status = TVMFFIFunctionCall_lane(self, args + row * width, (int32_t)width,
                                     result);
    if (status != 0) break;
    good = lane_result_settle(result, &refused);
    if (!good) break;
  }
  if (state != NULL) PyEval_RestoreThread(state);
  if (interrupted) return row; /* with the exception of the handler */
  if (status != 0) {
    lane_function_raise(self, status, args + row * width, width, failures);
    if (lane_result_settle(results + row, &refused))
      fnabi_any_release(results + row);
  } else if (!good) {
    lane_function_refuse(self, &refused);
  }
  return row;
}

typedef struct map_environment {
  lane_environment environment;
  bool entered;
} map_environment;

/* Enters the environment of all rows, as a call with the arguments of the first
 * one does. */
static int enter_map(const column* columns, Py_ssize_t width,
                     map_environment* map) {
  lane_arguments seen = {0};
  for (Py_ssize_t k = 0; k < width; k++) {
    const lane_arguments* of = &columns[k].seen;
    if (of->exchange != NULL) seen.exchange = of->exchange;
    if (of->device_exchange == NULL || seen.device_exchange != NULL) continue;
    seen.device_exchange = of->device_exchange;
    seen.device = of->device;
  }
  if (!lane_environment_is_set(&seen)) return 0;
  if (lane_environment_enter(&seen, &map->environment) < 0) return -1;
  map->entered = true;
  return 0;
}

/* A row that cannot be converted fails after the calls of the rows before it,
 * as in a loop. */
static int map_block(lane_function* self, column* columns, Py_ssize_t width,
                     Py_ssize_t begin, Py_ssize_t end, fnabi_any* args,
                     fnabi_any* results, map_environment* map) {
  Py_ssize_t good = end - begin;
  PyObject *type = NULL, *problem = NULL, *traceback = NULL;
  for (Py_ssize_t k = 0; k < width; k++) {
    columns[k].filled =
        fill_column(&columns[k], begin, begin + good, args + k, width);
    if (columns[k].filled == good) continue;
    good = columns[k].filled;
    lane_function_name_argument(self, k);
    Py_XDECREF(type);
    Py_XDECREF(problem);
    Py_XDECREF(traceback);
    PyErr_Fetch(&type, &problem, &traceback);
  }
  Py_ssize_t row = -1;
  if (begin != 0 || enter_map(columns, width, map) == 0)
    row = call_rows(self, args, width, good, results);
  for (Py_ssize_t k = 0; k < width; k++)
    for (Py_ssize_t i = 0; i < columns[k].filled; i++)
      fnabi_any_release(args + i * width + k);
  if (row < good) { /* the first of both exceptions */
    Py_XDECREF(type);
    Py_XDECREF(problem);
    Py_XDECREF(traceback);
  } else if (type != NULL) {
    PyErr_Restore(type, problem, traceback);
  } else {
    return 0;
  }
  if (row >= 0) name_row(begin + row);
  return -1;
}

static PyObject* map(lane_function* self, PyObject* const* args,
                     Py_ssize_t width) {
  Py_ssize_t rows = -1, opened = 0;
  map_environment environment = {.entered = false};
  PyObject* results = NULL;
  fnabi_any* block = NULL;
  column* columns = PyMem_Calloc((size_t)width + 1, sizeof *columns);
  if (columns == NULL) return PyErr_NoMemory();
  for (; opened < width; opened++) {
    column* c = &columns[opened];
    lane_arguments* outer = lane_converting;
    c->seen.read_only = self->allow_read_only;
    lane_converting = &c->seen;
    int status = open_column(args[opened], c);
    lane_converting = outer;
    if (status < 0) {
      lane_function_name_argument(self, opened);
      goto end;
    }
    if (c->kind == COLUMN_SCALAR) continue;
    if (rows >= 0 && c->size != rows) {
      lane_function_error(
          self, lane_error_class(LANE_VALUE_ERROR),
          "argument %zd: expected a column of %zd rows, got %zd", opened, rows,
          c->size);
      opened++;
      goto end;
    }
    rows = c->size;
  }
  if (rows < 0) {
    lane_function_error(self, lane_error_class(LANE_TYPE_ERROR),
                        "map: no argument is a column; expected at least "
                        "one");
    goto end;
  }
  Py_ssize_t most = BLOCK_VALUES / width;
  if (most > BLOCK) most = BLOCK;
  if (most < 1) most = 1;
  if (most > rows) most = rows;
  results = lane_any_array_new(rows);
  block = PyMem_Calloc((size_t)most * (size_t)width + 1, sizeof *block);
  if (results != NULL && block == NULL) PyErr_NoMemory();
  if (results == NULL || block == NULL) {
    Py_CLEAR(results);
    goto end;
  }
  fnabi_error_object* left = lane_error_begin();
  for (Py_ssize_t begin = 0; results != NULL && begin < rows; begin += most) {
    Py_ssize_t last = rows - begin < most ? rows : begin + most;
    if (PyErr_CheckSignals() < 0 ||
        map_block(self, columns, width, begin, last, block,
                  lane_any_array_data(results) + begin, &environment) < 0) {
      /* the others take no time to release */
      ((lane_any_array*)results)->size = last;
      Py_CLEAR(results);
    }
  }
  if (results != NULL) lane_any_array_keep_exchange(results);
  if (environment.entered) lane_environment_leave(&environment.environment);
  lane_error_end(left, results != NULL);
end:
  while (opened-- > 0) close_column(&columns[opened]);
  PyMem_Free(columns);
  PyMem_Free(block);
  return results;
}

PyObject* lane_function_map(PyObject* function, PyObject* const* args,
                            Py_ssize_t count, PyObject* keywords) {
  return lane_function_with(function, args, count, keywords, map);
}
