/* slurm_fair_usage.c - decayed usage of associations: steps, ended pods, and the past */

#include <stdlib.h>

#include "control/slurm/slurm_fair_private.h"
#include "model/slurm_billing.h"

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
static long double stretch(const struct slurm_fair *f, int64_t seconds)
{
    double left = slurm_share_decay((double)seconds, (double)f->policy.half_life_s);

    return (long double)((double)seconds * left);
}

/* ---- what a second of a pod costs ---- */

struct costs {
    long double of[FAIR_KINDS];
    const char *account; /* borrowed, as the following */
    const char *user;
    const char *qos;
    const char *partition_qos; /* NULL: none, or the same */
};

/* The spec of the first partition of the list; NULL: none. Borrowed. */
static const json_t *partition_spec(const struct slurm_fair *f, const char *list)
{
    AUTO_FREE char *name = mem_strndup(text_or_empty(list), strcspn(text_or_empty(list), ","));
    struct fair_object *o = NULL;

    map_find_text(handle, f->partitions, name, o);
    return o ? json_object_get(o->object, "spec") : NULL;
}

static struct costs costs_of(const struct slurm_fair *f, const struct fair_pod *p)
{
    const json_t *partition = partition_spec(f, p->partition);
    const struct slurm_billed billed = {.cpus = p->cpus,
                                        .memory_mib = p->memory_mib,
                                        .nodes = 1,
                                        .gpus = p->gpus,
                                        .model = text_or_empty(p->model)};
    int64_t micro =
        slurm_billing_micro(json_text(partition, "billingWeights"), &billed, f->policy.is_max_tres);
    const char *other = json_text_filled(partition, "qos");
    struct costs c = {.account = p->account,
                      .user = p->user,
                      .qos = p->qos,
                      .partition_qos = text_equal(other, p->qos) ? NULL : other};
    long double factor = (long double)usage_factor(f, p->qos) / 1000000.0L;

    c.of[FAIR_BILLING] = (long double)micro / 1000000.0L;
    c.of[FAIR_CPU] = (long double)p->cpus;
    c.of[FAIR_MEMORY] = (long double)p->memory_mib;
    c.of[FAIR_NODE] = 1;
    c.of[FAIR_GPU] = (long double)p->gpus;
    c.of[FAIR_WALL] = 1.0L / (long double)(p->nodes > 0 ? p->nodes : 1);
    for (int i = 0; i < FAIR_KINDS; i++)
        c.of[i] *= factor;
    return c;
}

static void usage_add(struct fair_usage *u, const struct costs *c, long double seconds,
                      bool is_pending)
{
    for (int i = 0; i < FAIR_KINDS; i++)
        if (is_pending)
            u->pending[i] += c->of[i] * seconds;
        else
            u->raw[i] += c->of[i] * seconds;
}

static void usage_charge(struct slurm_fair *f, const struct costs *c, long double seconds,
                         bool is_pending)
{
    if (seconds <= 0)
        return;
    usage_add(fair_usage_of(f, c->account, c->user), c, seconds, is_pending);
    if (c->qos)
        usage_add(fair_usage_of(f, FAIR_QOS, c->qos), c, seconds, is_pending);
    if (c->partition_qos)
        usage_add(fair_usage_of(f, FAIR_QOS, c->partition_qos), c, seconds, is_pending);
}

/* ---- steps ---- */

/* The seconds of the pod since the last step. */
static long double seconds_of(const struct slurm_fair *f, const struct fair_pod *p, int64_t to_s)
{
    int64_t from_s = p->started_ns / NS_PER_SEC;

    if (from_s < f->stepped_s)
        from_s = f->stepped_s;
    return p->started_ns == 0 || to_s <= from_s ? 0 : stretch(f, to_s - from_s);
}

void fair_pod_ended(struct slurm_fair *f, const struct fair_pod *p, int64_t ended_ns)
{
    const struct costs c = costs_of(f, p);

    if (f->is_loaded)
        usage_charge(f, &c, seconds_of(f, p, ended_ns / NS_PER_SEC), true);
}

