/* ingress_validate.c - rules of hosts, paths and backends of an Ingress, and of an IngressClass */

#include "base/mem.h"
#include "base/str.h"
#include "kinds/kind/value.h"
#include "kinds/service/ingress.h"
#include "model/ip4.h"
#include "model/names.h"

enum {
    PORT_MAX = 65535,
    CONTROLLER_MAX = 250
};

static const char wildcard_words[] =
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which "
    "must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric "
    "character (e.g. '*.example.com', regex used for validation is "
    "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

static void validate_subdomain(const char *text, const struct path *at, struct causes *causes)
{
    cause_take(causes, at, text, name_check_subdomain(text));
}

static void validate_host(const char *host, const struct path *at, struct causes *causes)
{
    AUTO(err_freep) struct err *e = NULL;

    if (!strchr(host, '*')) {
        validate_subdomain(host, at, causes);
        return;
    }
    if (text_starts_with(host, "*."))
        e = name_check_subdomain(host + 2);
    if (e || !text_starts_with(host, "*."))
        cause_invalid(causes, at, host, wildcard_words);
}

/* The name of a kind or an object, as a part of a URL. */
static void validate_segment(const json_t *object, const char *key, const struct path *at,
                             struct causes *causes)
{
    const char *text = value_text(object, key);
    const struct path *here = PATH(at, key);

    if (!*text)
        cause_required(causes, here, "");
    else if (text_equal(text, ".") || text_equal(text, ".."))
        cause_invalid(causes, here, text, text[1] ? "may not be '..'" : "may not be '.'");
    else if (strchr(text, '/'))
        cause_invalid(causes, here, text, "may not contain '/'");
    else if (strchr(text, '%'))
        cause_invalid(causes, here, text, "may not contain '%'");
}

static void validate_reference(const json_t *reference, const struct path *at,
                               struct causes *causes)
{
    const char *group = json_text(reference, "apiGroup");

    if (group)
        validate_subdomain(group, PATH(at, "apiGroup"), causes);
    validate_segment(reference, "kind", at, causes);
    validate_segment(reference, "name", at, causes);
}

/* ---- Ingress ---- */

static void validate_service(const json_t *service, const struct path *backend,
                             struct causes *causes)
{
    const struct path *at = PATH(backend, "service");
    const char *name = value_text(service, "name");
    const json_t *port = json_object_get(service, "port");
    const char *port_name = value_text(port, "name");
    int64_t number = json_int(port, "number", 0);

    if (*name)
        cause_take(causes, PATH(at, "name"), name, name_check_service(name));
    else
        cause_required(causes, PATH(at, "name"), "");
    if (*port_name && number != 0)
        cause_invalid(causes, backend, "", "cannot set both port name & port number");
    else if (*port_name)
        cause_take(causes, PATH(PATH(at, "port"), "name"), port_name, name_check_port(port_name));
    else if (number == 0)
        cause_required(causes, backend, "port name or number is required");
    else if (number < 1 || number > PORT_MAX)
        cause_invalid_int(causes, PATH(PATH(at, "port"), "number"), number,
                          "must be between 1 and 65535, inclusive");
}

static void validate_backend(const json_t *backend, const struct path *at, struct causes *causes)
{
    const json_t *resource = json_object_get(backend, "resource");
    const json_t *service = json_object_get(backend, "service");

    if (resource && service)
        cause_invalid(causes, at, "", "cannot set both resource and service backends");
    else if (resource)
        validate_reference(resource, PATH(at, "resource"), causes);
    else if (service)
        validate_service(service, at, causes);
    else
        cause_invalid(causes, at, "", "resource or service backend is required");
}

static void validate_parts_of_path(const char *text, const struct path *at, struct causes *causes)
{
    static const char *const inside[] = {"//", "/./", "/../", "%2f", "%2F"};
    static const char *const last[] = {"/..", "/."};

    for (size_t i = 0; i < COUNT(inside); i++) {
        AUTO_FREE char *detail = mem_format("must not contain '%s'", inside[i]);

        if (strstr(text, inside[i]))
            cause_invalid(causes, at, text, detail);
    }
    for (size_t i = 0; i < COUNT(last); i++) {
        AUTO_FREE char *detail = mem_format("cannot end with '%s'", last[i]);

        if (text_ends_with(text, last[i]))
            cause_invalid(causes, at, text, detail);
    }
}

static void validate_path(const json_t *path, const struct path *at, struct causes *causes)
{
    static const char *const types[] = {"Exact", "ImplementationSpecific", "Prefix", NULL};
    const char *type = json_text(path, "pathType");
    const char *text = value_text(path, "path");
    const struct path *here = PATH(at, "path");
    bool is_any = text_equal(type, "ImplementationSpecific");
    bool is_known = is_any || text_equal(type, "Exact") || text_equal(type, "Prefix");

    if (!type) {
        cause_required(causes, PATH(at, "pathType"), "pathType must be specified");
        return;
    }
    if (!is_known)
        cause_unsupported(causes, PATH(at, "pathType"), type, types);
    else if (*text != '/' && (*text || !is_any))
        cause_invalid(causes, here, text, "must be an absolute path");
    if (is_known && !is_any)
        validate_parts_of_path(text, here, causes);
    validate_backend(json_object_get(path, "backend"), PATH(at, "backend"), causes);
}

