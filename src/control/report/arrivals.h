/*
 * arrivals.h - what users ask for: the last ARRIVALS_KEPT pods, their kinds, and the nodes
 *
 * Fed with the record lines of the scheduler's engine (engine/record/record.h), so that every
 * waiting workload counts, whatever door it came through. A workload counts once: ids grow, so an
 * id not above the newest was seen before, also before a restart. 16 KiB of memory, and the kinds.
 */
#pragma once

#include "base/json.h"
#include "mete/engine.h"

enum {
    ARRIVALS_KEPT = 8192,
    ARRIVALS_KINDS_MAX = 2048
};

struct arrivals;

struct arrivals *arrivals_new(void);
void arrivals_free(struct arrivals *a); /* accepts NULL */

/* For struct mete_options. Lines other than nodes and new workloads cost nothing. */
void arrivals_line(void *arrivals, const char *text, size_t size);

uint64_t arrivals_total(const struct arrivals *a); /* pods since the beginning */
size_t arrivals_recent(const struct arrivals *a);  /* pods among the last ARRIVALS_KEPT */

/*
 * The state to keep over a restart, as a new reference, and the way back: ERR_INVALID if `saved` is
 * malformed.
 */
json_t *arrivals_save(const struct arrivals *a);
struct err *arrivals_load(struct arrivals *a, const json_t *saved) MUST_CHECK;

/*
 * The input files of `mete sim learn`: the nodes with gpus, and the pods in the order of arrival.
 * False: no node has gpus, or no pod came.
 */
struct arrivals_files {
    struct buf nodes;
    struct buf pods;
};
bool arrivals_format(const struct arrivals *a, struct arrivals_files *ret);
void arrivals_files_done(struct arrivals_files *f);

/* Tells the engine the usual demand: the most frequent kinds, up to 95 % of all pods. */
enum mete_result arrivals_tell(const struct arrivals *a, struct mete_engine *e);
