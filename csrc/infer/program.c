/* Packs what the functions of a module do: their calls, by block, with what the
 * code proves of the operands. */
#include "abi/cconv.h"
#include "base/error.h"
#include "infer/bytecode_walk.h"
#include "infer/record.h"

typedef struct program {
  fnabi_bytecode module;
  fnabi_flow flow;
  fnabi_record record;
  fnabi_vector numbers; /* by term and half: 1 more than its place; 0: none */
  fnabi_vector found;   /* terms of the function, with their halves */
} program;

/* --------------------------------------------------------------------- terms */

/* Halves of a term have numbers of their own. */
static size_t slot_of(fnabi_term term) {
  return 3 * (size_t)(term & ~FNABI_TERM_HALF) + (term >> 30);
}

static uint32_t* number_of(const program* p, fnabi_term term) {
  return (uint32_t*)(void*)p->numbers.data + slot_of(term);
}

static bool reserve_numbers(program* p) {
  size_t size = 3 * (size_t)p->flow.terms.count * sizeof(uint32_t);
  if (p->numbers.size >= size) return true;
  if (!fnabi_vector_reserve(&p->numbers, size - p->numbers.size)) return false;
  memset(p->numbers.data + p->numbers.size, 0, size - p->numbers.size);
  p->numbers.size = size;
  return true;
}

static bool find(program* p, fnabi_term term) {
  if (term == FNABI_TERM_UNKNOWN) return true;
  uint32_t* number = number_of(p, term);
  if (*number != 0) return true;
  *number = UINT32_MAX;
  return fnabi_vector_append(&p->found, &term, sizeof term);
}

/* Finds the terms that a term is made of. */
static bool find_parts(program* p, fnabi_term term) {
  const fnabi_terms* terms = &p->flow.terms;
  const fnabi_term_node n = *fnabi_term_get(terms, term);
  if ((term & FNABI_TERM_HALF) != 0) return find(p, term & ~FNABI_TERM_HALF);
  switch ((fnabi_term_kind)n.kind) {
    case FNABI_TERM_PURE:
      return find(p, n.a) && find(p, n.b) && find(p, n.c);
    case FNABI_TERM_DIM:
    case FNABI_TERM_RANK:
    case FNABI_TERM_ELEMENT_TYPE:
    case FNABI_TERM_STORAGE:
      return find(p, n.a);
    case FNABI_TERM_VIEW:
      for (uint32_t i = 0; i < n.op && n.op != FNABI_RANK_UNKNOWN; i++)
        if (!find(p, fnabi_term_view_dim(terms, &n, i))) return false;
      return find(p, n.c);
    default:
      return true;
  }
}

static int compare(const void* one, const void* other) {
  size_t a = slot_of(*(const fnabi_term*)one);
  size_t b = slot_of(*(const fnabi_term*)other);
  return (a > b) - (a < b);
}

/* Packs the number of a term, or nil. */
static void pack_number(const program* p, fnabi_term term, fnabi_writer* w) {
  if (term == FNABI_TERM_UNKNOWN)
    fnabi_pack_nil(w);
  else
    fnabi_pack_uint(w, *number_of(p, term) - 1);
}

static void pack_opaque(const fnabi_term_node* n, fnabi_writer* w) {
  static const char* const names[] = {"result", "carried", "met",
                                      "list",   "rodata",  "global"};
  fnabi_pack_array(w, 3);
  fnabi_pack_ascii(w, names[n->op]);
  fnabi_pack_uint(w, n->b);
  fnabi_pack_uint(w, n->c);
}

static void pack_pure(const program* p, const fnabi_term_node* n,
                      fnabi_writer* w) {
  const fnabi_bytecode_op* op = fnabi_bytecode_find(n->op);
  unsigned count = n->c != 0 ? 3 : n->b != 0 ? 2 : 1;
  const fnabi_term parts[] = {n->a, n->b, n->c};
  fnabi_pack_array(w, 3);
  fnabi_pack_ascii(w, "pure");
  fnabi_pack_ascii(w, op == NULL ? "pair" : op->name);
  fnabi_pack_array(w, count);
  for (unsigned i = 0; i < count; i++) pack_number(p, parts[i], w);
}

