/* Which releases of IREE's runtime load a module: what it asks for, held
 * against what each release answered when it was measured. Sets of releases are
 * bits, so that one pass decides for all of them. */
#include "base/error.h"
#include "base/text.h"
#include "base/vector.h"
#include "elf/executable.h"
#include "vmfb/bytecode.h"
#include "vmfb/releases.h"

typedef fnabi_release_set set;

#define MEASURED "x86_64" /* the machine of the measurements */

/* What the verdict is for; a text without data is any. */
typedef struct device {
  fnabi_text driver, machine;
} device;

typedef struct verdict {
  fnabi_writer* w;
  size_t causes;
  set all, refused, unknown;
  fnabi_vector hosts; /* names, each with a NUL */
  size_t host_count;
  uint64_t work; /* bytes of executables that may still be read */
  device on;
} verdict;

/* -------------------------------------------------------------------- causes */

static fnabi_text text_of(const char* ascii) {
  return (fnabi_text){ascii, ascii == NULL ? 0 : strlen(ascii)};
}

static void pack(fnabi_writer* w, fnabi_text text) {
  if (text.data == NULL)
    fnabi_pack_nil(w);
  else
    fnabi_pack_text(w, text.data, text.size);
}

/* What the releases have instead. */
typedef struct others {
  size_t place, count;
} others;

/* Begins a cause; after it comes what these releases have, and end(). */
static others begin(verdict* v, const char* kind, fnabi_text subject,
                    fnabi_text wanted, set releases, bool refuses) {
  fnabi_pack_array(v->w, 6);
  fnabi_pack_ascii(v->w, kind);
  pack(v->w, subject);
  pack(v->w, wanted);
  fnabi_pack_bool(v->w, refuses);
  fnabi_pack_uint(v->w, releases);
  v->causes++;
  if (refuses)
    v->refused |= releases;
  else
    v->unknown |= releases;
  return (others){fnabi_pack_open(v->w), 0};
}

static void has(verdict* v, others* o, fnabi_text value, set releases) {
  if (releases == 0) return;
  fnabi_pack_array(v->w, 2);
  pack(v->w, value);
  fnabi_pack_uint(v->w, releases);
  o->count++;
}

static void end(verdict* v, others o) {
  fnabi_pack_close(v->w, o.place, o.count);
}

static void cause(verdict* v, const char* kind, fnabi_text subject,
                  fnabi_text wanted, set releases, bool refuses) {
  if (releases != 0) end(v, begin(v, kind, subject, wanted, releases, refuses));
}

enum { DIGITS = 24 };
/* A number, or two with a dot between, as text. */
static fnabi_text digits(char out[DIGITS], uint32_t number) {
  size_t at = DIGITS;
  do out[--at] = (char)('0' + number % 10);
  while ((number /= 10) != 0);
  return (fnabi_text){out + at, DIGITS - at};
}
static fnabi_text version_text(char out[DIGITS], uint16_t major,
                               uint16_t minor) {
  char second[DIGITS];
  fnabi_text left = digits(out, major), right = digits(second, minor);
  memmove(out, left.data, left.size);
  out[left.size] = '.';
  memcpy(out + left.size + 1, right.data, right.size);
  return (fnabi_text){out, left.size + 1 + right.size};
}

/* --------------------------------------------------------------------- tables */

/* The order of a text, which may contain NULs, and a name. */
static int compare(fnabi_text a, const char* name) {
  size_t size = strlen(name), common = a.size < size ? a.size : size;
  int order = common == 0 ? 0 : memcmp(a.data, name, common);
  return order != 0 ? order : (a.size > size) - (a.size < size);
}

/* Finds the rows of a name; returns their number. */
static size_t find(const fnabi_release_rows* table, fnabi_text name,
                   const fnabi_release_row** rows) {
  size_t first = 0, last = table->count, count = 0;
  while (first < last) {
    size_t middle = first + (last - first) / 2;
    if (compare(name, table->rows[middle].name) > 0)
      first = middle + 1;
    else
      last = middle;
  }
  while (first + count < table->count &&
         compare(name, table->rows[first + count].name) == 0)
    count++;
  *rows = table->rows + first;
  return count;
}

