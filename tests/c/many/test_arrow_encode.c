/* Texts of rows of Arrow data: of each layout, and what makes no value. */
#include "many/arrow_data.h"

/* ------------------------------------------------------------------- tables */

/* A node of a signature, a row of the columns of one side. */
typedef struct node {
  const char* kind;
  int depth;
  const char *dtype, *name, *ref;
  int rank;  /* of a shape whose dims are all null; 0: no shape */
  int index; /* of a leaf, or any node that is indexed */
  const char* key;
  bool indexed, placed; /* placed: a root, or with a key, and has a position */
} node;

enum { NODES = FNABI_DEPTH_MAX + 4, ROOM = 64 * NODES };
static const uint8_t null[1];

/* Strings; NULL is null. */
static arrow_data* make_texts(const char* const* texts, size_t count) {
  arrow_data* made = DATA("u", (int64_t)count, calloc(1, NODES),
                          calloc(NODES + 1, 4), calloc(1, ROOM));
  uint8_t* validity = (void*)(uintptr_t)made->buffers[0];
  int32_t* ends = (void*)(uintptr_t)made->buffers[1];
  char* all = (void*)(uintptr_t)made->buffers[2];
  for (size_t i = 0; i < count; i++) {
    size_t size = texts[i] == NULL ? 0 : strlen(texts[i]);
    validity[i / 8] |= (uint8_t)((texts[i] != NULL) << i % 8);
    memcpy(all + ends[i], texts[i] == NULL ? "" : texts[i], size);
    ends[i + 1] = ends[i] + (int32_t)size;
  }
  return made;
}

static void free_texts(arrow_data* made) {
  for (int i = 0; i < 3; i++) free((void*)(uintptr_t)made->buffers[i]);
}

/* A table of one row with these inputs and no results. */
typedef struct table {
  arrow_data *rows, *inputs, *nodes, *texts[5], *shape;
  int32_t depths[NODES], indexes[NODES], ranks[NODES + 1], ends[2], no_ends[2];
  uint8_t indexed[NODES / 8 + 1], placed[NODES / 8 + 1]; /* validity */
} table;

enum { KIND, DTYPE, NAME, REF, KEY, DEPTH, SHAPE, INDEX, POSITION };

static void make_table(table* t, const node* nodes, size_t count) {
  static const char* const fields[] = {"kind", "dtype", "name", "ref", "key"};
  const char* texts[5][NODES];
  memset(t, 0, sizeof *t);
  data_used = 0;
  for (size_t i = 0; i < count; i++) {
    const char* all[] = {nodes[i].kind, nodes[i].dtype, nodes[i].name,
                         nodes[i].ref, nodes[i].key};
    for (int k = 0; k < 5; k++) texts[k][i] = all[k];
    t->depths[i] = nodes[i].depth;
    t->indexes[i] = nodes[i].index;
    bool indexed = nodes[i].indexed || strcmp(nodes[i].kind, "leaf") == 0;
    bool placed =
        nodes[i].placed || (nodes[i].depth != 0 && nodes[i].key == NULL);
    t->indexed[i / 8] |= (uint8_t)(indexed << i % 8);
    t->placed[i / 8] |= (uint8_t)(placed << i % 8);
    t->ranks[i + 1] = t->ranks[i] + nodes[i].rank;
  }
  t->ends[1] = (int32_t)count;
  int64_t length = (int64_t)count;
  t->nodes = DATA("+s", length, NULL);
  for (int k = 0; k < 5; k++)
    with_field(t->nodes, fields[k], t->texts[k] = make_texts(texts[k], count));
  with_field(t->nodes, "depth", DATA("i", length, NULL, t->depths));
  t->shape = with_child(DATA("+l", length, NULL, t->ranks),
                        DATA("n", t->ranks[count], NULL));
  with_field(t->nodes, "shape", t->shape);
  with_field(t->nodes, "index", DATA("i", length, t->indexed, t->indexes));
  with_field(t->nodes, "position", DATA("i", length, t->placed, t->indexes));
  t->inputs = with_child(DATA("+l", 1, NULL, t->ends), t->nodes);
  t->rows = with_field(DATA("+s", 1, NULL), "inputs", t->inputs);
  with_field(t->rows, "results",
             with_child(DATA("+l", 1, NULL, t->no_ends), t->nodes));
}

