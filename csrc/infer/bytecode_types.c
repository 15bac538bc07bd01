/* Packs the types that bytecode proves.
 *
 * The type of an argument is what every path to a return asserts. The type of a
 * result is that of its creation, or of the argument that is returned. Dims
 * that nothing proves are dynamic. Dims with the same symbol are the same
 * value. */
#include "infer/bytecode_types.h"

#include "abi/cconv.h"
#include "base/dtype.h"
#include "base/error.h"

/* No type depends on the names of functions or on read-only data. */
static bool open_module(fnabi_bytecode_types* types, const char* data,
                        size_t size, fnabi_error* error) {
  return fnabi_bytecode_open_unnamed(&types->module, data, size, error) &&
         fnabi_bytecode_name_types(&types->module) &&
         fnabi_bytecode_known(&types->module, error);
}

bool fnabi_bytecode_types_open(fnabi_bytecode_types* types, const char* data,
                               size_t size, fnabi_error* error) {
  if (types->opened) return true;
  types->opened = true;
  types->readable = open_module(types, data, size, error);
  if (!types->readable) return error->code != FNABI_MEMORY;
  return fnabi_flow_open(&types->flow, &types->module, error);
}

void fnabi_bytecode_types_close(fnabi_bytecode_types* types) {
  if (!types->opened) return;
  if (types->flow.module != NULL) fnabi_flow_close(&types->flow);
  fnabi_bytecode_close(&types->module);
  free(types->symbols.data);
}

/* -------------------------------------------------------------------- types */

/* The kind (upper byte) of an element type, and its possible bit counts. */
static const struct {
  uint8_t number, bits; /* 0: any */
  fnabi_dtype_kind kind;
  const char* format;
} kinds[] = {
    {0x10, 0, FNABI_DTYPE_SIGNLESS, ""},
    {0x11, 0, FNABI_DTYPE_SIGNED, ""},
    {0x12, 0, FNABI_DTYPE_UNSIGNED, ""},
    {0x13, 8, FNABI_DTYPE_BOOL, ""}, /* one byte per element */
    {0x21, 0, FNABI_DTYPE_FLOAT, ""},
    {0x22, 16, FNABI_DTYPE_BFLOAT, ""},
    {0x23, 0, FNABI_DTYPE_COMPLEX, ""}, /* of both parts */
    {0x24, 8, FNABI_DTYPE_FLOAT, "e5m2"},
    {0x25, 8, FNABI_DTYPE_FLOAT, "e4m3fn"},
    {0x26, 8, FNABI_DTYPE_FLOAT, "e5m2fnuz"},
    {0x27, 8, FNABI_DTYPE_FLOAT, "e4m3fnuz"},
    {0x28, 8, FNABI_DTYPE_FLOAT, "e8m0fnu"},
};

static bool dtype_of(uint32_t element_type, fnabi_dtype* dtype) {
  uint32_t bits = element_type & 0xFFFF;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (element_type >> 16 != (uint32_t)kinds[i].number << 8 || bits == 0 ||
        (kinds[i].bits != 0 && kinds[i].bits != bits))
      continue;
    bool boolean = kinds[i].kind == FNABI_DTYPE_BOOL;
    *dtype = (fnabi_dtype){kinds[i].kind, boolean ? 1 : bits, kinds[i].format,
                           strlen(kinds[i].format)};
    return true;
  }
  return false;
}

/* The function whose types are packed. */
typedef struct typing {
  fnabi_bytecode_types* types;
  const fnabi_function* function;
  const fnabi_flow_function* known; /* NULL: the function has no references */
  size_t argument_count, result_count;
} typing;

/* Uses that reveal the type of a reference. A fence may be waited for,
 * signaled, or both. */
static const char* ref_name(uint32_t uses) {
  switch (uses) {
    case FNABI_USE_VIEW:
      return "!hal.buffer_view";
    case FNABI_USE_BUFFER:
      return "!hal.buffer";
    case FNABI_USE_WAIT:
    case FNABI_USE_SIGNAL:
    case FNABI_USE_WAIT | FNABI_USE_SIGNAL:
      return "!hal.fence";
    case FNABI_USE_BYTES:
      return "!vm.buffer";
    default:
      return NULL;
  }
}

