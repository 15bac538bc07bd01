/* Regular files, read through the system. */
#if !defined(_WIN32)
#define _POSIX_C_SOURCE 200809L /* what is beside ISO C in <fcntl.h> */
#endif
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#if defined(_WIN32)

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <io.h>
#include <stdio.h>
#include <windows.h>
typedef struct _stat64 file_status;
#define file_stat _fstat64
#define IS_REGULAR(mode) (((mode) & _S_IFMT) == _S_IFREG)
#define IS_DIRECTORY(mode) (((mode) & _S_IFMT) == _S_IFDIR)

static int open_path(const char* path) {
  int size = MultiByteToWideChar(CP_UTF8, 0, path, -1, NULL, 0);
  wchar_t* wide = malloc((size_t)(size > 0 ? size : 1) * sizeof *wide);
  int file = -1;
  if (wide == NULL) {
    errno = ENOMEM;
    return -1;
  }
  if (MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, size) == 0)
    errno = EINVAL;
  else
    file = _wopen(wide, _O_RDONLY | _O_BINARY | _O_NOINHERIT);
  if (file < 0 && errno == EACCES) { /* for a directory, too */
    DWORD attributes = GetFileAttributesW(wide);
    if (attributes != INVALID_FILE_ATTRIBUTES &&
        (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0)
      errno = EISDIR;
  }
  free(wide);
  return file;
}

static int64_t read_some(int file, void* out, size_t wanted) {
  enum { MOST = 1 << 30 };
  return _read(file, out, wanted < MOST ? (unsigned)wanted : MOST);
}

void fnabi_file_close(int file) { _close(file); }

bool fnabi_file_seek(int file, uint64_t offset) {
  return _lseeki64(file, (int64_t)offset, SEEK_SET) >= 0;
}

#else

#include <unistd.h>
typedef struct stat file_status;
#define file_stat fstat
#define IS_REGULAR(mode) S_ISREG(mode)
#define IS_DIRECTORY(mode) S_ISDIR(mode)

static int open_path(const char* path) {
  return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

static int64_t read_some(int file, void* out, size_t wanted) {
  return (int64_t)read(file, out, wanted);
}

void fnabi_file_close(int file) { close(file); }

bool fnabi_file_seek(int file, uint64_t offset) {
  return lseek(file, (off_t)offset, SEEK_SET) >= 0;
}

#endif

int fnabi_file_open(const char* path) {
  file_status status;
  int file = open_path(path);
  if (file < 0) return -1;
  int failed = file_stat(file, &status) != 0  ? errno
               : IS_REGULAR(status.st_mode)   ? 0
               : IS_DIRECTORY(status.st_mode) ? EISDIR
                                              : ENODEV;
  if (failed == 0) return file;
  fnabi_file_close(file);
  errno = failed;
  return -1;
}

bool fnabi_file_is_regular(const char* path) {
#if defined(_WIN32)
  (void)path;
  return false;
#else
  file_status status;
  return stat(path, &status) == 0 && IS_REGULAR(status.st_mode);
#endif
}

static bool is_small(const file_status* status, uint64_t most) {
  return IS_REGULAR(status->st_mode) && status->st_size > 0 &&
         (uint64_t)status->st_size <= most;
}

int fnabi_file_open_small(const char* path, uint64_t most, size_t* size) {
  file_status status;
#if !defined(_WIN32) /* where to open a FIFO or a device has effects */
  if (stat(path, &status) != 0 || !is_small(&status, most)) return -1;
#endif
  int file = open_path(path);
  if (file < 0) return -1;
  if (file_stat(file, &status) == 0 && is_small(&status, most)) {
    *size = (size_t)status.st_size;
    return file;
  }
  fnabi_file_close(file);
  return -1;
}

uint64_t fnabi_file_size(int file) {
  file_status status;
  return file_stat(file, &status) == 0 ? (uint64_t)status.st_size : 0;
}

int fnabi_file_read_some(int file, void* out, size_t wanted, size_t* got) {
  int64_t part;
  do {
    part = read_some(file, out, wanted);
  } while (part < 0 && errno == EINTR);
  *got = part < 0 ? 0 : (size_t)part;
  return part < 0 ? errno : 0;
}

int fnabi_file_read(int file, void* out, size_t wanted, size_t* got) {
  size_t part = 1;
  int failed = 0;
  for (*got = 0; *got < wanted && part > 0 && failed == 0; *got += part)
    failed =
        fnabi_file_read_some(file, (char*)out + *got, wanted - *got, &part);
  return failed;
}