static void free_table(table* t) {
  for (int k = 0; k < 5; k++) free_texts(t->texts[k]);
}

/* Replaces a field of a struct; NULL takes its name away. */
static void replace(arrow_data* of, int field, arrow_data* by) {
  if (by == NULL) {
    of->schemas[field]->name = NULL;
    return;
  }
  by->schema.name = of->schemas[field]->name;
  of->schemas[field] = &by->schema;
  of->arrays[field] = &by->array;
}

/* The row has this text; NULL: it has none, for this reason. */
static void check_row(int32_t abi, const table* t, const char* text,
                      int32_t code, const char* path) {
  char out[256];
  int64_t end;
  uint8_t status;
  fnabi_error error = {0};
  int64_t size =
      fnabi_columns_encode_arrow(abi, &t->rows->schema, &t->rows->array, 0, 1,
                                 &end, NULL, (uint8_t*)out, sizeof out, &error);
  if (code == FNABI_OK) {
    size_t expected = text == NULL ? 0 : strlen(text);
    CHECK(size == (int64_t)expected && end == size);
    CHECK(expected == 0 || memcmp(out, text, expected) == 0);
  } else {
    CHECK(size == -1);
    check_error_is(&error, code, 0, path);
  }
  int64_t again = fnabi_columns_encode_arrow(
      abi, &t->rows->schema, &t->rows->array, 0, 1, &end, &status,
      (uint8_t*)out, sizeof out, &error);
  if (path != NULL && (path[0] == 0 || strcmp(path, "status") == 0))
    /* no row can be encoded */
    CHECK(again == -1);
  else
    CHECK(again == (size < 0 ? 0 : size) &&
          status == (code == FNABI_OK && text == NULL ? FNABI_ROW_NULL : code));
}

/* --------------------------------------------------------------------- rows */

typedef struct row {
  int32_t abi;
  const char* text;
  int32_t code;
  const char* path;
  node nodes[4];
} row;

