/* views.c - the view of workloads */

#include "control/report/views.h"

#include "base/arena.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/stamp.h"
#include "control/scheduler/scheduler_private.h"
#include "kinds/pod/pod_state.h"

static const char *phase_of(const json_t *pod)
{
    const char *phase = pod_phase(pod);

    if (text_equal(phase, "Succeeded"))
        return "finished";
    if (text_equal(phase, "Failed"))
        return "failed";
    if (text_equal(phase, "Running"))
        return "running";
    return *pod_node(pod) ? "starting" : "waiting";
}

static json_t *requests_tree(const struct mete_pod_set *set)
{
    json_t *requests = json_object();

    for (size_t i = 0; i < set->n_requests; i++) {
        const struct mete_amount *a = &set->requests[i];
        bool is_cpu = text_equal(a->resource, "cpu");
        AUTO_FREE char *text = is_cpu
                                   ? mem_format("%" JSON_INTEGER_FORMAT "m", (json_int_t)a->amount)
                                   : mem_format("%" JSON_INTEGER_FORMAT, (json_int_t)a->amount);

        json_put_text(requests, a->resource, text);
    }
    return requests;
}

static json_t *spec_tree(const struct views *v, const json_t *pod)
{
    const char *job_id = json_text_at(pod, "metadata", "labels", POD_JOB_ID, NULL);
    json_t *selector = json_at(pod, "spec", "nodeSelector", NULL);
    struct arena *a = arena_new();
    json_t *spec = json_object();
    json_t *set = json_object();
    AUTO(err_freep) struct err *e = NULL;
    struct gpu_asks asked = pod_gpu_asks(pod);
    AUTO_FREE char *devices = gpu_asks_format(&asked);
    struct sched_ask ask;
    int64_t id = 0;

    scheduler_ask(v->scheduler, a, pod, &ask);
    if (job_id)
        e = num_parse_int64(str_of(job_id), 1, INT64_MAX, &id);
    json_put(spec, "jobId", id > 0 ? json_integer(id) : json_null());
    json_put_text(spec, "queue", ask.workload.queue);
    json_put_text(spec, "user", ask.workload.user);
    json_put_int(spec, "priority", ask.workload.priority);
    json_put_int(spec, "gpus", gpu_asks_count(&asked));
    json_put_text(spec, "devices", devices);
    json_put_text(set, "name", "main");
    json_put_int(set, "count", 1);
    json_put_int(set, "minCount", 1);
    json_put_int(set, "gpus", gpu_asks_count(&asked));
    json_put(set, "requests", requests_tree(&ask.set));
    json_put(set, "nodeSelector", selector ? json_deep_copy(selector) : json_object());
    (void)json_array_append_new(json_array_at(spec, "podSets"),
                                set); /* a fresh object: cannot fail */
    arena_free(a);
    return spec;
}

static bool placement_add_gpu(void *arg, const char *container, const struct device *d)
{
    json_t *list = arg;
    char text[DEVICE_TEXT_SIZE];

    (void)container;
    device_format(d, text);
    if (!json_has_text(list, text))
        (void)json_array_append_new(list, json_text_new(text)); /* cannot fail */
    return true;
}

static json_t *placement_tree(const json_t *pod)
{
    json_t *placement = json_object();
    json_t *entry = json_object();
    json_t *gpus = json_array();

    json_put_text(entry, "name", json_text_at(pod, "metadata", "name", NULL));
    json_put_text(entry, "uid", json_text_at(pod, "metadata", "uid", NULL));
    json_put_text(entry, "node", pod_node(pod));
    pod_each_device(pod, placement_add_gpu, gpus);
    json_put(entry, "gpus", gpus);
    (void)json_array_append_new(json_array_at(placement, "pods"), entry); /* as above */
    return placement;
}

/*
 * The exit code of the first failed container, else of the first that ended; the time of the last
 * end.
 */
static void put_end(json_t *status, const json_t *pod)
{
    json_t *containers = json_at(pod, "status", "containerStatuses", NULL);
    const char *finished = NULL;
    bool has_code = false;
    int64_t code = 0;
    json_t *container;
    size_t i;

    json_array_foreach (containers, i, container) {
        const json_t *ended = json_at(container, "state", "terminated", NULL);
        const char *at = json_text(ended, "finishedAt");

        if (!ended)
            continue;
        if (!has_code || (code == 0 && json_int(ended, "exitCode", 0) != 0))
            code = json_int(ended, "exitCode", 0);
        has_code = true;
        if (at && (!finished || strcmp(at, finished) > 0)) /* RFC 3339 in UTC sorts as text */
            finished = at;
    }
    json_put(status, "exitCode",
             has_code && pod_is_terminal(pod) ? json_integer(code) : json_null());
    json_put(status, "finishedAt", pod_is_terminal(pod) ? json_text_new(finished) : json_null());
}

