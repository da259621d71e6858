/* rollup.c - the days of hourly sums: adds what ended and what the nodes have, removes old days */

#include "meter/rollup.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "base/num.h"
#include "kinds/object/txn.h"
#include "kinds/pod/pod_state.h"
#include "meter/rollup_private.h"
#include "model/quantity.h"

enum {
    ROLLUP_ROWS_A_TURN = 256,
    ROLLUP_TURNS = 16, /* of one transaction */
    DAY_NAME_SIZE = 24
};

static const int64_t ROLLUP_NS = 300 * NS_PER_SEC;
static const int64_t ROLLUP_LAG_NS = 5 * NS_PER_SEC; /* rows with the same end have been written */

/* A transaction without its answer yet, which comes after the end of the rollup, too. */
struct rollup_writing {
    struct rollup *rollup; /* NULL: it has ended */
};

struct rollup {
    struct meter *meter;
    struct loop_timer *timer;
    struct rollup_day *days; /* that differ from the store, by number */
    char after[ACCOUNT_KEY_SIZE];
    int64_t every_ns;
    int64_t sampled_ns;             /* realtime */
    size_t n_turns;                 /* since the last transaction */
    struct rollup_writing *writing; /* NULL: none */
    bool has_more;                  /* rows may wait */
};

/* ---- days ---- */

static struct rollup_day *rollup_find_day(struct rollup *r, int64_t day)
{
    char name[DAY_NAME_SIZE];
    struct rollup_day *d = NULL;
    const struct store_object *o;

    map_find(handle, r->days, &day, sizeof(day), d);
    if (d)
        return d;
    (void)snprintf(name, sizeof(name), "%08" PRId64, day);
    o = store_get_applied(r->meter->store, rollup_key(name));
    d = rollup_day_parse(day, o ? o->bytes : (struct str){0});
    map_add(handle, r->days, &d->day, sizeof(d->day), d);
    return d;
}

static void rollup_forget_days(struct rollup *r)
{
    struct rollup_day *d;
    struct rollup_day *next;

    map_each (handle, r->days, d, next) {
        map_remove(handle, r->days, d); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
        rollup_day_free(d);
    }
}

/* ---- what nodes have ---- */

struct rollup_capacity {
    int64_t there[ROLLUP_SUMS]; /* cpus and gpus in 1/1000, memory in MiB */
    int64_t down[ROLLUP_SUMS];
};

/* An amount in 1/1000. */
static int64_t rollup_amount(const json_t *node, const char *resource)
{
    const char *text = json_text_at(node, "status", "capacity", resource, NULL);
    struct quantity q = {0};
    AUTO(err_freep) struct err *e = text ? quantity_parse(str_of(text), &q) : NULL;

    return e ? 0 : q.milli;
}

static void rollup_add_node(struct rollup_capacity *c, const json_t *node)
{
    const char *ready = json_text(object_condition(node, "Ready"), "status");
    bool is_down = !text_equal(ready, "True") || json_bool_at(node, "spec", "unschedulable", NULL);
    int64_t has[ROLLUP_SUMS] = {[ROLLUP_CPU] = rollup_amount(node, "cpu"),
                                [ROLLUP_MEMORY] = rollup_amount(node, "memory") / 1000 >> 20,
                                [ROLLUP_NODE] = 1};

    for (size_t k = 0; k < ROLLUP_SUMS; k++) {
        c->there[k] += has[k];
        c->down[k] += is_down ? has[k] : 0;
    }
}

static void rollup_add_gpu(void *arg, const struct device_row *row)
{
    struct rollup_capacity *c = arg;

    c->there[ROLLUP_GPU] += 1000;
    c->down[ROLLUP_GPU] += row->takes_pods ? 0 : 1000;
}

static struct err *rollup_read_capacity(const struct rollup *r, struct rollup_capacity *ret)
{
    const struct store_range range = {.group = "", .resource = "nodes", .ns = ""};
    const struct device_table *devices = &r->meter->devices;
    struct store_list list = {0};

