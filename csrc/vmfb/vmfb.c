/* VM bytecode modules: where a file has its FlatBuffer, and the fields of the
 * root. */
#include "vmfb/vmfb.h"

#include <stdio.h>

#include "base/error.h"

#define ZIP_HEADER 30 /* bytes of a local file header before its name */
#define ROOT 4        /* the root's offset, after the size prefix */
#define IDENTIFIER 8  /* from the size prefix */
#define RODATA_ALIGN 64
#define IMAGE_VERSION 8

static uint64_t little(const char* data, unsigned bytes) {
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; i++)
    value |= (uint64_t)(uint8_t)data[i] << (8 * i);
  return value;
}

/* Refuses a file, which may be of another kind; `expected` if that is unknown. */
static bool refuse_file(const char* data, size_t size, int32_t code,
                        uint64_t offset, const char* expected,
                        fnabi_error* error) {
  const char* kind = fnabi_file_kind(data, size);
  fnabi_fail(error, code, offset, kind == NULL ? expected : "a .vmfb module");
  error->found = kind;
  return false;
}

/* Refuses an image of HRX's VM: 8 bytes, then the major and the minor version of
 * its core, 16 bits each. The path has the version, unless the file ends first. */
static bool refuse_image(const char* data, size_t size, fnabi_error* error) {
  fnabi_fail(error, FNABI_MODULE_SUCCESSOR, IMAGE_VERSION,
             "a .vmfb module, which is a FlatBuffer");
  if (size >= IMAGE_VERSION + 4)
    snprintf(error->path, sizeof error->path, "core version %u.%u",
             (unsigned)little(data + IMAGE_VERSION, 2),
             (unsigned)little(data + IMAGE_VERSION + 2, 2));
  return false;
}

/* Finds the FlatBuffer and begins a walk. */
static bool begin(const char* data, size_t size, bool lenient, fnabi_fb* fb,
                  fnabi_writer* writer, fnabi_error* error) {
  size_t start = 0;
  if (size >= IMAGE_VERSION && memcmp(data, "IREEVM\0", IMAGE_VERSION) == 0)
    return refuse_image(data, size, error);
  if (size >= 4 && memcmp(data, "PK\x03\x04", 4) == 0) {
    start = ZIP_HEADER;
    if (size >= ZIP_HEADER)
      start += (size_t)(little(data + 26, 2) + little(data + 28, 2));
  }
  if (start > size || size - start < IDENTIFIER + 4) {
    bool is_zip =
        size > 0 && memcmp(data, "PK\x03\x04", size < 4 ? size : 4) == 0;
    if (!is_zip)
      return refuse_file(data, size, FNABI_MODULE_SIZE, size, NULL, error);
    fnabi_fail(error, FNABI_MODULE_SIZE, size, NULL);
    return false;
  }
  /* Before the size, so that a file of another kind is reported as such. */
  if (memcmp(data + start + IDENTIFIER, "IREE", 4) != 0)
    return refuse_file(data, size, FNABI_MODULE_IDENTIFIER, start + IDENTIFIER,
                       "\"IREE\"", error);
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
  uint64_t flatbuffer = little(data + start, 4);
  return start + 4 + (flatbuffer < IDENTIFIER ? IDENTIFIER : flatbuffer);
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

/* Up to February 2023 the root had no requirements and no dependencies, and
 * the version of the bytecode, at most 14, was its field 11: where the offset of
 * the state is today. */
enum { OLD_VERSION = 11, OLD_MAJOR = 14, OLD_FIELDS = 14 };

/* Whether a buffer that does not fit the schema has a root of the old one. */
static bool is_old_schema(const fnabi_fb* fb) {
  const char* data = (const char*)fb->data;
  uint64_t root = ROOT + little(data + ROOT, 4);
  if (root + 4 > fb->size) return false;
  int64_t vtable = (int64_t)root - (int32_t)little(data + root, 4);
  size_t member = 4 + 2 * OLD_VERSION;
  if (vtable < 0 || (uint64_t)vtable + member + 2 > fb->size) return false;
  uint64_t size = little(data + vtable, 2);
  if (size < member + 2 || size > 4 + 2 * OLD_FIELDS) return false;
  uint64_t at = little(data + vtable + member, 2);
  if (at == 0 || root + at + 4 > fb->size) return false;
  uint64_t version = little(data + root + at, 4);
  return version >> 16 != 0 && version >> 16 <= OLD_MAJOR &&
         (version & 0xFFFF) == 0;
}

bool fnabi_vmfb_walk(const char* data, size_t size, bool lenient, fnabi_fb* fb,
                     fnabi_error* error) {
  if (!begin(data, size, lenient, fb, NULL, error)) return false;
  if (fnabi_fb_walk(fb, &fnabi_vmfb_table, ROOT)) return true;
  if (is_old_schema(fb))
    fnabi_fail(error, FNABI_MODULE_SCHEMA, fb->origin + ROOT,
               "a schema of March 2023 or later");
  return false;
}

int64_t fnabi_vmfb_verify(const char* data, size_t size, bool lenient,
                          fnabi_error* error) {
  fnabi_fb fb;
  return fnabi_vmfb_walk(data, size, lenient, &fb, error) ? 0 : -1;
}

bool fnabi_vmfb_begin(const char* data, size_t size, const fnabi_fb* known,
                      fnabi_fb* fb, fnabi_fb_view* root, fnabi_writer* w,
                      fnabi_error* error) {
  if (known != NULL)
    fnabi_fb_again(fb, known, true, w, error);
  else if (!begin(data, size, true, fb, w, error))
    return false;
  return fnabi_fb_enter(fb, &fnabi_vmfb_table, ROOT, root);
}

static bool write_field(fnabi_fb* fb, const fnabi_fb_view* root, int32_t id) {
  return fnabi_fb_walk_field(fb, root, &fnabi_vmfb_table.fields[id]);
}

int64_t fnabi_vmfb_head(const char* data, size_t size, uint8_t* out,
                        size_t capacity, fnabi_error* error) {
  fnabi_fb fb;
  fnabi_fb_view root;
  fnabi_writer w = {out, capacity, 0};
  if (!fnabi_vmfb_begin(data, size, NULL, &fb, &root, &w, error)) return -1;
  uint64_t bytecode = (uint64_t)fnabi_fb_int(
      &fb, &root, &fnabi_vmfb_table.fields[MODULE_BYTECODE_VERSION]);
  fnabi_pack_array(&w, 6);
  pack_layout(&fb, size, &w);
  if (!write_field(&fb, &root, MODULE_NAME)) return -1;
  write_field(&fb, &root, MODULE_VERSION); /* numbers, which cannot fail */
  write_field(&fb, &root, MODULE_REQUIREMENTS);
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
  if (id < 0 || id >= (int32_t)fnabi_vmfb_table.count)
    return fnabi_fail(error, FNABI_UNSUPPORTED, 0, "an id of 0 to 15");
  if (!fnabi_vmfb_begin(data, size, NULL, &fb, &root, &w, error) ||
      !write_field(&fb, &root, id))
    return -1;
  return (int64_t)w.size;
}
