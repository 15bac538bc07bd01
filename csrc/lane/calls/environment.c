/* Sets the stream, the allocator and the tensors of a call, and sets them back. */
#include "lane/calls/environment.h"

#include "lane/runtime/call_error.h"
#include "lane/runtime/streams.h"

FNABI_FAST_THREAD lane_choice lane_chosen;

int lane_environment_enter(const lane_arguments* arguments,
                           lane_environment* environment) {
  const fnabi_dl_exchange *of = arguments->exchange,
                          *device_of = arguments->device_exchange;
  *environment = (lane_environment){0};
  if (lane_chosen.made) of = lane_chosen.exchange;
  if (device_of != NULL && device_of->stream_of != NULL &&
      arguments->device.type >= 0 && arguments->device.id >= 0) {
    void* stream = NULL;
    environment->device = arguments->device;
    if (device_of->stream_of(environment->device.type, environment->device.id,
                             &stream) != 0) {
      if (!PyErr_Occurred())
        lane_call_error("the exchange API did not say which stream is current");
      return -1;
    }
    environment->has_stream =
        lane_stream_set(environment->device.type, environment->device.id,
                        stream, &environment->stream) == 0;
  }
  if (of != NULL && of->allocate != NULL)
    environment->has_allocator =
        lane_allocator_set(of->allocate, 0, &environment->allocator) == 0;
  environment->exchange = lane_exchange;
  lane_exchange = of != NULL && of->object_of != NULL ? of : NULL;
  return 0;
}

void lane_environment_leave(const lane_environment* environment) {
  if (environment->has_stream)
    lane_stream_set(environment->device.type, environment->device.id,
                    environment->stream, NULL);
  if (environment->has_allocator)
    lane_allocator_set(environment->allocator, 0, NULL);
  lane_exchange = environment->exchange;
}
