/* Poll functions: long operations end when the caller's says so. */
#include "check.h"
#include "many/arrow.h"

static int calls, most;

static bool end_after(void* data) {
  CHECK(data == &most);
  return ++calls > most;
}

static int nested, deepest;

/* Does long work itself, which does not call it. */
static bool decode_more(void* data) {
  const char* text = data;
  fnabi_error error = {0};
  calls++;
  if (++nested > deepest) deepest = nested;
  if (nested == 1)
    CHECK(fnabi_iree_abi_decode(text, strlen(text), NULL, 0, &error) > 20000);
  nested--;
  return false;
}

static char* text_of_ints(size_t count, size_t* size) {
  char* text = malloc(32 + 6 * count);
  CHECK(text != NULL);
  size_t at = (size_t)sprintf(text, "{\"a\":[],\"r\":[\"i32\"");
  for (size_t i = 1; i < count; i++, at += 6) memcpy(text + at, ",\"i32\"", 6);
  *size = at + (size_t)sprintf(text + at, "]}");
  return text;
}

static void test_iree_abi(void) {
  size_t size;
  char* text = text_of_ints(200000, &size);
  fnabi_error error = {0};
  most = 1 << 20;
  fnabi_set_poll(end_after, &most);
  CHECK(fnabi_iree_abi_decode(text, size, NULL, 0, &error) > 200000);
  CHECK(calls > 10);
  calls = 0;
  most = 3;
  CHECK(fnabi_iree_abi_decode(text, size, NULL, 0, &error) == -1);
  CHECK(error.code == FNABI_INTERRUPTED);
  CHECK(error.offset > 0 && error.offset < size / 2);
  fnabi_set_poll(NULL, NULL);
  CHECK(fnabi_iree_abi_decode(text, size, NULL, 0, &error) > 200000);
  CHECK(calls == 4);
  free(text);
}

static void test_calls_of_the_poll_function(void) {
  size_t size;
  char* text = text_of_ints(20000, &size);
  fnabi_error error = {0};
  calls = 0;
  fnabi_set_poll(decode_more, text);
  CHECK(fnabi_iree_abi_decode(text, size, NULL, 0, &error) > 20000);
  fnabi_set_poll(NULL, NULL);
  CHECK(calls > 1 && deepest == 1);
  free(text);
}

/* A row that was interrupted is no row with an error. */
static void test_columns(void) {
  size_t size;
  char* text = text_of_ints(200000, &size);
  int64_t offsets[] = {0, (int64_t)size};
  fnabi_error error = {0};
  fnabi_columns* columns = fnabi_columns_new(FNABI_ABI_IREE_ABI, 0);
  CHECK(columns != NULL);
  calls = 0;
  most = 1;
  fnabi_set_poll(end_after, &most);
  CHECK(fnabi_columns_decode(columns, text, size, offsets, 8, NULL, 0, 1,
                             &error) == -1);
  CHECK(error.code == FNABI_INTERRUPTED);
  CHECK(fnabi_columns_rows(columns) == 0);
  fnabi_set_poll(NULL, NULL);
  CHECK(fnabi_columns_decode(columns, text, size, offsets, 8, NULL, 0, 1,
                             &error) == 1);
  fnabi_columns_free(columns);
  free(text);
}

/* -------------------------------------------------------------- operations */

enum { MANY = 40000 };

/* A text: a head, a part MANY times, and an end. */
typedef struct long_text {
  const char *head, *part, *end;
  int32_t abi;
  int32_t span; /* 1: of inputs; 2: with a type inside; 3: with a structure, in
                   which the part is the longest pair of key and index */
} long_text;

static char* repeated(const long_text* t, size_t* size) {
  size_t part = strlen(t->part), end = strlen(t->end);
  char* text = malloc(64 + strlen(t->head) + MANY * part + end);
  CHECK(text != NULL);
  if (t->span == 3) {
    size_t pairs = 0, at;
    char* more = malloc(MANY * part + 1);
    CHECK(more != NULL);
    for (int i = 0; i < MANY; i++)
      pairs += (size_t)sprintf(more + pairs, "k%d_%d", i, i);
    char buffer[32];
    size_t head = (size_t)sprintf(buffer, "S%zu!", pairs + 1);
    at = (size_t)sprintf(text, "I%zu!%s", head + pairs + 1, buffer);
    memcpy(text + at, more, pairs);
    memcpy(text + at + pairs, t->end, end);
    free(more);
    *size = at + pairs + end;
    return text;
  }
  size_t inner = MANY * part, at;
  if (t->span == 1)
    at = (size_t)sprintf(text, "I%zu!", inner + 1);
  else if (t->span == 2) { /* a span with a type inside of one */
    char buffer[32];
    size_t head = (size_t)sprintf(buffer, "B%zu!", inner + 1);
    at = (size_t)sprintf(text, "I%zu!%s", head + inner + 1, buffer);
  } else {
    at = (size_t)sprintf(text, "%s", t->head);
  }
  for (size_t i = 0; i < MANY; i++, at += part)
    memcpy(text + at, t->part, part);
  memcpy(text + at, t->end, end);
  *size = at + end;
  return text;
}

