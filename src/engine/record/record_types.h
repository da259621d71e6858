/*
 * record_types.h - the members of the public header's structs, as tables that recordings are
 * written and read by
 *
 * A member that is 0, NULL or empty is not written, and a missing member is read as 0. So members
 * may be added, but the meaning of a member's 0 must stay.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "mete/engine.h"

enum record_kind {
    RECORD_BOOL,
    RECORD_INT,     /* signed, of `size` bytes; enums too */
    RECORD_UINT,    /* unsigned */
    RECORD_TEXT,    /* const char *, NULL is none */
    RECORD_STRUCT,  /* of `type`, in place */
    RECORD_ONE,     /* const struct *, NULL is none */
    RECORD_LIST,    /* const struct *, as many as the size_t at `count` says */
    RECORD_TEXTS,   /* const char *const *, likewise */
    RECORD_NUMBERS, /* const intN_t *, of `size` bytes each, likewise */
    RECORD_TABLE,   /* likewise, METE_VALUES_SIZE of that many */
};

struct record_type;

struct record_field {
    const char *name;
    enum record_kind kind;
    uint32_t offset;
    uint32_t size;
    uint32_t count; /* offset of a list's size */
    const struct record_type *type;
};

struct record_type {
    size_t size;
    const struct record_field *fields;
    size_t n_fields;
};

/* The arguments of calls that take more than one struct. */
struct record_name {
    const char *name;
};

struct record_id {
    uint64_t id;
};

struct record_hold {
    uint64_t id;
    enum mete_hold hold;
    const char *text;
};

struct record_points {
    uint64_t id;
    int64_t points;
};

struct record_unreserved {
    uint64_t id;
    bool is_unreserved;
};

struct record_estimate {
    uint64_t id;
    int64_t estimate_ns;
};

struct record_label {
    uint64_t id;
    const struct mete_pod_labels *sets;
    size_t n;
};

struct record_restore {
    const struct mete_workload *workload;
    const struct mete_placement *placement;
};

struct record_cycle {
    int64_t now_ns;
    uint64_t cut_after; /* turns before the cut; 0: not cut. A budget in steps would depend on the
                           caches; turns do not. */
};

struct record_demand {
    const struct mete_demand *demand;
    size_t n;
    uint64_t total;
};

struct record_values {
    const struct mete_values *values;
};

enum record_call {
    RECORD_ENGINE, /* the options of a new engine */
    RECORD_NODE_SET,
    RECORD_NODE_REMOVE,
    RECORD_DEMAND_SET,
    RECORD_VALUES_SET,
    RECORD_QUEUE_SET,
    RECORD_QUEUE_REMOVE,
    RECORD_FAIRNESS_SET,
    RECORD_MOVES_SET,
    RECORD_EVICT_RULES_SET,
    RECORD_RESERVATION_SET,
    RECORD_RESERVATION_REMOVE,
    RECORD_USAGE_ADD,
    RECORD_WORKLOAD_ADD,
    RECORD_WORKLOAD_RESTORE,
    RECORD_WORKLOAD_UNPLACE,
    RECORD_WORKLOAD_REMOVE,
    RECORD_WORKLOAD_ESTIMATE,
    RECORD_WORKLOAD_POINTS,
    RECORD_WORKLOAD_HOLD,
    RECORD_WORKLOAD_LABEL,
    RECORD_WORKLOAD_UNRESERVED,
    RECORD_WORKLOAD_SUSPENDED,
    RECORD_CYCLE,
    RECORD_DECIDED, /* the decisions of the cycle before it; no such line: no decisions */
    RECORD_CALLS
};

extern const char *const record_call_names[RECORD_CALLS];
extern const struct record_type *const record_call_types[RECORD_CALLS];
