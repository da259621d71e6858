/* pod_view.c - phase and QoS class of a pod */

#include "kinds/pod/pod_view.h"

#include "kinds/pod/pod_asks.h"

const char *pod_phase(const json_t *pod)
{
    const char *phase = json_text_at(pod, "status", "phase", NULL);

    return phase && *phase ? phase : "Pending";
}

bool pod_is_terminal(const json_t *pod)
{
    return text_equal(pod_phase(pod), "Succeeded") || text_equal(pod_phase(pod), "Failed");
}

bool pod_is_ready(const json_t *pod)
{
    const json_t *conditions = json_at(pod, "status", "conditions", NULL);

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *condition = json_array_get(conditions, i);

        if (text_equal(json_text(condition, "type"), "Ready"))
            return text_equal(json_text(condition, "status"), "True");
    }
    return false;
}

struct qos {
    bool has_any;       /* a request or limit of cpu or memory */
    bool is_guaranteed; /* so far: all containers have limits of both, equal to the requests */
};

static void look_at_qos(struct qos *q, const json_t *containers)
{
    static const char *const resources[] = {"cpu", "memory"};

    for (size_t i = 0; i < json_array_size(containers); i++) {
        const json_t *container = json_array_get(containers, i);

        for (size_t j = 0; j < COUNT(resources); j++) {
            int64_t limit_milli = container_limit_milli(container, resources[j]);
            int64_t request_milli = container_request_milli(container, resources[j]);

            q->has_any |= limit_milli > 0 || request_milli > 0;
            q->is_guaranteed &= limit_milli > 0 && limit_milli == request_milli;
        }
    }
}

const char *pod_qos_class(const json_t *pod)
{
    struct qos q = {.is_guaranteed = true};

    look_at_qos(&q, json_at(pod, "spec", "containers", NULL));
    look_at_qos(&q, json_at(pod, "spec", "initContainers", NULL));
    if (!q.has_any)
        return "BestEffort";
    return q.is_guaranteed ? "Guaranteed" : "Burstable";
}
