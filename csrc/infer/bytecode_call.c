/* Calls in the data flow: of imports that reveal types, and of functions whose
 * facts are translated to the caller. */
#include "infer/bytecode_walk.h"

/* Larger terms are not translated from a function to its callers. */
#define CARRIED_SIZE 16

/* ------------------------------------------------------------------ imports */

/* The names without the module (`hal` or `hal_inline`), and the calling
 * conventions that the analysis expects. */
static const struct {
  fnabi_text name;
  fnabi_text cconv;
  import_kind kind;
} known_imports[] = {
    {FNABI_TEXT("buffer_view.assert"), FNABI_TEXT("0rriiCID_v"), ASSERT_VIEW},
    {FNABI_TEXT("buffer_view.create"), FNABI_TEXT("0rIIiiCID_r"), CREATE_VIEW},
    {FNABI_TEXT("buffer_view.buffer"), FNABI_TEXT("0r_r"), VIEW_STORAGE},
    {FNABI_TEXT("buffer_view.dim"), FNABI_TEXT("0ri_I"), VIEW_DIM},
    {FNABI_TEXT("buffer_view.rank"), FNABI_TEXT("0r_i"), VIEW_RANK},
    {FNABI_TEXT("buffer_view.element_type"), FNABI_TEXT("0r_i"),
     VIEW_ELEMENT_TYPE},
    {FNABI_TEXT("buffer_view.encoding_type"), FNABI_TEXT("0r_i"), VIEW_USED},
    {FNABI_TEXT("buffer.assert"), FNABI_TEXT("0rrrIii_v"), ASSERT_BUFFER},
    {FNABI_TEXT("buffer.length"), FNABI_TEXT("0r_I"), BUFFER_USED},
    {FNABI_TEXT("buffer.storage"), FNABI_TEXT("0r_r"), BUFFER_USED},
    {FNABI_TEXT("buffer.subspan"), FNABI_TEXT("0rII_r"), SUBSPAN},
    {FNABI_TEXT("fence.await"), FNABI_TEXT("0iICrD_i"), WAITED},
    {FNABI_TEXT("fence.await"), FNABI_TEXT("0iCrD_i"), WAITED},
    {FNABI_TEXT("fence.join"), FNABI_TEXT("0CrD_r"), WAITED},
    {FNABI_TEXT("fence.join"), FNABI_TEXT("0ICrD_r"), WAITED},
    {FNABI_TEXT("fence.query"), FNABI_TEXT("0r_i"), WAITED},
    {FNABI_TEXT("fence.signal"), FNABI_TEXT("0r_v"), SIGNALED},
    {FNABI_TEXT("fence.fail"), FNABI_TEXT("0ri_v"), SIGNALED},
};

/* Removes a prefix of a text. */
static bool without(fnabi_text* text, fnabi_text prefix) {
  if (text->size < prefix.size ||
      memcmp(text->data, prefix.data, prefix.size) != 0)
    return false;
  text->data += prefix.size;
  text->size -= prefix.size;
  return true;
}

import_kind fnabi_walk_import(const fnabi_callee* import) {
  static const fnabi_text hal = FNABI_TEXT("hal."),
                          inlined = FNABI_TEXT("hal_inline."),
                          queue = FNABI_TEXT("device.queue."),
                          parameters = FNABI_TEXT("io_parameters."),
                          fences = FNABI_TEXT("rIrr");
  fnabi_text name = import->name, arguments = import->arguments;
  bool of_hal = without(&name, hal);
  if (without(&name, of_hal ? queue : parameters))
    return without(&arguments, fences) ? QUEUE : OTHER;
  if (!of_hal && !without(&name, inlined)) return OTHER;
  for (size_t i = 0; i < sizeof known_imports / sizeof *known_imports; i++)
    if (fnabi_text_equal(name, known_imports[i].name) &&
        fnabi_text_equal(import->cconv, known_imports[i].cconv))
      return known_imports[i].kind;
  return OTHER;
}

/* -------------------------------------------------------------------- calls */

/* The call that is analysed. */
typedef struct call {
  const fnabi_callee* callee;
  const fnabi_operand *segments, *operands, *results;
  uint32_t internal; /* ordinal of a function, or UINT32_MAX */
  import_kind kind;
} call;

