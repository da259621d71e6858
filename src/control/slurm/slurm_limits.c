/*
 * slurm_limits.c - limits of accounts, users and QOS: what jobs with pods hold, and why a job gets
 * none
 *
 * A job holds from its first pod until it is over: also while the pod waits for room. So no limit
 * is ever exceeded, and a job that waits for room keeps its place within the limit.
 */
#include <stdlib.h>

#include "control/slurm/slurm_private.h"
#include "kinds/slurm/slurm_accounts.h"
#include "kinds/slurm/slurm_qos.h"

#define LOOK_AGAIN_NS (5 * NS_PER_SEC) /* usage decays, and administrators change limits */
#define FREED_NS      (NS_PER_SEC / 10)

/* What jobs under a key hold. */
struct slurm_held {
    struct map_handle handle;
    char *key;
    int64_t jobs;
    struct slurm_size size;
    struct slurm_size minutes; /* resources x minutes that the jobs may still take, at most */
};

static const char *user_of(const struct sjob *j)
{
    return text_or_empty(json_text_at(j->object, "spec", "user", "name", NULL));
}

static const char *qos_of(const struct sjob *j)
{
    const char *qos = json_text_filled(json_object_get(j->object, "spec"), "qos");

    return qos ? qos : SLURM_QOS_DEFAULT;
}

static const char *account_of(const struct sjob *j)
{
    return text_or_empty(json_text_filled(json_object_get(j->object, "spec"), "account"));
}

static struct slurm_books books_of(const struct sjob *j)
{
    return (struct slurm_books){slurm_fair_find, j->jobs->options.fair};
}

/* ---- what is held ---- */

static struct slurm_held *held_find(const struct slurm_jobs *s, const char *key)
{
    struct slurm_held *h = NULL;

    map_find_text(handle, s->held, key, h);
    return h;
}

/* The sum of what the components ask for; the model is that of the first one's gpus. */
static struct slurm_size size_of(const struct sjob *j)
{
    const json_t *spec = json_object_get(j->object, "spec");
    struct slurm_size sum = slurm_size_of(&j->het.asks[0], spec);

    for (size_t i = 1; i < j->het.n; i++) {
        const struct slurm_size one = slurm_size_of(&j->het.asks[i], spec);

        sum.cpus += one.cpus;
        sum.memory_mib += one.memory_mib;
        sum.gpus += one.gpus;
        sum.nodes += one.nodes;
    }
    return sum;
}

/* Takes `key`. */
static struct slurm_held *held_get(struct slurm_jobs *s, char *key)
{
    AUTO_FREE char *own = key;
    struct slurm_held *h = held_find(s, own);

    if (h)
        return h;
    h = mem_alloc(sizeof(*h));
    h->key = TAKE(own);
    h->size.model = "";
    h->minutes.model = "";
    map_add(handle, s->held, h->key, strlen(h->key), h);
    return h;
}

/* Forgets what nobody holds. */
static void held_drop(struct slurm_jobs *s, struct slurm_held *h)
{
    if (h->jobs > 0)
        return;
    map_remove(handle, s->held, h);
    free(h->key);
    free(h);
}

void slurm_held_add(struct slurm_jobs *s, char *key, int64_t n)
{
    struct slurm_held *h = held_get(s, key);

    h->jobs += n;
    held_drop(s, h);
    if (n < 0 && s->n_limited > 0)
        loop_timer_set(s->limit_timer, FREED_NS);
}

int64_t slurm_held_number(const struct slurm_jobs *s, const char *key)
{
    const struct slurm_held *h = held_find(s, key);

    return h ? h->jobs : 0;
}

/* The most that the job may take from its start to its end. */
static struct slurm_size whole_minutes(const struct sjob *j)
{
    const struct slurm_size size = size_of(j);

    return slurm_size_minutes(&size, size.minutes > 0 ? size.minutes : SLURM_MINUTES_ENDLESS);
}

/*
 * Adds the job (`sign` 1) under a key, or takes it out (-1). Takes `key`. Its minutes stay counted
 * until the next recount: the sum is never too small.
 */
