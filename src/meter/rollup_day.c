/* rollup_day.c - one day of hourly sums */

#include <inttypes.h>
#include <stdio.h>

#include "base/num.h"
#include "kinds/pod/pod_asks.h"
#include "meter/rollup_private.h"

enum {
    ROLLUP_GROUPS_MAX = 10000 /* of a day; further users count as "" */
};

struct store_key rollup_key(const char *name)
{
    return (struct store_key){
        .group = "mete.dev", .resource = "accountingdays", .ns = "", .name = name};
}

/* ---- attempts ---- */

/* An open attempt has no requests of its own: its pod has. */
static void rollup_put_asks(const struct meter *m, const struct account_row *row,
                            struct rollup_row *to)
{
    AUTO(json_freep) json_t *pod = row->cause ? NULL : meter_pod_of(m, row);
    struct pod_asks asks = {.cpu_milli = row->cpu_asked_milli,
                            .memory_bytes = row->memory_asked_bytes};

    if (pod)
        asks = pod_asks(pod);
    to->amounts[ROLLUP_CPU] = asks.cpu_milli;
    to->amounts[ROLLUP_MEMORY] = asks.memory_bytes >> 20;
}

struct rollup_row rollup_row_of(const struct meter *m, const struct account_row *row, int64_t to_ns,
                                json_t **ret_facts)
{
    const char *text = json_text(row->tree, "slurm");
    struct rollup_row r = {.account = row->queue,
                           .user = row->user,
                           .ns = row->ns,
                           .from_ns = row->from_ns,
                           .to_ns = to_ns,
                           .amounts = {[ROLLUP_NODE] = 1}};
    const json_t *gpu = NULL;
    size_t i = 0;

    *ret_facts = NULL;
    if (text)
        err_free(json_parse(str_of(text), ret_facts)); /* our own text */
    if (json_text_at(*ret_facts, "user", "name", NULL))
        r.user = json_text_at(*ret_facts, "user", "name", NULL);
    rollup_put_asks(m, row, &r);
    if (row->usage.gpu_energy_mj > 0 && to_ns - row->from_ns >= NS_PER_MS)
        r.amounts[ROLLUP_ENERGY] = (int64_t)((__int128)row->usage.gpu_energy_mj * 1000 /
                                             ((to_ns - row->from_ns) / NS_PER_MS));
    json_array_foreach (row->gpus, i, gpu)
        r.amounts[ROLLUP_GPU] += account_gpu_milli(gpu);
    return r;
}

/* ---- sums ---- */

static struct rollup_group *rollup_find_group(struct rollup_day *d, const char *account,
                                              const char *user, const char *ns)
{
    AUTO_FREE char *key = mem_format("%s\1%s\1%s", account, user, ns);
    struct rollup_group *g = NULL;

    map_find_text(handle, d->groups, key, g);
    if (g)
        return g;
    if (*user && map_count(handle, d->groups) >= ROLLUP_GROUPS_MAX)
        return rollup_find_group(d, account, "", ns);
    g = mem_alloc(sizeof(*g));
    g->key = TAKE(key);
    g->account = mem_strdup(account);
    g->user = mem_strdup(user);
    g->ns = mem_strdup(ns);
    map_add(handle, d->groups, g->key, strlen(g->key), g);
    return g;
}

/* amount x ms, saturated; amounts of cpus and gpus are in 1/1000. */
static int64_t rollup_product(enum rollup_sum sum, int64_t amount, int64_t ms)
{
    __int128 product = (__int128)amount * ms;

    if (sum == ROLLUP_CPU || sum == ROLLUP_GPU)
        product /= 1000;
    return product > INT64_MAX ? INT64_MAX : (int64_t)product;
}

