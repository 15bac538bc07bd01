/* Arrow arrays of any layout: opening them, and finding their values. */
#include "many/arrow_values.h"

/* Reads the digits to the end of a format, such as those of "w:16". */
static bool read_width(const char* digits, size_t* width) {
  *width = 0;
  if (*digits == 0) return false;
  for (; *digits != 0; digits++) {
    if (*digits < '0' || *digits > '9' || *width > INT32_MAX / 10) return false;
    *width = *width * 10 + (size_t)(*digits - '0');
  }
  return true;
}

static bool find_layout(const char* format, fnabi_arrow_values* v) {
  static const struct {
    const char* format;
    fnabi_arrow_layout layout;
  } layouts[] = {
      {"n", FNABI_ARROW_NULL},        {"f", FNABI_ARROW_FLOAT},
      {"g", FNABI_ARROW_FLOAT},       {"u", FNABI_ARROW_TEXT},
      {"z", FNABI_ARROW_TEXT},        {"U", FNABI_ARROW_LARGE_TEXT},
      {"Z", FNABI_ARROW_LARGE_TEXT},  {"vu", FNABI_ARROW_TEXT_VIEW},
      {"vz", FNABI_ARROW_TEXT_VIEW},  {"+l", FNABI_ARROW_LIST},
      {"+L", FNABI_ARROW_LARGE_LIST}, {"+vl", FNABI_ARROW_LIST_VIEW},
      {"+s", FNABI_ARROW_STRUCT},     {"+vL", FNABI_ARROW_LARGE_LIST_VIEW},
      {"+r", FNABI_ARROW_RUNS},
  };
  v->number = format[0];
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
    if (fnabi_arrow_is(format, layouts[i].format)) {
      v->layout = layouts[i].layout;
      return true;
    }
  if (format[0] != 0 && format[1] == 0 && strchr("cCsSiIlL", format[0])) {
    v->layout = FNABI_ARROW_INT;
    return true;
  }
  v->layout =
      format[0] == '+' ? FNABI_ARROW_FIXED_LIST : FNABI_ARROW_FIXED_TEXT;
  if (format[0] == '+') format++;
  return format[0] == 'w' && format[1] == ':' &&
         read_width(format + 2, &v->width);
}

fnabi_arrow_values* fnabi_arrow_open_values(fnabi_arrow_pool* pool,
                                            const struct ArrowSchema* schema,
                                            const struct ArrowArray* array) {
  if (pool->used == FNABI_ARROW_POOL) return NULL;
  fnabi_arrow_values* v = &pool->values[pool->used++];
  *v = (fnabi_arrow_values){.schema = schema,
                            .array = array,
                            .buffers = array->buffers,
                            .offset = (size_t)array->offset,
                            .length = (size_t)array->length};
  if (!find_layout(schema->format, v)) return NULL;
  if (array->n_buffers > 0 && array->null_count != 0)
    v->validity = array->buffers[0];
  if (array->n_buffers > 1) v->data = array->buffers[1];
  if (array->n_buffers > 2) v->more = array->buffers[2];
  if (schema->dictionary != NULL) {
    if (v->layout != FNABI_ARROW_INT || array->dictionary == NULL) return NULL;
    v->layout = FNABI_ARROW_DICTIONARY;
    v->of =
        fnabi_arrow_open_values(pool, schema->dictionary, array->dictionary);
    return v->of != NULL ? v : NULL;
  }
  switch (v->layout) {
    case FNABI_ARROW_LIST:
    case FNABI_ARROW_LARGE_LIST:
    case FNABI_ARROW_LIST_VIEW:
    case FNABI_ARROW_LARGE_LIST_VIEW:
    case FNABI_ARROW_FIXED_LIST:
      if (schema->n_children != 1 || array->n_children != 1) return NULL;
      v->of = fnabi_arrow_open_values(pool, schema->children[0],
                                      array->children[0]);
      return v->of != NULL ? v : NULL;
    case FNABI_ARROW_RUNS: {
      if (schema->n_children != 2 || array->n_children != 2) return NULL;
      const char* format = schema->children[0]->format;
      const struct ArrowArray* ends = array->children[0];
      if (!fnabi_arrow_is(format, "s") && !fnabi_arrow_is(format, "i") &&
          !fnabi_arrow_is(format, "l"))
        return NULL;
      v->number = format[0];
      v->validity = NULL;
      v->data = ends->buffers[1];
      v->width = (size_t)ends->offset;
      v->of = fnabi_arrow_open_values(pool, schema->children[1],
                                      array->children[1]);
      return v->of != NULL ? v : NULL;
    }
    default:
      return v;
  }
}

