/* bytecode_table.h - the instruction set of VM bytecode 15.0 to 17.0. Private.
 *
 * The decoder, the verifier and the disassembler read the instructions from
 * this table alone. A row is
 *
 *   X(page, number, identifier, name, operands, since)
 *
 * with the page that the number belongs to, and the major version that brought
 * the instruction; a number means the same in every version that has it.
 * `operands` has a letter for each operand in the order of the bytes:
 *
 *   i I f F   register of the value bank: i32, i64, f32, f64       2 bytes
 *   r R       register of the ref bank; R may have the MOVE bit    2
 *   4 8 e E   immediate: i32, i64, f32, f64                        4, 8, 4, 8
 *   g h       offset of a 4-byte (g) or 8-byte (h) global          4
 *   G         ordinal of a ref global                              4
 *   t         ordinal of a type                                    4
 *   d         ordinal of a read-only data segment                  4
 *   c C       callee, with bit 31 the ordinal of an import; C: imports only
 *                                                                  4
 *   s         string: u16 size, bytes                              2 + size
 *   p         offset of a block marker in the function             4
 *   *         register list of either bank: u16 count, registers   2 + 2 n
 *   [x        register list of registers x                         2 + 2 n
 *   #         segment sizes: u16 count, u16 sizes                  2 + 2 n
 *   m         remap list of a branch: u16 count, pairs of source and target
 *             register, copied one pair after the other            2 + 4 n
 *   T         cases of a branch table: u16 count, then for each p and m
 *   >         the operands after it are written
 *   .         ends the block
 *
 * A p is never last, a ref register that is written is an R, and a * that is
 * written comes after one that is read.
 *
 * Lists other than T begin at an even offset in the function, after one zero
 * byte where they would not. All integers are little endian. */
#ifndef FNABI_MODULE_BYTECODE_TABLE_H
#define FNABI_MODULE_BYTECODE_TABLE_H

/* X(page, prefix, feature): the pages, the byte in front of their numbers (0:
 * none), and the bit in a function's requirements that they need. */
#define FNABI_BYTECODE_PAGES(X) \
  X(CORE, 0x00, 0)              \
  X(F32, 0xE0, 1)               \
  X(F64, 0xE1, 2)

