/*
 * mig_config.h - configurations of NVIDIA's MIG Partition Editor (mig-parted), version v1, as they
 * are
 *
 * https://github.com/NVIDIA/mig-parted: named lists of rules; a rule chooses gpus by index and by
 * PCI device, switches MIG on or off, and lists the instances by profile.
 */
#pragma once

#include "gpu/gpu_wish.h"

enum {
    MIG_RULES_MAX = 32,
    MIG_FILTERS_MAX = 32,
    MIG_INDICES_MAX = 64
};

/* How the instances of a rule are chosen. */
enum mig_choice {
    MIG_CHOICE_LISTED,   /* `slices` */
    MIG_CHOICE_FILLED,   /* slices[0].profile, as many as a gpu has room for */
    MIG_CHOICE_BALANCED, /* instances of several sizes */
};

struct mig_rule {
    enum mig_choice choice;           /* with a choice, gpus without MIG do not match */
    bool is_all;                      /* of all gpus */
    uint64_t indices;                 /* else: bit i: the gpu with index i */
    int64_t filters[MIG_FILTERS_MAX]; /* device << 16 | vendor, as NVML's pciDeviceId */
    size_t n_filters;                 /* 0: any device */
    bool is_enabled;
    struct gpu_wish_slice slices[GPU_SLICES_MAX];
    size_t n_slices;
};

/* A value; {0} leaves all gpus as they are. */
struct mig_config {
    struct mig_rule rules[MIG_RULES_MAX];
    size_t n;
};

/*
 * Reads the configuration `name` of a document {version: v1, mig-configs: {...}}. ERR_INVALID
 * begins with the path of the member: "mig-configs.all-1g.10gb[0].devices: ...". ERR_NOT_FOUND: the
 * document has no such configuration; the message lists those that there are. `*ret` changes on
 * success only.
 */
struct err *mig_config_parse(const json_t *document, const char *name,
                             struct mig_config *ret) MUST_CHECK;

/*
 * Makes the configuration `name` of those that NVIDIA's MIG manager derives from the hardware:
 * all-disabled, all-enabled, all-balanced, and all-PROFILE for each profile. ERR_NOT_FOUND: another
 * name.
 */
struct err *mig_config_usual(const char *name, struct mig_config *ret) MUST_CHECK;

/* The wish of the last rule that matches the gpu. False: none does; `*ret` is untouched. */
bool mig_config_wish(const struct mig_config *c, const struct gpu *g, struct gpu_wish *ret);
