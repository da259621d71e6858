/* routes.c - the table of routes, and paths to resources */

#include "api/routes.h"

#include "api/handlers.h"
#include "kinds/object/scale.h"

#define OPEN(p, fn)                                                                        \
    {                                                                                      \
        .method = "GET", .shape = ROUTE_PATH, .path = (p), .is_open = true, .handle = (fn) \
    }
#define INFO(p, fn)                                                       \
    {                                                                     \
        .method = "GET", .shape = ROUTE_PATH, .path = (p), .handle = (fn) \
    }
#define INFO_BELOW(p, fn)                                                   \
    {                                                                       \
        .method = "GET", .shape = ROUTE_PREFIX, .path = (p), .handle = (fn) \
    }
#define ALL(m, v, fn)                                                         \
    {                                                                         \
        .method = (m), .shape = ROUTE_COLLECTION, .verb = (v), .handle = (fn) \
    }
#define ONE(m, v, fn)                                                     \
    {                                                                     \
        .method = (m), .shape = ROUTE_OBJECT, .verb = (v), .handle = (fn) \
    }
#define SUB(m, p, s, v, fn)                                                                \
    {                                                                                      \
        .method = (m), .shape = ROUTE_SUB, .plural = (p), .subresource = (s), .verb = (v), \
        .handle = (fn)                                                                     \
    }
#define REFUSED(m, p, s, v)                                                                \
    {                                                                                      \
        .method = (m), .shape = ROUTE_SUB, .plural = (p), .subresource = (s), .verb = (v), \
        .is_refused = true, .handle = handle_refused                                       \
    }

/* Kubernetes has no verb for OPTIONS: only a rule for all verbs allows it. */
#define PROXY(p, fn)                                                                 \
    SUB("GET", p, "proxy", "get", fn), SUB("POST", p, "proxy", "create", fn),        \
        SUB("PUT", p, "proxy", "update", fn), SUB("PATCH", p, "proxy", "patch", fn), \
        SUB("DELETE", p, "proxy", "delete", fn), SUB("OPTIONS", p, "proxy", "options", fn)