static void held_count(struct sjob *j, char *key, int sign)
{
    const struct slurm_size minutes = whole_minutes(j);
    const struct slurm_size size = size_of(j);
    struct slurm_held *h = held_get(j->jobs, key);

    h->jobs += sign;
    if (sign > 0)
        slurm_size_add(&h->minutes, &minutes);
    h->size.cpus += sign * size.cpus;
    h->size.memory_mib += sign * size.memory_mib;
    h->size.gpus += sign * size.gpus;
    h->size.nodes += sign * size.nodes;
    held_drop(j->jobs, h);
}

/* The accounts above a job and the QOS of its partition when it was first counted: they are the
 * same when it is taken out. */
static void find_accounts(struct sjob *j)
{
    const struct slurm_books books = books_of(j);
    struct slurm_chain chain;

    if (j->has_keys)
        return;
    j->has_keys = true;
    slurm_chain_find(&books, NULL, account_of(j), NULL, &chain);
    for (size_t i = 0; i < chain.n; i++)
        vec_add(&j->accounts, mem_strdup(chain.names[i]));
    slurm_chain_done(&chain);
    j->partition_qos =
        slurm_qos_of_partition(&books, json_text(json_object_get(j->object, "spec"), "partition"));
    if (text_equal(j->partition_qos, qos_of(j))) { /* is counted once */
        free(j->partition_qos);
        j->partition_qos = NULL;
    }
}

static void job_each_qos_key(struct sjob *j, const char *qos,
                             void (*fn)(struct sjob *j, char *key, int sign), int sign)
{
    fn(j, mem_format("qos\n%s", qos), sign);
    fn(j, mem_format("qosuser\n%s\n%s", qos, user_of(j)), sign);
    fn(j, mem_format("qosaccount\n%s\n%s", qos, account_of(j)), sign);
}

/* Calls `fn` with each key that the job is counted under; `fn` takes the key. */
static void job_each_key(struct sjob *j, void (*fn)(struct sjob *j, char *key, int sign), int sign)
{
    find_accounts(j);
    VEC_EACH (&j->accounts, account)
        fn(j, mem_format("account\n%s", *account), sign);
    fn(j, mem_format("user\n%s\n%s", account_of(j), user_of(j)), sign);
    job_each_qos_key(j, qos_of(j), fn, sign);
    if (j->partition_qos)
        job_each_qos_key(j, j->partition_qos, fn, sign);
}

static void count_job(struct sjob *j, int sign)
{
    struct slurm_jobs *s = j->jobs;

    job_each_key(j, held_count, sign);
    if (sign < 0 && s->n_limited > 0)
        loop_timer_set(s->limit_timer, FREED_NS);
}

void sjob_pod_count(struct sjob_pod *p, bool holds)
{
    bool counts = holds && p->rank == 0 && p->job->jobs->has_limits;

    sjob_pod_count_licenses(p, holds && p->rank == 0);
    if (counts == p->is_counted)
        return;
    p->is_counted = counts;
    count_job(p->job, counts ? 1 : -1);
}

void slurm_limits_begin(struct slurm_jobs *s)
{
    bool has = s->options.fair && slurm_enforce_read(slurm_settings(s)).limits;
    struct sjob_pod *p;
    struct sjob_pod *next;

    if (has == s->has_limits)
        return;
    s->has_limits = has;
    map_each (handle, s->pods, p, next)
        sjob_pod_count(p, p->state < SJOB_COMPLETED);
    slurm_on_freed(s);
}

void sjob_forget_accounts(struct sjob *j)
{
    sjob_set_limited(j, NULL);
    free(j->limit_reason);
    j->limit_reason = NULL;
    VEC_EACH (&j->accounts, account)
        free(*account);
    vec_done(&j->accounts);
    free(j->partition_qos);
    j->partition_qos = NULL;
    j->has_keys = false;
}

void slurm_on_freed(void *arg)
{
    struct slurm_jobs *s = arg;

    VEC_EACH (&s->by_id, j)
        if ((*j)->is_limited)
            sjob_poke(*j);
}

