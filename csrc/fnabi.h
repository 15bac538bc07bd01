/* fnabi.h - the function ABIs of ML compilers, read and written.
 *
 * This header declares every function that users of the core call, the Python
 * binding included: that is generated from the part between the two "cdef"
 * marks, where nothing is conditional. The headers in the rooms beside it are
 * private. They declare what one room offers to another, and may change at any
 * time.
 *
 * Contracts of every function
 * ---------------------------
 * Input     is a pointer and a length in bytes. Every byte is data: embedded
 *           NULs and bytes above 127 too. The pointer may be NULL where the
 *           length is 0. Input is only read, and only within
 *           [data, data + size). If it changes while a function runs, the
 *           result is unspecified, but still nothing outside is read.
 * Output    is the caller's memory: `out` has a capacity of `capacity` bytes.
 *           The function returns the size of the whole result in bytes. If
 *           that exceeds `capacity`, ignore what was written and call again
 *           with that capacity. (NULL, 0) asks for the size alone.
 * Failure   is a negative return value. `error` then holds the code, the byte
 *           offset and the part of the value; on success it is unchanged. It
 *           belongs to the caller and is never NULL.
 * Hostile   input ends in an error or a whole result, never in a partial one.
 * input     Time is linear in the input and the result, nesting is limited,
 *           and every size is checked before it is added to another.
 * Threads   share no state: there are no mutable globals, so every function
 *           may run on every thread at once. Each thread has its own poll
 *           function (fnabi_set_poll).
 * Memory    is allocated only where a function says so. What is allocated for the
 *           time of a call is freed before it returns.
 * Objects   that a function makes, such as fnabi_columns, are the caller's, who
 *           frees them by the function beside. Functions that only read take
 *           them as `const`. A row, a column or an argument must exist where
 *           not said otherwise: only input is checked.
 *
 * The message
 * -----------
 * Typed values cross to another language as one MessagePack value, the
 * "message". A typed record is an array whose first element is its tag
 * (fnabi_type). Text is a MessagePack string where it is UTF-8, and otherwise a
 * MessagePack binary with the same bytes. Encoders accept the messages that
 * decoders return.
 *
 *   dtype      [kind, bits, format]        kind: "signed" "unsigned" "signless"
 *            | [kind, bits, format, lanes] "float" "bfloat" "complex" "bool"
 *                                          "index" "handle"; bits: width of
 *                                          one lane; format: "" or the name of
 *                                          a float format, such as "e4m3fn";
 *                                          lanes: 1 if absent; no text
 *                                          expresses another number
 *   type       [SCALAR, dtype]
 *            | [BUFFER, dtype, shape]      shape: array of dims, nil: unknown
 *                                          rank; dim: int, nil: dynamic
 *            | [REF, name]                 name: string, nil: any object
 *            | [LIST, [type...]] | [TUPLE, [type...]]
 *            | [DICT, [[key, type]...]]
 *            | [HOMOGENEOUS_LIST, type]
 *            | [NAMED, name, type]
 *            | [NULL] | [UNKNOWN]
 *            | [REF_ARRAY, type, shape]   elements are references
 *   signature  [[type...], [type...]]      inputs, results
 */
#ifndef FNABI_H
#define FNABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(FNABI_API) /* by a build that links the core into something */
#elif defined(__GNUC__)
#define FNABI_API __attribute__((visibility("default")))
#else
#define FNABI_API
#endif

/* C99 has no unions without a name: its compilers accept them as an extension,
 * which GCC and Clang want to be marked. */
#if defined(__GNUC__) && defined(__STDC_VERSION__) && __STDC_VERSION__ < 201112L
#define FNABI_UNNAMED __extension__
#else
#define FNABI_UNNAMED
#endif

/* One enumerator for each row of codes.h, from FNABI_OK = 0 on. */
typedef enum fnabi_code {
#define FNABI_CODE(code, name, text, remedy) code,
#include "codes.h"
  FNABI_CODE_COUNT
} fnabi_code;

/* cdef: begin */

/* ------------------------------------------------------------------- errors */

#define FNABI_PATH_SIZE 128

typedef struct fnabi_error {
  int32_t code;         /* fnabi_code */
  uint64_t offset;      /* of the faulty byte, from the start of the input;
                           the input's size where something is missing at its
                           end; 0 when encoding */
  const char* expected; /* what is allowed there, static; or NULL */
  const char* found;    /* what is there instead, static, where that is known to
                           be something else of a known kind, such as "a ZIP
                           archive" for a module; or NULL, always so for the
                           texts of the ABIs */
  char path[FNABI_PATH_SIZE]; /* the part of the value, such as
                           "inputs[2].shape[0]"; NUL-terminated, "" at the
                           root; a path that is too long is its end after
                           "...". A key of SIP may be cut, and bytes of it that
                           are not printable ASCII are as in "\xc3" */
} fnabi_error;

/* The text of a code ("span runs past the end"), its name ("span-end"), and
 * what to do about it. Static; NULL for a number that is no code. */
FNABI_API const char* fnabi_code_text(int32_t code);
FNABI_API const char* fnabi_code_name(int32_t code);
FNABI_API const char* fnabi_code_remedy(int32_t code);

/* --------------------------------------------------------------- interrupts */

/* Long operations that have an `error`, and fnabi_raw_visit, call a function of
 * the caller's about every millisecond, with `data`; but not within one value,
 * which takes nanoseconds a byte: a string, a gap, a shape, a list of registers,
 * or keys that are sorted. Where it returns true, they end with
 * FNABI_INTERRUPTED, which is the code inside of the message for fnabi_raw_visit
 * and fnabi_sip_visit; until they have ended, it must go on to return true. It
 * may call functions of this header; these call none, unless it sets one. Each
 * thread has its own, at first NULL: none. */
typedef bool (*fnabi_poll_function)(void* data);
FNABI_API void fnabi_set_poll(fnabi_poll_function poll, void* data);

/* ---------------------------------------------------------------- signature */

/* A signature is a sequence of components:
 *
 *   component ::= integer-tag integer | span-tag length '!' contents
 *   integer-tag ::= '_' | [a-z]        integer ::= '-'? [0-9]+   (int32)
 *   span-tag ::= [A-Z]                 length  ::= [0-9]+        (int32, >= 1)
 *
 * `length` counts the '!' and the contents, which may be any bytes. */
typedef enum fnabi_component_type {
  FNABI_COMPONENT_END = 0,
  FNABI_COMPONENT_INTEGER,
  FNABI_COMPONENT_SPAN,
  FNABI_COMPONENT_ERROR
} fnabi_component_type;

typedef struct fnabi_component {
  int32_t type;    /* fnabi_component_type */
  int32_t tag;     /* the tag's byte, also of an error; 0 at the end */
  int32_t ival;    /* an integer's value; the size of a span's contents; of an
                      error the number parsed so far, INT32_MAX or INT32_MIN if
                      it is outside int32 */
  int32_t code;    /* of an error its fnabi_code, else FNABI_OK */
  uint64_t offset; /* of the tag */
  uint64_t begin;  /* of a span's contents, or of the number */
  uint64_t end;    /* of the component; of an error the faulty byte */
} fnabi_component;

/* Reads the component at `offset` <= size. Cannot fail: an error is a
 * component. The next component is at component->end. Reads each byte of the
 * component's head once, and none of a span's contents. */
FNABI_API void fnabi_signature_read(const char* data, size_t size,
                                    size_t offset, fnabi_component* component);

/* Reads on from `offset` up to a component with `tag`. Returns whether there is
 * one; if not, *component is the end or the first error. */
FNABI_API bool fnabi_signature_seek(const char* data, size_t size,
                                    size_t offset, int32_t tag,
                                    fnabi_component* component);

/* Writes one component. Fails with FNABI_TAG for a tag of another kind of
 * component, FNABI_INT32 for a span of INT32_MAX bytes or more. */
FNABI_API int64_t fnabi_signature_integer(int32_t value, int32_t tag,
                                          uint8_t* out, size_t capacity,
                                          fnabi_error* error);
FNABI_API int64_t fnabi_signature_span(const char* data, size_t size,
                                       int32_t tag, uint8_t* out,
                                       size_t capacity, fnabi_error* error);

/* -------------------------------------------------------------------- types */

/* Tags of the records of a message. */
typedef enum fnabi_type {
  FNABI_TYPE_SCALAR = 1,
  FNABI_TYPE_BUFFER,
  FNABI_TYPE_REF,
  FNABI_TYPE_LIST,
  FNABI_TYPE_TUPLE,
  FNABI_TYPE_DICT,
  FNABI_TYPE_HOMOGENEOUS_LIST,
  FNABI_TYPE_NAMED,
  FNABI_TYPE_NULL,
  FNABI_TYPE_UNKNOWN,
  FNABI_TYPE_REF_ARRAY
} fnabi_type;

/* ---------------------------------------------------------------------- raw */

/* The raw function ABI, version 1 (attributes `f`, `fv`). The grammar is
 * in abi/raw.c. Scalar types are numbered 0 to 11. */
#define FNABI_SCALAR_TYPE_COUNT 12

/* The name of a scalar type ("float32", "sint8"), the size of an element in
 * bytes, the message of its dtype. NULL, 0 and -1 for another number. */
FNABI_API const char* fnabi_raw_scalar_name(int32_t scalar_type);
FNABI_API size_t fnabi_raw_scalar_size(int32_t scalar_type);
FNABI_API int64_t fnabi_raw_scalar_dtype(int32_t scalar_type, uint8_t* out,
                                         size_t capacity);

/* Decodes a whole signature, and accepts exactly the grammar. The types of the
 * message are SCALAR, BUFFER, REF and UNKNOWN. */
FNABI_API int64_t fnabi_raw_decode(const char* data, size_t size, uint8_t* out,
                                   size_t capacity, fnabi_error* error);

/* Encodes a signature, also that of an iree.abi object without extra keys.
 * Fails with FNABI_UNSUPPORTED for a type, a dtype or an unknown rank that the
 * ABI cannot express, FNABI_INT32 for a dim outside int32, FNABI_MESSAGE for
 * anything else that is no such signature. */
FNABI_API int64_t fnabi_raw_encode(const uint8_t* message, size_t size,
                                   uint8_t* out, size_t capacity,
                                   fnabi_error* error);

/* Decodes one side ('I' or 'R') as leniently as the drop-in parser: components
 * may be in any order, the first `side` span and the last scalar type of a
 * buffer are used, dims may be any integer. Never fails. The message is
 *   [[[fnabi_type, [dim...], scalar type]...], code]
 * with the values before the first error, and its code or FNABI_OK. */
