/* Checks what a function has returned. */
#include "lane/calls/result.h"

bool lane_result_settle(fnabi_any* result, fnabi_any* refused) {
  bool good;
  switch (result->type_index) {
    case FNABI_INDEX_INT:
    case FNABI_INDEX_FLOAT:
      result->small_size = 0;
      return true;
    case FNABI_INDEX_NONE:
    case FNABI_INDEX_BOOL:
    case FNABI_INDEX_POINTER:
    case FNABI_INDEX_DTYPE:
    case FNABI_INDEX_DEVICE:
      good = true;
      break;
    case FNABI_INDEX_SMALL_STR:
    case FNABI_INDEX_SMALL_BYTES:
      good = result->small_size <= FNABI_SMALL_MAX;
      break;
    default:
      good = fnabi_any_object(result) != NULL;
  }
  fnabi_any_normalize(result);
  if (!good) {
    *refused = *result;
    fnabi_any_set(result, FNABI_INDEX_NONE, 0);
  }
  return good;
}
