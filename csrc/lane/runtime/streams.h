/* streams.h - the current stream of each device, and the allocator of tensors,
 * of a thread. Private.
 *
 * They are in libtvm_ffi where it is loaded. No function here needs the GIL;
 * lane_error_find of tvm_ffi.h is called before. */
#ifndef FNABI_LANE_RUNTIME_STREAMS_H
#define FNABI_LANE_RUNTIME_STREAMS_H

#include "lane/runtime/python.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/tensor.h"

/* Finds the functions of libtvm_ffi. */
void lane_streams_find(void* library);
/* As the functions of libtvm_ffi, and in its tables where it is loaded. A device
 * with a negative type or index is an error, or has no stream. */
int lane_stream_set(int32_t type, int32_t id, void* stream, void** old);
void* lane_stream_get(int32_t type, int32_t id);
fnabi_dl_allocate* lane_allocator_get(void);
int lane_allocator_set(fnabi_dl_allocate* to, int global,
                       fnabi_dl_allocate** old);
int lane_tensor_allocate(fnabi_dl_tensor* like, void** out);

#endif /* FNABI_LANE_RUNTIME_STREAMS_H */