static void pack_view(const program* p, const fnabi_term_node* n,
                      fnabi_writer* w) {
  fnabi_pack_array(w, 4);
  fnabi_pack_ascii(w, "view");
  fnabi_pack_uint(w, n->a);
  if (n->op == FNABI_RANK_UNKNOWN) {
    fnabi_pack_nil(w);
  } else {
    fnabi_pack_count(w, n->op);
    for (uint32_t i = 0; i < n->op; i++)
      pack_number(p, fnabi_term_view_dim(&p->flow.terms, n, i), w);
  }
  pack_number(p, n->c, w);
}

static void pack_part(const program* p, const char* name,
                      const fnabi_term_node* n, fnabi_writer* w) {
  bool indexed = n->kind == FNABI_TERM_DIM;
  fnabi_pack_array(w, indexed ? 3 : 2);
  fnabi_pack_ascii(w, name);
  pack_number(p, n->a, w);
  if (indexed) fnabi_pack_uint(w, n->b);
}

static void pack_term(const program* p, fnabi_term term, fnabi_writer* w) {
  const fnabi_term_node* n = fnabi_term_get(&p->flow.terms, term);
  if ((term & FNABI_TERM_HALF) != 0) {
    fnabi_pack_array(w, 2);
    fnabi_pack_ascii(w, (term & FNABI_TERM_LOW) != 0 ? "low" : "high");
    pack_number(p, term & ~FNABI_TERM_HALF, w);
    return;
  }
  switch ((fnabi_term_kind)n->kind) {
    case FNABI_TERM_CONSTANT:
      fnabi_pack_array(w, 2);
      fnabi_pack_ascii(w, "constant");
      fnabi_pack_uint(w, (uint64_t)n->b << 32 | n->a);
      break;
    case FNABI_TERM_ARGUMENT:
      fnabi_pack_array(w, 2);
      fnabi_pack_ascii(w, "argument");
      fnabi_pack_uint(w, n->a);
      break;
    case FNABI_TERM_OPAQUE:
      pack_opaque(n, w);
      break;
    case FNABI_TERM_PURE:
      pack_pure(p, n, w);
      break;
    case FNABI_TERM_DIM:
      pack_part(p, "dim", n, w);
      break;
    case FNABI_TERM_RANK:
      pack_part(p, "rank", n, w);
      break;
    case FNABI_TERM_ELEMENT_TYPE:
      pack_part(p, "element_type", n, w);
      break;
    case FNABI_TERM_STORAGE:
      pack_part(p, "storage", n, w);
      break;
    case FNABI_TERM_VIEW:
      pack_view(p, n, w);
      break;
    default: /* NULL; ITEMS are no operands */
      fnabi_pack_array(w, 1);
      fnabi_pack_ascii(w, "null");
  }
}

/* ----------------------------------------------------------------- functions */

/* The words of a function. */
typedef struct reader {
  const uint32_t* words;
  size_t at;
} reader;

static uint32_t next(reader* r) { return r->words[r->at++]; }

static bool find_list(program* p, reader* r) {
  for (uint32_t left = next(r); left > 0; left--)
    if (!find(p, next(r))) return false;
  return true;
}

static void skip_list(reader* r) { r->at += next(r); }

/* Finds the terms of a function. A term has a higher number than its parts, and
 * is a part of its halves, which follow it. */
static bool find_all(program* p, reader r) {
  p->found.size = 0;
  for (uint32_t blocks = next(&r); blocks > 0; blocks--) {
    r.at += 2;
    skip_list(&r);
    for (uint32_t calls = next(&r); calls > 0; calls--) {
      r.at += 2;
      if (!find_list(p, &r)) return false;
      skip_list(&r);
      if (!find_list(p, &r)) return false;
    }
    r.at++;
    if (!find_list(p, &r)) return false;
  }
  for (size_t i = 0; i < p->found.size / sizeof(fnabi_term); i++)
    if (!find_parts(p, ((const fnabi_term*)(const void*)p->found.data)[i]))
      return false;
  fnabi_term* found = (fnabi_term*)(void*)p->found.data;
  size_t count = p->found.size / sizeof *found;
  if (count > 1) qsort(found, count, sizeof *found, compare);
  for (size_t i = 0; i < count; i++) *number_of(p, found[i]) = (uint32_t)i + 1;
  return true;
}

static void forget_terms(program* p) {
  const fnabi_term* found = (const fnabi_term*)(const void*)p->found.data;
  for (size_t i = 0; i < p->found.size / sizeof *found; i++)
    *number_of(p, found[i]) = 0;
}

