/* Exports whose names and texts are hard to write as code. */
#include <fnabi/callee.h>

#define NUMBER(function, symbol, value)                                       \
  CALLEE_C CALLEE_VISIBLE int function(void* self, const callee_value* args,  \
                                       int32_t count,                         \
                                       callee_value* result) __asm__(symbol); \
  int function(void* self, const callee_value* args, int32_t count,           \
               callee_value* result) {                                        \
    (void)self;                                                               \
    (void)args;                                                               \
    (void)count;                                                              \
    callee_put_int(result, value);                                            \
    return 0;                                                                 \
  }

NUMBER(class_, "__tvm_ffi_class", 0)
NUMBER(int_, "__tvm_ffi_int", 1)
NUMBER(dash, "\"__tvm_ffi_a-b\"", 2)
NUMBER(space, "\"__tvm_ffi_a b\"", 3)
NUMBER(code, "\"__tvm_ffi_x(): import os; os._exit(3) #\"", 4)
NUMBER(quotes, "\"__tvm_ffi_'''\\\"\\\"\\\"\"", 5)
NUMBER(fnabi_, "__tvm_ffi_fnabi", 6)
NUMBER(library_, "__tvm_ffi__library", 7)
NUMBER(e_acute, "\"__tvm_ffi_\303\251t\303\251\"", 8)
NUMBER(digit, "__tvm_ffi_2nd", 9)
NUMBER(sequence, "__tvm_ffi_Sequence", 10)
NUMBER(result, "__tvm_ffi_result", 11)
NUMBER(same, "__tvm_ffi_same", 12)
NUMBER(private_same, "__tvm_ffi__same", 13)

CALLEE_DOC(same, "Ends with a quote: \"\"\"\nimport os\x1b[31m \\")
CALLEE_SIGNATURE(same, CALLEE_TYPE("int"), "")

/* (result, int): parameters that are named as parts of the code are */
CALLEE_PARAMETERS(add, result, int)
CALLEE_SIGNATURE(add, CALLEE_TYPE("int"),
                 CALLEE_TYPE("int") "," CALLEE_TYPE("int"))
CALLEE_EXPORT(add) {
  int64_t a, b;
  if (!callee_count(call, 2) || !callee_int(call, 0, &a) ||
      !callee_int(call, 1, &b))
    return CALLEE_FAILED;
  return callee_return_int(call, a + b);
}

/* (a, class): a name that is a keyword of Python */
CALLEE_PARAMETERS(keyword, a, class)
CALLEE_EXPORT(keyword) { return callee_return_int(call, call->count); }

/* (a): one name for two parameters, of a type that has no hint */
CALLEE_DOC(few, "Ends with a \"quote\"")
CALLEE_PARAMETERS(few, a)
CALLEE_SIGNATURE(few, CALLEE_TYPE("int"),
                 CALLEE_TYPE("of.others") "," CALLEE_TYPE("int"))
CALLEE_EXPORT(few) { return callee_return_int(call, call->count); }

/* (text, numbers): of each kind of hint */
CALLEE_PARAMETERS(many, text, numbers, x, more, f)
#define TEXT CALLEE_TYPE("ffi.String")
#define INTS CALLEE_TYPE_OF("ffi.Array", CALLEE_TYPE("int"))
#define TENSOR CALLEE_TYPE("ffi.Tensor")
#define OTHERS CALLEE_TYPE("ffi.Map") "," CALLEE_TYPE("ffi.Function")
CALLEE_SIGNATURE(many, CALLEE_TYPE_OF("ffi.Map", TEXT "," INTS),
                 CALLEE_TYPE_OF("Optional", TEXT) "," INTS "," TENSOR
                                                  "," OTHERS)
CALLEE_EXPORT(many) { return callee_return_none(call); }