/* Reads the dims from operand `from` on. */
static uint32_t read_dims(walk* w, const call* c, uint32_t from,
                          fnabi_term dims[FNABI_RANK_MAX]) {
  uint32_t rank = c->operands->count - from;
  if (rank > FNABI_RANK_MAX) return FNABI_RANK_UNKNOWN;
  for (uint32_t i = 0; i < rank; i++)
    dims[i] = fnabi_walk_checked_dim(
        w, read_i64(w, fnabi_operand_item(c->operands, from + i)));
  return rank;
}

static uint32_t read_element_type(walk* w, const call* c, uint32_t index) {
  uint64_t value;
  fnabi_term term = read_i32(w, fnabi_operand_item(c->operands, index));
  return fnabi_term_value(&w->flow->terms, term, &value) ? (uint32_t)value : 0;
}

static void assert_view(walk* w, const call* c, fnabi_term view) {
  fnabi_term dims[FNABI_RANK_MAX];
  uint32_t index, rank = read_dims(w, c, 4, dims);
  uint32_t element_type = read_element_type(w, c, 2);
  if (fnabi_walk_as_argument(w, view, &index))
    fnabi_walk_learn(w, index, element_type, rank, dims);
}

static fnabi_term create_view(walk* w, const call* c, fnabi_term storage) {
  fnabi_term dims[FNABI_RANK_MAX];
  uint32_t rank = read_dims(w, c, 5, dims);
  switch ((fnabi_term_kind)fnabi_term_get(&w->flow->terms, storage)->kind) {
    case FNABI_TERM_ARGUMENT:
    case FNABI_TERM_STORAGE:
    case FNABI_TERM_OPAQUE:
      break;
    default: /* not a buffer */
      storage = FNABI_TERM_UNKNOWN;
  }
  return fnabi_term_view(&w->flow->terms, read_element_type(w, c, 3), rank,
                         dims, storage);
}

/* Records the use of every reference among the operands, and empties the
 * registers of moved ones. */
static void use_all(walk* w, const call* c, uint32_t as) {
  for (uint32_t i = 0; i < c->operands->count; i++) {
    uint32_t number = fnabi_operand_item(c->operands, i);
    if ((number & FNABI_REGISTER_REF) != 0)
      fnabi_walk_use(w, *ref_at(w, number), as);
  }
}

/* The number of operands of an import that are not in a span. */
static uint32_t fixed_operands(import_kind kind) {
  switch (kind) {
    case ASSERT_VIEW:
    case ASSERT_BUFFER:
    case QUEUE:
      return 4;
    case CREATE_VIEW:
      return 5;
    case VIEW_DIM:
      return 2;
    case OTHER:
    case WAITED:
      return 0;
    default:
      return 1;
  }
}

