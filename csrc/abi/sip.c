/* The Structured Index Path ABI, version 1:
 *
 *   signature ::= 'I' length-prefixed(value?) 'R' length-prefixed(value?)
 *   value     ::= index | sequence | dict
 *   index     ::= '_' integer
 *   sequence  ::= 'S' length-prefixed(('k' integer value)*)
 *   dict      ::= 'D' length-prefixed(('K' length-prefixed(bytes) value)*)
 *
 * The published grammar has no way to say "no values"; the mangler writes an
 * empty span for it, so a side's value is optional here. */
#include "abi/sip.h"

#include <stdlib.h>

#include "abi/signature.h"
#include "base/poll.h"

static const char* const EXPECT_VALUE = "'_', 'S' or 'D'";

static bool is_index(const fnabi_component* c) {
  return c->type == FNABI_COMPONENT_INTEGER && c->tag == '_';
}

static bool is_struct(const fnabi_component* c) {
  return c->type == FNABI_COMPONENT_SPAN && (c->tag == 'S' || c->tag == 'D');
}

static bool is_key(const fnabi_component* c) {
  return (c->type == FNABI_COMPONENT_INTEGER && c->tag == 'k') ||
         (c->type == FNABI_COMPONENT_SPAN && c->tag == 'K');
}

/* ------------------------------------------------------------------ reading */

typedef struct key {
  const char* text; /* NULL for an integer key */
  int32_t ival;     /* an integer key, or the size of the text */
  uint64_t offset;
} key;

static key key_of(const char* data, const fnabi_component* c) {
  return (key){c->tag == 'K' ? data + c->begin : NULL, c->ival, c->offset};
}

/* Integers by value, texts bytewise. */
static int compare_keys(const key* a, const key* b) {
  int order = (a->ival > b->ival) - (a->ival < b->ival);
  if (a->text == NULL || b->text == NULL) return order;
  size_t common = (size_t)(order < 0 ? a->ival : b->ival);
  int bytes = memcmp(a->text, b->text, common);
  return bytes != 0 ? bytes : order;
}

/* Equal keys are in the order of the text, because qsort is not stable. */
static int compare_places(const void* left, const void* right) {
  const key *a = left, *b = right;
  int order = compare_keys(a, b);
  return order != 0 ? order : (a->offset > b->offset) - (a->offset < b->offset);
}

/* An open structure. */
typedef struct frame {
  size_t begin, end; /* of its contents */
  size_t place, count;
  key last;
  bool dict, ascending;
} frame;

typedef struct walk {
  const char* data;
  fnabi_writer* w;
  fnabi_error* error;
  size_t at;
  size_t depth; /* frames[depth - 1] is the innermost open structure */
  bool value;   /* a value must come next; else a key or the end */
  frame frames[FNABI_DEPTH_MAX];
} walk;

static bool refuse(walk* k, int32_t code, uint64_t offset,
                   const char* expected) {
  fnabi_fail(k->error, code, offset, expected);
  return false;
}

/* Refuses a component that is not allowed here. */
static bool misplace(walk* k, const fnabi_component* c, const char* expected) {
  if (c->type == FNABI_COMPONENT_ERROR) return refuse(k, c->code, c->end, NULL);
  int32_t code = c->type == FNABI_COMPONENT_END ? FNABI_MISSING
                 : is_key(c)                    ? FNABI_SIP_KEY
                 : is_index(c) || is_struct(c)  ? FNABI_SIP_VALUE
                                                : FNABI_SIP_TAG;
  return refuse(k, code, c->offset, expected);
}

