/*
 * bind_devices.h - devices of a node for a pod that another scheduler binds
 *
 * The devices come from healthy gpus, those with the lowest index first, as the node's annotation
 * mete.dev/gpus and the ledger say now. Slices are instances that the driver has.
 */
#pragma once

#include "kinds/pod/pod_asks.h"
#include "model/device.h"
#include "store/store.h"

struct bind_devices {
    struct device *at; /* in the order of the asks */
    size_t n;
    int64_t missing; /* devices that the node lacks; then `short_of` is their ask, ... */
    int64_t found;   /* ... and so many of that ask were found */
    struct gpu_ask short_of;
};

/* The pod's namespace, and its node's gpus. */
struct bind_ask {
    const struct gpu_asks *asked;
    const char *ns;
    const json_t *gpus; /* the annotation mete.dev/gpus, decoded */
    bool is_fenced;     /* shares and replicas of a gpu are for pods of one namespace */
};

/* bind_devices_done frees `*ret`. */
void bind_devices_choose(const struct store *s, const struct bind_ask *ask,
                         struct bind_devices *ret);
void bind_devices_done(struct bind_devices *b);
