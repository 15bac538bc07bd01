/* Files that cannot be read have no size, and give the system's error; only small
 * ones are opened as such. */
#include <errno.h>

#include "base/file.h"
#include "check.h"

int main(void) {
  char out[4];
  size_t got;
#if !defined(_WIN32) /* where such a file ends the process */
  CHECK(fnabi_file_size(-1) == 0);
  CHECK(fnabi_file_read(-1, out, sizeof out, &got) == EBADF && got == 0);
  CHECK(fnabi_file_read_some(-1, out, sizeof out, &got) == EBADF && got == 0);
#endif
  int file = fnabi_file_open("../tests/data/bytecode/template.vmfb");
  CHECK(file >= 0 && fnabi_file_size(file) == 1036);
  CHECK(fnabi_file_read(file, out, sizeof out, &got) == 0 && got == 4);
  CHECK(fnabi_file_read_some(file, out, 3, &got) == 0 && got == 3);
  CHECK(fnabi_file_seek(file, 1034));
  CHECK(fnabi_file_read(file, out, sizeof out, &got) == 0 && got == 2);
  CHECK(fnabi_file_read_some(file, out, sizeof out, &got) == 0 && got == 0);
  fnabi_file_close(file);
  size_t size = 0;
  file = fnabi_file_open_small("../tests/data/bytecode/template.vmfb", 1036,
                               &size);
  CHECK(file >= 0 && size == 1036);
  CHECK(fnabi_file_read(file, out, sizeof out, &got) == 0 && got == 4);
  fnabi_file_close(file);
  static const char* const others[] = {"../tests/data/bytecode/template.vmfb",
                                       "../tests/data", "missing"};
  for (int i = 0; i < 3; i++)
    CHECK(fnabi_file_open_small(others[i], 1035, &size) < 0 && size == 1036);
  return 0;
}
