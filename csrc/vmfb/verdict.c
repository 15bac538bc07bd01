/* Which releases of IREE's runtime load a module: what it demands, held
 * against what each release answered when it was measured. Sets of releases are
 * bits, so that one pass decides for all of them. */
#include "base/error.h"
#include "base/text.h"
#include "base/vector.h"
#include "vmfb/arguments.h"
#include "vmfb/bytecode.h"
#include "vmfb/demands.h"
#include "vmfb/releases.h"

typedef fnabi_release_set set;

#define MEASURED "x86_64" /* the machine of the measurements */
#define ELF_MEASURED 62   /* the same in an ELF file */

/* What the verdict is for; a text without data is any. */
typedef struct device {
  fnabi_text driver, machine;
} device;

enum { HOSTS = 64 };

typedef struct verdict {
  fnabi_writer* w;
  fnabi_reader* r; /* the demands */
  size_t causes;
  set all, refused, unknown, mistaken;
  fnabi_text hosts[HOSTS]; /* names in the demands */
  size_t host_count;
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

/* What releases do because of a cause. */
typedef enum effect { UNKNOWN, REFUSES, MISTAKES } effect;

/* Begins a cause; after it comes what these releases have, and end(). */
static others begin(verdict* v, const char* kind, fnabi_text subject,
                    fnabi_text wanted, set releases, effect does) {
  fnabi_pack_array(v->w, 6);
  fnabi_pack_ascii(v->w, kind);
  pack(v->w, subject);
  pack(v->w, wanted);
  if (does == MISTAKES)
    fnabi_pack_nil(v->w);
  else
    fnabi_pack_bool(v->w, does == REFUSES);
  fnabi_pack_uint(v->w, releases);
  v->causes++;
  *(does == REFUSES   ? &v->refused
    : does == UNKNOWN ? &v->unknown
                      : &v->mistaken) |= releases;
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
                  fnabi_text wanted, set releases, effect does) {
  if (releases != 0) end(v, begin(v, kind, subject, wanted, releases, does));
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

static bool has_host(const verdict* v, fnabi_text name) {
  for (size_t i = 0; i < v->host_count; i++)
    if (fnabi_text_equal(v->hosts[i], name)) return true;
  return false;
}

/* Adds a module that the host has to register; after many, no more. */
static void add_host(verdict* v, fnabi_text name) {
  if (name.size != 0 && v->host_count < HOSTS && !has_host(v, name))
    v->hosts[v->host_count++] = name;
}

/* -------------------------------------------------------------------- demands */

static bool take_number(fnabi_reader* r, uint32_t most, uint32_t* number) {
  int64_t found;
  if (!fnabi_unpack_int(r, &found) || found < 0 || found > (int64_t)most)
    return false;
  *number = (uint32_t)found;
  return true;
}

static bool take_text(fnabi_reader* r, fnabi_text* text) {
  *text = (fnabi_text){NULL, 0};
  return fnabi_unpack_nil(r) || fnabi_unpack_text(r, &text->data, &text->size);
}

static bool take_array(fnabi_reader* r, size_t expected) {
  size_t count;
  return fnabi_unpack_array(r, &count) && count == expected;
}

/* --------------------------------------------------------------------- module */

static bool judge_version(verdict* v) {
  uint32_t major, minor;
  if (!take_number(v->r, UINT16_MAX, &major) ||
      !take_number(v->r, UINT16_MAX, &minor))
    return false;
  char wanted[DIGITS], other[DIGITS];
  set good = 0;
  for (size_t i = 0; i < fnabi_release_count; i++)
    if (fnabi_releases[i].major == major && fnabi_releases[i].minor >= minor)
      good |= (set)1 << i;
  if ((v->all & ~good) == 0) return true;
  others o = begin(v, "bytecode", text_of(NULL),
                   version_text(wanted, (uint16_t)major, (uint16_t)minor),
                   v->all & ~good, REFUSES);
  for (size_t i = 0; i < fnabi_release_count; i++)
    if ((good >> i & 1) == 0)
      has(v, &o,
          version_text(other, fnabi_releases[i].major, fnabi_releases[i].minor),
          (set)1 << i);
  end(v, o);
  return true;
}

static bool judge_features(verdict* v) {
  char wanted[DIGITS];
  uint32_t features;
  if (!take_number(v->r, UINT32_MAX, &features)) return false;
  for (unsigned bit = 0; bit < 32; bit++) {
    if ((features >> bit & 1) == 0) continue;
    set bad = 0;
    for (size_t i = 0; i < fnabi_release_count; i++)
      if ((fnabi_releases[i].features >> bit & 1) == 0) bad |= (set)1 << i;
    cause(v, "feature", digits(wanted, bit), text_of(NULL), bad, REFUSES);
  }
  return true;
}

static void judge_dependency(verdict* v, fnabi_text name, uint32_t version) {
  char wanted[DIGITS], other[DIGITS];
  const fnabi_release_row* rows;
  size_t count = find(&fnabi_release_modules, name, &rows);
  if (!FNABI_TEXT_IS(name, "hal")) add_host(v, name);
  set good = 0, known = 0;
  for (size_t i = 0; i < count; i++) {
    known |= rows[i].releases;
    if (rows[i].number >= version) good |= rows[i].releases;
  }
  if (count == 0 || (v->all & ~good) == 0) return;
  others o = begin(v, "module", name, digits(wanted, version), v->all & ~good,
                   REFUSES);
  for (size_t i = 0; i < count; i++)
    if (rows[i].number < version)
      has(v, &o, digits(other, rows[i].number), rows[i].releases);
  has(v, &o, text_of(NULL), v->all & ~known);
  end(v, o);
}

static bool judge_dependencies(verdict* v) {
  size_t count;
  if (!fnabi_unpack_array(v->r, &count)) return false;
  for (; count > 0; count--) {
    fnabi_text name;
    uint32_t version;
    if (!take_array(v->r, 2) || !take_text(v->r, &name) || name.data == NULL ||
        !take_number(v->r, UINT32_MAX, &version))
      return false;
    judge_dependency(v, name, version);
  }
  return true;
}

/* An import that a release does not have, or that has another calling
 * convention there. */
static void judge_import(verdict* v, fnabi_text name, fnabi_text cconv,
                         bool required) {
  const fnabi_release_row* rows;
  size_t count = find(&fnabi_release_functions, name, &rows);
  bool checked = cconv.size != 0;
  set known = 0, good = 0;
  for (size_t i = 0; i < count; i++) {
    known |= rows[i].releases;
    if (!checked || compare(cconv, rows[i].value) == 0)
      good |= rows[i].releases;
  }
  if (!required) good |= v->all & ~known;
  if ((v->all & ~good) == 0) return;
  others o = begin(v, "import", name, cconv, v->all & ~good, REFUSES);
  for (size_t i = 0; i < count; i++)
    has(v, &o, text_of(rows[i].value), rows[i].releases & ~good);
  has(v, &o, text_of(NULL), v->all & ~known & ~good);
  end(v, o);
}

/* Finds the modules that functions are required of, or judges the functions. */
static bool take_imports(verdict* v, bool judged) {
  size_t count;
  if (!fnabi_unpack_array(v->r, &count)) return false;
  for (; count > 0; count--) {
    fnabi_text name, cconv;
    uint32_t required;
    if (!take_array(v->r, 3) || !take_text(v->r, &name) || name.data == NULL ||
        !take_text(v->r, &cconv) || !take_number(v->r, 1, &required))
      return false;
    fnabi_text module = before_dot(name);
    bool hal = FNABI_TEXT_IS(module, "hal");
    if (!judged) {
      if (required != 0 && module.size < name.size && !hal) add_host(v, module);
      continue;
    }
    bool there = required != 0 || hal || has_host(v, module);
    if (there && (is_known(module) || module.size == 0)) /* none is nameless */
      judge_import(v, name, cconv, required != 0);
  }
  return true;
}

/* An optional function of a module that is not there has no convention. */
static bool judge_imports(verdict* v) {
  fnabi_reader start = *v->r;
  if (!take_imports(v, false)) return false;
  *v->r = start;
  return take_imports(v, true);
}

/* A type of a module that the host brings may be registered by that. */
static void judge_type(verdict* v, fnabi_text name) {
  static const char list[] = "!vm.list"; /* all that follows is accepted */
  const fnabi_release_row* rows;
  if (name.size >= sizeof list - 1 &&
      memcmp(name.data, list, sizeof list - 1) == 0)
    return;
  size_t count = find(&fnabi_release_types, name, &rows);
  set good = 0;
  for (size_t i = 0; i < count; i++) good |= rows[i].releases;
  fnabi_text module = before_dot(name);
  if (module.size > 1 && *module.data == '!') {
    module.data++;
    module.size--;
  }
  if (count == 0 && !is_known(module) && has_host(v, module)) return;
  cause(v, "type", name, text_of(NULL), v->all & ~good, REFUSES);
}

static bool judge_types(verdict* v) {
  size_t count;
  if (!fnabi_unpack_array(v->r, &count)) return false;
  for (; count > 0; count--) {
    fnabi_text name;
    if (!take_text(v->r, &name) || name.data == NULL) return false;
    judge_type(v, name);
  }
  return true;
}

static void judge_opcode(verdict* v, unsigned code) {
  set good = 0;
  for (size_t i = 0; i < fnabi_release_opcode_count; i++) {
    const fnabi_release_opcodes_row* row = &fnabi_release_opcodes[i];
    if (row->prefix == code >> 8 && row->first <= (code & 0xFF) &&
        (code & 0xFF) <= row->last)
      good |= row->releases;
  }
  const fnabi_bytecode_op* op = fnabi_bytecode_find(code);
  cause(v, "opcode", text_of(op == NULL ? NULL : op->name), text_of(NULL),
        v->all & ~good, REFUSES);
}

static bool judge_opcodes(verdict* v) {
  size_t count;
  if (fnabi_unpack_nil(v->r)) return true;
  if (!fnabi_unpack_array(v->r, &count)) return false;
  for (; count > 0; count--) {
    int64_t code;
    if (!fnabi_unpack_int(v->r, &code) || code < -1 || code > 0xFFFF)
      return false;
    if (code < 0)
      cause(v, "opcode", text_of(NULL), text_of(NULL), v->all, UNKNOWN);
    else
      judge_opcode(v, (unsigned)code);
  }
  return true;
}

static bool judge_fault(verdict* v) {
  fnabi_text text;
  if (!take_text(v->r, &text)) return false;
  if (text.data != NULL)
    cause(v, "fault", text, text_of(NULL), v->all, REFUSES);
  return true;
}

/* Functions that get wrong values. */
static bool judge_calls(verdict* v) {
  size_t count;
  set aligned = 0, whole = 0;
  for (size_t i = 0; i < fnabi_release_count; i++) {
    aligned |= (set)fnabi_releases[i].aligned << i;
    whole |= (set)fnabi_releases[i].whole << i;
  }
  if (!fnabi_unpack_array(v->r, &count)) return false;
  for (; count > 0; count--) {
    fnabi_text name, cconv;
    uint32_t passed;
    if (!take_array(v->r, 3) || !take_text(v->r, &name) || name.data == NULL ||
        !take_text(v->r, &cconv) || !take_number(v->r, 7, &passed))
      return false;
    set wrong = (passed & FNABI_PASSED_PACKED) != 0 ? v->all & ~aligned : 0;
    if ((passed & FNABI_PASSED_ALIGNED) != 0) wrong |= v->all & aligned;
    cause(v, "arguments", name, cconv, wrong, MISTAKES);
    if ((passed & FNABI_PASSED_INSIDE) != 0)
      cause(v, "call", name, cconv, v->all & ~whole, MISTAKES);
  }
  return true;
}

/* Reads all but the executables. */
static bool judge(verdict* v) {
  size_t count;
  return fnabi_unpack_array(v->r, &count) &&
         (count == FNABI_DEMANDS || count == FNABI_DEMANDS_WITHOUT_CALLS) &&
         judge_version(v) && judge_features(v) && judge_dependencies(v) &&
         judge_imports(v) && judge_types(v) && judge_opcodes(v) &&
         judge_fault(v) &&
         (count == FNABI_DEMANDS_WITHOUT_CALLS || judge_calls(v));
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
static void judge_elf(verdict* v, const format* f, uint32_t machine,
                      int64_t version) {
  char wanted[DIGITS], other[DIGITS];
  if (FNABI_TEXT_IS(machine_of(f->name), MEASURED) && machine != ELF_MEASURED) {
    cause(v, "executable", f->name, text_of(NULL), f->supported, REFUSES);
    return;
  }
  if (version < 0) {
    cause(v, "library", f->name, text_of(NULL), f->supported, UNKNOWN);
    return;
  }
  set bad = 0;
  for (size_t i = 0; i < fnabi_release_count; i++)
    if (fnabi_releases[i].library != version) bad |= (set)1 << i;
  bad &= f->supported;
  if (bad == 0) return;
  others o = begin(v, "library", f->name, digits(wanted, (uint32_t)version),
                   bad, REFUSES);
  for (size_t i = 0; i < fnabi_release_count; i++)
    if ((bad >> i & 1) != 0)
      has(v, &o, digits(other, (uint32_t)fnabi_releases[i].library),
          (set)1 << i);
  end(v, o);
}

/* A module inside: it is judged as every module is, beside the runtime's own. */
static bool judge_inner(verdict* v, const format* f) {
  verdict inner = {.w = v->w, .r = v->r, .all = f->supported, .on = v->on};
  bool good = judge(&inner) && fnabi_unpack_skip(v->r);
  v->causes += inner.causes;
  v->refused |= inner.refused;
  v->unknown |= inner.unknown;
  v->mistaken |= inner.mistaken;
  return good;
}

static bool judge_executable(verdict* v, const format* f) {
  fnabi_reader* r = v->r;
  fnabi_reader start = *r;
  uint32_t number;
  int64_t version;
  size_t count;
  if (f->supported == 0) return fnabi_unpack_skip(r);
  if (fnabi_unpack_nil(r)) { /* it is not at hand, or the system loads it */
    cause(v, "library", f->name, text_of(NULL), f->supported, UNKNOWN);
    return true;
  }
  if (take_number(r, 0, &number)) {
    cause(v, "executable", f->name, text_of(NULL), f->supported, REFUSES);
    return true;
  }
  if (!fnabi_unpack_array(r, &count)) return false;
  if (count != 2) {
    *r = start;
    return judge_inner(v, f);
  }
  if (!take_number(r, UINT16_MAX, &number) || !fnabi_unpack_int(r, &version) ||
      version > INT32_MAX)
    return false;
  judge_elf(v, f, number, version);
  return true;
}

/* A device takes the first format that it supports. Causes that repeat those
 * of an earlier executable are left out. */
static bool judge_executables(verdict* v) {
  size_t count, formats = 0;
  format known[FORMATS];
  set supported = 0;
  bool possible = false;
  if (!fnabi_unpack_array(v->r, &count)) return false;
  for (; count > 0; count--) {
    fnabi_text name;
    if (!take_array(v->r, 2) || !take_text(v->r, &name)) return false;
    size_t i = 0;
    while (i < formats && !fnabi_text_equal(known[i].name, name)) i++;
    if (i == FORMATS) {
      if (!fnabi_unpack_skip(v->r)) return false;
      continue;
    }
    if (i == formats) {
      known[formats] = (format){.name = name};
      find_support(v, &known[formats]);
      known[formats].supported &= ~supported;
      supported |= known[formats].supported;
      possible |= known[formats++].unknown;
    }
    set refused = v->refused, unknown = v->unknown, mistaken = v->mistaken;
    size_t causes = v->causes, size = v->w->size;
    if (!judge_executable(v, &known[i])) return false;
    if (v->refused == refused && v->unknown == unknown &&
        v->mistaken == mistaken) {
      v->causes = causes;
      v->w->size = size;
    }
  }
  for (size_t i = 0; i < formats; i++)
    cause(v, "format", known[i].name, text_of(NULL), v->all & ~supported,
          possible ? UNKNOWN : REFUSES);
  return true;
}

/* --------------------------------------------------------------------- verdict */

int64_t fnabi_runtime_verdict(const uint8_t* demands, size_t demands_size,
                              const char* driver, size_t driver_size,
                              const char* machine, size_t machine_size,
                              uint8_t* out, size_t capacity,
                              fnabi_error* error) {
  fnabi_writer w = {out, capacity, 0};
  fnabi_reader r = {demands, demands_size, 0};
  verdict v = {
      .w = &w, .r = &r, .on = {{driver, driver_size}, {machine, machine_size}}};
  v.all = fnabi_release_count == FNABI_RELEASES
              ? ~(set)0
              : ((set)1 << fnabi_release_count) - 1;
  fnabi_pack_array(&w, 4);
  size_t place = fnabi_pack_open(&w);
  bool good = judge(&v) && judge_executables(&v) && r.at == r.size;
  if (good && machine != NULL && !FNABI_TEXT_IS(v.on.machine, MEASURED))
    cause(&v, "machine", v.on.machine, text_of(NULL), v.all & ~v.refused,
          UNKNOWN);
  fnabi_pack_close(&w, place, v.causes);
  place = fnabi_pack_open(&w);
  for (size_t i = 0; i < v.host_count; i++) pack(&w, v.hosts[i]);
  fnabi_pack_close(&w, place, v.host_count);
  fnabi_pack_uint(&w, v.refused);
  fnabi_pack_uint(&w, v.unknown & ~v.refused);
  return good ? (int64_t)w.size : fnabi_fail(error, FNABI_MESSAGE, r.at, NULL);
}

enum { FIRST_CAPACITY = 1 << 13 }; /* a second run would take as long again */

int64_t fnabi_vmfb_runs_on(const char* data, size_t size, const char* driver,
                           size_t driver_size, const char* machine,
                           size_t machine_size, uint8_t* out, size_t capacity,
                           fnabi_error* error) {
  fnabi_vector demands = {NULL, 0, 0};
  int64_t needed = FIRST_CAPACITY;
  do {
    if (!fnabi_vector_reserve(&demands, (size_t)needed)) {
      needed = fnabi_fail(error, FNABI_MEMORY, 0, NULL);
      break;
    }
    needed =
        fnabi_vmfb_demands(data, size, demands.data, demands.capacity, error);
  } while (needed > (int64_t)demands.capacity);
  if (needed >= 0)
    needed =
        fnabi_runtime_verdict(demands.data, (size_t)needed, driver, driver_size,
                              machine, machine_size, out, capacity, error);
  free(demands.data);
  return needed;
}

int64_t fnabi_runtime_releases(uint8_t* out, size_t capacity) {
  fnabi_writer w = {out, capacity, 0};
  fnabi_pack_count(&w, fnabi_release_count);
  for (size_t i = 0; i < fnabi_release_count; i++)
    fnabi_pack_ascii(&w, fnabi_releases[i].name);
  return (int64_t)w.size;
}
