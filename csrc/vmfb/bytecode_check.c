/* Verifies the bytecode of a module: finds what the official runtime refuses to
 * load, and what it loads although a call can crash or hang. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "vmfb/bytecode.h"
#include "vmfb/bytecode_accept.h"

#define FINDINGS 1000 /* that are listed; the others are counted */
#define DETAIL 80
/* The most registers of each bank: the runtime rounds more than that up to
 * beyond its limits, 0x7FFF and 0x3FFF. */
#define VALUES_MOST 0x4000
#define REFS_MOST 0x2000

/* In ascending order. */
typedef enum severity { NOTICE, UNSAFE, ERROR } severity;
static const char* const severity_names[] = {"notice", "unsafe", "error"};

typedef struct check {
  fnabi_bytecode* b;
  fnabi_writer* w; /* NULL: findings are only counted */
  size_t findings, left_out;
  severity worst_left_out;
  /* of a function, a bit for each byte; in one array */
  uint8_t *markers, *targets;
  /* the function that is checked, and its state */
  size_t ordinal;
  const fnabi_function* f;
  severity single; /* of errors in single operands; some runtimes ignore them */
  uint32_t blocks;
  const fnabi_instruction* at; /* NULL outside of instructions */
  bool sound;
  fnabi_acceptor* fast;
} check;

/* ----------------------------------------------------------------- findings */

static void pack_text_or_nil(fnabi_writer* w, fnabi_text text) {
  if (text.data == NULL)
    fnabi_pack_nil(w);
  else
    fnabi_pack_text(w, text.data, text.size);
}

static void pack_head(check* c, severity how, int32_t code, uint64_t offset,
                      const char* part, const char* detail) {
  fnabi_error path = {0};
  char text[160];
  if (part != NULL) fnabi_path_field(&path, part);
  if (c->f != NULL) {
    if (part != NULL) fnabi_path_field(&path, ".");
    fnabi_path_index(&path, c->ordinal);
    fnabi_path_field(&path, "function_descriptors");
  }
  int size = snprintf(text, sizeof text, "%s%s%s", fnabi_code_text(code),
                      *detail == 0 ? "" : ": ", detail);
  fnabi_pack_array(c->w, 9);
  fnabi_pack_ascii(c->w, fnabi_code_name(code));
  fnabi_pack_uint(c->w, offset);
  fnabi_pack_text(c->w, path.path, strlen(path.path));
  fnabi_pack_text(c->w, text, (size_t)size);
  fnabi_pack_ascii(c->w, severity_names[how]);
}

/* Reports a finding about the part of the file at `offset`. */
static bool report(check* c, severity how, int32_t code, uint64_t offset,
                   const char* part, const char* detail) {
  if (how != NOTICE) c->sound = false;
  if (c->w == NULL) return true;
  if (c->findings >= FINDINGS) {
    c->left_out++;
    if (how > c->worst_left_out) c->worst_left_out = how;
    return true;
  }
  if (c->findings++ == 0 && !fnabi_bytecode_name_functions(c->b)) return false;
  size_t before = c->w->size;
  pack_head(c, how, code, offset, part, detail);
  if (c->f == NULL) {
    fnabi_pack_nil(c->w);
    fnabi_pack_nil(c->w);
  } else {
    fnabi_pack_uint(c->w, c->ordinal);
    pack_text_or_nil(c->w, c->f->callee.name);
  }
  if (c->at == NULL) {
    fnabi_pack_nil(c->w);
    fnabi_pack_nil(c->w);
  } else {
    fnabi_pack_uint(c->w, c->at->offset);
    if (c->at->op == NULL)
      fnabi_pack_nil(c->w);
    else
      fnabi_pack_ascii(c->w, c->at->op->name);
  }
  return fnabi_fb_spend(&c->b->fb, c->w->size - before, 0);
}

/* Reports a finding about the descriptor of the function. */
static bool report_function(check* c, severity how, int32_t code, unsigned at,
                            const char* part, const char* detail) {
  return report(c, how, code, c->f->place + at, part, detail);
}

/* Reports a finding about an offset in the function. */
static bool report_at(check* c, severity how, int32_t code, uint32_t offset,
                      const char* detail) {
  return report(c, how, code, c->f->view.origin + offset, NULL, detail);
}

