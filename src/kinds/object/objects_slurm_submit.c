/*
 * objects_slurm_submit.c - limits of the jobs that wait or run, judged at the submission
 *
 * The count is that of the applied state, in the transaction that adds the job: however
 * submissions, ends and restarts follow each other, no limit is passed.
 */

#include "kinds/object/objects_private.h"
#include "kinds/slurm/slurm_qos.h"

/* A limit's members: which jobs count, NULL: all. */
struct submit_limit {
    const json_t *part;
    const char *key;
    const char *reason; /* in Slurm's words */
    const char *qos;
    const char *user;
    const char *account;
    bool is_of_tree; /* also the jobs of accounts below `account` */
};

struct submit_check {
    const struct submit_tally *tally;
    struct slurm_books books;
    const char *user;
    const char *account;
    int64_t jobs; /* of the new job */
};

/* Is the account, or one above it, `top`? */
static bool is_below(const struct submit_check *s, const char *account, const char *top)
{
    struct slurm_chain chain;
    bool is_found = false;

    slurm_chain_find(&s->books, NULL, account, NULL, &chain);
    for (size_t i = 0; i < chain.n; i++)
        is_found = is_found || text_equal(chain.names[i], top);
    slurm_chain_done(&chain);
    return is_found;
}

static bool submit_counts(const struct submit_check *s, const struct submit_limit *l,
                          const struct submit_kind *k)
{
    if (l->user && !text_equal(l->user, k->user))
        return false;
    if (l->qos && !text_equal(l->qos, k->qos)) {
        AUTO_FREE char *of_partition = slurm_qos_of_partition(&s->books, k->partition);

        if (!text_equal(l->qos, of_partition))
            return false;
    }
    if (!l->account || text_equal(l->account, k->account))
        return true;
    return l->is_of_tree && is_below(s, k->account, l->account);
}

/* Does the new job pass the limit? */
static bool submit_passes(const struct submit_check *s, const struct submit_limit *l)
{
    int64_t most = json_int(l->part, l->key, -1);
    int64_t jobs = s->jobs;
    struct submit_kind *k;
    struct submit_kind *next;

    if (most < 0)
        return false;
    map_each (handle, s->tally->kinds, k, next)
        if (submit_counts(s, l, k))
            jobs += k->jobs;
    return jobs > most;
}

/* The reason of the first limit of the QOS that the job passes; NULL: none. Static. */
static const char *find_qos_limit(const struct submit_check *s, const char *name, const json_t *qos)
{
    const struct submit_limit limits[] = {
        {qos, "grpSubmitJobs", "QOSGrpSubmitJobsLimit", .qos = name},
        {qos, "maxSubmitJobsPerUser", "QOSMaxSubmitJobPerUserLimit", .qos = name, .user = s->user},
        {qos, "maxSubmitJobsPerAccount", "MaxSubmitJobsPerAccount", .qos = name,
         .account = s->account},
    };

    for (size_t i = 0; i < COUNT(limits); i++)
        if (submit_passes(s, &limits[i]))
            return limits[i].reason;
    return NULL;
}

/* The same of the user's association and the accounts above it. */
static const char *find_assoc_limit(const struct submit_check *s, const struct slurm_chain *c)
{
    const struct submit_limit most = {NULL, "maxSubmitJobs", "AssocMaxSubmitJobLimit",
                                      .user = s->user, .account = s->account};
    bool has_most = false;

    for (size_t i = 0; i < c->n; i++) {
        const char *name = c->names[i];
        const struct submit_limit all = {c->at[i],
                                         "grpSubmitJobs",
                                         "AssocGrpSubmitJobsLimit",
                                         .user = name ? NULL : s->user,
                                         .account = name ? name : s->account,
                                         .is_of_tree = name != NULL};
        struct submit_limit nearest = most;

        if (submit_passes(s, &all))
            return all.reason;
        nearest.part = c->at[i];
        if (!has_most && submit_passes(s, &nearest))
            return nearest.reason;
        has_most = has_most || json_object_get(c->at[i], "maxSubmitJobs");
    }
    return NULL;
}

static bool has_limit(const struct slurm_chain *c, const struct slurm_qos_limits *q)
{
    static const char *const of_qos[] = {"grpSubmitJobs", "maxSubmitJobsPerUser",
                                         "maxSubmitJobsPerAccount"};

    for (size_t i = 0; i < COUNT(of_qos); i++)
        for (size_t k = 0; k < q->n; k++)
            if (json_object_get(q->specs[k], of_qos[i]))
                return true;
    return slurm_chain_get(c, "grpSubmitJobs") || slurm_chain_get(c, "maxSubmitJobs");
}

static struct err *check_chain(struct change *c, const struct slurm_chain *chain,
                               const struct slurm_qos_limits *q, struct submit_check *s)
{
    const char *reason = NULL;

    if (!has_limit(chain, q))
        return NULL;
    TRY(submit_tally_update(&c->objects->submitted, c->objects->store, c->objects));
    s->tally = &c->objects->submitted;
    for (size_t i = 0; i < q->n && !reason; i++)
        reason = find_qos_limit(s, q->names[i], q->specs[i]);
    if (!reason)
        reason = find_assoc_limit(s, chain);
    if (!reason)
        return NULL;
    return err_new(ERR_INVALID,
                   "%s\nJob violates accounting/QOS policy (job submit limit, user's size and/or "
                   "time limits)",
                   reason);
}

struct err *slurm_submit_check(struct change *c)
{
    const json_t *spec = json_object_get(c->after, "spec");
    AUTO(json_freep) json_t *config = slurm_find_book(c, "slurmconfigs", "default");
    struct submit_check s = {
        .books = {slurm_find_book, c},
        .user = text_or_empty(json_text_at(spec, "user", "name", NULL)),
        .account = text_or_empty(json_text(spec, "account")),
        .jobs = c->job_ids > 0 ? c->job_ids : 1,
    };
    struct slurm_qos_limits qos;
    struct slurm_chain chain;
    struct err *e;

    if (!slurm_enforce_read(json_at(config, "spec", "settings", NULL)).limits)
        return NULL;
    slurm_chain_find(&s.books, s.user, s.account, json_text(spec, "partition"), &chain);
    slurm_qos_find(&s.books, json_text(spec, "qos"), json_text(spec, "partition"), &qos);
    e = check_chain(c, &chain, &qos, &s);
    slurm_qos_done(&qos);
    slurm_chain_done(&chain);
    return e;
}
