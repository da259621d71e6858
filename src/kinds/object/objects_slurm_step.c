/*
 * objects_slurm_step.c - rules of SlurmSteps: number, user, what the steps of a job hold
 *
 * Errors have the words of Slurm. Only the job's user and administrators start and change steps.
 */

#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "kinds/kind/cause.h"
#include "kinds/object/objects_private.h"
#include "kinds/object/tree_cache.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "kinds/slurm/slurm_het.h"
#include "kinds/slurm/slurm_job.h"
#include "kinds/slurm/slurm_step.h"

enum {
    GPUS_MAX = 512 /* of a job on a node */
};

bool is_slurm_step(const struct kind *k)
{
    return text_equal(k->group, "mete.dev") && text_equal(k->plural, "slurmsteps");
}

static struct err *step_denied(void)
{
    return err_new(ERR_FORBIDDEN, "Access/permission denied");
}

/* The tree of an object of the step's namespace; a new reference; NULL: absent. */
static struct err *step_load(const struct change *c, const struct kind *k, const char *name,
                             json_t **ret)
{
    const struct store_object *o =
        store_get_applied(c->objects->store, objects_key(k, c->request->ns, name));

    *ret = NULL;
    return o ? tree_cache_get(c->objects->trees, o, ret) : NULL;
}

static bool is_user_of(const struct change *c, const json_t *job)
{
    const char *owner = json_text_at(job, "metadata", "annotations", POD_USER, NULL);

    return c->who.is_admin || c->who.is_system || text_equal(owner, c->who.user);
}

/* ---- what a step asks for, and what others hold ---- */

/* One node of the step in the making. */
struct step_node {
    const json_t *asked;
    int64_t cpus; /* that the job has there */
    int64_t gpus;
    int64_t held_cpus;
    uint64_t held[GPUS_MAX / 64]; /* a bit for each gpu */
};

static bool is_gpu_held(const struct step_node *n, int64_t place)
{
    return n->held[place / 64] >> (place % 64) & 1;
}

/* The request of the step in the pod, and the gpus that it was given there; NULL: nothing. */
static const json_t *node_of_pod(const json_t *step, const char *pod, const json_t **ret_gpus)
{
    const json_t *nodes = json_at(step, "spec", "nodes", NULL);
    const json_t *given = json_at(step, "status", "nodes", NULL); /* in the same order */

    for (size_t i = 0; i < json_array_size(nodes); i++) {
        if (!text_equal(json_text(json_array_get(nodes, i), "pod"), pod))
            continue;
        *ret_gpus = json_object_get(json_array_get(given, i), "gpus");
        return json_array_get(nodes, i);
    }
    return NULL;
}

/* Does the step still hold what it was given? */
static bool step_holds(const struct change *c, const json_t *step)
{
    const char *text = json_text_at(step, "spec", "renewTime", NULL);
    int64_t begun_ns = stamp_or(json_text_at(step, "status", "startTime", NULL), 0);
    int64_t renewed_ns = stamp_or(text, begun_ns);

    return !json_at(step, "spec", "end", NULL) && !json_bool_at(step, "spec", "overlap", NULL) &&
           c->who.now_ns - renewed_ns < SLURM_STEP_SILENT_S * NS_PER_SEC;
}

static void step_add_held(struct step_node *n, const json_t *step)
{
    const json_t *gpus = NULL;
    const json_t *other = node_of_pod(step, json_text(n->asked, "pod"), &gpus);
    int64_t cpus = json_int(other, "cpus", 0);

    if (!other)
        return;
    n->held_cpus += cpus > 0 ? cpus : n->cpus;
    for (size_t i = 0; i < json_array_size(gpus); i++) {
        int64_t place = json_integer_value(json_array_get(gpus, i));

        if (place >= 0 && place < GPUS_MAX)
            n->held[place / 64] |= UINT64_C(1) << (place % 64);
    }
}

static struct err *step_busy(void)
{
    return err_new(ERR_CONFLICT, SLURM_STEP_BUSY);
}

/* Gives the first gpus that are free; an overlapping step shares them. */
static struct err *step_give(const struct step_node *n, bool is_overlapping, json_t *given)
{
    int64_t asked = json_int(n->asked, "gpus", 0);
    int64_t cpus = json_int(n->asked, "cpus", 0);
    json_t *gpus = json_array_at(given, "gpus");

    if (asked > n->gpus || cpus > n->cpus)
        return err_new(ERR_INVALID, "Requested node configuration is not available");
    json_put_text(given, "node", json_text(n->asked, "node"));
    if (!is_overlapping && n->held_cpus + (cpus > 0 ? cpus : n->cpus) > n->cpus)
        return step_busy();
    for (int64_t i = 0; i < n->gpus && (int64_t)json_array_size(gpus) < asked; i++)
        if (is_overlapping || !is_gpu_held(n, i))
            (void)json_array_append_new(gpus, json_integer(i)); /* fresh: cannot fail */
    return (int64_t)json_array_size(gpus) < asked ? step_busy() : NULL;
}

/* ---- the job and its other steps ---- */

