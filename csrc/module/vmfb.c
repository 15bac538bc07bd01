/* VM bytecode modules. The schema is that of IREE's bytecode module, with ids
 * and defaults as they have been since compiler 3.2. */
#include "module/vmfb.h"

#include "abi/cconv.h"
#include "abi/declaration.h"
#include "abi/iree_abi.h"
#include "abi/raw.h"
#include "abi/sip.h"
#include "base/error.h"

/* ------------------------------------------------------------------- schema */

enum {
  ATTR,
  TYPE,
  SIGNATURE,
  DEPENDENCY,
  IMPORT,
  EXPORT,
  UNCOMPRESSED,
  RODATA,
  RWDATA,
  STATE,
  CALL_SITE,
  FILE_LINE_COL,
  FUSED,
  NAME_LOC,
  SOURCE_MAP,
  DEBUG,
  MODULE,
  SLOTS
};
_Static_assert(SLOTS <= FNABI_FB_SLOTS, "a slot for each table");

#define STRING(id, name) {name, id, .kind = FNABI_FB_STRING}
#define SCALAR(id, name, type, value) \
  {name, id, .kind = FNABI_FB_SCALAR, .scalar = type, .fallback = value}
#define TABLE(id, name, of) {name, id, .kind = FNABI_FB_TABLE, .table = &of}
#define TABLES(id, name, of) {name, id, .kind = FNABI_FB_TABLES, .table = &of}
#define ATTRS(id, name) \
  {name, id, .kind = FNABI_FB_TABLES, .nullable = true, .table = &attr}
#define STRUCTS(id, name, of) \
  {name, id, .kind = FNABI_FB_STRUCTS, .structure = &of}
#define BYTES(id, name) {name, id, .kind = FNABI_FB_BYTES, .optional = true}
#define COUNT(array) (sizeof(array) / sizeof *(array))
#define DEFINE(table, slot, fields) \
  static const fnabi_fb_table table = {slot, COUNT(fields), fields}

static const fnabi_fb_field attr_fields[] = {
    STRING(0, "key"),
    STRING(1, "value"),
};
DEFINE(attr, ATTR, attr_fields);

static const fnabi_fb_field type_fields[] = {STRING(0, "full_name")};
DEFINE(type, TYPE, type_fields);

static const fnabi_fb_field signature_fields[] = {
    STRING(0, "calling_convention"),
    ATTRS(1, "attrs"),
};
DEFINE(signature, SIGNATURE, signature_fields);

#define REQUIRED 1 /* flag bit 0 */
static const fnabi_fb_field dependency_fields[] = {
    STRING(0, "name"),
    SCALAR(1, "minimum_version", FNABI_FB_U32, 0),
    SCALAR(2, "flags", FNABI_FB_U32, REQUIRED),
};
DEFINE(dependency, DEPENDENCY, dependency_fields);

static const fnabi_fb_field import_fields[] = {
    STRING(0, "full_name"),
    TABLE(1, "signature", signature),
    SCALAR(2, "flags", FNABI_FB_U32, REQUIRED),
};
DEFINE(import, IMPORT, import_fields);

static const fnabi_fb_field export_fields[] = {
    STRING(0, "local_name"),
    SCALAR(1, "internal_ordinal", FNABI_FB_I32, 0),
};
DEFINE(export, EXPORT, export_fields);

static const fnabi_fb_table uncompressed = {UNCOMPRESSED, 0, NULL};
static const fnabi_fb_table* const compression_members[] = {&uncompressed};
static const fnabi_fb_union compression = {COUNT(compression_members),
                                           compression_members};

static const fnabi_fb_field rodata_fields[] = {
    {"compression_type", 1, .kind = FNABI_FB_UNION, .members = &compression},
    BYTES(2, "embedded_data"),
    SCALAR(3, "external_data_offset", FNABI_FB_U64, 0),
    SCALAR(4, "external_data_length", FNABI_FB_U64, 0),
};
DEFINE(rodata, RODATA, rodata_fields);

static const fnabi_fb_field rwdata_fields[] = {
    SCALAR(0, "byte_size", FNABI_FB_I32, 0),
};
DEFINE(rwdata, RWDATA, rwdata_fields);

