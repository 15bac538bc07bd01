/* What a plain loop makes of raw and SIP signatures: one character after the
 * other, into the same arrays, each grown when it is full. It neither compares
 * keys of SIP nor checks which field of a raw value follows which. Built when
 * the benchmark runs, with the flags of the core.
 *
 * It takes as long as the C++ parser that IREE had, compiled by g++ -O2 with
 * std::from_chars for numbers, which only calls visitors and writes nothing: so
 * a value of raw is described first, as there, and SIP is written at once. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct array {
  char* data;
  size_t size, room;
} array;

static void grow(array* a, size_t size) {
  a->room = 2 * a->room + size;
  a->data = realloc(a->data, a->room);
  if (a->data == NULL) abort();
}

static void add(array* a, const void* items, size_t size) {
  if (a->size + size > a->room) grow(a, size);
  memcpy(a->data + a->size, items, size);
  a->size += size;
}

#define ADD(bits)                                              \
  static inline void add##bits(array* a, int##bits##_t item) { \
    if (a->size + sizeof item > a->room) grow(a, sizeof item); \
    memcpy(a->data + a->size, &item, sizeof item);             \
    a->size += sizeof item;                                    \
  }
ADD(8)
ADD(32)
ADD(64)

typedef struct side {
  array offsets, kinds;
  array dtypes, shape_offsets, dims;                          /* raw */
  array depths, positions, indexes, name_offsets, name_bytes; /* SIP */
} side;

typedef struct peer {
  array status;
  side sides[2];
} peer;

static int number(const char** at, const char* end, int64_t* value) {
  const char* p = *at;
  int negative = p < end && *p == '-';
  if (negative) p++;
  if (p == end || *p < '0' || *p > '9') return 0;
  int64_t sum = 0;
  for (; p < end && *p >= '0' && *p <= '9'; p++) {
    sum = sum * 10 + (*p - '0');
    if (sum > (int64_t)INT32_MAX + negative) return 0;
  }
  *at = p;
  *value = negative ? -sum : sum;
  return 1;
}

static int span(const char** at, const char* end, const char** span_end) {
  int64_t length;
  if (!number(at, end, &length) || *at == end || **at != '!') return 0;
  if (length < 1 || length > end - *at) return 0;
  *span_end = *at + length;
  ++*at;
  return 1;
}

/* A value of a raw signature, as a visitor gets it. */
typedef struct description {
  int8_t kind, dtype;
  array dims;
} description;

static void write(const description* d, side* s) {
  add8(&s->kinds, d->kind);
  add8(&s->dtypes, d->dtype);
  if (d->dims.size != 0) add(&s->dims, d->dims.data, d->dims.size);
  add32(&s->shape_offsets, (int32_t)(s->dims.size / 8));
}

static int fields(const char* at, const char* end, description* d) {
  int64_t value = 0;
  while (at < end) {
    char tag = *at++;
    if (!number(&at, end, &value)) return 0;
    if (tag == 't') {
      if (value < 0 || value > 11) return 0;
      d->dtype = (int8_t)value;
    } else if (tag == 'd' && d->kind == 2) {
      if (value < -1) return 0;
      add64(&d->dims, value);
    } else {
      return 0;
    }
  }
  return 1;
}

static int each_value(const char* at, const char* end, description* d,
                      side* s) {
  while (at < end) {
    const char* value_end;
    char kind = *at++;
    if (!span(&at, end, &value_end)) return 0;
    d->dims.size = 0;
    switch (kind) {
      case 'B':
      case 'S':
        d->kind = kind == 'B' ? 2 : 1;
        d->dtype = 0;
        if (!fields(at, value_end, d)) return 0;
        break;
      case 'O':
      case 'U':
        d->kind = kind == 'O' ? 3 : 10;
        d->dtype = -1;
        if (at != value_end) return 0;
        break;
      default:
        return 0;
    }
    write(d, s);
    at = value_end;
  }
  return 1;
}

static int values(const char* at, const char* end, side* s) {
  description d = {0};
  int good = each_value(at, end, &d, s);
  free(d.dims.data);
  return good;
}

static int node(const char** at, const char* end, int8_t depth, side* s) {
  const char* node_end;
  int64_t value;
  if (*at == end) return 0;
  char tag = *(*at)++;
  add8(&s->depths, depth);
  if (tag == '_') {
    if (!number(at, end, &value) || value < 0) return 0;
    add8(&s->kinds, 1);
    add32(&s->indexes, (int32_t)value);
    return 1;
  }
  if ((tag != 'S' && tag != 'D') || depth == 127) return 0;
  if (!span(at, end, &node_end)) return 0;
  add8(&s->kinds, tag == 'S' ? 2 : 3);
  add32(&s->indexes, -1);
  while (*at < node_end) {
    if (*(*at)++ != (tag == 'S' ? 'k' : 'K')) return 0;
    if (tag == 'S') {
      if (!number(at, node_end, &value) || value < 0) return 0;
    } else {
      const char* name_end;
      if (!span(at, node_end, &name_end)) return 0;
      add(&s->name_bytes, *at, (size_t)(name_end - *at));
      *at = name_end;
      value = -1;
    }
    add32(&s->positions, (int32_t)value);
    add32(&s->name_offsets, (int32_t)s->name_bytes.size);
    if (!node(at, node_end, (int8_t)(depth + 1), s)) return 0;
  }
  return *at == node_end;
}

static int root(const char* at, const char* end, side* s) {
  if (at == end) return 1;
  add32(&s->positions, -1);
  add32(&s->name_offsets, (int32_t)s->name_bytes.size);
  return node(&at, end, 0, s) && at == end;
}

peer* peer_decode(const char* data, const int64_t* offsets, size_t count,
                  int32_t sip) {
  peer* p = calloc(1, sizeof *p);
  if (p == NULL) abort();
  for (int i = 0; i < 2; i++) {
    add32(&p->sides[i].offsets, 0);
    add32(sip ? &p->sides[i].name_offsets : &p->sides[i].shape_offsets, 0);
  }
  for (size_t row = 0; row < count; row++) {
    const char* at = data + offsets[row];
    const char* end = data + offsets[row + 1];
    int good = 1;
    for (int i = 0; i < 2 && good; i++) {
      const char* side_end;
      side* s = &p->sides[i];
      good = at < end && *at++ == "IR"[i] && span(&at, end, &side_end) &&
             (sip ? root(at, side_end, s) : values(at, side_end, s));
      at = side_end;
    }
    add8(&p->status, !(good && at == end));
    for (int i = 0; i < 2; i++)
      add32(&p->sides[i].offsets, (int32_t)p->sides[i].kinds.size);
  }
  return p;
}

/* How many nodes a side has, and how many dims, or bytes of names. */
int64_t peer_size(const peer* p, int32_t number, int32_t more) {
  const side* s = &p->sides[number];
  return more ? (int64_t)(s->dims.size / 8 + s->name_bytes.size)
              : (int64_t)s->kinds.size;
}

void peer_free(peer* p) {
  free(p->status.data);
  for (int i = 0; i < 2; i++) {
    free(p->sides[i].offsets.data);
    free(p->sides[i].kinds.data);
    free(p->sides[i].dtypes.data);
    free(p->sides[i].shape_offsets.data);
    free(p->sides[i].dims.data);
    free(p->sides[i].depths.data);
    free(p->sides[i].positions.data);
    free(p->sides[i].indexes.data);
    free(p->sides[i].name_offsets.data);
    free(p->sides[i].name_bytes.data);
  }
  free(p);
}
