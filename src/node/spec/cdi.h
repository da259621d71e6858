/*
 * cdi.h - Container Device Interface edits, which make gpus appear in a container
 *
 * Computed from host data alone, and applied to an OCI spec by the rules of the CDI specification
 * (containerEdits: env, deviceNodes, mounts, additionalGids; no hooks). Every device node comes
 * with its type, major and minor, so applying needs no look at the host.
 */
#pragma once

#include "base/json.h"
#include "model/gpu.h"

#define CDI_GPUSIM_DIR "/run/mete/gpu" /* path of the emulated driver in containers */

/* "GPU-...,GPU-..." in a container with gpus; "void" if its image or pod sets the variable, but the
 * container has none. */
#define CDI_VISIBLE "NVIDIA_VISIBLE_DEVICES"

struct cdi_host {
    int64_t uvm_major;      /* of nvidia-uvm in /proc/devices; -1: not loaded */
    const char *gpusim_dir; /* emulated gpus: the driver's files on the host; NULL otherwise */
};

/* The major of `name` among the character devices of the text of /proc/devices; -1: none. */
int64_t cdi_find_major(const char *proc_devices, const char *name);

/*
 * The edits for one container with these gpus. Search paths are prepended to the variables in `env`
 * (the container's variables so far, as an object). A new reference.
 */
json_t *cdi_gpu_edits(const struct gpu *const *gpus, size_t n, const struct cdi_host *host,
                      const json_t *env);

/* Applies edits. ERR_INVALID: an unknown edit, or one that lacks a member. */
struct err *cdi_apply(const json_t *edits, json_t *spec) MUST_CHECK;

/* Puts "NAME=value" into a list of variables, replacing one of that name. */
void cdi_put_env(json_t *list, const char *variable);

/* Sorts mounts by the number of path elements of their destination, keeping the order of equals. */
void cdi_sort_mounts(json_t *spec);
