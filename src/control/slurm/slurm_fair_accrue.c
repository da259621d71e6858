/*
 * slurm_fair_accrue.c - which waiting jobs gain priority by age
 *
 * MaxJobsAccrue, GrpJobsAccrue and their kin limit the number of waiting jobs whose age counts.
 * Jobs get their place in the order of their numbers, keep it until they start, and their age
 * counts from then on. These limits are for jobs of the Slurm commands.
 */

#include <stdlib.h>

#include "control/slurm/slurm_fair_private.h"
#include "kinds/slurm/slurm_qos.h"

/* The jobs that gain age, by what they count under. */
struct accrue {
    struct slurm_fair *f;
    struct slurm_books books;
    json_t *counts;
};

/* A limit: `most` jobs under a key. */
struct accrue_limit {
    char *key; /* owned */
    int64_t most;
};

struct accrue_limits {
    VEC(struct accrue_limit) all;
};

static const char *const accrue_keys[] = {"grpJobsAccrue", "maxJobsAccrue", "maxJobsAccruePerUser",
                                          "maxJobsAccruePerAccount"};

static bool has_accrue_key(const json_t *part)
{
    for (size_t i = 0; i < COUNT(accrue_keys); i++)
        if (json_object_get(part, accrue_keys[i]))
            return true;
    return false;
}

static bool is_accrue_limited(const struct slurm_fair *f)
{
    struct fair_object *o;
    struct fair_object *next;

    if (!slurm_enforce_read(f->settings).limits)
        return false;
    map_each (handle, f->queues, o, next)
        if (has_accrue_key(json_at(o->object, "spec", "slurm", NULL)))
            return true;
    map_each (handle, f->qoses, o, next)
        if (has_accrue_key(json_object_get(o->object, "spec")))
            return true;
    map_each (handle, f->users, o, next) {
        const json_t *list = json_at(o->object, "spec", "associations", NULL);

        for (size_t i = 0; i < json_array_size(list); i++)
            if (has_accrue_key(json_array_get(list, i)))
                return true;
    }
    return false;
}

/* Takes `key`. */
static void add_limit(struct accrue_limits *to, char *key, const json_t *part, const char *member)
{
    if (json_object_get(part, member))
        vec_add(&to->all, (struct accrue_limit){key, json_int(part, member, 0)});
    else
        free(key);
}

static void list_qos_limits(const struct accrue *a, const struct fair_pod *p,
                            struct accrue_limits *to)
{
    struct slurm_qos_limits qos;

    slurm_qos_find(&a->books, p->qos, p->partition, &qos);
    for (size_t i = 0; i < qos.n; i++) {
        const json_t *spec = qos.specs[i];

        add_limit(to, mem_format("qos\n%s", qos.names[i]), spec, "grpJobsAccrue");
        add_limit(to, mem_format("qosuser\n%s\n%s", qos.names[i], p->user), spec,
                  "maxJobsAccruePerUser");
        add_limit(to, mem_format("qosaccount\n%s\n%s", qos.names[i], p->account), spec,
                  "maxJobsAccruePerAccount");
    }
    slurm_qos_done(&qos);
}

static void list_limits(const struct accrue *a, const struct fair_pod *p, struct accrue_limits *to)
{
    struct slurm_chain chain;
    bool has_most = false; /* the nearest part that has the limit decides */

    slurm_chain_find(&a->books, p->user, p->account, p->partition, &chain);
    for (size_t i = 0; i < chain.n; i++) {
        char *key = chain.names[i] ? mem_format("account\n%s", chain.names[i])
                                   : mem_format("user\n%s\n%s", p->account, p->user);

        add_limit(to, key, chain.at[i], "grpJobsAccrue");
        if (!has_most)
            add_limit(to, mem_format("own\n%s\n%s", p->account, p->user), chain.at[i],
                      "maxJobsAccrue");
        has_most = has_most || json_object_get(chain.at[i], "maxJobsAccrue");
    }
    slurm_chain_done(&chain);
    list_qos_limits(a, p, to);
}

/* Counts the job if it has a place already, or if all limits have one left. */
static bool take_place(const struct accrue *a, const struct fair_pod *p)
{
    struct accrue_limits limits = {0};
    bool has = true;

    list_limits(a, p, &limits);
    VEC_EACH (&limits.all, limit)
        has = has && (p->accrues_ns > 0 || json_int(a->counts, limit->key, 0) < limit->most);
    VEC_EACH (&limits.all, limit) {
        if (has)
            json_put_int(a->counts, limit->key, json_int(a->counts, limit->key, 0) + 1);
        free(limit->key);
    }
    vec_done(&limits.all);
    return has;
}

static int compare_pods(const void *left, const void *right)
{
    const struct fair_pod *a = *(struct fair_pod *const *)left;
    const struct fair_pod *b = *(struct fair_pod *const *)right;

    return a->id != b->id ? (a->id > b->id) - (a->id < b->id) : strcmp(a->key, b->key);
}

struct accrue_pods {
    VEC(struct fair_pod *) list; /* by the numbers of their jobs */
};

/* The waiting pods of jobs of the Slurm commands; those of the other doors gain age at once. */
static void list_waiting(const struct slurm_fair *f, struct accrue_pods *to)
{
    struct fair_pod *p;
    struct fair_pod *next;

    map_each (handle, f->pods, p, next) {
        if (!p->job)
            p->accrues_ns = p->created_ns;
        else if (p->started_ns == 0)
            vec_add(&to->list, p);
    }
    if (to->list.n > 1)
        qsort(to->list.at, to->list.n, sizeof(struct fair_pod *), compare_pods);
}

/* Pods of one job, which follow each other, have its place together. `has_place`: is it the turn of
 * those that have one? */
static void accrue_turn(struct accrue *a, const struct accrue_pods *pods, bool has_place)
{
    int64_t now_ns = loop_wall_ns(a->f->options.loop);
    const struct fair_pod *last = NULL;

    VEC_EACH (&pods->list, at) {
        struct fair_pod *p = *at;

        if ((p->accrues_ns > 0) != has_place)
            continue;
        if (last && last->id == p->id) {
            p->accrues_ns = last->accrues_ns;
        } else if (take_place(a, p) && !has_place) {
            p->accrues_ns = p->is_kept_back ? now_ns : p->created_ns;
            fair_points_of(a->f, p);
        }
        p->is_kept_back = p->accrues_ns == 0;
        last = p;
    }
}

void fair_on_accrue(void *fair)
{
    struct accrue a = {.f = fair, .books = {slurm_fair_find, fair}, .counts = NULL};
    struct accrue_pods pods = {0};

    a.f->is_accrue_limited = is_accrue_limited(a.f);
    list_waiting(a.f, &pods);
    if (a.f->is_accrue_limited) {
        a.counts = json_object();
        accrue_turn(&a, &pods, true);
        accrue_turn(&a, &pods, false);
        json_decref(a.counts);
    } else {
        VEC_EACH (&pods.list, p)
            if ((*p)->accrues_ns == 0)
                (*p)->accrues_ns = (*p)->created_ns;
    }
    vec_done(&pods.list);
}
