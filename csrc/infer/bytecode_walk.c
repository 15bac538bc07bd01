/* Data flow over bytecode: blocks are analysed in order until no state changes.
 * This terminates because joins only remove knowledge. */
#include "infer/bytecode_walk.h"

#include "base/error.h"

/* Functions may share bytecode, so the bytes analysed in all are limited to
 * this multiple of the code. */
#define CODE_SHARED UINT64_C(32)

/* Limits per function: steps, and terms. */
#define WORK(code) ((uint64_t)64 * (code) + (1 << 20))
#define TERMS(code) ((uint64_t)4 * (code) + (1 << 16))
#define TERMS_MAX (4u << 20)

/* Limits of the items that are recorded for a module. */
#define ITEMS_LEFT(code) ((uint64_t)4 * (code) + (1 << 20))
#define ITEMS_LEFT_MAX ((uint64_t)4 << 20)

/* ------------------------------------------------------------- instructions */

/* Whether the results depend only on integer operands. */
static bool is_pure(const fnabi_bytecode_op* op) {
  const char* letter = op->operands;
  int read = 0;
  while (*letter == 'i' || *letter == 'I') {
    letter++;
    read++;
  }
  return read > 0 && read <= 3 && letter[0] == '>' &&
         (letter[1] == 'i' || letter[1] == 'I') && letter[2] == 0 &&
         op->op != FNABI_OP_GLOBAL_LOAD_INDIRECT_I32 &&
         op->op != FNABI_OP_GLOBAL_LOAD_INDIRECT_I64;
}

static void run_pure(walk* w, const fnabi_instruction* at) {
  fnabi_term parts[3] = {0, 0, 0}, result = FNABI_TERM_UNKNOWN;
  bool known = true;
  for (unsigned i = 0; i + 1 < at->count; i++) {
    parts[i] = read_register(w, at->operands[i].kind, at->operands[i].value);
    known = known && parts[i] != FNABI_TERM_UNKNOWN;
  }
  const fnabi_operand* to = &at->operands[at->count - 1];
  if (known)
    result = fnabi_term_pure(&w->flow->terms, at->op->op, parts[0], parts[1],
                             parts[2]);
  write_register(w, to->kind, to->value, result);
}

/* Any other instruction: moves references, and its results are new terms. */
static void run_other(walk* w, const fnabi_instruction* at) {
  const char* name = at->op->name;
  uint32_t as = strncmp(name, "buffer.", 7) == 0 ? FNABI_USE_BYTES
                : strncmp(name, "list.", 5) == 0 ? FNABI_USE_LIST
                                                 : 0;
  for (unsigned i = 0; i < at->count; i++) {
    const fnabi_operand* o = &at->operands[i];
    if (o->written) {
      if (o->kind == 'i' || o->kind == 'I')
        write_register(w, o->kind, o->value, fnabi_walk_given(w, i));
      else
        forget(w, o->kind, o->value);
    } else if (o->kind == 'r' || o->kind == 'R') {
      /* The other list instructions do not change the list. */
      fnabi_term term =
          as == FNABI_USE_LIST ? copy_ref(w, o->value) : read_ref(w, o->value);
      if (o->kind == 'r') fnabi_walk_use(w, term, as);
    } else if (o->kind == '*' || (o->kind == '[' && o->element == 'R')) {
      for (uint32_t k = 0; k < o->count; k++)
        if ((fnabi_operand_item(o, k) & FNABI_REGISTER_REF) != 0)
          (void)read_ref(w, fnabi_operand_item(o, k));
    }
  }
}

/* The term of read-only data or of a global: in a record only, as no type depends
 * on it. */
static fnabi_term name_ref(walk* w, uint16_t as, uint64_t number) {
  if (w->flow->record == NULL || w->in_loop) return FNABI_TERM_UNKNOWN;
  return fnabi_term_make(&w->flow->terms, FNABI_TERM_OPAQUE, as, w->ordinal,
                         w->offset, (uint32_t)number);
}

