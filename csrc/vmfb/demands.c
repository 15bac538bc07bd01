/* What a module demands of the runtime that loads it, in a message: it decides
 * for every release, also for those that are measured later, without the
 * module. */
#include "vmfb/demands.h"

#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "base/vector.h"
#include "elf/executable.h"
#include "vmfb/arguments.h"
#include "vmfb/bytecode.h"

typedef struct demands {
  fnabi_writer* w;
  fnabi_bytecode* b;
  const char* data;
  size_t size;
  uint64_t work;   /* bytes of executables that may still be read */
  uint8_t* passed; /* bits of arguments.h, for each function */
} demands;

static void pack(fnabi_writer* w, fnabi_text text) {
  if (text.data == NULL)
    fnabi_pack_nil(w);
  else
    fnabi_pack_text(w, text.data, text.size);
}

/* --------------------------------------------------------------------- module */

/* The runtime asks whether `OPTIONAL` is set where it lacks a module or
 * function, and whether `REQUIRED` is before it compares versions. It always
 * has hal. */
static bool write_dependencies(demands* d) {
  const fnabi_fb_field* field = &fnabi_vmfb_table.fields[MODULE_DEPENDENCIES];
  const fnabi_fb_field* fields = field->table->fields;
  fnabi_bytecode* b = d->b;
  size_t place, count, written = 0;
  fnabi_fb_view view;
  fnabi_text name;
  if (!fnabi_fb_tables(&b->fb, &b->root, field, &place, &count)) return false;
  size_t head = fnabi_pack_open(d->w);
  for (size_t i = 0; i < count; i++) {
    if (!fnabi_fb_enter_string(&b->fb, field->table, &fields[DEPENDENCY_NAME],
                               place + 4 * i, &view, &name.data, &name.size))
      return fnabi_fb_in_element(&b->fb, field->name, i);
    int64_t version = fnabi_fb_int(&b->fb, &view, &fields[DEPENDENCY_VERSION]);
    int64_t flags = fnabi_fb_int(&b->fb, &view, &fields[DEPENDENCY_FLAGS]);
    bool compared = (flags & FLAG_REQUIRED) != 0;
    bool found = compared && FNABI_TEXT_IS(name, "hal");
    if (name.data == NULL || ((flags & FLAG_OPTIONAL) != 0 && !found)) continue;
    fnabi_pack_array(d->w, 2);
    pack(d->w, name);
    fnabi_pack_uint(d->w, compared ? (uint32_t)version : 0);
    written++;
  }
  fnabi_pack_close(d->w, head, written);
  return true;
}

static bool write_imports(demands* d) {
  const fnabi_fb_field* field = &fnabi_vmfb_table.fields[MODULE_IMPORTS];
  const fnabi_fb_field* flags = &field->table->fields[IMPORT_FLAGS];
  fnabi_bytecode* b = d->b;
  size_t written = 0, head = fnabi_pack_open(d->w);
  fnabi_fb_view view;
  for (size_t i = 0; i < b->import_count; i++) {
    if (!fnabi_fb_enter(&b->fb, field->table, b->import_place + 4 * i, &view))
      return fnabi_fb_in_element(&b->fb, field->name, i);
    const fnabi_callee* import = &b->imports[i];
    if (import->name.data == NULL) continue;
    fnabi_pack_array(d->w, 3);
    pack(d->w, import->name);
    pack(d->w, import->cconv);
    bool optional = (fnabi_fb_int(&b->fb, &view, flags) & FLAG_OPTIONAL) != 0;
    fnabi_pack_uint(d->w, !optional);
    written++;
  }
  fnabi_pack_close(d->w, head, written);
  return true;
}

static void write_types(demands* d) {
  size_t written = 0, head = fnabi_pack_open(d->w);
  for (size_t i = 0; i < d->b->type_count; i++)
    if (d->b->types[i].data != NULL) {
      pack(d->w, d->b->types[i]);
      written++;
    }
  fnabi_pack_close(d->w, head, written);
}