static bool is_address(const char *host)
{
    uint32_t address = 0;
    AUTO(err_freep) struct err *e = ip4_parse(host, &address);

    return !e || ip_is_six(host);
}

static void validate_rule(const json_t *rule, const struct path *at, struct causes *causes)
{
    const char *host = value_text(rule, "host");
    const json_t *http = json_object_get(rule, "http");
    const json_t *paths = json_object_get(http, "paths");
    const struct path *here = PATH(PATH(at, "http"), "paths");

    if (*host && is_address(host))
        cause_invalid(causes, PATH(at, "host"), host, "must be a DNS name, not an IP address");
    if (*host)
        validate_host(host, PATH(at, "host"), causes);
    if (http && json_array_size(paths) == 0)
        cause_required(causes, here, "");
    for (size_t i = 0; i < json_array_size(paths); i++)
        validate_path(json_array_get(paths, i), PATH_INDEX(here, i), causes);
}

static void validate_certificate(const json_t *tls, const struct path *at, struct causes *causes)
{
    const json_t *hosts = json_object_get(tls, "hosts");
    const char *secret = value_text(tls, "secretName");

    for (size_t i = 0; i < json_array_size(hosts); i++)
        validate_host(text_or_empty(json_string_value(json_array_get(hosts, i))),
                      PATH_INDEX(PATH(at, "hosts"), i), causes);
    if (*secret)
        validate_subdomain(secret, PATH(at, "secretName"), causes);
}

void ingress_validate(const json_t *ingress, struct causes *causes)
{
    const struct path *at = PATH(NULL, "spec");
    const json_t *spec = json_object_get(ingress, "spec");
    const json_t *rules = json_object_get(spec, "rules");
    const json_t *tls = json_object_get(spec, "tls");
    const json_t *backend = json_object_get(spec, "defaultBackend");
    const char *class = json_text(spec, "ingressClassName");
    AUTO(json_freep) json_t *nothing = json_null();

    if (json_array_size(rules) == 0 && !backend)
        cause_invalid_json(causes, at, nothing,
                           "either `defaultBackend` or `rules` must be specified");
    if (backend)
        validate_backend(backend, PATH(at, "defaultBackend"), causes);
    for (size_t i = 0; i < json_array_size(rules); i++)
        validate_rule(json_array_get(rules, i), PATH_INDEX(PATH(at, "rules"), i), causes);
    for (size_t i = 0; i < json_array_size(tls); i++)
        validate_certificate(json_array_get(tls, i), PATH_INDEX(PATH(at, "tls"), i), causes);
    if (class)
        validate_subdomain(class, PATH(at, "ingressClassName"), causes);
}

/* ---- IngressClass ---- */

static void validate_controller(const char *text, const struct path *at, struct causes *causes)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                  "/-._~%!$&'()*+,;=:";
    const char *slash = strchr(text, '/');
    AUTO_FREE char *domain = slash ? mem_strndup(text, (size_t)(slash - text)) : NULL;

    if (strlen(text) > CONTROLLER_MAX)
        cause_too_long(causes, at, CONTROLLER_MAX);
    if (!*text) {
        cause_required(causes, at, "");
        return;
    }
    if (!domain || !*domain || !slash[1]) {
        cause_invalid(causes, at, text, "must be a domain-prefixed path (such as \"acme.io/foo\")");
        return;
    }
    validate_subdomain(domain, at, causes);
    if (slash[1 + strspn(slash + 1, letters)])
        cause_invalid(causes, at, slash + 1,
                      "Invalid path (regex used for validation is "
                      "'[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')");
}

static void validate_parameters(const json_t *parameters, const struct path *at,
                                struct causes *causes)
{
    static const char *const scopes[] = {"Cluster", "Namespace", NULL};
    const char *scope = value_text(parameters, "scope");
    const char *ns = json_text(parameters, "namespace");
    const struct path *here = PATH(at, "namespace");

    validate_reference(parameters, at, causes);
    if (text_equal(scope, "Namespace") && !ns)
        cause_required(causes, here, "`parameters.scope` is set to 'Namespace'");
    else if (text_equal(scope, "Namespace"))
        cause_take(causes, here, ns, name_check_label(ns));
    else if (!text_equal(scope, "Cluster"))
        cause_unsupported(causes, PATH(at, "scope"), scope, scopes);
    else if (ns)
        cause_forbidden(causes, here, "`parameters.scope` is set to 'Cluster'");
}

void ingress_class_validate(const json_t *class, struct causes *causes)
{
    const struct path *at = PATH(NULL, "spec");
    const json_t *spec = json_object_get(class, "spec");
    const json_t *parameters = json_object_get(spec, "parameters");

    validate_controller(value_text(spec, "controller"), PATH(at, "controller"), causes);
    if (parameters)
        validate_parameters(parameters, PATH(at, "parameters"), causes);
}

bool ingress_class_is_default(const json_t *class)
{
    return text_equal(json_text_at(class, "metadata", "annotations", INGRESS_DEFAULT_CLASS, NULL),
                      "true");
}
