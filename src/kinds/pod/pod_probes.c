/* pod_probes.c - probes and lifecycle hooks: defaults and rules beyond the schema */

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "kinds/kind/cause.h"
#include "kinds/pod/pod_rules.h"
#include "kinds/pod/pod_view.h"

enum {
    PORT_NAME_MAX = 15
};

static const char *const probe_names[] = {"livenessProbe", "readinessProbe", "startupProbe"};

/* ---- defaults ---- */

static void set_number(json_t *object, const char *key, int64_t fallback)
{
    if (json_int(object, key, 0) == 0)
        json_put_int(object, key, fallback);
}

void container_set_probes(json_t *container)
{
    for (size_t i = 0; i < COUNT(probe_names); i++) {
        json_t *probe = json_object_get(container, probe_names[i]);

        if (!json_is_object(probe))
            continue;
        set_number(probe, "timeoutSeconds", 1);
        set_number(probe, "periodSeconds", 10);
        set_number(probe, "successThreshold", 1);
        set_number(probe, "failureThreshold", 3);
    }
}

/* ---- handlers ---- */

static bool is_header_name(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");

    return n > 0 && name[n] == '\0';
}

/* The fault of a port's name; NULL: none. */
static const char *port_name_fault(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    size_t size = strlen(name);

    if (size > PORT_NAME_MAX)
        return "must be no more than 15 characters";
    if (size == 0 || strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != size)
        return "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)";
    if (!strpbrk(name, letters))
        return "must contain at least one letter (a-z)";
    if (strstr(name, "--"))
        return "must not contain consecutive hyphens";
    if (name[0] == '-' || name[size - 1] == '-')
        return "must not begin or end with a hyphen";
    return NULL;
}

static void validate_port(const json_t *action, const struct path *at, struct causes *causes)
{
    const json_t *port = json_object_get(action, "port");
    const struct path *here = PATH(at, "port");

    if (json_is_string(port)) {
        const char *fault = port_name_fault(json_string_value(port));

        if (fault)
            cause_invalid(causes, here, json_string_value(port), fault);
    } else if (json_is_integer(port)) {
        int64_t number = json_integer_value(port);

        if (number < 1 || number > 65535)
            cause_invalid_int(causes, here, number, "must be between 1 and 65535, inclusive");
    }
}

