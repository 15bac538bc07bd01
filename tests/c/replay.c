/* Runs a fuzz target without a fuzzer, so that its corpus is a test with any
 * compiler. The inputs are the files named on the command line, truncations of
 * them, and random changes of them from a fixed seed. */
#include "check.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

enum { TRUNCATIONS = 1000, CHANGES = 5000 };

static void run(const uint8_t* data, size_t size) {
  uint8_t* copy = exact(data, size);
  LLVMFuzzerTestOneInput(copy, size);
  release(copy);
}

/* Makes up to four changes: a byte set, a bit inverted, a piece of the file
 * copied over another, or cut out. */
static size_t change(uint8_t* data, size_t size, uint32_t* random) {
  for (unsigned left = 1 + next_random(random) % 4; left > 0 && size > 0;
       left--) {
    size_t at = next_random(random) % size, from = next_random(random) % size;
    size_t piece = next_random(random) % 8;
    if (piece > size - at) piece = size - at;
    if (piece > size - from) piece = size - from;
    switch (next_random(random) % 5) {
      case 0:
        data[at] = (uint8_t)next_random(random);
        break;
      case 1:
        data[at] = (uint8_t)"09!-dtBIR_Kk"[next_random(random) % 12];
        break;
      case 2:
        data[at] ^= (uint8_t)(1u << next_random(random) % 8);
        break;
      case 3:
        memmove(data + at, data + from, piece);
        break;
      default:
        memmove(data + at, data + at + piece, size - at - piece);
        size -= piece;
    }
  }
  return size;
}

int main(int count, char** names) {
  uint32_t random = 2463534242u;
  run(NULL, 0);
  for (int i = 1; i < count; i++) {
    FILE* file = fopen(names[i], "rb");
    CHECK(file != NULL);
    CHECK(fseek(file, 0, SEEK_END) == 0);
    long end = ftell(file);
    CHECK(end >= 0);
    size_t size = (size_t)end;
    rewind(file);
    uint8_t* data = exact(NULL, size);
    CHECK(fread(data, 1, size, file) == size);
    fclose(file);

    run(data, size);
    size_t step = 1 + size / TRUNCATIONS;
    for (size_t cut = 0; cut < size; cut += step) run(data, cut);
    uint8_t* changed = exact(NULL, size);
    for (int k = 0; k < CHANGES; k++) {
      memcpy(changed, data, size);
      run(changed, change(changed, size, &random));
    }
    release(changed);
    release(data);
  }
  return 0;
}
