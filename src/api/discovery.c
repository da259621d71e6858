/* discovery.c - version, health, API groups and resources: in one document (aggregated discovery),
 * and in many for older clients */

#include "api/handlers.h"
#include "base/mem.h"
#include "base/version.h"
#include "kinds/object/scale.h"

struct err *handle_health(struct call *c)
{
    const struct api_reply r = {
        .status = 200, .content_type = "text/plain; charset=utf-8", .body = STR("ok")};

    c->x->ops->reply(c->x, &r);
    return NULL;
}

struct err *handle_version(struct call *c)
{
    AUTO(json_freep) json_t *v = json_object();

    json_put_text(v, "major", METE_KUBERNETES_MAJOR);
    json_put_text(v, "minor", METE_KUBERNETES_MINOR);
    json_put_text(v, "gitVersion", METE_KUBERNETES_VERSION);
    json_put_text(v, "gitCommit", "");
    json_put_text(v, "gitTreeState", "");
    json_put_text(v, "buildDate", "1970-01-01T00:00:00Z");
    json_put_text(v, "goVersion", "none");
    json_put_text(v, "compiler", "gcc");
    json_put_text(v, "platform", "linux/amd64");
    reply_json(c->x, 200, v, NULL);
    return NULL;
}

/* ---- resources ---- */

/* A subresource with a kind of its own. */
struct subresource {
    const char *plural; /* plural of a kind of the core group */
    const char *name;
    const char *group; /* group of the kind that clients send; NULL: the parent's */
    const char *version;
    const char *kind; /* NULL: its parent's */
    const char *verbs;
};

#define PROXY_VERBS "create delete get patch update"

static const struct subresource subresources[] = {
    {"namespaces", "finalize", NULL, NULL, NULL, "update"},
    {"pods", "attach", "", "v1", "PodAttachOptions", "create get"},
    {"pods", "binding", "", "v1", "Binding", "create"},
    {"pods", "ephemeralcontainers", NULL, NULL, NULL, "get patch update"},
    {"pods", "eviction", "policy", "v1", "Eviction", "create"},
    {"pods", "exec", "", "v1", "PodExecOptions", "create get"},
    {"pods", "log", NULL, NULL, NULL, "get"},
    {"pods", "proxy", "", "v1", "PodProxyOptions", PROXY_VERBS},
    {"pods", "signal", NULL, NULL, NULL, "create"},
    {"services", "proxy", "", "v1", "ServiceProxyOptions", PROXY_VERBS},
    {"serviceaccounts", "token", "authentication.k8s.io", "v1", "TokenRequest", "create"},
};

static const char *verbs_of(const struct kind *k)
{
    if (k->is_question)
        return "create";
    return k->is_view ? "get list" : "create delete deletecollection get list patch update watch";
}

static bool is_of(const struct subresource *s, const struct kind *k)
{
    return *k->group == '\0' && text_equal(k->plural, s->plural);
}

/* Calls `fn` for each subresource of `k`, including "status". */
static void each_subresource(const struct kind *k,
                             void (*fn)(json_t *into, const struct kind *k,
                                        const struct subresource *s),
                             json_t *into)
{
    static const struct subresource status = {.name = "status", .verbs = "get patch update"};
    static const struct subresource scale = {.name = "scale",
                                             .group = "autoscaling",
                                             .version = "v1",
                                             .kind = "Scale",
                                             .verbs = "get patch update"};

    for (size_t i = 0; i < COUNT(subresources); i++)
        if (is_of(&subresources[i], k))
            fn(into, k, &subresources[i]);
    if (k->has_status && !k->is_view)
        fn(into, k, &status);
    if (scale_is_of(k))
        fn(into, k, &scale);
}

static void put_words(json_t *object, const char *key, const char *words)
{
    struct str rest = str_of(words);
    json_t *list = json_array_at(object, key);

    while (rest.at && rest.size > 0) {
        struct str word = str_cut(&rest, ' ');

        json_array_append_new(list, json_stringn(word.at, word.size));
    }
}

/* Puts the short names and the category ("all"). */
static void put_other_names(json_t *object, const struct kind *k)
{
    if (k->is_of_all)
        json_put(object, "categories", json_pack("[s]", "all"));
    for (size_t i = 0; k->categories && k->categories[i]; i++)
        json_array_append_new(json_array_at(object, "categories"), json_string(k->categories[i]));
    for (size_t i = 0; i < COUNT(k->short_names); i++)
        if (k->short_names[i])
            json_array_append_new(json_array_at(object, "shortNames"),
                                  json_string(k->short_names[i]));
}

/* Has a kind before `i` the same group (and the same version, unless `any_version`)? */
static bool is_seen(size_t i, bool any_version)
{
    for (size_t j = 0; j < i; j++)
        if (text_equal(kinds_served(j)->group, kinds_served(i)->group) &&
            (any_version || text_equal(kinds_served(j)->version, kinds_served(i)->version)))
            return true;
    return false;
}

