/* loader.h - the loader of the system: dlopen, or LoadLibrary. Private.
 *
 * None of these needs the GIL. */
#ifndef FNABI_LANE_RUNTIME_LOADER_H
#define FNABI_LANE_RUNTIME_LOADER_H

#include <stdbool.h>

/* The file name of a library of this system: "lib" and ".so" or the like. */
#if defined(_WIN32)
#define LANE_LIBRARY(name) name ".dll"
#elif defined(__APPLE__)
#define LANE_LIBRARY(name) "lib" name ".dylib"
#else
#define LANE_LIBRARY(name) "lib" name ".so"
#endif

/* Loads a library, and resolves all its symbols. Returns NULL if that fails,
 * with the loader's text, which is valid until this thread loads the next one.
 * The path is in the encoding of the file system, on Windows in UTF-8. With
 * `everywhere`, libraries that are loaded later find its symbols. */
void* lane_loader_open(const char* path, bool everywhere, const char** problem);

/* Returns a library that is already loaded, or NULL; lane_loader_close gives it
 * back. */
void* lane_loader_find(const char* name);
void lane_loader_close(void* library);

/* Returns the address of a symbol, or NULL. Without a library, searches those
 * whose symbols every library finds. */
void* lane_loader_symbol(void* library, const char* name);

/* Whether an address is in a library or the program. */
bool lane_loader_owns(const void* address);

/* The handle of the library that an address is in, to compare it with others, or
 * NULL. */
const void* lane_loader_of(const void* address);

/* Whether a symbol is a pointer in memory that can be written, as far as the
 * loader knows: a library may have any symbol under the name. */
bool lane_loader_is_variable(void* address);

/* How often a library has been loaded; 0 if that is not known. */
unsigned long long lane_loader_count(void);

#endif /* FNABI_LANE_RUNTIME_LOADER_H */