/* Returns the only result of an import; UNKNOWN if only its uses matter. */
static fnabi_term call_import(walk* w, const call* c) {
  fnabi_terms* terms = &w->flow->terms;
  uint64_t value;
  if (c->kind == OTHER) return FNABI_TERM_UNKNOWN;
  if (c->operands->count < fixed_operands(c->kind)) {
    w->abandoned = true;
    return FNABI_TERM_UNKNOWN;
  }
  if (c->kind == WAITED) {
    use_all(w, c, FNABI_USE_WAIT);
    return FNABI_TERM_UNKNOWN;
  }
  fnabi_term first = *ref_at(w, fnabi_operand_item(c->operands, 0));
  switch (c->kind) {
    case ASSERT_VIEW:
      fnabi_walk_use(w, first, FNABI_USE_VIEW);
      assert_view(w, c, first);
      break;
    case CREATE_VIEW:
      fnabi_walk_use(w, first, FNABI_USE_BUFFER);
      return create_view(w, c, first);
    case VIEW_STORAGE:
      fnabi_walk_use(w, first, FNABI_USE_VIEW);
      return fnabi_term_storage(terms, first);
    case VIEW_DIM:
      fnabi_walk_use(w, first, FNABI_USE_VIEW);
      if (fnabi_term_value(
              terms, read_i32(w, fnabi_operand_item(c->operands, 1)), &value))
        return fnabi_term_dim(terms, first, (uint32_t)value);
      break;
    case VIEW_RANK:
      fnabi_walk_use(w, first, FNABI_USE_VIEW);
      return fnabi_term_rank(terms, first);
    case VIEW_ELEMENT_TYPE:
      fnabi_walk_use(w, first, FNABI_USE_VIEW);
      return fnabi_term_element_type(terms, first);
    case VIEW_USED:
      fnabi_walk_use(w, first, FNABI_USE_VIEW);
      break;
    case BUFFER_USED:
      fnabi_walk_use(w, first, FNABI_USE_BUFFER);
      break;
    case ASSERT_BUFFER:
      fnabi_walk_use(w, first, FNABI_USE_BUFFER);
      if (fnabi_term_value(
              terms, read_i64(w, fnabi_operand_item(c->operands, 3)), &value))
        fnabi_walk_require(w, first, value);
      break;
    case SUBSPAN:
      fnabi_walk_use(w, first, FNABI_USE_BUFFER);
      return first;
    case QUEUE:
      fnabi_walk_use(w, *ref_at(w, fnabi_operand_item(c->operands, 2)),
                     FNABI_USE_WAIT);
      fnabi_walk_use(w, *ref_at(w, fnabi_operand_item(c->operands, 3)),
                     FNABI_USE_SIGNAL);
      break;
    case SIGNALED:
      fnabi_walk_use(w, first, FNABI_USE_SIGNAL);
      break;
    default:
      break;
  }
  return FNABI_TERM_UNKNOWN;
}

/* Translates a term of a callee to the caller, whose operands are `arguments`.
 */
static fnabi_term carry(walk* w, fnabi_term term, const fnabi_term* arguments,
                        uint32_t count) {
  fnabi_terms* terms = &w->flow->terms;
  const fnabi_term_node n = *fnabi_term_get(terms, term);
  uint32_t half = term & FNABI_TERM_HALF;
  fnabi_term carried, parts[3] = {n.a, n.b, n.c}, dims[FNABI_RANK_MAX];
  if (!spend(w, 1)) return FNABI_TERM_UNKNOWN;
  if (n.size > CARRIED_SIZE && n.kind != FNABI_TERM_VIEW) {
    carried = w->in_loop ? FNABI_TERM_UNKNOWN
                         : fnabi_term_make(terms, FNABI_TERM_OPAQUE, CARRIED,
                                           w->ordinal, w->offset,
                                           term & ~FNABI_TERM_HALF);
    return half == 0 ? carried : fnabi_term_half(terms, carried, half);
  }
  switch ((fnabi_term_kind)n.kind) {
    case FNABI_TERM_ARGUMENT:
      carried = n.a < count ? arguments[n.a] : FNABI_TERM_UNKNOWN;
      break;
    case FNABI_TERM_OPAQUE:
      carried = w->in_loop ? FNABI_TERM_UNKNOWN
                           : fnabi_term_make(terms, FNABI_TERM_OPAQUE, CARRIED,
                                             w->ordinal, w->offset,
                                             term & ~FNABI_TERM_HALF);
      break;
    case FNABI_TERM_PURE:
      for (int i = 0; i < 3; i++) {
        if (parts[i] == 0) continue;
        parts[i] = carry(w, parts[i], arguments, count);
        if (parts[i] == FNABI_TERM_UNKNOWN) return FNABI_TERM_UNKNOWN;
      }
      carried =
          n.op == FNABI_PURE_PAIR
              ? fnabi_term_join_halves(terms, parts[0], parts[1])
              : fnabi_term_pure(terms, n.op, parts[0], parts[1], parts[2]);
      break;
    case FNABI_TERM_DIM:
      carried = fnabi_term_dim(terms, carry(w, n.a, arguments, count), n.b);
      break;
    case FNABI_TERM_RANK:
      carried = fnabi_term_rank(terms, carry(w, n.a, arguments, count));
      break;
    case FNABI_TERM_ELEMENT_TYPE:
      carried = fnabi_term_element_type(terms, carry(w, n.a, arguments, count));
      break;
    case FNABI_TERM_STORAGE:
      carried = fnabi_term_storage(terms, carry(w, n.a, arguments, count));
      break;
    case FNABI_TERM_VIEW: {
      uint32_t rank = fnabi_walk_copy_dims(w, &n, dims);
      fnabi_term storage = carry(w, n.c, arguments, count);
      for (uint32_t i = 0; i < rank && rank != FNABI_RANK_UNKNOWN; i++)
        dims[i] =
            fnabi_walk_checked_dim(w, carry(w, dims[i], arguments, count));
      carried = fnabi_term_view(terms, n.a, rank, dims, storage);
      break;
    }
    default: /* the same in every function */
      carried = term & ~FNABI_TERM_HALF;
  }
  return half == 0 ? carried : fnabi_term_half(terms, carried, half);
}

