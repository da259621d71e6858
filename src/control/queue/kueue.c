/* kueue.c - Queues for Kueue's ClusterQueues and Cohorts */

#include "control/queue/kueue.h"

#include "base/mem.h"
#include "control/queue/foreign_queue.h"
#include "control/queue/kueue_private.h"
#include "kinds/queue.h"

enum {
    COHORTS_MAX = 64 /* cohorts above a ClusterQueue */
};
#define TOTAL_MAX (INT64_C(1) << 60)

/* The Queues that the objects become. */
struct kueue_plan {
    const struct kueue *k;
    json_t *queues; /* by name */
    /* Of each cohort with the cohorts below it: {cohort: {resource: {nominal, flavor, other}}}. */
    json_t *totals;
};

static void move_member(json_t *object, const char *from, const char *to)
{
    json_t *value = json_object_get(object, from);

    if (value && !json_object_get(object, to))
        json_put(object, to, json_incref(value));
    (void)json_object_del(object, from);
}

void kueue_from_v1beta1(json_t *object)
{
    json_t *spec = json_object_get(object, "spec");
    const json_t *checks = json_object_get(spec, "admissionChecks");
    json_t *list;

    json_put_text(object, "apiVersion", KUEUE_GROUP "/v1beta2");
    if (text_equal(json_text(object, "kind"), "ClusterQueue"))
        move_member(spec, "cohort", "cohortName");
    for (size_t i = 0; i < json_array_size(checks); i++) {
        list = json_array_at(json_object_at(spec, "admissionChecksStrategy"), "admissionChecks");
        (void)json_array_append_new(
            list, json_pack("{s: O}", "name", json_array_get(checks, i))); /* an object */
    }
    (void)json_object_del(spec, "admissionChecks");
}

char *kueue_queue_name(const char *cluster_queue)
{
    bool is_taken =
        text_equal(cluster_queue, QUEUE_DEFAULT) || text_equal(cluster_queue, QUEUE_ROOT);

    return mem_format("%s%s", is_taken ? "clusterqueue:" : "", cluster_queue);
}

static char *cohort_queue_name(const char *cohort)
{
    return mem_format("cohort:%s", cohort);
}

/* ---- quotas ---- */

/* The flavor of a resource group. NULL: the queue is refused. */
static const json_t *group_flavor(const struct kueue *k, json_t *queue, const json_t *group)
{
    const json_t *flavors = json_object_get(group, "flavors");
    const json_t *first = json_array_get(flavors, 0);
    const char *name = json_text(first, "name");

    if (json_array_size(flavors) > 1) {
        foreign_queue_refuse(queue,
                             "a resource group has the flavors %s and %s: Mete keeps quotas of one "
                             "flavor a group",
                             text_or_empty(name),
                             text_or_empty(json_text(json_array_get(flavors, 1), "name")));
        return NULL;
    }
    if (!name || !json_object_get(k->flavors, name)) {
        foreign_queue_refuse(queue, "there is no ResourceFlavor %s", text_or_empty(name));
        return NULL;
    }
    if (json_text_at(json_object_get(k->flavors, name), "spec", "topologyName", NULL))
        foreign_queue_note(queue, "the topologyName of ResourceFlavor %s is not read", name);
    return first;
}

/* Reads one resource of a flavor. */
static struct err *quota_read(const json_t *resource, struct mete_quota *ret)
{
    const char *name = json_text(resource, "name");
    const json_t *borrow = json_object_get(resource, "borrowingLimit");
    const json_t *lend = json_object_get(resource, "lendingLimit");

    *ret = (struct mete_quota){.borrow_limit = METE_UNLIMITED, .lend_limit = METE_UNLIMITED};
    TRY(foreign_resource(text_or_empty(name), &ret->resource));
    TRY(foreign_amount(ret->resource, json_object_get(resource, "nominalQuota"), &ret->nominal));
    if (borrow && !json_is_null(borrow))
        TRY(foreign_amount(ret->resource, borrow, &ret->borrow_limit));
    if (lend && !json_is_null(lend))
        TRY(foreign_amount(ret->resource, lend, &ret->lend_limit));
    return NULL;
}

/* Adds the quotas of spec.resourceGroups. */
static void quotas_read(const struct kueue *k, json_t *queue, const json_t *spec, bool may_borrow)
{
    json_t *group;
    json_t *resource;
    size_t i;
    size_t n;

    json_array_foreach (json_object_get(spec, "resourceGroups"), i, group) {
        const json_t *flavor = group_flavor(k, queue, group);

        json_array_foreach (json_object_get(flavor, "resources"), n, resource) {
            struct mete_quota quota;
            AUTO(err_freep) struct err *e = quota_read(resource, &quota);

            if (e) {
                foreign_queue_refuse(queue, "%s", err_message(e));
                return;
            }
            if (!may_borrow)
                quota.borrow_limit = 0;
            foreign_queue_quota(queue, &quota);
        }
    }
}

/* ---- cohorts ---- */

static const char *cohort_parent(const struct kueue *k, const char *cohort)
{
    const json_t *object = json_object_get(k->cohorts, cohort);

    return json_text_filled(json_object_get(object, "spec"), "parentName");
}

