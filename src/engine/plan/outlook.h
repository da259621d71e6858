/* outlook.h - the earliest start of a group's pod on each node, beside all claims */
#pragma once

#include "engine/queue/queue.h"

struct outlook {
    int64_t *from;  /* by rank; a lower bound */
    uint32_t *tree; /* a winner tree: the rank with the earliest time; see search.c */
    size_t room;
    size_t index;  /* the group's index in e->outlooks */
    uint64_t seen; /* e->changes */
    uint64_t pass;
    uint64_t epoch;
};

/* The outlook of a group of one pod, brought up to date: nodes that changed may have room from now
 * on. The group owns it. */
struct outlook *outlook_of(struct mete_engine *e, struct group *g, int64_t now_ns);

/* Resets the outlook: on every node the pod may start now. */
void outlook_begin(struct mete_engine *e, struct outlook *o, int64_t now_ns);

void outlook_put(struct outlook *o, uint32_t rank, int64_t from_ns);
void outlook_free(struct mete_engine *e, struct group *g);
