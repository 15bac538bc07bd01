/* Names of dtypes at the limits of their widths. */
#include "base/dtype.h"
#include "check.h"

static bool reads(const char* name, fnabi_dtype* dtype) {
  return fnabi_read_dtype(name, strlen(name), dtype);
}

static void check_names(void) {
  char name[64];
  fnabi_dtype dtype;
  sprintf(name, "i%u", (unsigned)FNABI_DTYPE_BITS_MAX);
  CHECK(reads(name, &dtype) && dtype.bits == FNABI_DTYPE_BITS_MAX);
  sprintf(name, "i%u", (unsigned)FNABI_DTYPE_BITS_MAX + 1);
  CHECK(!reads(name, &dtype));
  sprintf(name, "complex<i%u>", (unsigned)FNABI_DTYPE_BITS_MAX / 2);
  CHECK(reads(name, &dtype) && dtype.kind == FNABI_DTYPE_COMPLEX);
  sprintf(name, "complex<i%u>", (unsigned)FNABI_DTYPE_BITS_MAX / 2 + 1);
  CHECK(!reads(name, &dtype));
  CHECK(reads("complex<f32>", &dtype) && dtype.format_size == 0);
  CHECK(reads("complex<f8E5M2>", &dtype) && dtype.bits == 16);
  CHECK(memcmp(dtype.format, "f8E5M2", dtype.format_size) == 0);
  CHECK(reads("complex<bf16>", &dtype) && dtype.format_size == 4);
  CHECK(memcmp(dtype.format, "bf16", 4) == 0 && dtype.bits == 32);
}

/* [kind, bits, format] with this many bits. */
static bool unpacks(int64_t bits) {
  uint8_t out[32];
  fnabi_dtype dtype = {FNABI_DTYPE_SIGNED, 8, "", 0};
  fnabi_error error;
  fnabi_writer w = {out, sizeof out, 0};
  fnabi_pack_dtype(&w, &dtype);
  fnabi_reader r = {out, w.size, 0};
  fnabi_read_array(&r);
  fnabi_text kind = fnabi_read_text(&r);
  fnabi_writer other = {out, sizeof out, 0};
  char copy[16];
  memcpy(copy, kind.data, kind.size);
  fnabi_pack_array(&other, 3);
  fnabi_pack_text(&other, copy, kind.size);
  fnabi_pack_int(&other, bits);
  fnabi_pack_ascii(&other, "");
  r = (fnabi_reader){out, other.size, 0};
  bool good = fnabi_unpack_dtype(&r, &dtype, &error);
  CHECK(good || error.code == FNABI_MESSAGE);
  return good;
}

int main(void) {
  check_names();
  CHECK(unpacks(8) && unpacks(FNABI_DTYPE_BITS_MAX));
  CHECK(!unpacks(0) && !unpacks((int64_t)FNABI_DTYPE_BITS_MAX + 1));
  return 0;
}
