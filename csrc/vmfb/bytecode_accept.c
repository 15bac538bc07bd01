/* Accepts the instructions of bytecode that have no fault, without decoding them
 * into operands. */
#include "vmfb/bytecode_accept.h"

enum { NONE, NARROW, WIDE, FIXED_REF, MOVABLE_REF };

/* The kinds of the letters of operands. */
static const uint8_t kinds[128] = {
    ['i'] = NARROW, ['f'] = NARROW,    ['I'] = WIDE,
    ['F'] = WIDE,   ['r'] = FIXED_REF, ['R'] = MOVABLE_REF,
};

/* Those of the letters of calling conventions; 'C' and 'D' have none. */
static const uint8_t passed[128] = {
    ['i'] = NARROW, ['f'] = NARROW,      ['I'] = WIDE,
    ['F'] = WIDE,   ['r'] = MOVABLE_REF,
};

/* Most modules have few instructions: only what must be cleared is. */
void fnabi_bytecode_accept_open(fnabi_acceptor* a, fnabi_bytecode* b) {
  a->b = b;
  memset(a->states, 0, sizeof a->states);
}

void fnabi_bytecode_accept_from(fnabi_acceptor* a, const fnabi_function* f,
                                uint8_t* targets) {
  uint32_t values = f->values < 0 ? 0 : (uint32_t)f->values;
  uint32_t refs = f->refs < 0 ? 0 : (uint32_t)f->refs;
  uint32_t fixed = a->b->major > 15 ? 0 : FNABI_REGISTER_MOVE;
  uint32_t is_ref = FNABI_REGISTER_REF;
  a->f = f;
  a->targets = targets;
  a->of[NONE] = (fnabi_bounds){0, 0, 0, 0};
  a->of[NARROW] = (fnabi_bounds){0, 0, 0, values};
  a->of[WIDE] = (fnabi_bounds){1, 0, 0, values == 0 ? 0 : values - 1};
  a->of[FIXED_REF] = (fnabi_bounds){0, is_ref, fixed, refs};
  a->of[MOVABLE_REF] = (fnabi_bounds){0, is_ref, FNABI_REGISTER_MOVE, refs};
}

static inline bool is_within(const fnabi_bounds* b, uint32_t value) {
  return (value & b->odd) == 0 && ((value ^ b->flip) & ~b->drop) < b->limit;
}

static inline bool is_either(const fnabi_bounds* of, uint32_t value) {
  return is_within(&of[value & FNABI_REGISTER_REF ? MOVABLE_REF : NARROW],
                   value);
}

/* What accepts an instruction: accept_simple, accept_other or nothing here. */
enum { SIMPLE = 1, OTHER, NEITHER };

static uint8_t find_shape(const fnabi_acceptor* a, unsigned op,
                          fnabi_shape* s) {
  unsigned slots = 0;
  const fnabi_bytecode_op* row = fnabi_bytecode_find(op);
  uint8_t others = op > 0xFF || op == FNABI_OP_BLOCK ? NEITHER : OTHER;
  if (row == NULL || row->since > a->b->major) return NEITHER;
  s->size = row->op > 0xFF ? 2 : 1;
  for (const char* letter = row->operands; *letter != 0; letter++) {
    uint8_t kind = kinds[*letter & 127];
    switch (*letter) {
      case '>':
        continue;
      case '4':
      case 'e':
        s->size = (uint8_t)(s->size + 4);
        continue;
      case '8':
      case 'E':
        s->size = (uint8_t)(s->size + 8);
        continue;
    }
    if (kind == NONE || slots == FNABI_SHAPE_SLOTS) return others;
    s->at[slots] = s->size;
    s->kind[slots++] = kind;
    s->size = (uint8_t)(s->size + 2);
  }
  if (slots == 0) return others;
  for (; slots < FNABI_SHAPE_SLOTS; slots++) {
    s->at[slots] = s->at[0];
    s->kind[slots] = s->kind[0];
  }
  return SIMPLE;
}

/* Returns the size of a simple instruction without a fault; 0 for others, and
 * sets *other if accept_other may accept it. */