/* What is known about a value: a VIEW or, if there is none, its uses. */
typedef struct value {
  fnabi_term view;
  uint32_t uses;
} value;

static value argument_at(const typing* t, size_t index) {
  const fnabi_flow* flow = &t->types->flow;
  return (value){fnabi_flow_fact(flow, t->known, index),
                 fnabi_flow_use(flow, t->known, index)};
}

static const fnabi_term_node* node_of(const typing* t, fnabi_term term) {
  return fnabi_term_get(&t->types->flow.terms, term);
}

static value result_at(const typing* t, size_t index) {
  fnabi_term term = t->known->returns
                        ? fnabi_flow_result(&t->types->flow, t->known, index)
                        : FNABI_TERM_UNKNOWN;
  const fnabi_term_node* n = node_of(t, term);
  if (n->kind == FNABI_TERM_VIEW) return (value){term, FNABI_USE_VIEW};
  if (n->kind == FNABI_TERM_ARGUMENT && n->a < t->argument_count)
    return argument_at(t, n->a);
  return (value){FNABI_TERM_UNKNOWN, 0};
}

/* Returns the representative of a dim: the value that an argument's dim is
 * asserted to have or, for dims asserted to equal each other, the first term.
 */
static fnabi_term canonical(const typing* t, fnabi_term dim) {
  enum { STEPS = 8 };
  const fnabi_terms* terms = &t->types->flow.terms;
  fnabi_term least = dim;
  for (int i = 0; i < STEPS; i++) {
    const fnabi_term_node* n = fnabi_term_get(terms, dim);
    const fnabi_term_node* of = fnabi_term_get(terms, n->a);
    if (n->kind != FNABI_TERM_DIM || of->kind != FNABI_TERM_ARGUMENT ||
        of->a >= t->argument_count)
      return dim;
    fnabi_term fact = argument_at(t, of->a).view;
    const fnabi_term_node* view = fnabi_term_get(terms, fact);
    if (fact == FNABI_TERM_UNKNOWN || view->op == FNABI_RANK_UNKNOWN ||
        n->b >= view->op)
      return dim;
    fnabi_term next = fnabi_term_view_dim(terms, view, n->b);
    if (next == dim || next == FNABI_TERM_UNKNOWN) return dim;
    dim = next;
    if (dim < least) least = dim;
  }
  return least; /* they form a cycle */
}

/* Writes a view if its element type is known; otherwise its dims are not
 * either. */
static uint32_t rank_of(const typing* t, fnabi_term view) {
  const fnabi_term_node* n = node_of(t, view);
  fnabi_dtype dtype;
  return n->kind == FNABI_TERM_VIEW && dtype_of(n->a, &dtype)
             ? n->op
             : FNABI_RANK_UNKNOWN;
}

static fnabi_term dim_of(const typing* t, fnabi_term view, uint32_t index) {
  return canonical(
      t, fnabi_term_view_dim(&t->types->flow.terms, node_of(t, view), index));
}

/* Whether the type is more specific than a reference to anything. */
static bool is_typed(const typing* t, value v) {
  fnabi_dtype dtype;
  return (v.view != FNABI_TERM_UNKNOWN &&
          dtype_of(node_of(t, v.view)->a, &dtype)) ||
         ref_name(v.uses) != NULL;
}

static void write_ref(const typing* t, value v, fnabi_writer* w) {
  fnabi_dtype dtype;
  uint32_t rank = rank_of(t, v.view);
  uint64_t number;
  if (v.view == FNABI_TERM_UNKNOWN ||
      !dtype_of(node_of(t, v.view)->a, &dtype)) {
    const char* name = ref_name(v.uses);
    fnabi_pack_array(w, 2);
    fnabi_pack_int(w, FNABI_TYPE_REF);
    if (name == NULL)
      fnabi_pack_nil(w);
    else
      fnabi_pack_ascii(w, name);
    return;
  }
  fnabi_pack_array(w, 3);
  fnabi_pack_int(w, FNABI_TYPE_BUFFER);
  fnabi_pack_dtype(w, &dtype);
  if (rank == FNABI_RANK_UNKNOWN) {
    fnabi_pack_nil(w);
    return;
  }
  fnabi_pack_count(w, rank);
  for (uint32_t i = 0; i < rank; i++)
    if (fnabi_term_value(&t->types->flow.terms, dim_of(t, v.view, i), &number))
      fnabi_pack_uint(w, number);
    else
      fnabi_pack_nil(w);
}