static const row rows[] = {
    {FNABI_ABI_IREE_ABI,
     "{\"a\":[[\"ndarray\",\"f32\",2,null,null]],\"r\":[]}",
     0,
     NULL,
     {{.kind = "buffer", .dtype = "float32", .rank = 2}}},
    {FNABI_ABI_IREE_ABI,
     NULL,
     FNABI_UNSUPPORTED,
     "inputs[0]",
     {{.kind = "ref", .ref = "a.b"}}},
    {FNABI_ABI_IREE_ABI,
     "{\"a\":[[\"py_homogeneous_list\",\"i8\"]],\"r\":[]}",
     0,
     NULL,
     {{.kind = "homogeneous_list"},
      {.kind = "scalar", .depth = 1, .dtype = "i8"}}},
    {FNABI_ABI_IREE_ABI,
     NULL,
     FNABI_MESSAGE,
     "inputs",
     {{.kind = "homogeneous_list"}}},
    {FNABI_ABI_IREE_ABI,
     NULL,
     FNABI_MESSAGE,
     "inputs[1]",
     {{.kind = "homogeneous_list"}, {.kind = "null"}}},
    {FNABI_ABI_IREE_ABI,
     NULL,
     FNABI_MESSAGE,
     "inputs[1]",
     {{.kind = "dict"}, {.kind = "null", .depth = 1}}},
    {FNABI_ABI_CCONV,
     "0ICrD_v",
     0,
     NULL,
     {{.kind = "scalar", .dtype = "i64"},
      {.kind = "homogeneous_list"},
      {.kind = "tuple", .depth = 1},
      {.kind = "ref", .depth = 2}}},
    {FNABI_ABI_CCONV,
     NULL,
     FNABI_MESSAGE,
     "inputs[2]",
     {{.kind = "homogeneous_list"},
      {.kind = "tuple", .depth = 1},
      {.kind = "homogeneous_list", .depth = 2}}},
    {FNABI_ABI_CCONV,
     NULL,
     FNABI_MESSAGE,
     "inputs",
     {{.kind = "homogeneous_list"}}},
    {FNABI_ABI_SIP,
     "I8!S5!k0_0R1!",
     0,
     NULL,
     {{.kind = "sequence"}, {.kind = "leaf", .depth = 1}}},
    {FNABI_ABI_SIP,
     NULL,
     FNABI_MESSAGE,
     "inputs[1]",
     {{.kind = "leaf"}, {.kind = "leaf"}}},
    {FNABI_ABI_SIP,
     "I10!D7!K2!a_1R1!",
     0,
     NULL,
     {{.kind = "dict"}, {.kind = "leaf", .depth = 1, .index = 1, .key = "a"}}},
    /* with a value that the kind or place of a node lacks */
    {FNABI_ABI_SIP,
     NULL,
     FNABI_MESSAGE,
     "inputs[0]",
     {{.kind = "leaf", .placed = true}}},
    {FNABI_ABI_SIP,
     NULL,
     FNABI_MESSAGE,
     "inputs[0]",
     {{.kind = "leaf", .key = "a"}}},
    {FNABI_ABI_SIP,
     NULL,
     FNABI_MESSAGE,
     "inputs[0]",
     {{.kind = "sequence", .indexed = true}}},
    {FNABI_ABI_SIP,
     NULL,
     FNABI_MESSAGE,
     "inputs[1]",
     {{.kind = "sequence"},
      {.kind = "leaf", .depth = 1, .key = "a", .placed = true}}},
    {FNABI_ABI_SIP,
     NULL,
     FNABI_MESSAGE,
     "inputs[1]",
     {{.kind = "dict"},
      {.kind = "leaf", .depth = 1, .key = "a", .placed = true}}},
    {FNABI_ABI_RAW,
     NULL,
     FNABI_MESSAGE,
     "inputs[0]",
     {{.kind = "scalar", .dtype = "int8", .rank = 1}}},
    {FNABI_ABI_RAW,
     NULL,
     FNABI_MESSAGE,
     "inputs[0]",
     {{.kind = "ref", .dtype = "int8"}}},
    {FNABI_ABI_IREE_ABI,
     NULL,
     FNABI_MESSAGE,
     "inputs[0]",
     {{.kind = "list", .ref = "a.b"}}},
    {FNABI_ABI_CCONV,
     NULL,
     FNABI_MESSAGE,
     "inputs[0]",
     {{.kind = "scalar", .dtype = "i32", .name = "x"}}},
    {FNABI_ABI_CCONV,
     NULL,
     FNABI_MESSAGE,
     "inputs[0]",
     {{.kind = "ref", .ref = "a.b"}}},
    {FNABI_ABI_RAW,
     "I9!B6!t4d-1R1!",
     0,
     NULL,
     {{.kind = "buffer", .dtype = "int8", .rank = 1}}},
    {FNABI_ABI_RAW,
     NULL,
     FNABI_UNSUPPORTED,
     "inputs[0].dtype",
     {{.kind = "buffer", .dtype = "float8_E4M3FN", .rank = 1}}},
    {FNABI_ABI_COUNT, NULL, FNABI_UNSUPPORTED, "", {{.kind = "buffer"}}},
    {-1, NULL, FNABI_UNSUPPORTED, "", {{.kind = "buffer"}}},
    {99, NULL, FNABI_UNSUPPORTED, "", {{.kind = "buffer"}}},
    {FNABI_ABI_DECLARATION, NULL, FNABI_UNSUPPORTED, "", {{.kind = "buffer"}}},
};

