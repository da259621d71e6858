/*
 * device_pick.h - the devices of a node that a pod with asks gets; no state changes here
 *
 * Whole gpus come first, from gpus that cannot be sliced if there are enough, with replicas for the
 * missing ones where the ask accepts these; then shares, each on
 * the gpu with the least free compute; then slices, then replicas. A slice goes to the gpu and
 * start that lose the fewest possible placements (model/mig.h); then where the driver has the
 * instance already; then to the first gpu and the lowest start. Several slices are tried in several
 * ways, up to a number of tries: the first way that serves all is taken.
 */
#pragma once

#include "engine/device/device_asks.h"

struct choice {
    struct {
        uint8_t bit;
        uint8_t start;
        uint8_t ask;
    } at[ASK_DEVICES_MAX]; /* by device */
    uint64_t gpus;
    unsigned loss; /* possible placements lost */
};

enum device_pick_how {
    DEVICE_PICK_PACKED,
    DEVICE_PICK_SPREAD, /* slices and replicas go to gpus with the most room */
    DEVICE_PICK_EMPTY,  /* as if the node were empty and healthy */
};

/* Chooses the devices of one pod. False: the node does not have them. */
bool device_pick(const struct node *n, const struct shape *s, enum device_pick_how how,
                 struct choice *ret);

/* The largest number of such pods that the gpus of the node could hold if it were empty; 0: none.
 */
uint64_t device_pick_empty(const struct node *n, const struct shape *s);
/* The number of such devices that the node could hold if it were empty. */
int64_t device_pick_capacity(const struct node *n, const struct shape *s);
/* The number of the pod's devices that the node has free now. */
int64_t device_pick_free(const struct node *n, const struct shape *s);
/* The number of gpus that such a pod would take if the node were empty; 0: it does not fit. */
unsigned device_pick_empty_gpus(const struct node *n, const struct shape *s);

/* The free units of a gpu on which a slice cannot start, for texts. */
struct room_for_slice {
    unsigned size;      /* units that the profile takes */
    unsigned free;      /* units of the gpu without a holder */
    const char *pieces; /* "2 and 3": the runs of free units; in the arena */
};
/* Finds the gpu with the most free units on which the pod's slice cannot start, though it has
 * enough of them. False: there is none. */
bool device_pick_fragments(struct arena *a, const struct node *n, const struct shape *s,
                           unsigned *ret_bit, struct room_for_slice *ret);
