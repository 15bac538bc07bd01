/* The columns of any texts are lines of JSON: one value for each row, whichever
 * rows are written together. The first byte chooses the ABI; lines follow. */
#include "fuzz.h"
#include "many/decoders.h"
#include "many/json_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  int32_t abi = bytes[0] % FNABI_ABI_COUNT;
  fnabi_columns* columns = decoded_lines(
      abi, FNABI_DECODER_BEST, (const char*)bytes + 1, size - 1, true);
  check_columns_json(columns, abi);
  fnabi_columns_free(columns);
  return 0;
}
