/* slurm_fair_usage.c - decayed usage of associations: steps, ended pods, and the past */

#include <stdlib.h>

#include "control/slurm/slurm_fair_private.h"

enum {
    HALF_LIVES = 8, /* earlier usage does not count */
    ROWS_A_TURN = 500
};

struct fair_usage *fair_usage_of(struct slurm_fair *f, const char *account, const char *user)
{
    AUTO_FREE char *key = mem_format("%s\n%s", account, user);
    struct fair_usage *u = NULL;

    map_find_text(handle, f->usage, key, u);
    if (u)
        return u;
    u = mem_alloc(sizeof(*u));
    u->key = TAKE(key);
    map_add(handle, f->usage, u->key, strlen(u->key), u);
    return u;
}

void fair_usage_free(struct slurm_fair *f)
{
    struct fair_usage *u;
    struct fair_usage *next;

    map_each (handle, f->usage, u, next) {
        map_remove(handle, f->usage, u); /* NOLINT(clang-analyzer-unix.Malloc): uthash */
        free(u->key);
        free(u);
    }
}

/* The number by which usage of a QOS counts, in millionths. */
static int64_t usage_factor(const struct slurm_fair *f, const char *qos)
{
    struct fair_object *o = NULL;
    const char *text;
    int64_t micro = 1000000;

    if (qos)
        map_find_text(handle, f->qoses, qos, o);
    text = o ? json_text_at(o->object, "spec", "usageFactor", NULL) : NULL;
    if (text)
        err_free(slurm_factor_parse(text, &micro)); /* was checked when it was written */
    return micro;
}

/* A stretch of `seconds` within one step counts as if all of it were as old as its begin. */
static long double stretch(const struct slurm_fair *f, int64_t seconds, int64_t billing)
{
    double left = slurm_share_decay((double)seconds, (double)f->policy.half_life_s);

    return (long double)((double)seconds * left) * (long double)billing;
}

static long double charge_of(const struct slurm_fair *f, const struct fair_pod *p, int64_t to_s)
{
    int64_t from_s = p->started_ns / NS_PER_SEC;

    if (from_s < f->stepped_s)
        from_s = f->stepped_s;
    if (p->started_ns == 0 || to_s <= from_s)
        return 0;
    return stretch(f, to_s - from_s, p->cpus) * (long double)usage_factor(f, p->qos) / 1000000.0L;
}

void fair_pod_ended(struct slurm_fair *f, const struct fair_pod *p, int64_t ended_ns)
{
    long double charge = f->is_loaded ? charge_of(f, p, ended_ns / NS_PER_SEC) : 0;

    if (charge > 0)
        fair_usage_of(f, p->account, p->user)->pending += charge;
}

void fair_usage_step(struct slurm_fair *f, int64_t now_s)
{
    double left = slurm_share_decay((double)(now_s - f->stepped_s), (double)f->policy.half_life_s);
    struct fair_usage *u;
    struct fair_usage *next_u;
    struct fair_pod *p;
    struct fair_pod *next_p;

    if (now_s <= f->stepped_s)
        return;
    map_each (handle, f->usage, u, next_u) {
        u->raw = u->raw * (long double)left + u->pending;
        u->pending = 0;
    }
    map_each (handle, f->pods, p, next_p) {
        long double charge = charge_of(f, p, now_s);

        if (charge > 0)
            fair_usage_of(f, p->account, p->user)->raw += charge;
    }
    f->stepped_s = now_s;
}

/* ---- the past ---- */