static bool take_value(walk* k, const fnabi_component* c) {
  if (is_index(c)) {
    if (c->ival < 0)
      return refuse(k, FNABI_SIP_NEGATIVE, c->begin, "0 or more");
    fnabi_pack_array(k->w, 2);
    fnabi_pack_int(k->w, FNABI_SIP_LEAF);
    fnabi_pack_int(k->w, c->ival);
    k->at = (size_t)c->end;
  } else if (is_struct(c)) {
    if (k->depth == FNABI_DEPTH_MAX)
      return refuse(k, FNABI_DEPTH, c->offset, FNABI_DEPTH_EXPECTED);
    bool dict = c->tag == 'D';
    fnabi_pack_array(k->w, 2);
    fnabi_pack_int(k->w, dict ? FNABI_SIP_DICT : FNABI_SIP_SEQUENCE);
    frame* f = &k->frames[k->depth++];
    f->begin = (size_t)c->begin;
    f->end = (size_t)c->end;
    f->place = fnabi_pack_open(k->w);
    f->count = 0;
    f->dict = dict;
    f->ascending = true;
    k->at = f->begin;
  } else {
    return misplace(k, c, EXPECT_VALUE);
  }
  k->value = false;
  return true;
}

/* Whether all keys of a structure differ. Keys that ascend do; others are
 * sorted here. The structure was read before, so its components are
 * well-formed. */
static bool keys_differ(walk* k, const frame* f) {
  key* keys = calloc(f->count, sizeof *keys);
  if (keys == NULL) return refuse(k, FNABI_MEMORY, f->begin, NULL);
  size_t n = 0;
  fnabi_component c;
  for (size_t at = f->begin; at < f->end && n < f->count; at = (size_t)c.end) {
    fnabi_signature_read(k->data, f->end, at, &c);
    if (c.type == FNABI_COMPONENT_ERROR) break; /* the text changed */
    if (is_key(&c)) keys[n++] = key_of(k->data, &c);
  }
  qsort(keys, n, sizeof *keys, compare_places);
  uint64_t twice = UINT64_MAX;
  for (size_t i = 1; i < n; i++)
    if (keys[i].offset < twice && compare_keys(&keys[i - 1], &keys[i]) == 0)
      twice = keys[i].offset;
  free(keys);
  return twice == UINT64_MAX || refuse(k, FNABI_SIP_DUPLICATE, twice, NULL);
}

static bool take_key_or_end(walk* k, const fnabi_component* c) {
  if (k->depth == 0) return misplace(k, c, "the end");
  frame* f = &k->frames[k->depth - 1];
  if (c->type == FNABI_COMPONENT_END) {
    if (!f->ascending && !keys_differ(k, f)) return false;
    fnabi_pack_close(k->w, f->place, f->count);
    k->depth--;
    return true;
  }
  if (!is_key(c) || f->dict != (c->tag == 'K'))
    return misplace(k, c, f->dict ? "'K'" : "'k'");
  if (!f->dict && c->ival < 0)
    return refuse(k, FNABI_SIP_NEGATIVE, c->begin, "0 or more");
  key now = key_of(k->data, c);
  if (f->count > 0) {
    int order = compare_keys(&f->last, &now);
    if (order == 0) return refuse(k, FNABI_SIP_DUPLICATE, c->offset, NULL);
    if (order > 0) f->ascending = false;
  }
  fnabi_pack_array(k->w, 2);
  if (f->dict)
    fnabi_pack_text(k->w, now.text, (size_t)now.ival);
  else
    fnabi_pack_int(k->w, now.ival);
  f->last = now;
  f->count++;
  k->at = (size_t)c->end;
  k->value = true;
  return true;
}

/* Puts a key before the path: [3] or ["name"]. Bytes that are not printable are
 * escaped, such as \xc3, and a long name is cut. */
static void path_key(const key* last, fnabi_error* error) {
  if (last->text == NULL) {
    fnabi_path_index(error, (uint64_t)last->ival);
    return;
  }
  char text[40] = "[\"";
  size_t n = 2;
  for (int32_t i = 0; i < last->ival && n < 36; i++) {
    static const char digits[] = "0123456789abcdef";
    uint8_t c = (uint8_t)last->text[i];
    if (c >= ' ' && c < 127 && c != '"' && c != '\\') {
      text[n++] = (char)c;
    } else if (n > 32) {
      break;
    } else {
      const char escape[] = {'\\', 'x', digits[c >> 4], digits[c & 15]};
      memcpy(text + n, escape, sizeof escape);
      n += sizeof escape;
    }
  }
  memcpy(text + n, "\"]", 3);
  fnabi_path_field(error, text);
}

