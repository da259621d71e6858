/*
 * objects_pod.c - rules of pods: job numbers, user, the image `host`, the end
 *
 * Job numbers come in blocks: a mark in the store says up to which number numbers may be used, and
 * moves in the transaction that creates the first pod past it. A restart skips the rest of a block.
 */

#include <inttypes.h>

#include "base/mem.h"
#include "kinds/admission/admission_context.h"
#include "kinds/kind/value.h"
#include "kinds/object/objects_private.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_claims.h"
#include "kinds/pod/pod_rules.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "kinds/slurm/slurm_job.h"

enum {
    JOB_ID_BLOCK = 32
};

bool pod_is_over(const json_t *pod)
{
    return !*pod_node(pod) || pod_is_terminal(pod);
}

static struct err *take_job_id(struct change *c)
{
    struct store_key key = {
        .group = "mete.dev", .resource = "counters", .ns = "", .name = "job-id"};
    const struct store_object *o = store_get_applied(c->objects->store, key);
    AUTO(json_freep) json_t *mark = NULL;
    int64_t through = 0;
    int64_t last;

    if (o) {
        TRY(json_parse(o->bytes, &mark));
        through = json_int(mark, "through", 0);
    }
    c->job_id = c->objects->job_next > 0 ? c->objects->job_next : through + 1;
    if (c->request->admission)
        c->job_id = admission_context_pin(c->request->admission, c->job_id);
    if (c->request->admission)
        change_use_jobs(c);
    last = c->job_id + (c->job_ids > 1 ? c->job_ids - 1 : 0);
    if (last <= through)
        return NULL;
    if (!mark)
        mark = json_object();
    json_put_int(mark, "through", last + JOB_ID_BLOCK - 1);
    txn_put(&c->txn, key, mark, o ? o->version : STORE_ABSENT);
    return NULL;
}

struct err *put_job_id(struct change *c)
{
    json_t *labels = json_object_at(json_object_at(c->after, "metadata"), "labels");
    AUTO_FREE char *text = NULL;

    if (json_text(labels, POD_JOB_ID))
        return NULL; /* set by a controller, for a job of several pods */
    TRY(take_job_id(c));
    text = mem_format("%" PRId64, c->job_id);
    json_put_text(labels, POD_JOB_ID, text);
    return NULL;
}

void put_user(struct change *c)
{
    json_t *annotations = json_object_at(json_object_at(c->after, "metadata"), "annotations");

    if (!json_text(annotations, POD_USER))
        json_put_text(annotations, POD_USER, c->who.user ? c->who.user : "");
}

static bool is_trusted(const struct change *c)
{
    return c->who.is_admin || c->who.is_system;
}

static bool is_host(const json_t *container)
{
    return text_equal(json_text(container, "image"), "host");
}

static bool is_same_uid(const json_t *value, int64_t uid)
{
    return json_is_integer(value) && json_integer_value(value) == uid;
}

int64_t change_host_uid(const struct change *c)
{
    if (c->who.host_uid == 0 && !c->who.is_admin)
        return -1;
    return c->who.host_uid;
}

/* Groups give access to files as uids do: only administrators may choose them. */
static struct err *check_groups(const struct change *c, const json_t *container)
{
    static const char *const fields[] = {"runAsGroup", "supplementalGroups", "fsGroup"};
    const json_t *of_pod = json_at(c->after, "spec", "securityContext", NULL);
    const json_t *of_container = json_object_get(container, "securityContext");

    for (size_t i = 0; i < 3; i++) {
        if (json_object_get(of_pod, fields[i]) || json_object_get(of_container, fields[i]))
            return forbidden(
                c, "container %s: image `host` with securityContext.%s is for administrators",
                json_text(container, "name"), fields[i]);
    }
    if (json_bool(of_container, "privileged", false) ||
        json_array_size(json_at(of_container, "capabilities", "add", NULL)) > 0)
        return forbidden(c, "container %s: image `host` with more privileges is for administrators",
                         json_text(container, "name"));
    return NULL;
}

