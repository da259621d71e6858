/*
 * lend.h - the cpus of suspended workloads, lent to workloads that may suspend them
 *
 * A suspended workload stays placed: it keeps its gpus, its memory and its place in the quotas, and
 * does not count its cpus as used. Workloads whose class may suspend it (borrowers) get these cpus,
 * and nobody else does: of the cpus that are lent on a node, those that no borrower uses count as
 * used, as the node's filler. So the lender fits again once its borrowers have ended.
 *
 * A cycle places a borrower with the fillers of its lenders open, and at its end lets each lender
 * go on whose cpus are free on all of its nodes, unless a lender or a preemptor that may suspend it
 * waits for cpus of the same node.
 */
#pragma once

#include "engine/state.h"

/* Do the rules say that `by` suspends the other? */
bool lend_may_suspend(const struct mete_engine *e, const struct workload *by,
                      const struct workload *victim);

/* Stops counting the cpus of a placed pod as used, or counts them again. The filler follows. */
void pod_lend(struct mete_engine *e, struct pod *p);
void pod_unlend(struct mete_engine *e, struct pod *p);
/* Counts the node's filler anew: pods have come or gone, or the capacity has changed. */
void node_fill(struct mete_engine *e, struct node *n);
/* Counts the fillers of all nodes with lenders anew: the rules have changed. */
void lend_fill_all(struct mete_engine *e);

/* Is there a lender that `w` may suspend? */
bool lend_has_lender(const struct mete_engine *e, const struct workload *w);
/* In an open trial: opens the fillers of the workloads that `w` may suspend, also of those that are
 * suspended in the trial. */
void lend_open(struct mete_engine *e, const struct workload *w);
void lend_close(struct mete_engine *e);

/* Lets lenders go on, and lists them in e->resumes. */
void lend_resume(struct mete_engine *e, int64_t now_ns);
/* The workload ends: it is no lender any more. Its pods still are. */
void lend_forget(struct mete_engine *e, struct workload *w);

/* For check.c; NULL: consistent. */
const char *lend_check_node(const struct mete_engine *e, const struct node *n);
const char *lend_check(const struct mete_engine *e);