/* The value of one side, which is not empty. */
static bool read_value(const char* data, const fnabi_component* side,
                       fnabi_writer* w, fnabi_error* error) {
  walk k;
  k.data = data;
  k.w = w;
  k.error = error;
  k.at = (size_t)side->begin;
  k.depth = 0;
  k.value = true;
  bool good = true;
  while (good) {
    fnabi_component c;
    if (fnabi_stop(2, k.at, error)) return false;
    uint64_t end = k.depth > 0 ? k.frames[k.depth - 1].end : side->end;
    fnabi_signature_read(data, (size_t)end, k.at, &c);
    if (k.depth == 0 && !k.value && c.type == FNABI_COMPONENT_END) return true;
    good = k.value ? take_value(&k, &c) : take_key_or_end(&k, &c);
  }
  /* a duplicate key of an open structure is before the fault that was found */
  for (size_t i = 0; i < k.depth; i++)
    if (!k.frames[i].ascending && !keys_differ(&k, &k.frames[i])) {
      k.depth = i + 1;
      k.value = false;
    }
  /* the innermost key is part of the path when its value is at fault */
  for (size_t i = k.depth; i > 0; i--)
    if (i < k.depth || k.value) path_key(&k.frames[i - 1].last, error);
  return false;
}

static bool write_side(const char* data, const fnabi_component* side,
                       fnabi_writer* w, fnabi_error* error) {
  if (side->begin != side->end) return read_value(data, side, w, error);
  fnabi_pack_nil(w);
  return true;
}

bool fnabi_sip_write(const char* data, size_t size, fnabi_writer* w,
                     fnabi_error* error) {
  return fnabi_write_sides(data, size, FNABI_SIP_INPUTS, FNABI_SIP_RESULTS,
                           write_side, w, error);
}

int64_t fnabi_sip_decode(const char* data, size_t size, uint8_t* out,
                         size_t capacity, fnabi_error* error) {
  fnabi_writer w = {out, capacity, 0};
  return fnabi_sip_write(data, size, &w, error) ? (int64_t)w.size : -1;
}

/* ------------------------------------------------------------------- events */

/* One number for each structure, or for each open one. */
typedef struct stack {
  uint64_t* places; /* `few`, or allocated */
  size_t depth, capacity;
  uint64_t few[64];
} stack;

static void stack_init(stack* s) {
  s->places = s->few;
  s->depth = 0;
  s->capacity = sizeof s->few / sizeof *s->few;
}

static void stack_free(stack* s) {
  if (s->places != s->few) free(s->places);
}

static int32_t push(stack* s, uint64_t number, size_t limit) {
  if (s->depth == limit) return FNABI_DEPTH;
  if (s->depth == s->capacity) {
    bool first = s->places == s->few;
    size_t bytes = 2 * s->capacity * sizeof *s->places;
    uint64_t* places = realloc(first ? NULL : s->places, bytes);
    if (places == NULL) return FNABI_MEMORY;
    if (first) memcpy(places, s->few, sizeof s->few);
    s->places = places;
    s->capacity *= 2;
  }
  s->places[s->depth++] = number;
  return FNABI_OK;
}

static void pack_event(fnabi_writer* w, fnabi_sip_event event) {
  fnabi_pack_array(w, 2);
  fnabi_pack_int(w, event);
}

