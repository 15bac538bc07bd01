/* executable.h - the library inside an ELF executable of IREE. Private. */
#ifndef FNABI_ELF_EXECUTABLE_H
#define FNABI_ELF_EXECUTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fnabi_executable {
  uint16_t machine; /* e_machine, such as 62 for x86-64 */
  int version;      /* of the library interface; -1: not known */
} fnabi_executable;

/* Reads the machine of a 64-bit little-endian ELF file and the version that the
 * function `iree_hal_executable_library_query` compares its first argument
 * with, which is found in its code on x86-64 and AArch64. Returns false for
 * other files, and for those in which what a loader reads is damaged: headers,
 * segments outside the file, the dynamic table, and relocations of x86-64.
 * Accepts any bytes. */
bool fnabi_elf_executable(const uint8_t* data, size_t size,
                          fnabi_executable* found);

#endif /* FNABI_ELF_EXECUTABLE_H */