/* Containers of the image `host` run on the machine itself, as the calling user only. `asked`:
 * runAsUser; NULL: none. */
static struct err *check_host_user(const struct change *c, const json_t *container,
                                   const json_t *asked)
{
    int64_t uid = change_host_uid(c);

    if (!asked && uid < 0)
        return forbidden(c,
                         "image `host` runs as the calling user, and %s has no uid on "
                         "this system; an administrator adds one to users.yaml",
                         c->who.user ? c->who.user : "this user");
    if (!is_trusted(c)) {
        if (asked && (uid < 0 || !is_same_uid(asked, uid)))
            return forbidden(c,
                             "container %s: image `host` with securityContext.runAsUser %lld: %s "
                             "may run as %lld only",
                             json_text(container, "name"), (long long)json_integer_value(asked),
                             c->who.user ? c->who.user : "this user", (long long)uid);
        TRY(check_groups(c, container));
    }
    return NULL;
}

static struct err *check_host_container(struct change *c, const json_t *container)
{
    const json_t *of_pod = json_at(c->after, "spec", "securityContext", "runAsUser", NULL);
    const json_t *own = json_at(container, "securityContext", "runAsUser", NULL);
    const json_t *asked = own ? own : of_pod;

    TRY(check_host_user(c, container, asked));
    if (!asked)
        json_put_int(json_object_at(json_object_at(c->after, "spec"), "securityContext"),
                     "runAsUser", change_host_uid(c));
    return NULL;
}

static const char *const container_lists[] = {"initContainers", "containers"};

static struct err *check_host(struct change *c)
{
    for (size_t l = 0; l < 2; l++) {
        json_t *list = json_at(c->after, "spec", container_lists[l], NULL);

        for (size_t i = 0; i < json_array_size(list); i++) {
            if (is_host(json_array_get(list, i)))
                TRY(check_host_container(c, json_array_get(list, i)));
        }
    }
    return NULL;
}

/*
 * A pod may be created on a node, past the scheduler, but without gpus: only the ledger gives them.
 */
static struct err *check_node_name(struct change *c)
{
    const char *node = pod_node(c->after);
    const struct kind *nodes = kind_find("", "nodes");

    if (!*node)
        return NULL;
    if (!is_trusted(c))
        return forbidden(c, "spec.nodeName is for administrators; leave it out, and the scheduler "
                            "chooses the node");
    if (pod_gpu_asks(c->after).n > 0)
        return field_forbidden(c, "spec.nodeName",
                               "a pod that asks for gpus gets its node from the scheduler or by a "
                               "Binding; leave it out");
    if (!store_get_applied(c->objects->store, objects_key(nodes, "", node)))
        return objects_not_found(nodes, node);
    txn_check(&c->txn, objects_key(nodes, "", node), STORE_EXISTS);
    (void)object_set_condition(c->after, "PodScheduled", "True", NULL, NULL, c->who.now_ns);
    return NULL;
}

/* The classes system-* are for the machine's own pods and for administrators. */
static struct err *check_class(const struct change *c)
{
    const char *name = json_text_at(c->after, "spec", "priorityClassName", NULL);

    if (is_trusted(c) || !name || !text_starts_with(name, "system-"))
        return NULL;
    return forbidden(c,
                     "the priority class %.253s is for administrators; `kubectl get "
                     "priorityclasses` lists the others",
                     name);
}

/* Rules for pods and for templates of pods: may the caller ask for what the spec says? */
static struct err *spec_rules(struct change *c)
{
    TRY(check_class(c));
    TRY(check_host(c));
    return pod_check_security(c, json_object_get(c->after, "spec"));
}