static int64_t decode(int32_t abi, const char* text, size_t size, uint8_t* out,
                      size_t capacity, fnabi_error* error) {
  switch (abi) {
    case FNABI_ABI_RAW:
      return fnabi_raw_decode(text, size, out, capacity, error);
    case FNABI_ABI_SIP:
      return fnabi_sip_decode(text, size, out, capacity, error);
    case FNABI_ABI_CCONV:
      return fnabi_cconv_decode(text, size, out, capacity, error);
    case FNABI_ABI_DECLARATION:
      return fnabi_declaration_decode(text, size, -1, NULL, -1, NULL, out,
                                      capacity, error);
    default:
      return fnabi_iree_abi_decode(text, size, out, capacity, error);
  }
}

static int64_t encode(int32_t abi, const uint8_t* message, size_t size,
                      fnabi_error* error) {
  switch (abi) {
    case FNABI_ABI_RAW:
      return fnabi_raw_encode(message, size, NULL, 0, error);
    case FNABI_ABI_SIP:
      return fnabi_sip_encode(message, size, NULL, 0, error);
    case FNABI_ABI_CCONV:
      return fnabi_cconv_encode(message, size, NULL, 0, error);
    default:
      return fnabi_iree_abi_encode(message, size, NULL, 0, error);
  }
}

/* What is done with a text, or with its message. */
typedef int64_t work(int32_t abi, const void* data, size_t size,
                     fnabi_error* error);

static int64_t work_on_text(int32_t abi, const void* data, size_t size,
                            fnabi_error* error) {
  return decode(abi, data, size, NULL, 0, error);
}

static int64_t work_on_message(int32_t abi, const void* data, size_t size,
                               fnabi_error* error) {
  return encode(abi, data, size, error);
}

/* Reads a declaration three times: with more arguments than it has. */
static int64_t work_on_counts(int32_t abi, const void* data, size_t size,
                              fnabi_error* error) {
  (void)abi;
  return fnabi_declaration_decode(data, size, 2 * MANY, NULL, 0, NULL, NULL, 0,
                                  error);
}

/* Whichever call of the poll function ends it, the work is interrupted. */
static void check_each_end(work* run, int32_t abi, const void* data,
                           size_t size) {
  fnabi_error error = {0};
  int64_t whole = run(abi, data, size, &error);
  CHECK(whole > 0);
  calls = 0;
  most = 1 << 20;
  fnabi_set_poll(end_after, &most);
  CHECK(run(abi, data, size, &error) == whole);
  int needed = calls, ended = 0;
  for (most = 0; most < needed; most++) {
    calls = 0;
    error.code = FNABI_OK;
    int64_t got = run(abi, data, size, &error);
    if (got < 0) CHECK(error.code == FNABI_INTERRUPTED && error.offset <= size);
    CHECK(got == (calls > most ? -1 : whole));
    ended += got < 0;
  }
  CHECK(needed > 0 && ended >= needed - 1);
  fnabi_set_poll(NULL, NULL);
}

