/* bytecode.h - VM bytecode: the parts of a module that it refers to, and its
 * instructions one by one. Private.
 *
 * Everything here may be given hostile bytes: a decoded operand lies inside the
 * function, but the register, ordinal or offset that it holds is whatever the
 * file says. fnabi_bytecode_check_function reports those that lead nowhere. */
#ifndef FNABI_MODULE_BYTECODE_H
#define FNABI_MODULE_BYTECODE_H

#include "base/text.h"
#include "module/bytecode_table.h"
#include "module/vmfb.h"

/* ------------------------------------------------------------- instructions */

/* Instructions by page and number: FNABI_OP_CALL, FNABI_OP_ADD_F32. */
#define FNABI_BYTECODE_PREFIX(page, prefix, feature) FNABI_PAGE_##page = prefix,
enum { FNABI_BYTECODE_PAGES(FNABI_BYTECODE_PREFIX) };
#undef FNABI_BYTECODE_PREFIX
#define FNABI_BYTECODE_OP(page, number, identifier, name, operands, since) \
  FNABI_OP_##identifier = FNABI_PAGE_##page << 8 | (number),
typedef enum fnabi_op { FNABI_BYTECODE_TABLE(FNABI_BYTECODE_OP) } fnabi_op;
#undef FNABI_BYTECODE_OP

/* A row of the table. */
typedef struct fnabi_bytecode_op {
  uint16_t op;      /* fnabi_op */
  uint8_t since;    /* the major version that brought it */
  uint8_t feature;  /* the bit that a function needs for it, or 0 */
  const char* name; /* "call.variadic" */
  const char* operands;
} fnabi_bytecode_op;

/* The row of an instruction, NULL where there is none. */
const fnabi_bytecode_op* fnabi_bytecode_find(unsigned op);

/* Bits of a register of the ref bank. */
#define FNABI_REGISTER_REF 0x8000u
#define FNABI_REGISTER_MOVE 0x4000u
#define FNABI_REGISTER_REF_NUMBER 0x3FFFu
#define FNABI_CALLEE_IMPORT 0x80000000u
#define FNABI_SEGMENT_SINGLE 0xFFFFu /* of an argument that is no span */

/* An operand: what its letter in the table says.
 *
 *   kind                value                       count       items
 *   i I f F r R         register, with its bits     -           -
 *   4 8 e E             immediate, zero-extended    -           -
 *   g h G t d c C p     offset, ordinal, callee     -           -
 *   s                   -                           of bytes    the bytes
 *   * [ #               -                           of entries  u16 each
 *   m                   -                           of pairs    2 u16 each
 *   T                   -                           of cases    the cases
 */
typedef struct fnabi_operand {
  char kind;
  char element;    /* of [: the kind of its registers; else 0 */
  bool written;    /* a result */
  bool padded;     /* by a byte that is not 0 */
  uint32_t offset; /* in the function, after any padding */
  uint32_t count;
  uint32_t size; /* of the items in bytes */
  uint64_t value;
  const uint8_t* items;
} fnabi_operand;

#define FNABI_OPERANDS 6

typedef struct fnabi_instruction {
  const fnabi_bytecode_op* op;
  uint32_t offset; /* in the function */
  uint32_t size;   /* in bytes; the next one begins after them */
  uint8_t count;   /* of operands; the written ones are the last */
  bool ends;       /* the block */
  fnabi_operand operands[FNABI_OPERANDS];
} fnabi_instruction;

/* The bytes of a function. */
typedef struct fnabi_bytecode_view {
  const uint8_t* code;
  uint32_t size;
  uint16_t major;  /* version */
  uint64_t origin; /* of the first byte in the file, for errors */
} fnabi_bytecode_view;

/* Decodes the instruction at `offset`, which is below view->size. Fails with
 * FNABI_BYTECODE_OPCODE, or with FNABI_BYTECODE_END where it goes past the end
 * of the function; `at->offset` then is set all the same. The error's offset is
 * in the file. To go through a function:
 *
 *   for (uint32_t o = 0; o < view.size; o += at.size)
 *     if (!fnabi_bytecode_decode(&view, o, &at, error)) return false;
 */
bool fnabi_bytecode_decode(const fnabi_bytecode_view* view, uint32_t offset,
                           fnabi_instruction* at, fnabi_error* error);

static inline uint16_t fnabi_bytecode_u16(const uint8_t* bytes) {
  return (uint16_t)(bytes[0] | bytes[1] << 8);
}

/* Entry `index`, which is below the count, of a list of registers or sizes. */
static inline uint16_t fnabi_operand_item(const fnabi_operand* list,
                                          uint32_t index) {
  return fnabi_bytecode_u16(list->items + 2 * (size_t)index);
}

/* Pair `index` of a remap list. */
static inline uint16_t fnabi_operand_source(const fnabi_operand* remap,
                                            uint32_t index) {
  return fnabi_bytecode_u16(remap->items + 4 * (size_t)index);
}
static inline uint16_t fnabi_operand_target(const fnabi_operand* remap,
                                            uint32_t index) {
  return fnabi_bytecode_u16(remap->items + 4 * (size_t)index + 2);
}

/* Goes through the cases of a branch table: *at begins at 0. Fills in a target
 * (p) and a remap list (m); false after the last one. */
