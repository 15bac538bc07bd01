/* Replacement for IREE's header of this name, as the one of the runtime is. */
#ifndef IREE_MODULES_HAL_TYPES_H_
#define IREE_MODULES_HAL_TYPES_H_

#include "iree/runtime/api.h"

#ifdef __cplusplus
extern "C" {
#endif

iree_vm_ref_t iree_hal_fence_retain_ref(iree_hal_fence_t* fence);
iree_hal_buffer_view_t* iree_vm_list_get_buffer_view_retain(
    const iree_vm_list_t* list, size_t index);

#ifdef __cplusplus
}
#endif

#endif
