/* slurm_fair_points.c - priorities of waiting pods, and the rows of shares and priorities */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "control/slurm/slurm_fair_private.h"
#include "kinds/slurm/slurm_qos.h"

#define TIER_POINTS (INT64_C(1) << 33) /* more than any priority */

enum {
    PODS_A_TURN = 256
};

static double qos_factor(const struct slurm_fair *f, const char *qos)
{
    struct fair_object *o = NULL;

    map_find_text(handle, f->qoses, qos, o);
    return o && f->qos_most > 0
               ? (double)json_int_at(o->object, "spec", "priority", NULL) / f->qos_most
               : 0.0;
}

/* Of the first partition that the job names. */
static double partition_factor(const struct slurm_fair *f, const char *partition)
{
    AUTO_FREE char *name = mem_strndup(partition, strcspn(partition, ","));
    struct fair_object *o = NULL;

    map_find_text(handle, f->partitions, name, o);
    return (double)json_int(o ? json_object_get(o->object, "spec") : NULL, "priorityJobFactor", 1) /
           (double)f->partition_most;
}

/*
 * Every priority of a tier is above those of lower tiers. A job of several partitions is in the
 * highest of their tiers, pods of the other doors are in tier 1.
 */
static int64_t tier_points(const struct slurm_fair *f, const struct fair_pod *p)
{
    struct str rest = str_of(p->partition);
    int64_t highest = 0;

    while (rest.at) {
        struct str name = str_cut(&rest, ',');
        struct fair_object *o = NULL;
        int64_t tier;

        map_find(handle, f->partitions, name.at, name.size, o);
        tier = json_int(o ? json_object_get(o->object, "spec") : NULL, "priorityTier", 1);
        highest = tier > highest ? tier : highest;
    }
    return (highest - 1) * TIER_POINTS;
}

/* A number of the pod's SlurmJob; 0: absent. */
static int64_t number_of_job(const struct slurm_fair *f, const struct fair_pod *p, const char *key)
{
    struct fair_object *o = NULL;

    if (p->job)
        map_find_text(handle, f->jobs, p->job, o);
    return o ? json_int_at(o->object, "spec", key, NULL) : 0;
}

static int64_t nice_of(const struct slurm_fair *f, const struct fair_pod *p)
{
    return number_of_job(f, p, "nice");
}

/* The priority that an administrator gave to the job; 0: none. */
static uint32_t own_priority(const struct slurm_fair *f, const struct fair_pod *p)
{
    return (uint32_t)number_of_job(f, p, "priority"); /* the schema limits it */
}

static void list_asked(const struct fair_pod *p, struct slurm_tres *ret)
{
    slurm_tres_set(ret, "cpu", p->cpus * p->nodes);
    slurm_tres_set(ret, "mem", p->memory_mib * p->nodes);
    slurm_tres_set(ret, "node", p->nodes);
    slurm_tres_set(ret, "gres/gpu", p->gpus * p->nodes);
}

/* The job as its factors see it; `asked` is {0}, and is borrowed by the result. */
static struct slurm_priority_job job_of_pod(const struct slurm_fair *f, const struct fair_pod *p,
                                            struct slurm_tres *asked)
{
    int64_t now_s = loop_wall_ns(f->options.loop) / NS_PER_SEC;
    int64_t at = fair_tree_index(f, p->account, p->user);
    struct slurm_priority_job job = {
        .waited_s = p->accrues_ns > 0 ? now_s - p->accrues_ns / NS_PER_SEC : 0,
        .fairshare = at >= 0 ? f->shares.at[at].factor : 0.0,
        .partition = partition_factor(f, p->partition),
        .qos = qos_factor(f, p->qos),
        .cpus = p->cpus * p->nodes,
        .nodes = p->nodes,
        .cluster_cpus = f->cluster_cpus,
        .cluster_nodes = f->cluster_nodes,
        .nice = nice_of(f, p),
        .asked = asked,
        .cluster = &f->cluster,
    };