static void record_store(walk* w, const fnabi_operand* o) {
  fnabi_record* record = w->flow->record;
  uint32_t number = (uint32_t)o[0].value;
  if (number >= FNABI_RECORD_STORE) {
    w->abandoned = true;
    return;
  }
  fnabi_record_word(record, w->offset);
  fnabi_record_word(record, FNABI_RECORD_STORE | number);
  fnabi_record_word(record, 1);
  fnabi_record_word(record, *ref_at(w, o[2].value));
  fnabi_record_word(record, 0);
  fnabi_record_word(record, 0);
  if (!record->failed)
    ((uint32_t*)(void*)record->words.data)[record->call_count]++;
}

static void run_select_ref(walk* w, const fnabi_operand* o) {
  uint64_t condition;
  fnabi_term chosen = FNABI_TERM_UNKNOWN;
  fnabi_term if_true = read_ref(w, o[2].value);
  fnabi_term if_false = read_ref(w, o[3].value);
  const fnabi_term* facts = facts_of(w, w->now);
  if (fnabi_term_value(&w->flow->terms, read_i32(w, o[0].value), &condition))
    chosen = (uint32_t)condition != 0 ? if_true : if_false;
  else if (if_true == if_false)
    chosen = if_true;
  else
    chosen = fnabi_walk_common_view(w, fnabi_walk_type_of(w, if_true, facts),
                                    fnabi_walk_type_of(w, if_false, facts),
                                    FNABI_TERM_UNKNOWN);
  write_ref(w, o[4].value, chosen);
}

static void run_return(walk* w, const fnabi_operand* list) {
  fnabi_registers letters;
  fnabi_term *facts = facts_of(w, w->now), *kept = w->returned;
  char letter;
  fnabi_registers_begin(&letters, w->function->callee.results, NULL);
  if (list->count != w->result_count || !spend(w, w->arguments)) {
    w->abandoned = true;
    return;
  }
  for (uint32_t i = 0; i < list->count; i++) {
    letter = fnabi_registers_next(&letters);
    fnabi_term term = read_register(w, letter, fnabi_operand_item(list, i));
    if (!w->returns)
      kept[i] = term;
    else if (kept[i] != term)
      kept[i] =
          letter == 'r'
              ? fnabi_walk_common_view(
                    w, fnabi_walk_type_of(w, kept[i], kept + w->result_count),
                    fnabi_walk_type_of(w, term, facts), FNABI_TERM_UNKNOWN)
              : FNABI_TERM_UNKNOWN;
  }
  kept += w->result_count;
  for (uint32_t i = 0; i < w->arguments; i++)
    kept[i] = w->returns ? fnabi_walk_common_view(
                               w, kept[i], facts[i],
                               fnabi_term_make(&w->flow->terms,
                                               FNABI_TERM_ARGUMENT, 0, i, 0, 0))
                         : facts[i];
  w->returns = true;
}

/* Continues both paths of a conditional branch, each with its assumption. */
static void run_cond_br(walk* w, const fnabi_operand* o) {
  fnabi_term condition = read_i32(w, o[0].value);
  fnabi_term* facts = facts_of(w, w->now);
  const size_t size = w->arguments * sizeof *facts;
  fnabi_vector* kept = &w->flow->results;
  kept->size = 0;
  if (!fnabi_vector_append(kept, facts, size)) {
    w->flow->terms.failed = w->abandoned = true;
    return;
  }
  for (int way = 0; way < 2; way++) {
    w->dead = false;
    fnabi_walk_assume(w, condition, way == 0);
    if (!w->dead && !w->abandoned)
      fnabi_walk_branch_to(w, o[1 + 2 * way].value, &o[2 + 2 * way]);
    if (size != 0) memcpy(facts, kept->data, size);
  }
}

static void run_br_table(walk* w, const fnabi_operand* o) {
  fnabi_operand target, remap;
  uint32_t place = 0;
  fnabi_walk_branch_to(w, o[1].value, &o[2]);
  while (!w->abandoned && fnabi_operand_case(&o[3], &place, &target, &remap))
    fnabi_walk_branch_to(w, target.value, &remap);
}