/* clang-format off */
#define FNABI_BYTECODE_CORE(X) \
  X(CORE, 0x00, GLOBAL_LOAD_I32, "global.load.i32", "g>i", 15) \
  X(CORE, 0x01, GLOBAL_STORE_I32, "global.store.i32", "gi", 15) \
  X(CORE, 0x02, GLOBAL_LOAD_INDIRECT_I32, "global.load.indirect.i32", "i>i", 15) \
  X(CORE, 0x03, GLOBAL_STORE_INDIRECT_I32, "global.store.indirect.i32", "ii", 15) \
  X(CORE, 0x04, GLOBAL_LOAD_I64, "global.load.i64", "h>I", 15) \
  X(CORE, 0x05, GLOBAL_STORE_I64, "global.store.i64", "hI", 15) \
  X(CORE, 0x06, GLOBAL_LOAD_INDIRECT_I64, "global.load.indirect.i64", "i>I", 15) \
  X(CORE, 0x07, GLOBAL_STORE_INDIRECT_I64, "global.store.indirect.i64", "iI", 15) \
  X(CORE, 0x08, GLOBAL_LOAD_REF, "global.load.ref", "Gt>R", 15) \
  X(CORE, 0x09, GLOBAL_STORE_REF, "global.store.ref", "GtR", 15) \
  X(CORE, 0x0A, GLOBAL_LOAD_INDIRECT_REF, "global.load.indirect.ref", "it>R", 15) \
  X(CORE, 0x0B, GLOBAL_STORE_INDIRECT_REF, "global.store.indirect.ref", "itR", 15) \
  X(CORE, 0x0C, CONST_I32_ZERO, "const.i32.zero", ">i", 15) \
  X(CORE, 0x0D, CONST_I32, "const.i32", "4>i", 15) \
  X(CORE, 0x0E, CONST_I64_ZERO, "const.i64.zero", ">I", 15) \
  X(CORE, 0x0F, CONST_I64, "const.i64", "8>I", 15) \
  X(CORE, 0x10, CONST_REF_ZERO, "const.ref.zero", ">R", 15) \
  X(CORE, 0x11, CONST_REF_RODATA, "const.ref.rodata", "d>R", 15) \
  X(CORE, 0x12, LIST_ALLOC, "list.alloc", "ti>R", 15) \
  X(CORE, 0x13, LIST_RESERVE, "list.reserve", "ri", 15) \
  X(CORE, 0x14, LIST_SIZE, "list.size", "r>i", 15) \
  X(CORE, 0x15, LIST_RESIZE, "list.resize", "ri", 15) \
  X(CORE, 0x16, LIST_GET_I32, "list.get.i32", "ri>i", 15) \
  X(CORE, 0x17, LIST_SET_I32, "list.set.i32", "rii", 15) \
  X(CORE, 0x18, LIST_GET_I64, "list.get.i64", "ri>I", 15) \
  X(CORE, 0x19, LIST_SET_I64, "list.set.i64", "riI", 15) \
  X(CORE, 0x1A, LIST_GET_REF, "list.get.ref", "rit>R", 15) \
  X(CORE, 0x1B, LIST_SET_REF, "list.set.ref", "riR", 15) \
  X(CORE, 0x1C, SELECT_I32, "select.i32", "iii>i", 15) \
  X(CORE, 0x1D, SELECT_I64, "select.i64", "iII>I", 15) \
  X(CORE, 0x1E, SELECT_REF, "select.ref", "itRR>R", 15) \
  X(CORE, 0x1F, SWITCH_I32, "switch.i32", "ii[i>i", 15) \
  X(CORE, 0x20, SWITCH_I64, "switch.i64", "iI[I>I", 15) \
  X(CORE, 0x21, SWITCH_REF, "switch.ref", "itR[R>R", 15) \
  X(CORE, 0x22, ADD_I32, "add.i32", "ii>i", 15) \
  X(CORE, 0x23, SUB_I32, "sub.i32", "ii>i", 15) \
  X(CORE, 0x24, MUL_I32, "mul.i32", "ii>i", 15) \
  X(CORE, 0x25, DIV_I32_S, "div.i32.s", "ii>i", 15) \
  X(CORE, 0x26, DIV_I32_U, "div.i32.u", "ii>i", 15) \
  X(CORE, 0x27, REM_I32_S, "rem.i32.s", "ii>i", 15) \
  X(CORE, 0x28, REM_I32_U, "rem.i32.u", "ii>i", 15) \
  X(CORE, 0x29, FMA_I32, "fma.i32", "iii>i", 15) \
  X(CORE, 0x2A, ADD_I64, "add.i64", "II>I", 15) \
  X(CORE, 0x2B, SUB_I64, "sub.i64", "II>I", 15) \
  X(CORE, 0x2C, MUL_I64, "mul.i64", "II>I", 15) \
  X(CORE, 0x2D, DIV_I64_S, "div.i64.s", "II>I", 15) \
  X(CORE, 0x2E, DIV_I64_U, "div.i64.u", "II>I", 15) \
  X(CORE, 0x2F, REM_I64_S, "rem.i64.s", "II>I", 15) \
  X(CORE, 0x30, REM_I64_U, "rem.i64.u", "II>I", 15) \
  X(CORE, 0x31, FMA_I64, "fma.i64", "III>I", 15) \
  X(CORE, 0x32, NOT_I32, "not.i32", "i>i", 15) \
  X(CORE, 0x33, AND_I32, "and.i32", "ii>i", 15) \
  X(CORE, 0x34, OR_I32, "or.i32", "ii>i", 15) \
  X(CORE, 0x35, XOR_I32, "xor.i32", "ii>i", 15) \
  X(CORE, 0x36, NOT_I64, "not.i64", "I>I", 15) \
  X(CORE, 0x37, AND_I64, "and.i64", "II>I", 15) \
  X(CORE, 0x38, OR_I64, "or.i64", "II>I", 15) \
  X(CORE, 0x39, XOR_I64, "xor.i64", "II>I", 15) \
  X(CORE, 0x3A, SHL_I32, "shl.i32", "ii>i", 15) \
  X(CORE, 0x3B, SHR_I32_S, "shr.i32.s", "ii>i", 15) \
  X(CORE, 0x3C, SHR_I32_U, "shr.i32.u", "ii>i", 15) \
  X(CORE, 0x3D, SHL_I64, "shl.i64", "Ii>I", 15) \
  X(CORE, 0x3E, SHR_I64_S, "shr.i64.s", "Ii>I", 15) \
  X(CORE, 0x3F, SHR_I64_U, "shr.i64.u", "Ii>I", 15) \
  X(CORE, 0x40, TRUNC_I32_I8, "trunc.i32.i8", "i>i", 15) \
  X(CORE, 0x41, TRUNC_I32_I16, "trunc.i32.i16", "i>i", 15) \
  X(CORE, 0x42, TRUNC_I64_I32, "trunc.i64.i32", "I>i", 15) \
  X(CORE, 0x43, EXT_I8_I32_S, "ext.i8.i32.s", "i>i", 15) \
  X(CORE, 0x44, EXT_I8_I32_U, "ext.i8.i32.u", "i>i", 15) \
  X(CORE, 0x45, EXT_I16_I32_S, "ext.i16.i32.s", "i>i", 15) \
  X(CORE, 0x46, EXT_I16_I32_U, "ext.i16.i32.u", "i>i", 15) \
  X(CORE, 0x47, EXT_I32_I64_S, "ext.i32.i64.s", "i>I", 15) \
  X(CORE, 0x48, EXT_I32_I64_U, "ext.i32.i64.u", "i>I", 15) \
  X(CORE, 0x49, CMP_EQ_I32, "cmp.eq.i32", "ii>i", 15) \
  X(CORE, 0x4A, CMP_NE_I32, "cmp.ne.i32", "ii>i", 15) \
  X(CORE, 0x4B, CMP_LT_I32_S, "cmp.lt.i32.s", "ii>i", 15) \
  X(CORE, 0x4C, CMP_LT_I32_U, "cmp.lt.i32.u", "ii>i", 15) \
  X(CORE, 0x4D, CMP_NZ_I32, "cmp.nz.i32", "i>i", 15) \
  X(CORE, 0x4E, CMP_EQ_I64, "cmp.eq.i64", "II>i", 15) \
  X(CORE, 0x4F, CMP_NE_I64, "cmp.ne.i64", "II>i", 15) \
  X(CORE, 0x50, CMP_LT_I64_S, "cmp.lt.i64.s", "II>i", 15) \
  X(CORE, 0x51, CMP_LT_I64_U, "cmp.lt.i64.u", "II>i", 15) \
  X(CORE, 0x52, CMP_NZ_I64, "cmp.nz.i64", "I>i", 15) \
  X(CORE, 0x53, CMP_EQ_REF, "cmp.eq.ref", "rr>i", 15) \
  X(CORE, 0x54, CMP_NE_REF, "cmp.ne.ref", "rr>i", 15) \
  X(CORE, 0x55, CMP_NZ_REF, "cmp.nz.ref", "r>i", 15) \
  X(CORE, 0x56, BR, "br", "pm.", 15) \
  X(CORE, 0x57, COND_BR, "cond_br", "ipmpm.", 15) \
  X(CORE, 0x58, CALL, "call", "c*>*", 15) \
  X(CORE, 0x59, CALL_VARIADIC, "call.variadic", "C#*>*", 15) \
  X(CORE, 0x5A, RETURN, "return", "*.", 15) \
  X(CORE, 0x5B, FAIL, "fail", "is.", 15) \
  X(CORE, 0x5C, IMPORT_RESOLVED, "import.resolved", "C>i", 15) \
  X(CORE, 0x5D, YIELD, "yield", "pm.", 15) \
  X(CORE, 0x5E, TRACE, "trace", "s*", 15) \
  X(CORE, 0x5F, PRINT, "print", "s*", 15) \
  X(CORE, 0x60, COND_BREAK, "cond_break", "ipm.", 15) \
  X(CORE, 0x61, BREAK, "break", "pm.", 15) \
  X(CORE, 0x62, BUFFER_LOAD_I8_U, "buffer.load.i8.u", "rI>i", 15) \
  X(CORE, 0x63, BUFFER_LOAD_I8_S, "buffer.load.i8.s", "rI>i", 15) \
  X(CORE, 0x64, BUFFER_LOAD_I16_U, "buffer.load.i16.u", "rI>i", 15) \
  X(CORE, 0x65, BUFFER_LOAD_I16_S, "buffer.load.i16.s", "rI>i", 15) \
  X(CORE, 0x66, BUFFER_LOAD_I32, "buffer.load.i32", "rI>i", 15) \
  X(CORE, 0x67, BUFFER_LOAD_I64, "buffer.load.i64", "rI>I", 15) \
  X(CORE, 0x68, BUFFER_STORE_I8, "buffer.store.i8", "rIi", 15) \
  X(CORE, 0x69, BUFFER_STORE_I16, "buffer.store.i16", "rIi", 15) \
  X(CORE, 0x6A, BUFFER_STORE_I32, "buffer.store.i32", "rIi", 15) \
  X(CORE, 0x6B, BUFFER_STORE_I64, "buffer.store.i64", "rII", 15) \
  X(CORE, 0x6C, BUFFER_ALLOC, "buffer.alloc", "Ii>R", 15) \
  X(CORE, 0x6D, BUFFER_CLONE, "buffer.clone", "rIIi>R", 15) \
  X(CORE, 0x6E, BUFFER_LENGTH, "buffer.length", "r>I", 15) \
  X(CORE, 0x6F, BUFFER_COPY, "buffer.copy", "rIrII", 15) \
  X(CORE, 0x70, BUFFER_COMPARE, "buffer.compare", "rIrII>i", 15) \
  X(CORE, 0x71, BUFFER_FILL_I8, "buffer.fill.i8", "rIIi", 15) \
  X(CORE, 0x72, BUFFER_FILL_I16, "buffer.fill.i16", "rIIi", 15) \
  X(CORE, 0x73, BUFFER_FILL_I32, "buffer.fill.i32", "rIIi", 15) \
  X(CORE, 0x74, BUFFER_FILL_I64, "buffer.fill.i64", "rIII", 15) \
  X(CORE, 0x75, CTLZ_I32, "ctlz.i32", "i>i", 15) \
  X(CORE, 0x76, CTLZ_I64, "ctlz.i64", "I>I", 15) \
  X(CORE, 0x77, ABS_I32, "abs.i32", "i>i", 15) \
  X(CORE, 0x78, ABS_I64, "abs.i64", "I>I", 15) \
  X(CORE, 0x79, BLOCK, "block", "", 15) \
  X(CORE, 0x7A, MIN_I32_S, "min.i32.s", "ii>i", 15) \
  X(CORE, 0x7B, MIN_I32_U, "min.i32.u", "ii>i", 15) \
  X(CORE, 0x7C, MAX_I32_S, "max.i32.s", "ii>i", 15) \
  X(CORE, 0x7D, MAX_I32_U, "max.i32.u", "ii>i", 15) \
  X(CORE, 0x7E, MIN_I64_S, "min.i64.s", "II>I", 15) \
  X(CORE, 0x7F, MIN_I64_U, "min.i64.u", "II>I", 15) \
  X(CORE, 0x80, MAX_I64_S, "max.i64.s", "II>I", 15) \
  X(CORE, 0x81, MAX_I64_U, "max.i64.u", "II>I", 15) \
  X(CORE, 0x82, CAST_ANY_REF, "cast.any.ref", "Rt>R", 15) \
  X(CORE, 0x83, BR_TABLE, "br_table", "ipmT.", 15) \
  X(CORE, 0x84, BUFFER_HASH, "buffer.hash", "rII>I", 15) \
  X(CORE, 0x85, DISCARD_REFS, "discard.refs", "*", 16) \
  X(CORE, 0x86, ASSIGN_REF, "assign.ref", "R>R", 16) \
  X(CORE, 0x87, CALL_YIELDABLE, "call.yieldable", "c*p>*.", 17) \
  X(CORE, 0x88, CALL_VARIADIC_YIELDABLE, "call.variadic.yieldable", "C#*p>*.", 17)

