/* why.h - the parts of mete_why: the cause of waiting, in words. All texts are in e->answers */
#pragma once

#include "engine/affinity/affinity.h"
#include "engine/place/place.h"

/* The trouble between a pod and a node, the least first. */
enum trouble {
    TROUBLE_NONE,     /* the pod fits */
    TROUBLE_KEPT,     /* fits, but the room is kept for another workload */
    TROUBLE_RESERVED, /* fits, but a reservation excludes the pod */
    TROUBLE_NEAR,     /* fits, but a rule about other pods does not hold */
    TROUBLE_SHORT_GPUS,
    TROUBLE_SHORT_ROOM,
    TROUBLE_UNHEALTHY,
    TROUBLE_CORDONED,
    TROUBLE_NOT_READY,
    TROUBLE_SMALL_ROOM, /* the node is too small even when empty */
    TROUBLE_SMALL_GPUS,
    TROUBLE_MODEL,
    TROUBLE_TAINT,
    TROUBLE_LABEL,
    TROUBLE_OUTSIDE, /* the node is not in the reservation that the workload names */
    TROUBLE_TERMS,   /* the node terms */
    TROUBLE_NAME,
};

struct answer {
    const struct node *node;
    enum trouble trouble;
    uint32_t resource; /* the resource in short supply; 0: gpus */
    int64_t asked;
    int64_t free;
    int64_t capacity;
    const struct workload *kept_by;  /* of TROUBLE_KEPT */
    struct affinity_refusal refusal; /* of TROUBLE_NEAR */
};

/* The answers of the nodes that come nearest to a fit, at most `max` (not 0), best first; in the
 * scratch arena. */
struct answers {
    struct answer *at;
    size_t n;
    size_t n_nodes;    /* all present nodes */
    int64_t kind_gpus; /* matching gpus on matching nodes */
};

void answers_find(struct mete_engine *e, const struct attempt *a, const struct shape *s, size_t max,
                  struct answers *ret);

/* The set whose pods the attempt could not all place: the first in filling order. */
uint32_t why_failed_set(const struct attempt *a);

/* "8 H100", "1 gpu", "2 gpus" */
const char *why_gpus(struct mete_engine *e, const struct shape *s, int64_t count);
/* why_asks.c: pods with asks. "1 H100 and 2 x mig 1g.10gb" */
const char *why_asks(struct mete_engine *e, const struct shape *s);
const char *why_asks_resource(struct mete_engine *e, const struct shape *s);
/* "; free ones are for pods of another namespace only", or "". */
const char *why_fenced(struct mete_engine *e, const struct shape *s);
const char *why_asks_place_text(struct mete_engine *e, const struct shape *s,
                                const struct answer *best);
const char *why_asks_never_text(struct mete_engine *e, const struct shape *s);
/* Has some gpu enough free units for a slice, but at no start that the driver allows? */
bool why_is_fragmented(struct mete_engine *e, const struct shape *s);
const char *why_fragmented_text(struct mete_engine *e, const struct shape *s);

/* "0.3", "2 x 0.125": `count` parts, each of so many thousandths. */
const char *why_part(struct mete_engine *e, int64_t count, uint32_t milli);
/* "12.5 cpu", "32Gi memory", "3 example.com/nic" */
const char *why_amount(struct mete_engine *e, uint32_t resource, int64_t amount);
/* The same without the noun. */
const char *why_number(struct mete_engine *e, uint32_t resource, int64_t amount);
/* "job 12", or "team-a/x" for a workload without a job number. */
const char *why_workload(struct mete_engine *e, const struct workload *w);
const char *why_label(struct mete_engine *e, const struct label *l);
const char *why_taint(struct mete_engine *e, const struct taint *t);
/* "pod anti-affinity app=x on kubernetes.io/hostname" */
const char *why_rule(struct mete_engine *e, const struct affinity_rule *r);
/* The rule, and why it does not hold: "...: job 12 is there". */
const char *why_affinity_text(struct mete_engine *e, const struct affinity_refusal *r);
/* "zone in (a, b),spot or metadata.name=n1" */
const char *why_terms(struct mete_engine *e, const struct node_rules *r);

/* ": gpu 3 is drained by ann: ticket 812": gpus of the node that are out of service; "": no cause
 * is known. */
const char *why_out_of_service(struct mete_engine *e, const struct node *n);
/* The line of one node. */
const char *why_node_text(struct mete_engine *e, const struct shape *s,
                          const struct answer *answer);

/* "needs 8 H100 on one node; most free is 5 (gpu-01)": no node has room now; no node could ever
 * have it. */
const char *why_place_text(struct mete_engine *e, const struct attempt *a, const struct shape *s,
                           const struct answers *answers);
const char *why_never_text(struct mete_engine *e, const struct group *g, const struct attempt *a);

/* hold.c: the reason of a workload's hold (METE_REASON_NONE: no hold), and its text. */
enum mete_reason_code hold_code(const struct workload *w);
const char *hold_text(const struct workload *w);

enum {
    WHY_LINES_MAX = 8
};

/* The lines of "would start if". Each was tried in a trial. */
struct why_lines {
    const char *at[WHY_LINES_MAX];
    size_t n;
};

/* Adds a line, unless it is there already or the list is full. */
void why_line(struct why_lines *l, const char *text);
/* Adds the one line of a held workload that would start when released. */
void why_if_released(struct mete_engine *e, const struct attempt *a, struct why_lines *to);
/* "needs 16 H100 in one rack; the most free in one is 12 (rack-3)", for the set or the workload;
 * with `is_empty`: no domain could ever hold it. A domain is required. */
const char *why_domain_text(struct mete_engine *e, const struct group *g, uint32_t set,
                            bool is_empty);
void why_if_domains(struct mete_engine *e, const struct attempt *a, struct why_lines *to);
void why_if(struct mete_engine *e, const struct attempt *a, const struct answers *answers,
            struct why_lines *to);
void why_if_asks(struct mete_engine *e, const struct attempt *a, const struct shape *own,
                 struct why_lines *to);
/* Would the workload start with this shape in place of its only set's? If so, on `*ret_node`. */
bool why_try(struct mete_engine *e, const struct attempt *a, struct shape *s,
             const char **ret_node);

/* "needs 2 gpus; queue research holds 24 of 24" */
const char *why_quota_text(struct mete_engine *e, const struct workload *w,
                           const struct quota_block *b);
struct reservation;
/* The first reservation by name that has devices which the attempt would get without reservations;
 * NULL: reservations are not the only cause. */
const struct reservation *why_reservation(struct mete_engine *e, const struct attempt *a,
                                          const struct node **ret_node);
/* Why the workload may not start in the reservation that it names; "": it may. */
const char *why_own_reservation_text(struct mete_engine *e, const struct workload *w,
                                     int64_t now_ns);
/* "n1 is reserved until 2026-11-21T08:00:00Z (night)" */
const char *why_reserved_text(struct mete_engine *e, const struct reservation *b, const char *node,
                              int64_t now_ns);
/* The line of a barred node. */
const char *why_barred_text(struct mete_engine *e, const struct node *n);
void why_if_reservation(struct mete_engine *e, const struct attempt *a, const struct reservation *b,
                        struct why_lines *l);
/* The victims that the workload waits for. */
const char *why_preempting_text(struct mete_engine *e, const struct workload *w);
void why_if_quota(struct mete_engine *e, const struct attempt *a, const struct quota_block *b,
                  struct why_lines *l);
