/* VM bytecode: the decoder of instructions, and the parts of a module that they
 * refer to. */
#include "vmfb/bytecode.h"

#include <stdlib.h>
#include <string.h>

#include "abi/cconv.h"
#include "base/error.h"

/* -------------------------------------------------------------------- table */

#define FEATURE(page, prefix, feature) FEATURE_##page = feature,
enum { FNABI_BYTECODE_PAGES(FEATURE) };
#undef FEATURE

/* The rows of each page are numbered from 0 without gaps. */
#define ROW(page, number, identifier, name, operands, since) \
  {FNABI_OP_##identifier, since, FEATURE_##page, name, operands},
static const fnabi_bytecode_op core[] = {FNABI_BYTECODE_CORE(ROW)};
static const fnabi_bytecode_op f32[] = {FNABI_BYTECODE_F32(ROW)};
static const fnabi_bytecode_op f64[] = {FNABI_BYTECODE_F64(ROW)};
#undef ROW

#define COUNT(array) (sizeof(array) / sizeof *(array))

const fnabi_bytecode_op* fnabi_bytecode_find(unsigned op) {
  unsigned number = op & 0xFF;
  switch (op >> 8) {
    case FNABI_PAGE_CORE:
      return number < COUNT(core) ? &core[number] : NULL;
    case FNABI_PAGE_F32:
      return number < COUNT(f32) ? &f32[number] : NULL;
    case FNABI_PAGE_F64:
      return number < COUNT(f64) ? &f64[number] : NULL;
    default:
      return NULL;
  }
}

/* ----------------------------------------------------------------- decoding */

static uint64_t little(const uint8_t* bytes, unsigned count) {
  uint64_t value = 0;
  for (unsigned i = 0; i < count; i++) value |= (uint64_t)bytes[i] << (8 * i);
  return value;
}

/* The bytes that are left; offsets are relative to the function. */
typedef struct cursor {
  const uint8_t* code;
  uint32_t at, end;
} cursor;

static bool has(const cursor* c, uint32_t bytes) {
  return bytes <= c->end - c->at;
}

/* Reads a u16 count and entries of `width` bytes. */
static bool read_entries(cursor* c, unsigned width, fnabi_operand* operand) {
  operand->offset = c->at;
  if (!has(c, 2)) return false;
  operand->count = fnabi_bytecode_u16(c->code + c->at);
  operand->size = operand->count * width;
  c->at += 2;
  if (!has(c, operand->size)) return false;
  operand->items = c->code + c->at;
  c->at += operand->size;
  return true;
}

static bool read_list(cursor* c, unsigned width, fnabi_operand* operand) {
  if (c->at % 2 != 0) {
    if (!has(c, 1)) return false;
    operand->padded = c->code[c->at++] != 0;
  }
  return read_entries(c, width, operand);
}

static bool read_case(cursor* c, fnabi_operand* target, fnabi_operand* remap) {
  *target = (fnabi_operand){.kind = 'p', .offset = c->at};
  *remap = (fnabi_operand){.kind = 'm'};
  if (!has(c, 4)) return false;
  target->value = little(c->code + c->at, 4);
  c->at += 4;
  return read_list(c, 4, remap);
}

static bool read_cases(cursor* c, fnabi_operand* operand) {
  fnabi_operand target, remap;
  operand->offset = c->at;
  if (!has(c, 2)) return false;
  operand->count = fnabi_bytecode_u16(c->code + c->at);
  c->at += 2;
  operand->items = c->code + c->at;
  uint32_t begin = c->at;
  for (uint32_t i = 0; i < operand->count; i++)
    if (!read_case(c, &target, &remap)) return false;
  operand->size = c->at - begin;
  return true;
}

/* Alignment depends on the offset in the function. The first case begins at
 * operand->offset + 2. */
bool fnabi_operand_case(const fnabi_operand* cases, uint32_t* at,
                        fnabi_operand* target, fnabi_operand* remap) {
  uint32_t begin = cases->offset + 2;
  cursor c = {cases->items - begin, begin + *at, begin + cases->size};
  if (c.at >= c.end || !read_case(&c, target, remap)) return false;
  *at = c.at - begin;
  return true;
}

/* By the letter of an operand, its width in bytes; for lists the width of their
 * entries, and LIST. */
enum { LIST = 16 };
static const uint8_t widths[128] = {
    ['i'] = 2,        ['I'] = 2,        ['f'] = 2,        ['F'] = 2,
    ['r'] = 2,        ['R'] = 2,        ['4'] = 4,        ['e'] = 4,
    ['g'] = 4,        ['h'] = 4,        ['G'] = 4,        ['t'] = 4,
    ['d'] = 4,        ['c'] = 4,        ['C'] = 4,        ['p'] = 4,
    ['8'] = 8,        ['E'] = 8,        ['s'] = LIST + 1, ['*'] = LIST + 2,
    ['['] = LIST + 2, ['#'] = LIST + 2, ['m'] = LIST + 4, ['T'] = LIST,
};

/* Reads an operand that is a list. */
static bool read_lists(cursor* c, unsigned width, fnabi_operand* operand) {
  if (operand->kind == 's') return read_entries(c, 1, operand);
  if (operand->kind == 'T') return read_cases(c, operand);
  return read_list(c, width, operand);
}

static inline const fnabi_bytecode_op* read_op(cursor* c, uint16_t major) {
  unsigned op = c->code[c->at++];
  if (op == FNABI_PAGE_F32 || op == FNABI_PAGE_F64) {
    if (!has(c, 1)) return NULL;
    op = op << 8 | c->code[c->at++];
  }
  const fnabi_bytecode_op* row = fnabi_bytecode_find(op);
  return row != NULL && row->since <= major ? row : NULL;
}

bool fnabi_bytecode_decode(const fnabi_bytecode_view* view, uint32_t offset,
                           fnabi_instruction* at, fnabi_error* error) {
  cursor c = {view->code, offset, view->size};
  const fnabi_bytecode_op* op = read_op(&c, view->major);
  fnabi_operand* operand = at->operands;
  bool written = false, ends = false;
  at->op = op;
  at->offset = offset;
  if (op == NULL) {
    fnabi_fail(error, FNABI_BYTECODE_OPCODE, view->origin + offset, NULL);
    return false;
  }
  for (const char* letter = op->operands; *letter != 0; letter++) {
    unsigned width = widths[(unsigned char)*letter];
    if (width == 0) { /* '>' or '.' */
      written = true;
      ends = *letter == '.';
      continue;
    }
    *operand =
        (fnabi_operand){.kind = *letter, .written = written, .offset = c.at};
    if (width < LIST) {
      if (!has(&c, width)) goto past_end;
      const uint8_t* bytes = c.code + c.at;
      operand->value = width == 2   ? fnabi_bytecode_u16(bytes)
                       : width == 4 ? little(bytes, 4)
                                    : little(bytes, 8);
      c.at += width;
    } else {
      if (*letter == '[') operand->element = *++letter;
      if (!read_lists(&c, width - LIST, operand)) goto past_end;
    }
    operand++;
  }
  at->size = c.at - offset;
  at->next = c.at + (ends && c.at + 1 == view->size);
  at->count = (uint8_t)(operand - at->operands);
  at->ends = ends;
  return true;
past_end:
  fnabi_fail(error, FNABI_BYTECODE_END, view->origin + offset, NULL);
  return false;
}

/* Skips a list other than T. */
static bool skip_list(cursor* c, char kind, uint32_t width) {
  uint32_t padding = kind == 's' ? 0 : c->at % 2;
  if (!has(c, padding + 2)) return false;
  c->at += padding + 2;
  uint32_t size = fnabi_bytecode_u16(c->code + c->at - 2) * width;
  if (!has(c, size)) return false;
  c->at += size;
  return true;
}

uint32_t fnabi_bytecode_measure_new(const fnabi_bytecode_view* view,
                                    uint32_t offset,
                                    fnabi_bytecode_sizes* sizes,
                                    fnabi_error* error) {
  cursor c = {view->code, offset, view->size};
  const fnabi_bytecode_op* op = read_op(&c, view->major);
  bool fixed = true, whole = true;
  if (op == NULL) {
    fnabi_fail(error, FNABI_BYTECODE_OPCODE, view->origin + offset, NULL);
    return 0;
  }
  for (const char* letter = op->operands; *letter != 0 && whole; letter++) {
    unsigned width = widths[(unsigned char)*letter];
    if (width < LIST) {
      whole = has(&c, width);
      c.at += whole ? width : 0;
      continue;
    }
    fixed = false;
    if (*letter == 'T') {
      fnabi_operand cases = {.kind = 'T'};
      whole = read_cases(&c, &cases);
    } else {
      whole = skip_list(&c, *letter, width - LIST);
      if (*letter == '[') letter++;
    }
  }
  if (!whole) {
    fnabi_fail(error, FNABI_BYTECODE_END, view->origin + offset, NULL);
    return 0;
  }
  if (fixed && op->op < sizeof sizes->of)
    sizes->of[op->op] = (uint8_t)(c.at - offset);
  return c.at - offset;
}

/* ------------------------------------------------------ calling conventions */

void fnabi_registers_begin(fnabi_registers* r, fnabi_text side,
                           const fnabi_operand* segments) {
  *r = (fnabi_registers){.side = side, .segments = segments};
}

/* The offset after the 'D' of the span, or the end. */
static void leave_span(fnabi_registers* r) {
  while (r->at < r->side.size && r->side.data[r->at] != 'D') r->at++;
  if (r->at < r->side.size) r->at++;
  r->left = 0;
  r->span = 0;
}

static bool enter_span(fnabi_registers* r, uint32_t item) {
  if (r->segments == NULL || item >= r->segments->count) {
    r->short_list = true;
    return false;
  }
  r->left = fnabi_operand_item(r->segments, item);
  r->span = r->at; /* not 0, because a 'C' precedes it */
  if (r->left == 0 || r->at >= r->side.size || r->side.data[r->at] == 'D')
    leave_span(r);
  return true;
}

char fnabi_registers_step(fnabi_registers* r) {
  while (!r->short_list) {
    if (r->span != 0) {
      if (r->at < r->side.size && r->side.data[r->at] != 'D')
        return r->side.data[r->at++];
      if (--r->left != 0)
        r->at = r->span;
      else
        leave_span(r);
    } else if (r->at >= r->side.size) {
      return 0;
    } else {
      char letter = r->side.data[r->at++];
      uint32_t item = r->item++;
      if (letter != 'C') return letter;
      if (!enter_span(r, item)) return 0;
    }
  }
  return 0;
}

/* ------------------------------------------------------------------ modules */

/* Allocates an array of `count` elements; NULL if `count` is 0. */
static bool make(fnabi_bytecode* b, void** array, size_t count, size_t size,
                 bool zeroed) {
  if (count == 0) return true;
  *array = zeroed                     ? calloc(count, size)
           : count <= SIZE_MAX / size ? malloc(count * size)
                                      : NULL;
  if (*array != NULL) return true;
  fnabi_fail(b->error, FNABI_MEMORY, 0, NULL);
  return false;
}

/* Enters a table and reads one of its strings. */
static bool enter_text(fnabi_bytecode* b, const fnabi_fb_table* table,
                       int field, size_t from, fnabi_fb_view* view,
                       fnabi_text* text) {
  return fnabi_fb_enter_string(&b->fb, table, &table->fields[field], from, view,
                               &text->data, &text->size);
}

/* Reads the signature that the offset at `from` refers to. */
static bool read_signature(fnabi_bytecode* b, const fnabi_fb_table* table,
                           size_t from, fnabi_callee* callee) {
  fnabi_fb_view view;
  fnabi_error ignored;
  if (!enter_text(b, table, SIGNATURE_CCONV, from, &view, &callee->cconv) ||
      !fnabi_fb_spend(&b->fb, callee->cconv.size, view.place))
    return false;
  fnabi_cconv_side sides[2];
  const char* text = callee->cconv.data;
  callee->readable =
      fnabi_cconv_sides(text, callee->cconv.size, sides, &ignored);
  if (callee->readable && text != NULL) {
    callee->arguments =
        (fnabi_text){text + sides[0].begin, sides[0].end - sides[0].begin};
    callee->results =
        (fnabi_text){text + sides[1].begin, sides[1].end - sides[1].begin};
  }
  return true;
}

static bool read_type(fnabi_bytecode* b, const fnabi_fb_field* field,
                      size_t index) {
  fnabi_fb_view view;
  if (enter_text(b, field->table, TYPE_NAME, b->type_place + 4 * index, &view,
                 &b->types[index]))
    return true;
  return fnabi_fb_in_element(&b->fb, field->name, index);
}

static bool read_import_table(fnabi_bytecode* b, const fnabi_fb_field* field,
                              size_t from, fnabi_callee* import) {
  const fnabi_fb_field* signature = &field->table->fields[IMPORT_SIGNATURE];
  fnabi_fb_view view;
  if (!enter_text(b, field->table, IMPORT_NAME, from, &view, &import->name))
    return false;
  uint16_t at = view.shape->at[signature->id];
  import->readable = true; /* no signature: no arguments and results */
  return at == 0 ||
         read_signature(b, signature->table, view.place + at, import);
}

static bool read_import(fnabi_bytecode* b, size_t index, fnabi_callee* import) {
  const fnabi_fb_field* field = &fnabi_vmfb_table.fields[MODULE_IMPORTS];
  if (read_import_table(b, field, b->import_place + 4 * index, import))
    return true;
  return fnabi_fb_in_element(&b->fb, field->name, index);
}

/* Finds all tables before their parts are read. */
static bool find_tables(fnabi_bytecode* b) {
  const fnabi_fb_field* fields = fnabi_vmfb_table.fields;
  return fnabi_fb_tables(&b->fb, &b->root, &fields[MODULE_TYPES],
                         &b->type_place, &b->type_count) &&
         fnabi_fb_tables(&b->fb, &b->root, &fields[MODULE_IMPORTS],
                         &b->import_place, &b->import_count) &&
         fnabi_fb_flat(&b->fb, &b->root, &fields[MODULE_FUNCTIONS],
                       &b->function_place, &b->function_count) &&
         fnabi_fb_flat(&b->fb, &b->root, &fields[MODULE_BYTECODE],
                       &b->code_place, &b->code_size) &&
         fnabi_fb_tables(&b->fb, &b->root, &fields[MODULE_SIGNATURES],
                         &b->signature_place, &b->signature_count);
}

static bool make_functions(fnabi_bytecode* b, bool zeroed) {
  return make(b, (void**)&b->functions, b->function_count, sizeof *b->functions,
              zeroed);
}

static bool make_all(fnabi_bytecode* b, bool zeroed) {
  return make(b, (void**)&b->types, b->type_count, sizeof *b->types, true) &&
         make(b, (void**)&b->imports, b->import_count, sizeof *b->imports,
              true) &&
         make_functions(b, zeroed);
}

/* Reads the struct FunctionDescriptor of a function. */
static void read_descriptor(const fnabi_bytecode* b,
                            const fnabi_fb_field* fields, size_t ordinal) {
  size_t stride = fields[MODULE_FUNCTIONS].structure->size;
  size_t place = b->function_place + ordinal * stride;
  const uint8_t* d = b->fb.data + place;
  fnabi_function* f = &b->functions[ordinal];
  f->place = b->fb.origin + place;
  f->offset = (int32_t)fnabi_bytecode_u32(d);
  f->length = (int32_t)fnabi_bytecode_u32(d + 4);
  f->requirements = fnabi_bytecode_u32(d + 8);
  f->blocks = (int16_t)fnabi_bytecode_u16(d + 14);
  f->values = (int16_t)fnabi_bytecode_u16(d + 16);
  f->refs = (int16_t)fnabi_bytecode_u16(d + 18);
  f->view.major = b->major;
  f->view.origin = b->fb.origin + b->code_place;
  if (f->offset < 0 || f->length <= 0 || (size_t)f->offset > b->code_size ||
      (size_t)f->length > b->code_size - (size_t)f->offset)
    return;
  f->view.code = b->fb.data + b->code_place + f->offset;
  f->view.size = (uint32_t)f->length;
  f->view.origin += (uint32_t)f->offset;
}

static bool read_function(fnabi_bytecode* b, const fnabi_fb_field* fields,
                          size_t ordinal) {
  const fnabi_fb_field* signatures = &fields[MODULE_SIGNATURES];
  fnabi_function* f = &b->functions[ordinal];
  read_descriptor(b, fields, ordinal);
  if (ordinal >= b->signature_count ||
      read_signature(b, signatures->table, b->signature_place + 4 * ordinal,
                     &f->callee))
    return true;
  return fnabi_fb_in_element(&b->fb, signatures->name, ordinal);
}

/* The name of a function is that of its first export. */
static bool read_exports(fnabi_bytecode* b, const fnabi_fb_field* field) {
  const fnabi_fb_field* fields = field->table->fields;
  size_t place, count;
  fnabi_fb_view view;
  fnabi_text name;
  if (!fnabi_fb_tables(&b->fb, &b->root, field, &place, &count)) return false;
  for (size_t i = 0; i < count; i++) {
    if (!enter_text(b, field->table, EXPORT_NAME, place + 4 * i, &view, &name))
      return fnabi_fb_in_element(&b->fb, field->name, i);
    int64_t ordinal = fnabi_fb_int(&b->fb, &view, &fields[EXPORT_ORDINAL]);
    if (ordinal < 0 || (uint64_t)ordinal >= b->function_count) continue;
    fnabi_callee* callee = &b->functions[ordinal].callee;
    if (callee->name.data == NULL) callee->name = name;
    b->functions[ordinal].exported = true;
  }
  return true;
}

static bool read_local_name(fnabi_bytecode* b, const fnabi_fb_field* field,
                            size_t from, fnabi_text* name) {
  fnabi_fb_view view;
  return enter_text(b, field->table, SOURCE_MAP_NAME, from, &view, name);
}

/* Up to version 16 the debug database has one entry per function, in order,
 * with the names of internal functions. If an entry contradicts an export, the
 * database is not such a list and is ignored. */
static bool read_debug(fnabi_bytecode* b, const fnabi_fb_field* debug) {
  const fnabi_fb_field* field = &debug->table->fields[DEBUG_FUNCTIONS];
  size_t place, count;
  fnabi_fb_view view;
  fnabi_text name;
  uint16_t at = b->root.shape->at[debug->id];
  if (at == 0 || b->major > 16) return true;
  if (!fnabi_fb_enter(&b->fb, debug->table, b->root.place + at, &view) ||
      !fnabi_fb_tables(&b->fb, &view, field, &place, &count))
    return fnabi_fb_in_field(&b->fb, debug->name);
  if (count != b->function_count) return true;
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < count; i++) {
      fnabi_text* known = &b->functions[i].callee.name;
      if (!read_local_name(b, field, place + 4 * i, &name))
        return fnabi_fb_in_element(&b->fb, field->name, i);
      if (known->data == NULL && pass == 1)
        *known = name;
      else if (known->data != NULL && !fnabi_text_equal(*known, name))
        return true;
    }
  return true;
}