/* ---- the old form: a list of groups, and one of resources for each ---- */

static json_t *list_typed(const char *kind)
{
    json_t *j = json_object();

    json_put_text(j, "kind", kind);
    json_put_text(j, "apiVersion", "v1");
    return j;
}

static json_t *group_of(const struct kind *k)
{
    json_t *group = json_object();

    json_put_text(group, "name", k->group);
    for (size_t i = 0; i < kinds_served_count(); i++) {
        json_t *version = NULL;

        if (!text_equal(kinds_served(i)->group, k->group) || is_seen(i, false))
            continue;
        version = json_object();
        json_put_text(version, "groupVersion", kinds_served(i)->api_version);
        json_put_text(version, "version", kinds_served(i)->version);
        json_array_append(json_array_at(group, "versions"), version);
        if (!json_object_get(group, "preferredVersion"))
            json_put(group, "preferredVersion", json_incref(version));
        json_decref(version);
    }
    return group;
}

static void add_subresource(json_t *list, const struct kind *k, const struct subresource *s)
{
    json_t *r = json_object();
    AUTO_FREE char *name = mem_format("%s/%s", k->plural, s->name);

    json_put_text(r, "name", name);
    json_put_text(r, "singularName", "");
    json_put_bool(r, "namespaced", k->is_namespaced);
    if (s->group && *s->group) {
        json_put_text(r, "group", s->group);
        json_put_text(r, "version", s->version);
    }
    json_put_text(r, "kind", s->kind ? s->kind : k->kind);
    put_words(r, "verbs", s->verbs);
    json_array_append_new(list, r);
}

static void add_kind(json_t *list, const struct kind *k)
{
    json_t *r = json_object();

    json_put_text(r, "name", k->plural);
    json_put_text(r, "singularName", k->singular);
    json_put_bool(r, "namespaced", k->is_namespaced);
    json_put_text(r, "kind", k->kind);
    put_words(r, "verbs", verbs_of(k));
    put_other_names(r, k);
    json_array_append_new(list, r);
    each_subresource(k, add_subresource, list);
}

static struct err *reply_resources(struct call *c, const char *group, const char *version)
{
    AUTO(json_freep) json_t *list = list_typed("APIResourceList");
    json_t *resources = json_array_at(list, "resources");

    for (size_t i = 0; i < kinds_served_count(); i++) {
        if (!text_equal(kinds_served(i)->group, group) ||
            !text_equal(kinds_served(i)->version, version))
            continue;
        json_put_text(list, "groupVersion", kinds_served(i)->api_version);
        add_kind(resources, kinds_served(i));
    }
    if (json_array_size(resources) == 0)
        return not_found_path();
    reply_json(c->x, 200, list, NULL);
    return NULL;
}

static struct err *reply_group(struct call *c, const char *group)
{
    for (size_t i = 0; i < kinds_served_count(); i++) {
        AUTO(json_freep) json_t *j = NULL;

        if (!*group || !text_equal(kinds_served(i)->group, group))
            continue;
        j = group_of(kinds_served(i));
        json_put_text(j, "kind", "APIGroup");
        json_put_text(j, "apiVersion", "v1");
        reply_json(c->x, 200, j, NULL);
        return NULL;
    }
    return not_found_path();
}

/* ---- the aggregated form: everything in one document, KEP-3352 ---- */

#define AGGREGATED(v) "application/json;g=apidiscovery.k8s.io;v=" v ";as=APIGroupDiscoveryList"

/* "v2" or "v2beta1", the best that the client accepts; NULL: neither. */
static const char *aggregated_version(const struct call *c)
{
    static const char *const versions[] = {"v2", "v2beta1"};
    static const char *const forms[] = {AGGREGATED("v2"), AGGREGATED("v2beta1")};
    const char *accept = request_header(&c->x->request, "accept");

    for (size_t v = 0; accept && v < 2; v++) {
        struct str rest = str_of(accept);

        while (rest.at) {
            struct str one = str_cut(&rest, ',');

            while (one.size > 0 && one.at[0] == ' ')
                one = (struct str){one.at + 1, one.size - 1};
            if (str_equal(one, str_of(forms[v])))
                return versions[v];
        }
    }
    return NULL;
}

static void put_response_kind(json_t *r, const char *group, const char *version, const char *kind)
{
    json_t *gvk = json_object_at(r, "responseKind");

    json_put_text(gvk, "group", group);
    json_put_text(gvk, "version", version);
    json_put_text(gvk, "kind", kind);
}

