/* audit_line.c - the members of an audit line: who, from where, what; names, never values */

#include "api/audit_line.h"

#include <inttypes.h>

#include "api/routes.h"
#include "base/stamp.h"

enum {
    AGENT_MAX = 128,
    TEXT_MAX = 512,
    NAME_MAX_BYTES = 160,
    NAMES_MAX = 32,
    IMAGES_NODE = 3, /* segments of /mete.dev/v1/nodes/NODE/images/OP */
    IMAGES_WORD = 4,
    IMAGES_OP = 5
};

static void line_add(struct buf *b, const char *key, const char *value, size_t max)
{
    struct str text = str_of(value);

    if (!value)
        return;
    text.size = text.size < max ? text.size : max;
    buf_printf(b, ",\"%s\":", key);
    json_add_quoted(b, text);
}

bool audit_is_images(const struct call *c)
{
    return c->route && c->route->shape == ROUTE_PREFIX && c->target.n > IMAGES_WORD &&
           text_equal(c->target.segments[0], "mete.dev") &&
           text_equal(c->target.segments[IMAGES_WORD], "images");
}

const char *audit_verb(const struct call *c)
{
    const char *verb = c->route ? c->route->verb : NULL;

    if (audit_is_images(c) && c->target.n > IMAGES_OP)
        return c->target.segments[IMAGES_OP];
    if (c->route && text_equal(c->route->path, SESSION_PATH))
        return text_equal(c->x->request.method, "DELETE") ? "sign-out" : "sign-in";
    if (c->route && text_equal(c->route->verb, "list") && query_bool(&c->query, "watch"))
        return "watch";
    if (verb)
        return verb;
    return text_equal(c->x->request.method, "DELETE") ? "delete"
           : text_equal(c->x->request.method, "GET")  ? "get"
                                                      : "create";
}

static void line_add_origin(struct buf *b, const struct api_request *r)
{
    if (r->peer.is_unix)
        buf_printf(b, ",\"from\":\"unix:uid=%" PRIu32 "\"", r->peer.uid);
    else
        line_add(b, "from", r->peer.address ? r->peer.address : "unknown", TEXT_MAX);
    line_add(b, "page", r->peer.page, TEXT_MAX);
    line_add(b, "agent", request_header(r, "user-agent"), AGENT_MAX);
}

void audit_add_call(struct buf *b, const struct call *c, int64_t now_ns)
{
    char stamp[STAMP_TEXT_SIZE];
    const char *user = c->who.user ? c->who.user : "system:anonymous";

    stamp_format_micro(now_ns, stamp);
    buf_printf(b, "\"time\":\"%s\"", stamp);
    line_add(b, "user", c->who.impersonator ? c->who.impersonator : user, TEXT_MAX);
    if (c->who.impersonator)
        line_add(b, "as", user, TEXT_MAX);
    line_add_origin(b, &c->x->request);
    line_add(b, "verb", audit_verb(c), TEXT_MAX);
    if (c->kind) {
        if (*c->kind->group)
            line_add(b, "group", c->kind->group, TEXT_MAX);
        line_add(b, "resource", c->kind->plural, TEXT_MAX);
        line_add(b, "subresource", c->subresource, TEXT_MAX);
        line_add(b, "namespace", c->ns, TEXT_MAX);
    } else if (audit_is_images(c)) {
        line_add(b, "resource", "nodes", TEXT_MAX);
        line_add(b, "subresource", "images", TEXT_MAX);
        line_add(b, "name", c->target.segments[IMAGES_NODE], TEXT_MAX);
    } else {
        line_add(b, "path", c->x->request.path, TEXT_MAX);
    }
}

/* ---- names of members ---- */

struct names {
    struct buf *out;
    size_t n;
    size_t depth;
};

static void names_add(struct names *names, struct str name)
{
    if (names->n++ >= NAMES_MAX)
        return;
    name.size = name.size < NAME_MAX_BYTES ? name.size : NAME_MAX_BYTES;
    buf_add_char(names->out, names->n > 1 ? ',' : '[');
    json_add_quoted(names->out, name);
}

static void names_end(struct names *names)
{
    if (names->n > NAMES_MAX)
        buf_add_text(names->out, ",\"...\"");
    buf_add_text(names->out, names->n > 0 ? "]" : "[]");
}

static void names_walk(struct names *names, const json_t *tree, const char *above, size_t depth)
{
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)tree, key, value) {
        AUTO_FREE char *name = above ? mem_format("%s.%s", above, key) : mem_strdup(key);

        if (depth < names->depth && json_is_object(value) && json_object_size(value) > 0)
            names_walk(names, value, name, depth + 1);
        else
            names_add(names, str_of(name));
    }
}

/* A JSON patch names its members by pointers: /spec/replicas. */
static void names_of_pointers(struct names *names, const json_t *operations)
{
    const json_t *one;
    size_t i;

    json_array_foreach (operations, i, one) {
        AUTO_FREE char *name = mem_strdup(text_or_empty(json_text(one, "path")));
        size_t levels = 0;

        for (char *at = name; *at; at++) {
            if (*at == '/' && at > name && ++levels == names->depth)
                *at = '\0';
            if (*at == '/')
                *at = '.';
            if (!*at)
                break;
        }
        names_add(names, str_of(*name == '.' ? name + 1 : name));
    }
}

void audit_add_patch_names(struct buf *b, const json_t *patch, size_t depth)
{
    struct names names = {.out = b, .depth = depth};

    if (json_is_array(patch))
        names_of_pointers(&names, patch);
    else
        names_walk(&names, patch, NULL, 1);
    names_end(&names);
}

static void names_differ(struct names *names, const json_t *before, const json_t *after,
                         const char *above, size_t depth)
{
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)after, key, value) {
        const json_t *old = json_object_get(before, key);
        AUTO_FREE char *name = above ? mem_format("%s.%s", above, key) : mem_strdup(key);

        if (json_equal(old, value) || text_equal(name, "metadata.resourceVersion") ||
            text_equal(name, "metadata.generation") || text_equal(name, "metadata.managedFields"))
            continue;
        if (depth < names->depth && json_is_object(value) && json_is_object(old))
            names_differ(names, old, value, name, depth + 1);
        else
            names_add(names, str_of(name));
    }
    json_object_foreach ((json_t *)(uintptr_t)before, key, value) {
        AUTO_FREE char *name = above ? mem_format("%s.%s", above, key) : mem_strdup(key);

        if (!json_object_get(after, key))
            names_add(names, str_of(name));
    }
}

void audit_add_changed_names(struct buf *b, const json_t *before, const json_t *after, size_t depth)
{
    struct names names = {.out = b, .depth = depth};

    names_differ(&names, before, after, NULL, 1);
    names_end(&names);
}