FNABI_API int64_t fnabi_raw_visit(const char* data, size_t size, int32_t side,
                                  uint8_t* out, size_t capacity);

/* Writes one buffer, whose dims may have any value; one scalar. Fails with
 * FNABI_RAW_SCALAR_TYPE for another number than 0 to 11. */
FNABI_API int64_t fnabi_raw_buffer(int32_t scalar_type, const int32_t* dims,
                                   size_t rank, uint8_t* out, size_t capacity,
                                   fnabi_error* error);
FNABI_API int64_t fnabi_raw_scalar(int32_t scalar_type, uint8_t* out,
                                   size_t capacity, fnabi_error* error);

/* ---------------------------------------------------------------------- SIP */

/* The Structured Index Path ABI, version 1 (attributes `sip`, `sipv`): a flat
 * list of values as nested sequences and dicts. The grammar is in abi/sip.c.
 *
 *   sip signature  [node, node]             inputs, results; nil: no values
 *   node           [LEAF, index]
 *                | [SEQUENCE, [[key, node]...]]     key: int
 *                | [DICT, [[key, node]...]]         key: text */
#define FNABI_DEPTH_MAX 128
#define FNABI_SIP_EVENT_DEPTH_MAX 16384

typedef enum fnabi_sip_node {
  FNABI_SIP_LEAF = 1,
  FNABI_SIP_SEQUENCE,
  FNABI_SIP_DICT
} fnabi_sip_node;

/* Decodes a whole signature, and accepts exactly the grammar. Keys may be in
 * any order, but not twice in one structure. Nesting is limited to
 * FNABI_DEPTH_MAX. Where the keys of a structure do not ascend, allocates and
 * frees memory to sort them: at most 8 bytes per byte of input. */
FNABI_API int64_t fnabi_sip_decode(const char* data, size_t size, uint8_t* out,
                                   size_t capacity, fnabi_error* error);

/* Encodes a SIP signature, with the children in the order of the message. Fails
 * with FNABI_SIP_NEGATIVE and FNABI_INT32 for keys and indexes, FNABI_DEPTH,
 * and FNABI_SIP_DUPLICATE for a key that a structure has twice. Where keys do
 * not ascend, allocates and frees at most 8 bytes per byte of the result. */
FNABI_API int64_t fnabi_sip_encode(const uint8_t* message, size_t size,
                                   uint8_t* out, size_t capacity,
                                   fnabi_error* error);

/* The same structures as a flat list of events, for visitors and for nesting
 * up to FNABI_SIP_EVENT_DEPTH_MAX. */
typedef enum fnabi_sip_event {
  FNABI_SIP_OPEN_SEQUENCE = 1,
  FNABI_SIP_OPEN_DICT,
  FNABI_SIP_INTEGER_KEY,
  FNABI_SIP_STRING_KEY,
  FNABI_SIP_INDEX,
  FNABI_SIP_CLOSE
} fnabi_sip_event;

/* Decodes one side ('I' or 'R') as leniently as the drop-in parser: the first
 * `side` span is used, keys need no value, may repeat and be of either kind,
 * integers may be negative, the root may have several values. Fails only with
 * FNABI_MEMORY. The message is
 *   [[[event, key, index, or nil]...], code]
 * with the events before the first error, a close for every open structure,
 * and the code or FNABI_OK. Allocates from 64 levels on, at most 16 bytes per
 * level. */
FNABI_API int64_t fnabi_sip_visit(const char* data, size_t size, int32_t side,
                                  uint8_t* out, size_t capacity,
                                  fnabi_error* error);

/* Writes the structure of well-nested events [[event, ...]...]. Fails with
 * FNABI_MESSAGE for events that are not, FNABI_DEPTH above
 * FNABI_SIP_EVENT_DEPTH_MAX, and FNABI_SIP_NEGATIVE and FNABI_INT32 as
 * fnabi_sip_encode. Allocates from 64 structures on, at most 32 bytes per
 * structure. */
FNABI_API int64_t fnabi_sip_mangle(const uint8_t* message, size_t size,
                                   uint8_t* out, size_t capacity,
                                   fnabi_error* error);

/* ----------------------------------------------------------------- IREE ABI */

/* The JSON of the attribute `iree.abi`, version 1: type records for arguments
 * and results. The grammar is in abi/iree_abi.c.
 *
 *   IREE ABI signature  [[type...], [type...], [[key, json]...]]
 *
 * All types but REF occur. NAMED occurs only at the root of the inputs; SCALAR
 * and BUFFER have the dtypes bool, signless, float, bfloat and complex. An
 * "ndarray" whose elements are not of a primitive type is a REF_ARRAY. The third
 * element holds the object's other keys in their order, each with the unchanged
 * text of its value. */

/* Decodes a whole text, and accepts exactly the grammar, with "a" and "r" in
 * any order. An error's path is that of the JSON: "a[1][3]". Strings must be
 * UTF-8 and not escape half of a surrogate pair; objects and arrays nest up to
 * FNABI_DEPTH_MAX; a dim is at most INT64_MAX. Fails with FNABI_JSON_SIZE for
 * 4 GiB or more. */
FNABI_API int64_t fnabi_iree_abi_decode(const char* data, size_t size,
                                        uint8_t* out, size_t capacity,
                                        fnabi_error* error);

/* Encodes a signature without whitespace; the third element may be missing.
 * Fails with FNABI_UNSUPPORTED for a type or a dtype that the ABI cannot
 * express, FNABI_IREE_ABI_NAMED and FNABI_IREE_ABI_DIM, FNABI_JSON_UTF8 for
 * text that is not UTF-8, FNABI_DEPTH for a signature that could not be decoded
 * again, as the decoder for the JSON of another key, with
 * FNABI_IREE_ABI_DUPLICATE if such a key is "a" or "r", and with FNABI_MESSAGE
 * for anything else that is no such signature. */
FNABI_API int64_t fnabi_iree_abi_encode(const uint8_t* message, size_t size,
                                        uint8_t* out, size_t capacity,
                                        fnabi_error* error);

/* -------------------------------------------------------------------- cconv */

/* The VM calling convention, version 0: the registers of a function's arguments
 * and results, such as "0rIi_r". The grammar is in abi/cconv.c.
 *
 *   convention  [[argument...], [register...], version]
 *   argument    register | [[register...]]      the second is a span: a
 *                                               variadic list of tuples of
 *                                               registers
 *   register    "i32" "i64" "f32" "f64" "ref" */

/* Decodes a whole convention, and accepts exactly the grammar. Every spelling
 * of an empty side gives the same message. */
FNABI_API int64_t fnabi_cconv_decode(const char* data, size_t size,
                                     uint8_t* out, size_t capacity,
                                     fnabi_error* error);

/* Encodes a convention as the compilers spell it: an empty side is 'v'. Fails
 * with FNABI_CCONV_REGISTER, FNABI_CCONV_SPAN and FNABI_VERSION. */
FNABI_API int64_t fnabi_cconv_encode(const uint8_t* message, size_t size,
                                     uint8_t* out, size_t capacity,
                                     fnabi_error* error);

/* Arguments and results are passed in one buffer each, one value after the
 * other: a register takes 4 bytes (i32, f32), 8 (i64, f64) or 16 (ref, on a
 * 64-bit machine); a span is the number of its elements in 4 bytes and then
 * their registers.
 *
 * Since IREE 3.10, registers of 8 and 16 bytes are aligned to 8, and so is the
 * first element of a span that contains one. The buffer is aligned too, and its
 * size is a multiple of its largest alignment. Before, all was packed. */
typedef enum fnabi_cconv_buffer {
  FNABI_CCONV_ARGUMENTS = 0,
  FNABI_CCONV_RESULTS = 1,
  FNABI_CCONV_PACKED = 2 /* added to either: the layout before IREE 3.10 */
} fnabi_cconv_buffer;

/* The size of a buffer in bytes; `span_counts` holds the number of elements of
 * each span of the arguments; results have no spans. Time does not depend on the
 * counts. Fails as the decoder, and with FNABI_CCONV_COUNT and FNABI_CCONV_SIZE.
 *
 * The size covers every offset that fnabi_cconv_offsets returns. IREE's own sum
 * assumes that all elements of a span are as long as the first, and aligns even
 * empty spans. So it differs for empty spans and for elements whose size is not
 * a multiple of 8 ("0CrfD", for which it is too small). */
FNABI_API int64_t fnabi_cconv_size(const char* data, size_t size,
                                   int32_t buffer, const int32_t* span_counts,
                                   size_t spans, fnabi_error* error);

/* The offset of each value in its buffer, as IREE's interpreter writes them:
 * of a register, or of a span's count and each register of each element.
 * `capacity` counts offsets, not bytes; returns how many there are. Fails as
 * fnabi_cconv_size. */
FNABI_API int64_t fnabi_cconv_offsets(const char* data, size_t size,
                                      int32_t buffer,
                                      const int32_t* span_counts, size_t spans,
                                      int64_t* offsets, size_t capacity,
                                      fnabi_error* error);

/* --------------------------------------------------------------------- vmfb */

/* A VM bytecode module (.vmfb) is a FlatBuffer with the table
 * BytecodeModuleDef at its root, the identifier "IREE" and a size prefix. It is
 * at the start of the file or after one ZIP local file header. After it, the
 * file holds the read-only data that the FlatBuffer refers to.
 *
 * Each function accepts the whole file and trusts nothing from an earlier call.
 * Errors have offsets in the file, and paths in the schema's names, such as
 * "exported_functions[3].local_name". The functions fail with FNABI_WORK where
 * many tables refer to the same parts: at most as many elements of vectors are
 * visited as the FlatBuffer has bytes, and at most 32 times its size of text
 * and numbers is written. A file without such sharing needs less than a quarter
 * of the first limit, and less than its size of the second.
 *
 * Alignment is relative to the size prefix; the file may be anywhere in
 * memory. Bytes after the FlatBuffer are not checked, nor are ZIP fields other
 * than the two lengths. */

/* Verifies the whole FlatBuffer: that it fits the schema and is inside the
 * file. Does not check what its numbers refer to: an ordinal or a range of
 * read-only data may be outside. Returns 0. Of a file of another kind, such as
 * MLIR source, `found` is the kind where its first bytes show it.
 *
 * Compilers up to 3.10 wrote a null offset, which no FlatBuffer may have, for
 * an attribute whose value is empty. It fails with FNABI_MODULE_OFFSET, unless
 * `lenient`. The functions below skip such an attribute, whose key is lost too;
 * fnabi_vmfb_check reports it. */
FNABI_API int64_t fnabi_vmfb_verify(const char* data, size_t size, bool lenient,
                                    fnabi_error* error);