static bool report_number(check* c, severity how, int32_t code, uint32_t offset,
                          uint64_t number, uint64_t limit) {
  char detail[DETAIL];
  snprintf(detail, sizeof detail, "%" PRIu64 ", expected below %" PRIu64,
           number, limit);
  return report_at(c, how, code, offset, detail);
}

static bool report_left_out(check* c) {
  char detail[DETAIL];
  snprintf(detail, sizeof detail, "%zu", c->left_out);
  c->f = NULL;
  c->at = NULL;
  c->findings--; /* beyond the limit, and counted below */
  bool ok = report(c, c->worst_left_out, FNABI_BYTECODE_MORE, 0, NULL, detail);
  c->findings++;
  return ok;
}

/* ---------------------------------------------------------------- registers */

/* The registers of a bank as the runtime rounds them: the power of two that is
 * not less. */
static uint32_t round_up(int16_t count) {
  uint32_t ones = count > 1 ? (uint32_t)count - 1 : 0;
  for (unsigned bits = 1; bits < 16; bits *= 2) ones |= ones >> bits;
  return ones + 1;
}

/* Whether a register exists in the function and has the kind of a letter of the
 * table; 0 accepts either bank. */
static inline bool fits(const check* c, uint16_t value, char kind) {
  switch (kind) {
    case 'i':
    case 'f':
      return value < c->f->values;
    case 'I':
    case 'F':
      return value % 2 == 0 && value + 1 < c->f->values;
    case 'r':
      if ((value & FNABI_REGISTER_MOVE) != 0 && c->b->major > 15) return false;
      break;
    case 0:
      if ((value & FNABI_REGISTER_REF) == 0) return value < c->f->values;
      break;
  }
  return (value & FNABI_REGISTER_REF) != 0 &&
         (int32_t)(value & FNABI_REGISTER_REF_NUMBER) < c->f->refs;
}

/* Reports an invalid register. */
static bool report_register(check* c, uint16_t value, char kind, severity how,
                            uint32_t offset) {
  char detail[DETAIL];
  bool is_ref = (value & FNABI_REGISTER_REF) != 0;
  bool wants_ref = kind == 'r' || kind == 'R' || (kind == 0 && is_ref);
  if (is_ref != wants_ref) {
    snprintf(detail, sizeof detail, "expected a %s register",
             wants_ref ? "ref" : "value");
    return report_at(c, how, FNABI_BYTECODE_BANK, offset, detail);
  }
  bool wide = kind == 'I' || kind == 'F';
  uint32_t number = is_ref ? value & FNABI_REGISTER_REF_NUMBER : value;
  int16_t exact = is_ref ? c->f->refs : c->f->values;
  uint32_t limit = round_up(exact);
  if (wide && number % 2 != 0) {
    snprintf(detail, sizeof detail, "%%i%" PRIu32, number);
    if (!report_at(c, how, FNABI_BYTECODE_ODD, offset, detail)) return false;
  } else if (number + wide >= limit || (int32_t)number + wide >= exact) {
    /* The runtime checks against a rounded count and allocates the exact one.
     */
    snprintf(detail, sizeof detail, "%%%c%" PRIu32 ", expected below %d",
             is_ref ? 'r' : 'i', number + wide, exact < 0 ? 0 : exact);
    if (number + wide < limit) how = UNSAFE;
    if (!report_at(c, how, FNABI_BYTECODE_REGISTER, offset, detail))
      return false;
  }
  if (kind == 'r' && (value & FNABI_REGISTER_MOVE) != 0 && c->b->major > 15)
    return report_at(c, how, FNABI_BYTECODE_MOVE, offset, "");
  return true;
}

/* `how` is the severity of a register that the runtime should refuse. */
static inline bool check_register(check* c, uint16_t value, char kind,
                                  severity how, uint32_t offset) {
  return fits(c, value, kind) || report_register(c, value, kind, how, offset);
}

/* Checks a list of registers of one kind; 0 accepts either bank. */
static bool check_list(check* c, const fnabi_operand* list, char kind) {
  for (uint32_t i = 0; i < list->count; i++)
    if (!check_register(c, fnabi_operand_item(list, i), kind, ERROR,
                        list->offset + 2 + 2 * i))
      return false;
  return true;
}

