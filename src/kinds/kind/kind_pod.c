/* kind_pod.c - core/v1 Pod */

#include <inttypes.h>

#include "base/mem.h"
#include "base/stamp.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/fields.h"
#include "kinds/kind/tables.h"
#include "kinds/pod/pod_asks.h"
#include "kinds/pod/pod_fields.h"
#include "kinds/pod/pod_rules.h"
#include "kinds/pod/pod_view.h"

static const struct field fields[] = {
    F_TYPE_AND_METADATA,
    F_OBJECT("spec", pod_spec_fields, "The pod's specification.", .is_required = true),
    F_OBJECT("status", pod_status_fields, "The observed state."),
    F_END,
};

static const struct column columns[] = {
    {"Name", "string", "name", 0, "The name of the pod."},
    {"Ready", "string", "", 0, "Ready containers, of all."},
    {"Status", "string", "", 0, "The state."},
    {"Restarts", "string", "", 0, "Restarts of the containers."},
    {"Age", "date", "", 0, "Time since the creation."},
    {"IP", "string", "", 1, "The pod's address."},
    {"Node", "string", "", 1, "The pod's node."},
    {"Nominated Node", "string", "", 1, "The node where victims make room for the pod."},
    {"Readiness Gates", "string", "", 1, "Additional conditions of readiness."},
    {"GPUs", "string", "", 1, "Gpus, shares and slices that the pod requests."},
    {0},
};

static json_t *cell_restarts(const struct pod_progress *p, int64_t now_ns)
{
    char age[STAMP_TEXT_SIZE];
    AUTO_FREE char *text = NULL;

    if (p->restarts == 0 || p->restarted_at_ns == 0) {
        text = mem_format("%" PRId64, p->restarts);
    } else {
        stamp_format_age(now_ns - p->restarted_at_ns, age);
        text = mem_format("%" PRId64 " (%s ago)", p->restarts, age);
    }
    return json_string(text);
}

static const char *address_of(const json_t *pod)
{
    const json_t *addresses = json_at(pod, "status", "podIPs", NULL);
    const char *first = json_text(json_array_get(addresses, 0), "ip");

    return first ? first : json_text_at(pod, "status", "podIP", NULL);
}

static json_t *pod_cells(const json_t *pod, int64_t now_ns)
{
    struct pod_progress p = pod_progress(pod);
    AUTO_FREE char *ready = mem_format("%zu/%zu", p.n_ready, p.n_containers);
    struct gpu_asks asks = pod_gpu_asks(pod);
    AUTO_FREE char *gpus = gpu_asks_format(&asks);
    char status[POD_STATUS_TEXT_SIZE];
    json_t *row = json_array();

    pod_status_text(pod, status);
    (void)json_array_append_new(row, cell_text(json_text_at(pod, "metadata", "name", NULL), ""));
    (void)json_array_append_new(row, json_string(ready));
    (void)json_array_append_new(row, cell_text(status, "Unknown"));
    (void)json_array_append_new(row, cell_restarts(&p, now_ns));
    (void)json_array_append_new(row, cell_created(pod));
    (void)json_array_append_new(row, cell_text(address_of(pod), "<none>"));
    (void)json_array_append_new(row,
                                cell_text(json_text_at(pod, "spec", "nodeName", NULL), "<none>"));
    (void)json_array_append_new(
        row, cell_text(json_text_at(pod, "status", "nominatedNodeName", NULL), "<none>"));
    (void)json_array_append_new(row, json_string("<none>"));
    (void)json_array_append_new(row, json_string(gpus));
    return row;
}

static const char *const selectable[] = {
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
    NULL,
};

const struct kind kind_pod = {
    .zero = "{\"spec\":{\"containers\":null},\"status\":{}}",
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .kind = "Pod",
    .plural = "pods",
    .singular = "pod",
    .short_names = {"po"},
    .is_namespaced = true,
    .is_of_all = true,
    .has_status = true,
    .fields = fields,
    .columns = columns,
    .cells = pod_cells,
    .validate = pod_validate,
    .validate_update = pod_validate_update,
    .set_defaults = pod_set_defaults,
    .selectable = selectable,
    .grace_seconds = 30,
    .doc = "Containers that run together on one node.",
};