/* The head of a module. The message is
 *   [[zip_header_bytes, flatbuffer_offset, flatbuffer_size, rodata_base,
 *     file_size],
 *    name, version, requirements, [major, minor], [[key, value]...]]
 * where the layout is in bytes; zip_header_bytes is 0 without a ZIP header,
 * flatbuffer_offset is after the size prefix, and the offsets of external
 * read-only data are relative to rodata_base. The other elements are fields of
 * the root, with bytecode_version split, and attrs in their order. */
FNABI_API int64_t fnabi_vmfb_head(const char* data, size_t size, uint8_t* out,
                                  size_t capacity, fnabi_error* error);

/* All exports with their signatures and attributes. The message is
 *   [[name, internal_ordinal, calling_convention, [key, value, key, value...],
 *     source, signature, ambiguity, problem, sip_signature, sip_problem,
 *     async]...]
 * The signature is decoded from the best text that the function has. `source`
 * is the name of that text: the attribute
 *   "iree.abi"              as fnabi_iree_abi_decode reads it
 *   "iree.abi.declaration"  its values as NAMED types; `ambiguity` is as
 *                           fnabi_declaration_decode has it, else nil
 *   "f"                     of the raw ABI, with `fv` absent or "1"
 *   "bytecode"              as fnabi_bytecode_signatures returns it, if that is
 *                           more specific than the calling convention
 * or else the calling convention, "cconv", with its registers as types. A
 * malformed declaration is skipped, because it may be any text; when another
 * text is malformed, source and signature are nil. In both cases `problem` is
 *   [code, offset, expected, path, key]
 * and otherwise nil. The elements are those of fnabi_error, without `found`,
 * which is NULL; but the offset is in the value of the attribute `key`, or in
 * the calling convention for nil.
 * The path is complete, such as "exports[2].attrs["f"].inputs[0]". The same
 * holds for `sip_signature`, which is nil without an attribute `sip`; its
 * version is `sipv`, or else `abiv` beside an `abi` of "sip", and must be
 * absent or "1". `async` is whether the last two arguments are fences: an
 * attribute says so, or the bytecode does, if that is the source. If attributes
 * have the same key, the last one is used. Fails with FNABI_MODULE_ORDINAL if an
 * export has no function signature. Allocates as fnabi_sip_decode, and for a
 * function with references and without a text as fnabi_bytecode_signatures. */
FNABI_API int64_t fnabi_vmfb_exports(const char* data, size_t size,
                                     uint8_t* out, size_t capacity,
                                     fnabi_error* error);

/* One field of the root, by its id in the schema. The message is
 *   0 name            text
 *   1 version         int
 *   2 requirements    int
 *   3 attrs           [[key, value]...]
 *   4 types           [[full_name]...]
 *   5 dependencies    [[name, minimum_version, flags]...]
 *   6 imported_functions  [[full_name, signature, flags]...]
 *                         signature: [calling_convention, attrs] or nil
 *   7 exported_functions  [[local_name, internal_ordinal]...]
 *   8 function_signatures [[calling_convention, attrs]...]
 *   9 rodata_segments [[compression, [offset, size], external_data_offset,
 *                       external_data_length]...]
 *                     compression: union of 1 []
 *                     embedded data as its range in the file, nil when it is
 *                     external
 *  10 rwdata_segments [[byte_size]...]
 *  11 module_state    [global_bytes_capacity, global_ref_count] or nil
 *  12 function_descriptors [[bytecode_offset, bytecode_length, requirements,
 *                       reserved, block_count, i32_register_count,
 *                       ref_register_count]...]
 *  13 bytecode_version    int
 *  14 bytecode_data   [offset, size] in the file, nil when absent
 *  15 debug_database  [[location...], [[local_name,
 *                       [[bytecode_offset, location]...]]...]] or nil
 *                     location: union of
 *                       1 [callee, caller]      2 [filename, line, column]
 *                       3 [metadata, [location...]]  4 [name, child_location]
 * A union is [member, field...]; one without a table, or with a member that is
 * not listed, is [0, member]. Absent strings and vectors are empty, except
 * metadata, which is nil; absent numbers have the schema's default. Fails with
 * FNABI_UNSUPPORTED for another id. */
FNABI_API int64_t fnabi_vmfb_field(const char* data, size_t size, int32_t id,
                                   uint8_t* out, size_t capacity,
                                   fnabi_error* error);

/* Checks a module beyond its structure. The message is
 *   [[code, offset, path, text, severity]...]
 * with the name and the text of a fnabi_code, in the order of the schema:
 *   "error"   ordinals and indexes outside their tables, ranges outside the
 *             file or the bytecode, tables of functions that differ in length,
 *             empty names, negative sizes, null attributes, calling
 *             conventions that fnabi_cconv_decode refuses
 *   "notice"  flags and members that this version of the schema does not
 *             define, and duplicate names of imports or exports
 * Linear in the size of the module, except for sorting names. Allocates 10
 * bytes per byte of the vectors of imports and exports. */
FNABI_API int64_t fnabi_vmfb_check(const char* data, size_t size, uint8_t* out,
                                   size_t capacity, fnabi_error* error);

/* The files of the ZIP directory at the end of a module, which names its
 * FlatBuffer and its external read-only data. The message is
 *   [[name, offset, size, checksum]...]
 * where the offset is of the data in the file, and the checksum their CRC-32,
 * which is not compared; nil if they are compressed. A file that does not begin
 * with a ZIP header has none. Runtimes do not read the directory, so it may be
 * missing or damaged in a module that they load: fails with FNABI_MODULE_ZIP.
 * The FlatBuffer is not read. */
FNABI_API int64_t fnabi_vmfb_files(const char* data, size_t size, uint8_t* out,
                                   size_t capacity, fnabi_error* error);

/* The ZIP directory of a module of which only the end is at hand: the bytes from
 * `origin` on. The message is
 *   [needed, [[name, header, size, checksum]...]]
 * where `header` is the offset of the file's local header, "PK\3\4", 22 bytes,
 * u16 size of a name and u16 size of extra fields; after those are the data. If
 * `needed` is below `origin`, there are no files: call again with the bytes from
 * `needed` on, twice at most. The last 66 KB are enough for the first call. Fails
 * as fnabi_vmfb_files does, where there is no directory, since it does not see
 * how the file begins, and where the file would end after UINT64_MAX; offsets in
 * errors are in the file. */
FNABI_API int64_t fnabi_vmfb_directory(const char* data, size_t size,
                                       uint64_t origin, uint8_t* out,
                                       size_t capacity, fnabi_error* error);

/* What kind of content a segment of read-only data is. The message is
 *   [kind, identifier, isa]
 * kind: "elf" | "spir-v" | "flatbuffer" | "splat" (equal elements of 1, 2, 4 or
 * 8 bytes) | "string table" (printable UTF-8) | "raw". `identifier` names the
 * schema of a FlatBuffer in four characters, such as "IREE", else nil; `isa` is
 * the instruction set of an ELF file where it is known, else nil. Recognised by
 * its first bytes, but for splats and strings, which are read whole. Never
 * fails. */
FNABI_API int64_t fnabi_rodata_content(const char* data, size_t size,
                                       uint8_t* out, size_t capacity,
                                       fnabi_error* error);

/* Decodes what a module needs to run from its bytecode. The message is
 *   [[[function, offset, category, key]...],
 *    [[function, offset, format, segment]...],
 *    [[function, offset, executable, name]...],
 *    [[function, offset, access, scope,
 *       [[key, parameter_offset, buffer_offset, length]...]]...],
 *    [[function, offset, text]...],
 *    [segment...]]
 * with a row for each call, or failure, by the ordinal of its function and its
 * offset in it:
 *   hal.device.query.i64            a query of a device
 *   hal_loader.executable.query_support
 *                                   a query whether the host loads executables
 *                                   of the format `key`; category "hal_loader"
 *   hal.executable.create, hal_loader.executable.load
 *                                   an executable: its format, and its data as
 *                                   the ordinal of a read-only segment
 *   hal.executable.lookup.function, hal_loader.executable.lookup.function
 *                                   an entry point: of which executable, by its
 *                                   index among those, and its name
 *   io_parameters.*                 access: "load" "gather" "scatter" "read"
 *                                   "write"; with sizes in bytes
 *   fail                            texts that contain "#hal.device.target<"
 * Last are the ordinals of the read-only segments that should have been read,
 * but are not within [data, data + size): what depends on them is nil. An
 * operand is nil if the code does not determine it; the scope is "" if there
 * is none. Fails as fnabi_bytecode_instructions does; with FNABI_MODULE_RANGE
 * if a table of keys is out of range; and with FNABI_WORK if the work exceeds
 * 64 times the size of the file. Allocates at most 48 bytes per byte of
 * bytecode. */
FNABI_API int64_t fnabi_vmfb_needs(const char* data, size_t size, uint8_t* out,
                                   size_t capacity, fnabi_error* error);

/* The same for a file of which only the beginning, with the FlatBuffer, and some
 * segments are at hand. `segments` is a message [[ordinal, bytes]...]; what has
 * another size than the segment is ignored. Fails also with FNABI_MESSAGE. */
FNABI_API int64_t fnabi_vmfb_needs_with(const char* data, size_t size,
                                        const uint8_t* segments,
                                        size_t segments_size, uint8_t* out,
                                        size_t capacity, fnabi_error* error);

/* Decides which releases of IREE's runtime load a module, by what each answered
 * when it was measured on x86-64 with the drivers local-sync and local-task. A
 * set of releases is an integer in which bit i is release i of
 * fnabi_runtime_releases. The message is
 *   [[[kind, subject, wanted, refuses, releases, [[has, releases]...]]...],
 *    [host...], refused, unknown]
 * with a cause for each thing that some releases lack: they refuse the module,
 * or, where `refuses` is false, it was not measured what they do. Where it is
 * nil, they load the module and call a function of it with wrong values. `has`
 * is what they have instead, nil for nothing. Each value is text:
 *   kind          subject        wanted
 *   "bytecode"    nil            version, "17.0"
 *   "feature"     bit number     nil
 *   "module"      name           the least version
 *   "import"      full name      calling convention
 *   "type"        full name      nil
 *   "opcode"      instruction; nil for one that is not known    nil
 *   "format"      of executables; nil if not known    nil
 *   "executable"  its format     nil: the executable is damaged
 *   "library"     the format of an ELF file    version of its library; nil if
 *                                not known
 *   "machine"     its name       nil: it was not measured
 *   "fault"       what fnabi_vmfb_verify or fnabi_bytecode_check finds; what
 *                 fnabi_vmfb_check finds of names, ordinals, counts and globals
 *                 of the module; or that read-only data is outside the file
 *                 nil
 *   "arguments"   an exported function whose arguments they put into wrong
 *                 registers    its calling convention
 *   "call"        a function that the module calls, of whose arguments and
 *                 results they pass 32 of 64 bits    its calling convention
 * `host` names a module that the host registers, other than "hal". `driver` and
 * `machine` say where the module is loaded, "local-task" and "x86_64", "arm_64";
 * NULL: on any. Fails as fnabi_vmfb_needs and fnabi_bytecode_check do. */