/* Writes the events of one side up to the first error, and returns its code. */
static int32_t visit_value(const char* data, const fnabi_component* side,
                           fnabi_writer* w, stack* open, size_t* count) {
  size_t at = (size_t)side->begin;
  uint64_t end = side->end;
  bool value = true; /* may come: at the root always, else after a key */
  for (;; ++*count) {
    fnabi_component c;
    fnabi_signature_read(data, (size_t)end, at, &c);
    at = (size_t)c.end;
    if (fnabi_poll(4)) return FNABI_INTERRUPTED;
    if (c.type == FNABI_COMPONENT_ERROR) return FNABI_SYNTAX;
    if (c.type == FNABI_COMPONENT_END) {
      if (open->depth == 0) return FNABI_OK;
      pack_event(w, FNABI_SIP_CLOSE);
      fnabi_pack_nil(w);
      at = (size_t)end;
      end = open->places[--open->depth];
      value = open->depth == 0;
    } else if (is_key(&c)) {
      if (value) return FNABI_SIP_KEY;
      bool text = c.tag == 'K';
      pack_event(w, text ? FNABI_SIP_STRING_KEY : FNABI_SIP_INTEGER_KEY);
      if (text)
        fnabi_pack_text(w, data + c.begin, (size_t)c.ival);
      else
        fnabi_pack_int(w, c.ival);
      value = true;
    } else if (!is_index(&c) && !is_struct(&c)) {
      return FNABI_SIP_TAG;
    } else if (!value) {
      return FNABI_SIP_VALUE;
    } else if (is_index(&c)) {
      pack_event(w, FNABI_SIP_INDEX);
      fnabi_pack_int(w, c.ival);
      value = open->depth == 0;
    } else {
      int32_t code = push(open, end, FNABI_SIP_EVENT_DEPTH_MAX);
      if (code != FNABI_OK) return code;
      bool dict = c.tag == 'D';
      pack_event(w, dict ? FNABI_SIP_OPEN_DICT : FNABI_SIP_OPEN_SEQUENCE);
      fnabi_pack_nil(w);
      at = (size_t)c.begin;
      end = c.end;
      value = false;
    }
  }
}

int64_t fnabi_sip_visit(const char* data, size_t size, int32_t side,
                        uint8_t* out, size_t capacity, fnabi_error* error) {
  fnabi_writer w = {out, capacity, 0};
  fnabi_component c;
  stack open;
  stack_init(&open);
  size_t count = 0;
  int32_t code = side == 'I' ? FNABI_SIP_INPUTS : FNABI_SIP_RESULTS;
  fnabi_pack_array(&w, 2);
  size_t place = fnabi_pack_open(&w);
  if (fnabi_signature_seek(data, size, 0, side, &c) &&
      c.type == FNABI_COMPONENT_SPAN)
    code = visit_value(data, &c, &w, &open, &count);
  for (; open.depth > 0; open.depth--, count++) {
    pack_event(&w, FNABI_SIP_CLOSE);
    fnabi_pack_nil(&w);
  }
  stack_free(&open);
  fnabi_pack_close(&w, place, count);
  fnabi_pack_int(&w, code);
  if (code == FNABI_MEMORY) return fnabi_fail(error, code, 0, NULL);
  return (int64_t)w.size;
}

/* ------------------------------------------------------------------ writing */

/* Writes the next int32 >= 0 of the message as a component. */
static bool put_int(fnabi_reader* r, fnabi_writer* w, char tag, int32_t* number,
                    fnabi_error* error) {
  int64_t value;
  bool fits;
  if (!fnabi_unpack_integer(r, &value, &fits))
    fnabi_fail(error, FNABI_MESSAGE, 0, "an int");
  else if (value < 0)
    fnabi_fail(error, FNABI_SIP_NEGATIVE, 0, "0 or more");
  else if (value > INT32_MAX)
    fnabi_fail(error, FNABI_INT32, 0, "at most 2147483647");
  else {
    fnabi_put_integer(w, tag, value);
    *number = (int32_t)value;
    return true;
  }
  return false;
}

static bool close_span(fnabi_writer* w, size_t place, fnabi_error* error) {
  if (fnabi_span_close(w, place)) return true;
  fnabi_fail(error, FNABI_INT32, 0, "less than 2147483647 bytes");
  return false;
}

/* Writes the next key of the message as a component. */
static bool put_key(fnabi_reader* r, fnabi_writer* w, bool dict, key* now,
                    fnabi_error* error) {
  now->text = NULL;
  if (!dict) return put_int(r, w, 'k', &now->ival, error);
  size_t size;
  if (!fnabi_unpack_text(r, &now->text, &size)) {
    fnabi_fail(error, FNABI_MESSAGE, 0, "a str");
    return false;
  }
  now->ival = (int32_t)size; /* if it does not fit, the span does not close */
  size_t place = fnabi_span_open(w, 'K');
  fnabi_put(w, now->text, size);
  return close_span(w, place, error);
}