static void add_subresource_discovery(json_t *r, const struct kind *k, const struct subresource *s)
{
    json_t *sub = json_object();

    json_put_text(sub, "subresource", s->name);
    put_response_kind(sub, s->group ? s->group : k->group, s->version ? s->version : k->version,
                      s->kind ? s->kind : k->kind);
    put_words(sub, "verbs", s->verbs);
    json_array_append_new(json_array_at(r, "subresources"), sub);
}

static json_t *resource_discovery(const struct kind *k)
{
    json_t *r = json_object();

    json_put_text(r, "resource", k->plural);
    put_response_kind(r, k->group, k->version, k->kind);
    json_put_text(r, "scope", k->is_namespaced ? "Namespaced" : "Cluster");
    json_put_text(r, "singularResource", k->singular);
    put_words(r, "verbs", verbs_of(k));
    put_other_names(r, k);
    each_subresource(k, add_subresource_discovery, r);
    return r;
}

static json_t *version_discovery(const struct kind *of)
{
    json_t *version = json_object();

    json_put_text(version, "version", of->version);
    for (size_t i = 0; i < kinds_served_count(); i++)
        if (text_equal(kinds_served(i)->api_version, of->api_version))
            json_array_append_new(json_array_at(version, "resources"),
                                  resource_discovery(kinds_served(i)));
    json_put_text(version, "freshness", "Current");
    return version;
}

static json_t *group_discovery(const struct kind *of)
{
    json_t *group = json_object();

    json_put_text(json_object_at(group, "metadata"), "name", *of->group ? of->group : NULL);
    for (size_t i = 0; i < kinds_served_count(); i++)
        if (text_equal(kinds_served(i)->group, of->group) && !is_seen(i, false))
            json_array_append_new(json_array_at(group, "versions"),
                                  version_discovery(kinds_served(i)));
    return group;
}

/* Answers with the core group, or with all other groups. */
static void reply_aggregated(struct call *c, const char *version, bool is_core)
{
    AUTO(json_freep) json_t *list = json_object();
    json_t *items = json_array_at(list, "items");
    AUTO_FREE char *text = NULL;
    struct api_reply r = {.status = 200};

    json_put_text(list, "kind", "APIGroupDiscoveryList");
    json_put_text(list, "apiVersion", arena_format(c->arena, "apidiscovery.k8s.io/%s", version));
    (void)json_object_at(list, "metadata");
    for (size_t i = 0; i < kinds_served_count(); i++)
        if ((*kinds_served(i)->group == '\0') == is_core && !is_seen(i, true))
            json_array_append_new(items, group_discovery(kinds_served(i)));
    text = json_format(list);
    r.body = str_of(text);
    r.content_type = text_equal(version, "v2") ? AGGREGATED("v2") : AGGREGATED("v2beta1");
    c->x->ops->reply(c->x, &r);
}

/* ---- handlers ---- */

struct err *handle_api(struct call *c)
{
    const char *aggregated = aggregated_version(c);
    AUTO(json_freep) json_t *api = NULL;

    if (aggregated) {
        reply_aggregated(c, aggregated, true);
        return NULL;
    }
    api = json_object();
    json_put_text(api, "kind", "APIVersions");
    json_array_append_new(json_array_at(api, "versions"), json_string("v1"));
    json_put(api, "serverAddressByClientCIDRs", json_array());
    reply_json(c->x, 200, api, NULL);
    return NULL;
}

struct err *handle_apis(struct call *c)
{
    const char *aggregated = aggregated_version(c);
    AUTO(json_freep) json_t *list = NULL;

    if (aggregated) {
        reply_aggregated(c, aggregated, false);
        return NULL;
    }
    list = list_typed("APIGroupList");
    for (size_t i = 0; i < kinds_served_count(); i++)
        if (*kinds_served(i)->group && !is_seen(i, true))
            json_array_append_new(json_array_at(list, "groups"), group_of(kinds_served(i)));
    reply_json(c->x, 200, list, NULL);
    return NULL;
}

struct err *handle_group(struct call *c)
{
    const char *const *s = c->target.segments;
    bool is_core = text_equal(s[0], "api");

    if (is_core && c->target.n == 2)
        return reply_resources(c, "", s[1]);
    if (!is_core && c->target.n == 2)
        return reply_group(c, s[1]);
    if (!is_core && c->target.n == 3)
        return reply_resources(c, s[1], s[2]);
    return not_found_path();
}

struct err *handle_openapi_v3(struct call *c)
{
    const char *const *s = c->target.segments;
    AUTO(json_freep) json_t *document = NULL;

    if (c->target.n == 2)
        document = openapi_index();
    else if (c->target.n == 4 && text_equal(s[2], "api"))
        document = openapi_document("", s[3]);
    else if (c->target.n == 5 && text_equal(s[2], "apis"))
        document = openapi_document(s[3], s[4]);
    if (!document)
        return not_found_path();
    reply_json(c->x, 200, document, NULL);
    return NULL;
}