FNABI_API int64_t fnabi_vmfb_runs_on(const char* data, size_t size,
                                     const char* driver, size_t driver_size,
                                     const char* machine, size_t machine_size,
                                     uint8_t* out, size_t capacity,
                                     fnabi_error* error);

/* What a module demands of the runtime that loads it. The message is
 *   [major, minor, features,
 *    [[module, least_version]...],
 *    [[full_name, calling_convention, required]...],
 *    [type...],
 *    [opcode...], fault,
 *    [[function, calling_convention, passed]...],
 *    [[format, content]...]]
 * with the version of the bytecode; the dependencies that the runtime requires,
 * with 0 for a version that it does not compare; the imports, where `required`
 * is 1, or 0 if the runtime does without; the types; the instructions, each
 * with the byte in front of it as a prefix * 256, -1 for one that is not known,
 * or nil where the version of the bytecode is not; a text, or nil, as of the
 * cause "fault"; the functions that get wrong values from runtimes that place
 * arguments one after the other (1), or on even registers if they have 64 bits
 * (2), or that pass 32 of 64 bits of calls inside the module (4), where
 * `passed` is the sum; and the executables. Their content is nil where it is
 * not at hand, or is not looked into; 0 where it is damaged; [machine, version]
 * of an ELF file, -1 for a version that is not known; or this message of a
 * module, without executables.
 * Fails as fnabi_vmfb_needs and fnabi_bytecode_check do. */
FNABI_API int64_t fnabi_vmfb_demands(const char* data, size_t size,
                                     uint8_t* out, size_t capacity,
                                     fnabi_error* error);

/* Decides as fnabi_vmfb_runs_on, of which it writes the message, by the message
 * of fnabi_vmfb_demands, which may be of an earlier time. Fails with
 * FNABI_MESSAGE. */
FNABI_API int64_t fnabi_runtime_verdict(const uint8_t* demands,
                                        size_t demands_size, const char* driver,
                                        size_t driver_size, const char* machine,
                                        size_t machine_size, uint8_t* out,
                                        size_t capacity, fnabi_error* error);

/* The names of the measured releases, oldest first. The message is [name...].
 * Cannot fail. */
FNABI_API int64_t fnabi_runtime_releases(uint8_t* out, size_t capacity);

/* The number of bytes from its beginning on that the functions of modules read
 * of a file, except for its ZIP directory and external read-only data; as far as
 * the first `size` bytes determine it. If it is at most `size`, these bytes are
 * enough. The number in a damaged file may be anything below 5 GiB. */
FNABI_API uint64_t fnabi_vmfb_extent(const char* data, size_t size);

/* ----------------------------------------------------------------- bytecode */

/* The bytecode of a module: what its functions do. Each function takes the
 * whole file, as the functions of vmfb do, and fails as fnabi_vmfb_field does.
 * Versions 15.0, 16.0 and 17.0 are known; another fails with
 * FNABI_BYTECODE_VERSION where not said otherwise. All allocate at most 24
 * bytes a byte of the module's tables, and 4 a byte of the largest function.
 * FNABI_WORK also comes where functions share their bytes, or instructions
 * refer to long names, more than 32 times the size of the FlatBuffer in all. */

/* The instructions of one function. The message is
 *   [[offset, name, [operand...], [result...], size, number]...]
 * with the offset in the function and the size, in bytes; the opcode's name,
 * such as "call"; and its number, after the byte of its page: 0x58, 0xE00A.
 * Operands are read and results are written:
 *   [0, kind, number, move]    register; kind: "i32" "i64" "f32" "f64" "ref",
 *                              or "value" if the instruction does not determine
 *                              it; a 64-bit one is `number` and the next
 *   [1, value, kind]           immediate; kind: "i32" "i64" "f32" "f64"
 *   [2, bank, number]          global; bank: "ref" with an ordinal, or "value"
 *                              with an offset in bytes
 *   [3, ordinal, name]         type; name: nil for one that is not there
 *   [4, ordinal]               read-only data segment
 *   [5, ordinal, import, name] callee: an import or a function; name: nil for
 *                              one without, or one that is not there
 *   [6, text]                  text
 *   [7, offset, [[source, target]...]]
 *                              branch: the offset of a block in the function,
 *                              and registers that are copied one by one
 *   [8, [size...]]             segment sizes, nil for what is no span
 * Lists of registers and of cases are spread over the operands. The numbers of
 * registers, ordinals and offsets may lead nowhere: see fnabi_bytecode_check.
 * Fails with FNABI_MODULE_ORDINAL for a function that is not there, with
 * FNABI_MODULE_RANGE for one outside the bytecode, and with
 * FNABI_BYTECODE_OPCODE or FNABI_BYTECODE_END for bytes that are no
 * instruction. */
FNABI_API int64_t fnabi_bytecode_instructions(const char* data, size_t size,
                                              uint64_t ordinal, uint8_t* out,
                                              size_t capacity,
                                              fnabi_error* error);

/* The instructions of `count` functions from `first` on, or of all there are
 * when that is less, as text for people, not as a message: UTF-8 but for names
 * that are not. Fails as the one above. */
FNABI_API int64_t fnabi_bytecode_disassemble(const char* data, size_t size,
                                             uint64_t first, uint64_t count,
                                             uint8_t* out, size_t capacity,
                                             fnabi_error* error);

/* What is wrong with the bytecode. The message is
 *   [[code, offset, path, text, severity,
 *     function, name, position, instruction]...]
 * as in fnabi_vmfb_check, then the ordinal and the name of the function, the
 * offset of the instruction in it and its name, each nil if there is none.
 *   "error"   what the official runtime of that version refuses to load
 *   "unsafe"  what it loads, although calling it can crash or hang: operands
 *             that it does not look at
 *   "notice"  what no compiler writes, and does no harm
 * An unknown version is an error unless there are no functions, and nothing
 * else is looked at then. At most 1000 findings are listed; the last one then is
 * FNABI_BYTECODE_MORE, as severe as the worst of those that it counts. */
FNABI_API int64_t fnabi_bytecode_check(const char* data, size_t size,
                                       uint8_t* out, size_t capacity,
                                       fnabi_error* error);

/* The types of arguments and results that the bytecode proves. The message has
 * for each function by ordinal nil, where nothing is known; or the ordinal of
 * an earlier function, whose calling convention and code are the same; or
 *   [[inputs, results], dims, aliases, fences, lengths]
 *     inputs, results  types, one for each register of the calling convention:
 *             BUFFER for a buffer view that on every path to a return is
 *             asserted to be such a one, or created so; a dim in which paths
 *             differ, or that is computed, is nil, and so is a shape of
 *             unknown rank. REF where the dtype is not proven; its name is that
 *             of the type that all uses are of, or nil. SCALAR as the calling
 *             convention has it
 *     dims    [inputs, results]: for each value nil, or for each dim a number
 *             or nil. Dims with the same number are the same value in every
 *             call; those that equal no other one have none
 *     aliases for each result nil, or [argument, kind]: the index of an
 *             argument that the result is ("whole"), or whose storage it is a
 *             view of ("storage")
 *     fences  [wait, signal]: the index of the only argument that is waited
 *             for and not signaled, and of the only one that is signaled; nil
 *             if there is none or more than one
 *     lengths empty, or for each input nil or a number of bytes: some path
 *             fails unless the buffer has as many. Nil for BUFFER inputs
 * Nothing is guessed: the types hold for every call that returns, given the
 * runtime's own checks. The result of a recursive call, direct or indirect, is
 * unknown. The time is at most 64 times the size of the bytecode; a function
 * that takes longer, or shares its bytes with too many others, is nil. Fails
 * with FNABI_WORK if the message exceeds 32 times the size of the FlatBuffer.
 * Allocates as the functions above, plus at most 64 MiB for states and 100
 * bytes per byte of bytecode. */
FNABI_API int64_t fnabi_bytecode_signatures(const char* data, size_t size,
                                            uint8_t* out, size_t capacity,
                                            fnabi_error* error);

/* What the functions do. The message has for each function by ordinal nil, where
 * nothing is known, or
 *   [[value...], [[offset, loop, targets, calls, end, values]...]]
 * with the blocks that are reached, in the order of the code: the offset of
 * each, whether it may run more than once in a call, and those of the blocks
 * that follow it. `end` is "branch", "condition", "table", "return" or "fail",
 * and its values are those that are tested, returned or failed with. A call is
 *   [offset, [kind, ordinal], operands, sizes, results]
 * of an "import" or a "function"; or its only operand is stored in the "global"
 * reference of that number. It has an index among the values for each register, nil for what is not known;
 * `sizes` has a number of tuples for each span, and FNABI_SEGMENT_SINGLE (65535)
 * for what is none, or is empty for a calling convention without spans. Equal
 * values have equal indices. A value comes after those that it is made of:
 *   ["constant", number]         its bits, unsigned
 *   ["null"]                     the null reference
 *   ["argument", index]
 *   ["result", offset, index]    of the instruction at the offset
 *   ["met", offset, register]    one of several, at the start of a block
 *   ["carried", offset, number]  made in a function that is called there
 *   ["list", offset, number]     a list that is allocated there
 *   ["rodata", offset, ordinal]  read-only data, loaded there
 *   ["global", offset, number]   a global reference, loaded there
 *   ["pure", name, values]       what that instruction makes of integers;
 *                                "pair": of a low and a high half
 *   ["low", value]               half of a 64-bit value, and "high"
 *   ["dim", view, index]         of a buffer view, and ["rank", view],
 *                                ["element_type", view], ["storage", view]
 *   ["view", element_type, dims, storage]
 *                                a buffer view that the code creates; dims is
 *                                nil if the rank is not known
 * In a block that may run more than once, what its instructions make is of one
 * run. Nothing is guessed, limited and allocated otherwise than in
 * fnabi_bytecode_signatures, whose failures it shares. */
FNABI_API int64_t fnabi_bytecode_program(const char* data, size_t size,
                                         uint8_t* out, size_t capacity,
                                         fnabi_error* error);

/* -------------------------------------------------------------- declaration */

