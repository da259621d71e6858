/* pod_status_fields.c - the schema of PodStatus */

#include "kinds/kind/fields.h"
#include "kinds/pod/pod_fields.h"
#include "kinds/pod/pod_view.h"

static const char *const phases[] = {"Pending", "Running", "Succeeded", "Failed", "Unknown", NULL};

static const struct field condition_fields[] = {
    F_STRING("type", "PodScheduled, Initialized, ContainersReady, Ready, ...", .is_required = true,
             .size_max = 316),
    F_STRING("status", "True, False or Unknown.", .is_required = true, .size_max = 16),
    F_INT("observedGeneration", "The metadata.generation that was observed."),
    F_TIME("lastProbeTime", "The last probe of the condition."),
    F_TIME("lastTransitionTime", "The last change of the status."),
    F_STRING("reason", "The reason in CamelCase, for programs.", .size_max = 1024),
    F_STRING("message", "The message for users."),
    F_END,
};
static const struct field condition_item =
    F_OBJECT(NULL, condition_fields, "An observation about the pod.");

static const struct field waiting_fields[] = {
    F_STRING("reason", "The reason, for programs: ContainerCreating, CrashLoopBackOff, ...",
             .size_max = 1024),
    F_STRING("message", "The message for users."),
    F_END,
};
static const struct field running_fields[] = {
    F_TIME("startedAt", "The time of the start."),
    F_END,
};
static const struct field terminated_fields[] = {
    F_INT("exitCode", "The exit code; 128 + n after signal n."),
    F_INT("signal", "The signal that ended the container."),
    F_STRING("reason", "Completed, Error, OOMKilled, ...", .size_max = 1024),
    F_STRING("message", "The message for users."),
    F_TIME("startedAt", "The time of the start."),
    F_TIME("finishedAt", "The time of the end."),
    F_STRING("containerID", "The runtime's id of the container.", .size_max = 1024),
    F_END,
};
static const struct field state_fields[] = {
    F_OBJECT("waiting", waiting_fields, "The container is not running yet."),
    F_OBJECT("running", running_fields, "The container is running."),
    F_OBJECT("terminated", terminated_fields, "The container has ended."),
    F_END,
};
static const struct field resources_fields[] = {
    F_MAP("limits", &quantity_item, "The limits."),
    F_MAP("requests", &quantity_item, "The reserved amounts."),
    F_ANY("claims", "Kept, not used."),
    F_END,
};
static const struct field container_status_fields[] = {
    F_STRING("name", "The container.", .is_required = true, .size_max = 63),
    F_OBJECT("state", state_fields, "The present state."),
    F_OBJECT("lastState", state_fields, "The end before the last restart."),
    F_BOOL("ready", "Whether the container is ready."),
    F_INT("restartCount", "The number of restarts.", .min = 0, .max = INT32_MAX),
    F_STRING("image", "The image.", .size_max = 4096),
    F_STRING("imageID", "The digest of the image.", .size_max = 4096),
    F_STRING("containerID", "The runtime's id of the container.", .size_max = 1024),
    F_BOOL("started", "Whether the container has started."),
    F_MAP("allocatedResources", &quantity_item, "Amounts that the node allocated."),
    F_OBJECT("resources", resources_fields, "The present limits."),
    F_ANY("volumeMounts", "Kept, not used."),
    F_ANY("user", "Kept, not used."),
    F_ANY("allocatedResourcesStatus", "Kept, not used."),
    F_STRING("stopSignal", "The stop signal.", .size_max = 32),
    F_END,
};
static const struct field container_status_item =
    F_OBJECT(NULL, container_status_fields, "The state of a container.");

static const struct field address_fields[] = {
    F_STRING("ip", "An address.", .size_max = 64),
    F_END,
};
static const struct field address_item = F_OBJECT(NULL, address_fields, "An address.");

const struct field pod_status_fields[] = {
    F_INT("observedGeneration", "The metadata.generation that was observed."),
    F_STRING("phase", "Pending, Running, Succeeded or Failed.", .values = phases),
    F_LIST("conditions", &condition_item, "The pod's conditions.", .merge_key = "type",
           .items_max = 64),
    F_STRING("message", "The message for users."),
    F_STRING("reason", "The reason, for programs.", .size_max = 1024),
    F_STRING("nominatedNodeName", "The node where victims make room for the pod.", .size_max = 253),
    F_STRING("hostIP", "The node's address.", .size_max = 64),
    F_LIST("hostIPs", &address_item, "The node's addresses.", .merge_key = "ip", .items_max = 16,
           .is_atomic = true),
    F_STRING("podIP", "The pod's address, which is the node's.", .size_max = 64),
    F_LIST("podIPs", &address_item, "The pod's addresses.", .merge_key = "ip", .items_max = 16),
    F_TIME("startTime", "The time when the node accepted the pod."),
    F_LIST("initContainerStatuses", &container_status_item, "The states of the init containers.",
           .items_max = 64),
    F_LIST("containerStatuses", &container_status_item, "The states of the containers.",
           .items_max = 64),
    F_LIST("ephemeralContainerStatuses", &container_status_item,
           "The states of the ephemeral containers.", .items_max = POD_EPHEMERAL_MAX),
    F_STRING("qosClass", "Guaranteed, Burstable or BestEffort.", .size_max = 64),
    F_STRING("resize", "Kept, not used.", .size_max = 64),
    F_ANY("resourceClaimStatuses", "Kept, not used."),
    F_ANY("extendedResourceClaimStatus", "Kept, not used."),
    F_MAP("allocatedResources", &quantity_item, "Kept, not used."),
    F_OBJECT("resources", resources_fields, "Kept, not used."),
    F_END,
};
