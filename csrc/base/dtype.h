/* dtype.h - element types: their record in a message, and their names as MLIR
 * writes them ("f32", "si8", "f8E4M3FN", "complex<f32>"). Private. */
#ifndef FNABI_DTYPE_H
#define FNABI_DTYPE_H

#include "base/message.h"

#define FNABI_DTYPE_BITS_MAX 16777215 /* MLIR's widest integer */

typedef enum fnabi_dtype_kind {
  FNABI_DTYPE_SIGNED,
  FNABI_DTYPE_UNSIGNED,
  FNABI_DTYPE_SIGNLESS,
  FNABI_DTYPE_FLOAT,
  FNABI_DTYPE_BFLOAT,
  FNABI_DTYPE_COMPLEX,
  FNABI_DTYPE_BOOL,
  FNABI_DTYPE_INDEX,
  FNABI_DTYPE_HANDLE,
  FNABI_DTYPE_KIND_COUNT
} fnabi_dtype_kind;

typedef struct fnabi_dtype {
  fnabi_dtype_kind kind;
  uint32_t bits;
  const char* format; /* not NUL-terminated */
  size_t format_size;
} fnabi_dtype;

void fnabi_pack_dtype(fnabi_writer* w, const fnabi_dtype* dtype);

/* Reads the next dtype of the message, into which its format points. Returns
 * false and fails in ".dtype": with FNABI_MESSAGE where it is no dtype, with
 * FNABI_UNSUPPORTED where it has several lanes, which no text can express. */
bool fnabi_unpack_dtype(fnabi_reader* r, fnabi_dtype* dtype,
                        fnabi_error* error);

/* The dtype of that name; false where there is none. i1 is bool. */
bool fnabi_read_dtype(const char* text, size_t size, fnabi_dtype* dtype);

#endif /* FNABI_DTYPE_H */
