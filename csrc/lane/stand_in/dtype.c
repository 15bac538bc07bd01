/* Dtypes as libtvm_ffi writes them.
 *
 *   dtype:   "" | "void" | name [bits] [lanes] | small [lanes]
 *   name:    "int" | "uint" | "float" | "bfloat" | "handle" | "bool", or before
 *            bits "i" | "u" | "f" | "bf"
 *   small:   ("float" | "fp" | "f") ("8" | "6" | "4") "_" variant
 *   lanes:   "x" number, after a name also "xvscalex" number, after a small one
 *            of 4 bits also "_x" number
 *
 * Without bits: 32, but 16 for bfloat, 64 for handle, and 8 for bool. Lanes of
 * "vscale" are negative. Bits of 0 are as none. */
#include <stdio.h>

#include "lane/runtime/text.h"
#include "lane/stand_in/stand_in.h"

typedef struct name {
  const char* text;
  uint8_t code;
  uint8_t bits; /* where the text has none */
  bool is_short;
} name;

static const name names[] = {
    {"int", FNABI_DL_INT, 32, false},       {"i", FNABI_DL_INT, 32, true},
    {"uint", FNABI_DL_UINT, 32, false},     {"u", FNABI_DL_UINT, 32, true},
    {"float", FNABI_DL_FLOAT, 32, false},   {"f", FNABI_DL_FLOAT, 32, true},
    {"bfloat", FNABI_DL_BFLOAT, 16, false}, {"bf", FNABI_DL_BFLOAT, 16, true},
    {"handle", FNABI_DL_HANDLE, 64, false}, {"bool", FNABI_DL_BOOL, 8, false},
};

typedef struct variant {
  const char* text; /* a longer one before those that it begins with */
  uint8_t code;
  uint8_t bits;
} variant;

static const variant variants[] = {
    {"e3m4", 7, 8},    {"e4m3b11fnuz", 9, 8}, {"e4m3fnuz", 11, 8},
    {"e4m3fn", 10, 8}, {"e4m3", 8, 8},        {"e5m2fnuz", 13, 8},
    {"e5m2", 12, 8},   {"e8m0fnu", 14, 8},    {"e2m3fn", 15, 6},
    {"e3m2fn", 16, 6}, {"e2m1fn", 17, 4},
};
enum {
  NAMES = sizeof names / sizeof *names,
  VARIANTS = sizeof variants / sizeof *variants
};

typedef struct scanner {
  const char* at;
  const char* end;
} scanner;

static bool take(scanner* s, const char* text) {
  size_t size = strlen(text);
  if ((size_t)(s->end - s->at) < size || memcmp(s->at, text, size) != 0)
    return false;
  s->at += size;
  return true;
}

static bool at_digit(const scanner* s) {
  return s->at < s->end && *s->at >= '0' && *s->at <= '9';
}

static bool take_number(scanner* s, unsigned most, unsigned* out) {
  const char* start = s->at;
  unsigned value = 0;
  for (; at_digit(s); s->at++) {
    value = 10 * value + (unsigned)(*s->at - '0');
    if (value > most) return false;
  }
  *out = value;
  return s->at > start;
}

static bool take_lanes(scanner* s, uint16_t* out) {
  unsigned lanes = 1;
  if (take(s, "x") && (!take_number(s, UINT16_MAX, &lanes) || lanes == 0))
    return false;
  *out = (uint16_t)lanes;
  return s->at == s->end;
}

static bool read_name(scanner s, fnabi_dl_dtype* out) {
  for (size_t i = 0; i < NAMES; i++) {
    scanner left = s;
    if (!take(&left, names[i].text) || (names[i].is_short && !at_digit(&left)))
      continue;
    unsigned bits = 0;
    if (at_digit(&left) && !take_number(&left, UINT8_MAX, &bits)) return false;
    bool is_scaled = take(&left, "xvscale");
    uint16_t lanes;
    if ((is_scaled && left.at < left.end && *left.at != 'x') ||
        !take_lanes(&left, &lanes))
      return false;
    if (is_scaled && lanes != 1) lanes = (uint16_t)-lanes;
    if (bits == 0) bits = names[i].bits;
    *out = (fnabi_dl_dtype){names[i].code, (uint8_t)bits, lanes};
    return true;
  }
  return false;
}

static bool read_small(scanner s, fnabi_dl_dtype* out) {
  static const char* const families[] = {"float", "fp", "f"};
  size_t i = 0;
  while (i < 3 && !take(&s, families[i])) i++;
  unsigned bits;
  if (i == 3 || !take_number(&s, 8, &bits) || !take(&s, "_")) return false;
  for (i = 0; i < VARIANTS; i++) {
    if (variants[i].bits != bits || !take(&s, variants[i].text)) continue;
    if (bits == 4) take(&s, "_");
    *out = (fnabi_dl_dtype){variants[i].code, variants[i].bits, 1};
    return take_lanes(&s, &out->lanes);
  }
  return false;
}

static bool read_text(const fnabi_byte_array* text, fnabi_dl_dtype* out) {
  const scanner s = {text->data, text->data + text->size};
  if (text->size == 0 || (text->size == 4 && memcmp(s.at, "void", 4) == 0)) {
    *out = (fnabi_dl_dtype){FNABI_DL_HANDLE, 0, 0};
    return true;
  }
  return read_small(s, out) || read_name(s, out);
}

int stand_in_dtype_read(const fnabi_byte_array* text, fnabi_dl_dtype* out) {
  if (lane_text_is_good(text) && read_text(text, out)) return 0;
  return stand_in_fail("ValueError", "the text is no dtype");
}

static const char* name_of(uint8_t code, const char** family) {
  static const char* const families[] = {"float4_", "float6_", "float8_"};
  *family = "";
  for (size_t i = 0; i < NAMES; i++)
    if (names[i].code == code && !names[i].is_short) return names[i].text;
  for (size_t i = 0; i < VARIANTS; i++)
    if (variants[i].code == code) {
      *family = families[variants[i].bits / 2 - 2];
      return variants[i].text;
    }
  return NULL;
}

int stand_in_dtype_write(const fnabi_dl_dtype* dtype, fnabi_any* out) {
  char text[64] = "", bits[8] = "", lanes[24] = "";
  const char* family;
  const char* of = name_of(dtype->code, &family);
  if (of == NULL) return stand_in_fail("ValueError", "no dtype has this code");
  bool is_handle = dtype->code == FNABI_DL_HANDLE;
  bool is_void = is_handle && dtype->bits == 0 && dtype->lanes == 0;
  int16_t count = (int16_t)dtype->lanes;
  if (*family == 0 && (dtype->code != FNABI_DL_BOOL || dtype->bits != 8))
    snprintf(bits, sizeof bits, "%d", dtype->bits);
  if (count > 1)
    snprintf(lanes, sizeof lanes, "x%d", count);
  else if (count < -1)
    snprintf(lanes, sizeof lanes, "xvscalex%d", -count);
  if (!is_void)
    snprintf(text, sizeof text, "%s%s%s%s", family, of, is_handle ? "" : bits,
             is_handle ? "" : lanes);
  return fnabi_string_new(text, strlen(text), out) ? 0 : stand_in_no_memory();
}