struct err *pod_template_rules(struct change *c, json_t *template)
{
    json_t *spec = json_object_at(template, "spec");
    const char *name = json_text_at(c->after, "metadata", "name", NULL);
    struct change as_pod = *c;
    struct err *e;

    if (*pod_node(template) && !is_trusted(c))
        return forbidden(c, "spec.nodeName of a template is for administrators; leave it out, and "
                            "the scheduler chooses the node");
    as_pod.after = json_pack("{s:{s:s},s:O}", "metadata", "name", name ? name : "", "spec", spec);
    e = spec_rules(&as_pod);
    json_decref(as_pod.after);
    return e ? e : pod_check_host_paths(c, spec, json_object_at(template, "metadata"));
}

/* Annotations that only the ledger writes. */
static const char *const ledger_keys[] = {POD_DEVICES, POD_PLACEMENT};

struct err *pod_create_rules(struct change *c)
{
    const json_t *annotations = json_at(c->after, "metadata", "annotations", NULL);

    for (size_t i = 0; i < 2; i++) {
        if (json_object_get(annotations, ledger_keys[i]))
            return field_forbidden(c, "metadata.annotations", "devices are given by the ledger");
    }
    if (json_array_size(json_at(c->after, "spec", "ephemeralContainers", NULL)) > 0)
        return field_forbidden(c, "spec.ephemeralContainers", "cannot be set on create");
    if (pod_has_claims(c->after) && *pod_node(c->after))
        return field_forbidden(c, "spec.nodeName",
                               "the scheduler chooses the node of a pod with resourceClaims: not "
                               "implemented yet");
    TRY(spec_rules(c));
    TRY(pod_check_host_paths(c, json_object_get(c->after, "spec"),
                             json_object_at(c->after, "metadata")));
    TRY(pod_account_rules(c));
    TRY(check_node_name(c));
    put_user(c);
    return put_job_id(c);
}

/* No update sets or removes the image `host`: only a creation checks its user. */
static struct err *check_images(const struct change *c)
{
    for (size_t l = 0; l < 2; l++) {
        const json_t *was = json_at(c->before, "spec", container_lists[l], NULL);
        const json_t *is = json_at(c->after, "spec", container_lists[l], NULL);

        for (size_t i = 0; i < json_array_size(is); i++) {
            if (is_host(json_array_get(is, i)) != is_host(json_array_get(was, i)))
                return forbidden(c, "the image `host` is chosen when the pod is created");
        }
    }
    return NULL;
}

static bool is_same_member(const json_t *a, const json_t *b, const char *key)
{
    const json_t *one = json_object_get(a, key);
    const json_t *other = json_object_get(b, key);

    return one == other || (one && other && json_equal(one, other));
}

/* Applies to Mete's own processes too: a compromised node must not change the devices and user of a
 * pod. */
static struct err *check_fixed(const struct change *c)
{
    const json_t *was = json_object_get(c->before, "metadata");
    const json_t *is = json_object_get(c->after, "metadata");
    const json_t *had = json_object_get(was, "annotations");
    const json_t *has = json_object_get(is, "annotations");

    for (size_t i = 0; i < 2; i++) {
        if (!is_same_member(had, has, ledger_keys[i]))
            return field_forbidden(c, "metadata.annotations", "devices are given by the ledger");
    }
    for (size_t i = 0; pod_gpu_annotations[i]; i++) {
        if (!is_same_member(had, has, pod_gpu_annotations[i]))
            return field_forbidden(c, "metadata.annotations",
                                   "the gpus that a pod asks for do not change");
    }
    if (!is_same_member(had, has, POD_USER) ||
        !is_same_member(json_object_get(was, "labels"), json_object_get(is, "labels"), POD_JOB_ID))
        return field_forbidden(c, "metadata", "the job id and the user of a pod do not change");
    if (!text_equal(pod_node(c->before), pod_node(c->after)))
        return field_forbidden(c, "spec.nodeName", "is set by the pod's Binding");
    return NULL;
}

