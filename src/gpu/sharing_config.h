/*
 * sharing_config.h - the configuration of NVIDIA's device plugin, version v1, as it is
 *
 * https://github.com/NVIDIA/k8s-device-plugin#configuration-option-details. Mete reads
 * flags.migStrategy and sharing.timeSlicing or sharing.mps (renameByDefault,
 * failRequestsGreaterThanOne, and the resource nvidia.com/gpu with replicas, rename and devices).
 * Settings that would change what a pod gets, and that Mete does not have, are refused by name:
 * replicas of other resources, other names of resources, both kinds of sharing at once. All other
 * settings get a warning by name.
 */
#pragma once

#include "base/json.h"
#include "model/gpu.h"

enum {
    SHARING_DEVICES_MAX = 64
};

enum mig_strategy {
    MIG_STRATEGY_UNSET,
    MIG_STRATEGY_NONE,
    MIG_STRATEGY_SINGLE,
    MIG_STRATEGY_MIXED
};

/* A value; {0}: nothing is configured. */
struct sharing_config {
    enum mig_strategy strategy;
    unsigned replicas; /* of each chosen gpu; 0: none are replicated */
    bool is_renamed;   /* the replicas are nvidia.com/gpu.shared */
    bool is_single;    /* failRequestsGreaterThanOne; with MPS always */
    bool is_mps;       /* sharing.mps: replicas are clients of an MPS daemon */
    unsigned count;    /* the first gpus, by index; 0: those in `devices`, or all */
    size_t n_devices;  /* 0: all gpus, or the first `count` */
    char devices[SHARING_DEVICES_MAX][GPU_TEXT_SIZE]; /* indices or UUIDs */
};

/*
 * Reads a document (one YAML or JSON tree). ERR_INVALID begins with the path of the member:
 * "sharing.timeSlicing.resources[0].replicas: ...". Texts of warnings are added to `warnings` (a
 * JSON array; may be NULL). `*ret` changes on success only.
 */
struct err *sharing_config_parse(const json_t *document, json_t *warnings,
                                 struct sharing_config *ret) MUST_CHECK;

/* Does the configuration replicate the gpu `g`? */
bool sharing_config_has(const struct sharing_config *c, const struct gpu *g);

/* Reads "none", "single" or "mixed". False: another text. */
bool mig_strategy_parse(const char *text, enum mig_strategy *ret);
/* "mixed" also of MIG_STRATEGY_UNSET. */
const char *mig_strategy_text(enum mig_strategy s);