/* Adds what the callee has proven about its arguments when it returns. */
static void learn_from(walk* w, const fnabi_flow_function* callee,
                       const fnabi_term* arguments) {
  const fnabi_flow* flow = w->flow;
  uint32_t count = callee->argument_count, index;
  fnabi_term dims[FNABI_RANK_MAX];
  for (uint32_t i = 0; i < count; i++) {
    if (arguments[i] == FNABI_TERM_UNKNOWN) continue;
    uint32_t uses = fnabi_flow_use(flow, callee, i);
    if (uses != 0) fnabi_walk_use(w, arguments[i], uses);
    fnabi_walk_require(w, arguments[i], fnabi_flow_length(flow, callee, i));
    fnabi_term fact = fnabi_flow_fact(flow, callee, i);
    if (fact == FNABI_TERM_UNKNOWN ||
        !fnabi_walk_as_argument(w, arguments[i], &index))
      continue;
    const fnabi_term_node n = *fnabi_term_get(&flow->terms, fact);
    uint32_t rank = fnabi_walk_copy_dims(w, &n, dims);
    for (uint32_t k = 0; k < rank && rank != FNABI_RANK_UNKNOWN; k++)
      dims[k] = carry(w, dims[k], arguments, count);
    fnabi_walk_learn(w, index, n.a, rank, dims);
  }
}

/* The register's term, which is not read. */
static fnabi_term term_in(walk* w, char letter, uint64_t number) {
  if (letter == 'r') return *ref_at(w, number);
  return letter == 'I' || letter == 'F' ? read_i64(w, number)
                                        : read_i32(w, number);
}

static void record_terms(walk* w, fnabi_text letters,
                         const fnabi_operand* segments,
                         const fnabi_operand* registers) {
  fnabi_registers next;
  char letter;
  fnabi_registers_begin(&next, letters, segments);
  fnabi_record_word(w->flow->record, registers->count);
  for (uint32_t i = 0; i < registers->count && !w->abandoned; i++) {
    if ((letter = fnabi_registers_next(&next)) == 0) w->abandoned = true;
    fnabi_record_word(w->flow->record,
                      term_in(w, letter, fnabi_operand_item(registers, i)));
  }
}

static void record_operands(walk* w, const call* c, uint32_t callee) {
  fnabi_record* record = w->flow->record;
  fnabi_record_word(record, w->offset);
  fnabi_record_word(record, callee);
  record_terms(w, c->callee->arguments, c->segments, c->operands);
  fnabi_record_word(record, c->segments == NULL ? 0 : c->segments->count);
  for (uint32_t i = 0; c->segments != NULL && i < c->segments->count; i++)
    fnabi_record_word(record, fnabi_operand_item(c->segments, i));
}

/* A call that does not return has no results. */
static void record_results(walk* w, const call* c) {
  fnabi_record* record = w->flow->record;
  if (w->dead)
    fnabi_record_word(record, 0);
  else
    record_terms(w, c->callee->results, NULL, c->results);
  if (!record->failed)
    ((uint32_t*)(void*)record->words.data)[record->call_count]++;
}

static void write_results(walk* w, const call* c, const fnabi_term* results,
                          uint32_t count) {
  fnabi_registers letters;
  char letter;
  fnabi_registers_begin(&letters, c->callee->results, NULL);
  for (uint32_t i = 0; i < c->results->count; i++) {
    if ((letter = fnabi_registers_next(&letters)) == 0) {
      w->abandoned = true;
      return;
    }
    fnabi_term term = i < count ? results[i] : FNABI_TERM_UNKNOWN;
    if (term == FNABI_TERM_UNKNOWN) term = fnabi_walk_given(w, i);
    write_register(w, letter, fnabi_operand_item(c->results, i), term);
  }
}

