/* Element types: their record in a message, and their names as MLIR writes them. */
#include "base/dtype.h"

#include "base/error.h"

/* A kind in a message: its name after a head of 0xA0 and its size. */
typedef struct kind_text {
  char text[10];
  uint8_t size;
} kind_text;

#define KIND(head, name) {head name, sizeof name}
static const kind_text kinds[FNABI_DTYPE_KIND_COUNT] = {
    KIND("\246", "signed"), KIND("\250", "unsigned"), KIND("\250", "signless"),
    KIND("\245", "float"),  KIND("\246", "bfloat"),   KIND("\247", "complex"),
    KIND("\244", "bool"),   KIND("\245", "index"),    KIND("\246", "handle"),
};
#undef KIND

/* Every element type that has a name of its own; those of integers follow a
 * rule. */
typedef struct named_dtype {
  const char* name;
  size_t size; /* of the name */
  fnabi_dtype_kind kind;
  uint32_t bits;
  const char* format;
  size_t format_size;
} named_dtype;

#define NAMED(name, kind, bits, format) \
  {name, sizeof name - 1, FNABI_DTYPE_##kind, bits, format, sizeof format - 1}
static const named_dtype named[] = {
    NAMED("f32", FLOAT, 32, ""),
    NAMED("f16", FLOAT, 16, ""),
    NAMED("f64", FLOAT, 64, ""),
    NAMED("bf16", BFLOAT, 16, ""),
    NAMED("i1", BOOL, 1, ""),
    NAMED("index", INDEX, 64, ""),
    NAMED("f80", FLOAT, 80, ""),
    NAMED("f128", FLOAT, 128, ""),
    NAMED("tf32", FLOAT, 19, "tf32"),
    NAMED("f8E5M2", FLOAT, 8, "e5m2"),
    NAMED("f8E4M3", FLOAT, 8, "e4m3"),
    NAMED("f8E4M3FN", FLOAT, 8, "e4m3fn"),
    NAMED("f8E5M2FNUZ", FLOAT, 8, "e5m2fnuz"),
    NAMED("f8E4M3FNUZ", FLOAT, 8, "e4m3fnuz"),
    NAMED("f8E4M3B11FNUZ", FLOAT, 8, "e4m3b11fnuz"),
    NAMED("f8E3M4", FLOAT, 8, "e3m4"),
    NAMED("f8E8M0FNU", FLOAT, 8, "e8m0fnu"),
    NAMED("f6E2M3FN", FLOAT, 6, "e2m3fn"),
    NAMED("f6E3M2FN", FLOAT, 6, "e3m2fn"),
    NAMED("f4E2M1FN", FLOAT, 4, "e2m1fn"),
};
#undef NAMED
#define NAMED_COUNT (sizeof named / sizeof named[0])

void fnabi_pack_dtype(fnabi_writer* w, const fnabi_dtype* dtype) {
  enum { THREE = 0x93, EMPTY = 0xA0, MOST = 1 + sizeof kinds->text + 2 };
  const kind_text* kind = &kinds[dtype->kind];
  if (dtype->bits < 128 && dtype->format_size == 0 &&
      w->size + MOST <= w->capacity) {
    uint8_t* out = w->out + w->size;
    out[0] = THREE;
    memcpy(out + 1, kind->text, sizeof kind->text);
    out[1 + kind->size] = (uint8_t)dtype->bits;
    out[2 + kind->size] = EMPTY;
    w->size += 3u + kind->size;
    return;
  }
  fnabi_put_byte(w, THREE);
  fnabi_put(w, kind->text, kind->size);
  fnabi_pack_uint(w, dtype->bits);
  fnabi_pack_text(w, dtype->format, dtype->format_size);
}

static bool unpack(fnabi_reader* r, fnabi_dtype* dtype, int64_t* lanes) {
  size_t count, size;
  const char* kind;
  int64_t bits;
  *lanes = 1;
  if (!fnabi_unpack_array(r, &count) || (count != 3 && count != 4) ||
      !fnabi_unpack_text(r, &kind, &size) || !fnabi_unpack_int(r, &bits) ||
      bits < 1 || bits > FNABI_DTYPE_BITS_MAX ||
      !fnabi_unpack_text(r, &dtype->format, &dtype->format_size) ||
      (count == 4 && !fnabi_unpack_int(r, lanes)))
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

bool fnabi_unpack_dtype(fnabi_reader* r, fnabi_dtype* dtype,
                        fnabi_error* error) {
  int64_t lanes;
  if (!unpack(r, dtype, &lanes))
    fnabi_fail(error, FNABI_MESSAGE, 0, "a DType");
  else if (lanes != 1)
    fnabi_fail(error, FNABI_UNSUPPORTED, 0, "a DType of one lane");
  else
    return true;
  fnabi_path_field(error, ".dtype");
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
    if (bits > FNABI_DTYPE_BITS_MAX) return false;
  }
  return set(dtype, kind, bits, "", 0);
}

static inline bool read_part(const char* text, size_t size,
                             fnabi_dtype* dtype) {
  if (read_integer(text, size, dtype)) {
    if (dtype->kind == FNABI_DTYPE_SIGNLESS && dtype->bits == 1)
      dtype->kind = FNABI_DTYPE_BOOL;
    return true;
  }
  for (size_t i = 0; i < NAMED_COUNT; i++)
    if (size == named[i].size && memcmp(text, named[i].name, size) == 0)
      return set(dtype, named[i].kind, named[i].bits, named[i].format,
                 named[i].format_size);
  return false;
}

static bool read_complex(const char* text, size_t size, fnabi_dtype* dtype) {
  fnabi_dtype part;
  if (size <= 9 || memcmp(text, "complex<", 8) != 0 || text[size - 1] != '>')
    return false;
  text += 8;
  size -= 9;
  if (!read_part(text, size, &part) || part.bits > FNABI_DTYPE_BITS_MAX / 2)
    return false;
  /* the width alone means IEEE parts; other parts keep their name */
  bool ieee = part.kind == FNABI_DTYPE_FLOAT && part.format_size == 0;
  return set(dtype, FNABI_DTYPE_COMPLEX, 2 * part.bits, ieee ? "" : text,
             ieee ? 0 : size);
}

bool fnabi_read_dtype(const char* text, size_t size, fnabi_dtype* dtype) {
  return read_part(text, size, dtype) || read_complex(text, size, dtype);
}
