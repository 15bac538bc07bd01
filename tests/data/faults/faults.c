/* Faults of the system for a whole process, which preloads this library: memory
 * that is not there, a disk that is full, and the end at any write.
 *
 * `faults_arm` chooses the fault, and the calls that meet it by their numbers,
 * from 1. Before it nothing is counted, so Python can start. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NONE, MEMORY, DISK, KILL, READ, CUT, SHORT };

static atomic_long count, first, last;
static atomic_int kind;

void faults_arm(int of, long from, long to) {
  count = 0;
  first = from;
  last = to;
  kind = of;
}

/* Ends the faults, and returns how many calls were counted. */
long faults_end(void) {
  kind = NONE;
  return count;
}

static int meets(int of) {
  if (kind != of) return 0;
  long number = atomic_fetch_add(&count, 1) + 1;
  return number >= first && number <= last;
}

static int is_file(int file) {
  struct stat status;
  return file > 2 && fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

/* Returns whether a file is in the folder where the command runs. */
static int is_own(int file) {
  char name[32], path[4096], folder[4096];
  snprintf(name, sizeof name, "/proc/self/fd/%d", file);
  ssize_t size = readlink(name, path, sizeof path - 1);
  if (size < 0 || getcwd(folder, sizeof folder) == NULL) return 0;
  path[size] = 0;
  return is_file(file) && strncmp(path, folder, strlen(folder)) == 0;
}

/* Leaves the first page of a file, and of a small one the first half. */
static void cut(int file) {
  char path[32];
  struct stat status;
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  if (fstat(file, &status) != 0 ||
      truncate(path, status.st_size > 8192 ? 4096 : status.st_size / 2) != 0)
    _exit(99);
}

/* -------------------------------------------------------------------- memory */

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t number, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

static int refused(void) {
  if (!meets(MEMORY)) return 0;
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t size) { return refused() ? NULL : __libc_malloc(size); }

void* calloc(size_t number, size_t size) {
  return refused() ? NULL : __libc_calloc(number, size);
}

void* realloc(void* block, size_t size) {
  return refused() ? NULL : __libc_realloc(block, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  return refused() ? NULL : __libc_memalign(alignment, size);
}

void* memalign(size_t alignment, size_t size) {
  return refused() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void** out, size_t alignment, size_t size) {
  if (refused()) return ENOMEM;
  *out = __libc_memalign(alignment, size);
  return *out == NULL ? ENOMEM : 0;
}

/* ------------------------------------------------------------ files that change */

#define NEXT(type, name, ...)       \
  static type (*next)(__VA_ARGS__); \
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, name)

/* Ends the process before a change of the file system, or refuses it. */
static int full(void) {
  if (meets(KILL)) kill(getpid(), SIGKILL);
  if (!meets(DISK)) return 0;
  errno = ENOSPC;
  return 1;
}

ssize_t write(int file, const void* data, size_t size) {
  NEXT(ssize_t, "write", int, const void*, size_t);
  if (!is_file(file)) return next(file, data, size);
  if (meets(KILL)) { /* after half of the data */
    next(file, data, size / 2);
    kill(getpid(), SIGKILL);
  }
  if (full()) return -1;
  return next(file, data, size);
}

ssize_t writev(int file, const struct iovec* data, int parts) {
  NEXT(ssize_t, "writev", int, const struct iovec*, int);
  if (is_file(file) && full()) return -1;
  return next(file, data, parts);
}

ssize_t pwrite(int file, const void* data, size_t size, off_t offset) {
  NEXT(ssize_t, "pwrite", int, const void*, size_t, off_t);
  if (meets(KILL)) {
    next(file, data, size / 2, offset);
    kill(getpid(), SIGKILL);
  }
  return full() ? -1 : next(file, data, size, offset);
}

ssize_t pwrite64(int file, const void* data, size_t size, off_t offset) {
  return pwrite(file, data, size, offset);
}

#define CHANGE(name, parameters, arguments, ...) \
  int name parameters {                          \
    NEXT(int, #name, __VA_ARGS__);               \
    return full() ? -1 : next arguments;         \
  }

CHANGE(rename, (const char* from, const char* to), (from, to), const char*,
       const char*)
CHANGE(link, (const char* from, const char* to), (from, to), const char*,
       const char*)
CHANGE(mkdir, (const char* path, mode_t mode), (path, mode), const char*,
       mode_t)
CHANGE(ftruncate, (int file, off_t size), (file, size), int, off_t)
CHANGE(ftruncate64, (int file, off_t size), (file, size), int, off_t)
CHANGE(fsync, (int file), (file), int)
CHANGE(fdatasync, (int file), (file), int)

/* Names go from full disks, too. */
int unlink(const char* path) {
  NEXT(int, "unlink", const char*);
  if (meets(KILL)) kill(getpid(), SIGKILL);
  return next(path);
}

static int opened(const char* name, const char* path, int flags, mode_t mode) {
  int (*next)(const char*, int, ...);
  *(void**)&next = dlsym(RTLD_NEXT, name);
  if ((flags & O_CREAT) != 0 && full()) return -1;
  return next(path, flags, mode);
}

#define OPEN(name)                                                   \
  int name(const char* path, int flags, ...) {                       \
    va_list more;                                                    \
    va_start(more, flags);                                           \
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0; \
    va_end(more);                                                    \
    return opened(#name, path, flags, mode);                         \
  }

OPEN(open)
OPEN(open64)

/* ---------------------------------------------------------------------- reading */

ssize_t read(int file, void* data, size_t size) {
  NEXT(ssize_t, "read", int, void*, size_t);
  if (is_own(file) && meets(READ)) {
    errno = EIO;
    return -1;
  }
  if (is_own(file) && meets(SHORT)) cut(file);
  return next(file, data, size);
}

ssize_t pread(int file, void* data, size_t size, off_t offset) {
  NEXT(ssize_t, "pread", int, void*, size_t, off_t);
  if (is_own(file) && meets(READ)) {
    errno = EIO;
    return -1;
  }
  return next(file, data, size, offset);
}

ssize_t pread64(int file, void* data, size_t size, off_t offset) {
  return pread(file, data, size, offset);
}

/* Maps a file, which another program cuts at once. */
void* mmap(void* at, size_t size, int access, int flags, int file,
           off_t offset) {
  NEXT(void*, "mmap", void*, size_t, int, int, int, off_t);
  void* mapped = next(at, size, access, flags, file, offset);
  if (is_own(file) && meets(CUT)) cut(file);
  return mapped;
}

void* mmap64(void* at, size_t size, int access, int flags, int file,
             off_t offset) {
  return mmap(at, size, access, flags, file, offset);
}
