/*
 * device_parts.h - gpus that are dealt out in MIG slices or in replicas
 *
 * What the driver has (`told`) is a list by start. An instance that is held is known by its start
 * and profile, whether the driver has it yet or not. On a flexible gpu only what is held is fixed:
 * instances that nobody holds give way to others, and are forgotten here with the trial's notes.
 */
#pragma once

#include "engine/state.h"
#include "model/mig.h"

enum {
    REPLICAS_MAX = 256
};

/* A geometry and the numbers of its profiles' names. As long as the engine. */
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
    uint32_t replicas; /* 0: not in that mode */
    struct told_slice told[MIG_UNITS_MAX];

    /* Journaled. */
    bool is_sliced;              /* in that mode */
    uint16_t there;              /* bit i: told[i] has not given way */
    uint16_t held;               /* bit i: an instance that starts at unit i */
    struct mig_state held_state; /* of these */
    uint32_t held_milli;         /* compute of what is held, in 1/1000 of the gpu */
    uint32_t n_replicas;         /* held */
    uint32_t names[MIG_UNITS_MAX];
    struct pod *holders[MIG_UNITS_MAX];
};

/* Is something wrong with how the gpu is said to be dealt out? */
enum mete_result parts_check(struct mete_engine *e, const struct mete_gpu *from, const char *node);
/* Makes the gpu's parts as told; what is held of it stays held. */
void parts_set(struct mete_engine *e, struct gpu *g, const struct mete_gpu *from);
/* The gpu's parts, made where it has none: for what is held of a gpu that nobody described yet. */
struct parts *parts_make(struct gpu *g);
void parts_free(struct mete_engine *e, struct gpu *g);

/* The number of a profile on the gpu's board; -1: it has none of that name, or no known board. */
int parts_profile(const struct parts *p, uint32_t name);

/* Is nothing of it held? */
bool parts_are_free(const struct parts *p);
/* May it not be given whole or in shares now? */
bool parts_block(const struct parts *p);
/* What is used of its compute by slices and replicas, in 1/1000. */
uint32_t parts_milli(const struct parts *p);
/* Of one replica. */
uint32_t parts_replica_milli(const struct parts *p);

/* What is left of a node's gpus of which slices or replicas are held, or nothing else may be: of no
 * use to pods that ask for whole gpus or shares. */
int64_t node_parts_milli_left(const struct node *n);

/* Memory that an instance of that profile has: of the table, within its part of the gpu's. */
int64_t parts_slice_bytes(const struct gpu *g, int profile);

/* Does the driver have that instance? */
bool parts_has(const struct parts *p, uint32_t name, unsigned start);
/* What the driver calls an instance; NULL: it has none there, or did not say. */
const char *parts_uuid(const struct parts *p, uint32_t name, unsigned start);

/* Units of the instance that is or would be held at `start`. */
uint16_t parts_span(const struct parts *p, uint32_t name, unsigned start);

void parts_take_slice(struct mete_engine *e, struct parts *p, struct pod *pod, uint32_t name,
                      unsigned start);
void parts_give_slice(struct mete_engine *e, struct parts *p, unsigned start);
void parts_count_replica(struct mete_engine *e, struct parts *p, int by);
/* The gpu is given whole or in shares: it leaves the mode of slices. */
void parts_leave(struct mete_engine *e, struct parts *p);

/* NULL, or what is wrong within the parts and with those that hold them. */
const char *parts_check_all(struct mete_engine *e, const struct gpu *g);
uint64_t parts_hash(const struct parts *p, uint64_t hash);

void boards_free(struct mete_engine *e);

/* What a gpu has for whole pods and shares, in 1/1000. */
static inline uint16_t gpu_free_milli(const struct gpu *g)
{
    if (g->holder || (g->parts && parts_block(g->parts)))
        return 0;
    return (uint16_t)(MILLI - g->milli_used);
}

static inline bool gpu_is_held(const struct gpu *g)
{
    return g->holder || g->n_shares > 0 || (g->parts && parts_block(g->parts));
}