static void run(walk* w, const fnabi_instruction* at) {
  const fnabi_operand* o = at->operands;
  fnabi_terms* terms = &w->flow->terms;
  switch (at->op->op) {
    case FNABI_OP_BLOCK:
      break;
    case FNABI_OP_CONST_I32_ZERO:
      write_i32(w, o[0].value, fnabi_term_constant(terms, 0));
      break;
    case FNABI_OP_CONST_I64_ZERO:
      write_i64(w, o[0].value, fnabi_term_constant(terms, 0));
      break;
    case FNABI_OP_CONST_I32:
      write_i32(w, o[1].value,
                fnabi_term_constant(terms, (uint32_t)o[0].value));
      break;
    case FNABI_OP_CONST_I64:
      write_i64(w, o[1].value, fnabi_term_constant(terms, o[0].value));
      break;
    case FNABI_OP_CONST_REF_ZERO:
      write_ref(w, o[0].value, FNABI_TERM_NULL);
      break;
    case FNABI_OP_ASSIGN_REF:
      write_ref(w, o[1].value, copy_ref(w, o[0].value));
      break;
    case FNABI_OP_CONST_REF_RODATA:
      write_ref(w, o[1].value, name_ref(w, READ_ONLY, o[0].value));
      break;
    case FNABI_OP_GLOBAL_LOAD_REF:
      write_ref(w, o[2].value, name_ref(w, GLOBAL, o[0].value));
      break;
    case FNABI_OP_GLOBAL_STORE_REF:
      if (w->recorded) record_store(w, o);
      run_other(w, at);
      break;
    case FNABI_OP_CAST_ANY_REF: {
      fnabi_term term = copy_ref(w, o[0].value);
      fnabi_walk_use(w, term, FNABI_USE_CAST);
      write_ref(w, o[2].value, term);
      break;
    }
    case FNABI_OP_DISCARD_REFS:
      for (uint32_t i = 0; i < o[0].count; i++)
        write_ref(w, fnabi_operand_item(&o[0], i), FNABI_TERM_NULL);
      break;
    case FNABI_OP_SELECT_REF:
      run_select_ref(w, o);
      break;
    case FNABI_OP_LIST_ALLOC:
      write_ref(w, o[2].value, fnabi_walk_allocate_list(w));
      break;
    case FNABI_OP_LIST_RESIZE:
    case FNABI_OP_LIST_SET_I32:
    case FNABI_OP_LIST_SET_I64:
    case FNABI_OP_LIST_SET_F32:
    case FNABI_OP_LIST_SET_F64:
    case FNABI_OP_LIST_SET_REF:
    case FNABI_OP_LIST_GET_REF:
      fnabi_walk_run_list(w, at);
      break;
    case FNABI_OP_CALL:
    case FNABI_OP_CALL_VARIADIC:
    case FNABI_OP_CALL_YIELDABLE:
    case FNABI_OP_CALL_VARIADIC_YIELDABLE:
      fnabi_walk_run_call(w, at);
      break;
    case FNABI_OP_BR:
    case FNABI_OP_YIELD:
    case FNABI_OP_BREAK:
      fnabi_walk_branch_to(w, o[0].value, &o[1]);
      break;
    case FNABI_OP_COND_BREAK:
      fnabi_walk_branch_to(w, o[1].value, &o[2]);
      break;
    case FNABI_OP_COND_BR:
      run_cond_br(w, o);
      break;
    case FNABI_OP_BR_TABLE:
      run_br_table(w, o);
      break;
    case FNABI_OP_RETURN:
      run_return(w, &o[0]);
      break;
    case FNABI_OP_FAIL:
      break;
    default:
      if (is_pure(at->op))
        run_pure(w, at);
      else
        run_other(w, at);
  }
}

static bool is_call(const fnabi_instruction* at) {
  return at->op->op == FNABI_OP_CALL_YIELDABLE ||
         at->op->op == FNABI_OP_CALL_VARIADIC_YIELDABLE;
}

static void record_returned(walk* w, const fnabi_operand* list) {
  fnabi_registers letters;
  char letter;
  fnabi_registers_begin(&letters, w->function->callee.results, NULL);
  fnabi_record_word(w->flow->record, list->count);
  for (uint32_t i = 0; i < list->count && !w->abandoned; i++) {
    uint32_t number = fnabi_operand_item(list, i);
    if ((letter = fnabi_registers_next(&letters)) == 0) w->abandoned = true;
    fnabi_record_word(w->flow->record, letter == 'r'
                                           ? *ref_at(w, number)
                                           : read_register(w, letter, number));
  }
}