/* The text that compilers write for people (attribute
 * `iree.abi.declaration`), such as
 *
 *   sync func @f(%a: tensor<?x8xf32>, %b: i32 {k = 1}) -> (%c: tensor<?xi8>)
 *
 * The grammar is in abi/declaration.c. Names are not escaped, so a text may be
 * ambiguous: `%x: i64, %y: i32` may be one argument. The decoder chooses the
 * reading with the most and shortest names, or, if the numbers of values are
 * known and differ, a reading with these numbers. */

/* The message is
 *   [name, model, inputs, results, text, ambiguity]
 *     model   "sync", "async", or nil where the text contains neither
 *     inputs, results
 *             [[name, type, [[key, text]...], text, declared]...]
 *             name: without '%'; the pairs are the attributes; text: the whole
 *             value, unchanged. If the attribute iree.abi.encoding and the type
 *             in the text are both SCALAR or both BUFFER, `type` is that of the
 *             attribute and `declared` that of the text, which is else nil
 *     text    all of `data`
 *     ambiguity
 *             why the text is ambiguous, or nil:
 *             "arity"  no reading has the known numbers of values
 *             "names"  there are several readings; a name that the compiler
 *                      generates ("input1") counts as one name where it has the
 *                      right number
 *             "type"   an unknown word is in the position of a type
 *
 * Types are SCALAR, BUFFER, HOMOGENEOUS_LIST (!util.list<...>), REF for any
 * other '!...', with its whole text as its name, nil for !vm.ref<?>, and
 * UNKNOWN.
 *
 * `inputs` and `results` are the numbers of values of the calling convention,
 * negative where they are not known; an async function has two more inputs than
 * its declaration. The letters are those of the calling convention (of
 * "iIfFr"), as many, or NULL; they help to choose the reading. If
 * ambiguity is nil, no other reading has the known numbers.
 * Fails with FNABI_DECLARATION_* for a text that has no reading, or only such
 * that begin a value within quotes, and with FNABI_DEPTH. Reads each byte about
 * twice in texts that compilers print, and at most a few times FNABI_DEPTH_MAX.
 */
FNABI_API int64_t fnabi_declaration_decode(
    const char* data, size_t size, int64_t inputs, const char* input_letters,
    int64_t results, const char* result_letters, uint8_t* out, size_t capacity,
    fnabi_error* error);

/* ------------------------------------------------------------------ columns */

/* Many texts of one ABI, decoded into columns: arrays in the layout of Apache
 * Arrow, one row per text. A malformed text is a row without values, with the
 * code and the offset that the decoder of its ABI reports. It does not affect
 * other rows.
 *
 * The values of a row are two sequences of nodes in preorder, one for its
 * inputs and one for its results. All nodes of a raw signature have depth 0. A
 * NAMED type is one node, the named type with its name; so is each type of a
 * DICT with its key. A calling convention's registers are SCALAR, with signless
 * integers, and REF; a span is a HOMOGENEOUS_LIST of a TUPLE. */
typedef enum fnabi_abi {
  FNABI_ABI_RAW,
  FNABI_ABI_SIP,
  FNABI_ABI_CCONV,
  FNABI_ABI_IREE_ABI,
  FNABI_ABI_DECLARATION,
  FNABI_ABI_COUNT
} fnabi_abi;

/* The columns. Those from OFFSETS on belong to the inputs; the number of the
 * same column of the results is higher by FNABI_COLUMN_SIDE. Not every ABI has
 * all: T marks columns of all ABIs but SIP, N of all but raw and SIP, S of SIP.
 * A column of offsets has one element more than there are rows or nodes, and
 * begins with 0. */
#define FNABI_COLUMN_SIDE 13
typedef enum fnabi_column {
  FNABI_COLUMN_STATUS,    /* uint8, a row: fnabi_code, or FNABI_ROW_NULL */
  FNABI_COLUMN_AMBIGUITY, /* int8, a row, declarations: fnabi_ambiguity */
  FNABI_COLUMN_KEPT, /* int64: the rows whose text is kept, ascending: those
                          with an error, and where N all but null ones */
  FNABI_COLUMN_ERROR_OFFSET, /* int64, a kept row: 0 where it has no error */
  FNABI_COLUMN_TEXT_OFFSETS, /* int64, of the kept rows: their text */
  FNABI_COLUMN_TEXT,         /* bytes */

  FNABI_COLUMN_OFFSETS,       /* int32, of the rows: their nodes */
  FNABI_COLUMN_KIND,          /* int8, a node: fnabi_type, fnabi_sip_node */
  FNABI_COLUMN_DTYPE,         /* T, a node: index of a dtype, -1 for none; int8
                                 for raw, where it is the scalar type; int32 */
  FNABI_COLUMN_SHAPE_OFFSETS, /* T int32, of the nodes: their dims */
  FNABI_COLUMN_DIMS,          /* T int64: -1 for a dynamic one */
  FNABI_COLUMN_FLAGS,         /* N uint8, a node: of fnabi_node_flags */
  FNABI_COLUMN_DEPTH,         /* N S uint8, a node: how many nodes it is in */
  FNABI_COLUMN_NAME_OFFSETS,  /* N S int32, of the nodes: name or key */
  FNABI_COLUMN_NAMES,         /* N S bytes */
  FNABI_COLUMN_REF_OFFSETS,   /* N int32, of the nodes: the name of a REF */
  FNABI_COLUMN_REFS,          /* N bytes */
  FNABI_COLUMN_INDEX,         /* S int32, a node: of a leaf, else -1 */
  FNABI_COLUMN_POSITION, /* S int32, a node: its key in a sequence, else -1 */
  FNABI_COLUMN_COUNT = FNABI_COLUMN_OFFSETS + 2 * FNABI_COLUMN_SIDE
} fnabi_column;

#define FNABI_ROW_NULL 255 /* the status of a row without a text */

typedef enum fnabi_node_flags {
  FNABI_NODE_RANKED = 1, /* has a shape */
  FNABI_NODE_NAMED = 2,  /* has a name or a key, which may be empty */
  FNABI_NODE_REF_NAMED = 4
} fnabi_node_flags;

typedef enum fnabi_ambiguity {
  FNABI_AMBIGUITY_NONE,
  FNABI_AMBIGUITY_ARITY,
  FNABI_AMBIGUITY_NAMES,
  FNABI_AMBIGUITY_TYPE
} fnabi_ambiguity;

/* Columns own their memory, which grows as rows are added, to at most twice
 * their contents. A row takes 9 bytes, a node of a raw signature 6, of SIP 14,
 * of others 19, a dim 8; names are added to that, and for a kept text its size
 * and 24 bytes. Columns are reference-counted: each owner frees them once, on
 * any thread. Only one thread may add rows at a time, and only while nobody
 * reads or exports them. */
typedef struct fnabi_columns fnabi_columns;

/* The decoders of raw and SIP signatures into columns. All make the same
 * columns. The reference is the decoder of single texts, which all other ABIs
 * use. */
typedef enum fnabi_decoder {
  FNABI_DECODER_BEST, /* the fastest one of this processor */
  FNABI_DECODER_REFERENCE,
  FNABI_DECODER_SCALAR, /* by a processor of any kind */
  FNABI_DECODER_NEON,
  FNABI_DECODER_AVX2,
  FNABI_DECODER_AVX512, /* with VBMI2 */
  FNABI_DECODER_COUNT
} fnabi_decoder;

/* The decoder that BEST means on this processor; any other decoder itself. -1
 * where it is not available. */
FNABI_API int32_t fnabi_decoder_find(int32_t decoder);

/* New columns without rows. NULL if out of memory, or if there is no such ABI,
 * or no such decoder on this processor. */
FNABI_API fnabi_columns* fnabi_columns_new(int32_t abi, int32_t decoder);

/* Gives up one ownership; the last one frees the columns. NULL is ignored. */
FNABI_API void fnabi_columns_free(fnabi_columns* columns);

/* Each of the next four adds a row for every text and returns the number of
 * rows. Time does not depend on the existing rows; raw and SIP signatures take
 * about 140 KB of the stack. They fail with FNABI_MEMORY, also where a side
 * would have more nodes, dims or bytes of names than int32 counts, and with
 * FNABI_MESSAGE where the container of the texts is malformed. `offset` is then
 * the row, counted from the first one added; the rows before it stay. */

/* Texts between offsets into `data`: text i in [offsets[i], offsets[i + 1]),
 * for `first` <= i < first + count. `width` is the size of an offset in bytes,
 * 4 or 8. Bit i of `validity` is set where there is a text; NULL: always. */
FNABI_API int64_t fnabi_columns_decode(fnabi_columns* columns, const char* data,
                                       size_t size, const void* offsets,
                                       int32_t width, const uint8_t* validity,
                                       size_t first, size_t count,
                                       fnabi_error* error);

/* A message: an array of strings, binaries and nils. */
FNABI_API int64_t fnabi_columns_decode_list(fnabi_columns* columns,
                                            const uint8_t* message, size_t size,
                                            fnabi_error* error);

/* Lines, each of which ends before "\n" or "\r\n"; also the bytes after the last
 * of these, if `whole`. *used is the number of bytes decoded, also where this
 * fails: those of the rows that stay. Fails with FNABI_LINE for a line of more
 * than `most` bytes, which begins at *used. Bytes after the last line end are no
 * line yet unless `whole`: a caller that waits for more compares their number
 * with `most`. */
FNABI_API int64_t fnabi_columns_decode_lines(fnabi_columns* columns,
                                             const char* data, size_t size,
                                             bool whole, size_t most,
                                             size_t* used, fnabi_error* error);

/* The number of rows, and one column: *size is in bytes. The pointer belongs to
 * the columns and is valid until rows are added. Returns the size of an element;
 * 0, and sets nothing, where the ABI has no such column. */
FNABI_API size_t fnabi_columns_rows(const fnabi_columns* columns);
FNABI_API size_t fnabi_columns_read(const fnabi_columns* columns,
                                    int32_t column, const void** data,
                                    size_t* size);

/* The message of the dtypes that occur, in the order of their indexes:
 * [[dtype...], [name...]], with the name in the type model ("float32"). Cannot
 * fail. */
FNABI_API int64_t fnabi_columns_dtypes(const fnabi_columns* columns,
                                       uint8_t* out, size_t capacity);

/* The message of a row, as the decoder of its ABI returns it. Fails as that
 * decoder does for the text of the row, and with FNABI_MESSAGE for a row
 * without a text and for a row that does not exist. The numbers of a
 * declaration's values are not known. */
FNABI_API int64_t fnabi_columns_row(const fnabi_columns* columns, size_t row,
                                    uint8_t* out, size_t capacity,
                                    fnabi_error* error);