/* From a message to its text. */
typedef struct encoder {
  fnabi_reader r;
  fnabi_writer w;
  fnabi_error* error;
  bool ascending; /* the keys of every structure so far */
} encoder;

static bool refuse_message(encoder* e, const char* expected) {
  fnabi_fail(e->error, FNABI_MESSAGE, 0, expected);
  return false;
}

static bool encode_node(encoder* e, unsigned depth);

/* A pair of key and node; *last is the key before it. */
static bool encode_child(encoder* e, bool dict, key* last, unsigned depth) {
  size_t count;
  key now;
  if (!fnabi_unpack_array(&e->r, &count) || count != 2)
    return refuse_message(e, "a pair of key and node");
  if (!put_key(&e->r, &e->w, dict, &now, e->error)) return false;
  if (compare_keys(last, &now) >= 0) e->ascending = false;
  *last = now;
  return encode_node(e, depth);
}

static bool encode_node(encoder* e, unsigned depth) {
  size_t count;
  int64_t node;
  int32_t index;
  if (fnabi_stop(2, 0, e->error)) return false;
  if (!fnabi_unpack_array(&e->r, &count) || count != 2 ||
      !fnabi_unpack_int(&e->r, &node) || node < FNABI_SIP_LEAF ||
      node > FNABI_SIP_DICT)
    return refuse_message(e, "Leaf, Sequence or Dict");
  if (node == FNABI_SIP_LEAF)
    return put_int(&e->r, &e->w, '_', &index, e->error);
  if (depth == FNABI_DEPTH_MAX) {
    fnabi_fail(e->error, FNABI_DEPTH, 0, FNABI_DEPTH_EXPECTED);
    return false;
  }
  bool dict = node == FNABI_SIP_DICT;
  size_t place = fnabi_span_open(&e->w, dict ? 'D' : 'S');
  if (!fnabi_unpack_array(&e->r, &count)) {
    refuse_message(e, "a tuple of children");
    fnabi_path_field(e->error, ".children");
    return false;
  }
  key last = {NULL, -1, 0}; /* below any other */
  for (size_t i = 0; i < count; i++)
    if (!encode_child(e, dict, &last, depth + 1)) {
      fnabi_path_index(e->error, i);
      fnabi_path_field(e->error, ".children");
      return false;
    }
  return close_span(&e->w, place, e->error);
}

static bool encode_side(encoder* e, char tag) {
  size_t place = fnabi_span_open(&e->w, tag);
  if ((fnabi_unpack_nil(&e->r) || encode_node(e, 0)) &&
      close_span(&e->w, place, e->error))
    return true;
  fnabi_path_field(e->error, tag == 'I' ? "inputs" : "results");
  return false;
}

int64_t fnabi_sip_encode(const uint8_t* message, size_t size, uint8_t* out,
                         size_t capacity, fnabi_error* error) {
  encoder e = {{message, size, 0}, {out, capacity, 0}, error, true};
  size_t count;
  if (!fnabi_unpack_array(&e.r, &count) || count != 2)
    return fnabi_fail(error, FNABI_MESSAGE, 0, "a Signature of fnabi.sip");
  if (!encode_side(&e, 'I') || !encode_side(&e, 'R')) return -1;
  if (e.r.at != size)
    return fnabi_fail(error, FNABI_MESSAGE, 0, "a Signature of fnabi.sip");
  if (e.ascending) return (int64_t)e.w.size;

  /* decoding the text finds duplicates among keys that do not ascend */
  if (e.w.size > capacity) {
    uint8_t* text = malloc(e.w.size);
    if (text == NULL) return fnabi_fail(error, FNABI_MEMORY, 0, NULL);
    int64_t answer = fnabi_sip_encode(message, size, text, e.w.size, error);
    free(text);
    return answer;
  }
  if (fnabi_sip_decode((const char*)out, e.w.size, NULL, 0, error) < 0) {
    error->offset = 0;
    return -1;
  }
  return (int64_t)e.w.size;
}

