/* demands.h - the message of fnabi_vmfb_demands. Private. */
#ifndef FNABI_VMFB_DEMANDS_H
#define FNABI_VMFB_DEMANDS_H

/* The elements of the message; earlier ones lack the calls. */
#define FNABI_DEMANDS 10
#define FNABI_DEMANDS_WITHOUT_CALLS 9

#endif /* FNABI_VMFB_DEMANDS_H */