static const fnabi_fb_field state_fields[] = {
    SCALAR(0, "global_bytes_capacity", FNABI_FB_I32, 0),
    SCALAR(1, "global_ref_count", FNABI_FB_I32, 0),
};
DEFINE(state, STATE, state_fields);

static const uint8_t descriptor_members[] = {
    FNABI_FB_I32, FNABI_FB_I32, FNABI_FB_U32, FNABI_FB_I16,
    FNABI_FB_I16, FNABI_FB_I16, FNABI_FB_I16};
static const fnabi_fb_struct descriptor = {20, 4, COUNT(descriptor_members),
                                           descriptor_members};

static const fnabi_fb_field call_site_fields[] = {
    SCALAR(0, "callee", FNABI_FB_I32, 0),
    SCALAR(1, "caller", FNABI_FB_I32, 0),
};
DEFINE(call_site, CALL_SITE, call_site_fields);

static const fnabi_fb_field file_line_col_fields[] = {
    STRING(0, "filename"),
    SCALAR(1, "line", FNABI_FB_I32, 0),
    SCALAR(2, "column", FNABI_FB_I32, 0),
};
DEFINE(file_line_col, FILE_LINE_COL, file_line_col_fields);

static const fnabi_fb_field fused_fields[] = {
    {"metadata", 0, .kind = FNABI_FB_STRING, .optional = true},
    {"locations", 1, .kind = FNABI_FB_SCALARS, .scalar = FNABI_FB_I32},
};
DEFINE(fused, FUSED, fused_fields);

static const fnabi_fb_field name_loc_fields[] = {
    STRING(0, "name"),
    SCALAR(1, "child_location", FNABI_FB_I32, 0),
};
DEFINE(name_loc, NAME_LOC, name_loc_fields);

static const fnabi_fb_table* const location_members[] = {
    &call_site, &file_line_col, &fused, &name_loc};
static const fnabi_fb_union location = {COUNT(location_members),
                                        location_members};

static const uint8_t op_location_members[] = {FNABI_FB_I32, FNABI_FB_I32};
static const fnabi_fb_struct op_location = {8, 4, COUNT(op_location_members),
                                            op_location_members};

static const fnabi_fb_field source_map_fields[] = {
    STRING(0, "local_name"),
    STRUCTS(1, "locations", op_location),
};
DEFINE(source_map, SOURCE_MAP, source_map_fields);

static const fnabi_fb_field debug_fields[] = {
    {"location_table", 1, .kind = FNABI_FB_UNIONS, .members = &location},
    TABLES(2, "functions", source_map),
};
DEFINE(debug, DEBUG, debug_fields);

static const fnabi_fb_field module_fields[] = {
    {"name", 0, .kind = FNABI_FB_STRING, .required = true},
    SCALAR(1, "version", FNABI_FB_U32, 0),
    SCALAR(2, "requirements", FNABI_FB_U32, 0),
    ATTRS(3, "attrs"),
    TABLES(4, "types", type),
    TABLES(5, "dependencies", dependency),
    TABLES(6, "imported_functions", import),
    TABLES(7, "exported_functions", export),
    TABLES(8, "function_signatures", signature),
    TABLES(9, "rodata_segments", rodata),
    TABLES(10, "rwdata_segments", rwdata),
    TABLE(11, "module_state", state),
    STRUCTS(12, "function_descriptors", descriptor),
    SCALAR(13, "bytecode_version", FNABI_FB_U32, 0),
    BYTES(14, "bytecode_data"),
    TABLE(15, "debug_database", debug),
};
const fnabi_fb_table fnabi_vmfb_table = {MODULE, COUNT(module_fields),
                                         module_fields};
_Static_assert(COUNT(module_fields) <= FNABI_FB_IDS, "the root has most ids");

/* --------------------------------------------------------------------- file */

#define ZIP_HEADER 30 /* bytes of a local file header before its name */
#define ROOT 4        /* the root's offset, behind the size prefix */
#define IDENTIFIER 8  /* from the size prefix */
#define RODATA_ALIGN 64

