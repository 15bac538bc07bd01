/* Vectors refuse sizes that no memory has. */
#include "allocations.h"
#include "base/vector.h"
#include "check.h"

int main(void) {
  fnabi_vector none = {NULL, 0, 0}, vast = {NULL, 0, SIZE_MAX / 2};
  CHECK(!fnabi_vector_reserve(&none, SIZE_MAX));
  CHECK(!fnabi_vector_reserve(&none, SIZE_MAX / 2 + 1));
  CHECK(allocations == 0);
  refused_from = 0;
  CHECK(!fnabi_vector_grow(&none, 1));
  CHECK(!fnabi_vector_grow(&vast, 1)); /* asks for twice its capacity */
  CHECK(allocations == 2 && largest == SIZE_MAX - 1);
  CHECK(none.data == NULL && none.capacity == 0 && vast.data == NULL);
  return 0;
}
