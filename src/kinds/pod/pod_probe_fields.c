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
    F_STRING("value", "Its value.", .size_max = 4096),
    F_END,
};
static const struct field header_item = F_OBJECT(NULL, header_fields, "A header of the request.");

static const struct field http_fields[] = {
    F_STRING("host", "Who is asked; else the pod's address.", .size_max = 253),
    F_STRING("path", "What is asked for.", .fallback = "\"/\"", .size_max = 4096),
    F("port", FIELD_INT_OR_STRING, "The port, or the name of one of the container's.",
      .is_required = true),
    F_STRING("scheme", "HTTP, or HTTPS, whose certificate is not checked.", .fallback = "\"HTTP\"",
             .values = schemes),
    F_LIST("httpHeaders", &header_item, "Headers of the request.", .items_max = 64),
    F_END,
};

static const struct field tcp_fields[] = {
    F_STRING("host", "Who is asked; else the pod's address.", .size_max = 253),
    F("port", FIELD_INT_OR_STRING, "The port, or the name of one of the container's.",
      .is_required = true),
    F_END,
};

static const struct field sleep_fields[] = {
    F_INT("seconds", "How long.", .is_required = true),
    F_END,
};

const struct field probe_fields[] = {
    F_OBJECT("exec", exec_fields, "A command in the container: well where it ends with 0."),
    F_OBJECT("httpGet", http_fields, "A GET: well from status 200 to 399."),
    F_OBJECT("tcpSocket", tcp_fields, "A connection: well where it is made."),
    F_REFUSED("grpc", "The health service of gRPC."),
    F_INT32("initialDelaySeconds", "From the start of the container to the first probe."),
    F_INT32("timeoutSeconds", "After how long no answer is a failure; 1 where it is not given."),
    F_INT32("periodSeconds", "From one probe to the next; 10 where it is not given."),
    F_INT32("successThreshold", "After how many successes on end it counts as well again."),
    F_INT32("failureThreshold", "After how many failures on end it counts as failed; 3 where it is "
                                "not given."),
    F_INT32("terminationGracePeriodSeconds",
            "Between SIGTERM and SIGKILL when this probe failed; else the pod's."),
    F_END,
};

static const struct field hook_fields[] = {
    F_OBJECT("exec", exec_fields, "A command in the container."),
    F_OBJECT("httpGet", http_fields, "A GET."),
    F_OBJECT("sleep", sleep_fields, "Time that passes."),
    F_REFUSED("tcpSocket", "A connection: Kubernetes accepts it and never made one."),
    F_END,
};

const struct field lifecycle_fields[] = {
    F_OBJECT("postStart", hook_fields,
             "Right after the start; the container is not running before "
             "it is done, and is ended where it fails."),
    F_OBJECT("preStop", hook_fields, "Before SIGTERM, within the grace period."),
    F_STRING("stopSignal", "What is sent instead of SIGTERM.", .support = FIELD_REFUSED,
             .harmless = "\"SIGTERM\""),
    F_END,
};
