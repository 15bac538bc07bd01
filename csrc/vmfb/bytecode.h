/* bytecode.h - VM bytecode: the decoder of its instructions, and the parts of a
 * module that they refer to. Private.
 *
 * All functions accept hostile bytes. A decoded operand is inside the function,
 * but the register, ordinal or offset in it may have any value.
 * fnabi_bytecode_check_functions reports the invalid ones. */
#ifndef FNABI_MODULE_BYTECODE_H
#define FNABI_MODULE_BYTECODE_H

#include "base/text.h"
#include "vmfb/bytecode_table.h"
#include "vmfb/vmfb.h"

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
  uint8_t since;    /* the first major version that has it */
  uint8_t feature;  /* the bit that a function's requirements need, or 0 */
  const char* name; /* "call.variadic" */
  const char* operands;
} fnabi_bytecode_op;

/* Returns the row of an instruction, or NULL. */
const fnabi_bytecode_op* fnabi_bytecode_find(unsigned op);

/* Bits of a register of the ref bank. */
#define FNABI_REGISTER_REF 0x8000u
#define FNABI_REGISTER_MOVE 0x4000u
#define FNABI_REGISTER_REF_NUMBER 0x3FFFu
#define FNABI_CALLEE_IMPORT 0x80000000u
#define FNABI_SEGMENT_SINGLE 0xFFFFu /* the argument is not a span */

/* An operand. Its kind is its letter in the table:
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
  char element;    /* for [: the kind of its registers; else 0 */
  bool written;    /* a result */
  bool padded;     /* the padding byte before it is not 0 */
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
  uint32_t size;   /* in bytes */
  uint32_t next;   /* where the next is, or the size of the function */
  uint8_t count;   /* of operands; the results come last */
  bool ends;       /* the block */
  fnabi_operand operands[FNABI_OPERANDS];
} fnabi_instruction;

/* The bytes of a function. */
typedef struct fnabi_bytecode_view {
  const uint8_t* code;
  uint32_t size;
  uint16_t major;  /* version */
  uint64_t origin; /* file offset of the first byte, for errors */
} fnabi_bytecode_view;

/* Decodes the instruction at `offset`, which must be below view->size. Fails
 * with FNABI_BYTECODE_OPCODE, or with FNABI_BYTECODE_END if it extends past the
 * end of the function; at->offset is set even then. The error's offset is in
 * the file. A single byte after the last block is no instruction, since no
 * runtime reads it. To iterate over a function:
 *
 *   for (uint32_t o = 0; o < view.size; o = at.next)
 *     if (!fnabi_bytecode_decode(&view, o, &at, error)) return false; */
bool fnabi_bytecode_decode(const fnabi_bytecode_view* view, uint32_t offset,
                           fnabi_instruction* at, fnabi_error* error);

/* The sizes of instructions without lists, by their numbers; 0: not known yet.
 * They are those of one version. Initialize it with zeros. */
typedef struct fnabi_bytecode_sizes {
  uint8_t of[0x90];
} fnabi_bytecode_sizes;

/* Returns only the size of an instruction, which takes much less time, or 0 if
 * it fails as fnabi_bytecode_decode does. */
uint32_t fnabi_bytecode_measure_new(const fnabi_bytecode_view* view,
                                    uint32_t offset,
                                    fnabi_bytecode_sizes* sizes,
                                    fnabi_error* error);
static inline uint32_t fnabi_bytecode_measure(const fnabi_bytecode_view* view,
                                              uint32_t offset,
                                              fnabi_bytecode_sizes* sizes,
                                              fnabi_error* error) {
  uint8_t number = view->code[offset];
  uint32_t size = number < sizeof sizes->of ? sizes->of[number] : 0;
  return size != 0 && size <= view->size - offset
             ? size
             : fnabi_bytecode_measure_new(view, offset, sizes, error);
}