/* The instructions of all functions, as bits by their page and number. */
typedef struct opcodes {
  uint64_t bits[3][4];
} opcodes;
static const uint8_t prefixes[] = {0, FNABI_PAGE_F32, FNABI_PAGE_F64};

/* Notes a call of a function of the module. */
static void collect_call(const fnabi_bytecode* b, const uint8_t* operand,
                         uint8_t* passed) {
  uint32_t callee = operand[0] | (uint32_t)operand[1] << 8 |
                    (uint32_t)operand[2] << 16 | (uint32_t)operand[3] << 24;
  if (callee < b->function_count &&
      fnabi_arguments_wide(&b->functions[callee].callee))
    passed[callee] |= FNABI_PASSED_INSIDE;
}

/* Collects the instructions, and which functions the module calls with values
 * of 64 bits. *whole is whether the code of every function can be decoded to its
 * end. Fails with FNABI_WORK where functions share their bytes too often. */
static bool collect(fnabi_bytecode* b, opcodes* used, uint8_t* passed,
                    bool* whole) {
  fnabi_bytecode_sizes sizes = {{0}};
  fnabi_error ignored;
  *whole = true;
  for (size_t i = 0; i < b->function_count; i++) {
    const fnabi_bytecode_view* view = &b->functions[i].view;
    uint32_t size;
    if (!fnabi_fb_spend(&b->fb, view->size, 0)) return false;
    for (uint32_t o = 0; o < view->size; o += size) {
      size = fnabi_bytecode_measure(view, o, &sizes, &ignored);
      if (size == 0) {
        *whole &= o + 1 == view->size; /* an unused byte is none */
        break;
      }
      uint8_t number = view->code[o];
      unsigned page = number == FNABI_PAGE_F32   ? 1
                      : number == FNABI_PAGE_F64 ? 2
                                                 : 0;
      if (page != 0) number = view->code[o + 1];
      if (page == 0 &&
          (number == FNABI_OP_CALL || number == FNABI_OP_CALL_YIELDABLE))
        collect_call(b, view->code + o + 1, passed);
      used->bits[page][number >> 6] |= UINT64_C(1) << (number & 63);
    }
  }
  return true;
}

static bool write_opcodes(demands* d) {
  opcodes used = {{{0}}};
  fnabi_error ignored;
  bool whole;
  if (!fnabi_bytecode_known(d->b, &ignored)) {
    fnabi_pack_nil(d->w);
    return true;
  }
  if (!collect(d->b, &used, d->passed, &whole)) return false;
  size_t written = 0, head = fnabi_pack_open(d->w);
  if (!whole) {
    fnabi_pack_int(d->w, -1);
    written++;
  }
  for (unsigned page = 0; page < 3; page++)
    for (unsigned number = 0; number < 256; number++)
      if ((used.bits[page][number >> 6] >> (number & 63) & 1) != 0) {
        fnabi_pack_uint(d->w, (unsigned)prefixes[page] << 8 | number);
        written++;
      }
  fnabi_pack_close(d->w, head, written);
  return true;
}

enum { NAME_SIZE = 32 };
/* The functions that get wrong values from some runtimes. */
static bool write_calls(demands* d) {
  fnabi_bytecode* b = d->b;
  fnabi_error ignored;
  char number[NAME_SIZE];
  if (fnabi_bytecode_known(b, &ignored) &&
      !fnabi_arguments_exported(b, d->passed))
    return false;
  size_t written = 0, head = fnabi_pack_open(d->w);
  for (size_t i = 0; i < b->function_count; i++) {
    if (d->passed[i] == 0) continue;
    fnabi_text name = b->functions[i].callee.name;
    if (name.data == NULL) {
      int size = snprintf(number, sizeof number, "function[%zu]", i);
      name = (fnabi_text){number, (size_t)size};
    }
    fnabi_pack_array(d->w, 3);
    pack(d->w, name);
    pack(d->w, b->functions[i].callee.cconv);
    fnabi_pack_uint(d->w, d->passed[i]);
    written++;
  }
  fnabi_pack_close(d->w, head, written);
  return true;
}

/* The text of the first finding that is an error in a message of
 * fnabi_bytecode_check; no data without one. */
