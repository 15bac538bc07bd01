/* demands.h - the message of fnabi_vmfb_demands. Private. */
#ifndef FNABI_VMFB_DEMANDS_H
#define FNABI_VMFB_DEMANDS_H

/* The elements of the message. */
#define FNABI_DEMANDS 9

#endif /* FNABI_VMFB_DEMANDS_H */