fnabi_arrow_values* fnabi_arrow_plain_values(fnabi_arrow_values* v) {
  while (v->layout == FNABI_ARROW_DICTIONARY || v->layout == FNABI_ARROW_RUNS)
    v = v->of;
  return v;
}

fnabi_arrow_values* fnabi_arrow_open_field(fnabi_arrow_pool* pool,
                                           const fnabi_arrow_values* v,
                                           const char* name) {
  if (v->layout != FNABI_ARROW_STRUCT) return NULL;
  for (int64_t i = 0; i < v->schema->n_children; i++)
    if (v->schema->children[i]->name != NULL &&
        strcmp(v->schema->children[i]->name, name) == 0)
      return fnabi_arrow_open_values(pool, v->schema->children[i],
                                     v->array->children[i]);
  return NULL;
}

/* The run ends begin at element v->width of v->data; there are as many runs as
 * values. The last run found, and the next, are tried before a search. */
size_t fnabi_arrow_find_run(fnabi_arrow_values* v, size_t at) {
#define END(run) \
  ((size_t)fnabi_arrow_number(v->number, v->data, v->width + (run)))
  size_t runs = v->of->length, run = v->run;
  for (int i = 0; i < 2 && run < runs; i++, run++)
    if (at < END(run) && (run == 0 || at >= END(run - 1))) return v->run = run;
  size_t low = 0, high = runs;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (END(middle) <= at)
      low = middle + 1;
    else
      high = middle;
  }
#undef END
  return v->run = low;
}

bool fnabi_arrow_list(const fnabi_arrow_values* v, size_t i, size_t* begin,
                      size_t* end) {
  switch (v->layout) {
    case FNABI_ARROW_LIST:
      *begin = (size_t)fnabi_arrow_int32(v->data, i);
      *end = (size_t)fnabi_arrow_int32(v->data, i + 1);
      return true;
    case FNABI_ARROW_LARGE_LIST:
      *begin = (size_t)fnabi_arrow_int64(v->data, i);
      *end = (size_t)fnabi_arrow_int64(v->data, i + 1);
      return true;
    case FNABI_ARROW_LIST_VIEW:
      *begin = (size_t)fnabi_arrow_int32(v->data, i);
      *end = *begin + (size_t)fnabi_arrow_int32(v->more, i);
      return true;
    case FNABI_ARROW_LARGE_LIST_VIEW:
      *begin = (size_t)fnabi_arrow_int64(v->data, i);
      *end = *begin + (size_t)fnabi_arrow_int64(v->more, i);
      return true;
    case FNABI_ARROW_FIXED_LIST:
      *begin = i * v->width;
      *end = *begin + v->width;
      return true;
    default:
      return false;
  }
}

bool fnabi_arrow_int(const fnabi_arrow_values* v, size_t i, int64_t* out) {
  if (v->layout == FNABI_ARROW_INT) {
    *out = fnabi_arrow_number(v->number, v->data, i);
    return *out >= 0 || v->number != 'L';
  }
  if (v->layout != FNABI_ARROW_FLOAT) return false;
  double number = fnabi_arrow_float(v, i);
  if (!(number >= -9e18 && number <= 9e18)) return false;
  *out = (int64_t)number;
  return (double)*out == number;
}
