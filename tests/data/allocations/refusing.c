/* Python's allocator, with a count for the thread that runs an operation, which
 * gets no memory from one allocation on. Where the library is preloaded, it is
 * the allocator of C instead, from which the core has its memory. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

enum { DOMAINS = 3 };
static PyMemAllocatorEx plain[DOMAINS];
enum { PYTHON = 1, C };
static __attribute__((tls_model("initial-exec"))) _Thread_local struct {
  int runs; /* which of the two, or 0 */
  Py_ssize_t count, first, last;
} now;

/* Counts an allocation of an operation, and returns whether it is refused. */
static int refused(int by) {
  if (now.runs != by) return 0;
  now.count++;
  return now.count >= now.first && now.count <= now.last;
}

static void* get(void* of, size_t size) {
  PyMemAllocatorEx* a = of;
  return refused(PYTHON) ? NULL : a->malloc(a->ctx, size);
}

static void* get_clear(void* of, size_t count, size_t size) {
  PyMemAllocatorEx* a = of;
  return refused(PYTHON) ? NULL : a->calloc(a->ctx, count, size);
}

static void* resize(void* of, void* memory, size_t size) {
  PyMemAllocatorEx* a = of;
  return refused(PYTHON) ? NULL : a->realloc(a->ctx, memory, size);
}

static void release(void* of, void* memory) {
  PyMemAllocatorEx* a = of;
  a->free(a->ctx, memory);
}

#ifdef __GLIBC__
extern void* __libc_malloc(size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* memory, size_t size);

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void* malloc(size_t size) {
  return refused(C) ? NULL : __libc_malloc(size);
}

EXPORTED void* calloc(size_t count, size_t size) {
  return refused(C) ? NULL : __libc_calloc(count, size);
}

EXPORTED void* realloc(void* memory, size_t size) {
  return refused(C) ? NULL : __libc_realloc(memory, size);
}
#endif

static PyObject* run(PyObject* module, PyObject* args) {
  (void)module;
  PyObject *operation, *type, *exception, *traceback;
  Py_ssize_t first, last;
  if (!PyArg_ParseTuple(args, "Onn", &operation, &first, &last)) return NULL;
  now.count = 0;
  now.first = first;
  now.last = last;
  now.runs = getenv("REFUSE_C") == NULL ? PYTHON : C;
  PyObject* value = PyObject_CallNoArgs(operation);
  now.runs = 0;
  PyErr_Fetch(&type, &exception, &traceback);
  if (type != NULL) PyErr_NormalizeException(&type, &exception, &traceback);
  if (traceback != NULL) PyException_SetTraceback(exception, traceback);
  PyObject* result =
      Py_BuildValue("OOn", value != NULL ? value : Py_None,
                    exception != NULL ? exception : Py_None, now.count);
  Py_XDECREF(value);
  Py_XDECREF(type);
  Py_XDECREF(exception);
  Py_XDECREF(traceback);
  return result;
}

static PyMethodDef functions[] = {
    {"run", run, METH_VARARGS,
     "run(operation, first, last)\n--\n\n"
     "Call a function, and refuse its allocations from number `first` to "
     "`last`, from 1.\n\nReturns its value, its exception and the number of "
     "allocations; None for what there is not."},
    {NULL, NULL, 0, NULL}};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                 "refusing",
                                 NULL,
                                 -1,
                                 functions,
                                 NULL,
                                 NULL,
                                 NULL,
                                 NULL};

PyMODINIT_FUNC PyInit_refusing(void) {
  const PyMemAllocatorDomain domains[DOMAINS] = {
      PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};
  for (int i = 0; i < DOMAINS; i++) {
    PyMemAllocatorEx ours = {&plain[i], get, get_clear, resize, release};
    PyMem_GetAllocator(domains[i], &plain[i]);
    PyMem_SetAllocator(domains[i], &ours);
  }
  return PyModule_Create(&definition);
}
