/*
 * history.h - what gpus and pods used over time, in memory
 *
 * A gpu or slice has its last hour by the second, the last day by the minute and the last month by
 * the quarter of an hour. A pod has its whole life in at most 720 rows: their step doubles as the
 * life goes on. All rows together take at most HISTORY_BYTES; pods that have ended, then gpus that
 * are gone, make room, the oldest first. When only live ones are left, rows are kept for a shorter
 * time. A restart of the server begins a new history.
 */
#pragma once

#include "base/json.h"
#include "base/map.h"
#include "base/vec.h"
#include "client/node_stats.h"
#include "meter/history/band.h"

enum {
    HISTORY_BYTES = 64 << 20,
    HISTORY_ROWS_MAX = 5000, /* of an answer */
    HISTORY_DEVICE_BANDS = 3
};

enum {
    HISTORY_DEVICE_FIELDS = 6,
    HISTORY_POD_FIELDS = 5
};

/* Names of the fields, for JSON: with their units. */
extern const char *const use_history_device_fields[HISTORY_DEVICE_FIELDS];
extern const char *const use_history_pod_fields[HISTORY_POD_FIELDS];

struct device_history {
    struct map_handle handle;
    char *uuid;
    int64_t first_s;
    int64_t last_s;        /* 0: never sampled */
    int64_t counted_ns;    /* time of the last sample by the node's clock, and its PCIe counters */
    int64_t pcie_bytes[2]; /* sent, received */
    int64_t pcie_bytes_s[2]; /* bytes a second between the last two samples; -1: unknown */
    int64_t xid;             /* the last one; 0: none; -1: unknown */
    int64_t xids;            /* ever; -1: unknown */
    struct band bands[HISTORY_DEVICE_BANDS]; /* the finest first */
};

struct pod_history {
    struct map_handle handle;
    char *uid;
    char *ns;
    char *name;
    int64_t last_s;
    struct band band;
};

struct use_history {
    struct device_history *devices; /* by uuid */
    struct pod_history *pods;       /* by uid */
    struct band_budget budget;
    /* Finds the namespace and the name of a pod by its uid; the caller frees both. */
    bool (*find_pod)(void *arg, const char *uid, char **ret_ns, char **ret_name);
    void *arg;
    VEC(char *) unknown; /* uids that find_pod did not know, not asked for again until: */
    int64_t ask_again_s;
};

void use_history_done(struct use_history *h);

/* Adds what a node's message says, at the server's time. */
void use_history_take(struct use_history *h, const struct node_stats *s, int64_t now_s);

/* NULL: no history. */
const struct device_history *use_history_device(const struct use_history *h, const char *uuid);
const struct pod_history *use_history_pod(const struct use_history *h, const char *uid);
/* The youngest pod of that name. */
const struct pod_history *use_history_pod_named(const struct use_history *h, const char *ns,
                                                const char *name);

struct use_history_span {
    int64_t from_s;
    int64_t to_s; /* not included */
    int64_t step_s;
};

/* The finest band of a device that reaches back to from_s, or to the first sample. */
const struct band *use_history_band(const struct device_history *d, int64_t from_s);

/* The rows of a span as [[time in s, value or null ...]], means over each step; at most
 * HISTORY_ROWS_MAX. A new tree. */
json_t *use_history_rows(const struct band *b, struct use_history_span span);