/* Records how a block ends; `at` is NULL if it ends in a call that does not
 * return. */
static void record_end(walk* w, const fnabi_instruction* at) {
  static const struct {
    uint16_t op;
    fnabi_record_end end;
  } ends[] = {{FNABI_OP_COND_BR, FNABI_END_CONDITION},
              {FNABI_OP_COND_BREAK, FNABI_END_CONDITION},
              {FNABI_OP_BR_TABLE, FNABI_END_TABLE},
              {FNABI_OP_RETURN, FNABI_END_RETURN},
              {FNABI_OP_FAIL, FNABI_END_FAIL}};
  fnabi_record* record = w->flow->record;
  fnabi_record_end end = at == NULL ? FNABI_END_FAIL : FNABI_END_BRANCH;
  for (size_t i = 0; at != NULL && i < sizeof ends / sizeof *ends; i++)
    if (at->op->op == ends[i].op) end = ends[i].end;
  fnabi_record_word(record, end);
  if (end == FNABI_END_RETURN) {
    record_returned(w, &at->operands[0]);
  } else if (end == FNABI_END_BRANCH || at == NULL) {
    fnabi_record_word(record, 0);
  } else {
    fnabi_record_word(record, 1);
    fnabi_record_word(record, read_i32(w, at->operands[0].value));
  }
}

static void record_block(walk* w, const block* b) {
  fnabi_record* record = w->flow->record;
  const uint32_t* targets = (const uint32_t*)(const void*)w->flow->targets.data;
  fnabi_record_word(record, b->offset);
  fnabi_record_word(record, b->in_loop);
  fnabi_record_word(record, (uint32_t)(b[1].branches - b->branches));
  for (size_t i = b->branches; i < b[1].branches; i++)
    fnabi_record_word(record, targets[i]);
  record->call_count = fnabi_record_size(record);
  fnabi_record_word(record, 0);
}

static void run_block(walk* w, const block* b) {
  fnabi_instruction at;
  fnabi_error ignored;
  const fnabi_term* state =
      (const fnabi_term*)(const void*)w->flow->state.data + b->state;
  if (w->width != 0) memcpy(w->now, state, w->width * sizeof *state);
  /* What is recorded is of one run of the block. */
  w->in_loop = b->in_loop && !w->recorded;
  w->dead = false;
  w->offset = b->offset;
  do {
    if (!spend(w, 1) ||
        !fnabi_bytecode_decode(&w->function->view, w->offset, &at, &ignored)) {
      w->abandoned = true;
      return;
    }
    if (!w->recorded || !at.ends || is_call(&at)) run(w, &at);
    if (w->recorded && (at.ends || w->dead))
      record_end(w, w->dead ? NULL : &at);
    w->offset += at.size;
  } while (!at.ends && !w->dead && !w->abandoned);
}

/* ----------------------------------------------------------------- the walk */

/* Counts the registers of a side. Returns false if it has spans. */
static bool count_side(fnabi_text side, uint32_t* count) {
  *count = (uint32_t)side.size;
  return side.size < INT16_MAX &&
         (side.size == 0 || memchr(side.data, 'C', side.size) == NULL);
}

/* The number of registers, which the loader rounds up to a power of two. */
static uint32_t rounded(int16_t count) {
  uint32_t power = 1;
  while (count > 0 && power < (uint32_t)count) power *= 2;
  return count > 0 ? power : 0;
}

/* Arguments are in the first registers of each bank. */
static void place_arguments(walk* w) {
  fnabi_text side = w->function->callee.arguments;
  uint32_t value = 0, ref = 0;
  for (uint32_t i = 0; i < w->arguments; i++) {
    char letter = side.data[i];
    fnabi_term term =
        fnabi_term_make(&w->flow->terms, FNABI_TERM_ARGUMENT, 0, i, 0, 0);
    if (letter == 'r') {
      write_ref(w, FNABI_REGISTER_REF | ref++, term);
    } else if (letter == 'I' || letter == 'F') {
      value += value % 2;
      write_i64(w, value, term);
      value += 2;
    } else {
      write_i32(w, value++, term);
    }
  }
}

