/* Data flow over bytecode.
 *
 * The state of a path is an array of terms: one per register of the value bank,
 * one per register of the ref bank, one fact per argument, and the ITEMS of each
 * tracked list. A fact is a VIEW of what the path has proven about the buffer
 * view passed as that argument. Paths join at the start of blocks. Blocks are
 * analysed in order until no state changes. This terminates because joins only
 * remove knowledge. */
#include "module/bytecode_flow.h"

#include "base/error.h"

enum { NEW, OPEN, DONE }; /* fnabi_flow_function.state */

/* Larger terms are not translated from a function to its callers. */
#define CARRIED_SIZE 16

/* Functions may share bytecode, so the bytes analysed in all are limited to
 * this multiple of the code. */
#define CODE_SHARED UINT64_C(32)

/* Limits per function: steps, words of states, and terms. */
#define WORK(code) ((uint64_t)64 * (code) + (1 << 20))
#define STATE_WORDS(code) ((uint64_t)16 * (code) + (1 << 20))
#define STATE_WORDS_MAX ((uint64_t)16 << 20)
#define TERMS(code) ((uint64_t)4 * (code) + (1 << 16))
#define TERMS_MAX (4u << 20)

/* Limits of the tracked lists of a function, of the items of each, and of the
 * items recorded for a module. */
#define LISTS_MAX 16
#define ITEMS_MAX 64
#define ITEMS_LEFT(code) ((uint64_t)4 * (code) + (1 << 20))
#define ITEMS_LEFT_MAX ((uint64_t)4 << 20)

/* ------------------------------------------------------------------ imports */

typedef enum import_kind {
  OTHER,
  ASSERT_VIEW,
  CREATE_VIEW,
  VIEW_STORAGE,
  VIEW_DIM,
  VIEW_RANK,
  VIEW_ELEMENT_TYPE,
  VIEW_USED,
  BUFFER_USED,
  SUBSPAN,
  QUEUE, /* operands 2 and 3 are fences */
  WAITED,
  SIGNALED
} import_kind;

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
    {FNABI_TEXT("buffer.assert"), FNABI_TEXT("0rrrIii_v"), BUFFER_USED},
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