/* Checks the pairs of a remap list. The runtime copies them without checking
 * their banks. */
static bool check_remap(check* c, const fnabi_operand* remap) {
  for (uint32_t i = 0; i < remap->count; i++) {
    uint16_t source = fnabi_operand_source(remap, i);
    uint16_t target = fnabi_operand_target(remap, i);
    uint32_t offset = remap->offset + 2 + 4 * i;
    if (!check_register(c, source, 0, ERROR, offset) ||
        !check_register(c, target, 0, ERROR, offset + 2))
      return false;
    if (((source ^ target) & FNABI_REGISTER_REF) != 0 &&
        !report_at(c, UNSAFE, FNABI_BYTECODE_REMAP, offset, ""))
      return false;
  }
  return true;
}

/* -------------------------------------------------------------------- calls */

/* Checks the registers of a call or a return against a side of the calling
 * convention. */
static bool check_side(check* c, const fnabi_operand* list, fnabi_text side,
                       const fnabi_operand* segments) {
  fnabi_registers r;
  uint32_t i = 0;
  char kind;
  fnabi_registers_begin(&r, side, segments);
  while ((kind = fnabi_registers_next(&r)) != 0 && i < list->count) {
    if (!check_register(c, fnabi_operand_item(list, i),
                        kind == 'r' ? 'R' : kind, ERROR,
                        list->offset + 2 + 2 * i))
      return false;
    i++;
  }
  if (r.short_list)
    return report_at(c, ERROR, FNABI_BYTECODE_SEGMENTS,
                     segments != NULL ? segments->offset : list->offset,
                     segments != NULL ? "too few" : "none");
  if (kind != 0)
    return report_at(c, ERROR, FNABI_BYTECODE_MISSING, list->offset, "");
  if (i == list->count) return true;
  for (; i < list->count; i++)
    if (!check_register(c, fnabi_operand_item(list, i), 0, ERROR,
                        list->offset + 2 + 2 * i))
      return false;
  return report_at(c, UNSAFE, FNABI_BYTECODE_SURPLUS, list->offset, "");
}

static bool check_segments(check* c, const fnabi_operand* segments,
                           fnabi_text side) {
  uint32_t offset;
  const char* fault = fnabi_segment_misfit(segments, side, &offset);
  return fault == NULL ||
         report_at(c, NOTICE, FNABI_BYTECODE_SEGMENTS, offset, fault);
}

/* The runtime has a defect: it compares `ordinal != 0` instead of the ordinal
 * of an internal function with the number of functions. */
static severity missing_callee(const check* c, uint64_t value) {
  return (value & FNABI_CALLEE_IMPORT) != 0 || c->b->function_count < 2
             ? ERROR
             : UNSAFE;
}

/* Checks registers without a calling convention; import.resolved has none. */
static bool check_either(check* c, const fnabi_operand* lists[2]) {
  return lists[0] == NULL ||
         (check_list(c, lists[0], 0) && check_list(c, lists[1], 0));
}

static bool check_call(check* c, const fnabi_operand* callee,
                       const fnabi_operand* segments,
                       const fnabi_operand* lists[2]) {
  const fnabi_callee* called = fnabi_bytecode_callee(c->b, callee->value);
  uint64_t import = callee->value & FNABI_CALLEE_IMPORT;
  if (callee->kind == 'C' && import == 0)
    return report_at(c, ERROR, FNABI_BYTECODE_IMPORT, callee->offset, "") &&
           check_either(c, lists);
  if (called == NULL)
    return report_number(
               c, missing_callee(c, callee->value), FNABI_BYTECODE_CALLEE,
               callee->offset, callee->value ^ import,
               import != 0 ? c->b->import_count : c->b->function_count) &&
           check_either(c, lists);
  if (lists[0] == NULL) return true;
  if (!fnabi_fb_spend(&c->b->fb, called->cconv.size, 0)) return false;
  if (!called->readable)
    return report_at(c, ERROR, FNABI_BYTECODE_CCONV, callee->offset, "") &&
           check_either(c, lists);
  return check_side(c, lists[0], called->arguments, segments) &&
         check_side(c, lists[1], called->results, NULL) &&
         (segments == NULL || check_segments(c, segments, called->arguments));
}