/* The text before the number of the names of the job's steps. */
static char *step_prefix(const json_t *spec)
{
    const char *job = json_text(spec, "job");

    if (json_object_get(spec, "index"))
        return mem_format("%s-%" PRId64 ".", job, json_int(spec, "index", 0));
    return mem_format("%s.", job);
}

/* Calls for each step of the job; counts them, and finds the next number. */
static struct err *step_look(const struct change *c, const char *prefix, struct step_node *nodes,
                             size_t n, int64_t *ret_next)
{
    const struct store_range range = {
        .group = "mete.dev", .resource = "slurmsteps", .ns = c->request->ns};
    const struct store_key first = objects_key(c->kind, c->request->ns, prefix);
    const struct store_object *o = store_next_applied(c->objects->store, &range, &first);
    int64_t count = 0;

    *ret_next = 0;
    for (; o && text_starts_with(o->key.name, prefix);
         o = store_next_applied(c->objects->store, &range, &o->key)) {
        AUTO(json_freep) json_t *step = NULL;
        int64_t number;

        TRY(tree_cache_get(c->objects->trees, o, &step));
        number = json_int_at(step, "status", "step", NULL);
        *ret_next = number >= *ret_next ? number + 1 : *ret_next;
        for (size_t i = 0; i < n && step_holds(c, step); i++)
            step_add_held(&nodes[i], step);
        if (++count >= SLURM_STEPS_MAX)
            return err_new(ERR_OVER_QUOTA, "Step limit reached for this job");
    }
    return NULL;
}

static size_t component_of(const json_t *pod, const struct slurm_het *het)
{
    const char *label = json_text_at(pod, "metadata", "labels", SLURM_HET_LABEL, NULL);
    int64_t i = 0;

    if (label)
        err_free(num_parse_int64(str_of(label), 0, (int64_t)het->n - 1, &i)); /* our own number */
    return (size_t)i;
}

/* What the job has in the pod of one node of the step. */
static struct err *step_read_node(const struct change *c, const json_t *job,
                                  const struct slurm_het *het, struct step_node *n)
{
    AUTO(json_freep) json_t *pod = NULL;
    const struct slurm_ask *ask;
    const char *of;

    TRY(step_load(c, kind_find("", "pods"), text_or_empty(json_text(n->asked, "pod")), &pod));
    of = json_text_at(pod, "metadata", "labels", SLURM_JOB_LABEL, NULL);
    if (!pod || !text_equal(of, json_text_at(job, "metadata", "name", NULL)) ||
        pod_is_terminal(pod) || pod_is_deleting(pod) ||
        !text_equal(pod_node(pod), json_text(n->asked, "node")))
        return err_new(ERR_INVALID, "Job/step already completing or completed");
    ask = &het->asks[component_of(pod, het)];
    n->cpus =
        pod_asks(pod).cpu_milli / 1000; /* a job that is alone on its nodes has all of theirs */
    if (n->cpus < ask->cpus)
        n->cpus = ask->cpus;
    n->gpus = ask->gpus.count < GPUS_MAX ? ask->gpus.count : GPUS_MAX;
    return NULL;
}

static struct err *step_place(struct change *c, const json_t *job, const char *prefix)
{
    json_t *spec = json_object_get(c->after, "spec");
    const json_t *asked = json_object_get(spec, "nodes");
    size_t n = json_array_size(asked);
    AUTO_FREE struct step_node *nodes = mem_alloc((n + 1) * sizeof(*nodes));
    json_t *status = json_object_at(c->after, "status");
    AUTO(slurm_het_done) struct slurm_het het = {0};
    int64_t next = 0;

    TRY(slurm_het_read(json_object_get(job, "spec"), &het));
    for (size_t i = 0; i < n; i++) {
        nodes[i] = (struct step_node){.asked = json_array_get(asked, i)};
        TRY(step_read_node(c, job, &het, &nodes[i]));
    }
    TRY(step_look(c, prefix, nodes, n, &next));
    for (size_t i = 0; i < n; i++) {
        json_t *given = json_object();

        (void)json_array_append_new(json_array_at(status, "nodes"), given); /* cannot fail */
        TRY(step_give(&nodes[i], json_bool(spec, "overlap", false), given));
    }
    json_put_int(status, "step", next);
    return NULL;
}

static int64_t step_job_id(const json_t *job, const json_t *pod)
{
    const char *label = json_text_at(pod, "metadata", "labels", POD_JOB_ID, NULL);
    int64_t id = json_int_at(job, "status", "jobId", NULL);

    if (label)
        err_free(num_parse_int64(str_of(label), 0, INT64_MAX, &id)); /* our own number */
    return id;
}

static void step_put_status(struct change *c, const json_t *job, const json_t *pod)
{
    json_t *status = json_object_at(c->after, "status");
    char now[STAMP_TEXT_SIZE];

    stamp_format_micro(c->who.now_ns, now);
    json_put_int(status, "jobId", step_job_id(job, pod));
    json_put_text(status, "user", json_text_at(job, "spec", "user", "name", NULL));
    json_put_text(status, "state", "RUNNING");
    json_put_text(status, "startTime", now);
}

