#include "base/error.h"

#include <string.h>

/* The switches have no default: the compiler reports an enumerator without a
 * text. */
#define CODES(X)                                                               \
  X(FNABI_OK, "ok", "no error")                                                \
  X(FNABI_MEMORY, "memory", "out of memory")                                   \
  X(FNABI_DEPTH, "depth", "nested too deeply")                                 \
  X(FNABI_WORK, "work", "more references than the size allows")                \
  X(FNABI_MESSAGE, "message", "not a value of the type model")                 \
  X(FNABI_UNSUPPORTED, "unsupported", "cannot be expressed in this ABI")       \
  X(FNABI_VERSION, "version", "unknown ABI version")                           \
  X(FNABI_TAG, "tag", "invalid component tag")                                 \
  X(FNABI_INTEGER, "integer", "missing digits")                                \
  X(FNABI_INT32, "int32", "integer outside int32")                             \
  X(FNABI_LENGTH, "length", "span length below 1")                             \
  X(FNABI_SPAN_MARK, "span-mark", "missing '!' after span length")             \
  X(FNABI_SPAN_END, "span-end", "span runs past the end")                      \
  X(FNABI_SYNTAX, "syntax", "Syntax error in signature")                       \
  X(FNABI_UNEXPECTED, "unexpected", "component not allowed here")              \
  X(FNABI_MISSING, "missing", "missing component")                             \
  X(FNABI_RAW_INPUTS, "raw-inputs", "Inputs span not found")                   \
  X(FNABI_RAW_RESULTS, "raw-results", "Results span not found")                \
  X(FNABI_RAW_TAG, "raw-tag", "Unrecognized raw tag")                          \
  X(FNABI_RAW_BUFFER_FIELD, "raw-buffer-field",                                \
    "Unrecognized buffer field tag")                                           \
  X(FNABI_RAW_SCALAR_FIELD, "raw-scalar-field",                                \
    "Unrecognized scalar field tag")                                           \
  X(FNABI_RAW_REF_FIELD, "raw-ref-field", "Unrecognized ref object field tag") \
  X(FNABI_RAW_SCALAR_TYPE, "raw-scalar-type", "Illegal ScalarType code")       \
  X(FNABI_RAW_DIM, "raw-dim", "dim below -1")                                  \
  X(FNABI_SIP_INPUTS, "sip-inputs", "Inputs struct not found")                 \
  X(FNABI_SIP_RESULTS, "sip-results", "Results struct not found")              \
  X(FNABI_SIP_KEY, "sip-key", "Struct key not allowed here")                   \
  X(FNABI_SIP_VALUE, "sip-value", "Value not allowed here")                    \
  X(FNABI_SIP_TAG, "sip-tag", "Unrecognized tag")                              \
  X(FNABI_SIP_NEGATIVE, "sip-negative", "negative key or index")               \
  X(FNABI_SIP_DUPLICATE, "sip-duplicate", "duplicate key")                     \
  X(FNABI_JSON, "json", "not well-formed JSON")                                \
  X(FNABI_JSON_STRING, "json-string", "unterminated string")                   \
  X(FNABI_JSON_CONTROL, "json-control", "unescaped control character")         \
  X(FNABI_JSON_UTF8, "json-utf8", "invalid UTF-8")                             \
  X(FNABI_JSON_ESCAPE, "json-escape", "invalid escape")                        \
  X(FNABI_JSON_SURROGATE, "json-surrogate", "unpaired surrogate")              \
  X(FNABI_JSON_NUMBER, "json-number", "missing digits in number")              \
  X(FNABI_JSON_SIZE, "json-size", "text of 4 GiB or more")                     \
  X(FNABI_IREE_ABI_OBJECT, "iree-abi-object", "not a JSON object")             \
  X(FNABI_IREE_ABI_DUPLICATE, "iree-abi-duplicate",                            \
    "duplicate key \"a\" or \"r\"")                                            \
  X(FNABI_IREE_ABI_MISSING, "iree-abi-missing", "missing key")                 \
  X(FNABI_IREE_ABI_SIDE, "iree-abi-side",                                      \
    "arguments or results are not an array")                                   \
  X(FNABI_IREE_ABI_RECORD, "iree-abi-record", "not a type record")             \
  X(FNABI_IREE_ABI_PRIMITIVE, "iree-abi-primitive", "unknown primitive type")  \
  X(FNABI_IREE_ABI_COMPOUND, "iree-abi-compound", "unknown compound type")     \
  X(FNABI_IREE_ABI_FIELD, "iree-abi-field", "wrong number of fields")          \
  X(FNABI_IREE_ABI_NAMED, "iree-abi-named",                                    \
    "\"named\" is only allowed on arguments")                                  \
  X(FNABI_IREE_ABI_NAME, "iree-abi-name", "name or key is not a string")       \
  X(FNABI_IREE_ABI_SLOT, "iree-abi-slot",                                      \
    "slot is not a pair of key and type record")                               \
  X(FNABI_IREE_ABI_RANK, "iree-abi-rank", "invalid rank")                      \
  X(FNABI_IREE_ABI_DIM, "iree-abi-dim", "invalid dim")                         \
  X(FNABI_IREE_ABI_DIMS, "iree-abi-dims",                                      \
    "number of dims differs from the rank")                                    \
  X(FNABI_DECLARATION_HEAD, "declaration-head", "not a declaration")           \
  X(FNABI_DECLARATION_LISTS, "declaration-lists",                              \
    "no lists of arguments and results")                                       \
  X(FNABI_DECLARATION_VALUE, "declaration-value",                              \
    "malformed argument or result")                                            \
  X(FNABI_DECLARATION_SIZE, "declaration-size",                                \
    "declaration of 4 GiB or more")                                            \
  X(FNABI_MODULE_SIZE, "module-size", "file ends before the module does")      \
  X(FNABI_MODULE_IDENTIFIER, "module-identifier", "not an IREE module")        \
  X(FNABI_MODULE_OFFSET, "module-offset", "offset outside the module")         \
  X(FNABI_MODULE_LENGTH, "module-length",                                      \
    "string or vector runs past the end")                                      \
  X(FNABI_MODULE_ALIGNMENT, "module-alignment", "unaligned offset")            \
  X(FNABI_MODULE_VTABLE, "module-vtable", "damaged table")                     \
  X(FNABI_MODULE_STRING, "module-string", "string is not NUL-terminated")      \
  X(FNABI_MODULE_UNION, "module-union", "union's type and value disagree")     \
  X(FNABI_MODULE_REQUIRED, "module-required", "missing required field")        \
  X(FNABI_MODULE_CHANGED, "module-changed", "file changed while open")         \
  X(FNABI_MODULE_RANGE, "module-range", "range outside its data")              \
  X(FNABI_MODULE_COUNT, "module-count", "parallel tables differ in length")    \
  X(FNABI_MODULE_NAME, "module-name", "empty name")                            \
  X(FNABI_MODULE_NEGATIVE, "module-negative", "negative size or count")        \
  X(FNABI_MODULE_DUPLICATE, "module-duplicate", "duplicate name")              \
  X(FNABI_MODULE_FLAGS, "module-flags", "unknown flag bits")                   \
  X(FNABI_MODULE_KIND, "module-kind", "unknown kind")                          \
  X(FNABI_MODULE_ORDINAL, "module-ordinal", "ordinal outside its table")       \
  X(FNABI_MODULE_SCHEMA, "module-schema", "module of an old schema")           \
  X(FNABI_MODULE_ZIP, "module-zip", "damaged ZIP directory")                   \
  X(FNABI_BYTECODE_VERSION, "bytecode-version", "unknown bytecode version")    \
  X(FNABI_BYTECODE_OPCODE, "bytecode-opcode", "unknown opcode")                \
  X(FNABI_BYTECODE_END, "bytecode-end",                                        \
    "instruction past the end of the function")                                \
  X(FNABI_BYTECODE_FEATURE, "bytecode-feature", "feature bits do not match")   \
  X(FNABI_BYTECODE_OUTSIDE, "bytecode-outside", "instruction outside a block") \
  X(FNABI_BYTECODE_NESTED, "bytecode-nested", "block marker inside a block")   \
  X(FNABI_BYTECODE_TERMINATOR, "bytecode-terminator", "missing terminator")    \
  X(FNABI_BYTECODE_BLOCKS, "bytecode-blocks",                                  \
    "block count does not match the block markers")                            \
  X(FNABI_BYTECODE_TARGET, "bytecode-target",                                  \
    "branch target is not a block marker")                                     \
  X(FNABI_BYTECODE_REGISTERS, "bytecode-registers", "too many registers")      \
  X(FNABI_BYTECODE_ARGUMENTS, "bytecode-arguments",                            \
    "arguments do not fit the registers")                                      \
  X(FNABI_BYTECODE_REGISTER, "bytecode-register", "register out of range")     \
  X(FNABI_BYTECODE_BANK, "bytecode-bank", "register of the wrong bank")        \
  X(FNABI_BYTECODE_ODD, "bytecode-odd", "64-bit value in an odd register")     \
  X(FNABI_BYTECODE_MOVE, "bytecode-move", "MOVE is not allowed here")          \
  X(FNABI_BYTECODE_CALLEE, "bytecode-callee", "callee out of range")           \
  X(FNABI_BYTECODE_IMPORT, "bytecode-import", "callee is not an import")       \
  X(FNABI_BYTECODE_CCONV, "bytecode-cconv", "unreadable calling convention")   \
  X(FNABI_BYTECODE_TYPE, "bytecode-type", "type out of range")                 \
  X(FNABI_BYTECODE_RODATA, "bytecode-rodata", "read-only data out of range")   \
  X(FNABI_BYTECODE_GLOBAL, "bytecode-global", "global out of range")           \
  X(FNABI_BYTECODE_MISSING, "bytecode-missing",                                \
    "too few registers for the calling convention")                            \
  X(FNABI_BYTECODE_SURPLUS, "bytecode-surplus",                                \
    "too many registers for the calling convention")                           \
  X(FNABI_BYTECODE_SEGMENTS, "bytecode-segments",                              \
    "segment sizes do not match the calling convention")                       \
  X(FNABI_BYTECODE_REMAP, "bytecode-remap", "copy between register banks")     \
  X(FNABI_BYTECODE_PADDING, "bytecode-padding", "nonzero padding")             \
  X(FNABI_BYTECODE_TRAILING, "bytecode-trailing",                              \
    "unused byte after the last block")                                        \
  X(FNABI_BYTECODE_YIELD, "bytecode-yield",                                    \
    "yieldable call without the YIELD bit")                                    \
  X(FNABI_BYTECODE_MORE, "bytecode-more", "more findings left out")            \
  X(FNABI_CCONV_REGISTER, "cconv-register", "unknown register type")           \
  X(FNABI_CCONV_VOID, "cconv-void",                                            \
    "'v' cannot be combined with other registers")                             \
  X(FNABI_CCONV_SPAN, "cconv-span", "span not allowed here")                   \
  X(FNABI_CCONV_SPAN_END, "cconv-span-end", "unclosed span")                   \
  X(FNABI_CCONV_COUNT, "cconv-count", "invalid span count")                    \
  X(FNABI_CCONV_SIZE, "cconv-size", "text or buffer too large")                \
  X(FNABI_LIBRARY_MAGIC, "library-magic", "not an ELF file")                   \
  X(FNABI_LIBRARY_HEADER, "library-header", "invalid ELF header")              \
  X(FNABI_LIBRARY_RANGE, "library-range",                                      \
    "part runs past the end of the file")                                      \
  X(FNABI_LIBRARY_ADDRESS, "library-address", "address outside every segment") \
  X(FNABI_LIBRARY_DYNAMIC, "library-dynamic", "no dynamic symbols")            \
  X(FNABI_LIBRARY_HASH, "library-hash", "damaged hash table")                  \
  X(FNABI_LIBRARY_STRING, "library-string", "damaged string table")            \
  X(FNABI_SCHEMA_METADATA, "schema-metadata",                                  \
    "not the metadata of a function")                                          \
  X(FNABI_SCHEMA_TYPE, "schema-type", "not the schema of a type")              \
  X(FNABI_FILE, "file", "file cannot be read")                                 \
  X(FNABI_LINE, "line", "line too long")

