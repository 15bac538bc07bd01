/* Instructions as messages and as text. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "vmfb/bytecode.h"

/* ----------------------------------------------------------------- operands */

/* The tags of operands in messages. */
enum {
  REGISTER,
  IMMEDIATE,
  GLOBAL,
  TYPE,
  RODATA,
  CALLEE,
  TEXT,
  BRANCH,
  SEGMENTS
};

typedef struct printer {
  fnabi_bytecode* b;
  const fnabi_function* f;
  fnabi_writer* w;
  uint32_t* markers; /* offsets of the block markers, ascending */
  uint32_t marker_count;
} printer;

/* The tag of a register by its letter; 0 is a value of unknown type. */
static const char* kind_name(char kind, bool ref) {
  if (ref) return "ref";
  switch (kind) {
    case 'i':
      return "i32";
    case 'I':
      return "i64";
    case 'f':
      return "f32";
    case 'F':
      return "f64";
    default:
      return "value";
  }
}

static bool is_wide(char kind) { return kind == 'I' || kind == 'F'; }

static float as_f32(uint64_t bits) {
  uint32_t low = (uint32_t)bits;
  float value;
  memcpy(&value, &low, sizeof value);
  return value;
}

static double as_f64(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* The sides of the calling convention that give the registers of an
 * instruction's lists their types. */
typedef struct sides {
  const fnabi_callee* callee; /* NULL: unreadable */
  const fnabi_operand* segments;
} sides;

static bool find_sides(printer* p, const fnabi_instruction* at, sides* s) {
  *s = (sides){NULL, NULL};
  if (at->op->op == FNABI_OP_RETURN) s->callee = &p->f->callee;
  for (int i = 0; i < at->count; i++) {
    const fnabi_operand* operand = &at->operands[i];
    if (operand->kind == 'c' || operand->kind == 'C')
      s->callee = fnabi_bytecode_callee(p->b, operand->value);
    if (operand->kind == '#') s->segments = operand;
  }
  if (s->callee == NULL) return true;
  /* Each call processes the name and the convention of its callee. */
  if (!fnabi_fb_spend(&p->b->fb, s->callee->cconv.size + s->callee->name.size,
                      0))
    return false;
  if (!s->callee->readable) s->callee = NULL;
  return true;
}

/* The registers of a list: the operands or results of a call, or the results of
 * a return. */
static void begin_list(const sides* s, const fnabi_instruction* at,
                       const fnabi_operand* list, fnabi_registers* r) {
  fnabi_text none = {NULL, 0};
  bool results = list->written || at->op->op == FNABI_OP_RETURN;
  if (s->callee != NULL)
    none = results ? s->callee->results : s->callee->arguments;
  fnabi_registers_begin(r, none, results ? NULL : s->segments);
}

/* ----------------------------------------------------------------- messages */

static void pack_register(fnabi_writer* w, uint16_t value, char kind) {
  bool ref = (value & FNABI_REGISTER_REF) != 0;
  fnabi_pack_array(w, 4);
  fnabi_pack_uint(w, REGISTER);
  fnabi_pack_ascii(w, kind_name(kind, ref));
  fnabi_pack_uint(w, ref ? value & FNABI_REGISTER_REF_NUMBER : value);
  fnabi_pack_bool(w, ref && (value & FNABI_REGISTER_MOVE) != 0);
}

static void pack_double(fnabi_writer* w, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  fnabi_pack_wide(w, 0xCB, bits, 8);
}

static void pack_name(fnabi_writer* w, fnabi_text name) {
  if (name.data == NULL)
    fnabi_pack_nil(w);
  else
    fnabi_pack_text(w, name.data, name.size);
}

static void pack_immediate(fnabi_writer* w, const fnabi_operand* operand) {
  fnabi_pack_array(w, 3);
  fnabi_pack_uint(w, IMMEDIATE);
  switch (operand->kind) {
    case '4':
      fnabi_pack_int(w, (int32_t)operand->value);
      fnabi_pack_ascii(w, "i32");
      break;
    case '8':
      fnabi_pack_int(w, (int64_t)operand->value);
      fnabi_pack_ascii(w, "i64");
      break;
    case 'e':
      pack_double(w, as_f32(operand->value));
      fnabi_pack_ascii(w, "f32");
      break;
    default:
      pack_double(w, as_f64(operand->value));
      fnabi_pack_ascii(w, "f64");
  }
}

/* Packs an ordinal or an offset with the name of its target. */
static void pack_global(fnabi_writer* w, const fnabi_operand* operand) {
  fnabi_pack_array(w, 3);
  fnabi_pack_uint(w, GLOBAL);
  fnabi_pack_ascii(w, operand->kind == 'G' ? "ref" : "value");
  fnabi_pack_uint(w, operand->value);
}

static bool pack_type(printer* p, const fnabi_operand* operand) {
  fnabi_pack_array(p->w, 3);
  fnabi_pack_uint(p->w, TYPE);
  fnabi_pack_uint(p->w, operand->value);
  if (operand->value >= p->b->type_count) {
    fnabi_pack_nil(p->w);
    return true;
  }
  fnabi_text name = p->b->types[operand->value];
  fnabi_pack_text(p->w, name.data, name.size);
  return fnabi_fb_spend(&p->b->fb, name.size, 0);
}

static void pack_callee(printer* p, const fnabi_operand* operand) {
  const fnabi_callee* callee = fnabi_bytecode_callee(p->b, operand->value);
  uint64_t import = operand->value & FNABI_CALLEE_IMPORT;
  fnabi_pack_array(p->w, 4);
  fnabi_pack_uint(p->w, CALLEE);
  fnabi_pack_uint(p->w, operand->value ^ import);
  fnabi_pack_bool(p->w, import != 0);
  pack_name(p->w, callee == NULL ? (fnabi_text){NULL, 0} : callee->name);
}

static void pack_branch(fnabi_writer* w, const fnabi_operand* target,
                        const fnabi_operand* remap) {
  fnabi_pack_array(w, 3);
  fnabi_pack_uint(w, BRANCH);
  fnabi_pack_uint(w, target->value);
  uint32_t count = remap == NULL ? 0 : remap->count;
  fnabi_pack_wide(w, 0xDD, count, 4);
  for (uint32_t i = 0; i < count; i++) {
    fnabi_pack_array(w, 2);
    pack_register(w, fnabi_operand_source(remap, i), 0);
    pack_register(w, fnabi_operand_target(remap, i), 0);
  }
}

static void pack_segments(fnabi_writer* w, const fnabi_operand* segments) {
  fnabi_pack_array(w, 2);
  fnabi_pack_uint(w, SEGMENTS);
  fnabi_pack_wide(w, 0xDD, segments->count, 4);
  for (uint32_t i = 0; i < segments->count; i++) {
    uint16_t size = fnabi_operand_item(segments, i);
    if (size == FNABI_SEGMENT_SINGLE)
      fnabi_pack_nil(w);
    else
      fnabi_pack_uint(w, size);
  }
}

/* Packs one operand per entry of the list. */
static uint32_t pack_list(printer* p, const fnabi_instruction* at,
                          const fnabi_operand* list, const sides* s) {
  fnabi_registers r;
  begin_list(s, at, list, &r);
  for (uint32_t i = 0; i < list->count; i++) {
    char kind = list->element;
    if (kind == 0) kind = fnabi_registers_next(&r);
    pack_register(p->w, fnabi_operand_item(list, i), kind);
  }
  return list->count;
}

static uint32_t pack_cases(fnabi_writer* w, const fnabi_operand* cases) {
  fnabi_operand target, remap;
  uint32_t at = 0, count = 0;
  for (; fnabi_operand_case(cases, &at, &target, &remap); count++)
    pack_branch(w, &target, &remap);
  return count;
}

/* Adds the number of operands in the message to *count. */
static bool pack_operand(printer* p, const fnabi_instruction* at, int index,
                         const sides* s, uint32_t* count) {
  const fnabi_operand* operand = &at->operands[index];
  const fnabi_operand* next = operand + 1;
  switch (operand->kind) {
    case 'i':
    case 'I':
    case 'f':
    case 'F':
    case 'r':
    case 'R':
      pack_register(p->w, (uint16_t)operand->value, operand->kind);
      break;
    case '4':
    case '8':
    case 'e':
    case 'E':
      pack_immediate(p->w, operand);
      break;
    case 'g':
    case 'h':
    case 'G':
      pack_global(p->w, operand);
      break;
    case 't':
      if (!pack_type(p, operand)) return false;
      break;
    case 'd':
      fnabi_pack_array(p->w, 2);
      fnabi_pack_uint(p->w, RODATA);
      fnabi_pack_uint(p->w, operand->value);
      break;
    case 'c':
    case 'C':
      pack_callee(p, operand);
      break;
    case 's':
      fnabi_pack_array(p->w, 2);
      fnabi_pack_uint(p->w, TEXT);
      fnabi_pack_text(p->w, (const char*)operand->items, operand->count);
      break;
    case 'p':
      pack_branch(p->w, operand, next->kind == 'm' ? next : NULL);
      break;
    case '#':
      pack_segments(p->w, operand);
      break;
    case 'T':
      *count += pack_cases(p->w, operand);
      return true;
    case '*':
    case '[':
      *count += pack_list(p, at, operand, s);
      return true;
    default: /* m belongs to the p before it */
      return true;
  }
  ++*count;
  return true;
}

static bool pack_instruction(printer* p, const fnabi_instruction* at) {
  sides s;
  if (!find_sides(p, at, &s)) return false;
  fnabi_pack_array(p->w, 6);
  fnabi_pack_uint(p->w, at->offset);
  fnabi_pack_ascii(p->w, at->op->name);
  for (int written = 0; written < 2; written++) {
    uint32_t count = 0;
    size_t head = fnabi_pack_open(p->w);
    for (int i = 0; i < at->count; i++)
      if (at->operands[i].written == written &&
          !pack_operand(p, at, i, &s, &count))
        return false;
    fnabi_pack_close(p->w, head, count);
  }
  fnabi_pack_uint(p->w, at->size);
  fnabi_pack_uint(p->w, at->op->op);
  return true;
}

static bool fail_ordinal(fnabi_error* error) {
  fnabi_fail(error, FNABI_MODULE_ORDINAL, 0, NULL);
  return false;
}

/* Opens a module of a known version for one of its functions. */
static bool begin(fnabi_bytecode* b, const char* data, size_t size,
                  uint64_t ordinal, fnabi_error* error) {
  if (!fnabi_bytecode_open_function(b, data, size, ordinal, error) ||
      !fnabi_bytecode_known(b, error))
    return false;
  if (ordinal < b->function_count) return true;
  return fail_ordinal(error);
}

/* Adds the function to the path of an error in its bytes. */
static bool fail_in(size_t ordinal, fnabi_error* error) {
  fnabi_path_index(error, ordinal);
  fnabi_path_field(error, "function_descriptors");
  return false;
}

/* A function that is not inside the bytecode has no instructions. */
static bool is_inside(const fnabi_function* f, fnabi_error* error) {
  if (f->view.size != 0 || f->length == 0) return true;
  fnabi_fail(error, FNABI_MODULE_RANGE, f->place, NULL);
  return false;
}

static bool pack_function(printer* p, size_t ordinal, fnabi_error* error) {
  fnabi_instruction at;
  size_t head = fnabi_pack_open(p->w), count = 0;
  p->f = &p->b->functions[ordinal];
  if (!is_inside(p->f, error)) return fail_in(ordinal, error);
  for (uint32_t o = 0; o < p->f->view.size; o = at.next, count++)
    if (!fnabi_bytecode_decode(&p->f->view, o, &at, error) ||
        !pack_instruction(p, &at))
      return fail_in(ordinal, error);
  fnabi_pack_close(p->w, head, count);
  return true;
}

int64_t fnabi_bytecode_instructions(const char* data, size_t size,
                                    uint64_t ordinal, uint8_t* out,
                                    size_t capacity, fnabi_error* error) {
  fnabi_writer w = {out, capacity, 0};
  fnabi_bytecode b;
  printer p = {.b = &b, .w = &w};
  bool ok = begin(&b, data, size, ordinal, error) &&
            pack_function(&p, (size_t)ordinal, error);
  fnabi_bytecode_close(&b);
  return ok ? (int64_t)w.size : -1;
}

/* --------------------------------------------------------------------- text */

static void put(fnabi_writer* w, const char* text) {
  fnabi_put(w, text, strlen(text));
}

static void put_uint(fnabi_writer* w, uint64_t value) {
  char text[20];
  char* at = text + sizeof text;
  do {
    *--at = (char)('0' + value % 10);
    value /= 10;
  } while (value != 0);
  fnabi_put(w, at, (size_t)(text + sizeof text - at));
}

static void put_int(fnabi_writer* w, int64_t value) {
  if (value < 0) put(w, "-");
  put_uint(w, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

static void put_hex(fnabi_writer* w, uint64_t value, int digits) {
  for (int i = digits; i-- > 0;)
    fnabi_put_byte(w, (uint8_t)"0123456789ABCDEF"[value >> (4 * i) & 15]);
}

/* Writes quoted text; escapes everything except visible ASCII and UTF-8. */
static void put_quoted(fnabi_writer* w, const char* text, size_t size) {
  fnabi_put_byte(w, '"');
  for (size_t i = 0; i < size;) {
    const uint8_t* s = (const uint8_t*)text + i;
    size_t n = *s < 0x80 ? 1 : fnabi_utf8_size(s, size - i);
    bool control =
        *s < 0x20 || *s == 0x7F || (n == 2 && *s == 0xC2 && s[1] < 0xA0);
    if (n == 0 || control) {
      put(w, "\\x");
      put_hex(w, *s, 2);
      i++;
      continue;
    }
    if (*s == '"' || *s == '\\') fnabi_put_byte(w, '\\');
    fnabi_put(w, s, n);
    i += n;
  }
  fnabi_put_byte(w, '"');
}

static bool is_plain(fnabi_text name) {
  for (size_t i = 0; i < name.size; i++) {
    char c = name.data[i];
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
          (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '$' ||
          c == '-' || c == '!' || c == '<' || c == '>' || c == '?'))
      return false;
  }
  return name.size != 0;
}

static void put_name(fnabi_writer* w, fnabi_text name) {
  if (is_plain(name))
    fnabi_put(w, name.data, name.size);
  else
    put_quoted(w, name.data, name.size);
}

/* Writes a float with the number of digits that always round-trips,
 * independently of the locale. */
static void put_float(fnabi_writer* w, double value, int digits) {
  char text[40];
  int size = snprintf(text, sizeof text, "%.*g", digits, value);
  for (int i = 0; i < size; i++)
    if (strchr("0123456789+-einfa", text[i]) == NULL) text[i] = '.';
  fnabi_put(w, text, (size_t)size);
}

static void put_register(fnabi_writer* w, uint16_t value, char kind) {
  if ((value & FNABI_REGISTER_REF) != 0) {
    put(w, (value & FNABI_REGISTER_MOVE) != 0 ? "move %r" : "%r");
    put_uint(w, value & FNABI_REGISTER_REF_NUMBER);
    return;
  }
  put(w, "%i");
  put_uint(w, value);
  if (is_wide(kind)) {
    put(w, ":");
    put_uint(w, value + 1u);
  }
}

/* Writes the number of a block, or the offset if there is no block. */
static void put_block(printer* p, uint64_t offset) {
  uint32_t low = 0, high = p->marker_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (p->markers[middle] < offset)
      low = middle + 1;
    else
      high = middle;
  }
  if (low < p->marker_count && p->markers[low] == offset) {
    put(p->w, "bb");
    put_uint(p->w, low);
  } else {
    put(p->w, "0x");
    put_hex(p->w, offset, 8);
  }
}

static void put_branch(printer* p, const fnabi_operand* target,
                       const fnabi_operand* remap) {
  put_block(p, target->value);
  if (remap == NULL || remap->count == 0) return;
  for (uint32_t i = 0; i < remap->count; i++) {
    put(p->w, i == 0 ? "(" : ", ");
    put_register(p->w, fnabi_operand_source(remap, i), 0);
    put(p->w, " -> ");
    put_register(p->w, fnabi_operand_target(remap, i), 0);
  }
  put(p->w, ")");
}

static void put_cases(printer* p, const fnabi_operand* cases) {
  fnabi_operand target, remap;
  uint32_t at = 0;
  put(p->w, "[");
  for (uint32_t i = 0; fnabi_operand_case(cases, &at, &target, &remap); i++) {
    if (i != 0) put(p->w, ", ");
    put_branch(p, &target, &remap);
  }
  put(p->w, "]");
}

/* Writes registers separated by commas; the tuples of a span are in brackets.
 */
static void put_list(printer* p, const fnabi_instruction* at,
                     const fnabi_operand* list, const sides* s) {
  fnabi_registers r;
  uint32_t span = 0;
  begin_list(s, at, list, &r);
  for (uint32_t i = 0; i < list->count; i++) {
    char kind = list->element;
    if (kind == 0) kind = fnabi_registers_next(&r);
    uint32_t now = kind != 0 && r.span != 0 ? r.item : 0;
    if (span != 0 && now != span) put(p->w, "]");
    if (i != 0) put(p->w, ", ");
    if (now != 0 && now != span) put(p->w, "[");
    span = now;
    put_register(p->w, fnabi_operand_item(list, i), kind);
  }
  if (span != 0) put(p->w, "]");
}

static void put_callee(printer* p, const fnabi_operand* operand) {
  const fnabi_callee* callee = fnabi_bytecode_callee(p->b, operand->value);
  uint64_t import = operand->value & FNABI_CALLEE_IMPORT;
  if (callee != NULL && callee->name.data != NULL) {
    put(p->w, "@");
    put_name(p->w, callee->name);
  } else {
    put(p->w, import != 0 ? "import[" : "function[");
    put_uint(p->w, operand->value ^ import);
    put(p->w, "]");
  }
}

static bool put_type(printer* p, uint64_t ordinal) {
  if (ordinal >= p->b->type_count) {
    put(p->w, "type[");
    put_uint(p->w, ordinal);
    put(p->w, "]");
    return true;
  }
  put_name(p->w, p->b->types[ordinal]);
  return fnabi_fb_spend(&p->b->fb, p->b->types[ordinal].size, 0);
}

static bool put_operand(printer* p, const fnabi_instruction* at,
                        const fnabi_operand* operand, const sides* s) {
  switch (operand->kind) {
    case 'i':
    case 'I':
    case 'f':
    case 'F':
    case 'r':
    case 'R':
      put_register(p->w, (uint16_t)operand->value, operand->kind);
      break;
    case '4':
      put_int(p->w, (int32_t)operand->value);
      break;
    case '8':
      put_int(p->w, (int64_t)operand->value);
      break;
    case 'e':
      put_float(p->w, as_f32(operand->value), 9);
      break;
    case 'E':
      put_float(p->w, as_f64(operand->value), 17);
      break;
    case 'g':
    case 'h':
    case 'G':
    case 'd':
      put(p->w, operand->kind == 'G'   ? "refs["
                : operand->kind == 'd' ? "rodata["
                                       : "values[");
      put_uint(p->w, operand->value);
      put(p->w, "]");
      break;
    case 't':
      return put_type(p, operand->value);
    case 'c':
    case 'C':
      put_callee(p, operand);
      break;
    case 's':
      put_quoted(p->w, (const char*)operand->items, operand->count);
      break;
    case 'T':
      put_cases(p, operand);
      break;
    case '[':
      put(p->w, "[");
      put_list(p, at, operand, s);
      put(p->w, "]");
      break;
    default:
      put_list(p, at, operand, s);
  }
  return true;
}

/* Writes a comment with the name of what a number refers to. */
static void put_comment(printer* p, const fnabi_instruction* at) {
  const fnabi_operand* operand = &at->operands[0];
  if (at->op->op == FNABI_OP_CONST_I32 &&
      (operand->value > 0xFFFF && operand->value < 0xFFFF0000)) {
    put(p->w, "  // 0x");
    put_hex(p->w, operand->value, 8);
  } else if (at->op->op == FNABI_OP_CONST_REF_RODATA &&
             operand->value < p->b->rodata_count) {
    fnabi_rodata segment = p->b->rodata[operand->value];
    bool text = segment.data != NULL && segment.size <= 80;
    for (uint64_t i = 0; text && i < segment.size; i++)
      text = segment.data[i] >= 0x20 && segment.data[i] < 0x7F;
    put(p->w, "  // ");
    if (text) {
      put_quoted(p->w, (const char*)segment.data, (size_t)segment.size);
    } else {
      put_uint(p->w, segment.size);
      put(p->w, segment.size == 1 ? " byte" : " bytes");
    }
  }
}

/* Writes operands separated by commas; those of a call are in parentheses. */
static bool put_operands(printer* p, const fnabi_instruction* at,
                         const sides* s) {
  bool first = true, open = false;
  for (int i = 0; i < at->count; i++) {
    const fnabi_operand* operand = &at->operands[i];
    bool remapped = i + 1 < at->count && operand[1].kind == 'm';
    if (operand->written || operand->kind == '#' || operand->kind == 'm' ||
        (operand->kind == '*' && operand->count == 0 && i == 0))
      continue;
    if (operand->kind == '*' && i != 0 && operand[-1].kind != 's') {
      put(p->w, "(");
      open = true;
    } else {
      put(p->w, first ? " " : ", ");
    }
    first = false;
    if (operand->kind == 'p')
      put_branch(p, operand, remapped ? operand + 1 : NULL);
    else if (!put_operand(p, at, operand, s))
      return false;
    if (open) put(p->w, ")");
    open = false;
  }
  return true;
}

static bool put_instruction(printer* p, const fnabi_instruction* at) {
  sides s;
  bool any = false;
  if (at->op->op == FNABI_OP_BLOCK) {
    put_block(p, at->offset);
    put(p->w, ":\n");
    return true;
  }
  if (!find_sides(p, at, &s)) return false;
  put(p->w, "  ");
  put_hex(p->w, at->offset, at->offset > 0xFFFF ? 8 : 4);
  put(p->w, "  ");
  for (int i = 0; i < at->count; i++) {
    const fnabi_operand* operand = &at->operands[i];
    if (!operand->written || (operand->kind == '*' && operand->count == 0))
      continue;
    if (!put_operand(p, at, operand, &s)) return false;
    any = true;
  }
  if (any) put(p->w, " = ");
  put(p->w, at->op->name);
  if (!put_operands(p, at, &s)) return false;
  put_comment(p, at);
  put(p->w, "\n");
  return true;
}

/* Writes the arguments with their registers. */
static void put_arguments(fnabi_writer* w, fnabi_text side) {
  uint32_t values = 0, refs = 0;
  put(w, "(");
  for (size_t i = 0; i < side.size; i++) {
    char kind = side.data[i];
    bool wide = is_wide(kind);
    if (i != 0) put(w, ", ");
    if (wide) values += values % 2;
    put_register(
        w, (uint16_t)(kind == 'r' ? FNABI_REGISTER_REF | refs : values), kind);
    put(w, ": ");
    put(w, kind_name(kind, kind == 'r'));
    if (kind == 'r')
      refs = (refs + 1) & FNABI_REGISTER_REF_NUMBER;
    else
      values += wide ? 2 : 1;
  }
  put(w, ") -> (");
}

static bool put_head(printer* p, size_t ordinal) {
  const fnabi_callee* callee = &p->f->callee;
  put(p->w, "function ");
  if (callee->name.data != NULL) {
    put(p->w, "@");
    put_name(p->w, callee->name);
  } else {
    put(p->w, "function[");
    put_uint(p->w, ordinal);
    put(p->w, "]");
  }
  if (callee->readable) {
    put_arguments(p->w, callee->arguments);
    for (size_t i = 0; i < callee->results.size; i++) {
      if (i != 0) put(p->w, ", ");
      put(p->w,
          kind_name(callee->results.data[i], callee->results.data[i] == 'r'));
    }
    put(p->w, ")");
  }
  put(p->w, "  // ordinal ");
  put_uint(p->w, ordinal);
  put(p->w, "\n");
  return fnabi_fb_spend(&p->b->fb, callee->cconv.size + callee->name.size, 0);
}

/* There is at most one per byte. */
static bool find_markers(printer* p, fnabi_error* error) {
  fnabi_instruction at;
  uint32_t capacity = 0;
  p->marker_count = 0;
  for (uint32_t o = 0; o < p->f->view.size; o = at.next) {
    if (!fnabi_bytecode_decode(&p->f->view, o, &at, error)) return false;
    if (at.op->op != FNABI_OP_BLOCK) continue;
    if (p->marker_count == capacity) {
      uint32_t more = capacity == 0 ? 64 : 2 * capacity;
      uint32_t* markers = realloc(p->markers, more * sizeof *markers);
      if (markers == NULL) {
        fnabi_fail(error, FNABI_MEMORY, 0, NULL);
        return false;
      }
      p->markers = markers;
      capacity = more;
    }
    p->markers[p->marker_count++] = o;
  }
  return true;
}

static bool put_function(printer* p, size_t ordinal, fnabi_error* error) {
  fnabi_instruction at;
  p->f = &p->b->functions[ordinal];
  if (!is_inside(p->f, error) ||
      !fnabi_fb_spend(&p->b->fb, p->f->view.size, 0) ||
      !find_markers(p, error) || !put_head(p, ordinal))
    return fail_in(ordinal, error);
  for (uint32_t o = 0; o < p->f->view.size; o = at.next)
    if (!fnabi_bytecode_decode(&p->f->view, o, &at, error) ||
        !put_instruction(p, &at))
      return fail_in(ordinal, error);
  return true;
}

int64_t fnabi_bytecode_disassemble(const char* data, size_t size,
                                   uint64_t first, uint64_t count, uint8_t* out,
                                   size_t capacity, fnabi_error* error) {
  fnabi_writer w = {out, capacity, 0};
  fnabi_bytecode b;
  printer p = {.b = &b, .w = &w};
  bool ok = fnabi_bytecode_open(&b, data, size, error) &&
            fnabi_bytecode_known(&b, error);
  if (ok && first > b.function_count) ok = fail_ordinal(error);
  if (ok && count > b.function_count - first) count = b.function_count - first;
  for (size_t i = 0; ok && i < count; i++) {
    if (i != 0) put(&w, "\n");
    ok = put_function(&p, (size_t)first + i, error);
  }
  free(p.markers);
  fnabi_bytecode_close(&b);
  return ok ? (int64_t)w.size : -1;
}