bool fnabi_operand_case(const fnabi_operand* cases, uint32_t* at,
                        fnabi_operand* target, fnabi_operand* remap);

/* ------------------------------------------------------ calling conventions */

/* What a call refers to: a function or an import. */
typedef struct fnabi_callee {
  fnabi_text name;  /* of an import, of the first export of a function,
                                or of an internal one in the debug database */
  fnabi_text cconv; /* as the file has it */
  bool readable;    /* the calling convention */
  fnabi_text arguments, results; /* its sides, without a 'v' */
} fnabi_callee;

/* Goes through the registers of a side in the order of a register list. */
typedef struct fnabi_registers {
  fnabi_text side;
  const fnabi_operand* segments; /* NULL: spans have no sizes */
  size_t at;                     /* in the side */
  uint32_t item;   /* of the side, counted from 0; a span is one */
  uint32_t left;   /* tuples of the span that are not read yet */
  size_t span;     /* where its tuple begins, 0 outside spans */
  bool short_list; /* `segments` has no size for a span */
} fnabi_registers;

void fnabi_registers_begin(fnabi_registers* r, fnabi_text side,
                           const fnabi_operand* segments);

/* The same where spans begin or end. */
char fnabi_registers_step(fnabi_registers* r);

/* The letter of the next register (i I f F r), or 0 at the end, and where
 * `short_list` is set. */
static inline char fnabi_registers_next(fnabi_registers* r) {
  char letter = r->at < r->side.size ? r->side.data[r->at] : 'C';
  if (letter == 'C' || letter == 'D' || r->short_list)
    return fnabi_registers_step(r);
  r->at++;
  r->item += r->span == 0;
  return letter;
}

/* ------------------------------------------------------------------ modules */

typedef struct fnabi_function {
  fnabi_callee callee;
  fnabi_bytecode_view view; /* size 0: not inside the bytecode */
  uint64_t place;           /* of its descriptor in the file */
  int32_t offset, length;   /* in the bytecode, as the file has them */
  uint32_t requirements;
  int16_t blocks, values, refs; /* counts of blocks, and of registers by bank */
} fnabi_function;

typedef struct fnabi_rodata {
  const uint8_t* data; /* NULL: not inside the file */
  uint64_t size;
} fnabi_rodata;

/* The parts of a module that instructions refer to. */
typedef struct fnabi_bytecode {
  fnabi_fb fb;
  fnabi_fb_view root;
  uint16_t major, minor; /* version of the bytecode */
  uint32_t requirements;
  uint64_t requirements_place, version_place; /* in the file */
  size_t type_count, import_count, function_count, rodata_count;
  fnabi_text* types; /* names, such as "i32" or "!hal.buffer" */
  fnabi_callee* imports;
  fnabi_function* functions; /* by ordinal */
  fnabi_rodata* rodata;
  uint64_t value_bytes, ref_count; /* of globals */
  fnabi_error* error;              /* that functions on the module fill in */
  /* where the tables and the code are in the FlatBuffer */
  size_t type_place, import_place, function_place, signature_place, code_place;
  size_t signature_count, code_size;
} fnabi_bytecode;

/* Reads the parts of a module. Fails as fnabi_vmfb_field does. A version that
 * is not known is not a failure here: see fnabi_bytecode_known. What was opened
 * must be closed, also after a failure. Allocates at most 24 bytes a byte of
 * the module's tables. */
bool fnabi_bytecode_open(fnabi_bytecode* b, const char* data, size_t size,
                         fnabi_error* error);
void fnabi_bytecode_close(fnabi_bytecode* b);

/* The same without the names of functions and types, and of read-only data the
 * count alone: enough to check. Names of functions may be added. */
bool fnabi_bytecode_open_unnamed(fnabi_bytecode* b, const char* data,
                                 size_t size, fnabi_error* error);
bool fnabi_bytecode_name_functions(fnabi_bytecode* b);

/* The same of one function: that one is read, and the types and the callees
 * that its instructions refer to. Without calls to other functions the time
 * does not depend on how many there are. An unknown version, a function that is
 * not there and bytes that are no instruction are left to the caller. */
bool fnabi_bytecode_open_function(fnabi_bytecode* b, const char* data,
                                  size_t size, uint64_t ordinal,
                                  fnabi_error* error);

/* Whether the version is 15.0, 16.0 or 17.0; else fills in
 * FNABI_BYTECODE_VERSION. */
bool fnabi_bytecode_known(const fnabi_bytecode* b, fnabi_error* error);

/* What a callee operand refers to, NULL where there is nothing. */
const fnabi_callee* fnabi_bytecode_callee(const fnabi_bytecode* b,
                                          uint64_t value);

/* ------------------------------------------------------------- verification */

/* Checks every function, and writes each finding as fnabi_bytecode_check has
 * it, unless `w` is NULL. `sound`, unless NULL, has room for each function:
 * whether it has notices at most. In a sound function every register is one
 * that it has, every ordinal is one of its table, and calls and returns have
 * the registers of their calling conventions. Fails with FNABI_WORK or
 * FNABI_MEMORY. The version must be known. */
bool fnabi_bytecode_check_functions(fnabi_bytecode* b, fnabi_writer* w,
                                    size_t* findings, bool* sound);

#endif /* FNABI_MODULE_BYTECODE_H */