const struct route routes[] = {
    OPEN("/healthz", handle_health),
    OPEN("/livez", handle_health),
    OPEN("/readyz", handle_health),
    OPEN("/version", handle_version),
    OPEN("/mete.dev/v1/ca", handle_ca),
    {.method = "POST",
     .shape = ROUTE_PATH,
     .path = "/mete.dev/v1/node-join",
     .is_open = true, /* the one-time token in the body is the proof */
     .handle = handle_node_join},
    {.method = "POST",
     .shape = ROUTE_PATH,
     .path = "/mete.dev/v1/node-tokens",
     .handle = handle_node_tokens},
    {.method = "POST",
     .shape = ROUTE_PATH,
     .path = "/mete.dev/v1/node-renewals",
     .handle = handle_node_renewal},
    {.method = "POST",
     .shape = ROUTE_PATH,
     .path = "/mete.dev/v1/node-door",
     .handle = handle_node_door},
    {.method = "POST",
     .shape = ROUTE_PATH,
     .path = "/mete.dev/v1/slurm-tokens",
     .handle = handle_slurm_token},
    INFO("/mete.dev/v1/secret-key", handle_secret_key),
    {.method = "POST",
     .shape = ROUTE_PATH,
     .path = "/mete.dev/v1/secret-key",
     .handle = handle_secret_key},
    INFO("/api", handle_api),
    INFO("/apis", handle_apis),
    INFO("/openapi/v2", handle_openapi_v2),
    INFO_BELOW("/openapi/v3", handle_openapi_v3),
    INFO("/mete.dev/v1/audit", handle_audit),
    INFO("/mete.dev/v1/audit/head", handle_audit),
    INFO("/apis/mete.dev/v1/accounting", handle_report),
    INFO("/apis/mete.dev/v1/advice", handle_report),
    INFO("/apis/mete.dev/v1/free", handle_report),
    INFO("/apis/mete.dev/v1/history", handle_report),
    INFO("/apis/mete.dev/v1/jobs", handle_report),
    INFO("/apis/mete.dev/v1/ps", handle_ps),
    INFO("/apis/mete.dev/v1/recording", handle_report),
    INFO("/apis/mete.dev/v1/requests", handle_requests),
    INFO("/apis/mete.dev/v1/rollup", handle_report),
    INFO("/apis/mete.dev/v1/usage", handle_report),
    INFO("/apis/mete.dev/v1/slurm", handle_report),
    INFO("/apis/mete.dev/v1/waiting", handle_report),
    INFO("/apis/mete.dev/v1/wall", handle_report),
    INFO("/apis/mete.dev/v1/what-if", handle_report),
    INFO("/metrics", handle_metrics),
    {.method = "POST", .shape = ROUTE_PATH, .path = SIGN_IN_PATH, .handle = handle_sign_in},
    {.method = "POST", .shape = ROUTE_PATH, .path = SESSION_PATH, .handle = handle_session},
    {.method = "DELETE", .shape = ROUTE_PATH, .path = SESSION_PATH, .handle = handle_session},
    {.method = "GET",
     .shape = ROUTE_PREFIX,
     .path = "/mete.dev/v1/nodes",
     .handle = handle_node_stream},
    {.method = "POST",
     .shape = ROUTE_PREFIX,
     .path = "/mete.dev/v1/nodes",
     .handle = handle_node_stream},
    {.method = "DELETE",
     .shape = ROUTE_PREFIX,
     .path = "/mete.dev/v1/nodes",
     .handle = handle_node_images},
    ALL("GET", "list", handle_list_or_watch),
    ALL("POST", "create", handle_create),
    ALL("DELETE", "deletecollection", handle_delete_collection),
    ONE("GET", "get", handle_get),
    ONE("PUT", "update", handle_update),
    ONE("PATCH", "patch", handle_patch),
    ONE("DELETE", "delete", handle_delete),
    SUB("GET", NULL, "status", "get", handle_get),
    SUB("PUT", NULL, "status", "update", handle_update),
    SUB("PATCH", NULL, "status", "patch", handle_patch),
    SUB("GET", NULL, "scale", "get", handle_get_scale),
    SUB("PUT", NULL, "scale", "update", handle_update_scale),
    SUB("PATCH", NULL, "scale", "patch", handle_patch_scale),
    SUB("GET", "pods", "ephemeralcontainers", "get", handle_get),
    SUB("PUT", "pods", "ephemeralcontainers", "update", handle_ephemeral_containers),
    SUB("PATCH", "pods", "ephemeralcontainers", "patch", handle_ephemeral_containers),
    SUB("POST", "pods", "binding", "create", handle_create),
    SUB("PUT", "namespaces", "finalize", "update", handle_update),
    SUB("GET", "pods", "log", "get", handle_pod_log),
    SUB("GET", "pods", "exec", "get", handle_pod_exec),
    SUB("POST", "pods", "exec", "create", handle_pod_exec),
    SUB("GET", "pods", "attach", "get", handle_pod_attach),
    SUB("POST", "pods", "attach", "create", handle_pod_attach),
    SUB("GET", "pods", "portforward", "get", handle_pod_portforward),
    SUB("POST", "pods", "portforward", "create", handle_pod_portforward),
    SUB("POST", "pods", "signal", "create", handle_pod_signal),
    SUB("POST", "serviceaccounts", "token", "create", handle_token_request),
    SUB("POST", "pods", "eviction", "create", handle_eviction),
    REFUSED("PATCH", "pods", "resize", "patch"),
    PROXY("pods", handle_pod_proxy),
    PROXY("services", handle_service_proxy),
    REFUSED("GET", "nodes", "proxy", "get"),
    /* Last: a list of the group's resources, "/api/v1" and "/apis/GROUP/VERSION". */
    INFO_BELOW("/api", handle_group),
    INFO_BELOW("/apis", handle_group),
};

const size_t routes_count = COUNT(routes);

struct err *not_found_path(void)
{
    return err_new(ERR_NOT_FOUND, "the server could not find the requested resource");
}

/* The error for an unknown resource; it begins with the words that client libraries know. */
static struct err *not_served(const char *group, const char *version, const char *plural)
{
    const struct kind *other = kind_find(group, plural);
    const char *dot = *group ? "." : "";

    if (other && !text_equal(other->version, version))
        return err_new(ERR_NOT_FOUND,
                       "the server could not find the requested resource: %.253s%s%.253s is served "
                       "as %s, not as %.63s",
                       plural, dot, group, other->version, version);
    return err_new(ERR_NOT_FOUND,
                   "the server could not find the requested resource: Mete does not serve "
                   "%.253s%s%.253s",
                   plural, dot, group);
}

static bool segment_is(const struct request_target *t, size_t i, const char *text)
{
    return i < t->n && text_equal(t->segments[i], text);
}

