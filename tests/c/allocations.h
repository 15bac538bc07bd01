/* allocations.h - counts the allocations of the core, and makes them fail.
 *
 * In the tests that the Makefile lists, the linker redirects every allocation
 * to these functions.
 */
#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void* __real_malloc(size_t size);
void* __real_calloc(size_t count, size_t size);
void* __real_realloc(void* block, size_t size);
void* __real_aligned_alloc(size_t alignment, size_t size);
void* __wrap_malloc(size_t size);
void* __wrap_calloc(size_t count, size_t size);
void* __wrap_realloc(void* block, size_t size);
void* __wrap_aligned_alloc(size_t alignment, size_t size);

/* The allocation number `refused_from` and all later ones fail, and that number
 * `refused_one`. */
static size_t allocations, largest, refused_from = SIZE_MAX,
                                    refused_one = SIZE_MAX;

static bool allowed(size_t size) {
  if (size > largest) largest = size;
  size_t number = allocations++;
  return number < refused_from && number != refused_one;
}

void* __wrap_malloc(size_t size) {
  return allowed(size) ? __real_malloc(size) : NULL;
}

void* __wrap_calloc(size_t count, size_t size) {
  return allowed(count * size) ? __real_calloc(count, size) : NULL;
}

void* __wrap_realloc(void* block, size_t size) {
  return allowed(size) ? __real_realloc(block, size) : NULL;
}

#if !defined(_WIN32) /* which has another function instead */
void* __wrap_aligned_alloc(size_t alignment, size_t size) {
  return allowed(size) ? __real_aligned_alloc(alignment, size) : NULL;
}
#endif

#endif /* ALLOCATIONS_H */
