/*
 * kernel_log.h - XIDs in the log of the kernel
 *
 * The driver writes a line for each XID, also where its library has no events for the gpu, where
 * nobody listens, or where the library hangs:
 *
 *   NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
 *   NVRM: Xid (PCI:0000:3b:00 GPU-I:05): 94, pid=7194, name=python3, ...
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "base/str.h"
#include "gpu/gpu_xid.h"

struct kernel_xid {
    int64_t seq;     /* number of the line since boot */
    int64_t at_ns;   /* since boot, by the kernel's clock */
    unsigned pci[3]; /* domain, bus, device */
    int instance;    /* id of the GPU instance; -1: none */
    int64_t xid;
    bool is_decoded;        /* an NVLink error whose line says what it asks for: */
    enum xid_action action; /* nvlink_error.h */
};

/* Reads a record of /dev/kmsg without its line feed. False: no XID. */
bool kernel_xid_parse(struct str record, struct kernel_xid *ret);

/* Is `pci` ("00000000:3B:00.0") the address of the gpu? */
bool kernel_xid_is_of(const struct kernel_xid *x, const char *pci);

struct kernel_log;

/*
 * Follows the log from its beginning: `found` is called for each XID, later (kernel_log_linux.c).
 * The emulation's log (`is_emulated`) is a plain file that need not exist yet. Without the right to
 * read /dev/kmsg there are no XIDs.
 */
struct kernel_log *kernel_log_new(struct loop *l, const char *path, bool is_emulated,
                                  void (*found)(void *arg, const struct kernel_xid *x), void *arg);
void kernel_log_free(struct kernel_log *k); /* accepts NULL */