/* The texts of rows `first` to first + count, one after the other, as the
 * encoder of their ABI writes them; ends[i] is the end of the text of row first
 * + i. A row without values is empty. Fails as the encoder, and with
 * FNABI_UNSUPPORTED for declarations, which have no encoder; `offset` is then
 * the row, counted from `first`. The rows must exist. Allocates the size of the
 * longest row. */
FNABI_API int64_t fnabi_columns_encode(const fnabi_columns* columns,
                                       size_t first, size_t count,
                                       int64_t* ends, uint8_t* out,
                                       size_t capacity, fnabi_error* error);

/* An estimate of the capacity for that, of rows that exist: raw and SIP
 * signatures never need more, others hardly ever. */
FNABI_API size_t fnabi_columns_encode_room(const fnabi_columns* columns,
                                           size_t first, size_t count);

/* Adds `by` to each number: to the ends of texts that follow other texts. */
FNABI_API void fnabi_columns_raise(int64_t* ends, size_t count, int64_t by);

/* New columns from the bytes of columns: data[i] and sizes[i] of column i as
 * fnabi_columns_read returned them, 0 bytes for one that the ABI does not have,
 * and the message of fnabi_columns_dtypes. All is copied and checked. NULL where
 * these are no columns, or if out of memory. */
FNABI_API fnabi_columns* fnabi_columns_restore(int32_t abi,
                                               const void* const* data,
                                               const size_t* sizes,
                                               const uint8_t* dtypes,
                                               size_t dtypes_size);

/* Whether two columns have the same ABI and the same rows, whatever the order of
 * their dtypes. */
FNABI_API bool fnabi_columns_equal(const fnabi_columns* a,
                                   const fnabi_columns* b);

/* New columns with the rows of `count` columns, 1 or more, one after the other;
 * those stay as they are. NULL if out of memory, if they are not of one ABI, or
 * if a side has too many nodes, dims or bytes of names. */
FNABI_API fnabi_columns* fnabi_columns_join(fnabi_columns* const* parts,
                                            size_t count);

/* The same in steps, most of which may run at the same time: `new`, and then
 * each column from 0 to FNABI_COLUMN_COUNT once, also those that the ABI does
 * not have. The columns may be read when all are complete. Returns 0, or -1
 * where fnabi_columns_join returns NULL. */
FNABI_API fnabi_columns* fnabi_columns_join_new(fnabi_columns* const* parts,
                                                size_t count);
FNABI_API int64_t fnabi_columns_join_column(fnabi_columns* columns,
                                            fnabi_columns* const* parts,
                                            size_t count, int32_t column);

/* Arrow data, in the structures of the Arrow C data and stream interfaces.
 * Exported data shares ownership of the columns: it may be released after them
 * and on any thread. The schema depends on the ABI alone: a struct of
 *
 *   status         dictionary of the names of fnabi_code
 *   error_offset   int64, null where there is no error
 *   inputs         list of struct:
 *     kind         dictionary of names ("buffer")
 *     dtype        T dictionary of names ("float32"); null: none
 *     shape        T list of int64; null: no shape, or an unknown rank; null
 *                  dims are dynamic
 *     depth        N S uint8
 *     name, ref    N string; null where there is none
 *     name_bytes, ref_bytes    N binary; where it is not UTF-8, instead
 *     index, position          S int32; null where there is none
 *     key, key_bytes           S as a name
 *   results        the same
 *   ambiguity      dictionary of names, of declarations only
 *
 * A row without a text is null in each of these; the struct itself has no
 * nulls, so that it is a record batch too. They fill in *out, which the caller
 * then releases, and return 0; or -1 if out of memory, with nothing to release.
 * Exporting an array allocates its validity bitmaps and 8 bytes per
 * row, and shares everything else. */
struct ArrowSchema;
struct ArrowArray;
struct ArrowArrayStream;
FNABI_API int64_t fnabi_columns_schema(int32_t abi, struct ArrowSchema* out);
FNABI_API int64_t fnabi_columns_array(fnabi_columns* columns,
                                      struct ArrowArray* out);
/* An array for each of the `count` columns, 1 or more of one ABI. */
FNABI_API int64_t fnabi_columns_stream(fnabi_columns* const* columns,
                                       size_t count,
                                       struct ArrowArrayStream* out);

/* Adds rows as fnabi_columns_decode does: texts first to first + count of an
 * array of strings or binaries in any layout: with offsets of either size,
 * views, of a fixed size, dictionary-encoded, run-end encoded, or nulls alone.
 * Where all of these rows are null, an array of any type that has a validity
 * bitmap will do. `column` is the number of the array in a struct; negative:
 * the array is the texts, or a struct of that one array. Where the struct is
 * null there is no text. Fails with FNABI_UNSUPPORTED for another array.
 *
 * The structure of the Arrow data is trusted, because the C data interface has
 * no sizes of buffers to check it against; here, and in every function below
 * that has an array of others. Callers that do not know where data is from
 * validate it first, as `validate(full=True)` of pyarrow does, and as the package
 * does with all tables from files. Trusted is that
 *
 *   - schema and array are of the same type, with the buffers, children and
 *     dictionary that the format of each layout has, none of them NULL where it
 *     is not empty; names and formats end with NUL;
 *   - lengths and offsets are not negative, and each buffer and child is as large
 *     as they require;
 *   - offsets of texts and lists do not decrease and are in the bounds of what
 *     they are offsets into; so are the buffer, offset and size of each view;
 *   - run ends are positive, increase, and reach offset + length.
 *
 * Not trusted are the values: an index outside of its dictionary is a null, a
 * text may have any bytes. Nothing is written to, and nothing is kept. */
FNABI_API int64_t fnabi_columns_decode_arrow(fnabi_columns* columns,
                                             const struct ArrowSchema* schema,
                                             const struct ArrowArray* array,
                                             int64_t column, size_t first,
                                             size_t count, fnabi_error* error);

/* Dictionaries, runs and views let a few bytes of Arrow data stand for many: a
 * dictionary of one text of 40 KB and a million indexes is 1 MB, and 40 GB when
 * each text is written out, as it is to be decoded. The other functions do not
 * limit that. Callers that do not know where data is from measure it first.
 *
 * Returns the bytes by which the values of an array, or of its column of that
 * number, exceed what it stores when each of them is written out: its texts, and
 * 8 for each value, nested ones included, against FNABI_ARROW_GROWTH times what
 * it stores itself and once what it shares with others, a dictionary and the
 * bytes of views. 0 for most data. The package refuses data whose excess is
 * above FNABI_ARROW_FREE bytes, all arrays of a stream together. Where it would
 * be more than `most`, most + 1. Takes time linear in the array and `most`, and
 * trusts what fnabi_columns_decode_arrow trusts. */
#define FNABI_ARROW_GROWTH 512
#define FNABI_ARROW_FREE 67108864
FNABI_API int64_t fnabi_arrow_excess(const struct ArrowSchema* schema,
                                     const struct ArrowArray* array,
                                     int64_t column, int64_t most);

/* How much of some data can be given in the types that a consumer requests. */
typedef enum fnabi_arrow_fit {
  FNABI_ARROW_NEVER, /* it keeps its own types */
  FNABI_ARROW_SOME,  /* where every number fits into the narrower type */
  FNABI_ARROW_ALWAYS
} fnabi_arrow_fit;

/* Whether data of a schema that fnabi exported can be given as `requested`:
 * numbers as integers of another width; dictionaries as texts or with other
 * indexes; strings as binaries; texts and lists with wide offsets or as views.
 * Names, except those of fields of structs, metadata and flags do not count.
 * Fails with FNABI_UNSUPPORTED where these are other data: other fields, or a
 * list for a number; `path` is then the column, such as ".inputs.item.kind". */
FNABI_API int64_t fnabi_arrow_fits(const struct ArrowSchema* schema,
                                   const struct ArrowSchema* requested,
                                   fnabi_error* error);

/* Changes a schema, or an array of `schema`, to the types of `requested`, where
 * they fit. The array is one that fnabi exported, and has not been changed
 * before. Returns 1; 0 where a number does not fit; -1 if out of memory. After
 * these two the array can only be released. */
FNABI_API void fnabi_arrow_cast_schema(struct ArrowSchema* schema,
                                       const struct ArrowSchema* requested);
FNABI_API int64_t fnabi_arrow_cast(struct ArrowArray* array,
                                   const struct ArrowSchema* schema,
                                   const struct ArrowSchema* requested);

/* Changes a schema that fnabi exported to types that every consumer accepts:
 * strings for dictionaries, signed integers for unsigned ones. Data always fits
 * into them, up to 2 GiB of text in a column. */
FNABI_API void fnabi_arrow_plain_schema(struct ArrowSchema* schema);

/* The texts of rows `first` to first + count of a table that has the columns of
 * decoded signatures of an ABI, as fnabi_columns_array exports them, but in any
 * types that hold the same values: what came back from a file or another
 * engine. `ends` as in fnabi_columns_encode. A row that is null, or whose status
 * is not "ok", has no text; a table may lack the status, and one whose inputs
 * and results are both null has no text then. Other columns are ignored, and so
 * is what the columns do not hold: the other keys of an iree.abi object. If `status` is not NULL, status[i] is FNABI_OK, FNABI_ROW_NULL without
 * a text, or the code of what is wrong with the row, which then has none. If it
 * is NULL, the first such row fails, and `offset` is that row, counted from
 * `first`. Fails with FNABI_MESSAGE for columns that make no value, also where
 * one has a value that no text of its kind has, such as the shape of a scalar;
 * otherwise as the encoder of the ABI; with FNABI_UNSUPPORTED, for all rows, for
 * declarations, for a table without these columns and, at the path "status", for
 * one whose status has another type than text. The structure of the Arrow data
 * is trusted, its values are not. Allocates the size of the largest row. */
FNABI_API int64_t fnabi_columns_encode_arrow(
    int32_t abi, const struct ArrowSchema* schema,
    const struct ArrowArray* array, size_t first, size_t count, int64_t* ends,
    uint8_t* status, uint8_t* out, size_t capacity, fnabi_error* error);

/* The number of the column of that name in a table, a struct; or one of these.
 * The schema is trusted. */
enum {
  FNABI_ARROW_NO_COLUMN = -1, /* it has no column of the name */
  FNABI_ARROW_SEVERAL = -2,   /* it has several */
  FNABI_ARROW_NO_TABLE = -3   /* it is no struct */
};
FNABI_API int64_t fnabi_arrow_column(const struct ArrowSchema* schema,
                                     const char* name);