static bool read_segment(fnabi_bytecode* b, const fnabi_fb_view* view,
                         const fnabi_fb_field* fields, const uint8_t* file,
                         uint64_t file_size, fnabi_rodata* segment) {
  const fnabi_fb_field* embedded = &fields[RODATA_EMBEDDED];
  size_t place, count;
  if (view->shape->at[embedded->id] != 0) {
    if (!fnabi_fb_flat(&b->fb, view, embedded, &place, &count)) return false;
    *segment = (fnabi_rodata){b->fb.data + place, b->fb.origin + place, count};
    return true;
  }
  uint64_t base = fnabi_vmfb_rodata_base(&b->fb);
  uint64_t room = file_size - base;
  uint64_t offset =
      (uint64_t)fnabi_fb_int(&b->fb, view, &fields[RODATA_OFFSET]);
  segment->size = (uint64_t)fnabi_fb_int(&b->fb, view, &fields[RODATA_LENGTH]);
  segment->offset = base + offset;
  if (base <= file_size && segment->size <= room &&
      offset <= room - segment->size)
    segment->data = file + base + offset;
  return true;
}

static bool read_rodata(fnabi_bytecode* b, const fnabi_fb_field* field,
                        const uint8_t* file, uint64_t file_size) {
  size_t place;
  fnabi_fb_view view;
  if (!fnabi_fb_tables(&b->fb, &b->root, field, &place, &b->rodata_count) ||
      !make(b, (void**)&b->rodata, b->rodata_count, sizeof *b->rodata, true))
    return false;
  for (size_t i = 0; i < b->rodata_count; i++)
    if (!fnabi_fb_enter(&b->fb, field->table, place + 4 * i, &view) ||
        !read_segment(b, &view, field->table->fields, file, file_size,
                      &b->rodata[i]))
      return fnabi_fb_in_element(&b->fb, field->name, i);
  return true;
}

