/*
 * openb.h - traces of the openb family: nodes, pods, orders of arrival
 *
 * These are the files of the FGD experiments (Weng et al., USENIX ATC '23; docs/simulator.md).
 * `file` is for messages; errors are ERR_INVALID, "file:line: what, and what would be right".
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum {
    OPENB_NODES_MAX = 1 << 16,
    OPENB_PODS_MAX = 1 << 20,
    OPENB_ARRIVALS_MAX = 1 << 22,
    OPENB_GPUS_MAX = 64,   /* of a node or a pod */
    OPENB_MODELS_MAX = 32, /* of a pod */
    OPENB_COLUMNS = 131    /* of a curve: by requested gpu in whole % of the capacity */
};

struct openb_node {
    int64_t cpu_milli;
    int64_t memory_mib;
    uint32_t gpus;
    const char *model;
};

struct openb_pod {
    int64_t cpu_milli;
    int64_t memory_mib;
    uint32_t gpus;
    uint32_t gpu_milli; /* of each: 1 .. 1000; 0 without gpus */
    const char *spec;   /* as in the file: models joined by |; "": any */
    const char *const *models;
    size_t n_models;
    int64_t run_s; /* from scheduling to deletion; -1: not in the file */
};

/* The list of numbers of one seed. */
struct openb_list {
    uint64_t seed;
    const uint32_t *items;
    size_t n;
};

struct openb;

struct openb *openb_new(void);
void openb_free(struct openb *o);
static inline void openb_freep(struct openb **o)
{
    openb_free(*o);
}

/* Call each once, in this order: lists are checked against the numbers of nodes and pods. */
struct err *openb_read_nodes(struct openb *o, const char *file, struct str text) MUST_CHECK;
struct err *openb_read_pods(struct openb *o, const char *file, struct str text) MUST_CHECK;
struct err *openb_read_arrivals(struct openb *o, const char *file, struct str text) MUST_CHECK;
struct err *openb_read_ranks(struct openb *o, const char *file, struct str text) MUST_CHECK;

size_t openb_node_count(const struct openb *o);
const struct openb_node *openb_nodes(const struct openb *o);
size_t openb_pod_count(const struct openb *o);
const struct openb_pod *openb_pods(const struct openb *o);
int64_t openb_capacity_milli(const struct openb *o);

/* Pod rows in the order of arrival, and the rank of each node row; NULL: no list of that seed. */
const struct openb_list *openb_arrivals(const struct openb *o, uint64_t seed);
const struct openb_list *openb_ranks(const struct openb *o, uint64_t seed);

/*
 * The typical pods: kinds (cpu, gpu_milli, gpus, models) by number of pods, most first, on ties the
 * larger kind, until the kinds cover 95 % of the pods. Each has one pod of the kind, and the number
 * of its pods.
 */
struct openb_kind {
    uint32_t pod;
    uint64_t count;
};
size_t openb_kinds(const struct openb *o, const struct openb_kind **ret);

/* A published curve. */
struct openb_published {
    const char *metric; /* "alloc_pct", ... */
    const char *policy; /* in lower case */
    uint64_t seed;
    double at[OPENB_COLUMNS];
};
struct err *openb_read_published(struct openb *o, const char *file, struct str text) MUST_CHECK;
size_t openb_published_count(const struct openb *o);
const struct openb_published *openb_published(const struct openb *o);
