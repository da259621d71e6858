/* pod_container_fields.c - the schema of containers */

#include "kinds/kind/fields.h"
#include "kinds/pod/pod_fields.h"
#include "model/names.h"

static const char *const protocols[] = {"TCP", "UDP", "SCTP", NULL};
static const char *const message_policies[] = {"File", "FallbackToLogsOnError", NULL};
static const char *const pull_policies[] = {"Always", "IfNotPresent", "Never", NULL};

const struct field field_ref_fields[] = {
    F_STRING("apiVersion", "The API version of the path.", .fallback = "\"v1\"", .size_max = 64),
    F_STRING("fieldPath", "A field of the pod: metadata.name, status.podIP.", .is_required = true,
             .size_max = 512),
    F_END,
};

const struct field resource_ref_fields[] = {
    F_STRING("containerName", "The container; absent: this one.", .size_max = 63),
    F_STRING("resource", "The amount: limits.cpu, requests.memory.", .is_required = true,
             .size_max = 320),
    F_QUANTITY("divisor", "The unit of the result; default 1."),
    F_END,
};

static const struct field key_ref_fields[] = {
    F_STRING("name", "The name of the object.", .size_max = 253, .check = name_check_subdomain,
             .is_required = true),
    F_STRING("key", "The key in the object.", .is_required = true, .check = name_check_config_key),
    F_BOOL("optional", "Whether the object or key may be missing."),
    F_END,
};

static const struct field value_from_fields[] = {
    F_OBJECT("fieldRef", field_ref_fields, "A field of the pod.", .is_atomic = true),
    F_OBJECT("resourceFieldRef", resource_ref_fields, "A request or limit of a container.",
             .is_atomic = true),
    F_OBJECT("configMapKeyRef", key_ref_fields, "A key of a config map.", .is_atomic = true),
    F_OBJECT("secretKeyRef", key_ref_fields, "A key of a secret.", .is_atomic = true),
    F_REFUSED("fileKeyRef", "A key in a file."),
    F_END,
};

static const struct field env_fields[] = {
    F_STRING("name", "The variable.", .is_required = true, .size_max = 1024,
             .check = name_check_env),
    F_STRING("value", "The value; $(NAME) stands for an earlier variable.", .size_max = 128 << 10),
    F_OBJECT("valueFrom", value_from_fields, "The source of the value, instead of `value`."),
    F_END,
};
static const struct field env_item = F_OBJECT(NULL, env_fields, "An environment variable.");

static const struct field object_ref_fields[] = {
    F_STRING("name", "The name of the object.", .is_required = true, .check = name_check_subdomain),
    F_BOOL("optional", "Whether the object may be missing."),
    F_END,
};

static const struct field env_from_fields[] = {
    F_STRING("prefix", "The prefix of every name.", .size_max = 1024, .check = name_check_env),
    F_OBJECT("configMapRef", object_ref_fields, "All keys of a config map."),
    F_OBJECT("secretRef", object_ref_fields, "All keys of a secret."),
    F_END,
};
static const struct field env_from_item =
    F_OBJECT(NULL, env_from_fields, "Environment variables from all keys of an object.");

static const struct field port_fields[] = {
    F_INT("containerPort", "The container's port.", .is_required = true, .min = 1, .max = 65535),
    F_INT("hostPort", "The node's port; two pods with the same host port do not share a node.",
          .min = 0, .max = 65535),
    F_STRING("name", "A name for the port.", .size_max = 15, .check = name_check_label),
    F_STRING("protocol", "TCP, UDP or SCTP.", .fallback = "\"TCP\"", .values = protocols),
    F_STRING("hostIP", "The node's address.", .support = FIELD_REFUSED, .harmless = "\"0.0.0.0\""),
    F_END,
};
static const struct field port_item = F_OBJECT(NULL, port_fields, "A port of the container.");

static const struct field claim_fields[] = {
    F_STRING("name", "The pod's name for the claim.", .is_required = true,
             .check = name_check_label),
    F_STRING("request", "One request of the claim; absent: all.", .check = name_check_label),
    F_END,
};
static const struct field claim_item = F_OBJECT(NULL, claim_fields, "A claim of the pod.");

static const struct field resources_fields[] = {
    F_MAP("limits", &quantity_item, "The most that the container may use.", .items_max = 64),
    F_MAP("requests", &quantity_item, "The amounts reserved on the node.", .items_max = 64),
    F_LIST("claims", &claim_item, "Claims of the pod whose devices the container gets.",
           .merge_key = "name", .items_max = 32),
    F_END,
};

