/* body.c - media types, bodies, and the parameters of writes */

#include "api/body.h"

#include "access/rbac_grant.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/yaml.h"
#include "kinds/kind/cause.h"
#include "kinds/kind/rbac_fields.h"

#define TYPE_JSON     "application/json"
#define TYPE_YAML     "application/yaml"
#define TYPE_PROTOBUF "application/vnd.kubernetes.protobuf"

enum {
    MANAGER_SIZE_MAX = 128
};

const char *body_type(const struct call *c)
{
    const char *header = request_header(&c->x->request, "content-type");
    size_t size = header ? strcspn(header, "; \t") : 0;
    char *type = arena_strndup(c->arena, header ? header : "", size);

    for (char *at = type; *at; at++) {
        if (*at >= 'A' && *at <= 'Z')
            *at = (char)(*at - 'A' + 'a');
    }
    return type;
}

void reply_unsupported(const struct call *c, const char *accepted)
{
    const struct status_about about = {.kind = c->kind, .name = c->name};
    AUTO(json_freep)
    json_t *status = status_new(
        415, "UnsupportedMediaType",
        arena_format(
            c->arena,
            "the body of the request was in an unknown format - accepted media types include: %s",
            accepted),
        &about);

    reply_json(c->x, 415, status, NULL);
}

static struct err *parse_json(struct str body, json_t **ret)
{
    AUTO(json_freep) json_t *json = NULL;

    TRY(json_parse(body, &json));
    if (!json_is_object(json))
        return err_new(ERR_BAD_REQUEST, "request body: want a JSON object");
    *ret = TAKE(json);
    return NULL;
}

static struct err *parse_yaml(struct str body, json_t **ret)
{
    AUTO(json_freep) json_t *documents = NULL;
    json_t *first;

    TRY(yaml_parse("manifest", body, &documents));
    first = json_array_get(documents, 0);
    if (json_array_size(documents) != 1 || !json_is_object(first))
        return err_new(ERR_BAD_REQUEST, "request body: want one YAML document with an object");
    *ret = json_incref(first);
    return NULL;
}

struct err *body_parse(const struct call *c, json_t **ret, bool *ret_type_known)
{
    const char *type = body_type(c);
    struct str body = c->x->request.body;

    *ret_type_known = true;
    if (body.size == 0)
        return err_new(ERR_BAD_REQUEST, "request body is empty");
    if (text_equal(type, TYPE_PROTOBUF))
        return protobuf_decode(body, ret);
    if (*type == '\0' || text_equal(type, TYPE_JSON))
        return parse_json(body, ret);
    if (text_equal(type, TYPE_YAML))
        return parse_yaml(body, ret);
    *ret_type_known = false;
    reply_unsupported(c, TYPE_JSON ", " TYPE_YAML ", " TYPE_PROTOBUF);
    return NULL;
}

struct err *body_parse_yaml(const struct call *c, json_t **ret)
{
    struct str body = c->x->request.body;
    struct err *e;

    if (body.size == 0)
        return err_new(ERR_BAD_REQUEST, "request body is empty");
    /* Most clients send JSON, which is YAML, too, and quicker to read. */
    e = *body.at == '{' ? parse_json(body, ret) : parse_yaml(body, ret);

    return e ? err_wrap(e, "error decoding YAML") : NULL;
}

struct err *body_parse_optional(const struct call *c, json_t **ret, bool *ret_type_known)
{
    *ret_type_known = true;
    return c->x->request.body.size > 0 ? body_parse(c, ret, ret_type_known) : NULL;
}

static struct err *parse_validation(const struct call *c, enum field_validation *ret)
{
    const char *text = query_get(&c->query, "fieldValidation");

    *ret = VALIDATION_WARN;
    if (!text || *text == '\0' || text_equal(text, "Warn"))
        return NULL;
    if (text_equal(text, "Strict"))
        *ret = VALIDATION_STRICT;
    else if (text_equal(text, "Ignore"))
        *ret = VALIDATION_IGNORE;
    else
        return err_new(ERR_BAD_REQUEST,
                       "fieldValidation: Unsupported value: \"%.32s\": want Ignore, Warn or Strict",
                       text);
    return NULL;
}

static struct err *parse_dry_run(const struct call *c, bool *ret)
{
    const char *text = query_get(&c->query, "dryRun");

    *ret = text && *text;
    if (*ret && !text_equal(text, "All"))
        return err_new(ERR_BAD_REQUEST, "dryRun: Unsupported value: \"%.32s\": want All", text);
    return NULL;
}

/* ---- the manager of the written fields ---- */

/* The program's name in "kubectl/v1.36.3 (linux/amd64) ...", without control characters. */
static const char *manager_of_agent(const struct call *c)
{
    const char *agent = text_or_empty(request_header(&c->x->request, "user-agent"));
    AUTO(buf_done) struct buf name = {0};
    struct str rest = {.at = agent, .size = strcspn(agent, "/")};

    while (rest.size > 0) {
        size_t size = str_utf8(rest);
        bool is_shown =
            size > 0 && (size > 1 || ((unsigned char)*rest.at >= ' ' && *rest.at != 127));

        if (is_shown && name.size + size > MANAGER_SIZE_MAX)
            break;
        if (is_shown)
            buf_add(&name, rest.at, size);
        rest.at += size > 0 ? size : 1;
        rest.size -= size > 0 ? size : 1;
    }
    return arena_strdup(c->arena, text_or_empty(name.at));
}

