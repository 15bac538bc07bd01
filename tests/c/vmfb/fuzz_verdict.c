/* Which releases load an edited module: the verdict is the same from the module
 * and from what it demands, or both fail, inside the module; and bytes that are
 * no demands are refused. */
#include "base/message.h"
#include "vmfb/any_module.h"

DEFINE_WRITER(demand, fnabi_vmfb_demands)

/* The tag chooses where the module is loaded. */
static const char* const drivers[] = {NULL, "local-task", "vulkan"};
static const char* const machines[] = {NULL, "x86_64", "arm_64"};

static int64_t judge(const call* c, uint8_t* out, size_t capacity,
                     fnabi_error* error) {
  const char *driver = drivers[c->tag % 3], *machine = machines[c->tag / 3 % 3];
  size_t driver_size = driver != NULL ? strlen(driver) : 0;
  size_t machine_size = machine != NULL ? strlen(machine) : 0;
  return (c->number == 0
              ? fnabi_vmfb_runs_on(c->data, c->size, driver, driver_size,
                                   machine, machine_size, out, capacity, error)
              : fnabi_runtime_verdict(c->data, c->size, driver, driver_size,
                                      machine, machine_size, out, capacity,
                                      error));
}

/* [[[kind, subject, wanted, refuses, releases, [...]]...], hosts, refused,
 * unknown]: no release both refuses and is unknown, and each one that refuses
 * has a cause. */
static void check_verdict(const uint8_t* message, size_t size) {
  fnabi_reader r = {message, size, 0};
  size_t fields, causes;
  int64_t refused, unknown, releases, reasons = 0;
  CHECK(fnabi_unpack_array(&r, &fields) && fields == 4);
  CHECK(fnabi_unpack_array(&r, &causes));
  for (size_t i = 0; i < causes; i++) {
    bool refuses = false;
    CHECK(fnabi_unpack_array(&r, &fields) && fields == 6);
    for (int k = 0; k < 3; k++) CHECK(fnabi_unpack_skip(&r));
    if (!fnabi_unpack_nil(&r)) CHECK(fnabi_unpack_bool(&r, &refuses));
    CHECK(fnabi_unpack_int(&r, &releases) && fnabi_unpack_skip(&r));
    if (refuses) reasons |= releases;
  }
  CHECK(fnabi_unpack_skip(&r));
  CHECK(fnabi_unpack_int(&r, &refused) && fnabi_unpack_int(&r, &unknown));
  CHECK(refused == reasons && (refused & unknown) == 0);
  CHECK(r.at == size);
}

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  fnabi_error error, other;
  input in = {bytes, size};
  size_t written, again, kept;
  int32_t tag = (int32_t)take(&in, 1);
  call bare = {judge, in.data, in.size, 1, tag};
  uint8_t* message = output_of(&bare, &written, &error);
  if (message != NULL) {
    check_verdict(message, written);
    release(message);
  } else {
    check_error(&error, in.size);
  }

  module m = edited_module(&in);
  call whole = {judge, m.data, m.size, 0, tag};
  call first = {demand, m.data, m.size, 0, 0};
  message = output_of(&whole, &written, &error);
  uint8_t* demands = output_of(&first, &kept, &other);
  CHECK((message == NULL) == (demands == NULL));
  if (message == NULL) {
    check_error(&error, m.size);
    CHECK(error.code == other.code && error.offset == other.offset);
  } else {
    call recorded = {judge, demands, kept, 1, tag};
    uint8_t* same = output_of(&recorded, &again, &error);
    CHECK(same != NULL && again == written);
    CHECK(memcmp(same, message, written) == 0);
    check_verdict(message, written);
    release(same);
    release(message);
    release(demands);
  }
  release(m.data);
  return 0;
}