static void test_rows(void) {
  static table t;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    size_t count = 0;
    while (count < 4 && rows[i].nodes[count].kind != NULL) count++;
    make_table(&t, rows[i].nodes, count);
    check_row(rows[i].abi, &t, rows[i].text, rows[i].code, rows[i].path);
    free_table(&t);
  }
}

/* The type of a ref_array is complete only after its elements. */
static void test_shape_at_the_end(void) {
  static table t;
  static const int32_t zeros[2];
  static const node nodes[] = {{.kind = "ref_array"},
                               {.kind = "ref", .depth = 1}};
  make_table(&t, nodes, 2);
  static const uint8_t first[] = {1};
  replace(t.nodes, SHAPE, DATA("i", 2, first, zeros));
  check_row(FNABI_ABI_IREE_ABI, &t, NULL, FNABI_MESSAGE, "inputs");
  free_table(&t);
}

/* Each list is in the one before it. */
static void test_depth(void) {
  static table t;
  static node nodes[FNABI_DEPTH_MAX + 1];
  for (int i = 0; i <= FNABI_DEPTH_MAX; i++)
    nodes[i] = (node){.kind = "list", .depth = i};
  char path[32];
  make_table(&t, nodes, FNABI_DEPTH_MAX + 1);
  snprintf(path, sizeof path, "inputs[%d]", FNABI_DEPTH_MAX);
  check_row(FNABI_ABI_IREE_ABI, &t, NULL, FNABI_DEPTH, path);
  free_table(&t);
}

/* ------------------------------------------------------------------ layouts */

typedef enum place { IN_NODES, IN_ROWS, AS_ROWS, AS_ITEMS } place;

/* What replaces a field of a good row. */
typedef struct change {
  int32_t abi;
  const char* kind;
  place place;
  int field;
  const char* format; /* NULL: the field has another name */
  const char* text;
  int32_t code;
  const char* path;
} change;

