/* file.h - regular files, read through the system. Private. */
#ifndef FNABI_FILE_H
#define FNABI_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opens a regular file; returns its descriptor, or -1 with errno. The path is in
 * the encoding of the file system, on Windows in UTF-8. Opening a FIFO does not
 * wait for its writer, and nothing but a regular file stays open. */
int fnabi_file_open(const char* path);

/* The same for a file of 1 to `most` bytes, whose size it stores. A FIFO or
 * a device is not opened at all. errno is not set. */
int fnabi_file_open_small(const char* path, uint64_t most, size_t* size);

/* Whether a path leads to a regular file, which is not opened; false where the
 * system does not say, and on Windows. */
bool fnabi_file_is_regular(const char* path);

void fnabi_file_close(int file);

/* The size in bytes; 0 if it is unknown. */
uint64_t fnabi_file_size(int file);

/* Continues at an offset from the start; false if that is impossible. */
bool fnabi_file_seek(int file, uint64_t offset);

/* Reads up to `wanted` bytes in one call of the system, stores how many were
 * read, 0 at the end of the file, and returns 0 or an errno. */
int fnabi_file_read_some(int file, void* out, size_t wanted, size_t* got);

/* Reads until `wanted` bytes are read or the file ends, stores how many were
 * read, and returns 0 or an errno. */
int fnabi_file_read(int file, void* out, size_t wanted, size_t* got);

#endif /* FNABI_FILE_H */
