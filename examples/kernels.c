/* Two kernels for float32 tensors, exported for fnabi and for tvm_ffi. */
#include <fnabi/callee.h>
#include <math.h>

static bool vector(callee_call* call, int32_t i,
                   const callee_tensor_value** x) {
  if (!callee_tensor(call, i, x)) return false;
  if ((*x)->dtype.code == 2 && (*x)->dtype.bits == 32 && (*x)->rank == 1 &&
      (*x)->device.type == 1)
    return true;
  char text[32];
  callee_dtype_text((*x)->dtype, text, sizeof text);
  callee_raise(
      "TypeError",
      "%s() argument %d must be a float32 vector in memory of the CPU, "
      "not %s of rank %d",
      call->name, i, text, (*x)->rank);
  return false;
}

static float* element(const callee_tensor_value* x, int64_t i) {
  char* data = (char*)x->data + x->byte_offset;
  return (float*)(void*)data + i * (x->strides ? x->strides[0] : 1);
}

CALLEE_DOC(axpy, "Add a times x to y, in place.")
CALLEE_SIGNATURE(axpy, CALLEE_TYPE("None"),
                 CALLEE_TYPE("float") "," CALLEE_TYPE(
                     "ffi.Tensor") "," CALLEE_TYPE("ffi.Tensor"))
CALLEE_EXPORT(axpy) {
  double a;
  const callee_tensor_value *x, *y;
  if (!callee_count(call, 3) || !callee_float(call, 0, &a) ||
      !vector(call, 1, &x) || !vector(call, 2, &y))
    return CALLEE_FAILED;
  if (x->shape[0] != y->shape[0])
    return callee_raise("ValueError", "x has %lld elements, but y has %lld",
                        (long long)x->shape[0], (long long)y->shape[0]);
  for (int64_t i = 0; i < x->shape[0]; i++)
    *element(y, i) += (float)a * *element(x, i);
  return callee_return_none(call);
}

CALLEE_DOC(norm, "The Euclidean norm of a vector.")
CALLEE_SIGNATURE(norm, CALLEE_TYPE("float"), CALLEE_TYPE("ffi.Tensor"))
CALLEE_EXPORT(norm) {
  double sum = 0;
  const callee_tensor_value* x;
  if (!callee_count(call, 1) || !vector(call, 0, &x)) return CALLEE_FAILED;
  for (int64_t i = 0; i < x->shape[0]; i++)
    sum += (double)*element(x, i) * *element(x, i);
  return callee_return_float(call, sqrt(sum));
}