static void step_put_owner(struct change *c, const json_t *job)
{
    json_t *metadata = json_object_at(c->after, "metadata");

    json_put(metadata, "ownerReferences", json_array());
    (void)json_array_append_new(
        json_array_at(metadata, "ownerReferences"),
        json_pack("{s:s,s:s,s:s,s:s,s:b}", "apiVersion", "mete.dev/v1", "kind", "SlurmJob", "name",
                  text_or_empty(json_text_at(job, "metadata", "name", NULL)), "uid",
                  text_or_empty(json_text_at(job, "metadata", "uid", NULL)), "controller", 1));
}

struct err *slurm_step_create_rules(struct change *c)
{
    json_t *spec = json_object_get(c->after, "spec");
    const char *first = json_text(json_array_get(json_object_get(spec, "nodes"), 0), "pod");
    AUTO(json_freep) json_t *job = NULL;
    AUTO(json_freep) json_t *pod = NULL;
    AUTO_FREE char *prefix = NULL;
    AUTO_FREE char *name = NULL;

    if (!is_slurm_step(c->kind))
        return NULL;
    if (!json_text_filled(spec, "job") || !first)
        return err_new(ERR_INVALID, "Invalid job id specified");
    TRY(step_load(c, kind_find("mete.dev", "slurmjobs"), json_text(spec, "job"), &job));
    if (!job)
        return err_new(ERR_INVALID, "Invalid job id specified");
    if (!is_user_of(c, job))
        return step_denied();
    prefix = step_prefix(spec);
    TRY(step_place(c, job, prefix));
    TRY(step_load(c, kind_find("", "pods"), first, &pod));
    step_put_status(c, job, pod);
    step_put_owner(c, job);
    name = mem_format("%s%" PRId64, prefix, json_int_at(c->after, "status", "step", NULL));
    json_put_text(json_object_at(c->after, "metadata"), "name", name);
    return NULL;
}

/* ---- changes ---- */

static bool step_may_change(const char *key)
{
    return text_equal(key, "renewTime") || text_equal(key, "usage") || text_equal(key, "end");
}

/* Adds a cause for each member of `one` that `other` lacks, or has otherwise where `is_whole`. */
static void step_check_members(json_t *one, const json_t *other, bool is_whole,
                               struct causes *causes)
{
    const char *key;
    json_t *value;

    json_object_foreach (one, key, value) {
        const json_t *same = json_object_get(other, key);

        if (!step_may_change(key) && (!same || (is_whole && !json_equal(value, same))))
            cause_forbidden(causes, PATH(PATH(NULL, "spec"), key),
                            "does not change after the start");
    }
}

/* Adds the row of a step that ends, which accounting keeps. */
static void step_account(struct change *c)
{
    AUTO(json_freep) json_t *row = slurm_step_row(c->after);
    char key[SLURM_STEP_KEY_SIZE];

    slurm_step_key(json_int(row, "jobId", 0), json_int(row, "step", 0), key);
    txn_put_text(
        &c->txn,
        (struct store_key){.group = "mete.dev", .resource = SLURM_STEP_ENDS, .ns = "", .name = key},
        json_format(row), STORE_ANY);
}

struct err *slurm_step_update_rules(struct change *c)
{
    json_t *was = json_object_get(c->before, "spec");
    json_t *is = json_object_get(c->after, "spec");
    AUTO(json_freep) json_t *job = NULL;
    AUTO(causes_done) struct causes causes = {0};
    char now[STAMP_TEXT_SIZE];

    if (!is_slurm_step(c->kind))
        return NULL;
    TRY(step_load(c, kind_find("mete.dev", "slurmjobs"), text_or_empty(json_text(was, "job")),
                  &job));
    if (!c->who.is_admin && !c->who.is_system && (!job || !is_user_of(c, job)))
        return step_denied();
    step_check_members(is, was, true, &causes);
    step_check_members(was, is, false, &causes);
    TRY(causes_err_of(&causes, c->kind,
                      text_or_empty(json_text_at(c->after, "metadata", "name", NULL))));
    stamp_format_micro(c->who.now_ns, now);
    if (!text_equal(json_text(was, "renewTime"), json_text(is, "renewTime")))
        json_put_text(is, "renewTime", now); /* the clock of the client may differ */
    if (json_object_get(was, "end") || !json_object_get(is, "end"))
        return NULL;
    json_put_text(json_object_at(c->after, "status"), "state",
                  json_text_at(is, "end", "state", NULL));
    json_put_text(json_object_at(c->after, "status"), "endTime", now);
    step_account(c);
    return NULL;
}

struct err *slurm_step_delete_rules(const struct change *c)
{
    AUTO(json_freep) json_t *job = NULL;

    if (!is_slurm_step(c->kind))
        return NULL;
    TRY(step_load(c, kind_find("mete.dev", "slurmjobs"),
                  text_or_empty(json_text_at(c->before, "spec", "job", NULL)), &job));
    return c->who.is_admin || c->who.is_system || (job && is_user_of(c, job)) ? NULL
                                                                              : step_denied();
}