/* A table with the columns of `table`, except number `drop` or all of them, and
 * then those of `more`, which has as many rows: each with `name` before its own
 * name, or all of them `into` one column of that name, a struct, which is null
 * where the first of them is. Metadata is kept. Of the arrays, the columns are
 * moved, and the caller releases what is left; a slice stays one. A row of the
 * result is never null, so `table` and `more` must not have null rows. They
 * return 0, or -1 if out of memory. */
enum { FNABI_ARROW_NONE = -1, FNABI_ARROW_EVERY = -2 };
FNABI_API int64_t fnabi_arrow_beside_schema(const struct ArrowSchema* table,
                                            int64_t drop,
                                            const struct ArrowSchema* more,
                                            const char* name, bool into,
                                            struct ArrowSchema* out);
FNABI_API int64_t fnabi_arrow_beside(struct ArrowArray* table, int64_t drop,
                                     struct ArrowArray* more, bool into,
                                     struct ArrowArray* out);

/* Whether a struct has rows that are null. */
FNABI_API bool fnabi_arrow_has_nulls(const struct ArrowArray* table);

/* The result of fnabi_columns_encode_arrow as a table of two columns: the texts,
 * large strings or binaries, and the names of the codes, null where there is no
 * error. All is copied. They return 0, or -1 if out of memory. */
FNABI_API int64_t fnabi_arrow_texts_schema(const char* name, bool binary,
                                           const char* error_name,
                                           struct ArrowSchema* out);
FNABI_API int64_t fnabi_arrow_texts(const uint8_t* status, const int64_t* ends,
                                    const uint8_t* data, size_t count,
                                    struct ArrowArray* out);

/* A new empty structure, by the name of its capsule: "arrow_schema",
 * "arrow_array" or "arrow_array_stream"; any other name means the last of these.
 * NULL if out of memory. Freeing one, with the same name, also releases its
 * contents; it must not be NULL. */
FNABI_API void* fnabi_arrow_new(const char* kind);
FNABI_API void fnabi_arrow_free(const char* kind, void* object);

/* Gets the schema of a stream if `schema` is not NULL, or else the next array,
 * which is released at the end of the stream; the caller releases what it gets.
 * Returns NULL, or the error text of the stream, which is valid until the stream
 * is used again. The callbacks of the stream are trusted. */
FNABI_API const char* fnabi_arrow_next(struct ArrowArrayStream* stream,
                                       struct ArrowSchema* schema,
                                       struct ArrowArray* array);

/* The length of an array; -1 for one that is released: the end of a stream. */
FNABI_API int64_t fnabi_arrow_length(const struct ArrowArray* array);

/* The source of the arrays of a stream. `schema` makes their type, and returns 0
 * or -1 if out of memory. `next` makes an array, or leaves it
 * released at the end; it returns 0, or an errno, whose text `problem` then
 * returns. `release` is called once, by the last user of the stream. All may be
 * called on any thread, but one at a time. */
typedef struct fnabi_arrow_source {
  int64_t (*schema)(void* context, struct ArrowSchema* out);
  int (*next)(void* context, struct ArrowArray* out);
  const char* (*problem)(void* context);
  void (*release)(void* context);
  void* context;
} fnabi_arrow_source;

/* Returns 0, or -1 if out of memory; `release` is then not called. */
FNABI_API int64_t fnabi_arrow_stream(const fnabi_arrow_source* source,
                                     struct ArrowArrayStream* out);

/* Rows `first` to first + count of a struct array that fnabi exported, a line
 * of JSON each: an object with all its columns, nulls included. Binaries are
 * strings of hexadecimal digits. Fails with FNABI_UNSUPPORTED for other types
 * than those of signatures and scans, such as what fnabi_arrow_texts makes; the
 * structure of the data is trusted, and the rows must exist. */
FNABI_API int64_t fnabi_arrow_json(const struct ArrowSchema* schema,
                                   const struct ArrowArray* array, size_t first,
                                   size_t count, uint8_t* out, size_t capacity,
                                   fnabi_error* error);

/* Where in CSV (RFC 4180) a block begins or ends. */
typedef enum fnabi_csv_state {
  FNABI_CSV_START,  /* where a field begins */
  FNABI_CSV_FIELD,  /* in a field, outside of quotes */
  FNABI_CSV_QUOTED, /* inside of quotes */
  FNABI_CSV_QUOTE   /* after a quote that ends them, unless one follows */
} fnabi_csv_state;

/* Returns the offset after the last line feed of a block outside of quotes, 0 if
 * there is none. Quotes begin where a field does; one elsewhere is a byte like
 * any other. *state is the fnabi_csv_state where the block begins, and then that
 * where it ends: the state for the next block. Reads nothing outside of
 * [data, data + size), and takes time linear in `size`. */
FNABI_API int64_t fnabi_csv_rows(const char* data, size_t size, int32_t* state);

/* How many columns lines of JSON have, with those inside of objects and lists:
 * an upper bound, also for text that is no JSON. `places` has `room` zeros, a
 * power of two; above room / 2 columns the result is room / 2 + 1. Columns are
 * told apart by hashes that begin with `seed`, which texts must not know. Fails
 * with FNABI_DEPTH where objects and lists nest above FNABI_DEPTH_MAX. Takes no
 * memory, and time linear in `size`. */
FNABI_API int64_t fnabi_json_fields(const char* data, size_t size,
                                    uint64_t* places, size_t room,
                                    uint64_t seed, fnabi_error* error);

/* --------------------------------------------------------------------- scan */

/* The exports of many modules as one table: a row for each export, and one for
 * each module that cannot be opened. A module without exports has no row.
 * In text that is not UTF-8, the faulty bytes are escaped as "\xff". The Arrow
 * schema is a struct of
 *
 *   file           string
 *   module         string; null where the file is no module
 *   function       string; null as well, and so is all of the file that follows
 *   ordinal        int64
 *   calling_convention   string
 *   source         dictionary of names: the text that the signature is read
 *                  from, as in fnabi_vmfb_exports; null where it is malformed
 *   inputs, results      lists as in the columns of FNABI_ABI_IREE_ABI; null
 *                  without a source
 *   declaration    string; null without that attribute
 *   ambiguity      dictionary of names; null: none
 *   async          bool: whether the last two arguments are fences
 *   target         string: the devices that the module asks for, or
 *                  "hal_loader", and their executable formats; null where it
 *                  asks for none, or where fnabi_vmfb_needs fails
 *   parameters     string: the names of its parameters; null likewise
 *   error_code     dictionary of the names of fnabi_code; null: no error
 *   error_offset   int64, in the file, or for an export in the value of the
 *                  attribute; null where there is no error, and for FNABI_FILE
 *   error_path     string; null likewise
 *   error          string, what is wrong in words; null: no error
 */
typedef struct fnabi_scan fnabi_scan;

/* A new table without rows, which owns its memory; NULL if out of memory. Only
 * one thread may add rows at a time. Freeing NULL does nothing. */
FNABI_API fnabi_scan* fnabi_scan_new(void);
FNABI_API void fnabi_scan_free(fnabi_scan* scan);

/* Adds the rows of files. The message is an array of their names, strings or
 * binaries; those before `first` are skipped. Stops when there are `limit` rows
 * or more, and returns the number of files scanned.
 *
 * Also stops at a file that cannot be read: *failed is then its errno, else 0,
 * and that file is not counted. Files that are not regular have EISDIR for a
 * directory and ENODEV otherwise; none blocks. Only the FlatBuffer of a file is
 * read, and the names of parameters where they are not in it, up to 256 MiB. A
 * module is verified first, as by fnabi_vmfb_verify; one that fails is a row.
 *
 * Fails with FNABI_MESSAGE for another message, and with FNABI_MEMORY also for
 * 2 GiB of text in a column; `offset` is then the number of files scanned,
 * whose rows stay. */
FNABI_API int64_t fnabi_scan_files(fnabi_scan* scan, const uint8_t* message,
                                   size_t size, size_t first, size_t limit,
                                   bool lenient, int32_t* failed,
                                   fnabi_error* error);

/* Adds the rows of a module in memory, as fnabi_scan_files those of a file named
 * `name`. The data may end after the FlatBuffer; `segments` is as for
 * fnabi_vmfb_needs_with. If `segments` is NULL and read-only data after the end
 * is needed, adds nothing and returns a message [[ordinal, offset, size]...] of
 * the segments, with their ranges in the file, which the file may not have. Call
 * again with them, or with an empty array if there are none. Otherwise returns
 * 0. Fails as fnabi_scan_files does. */
FNABI_API int64_t fnabi_scan_data(fnabi_scan* scan, const char* name,
                                  size_t name_size, const char* data,
                                  size_t size, const uint8_t* segments,
                                  size_t segments_size, bool lenient,
                                  uint8_t* out, size_t capacity,
                                  fnabi_error* error);

/* Adds a row for a faulty file: its code, which must be one, and `why` as the
 * reason of the error. All is copied. Returns 0; fails with FNABI_MEMORY, and then
 * adds nothing. */
FNABI_API int64_t fnabi_scan_fail(fnabi_scan* scan, const char* file,
                                  size_t file_size, int32_t code,
                                  const char* why, size_t why_size,
                                  fnabi_error* error);

/* The number of rows, and of those that have an error. */
FNABI_API size_t fnabi_scan_rows(const fnabi_scan* scan);
FNABI_API size_t fnabi_scan_bad(const fnabi_scan* scan);

/* The message of all rows:
 *   [[file, module, function, ordinal, calling_convention, source, signature,
 *     declaration, ambiguity, async, target, parameters, error]...]
 * signature as in fnabi_vmfb_exports; error: [code's name, offset, path, reason,
 * expected, found] or nil. Cannot fail. */
FNABI_API int64_t fnabi_scan_message(const fnabi_scan* scan, uint8_t* out,
                                     size_t capacity);

/* The rows as Arrow data, which may be released after the table and on any
 * thread. Numbers and texts are copied. They fill in *out, which the caller then
 * releases, and return 0; or -1 if out of memory, with nothing to release. */
FNABI_API int64_t fnabi_scan_schema(struct ArrowSchema* out);
FNABI_API int64_t fnabi_scan_array(fnabi_scan* scan, struct ArrowArray* out);

/* ------------------------------------------------------------------ library */

