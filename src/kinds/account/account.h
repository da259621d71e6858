/*
 * account.h - accounting: a row for each attempt, and the states of each gpu over time
 *
 * Internal objects of group "mete.dev", never served for writing. Times are ns since 1970; in a key
 * they have 19 digits, so that keys sort by time:
 *
 *   accounting//<to>.<from>.<pod uid>.<attempt>  a row: an attempt that is over
 *   capacity//<to>.<from>.<gpu uuid>             a stretch: a past time in one state of a gpu
 *   gpustates//<gpu uuid>                        the gpu's open stretch; absent: no such gpu
 *
 *
 * An attempt of a pod is one stretch of its placement. It begins at the binding, or when the
 * attempt before it ended; it ends when a container restarts, or with the release. So the attempts
 * of a placement share its time without a gap. The open attempt is the pod's entry in its placement
 * (ledger.h): {"fromNs", "attempt", "user", "jobId", "gpus":[{"uuid","model"}]}. A part of a gpu
 * also has "device" (model/device.h) and its compute in 1/1000, "milli". The transaction that
 * closes an attempt writes its row: each attempt has exactly one row. "slurm", of a pod of a Slurm
 * job, is the text of slurm_account_facts (kinds/slurm/slurm_pod.h).
 *
 * A device that pods share by a claim is in one open attempt at a time: that of the pod that has
 * had the device longest. When this pod ends, its device moves on with "fromNs": the device's time
 * in the attempt begins then.
 *
 * The node reports the containers' usage in the pod's annotation mete.dev/usage (written by
 * account_usage_put). The usage of a container's attempt counts in the pod's attempt that it
 * ended in.
 */
#pragma once

#include "base/json.h"
#include "base/loop.h"
#include "store/store.h"

struct txn;

#define POD_USAGE "mete.dev/usage" /* annotation: usage of the containers' last attempts */

enum {
    ACCOUNT_KEY_SIZE = 160,
    ACCOUNT_TIME_DIGITS = 19
};

/*
 * A container's usage over its attempt, or so far; -1: unknown. Times of gpus count by the part
 * that the container holds, as the time held does: busy and idle together are at most the time
 * held, and the rest of the time held is unknown.
 */
struct account_usage {
    int64_t cpu_ns;
    int64_t memory_kib_seconds; /* working set over time */
    int64_t memory_peak_bytes;
    int64_t gpu_busy_ns;
    int64_t gpu_idle_ns;
    int64_t gpu_energy_mj;         /* its part of the energy of its gpus */
    int64_t gpu_memory_peak_bytes; /* on all its gpus at one time */
};

/* A usage of which nothing is known. */
#define ACCOUNT_USAGE_UNKNOWN ((struct account_usage){-1, -1, -1, -1, -1, -1, -1})

/* Puts what is known of `u`, and reads it; an absent member is unknown. */
void account_usage_format(json_t *o, const struct account_usage *u);
struct account_usage account_usage_parse(const json_t *o);
/* Adds what is known of `more`; a sum of nothing but unknowns is unknown. Saturates. */
void account_usage_add(struct account_usage *sum, const struct account_usage *more);

/*
 * The time of rows: a wall clock that never goes back, not even over a restart. If the system's
 * wall clock is behind (it was set back), this clock goes on from its last time by the monotonic
 * clock, slower by 1/1024, until the two meet. {0}: not yet read.
 */
struct account_clock {
    int64_t last_ns;
    int64_t monotonic_ns; /* monotonic time at last_ns */
    bool is_read;         /* last_ns has taken the store's rows into account */
};

int64_t account_now_ns(struct account_clock *c, const struct store *s, const struct loop *l);

/* The end of a pod's attempt, or of the pod. */
struct account_end {
    const json_t *pod; /* the new or last state; NULL: unknown */
    int64_t now_ns;    /* from account_now_ns */
    struct account_clock *clock;
};

/* What account_open needs. */
struct account_begin {
    const json_t *pod;
    const json_t *gpus;   /* the node's list; NULL: unknown */
    const json_t *shared; /* texts of devices that count in other pods' attempts; NULL: none */
    int64_t now_ns;
};

/* Begins the first attempt in a pod's placement entry. */
void account_open(json_t *entry, const struct account_begin *b);
/*
 * The pod is over: adds the rows of the open attempt, and of attempts that passed unseen before it.
 * Returns the end of the open attempt.
 */
int64_t account_close(struct txn *t, const char *ns, const char *placement, const json_t *entry,
                      const struct account_end *end);
/* The time of a device, by its text, counts in the open attempt `to` from now_ns on, no longer in
 * the attempt `from`. Nothing if it counted there not, or counts in `to` already. */
void account_move_device(const json_t *from, json_t *to, const char *device, int64_t now_ns);
/* Adds rows for the restarts that end->pod reports, and updates the pod's entry for the open
 * attempt; nothing if no container restarted. `before` is the pod's state before. */
void account_restarts_in(const struct store *s, struct txn *t, const json_t *before,
                         const struct account_end *end);