static void write_type(const typing* t, char letter, value v, fnabi_writer* w) {
  if (letter == 'r')
    write_ref(t, v, w);
  else
    fnabi_cconv_write_type(letter, w);
}

/* The functions below process the arguments, then the results. */
static value value_at(const typing* t, size_t index, char* letter) {
  fnabi_text arguments = t->function->callee.arguments;
  bool argument = index < t->argument_count;
  size_t at = argument ? index : index - t->argument_count;
  *letter = (argument ? arguments : t->function->callee.results).data[at];
  if (*letter != 'r') return (value){FNABI_TERM_UNKNOWN, 0};
  return argument ? argument_at(t, at) : result_at(t, at);
}

static size_t value_count(const typing* t) {
  return t->argument_count + t->result_count;
}

/* A side without spans. */
static bool is_plain(fnabi_text side) {
  return side.size == 0 || memchr(side.data, 'C', side.size) == NULL;
}

static bool has_refs(fnabi_text side) {
  return side.size != 0 && memchr(side.data, 'r', side.size) != NULL;
}

/* Functions without references need no analysis. */
static typing typing_of(fnabi_bytecode_types* types, size_t ordinal) {
  typing t = {types, &types->module.functions[ordinal], NULL, 0, 0};
  const fnabi_callee* callee = &t.function->callee;
  t.argument_count = callee->arguments.size;
  t.result_count = callee->results.size;
  if (has_refs(callee->arguments) || has_refs(callee->results))
    t.known = &types->flow.functions[ordinal];
  return t;
}

/* Analyses a function. */
static fnabi_bytecode_found find(const typing* t, size_t ordinal) {
  const fnabi_callee* callee = &t->function->callee;
  if (!callee->readable || t->function->view.size == 0 ||
      !is_plain(callee->arguments) || !is_plain(callee->results))
    return FNABI_BYTECODE_UNKNOWN;
  if (t->known == NULL) return FNABI_BYTECODE_CONVENTION;
  if (fnabi_flow_of(&t->types->flow, ordinal) == NULL)
    return FNABI_BYTECODE_FAILED;
  return t->known->known ? FNABI_BYTECODE_CONVENTION : FNABI_BYTECODE_UNKNOWN;
}

fnabi_bytecode_found fnabi_bytecode_types_of(fnabi_bytecode_types* types,
                                             size_t ordinal) {
  char letter;
  if (!types->readable || ordinal >= types->module.function_count)
    return FNABI_BYTECODE_UNKNOWN;
  typing t = typing_of(types, ordinal);
  fnabi_bytecode_found found = find(&t, ordinal);
  if (found != FNABI_BYTECODE_CONVENTION || t.known == NULL) return found;
  for (size_t i = 0; i < value_count(&t); i++)
    if (is_typed(&t, value_at(&t, i, &letter))) return FNABI_BYTECODE_TYPED;
  return FNABI_BYTECODE_CONVENTION;
}

static void write_types(const typing* t, size_t from, size_t count,
                        fnabi_writer* w) {
  char letter;
  fnabi_pack_count(w, count);
  for (size_t i = 0; i < count; i++) {
    value v = value_at(t, from + i, &letter);
    write_type(t, letter, v, w);
  }
}

static void write_signature(const typing* t, fnabi_writer* w) {
  fnabi_pack_array(w, 2);
  write_types(t, 0, t->argument_count, w);
  write_types(t, t->argument_count, t->result_count, w);
}

void fnabi_bytecode_types_signature(fnabi_bytecode_types* types, size_t ordinal,
                                    fnabi_writer* w) {
  typing t = typing_of(types, ordinal);
  write_signature(&t, w);
}

/* ------------------------------------------------------------------ symbols */

/* The use of a term as a dim: unused, used once, used more than once; higher
 * numbers are symbols. */
enum { UNSEEN, ONCE, SHARED };

static uint32_t* symbol_of(const typing* t, fnabi_term dim) {
  return (uint32_t*)(void*)t->types->symbols.data + dim;
}