    TRY(store_list(r->meter->store, &range, NULL, NULL, 0, 0, &list));
    for (size_t i = 0; i < list.n; i++) {
        AUTO(json_freep) json_t *node = NULL;
        AUTO(err_freep) struct err *e = json_parse(list.at[i]->bytes, &node);

        if (!e)
            rollup_add_node(ret, node);
    }
    store_list_done(&list);
    if (devices->each)
        devices->each(devices->arg, rollup_add_gpu, ret);
    return NULL;
}

static void rollup_add_hour(struct rollup *r, const struct rollup_capacity *c, int64_t from_ns,
                            int64_t to_ns)
{
    int64_t hour = from_ns / HOUR_NS;
    int64_t ms = to_ns / NS_PER_MS - from_ns / NS_PER_MS;
    int64_t *sums = rollup_find_day(r, hour / DAY_HOURS)->capacity[hour % DAY_HOURS];

    for (size_t k = 0; k < ROLLUP_SUMS; k++) {
        int64_t unit = k == ROLLUP_CPU || k == ROLLUP_GPU ? 1000 : 1;

        sums[k] = saturated(sums[k], c->there[k] * ms / unit);
        sums[CAPACITY_DOWN + k] = saturated(sums[CAPACITY_DOWN + k], c->down[k] * ms / unit);
    }
    sums[CAPACITY_KNOWN] += ms;
}

/* The nodes are taken to have been since the last sample what they are now. Of a longer time, in
 * which the machine slept, nothing is known. */
static void rollup_sample(struct rollup *r, int64_t now_ns)
{
    struct rollup_capacity c = {0};
    int64_t from_ns = r->sampled_ns;
    AUTO(err_freep) struct err *e = NULL;

    r->sampled_ns = now_ns;
    if (now_ns <= from_ns || now_ns - from_ns > 2 * r->every_ns)
        return;
    e = rollup_read_capacity(r, &c);
    if (e) {
        LOG(WARN, "the capacity of nodes was not sampled", E(e));
        return;
    }
    while (from_ns < now_ns) {
        int64_t end_ns = (from_ns / HOUR_NS + 1) * HOUR_NS;

        rollup_add_hour(r, &c, from_ns, end_ns < now_ns ? end_ns : now_ns);
        from_ns = end_ns;
    }
}

/* ---- rows ---- */

static void rollup_take(struct rollup *r, const struct store_object *o)
{
    AUTO(json_freep) json_t *tree = NULL;
    AUTO(json_freep) json_t *facts = NULL;
    AUTO(err_freep) struct err *e = json_parse(o->bytes, &tree);
    struct account_row row;
    struct rollup_row one;

    if (e || !account_row_read(tree, &row) || row.to_ns <= row.from_ns)
        return;
    one = rollup_row_of(r->meter, &row, row.to_ns, &facts);
    for (int64_t day = row.from_ns / HOUR_NS / DAY_HOURS; day <= row.to_ns / HOUR_NS / DAY_HOURS;
         day++)
        rollup_day_add(rollup_find_day(r, day), &one);
}

/* Takes the next rows, which ended before `until_ns`. `*ret_has_more`: there may be more. */
static struct err *rollup_take_rows(struct rollup *r, int64_t until_ns, bool *ret_has_more)
{
    const struct store_range range = account_rows();
    struct store_list list = {0};
    size_t i = 0;

    TRY(store_list(r->meter->store, &range, "", r->after, ROLLUP_ROWS_A_TURN, 0, &list));
    for (; i < list.n; i++) {
        const char *name = list.at[i]->key.name;
        int64_t from_ns = 0;
        int64_t to_ns = 0;

        if (account_key_read(name, &from_ns, &to_ns) && to_ns >= until_ns)
            break;
        rollup_take(r, list.at[i]);
        if (strlen(name) < sizeof(r->after))
            memcpy(r->after, name, strlen(name) + 1);
    }
    *ret_has_more = i > 0 && i == list.n && list.has_more;
    store_list_done(&list);
    return NULL;
}

/* ---- writes ---- */

static void rollup_read_cursor(struct rollup *r)
{
    const struct store_object *o = store_get_applied(r->meter->store, rollup_key(ROLLUP_CURSOR));
    AUTO(json_freep) json_t *cursor = NULL;
    AUTO(err_freep) struct err *e = o ? json_parse(o->bytes, &cursor) : NULL;
    const char *after = json_text(cursor, "after");

    r->after[0] = '\0';
    if (!e && after && strlen(after) < sizeof(r->after))
        memcpy(r->after, after, strlen(after) + 1);
}

