/* vmfb_exports.h - the exports of a module that is being read. Private. */
#ifndef FNABI_VMFB_EXPORTS_H
#define FNABI_VMFB_EXPORTS_H

#include "vmfb/vmfb.h"

/* Writes the message of fnabi_vmfb_exports. `fb` is a walk of the module `data`
 * at its root, with a writer. Fails as fnabi_vmfb_exports does. */
bool fnabi_vmfb_write_exports(fnabi_fb* fb, const fnabi_fb_view* root,
                              const char* data, size_t size);

#endif /* FNABI_VMFB_EXPORTS_H */