#define FNABI_BYTECODE_F32(X) \
  X(F32, 0x00, GLOBAL_LOAD_F32, "global.load.f32", "g>f", 15) \
  X(F32, 0x01, GLOBAL_STORE_F32, "global.store.f32", "gf", 15) \
  X(F32, 0x02, GLOBAL_LOAD_INDIRECT_F32, "global.load.indirect.f32", "i>f", 15) \
  X(F32, 0x03, GLOBAL_STORE_INDIRECT_F32, "global.store.indirect.f32", "if", 15) \
  X(F32, 0x04, CONST_F32_ZERO, "const.f32.zero", ">f", 15) \
  X(F32, 0x05, CONST_F32, "const.f32", "e>f", 15) \
  X(F32, 0x06, LIST_GET_F32, "list.get.f32", "ri>f", 15) \
  X(F32, 0x07, LIST_SET_F32, "list.set.f32", "rif", 15) \
  X(F32, 0x08, SELECT_F32, "select.f32", "iff>f", 15) \
  X(F32, 0x09, SWITCH_F32, "switch.f32", "if[f>f", 15) \
  X(F32, 0x0A, ADD_F32, "add.f32", "ff>f", 15) \
  X(F32, 0x0B, SUB_F32, "sub.f32", "ff>f", 15) \
  X(F32, 0x0C, MUL_F32, "mul.f32", "ff>f", 15) \
  X(F32, 0x0D, DIV_F32, "div.f32", "ff>f", 15) \
  X(F32, 0x0E, REM_F32, "rem.f32", "ff>f", 15) \
  X(F32, 0x0F, FMA_F32, "fma.f32", "fff>f", 15) \
  X(F32, 0x10, ABS_F32, "abs.f32", "f>f", 15) \
  X(F32, 0x11, NEG_F32, "neg.f32", "f>f", 15) \
  X(F32, 0x12, CEIL_F32, "ceil.f32", "f>f", 15) \
  X(F32, 0x13, FLOOR_F32, "floor.f32", "f>f", 15) \
  X(F32, 0x14, CAST_SI32_F32, "cast.si32.f32", "i>f", 15) \
  X(F32, 0x15, CAST_UI32_F32, "cast.ui32.f32", "i>f", 15) \
  X(F32, 0x16, CAST_F32_SI32, "cast.f32.si32", "f>i", 15) \
  X(F32, 0x17, CAST_F32_UI32, "cast.f32.ui32", "f>i", 15) \
  X(F32, 0x18, BITCAST_I32_F32, "bitcast.i32.f32", "i>f", 15) \
  X(F32, 0x19, BITCAST_F32_I32, "bitcast.f32.i32", "f>i", 15) \
  X(F32, 0x1A, ATAN_F32, "atan.f32", "f>f", 15) \
  X(F32, 0x1B, ATAN2_F32, "atan2.f32", "ff>f", 15) \
  X(F32, 0x1C, COS_F32, "cos.f32", "f>f", 15) \
  X(F32, 0x1D, SIN_F32, "sin.f32", "f>f", 15) \
  X(F32, 0x1E, EXP_F32, "exp.f32", "f>f", 15) \
  X(F32, 0x1F, EXP2_F32, "exp2.f32", "f>f", 15) \
  X(F32, 0x20, EXPM1_F32, "expm1.f32", "f>f", 15) \
  X(F32, 0x21, LOG_F32, "log.f32", "f>f", 15) \
  X(F32, 0x22, LOG10_F32, "log10.f32", "f>f", 15) \
  X(F32, 0x23, LOG1P_F32, "log1p.f32", "f>f", 15) \
  X(F32, 0x24, LOG2_F32, "log2.f32", "f>f", 15) \
  X(F32, 0x25, POW_F32, "pow.f32", "ff>f", 15) \
  X(F32, 0x26, RSQRT_F32, "rsqrt.f32", "f>f", 15) \
  X(F32, 0x27, SQRT_F32, "sqrt.f32", "f>f", 15) \
  X(F32, 0x28, TANH_F32, "tanh.f32", "f>f", 15) \
  X(F32, 0x29, ERF_F32, "erf.f32", "f>f", 15) \
  X(F32, 0x2A, CMP_EQ_F32_O, "cmp.eq.f32.o", "ff>i", 15) \
  X(F32, 0x2B, CMP_EQ_F32_U, "cmp.eq.f32.u", "ff>i", 15) \
  X(F32, 0x2C, CMP_NE_F32_O, "cmp.ne.f32.o", "ff>i", 15) \
  X(F32, 0x2D, CMP_NE_F32_U, "cmp.ne.f32.u", "ff>i", 15) \
  X(F32, 0x2E, CMP_LT_F32_O, "cmp.lt.f32.o", "ff>i", 15) \
  X(F32, 0x2F, CMP_LT_F32_U, "cmp.lt.f32.u", "ff>i", 15) \
  X(F32, 0x30, CMP_LTE_F32_O, "cmp.lte.f32.o", "ff>i", 15) \
  X(F32, 0x31, CMP_LTE_F32_U, "cmp.lte.f32.u", "ff>i", 15) \
  X(F32, 0x32, CMP_NAN_F32, "cmp.nan.f32", "f>i", 15) \
  X(F32, 0x33, BUFFER_LOAD_F32, "buffer.load.f32", "rI>f", 15) \
  X(F32, 0x34, BUFFER_STORE_F32, "buffer.store.f32", "rIf", 15) \
  X(F32, 0x35, BUFFER_FILL_F32, "buffer.fill.f32", "rIIf", 15) \
  X(F32, 0x36, ROUND_F32, "round.f32", "f>f", 15) \
  X(F32, 0x37, MIN_F32, "min.f32", "ff>f", 15) \
  X(F32, 0x38, MAX_F32, "max.f32", "ff>f", 15) \
  X(F32, 0x39, ROUND_F32_EVEN, "round.f32.even", "f>f", 15) \
  X(F32, 0x3A, CAST_F32_SI64, "cast.f32.si64", "f>I", 15) \
  X(F32, 0x3B, CAST_F32_UI64, "cast.f32.ui64", "f>I", 15) \
  X(F32, 0x3C, CAST_SI64_F32, "cast.si64.f32", "I>f", 15) \
  X(F32, 0x3D, CAST_UI64_F32, "cast.ui64.f32", "I>f", 15) \
  X(F32, 0x3E, FPOWI_F32, "fpowi.f32", "fI>f", 17)

