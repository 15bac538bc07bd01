/* Decodes from bytecode what a module needs to run: devices and their
 * executable formats, executables, and parameters. */
#include "vmfb/needs.h"

#include "base/error.h"
#include "vmfb/bytecode_reach.h"

/* The lists of the message, in order; stores are in none of them. */
typedef enum list_kind {
  QUERIES,   /* hal.device.query.i64: device, category, key
                hal_loader.executable.query_support: format */
  CREATIONS, /* hal.executable.create: device, [affinity], format, data...
                hal_loader.executable.load: format, data, constants */
  LOOKUPS,   /* *.executable.lookup.function: executable, name */
  ACCESSES,  /* io_parameters.*: ..., scope, ..., keys, spans */
  FAILURES,  /* fail, with a text that names a device target */
  LISTS,
  STORES = LISTS,
  NO_LIST
} list_kind;

/* The category of a query of the module hal_loader, which has none of its own. */
static const char loader[] = "hal_loader";
enum { LOADER = -1 };

enum { OPERANDS = 4 }; /* the most that a rule decodes */

/* The imports that are evaluated, with the calling conventions of all versions
 * and the operands to decode. */
typedef struct import_rule {
  fnabi_text name;
  const char* arguments; /* NULL: any other; the operands are unknown */
  list_kind list;
  int operands[OPERANDS];
} import_rule;

/* Operands count registers, so an i64 counts as one. */
static const import_rule rules[] = {
    {FNABI_TEXT("hal.device.query.i64"), "rrr", QUERIES, {1, 2}},
    {FNABI_TEXT("hal_loader.executable.query_support"),
     "r",
     QUERIES,
     {LOADER, 0}},
    {FNABI_TEXT("hal.executable.create"), "rIrrr", CREATIONS, {2, 3}},
    {FNABI_TEXT("hal.executable.create"), "rrrr", CREATIONS, {1, 2}},
    {FNABI_TEXT("hal.executable.create"), "rrrrCrD", CREATIONS, {1, 2}},
    {FNABI_TEXT("hal.executable.create"), NULL, CREATIONS, {0}},
    {FNABI_TEXT("hal_loader.executable.load"), "rrr", CREATIONS, {0, 1}},
    {FNABI_TEXT("hal_loader.executable.load"), NULL, CREATIONS, {0}},
    {FNABI_TEXT("hal.executable.lookup.function"), "rr", LOOKUPS, {0, 1}},
    {FNABI_TEXT("hal_loader.executable.lookup.function"),
     "rr",
     LOOKUPS,
     {0, 1}},
    {FNABI_TEXT("io_parameters.load"), "rIrrrIiirrr", ACCESSES, {4, 8, 9, 10}},
    {FNABI_TEXT("io_parameters.gather"), "rIrrrrrrr", ACCESSES, {4, 6, 7, 8}},
    {FNABI_TEXT("io_parameters.scatter"), "rIrrrrrrr", ACCESSES, {5, 6, 7, 8}},
    {FNABI_TEXT("io_parameters.load"), NULL, ACCESSES, {0}},
    {FNABI_TEXT("io_parameters.gather"), NULL, ACCESSES, {0}},
    {FNABI_TEXT("io_parameters.scatter"), NULL, ACCESSES, {0}},
    {FNABI_TEXT("io_parameters.read"), NULL, ACCESSES, {0}},
    {FNABI_TEXT("io_parameters.write"), NULL, ACCESSES, {0}},
};
enum { RULES = sizeof rules / sizeof *rules, PREFIX = 14 /* io_parameters. */ };

/* An executable.create, and the globals that store its executable. */
typedef struct creation {
  uint32_t function, instruction; /* the latter an index */
  uint32_t global;                /* UINT32_MAX: none */
} creation;

/* An instruction that is evaluated. */
typedef struct site {
  uint32_t function, offset, index;
  uint32_t block; /* offset of the marker of its block */
  uint32_t list;
} site;

