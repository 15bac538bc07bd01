/* peer.h - objects for the package tvm_ffi. Private. */
#ifndef FNABI_LANE_CALLS_PEER_H
#define FNABI_LANE_CALLS_PEER_H

#include "lane/runtime/python.h"
/* after Python.h, which settles what the system headers offer */
#include "calls/object.h"

/* Returns the object in a wrapper of the package tvm_ffi, which must be
 * imported. */
PyObject* lane_object_peer(fnabi_object* object);

#endif /* FNABI_LANE_CALLS_PEER_H */