#define FNABI_BYTECODE_F64(X) \
  X(F64, 0x00, GLOBAL_LOAD_F64, "global.load.f64", "h>F", 15) \
  X(F64, 0x01, GLOBAL_STORE_F64, "global.store.f64", "hF", 15) \
  X(F64, 0x02, GLOBAL_LOAD_INDIRECT_F64, "global.load.indirect.f64", "i>F", 15) \
  X(F64, 0x03, GLOBAL_STORE_INDIRECT_F64, "global.store.indirect.f64", "iF", 15) \
  X(F64, 0x04, CONST_F64_ZERO, "const.f64.zero", ">F", 15) \
  X(F64, 0x05, CONST_F64, "const.f64", "E>F", 15) \
  X(F64, 0x06, LIST_GET_F64, "list.get.f64", "ri>F", 15) \
  X(F64, 0x07, LIST_SET_F64, "list.set.f64", "riF", 15) \
  X(F64, 0x08, SELECT_F64, "select.f64", "iFF>F", 15) \
  X(F64, 0x09, SWITCH_F64, "switch.f64", "iF[F>F", 15) \
  X(F64, 0x0A, ADD_F64, "add.f64", "FF>F", 15) \
  X(F64, 0x0B, SUB_F64, "sub.f64", "FF>F", 15) \
  X(F64, 0x0C, MUL_F64, "mul.f64", "FF>F", 15) \
  X(F64, 0x0D, DIV_F64, "div.f64", "FF>F", 15) \
  X(F64, 0x0E, REM_F64, "rem.f64", "FF>F", 15) \
  X(F64, 0x0F, FMA_F64, "fma.f64", "FFF>F", 15) \
  X(F64, 0x10, ABS_F64, "abs.f64", "F>F", 15) \
  X(F64, 0x11, NEG_F64, "neg.f64", "F>F", 15) \
  X(F64, 0x12, CEIL_F64, "ceil.f64", "F>F", 15) \
  X(F64, 0x13, FLOOR_F64, "floor.f64", "F>F", 15) \
  X(F64, 0x14, TRUNC_F64_F32, "trunc.f64.f32", "F>f", 15) \
  X(F64, 0x15, EXT_F32_F64, "ext.f32.f64", "f>F", 15) \
  X(F64, 0x16, CAST_SI32_F64, "cast.si32.f64", "i>F", 15) \
  X(F64, 0x17, CAST_UI32_F64, "cast.ui32.f64", "i>F", 15) \
  X(F64, 0x18, CAST_F64_SI32, "cast.f64.si32", "F>i", 15) \
  X(F64, 0x19, CAST_F64_UI32, "cast.f64.ui32", "F>i", 15) \
  X(F64, 0x1A, CAST_SI64_F64, "cast.si64.f64", "I>F", 15) \
  X(F64, 0x1B, CAST_UI64_F64, "cast.ui64.f64", "I>F", 15) \
  X(F64, 0x1C, CAST_F64_SI64, "cast.f64.si64", "F>I", 15) \
  X(F64, 0x1D, CAST_F64_UI64, "cast.f64.ui64", "F>I", 15) \
  X(F64, 0x1E, BITCAST_I64_F64, "bitcast.i64.f64", "I>F", 15) \
  X(F64, 0x1F, BITCAST_F64_I64, "bitcast.f64.i64", "F>I", 15) \
  X(F64, 0x20, ATAN_F64, "atan.f64", "F>F", 15) \
  X(F64, 0x21, ATAN2_F64, "atan2.f64", "FF>F", 15) \
  X(F64, 0x22, COS_F64, "cos.f64", "F>F", 15) \
  X(F64, 0x23, SIN_F64, "sin.f64", "F>F", 15) \
  X(F64, 0x24, EXP_F64, "exp.f64", "F>F", 15) \
  X(F64, 0x25, EXP2_F64, "exp2.f64", "F>F", 15) \
  X(F64, 0x26, EXPM1_F64, "expm1.f64", "F>F", 15) \
  X(F64, 0x27, LOG_F64, "log.f64", "F>F", 15) \
  X(F64, 0x28, LOG10_F64, "log10.f64", "F>F", 15) \
  X(F64, 0x29, LOG1P_F64, "log1p.f64", "F>F", 15) \
  X(F64, 0x2A, LOG2_F64, "log2.f64", "F>F", 15) \
  X(F64, 0x2B, POW_F64, "pow.f64", "FF>F", 15) \
  X(F64, 0x2C, RSQRT_F64, "rsqrt.f64", "F>F", 15) \
  X(F64, 0x2D, SQRT_F64, "sqrt.f64", "F>F", 15) \
  X(F64, 0x2E, TANH_F64, "tanh.f64", "F>F", 15) \
  X(F64, 0x2F, ERF_F64, "erf.f64", "F>F", 15) \
  X(F64, 0x30, CMP_EQ_F64_O, "cmp.eq.f64.o", "FF>i", 15) \
  X(F64, 0x31, CMP_EQ_F64_U, "cmp.eq.f64.u", "FF>i", 15) \
  X(F64, 0x32, CMP_NE_F64_O, "cmp.ne.f64.o", "FF>i", 15) \
  X(F64, 0x33, CMP_NE_F64_U, "cmp.ne.f64.u", "FF>i", 15) \
  X(F64, 0x34, CMP_LT_F64_O, "cmp.lt.f64.o", "FF>i", 15) \
  X(F64, 0x35, CMP_LT_F64_U, "cmp.lt.f64.u", "FF>i", 15) \
  X(F64, 0x36, CMP_LTE_F64_O, "cmp.lte.f64.o", "FF>i", 15) \
  X(F64, 0x37, CMP_LTE_F64_U, "cmp.lte.f64.u", "FF>i", 15) \
  X(F64, 0x38, CMP_NAN_F64, "cmp.nan.f64", "F>i", 15) \
  X(F64, 0x39, BUFFER_LOAD_F64, "buffer.load.f64", "rI>F", 15) \
  X(F64, 0x3A, BUFFER_STORE_F64, "buffer.store.f64", "rIF", 15) \
  X(F64, 0x3B, BUFFER_FILL_F64, "buffer.fill.f64", "rIIF", 15) \
  X(F64, 0x3C, ROUND_F64, "round.f64", "F>F", 15) \
  X(F64, 0x3D, MIN_F64, "min.f64", "FF>F", 15) \
  X(F64, 0x3E, MAX_F64, "max.f64", "FF>F", 15) \
  X(F64, 0x3F, ROUND_F64_EVEN, "round.f64.even", "F>F", 15) \
  X(F64, 0x40, FPOWI_F64, "fpowi.f64", "FI>F", 17)
/* clang-format on */

#define FNABI_BYTECODE_TABLE(X) \
  FNABI_BYTECODE_CORE(X)        \
  FNABI_BYTECODE_F32(X)         \
  FNABI_BYTECODE_F64(X)

#endif /* FNABI_MODULE_BYTECODE_TABLE_H */