typedef struct needs {
  fnabi_bytecode* b;
  fnabi_reach reach;
  fnabi_writer* w;
  uint32_t wanted; /* bits: the lists to fill */
  fnabi_needs_memory* m;
  fnabi_error* error;
} needs;

static bool is_text(fnabi_text text, const char* other) {
  return text.size == strlen(other) && memcmp(text.data, other, text.size) == 0;
}

/* The sizes of the names of all wanted rules, as bits. Most imports have another
 * one, and no rule has 64 or more. */
static uint64_t sizes_of_names(uint32_t wanted) {
  uint64_t sizes = 0;
  for (int k = 0; k < RULES; k++)
    sizes |= (uint64_t)(wanted >> rules[k].list & 1) << rules[k].name.size;
  return sizes;
}

/* Finds the wanted rule of an import, whose calling convention is read only if some
 * rule has its name. */
static bool find_rule(needs* n, size_t index, uint64_t sizes, uint8_t* found) {
  fnabi_callee import = {.readable = false};
  bool read = false;
  *found = RULES;
  if (!fnabi_bytecode_read_import(n->b, index, true, &import)) return false;
  if (import.name.size >= 64 || (sizes >> import.name.size & 1) == 0)
    return true;
  for (uint8_t k = 0; k < RULES && *found == RULES; k++) {
    if ((n->wanted >> rules[k].list & 1) == 0 ||
        !fnabi_text_equal(import.name, rules[k].name))
      continue;
    if (!read && !fnabi_bytecode_read_import(n->b, index, false, &import))
      return false;
    read = true;
    if (rules[k].arguments == NULL ||
        (import.readable && is_text(import.arguments, rules[k].arguments)))
      *found = k;
  }
  return true;
}

/* Finds the rule of each import, if it is for a wanted list. Sets *any if there
 * is one. */
static bool find_rules(needs* n, bool* any) {
  const uint64_t sizes = sizes_of_names(n->wanted);
  *any = false;
  if (!fnabi_vector_reserve(&n->m->rules, n->b->import_count + 1)) {
    fnabi_fail(n->error, FNABI_MEMORY, 0, NULL);
    return false;
  }
  for (size_t i = 0; i < n->b->import_count; i++) {
    uint8_t found;
    if (!find_rule(n, i, sizes, &found)) return false;
    n->m->rules.data[n->m->rules.size++] = found;
    *any = *any || found != RULES;
  }
  return true;
}

/* Returns the rule of an instruction with this callee, or NULL. */
static const import_rule* rule_of(const needs* n, uint64_t callee) {
  if ((callee & FNABI_CALLEE_IMPORT) == 0) return NULL;
  callee &= ~(uint64_t)FNABI_CALLEE_IMPORT;
  if (callee >= n->m->rules.size || n->m->rules.data[callee] == RULES)
    return NULL;
  return &rules[n->m->rules.data[callee]];
}

/* Finds the contents of ref registers before the instruction of a site. Most are
 * loaded in the same block; then the rest of the function is not analysed. */
static bool find_references(needs* n, const site* s, const uint32_t* regs,
                            unsigned count, fnabi_reference* found) {
  const fnabi_function* f = &n->b->functions[s->function];
  fnabi_reach_loaded(f, s->block, s->offset, regs, count, found);
  for (unsigned i = 0; i < count; i++) {
    if (found[i].kind != FNABI_REFERENCE_UNKNOWN) continue;
    if (n->reach.function != f &&
        !fnabi_reach_open(&n->reach, f, &n->b->fb.work, n->error)) {
      n->reach.function = NULL;
      return false;
    }
    if (!fnabi_reach_find(&n->reach, s->index, regs[i], &found[i], n->error))
      return false;
  }
  return true;
}