static fnabi_text before_dot(fnabi_text name) {
  const char* dot =
      name.size == 0 ? NULL : (const char*)memchr(name.data, '.', name.size);
  return dot == NULL ? name
                     : (fnabi_text){name.data, (size_t)(dot - name.data)};
}

/* Whether the runtime itself has a module of this name. */
static bool is_known(fnabi_text module) {
  const fnabi_release_row* rows;
  return find(&fnabi_release_modules, module, &rows) != 0;
}

enum { HOSTS = 64 };
/* Adds a module that the host has to register; after many, no more. */
static bool add_host(verdict* v, fnabi_text name) {
  const char* all = (const char*)v->hosts.data;
  if (name.size == 0 || memchr(name.data, 0, name.size) != NULL ||
      v->host_count == HOSTS)
    return true;
  for (size_t at = 0; at < v->hosts.size; at += strlen(all + at) + 1)
    if (compare(name, all + at) == 0) return true;
  v->host_count++;
  return fnabi_vector_append(&v->hosts, name.data, name.size) &&
         fnabi_vector_append(&v->hosts, "", 1);
}

static bool has_host(const verdict* v, fnabi_text name) {
  const char* all = (const char*)v->hosts.data;
  for (size_t at = 0; at < v->hosts.size; at += strlen(all + at) + 1)
    if (compare(name, all + at) == 0) return true;
  return false;
}

/* --------------------------------------------------------------------- module */

static void judge_version(verdict* v, const fnabi_bytecode* b) {
  char wanted[DIGITS], other[DIGITS];
  set good = 0;
  for (size_t i = 0; i < fnabi_release_count; i++)
    if (fnabi_releases[i].major == b->major &&
        fnabi_releases[i].minor >= b->minor)
      good |= (set)1 << i;
  if ((v->all & ~good) == 0) return;
  others o =
      begin(v, "bytecode", text_of(NULL),
            version_text(wanted, b->major, b->minor), v->all & ~good, true);
  for (size_t i = 0; i < fnabi_release_count; i++)
    if ((good >> i & 1) == 0)
      has(v, &o,
          version_text(other, fnabi_releases[i].major, fnabi_releases[i].minor),
          (set)1 << i);
  end(v, o);
}

static void judge_features(verdict* v, const fnabi_bytecode* b) {
  char wanted[DIGITS];
  for (unsigned bit = 0; bit < 32; bit++) {
    if ((b->requirements >> bit & 1) == 0) continue;
    set bad = 0;
    for (size_t i = 0; i < fnabi_release_count; i++)
      if ((fnabi_releases[i].features >> bit & 1) == 0) bad |= (set)1 << i;
    cause(v, "feature", digits(wanted, bit), text_of(NULL), bad, true);
  }
}

static bool judge_dependency(verdict* v, fnabi_text name, uint32_t version) {
  char wanted[DIGITS], other[DIGITS];
  const fnabi_release_row* rows;
  size_t count = find(&fnabi_release_modules, name, &rows);
  if (count == 0 || !FNABI_TEXT_IS(name, "hal"))
    if (!add_host(v, name)) return false;
  set good = 0, known = 0;
  for (size_t i = 0; i < count; i++) {
    known |= rows[i].releases;
    if (rows[i].number >= version) good |= rows[i].releases;
  }
  if (count == 0 || (v->all & ~good) == 0) return true;
  others o =
      begin(v, "module", name, digits(wanted, version), v->all & ~good, true);
  for (size_t i = 0; i < count; i++)
    if (rows[i].number < version)
      has(v, &o, digits(other, rows[i].number), rows[i].releases);
  has(v, &o, text_of(NULL), v->all & ~known);
  end(v, o);
  return true;
}