static void total_add(json_t *cohort, const char *resource, const char *flavor, int64_t nominal)
{
    json_t *total = json_object_at(cohort, resource);
    int64_t before = json_int(total, "nominal", 0);

    json_put_int(total, "nominal", nominal > TOTAL_MAX - before ? TOTAL_MAX : before + nominal);
    if (!json_text(total, "flavor"))
        json_put_text(total, "flavor", flavor);
    else if (!text_equal(json_text(total, "flavor"), flavor))
        json_put_text(total, "other", flavor);
}

/* Adds the quotas of a ClusterQueue or Cohort to the cohort and to the cohorts above it. */
static void totals_add(struct kueue_plan *p, const json_t *spec, const char *cohort)
{
    json_t *group;
    json_t *resource;
    size_t i;
    size_t n;

    for (unsigned depth = 0; cohort && depth < COHORTS_MAX; depth++) {
        json_t *total = json_object_at(p->totals, cohort);

        json_array_foreach (json_object_get(spec, "resourceGroups"), i, group) {
            const json_t *flavor = json_array_get(json_object_get(group, "flavors"), 0);

            json_array_foreach (json_object_get(flavor, "resources"), n, resource) {
                struct mete_quota quota;
                AUTO(err_freep) struct err *e = quota_read(resource, &quota);

                if (!e)
                    total_add(total, quota.resource, json_text(flavor, "name"), quota.nominal);
            }
        }
        cohort = cohort_parent(p->k, cohort);
    }
}

/* The Cohort's own quota of a resource of Queues: its limits for all below. */
static struct mete_quota cohort_limits(const json_t *spec, const char *wanted)
{
    struct mete_quota none = {.borrow_limit = METE_UNLIMITED, .lend_limit = METE_UNLIMITED};
    json_t *group;
    json_t *resource;
    size_t i;
    size_t n;

    json_array_foreach (json_object_get(spec, "resourceGroups"), i, group) {
        const json_t *flavor = json_array_get(json_object_get(group, "flavors"), 0);

        json_array_foreach (json_object_get(flavor, "resources"), n, resource) {
            struct mete_quota quota;
            AUTO(err_freep) struct err *e = quota_read(resource, &quota);

            if (!e && text_equal(quota.resource, wanted))
                return quota;
        }
    }
    return none;
}

static void cohort_put_quotas(json_t *queue, const json_t *spec, json_t *total, bool is_root)
{
    const char *resource;
    json_t *sum;

    json_object_foreach (total, resource, sum) {
        struct mete_quota quota = cohort_limits(spec, resource);
        const char *other = json_text(sum, "other");

        quota.resource = resource;
        quota.nominal = json_int(sum, "nominal", 0);
        if (is_root)
            quota.borrow_limit = 0;
        foreign_queue_quota(queue, &quota);
        if (other)
            foreign_queue_refuse(queue,
                                 "it has %s of the flavors %s and %s: Mete lends one flavor of a "
                                 "resource in a cohort",
                                 resource, json_text(sum, "flavor"), other);
    }
}

static void put_parent(json_t *queue, const char *cohort)
{
    AUTO_FREE char *parent = cohort ? cohort_queue_name(cohort) : NULL;

    json_put_text(json_object_at(queue, "spec"), "parent", parent);
}

/* A cohort that ClusterQueues name exists without an object, too. */
static void cohort_make(struct kueue_plan *p, const char *name)
{
    const json_t *object = json_object_get(p->k->cohorts, name);
    const json_t *spec = json_object_get(object, "spec");
    const char *parent = cohort_parent(p->k, name);
    AUTO_FREE char *queue_name = cohort_queue_name(name);
    AUTO_FREE char *source = mem_format("Cohort." KUEUE_GROUP " %s", name);
    json_t *queue = foreign_queue_new(queue_name, source);
    AUTO(json_freep) json_t *own = json_deep_copy(queue);

    quotas_read(p->k, own, spec, true); /* refuses what cannot be read */
    if (foreign_queue_is_refused(own))
        foreign_queue_refuse(queue, "%s",
                             json_text_at(own, "metadata", "annotations", QUEUE_REFUSED, NULL));
    put_parent(queue, parent);
    foreign_queue_weight(queue, "fairSharing.weight", json_at(spec, "fairSharing", "weight", NULL));
    cohort_put_quotas(queue, spec, json_object_get(p->totals, name), !parent);
    json_put(p->queues, queue_name, queue);
}

static void cohorts_make(struct kueue_plan *p)
{
    const char *name;
    json_t *object;

    json_object_foreach (p->k->cohorts, name, object)
        totals_add(p, json_object_get(object, "spec"), name);
    json_object_foreach (p->totals, name, object)
        cohort_make(p, name);
}

/* ---- ClusterQueues ---- */

static const char *cohort_of(const json_t *cluster_queue)
{
    return json_text_filled(json_object_get(cluster_queue, "spec"), "cohortName");
}

