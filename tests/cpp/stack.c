/* Prints how many KB of a stack the decoders into columns take. */
#include <fnabi/fnabi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1 << 20, LINES = 5000 };

static void* decode(void* decoder) {
  static const char* const lines[] = {"I11!B8!d10d20R1!\n",
                                      "I13!S10!k0_0k1_1R1!\n"};
  for (int32_t abi = FNABI_ABI_RAW; abi <= FNABI_ABI_SIP; abi++) {
    size_t length = strlen(lines[abi]), size = LINES * length, used;
    fnabi_columns* columns = fnabi_columns_new(abi, *(int32_t*)decoder);
    char* text = malloc(size);
    fnabi_error error;
    if (columns == NULL || text == NULL) break;
    for (size_t i = 0; i < size; i += length)
      memcpy(text + i, lines[abi], length);
    if (fnabi_columns_decode_lines(columns, text, size, true, length, &used,
                                   &error) != LINES)
      abort();
    free(text);
    fnabi_columns_free(columns);
  }
  return NULL;
}

int main(void) {
  size_t most = 0;
  for (int32_t decoder = 0; decoder < FNABI_DECODER_COUNT; decoder++) {
    if (fnabi_decoder_find(decoder) < 0) continue;
    unsigned char* stack = aligned_alloc(1 << 16, SIZE);
    pthread_attr_t attributes;
    pthread_t thread;
    if (stack == NULL) return 1;
    memset(stack, 0xA5, SIZE);
    if (pthread_attr_init(&attributes) != 0 ||
        pthread_attr_setstack(&attributes, stack, SIZE) != 0 ||
        pthread_create(&thread, &attributes, decode, &decoder) != 0 ||
        pthread_join(thread, NULL) != 0)
      return 1;
    size_t free_bytes = 0;
    while (stack[free_bytes] == 0xA5) free_bytes++;
    if (SIZE - free_bytes > most) most = SIZE - free_bytes;
    free(stack);
  }
  printf("%zu\n", most >> 10);
  return 0;
}
