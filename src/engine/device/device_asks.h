/*
 * device_asks.h - pods that ask for gpus of several kinds: wholes, shares, slices and replicas
 * together
 *
 * A set that asks for whole gpus or for shares of one kind is no such: it is a plain shape. The
 * devices of a pod are in the order of its asks; of each the pod keeps which ask it is for, and
 * where a slice starts.
 */
#pragma once

#include "engine/device/device_parts.h"

enum {
    ASKS_MAX = 16,
    ASK_DEVICES_MAX = 64, /* of a pod */
};

/* In the order in which they are dealt. */
enum ask_kind {
    ASK_WHOLE,
    ASK_SHARE,
    ASK_SLICE,
    ASK_REPLICA,
};

struct ask {
    enum ask_kind kind;
    uint32_t count;
    uint32_t first; /* of its devices */
    uint32_t milli; /* of each, as far as is known before it is dealt; a replica: 1 */
    int64_t bytes;
    uint32_t profile; /* number of its name; 0 */
    uint32_t *models; /* by number; none: any */
    size_t n_models;
};

enum mete_result asks_check(struct mete_engine *e, const struct mete_pod_set *set);
/* Are they the same as a plain shape? Then `*ret` asks for that with its own members. */
bool asks_are_plain(const struct mete_pod_set *set, struct mete_pod_set *ret);
/* Fills the shape's asks, gpus and milli. */
void asks_read(struct mete_engine *e, const struct mete_pod_set *set, struct shape *s);
void asks_free(struct mete_engine *e, struct shape *s);
/* For a what-if: the same asks, which may be changed but for their models. */
struct ask *asks_scratch(struct mete_engine *e, const struct shape *s);

/* In 1/1000 gpu, all devices of a pod; with a model only what can be of no other. */
int64_t asks_milli(const struct shape *s, uint32_t model);
bool asks_have_replicas(const struct shape *s);

/* Of a pod's device: its ask, and where it starts. */
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

/* What a placed pod has of a gpu, in 1/1000. */
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
