/*
 * arrivals.h - what a cluster's users ask for: the last ARRIVALS_KEPT jobs, and the nodes they are
 * for
 *
 * Fed with the lines of the scheduler's engine (engine/record/record.h), so that whatever waits is
 * seen, whoever made it. A job counts once: ids grow, and what is not above the newest one was seen
 * before, also before a restart. Kept in 16 KiB, and its kinds.
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

/* For struct mete_options. Lines that are not about nodes and new workloads cost nothing. */
void arrivals_line(void *arrivals, const char *text, size_t size);

uint64_t arrivals_total(const struct arrivals *a); /* pods, ever */
size_t arrivals_recent(const struct arrivals *a);  /* of these, kept */

/* What a restart should not forget; a new reference. And back: ERR_INVALID where it is not that. */
json_t *arrivals_save(const struct arrivals *a);
struct err *arrivals_load(struct arrivals *a, const json_t *saved) MUST_CHECK;

/* As `mete sim learn` reads them: nodes with gpus, the pods as they came, the first one first.
 * False: no node has gpus, or nothing came. */
struct arrivals_files {
    struct buf nodes;
    struct buf pods;
};
bool arrivals_format(const struct arrivals *a, struct arrivals_files *ret);
void arrivals_files_done(struct arrivals_files *f);

/* Tells the engine what is asked for: the most frequent kinds, until these are 95 % of all. */
enum mete_result arrivals_tell(const struct arrivals *a, struct mete_engine *e);