/* Elements of a Slurm job that were cancelled before they started. Texts are borrowed. */
struct account_unstarted {
    const char *ns;
    const char *name; /* of the SlurmJob, as is `uid` */
    const char *uid;
    const char *user;
    const char *job_id;
    const char *queue;    /* NULL: the default queue */
    const char *slurm;    /* the row's member of this name */
    int64_t cancelled_by; /* uid; -1: unknown */
    int64_t attempt;      /* unique for the job */
    int64_t now_ns;       /* from account_now_ns */
};

/* Adds a row without duration. */
void account_unstarted_in(struct txn *t, const struct account_unstarted *u);

/* Adds the states of a node's gpus when the node is written, new (`before` NULL) or removed
 * (`after` NULL). */
void account_node_in(const struct store *s, struct txn *t, const json_t *before,
                     const json_t *after, struct account_clock *clock, int64_t now_ns);

/* Adds a container's usage to the annotation's value:
 * {"containers":{"NAME":{"ATTEMPT":{"cpuNs",...}}}}. */
void account_usage_put(json_t *root, const char *container, int64_t attempt,
                       const struct account_usage *u);

struct account_span {
    int64_t from_ns;
    int64_t to_ns;
};

/* The time of a pod's attempt in which no container with gpus ran: before their start (an image was
 * pulled), after their end, between restarts. */
struct account_wait {
    int64_t ns;      /* a lower bound, by the times in the pod's status; -1: unknown, or no gpus */
    bool is_running; /* a container with gpus runs */
};

/* `entry` is the pod's entry in its placement, `pod` the pod; the attempt ends with `span`. */
struct account_wait account_wait_of(const json_t *entry, const json_t *pod,
                                    struct account_span span);

/* ---- reading ---- */

/* Texts are borrowed from `tree`; "": unknown, except `cause`. */
struct account_row {
    const json_t *tree; /* the stored row; of an open attempt the placement's entry */
    const char *ns;
    const char *pod;
    const char *uid;
    const char *user;
    const char *queue;
    const char *workload;
    const char *node;
    const char *cause; /* NULL: open */
    const json_t *gpus;
    int64_t job_id; /* 0: none */
    int64_t attempt;
    int64_t from_ns;
    int64_t to_ns;           /* open: INT64_MAX */
    int64_t exit_code;       /* -1: unknown */
    int64_t cpu_asked_milli; /* by requests; 0: none, or unknown, as the following */
    int64_t memory_asked_bytes;
    int64_t wait_ns; /* gpus were held, and no container with gpus ran; -1: unknown */
    struct account_usage usage;
};

/* The part of its gpu that an item of `gpus` is, in 1/1000. */
int64_t account_gpu_milli(const json_t *gpu);

/* The time at which the device's time in the row begins; may be after the row's end. */
int64_t account_gpu_from_ns(const struct account_row *row, const json_t *gpu);

/* Reads a stored row. False: damaged. */
bool account_row_read(const json_t *tree, struct account_row *ret);

enum account_state {
    ACCOUNT_UP, /* in service: pods can get the gpu */
    ACCOUNT_OUT /* out of service: unhealthy, or its node is silent or cordoned */
};

struct account_stretch {
    const char *uuid; /* borrowed */
    const char *model;
    const char *node;
    enum account_state state;
    int64_t from_ns;
    int64_t to_ns; /* open: INT64_MAX */
};

bool account_stretch_read(const json_t *tree, struct account_stretch *ret);

/* Reads the times in a key of `accounting` or `capacity`. False: not such a key. */
bool account_key_read(const char *name, int64_t *ret_from_ns, int64_t *ret_to_ns);
/* A key just before all rows that end at `to_ns` or later. */
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

/* Calls `fn` for each open attempt of a placement. */
void account_each_open(const struct store_object *placement,
                       void (*fn)(void *arg, const struct account_row *row), void *arg);

/*
 * Checks the invariant "accounting adds up" over [from, to), for each gpu: the held time in the
 * rows is the time of their union (no overlap), held + free + out of service = capacity to the ns,
 * and a pod that holds a gpu by the ledger has an open attempt. ERR_INTERNAL says what is wrong.
 */
struct err *account_check(const struct store *s, int64_t from_ns, int64_t to_ns) MUST_CHECK;

/* A gpu's time in a period, in ns; capacity = held + free + out. */
struct account_time {
    int64_t capacity_ns;
    int64_t held_ns; /* out of service or not */
    int64_t free_ns;
    int64_t out_ns;
};

/* A gpu's stretches and holders, in any order; account_sum sorts and clips them to the period. */
struct account_spans {
    struct account_span *held;
    size_t n_held;
    struct account_span *up;
    size_t n_up;
    struct account_span *out;
    size_t n_out;
};

/* Sums up a gpu's time. Each ns counts once: as held, else as out, else as free. `*ret_sum_ns` (may
 * be NULL) is the sum of the holders' times, which exceeds held if two held the gpu at once. */
struct account_time account_sum(struct account_spans *s, struct account_span period,
                                int64_t *ret_sum_ns);
