/* pod_view.c - phase, requests and QoS class of a pod */

#include "kinds/pod/pod_view.h"

#include "model/quantity.h"
#include "model/resource.h"

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

/* Reads a quantity; 0 if it does not parse, for validation refuses such objects. */
static struct quantity read_quantity(const json_t *value)
{
    struct quantity q = {0};
    struct err *e = NULL;

    if (json_is_integer(value))
        return json_integer_value(value) > INT64_MAX / 1000
                   ? (struct quantity){.milli = INT64_MAX}
                   : (struct quantity){.milli = json_integer_value(value) * 1000};
    if (json_is_string(value))
        e = quantity_parse(str_of(json_string_value(value)), &q);
    err_free(e);
    return q.milli < 0 ? (struct quantity){0} : q;
}

static const json_t *requested(const json_t *container, const char *resource)
{
    const json_t *resources = json_object_get(container, "resources");
    const json_t *value = json_at(resources, "requests", resource, NULL);

    return value ? value : json_at(resources, "limits", resource, NULL);
}

int64_t container_request_milli(const json_t *container, const char *resource)
{
    return read_quantity(requested(container, resource)).milli;
}

int64_t container_gpus(const json_t *container)
{
    return container_request_milli(container, GPU_RESOURCE) / 1000;
}

static int64_t amount_of(const json_t *container, const char *resource, bool is_milli)
{
    struct quantity q = read_quantity(requested(container, resource));

    return is_milli ? q.milli : quantity_units(q);
}

static int64_t pod_amount(const json_t *pod, const char *resource, bool is_milli)
{
    const json_t *containers = json_at(pod, "spec", "containers", NULL);
    const json_t *inits = json_at(pod, "spec", "initContainers", NULL);
    int64_t total = 0;

    for (size_t i = 0; i < json_array_size(containers); i++) {
        int64_t amount = amount_of(json_array_get(containers, i), resource, is_milli);

        if (__builtin_add_overflow(total, amount, &total))
            total = INT64_MAX;
    }
    for (size_t i = 0; i < json_array_size(inits); i++) {
        int64_t amount = amount_of(json_array_get(inits, i), resource, is_milli);

        total = amount > total ? amount : total;
    }
    return total;
}

int64_t pod_gpus(const json_t *pod)
{
    return pod_amount(pod, GPU_RESOURCE, false);
}

static bool is_own(const char *name)
{
    static const char *const own[] = {"cpu", "memory", "ephemeral-storage", GPU_RESOURCE};

    for (size_t i = 0; i < COUNT(own); i++)
        if (text_equal(own[i], name))
            return true;
    return false;
}

static void requests_add_other(struct pod_requests *r, const json_t *pod, const char *name)
{
    int64_t amount;

    for (size_t i = 0; i < r->n_others; i++)
        if (text_equal(r->others[i].name, name))
            return;
    amount = is_own(name) ? 0 : pod_amount(pod, name, false);
    if (amount == 0)
        return;
    if (r->n_others == POD_OTHERS_MAX)
        r->has_more_others = true;
    else
        r->others[r->n_others++] = (struct pod_other){.name = name, .amount = amount};
}

static void add_others(struct pod_requests *r, const json_t *pod, const json_t *containers)
{
    static const char *const maps[] = {"requests", "limits"};

    for (size_t i = 0; i < json_array_size(containers); i++) {
        const json_t *resources = json_object_get(json_array_get(containers, i), "resources");

        for (size_t j = 0; j < COUNT(maps); j++) {
            const char *name;
            json_t *value;

            json_object_foreach (json_object_get(resources, maps[j]), name, value)
                requests_add_other(r, pod, name);
        }
    }
}

struct pod_requests pod_requests(const json_t *pod)
{
    struct pod_requests r = {
        .cpu_milli = pod_amount(pod, "cpu", true),
        .memory_bytes = pod_amount(pod, "memory", false),
        .ephemeral_bytes = pod_amount(pod, "ephemeral-storage", false),
        .gpus = pod_gpus(pod),
    };

    add_others(&r, pod, json_at(pod, "spec", "containers", NULL));
    add_others(&r, pod, json_at(pod, "spec", "initContainers", NULL));
    return r;
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
            const json_t *limit = json_at(container, "resources", "limits", resources[j], NULL);
            int64_t limit_milli = read_quantity(limit).milli;
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
