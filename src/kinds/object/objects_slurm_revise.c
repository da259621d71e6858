/*
 * objects_slurm_revise.c - the request of a SlurmJob changes while it waits
 *
 * Pods are made of the request. The transaction that changes the request marks those that wait, and
 * a marked pod is never bound: so no element starts with the former request, and the change is
 * refused once one has started. control/slurm makes other pods.
 */

#include <inttypes.h>

#include "base/mem.h"
#include "base/num.h"
#include "kinds/object/objects_private.h"
#include "kinds/object/tree_cache.h"
#include "kinds/pod/pod_state.h"
#include "kinds/slurm/slurm_ask.h"
#include "kinds/slurm/slurm_het.h"
#include "kinds/slurm/slurm_job.h"
#include "kinds/slurm/slurm_pod.h"
#include "model/index_set.h"

/* ---- pods of an older revision ---- */

struct err *slurm_revision_check(const struct change *c)
{
    const json_t *metadata = json_object_get(c->after, "metadata");
    const char *name = json_text_at(metadata, "labels", SLURM_JOB_LABEL, NULL);
    const char *ns = json_text(metadata, "namespace");
    const char *text = json_text_at(metadata, "annotations", SLURM_REVISION_ANNOTATION, NULL);
    const struct store_object *o = NULL;
    AUTO(json_freep) json_t *job = NULL;
    int64_t revision = 0;

    if (name && ns)
        o = store_get_applied(c->objects->store,
                              objects_key(kind_find("mete.dev", "slurmjobs"), ns, name));
    /* Most jobs were never changed, as their bytes tell without a tree. */
    if (!o || (!text && !strstr(o->bytes.at, "\"revision\":")))
        return NULL;
    if (text)
        TRY(num_parse_int64(str_of(text), 0, INT64_MAX, &revision));
    TRY(objects_decode_shared(c->objects, o, &job));
    return json_int_at(job, "spec", "revision", NULL) == revision
               ? NULL
               : conflict(c, "the pod is of an older request of job %s", name);
}

/* ---- changes ---- */

static bool is_request_same(const json_t *was, const json_t *is)
{
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)is, key, value) {
        const json_t *before = json_object_get(was, key);

        if (slurm_job_is_request(key) && !(before && json_equal(before, value)))
            return false;
    }
    json_object_foreach ((json_t *)(uintptr_t)was, key, value)
        if (slurm_job_is_request(key) && !json_object_get(is, key))
            return false;
    return true;
}

static struct err *not_pending(void)
{
    return err_new(ERR_INVALID, "Job is no longer pending execution");
}

/* Marks the pod, if there is one. */
static struct err *mark_pod(struct change *c, const char *name, bool *ret_is_there)
{
    const char *ns = json_text_at(c->after, "metadata", "namespace", NULL);
    const struct store_object *o =
        store_get_applied(c->objects->store, objects_key(kind_find("", "pods"), ns, name));
    AUTO(json_freep) json_t *pod = NULL;

    *ret_is_there = o != NULL;
    if (!o)
        return NULL;
    TRY(json_parse(o->bytes, &pod));
    if (*pod_node(pod))
        return not_pending();
    json_put_text(json_object_at(json_object_at(pod, "metadata"), "annotations"),
                  SLURM_OUTDATED_ANNOTATION, "true");
    txn_put(&c->txn, o->key, pod, o->version);
    return NULL;
}

/* Marks the pods of an element: its attempt has one for each rank, from 0 on. */
static struct err *mark_element(struct change *c, int64_t index, int64_t ranks)
{
    char key[24];
    struct slurm_element e = {.job = c->before, .index = index};
    bool is_there = true;

    (void)snprintf(key, sizeof(key), "%" PRId64, index);
    e.restarts =
        json_int_at(c->before, "status", "records", "restarts", index < 0 ? "*" : key, NULL);
    for (; e.rank < ranks && is_there; e.rank++) {
        AUTO_FREE char *name = slurm_pod_name(&e);

        TRY(mark_pod(c, name, &is_there));
    }
    return NULL;
}

static struct err *mark_pods(struct change *c)
{
    const json_t *spec = json_object_get(c->before, "spec");
    const char *indexes = json_text_at(spec, "array", "indexes", NULL);
    AUTO(index_set_done) struct index_set set = {0};
    struct slurm_ask ask;

    TRY(slurm_ask_read(spec, &ask));
    if (!indexes)
        return mark_element(c, -1, ask.nodes);
    TRY(index_set_parse(str_of(indexes), SLURM_ARRAY_MAX, &set));
    for (size_t i = 0; i < set.n_words * 64; i++)
        if (index_set_has(&set, i))
            TRY(mark_element(c, (int64_t)i, ask.nodes));
    return NULL;
}

/* Has an element started, or ended? Of one that starts at this moment its pod tells. */
static bool has_begun(const json_t *status)
{
    static const char *const sets[] = {"running", "completed", "failed", "cancelled"};

    for (size_t i = 0; i < COUNT(sets); i++)
        if (json_text_filled(status, sets[i]))
            return true;
    return json_text(status, "endTime") != NULL;
}

struct err *slurm_revise(struct change *c)
{
    json_t *was = json_object_get(c->before, "spec");
    json_t *is = json_object_get(c->after, "spec");
    int64_t revision = json_int(was, "revision", 0);

    if (revision > 0)
        json_put_int(is, "revision", revision);
    else
        (void)json_object_del(is, "revision"); /* may be absent */
    if (is_request_same(was, is))
        return NULL;
    if (slurm_het_size(was) > 1)
        return err_new(ERR_INVALID, "the request of a heterogeneous job does not change");
    if (has_begun(json_object_get(c->before, "status")))
        return not_pending();
    TRY(slurm_request_check(c));
    if (!text_equal(json_text(was, "account"), json_text(is, "account")) ||
        !text_equal(json_text(was, "qos"), json_text(is, "qos")))
        TRY(slurm_submit_check(c));
    TRY(mark_pods(c));
    json_put_int(is, "revision", revision + 1);
    return NULL;
}
