/*
 * driver_root.h - the files and device nodes of the installed driver
 *
 * A driver root is the directory below which a driver lies: `/`, /run/nvidia/driver (a driver in a
 * container), or the root that the emulated driver makes. All three are read by the same code, and
 * node/spec/cdi.h makes all of them appear in containers in the same way.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "base/vec.h"

enum driver_file_kind {
    DRIVER_LIBRARY,
    DRIVER_LIBRARY_32, /* of the 32 bit architecture that the CPU runs, too */
    DRIVER_PROGRAM,
    DRIVER_DATA,   /* firmware, descriptions for other loaders */
    DRIVER_SOCKET, /* of a daemon that serves all containers */
    DRIVER_STATE,  /* of an emulated driver: containers write it */
    DRIVER_KINDS
};

struct driver_file {
    enum driver_file_kind kind;
    char *path; /* on this machine, without symlinks */
    /* Library: below the container's library directory ("libcuda.so.1", "vdpau/..."). Program: a
     * file name. Others: an absolute path. One file may have several names. */
    char *name;
};

struct driver_node {
    char *path; /* "/dev/nvidiactl" */
    int64_t major;
    int64_t minor;
};

/* The right to use a MIG instance: number of the node /dev/nvidia-caps/nvidia-cap<number>. */
struct driver_capability {
    int gpu; /* minor of the gpu's own node */
    int gpu_instance;
    int compute_instance; /* -1: of the gpu instance as a whole */
    int number;
};

struct driver_root {
    char *dir;
    char *version; /* "570.124.06" */
    bool is_emulated;
    int64_t gpu_major;
    int64_t capability_base;          /* minor of nvidia-cap0 */
    int64_t capability_major;         /* -1: the driver has no capabilities */
    VEC(struct driver_file) files;    /* sorted by kind and name; no two are equal in both */
    VEC(struct driver_node) nodes;    /* that every user of a gpu needs */
    VEC(struct driver_node) channels; /* of IMEX: given to no container by default */
    VEC(struct driver_capability) capabilities;
};

void driver_root_free(struct driver_root *r); /* accepts NULL */
static inline void driver_root_freep(struct driver_root **r)
{
    driver_root_free(*r);
}

struct driver_root_options {
    const char *dir;
    const char *version;
    const char *machine; /* file of the emulated machine (gpusim_machine.h); NULL: a real driver */
    const char *host;    /* directory with proc, sys and dev of the machine; NULL: "/" */
};

/*
 * Reads a driver root (driver_root_linux.c): walks directories, so only helper processes and tests
 * call it. Symlinks of the root stay in the root. A missing part is no error: drivers are installed
 * in parts. ERR_NOT_FOUND: there is no `dir`.
 */
struct err *driver_root_read(const struct driver_root_options *o,
                             struct driver_root **ret) MUST_CHECK;

/* A text that differs if a number of a device, or a capability, has changed since it was made: the
 * root has to be read again. `host` as in the options. The caller frees it. */
char *driver_numbers(const char *host);

/* The path of a library of the root ("libcuda.so.1") for this process; NULL: none. The caller frees
 * it. */
char *driver_root_find_library(const char *dir, const char *name);

/*
 * Is `name` the file name of a library of the driver: one that ends in the driver's version, or a
 * known one with a version of its own?
 */
bool driver_is_library(const char *name, const char *version);

/* Adds a file; a second of the same kind and name is dropped. */
void driver_root_add_file(struct driver_root *r, enum driver_file_kind kind, const char *path,
                          const char *name);
void driver_root_sort(struct driver_root *r);

/* The number of a capability; -1: none. `compute_instance` -1: of the gpu instance. */
int driver_root_capability(const struct driver_root *r, int gpu, int gpu_instance,
                           int compute_instance);

/* The major of `name` among the character devices of the text of /proc/devices; -1: none. */
int64_t driver_find_major(const char *proc_devices, const char *name);

/* The helper's answer, and back. */
json_t *driver_root_format_json(const struct driver_root *r);
struct err *driver_root_parse_json(const json_t *j, struct driver_root **ret) MUST_CHECK;