static fnabi_text first_error(const fnabi_vector* message, size_t size) {
  fnabi_reader r = {message->data, size, 0};
  for (size_t count = fnabi_read_array(&r); count > 0; count--) {
    size_t members = fnabi_read_array(&r);
    fnabi_read_past(&r, 3); /* the code, the offset and the path */
    fnabi_text text = fnabi_read_text(&r), severity = fnabi_read_text(&r);
    if (FNABI_TEXT_IS(severity, "error")) return text;
    fnabi_read_past(&r, members - 5);
  }
  return (fnabi_text){NULL, 0};
}

static bool write_check(demands* d) {
  fnabi_vector message = {NULL, 0, 0};
  int64_t needed;
  while ((needed = fnabi_bytecode_check(d->data, d->size, message.data,
                                        message.capacity, d->b->error)) >
         (int64_t)message.capacity)
    if (!fnabi_vector_reserve(&message, (size_t)needed)) {
      fnabi_fail(d->b->error, FNABI_MEMORY, 0, NULL);
      needed = -1;
      break;
    }
  if (needed >= 0) pack(d->w, first_error(&message, (size_t)needed));
  free(message.data);
  return needed >= 0;
}

/* Whether read-only data is outside the file. */
static bool is_cut(const demands* d) {
  for (size_t i = 0; i < d->b->rodata_count; i++)
    if (d->b->rodata[i].data == NULL) return true;
  return false;
}

/* Finds a table of a vector of the module without a name, an import without
 * that of a module, or an export of a function that there is not. *code stays
 * as it is where there is none. */
static bool check_tables(demands* d, const fnabi_fb_field* field,
                         int32_t* code) {
  const fnabi_fb_field* fields = field->table->fields;
  bool exports = field == &fnabi_vmfb_table.fields[MODULE_EXPORTS];
  bool imports = field == &fnabi_vmfb_table.fields[MODULE_IMPORTS];
  fnabi_bytecode* b = d->b;
  size_t place, count;
  fnabi_fb_view view;
  fnabi_text name;
  if (!fnabi_fb_tables(&b->fb, &b->root, field, &place, &count)) return false;
  for (size_t i = 0; i < count && *code == FNABI_OK; i++) {
    if (!fnabi_fb_enter_string(&b->fb, field->table, &fields[0], place + 4 * i,
                               &view, &name.data, &name.size))
      return fnabi_fb_in_element(&b->fb, field->name, i);
    if (name.size == 0)
      *code = FNABI_MODULE_NAME;
    else if (imports && memchr(name.data, '.', name.size) == NULL)
      *code = FNABI_MODULE_IMPORT;
    else if (exports &&
             (uint64_t)fnabi_fb_int(&b->fb, &view, &fields[EXPORT_ORDINAL]) >=
                 b->function_count)
      *code = FNABI_MODULE_ORDINAL;
  }
  return true;
}

/* Finds what every release refuses of the tables of a module. */
static bool check_module(demands* d, int32_t* code) {
  static const unsigned char vectors[] = {MODULE_TYPES, MODULE_DEPENDENCIES,
                                          MODULE_IMPORTS, MODULE_EXPORTS};
  const fnabi_fb_field* fields = fnabi_vmfb_table.fields;
  fnabi_bytecode* b = d->b;
  size_t place, signatures, functions;
  fnabi_text name;
  if (!fnabi_fb_string(&b->fb, &b->root, &fields[MODULE_NAME], &name.data,
                       &name.size))
    return false;
  if (!fnabi_fb_tables(&b->fb, &b->root, &fields[MODULE_SIGNATURES], &place,
                       &signatures) ||
      !fnabi_fb_flat(&b->fb, &b->root, &fields[MODULE_FUNCTIONS], &place,
                     &functions))
    return false;
  if (name.size == 0)
    *code = FNABI_MODULE_NAME;
  else if (signatures != functions)
    *code = FNABI_MODULE_COUNT;
  else if ((int64_t)b->value_bytes < 0 || (int64_t)b->ref_count < 0)
    *code = FNABI_MODULE_NEGATIVE;
  for (size_t i = 0; i < sizeof vectors && *code == FNABI_OK; i++)
    if (!check_tables(d, &fields[vectors[i]], code)) return false;
  return true;
}

