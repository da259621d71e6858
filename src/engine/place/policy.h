/* policy.h - scores of the nodes that fit, and the choice of gpus on a node */
#pragma once

#include "engine/device/device_pick.h"

struct policy {
    const char *name;
    /* The score of a node that fits, in 31 bits; larger is better. */
    uint32_t (*score)(const struct mete_engine *e, const struct node *n, const struct shape *s);
    /* The gpu for one share, out of `free`. NULL: the best fit. */
    uint64_t (*share)(const struct mete_engine *e, const struct node *n, const struct shape *s,
                      uint64_t free);
    bool is_random; /* scores change from search to search */
    bool spreads;   /* slices and replicas go to the gpu with the most left */
    /* Fills the policy's members of the detail. NULL: none. */
    void (*look)(const struct mete_engine *e, const struct node *n, struct detail *d);
    /* As `score`, for a simple detail, a plain node and a plain shape of at most one gpu. */
    uint32_t (*score_plain)(const struct mete_engine *e, const struct detail *d,
                            const struct shape *s);
};

/* A NULL name gives the default policy. NULL: no such policy. */
const struct policy *policy_find(const char *name);

/* The gpus that a pod of this shape gets on a node that fits. */
uint64_t policy_devices(const struct mete_engine *e, const struct node *n, const struct shape *s);

/* Chooses the devices of a pod with asks. False: the pod does not fit. */
bool policy_deal(const struct mete_engine *e, const struct node *n, const struct shape *s,
                 struct choice *ret);

/* score_asks.c: the score plus 1, for a pod with asks. 0: the node cannot give the devices. */
uint32_t score_asks(const struct mete_engine *e, const struct node *n, const struct shape *s);

/*
 * The lead of each score, above the POLICY_BITS of the policy's own: fewest disliked taints, then
 * the locality of the gpus.
 */
enum {
    POLICY_BITS = 26
};

uint32_t policy_lead(const struct node *n, const struct shape *s);

/* The lead without disliked taints, for at most one gpu. */
#define POLICY_LEAD_PLAIN (UINT32_C(30) << POLICY_BITS)

/* The free compute of all healthy gpus, in 1/1000 of a gpu. */
int64_t node_milli_free(const struct node *n);
/* The free cpu, in 1/1000; 0: the node has none. */
int64_t node_cpu_free(const struct mete_engine *e, const struct node *n);

/* score_pack.c */
uint32_t score_binpack(const struct mete_engine *e, const struct node *n, const struct shape *s);
uint32_t score_spread(const struct mete_engine *e, const struct node *n, const struct shape *s);

/* score_openb.c: the policies that FGD was compared with. */
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
