/* policy.h - which of the nodes that fit is the best one, and which of its gpus */
#pragma once

#include "engine/device/device_pick.h"

struct policy {
    const char *name;
    /* Of a node that fits, in 31 bits; larger is better. */
    uint32_t (*score)(const struct mete_engine *e, const struct node *n, const struct shape *s);
    /* The gpu for one share, out of those with room. NULL: the best fit. */
    uint64_t (*share)(const struct mete_engine *e, const struct node *n, const struct shape *s,
                      uint64_t free);
    bool is_random; /* each search gives other scores */
    bool spreads;   /* slices and replicas go where the most is left */
    /* Adds to the detail what it makes of the node as it is. NULL: nothing. */
    void (*look)(const struct mete_engine *e, const struct node *n, struct detail *d);
    /* As `score`, where the detail is simple, of a plain node and a plain shape that asks for at
     * most one gpu. */
    uint32_t (*score_plain)(const struct mete_engine *e, const struct detail *d,
                            const struct shape *s);
};

/* NULL is the default. NULL where there is none of that name. */
const struct policy *policy_find(const char *name);

/* The gpus that a pod of this shape gets on a node where it fits. */
uint64_t policy_devices(const struct mete_engine *e, const struct node *n, const struct shape *s);

/* The devices of a pod with asks; false: it does not fit. */
bool policy_deal(const struct mete_engine *e, const struct node *n, const struct shape *s,
                 struct choice *ret);

/* score_asks.c: of a pod with asks. 0: its devices are not to be had; else the score and 1. */
uint32_t score_asks(const struct mete_engine *e, const struct node *n, const struct shape *s);

/*
 * What leads each score, above POLICY_BITS of the policy's own: fewest disliked taints, then gpus
 * that reach each other.
 */
enum {
    POLICY_BITS = 26
};

uint32_t policy_lead(const struct node *n, const struct shape *s);

/* The lead where nothing is disliked and one gpu, or none, is asked for. */
#define POLICY_LEAD_PLAIN (UINT32_C(30) << POLICY_BITS)

/* In 1/1000 of a gpu: all that is free on the healthy ones. */
int64_t node_milli_free(const struct node *n);
/* Of the cpu, in 1/1000; 0 where the node has none. */
int64_t node_cpu_free(const struct mete_engine *e, const struct node *n);

/* score_pack.c */
uint32_t score_binpack(const struct mete_engine *e, const struct node *n, const struct shape *s);
uint32_t score_spread(const struct mete_engine *e, const struct node *n, const struct shape *s);

/* score_openb.c: those that FGD was compared with. */
uint32_t score_random(const struct mete_engine *e, const struct node *n, const struct shape *s);
uint32_t score_dotprod(const struct mete_engine *e, const struct node *n, const struct shape *s);
uint32_t score_bestfit(const struct mete_engine *e, const struct node *n, const struct shape *s);
uint32_t score_gpupacking(const struct mete_engine *e, const struct node *n, const struct shape *s);
uint32_t score_gpuclustering(const struct mete_engine *e, const struct node *n,
                             const struct shape *s);
uint64_t share_random(const struct mete_engine *e, const struct node *n, const struct shape *s,
                      uint64_t free);

/* score_fgd.c */
uint32_t score_fgd(const struct mete_engine *e, const struct node *n, const struct shape *s);
uint64_t share_fgd(const struct mete_engine *e, const struct node *n, const struct shape *s,
                   uint64_t free);

/* score_mete.c */
uint32_t score_mete(const struct mete_engine *e, const struct node *n, const struct shape *s);
void look_mete(const struct mete_engine *e, const struct node *n, struct detail *d);
uint32_t score_mete_plain(const struct mete_engine *e, const struct detail *d,
                          const struct shape *s);
uint64_t share_mete(const struct mete_engine *e, const struct node *n, const struct shape *s,
                    uint64_t free);
