/* The exports of a VM bytecode module, each with the signature that is decoded
 * from the best text that its function has, or without one from its bytecode.
 */
#include "infer/vmfb_exports.h"

#include "abi/cconv.h"
#include "abi/declaration.h"
#include "abi/iree_abi.h"
#include "abi/raw.h"
#include "abi/sip.h"
#include "base/error.h"
#include "base/poll.h"
#include "infer/bytecode_types.h"

/* The texts that contain a signature, its version or its kind: the attributes
 * with these keys, and the calling convention, which has no key. */
enum { DECLARATION, MODEL, IREE_ABI, F, FV, SIP, SIPV, ABI, ABIV, KEYS };
enum { CCONV = KEYS, NO_TEXT };
static const fnabi_text keys[] = {
    FNABI_TEXT("iree.abi.declaration"), /* the most frequent ones first */
    FNABI_TEXT("iree.abi.model"),
    FNABI_TEXT("iree.abi"),
    FNABI_TEXT("f"),
    FNABI_TEXT("fv"),
    FNABI_TEXT("sip"),
    FNABI_TEXT("sipv"),
    FNABI_TEXT("abi"),
    FNABI_TEXT("abiv"),
    {NULL, 0},
};

static void note_attr(fnabi_text* noted, fnabi_text key, fnabi_text value) {
  for (int i = 0; i < KEYS; i++)
    if (fnabi_text_equal(key, keys[i])) {
      noted[i] = value;
      if (value.data == NULL) noted[i].data = "";
      return;
    }
}

static bool write_text(fnabi_fb* fb, const fnabi_fb_view* view,
                       const fnabi_fb_field* field, fnabi_text* value) {
  if (!fnabi_fb_string(fb, view, field, &value->data, &value->size))
    return false;
  return fnabi_fb_pack_text(fb, value->data, value->size) ||
         fnabi_fb_in_field(fb, field->name);
}

/* Writes keys and values in turn, which takes less time to read than pairs.
 * Stores the values of the keys above in `noted`. */
static bool write_attrs(fnabi_fb* fb, const fnabi_fb_view* view,
                        fnabi_text* noted) {
  const fnabi_fb_field* field = &fnabi_vmfb_signature.fields[SIGNATURE_ATTRS];
  size_t place, count, kept = 0;
  if (!fnabi_fb_tables(fb, view, field, &place, &count)) return false;
  size_t head = fnabi_pack_open(fb->writer);
  for (size_t i = 0; i < count; i++) {
    fnabi_fb_view pair;
    fnabi_text key, value;
    if (fnabi_fb_is_null(fb, place + 4 * i)) continue;
    kept++;
    if (!fnabi_fb_enter(fb, &fnabi_vmfb_attr, place + 4 * i, &pair) ||
        !write_text(fb, &pair, &fnabi_vmfb_attr.fields[ATTR_KEY], &key) ||
        !write_text(fb, &pair, &fnabi_vmfb_attr.fields[ATTR_VALUE], &value))
      return fnabi_fb_in_element(fb, field->name, i);
    note_attr(noted, key, value);
  }
  fnabi_pack_close(fb->writer, head, 2 * kept);
  return true;
}

/* Writes the fault of a text of an export. */
static void pack_problem(fnabi_writer* w, size_t export_index, int at_fault,
                         fnabi_error* problem) {
  const char* key = keys[at_fault].data;
  if (problem->path[0] != 0) fnabi_path_field(problem, ".");
  if (at_fault == CCONV) {
    fnabi_path_field(problem, ".calling_convention");
  } else {
    fnabi_path_field(problem, "\"]");
    fnabi_path_field(problem, key);
    fnabi_path_field(problem, ".attrs[\"");
  }
  fnabi_path_index(problem, export_index);
  fnabi_path_field(problem, "exports");
  fnabi_pack_array(w, 5);
  fnabi_pack_int(w, problem->code);
  fnabi_pack_uint(w, problem->offset);
  if (problem->expected != NULL)
    fnabi_pack_ascii(w, problem->expected);
  else
    fnabi_pack_nil(w);
  fnabi_pack_text(w, problem->path, strlen(problem->path));
  if (at_fault == CCONV)
    fnabi_pack_nil(w);
  else
    fnabi_pack_ascii(w, key);
}