static const char *first_start(const json_t *pod)
{
    json_t *containers = json_at(pod, "status", "containerStatuses", NULL);
    const char *first = NULL;
    json_t *container;
    size_t i;

    json_array_foreach (containers, i, container) {
        const char *running = json_text_at(container, "state", "running", "startedAt", NULL);
        const char *ended = json_text_at(container, "state", "terminated", "startedAt", NULL);
        const char *at = running ? running : ended;

        if (at && (!first || strcmp(at, first) < 0))
            first = at;
    }
    return first;
}

static json_t *phase_reason(struct views *v, const json_t *pod, const char *phase, bool is_brief)
{
    if (text_equal(phase, "waiting"))
        return views_reason(v, pod, is_brief);
    return pod_is_terminal(pod) ? NULL : views_start_reason(pod);
}

static json_t *workload_tree(struct views *v, const json_t *pod, bool is_brief)
{
    static const char *const copied[] = {"name", "namespace", "uid", "creationTimestamp",
                                         "resourceVersion"};
    const char *phase = phase_of(pod);
    json_t *reason = phase_reason(v, pod, phase, is_brief);
    json_t *o = json_object();
    json_t *metadata;
    json_t *status;

    json_put_text(o, "apiVersion", "mete.dev/v1");
    json_put_text(o, "kind", "Workload");
    metadata = json_object_at(o, "metadata");
    for (size_t i = 0; i < COUNT(copied); i++)
        json_put_text(metadata, copied[i], json_text_at(pod, "metadata", copied[i], NULL));
    json_put(o, "spec", spec_tree(v, pod));
    status = json_object_at(o, "status");
    json_put_text(status, "phase", phase);
    json_put(status, "reason", reason ? reason : json_null());
    json_put(status, "placement", *pod_node(pod) ? placement_tree(pod) : json_null());
    json_put(status, "submittedAt",
             json_text_new(json_text_at(pod, "metadata", "creationTimestamp", NULL)));
    json_put(status, "startedAt", json_text_new(first_start(pod)));
    put_end(status, pod);
    return o;
}

/* NULL: damaged. */
static json_t *view_decode(const struct store_object *o)
{
    json_t *tree = NULL;
    AUTO(err_freep) struct err *e = objects_decode(o, &tree);

    if (e)
        LOG(ERROR, "stored object is damaged", S("resource", o->key.resource), S("ns", o->key.ns),
            S("name", o->key.name), E(e));
    return tree;
}

json_t *views_list(const struct views *v, const char *resource, const char *ns)
{
    const struct store_range range = {.group = "", .resource = resource, .ns = ns};
    struct store_list list = {0};
    AUTO(err_freep) struct err *e = NULL;
    json_t *all;

    if (v->source)
        return v->source->list(v->source->arg, resource, ns);
    e = store_list(objects_store(v->objects), &range, NULL, NULL, 0, 0, &list);
    all = json_array();
    if (e)
        LOG(ERROR, "view cannot be listed", S("resource", resource), E(e));
    for (size_t i = 0; i < list.n; i++) {
        json_t *tree = view_decode(list.at[i]);

        if (tree)
            (void)json_array_append_new(all, tree); /* a new tree: cannot fail */
    }
    store_list_done(&list);
    return all;
}

json_t *views_get(const struct views *v, const char *resource, const char *ns, const char *name)
{
    const struct store_key key = {.group = "", .resource = resource, .ns = ns, .name = name};
    const struct store_object *o;

    if (v->source)
        return v->source->get(v->source->arg, resource, ns, name);
    o = store_get(objects_store(v->objects), key);
    return o ? view_decode(o) : NULL;
}

json_t *views_workloads(struct views *v, const char *ns)
{
    AUTO(json_freep) json_t *pods = views_list(v, "pods", ns);
    json_t *list = json_array();
    json_t *pod;
    size_t i;

    json_array_foreach (pods, i, pod)
        (void)json_array_append_new(list, workload_tree(v, pod, true)); /* as above */
    return list;
}

json_t *views_workload(struct views *v, const char *ns, const char *name)
{
    AUTO(json_freep) json_t *pod = views_get(v, "pods", ns, name);

    return pod ? workload_tree(v, pod, false) : NULL;
}