/* The runtime takes a negative size of globals for a large one, too. */
static bool read_state(fnabi_bytecode* b, const fnabi_fb_field* field) {
  fnabi_fb_view view;
  uint16_t at = b->root.shape->at[field->id];
  if (at == 0) return true;
  if (!fnabi_fb_enter(&b->fb, field->table, b->root.place + at, &view))
    return fnabi_fb_in_field(&b->fb, field->name);
  const fnabi_fb_field* fields = field->table->fields;
  b->value_bytes = (uint64_t)fnabi_fb_int(&b->fb, &view, &fields[STATE_BYTES]);
  b->ref_count = (uint64_t)fnabi_fb_int(&b->fb, &view, &fields[STATE_REFS]);
  return true;
}

static uint64_t root_place(const fnabi_bytecode* b,
                           const fnabi_fb_field* field) {
  return b->fb.origin + b->root.place + b->root.shape->at[field->id];
}

/* Finds everything that instructions refer to, except read-only data. */
static bool begin(fnabi_bytecode* b, const char* data, size_t size,
                  const fnabi_fb* known, fnabi_error* error) {
  const fnabi_fb_field* fields = fnabi_vmfb_table.fields;
  /* all but the walk, which is large and begins below */
  memset((char*)b + sizeof b->fb, 0, sizeof *b - sizeof b->fb);
  b->error = error;
  if (!fnabi_vmfb_begin(data, size, known, &b->fb, &b->root, NULL, error))
    return false;
  const fnabi_fb_field* version = &fields[MODULE_BYTECODE_VERSION];
  const fnabi_fb_field* requirements = &fields[MODULE_REQUIREMENTS];
  uint64_t number = (uint64_t)fnabi_fb_int(&b->fb, &b->root, version);
  b->major = (uint16_t)(number >> 16);
  b->minor = (uint16_t)number;
  b->requirements = (uint32_t)fnabi_fb_int(&b->fb, &b->root, requirements);
  b->version_place = root_place(b, version);
  b->requirements_place = root_place(b, requirements);
  return find_tables(b);
}