/* Reads the terms of the operands. Returns false if they do not match the
 * calling convention. */
static bool read_arguments(walk* w, const call* c, fnabi_vector* out) {
  fnabi_registers letters;
  char letter;
  out->size = 0;
  fnabi_registers_begin(&letters, c->callee->arguments, c->segments);
  for (uint32_t i = 0; i < c->operands->count; i++) {
    if ((letter = fnabi_registers_next(&letters)) == 0) {
      w->abandoned = true;
      return false;
    }
    fnabi_term term =
        read_register(w, letter, fnabi_operand_item(c->operands, i));
    if (!fnabi_vector_append(out, &term, sizeof term)) {
      w->flow->terms.failed = w->abandoned = true;
      return false;
    }
  }
  return true;
}

/* Writes the results of a known function, translated to the caller. */
static void call_function(walk* w, const call* c) {
  fnabi_flow* flow = w->flow;
  fnabi_vector* out = &flow->results;
  const fnabi_flow_function* callee = &flow->functions[c->internal];
  if (!read_arguments(w, c, out)) return;
  size_t count = out->size / sizeof(fnabi_term);
  if (callee->state != DONE || !callee->known ||
      count != callee->argument_count) {
    write_results(w, c, NULL, 0);
    return;
  }
  if (!callee->returns) {
    w->dead = true;
    return;
  }
  const fnabi_term* arguments = (const fnabi_term*)(const void*)out->data;
  learn_from(w, callee, arguments);
  for (uint32_t i = 0; i < callee->result_count && !w->abandoned; i++) {
    fnabi_term result = carry(w, fnabi_flow_result(flow, callee, i),
                              (const fnabi_term*)(const void*)out->data,
                              callee->argument_count);
    if (!fnabi_vector_append(out, &result, sizeof result)) {
      flow->terms.failed = w->abandoned = true;
      return;
    }
  }
  if (w->abandoned || w->dead) return;
  write_results(w, c, (const fnabi_term*)(const void*)out->data + count,
                callee->result_count);
}

void fnabi_walk_run_call(walk* w, const fnabi_instruction* at) {
  const fnabi_operand* o = at->operands;
  bool variadic = at->op->op == FNABI_OP_CALL_VARIADIC ||
                  at->op->op == FNABI_OP_CALL_VARIADIC_YIELDABLE;
  bool yields = at->op->op == FNABI_OP_CALL_YIELDABLE ||
                at->op->op == FNABI_OP_CALL_VARIADIC_YIELDABLE;
  call c = {fnabi_bytecode_callee(w->flow->module, o[0].value),
            variadic ? &o[1] : NULL,
            &o[variadic ? 2 : 1],
            &o[at->count - 1],
            UINT32_MAX,
            OTHER};
  if (c.callee == NULL || !c.callee->readable) {
    w->abandoned = true;
    return;
  }
  spend(w, c.operands->count);
  if (w->recorded) record_operands(w, &c, (uint32_t)o[0].value);
  if ((o[0].value & FNABI_CALLEE_IMPORT) == 0) {
    c.internal = (uint32_t)o[0].value;
    call_function(w, &c);
  } else {
    c.kind = (import_kind)
                 w->flow->imports[o[0].value & ~(uint64_t)FNABI_CALLEE_IMPORT];
    fnabi_term result = call_import(w, &c);
    for (uint32_t i = 0; i < c.operands->count && !w->dead; i++)
      if ((fnabi_operand_item(c.operands, i) & FNABI_REGISTER_REF) != 0)
        (void)read_ref(w, fnabi_operand_item(c.operands, i));
    if (!w->dead && !w->abandoned) write_results(w, &c, &result, 1);
  }
  if (w->recorded && !w->abandoned) record_results(w, &c);
  if (yields && !w->dead && !w->abandoned)
    fnabi_walk_branch_to(w, o[at->count - 2].value, NULL);
}