static bool is_symbolic(const typing* t, fnabi_term dim) {
  return dim != FNABI_TERM_UNKNOWN &&
         node_of(t, dim)->kind != FNABI_TERM_CONSTANT;
}

/* Counts the dims of a function by term, or resets the counts. Returns whether
 * the rank of any value is known. */
static bool mark_dims(const typing* t, bool count) {
  char letter;
  bool ranked = false;
  if (t->known == NULL || !t->types->flow.views) return false;
  for (size_t i = 0; i < value_count(t); i++) {
    value v = value_at(t, i, &letter);
    uint32_t rank = rank_of(t, v.view);
    ranked = ranked || rank != FNABI_RANK_UNKNOWN;
    for (uint32_t k = 0; k < rank && rank != FNABI_RANK_UNKNOWN; k++) {
      fnabi_term dim = dim_of(t, v.view, k);
      if (!is_symbolic(t, dim)) continue;
      uint32_t* symbol = symbol_of(t, dim);
      *symbol = !count ? UNSEEN : *symbol == UNSEEN ? ONCE : SHARED;
    }
  }
  return ranked;
}

/* Packs the symbols of a value, or nil. */
static void write_symbols(const typing* t, value v, uint32_t* next,
                          fnabi_writer* w) {
  uint32_t rank = rank_of(t, v.view);
  bool any = false;
  for (uint32_t i = 0; i < rank && rank != FNABI_RANK_UNKNOWN; i++) {
    fnabi_term dim = dim_of(t, v.view, i);
    any = any || (is_symbolic(t, dim) && *symbol_of(t, dim) >= SHARED);
  }
  if (!any) {
    fnabi_pack_nil(w);
    return;
  }
  fnabi_pack_count(w, rank);
  for (uint32_t i = 0; i < rank; i++) {
    fnabi_term dim = dim_of(t, v.view, i);
    uint32_t* symbol = is_symbolic(t, dim) ? symbol_of(t, dim) : NULL;
    if (symbol != NULL && *symbol == SHARED) *symbol = SHARED + ++*next;
    if (symbol != NULL && *symbol > SHARED)
      fnabi_pack_uint(w, *symbol - SHARED - 1);
    else
      fnabi_pack_nil(w);
  }
}

/* Packs [inputs, results], each value as nil or the symbols of its dims. */
static void write_dims(const typing* t, bool ranked, fnabi_writer* w) {
  uint32_t next = 0;
  char letter;
  fnabi_pack_array(w, 2);
  fnabi_pack_count(w, t->argument_count);
  for (size_t i = 0; i < value_count(t) + 1; i++) {
    if (i == t->argument_count) fnabi_pack_count(w, t->result_count);
    if (i == value_count(t)) break;
    if (ranked)
      write_symbols(t, value_at(t, i, &letter), &next, w);
    else
      fnabi_pack_nil(w);
  }
}

/* ------------------------------------------------------------------- proofs */

/* Finds the argument that a term is, or whose storage it is. */
static bool as_argument(const typing* t, fnabi_term term, uint32_t* index) {
  const fnabi_term_node* n = node_of(t, term);
  if (n->kind == FNABI_TERM_STORAGE) n = node_of(t, n->a);
  *index = n->a;
  return n->kind == FNABI_TERM_ARGUMENT && n->a < t->argument_count;
}

/* Whether a returned argument may have become null in a list. */
static bool may_be_null(const typing* t, uint32_t argument) {
  value v = argument_at(t, argument);
  return (v.uses & FNABI_USE_LISTED) != 0 && v.view == FNABI_TERM_UNKNOWN;
}

/* Packs [argument, "whole" or "storage"], or nil. */
static void write_alias(const typing* t, fnabi_term result, fnabi_writer* w) {
  const fnabi_term_node* n = node_of(t, result);
  bool view = n->kind == FNABI_TERM_VIEW;
  uint32_t argument;
  if (!t->known->returns || (!view && n->kind != FNABI_TERM_ARGUMENT) ||
      !as_argument(t, view ? n->c : result, &argument) ||
      (!view && may_be_null(t, argument))) {
    fnabi_pack_nil(w);
    return;
  }
  fnabi_pack_array(w, 2);
  fnabi_pack_uint(w, argument);
  fnabi_pack_ascii(w, view ? "storage" : "whole");
}

