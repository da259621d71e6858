/* autoscale_measure.c - the number of pods that one metric of an autoscaler asks for */

#include "base/mem.h"
#include "base/stamp.h"
#include "control/autoscale/autoscale_private.h"
#include "kinds/apps/autoscaler.h"
#include "kinds/kind/value.h"
#include "kinds/pod/pod_state.h"
#include "kinds/pod/pod_view.h"
#include "model/quantity.h"

/* A pod's first minutes, in which cpu is spent on its start; and the delay in which a pod that was
 * never ready is told from one that is no longer. */
static const int64_t start_ns = 300 * NS_PER_SEC;
static const int64_t first_ready_ns = 30 * NS_PER_SEC;

struct measure {
    const struct autoscale_look *look;
    const char *type;
    const char *name;      /* of a resource or a reading */
    const char *container; /* NULL: all */
    struct autoscale_goal goal;
    VEC(struct autoscale_pod) pods;
    bool has_value;        /* some pod has one */
    char *missing_request; /* text; NULL: none is missing */
};

void autoscale_fault_done(struct autoscale_fault *f)
{
    free(f->message);
    *f = (struct autoscale_fault){0};
}

static int64_t milli_of(const json_t *object, const char *key)
{
    const char *text = json_text(object, key);
    struct quantity q = {0};

    if (text)
        err_free(quantity_parse(str_of(text), &q)); /* the schema has checked the form */
    return q.milli;
}

/* ---- pods ---- */

/* Is the cpu of the pod that of its start? */
static bool is_starting(const struct measure *m, const json_t *pod, int64_t at_ns,
                        int64_t window_ns)
{
    const json_t *ready = object_condition(pod, "Ready");
    int64_t started_ns = stamp_or(json_text_at(pod, "status", "startTime", NULL), -1);
    int64_t changed_ns = stamp_or(json_text(ready, "lastTransitionTime"), 0);
    bool is_ready = text_equal(json_text(ready, "status"), "True");

    if (!ready || started_ns < 0)
        return true;
    if (started_ns + start_ns > m->look->wall_ns)
        return !is_ready || at_ns < changed_ns + window_ns;
    return !is_ready && started_ns + first_ready_ns > changed_ns;
}

static void add_request(struct measure *m, const json_t *pod, const json_t *container, int64_t *sum)
{
    const char *name = value_text(container, "name");
    const json_t *requests = json_at(container, "resources", "requests", NULL);

    if (m->container && !text_equal(m->container, name))
        return;
    if (!json_object_get(requests, m->name) && !m->missing_request)
        m->missing_request = mem_format("missing request for %s in container %s of Pod %s", m->name,
                                        name, json_text_at(pod, "metadata", "name", NULL));
    *sum += milli_of(requests, m->name);
}

static int64_t request_of(struct measure *m, const json_t *pod)
{
    const json_t *containers = json_at(pod, "spec", "containers", NULL);
    const json_t *first = json_at(pod, "spec", "initContainers", NULL);
    int64_t sum = 0;

    for (size_t i = 0; i < json_array_size(containers); i++)
        add_request(m, pod, json_array_get(containers, i), &sum);
    for (size_t i = 0; i < json_array_size(first); i++)
        if (container_is_sidecar(json_array_get(first, i)))
            add_request(m, pod, json_array_get(first, i), &sum);
    return sum;
}

static struct autoscale_pod measure_pod(struct measure *m, const json_t *pod)
{
    const struct autoscale_samples *samples = &m->look->scaler->of->options.samples;
    bool is_resource = !text_equal(m->type, "Pods");
    bool is_cpu = is_resource && text_equal(m->name, "cpu");
    struct autoscale_pod p = {.state = AUTOSCALE_READY};
    int64_t at_ns = 0;
    int64_t window_ns = 0;

    if (pod_is_deleting(pod) || pod_is_terminal(pod)) {
        p.state = AUTOSCALE_GONE;
        return p;
    }
    if (m->goal.is_utilization)
        p.request = request_of(m, pod);
    p.value = is_resource
                  ? autoscale_load_of(samples, pod, m->container, is_cpu, &at_ns, &window_ns)
                  : autoscale_gpu_of(samples, pod, m->name);
    m->has_value = m->has_value || p.value >= 0;
    if (text_equal(pod_phase(pod), "Pending") ||
        (p.value >= 0 && is_cpu && is_starting(m, pod, at_ns, window_ns)))
        p.state = AUTOSCALE_UNREADY;
    else if (p.value < 0)
        p.state = AUTOSCALE_MISSING;
    return p;
}

/* ---- a metric ---- */

static void read_goal(struct measure *m, const json_t *target)
{
    const json_t *percent = json_object_get(target, "averageUtilization");

    m->goal = (struct autoscale_goal){.up_milli = m->look->behavior.up.tolerance_milli,
                                      .down_milli = m->look->behavior.down.tolerance_milli,
                                      .is_utilization = percent != NULL};
    m->goal.target =
        percent ? (int64_t)json_integer_value(percent) : milli_of(target, "averageValue");
}

/* The metric in Kubernetes' words. The caller frees it. */
static char *name_of(const struct measure *m)
{
    if (text_equal(m->type, "Pods"))
        return mem_format("pods metric %s", m->name);
    if (!m->goal.is_utilization)
        return mem_format("%s resource", m->name);
    return mem_format("%s%s resource utilization (percentage of request)", m->name,
                      m->container ? " container" : "");
}

