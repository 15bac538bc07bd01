/* module.h - properties of the functions of modules, for any input. */
#ifndef MODULE_H
#define MODULE_H

#include "check.h"

enum { MODULE_FIELDS = 16 };

DEFINE_WRITER(module_head, fnabi_vmfb_head)
DEFINE_WRITER(module_exports, fnabi_vmfb_exports)

static int64_t module_field(const call* c, uint8_t* out, size_t capacity,
                            fnabi_error* error) {
  return fnabi_vmfb_field(c->data, c->size, (int32_t)c->number, out, capacity,
                          error);
}

DEFINE_WRITER(module_check, fnabi_vmfb_check)

/* Decodes, or returns the code of an error that is inside the input. */
static int32_t module_decode(const call* c, size_t* size) {
  fnabi_error error;
  uint8_t* message = output_of(c, size, &error);
  if (message == NULL) {
    check_error(&error, c->size);
    return error.code;
  }
  CHECK(*size > 0);
  release(message);
  return FNABI_OK;
}

/* Whether it is a module; if `lenient`, it may have null attributes. */
static bool module_verify(const void* data, size_t size, bool lenient) {
  fnabi_error error;
  int64_t verified = fnabi_vmfb_verify(data, size, lenient, &error);
  CHECK(verified == 0 || verified == -1);
  if (verified < 0) check_error(&error, size);
  return verified == 0;
}

enum { MODULE_INVALID, MODULE_LENIENT, MODULE_VALID };

/* A verified module decodes, unless an ordinal is outside its table, or shared
 * text is longer than the size allows. Other files may be decoded too, without
 * harm. Findings report skipped attributes and ordinals outside their tables.
 */
static int check_module(const void* data, size_t size) {
  bool lenient = module_verify(data, size, true);
  bool valid = module_verify(data, size, false);
  CHECK(lenient || !valid);
  size_t written;
  call findings = {module_check, data, size, 0, 0};
  int32_t checked = module_decode(&findings, &written);
  bool found = checked != FNABI_OK || written > 5; /* bytes of an empty list */
  CHECK(!lenient || checked == FNABI_OK || checked == FNABI_WORK);
  CHECK(!lenient || valid || found);
  for (int i = -2; i < MODULE_FIELDS; i++) {
    call c = {i == -2   ? module_exports
              : i == -1 ? module_head
                        : module_field,
              data, size, i, 0};
    int32_t code = module_decode(&c, &written);
    bool outside = code == FNABI_MODULE_ORDINAL && i == -2 && found;
    CHECK(!lenient || code == FNABI_OK || code == FNABI_WORK || outside);
  }
  return valid ? MODULE_VALID : lenient ? MODULE_LENIENT : MODULE_INVALID;
}

#endif /* MODULE_H */