/* Whether an argument is a fence that is used like this: signaled, even if it is
 * also waited for, or else only waited for. */
static bool is_fence(const typing* t, size_t index, uint32_t use) {
  uint32_t uses = fnabi_flow_use(&t->types->flow, t->known, index);
  if ((uses & ~(uint32_t)(FNABI_USE_WAIT | FNABI_USE_SIGNAL)) != 0)
    return false;
  return use == FNABI_USE_SIGNAL ? (uses & FNABI_USE_SIGNAL) != 0
                                 : uses == FNABI_USE_WAIT;
}

/* Returns the index of the only fence of this use, or the number of arguments.
 */
static size_t find_fence(const typing* t, uint32_t use) {
  size_t found = 0, last = 0;
  for (size_t i = 0; i < t->argument_count && t->known != NULL; i++) {
    if (!is_fence(t, i, use)) continue;
    last = i;
    found++;
  }
  return found == 1 ? last : t->argument_count;
}

static void write_fence(const typing* t, uint32_t use, fnabi_writer* w) {
  size_t found = find_fence(t, use);
  if (found < t->argument_count)
    fnabi_pack_uint(w, found);
  else
    fnabi_pack_nil(w);
}

/* The bytes that an argument needs whose type does not say so. */
static uint32_t length_of(const typing* t, size_t index) {
  fnabi_dtype dtype;
  if (t->known == NULL) return 0;
  uint32_t length = fnabi_flow_length(&t->types->flow, t->known, index);
  fnabi_term view = length == 0 ? 0 : argument_at(t, index).view;
  return dtype_of(node_of(t, view)->a, &dtype) ? 0 : length;
}

/* Packs the bytes that each argument needs, or nothing if none needs any. */
static void write_lengths(const typing* t, fnabi_writer* w) {
  size_t count = t->argument_count, needed = 0;
  while (needed < count && length_of(t, needed) == 0) needed++;
  if (needed == count) {
    fnabi_pack_array(w, 0);
    return;
  }
  fnabi_pack_count(w, count);
  for (size_t i = 0; i < count; i++) {
    uint32_t length = length_of(t, i);
    if (length == 0 || length == UINT32_MAX)
      fnabi_pack_nil(w);
    else
      fnabi_pack_uint(w, length);
  }
}

static void write_proofs(const typing* t, bool ranked, fnabi_writer* w) {
  fnabi_text letters = t->function->callee.results;
  fnabi_pack_array(w, 5);
  write_signature(t, w);
  write_dims(t, ranked, w);
  fnabi_pack_count(w, t->result_count);
  for (size_t i = 0; i < t->result_count; i++)
    if (letters.data[i] == 'r')
      write_alias(t, fnabi_flow_result(&t->types->flow, t->known, i), w);
    else
      fnabi_pack_nil(w);
  fnabi_pack_array(w, 2);
  write_fence(t, FNABI_USE_WAIT, w);
  write_fence(t, FNABI_USE_SIGNAL, w);
  write_lengths(t, w);
}

bool fnabi_bytecode_types_is_async(fnabi_bytecode_types* types,
                                   size_t ordinal) {
  typing t = typing_of(types, ordinal);
  size_t count = t.argument_count;
  char letter;
  if (count < 2 || find_fence(&t, FNABI_USE_SIGNAL) != count - 1) return false;
  value wait = value_at(&t, count - 2, &letter);
  return letter == 'r' &&
         (!is_typed(&t, wait) || is_fence(&t, count - 2, FNABI_USE_WAIT));
}

/* Provides a zeroed count for every term. */
static bool reserve_symbols(fnabi_bytecode_types* types) {
  size_t size = types->flow.terms.count * sizeof(uint32_t);
  fnabi_vector* symbols = &types->symbols;
  if (symbols->size >= size) return true;
  if (!fnabi_vector_reserve(symbols, size - symbols->size)) return false;
  memset(symbols->data + symbols->size, 0, size - symbols->size);
  symbols->size = size;
  return true;
}

static bool pack_proofs(const typing* t, fnabi_writer* w) {
  if (!reserve_symbols(t->types)) return false;
  bool ranked = mark_dims(t, true);
  write_proofs(t, ranked, w);
  if (ranked) mark_dims(t, false);
  return true;
}