/* ------------------------------------------------------------- instructions */

/* The bytes of a bit for each byte of code, in words of 8. */
static size_t bits_size(uint32_t code) { return (size_t)(code / 64 + 1) * 8; }

static bool is_marked(const uint8_t* bits, uint32_t offset) {
  return (bits[offset / 8] >> offset % 8 & 1) != 0;
}

static bool check_target(check* c, const fnabi_operand* target) {
  uint64_t limit = c->f->view.size;
  if (limit > FNABI_BLOCK_LIMIT) limit = FNABI_BLOCK_LIMIT;
  if (target->value >= limit)
    return report_number(c, ERROR, FNABI_BYTECODE_TARGET, target->offset,
                         target->value, limit);
  fnabi_mark(c->targets, (uint32_t)target->value);
  return true;
}

static bool check_padding(check* c, const fnabi_operand* list) {
  return !list->padded ||
         report_at(c, NOTICE, FNABI_BYTECODE_PADDING, list->offset - 1, "");
}

static bool check_cases(check* c, const fnabi_operand* cases) {
  fnabi_operand target, remap;
  uint32_t at = 0;
  while (fnabi_operand_case(cases, &at, &target, &remap)) {
    target.offset = cases->offset; /* reports use the list's offset */
    /* No padding: a remap list comes before them, which ends at an even offset. */
    if (!check_target(c, &target) || !check_remap(c, &remap)) return false;
  }
  return true;
}

/* Checks that a number is below a limit. */
static bool check_ordinal(check* c, const fnabi_operand* operand, severity how,
                          int32_t code, uint64_t limit) {
  return operand->value < limit ||
         report_number(c, how, code, operand->offset, operand->value, limit);
}

/* The runtime adds the width in 32 bits, and uses 4 bytes as the width of an
 * f64. What passes its check but is out of range is unsafe. */
static bool check_global(check* c, const fnabi_operand* operand) {
  uint64_t width = operand->kind == 'g' ? 4 : 8;
  uint64_t bytes = c->b->value_bytes;
  if (operand->value + width <= bytes) return true;
  uint32_t taken = c->at->op->op >> 8 == FNABI_PAGE_F64 ? 4 : (uint32_t)width;
  bool passes = (uint32_t)operand->value + taken <= bytes;
  return report_number(c, passes ? UNSAFE : ERROR, FNABI_BYTECODE_GLOBAL,
                       operand->offset, operand->value,
                       bytes < width ? 0 : bytes - width + 1);
}

static bool check_operand(check* c, const fnabi_operand* operand) {
  switch (operand->kind) {
    case 'i':
    case 'I':
    case 'f':
    case 'F':
    case 'r':
    case 'R':
      return check_register(c, (uint16_t)operand->value, operand->kind,
                            c->single, operand->offset);
    case 'g':
    case 'h':
      return check_global(c, operand);
    case 'G':
      return check_ordinal(c, operand, ERROR, FNABI_BYTECODE_GLOBAL,
                           c->b->ref_count);
    case 't':
      return check_ordinal(c, operand, c->single, FNABI_BYTECODE_TYPE,
                           c->b->type_count);
    case 'd':
      return check_ordinal(c, operand, ERROR, FNABI_BYTECODE_RODATA,
                           c->b->rodata_count);
    case 'p':
      return check_target(c, operand);
    case 'm':
      return check_padding(c, operand) && check_remap(c, operand);
    case 'T':
      return check_cases(c, operand);
    case '[':
      return check_padding(c, operand) &&
             check_list(c, operand, operand->element);
    default:
      return true; /* immediates and strings; check_lists checks * # c C */
  }
}

