/* fuzz.h - what all fuzz targets share: how they are called, how the sanitizer
 * runs them, and reading numbers from an input. */
#ifndef FUZZ_H
#define FUZZ_H

#include "check.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);

/* One run allocates less than 8 MB, so that is what has to be kept to find uses
 * after free; more costs page faults. A few frames find an allocation. */
const char* __asan_default_options(void);
const char* __asan_default_options(void) {
  return "quarantine_size_mb=8:malloc_context_size=4";
}

/* The rest of an input. */
typedef struct input {
  const uint8_t* data;
  size_t size;
} input;

/* The next number of 1, 2 or 4 bytes, least significant first; bytes after the
 * end are 0. */
static inline uint32_t take(input* in, unsigned bytes) {
  uint32_t number = 0;
  for (unsigned i = 0; i < bytes && in->size > 0; i++, in->size--)
    number |= (uint32_t)*in->data++ << 8 * i;
  return number;
}

/* The next bytes, at most `most`. */
static inline input take_part(input* in, size_t most) {
  input part = {in->data, in->size < most ? in->size : most};
  in->data += part.size;
  in->size -= part.size;
  return part;
}

#endif /* FUZZ_H */