/* What every release finds when it loads a module: a structure that only a
 * lenient reader accepts, data that the file lacks, tables without names or
 * functions, and code that it cannot run. */
static bool write_fault(demands* d) {
  fnabi_error found;
  size_t findings = 0;
  if (fnabi_vmfb_verify(d->data, d->size, false, &found) < 0) {
    if (found.code == FNABI_WORK) {
      *d->b->error = found;
      return false;
    }
    fnabi_pack_ascii(d->w, fnabi_code_text(found.code));
    return true;
  }
  if (is_cut(d)) {
    fnabi_pack_ascii(d->w, fnabi_code_text(FNABI_MODULE_RANGE));
    return true;
  }
  int32_t code = FNABI_OK;
  if (!check_module(d, &code)) return false;
  if (code != FNABI_OK) {
    fnabi_pack_ascii(d->w, fnabi_code_text(code));
    return true;
  }
  fnabi_writer counted = {NULL, 0, 0};
  if (fnabi_bytecode_known(d->b, &found) &&
      !fnabi_bytecode_check_functions(d->b, &counted, &findings, NULL))
    return false;
  if (findings != 0) return write_check(d);
  fnabi_pack_nil(d->w);
  return true;
}

static bool write_parts(demands* d) {
  fnabi_pack_array(d->w, FNABI_DEMANDS);
  fnabi_pack_uint(d->w, d->b->major);
  fnabi_pack_uint(d->w, d->b->minor);
  fnabi_pack_uint(d->w, d->b->requirements);
  if (!write_dependencies(d) || !write_imports(d)) return false;
  write_types(d);
  return write_opcodes(d) && write_fault(d) && write_calls(d);
}

/* All but the executables, in which a module inside is not followed. */
static bool write_module(demands* d) {
  d->passed = (uint8_t*)calloc(d->b->function_count + 1, 1);
  if (d->passed == NULL) {
    fnabi_fail(d->b->error, FNABI_MEMORY, 0, NULL);
    return false;
  }
  bool good = write_parts(d);
  free(d->passed);
  return good;
}

/* ---------------------------------------------------------------- executables */

static bool write_inner(demands* d, const fnabi_rodata* data,
                        fnabi_error* error) {
  fnabi_bytecode b;
  fnabi_error ignored = {0};
  size_t size = d->w->size;
  demands inner = {d->w, &b,  (const char*)data->data, (size_t)data->size,
                   0,    NULL};
  bool good = fnabi_bytecode_open(&b, inner.data, inner.size, &ignored) &&
              write_module(&inner);
  if (good) {
    fnabi_pack_array(d->w, 0);
  } else {
    d->w->size = size;
    fnabi_pack_uint(d->w, 0);
  }
  fnabi_bytecode_close(&b);
  if (ignored.code != FNABI_MEMORY && ignored.code != FNABI_INTERRUPTED)
    return true;
  *error = ignored;
  return false;
}

static bool starts(fnabi_text text, const char* with) {
  size_t size = strlen(with);
  return text.size >= size && memcmp(text.data, with, size) == 0;
}

static bool write_content(demands* d, fnabi_text format, int64_t segment,
                          fnabi_error* error) {
  const fnabi_rodata* data =
      segment < 0 || (uint64_t)segment >= d->b->rodata_count
          ? NULL
          : &d->b->rodata[segment];
  bool is_elf = format.data != NULL && starts(format, "embedded-elf-");
  bool is_module =
      format.data != NULL && FNABI_TEXT_IS(format, "vmvx-bytecode-fb");
  if (data == NULL || data->data == NULL || (!is_elf && !is_module)) {
    fnabi_pack_nil(d->w);
    return true;
  }
  if (data->size + 64 > d->work) {
    fnabi_fail(error, FNABI_WORK, 0, NULL);
    return false;
  }
  d->work -= data->size + 64;
  if (is_module) return write_inner(d, data, error);
  fnabi_executable found;
  if (!fnabi_elf_executable(data->data, (size_t)data->size, &found)) {
    fnabi_pack_uint(d->w, 0);
    return true;
  }
  fnabi_pack_array(d->w, 2);
  fnabi_pack_uint(d->w, found.machine);
  fnabi_pack_int(d->w, found.version);
  return true;
}

