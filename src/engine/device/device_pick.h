/*
 * device_pick.h - which devices of a node a pod with asks gets; no state changes here
 *
 * Whole gpus first, those that are not cut into slices where there are enough; then shares, each on
 * the gpu with the least left; then slices, then replicas. A slice goes where the placements that
 * stay possible (model/mig.h) fall least, to the start that leaves the most of them; then where the
 * driver has the instance already; then to the first gpu and the lowest start. Several slices are
 * tried in more than one way, the first that serves all is taken, up to a number of tries.
 */
#pragma once

#include "engine/device/device_asks.h"

struct choice {
    struct {
        uint8_t bit;
        uint8_t start;
    } at[ASK_DEVICES_MAX]; /* by device */
    uint64_t gpus;
    unsigned loss; /* by how much the possible placements fall */
};

enum device_pick_how {
    DEVICE_PICK_PACKED,
    DEVICE_PICK_SPREAD, /* slices to gpus that have the most left */
    DEVICE_PICK_EMPTY,  /* as if the node were empty and healthy */
};

/* False: they are not to be had. */
bool device_pick(const struct node *n, const struct shape *s, enum device_pick_how how,
                 struct choice *ret);

/* How many such pods the gpus of an empty node hold, at most; 0: not one. */
uint64_t device_pick_empty(const struct node *n, const struct shape *s);
/* How many of the devices the node has now. */
int64_t device_pick_free(const struct node *n, const struct shape *s);
/* On how many gpus of an empty node such a pod is; 0: it does not fit. */
unsigned device_pick_empty_gpus(const struct node *n, const struct shape *s);

/* How much of one slice is free on a gpu, and why it is not enough. For people. */
struct room_for_slice {
    unsigned size;      /* units that the profile takes */
    unsigned free;      /* units of the gpu that nobody holds */
    const char *pieces; /* "2 and 3": these, as they lie together; in the arena */
};
/* Of the gpu on which the most is free though none can start; false: there is none. */
bool device_pick_fragments(struct arena *a, const struct node *n, const struct shape *s,
                           unsigned *ret_bit, struct room_for_slice *ret);