static const char *options_of(const struct call *c)
{
    const char *method = c->x->request.method;

    return text_equal(method, "POST")  ? "CreateOptions"
           : text_equal(method, "PUT") ? "UpdateOptions"
                                       : "PatchOptions";
}

static bool is_printable(const char *text)
{
    struct str rest = str_of(text);

    while (rest.size > 0) {
        size_t size = str_utf8(rest);

        if (size == 0 || (unsigned char)*rest.at < ' ' || *rest.at == 127)
            return false;
        rest = (struct str){rest.at + size, rest.size - size};
    }
    return true;
}

static struct err *check_manager(const struct call *c, const char *name)
{
    AUTO(causes_done) struct causes causes = {0};
    AUTO_FREE char *options = mem_format("%s.meta.k8s.io", options_of(c));

    if (strlen(name) > MANAGER_SIZE_MAX)
        cause_too_long(&causes, PATH(NULL, "fieldManager"), MANAGER_SIZE_MAX);
    else if (!is_printable(name))
        cause_invalid(&causes, PATH(NULL, "fieldManager"), name, "want printable characters");
    return causes_err(&causes, options, "");
}

static struct err *parse_manager(const struct call *c, const char **ret)
{
    const char *name = query_get(&c->query, "fieldManager");

    *ret = NULL;
    if (c->who.node)
        return NULL; /* a process of Mete */
    TRY(check_manager(c, text_or_empty(name)));
    *ret = name && *name ? name : manager_of_agent(c);
    return NULL;
}

struct err *apply_request(const struct call *c, json_t *warnings, struct objects_request *ret)
{
    const char *name = query_get(&c->query, "fieldManager");
    AUTO(causes_done) struct causes causes = {0};

    if (!name || !*name)
        cause_required(&causes, PATH(NULL, "fieldManager"), "is required for apply patch");
    TRY(causes_err(&causes, "PatchOptions.meta.k8s.io", ""));
    TRY(write_request(c, warnings, ret));
    ret->manager = name;
    ret->force = query_bool(&c->query, "force"); /* Python sends "True" */
    return NULL;
}

struct err *check_unforced(const struct call *c)
{
    AUTO(causes_done) struct causes causes = {0};

    if (query_get(&c->query, "force"))
        cause_forbidden(&causes, PATH(NULL, "force"), "may not be specified for non-apply patch");
    return causes_err(&causes, "PatchOptions.meta.k8s.io", "");
}

static struct err *judge_grant(void *arg, const json_t *before, const json_t *after)
{
    const struct call *c = arg;

    return rbac_check_grant(core_store(c->core), &c->who, c->kind, before, after);
}

struct err *write_request(const struct call *c, json_t *warnings, struct objects_request *ret)
{
    struct objects_request r = {.kind = c->kind,
                                .ns = c->ns ? c->ns : "",
                                .name = c->name,
                                .subresource = c->subresource,
                                .who = call_context(c),
                                .admission = c->admission,
                                .warnings = warnings};

    TRY(parse_validation(c, &r.validation));
    TRY(parse_dry_run(c, &r.is_dry_run));
    TRY(parse_manager(c, &r.manager));
    if (text_equal(c->kind->group, RBAC_GROUP)) {
        r.judge = judge_grant;
        r.judge_arg = (void *)(uintptr_t)c;
    }
    *ret = r;
    return NULL;
}

static struct err *parse_preconditions(const json_t *body, struct delete_options *o)
{
    const json_t *if_ = json_object_get(body, "preconditions");
    const char *version = json_text(if_, "resourceVersion");

    o->if_uid = json_text(if_, "uid");
    if (!version)
        return NULL;
    return num_parse_int64(str_of(version), 1, INT64_MAX, &o->if_version);
}

static struct err *check_propagation(const char *text)
{
    if (!text || text_equal(text, "Background") || text_equal(text, "Foreground") ||
        text_equal(text, "Orphan"))
        return NULL;
    return err_new(ERR_BAD_REQUEST, "propagationPolicy: want Background, Foreground or Orphan");
}

static struct err *check_options_type(const json_t *body)
{
    const char *kind = json_text(body, "kind");

    if (kind && !text_equal(kind, "DeleteOptions"))
        return err_new(ERR_BAD_REQUEST, "request body is a %.64s: want DeleteOptions", kind);
    return NULL;
}

struct err *delete_options_parse(const struct call *c, const json_t *body,
                                 struct delete_options *ret)
{
    const json_t *grace = json_object_get(body, "gracePeriodSeconds");
    const char *propagation = query_get(&c->query, "propagationPolicy");
    struct delete_options o = {.grace_seconds = -1,
                               .propagation = json_text(body, "propagationPolicy")};

    TRY(check_options_type(body));
    if (grace && !json_is_null(grace) && (!json_is_integer(grace) || json_integer_value(grace) < 0))
        return err_new(ERR_BAD_REQUEST, "gracePeriodSeconds: want a number of at least 0");
    if (json_is_integer(grace))
        o.grace_seconds = json_integer_value(grace);
    TRY(query_int(&c->query, "gracePeriodSeconds", o.grace_seconds, &o.grace_seconds));
    if (!o.propagation && propagation && *propagation)
        o.propagation = propagation;
    if (!o.propagation && json_bool(body, "orphanDependents", false))
        o.propagation = "Orphan";
    TRY(check_propagation(o.propagation));
    TRY(parse_preconditions(body, &o));
    TRY(parse_dry_run(c, &o.is_dry_run));
    o.is_dry_run |= json_array_size(json_object_get(body, "dryRun")) > 0;
    *ret = o;
    return NULL;
}