bool fnabi_bytecode_open_tables(fnabi_bytecode* b, const char* data,
                                size_t size, const fnabi_fb* known,
                                fnabi_error* error) {
  return begin(b, data, size, known, error) && make_functions(b, true);
}

bool fnabi_bytecode_read_import(fnabi_bytecode* b, size_t index, bool name,
                                fnabi_callee* import) {
  const fnabi_fb_field* field = &fnabi_vmfb_table.fields[MODULE_IMPORTS];
  fnabi_fb_view view;
  if (!name) return read_import(b, index, import);
  if (enter_text(b, field->table, IMPORT_NAME, b->import_place + 4 * index,
                 &view, &import->name))
    return true;
  return fnabi_fb_in_element(&b->fb, field->name, index);
}

bool fnabi_bytecode_open_unnamed(fnabi_bytecode* b, const char* data,
                                 size_t size, fnabi_error* error) {
  const fnabi_fb_field* fields = fnabi_vmfb_table.fields;
  size_t place;
  if (!begin(b, data, size, NULL, error) || !make_all(b, true)) return false;
  for (size_t i = 0; i < b->import_count; i++)
    if (!read_import(b, i, &b->imports[i])) return false;
  for (size_t i = 0; i < b->function_count; i++)
    if (!read_function(b, fields, i)) return false;
  return fnabi_fb_tables(&b->fb, &b->root, &fields[MODULE_RODATA], &place,
                         &b->rodata_count) &&
         read_state(b, &fields[MODULE_STATE]);
}