static uint64_t little(const char* data, unsigned bytes) {
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; i++)
    value |= (uint64_t)(uint8_t)data[i] << (8 * i);
  return value;
}

/* Finds the FlatBuffer and begins a walk. */
static bool begin(const char* data, size_t size, bool lenient, fnabi_fb* fb,
                  fnabi_writer* writer, fnabi_error* error) {
  size_t start = 0;
  if (size >= 4 && memcmp(data, "PK\x03\x04", 4) == 0) {
    start = ZIP_HEADER;
    if (size >= ZIP_HEADER)
      start += (size_t)(little(data + 26, 2) + little(data + 28, 2));
  }
  if (start > size || size - start < IDENTIFIER + 4) {
    fnabi_fail(error, FNABI_MODULE_SIZE, size, NULL);
    return false;
  }
  /* Before the size, so that a file of another kind is told as such. */
  if (memcmp(data + start + IDENTIFIER, "IREE", 4) != 0) {
    fnabi_fail(error, FNABI_MODULE_IDENTIFIER, start + IDENTIFIER, "\"IREE\"");
    return false;
  }
  uint64_t flatbuffer = little(data + start, 4);
  if (flatbuffer > size - start - 4) {
    fnabi_fail(error, FNABI_MODULE_SIZE, size, NULL);
    return false;
  }
  if (flatbuffer < IDENTIFIER) { /* the root's offset and the identifier */
    fnabi_fail(error, FNABI_MODULE_SIZE, start, NULL);
    return false;
  }
  fnabi_fb_open(fb, (const uint8_t*)data + start, (size_t)flatbuffer + 4, start,
                lenient, writer, error);
  return true;
}

uint64_t fnabi_vmfb_extent(const char* data, size_t size) {
  uint64_t start = 0;
  if (size >= 4 && memcmp(data, "PK\x03\x04", 4) == 0) {
    start = ZIP_HEADER;
    if (size < start) return start;
    start += little(data + 26, 2) + little(data + 28, 2);
  }
  if (size < start + IDENTIFIER + 4) return start + IDENTIFIER + 4;
  if (memcmp(data + start + IDENTIFIER, "IREE", 4) != 0) return size;
  return start + 4 + little(data + start, 4);
}

uint64_t fnabi_vmfb_rodata_base(const fnabi_fb* fb) {
  uint64_t end = fb->origin + fb->size;
  return (end + RODATA_ALIGN - 1) / RODATA_ALIGN * RODATA_ALIGN;
}

static void pack_layout(const fnabi_fb* fb, size_t file_size, fnabi_writer* w) {
  fnabi_pack_array(w, 5);
  fnabi_pack_uint(w, fb->origin);
  fnabi_pack_uint(w, fb->origin + 4);
  fnabi_pack_uint(w, fb->size - 4);
  fnabi_pack_uint(w, fnabi_vmfb_rodata_base(fb));
  fnabi_pack_uint(w, file_size);
}

int64_t fnabi_vmfb_verify(const char* data, size_t size, bool lenient,
                          fnabi_error* error) {
  fnabi_fb fb;
  if (!begin(data, size, lenient, &fb, NULL, error)) return -1;
  return fnabi_fb_walk(&fb, &fnabi_vmfb_table, ROOT) ? 0 : -1;
}

bool fnabi_vmfb_begin(const char* data, size_t size, fnabi_fb* fb,
                      fnabi_fb_view* root, fnabi_writer* w,
                      fnabi_error* error) {
  return begin(data, size, true, fb, w, error) &&
         fnabi_fb_enter(fb, &fnabi_vmfb_table, ROOT, root);
}

static bool write_field(fnabi_fb* fb, const fnabi_fb_view* root, int32_t id) {
  return fnabi_fb_walk_field(fb, root, &module_fields[id]);
}