/* What a shared library contains, read without loading it: an ELF file of
 * either class and byte order, read as the dynamic linker reads it, from its
 * program headers and dynamic section. Section headers, which may be missing,
 * are used only for what these do not contain.
 *
 *   library   [bits, order, type, machine, bind_now, early, soname, runpath,
 *              [needed...], [[name, kind, value]...], [[name, weak]...]]
 *     bits      32 or 64; order: "little" or "big"
 *     type      e_type, 3 for shared libraries; machine: e_machine
 *     bind_now  whether all symbols are resolved when it is loaded
 *     early     whether it refers to one of its undefined symbols, and not
 *               weakly, elsewhere than in calls: that symbol is always resolved
 *               when it is loaded (not reported for 64-bit MIPS)
 *     soname    or nil
 *     runpath   DT_RUNPATH, or else DT_RPATH, or nil
 *     needed    the libraries it is linked with
 *     then      the symbols that it exports whose names begin with
 *               "__tvm_ffi_", "__fnabi_" or "__TVM", in the order of the
 *               table. kind: "function", "object" or "other"; value: the
 *               address before relocation
 *     then      its undefined symbols whose names begin with "TVM"; weak:
 *               whether the symbol may be missing. Those of the C++ namespace
 *               tvm::ffi too, unless they may be missing */

/* Decodes a whole library. Errors have paths such as "segments[2]",
 * "dynamic.strtab" or "symbols[7].name". Linear in the size of the file and of
 * the names in the message. Fails with FNABI_WORK if these are more than 8
 * times as long as the file. */
FNABI_API int64_t fnabi_library_decode(const char* data, size_t size,
                                       uint8_t* out, size_t capacity,
                                       fnabi_error* error);

/* ---------------------------------------------------------------------- any */

/* The values of TVM-FFI's stable C ABI, in the layout of 64-bit machines. A
 * value has 16 bytes:
 *
 *      0             4             8                            16
 *      +-------------+-------------+-----------------------------+
 *      | type index  | 0, or the   | payload; bytes that the     |
 *      |             | text's size | type does not use are 0     |
 *      +-------------+-------------+-----------------------------+
 *
 * It is owned, or a view that is valid for one call. From FNABI_INDEX_OBJECT on
 * the payload is an object, and an owned value is one strong reference to it.
 * The functions of values are private to the core: the lane uses them. */
typedef enum fnabi_type_index {
  FNABI_INDEX_ANY = -1, /* in type schemas, never of a value */
  FNABI_INDEX_NONE = 0,
  FNABI_INDEX_INT,
  FNABI_INDEX_BOOL,
  FNABI_INDEX_FLOAT,
  FNABI_INDEX_POINTER,
  FNABI_INDEX_DTYPE,
  FNABI_INDEX_DEVICE,
  FNABI_INDEX_DLTENSOR,   /* a borrowed DLTensor*; views and invalid results */
  FNABI_INDEX_RAW_STR,    /* a borrowed NUL-terminated string; views only */
  FNABI_INDEX_BYTE_ARRAY, /* a borrowed fnabi_byte_array*; views only */
  FNABI_INDEX_RVALUE,     /* fnabi_object**, which the callee may move from, and
                             then sets to NULL; views only */
  FNABI_INDEX_SMALL_STR,  /* up to 7 bytes of UTF-8 in the payload */
  FNABI_INDEX_SMALL_BYTES,
  FNABI_INDEX_UNCHANGED,
  FNABI_INDEX_OBJECT = 64, /* the first that is an object */
  FNABI_INDEX_STR,
  FNABI_INDEX_BYTES,
  FNABI_INDEX_ERROR,
  FNABI_INDEX_FUNCTION,
  FNABI_INDEX_SHAPE,
  FNABI_INDEX_TENSOR,
  FNABI_INDEX_ARRAY,
  FNABI_INDEX_MAP,
  FNABI_INDEX_MODULE,
  FNABI_INDEX_OPAQUE_PY,
  FNABI_INDEX_LIST,
  FNABI_INDEX_DICT,
  FNABI_INDEX_VISIT_INTERRUPT,
  FNABI_INDEX_BIG_INT,
  FNABI_INDEX_DYNAMIC = 128 /* the first that is assigned at run time */
} fnabi_type_index;

#define FNABI_SMALL_MAX 7

/* As in DLPack 1. */
typedef struct fnabi_dl_dtype {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} fnabi_dl_dtype;

typedef struct fnabi_dl_device {
  int32_t type;
  int32_t id;
} fnabi_dl_device;

typedef struct fnabi_dl_tensor {
  void* data;
  fnabi_dl_device device;
  int32_t ndim;
  fnabi_dl_dtype dtype;
  int64_t* shape;
  int64_t* strides; /* in elements; NULL: compact, in C order */
  uint64_t byte_offset;
} fnabi_dl_tensor;

/* Before every object that fnabi makes there are 16 spare bytes, the last 8 of
 * which hold the function that frees its memory. Foreign objects may have
 * anything there. */
typedef struct fnabi_object {
  uint64_t counts; /* strong in the lower half, weak in the upper; all strong
                      ones together hold one weak one */
  int32_t type_index;
  uint32_t padding;
  void (*deleter)(void* self, int flags); /* 1: destroy, 2: free, 3: both;
                                             NULL: never */
} fnabi_object;

typedef struct fnabi_any {
  int32_t type_index; /* fnabi_type_index */
  uint32_t small_size;
  FNABI_UNNAMED union {
    int64_t v_int;
    uint64_t v_bits;
    double v_float;
    void* v_pointer;
    const char* v_str;
    fnabi_object* v_object;
    fnabi_dl_dtype v_dtype;
    fnabi_dl_device v_device;
    char v_small[8];
  };
} fnabi_any;

typedef struct fnabi_byte_array {
  const char* data;
  size_t size;
} fnabi_byte_array;

/* The universal calling convention. Returns 0, or anything else for a failure.
 * `args` are views, valid during the call. `result` is None before the call,
 * and owned by the caller after success. `handle` is NULL for an exported
 * symbol, and the object itself for a function object. */
typedef int (*fnabi_call)(void* handle, const fnabi_any* args, int32_t n,
                          fnabi_any* result);

/* The objects; all begin with the header. */
typedef struct fnabi_bytes_object { /* STR, BYTES */
  fnabi_object object;
  fnabi_byte_array text;
} fnabi_bytes_object;

typedef struct fnabi_shape_object {
  fnabi_object object;
  const int64_t* dims;
  size_t ndim;
} fnabi_shape_object;

typedef struct fnabi_error_object {
  fnabi_object object;
  fnabi_byte_array kind;
  fnabi_byte_array message;
  fnabi_byte_array backtrace; /* the most recent call first */
  /* replaces (0) or appends to (1) the backtrace */
  void (*update_backtrace)(void* self, const fnabi_byte_array* text, int mode);
  /* Errors made with headers before 0.1.8 end here. */
  fnabi_object* cause;
  fnabi_object* context;
} fnabi_error_object;

typedef struct fnabi_function_object {
  fnabi_object object;
  fnabi_call call;
  void* cpp_call; /* NULL, but for functions of C++ */
} fnabi_function_object;

typedef struct fnabi_tensor_object {
  fnabi_object object;
  fnabi_dl_tensor tensor; /* strides are never NULL where ndim > 0 */
} fnabi_tensor_object;

typedef struct fnabi_seq_object { /* ARRAY: in place; LIST: a buffer apart */
  fnabi_object object;
  fnabi_any* data; /* owned values */
  int64_t size;
  int64_t capacity;
  void (*data_deleter)(void* data); /* NULL: in place */
} fnabi_seq_object;

typedef struct fnabi_map_object { /* MAP, DICT: see calls/map.c */
  fnabi_object object;
  void* data;
  uint64_t size;
  uint64_t slots;
  void (*data_deleter)(void* data);
} fnabi_map_object;

typedef struct fnabi_opaque_object { /* OPAQUE_PY */
  fnabi_object object;
  void* handle;
} fnabi_opaque_object;

typedef struct fnabi_big_int_object {
  fnabi_object object;
  size_t words; /* the number of words that follow: least significant first,
                   two's complement, as few as possible; one for an INT */
} fnabi_big_int_object;

/* Of fields, and FNABI_FIELD_STATIC of methods. */
typedef enum fnabi_field_flag {
  FNABI_FIELD_WRITABLE = 1,
  FNABI_FIELD_DEFAULT = 2, /* it has a default */
  FNABI_FIELD_STATIC = 4,
  FNABI_FIELD_FACTORY = 32, /* the default is a function that makes it */
  FNABI_FIELD_NO_REPR = 64,
  FNABI_FIELD_NO_COMPARE = 128,
  FNABI_FIELD_NO_HASH = 256,
  FNABI_FIELD_NO_INIT = 512,
  FNABI_FIELD_BY_NAME = 1024,      /* the initialiser takes it by name only */
  FNABI_FIELD_SETTER_OBJECT = 2048 /* the setter is a function object */
} fnabi_field_flag;

/* What libtvm_ffi records of a type. Nothing here is owned by who reads it: the
 * table lives until the process ends, but `fields` and `methods` may move when
 * a library registers more of them. */
typedef struct fnabi_type_metadata {
  fnabi_byte_array doc;
  int (*creator)(void** object); /* an empty object; NULL: none */
  int32_t total_size;
  int32_t equality; /* 0 none, 1 tree, 2 free variable, 3 DAG, 4 constant tree,
                       5 unique */
} fnabi_type_metadata;

typedef struct fnabi_type_info {
  int32_t type_index;
  int32_t depth;
  fnabi_byte_array key;
  const struct fnabi_type_info** ancestors; /* `depth`, the root first */
  uint64_t key_hash;
  int32_t field_count; /* of this type alone, without its ancestors' */
  int32_t method_count;
  const struct fnabi_field_info* fields;
  const struct fnabi_method_info* methods;
  const fnabi_type_metadata* metadata; /* NULL: none */
} fnabi_type_info;

typedef struct fnabi_field_info {
  fnabi_byte_array name;
  fnabi_byte_array doc;
  fnabi_byte_array metadata; /* JSON */
  int64_t flags;             /* fnabi_field_flag */
  int64_t size;
  int64_t alignment;
  int64_t offset; /* from the start of the object; may be negative */
  int (*getter)(void* field, fnabi_any* result); /* an owned value */
  void* setter; /* int (*)(void* field, const fnabi_any* value), or a function
                   object; there even where users may not write */
  fnabi_any default_value;
  int32_t static_type_index;
} fnabi_field_info;

typedef struct fnabi_method_info {
  fnabi_byte_array name;
  fnabi_byte_array doc;
  fnabi_byte_array metadata; /* JSON */
  int64_t flags;             /* FNABI_FIELD_STATIC alone counts */
  fnabi_any method;          /* a FUNCTION, kept by the table */
} fnabi_method_info;

/* The values of one attribute for types from `begin` on. */
typedef struct fnabi_type_column {
  const fnabi_any* data;
  int32_t size;
  int32_t begin;
} fnabi_type_column;

/* cdef: end */

#ifdef __cplusplus
}
#endif

#endif /* FNABI_H */