static void test_texts(void) {
  static const long_text texts[] = {
      {"", "O1!", "R1!", FNABI_ABI_RAW, 1},
      {"", "d1", "R1!", FNABI_ABI_RAW, 2},
      {"{\"a\":[[\"ndarray\",\"i8\",40000", ",1", "]],\"r\":[]}",
       FNABI_ABI_IREE_ABI, 0},
      {"{\"a\":[", "\"i8\",", "\"i8\"],\"r\":[]}", FNABI_ABI_IREE_ABI, 0},
      {"{\"x\":[", "1,", "1],\"a\":[],\"r\":[]}", FNABI_ABI_IREE_ABI, 0},
      {"{\"a\":[[\"sdict\"", ",[\"k\",null]", "]],\"r\":[]}",
       FNABI_ABI_IREE_ABI, 0},
      {"{\"a\":[],\"r\":[[\"stuple\"", ",null", "]]}", FNABI_ABI_IREE_ABI, 0},
      {"0i_", "r", "i", FNABI_ABI_CCONV, 0},
      {"0", "CiD", "", FNABI_ABI_CCONV, 0},
      {"0C", "i", "D_r", FNABI_ABI_CCONV, 0},
      {"sync func @f(", "%input0: i32, ", "%input1: i32) -> ()",
       FNABI_ABI_DECLARATION, 0},
      {"sync func @f(%input0: i32 {", "a = 1, ", "b}) -> ()",
       FNABI_ABI_DECLARATION, 0},
      {"", "k40000_40000", "R1!", FNABI_ABI_SIP, 3},
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    size_t size;
    fnabi_error error = {0};
    char* text = repeated(&texts[i], &size);
    check_each_end(work_on_text, texts[i].abi, text, size);
    if (texts[i].abi == FNABI_ABI_DECLARATION) {
      check_each_end(work_on_counts, texts[i].abi, text, size);
    } else {
      int64_t needed = decode(texts[i].abi, text, size, NULL, 0, &error);
      uint8_t* message = malloc((size_t)needed);
      CHECK(message != NULL);
      CHECK(decode(texts[i].abi, text, size, message, (size_t)needed, &error) ==
            needed);
      check_each_end(work_on_message, texts[i].abi, message, (size_t)needed);
      free(message);
    }
    free(text);
  }
}

/* A text inside of a module that was interrupted is no fault of the module. */
static void test_modules(void) {
  typedef int64_t module_function(const char*, size_t, uint8_t*, size_t,
                                  fnabi_error*);
  module_function* const functions[] = {fnabi_vmfb_exports, fnabi_vmfb_check,
                                        fnabi_vmfb_demands, fnabi_vmfb_needs};
  static char module[1 << 16];
  FILE* file = fopen("../examples/classifier.vmfb", "rb");
  CHECK(file != NULL);
  size_t size = fread(module, 1, sizeof module, file), long_size;
  CHECK(size > 0 && size < sizeof module && fclose(file) == 0);
  char* text = text_of_ints(200000, &long_size);
  fnabi_error error = {0};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    int64_t whole = functions[i](module, size, NULL, 0, &error);
    CHECK(whole > 0);
    most = calls = 0;
    fnabi_set_poll(end_after, &most);
    CHECK(fnabi_iree_abi_decode(text, long_size, NULL, 0, &error) == -1);
    calls = 0; /* from now on it is asked at once */
    error.code = FNABI_OK;
    int64_t got = functions[i](module, size, NULL, 0, &error);
    CHECK(got == (calls > 0 ? -1 : whole));
    CHECK((error.code == FNABI_INTERRUPTED) == (calls > 0));
    fnabi_scan* scan = fnabi_scan_new();
    calls = 0;
    CHECK(fnabi_scan_data(scan, "m", 1, module, size, NULL, 0, false, NULL, 0,
                          &error) == -1);
    CHECK(calls > 0 && error.code == FNABI_INTERRUPTED);
    CHECK(fnabi_scan_rows(scan) == 0);
    fnabi_scan_free(scan);
    fnabi_set_poll(NULL, NULL);
  }
  free(text);
}

/* A scan keeps the rows of whole files. */
static void test_scan(void) {
  static const char path[] = "../tests/data/vmfb/scalars.vmfb";
  enum { FILES = 64, NAME = sizeof path - 1 };
  uint8_t names[5 + FILES * (2 + NAME)] = {0xDD, 0, 0, 0, FILES};
  for (size_t i = 0; i < FILES; i++) {
    uint8_t* at = names + 5 + i * (2 + NAME);
    at[0] = 0xC4;
    at[1] = NAME;
    memcpy(at + 2, path, NAME);
  }
  int32_t failed;
  fnabi_error error = {0};
  for (most = 0; most < 200; most += 1 + most / 8) {
    fnabi_scan* scan = fnabi_scan_new();
    CHECK(scan != NULL);
    calls = 0;
    fnabi_set_poll(end_after, &most);
    int64_t done = fnabi_scan_files(scan, names, sizeof names, 0, SIZE_MAX,
                                    false, &failed, &error);
    fnabi_set_poll(NULL, NULL);
    size_t whole = done < 0 ? (size_t)error.offset : (size_t)done;
    if (done < 0) CHECK(error.code == FNABI_INTERRUPTED && calls > most);
    CHECK(whole <= FILES && (whole == FILES) == (done >= 0));
    fnabi_scan* other = fnabi_scan_new();
    if (whole > 0)
      CHECK(fnabi_scan_files(other, names, sizeof names, FILES - whole,
                             SIZE_MAX, false, &failed,
                             &error) == (int64_t)whole);
    CHECK(fnabi_scan_rows(scan) == fnabi_scan_rows(other));
    CHECK(fnabi_scan_bad(scan) == 0);
    fnabi_scan_free(other);
    fnabi_scan_free(scan);
  }
}