static import_kind kind_of(const fnabi_callee* import) {
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

/* --------------------------------------------------------------- a function */

typedef struct block {
  uint32_t offset; /* of its marker */
  uint32_t place;  /* index in the order of analysis */
  bool in_loop, returns, reached, dirty;
  size_t branches; /* index of its first target; the next block's is the end */
  size_t state;    /* index of its state in the vector of states, in words */
} block;

typedef struct walk {
  fnabi_flow* flow;
  const fnabi_function* function;
  uint32_t ordinal;
  uint32_t values, refs, arguments, lists;
  uint32_t list_at[LISTS_MAX]; /* offsets of their allocations; 0: none */
  size_t width;                /* of a state, in words */
  block* blocks;
  uint32_t lowest; /* no block with a lower place is dirty */
  fnabi_term *now, *other;
  fnabi_term* returned; /* results, then facts */
  uint32_t* uses;       /* of arguments */
  uint32_t result_count;
  uint32_t offset; /* of the instruction */
  uint64_t work;
  bool in_loop;       /* whether the current block may be in a loop */
  bool dead;          /* the path ends here without a return */
  bool returns;       /* a path has returned */
  bool abandoned;     /* nothing is known about the function */
  fnabi_term nowhere; /* replaces a register that is out of range */
} walk;

static bool spend(walk* w, uint64_t work) {
  if (w->work < work) w->abandoned = true;
  w->work -= w->abandoned ? 0 : work;
  return !w->abandoned;
}

static fnabi_term* facts_of(const walk* w, fnabi_term* state) {
  return state + w->values + w->refs;
}

static fnabi_term* lists_of(const walk* w, fnabi_term* state) {
  return facts_of(w, state) + w->arguments;
}

/* OPAQUE terms, by their `op`. */
enum { GIVEN, CARRIED, MET, ALLOCATED };

/* The ITEMS of a tracked list in a state, UNKNOWN after the list has escaped.
 * NULL for any other term. A tracked list is allocated at most once per call,
 * and until it escapes no other term refers to it. */
static fnabi_term* list_in(const walk* w, fnabi_term term, fnabi_term* state) {
  const fnabi_term_node* n = fnabi_term_get(&w->flow->terms, term);
  bool list = n->kind == FNABI_TERM_OPAQUE && n->op == ALLOCATED &&
              n->a == w->ordinal && n->c < w->lists;
  return list ? lists_of(w, state) + n->c : NULL;
}

/* ---------------------------------------------------------------- registers */

static fnabi_term* value_at(walk* w, uint64_t number) {
  if (number < w->values) return w->now + number;
  w->abandoned = true;
  w->nowhere = FNABI_TERM_UNKNOWN;
  return &w->nowhere;
}

static fnabi_term read_i32(walk* w, uint64_t number) {
  return *value_at(w, number);
}

static fnabi_term read_i64(walk* w, uint64_t number) {
  fnabi_term low = *value_at(w, number), high = *value_at(w, number + 1);
  return fnabi_term_join_halves(&w->flow->terms, low, high);
}

static void write_i32(walk* w, uint64_t number, fnabi_term term) {
  *value_at(w, number) = term;
}

static void write_i64(walk* w, uint64_t number, fnabi_term term) {
  fnabi_terms* terms = &w->flow->terms;
  *value_at(w, number) = fnabi_term_half(terms, term, FNABI_TERM_LOW);
  *value_at(w, number + 1) = fnabi_term_half(terms, term, FNABI_TERM_HIGH);
}

static fnabi_term* ref_at(walk* w, uint64_t number) {
  uint64_t index = number & FNABI_REGISTER_REF_NUMBER;
  if ((number & FNABI_REGISTER_REF) != 0 && index < w->refs)
    return w->now + w->values + index;
  return value_at(w, UINT64_MAX);
}

/* Reads a reference to copy it, or to use the list it refers to. */
static fnabi_term copy_ref(walk* w, uint64_t number) {
  fnabi_term* at = ref_at(w, number);
  fnabi_term term = *at;
  if ((number & FNABI_REGISTER_MOVE) != 0) *at = FNABI_TERM_NULL;
  return term;
}

/* Reads a reference for any other use, after which a list has escaped. */
static fnabi_term read_ref(walk* w, uint64_t number) {
  fnabi_term term = copy_ref(w, number);
  fnabi_term* items = list_in(w, term, w->now);
  if (items != NULL) *items = FNABI_TERM_UNKNOWN;
  return term;
}

static void write_ref(walk* w, uint64_t number, fnabi_term term) {
  *ref_at(w, number) = term;
}

/* Sets a register of the kind `letter` to UNKNOWN. */
static void forget(walk* w, char letter, uint64_t number) {
  switch (letter) {
    case 'I':
    case 'F':
      write_i64(w, number, FNABI_TERM_UNKNOWN);
      break;
    case 'r':
    case 'R':
      write_ref(w, number, FNABI_TERM_UNKNOWN);
      break;
    default:
      write_i32(w, number, FNABI_TERM_UNKNOWN);
  }
}

static fnabi_term read_register(walk* w, char letter, uint64_t number) {
  switch (letter) {
    case 'I':
      return read_i64(w, number);
    case 'r':
      return read_ref(w, number);
    case 'i':
      return read_i32(w, number);
    case 'F': /* no term */
      (void)read_i64(w, number);
      return FNABI_TERM_UNKNOWN;
    default:
      (void)read_i32(w, number);
      return FNABI_TERM_UNKNOWN;
  }
}

static void write_register(walk* w, char letter, uint64_t number,
                           fnabi_term term) {
  switch (letter) {
    case 'I':
      write_i64(w, number, term);
      break;
    case 'r':
      write_ref(w, number, term);
      break;
    case 'i':
      write_i32(w, number, term);
      break;
    default:
      forget(w, letter, number);
  }
}

/* -------------------------------------------------------------------- views */

/* A new term for a result of this instruction. In a loop the instruction may
 * run more than once, so the result is UNKNOWN. */
static fnabi_term given(walk* w, uint32_t which) {
  if (w->in_loop) return FNABI_TERM_UNKNOWN;
  return fnabi_term_make(&w->flow->terms, FNABI_TERM_OPAQUE, GIVEN, w->ordinal,
                         w->offset, which);
}

static bool as_argument(const walk* w, fnabi_term term, uint32_t* index) {
  const fnabi_term_node* n = fnabi_term_get(&w->flow->terms, term);
  if (n->kind != FNABI_TERM_ARGUMENT || n->a >= w->arguments) return false;
  *index = n->a;
  return true;
}

static void use(walk* w, fnabi_term term, uint32_t as) {
  uint32_t index;
  const fnabi_term_node* n = fnabi_term_get(&w->flow->terms, term);
  if (as_argument(w, term, &index))
    w->uses[index] |= as;
  else if (n->kind == FNABI_TERM_STORAGE && as_argument(w, n->a, &index))
    w->uses[index] |= FNABI_USE_VIEW;
}

/* Returns what is known about the type of a reference, as a VIEW or UNKNOWN. */
static fnabi_term type_of(const walk* w, fnabi_term term,
                          const fnabi_term* facts) {
  uint32_t index;
  if (fnabi_term_get(&w->flow->terms, term)->kind == FNABI_TERM_VIEW)
    return term;
  return as_argument(w, term, &index) ? facts[index] : FNABI_TERM_UNKNOWN;
}

static uint32_t copy_dims(const walk* w, const fnabi_term_node* view,
                          fnabi_term dims[FNABI_RANK_MAX]) {
  if (view->op == FNABI_RANK_UNKNOWN) return FNABI_RANK_UNKNOWN;
  for (uint32_t i = 0; i < view->op; i++)
    dims[i] = fnabi_term_view_dim(&w->flow->terms, view, i);
  return view->op;
}

/* Returns what two views have in common, or UNKNOWN. If both are facts about
 * the argument `own`, dims that differ become the argument's own dims. */
static fnabi_term common_view(walk* w, fnabi_term a, fnabi_term b,
                              fnabi_term own) {
  fnabi_terms* terms = &w->flow->terms;
  if (a == b) return a;
  if (a == FNABI_TERM_UNKNOWN || b == FNABI_TERM_UNKNOWN)
    return FNABI_TERM_UNKNOWN;
  fnabi_term dims[FNABI_RANK_MAX];
  const fnabi_term_node x = *fnabi_term_get(terms, a);
  const fnabi_term_node y = *fnabi_term_get(terms, b);
  uint32_t rank = x.op == y.op ? copy_dims(w, &x, dims) : FNABI_RANK_UNKNOWN;
  uint32_t element_type = x.a == y.a ? x.a : 0;
  if (rank == FNABI_RANK_UNKNOWN && element_type == 0)
    return FNABI_TERM_UNKNOWN;
  for (uint32_t i = 0; i < rank && rank != FNABI_RANK_UNKNOWN; i++)
    if (dims[i] != fnabi_term_view_dim(terms, &y, i))
      dims[i] = fnabi_term_dim(terms, own, i);
  if (!spend(w, x.op == FNABI_RANK_UNKNOWN ? 1 : x.op))
    return FNABI_TERM_UNKNOWN;
  return fnabi_term_view(terms, element_type, rank, dims,
                         x.c == y.c ? x.c : FNABI_TERM_UNKNOWN);
}

/* Returns UNKNOWN for a dim that no buffer can have. */
static fnabi_term checked_dim(const walk* w, fnabi_term dim) {
  uint64_t value;
  if (fnabi_term_value(&w->flow->terms, dim, &value) && value > INT64_MAX)
    return FNABI_TERM_UNKNOWN;
  return dim;
}

/* Adds a view to the fact about an argument. If it contradicts the fact, the
 * path is dead. */
static void learn(walk* w, uint32_t index, uint32_t element_type, uint32_t rank,
                  const fnabi_term* dims) {
  fnabi_terms* terms = &w->flow->terms;
  fnabi_term* fact = facts_of(w, w->now) + index;
  fnabi_term own = fnabi_term_make(terms, FNABI_TERM_ARGUMENT, 0, index, 0, 0);
  fnabi_term learned[FNABI_RANK_MAX];
  uint32_t known = FNABI_RANK_UNKNOWN;
  if (*fact != FNABI_TERM_UNKNOWN) {
    const fnabi_term_node* old = fnabi_term_get(terms, *fact);
    known = copy_dims(w, old, learned);
    w->dead = (old->a != 0 && element_type != 0 && old->a != element_type) ||
              (known != FNABI_RANK_UNKNOWN && rank != FNABI_RANK_UNKNOWN &&
               known != rank);
    if (w->dead) return;
    if (element_type == 0) element_type = old->a;
  }
  if (rank == FNABI_RANK_UNKNOWN) {
    rank = known;
    dims = NULL;
  }
  if (!spend(w, rank == FNABI_RANK_UNKNOWN ? 1 : rank)) return;
  for (uint32_t i = 0; i < rank && rank != FNABI_RANK_UNKNOWN; i++) {
    fnabi_term itself = fnabi_term_dim(terms, own, i);
    fnabi_term new = dims == NULL ? itself : checked_dim(w, dims[i]);
    uint64_t a, b;
    if (new == FNABI_TERM_UNKNOWN) new = itself;
    if (known == FNABI_RANK_UNKNOWN || learned[i] == itself) {
      learned[i] = new;
    } else if (fnabi_term_value(terms, new, &b)) {
      if (fnabi_term_value(terms, learned[i], &a) && a != b) w->dead = true;
      learned[i] = new;
    }
  }
  *fact = fnabi_term_view(terms, element_type, rank, learned,
                          fnabi_term_storage(terms, own));
}

/* Adds dim `index` to the fact about an argument whose rank is known. */
static void learn_dim(walk* w, uint32_t argument, uint32_t index,
                      fnabi_term value) {
  fnabi_term fact = facts_of(w, w->now)[argument];
  const fnabi_term_node* n = fnabi_term_get(&w->flow->terms, fact);
  fnabi_term dims[FNABI_RANK_MAX];
  if (fact == FNABI_TERM_UNKNOWN || n->op == FNABI_RANK_UNKNOWN ||
      index >= n->op)
    return;
  uint32_t rank = copy_dims(w, n, dims);
  for (uint32_t i = 0; i < rank; i++)
    if (i != index) dims[i] = FNABI_TERM_UNKNOWN;
  dims[index] = value;
  learn(w, argument, 0, rank, dims);
}

/* -------------------------------------------------------------------- lists */

static fnabi_term item_of(const walk* w, fnabi_term items, uint64_t index) {
  const fnabi_terms* terms = &w->flow->terms;
  const fnabi_term_node* n = fnabi_term_get(terms, items);
  return n->kind == FNABI_TERM_ITEMS && index < n->op
             ? fnabi_term_view_dim(terms, n, (uint32_t)index)
             : FNABI_TERM_UNKNOWN;
}

/* ITEMS, or UNKNOWN when the limit of recorded items is reached. */
static fnabi_term make_items(walk* w, uint32_t count, const fnabi_term* items) {
  fnabi_flow* flow = w->flow;
  if (!spend(w, count) || flow->items_left < count) return FNABI_TERM_UNKNOWN;
  flow->items_left -= count;
  return fnabi_term_items(&flow->terms, count, items);
}

/* ITEMS with another value at `index`. An unknown index may be that of any item,
 * so no item is known any more. */
static fnabi_term set_item(walk* w, fnabi_term old, fnabi_term index,
                           fnabi_term value) {
  uint64_t number;
  if (old == FNABI_TERM_UNKNOWN) return old;
  if (!fnabi_term_value(&w->flow->terms, index, &number))
    return make_items(w, 0, NULL);
  uint32_t at = (uint32_t)number,
           count = fnabi_term_get(&w->flow->terms, old)->op;
  fnabi_term items[ITEMS_MAX] = {FNABI_TERM_UNKNOWN};
  if (at >= ITEMS_MAX || (at >= count && value == FNABI_TERM_UNKNOWN))
    return old;
  for (uint32_t i = 0; i < count; i++) items[i] = item_of(w, old, i);
  for (uint32_t i = count; i < at; i++) items[i] = FNABI_TERM_UNKNOWN;
  items[at] = value;
  return make_items(w, at < count ? count : at + 1, items);
}

/* Reads an item as a reference to a type. The runtime returns null if the item is
 * of another type, so an item counts only where its type is known to fit. */
static fnabi_term get_item(walk* w, fnabi_term items, fnabi_term index,
                           uint64_t type) {
  const fnabi_bytecode* module = w->flow->module;
  uint64_t number;
  if (!fnabi_term_value(&w->flow->terms, index, &number) ||
      type >= module->type_count)
    return FNABI_TERM_UNKNOWN;
  bool view = FNABI_TEXT_IS(module->types[type], "!hal.buffer_view");
  fnabi_term item = item_of(w, items, (uint32_t)number);
  switch ((fnabi_term_kind)fnabi_term_get(&w->flow->terms, item)->kind) {
    case FNABI_TERM_VIEW:
      return view ? item : FNABI_TERM_UNKNOWN;
    case FNABI_TERM_ARGUMENT:
      if (!view) return FNABI_TERM_UNKNOWN;
      use(w, item, FNABI_USE_LISTED);
      return item;
    case FNABI_TERM_STORAGE:
      return FNABI_TEXT_IS(module->types[type], "!hal.buffer")
                 ? item
                 : FNABI_TERM_UNKNOWN;
    case FNABI_TERM_NONE: /* UNKNOWN, or null, which is null as any type */
      return item;
    default:
      return FNABI_TERM_UNKNOWN;
  }
}

/* A list is not tracked if it is allocated in a loop, where one instruction
 * allocates several, or beyond LISTS_MAX. */
static fnabi_term allocate_list(walk* w) {
  uint32_t slot = 0;
  if (w->in_loop) return FNABI_TERM_UNKNOWN;
  while (slot < w->lists && w->list_at[slot] != 0 &&
         w->list_at[slot] != w->offset)
    slot++;
  if (slot == w->lists) return FNABI_TERM_UNKNOWN;
  fnabi_term list = fnabi_term_make(&w->flow->terms, FNABI_TERM_OPAQUE,
                                    ALLOCATED, w->ordinal, w->offset, slot);
  w->list_at[slot] = w->offset;
  lists_of(w, w->now)[slot] = make_items(w, 0, NULL);
  return list;
}

static void run_list(walk* w, const fnabi_instruction* at) {
  const fnabi_operand* o = at->operands;
  fnabi_term list = copy_ref(w, o[0].value), value = FNABI_TERM_UNKNOWN;
  fnabi_term index = read_i32(w, o[1].value);
  use(w, list, FNABI_USE_LIST);
  if (at->op->op == FNABI_OP_LIST_SET_REF) value = read_ref(w, o[2].value);
  fnabi_term* items = list_in(w, list, w->now);
  switch (at->op->op) {
    case FNABI_OP_LIST_SET_I32:
    case FNABI_OP_LIST_SET_I64:
    case FNABI_OP_LIST_SET_F32:
    case FNABI_OP_LIST_SET_F64:
    case FNABI_OP_LIST_SET_REF:
      if (items != NULL) *items = set_item(w, *items, index, value);
      break;
    case FNABI_OP_LIST_RESIZE:
      if (items != NULL && *items != FNABI_TERM_UNKNOWN)
        *items = make_items(w, 0, NULL);
      break;
    default: /* LIST_GET_REF */
      write_ref(w, o[3].value,
                items == NULL ? FNABI_TERM_UNKNOWN
                              : get_item(w, *items, index, o[2].value));
  }
}

/* --------------------------------------------------------------- conditions */

static bool is_boolean(const fnabi_term_node* n) {
  if (n->kind == FNABI_TERM_CONSTANT) return n->b == 0 && n->a <= 1;
  if (n->kind != FNABI_TERM_PURE) return false;
  switch (n->op) {
    case FNABI_OP_CMP_EQ_I32:
    case FNABI_OP_CMP_NE_I32:
    case FNABI_OP_CMP_NZ_I32:
    case FNABI_OP_CMP_EQ_I64:
    case FNABI_OP_CMP_NE_I64:
    case FNABI_OP_CMP_NZ_I64:
      return true;
    default:
      return false;
  }
}

/* Adds that a property of an argument's view is `value`. */
static void learn_equal(walk* w, fnabi_term property, uint64_t value) {
  const fnabi_term_node n = *fnabi_term_get(&w->flow->terms, property);
  uint32_t index;
  if (n.kind != FNABI_TERM_DIM && n.kind != FNABI_TERM_RANK &&
      n.kind != FNABI_TERM_ELEMENT_TYPE)
    return;
  if ((property & FNABI_TERM_HALF) != 0 || !as_argument(w, n.a, &index)) return;
  if (n.kind == FNABI_TERM_RANK && value <= FNABI_RANK_MAX)
    learn(w, index, 0, (uint32_t)value, NULL);
  if (n.kind == FNABI_TERM_ELEMENT_TYPE && value <= UINT32_MAX)
    learn(w, index, (uint32_t)value, FNABI_RANK_UNKNOWN, NULL);
  if (n.kind == FNABI_TERM_DIM)
    learn_dim(w, index, n.b, fnabi_term_constant(&w->flow->terms, value));
}

/* Continues the path under the assumption that `condition` is nonzero, or is 0
 * unless `holds`. */
static void assume(walk* w, fnabi_term condition, bool holds) {
  const fnabi_terms* terms = &w->flow->terms;
  for (int depth = 0; depth < 8; depth++) { /* negations */
    uint64_t value;
    const fnabi_term_node n = *fnabi_term_get(terms, condition);
    if (fnabi_term_value(terms, condition, &value)) {
      w->dead = w->dead || (value != 0) != holds;
      return;
    }
    if (n.kind != FNABI_TERM_PURE || (condition & FNABI_TERM_HALF) != 0) return;
    switch (n.op) {
      case FNABI_OP_XOR_I32:
        if (!is_boolean(fnabi_term_get(terms, n.a)) ||
            !fnabi_term_value(terms, n.b, &value) || value != 1)
          return;
        condition = n.a;
        holds = !holds;
        break;
      case FNABI_OP_CMP_NZ_I32:
      case FNABI_OP_CMP_NZ_I64:
        if (!holds) learn_equal(w, n.a, 0);
        condition = n.a;
        break;
      case FNABI_OP_CMP_EQ_I32:
      case FNABI_OP_CMP_EQ_I64:
      case FNABI_OP_CMP_NE_I32:
      case FNABI_OP_CMP_NE_I64: {
        bool equal = n.op == FNABI_OP_CMP_EQ_I32 || n.op == FNABI_OP_CMP_EQ_I64;
        fnabi_term a = n.a, b = n.b;
        if (equal != holds) return;
        if (fnabi_term_value(terms, b, &value))
          learn_equal(w, a, value);
        else if (fnabi_term_value(terms, a, &value))
          learn_equal(w, b, value);
        return;
      }
      default:
        return;
    }
  }
}

/* -------------------------------------------------------------------- joins */

/* A new term for register `index` at the start of a block, if the joining paths
 * have different values in it. UNKNOWN in a loop, where blocks run repeatedly.
 */
static fnabi_term met(walk* w, const block* b, size_t index) {
  if (b->in_loop) return FNABI_TERM_UNKNOWN;
  return fnabi_term_make(&w->flow->terms, FNABI_TERM_OPAQUE, MET, w->ordinal,
                         b->offset, (uint32_t)index);
}

/* A register that is joined with another value may refer to the list without
 * showing it. */
static void escape(walk* w, block* b, fnabi_term term) {
  fnabi_term* state = (fnabi_term*)(void*)w->flow->state.data + b->state;
  fnabi_term* items = list_in(w, term, state);
  if (items == NULL) return;
  b->dirty = b->dirty || *items != FNABI_TERM_UNKNOWN;
  *items = FNABI_TERM_UNKNOWN;
}

/* What is known of a list in two states. */
static fnabi_term common_items(walk* w, fnabi_term a, const fnabi_term* a_facts,
                               fnabi_term b, const fnabi_term* b_facts) {
  fnabi_terms* terms = &w->flow->terms;
  fnabi_term items[ITEMS_MAX];
  if (a == b) return a;
  if (a == FNABI_TERM_UNKNOWN || b == FNABI_TERM_UNKNOWN)
    return FNABI_TERM_UNKNOWN;
  uint32_t count = fnabi_term_get(terms, a)->op;
  if (count > fnabi_term_get(terms, b)->op)
    count = fnabi_term_get(terms, b)->op;
  for (uint32_t i = 0; i < count; i++) {
    fnabi_term x = item_of(w, a, i), y = item_of(w, b, i);
    items[i] = x == y ? x
                      : common_view(w, type_of(w, x, a_facts),
                                    type_of(w, y, b_facts), FNABI_TERM_UNKNOWN);
  }
  return make_items(w, count, items);
}

static void meet_lists(walk* w, block* b, const fnabi_term* in) {
  fnabi_term* old = (fnabi_term*)(void*)w->flow->state.data + b->state;
  const fnabi_term* in_facts = in + w->values + w->refs;
  const fnabi_term* in_lists = in_facts + w->arguments;
  fnabi_term* lists = lists_of(w, old);
  for (uint32_t i = 0; i < w->lists; i++) {
    fnabi_term value =
        common_items(w, lists[i], facts_of(w, old), in_lists[i], in_facts);
    b->dirty = b->dirty || value != lists[i];
    lists[i] = value;
  }
}

/* Joins the path `in` into the state of a block. */
static void meet(walk* w, block* b, const fnabi_term* in) {
  fnabi_term* old = (fnabi_term*)(void*)w->flow->state.data + b->state;
  size_t registers = (size_t)w->values + w->refs;
  for (size_t i = w->values; i < registers && w->lists != 0; i++) {
    if (old[i] == in[i]) continue;
    escape(w, b, old[i]);
    escape(w, b, in[i]);
  }
  meet_lists(w, b, in);
  for (size_t i = 0; i < registers; i++) {
    if (old[i] == in[i] || old[i] == FNABI_TERM_UNKNOWN) continue;
    fnabi_term value = FNABI_TERM_UNKNOWN, here = met(w, b, i);
    if (old[i] == here) continue;
    if (i >= w->values)
      value =
          common_view(w, type_of(w, old[i], old + registers),
                      type_of(w, in[i], in + registers), FNABI_TERM_UNKNOWN);
    if (value == FNABI_TERM_UNKNOWN) value = here;
    b->dirty = b->dirty || value != old[i];
    old[i] = value;
  }
  for (uint32_t i = 0; i < w->arguments; i++) {
    fnabi_term* fact = old + registers + i;
    if (*fact == in[registers + i]) continue;
    fnabi_term own =
        fnabi_term_make(&w->flow->terms, FNABI_TERM_ARGUMENT, 0, i, 0, 0);
    fnabi_term value = common_view(w, *fact, in[registers + i], own);
    b->dirty = b->dirty || value != *fact;
    *fact = value;
  }
}

static block* block_from(walk* w, uint64_t target) {
  const fnabi_bytecode_view* view = &w->function->view;
  uint32_t index = target < view->size ? w->flow->block_at[target] : 0;
  return index == 0 ? NULL : &w->blocks[index - 1];
}

/* Continues the path at `target`, after the remaps. */
static void branch_to(walk* w, uint64_t target, const fnabi_operand* remap) {
  fnabi_vector* states = &w->flow->state;
  block* b = block_from(w, target);
  if (b == NULL) {
    w->abandoned = true;
    return;
  }
  fnabi_term* path = w->now;
  if (w->width != 0) memcpy(w->other, path, w->width * sizeof *path);
  if (!spend(w, w->width)) return;
  w->now = w->other; /* to work on */
  for (uint32_t i = 0; remap != NULL && i < remap->count; i++) {
    uint16_t source = fnabi_operand_source(remap, i);
    uint16_t to = fnabi_operand_target(remap, i);
    if ((source & FNABI_REGISTER_REF) != (to & FNABI_REGISTER_REF))
      w->abandoned = true;
    else if ((source & FNABI_REGISTER_REF) != 0)
      write_ref(w, to, copy_ref(w, source));
    else
      write_i32(w, to, read_i32(w, source));
  }
  w->now = path;
  if (w->abandoned) return;
  if (b->reached) {
    meet(w, b, w->other);
  } else {
    uint64_t limit = STATE_WORDS(w->function->view.size);
    if (limit > STATE_WORDS_MAX) limit = STATE_WORDS_MAX;
    b->state = states->size / sizeof *path;
    if (b->state + w->width > limit) {
      w->abandoned = true;
      return;
    }
    if (!fnabi_vector_append(states, w->other, w->width * sizeof *path)) {
      w->flow->terms.failed = true;
      w->abandoned = true;
      return;
    }
    b->reached = b->dirty = true;
  }
  if (b->dirty && b->place < w->lowest) w->lowest = b->place;
}

/* -------------------------------------------------------------------- calls */

/* The call that is analysed. */
typedef struct call {
  const fnabi_callee* callee;
  const fnabi_operand *segments, *operands, *results;
  uint32_t internal; /* ordinal of a function, or UINT32_MAX */
  import_kind kind;
} call;

static uint32_t item(const fnabi_operand* list, uint32_t index) {
  return fnabi_operand_item(list, index);
}

/* Reads the dims from operand `from` on. */
static uint32_t read_dims(walk* w, const call* c, uint32_t from,
                          fnabi_term dims[FNABI_RANK_MAX]) {
  uint32_t rank = c->operands->count - from;
  if (rank > FNABI_RANK_MAX) return FNABI_RANK_UNKNOWN;
  for (uint32_t i = 0; i < rank; i++)
    dims[i] = checked_dim(w, read_i64(w, item(c->operands, from + i)));
  return rank;
}

static uint32_t read_element_type(walk* w, const call* c, uint32_t index) {
  uint64_t value;
  fnabi_term term = read_i32(w, item(c->operands, index));
  return fnabi_term_value(&w->flow->terms, term, &value) ? (uint32_t)value : 0;
}

static void assert_view(walk* w, const call* c, fnabi_term view) {
  fnabi_term dims[FNABI_RANK_MAX];
  uint32_t index, rank = read_dims(w, c, 4, dims);
  uint32_t element_type = read_element_type(w, c, 2);
  if (as_argument(w, view, &index)) learn(w, index, element_type, rank, dims);
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
    uint32_t number = item(c->operands, i);
    if ((number & FNABI_REGISTER_REF) != 0) use(w, *ref_at(w, number), as);
  }
}