static bool judge_dependencies(verdict* v, fnabi_bytecode* b) {
  const fnabi_fb_field* field = &fnabi_vmfb_table.fields[MODULE_DEPENDENCIES];
  const fnabi_fb_field* fields = field->table->fields;
  size_t place, count;
  fnabi_fb_view view;
  fnabi_text name;
  if (!fnabi_fb_tables(&b->fb, &b->root, field, &place, &count)) return false;
  for (size_t i = 0; i < count; i++) {
    if (!fnabi_fb_enter(&b->fb, field->table, place + 4 * i, &view) ||
        !fnabi_fb_string(&b->fb, &view, &fields[DEPENDENCY_NAME], &name.data,
                         &name.size))
      return fnabi_fb_in_element(&b->fb, field->name, i);
    int64_t version = fnabi_fb_int(&b->fb, &view, &fields[DEPENDENCY_VERSION]);
    int64_t flags = fnabi_fb_int(&b->fb, &view, &fields[DEPENDENCY_FLAGS]);
    if (name.data == NULL || (flags & 1) == 0) continue; /* an optional one */
    if (!judge_dependency(v, name, (uint32_t)version)) {
      fnabi_fail(b->error, FNABI_MEMORY, 0, NULL);
      return false;
    }
  }
  return true;
}

/* An import that a release does not have, or that has another calling
 * convention there. */
static void judge_import(verdict* v, const fnabi_callee* import,
                         bool required) {
  const fnabi_release_row* rows;
  size_t count = find(&fnabi_release_functions, import->name, &rows);
  bool checked = import->cconv.size != 0;
  set known = 0, good = 0;
  for (size_t i = 0; i < count; i++) {
    known |= rows[i].releases;
    if (!checked || compare(import->cconv, rows[i].value) == 0)
      good |= rows[i].releases;
  }
  if (!required) good |= v->all & ~known;
  if ((v->all & ~good) == 0) return;
  others o =
      begin(v, "import", import->name, import->cconv, v->all & ~good, true);
  for (size_t i = 0; i < count; i++)
    has(v, &o, text_of(rows[i].value), rows[i].releases & ~good);
  has(v, &o, text_of(NULL), v->all & ~known & ~good);
  end(v, o);
}

static bool judge_imports(verdict* v, fnabi_bytecode* b) {
  const fnabi_fb_field* field = &fnabi_vmfb_table.fields[MODULE_IMPORTS];
  const fnabi_fb_field* flags = &field->table->fields[IMPORT_FLAGS];
  fnabi_fb_view view;
  for (size_t i = 0; i < b->import_count; i++) {
    if (!fnabi_fb_enter(&b->fb, field->table, b->import_place + 4 * i, &view))
      return fnabi_fb_in_element(&b->fb, field->name, i);
    const fnabi_callee* import = &b->imports[i];
    bool required = (fnabi_fb_int(&b->fb, &view, flags) & 1) != 0;
    fnabi_text module = before_dot(import->name);
    if (module.data == NULL) continue;
    if (is_known(module)) judge_import(v, import, required);
    if (required && !FNABI_TEXT_IS(module, "hal") && !add_host(v, module)) {
      fnabi_fail(b->error, FNABI_MEMORY, 0, NULL);
      return false;
    }
  }
  return true;
}

/* A type of a module that the host brings may be registered by that. */
static void judge_types(verdict* v, const fnabi_bytecode* b) {
  static const char list[] = "!vm.list"; /* all that follows is accepted */
  for (size_t i = 0; i < b->type_count; i++) {
    const fnabi_release_row* rows;
    fnabi_text name = b->types[i];
    if (name.data == NULL || (name.size >= sizeof list - 1 &&
                              memcmp(name.data, list, sizeof list - 1) == 0))
      continue;
    size_t count = find(&fnabi_release_types, name, &rows);
    set good = 0;
    for (size_t k = 0; k < count; k++) good |= rows[k].releases;
    fnabi_text module = before_dot(name);
    if (module.size > 1 && *module.data == '!') {
      module.data++;
      module.size--;
    }
    if (count == 0 && !is_known(module) && has_host(v, module)) continue;
    cause(v, "type", name, text_of(NULL), v->all & ~good, true);
  }
}