/* Finds the operands of the rule from `first` up to `end`: references. */
static bool find_operands(needs* n, const fnabi_instruction* at, const site* s,
                          const import_rule* rule, unsigned first, unsigned end,
                          fnabi_reference found[OPERANDS]) {
  uint32_t regs[OPERANDS];
  unsigned places[OPERANDS], count = 0;
  fnabi_reference some[OPERANDS];
  const fnabi_operand* list = at->operands;
  while (list->kind != '*') list++; /* every call has arguments */
  for (unsigned i = first; i < end; i++) {
    found[i] = (fnabi_reference){FNABI_REFERENCE_UNKNOWN, 0};
    uint32_t place = (uint32_t)rule->operands[i];
    if (rule->arguments == NULL || place >= list->count) continue;
    unsigned reg = fnabi_operand_item(list, place);
    if ((reg & FNABI_REGISTER_REF) == 0) continue;
    regs[count] = reg & FNABI_REGISTER_REF_NUMBER;
    places[count++] = i;
  }
  if (!find_references(n, s, regs, count, some)) return false;
  for (unsigned k = 0; k < count; k++) found[places[k]] = some[k];
  return true;
}

static bool spend(needs* n, uint64_t bytes) {
  return fnabi_fb_spend(&n->b->fb, bytes, 0);
}

/* Notes a segment whose bytes are not inside the data. */
static bool note_missing(needs* n, uint32_t ordinal) {
  const fnabi_rodata* segment = &n->b->rodata[ordinal];
  fnabi_missing entry = {ordinal, segment->offset, segment->size};
  const fnabi_missing* all = (const void*)n->m->missing.data;
  size_t count = n->m->missing.size / sizeof entry;
  if (!spend(n, count)) return false;
  for (size_t i = 0; i < count; i++)
    if (all[i].ordinal == ordinal) return true;
  if (fnabi_vector_append(&n->m->missing, &entry, sizeof entry)) return true;
  fnabi_fail(n->error, FNABI_MEMORY, 0, NULL);
  return false;
}

/* Finds the bytes of a segment: NULL if there is no such segment, or if its
 * bytes are missing. */
static bool find_bytes(needs* n, fnabi_reference reference,
                       const fnabi_rodata** bytes) {
  *bytes = NULL;
  if (reference.kind != FNABI_REFERENCE_RODATA ||
      reference.number >= n->b->rodata_count)
    return true;
  const fnabi_rodata* segment = &n->b->rodata[reference.number];
  if (segment->data == NULL) return note_missing(n, reference.number);
  *bytes = segment;
  return true;
}

/* Packs the text in a segment; "" for a null reference, nil if unknown. */
static bool pack_text_of(needs* n, fnabi_reference reference) {
  const fnabi_rodata* bytes;
  if (!find_bytes(n, reference, &bytes)) return false;
  if (bytes != NULL) {
    if (!spend(n, bytes->size)) return false;
    fnabi_pack_text(n->w, (const char*)bytes->data, (size_t)bytes->size);
  } else if (reference.kind == FNABI_REFERENCE_NULL) {
    fnabi_pack_string(n->w, 0);
  } else {
    fnabi_pack_nil(n->w);
  }
  return true;
}

static bool pack_query(needs* n, const fnabi_instruction* at, const site* s,
                       const import_rule* rule) {
  fnabi_reference found[OPERANDS];
  bool packed = rule->operands[0] == LOADER;
  if (packed) fnabi_pack_ascii(n->w, loader);
  return find_operands(n, at, s, rule, packed, 2, found) &&
         (packed || pack_text_of(n, found[0])) && pack_text_of(n, found[1]);
}

/* ------------------------------------------------------------- parameters
 *
 * Keys are a table of u32 offset and u32 length into the key data, and as many
 * spans of u64 parameter offset, u64 buffer offset and u64 length. */

enum { KEY_ENTRY = 8, SPAN = 24 };

static uint64_t little(const uint8_t* data, unsigned bytes) {
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; i++) value |= (uint64_t)data[i] << (8 * i);
  return value;
}

static bool fail_rodata(needs* n, fnabi_reference reference, uint64_t offset) {
  const fnabi_rodata* bytes = &n->b->rodata[reference.number];
  fnabi_fail(n->error, FNABI_MODULE_RANGE, bytes->offset + offset, NULL);
  fnabi_path_index(n->error, reference.number);
  fnabi_path_field(n->error, "rodata_segments");
  return false;
}

