/*
 * cdi.h - Container Device Interface edits, which make gpus appear in a container
 *
 * Computed from host data alone, and applied to an OCI spec by the rules of the CDI specification
 * (containerEdits: env, deviceNodes, hooks, mounts, additionalGids). Every device node comes with
 * its type, major and minor, so applying needs no look at the host. Hooks come from files of the
 * administrator alone (cdi_file.h).
 *
 * The driver's libraries are bound into the directory that the container's own loader searches, one
 * by one and under each of their names. So programs find them without any variable, and nothing in
 * the container has to run before (no ldconfig, no hook).
 */
#pragma once

#include "base/json.h"
#include "gpu/driver_root.h"
#include "model/gpu.h"

/* "GPU-...,GPU-..." in a container with gpus; "void" if its image or pod sets the variable, but the
 * container has none. */
#define CDI_VISIBLE "NVIDIA_VISIBLE_DEVICES"

/* A gpu, or a MIG instance of it. */
struct cdi_device {
    const struct gpu *gpu;
    const char *instance; /* uuid of the MIG instance; NULL: the gpu */
    int gpu_instance;
    int compute_instance;
};

/* The places of the driver's files. */
struct cdi_target {
    const char *library_dir;    /* of the container's loader; "": it has none, and gets no files */
    const char *library_dir_32; /* "": no 32 bit libraries */
    /* Directory where this process sees the root of the machine that starts the container. NULL:
     * its own root. */
    const char *machine_root;
    /* Image `host`: directory of mount points (node/image/host_driver.h). NULL: the runtime creates
     * mount points. */
    const char *points;
    bool is_musl;   /* the loader is musl's */
    bool is_linked; /* the root has the driver's files already (node/image/driver_tree.h) ... */
    bool is_shared; /* ... but for the sonames of the share library (share_edits.h) */
    bool is_host;   /* image `host`: sees the files of `/` anyway */
};

/* Adds a mount to edits. `options`: NULL-terminated. */
void cdi_add_mount(json_t *edits, const char *from, const char *to, const char *type,
                   const char *const *options);

/* The path of a file as the machine that starts the container has it. Borrowed from `path`. */
const char *cdi_machine_path(const struct cdi_target *target, const char *path);

/*
 * The edits for one container with these devices. `target` NULL: only nodes and variables. `root`:
 * of NVIDIA's driver; NULL: no device is NVIDIA's. Gpus of other vendors have nodes alone.
 * ERR_UNAVAILABLE: the driver has no capability nodes of a MIG instance. The caller owns `*ret`.
 */
struct err *cdi_gpu_edits(const struct cdi_device *devices, size_t n,
                          const struct driver_root *root, const struct cdi_target *target,
                          json_t **ret) MUST_CHECK;

/* The parts of cdi_gpu_edits: the nodes of one device; the nodes and files of the driver, and the
 * variable CDI_VISIBLE, which are added to `edits`. */
struct err *cdi_device_edits(const struct cdi_device *d, const struct driver_root *root,
                             json_t **ret) MUST_CHECK;
void cdi_driver_edits(json_t *edits, const struct driver_root *root,
                      const struct cdi_target *target);
void cdi_name_devices(json_t *edits, const struct cdi_device *devices, size_t n);

/* Applies edits. ERR_INVALID: an unknown edit, one that this machine's runtimes do not know
 * (netDevices, intelRdt), or one that lacks a member. */
struct err *cdi_apply(const json_t *edits, json_t *spec) MUST_CHECK;

/* Puts "NAME=value" into a list of variables, replacing one of that name. */
void cdi_put_env(json_t *list, const char *variable);

/* Sorts mounts by the number of path elements of their destination, keeping the order of equals. */
void cdi_sort_mounts(json_t *spec);
