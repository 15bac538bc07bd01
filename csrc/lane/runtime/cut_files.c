/* The end of a process that reads a mapped file which another program cuts: the
 * system reports that with SIGBUS, from which nothing can return. */
#include "lane/runtime/cut_files.h"

#if !defined(_WIN32) /* which refuses to cut a file that is mapped */

#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MOST = 8192 };

static struct {
  char text[TEXT_MOST];
  size_t size;
  int status;
} last_words;

static void end(int number) {
  (void)number;
  ssize_t written = write(STDERR_FILENO, last_words.text, last_words.size);
  (void)written;
  _exit(last_words.status);
}

static bool install(const char* text, size_t size, int status) {
  struct sigaction old, ours = {0};
  if (sigaction(SIGBUS, NULL, &old) != 0) return false;
  if (old.sa_handler != SIG_DFL && old.sa_handler != end) return true;
  last_words.size = size < TEXT_MOST ? size : TEXT_MOST;
  memcpy(last_words.text, text, last_words.size);
  last_words.status = status;
  ours.sa_handler = end;
  return sigaction(SIGBUS, &ours, NULL) == 0;
}

#else

static bool install(const char* text, size_t size, int status) {
  (void)text;
  (void)size;
  (void)status;
  return true;
}

#endif

static PyObject* end_when_cut(PyObject* module, PyObject* args) {
  const char* text;
  Py_ssize_t size;
  int status;
  (void)module;
  if (!PyArg_ParseTuple(args, "y#i", &text, &size, &status)) return NULL;
  if (!install(text, (size_t)size, status))
    return PyErr_SetFromErrno(PyExc_OSError);
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"end_when_cut", end_when_cut, METH_VARARGS,
     "end_when_cut(text, status, /)\n--\n\n"
     "End the process with a text on standard error, up to 8 KiB of it, where "
     "a "
     "mapped file is cut.\n\nA handler that the process has already is kept."},
    {0}};

int lane_cut_files_init(PyObject* module) {
  return PyModule_AddFunctions(module, functions);
}
