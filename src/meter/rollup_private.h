/* rollup_private.h - days of hourly sums: in memory and as text */
#pragma once

#include "meter/meter_private.h"

#define HOUR_NS (INT64_C(3600) * NS_PER_SEC)

enum {
    DAY_HOURS = 24
};

enum rollup_sum {
    ROLLUP_CPU,    /* cpus x ms */
    ROLLUP_MEMORY, /* MiB x ms */
    ROLLUP_NODE,   /* attempts (each is on one node) x ms */
    ROLLUP_GPU,    /* gpus x ms */
    ROLLUP_ENERGY, /* of gpus, in microjoules; of attempts that ended */
    ROLLUP_SUMS
};

/* Of the capacity: what was there, what of it was down, and the time known. */
enum {
    CAPACITY_DOWN = ROLLUP_SUMS,
    CAPACITY_KNOWN = 2 * ROLLUP_SUMS,
    CAPACITY_SUMS = 2 * ROLLUP_SUMS + 1
};

struct rollup_group {
    struct map_handle handle;
    char *key;
    char *account;
    char *user;
    char *ns;
    int64_t hours[DAY_HOURS][ROLLUP_SUMS];
};

struct rollup_day {
    struct map_handle handle;
    int64_t day; /* since 1970 */
    struct rollup_group *groups;
    int64_t capacity[DAY_HOURS][CAPACITY_SUMS];
};

/* The resources that an attempt held. Texts are borrowed. */
struct rollup_row {
    const char *account;
    const char *user;
    const char *ns;
    int64_t from_ns;
    int64_t to_ns;
    int64_t amounts[ROLLUP_SUMS]; /* cpu and gpu in 1/1000, memory in MiB, node 1, energy
                                     in milliwatts on average */
};

static inline struct store_range rollup_days(void)
{
    return (struct store_range){.group = "mete.dev", .resource = "accountingdays", .ns = ""};
}
struct store_key rollup_key(const char *name);
#define ROLLUP_CURSOR "cursor"

/* The row of an attempt, which ends at `to_ns`; `*ret_facts` holds its texts: a new reference, or
 * NULL. */
struct rollup_row rollup_row_of(const struct meter *m, const struct account_row *row, int64_t to_ns,
                                json_t **ret_facts);

/* Adds the part of the row that is in the day. */
void rollup_day_add(struct rollup_day *d, const struct rollup_row *row);
/* Reads a day; a damaged text is an empty day. */
struct rollup_day *rollup_day_parse(int64_t day, struct str text);
json_t *rollup_day_tree(struct rollup_day *d);
void rollup_day_free(struct rollup_day *d);