/* ---- minutes that jobs may still take ---- */

/* Of the counted attempt, rounded up. */
static int64_t minutes_left(const struct sjob_pod *p, int64_t now_ns)
{
    int64_t minutes = p->limit_s / 60;
    int64_t ran_s = p->end.started_ns > 0 ? (now_ns - p->end.started_ns) / NS_PER_SEC : 0;

    if (p->limit_s == 0)
        return SLURM_MINUTES_ENDLESS;
    if (p->state != SJOB_RUNNING || p->suspended_at_ns > 0 || ran_s < 0)
        return minutes;
    ran_s -= p->suspended_s;
    return ran_s < p->limit_s ? (p->limit_s - ran_s + 59) / 60 : 0;
}

/* Adds minutes of the job under a key. Takes `key`. */
static void held_add_minutes(struct sjob *j, char *key, int minutes)
{
    const struct slurm_size size = size_of(j);
    const struct slurm_size more = slurm_size_minutes(&size, minutes);

    slurm_size_add(&held_get(j->jobs, key)->minutes, &more);
}

/* Counts all minutes anew, at most once a second: meanwhile sums are too large, never too small. */
static void recount_minutes(struct slurm_jobs *s)
{
    int64_t now_ns = loop_now_ns(s->options.loop);
    struct slurm_held *h;
    struct slurm_held *h_next;
    struct sjob_pod *p;
    struct sjob_pod *next;

    if (s->minutes_ns != 0 && now_ns - s->minutes_ns < NS_PER_SEC)
        return;
    s->minutes_ns = now_ns;
    map_each (handle, s->held, h, h_next)
        h->minutes = (struct slurm_size){.model = ""};
    map_each (handle, s->pods, p, next)
        if (p->is_counted)
            job_each_key(p->job, held_add_minutes,
                         (int)minutes_left(p, loop_wall_ns(s->options.loop)));
}

/* The reason of a list of resources x minutes; NULL: none. The caller frees it. */
static char *minutes_limit(const struct sjob *j, const json_t *part, const char *key,
                           bool is_of_qos, const char *held_key)
{
    const struct slurm_size none = {.model = ""};
    const struct slurm_size own = whole_minutes(j);
    const struct slurm_held *h;

    if (!json_text_filled(part, key))
        return NULL;
    recount_minutes(j->jobs);
    h = held_find(j->jobs, held_key);
    return slurm_limits_with(part, key, is_of_qos, &own, h ? &h->minutes : &none);
}

/* The reason if the part has used its minutes up; NULL: it has not. The caller frees it. */
static char *used_limit(const json_t *part, bool is_of_qos, const struct slurm_size *size,
                        const struct slurm_used *used)
{
    /* The least that a job with these resources takes. */
    const struct slurm_size least = {.cpus = 1,
                                     .memory_mib = size->memory_mib > 0,
                                     .gpus = size->gpus > 0,
                                     .nodes = 1,
                                     .billing = 1,
                                     .model = ""};
    int64_t wall = json_int(part, "grpWall", -1);
    char *reason = slurm_limits_with(part, "grpTRESMins", is_of_qos, &least, &used->size);

    if (!reason && wall >= 0 && used->wall >= wall)
        reason = mem_strdup(is_of_qos ? "QOSGrpWallLimit" : "AssocGrpWallLimit");
    return reason;
}

/* A QOS with the flag EnforceUsageThreshold: is the fair-share factor below its threshold? */
static bool is_below_threshold(const struct sjob *j, const json_t *qos)
{
    const char *text = json_text_filled(qos, "usageThreshold");
    int64_t least = 0;

    if (!text || !json_has_text(json_object_get(qos, "flags"), "EnforceUsageThreshold"))
        return false;
    err_free(slurm_factor_parse(text, &least)); /* was checked when it was written */
    return slurm_fair_factor(j->jobs->options.fair, account_of(j), user_of(j)) < least;
}