static const change changes[] = {
    /* without a field, or with one of a type that is not read */
    {FNABI_ABI_RAW, "buffer", IN_NODES, KIND, NULL, NULL, FNABI_UNSUPPORTED,
     ""},
    {FNABI_ABI_RAW, "buffer", IN_NODES, KIND, "w:", NULL, FNABI_UNSUPPORTED,
     ""},
    {FNABI_ABI_RAW, "buffer", IN_NODES, KIND, "w;6", NULL, FNABI_UNSUPPORTED,
     ""},
    {FNABI_ABI_RAW, "buffer", IN_NODES, KIND, "w:/", NULL, FNABI_UNSUPPORTED,
     ""},
    {FNABI_ABI_RAW, "buffer", IN_NODES, KIND, "w:6x", NULL, FNABI_UNSUPPORTED,
     ""},
    {FNABI_ABI_RAW, "buffer", IN_NODES, KIND, "w:60000000000", NULL,
     FNABI_UNSUPPORTED, ""},
    {FNABI_ABI_RAW, "buffer", IN_NODES, KIND, "+x", NULL, FNABI_UNSUPPORTED,
     ""},
    {FNABI_ABI_RAW, "buffer", IN_NODES, KIND, "", NULL, FNABI_UNSUPPORTED, ""},
    {FNABI_ABI_RAW, "buffer", IN_NODES, KIND, "w:6", "I9!B6!t4d-1R1!", 0, NULL},
    {FNABI_ABI_RAW, "buffer", IN_NODES, KIND, "w:0", NULL, FNABI_MESSAGE,
     "inputs[0]"},
    {FNABI_ABI_RAW, "buffer", IN_NODES, KIND, "i", NULL, FNABI_MESSAGE,
     "inputs[0]"},
    {FNABI_ABI_RAW, "buffer", IN_NODES, DTYPE, "i", NULL, FNABI_MESSAGE,
     "inputs[0]"},
    {FNABI_ABI_RAW, "buffer", IN_NODES, SHAPE, NULL, NULL, FNABI_UNSUPPORTED,
     "inputs[0].shape"},
    {FNABI_ABI_RAW, "buffer", IN_NODES, SHAPE, "i", NULL, FNABI_MESSAGE,
     "inputs[0]"},
    {FNABI_ABI_RAW, "buffer", IN_NODES, DEPTH, NULL, "I9!B6!t4d-1R1!", 0, NULL},
    {FNABI_ABI_IREE_ABI, "buffer", IN_NODES, DEPTH, NULL, NULL,
     FNABI_UNSUPPORTED, ""},
    {FNABI_ABI_SIP, "leaf", IN_NODES, DEPTH, "u", NULL, FNABI_MESSAGE,
     "inputs[0]"},
    {FNABI_ABI_SIP, "leaf", IN_NODES, INDEX, NULL, NULL, FNABI_MESSAGE,
     "inputs[0]"},
    {FNABI_ABI_SIP, "leaf", IN_NODES, INDEX, "u", NULL, FNABI_MESSAGE,
     "inputs[0]"},
    {FNABI_ABI_SIP, "leaf", IN_NODES, INDEX, "n", NULL, FNABI_MESSAGE,
     "inputs[0]"},
    {FNABI_ABI_RAW, "buffer", IN_ROWS, 0, NULL, NULL, FNABI_UNSUPPORTED, ""},
    {FNABI_ABI_RAW, "buffer", IN_ROWS, 0, "i", NULL, FNABI_UNSUPPORTED, ""},
    {FNABI_ABI_RAW, "buffer", IN_ROWS, 0, "n", NULL, FNABI_MESSAGE, "inputs"},
    {FNABI_ABI_RAW, "buffer", IN_ROWS, 1, "n", NULL, FNABI_MESSAGE, "results"},
    {FNABI_ABI_RAW, "buffer", AS_ROWS, 0, "i", NULL, FNABI_UNSUPPORTED, ""},
    {FNABI_ABI_RAW, "buffer", AS_ROWS, 0, "x", NULL, FNABI_UNSUPPORTED, ""},
    {FNABI_ABI_RAW, "buffer", AS_ITEMS, 0, "i", NULL, FNABI_UNSUPPORTED, ""},
    {FNABI_ABI_RAW, "buffer", AS_ITEMS, 0, "n", NULL, FNABI_MESSAGE,
     "inputs[0]"},
};

static void test_fields(void) {
  static table t;
  static const int64_t zeros[4];
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    const change* c = &changes[i];
    const node one = {.kind = c->kind, .dtype = "int8", .rank = 1};
    make_table(&t, &one, 1);
    arrow_data* made = NULL;
    if (c->format != NULL) {
      made = DATA(c->format, 1, NULL,
                  c->format[0] == 'w' ? (const void*)"buffer" : zeros, "");
      if (strcmp(c->format, "w:0") == 0) made->buffers[1] = NULL;
    }
    switch (c->place) {
      case IN_NODES:
        replace(t.nodes, c->field, made);
        break;
      case IN_ROWS:
        replace(t.rows, c->field, made);
        break;
      case AS_ROWS:
        t.rows = made;
        break;
      case AS_ITEMS:
        replace(t.inputs, 0, made);
    }
    check_row(c->abi, &t, c->text, c->code, c->path);
    free_table(&t);
  }
}

