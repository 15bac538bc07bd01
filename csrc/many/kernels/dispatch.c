/* Chooses the block decoder for this processor. */
#include "many/kernels/block.h"

const fnabi_kernel* fnabi_kernel_of(fnabi_decoder decoder) {
#if defined(FNABI_X86)
  if (decoder == FNABI_DECODER_AVX2 && fnabi_processor_has("avx2") &&
      fnabi_processor_has("bmi2") && fnabi_processor_has("popcnt"))
    return &fnabi_kernel_avx2;
  if (decoder == FNABI_DECODER_AVX512 && fnabi_processor_has("avx512bw") &&
      fnabi_processor_has("avx512vl") && fnabi_processor_has("avx512dq") &&
      fnabi_processor_has("avx512vbmi") && fnabi_processor_has("avx512vbmi2"))
    return &fnabi_kernel_avx512;
#elif defined(FNABI_NEON)
  if (decoder == FNABI_DECODER_NEON) return &fnabi_kernel_neon;
#endif
  (void)decoder;
  return NULL;
}

int32_t fnabi_decoder_find(int32_t decoder) {
  if (decoder == FNABI_DECODER_BEST) {
    for (decoder = FNABI_DECODER_COUNT - 1; decoder > FNABI_DECODER_SCALAR;
         decoder--)
      if (fnabi_kernel_of((fnabi_decoder)decoder) != NULL) break;
    return decoder;
  }
  bool here =
      decoder == FNABI_DECODER_REFERENCE || decoder == FNABI_DECODER_SCALAR ||
      (decoder > FNABI_DECODER_SCALAR && decoder < FNABI_DECODER_COUNT &&
       fnabi_kernel_of((fnabi_decoder)decoder) != NULL);
  return here ? decoder : -1;
}