static inline uint32_t accept_simple(fnabi_acceptor* a,
                                     const fnabi_bytecode_view* view,
                                     uint32_t offset, bool* other) {
  const uint8_t* code = view->code + offset;
  unsigned op = *code, page = 0;
  *other = false;
  if (op == FNABI_PAGE_F32 || op == FNABI_PAGE_F64) {
    page = op == FNABI_PAGE_F32 ? 1 : 2;
    if (view->size - offset < 2 || (a->f->requirements & page) == 0) return 0;
    op = op << 8 | code[1];
  }
  if ((op & 0xFF) >= FNABI_SHAPES) return 0;
  fnabi_shape* s = &a->shapes[page][op & 0xFF];
  uint8_t* state = &a->states[page][op & 0xFF];
  if (*state == 0) *state = find_shape(a, op, s);
  *other = *state == OTHER;
  if (*state != SIMPLE || s->size > view->size - offset) return 0;
  bool bad = false;
  for (int i = 0; i < FNABI_SHAPE_SLOTS; i++)
    bad |= !is_within(&a->of[s->kind[i]], fnabi_bytecode_u16(code + s->at[i]));
  return bad ? 0 : s->size;
}

/* Code that is read without a decoded instruction. */
typedef struct reading {
  const uint8_t* code;
  uint32_t at, size;
} reading;

/* Reads entries of `width` bytes, and zero padding before them. */
static inline bool take_list(reading* r, uint32_t width, fnabi_operand* list) {
  if (r->at % 2 != 0 && (r->at == r->size || r->code[r->at++] != 0))
    return false;
  if (r->size - r->at < 2) return false;
  list->offset = r->at;
  list->count = fnabi_bytecode_u16(r->code + r->at);
  list->items = r->code + r->at + 2;
  if (list->count * width > r->size - r->at - 2) return false;
  r->at += 2 + list->count * width;
  return true;
}

static bool accept_list(const fnabi_bounds* of, const fnabi_operand* list) {
  for (uint32_t i = 0; i < list->count; i++)
    if (!is_either(of, fnabi_operand_item(list, i))) return false;
  return true;
}

static bool accept_remap(const fnabi_bounds* of, const fnabi_operand* remap) {
  for (uint32_t i = 0; i < remap->count; i++) {
    uint16_t source = fnabi_operand_source(remap, i);
    uint16_t target = fnabi_operand_target(remap, i);
    if (!is_either(of, source) || !is_either(of, target) ||
        ((source ^ target) & FNABI_REGISTER_REF) != 0)
      return false;
  }
  return true;
}

const char* fnabi_segment_misfit(const fnabi_operand* segments, fnabi_text side,
                                 uint32_t* offset) {
  uint32_t item = 0;
  for (size_t at = 0; at < side.size; at++, item++) {
    bool span = side.data[at] == 'C';
    *offset = segments->offset + 2 + 2 * item;
    if (item < segments->count && !span &&
        fnabi_operand_item(segments, item) != FNABI_SEGMENT_SINGLE)
      return "";
    while (span && at < side.size && side.data[at] != 'D') at++;
  }
  *offset = segments->offset;
  return item >= segments->count ? NULL : "too many";
}

/* The registers of a side of a calling convention; without segments it has no
 * spans. */
static bool accept_side(const fnabi_bounds* of, const fnabi_operand* list,
                        fnabi_text side, const fnabi_operand* segments) {
  fnabi_registers r;
  uint32_t i = 0, ignored;
  char letter;
  if (segments == NULL) {
    if (list->count != side.size) return false;
    for (; i < list->count; i++)
      if (!is_within(&of[passed[side.data[i] & 127]],
                     fnabi_operand_item(list, i)))
        return false;
    return true;
  }
  fnabi_registers_begin(&r, side, segments);
  while ((letter = fnabi_registers_next(&r)) != 0 && i < list->count &&
         is_within(&of[passed[letter & 127]], fnabi_operand_item(list, i)))
    i++;
  return letter == 0 && !r.short_list && i == list->count &&
         fnabi_segment_misfit(segments, side, &ignored) == NULL;
}

static bool take_text(reading* r) {
  if (r->size - r->at < 2) return false;
  uint32_t size = 2u + fnabi_bytecode_u16(r->code + r->at);
  bool good = size <= r->size - r->at;
  r->at += size;
  return good;
}