/* Whether it is known what devices answer to a query. */
static bool is_usual(fnabi_text category, fnabi_text key) {
  static const char* const devices[] = {"local", "vulkan", "cuda",   "hip",
                                        "rocm",  "metal",  "webgpu", "amdgpu"};
  if (category.data == NULL || FNABI_TEXT_IS(category, "hal_loader") ||
      FNABI_TEXT_IS(category, "hal.executable.format"))
    return true;
  if (!FNABI_TEXT_IS(category, "hal.device.id")) return false;
  if (key.data == NULL) return true;
  const char* end = (const char*)memchr(key.data, '*', key.size);
  if (end == NULL) end = (const char*)memchr(key.data, '-', key.size);
  if (end != NULL) key.size = (size_t)(end - key.data);
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
    if (strlen(devices[i]) == key.size && starts(key, devices[i])) return true;
  return false;
}

/* Reads the queries in the message of fnabi_vmfb_needs; whether all are usual. */
static bool read_queries(fnabi_reader* r) {
  bool usual = true;
  for (size_t count = fnabi_read_array(r); count > 0; count--) {
    fnabi_read_array(r);
    fnabi_read_past(r, 2); /* the function and the offset */
    fnabi_text category = fnabi_read_text(r), key = fnabi_read_text(r);
    usual = usual && is_usual(category, key);
  }
  return usual;
}

/* Reads the executables in the message of fnabi_vmfb_needs. The format of those
 * that are loaded by the answer to an unusual query is open. */
static bool write_each(demands* d, fnabi_reader* r, fnabi_error* error) {
  fnabi_read_array(r);
  bool usual = read_queries(r);
  size_t count = fnabi_read_array(r);
  fnabi_pack_count(d->w, count);
  for (; count > 0; count--) {
    fnabi_read_array(r);
    fnabi_read_past(r, 2); /* the function and the offset */
    fnabi_text format = fnabi_read_text(r);
    int64_t segment = fnabi_unpack_nil(r) ? -1 : fnabi_read_int(r);
    if (!usual) format = (fnabi_text){NULL, 0};
    fnabi_pack_array(d->w, 2);
    pack(d->w, format);
    if (!write_content(d, format, segment, error)) return false;
  }
  return true;
}

enum { FIRST_CAPACITY = 1 << 13 }; /* a second run would take as long again */

static bool write_executables(demands* d, fnabi_error* error) {
  fnabi_error ignored;
  if (!fnabi_bytecode_known(d->b, &ignored)) {
    fnabi_pack_array(d->w, 0);
    return true;
  }
  fnabi_vector message = {NULL, 0, 0};
  int64_t needed = FIRST_CAPACITY;
  do {
    if (!fnabi_vector_reserve(&message, (size_t)needed)) {
      fnabi_fail(error, FNABI_MEMORY, 0, NULL);
      needed = -1;
      break;
    }
    needed = fnabi_vmfb_needs(d->data, d->size, message.data, message.capacity,
                              error);
  } while (needed > (int64_t)message.capacity);
  fnabi_reader r = {message.data, needed < 0 ? 0 : (size_t)needed, 0};
  bool done = needed >= 0 && write_each(d, &r, error);
  free(message.data);
  return done;
}

int64_t fnabi_vmfb_demands(const char* data, size_t size, uint8_t* out,
                           size_t capacity, fnabi_error* error) {
  fnabi_writer w = {out, capacity, 0};
  fnabi_bytecode b;
  demands d = {&w, &b, data, size, 64 * (uint64_t)size, NULL};
  bool good = fnabi_bytecode_open(&b, data, size, error) && write_module(&d) &&
              write_executables(&d, error);
  fnabi_bytecode_close(&b);
  return good ? (int64_t)w.size : -1;
}