/* The number of operands of an import that are not in a span. */
static uint32_t fixed_operands(import_kind kind) {
  switch (kind) {
    case ASSERT_VIEW:
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
  fnabi_term first = *ref_at(w, item(c->operands, 0));
  switch (c->kind) {
    case ASSERT_VIEW:
      use(w, first, FNABI_USE_VIEW);
      assert_view(w, c, first);
      break;
    case CREATE_VIEW:
      use(w, first, FNABI_USE_BUFFER);
      return create_view(w, c, first);
    case VIEW_STORAGE:
      use(w, first, FNABI_USE_VIEW);
      return fnabi_term_storage(terms, first);
    case VIEW_DIM:
      use(w, first, FNABI_USE_VIEW);
      if (fnabi_term_value(terms, read_i32(w, item(c->operands, 1)), &value))
        return fnabi_term_dim(terms, first, (uint32_t)value);
      break;
    case VIEW_RANK:
      use(w, first, FNABI_USE_VIEW);
      return fnabi_term_rank(terms, first);
    case VIEW_ELEMENT_TYPE:
      use(w, first, FNABI_USE_VIEW);
      return fnabi_term_element_type(terms, first);
    case VIEW_USED:
      use(w, first, FNABI_USE_VIEW);
      break;
    case BUFFER_USED:
      use(w, first, FNABI_USE_BUFFER);
      break;
    case SUBSPAN:
      use(w, first, FNABI_USE_BUFFER);
      return first;
    case QUEUE:
      use(w, *ref_at(w, item(c->operands, 2)), FNABI_USE_WAIT);
      use(w, *ref_at(w, item(c->operands, 3)), FNABI_USE_SIGNAL);
      break;
    case SIGNALED:
      use(w, first, FNABI_USE_SIGNAL);
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
      uint32_t rank = copy_dims(w, &n, dims);
      fnabi_term storage = carry(w, n.c, arguments, count);
      for (uint32_t i = 0; i < rank && rank != FNABI_RANK_UNKNOWN; i++)
        dims[i] = checked_dim(w, carry(w, dims[i], arguments, count));
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
    if (uses != 0) use(w, arguments[i], uses);
    fnabi_term fact = fnabi_flow_fact(flow, callee, i);
    if (fact == FNABI_TERM_UNKNOWN || !as_argument(w, arguments[i], &index))
      continue;
    const fnabi_term_node n = *fnabi_term_get(&flow->terms, fact);
    uint32_t rank = copy_dims(w, &n, dims);
    for (uint32_t k = 0; k < rank && rank != FNABI_RANK_UNKNOWN; k++)
      dims[k] = carry(w, dims[k], arguments, count);
    learn(w, index, n.a, rank, dims);
  }
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
    if (term == FNABI_TERM_UNKNOWN) term = given(w, i);
    write_register(w, letter, item(c->results, i), term);
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
    fnabi_term term = read_register(w, letter, item(c->operands, i));
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

static void run_call(walk* w, const fnabi_instruction* at) {
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
  if ((o[0].value & FNABI_CALLEE_IMPORT) == 0) {
    c.internal = (uint32_t)o[0].value;
    call_function(w, &c);
  } else {
    c.kind = (import_kind)
                 w->flow->imports[o[0].value & ~(uint64_t)FNABI_CALLEE_IMPORT];
    fnabi_term result = call_import(w, &c);
    if (w->dead || w->abandoned) return;
    for (uint32_t i = 0; i < c.operands->count; i++)
      if ((item(c.operands, i) & FNABI_REGISTER_REF) != 0)
        (void)read_ref(w, item(c.operands, i));
    write_results(w, &c, &result, 1);
  }
  if (yields && !w->dead && !w->abandoned)
    branch_to(w, o[at->count - 2].value, NULL);
}

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
        write_register(w, o->kind, o->value, given(w, i));
      else
        forget(w, o->kind, o->value);
    } else if (o->kind == 'r' || o->kind == 'R') {
      /* The other list instructions do not change the list. */
      fnabi_term term =
          as == FNABI_USE_LIST ? copy_ref(w, o->value) : read_ref(w, o->value);
      if (o->kind == 'r') use(w, term, as);
    } else if (o->kind == '*' || (o->kind == '[' && o->element == 'R')) {
      for (uint32_t k = 0; k < o->count; k++)
        if ((item(o, k) & FNABI_REGISTER_REF) != 0)
          (void)read_ref(w, item(o, k));
    }
  }
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
    chosen = common_view(w, type_of(w, if_true, facts),
                         type_of(w, if_false, facts), FNABI_TERM_UNKNOWN);
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
    fnabi_term term = read_register(w, letter, item(list, i));
    if (!w->returns)
      kept[i] = term;
    else if (kept[i] != term)
      kept[i] =
          letter == 'r'
              ? common_view(w, type_of(w, kept[i], kept + w->result_count),
                            type_of(w, term, facts), FNABI_TERM_UNKNOWN)
              : FNABI_TERM_UNKNOWN;
  }
  kept += w->result_count;
  for (uint32_t i = 0; i < w->arguments; i++)
    kept[i] = w->returns ? common_view(
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
    assume(w, condition, way == 0);
    if (!w->dead && !w->abandoned)
      branch_to(w, o[1 + 2 * way].value, &o[2 + 2 * way]);
    if (size != 0) memcpy(facts, kept->data, size);
  }
}

