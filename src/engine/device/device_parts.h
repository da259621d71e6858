/*
 * device_parts.h - gpus in MIG slices or in replicas
 *
 * `told` lists the driver's instances, by start. A held instance is known by its start and profile,
 * whether the driver has it yet or not. On a flexible gpu only held instances are fixed: an
 * instance without a holder gives way to others (`there`, which a trial's undo restores).
 */
#pragma once

#include "engine/state.h"
#include "model/mig.h"

enum {
    REPLICAS_MAX = 256
};

/* A geometry and the numbers of its profiles' names. Freed with the engine. */
struct board {
    const struct mig_geometry *geometry;
    struct mig_table *table;
    uint32_t names[MIG_PROFILES_MAX];
};

struct told_slice {
    uint32_t name; /* of the profile; 0: none starts here */
    char *uuid;    /* or NULL */
};

struct parts {
    const struct board *board; /* NULL: not known */
    bool can_be_whole;
    bool is_flexible;
    uint32_t replicas; /* 0: the gpu is not in mode replicas */
    bool is_renamed;
    bool is_single;
    struct told_slice told[MIG_UNITS_MAX];

    /* Journaled. */
    bool is_sliced;              /* the gpu is in mode slices */
    uint16_t there;              /* bit i: told[i] has not given way */
    uint16_t held;               /* bit i: an instance that starts at unit i is held */
    struct mig_state held_state; /* of the held instances */
    uint32_t held_milli;         /* compute of the held instances, in 1/1000 of the gpu */
    uint32_t n_replicas;         /* held */
    uint32_t names[MIG_UNITS_MAX];
    struct pod *holders[MIG_UNITS_MAX];
};

/* Checks the mode, slices and replicas of a gpu: METE_INVALID, with a message, or METE_OK. */
enum mete_result parts_check(struct mete_engine *e, const struct mete_gpu *from, const char *node);
/* Makes the gpu's parts as told; held devices stay held. */
void parts_set(struct mete_engine *e, struct gpu *g, const struct mete_gpu *from);
/* The gpu's parts, made if it has none: for held devices of a gpu that the caller has not described
 * yet. */
struct parts *parts_make(struct gpu *g);
void parts_free(struct mete_engine *e, struct gpu *g);

/* The number of a profile on the gpu's board; -1: the board has none of that name, or is not known.
 */
int parts_profile(const struct parts *p, uint32_t name);

/* Are no slices and no replicas held? */
bool parts_are_free(const struct parts *p);
/* Do the parts keep the gpu from being given whole or in shares now? */
bool parts_block(const struct parts *p);
/* The compute that held slices and replicas use, in 1/1000 gpu. */
uint32_t parts_milli(const struct parts *p);
/* The compute of one replica. */
uint32_t parts_replica_milli(const struct parts *p);

/* The free compute of the node's gpus that are in slices or replicas, in 1/1000 gpu: of no use to
 * pods that ask for whole gpus or shares. */
int64_t node_parts_milli_left(const struct node *n);

/* The memory of an instance of that profile: as in the geometry's table, but at most its part of
 * the gpu's memory. */
int64_t parts_slice_bytes(const struct gpu *g, int profile);

/* Does the driver have that instance? */
bool parts_has(const struct parts *p, uint32_t name, unsigned start);
/* The driver's uuid of an instance; NULL: there is none, or it is not known. */
const char *parts_uuid(const struct parts *p, uint32_t name, unsigned start);

/* The units (bits) of an instance at `start`, held or not. */
uint16_t parts_span(const struct parts *p, uint32_t name, unsigned start);

void parts_take_slice(struct mete_engine *e, struct parts *p, struct pod *pod, uint32_t name,
                      unsigned start);
void parts_give_slice(struct mete_engine *e, struct parts *p, unsigned start);
void parts_count_replica(struct mete_engine *e, struct parts *p, int by);
/* The gpu is given whole or in shares: it leaves mode slices. */
void parts_leave(struct mete_engine *e, struct parts *p);

/* NULL, or the first contradiction within the parts or with the pods that hold them. */
const char *parts_check_all(struct mete_engine *e, const struct gpu *g);
uint64_t parts_hash(const struct parts *p, uint64_t hash);

void boards_free(struct mete_engine *e);

/* The free compute of a gpu for pods that ask for whole gpus or shares, in 1/1000. */
static inline uint16_t gpu_free_milli(const struct gpu *g)
{
    if (g->holder || (g->parts && parts_block(g->parts)))
        return 0;
    return (uint16_t)(MILLI - g->milli_used);
}

/* Do shares or replicas of another namespace keep the shape's pods from the gpu? */
static inline bool gpu_keeps_out(const struct gpu *g, const struct shape *s)
{
    return g->is_fenced && g->fence != s->ns &&
           (g->n_shares > 0 || (g->parts && g->parts->n_replicas > 0));
}

static inline bool gpu_is_held(const struct gpu *g)
{
    return g->holder || g->n_shares > 0 || (g->parts && parts_block(g->parts));
}
