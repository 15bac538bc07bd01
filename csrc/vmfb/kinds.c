/* What a file is that is not a module, by its first bytes. */
#include "base/text.h"
#include "vmfb/vmfb.h"

/* No module begins like these: its first bytes are its size, or those of a ZIP
 * archive, which many modules are. */
static const struct {
  const char* magic;
  const char* kind;
} kinds[] = {
    {"ML\xefR", "MLIR bytecode, which iree-compile compiles"},
    {"\x7f"
     "ELF",
     "an ELF file, such as a shared library"},
    {"PK\x03\x04", "a ZIP archive"},
    {"\x1f\x8b", "data compressed by gzip"},
    {"\x28\xb5\x2f\xfd", "data compressed by Zstandard"},
    {"!<arch>\n", "a static library or another archive of ar"},
    {"\x93NUMPY", "an array of NumPy"},
    {"GGUF", "parameters (GGUF)"},
    {"IRPA", "parameters (IRPA)"},
    {"PAR1", "a Parquet file"},
    {"%PDF", "a PDF"},
};

static const char* const mlir[] = {"module",  "func",   "//",      "#map",
                                   "#device", "#hal",   "#loc",    "util.",
                                   "hal.",    "vm.mod", "builtin."};

static bool begins(const char* data, size_t size, const char* with) {
  size_t n = strlen(with);
  return size >= n && memcmp(data, with, n) == 0;
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Whether these bytes begin a text: UTF-8, of which the last character may be
 * cut, without control characters. */
static bool is_text(const uint8_t* data, size_t size) {
  for (size_t at = 0; at < size;) {
    if ((data[at] < ' ' && !is_space((char)data[at])) || data[at] == 0x7f)
      return false;
    size_t n = fnabi_utf8_size(data + at, size - at);
    if (n == 0) return size - at < 4 && data[at] >= 0xC2;
    at += n;
  }
  return true;
}

const char* fnabi_file_kind(const char* data, size_t size) {
  enum { LOOKED_AT = 64, DUCKDB_AT = 8 };
  if (size == 0) return "an empty file";
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (begins(data, size, kinds[i].magic)) return kinds[i].kind;
  if (size > DUCKDB_AT && begins(data + DUCKDB_AT, size - DUCKDB_AT, "DUCK"))
    return "a database of DuckDB, such as a catalog";
  if (size > LOOKED_AT) size = LOOKED_AT;
  if (!is_text((const uint8_t*)data, size)) return NULL;
  while (size > 0 && is_space(*data)) data++, size--;
  for (size_t i = 0; i < sizeof mlir / sizeof *mlir; i++)
    if (begins(data, size, mlir[i]))
      return "MLIR source, which iree-compile compiles";
  return size == 0 ? NULL : "text";
}