    if (at >= 0 && f->assoc_most > 0)
        job.assoc = (double)json_int(f->tree.at[at].part, "priority", 0) / f->assoc_most;
    if (f->policy.tres.items.n > 0)
        list_asked(p, asked);
    return job;
}

/*
 * MinPrioThreshold of the job's QOS, else of its association or of an account above it, and the
 * flag NoReserve of its QOS: is no room kept for the job? Limits are for jobs of the Slurm
 * commands.
 */
static bool is_unreserved(struct slurm_fair *f, const struct fair_pod *p)
{
    const struct slurm_books books = {slurm_fair_find, f};
    struct slurm_qos_limits qos;
    struct slurm_chain chain;
    int64_t least = 0;
    bool has_flag = false;

    if (!p->job || !slurm_enforce_read(f->settings).limits)
        return false;
    slurm_chain_find(&books, p->user, p->account, p->partition, &chain);
    least = json_integer_value(slurm_chain_get(&chain, "minPrioThreshold"));
    slurm_chain_done(&chain);
    slurm_qos_find(&books, p->qos, p->partition, &qos);
    for (size_t i = 0; i < qos.n; i++) {
        least = json_int(qos.specs[i], "minPrioThreshold", least);
        has_flag = has_flag || json_has_text(json_object_get(qos.specs[i], "flags"), "NoReserve");
    }
    slurm_qos_done(&qos);
    return has_flag || p->priority < least;
}

void fair_points_of(struct slurm_fair *f, struct fair_pod *p)
{
    struct slurm_tres asked = {0};

    if (f->is_changed) /* the tree borrows from objects that have changed */
        fair_tree_find(f);
    p->priority = own_priority(f, p);
    if (p->priority == 0 && slurm_priority_is_on(&f->policy)) {
        const struct slurm_priority_job job = job_of_pod(f, p, &asked);

        p->priority = slurm_priority_find(&f->policy, &job).priority;
    }
    slurm_tres_done(&asked);
    scheduler_set_points(f->options.scheduler, p->key, p->uid,
                         &(struct sched_points){.points = p->priority + tier_points(f, p),
                                                .is_unreserved = is_unreserved(f, p)});
}

void fair_points_free(struct slurm_fair *f)
{
    VEC_EACH (&f->due, key)
        free(*key);
    vec_done(&f->due);
}

/* Lists the waiting pods; some that a step before has listed may be left. */
void fair_points_all(struct slurm_fair *f)
{
    struct fair_pod *p;
    struct fair_pod *next;

    fair_points_free(f);
    map_each (handle, f->pods, p, next) {
        if (p->started_ns == 0)
            vec_add(&f->due, mem_strdup(p->key));
    }
    loop_timer_set(f->points_timer, 0);
}

void fair_on_points(void *fair)
{
    struct slurm_fair *f = fair;

    for (size_t i = 0; i < PODS_A_TURN && f->due.n > 0; i++) {
        AUTO_FREE char *key = f->due.at[--f->due.n];
        struct fair_pod *p = NULL;

        map_find_text(handle, f->pods, key, p);
        if (p && p->started_ns == 0)
            fair_points_of(f, p);
    }
    if (f->due.n > 0)
        loop_timer_set(f->points_timer, 0);
}

/* ---- questions ---- */

json_t *slurm_fair_find(void *fair, const char *plural, const char *name)
{
    const struct slurm_fair *f = fair;
    struct fair_object *all = text_equal(plural, "queues")            ? f->queues
                              : text_equal(plural, "slurmusers")      ? f->users
                              : text_equal(plural, "slurmqoses")      ? f->qoses
                              : text_equal(plural, "slurmpartitions") ? f->partitions
                                                                      : NULL;
    struct fair_object *o = NULL;

    map_find_text(handle, all, name, o);
    return o ? json_incref(o->object) : NULL;
}

/* Is the association at `at` the one at `top`, or below it? */
static bool is_below(const struct slurm_fair *f, int64_t at, int64_t top)
{
    for (; at >= 0; at = f->shares.at[at].parent)
        if (at == top)
            return true;
    return false;
}