/* Whether an attribute's version is known; absent, it is 1. */
static bool known_version(fnabi_text version, fnabi_error* problem) {
  if (version.data == NULL || FNABI_TEXT_IS(version, "1")) return true;
  fnabi_fail(problem, FNABI_VERSION, 0, "\"1\"");
  return false;
}

static bool is_register(char letter) {
  return letter == 'i' || letter == 'I' || letter == 'f' || letter == 'F' ||
         letter == 'r';
}

/* The registers of one side of a calling convention. The count of a side with a
 * span is not known. */
static fnabi_known known_side(const char* data, size_t size) {
  fnabi_known side = {(int64_t)size, data};
  if (size == 1 && *data == 'v') side.count = 0;
  for (int64_t i = 0; i < side.count; i++)
    if (!is_register(data[i])) return (fnabi_known){-1, NULL};
  return side;
}

static bool write_declaration(fnabi_text declaration, fnabi_text cconv,
                              fnabi_writer* w, const char** ambiguity,
                              fnabi_error* problem) {
  fnabi_known sides[2] = {{-1, NULL}, {-1, NULL}};
  if (cconv.size > 0 && *cconv.data == '0') {
    const char* end = cconv.data + cconv.size;
    const char* arguments = cconv.data + 1;
    const char* results = memchr(arguments, '_', cconv.size - 1);
    if (results == NULL) results = end;
    sides[0] = known_side(arguments, (size_t)(results - arguments));
    if (results != end) results++;
    sides[1] = known_side(results, (size_t)(end - results));
  }
  return fnabi_declaration_write(declaration.data, declaration.size, sides[0],
                                 sides[1], w, ambiguity, problem);
}

/* What bytecode proves of the types of a function. */
typedef struct function_types {
  fnabi_bytecode_types* of;
  const char* data; /* the module */
  size_t size, ordinal;
  fnabi_error problem; /* why they cannot be read; an error only if `failed` */
  const fnabi_fb_view* root;
  bool asked, concerned; /* whether the module imports the HAL */
  bool found, failed;
} function_types;

/* Whether a module imports functions of the HAL. Without them bytecode proves
 * no types of references, so it is not read at all. */
static bool imports_hal(fnabi_fb* fb, const fnabi_fb_view* root) {
  const fnabi_fb_field* field = &fnabi_vmfb_table.fields[MODULE_IMPORTS];
  const fnabi_fb_field* name = &field->table->fields[IMPORT_NAME];
  fnabi_error ignored;
  fnabi_fb quiet = *fb;
  quiet.error = &ignored;
  size_t place, count;
  if (!fnabi_fb_tables(&quiet, root, field, &place, &count)) return true;
  for (size_t i = 0; i < count; i++) {
    fnabi_fb_view view;
    fnabi_text text;
    if (!fnabi_fb_enter_string(&quiet, field->table, name, place + 4 * i, &view,
                               &text.data, &text.size) ||
        (text.size > 3 && memcmp(text.data, "hal", 3) == 0))
      return true;
  }
  return false;
}

/* Whether bytecode proves more about the function than its calling convention
 * states. For functions without references it cannot. */
static bool find_types(fnabi_fb* fb, function_types* types, fnabi_text cconv) {
  if (cconv.size == 0 || memchr(cconv.data, 'r', cconv.size) == NULL)
    return false;
  if (!types->asked) types->concerned = imports_hal(fb, types->root);
  types->asked = true;
  if (!types->concerned) return false;
  types->failed = !fnabi_bytecode_types_open(types->of, types->data,
                                             types->size, &types->problem);
  if (types->failed || !types->of->flow.views) return false;
  fnabi_bytecode_found found =
      fnabi_bytecode_types_of(types->of, types->ordinal);
  types->failed = found == FNABI_BYTECODE_FAILED;
  types->found = found == FNABI_BYTECODE_TYPED;
  return types->found;
}