/* Checks the operands that depend on each other. */
static bool check_lists(check* c, const fnabi_instruction* at) {
  const fnabi_operand *lists[2] = {NULL, NULL}, *callee = NULL,
                      *segments = NULL;
  for (int i = 0; i < at->count; i++) {
    const fnabi_operand* operand = &at->operands[i];
    if (operand->kind == '*')
      lists[operand->written] = operand;
    else if (operand->kind == '#')
      segments = operand;
    else if (operand->kind == 'c' || operand->kind == 'C')
      callee = operand;
  }
  for (int i = 0; i < 2; i++)
    if (lists[i] != NULL && !check_padding(c, lists[i])) return false;
  if (segments != NULL && !check_padding(c, segments)) return false;
  if (callee != NULL) return check_call(c, callee, segments, lists);
  if (at->op->op == FNABI_OP_RETURN && c->f->callee.readable)
    return check_side(c, lists[0], c->f->callee.results, NULL);
  return check_list(c, lists[0], 0);
}

static bool check_features(check* c, const fnabi_instruction* at) {
  char detail[DETAIL];
  unsigned feature = at->op->feature;
  if ((feature & ~c->f->requirements) != 0) {
    snprintf(detail, sizeof detail, "%s expected in the requirements",
             feature == 1 ? "EXT_F32" : "EXT_F64");
    return report_at(c, ERROR, FNABI_BYTECODE_FEATURE, at->offset, detail);
  }
  if ((at->op->op == FNABI_OP_CALL_YIELDABLE ||
       at->op->op == FNABI_OP_CALL_VARIADIC_YIELDABLE) &&
      (c->f->requirements & FNABI_REQUIRES_YIELD) == 0)
    return report_at(c, NOTICE, FNABI_BYTECODE_YIELD, at->offset, "");
  return true;
}

static bool check_instruction(check* c, const fnabi_instruction* at) {
  bool lists = false;
  if (!check_features(c, at)) return false;
  for (int i = 0; i < at->count; i++) {
    char kind = at->operands[i].kind;
    lists |= kind == '*' || kind == 'c' || kind == 'C';
    if (!check_operand(c, &at->operands[i])) return false;
  }
  return !lists || check_lists(c, at);
}

/* ---------------------------------------------------------------- functions */

/* Reports branches to offsets without a block marker. */
static bool report_targets(check* c) {
  fnabi_instruction at;
  fnabi_error ignored;
  c->at = &at;
  for (uint32_t o = 0; o < c->f->view.size; o = at.next) {
    if (!fnabi_bytecode_decode(&c->f->view, o, &at, &ignored)) break;
    for (int i = 0; i < at.count; i++) {
      const fnabi_operand* operand = &at.operands[i];
      fnabi_operand target = *operand, remap;
      uint32_t next = 0;
      bool some = operand->kind == 'p';
      if (operand->kind == 'T')
        some = fnabi_operand_case(operand, &next, &target, &remap);
      while (some) {
        uint64_t pc = target.value;
        if (pc < c->f->view.size && is_marked(c->targets, (uint32_t)pc) &&
            !is_marked(c->markers, (uint32_t)pc)) {
          char detail[DETAIL];
          snprintf(detail, sizeof detail, "%" PRIu64, pc);
          if (!report_at(c, ERROR, FNABI_BYTECODE_TARGET, operand->offset,
                         detail))
            return false;
        }
        some = operand->kind == 'T' &&
               fnabi_operand_case(operand, &next, &target, &remap);
      }
    }
  }
  c->at = NULL;
  return true;
}

static bool check_targets(check* c) {
  uint64_t missing = 0, targets, markers;
  for (size_t i = 0; i < bits_size(c->f->view.size); i += sizeof targets) {
    memcpy(&targets, c->targets + i, sizeof targets);
    memcpy(&markers, c->markers + i, sizeof markers);
    missing |= targets & ~markers;
  }
  return missing == 0 ||
         (fnabi_fb_spend(&c->b->fb, c->f->view.size, 0) && report_targets(c));
}

/* Checks all instructions. Continues after findings if it can; *complete is
 * whether it reached the end. */