/* The usage of a QOS with the flag NoDecay stays. */
static bool usage_stays(const struct slurm_fair *f, const struct fair_usage *u)
{
    struct fair_object *o = NULL;

    if (!text_starts_with(u->key, FAIR_QOS "\n"))
        return false;
    map_find_text(handle, f->qoses, u->key + strlen(FAIR_QOS "\n"), o);
    return o && json_has_text(json_at(o->object, "spec", "flags", NULL), "NoDecay");
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
        long double kept = usage_stays(f, u) ? 1.0L : (long double)left;

        for (int i = 0; i < FAIR_KINDS; i++) {
            u->raw[i] = u->raw[i] * kept + u->pending[i];
            u->pending[i] = 0;
        }
    }
    map_each (handle, f->pods, p, next_p) {
        const struct costs c = costs_of(f, p);

        usage_charge(f, &c, seconds_of(f, p, now_s), false);
    }
    f->stepped_s = now_s;
}

/* ---- the past ---- */

/* The seconds from `from_s` to `to_s` as steps would have charged them, decayed until the start. */
static long double past_seconds(const struct slurm_fair *f, int64_t from_s, int64_t to_s)
{
    int64_t period_s = f->policy.calc_period_s > 0 ? f->policy.calc_period_s : 1;
    double half_life_s = (double)f->policy.half_life_s;
    long double sum = 0;

    if (f->policy.half_life_s > 0 && to_s - from_s > HALF_LIVES * f->policy.half_life_s)
        from_s = to_s - HALF_LIVES * f->policy.half_life_s;
    for (int64_t at_s = from_s; at_s < to_s; at_s += period_s) {
        int64_t end_s = at_s + period_s < to_s ? at_s + period_s : to_s;

        sum += stretch(f, end_s - at_s) *
               (long double)slurm_share_decay((double)(f->stepped_s - end_s), half_life_s);
        if (f->policy.half_life_s == 0)
            period_s = to_s - from_s;
    }
    return sum;
}

/* The weights and factors are those of now. */
static void take_row(struct slurm_fair *f, const struct account_row *row)
{
    AUTO(json_freep) json_t *facts = NULL;
    AUTO(err_freep) struct err *e = NULL;
    const json_t *slurm = json_object_get(row->tree, "slurm");
    const char *user = row->user;
    int64_t to_s = row->to_ns / NS_PER_SEC;
    struct fair_pod pod = {0}; /* as the pod was; all texts are borrowed */
    struct costs c;

    if (json_is_string(slurm))
        e = json_parse(str_of(json_string_value(slurm)), &facts);
    if (!facts)
        facts = json_incref((json_t *)(uintptr_t)slurm);
    if (json_text_at(facts, "user", "name", NULL))
        user = json_text_at(facts, "user", "name", NULL);
    pod = (struct fair_pod){
        .account = (char *)(uintptr_t)row->queue,
        .user = (char *)(uintptr_t)user,
        .qos = (char *)(uintptr_t)json_text(facts, "qos"),
        .partition = (char *)(uintptr_t)json_text(facts, "partition"),
        .cpus = (row->cpu_asked_milli + 999) / 1000,
        .memory_mib = json_int(facts, "memoryBytes", 0) >> 20,
        .gpus = (int64_t)json_array_size(json_object_get(row->tree, "gpus")),
        .nodes = json_int(facts, "nodeCount", 1),
    };
    c = costs_of(f, &pod);
    usage_charge(
        f, &c,
        past_seconds(f, row->from_ns / NS_PER_SEC, to_s < f->stepped_s ? to_s : f->stepped_s),
        false);
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
    struct costs c;

    map_each (handle, f->pods, p, next) {
        if (p->started_ns == 0)
            continue;
        c = costs_of(f, p);
        usage_charge(f, &c, past_seconds(f, p->started_ns / NS_PER_SEC, f->stepped_s), false);
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