/* [..., source, signature, ambiguity, problem, ...]: the signature of the best
 * text. A frontend may write any text as the declaration: if it is malformed,
 * the next best text is used. */
static void write_signature(fnabi_fb* fb, size_t export_index,
                            const fnabi_text* noted, fnabi_text cconv,
                            function_types* types) {
  fnabi_writer* w = fb->writer;
  fnabi_error problem, other;
  const char *source = NULL, *ambiguity = NULL;
  int at_fault = NO_TEXT;
  size_t start = w->size;
  if (noted[IREE_ABI].data != NULL) {
    fnabi_pack_ascii(w, source = keys[IREE_ABI].data);
    if (!fnabi_iree_abi_write(noted[IREE_ABI].data, noted[IREE_ABI].size, w,
                              &problem))
      at_fault = IREE_ABI;
  }
  if (source == NULL && noted[DECLARATION].data != NULL) {
    fnabi_pack_ascii(w, source = keys[DECLARATION].data);
    if (!write_declaration(noted[DECLARATION], cconv, w, &ambiguity,
                           &problem)) {
      at_fault = DECLARATION;
      w->size = start;
      source = NULL;
    }
  }
  bool readable = at_fault != IREE_ABI;
  if (source == NULL && noted[F].data != NULL) {
    fnabi_pack_ascii(w, source = keys[F].data);
    readable = known_version(noted[FV], &other);
    if (!readable)
      at_fault = FV;
    else if (!(readable =
                   fnabi_raw_write(noted[F].data, noted[F].size, w, &other)))
      at_fault = F;
    if (!readable) problem = other;
  }
  if (source == NULL && find_types(fb, types, cconv)) {
    fnabi_pack_ascii(w, source = "bytecode");
    fnabi_bytecode_types_signature(types->of, types->ordinal, w);
  }
  if (source == NULL) {
    fnabi_pack_ascii(w, "cconv");
    readable = fnabi_cconv_write_signature(cconv.data, cconv.size, w, &other);
    if (!readable) {
      at_fault = CCONV;
      problem = other;
    }
  }
  if (!readable) {
    w->size = start;
    fnabi_pack_nil(w);
    fnabi_pack_nil(w);
  }
  if (ambiguity == NULL)
    fnabi_pack_nil(w);
  else
    fnabi_pack_ascii(w, ambiguity);
  if (at_fault == NO_TEXT)
    fnabi_pack_nil(w);
  else
    pack_problem(w, export_index, at_fault, &problem);
}

/* [..., sip_signature, problem] */
static void write_sip(fnabi_writer* w, size_t export_index,
                      const fnabi_text* noted) {
  fnabi_error problem;
  size_t start = w->size;
  bool old = noted[SIPV].data == NULL && noted[ABI].data != NULL &&
             FNABI_TEXT_IS(noted[ABI], "sip");
  int version = old ? ABIV : SIPV, at_fault = NO_TEXT;
  if (noted[SIP].data == NULL)
    fnabi_pack_nil(w);
  else if (!known_version(noted[version], &problem))
    at_fault = version;
  else if (!fnabi_sip_write(noted[SIP].data, noted[SIP].size, w, &problem))
    at_fault = SIP;
  if (at_fault == NO_TEXT) {
    fnabi_pack_nil(w);
    return;
  }
  w->size = start;
  fnabi_pack_nil(w);
  pack_problem(w, export_index, at_fault, &problem);
}

/* The signatures of all functions, as place and count of the vector. */
typedef struct signatures {
  size_t place, count;
} signatures;

/* [..., async] */
static void write_async(fnabi_writer* w, const function_types* types,
                        const fnabi_text* noted) {
  enum { SIZE = 6 };
  fnabi_text declaration = noted[DECLARATION];
  bool async = (declaration.size >= SIZE && *declaration.data == 'a' &&
                memcmp(declaration.data, "async ", SIZE) == 0) ||
               FNABI_TEXT_IS(noted[MODEL], "coarse-fences") ||
               (types->found &&
                fnabi_bytecode_types_is_async(types->of, types->ordinal));
  fnabi_pack_bool(w, async);
}

