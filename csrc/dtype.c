#include "dtype.h"

#define BITS_MAX 16777215 /* MLIR's widest integer */

/* The message of a kind: a head of 0xA0 and its size, and its name. */
typedef struct kind_text {
  char text[10];
  uint8_t size;
} kind_text;

#define KIND(head, name) {head name, sizeof name}
static const kind_text kinds[FNABI_DTYPE_KIND_COUNT] = {
    KIND("\246", "signed"), KIND("\250", "unsigned"), KIND("\250", "signless"),
    KIND("\245", "float"),  KIND("\246", "bfloat"),   KIND("\247", "complex"),
    KIND("\244", "bool"),   KIND("\245", "index"),
};
#undef KIND

/* Every element type with a name of its own; integers are read by rule. */
typedef struct named_dtype {
  const char* name;
  fnabi_dtype_kind kind;
  uint32_t bits;
  const char* format;
} named_dtype;

static const named_dtype named[] = {
    {"f32", FNABI_DTYPE_FLOAT, 32, ""},
    {"f16", FNABI_DTYPE_FLOAT, 16, ""},
    {"f64", FNABI_DTYPE_FLOAT, 64, ""},
    {"bf16", FNABI_DTYPE_BFLOAT, 16, ""},
    {"i1", FNABI_DTYPE_BOOL, 1, ""},
    {"index", FNABI_DTYPE_INDEX, 64, ""},
    {"f80", FNABI_DTYPE_FLOAT, 80, ""},
    {"f128", FNABI_DTYPE_FLOAT, 128, ""},
    {"tf32", FNABI_DTYPE_FLOAT, 19, "tf32"},
    {"f8E5M2", FNABI_DTYPE_FLOAT, 8, "e5m2"},
    {"f8E4M3", FNABI_DTYPE_FLOAT, 8, "e4m3"},
    {"f8E4M3FN", FNABI_DTYPE_FLOAT, 8, "e4m3fn"},
    {"f8E5M2FNUZ", FNABI_DTYPE_FLOAT, 8, "e5m2fnuz"},
    {"f8E4M3FNUZ", FNABI_DTYPE_FLOAT, 8, "e4m3fnuz"},
    {"f8E4M3B11FNUZ", FNABI_DTYPE_FLOAT, 8, "e4m3b11fnuz"},
    {"f8E3M4", FNABI_DTYPE_FLOAT, 8, "e3m4"},
    {"f8E8M0FNU", FNABI_DTYPE_FLOAT, 8, "e8m0fnu"},
    {"f6E2M3FN", FNABI_DTYPE_FLOAT, 6, "e2m3fn"},
    {"f6E3M2FN", FNABI_DTYPE_FLOAT, 6, "e3m2fn"},
    {"f4E2M1FN", FNABI_DTYPE_FLOAT, 4, "e2m1fn"},
};
#define NAMED_COUNT (sizeof named / sizeof named[0])

static bool equals(const char* data, size_t size, const char* text) {
  return strlen(text) == size && memcmp(data, text, size) == 0;
}

void fnabi_pack_dtype(fnabi_writer* w, const fnabi_dtype* dtype) {
  fnabi_pack_array(w, 3);
  fnabi_put(w, kinds[dtype->kind].text, kinds[dtype->kind].size);
  fnabi_pack_uint(w, dtype->bits);
  fnabi_pack_text(w, dtype->format, dtype->format_size);
}

bool fnabi_unpack_dtype(fnabi_reader* r, fnabi_dtype* dtype) {
  size_t count, size;
  const char* kind;
  int64_t bits;
  if (!fnabi_unpack_array(r, &count) || count != 3 ||
      !fnabi_unpack_text(r, &kind, &size) || !fnabi_unpack_int(r, &bits) ||
      bits < 1 || bits > BITS_MAX ||
      !fnabi_unpack_text(r, &dtype->format, &dtype->format_size))
    return false;
  dtype->bits = (uint32_t)bits;
  for (int k = 0; k < FNABI_DTYPE_KIND_COUNT; k++)
    if (size == kinds[k].size - 1u &&
        memcmp(kind, kinds[k].text + 1, size) == 0) {
      dtype->kind = (fnabi_dtype_kind)k;
      return true;
    }
  return false;
}