int64_t fnabi_vmfb_head(const char* data, size_t size, uint8_t* out,
                        size_t capacity, fnabi_error* error) {
  fnabi_fb fb;
  fnabi_fb_view root;
  fnabi_writer w = {out, capacity, 0};
  if (!fnabi_vmfb_begin(data, size, &fb, &root, &w, error)) return -1;
  uint64_t bytecode = (uint64_t)fnabi_fb_int(
      &fb, &root, &module_fields[MODULE_BYTECODE_VERSION]);
  fnabi_pack_array(&w, 6);
  pack_layout(&fb, size, &w);
  if (!write_field(&fb, &root, MODULE_NAME) ||
      !write_field(&fb, &root, MODULE_VERSION) ||
      !write_field(&fb, &root, MODULE_REQUIREMENTS))
    return -1;
  fnabi_pack_array(&w, 2);
  fnabi_pack_uint(&w, bytecode >> 16);
  fnabi_pack_uint(&w, bytecode & 0xFFFF);
  return write_field(&fb, &root, MODULE_ATTRS) ? (int64_t)w.size : -1;
}

int64_t fnabi_vmfb_field(const char* data, size_t size, int32_t id,
                         uint8_t* out, size_t capacity, fnabi_error* error) {
  fnabi_fb fb;
  fnabi_fb_view root;
  fnabi_writer w = {out, capacity, 0};
  if (id < 0 || id >= (int32_t)COUNT(module_fields))
    return fnabi_fail(error, FNABI_UNSUPPORTED, 0, "an id of 0 to 15");
  if (!fnabi_vmfb_begin(data, size, &fb, &root, &w, error) ||
      !write_field(&fb, &root, id))
    return -1;
  return (int64_t)w.size;
}

/* ------------------------------------------------------------------ exports */

/* The texts that say something of the signature: the attributes with these
 * keys, and the calling convention, which has none. */
enum { ABI, ABIV, F, FV, IREE_ABI, DECLARATION, SIP, SIPV, KEYS };
enum { CCONV = KEYS, NO_TEXT };
static const fnabi_text keys[] = {
    FNABI_TEXT("abi"),
    FNABI_TEXT("abiv"),
    FNABI_TEXT("f"),
    FNABI_TEXT("fv"),
    FNABI_TEXT("iree.abi"),
    FNABI_TEXT("iree.abi.declaration"),
    FNABI_TEXT("sip"),
    FNABI_TEXT("sipv"),
    {NULL, 0},
};

static void note_attr(fnabi_text* noted, fnabi_text key, fnabi_text value) {
  for (int i = 0; i < KEYS; i++)
    if (fnabi_text_equal(key, keys[i])) {
      noted[i] = value;
      if (value.data == NULL) noted[i].data = "";
    }
}

static bool write_text(fnabi_fb* fb, const fnabi_fb_view* view,
                       const fnabi_fb_field* field, fnabi_text* value) {
  if (!fnabi_fb_string(fb, view, field, &value->data, &value->size))
    return false;
  return fnabi_fb_pack_text(fb, value->data, value->size) ||
         fnabi_fb_in_field(fb, field->name);
}

/* Writes keys and values in turn, which reads faster than pairs would; answers
 * the attributes that it knows in `noted`. */
static bool write_attrs(fnabi_fb* fb, const fnabi_fb_view* view,
                        fnabi_text* noted) {
  const fnabi_fb_field* field = &signature_fields[SIGNATURE_ATTRS];
  size_t place, count, kept = 0;
  if (!fnabi_fb_tables(fb, view, field, &place, &count)) return false;
  size_t head = fnabi_pack_open(fb->writer);
  for (size_t i = 0; i < count; i++) {
    fnabi_fb_view pair;
    fnabi_text key, value;
    if (fnabi_fb_is_null(fb, place + 4 * i)) continue;
    kept++;
    if (!fnabi_fb_enter(fb, &attr, place + 4 * i, &pair) ||
        !write_text(fb, &pair, &attr_fields[ATTR_KEY], &key) ||
        !write_text(fb, &pair, &attr_fields[ATTR_VALUE], &value))
      return fnabi_fb_in_element(fb, field->name, i);
    note_attr(noted, key, value);
  }
  fnabi_pack_close(fb->writer, head, 2 * kept);
  return true;
}

/* What is wrong with a text of an export. */
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

/* Whether an attribute's version is one that is known; absent, it is 1. */
static bool known_version(fnabi_text version, fnabi_error* problem) {
  if (version.data == NULL || FNABI_TEXT_IS(version, "1")) return true;
  fnabi_fail(problem, FNABI_VERSION, 0, "\"1\"");
  return false;
}

