/*
 * cdi_file.h - files of the Container Device Interface: making, checking, and finding devices
 *
 * Other container engines read such files (podman, containerd, CRI-O, Docker), and other programs
 * write them (nvidia-ctk, administrators). The rules are those of the CDI specification 1.1.0.
 */
#pragma once

#include "node/spec/cdi.h"

#define CDI_KIND "nvidia.com/gpu"

/* In the environment of files that Mete wrote: the time of the writing, in seconds since 1970. */
#define CDI_GENERATION "METE_CDI_GENERATION"

/* Checks a file against the specification. ERR_INVALID names the place, and what would be right. */
struct err *cdi_file_check(const json_t *file) MUST_CHECK;

struct cdi_file_options {
    const char *kind; /* of the devices; NULL: CDI_KIND */
    const struct driver_root *root;
    const struct cdi_target *target;
    int64_t now_s;      /* for CDI_GENERATION */
    const json_t *more; /* edits by the uuid of a gpu, added to those of its device; NULL: none */
};

/*
 * The file for these gpus and their MIG instances, by index, by UUID and together (`all`). Its
 * version is the lowest that fits, so that older engines read it. The caller owns `*ret`.
 */
struct err *cdi_file_make(const struct gpu *gpus, size_t n, const struct cdi_file_options *o,
                          json_t **ret) MUST_CHECK;

/* The files of the directories, in the order of rising priority (cdi_file_linux.c). */
struct cdi_source {
    char *path;
    int priority;
    json_t *file;  /* NULL: not readable, or against the rules */
    char *problem; /* NULL: none */
};

struct cdi_sources {
    VEC(struct cdi_source) list; /* by priority, then name */
};

/* Reads the files *.json and *.yaml of /etc/cdi and /var/run/cdi below the directory `root` ("" or
 * "/": of this machine). Unreadable files are listed with their problem. */
void cdi_sources_read(const char *root, struct cdi_sources *ret);
void cdi_sources_done(struct cdi_sources *s);

/* ERR_NOT_FOUND: no file has the device; ERR_CONFLICT: two files of the same priority have it.
 * `*ret_device` is a member of the list `devices` of `*ret_source`. */
struct err *cdi_sources_find(const struct cdi_sources *s, const char *kind, const char *name,
                             const struct cdi_source **ret_source,
                             const json_t **ret_device) MUST_CHECK;

/* A container's request to the files of this machine. */
struct cdi_ask {
    char name[GPU_TEXT_SIZE]; /* uuid of the gpu or MIG instance */
    char alias[32];           /* index, or "0:1:0"; "": none */
    int minor;                /* of the gpu's node */
};

struct cdi_request {
    VEC(struct cdi_ask) asks;
    char *version; /* of the driver */
    json_t *edits; /* the result; NULL: the files do not have these devices */
    char *problem; /* why a file with the devices is not used; NULL: none */
};

struct cdi_request *cdi_request_new(const struct cdi_device *devices, size_t n,
                                    const struct driver_root *root);
void cdi_request_free(struct cdi_request *r); /* accepts NULL */
static inline void cdi_request_freep(struct cdi_request **r)
{
    cdi_request_free(*r);
}

/*
 * Merges the edits of the devices. Files that Mete wrote are left out. A file is not used either if
 * its libraries are of another driver, or if its device nodes are other than those of the gpus:
 * such a file is out of date.
 */
void cdi_request_resolve(struct cdi_request *r, const struct cdi_sources *s);

/* In the worker (cdi_file_linux.c): reads the files, resolves the request, and fills in the type,
 * major and minor of nodes that lack them. */
struct err *cdi_request_work(struct cdi_request *r) MUST_CHECK;