static bool set(fnabi_dtype* dtype, fnabi_dtype_kind kind, uint32_t bits,
                const char* format, size_t format_size) {
  *dtype = (fnabi_dtype){kind, bits, format, format_size};
  return true;
}

/* ('i' | 'si' | 'ui') [1-9][0-9]* */
static bool read_integer(const char* text, size_t size, fnabi_dtype* dtype) {
  fnabi_dtype_kind kind = FNABI_DTYPE_SIGNLESS;
  if (size > 0 && (*text == 's' || *text == 'u')) {
    kind = *text == 's' ? FNABI_DTYPE_SIGNED : FNABI_DTYPE_UNSIGNED;
    text++;
    size--;
  }
  if (size < 2 || text[0] != 'i' || text[1] == '0') return false;
  uint32_t bits = 0;
  for (size_t i = 1; i < size; i++) {
    if (text[i] < '0' || text[i] > '9') return false;
    bits = bits * 10 + (uint32_t)(text[i] - '0');
    if (bits > BITS_MAX) return false;
  }
  return set(dtype, kind, bits, "", 0);
}

bool fnabi_read_dtype(const char* text, size_t size, fnabi_dtype* dtype) {
  for (size_t i = 0; i < NAMED_COUNT; i++)
    if (equals(text, size, named[i].name))
      return set(dtype, named[i].kind, named[i].bits, named[i].format,
                 strlen(named[i].format));
  if (size > 9 && memcmp(text, "complex<", 8) == 0 && text[size - 1] == '>') {
    fnabi_dtype part;
    text += 8;
    size -= 9;
    if (!fnabi_read_dtype(text, size, &part) ||
        part.kind == FNABI_DTYPE_COMPLEX || part.bits > BITS_MAX / 2)
      return false;
    /* IEEE parts are told by the width; others keep their name */
    bool ieee = part.kind == FNABI_DTYPE_FLOAT && part.format_size == 0;
    return set(dtype, FNABI_DTYPE_COMPLEX, 2 * part.bits, ieee ? "" : text,
               ieee ? 0 : size);
  }
  return read_integer(text, size, dtype);
}

static void put_width(fnabi_writer* w, uint32_t bits) {
  char text[10];
  size_t at = sizeof text;
  for (; bits != 0; bits /= 10) text[--at] = (char)('0' + bits % 10);
  fnabi_put(w, text + at, sizeof text - at);
}

bool fnabi_put_dtype(fnabi_writer* w, const fnabi_dtype* dtype) {
  for (size_t i = 0; i < NAMED_COUNT; i++)
    if (dtype->kind == named[i].kind && dtype->bits == named[i].bits &&
        equals(dtype->format, dtype->format_size, named[i].format)) {
      fnabi_put(w, named[i].name, strlen(named[i].name));
      return true;
    }
  if (dtype->kind == FNABI_DTYPE_COMPLEX && dtype->bits % 2 == 0) {
    fnabi_dtype part = {FNABI_DTYPE_FLOAT, dtype->bits / 2, "", 0};
    if (dtype->format_size > 0 &&
        (!fnabi_read_dtype(dtype->format, dtype->format_size, &part) ||
         part.kind == FNABI_DTYPE_COMPLEX || part.bits != dtype->bits / 2))
      return false;
    size_t start = w->size;
    fnabi_put(w, "complex<", 8);
    if (fnabi_put_dtype(w, &part)) {
      fnabi_put(w, ">", 1);
      return true;
    }
    w->size = start;
    return false;
  }
  if (dtype->kind > FNABI_DTYPE_SIGNLESS || dtype->format_size > 0)
    return false;
  static const char* const prefixes[] = {"si", "ui", "i"};
  const char* prefix = prefixes[dtype->kind];
  fnabi_put(w, prefix, strlen(prefix));
  put_width(w, dtype->bits);
  return true;
}