static bool keep(fnabi_flow* flow, const walk* w, fnabi_flow_function* out) {
  fnabi_vector* kept = &flow->kept;
  const fnabi_term* facts = w->returned + w->result_count;
  out->first = kept->size / sizeof *facts;
  out->argument_count = w->arguments;
  out->result_count = w->result_count;
  out->returns = w->returns;
  out->known =
      fnabi_vector_append(kept, w->uses, w->arguments * sizeof *w->uses) &&
      fnabi_vector_append(kept, facts, w->arguments * sizeof *facts) &&
      fnabi_vector_append(kept, w->returned,
                          w->result_count * sizeof *w->returned) &&
      fnabi_vector_append(kept, w->lengths, w->arguments * sizeof *w->lengths);
  return out->known;
}

/* Analyses the blocks until no state changes, then the blocks that return,
 * whose states are final only then. */
static void go_through(walk* w) {
  const uint32_t* order = (const uint32_t*)(const void*)w->flow->order.data;
  size_t count = w->flow->order.size / sizeof *order;
  for (uint32_t i = 0; i < count && !w->abandoned;) {
    block* b = &w->blocks[order[i++]];
    if (!b->dirty || b->returns) continue;
    b->dirty = false;
    w->lowest = i;
    run_block(w, b);
    if (w->lowest < i) i = w->lowest;
  }
  for (size_t i = 0; i < count && !w->abandoned; i++) {
    const block* b = &w->blocks[order[i]];
    if (b->reached && b->returns) run_block(w, b);
  }
}

/* Runs each block once more, from its final state, and records it. */
static void record_function(walk* w) {
  fnabi_record* record = w->flow->record;
  size_t begin = fnabi_record_size(record);
  uint32_t count = 0;
  const block* b = w->blocks;
  w->recorded = true;
  fnabi_record_word(record, 0);
  for (; b->offset != UINT32_MAX && !w->abandoned && !record->failed; b++) {
    if (!b->reached) continue;
    record_block(w, b);
    run_block(w, b);
    count++;
  }
  if (record->failed) {
    w->flow->terms.failed = true;
  } else if (w->abandoned) {
    record->words.size = begin * sizeof(uint32_t);
  } else {
    ((uint32_t*)(void*)record->words.data)[begin] = count;
    record->begin[w->ordinal] = begin + 1;
  }
}

/* Analyses a function whose blocks are prepared. */
static bool analyze(fnabi_flow* flow, uint32_t ordinal) {
  const fnabi_function* f = &flow->module->functions[ordinal];
  walk w = {.flow = flow, .function = f, .ordinal = ordinal};
  w.values = rounded(f->values);
  w.refs = rounded(f->refs);
  w.work = WORK(f->view.size);
  if (w.refs > FNABI_REGISTER_REF_NUMBER)
    w.refs = FNABI_REGISTER_REF_NUMBER + 1;
  if (!f->callee.readable || !count_side(f->callee.arguments, &w.arguments) ||
      !count_side(f->callee.results, &w.result_count))
    return true;
  w.lists = flow->list_count;
  w.width = (size_t)w.values + w.refs + w.arguments + w.lists;
  size_t words = 2 * w.width + 3 * (size_t)w.arguments + w.result_count + 1;
  flow->spare.size = flow->state.size = 0;
  if (!fnabi_vector_reserve(&flow->spare, words * sizeof *w.now)) return false;
  if (!spend(&w, words)) return true;
  w.now = (fnabi_term*)(void*)flow->spare.data;
  memset(w.now, 0, words * sizeof *w.now);
  w.other = w.now + w.width;
  w.uses = w.other + w.width;
  w.lengths = w.uses + w.arguments;
  w.returned = w.lengths + w.arguments;
  w.blocks = (block*)(void*)flow->blocks.data;
  place_arguments(&w);
  if (!w.abandoned) fnabi_walk_branch_to(&w, 0, NULL);
  go_through(&w);
  if (flow->record != NULL && !w.abandoned) record_function(&w);
  if (flow->terms.failed) return false;
  return w.abandoned || keep(flow, &w, &flow->functions[ordinal]);
}