/* Numbers are any that are integers. */
static void test_numbers(void) {
  static table t;
  static const float floats[] = {0.0F, -1.5F};
  static const double doubles[] = {0, 0.25, 1e19, -1e19, 0.0 / 0.0};
  static const uint64_t large[] = {0, UINT64_MAX};
  static const struct {
    const char* format;
    const void* data;
    int64_t count;
  } numbers[] = {{"f", floats, 2}, {"g", doubles, 5}, {"L", large, 2}};
  const node one = {.kind = "leaf"};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    for (int64_t k = 0; k < numbers[i].count; k++) {
      make_table(&t, &one, 1);
      replace(t.nodes, INDEX,
              DATA(numbers[i].format, 1, NULL, numbers[i].data));
      t.nodes->arrays[INDEX]->offset = k;
      check_row(FNABI_ABI_SIP, &t, k == 0 ? "I3!_0R1!" : NULL,
                k == 0 ? FNABI_OK : FNABI_MESSAGE, "inputs[0]");
      free_table(&t);
    }
}

/* Checks a row whose dtypes or dims are these. */
static void check_field(int field, arrow_data* (*make)(void), const char* text,
                        int32_t code, const char* path) {
  static table t;
  const node one = {.kind = "buffer", .dtype = "int8", .rank = 1};
  make_table(&t, &one, 1);
  replace(t.nodes, field, make());
  check_row(FNABI_ABI_RAW, &t, text, code, path);
  free_table(&t);
}

static const int32_t zero[] = {0}, one_end[] = {0, 2}, four[] = {0, 4};
static arrow_data* i8(void) { return DATA("u", 1, NULL, four, "int8"); }
static arrow_data* of(arrow_data* values) {
  return with_dictionary(DATA("c", 1, NULL, zero), values);
}
static arrow_data* coded(void) { return of(i8()); }
static arrow_data* coded_null(void) {
  return with_dictionary(DATA("c", 1, null, zero), i8());
}
static arrow_data* coded_by_text(void) {
  return with_dictionary(DATA("u", 1, NULL, four, "int8"), i8());
}
static arrow_data* coded_unread(void) { return of(DATA("x", 1, NULL)); }
static arrow_data* coded_half(void) {
  arrow_data* made = coded();
  made->array.dictionary = NULL;
  return made;
}
static arrow_data* coded_deeply(void) {
  arrow_data* made = i8();
  for (int i = 0; i < 70; i++) made = of(made);
  return made;
}
static arrow_data* runs_of(const char* format, arrow_data* values) {
  static const int64_t one[] = {1};
  return with_child(with_child(DATA("+r", 1, NULL), DATA(format, 1, NULL, one)),
                    values);
}
static arrow_data* short_runs(void) { return runs_of("s", i8()); }
static arrow_data* int_runs(void) { return runs_of("i", i8()); }
static arrow_data* long_runs(void) { return runs_of("l", i8()); }
static arrow_data* unread_runs(void) { return runs_of("c", i8()); }
static arrow_data* runs_unread(void) {
  return runs_of("i", DATA("x", 1, NULL));
}
static arrow_data* half_runs(void) {
  arrow_data* made = int_runs();
  made->array.n_children = 1;
  return made;
}
static arrow_data* runs_alone(void) {
  return with_child(DATA("+r", 1, NULL), i8());
}
static arrow_data* dims(void) { return DATA("n", 8, NULL); }
static arrow_data* fixed(void) {
  return with_child(DATA("+w:2", 1, NULL), dims());
}
static arrow_data* fixed_unread(void) {
  return with_child(DATA("+w:x", 1, NULL), dims());
}
static arrow_data* list(void) {
  return with_child(DATA("+l", 1, NULL, one_end), dims());
}
static arrow_data* list_unread(void) {
  return with_child(DATA("+l", 1, NULL, one_end), DATA("x", 8, NULL));
}
static arrow_data* list_alone(void) { return DATA("+l", 1, NULL, one_end); }
static arrow_data* half_list(void) {
  arrow_data* made = list();
  made->array.n_children = 0;
  return made;
}
static arrow_data* list_of_texts(void) {
  return with_child(DATA("+w:1", 1, NULL), i8());
}