static bool take_number(reading* r, uint32_t* value) {
  if (r->size - r->at < 4) return false;
  *value = fnabi_bytecode_u32(r->code + r->at);
  r->at += 4;
  return true;
}

static const fnabi_callee* take_callee(const fnabi_acceptor* a, reading* r,
                                       bool imported) {
  uint32_t value;
  if (!take_number(r, &value) ||
      (imported && (value & FNABI_CALLEE_IMPORT) == 0))
    return NULL;
  const fnabi_callee* called = fnabi_bytecode_callee(a->b, value);
  return called != NULL && called->readable ? called : NULL;
}

/* A number below a limit; false for operands of other letters, too. */
static bool accept_ordinal(const fnabi_acceptor* a, reading* r, char letter) {
  uint32_t value;
  if (!take_number(r, &value)) return false;
  switch (letter) {
    case 'G':
      return value < a->b->ref_count;
    case 't':
      return value < a->b->type_count;
    case 'd':
      return value < a->b->rodata_count;
    case 'g':
      return (uint64_t)value + 4 <= a->b->value_bytes;
    case 'h':
      return (uint64_t)value + 8 <= a->b->value_bytes;
    case 'p':
      if (value >= r->size || value >= FNABI_BLOCK_LIMIT) return false;
      fnabi_mark(a->targets, value);
      return true;
    default:
      return false;
  }
}

/* The same for an instruction with ordinals or lists, but for branch tables. Sets
 * *ends if it ends the block. */
static uint32_t accept_other(const fnabi_acceptor* a, uint32_t offset,
                             bool* ends) {
  const fnabi_function* f = a->f;
  const fnabi_bounds* of = a->of;
  const fnabi_bytecode_op* row = fnabi_bytecode_find(f->view.code[offset]);
  reading r = {f->view.code, offset + 1, f->view.size};
  const fnabi_callee* called = NULL;
  fnabi_operand list, segments;
  const fnabi_operand* spans = NULL;
  bool good = true, arguments = true;
  for (const char* letter = row->operands; *letter != 0 && good; letter++) {
    switch (*letter) {
      case '>':
        arguments = false;
        break;
      case '.':
        *ends = true;
        break;
      case 'i':
      case 'r':
      case 'R':
        good =
            r.size - r.at >= 2 && is_within(&of[kinds[(unsigned char)*letter]],
                                            fnabi_bytecode_u16(r.code + r.at));
        r.at += 2;
        break;
      case 's':
        good = take_text(&r);
        break;
      case '*':
        if (!take_list(&r, 2, &list))
          good = false;
        else if (called != NULL && arguments)
          good = accept_side(of, &list, called->arguments, spans);
        else if (called != NULL)
          good = accept_side(of, &list, called->results, NULL);
        else if (row->op == FNABI_OP_RETURN && f->callee.readable)
          good = accept_side(of, &list, f->callee.results, NULL);
        else
          good = accept_list(of, &list);
        break;
      case '#':
        good = take_list(&r, 2, &segments);
        spans = &segments;
        break;
      case 'm':
        good = take_list(&r, 4, &list) && accept_remap(of, &list);
        break;
      case 'c':
      case 'C':
        called = take_callee(a, &r, *letter == 'C');
        good = called != NULL;
        break;
      default:
        good = accept_ordinal(a, &r, *letter);
        break;
    }
  }
  if (!good || (row->op >= FNABI_OP_CALL_YIELDABLE &&
                (f->requirements & FNABI_REQUIRES_YIELD) == 0))
    return 0;
  if (called != NULL && !fnabi_fb_spend(&a->b->fb, called->cconv.size, 0))
    return 0;
  return r.at - offset;
}

uint32_t fnabi_bytecode_accept(fnabi_acceptor* a, uint32_t offset, bool* ends) {
  const fnabi_bytecode_view view = a->f->view;
  uint32_t size = 1;
  bool last = false, other;
  for (; size != 0 && !last && offset < view.size; offset += size) {
    size = accept_simple(a, &view, offset, &other);
    if (other) size = accept_other(a, offset, &last);
  }
  *ends = last && size != 0;
  return offset;
}
