/* why.h - the parts of mete_why; all texts are in e->answers */
#pragma once

#include "engine/affinity/affinity.h"
#include "engine/place/place.h"

/* What stands between a pod and a node, the least first. */
enum trouble {
    TROUBLE_NONE,     /* fits */
    TROUBLE_KEPT,     /* fits, but is reserved for another */
    TROUBLE_RESERVED, /* fits, but for a backfill reservation made in advance */
    TROUBLE_NEAR,     /* fits, but for other pods that are there, or are not */
    TROUBLE_SHORT_GPUS,
    TROUBLE_SHORT_ROOM,
    TROUBLE_UNHEALTHY,
    TROUBLE_CORDONED,
    TROUBLE_NOT_READY,
    TROUBLE_SMALL_ROOM, /* too small even when empty */
    TROUBLE_SMALL_GPUS,
    TROUBLE_MODEL,
    TROUBLE_TAINT,
    TROUBLE_LABEL,
    TROUBLE_OUTSIDE, /* of the backfill reservation that it runs in alone */
    TROUBLE_TERMS,   /* the node terms */
    TROUBLE_NAME,
};

struct answer {
    const struct node *node;
    enum trouble trouble;
    uint32_t resource; /* what is short or too small; 0: gpus */
    int64_t asked;
    int64_t free;
    int64_t capacity;
    const struct workload *kept_by;  /* TROUBLE_KEPT */
    struct affinity_refusal refusal; /* of TROUBLE_NEAR */
};

/* The answers of the nodes that come nearest, at most `max` (not 0), best first; in the scratch
 * arena. */
struct answers {
    struct answer *at;
    size_t n;
    size_t n_nodes;    /* all that there are */
    int64_t kind_gpus; /* gpus of the kind asked for, on nodes that are of the kind asked for */
};

void answers_find(struct mete_engine *e, const struct attempt *a, const struct shape *s, size_t max,
                  struct answers *ret);

/* The set of which the attempt could not place a pod (the first in filling order that is not full).
 */
uint32_t why_failed_set(const struct attempt *a);

/* "8 H100", "1 gpu", "2 gpus" */
const char *why_gpus(struct mete_engine *e, const struct shape *s, int64_t count);
/* why_asks.c, of pods with asks: "1 H100 and 2 x mig 1g.10gb" */
const char *why_asks(struct mete_engine *e, const struct shape *s);
const char *why_asks_resource(struct mete_engine *e, const struct shape *s);
const char *why_asks_place_text(struct mete_engine *e, const struct shape *s,
                                const struct answer *best);
const char *why_asks_never_text(struct mete_engine *e, const struct shape *s);
/* Is enough of some gpu free for a slice, but at no start where it may be? */
bool why_is_fragmented(struct mete_engine *e, const struct shape *s);
const char *why_fragmented_text(struct mete_engine *e, const struct shape *s);

/* "12.5 cpu", "32Gi memory", "3 example.com/nic" */
const char *why_amount(struct mete_engine *e, uint32_t resource, int64_t amount);
/* The same without its noun. */
const char *why_number(struct mete_engine *e, uint32_t resource, int64_t amount);
/* "job 12", or "team-a/x" for what has no number for people. */
const char *why_workload(struct mete_engine *e, const struct workload *w);
const char *why_label(struct mete_engine *e, const struct label *l);
const char *why_taint(struct mete_engine *e, const struct taint *t);
/* "pod anti-affinity app=x on kubernetes.io/hostname" */
const char *why_rule(struct mete_engine *e, const struct affinity_rule *r);
/* That, and what is there: "...: job 12 is there". */
const char *why_affinity_text(struct mete_engine *e, const struct affinity_refusal *r);
/* "zone in (a, b),spot or metadata.name=n1" */
const char *why_terms(struct mete_engine *e, const struct node_rules *r);

/* The line of one node. */
const char *why_node_text(struct mete_engine *e, const struct shape *s,
                          const struct answer *answer);

/* "needs 8 H100 on one node; most free is 5 (gpu-01)" for what no node could ever hold, or none
 * holds now. */
const char *why_place_text(struct mete_engine *e, const struct attempt *a, const struct shape *s,
                           const struct answers *answers);
const char *why_never_text(struct mete_engine *e, const struct group *g, const struct attempt *a);

/* hold.c: what holds it, METE_REASON_NONE for nothing, and how that is told. */
enum mete_reason_code hold_code(const struct workload *w);
const char *hold_text(const struct workload *w);

enum {
    WHY_LINES_MAX = 8
};

/* "Would start if": each was tried. */
struct why_lines {
    const char *at[WHY_LINES_MAX];
    size_t n;
};

/* Once, and as far as there is room. */
void why_line(struct why_lines *l, const char *text);
/* Only that: what is held starts once it is released. */
void why_if_released(struct mete_engine *e, const struct attempt *a, struct why_lines *to);
/* "needs 16 H100 in one rack; the most free in one is 12 (rack-3)", of the set or all of it; with
 * `is_empty` for what no domain could ever hold. Some domain is required. */
const char *why_domain_text(struct mete_engine *e, const struct group *g, uint32_t set,
                            bool is_empty);
void why_if_domains(struct mete_engine *e, const struct attempt *a, struct why_lines *to);
void why_if(struct mete_engine *e, const struct attempt *a, const struct answers *answers,
            struct why_lines *to);
void why_if_asks(struct mete_engine *e, const struct attempt *a, const struct shape *own,
                 struct why_lines *to);
/* Would it start with this shape in place of that of its only set? On `*ret_node`, then. */
bool why_try(struct mete_engine *e, const struct attempt *a, struct shape *s,
             const char **ret_node);

/* "needs 2 gpus; queue research holds 24 of 24" */
const char *why_quota_text(struct mete_engine *e, const struct workload *w,
                           const struct quota_block *b);
struct reservation;
/* The first by name that takes what the attempt would be given, where that is all that it lacks. */
const struct reservation *why_reservation(struct mete_engine *e, const struct attempt *a,
                                          const struct node **ret_node);
/* What stands between the workload and the backfill reservation that it names; "". */
const char *why_own_reservation_text(struct mete_engine *e, const struct workload *w,
                                     int64_t now_ns);
/* "n1 is reserved until 2026-11-21T08:00:00Z (night)" */
const char *why_reserved_text(struct mete_engine *e, const struct reservation *b, const char *node,
                              int64_t now_ns);
/* The line of a node that is barred. */
const char *why_barred_text(struct mete_engine *e, const struct node *n);
void why_if_reservation(struct mete_engine *e, const struct attempt *a, const struct reservation *b,
                        struct why_lines *l);
/* Who has to end first, of those evicted for it. */
const char *why_preempting_text(struct mete_engine *e, const struct workload *w);
void why_if_quota(struct mete_engine *e, const struct attempt *a, const struct quota_block *b,
                  struct why_lines *l);