/* `used` in whole minutes. */
static struct slurm_used minutes_of(const long double used[FAIR_KINDS])
{
    return (struct slurm_used){
        .size = {.cpus = (int64_t)(used[FAIR_CPU] / 60),
                 .memory_mib = (int64_t)(used[FAIR_MEMORY] / 60),
                 .gpus = (int64_t)(used[FAIR_GPU] / 60),
                 .nodes = (int64_t)(used[FAIR_NODE] / 60),
                 .billing = (int64_t)(used[FAIR_BILLING] / 60),
                 .model = ""},
        .wall = (int64_t)(used[FAIR_WALL] / 60),
    };
}

struct slurm_used slurm_fair_used(const struct slurm_fair *f, const char *account, const char *user)
{
    int64_t top = fair_tree_index(f, account, user);
    long double sum[FAIR_KINDS] = {0};
    struct fair_usage *u;
    struct fair_usage *next;

    map_each (handle, f->usage, u, next)
        if (top >= 0 && is_below(f, json_int(f->tree_index, u->key, -1), top))
            for (int i = 0; i < FAIR_KINDS; i++)
                sum[i] += u->raw[i];
    return minutes_of(sum);
}

int64_t slurm_fair_factor(const struct slurm_fair *f, const char *account, const char *user)
{
    int64_t at = fair_tree_index(f, account, user);

    return at >= 0 ? (int64_t)(f->shares.at[at].factor * 1000000.0) : 0;
}

struct slurm_used slurm_fair_used_by_qos(const struct slurm_fair *f, const char *qos)
{
    static const long double none[FAIR_KINDS] = {0};
    AUTO_FREE char *key = mem_format(FAIR_QOS "\n%s", qos);
    struct fair_usage *u = NULL;

    map_find_text(handle, f->usage, key, u);
    return minutes_of(u ? u->raw : none);
}

/* ---- rows ---- */

/* Minutes that running pods may still take, times what they hold, as texts by index. */
static void add_run_minutes(struct slurm_fair *f, const struct fair_pod *p, int64_t now_s,
                            struct slurm_tres *of)
{
    int64_t left = (p->started_ns / NS_PER_SEC + p->limit_s - now_s) / 60;
    int64_t at = fair_tree_index(f, p->account, p->user);

    if (p->started_ns == 0 || p->limit_s == 0 || left <= 0)
        return;
    for (; at >= 0; at = f->shares.at[at].parent) {
        slurm_tres_set(&of[at], "cpu", slurm_tres_get(&of[at], "cpu", 0) + p->cpus * left);
        slurm_tres_set(&of[at], "mem", slurm_tres_get(&of[at], "mem", 0) + p->memory_mib * left);
        slurm_tres_set(&of[at], "node", slurm_tres_get(&of[at], "node", 0) + left);
        slurm_tres_set(&of[at], "billing", slurm_tres_get(&of[at], "billing", 0) + p->cpus * left);
        slurm_tres_set(&of[at], "gres/gpu",
                       slurm_tres_get(&of[at], "gres/gpu", 0) + p->gpus * left);
    }
}

static char *format_minutes(const struct slurm_tres *t)
{
    static const char *const names[] = {"cpu",     "mem",  "energy", "node",    "billing",
                                        "fs/disk", "vmem", "pages",  "gres/gpu"};
    struct buf out = {0};

    for (size_t i = 0; i < COUNT(names); i++)
        buf_printf(&out, "%s%s=%lld", i > 0 ? "," : "", names[i],
                   (long long)slurm_tres_get(t, names[i], 0));
    return buf_steal(&out);
}

