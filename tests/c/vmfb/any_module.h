/* any_module.h - modules of tests/data with some bytes replaced: what is done
 * with them goes deeper than with any bytes. */
#ifndef ANY_MODULE_H
#define ANY_MODULE_H

#include "fuzz.h"

typedef struct module {
  char* data;
  size_t size;
} module;

/* The module that the first byte of an input chooses. The next two are the size
 * of the module, where they are not 0; then come edits of 3 bytes: an offset,
 * and the byte to put there. */
static inline module edited_module(input* in) {
  static const char* const names[] = {
      "../tests/data/arguments/calls@3.13.0.vmfb",
      "../tests/data/needs/exp_vmvx_inline-static.vmfb",
      "../tests/data/needs/types_vmvx.vmfb",
      "../tests/data/needs/exp_vmvx_async-external.vmfb",
      "../tests/data/needs/mm_vmvx.vmfb",
      "../tests/data/needs/mm_vulkan.vmfb",
      "../tests/data/needs/params_vmvx.vmfb",
      "../tests/data/needs/storage_vmvx.vmfb",
      "../tests/data/needs/add_vmvx@20230209.vmfb",
      "../tests/data/needs/mm_llvm-cpu.vmfb"};
  enum { COUNT = sizeof names / sizeof *names };
  static module read[COUNT];
  const uint32_t which = take(in, 1) % COUNT, cut = take(in, 2);
  module* from = &read[which];
  if (from->data == NULL) from->data = read_file(names[which], &from->size);
  size_t size = cut > 0 && cut < from->size ? cut : from->size;
  module m = {exact(from->data, size), size};
  while (in->size >= 3) {
    uint32_t offset = take(in, 2);
    m.data[offset % size] = (char)take(in, 1);
  }
  return m;
}

#endif /* ANY_MODULE_H */