static struct err *check_phase(const struct change *c)
{
    const char *was = json_text_at(c->before, "status", "phase", NULL);
    const char *is = json_text_at(c->after, "status", "phase", NULL);

    if (text_equal(was, is))
        return NULL;
    if (!c->who.is_system)
        return forbidden(c, "only the pod's node sets status.phase");
    if (pod_is_terminal(c->before))
        return conflict(c, "pod %s has ended as %s: its phase cannot change",
                        json_text_at(c->before, "metadata", "name", NULL), was);
    return NULL;
}

/*
 * A disruption stays: the patch of a node replaces all conditions, and a node that was cut off does
 * not know of its pods' evictions.
 */
static void keep_disruption(struct change *c)
{
    const json_t *was = object_condition(c->before, "DisruptionTarget");

    if (was && text_equal(json_text(was, "status"), "True") &&
        !object_condition(c->after, "DisruptionTarget"))
        (void)json_array_append_new(json_array_at(json_object_at(c->after, "status"), "conditions"),
                                    json_deep_copy(was)); /* fresh: cannot fail */
}

/* ---- ephemeral containers ---- */

bool is_of_ephemerals(const struct change *c)
{
    return is_pod(c->kind) && text_equal(c->request->subresource, "ephemeralcontainers");
}

/* A directory of the machine that the pod may only read, or that only the pod's user owns, is not
 * opened to another container. */
static struct err *check_debug_mounts(const struct change *c, const json_t *container)
{
    const json_t *mounts = json_object_get(container, "volumeMounts");
    const json_t *volumes = json_at(c->after, "spec", "volumes", NULL);

    for (size_t i = 0; i < json_array_size(mounts); i++) {
        const char *name = json_text(json_array_get(mounts, i), "name");

        if (json_object_get(value_find_named(volumes, name), "hostPath"))
            return forbidden(c, "container %s: volume %s of the machine is for administrators",
                             json_text(container, "name"), name);
    }
    return NULL;
}

/* May the caller add this container? Its user is the caller, whoever made the pod. */
static struct err *check_debug(struct change *c, json_t *container)
{
    AUTO(json_freep) json_t *spec = json_pack("{s:[O]}", "containers", container);
    const json_t *asked = json_at(container, "securityContext", "runAsUser", NULL);

    TRY(pod_check_security(c, spec));
    if (!is_trusted(c))
        TRY(check_debug_mounts(c, container));
    if (!is_host(container))
        return NULL;
    TRY(check_host_user(c, container, asked));
    if (!asked)
        json_put_int(json_object_at(container, "securityContext"), "runAsUser", change_host_uid(c));
    return NULL;
}

static struct err *ephemeral_rules(struct change *c)
{
    const json_t *annotations = json_at(c->before, "metadata", "annotations", NULL);
    const json_t *was = json_at(c->before, "spec", "ephemeralContainers", NULL);
    const json_t *is = json_at(c->after, "spec", "ephemeralContainers", NULL);

    if (!is_of_ephemerals(c))
        return NULL;
    if (json_object_get(annotations, HOST_PROCESS_ANNOTATION) ||
        json_object_get(annotations, BATCH_CONTAINER_ANNOTATION))
        return field_forbidden(c, "spec.ephemeralContainers",
                               "the pod is a job of Slurm, whose processes are the machine's: look "
                               "at it with `srun --jobid` or on its node");
    TRY(pod_validate_ephemeral_update(c->before, c->after));
    for (size_t i = 0; i < json_array_size(is); i++) {
        json_t *container = json_array_get(is, i);

        if (!value_find_named(was, json_text(container, "name")))
            TRY(check_debug(c, container));
    }
    return NULL;
}

struct err *pod_update_rules(struct change *c)
{
    TRY(check_fixed(c));
    TRY(ephemeral_rules(c));
    TRY(check_images(c));
    keep_disruption(c);
    return check_phase(c);
}