static bool pack_keys(needs* n, const fnabi_reference* references) {
  const fnabi_rodata* parts[3];
  for (int i = 0; i < 3; i++)
    if (!find_bytes(n, references[i], &parts[i])) return false;
  if (parts[0] == NULL || parts[1] == NULL || parts[2] == NULL) {
    fnabi_pack_nil(n->w);
    return true;
  }
  const fnabi_rodata *table = parts[0], *data = parts[1], *spans = parts[2];
  uint64_t count = table->size / KEY_ENTRY;
  if (table->size % KEY_ENTRY != 0) return fail_rodata(n, references[0], 0);
  if (spans->size % SPAN != 0 || spans->size / SPAN != count)
    return fail_rodata(n, references[2], 0);
  size_t list = fnabi_pack_open(n->w);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t offset = little(table->data + i * KEY_ENTRY, 4);
    uint64_t size = little(table->data + i * KEY_ENTRY + 4, 4);
    if (offset > data->size || size > data->size - offset)
      return fail_rodata(n, references[0], i * KEY_ENTRY);
    if (!spend(n, KEY_ENTRY + SPAN + size)) return false;
    fnabi_pack_array(n->w, 4);
    fnabi_pack_text(n->w, (const char*)data->data + offset, (size_t)size);
    for (unsigned k = 0; k < 3; k++)
      fnabi_pack_uint(n->w, little(spans->data + i * SPAN + k * 8, 8));
  }
  fnabi_pack_close(n->w, list, (size_t)count);
  return true;
}

static bool pack_access(needs* n, const fnabi_instruction* at, const site* s,
                        const import_rule* rule) {
  fnabi_reference found[OPERANDS];
  fnabi_pack_ascii(n->w, rule->name.data + PREFIX);
  return find_operands(n, at, s, rule, 0, OPERANDS, found) &&
         pack_text_of(n, found[0]) && pack_keys(n, found + 1);
}

/* ------------------------------------------------------------ executables */

static bool pack_creation(needs* n, const fnabi_instruction* at, const site* s,
                          const import_rule* rule) {
  fnabi_reference found[OPERANDS];
  if (!find_operands(n, at, s, rule, 0, 2, found) || !pack_text_of(n, found[0]))
    return false;
  if (found[1].kind == FNABI_REFERENCE_RODATA)
    fnabi_pack_uint(n->w, found[1].number);
  else
    fnabi_pack_nil(n->w);
  return true;
}

/* Returns the index of the executable that a reference holds, or UINT32_MAX. A
 * call is one of the same function. */
static uint32_t executable_of(const needs* n, fnabi_reference reference,
                              uint32_t function) {
  const creation* all = (const creation*)(const void*)n->m->creations.data;
  uint32_t count = (uint32_t)(n->m->creations.size / sizeof *all);
  uint32_t found = UINT32_MAX;
  for (uint32_t i = 0; i < count; i++) {
    bool same = reference.kind == FNABI_REFERENCE_GLOBAL
                    ? all[i].global == reference.number
                    : reference.kind == FNABI_REFERENCE_CALL &&
                          all[i].function == function &&
                          all[i].instruction == reference.number;
    if (same && found != UINT32_MAX) return UINT32_MAX; /* either */
    if (same) found = i;
  }
  return found;
}

static bool pack_lookup(needs* n, const fnabi_instruction* at, const site* s,
                        const import_rule* rule) {
  fnabi_reference found[OPERANDS];
  if (!find_operands(n, at, s, rule, 0, 2, found) ||
      !spend(n, n->m->creations.size / sizeof(creation)))
    return false;
  uint32_t executable = executable_of(n, found[0], s->function);
  if (executable == UINT32_MAX)
    fnabi_pack_nil(n->w);
  else
    fnabi_pack_uint(n->w, executable);
  return pack_text_of(n, found[1]);
}