static void test_values(void) {
  static const char same[] = "I9!B6!t4d-1R1!", two[] = "I12!B9!t4d-1d-1R1!";
  static arrow_data* (*const dtypes[])(
      void) = {coded,      short_runs,    int_runs,
               long_runs, /* the others are bad */
               coded_null, coded_by_text, coded_unread,
               coded_half, unread_runs,   runs_unread,
               half_runs,  runs_alone};
  static arrow_data* (*const unread_shapes[])(void) = {
      fixed_unread, list_unread, list_alone, half_list};
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    check_field(DTYPE, dtypes[i], i < 4 ? same : NULL,
                i < 4 ? FNABI_OK : FNABI_MESSAGE, "inputs[0]");
  check_field(DTYPE, coded_deeply, NULL, FNABI_UNSUPPORTED, "");
  check_field(SHAPE, fixed, two, FNABI_OK, NULL);
  check_field(SHAPE, list, two, FNABI_OK, NULL);
  check_field(SHAPE, list_of_texts, NULL, FNABI_MESSAGE, "inputs[0]");
  for (size_t i = 0; i < sizeof unread_shapes / sizeof *unread_shapes; i++)
    check_field(SHAPE, unread_shapes[i], NULL, FNABI_UNSUPPORTED,
                "inputs[0].shape");
}

static void test_dtypes(void) {
  static const struct {
    const char *name, *text;
  } names[] = {
      {"i8", "{\"a\":[\"i8\"],\"r\":[]}"},
      {"i16", "{\"a\":[\"i16\"],\"r\":[]}"},
      {"bool", "{\"a\":[\"i1\"],\"r\":[]}"},
      {"bool1", NULL},
      {"i0", NULL},
      {"i", NULL},
      {"i99999999", NULL},
      {"i8:", NULL},
      {"i8/", NULL},
      {"i8_", NULL},
      {"i8x", NULL},
      {"{8", NULL},
      {"int_8", NULL},
      {"", NULL},
      {"bfloat16", "{\"a\":[\"bf16\"],\"r\":[]}"},
  };
  static table t;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const node one = {.kind = "scalar", .dtype = names[i].name};
    make_table(&t, &one, 1);
    check_row(FNABI_ABI_IREE_ABI, &t, names[i].text,
              names[i].text != NULL ? FNABI_OK : FNABI_MESSAGE, "inputs[0]");
    free_table(&t);
  }
}

/* Rows without a text. */
static void test_empty(void) {
  static table t;
  const node one = {.kind = "leaf"};
  for (int which = 0; which < 4; which++) {
    make_table(&t, &one, 1);
    if (which == 0) {
      t.rows->buffers[0] = null;
      t.rows->array.n_buffers = 1;
      t.rows->array.null_count = 1;
    } else if (which == 1) {
      t.inputs->buffers[0] = null;
      t.inputs->array.null_count = 1;
      replace(t.rows, 1, DATA("n", 1, NULL));
    } else {
      with_field(t.rows, "status", which == 2 ? DATA("n", 1, NULL) : i8());
    }
    check_row(FNABI_ABI_SIP, &t, NULL, FNABI_OK, NULL);
    free_table(&t);
  }
}

/* A status that is no text says of no row whether it is good. */
static void test_status(void) {
  static table t;
  const node one = {.kind = "leaf"};
  for (int which = 0; which < 4; which++) {
    make_table(&t, &one, 1);
    arrow_data* status = which == 0   ? DATA("i", 1, NULL, zero)
                         : which == 1 ? DATA("tdD", 1, NULL, zero)
                         : which == 2 ? coded_unread()
                                      : of(DATA("i", 1, NULL, zero));
    with_field(t.rows, "status", status);
    check_row(FNABI_ABI_SIP, &t, NULL, FNABI_UNSUPPORTED, "status");
    free_table(&t);
  }
}

int main(void) {
  test_rows();
  test_shape_at_the_end();
  test_depth();
  test_fields();
  test_numbers();
  test_values();
  test_dtypes();
  test_empty();
  test_status();
  return 0;
}