static bool write_function(fnabi_fb* fb, size_t from, size_t export_index,
                           function_types* types) {
  fnabi_fb_view view;
  fnabi_text noted[KEYS] = {{NULL, 0}}, cconv;
  types->found = false;
  if (!fnabi_fb_enter(fb, &fnabi_vmfb_signature, from, &view) ||
      !write_text(fb, &view, &fnabi_vmfb_signature.fields[SIGNATURE_CCONV],
                  &cconv) ||
      !write_attrs(fb, &view, noted))
    return false;
  size_t before = fb->writer->size;
  write_signature(fb, export_index, noted, cconv, types);
  write_sip(fb->writer, export_index, noted);
  write_async(fb->writer, types, noted);
  if (types->failed) *fb->error = types->problem;
  return !types->failed &&
         (!types->found ||
          fnabi_fb_spend(fb, fb->writer->size - before, view.place));
}

static bool write_export(fnabi_fb* fb, size_t from, size_t index,
                         const signatures* all, function_types* types) {
  const char* exports = fnabi_vmfb_table.fields[MODULE_EXPORTS].name;
  const fnabi_fb_field* field = &fnabi_vmfb_export.fields[EXPORT_ORDINAL];
  fnabi_fb_view view;
  fnabi_text name;
  fnabi_pack_array(fb->writer, 11);
  if (!fnabi_fb_enter(fb, &fnabi_vmfb_export, from, &view) ||
      !write_text(fb, &view, &fnabi_vmfb_export.fields[EXPORT_NAME], &name))
    return fnabi_fb_in_element(fb, exports, index);
  int64_t ordinal = fnabi_fb_int(fb, &view, field);
  if (ordinal < 0 || (uint64_t)ordinal >= all->count) {
    fnabi_fail(fb->error, FNABI_MODULE_ORDINAL,
               fb->origin + view.place + view.shape->at[field->id], NULL);
    fnabi_fb_in_field(fb, field->name);
    return fnabi_fb_in_element(fb, exports, index);
  }
  fnabi_pack_int(fb->writer, ordinal);
  types->ordinal = (size_t)ordinal;
  return write_function(fb, all->place + 4 * (size_t)ordinal, index, types) ||
         fnabi_fb_in_element(fb,
                             fnabi_vmfb_table.fields[MODULE_SIGNATURES].name,
                             (size_t)ordinal);
}

bool fnabi_vmfb_write_exports(fnabi_fb* fb, const fnabi_fb_view* root,
                              const char* data, size_t size) {
  const fnabi_fb_field* fields = fnabi_vmfb_table.fields;
  signatures all;
  size_t place, count;
  if (!fnabi_fb_tables(fb, root, &fields[MODULE_SIGNATURES], &all.place,
                       &all.count) ||
      !fnabi_fb_tables(fb, root, &fields[MODULE_EXPORTS], &place, &count))
    return false;
  fnabi_bytecode_types modules = {0};
  function_types types = {
      .of = &modules, .data = data, .size = size, .root = root};
  bool good = true;
  fnabi_pack_wide(fb->writer, 0xDD, count, 4);
  for (size_t i = 0; i < count && good; i++)
    good = write_export(fb, place + 4 * i, i, &all, &types);
  fnabi_bytecode_types_close(&modules);
  /* a text whose decoding was interrupted is no text with a fault */
  return good && !fnabi_stop(0, 0, fb->error);
}

int64_t fnabi_vmfb_exports(const char* data, size_t size, uint8_t* out,
                           size_t capacity, fnabi_error* error) {
  fnabi_fb fb;
  fnabi_fb_view root;
  fnabi_writer w = {out, capacity, 0};
  return fnabi_vmfb_begin(data, size, NULL, &fb, &root, &w, error) &&
                 fnabi_vmfb_write_exports(&fb, &root, data, size)
             ? (int64_t)w.size
             : -1;
}
