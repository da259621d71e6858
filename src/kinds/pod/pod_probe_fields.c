/* pod_probe_fields.c - the schema of probes and lifecycle hooks */

#include "kinds/kind/fields.h"
#include "kinds/pod/pod_fields.h"

#define F_INT32(name, text) F_INT(name, text, .min = INT32_MIN, .max = INT32_MAX)

static const char *const schemes[] = {"HTTP", "HTTPS", NULL};

static const struct field exec_fields[] = {
    F_LIST("command", &string_item, "The program and its arguments; no shell.", .items_max = 4096),
    F_END,
};

static const struct field header_fields[] = {
    F_STRING("name", "The header.", .is_required = true, .size_max = 256),
    F_STRING("value", "The value.", .size_max = 4096),
    F_END,
};
static const struct field header_item = F_OBJECT(NULL, header_fields, "A header of the request.");

static const struct field http_fields[] = {
    F_STRING("host", "The host; default: the pod's address.", .size_max = 253),
    F_STRING("path", "The path.", .fallback = "\"/\"", .size_max = 4096),
    F("port", FIELD_INT_OR_STRING, "The port, or the name of a port of the container.",
      .is_required = true),
    F_STRING("scheme", "HTTP, or HTTPS (the certificate is not checked).", .fallback = "\"HTTP\"",
             .values = schemes),
    F_LIST("httpHeaders", &header_item, "Headers of the request.", .items_max = 64),
    F_END,
};

static const struct field tcp_fields[] = {
    F_STRING("host", "The host; default: the pod's address.", .size_max = 253),
    F("port", FIELD_INT_OR_STRING, "The port, or the name of a port of the container.",
      .is_required = true),
    F_END,
};

static const struct field grpc_fields[] = {
    F_INT("port", "The port.", .is_required = true, .min = 1, .max = 65535),
    F_STRING("service", "The service that is asked about; \"\": the server.", .fallback = "\"\"",
             .size_max = 253),
    F_END,
};

static const struct field sleep_fields[] = {
    F_INT("seconds", "Seconds to sleep.", .is_required = true),
    F_END,
};

const struct field probe_fields[] = {
    F_OBJECT("exec", exec_fields, "A command in the container; success: exit code 0."),
    F_OBJECT("httpGet", http_fields, "A GET request; success: status 200 to 399."),
    F_OBJECT("tcpSocket", tcp_fields, "A TCP connection; success: it opens."),
    F_OBJECT("grpc", grpc_fields, "gRPC's health service; success: it says SERVING."),
    F_INT32("initialDelaySeconds", "Seconds from the container's start to the first probe."),
    F_INT32("timeoutSeconds", "Seconds until a probe without an answer fails; default 1."),
    F_INT32("periodSeconds", "Seconds between probes; default 10."),
    F_INT32("successThreshold",
            "Consecutive successes after which the probe counts as successful."),
    F_INT32("failureThreshold",
            "Consecutive failures after which the probe counts as failed; default 3."),
    F_INT32(
        "terminationGracePeriodSeconds",
        "Seconds between SIGTERM and SIGKILL after a failure of this probe; default: the pod's."),
    F_END,
};

static const struct field hook_fields[] = {
    F_OBJECT("exec", exec_fields, "A command in the container."),
    F_OBJECT("httpGet", http_fields, "A GET request."),
    F_OBJECT("sleep", sleep_fields, "A pause."),
    F_REFUSED("tcpSocket", "A TCP connection; Kubernetes accepts the field without effect."),
    F_END,
};

const struct field lifecycle_fields[] = {
    F_OBJECT("postStart", hook_fields,
             "The hook right after the start. The container is not running until it ends, and is "
             "killed if it fails."),
    F_OBJECT("preStop", hook_fields, "The hook before SIGTERM, within the grace period."),
    F_STRING("stopSignal", "The signal instead of SIGTERM.", .support = FIELD_REFUSED,
             .harmless = "\"SIGTERM\""),
    F_END,
};