/* The instructions of all functions, as bits by their page and number. */
typedef struct opcodes {
  uint64_t bits[3][4];
} opcodes;
static const uint8_t prefixes[] = {0, FNABI_PAGE_F32, FNABI_PAGE_F64};

/* Returns false if the code of a function cannot be decoded to its end. */
static bool collect(const fnabi_bytecode* b, opcodes* used) {
  fnabi_bytecode_sizes sizes = {{0}};
  fnabi_error ignored;
  bool whole = true;
  for (size_t i = 0; i < b->function_count; i++) {
    const fnabi_bytecode_view* view = &b->functions[i].view;
    uint32_t size;
    for (uint32_t o = 0; o < view->size; o += size) {
      size = fnabi_bytecode_measure(view, o, &sizes, &ignored);
      if (size == 0) {
        whole = false;
        break;
      }
      uint8_t number = view->code[o];
      unsigned page = number == FNABI_PAGE_F32   ? 1
                      : number == FNABI_PAGE_F64 ? 2
                                                 : 0;
      if (page != 0) number = view->code[o + 1];
      used->bits[page][number >> 6] |= UINT64_C(1) << (number & 63);
    }
  }
  return whole;
}

static void judge_opcodes(verdict* v, const fnabi_bytecode* b) {
  opcodes used = {{{0}}};
  fnabi_error ignored;
  if (!fnabi_bytecode_known(b, &ignored)) return;
  if (!collect(b, &used))
    cause(v, "opcode", text_of(NULL), text_of(NULL), v->all, false);
  for (unsigned page = 0; page < 3; page++)
    for (unsigned number = 0; number < 256; number++) {
      if ((used.bits[page][number >> 6] >> (number & 63) & 1) == 0) continue;
      set good = 0;
      for (size_t i = 0; i < fnabi_release_opcode_count; i++) {
        const fnabi_release_opcodes_row* row = &fnabi_release_opcodes[i];
        if (row->prefix == prefixes[page] && row->first <= number &&
            number <= row->last)
          good |= row->releases;
      }
      const fnabi_bytecode_op* op =
          fnabi_bytecode_find((unsigned)prefixes[page] << 8 | number);
      cause(v, "opcode", text_of(op == NULL ? NULL : op->name), text_of(NULL),
            v->all & ~good, true);
    }
}

/* The text of the first finding that is an error in a message of
 * fnabi_bytecode_check; no data without one. */
static fnabi_text first_error(const fnabi_vector* message, size_t size) {
  fnabi_reader r = {message->data, size, 0};
  size_t count, members;
  int64_t number;
  fnabi_text code, path, text, severity, none = {NULL, 0};
  if (!fnabi_unpack_array(&r, &count)) return none;
  for (; count > 0; count--) {
    if (!fnabi_unpack_array(&r, &members) || members < 5 ||
        !fnabi_unpack_text(&r, &code.data, &code.size) ||
        !fnabi_unpack_int(&r, &number) ||
        !fnabi_unpack_text(&r, &path.data, &path.size) ||
        !fnabi_unpack_text(&r, &text.data, &text.size) ||
        !fnabi_unpack_text(&r, &severity.data, &severity.size))
      return none;
    if (FNABI_TEXT_IS(severity, "error")) return text;
    for (size_t i = 5; i < members; i++)
      if (!fnabi_unpack_skip(&r)) return none;
  }
  return none;
}

/* What every release finds when it loads a module: a structure that only a
 * lenient reader accepts, and code that it cannot run. */