static const struct field mount_fields[] = {
    F_STRING("name", "The volume.", .is_required = true, .size_max = 63),
    F_STRING("mountPath", "The path in the container.", .is_required = true, .size_max = 4095),
    F_BOOL("readOnly", "Whether the mount is read-only."),
    F_STRING("subPath", "A path inside the volume to mount instead of the volume.",
             .size_max = 4095),
    F_STRING("subPathExpr", "As subPath, with $(NAME) for variables of the container.",
             .size_max = 4095),
    F_REFUSED("mountPropagation", "Whether later mounts are visible.", .harmless = "\"None\""),
    F_REFUSED("recursiveReadOnly", "Whether nested mounts are read-only too.",
              .harmless = "\"Disabled\""),
    F_END,
};
static const struct field mount_item = F_OBJECT(NULL, mount_fields, "A mount of a volume.");

static const char *const sidecar_policies[] = {"Always", NULL};

/* Fields that containers and ephemeral containers share. */
#define CONTAINER_FIELDS                                                                          \
    F_STRING("name", "The container's name, unique in the pod.", .is_required = true,             \
             .check = name_check_label),                                                          \
        F_STRING("image", "The image; `host` is the node's own root file system.",                \
                 .is_required = true, .size_max = 4096),                                          \
        F_LIST("command", &string_item,                                                           \
               "The program and its first arguments; default: the image's.", .items_max = 4096),  \
        F_LIST("args", &string_item, "Arguments; default: the image's.", .items_max = 4096),      \
        F_STRING("workingDir", "The working directory; default: the image's.", .size_max = 4095), \
        F_LIST("ports", &port_item, "Ports of the container.", .merge_key = "containerPort",      \
               .items_max = 128, .list_keys = {"containerPort", "protocol"}),                     \
        F_LIST("envFrom", &env_from_item, "Variables from whole objects.", .items_max = 64),      \
        F_LIST("env", &env_item, "Variables, in their order.", .merge_key = "name"),              \
        F_OBJECT("resources", resources_fields, "Requests and limits.", .fallback = "{}"),        \
        F_ANY("resizePolicy", "The policy for changes of resources.", .support = FIELD_IGNORED),  \
        F_STRING("restartPolicy", "Always: the init container is a sidecar.",                     \
                 .values = sidecar_policies),                                                     \
        F_REFUSED("restartPolicyRules", "Restarts by exit code."),                                \
        F_LIST("volumeMounts", &mount_item, "Mounts of volumes.", .merge_key = "mountPath",       \
               .items_max = 128),                                                                 \
        F_REFUSED("volumeDevices", "Raw block devices."),                                         \
        F_OBJECT("livenessProbe", probe_fields, "The container restarts when this probe fails."), \
        F_OBJECT("readinessProbe", probe_fields,                                                  \
                 "The container is ready while this probe succeeds."),                            \
        F_OBJECT(                                                                                 \
            "startupProbe", probe_fields,                                                         \
            "The container has started when this probe succeeds; other probes wait for it. The "  \
            "container restarts when it fails."),                                                 \
        F_OBJECT("lifecycle", lifecycle_fields, "Hooks at start and end."),                       \
        F_STRING("terminationMessagePath",                                                        \
                 "The file with the termination message, at most 4 KiB.",                         \
                 .fallback = "\"/dev/termination-log\"", .size_max = 4095),                       \
        F_STRING("terminationMessagePolicy", "The source of the termination message.",            \
                 .fallback = "\"File\"", .values = message_policies),                             \
        F_STRING("imagePullPolicy", "When to pull the image.", .values = pull_policies),          \
        F_OBJECT("securityContext", container_security_fields, "Privileges of the container."),   \
        F_BOOL("stdin", "Whether stdin stays open, for attach."),                                 \
        F_BOOL("stdinOnce", "Whether stdin closes after the first session."),                     \
        F_BOOL("tty", "Whether the container gets a terminal.")

static const struct field container_fields[] = {
    CONTAINER_FIELDS,
    F_END,
};

const struct field container_item =
    F_OBJECT(NULL, container_fields, "A container: a program with its files and limits.");

static const struct field ephemeral_container_fields[] = {
    CONTAINER_FIELDS,
    F_STRING("targetContainerName",
             "The container whose processes and devices the ephemeral container sees.",
             .check = name_check_label),
    F_END,
};

const struct field ephemeral_container_item =
    F_OBJECT(NULL, ephemeral_container_fields, "A container added to a running pod.");