/* The list of a part with its counts times a factor in millionths; NULL: no list. */
static char *list_times(const json_t *part, const char *key, int64_t micro)
{
    const char *list = json_text_filled(part, key);
    struct slurm_tres tres = {0};
    char *text;

    if (!list)
        return NULL;
    err_free(slurm_tres_parse(str_of(list), &tres)); /* was checked when it was written */
    VEC_EACH (&tres.items, item)
        if (item->count > 0)
            item->count = (int64_t)((__int128)item->count * micro / 1000000);
    text = slurm_tres_format(&tres);
    slurm_tres_done(&tres);
    return text;
}

/* LimitFactor of the job's QOS: GrpTRES and MaxTRES of the associations count so many times. The
 * parts of the chain become copies, which `kept` holds. */
static void chain_times(struct slurm_chain *c, const json_t *qos, json_t *kept)
{
    static const char *const lists[] = {"grpTRES", "maxTRES"};
    const char *text = json_text_filled(qos, "limitFactor");
    int64_t micro = 1000000;

    if (text)
        err_free(slurm_factor_parse(text, &micro)); /* as above */
    for (size_t i = 0; micro != 1000000 && i < c->n; i++) {
        json_t *part = json_copy((json_t *)(uintptr_t)c->at[i]);

        for (size_t k = 0; k < COUNT(lists); k++) {
            AUTO_FREE char *list = list_times(part, lists[k], micro);

            if (list)
                json_put_text(part, lists[k], list);
        }
        (void)json_array_append_new(kept, part); /* fresh: cannot fail */
        c->at[i] = part;
    }
}

static bool has_used_limit(const json_t *part)
{
    return json_text_filled(part, "grpTRESMins") || json_object_get(part, "grpWall");
}

/* ---- limits ---- */

/* A limit of numbers: `key` of the part, and the reason beyond it. */
static const char *number_limit(const json_t *part, const char *key, const struct slurm_held *h,
                                const char *reason)
{
    int64_t limit = json_int(part, key, -1);

    return limit >= 0 && (h ? h->jobs : 0) >= limit ? reason : NULL;
}

/* The reason of a limit by resource, which the caller frees; NULL: none. */
static char *tres_limit(const json_t *part, const char *key, bool is_of_qos,
                        const struct slurm_size *size, const struct slurm_held *h)
{
    return h ? slurm_limits_with(part, key, is_of_qos, size, &h->size) : NULL;
}

static char *copy_of(const char *reason)
{
    return reason ? mem_strdup(reason) : NULL;
}

static char *qos_limit(const struct sjob *j, const char *name, const json_t *qos,
                       const struct slurm_size *size)
{
    AUTO_FREE char *all = mem_format("qos\n%s", name);
    AUTO_FREE char *user = mem_format("qosuser\n%s\n%s", name, user_of(j));
    AUTO_FREE char *account = mem_format("qosaccount\n%s\n%s", name, account_of(j));
    const struct slurm_held *of_all = held_find(j->jobs, all);
    const struct slurm_held *of_user = held_find(j->jobs, user);
    const struct slurm_held *of_account = held_find(j->jobs, account);
    char *reason = copy_of(number_limit(qos, "grpJobs", of_all, "QOSGrpJobsLimit"));

    if (!reason)
        reason = tres_limit(qos, "grpTRES", true, size, of_all);
    if (!reason)
        reason = copy_of(number_limit(qos, "maxJobsPerUser", of_user, "QOSMaxJobsPerUserLimit"));
    if (!reason)
        reason = tres_limit(qos, "maxTRESPerUser", true, size, of_user);
    if (!reason)
        reason = copy_of(number_limit(qos, "maxJobsPerAccount", of_account, "MaxJobsPerAccount"));
    if (!reason)
        reason = tres_limit(qos, "maxTRESPerAccount", true, size, of_account);
    if (!reason)
        reason = minutes_limit(j, qos, "grpTRESRunMins", true, all);
    if (!reason && is_below_threshold(j, qos))
        reason = mem_strdup("QOSUsageThreshold");
    if (!reason && has_used_limit(qos)) {
        const struct slurm_used used = slurm_fair_used_by_qos(j->jobs->options.fair, name);

        reason = used_limit(qos, true, size, &used);
    }
    if (!reason)
        reason = minutes_limit(j, qos, "maxTRESRunMinsPerUser", true, user);
    return reason ? reason : minutes_limit(j, qos, "maxTRESRunMinsPerAccount", true, account);
}

