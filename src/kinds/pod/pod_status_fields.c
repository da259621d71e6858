/* pod_status_fields.c - the schema of PodStatus */

#include "kinds/kind/fields.h"
#include "kinds/pod/pod_fields.h"

static const char *const phases[] = {"Pending", "Running", "Succeeded", "Failed", "Unknown", NULL};

static const struct field condition_fields[] = {
    F_STRING("type", "PodScheduled, Initialized, ContainersReady, Ready, ...", .is_required = true,
             .size_max = 316),
    F_STRING("status", "True, False or Unknown.", .is_required = true, .size_max = 16),
    F_INT("observedGeneration", "The generation it was seen at."),
    F_TIME("lastProbeTime", "When it was looked at last."),
    F_TIME("lastTransitionTime", "When the status changed last."),
    F_STRING("reason", "A word for programs.", .size_max = 1024),
    F_STRING("message", "A sentence for people."),
    F_END,
};
static const struct field condition_item =
    F_OBJECT(NULL, condition_fields, "One observation about the pod.");

static const struct field waiting_fields[] = {
    F_STRING("reason", "Why, for programs: ContainerCreating, CrashLoopBackOff, ...",
             .size_max = 1024),
    F_STRING("message", "Why, for people."),
    F_END,
};
static const struct field running_fields[] = {
    F_TIME("startedAt", "When it was started."),
    F_END,
};
static const struct field terminated_fields[] = {
    F_INT("exitCode", "Its exit code; 128 + n after signal n."),
    F_INT("signal", "The signal that ended it."),
    F_STRING("reason", "Completed, Error, OOMKilled, ...", .size_max = 1024),
    F_STRING("message", "Why, for people."),
    F_TIME("startedAt", "When it was started."),
    F_TIME("finishedAt", "When it ended."),
    F_STRING("containerID", "What the runtime called it.", .size_max = 1024),
    F_END,
};
static const struct field state_fields[] = {
    F_OBJECT("waiting", waiting_fields, "It is not running yet."),
    F_OBJECT("running", running_fields, "It is running."),
    F_OBJECT("terminated", terminated_fields, "It has ended."),
    F_END,
};
static const struct field resources_fields[] = {
    F_MAP("limits", &quantity_item, "The most that it may use."),
    F_MAP("requests", &quantity_item, "What is kept for it."),
    F_ANY("claims", "Kept, not used."),
    F_END,
};
static const struct field container_status_fields[] = {
    F_STRING("name", "The container.", .is_required = true, .size_max = 63),
    F_OBJECT("state", state_fields, "How it is now."),
    F_OBJECT("lastState", state_fields, "How it ended before its last restart."),
    F_BOOL("ready", "Whether it is ready."),
    F_INT("restartCount", "How often it was started again.", .min = 0, .max = INT32_MAX),
    F_STRING("image", "Its image.", .size_max = 4096),
    F_STRING("imageID", "The digest of its image.", .size_max = 4096),
    F_STRING("containerID", "What the runtime calls it.", .size_max = 1024),
    F_BOOL("started", "Whether it has started."),
    F_MAP("allocatedResources", &quantity_item, "What its node gave it."),
    F_OBJECT("resources", resources_fields, "Its limits as they are."),
    F_ANY("volumeMounts", "Kept, not used."),
    F_ANY("user", "Kept, not used."),
    F_ANY("allocatedResourcesStatus", "Kept, not used."),
    F_STRING("stopSignal", "The signal that ends it.", .size_max = 32),
    F_END,
};
static const struct field container_status_item =
    F_OBJECT(NULL, container_status_fields, "How a container is.");

static const struct field address_fields[] = {
    F_STRING("ip", "An address.", .size_max = 64),
    F_END,
};
static const struct field address_item = F_OBJECT(NULL, address_fields, "An address.");

const struct field pod_status_fields[] = {
    F_INT("observedGeneration", "The generation it was seen at."),
    F_STRING("phase", "Pending, Running, Succeeded or Failed.", .values = phases),
    F_LIST("conditions", &condition_item, "How far it is.", .merge_key = "type", .items_max = 64),
    F_STRING("message", "Why it is so, for people."),
    F_STRING("reason", "Why it is so, for programs.", .size_max = 1024),
    F_STRING("nominatedNodeName", "Where room is being made for it.", .size_max = 253),
    F_STRING("hostIP", "Its node's address.", .size_max = 64),
    F_LIST("hostIPs", &address_item, "Its node's addresses.", .merge_key = "ip", .items_max = 16),
    F_STRING("podIP", "Its address: its node's.", .size_max = 64),
    F_LIST("podIPs", &address_item, "Its addresses.", .merge_key = "ip", .items_max = 16),
    F_TIME("startTime", "When its node took it."),
    F_LIST("initContainerStatuses", &container_status_item, "How its init containers are.",
           .items_max = 64),
    F_LIST("containerStatuses", &container_status_item, "How its containers are.", .items_max = 64),
    F_LIST("ephemeralContainerStatuses", &container_status_item, "Kept, not used.",
           .items_max = 64),
    F_STRING("qosClass", "Guaranteed, Burstable or BestEffort.", .size_max = 64),
    F_STRING("resize", "Kept, not used.", .size_max = 64),
    F_ANY("resourceClaimStatuses", "Kept, not used."),
    F_ANY("extendedResourceClaimStatus", "Kept, not used."),
    F_MAP("allocatedResources", &quantity_item, "Kept, not used."),
    F_OBJECT("resources", resources_fields, "Kept, not used."),
    F_END,
};