/* A function whose callees are analysed first. */
typedef struct frame {
  uint32_t ordinal;
  bool blocks, readable; /* its blocks were found; are those in the flow */
  size_t begin, next;    /* of its callees */
} frame;

static bool enter(fnabi_flow* flow, uint32_t ordinal) {
  frame new = {.ordinal = ordinal,
               .begin = flow->callees.size / sizeof ordinal};
  new.next = new.begin;
  flow->functions[ordinal].state = OPEN;
  flow->functions[ordinal].calls = true; /* until its code is known */
  const fnabi_function* f = &flow->module->functions[ordinal];
  bool affordable = flow->code_left >= f->view.size;
  if (affordable) flow->code_left -= f->view.size;
  new.readable = affordable && fnabi_walk_blocks(flow, ordinal);
  new.blocks = true;
  return !flow->terms.failed &&
         fnabi_vector_append(&flow->frames, &new, sizeof new);
}

static bool visit(fnabi_flow* flow, uint32_t ordinal) {
  flow->frames.size = flow->callees.size = 0;
  if (!enter(flow, ordinal)) return false;
  while (flow->frames.size != 0) {
    frame* top = (frame*)(void*)(flow->frames.data + flow->frames.size) - 1;
    const uint32_t* callees = (const uint32_t*)(const void*)flow->callees.data;
    size_t end = flow->callees.size / sizeof *callees;
    while (top->next < end && flow->functions[callees[top->next]].state != NEW)
      top->next++;
    if (top->readable && top->next < end) {
      top->blocks = false; /* other blocks are in the flow then */
      if (!enter(flow, callees[top->next])) return false;
      continue;
    }
    flow->callees.size = top->begin * sizeof *callees;
    if (top->readable &&
        ((!top->blocks && !fnabi_walk_blocks(flow, top->ordinal)) ||
         !analyze(flow, top->ordinal)))
      return false;
    flow->functions[top->ordinal].state = DONE;
    flow->frames.size -= sizeof *top;
  }
  return true;
}

/* ------------------------------------------------------------------- module */

bool fnabi_flow_open(fnabi_flow* flow, const fnabi_bytecode* module,
                     fnabi_error* error) {
  *flow = (fnabi_flow){.module = module, .error = error};
  uint64_t limit = 0;
  for (size_t i = 0; i < module->function_count; i++)
    limit += module->functions[i].view.size;
  limit = limit < TERMS_MAX ? TERMS(limit) : TERMS_MAX;
  flow->code_left = CODE_SHARED * module->fb.size;
  flow->items_left = ITEMS_LEFT(module->fb.size);
  if (flow->items_left > ITEMS_LEFT_MAX) flow->items_left = ITEMS_LEFT_MAX;
  flow->functions = calloc(module->function_count + 1, sizeof *flow->functions);
  flow->imports = malloc(module->import_count + 1);
  if (flow->functions == NULL || flow->imports == NULL ||
      !fnabi_terms_open(&flow->terms,
                        limit < TERMS_MAX ? (uint32_t)limit : TERMS_MAX)) {
    fnabi_fail(error, FNABI_MEMORY, 0, NULL);
    return false;
  }
  for (size_t i = 0; i < module->import_count; i++) {
    flow->imports[i] = (uint8_t)fnabi_walk_import(&module->imports[i]);
    flow->views = flow->views || flow->imports[i] != OTHER;
  }
  return true;
}

void fnabi_flow_close(fnabi_flow* flow) {
  fnabi_vector* vectors[] = {&flow->kept,   &flow->callees, &flow->frames,
                             &flow->blocks, &flow->targets, &flow->order,
                             &flow->state,  &flow->spare,   &flow->results};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
    free(vectors[i]->data);
  free(flow->functions);
  free(flow->imports);
  free(flow->block_at);
  fnabi_terms_close(&flow->terms);
}

const fnabi_flow_function* fnabi_flow_of(fnabi_flow* flow, size_t ordinal) {
  fnabi_flow_function* f = &flow->functions[ordinal];
  if (f->state == DONE || visit(flow, (uint32_t)ordinal)) return f;
  fnabi_fail(flow->error, FNABI_MEMORY, 0, NULL);
  return NULL;
}