static bool judge_faults(verdict* v, const char* data, size_t size,
                         fnabi_bytecode* b) {
  fnabi_error found;
  size_t findings;
  if (fnabi_vmfb_verify(data, size, false, &found) < 0) {
    if (found.code == FNABI_MEMORY || found.code == FNABI_WORK) {
      *b->error = found;
      return false;
    }
    cause(v, "fault", text_of(fnabi_code_text(found.code)), text_of(NULL),
          v->all, true);
    return true;
  }
  if (!fnabi_bytecode_known(b, &found)) return true;
  fnabi_writer counted = {NULL, 0, 0};
  if (!fnabi_bytecode_check_functions(b, &counted, &findings, NULL))
    return false;
  if (findings == 0) return true;
  fnabi_vector message = {NULL, 0, 0};
  int64_t needed;
  while ((needed = fnabi_bytecode_check(data, size, message.data,
                                        message.capacity, b->error)) >
         (int64_t)message.capacity)
    if (!fnabi_vector_reserve(&message, (size_t)needed)) {
      fnabi_fail(b->error, FNABI_MEMORY, 0, NULL);
      needed = -1;
      break;
    }
  if (needed >= 0) {
    fnabi_text text = first_error(&message, (size_t)needed);
    cause(v, "fault", text, text_of(NULL), text.data == NULL ? 0 : v->all,
          true);
  }
  free(message.data);
  return needed >= 0;
}

static bool judge(verdict* v, const char* data, size_t size,
                  fnabi_bytecode* b) {
  judge_version(v, b);
  judge_features(v, b);
  if (!judge_dependencies(v, b) || !judge_imports(v, b)) return false;
  judge_types(v, b);
  judge_opcodes(v, b);
  return judge_faults(v, data, size, b);
}

/* ---------------------------------------------------------------- executables */

/* A format of executables, and the releases whose device takes it rather than
 * those before it. */
typedef struct format {
  fnabi_text name;
  set supported;
  bool unknown; /* whether a device that was not measured may support it */
} format;
enum { FORMATS = 16 };

static bool starts(fnabi_text text, const char* with) {
  size_t size = strlen(with);
  return text.size >= size && memcmp(text.data, with, size) == 0;
}

/* The machine in the name of a format, "x86_64" in "embedded-elf-x86_64". */
static fnabi_text machine_of(fnabi_text name) {
  if (!starts(name, "embedded-elf-") && !starts(name, "system-"))
    return (fnabi_text){NULL, 0};
  size_t at = name.size;
  while (at > 0 && name.data[at - 1] != '-') at--;
  return (fnabi_text){name.data + at, name.size - at};
}

/* Formats of devices that were not measured begin with the name of one. */
static bool is_foreign(fnabi_text name) {
  static const char* const devices[] = {"vulkan-", "cuda-",  "rocm-", "hip-",
                                        "metal-",  "webgpu", "amd"};
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
    if (starts(name, devices[i])) return true;
  return false;
}

static void find_support(const verdict* v, format* f) {
  if (f->name.data == NULL) { /* one that the code computes */
    f->unknown = true;
    return;
  }
  fnabi_text machine = machine_of(f->name);
  bool driver_known = v->on.driver.data == NULL;
  for (size_t i = 0; i < fnabi_release_formats.count; i++) {
    const fnabi_release_row* row = &fnabi_release_formats.rows[i];
    if (v->on.driver.data != NULL && compare(v->on.driver, row->name) != 0)
      continue;
    driver_known = true;
    if (compare(f->name, row->value) == 0) f->supported |= row->releases;
  }
  bool elsewhere = machine.data != NULL && !FNABI_TEXT_IS(machine, MEASURED);
  if (v->on.machine.data == NULL)
    f->unknown = elsewhere;
  else if (machine.data != NULL)
    f->unknown = elsewhere && fnabi_text_equal(machine, v->on.machine);
  if (machine.data != NULL && v->on.machine.data != NULL &&
      !fnabi_text_equal(machine, v->on.machine))
    f->supported = 0;
  f->unknown = f->unknown || !driver_known ||
               (v->on.driver.data == NULL && is_foreign(f->name));
}

