/* What the server is and has, in the old form of discovery, which every kubectl reads. */
#include <stdio.h>

#include "api/handlers.h"

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

    json_put_text(v, "major", "1");
    json_put_text(v, "minor", "34");
    json_put_text(v, "gitVersion",
                  arena_format(c->arena, "v1.34.0+mete-%s", core_version(c->core)));
    json_put_text(v, "gitCommit", "");
    json_put_text(v, "gitTreeState", "");
    json_put_text(v, "buildDate", "1970-01-01T00:00:00Z");
    json_put_text(v, "goVersion", "none");
    json_put_text(v, "compiler", "gcc");
    json_put_text(v, "platform", "linux/amd64");
    reply_json(c->x, 200, v, NULL);
    return NULL;
}

static json_t *typed(const char *kind)
{
    json_t *j = json_object();

    json_put_text(j, "kind", kind);
    json_put_text(j, "apiVersion", "v1");
    return j;
}

struct err *handle_api(struct call *c)
{
    AUTO(json_freep) json_t *api = json_object();

    json_put_text(api, "kind", "APIVersions");
    json_array_append_new(json_array_at(api, "versions"), json_string("v1"));
    json_put(api, "serverAddressByClientCIDRs", json_array());
    reply_json(c->x, 200, api, NULL);
    return NULL;
}

static json_t *group_of(const struct kind *k)
{
    json_t *group = json_object();
    json_t *version = json_object();

    json_put_text(group, "name", k->group);
    json_put_text(version, "groupVersion", k->api_version);
    json_put_text(version, "version", k->version);
    json_array_append(json_array_at(group, "versions"), version);
    json_put(group, "preferredVersion", version);
    return group;
}

/* Whether a kind before `i` has the same group. */
static bool is_group_seen(size_t i)
{
    for (size_t j = 0; j < i; j++) {
        if (text_equal(kinds[j]->group, kinds[i]->group))
            return true;
    }
    return false;
}

struct err *handle_apis(struct call *c)
{
    AUTO(json_freep) json_t *list = typed("APIGroupList");
    json_t *groups = json_array_at(list, "groups");

    for (size_t i = 0; i < kinds_count; i++) {
        if (*kinds[i]->group && !is_group_seen(i))
            json_array_append_new(groups, group_of(kinds[i]));
    }
    reply_json(c->x, 200, list, NULL);
    return NULL;
}

static void add_resource(json_t *list, const struct kind *k, const char *subresource,
                         const char *kind, const char *verbs)
{
    json_t *r = json_object();
    struct str rest = str_of(verbs);
    char name[256];

    (void)snprintf(name, sizeof(name), "%s%s%s", k->plural, *subresource ? "/" : "", subresource);
    json_put_text(r, "name", name);
    json_put_text(r, "singularName", *subresource ? "" : k->singular);
    json_put_bool(r, "namespaced", k->is_namespaced);
    json_put_text(r, "kind", kind);
    while (rest.at && rest.size > 0) {
        struct str verb = str_cut(&rest, ' ');

        json_array_append_new(json_array_at(r, "verbs"), json_stringn(verb.at, verb.size));
    }
    for (size_t i = 0; !*subresource && i < sizeof(k->short_names) / sizeof(k->short_names[0]);
         i++) {
        if (k->short_names[i])
            json_array_append_new(json_array_at(r, "shortNames"), json_string(k->short_names[i]));
    }
    json_array_append_new(list, r);
}

/* pods/eviction is left out on purpose: kubectl drain then deletes, which we can do. */
static void add_kind(json_t *list, const struct kind *k)
{
    bool is_core = *k->group == '\0';

    if (k->is_view) {
        add_resource(list, k, "", k->kind, "get list");
        return;
    }
    add_resource(list, k, "", k->kind,
                 "create delete deletecollection get list patch update watch");
    if (is_core && text_equal(k->plural, "namespaces"))
        add_resource(list, k, "finalize", k->kind, "update");
    if (is_core && text_equal(k->plural, "pods")) {
        add_resource(list, k, "binding", "Binding", "create");
        add_resource(list, k, "log", k->kind, "get");
    }
    if (k->has_status)
        add_resource(list, k, "status", k->kind, "get patch update");
}

static struct err *reply_resources(struct call *c, const char *group, const char *version)
{
    AUTO(json_freep) json_t *list = typed("APIResourceList");
    json_t *resources = json_array_at(list, "resources");

    for (size_t i = 0; i < kinds_count; i++) {
        if (!text_equal(kinds[i]->group, group) || !text_equal(kinds[i]->version, version))
            continue;
        json_put_text(list, "groupVersion", kinds[i]->api_version);
        add_kind(resources, kinds[i]);
    }
    if (json_array_size(resources) == 0)
        return not_found_path();
    reply_json(c->x, 200, list, NULL);
    return NULL;
}

static struct err *reply_group(struct call *c, const char *group)
{
    for (size_t i = 0; i < kinds_count; i++) {
        AUTO(json_freep) json_t *j = NULL;

        if (!*group || !text_equal(kinds[i]->group, group))
            continue;
        j = group_of(kinds[i]);
        json_put_text(j, "kind", "APIGroup");
        json_put_text(j, "apiVersion", "v1");
        reply_json(c->x, 200, j, NULL);
        return NULL;
    }
    return not_found_path();
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