static bool check_code(check* c, bool* complete) {
  const fnabi_bytecode_view* view = &c->f->view;
  fnabi_instruction at;
  fnabi_error problem;
  bool in_block = false;
  fnabi_bytecode_accept_from(c->fast, c->f, c->targets);
  *complete = false;
  for (uint32_t o = 0; o < view->size; o += at.size) {
    if (!in_block && o + 1 == view->size && o != 0) {
      *complete = true; /* the runtime ignores it */
      c->at = NULL;
      return report_at(c, NOTICE, FNABI_BYTECODE_TRAILING, o, "");
    }
    if (in_block) {
      at.size = fnabi_bytecode_accept(c->fast, o, &at.ends) - o;
      in_block = !at.ends;
      if (at.size != 0) continue;
    }
    if (!in_block && view->code[o] == FNABI_OP_BLOCK && o < FNABI_BLOCK_LIMIT) {
      fnabi_mark(c->markers, o);
      c->blocks++;
      in_block = true;
      at.size = 1;
      continue;
    }
    c->at = &at;
    if (!fnabi_bytecode_decode(view, o, &at, &problem)) {
      char detail[DETAIL] = "";
      if (problem.code == FNABI_BYTECODE_OPCODE)
        snprintf(detail, sizeof detail, "0x%02X", view->code[o]);
      return report(c, ERROR, problem.code, problem.offset, NULL, detail);
    }
    bool marker = at.op->op == FNABI_OP_BLOCK;
    if (marker && !in_block) /* o >= FNABI_BLOCK_LIMIT */
      return report_number(c, ERROR, FNABI_BYTECODE_TARGET, o, o,
                           FNABI_BLOCK_LIMIT);
    if (marker == in_block)
      return report_at(c, ERROR,
                       marker ? FNABI_BYTECODE_NESTED : FNABI_BYTECODE_OUTSIDE,
                       o, "");
    if (!check_instruction(c, &at)) return false;
    in_block = !at.ends;
  }
  c->at = NULL;
  *complete = true;
  return !in_block ||
         report_at(c, ERROR, FNABI_BYTECODE_TERMINATOR, view->size, "");
}

static bool check_counts(check* c) {
  static const char* const parts[] = {"block_count", "i32_register_count",
                                      "ref_register_count"};
  const int16_t counts[] = {c->f->blocks, c->f->values, c->f->refs};
  for (unsigned i = 0; i < 3; i++)
    if (counts[i] < 0 && !report_function(c, UNSAFE, FNABI_MODULE_NEGATIVE,
                                          14 + 2 * i, parts[i], ""))
      return false;
  if (c->f->values > VALUES_MOST &&
      !report_function(c, ERROR, FNABI_BYTECODE_REGISTERS, 16, parts[1], ""))
    return false;
  return c->f->refs <= REFS_MOST ||
         report_function(c, ERROR, FNABI_BYTECODE_REGISTERS, 18, parts[2], "");
}

static bool check_requirements(check* c) {
  uint32_t known = c->b->major >= 17 ? 0xF : 0x3;
  char detail[DETAIL];
  if ((c->f->requirements & ~known) == 0) return true;
  snprintf(detail, sizeof detail, "0x%" PRIX32 ", expected no bit above 0x%X",
           c->f->requirements, (unsigned)known);
  return report_function(c, ERROR, FNABI_BYTECODE_FEATURE, 8, "requirements",
                         detail);
}

/* Checks the registers of the arguments; internal functions have no spans. */
static bool check_arguments(check* c) {
  const fnabi_callee* callee = &c->f->callee;
  uint32_t values = 0, refs = 0;
  if (!callee->readable)
    return report_function(c, ERROR, FNABI_BYTECODE_CCONV, 0, NULL, "");
  for (size_t i = 0; i < callee->arguments.size; i++) {
    char letter = callee->arguments.data[i];
    if (letter == 'C')
      return report_function(c, ERROR, FNABI_BYTECODE_CCONV, 0, NULL,
                             "spans are only allowed in imports");
    if (letter == 'r')
      refs++;
    else
      values += letter == 'I' || letter == 'F' ? values % 2 + 2 : 1;
  }
  if ((int64_t)values <= c->f->values && (int64_t)refs <= c->f->refs)
    return true;
  bool refused = values > round_up(c->f->values) || refs > round_up(c->f->refs);
  return report_function(c, refused ? ERROR : UNSAFE, FNABI_BYTECODE_ARGUMENTS,
                         0, NULL, "");
}