static void rollup_add_old(const struct rollup *r, struct txn *t, int64_t now_ns)
{
    const struct store_range range = rollup_days();
    const struct store_object *o = store_next_applied(r->meter->store, &range, NULL);
    int64_t day = 0;
    AUTO(err_freep)
    struct err *e = o ? num_parse_int64(str_of(o->key.name), 0, INT64_MAX, &day) : NULL;

    if (o && !e && day < now_ns / HOUR_NS / DAY_HOURS - ROLLUP_KEPT_DAYS)
        txn_delete(t, o->key, STORE_ANY);
}

static void rollup_go_on(struct rollup *r)
{
    r->n_turns = 0;
    rollup_forget_days(r);
    loop_timer_set(r->timer, r->has_more ? 0 : r->every_ns);
}

static void rollup_on_written(void *arg, const struct err *e, int64_t revision)
{
    struct rollup_writing *w = arg;
    struct rollup *r = w->rollup;

    (void)revision;
    free(w);
    if (!r)
        return;
    r->writing = NULL;
    if (e)
        LOG(WARN, "hourly sums were not written, will be tried again", E(e));
    rollup_go_on(r);
}

/* Writes the days and the cursor. The answer, or a failure, begins the next turn. */
static void rollup_write(struct rollup *r, int64_t now_ns)
{
    AUTO(json_freep) json_t *cursor = json_object();
    struct txn txn = {0};
    struct rollup_day *d;
    struct rollup_day *next;
    AUTO(err_freep) struct err *e = NULL;

    map_each (handle, r->days, d, next) {
        AUTO(json_freep) json_t *tree = rollup_day_tree(d);
        char name[DAY_NAME_SIZE];

        (void)snprintf(name, sizeof(name), "%08" PRId64, d->day);
        txn_put(&txn, rollup_key(name), tree, STORE_ANY);
    }
    json_put_text(cursor, "after", r->after);
    txn_put(&txn, rollup_key(ROLLUP_CURSOR), cursor, STORE_ANY);
    rollup_add_old(r, &txn, now_ns);
    r->writing = mem_alloc(sizeof(*r->writing));
    r->writing->rollup = r;
    e = txn_commit(&txn, r->meter->store, rollup_on_written, r->writing, NULL);
    txn_done(&txn);
    if (!e)
        return;
    LOG(WARN, "hourly sums were not written, will be tried again", E(e));
    free(r->writing);
    r->writing = NULL;
    r->has_more = false;
    rollup_go_on(r);
}

static void rollup_on_timer(void *arg)
{
    struct rollup *r = arg;
    int64_t now_ns = loop_wall_ns(r->meter->o.loop);
    AUTO(err_freep) struct err *e = NULL;

    if (r->writing)
        return;
    if (r->n_turns == 0) {
        rollup_read_cursor(r);
        rollup_sample(r, now_ns);
    }
    e = rollup_take_rows(r, now_ns - ROLLUP_LAG_NS, &r->has_more);
    if (e)
        LOG(WARN, "rows of accounting were not read, will be tried again", E(e));
    r->has_more = r->has_more && !e;
    if (++r->n_turns < ROLLUP_TURNS && r->has_more)
        loop_timer_set(r->timer, 0);
    else if (r->days)
        rollup_write(r, now_ns);
    else
        rollup_go_on(r);
}

struct rollup *rollup_new(struct meter *m)
{
    struct rollup *r = mem_alloc(sizeof(*r));

    r->meter = m;
    r->every_ns = m->o.rollup_ns > 0 ? m->o.rollup_ns : ROLLUP_NS;
    r->sampled_ns = loop_wall_ns(m->o.loop);
    r->timer = loop_timer_new(m->o.loop, rollup_on_timer, r);
    loop_timer_set(r->timer, r->every_ns);
    return r;
}

void rollup_free(struct rollup *r)
{
    if (!r)
        return;
    if (r->writing)
        r->writing->rollup = NULL;
    loop_timer_free(r->timer);
    rollup_forget_days(r);
    free(r);
}