const char* fnabi_code_text(int32_t code) {
  switch ((fnabi_code)code) {
#define TEXT(code, name, text) \
  case code:                   \
    return text;
    CODES(TEXT)
    case FNABI_CODE_COUNT:
      break;
  }
  return NULL;
}

const char* fnabi_code_name(int32_t code) {
  switch ((fnabi_code)code) {
#define NAME(code, name, text) \
  case code:                   \
    return name;
    CODES(NAME)
    case FNABI_CODE_COUNT:
      break;
  }
  return NULL;
}

int64_t fnabi_fail(fnabi_error* error, int32_t code, uint64_t offset,
                   const char* expected) {
  error->code = code;
  error->offset = offset;
  error->expected = expected;
  error->path[0] = 0;
  return -1;
}

void fnabi_path_field(fnabi_error* error, const char* field) {
  size_t add = strlen(field), have = strlen(error->path);
  if (strncmp(error->path, "...", 3) == 0) return; /* was cut before */
  if (add + have + 3 >= FNABI_PATH_SIZE) {         /* the end is most useful */
    field = "...";
    add = 3;
  }
  memmove(error->path + add, error->path, have + 1);
  memcpy(error->path, field, add);
}

void fnabi_path_index(fnabi_error* error, uint64_t index) {
  char text[24];
  char* p = text + sizeof text;
  *--p = 0;
  *--p = ']';
  do {
    *--p = (char)('0' + index % 10);
    index /= 10;
  } while (index != 0);
  *--p = '[';
  fnabi_path_field(error, p);
}