bool fnabi_bytecode_read_code(fnabi_bytecode* b, const char* data,
                              size_t size) {
  const fnabi_fb_field* fields = fnabi_vmfb_table.fields;
  for (size_t i = 0; i < b->function_count; i++) read_descriptor(b, fields, i);
  return read_rodata(b, &fields[MODULE_RODATA], (const uint8_t*)data, size);
}

bool fnabi_bytecode_name_functions(fnabi_bytecode* b) {
  const fnabi_fb_field* fields = fnabi_vmfb_table.fields;
  return read_exports(b, &fields[MODULE_EXPORTS]) &&
         read_debug(b, &fields[MODULE_DEBUG]);
}

bool fnabi_bytecode_name_types(fnabi_bytecode* b) {
  const fnabi_fb_field* fields = fnabi_vmfb_table.fields;
  for (size_t i = 0; i < b->type_count; i++)
    if (!read_type(b, &fields[MODULE_TYPES], i)) return false;
  return true;
}

bool fnabi_bytecode_open(fnabi_bytecode* b, const char* data, size_t size,
                         fnabi_error* error) {
  const fnabi_fb_field* fields = fnabi_vmfb_table.fields;
  return fnabi_bytecode_open_unnamed(b, data, size, error) &&
         fnabi_bytecode_name_functions(b) && fnabi_bytecode_name_types(b) &&
         read_rodata(b, &fields[MODULE_RODATA], (const uint8_t*)data, size);
}

