/* Terms: what is not known of a view is equal to nothing, a choice between two
 * equal values is one of them, and a sum is the same each time. */
#include "check.h"
#include "infer/term.h"
#include "vmfb/bytecode.h"

int main(void) {
  static const fnabi_term nothing[] = {FNABI_TERM_UNKNOWN, FNABI_TERM_NULL};
  fnabi_terms terms;
  CHECK(fnabi_terms_open(&terms, 100));
  for (int i = 0; i < 2; i++) {
    CHECK(fnabi_term_dim(&terms, nothing[i], 0) == FNABI_TERM_UNKNOWN);
    CHECK(fnabi_term_rank(&terms, nothing[i]) == FNABI_TERM_UNKNOWN);
    CHECK(fnabi_term_element_type(&terms, nothing[i]) == FNABI_TERM_UNKNOWN);
    CHECK(fnabi_term_storage(&terms, nothing[i]) == FNABI_TERM_UNKNOWN);
  }
  fnabi_term view = fnabi_term_view(&terms, 0, FNABI_RANK_UNKNOWN, NULL, 0);
  CHECK(view != FNABI_TERM_UNKNOWN);
  CHECK(fnabi_term_dim(&terms, view, 0) == FNABI_TERM_UNKNOWN);
  CHECK(fnabi_term_rank(&terms, view) == FNABI_TERM_UNKNOWN);
  CHECK(fnabi_term_element_type(&terms, view) == FNABI_TERM_UNKNOWN);
  static const unsigned selects[] = {FNABI_OP_SELECT_I32, FNABI_OP_SELECT_I64};
  fnabi_term other = fnabi_term_make(&terms, FNABI_TERM_ARGUMENT, 0, 0, 0, 0);
  fnabi_term numbers[] = {fnabi_term_constant(&terms, 0),
                          fnabi_term_constant(&terms, 1),
                          fnabi_term_constant(&terms, 2)};
  for (int i = 0; i < 2; i++) {
    CHECK(fnabi_term_pure(&terms, selects[i], view, view, view) == view);
    for (int k = 0; k < 3; k++) { /* by a constant */
      fnabi_term one =
          fnabi_term_pure(&terms, selects[i], numbers[k], view, other);
      CHECK(one == (k == 0 ? other : view));
      one = fnabi_term_pure(&terms, selects[i], numbers[k], numbers[1],
                            numbers[2]);
      CHECK(one == numbers[k == 0 ? 2 : 1]);
    }
  }
  CHECK(terms.dims.size == 0); /* a sum has no dims to look for */
  fnabi_term sum =
      fnabi_term_pure(&terms, FNABI_OP_ADD_I32, other, numbers[2], 0);
  CHECK(sum != FNABI_TERM_UNKNOWN);
  CHECK(sum == fnabi_term_pure(&terms, FNABI_OP_ADD_I32, other, numbers[2], 0));
  fnabi_terms_close(&terms);
  return 0;
}