json_t *slurm_fair_shares(struct slurm_fair *f)
{
    int64_t now_s = loop_wall_ns(f->options.loop) / NS_PER_SEC;
    json_t *rows = json_array();
    struct slurm_tres *minutes;
    struct fair_pod *p;
    struct fair_pod *next;

    fair_tree_find(f);
    minutes = mem_alloc((f->tree.n + 1) * sizeof(*minutes));
    map_each (handle, f->pods, p, next)
        add_run_minutes(f, p, now_s, minutes);
    for (size_t i = 0; i < f->tree.n; i++) {
        AUTO_FREE char *text = format_minutes(&minutes[i]);
        json_t *row =
            slurm_share_row(&f->tree.at[i].name, &f->shares.at[i],
                            f->policy.is_classic ? SLURM_SHARE_CLASSIC : SLURM_SHARE_TREE);

        json_put_text(row, "grpTRESMins", json_text(f->tree.at[i].part, "grpTRESMins"));
        json_put_text(row, "tresRunMins", text);
        (void)json_array_append_new(rows, row); /* fresh: cannot fail */
        slurm_tres_done(&minutes[i]);
    }
    free(minutes);
    return rows;
}

/* Numbers as sprio prints them: weighted factors, cut. */
static json_t *priority_row(const struct slurm_fair *f, const struct fair_pod *p)
{
    struct slurm_tres asked = {0};
    const struct slurm_priority_job job = job_of_pod(f, p, &asked);
    const struct slurm_priority r = slurm_priority_find(&f->policy, &job);
    AUTO(buf_done) struct buf tres = {0};
    json_t *row = json_object();

    for (size_t i = 0; i < f->policy.tres.items.n; i++)
        buf_printf(&tres, "%s%s=%.0f", i > 0 ? "," : "", f->policy.tres.items.at[i].name,
                   slurm_priority_tres(&f->policy, &job, i));
    slurm_tres_done(&asked);

    json_put_int(row, "jobId", p->id);
    json_put(row, "namespace", json_stringn(p->key, (size_t)(strchr(p->key, '/') - p->key)));
    json_put_text(row, "user", p->user);
    json_put_text(row, "account", p->account);
    json_put_text(row, "partition", p->partition);
    json_put_text(row, "qos", p->qos);
    json_put_int(row, "priority", own_priority(f, p) > 0 ? own_priority(f, p) : r.priority);
    json_put(row, "age", json_real(r.age));
    json_put(row, "assoc", json_real(r.assoc));
    json_put(row, "fairshare", json_real(r.fairshare));
    json_put(row, "jobsize", json_real(r.jobsize));
    json_put(row, "partitionFactor", json_real(r.partition));
    json_put(row, "qosFactor", json_real(r.qos));
    if (tres.size > 0)
        json_put_text(row, "tres", tres.at);
    json_put_int(row, "nice", nice_of(f, p));
    return row;
}

/* The weights, which sprio -w prints. */
static json_t *weights_row(const struct slurm_priority_policy *p)
{
    AUTO_FREE char *tres = slurm_tres_format(&p->tres);

    return json_pack("{s:{s:I,s:I,s:I,s:I,s:I,s:I,s:s}}", "weights", "age", (json_int_t)p->age,
                     "assoc", (json_int_t)p->assoc, "fairshare", (json_int_t)p->fairshare,
                     "jobsize", (json_int_t)p->jobsize, "partitionFactor", (json_int_t)p->partition,
                     "qosFactor", (json_int_t)p->qos, "tres", tres);
}

uint32_t slurm_fair_priority(const struct slurm_fair *f, const char *key)
{
    struct fair_pod *p = NULL;

    map_find_text(handle, f->pods, key, p);
    return p ? p->priority : 0;
}

json_t *slurm_fair_priorities(struct slurm_fair *f)
{
    AUTO(json_freep) json_t *seen = json_object(); /* jobs on several nodes have several pods */
    json_t *rows = json_array();
    struct fair_pod *p;
    struct fair_pod *next;

    fair_tree_find(f);
    (void)json_array_append_new(rows, weights_row(&f->policy));
    map_each (handle, f->pods, p, next) {
        char id[32];

        (void)snprintf(id, sizeof(id), "%" PRId64, p->id);
        if (p->started_ns != 0 || json_object_get(seen, id))
            continue;
        json_put_bool(seen, id, true);
        (void)json_array_append_new(rows, priority_row(f, p)); /* fresh: cannot fail */
    }
    return rows;
}