static void clear_functions(fnabi_bytecode* b, size_t begin, size_t end) {
  memset(b->functions + begin, 0, (end - begin) * sizeof *b->functions);
}

/* Reads the target of an operand of a function. Sets *calls if it is a function,
 * and clears the others at the first one. */
static bool read_referred(fnabi_bytecode* b, const fnabi_operand* operand,
                          size_t ordinal, bool* calls) {
  const fnabi_fb_field* fields = fnabi_vmfb_table.fields;
  uint64_t index = operand->value & ~(uint64_t)FNABI_CALLEE_IMPORT;
  switch (operand->kind) {
    case 't':
      return operand->value >= b->type_count ||
             read_type(b, &fields[MODULE_TYPES], (size_t)operand->value);
    case 'c':
    case 'C':
      if ((operand->value & FNABI_CALLEE_IMPORT) != 0)
        return index >= b->import_count || b->imports[index].readable ||
               read_import(b, (size_t)index, &b->imports[index]);
      if (!*calls) {
        clear_functions(b, 0, ordinal);
        clear_functions(b, ordinal + 1, b->function_count);
      }
      *calls = true;
      return index >= b->function_count || b->functions[index].place != 0 ||
             read_function(b, fields, (size_t)index);
    default:
      return true;
  }
}

bool fnabi_bytecode_open_function(fnabi_bytecode* b, const char* data,
                                  size_t size, uint64_t ordinal,
                                  fnabi_error* error) {
  const fnabi_fb_field* fields = fnabi_vmfb_table.fields;
  fnabi_instruction at;
  fnabi_error later; /* the caller decodes the instructions and reports it */
  bool calls = false;
  /* to clear thousands of functions takes longer than to read one */
  if (!begin(b, data, size, NULL, error) || !make_all(b, false)) return false;
  if (!fnabi_bytecode_known(b, &later) || ordinal >= b->function_count)
    return true;
  clear_functions(b, (size_t)ordinal, (size_t)ordinal + 1);
  if (!read_function(b, fields, (size_t)ordinal)) return false;
  const fnabi_bytecode_view* view = &b->functions[ordinal].view;
  for (uint32_t o = 0; o < view->size; o = at.next) {
    if (!fnabi_bytecode_decode(view, o, &at, &later)) break;
    for (int i = 0; i < at.count; i++)
      if (!read_referred(b, &at.operands[i], (size_t)ordinal, &calls))
        return false;
  }
  return !calls || fnabi_bytecode_name_functions(b);
}

void fnabi_bytecode_close(fnabi_bytecode* b) {
  free(b->types);
  free(b->imports);
  free(b->functions);
  free(b->rodata);
}

bool fnabi_bytecode_known(const fnabi_bytecode* b, fnabi_error* error) {
  if (b->major >= 15 && b->major <= 17 && b->minor == 0) return true;
  fnabi_fail(error, FNABI_BYTECODE_VERSION, b->version_place,
             "15.0, 16.0 or 17.0");
  return false;
}

const fnabi_callee* fnabi_bytecode_callee(const fnabi_bytecode* b,
                                          uint64_t value) {
  uint64_t ordinal = value & ~(uint64_t)FNABI_CALLEE_IMPORT;
  if ((value & FNABI_CALLEE_IMPORT) != 0)
    return ordinal < b->import_count ? &b->imports[ordinal] : NULL;
  return ordinal < b->function_count ? &b->functions[ordinal].callee : NULL;
}