static bool is_register(char letter) {
  return letter == 'i' || letter == 'I' || letter == 'f' || letter == 'F' ||
         letter == 'r';
}

/* The registers of one side of a calling convention. A side with a span has no
 * count that is known. */
static fnabi_known known_side(const char* data, size_t size) {
  fnabi_known side = {(int64_t)size, data};
  if (size == 1 && *data == 'v') side.count = 0;
  for (int64_t i = 0; i < side.count; i++)
    if (!is_register(data[i])) return (fnabi_known){-1, NULL};
  return side;
}

static bool write_declaration(fnabi_text declaration, fnabi_text cconv,
                              fnabi_writer* w, const char** doubt,
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
                                 sides[1], w, doubt, problem);
}

/* [..., source, signature, doubt, problem, ...]: the signature in the best of
 * the texts that there are. A declaration is no format, and a frontend may have
 * put any text there: where it cannot be read, the next best text is. */
static void write_signature(fnabi_writer* w, size_t export_index,
                            const fnabi_text* noted, fnabi_text cconv) {
  fnabi_error problem, other;
  const char *source = NULL, *doubt = NULL;
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
    if (!write_declaration(noted[DECLARATION], cconv, w, &doubt, &problem)) {
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
  if (doubt == NULL)
    fnabi_pack_nil(w);
  else
    fnabi_pack_ascii(w, doubt);
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

static bool write_function(fnabi_fb* fb, size_t from, size_t export_index) {
  fnabi_fb_view view;
  fnabi_text noted[KEYS] = {{NULL, 0}}, cconv;
  if (!fnabi_fb_enter(fb, &signature, from, &view) ||
      !write_text(fb, &view, &signature_fields[SIGNATURE_CCONV], &cconv) ||
      !write_attrs(fb, &view, noted))
    return false;
  write_signature(fb->writer, export_index, noted, cconv);
  write_sip(fb->writer, export_index, noted);
  return true;
}

static bool write_export(fnabi_fb* fb, size_t from, size_t index,
                         const signatures* all) {
  const char* exports = module_fields[MODULE_EXPORTS].name;
  const fnabi_fb_field* field = &export_fields[EXPORT_ORDINAL];
  fnabi_fb_view view;
  fnabi_text name;
  fnabi_pack_array(fb->writer, 10);
  if (!fnabi_fb_enter(fb, &export, from, &view) ||
      !write_text(fb, &view, &export_fields[EXPORT_NAME], &name))
    return fnabi_fb_in_element(fb, exports, index);
  int64_t ordinal = fnabi_fb_int(fb, &view, field);
  if (ordinal < 0 || (uint64_t)ordinal >= all->count) {
    fnabi_fail(fb->error, FNABI_MODULE_ORDINAL,
               fb->origin + view.place + view.shape->at[field->id], NULL);
    fnabi_fb_in_field(fb, field->name);
    return fnabi_fb_in_element(fb, exports, index);
  }
  fnabi_pack_int(fb->writer, ordinal);
  return write_function(fb, all->place + 4 * (size_t)ordinal, index) ||
         fnabi_fb_in_element(fb, module_fields[MODULE_SIGNATURES].name,
                             (size_t)ordinal);
}

int64_t fnabi_vmfb_exports(const char* data, size_t size, uint8_t* out,
                           size_t capacity, fnabi_error* error) {
  fnabi_fb fb;
  fnabi_fb_view root;
  fnabi_writer w = {out, capacity, 0};
  signatures all;
  size_t place, count;
  if (!fnabi_vmfb_begin(data, size, &fb, &root, &w, error) ||
      !fnabi_fb_tables(&fb, &root, &module_fields[MODULE_SIGNATURES],
                       &all.place, &all.count) ||
      !fnabi_fb_tables(&fb, &root, &module_fields[MODULE_EXPORTS], &place,
                       &count))
    return -1;
  fnabi_pack_wide(&w, 0xDD, count, 4);
  for (size_t i = 0; i < count; i++)
    if (!write_export(&fb, place + 4 * i, i, &all)) return -1;
  return (int64_t)w.size;
}