static bool check_function(check* c, size_t ordinal) {
  char detail[DETAIL];
  bool complete;
  c->f = &c->b->functions[ordinal];
  c->ordinal = ordinal;
  c->at = NULL;
  c->sound = true;
  c->blocks = 0;
  uint32_t size = c->f->view.size;
  if (!check_requirements(c) || !check_counts(c) || !check_arguments(c))
    return false;
  if (size == 0)
    return c->f->length == 0
               ? report_function(c, ERROR, FNABI_BYTECODE_TERMINATOR, 4, NULL,
                                 "the function is empty")
               : report_function(c, ERROR, FNABI_MODULE_RANGE, 0, NULL, "");
  c->targets = c->markers + bits_size(size);
  memset(c->markers, 0, 2 * bits_size(size));
  if (!fnabi_fb_spend(&c->b->fb, size, 0) || !check_code(c, &complete))
    return false;
  if (!complete) return true;
  if ((int64_t)c->blocks != c->f->blocks && c->f->blocks >= 0) {
    snprintf(detail, sizeof detail, "%d, expected %" PRIu32, c->f->blocks,
             c->blocks);
    if (!report_function(c, ERROR, FNABI_BYTECODE_BLOCKS, 14, "block_count",
                         detail))
      return false;
  }
  return check_targets(c);
}

/* ------------------------------------------------------------------ modules */

static bool check_module(check* c, bool* sound) {
  uint32_t known = c->b->major >= 17 ? 0xF : 0x3;
  char detail[DETAIL];
  c->single = c->b->major == 15 ? ERROR : UNSAFE;
  if ((c->b->requirements & ~known) != 0) {
    snprintf(detail, sizeof detail, "0x%" PRIX32 ", expected no bit above 0x%X",
             c->b->requirements, (unsigned)known);
    if (!report(c, ERROR, FNABI_BYTECODE_FEATURE, c->b->requirements_place,
                "requirements", detail))
      return false;
  }
  for (size_t i = 0; i < c->b->function_count; i++) {
    if (!check_function(c, i)) return false;
    if (sound != NULL) sound[i] = c->sound;
  }
  return c->left_out == 0 || report_left_out(c);
}

bool fnabi_bytecode_check_functions(fnabi_bytecode* b, fnabi_writer* w,
                                    size_t* findings, bool* sound) {
  fnabi_acceptor fast;
  check c = {.b = b, .w = w, .fast = &fast};
  uint32_t largest = 0;
  fnabi_bytecode_accept_open(&fast, b);
  for (size_t i = 0; i < b->function_count; i++)
    if (b->functions[i].view.size > largest)
      largest = b->functions[i].view.size;
  c.markers = malloc(2 * bits_size(largest));
  if (c.markers == NULL) {
    fnabi_fail(b->error, FNABI_MEMORY, 0, NULL);
    return false;
  }
  bool ok = check_module(&c, sound);
  free(c.markers);
  *findings = c.findings;
  return ok;
}

static bool report_version(fnabi_bytecode* b, fnabi_writer* w) {
  char detail[DETAIL];
  check c = {.b = b, .w = w};
  snprintf(detail, sizeof detail, "%u.%u, expected 15.0, 16.0 or 17.0",
           (unsigned)b->major, (unsigned)b->minor);
  return report(&c, ERROR, FNABI_BYTECODE_VERSION, b->version_place,
                "bytecode_version", detail);
}

int64_t fnabi_bytecode_check(const char* data, size_t size, uint8_t* out,
                             size_t capacity, fnabi_error* error) {
  fnabi_writer w = {out, capacity, 0};
  fnabi_bytecode b;
  fnabi_error ignored;
  size_t findings = 0;
  bool ok = fnabi_bytecode_open_unnamed(&b, data, size, error);
  size_t head = fnabi_pack_open(&w);
  if (ok && fnabi_bytecode_known(&b, &ignored)) {
    ok = fnabi_bytecode_check_functions(&b, &w, &findings, NULL);
  } else if (ok && b.function_count != 0) {
    ok = report_version(&b, &w);
    findings = 1;
  }
  fnabi_pack_close(&w, head, findings);
  fnabi_bytecode_close(&b);
  return ok ? (int64_t)w.size : -1;
}
