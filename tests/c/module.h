/* module.h - what holds for any input to the functions of modules. */
#ifndef MODULE_H
#define MODULE_H

#include "check.h"

enum { MODULE_FIELDS = 16 };

static int64_t module_head(const call* c, uint8_t* out, size_t capacity,
                           fnabi_error* error) {
  return fnabi_module_head(c->data, c->size, out, capacity, error);
}

static int64_t module_exports(const call* c, uint8_t* out, size_t capacity,
                              fnabi_error* error) {
  return fnabi_module_exports(c->data, c->size, out, capacity, error);
}

static int64_t module_field(const call* c, uint8_t* out, size_t capacity,
                            fnabi_error* error) {
  return fnabi_module_field(c->data, c->size, (int32_t)c->number, out, capacity,
                            error);
}

/* Decodes, or answers the code of an error that lies inside the input. */
static int32_t module_decode(const call* c) {
  fnabi_error error;
  size_t size;
  uint8_t* message = answer(c, &size, &error);
  if (message == NULL) {
    check_error(&error, c->size);
    return error.code;
  }
  CHECK(size > 0);
  release(message);
  return FNABI_OK;
}

/* True for a module. What was verified decodes, but for ordinals outside and
 * for more text than its size allows; what was not may be tried all the same.
 */
static bool check_module(const void* data, size_t size) {
  fnabi_error error;
  int64_t verified = fnabi_module_verify(data, size, &error);
  CHECK(verified == 0 || verified == -1);
  if (verified < 0) check_error(&error, size);
  for (int i = -2; i < MODULE_FIELDS; i++) {
    call c = {i == -2   ? module_exports
              : i == -1 ? module_head
                        : module_field,
              data, size, i, 0};
    int32_t code = module_decode(&c);
    CHECK(verified < 0 || code == FNABI_OK || code == FNABI_WORK ||
          (code == FNABI_MODULE_ORDINAL && i == -2));
  }
  return verified == 0;
}

#endif /* MODULE_H */