/* Records the global that an executable is stored in. */
static bool note_store(needs* n, const fnabi_instruction* at, const site* s) {
  fnabi_reference stored;
  const fnabi_operand* source = &at->operands[at->count - 1];
  uint32_t reg = (uint32_t)source->value & FNABI_REGISTER_REF_NUMBER;
  if (!find_references(n, s, &reg, 1, &stored) ||
      !spend(n, n->m->creations.size / sizeof(creation)))
    return false;
  if (stored.kind == FNABI_REFERENCE_CALL) {
    uint32_t found = executable_of(n, stored, s->function);
    if (found != UINT32_MAX)
      ((creation*)(void*)n->m->creations.data)[found].global =
          (uint32_t)at->operands[0].value;
  }
  return true;
}

/* ---------------------------------------------------------------- functions */

enum { MARKER_SIZE = 19 };
static const char marker[] = "#hal.device.target<";

static bool names_target(const fnabi_operand* text) {
  for (uint32_t i = 0; i + MARKER_SIZE <= text->count; i++)
    if (memcmp(text->items + i, marker, MARKER_SIZE) == 0) return true;
  return false;
}

static uint32_t callee_at(const fnabi_bytecode_view* view, uint32_t offset) {
  return (uint32_t)little(view->code + offset + 1, 4);
}

/* Returns the list of the instruction at `offset`, or NO_LIST. */
static uint32_t list_of(const needs* n, const fnabi_bytecode_view* view,
                        uint32_t offset) {
  switch (view->code[offset]) {
    case FNABI_OP_GLOBAL_STORE_REF:
      return STORES;
    case FNABI_OP_FAIL: {
      fnabi_instruction at;
      fnabi_error ignored;
      return (n->wanted >> FAILURES & 1) != 0 &&
                     fnabi_bytecode_decode(view, offset, &at, &ignored) &&
                     names_target(&at.operands[at.count - 1])
                 ? FAILURES
                 : NO_LIST;
    }
    case FNABI_OP_CALL:
    case FNABI_OP_CALL_VARIADIC:
    case FNABI_OP_CALL_YIELDABLE:
    case FNABI_OP_CALL_VARIADIC_YIELDABLE: {
      const import_rule* rule = rule_of(n, callee_at(view, offset));
      return rule == NULL ? NO_LIST : rule->list;
    }
    default:
      return NO_LIST;
  }
}

static bool find_sites(needs* n, uint32_t function) {
  const fnabi_bytecode_view* view = &n->b->functions[function].view;
  uint32_t index = 0, block = 0, size;
  /* the last byte is no site, and may be an unused one */
  for (uint32_t o = 0; o + 1 < view->size; o += size, index++) {
    size = fnabi_bytecode_measure(view, o, &n->m->sizes, n->error);
    if (size == 0) return false;
    if (view->code[o] == FNABI_OP_BLOCK) block = o;
    uint32_t list = list_of(n, view, o);
    if (list > STORES || (n->wanted >> list & 1) == 0) continue;
    site s = {function, o, index, block, list};
    creation c = {function, index, UINT32_MAX};
    if (!fnabi_vector_append(&n->m->sites, &s, sizeof s) ||
        (s.list == CREATIONS &&
         !fnabi_vector_append(&n->m->creations, &c, sizeof c))) {
      fnabi_fail(n->error, FNABI_MEMORY, 0, NULL);
      return false;
    }
  }
  return true;
}

/* Whether a function may have an instruction with a rule. Some of the bytes that
 * are compared are not instructions. */
static bool may_call(const needs* n, const fnabi_bytecode_view* view) {
  static const uint8_t calls[] = {FNABI_OP_CALL, FNABI_OP_CALL_VARIADIC,
                                  FNABI_OP_CALL_YIELDABLE,
                                  FNABI_OP_CALL_VARIADIC_YIELDABLE};
  enum { SIZE = 5 }; /* of the number and the callee */
  size_t count = view->major >= 17 ? 4 : 2;
  if (view->size < SIZE) return false;
  const uint8_t* end = view->code + view->size - SIZE + 1;
  for (size_t i = 0; i < count; i++)
    for (const uint8_t* at = view->code;
         at < end && (at = memchr(at, calls[i], (size_t)(end - at))) != NULL;
         at++)
      if (rule_of(n, little(at + 1, 4)) != NULL) return true;
  return false;
}

