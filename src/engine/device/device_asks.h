/*
 * device_asks.h - pods that ask for gpus of several kinds: wholes, shares, slices and replicas
 * together
 *
 * A set that asks only for whole gpus, or only for shares of one size, is a plain shape without
 * asks. The devices of a pod are in the order of its asks. The pod keeps a mark for each device:
 * its ask, and the start of a slice.
 */
#pragma once

#include "engine/device/device_parts.h"

enum {
    ASKS_MAX = 16,
    ASK_DEVICES_MAX = 64, /* of a pod */
};

/* In the order in which devices are chosen. */
enum ask_kind {
    ASK_WHOLE,
    ASK_SHARE,
    ASK_SLICE,
    ASK_REPLICA,
};

struct ask {
    enum ask_kind kind;
    uint32_t count;
    uint32_t first; /* index of its first device */
    uint32_t milli; /* of each device, as far as known before it is chosen: of a replica or a
                       share by memory 1 */
    int64_t bytes;
    bool is_by_memory;
    bool is_several;
    uint32_t other;   /* of wholes: the ask, of count 0, by which replicas serve; 0: none */
    uint32_t profile; /* of slices: number of the profile's name; 0 */
    uint32_t *models; /* by number; none: any */
    size_t n_models;
    uint32_t *uuids; /* of the accepted gpus, by number; none: any */
    size_t n_uuids;
    uint16_t starts; /* of slices: bits of the accepted starts; all bits: any */
};

/* The shape's asks are those of the pod set, then one of count 0 for each that replicas serve, too:
 * a device's mark names the one by which the device was chosen. */
enum mete_result asks_check(struct mete_engine *e, const struct mete_pod_set *set);
/* Do the asks amount to a plain shape? Then `*ret` is the set with `gpus` in place of asks. */
bool asks_are_plain(const struct mete_pod_set *set, struct mete_pod_set *ret);
/* Fills the shape's asks, gpus and milli. */
void asks_read(struct mete_engine *e, const struct mete_pod_set *set, struct shape *s);
void asks_free(struct mete_engine *e, struct shape *s);
/* For a what-if: a copy of the asks in the scratch arena, which may be changed except for the
 * models. */
struct ask *asks_scratch(struct mete_engine *e, const struct shape *s);

/* The compute of all devices of a pod, in 1/1000 gpu; with a model (not 0) only of devices that can
 * be of no other model. */
int64_t asks_milli(const struct shape *s, uint32_t model);
/* Is the compute of some devices known only once they are chosen? */
bool asks_are_open(const struct shape *s);
/* The asks with a count. */
size_t asks_named(const struct shape *s);
/* The memory by which the compute of shares is reckoned: it stays the same while shares by memory
 * are held. Shares may be restored before the gpu's memory is known; those by memory may not. */
static inline int64_t gpu_share_memory(const struct gpu *g)
{
    return g->n_shares > 0 && g->memory_at_share > 0 ? g->memory_at_share : g->memory_bytes;
}

/* The node's gpus of the ask's models and uuids. */
uint64_t ask_gpus(const struct node *n, const struct ask *a);
/* The compute of the ask's share on a gpu, in 1/1000. It stays the same while the gpu has shares.
 */
uint32_t ask_share_milli(const struct ask *a, const struct gpu *g);
/* The number of the pod set's ask that a device is for. */
uint32_t ask_number(const struct shape *s, const struct ask *a);

/* The marks of a pod's devices: the index of the ask, and a slice's start. */
static inline uint16_t *pod_marks(const struct pod *p)
{
    return (uint16_t *)(void *)(p->gpus + pod_shape(p)->gpus);
}

static inline unsigned pod_start(const struct pod *p, size_t i)
{
    return pod_marks(p)[i] & 15u;
}

static inline const struct ask *pod_ask(const struct pod *p, size_t i)
{
    return &pod_shape(p)->asks[pod_marks(p)[i] >> 4];
}

/* The compute of a placed pod's device, in 1/1000 gpu. */
uint32_t pod_device_milli(const struct pod *p, size_t i);

static inline bool pod_has_share(const struct pod *p, size_t i)
{
    return pod_shape(p)->n_asks > 0 ? pod_ask(p, i)->kind == ASK_SHARE
                                    : shape_is_share(pod_shape(p));
}

static inline bool pod_has_whole(const struct pod *p, size_t i)
{
    return pod_shape(p)->n_asks > 0 ? pod_ask(p, i)->kind == ASK_WHOLE
                                    : !shape_is_share(pod_shape(p));
}
