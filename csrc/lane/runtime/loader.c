/* The loader of the system: of Windows, then of all others. */
#if !defined(_WIN32) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* dladdr1, dl_iterate_phdr, RTLD_DEFAULT */
#endif
#include "lane/runtime/loader.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(_WIN32)

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>

#include "base/platform.h"

void* lane_loader_open(const char* path, bool everywhere,
                       const char** problem) {
  static FNABI_THREAD char text[512];
  (void)everywhere; /* symbols are always found by library */
  int size = MultiByteToWideChar(CP_UTF8, 0, path, -1, NULL, 0);
  wchar_t* wide = calloc((size_t)size + 1, sizeof *wide);
  HMODULE library = NULL;
  if (wide == NULL) {
    *problem = "out of memory";
    return NULL;
  }
  if (size > 0) MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, size);
  /* of a path, the loader wants backslashes */
  for (int i = 0; i < size; i++)
    if (wide[i] == L'/') wide[i] = L'\\';
  library = LoadLibraryExW(wide, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
  if (library == NULL) {
    DWORD length = FormatMessageA(
        FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL,
        GetLastError(), 0, text, sizeof text, NULL);
    while (length > 0 && (unsigned char)text[length - 1] <= ' ') length--;
    text[length < sizeof text ? length : sizeof text - 1] = 0;
    *problem = length > 0 ? text : NULL;
  }
  free(wide);
  return (void*)library;
}

void* lane_loader_find(const char* name) {
  HMODULE library = NULL;
  return GetModuleHandleExA(0, name, &library) ? (void*)library : NULL;
}

void lane_loader_close(void* library) { FreeLibrary((HMODULE)library); }

void* lane_loader_symbol(void* library, const char* name) {
  HMODULE in = library != NULL ? (HMODULE)library : GetModuleHandleA(NULL);
  return (void*)(uintptr_t)GetProcAddress(in, name);
}

bool lane_loader_owns(const void* address) {
  HMODULE library;
  return GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                            (const char*)address, &library) != 0;
}

const void* lane_loader_of(const void* address) {
  HMODULE library;
  return GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                            (const char*)address, &library)
             ? (const void*)library
             : NULL;
}

bool lane_loader_is_variable(void* address) {
  const DWORD writable = PAGE_READWRITE | PAGE_WRITECOPY |
                         PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
  MEMORY_BASIC_INFORMATION about;
  return (uintptr_t)address % sizeof(void*) == 0 &&
         VirtualQuery(address, &about, sizeof about) != 0 &&
         about.State == MEM_COMMIT && (about.Protect & writable) != 0;
}

unsigned long long lane_loader_count(void) { return 0; }

#else

#include <dlfcn.h>
#ifdef __linux__
#include <link.h>
#endif

void* lane_loader_open(const char* path, bool everywhere,
                       const char** problem) {
  /* RTLD_NOW: a missing symbol is an error here. With lazy binding it would end
   * the process at the first call that needs it. */
  void* library =
      dlopen(path, RTLD_NOW | (everywhere ? RTLD_GLOBAL : RTLD_LOCAL));
  if (library == NULL) *problem = dlerror();
  return library;
}

void* lane_loader_find(const char* name) {
  return dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
}

void lane_loader_close(void* library) { dlclose(library); }

void* lane_loader_symbol(void* library, const char* name) {
  return dlsym(library != NULL ? library : RTLD_DEFAULT, name);
}

bool lane_loader_owns(const void* address) {
  Dl_info library;
  return dladdr(address, &library) != 0;
}

/* A handle of the GNU C library is the address of its record of the library. */
const void* lane_loader_of(const void* address) {
  Dl_info about;
#ifdef __GLIBC__
  void* record = NULL;
  return dladdr1(address, &about, &record, RTLD_DL_LINKMAP) != 0 ? record
                                                                 : NULL;
#else
  return dladdr(address, &about) != 0 ? about.dli_fbase : NULL;
#endif
}

#ifdef __linux__
typedef struct find_writable {
  uintptr_t address;
  bool found;
} find_writable;

static bool covers(const struct dl_phdr_info* info, const ElfW(Phdr) * segment,
                   uintptr_t address) {
  uintptr_t start = info->dlpi_addr + segment->p_vaddr;
  return address >= start && address - start < segment->p_memsz &&
         segment->p_memsz - (address - start) >= sizeof(void*);
}

static int look_in(struct dl_phdr_info* info, size_t size, void* wanted) {
  find_writable* find = wanted;
  bool writable = false;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)* segment = info->dlpi_phdr + i;
    if (!covers(info, segment, find->address)) continue;
    if (segment->p_type == PT_GNU_RELRO) return 1;
    writable |= segment->p_type == PT_LOAD && (segment->p_flags & PF_W) != 0;
  }
  find->found = writable;
  return writable;
}
#endif

bool lane_loader_is_variable(void* address) {
  bool good = (uintptr_t)address % sizeof(void*) == 0;
#ifdef __GLIBC__
  Dl_info about;
  ElfW(Sym)* symbol = NULL;
  good = good &&
         dladdr1(address, &about, (void**)&symbol, RTLD_DL_SYMENT) != 0 &&
         symbol != NULL && about.dli_saddr == address &&
         symbol->st_size == sizeof(void*);
#endif
#ifdef __linux__
  find_writable find = {(uintptr_t)address, false};
  if (good) dl_iterate_phdr(look_in, &find);
  good = find.found;
#endif
  return good;
}

#ifdef __linux__
static int read_loads(struct dl_phdr_info* info, size_t size, void* loads) {
  if (size >= offsetof(struct dl_phdr_info, dlpi_subs))
    *(unsigned long long*)loads = info->dlpi_adds;
  return 1; /* the count is the same in every entry */
}
#endif

unsigned long long lane_loader_count(void) {
  unsigned long long loads = 0;
#ifdef __linux__
  dl_iterate_phdr(read_loads, &loads);
#endif
  return loads;
}

#endif