static bool decode_site(needs* n, const site* s, fnabi_instruction* at) {
  return fnabi_bytecode_decode(&n->b->functions[s->function].view, s->offset,
                               at, n->error);
}

static bool pack_row(needs* n, const site* s) {
  fnabi_instruction at;
  if (!decode_site(n, s, &at)) return false;
  const import_rule* rule = rule_of(n, at.operands[0].value);
  const fnabi_operand* last = &at.operands[at.count - 1];
  fnabi_pack_array(n->w, s->list == FAILURES ? 3 : s->list == ACCESSES ? 5 : 4);
  fnabi_pack_uint(n->w, s->function);
  fnabi_pack_uint(n->w, s->offset);
  switch (s->list) {
    case QUERIES:
      return pack_query(n, &at, s, rule);
    case CREATIONS:
      return pack_creation(n, &at, s, rule);
    case LOOKUPS:
      return pack_lookup(n, &at, s, rule);
    case ACCESSES:
      return pack_access(n, &at, s, rule);
    default:
      if (!spend(n, last->count)) return false;
      fnabi_pack_text(n->w, (const char*)last->items, last->count);
      return true;
  }
}

static bool fail_in(needs* n, uint32_t function) {
  if (n->error->path[0] != 0) return false; /* it is in a segment */
  fnabi_path_index(n->error, function);
  fnabi_path_field(n->error, "function_descriptors");
  return false;
}

static bool pack_all(needs* n) {
  bool only_calls = (n->wanted >> FAILURES & 1) == 0;
  for (uint32_t i = 0; i < n->b->function_count; i++) {
    if (only_calls && !may_call(n, &n->b->functions[i].view)) continue;
    if (!find_sites(n, i)) return fail_in(n, i);
  }
  const site* sites = (const site*)(const void*)n->m->sites.data;
  size_t count = n->m->sites.size / sizeof *sites;
  for (size_t i = 0; n->m->creations.size != 0 && i < count; i++) {
    fnabi_instruction at;
    if (sites[i].list == STORES &&
        (!decode_site(n, &sites[i], &at) || !note_store(n, &at, &sites[i])))
      return fail_in(n, sites[i].function);
  }
  fnabi_pack_array(n->w, LISTS + 1);
  for (uint32_t list = 0; list < LISTS; list++) {
    size_t place = fnabi_pack_open(n->w), rows = 0;
    for (size_t i = 0; i < count; i++) {
      if (sites[i].list != list) continue;
      if (!pack_row(n, &sites[i])) return fail_in(n, sites[i].function);
      rows++;
    }
    fnabi_pack_close(n->w, place, rows);
  }
  const fnabi_missing* missing = (const void*)n->m->missing.data;
  count = n->m->missing.size / sizeof *missing;
  fnabi_pack_count(n->w, count);
  for (size_t i = 0; i < count; i++) fnabi_pack_uint(n->w, missing[i].ordinal);
  return true;
}

/* Reads a message of segments; with tables, takes the bytes of those that are
 * not inside the data. */
static bool read_segments(fnabi_text segments, fnabi_bytecode* b,
                          fnabi_error* error) {
  fnabi_reader r = {(const uint8_t*)segments.data, segments.size, 0};
  size_t count = 0, members;
  if (segments.size != 0 && !fnabi_unpack_array(&r, &count)) goto refuse;
  for (; count > 0; count--) {
    int64_t ordinal;
    fnabi_text bytes;
    if (!fnabi_unpack_array(&r, &members) || members != 2 ||
        !fnabi_unpack_int(&r, &ordinal) ||
        !fnabi_unpack_text(&r, &bytes.data, &bytes.size))
      goto refuse;
    if (b == NULL || ordinal < 0 || (uint64_t)ordinal >= b->rodata_count)
      continue;
    fnabi_rodata* segment = &b->rodata[ordinal];
    if (segment->data == NULL && segment->size == bytes.size)
      segment->data = (const uint8_t*)bytes.data;
  }
  if (r.at == segments.size) return true;
refuse:
  fnabi_fail(error, FNABI_MESSAGE, r.at, "segments");
  return false;
}

