/*
 * account.h - who held what from when to when: a row for each attempt, and the states of each gpu
 *
 * Internal objects of group "mete.dev", never served for writing. Times are ns since 1970; in a key
 * they have 19 digits, so that keys sort by time:
 *
 *   accounting//<to>.<from>.<pod uid>.<attempt>  one an attempt that is over
 *   capacity//<to>.<from>.<gpu uuid>             one a stretch of time in which a gpu was in one
 *                                                state, over
 *   gpustates//<gpu uuid>                        the stretch that goes on; none: there is no such
 *                                                gpu
 *
 * An attempt of a pod is one stretch of its placement: it begins at the binding, or where the
 * attempt before it ended; it ends when one of the containers is restarted, or with the release.
 * So the attempts of a placement share its time among them without a gap. The one that goes on is
 * the pod's entry in its placement (ledger.h): {"fromNs", "attempt", "user", "jobId",
 * "gpus":[{"uuid","model"}]}.
 * What closes it writes the row in the same transaction: each attempt has exactly one.
 *
 * What the containers used comes from their node, in the pod's annotation mete.dev/usage (written
 * by account_usage_format). What a container's attempt used is counted in the pod's attempt that it
 * ended in.
 */
#pragma once

#include "base/json.h"
#include "base/loop.h"
#include "store/store.h"

struct txn;

#define POD_USAGE "mete.dev/usage" /* annotation: what the last attempts of containers used */

enum {
    ACCOUNT_KEY_SIZE = 160,
    ACCOUNT_TIME_DIGITS = 19
};

/* What one container used over its attempt, or so far; -1: not known. */
struct account_usage {
    int64_t cpu_ns;
    int64_t memory_kib_seconds; /* working set over time */
    int64_t memory_peak_bytes;
};

/*
 * The time of rows: the wall clock, but never back, also over a restart. Where the wall clock is
 * behind (it was set back), this one goes on from where it is by the monotonic clock, slower by
 * 1/1024, until they meet. {0} is one that is to be read.
 */
struct account_clock {
    int64_t last_ns;
    int64_t monotonic_ns; /* when it was that */
    bool is_read;         /* the rows of the store were asked */
};

int64_t account_now_ns(struct account_clock *c, const struct store *s, const struct loop *l);

/* A pod's attempt is over, or the pod. */
struct account_end {
    const json_t *pod; /* as it will be, or was last; NULL: not known */
    int64_t now_ns;    /* of account_now_ns */
    struct account_clock *clock;
};

/* Begins the first attempt in a pod's entry of its placement. `gpus`: the node's list, may be NULL.
 */
void account_open(json_t *entry, const json_t *pod, const json_t *gpus, int64_t now_ns);
/* The row of the attempt that goes on, and of those that came and went unseen; the pod is over. */
void account_close(struct txn *t, const char *ns, const char *placement, const json_t *entry,
                   const struct account_end *end);
/*
 * Rows for the restarts that end->pod tells, and the entry of what goes on now; `before` is the pod
 * as it was. Adds nothing where no container was restarted.
 */
void account_restarts_in(const struct store *s, struct txn *t, const json_t *before,
                         const struct account_end *end);

/* A node is written or goes (`after` NULL): the states of its gpus. `before` NULL: it is new. */
void account_node_in(const struct store *s, struct txn *t, const json_t *before,
                     const json_t *after, struct account_clock *clock, int64_t now_ns);

/* The annotation's value: {"containers":{"NAME":{"ATTEMPT":{"cpuNs",...}}}}. */
void account_usage_put(json_t *root, const char *container, int64_t attempt,
                       const struct account_usage *u);

/* ---- reading ---- */

/* Texts are borrowed from `tree`; "" where unknown, but for `cause`. */
struct account_row {
    const json_t *tree; /* as it is stored; of an attempt that goes on: the placement's entry */
    const char *ns;
    const char *pod;
    const char *uid;
    const char *user;
    const char *queue;
    const char *workload;
    const char *node;
    const char *cause; /* NULL: it goes on */
    const json_t *gpus;
    int64_t job_id; /* 0: none */
    int64_t attempt;
    int64_t from_ns;
    int64_t to_ns;     /* of what goes on: INT64_MAX */
    int64_t exit_code; /* -1: not known */
    struct account_usage usage;
};

/* What a stored row says. False: it is damaged. */
bool account_row_read(const json_t *tree, struct account_row *ret);

enum account_state {
    ACCOUNT_UP, /* it can be given away */
    ACCOUNT_OUT /* it is there, and cannot: unhealthy, or its node is silent or cordoned */
};

struct account_stretch {
    const char *uuid; /* borrowed */
    const char *model;
    const char *node;
    enum account_state state;
    int64_t from_ns;
    int64_t to_ns; /* of what goes on: INT64_MAX */
};

bool account_stretch_read(const json_t *tree, struct account_stretch *ret);

/* The times in a key of `accounting` or `capacity`. False: it is not one. */
bool account_key_read(const char *name, int64_t *ret_from_ns, int64_t *ret_to_ns);
/* A key that all rows ending at `to_ns` or later come after. */
void account_key_before(int64_t to_ns, char ret[ACCOUNT_KEY_SIZE]);

static inline struct store_range account_rows(void)
{
    return (struct store_range){.group = "mete.dev", .resource = "accounting", .ns = ""};
}

static inline struct store_range account_stretches(void)
{
    return (struct store_range){.group = "mete.dev", .resource = "capacity", .ns = ""};
}

static inline struct store_range account_states(void)
{
    return (struct store_range){.group = "mete.dev", .resource = "gpustates", .ns = ""};
}

static inline struct store_range account_placements(void)
{
    return (struct store_range){.group = "mete.dev", .resource = "placements"};
}

/* Calls `fn` for the attempts of a placement that go on. */
void account_each_open(const struct store_object *placement,
                       void (*fn)(void *arg, const struct account_row *row), void *arg);

/*
 * The invariant "accounting adds up" over [from, to): for each gpu, what the rows say was held is
 * what their union covers (nothing twice), held + free + out of service = capacity to the ns, and
 * who holds a gpu by the ledger has an attempt that goes on. ERR_INTERNAL tells what is wrong.
 */
struct err *account_check(const struct store *s, int64_t from_ns, int64_t to_ns) MUST_CHECK;

/* One gpu's time in a period, in ns; capacity = held + free + out. */
struct account_time {
    int64_t capacity_ns;
    int64_t held_ns; /* also while it was out of service */
    int64_t free_ns;
    int64_t out_ns;
};

struct account_span {
    int64_t from_ns;
    int64_t to_ns;
};

/* One gpu's stretches and holders, in any order; sorted here. Clips all to the period. */
struct account_spans {
    struct account_span *held;
    size_t n_held;
    struct account_span *up;
    size_t n_up;
    struct account_span *out;
    size_t n_out;
};

/*
 * Each ns counts once: held before out before free. `*ret_sum_ns` (may be NULL) is what the
 * holders' times add up to, which is more than held where two held it at once.
 */
struct account_time account_sum(struct account_spans *s, struct account_span period,
                                int64_t *ret_sum_ns);