void rollup_day_add(struct rollup_day *d, const struct rollup_row *row)
{
    struct rollup_group *g = NULL;

    for (int64_t hour = 0; hour < DAY_HOURS; hour++) {
        int64_t begin_ns = (d->day * DAY_HOURS + hour) * HOUR_NS;
        int64_t from_ns = row->from_ns > begin_ns ? row->from_ns : begin_ns;
        int64_t to_ns = row->to_ns < begin_ns + HOUR_NS ? row->to_ns : begin_ns + HOUR_NS;
        int64_t ms = to_ns / NS_PER_MS - from_ns / NS_PER_MS; /* hours of a row add up */

        if (to_ns <= from_ns)
            continue;
        g = g ? g : rollup_find_group(d, row->account, row->user, row->ns);
        for (size_t k = 0; k < ROLLUP_SUMS; k++)
            g->hours[hour][k] = saturated(g->hours[hour][k],
                                          rollup_product((enum rollup_sum)k, row->amounts[k], ms));
    }
}

void rollup_day_free(struct rollup_day *d)
{
    struct rollup_group *g;
    struct rollup_group *next;

    if (!d)
        return;
    map_each (handle, d->groups, g, next) {
        map_remove(handle, d->groups, g); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
        free(g->key);
        free(g->account);
        free(g->user);
        free(g->ns);
        free(g);
    }
    free(d);
}

/* ---- text ---- */

/* Reads {"13":[...]} into rows of `n` numbers. */
static void rollup_read_hours(const json_t *hours, int64_t *to, size_t n)
{
    const char *key;
    json_t *list;

    json_object_foreach ((json_t *)(uintptr_t)hours, key, list) {
        int64_t hour = 0;
        AUTO(err_freep) struct err *e = num_parse_int64(str_of(key), 0, DAY_HOURS - 1, &hour);

        for (size_t k = 0; !e && k < n; k++)
            to[(size_t)hour * n + k] = json_integer_value(json_array_get(list, k));
    }
}

struct rollup_day *rollup_day_parse(int64_t day, struct str text)
{
    struct rollup_day *d = mem_alloc(sizeof(*d));
    AUTO(json_freep) json_t *tree = NULL;
    const json_t *group = NULL;
    size_t i = 0;

    d->day = day;
    if (text.size > 0)
        err_free(json_parse(text, &tree)); /* our own text */
    json_array_foreach (json_object_get(tree, "groups"), i, group) {
        struct rollup_group *g = rollup_find_group(d, text_or_empty(json_text(group, "account")),
                                                   text_or_empty(json_text(group, "user")),
                                                   text_or_empty(json_text(group, "namespace")));

        rollup_read_hours(json_object_get(group, "hours"), g->hours[0], ROLLUP_SUMS);
    }
    rollup_read_hours(json_object_get(tree, "capacity"), d->capacity[0], CAPACITY_SUMS);
    return d;
}

/* Hours without any number are left out. New reference. */
static json_t *rollup_hours_tree(const int64_t *from, size_t n)
{
    json_t *hours = json_object();

    for (int hour = 0; hour < DAY_HOURS; hour++) {
        json_t *list = json_array();
        bool has_any = false;
        char key[8];

        for (size_t k = 0; k < n; k++) {
            has_any = has_any || from[(size_t)hour * n + k] != 0;
            (void)json_array_append_new(list, json_integer(from[(size_t)hour * n + k]));
        }
        (void)snprintf(key, sizeof(key), "%d", hour);
        if (has_any)
            json_put(hours, key, list);
        else
            json_decref(list);
    }
    return hours;
}

json_t *rollup_day_tree(struct rollup_day *d)
{
    json_t *tree = json_object();
    json_t *groups = json_array_at(tree, "groups");
    struct rollup_group *g;
    struct rollup_group *next;

    map_each (handle, d->groups, g, next) {
        json_t *group = json_object();

        json_put_text(group, "account", g->account);
        json_put_text(group, "user", g->user);
        json_put_text(group, "namespace", g->ns);
        json_put(group, "hours", rollup_hours_tree(g->hours[0], ROLLUP_SUMS));
        (void)json_array_append_new(groups, group); /* fresh: cannot fail */
    }
    json_put(tree, "capacity", rollup_hours_tree(d->capacity[0], CAPACITY_SUMS));
    return tree;
}