/* ------------------------------------------------------------ equal functions
 *
 * The types of a function without references depend on its calling convention,
 * and those of one that calls no other function on its code and the sizes of
 * its banks, too. Modules have many such functions that are equal. */

#define EQUAL_SIZE 256 /* bytes of code; longer functions are not looked up */
#define PROBES 8

typedef struct memo {
  uint32_t* slots; /* ordinals, plus 1 */
  size_t mask;
} memo;

static bool memo_open(memo* m, size_t count) {
  size_t size = 2;
  while (size < 2 * count) size *= 2;
  *m = (memo){calloc(size, sizeof *m->slots), size - 1};
  return m->slots != NULL;
}

static uint64_t mix(uint64_t hash, const void* bytes, size_t size) {
  const uint8_t* at = bytes;
  uint64_t word;
  for (; size >= sizeof word; at += sizeof word, size -= sizeof word) {
    memcpy(&word, at, sizeof word);
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    hash ^= hash >> 32;
  }
  word = size;
  for (; size > 0; size--) word = word << 8 | *at++;
  hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
  return hash ^ hash >> 32;
}

static bool is_equal(const typing* one, const typing* other) {
  const fnabi_function *a = one->function, *b = other->function;
  if (!fnabi_text_equal(a->callee.cconv, b->callee.cconv)) return false;
  if (one->known == NULL) return true;
  return !one->known->calls && a->view.size == b->view.size &&
         a->values == b->values && a->refs == b->refs &&
         memcmp(a->view.code, b->view.code, a->view.size) == 0;
}

/* Returns the ordinal of a function of the same types, or else of this one. */
static size_t equal_function(memo* m, const typing* t, size_t ordinal) {
  const fnabi_function* f = t->function;
  const fnabi_text* cconv = &f->callee.cconv;
  if (f->view.size == 0 || cconv->size == 0 || f->view.size > EQUAL_SIZE)
    return ordinal;
  uint64_t hash = mix(0, cconv->data, cconv->size);
  if (t->known != NULL) hash = mix(hash, f->view.code, f->view.size);
  for (size_t i = 0; i < PROBES; i++) {
    uint32_t* slot = &m->slots[(hash + i) & m->mask];
    if (*slot == 0) {
      *slot = (uint32_t)ordinal + 1;
      return ordinal;
    }
    typing other = typing_of(t->types, *slot - 1);
    if (is_equal(&other, t)) return *slot - 1;
  }
  return ordinal;
}

/* ------------------------------------------------------------------ message */

/* Packs what is known about a function. */
static bool write_function(fnabi_bytecode_types* types, memo* m, size_t ordinal,
                           fnabi_writer* w, fnabi_error* error) {
  size_t before = w->size;
  typing t = typing_of(types, ordinal);
  size_t equal = equal_function(m, &t, ordinal);
  if (equal != ordinal) {
    fnabi_pack_uint(w, equal);
    return true;
  }
  switch (find(&t, ordinal)) {
    case FNABI_BYTECODE_FAILED:
      return false;
    case FNABI_BYTECODE_UNKNOWN:
      fnabi_pack_nil(w);
      return true;
    default:
      break;
  }
  if (!pack_proofs(&t, w)) {
    fnabi_fail(error, FNABI_MEMORY, 0, NULL);
    return false;
  }
  return fnabi_fb_spend(&types->module.fb, w->size - before,
                        (size_t)(t.function->place - types->module.fb.origin));
}

int64_t fnabi_bytecode_signatures(const char* data, size_t size, uint8_t* out,
                                  size_t capacity, fnabi_error* error) {
  fnabi_bytecode_types types = {.opened = true};
  fnabi_writer w = {out, capacity, 0};
  memo m = {NULL, 0};
  types.readable = open_module(&types, data, size, error);
  size_t count = types.module.function_count;
  bool good =
      types.readable && fnabi_flow_open(&types.flow, &types.module, error);
  if (good && !memo_open(&m, count)) {
    fnabi_fail(error, FNABI_MEMORY, 0, NULL);
    good = false;
  }
  fnabi_pack_count(&w, count);
  for (size_t i = 0; i < count && good; i++)
    good = write_function(&types, &m, i, &w, error);
  free(m.slots);
  fnabi_bytecode_types_close(&types);
  return good ? (int64_t)w.size : -1;
}