/* A structure's length is before its contents. So the events are read twice,
 * which is linear for any nesting: first to measure the structures, in the
 * order in which they open, then to write. */
typedef struct plan {
  stack sizes; /* of the contents; while one is open, where they begin */
  stack open;  /* numbers of the open structures */
  size_t next;
  bool measured;
} plan;

static bool open_struct(plan* p, fnabi_writer* w, char tag,
                        fnabi_error* error) {
  if (p->measured) {
    if (p->next == p->sizes.depth) { /* the message changed meanwhile */
      fnabi_fail(error, FNABI_MESSAGE, 0, "well-nested events");
      return false;
    }
    fnabi_put_integer(w, tag, (int64_t)p->sizes.places[p->next++] + 1);
    fnabi_put_byte(w, '!');
    return true;
  }
  int32_t code = push(&p->open, p->sizes.depth, FNABI_SIP_EVENT_DEPTH_MAX);
  if (code == FNABI_OK)
    code = push(&p->sizes, fnabi_span_open(w, tag), SIZE_MAX);
  if (code == FNABI_OK) return true;
  fnabi_fail(error, code, 0, NULL);
  return false;
}

static bool close_struct(plan* p, fnabi_writer* w, fnabi_error* error) {
  if (p->measured) return true;
  uint64_t* number = &p->sizes.places[p->open.places[--p->open.depth]];
  size_t place = (size_t)*number;
  *number = w->size - place;
  return close_span(w, place, error);
}

static bool mangle_event(fnabi_reader* r, fnabi_writer* w, plan* p,
                         fnabi_error* error) {
  size_t count;
  int64_t event;
  if (!fnabi_unpack_array(r, &count) || count != 2 ||
      !fnabi_unpack_int(r, &event))
    event = 0;
  bool plain = event == FNABI_SIP_OPEN_SEQUENCE ||
               event == FNABI_SIP_OPEN_DICT || event == FNABI_SIP_CLOSE;
  if (plain && !fnabi_unpack_nil(r)) event = 0;
  int32_t number;
  key name;
  switch (event) {
    case FNABI_SIP_OPEN_SEQUENCE:
      return open_struct(p, w, 'S', error);
    case FNABI_SIP_OPEN_DICT:
      return open_struct(p, w, 'D', error);
    case FNABI_SIP_INTEGER_KEY:
    case FNABI_SIP_STRING_KEY:
      return put_key(r, w, event == FNABI_SIP_STRING_KEY, &name, error);
    case FNABI_SIP_INDEX:
      return put_int(r, w, '_', &number, error);
    case FNABI_SIP_CLOSE:
      if (p->measured || p->open.depth > 0) return close_struct(p, w, error);
  }
  fnabi_fail(error, FNABI_MESSAGE, 0, "well-nested events");
  return false;
}

static bool mangle_events(const uint8_t* message, size_t size, fnabi_writer* w,
                          plan* p, fnabi_error* error) {
  fnabi_reader r = {message, size, 0};
  size_t count;
  bool good = fnabi_unpack_array(&r, &count);
  for (size_t i = 0; good && i < count; i++)
    if (fnabi_stop_at(i, 2, 0, error) || !mangle_event(&r, w, p, error)) {
      fnabi_path_index(error, i);
      return false;
    }
  if (good && p->open.depth == 0 && r.at == size) return true;
  fnabi_fail(error, FNABI_MESSAGE, 0, "well-nested events");
  return false;
}

int64_t fnabi_sip_mangle(const uint8_t* message, size_t size, uint8_t* out,
                         size_t capacity, fnabi_error* error) {
  fnabi_writer measure = {NULL, 0, 0}, w = {out, capacity, 0};
  plan p;
  stack_init(&p.sizes);
  stack_init(&p.open);
  p.next = 0;
  p.measured = false;
  bool good = mangle_events(message, size, &measure, &p, error);
  if (good && measure.size <= capacity) {
    p.measured = true;
    good = mangle_events(message, size, &w, &p, error);
  }
  stack_free(&p.sizes);
  stack_free(&p.open);
  return good ? (int64_t)measure.size : -1;
}