/* The usage from `from_s` to `to_s` as steps would have charged it, decayed until the start. */
static long double past_charge(const struct slurm_fair *f, int64_t from_s, int64_t to_s,
                               int64_t billing)
{
    int64_t period_s = f->policy.calc_period_s > 0 ? f->policy.calc_period_s : 1;
    double half_life_s = (double)f->policy.half_life_s;
    long double sum = 0;

    if (f->policy.half_life_s > 0 && to_s - from_s > HALF_LIVES * f->policy.half_life_s)
        from_s = to_s - HALF_LIVES * f->policy.half_life_s;
    for (int64_t at_s = from_s; at_s < to_s; at_s += period_s) {
        int64_t end_s = at_s + period_s < to_s ? at_s + period_s : to_s;

        sum += stretch(f, end_s - at_s, billing) *
               (long double)slurm_share_decay((double)(f->stepped_s - end_s), half_life_s);
        if (f->policy.half_life_s == 0)
            period_s = to_s - from_s;
    }
    return sum;
}

static void take_row(struct slurm_fair *f, const struct account_row *row)
{
    AUTO(json_freep) json_t *facts = NULL;
    AUTO(err_freep) struct err *e = NULL;
    const json_t *slurm = json_object_get(row->tree, "slurm");
    const char *user = row->user;
    int64_t to_s = row->to_ns / NS_PER_SEC;
    int64_t cpus = (row->cpu_asked_milli + 999) / 1000;
    long double charge;

    if (json_is_string(slurm))
        e = json_parse(str_of(json_string_value(slurm)), &facts);
    if (!facts)
        facts = json_incref((json_t *)(uintptr_t)slurm);
    if (json_text_at(facts, "user", "name", NULL))
        user = json_text_at(facts, "user", "name", NULL);
    charge =
        past_charge(f, row->from_ns / NS_PER_SEC, to_s < f->stepped_s ? to_s : f->stepped_s, cpus);
    charge = charge * (long double)usage_factor(f, json_text(facts, "qos")) / 1000000.0L;
    if (charge > 0)
        fair_usage_of(f, row->queue, user)->raw += charge;
}

static struct err *read_rows(struct slurm_fair *f, bool *ret_has_more)
{
    const struct store_range range = account_rows();
    struct store_list list = {0};

    TRY(store_list(f->options.store, &range, "", f->after, ROWS_A_TURN, 0, &list));
    for (size_t i = 0; i < list.n; i++) {
        AUTO(json_freep) json_t *tree = NULL;
        AUTO(err_freep) struct err *e = json_parse(list.at[i]->bytes, &tree);
        struct account_row row;

        if (!e && account_row_read(tree, &row))
            take_row(f, &row);
    }
    if (list.n > 0 && strlen(list.at[list.n - 1]->key.name) < sizeof(f->after))
        memcpy(f->after, list.at[list.n - 1]->key.name, strlen(list.at[list.n - 1]->key.name) + 1);
    *ret_has_more = list.has_more && list.n > 0;
    store_list_done(&list);
    return NULL;
}

/* Pods that run were started before; their time until now has no row yet. */
static void take_running(struct slurm_fair *f)
{
    struct fair_pod *p;
    struct fair_pod *next;

    map_each (handle, f->pods, p, next) {
        if (p->started_ns == 0)
            continue;
        fair_usage_of(f, p->account, p->user)->raw +=
            past_charge(f, p->started_ns / NS_PER_SEC, f->stepped_s, p->cpus) *
            (long double)usage_factor(f, p->qos) / 1000000.0L;
    }
}

void fair_load_begin(struct slurm_fair *f)
{
    int64_t now_ns = loop_wall_ns(f->options.loop);
    int64_t past_ns = HALF_LIVES * f->policy.half_life_s * NS_PER_SEC;

    f->stepped_s = now_ns / NS_PER_SEC;
    account_key_before(past_ns > 0 && past_ns < now_ns ? now_ns - past_ns : 0, f->after);
    take_running(f);
    loop_timer_set(f->load_timer, 0);
}

void fair_on_load(void *fair)
{
    struct slurm_fair *f = fair;
    bool has_more = false;
    AUTO(err_freep) struct err *e = read_rows(f, &has_more);

    if (e)
        LOG(ERROR, "past usage of Slurm accounts was not read", E(e));
    if (has_more) {
        loop_timer_set(f->load_timer, 0);
        return;
    }
    f->is_loaded = true;
    loop_timer_set(f->timer, 0);
}