static void pack_numbers(const program* p, reader* r, fnabi_writer* w) {
  uint32_t count = next(r);
  fnabi_pack_count(w, count);
  for (; count > 0; count--) pack_number(p, next(r), w);
}

static void pack_words(reader* r, fnabi_writer* w) {
  uint32_t count = next(r);
  fnabi_pack_count(w, count);
  for (; count > 0; count--) fnabi_pack_uint(w, next(r));
}

static void pack_call(const program* p, reader* r, fnabi_writer* w) {
  fnabi_pack_array(w, 5);
  fnabi_pack_uint(w, next(r));
  uint32_t callee = next(r);
  bool imported = (callee & FNABI_CALLEE_IMPORT) != 0;
  bool stored = !imported && (callee & FNABI_RECORD_STORE) != 0;
  fnabi_pack_array(w, 2);
  fnabi_pack_ascii(w, imported ? "import" : stored ? "global" : "function");
  fnabi_pack_uint(w, callee & ~(imported ? FNABI_CALLEE_IMPORT
                                : stored ? FNABI_RECORD_STORE
                                         : 0));
  pack_numbers(p, r, w);
  pack_words(r, w);
  pack_numbers(p, r, w);
}

static void pack_block(const program* p, reader* r, fnabi_writer* w) {
  static const char* const ends[] = {"branch", "condition", "table", "return",
                                     "fail"};
  fnabi_pack_array(w, 6);
  fnabi_pack_uint(w, next(r));
  fnabi_pack_bool(w, next(r) != 0);
  pack_words(r, w);
  uint32_t calls = next(r);
  fnabi_pack_count(w, calls);
  for (; calls > 0; calls--) pack_call(p, r, w);
  fnabi_pack_ascii(w, ends[next(r)]);
  pack_numbers(p, r, w);
}

static bool pack_function(program* p, size_t ordinal, fnabi_writer* w) {
  size_t begin = p->record.begin[ordinal];
  if (begin == 0) {
    fnabi_pack_nil(w);
    return true;
  }
  reader r = {(const uint32_t*)(const void*)p->record.words.data, begin - 1};
  if (!reserve_numbers(p) || !find_all(p, r)) return false;
  const fnabi_term* found = (const fnabi_term*)(const void*)p->found.data;
  size_t count = p->found.size / sizeof *found;
  fnabi_pack_array(w, 2);
  fnabi_pack_count(w, count);
  for (size_t i = 0; i < count; i++) pack_term(p, found[i], w);
  uint32_t blocks = next(&r);
  fnabi_pack_count(w, blocks);
  for (; blocks > 0; blocks--) pack_block(p, &r, w);
  forget_terms(p);
  return true;
}

static bool read_module(program* p, const char* data, size_t size,
                        fnabi_error* error) {
  return fnabi_bytecode_open_unnamed(&p->module, data, size, error) &&
         fnabi_bytecode_name_types(&p->module) &&
         fnabi_bytecode_known(&p->module, error) &&
         fnabi_flow_open(&p->flow, &p->module, error);
}

static bool write_functions(program* p, fnabi_writer* w, fnabi_error* error) {
  size_t count = p->module.function_count;
  p->record.begin = calloc(count + 1, sizeof *p->record.begin);
  bool good = p->record.begin != NULL;
  p->flow.record = &p->record;
  fnabi_pack_count(w, count);
  for (size_t i = 0; i < count && good; i++) {
    size_t before = w->size;
    if (p->module.functions[i].view.size != 0 &&
        fnabi_flow_of(&p->flow, i) == NULL)
      return false;
    good = pack_function(p, i, w);
    if (good && !fnabi_fb_spend(&p->module.fb, w->size - before,
                                (size_t)(p->module.functions[i].place -
                                         p->module.fb.origin)))
      return false;
  }
  if (!good) fnabi_fail(error, FNABI_MEMORY, 0, NULL);
  return good;
}

int64_t fnabi_bytecode_program(const char* data, size_t size, uint8_t* out,
                               size_t capacity, fnabi_error* error) {
  program p = {0};
  fnabi_writer w = {out, capacity, 0};
  bool good =
      read_module(&p, data, size, error) && write_functions(&p, &w, error);
  if (p.flow.module != NULL) fnabi_flow_close(&p.flow);
  fnabi_bytecode_close(&p.module);
  free(p.record.words.data);
  free(p.record.begin);
  free(p.numbers.data);
  free(p.found.data);
  return good ? (int64_t)w.size : -1;
}