static void put_status(const struct measure *m, const json_t *source,
                       const struct autoscale_count *c, json_t *status)
{
    bool is_pods = text_equal(m->type, "Pods");
    char average[QUANTITY_TEXT_SIZE];
    json_t *to;
    json_t *current;

    quantity_format((struct quantity){.milli = c->average,
                                      .form = text_equal(m->name, "memory") ? QUANTITY_BINARY
                                                                            : QUANTITY_DECIMAL},
                    average);
    json_put_text(status, "type", m->type);
    to = json_object_at(status, is_pods ? "pods" : m->container ? "containerResource" : "resource");
    if (is_pods)
        json_put(to, "metric", json_deep_copy(json_object_get(source, "metric")));
    else
        json_put_text(to, "name", m->name);
    if (m->container)
        json_put_text(to, "container", m->container);
    current = json_object_at(to, "current");
    if (m->goal.is_utilization)
        json_put_int(current, "averageUtilization", c->utilization_pct);
    json_put_text(current, "averageValue", average);
}

/* The samples or requests that the measured pods lack, as text; NULL: none. The caller frees it. */
static char *lack_of(const struct measure *m)
{
    bool is_pods = text_equal(m->type, "Pods");

    if (m->pods.n == 0)
        return mem_strdup("no pods returned by selector while calculating replica count");
    if (!m->has_value)
        return mem_format("unable to get metric%s %s: no metrics returned from %s metrics API",
                          is_pods ? "" : "s for resource", m->name,
                          is_pods ? "custom" : "resource");
    return m->missing_request ? mem_strdup(m->missing_request) : NULL;
}

static void measure_fault(const struct measure *m, const char *why, struct autoscale_fault *fault)
{
    const char *what = m->goal.is_utilization ? "utilization" : "usage";

    if (text_equal(m->type, "Pods")) {
        fault->reason = "FailedGetPodsMetric";
        fault->message = mem_format("failed to get pods metric value: %s", why);
        return;
    }
    fault->reason = m->container ? "FailedGetContainerResourceMetric" : "FailedGetResourceMetric";
    fault->message = mem_format("failed to get %s %s: %s", m->name, what, why);
}

static void measure_pods(struct measure *m, const json_t *source, json_t *ret_status,
                         int64_t *ret_replicas, struct autoscale_fault *fault)
{
    const struct autoscale_look *l = m->look;
    struct autoscale_count c = {0};
    AUTO_FREE char *lack = NULL;

    for (size_t i = 0; i < l->pods.n; i++)
        vec_add(&m->pods, measure_pod(m, l->pods.at[i]));
    lack = lack_of(m);
    if (!lack && !autoscale_count(m->pods.at, m->pods.n, &m->goal, l->scale.wanted, &c))
        lack = mem_strdup("did not receive metrics for targeted pods (pods might be unready)");
    if (lack) {
        measure_fault(m, lack, fault);
        return;
    }
    put_status(m, source, &c, ret_status);
    *ret_replicas = c.replicas;
}

/* Metrics that Mete has no source for. False: `metric` is none of them. */
static bool is_refused(const json_t *metric, const json_t *source, struct autoscale_fault *fault)
{
    const json_t *named = json_object_get(source, "metric");
    const char *type = value_text(metric, "type");
    const char *name = value_text(named, "name");
    const char *resource = json_text(source, "name");

    if (resource && !text_equal(resource, "cpu") && !text_equal(resource, "memory")) {
        fault->reason = json_text(source, "container") ? "FailedGetContainerResourceMetric"
                                                       : "FailedGetResourceMetric";
        fault->message = mem_format(
            "unable to get metrics for resource %s: Mete serves cpu and memory", resource);
    } else if (text_equal(type, "External")) {
        fault->reason = "FailedGetExternalMetric";
        fault->message = mem_format("unable to get external metric %s: Mete serves no metrics of "
                                    "type External",
                                    name);
    } else if (text_equal(type, "Object")) {
        fault->reason = "FailedGetObjectMetric";
        fault->message =
            mem_format("unable to get metric %s: Mete serves no metrics of type Object", name);
    } else if (text_equal(type, "Pods") &&
               json_object_size(json_object_get(named, "selector")) > 0) {
        fault->reason = "FailedGetPodsMetric";
        fault->message = mem_format("unable to get metric %s: Mete's metrics of pods have no "
                                    "labels that a selector could name",
                                    name);
    } else if (text_equal(type, "Pods") && !autoscale_gpu_is_known(name)) {
        fault->reason = "FailedGetPodsMetric";
        fault->message = mem_format("unable to get metric %s: Mete serves DCGM_FI_DEV_GPU_UTIL, "
                                    "DCGM_FI_DEV_FB_USED and DCGM_FI_PROF_GR_ENGINE_ACTIVE",
                                    name);
    }
    return fault->message != NULL;
}

void autoscale_measure(const struct autoscale_look *l, const json_t *metric, json_t *ret_status,
                       int64_t *ret_replicas, char **ret_name, struct autoscale_fault *fault)
{
    const json_t *source = autoscaler_source(metric);
    const char *name = json_text(source, "name");
    struct measure m = {.look = l,
                        .type = value_text(metric, "type"),
                        .name = name ? name : value_text(json_object_get(source, "metric"), "name"),
                        .container = json_text(source, "container")};

    if (is_refused(metric, source, fault))
        return;
    read_goal(&m, json_object_get(source, "target"));
    measure_pods(&m, source, ret_status, ret_replicas, fault);
    if (!fault->message)
        *ret_name = name_of(&m);
    vec_done(&m.pods);
    free(m.missing_request);
}