static void run_br_table(walk* w, const fnabi_operand* o) {
  fnabi_operand target, remap;
  uint32_t place = 0;
  branch_to(w, o[1].value, &o[2]);
  while (!w->abandoned && fnabi_operand_case(&o[3], &place, &target, &remap))
    branch_to(w, target.value, &remap);
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
    case FNABI_OP_CAST_ANY_REF: {
      fnabi_term term = copy_ref(w, o[0].value);
      use(w, term, FNABI_USE_CAST);
      write_ref(w, o[2].value, term);
      break;
    }
    case FNABI_OP_DISCARD_REFS:
      for (uint32_t i = 0; i < o[0].count; i++)
        write_ref(w, item(&o[0], i), FNABI_TERM_NULL);
      break;
    case FNABI_OP_SELECT_REF:
      run_select_ref(w, o);
      break;
    case FNABI_OP_LIST_ALLOC:
      write_ref(w, o[2].value, allocate_list(w));
      break;
    case FNABI_OP_LIST_RESIZE:
    case FNABI_OP_LIST_SET_I32:
    case FNABI_OP_LIST_SET_I64:
    case FNABI_OP_LIST_SET_F32:
    case FNABI_OP_LIST_SET_F64:
    case FNABI_OP_LIST_SET_REF:
    case FNABI_OP_LIST_GET_REF:
      run_list(w, at);
      break;
    case FNABI_OP_CALL:
    case FNABI_OP_CALL_VARIADIC:
    case FNABI_OP_CALL_YIELDABLE:
    case FNABI_OP_CALL_VARIADIC_YIELDABLE:
      run_call(w, at);
      break;
    case FNABI_OP_BR:
    case FNABI_OP_YIELD:
    case FNABI_OP_BREAK:
      branch_to(w, o[0].value, &o[1]);
      break;
    case FNABI_OP_COND_BREAK:
      branch_to(w, o[1].value, &o[2]);
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

static void run_block(walk* w, const block* b) {
  fnabi_instruction at;
  fnabi_error ignored;
  const fnabi_term* state =
      (const fnabi_term*)(const void*)w->flow->state.data + b->state;
  if (w->width != 0) memcpy(w->now, state, w->width * sizeof *state);
  w->in_loop = b->in_loop;
  w->dead = false;
  w->offset = b->offset;
  do {
    if (!spend(w, 1) ||
        !fnabi_bytecode_decode(&w->function->view, w->offset, &at, &ignored)) {
      w->abandoned = true;
      return;
    }
    run(w, &at);
    w->offset += at.size;
  } while (!at.ends && !w->dead && !w->abandoned);
}

/* ---------------------------------------------------------- what goes ahead */

static bool add_branch(fnabi_flow* flow, uint64_t target) {
  uint32_t offset = (uint32_t)target;
  return fnabi_vector_append(&flow->targets, &offset, sizeof offset);
}

static bool add_branches(fnabi_flow* flow, const fnabi_instruction* at) {
  for (unsigned i = 0; i < at->count; i++) {
    const fnabi_operand* o = &at->operands[i];
    if (o->kind == 'p' && !add_branch(flow, o->value)) return false;
    if (o->kind != 'T') continue;
    fnabi_operand target, remap;
    uint32_t place = 0;
    while (fnabi_operand_case(o, &place, &target, &remap))
      if (!add_branch(flow, target.value)) return false;
  }
  return true;
}

static bool is_call(const fnabi_instruction* at) {
  return at->op->op == FNABI_OP_CALL || at->op->op == FNABI_OP_CALL_YIELDABLE;
}

/* Whether the first operand is a function of the module. */
static bool is_internal(const fnabi_instruction* at) {
  return (at->operands[0].kind == 'c' || at->operands[0].kind == 'C') &&
         (at->operands[0].value & FNABI_CALLEE_IMPORT) == 0;
}

/* Without the last one, which ends the others. */
static size_t block_count(const fnabi_flow* flow) {
  size_t count = flow->blocks.size / sizeof(block);
  return count == 0 ? 0 : count - 1;
}

static void forget_blocks(fnabi_flow* flow) {
  const block* blocks = (const block*)(const void*)flow->blocks.data;
  for (size_t i = 0; i < flow->blocks.size / sizeof *blocks; i++)
    if (blocks[i].offset < flow->block_capacity)
      flow->block_at[blocks[i].offset] = 0;
  flow->blocks.size = flow->targets.size = flow->order.size = 0;
  flow->list_count = 0;
}

/* A block whose branches are followed. */
typedef struct step {
  uint32_t index; /* of the block */
  size_t next;    /* of its branches */
} step;

#define UNPLACED UINT32_MAX
#define ON_THE_WAY (UINT32_MAX - 1)

/* Sorts the reachable blocks in reverse postorder: each after its predecessors,
 * except along back edges. */
static bool order_blocks(fnabi_flow* flow) {
  block* blocks = (block*)(void*)flow->blocks.data;
  const uint32_t* targets = (const uint32_t*)(const void*)flow->targets.data;
  fnabi_vector* way = &flow->results;
  size_t count = block_count(flow);
  step first = {0, blocks[0].branches};
  uint32_t left = 0;
  way->size = 0;
  blocks[0].place = ON_THE_WAY;
  if (!fnabi_vector_append(way, &first, sizeof first)) return false;
  while (way->size != 0) {
    step* last = (step*)(void*)(way->data + way->size) - 1;
    if (last->next == blocks[last->index + 1].branches) {
      if (!fnabi_vector_append(&flow->order, &last->index, sizeof last->index))
        return false;
      blocks[last->index].place = left++;
      way->size -= sizeof *last;
      continue;
    }
    step next = {flow->block_at[targets[last->next++]] - 1, 0};
    next.next = blocks[next.index].branches;
    if (blocks[next.index].place != UNPLACED) continue;
    blocks[next.index].place = ON_THE_WAY;
    if (!fnabi_vector_append(way, &next, sizeof next)) return false;
  }
  /* They were appended in postorder. */
  uint32_t* order = (uint32_t*)(void*)flow->order.data;
  for (uint32_t i = 0; i < left / 2; i++) {
    uint32_t index = order[i];
    order[i] = order[left - 1 - i];
    order[left - 1 - i] = index;
  }
  for (size_t i = 0; i < count; i++)
    if (blocks[i].place != UNPLACED)
      blocks[i].place = left - 1 - blocks[i].place;
  return true;
}

/* Marks the blocks that may be in a cycle: those between the ends of a back
 * edge. In any order of the blocks, the back edges of a cycle cover it. */
static void mark_loops(fnabi_flow* flow) {
  block* blocks = (block*)(void*)flow->blocks.data;
  const uint32_t* targets = (const uint32_t*)(const void*)flow->targets.data;
  const uint32_t* order = (const uint32_t*)(const void*)flow->order.data;
  size_t count = flow->order.size / sizeof *order;
  uint32_t back = UINT32_MAX; /* the first place that the later ones lead to */
  for (size_t i = count; i-- > 0;) {
    block* b = &blocks[order[i]];
    for (size_t k = b->branches; k < b[1].branches; k++) {
      uint32_t to = blocks[flow->block_at[targets[k]] - 1].place;
      if (to <= i && to < back) back = to;
    }
    b->in_loop = back <= i;
  }
}

static bool add_block(fnabi_flow* flow, uint32_t offset) {
  block b = {.offset = offset, .place = UNPLACED};
  b.branches = flow->targets.size / sizeof(uint32_t);
  return fnabi_vector_append(&flow->blocks, &b, sizeof b);
}

/* Finds the blocks, their targets, and the callees that are not analysed yet.
 * *calls is whether there are any callees in the module. */
static bool find_blocks(fnabi_flow* flow, const fnabi_bytecode_view* view,
                        bool* calls) {
  fnabi_error ignored;
  fnabi_instruction at;
  bool ended = true;
  *calls = false;
  for (uint32_t offset = 0; offset < view->size; offset += at.size) {
    if (!fnabi_bytecode_decode(view, offset, &at, &ignored) ||
        ended != (at.op->op == FNABI_OP_BLOCK))
      return false;
    if (ended) {
      flow->terms.failed = !add_block(flow, offset);
      if (flow->terms.failed) return false;
      flow->block_at[offset] = (uint32_t)(flow->blocks.size / sizeof(block));
    }
    if (at.op->op == FNABI_OP_LIST_ALLOC && flow->list_count < LISTS_MAX)
      flow->list_count++;
    ended = at.ends;
    if (ended && !add_branches(flow, &at)) {
      flow->terms.failed = true;
      return false;
    }
    if (at.op->op == FNABI_OP_RETURN)
      ((block*)(void*)(flow->blocks.data + flow->blocks.size))[-1].returns =
          true;
    if (at.count == 0 || !is_internal(&at)) continue;
    *calls = true;
    if (is_call(&at)) {
      uint32_t callee = (uint32_t)at.operands[0].value;
      if (callee >= flow->module->function_count) return false;
      if (flow->functions[callee].state == NEW &&
          !fnabi_vector_append(&flow->callees, &callee, sizeof callee)) {
        flow->terms.failed = true;
        return false;
      }
    }
  }
  flow->terms.failed = !add_block(flow, UINT32_MAX);
  return ended && !flow->terms.failed;
}

/* Prepares the blocks of a function. Returns false, so that nothing is known,
 * if its code is not a sequence of blocks. */
static bool scan(fnabi_flow* flow, uint32_t ordinal) {
  const fnabi_bytecode_view* view = &flow->module->functions[ordinal].view;
  bool calls;
  forget_blocks(flow);
  if (view->size > flow->block_capacity) {
    free(flow->block_at);
    flow->block_at = calloc(view->size, sizeof *flow->block_at);
    flow->block_capacity = flow->block_at == NULL ? 0 : view->size;
    flow->terms.failed = flow->block_at == NULL;
  }
  if (view->size == 0 || flow->terms.failed || !find_blocks(flow, view, &calls))
    return false;
  flow->functions[ordinal].calls = calls;
  const uint32_t* targets = (const uint32_t*)(const void*)flow->targets.data;
  for (size_t i = 0; i < flow->targets.size / sizeof *targets; i++)
    if (targets[i] >= view->size || flow->block_at[targets[i]] == 0)
      return false;
  flow->terms.failed = !order_blocks(flow);
  if (flow->terms.failed) return false;
  mark_loops(flow);
  return true;
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
                          w->result_count * sizeof *w->returned);
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
  size_t words = 2 * w.width + 2 * (size_t)w.arguments + w.result_count + 1;
  flow->spare.size = flow->state.size = 0;
  if (!fnabi_vector_reserve(&flow->spare, words * sizeof *w.now)) return false;
  if (!spend(&w, words)) return true;
  w.now = (fnabi_term*)(void*)flow->spare.data;
  memset(w.now, 0, words * sizeof *w.now);
  w.other = w.now + w.width;
  w.uses = w.other + w.width;
  w.returned = w.uses + w.arguments;
  w.blocks = (block*)(void*)flow->blocks.data;
  place_arguments(&w);
  if (!w.abandoned) branch_to(&w, 0, NULL);
  go_through(&w);
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
  new.readable = affordable && scan(flow, ordinal);
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
    if (top->readable && ((!top->blocks && !scan(flow, top->ordinal)) ||
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
    flow->imports[i] = (uint8_t)kind_of(&module->imports[i]);
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

static uint32_t kept_at(const fnabi_flow* flow, size_t index) {
  return (uint32_t)fnabi_vector_int32(&flow->kept, index);
}

uint32_t fnabi_flow_use(const fnabi_flow* flow, const fnabi_flow_function* f,
                        size_t index) {
  return kept_at(flow, f->first + index);
}

fnabi_term fnabi_flow_fact(const fnabi_flow* flow, const fnabi_flow_function* f,
                           size_t index) {
  return kept_at(flow, f->first + f->argument_count + index);
}

fnabi_term fnabi_flow_result(const fnabi_flow* flow,
                             const fnabi_flow_function* f, size_t index) {
  return kept_at(flow, f->first + 2 * (size_t)f->argument_count + index);
}