/* The parsers for drop-ins end with the code inside of their message. */
static void test_visits(void) {
  const size_t size = 12 * MANY, capacity = 16 * size;
  char* text = malloc(size + 32);
  uint8_t* out = malloc(capacity);
  CHECK(text != NULL && out != NULL);
  fnabi_error error = {0};
  for (int sip = 0; sip < 2; sip++) {
    size_t at = (size_t)sprintf(text, "I%d!", 12 * MANY + 1);
    for (size_t i = 0; i < size; i += 3)
      memcpy(text + at + i, sip ? "_0!" : "O1!", 3);
    most = calls = 0;
    fnabi_set_poll(end_after, &most);
    int64_t made =
        sip ? fnabi_sip_visit(text, at + size, 'I', out, capacity, &error)
            : fnabi_raw_visit(text, at + size, 'I', out, capacity);
    fnabi_set_poll(NULL, NULL);
    CHECK(calls > 0 && made > 0 && (size_t)made <= capacity);
    CHECK(out[made - 1] == FNABI_INTERRUPTED);
  }
  free(out);
  free(text);
}

/* Many short texts: the rows so far stay. */
static void test_rows(void) {
  static const char line[] = "I1!R1!\n";
  size_t size = MANY * (sizeof line - 1), used;
  char* lines = malloc(size);
  CHECK(lines != NULL);
  for (size_t i = 0; i < MANY; i++)
    memcpy(lines + i * (sizeof line - 1), line, sizeof line - 1);
  fnabi_error error = {0};
  for (most = 0; most < 3; most++) {
    fnabi_columns* columns = fnabi_columns_new(FNABI_ABI_RAW, 0);
    calls = 0;
    fnabi_set_poll(end_after, &most);
    CHECK(fnabi_columns_decode_lines(columns, lines, size, true, SIZE_MAX,
                                     &used, &error) == -1);
    fnabi_set_poll(NULL, NULL);
    CHECK(error.code == FNABI_INTERRUPTED);
    CHECK(error.offset == fnabi_columns_rows(columns) && error.offset < MANY);
    CHECK(used == error.offset * (sizeof line - 1));
    fnabi_columns_free(columns);
  }
  free(lines);
}

/* Lines of JSON. */
static void test_json(void) {
  enum { ROWS = 100000 };
  const void* buffers[] = {NULL, calloc(ROWS, 1)};
  CHECK(buffers[1] != NULL);
  struct ArrowSchema number = {.format = "c", .name = "n"},
                     *types[] = {&number};
  struct ArrowArray numbers = {.length = ROWS,
                               .n_buffers = 2,
                               .buffers = buffers},
                    *arrays[] = {&numbers};
  struct ArrowSchema schema = {
      .format = "+s", .n_children = 1, .children = types};
  struct ArrowArray array = {
      .length = ROWS, .n_children = 1, .children = arrays};
  fnabi_error error = {0};
  CHECK(fnabi_arrow_json(&schema, &array, 0, ROWS, NULL, 0, &error) > ROWS);
  for (most = 0; most < 3; most++) {
    calls = 0;
    fnabi_set_poll(end_after, &most);
    CHECK(fnabi_arrow_json(&schema, &array, 0, ROWS, NULL, 0, &error) == -1);
    CHECK(error.code == FNABI_INTERRUPTED);
    fnabi_set_poll(NULL, NULL);
  }
  free((void*)(uintptr_t)buffers[1]);
}

int main(void) {
  test_iree_abi();
  test_calls_of_the_poll_function();
  test_columns();
  test_texts();
  test_modules();
  test_scan();
  test_visits();
  test_rows();
  test_json();
  return 0;
}