/* Does the text have control characters, which could end a line or the head of the request? */
static bool has_control(const char *text)
{
    for (; text && *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return true;
    return false;
}

static void validate_http(const json_t *http, const struct path *at, struct causes *causes)
{
    const json_t *headers = json_object_get(http, "httpHeaders");
    const char *path = json_text(http, "path");
    const char *host = json_text(http, "host");

    if (has_control(path))
        cause_invalid(causes, PATH(at, "path"), path, "must not contain control characters");
    if (host && strpbrk(host, "/?#@ \\\t\r\n"))
        cause_invalid(causes, PATH(at, "host"), host, "must be a host name or an address");
    validate_port(http, at, causes);
    for (size_t i = 0; i < json_array_size(headers); i++) {
        const json_t *header = json_array_get(headers, i);
        const char *name = json_text(header, "name");
        const struct path *here = PATH_INDEX(PATH(at, "httpHeaders"), i);

        if (name && *name && !is_header_name(name))
            cause_invalid(causes, PATH(at, "httpHeaders"), name,
                          "a valid HTTP header must consist of alphanumeric characters or '-' "
                          "(e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')");
        if (has_control(json_text(header, "value")))
            cause_invalid(causes, PATH(here, "value"), json_text(header, "value"),
                          "must not contain control characters");
    }
}

static void validate_tcp(const json_t *tcp, const struct path *at, struct causes *causes)
{
    const char *host = json_text(tcp, "host");

    if (host && strpbrk(host, "/?#@ \\\t\r\n"))
        cause_invalid(causes, PATH(at, "host"), host, "must be a host name or an address");
    validate_port(tcp, at, causes);
}

static void validate_sleep(const json_t *sleep, int64_t grace_s, const struct path *at,
                           struct causes *causes)
{
    int64_t seconds = json_int(sleep, "seconds", 0);
    AUTO_FREE char *detail = mem_format(
        "must be non-negative and less than terminationGracePeriodSeconds (%" PRId64 ")", grace_s);

    if (seconds < 0 || seconds > grace_s)
        cause_invalid_int(causes, PATH(at, "seconds"), seconds, detail);
}

/* A probe or hook must have exactly one handler. */
static void validate_handler(const json_t *handler, int64_t grace_s, const struct path *at,
                             struct causes *causes)
{
    static const char *const types[] = {"exec", "httpGet", "tcpSocket", "grpc", "sleep"};
    size_t n = 0;

    for (size_t i = 0; i < COUNT(types); i++) {
        const json_t *action = json_object_get(handler, types[i]);
        const struct path *here = PATH(at, types[i]);

        if (!action || json_is_null(action))
            continue;
        n++;
        if (n > 1)
            cause_forbidden(causes, here, "may not specify more than 1 handler type");
        else if (i == 0 && json_array_size(json_object_get(action, "command")) == 0)
            cause_required(causes, PATH(here, "command"), "");
        else if (i == 1)
            validate_http(action, here, causes);
        else if (i == 2)
            validate_tcp(action, here, causes);
        else if (i == 4)
            validate_sleep(action, grace_s, here, causes);
    }
    if (n == 0)
        cause_required(causes, at, "must specify a handler type");
}

/* ---- probes ---- */

static void validate_numbers(const json_t *probe, const struct path *at, struct causes *causes)
{
    static const char *const names[] = {"initialDelaySeconds", "timeoutSeconds", "periodSeconds",
                                        "successThreshold", "failureThreshold"};

    for (size_t i = 0; i < COUNT(names); i++)
        if (json_int(probe, names[i], 0) < 0)
            cause_invalid_int(causes, PATH(at, names[i]), json_int(probe, names[i], 0),
                              "must be greater than or equal to 0");
}

static void validate_probe(const json_t *probe, const char *name, int64_t grace_s,
                           const struct path *at, struct causes *causes)
{
    const json_t *grace = json_object_get(probe, "terminationGracePeriodSeconds");
    bool is_readiness = text_equal(name, "readinessProbe");
    int64_t successes = json_int(probe, "successThreshold", 1);

    validate_handler(probe, grace_s, at, causes);
    validate_numbers(probe, at, causes);
    if (json_is_integer(grace) && json_integer_value(grace) <= 0)
        cause_invalid_int(causes, PATH(at, "terminationGracePeriodSeconds"),
                          json_integer_value(grace), "must be greater than 0");
    if (json_is_integer(grace) && is_readiness)
        cause_invalid_int(causes, PATH(at, "terminationGracePeriodSeconds"),
                          json_integer_value(grace), "must not be set for readinessProbes");
    if (!is_readiness && successes != 1)
        cause_invalid_int(causes, PATH(at, "successThreshold"), successes, "must be 1");
}

static void forbid_for_init(const json_t *container, const struct path *at, struct causes *causes)
{
    static const char *const names[] = {"lifecycle", "livenessProbe", "readinessProbe",
                                        "startupProbe"};

    for (size_t i = 0; i < COUNT(names); i++)
        if (json_is_object(json_object_get(container, names[i])))
            cause_forbidden(causes, PATH(at, names[i]),
                            "may not be set for init containers without restartPolicy=Always");
}

/* The path becomes a mount point: it must not hide directories of the container. */
static void validate_message_path(const json_t *container, const struct path *at,
                                  struct causes *causes)
{
    const char *path = json_text(container, "terminationMessagePath");
    const struct path *here = PATH(at, "terminationMessagePath");
    struct str rest = str_of(path ? path : "");

    if (rest.size == 0)
        return;
    if (*path != '/' || path[1] == '\0' || text_ends_with(path, "/"))
        cause_invalid(causes, here, path, "must be the absolute path of a file");
    while (rest.at) {
        struct str part = str_cut(&rest, '/');

        if (str_equal(part, STR("..")) || str_equal(part, STR("."))) {
            cause_invalid(causes, here, path, "must not contain '..'");
            return;
        }
    }
}

void container_validate_probes(const json_t *container, const json_t *spec, bool is_init,
                               const struct path *at, struct causes *causes)
{
    static const char *const hooks[] = {"postStart", "preStop"};
    int64_t grace_s = json_int(spec, "terminationGracePeriodSeconds", 30);
    const json_t *lifecycle = json_object_get(container, "lifecycle");

    validate_message_path(container, at, causes);
    if (is_init && !container_is_sidecar(container)) {
        forbid_for_init(container, at, causes);
        return;
    }
    for (size_t i = 0; i < COUNT(probe_names); i++) {
        const json_t *probe = json_object_get(container, probe_names[i]);

        if (json_is_object(probe))
            validate_probe(probe, probe_names[i], grace_s, PATH(at, probe_names[i]), causes);
    }
    for (size_t i = 0; i < COUNT(hooks); i++) {
        const json_t *hook = json_object_get(lifecycle, hooks[i]);

        if (json_is_object(hook))
            validate_handler(hook, grace_s, PATH(PATH(at, "lifecycle"), hooks[i]), causes);
    }
}