/* An ELF file: its machine, and the version of the library in it. */
static void judge_elf(verdict* v, const format* f, const fnabi_rodata* data) {
  char wanted[DIGITS], other[DIGITS];
  fnabi_executable found;
  uint16_t machine = FNABI_TEXT_IS(machine_of(f->name), MEASURED) ? 62 : 0;
  if (!fnabi_elf_executable(data->data, (size_t)data->size, &found) ||
      (machine != 0 && found.machine != machine)) {
    cause(v, "executable", f->name, text_of(NULL), f->supported, true);
    return;
  }
  if (found.version < 0) {
    cause(v, "library", f->name, text_of(NULL), f->supported, false);
    return;
  }
  set bad = 0;
  for (size_t i = 0; i < fnabi_release_count; i++)
    if (fnabi_releases[i].library != found.version) bad |= (set)1 << i;
  bad &= f->supported;
  if (bad == 0) return;
  others o = begin(v, "library", f->name,
                   digits(wanted, (uint32_t)found.version), bad, true);
  for (size_t i = 0; i < fnabi_release_count; i++)
    if ((bad >> i & 1) != 0)
      has(v, &o, digits(other, (uint32_t)fnabi_releases[i].library),
          (set)1 << i);
  end(v, o);
}

/* A module inside: it is judged as every module is, beside the runtime's own. */
static bool judge_inner(verdict* v, const format* f, const fnabi_rodata* data,
                        fnabi_error* error) {
  fnabi_bytecode b;
  fnabi_error ignored = {0};
  verdict inner = {.w = v->w, .all = f->supported, .on = v->on};
  if (fnabi_bytecode_open(&b, (const char*)data->data, (size_t)data->size,
                          &ignored) &&
      judge(&inner, (const char*)data->data, (size_t)data->size, &b)) {
    v->causes += inner.causes;
    v->refused |= inner.refused;
    v->unknown |= inner.unknown;
  } else {
    cause(v, "executable", f->name, text_of(NULL), f->supported, true);
  }
  fnabi_bytecode_close(&b);
  free(inner.hosts.data);
  if (ignored.code != FNABI_MEMORY) return true;
  *error = ignored;
  return false;
}

static bool judge_executable(verdict* v, const format* f,
                             const fnabi_bytecode* b, int64_t segment,
                             fnabi_error* error) {
  const fnabi_rodata* data = segment < 0 || (uint64_t)segment >= b->rodata_count
                                 ? NULL
                                 : &b->rodata[segment];
  if (f->supported == 0) return true;
  if (data != NULL && data->data != NULL) {
    if (data->size + 64 > v->work) {
      fnabi_fail(error, FNABI_WORK, 0, NULL);
      return false;
    }
    v->work -= data->size + 64;
  }
  if (data != NULL && data->data != NULL &&
      FNABI_TEXT_IS(f->name, "vmvx-bytecode-fb"))
    return judge_inner(v, f, data, error);
  if (data != NULL && data->data != NULL && starts(f->name, "embedded-elf-"))
    judge_elf(v, f, data);
  else /* data that is not at hand, or that the system loads */
    cause(v, "library", f->name, text_of(NULL), f->supported, false);
  return true;
}

static bool take_text(fnabi_reader* r, fnabi_text* text) {
  *text = (fnabi_text){NULL, 0};
  return fnabi_unpack_nil(r) || fnabi_unpack_text(r, &text->data, &text->size);
}

/* Reads the executables in the message of fnabi_vmfb_needs. A device takes the
 * first format that it supports. Causes that repeat those of an earlier
 * executable are left out. */