bool fnabi_needs_are_segments(fnabi_text segments, fnabi_error* error) {
  return read_segments(segments, NULL, error);
}

/* Packs the message with the lists whose bits are in `wanted`; the others are
 * empty. The code of a module whose imports have no wanted rule is not read and,
 * without FAILURES, neither is that of a function without such calls. `known` is
 * as for fnabi_vmfb_begin. */
static int64_t write_needs(const char* data, size_t size, const fnabi_fb* known,
                           fnabi_text segments, uint32_t wanted,
                           fnabi_needs_memory* memory, uint8_t* out,
                           size_t capacity, fnabi_error* error) {
  fnabi_writer w = {out, capacity, 0};
  fnabi_bytecode b;
  needs n = {.b = &b, .w = &w, .wanted = wanted, .m = memory, .error = error};
  bool any;
  memory->missing.size = memory->rules.size = 0;
  memory->sites.size = memory->creations.size = 0;
  bool ok = fnabi_bytecode_open_tables(&b, data, size, known, error) &&
            fnabi_bytecode_known(&b, error) && find_rules(&n, &any);
  if (ok && !any) b.function_count = 0;
  if (ok && memory->major != b.major) {
    memory->major = b.major;
    memory->sizes = (fnabi_bytecode_sizes){{0}};
  }
  ok = ok && (!any || fnabi_bytecode_read_code(&b, data, size)) &&
       read_segments(segments, &b, error);
  /* from here on also the steps of fnabi_reach */
  b.fb.work = 64 * ((uint64_t)size + segments.size) + (1 << 16);
  ok = ok && pack_all(&n);
  fnabi_reach_close(&n.reach);
  fnabi_bytecode_close(&b);
  return ok ? (int64_t)w.size : -1;
}

void fnabi_needs_shrink(fnabi_needs_memory* memory, size_t kept) {
  fnabi_vector_shrink(&memory->message, kept);
  fnabi_vector_shrink(&memory->missing, kept);
  fnabi_vector_shrink(&memory->rules, kept);
  fnabi_vector_shrink(&memory->sites, kept);
  fnabi_vector_shrink(&memory->creations, kept);
  for (int i = 0; i < 3; i++) fnabi_vector_shrink(&memory->texts[i], kept);
}

int64_t fnabi_vmfb_needs(const char* data, size_t size, uint8_t* out,
                         size_t capacity, fnabi_error* error) {
  return fnabi_vmfb_needs_with(data, size, NULL, 0, out, capacity, error);
}

int64_t fnabi_vmfb_needs_with(const char* data, size_t size,
                              const uint8_t* segments, size_t segments_size,
                              uint8_t* out, size_t capacity,
                              fnabi_error* error) {
  fnabi_needs_memory memory = {0};
  fnabi_text given = {(const char*)segments, segments_size};
  int64_t needed = write_needs(data, size, NULL, given, UINT32_MAX, &memory,
                               out, capacity, error);
  fnabi_needs_shrink(&memory, 0);
  return needed;
}

/* -------------------------------------------------------------------- texts */

enum { TARGET_SIZE = 4096 }; /* longer data is not a text */
enum { DEVICES, FORMATS, PARAMETERS };

/* Adds a name to a list unless the list contains it. */
static bool add_once(fnabi_vector* list, fnabi_text name) {
  const char* all = (const char*)list->data;
  for (size_t at = 0; at < list->size;) {
    const char* end = memchr(all + at, ',', list->size - at);
    size_t size = end == NULL ? list->size - at : (size_t)(end - all) - at;
    if (size == name.size && memcmp(all + at, name.data, size) == 0)
      return true;
    at += size + 1;
  }
  if (list->size + name.size > TARGET_SIZE) return true;
  if (!fnabi_vector_reserve(list, 1 + name.size)) return false;
  if (list->size != 0) fnabi_vector_append(list, ",", 1);
  fnabi_vector_append(list, name.data, name.size);
  return true;
}