static void preemption_read(json_t *queue, const json_t *spec)
{
    const json_t *said = json_object_get(spec, "preemption");
    const char *within = json_text(said, "withinClusterQueue");
    const char *reclaim = json_text(said, "reclaimWithinCohort");
    const char *borrow = json_text_at(said, "borrowWithinCohort", "policy", NULL);
    json_t *ours = json_object_at(json_object_at(queue, "spec"), "preemption");

    json_put_text(ours, "reclaim", reclaim ? reclaim : "Never");
    json_put_text(ours, "within",
                  text_equal(within, "LowerOrNewerEqualPriority") ? "Later"
                  : within                                        ? within
                                                                  : "Never");
    if (borrow && !text_equal(borrow, "Never"))
        foreign_queue_note(queue,
                           "preemption.borrowWithinCohort is not done: workloads that borrow "
                           "evict none of other queues");
}

/* A selector that is missing admits no namespace. */
static void namespaces_read(json_t *queue, const json_t *spec)
{
    const json_t *selector = json_object_get(spec, "namespaceSelector");
    json_t *ours = json_object_at(queue, "spec");

    if (selector && !json_is_null(selector))
        json_put(ours, "namespaceSelector", json_deep_copy(selector));
    else
        json_put(ours, "namespaceSelector",
                 json_pack("{s: [{s: s, s: s}, {s: s, s: s}]}", "matchExpressions", "key",
                           KUEUE_GROUP "/none", "operator", "Exists", "key", KUEUE_GROUP "/none",
                           "operator", "DoesNotExist"));
}

static void policies_read(json_t *queue, const json_t *spec)
{
    const json_t *checks = json_at(spec, "admissionChecksStrategy", "admissionChecks", NULL);
    const char *stop = json_text(spec, "stopPolicy");

    if (json_array_size(checks) > 0)
        foreign_queue_refuse(queue, "the AdmissionCheck %s needs Kueue's controller",
                             text_or_empty(json_text(json_array_get(checks, 0), "name")));
    if (stop && !text_equal(stop, "None"))
        json_put_bool(json_object_at(queue, "spec"), "stopped", true);
    if (text_equal(stop, "HoldAndDrain"))
        foreign_queue_note(queue, "stopPolicy HoldAndDrain ends no running pod");
    if (text_equal(json_text(spec, "queueingStrategy"), "StrictFIFO"))
        foreign_queue_note(queue, "queueingStrategy StrictFIFO: smaller workloads still start "
                                  "around a waiting one");
    if (json_object_get(spec, "admissionScope"))
        foreign_queue_note(queue, "admissionScope is not read");
}

static void cluster_queue_make(struct kueue_plan *p, const char *name, const json_t *object)
{
    const json_t *spec = json_object_get(object, "spec");
    const char *cohort = cohort_of(object);
    AUTO_FREE char *queue_name = kueue_queue_name(name);
    AUTO_FREE char *source = mem_format("ClusterQueue." KUEUE_GROUP " %s", name);
    json_t *queue = foreign_queue_new(queue_name, source);

    put_parent(queue, cohort);
    foreign_queue_weight(queue, "fairSharing.weight", json_at(spec, "fairSharing", "weight", NULL));
    namespaces_read(queue, spec);
    preemption_read(queue, spec);
    policies_read(queue, spec);
    quotas_read(p->k, queue, spec, cohort != NULL);
    if (cohort)
        (void)json_object_at(p->totals, cohort);
    if (cohort && !foreign_queue_is_refused(queue))
        totals_add(p, spec, cohort);
    json_put(p->queues, queue_name, queue);
}

static void deny(json_t *queue, const char *resource)
{
    const struct mete_quota none = {.resource = resource, .lend_limit = METE_UNLIMITED};
    const json_t *quotas = json_at(queue, "spec", "quotas", NULL);

    for (size_t i = 0; i < json_array_size(quotas); i++)
        if (text_equal(json_text(json_array_get(quotas, i), "resource"), resource))
            return;
    foreign_queue_quota(queue, &none);
}

/* A ClusterQueue without quota of GPUs, or of what its cohort shares, admits no workload with it.
 */
static void cluster_queue_deny(struct kueue_plan *p, const char *name, const json_t *object)
{
    AUTO_FREE char *queue_name = kueue_queue_name(name);
    json_t *queue = json_object_get(p->queues, queue_name);
    const char *cohort = cohort_of(object);
    json_t *totals = cohort ? json_object_get(p->totals, cohort) : NULL;
    const char *resource;
    json_t *total;

    deny(queue, "gpu");
    json_object_foreach (totals, resource, total)
        deny(queue, resource);
}

json_t *kueue_queues(const struct kueue *k, const json_t *native)
{
    struct kueue_plan p = {.k = k, .queues = json_object(), .totals = json_object()};
    const char *name;
    json_t *object;

    json_object_foreach (k->cluster_queues, name, object)
        if (!json_object_get(native, name))
            cluster_queue_make(&p, name, object);
    cohorts_make(&p);
    json_object_foreach (k->cluster_queues, name, object)
        if (!json_object_get(native, name))
            cluster_queue_deny(&p, name, object);
    json_decref(p.totals);
    return p.queues;
}