static bool judge_executables(verdict* v, const fnabi_bytecode* b,
                              fnabi_reader* r, fnabi_error* error) {
  size_t lists, count, members, formats = 0;
  int64_t number;
  format known[FORMATS];
  set supported = 0;
  bool possible = false;
  if (!fnabi_unpack_array(r, &lists) || !fnabi_unpack_skip(r) ||
      !fnabi_unpack_array(r, &count))
    return false;
  for (; count > 0; count--) {
    fnabi_text name;
    int64_t segment = -1;
    if (!fnabi_unpack_array(r, &members) || !fnabi_unpack_int(r, &number) ||
        !fnabi_unpack_int(r, &number) || !take_text(r, &name) ||
        (!fnabi_unpack_nil(r) && !fnabi_unpack_int(r, &segment)))
      return false;
    size_t i = 0;
    while (i < formats && !fnabi_text_equal(known[i].name, name)) i++;
    if (i == FORMATS) continue;
    if (i == formats) {
      known[formats] = (format){.name = name};
      find_support(v, &known[formats]);
      known[formats].supported &= ~supported;
      supported |= known[formats].supported;
      possible |= known[formats++].unknown;
    }
    set refused = v->refused, unknown = v->unknown;
    size_t causes = v->causes, size = v->w->size;
    if (!judge_executable(v, &known[i], b, segment, error)) return false;
    if (v->refused == refused && v->unknown == unknown) {
      v->causes = causes;
      v->w->size = size;
    }
  }
  for (size_t i = 0; i < formats; i++)
    cause(v, "format", known[i].name, text_of(NULL), v->all & ~supported,
          !possible);
  return true;
}

/* --------------------------------------------------------------------- verdict */

static bool judge_device(verdict* v, const char* data, size_t size,
                         const fnabi_bytecode* b, fnabi_error* error) {
  fnabi_vector message = {NULL, 0, 0};
  int64_t needed;
  while ((needed = fnabi_vmfb_needs(data, size, message.data, message.capacity,
                                    error)) > (int64_t)message.capacity)
    if (!fnabi_vector_reserve(&message, (size_t)needed)) {
      fnabi_fail(error, FNABI_MEMORY, 0, NULL);
      needed = -1;
      break;
    }
  fnabi_reader r = {message.data, needed < 0 ? 0 : (size_t)needed, 0};
  bool done = needed >= 0 && judge_executables(v, b, &r, error);
  free(message.data);
  return done;
}

int64_t fnabi_vmfb_runs_on(const char* data, size_t size, const char* driver,
                           size_t driver_size, const char* machine,
                           size_t machine_size, uint8_t* out, size_t capacity,
                           fnabi_error* error) {
  fnabi_writer w = {out, capacity, 0};
  verdict v = {.w = &w,
               .work = 64 * (uint64_t)size,
               .on = {{driver, driver_size}, {machine, machine_size}}};
  fnabi_bytecode b;
  v.all = fnabi_release_count == FNABI_RELEASES
              ? ~(set)0
              : ((set)1 << fnabi_release_count) - 1;
  fnabi_pack_array(&w, 4);
  size_t place = fnabi_pack_open(&w);
  fnabi_error ignored;
  bool good = fnabi_bytecode_open(&b, data, size, error) &&
              judge(&v, data, size, &b) &&
              (!fnabi_bytecode_known(&b, &ignored) ||
               judge_device(&v, data, size, &b, error));
  if (good && machine != NULL && !FNABI_TEXT_IS(v.on.machine, MEASURED))
    cause(&v, "machine", v.on.machine, text_of(NULL), v.all & ~v.refused,
          false);
  fnabi_pack_close(&w, place, v.causes);
  place = fnabi_pack_open(&w);
  size_t hosts = 0;
  for (size_t at = 0; at < v.hosts.size; hosts++) {
    const char* name = (const char*)v.hosts.data + at;
    fnabi_pack_text(&w, name, strlen(name));
    at += strlen(name) + 1;
  }
  fnabi_pack_close(&w, place, hosts);
  fnabi_pack_uint(&w, v.refused);
  fnabi_pack_uint(&w, v.unknown & ~v.refused);
  fnabi_bytecode_close(&b);
  free(v.hosts.data);
  return good ? (int64_t)w.size : -1;
}

int64_t fnabi_runtime_releases(uint8_t* out, size_t capacity) {
  fnabi_writer w = {out, capacity, 0};
  fnabi_pack_count(&w, fnabi_release_count);
  for (size_t i = 0; i < fnabi_release_count; i++)
    fnabi_pack_ascii(&w, fnabi_releases[i].name);
  return (int64_t)w.size;
}
