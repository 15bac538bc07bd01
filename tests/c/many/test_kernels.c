/* A kernel decodes a block of well-formed raw texts as a whole. One that gave
 * up would only be slower: the scalar decoder would decode them. */
#include "check.h"
#include "many/kernels/block.h"

static const char* const texts[] = {
    "I14!B10!t3d-1d200R4!S1!",
    "I1!R1!",
    "I1!R1!",
    "I1!R1!",
    "I1!R1!",
    "I1!R1!",
    "I1!R7!O1!U1!",
    "I12!S3!t9S4!t10R15!S4!t11B6!d-1d1",
    "I27!B23!t2d12345678d1234d12345R4!B1!",
    "I39!B35!d1d2d3d4d5d6d7d8d9d1d2d3d4d5d6d7d8R1!",
};
enum { TEXTS = sizeof texts / sizeof *texts };

static fnabi_block block;
static int8_t kinds[2][FNABI_BLOCK_ROOM], dtypes[2][FNABI_BLOCK_ROOM];
static int32_t shape_offsets[2][FNABI_BLOCK_ROOM];
static int64_t dims[2][FNABI_BLOCK_ROOM];
static int32_t row_ends[2][FNABI_BLOCK_ROWS];

/* Fills the block with texts from one on, each `gap` bytes after the last. */
static void fill(size_t first, size_t gap) {
  char* to = (char*)block.bytes + FNABI_BLOCK_PAD;
  memset(block.bytes, 0, sizeof block.bytes);
  block.rows = block.size = 0;
  for (size_t i = first;; i++) {
    const char* text = texts[i % TEXTS];
    size_t size = strlen(text), begin = block.rows == 0 ? 0 : block.size + gap;
    if (begin + size > FNABI_BLOCK_SIZE) break;
    if (gap != 0 && begin != 0) to[block.size] = FNABI_BLOCK_BETWEEN;
    memcpy(to + begin, text, size);
    block.begins[block.rows] = (uint16_t)begin;
    block.size = begin + size;
    block.ends[block.rows++] = (uint16_t)block.size;
  }
  to[block.size] = FNABI_BLOCK_BETWEEN;
}

static void test_whole(const fnabi_kernel* kernel, size_t first, size_t gap) {
  fnabi_side_columns sides[2];
  memset(sides, 0, sizeof sides);
  for (int i = 0; i < 2; i++) {
    sides[i].kinds = kinds[i];
    sides[i].dtypes = dtypes[i];
    sides[i].shape_offsets = shape_offsets[i];
    sides[i].dims = dims[i];
  }
  int32_t* const offsets[2] = {row_ends[0], row_ends[1]};
  fill(first, gap);
  size_t rows = block.rows;
  CHECK(rows > 100);
  CHECK(kernel->raw(&block, sides, offsets));
  CHECK(block.rows == rows);
}

int main(void) {
  for (int i = 0; i < FNABI_DECODER_COUNT; i++) {
    const fnabi_kernel* kernel = fnabi_kernel_of((fnabi_decoder)i);
    if (kernel == NULL) continue;
    for (size_t first = 0; first < TEXTS; first++)
      for (size_t gap = 0; gap < 2; gap++) test_whole(kernel, first, gap);
  }
  return 0;
}