/* The index of the segment after group and version; 0: not a path of a resource. */
static size_t resource_begin(const struct request_target *t, const char **ret_group,
                             const char **ret_version)
{
    if (segment_is(t, 0, "api") && t->n > 2) {
        *ret_group = "";
        *ret_version = t->segments[1];
        return 2;
    }
    if (segment_is(t, 0, "apis") && t->n > 3) {
        *ret_group = t->segments[1];
        *ret_version = t->segments[2];
        return 3;
    }
    return 0;
}

/* Splits namespaces/NS/PLURAL/NAME/SUB, and namespaces/NAME/status, which differ only in the third
 * word. */
static struct err *match_resource(const struct request_target *t, size_t i, const char *group,
                                  const char *version, struct route_match *ret)
{
    struct route_match m = {0};
    bool is_scoped = segment_is(t, i, "namespaces") && t->n - i > 2 &&
                     !segment_is(t, i + 2, "status") && !segment_is(t, i + 2, "finalize");

    if (is_scoped) {
        m.ns = t->segments[i + 1];
        i += 2;
    }
    m.kind = kind_find_version(group, version, t->segments[i]);
    m.name = i + 1 < t->n ? t->segments[i + 1] : NULL;
    m.subresource = i + 2 < t->n ? t->segments[i + 2] : NULL;
    if (!m.kind)
        return not_served(group, version, t->segments[i]);
    if (i + 3 < t->n)
        return not_found_path();
    if (m.kind->is_namespaced ? (m.name && !m.ns) : m.ns != NULL)
        return not_found_path();
    m.shape = m.subresource ? ROUTE_SUB : m.name ? ROUTE_OBJECT : ROUTE_COLLECTION;
    *ret = m;
    return NULL;
}

static bool resource_fits(const struct route *r, const struct route_match *m)
{
    if (r->shape != m->shape || !m->kind)
        return false;
    if (r->plural && (*m->kind->group || !text_equal(r->plural, m->kind->plural)))
        return false;
    if (r->shape != ROUTE_SUB)
        return true;
    if (!text_equal(r->subresource, m->subresource))
        return false;
    if (!r->plural && text_equal(r->subresource, "scale"))
        return scale_is_of(m->kind);
    return r->plural || m->kind->has_status;
}

static bool path_fits(const struct route *r, const struct request_target *t)
{
    struct str rest = str_of(r->path);
    size_t i = 0;

    (void)str_cut(&rest, '/');
    while (rest.at) {
        struct str want = str_cut(&rest, '/');

        if (i == t->n || !str_equal(want, str_of(t->segments[i])))
            return false;
        i++;
    }
    return i == t->n || r->shape == ROUTE_PREFIX;
}

static bool fits(const struct route *r, const struct request_target *t, const struct route_match *m)
{
    if (r->shape == ROUTE_PATH || r->shape == ROUTE_PREFIX)
        return !m->kind && path_fits(r, t);
    return resource_fits(r, m);
}

/* Is it a ROUTE_PATH? Some look like a resource's path. */
static bool is_whole_path(const struct request_target *t)
{
    for (size_t i = 0; i < routes_count; i++) {
        if (routes[i].shape == ROUTE_PATH && path_fits(&routes[i], t))
            return true;
    }
    return false;
}

struct err *routes_find(struct arena *a, const char *method, const struct request_target *t,
                        struct route_match *ret_match, const struct route **ret_route,
                        const char **ret_allow)
{
    const char *group = "";
    const char *version = "";
    struct route_match m = {0};
    const char *allow = NULL;
    size_t begin = is_whole_path(t) ? 0 : resource_begin(t, &group, &version);

    if (begin > 0)
        TRY(match_resource(t, begin, group, version, &m));
    for (size_t i = 0; i < routes_count; i++) {
        if (!fits(&routes[i], t, &m))
            continue;
        if (text_equal(routes[i].method, method)) {
            *ret_match = m;
            *ret_route = &routes[i];
            return NULL;
        }
        allow = allow ? arena_format(a, "%s, %s", allow, routes[i].method) : routes[i].method;
    }
    if (!allow)
        return not_found_path();
    *ret_match = m;
    *ret_route = NULL;
    *ret_allow = allow;
    return NULL;
}

struct err *handle_refused(struct call *c)
{
    AUTO(json_freep) json_t *status = NULL;
    struct status_about about = {.kind = c->kind, .name = c->name};

    status = status_new(501, "NotImplemented",
                        arena_format(c->arena, "the subresource %s/%s is not implemented yet",
                                     c->kind->plural, c->subresource),
                        &about);
    reply_json(c->x, 501, status, NULL);
    return NULL;
}