/* Reads the first list: the devices and their executable formats. */
static bool read_queries(fnabi_reader* r, fnabi_vector* devices,
                         fnabi_vector* formats) {
  for (size_t count = fnabi_read_array(r); count > 0; count--) {
    fnabi_read_array(r);
    fnabi_read_past(r, 2); /* the function and the offset */
    fnabi_text category = fnabi_read_text(r), key = fnabi_read_text(r);
    if (category.data == NULL || key.data == NULL) continue;
    bool device = is_text(category, "hal.device.id");
    if (device && key.size > 0 && key.data[key.size - 1] == '*') key.size--;
    bool loaded = is_text(category, loader);
    if (loaded && !add_once(devices, category)) return false;
    if ((device || loaded || is_text(category, "hal.executable.format")) &&
        !add_once(device ? devices : formats, key))
      return false;
  }
  return true;
}

/* Reads the fourth list: the parameters. */
static bool read_parameters(fnabi_reader* r, fnabi_vector* names) {
  for (size_t count = fnabi_read_array(r); count > 0; count--) {
    fnabi_read_array(r);
    fnabi_read_past(r, 3); /* the function, the offset and the access */
    fnabi_text scope = fnabi_read_text(r);
    if (fnabi_unpack_nil(r)) continue;
    for (size_t keys = fnabi_read_array(r); keys > 0; keys--) {
      fnabi_read_array(r);
      fnabi_text key = fnabi_read_text(r);
      fnabi_read_past(r, 3); /* the offsets and the length */
      if (!fnabi_vector_reserve(names, scope.size + key.size + 4)) return false;
      if (names->size != 0) fnabi_vector_append(names, ", ", 2);
      if (scope.size != 0) {
        fnabi_vector_append(names, scope.data, scope.size);
        fnabi_vector_append(names, "::", 2);
      }
      fnabi_vector_append(names, key.data, key.size);
    }
  }
  return true;
}

static fnabi_text text_in(const fnabi_vector* v) {
  return v->size == 0 ? (fnabi_text){NULL, 0}
                      : (fnabi_text){(const char*)v->data, v->size};
}

bool fnabi_needs_texts(const char* data, size_t size, const fnabi_fb* known,
                       fnabi_text segments, fnabi_needs_memory* memory,
                       fnabi_text* target, fnabi_text* parameters) {
  fnabi_error error;
  fnabi_vector *message = &memory->message, *texts = memory->texts;
  *target = *parameters = (fnabi_text){NULL, 0};
  int64_t needed;
  const uint32_t wanted = 1u << QUERIES | 1u << ACCESSES;
  while ((needed = write_needs(data, size, known, segments, wanted, memory,
                               message->data, message->capacity, &error)) >
         (int64_t)message->capacity)
    if (!fnabi_vector_reserve(message, (size_t)needed)) return false;
  if (needed < 0)
    return error.code != FNABI_MEMORY && error.code != FNABI_INTERRUPTED;
  for (int i = 0; i < 3; i++) texts[i].size = 0;
  fnabi_reader r = {message->data, (size_t)needed, 0};
  fnabi_read_array(&r);
  if (!read_queries(&r, &texts[DEVICES], &texts[FORMATS])) return false;
  fnabi_read_past(&r, 2); /* the executables and their functions */
  if (!read_parameters(&r, &texts[PARAMETERS])) return false;
  if (texts[FORMATS].size != 0 &&
      !(fnabi_vector_append(&texts[DEVICES], " ", 1) &&
        fnabi_vector_append(&texts[DEVICES], texts[FORMATS].data,
                            texts[FORMATS].size)))
    return false;
  *target = text_in(&texts[DEVICES]);
  *parameters = text_in(&texts[PARAMETERS]);
  return true;
}