static inline uint16_t fnabi_bytecode_u16(const uint8_t* bytes) {
  return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static inline uint32_t fnabi_bytecode_u32(const uint8_t* bytes) {
  return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
         (uint32_t)bytes[3] << 24;
}

/* Entry `index` of a list of registers or sizes; must be below the count. */
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

/* Iterates over the cases of a branch table; set *at to 0 first. Fills in the
 * target (p) and the remap list (m). Returns false after the last one. */
bool fnabi_operand_case(const fnabi_operand* cases, uint32_t* at,
                        fnabi_operand* target, fnabi_operand* remap);

/* ------------------------------------------------------ calling conventions */

/* The target of a call: a function or an import. The name of a function is that
 * of its first export, or that in the debug database. */
typedef struct fnabi_callee {
  fnabi_text name;
  fnabi_text cconv;              /* as in the file */
  bool readable;                 /* whether the calling convention is valid */
  fnabi_text arguments, results; /* its sides, without a 'v' */
} fnabi_callee;

/* Iterates over the registers of a side in the order of a register list. */
typedef struct fnabi_registers {
  fnabi_text side;
  const fnabi_operand* segments; /* NULL: spans have no sizes */
  size_t at;                     /* in the side */
  uint32_t item;                 /* index in the side; a span is one item */
  uint32_t left;                 /* tuples of the span that are left */
  size_t span;     /* start of its tuple in the side, 0 outside spans */
  bool short_list; /* `segments` has no size for a span */
} fnabi_registers;

void fnabi_registers_begin(fnabi_registers* r, fnabi_text side,
                           const fnabi_operand* segments);

/* Implements fnabi_registers_next at the start and the end of spans. */
char fnabi_registers_step(fnabi_registers* r);

/* Returns the letter of the next register (i I f F r), or 0 at the end and if
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
  uint64_t place;           /* file offset of its descriptor */
  int32_t offset, length;   /* in the bytecode, unchecked */
  uint32_t requirements;
  int16_t blocks, values, refs; /* counts of blocks, and of registers by bank */
  bool exported;                /* read with the names */
} fnabi_function;

typedef struct fnabi_rodata {
  const uint8_t* data; /* NULL: not inside the data */
  uint64_t offset;     /* in the file; it may be outside */
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
  fnabi_error* error; /* filled in by the functions that use the module */
  /* offsets of the tables and the code in the FlatBuffer */
  size_t type_place, import_place, function_place, signature_place, code_place;
  size_t signature_count, code_size;
} fnabi_bytecode;

/* Reads the parts of a module. Fails as fnabi_vmfb_field does, but accepts
 * unknown versions: see fnabi_bytecode_known. The caller must close `b` even
 * after a failure. Allocates at most 24 bytes per byte of the module's tables.
 */
bool fnabi_bytecode_open(fnabi_bytecode* b, const char* data, size_t size,
                         fnabi_error* error);
void fnabi_bytecode_close(fnabi_bytecode* b);

/* The same without the names of functions and types and without read-only data
 * except its count, which suffices to check a module. The other functions add
 * names. */
bool fnabi_bytecode_open_unnamed(fnabi_bytecode* b, const char* data,
                                 size_t size, fnabi_error* error);
bool fnabi_bytecode_name_functions(fnabi_bytecode* b);
bool fnabi_bytecode_name_types(fnabi_bytecode* b);

/* The same with the counts only; `known` is as for fnabi_vmfb_begin. The second
 * function reads an import, or only its name. The third adds the code of the functions, without their calling
 * conventions, and read-only data; `data` is still the module. */
bool fnabi_bytecode_open_tables(fnabi_bytecode* b, const char* data,
                                size_t size, const fnabi_fb* known,
                                fnabi_error* error);
bool fnabi_bytecode_read_import(fnabi_bytecode* b, size_t index, bool name,
                                fnabi_callee* import);
bool fnabi_bytecode_read_code(fnabi_bytecode* b, const char* data, size_t size);

/* Reads one function only, and the types and callees that its instructions
 * refer to. If it calls no other function, the time does not depend on the
 * number of functions. The caller checks for an unknown version, a function
 * that does not exist, and bytes that are not an instruction. */
bool fnabi_bytecode_open_function(fnabi_bytecode* b, const char* data,
                                  size_t size, uint64_t ordinal,
                                  fnabi_error* error);

/* Whether the version is 15.0, 16.0 or 17.0. If not, the error is
 * FNABI_BYTECODE_VERSION. */
bool fnabi_bytecode_known(const fnabi_bytecode* b, fnabi_error* error);

/* Returns the target of a callee operand, or NULL if it is out of range. */
const fnabi_callee* fnabi_bytecode_callee(const fnabi_bytecode* b,
                                          uint64_t value);

/* ------------------------------------------------------------- verification */

/* Checks every function. Writes the findings as fnabi_bytecode_check does,
 * unless `w` is NULL. `sound`, unless NULL, has one element per function, set
 * to whether the function has no findings except notices. In a sound function
 * all registers and ordinals are in range, and calls and returns have the
 * registers of their calling conventions. Fails with FNABI_WORK or
 * FNABI_MEMORY. The version must be known. */
bool fnabi_bytecode_check_functions(fnabi_bytecode* b, fnabi_writer* w,
                                    size_t* findings, bool* sound);

#endif /* FNABI_MODULE_BYTECODE_H */
