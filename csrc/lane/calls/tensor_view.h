/* tensor_view.h - tensors that are lent for one call, and the value of a Tensor. Private. */
#ifndef FNABI_LANE_CALLS_TENSOR_VIEW_H
#define FNABI_LANE_CALLS_TENSOR_VIEW_H

#include "lane/calls/types.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/tensor.h"

/* A Tensor over memory that is only valid during one call, and the end of that
 * call. */
PyObject* lane_tensor_of_view(const fnabi_dl_tensor* view);
void lane_tensor_expire(PyObject* tensor);
/* The value of a Tensor, as of lane_view: a DLTENSOR if it is lent for one
 * call. */
int lane_tensor_view(PyObject* tensor, fnabi_any* out);

/* The tensor of a Tensor; NULL with a CallError if it is expired or invalid. */
fnabi_dl_tensor* lane_tensor_in(PyObject* tensor);

#endif /* FNABI_LANE_CALLS_TENSOR_VIEW_H */