/* One part of the chain: the user's association, or an account with those below it. */
static char *part_limit(const struct sjob *j, const struct slurm_chain *c, size_t i,
                        const struct slurm_size *size)
{
    AUTO_FREE char *key = c->names[i] ? mem_format("account\n%s", c->names[i])
                                      : mem_format("user\n%s\n%s", account_of(j), user_of(j));
    const struct slurm_held *h = held_find(j->jobs, key);
    char *reason = copy_of(number_limit(c->at[i], "grpJobs", h, "AssocGrpJobsLimit"));

    if (!reason)
        reason = tres_limit(c->at[i], "grpTRES", false, size, h);
    if (!reason)
        reason = minutes_limit(j, c->at[i], "grpTRESRunMins", false, key);
    if (!reason && has_used_limit(c->at[i])) {
        const struct slurm_used used =
            slurm_fair_used(j->jobs->options.fair, c->names[i] ? c->names[i] : account_of(j),
                            c->names[i] ? "" : user_of(j));

        reason = used_limit(c->at[i], false, size, &used);
    }
    return reason;
}

/* MaxJobs of the association, or of the nearest account that has it. */
static char *jobs_limit(const struct sjob *j, const struct slurm_chain *c)
{
    AUTO_FREE char *key = mem_format("user\n%s\n%s", account_of(j), user_of(j));
    const struct slurm_held *h = held_find(j->jobs, key);

    for (size_t i = 0; i < c->n; i++)
        if (json_object_get(c->at[i], "maxJobs"))
            return copy_of(number_limit(c->at[i], "maxJobs", h, "AssocMaxJobsLimit"));
    return NULL;
}

static char *find_limit(const struct sjob *j)
{
    const struct slurm_books books = books_of(j);
    const json_t *spec = json_object_get(j->object, "spec");
    const struct slurm_size size = size_of(j);
    struct slurm_qos_limits qos;
    struct slurm_chain chain;
    AUTO(json_freep) json_t *kept = json_array();
    AUTO(json_freep) json_t *own = slurm_fair_find(j->jobs->options.fair, "slurmqoses", qos_of(j));
    bool denies = false;
    char *reason;

    slurm_chain_find(&books, user_of(j), account_of(j), json_text(spec, "partition"), &chain);
    slurm_qos_find(&books, qos_of(j), json_text(spec, "partition"), &qos);
    chain_times(&chain, own ? json_object_get(own, "spec") : NULL, kept);
    reason = slurm_qos_exceeds(&qos, &chain, &size, &denies);
    for (size_t i = 0; i < qos.n && !reason; i++)
        reason = qos_limit(j, qos.names[i], qos.specs[i], &size);
    slurm_qos_done(&qos);
    if (!reason)
        reason = jobs_limit(j, &chain);
    for (size_t i = 0; i < chain.n && !reason; i++)
        reason = part_limit(j, &chain, i, &size);
    slurm_chain_done(&chain);
    return reason;
}

/* Takes `reason`; NULL: the job is within its limits. */
void sjob_set_limited(struct sjob *j, char *reason)
{
    if (reason && !j->is_limited)
        j->jobs->n_limited++;
    else if (!reason && j->is_limited)
        j->jobs->n_limited--;
    j->is_limited = reason != NULL;
    if (!reason)
        return;
    j->reason = reason;
    free(j->limit_reason);
    j->limit_reason = reason;
}

bool sjob_is_limited(struct sjob *j)
{
    char *reason = j->jobs->has_limits ? find_limit(j) : NULL;

    if (!reason && !sjob_has_licenses(j))
        reason = mem_strdup("Licenses");
    sjob_set_limited(j, reason);
    if (j->is_limited)
        sjob_poke_in(j, LOOK_AGAIN_NS);
    return j->is_limited;
}
