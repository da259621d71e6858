/* pod_container_fields.c - the schema of containers */

#include "kinds/kind/fields.h"
#include "kinds/pod/pod_fields.h"
#include "model/names.h"

static const char *const protocols[] = {"TCP", "UDP", "SCTP", NULL};
static const char *const message_policies[] = {"File", "FallbackToLogsOnError", NULL};
static const char *const pull_policies[] = {"Always", "IfNotPresent", "Never", NULL};

const struct field field_ref_fields[] = {
    F_STRING("apiVersion", "The version the path is written for.", .fallback = "\"v1\"",
             .size_max = 64),
    F_STRING("fieldPath", "Which field of the pod, as metadata.name or status.podIP.",
             .is_required = true, .size_max = 512),
    F_END,
};

const struct field resource_ref_fields[] = {
    F_STRING("containerName", "Which container; this one where it is not given.", .size_max = 63),
    F_STRING("resource", "Which amount, as limits.cpu or requests.memory.", .is_required = true,
             .size_max = 320),
    F_QUANTITY("divisor", "The unit of the result; 1 where it is not given."),
    F_END,
};

static const struct field key_ref_fields[] = {
    F_STRING("name", "The name of the object.", .size_max = 253, .check = name_check_subdomain,
             .is_required = true),
    F_STRING("key", "The key in it.", .is_required = true, .check = name_check_config_key),
    F_BOOL("optional", "Whether the object or key may be missing."),
    F_END,
};

static const struct field value_from_fields[] = {
    F_OBJECT("fieldRef", field_ref_fields, "A field of the pod."),
    F_OBJECT("resourceFieldRef", resource_ref_fields, "An amount that a container asks for."),
    F_OBJECT("configMapKeyRef", key_ref_fields, "A key of a config map."),
    F_OBJECT("secretKeyRef", key_ref_fields, "A key of a secret."),
    F_REFUSED("fileKeyRef", "A key in a file."),
    F_END,
};

static const struct field env_fields[] = {
    F_STRING("name", "The variable.", .is_required = true, .size_max = 1024,
             .check = name_check_env),
    F_STRING("value", "Its value; $(NAME) stands for one defined before.", .size_max = 128 << 10),
    F_OBJECT("valueFrom", value_from_fields, "Where its value comes from instead."),
    F_END,
};
static const struct field env_item = F_OBJECT(NULL, env_fields, "An environment variable.");

static const struct field object_ref_fields[] = {
    F_STRING("name", "The name of the object.", .is_required = true, .check = name_check_subdomain),
    F_BOOL("optional", "Whether the object may be missing."),
    F_END,
};

static const struct field env_from_fields[] = {
    F_STRING("prefix", "Put before every name.", .size_max = 1024, .check = name_check_env),
    F_OBJECT("configMapRef", object_ref_fields, "All keys of a config map."),
    F_OBJECT("secretRef", object_ref_fields, "All keys of a secret."),
    F_END,
};
static const struct field env_from_item =
    F_OBJECT(NULL, env_from_fields, "Environment variables from all keys of an object.");

static const struct field port_fields[] = {
    F_INT("containerPort", "The port that is listened on.", .is_required = true, .min = 1,
          .max = 65535),
    F_INT("hostPort", "The port of the node; pods that want the same one do not share a node.",
          .min = 0, .max = 65535),
    F_STRING("name", "A name for the port.", .size_max = 15, .check = name_check_label),
    F_STRING("protocol", "TCP, UDP or SCTP.", .fallback = "\"TCP\"", .values = protocols),
    F_STRING("hostIP", "Which address of the node.", .support = FIELD_REFUSED,
             .harmless = "\"0.0.0.0\""),
    F_END,
};
static const struct field port_item = F_OBJECT(NULL, port_fields, "A port of the container.");

static const struct field resources_fields[] = {
    F_MAP("limits", &quantity_item, "The most that the container may use.", .items_max = 64),
    F_MAP("requests", &quantity_item, "What is kept for it on its node.", .items_max = 64),
    F_REFUSED("claims", "Devices claimed by DRA."),
    F_END,
};

static const struct field mount_fields[] = {
    F_STRING("name", "The volume.", .is_required = true, .size_max = 63),
    F_STRING("mountPath", "Where it is in the container.", .is_required = true, .size_max = 4095),
    F_BOOL("readOnly", "Whether writing to it fails."),
    F_STRING("subPath", "A path inside the volume, mounted instead of all of it.",
             .size_max = 4095),
    F_STRING("subPathExpr", "The same, with $(NAME) for variables of the container.",
             .size_max = 4095),
    F_REFUSED("mountPropagation", "Whether mounts made later are seen.", .harmless = "\"None\""),
    F_REFUSED("recursiveReadOnly", "Whether mounts below are read-only too.",
              .harmless = "\"Disabled\""),
    F_END,
};
static const struct field mount_item = F_OBJECT(NULL, mount_fields, "A volume in the container.");

static const struct field container_fields[] = {
    F_STRING("name", "The container's name, unique in the pod.", .is_required = true,
             .check = name_check_label),
    F_STRING("image", "The image; host is the node's own root file system.", .is_required = true,
             .size_max = 4096),
    F_LIST("command", &string_item, "The program and its first arguments; else the image's.",
           .items_max = 4096),
    F_LIST("args", &string_item, "Arguments; else the image's.", .items_max = 4096),
    F_STRING("workingDir", "Where it starts; else the image's.", .size_max = 4095),
    F_LIST("ports", &port_item, "Ports it listens on.", .merge_key = "containerPort",
           .items_max = 128),
    F_LIST("envFrom", &env_from_item, "Variables from whole objects.", .items_max = 64),
    F_LIST("env", &env_item, "Variables, in their order.", .merge_key = "name"),
    F_OBJECT("resources", resources_fields, "What it asks for.", .fallback = "{}"),
    F_ANY("resizePolicy", "What happens when resources change.", .support = FIELD_IGNORED),
    F_REFUSED("restartPolicy", "Always makes an init container a sidecar."),
    F_REFUSED("restartPolicyRules", "Restarts by exit code."),
    F_LIST("volumeMounts", &mount_item, "The volumes in it.", .merge_key = "mountPath",
           .items_max = 128),
    F_REFUSED("volumeDevices", "Raw block devices in it."),
    F_OBJECT("livenessProbe", probe_fields, "Restarted where it fails."),
    F_OBJECT("readinessProbe", probe_fields, "Ready while it succeeds."),
    F_OBJECT("startupProbe", probe_fields,
             "Started when it succeeds; the other probes wait for it. Restarted where it fails."),
    F_OBJECT("lifecycle", lifecycle_fields, "What is called when it starts and ends."),
    F_STRING("terminationMessagePath", "A file for its last words, 4 KiB of them.",
             .fallback = "\"/dev/termination-log\"", .size_max = 4095),
    F_STRING("terminationMessagePolicy", "Where its last words come from.", .fallback = "\"File\"",
             .values = message_policies),
    F_STRING("imagePullPolicy", "When the image is fetched.", .values = pull_policies),
    F_OBJECT("securityContext", container_security_fields, "Rights of this container."),
    F_BOOL("stdin", "Whether its input stays open, for attach."),
    F_BOOL("stdinOnce", "Whether its input ends with the first session."),
    F_BOOL("tty", "Whether it gets a terminal."),
    F_END,
};

const struct field container_item =
    F_OBJECT(NULL, container_fields, "A container: a program with its files and limits.");
