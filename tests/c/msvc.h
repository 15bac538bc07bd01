/* msvc.h - lets Clang compile what is only for MSVC. `make -C csrc cross_msvc` includes it before each
 * file of the core: the headers of mingw-w64 need the macros of GCC, and what comes after them shall
 * not see these. */
#include <errno.h>
#include <intrin.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef __GNUC__
#undef __forceinline
#define _MSC_VER 1939
#define __forceinline inline
#define __INTRIN_H /* Clang's header, which has the same functions */
